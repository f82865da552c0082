//! The queue in the sending host: a first link that is the host's own, with and without TCP small queues.

use aqmlab_core::{Span, Time};
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, RunResult, Simulation, run};

/// An uplink of 12 Mbit/s, a packet of 1500 B a millisecond, in the host itself.
fn text(link: &str, flows: &str) -> String {
    format!(
        "schema = 1\nduration = \"20 s\"\nwarmup = \"5 s\"\n\
         [[links]]\nname = \"nic\"\nrate = \"12 Mbit/s\"\nbuffer = \"1000 packets\"\nhost = true\n{link}\n\
         [[flows]]\nname = \"up\"\nrtt = \"40 ms\"\npacket = \"1434 B\"\n{flows}"
    )
}

fn measure(link: &str, flows: &str) -> RunResult {
    let scenario = parse(&text(link, flows), "host", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    run(scenario, Options::default()).unwrap().result
}

#[test]
fn a_flow_has_two_segments_in_its_host() {
    // One is in transmission, one waits for a millisecond, and the queue never runs dry.
    let one = &measure("", "").links[0].1;
    assert_eq!((one.queue_p95, one.dropped), (1, 0));
    assert!(one.utilisation > 0.999, "{}", one.utilisation);
    let wait = one.queue_delay_mean.unwrap();
    assert!((wait - 0.001).abs() < 1e-5, "{wait} s");
    // Twenty flows have forty, of which one is in transmission.
    let many = &measure("", "count = 20").links[0].1;
    assert_eq!((many.queue_p95, many.dropped), (39, 0));
}

#[test]
fn without_small_queues_a_window_lies_in_it() {
    // The window grows to the buffer and the 40 packets of the path, and is cut where the buffer overflows.
    let one = &measure("", "tcp = { small_queues = false }").links[0].1;
    assert!(one.queue_mean > 500.0 && one.dropped > 0, "{}, {}", one.queue_mean, one.dropped);
}

#[test]
fn at_a_high_rate_it_has_a_millisecond_of_the_pace() {
    // BBR paces at about the rate of the link, 100 packets a millisecond: in 1/1024 s it sends 97. Its window of two path's products
    // lies elsewhere.
    let link = "rate = \"1.2 Gbit/s\"";
    let scenario = text("", "tcp = \"bbr\"").replace("rate = \"12 Mbit/s\"", link);
    let result = run(parse(&scenario, "host", &[]).unwrap(), Options::default()).unwrap().result;
    let link = &result.links[0].1;
    assert!(link.queue_p95 < 2 * 97 && link.utilisation > 0.9, "{link:?}");
    let without = scenario.replace("\"bbr\"", "{ congestion_control = \"bbr\", small_queues = false }");
    let result = run(parse(&without, "host", &[]).unwrap(), Options::default()).unwrap().result;
    assert!(result.links[0].1.queue_p95 >= link.queue_p95);
}

#[test]
fn what_a_flow_queue_drops_makes_room_too() {
    // CoDel drops after packets have joined; were they not taken off, flows would stop for good.
    let result = measure("aqm = \"fq-codel:target=100us,interval=1ms\"", "count = 20");
    let link = &result.links[0].1;
    assert!(link.dropped > 100 && link.utilisation > 0.95, "{link:?}");
}

#[test]
fn it_is_the_same_in_steps() {
    let scenario = parse(&text("aqm = \"fq-codel\"", "count = 3"), "host", &[]).unwrap();
    let mut stepped = Simulation::new(scenario.clone(), Options::default()).unwrap();
    for ms in (0..20_000).step_by(7) {
        stepped.step_until(Time::ZERO + Span::from_millis(ms)).unwrap();
    }
    let (mut whole, mut steps) = (run(scenario, Options::default()).unwrap().result, stepped.finish().unwrap().result);
    (whole.engine.wall, steps.engine.wall) = (0.0, 0.0);
    assert_eq!(whole.json(), steps.json());
}

#[test]
fn only_a_first_link_can_be_a_hosts() {
    let second = "[[links]]\nname = \"line\"\nrate = \"9 Mbit/s\"\nbuffer = \"9 packets\"\n";
    let problem = |link: &str, flows: &str| parse(&text(link, flows), "host", &[]).unwrap_err().to_string();
    for (link, flows, expected) in [
        (
            second,
            "path = [\"line\", \"nic\"]",
            "flows.up.path: crosses links.nic, the interface of a sending host, later than first",
        ),
        (second, "path = [\"line\"]\nack_path = [\"nic\"]", "flows.up.ack_path: crosses links.nic, the interface"),
        (
            "",
            "access_rate = \"9 Mbit/s\"",
            "flows.up.access_rate: is that of a host, which links.nic has; leave it out",
        ),
        (
            "",
            "kind = \"udp-cbr\"\nrate = \"1 Mbit/s\"",
            "links.nic.host: \"true\" is for the interface of a host that sends by TCP",
        ),
    ] {
        let found = problem(link, flows);
        assert!(found.contains(expected), "{found}");
    }
}
