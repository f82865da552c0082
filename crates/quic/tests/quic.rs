//! QUIC beside the simulator's senders: shares, marks, ends, repeats, logs.

use aqmlab_quic::{QuicError, run};
use aqmlab_scenario::{SchemeAssignment, parse};
use aqmlab_sim::{Options, RunResult};
use serde_json::{Value, json};

/// A link of 10 Mbit/s and 40 ms with a buffer of two bandwidth-delay products, without flows.
const LINK: &str = "schema = 1\nduration = '12 s'\nwarmup = '2 s'\n\
    [[links]]\nname = 'link'\nrate = '10 Mbit/s'\nbuffer = '2 bdp'\necn = true\n";
const QUIC: &str = "[[flows]]\nname = 'quic'\nkind = 'quic'\nrtt = '40 ms'\n";

fn result(flows: &str, aqm: &str, seed: u64) -> RunResult {
    let scenario = parse(&format!("{LINK}{flows}"), "quic", &[]).unwrap();
    let options = Options { aqm: Some(SchemeAssignment::parse(aqm).unwrap()), seed, ..Options::default() };
    let mut output = run(scenario, options, None).unwrap();
    output.result.engine.wall = 0.0;
    output.result
}

#[test]
fn one_connection_fills_the_link_under_each_law() {
    for law in ["cubic", "newreno", "bbr"] {
        let found = result(&format!("{QUIC}congestion_control = '{law}'\n"), "droptail", 1);
        let (link, quic) = (&found.links[0].1, &found.flows[0].1);
        assert!(link.utilisation > 0.9, "{law}: {}", link.utilisation);
        // Of 1480 B on the wire 1452 are UDP's; QUIC keeps some thirty of them.
        assert!(
            quic.goodput > 0.93 * link.utilisation * 10e6 && quic.goodput < 1452.0 / 1480.0 * 10e6,
            "{law}: {}",
            quic.goodput
        );
        assert!(quic.packet_delay_mean.is_some_and(|delay| delay > 0.020), "{law}");
    }
}

#[test]
fn it_answers_marks_where_it_speaks_ecn() {
    let [with, without] = ["true", "false"].map(|ecn| result(&format!("{QUIC}ecn = {ecn}\n"), "codel", 1));
    assert!(with.links[0].1.marked > 4 && with.links[0].1.dropped == 0, "{:?}", with.links[0].1);
    assert!(without.links[0].1.marked == 0 && without.links[0].1.dropped > 4, "{:?}", without.links[0].1);
    assert!(with.flows[0].1.marked > 4, "{:?}", with.flows[0].1);
}

#[test]
fn a_transfer_of_a_size_ends() {
    let found = result(&format!("{QUIC}size = '5 MB'\n"), "fq-codel", 1);
    // Measured from 2 s on: what was sent before does not count, and all of 5 MB takes 4 s and more.
    assert!(
        found.flows[0].1.goodput < 5e6 * 8.0 / 10.0 && found.links[0].1.utilisation < 0.4,
        "{:?}",
        found.flows[0].1
    );
}

#[test]
fn a_transfer_is_counted_with_its_completion_time() {
    let found = result(&format!("{QUIC}size = '5 MB'\nstart = '2.5 s'\n"), "fq-codel", 1);
    let quic = &found.flows[0].1;
    // 5 MB at 10 Mbit/s take 4 s; a handshake, slow start and headers come on top.
    assert_eq!((quic.transfers, quic.failed), (1, 0));
    assert!(quic.fct_mean.is_some_and(|taken| (4.0..5.0).contains(&taken)), "{:?}", quic.fct_mean);
}

#[test]
fn a_bulk_flow_outlives_the_losses_of_slow_start() {
    // 100 Mbit/s, 150 ms: slow start loses more than a thousand packets of a window.
    let text = "schema = 1\nduration = '5 s'\nwarmup = '3 s'\n[[links]]\nrate = '100 Mbit/s'\nbuffer = '1 bdp'\n\
        [[flows]]\nkind = 'quic'\nrtt = '150 ms'\n";
    let found = run(parse(text, "long", &[]).unwrap(), Options::default(), None).unwrap().result;
    assert!(found.links[0].1.utilisation > 0.5, "{:?}", found.links[0].1);
}

#[test]
fn a_flow_that_stops_sends_nothing_more() {
    let found = result(&format!("{QUIC}stop = '2 s'\n"), "droptail", 1);
    // After the stop, at the end of the warm-up, arrives what was under way: at most the buffer and a bandwidth-delay product.
    let bytes = found.flows[0].1.goodput * 10.0 / 8.0;
    assert!(bytes < 3.0 * 50_000.0 && found.links[0].1.utilisation < 0.02, "{bytes} B");
}

#[test]
fn a_connection_that_times_out_has_failed() {
    let silence = "[[changes]]\nat = '3 s'\npath = 'links.link.loss'\nvalue = '100 %'\n";
    let text = format!("{LINK}{QUIC}{silence}").replace("12 s", "60 s");
    let found = run(parse(&text, "silence", &[]).unwrap(), Options::default(), None).unwrap().result;
    assert_eq!(found.flows[0].1.failed, 1);
}

#[test]
fn it_shares_a_queue_with_tcp_and_its_datagrams_come_back_through_another() {
    let both = format!("{QUIC}count = 2\n[[flows]]\nname = 'tcp'\ncount = 2\nrtt = '40 ms'\ntcp = 'cubic'\n");
    let found = result(&both, "fq-codel", 1);
    let [quic, tcp] = [0, 1].map(|group: usize| found.flows[group].1.goodput);
    assert!((0.8..1.25).contains(&(quic / tcp)), "{quic} {tcp}");
    let back = "[[links]]\nname = 'back'\nrate = '100 kbit/s'\nbuffer = '20 packets'\naqm = 'droptail'\n";
    let path = format!("{back}{QUIC}path = ['link']\nack_path = ['back']\n");
    let narrow = result(&path, "droptail", 1);
    assert!(narrow.links[1].1.utilisation > 0.1, "{:?}", narrow.links[1].1);
}

#[test]
fn it_repeats_to_the_bit_and_follows_the_seed() {
    let flows = format!("{QUIC}count = 3\nstart = {{ uniform = ['0 s', '1 s'] }}\n");
    let first = result(&flows, "pie", 1);
    for _ in 0..3 {
        assert_eq!(serde_json::to_string(&first).unwrap(), serde_json::to_string(&result(&flows, "pie", 1)).unwrap());
    }
    assert_ne!(first.engine.events, result(&flows, "pie", 2).engine.events);
}

/// The records of a log, the heading apart.
fn records(log: &str) -> (Value, Vec<Value>) {
    let mut records = log.split('\u{1e}').skip(1).map(|record| {
        assert!(record.ends_with('\n'));
        serde_json::from_str(record).unwrap()
    });
    (records.next().unwrap(), records.collect())
}

/// What qlog 0.3 asks for and what viewers go by: qvis draws what is sent by `raw.length`, and times in milliseconds.
#[test]
fn logs_have_the_form_that_viewers_read() {
    let folder = std::env::temp_dir().join(format!("aqmlab-quic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let scenario = parse(&format!("{LINK}{QUIC}ecn = true\n"), "quic", &[]).unwrap();
    let options = Options { aqm: Some(SchemeAssignment::parse("codel").unwrap()), seed: 1, ..Options::default() };
    let result = run(scenario, options, Some(&folder)).unwrap().result;
    let logs =
        ["client", "server"].map(|end| std::fs::read_to_string(folder.join(format!("quic-0-{end}.sqlog"))).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    let mut marked = [0, 0];
    for (i, (log, end)) in logs.iter().zip(["client", "server"]).enumerate() {
        let (heading, events) = records(log);
        assert_eq!((&heading["qlog_version"], &heading["qlog_format"]), (&json!("0.3"), &json!("JSON-SEQ")));
        assert_eq!(heading["trace"]["vantage_point"]["type"], end);
        assert_eq!(heading["trace"]["common_fields"]["time_format"], "relative");
        let times: Vec<f64> = events.iter().map(|event| event["time"].as_f64().unwrap()).collect();
        assert!(times.is_sorted() && times[times.len() - 1] <= 12_000.0, "{times:?}");
        // All of a connection in one trace: viewers make a connection of each group.
        assert!(events.iter().all(|event| event.get("group_id").is_none()));
        for event in &events {
            let (data, name) = (&event["data"], event["name"].as_str().unwrap());
            let header = || data["header"]["packet_number"].is_u64() && data["header"]["packet_type"].is_string();
            let is_right = match name {
                "transport:packet_sent" => header() && (20..=1452).contains(&data["raw"]["length"].as_u64().unwrap()),
                "transport:packet_received" => header(),
                "recovery:packet_lost" => header() && data["trigger"].is_string(),
                "recovery:metrics_updated" => data.as_object().unwrap().values().all(Value::is_number),
                "transport:datagrams_sent" => ["Not-ECT", "ECT(0)"].iter().any(|ecn| data["ecn"] == json!([ecn])),
                "transport:datagrams_received" => {
                    marked[i] += u64::from(data["ecn"] == json!(["CE"]));
                    data["raw"][0]["length"].is_u64()
                }
                _ => false,
            };
            assert!(is_right, "{event}");
        }
        let last = |field: &str| events.iter().rev().find_map(|event| event["data"].get(field)?.as_f64());
        assert!(last("smoothed_rtt").is_some_and(|rtt| (40.0..140.0).contains(&rtt)), "{:?}", last("smoothed_rtt"));
        assert!(last("min_rtt").is_some_and(|rtt| (40.0..45.0).contains(&rtt)), "{:?}", last("min_rtt"));
        assert!(last("congestion_window").is_some_and(|window| window > 2400.0));
        assert!(last("bytes_in_flight").is_some());
    }
    // Nothing is lost, and what the queue marks arrives at the server; the run counts from 2 s on.
    assert!(marked[0] == 0 && marked[1] >= result.flows[0].1.marked && marked[1] > 0, "{marked:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |flows: &str| {
        let text = format!("{LINK}{flows}");
        match parse(&text, "quic", &[]).map(|scenario| run(scenario, Options::default(), None)) {
            Err(problems) => problems.to_string(),
            Ok(Err(QuicError::Input(problems))) => problems.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(&format!("{QUIC}congestion_control = 'bbr3'\n")).contains("unknown controller \"bbr3\""));
    assert!(refused(&format!("{QUIC}packet = '1000 B'\n")).contains("1200 B"));
    assert!(refused(&format!("{QUIC}tcp = 'cubic'\n")).contains("unknown key"));
    let change = "[[changes]]\nat = '3 s'\npath = 'flows.quic.count'\nvalue = '3'\n";
    assert!(refused(&format!("{QUIC}{change}")).contains("flows.quic"));
}
