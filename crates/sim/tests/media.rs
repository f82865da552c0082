//! Calls that adapt, over whole links.

use aqmlab_sim::{MediaResult, Options, RunResult, Simulation, run};

const CALL: &str = "schema = 1\nduration = \"60 s\"\nwarmup = \"20 s\"\n\n[[links]]\nname = \"up\"\nrate = \"2 Mbit/s\"\ndelay = \
                    \"25 ms\"\nbuffer = \"300 ms\"\n\n[[flows]]\nname = \"call\"\nkind = \"media\"\nrtt = \"50 ms\"\n";

fn scenario(text: &str) -> aqmlab_scenario::Scenario {
    aqmlab_scenario::parse(text, "media", &[]).unwrap()
}

fn result(text: &str, aqm: &str) -> RunResult {
    let aqm = Some(aqmlab_scenario::SchemeAssignment::parse(aqm).unwrap());
    run(scenario(text), Options { aqm, seed: 1, ..Options::default() }).unwrap().result
}

fn call(text: &str, aqm: &str) -> MediaResult {
    result(text, aqm).flows[0].1.media.clone().unwrap()
}

/// 1.2 Mbit/s over 30 frames a second are 5000 B: four packets of 1200 B and one of 200 B, sent at 2.4 Mbit/s, of which each
/// has 40 B of headers. On the link the four leave each 4.96 ms, and the last, sent 16 ms after the first, waits for them.
#[test]
fn a_constant_call_in_an_empty_network_takes_its_frames_time() {
    let call = call(&format!("{CALL}law = \"constant\"\nrate = \"1.2 Mbit/s\"\n"), "droptail");
    let expected = 4.0 * 1240.0 * 8.0 / 2e6 + 240.0 * 8.0 / 2e6 + 0.025;
    let delay = call.frame_delay_mean.unwrap();
    assert!((delay - expected).abs() < 1e-5, "{delay}, not {expected}");
    assert!((delay - call.frame_delay_p99.unwrap()).abs() < 1e-3 * delay);
    assert_eq!((call.frames, call.freezes, call.late_ratio, call.lost_ratio), (1200, 0, Some(0.0), Some(0.0)));
    assert!((call.display_delay_mean.unwrap() - delay - 0.1).abs() < 1e-5, "the jitter buffer holds 100 ms");
    // Each 100 ms after the first packet of a report: 15 packets each, and 15 of the report before.
    assert!((call.feedback_rate / (10.0 * 8.0 * (48.0 + 2.0 * 30.0)) - 1.0).abs() < 0.05, "{}", call.feedback_rate);
}

#[test]
fn laws_fill_what_there_is_without_a_long_queue() {
    for (law, least, delay) in [("scream", 0.6, 0.09), ("gcc", 0.6, 0.15), ("nada", 0.6, 0.15)] {
        let text = format!("{CALL}law = \"{law}\"\n").replace("60 s", "120 s").replace("20 s", "60 s");
        let result = result(&text, "droptail");
        let flow = &result.flows[0].1;
        let media = flow.media.as_ref().unwrap();
        assert!(flow.goodput > least * 2e6 && flow.goodput < 2e6, "{law}: {}", flow.goodput);
        assert!(media.frame_delay_p95.unwrap() < delay, "{law}: {:?}", media.frame_delay_p95);
        assert!(media.freeze_ratio.unwrap() < 0.01, "{law}: {media:?}");
    }
}

#[test]
fn a_call_beside_an_upload_freezes_behind_a_long_queue_only() {
    let upload = "\n[[flows]]\nname = \"upload\"\nrtt = \"50 ms\"\ntcp = { profile = \"linux\" }\n";
    let text = format!("{CALL}law = \"constant\"\nrate = \"500 kbit/s\"\n{upload}").replace("300 ms", "1 s");
    let [tail, fair] = ["droptail", "fq-codel"].map(|aqm| call(&text, aqm));
    assert!(tail.frame_delay_mean > Some(0.5), "{tail:?}");
    assert!(fair.frame_delay_p99 < Some(0.08) && fair.freezes == 0, "{fair:?}");
}

#[test]
fn l4s_keeps_the_queue_of_scream_shorter_than_delay_does() {
    let link = CALL.replace("2 Mbit/s", "20 Mbit/s");
    let text = format!("{link}law = \"scream\"\nrate_max = \"50 Mbit/s\"\n");
    let [l4s, classic] = ["", "ecn = false\n"].map(|ecn| result(&format!("{text}{ecn}"), "dualpi2"));
    let wait = |result: &RunResult| result.links[0].1.queue_delay_mean.unwrap();
    assert!(l4s.flows[0].1.marked > 0 && classic.flows[0].1.marked == 0);
    assert!(wait(&l4s) < 0.002 && wait(&l4s) < wait(&classic), "{} and {}", wait(&l4s), wait(&classic));
}

#[test]
fn feedback_queues_where_it_is_told_to_and_lost_packets_are_sent_again() {
    let back =
        "\n[[links]]\nname = \"down\"\nrate = \"10 Mbit/s\"\ndelay = \"25 ms\"\nbuffer = \"100 packets\"\n\n[[flows]]";
    let text = CALL.replacen("\n[[flows]]", back, 1).replace(
        "rtt = \"50 ms\"",
        "rtt = \"50 ms\"\npath = [\"up\"]\nack_path = [\"down\"]\nlaw = \"constant\"\nrate = \"1 Mbit/s\"",
    );
    let text = text.replace("buffer = \"300 ms\"", "buffer = \"300 ms\"\nloss = 0.02");
    let result = result(&text, "droptail");
    let media = result.flows[0].1.media.clone().unwrap();
    let down = result.links[1].1.utilisation * 10e6;
    assert!((down / media.feedback_rate - 1.0).abs() < 0.02, "{down} and {}", media.feedback_rate);
    // 4167 B are four packets, and a fiftieth of 40 s of 120 a second is lost: 96 +- 10.
    assert!((60..140).contains(&media.resent), "{}", media.resent);
    assert_eq!(media.lost_ratio, Some(0.0));
}

/// What is looked at on the way, or computed ahead, changes nothing.
#[test]
fn a_run_in_steps_is_the_same_run() {
    let text =
        format!("{CALL}law = \"scream\"\nframes = \"statistical\"\n\n[[flows]]\nname = \"upload\"\nrtt = \"50 ms\"\n");
    for aqm in ["droptail", "fq-codel", "dualpi2"] {
        let options = || Options {
            aqm: Some(aqmlab_scenario::SchemeAssignment::parse(aqm).unwrap()),
            seed: 3,
            ..Options::default()
        };
        let whole = run(scenario(&text), options()).unwrap().result;
        let mut steps = Simulation::new(scenario(&text), options()).unwrap();
        for second in 1..60 {
            steps.step_until(aqmlab_core::Time::ZERO + aqmlab_core::Span::from_secs(second)).unwrap();
        }
        let stepped = steps.finish().unwrap().result;
        let json = |mut result: RunResult| {
            result.engine.wall = 0.0;
            result.json()
        };
        assert_eq!(json(whole), json(stepped), "{aqm}");
    }
}

#[test]
fn the_rates_of_each_second_are_told_if_they_are_asked_for() {
    let text = format!("{CALL}law = \"constant\"\nrate = \"1.2 Mbit/s\"\nframe_rate = \"25 Hz\"\n");
    assert!(call(&text, "droptail").rates.is_none());
    let text = format!("{text}rates = true\npause = [\"30 s\", \"40 s\"]\n");
    let media = call(&text, "droptail");
    let rates = &media.rates.as_ref().unwrap()[0];
    assert_eq!((rates[25], rates[35], rates[45]), (1.2e6, 0.0, 1.2e6));
    assert_eq!((media.frames, media.freezes), (750, 0));
}

/// Ericsson's simulator (commit c8f84c3) with the draft's rules for marks and for the share of media has 19.2 Mbit/s here, and two marks
/// a round trip would be 43.5; docs/media-evidence.md has all.
#[test]
fn at_a_constant_share_of_marks_scream_has_the_rate_of_ericsson_s_code_with_the_draft_s_rules() {
    let text = CALL.replace("2 Mbit/s", "1 Gbit/s").replace("delay = \"25 ms\"\n", "").replace("50 ms", "25 ms");
    let keys = "law = \"scream\"\nrate = \"5 Mbit/s\"\nrate_min = \"100 kbit/s\"\nrate_max = \"200 Mbit/s\"\n";
    let packets = "frame_rate = \"50 Hz\"\npacket = \"1360 B\"\nheader = \"12 B\"\n";
    let rate = result(&format!("{text}{keys}{packets}"), "fixed-p:p=2%,ecn=true").flows[0].1.goodput * 1372.0 / 1360.0;
    assert!((rate / 19.2e6 - 1.0).abs() < 0.05, "{rate}");
}

/// RFC 8867's case 5.1 with the Mbit of ns3-rmcat, 2^20. Its controller has 1.001 Mbit/s from 25 to 40 s, and loses nothing from 65 s on,
/// when the capacity has fallen to 0.6; docs/media-evidence.md has all.
#[test]
fn nada_comes_to_the_rate_of_ns3_rmcat_s_and_does_not_fill_the_queue_after_a_fall() {
    let steps = "[[\"0 s\", \"1048576 bit/s\"], [\"40 s\", \"2621440 bit/s\"], [\"60 s\", \"629145.6 bit/s\"]]";
    let text = CALL.replace("\"2 Mbit/s\"", steps).replace("delay = \"25 ms\"\n", "").replace("50 ms", "100 ms");
    let text = text.replace("300 ms", "39322 B");
    let keys = "law = \"nada\"\nrate = \"150 kbit/s\"\nrate_max = \"1.5 Mbit/s\"\npacket = \"1000 B\"\n";
    let between = |from: &str, to: &str| {
        let text = text.replace("\"60 s\"\nwarmup = \"20 s\"", &format!("\"{to}\"\nwarmup = \"{from}\""));
        result(&format!("{text}{keys}"), "droptail")
    };
    let steady = between("25 s", "40 s");
    assert!((steady.flows[0].1.goodput / 1.001e6 - 1.0).abs() < 0.01, "{}", steady.flows[0].1.goodput);
    let fallen = between("65 s", "80 s");
    let (link, rate) = (&fallen.links[0].1, fallen.flows[0].1.goodput);
    assert!(link.dropped == 0 && rate > 0.5e6, "{} dropped, {rate}", link.dropped);
}
