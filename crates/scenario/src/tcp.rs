//! Reads how a group of flows speaks TCP.

use crate::keys::{KeySpec, Section, ValueForm};
use crate::table_reader::{TableReader, kind, scalar};
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{ParamSet, Problems, Quantity};
use aqmlab_tcp::params::BurstLimit;
use aqmlab_tcp::{LawChoice, Profile, TcpParams, TcpVariant, cc};
use toml::{Table, Value};

const CONTROL: &str = "congestion_control";

/// Keys of `tcp`, beside TCP's constants.
pub const TCP: Section = Section::new(&[&[
    KeySpec::of::<TcpVariant>("variant", "Loss recovery; its default follows from profile and congestion control."),
    KeySpec::of::<Profile>(
        "profile",
        "What the constants and details are like; its default follows from the loss recovery.",
    ),
    KeySpec::new(CONTROL, ValueForm::Law, "Congestion control, with parameters in the form NAME:KEY=VALUE,..."),
]]);

/// The TCP of a group of flows.
pub struct Tcp {
    pub profile: Profile,
    /// Constants are set, and neither a profile is named nor a loss recovery that only one profile has.
    pub lacks_profile: bool,
    pub variant: TcpVariant,
    pub params: TcpParams,
    pub control: LawChoice,
}

impl Tcp {
    /// No TCP: of flows over UDP.
    pub fn none() -> Self {
        let (profile, variant) = (Profile::Rfc, TcpVariant::Reno);
        Self { profile, lacks_profile: false, variant, params: TcpParams::defaults(), control: LawChoice::default() }
    }
}

/// `tcp = "cubic:beta=0.8"`, `tcp = "sack"`, `tcp = "ns2"`, or `tcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }`; if
/// nothing is said, what Linux does.
pub fn read_tcp(flow: &mut TableReader) -> Option<Tcp> {
    match flow.raw("tcp") {
        None => read_table(flow, &Table::new()),
        Some(Value::Table(table)) => read_table(flow, table),
        Some(Value::String(name)) => match table_of(name) {
            Ok(table) => read_table(flow, &table),
            Err(reason) => {
                flow.refuse("tcp", reason);
                None
            }
        },
        Some(other) => {
            flow.refuse(
                "tcp",
                format!("expected a variant, a congestion controller or a table, found {}", kind(other)),
            );
            None
        }
    }
}

/// The table that a name alone stands for.
pub fn table_of(name: &str) -> Result<Table, String> {
    Ok(Table::from_iter([(key_of(name)?.to_string(), Value::from(name))]))
}

/// The key that a name alone stands for: a congestion control, a loss recovery or a profile. "reno" is both of the first
/// two, and today means the congestion control.
fn key_of(text: &str) -> Result<&'static str, String> {
    let name = text.split(':').next().unwrap_or(text).trim();
    let laws = cc::entries();
    let laws = laws.iter().map(|law| law.info.name);
    if laws.clone().any(|law| law == name) {
        return Ok(CONTROL);
    }
    if TcpVariant::CHOICES.contains(&text) {
        return Ok("variant");
    }
    if Profile::CHOICES.contains(&text) {
        return Ok("profile");
    }
    if TcpVariant::CHOICES.contains(&name) {
        return Err(format!("\"{}\" is a loss recovery, which takes no parameters", clip(name)));
    }
    let others = laws.filter(|law| !TcpVariant::CHOICES.contains(law));
    Err(unknown("choice", name, &TcpVariant::CHOICES.iter().copied().chain(others).collect::<Vec<_>>()))
}

fn read_table(flow: &mut TableReader, table: &Table) -> Option<Tcp> {
    let path = flow.path("tcp");
    let mut tcp = TableReader::new(table, path.clone(), &TCP, flow.found());
    let named_variant: Option<TcpVariant> = tcp.optional("variant");
    // Linux has no loss recovery but `rack`: who names another one means the RFCs.
    let default_profile =
        if named_variant.is_none_or(|variant| variant == TcpVariant::Rack) { Profile::Linux } else { Profile::Rfc };
    let is_named = tcp.raw("profile").is_some() || default_profile == Profile::Rfc;
    let profile = tcp.optional("profile").unwrap_or(default_profile);
    let control = read_control(&mut tcp, profile);
    let owns_window = control.needs().owns_window;
    let variant = named_variant.unwrap_or(match profile {
        _ if owns_window => TcpVariant::Rack,
        Profile::Rfc if !control.is_reno() => TcpVariant::Sack,
        _ => profile.default_variant(),
    });
    if owns_window && variant != TcpVariant::Rack {
        let (found, name) = (tcp.text("variant").unwrap_or_default(), control.name());
        tcp.refuse(
            "variant",
            format!("\"{found}\" is not for \"{name}\", which sets the window in recovery too; expected \"rack\""),
        );
    }
    if let Some(slow_start) = control.slow_start_that_needs_rtts()
        && variant != TcpVariant::Rack
    {
        let reason = "needs a round-trip time at every ACK; expected variant = \"rack\"";
        tcp.refuse(CONTROL, format!("\"slow_start={slow_start}\" {reason}"));
    }
    if variant == TcpVariant::Rack {
        refuse_what_rack_ignores(&mut tcp);
    }
    refuse_parameters_of_laws(&mut tcp, table);
    let own: Vec<(&str, String)> = TcpParams::specs()
        .iter()
        .filter_map(|spec| tcp.parameter(spec.name).map(|value| (spec.name, value)))
        .map(|(name, value)| (name, scalar(value).unwrap_or_else(|| kind(value).to_string())))
        .collect();
    tcp.finish();
    let lacks_profile = !is_named && !own.is_empty();
    let mut params = TcpParams::defaults();
    let own = own.iter().map(|(name, value)| (*name, value.as_str()));
    params.read(&path, profile.settings().iter().chain(control.settings()).copied().chain(own), flow.found());
    if params.bursts == BurstLimit::Gso && variant != TcpVariant::Rack {
        let reason = "\"gso\" requires variant \"rack\"; expected variant = \"rack\"";
        TableReader::new(table, path.clone(), &TCP, flow.found()).refuse("bursts", reason);
    }
    for (name, is_on) in [("detect_by_time", params.detect_by_time), ("prr", params.prr), ("undo", params.undo)] {
        if !is_on && variant != TcpVariant::Rack {
            let reason = "\"false\" applies to variant \"rack\" only; leave it out, or use variant = \"rack\"";
            TableReader::new(table, path.clone(), &TCP, flow.found()).refuse(name, reason);
        }
    }
    if params.ect_on_syn && !control.needs().is_scalable() {
        let name = control.name();
        let reason =
            format!("\"true\" requires a controller that receives every mark, and \"{name}\" does not; expected false");
        TableReader::new(table, path, &TCP, flow.found()).refuse("ect_on_syn", reason);
    }
    Some(Tcp { profile, lacks_profile, variant, params, control })
}

/// `congestion_control = "cubic:beta=0.8"`; Reno's if it says nothing, or something wrong.
fn read_control(tcp: &mut TableReader, profile: Profile) -> LawChoice {
    let text = tcp.text(CONTROL).unwrap_or(profile.default_law());
    let control = LawChoice::parse_in(&tcp.path(CONTROL), text, profile).unwrap_or_else(|Problems(problems)| {
        tcp.extend(problems);
        LawChoice::default()
    });
    if profile == Profile::Ns2 && !control.is_reno() {
        let name = clip(text);
        tcp.refuse(
            CONTROL,
            format!("\"{name}\" is not in profile \"ns2\", which has \"reno\" only; use profile \"rfc\""),
        );
    }
    control
}

/// Refuses parameters of the variants before `rack`, which `rack` ignores: a value would change nothing.
fn refuse_what_rack_ignores(tcp: &mut TableReader) {
    for (name, reason) in [
        ("halve", "always reduces the window"),
        ("go_back_n", "retransmits lost segments only"),
        ("limited_transmit", "sends as segments leave the network"),
        ("careful", "tracks the segments of a recovery"),
        ("open_on_exit", "ends recovery with the window at ssthresh"),
        ("ecn_response", "responds to marks as RFC 3168 specifies"),
    ] {
        if tcp.parameter(name).is_some() {
            tcp.refuse(
                name,
                format!("is not for variant \"rack\", which {reason}; leave it out, or name another variant"),
            );
        }
    }
    if tcp.parameter("estimator").and_then(Value::as_str) == Some("integer") {
        tcp.refuse("estimator", "\"integer\" is not for variant \"rack\"; expected \"real\" or \"linux\"");
    }
}

/// A parameter of a law stands with the law, not among the constants of TCP.
fn refuse_parameters_of_laws(tcp: &mut TableReader, table: &Table) {
    for law in cc::entries() {
        for spec in (law.params)() {
            let Some(value) = table.get(spec.name).filter(|_| tcp.parameter(spec.name).is_some()) else { continue };
            let (law, name) = (law.info.name, spec.name);
            let value = scalar(value).map_or("...".into(), |value| clip(&value));
            tcp.refuse(name, format!("is a parameter of {law}; write {CONTROL} = \"{law}:{name}={value}\""));
        }
    }
}
