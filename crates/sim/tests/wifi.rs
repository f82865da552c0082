//! A Wi-Fi cell, where theory or a calculation by hand says what happens.

use aqmlab_core::Time;
use aqmlab_scenario::parse;
use aqmlab_sim::{FlowResult, LinkResult, Options, RunResult, Simulation, StationResult, run, run_divided};

fn result(text: &str) -> RunResult {
    run(parse(text, "wifi", &[]).unwrap(), Options::default()).unwrap().result
}

fn flows<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    &result.flows.iter().find(|(of, _)| of == name).unwrap().1
}

fn link<'a>(result: &'a RunResult, name: &str) -> &'a LinkResult {
    &result.links.iter().find(|(of, _)| of == name).unwrap().1
}

fn station<'a>(result: &'a RunResult, name: &str) -> &'a StationResult {
    &result.stations.iter().find(|(of, _)| of == name).unwrap().1
}

fn cell(duration: &str, wifi: &str, stations: &str, flows: &str) -> String {
    format!("schema = 1\nduration = \"{duration}\"\nwarmup = \"1 s\"\n[wifi]\n{wifi}\n{stations}\n{flows}\n")
}

fn stations(name: &str, keys: &str) -> String {
    format!("[[stations]]\nname = \"{name}\"\n{keys}\n")
}

/// Datagrams of 1500 B, 28 B of them headers.
fn datagrams(name: &str, stations: &str, keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nkind = \"udp-cbr\"\nstations = \"{stations}\"\npacket = \"1472 B\"\nrtt = \"2 ms\"\n{keys}\n"
    )
}

/// Bianchi (2000): the probability that a saturated station sends in a slot, for windows of w slots that double m times.
fn sends_in_a_slot(n: u32, w: f64, m: i32) -> f64 {
    let tau = |p: f64| 2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * (w + 1.0) + p * w * (1.0 - (2.0 * p).powi(m)));
    // tau falls with p, and p = 1 - (1 - tau)^(n - 1) rises with tau: bisection.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..200 {
        let p = 0.5 * (low + high);
        let p = if p == 0.5 { p + 1e-12 } else { p };
        if 1.0 - (1.0 - tau(p)).powi(n as i32 - 1) > p { low = p } else { high = p }
    }
    tau(low)
}

/// The share of the time in which payload is sent: `payload`, `success` and `collision` are times, as is `slot`.
fn saturation(n: u32, w: f64, m: i32, [payload, success, collision, slot]: [f64; 4]) -> f64 {
    let tau = sends_in_a_slot(n, w, m);
    let busy = 1.0 - (1.0 - tau).powi(n as i32);
    let one = f64::from(n) * tau * (1.0 - tau).powi(n as i32 - 1);
    one * payload / ((1.0 - busy) * slot + one * success + (busy - one) * collision)
}

#[test]
fn a_packet_is_received_when_its_frame_ends_however_long_the_block_ack_takes() {
    let delay = |wifi: &str| {
        let text = cell(
            "3 s",
            wifi,
            &stations("a", "rate = \"144.4 Mbit/s\""),
            &datagrams("down", "a", "rate = \"120 kbit/s\""),
        );
        flows(&result(&text), "down").packet_delay_mean.unwrap()
    };
    let usual = delay("");
    assert!((delay("block_ack = \"500 us\"") - usual).abs() < 20e-6, "{usual}: slots begin elsewhere");
    // 1 ms of propagation, preamble, frame; before, SIFS and block ACK came on top.
    assert!(usual < 1.3e-3, "{usual}");
}

#[test]
fn the_oracle_gives_what_bianchi_printed() {
    // Table II: 8184 bits of payload, headers of 272 and 128, ACK 112 + 128, SIFS 28, DIFS 128, propagation 1, slot 50 us at 1 Mbit/s.
    let (success, collision) = (400.0 + 8184.0 + 28.0 + 1.0 + 240.0 + 128.0 + 1.0, 400.0 + 8184.0 + 128.0 + 1.0);
    assert_eq!((success, collision), (8982.0, 8713.0)); // Ts and Tc of basic access, as printed
    // Without collisions W = 32 gives tau = 2 / 33 to a station that is alone.
    assert!((sends_in_a_slot(1, 32.0, 3) - 2.0 / 33.0).abs() < 1e-9);
    // Equation 28: the greatest throughput that any window gives, for K = sqrt(Tc / (2 slot)), is 0.823 for many stations.
    let k = f64::sqrt(collision / 50.0 / 2.0);
    assert!((k - 9.334).abs() < 0.001);
    let greatest = 8184.0 / (success + 50.0 * k + collision * (k * ((1.0 / k).exp() - 1.0) - 1.0));
    assert!((greatest - 0.8239).abs() < 0.001, "{greatest}");
    let any = |w: f64| saturation(50, w, 0, [8184.0, success, collision, 50.0]);
    let best = (1..100).map(|i| any(16.0 * f64::from(i))).fold(0.0, f64::max);
    assert!((best - greatest).abs() < 0.005, "{best}, not {greatest}");
}

/// Throughput of the payload of saturated stations, over that of Bianchi's formula.
fn beside_bianchi(n: u32, [least, most]: [u32; 2]) -> f64 {
    let wifi = format!("cw_min = {least}\ncw_max = {most}\nretries = 1000000\nampdu = {{ packets = 1 }}");
    let of = stations("s", &format!("count = {n}\nrate = \"54 Mbit/s\""));
    let rate = format!("direction = \"up\"\nrate = \"{} Mbit/s\"", 60.0 / f64::from(n));
    let measured = result(&cell("21 s", &wifi, &of, &datagrams("up", "s", &rate)));
    // 1500 + 42 B, padded to 1544; 36 us of preamble, SIFS 16, block ACK 32, AIFS 16 + 3 * 9.
    let frame = 36.0 + 1544.0 * 8.0 / 54.0 + 16.0 + 32.0 + 43.0;
    let (w, m) = (f64::from(least + 1), ((most + 1) / (least + 1)).ilog2() as i32);
    let expected = saturation(n, w, m, [1472.0 * 8.0, frame, frame, 9.0]) * 1e6;
    flows(&measured, "up").goodput / expected
}

#[test]
fn a_saturated_cell_has_bianchis_throughput() {
    for (n, windows) in [(2, [15, 1023]), (5, [15, 1023]), (10, [31, 255]), (20, [15, 1023]), (50, [15, 1023])] {
        let ratio = beside_bianchi(n, windows);
        assert!((ratio - 1.0).abs() < 0.02, "{n} stations: {ratio}");
    }
}

/// Two stations of 144.4 Mbit/s and one of 7.2, each with more than it gets.
fn anomaly(wifi: &str) -> RunResult {
    let of = stations("fast", "count = 2\nrate = \"144.4 Mbit/s\"") + &stations("slow", "rate = \"7.2 Mbit/s\"");
    let flows =
        datagrams("to-fast", "fast", "rate = \"100 Mbit/s\"") + &datagrams("to-slow", "slow", "rate = \"100 Mbit/s\"");
    result(&cell("11 s", wifi, &of, &flows))
}

#[test]
fn turns_by_packets_give_each_the_same_rate_and_turns_by_airtime_the_same_time() {
    // Exchanges of a packet: 36 us, 1544 B, 16 + 32 us; and AIFS with half of 15 slots on average: 43 + 67.5 us.
    let exchange = |rate: f64| 36.0 + 1544.0 * 8.0 / rate + 48.0;
    let (fast, slow, wait) = (exchange(144.4), exchange(7.2), 110.5);
    let one = "ampdu = { packets = 1 }\n";
    let turns = anomaly(&format!("{one}airtime_fairness = false"));
    let each = 1472.0 * 8.0 / (2.0 * fast + slow + 3.0 * wait) * 1e6;
    for (name, stations) in [("to-fast", 2.0), ("to-slow", 1.0)] {
        let goodput = flows(&turns, name).goodput / stations;
        assert!((goodput / each - 1.0).abs() < 0.01, "{name}: {goodput}, not {each}");
    }
    let share = station(&turns, "slow").airtime_share;
    assert!((share - slow / (2.0 * fast + slow)).abs() < 0.005, "{share}");

    // A station that has a third of the airtime sends 1 / (3 * exchange) of the time that exchanges have.
    let fair = anomaly(one);
    let packets = [1.0 / (3.0 * fast), 1.0 / (3.0 * slow)];
    let busy = 1.0 / (1.0 + wait * (2.0 * packets[0] + packets[1]));
    for (name, stations, packets) in [("to-fast", 2.0, packets[0]), ("to-slow", 1.0, packets[1])] {
        let goodput = flows(&fair, name).goodput / stations;
        let expected = 1472.0 * 8.0 * packets * busy * 1e6;
        assert!((goodput / expected - 1.0).abs() < 0.01, "{name}: {goodput}, not {expected}");
    }
    for name in ["fast", "slow"] {
        assert!((station(&fair, name).airtime_share - 1.0 / 3.0).abs() < 0.005, "{name}");
    }
}

#[test]
fn airtime_is_given_as_the_stations_say() {
    let of = stations("half", "rate = \"144.4 Mbit/s\"\nairtime = 0.5")
        + &stations("rest", "count = 2\nrate = \"54 Mbit/s\"");
    let flows = datagrams("a", "half", "rate = \"200 Mbit/s\"") + &datagrams("b", "rest", "rate = \"100 Mbit/s\"");
    let measured = result(&cell("11 s", "", &of, &flows));
    assert!((station(&measured, "half").airtime_share - 0.5).abs() < 0.01);
    assert!((station(&measured, "rest").airtime_share - 0.25).abs() < 0.01);
}

#[test]
fn aggregates_keep_to_their_limits() {
    // 64 packets: 36 us and 64 * 1544 B at 300 Mbit/s are 2.67 ms; within 65,535 B there are 42, within 1 ms 23.
    for (limits, most) in [
        ("packets = 64, window = 128, bytes = \"1 MB\"", 64.0),
        ("packets = 64, window = 128", 42.0),
        ("packets = 64, window = 128, bytes = \"1 MB\", time = \"1 ms\"", 23.0),
    ] {
        let wifi = format!("ampdu = {{ {limits} }}");
        let of = stations("one", "rate = \"300 Mbit/s\"");
        let measured = result(&cell("3 s", &wifi, &of, &datagrams("a", "one", "rate = \"400 Mbit/s\"")));
        let mean = station(&measured, "one").ampdu_mean.unwrap();
        assert!((mean - most).abs() < 0.05, "{limits}: {mean}");
        // Nobody else sends: 36 us, the MPDUs, 48 us, and 110.5 us on average between exchanges.
        let cycle = 36.0 + most * 1544.0 * 8.0 / 300.0 + 48.0 + 110.5;
        let goodput = flows(&measured, "a").goodput / (most * 1472.0 * 8.0 / cycle * 1e6);
        assert!((goodput - 1.0).abs() < 0.005, "{limits}: {goodput}");
    }
}

#[test]
fn lost_mpdus_are_sent_again_and_arrive_in_order() {
    let of = stations("one", "rate = \"65 Mbit/s\"\nerror = 0.2");
    let tcp = "[[flows]]\nname = \"a\"\nstations = \"one\"\nrtt = \"10 ms\"\ntcp = \"linux\"\n";
    let measured = result(&cell("11 s", "", &of, tcp));
    // With collisions between data and ACKs some 0.28 of all tries fail, so 0.28^8 of 32,000 packets are given up, about one. TCP sees no
    // reordering of the quarter that was late: it sends again what was dropped or given up, and a few that a timer took for lost.
    let (down, to) = (link(&measured, "one-down"), flows(&measured, "a"));
    assert!(down.lost < 10 && to.goodput > 30e6, "{} lost, {}", down.lost, to.goodput);
    assert!(to.retransmits < 20, "{} resent, {} dropped", to.retransmits, down.dropped);
    // With one try every loss is seen, and nobody contends.
    let measured = result(&cell("11 s", "retries = 0", &of, &datagrams("a", "one", "rate = \"20 Mbit/s\"")));
    let (down, air) = (link(&measured, "one-down"), station(&measured, "one").mpdu_loss_ratio.unwrap());
    let lost = down.lost as f64 / down.departed as f64;
    assert!((lost - 0.2).abs() < 0.01 && (air - 0.2).abs() < 0.01, "{lost}, {air}");
}

#[test]
fn a_station_that_sends_little_does_not_wait_for_those_that_send_much() {
    let of = stations("bulk", "count = 4\nrate = \"20 Mbit/s\"") + &stations("call", "rate = \"20 Mbit/s\"");
    let flows_of = datagrams("bulk", "bulk", "rate = \"20 Mbit/s\"")
        + "[[flows]]\nname = \"call\"\nkind = \"udp-cbr\"\nstations = \"call\"\npacket = \"172 B\"\nrtt = \"2 ms\"\nrate = \"80 kbit/s\"\n";
    let delay = |wifi: &str| flows(&result(&cell("11 s", wifi, &of, &flows_of)), "call").packet_delay_p99.unwrap();
    let (fair, turns, shared) = (delay(""), delay("airtime_fairness = false"), delay("queues = \"shared\""));
    // Two aggregates of 4 ms may be before it, or a round of five; a FIFO of 1000 packets takes over half a second.
    assert!(fair < 0.012 && turns < 0.026 && shared > 0.5, "{fair}, {turns}, {shared}");
}

#[test]
fn queue_limits_in_airtime_bound_what_a_driver_holds() {
    // A call beside a flood of the same station, 0.62 ms a packet: flow queueing lets it pass all but what the driver holds, which is 12 ms
    // and a packet where nobody else sends, or 2 ms and a packet. 1 ms of propagation.
    let of = stations("one", "rate = \"20 Mbit/s\"");
    let flows_of = datagrams("bulk", "one", "rate = \"40 Mbit/s\"")
        + "[[flows]]\nname = \"call\"\nkind = \"udp-cbr\"\nstations = \"one\"\npacket = \"172 B\"\nrtt = \"2 ms\"\nrate = \"80 kbit/s\"\n";
    let delay = |wifi: &str| flows(&result(&cell("11 s", wifi, &of, &flows_of)), "call").packet_delay_p50.unwrap();
    let (usual, short) = (delay("aql = true"), delay("aql = [\"2 ms\", \"2 ms\", \"24 ms\"]"));
    assert!((0.009..0.016).contains(&usual) && (0.002..0.0055).contains(&short), "{usual}, {short}");
}

#[test]
fn all_queues_of_an_access_point_share_its_room() {
    // Under FIFOs a flood fills the room of 300, less what an aggregate of six has just taken, and the longest queue loses packets.
    let of = stations("s", "count = 3\nrate = \"20 Mbit/s\"\neach = true");
    let wifi = "buffer = \"300 packets\"\naqm = \"fq-droptail:drop_batch=1\"";
    let measured = result(&cell("6 s", wifi, &of, &datagrams("a", "s", "rate = \"20 Mbit/s\"")));
    let queues: Vec<f64> = (0..3).map(|i| link(&measured, &format!("s-{i}-down")).queue_mean).collect();
    let all: f64 = queues.iter().sum();
    assert!((290.0..=300.0).contains(&all) && queues.iter().all(|queue| (queue - 100.0).abs() < 5.0), "{queues:?}");
}

#[test]
fn a_scheme_that_holds_packets_back_is_asked_again() {
    let of = stations("one", "rate = \"65 Mbit/s\"");
    let wifi = "aqm = \"cake:bandwidth=10 Mbit/s\"";
    let measured = result(&cell("6 s", wifi, &of, &datagrams("a", "one", "rate = \"30 Mbit/s\"")));
    let goodput = flows(&measured, "a").goodput;
    assert!((goodput / (10e6 * 1472.0 / 1500.0) - 1.0).abs() < 0.01, "{goodput}");
}

#[test]
fn acks_contend_and_threads_change_nothing() {
    let of =
        stations("near", "count = 3\nrate = \"144.4 Mbit/s\"") + &stations("far", "rate = \"13 Mbit/s\"\nerror = 0.1");
    let tcp = |name: &str, stations: &str, direction: &str| {
        format!(
            "[[flows]]\nname = \"{name}\"\nstations = {stations}\ndirection = \"{direction}\"\ncount = 2\nrtt = \"20 ms\"\ntcp = \"linux\"\n"
        )
    };
    let flows = tcp("down", "true", "down") + &tcp("up", "[\"near\"]", "up");
    let text = cell("3 s", "", &of, &flows);
    let alone = result(&text);
    assert!(link(&alone, "near-up").arrived > 1000 && link(&alone, "far-up").arrived > 100, "ACKs queue at stations");
    let strip = |mut result: RunResult| {
        result.engine.wall = 0.0;
        result.json()
    };
    let options = Options { threads: 2, ..Options::default() };
    let divided = run_divided(parse(&text, "wifi", &[]).unwrap(), options).unwrap().expect("it has parts");
    assert_eq!(strip(alone), strip(divided.result));
    let mut stepped = Simulation::new(parse(&text, "wifi", &[]).unwrap(), Options::default()).unwrap();
    stepped.step_until(Time(1_500_000_000_000)).unwrap();
    assert_eq!(strip(stepped.clone().finish().unwrap().result), strip(result(&text)));
}
