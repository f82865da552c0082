//! The catalogue of laws, and the choice of one.

use super::checked::CheckedLaw;
use super::congestion::AnyLaw;
use super::reno::{RenoLaw, RenoParams};
use super::{CongestionControlLaw, LawInfo, Needs, SENDER_PHASES};
use crate::params::Profile;
use aqmlab_core::params::{Values, split_choice};
use aqmlab_core::problem::unknown;
use aqmlab_core::{ParamSet, ParamSpec, Problems};
use std::sync::{PoisonError, RwLock};

macro_rules! built_in {
    ($($module:ident::$law:ident)*) => {
        /// Every law of this crate.
        static BUILT_IN: &[LawEntry] = &[$(LawEntry::of::<super::$module::$law>()),*];
    };
}
super::every_law!(built_in);

/// A law as the catalogue knows it.
#[derive(Clone, Copy)]
pub struct LawEntry {
    /// Name, year, source.
    pub info: &'static LawInfo,
    /// The page: idea, equations, readings, departures (Markdown).
    pub page: &'static str,
    /// Its needs.
    pub needs: Needs,
    /// Constants of TCP that it sets, over the profile.
    pub settings: &'static [(&'static str, &'static str)],
    /// Phases of its own; none if it has those of every sender.
    pub phases: &'static [&'static str],
    /// Its parameters.
    pub params: &'static (dyn Fn() -> Vec<ParamSpec> + Sync),
    pub(super) build: &'static LawBuilder,
    /// It was declared while the program runs, and may be again.
    pub(super) is_declared: bool,
    /// It comes from elsewhere: its answers are looked at, and it may break down.
    pub(super) is_checked: bool,
}

/// Reads parameters, named and as text, and builds a law, with its needs; the errors carry the path.
pub(super) type LawBuilder = dyn Fn(&str, &[(&str, &str)]) -> Result<(Values, Needs, AnyLaw), Problems> + Sync;

impl LawEntry {
    const fn of<L: CongestionControlLaw>() -> Self {
        Self {
            info: const { &L::INFO },
            page: L::Params::DOC,
            needs: L::NEEDS,
            settings: L::SETTINGS,
            phases: L::PHASES,
            params: &L::Params::specs,
            build: &|path, pairs| {
                let (values, needs, law) = build::<L>(path, pairs)?;
                Ok((values, needs, AnyLaw::new(law, needs)))
            },
            is_declared: false,
            is_checked: false,
        }
    }
}

fn build<L: CongestionControlLaw>(path: &str, pairs: &[(&str, &str)]) -> Result<(Values, Needs, L), Problems> {
    let (mut params, mut problems) = (L::Params::defaults(), Vec::new());
    params.read(path, pairs.iter().copied(), &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let (values, needs) = (params.values(), L::needs(&params));
    Ok((values, needs, L::new(params)))
}

/// The parameter of every law that has a choice of slow starts.
const SLOW_START: &str = "slow_start";

/// A parameter under its name of today: before there was a choice, HyStart and HyStart++ were switches.
fn of_today<'a>(pair: (&'a str, &'a str)) -> Option<(&'a str, &'a str)> {
    match pair {
        ("hystart", "true") => Some((SLOW_START, "hystart")),
        ("hystart", "false") => Some((SLOW_START, "classic")),
        ("hystart_plus_plus", "true") => Some((SLOW_START, "hystart++")),
        ("hystart_plus_plus", "false") => None,
        other => Some(other),
    }
}

/// Laws from elsewhere.
static REGISTERED: RwLock<Vec<LawEntry>> = RwLock::new(Vec::new());

/// Every law; those from elsewhere come last.
pub fn entries() -> Vec<LawEntry> {
    let elsewhere = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    [BUILT_IN, &elsewhere[..]].concat()
}

/// The law called `name`.
///
/// # Errors
/// If there is none; the message names the nearest.
pub fn entry(name: &str) -> Result<LawEntry, String> {
    let all = entries();
    let found = all.iter().find(|entry| entry.info.name == name).copied();
    found.ok_or_else(|| unknown("choice", name, &all.iter().map(|entry| entry.info.name).collect::<Vec<_>>()))
}

/// Adds a law from elsewhere to the catalogue of this process. An answer that cannot be, such as a window of NaN, ends the run.
///
/// # Errors
/// If there is a law of that name.
pub fn register<L: CongestionControlLaw>() -> Result<(), String> {
    if entry(L::INFO.name).is_ok() {
        return Err(format!("a congestion controller called \"{}\" exists already", L::INFO.name));
    }
    let checked: &LawBuilder = &|path, pairs| {
        let (values, needs, law) = build::<L>(path, pairs)?;
        Ok((values, needs, AnyLaw::new(CheckedLaw::new(Box::new(law)), needs)))
    };
    add(LawEntry { build: checked, is_checked: true, ..LawEntry::of::<L>() });
    Ok(())
}

/// Adds a law from elsewhere, in the place of one of its name.
pub(super) fn add(law: LawEntry) {
    let mut elsewhere = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    elsewhere.retain(|known| known.info.name != law.info.name);
    elsewhere.push(law);
}

/// A law with its parameters, as chosen for a group of senders: each begins with a copy.
#[derive(Clone, Debug)]
pub struct LawChoice {
    name: &'static str,
    values: Values,
    needs: Needs,
    settings: &'static [(&'static str, &'static str)],
    is_checked: bool,
    phases: &'static [&'static str],
    law: AnyLaw,
}

impl Default for LawChoice {
    /// Reno's.
    fn default() -> Self {
        Self {
            name: RenoLaw::INFO.name,
            values: Values::new(),
            needs: Needs::NONE,
            settings: &[],
            is_checked: false,
            phases: &[],
            law: AnyLaw::Reno(super::reno::Reno),
        }
    }
}

impl LawChoice {
    /// Reads `NAME[:k=v,...]`.
    ///
    /// # Errors
    /// If there is no such law or it refuses a parameter; the errors carry `path`.
    pub fn parse(path: &str, text: &str) -> Result<Self, Problems> {
        Self::parse_in(path, text, Profile::Rfc)
    }

    /// The same, over what the profile sets of the law.
    ///
    /// # Errors
    /// As [`LawChoice::parse`].
    pub fn parse_in(path: &str, text: &str, profile: Profile) -> Result<Self, Problems> {
        let (name, own) = split_choice(text).map_err(|why| Problems::one(path, why))?;
        let entry = entry(name).map_err(|why| Problems::one(path, why))?;
        let mut pairs = [profile.settings_of(entry.info.name), &own[..]].concat();
        if (entry.params)().iter().any(|spec| spec.name == SLOW_START) {
            pairs = pairs.into_iter().filter_map(of_today).collect();
        }
        let (values, needs, law) = (entry.build)(path, &pairs)?;
        let is_plain_reno = entry.info.name == RenoLaw::INFO.name && values == RenoParams::defaults().values();
        Ok(match is_plain_reno {
            true => Self::default(),
            false => {
                let LawEntry { info, settings, phases, is_checked, .. } = entry;
                Self { name: info.name, values, needs, settings, phases, is_checked, law }
            }
        })
    }

    /// Its name in the catalogue.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// It is Reno's, with nothing added: the only one that the profile `ns2` has.
    pub fn is_reno(&self) -> bool {
        matches!(self.law, AnyLaw::Reno(_))
    }

    /// Its slow start, if that can do nothing without the round-trip times that variant `rack` measures. HyStart is left out,
    /// which Linux's CUBIC has in any variant.
    pub fn slow_start_that_needs_rtts(&self) -> Option<&str> {
        let (_, word) = self.values.iter().find(|(name, _)| *name == SLOW_START)?;
        (word != "classic" && word != "hystart").then_some(word)
    }

    /// It comes from elsewhere, and may break down.
    pub fn is_checked(&self) -> bool {
        self.is_checked
    }

    /// Its needs.
    pub fn needs(&self) -> Needs {
        self.needs
    }

    /// Constants of TCP that it sets, over the profile.
    pub fn settings(&self) -> &'static [(&'static str, &'static str)] {
        self.settings
    }

    /// The phases that its senders go through: its own, or those of every sender.
    pub fn phases(&self) -> &'static [&'static str] {
        if self.phases.is_empty() { &SENDER_PHASES } else { self.phases }
    }

    /// With every parameter, as [`LawChoice::parse`] reads it.
    pub fn text(&self) -> String {
        let pairs: Vec<String> = self.values.iter().map(|(name, value)| format!("{name}={value}")).collect();
        if pairs.is_empty() { self.name.into() } else { format!("{}:{}", self.name, pairs.join(",")) }
    }

    pub(crate) fn law(&self) -> AnyLaw {
        self.law.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_written_as_it_is_read() {
        for (text, full) in [
            ("reno", "reno"),
            ("reno:slow_start=hystart++", "reno:slow_start=hystart++"),
            ("reno:hystart_plus_plus=true", "reno:slow_start=hystart++"),
            ("cubic", "cubic:c=0.4,beta=0.7,fast_convergence=true,slow_start=classic,flavour=rfc9438"),
            (
                "cubic:c=0.4,beta=0.7,fast_convergence=true,hystart=true,hystart_plus_plus=false,flavour=linux",
                "cubic:c=0.4,beta=0.7,fast_convergence=true,slow_start=hystart,flavour=linux",
            ),
            ("abe:hystart=true,hystart_plus_plus=true", "abe:beta_ecn=0.8,slow_start=hystart++"),
            ("ledbat: gain=2, target=5ms", "ledbat:target=5 ms,gain=2"),
        ] {
            let control = LawChoice::parse("tcp", text).unwrap();
            assert_eq!(control.text(), full);
            assert_eq!(LawChoice::parse("tcp", full).unwrap().text(), full);
        }
    }

    #[test]
    fn a_wrong_choice_is_refused_with_its_path() {
        let why = |text: &str| LawChoice::parse("tcp", text).unwrap_err().to_string();
        let unknown = why("cubik");
        let expected = "tcp: unknown choice \"cubik\"; did you mean \"cubic\"? known: reno, cubic, ledbat";
        assert!(unknown.starts_with(expected), "{unknown}");
        assert_eq!(why("cubic:beta=2"), "tcp.beta: \"2\" is out of range: must lie in 0.1 ..= 0.95");
        assert_eq!(why("bbr:beta=2"), "tcp.beta: unknown parameter \"beta\"; known: none");
    }

    #[test]
    fn a_parameter_of_reno_makes_it_more_than_plain_reno() {
        let is_reno = |text| LawChoice::parse("tcp", text).unwrap().is_reno();
        assert_eq!(["reno", "reno:slow_start=classic", "reno:slow_start=hystart++"].map(is_reno), [true, true, false]);
    }

    #[test]
    fn every_law_declares_legal_defaults_and_settings() {
        for entry in entries() {
            let specs = (entry.params)();
            let defaults: Vec<_> = specs.iter().map(|spec| (spec.name, spec.default)).collect();
            assert!((entry.build)("law", &defaults).is_ok(), "{}", entry.info.name);
            let (mut params, mut problems) = (crate::TcpParams::defaults(), Vec::new());
            params.read("tcp", entry.settings.iter().copied(), &mut problems);
            assert_eq!(problems, [], "{}", entry.info.name);
            for heading in ["## Idea", "## Equations"] {
                assert!(entry.page.contains(heading), "the page of {} has no \"{heading}\"", entry.info.name);
            }
        }
    }
}
