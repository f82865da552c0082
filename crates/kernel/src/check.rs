//! What of a scenario a Linux can do. The rest is refused by name, never left out.

use aqmlab_aqm::Ecn;
use aqmlab_aqm::link_layer::Framing;
use aqmlab_core::{ParamSet, Problem, Quantity};
use aqmlab_scenario::{FlowSpec, LinkSpec, RateChanges, Scenario};
use aqmlab_tcp::{LawChoice, Profile, TcpParams, TcpVariant};

/// Laws of the kernel that we build, by our names.
const LAWS: [&str; 6] = ["bbr", "cubic", "dctcp", "reno", "vegas", "westwood"];
/// Constants that a scenario may choose; the others are the kernel's own.
const FREE: [&str; 2] = ["window", "initial_window"];
/// Headers of a datagram: Ethernet, IP and UDP, bytes.
pub const UDP_HEADER: u32 = 42;
/// Flows, or hosts, that a guest has room for.
const MOST: u32 = 2000;

/// The kernel's name of a law; `None` if it has none.
pub fn law_of_linux(law: &str) -> Option<&'static str> {
    LAWS.into_iter().find(|known| *known == law)
}

/// What a Linux cannot do of a scenario, each by its path.
pub fn problems(scenario: &Scenario) -> Vec<Problem> {
    let links = scenario.links.iter().flat_map(of_link);
    let flows = scenario.flows.iter().flat_map(of_flows);
    let mut found: Vec<Problem> = links.chain(flows).collect();
    if !scenario.changes.is_empty() {
        found.push(Problem::new(
            "changes",
            "are not made on Linux; a rate may follow a schedule, and flows start and stop",
        ));
    }
    let count: u32 = scenario.flows.iter().map(FlowSpec::count).fold(0, u32::saturating_add);
    if count > MOST {
        found.push(Problem::new("flows", format!("{count} flows are too many for one Linux; at most {MOST}")));
    }
    found
}

fn of_link(link: &LinkSpec) -> Vec<Problem> {
    let refuse = |key: &str, why: &str| Problem::new(format!("links.{}.{key}", link.name), why);
    let wire = &link.impairments;
    let mut found = Vec::new();
    if matches!(link.changes, RateChanges::Trace(_)) {
        found.push(refuse("rate", "is a trace, which no shaper of Linux follows; expected a rate or a schedule"));
    }
    if link.layer.framing == Framing::Ptm {
        found.push(refuse("framing", "\"ptm\" is in no shaper of Linux; expected \"none\" or \"atm\""));
    }
    if link.layer.added < 0 {
        found.push(refuse("overhead", "is negative, which no shaper of Linux has; expected 0 B or more"));
    }
    if wire.loss.is_some_and(|loss| loss.p > 0.0) {
        found.push(refuse("loss", "in bursts is not set up on Linux yet; expected one probability"));
    }
    let others = [
        ("jitter", wire.jitter.is_some()),
        ("reorder", wire.reorder.is_some()),
        ("ecn_mangling", wire.ecn_mangling.is_some()),
    ];
    found.extend(
        others.into_iter().filter(|(_, is_set)| *is_set).map(|(key, _)| refuse(key, "is not set up on Linux yet")),
    );
    found
}

fn of_flows(flows: &FlowSpec) -> Vec<Problem> {
    let refuse = |key: &str, why: String| Problem::new(format!("flows.{}.{key}", flows.name), why);
    let mut found = Vec::new();
    if flows.rtt_notification {
        found.push(refuse("rtt_notification", "is nothing that Linux sends".into()));
    }
    if flows.traffic.is_udp() {
        return found;
    }
    if flows.profile != Profile::Linux || flows.variant != TcpVariant::Rack {
        let variant = format!("profile \"{}\", variant \"{}\"", flows.profile.text(), flows.variant.text());
        found.push(refuse("tcp", format!("has {variant}, which is not the TCP of Linux; expected \"linux\"")));
        return found;
    }
    let law = flows.control.name();
    if law_of_linux(law).is_none() {
        let known = LAWS.join(", ");
        found.push(refuse("tcp.congestion_control", format!("\"{law}\" is not in this Linux; it has {known}")));
    } else if flows.control.text() != default_of(law).text() {
        found.push(refuse(
            "tcp.congestion_control",
            format!("\"{law}\" has no such parameters for one connection in Linux"),
        ));
    }
    if flows.ecn == Ecn::Ect1 {
        found.push(refuse("ecn", "ECT(1) is sent by no law of this Linux".into()));
    }
    found.extend(changed_constants(flows).into_iter().map(|name| {
        refuse(&format!("tcp.{name}"), format!("is the kernel's own; only {} may be chosen", FREE.join(" and ")))
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
    differing.map(|((name, _), _)| name).filter(|name| !FREE.contains(name)).collect()
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
    fn what_linux_lacks_is_named() {
        let flows = "jitter = \"2 ms\"\nframing = \"ptm\"\n[[flows]]\nname = \"p\"\nrtt = \"20 ms\"\ntcp = \"prague\"\n\
                     [[flows]]\nname = \"r\"\nrtt = \"20 ms\"\ntcp = \"rfc\"\n\
                     [[flows]]\nname = \"c\"\nrtt = \"20 ms\"\ntcp = { congestion_control = \"cubic:beta=0.8\", min_rto = \"1 s\" }\n";
        let found = paths(&format!("{LINK}{flows}"));
        let expected = [
            "links.a.framing",
            "links.a.jitter",
            "flows.p.tcp.congestion_control",
            "flows.r.tcp",
            "flows.c.tcp.congestion_control",
            "flows.c.tcp.min_rto",
        ];
        assert!(expected.iter().all(|path| found.iter().any(|found| found == path)), "{found:?}");
    }
}
