//! Reads real-time media: what an encoder makes of a camera's pictures, and the law that tells it at which rate.

use crate::keys::{KeySpec, ValueForm};
use crate::table_reader::{TableReader, kind, scalar};
use aqmlab_aqm::Ecn;
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Frequency, Quantity, Rate, Span};
use toml::Value;

const fn media_rate(name: &'static str, doc: &'static str, default: &'static str) -> KeySpec {
    KeySpec::of::<Rate>(name, doc).within("1 kbit/s", "10 Gbit/s").or(default)
}

/// Keys of `media`.
pub const MEDIA: &[KeySpec] = &[
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
];

/// A call's picture: an encoder, and what adapts its rate.
#[derive(Clone, Debug, PartialEq)]
pub struct Media {
    /// Adapts the encoder's rate to the path.
    pub law: MediaLaw,
    /// Rate of the encoder at first, and always where no law adapts it.
    pub rate: Rate,
    /// Least rate of the encoder.
    pub rate_min: Rate,
    /// Greatest rate of the encoder.
    pub rate_max: Rate,
    /// Frames a second.
    pub frame_rate: Frequency,
    /// Sizes of frames.
    pub frames: FrameSizes,
    /// Time by which the receiver's playback lags behind the fastest frame.
    pub jitter_buffer: Span,
    /// The camera is off from one time to another.
    pub pause: Option<(Span, Span)>,
    /// The rate of each flow is recorded.
    pub rates: bool,
}

aqmlab_core::choice! {
    /// Congestion control of real-time media. The laws are in `crates/sim/src/traffic/media`.
    pub enum MediaLaw {
        /// The rate never changes.
        Constant = "constant",
        /// SCReAMv2 (draft-ietf-ccwg-rfc8298bis-screamv2).
        Scream = "scream",
        /// Google's congestion control (draft-ietf-rmcat-gcc-02).
        Gcc = "gcc",
        /// NADA (RFC 8698).
        Nada = "nada",
    }
}

/// Sizes of an encoder's frames at a given rate.
#[derive(Clone, Debug, PartialEq)]
pub enum FrameSizes {
    /// All alike.
    Constant,
    /// Around the mean by Laplace's distribution, with a key frame now and then.
    Statistical {
        /// Time between key frames.
        key_interval: Span,
    },
    /// As these numbers, one after the other and again.
    Trace(Vec<f64>),
}

const FRAMES: [&str; 2] = ["constant", "statistical"];

/// The picture of one `[[flows]]`.
pub fn read_media(flow: &mut TableReader) -> Option<Media> {
    let law = MediaLaw::parse(flow.word("law", "rate control")?).ok()?;
    let rate: Option<Rate> = match law {
        MediaLaw::Constant => flow.required("rate"),
        _ => flow.optional_or_default("rate"),
    };
    let [rate_min, rate_max]: [Option<Rate>; 2] = ["rate_min", "rate_max"].map(|key| flow.optional_or_default(key));
    let frame_rate = flow.optional_or_default("frame_rate");
    let frames = read_frames(flow);
    let jitter_buffer = flow.optional_or_default("jitter_buffer");
    let pause = read_pause(flow);
    let rates = flow.or_default("rates");
    let (rate, rate_min, rate_max) = (rate?, rate_min?, rate_max?);
    if rate_min > rate_max {
        flow.refuse("rate_min", format!("\"{}\" is above rate_max, \"{}\"", rate_min.text(), rate_max.text()));
        return None;
    }
    if law != MediaLaw::Constant && !(rate_min..=rate_max).contains(&rate) {
        let (least, most) = (rate_min.text(), rate_max.text());
        flow.refuse("rate", format!("\"{}\" is not between rate_min and rate_max: {least} to {most}", rate.text()));
        return None;
    }
    let (frame_rate, frames, jitter_buffer) = (frame_rate?, frames?, jitter_buffer?);
    Some(Media { law, rate, rate_min, rate_max, frame_rate, frames, jitter_buffer, pause: pause?, rates })
}

fn read_frames(flow: &mut TableReader) -> Option<FrameSizes> {
    const KEY: &str = "frames";
    let is_statistical = matches!(flow.raw(KEY), Some(Value::String(name)) if name == "statistical");
    let key_interval: Option<Span> = match is_statistical {
        true => flow.optional_or_default("key_interval"),
        false => None,
    };
    match flow.raw(KEY) {
        None => Some(FrameSizes::Constant),
        Some(Value::String(name)) => match name.as_str() {
            "constant" => Some(FrameSizes::Constant),
            "statistical" => Some(FrameSizes::Statistical { key_interval: key_interval? }),
            other => {
                flow.refuse(KEY, unknown("kind of frames", other, &FRAMES));
                None
            }
        },
        Some(Value::Array(sizes)) if !sizes.is_empty() => {
            let sizes = sizes.iter().map(|size| {
                let text = scalar(size).ok_or_else(|| format!("expected numbers, found {}", kind(size)))?;
                match f64::parse(&text)? {
                    number if number > 0.0 && number <= 1e9 => Ok(number),
                    _ => Err(format!("\"{}\" is out of range: must be above 0, and at most 1000000000", clip(&text))),
                }
            });
            let sizes: Result<Vec<f64>, String> = sizes.collect();
            sizes.map(FrameSizes::Trace).map_err(|why| flow.refuse(KEY, why)).ok()
        }
        Some(other) => {
            let found = if other.is_array() { "an empty list" } else { kind(other) };
            let why =
                format!("expected \"constant\", \"statistical\" or relative sizes such as [4, 1, 1], found {found}");
            flow.refuse(KEY, why);
            None
        }
    }
}

fn read_pause(flow: &mut TableReader) -> Option<Option<(Span, Span)>> {
    const KEY: &str = "pause";
    let Some(value) = flow.raw(KEY) else { return Some(None) };
    let texts: Option<Vec<String>> = value.as_array().and_then(|times| times.iter().map(scalar).collect());
    let times: Vec<Span> = texts.iter().flatten().filter_map(|text| Span::parse(text).ok()).collect();
    match times[..] {
        [from, to] if from < to => Some(Some((from, to))),
        _ => {
            flow.refuse(KEY, "expected two times, the earlier first, such as [\"40 s\", \"60 s\"]");
            None
        }
    }
}

/// The ECN field of a law's packets. SCReAM answers each mark in proportion, and takes ECT(1) by itself.
pub fn read_media_ecn(flow: &mut TableReader, law: MediaLaw) -> Option<Ecn> {
    let text = flow.raw("ecn").map(|value| scalar(value).unwrap_or_else(|| kind(value).to_string()));
    match (text.as_deref(), law) {
        (None | Some("true" | "ect1"), MediaLaw::Scream) => Some(Ecn::Ect1),
        (None | Some("false"), _) => Some(Ecn::NotEct),
        (Some("ect0"), MediaLaw::Scream) | (Some("true" | "ect0"), MediaLaw::Nada) => Some(Ecn::Ect0),
        (Some("ect1"), MediaLaw::Nada) => {
            let why = "\"ect1\" requires a scalable rate control (RFC 9331), and \"nada\" is not one; \
                       expected true, false or \"ect0\", or law = \"scream\"";
            flow.refuse("ecn", why);
            None
        }
        (Some("true" | "ect0" | "ect1"), _) => {
            let law = law.text();
            flow.refuse(
                "ecn",
                format!("\"{law}\" does not respond to marks; expected false, or law = \"scream\" or \"nada\""),
            );
            None
        }
        (Some(other), _) => {
            flow.refuse("ecn", format!("\"{}\" is not true, false, \"ect0\" or \"ect1\"", clip(other)));
            None
        }
    }
}

impl Media {
    /// Each key with its value, for people.
    pub(crate) fn resolved(&self) -> Vec<(&'static str, String)> {
        let frames = match &self.frames {
            FrameSizes::Constant => "constant".to_string(),
            FrameSizes::Statistical { key_interval } => {
                format!("statistical, a key frame each {}", key_interval.text())
            }
            FrameSizes::Trace(sizes) => format!("trace of {}", sizes.len()),
        };
        let mut pairs = vec![
            ("law", self.law.text()),
            ("rate", self.rate.text()),
            ("rate_min", self.rate_min.text()),
            ("rate_max", self.rate_max.text()),
            ("frame_rate", self.frame_rate.text()),
            ("frames", frames),
            ("jitter_buffer", self.jitter_buffer.text()),
        ];
        if let Some((from, to)) = self.pause {
            pairs.push(("pause", format!("{} to {}", from.text(), to.text())));
        }
        pairs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(keys: &str) -> Result<(Media, Ecn), String> {
        let text = format!(
            "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n\
             [[flows]]\nkind = \"media\"\nrtt = \"80 ms\"\n{keys}\n"
        );
        let scenario = crate::parse(&text, "media", &[]).map_err(|problems| problems.to_string())?;
        let flow = &scenario.flows[0];
        Ok((flow.traffic.media().unwrap().clone(), flow.ecn))
    }

    #[test]
    fn a_law_has_the_rates_of_a_call_by_default() {
        let (media, ecn) = read("law = \"scream\"").unwrap();
        assert_eq!((media.rate, media.rate_min, media.rate_max), (Rate(300e3), Rate(150e3), Rate(2.5e6)));
        assert_eq!((media.frame_rate, media.frames, ecn), (Frequency(30.0), FrameSizes::Constant, Ecn::Ect1));
        assert_eq!(read("law = \"scream\"\necn = \"ect0\"").unwrap().1, Ecn::Ect0);
        assert_eq!(read("law = \"nada\"\necn = true").unwrap().1, Ecn::Ect0);
        assert_eq!(read("law = \"gcc\"").unwrap().1, Ecn::NotEct);
    }

    #[test]
    fn frames_follow_a_trace_or_chance() {
        let trace = read("rate = \"1 Mbit/s\"\nframes = [4, 1.5]").unwrap().0.frames;
        assert_eq!(trace, FrameSizes::Trace(vec![4.0, 1.5]));
        let keys = read("rate = \"1 Mbit/s\"\nframes = \"statistical\"\nkey_interval = \"2 s\"").unwrap().0.frames;
        assert_eq!(keys, FrameSizes::Statistical { key_interval: Span::from_secs(2) });
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (keys, message) in [
            ("law = \"screem\"", "flows.flows.law: unknown rate control \"screem\"; did you mean \"scream\"?"),
            ("", "flows.flows.rate: missing"),
            ("law = \"gcc\"\nframe_rate = \"0 Hz\"", "flows.flows.frame_rate: \"0 Hz\" is out of range"),
            ("law = \"gcc\"\necn = true", "\"gcc\" does not respond to marks"),
            ("law = \"nada\"\necn = \"ect1\"", "\"nada\" is not one; expected true, false or \"ect0\""),
            ("law = \"gcc\"\nrate = \"9 Mbit/s\"", "is not between rate_min and rate_max"),
            ("law = \"gcc\"\nrate_min = \"9 Mbit/s\"", "\"9 Mbit/s\" is above rate_max"),
            ("law = \"gcc\"\npause = [\"2 s\", \"1 s\"]", "expected two times, the earlier first"),
            ("law = \"gcc\"\nframes = []", "found an empty list"),
            ("law = \"gcc\"\nframes = [0]", "\"0\" is out of range"),
            ("law = \"gcc\"\nframes = \"some\"", "unknown kind of frames \"some\""),
            ("law = \"gcc\"\nkey_interval = \"2 s\"", "key_interval"),
            ("law = \"gcc\"\naccess_rate = \"1 Mbit/s\"", "access_rate"),
        ] {
            let why = read(keys).unwrap_err();
            assert!(why.contains(message), "{keys}: {why}");
        }
    }
}
