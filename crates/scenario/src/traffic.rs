//! The traffic of a group of flows.

use crate::distribution::{Distribution, RandomQuantity};
use crate::keys::{KeySpec, MOST_BYTES, RATES, ValueForm};
use crate::media::{Media, read_media};
use crate::table_reader::{TableReader, kind, scalar};
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Frequency, Packets, Quantity, Rate, Span};
use serde_json::{Map, Value as Json, json};
use toml::Value;

/// The bitrates that a video may have.
const BITRATES: (&str, &str) = ("1 kbit/s", "1 Gbit/s");

const fn offered_rate(doc: &'static str) -> KeySpec {
    KeySpec::of::<Rate>("rate", doc).within(RATES.0, RATES.1).required("\"64 kbit/s\"")
}

/// Keys of `app-limited`.
pub const APP_LIMITED: &[KeySpec] = &[
    offered_rate("Payload that the application offers while it is on.").changeable(),
    KeySpec::of::<Packets>("chunk", "Segments that it offers at once.")
        .within("1 packet", "1000000 packets")
        .whole()
        .or("1 packet"),
    on_or_off("on", "Times that it is on; default: always."),
    on_or_off("off", "Times that it is off; it begins with one."),
];

/// Keys of `udp-cbr`.
pub const CBR: &[KeySpec] = &[offered_rate("Rate on the wire, headers included.")];

/// Keys of `udp-onoff`.
pub const ON_OFF: &[KeySpec] = &[
    KeySpec::of::<Rate>("rate_on", "Rate on the wire while on, headers included.")
        .within(RATES.0, RATES.1)
        .required("\"64 kbit/s\""),
    on_or_off("on", "Times that a source is on.").required("{ exponential = \"500 ms\" }"),
    on_or_off("off", "Times that it is off; it begins with one.").required("{ exponential = \"500 ms\" }"),
];

const fn on_or_off(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec::distribution::<Span>(name, doc).example("{ exponential = \"500 ms\" }")
}

const SIZE: KeySpec = KeySpec::distribution::<Packets>("size", "Data of a transfer.")
    .required("{ pareto = { mean = \"12 packets\", shape = 1.2 } }");

/// Keys of `http`.
pub const HTTP: &[KeySpec] = &[
    KeySpec::distribution::<f64>("pages", "Pages of a session; default: no end."),
    KeySpec::distribution::<Span>("think_time", "Time between pages.").required("{ exponential = \"1 s\" }"),
    KeySpec::new(
        "think_after",
        ValueForm::Words(&["page", "request"]),
        "That time counts from the end of a page or its last request.",
    )
    .or("page"),
    KeySpec::distribution::<f64>("objects", "Objects of a page.").or("1"),
    KeySpec::distribution::<Span>("object_gap", "Time between the requests of a page's objects.").or("0 s"),
    SIZE,
    KeySpec::of::<f64>("request_round_trips", "Time from a request to the transfer, in round trips.")
        .within("0", "1000")
        .or("0"),
];

/// Keys of `video`.
pub const VIDEO: &[KeySpec] = &[
    KeySpec::new(
        "bitrates",
        ValueForm::Some(&ValueForm::of::<Rate>().within(BITRATES.0, BITRATES.1)),
        "The bitrates, ascending.",
    )
    .required("[\"1 Mbit/s\", \"3 Mbit/s\", \"6 Mbit/s\"]"),
    KeySpec::of::<Span>("segment", "Playing time of a segment.").within("100 ms", "60 s").or("4 s"),
    KeySpec::of::<Span>("playback_buffer", "Playing time that is fetched ahead at most.")
        .within("100 ms", "3600 s")
        .or("30 s"),
];

/// Keys of `short`.
pub const SHORT: &[KeySpec] = &[
    KeySpec::of::<Frequency>("arrivals", "Transfers that begin per second.")
        .within("0.000001 Hz", "1000000 Hz")
        .example("\"50 Hz\""),
    KeySpec::of::<f64>("load", "On a fabric, instead of `arrivals`: share of the links of the hosts that send.")
        .within("0.000001", "10"),
    SIZE,
];

/// Keys of `quic`.
pub const QUIC: &[KeySpec] = &[
    KeySpec::of::<Bytes>("size", "Data of the stream; default: no end.").within("1 B", MOST_BYTES),
    KeySpec::new("congestion_control", ValueForm::Words(&QuicControl::NAMES), "The stack's own congestion control.")
        .or("cubic"),
];

/// The traffic of a group of flows.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Unlimited data over TCP.
    Ftp,
    /// Data over TCP that the application offers at a rate, which may be less than what the network carries.
    AppLimited(OfferedData),
    /// Datagrams at a constant rate.
    UdpCbr {
        /// On the wire, headers included.
        rate: Rate,
    },
    /// Datagrams at a constant rate while on, none while off; begins with an off time.
    UdpOnOff {
        /// On the wire while on, headers included.
        rate: Rate,
        /// Time that a source is on; at least one packet is sent.
        on: Distribution<Span>,
        /// Time that it is off.
        off: Distribution<Span>,
    },
    /// Web sessions: each object of each page is a TCP transfer of its own.
    Http(Pages),
    /// Players of adaptive video: each segment is a transfer on the player's one connection.
    Video(Video),
    /// TCP transfers with Poisson arrivals.
    Short {
        /// Transfers that begin per second, over all hosts of the group.
        arrivals: Frequency,
        /// Data of a transfer.
        size: Distribution<Packets>,
    },
    /// Pictures of a call, sent as datagrams at a rate that may adapt.
    Media(Media),
    /// Connections of a QUIC stack that is not part of the simulator (`crates/quic`), each with one stream.
    Quic(Quic),
    /// Whatever the program sends that hosts the simulation. No scenario has it.
    Foreign,
}

/// Data that an application offers over time.
#[derive(Clone, Debug)]
pub struct OfferedData {
    /// Payload while it is on.
    pub rate: Rate,
    /// Segments that it offers at once.
    pub chunk: u32,
    /// Times that it is on and off; `None`: always on. It begins with an off time.
    pub on_off: Option<(Distribution<Span>, Distribution<Span>)>,
}

/// A QUIC connection.
#[derive(Clone, Debug)]
pub struct Quic {
    /// Data of its stream, bytes; `None` for no end.
    pub size: Option<Bytes>,
    /// The stack's own congestion control.
    pub control: QuicControl,
}

/// The laws of congestion control of quinn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuicControl {
    /// CUBIC (RFC 9438), its default.
    #[default]
    Cubic,
    /// NewReno (RFC 9002).
    NewReno,
    /// BBR, its experimental first version.
    Bbr,
}

impl QuicControl {
    const ALL: [Self; 3] = [Self::Cubic, Self::NewReno, Self::Bbr];
    /// Their names in a scenario.
    pub const NAMES: [&str; 3] = ["cubic", "newreno", "bbr"];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The distributions of a web session; numbers drawn are rounded up to whole ones.
#[derive(Clone, Debug)]
pub struct Pages {
    /// Pages of a session; `None` for no end.
    pub pages: Option<Distribution<f64>>,
    /// Time between pages.
    pub think_time: Distribution<Span>,
    /// That time counts from the end of a page, not from its last request.
    pub think_after_page: bool,
    /// Objects of a page.
    pub objects: Distribution<f64>,
    /// Time between the requests of a page's objects.
    pub object_gap: Distribution<Span>,
    /// Data of an object.
    pub size: Distribution<Packets>,
    /// Time from a request until the transfer of the object begins, in round-trip propagations.
    pub request_round_trips: f64,
}

/// The bitrates and the buffer of a player of adaptive video.
#[derive(Clone, Debug)]
pub struct Video {
    /// The bitrates offered, ascending.
    pub bitrates: Vec<Rate>,
    /// Playing time of a segment.
    pub segment: Span,
    /// Playing time that is fetched ahead at most.
    pub playback_buffer: Span,
}

impl Traffic {
    /// The media that it is.
    pub fn media(&self) -> Option<&Media> {
        match self {
            Traffic::Media(media) => Some(media),
            _ => None,
        }
    }

    /// Its name in a scenario.
    pub fn kind(&self) -> &'static str {
        match self {
            Traffic::Ftp => "ftp",
            Traffic::AppLimited(_) => "app-limited",
            Traffic::UdpCbr { .. } => "udp-cbr",
            Traffic::UdpOnOff { .. } => "udp-onoff",
            Traffic::Http(_) => "http",
            Traffic::Video(_) => "video",
            Traffic::Short { .. } => "short",
            Traffic::Media(_) => "media",
            Traffic::Quic(_) => "quic",
            Traffic::Foreign => "foreign",
        }
    }

    /// Its ends are outside of the simulation: another program's, which takes part by its packets.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Traffic::Quic(_) | Traffic::Foreign)
    }

    /// It goes over TCP.
    pub fn is_tcp(&self) -> bool {
        !self.is_udp() && !self.is_foreign()
    }

    /// Transfers without end.
    pub fn is_long(&self) -> bool {
        matches!(self, Traffic::Ftp | Traffic::Quic(Quic { size: None, .. }))
    }

    /// It goes over TCP, with a sender for each flow from its start to its end.
    pub fn has_lasting_senders(&self) -> bool {
        matches!(self, Traffic::Ftp | Traffic::AppLimited(_))
    }

    /// It is transfers that clients ask for.
    pub fn has_clients(&self) -> bool {
        matches!(self, Traffic::Http(_) | Traffic::Video(_) | Traffic::Short { .. })
    }

    /// Rate of a source of datagrams while it sends, headers included.
    pub fn rate(&self) -> Option<Rate> {
        match self {
            Traffic::UdpCbr { rate } | Traffic::UdpOnOff { rate, .. } => Some(*rate),
            _ => None,
        }
    }

    /// It is datagrams of a source.
    pub fn is_udp(&self) -> bool {
        matches!(self, Traffic::UdpCbr { .. } | Traffic::UdpOnOff { .. } | Traffic::Media(_))
    }

    /// The values of its keys, as JSON.
    pub(super) fn resolved(&self) -> Map<String, Json> {
        let pairs = match self {
            Traffic::Ftp | Traffic::Foreign => vec![],
            Traffic::AppLimited(OfferedData { rate, chunk, on_off }) => {
                let times = on_off.iter().flat_map(|(on, off)| [("on", on.text()), ("off", off.text())]);
                [("rate", rate.text()), ("chunk", format!("{chunk} packets"))].into_iter().chain(times).collect()
            }
            Traffic::Quic(Quic { size, control }) => {
                let size = size.map_or("no end".into(), |size| format!("{} B", size.0));
                vec![("size", size), ("congestion_control", control.name().into())]
            }
            Traffic::Media(media) => media.resolved(),
            Traffic::UdpCbr { rate } => vec![("rate", rate.text())],
            Traffic::UdpOnOff { rate, on, off } => {
                vec![("rate_on", rate.text()), ("on", on.text()), ("off", off.text())]
            }
            Traffic::Short { arrivals, size } => vec![("arrivals", arrivals.text()), ("size", size.text())],
            Traffic::Video(video) => {
                let bitrates: Vec<String> = video.bitrates.iter().map(|rate| rate.text()).collect();
                let times = [("segment", video.segment), ("playback_buffer", video.playback_buffer)];
                let times = times.map(|(key, span)| (key.to_string(), json!(span.text())));
                return times.into_iter().chain([("bitrates".to_string(), json!(bitrates))]).collect();
            }
            Traffic::Http(session) => vec![
                ("pages", session.pages.as_ref().map_or("no end".into(), |pages| pages.text())),
                ("think_time", session.think_time.text()),
                ("think_after", if session.think_after_page { "page" } else { "request" }.into()),
                ("objects", session.objects.text()),
                ("object_gap", session.object_gap.text()),
                ("size", session.size.text()),
                ("request_round_trips", session.request_round_trips.text()),
            ],
        };
        pairs.into_iter().map(|(key, value)| (key.to_string(), Json::from(value))).collect()
    }
}

/// The traffic of one `[[flows]]`, by its `kind`; `ftp` if there is none.
pub fn read_traffic(flow: &mut TableReader) -> Option<Traffic> {
    match flow.kind()? {
        "app-limited" => read_offered(flow).map(Traffic::AppLimited),
        "udp-cbr" => flow.required("rate").map(|rate| Traffic::UdpCbr { rate }),
        "udp-onoff" => read_on_off(flow),
        "media" => read_media(flow).map(Traffic::Media),
        "http" => read_pages(flow).map(Traffic::Http),
        "video" => read_video(flow).map(Traffic::Video),
        "short" => read_short(flow),
        "quic" => read_quic(flow).map(Traffic::Quic),
        _ => Some(Traffic::Ftp),
    }
}

/// The distribution at `key`, if it is there and right.
pub fn read_distribution<Q: RandomQuantity>(flow: &mut TableReader, key: &'static str) -> Option<Distribution<Q>> {
    let value = flow.raw(key)?;
    Distribution::read(value).map_err(|reason| flow.refuse(key, reason)).ok()
}

/// The distribution at `key`; its absence is a problem.
pub fn required_distribution<Q: RandomQuantity>(flow: &mut TableReader, key: &'static str) -> Option<Distribution<Q>> {
    if flow.raw(key).is_none() {
        flow.miss(key);
    }
    read_distribution(flow, key)
}

/// The distribution at `key`, or `otherwise` where there is none.
fn law_or<Q: RandomQuantity>(
    flow: &mut TableReader,
    key: &'static str,
    otherwise: Distribution<Q>,
) -> Option<Distribution<Q>> {
    if flow.raw(key).is_some() { read_distribution(flow, key) } else { Some(otherwise) }
}

fn read_on_off(flow: &mut TableReader) -> Option<Traffic> {
    let rate = flow.required("rate_on");
    let (on, off) = (required_distribution(flow, "on"), required_distribution::<Span>(flow, "off"));
    Some(Traffic::UdpOnOff { rate: rate?, on: on?, off: off? })
}

fn read_offered(flow: &mut TableReader) -> Option<OfferedData> {
    let rate = flow.required("rate");
    let chunk: Option<Packets> = flow.optional_or_default("chunk");
    if chunk.is_some_and(|chunk| chunk.0.fract() != 0.0) {
        flow.refuse("chunk", "must be whole packets");
    }
    let on_off = match (flow.raw("on").is_some(), flow.raw("off").is_some()) {
        (false, false) => None,
        _ => {
            let on = required_distribution(flow, "on");
            let off = required_distribution::<Span>(flow, "off");
            Some((on?, off?))
        }
    };
    Some(OfferedData { rate: rate?, chunk: chunk?.0 as u32, on_off })
}

/// ns-2's WebTraf: exponential times, Pareto sizes.
fn read_pages(flow: &mut TableReader) -> Option<Pages> {
    let pages = match flow.raw("pages") {
        None => None,
        Some(_) => Some(counted(flow, "pages")?),
    };
    let think_time = required_distribution(flow, "think_time");
    let objects = if flow.raw("objects").is_some() { counted(flow, "objects") } else { Some(Distribution::Fixed(1.0)) };
    let object_gap = law_or(flow, "object_gap", Distribution::Fixed(Span::ZERO));
    let size = read_size(flow);
    let think_after_page = flow.word("think_after", "choice")? == "page";
    let request_round_trips = flow.or_default("request_round_trips");
    let (think_time, objects, object_gap, size) = (think_time?, objects?, object_gap?, size?);
    if !think_after_page && think_time.typical_largest() < Span::from_seconds(1e-6) {
        flow.refuse("think_time", format!("\"{}\" is too short; at least 1 us after a request", think_time.text()));
        return None;
    }
    Some(Pages { pages, think_time, think_after_page, objects, object_gap, size, request_round_trips })
}

fn read_video(flow: &mut TableReader) -> Option<Video> {
    let bitrates = read_bitrates(flow);
    let segment: Option<Span> = flow.optional_or_default("segment");
    let playback_buffer: Option<Span> = flow.optional_or_default("playback_buffer");
    let (bitrates, segment, playback_buffer) = (bitrates?, segment?, playback_buffer?);
    if playback_buffer < segment {
        let (buffer, segment) = (playback_buffer.text(), segment.text());
        flow.refuse("playback_buffer", format!("\"{buffer}\" holds no segment, which takes \"{segment}\""));
        return None;
    }
    Some(Video { bitrates, segment, playback_buffer })
}

/// A ladder of bitrates, from the least to the greatest.
fn read_bitrates(flow: &mut TableReader) -> Option<Vec<Rate>> {
    const KEY: &str = "bitrates";
    let read = |value: &Value| {
        let text =
            scalar(value).ok_or_else(|| format!("expected a rate such as \"3 Mbit/s\", found {}", kind(value)))?;
        read_in_range(ParamInput::Text(&text), Some(BITRATES))
    };
    let ladder: Result<Vec<Rate>, String> = match flow.raw(KEY) {
        None => Err("missing; write e.g. bitrates = [\"1 Mbit/s\", \"3 Mbit/s\", \"6 Mbit/s\"]".into()),
        Some(Value::Array(values)) if !values.is_empty() => values.iter().map(read).collect(),
        Some(Value::Array(_)) => Err("expected one bitrate or more, found an empty list".into()),
        Some(other) => Err(format!("expected a list of rates, found {}", kind(other))),
    };
    let ladder = ladder.map_err(|reason| flow.refuse(KEY, reason)).ok()?;
    if let Some(pair) = ladder.windows(2).find(|pair| pair[0] >= pair[1]) {
        flow.refuse(
            KEY,
            format!("\"{}\" is not above \"{}\": list them in ascending order", pair[1].text(), pair[0].text()),
        );
        return None;
    }
    Some(ladder)
}

fn read_short(flow: &mut TableReader) -> Option<Traffic> {
    let arrivals: Option<Frequency> = match flow.raw("load") {
        Some(_) => Some(Frequency(1.0)), // follows from the load and the size of packets, which is not known yet
        None => flow.required("arrivals"),
    };
    let size = read_size(flow);
    Some(Traffic::Short { arrivals: arrivals?, size: size? })
}

fn read_quic(flow: &mut TableReader) -> Option<Quic> {
    let size = if flow.raw("size").is_some() { Some(flow.optional("size")?) } else { None };
    let name = flow.word("congestion_control", "controller")?;
    let control = QuicControl::ALL.into_iter().find(|control| control.name() == name)?;
    Some(Quic { size, control })
}

/// A transfer has at least one packet; draws below are rounded up.
fn read_size(flow: &mut TableReader) -> Option<Distribution<Packets>> {
    let size: Distribution<Packets> = required_distribution(flow, "size")?;
    at_least_one(flow, "size", size)
}

/// A distribution over numbers of something: pages, objects.
fn counted(flow: &mut TableReader, key: &'static str) -> Option<Distribution<f64>> {
    let numbers = read_distribution(flow, key)?;
    at_least_one(flow, key, numbers)
}

fn at_least_one<Q: RandomQuantity>(
    flow: &mut TableReader,
    key: &'static str,
    numbers: Distribution<Q>,
) -> Option<Distribution<Q>> {
    if numbers.typical_largest().number() >= 1.0 {
        return Some(numbers);
    }
    flow.refuse(key, format!("\"{}\" is out of range: must be 1 or more", clip(&numbers.text())));
    None
}
