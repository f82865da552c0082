//! What holds of every run: random small scenarios of every traffic and topology, under every scheme of the catalogue.
//! First in, first out and the accounts of each queue are asserted inside the engine, in debug builds, as here.

use aqmlab_aqm::{AnyScheme, Limit, entries};
use aqmlab_core::{Rate, Span, Time};
use aqmlab_scenario::{LinkSpec, Mangling, RateChanges, Traffic, parse};
use aqmlab_scenario::{Scenario, SchemeAssignment};
use aqmlab_sim::{FlowResult, LinkResult, Options, RunResult, Simulation, VideoResult, run, run_divided};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::Cell;
use std::sync::Arc;
use std::thread;

/// So many random scenarios a property as `AQMLAB_CASES` says (`make nightly`: 5000), else 100.
fn config(share: u32) -> ProptestConfig {
    let cases = std::env::var("AQMLAB_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100);
    let cases = (cases * share / 100).max(1);
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

const NAMES: [&str; 3] = ["one", "two", "three"];

/// A constant rate, a schedule or a rate that wanders.
fn rate() -> impl Strategy<Value = String> {
    let kbit = || 300u32..20_000;
    prop_oneof![
        3 => kbit().prop_map(|kbit| format!("\"{kbit} kbit/s\"")),
        1 => (kbit(), 1u32..3000, kbit())
            .prop_map(|(a, ms, b)| format!("[[\"0 s\", \"{a} kbit/s\"], [\"{ms} ms\", \"{b} kbit/s\"]]")),
        1 => (kbit(), kbit(), 1u32..500).prop_map(|(a, b, ms)| {
            format!("{{ values = [\"{a} kbit/s\", \"{b} kbit/s\"], hold = {{ exponential = \"{ms} ms\" }} }}")
        }),
    ]
}

fn link() -> impl Strategy<Value = String> {
    let buffer = prop_oneof![
        (1u32..200).prop_map(|packets| format!("{packets} packets")),
        (2000u32..200_000).prop_map(|bytes| format!("{bytes} B")),
        (1u32..40).prop_map(|tenths| format!("{} bdp", f64::from(tenths) / 10.0)),
    ];
    (rate(), 0u32..5_000, buffer, prop::bool::weighted(0.8), impairments()).prop_map(|(rate, us, buffer, ecn, wire)| {
        format!("rate = {rate}\ndelay = \"{us} us\"\nbuffer = \"{buffer}\"\necn = {ecn}\n{wire}")
    })
}

/// What happens on the wire; on most links nothing.
fn impairments() -> impl Strategy<Value = String> {
    let loss = (0u32..20, 1u32..100, 0u32..=100).prop_map(|(p, r, bad)| match bad {
        0 => format!("loss = \"{p}%\"\n"),
        _ => format!("loss = {{ p = \"{p}%\", r = \"{r}%\", bad = \"{bad}%\" }}\n"),
    });
    let reorder = prop::option::of(0u32..=100)
        .prop_map(|share| share.map_or(String::new(), |share| format!("reorder = \"{share}%\"\n")));
    let jitter = (law(0), reorder).prop_map(|(law, reorder)| format!("jitter = {law}\n{reorder}"));
    let mangling = prop_oneof!["bleach", "ce-only", "continuous-ce"];
    let mangling = mangling.prop_map(|name| format!("ecn_mangling = \"{name}\"\n"));
    let some = |each: BoxedStrategy<String>| prop_oneof![3 => Just(String::new()), 1 => each];
    let policer =
        (20u32..20_000, 70u32..500, prop::sample::select(vec!["drop", "ce"])).prop_map(|(rate, burst, action)| {
            format!("policer = {{ rate = \"{rate} kbit/s\", burst = \"{burst} kB\", action = \"{action}\" }}\n")
        });
    let aggregation = prop::option::of((2u32..40, 1u32..20_000));
    let each = (some(loss.boxed()), some(jitter.boxed()), some(mangling.boxed()), some(policer.boxed()), aggregation);
    each.prop_map(|(loss, jitter, mangling, policer, aggregation)| {
        let aggregation = aggregation.map_or(String::new(), |(packets, us)| match (packets % 4, jitter.is_empty()) {
            (0, true) => format!("aggregation = {{ packets = {packets}, hold = \"{us} us\" }}\n"),
            (1, _) => format!("aggregation = {{ every = \"{us} us\" }}\n"),
            _ => String::new(),
        });
        loss + &jitter + &mangling + &policer + &aggregation
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

/// How a group speaks TCP: congestion control, variant, constants, ECN, announced round-trip times, ACKs that queue on some links.
fn tcp() -> impl Strategy<Value = String> {
    let variant = prop_oneof!["reno", "newreno", "sack", "rack"];
    let control = prop_oneof![
        3 => prop_oneof!["ns2", "rfc", "linux"].prop_map(|profile| format!("profile = \"{profile}\"")),
        1 => (2u32..10).prop_map(|tenths| format!("congestion_control = \"cubic:beta=0.{tenths}\"")),
        1 => (1u32..200, 1u32..20)
            .prop_map(|(ms, gain)| format!("congestion_control = \"ledbat:target={ms} ms,gain={gain}\"")),
    ];
    let back = prop_oneof![
        2 => Just(Vec::new()),
        1 => prop::sample::subsequence(NAMES.to_vec(), 1..=3).prop_shuffle(),
    ];
    let flags = (any::<bool>(), any::<bool>(), any::<bool>());
    (variant, control, 1u32..200, flags, back).prop_map(|(variant, control, window, (delayed, ecn, announce), back)| {
        let back = if back.is_empty() { String::new() } else { format!("ack_path = {back:?}\n") };
        format!(
            "{back}ecn = {ecn}\nrtt_notification = {announce}\ntcp = {{ variant = \"{variant}\", \
                 {control}, window = \"{window} packets\", delayed_ack = {delayed} }}\n"
        )
    })
}

/// What a group sends, and how.
fn traffic() -> impl Strategy<Value = String> {
    let size = || {
        (1u32..40, 12u32..30).prop_map(|(mean, shape)| {
            format!("size = {{ pareto = {{ mean = \"{mean} packets\", shape = {} }} }}\n", f64::from(shape) / 10.0)
        })
    };
    prop_oneof![
        3 => tcp(),
        1 => (10u32..500).prop_map(|kbit| format!("kind = \"udp-cbr\"\nrate = \"{kbit} kbit/s\"\n")),
        1 => (10u32..2000, 1u32..40, prop::option::of((law(0), law(0))), tcp()).prop_map(|(kbit, chunk, on_off, tcp)| {
            let on_off = on_off.map_or(String::new(), |(on, off)| format!("on = {on}\noff = {off}\n"));
            format!("kind = \"app-limited\"\nrate = \"{kbit} kbit/s\"\nchunk = \"{chunk} packets\"\n{on_off}{tcp}")
        }),
        1 => (10u32..500, law(0), law(0)).prop_map(|(kbit, on, off)| {
            format!("kind = \"udp-onoff\"\nrate_on = \"{kbit} kbit/s\"\non = {on}\noff = {off}\n")
        }),
        1 => (1u32..6, law(0), 1u32..5, law(0), size(), tcp()).prop_map(|(pages, think, objects, gap, size, tcp)| {
            format!(
                "kind = \"http\"\npages = {pages}\nthink_time = {think}\nobjects = {objects}\nobject_gap = {gap}\n{size}{tcp}"
            )
        }),
        1 => (50u32..2000, 101u32..300, 1u32..20, 1u32..3, tcp()).prop_map(|(kbit, percent, tenths, segments, tcp)| {
            format!(
                "kind = \"video\"\nbitrates = [\"{kbit} kbit/s\", \"{} bit/s\"]\nsegment = \"{} ms\"\n\
                 playback_buffer = \"{} ms\"\n{tcp}",
                kbit * percent * 10, 100 * tenths, 100 * tenths * segments
            )
        }),
        1 => (1u32..60, size(), tcp())
            .prop_map(|(rate, size, tcp)| format!("kind = \"short\"\narrivals = \"{rate} Hz\"\n{size}{tcp}")),
    ]
}

/// A group of flows that crosses some of three links, in some order; the links' delays sum to 15 ms at most.
fn group() -> impl Strategy<Value = String> {
    let path = prop::sample::subsequence(NAMES.to_vec(), 1..=3).prop_shuffle();
    let stop = prop::option::of(1000u32..3000);
    let access = prop::option::of(1u32..100);
    (1u32..=15, path, law(30), law(0), stop, 100u32..1500, access, traffic()).prop_map(
        |(count, path, rtt, start, stop, packet, access, traffic)| {
            let stop = stop.map_or(String::new(), |ms| format!("stop = \"{ms} ms\"\n"));
            let access = access.map_or(String::new(), |mbit| format!("access_rate = \"{mbit} Mbit/s\"\n"));
            format!(
                "count = {count}\npath = {path:?}\nrtt = {rtt}\nstart = {start}\n{stop}packet = \"{packet} B\"\n\
                 {access}{traffic}"
            )
        },
    )
}

/// Three links, up to 45 flows in one to three groups of any traffic; half of the runs warm up.
fn scenario() -> impl Strategy<Value = Arc<Scenario>> {
    let links = prop::collection::vec(link(), 3);
    let groups = prop::collection::vec(group(), 1..=3);
    (links, groups, 500u32..4000, prop_oneof![Just(0u32), 1u32..400]).prop_map(|(links, groups, duration, warmup)| {
        let mut text = format!("schema = 1\nduration = \"{duration} ms\"\nwarmup = \"{warmup} ms\"\n");
        for (name, link) in NAMES.iter().zip(links) {
            text += &format!("[[links]]\nname = \"{name}\"\n{link}");
        }
        for (i, group) in groups.iter().enumerate() {
            text += &format!("[[flows]]\nname = \"group-{i}\"\n{group}");
        }
        // The first link is a host's where all who cross it cross it first.
        let hosted = text.replacen("name = \"one\"", "name = \"one\"\nhost = true", usize::from(duration % 2 == 0));
        let scenario = parse(&hosted, "random", &[]).or_else(|_| parse(&text, "random", &[]));
        Arc::new(scenario.unwrap_or_else(|problems| panic!("{problems}\n{text}")))
    })
}

fn scheme() -> impl Strategy<Value = SchemeAssignment> {
    (0..entries().len()).prop_map(|i| SchemeAssignment::parse(entries()[i].info.name).expect("a listed scheme exists"))
}

fn options(aqm: &SchemeAssignment, seed: u64) -> Options {
    Options { aqm: Some(aqm.clone()), seed, ..Options::default() }
}

fn result(scenario: &Arc<Scenario>, aqm: &SchemeAssignment, seed: u64) -> RunResult {
    let mut result = run(scenario.clone(), options(aqm, seed)).expect("a valid scenario runs").result;
    result.engine.wall = 0.0;
    result
}

/// Most packets of 40 B or more, the least size on the wire, that may wait. CAKE counts memory: a full packet takes 2304 B, a small
/// one 832 B. Each of the four queues of cake-mq has the buffer.
fn room(scenario: &Scenario, link: &LinkSpec, aqm: &SchemeAssignment) -> f64 {
    let of_full = 2304.0 / 832.0;
    let queues = match scenario.scheme_of(link, Some(aqm)).name.as_str() {
        "cake" => of_full,
        "cake-mq" => 4.0 * of_full,
        _ => 1.0,
    };
    let of_one = match link.buffer {
        Limit::Packets(packets) => f64::from(packets),
        Limit::Bytes(bytes) => (bytes / 40) as f64,
    };
    queues * of_one
}

/// The least rate a link ever has.
fn least_rate(link: &LinkSpec) -> f64 {
    let rates: Vec<f64> = match &link.changes {
        RateChanges::None | RateChanges::Trace(_) => Vec::new(),
        RateChanges::At(steps) => steps.iter().map(|(_, rate)| rate.0).collect(),
        RateChanges::Wander { values, .. } => values.iter().map(|rate| rate.0).collect(),
        RateChanges::Fade(_) => unreachable!("none is drawn"),
    };
    rates.into_iter().fold(link.rate.0, f64::min)
}

/// `room`: packets that may wait at most; `longest`: what one may wait, s.
fn check_link(
    spec: &LinkSpec,
    room: f64,
    longest: f64,
    warmed_up: bool,
    link: &LinkResult,
) -> Result<(), TestCaseError> {
    let waiting = link.arrived as f64 - link.departed as f64 - link.dropped as f64;
    let least = if warmed_up { -room } else { 0.0 };
    prop_assert!((least..=room).contains(&waiting), "{waiting} packets more wait than at the start");
    prop_assert_eq!(link.drops.values().sum::<u64>(), link.dropped);
    prop_assert!(spec.ecn || link.marked == 0, "a queue that does not mark");
    prop_assert!(link.marked <= link.arrived);
    prop_assert!(link.lost == 0 || spec.impairments.loss.is_some() || link.policed > 0);
    prop_assert!(link.policed == 0 || spec.impairments.policer.is_some());
    for ratio in [link.utilisation, link.drop_ratio, link.mark_ratio] {
        prop_assert!((0.0..=1.0).contains(&ratio), "{ratio}");
    }
    prop_assert!((0.0..=room).contains(&link.queue_mean));
    prop_assert!((0.0..=room / 2.0 * 1.000001).contains(&link.queue_std), "at most half the range (Popoviciu)");
    prop_assert!(f64::from(link.queue_p95) <= room);
    for delay in [link.queue_delay_mean, link.queue_delay_std, link.queue_delay_p99] {
        prop_assert_eq!(delay.is_some(), link.departed > 0);
        prop_assert!((0.0..=longest).contains(&delay.unwrap_or(0.0)), "{delay:?} is above {longest} s");
    }
    prop_assert!(link.settling_time.is_none_or(f64::is_finite));
    prop_assert!(link.loss_synchronisation.is_none_or(|share| share > 0.0 && share <= 1.0));
    Ok(())
}

/// What a packet may wait at most, s: in a single queue what a full buffer takes, elsewhere the whole run.
fn longest_delay(scenario: &Scenario, spec: &LinkSpec, aqm: &SchemeAssignment) -> f64 {
    let largest = scenario.flows.iter().map(|flows| f64::from(flows.wire_size())).fold(40.0, f64::max);
    let most = match spec.buffer {
        Limit::Packets(packets) => f64::from(packets) * largest,
        Limit::Bytes(bytes) => bytes as f64 + largest,
    };
    let full = most * 8.0 / least_rate(spec) * 1.001; // percentiles are good to 0.1 %
    let is_single = matches!(scenario.build_scheme(spec, scenario.scheme_of(spec, Some(aqm))), Ok(AnyScheme::Fifo(_)));
    if is_single { full } else { full.max(scenario.duration.seconds()) }
}

/// `duration` s of looking at most by each of `count` viewers.
fn check_video(video: &VideoResult, ladder: &[Rate], count: u32, duration: f64) -> Result<(), TestCaseError> {
    prop_assert_eq!(video.bitrate_mean.is_some(), video.segments > 0);
    let (least, greatest) = (ladder[0].0, ladder[ladder.len() - 1].0);
    prop_assert!(video.bitrate_mean.is_none_or(|mean| (least..=greatest).contains(&mean)), "{video:?}");
    prop_assert!(video.switches <= video.segments + u64::from(count), "{video:?}");
    prop_assert!((0.0..=f64::from(count) * duration).contains(&video.stall_time), "{video:?}");
    prop_assert_eq!(video.stalls > 0, video.stall_time > 0.0);
    Ok(())
}

fn check_flows(count: u32, least_delay: f64, flows: &FlowResult) -> Result<(), TestCaseError> {
    prop_assert_eq!(flows.count, count);
    prop_assert!(flows.marked <= flows.received);
    let goodputs = [flows.goodput_min, flows.goodput_p50, flows.goodput_max].map(|g| g.expect("there are flows"));
    prop_assert!(goodputs.is_sorted() && goodputs[2] <= flows.goodput * (1.0 + 1e-9));
    let delays = [flows.packet_delay_p50, flows.packet_delay_p95, flows.packet_delay_p99];
    prop_assert!(delays.iter().all(|d| d.is_some() == (flows.received > 0)) && delays.is_sorted());
    prop_assert_eq!(flows.fct_mean.is_some(), flows.transfers > 0);
    prop_assert!(flows.goodput.is_finite() && flows.goodput >= 0.0);
    prop_assert!(flows.jain.is_none_or(|jain| jain > 0.0 && jain <= 1.0 + 1e-12));
    prop_assert_eq!(flows.packet_delay_mean.is_some(), flows.packet_delay_std.is_some());
    prop_assert!(flows.packet_delay_mean.is_none_or(|delay| delay.is_finite() && delay >= least_delay));
    prop_assert!(flows.packet_delay_std.is_none_or(|delay| delay.is_finite() && delay >= 0.0));
    prop_assert!((0.0..=1.0).contains(&flows.drop_ratio));
    // Of what arrives twice only the first counts, so that a segment may take less than packets on average.
    prop_assert!(flows.segment_delay_mean.is_none_or(|delay| delay.is_finite() && delay >= least_delay));
    Ok(())
}

/// What must add up over the links and groups of a run without warm-up.
fn check_whole(scenario: &Scenario, result: &RunResult) -> Result<(), TestCaseError> {
    let groups = || scenario.flows.iter().zip(result.flows.iter().map(|(_, flows)| flows));
    for (i, (spec, (_, link))) in scenario.links.iter().zip(&result.links).enumerate() {
        // Datagrams and segments received have all left their last link; what has not arrived yet is on its way.
        let received: u64 = groups().filter(|(spec, _)| spec.path.last() == Some(&i)).map(|(_, f)| f.received).sum();
        let arrives = link.departed - link.lost;
        prop_assert!(received <= arrives, "{received} received, {arrives} of those sent by {} not lost", spec.name);
        let may_mark = groups().any(|(flows, _)| flows.ecn.is_capable() && flows.path.contains(&i));
        prop_assert!(may_mark || link.marked == 0, "nothing ECN-capable crosses {}", spec.name);
    }
    // Every drop of data is one of a group's packets; ACKs are packets of no group.
    let drops: u64 = result.links.iter().map(|(_, link)| link.dropped).sum();
    let by_group: u64 = result.flows.iter().map(|(_, flows)| flows.dropped).sum();
    let acks_queue = scenario.flows.iter().any(|flows| !flows.ack_path.is_empty());
    prop_assert!(by_group == drops || acks_queue && by_group < drops, "{by_group} by group, {drops} by link");
    prop_assert_eq!(result.total.dropped, by_group);
    let marks: u64 = result.links.iter().map(|(_, link)| link.marked + link.policed).sum();
    let mangles = scenario.links.iter().any(|link| link.impairments.ecn_mangling == Some(Mangling::ContinuousCe));
    prop_assert!(mangles || result.total.marked <= marks, "more marks arrive than were made");
    // One mark may reduce a window twice: a receiver echoes it until it hears CWR, and that may be lost.
    prop_assert!(result.total.marked > 0 || result.total.ecn_reductions == 0, "no window is reduced without a mark");
    for (spec, flows) in groups() {
        prop_assert!(spec.ecn.is_capable() || flows.marked == 0, "{} is not ECN-capable", spec.name);
    }
    Ok(())
}

/// Checks that two ways of running a scenario have one result; tells where they part, and in which scenario.
fn check_same(one: &RunResult, other: &RunResult, scenario: &Scenario) -> Result<(), TestCaseError> {
    let (one, other) = (one.json(), other.json());
    let parting = one.bytes().zip(other.bytes()).take_while(|(a, b)| a == b).count();
    let there = |text: &str| text.chars().skip(parting.saturating_sub(100)).take(200).collect::<String>();
    prop_assert!(one == other, "{}\n{}\n{}", there(&one), there(&other), scenario.to_toml(&[], &[]));
    Ok(())
}

proptest! {
    #![proptest_config(config(100))]

    #[test]
    fn accounts_balance_and_metrics_lie_in_their_ranges(scenario in scenario(), aqm in scheme(), seed: u64) {
        let result = result(&scenario, &aqm, seed);
        for (spec, (name, link)) in scenario.links.iter().zip(&result.links) {
            prop_assert_eq!(&spec.name, name);
            let (room, longest) = (room(&scenario, spec, &aqm), longest_delay(&scenario, spec, &aqm));
            check_link(spec, room, longest, scenario.warmup.0 > 0, link)?;
        }
        for (spec, (name, flows)) in scenario.flows.iter().zip(&result.flows) {
            prop_assert_eq!(&spec.name, name);
            let links: f64 = spec.path.iter().map(|i| scenario.links[*i].delay.seconds()).sum();
            check_flows(spec.count(), links, flows)?;
            prop_assert_eq!(flows.video.is_some(), matches!(spec.traffic, Traffic::Video(_)));
            if let (Some(video), Traffic::Video(of)) = (&flows.video, &spec.traffic) {
                check_video(video, &of.bitrates, spec.count(), scenario.duration.seconds())?;
            }
        }
        check_flows(scenario.flows.iter().map(|spec| spec.count()).sum(), 0.0, &result.total)?;
        if scenario.warmup.0 == 0 {
            check_whole(&scenario, &result)?;
        }
    }

    /// Without a warm-up, which may cut a segment's arrival from its delivery in order, at constant rates.
    #[test]
    fn no_link_delivers_more_than_its_rate(scenario in scenario(), aqm in scheme(), seed: u64) {
        let mut scenario = (*scenario).clone();
        scenario.warmup = Span::ZERO;
        scenario.links.iter_mut().for_each(|link| link.changes = RateChanges::None);
        let scenario = Arc::new(scenario);
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
    #![proptest_config(config(30))]

    #[test]
    fn equal_seeds_give_equal_results_on_any_thread(scenario in scenario(), aqm in scheme(), seed: u64) {
        let here = result(&scenario, &aqm, seed).json();
        let there = thread::scope(|scope| {
            let runs: Vec<_> = (0..3).map(|_| scope.spawn(|| result(&scenario, &aqm, seed).json())).collect();
            runs.into_iter().map(|run| run.join().expect("a run does not panic")).collect::<Vec<_>>()
        });
        prop_assert_eq!(there, [here.clone(), here.clone(), here]);
    }

    /// Stopped and probed at random times.
    #[test]
    fn stopping_on_the_way_changes_nothing(
        scenario in scenario(), aqm in scheme(), seed: u64, stops in prop::collection::vec(0u32..4000, 0..6),
    ) {
        let mut simulation = Simulation::new(scenario.clone(), options(&aqm, seed)).unwrap();
        for ms in stops {
            simulation.step_until(Time::ZERO + Span::from_seconds(f64::from(ms) / 1000.0)).unwrap();
            simulation.probe();
        }
        let plain = result(&scenario, &aqm, seed);
        for simulation in [simulation.fork().unwrap(), simulation] {
            let mut stepped = simulation.finish().unwrap().result;
            stepped.engine.wall = 0.0;
            check_same(&stepped, &plain, &scenario)?;
        }
    }

    #[test]
    fn recording_time_series_changes_no_result(scenario in scenario(), aqm in scheme(), seed: u64) {
        let output = run(scenario.clone(), Options { series: true, ..options(&aqm, seed) }).expect("a valid scenario runs");
        let mut recorded = output.result;
        let plain = result(&scenario, &aqm, seed);
        recorded.engine = plain.engine; // a sample is an event
        check_same(&recorded, &plain, &scenario)?;
        let samples = (scenario.duration.0 / scenario.sample.0) as usize;
        for series in output.series {
            for (name, values) in series.columns {
                prop_assert_eq!(values.len(), samples, "{}", name);
                prop_assert!(values.iter().all(|value| value.is_finite()), "{}", name);
            }
        }
    }
}

/// Whether a run on several threads was as on one; `None` if it could not be divided.
fn is_same_divided(scenario: &Arc<Scenario>, aqm: &SchemeAssignment, seed: u64, threads: usize) -> Option<bool> {
    let options = Options { threads, ..options(aqm, seed) };
    let mut divided = run_divided(scenario.clone(), options).expect("a valid scenario runs")?.result;
    divided.engine.wall = 0.0;
    let undivided = Simulation::new(scenario.clone(), self::options(aqm, seed)).expect("a valid scenario");
    let mut undivided = undivided.finish().expect("a valid scenario runs").result;
    undivided.engine.wall = 0.0;
    Some(divided.json() == undivided.json())
}

/// Times in whole microseconds and equal flows make many events of one instant.
#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    let (divided, all) = (Cell::new(0), Cell::new(0));
    let cases = (scenario(), scheme(), any::<u64>(), prop::sample::select(vec![2usize, 3, 16]));
    TestRunner::new(config(100))
        .run(&cases, |(scenario, aqm, seed, threads)| {
            let mut scenario = (*scenario).clone();
            scenario.links.iter_mut().for_each(|link| link.changes = RateChanges::None);
            scenario.flows.retain(|flows| !flows.traffic.has_clients());
            if scenario.flows.is_empty() {
                return Ok(());
            }
            all.set(all.get() + 1);
            if let Some(is_same) = is_same_divided(&Arc::new(scenario), &aqm, seed, threads) {
                divided.set(divided.get() + 1);
                prop_assert!(is_same, "{threads} threads");
            }
            Ok(())
        })
        .unwrap_or_else(|error| panic!("{error}"));
    let (divided, all) = (divided.get(), all.get());
    println!("{divided} of {all} divided");
    assert!(divided > all / 2, "only {divided} of {all} runs were divided");
}

/// A tree of 2 to 50 links of any rates; each of up to 20 groups enters it somewhere and crosses all links down to the root.
fn tree() -> impl Strategy<Value = Arc<Scenario>> {
    let links = prop::collection::vec((300u32..20_000, 0u32..2_000, 2u32..60, any::<prop::sample::Index>()), 2..=50);
    let tcp = prop_oneof!["ns2", "rfc", "linux"];
    let group = (1u32..8, any::<prop::sample::Index>(), 1u32..200, 0u32..500, any::<bool>(), tcp);
    let groups = prop::collection::vec(group, 1..=20);
    (links, groups, any::<bool>()).prop_map(|(links, groups, sorted)| {
        let parents: Vec<usize> = links.iter().enumerate().map(|(i, link)| link.3.index(i.max(1))).collect();
        let mut text = "schema = 1\nduration = \"1500 ms\"\nwarmup = \"200 ms\"\n".to_string();
        for (i, (kbit, us, buffer, _)) in links.iter().enumerate() {
            text += &format!(
                "[[links]]\nname = \"link-{i}\"\nrate = \"{kbit} kbit/s\"\ndelay = \"{us} us\"\nbuffer = \"{buffer} packets\"\n"
            );
        }
        let mut entries: Vec<usize> = groups.iter().map(|group| group.1.index(links.len())).collect();
        if sorted {
            entries.sort_unstable(); // so that flows can lie with the queue that they meet first
        }
        for (i, ((count, _, more, start, queues, tcp), entry)) in groups.iter().zip(entries).enumerate() {
            let down = |link: &usize| (*link > 0).then(|| parents[*link]);
            let path: Vec<usize> = std::iter::successors(Some(entry), down).collect();
            let own: u32 = path.iter().map(|link| links[*link].1).sum();
            let names: Vec<String> = path.iter().map(|link| format!("link-{link}")).collect();
            let back = if *queues { "ack_path = [\"link-0\"]\n" } else { "" };
            text += &format!(
                "[[flows]]\nname = \"group-{i}\"\ncount = {count}\npath = {names:?}\n{back}rtt = \"{} us\"\n\
                 start = \"{start} ms\"\ntcp = \"{tcp}\"\n",
                2 * own + 4_000 + 1000 * more
            );
        }
        Arc::new(parse(&text, "tree", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}")))
    })
}

proptest! {
    #![proptest_config(config(50))]

    #[test]
    fn trees_give_the_same_bytes_on_any_number_of_threads(
        tree in tree(), aqm in scheme(), seed: u64, threads in 2usize..9,
    ) {
        prop_assert_ne!(is_same_divided(&tree, &aqm, seed, threads), Some(false), "{} threads", threads);
    }
}

#[test]
fn another_seed_gives_another_result() {
    let text = "schema = 1\nduration = \"5 s\"\n\
                [[links]]\nrate = \"10 Mbit/s\"\nbuffer = \"50 packets\"\naqm = \"pi\"\n\
                [[flows]]\ncount = 20\nrtt = { uniform = [\"20 ms\", \"100 ms\"] }\n";
    let scenario = Arc::new(parse(text, "two seeds", &[]).unwrap());
    let json = |seed| result(&scenario, &SchemeAssignment::parse("pi").unwrap(), seed).json();
    assert_ne!(json(1).replace("\"seed\":1", ""), json(2).replace("\"seed\":2", ""));
}
