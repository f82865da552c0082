//! The memory that a simulation takes, before there is any of it.

use crate::engine::simulation::observables;
use aqmlab_aqm::entry;
use aqmlab_aqm::signal::SEVERAL_QUEUES;
use aqmlab_scenario::{FlowSpec, LinkSpec, Scenario, SchemeAssignment, Traffic};

/// Bytes of a simulation without links and flows.
const BASE: f64 = 20e3;
/// Bytes of a link whose queue is empty: with one queue, and with several.
const LINK: [f64; 2] = [3_100.0, 4_700.0];
/// Bytes that a packet takes in the longest queue, which fills up to so many packets; the others seldom do.
const QUEUED: f64 = 16.0;
const ROOM: f64 = 65_536.0;
/// Bytes of a flow on a line or at a station, which has a way of its own.
const WAY: f64 = 7e3;
/// Columns of a link's time series beside those of its scheme.
const COLUMNS: usize = 3;

/// Bytes that a simulation of a scenario takes with its longest queue full and the others short, within a quarter; `series` are its
/// time series. What a run adds when more queues and windows grow is not known before: see [`Watch`](crate::Watch).
pub fn footprint(scenario: &Scenario, aqm: Option<&SchemeAssignment>, series: bool) -> f64 {
    let samples = if series { scenario.duration.seconds() / scenario.sample.seconds() } else { 0.0 };
    let shown = if series { scenario.places() } else { Vec::new() };
    let columns =
        shown.iter().map(|(_, link)| COLUMNS + observables(scenario.scheme_of(&scenario.links[*link], aqm)).len());
    let links: f64 = scenario.links.iter().map(|link| of_link(scenario, link, aqm)).sum();
    let longest = scenario.links.iter().map(|link| link.buffer_packets).fold(0.0, f64::max);
    let flows: f64 = scenario.flows.iter().map(|flows| f64::from(flows.count()) * footprint_of_flow(flows)).sum();
    BASE + links + QUEUED * longest.min(ROOM) + flows + 8.0 * samples * columns.sum::<usize>() as f64
}

fn of_link(scenario: &Scenario, link: &LinkSpec, aqm: Option<&SchemeAssignment>) -> f64 {
    let scheme = entry(&scenario.scheme_of(link, aqm).name);
    let several = link.classes.classes.len() > 1 || scheme.is_ok_and(|scheme| scheme.signal == Err(SEVERAL_QUEUES));
    let lengths = if link.shared.is_some() { 0.0 } else { 8.0 * link.buffer_packets };
    LINK[usize::from(several)] + lengths
}

/// Bytes of one flow of a group, within a quarter.
pub fn footprint_of_flow(flows: &FlowSpec) -> f64 {
    let own = match flows.traffic {
        Traffic::Ftp | Traffic::AppLimited(_) | Traffic::Quic(_) | Traffic::Foreign => 1_900.0,
        Traffic::UdpCbr { .. } | Traffic::UdpOnOff { .. } => 1_000.0,
        Traffic::Http(_) | Traffic::Video(_) | Traffic::Short { .. } => 2_900.0,
        Traffic::Media(_) => 4_400.0,
    };
    if flows.branches.is_empty() { own } else { own + WAY }
}
