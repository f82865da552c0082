//! Reads the flows of a scenario.

use super::law::Law;
use super::reader::{Found, Reader, kind, scalar};
use super::{Batch, FlowSpec, LinkSpec};
use aqmlab_aqm::Limit;
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Bytes, ParamSet, Problem, Quantity, Rate, Span};
use aqmlab_tcp::{Profile, TcpParams, Variant};
use toml::{Table, Value};

/// Most links in a path.
const MAX_HOPS: usize = 255;

/// One `[[flows]]`; paths may name any of `links`.
pub fn read_flows(table: &Table, links: &[String], found: &mut Found) -> Option<FlowSpec> {
    let shown = table.get("name").and_then(Value::as_str).unwrap_or("flows");
    let mut flow = Reader::new(table, format!("flows.{}", clip(shown)), found);
    let name = flow.name("flows");
    match flow.text("kind") {
        Some("ftp") | None => {}
        Some(other) => flow.refuse("kind", unknown("kind", other, &["ftp"])),
    }
    let path = read_path(&mut flow, links);
    let rtt = read_law(&mut flow, "rtt");
    if rtt.is_none() && flow.raw("rtt").is_none() {
        flow.refuse("rtt", "missing; write e.g. rtt = \"80 ms\"");
    }
    let payload: Option<Bytes> = flow.optional("packet");
    let payload = flow.within("packet", payload, "1 B", "64000 B").map_or(1000, |b| b.0.round() as u32);
    let access_rate: Option<Rate> = flow.optional("access_rate");
    let access_rate = flow.within("access_rate", access_rate, "1 bit/s", "10 Tbit/s");
    if flow.optional::<bool>("ecn") == Some(true) {
        flow.refuse("ecn", "true is not available yet; this version drops, it does not mark");
    }
    let tcp = read_tcp(&mut flow);
    let batches = read_batches(&mut flow);
    flow.finish();
    let (profile, variant, tcp) = tcp?;
    Some(FlowSpec { name, path: path?, rtt: rtt?, batches: batches?, payload, access_rate, profile, variant, tcp })
}

fn read_path(flow: &mut Reader, links: &[String]) -> Option<Vec<usize>> {
    let Some(value) = flow.raw("path") else { return Some((0..links.len()).collect()) };
    let names: Option<Vec<&str>> = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(names) = names.filter(|names| !names.is_empty()) else {
        flow.refuse("path", format!("expected a list of links such as [\"bottleneck\"], found {}", kind(value)));
        return None;
    };
    let known: Vec<&str> = links.iter().map(String::as_str).collect();
    if names.len() > MAX_HOPS {
        flow.refuse("path", format!("crosses {} links; at most {MAX_HOPS}", names.len()));
        return None;
    }
    let mut path = Vec::new();
    for name in names {
        match known.iter().position(|link| *link == name) {
            Some(index) if path.contains(&index) => flow.refuse("path", format!("crosses \"{name}\" twice")),
            Some(index) => path.push(index),
            None => flow.refuse("path", unknown("link", name, &known)),
        }
    }
    Some(path)
}

/// One law for all flows, or `groups = [{ count, start, stop }, ...]`.
fn read_batches(flow: &mut Reader) -> Option<Vec<Batch>> {
    let groups = flow.tables("groups");
    if groups.is_empty() {
        return read_batch(flow).map(|batch| vec![batch]);
    }
    for key in ["count", "start", "stop"] {
        if flow.raw(key).is_some() {
            flow.refuse(key, "stands beside groups; give it in each group");
        }
    }
    let mut batches = Vec::new();
    for (i, table) in groups.into_iter().enumerate() {
        let path = flow.path(&format!("groups.{i}"));
        let mut group = Reader::new(table, path, flow.found());
        batches.push(read_batch(&mut group));
        group.finish();
    }
    batches.into_iter().collect()
}

fn read_batch(flow: &mut Reader) -> Option<Batch> {
    let count: Option<u32> = if flow.raw("count").is_some() { flow.optional("count") } else { Some(1) };
    let count = flow.within("count", count, "1", "1000000");
    let start = if flow.raw("start").is_some() { read_law(flow, "start") } else { Some(Law::Fixed(Span::ZERO)) };
    let (has_stop, stop) = (flow.raw("stop").is_some(), read_law(flow, "stop"));
    if has_stop && stop.is_none() {
        return None;
    }
    Some(Batch { count: count?, start: start?, stop })
}

/// `tcp = "reno"`, or `tcp = { variant = "reno", profile = "ns2", min_rto = "1 s" }`.
fn read_tcp(flow: &mut Reader) -> Option<(Profile, Variant, TcpParams)> {
    let empty = Table::new();
    let table = match flow.raw("tcp") {
        None => &empty,
        Some(Value::Table(table)) => table,
        Some(Value::String(variant)) => {
            let variant = Variant::parse(variant).map_err(|reason| flow.refuse("tcp", reason)).ok()?;
            return Some((Profile::Rfc, variant, TcpParams::defaults()));
        }
        Some(other) => {
            flow.refuse("tcp", format!("expected a variant or a table, found {}", kind(other)));
            return None;
        }
    };
    let path = flow.path("tcp");
    let mut tcp = Reader::new(table, path.clone(), flow.found());
    let profile = tcp.optional("profile").unwrap_or(Profile::Rfc);
    let variant = tcp.optional("variant").unwrap_or(profile.default_variant());
    let mut params = TcpParams::defaults();
    let own: Vec<(&str, String)> = TcpParams::specs()
        .iter()
        .filter_map(|spec| tcp.raw(spec.name).map(|value| (spec.name, value)))
        .map(|(name, value)| (name, scalar(value).unwrap_or_else(|| kind(value).to_string())))
        .collect();
    tcp.finish();
    let pairs = own.iter().map(|(name, value)| (*name, value.as_str()));
    params.read(&path, profile.settings().iter().copied().chain(pairs), flow.found());
    Some((profile, variant, params))
}

fn read_law(reader: &mut Reader, key: &'static str) -> Option<Law> {
    let value = reader.raw(key)?;
    let law = match value {
        Value::Table(table) => law_from_table(table),
        other => match scalar(other) {
            Some(text) => Span::parse(&text).map(Law::Fixed),
            None => Err(format!("expected a time or a distribution, found {}", kind(other))),
        },
    };
    law.map_err(|reason| reader.refuse(key, reason)).ok()
}

fn law_from_table(table: &Table) -> Result<Law, String> {
    const KNOWN: [&str; 4] = ["uniform", "exponential", "lognormal", "values"];
    let (name, value) = match table.iter().collect::<Vec<_>>()[..] {
        [one] => one,
        _ => return Err(format!("a distribution has one name; known: {}", KNOWN.join(", "))),
    };
    let span = |value: &Value| {
        scalar(value).ok_or(format!("expected a time, found {}", kind(value))).and_then(|t| Span::parse(&t))
    };
    let spans = |value: &Value| match value {
        Value::Array(items) if !items.is_empty() => items.iter().map(span).collect::<Result<Vec<_>, _>>(),
        other => Err(format!("expected a list of times, found {}", kind(other))),
    };
    match name.as_str() {
        "uniform" => match spans(value)?[..] {
            [low, high] if low <= high => Ok(Law::Uniform(low, high)),
            _ => Err("uniform takes two times, the smaller first: { uniform = [\"20 ms\", \"140 ms\"] }".into()),
        },
        "exponential" => span(value).map(Law::Exponential),
        "values" => spans(value).map(Law::Values),
        "lognormal" => match value.as_table().map(|t| (t.len(), t.get("median"), t.get("sigma").and_then(scalar))) {
            Some((2, Some(median), Some(sigma))) => match f64::parse(&sigma)? {
                sigma if (0.0..=10.0).contains(&sigma) => Ok(Law::Lognormal { median: span(median)?, sigma }),
                sigma => Err(format!("sigma \"{sigma}\" is out of range: must lie in 0 ..= 10")),
            },
            _ => Err("lognormal takes { median = \"149 ms\", sigma = 0.405 }".into()),
        },
        other => Err(unknown("distribution", other, &KNOWN)),
    }
}

/// What must hold between flows and the links they cross.
pub fn check_flows(links: &[LinkSpec], flows: &[FlowSpec], duration: Span, found: &mut Found) {
    for flow in flows {
        let mut refuse =
            |key: &str, reason: String| found.push(Problem { path: format!("flows.{}.{key}", flow.name), reason });
        let own: u64 = flow.path.iter().map(|link| links[*link].delay.0).sum();
        let least = flow.rtt.least();
        let drawn_from_zero = matches!(flow.rtt, Law::Exponential(_) | Law::Lognormal { .. });
        if least.0 < 2 * own && !drawn_from_zero {
            refuse(
                "rtt",
                format!(
                    "\"{}\" is shorter than the path's own delay, there and back: {}",
                    least.text(),
                    Span(2 * own).text()
                ),
            );
        }
        for batch in &flow.batches {
            if batch.start.least() > duration {
                refuse(
                    "start",
                    format!("\"{}\" is after the end of the run ({})", batch.start.text(), duration.text()),
                );
            }
            if let (Law::Fixed(start), Some(Law::Fixed(stop))) = (&batch.start, &batch.stop)
                && stop <= start
            {
                refuse("stop", format!("\"{}\" is not after the start ({})", stop.text(), start.text()));
            }
        }
        let largest = flow.wire_size();
        for link in flow.path.iter().map(|link| &links[*link]) {
            if matches!(link.buffer, Limit::Bytes(bytes) if bytes < u64::from(largest)) {
                refuse("packet", format!("{largest} B on the wire do not fit the buffer of links.{}", link.name));
            }
        }
    }
}
