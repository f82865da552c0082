//! Reads where flows are: their paths over links, on lines of a tree, between hosts of a fabric, or at stations of a cell.

use crate::fabric::{FabricShape, read_hosts};
use crate::flows::FlowWay;
use crate::table_reader::{TableReader, kind};
use crate::tree::TreeShape;
use crate::wifi::CellShape;
use crate::{Branch, Traffic};
use aqmlab_core::Rate;
use std::collections::BTreeMap;
use toml::Value;

/// Most links in a path, there and back together.
const MAX_HOPS: usize = 254;

/// The places where flows may be: paths name links, or the flows are on lines of a tree, between hosts of a fabric, or at stations of a cell.
pub struct FlowPlaces<'a> {
    pub links: &'a [String],
    /// The place of each link, by its name.
    pub link_of: &'a BTreeMap<&'a str, usize>,
    pub tree: Option<&'a TreeShape<'a>>,
    pub fabric: Option<&'a FabricShape<'a>>,
    pub cell: Option<&'a CellShape<'a>>,
}

/// The way of a group's packets; `traffic` is what they carry, if that is right.
pub fn read_way(flow: &mut TableReader, traffic: Option<&Traffic>, places: &FlowPlaces) -> Option<FlowWay> {
    let FlowPlaces { tree: shape, fabric, cell, .. } = *places;
    let is_tcp = traffic.is_none_or(Traffic::is_tcp);
    let has_acks = is_tcp || traffic.is_some_and(|traffic| traffic.media().is_some());
    let (plan, stations) = (flow.text("lines"), flow.text("stations"));
    let path = read_data_path(flow, plan.is_some() || stations.is_some(), places);
    let ack_path = if has_acks || traffic.is_some_and(Traffic::is_foreign) { flow.raw("ack_path") } else { None };
    let ack_path = match ack_path {
        None if is_tcp && fabric.is_some() => fabric.map(|shape| shape.fabric.longest(true)),
        None => Some(Vec::new()),
        Some(value) => read_path(flow, "ack_path", value, places),
    };
    let ends = fabric.and_then(|shape| read_hosts(flow, shape));
    let branches = match (plan, shape, stations, cell) {
        (Some(plan), Some(shape), ..) => read_branches(flow, plan, shape, has_acks),
        (_, _, Some(list), Some(cell)) => {
            let wired = [&path, &ack_path].map(|path| path.as_deref().unwrap_or_default());
            read_direction(flow).map(|is_up| cell.branches(list, is_up, has_acks, wired))
        }
        _ => Some(Vec::new()),
    };
    let load = read_load(flow, traffic, fabric.is_some());
    let hops = path.as_ref().map_or(0, Vec::len) + ack_path.as_ref().map_or(0, Vec::len);
    if hops > MAX_HOPS {
        refuse_long(flow, "path", hops);
    }
    let (branches, mut path, mut ack_path) = (branches?, path?, ack_path?);
    if plan.is_some() || stations.is_some() {
        let first = branches.first()?; // a plan may have no line at all
        (path, ack_path) = (first.path.clone(), first.ack_path.clone());
    }
    if fabric.is_some() != ends.is_some() {
        return None; // what is wrong with the hosts has been said
    }
    let rate = |load| Some(Rate(load * fabric?.host_rate.0 * ends.as_ref()?.from.len() as f64));
    let load = load?.and_then(rate);
    Some(FlowWay { path, ack_path, branches, ends, load })
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
