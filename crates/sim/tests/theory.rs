//! Runs whose outcome can be computed by hand.
//!
//! A packet of 1000 B on the wire (960 B of payload) takes 1 ms on the 8 Mbit/s link and 100 us on each 80 Mbit/s
//! access link; an ACK of 40 B takes 40 us and 4 us. With a round-trip propagation of 23.752 ms the unloaded round trip
//! is 23.752 + 1 + 0.2 + 0.048 = 25 ms, so that 25 packets are under way when none waits.

use aqmlab_aqm::{AnyScheme, Aqm, QueueView, entries};
use aqmlab_core::Rate;
use aqmlab_scenario::SchemeAssignment;
use aqmlab_scenario::parse;
use aqmlab_sim::{FlowResult, LinkResult, Options, run};

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
    let aqm = SchemeAssignment::parse(aqm).unwrap();
    let mut result = run(scenario, Options { aqm: Some(aqm), seed: 1, ..Options::default() }).unwrap().result;
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
        tcp = { profile = "rfc", window = "1 packet" }
    "#;
    let scenario = parse(TEXT, "two links", &[]).unwrap();
    let result = run(scenario, Options::default()).unwrap().result;
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
    for scheme in entries() {
        let (link, flows) = window_limited(scheme.info.name, 4, 3, &[("warmup", "0 s")]);
        assert_eq!((link.dropped, flows.retransmits, flows.timeouts), (0, 0, 0), "{}", scheme.info.name);
        assert!((link.utilisation - 0.48).abs() < 0.001, "{}: {}", scheme.info.name, link.utilisation);
    }
}

#[test]
fn utilisation_is_the_time_spent_sending_whatever_the_scheme_drops() {
    for scheme in entries() {
        // Without SYNs, which are smaller than other packets.
        let (link, _) = measure(scheme.info.name, &[("flows.ftp.count", "40"), ("flows.ftp.tcp.syn", "false")]);
        // Departed counts packets that went into service: of the first and the last a part lies outside.
        let sent = link.departed as f64 * 0.001 / MEASURED;
        assert!((link.utilisation - sent).abs() <= 0.001 / MEASURED, "{}", scheme.info.name);
        assert!(link.dropped > 0, "{}", scheme.info.name);
    }
}

#[test]
fn littles_law_relates_queue_delay_and_rate() {
    for scheme in entries() {
        let (link, _) = measure(scheme.info.name, &[("flows.ftp.count", "40")]);
        let by_little = link.departed as f64 / MEASURED * link.queue_delay_mean.unwrap();
        // Off by the queues at the beginning and the end: at most 100 packets for at most 0.1 s each.
        let slack = 2.0 * 100.0 * 0.1 / MEASURED;
        // Packets dropped when they have waited have no queue delay: at most 0.1 s each in a single queue, any time in
        // one that others overtake.
        let view = QueueView::empty(Rate(8e6), 33.0, 100.0);
        let waited = match scheme.build(scheme.info.name, &[], &view).unwrap() {
            AnyScheme::Fifo(aqm) if !aqm.acts_on_dequeue() && !aqm.draws_packets() => 0.0,
            AnyScheme::Fifo(_) => 0.1,
            _ => MEASURED,
        };
        let more = link.queue_mean - by_little;
        let most = slack + link.dropped as f64 * waited / MEASURED;
        assert!((-slack..=most).contains(&more), "{}: {}", scheme.info.name, link.queue_mean);
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

/// Traffic over two links there and back: `down` 8 Mbit/s, `up` 80 Mbit/s, 1 ms each, and a flow of the given kind.
fn measure_traffic(flow: &str, settings: &[(&str, &str)]) -> (Vec<LinkResult>, FlowResult) {
    let text = format!(
        r#"
        schema = 1
        duration = "100 s"
        warmup = "10 s"
        [[links]]
        name = "down"
        rate = "8 Mbit/s"
        delay = "1 ms"
        buffer = "100 packets"
        [[links]]
        name = "up"
        rate = "80 Mbit/s"
        delay = "1 ms"
        buffer = "100 packets"
        [[flows]]
        path = ["down"]
        access_rate = "80 Mbit/s"
        {flow}
    "#
    );
    let settings: Vec<_> = settings.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    let scenario = parse(&text, "theory", &settings).unwrap_or_else(|problems| panic!("{problems}"));
    let mut result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
    (result.links.drain(..).map(|(_, link)| link).collect(), result.flows.remove(0).1)
}

const CBR: &str = "kind = \"udp-cbr\"\nrtt = \"20 ms\"\nrate = \"500 kbit/s\"\npacket = \"972 B\"";

#[test]
fn datagrams_at_a_constant_rate_come_at_that_rate() {
    // 972 B and a header of 28 B: 62.5 packets a second, each 10 ms of propagation, 1 ms on the link, 0.2 ms beside it.
    let (links, flows) = measure_traffic(CBR, &[]);
    assert_eq!((flows.received, links[0].dropped), (5625, 0));
    assert!((flows.goodput - 62.5 * 972.0 * 8.0).abs() < 1e-6);
    assert!((links[0].utilisation - 0.0625).abs() < 1e-9);
    assert_eq!(picoseconds(flows.packet_delay_mean), 11_200_000_000);
}

#[test]
fn a_link_sends_at_the_rate_of_its_schedule() {
    // 750 packets a second fit 8 Mbit/s, until 50 s, but not the 4 Mbit/s after it: then 500 are sent.
    let schedule = "[[\"0 s\", \"8 Mbit/s\"], [\"50 s\", \"4 Mbit/s\"]]";
    let (links, _) = measure_traffic(CBR, &[("links.down.rate", schedule), ("flows.flows.rate", "6 Mbit/s")]);
    assert!((links[0].departed as i64 - (30_000 + 25_000)).abs() <= 2, "{}", links[0].departed);
    // 12500 more came than were sent; all but the 100 that wait were dropped.
    assert!((links[0].dropped as i64 - 12_400).abs() <= 2, "{}", links[0].dropped);
    assert_eq!(links[0].settling.len(), 2, "the start and the step");
}

#[test]
fn utilisation_is_bits_over_what_could_be_carried_where_the_rate_varies() {
    // Half of the time 10 Mbit/s, of which 6 are asked for; then 5, all of them: 11 of 15, where the link is busy for 0.8 of the time.
    let used = |schedule: &str| {
        let (links, _) = measure_traffic(CBR, &[("links.down.rate", schedule), ("flows.flows.rate", "6 Mbit/s")]);
        assert!((links[0].capacity_unused / links[0].capacity - (1.0 - links[0].utilisation)).abs() < 0.001);
        links[0].utilisation
    };
    let half = used("[[\"0 s\", \"10 Mbit/s\"], [\"55 s\", \"5 Mbit/s\"]]");
    assert!((half - 11.0 / 15.0).abs() < 0.0005, "{half}");
    let whole = used("[[\"0 s\", \"5 Mbit/s\"], [\"55 s\", \"1 Mbit/s\"]]");
    assert!((whole - 1.0).abs() < 1e-3, "{whole}");
}

#[test]
fn a_packet_goes_on_at_the_rate_at_which_it_began_and_counts_so() {
    // A packet of 1000 B takes 0.1 s at 80 kbit/s; from 1.05 s on the link has 80 Mbit/s, but that under way goes on until 1.1 s.
    let spec = parse(
        "schema = 1\nduration = \"2.05 s\"\n[[links]]\nname = \"a\"\nrate = [[\"0 s\", \"80 kbit/s\"], [\"1.05 s\", \"80 Mbit/s\"]]\n\
         buffer = \"100 packets\"\n[[flows]]\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"\npacket = \"972 B\"\nheader = \"28 B\"\nrtt = \"0 s\"\n\
         stop = \"1.1 s\"\n",
        "straddle",
        &[],
    )
    .unwrap();
    let link = run(spec, Options { seed: 1, ..Options::default() }).unwrap().result.links.remove(0).1;
    // All that have joined are sent, over 84 kbit and a second of 80 Mbit.
    let sent = link.departed as f64 * 8000.0 / (80e3 * 1.05 + 80e6);
    assert!((link.utilisation - sent).abs() < 1e-9, "{} is not {sent}", link.utilisation);
}

/// Datagrams that wait for nothing over two round trips.
const APART: &str = "schema = 1\nduration = \"30 s\"\n[[links]]\nrate = \"100 Mbit/s\"\nbuffer = \"100 packets\"\n\
     [[flows]]\nname = \"near\"\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"\nrtt = \"10 ms\"\n\
     [[flows]]\nname = \"far\"\nkind = \"udp-cbr\"\nrate = \"10 kbit/s\"\nrtt = \"300 ms\"\n\
     [[flows]]\nname = \"both\"\nkind = \"udp-cbr\"\ncount = 2\nrate = \"10 kbit/s\"\nstart = { values = [\"1 ms\", \"2 s\"] }\n\
     rtt = { values = [\"20 ms\", \"60 ms\"] }\n";

#[test]
fn each_packet_has_its_own_way_back_and_each_flow_its_own_least_delay() {
    let result = run(parse(APART, "apart", &[]).unwrap(), Options { seed: 1, ..Options::default() }).unwrap().result;
    let of = |name: &str| &result.flows.iter().find(|(group, _)| group == name).unwrap().1;
    // 96 % of the packets are those of the near flow: 10 ms, and less than 0.15 ms to be sent.
    let rpm = result.total.rpm.unwrap();
    assert!((5900.0..6000.0).contains(&rpm), "{rpm}");
    // Half of the packets of a group take 20 ms, half 60 ms: the mean of the 95 % shortest is 39 ms.
    let rpm = of("both").rpm.unwrap();
    assert!((60e3 / rpm - 39.0).abs() < 1.0, "{rpm}");
    for flows in [of("near"), of("far"), of("both"), &result.total] {
        let variation = flows.packet_delay_variation_p99.unwrap();
        assert!(variation < 0.3e-3, "{variation}: packets meet, but do not queue for longer");
    }
    assert_eq!(result.total.jain, None, "there are no long transfers");
}

#[test]
fn packets_from_before_a_round_trip_changed_keep_theirs() {
    let changed = format!("{APART}[[changes]]\nat = \"10 s\"\npath = \"flows.near.rtt\"\nvalue = \"30 ms\"\n");
    let result = run(parse(&changed, "apart", &[]).unwrap(), Options { seed: 1, ..Options::default() }).unwrap().result;
    // 10 s at 10 ms and 20 s at 30 ms, without the last twentieth of 30 s.
    let expected = (10.0 * 10.0 + 18.5 * 30.0) / 28.5;
    let near = &result.flows[0].1;
    assert!((60e3 / near.rpm.unwrap() - expected).abs() < 0.4, "{}", near.rpm.unwrap());
    assert!(near.packet_delay_variation_p99.unwrap() < 0.3e-3, "{:?}", near.packet_delay_variation_p99);
}

#[test]
fn a_wandering_rate_spends_its_time_evenly_over_its_values() {
    // Offered more than it can send, a link at 8 or 2 Mbit/s, 20 ms each on average, sends 5 Mbit/s on average:
    // 4500 changes in 90 s leave a standard error of about 1.3 %. Packets of 100 B end soon after a change.
    let rate = "{ values = [\"8 Mbit/s\", \"2 Mbit/s\"], hold = { exponential = \"20 ms\" } }";
    let settings = [("links.down.rate", rate), ("flows.flows.rate", "20 Mbit/s"), ("flows.flows.packet", "72 B")];
    let (links, _) = measure_traffic(CBR, &settings);
    let mean_rate = links[0].departed as f64 * 800.0 / 90.0;
    assert!((mean_rate / 5e6 - 1.0).abs() < 0.06, "{mean_rate}");
}

#[test]
fn a_transfer_completes_after_its_handshake_and_its_windows() {
    let pages = "kind = \"http\"\nrtt = \"23.752 ms\"\npacket = \"960 B\"\ntcp = { profile = \"ns2\" }\n\
                 think_time = \"1 s\"\nsize = \"1 packet\"";
    let (_, flows) = measure_traffic(pages, &[]);
    // SYN and ACK of 40 B: 23.752 + 0.048 + 0.048 ms; then a packet of 1000 B and its ACK: 25 ms.
    assert_eq!(picoseconds(flows.fct_mean), 23_848_000_000 + 25_000_000_000);
    // One page begins every 1.048848 s.
    assert_eq!(flows.transfers, (90.0f64 / 1.048_848) as u64 + 1);
    // Two packets fit the initial window; the second takes 1 ms more on the link.
    let (_, flows) = measure_traffic(pages, &[("flows.flows.size", "2 packets")]);
    assert_eq!(picoseconds(flows.fct_mean), 49_848_000_000);
    // Six take a second window of four, on a second round trip that began with the first ACK.
    let (_, flows) = measure_traffic(pages, &[("flows.flows.size", "6 packets")]);
    assert_eq!(picoseconds(flows.fct_mean), 23_848_000_000 + 2 * 25_000_000_000 + 3_000_000_000);
}

#[test]
fn short_transfers_arrive_as_a_poisson_process() {
    let short =
        "kind = \"short\"\ncount = 10\nrtt = \"20 ms\"\narrivals = \"50 Hz\"\nsize = \"5 packets\"\ntcp = \"rfc\"";
    let (_, flows) = measure_traffic(short, &[]);
    // 4500 in 90 s, with a standard deviation of sqrt(4500) = 67.
    assert!((flows.transfers as f64 - 4500.0).abs() < 4.0 * 67.0, "{}", flows.transfers);
    assert!((flows.goodput / (50.0 * 5.0 * 8000.0) - 1.0).abs() < 0.06, "{}", flows.goodput);
    assert_eq!(flows.count, 10);
}

#[test]
fn a_queue_of_acks_paces_the_sender() {
    // 32 kbit/s send 100 ACKs of 40 B a second, so 100 segments a second are all that the window can do.
    let ftp = "ack_path = [\"up\"]\nrtt = \"20 ms\"\npacket = \"960 B\"\n\
               tcp = { profile = \"ns2\", window = \"50 packets\" }";
    let (links, flows) = measure_traffic(ftp, &[("links.up.rate", "32 kbit/s")]);
    assert_eq!(links[1].departed, 9000);
    assert!((flows.goodput / (100.0 * PAYLOAD) - 1.0).abs() < 1e-3, "{}", flows.goodput);
    assert_eq!((links[1].dropped, links[0].dropped), (0, 0));
    // All but the packet on its way to the receiver wait as ACKs: the window less one in transmission and 2.2 under way.
    assert!((45.0..49.0).contains(&links[1].queue_mean), "{}", links[1].queue_mean);
}

#[test]
fn marks_take_the_place_of_drops() {
    let ecn = [("flows.ftp.ecn", "true"), ("flows.ftp.count", "4"), ("flows.ftp.tcp.profile", "rfc")];
    let (link, flows) = measure("red:min_th=10 packets,max_th=60 packets", &ecn);
    assert_eq!((link.dropped, flows.retransmits, flows.timeouts), (0, 0, 0));
    assert!(link.marked > 100 && flows.ecn_reductions > 100, "{} {}", link.marked, flows.ecn_reductions);
    // Every marked packet arrives marked, those still under way aside; one mark a window is answered.
    assert!(link.marked.abs_diff(flows.marked) <= 100 && flows.ecn_reductions <= flows.marked);
    for unmarking in [("links.bottleneck.ecn", "false"), ("schemes.red.ecn", "false")] {
        let (link, flows) = measure("red:min_th=10 packets,max_th=60 packets", &[&ecn[..], &[unmarking]].concat());
        assert_eq!((link.marked, flows.marked, flows.ecn_reductions), (0, 0, 0));
        assert!(link.dropped > 100);
    }
}

/// Downloads whose ACKs, and nothing else, wait for each other: 1000 ACKs of 40 B a second. So many segments a second as
/// ACKs pass; windows of 20 keep all queues filled.
#[test]
fn cake_shares_a_way_back_between_the_hosts_that_send_acks_and_between_their_classes() {
    const TEXT: &str = r#"
        schema = 1
        duration = "30 s"
        warmup = "10 s"
        [[links]]
        name = "down"
        rate = "1 Gbit/s"
        buffer = "1000 packets"
        fixed = true
        [[links]]
        name = "up"
        rate = "320 kbit/s"
        buffer = "1000 packets"
        aqm = "cake:rtt=100 s,diffserv=diffserv4"
        [[flows]]
        name = "eight"
        count = 8
        hosts = 1
        path = ["down"]
        ack_path = ["up"]
        rtt = "10 ms"
        packet = "960 B"
        tcp = { profile = "rfc", window = "20 packets" }
        [[flows]]
        name = "one"
        path = ["down"]
        ack_path = ["up"]
        rtt = "10 ms"
        packet = "960 B"
        tcp = { profile = "rfc", window = "20 packets" }
    "#;
    let shares = |class: &str| {
        let settings = [("flows.eight.class".to_string(), class.to_string())];
        let scenario = parse(TEXT, "theory", &settings).unwrap_or_else(|problems| panic!("{problems}"));
        let result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
        [0, 1].map(|i| result.flows[i].1.goodput / PAYLOAD)
    };
    let near = |found: [f64; 2], expected: [f64; 2]| (0..2).all(|i| (found[i] - expected[i]).abs() < 25.0);
    let [same, bulk] = [shares("0"), shares("1")];
    assert!(near(same, [500.0, 500.0]), "a half for each host: {same:?}");
    assert!(near(bulk, [62.5, 937.5]), "bulk has a sixteenth: {bulk:?}");
}

/// A shaper keeps the queue. What a packet and its ACK take less on the faster link behind it, the path takes more here.
#[test]
fn cake_shaped_below_its_link_gives_the_numbers_of_a_link_of_that_rate() {
    let numbers = |aqm: &str, rate: &str, rtt: &str| {
        let flows = [("links.bottleneck.buffer", "60 packets"), ("flows.ftp.count", "4"), ("flows.ftp.rtt", rtt)];
        let settings = [("links.bottleneck.rate", rate), ("flows.ftp.tcp.profile", "rfc")];
        let (link, flows) = measure(aqm, &[&flows[..], &settings].concat());
        let LinkResult { queue_delay_mean, queue_delay_std, queue_delay_p99, arrived, drops, .. } = link;
        let waited = [queue_delay_mean, queue_delay_std, queue_delay_p99].map(picoseconds);
        (format!("{:?}", (waited, drops, flows.received, flows.timeouts)), arrived, flows.retransmits)
    };
    // 1040 B take 8.32 ms at 1 Mbit/s and 83.2 us at 100 Mbit/s.
    let (link, arrived, retransmits) = numbers("cake", "1 Mbit/s", "20 ms");
    let shaped = numbers("cake:bandwidth=1 Mbit/s", "100 Mbit/s", "28.2368 ms");
    assert_eq!(shaped.0, link);
    assert_eq!(numbers("cake-mq:queues=1,bandwidth=1 Mbit/s", "100 Mbit/s", "28.2368 ms"), shaped);
    // The last segment may be sent on one side of the end here and on the other there.
    assert!(shaped.1.abs_diff(arrived) <= 1 && shaped.2.abs_diff(retransmits) <= 1, "{shaped:?}");
}

#[test]
fn a_packet_takes_its_cells() {
    // 1000 + 40 = 1040 B: 22 cells of 53 B, 1166 us at 8 Mbit/s; the ACK on its way back 40 + 40 B, two cells, 106 us.
    let atm = [("links.bottleneck.overhead", "40 B"), ("links.bottleneck.framing", "atm")];
    let (_, flows) = window_limited("droptail", 1, 1, &atm);
    assert_eq!(picoseconds(flows.packet_delay_mean), 11_876_000_000 + 1_166_000_000 + 200_000_000);
    let round_trip = 23.752e-3 + 1.166e-3 + 0.2e-3 + 0.106e-3 + 0.008e-3;
    assert!((flows.goodput * round_trip / PAYLOAD - 1.0).abs() < 1e-3, "{}", flows.goodput);
    // At most 8 Mbit/s / 1166 B a second, whichever way departures are computed.
    for aqm in ["droptail", "fq-droptail"] {
        let (link, flows) = window_limited(aqm, 1, 60, &atm);
        assert!((flows.goodput / (8e6 / 8.0 / 1166.0 * PAYLOAD) - 1.0).abs() < 1e-3, "{aqm}: {}", flows.goodput);
        assert_eq!(link.utilisation, 1.0);
    }
    // A packet of 1000 B and an ACK of 40 B of at least 84 B, without cells.
    let (_, flows) = window_limited("droptail", 1, 1, &[("links.bottleneck.mpu", "84 B")]);
    let round_trip = 23.752e-3 + 1e-3 + 0.2e-3 + 0.084e-3 + 0.008e-3;
    assert!((flows.goodput * round_trip / PAYLOAD - 1.0).abs() < 1e-3, "{}", flows.goodput);
}

#[test]
fn a_trace_delivers_what_packets_take_on_the_wire() {
    // Of packets of 500 B three share an opportunity; of packets that count as 250 B more than that, two.
    let received = |overhead: &str| {
        let text = format!(
            "schema = 1\nduration = \"11 s\"\nwarmup = \"1 s\"\n[[links]]\nrate = {{ trace = \"cell\" }}\n\
             buffer = \"20 packets\"\noverhead = \"{overhead}\"\n[[flows]]\nkind = \"udp-cbr\"\nrate = \"10 Mbit/s\"\n\
             packet = \"472 B\"\nheader = \"28 B\"\nrtt = \"4 ms\"\n[traces]\ncell = \"10\"\n"
        );
        let scenario = parse(&text, "trace", &[]).unwrap_or_else(|problems| panic!("{problems}"));
        run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result.flows.remove(0).1.received as i64
    };
    assert!((received("0 B") - 3000).abs() <= 3);
    assert!((received("250 B") - 2000).abs() <= 2);
}

/// Datagrams of 1500 B on the wire at this rate, over opportunities at 1, 2, 3, 4, 5 and 10 ms of every 10 ms.
fn over_a_trace(rate: &str, rtt: &str) -> (LinkResult, FlowResult) {
    let text = format!(
        "schema = 1\nduration = \"11 s\"\nwarmup = \"1 s\"\n[[links]]\nrate = {{ trace = \"cell\" }}\nbuffer = \"20 packets\"\n\
         [[flows]]\nkind = \"udp-cbr\"\nrate = \"{rate}\"\npacket = \"1472 B\"\nheader = \"28 B\"\nrtt = \"{rtt}\"\n\
         [traces]\ncell = \"1\\n2\\n3\\n4\\n5\\n10\\n\"\n"
    );
    let scenario = parse(&text, "trace", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
    (result.links.remove(0).1, result.flows.remove(0).1)
}

#[test]
fn a_link_that_follows_a_trace_delivers_a_packet_at_each_opportunity() {
    let (link, flows) = over_a_trace("10 Mbit/s", "4 ms");
    // Six packets in each 10 ms of the 10 s measured; of 8333 that come in this time as many are lost.
    assert!((flows.received as i64 - 6000).abs() <= 1, "{}", flows.received);
    assert_eq!(link.utilisation, 1.0);
    // The buffer is full or lacks a packet or a few, and Little's law holds: 600 packets leave in a second.
    let waits = link.queue_delay_mean.unwrap();
    assert!((17.0..20.0).contains(&link.queue_mean), "{}", link.queue_mean);
    assert!((waits * 600.0 / link.queue_mean - 1.0).abs() < 0.01, "{waits}");
}

#[test]
fn a_lone_packet_waits_for_the_next_opportunity() {
    // One packet every 20 ms reaches the link after a quarter of the round trip: at 1 ms, which is an opportunity, or at
    // 1.3 ms, and the next one is at 2 ms.
    assert_eq!(picoseconds(over_a_trace("600 kbit/s", "4 ms").1.packet_delay_mean), 2_000_000_000);
    assert_eq!(picoseconds(over_a_trace("600 kbit/s", "5.2 ms").1.packet_delay_mean), 3_300_000_000);
    // At 6 ms it waits for the one at 10 ms.
    assert_eq!(picoseconds(over_a_trace("600 kbit/s", "24 ms").1.packet_delay_mean), 16_000_000_000);
}
