//! The keys of a group of flows, by its kind of traffic.

use crate::keys::{Engine, Form, Key, Kind, MOST_BYTES, RATES, Section};
use crate::media::MediaLaw;
use crate::traffic::QuicControl;
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
pub const COUNT: Key = Key::of::<u32>("count", "Number of flows.").within("0", "1000000").or("1").changeable();
const START: Key = Key::distribution::<Span>("start", "Start of each flow.").or("0 s");
const STOP: Key = Key::distribution::<Span>("stop", "End of each flow; default: the end of the run.").changeable();

const PLACE: &[Key] = &[
    Key::new("name", Form::Name, "Name that results use.").or("flows"),
    Key::new("kind", Form::Kind, "Kind of traffic.").or("ftp"),
    COUNT,
    Key::distribution::<Span>("rtt", "Round-trip propagation of the whole path, the links' delays included.")
        .example("\"80 ms\"")
        .changeable(),
    Key::new("path", Form::Some(&Form::Text), "Links crossed, in order; default: all."),
    Key::new("each", Form::Text, "A list of links: one group of flows for each of its links."),
    Key::new("lines", NAMES, "Plans of a tree on whose access links the flows are; true for all.").example("true"),
    Key::new("stations", NAMES, "Stations of a Wi-Fi cell where the flows are; true for all.").example("true"),
    Key::new("direction", Form::Words(&["down", "up"]), "Direction of data on access links and at stations.")
        .or("down"),
    Key::new("from", HOSTS, "Hosts of a fabric that send; default: all."),
    Key::new("to", HOSTS, "Hosts of a fabric that receive; default: all."),
];

const NAMES: Form = Form::Any(&[Form::of::<bool>(), Form::Text, Form::Some(&Form::Text)]);
const HOSTS: Form = Form::Any(&[Form::of::<u32>(), Form::Some(&Form::of::<u32>())]);

const OF_ANY: &[Key] = &[
    START,
    STOP,
    Key::new(
        "groups",
        Form::Tables(&GROUPS),
        "Flows that start and stop together, instead of `count`, `start` and `stop`.",
    ),
    Key::of::<f64>("start_spread", "Each flow starts later by up to so many of its round trips, drawn evenly.")
        .within("0", "1000")
        .or("0")
        .refused_by(Engine::Fluid, "the fluid model does not support starts within a round trip; leave it out"),
    Key::of::<u32>("hosts", "Hosts that the flows are spread over; default: one for each flow.").within("1", "1000000"),
    Key::new(
        "ecn",
        Form::Any(&[Form::of::<bool>(), Form::Words(&["ect0", "ect1"])]),
        "The flows use ECN: true for the codepoint that the congestion control requires.",
    ),
    Key::of::<u32>("class", "Upper three bits of the DSCP.").within("0", "7").or("0"),
    Key::of::<u32>("dscp", "DSCP of the packets.").within("0", "63").or("0"),
    Key::of::<bool>("phases", "Record the phases of the senders, which must last.")
        .or("false")
        .refused_by(Engine::Fluid, "the fluid model does not support sender phases; leave it out")
        .refused_by(Engine::Linux, "are not reported by Linux; leave it out"),
];

const fn packet(least: &'static str, doc: &'static str) -> Key {
    Key::of::<Bytes>("packet", doc).within(least, "64000 B")
}

const ACK_PATH: Key = Key::new("ack_path", Form::Some(&Form::Text), "Links at which ACKs queue; default: none.");
const ACCESS_RATE: Key =
    Key::of::<Rate>("access_rate", "Rate of the links of hosts; default: no time to send.").within(RATES.0, RATES.1);

const fn header(default: &'static str) -> Key {
    Key::of::<Bytes>("header", "Headers of a packet.").within("0 B", "1000 B").or(default)
}

const TCP: &[Key] = &[
    Key::new("tcp", Form::Tcp, "Congestion control, loss recovery, profile and constants of TCP.").or("linux"),
    packet("1 B", "Payload of a full segment; default: 1448 B, or 1000 B in the profiles rfc and ns2."),
    ACCESS_RATE,
    ACK_PATH,
    Key::of::<bool>("rtt_notification", "Packets carry the sender's smoothed round-trip time.")
        .or("false")
        .refused_by(Engine::Linux, "is not sent by Linux"),
];

/// Headers of UDP and IP (RFC 768, RFC 791 without options).
const UDP: &[Key] = &[packet("1 B", "Payload of a packet; default: 1448 B."), header("28 B"), ACCESS_RATE];

const fn offered_rate(doc: &'static str) -> Key {
    Key::of::<Rate>("rate", doc).within(RATES.0, RATES.1).required("\"64 kbit/s\"")
}

const fn on_or_off(name: &'static str, doc: &'static str) -> Key {
    Key::distribution::<Span>(name, doc).example("{ exponential = \"500 ms\" }")
}

const APP_LIMITED: &[Key] = &[
    offered_rate("Payload that the application offers while it is on.").changeable(),
    Key::of::<Packets>("chunk", "Segments that it offers at once.")
        .within("1 packet", "1000000 packets")
        .whole()
        .or("1 packet"),
    on_or_off("on", "Times that it is on; default: always."),
    on_or_off("off", "Times that it is off; it begins with one."),
];

const CBR: &[Key] = &[offered_rate("Rate on the wire, headers included.")];

const ON_OFF: &[Key] = &[
    Key::of::<Rate>("rate_on", "Rate on the wire while on, headers included.")
        .within(RATES.0, RATES.1)
        .required("\"64 kbit/s\""),
    on_or_off("on", "Times that a source is on.").required("{ exponential = \"500 ms\" }"),
    on_or_off("off", "Times that it is off; it begins with one.").required("{ exponential = \"500 ms\" }"),
];

const SIZE: Key = Key::distribution::<Packets>("size", "Data of a transfer.")
    .required("{ pareto = { mean = \"12 packets\", shape = 1.2 } }");

const HTTP: &[Key] = &[
    Key::distribution::<f64>("pages", "Pages of a session; default: no end."),
    Key::distribution::<Span>("think_time", "Time between pages.").required("{ exponential = \"1 s\" }"),
    Key::new(
        "think_after",
        Form::Words(&["page", "request"]),
        "That time counts from the end of a page or its last request.",
    )
    .or("page"),
    Key::distribution::<f64>("objects", "Objects of a page.").or("1"),
    Key::distribution::<Span>("object_gap", "Time between the requests of a page's objects.").or("0 s"),
    SIZE,
    Key::of::<f64>("request_round_trips", "Time from a request to the transfer, in round trips.")
        .within("0", "1000")
        .or("0"),
];

/// The bitrates that a video may have.
pub const BITRATES: (&str, &str) = ("1 kbit/s", "1 Gbit/s");

const VIDEO: &[Key] = &[
    Key::new("bitrates", Form::Some(&Form::of::<Rate>().within(BITRATES.0, BITRATES.1)), "The bitrates, ascending.")
        .required("[\"1 Mbit/s\", \"3 Mbit/s\", \"6 Mbit/s\"]"),
    Key::of::<Span>("segment", "Playing time of a segment.").within("100 ms", "60 s").or("4 s"),
    Key::of::<Span>("playback_buffer", "Playing time that is fetched ahead at most.")
        .within("100 ms", "3600 s")
        .or("30 s"),
];

const SHORT: &[Key] = &[
    Key::of::<Frequency>("arrivals", "Transfers that begin per second.")
        .within("0.000001 Hz", "1000000 Hz")
        .example("\"50 Hz\""),
    Key::of::<f64>("load", "On a fabric, instead of `arrivals`: share of the links of the hosts that send.")
        .within("0.000001", "10"),
    SIZE,
];

const fn media_rate(name: &'static str, doc: &'static str, default: &'static str) -> Key {
    Key::of::<Rate>(name, doc).within("1 kbit/s", "10 Gbit/s").or(default)
}

/// The default of `packet` is what libwebrtc fills; headers are those of RTP without extensions (RFC 3550), UDP and IP.
const MEDIA: &[Key] = &[
    Key::new("law", Form::Words(MediaLaw::CHOICES), "Adapts the encoder's rate to the path.").or("constant"),
    media_rate("rate", "Rate of the encoder at first; must be given if no law adapts it.", "300 kbit/s")
        .example("\"1.5 Mbit/s\""),
    media_rate("rate_min", "Least rate of the encoder.", "150 kbit/s"),
    media_rate("rate_max", "Greatest rate of the encoder.", "2.5 Mbit/s"),
    Key::of::<Frequency>("frame_rate", "Frames per second.").within("1 Hz", "1000 Hz").or("30 Hz"),
    Key::new(
        "frames",
        Form::Any(&[Form::Words(&["constant", "statistical"]), Form::Some(&Form::of::<f64>())]),
        "Sizes of frames: all alike, drawn with key frames, or these relative sizes in turn.",
    )
    .or("constant"),
    Key::of::<Span>("key_interval", "With `frames = \"statistical\"`: time between key frames.")
        .within("100 ms", "1000000 s")
        .or("10 s"),
    Key::of::<Span>("jitter_buffer", "Time by which playback lags behind the fastest frame.")
        .within("0 s", "10 s")
        .or("100 ms"),
    Key::new("pause", Form::Tuple(&[Form::of::<Span>(); 2]), "The camera is off from the first time to the second."),
    Key::of::<bool>("rates", "Record the rate of each flow.").or("false"),
    packet("1 B", "RTP payload of a full packet; default: 1200 B."),
    header("40 B"),
    ACK_PATH,
];

/// QUIC packets have at least 1200 B (RFC 9000, section 14). The default is what quinn finds on a path of 1500 B.
const QUIC: &[Key] = &[
    Key::of::<Bytes>("size", "Data of the stream; default: no end.").within("1 B", MOST_BYTES),
    Key::new("congestion_control", Form::Words(&QuicControl::NAMES), "The stack's own congestion control.").or("cubic"),
    packet("1200 B", "UDP payload of a full packet; default: 1452 B."),
    ACK_PATH,
];
