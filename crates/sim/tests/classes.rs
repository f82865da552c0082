//! Classes that share a link, in whole runs: shares as the tree has them, whatever the traffic and the number of threads.

use aqmlab_scenario::{Scenario, parse};
use aqmlab_sim::{Options, RunResult, run};

/// A link of 20 Mbit/s with these classes, crossed by groups of flows with these names that all offer more than there is.
fn scenario(classes: &str, groups: &[(&str, &str)]) -> Scenario {
    let flows = groups.iter().map(|(name, kind)| format!("[[flows]]\nname = \"{name}\"\nrtt = \"20 ms\"\n{kind}\n"));
    let link = "[[links]]\nname = \"down\"\nrate = \"20 Mbit/s\"\nbuffer = \"100 packets\"\n";
    let text =
        format!("schema = 1\nduration = \"12 s\"\nwarmup = \"2 s\"\n{link}{classes}{}", flows.collect::<String>());
    parse(&text, "test", &[]).unwrap()
}

fn class(name: &str, parent: &str, rate: u32, more: &str) -> String {
    let parent = if parent.is_empty() { String::new() } else { format!("parent = \"{parent}\"\n") };
    format!("[[links.classes]]\nname = \"{name}\"\n{parent}rate = \"{rate} Mbit/s\"\nceil = \"20 Mbit/s\"\n{more}\n")
}

const UDP: &str = "kind = \"udp-cbr\"\nrate = \"30 Mbit/s\"\npacket = \"958 B\"\nheader = \"42 B\"";
const TCP: &str = "count = 4\ntcp = \"linux\"";
const WEB: &str = "kind = \"short\"\narrivals = \"400 Hz\"\nsize = \"20 packets\"\ntcp = \"linux\"";

fn done(scenario: &Scenario, aqm: &str, threads: usize) -> RunResult {
    let aqm = aqmlab_scenario::SchemeAssignment::parse(aqm).unwrap();
    run(scenario.clone(), Options { aqm: Some(aqm), seed: 1, threads, ..Options::default() }).unwrap().result
}

/// Mbit/s of goodput of each group.
fn goodput(result: &RunResult) -> Vec<f64> {
    result.flows.iter().map(|(_, flows)| flows.goodput / 1e6).collect()
}

#[track_caller]
fn assert_shares(found: &[f64], expected: &[f64], within: f64) {
    let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= within * expected;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_near), "{found:?} for {expected:?}");
}

#[test]
fn datagrams_have_the_shares_of_their_classes() {
    // Packets of 1000 B of which 958 are data. The link has 8 Mbit/s more than the rates: 4 each by equal quanta.
    let quantum = "quantum = \"1500 B\"";
    let tree = class("gold", "", 9, &format!("{quantum}\nflows = [\"a\"]")) + &class("rest", "", 3, quantum);
    let scenario = scenario(&tree, &[("a", UDP), ("b", UDP)]);
    for aqm in ["droptail", "codel", "fq-codel"] {
        assert_shares(&goodput(&done(&scenario, aqm, 1)), &[13.0 * 0.958, 7.0 * 0.958], 0.01);
    }
}

#[test]
fn each_leaf_has_a_queue_and_a_scheme_of_its_own() {
    // TCP in a leaf is not hurt by datagrams in another, and meets the delay of its own scheme only.
    let tree = class("tcp", "", 10, "aqm = \"codel\"\nflows = [\"t\"]") + &class("udp", "", 10, "flows = [\"u\"]");
    let result = done(&scenario(&tree, &[("t", TCP), ("u", UDP)]), "droptail", 1);
    let found = goodput(&result);
    assert_shares(&found, &[10.0 * 1448.0 / 1514.0, 10.0 * 0.958], 0.04);
    let delay = |group: usize| result.flows[group].1.packet_delay_mean.unwrap();
    assert!(delay(0) < 0.025 && delay(1) > 0.08, "{} s and {} s", delay(0), delay(1)); // 100 packets at 10 Mbit/s
}

#[test]
fn transfers_and_acks_are_in_the_class_of_their_group() {
    let quantum = "quantum = \"3000 B\"";
    let tree = class("web", "", 12, &format!("{quantum}\nflows = [\"w\"]\naqm = \"fq-codel\""))
        + &class("udp", "", 8, quantum);
    let result = done(&scenario(&tree, &[("w", WEB), ("u", UDP)]), "droptail", 1);
    let found = goodput(&result);
    assert_shares(&found[1..], &[8.0 * 0.958], 0.01);
    assert_shares(&found[..1], &[12.0 * 1448.0 / 1514.0], 0.1); // less what is sent twice
}

#[test]
fn a_tree_runs_on_any_number_of_threads() {
    let tree = class("site", "", 12, "").replace("20 Mbit/s", "15 Mbit/s")
        + &class("a", "site", 4, "flows = [\"a\"]\naqm = \"pie\"")
        + &class("b", "site", 8, "flows = [\"b\"]\nprio = 1")
        + &class("c", "", 8, "flows = [\"c\"]\nbuffer = \"30 ms\"");
    let scenario = scenario(&tree, &[("a", TCP), ("b", TCP), ("c", UDP)]);
    let told = |threads| {
        let mut result = done(&scenario, "codel", threads);
        result.engine.wall = 0.0;
        serde_json::to_string(&result).unwrap()
    };
    assert_eq!(told(1), told(3));
}
