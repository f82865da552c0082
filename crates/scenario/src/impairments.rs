//! Impairments of the wire of a link, as a scenario gives them.

use crate::aggregation::{AGGREGATION, Aggregation};
use crate::distribution::Distribution;
use crate::interruptions::{INTERRUPTIONS, Interruptions};
use crate::keys::{Engine, KeySpec, Section, ValueForm};
use crate::policer::{POLICER, PolicerSpec};
use crate::request_grant::{REQUEST_GRANT, RequestGrant};
use crate::table_reader::{TableReader, kind, scalar};
use crate::traffic::read_distribution;
use aqmlab_aqm::Ecn;
use aqmlab_core::problem::unknown;
use aqmlab_core::{Quantity, Ratio, Span};
use serde_json::Value as Json;
use toml::{Table, Value};

/// Impairments of the wire of a link, behind its queue.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// Packets beyond a rate and a burst are dropped or marked, before anything else happens to them.
    pub policer: Option<PolicerSpec>,
    /// Packets are lost at random.
    pub loss: Option<Loss>,
    /// Extra delay of each packet. A packet that would pass the one before waits for it.
    pub jitter: Option<Distribution<Span>>,
    /// Time for which a jitter holds, for all packets; each has its own where it is not given.
    pub jitter_every: Option<Span>,
    /// Share of the packets that neither wait for those before them nor hold up those behind.
    pub reorder: Option<Ratio>,
    /// The ECN field of packets is changed.
    pub ecn_mangling: Option<Mangling>,
    /// Packets are released together.
    pub aggregation: Option<Aggregation>,
    /// Times at which nothing is sent.
    pub interruptions: Option<Interruptions>,
    /// Nothing is sent that has not been granted.
    pub request_grant: Option<RequestGrant>,
}

/// Gilbert-Elliott loss. The wire is in a good or a bad state; after each packet it may change. It begins in the good one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Loss {
    /// Probability of a change from good to bad.
    pub p: f64,
    /// Probability of a change from bad to good.
    pub r: f64,
    /// Probability that a packet is lost in the bad state, 1 - h.
    pub bad: f64,
    /// Probability that a packet is lost in the good state, 1 - k.
    pub good: f64,
}

/// A change of the ECN field by a node on the path (RFC 9768, section 3.2.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mangling {
    /// Every codepoint becomes Not-ECT.
    Bleach,
    /// ECT becomes Not-ECT, CE stays.
    CeOnly,
    /// ECT becomes CE.
    ContinuousCe,
}

const LOSS: Section = Section::new(&[&[
    KeySpec::of::<Ratio>("p", "Probability of a change from the good to the bad state.").required("\"1%\""),
    KeySpec::of::<Ratio>("r", "Probability of a change from the bad to the good state.").required("\"30%\""),
    KeySpec::of::<Ratio>("bad", "Probability that a packet is lost in the bad state.").or("1"),
    KeySpec::of::<Ratio>("good", "Probability that a packet is lost in the good state.").or("0"),
]]);

const NO_FLUID: &str = "the fluid model does not support impairments; leave it out";

const fn impairment(name: &'static str, form: ValueForm, doc: &'static str) -> KeySpec {
    KeySpec::new(name, form, doc).refused_by(Engine::Fluid, NO_FLUID)
}

/// Keys of a link's wire.
pub const WIRE: &[KeySpec] = &[
    impairment("policer", ValueForm::Table(&POLICER), "Drop or mark packets above a contracted rate.")
        .example("{ rate = \"10 Mbit/s\", burst = \"100 kB\" }")
        .refused_by(Engine::Linux, "is after the queue, where --engine linux has no policer; leave it out"),
    impairment(
        "loss",
        ValueForm::Any(&[ValueForm::of::<Ratio>(), ValueForm::Table(&LOSS)]),
        "Lose packets at random, or in bursts by the Gilbert-Elliott model.",
    )
    .example("{ p = \"1%\", r = \"30%\" }")
    .changeable(),
    impairment(
        "jitter",
        ValueForm::distribution::<Span>().within("0 s", "10 s"), // of a distribution with a tail, its mean or median
        "Extra delay of each packet. A packet that would pass the one before waits for it.",
    )
    .example("{ exponential = \"2 ms\" }"),
    impairment("jitter_every", ValueForm::of::<Span>(), "Time for which a jitter holds, for all packets.")
        .within("100 us", "1000 s")
        .refused_by(Engine::Linux, "is not supported on Linux, where each packet has its own jitter; leave it out"),
    impairment("reorder", ValueForm::of::<Ratio>(), "Share of the packets that may pass others. Needs `jitter`.")
        .refused_by(
            Engine::Linux,
            "is not supported by netem for a share of the packets; leave it out to keep the order",
        ),
    impairment("ecn_mangling", ValueForm::Words(&Mangling::NAMES), "Change the ECN field of packets.")
        .refused_by(Engine::Linux, "is not supported by netem; leave it out"),
    impairment("aggregation", ValueForm::Table(&AGGREGATION), "Release several packets together.")
        .example("{ every = \"10 ms\" } or { packets = 32, hold = \"10 ms\" }")
        .refused_by(Engine::Linux, "is not supported on Linux; leave it out"),
    impairment("interruptions", ValueForm::Table(&INTERRUPTIONS), "Times at which nothing is sent.")
        .example("{ every = \"15 s\", hold = \"50 ms\" }")
        .refused_by(Engine::Linux, "are not supported on Linux; leave them out"),
    impairment("request_grant", ValueForm::Table(&REQUEST_GRANT), "The upstream of a cable modem.")
        .example("{ interval = \"2 ms\", guaranteed = \"1 Mbit/s\" }")
        .refused_by(Engine::Linux, "is not supported on Linux; leave it out"),
];

/// Keys that results show where they are not set, too, as in the results of all versions.
const ALWAYS_SHOWN: [&str; 6] = ["policer", "loss", "jitter", "reorder", "ecn_mangling", "aggregation"];

impl Impairments {
    /// The value of each key as text, `None` where a scenario has not set it.
    fn values(&self) -> [(&'static str, Option<String>); 9] {
        [
            ("policer", self.policer.as_ref().map(PolicerSpec::text)),
            ("loss", self.loss.map(|loss| loss.text())),
            ("jitter", self.jitter.as_ref().map(Distribution::text)),
            ("reorder", self.reorder.map(|share| share.text())),
            ("ecn_mangling", self.ecn_mangling.map(|mangling| mangling.name().into())),
            ("aggregation", self.aggregation.as_ref().map(Aggregation::text)),
            ("jitter_every", self.jitter_every.map(|every| every.text())),
            ("interruptions", self.interruptions.as_ref().map(Interruptions::text)),
            ("request_grant", self.request_grant.map(|law| law.text())),
        ]
    }

    /// The keys that a scenario has set.
    pub fn keys(&self) -> Vec<&'static str> {
        self.values().into_iter().filter(|(_, value)| value.is_some()).map(|(key, _)| key).collect()
    }

    /// The values of the keys that are set, and of those that are always shown.
    pub(super) fn resolved(&self) -> impl Iterator<Item = (String, Json)> {
        let shown = self.values().into_iter().filter(|(key, value)| value.is_some() || ALWAYS_SHOWN.contains(key));
        shown.map(|(key, value)| (key.to_string(), Json::from(value)))
    }

    /// The impairments of one `[[links]]`, which packets of up to `largest` bytes cross.
    pub(super) fn read(link: &mut TableReader, largest: f64) -> Self {
        let policer = PolicerSpec::read(link, largest);
        let loss = link.raw("loss").map(Loss::read);
        let loss = loss.and_then(|read| read.map_err(|reason| link.refuse("loss", reason)).ok());
        let jitter = read_jitter(link);
        let jitter_every: Option<Span> = link.optional("jitter_every");
        if jitter_every.is_some() && link.raw("jitter").is_none() {
            link.refuse("jitter_every", "needs jitter, which holds for so long");
        }
        let reorder: Option<Ratio> = link.optional("reorder");
        if reorder.is_some() && link.raw("jitter").is_none() {
            link.refuse("reorder", "needs jitter: packets pass others only where some are delayed");
        }
        let aggregation = Aggregation::read(link);
        if jitter.is_some() && matches!(aggregation, Some(Aggregation::Packets { .. })) {
            link.refuse(
                "aggregation",
                "of so many packets does not go with jitter; expected { every = TIME }, or no jitter",
            );
        }
        let (ecn_mangling, interruptions) = (read_mangling(link), Interruptions::read(link));
        let request_grant = RequestGrant::read(link);
        Self { policer, loss, jitter, jitter_every, reorder, ecn_mangling, aggregation, interruptions, request_grant }
    }
}

fn read_jitter(link: &mut TableReader) -> Option<Distribution<Span>> {
    let jitter: Distribution<Span> = read_distribution(link, "jitter")?;
    link.is_in_range("jitter", jitter.typical_largest()).then_some(jitter)
}

fn read_mangling(link: &mut TableReader) -> Option<Mangling> {
    let name = link.word("ecn_mangling", "choice")?;
    Mangling::ALL.into_iter().find(|mangling| mangling.name() == name)
}

impl Loss {
    /// Each packet is lost with this probability, whatever happened to others.
    pub(super) fn random(probability: f64) -> Self {
        Self { p: 0.0, r: 1.0, bad: probability, good: probability }
    }

    /// A probability, or a table with the model's parameters.
    pub(super) fn read(value: &Value) -> Result<Self, String> {
        match value {
            Value::Table(table) => Self::model(table),
            other => probability(other).map(Self::random),
        }
    }

    fn model(table: &Table) -> Result<Self, String> {
        if let Some(key) = table.keys().find(|key| LOSS.key(key).is_none()) {
            return Err(unknown("key", key, &LOSS.all().map(|key| key.name).collect::<Vec<_>>()));
        }
        let read = |key: &str, default: Option<f64>| match table.get(key) {
            Some(value) => probability(value).map_err(|reason| format!("{key}: {reason}")),
            None => default.ok_or_else(|| format!("{key}: missing; write e.g. {{ p = \"1%\", r = \"30%\" }}")),
        };
        Ok(Self {
            p: read("p", None)?,
            r: read("r", None)?,
            bad: read("bad", Some(1.0))?,
            good: read("good", Some(0.0))?,
        })
    }

    /// For people: a probability, or the model with its parameters.
    pub fn text(&self) -> String {
        let Self { p, r, bad, good } = self;
        match bad == good {
            true => good.to_string(),
            false => format!("Gilbert-Elliott, p {p}, r {r}, bad {bad}, good {good}"),
        }
    }
}

fn probability(value: &Value) -> Result<f64, String> {
    let text =
        scalar(value).ok_or_else(|| format!("expected a probability such as \"0.1%\", found {}", kind(value)))?;
    Ratio::parse(&text).map(|ratio| ratio.0)
}

impl Mangling {
    const ALL: [Self; 3] = [Self::Bleach, Self::CeOnly, Self::ContinuousCe];
    const NAMES: [&str; 3] = ["bleach", "ce-only", "continuous-ce"];

    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }

    /// The codepoint that a packet with `ecn` has afterwards.
    pub fn apply(self, ecn: Ecn) -> Ecn {
        match (self, ecn) {
            (Self::Bleach, _) | (Self::CeOnly, Ecn::Ect0 | Ecn::Ect1) => Ecn::NotEct,
            (Self::ContinuousCe, Ecn::Ect0 | Ecn::Ect1) => Ecn::Ce,
            (_, same) => same,
        }
    }
}
