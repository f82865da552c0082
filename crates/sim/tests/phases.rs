//! The phases that senders go through, and changes that wait for one.

use aqmlab_core::{Span, Time};
use aqmlab_scenario::parse;
use aqmlab_sim::{Options, Output, Simulation, run};

/// One flow, called x, on a link of 20 Mbit/s and 40 ms, with its phases recorded.
fn text(tcp: &str, keys: &str, more: &str) -> String {
    format!(
        "schema = 1\nduration = \"20 s\"\n[[links]]\nname = \"a\"\nrate = \"20 Mbit/s\"\ndelay = \"5 ms\"\nbuffer = \"1 bdp\"\n\
         [[flows]]\nname = \"x\"\nrtt = \"40 ms\"\nphases = true\n{keys}tcp = {tcp}\n{more}"
    )
}

fn simulation(text: &str) -> Simulation {
    let scenario = parse(text, "phases", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    Simulation::new(scenario, Options { seed: 1, ..Options::default() }).unwrap()
}

fn output(text: &str) -> Output {
    let scenario = parse(text, "phases", &[]).unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    run(scenario, Options { seed: 1, ..Options::default() }).unwrap()
}

fn json(mut output: Output) -> String {
    output.result.engine.wall = 0.0;
    output.result.json()
}

/// Times and names of the phases of the flow.
fn phases(output: &Output) -> Vec<(f64, &'static str)> {
    output.result.flows[0].1.phases.clone().unwrap()[0].clone()
}

fn names(output: &Output) -> Vec<&'static str> {
    phases(output).into_iter().map(|(_, name)| name).collect()
}

#[test]
fn bbr_goes_through_its_phases_in_the_order_of_its_draft() {
    let output = output(&text("\"bbr3\"", "", ""));
    let found = phases(&output);
    assert_eq!((found[0], found[1].1), ((0.0, "startup"), "drain"));
    // Draft, section 5.3: what may follow what. The ACK that ends drain begins down, and may end that, too.
    for pair in found.windows(2) {
        let may_follow: &[&str] = match pair[0].1 {
            "startup" => &["drain"],
            "drain" => &["probe_bw_down", "probe_bw_cruise"],
            "probe_bw_down" => &["probe_bw_cruise", "probe_bw_refill", "probe_rtt"],
            "probe_bw_cruise" => &["probe_bw_refill", "probe_rtt"],
            "probe_bw_refill" => &["probe_bw_up", "probe_rtt"],
            "probe_bw_up" => &["probe_bw_down", "probe_rtt"],
            _ => &["probe_bw_cruise", "startup"],
        };
        assert!(may_follow.contains(&pair[1].1) && pair[0].0 <= pair[1].0, "{pair:?}");
    }
    for name in ["probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"] {
        assert!(found.iter().any(|(_, found)| *found == name), "{name}");
    }
    assert_eq!(names(&self::output(&text("\"bbr\"", "", "")))[..3], ["startup", "drain", "probe_bw"]);
}

#[test]
fn a_sender_whose_law_has_no_phases_goes_through_those_of_rfc_5681() {
    let found = names(&output(&text("\"sack\"", "", "")));
    assert_eq!(found[..3], ["slow_start", "fast_recovery", "congestion_avoidance"]);
    assert!(found[1..].iter().all(|name| *name != "slow_start"), "{found:?}");
}

#[test]
fn an_application_that_limits_bbr_keeps_it_in_startup() {
    let output = output(&text("\"bbr3\"", "kind = \"app-limited\"\nrate = \"4 Mbit/s\"\n", ""));
    // Draft, section 5.3.4: each 5 s it looks for a shorter round trip, and goes back.
    let (startup, probe_rtt) = ("startup", "probe_rtt");
    assert_eq!(names(&output), [startup, probe_rtt, startup, probe_rtt, startup, probe_rtt, startup]);
}

#[test]
fn phases_are_recorded_only_if_asked_for_and_change_no_result() {
    let with = output(&text("\"cubic\"", "", ""));
    let without = output(&text("\"cubic\"", "", "").replace("phases = true\n", ""));
    assert!(without.result.flows[0].1.phases.is_none() && !names(&with).is_empty());
    let mut bare = with;
    bare.result.flows[0].1.phases = None;
    assert_eq!(json(bare), json(without));
}

const CHANGE: &str = "[[changes]]\nwhen = { flow = \"x\", enters = \"probe_bw_up\", after = \"3 s\" }\n\
                      path = \"links.a.rate\"\nvalue = \"10 Mbit/s\"\n";

#[test]
fn a_change_is_made_when_a_flow_enters_a_phase() {
    let mut simulation = simulation(&text("\"bbr3\"", "", CHANGE));
    simulation.step_until(Time::ZERO + Span::from_millis(2900)).unwrap();
    assert!(simulation.changes().is_empty() && simulation.to_toml().contains("probe_bw_up"));
    simulation.step_until(Time::ZERO + Span::from_secs(19)).unwrap();
    let made = simulation.changes();
    assert_eq!((made.len(), simulation.link(0).rate.0), (1, 10e6));
    let replay = simulation.to_toml();
    let output = simulation.finish().unwrap();
    let entries = phases(&output);
    let first = entries.iter().find(|(time, name)| *time >= 3.0 && *name == "probe_bw_up").unwrap();
    assert_eq!(made[0].at.seconds(), first.0, "the first probe after 3 s");
    let at_once = json(self::output(&text("\"bbr3\"", "", CHANGE)));
    assert_eq!(json(output), at_once, "in steps or at once");
    assert_eq!(json(self::output(&replay)), at_once, "as a change at that time");
}

#[test]
fn a_change_that_waits_for_a_phase_that_never_comes_is_never_made() {
    let app = "kind = \"app-limited\"\nrate = \"4 Mbit/s\"\n";
    let mut simulation = simulation(&text("\"bbr3\"", app, CHANGE));
    simulation.step_until(Time::ZERO + Span::from_secs(20)).unwrap();
    assert!(simulation.changes().is_empty() && simulation.link(0).rate.0 == 20e6);
}
