//! The description of a line, which is a link of the scenario language.

use aqmlab_core::{Problem, Problems};
use aqmlab_scenario::{Scenario, of_table, read_toml};
use toml::{Table, Value};

/// Keys that stand beside the links of a scenario.
const OF_SCENARIO: [&str; 3] = ["traces", "schemes", "changes"];
/// The size of packets by which a buffer and a target are sized.
const PACKET: &str = "1500 B";
/// The round-trip time of a line that says none: longer than the delay of any.
const NO_RTT: &str = "2000 s";
/// The name of a line that says none, as of a link in a scenario.
const NAME: &str = "bottleneck";

/// A scenario with one link, whose keys these are, and packets of the size `packet` that cross it.
pub fn scenario_of(text: &str) -> Result<Scenario, Problems> {
    let mut link = read_toml(text, "line")?;
    let name = link.get("name").and_then(Value::as_str).unwrap_or(NAME).to_string();
    let mut scenario = Table::new();
    for key in OF_SCENARIO {
        if let Some(value) = link.remove(key) {
            scenario.insert(key.to_string(), value);
        }
    }
    let packet = link.remove("packet").unwrap_or(PACKET.into());
    let rtt = link.remove("rtt");
    let is_in_bdp = |value: &Value| value.as_str().is_some_and(|text| text.trim().ends_with("bdp"));
    if rtt.is_none() && link.get("buffer").is_some_and(is_in_bdp) {
        return Err(Problems::one("rtt", "missing; a buffer in bdp needs a round-trip time, write e.g. \"80 ms\""));
    }
    let flows = [
        ("name", NAME.into()),
        ("kind", "udp-cbr".into()),
        ("rate", "1 Mbit/s".into()),
        ("header", "0 B".into()),
        ("packet", packet),
        ("rtt", rtt.unwrap_or(NO_RTT.into())),
    ];
    scenario
        .insert("flows".to_string(), tables(flows.map(|(key, value)| (key.to_string(), value)).into_iter().collect()));
    scenario.insert("links".to_string(), tables(link));
    for (key, value) in [("schema", Value::Integer(1)), ("duration", "1000000 s".into()), ("sample", "1 s".into())] {
        scenario.insert(key.to_string(), value);
    }
    of_table(scenario, &name, &[])
        .map_err(|Problems(found)| Problems(found.into_iter().map(|found| own(found, &name)).collect()))
}

fn tables(table: Table) -> Value {
    Value::Array(vec![Value::Table(table)])
}

/// The problem with the path that the key has in the description.
fn own(problem: Problem, name: &str) -> Problem {
    let path = problem.path.as_str();
    let inner = [format!("links.{name}."), format!("flows.{NAME}.")]
        .iter()
        .find_map(|outer| path.strip_prefix(outer.as_str()).map(str::to_string));
    Problem { path: inner.unwrap_or(problem.path), ..problem }
}
