use super::*;
use crate::engine::error::Interrupted;
use crate::measure::trace::{PacketTrace, TraceRecord, TraceTable};
use crate::net::link::DepartureMode::{self, AtService, Foreseen};
use crate::net::packet::{FlowTag, Packet};
use aqmlab_aqm::disciplines::TraceEvent;
use aqmlab_aqm::{EARLY, OVERFLOW, QueueEvent, Reason};
use aqmlab_core::Span;
use aqmlab_scenario::parse;
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
tcp = "rfc"

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
tcp = "rfc"

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

fn two_links() -> Arc<Scenario> {
    Arc::new(parse(TWO_LINKS, "two-links", &[]).unwrap())
}

fn options(name: &str) -> Options {
    Options { aqm: Some(SchemeAssignment::parse(name).unwrap()), seed: 3, ..Options::default() }
}

/// A simulation with departures computed ahead, or at service.
fn simulation(scenario: &Arc<Scenario>, aqm: &str, departures: DepartureMode) -> Simulation {
    Simulation::set_up(scenario.clone(), options(aqm), departures).unwrap()
}

fn finished(scenario: &Arc<Scenario>, aqm: &str, departures: DepartureMode) -> Output {
    simulation(scenario, aqm, departures).finish().unwrap()
}

fn text(output: Output) -> String {
    let mut result = output.result;
    result.engine.wall = 0.0;
    result.json()
}

#[test]
fn each_transfer_comes_from_ports_of_its_own_and_a_player_keeps_its_own() {
    let text = r#"
        schema = 1
        duration = "20 s"
        [[links]]
        rate = "10 Mbit/s"
        buffer = "100 packets"
        [[flows]]
        name = "pages"
        kind = "http"
        rtt = "20 ms"
        think_time = "100 ms"
        size = "5 packets"
        [[flows]]
        name = "film"
        kind = "video"
        rtt = "20 ms"
        bitrates = ["500 kbit/s"]
    "#;
    let scenario = parse(text, "ports", &[]).unwrap();
    let mut simulation = Simulation::new(scenario, Options { seed: 1, ..Options::default() }).unwrap();
    let mut seen = [Vec::new(), Vec::new()];
    for tenth in 1..200 {
        simulation.step_until(Time::ZERO + Span::from_millis(100 * tenth)).unwrap();
        for (i, flow) in (0..).zip(&simulation.network.flows) {
            let tuple = flow.label(i).tuple;
            if !seen[simulation.network.routes.group(flow.way)].contains(&tuple) {
                seen[simulation.network.routes.group(flow.way)].push(tuple);
            }
        }
    }
    let [pages, film] = seen.map(|tuples| tuples.len());
    assert!(pages > 50 && film == 1, "{pages}, {film}");
}

#[test]
fn departures_foreseen_and_computed_at_service_give_the_same_run() {
    for entry in aqmlab_aqm::entries() {
        let [foreseen, at_service] =
            [Foreseen, AtService].map(|departures| text(finished(&two_links(), entry.info.name, departures)));
        assert!(foreseen.contains("\"dropped\""));
        assert_eq!(foreseen, at_service, "{}", entry.info.name);
    }
}

/// Zero delays: what one link sends reaches the next at the instant at which a transmission there ends.
#[test]
fn so_they_do_where_arrivals_and_departures_coincide() {
    let no_delay = TWO_LINKS.replace("delay = \"4 ms\"", "").replace("delay = \"3 ms\"", "");
    let scenario = Arc::new(parse(&no_delay, "no-delay", &[]).unwrap());
    for aqm in ["droptail", "red", "ared", "pd-red", "pi", "fq-red"] {
        let [foreseen, at_service] = [Foreseen, AtService].map(|departures| text(finished(&scenario, aqm, departures)));
        assert_eq!(foreseen, at_service, "{aqm}");
    }
}

/// A window clocked by its ACKs: each segment comes at the instant at which the transmission of another one ends. Room for two.
#[test]
fn of_linux_what_leaves_makes_room_for_what_comes_at_the_same_instant() {
    let text_of = |tcp: &str| {
        format!(
            "schema = 1\nduration = \"8 s\"\nwarmup = \"2 s\"\n[[links]]\nrate = \"10 Mbit/s\"\nbuffer = \"2 packets\"\n\
             [[flows]]\nrtt = \"20 ms\"\ntcp = {{ {tcp} }}\n"
        )
    };
    let goodput = |tcp: &str, aqm: &str, departures| {
        let scenario = Arc::new(parse(&text_of(tcp), "clocked", &[]).unwrap());
        let output = finished(&scenario, aqm, departures);
        let goodput = output.result.flows[0].1.goodput;
        (goodput, text(output))
    };
    let linux = "profile = \"linux\", congestion_control = \"cubic\"";
    let [foreseen, at_service] = [Foreseen, AtService].map(|departures| goodput(linux, "droptail", departures));
    assert!(foreseen.0 > 8e6, "Linux 7.3 has 8.4 Mbit/s: {}", foreseen.0);
    assert_eq!(foreseen.1, at_service.1);
    // The same queue with departures as events: CoDel's target is far longer than it.
    let events = goodput(linux, "codel:flavour=linux,target=1s,mtu=1514B", Foreseen);
    assert_eq!(events.0, foreseen.0);
    let rfc = goodput("profile = \"rfc\", variant = \"sack\"", "droptail", Foreseen);
    assert!(rfc.0 < 8e6, "arrivals come first: {}", rfc.0);
}

/// Every impairment at once, there and back: `back` has its ACKs on the second link.
fn impaired(reorder: &str) -> Arc<Scenario> {
    let first = "loss = { p = \"0.5%\", r = \"40%\", bad = \"90%\", good = \"0.1%\" }\n\
                 jitter = { exponential = \"2 ms\" }\necn_mangling = \"ce-only\"\n";
    let source = TWO_LINKS.replace("delay = \"4 ms\"\n", &format!("delay = \"4 ms\"\n{first}{reorder}"));
    let source = source.replace("delay = \"3 ms\"\n", "delay = \"3 ms\"\nloss = \"1%\"\n");
    Arc::new(parse(&source, "impaired", &[]).unwrap())
}

#[test]
fn so_they_do_on_links_with_impairments() {
    for reorder in ["", "reorder = \"2%\"\n"] {
        let scenario = impaired(reorder);
        for entry in aqmlab_aqm::entries() {
            let [foreseen, at_service] =
                [Foreseen, AtService].map(|departures| finished(&scenario, entry.info.name, departures));
            assert!(foreseen.result.links.iter().all(|(_, link)| link.lost > 0), "{}", entry.info.name);
            assert_eq!(text(foreseen), text(at_service), "{}{reorder}", entry.info.name);
        }
    }
}

#[test]
fn a_cancelled_run_yields_nothing() {
    let scenario = parse(&TWO_LINKS.replace("4 s", "1000 s"), "long", &[]).unwrap();
    let watch = Arc::new(Watch::default());
    watch.cancel();
    let outcome = run(scenario, Options { watch: Some(watch.clone()), ..Options::default() });
    assert!(watch.now() > Time::ZERO);
    assert!(matches!(outcome, Err(RunError::Interrupted(Interrupted))));
}

#[test]
fn a_run_with_more_events_than_it_may_have_is_given_up() {
    let scenario = parse(&TWO_LINKS.replace("4 s", "1000 s"), "long", &[]).unwrap();
    let bounded = |most| run(scenario.clone(), Options { most_events: Some(most), threads: 2, ..Options::default() });
    let Err(RunError::Endless { events, most, at }) = bounded(100_000) else { panic!("it goes on") };
    // Twice as many between two looks at most: an event may have another handled with it.
    assert!(most == 100_000 && (100_001..100_000 + 2 * EVENTS_PER_LOOK).contains(&events), "{events}");
    assert!(at > Time::ZERO && at < Time::ZERO + Span::from_seconds(1000.0));
}

/// The flows of a group take its hosts in turn, each with ports of its own, whatever other groups there are.
#[test]
fn addresses_and_ports_depend_on_the_group_alone() {
    let links = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n";
    let tuples = |groups: &[(&str, &str)]| {
        let group = |(name, more): &(&str, &str)| format!("[[flows]]\nname = \"{name}\"\nrtt = \"9 ms\"\n{more}");
        let text = links.to_string() + &groups.iter().map(group).collect::<String>();
        let scenario = parse(&text, "tuples", &[]).unwrap();
        let simulation = Simulation::new(scenario, Options::default()).unwrap();
        simulation.network.flows.iter().map(|flow| flow.label(0).tuple).collect::<Vec<_>>()
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

fn at(seconds: f64) -> Time {
    Time::ZERO + Span::from_seconds(seconds)
}

/// Probes of a simulation at these times.
fn probes(scenario: &Arc<Scenario>, departures: DepartureMode, times: &[f64]) -> (Vec<Probe>, Output) {
    let mut simulation = simulation(scenario, "pi", departures);
    let probes = times.iter().map(|time| {
        simulation.step_until(at(*time)).unwrap();
        simulation.probe()
    });
    let probes = probes.collect();
    (probes, simulation.finish().unwrap())
}

#[test]
fn probes_add_up_to_the_result() {
    // The warm-up ends at 1 s.
    let (probes, output) = probes(&impaired(""), Foreseen, &[1.0, 1.5, 1.51, 3.7, 4.0]);
    for (i, (name, link)) in output.result.links.iter().enumerate() {
        let sum = |count: fn(&LinkProbe) -> u64| probes[1..].iter().map(|probe| count(&probe.links[i])).sum::<u64>();
        assert_eq!(
            [sum(|p| p.arrived), sum(|p| p.departed), sum(|p| p.dropped), sum(|p| p.marked), sum(|p| p.lost)],
            [link.arrived, link.departed, link.dropped, link.marked, link.lost],
            "{name}"
        );
        assert!(link.lost > 0, "{name}");
        let busy: f64 = probes[1..].iter().map(|probe| probe.links[i].utilisation * probe.span).sum();
        assert!((busy / 3.0 - link.utilisation).abs() < 1e-9, "{name}");
        let delays = probes[1..].iter().filter_map(|p| Some(p.links[i].queue_delay_mean? * p.links[i].departed as f64));
        let mean = delays.sum::<f64>() / link.departed as f64;
        assert!((mean - link.queue_delay_mean.unwrap()).abs() < 1e-12, "{name}");
        assert_eq!(probes[0].links[i].observables[0].0, "p");
    }
    for (i, (name, flows)) in output.result.flows.iter().enumerate() {
        let sum = |count: fn(&GroupProbe) -> u64| probes[1..].iter().map(|probe| count(&probe.flows[i])).sum::<u64>();
        assert_eq!([sum(|p| p.received), sum(|p| p.marked)], [flows.received, flows.marked], "{name}");
        let bits: f64 = probes[1..].iter().map(|probe| probe.flows[i].goodput * probe.span).sum();
        assert!((bits / 3.0 - flows.goodput).abs() < 1e-6 * flows.goodput, "{name}");
    }
}

#[test]
fn a_probe_sees_the_same_whatever_is_computed_ahead() {
    let times = [0.0, 0.05, 0.3, 0.30001, 1.0, 2.2, 3.999, 4.0];
    for scenario in [two_links(), impaired(""), impaired("reorder = \"2%\"\n")] {
        assert_eq!(probes(&scenario, Foreseen, &times).0, probes(&scenario, AtService, &times).0);
    }
}

#[test]
fn probes_show_the_flows_windows() {
    let mut simulation = Simulation::new(two_links(), options("droptail")).unwrap();
    assert_eq!(simulation.flow_state(0, 3).unwrap().srtt, None);
    simulation.step_until(at(2.0)).unwrap();
    let state = simulation.flow_state(0, 3).unwrap();
    assert!(state.cwnd >= 1.0 && (0.02..1.0).contains(&state.srtt.unwrap()), "{state:?}");
    assert_eq!([simulation.flow_state(0, 12), simulation.flow_state(3, 0), simulation.flow_state(9, 0)], [None; 3]);
}

/// A simulation after changes by hand at these times, s.
fn changed(aqm: &str, changes: &[(f64, &str, &str)]) -> Result<Simulation, RunError> {
    let mut simulation = Simulation::new(two_links(), options(aqm)).unwrap();
    for (time, path, value) in changes {
        simulation.step_until(at(*time))?;
        simulation.set(path, value)?;
    }
    Ok(simulation)
}

/// One of everything that can be changed.
const ALL_CHANGES: [(f64, &str, &str); 15] = [
    (0.0, "flows.long.count", "9"),
    (0.7, "links.second.rate", "3 Mbit/s"),
    (1.3, "links.first.target", "5 packets"),
    (1.3, "flows.cross.count", "7"),
    (1.71, "links.first.delay", "9 ms"),
    (1.9, "links.second.buffer", "20 packets"),
    (2.2, "links.first.aqm", "pi"),
    (2.3, "links.first.aqm.a", "3e-5"),
    (2.5, "flows.back.rtt", "{ uniform = ['70 ms', '80 ms'] }"),
    (2.6, "links.second.aqm", "codel"),
    (2.8, "flows.pages.count", "1"),
    (2.9, "links.first.loss", "{ p = '1%', r = '30%' }"),
    (3.0, "flows.voice.stop", "3.4 s"),
    (3.1, "links.second.aqm", "fq-red"),
    (3.3, "flows.pages.rtt", "200 ms"),
];

#[test]
fn what_was_done_by_hand_can_be_repeated_to_the_byte() {
    for aqm in ["droptail", "red", "pie", "codel", "choke", "sfb", "fq-codel", "cake", "cake-mq", "dualpi2"] {
        let simulation = changed(aqm, &ALL_CHANGES).unwrap_or_else(|error| panic!("{aqm}: {error}"));
        let source = simulation.to_toml();
        let by_hand = text(simulation.finish().unwrap());
        let repeated = Arc::new(parse(&source, "two-links", &[]).unwrap_or_else(|why| panic!("{why}\n{source}")));
        assert_eq!(repeated.changes.len(), ALL_CHANGES.len());
        for departures in [Foreseen, AtService] {
            assert_eq!(by_hand, text(finished(&repeated, aqm, departures)), "{aqm}");
        }
        assert_ne!(by_hand, text(run(two_links(), options(aqm)).unwrap()), "{aqm}");
    }
}

#[test]
fn a_fork_goes_its_own_way_and_the_original_does_not_notice() {
    for aqm in ["droptail", "ared", "fq-codel", "cake", "cake-mq:bandwidth=1 Mbit/s", "dualpi2"] {
        let plain = text(run(two_links(), options(aqm)).unwrap());
        let mut original = Simulation::new(two_links(), options(aqm)).unwrap();
        original.step_until(at(1.234)).unwrap();
        let same = original.fork().unwrap();
        let mut other = original.fork().unwrap();
        other.set("links.first.rate", "1 Mbit/s").unwrap();
        assert_ne!(text(other.finish().unwrap()), plain, "{aqm}");
        assert_eq!(text(original.finish().unwrap()), plain, "{aqm}");
        assert_eq!(text(same.finish().unwrap()), plain, "{aqm}");
    }
}

/// The probe at the end of a simulation that is changed at 2 s and probed from 3 s on.
fn after(path: &str, value: &str) -> Probe {
    let mut simulation = changed("droptail", &[(2.0, path, value)]).unwrap();
    simulation.step_until(at(3.0)).unwrap();
    simulation.probe();
    simulation.step_until(at(4.0)).unwrap();
    simulation.probe()
}

#[test]
fn changes_do_what_they_say() {
    let sent = |probe: &Probe| 8.0 * probe.links[1].bytes as f64;
    assert!((3.9e6..=4.0e6).contains(&sent(&after("links.second.rate", "4 Mbit/s"))));
    assert!((0.95e6..=1.02e6).contains(&sent(&after("links.second.rate", "1 Mbit/s"))));
    assert!(after("links.second.buffer", "7 packets").links[1].queue <= 7);
    // A stopped flow still sends again what was lost.
    assert!(after("flows.long.count", "0").flows[0].received < 20);
    assert_eq!(after("flows.voice.count", "0").flows[4].received, 0);
    assert!(after("flows.voice.count", "500").flows[4].received > 200);
    // Transfers that time out may end later.
    let transfers = |count: &str| after("flows.pages.count", count).flows[3].transfers;
    assert!(transfers("0") < 5 && transfers("5") > 10);
    // Half of the 900 ms is the way to the receiver.
    assert!(after("flows.long.rtt", "900 ms").flows[0].packet_delay_max.unwrap() > 0.45);
    assert!(after("links.second.delay", "300 ms").flows[1].packet_delay_mean.unwrap() > 0.3);
    let pi = after("links.second.aqm", "pi:w=1000Hz");
    let received = |loss: &str| after("links.second.loss", loss).flows[1].received;
    assert!(received("0%") > 0 && received("100%") == 0);
    assert_eq!(pi.links[1].observables[0].0, "p");
    assert!(pi.links[1].observables[0].1 > 0.0, "{pi:?}");
}

#[test]
fn what_cannot_be_changed_is_refused() {
    let refusal = |path: &str, value: &str| match changed("droptail", &[(1.0, path, value)]) {
        Ok(_) => "nothing".to_string(),
        Err(error) => error.to_string(),
    };
    assert!(refusal("links.first.loss", "{ p = '1%' }").contains("r: missing"));
    assert!(refusal("links.first.jitter", "1 ms").contains("unknown key that can be changed \"jitter\""));
    assert_eq!(refusal("links.first.buffer", "9 packets"), "nothing");
    assert_eq!(refusal("flows.long.count", "3"), "nothing");
    assert!(refusal("links.frist.rate", "1 Mbit/s").contains("did you mean \"first\"?"));
    assert!(refusal("links.first.rtae", "1 Mbit/s").contains("did you mean \"rate\"?"));
    assert!(refusal("links.first.aqm.max_p", "0.1").contains("links.first.aqm.max_p"));
    assert!(refusal("links.first.rate", "1 s").contains("is not a rate"));
    assert!(refusal("flows.long.stop", "0.5 s").contains("is before the change itself"));
    assert!(refusal("duration", "9 s").contains("is not a path to what can be changed"));
}

#[test]
fn a_queue_s_content_is_told_by_group() {
    let mut simulation = Simulation::new(two_links(), options("droptail")).unwrap();
    simulation.step_until(at(3.0)).unwrap();
    let content = simulation.content(1);
    assert_eq!(content.iter().sum::<u32>(), simulation.probe().links[1].queue);
    assert!(content[1] > 0 && content[3] == 0, "{content:?}: pages do not cross this link");
}

/// A simulation can go to another thread.
const _: fn() = || {
    fn is_send<T: Send + Clone>() {}
    is_send::<Simulation>();
};

/// Number of events of a kind; and that number by reason.
fn count(trace: &TraceTable, event: &str) -> (u64, BTreeMap<&'static str, u64>) {
    let mut reasons = BTreeMap::new();
    let rows = (0..trace.event.len()).filter(|i| TraceTable::EVENTS[trace.event[*i] as usize] == event);
    let rows: Vec<usize> = rows.collect();
    for row in rows.iter().filter(|row| trace.reason[**row] >= 0) {
        *reasons.entry(trace.reasons[trace.reason[*row] as usize]).or_default() += 1;
    }
    (rows.len() as u64, reasons)
}

/// Two packets join, the first is dropped at the head, the second leaves, a third is refused.
#[test]
fn a_trace_by_hand() {
    let scenario = parse(TWO_LINKS, "two-links", &[]).unwrap();
    let ack = |next| aqmlab_tcp::Ack { next, ..Default::default() };
    let packet = |flow| Packet::of_ack(FlowTag { flow, ..FlowTag::default() }, 40, 0, &ack(flow));
    let events = [
        (QueueEvent::Enqueued, 0, 1.0, 1.0),
        (QueueEvent::Marked(EARLY), 1, 2.0, 2.0),
        (QueueEvent::Enqueued, 1, 2.0, 2.0),
        (QueueEvent::Dropped(Reason::new(&"delay")), 0, 1.0, 4.0),
        (QueueEvent::Dequeued, 1, 2.0, 4.0),
        (QueueEvent::Refused(OVERFLOW), 2, 5.0, 5.0),
    ];
    let events = events.map(|(event, number, since, time)| TraceEvent {
        event,
        packet: packet(number),
        since: at(since),
        time: at(time),
    });
    let trace = PacketTrace::new(&scenario, 1, TraceRecord::of(events.into()), vec![0, 1, 2]).table();
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
    let scenario = Arc::new(parse(&TWO_LINKS.replace("warmup = \"1 s\"", ""), "two-links", &[]).unwrap());
    for name in aqmlab_aqm::entries().iter().map(|entry| entry.info.name).chain(["fq-droptail", "fq-red"]) {
        let options = Options { trace: Some(1), ..options(name) };
        let output = run(scenario.clone(), options.clone()).unwrap();
        let (link, trace) = (&output.result.links[1].1, output.trace.unwrap().table());
        let (dropped, drops) = count(&trace, "drop");
        assert_eq!((dropped, &drops), (link.dropped, &link.drops), "{name}");
        assert_eq!((count(&trace, "mark").0, count(&trace, "dequeue").0), (link.marked, link.departed), "{name}");
        let refused = trace.sojourn.iter().filter(|sojourn| sojourn.is_nan()).count() as u64;
        assert_eq!(count(&trace, "enqueue").0 + refused, link.arrived, "{name}");
        assert!(trace.time.is_sorted(), "{name}");
        let mut plain = run(scenario.clone(), Options { trace: None, ..options }).unwrap().result;
        plain.engine.wall = output.result.engine.wall;
        assert_eq!(plain.json(), output.result.json(), "{name}");
    }
}

#[test]
fn sites_that_share_nothing_need_no_news_for_a_second() {
    let text = |sites: &str| {
        format!(
            "schema = 1\nduration = \"3 s\"\n{sites}[[plans]]\nname = \"plan\"\ndown = \"9 Mbit/s\"\nup = \"9 Mbit/s\"\n\
             rtt = \"9 ms\"\nbuffer = \"9 packets\"\n[lines]\ncount = 6\nparent = \"town\"\n\
             [[flows]]\nname = \"file\"\nlines = true\ntcp = \"rfc\"\n"
        )
    };
    let site =
        |more: &str| format!("[[sites]]\ndown = \"9 Mbit/s\"\nbuffer = \"9 packets\"\ndelay = \"2 ms\"\n{more}\n");
    let round = |sites: &str| {
        let scenario = Arc::new(parse(&text(sites), "towns", &[]).unwrap());
        let simulation = Simulation::foreseeing(scenario, options("droptail")).unwrap();
        Plan::new(&simulation.network, 2).expect("a tree is divided").round
    };
    let apart = site("name = \"town\"\ncount = 3");
    assert_eq!(round(&apart), Span::from_millis(1000));
    let joined = site("name = \"exchange\"") + &site("name = \"town\"\ncount = 3\nparent = \"exchange\"");
    assert_eq!(round(&joined), Span::from_micros(1250), "a quarter of the round trip that is not on links");
}
