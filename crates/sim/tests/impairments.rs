//! Links that lose, delay, reorder and mangle: what flows and queues see of it.

use aqmlab_core::{Span, Time};
use aqmlab_scenario::SchemeAssignment;
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, RunResult, Simulation, run, run_divided};
use std::sync::Arc;

/// A run of a scenario of which this is the end: links and flows.
fn measure(duration: &str, text: &str) -> RunResult {
    under("droptail", duration, text)
}

fn under(aqm: &str, duration: &str, text: &str) -> RunResult {
    let text = format!("schema = 1\nduration = \"{duration}\"\n{text}");
    let scenario = parse(&text, "impairments", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let aqm = Some(SchemeAssignment::parse(aqm).unwrap());
    let mut result = run(scenario, Options { aqm, seed: 1, ..Options::default() }).unwrap().result;
    (result.engine.events, result.engine.wall) = (0, 0.0);
    result
}

fn link(name: &str, rate: &str, keys: &str) -> String {
    format!("[[links]]\nname = \"{name}\"\nrate = \"{rate}\"\ndelay = \"5 ms\"\nbuffer = \"100 packets\"\n{keys}\n")
}

/// 1000 datagrams of 1028 B a second for 20 s.
const CBR: &str =
    "[[flows]]\nkind = \"udp-cbr\"\nrate = \"8.224 Mbit/s\"\nrtt = \"40 ms\"\nstop = \"20 s\"\necn = true\n";

#[test]
fn what_the_queue_sends_arrives_or_is_lost() {
    for keys in
        ["loss = \"2%\"", "loss = { p = \"1%\", r = \"20%\" }\njitter = { exponential = \"5 ms\" }\nreorder = \"3%\""]
    {
        let result = measure("21 s", &(link("a", "10 Mbit/s", keys) + CBR));
        let link = &result.links[0].1;
        assert!(link.arrived == link.departed && link.drop_ratio == 0.0, "the queue has dropped nothing");
        assert!(link.lost > 200 && link.departed == link.lost + result.total.received, "{link:?}");
    }
    let result = measure("21 s", &(link("a", "10 Mbit/s", "loss = \"2%\"") + CBR));
    // 20000 datagrams: four standard deviations are 4 sqrt(20000 * 0.02 * 0.98) = 79.
    assert!((result.links[0].1.lost as f64 - 400.0).abs() < 79.0, "{}", result.links[0].1.lost);
}

#[test]
fn impairments_that_do_nothing_change_nothing() {
    let flows = "[[flows]]\ncount = 5\nrtt = \"40 ms\"\necn = true\ntcp = \"sack\"\n";
    let plain = under("red", "10 s", &(link("a", "5 Mbit/s", "") + flows)).json();
    for keys in ["loss = \"0%\"", "loss = { p = 0, r = 0 }\njitter = \"0 s\""] {
        assert_eq!(plain, under("red", "10 s", &(link("a", "5 Mbit/s", keys) + flows)).json(), "{keys}");
    }
}

/// A link in front of the bottleneck that loses in bursts.
#[test]
fn schemes_meet_the_same_losses() {
    let text = link("radio", "20 Mbit/s", "loss = { p = \"1%\", r = \"30%\" }\njitter = { exponential = \"1 ms\" }")
        + &link("bottleneck", "6 Mbit/s", "")
        + CBR;
    let [droptail, pie] = ["droptail", "pie"].map(|aqm| under(aqm, "20 s", &text));
    let (radio, bottleneck) = (&droptail.links[0].1, &droptail.links[1].1);
    assert_eq!((radio.lost, bottleneck.arrived), (pie.links[0].1.lost, pie.links[1].1.arrived));
    assert!(radio.lost > 400 && bottleneck.lost == 0);
    assert_ne!(bottleneck.queue_mean, pie.links[1].1.queue_mean);
}

#[test]
fn only_reordering_makes_tcp_send_again_without_a_loss() {
    let flow = "[[flows]]\nrtt = \"40 ms\"\ntcp = { variant = \"sack\", window = \"20 packets\" }\n";
    let of = |keys: &str| measure("20 s", &(link("a", "10 Mbit/s", keys) + flow)).total;
    let (jitter, reorder) = ("jitter = { uniform = [\"0 ms\", \"10 ms\"] }", "\nreorder = \"100%\"");
    let (plain, kept, passed) = (of(""), of(jitter), of(&format!("{jitter}{reorder}")));
    assert_eq!([plain.retransmits, kept.retransmits], [0, 0]);
    assert!(passed.retransmits > 20 && passed.goodput < kept.goodput, "{} retransmissions", passed.retransmits);
    // Uniform jitter adds 5 ms or more to the mean: a packet also waits for those before it.
    let added = kept.packet_delay_mean.unwrap() - plain.packet_delay_mean.unwrap();
    assert!((0.005..0.010).contains(&added), "{added}");
}

#[test]
fn acks_that_cross_a_link_are_lost_there_too() {
    let text = link("down", "10 Mbit/s", "")
        + &link("up", "10 Mbit/s", "loss = \"20%\"\njitter = { exponential = \"2 ms\" }\nreorder = \"5%\"")
        + "[[flows]]\nkind = \"short\"\ncount = 5\npath = [\"down\"]\nack_path = [\"up\"]\nrtt = \"40 ms\"\n\
           arrivals = \"10 Hz\"\nsize = { uniform = [\"1 packets\", \"30 packets\"] }\n";
    let result = measure("40 s", &text);
    let (down, up) = (&result.links[0].1, &result.links[1].1);
    assert_eq!(down.lost, 0);
    let (lost, deviation) = (up.lost as f64 / up.departed as f64, (0.16 / up.departed as f64).sqrt());
    assert!((lost - 0.2).abs() < 4.0 * deviation, "{up:?}");
    // 400 transfers are asked for, 20 the standard deviation; those of the last seconds may be under way.
    assert!(result.total.transfers > 300 && result.total.failed == 0, "{}", result.total.transfers);
}

/// A run of datagrams that come at twice the rate of the tokens, of which there are 1000 datagrams' at first.
fn policed(duration: &str, keys: &str, action: &str, ecn: bool) -> RunResult {
    let policer = format!("policer = {{ rate = \"4.112 Mbit/s\", burst = \"1028 kB\", action = \"{action}\" }}");
    let flow = CBR.replace("ecn = true", &format!("ecn = {ecn}"));
    measure(duration, &format!("{keys}\n{}{flow}", link("a", "10 Mbit/s", &policer)))
}

#[test]
fn a_policer_lets_its_burst_pass_and_then_its_rate() {
    // B/(2r - r) = 1028 kB / (514 kB/s) = 2 s.
    let first = &policed("1.99 s", "", "drop", true).links[0].1;
    assert!(first.departed > 1980 && first.lost == 0 && first.policed == 0, "{first:?}");
    let result = policed("20 s", "warmup = \"2.1 s\"", "drop", true);
    let link = &result.links[0].1;
    assert!(link.departed == 17900 && link.lost == link.policed && link.drops == first.drops, "{link:?}");
    assert!((link.lost as f64 / link.departed as f64 - 0.5).abs() < 0.001, "{} lost", link.lost);
}

#[test]
fn a_policer_may_mark_what_can_be_marked() {
    let result = policed("21 s", "", "ce", true);
    let (link, total) = (&result.links[0].1, &result.total);
    // 20000 datagrams, for 11000 of which there are tokens: 10000 come in 20 s.
    assert!((link.policed as f64 - 9000.0).abs() <= 1.0 && (link.lost, total.received) == (0, 20000), "{link:?}");
    assert!(total.marked == link.policed && link.marked == 0, "{total:?}");
    let plain = &policed("21 s", "", "ce", false).links[0].1;
    assert_eq!((plain.policed, plain.lost), (link.policed, link.policed), "what cannot be marked is dropped");
}

/// The first link marks, the second mangles, the third would mark what can be marked.
#[test]
fn a_node_that_mangles_ecn_hides_marks_or_makes_them() {
    let flows = "[[flows]]\ncount = 10\nrtt = \"40 ms\"\necn = true\n";
    let of = |keys: &str| {
        let text =
            link("first", "20 Mbit/s", "") + &link("second", "50 Mbit/s", keys) + &link("third", "19.6 Mbit/s", "");
        let result = under("red", "20 s", &(text + flows));
        (result.links[0].1.marked, result.links[2].1.marked, result.total)
    };
    let (first, third, total) = of("ecn_mangling = \"bleach\"");
    assert!(first > 0 && third == 0 && total.marked == 0 && total.ecn_reductions == 0, "{total:?}");
    // What has a mark can be marked again; nothing else can.
    let (first, third, total) = of("ecn_mangling = \"ce-only\"");
    assert!(third <= first && total.marked > 0 && total.marked <= first, "{total:?}");
    let (_, _, total) = of("ecn_mangling = \"continuous-ce\"");
    // SYNs, the ACKs of what answers them and retransmissions are not ECN-capable; windows shrink each round trip, so that little else
    // is lost.
    assert!(total.received - total.marked <= 20 + total.retransmits, "{total:?}");
    let (_, _, plain) = of("");
    assert!(total.goodput < plain.goodput / 2.0, "{} and {}", total.goodput, plain.goodput);
}

/// 1000 datagrams a second; 0.8224 ms to send each at 10 Mbit/s.
#[test]
fn an_aggregating_link_releases_what_waits_together() {
    let total = |keys: &str| measure("21 s", &(link("a", "10 Mbit/s", keys) + CBR)).total;
    let mean = |keys: &str| total(keys).packet_delay_mean.unwrap();
    let plain = mean("");
    // Sent each 1 ms at one phase of 10 ms: one wait in 0 to 1 ms, the next 1 ms longer, ...: 4.5 ms and that phase.
    let every = mean("aggregation = { every = \"10 ms\" }") - plain;
    assert!((0.0045..0.0055).contains(&every), "{every}");
    // The first of ten waits for 9 ms, the last not at all; 20000 are two thousand times ten.
    let gathered = total("aggregation = { packets = 10, hold = \"20 ms\" }");
    assert!((gathered.packet_delay_mean.unwrap() - plain - 0.0045).abs() < 1e-9 && gathered.received == 20000);
    // Held for 3.5 ms, four go at once: they have waited for 3.5, 2.5, 1.5 and 0.5 ms.
    let held = mean("aggregation = { packets = 10, hold = \"3.5 ms\" }") - plain;
    assert!((held - 0.002).abs() < 1e-9, "{held}");
}

#[test]
fn an_aggregating_link_is_the_same_in_every_way_of_running() {
    for aggregation in ["{ every = \"5 ms\" }", "{ packets = 6, hold = \"3 ms\" }"] {
        let text = format!(
            "schema = 1\nduration = \"4 s\"\n{}{}[[flows]]\ncount = 6\npath = [\"down\"]\nack_path = [\"up\"]\n\
             rtt = {{ uniform = [\"20 ms\", \"40 ms\"] }}\ntcp = \"linux\"\n",
            link("down", "20 Mbit/s", &format!("aggregation = {aggregation}")),
            link("up", "20 Mbit/s", &format!("aggregation = {aggregation}")),
        );
        let scenario = Arc::new(parse(&text, "aggregation", &[]).unwrap());
        let options = |threads| Options { seed: 1, threads, ..Options::default() };
        let json = |mut output: aqmlab_sim::Output| {
            output.result.engine.wall = 0.0;
            output.result.json()
        };
        let at_once = json(run(scenario.clone(), options(1)).unwrap());
        assert_eq!(json(run_divided(scenario.clone(), options(2)).unwrap().unwrap()), at_once, "{aggregation}");
        let mut stepped = Simulation::new(scenario, options(1)).unwrap();
        (1..400).for_each(|step| stepped.step_until(Time::ZERO + Span::from_millis(10 * step)).unwrap());
        assert_eq!(json(stepped.finish().unwrap()), at_once, "{aggregation}");
    }
}

/// Mathis et al. 1997: sqrt(3/2) / sqrt(p) packets a round trip, an ACK for each segment; without timeouts.
#[test]
fn random_loss_leaves_tcp_what_the_square_root_law_says() {
    let text = link("a", "1 Gbit/s", "loss = \"0.1%\"")
        + "[[flows]]\ncount = 20\nrtt = \"100 ms\"\npacket = \"1000 B\"\ntcp = { variant = \"sack\", window = \"10000 packets\" }\n";
    let goodput = measure("200 s", &text).total.goodput / 20.0;
    let law = (1.5f64 / 0.001).sqrt() * 8000.0 / 0.1;
    assert!((goodput / law - 1.0).abs() < 0.1, "{goodput} bit/s, the law says {law}");
}

#[test]
fn capacity_left_unused_counts_idle_time_at_the_rate_of_the_moment() {
    // 8 Mbit/s are used whole until 1 s; then 16 Mbit/s, of which half is left; and 8 Mbit/s in a link that is idle.
    let text = r#"
        schema = 1
        duration = "2 s"
        [[links]]
        name = "busy"
        rate = [["0 s", "8 Mbit/s"], ["1 s", "16 Mbit/s"]]
        buffer = "10 packets"
        [[links]]
        name = "idle"
        rate = "8 Mbit/s"
        buffer = "10 packets"
        [[links]]
        name = "traced"
        rate = { trace = "each" }
        buffer = "10 packets"
        [[flows]]
        name = "flood"
        kind = "udp-cbr"
        path = ["busy"]
        rate = "8 Mbit/s"
        packet = "1000 B"
        header = "0 B"
        rtt = "10 ms"
        [[flows]]
        name = "half"
        kind = "udp-cbr"
        path = ["traced"]
        rate = "6 Mbit/s"
        packet = "1500 B"
        header = "0 B"
        rtt = "10 ms"
        [traces]
        each = "1\n"
    "#;
    let scenario = aqmlab_scenario::parse(text, "unused", &[]).unwrap();
    let output = aqmlab_sim::run(scenario, aqmlab_sim::Options::default()).unwrap();
    let unused = |name: &str| {
        let (_, link) = output.result.links.iter().find(|(link, _)| link == name).unwrap();
        link.capacity_unused
    };
    let (_, busy) = output.result.links.iter().find(|(link, _)| link == "busy").unwrap();
    assert!((busy.capacity - 12e6).abs() < 1.0, "{}", busy.capacity);
    // (0 + 8 Mbit)/2 s; the trace has 12 Mbit/s, of which 6 are used. A packet at either end is 0.008 or 0.012 Mbit.
    for (name, expected) in [("busy", 4e6), ("idle", 8e6), ("traced", 6e6)] {
        assert!((unused(name) - expected).abs() < 2.5e4, "{name}: {}", unused(name));
    }
}

#[test]
fn nothing_is_sent_in_an_interruption() {
    // 1000 B each 10 ms at 8 Mbit/s; nothing from 15 to 45 ms each 100 ms: those of 20, 30 and 40 ms leave at 46, 47 and 48 ms.
    let text = r#"
        schema = 1
        duration = "1 s"
        [[links]]
        rate = "8 Mbit/s"
        buffer = "10 packets"
        interruptions = { every = "100 ms", hold = "30 ms", first = "15 ms" }
        [[flows]]
        kind = "udp-cbr"
        rate = "800 kbit/s"
        packet = "1000 B"
        header = "0 B"
        rtt = "2 ms"
    "#;
    let scenario = aqmlab_scenario::parse(text, "gaps", &[]).unwrap();
    let output = aqmlab_sim::run(scenario, aqmlab_sim::Options { seed: 1, ..Default::default() }).unwrap();
    let link = &output.result.links[0].1;
    assert_eq!((link.arrived, link.departed, link.dropped), (100, 100, 0));
    // Of ten packets seven wait for nothing, the others 25, 16 and 7 ms: 4.8 ms in the mean.
    let mean = link.queue_delay_mean.unwrap();
    assert!((mean - 0.0048).abs() < 0.0002, "{mean}");
}

/// A link of 8 Mbit/s behind a request-grant MAC of 2 ms, with so much of it guaranteed, and 1000 B at a rate.
fn behind_grants(guaranteed: &str, rate: &str) -> aqmlab_sim::LinkResult {
    let text = format!(
        r#"
        schema = 1
        duration = "20 s"
        [[links]]
        rate = "8 Mbit/s"
        buffer = "10 packets"
        request_grant = {{ interval = "2 ms", delay = "1.62 ms", guaranteed = "{guaranteed}" }}
        [[flows]]
        kind = "udp-cbr"
        rate = "{rate}"
        packet = "1000 B"
        header = "0 B"
        rtt = "2 ms"
        start = "1 s"
    "#
    );
    let scenario = aqmlab_scenario::parse(&text, "grants", &[]).unwrap();
    let output = aqmlab_sim::run(scenario, aqmlab_sim::Options { seed: 1, ..Default::default() }).unwrap();
    output.result.links[0].1.clone()
}

#[test]
fn a_modem_waits_for_its_grants() {
    // One packet each 100 ms, 0.5 ms after the beginning of an interval. Three times in four the modem asks in what is left of it, and the
    // interval that begins 3.5 ms after the packet answers. Else it asks in the next one: up to 0.38 ms (19 %) the same answers, later that of
    // 5.5 ms. 3.5 ms + 2 ms * 0.25 * 0.81 = 3.905 ms; of 190 packets to 0.06 ms.
    let alone = behind_grants("0 bit/s", "80 kbit/s");
    assert_eq!((alone.arrived, alone.departed), (190, 190));
    let mean = alone.queue_delay_mean.unwrap();
    assert!((mean - 0.003905).abs() < 0.0002, "{mean}");
    // 1000 B each 2 ms without a request: none waits.
    let mean = behind_grants("4 Mbit/s", "80 kbit/s").queue_delay_mean.unwrap();
    assert!(mean < 1e-6, "{mean}");
    // Requests that are always there leave nothing unused, of 19 s in 20.
    let busy = behind_grants("0 bit/s", "12 Mbit/s");
    assert!((busy.utilisation - 0.95).abs() < 0.0005, "{}", busy.utilisation);
}
