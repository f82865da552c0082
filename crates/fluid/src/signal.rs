//! Which schemes a fluid can be put under, and what share of the arriving packets each signals.

use aqmlab_aqm::{Aqm, QueueView};
use aqmlab_core::params::Values;
use aqmlab_core::{Bytes, Quantity, Span};

/// How the share of signalled packets follows from what a scheme shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Signal {
    /// It signals nothing; packets are lost at a full buffer only.
    Never,
    /// Each arriving packet with the probability p that it shows.
    Each,
    /// Each departing packet with the probability p that it shows. The sender hears of it one queueing delay sooner than
    /// of a signal at arrival.
    AtHead,
    /// RED: p is spread out by a count of packets since the last signal, which at first lets 1/p pass (`wait`) or none.
    Spaced {
        /// RED's `wait`.
        wait: bool,
    },
    /// PIE: none while it allows a burst or the queue is quiet.
    Pie {
        /// PIE's target, s.
        target: f64,
        /// Bytes that may wait without a signal.
        short: f64,
        /// PIE's `derandomize`.
        derandomize: bool,
    },
}

const NO_PROBABILITY: &str = "shows no probability: it signals by a threshold";
const BY_SOJOURN: &str = "decides at departures, by how long packets have waited";
const BY_FLOW: &str = "looks at the flow of each packet; a fluid has none";
const SEVERAL_QUEUES: &str = "has several queues; the model has one";

/// Schemes with no place in a fluid, and why.
pub const REFUSED: [(&str, &str); 13] = [
    ("avq", "shows no probability: it signals what its virtual queue has no room for"),
    ("cake", SEVERAL_QUEUES),
    ("choke", BY_FLOW),
    ("choker", BY_FLOW),
    ("cobalt", BY_SOJOURN),
    ("codel", BY_SOJOURN),
    ("dctcp-step", NO_PROBABILITY),
    ("dualpi2", SEVERAL_QUEUES),
    ("fuzzy-rtt", "signals each packet by the round-trip time that its flow announces; a fluid announces none"),
    ("gred", "counts the packets that wait, class by class; a fluid has none to count"),
    ("l4s-step", NO_PROBABILITY),
    ("sfb", BY_FLOW),
    ("sred", BY_FLOW),
];

/// Schemes that have one.
pub const SUPPORTED: [&str; 23] = [
    "an-aqm",
    "ared",
    "blue",
    "droptail",
    "fapidnn",
    "flc",
    "green",
    "iapi",
    "lred",
    "neuron-pid",
    "nlred",
    "npd-red",
    "nrl",
    "pd",
    "pd-red",
    "pi",
    "pi2",
    "pid",
    "pie",
    "red",
    "rem",
    "rq-aqm",
    "spi-red",
];

impl Signal {
    /// How the scheme of this name signals when its parameters have these values.
    ///
    /// # Errors
    /// Why it has no place in a fluid.
    pub fn of(name: &str, values: &Values) -> Result<Self, String> {
        let value = |key: &str| values.iter().find(|(known, _)| *known == key).map_or("", |(_, text)| text);
        match name {
            "droptail" => Ok(Signal::Never),
            "red" | "ared" | "pd-red" => Ok(Signal::Spaced { wait: value("wait") == "true" }),
            "nlred" => Ok(Signal::Spaced { wait: false }),
            "pi2" => Ok(Signal::AtHead),
            "pie" => {
                let target = Span::parse(value("target"))?.seconds();
                let short = 2.0 * Bytes::parse(value("mean_packet"))?.0;
                Ok(Signal::Pie { target, short, derandomize: value("derandomize") == "true" })
            }
            _ if SUPPORTED.contains(&name) => Ok(Signal::Each),
            _ => Err(refusal(name)),
        }
    }

    /// The share of the packets that meet this queue which the scheme, as it is, signals.
    pub fn share(&self, scheme: &impl Aqm, queue: &QueueView) -> f64 {
        match *self {
            Signal::Never => 0.0,
            Signal::Each | Signal::AtHead => scheme.observe(0),
            Signal::Spaced { wait } => spaced(scheme.observe(0), wait),
            Signal::Pie { target, short, derandomize } => {
                let (p, delay, allowance) = (scheme.observe(0), scheme.observe(1), scheme.observe(2));
                let quiet = delay < target / 2.0 && p < 0.2;
                match allowance > 0.0 || quiet || queue.bytes as f64 <= short {
                    true => 0.0,
                    false if derandomize => derandomized(p),
                    false => p,
                }
            }
        }
    }
}

/// RED's share of signals at the probability p_b: one over the mean gap between them.
///
/// The k-th packet since the last signal is signalled with probability p/(n - k*p) once k*p >= n - 1, where n is 2 with
/// `wait` and else 1. All before the `first` such pass; the probability that j more do is (a - j*p)/a, a = n - first*p.
fn spaced(p: f64, wait: bool) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p.clamp(0.0, 1.0);
    }
    let (n, first) = if wait { (2.0, (1.0 / p).ceil()) } else { (1.0, 1.0) };
    let a = n - first * p;
    let more = (a / p).floor();
    1.0 / (first + more - p * more * (more + 1.0) / (2.0 * a))
}

/// PIE's share of signals with `derandomize`: p is summed over the packets since the last signal; none is signalled below
/// a sum of 0.85, each with probability p from there on, and for sure at 8.5 (RFC 8033, 5.4).
fn derandomized(p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let (first, last) = ((0.85 / p).ceil(), (8.5 / p).ceil());
    let drawn = (1.0 - (1.0 - p).powf(last - first + 1.0)) / p;
    1.0 / (first - 1.0 + drawn)
}

fn refusal(name: &str) -> String {
    let known = REFUSED.iter().find(|(refused, _)| *refused == name).map(|(_, why)| *why);
    let why = match known {
        Some(why) => why,
        None if name.starts_with("fq-") => SEVERAL_QUEUES,
        None => "is not known to show the probability with which it signals",
    };
    let supported = SUPPORTED.join(", ");
    format!("\"{name}\" has no place in the fluid model, for it {why}; these have: {supported}")
}
