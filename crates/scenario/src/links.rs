//! The links of a scenario.

use crate::classes::read_classes;
use crate::condition_trace::ConditionTrace;
use crate::distribution::Distribution;
use crate::fading::Fading;
use crate::impairments::{Impairments, Loss};
use crate::link_trace::{LinkTrace, LinkTraces};
use crate::sizing::{SizingBasis, limit, target};
use crate::table_reader::{TableReader, kind, scalar};
use crate::{AqmChoice, Change, ClassTree, FlowSpec, OpportunityTrace};
use aqmlab_aqm::link_layer::{Framing, LinkLayer};
use aqmlab_aqm::{Limit, QueueView};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Problem, Quantity, Rate, Span};
use toml::{Table, Value};

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

/// The changes of a link's rate during a run. A packet in transmission is not affected.
#[derive(Clone, Debug, PartialEq)]
pub enum RateChanges {
    /// Never.
    None,
    /// To these rates at these times, in order.
    At(Vec<(Span, Rate)>),
    /// To another of these rates, drawn at random, each time it has held for a while: a wireless link.
    Wander {
        /// The rates, two or more.
        values: Vec<Rate>,
        /// Time that each holds.
        hold: Distribution<Span>,
    },
    /// It fades around its mean, a radio link's.
    Fade(Fading),
    /// There is none but a mean: packets leave at the opportunities of a trace.
    Trace(OpportunityTrace),
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

    /// The link's queue before the first packet.
    pub fn empty_queue(&self) -> QueueView {
        QueueView::empty(self.rate, self.target, self.buffer_packets)
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
}

/// The part of a rate that is left for packets of this size as queues count them.
fn usable(rate: Rate, layer: LinkLayer, packet: f64) -> Rate {
    match layer {
        LinkLayer::PLAIN => rate,
        _ => Rate(rate.0 * packet / f64::from(layer.bytes(packet.round() as u32).max(1))),
    }
}

/// A link, the `index`-th, whose table stands at `at`, and what changes at it by its trace; the flows that cross it tell packet
/// sizes and round-trip times.
pub fn read_link(
    table: &Table,
    at: &str,
    index: usize,
    flows: &[FlowSpec],
    traces: &LinkTraces,
    found: &mut Vec<Problem>,
) -> Option<(LinkSpec, Vec<Change>)> {
    let basis = SizingBasis::of(index, flows);
    let mut link = TableReader::new(table, at, found);
    let name = link.name("bottleneck");
    let rate_and_changes = read_fading_rate(&mut link, traces);
    let layer = read_layer(&mut link);
    let rate = rate_and_changes.as_ref().map(|(rate, _)| usable(*rate, layer, basis.packet));
    let line = condition_trace(&mut link, traces);
    let delay: Option<Span> = link.optional("delay");
    let delay = link.within("delay", delay, "0 s", "1000 s");
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
    let fixed = link.optional("fixed").unwrap_or(false);
    let ecn = link.optional("ecn").unwrap_or(true);
    let host = link.optional("host").unwrap_or(false);
    let mut impairments = Impairments::read(&mut link, basis.largest);
    if let Some((_, loss)) = line.and_then(|line| line.losses.first()) {
        impairments.loss = Some(Loss::random(loss.0));
    }
    let classes = read_classes(&mut link, index, flows, basis);
    link.finish();
    let (rate, changes) = rate_and_changes?;
    let of_trace = line.map_or(Vec::new(), |line| line.changes(&name));
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
    Some((spec, of_trace))
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
    let mut bytes = |key, least| {
        let given: Option<Bytes> = link.optional(key);
        let given = link.within(key, given, least, "256 B").unwrap_or(Bytes(0.0));
        if given.0.fract() != 0.0 {
            link.refuse(key, format!("\"{}\" must be whole bytes", given.text()));
        }
        given.0 as i64
    };
    let (added, least) = (bytes("overhead", "-64 B"), bytes("mpu", "0 B"));
    LinkLayer { added, least, framing: link.optional("framing").unwrap_or(Framing::Plain) }
}

const RATE_EXAMPLE: &str = "\"45 Mbit/s\"";
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
            let rate: Option<Rate> = link.required("rate", RATE_EXAMPLE);
            let rate = link.within("rate", rate, "1 bit/s", "10 Tbit/s")?;
            return Some((rate, RateChanges::None));
        }
    };
    read.map_err(|reason| link.refuse("rate", reason)).ok()
}

fn legal_rate(value: &Value) -> Result<Rate, String> {
    let text = scalar(value).ok_or_else(|| format!("expected {RATE_FORMS}, found {}", kind(value)))?;
    match Rate::parse(&text)? {
        rate if (1.0..=1e13).contains(&rate.0) => Ok(rate),
        _ => Err(format!("\"{}\" is out of range: must lie in 1 bit/s ..= 10 Tbit/s", clip(&text))),
    }
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
        link.miss("buffer", "\"900 packets\", \"1 MB\", \"100 ms\" or \"2 bdp\"");
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
