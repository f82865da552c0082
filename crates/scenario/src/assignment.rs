//! The assignment of schemes to links: one scheme for every link, or one for each of some.

use crate::{AqmChoice, LinkSpec};
use aqmlab_core::problem::{clip, unknown};
use std::fmt;

/// The schemes that a run names.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemeAssignment {
    /// A scheme for every link that does not fix its own.
    Everywhere(AqmChoice),
    /// Links by name, each with its scheme; the others keep their own.
    At(Vec<(String, AqmChoice)>),
}

impl SchemeAssignment {
    /// Reads `NAME[:k=v,...]`, or one of these for each of some links: `cake:rtt=30ms@up+fq-codel@down`.
    pub fn parse(text: &str) -> Result<Self, String> {
        if !text.contains('@') {
            return AqmChoice::parse(text).map(Self::Everywhere);
        }
        let mut at: Vec<(String, AqmChoice)> = Vec::new();
        let mut rest = Some(text);
        while let Some(part) = rest {
            let (scheme, after) = part
                .split_once('@')
                .ok_or_else(|| format!("\"{}\" names no link; write {}@LINK", clip(part), clip(part.trim())))?;
            let (link, more) = after.split_once('+').map_or((after, None), |(link, more)| (link, Some(more)));
            let link = link.trim();
            if at.iter().any(|(name, _)| name == link) {
                return Err(format!("\"{}\" has two schemes", clip(link)));
            }
            at.push((link.to_string(), AqmChoice::parse(scheme)?));
            rest = more;
        }
        Ok(Self::At(at))
    }

    /// The scheme of a link, if it is not the link's own.
    pub fn at(&self, link: &LinkSpec) -> Option<&AqmChoice> {
        match self {
            Self::Everywhere(choice) => Some(choice).filter(|_| !link.fixed),
            Self::At(links) => {
                let of = |wanted: &str| links.iter().find(|(name, _)| name == wanted).map(|(_, choice)| choice);
                of(&link.name).or_else(|| of(&link.list))
            }
        }
    }

    /// Refuses a link that is not there, and a scheme for every link where each link keeps its own.
    pub fn check(&self, links: &[LinkSpec]) -> Result<(), String> {
        let at = match self {
            Self::At(at) => at,
            Self::Everywhere(choice) => return takes_some(choice, links),
        };
        let mut known: Vec<&str> = links.iter().flat_map(|link| [&*link.list, &*link.name]).collect();
        known.dedup();
        at.iter().try_for_each(|(name, _)| match known.contains(&name.as_str()) {
            true => Ok(()),
            false => Err(unknown("link", name, &known)),
        })
    }
}

/// Refuses a scheme for every link if each of them keeps its own.
fn takes_some(choice: &AqmChoice, links: &[LinkSpec]) -> Result<(), String> {
    if links.iter().any(|link| !link.fixed) {
        return Ok(());
    }
    let mut names: Vec<&str> = links.iter().map(|link| &*link.list).collect();
    names.dedup();
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{}\"", clip(name))).collect();
    let are = if quoted.len() == 1 { "is" } else { "are" };
    let (all, first) = (quoted.join(", "), clip(names[0]));
    Err(format!("no link of this scenario takes a scheme: {all} {are} fixed; write {choice}@{first}"))
}

/// As it is read, and as results carry it.
impl fmt::Display for SchemeAssignment {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Everywhere(choice) => choice.fmt(f),
            Self::At(at) => at.iter().enumerate().try_for_each(|(i, (link, choice))| {
                let between = if i == 0 { "" } else { "+" };
                write!(f, "{between}{choice}@{link}")
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(link: &str, scheme: &str) -> (String, AqmChoice) {
        (link.to_string(), AqmChoice::parse(scheme).unwrap())
    }

    #[test]
    fn a_scheme_for_all_links_or_for_each() {
        assert_eq!(
            SchemeAssignment::parse("pi:a=1e-5"),
            Ok(SchemeAssignment::Everywhere(AqmChoice::parse("pi:a=1e-5").unwrap()))
        );
        let two = SchemeAssignment::parse("codel:target=8ms,interval=50ms@up+pie@down").unwrap();
        assert_eq!(two, SchemeAssignment::At(vec![at("up", "codel:target=8ms,interval=50ms"), at("down", "pie")]));
        assert_eq!(two.to_string(), "codel:target=8ms,interval=50ms@up+pie@down");
        let exponent = SchemeAssignment::parse("pi:a=1e-5,b=9e-6@up").unwrap();
        assert_eq!(exponent, SchemeAssignment::At(vec![at("up", "pi:a=1e-5,b=9e-6")]));
    }

    #[test]
    fn a_scheme_for_all_links_needs_one_that_takes_it() {
        let links = |fixed: &[bool]| -> crate::Scenario {
            let link =
                |(i, fixed)| format!("[[links]]\nname='l{i}'\nrate='1 Mbit/s'\nbuffer='9 packets'\nfixed={fixed}\n");
            let links: String = fixed.iter().enumerate().map(link).collect();
            let text = format!("schema=1\nduration='1 s'\n{links}[[flows]]\nname='f'\nrtt='9 ms'\npath=['l0']\n");
            crate::parse(&text, "takes", &[]).unwrap()
        };
        let refused = |fixed: &[bool], text| {
            let chosen = SchemeAssignment::parse(text).unwrap();
            links(fixed).check_schemes(Some(&chosen)).err().map(|problems| problems.to_string())
        };
        assert_eq!(
            refused(&[true], "fq-codel:target=8ms").as_deref(),
            Some("aqm: no link of this scenario takes a scheme: \"l0\" is fixed; write fq-codel:target=8ms@l0")
        );
        let both = refused(&[true, true], "pie").unwrap();
        assert!(both.contains("\"l0\", \"l1\" are fixed; write pie@l0"), "{both}");
        assert_eq!(refused(&[true, false], "pie"), None);
        assert_eq!(refused(&[true, true], "pie@l1"), None);
        assert!(links(&[true]).scheme_values("pie").is_ok(), "its parameters can be shown");
    }

    #[test]
    fn the_history_of_a_link_has_each_scheme_with_its_time() {
        let text = "schema=1\nduration='50 s'\n[[links]]\nname='l'\nrate='1 Mbit/s'\nbuffer='9 packets'\n\
            [[flows]]\nname='f'\nrtt='9 ms'\n\
            [[changes]]\nat='30 s'\npath='links.l.aqm'\nvalue='codel'\n\
            [[changes]]\nat='40 s'\npath='links.l.aqm.target'\nvalue='8 ms'\n";
        let scenario = crate::parse(text, "history", &[]).unwrap();
        let texts = |chosen: Option<&SchemeAssignment>| -> Vec<(f64, String)> {
            let history = scenario.scheme_history(chosen, &scenario.changes);
            history[0].iter().map(|(from, choice)| (from.seconds(), choice.to_string())).collect()
        };
        let later = [(30.0, "codel".to_string()), (40.0, "codel:target=8 ms".to_string())];
        assert_eq!(texts(None), [&[(0.0, "droptail".to_string())], &later[..]].concat());
        let pie = SchemeAssignment::parse("pie").unwrap();
        assert_eq!(texts(Some(&pie)), [&[(0.0, "pie".to_string())], &later[..]].concat());
    }

    #[test]
    fn half_a_choice_is_refused() {
        assert!(SchemeAssignment::parse("cake@up+codel").unwrap_err().contains("codel@LINK"));
        assert!(SchemeAssignment::parse("cake@up+codel@up").unwrap_err().contains("two schemes"));
        assert!(SchemeAssignment::parse("cak@up").unwrap_err().contains("cake"));
        assert!(SchemeAssignment::parse("cake@up+").is_err());
    }
}
