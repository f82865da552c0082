//! A group of flows: the declarations of its keys, its values, how they are read, and how they are shown.

use crate::distribution::Distribution;
use crate::keys::{Engine, KeySpec, Kind, RATES, Section, ValueForm};
use crate::media::{MEDIA, read_media_ecn};
use crate::table_reader::{TableReader, kind, scalar};
use crate::tcp::{Tcp, read_tcp};
use crate::traffic::{
    APP_LIMITED, CBR, HTTP, ON_OFF, QUIC, SHORT, Traffic, VIDEO, read_distribution, read_traffic, required_distribution,
};
use aqmlab_aqm::{Ecn, class_of};
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Frequency, ParamSet, Problem, Quantity, Rate, Span};
use aqmlab_tcp::{LawChoice, Profile, TcpParams, TcpVariant, cc};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use toml::Table;

/// Keys of `[[flows]]`.
pub const FLOWS: Section = Section { keys: &[PLACE, OF_ANY], kinds: &KINDS };

/// Keys of `groups`.
pub const GROUPS: Section = Section::new(&[&[COUNT, START, STOP]]);

/// The kinds of traffic.
const KINDS: [Kind; 9] = [
    Kind { name: "ftp", doc: "Unlimited data over TCP.", keys: &[TCP] },
    Kind {
        name: "app-limited",
        doc: "Data over TCP that the application offers at a rate.",
        keys: &[APP_LIMITED, TCP],
    },
    Kind { name: "udp-cbr", doc: "Datagrams at a constant rate.", keys: &[CBR, UDP] },
    Kind { name: "udp-onoff", doc: "Datagrams at a constant rate while on, none while off.", keys: &[ON_OFF, UDP] },
    Kind { name: "media", doc: "Frames of a call, at a rate that may adapt.", keys: &[MEDIA, RTP] },
    Kind { name: "http", doc: "Web sessions: each object of each page is a TCP transfer.", keys: &[HTTP, TCP] },
    Kind { name: "video", doc: "Players of adaptive video: each segment is a transfer.", keys: &[VIDEO, TCP] },
    Kind { name: "short", doc: "TCP transfers with Poisson arrivals.", keys: &[SHORT, TCP] },
    Kind { name: "quic", doc: "Connections of a QUIC stack, each with one stream.", keys: &[QUIC, QUIC_PACKETS] },
];

/// Flows of a group, or of a part of it.
pub const COUNT: KeySpec = KeySpec::of::<u32>("count", "Number of flows.").within("0", "1000000").or("1").changeable();
const START: KeySpec = KeySpec::distribution::<Span>("start", "Start of each flow.").or("0 s");
const STOP: KeySpec =
    KeySpec::distribution::<Span>("stop", "End of each flow; default: the end of the run.").changeable();

const PLACE: &[KeySpec] = &[
    KeySpec::new("name", ValueForm::Name, "Name that results use.").or("flows"),
    KeySpec::new("kind", ValueForm::Kind, "Kind of traffic.").or("ftp"),
    COUNT,
    KeySpec::distribution::<Span>("rtt", "Round-trip propagation of the whole path, the links' delays included.")
        .example("\"80 ms\"")
        .changeable(),
    KeySpec::new("path", ValueForm::Some(&ValueForm::Text), "Links crossed, in order; default: all."),
    KeySpec::new("each", ValueForm::Text, "A list of links: one group of flows for each of its links."),
    KeySpec::new("lines", NAMES, "Plans of a tree on whose access links the flows are; true for all.").example("true"),
    KeySpec::new("stations", NAMES, "Stations of a Wi-Fi cell where the flows are; true for all.").example("true"),
    KeySpec::new("direction", ValueForm::Words(&["down", "up"]), "Direction of data on access links and at stations.")
        .or("down"),
    KeySpec::new("from", HOSTS, "Hosts of a fabric that send; default: all."),
    KeySpec::new("to", HOSTS, "Hosts of a fabric that receive; default: all."),
];

const NAMES: ValueForm = ValueForm::Any(&[ValueForm::of::<bool>(), ValueForm::Text, ValueForm::Some(&ValueForm::Text)]);
const HOSTS: ValueForm = ValueForm::Any(&[ValueForm::of::<u32>(), ValueForm::Some(&ValueForm::of::<u32>())]);

const OF_ANY: &[KeySpec] = &[
    START,
    STOP,
    KeySpec::new(
        "groups",
        ValueForm::Tables(&GROUPS),
        "Flows that start and stop together, instead of `count`, `start` and `stop`.",
    ),
    KeySpec::of::<f64>("start_spread", "Each flow starts later by up to so many of its round trips, drawn evenly.")
        .within("0", "1000")
        .or("0")
        .refused_by(Engine::Fluid, "the fluid model does not support starts within a round trip; leave it out"),
    KeySpec::of::<u32>("hosts", "Hosts that the flows are spread over; default: one for each flow.")
        .within("1", "1000000"),
    KeySpec::new(
        "ecn",
        ValueForm::Any(&[ValueForm::of::<bool>(), ValueForm::Words(&["ect0", "ect1"])]),
        "The flows use ECN: true for the codepoint that the congestion control requires.",
    ),
    KeySpec::of::<u32>("class", "Upper three bits of the DSCP.").within("0", "7").or("0"),
    KeySpec::of::<u32>("dscp", "DSCP of the packets.").within("0", "63").or("0"),
    KeySpec::of::<bool>("phases", "Record the phases of the senders, which must last.")
        .or("false")
        .refused_by(Engine::Fluid, "the fluid model does not support sender phases; leave it out")
        .refused_by(Engine::Linux, "are not reported by Linux; leave it out"),
];

const fn packet(least: &'static str, doc: &'static str) -> KeySpec {
    KeySpec::of::<Bytes>("packet", doc).within(least, "64000 B")
}

const ACK_PATH: KeySpec =
    KeySpec::new("ack_path", ValueForm::Some(&ValueForm::Text), "Links at which ACKs queue; default: none.");
const ACCESS_RATE: KeySpec =
    KeySpec::of::<Rate>("access_rate", "Rate of the links of hosts; default: no time to send.")
        .within(RATES.0, RATES.1);

const fn header(default: &'static str) -> KeySpec {
    KeySpec::of::<Bytes>("header", "Headers of a packet.").within("0 B", "1000 B").or(default)
}

const TCP: &[KeySpec] = &[
    KeySpec::new("tcp", ValueForm::Tcp, "Congestion control, loss recovery, profile and constants of TCP.").or("linux"),
    packet("1 B", "Payload of a full segment; default: 1448 B, or 1000 B in the profiles rfc and ns2."),
    ACCESS_RATE,
    ACK_PATH,
    KeySpec::of::<bool>("rtt_notification", "Packets carry the sender's smoothed round-trip time.")
        .or("false")
        .refused_by(Engine::Linux, "is not sent by Linux"),
    KeySpec::new(
        "max_pacing_rate",
        ValueForm::Any(&[ValueForm::of::<Rate>(), ValueForm::Words(&[SCONE])]),
        "Maximum rate of payload at which the sender paces; scone: the throughput advice of the policers on the path.",
    )
    .refused_by(Engine::Fluid, "the fluid model has no pacing; leave it out"),
];

/// The value of `max_pacing_rate` that follows throughput advice (draft-ietf-scone-protocol).
const SCONE: &str = "scone";

/// Headers of UDP and IP (RFC 768, RFC 791 without options).
const UDP: &[KeySpec] = &[packet("1 B", "Payload of a packet; default: 1000 B."), header("28 B"), ACCESS_RATE];

/// The default of `packet` is what libwebrtc fills; headers are those of RTP without extensions (RFC 3550), UDP and IP.
const RTP: &[KeySpec] = &[packet("1 B", "RTP payload of a full packet; default: 1200 B."), header("40 B"), ACK_PATH];

/// QUIC packets have at least 1200 B (RFC 9000, section 14). The default is what quinn finds on a path of 1500 B.
const QUIC_PACKETS: &[KeySpec] = &[packet("1200 B", "UDP payload of a full packet; default: 1452 B."), ACK_PATH];

/// UDP and IP (RFC 768, RFC 791 without options).
const UDP_HEADER: Bytes = Bytes(28.0);

/// RTP payload of a full packet, bytes: what libwebrtc fills.
const RTP_PAYLOAD: u32 = 1200;

/// UDP payload of a full QUIC packet, bytes: what quinn finds out on a path of 1500 B.
const QUIC_PAYLOAD: u32 = 1452;

/// A group of flows alike in all but what their distributions draw.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Name that results carry.
    pub name: String,
    /// The kind of traffic.
    pub traffic: Traffic,
    /// Indices of the links crossed, in order.
    pub path: Vec<usize>,
    /// Indices of the links that ACKs queue at on their way back, in order; none: they return without queueing.
    pub ack_path: Vec<usize>,
    /// On lines, or at stations: the way of the flows of each, in order; `path` and `ack_path` are those of the first. Empty elsewhere.
    pub branches: Vec<Branch>,
    /// On a fabric: the hosts that the flows go between.
    pub ends: Option<Arc<HostRange>>,
    /// Hosts that the flows are spread over, on lines and at stations those of each; one for each flow if `None`.
    pub hosts: Option<u32>,
    /// Round-trip propagation of the whole path, link delays included.
    pub rtt: Distribution<Span>,
    /// Flows that start (and stop) together.
    pub batches: Vec<Batch>,
    /// Each flow starts later by up to so many of its round trips, drawn evenly.
    pub start_spread: f64,
    /// Payload of a packet, bytes.
    pub payload: u32,
    /// Headers of a packet, bytes.
    pub header: u32,
    /// Rate of the links between hosts and the path; `None` takes no time to send.
    pub access_rate: Option<Rate>,
    /// The codepoint of the packets if the endpoints speak ECN: ECT(0) or ECT(1).
    pub ecn: Ecn,
    /// DSCP of the packets, 0 to 63.
    pub dscp: u8,
    /// Packets carry the sender's smoothed round-trip time.
    pub rtt_notification: bool,
    /// The phases that its senders go through are recorded.
    pub phases: bool,
    /// Maximum rate of payload at which its senders pace.
    pub max_pacing_rate: Option<Rate>,
    /// That is the throughput advice of the policers on the path.
    pub scone: bool,
    /// TCP profile.
    pub profile: Profile,
    /// The scenario sets constants of TCP and leaves their profile to the default.
    pub lacks_profile: bool,
    /// Loss recovery.
    pub variant: TcpVariant,
    /// TCP constants.
    pub tcp: TcpParams,
    /// Congestion control, with its parameters.
    pub control: LawChoice,
}

/// So many flows that start and stop by the same distributions.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The number of flows.
    pub count: u32,
    /// The start of each.
    pub start: Distribution<Span>,
    /// The end of each, if any.
    pub stop: Option<Distribution<Span>>,
}

/// The way of a member of a group of flows on a tree or in a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// Number of its line among those of the plan, whether all of them are built or not, or of its station in the cell.
    pub number: u32,
    /// Indices of the links crossed, in order.
    pub path: Vec<usize>,
    /// Indices of the links that ACKs queue at.
    pub ack_path: Vec<usize>,
    /// The part of the tree where its line is.
    pub region: u16,
}

/// The hosts between which the flows of a group go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRange {
    /// Those that send.
    pub from: Arc<[u32]>,
    /// Those that receive.
    pub to: Arc<[u32]>,
}

/// The way of a group's packets.
pub struct FlowWay {
    /// Indices of the links crossed, in order.
    pub path: Vec<usize>,
    /// Indices of the links that ACKs queue at.
    pub ack_path: Vec<usize>,
    /// The way of the flows on each line, or at each station.
    pub branches: Vec<Branch>,
    /// The hosts of a fabric that the flows go between.
    pub ends: Option<Arc<HostRange>>,
    /// Rate of their transfers on the wire, if that is given in place of their arrivals.
    pub load: Option<Rate>,
}

impl FlowSpec {
    /// The keys that it uses and an engine lacks, each with the reason.
    pub fn refusals(&self, engine: Engine) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = [
            ("phases", self.phases),
            ("rtt_notification", self.rtt_notification),
            ("max_pacing_rate", self.max_pacing_rate.is_some()),
            ("start_spread", self.start_spread > 0.0),
        ];
        FLOWS.refusals(own.into_iter().filter(|(_, is_used)| *is_used).map(|(key, _)| key), engine)
    }

    /// Flows in the group.
    pub fn count(&self) -> u32 {
        self.count_of_line().saturating_mul(self.branches.len().max(1) as u32)
    }

    /// Flows of a line, or of the group where it is not on lines.
    pub fn count_of_line(&self) -> u32 {
        self.batches.iter().fold(0, |flows, batch| flows.saturating_add(batch.count))
    }

    /// Data cross the link.
    pub fn sends_over(&self, link: usize) -> bool {
        self.path.contains(&link) || self.branches.iter().any(|branch| branch.path.contains(&link))
    }

    /// ACKs queue at the link.
    pub fn acknowledges_over(&self, link: usize) -> bool {
        self.ack_path.contains(&link) || self.branches.iter().any(|branch| branch.ack_path.contains(&link))
    }

    /// Size of a data packet on the wire, bytes.
    pub fn wire_size(&self) -> u32 {
        self.payload + self.header
    }

    /// Propagation of the links crossed, there and back, from the delay of each. Where ACKs queue nowhere, they return
    /// along the same links.
    pub fn own_delay(&self, delay: impl Fn(usize) -> Span) -> Span {
        let sum = |path: &[usize]| path.iter().map(|link| delay(*link).0).sum::<u64>();
        let back = if self.ack_path.is_empty() { &self.path } else { &self.ack_path };
        Span(sum(&self.path) + sum(back))
    }

    /// Times at which flows of this group start or stop together, as scripted.
    pub(super) fn scripted_changes(&self) -> impl Iterator<Item = Span> {
        let times = self.batches.iter().flat_map(|batch| [Some(&batch.start), batch.stop.as_ref()]);
        times.flatten().filter_map(|time| if let Distribution::Fixed(time) = time { Some(*time) } else { None })
    }

    /// Everything that a run depends on, as JSON.
    pub(super) fn resolved(&self) -> Json {
        let batches: Vec<Json> = self
            .batches
            .iter()
            .map(
                |b| json!({"count": b.count, "start": b.start.text(), "stop": b.stop.as_ref().map(|stop| stop.text())}),
            )
            .collect();
        let mut shown = json!({
            "name": self.name,
            "kind": self.traffic.kind(),
            "path": self.path,
            "rtt": self.rtt.text(),
            "groups": batches,
            "start_spread": self.start_spread,
            "packet": format!("{} B", self.payload),
            "header": format!("{} B", self.header),
            "access_rate": self.access_rate.map(|rate| rate.text()),
            "ecn": match (self.ecn, self.control.needs().l4s) {
                (Ecn::Ect1, _) => json!("ect1"),
                (Ecn::Ect0, true) => json!("ect0"), // true is ECT(1) there
                _ => json!(self.ecn.is_capable()),
            },
            "class": class_of(self.dscp),
            "hosts": self.hosts,
            "phases": self.phases,
        });
        if self.dscp != class_of(self.dscp) << 3 {
            shown["dscp"] = json!(self.dscp);
        }
        if let Some(rate) = self.max_pacing_rate {
            shown["max_pacing_rate"] = if self.scone { json!(SCONE) } else { json!(rate.text()) };
        }
        if let Some(ends) = &self.ends {
            (shown["from"], shown["to"]) = (ranges(&ends.from).into(), ranges(&ends.to).into());
        }
        let more = self.traffic.resolved().into_iter().chain(self.resolved_tcp());
        shown.as_object_mut().expect("made as an object above").extend(more);
        shown
    }

    fn resolved_tcp(&self) -> Map<String, Json> {
        if !self.traffic.is_tcp() {
            return Map::new();
        }
        let mut tcp = BTreeMap::from_iter(self.tcp.values());
        tcp.insert("variant", self.variant.text());
        tcp.insert("profile", self.profile.text());
        tcp.insert("congestion_control", self.control.text());
        let pairs = [
            ("ack_path", json!(self.ack_path)),
            ("rtt_notification", json!(self.rtt_notification)),
            ("tcp", json!(tcp)),
        ];
        pairs.into_iter().map(|(key, value)| (key.to_string(), value)).collect()
    }
}

/// Ascending numbers in short: `0-3, 7`.
fn ranges(numbers: &[u32]) -> String {
    let rows = numbers.chunk_by(|a, b| a + 1 == *b).map(|row| match row {
        [one] => one.to_string(),
        [first, .., last] => format!("{first}-{last}"),
        [] => String::new(),
    });
    rows.collect::<Vec<_>>().join(", ")
}

/// One `[[flows]]`, whose table stands at `at`; `read_way` reads where they are.
pub fn read_flows(
    table: &Table,
    at: &str,
    read_way: impl FnOnce(&mut TableReader, Option<&Traffic>) -> Option<FlowWay>,
    found: &mut Vec<Problem>,
) -> Option<FlowSpec> {
    let mut flow = TableReader::new(table, at, &FLOWS, found);
    let name = flow.name("flows");
    let traffic = read_traffic(&mut flow);
    let is_tcp = traffic.as_ref().is_none_or(Traffic::is_tcp);
    let media = traffic.as_ref().and_then(Traffic::media).cloned();
    let is_quic = traffic.as_ref().is_some_and(Traffic::is_foreign);
    let way = read_way(&mut flow, traffic.as_ref());
    let rtt = required_distribution(&mut flow, "rtt");
    let payload = flow.optional("packet").map(|bytes: Bytes| bytes.0.round() as u32);
    let access_rate: Option<Rate> = if is_quic || media.is_some() { None } else { flow.optional("access_rate") };
    let dscp = read_dscp(&mut flow);
    let hosts = flow.optional("hosts");
    let (rtt_notification, tcp) = match is_tcp {
        true => (flow.or_default("rtt_notification"), read_tcp(&mut flow)),
        false => (false, Some(Tcp::none())),
    };
    let ecn = match &media {
        Some(media) => read_media_ecn(&mut flow, media.law),
        None => read_ecn(&mut flow, tcp.as_ref().map(|tcp| &tcp.control).filter(|_| is_tcp)),
    };
    let header = match is_tcp {
        true => tcp.as_ref().map(|tcp| tcp.params.header),
        false if is_quic => Some(UDP_HEADER),
        false => flow.optional_or_default("header"),
    };
    let pacing = if is_tcp { read_max_pacing_rate(&mut flow) } else { Some((None, false)) };
    let phases = flow.or_default("phases");
    if phases && !traffic.as_ref().is_none_or(Traffic::has_lasting_senders) {
        flow.refuse("phases", "\"true\" needs senders that last; expected kind = \"ftp\" or \"app-limited\"");
    }
    let batches = read_batches(&mut flow);
    let start_spread = flow.or_default("start_spread");
    flow.finish();
    let Tcp { profile, lacks_profile, variant, params, control } = tcp?;
    let FlowWay { path, ack_path, branches, ends, load } = way?;
    let default_payload = match &media {
        Some(_) => RTP_PAYLOAD,
        None if is_quic => QUIC_PAYLOAD,
        None => profile.default_payload(),
    };
    let (payload, header) = (payload.unwrap_or(default_payload), header?);
    let mut traffic = traffic?;
    if let (Traffic::Short { arrivals, size }, Some(rate)) = (&mut traffic, load) {
        *arrivals = Frequency(rate.0 / (8.0 * (f64::from(payload) + header.0) * size.mean()));
    }
    let (max_pacing_rate, scone) = pacing?;
    Some(FlowSpec {
        name,
        traffic,
        path,
        ack_path,
        branches,
        ends,
        rtt: rtt?,
        batches: batches?,
        start_spread,
        payload,
        header: header.0.round() as u32,
        access_rate,
        ecn: ecn?,
        dscp: dscp?,
        hosts,
        rtt_notification,
        phases,
        max_pacing_rate,
        scone,
        profile,
        lacks_profile,
        variant,
        tcp: params,
        control,
    })
}

/// `dscp`, or `class`, its upper three bits where the lower are 0.
fn read_dscp(flow: &mut TableReader) -> Option<u8> {
    let [class, dscp]: [u32; 2] = ["class", "dscp"].map(|key| flow.or_default(key));
    if flow.raw("class").is_some() && flow.raw("dscp").is_some() {
        flow.refuse("class", "is the upper part of dscp, which is set too; leave one of them out");
        return None;
    }
    Some((class << 3 | dscp) as u8)
}

/// The codepoint of the endpoints' packets, if they speak ECN; `law` is that of a TCP.
fn read_ecn(flow: &mut TableReader, law: Option<&LawChoice>) -> Option<Ecn> {
    let is_l4s = law.is_some_and(|law| law.needs().l4s);
    let own = if is_l4s { Ecn::Ect1 } else { Ecn::Ect0 };
    let Some(value) = flow.raw("ecn") else { return Some(if is_l4s { own } else { Ecn::NotEct }) };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    match (text.as_str(), law) {
        ("false", _) => Some(Ecn::NotEct),
        ("true", _) => Some(own),
        ("ect0", _) => Some(Ecn::Ect0),
        ("ect1", Some(law)) if !law.needs().is_scalable() => {
            let scalable = cc::entries().into_iter().filter(|entry| entry.needs.is_scalable());
            let scalable: Vec<_> = scalable.map(|entry| format!("\"{}\"", entry.info.name)).collect();
            flow.refuse(
                "ecn",
                format!(
                    "\"ect1\" requires a scalable controller (RFC 9331), and \"{}\" is not one; expected \
                     true, false or \"ect0\", or tcp = {}",
                    law.name(),
                    scalable.join(" or ")
                ),
            );
            None
        }
        ("ect1", _) => Some(Ecn::Ect1),
        _ => {
            flow.refuse("ecn", format!("\"{}\" is not true, false, \"ect0\" or \"ect1\"", clip(&text)));
            None
        }
    }
}

/// One distribution for all flows, or `groups = [{ count, start, stop }, ...]`.
fn read_batches(flow: &mut TableReader) -> Option<Vec<Batch>> {
    let groups = flow.tables("groups");
    if groups.is_empty() {
        return read_batch(flow).map(|batch| vec![batch]);
    }
    flow.refuse_all(&["count", "start", "stop"], "cannot be combined with groups; give it in each group");
    let mut batches = Vec::new();
    for (i, table) in groups.into_iter().enumerate() {
        let path = flow.path(&format!("groups.{i}"));
        let mut group = TableReader::new(table, path, &GROUPS, flow.found());
        batches.push(read_batch(&mut group));
        group.finish();
    }
    batches.into_iter().collect()
}

fn read_batch(flow: &mut TableReader) -> Option<Batch> {
    let count = flow.optional_or_default("count");
    let start = if flow.raw("start").is_some() {
        read_distribution(flow, "start")
    } else {
        Some(Distribution::Fixed(Span::ZERO))
    };
    let (has_stop, stop) = (flow.raw("stop").is_some(), read_distribution(flow, "stop"));
    if has_stop && stop.is_none() {
        return None;
    }
    Some(Batch { count: count?, start: start?, stop })
}

/// The greatest pace of senders, and whether it is to be the throughput advice of policers. `None` if it is wrong.
fn read_max_pacing_rate(flow: &mut TableReader) -> Option<(Option<Rate>, bool)> {
    const KEY: &str = "max_pacing_rate";
    let Some(value) = flow.raw(KEY) else { return Some((None, false)) };
    let text = scalar(value).ok_or_else(|| format!("expected a rate such as \"10 Mbit/s\", found {}", kind(value)));
    if text.as_deref() == Ok(SCONE) {
        return Some((None, true));
    }
    let rate = text.and_then(|text| read_in_range(ParamInput::Text(&text), Some(RATES)));
    rate.map_err(|why| flow.refuse(KEY, format!("{why}, or \"{SCONE}\""))).ok().map(|rate| (Some(rate), false))
}
