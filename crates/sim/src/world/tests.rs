use super::*;
use crate::result::RunResult;
use crate::scenario;

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
