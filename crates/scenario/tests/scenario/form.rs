//! Texts refused for their form: types, TOML itself, depth and size, names.

use super::{VALID, problems};

#[test]
fn wrong_types_are_refused_everywhere() {
    let keys = [
        "schema",
        "title",
        "duration",
        "warmup",
        "sample",
        "links",
        "flows",
        "schemes",
        "schemes.pi",
        "schemes.pi.a",
        "links.bottleneck.rate",
        "links.bottleneck.delay",
        "links.bottleneck.buffer",
        "links.bottleneck.target",
        "links.bottleneck.aqm",
        "links.bottleneck.fixed",
        "links.bottleneck.name",
        "links.bottleneck.policer",
        "links.bottleneck.policer.rate",
        "links.bottleneck.policer.burst",
        "links.bottleneck.policer.action",
        "links.bottleneck.aggregation",
        "links.bottleneck.aggregation.packets",
        "links.bottleneck.loss",
        "links.bottleneck.jitter",
        "links.bottleneck.reorder",
        "links.bottleneck.ecn_mangling",
        "flows.ftp.kind",
        "flows.ftp.count",
        "flows.ftp.path",
        "flows.ftp.rtt",
        "flows.ftp.start",
        "flows.ftp.stop",
        "flows.ftp.packet",
        "flows.ftp.access_rate",
        "flows.ftp.ecn",
        "flows.ftp.tcp",
        "flows.ftp.tcp.variant",
        "flows.ftp.tcp.profile",
        "flows.ftp.tcp.window",
        "flows.late.groups",
        "flows.late.groups.0.count",
        "flows.late.groups.0.start",
    ];
    for key in keys {
        for value in ["[1, 2]", "{ x = 1 }", "1979-05-27", "7.25", "[[]]"] {
            let found = problems(VALID, &[(key, value)]);
            assert!(found.lines().any(|line| line.starts_with(key)), "{key} = {value}: {found}");
        }
    }
}

#[test]
fn all_problems_are_reported_together() {
    let text = VALID.replace("\"8 Mbit/s\"", "8").replace("\"20 ms\"", "\"20\"").replace("ecn = false", "ecn = 1");
    let found = problems(&text, &[]);
    for path in ["test:9:8: links.bottleneck.rate: ", "test:26:7: flows.ftp.rtt: ", "test:31:7: flows.ftp.ecn: "] {
        assert!(found.lines().any(|line| line.starts_with(path)), "{path} in {found}");
    }
}

#[test]
fn text_that_is_not_toml_is_refused_with_its_line() {
    assert!(problems("schema = 1\nduration =\n", &[]).starts_with("test:2:11: is not TOML: "));
    assert!(problems("schema = 1\nschema = 1\n", &[]).starts_with("test:2:1: is not TOML: "));
    assert!(problems("\u{0}", &[]).starts_with("test:1:"));
}

#[test]
fn deep_nesting_and_sheer_size_are_refused() {
    const DEEP: usize = 150_000;
    const MB: usize = 1 << 20;
    for text in [
        "[".repeat(MB),
        format!("a = {}", "[".repeat(MB - 4)),
        format!("a = {}", "{a=".repeat(DEEP)),
        format!("{}a = 1", "a.".repeat(DEEP)),
        format!("[{}a]", "a.".repeat(DEEP)),
    ] {
        let found = problems(&text, &[]);
        assert!(found.starts_with("test:1:") && found.len() < 300, "{found}");
    }
    assert_eq!(
        problems(&" ".repeat((MB << 4) + 1), &[]),
        "test: is too long: 16777217 bytes, at most 16777216 are read"
    );
    let long_key = problems(&format!("{VALID}\n[{}]\n", "k".repeat(100_000)), &[]);
    assert!(long_key.len() < 400, "{} bytes", long_key.len());
    let many_keys: String = (0..100_000).map(|i| format!("k{i} = 1\n")).collect();
    let found = problems(&format!("{many_keys}{VALID}"), &[]);
    assert!(found.lines().count() == 21 && found.contains(": unknown key, and 99979 more; known: "), "{found}");
}

#[test]
fn delays_beyond_the_clock_are_refused() {
    assert_ne!(problems(VALID, &[("links.bottleneck.delay", "10000000 s")]), "nothing");
}

#[test]
fn an_override_of_absurd_depth_is_refused() {
    assert_ne!(problems(VALID, &[(&format!("{}a", "a.".repeat(60_000)), "1")]), "nothing");
}

#[test]
fn names_are_plain_words() {
    for name in ["", "a b", "a.b", "\u{e9}", &"n".repeat(65)] {
        let found = problems(&VALID.replace("\"late\"", &format!("\"{name}\"")), &[]);
        assert!(found.contains("is not a name: use up to 64 letters, digits, - and _"), "{name:?}: {found}");
    }
}
