use super::*;
use crate::event::Label;
use crate::result::RunResult;
use crate::scenario;
use crate::trace::{Columns, Record, Trace};
use aqmlab_aqm::Happening;
use aqmlab_aqm::disciplines;
use std::collections::BTreeMap;

const TWO_LINKS: &str = r#"
schema = 1
duration = "4 s"
warmup = "1 s"

[[links]]
name = "first"
rate = "5 Mbit/s"
delay = "3 ms"
buffer = "60 packets"

[[links]]
name = "second"
rate = "4 Mbit/s"
delay = "4 ms"
buffer = "40 packets"

[[flows]]
name = "long"
count = 12
rtt = { uniform = ["20 ms", "90 ms"] }
start = { uniform = ["0 s", "1 s"] }

[[flows]]
name = "cross"
count = 4
path = ["second"]
rtt = { uniform = ["10 ms", "40 ms"] }
access_rate = "20 Mbit/s"
ecn = true
tcp = { profile = "ns2", delayed_ack = true }

[[flows]]
name = "back"
count = 3
path = ["second", "first"]
ack_path = ["second"]
rtt = { uniform = ["20 ms", "90 ms"] }
tcp = "sack"

[[flows]]
name = "pages"
kind = "http"
count = 5
path = ["first"]
rtt = { uniform = ["20 ms", "90 ms"] }
think_time = { exponential = "200 ms" }
size = { pareto = { mean = "12 packets", shape = 1.2 } }

[[flows]]
name = "voice"
kind = "udp-onoff"
count = 5
path = ["second"]
rtt = { uniform = ["20 ms", "90 ms"] }
rate_on = "64 kbit/s"
on = { exponential = "500 ms" }
off = { exponential = "500 ms" }
"#;

fn result(scenario: &Scenario, aqm: &AqmChoice, departures_as_events: bool) -> RunResult {
    let options = RunOptions { aqm: Some(aqm), seed: 3, ..RunOptions::default() };
    let mut world = World::new(scenario, options).unwrap();
    if departures_as_events {
        world.links.iter_mut().for_each(Link::make_departures_events);
    }
    world.run(options).unwrap();
    let mut result = world.output(options).result;
    result.engine.events = 0;
    result
}

/// Of an arrival and a departure at one instant, the arrival comes first where departures are foreseen, and the one
/// inserted first where they are events. They agree here because every link has a delay: what one link sends arrives at
/// the next longer ahead than any transmission takes. Without the delay of `second` a packet from it arrives at `first`
/// just as a transmission there ends, for the first time at 73.3 ms. One way counts 15 packets waiting and the other 14,
/// and the runs under RED, ARED and PD-RED part. With departures as the last events of their instant all agree again.
#[test]
fn departures_foreseen_and_departures_as_events_give_the_same_run() {
    let scenario = scenario::parse(TWO_LINKS, "two-links", &[]).unwrap();
    for entry in aqmlab_aqm::entries() {
        let aqm = AqmChoice { name: entry.info.name.into(), params: Vec::new() };
        let foreseen = result(&scenario, &aqm, false).json();
        assert!(foreseen.contains("\"dropped\""));
        assert_eq!(foreseen, result(&scenario, &aqm, true).json(), "{}", entry.info.name);
    }
}

#[test]
fn a_cancelled_run_yields_nothing() {
    let scenario = scenario::parse(&TWO_LINKS.replace("4 s", "1000 s"), "long", &[]).unwrap();
    let watch = Watch::default();
    watch.cancel();
    let outcome = run(&scenario, RunOptions { watch: Some(&watch), ..RunOptions::default() });
    assert!(watch.now() > Time::ZERO);
    assert!(matches!(outcome, Err(RunError::Interrupted(Interrupted))));
}

/// The flows of a group take its hosts in turn, each with ports of its own, whatever other groups there are.
#[test]
fn addresses_and_ports_depend_on_the_group_alone() {
    let links = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n";
    let tuples = |groups: &[(&str, &str)]| {
        let group = |(name, more): &(&str, &str)| format!("[[flows]]\nname = \"{name}\"\nrtt = \"9 ms\"\n{more}");
        let text = links.to_string() + &groups.iter().map(group).collect::<String>();
        let scenario = scenario::parse(&text, "tuples", &[]).unwrap();
        let world = World::new(&scenario, RunOptions::default()).unwrap();
        world.flows.iter().map(|flow| flow.label(0, &world.groups[0]).tuple).collect::<Vec<_>>()
    };
    let (many, few) = (("many", "count = 100\n"), ("few", "count = 4\nhosts = 2\n"));
    let (one_way, other_way) = (tuples(&[many, few]), tuples(&[few, many]));
    assert_eq!((&one_way[..100], &one_way[100..]), (&other_way[4..], &other_way[..4]));
    let hosts = |tuples: &[u32]| tuples.iter().map(|tuple| tuple >> 12).collect::<Vec<_>>();
    let few = hosts(&one_way[100..]);
    assert!(few[0] == few[2] && few[1] == few[3] && few[0] != few[1], "{few:?}");
    let mut all = one_way;
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 104);
}

/// How often an event has happened; for each reason.
fn count(trace: &Columns, event: &str) -> (u64, BTreeMap<&'static str, u64>) {
    let mut reasons = BTreeMap::new();
    let rows = (0..trace.event.len()).filter(|i| Columns::EVENTS[trace.event[*i] as usize] == event);
    let rows: Vec<usize> = rows.collect();
    for row in rows.iter().filter(|row| trace.reason[**row] >= 0) {
        *reasons.entry(trace.reasons[trace.reason[*row] as usize]).or_default() += 1;
    }
    (rows.len() as u64, reasons)
}

/// Two packets join, the first is dropped at the head, the second leaves, a third is refused.
#[test]
fn a_trace_by_hand() {
    let scenario = scenario::parse(TWO_LINKS, "two-links", &[]).unwrap();
    let ack = |next| aqmlab_tcp::Ack { next, ..Default::default() };
    let packet = |flow| Packet::of_ack(Label { flow, ..Label::default() }, 40, 0, &ack(flow));
    let at = |seconds| Time::ZERO + Span::from_seconds(seconds);
    let events = [
        (Happening::Enqueued, 0, 1.0, 1.0),
        (Happening::Marked("early"), 1, 2.0, 2.0),
        (Happening::Enqueued, 1, 2.0, 2.0),
        (Happening::Dropped("delay"), 0, 1.0, 4.0),
        (Happening::Dequeued, 1, 2.0, 4.0),
        (Happening::Refused("overflow"), 2, 5.0, 5.0),
    ];
    let events = events.map(|(happening, number, since, time)| disciplines::TraceEvent {
        happening,
        packet: packet(number),
        since: at(since),
        time: at(time),
    });
    let trace = Trace::new(&scenario, 1, Record::of(events.into()), vec![0, 1, 2]).columns();
    assert_eq!(trace.time, [1.0, 2.0, 2.0, 4.0, 4.0, 5.0]);
    assert_eq!(trace.event, [0, 3, 0, 2, 1, 2]);
    assert_eq!(trace.queue, [1, 1, 2, 1, 0, 0]);
    assert_eq!(trace.sojourn[..5], [0.0, 0.0, 0.0, 3.0, 2.0]);
    assert!(trace.sojourn[5].is_nan());
    assert_eq!((trace.reason, trace.reasons), (vec![-1, 0, -1, 1, -1, 2], vec!["early", "delay", "overflow"]));
    assert_eq!((trace.flow, trace.group), (vec![0, 1, 1, 0, 1, 2], vec![0, 1, 1, 0, 1, 2]));
}

#[test]
fn a_trace_tells_of_every_packet_and_changes_nothing() {
    let scenario = scenario::parse(&TWO_LINKS.replace("warmup = \"1 s\"", ""), "two-links", &[]).unwrap();
    for name in aqmlab_aqm::entries().iter().map(|entry| entry.info.name).chain(["fq-droptail", "fq-red"]) {
        let aqm = AqmChoice { name: name.into(), params: Vec::new() };
        let options = RunOptions { aqm: Some(&aqm), seed: 3, trace: Some(1), ..RunOptions::default() };
        let output = run(&scenario, options).unwrap();
        let (link, trace) = (&output.result.links[1].1, output.trace.unwrap().columns());
        let (dropped, drops) = count(&trace, "drop");
        assert_eq!((dropped, &drops), (link.dropped, &link.drops), "{name}");
        assert_eq!((count(&trace, "mark").0, count(&trace, "dequeue").0), (link.marked, link.departed), "{name}");
        let refused = trace.sojourn.iter().filter(|sojourn| sojourn.is_nan()).count() as u64;
        assert_eq!(count(&trace, "enqueue").0 + refused, link.arrived, "{name}");
        assert!(trace.time.is_sorted(), "{name}");
        let mut plain = run(&scenario, RunOptions { trace: None, ..options }).unwrap().result;
        plain.engine.wall = output.result.engine.wall;
        assert_eq!(plain.json(), output.result.json(), "{name}");
    }
}
