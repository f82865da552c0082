//! The keys of a group of flows, by its kind of traffic.

use crate::keys::{Engine, KeySpec, Kind, MOST_BYTES, RATES, Section, ValueForm};
use crate::media::MediaLaw;
use crate::traffic::{BITRATES, QuicControl};
use aqmlab_core::{Bytes, Frequency, Packets, Quantity, Rate, Span};

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
    Kind { name: "media", doc: "Frames of a call, at a rate that may adapt.", keys: &[MEDIA] },
    Kind { name: "http", doc: "Web sessions: each object of each page is a TCP transfer.", keys: &[HTTP, TCP] },
    Kind { name: "video", doc: "Players of adaptive video: each segment is a transfer.", keys: &[VIDEO, TCP] },
    Kind { name: "short", doc: "TCP transfers with Poisson arrivals.", keys: &[SHORT, TCP] },
    Kind { name: "quic", doc: "Connections of a QUIC stack, each with one stream.", keys: &[QUIC] },
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
pub const SCONE: &str = "scone";

/// Headers of UDP and IP (RFC 768, RFC 791 without options).
const UDP: &[KeySpec] = &[packet("1 B", "Payload of a packet; default: 1000 B."), header("28 B"), ACCESS_RATE];

const fn offered_rate(doc: &'static str) -> KeySpec {
    KeySpec::of::<Rate>("rate", doc).within(RATES.0, RATES.1).required("\"64 kbit/s\"")
}

const fn on_or_off(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec::distribution::<Span>(name, doc).example("{ exponential = \"500 ms\" }")
}

const APP_LIMITED: &[KeySpec] = &[
    offered_rate("Payload that the application offers while it is on.").changeable(),
    KeySpec::of::<Packets>("chunk", "Segments that it offers at once.")
        .within("1 packet", "1000000 packets")
        .whole()
        .or("1 packet"),
    on_or_off("on", "Times that it is on; default: always."),
    on_or_off("off", "Times that it is off; it begins with one."),
];

const CBR: &[KeySpec] = &[offered_rate("Rate on the wire, headers included.")];

const ON_OFF: &[KeySpec] = &[
    KeySpec::of::<Rate>("rate_on", "Rate on the wire while on, headers included.")
        .within(RATES.0, RATES.1)
        .required("\"64 kbit/s\""),
    on_or_off("on", "Times that a source is on.").required("{ exponential = \"500 ms\" }"),
    on_or_off("off", "Times that it is off; it begins with one.").required("{ exponential = \"500 ms\" }"),
];

const SIZE: KeySpec = KeySpec::distribution::<Packets>("size", "Data of a transfer.")
    .required("{ pareto = { mean = \"12 packets\", shape = 1.2 } }");

const HTTP: &[KeySpec] = &[
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

const VIDEO: &[KeySpec] = &[
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

const SHORT: &[KeySpec] = &[
    KeySpec::of::<Frequency>("arrivals", "Transfers that begin per second.")
        .within("0.000001 Hz", "1000000 Hz")
        .example("\"50 Hz\""),
    KeySpec::of::<f64>("load", "On a fabric, instead of `arrivals`: share of the links of the hosts that send.")
        .within("0.000001", "10"),
    SIZE,
];

const fn media_rate(name: &'static str, doc: &'static str, default: &'static str) -> KeySpec {
    KeySpec::of::<Rate>(name, doc).within("1 kbit/s", "10 Gbit/s").or(default)
}

/// The default of `packet` is what libwebrtc fills; headers are those of RTP without extensions (RFC 3550), UDP and IP.
const MEDIA: &[KeySpec] = &[
    KeySpec::new("law", ValueForm::Words(MediaLaw::CHOICES), "Adapts the encoder's rate to the path.").or("constant"),
    media_rate("rate", "Rate of the encoder at first; must be given if no controller adapts it.", "300 kbit/s")
        .example("\"1.5 Mbit/s\""),
    media_rate("rate_min", "Least rate of the encoder.", "150 kbit/s"),
    media_rate("rate_max", "Greatest rate of the encoder.", "2.5 Mbit/s"),
    KeySpec::of::<Frequency>("frame_rate", "Frames per second.").within("1 Hz", "1000 Hz").or("30 Hz"),
    KeySpec::new(
        "frames",
        ValueForm::Any(&[ValueForm::Words(&["constant", "statistical"]), ValueForm::Some(&ValueForm::of::<f64>())]),
        "Sizes of frames: all alike, drawn with key frames, or these relative sizes in turn.",
    )
    .or("constant"),
    KeySpec::of::<Span>("key_interval", "With `frames = \"statistical\"`: time between key frames.")
        .within("100 ms", "1000000 s")
        .or("10 s"),
    KeySpec::of::<Span>("jitter_buffer", "Time by which playback lags behind the fastest frame.")
        .within("0 s", "10 s")
        .or("100 ms"),
    KeySpec::new(
        "pause",
        ValueForm::Tuple(&[ValueForm::of::<Span>(); 2]),
        "The camera is off from the first time to the second.",
    ),
    KeySpec::of::<bool>("rates", "Record the rate of each flow.").or("false"),
    packet("1 B", "RTP payload of a full packet; default: 1200 B."),
    header("40 B"),
    ACK_PATH,
];

/// QUIC packets have at least 1200 B (RFC 9000, section 14). The default is what quinn finds on a path of 1500 B.
const QUIC: &[KeySpec] = &[
    KeySpec::of::<Bytes>("size", "Data of the stream; default: no end.").within("1 B", MOST_BYTES),
    KeySpec::new("congestion_control", ValueForm::Words(&QuicControl::NAMES), "The stack's own congestion control.")
        .or("cubic"),
    packet("1200 B", "UDP payload of a full packet; default: 1452 B."),
    ACK_PATH,
];
