//! Links of kinds that were measured, by name: the keys of each, which those of the link itself replace.

use aqmlab_core::Problem;
use aqmlab_core::problem::unknown;
use toml::Table;

/// Each with its keys in TOML, which say where they come from and what is guessed.
pub const PRESETS: [(&str, &str); 7] = [
    ("starlink-down", include_str!("presets/starlink-down.toml")),
    ("starlink-up", include_str!("presets/starlink-up.toml")),
    ("lte-down", include_str!("presets/lte-down.toml")),
    ("lte-up", include_str!("presets/lte-up.toml")),
    ("5g-down", include_str!("presets/5g-down.toml")),
    ("5g-up", include_str!("presets/5g-up.toml")),
    ("docsis-up", include_str!("presets/docsis-up.toml")),
];

/// Their names.
pub const NAMES: [&str; PRESETS.len()] = {
    let mut names = [""; PRESETS.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = PRESETS[i].0;
        i += 1;
    }
    names
};

/// Puts the keys of the preset that a link at `at` names in its table, but those that it has.
pub fn expand(link: &mut Table, at: &str, found: &mut Vec<Problem>) {
    let Some(value) = link.remove("preset") else { return };
    let known = PRESETS.iter().find(|(known, _)| value.as_str() == Some(known));
    let (_, text) = known.unwrap_or_else(|| {
        let expected = || format!("expected one of {}", NAMES.join(", "));
        let why = value.as_str().map_or_else(expected, |name| unknown("preset", name, &NAMES));
        found.push(Problem::new(format!("{at}.preset"), why));
        &PRESETS[0] // so that nothing else is said to be missing
    });
    let keys: Table = text.parse().expect("a preset is TOML, as a test has shown");
    for (key, value) in keys {
        link.entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn with(link: &str) -> Result<crate::Scenario, aqmlab_core::Problems> {
        let text =
            format!("schema = 1\nduration = \"9 s\"\n[[links]]\nname = \"a\"\n{link}\n[[flows]]\nrtt = \"40 ms\"\n");
        parse(&text, "test", &[])
    }

    #[test]
    fn every_preset_is_a_whole_link() {
        for (name, _) in PRESETS {
            let link = &with(&format!("preset = \"{name}\"")).unwrap().links[0];
            assert!(link.changes != crate::RateChanges::None || link.impairments.request_grant.is_some(), "{name}");
        }
    }

    #[test]
    fn keys_of_the_link_win() {
        let scenario = with("preset = \"lte-down\"\nrate = \"7 Mbit/s\"\naqm = \"pie\"").unwrap();
        let link = &scenario.links[0];
        assert_eq!((link.rate.0, link.aqm.name.as_str()), (7e6, "pie"));
        assert!(link.impairments.interruptions.is_some());
    }

    #[test]
    fn an_unknown_preset_is_refused_with_the_nearest() {
        let aqmlab_core::Problems(found) = with("preset = \"lte\"").unwrap_err();
        let [problem] = &found[..] else { panic!("{found:?}") };
        assert_eq!(problem.path, "links.a.preset");
        assert!(problem.reason.starts_with("unknown preset \"lte\"; did you mean \"lte-"), "{problem}");
        let why = with("preset = 5").unwrap_err().to_string();
        assert!(why.contains("links.a.preset: expected one of starlink-down"), "{why}");
    }
}
