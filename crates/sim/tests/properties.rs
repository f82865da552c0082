//! What holds of every run: random small scenarios under every scheme of the catalogue.

use aqmlab_aqm::{CATALOGUE, Limit};
use aqmlab_sim::scenario::{LinkSpec, parse};
use aqmlab_sim::{AqmChoice, FlowResult, LinkResult, RunOptions, RunResult, Scenario, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::thread;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

const NAMES: [&str; 3] = ["one", "two", "three"];

fn link() -> impl Strategy<Value = String> {
    let buffer = prop_oneof![
        (1u32..200).prop_map(|packets| format!("{packets} packets")),
        (2000u32..200_000).prop_map(|bytes| format!("{bytes} B")),
        (1u32..40).prop_map(|tenths| format!("{} bdp", f64::from(tenths) / 10.0)),
    ];
    (300u32..20_000, 0u32..5_000, buffer).prop_map(|(kbit, us, buffer)| {
        format!("rate = \"{kbit} kbit/s\"\ndelay = \"{us} us\"\nbuffer = \"{buffer}\"\n")
    })
}

/// A time law in TOML, no shorter than `least` ms where it is not drawn from zero.
fn law(least: u32) -> impl Strategy<Value = String> {
    let time = least..least + 300;
    prop_oneof![
        time.clone().prop_map(|ms| format!("\"{ms} ms\"")),
        (time.clone(), 0u32..200)
            .prop_map(|(low, more)| format!("{{ uniform = [\"{low} ms\", \"{} ms\"] }}", low + more)),
        time.clone().prop_map(|mean| format!("{{ exponential = \"{mean} ms\" }}")),
        time.clone().prop_map(|median| format!("{{ lognormal = {{ median = \"{median} ms\", sigma = 0.5 }} }}")),
        (time.clone(), time).prop_map(|(a, b)| format!("{{ values = [\"{a} ms\", \"{b} ms\"] }}")),
    ]
}

/// A group of flows that crosses some of three links, in some order; the links' delays sum to 15 ms at most.
fn group() -> impl Strategy<Value = String> {
    let path = prop::sample::subsequence(NAMES.to_vec(), 1..=3).prop_shuffle();
    let tcp = (prop_oneof!["reno", "newreno"], prop_oneof!["ns2", "rfc"], 1u32..200);
    let stop = prop::option::of(1000u32..3000);
    let access = prop::option::of(1u32..100);
    (1u32..=15, path, law(30), law(0), stop, 100u32..1500, access, tcp).prop_map(
        |(count, path, rtt, start, stop, packet, access, (variant, profile, window))| {
            let stop = stop.map_or(String::new(), |ms| format!("stop = \"{ms} ms\"\n"));
            let access = access.map_or(String::new(), |mbit| format!("access_rate = \"{mbit} Mbit/s\"\n"));
            format!(
                "count = {count}\npath = {path:?}\nrtt = {rtt}\nstart = {start}\n{stop}packet = \"{packet} B\"\n{access}\
                 tcp = {{ variant = \"{variant}\", profile = \"{profile}\", window = \"{window} packets\" }}\n"
            )
        },
    )
}

/// One to three links, up to thirty flows in one or two groups; half of the runs warm up.
fn scenario() -> impl Strategy<Value = Scenario> {
    let links = prop::collection::vec(link(), 3);
    let groups = prop::collection::vec(group(), 1..=2);
    (links, groups, 500u32..4000, prop_oneof![Just(0u32), 1u32..400]).prop_map(|(links, groups, duration, warmup)| {
        let mut text = format!("schema = 1\nduration = \"{duration} ms\"\nwarmup = \"{warmup} ms\"\n");
        for (name, link) in NAMES.iter().zip(links) {
            text += &format!("[[links]]\nname = \"{name}\"\n{link}");
        }
        for (i, group) in groups.iter().enumerate() {
            text += &format!("[[flows]]\nname = \"group-{i}\"\n{group}");
        }
        parse(&text, "random", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"))
    })
}

fn scheme() -> impl Strategy<Value = AqmChoice> {
    (0..CATALOGUE.len()).prop_map(|i| AqmChoice::parse(CATALOGUE[i].info.name).expect("a listed scheme exists"))
}

fn result(scenario: &Scenario, aqm: &AqmChoice, seed: u64) -> RunResult {
    let options = RunOptions { aqm: Some(aqm), seed, ..RunOptions::default() };
    let mut result = run(scenario, options).expect("a valid scenario runs").result;
    result.engine.wall = 0.0;
    result
}

/// Most packets of 40 B or more, the least size on the wire, that may wait.
fn room(link: &LinkSpec) -> f64 {
    match link.buffer {
        Limit::Packets(packets) => f64::from(packets),
        Limit::Bytes(bytes) => (bytes / 40) as f64,
    }
}

fn check_link(spec: &LinkSpec, largest: f64, warmed_up: bool, link: &LinkResult) -> Result<(), TestCaseError> {
    let room = room(spec);
    let waiting = link.arrived as f64 - link.departed as f64 - link.dropped as f64;
    let least = if warmed_up { -room } else { 0.0 };
    prop_assert!((least..=room).contains(&waiting), "{waiting} packets more wait than at the start");
    prop_assert_eq!(link.drops.values().sum::<u64>(), link.dropped);
    prop_assert_eq!(link.marked, 0);
    for ratio in [link.utilisation, link.drop_ratio, link.mark_ratio] {
        prop_assert!((0.0..=1.0).contains(&ratio), "{ratio}");
    }
    prop_assert!((0.0..=room).contains(&link.queue_mean));
    prop_assert!((0.0..=room / 2.0 * 1.000001).contains(&link.queue_std), "at most half the range (Popoviciu)");
    prop_assert!(f64::from(link.queue_p95) <= room);
    let most = match spec.buffer {
        Limit::Packets(packets) => f64::from(packets) * largest,
        Limit::Bytes(bytes) => bytes as f64 + largest,
    };
    let longest = most * 8.0 / spec.rate.0 * 1.001; // percentiles are good to 0.1 %
    for delay in [link.queue_delay_mean, link.queue_delay_std, link.queue_delay_p99] {
        prop_assert_eq!(delay.is_some(), link.departed > 0);
        prop_assert!((0.0..=longest).contains(&delay.unwrap_or(0.0)), "{delay:?}: a full buffer takes {longest} s");
    }
    prop_assert!(link.settling_time.is_none_or(f64::is_finite));
    Ok(())
}

fn check_flows(count: u32, least_delay: f64, flows: &FlowResult) -> Result<(), TestCaseError> {
    prop_assert_eq!(flows.count, count);
    prop_assert!(flows.goodput.is_finite() && flows.goodput >= 0.0);
    prop_assert!(flows.jain.is_none_or(|jain| jain > 0.0 && jain <= 1.0 + 1e-12));
    prop_assert_eq!(flows.packet_delay_mean.is_some(), flows.packet_delay_std.is_some());
    prop_assert!(flows.packet_delay_mean.is_none_or(|delay| delay.is_finite() && delay >= least_delay));
    prop_assert!(flows.packet_delay_std.is_none_or(|delay| delay.is_finite() && delay >= 0.0));
    Ok(())
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn accounts_balance_and_metrics_lie_in_their_ranges(scenario in scenario(), aqm in scheme(), seed: u64) {
        let result = result(&scenario, &aqm, seed);
        let largest = scenario.flows.iter().map(|flows| f64::from(flows.wire_size())).fold(0.0, f64::max);
        for (spec, (name, link)) in scenario.links.iter().zip(&result.links) {
            prop_assert_eq!(&spec.name, name);
            check_link(spec, largest, scenario.warmup.0 > 0, link)?;
        }
        for (spec, (name, flows)) in scenario.flows.iter().zip(&result.flows) {
            prop_assert_eq!(&spec.name, name);
            let links: f64 = spec.path.iter().map(|i| scenario.links[*i].delay.seconds()).sum();
            check_flows(spec.count(), links.max(spec.rtt.least().seconds() / 2.0 - 1e-12), flows)?;
        }
    }

    /// Without a warm-up, which may cut a segment's arrival from its delivery in order.
    #[test]
    fn no_link_delivers_more_than_its_rate(scenario in scenario(), aqm in scheme(), seed: u64) {
        prop_assume!(scenario.warmup.0 == 0);
        let result = result(&scenario, &aqm, seed);
        for (i, link) in scenario.links.iter().enumerate() {
            let on_wire = scenario.flows.iter().zip(&result.flows).filter(|(spec, _)| spec.path.contains(&i));
            let bits: f64 = on_wire
                .map(|(spec, (_, flows))| flows.goodput * f64::from(spec.wire_size()) / f64::from(spec.payload))
                .sum();
            prop_assert!(bits <= link.rate.0 * (1.0 + 1e-9), "{bits} bit/s on {}", link.name);
        }
    }
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn equal_seeds_give_equal_results_on_any_thread(scenario in scenario(), aqm in scheme(), seed: u64) {
        let here = result(&scenario, &aqm, seed).json();
        let there = thread::scope(|scope| {
            let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| result(&scenario, &aqm, seed).json())).collect();
            runs.into_iter().map(|run| run.join().expect("a run does not panic")).collect::<Vec<_>>()
        });
        prop_assert_eq!(there, [here.clone(), here.clone(), here]);
    }

    #[test]
    fn recording_time_series_changes_no_result(scenario in scenario(), aqm in scheme(), seed: u64) {
        let options = RunOptions { aqm: Some(&aqm), seed, series: true, ..RunOptions::default() };
        let output = run(&scenario, options).expect("a valid scenario runs");
        let mut recorded = output.result;
        let plain = result(&scenario, &aqm, seed);
        recorded.engine = plain.engine; // a sample is an event
        prop_assert_eq!(recorded.json(), plain.json());
        let samples = (scenario.duration.0 / scenario.sample.0) as usize;
        for series in output.series {
            for (name, values) in series.columns {
                prop_assert_eq!(values.len(), samples, "{}", name);
                prop_assert!(values.iter().all(|value| value.is_finite()), "{}", name);
            }
        }
    }
}

#[test]
fn another_seed_gives_another_result() {
    let text = "schema = 1\nduration = \"5 s\"\n\
                [[links]]\nrate = \"10 Mbit/s\"\nbuffer = \"50 packets\"\naqm = \"pi\"\n\
                [[flows]]\ncount = 20\nrtt = { uniform = [\"20 ms\", \"100 ms\"] }\n";
    let scenario = parse(text, "two seeds", &[]).unwrap();
    let json = |seed| result(&scenario, &AqmChoice::parse("pi").unwrap(), seed).json();
    assert_ne!(json(1).replace("\"seed\":1", ""), json(2).replace("\"seed\":2", ""));
}
