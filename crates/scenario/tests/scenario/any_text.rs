//! No text makes the scenario language panic.

use super::VALID;
use aqmlab_scenario::parse;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

/// Cases a test: `AQMLAB_FUZZ` (`make nightly`: 200,000), else 2000.
fn config() -> ProptestConfig {
    let cases = std::env::var("AQMLAB_FUZZ").ok().and_then(|cases| cases.parse().ok()).unwrap_or(2000);
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

/// Pieces of scenarios, and what is like them but wrong.
const PIECES: &[&str] = &[
    "schema",
    "duration",
    "warmup",
    "sample",
    "links",
    "flows",
    "schemes",
    "name",
    "rate",
    "delay",
    "buffer",
    "target",
    "aqm",
    "fixed",
    "kind",
    "count",
    "path",
    "rtt",
    "start",
    "stop",
    "packet",
    "access_rate",
    "ecn",
    "tcp",
    "groups",
    "variant",
    "profile",
    "uniform",
    "exponential",
    "lognormal",
    "values",
    "median",
    "sigma",
    "pi",
    "red",
    " = ",
    "=",
    ".",
    ",",
    "\n",
    "\n[[links]]\n",
    "\n[[flows]]\n",
    "\n[schemes.red]\n",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "#",
    "\\",
    "\"10 s\"",
    "\"80 ms\"",
    "\"8 Mbit/s\"",
    "\"100 packets\"",
    "\"1 bdp\"",
    "\"1000 B\"",
    "\"pi:a=1e-5\"",
    "\"auto\"",
    "0",
    "1",
    "-1",
    "1e308",
    "nan",
    "inf",
    "true",
    "1979-05-27",
    "9223372036854775807",
    "\u{0}",
    "\u{fffd}",
    "\u{1f600}",
];

/// Reading must end with a scenario that can be shown, or with problems that can be printed.
fn read(text: &str, overrides: &[(String, String)]) {
    match parse(text, "random", overrides) {
        Ok(scenario) => assert!(scenario.resolved().is_object()),
        Err(problems) => assert!(!problems.to_string().is_empty()),
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn no_text_makes_the_reader_panic(text in ".{0,300}", pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        read(&text, &[]);
        read(&pieces.concat(), &[]);
    }

    /// Pieces are put in place of parts of a valid scenario, so that most of it is still read.
    #[test]
    fn no_mutation_makes_the_reader_panic(
        edits in prop::collection::vec((0..VALID.len(), 0usize..12, prop::sample::select(PIECES)), 1..6),
    ) {
        let text = edits.into_iter().fold(VALID.to_string(), |mut text, (at, length, piece)| {
            let at = text.floor_char_boundary(at.min(text.len()));
            let end = text.ceil_char_boundary((at + length).min(text.len()));
            text.replace_range(at..end, piece);
            text
        });
        read(&text, &[]);
    }

    #[test]
    fn no_value_makes_the_reader_panic(
        line in 0..VALID.lines().count(),
        value in prop_oneof![
            "[-+0-9.e_]{1,8} ?(s|ms|packets|bdp|B|MB|Mbit/s|bit/s|%)?".prop_map(|text| format!("\"{text}\"")),
            prop::sample::select(PIECES).prop_map(str::to_string),
        ],
    ) {
        let lines = VALID.lines().enumerate().map(|(i, text)| match text.split_once(" = ") {
            Some((key, _)) if i == line => format!("{key} = {value}\n"),
            _ => format!("{text}\n"),
        });
        read(&lines.collect::<String>(), &[]);
    }

    #[test]
    fn no_override_makes_the_reader_panic(
        path in prop::collection::vec(prop::sample::select(PIECES), 1..5),
        value in prop_oneof![".{0,40}", prop::sample::select(PIECES).prop_map(str::to_string)],
    ) {
        read(VALID, &[(path.join("."), value.clone()), (path.concat(), value)]);
    }

    /// A trace as mahimahi has it, a time a line, with what is none in between.
    #[test]
    fn no_trace_makes_the_reader_panic(
        lines in prop::collection::vec(
            prop_oneof![
                8 => (0u32..100).prop_map(|ms| ms.to_string()),
                1 => any::<u64>().prop_map(|ms| ms.to_string()),
                1 => "[-+0-9.e \t]{0,12}",
                1 => prop::sample::select(PIECES).prop_map(str::to_string),
            ],
            0..20,
        ),
        is_sorted in prop::bool::weighted(0.7),
        end in prop_oneof!["\n", "\r\n", "\r", "\n\n"],
    ) {
        let mut lines = lines;
        if is_sorted {
            lines.sort_by_key(|line| line.parse::<u64>().unwrap_or(0));
        }
        let trace = toml::Value::from(lines.join(&end)).to_string();
        let rate = VALID.replace("\"8 Mbit/s\"", "{ trace = \"cell\" }");
        read(&format!("{rate}\n[traces]\ncell = {trace}\n"), &[]);
    }
}
