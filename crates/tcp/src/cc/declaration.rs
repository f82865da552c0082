//! Laws that are declared while the program runs, such as a user's own in another language.

use super::catalogue::{add, entry};
use super::checked::CheckedLaw;
use super::congestion::AnyLaw;
use super::{CongestionControl, LawEntry, LawInfo, Needs};
use aqmlab_core::params::Values;
use aqmlab_core::problem::clip;
use aqmlab_core::runtime_param::read_all;
use aqmlab_core::{Problem, Problems, RuntimeParam};

/// Makes a law before the first ACK from every parameter as text. The error says what is contradictory.
pub type LawConstructor = dyn Fn(&[(&str, &str)]) -> Result<Box<dyn CongestionControl>, String> + Send + Sync;

/// The declaration of such a law, as the catalogue and its readers need it.
pub struct LawDeclaration {
    /// Name, title, source.
    pub info: LawInfo,
    /// The page (Markdown), its first line a summary.
    pub page: &'static str,
    /// Its needs.
    pub needs: Needs,
    /// Its parameters.
    pub params: Vec<RuntimeParam>,
    /// Makes one.
    pub make: Box<LawConstructor>,
}

/// Adds a law to the catalogue of this process, in the place of an earlier one that was declared under its name. It stays for as
/// long as the process lives.
///
/// # Errors
/// If its name is not one, or that of a law which is part of aqmlab or was registered; if a parameter's name is taken twice.
pub fn declare(declaration: LawDeclaration) -> Result<(), Problem> {
    check(&declaration)?;
    let declared: &'static LawDeclaration = Box::leak(Box::new(declaration));
    add(LawEntry {
        info: &declared.info,
        page: declared.page,
        needs: declared.needs,
        settings: &[],
        phases: &[],
        params: Box::leak(Box::new(|| declared.params.iter().map(|param| param.spec).collect())),
        build: Box::leak(Box::new(|path: &str, pairs: &[(&str, &str)]| build(declared, path, pairs))),
        is_declared: true,
        is_checked: true,
    });
    Ok(())
}

fn build(declared: &LawDeclaration, path: &str, pairs: &[(&str, &str)]) -> Result<(Values, Needs, AnyLaw), Problems> {
    let mut problems = Vec::new();
    let (_, texts) = read_all(&declared.params, path, pairs, &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let all: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let law = (declared.make)(&all).map_err(|why| Problems::one(path, why))?;
    Ok((texts, declared.needs, AnyLaw::new(CheckedLaw::new(law), declared.needs)))
}

fn check(declared: &LawDeclaration) -> Result<(), Problem> {
    let name = declared.info.name;
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_name {
        let why = format!("\"{}\" is not a name; write small letters, digits and -, as in my-controller", clip(name));
        return Err(Problem::new("name", why));
    }
    if entry(name).is_ok_and(|known| !known.is_declared) {
        return Err(Problem::new("name", format!("\"{name}\" is taken by a controller of aqmlab; choose another")));
    }
    for (i, param) in declared.params.iter().enumerate() {
        if declared.params[..i].iter().any(|before| before.spec.name == param.spec.name) {
            return Err(Problem::new(param.spec.name, "the name of this parameter is taken"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Facts, LawChoice, Window, entries};
    use aqmlab_core::ParamSpec;

    /// Adds so many segments at each ACK.
    #[derive(Clone, Debug)]
    struct Linear(f64);

    impl CongestionControl for Linear {
        fn on_ack(&mut self, window: &mut Window, _: &Facts) {
            window.cwnd += self.0;
        }
    }

    fn declaration(name: &'static str, default: &'static str) -> LawDeclaration {
        let spec =
            ParamSpec { name: "gain", doc: "", unit: "", default, range: None, choices: &[], source: "", tc: None };
        LawDeclaration {
            info: LawInfo { name, title: "Linear", year: 0, source: "here" },
            page: "Grows.",
            needs: Needs::NONE,
            params: vec![RuntimeParam::new(spec).unwrap()],
            make: Box::new(|pairs| match pairs {
                [("gain", "0")] => Err("gain must be positive".into()),
                [(_, gain)] => Ok(Box::new(Linear(gain.parse().map_err(|why| format!("gain: {why}"))?))),
                _ => Err("one parameter".into()),
            }),
        }
    }

    #[test]
    fn a_later_law_takes_the_place_of_an_earlier_one_of_its_name() {
        declare(declaration("own-law-a", "1")).unwrap();
        declare(declaration("own-law-a", "2")).unwrap();
        assert_eq!(LawChoice::parse("tcp", "own-law-a").unwrap().text(), "own-law-a:gain=2");
        assert_eq!(entries().iter().filter(|entry| entry.info.name == "own-law-a").count(), 1);
    }

    #[test]
    fn what_is_contradictory_is_refused_like_a_built_in_s() {
        declare(declaration("own-law-b", "1")).unwrap();
        let why = |text: &str| LawChoice::parse("tcp", text).unwrap_err().to_string();
        assert_eq!(why("own-law-b:gain=0"), "tcp: gain must be positive");
        assert_eq!(why("own-law-b:gain=x"), "tcp.gain: \"x\" is not a number");
        let refused = |name: &'static str| declare(declaration(name, "1")).unwrap_err().to_string();
        assert!(refused("cubic").contains("is taken by a controller of aqmlab"));
        assert!(refused("My Law").contains("is not a name"));
        let [first, second] = [(); 2].map(|()| declaration("own-law-c", "1").params[0]);
        let twice = LawDeclaration { params: vec![first, second], ..declaration("own-law-c", "1") };
        assert!(declare(twice).unwrap_err().to_string().contains("taken"));
    }
}
