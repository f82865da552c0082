//! Congestion controls and players of video: how scenarios name them, and what they do to a link.

use aqmlab_aqm::Ecn;
use aqmlab_core::Quantity;
use aqmlab_scenario::Scenario;
use aqmlab_scenario::parse;
use aqmlab_sim::{FlowResult, LinkResult, Options, VideoResult, run};
use aqmlab_tcp::{Profile, TcpVariant};

/// One link and what crosses it.
fn text(link: &str, flows: &str) -> String {
    format!("schema = 1\nduration = \"100 s\"\nwarmup = \"20 s\"\n[[links]]\n{link}\n{flows}")
}

fn scenario(link: &str, flows: &str) -> Scenario {
    parse(&text(link, flows), "senders", &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

/// The link, and each group of flows.
fn measure(link: &str, flows: &str) -> (LinkResult, Vec<FlowResult>) {
    let scenario = scenario(link, flows);
    let result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
    (result.links[0].1.clone(), result.flows.into_iter().map(|(_, flows)| flows).collect())
}

/// A bulk flow over `rtt` whose TCP is this.
fn bulk(name: &str, rtt: &str, tcp: &str) -> String {
    format!("[[flows]]\nname = \"{name}\"\nrtt = \"{rtt}\"\ntcp = {tcp}\n")
}

const LBE: &str = "{ congestion_control = \"ledbat:target=5 ms,gain=10\", profile = \"rfc\" }";

#[test]
fn a_name_stands_for_a_loss_recovery_or_a_congestion_control() {
    let read = |tcp: &str| {
        let flow = &scenario("rate = \"1 Mbit/s\"\nbuffer = \"9 packets\"", &bulk("a", "9 ms", tcp)).flows[0];
        (flow.profile, flow.variant, flow.payload, flow.control.text())
    };
    let rfc = |variant, control: &str| (Profile::Rfc, variant, 1000, control.to_string());
    let linux = |control: &str| (Profile::Linux, TcpVariant::Rack, 1448, control.to_string());
    let cubic = "cubic:c=0.4,beta=0.7,fast_convergence=true,slow_start=hystart,flavour=linux";
    let rfc9438 = "cubic:c=0.4,beta=0.7,fast_convergence=true,slow_start=classic,flavour=rfc9438";
    for (tcp, expected) in [
        ("{}", linux(cubic)),
        ("{ min_rto = \"1 s\" }", linux(cubic)),
        ("\"linux\"", linux(cubic)),
        ("\"rack\"", linux(cubic)),
        ("\"reno\"", linux("reno")),
        ("\"cubic\"", linux(cubic)),
        ("\"cubic:beta=0.8\"", linux(&cubic.replace("0.7", "0.8"))),
        ("{ congestion_control = \"cubic\" }", linux(cubic)),
        ("\"ledbat:target=5 ms,gain=10\"", linux("ledbat:target=5 ms,gain=10")),
        ("\"rfc\"", rfc(TcpVariant::NewReno, "reno")),
        ("\"sack\"", rfc(TcpVariant::Sack, "reno")),
        ("{ variant = \"reno\" }", rfc(TcpVariant::Reno, "reno")),
        ("{ congestion_control = \"cubic\", variant = \"newreno\" }", rfc(TcpVariant::NewReno, rfc9438)),
        ("{ congestion_control = \"cubic\", profile = \"rfc\" }", rfc(TcpVariant::Sack, rfc9438)),
        ("\"ns2\"", (Profile::Ns2, TcpVariant::Reno, 1000, "reno".into())),
    ] {
        assert_eq!(read(tcp), expected, "{tcp}");
    }
}

/// A flow whose application offers `rate` in this way, on a link of 20 Mbit/s and 40 ms.
fn offered(rate: &str, keys: &str, tcp: &str) -> (LinkResult, FlowResult) {
    let flow = format!("[[flows]]\nkind = \"app-limited\"\nrate = \"{rate}\"\nrtt = \"40 ms\"\n{keys}\ntcp = {tcp}\n");
    let (link, flows) = measure("rate = \"20 Mbit/s\"\nbuffer = \"1 bdp\"", &flow);
    (link, flows[0].clone())
}

#[test]
fn an_application_gets_what_it_offers_if_the_network_carries_it() {
    for tcp in ["\"linux\"", "\"rfc\"", "\"sack\"", "\"bbr\"", "\"bbr3\""] {
        for keys in ["", "chunk = \"20 packets\""] {
            let (link, flow) = offered("5 Mbit/s", keys, tcp);
            assert!((flow.goodput / 5e6 - 1.0).abs() < 0.001 && link.dropped == 0, "{tcp}, {keys}: {}", flow.goodput);
        }
        let (link, flow) = offered("40 Mbit/s", "", tcp);
        assert!(link.utilisation > 0.9 && flow.goodput > 17e6, "{tcp}: {}", flow.goodput);
    }
    // On for a quarter of the time.
    let (_, flow) = offered("8 Mbit/s", "on = \"250 ms\"\noff = \"750 ms\"", "\"linux\"");
    assert!((flow.goodput / 2e6 - 1.0).abs() < 0.02, "{}", flow.goodput);
}

#[test]
fn an_application_can_offer_more_or_less_from_a_time_on() {
    let goodput = |from: &str, changes: &str| {
        let flow =
            format!("[[flows]]\nname = \"x\"\nkind = \"app-limited\"\nrate = \"{from}\"\nrtt = \"40 ms\"\n{changes}");
        measure("rate = \"20 Mbit/s\"\nbuffer = \"1 bdp\"", &flow).1[0].goodput
    };
    let change =
        |at: u32, rate: &str| format!("[[changes]]\nat = \"{at} s\"\npath = \"flows.x.rate\"\nvalue = \"{rate}\"\n");
    // Measured from 20 to 100 s: 5 Mbit/s for 20 s and 10 for 60; 5 for 20 s, then nothing for 40, then 5 for 20.
    let close =
        |found: f64, expected: f64| assert!((found / expected - 1.0).abs() < 0.005, "{found} is not {expected}");
    close(goodput("5 Mbit/s", &change(40, "10 Mbit/s")), 8.75e6);
    close(goodput("5 Mbit/s", &(change(40, "0 bit/s") + &change(80, "5 Mbit/s"))), 2.5e6);
    // What the network has not carried is taken back: 20 s at the link's rate, and nothing after.
    let full = 20e6 * 1448.0 / 1514.0;
    let found = goodput("30 Mbit/s", &change(40, "0 bit/s"));
    assert!((found / (0.25 * full) - 1.0).abs() < 0.01, "{found}");
}

#[test]
fn a_chunk_waits_for_the_segments_before_it() {
    // 20 segments of 1514 B at 20 Mbit/s come at once: 0.606 ms each, and half of 40 ms.
    let (_, flow) = offered("5 Mbit/s", "chunk = \"20 packets\"", "\"linux\"");
    let longest = 0.02 + 20.0 * 1514.0 * 8.0 / 20e6;
    assert!(flow.packet_delay_p99.unwrap() < 1.002 * longest, "{:?}, at most {longest}", flow.packet_delay_p99);
    assert!(flow.packet_delay_p50.unwrap() > 0.02 + 9.0 * 1514.0 * 8.0 / 20e6);
}

#[test]
fn a_law_sets_constants_over_the_profile_and_the_scenario_over_the_law() {
    let window = |tcp: &str| {
        let flow = &scenario("rate = \"1 Mbit/s\"\nbuffer = \"9 packets\"", &bulk("a", "9 ms", tcp)).flows[0];
        flow.tcp.initial_window.text()
    };
    assert_eq!(window("\"cubic\""), "10 packets");
    assert_eq!(window("\"ledbat\""), "2 packets");
    assert_eq!(window("{ congestion_control = \"ledbat\", initial_window = \"4 packets\" }"), "4 packets");
}

#[test]
fn who_sets_constants_of_no_profile_is_told_that_the_default_has_changed() {
    let link = "rate = \"1 Mbit/s\"\nbuffer = \"9 packets\"";
    for tcp in ["{ min_rto = \"1 s\" }", "{ congestion_control = \"cubic\", initial_window = \"2 packets\" }"] {
        let notice = scenario(link, &bulk("a", "9 ms", tcp)).profile_notice().unwrap();
        assert!(notice.contains("flows.a: constants of TCP without a profile, which is then \"linux\""), "{notice}");
    }
    let without = ["{}", "\"cubic\"", "\"reno\"", "\"rack\"", "\"linux\"", "\"rfc\"", "\"ns2\"", "\"sack\""];
    let named = ["{ profile = \"linux\", min_rto = \"1 s\" }", "{ variant = \"reno\", min_rto = \"1 s\" }"];
    for tcp in without.into_iter().chain(named) {
        assert_eq!(scenario(link, &bulk("a", "9 ms", tcp)).profile_notice(), None, "{tcp}");
    }
    let udp = "[[flows]]\nname = \"a\"\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"\nrtt = \"9 ms\"\n";
    assert_eq!(scenario(link, udp).profile_notice(), None);
}

#[test]
fn contradictions_are_refused_with_a_reason() {
    for (tcp, expected) in [
        ("\"cubik\"", "flows.a.tcp: unknown choice \"cubik\"; did you mean \"cubic\"?"),
        ("{ congestion_control = \"yeah\" }", "flows.a.tcp.congestion_control: unknown choice \"yeah\"; "),
        ("{ variant = \"cubic\" }", "flows.a.tcp.variant: unknown choice \"cubic\"; known: reno, newreno, sack"),
        (
            "{ congestion_control = \"cubic\", profile = \"ns2\" }",
            "flows.a.tcp.congestion_control: \"cubic\" is not in profile \"ns2\", which has \"reno\" only",
        ),
        ("\"cubic:beta=2\"", "flows.a.tcp.congestion_control.beta: \"2\" is out of range"),
        ("\"cubic:bta=0.5\"", "flows.a.tcp.congestion_control.bta: unknown parameter \"bta\"; did you mean \"beta\"?"),
        ("{ min_rtt = \"1 s\" }", "flows.a.tcp.min_rtt: unknown key \"min_rtt\"; did you mean \"min_rto\"?"),
        ("{ after_idle = \"restat\" }", "flows.a.tcp.after_idle: unknown choice \"restat\"; did you mean \"restart\"?"),
        (
            "{ congestion_control = \"bbr\", variant = \"sack\" }",
            "flows.a.tcp.variant: \"sack\" is not for \"bbr\", which sets the window in recovery too; expected \"rack\"",
        ),
        (
            "{ congestion_control = \"cubic\", ect_on_syn = true }",
            "flows.a.tcp.ect_on_syn: \"true\" requires a controller that receives every mark, and \"cubic\" does not; expected false",
        ),
        (
            "\"cubic\"\necn = \"ect1\"",
            "flows.a.ecn: \"ect1\" requires a scalable controller (RFC 9331), and \"cubic\" is not one; \
             expected true, false or \"ect0\", or tcp = \"dctcp\" or \"prague\"",
        ),
        (
            "{ congestion_control = \"reno:slow_start=hystart++\", variant = \"sack\" }",
            "flows.a.tcp.congestion_control: \"slow_start=hystart++\" needs a round-trip time at every ACK; expected variant = \"rack\"",
        ),
        (
            "{ profile = \"ns2\", variant = \"rack\", congestion_control = \"reno:slow_start=search\" }",
            "flows.a.tcp.congestion_control: \"reno:slow_start=search\" is not in profile \"ns2\"",
        ),
        (
            "{ bursts = \"gso\", profile = \"rfc\" }",
            "flows.a.tcp.bursts: \"gso\" requires variant \"rack\"; expected variant",
        ),
        (
            "{ halve = \"window\" }",
            "flows.a.tcp.halve: is not for variant \"rack\", which always reduces the window; leave it out, or name another variant",
        ),
        (
            "{ variant = \"rack\", profile = \"rfc\", go_back_n = true }",
            "flows.a.tcp.go_back_n: is not for variant \"rack\"",
        ),
        ("{ limited_transmit = false }", "flows.a.tcp.limited_transmit: is not for variant \"rack\""),
        ("{ careful = false }", "flows.a.tcp.careful: is not for variant \"rack\""),
        ("{ open_on_exit = true }", "flows.a.tcp.open_on_exit: is not for variant \"rack\""),
        ("{ ecn_response = \"ns2\" }", "flows.a.tcp.ecn_response: is not for variant \"rack\""),
        (
            "{ estimator = \"integer\" }",
            "flows.a.tcp.estimator: \"integer\" is not for variant \"rack\"; expected \"real\" or \"linux\"",
        ),
        ("\"sack:beta=0.5\"", "flows.a.tcp: \"sack\" is a loss recovery, which takes no parameters"),
        (
            "{ congestion_control = \"ledbat\", target = \"5 ms\" }",
            "flows.a.tcp.target: is a parameter of ledbat; write congestion_control = \"ledbat:target=5 ms\"",
        ),
        (
            "{ congestion_control = \"cubic\", beta = 0.8 }",
            "flows.a.tcp.beta: is a parameter of cubic; write congestion_control = \"cubic:beta=0.8\"",
        ),
        (
            "{ congestion_control = \"ledbat:target=0 ms\" }",
            "flows.a.tcp.congestion_control.target: \"0 ms\" is out of range",
        ),
    ] {
        let text = text("rate = \"1 Mbit/s\"\nbuffer = \"9 packets\"", &bulk("a", "9 ms", tcp));
        let found = parse(&text, "senders", &[]).expect_err("is refused").to_string();
        assert!(found.contains(expected), "{tcp}\n  gives:    {found}\n  expected: {expected}");
    }
}

#[test]
fn video_that_cannot_be_is_refused() {
    for (keys, expected) in [
        ("", "flows.v.bitrates: missing; write e.g. bitrates = ["),
        ("bitrates = []", "flows.v.bitrates: expected one bitrate or more"),
        ("bitrates = \"1 Mbit/s\"", "flows.v.bitrates: expected a list of rates, found text"),
        ("bitrates = [\"1 Mbit/s\", \"3\"]", "flows.v.bitrates: \"3\" has no unit"),
        ("bitrates = [\"1 bit/s\"]", "flows.v.bitrates: \"1 bit/s\" is out of range"),
        ("bitrates = [\"2 Mbit/s\", \"1 Mbit/s\"]", "flows.v.bitrates: \"1 Mbit/s\" is not above \"2 Mbit/s\""),
        ("bitrates = [\"1 Mbit/s\"]\nsegment = \"0 s\"", "flows.v.segment: \"0 s\" is out of range"),
        (
            "bitrates = [\"1 Mbit/s\"]\nplayback_buffer = \"3 s\"",
            "flows.v.playback_buffer: \"3 s\" holds no segment, which takes \"4 s\"",
        ),
        ("bitrates = [\"1 Mbit/s\"]\nsize = 3", "flows.v.size: unknown key \"size\""),
    ] {
        let video = format!("[[flows]]\nname = \"v\"\nkind = \"video\"\nrtt = \"9 ms\"\n{keys}");
        let text = text("rate = \"1 Mbit/s\"\nbuffer = \"9 packets\"", &video);
        let found = parse(&text, "senders", &[]).expect_err("is refused").to_string();
        assert!(found.contains(expected), "{keys}\n  gives:    {found}\n  expected: {expected}");
    }
}

const FAST: &str = "rate = \"100 Mbit/s\"\nbuffer = \"1 bdp\"";
const SLOW: &str = "rate = \"10 Mbit/s\"\nbuffer = \"200 packets\"";

#[test]
fn one_cubic_flow_fills_a_fast_long_link() {
    // A window is reduced to 0.7; a buffer of 0.43 BDP is what it takes for the link to stay busy.
    let (link, flows) = measure(FAST, &bulk("cubic", "100 ms", "\"cubic\""));
    assert!(link.utilisation > 0.99 && link.dropped > 0, "{} {}", link.utilisation, link.dropped);
    assert_eq!(flows[0].timeouts, 0);
    // With a tenth of a BDP the window falls to 0.77 of what fills the path, and soon is back near it.
    let (link, _) = measure(&FAST.replace("1 bdp", "0.1 bdp"), &bulk("cubic", "100 ms", "\"cubic\""));
    assert!((0.9..0.99).contains(&link.utilisation), "{}", link.utilisation);
}

#[test]
fn marks_reduce_a_cubic_window_without_losses() {
    let (link, flows) =
        measure(&format!("{FAST}\naqm = \"codel\""), &format!("{}ecn = true\n", bulk("a", "50 ms", "\"cubic\"")));
    assert_eq!((link.dropped, flows[0].retransmits, flows[0].timeouts), (0, 0, 0));
    assert!(flows[0].ecn_reductions > 5 && link.utilisation > 0.9, "{} {}", flows[0].ecn_reductions, link.utilisation);
}

#[test]
fn cubic_takes_more_than_reno_where_the_path_is_long_and_fast() {
    let flows = format!("{}{}", bulk("cubic", "100 ms", "\"cubic\""), bulk("reno", "100 ms", "\"sack\""));
    let (_, shares) = measure(FAST, &flows);
    assert!(shares[0].goodput > 2.0 * shares[1].goodput, "{} {}", shares[0].goodput, shares[1].goodput);
}

#[test]
fn ledbat_alone_keeps_the_queueing_delay_at_its_target() {
    let linux = "{ profile = \"linux\", congestion_control = \"ledbat:target=20 ms\" }";
    for (tcp, seconds) in
        [(LBE, 0.005), ("{ congestion_control = \"ledbat:target=50 ms\", profile = \"rfc\" }", 0.05), (linux, 0.02)]
    {
        let (link, flows) = measure(SLOW, &bulk("lbe", "40 ms", tcp));
        let delay = link.queue_delay_mean.unwrap();
        assert!((delay / seconds - 1.0).abs() < 0.15, "{delay} s, target {seconds} s");
        assert!(link.utilisation > 0.99 && link.dropped == 0, "{}", link.utilisation);
        assert_eq!(flows[0].retransmits, 0);
    }
}

#[test]
fn ledbat_yields_to_reno_and_takes_what_it_leaves() {
    let flows = format!("{}{}stop = \"60 s\"\n", bulk("lbe", "40 ms", LBE), bulk("reno", "40 ms", "\"sack\""));
    let (link, shares) = measure(SLOW, &flows);
    // 80 s are measured, half of them with Reno: LEDBAT has about half of the whole.
    let share = shares[0].goodput / (shares[0].goodput + shares[1].goodput);
    assert!((0.42..0.53).contains(&share), "{share}");
    assert!(link.utilisation > 0.98, "{}", link.utilisation);
    let (_, shares) = measure(SLOW, &flows.replace("stop = \"60 s\"\n", ""));
    assert!(shares[0].goodput < 0.05 * shares[1].goodput, "{} {}", shares[0].goodput, shares[1].goodput);
}

#[test]
fn ledbat_plus_plus_yields_to_cubic_and_shares_with_who_comes_later() {
    let law = "\"ledbat-plus-plus\"";
    // 160 ms of buffer are more than the target of 60 ms: beside CUBIC it has next to nothing, alone all.
    let (_, shares) = measure(SLOW, &format!("{}{}", bulk("lbe", "40 ms", law), bulk("cubic", "40 ms", "\"cubic\"")));
    assert!(shares[0].goodput < 0.05 * shares[1].goodput, "{} {}", shares[0].goodput, shares[1].goodput);
    let (link, _) = measure(SLOW, &bulk("lbe", "40 ms", law));
    assert!(link.utilisation > 0.9 && link.dropped == 0, "{} {}", link.utilisation, link.dropped);
    // LEDBAT's latecomer takes the queue for the path and gets nearly all; here both see the base delay.
    let pair = |tcp: &str| {
        let late = format!("{}start = \"10 s\"\n", bulk("late", "40 ms", tcp));
        let (_, shares) = measure(SLOW, &format!("{}{late}", bulk("first", "40 ms", tcp)));
        shares[1].goodput / shares[0].goodput
    };
    let (old, new) = (pair("\"ledbat:target=60 ms\""), pair(law));
    assert!(old > 3.0 && (0.4..2.5).contains(&new), "{old} {new}");
}

#[test]
fn a_receiver_keeps_cubic_and_reno_in_the_background() {
    for law in ["\"rledbat\"", "\"rledbat:sender=reno\""] {
        let late = format!("{}start = \"10 s\"\n", bulk("late", "40 ms", "\"cubic\""));
        let (_, shares) = measure(SLOW, &format!("{}{late}", bulk("lbe", "40 ms", law)));
        assert!(shares[0].goodput < 0.05 * shares[1].goodput, "{} {}", shares[0].goodput, shares[1].goodput);
        let (link, shares) = measure(SLOW, &bulk("lbe", "40 ms", law));
        assert!(link.utilisation > 0.9 && link.dropped == 0, "{} {}", link.utilisation, link.dropped);
        assert_eq!(shares[0].retransmits, 0);
    }
}

/// What the first flow has had, MB, of what crosses this link from the start on.
fn delivered(link: &str, flows: &str, seconds: f64) -> f64 {
    let text = text(link, flows).replace("\"100 s\"\nwarmup = \"20 s\"", &format!("\"{seconds} s\""));
    let result = run(parse(&text, "senders", &[]).unwrap(), Options { seed: 1, ..Options::default() }).unwrap().result;
    result.flows[0].1.goodput * seconds / 8e6
}

#[test]
fn c4_ends_downloads_in_the_times_of_its_draft() {
    // draft-huitema-ccwg-c4-test: 2.2.1, 2.2.2, 2.2.5; 2.4.4 with another of its kind, 2.5.2 beside CUBIC.
    let (rate, drops) =
        ("rate = \"20 Mbit/s\"", "[[\"0 s\", \"10 Mbit/s\"], [\"1.5 s\", \"5 Mbit/s\"], [\"3.5 s\", \"10 Mbit/s\"]]");
    let link = |rate: &str, buffer: &str| format!("{rate}\nbuffer = \"{buffer}\"");
    let long = |other: &str| format!("{}{}", bulk("a", "80 ms", "\"c4\""), bulk("b", "80 ms", other));
    for (link, flows, seconds, size) in [
        (link(rate, "1 bdp"), bulk("a", "80 ms", "\"c4\""), 5.0, 10.0),
        (link("rate = \"200 Mbit/s\"", "1 bdp"), bulk("a", "40 ms", "\"c4\""), 1.25, 20.0),
        (link(&format!("rate = {drops}"), "84 packets"), bulk("a", "100 ms", "\"c4\""), 8.0, 7.0),
        (link(rate, "1 bdp"), long("\"c4\""), 22.4, 20.0),
        (link(rate, "1 bdp"), long("\"cubic\""), 22.2, 20.0),
    ] {
        let had = delivered(&link, &flows, seconds);
        assert!(had >= size, "{flows} on {link}: {had} of {size} MB in {seconds} s");
    }
}

#[test]
fn c4_alone_leaves_no_queue() {
    let (link, _) = measure(SLOW, &bulk("a", "40 ms", "\"c4\""));
    assert!(link.utilisation > 0.93 && link.queue_mean < 2.0, "{} {}", link.utilisation, link.queue_mean);
}

#[test]
fn copa_keeps_a_few_packets_for_each_flow_and_shares() {
    let flow = |name: &str| bulk(name, "40 ms", "\"copa\"");
    let link = "rate = \"20 Mbit/s\"\nbuffer = \"4 bdp\"";
    let (result, shares) = measure(link, &["a", "b", "c", "d"].map(flow).concat());
    // 1/delta = 2 for each are 8; 2.5 of them at most.
    assert!(result.utilisation > 0.98 && (6.0..12.0).contains(&result.queue_mean), "{}", result.queue_mean);
    assert!(result.dropped == 0 && result.queue_p95 < 20, "{} {}", result.dropped, result.queue_p95);
    for share in &shares {
        assert!((share.goodput / 4.78e6 - 1.0).abs() < 0.05, "{}", share.goodput);
    }
    // Behind a queue that CUBIC fills it has next to nothing, unless it competes.
    let beside = |law: &str| {
        let (_, shares) = measure(
            &link.replace('4', "1"),
            &format!("{}{}", bulk("a", "40 ms", law), bulk("b", "40 ms", "\"cubic\"")),
        );
        shares[0].goodput / (shares[0].goodput + shares[1].goodput)
    };
    let (yields, competes) = (beside("\"copa\""), beside("\"copa:competitive=true\""));
    assert!(yields < 0.15 && (0.3..0.6).contains(&competes), "{yields} {competes}");
}

#[test]
fn search_leaves_slow_start_before_a_deep_buffer_overflows() {
    // By the fluid of a window that doubles, a quarter is missing once 4.3 bdp are in the queue: five have room for that.
    let start = |slow_start: &str| {
        let flow = bulk("a", "100 ms", &format!("\"reno:slow_start={slow_start}\""));
        let text = text(&FAST.replace("1 bdp", "5 bdp"), &flow);
        let text = text.replace("100 s\"\nwarmup = \"20", "10 s\"\nwarmup = \"0");
        let result =
            run(parse(&text, "senders", &[]).unwrap(), Options { seed: 1, ..Options::default() }).unwrap().result;
        (result.links[0].1.dropped, result.flows[0].1.goodput / 1e6)
    };
    let [(lost, _), (none, goodput)] = ["classic", "search"].map(start);
    assert!(lost > 1000 && none == 0, "{lost} {none}");
    assert!(goodput > 85.0, "{goodput}");
}

/// One player on a link with room for all that comes, and what it saw in 80 s.
fn watch(rate: &str, keys: &str) -> VideoResult {
    let link = format!("rate = \"{rate}\"\nbuffer = \"2000 packets\"");
    let video =
        "[[flows]]\nkind = \"video\"\nrtt = \"20 ms\"\nbitrates = [\"400 kbit/s\", \"1 Mbit/s\", \"3 Mbit/s\"]\n";
    measure(&link, &format!("{video}{keys}")).1.remove(0).video.expect("it is video")
}

#[test]
fn a_player_takes_the_bitrate_that_the_link_carries() {
    // Of 10 Mbit/s 8 are safe, of 3 Mbit/s 2.3 after headers, of 1 Mbit/s 0.8.
    for (rate, bitrate) in [("10 Mbit/s", 3e6), ("3 Mbit/s", 1e6), ("1 Mbit/s", 4e5)] {
        let seen = watch(rate, "tcp = \"cubic\"\n");
        assert_eq!((seen.bitrate_mean, seen.switches, seen.stalls), (Some(bitrate), 0, 0), "{rate}");
        // The buffer is full, and a segment follows each 4 s.
        assert!((19..=21).contains(&seen.segments), "{rate}: {}", seen.segments);
    }
}

#[test]
fn a_link_below_the_least_bitrate_stalls() {
    // 4 s of 400 kbit/s are 200 packets of 1040 B: 5.547 s at 300 kbit/s, and a round trip of 20 ms and the first
    // packet's ACK and transmission before the next begins.
    let seen = watch("300 kbit/s", "tcp = \"rfc\"\n");
    let cycle = 5.547 + 0.02 + 0.001;
    assert!((seen.stall_time / 80.0 / (1.0 - 4.0 / cycle) - 1.0).abs() < 0.05, "{}", seen.stall_time);
    assert!((13..=14).contains(&seen.segments) && seen.stalls >= 13, "{seen:?}");
}

#[test]
fn a_player_that_has_stopped_sees_nothing_more() {
    let seen = watch("300 kbit/s", "stop = \"30 s\"\n");
    assert!(seen.stall_time < 10.0 && seen.segments <= 3, "{seen:?}");
}

#[test]
fn the_segments_of_a_player_share_one_connection() {
    let link = "rate = \"10 Mbit/s\"\nbuffer = \"2000 packets\"";
    let video =
        "[[flows]]\nkind = \"video\"\nrtt = \"100 ms\"\nbitrates = [\"1 Mbit/s\"]\nstart = \"21 s\"\ntcp = \"rfc\"\n";
    let (_, flows) = measure(link, video);
    // The first segment alone has a handshake, a round trip of 100 ms; after a pause all begin with the initial window.
    assert_eq!(flows[0].transfers, flows[0].video.as_ref().unwrap().segments);
    let spread = flows[0].fct_p99.unwrap() - flows[0].fct_p50.unwrap();
    assert!((0.09..0.11).contains(&spread), "{spread}");
}

/// 300 s of a link that a flood of datagrams leaves no room on for any SYN.
fn flooded(warmup: &str, flows: &str) -> FlowResult {
    let link = "rate = \"8 kbit/s\"\nbuffer = \"2 packets\"";
    let flood = "[[flows]]\nname = \"flood\"\nkind = \"udp-cbr\"\nrate = \"20 Mbit/s\"\nrtt = \"1 ms\"\n";
    let text = text(link, &format!("{flood}{flows}"));
    let spans = [("duration".into(), "300 s".into()), ("warmup".into(), warmup.into())];
    let scenario = parse(&text, "flooded", &spans).unwrap();
    let result = run(scenario, Options { seed: 1, ..Options::default() }).unwrap().result;
    assert_eq!((result.flows[0].1.failed, result.total.failed), (0, result.flows[1].1.failed), "datagrams have no SYN");
    result.flows[1].1.clone()
}

#[test]
fn a_syn_is_given_up_after_its_retries_and_never_in_profile_ns2() {
    for (tcp, resent, failed) in [
        ("\"sack\"", 6, 1),            // at 1, 3, 7, 15, 31 and 63 s; given up 60 s after that
        ("{ syn_retries = 2 }", 6, 1), // and four times more with Linux
        // 3, 9, 21, 45 and 93 s, then every 60 s: 153, 213 and 273 s.
        ("{ profile = \"ns2\" }", 8, 0),
    ] {
        let result = flooded("0 s", &bulk("a", "9 ms", tcp));
        assert_eq!((result.retransmits, result.failed), (resent, failed), "{tcp}");
    }
}

#[test]
fn a_transfer_whose_connection_fails_is_not_completed_and_its_client_goes_on() {
    let session = "[[flows]]\nname = \"web\"\nkind = \"http\"\nrtt = \"9 ms\"\nobjects = 1\nthink_time = \"1 s\"\n\
                   size = \"5 packets\"\ntcp = { syn_retries = 2, linear_syn_timeouts = 0 }\n";
    let result = flooded("0 s", session);
    // Sent again after 1 and 3 s, given up after 7, and a second later the next. In slots of Linux's wheel 1 and 2 s are up to
    // 36 ms late and 4 s up to 260 ms, 0.17 s in the mean: 36 times 8.17 s in 296 s, and two of the last.
    assert_eq!((result.transfers, result.failed, result.retransmits), (0, 36, 74));
    // At 207, 215, ... and 295 s.
    assert_eq!(flooded("200 s", session).failed, 12);
    // A player asks again at once: 41 times 7.17 s.
    let video = "[[flows]]\nkind = \"video\"\nrtt = \"9 ms\"\nbitrates = [\"1 Mbit/s\"]\ntcp = { syn_retries = 2, linear_syn_timeouts = 0 }\n";
    let result = flooded("0 s", video);
    assert_eq!((result.transfers, result.failed), (0, 41));
}

#[test]
fn a_connection_that_was_given_up_in_the_warm_up_is_not_counted() {
    let late = bulk("a", "9 ms", "{ syn_retries = 2, linear_syn_timeouts = 0 }"); // given up at 7 s
    assert_eq!([flooded("6 s", &late).failed, flooded("8 s", &late).failed], [1, 0]);
}

/// A bulk flow of full segments with these keys, `count` of them.
fn full(name: &str, rtt: &str, count: u32, keys: &str) -> String {
    format!(
        "[[flows]]\nname = \"{name}\"\nrtt = \"{rtt}\"\ncount = {count}\npacket = \"1448 B\"\n\
         start = {{ uniform = [\"0 s\", \"1 s\"] }}\n{keys}\n"
    )
}

/// Keys of a flow with this law, as Linux has TCP.
fn linux(law: &str) -> String {
    format!("tcp = {{ profile = \"linux\", congestion_control = \"{law}\" }}")
}

#[test]
fn the_law_says_what_codepoint_its_packets_carry() {
    let link = "rate = \"1 Mbit/s\"\nbuffer = \"9 packets\"";
    let read = |keys: &str| {
        let flow = format!("[[flows]]\nname = \"a\"\nrtt = \"9 ms\"\n{keys}");
        parse(&text(link, &flow), "senders", &[]).map(|scenario| scenario.flows[0].ecn).map_err(|why| why.to_string())
    };
    for (keys, expected) in [
        ("tcp = \"dctcp\"", Ecn::NotEct),
        ("ecn = true\ntcp = \"dctcp\"", Ecn::Ect0),
        ("ecn = \"ect1\"\ntcp = \"dctcp\"", Ecn::Ect1),
        ("tcp = \"prague\"", Ecn::Ect1),
        ("ecn = true\ntcp = \"prague\"", Ecn::Ect1),
        ("ecn = \"ect0\"\ntcp = \"prague\"", Ecn::Ect0),
        ("ecn = false\ntcp = \"prague\"", Ecn::NotEct),
        ("ecn = true\ntcp = \"cubic\"", Ecn::Ect0),
        ("ecn = \"ect1\"\nkind = \"udp-cbr\"\nrate = \"1 kbit/s\"", Ecn::Ect1),
    ] {
        assert_eq!(read(keys), Ok(expected), "{keys}");
    }
    let why = read("ecn = \"ect1\"\ntcp = \"cubic\"").unwrap_err();
    let expected = "flows.a.ecn: \"ect1\" requires a scalable controller (RFC 9331), and \"cubic\" is not one; \
                    expected true, false or \"ect0\", or tcp = \"dctcp\" or \"prague\"";
    assert!(why.contains(expected), "{why}");
}

const DCTCP: &str = "tcp = { congestion_control = \"dctcp\", profile = \"rfc\" }";

#[test]
fn dctcp_fills_a_link_that_marks_from_20_packets_on() {
    let link = "rate = \"20 Mbit/s\"\nbuffer = \"400 packets\"\naqm = \"dctcp-step:k=20 packets\"";
    for keys in [DCTCP, &linux("dctcp")] {
        let (link, flows) = measure(link, &full("dctcp", "40 ms", 4, &format!("ecn = true\n{keys}")));
        // Linux 6.1 in the same place: utilisation 0.996, mean queue 16.5.
        assert!(link.utilisation > 0.99, "{keys}: {}", link.utilisation);
        assert!((13.0..20.0).contains(&link.queue_mean), "{keys}: {}", link.queue_mean);
        assert_eq!((link.dropped, flows[0].retransmits), (0, 0), "{keys}");
        assert!(flows[0].jain.unwrap() > 0.95, "{keys}: {:?}", flows[0].jain);
    }
}

#[test]
fn dctcp_moves_the_queue_over_a_step_as_its_paper_says() {
    // Flows in step move it down from k + n by sqrt(2 n (C RTT + k)) / 2 (Alizadeh et al. 2010, section 3.3), as a sawtooth.
    // C RTT is 84 segments of 1488 B.
    let link = "rate = \"100 Mbit/s\"\nbuffer = \"400 packets\"\naqm = \"dctcp-step:k=20 packets\"";
    for count in [1, 2, 4] {
        let (link, _) = measure(link, &full("dctcp", "10 ms", count, &format!("ecn = true\n{DCTCP}")));
        let n = f64::from(count);
        let amplitude = f64::sqrt(2.0 * n * (84.0 + 20.0)) / 2.0;
        let (mean, deviation) = (20.0 + n - amplitude / 2.0, amplitude / f64::sqrt(12.0));
        assert!((link.queue_mean / mean - 1.0).abs() < 0.05, "{count}: {}, not {mean}", link.queue_mean);
        assert!((link.queue_std / deviation - 1.0).abs() < 0.1, "{count}: {}, not {deviation}", link.queue_std);
    }
}

#[test]
fn prague_waits_a_millisecond_beside_cubic_and_shares_with_it() {
    // L4S packets are marked from 0.8 ms on; one takes 0.24 ms on the slower link. With p' the controller's output, Prague
    // sends (1 + sqrt(3)) / (2 p') segments in a virtual round trip of 25 ms or more (its page), CUBIC as Reno
    // sqrt(1.5) / p' in one that is 15 ms longer. CUBIC has less where p' wanders: its signals go as the mean of the square.
    for (rate, delay) in [(50, 2e-3), (200, 1e-3)] {
        for rtt in [10, 20, 40] {
            let of = |name, keys: &str| full(name, &format!("{rtt} ms"), 2, keys);
            let flows = of("prague", &linux("prague")) + &of("cubic", &format!("ecn = true\n{}", linux("cubic")));
            let link = format!("rate = \"{rate} Mbit/s\"\nbuffer = \"2000 packets\"\naqm = \"dualpi2\"");
            let (link, flows) = measure(&link, &flows);
            let waited = flows[0].packet_delay_p99.unwrap() - f64::from(rtt) / 2000.0;
            assert!(waited < delay, "{rate} Mbit/s, {rtt} ms: {waited}");
            assert!(link.utilisation > 0.99, "{rate} Mbit/s, {rtt} ms: {}", link.utilisation);
            let ratio = flows[0].goodput / flows[1].goodput;
            let expected = 2.732 / 2.0 / f64::from(rtt.max(25)) / (f64::sqrt(1.5) / f64::from(rtt + 15));
            assert!((0.8..1.35).contains(&(ratio / expected)), "{rate} Mbit/s, {rtt} ms: {ratio}, not {expected}");
            assert!(flows[0].ecn_reductions > 0 && flows[0].retransmits == 0, "{:?}", flows[0]);
        }
    }
}

#[test]
fn prague_needs_no_whole_segment_in_flight() {
    // 2 Mbit/s over 10 ms hold 1.7 packets: a sixtieth for each of a hundred flows.
    let crowd = |law: &str| {
        let link = "rate = \"2 Mbit/s\"\nbuffer = \"500 packets\"\naqm = \"dualpi2\"";
        // The windows of a hundred handshakes take seconds, and who had sent two SYNs would be left without ECN.
        let keys = linux(law).replace(" }", ", ecn_fallback = false }");
        measure(link, &full("prague", "10 ms", 100, &keys))
    };
    let (link, flows) = crowd("prague");
    assert!(link.drop_ratio < 0.006 && flows[0].timeouts < 50, "{link:?}"); // measured 0.0050
    assert!(link.queue_mean < 4.0 && link.utilisation > 0.85, "{link:?}"); // measured 0.88 to 0.92
    let (link, flows) = crowd("prague:min_window=2 packets");
    assert!(link.drop_ratio > 0.4 && flows[0].timeouts > 1000, "{link:?}");
}

#[test]
fn vegas_keeps_two_to_four_packets_in_the_queue() {
    for keys in ["tcp = \"vegas\"", &linux("vegas")] {
        let link = "rate = \"20 Mbit/s\"\nbuffer = \"400 packets\"\naqm = \"droptail\"";
        let (link, _) = measure(link, &full("vegas", "40 ms", 1, keys));
        assert!((2.0..4.0).contains(&link.queue_mean), "{keys}: {}", link.queue_mean);
        assert!(link.utilisation > 0.999 && link.dropped == 0, "{keys}: {}", link.utilisation);
    }
}

#[test]
fn westwood_keeps_what_a_short_buffer_leaves_and_abe_what_a_short_queue_does() {
    let utilisation = |aqm: &str, buffer: u32, keys: &str| {
        let link = format!("rate = \"20 Mbit/s\"\nbuffer = \"{buffer} packets\"\naqm = \"{aqm}\"");
        measure(&link, &full("a", "40 ms", 1, keys)).0.utilisation
    };
    // 66 packets are under way: with 16 more, half of 82 leaves 41 of them, and the mean of 41 and 82 cut at 66 is 58.
    let (reno, westwood) = (
        utilisation("droptail", 16, "tcp = \"sack\""),
        utilisation("droptail", 16, "tcp = \"westwood:flavour=paper\""),
    );
    assert!(reno < 0.9 && westwood > 0.99, "{reno} and {westwood}");
    let abe = |law: &str| utilisation("codel", 400, &format!("ecn = true\ntcp = \"{law}\""));
    let (reno, abe) = (abe("sack"), abe("abe"));
    assert!(reno < 0.88 && abe > 0.97, "{reno} and {abe}");
}
