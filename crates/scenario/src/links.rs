//! The links of a scenario.

use crate::classes::read_classes;
use crate::condition_trace::ConditionTrace;
use crate::distribution::Distribution;
use crate::fading::Fading;
use crate::impairments::{Impairments, Loss};
use crate::keys::RATES;
use crate::link_context::LinkContext;
use crate::link_keys::LINKS;
use crate::link_trace::{LinkTrace, LinkTraces};
use crate::sizing::{SizingBasis, limit, target};
use crate::table_reader::{TableReader, kind, scalar};
use crate::{AqmChoice, Change, LinkSpec, RateChanges};
use aqmlab_aqm::Limit;
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Problem, Quantity, Rate, Span};
use toml::{Table, Value};

/// The part of a rate that is left for packets of this size as queues count them.
pub(crate) fn usable(rate: Rate, layer: LinkLayer, packet: f64) -> Rate {
    match layer {
        LinkLayer::PLAIN => rate,
        _ => Rate(rate.0 * packet / f64::from(layer.bytes(packet.round() as u32).max(1))),
    }
}

/// A link, the `index`-th, whose table stands at `at`, and what changes at it by its trace.
pub fn read_link(
    table: &Table,
    at: &str,
    index: usize,
    context: &LinkContext,
    found: &mut Vec<Problem>,
) -> Option<(LinkSpec, Vec<Change>)> {
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
