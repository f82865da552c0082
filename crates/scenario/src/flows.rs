//! The flows of a scenario.

use crate::distribution::Distribution;
use crate::fabric::{FabricShape, read_hosts};
use crate::flow_keys::{FLOWS, GROUPS, SCONE};
use crate::keys::RATES;
use crate::media::read_media_ecn;
use crate::table_reader::{TableReader, kind, scalar};
use crate::tcp::{Tcp, read_tcp};
use crate::traffic::{read_distribution, read_traffic, required_distribution};
use crate::tree::TreeShape;
use crate::wifi::CellShape;
use crate::{Batch, Branch, FlowSpec, LinkSpec, Traffic};
use aqmlab_aqm::{Ecn, Limit};
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Frequency, Problem, Quantity, Rate, Span};
use aqmlab_tcp::{LawChoice, cc};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Most links in a path, there and back together.
const MAX_HOPS: usize = 254;

/// UDP and IP (RFC 768, RFC 791 without options).
const UDP_HEADER: Bytes = Bytes(28.0);

/// RTP payload of a full packet, bytes: what libwebrtc fills.
const RTP_PAYLOAD: u32 = 1200;

/// UDP payload of a full QUIC packet, bytes: what quinn finds out on a path of 1500 B.
const QUIC_PAYLOAD: u32 = 1452;

/// The places where flows may be: paths name links, or the flows are on lines of a tree, between hosts of a fabric, or at stations of a cell.
pub struct FlowPlaces<'a> {
    pub links: &'a [String],
    /// The place of each link, by its name.
    pub link_of: &'a BTreeMap<&'a str, usize>,
    pub tree: Option<&'a TreeShape<'a>>,
    pub fabric: Option<&'a FabricShape<'a>>,
    pub cell: Option<&'a CellShape<'a>>,
}

/// One `[[flows]]`, whose table stands at `at`.
pub fn read_flows(table: &Table, at: &str, places: &FlowPlaces, found: &mut Vec<Problem>) -> Option<FlowSpec> {
    let FlowPlaces { tree: shape, fabric, cell, .. } = *places;
    let mut flow = TableReader::new(table, at, &FLOWS, found);
    let name = flow.name("flows");
    let traffic = read_traffic(&mut flow);
    let is_tcp = traffic.as_ref().is_none_or(Traffic::is_tcp);
    let media = traffic.as_ref().and_then(Traffic::media).cloned();
    let is_quic = traffic.as_ref().is_some_and(Traffic::is_foreign);
    let plan = flow.text("lines");
    let stations = flow.text("stations");
    let path = read_data_path(&mut flow, plan.is_some() || stations.is_some(), places);
    let rtt = required_distribution(&mut flow, "rtt");
    let payload = flow.optional("packet").map(|bytes: Bytes| bytes.0.round() as u32);
    let access_rate: Option<Rate> = if is_quic || media.is_some() { None } else { flow.optional("access_rate") };
    let dscp = read_dscp(&mut flow);
    let hosts = flow.optional("hosts");
    let ack_path = if is_tcp || is_quic || media.is_some() { flow.raw("ack_path") } else { None };
    let ack_path = match ack_path {
        None if is_tcp && fabric.is_some() => fabric.map(|shape| shape.fabric.longest(true)),
        None => Some(Vec::new()),
        Some(value) => read_path(&mut flow, "ack_path", value, places),
    };
    let ends = fabric.and_then(|shape| read_hosts(&mut flow, shape));
    let has_acks = is_tcp || media.is_some();
    let branches = match (plan, shape, stations, cell) {
        (Some(plan), Some(shape), ..) => read_branches(&mut flow, plan, shape, has_acks),
        (_, _, Some(list), Some(cell)) => {
            let wired = [&path, &ack_path].map(|path| path.as_deref().unwrap_or_default());
            read_direction(&mut flow).map(|is_up| cell.branches(list, is_up, has_acks, wired))
        }
        _ => Some(Vec::new()),
    };
    let (rtt_notification, tcp) = match is_tcp {
        true => (flow.or_default("rtt_notification"), read_tcp(&mut flow)),
        false => (false, Some(Tcp::none())),
    };
    let ecn = match &media {
        Some(media) => read_media_ecn(&mut flow, media.law),
        None => read_ecn(&mut flow, tcp.as_ref().map(|tcp| &tcp.control).filter(|_| is_tcp)),
    };
    let header = match is_tcp {
        true => tcp.as_ref().map(|tcp| tcp.params.header),
        false if is_quic => Some(UDP_HEADER),
        false => flow.optional_or_default("header"),
    };
    let pacing = if is_tcp { read_max_pacing_rate(&mut flow) } else { Some((None, false)) };
    let load = read_load(&mut flow, traffic.as_ref(), fabric.is_some());
    let phases = flow.or_default("phases");
    if phases && !traffic.as_ref().is_none_or(Traffic::has_lasting_senders) {
        flow.refuse("phases", "\"true\" needs senders that last; expected kind = \"ftp\" or \"app-limited\"");
    }
    let batches = read_batches(&mut flow);
    let start_spread = flow.or_default("start_spread");
    let hops = path.as_ref().map_or(0, Vec::len) + ack_path.as_ref().map_or(0, Vec::len);
    if hops > MAX_HOPS {
        refuse_long(&mut flow, "path", hops);
    }
    flow.finish();
    let Tcp { profile, lacks_profile, variant, params, control } = tcp?;
    let (branches, mut path, mut ack_path) = (branches?, path?, ack_path?);
    if plan.is_some() || stations.is_some() {
        let first = branches.first()?; // a plan may have no line at all
        (path, ack_path) = (first.path.clone(), first.ack_path.clone());
    }
    let default_payload = match &media {
        Some(_) => RTP_PAYLOAD,
        None if is_quic => QUIC_PAYLOAD,
        None => profile.default_payload(),
    };
    let (payload, header) = (payload.unwrap_or(default_payload), header?);
    let mut traffic = traffic?;
    if fabric.is_some() != ends.is_some() {
        return None; // what is wrong with the hosts has been said
    }
    if let (Some(load), Some(fabric), Some(ends)) = (load?, fabric, &ends) {
        set_arrivals(&mut traffic, load * fabric.host_rate.0 * ends.from.len() as f64, f64::from(payload) + header.0);
    }
    let (max_pacing_rate, scone) = pacing?;
    Some(FlowSpec {
        name,
        traffic,
        path,
        ack_path,
        branches,
        ends,
        rtt: rtt?,
        batches: batches?,
        start_spread,
        payload,
        header: header.0.round() as u32,
        access_rate,
        ecn: ecn?,
        dscp: dscp?,
        hosts,
        rtt_notification,
        phases,
        max_pacing_rate,
        scone,
        profile,
        lacks_profile,
        variant,
        tcp: params,
        control,
    })
}

/// The way of the data: by default over all links in order, on a line, from a station, or through a fabric.
fn read_data_path(flow: &mut TableReader, has_own_links: bool, places: &FlowPlaces) -> Option<Vec<usize>> {
    let FlowPlaces { links, fabric, cell, .. } = *places;
    match flow.raw("path") {
        None if has_own_links => Some(Vec::new()),
        None if fabric.is_some() => fabric.map(|shape| shape.fabric.longest(false)),
        None if links.is_empty() => {
            flow.miss(if cell.is_some() { "stations" } else { "lines" });
            None
        }
        None if links.len() > MAX_HOPS => {
            refuse_long(flow, "path", links.len());
            None
        }
        None => Some((0..links.len()).collect()),
        Some(value) => read_path(flow, "path", value, places),
    }
}

/// Transfers begin as often as it takes for so many bits a second, in packets of so many bytes.
fn set_arrivals(traffic: &mut Traffic, rate: f64, packet: f64) {
    if let Traffic::Short { arrivals, size } = traffic {
        *arrivals = Frequency(rate / (8.0 * packet * size.mean()));
    }
}

/// The load of transfers on a fabric, in place of their arrivals: the share that they take of the links of the hosts that send. `None` if
/// it is wrong.
fn read_load(flow: &mut TableReader, traffic: Option<&Traffic>, is_on_fabric: bool) -> Option<Option<f64>> {
    if !matches!(traffic, Some(Traffic::Short { .. })) || flow.raw("load").is_none() {
        return Some(None);
    }
    if !is_on_fabric {
        flow.refuse("load", "is that of hosts of a [fabric]; expected arrivals, as in \"50 Hz\"");
    }
    if flow.raw("arrivals").is_some() {
        flow.refuse("load", "cannot be combined with arrivals; leave one of them out");
    }
    flow.optional("load").map(Some)
}

/// The way of the flows on each line of a plan.
fn read_branches(flow: &mut TableReader, plan: &str, shape: &TreeShape, has_acks: bool) -> Option<Vec<Branch>> {
    flow.refuse_all(
        &["path", "ack_path"],
        "cannot be combined with lines, which have paths of their own; leave one of them out",
    );
    read_direction(flow).map(|is_up| shape.branches(plan, is_up, has_acks))
}

/// Whether data go up.
fn read_direction(flow: &mut TableReader) -> Option<bool> {
    flow.word("direction", "direction").map(|direction| direction == "up")
}

/// `dscp`, or `class`, its upper three bits where the lower are 0.
fn read_dscp(flow: &mut TableReader) -> Option<u8> {
    let [class, dscp]: [u32; 2] = ["class", "dscp"].map(|key| flow.or_default(key));
    if flow.raw("class").is_some() && flow.raw("dscp").is_some() {
        flow.refuse("class", "is the upper part of dscp, which is set too; leave one of them out");
        return None;
    }
    Some((class << 3 | dscp) as u8)
}

/// The codepoint of the endpoints' packets, if they speak ECN; `law` is that of a TCP.
fn read_ecn(flow: &mut TableReader, law: Option<&LawChoice>) -> Option<Ecn> {
    let is_l4s = law.is_some_and(|law| law.needs().l4s);
    let own = if is_l4s { Ecn::Ect1 } else { Ecn::Ect0 };
    let Some(value) = flow.raw("ecn") else { return Some(if is_l4s { own } else { Ecn::NotEct }) };
    let text = scalar(value).unwrap_or_else(|| kind(value).to_string());
    match (text.as_str(), law) {
        ("false", _) => Some(Ecn::NotEct),
        ("true", _) => Some(own),
        ("ect0", _) => Some(Ecn::Ect0),
        ("ect1", Some(law)) if !law.needs().is_scalable() => {
            let scalable = cc::entries().into_iter().filter(|entry| entry.needs.is_scalable());
            let scalable: Vec<_> = scalable.map(|entry| format!("\"{}\"", entry.info.name)).collect();
            flow.refuse(
                "ecn",
                format!(
                    "\"ect1\" requires a scalable controller (RFC 9331), and \"{}\" is not one; expected \
                     true, false or \"ect0\", or tcp = {}",
                    law.name(),
                    scalable.join(" or ")
                ),
            );
            None
        }
        ("ect1", _) => Some(Ecn::Ect1),
        _ => {
            flow.refuse("ecn", format!("\"{}\" is not true, false, \"ect0\" or \"ect1\"", clip(&text)));
            None
        }
    }
}

fn refuse_long(flow: &mut TableReader, key: &str, hops: usize) {
    flow.refuse(key, format!("crosses {hops} links there and back; at most {MAX_HOPS}"));
}

fn read_path(flow: &mut TableReader, key: &'static str, value: &Value, places: &FlowPlaces) -> Option<Vec<usize>> {
    let names: Option<Vec<&str>> = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(names) = names.filter(|names| !names.is_empty()) else {
        flow.refuse(key, format!("expected a list of links such as [\"bottleneck\"], found {}", kind(value)));
        return None;
    };
    if names.len() > MAX_HOPS {
        refuse_long(flow, key, names.len());
        return None;
    }
    let mut path = Vec::new();
    for name in names {
        match places.link_of.get(name) {
            Some(index) if path.contains(index) => flow.refuse(key, format!("crosses \"{name}\" twice")),
            Some(index) => path.push(*index),
            None => flow.refuse_unknown(key, "link", name, places.links.iter().map(String::as_str)),
        }
    }
    Some(path)
}

/// One distribution for all flows, or `groups = [{ count, start, stop }, ...]`.
fn read_batches(flow: &mut TableReader) -> Option<Vec<Batch>> {
    let groups = flow.tables("groups");
    if groups.is_empty() {
        return read_batch(flow).map(|batch| vec![batch]);
    }
    flow.refuse_all(&["count", "start", "stop"], "cannot be combined with groups; give it in each group");
    let mut batches = Vec::new();
    for (i, table) in groups.into_iter().enumerate() {
        let path = flow.path(&format!("groups.{i}"));
        let mut group = TableReader::new(table, path, &GROUPS, flow.found());
        batches.push(read_batch(&mut group));
        group.finish();
    }
    batches.into_iter().collect()
}

fn read_batch(flow: &mut TableReader) -> Option<Batch> {
    let count = flow.optional_or_default("count");
    let start = if flow.raw("start").is_some() {
        read_distribution(flow, "start")
    } else {
        Some(Distribution::Fixed(Span::ZERO))
    };
    let (has_stop, stop) = (flow.raw("stop").is_some(), read_distribution(flow, "stop"));
    if has_stop && stop.is_none() {
        return None;
    }
    Some(Batch { count: count?, start: start?, stop })
}

/// The greatest pace of senders, and whether it is to be the throughput advice of policers. `None` if it is wrong.
fn read_max_pacing_rate(flow: &mut TableReader) -> Option<(Option<Rate>, bool)> {
    const KEY: &str = "max_pacing_rate";
    let Some(value) = flow.raw(KEY) else { return Some((None, false)) };
    let text = scalar(value).ok_or_else(|| format!("expected a rate such as \"10 Mbit/s\", found {}", kind(value)));
    if text.as_deref() == Ok(SCONE) {
        return Some((None, true));
    }
    let rate = text.and_then(|text| read_in_range(ParamInput::Text(&text), Some(RATES)));
    rate.map_err(|why| flow.refuse(KEY, format!("{why}, or \"{SCONE}\""))).ok().map(|rate| (Some(rate), false))
}

/// Senders that follow throughput advice pace at no more than that.
pub fn follow_advice(links: &[LinkSpec], flows: &mut [FlowSpec], found: &mut Vec<Problem>) {
    for flow in flows.iter_mut().filter(|flow| flow.scone) {
        flow.max_pacing_rate = flow.advice(links);
        if flow.max_pacing_rate.is_none() {
            let why = "\"scone\" needs a policer on the path, which gives throughput advice; expected a rate, or add a policer";
            found.push(Problem::new(format!("flows.{}.max_pacing_rate", flow.name), why));
        }
    }
}

/// Checks the conditions between flows and the links they cross.
pub fn check_flows(links: &[LinkSpec], flows: &[FlowSpec], duration: Span, found: &mut Vec<Problem>) {
    for flow in flows {
        let mut refuse =
            |key: &str, reason: String| found.push(Problem::new(format!("flows.{}.{key}", flow.name), reason));
        let own = flow.own_delay(|link| links[link].delay);
        let least = flow.rtt.least();
        if least < own && !flow.rtt.is_drawn_from_zero() {
            let (least, own) = (least.text(), own.text());
            refuse("rtt", format!("\"{least}\" is shorter than the path's own delay, there and back: {own}"));
        }
        for batch in &flow.batches {
            if batch.start.least() > duration {
                refuse(
                    "start",
                    format!("\"{}\" is after the end of the run ({})", batch.start.text(), duration.text()),
                );
            }
            if let Some(stop @ (Distribution::Fixed(_) | Distribution::Uniform(..) | Distribution::Values(_))) =
                &batch.stop
                && stop.typical_largest() <= batch.start.least()
            {
                refuse("stop", format!("\"{}\" is not after the start ({})", stop.text(), batch.start.text()));
            }
        }
        for (i, link) in flow.path.iter().chain(&flow.ack_path).enumerate().filter(|(_, link)| links[**link].host) {
            let name = &links[*link].name;
            let key = if i < flow.path.len() { "path" } else { "ack_path" };
            if i > 0 {
                refuse(key, format!("crosses links.{name}, the interface of a sending host, later than first"));
            } else if flow.access_rate.is_some() {
                refuse("access_rate", format!("is that of a host, which links.{name} has; leave it out"));
            }
        }
        let largest = flow.wire_size();
        for link in flow.path.iter().map(|link| &links[*link]) {
            if matches!(link.buffer, Limit::Bytes(bytes) if bytes < u64::from(largest)) {
                refuse("packet", format!("{largest} B on the wire do not fit the buffer of links.{}", link.name));
            }
        }
    }
    let of_tcp: BTreeSet<usize> =
        flows.iter().filter(|flow| flow.traffic.is_tcp()).flat_map(|flow| &flow.path).copied().collect();
    for (i, link) in links.iter().enumerate().filter(|(_, link)| link.host) {
        if !of_tcp.contains(&i) {
            let why = "\"true\" is for the interface of a host that sends by TCP; no such flow crosses the link";
            found.push(Problem::new(format!("links.{}.host", link.name), why));
        }
    }
}
