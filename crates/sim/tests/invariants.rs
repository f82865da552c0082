//! What must not matter: the order in which groups are written, the unit of time, the size of packets. For every scheme of
//! the catalogue. And what must: the seed, for how flows are hashed.

use aqmlab_aqm::{SchemeEntry, entries};
use aqmlab_core::{Span, Time, read_any};
use aqmlab_scenario::SchemeAssignment;
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, RunResult, Simulation, run};

/// Two groups that overload a link, each flow with a round trip of its own.
fn scenario(time: f64, size: f64, groups: [&str; 2]) -> String {
    let group = |name: &str| {
        let rtt = if name == "near" { 20.0 } else { 120.0 };
        format!(
            "[[flows]]\nname = \"{name}\"\ncount = 8\nrtt = {{ uniform = [\"{} s\", \"{} s\"] }}\nstart = {{ uniform = [\"0 s\", \
             \"{} s\"] }}\npacket = \"{} B\"\necn = true\nrtt_notification = true\ntcp = {{ profile = \"ns2\", header = \"{} B\", ack = \
             \"{} B\", clock = \"{} s\", min_rto = \"{} s\", max_rto = \"{} s\", initial_rto = \"{} s\" }}\n",
            time * rtt * 1e-3,
            time * (rtt + 20.0) * 1e-3,
            time,
            960.0 * size,
            40.0 * size,
            40.0 * size,
            time * 0.01,
            time * 0.2,
            time * 60.0,
            time * 3.0,
        )
    };
    format!(
        "schema = 1\nduration = \"{} s\"\n[[links]]\nname = \"l\"\nrate = \"{} bit/s\"\nbuffer = \"120 packets\"\ntarget = \"30 packets\"\n\
         {}{}",
        time * 20.0,
        8e6 * size / time,
        group(groups[0]),
        group(groups[1]),
    )
}

/// The scheme with its defaults in another unit of time and for packets of another size.
fn scaled(entry: &SchemeEntry, time: f64, size: f64) -> String {
    let pairs = (entry.params)().into_iter().filter_map(|spec| {
        let (value, _) = read_any(spec.default)?;
        let factor = match spec.unit {
            "B" => size,
            "time" | "s/packet" => time,
            "Hz" | "1/s" | "1/(packet s)" => 1.0 / time,
            _ => return None,
        };
        Some(format!("{}={}", spec.name, spec.text(value * factor)))
    });
    let pairs: Vec<_> = pairs.collect();
    if pairs.is_empty() { entry.info.name.into() } else { format!("{}:{}", entry.info.name, pairs.join(",")) }
}

fn result(text: &str, aqm: &str, seed: u64) -> RunResult {
    let scenario = parse(text, "invariant", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let aqm = SchemeAssignment::parse(aqm).unwrap_or_else(|problems| panic!("{aqm}: {problems}"));
    run(scenario, Options { aqm: Some(aqm), seed, ..Options::default() }).unwrap().result
}

/// Packets offered, sent, dropped and marked, and what the senders counted.
fn counts(result: &RunResult) -> Vec<u64> {
    let link = &result.links[0].1;
    let mut counts = vec![link.arrived, link.departed, link.dropped, link.marked];
    for (_, flows) in &result.flows {
        counts.extend([flows.received, flows.retransmits, flows.timeouts]);
    }
    counts
}

/// Schemes whose counts differ under a unit of time and a size of packets.
fn differing(time: f64, size: f64) -> Vec<&'static str> {
    let groups = ["near", "far"];
    let moved = |entry: &SchemeEntry| {
        let plain = counts(&result(&scenario(1.0, 1.0, groups), entry.info.name, 1));
        let other = counts(&result(&scenario(time, size, groups), &scaled(entry, time, size), 1));
        plain != other
    };
    entries().iter().filter(|entry| moved(entry)).map(|entry| entry.info.name).collect()
}

/// NLRED decays its average over idle times by packets of 1000 B, as its RED does; CAKE's quantum and MTU are
/// Ethernet's.
#[test]
fn packets_twice_as_large_at_twice_the_rate_change_no_count() {
    assert_eq!(differing(1.0, 2.0), ["nlred", "cake", "cake-mq"]);
}

/// The PIE of DOCSIS decays below 5 ms; that of Linux updates p after whole milliseconds.
#[test]
fn a_unit_of_time_four_times_as_long_changes_no_count() {
    assert_eq!(differing(4.0, 1.0), ["docsis-lld", "fq-pie"]);
}

/// Each group draws from its own streams: only what happens at one instant, and the packets of a tie, depend on the order.
#[test]
fn the_order_of_groups_changes_nothing_beyond_noise() {
    for entry in entries() {
        let queue = |groups| {
            let runs =
                (1..6).map(|seed| result(&scenario(1.0, 1.0, groups), entry.info.name, seed).links[0].1.queue_mean);
            runs.sum::<f64>() / 5.0
        };
        let (one, other) = (queue(["near", "far"]), queue(["far", "near"]));
        assert!((one - other).abs() < 1.0 + 0.1 * one, "{}: {one} and {other}", entry.info.name);
    }
}

/// Eight flows that each send as much as the link does fall into 8 (1 - (7/8)^8) = 5.251 of eight queues in the mean, with a
/// standard deviation of 0.894; 0.566 are four standard errors.
#[test]
fn flows_are_hashed_otherwise_under_each_seed() {
    let text = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"8 Mbit/s\"\nbuffer = \"120 packets\"\n\
                [[flows]]\nkind = \"udp-cbr\"\ncount = 8\nrate = \"8 Mbit/s\"\nrtt = \"10 ms\"\nstop = \"1 s\"\n";
    let queues = |seed| {
        let aqm = Some(SchemeAssignment::parse("fq-droptail:flows=8").unwrap());
        let scenario = parse(text, "hashes", &[]).unwrap();
        let mut simulation = Simulation::new(scenario, Options { aqm, seed, ..Options::default() }).unwrap();
        simulation.step_until(Time::ZERO + Span::from_millis(500)).unwrap();
        let (name, active) = simulation.probe().links[0].observables[0];
        assert_eq!(name, "active");
        active
    };
    let mean = (0..40).map(queues).sum::<f64>() / 40.0;
    assert!((mean - 5.251).abs() < 0.566, "{mean}");
}
