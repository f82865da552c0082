//! Runs whose outcome can be computed by hand.
//!
//! A packet of 1000 B on the wire (960 B of payload) takes 1 ms on the 8 Mbit/s link and 100 us on each 80 Mbit/s
//! access link; an ACK of 40 B takes 40 us and 4 us. With a round-trip propagation of 23.752 ms the unloaded round trip
//! is 23.752 + 1 + 0.2 + 0.048 = 25 ms, so that 25 packets are under way when none waits.

use aqmlab_aqm::CATALOGUE;
use aqmlab_sim::scenario::parse;
use aqmlab_sim::{AqmChoice, FlowResult, LinkResult, RunOptions, run};

/// Payload of a packet, bits.
const PAYLOAD: f64 = 7680.0;
/// Time that is measured after a warm-up of 10 s: 3600 unloaded round trips.
const MEASURED: f64 = 90.0;

/// The dumbbell of this file with some of its settings changed, under a scheme: link and flows.
fn measure(aqm: &str, settings: &[(&str, &str)]) -> (LinkResult, FlowResult) {
    const TEXT: &str = r#"
        schema = 1
        duration = "100 s"
        warmup = "10 s"
        [[links]]
        name = "bottleneck"
        rate = "8 Mbit/s"
        delay = "1 ms"
        buffer = "100 packets"
        [[flows]]
        name = "ftp"
        rtt = "23.752 ms"
        packet = "960 B"
        access_rate = "80 Mbit/s"
        tcp = { profile = "ns2" }
    "#;
    let settings: Vec<_> = settings.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    let scenario = parse(TEXT, "theory", &settings).unwrap_or_else(|problems| panic!("{problems}"));
    let aqm = AqmChoice::parse(aqm).unwrap();
    let mut result = run(&scenario, RunOptions { aqm: Some(&aqm), seed: 1, ..RunOptions::default() }).unwrap().result;
    (result.links.remove(0).1, result.flows.remove(0).1)
}

/// So many flows that are limited by their windows.
fn window_limited(aqm: &str, count: u32, window: u32, more: &[(&str, &str)]) -> (LinkResult, FlowResult) {
    let (count, window) = (count.to_string(), format!("{window} packets"));
    let limited = [("flows.ftp.count", &*count), ("flows.ftp.tcp.window", &*window)];
    measure(aqm, &[&limited[..], more].concat())
}

fn picoseconds(seconds: Option<f64>) -> u64 {
    (seconds.expect("packets have arrived") * 1e12).round() as u64
}

#[test]
fn a_packet_takes_its_propagation_and_transmissions_to_the_picosecond() {
    // Half of the propagation, 1 ms on the link, 0.1 ms on each access link.
    let (link, flows) = window_limited("droptail", 1, 1, &[]);
    assert_eq!(picoseconds(flows.packet_delay_mean), 11_876_000_000 + 1_000_000_000 + 200_000_000);
    assert_eq!(picoseconds(flows.packet_delay_std), 0);
    assert_eq!(picoseconds(link.queue_delay_mean), 0);
    // 1000 B at 45 Mbit/s are 177.777778 us; without access rates nothing else is sent on.
    let (_, flows) = window_limited(
        "droptail",
        1,
        1,
        &[("links.bottleneck.rate", "45 Mbit/s"), ("flows.ftp.access_rate", "10 Tbit/s"), ("flows.ftp.rtt", "80 ms")],
    );
    assert_eq!(picoseconds(flows.packet_delay_mean), 40_000_000_000 + 177_777_778 + 2 * 800);
}

#[test]
fn the_delay_of_a_path_is_the_sum_over_its_links() {
    const TEXT: &str = r#"
        schema = 1
        duration = "20 s"
        warmup = "1 s"
        [[links]]
        name = "a"
        rate = "8 Mbit/s"
        delay = "3 ms"
        buffer = "10 packets"
        [[links]]
        name = "b"
        rate = "4 Mbit/s"
        delay = "5 ms"
        buffer = "10 packets"
        [[flows]]
        rtt = "40 ms"
        packet = "960 B"
        tcp = { window = "1 packet" }
    "#;
    let scenario = parse(TEXT, "two links", &[]).unwrap();
    let result = run(&scenario, RunOptions::default()).unwrap().result;
    // 20 ms there, 1 ms on a, 2 ms on b; back 20 ms, 40 us on a, 80 us on b: a packet every 43.12 ms.
    assert_eq!(picoseconds(result.flows[0].1.packet_delay_mean), 23_000_000_000);
    let packets = result.flows[0].1.goodput * 19.0 / PAYLOAD;
    assert!((packets - 19.0 / 0.04312).abs() <= 1.0, "{packets}");
}

#[test]
fn window_limited_flows_send_their_windows_once_per_round_trip() {
    for (count, window) in [(1, 1), (1, 24), (4, 3), (12, 2), (24, 1)] {
        let (link, flows) = window_limited("droptail", count, window, &[]);
        let packets = f64::from(count * window) * MEASURED / 0.025;
        assert!((flows.goodput * MEASURED / PAYLOAD - packets).abs() <= 1.0, "{count} flows of {window}");
        assert!((link.utilisation - packets * 0.001 / MEASURED).abs() <= 0.001 / MEASURED, "{}", link.utilisation);
        assert_eq!((link.dropped, flows.retransmits, flows.timeouts), (0, 0, 0));
        assert!((flows.jain.unwrap() - 1.0).abs() < 1e-6, "{:?}", flows.jain);
    }
}

#[test]
fn the_queue_of_window_limited_flows_is_what_does_not_fit_the_path() {
    // 25 packets are under way; the rest waits, each for the time that the rest takes.
    for (count, window) in [(1, 40), (10, 5), (5, 20), (50, 2)] {
        let (link, flows) = window_limited("droptail", count, window, &[("links.bottleneck.buffer", "200 packets")]);
        let waiting = count * window - 25;
        assert!((link.queue_mean - f64::from(waiting)).abs() < 1e-3, "{count} of {window}: {}", link.queue_mean);
        assert_eq!(picoseconds(link.queue_delay_mean), u64::from(waiting) * 1_000_000_000);
        assert_eq!(picoseconds(flows.packet_delay_mean), 13_076_000_000 + u64::from(waiting) * 1_000_000_000);
        assert_eq!((link.utilisation, link.dropped), (1.0, 0));
        assert!((flows.goodput * MEASURED / PAYLOAD - MEASURED / 0.001).abs() <= 1.0);
    }
}

#[test]
fn a_buffer_for_all_windows_never_overflows_and_a_smaller_one_does() {
    let dropped = |buffer| {
        let (link, _) = window_limited("droptail", 2, 30, &[("links.bottleneck.buffer", buffer)]);
        link.dropped
    };
    assert_eq!(dropped("60 packets"), 0);
    assert_eq!(dropped("40 packets"), 0, "25 are under way");
    assert!(dropped("30 packets") > 0);
}

#[test]
fn a_queue_holds_exactly_its_buffer() {
    // Sixteen packets arrive within nanoseconds: one is sent, 15 wait.
    let dropped = |buffer| {
        let burst = [
            ("links.bottleneck.buffer", buffer),
            ("flows.ftp.access_rate", "10 Tbit/s"),
            ("flows.ftp.tcp.initial_window", "16 packets"),
            ("warmup", "0 s"),
            ("duration", "100 ms"),
        ];
        window_limited("droptail", 1, 16, &burst).0.dropped
    };
    assert_eq!([dropped("15 packets"), dropped("14 packets"), dropped("1 packet")], [0, 1, 14]);
    assert_eq!([dropped("15 kB"), dropped("14999 B"), dropped("1040 B")], [0, 1, 14]);
}

#[test]
fn no_scheme_drops_below_capacity() {
    // Four flows with three packets each fill 12 of 25 ms.
    for scheme in CATALOGUE {
        let (link, flows) = window_limited(scheme.info.name, 4, 3, &[("warmup", "0 s")]);
        assert_eq!((link.dropped, flows.retransmits, flows.timeouts), (0, 0, 0), "{}", scheme.info.name);
        assert!((link.utilisation - 0.48).abs() < 0.001, "{}: {}", scheme.info.name, link.utilisation);
    }
}

#[test]
fn utilisation_is_the_time_spent_sending_whatever_the_scheme_drops() {
    for scheme in CATALOGUE {
        let (link, _) = measure(scheme.info.name, &[("flows.ftp.count", "40")]);
        // Departed counts packets that went into service: of the first and the last a part lies outside.
        let sent = link.departed as f64 * 0.001 / MEASURED;
        assert!((link.utilisation - sent).abs() <= 0.001 / MEASURED, "{}", scheme.info.name);
        assert!(link.dropped > 0, "{}", scheme.info.name);
    }
}

#[test]
fn littles_law_relates_queue_delay_and_rate() {
    for scheme in CATALOGUE {
        let (link, _) = measure(scheme.info.name, &[("flows.ftp.count", "40")]);
        let by_little = link.departed as f64 / MEASURED * link.queue_delay_mean.unwrap();
        // Off by the queues at the beginning and the end: at most 100 packets for at most 0.1 s each.
        let slack = 2.0 * 100.0 * 0.1 / MEASURED;
        assert!((link.queue_mean - by_little).abs() <= slack, "{}: {}", scheme.info.name, link.queue_mean);
    }
}

#[test]
fn every_drop_at_the_only_queue_is_sent_again() {
    let (link, flows) = measure("droptail", &[("flows.ftp.count", "40"), ("warmup", "0 s")]);
    assert!(flows.retransmits >= link.dropped - 100, "{} < {}", flows.retransmits, link.dropped);
}

#[test]
fn a_closed_flow_falls_silent() {
    let (link, flows) = window_limited("droptail", 4, 3, &[("flows.ftp.stop", "20 s")]);
    // Active from 10 s on for 10 of 90 s; the last segments follow within a round trip.
    let packets = 12.0 * 10.0 / 0.025;
    assert!((flows.goodput * MEASURED / PAYLOAD - packets).abs() <= 12.0);
    assert!((link.departed as f64 - packets).abs() <= 12.0);
    assert_eq!(flows.jain, None, "no flow is active all the time");
}

#[test]
fn a_flow_whose_stop_is_drawn_before_its_start_sends_nothing() {
    let times = [("flows.ftp.start", "{ values = [\"0 s\", \"20 s\"] }"), ("flows.ftp.stop", "15 s")];
    let (_, flows) = window_limited("droptail", 2, 3, &times);
    // The first flow alone, for 5 s.
    let packets = 3.0 * 5.0 / 0.025;
    assert!((flows.goodput * MEASURED / PAYLOAD - packets).abs() <= 3.0);
}

#[test]
fn an_absurdly_slow_access_link_delivers_nothing() {
    // One packet takes 5.9 days; what is sent again meanwhile would end after the last time there is.
    let slow = [("flows.ftp.access_rate", "1 bit/s"), ("flows.ftp.packet", "64000 B"), ("duration", "100000 s")];
    assert_eq!(measure("droptail", &slow).1.goodput, 0.0);
}

#[test]
fn scaling_time_by_ten_scales_only_time() {
    let count = |scale: &[(&str, &str)]| {
        let (link, flows) = window_limited("droptail", 4, 20, scale);
        (link.arrived, link.departed, link.dropped, flows.retransmits, flows.timeouts)
    };
    let slow = [
        ("duration", "1000 s"),
        ("warmup", "100 s"),
        ("links.bottleneck.rate", "800 kbit/s"),
        ("links.bottleneck.delay", "10 ms"),
        ("flows.ftp.rtt", "237.52 ms"),
        ("flows.ftp.access_rate", "8 Mbit/s"),
        ("flows.ftp.tcp.clock", "100 ms"),
        ("flows.ftp.tcp.min_rto", "2 s"),
        ("flows.ftp.tcp.max_rto", "600 s"),
        ("flows.ftp.tcp.initial_rto", "30 s"),
    ];
    let small = [("links.bottleneck.buffer", "20 packets")];
    assert_eq!(count(&small), count(&[&small[..], &slow].concat()));
}
