//! Text -> scenario. All problems of a file are reported together, each with the path of its field.

use super::law::Law;
use super::reader::{Found, Reader, kind, scalar};
use super::{AqmChoice, Batch, FlowSpec, LinkSpec, Scenario};
use aqmlab_aqm::Limit;
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Bytes, Packets, ParamSet, Problem, Problems, Quantity, Rate, Span};
use aqmlab_tcp::{Profile, TcpParams, Variant};
use toml::{Table, Value};

/// Largest scenario file, bytes: far above any scenario, far below what would exhaust a machine.
const MAX_TEXT: usize = 1 << 20;
/// Most links in a path.
const MAX_HOPS: usize = 255;
/// Most flows in a scenario.
const MAX_FLOWS: u32 = 2_000_000;

/// Reads a scenario; `overrides` are `path = value` pairs as of `--set`, such as `links.bottleneck.rate = 15 Mbit/s`.
pub fn parse(text: &str, name: &str, overrides: &[(String, String)]) -> Result<Scenario, Problems> {
    if text.len() > MAX_TEXT {
        return Err(Problems::one(
            name,
            format!("is not a scenario: {} bytes, at most {MAX_TEXT} are read", text.len()),
        ));
    }
    let mut table: Table = text.parse().map_err(|error| syntax_problem(name, text, &error))?;
    let mut found = Found::new();
    for (path, value) in overrides {
        if let Err(reason) = set(&mut table, path, value) {
            found.push(Problem { path: clip(path), reason });
        }
    }
    let scenario = if found.is_empty() { read_scenario(&table, name, &mut found) } else { None };
    match scenario {
        Some(scenario) if found.is_empty() => scenario.check_schemes(None).map(|()| scenario),
        _ => Err(Problems(found)),
    }
}

fn syntax_problem(name: &str, text: &str, error: &toml::de::Error) -> Problems {
    let line = error.span().map_or(1, |span| 1 + text.bytes().take(span.start).filter(|b| *b == b'\n').count());
    Problems::one(name, format!("is not TOML: line {line}: {}", error.message().replace('\n', "; ")))
}

/// Sets `links.bottleneck.rate` and the like: list items go by their `name` or their index.
fn set(table: &mut Table, path: &str, text: &str) -> Result<(), String> {
    let mut keys: Vec<&str> = path.split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err("is not a path; write e.g. links.bottleneck.rate=\"15 Mbit/s\"".into());
    }
    let last = keys.pop().unwrap_or_default();
    let (mut place, mut keys) = (table, keys.into_iter());
    while let Some(key) = keys.next() {
        // A table that is not there is made; if it has no business there, the reader refuses it by name.
        let next = match place.entry(key).or_insert_with(|| Value::Table(Table::new())) {
            Value::Array(items) => {
                let name = keys.next().ok_or_else(|| format!("names a list; write {key}.NAME.{last}"))?;
                named_item(items, key, name)?
            }
            next => next,
        };
        place = match next {
            Value::Table(table) => table,
            other => return Err(format!("\"{}\" is {}, not a table", clip(key), kind(other))),
        };
    }
    let value = format!("value = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("value"));
    place.insert(last.to_string(), value.unwrap_or_else(|| Value::String(text.to_string())));
    Ok(())
}

fn named_item<'a>(items: &'a mut [Value], list: &str, name: &str) -> Result<&'a mut Value, String> {
    let names: Vec<String> =
        items.iter().map(|i| i.get("name").and_then(Value::as_str).unwrap_or(default_name(list)).to_string()).collect();
    let index = names.iter().position(|known| known == name).or_else(|| name.parse().ok().filter(|i| *i < items.len()));
    match index {
        Some(index) => Ok(&mut items[index]),
        None => Err(unknown(list.trim_end_matches('s'), name, &names.iter().map(String::as_str).collect::<Vec<_>>())),
    }
}

fn default_name(list: &str) -> &'static str {
    if list == "links" { "bottleneck" } else { "flows" }
}

fn read_scenario(table: &Table, name: &str, found: &mut Found) -> Option<Scenario> {
    let mut top = Reader::new(table, "", found);
    let schema: Option<u32> = top.required("schema", "1");
    if schema.is_some_and(|schema| schema != 1) {
        top.refuse("schema", format!("{} is not known; this version reads schema 1", schema.unwrap_or(0)));
    }
    let title = top.text("title").unwrap_or(name).to_string();
    let duration: Option<Span> = top.required("duration", "\"100 s\"");
    let duration = top.within("duration", duration, "1 us", "1000000 s");
    let warmup = top.optional::<Span>("warmup").unwrap_or(Span::ZERO);
    let sample: Option<Span> = top.optional("sample");
    let sample = top.within("sample", sample, "1 us", "1000000 s").unwrap_or(Span::from_seconds(0.01));
    if duration.is_some_and(|duration| warmup >= duration) {
        top.refuse("warmup", format!("\"{}\" must be shorter than the duration", warmup.text()));
    }
    if duration.is_some_and(|duration| duration.0 / sample.0 > 50_000_000) {
        top.refuse("sample", format!("\"{}\" gives more than 50 million samples", sample.text()));
    }
    let (link_tables, flow_tables) = (top.tables("links"), top.tables("flows"));
    if link_tables.is_empty() {
        top.refuse("links", "missing: a scenario needs at least one [[links]]");
    }
    if flow_tables.is_empty() {
        top.refuse("flows", "missing: a scenario needs at least one [[flows]]");
    }
    let schemes = read_schemes(&mut top);
    top.finish();

    let link_names = read_names(&link_tables, "links", found);
    let flows: Vec<Option<FlowSpec>> = flow_tables.iter().map(|t| read_flows(t, &link_names, found)).collect();
    let flows: Vec<FlowSpec> = flows.into_iter().flatten().collect();
    refuse_twice("flows", flows.iter().map(|f| f.name.as_str()), found);
    if flows.iter().map(|f| u64::from(f.count())).sum::<u64>() > u64::from(MAX_FLOWS) {
        found.push(Problem { path: "flows".into(), reason: format!("more than {MAX_FLOWS} flows") });
    }
    let links: Vec<Option<LinkSpec>> = link_tables.iter().map(|t| read_link(t, &flows, found)).collect();
    let links: Vec<LinkSpec> = links.into_iter().flatten().collect();
    let duration = duration?;
    if links.len() == link_tables.len() && flows.len() == flow_tables.len() {
        check_flows(&links, &flows, duration, found);
    }
    Some(Scenario { name: name.to_string(), title, duration, warmup, sample, links, flows, schemes })
}

fn read_schemes(top: &mut Reader) -> Vec<(String, Vec<(String, String)>)> {
    let schemes = match top.raw("schemes") {
        None => return Vec::new(),
        Some(Value::Table(schemes)) => schemes,
        Some(other) => {
            top.refuse("schemes", format!("expected tables, [schemes.NAME], found {}", kind(other)));
            return Vec::new();
        }
    };
    let mut read = Vec::new();
    for (name, params) in schemes {
        let path = format!("schemes.{}", clip(name));
        let (entry, params) = match (aqmlab_aqm::entry(name), params) {
            (Ok(entry), Value::Table(params)) => (entry, params),
            (Ok(_), other) => {
                top.refuse(&path, format!("expected a table of parameters, found {}", kind(other)));
                continue;
            }
            (Err(reason), _) => {
                top.refuse(&path, reason);
                continue;
            }
        };
        let pairs: Vec<(String, String)> = params
            .iter()
            .map(|(key, value)| (key.clone(), scalar(value).unwrap_or_else(|| kind(value).to_string())))
            .collect();
        let borrowed: Vec<(&str, &str)> = pairs.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        if let Err(Problems(problems)) = entry.values(&path, &borrowed) {
            top.extend(problems);
        }
        read.push((name.clone(), pairs));
    }
    read
}

/// Names of the tables of a list, which paths may mention before the tables themselves are read.
fn read_names(tables: &[&Table], list: &'static str, found: &mut Found) -> Vec<String> {
    let name = |table: &&Table| table.get("name").and_then(Value::as_str).unwrap_or(default_name(list)).to_string();
    let names: Vec<String> = tables.iter().map(name).collect();
    refuse_twice(list, names.iter().map(String::as_str), found);
    names
}

fn refuse_twice<'a>(list: &str, names: impl Iterator<Item = &'a str>, found: &mut Found) {
    let mut seen = std::collections::BTreeSet::new();
    for name in names.filter(|name| !seen.insert(*name)).collect::<Vec<_>>() {
        found.push(Problem { path: format!("{list}.{}", clip(name)), reason: "this name is used twice".into() });
    }
}

fn read_link(table: &Table, flows: &[FlowSpec], found: &mut Found) -> Option<LinkSpec> {
    let shown = table.get("name").and_then(Value::as_str).unwrap_or("bottleneck");
    let mut link = Reader::new(table, format!("links.{}", clip(shown)), found);
    let name = link.name("bottleneck");
    let rate: Option<Rate> = link.required("rate", "\"45 Mbit/s\"");
    let rate = link.within("rate", rate, "1 bit/s", "10 Tbit/s");
    let delay = link.optional::<Span>("delay").unwrap_or(Span::ZERO);
    let buffer = read_buffer(&mut link, rate, flows);
    let target = read_target(&mut link, rate, buffer, flows);
    let aqm = match AqmChoice::parse(link.text("aqm").unwrap_or("droptail")) {
        Ok(choice) => Some(choice),
        Err(reason) => {
            link.refuse("aqm", reason);
            None
        }
    };
    let fixed = link.optional("fixed").unwrap_or(false);
    link.finish();
    Some(LinkSpec { name, rate: rate?, delay, buffer: buffer?, target: target?, aqm: aqm?, fixed })
}

/// Packets, bytes, or multiples of the bandwidth-delay product at the longest RTT.
fn read_buffer(link: &mut Reader, rate: Option<Rate>, flows: &[FlowSpec]) -> Option<Limit> {
    let text = match link.raw("buffer") {
        None => {
            link.refuse("buffer", "missing; write e.g. buffer = \"900 packets\", \"1 MB\" or \"2 bdp\"");
            return None;
        }
        Some(value) => scalar(value).unwrap_or_else(|| kind(value).to_string()),
    };
    let packets = if let Some(multiple) = text.trim().strip_suffix("bdp") {
        let longest = flows.iter().map(|f| f.rtt.typical_longest().seconds()).fold(0.0, f64::max);
        f64::parse(multiple)
            .map(|m| m * rate.map_or(0.0, |r| r.0) * longest / 8.0 / mean_wire_size(flows))
            .map(f64::ceil)
    } else if text.trim_end().ends_with('B') {
        match Bytes::parse(&text) {
            Ok(Bytes(bytes)) if (1.0..=1e12).contains(&bytes) => return Some(Limit::Bytes(bytes as u64)),
            Ok(_) => Err(format!("\"{}\" is out of range: must lie in 1 B ..= 1000 GB", clip(&text))),
            Err(reason) => Err(reason),
        }
    } else {
        Packets::parse(&text).map(|p| p.0)
    };
    match packets {
        Ok(packets) if (1.0..=1e7).contains(&packets) && packets.fract() == 0.0 => Some(Limit::Packets(packets as u32)),
        Ok(_) => {
            link.refuse(
                "buffer",
                format!("\"{}\" is out of range: must be a whole number in 1 packet ..= 10000000 packets", clip(&text)),
            );
            None
        }
        Err(reason) => {
            link.refuse("buffer", reason);
            None
        }
    }
}

/// Packets, or a delay at the link's rate; a third of the buffer (as in the papers) when it is not given.
fn read_target(link: &mut Reader, rate: Option<Rate>, buffer: Option<Limit>, flows: &[FlowSpec]) -> Option<f64> {
    let room = match buffer? {
        Limit::Packets(packets) => f64::from(packets),
        Limit::Bytes(bytes) => bytes as f64 / mean_wire_size(flows),
    };
    let Some(value) = link.raw("target") else { return Some(room / 3.0) };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    let packets = match Packets::parse(&text) {
        Ok(Packets(packets)) => Ok(packets),
        Err(reason) => match Span::parse(&text) {
            Ok(delay) => Ok(delay.seconds() * rate?.0 / 8.0 / mean_wire_size(flows)),
            Err(_) => Err(format!("{reason}, or a delay such as \"10 ms\"")),
        },
    };
    match packets {
        Ok(packets) if packets > 0.0 && packets <= room => Some(packets),
        Ok(_) => {
            link.refuse(
                "target",
                format!("\"{}\" must be above 0 and not above the buffer ({room} packets)", clip(&text)),
            );
            None
        }
        Err(reason) => {
            link.refuse("target", reason);
            None
        }
    }
}

/// Packet size on the wire, over all flows, bytes.
fn mean_wire_size(flows: &[FlowSpec]) -> f64 {
    let count: f64 = flows.iter().map(|f| f64::from(f.count())).sum();
    let bytes: f64 = flows.iter().map(|f| f64::from(f.count()) * f64::from(f.wire_size())).sum();
    if count > 0.0 { bytes / count } else { 1040.0 }
}

fn read_flows(table: &Table, links: &[String], found: &mut Found) -> Option<FlowSpec> {
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
    let count = flow.within("count", count, "1", "2000000");
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
    let own = table.iter().filter(|(key, _)| !["profile", "variant"].contains(&key.as_str()));
    let own: Vec<(String, String)> =
        own.map(|(key, value)| (key.clone(), scalar(value).unwrap_or_else(|| kind(value).to_string()))).collect();
    let pairs = own.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    let found = flow.found();
    params.read(&path, profile.settings().iter().copied().chain(pairs), found);
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
fn check_flows(links: &[LinkSpec], flows: &[FlowSpec], duration: Span, found: &mut Found) {
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
