//! The memory that a simulation takes, held against its estimate.

#[path = "../../core/tests/counting/mod.rs"]
mod counting;

use aqmlab_scenario::{Scenario, parse};
use aqmlab_sim::{Options, footprint, run};
use counting::taken;

/// Bytes that the run of a scenario holds at most.
fn most(scenario: Scenario, series: bool) -> usize {
    taken(|| run(scenario, Options { series, ..Options::default() }).expect("it runs")).peak
}

fn bell(duration: &str, link: &str, flows: &str) -> String {
    format!(
        "schema = 1\nduration = \"{duration}\"\n[[links]]\nname = \"l\"\n{link}\n[[flows]]\nname = \"f\"\n{flows}\n"
    )
}

fn tree(lines: u32, plan: &str, flows: &str) -> String {
    format!(
        "schema = 1\nduration = \"100 ms\"\n[[sites]]\nname = \"ap\"\ncount = 10\ndown = \"1 Gbit/s\"\nbuffer = \"100 packets\"\n\
         [[plans]]\nname = \"p\"\ndown = \"50 Mbit/s\"\nup = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"100 packets\"\n{plan}\n\
         [lines]\ncount = {lines}\nparent = \"ap\"\n[[flows]]\nname = \"f\"\nlines = true\n{flows}\n"
    )
}

fn row(links: u32) -> String {
    let link =
        |i| format!("[[links]]\nname = \"l{i}\"\nrate = \"10 Mbit/s\"\nbuffer = \"200 packets\"\naqm = \"pie\"\n");
    (0..links).map(link).collect()
}

const WIDE: &str = "rate = \"10 Gbit/s\"\nbuffer = \"1000 packets\"";

fn shapes() -> Vec<(&'static str, String, bool)> {
    vec![
        ("TCP flows", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\""), false),
        ("TCP flows of Linux", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\"\ntcp = \"linux\""), false),
        ("datagrams", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\"\nkind = \"udp-cbr\"\nrate = \"100 kbit/s\""), false),
        ("clients", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\"\nkind = \"http\"\nthink_time = { exponential = \"1 s\" }\nsize = { values = [\"10 packets\"] }"), false),
        ("calls", bell("50 ms", WIDE, "count = 2000\nrtt = \"20 ms\"\nkind = \"media\"\nrate = \"1 Mbit/s\""), false),
        ("lines", tree(2000, "", ""), false),
        ("lines with FQ-CoDel", tree(2000, "aqm = \"fq-codel\"", ""), false),
        ("lines with CAKE", tree(2000, "aqm = \"cake\"", ""), false),
        ("a long queue", bell("1 s", "rate = \"1 Gbit/s\"\nbuffer = \"60000 packets\"", "rtt = \"20 ms\""), false),
        ("links in a row", format!("schema = 1\nduration = \"10 ms\"\n{}[[flows]]\nname = \"f\"\nrtt = \"20 ms\"\npath = [\"l0\", \"l999\"]\n", row(1000)), false),
        ("series", format!("sample = \"10 us\"\n{}", bell("10 s", "rate = \"1 Mbit/s\"\nbuffer = \"100 packets\"\naqm = \"red\"", "rtt = \"20 ms\"")), true),
        ("stations", "schema = 1\nduration = \"100 ms\"\n[wifi]\n[[stations]]\nname = \"s\"\ncount = 500\nrate = \"100 Mbit/s\"\n[[flows]]\nname = \"f\"\nstations = true\nrtt = \"20 ms\"\n".to_string(), false),
        ("a fabric", "schema = 1\nduration = \"10 us\"\n[fabric]\nspines = 8\nbuffer = \"4 MB\"\nhosts = { count = 512, rate = \"10 Gbit/s\", buffer = \"1 MB\" }\nleaves = { count = 16, rate = \"40 Gbit/s\" }\n[[flows]]\nname = \"f\"\nrtt = \"100 us\"\ncount = 1000\n".to_string(), false),
    ]
}

#[test]
fn the_estimate_is_within_a_quarter_of_what_it_takes() {
    for (name, text, series) in shapes() {
        let scenario = parse(&text, "m", &[]).unwrap_or_else(|why| panic!("{name}: {why}"));
        let estimate = footprint(&scenario, None, series);
        let share = estimate / most(scenario, series) as f64;
        println!("{name}: {estimate:.0} B, {share:.2} of what it takes");
        assert!((0.75..=1.25).contains(&share), "{name}: {estimate:.0} B, {share:.2} of what it takes");
    }
}
