//! A link: the declarations of its keys, its values, how they are read, and how they are shown.

use crate::classes::{CLASSES, ClassTree, read_classes};
use crate::condition_trace::ConditionTrace;
use crate::distribution::Distribution;
use crate::fading::{FADING, Fading};
use crate::impairments::{Impairments, Loss, WIRE};
use crate::keys::{DELAYS, Engine, KeySpec, RATES, Section, ValueForm};
use crate::link_context::LinkContext;
use crate::link_trace::{LinkTrace, LinkTraces};
use crate::presets::NAMES;
use crate::repeat::COUNT;
use crate::sizing::{BUFFER, SizingBasis, TARGET, limit, limit_text, target};
use crate::table_reader::{TableReader, kind, scalar};
use crate::{AqmChoice, FlowSpec, RateChanges};
use aqmlab_aqm::link_layer::{Framing, LinkLayer};
use aqmlab_aqm::{Limit, QueueView};
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Problem, Quantity, Rate, Span};
use serde_json::{Value as Json, json};
use toml::{Table, Value};

const RATE: ValueForm = ValueForm::of::<Rate>().within(RATES.0, RATES.1);

/// Keys of `[[links]]`.
pub const LINKS: Section = Section::new(&[
    &[
        KeySpec::new("name", ValueForm::Name, "Name that paths and results use.").or("bottleneck"),
        COUNT,
        KeySpec::new("preset", ValueForm::Words(&NAMES), "A measured kind of link, whose keys are the defaults of this one."),
        KeySpec::new(
            "rate",
            ValueForm::Any(&[
                RATE,
                ValueForm::Some(&ValueForm::Tuple(&[ValueForm::of::<Span>(), RATE])),
                ValueForm::Table(&WANDER),
                ValueForm::Table(&TRACE),
            ]),
            "Rate of the transmitter: one rate, a schedule of times and rates, rates that hold for a while each, or a trace.",
        )
        .example("\"45 Mbit/s\"")
        .changeable(),
    ],
    QUEUE,
    WIRE,
    &[KeySpec::new("classes", ValueForm::Tables(&CLASSES), "Classes that share the link, as in Linux's HTB.")
        .refused_by(Engine::Linux, "are not supported on Linux; expected a link without classes")],
]);

/// Keys of a rate that is drawn again and again.
const WANDER: Section = Section::new(&[&[
    KeySpec::new("values", ValueForm::Some(&RATE), "The rates, two or more.").required("[\"3 Mbit/s\", \"1 Mbit/s\"]"),
    KeySpec::distribution::<Span>("hold", "Time that each rate holds; at least 1 us.").required("\"2 s\""),
]]);

/// Keys of a rate that follows a trace.
const TRACE: Section =
    Section::new(&[&[
        KeySpec::new("trace", ValueForm::Text, "Name of a trace in `[traces]`, or its file.").required("\"FILE\"")
    ]]);

/// Keys of a link's queue and of its layer, which the links of trees, fabrics and cells have, too.
pub const QUEUE: &[KeySpec] = &[
    KeySpec::of::<Span>("delay", "Propagation delay, one way.").within(DELAYS.0, DELAYS.1).or("0 s").changeable(),
    KeySpec::new(
        "buffer",
        ValueForm::Any(&[BUFFER, ValueForm::Table(&SHARED)]),
        "Capacity of the queue: packets, bytes, a time at the rate, a multiple of the bandwidth-delay product, or a shared buffer.",
    )
    .example("\"900 packets\", \"1 MB\", \"100 ms\" or \"2 bdp\"")
    .changeable(),
    KeySpec::new("target", TARGET, "Reference of the schemes that have one: packets or a delay. Default: a third of the buffer.")
        .changeable(),
    KeySpec::new("aqm", ValueForm::Scheme, "Scheme, with parameters in the form NAME:KEY=VALUE,... `--aqm` replaces it.")
        .or("droptail")
        .changeable(),
    KeySpec::of::<bool>("fixed", "`--aqm` does not replace the scheme, unless it names the link.").or("false"),
    KeySpec::of::<bool>("ecn", "The scheme marks packets of ECN-capable flows where it would drop others.").or("true"),
    KeySpec::of::<bool>("host", "The link is the interface of the sending host.")
        .or("false")
        .refused_by(Engine::Fluid, "the fluid model does not support the queue of a sending host; leave it out")
        .refused_by(
            Engine::Linux,
            "is not supported on Linux, where the interfaces of hosts have unlimited rates; leave it out",
        ),
    KeySpec::of::<Bytes>("overhead", "Added to the size of each packet on the wire.").within("-64 B", "256 B").or("0 B"),
    KeySpec::of::<Bytes>("mpu", "No packet takes less than this on the wire, before framing.").within("0 B", "256 B").or("0 B"),
    KeySpec::of::<Framing>("framing", "Cells of ATM, 48 B in 53 B, or PTM's 65 B for 64 B.").or("none"),
    KeySpec::new("fading", ValueForm::Table(&FADING), "The rate fades around its mean, as that of a radio link.")
        .example("{ deviation = 0.6, memory = \"5 s\", every = \"20 ms\" }"),
];

/// Keys of a buffer that is shared.
const SHARED: Section =
    Section::new(&[&[
        KeySpec::new("shared", ValueForm::Text, "Name of a buffer in `[[buffers]]`.").required("\"switch\"")
    ]]);

/// A queueing link.
#[derive(Clone, Debug)]
pub struct LinkSpec {
    /// Name that paths and results use.
    pub name: String,
    /// Name of the links that it is like, which results take together; its own if it is of none.
    pub list: String,
    /// Rate of the transmitter, at first; the mean of a trace.
    pub rate: Rate,
    /// Changes of the rate.
    pub changes: RateChanges,
    /// Propagation delay, one way.
    pub delay: Span,
    /// Capacity of the queue.
    pub buffer: Limit,
    /// Index of the buffer that it shares with others, if it does; [`LinkSpec::buffer`] is then the most that it can hold of it.
    pub shared: Option<usize>,
    /// The same in packets of mean size.
    pub buffer_packets: f64,
    /// Mean size on the wire of the packets that cross it, over flows, bytes.
    pub packet: f64,
    /// Reference queue of the schemes that have one, packets.
    pub target: f64,
    /// Scheme when the run names none.
    pub aqm: AqmChoice,
    /// The scheme stays, whatever the run names.
    pub fixed: bool,
    /// ECN-capable packets are marked where others are dropped.
    pub ecn: bool,
    /// Overhead of packets on the wire, beyond their own bytes.
    pub layer: LinkLayer,
    /// Impairments of the wire.
    pub impairments: Impairments,
    /// It is the interface of the host from which its flows are sent: nothing lies before its queue, and what leaves that makes room
    /// for more.
    pub host: bool,
    /// Classes that share it, if there are any.
    pub classes: ClassTree,
}

impl LinkSpec {
    /// The rates that it does not exceed in 5, 50 and 95 % of the time, or the least, the middle and the greatest of those that it has.
    pub fn typical_rates(&self) -> [Rate; 3] {
        let mut rates: Vec<Rate> = match &self.changes {
            RateChanges::None => return [self.rate; 3],
            RateChanges::Trace(trace) => return trace.typical(),
            RateChanges::Fade(fading) => return fading.typical(self.rate),
            RateChanges::At(steps) => std::iter::once(self.rate).chain(steps.iter().map(|step| step.1)).collect(),
            RateChanges::Wander { values, .. } => values.clone(),
        };
        rates.sort_by(|a, b| a.0.total_cmp(&b.0));
        [rates[0], rates[rates.len() / 2], rates[rates.len() - 1]]
    }

    /// The keys that it uses and an engine lacks, each with the reason.
    pub fn refusals(&self, engine: Engine) -> impl Iterator<Item = (&'static str, &'static str)> {
        let own = [("host", self.host), ("classes", !self.classes.classes.is_empty())];
        let own = own.into_iter().filter(|(_, is_used)| *is_used).map(|(key, _)| key);
        LINKS.refusals(self.impairments.keys().into_iter().chain(own), engine)
    }

    /// The link's queue before the first packet.
    pub fn empty_queue(&self) -> QueueView {
        QueueView { packet: self.packet, ..QueueView::empty(self.rate, self.target, self.buffer_packets) }
    }

    /// The part of its rate that is left for packets of mean size as the queue counts them.
    pub fn usable_rate(&self) -> Rate {
        usable(self.rate, self.layer, self.packet)
    }

    /// Capacity of the queue in bytes, if the scenario has it in bytes.
    pub fn buffer_bytes(&self) -> Option<u64> {
        match self.buffer {
            Limit::Packets(_) => None,
            Limit::Bytes(bytes) => Some(bytes),
        }
    }

    /// Everything that a run depends on, as JSON, with the name that results have of it.
    pub(super) fn resolved(&self, name: &str, flows: &[FlowSpec]) -> Json {
        let rate = match &self.changes {
            RateChanges::None => json!(self.rate.text()),
            RateChanges::At(steps) => std::iter::once((Span::ZERO, self.rate))
                .chain(steps.iter().copied())
                .map(|(time, rate)| json!([time.text(), rate.text()]))
                .collect(),
            RateChanges::Trace(trace) => json!({
                "trace": trace.name,
                "mean": self.rate.text(),
                "opportunities": trace.times.len(),
                "period": trace.period().text(),
                "checksum": format!("{:016x}", trace.checksum()),
            }),
            RateChanges::Wander { values, hold } => {
                json!({"values": values.iter().map(|rate| rate.text()).collect::<Vec<_>>(), "hold": hold.text()})
            }
            RateChanges::Fade(fading) => json!({"mean": self.rate.text(), "fading": fading.text()}),
        };
        let mut shown = json!({
            "name": name,
            "rate": rate,
            "delay": self.delay.text(),
            "buffer": limit_text(self.buffer),
            "target": format!("{} packets", self.target),
            "aqm": self.aqm.name,
            "fixed": self.fixed,
            "ecn": self.ecn,
            "overhead": format!("{} B", self.layer.added),
            "mpu": format!("{} B", self.layer.least),
            "framing": self.layer.framing.text(),
        });
        shown.as_object_mut().expect("made as an object above").extend(self.impairments.resolved());
        if self.shared.is_some() {
            shown["shared"] = json!(true);
        }
        if self.host {
            shown["host"] = json!(true);
        }
        if !self.classes.classes.is_empty() {
            shown["classes"] = Json::from(self.classes.resolved(flows));
        }
        shown
    }
}

/// The part of a rate that is left for packets of this size as queues count them.
pub(crate) fn usable(rate: Rate, layer: LinkLayer, packet: f64) -> Rate {
    match layer {
        LinkLayer::PLAIN => rate,
        _ => Rate(rate.0 * packet / f64::from(layer.bytes(packet.round() as u32).max(1))),
    }
}

/// A link, the `index`-th, whose table stands at `at`, and the trace that more than its rate follows.
pub fn read_link<'a>(
    table: &Table,
    at: &str,
    index: usize,
    context: &LinkContext<'a>,
    found: &mut Vec<Problem>,
) -> Option<(LinkSpec, Option<&'a ConditionTrace>)> {
    let (basis, traces) = (context.bases.of(index), context.traces);
    let mut link = TableReader::new(table, at, &LINKS, found);
    let name = link.name("bottleneck");
    let rate_and_changes = read_fading_rate(&mut link, traces);
    let layer = read_layer(&mut link);
    let rate = rate_and_changes.as_ref().map(|(rate, _)| usable(*rate, layer, basis.packet));
    let line = condition_trace(&mut link, traces);
    let delay: Option<Span> = link.optional("delay");
    let delay = delay.or_else(|| Some(line?.delays.first()?.1)).unwrap_or(Span::ZERO);
    let buffer = read_buffer(&mut link, rate, basis);
    let buffer_packets = buffer.map(|buffer| basis.packets(buffer));
    let target = read_target(&mut link, rate, buffer_packets, basis);
    let aqm = match AqmChoice::parse(link.text("aqm").unwrap_or("droptail")) {
        Ok(choice) => Some(choice),
        Err(reason) => {
            link.refuse("aqm", reason);
            None
        }
    };
    let [fixed, ecn, host] = ["fixed", "ecn", "host"].map(|key| link.or_default(key));
    let mut impairments = Impairments::read(&mut link, basis.largest);
    if let Some((_, loss)) = line.and_then(|line| line.losses.first()) {
        impairments.loss = Some(Loss::random(loss.0));
    }
    let classes = read_classes(&mut link, index, context);
    link.finish();
    let (rate, changes) = rate_and_changes?;
    let spec = LinkSpec {
        list: name.clone(),
        name,
        rate,
        changes,
        delay,
        buffer: buffer?,
        shared: None,
        buffer_packets: buffer_packets?,
        packet: basis.packet,
        target: target?,
        aqm: aqm?,
        fixed,
        ecn,
        layer,
        impairments,
        host,
        classes: classes?,
    };
    Some((spec, line))
}

/// The table that a link follows, if it follows one. What has a column there stands nowhere else.
fn condition_trace<'a>(link: &mut TableReader, traces: &'a LinkTraces) -> Option<&'a ConditionTrace> {
    let LinkTrace::Conditions(line) = traces.get(link.raw("rate")?.get("trace")?.as_str()?)? else { return None };
    for (key, has_column) in [("delay", !line.delays.is_empty()), ("loss", !line.losses.is_empty())] {
        if has_column && link.raw(key).is_some() {
            link.refuse(key, "is a column of the trace too; leave one of them out");
        }
    }
    Some(line)
}

/// `overhead`, `mpu` and `framing`.
fn read_layer(link: &mut TableReader) -> LinkLayer {
    let mut bytes = |key| {
        let given: Bytes = link.or_default(key);
        if given.0.fract() != 0.0 {
            link.refuse(key, format!("\"{}\" must be whole bytes", given.text()));
        }
        given.0 as i64
    };
    let (added, least) = (bytes("overhead"), bytes("mpu"));
    LinkLayer { added, least, framing: link.or_default("framing") }
}

const RATE_FORMS: &str = "a rate, a schedule [[\"0 s\", \"45 Mbit/s\"], [\"50 s\", \"15 Mbit/s\"]], \
                          { values = [\"3 Mbit/s\", \"1 Mbit/s\"], hold = \"2 s\" } or { trace = \"FILE\" }";

/// A rate, which may be the mean of one that fades, and its changes.
fn read_fading_rate(link: &mut TableReader, traces: &LinkTraces) -> Option<(Rate, RateChanges)> {
    let (read, fading) = (read_rate(link, traces), Fading::read(link));
    match (read?, fading) {
        (read, None) => Some(read),
        ((mean, RateChanges::None), Some(fading)) => Some((mean, RateChanges::Fade(fading))),
        (read, Some(_)) => {
            link.refuse("fading", "needs one rate, its mean; this one has changes of its own");
            Some(read)
        }
    }
}

/// A rate, a schedule of rates, rates that hold for a while each, or a trace.
fn read_rate(link: &mut TableReader, traces: &LinkTraces) -> Option<(Rate, RateChanges)> {
    let read = match link.raw("rate") {
        Some(Value::Array(steps)) => read_schedule(steps),
        Some(Value::Table(table)) if table.contains_key("trace") => read_trace(table, traces),
        Some(Value::Table(table)) => read_wander(table),
        _ => {
            return Some((link.required("rate")?, RateChanges::None));
        }
    };
    read.map_err(|reason| link.refuse("rate", reason)).ok()
}

fn legal_rate(value: &Value) -> Result<Rate, String> {
    let text = scalar(value).ok_or_else(|| format!("expected {RATE_FORMS}, found {}", kind(value)))?;
    read_in_range(ParamInput::Text(&text), Some(RATES))
}

/// Times and the rates from then on, in order, the first at 0 s.
fn read_schedule(steps: &[Value]) -> Result<(Rate, RateChanges), String> {
    let step = |value: &Value| match value.as_array().map(Vec::as_slice) {
        Some([time, rate]) => {
            let time = scalar(time).ok_or_else(|| format!("expected a time, found {}", kind(time)))?;
            Ok((Span::parse(&time)?, legal_rate(rate)?))
        }
        _ => Err(format!("expected {RATE_FORMS}")),
    };
    let steps = steps.iter().map(step).collect::<Result<Vec<_>, String>>()?;
    match steps.first() {
        Some((Span::ZERO, _)) => {}
        Some((time, _)) => {
            return Err(format!("the schedule begins at {}; the first step must be at 0 s", time.text()));
        }
        None => return Err(format!("expected {RATE_FORMS}, found an empty list")),
    }
    if let Some(pair) = steps.windows(2).find(|pair| pair[1].0 <= pair[0].0) {
        let (before, after) = (pair[0].0.text(), pair[1].0.text());
        return Err(format!("the schedule is out of order: \"{after}\" follows \"{before}\""));
    }
    Ok(rate_steps(steps))
}

/// The first rate, and those that follow.
fn rate_steps(mut steps: Vec<(Span, Rate)>) -> (Rate, RateChanges) {
    let (_, rate) = steps.remove(0);
    (rate, if steps.is_empty() { RateChanges::None } else { RateChanges::At(steps) })
}

fn read_trace(table: &Table, traces: &LinkTraces) -> Result<(Rate, RateChanges), String> {
    let (Some(Value::String(name)), 1) = (table.get("trace"), table.len()) else {
        return Err(format!("expected {RATE_FORMS}"));
    };
    match traces.get(name) {
        Some(LinkTrace::Opportunities(trace)) => Ok((trace.mean(), RateChanges::Trace(trace.clone()))),
        Some(LinkTrace::Conditions(line)) => Ok(rate_steps(line.rates.clone())),
        None => Err(format!("trace: \"{}\" is not in [traces], or is refused there", clip(name))),
    }
}

fn read_wander(table: &Table) -> Result<(Rate, RateChanges), String> {
    let (Some(Value::Array(values)), Some(hold), 2) = (table.get("values"), table.get("hold"), table.len()) else {
        return Err(format!("expected {RATE_FORMS}"));
    };
    let values = values.iter().map(legal_rate).collect::<Result<Vec<_>, _>>()?;
    let hold = Distribution::<Span>::read(hold).map_err(|reason| format!("hold: {reason}"))?;
    if hold.typical_largest() < Span::parse("1 us")? {
        return Err(format!("hold: \"{}\" is too short; at least 1 us", hold.text()));
    }
    match values[..] {
        [first, _, ..] => Ok((first, RateChanges::Wander { values, hold })),
        _ => Err("values: a rate that wanders needs two values or more".into()),
    }
}

fn read_buffer(link: &mut TableReader, rate: Option<Rate>, basis: SizingBasis) -> Option<Limit> {
    let Some(value) = link.raw("buffer") else {
        link.miss("buffer");
        return None;
    };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    if Span::parse(&text).is_ok() && rate.is_none() {
        return None; // what is wrong with the rate has been said
    }
    if text.trim().ends_with("bdp") && (rate.is_none() || basis.longest_rtt.is_none()) {
        return None; // what is wrong with the rate or the flows has been said
    }
    limit(&text, rate, basis).map_err(|reason| link.refuse("buffer", reason)).ok()
}

/// Packets, or a delay at the link's rate; a third of the buffer (as in the papers) when it is not given.
fn read_target(
    link: &mut TableReader,
    rate: Option<Rate>,
    buffer_packets: Option<f64>,
    basis: SizingBasis,
) -> Option<f64> {
    let (value, buffer_packets) = (link.raw("target"), buffer_packets?);
    let Some(value) = value else { return Some(buffer_packets / 3.0) };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    if Span::parse(&text).is_ok() && rate.is_none() {
        return None; // what is wrong with the rate has been said
    }
    let packets = target(&text, rate.unwrap_or(Rate(0.0)), buffer_packets, basis);
    packets.map_err(|reason| link.refuse("target", reason)).ok()
}
