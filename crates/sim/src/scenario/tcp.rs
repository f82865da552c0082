//! Reads how a group of flows speaks TCP.

use super::reader::{Reader, kind, scalar};
use aqmlab_core::problem::unknown;
use aqmlab_core::{ParamSet, Quantity};
use aqmlab_tcp::{CongestionControl, Profile, TcpParams, Variant};
use toml::{Table, Value};

const CONTROL: &str = "congestion_control";
/// Constants that LEDBAT alone has.
const OF_LEDBAT: [&str; 2] = ["target", "gain"];

/// `tcp = "sack"`, `tcp = "cubic"`, or `tcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }`; if nothing is
/// said, profile `rfc` and its defaults.
pub fn read_tcp(flow: &mut Reader) -> Option<(Profile, Variant, TcpParams)> {
    match flow.raw("tcp") {
        None => read_table(flow, &Table::new()),
        Some(Value::Table(table)) => read_table(flow, table),
        Some(Value::String(name)) => match key_of(name) {
            Ok(key) => read_table(flow, &Table::from_iter([(key.to_string(), Value::from(name.as_str()))])),
            Err(reason) => {
                flow.refuse("tcp", reason);
                None
            }
        },
        Some(other) => {
            flow.refuse("tcp", format!("expected a variant or a table, found {}", kind(other)));
            None
        }
    }
}

/// What a name alone says: a loss recovery, with Reno's congestion control, or a congestion control other than Reno's.
fn key_of(name: &str) -> Result<&'static str, String> {
    let known: Vec<&str> = Variant::CHOICES.iter().chain(&CongestionControl::CHOICES[1..]).copied().collect();
    match known.iter().position(|choice| *choice == name) {
        Some(i) if i < Variant::CHOICES.len() => Ok("variant"),
        Some(_) => Ok(CONTROL),
        None => Err(unknown("choice", name, &known)),
    }
}

fn read_table(flow: &mut Reader, table: &Table) -> Option<(Profile, Variant, TcpParams)> {
    let path = flow.path("tcp");
    let mut tcp = Reader::new(table, path.clone(), flow.found());
    let profile = tcp.optional("profile").unwrap_or(Profile::Rfc);
    let control = tcp.raw(CONTROL).and_then(Value::as_str).and_then(|name| CongestionControl::parse(name).ok());
    let control = control.unwrap_or(CongestionControl::Reno); // a wrong one is refused among the constants below
    let is_reno = control == CongestionControl::Reno;
    let variant = tcp.optional("variant").unwrap_or(if is_reno { profile.default_variant() } else { Variant::Sack });
    let own: Vec<(&str, String)> = TcpParams::specs()
        .iter()
        .filter_map(|spec| tcp.raw(spec.name).map(|value| (spec.name, value)))
        .map(|(name, value)| (name, scalar(value).unwrap_or_else(|| kind(value).to_string())))
        .collect();
    if profile == Profile::Ns2 && !is_reno {
        let name = control.text();
        tcp.refuse(
            CONTROL,
            format!("\"{name}\" is not in profile \"ns2\", which has \"reno\" only; use profile \"rfc\""),
        );
    }
    let is_misplaced = |name: &str| OF_LEDBAT.contains(&name) && control != CongestionControl::Ledbat;
    for (name, _) in own.iter().filter(|(name, _)| is_misplaced(name)) {
        tcp.refuse(name, format!("belongs to {CONTROL} = \"ledbat\"; here it is \"{}\"", control.text()));
    }
    tcp.finish();
    let mut params = TcpParams::defaults();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    params.read(&path, profile.settings().iter().chain(control.settings()).copied().chain(own), flow.found());
    Some((profile, variant, params))
}
