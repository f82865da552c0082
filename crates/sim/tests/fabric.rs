//! A leaf-spine fabric, where theory or a calculation by hand says what happens.

use aqmlab_scenario::parse;
use aqmlab_sim::{EngineStats, FlowResult, LinkResult, Options, RunResult, run, run_divided};

/// Two leaves with 16 hosts of 10 Gbit/s each, two spines, 100 us round trip.
fn fabric(alpha: f64, flows: &str) -> String {
    format!(
        "schema = 1\nduration = \"200 ms\"\nwarmup = \"20 ms\"\n\
         [fabric]\nspines = 2\nbuffer = \"1 MB\"\nalpha = {alpha}\n\
         [fabric.leaves]\ncount = 2\nrate = \"40 Gbit/s\"\ndelay = \"2 us\"\naqm = \"dctcp-step:k=80 packets\"\n\
         [fabric.hosts]\ncount = 32\nrate = \"10 Gbit/s\"\ndelay = \"1 us\"\nbuffer = \"10000 packets\"\neach = true\naqm = \"dctcp-step:k=20 packets\"\n\
         {flows}"
    )
}

fn group(name: &str, keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nrtt = \"100 us\"\npacket = \"1460 B\"\n\
         tcp = {{ profile = \"rfc\", congestion_control = \"dctcp\", min_rto = \"10 ms\", initial_window = \"64 packets\" }}\necn = true\n{keys}\n"
    )
}

fn result(text: &str) -> RunResult {
    run(parse(text, "fabric", &[]).unwrap(), Options::default()).unwrap().result
}

fn flows<'a>(result: &'a RunResult, name: &str) -> &'a FlowResult {
    &result.flows.iter().find(|(of, _)| of == name).unwrap().1
}

fn link<'a>(result: &'a RunResult, name: &str) -> &'a LinkResult {
    &result.links.iter().find(|(of, _)| of == name).unwrap().1
}

#[test]
fn alone_a_transfer_takes_its_ideal_time() {
    // Within one leaf and across, of one packet and of as many as the first window has.
    for (ends, size) in [("from = 0\nto = 31", 1), ("from = 0\nto = 31", 50), ("from = 3\nto = 4", 50)] {
        let keys = format!("kind = \"short\"\narrivals = \"200 Hz\"\nsize = \"{size} packets\"\n{ends}");
        let result = result(&fabric(1.0, &group("alone", &keys)));
        let of = flows(&result, "alone").slowdown.as_ref().unwrap();
        let median = of.p50.unwrap();
        assert!((median - 1.0).abs() < 0.002, "{ends}, {size}: {median}");
    }
}

#[test]
fn an_ideal_time_is_worked_out_by_hand() {
    // 50 packets of 1500 B between leaves: 1.2 us each at 10 Gbit/s, 0.3 us at 40; 40 B take 0.032 and 0.008 us. Twice 100 us of
    // propagation, a SYN and its answer, the first packet over four links, 49 more behind it, the last ACK.
    let keys = "kind = \"short\"\narrivals = \"200 Hz\"\nsize = \"50 packets\"\nfrom = 0\nto = 31";
    let result = result(&fabric(1.0, &group("alone", keys)));
    let small = 2.0 * 0.032 + 2.0 * 0.008;
    let expected = (200.0 + 2.0 * small + (2.0 * 1.2 + 2.0 * 0.3) + 49.0 * 1.2 + small) * 1e-6;
    let median = flows(&result, "alone").fct_p50.unwrap();
    assert!((median / expected - 1.0).abs() < 0.002, "{median}, not {expected}");
}

#[test]
fn dctcp_keeps_the_queue_at_the_step() {
    // Alizadeh et al. 2010, 3.3: over C RTT = 83 packets with K = 20, N flows in step move the queue from K + N down by
    // A = sqrt(2 N (C RTT + K)) / 2: its mean is 17 to 18 packets for one to four flows (docs/tcp/dctcp.md). RTT is the round trip
    // without waiting: 100 us and the 6 us that a packet and its ACK take to be sent.
    for count in [2, 4] {
        let flows: String = (0..count).map(|i| group(&format!("long-{i}"), &format!("from = {i}\nto = 31"))).collect();
        let result = result(&fabric(1.0, &flows));
        let (n, k, pipe) = (f64::from(count), 20.0, 10e9 * 106e-6 / 12e3);
        let mean = k + n - (2.0 * n * (pipe + k)).sqrt() / 4.0;
        let port = link(&result, "host-31-down");
        assert!((port.queue_mean - mean).abs() < 3.0, "{count} flows: {} packets, not {mean}", port.queue_mean);
        assert!(port.utilisation > 0.97, "{}", port.utilisation);
        assert_eq!(result.total.dropped, 0);
    }
}

#[test]
fn an_incast_ends_when_all_have_been_served() {
    // 24 hosts send 8 packets of 1500 B each to one at once, which fit the buffer and the first window: 230.4 us at its link, after a
    // handshake, and with propagation there and back, 100 us each or within a leaf 92.
    let keys = "kind = \"http\"\ncount = 3\nstart = { values = [\"30 ms\", \"80 ms\", \"130 ms\"] }\npages = 1\nthink_time = \"1 s\"\n\
                objects = 24\nsize = \"8 packets\"";
    let result = result(&fabric(1.0, &group("incast", keys)));
    let of = flows(&result, "incast");
    assert_eq!((of.transfers, of.failed), (72, 0));
    let last = of.fct_p99.unwrap();
    assert!((414e-6..436e-6).contains(&last), "{last}");
}

#[test]
fn a_larger_alpha_takes_more_of_an_incast() {
    // 30 hosts send 64 packets of 1500 B, 2.9 MB, to one port of a switch of 1 MB.
    let keys = "kind = \"http\"\nstart = \"30 ms\"\npages = 1\nthink_time = \"1 s\"\nobjects = 30\nsize = \"64 packets\"\nto = 31";
    let drops = |alpha| {
        let result = result(&fabric(alpha, &group("incast", keys)));
        let link = link(&result, "host-down");
        assert!(link.arrived >= link.departed + link.dropped);
        assert_eq!(flows(&result, "incast").transfers, 30);
        link.dropped
    };
    let drops = [0.25, 1.0, 4.0].map(drops);
    assert!(drops.is_sorted_by(|less, more| less > more), "{drops:?}");
}

#[test]
fn flows_spread_over_the_spines_and_a_seed_tells_how() {
    let keys = "kind = \"short\"\nload = 0.3\nsize = { published = \"web-search\" }\nstop = \"30 ms\"";
    let text = fabric(1.0, &group("web", keys)).replace("\"200 ms\"", "\"30 ms\"");
    let json = |seed, threads| {
        let options = Options { seed, threads, ..Options::default() };
        let result = run(parse(&text, "fabric", &[]).unwrap(), options).unwrap().result;
        RunResult { engine: EngineStats { wall: 0.0, ..result.engine }, ..result }
    };
    let one = json(1, 1);
    assert_eq!(one.json(), json(1, 3).json());
    assert_ne!(one.json(), json(2, 1).json());
    let (_, spread) = one.spreads.iter().find(|(name, _)| name == "leaf-up").unwrap();
    assert_eq!(spread.count, 4);
    // Half of the pairs are in different leaves: 0.3 * 32 * 10 Gbit/s * 16/31 over 4 links of 40 Gbit/s.
    let mean = one.links.iter().find(|(name, _)| name == "leaf-up").unwrap().1.utilisation;
    assert!((0.15..0.55).contains(&mean), "{mean}, not about 0.31");
    let of = flows(&one, "web").slowdown.as_ref().unwrap();
    assert!(of.p50_by_size.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(of.p50.unwrap() >= 0.999 && of.p50 <= of.p95 && of.p95 <= of.p99);
}

#[test]
fn long_flows_give_the_same_bytes_on_several_threads() {
    let text = fabric(1.0, &(group("long", "count = 40\nstart = { uniform = [\"0 s\", \"5 ms\"] }")))
        .replace("\"200 ms\"", "\"40 ms\"");
    let options = |threads| Options { threads, ..Options::default() };
    let json = |result: RunResult| RunResult { engine: EngineStats { wall: 0.0, ..result.engine }, ..result }.json();
    let one = json(result(&text));
    for threads in [2, 3] {
        let several =
            run_divided(parse(&text, "fabric", &[]).unwrap(), options(threads)).unwrap().expect("it is divided");
        assert_eq!(json(several.result), one);
    }
}
