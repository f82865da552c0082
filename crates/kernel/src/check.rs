//! The part of a scenario that a Linux can do. The rest is refused by name, never left out.

use aqmlab_aqm::Ecn;
use aqmlab_aqm::link_layer::Framing;
use aqmlab_core::{ParamSet, Problem, Quantity, Span};
use aqmlab_scenario::{Action, Distribution, Engine, FlowSpec, LinkSpec, RateChanges, Scenario, Traffic};
use aqmlab_tcp::{LawChoice, Profile, TcpParams, TcpVariant};

/// Laws of the kernel that we build, by our names.
const LAWS: [&str; 6] = ["bbr", "cubic", "dctcp", "reno", "vegas", "westwood"];
/// Constants that a scenario may choose; the others are the kernel's own.
const FREE: [&str; 3] = ["window", "initial_window", "bursts"];
/// The jiffy of the kernel that we build. A scenario may say so; untold, it has that of most distributions.
const JIFFY: Span = Span::from_millis(1);
/// Headers of a datagram: Ethernet, IP and UDP, bytes.
pub const UDP_HEADER: u32 = 42;
/// Flows, or hosts, that a guest has room for.
const MOST: u32 = 2000;

/// The kernel's name of a law; `None` if it has none.
pub fn law_of_linux(law: &str) -> Option<&'static str> {
    LAWS.into_iter().find(|known| *known == law)
}

/// The parts of a scenario that a Linux cannot do, each by its path.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    let links = scenario.links.iter().flat_map(of_link);
    let flows = scenario.flows.iter().flat_map(of_flows);
    let mut found: Vec<Problem> = links.chain(flows).chain(of_changes(scenario)).collect();
    let count: u32 = scenario.flows.iter().map(FlowSpec::count).fold(0, u32::saturating_add);
    if scenario.tree.is_some() {
        found.push(Problem::new("lines", "are not supported on Linux; expected links and flows with paths"));
    }
    if scenario.wifi.is_some() {
        found.push(Problem::new("wifi", "is not supported on Linux; expected links and flows with paths"));
    }
    if scenario.fabric.is_some() {
        found.push(Problem::new("fabric", "is not supported on Linux; expected links and flows with paths"));
    }
    if count > MOST {
        found.push(Problem::new("flows", format!("{count} flows are too many for one Linux kernel; at most {MOST}")));
    }
    found
}

fn of_link(link: &LinkSpec) -> Vec<Problem> {
    let refuse = |key: &str, why: &str| Problem::new(format!("links.{}.{key}", link.name), why);
    let wire = &link.impairments;
    let mut found = Vec::new();
    if matches!(link.changes, RateChanges::Trace(_)) {
        let why = "is a trace of opportunities, which no Linux shaper can follow; expected a rate, a schedule or a trace of rates";
        found.push(refuse("rate", why));
    }
    if link.layer.framing == Framing::Ptm {
        found.push(refuse("framing", "\"ptm\" is not supported by any Linux shaper; expected \"none\" or \"atm\""));
    }
    if link.layer.added < 0 {
        found.push(refuse("overhead", "is negative, which no Linux shaper supports; expected 0 B or more"));
    }
    if matches!(wire.jitter, Some(Distribution::Values(_))) {
        found.push(refuse("jitter", "takes values in turn, which netem cannot do; expected a distribution"));
    }
    if link.shared.is_some() {
        found.push(refuse("buffer", "is shared, which Linux does not support; expected packets, bytes, a time or bdp"));
    }
    found.extend(link.refusals(Engine::Linux).map(|(key, why)| refuse(key, why)));
    found
}

/// What of `[[changes]]` and of traces of rates a Linux does not do while packets wait.
fn of_changes(scenario: &Scenario) -> Vec<Problem> {
    let mut links = scenario.links.clone();
    let mut found = Vec::new();
    if let Some(controller) = scenario.controllers.first() {
        let path = format!("controllers.{}", controller.name);
        found.push(Problem::new(path, "is not supported on Linux; expected a scenario without controllers"));
    }
    if !scenario.awaited.is_empty() {
        found.push(Problem::new("changes", "wait for a phase, which Linux does not report; expected at = TIME"));
    }
    for change in &scenario.changes {
        let Ok(action) = change.action(scenario, &links) else { continue };
        action.update(&mut links);
        let why = match action {
            Action::Scheme(..) => {
                "another scheme, for which Linux drops the waiting packets; expected a parameter of the same one"
            }
            Action::Count(..) | Action::Rtt(..) | Action::Offered(..) | Action::Stop(..) => {
                "a change of flows, which is not supported on Linux; groups may start and stop"
            }
            _ => continue,
        };
        found.push(Problem::new("changes", format!("{} at {} is {why}", change.path, change.at.text())));
    }
    found
}

fn of_flows(flows: &FlowSpec) -> Vec<Problem> {
    let refuse = |key: &str, why: String| Problem::new(format!("flows.{}.{key}", flows.name), why);
    let mut found = Vec::new();
    found.extend(flows.refusals(Engine::Linux).map(|(key, why)| refuse(key, why.into())));
    if flows.traffic.is_foreign() {
        found.push(refuse("kind", "\"quic\" runs in the simulator only".into()));
        return found;
    }
    if flows.traffic.media().is_some() {
        found.push(refuse("kind", "\"media\" runs in the simulator only".into()));
        return found;
    }
    if matches!(flows.traffic, Traffic::AppLimited(_)) {
        found.push(refuse("kind", "\"app-limited\" is not supported on Linux".into()));
    }
    if flows.traffic.is_udp() {
        return found;
    }
    if flows.profile != Profile::Linux || flows.variant != TcpVariant::Rack {
        let variant = format!("profile \"{}\", variant \"{}\"", flows.profile.text(), flows.variant.text());
        found.push(refuse("tcp", format!("has {variant}, which Linux does not have; expected \"linux\"")));
        return found;
    }
    let law = flows.control.name();
    if law_of_linux(law).is_none() {
        let known = LAWS.join(", ");
        found.push(refuse("tcp.congestion_control", format!("\"{law}\" is not in this kernel; it has {known}")));
    } else if flows.control.text() != default_of(law).text() {
        found.push(refuse(
            "tcp.congestion_control",
            format!("\"{law}\" cannot have these parameters for single connections in Linux"),
        ));
    }
    if flows.ecn == Ecn::Ect1 {
        found.push(refuse("ecn", "no congestion controller of this kernel sends ECT(1)".into()));
    }
    found.extend(changed_constants(flows).into_iter().map(|name| {
        refuse(&format!("tcp.{name}"), format!("is fixed in the kernel; only {} can be set", FREE.join(", ")))
    }));
    found
}

/// The law as profile `linux` has it.
fn default_of(law: &str) -> LawChoice {
    LawChoice::parse_in("tcp", law, Profile::Linux).unwrap_or_default()
}

/// The constants of TCP in which these flows differ from what Linux does with their law.
fn changed_constants(flows: &FlowSpec) -> Vec<&'static str> {
    let mut usual = TcpParams::defaults();
    let settings = Profile::Linux.settings().iter().chain(flows.control.settings()).copied();
    usual.read("tcp", settings, &mut Vec::new());
    let differing = flows.tcp.values().into_iter().zip(usual.values()).filter(|(own, usual)| own != usual);
    let names = differing.map(|((name, _), _)| name).filter(|name| !FREE.contains(name));
    names.filter(|name| *name != "clock" || flows.tcp.clock != JIFFY).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_scenario::parse;

    fn paths(text: &str) -> Vec<String> {
        let scenario = parse(text, "test", &[]).unwrap();
        problems(&scenario).into_iter().map(|problem| problem.path).collect()
    }

    const LINK: &str =
        "schema = 1\nduration = \"10 s\"\n[[links]]\nname = \"a\"\nrate = \"10 Mbit/s\"\nbuffer = \"50 packets\"\n";

    #[test]
    fn a_plain_scenario_of_linux_runs() {
        let flows =
            "[[flows]]\nrtt = \"20 ms\"\ncount = 2\n[[flows]]\nname = \"d\"\nrtt = \"20 ms\"\ntcp = \"dctcp\"\n";
        assert_eq!(paths(&format!("{LINK}{flows}")), [""; 0]);
    }

    #[test]
    fn a_scenario_may_know_the_jiffy_of_the_kernel_and_ask_for_no_other() {
        let flows = |clock| {
            format!(
                "{LINK}[[flows]]\nname = \"a\"\nrtt = \"20 ms\"\ntcp = {{ profile = \"linux\", clock = \"{clock}\" }}\n"
            )
        };
        assert_eq!(paths(&flows("1 ms")), [""; 0]);
        assert_eq!(paths(&flows("2 ms")), ["flows.a.tcp.clock"]);
    }

    #[test]
    fn senders_may_offload_and_limit_their_pace() {
        let flows = |keys| format!("{LINK}[[flows]]\nname = \"a\"\nrtt = \"20 ms\"\n{keys}\n");
        assert_eq!(paths(&flows("tcp = { bursts = \"gso\" }\nmax_pacing_rate = \"1 Mbit/s\"")), [""; 0]);
        assert_eq!(paths(&flows("tcp = { pacing = false }")), ["flows.a.tcp.pacing"]);
    }

    #[test]
    fn what_linux_lacks_is_named() {
        let flows = "policer = { rate = \"5 Mbit/s\", burst = \"9 kB\" }\naggregation = { every = \"1 ms\" }\njitter = { values = [\"1 ms\", \"2 ms\"] }\nframing = \"ptm\"\n[[flows]]\nname = \"p\"\nrtt = \"20 ms\"\ntcp = \"prague\"\n\
                     [[flows]]\nname = \"r\"\nrtt = \"20 ms\"\ntcp = \"rfc\"\n\
                     [[flows]]\nname = \"o\"\nkind = \"app-limited\"\nrate = \"1 Mbit/s\"\nrtt = \"20 ms\"\n\
                     [[flows]]\nname = \"c\"\nrtt = \"20 ms\"\ntcp = { congestion_control = \"cubic:beta=0.8\", min_rto = \"1 s\" }\n";
        let found = paths(&format!("{LINK}{flows}"));
        let expected = [
            "links.a.framing",
            "links.a.jitter",
            "links.a.policer",
            "links.a.aggregation",
            "flows.p.tcp.congestion_control",
            "flows.r.tcp",
            "flows.o.kind",
            "flows.c.tcp.congestion_control",
            "flows.c.tcp.min_rto",
        ];
        assert!(expected.iter().all(|path| found.iter().any(|found| found == path)), "{found:?}");
    }

    #[test]
    fn changes_of_a_link_are_made_and_those_of_flows_refused() {
        let flows = "[[flows]]\nname = \"f\"\nrtt = \"20 ms\"\n";
        let change =
            |path: &str, value: &str| format!("[[changes]]\nat = \"5 s\"\npath = \"{path}\"\nvalue = \"{value}\"\n");
        let of_link: String = [("rate", "5 Mbit/s"), ("delay", "1 ms"), ("loss", "1%"), ("buffer", "20 packets")]
            .map(|(key, value)| change(&format!("links.a.{key}"), value))
            .concat();
        assert_eq!(paths(&format!("{LINK}{flows}{of_link}")), [""; 0]);
        for (path, value) in [("links.a.aqm", "codel"), ("flows.f.count", "2"), ("flows.f.stop", "8 s")] {
            assert_eq!(paths(&format!("{LINK}{flows}{}", change(path, value))), ["changes"], "{path}");
        }
        let when = change("links.a.rate", "1 Mbit/s")
            .replace("at = \"5 s\"", "when = { flow = \"f\", enters = \"slow_start\" }");
        assert_eq!(paths(&format!("{LINK}{flows}phases = true\n{when}")), ["flows.f.phases", "changes"]);
    }
}
