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

    /// Refuses a link that is not there.
    pub fn check(&self, links: &[LinkSpec]) -> Result<(), String> {
        let Self::At(at) = self else { return Ok(()) };
        let mut known: Vec<&str> = links.iter().flat_map(|link| [&*link.list, &*link.name]).collect();
        known.dedup();
        at.iter().try_for_each(|(name, _)| match known.contains(&name.as_str()) {
            true => Ok(()),
            false => Err(unknown("link", name, &known)),
        })
    }
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
    fn half_a_choice_is_refused() {
        assert!(SchemeAssignment::parse("cake@up+codel").unwrap_err().contains("codel@LINK"));
        assert!(SchemeAssignment::parse("cake@up+codel@up").unwrap_err().contains("two schemes"));
        assert!(SchemeAssignment::parse("cak@up").unwrap_err().contains("cake"));
        assert!(SchemeAssignment::parse("cake@up+").is_err());
    }
}
