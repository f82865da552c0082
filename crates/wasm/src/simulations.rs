//! The simulations that are open, by number.

use aqmlab_core::problem::{ProblemKind, unknown};
use aqmlab_core::{Problem, Problems, Span, Time};
use aqmlab_scenario::{Scenario, SchemeAssignment};
use aqmlab_sim::{ColumnSource, Options, RunError, Simulation};
use serde_json::{Map, Value, json};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Number of a simulation.
pub type Id = u32;

/// The problems for which there is no result.
pub fn failed(error: RunError) -> Problems {
    match error {
        RunError::Input(problems) => problems,
        other => Problems::one("", other.to_string()),
    }
}

/// Those that are open; a module has one thread.
#[derive(Default)]
struct Opened {
    last: Id,
    simulations: BTreeMap<Id, Simulation>,
    /// Those of the sample before.
    rows: Vec<f32>,
}

thread_local! {
    static OPENED: RefCell<Opened> = RefCell::default();
}

impl Opened {
    fn add(&mut self, simulation: Simulation) -> Value {
        self.last += 1;
        let told = json!({ "id": self.last, "now": simulation.now().seconds(), "end": simulation.end().seconds() });
        self.simulations.insert(self.last, simulation);
        told
    }
}

/// Lets a simulation act.
fn with<T>(id: Id, act: impl FnOnce(&mut Simulation) -> Result<T, Problems>) -> Result<T, Problems> {
    OPENED.with_borrow_mut(|opened| act(opened.simulations.get_mut(&id).ok_or_else(|| closed(id))?))
}

fn closed(id: Id) -> Problems {
    Problems::one("id", format!("{id}: no simulation of this number is open"))
}

/// A name that is none of those `known`.
fn not_known<'a>(path: &str, what: &str, given: &str, known: impl Iterator<Item = &'a str>) -> Problems {
    let known: Vec<&str> = known.collect();
    Problem::new(path, unknown(what, given, &known)).of(ProblemKind::Unknown).into()
}

pub fn open(scenario: Scenario, options: Options) -> Result<Value, Problems> {
    let simulation = Simulation::new(scenario, options)?;
    Ok(OPENED.with_borrow_mut(|opened| opened.add(simulation)))
}

pub fn fork(id: Id) -> Result<Value, Problems> {
    let copy = with(id, |simulation| simulation.fork().map_err(failed))?;
    Ok(OPENED.with_borrow_mut(|opened| opened.add(copy)))
}

pub fn close(id: Id) -> Result<Value, Problems> {
    OPENED.with_borrow_mut(|opened| opened.simulations.remove(&id)).map(|_| json!({})).ok_or_else(|| closed(id))
}

pub fn columns(id: Id, flows: &[(String, usize)]) -> Result<Value, Problems> {
    with(id, |simulation| {
        let flows = tcp_flows(simulation, flows)?;
        let scenario = simulation.scenario();
        let columns = simulation.sample_columns(&flows).into_iter().map(|column| {
            let (of, place, index) = match column.source {
                ColumnSource::Time => ("time", "", None),
                ColumnSource::Link(link) => ("link", &*scenario.links[link].name, None),
                ColumnSource::Scheme(link) => ("scheme", &*scenario.links[link].name, None),
                ColumnSource::Group(group) => ("group", &*scenario.flows[group].name, None),
                ColumnSource::Flow(group, i) => ("flow", &*scenario.flows[group].name, Some(i)),
            };
            json!({ "of": of, "place": place, "index": index, "name": column.name, "unit": column.unit })
        });
        Ok(json!({ "columns": columns.collect::<Vec<_>>() }))
    })
}

pub fn sample(id: Id, until: f64, every: f64, flows: &[(String, usize)]) -> Result<Value, Problems> {
    if !(every >= 1e-6 && until >= 0.0) {
        let why = format!("{until} s, every {every} s: expected times, every at least 1 us");
        return Err(Problems::one("until", why));
    }
    OPENED.with_borrow_mut(|Opened { simulations, rows, .. }| {
        let simulation = simulations.get_mut(&id).ok_or_else(|| closed(id))?;
        let flows = tcp_flows(simulation, flows)?;
        rows.clear();
        let (until, every) = (Time::ZERO + Span::from_seconds(until), Span::from_seconds(every));
        simulation.sample_until(until, every, &flows, rows).map_err(failed)?;
        let (now, width) = (simulation.now().seconds(), simulation.sample_columns(&flows).len());
        Ok(json!({ "now": now, "start": rows.as_ptr().addr(), "numbers": rows.len(), "width": width }))
    })
}

pub fn content(id: Id) -> Result<Value, Problems> {
    with(id, |simulation| {
        let links: Vec<usize> = simulation.scenario().places().into_iter().map(|(_, link)| link).collect();
        Ok(json!({ "links": links.into_iter().map(|link| simulation.content(link)).collect::<Vec<_>>() }))
    })
}

pub fn count(id: Id, group: &str) -> Result<Value, Problems> {
    with(id, |simulation| Ok(json!({ "count": simulation.count(group_of(simulation, group)?) })))
}

pub fn set(id: Id, path: &str, value: &str) -> Result<Value, Problems> {
    with(id, |simulation| simulation.set(path, value).map(|()| json!({})).map_err(failed))
}

pub fn used(id: Id, link: &str, aqm: Option<&SchemeAssignment>) -> Result<Value, Problems> {
    with(id, |simulation| {
        let scenario = simulation.scenario();
        let places = scenario.places();
        let place = places.iter().find(|(name, _)| *name == link);
        let (_, place) = place.ok_or_else(|| not_known("link", "link", link, places.iter().map(|(name, _)| *name)))?;
        Ok(json!({ "aqm": scenario.scheme_of(&scenario.links[*place], aqm).to_string() }))
    })
}

pub fn parameters(id: Id, aqm: &str) -> Result<Value, Problems> {
    with(id, |simulation| {
        let values = simulation.scenario().scheme_values(aqm)?.into_iter();
        Ok(json!({ "parameters": values.map(|(name, value)| (name, value.into())).collect::<Map<String, Value>>() }))
    })
}

pub fn so_far(id: Id) -> Result<Value, Problems> {
    with(id, |simulation| Ok(json!({ "result": simulation.so_far().map_err(failed)?.map(|output| output.result) })))
}

pub fn toml(id: Id) -> Result<Value, Problems> {
    with(id, |simulation| Ok(json!({ "text": simulation.to_toml() })))
}

/// The index of a group of flows.
fn group_of(simulation: &Simulation, group: &str) -> Result<usize, Problems> {
    let flows = &simulation.scenario().flows;
    let found = flows.iter().position(|flows| flows.name == group);
    found.ok_or_else(|| not_known("flows", "group of flows", group, flows.iter().map(|flows| &*flows.name)))
}

/// TCP flows by the indices of their groups.
fn tcp_flows(simulation: &Simulation, flows: &[(String, usize)]) -> Result<Vec<(usize, usize)>, Problems> {
    let found = flows.iter().map(|(name, i)| {
        let group = group_of(simulation, name)?;
        simulation.flow_state(group, *i).map(|_| (group, *i)).ok_or_else(|| {
            let why = format!("{name} has no TCP flow {i}: flows count from 0; clients and UDP have no window");
            Problem::new("flow", why).of(ProblemKind::Unknown).into()
        })
    });
    found.collect()
}
