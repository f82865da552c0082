//! Up to eight schemes in one scenario under one seed: the same arrivals, one clock.

use crate::error::Refusal;
use crate::export::Recording;
use crate::host::SessionHost;
use crate::label::label;
use crate::messages::{Change, Column, Finished, Lane, Running};
use crate::opening::Opened;
use aqmlab_aqm::{OWN, entry};
use aqmlab_core::{Problem, Problems, Span, Time};
use aqmlab_scenario::{Scenario, SchemeAssignment, parse};
use aqmlab_sim::{
    ColumnSource, Options, RunError, RunResult, SampleColumn, Simulation, footprint, footprint_of_flow, run,
};
use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread;

/// Columns of samples, of all lanes together.
const MOST_COLUMNS: usize = 20_000;
/// Changes by hand in a lane; each message on a change has all of them.
const MOST_CHANGES: usize = 1000;

/// A scheme as it runs.
struct SchemeRun {
    aqm: Option<SchemeAssignment>,
    simulation: Simulation,
    /// A scheme is the user's own.
    is_own: bool,
    /// Bytes.
    held: f64,
    changes: Vec<Change>,
    /// There at the end.
    result: Option<RunResult>,
    /// Rows of the last step.
    rows: Vec<f32>,
    columns: usize,
}

impl SchemeRun {
    fn open(scenario: &Arc<Scenario>, text: Option<&str>, seed: u64, host: &dyn SessionHost) -> Result<Self, Refusal> {
        let aqm = text.map(SchemeAssignment::parse).transpose().map_err(|why| Problem::new("aqm", why))?;
        scenario.check_schemes(aqm.as_ref())?;
        let options = Options { aqm: aqm.clone(), seed, threads: 1, watch: host.watch(), ..Options::default() };
        let (simulation, held) = host.run(false, 0.0, || Simulation::new(scenario.clone(), options));
        let (simulation, held) = (simulation?, held.unwrap_or_else(|| footprint(scenario, aqm.as_ref(), false)));
        let is_own = is_own(&simulation);
        Ok(Self { aqm, simulation, is_own, held, changes: Vec::new(), result: None, rows: Vec::new(), columns: 1 })
    }

    /// A copy that goes its own way.
    fn fork(&self, host: &dyn SessionHost) -> Result<Self, RunError> {
        let (copy, held) = host.run(self.is_own, 0.0, || self.simulation.fork());
        let (aqm, changes, result) = (self.aqm.clone(), self.changes.clone(), self.result.clone());
        let held = held.unwrap_or(self.held);
        Ok(Self { simulation: copy?, held, aqm, changes, result, rows: Vec::new(), ..*self })
    }

    /// Lets the simulation act, and notes what it holds then.
    fn act<T>(&mut self, host: &dyn SessionHost, act: impl FnOnce(&mut Simulation) -> T) -> T {
        let (found, held) = host.run(self.is_own, self.held, || act(&mut self.simulation));
        self.held = held.unwrap_or(self.held);
        found
    }

    /// Changes something now.
    fn set(&mut self, path: &str, value: &str, host: &dyn SessionHost) -> Result<(), RunError> {
        self.act(host, |simulation| simulation.set(path, value))?;
        let at = self.simulation.now().seconds();
        self.changes.push(Change { at, path: path.to_string(), value: value.to_string() });
        self.is_own = is_own(&self.simulation);
        Ok(())
    }

    /// The measures until now; none before the warm-up is over.
    fn so_far(&self, host: &dyn SessionHost) -> Result<Option<RunResult>, RunError> {
        if self.result.is_some() {
            return Ok(self.result.clone());
        }
        let (found, _) = host.run(self.is_own, self.held, || self.simulation.so_far());
        Ok(found?.map(|output| output.result))
    }

    /// Measures at the end; where the scheme cannot be copied, the run is repeated for that.
    fn finish(&mut self, name: &str, seed: u64, host: &dyn SessionHost) -> Result<(), Refusal> {
        self.result = match self.so_far(host) {
            Err(RunError::Scheme { .. }) => {
                let scenario = parse(&self.simulation.to_toml(), name, &[])?;
                let options = Options { aqm: self.aqm.clone(), seed, threads: 1, ..Options::default() };
                Some(host.run(self.is_own, self.held, || run(scenario, options)).0?.result)
            }
            found => found?,
        };
        self.result.as_ref().map(drop).ok_or_else(|| Refusal::one("warmup", "lasts to the end; nothing is measured"))
    }

    fn by_hand(&self) -> ByHand<'_> {
        let mut found = ByHand::new();
        for Change { path, value, .. } in &self.changes {
            match path.split('.').collect::<Vec<_>>()[..] {
                ["links", link, "aqm"] => drop(found.insert(link, (Some(&**value), BTreeMap::new()))),
                ["links", link, "aqm", name] => drop(found.entry(link).or_default().1.insert(name, value)),
                _ => {}
            }
        }
        found
    }

    /// The name of the lane: its scheme, and what was set by hand since, as in `PI, now CoDel, target=8 ms`.
    fn label(&self, links: &[&str]) -> String {
        let mut name = self.aqm.as_ref().map_or_else(|| "as in the scenario".to_string(), label);
        let by_hand = self.by_hand();
        for link in links {
            let Some((aqm, moved)) = by_hand.get(link) else { continue };
            let aqm = aqm.map(|aqm| SchemeAssignment::parse(aqm).map_or_else(|_| aqm.to_string(), |aqm| label(&aqm)));
            let moved = moved.iter().map(|(name, value)| format!("{name}={value}"));
            let place = if links.len() > 1 { format!(" at {link}") } else { String::new() };
            name += &format!(", now {}{place}", aqm.into_iter().chain(moved).collect::<Vec<_>>().join(", "));
        }
        name
    }
}

/// By link: the scheme that was set by hand, and the parameters set since.
type ByHand<'a> = BTreeMap<&'a str, (Option<&'a str>, BTreeMap<&'a str, &'a str>)>;

/// Some link has a scheme of the user's own.
fn is_own(simulation: &Simulation) -> bool {
    let mut names: Vec<&str> = simulation.schemes().iter().map(|scheme| &*scheme.name).collect();
    names.dedup();
    names.into_iter().any(|name| entry(name).is_ok_and(|entry| entry.info.family == OWN))
}

/// The lanes of a session.
pub(crate) struct Lanes {
    pub scenario: Arc<Scenario>,
    pub text: String,
    pub seed: u64,
    /// Time between samples.
    pub sample: Span,
    /// TCP flows whose windows are shown, each by its group and its number there.
    flows: Vec<(usize, usize)>,
    lanes: Vec<SchemeRun>,
    host: Arc<dyn SessionHost>,
}

impl Lanes {
    /// The lanes at the start.
    pub fn new(opened: Opened, host: Arc<dyn SessionHost>) -> Result<Self, Refusal> {
        let Opened { scenario, text, aqms, seed, sample, flows, .. } = opened;
        let mut lanes = Self { scenario, text, seed, sample, flows, lanes: Vec::new(), host };
        for (i, aqm) in aqms.iter().enumerate() {
            let lane = SchemeRun::open(&lanes.scenario, aqm.as_deref(), seed, &*lanes.host);
            lanes.lanes.push(lane.map_err(|refusal| refusal.of_lane(i))?);
            if i == 0 {
                lanes.check_columns(aqms.len())?;
            }
        }
        Ok(lanes)
    }

    /// Refuses flows that are not there, and more columns than can be sent.
    fn check_columns(&self, lanes: usize) -> Result<(), Refusal> {
        let first = &self.lanes[0].simulation;
        for (group, i) in &self.flows {
            if first.flow_state(*group, *i).is_none() {
                let name = &self.scenario.flows[*group].name;
                let why = format!("{name} has no TCP flow {i}: flows count from 0; clients and UDP have no window");
                return Err(Refusal::one("flow", why));
            }
        }
        let count = lanes * first.sample_columns(&self.flows).len();
        if count > MOST_COLUMNS {
            let why = format!("{count} columns of samples; at most 20,000: take fewer lanes or links");
            return Err(Refusal::one("aqms", why));
        }
        Ok(())
    }

    pub fn now(&self) -> Time {
        self.lanes[0].simulation.now()
    }

    pub fn end(&self) -> Time {
        self.lanes[0].simulation.end()
    }

    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Bytes that they hold.
    pub fn memory(&self) -> f64 {
        self.lanes.iter().map(|lane| lane.held).sum()
    }

    /// Lets everything happen up to a time in all lanes.
    pub fn advance(&mut self, until: Time) -> Result<(), Refusal> {
        let (sample, flows, host) = (self.sample, self.flows.clone(), self.host.clone());
        let step = |lane: &mut SchemeRun| {
            let mut rows = std::mem::take(&mut lane.rows);
            rows.clear();
            lane.columns = lane.simulation.sample_columns(&flows).len();
            let done = lane.act(&*host, |simulation| simulation.sample_until(until, sample, &flows, &mut rows));
            lane.rows = rows;
            done
        };
        Ok(self.each(step).into_iter().collect::<Result<(), _>>()?)
    }

    /// The rows of the last step and the columns of each, by lane.
    pub fn rows(&self) -> impl Iterator<Item = (&[f32], usize)> {
        self.lanes.iter().map(|lane| (&*lane.rows, lane.columns))
    }

    /// Does something in all lanes, at once where there are threads.
    fn each<T: Send>(&mut self, act: impl Fn(&mut SchemeRun) -> T + Sync) -> Vec<T> {
        let threads = thread::available_parallelism().map_or(1, usize::from); // a page has one
        let part = self.lanes.len().div_ceil(threads);
        if part == self.lanes.len() {
            return self.lanes.iter_mut().map(act).collect();
        }
        thread::scope(|scope| {
            let work = |lanes: &mut [SchemeRun]| lanes.iter_mut().map(&act).collect::<Vec<T>>();
            let parts: Vec<_> = self.lanes.chunks_mut(part).map(|lanes| scope.spawn(move || work(lanes))).collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        })
    }

    /// The columns of the samples: those of the first lane, and of the others without the time.
    pub fn columns(&self) -> Vec<Column> {
        let column = |lane: usize, SampleColumn { source, name, unit }: SampleColumn| {
            let (links, flows) = (&self.scenario.links, &self.scenario.flows);
            let (of, place, index) = match source {
                ColumnSource::Time => ("time", "", None),
                ColumnSource::Link(link) => ("link", &*links[link].name, None),
                ColumnSource::Scheme(link) => ("scheme", &*links[link].name, None),
                ColumnSource::Group(group) => ("group", &*flows[group].name, None),
                ColumnSource::Flow(group, i) => ("flow", &*flows[group].name, Some(i)),
            };
            let lane = Some(lane).filter(|_| source != ColumnSource::Time);
            Column { lane, of, place: place.to_string(), index, name, unit }
        };
        let of_lane = |(i, lane): (usize, &SchemeRun)| {
            let columns = lane.simulation.sample_columns(&self.flows).into_iter();
            columns.skip(usize::from(i > 0)).map(|of| column(i, of)).collect::<Vec<_>>()
        };
        self.lanes.iter().enumerate().flat_map(of_lane).collect()
    }

    /// Packets that wait now, by lane, link and group.
    pub fn content(&mut self) -> Vec<u32> {
        let links: Vec<usize> = self.scenario.places().into_iter().map(|(_, link)| link).collect();
        self.lanes.iter_mut().flat_map(|lane| links.iter().flat_map(|link| lane.simulation.content(*link))).collect()
    }

    /// Names of the groups of flows.
    pub fn groups(&self) -> impl Iterator<Item = String> {
        self.scenario.flows.iter().map(|flows| flows.name.clone())
    }

    /// Names of the links.
    pub fn links(&self) -> Vec<&str> {
        self.scenario.places().into_iter().map(|(name, _)| name).collect()
    }

    /// Changes something now, in one lane or all. If a lane refuses it, nothing has changed.
    pub fn set(&mut self, path: &str, value: &str, lane: Option<usize>, marked: f64) -> Result<(), Refusal> {
        let chosen = lane.map_or(0..self.lanes.len(), |lane| lane..lane + 1);
        self.check_changes()?;
        let host = self.host.clone();
        let copies = if chosen.len() > 1 { self.memory() } else { 0.0 };
        self.reserve(marked, copies + self.added(chosen.clone(), path, value))?;
        let before = if chosen.len() > 1 { self.copies().ok() } else { None };
        for i in chosen {
            if let Err(refused) = self.lanes[i].set(path, value, &*host) {
                self.lanes = before.unwrap_or_else(|| std::mem::take(&mut self.lanes));
                return Err(Refusal::from(refused).of_lane(i));
            }
        }
        Ok(())
    }

    /// Refuses more bytes than there are; the marks hold `marked`.
    pub fn reserve(&self, marked: f64, more: f64) -> Result<(), Problems> {
        self.host.hold(self.memory() + marked, more)
    }

    fn check_changes(&self) -> Result<(), Refusal> {
        if self.lanes.iter().any(|lane| lane.changes.len() >= MOST_CHANGES) {
            return Err(Refusal::one("set", format!("{MOST_CHANGES} changes by hand; open the scenario again")));
        }
        Ok(())
    }

    /// Bytes that a change adds, about.
    fn added(&self, lanes: std::ops::Range<usize>, path: &str, value: &str) -> f64 {
        let ["flows", group, "count"] = path.split('.').collect::<Vec<_>>()[..] else { return 0.0 };
        let place = self.scenario.flows.iter().position(|flows| flows.name == group);
        let (Some(place), Ok(count)) = (place, value.parse::<f64>()) else { return 0.0 };
        let more = |lane: &SchemeRun| (count - lane.simulation.count(place) as f64).max(0.0);
        self.lanes[lanes].iter().map(more).sum::<f64>() * footprint_of_flow(&self.scenario.flows[place])
    }

    /// Stops half of the flows of these groups.
    pub fn halve(&mut self, groups: &[String]) -> Result<(), Refusal> {
        self.check_changes()?;
        let host = self.host.clone();
        for lane in &mut self.lanes {
            for (place, flows) in self.scenario.flows.iter().enumerate().filter(|(_, of)| groups.contains(&of.name)) {
                let left = lane.simulation.count(place).div_ceil(2);
                lane.set(&format!("flows.{}.count", flows.name), &left.to_string(), &*host)?;
            }
        }
        Ok(())
    }

    fn copies(&self) -> Result<Vec<SchemeRun>, Refusal> {
        let copy = |(i, lane): (usize, &SchemeRun)| lane.fork(&*self.host).map_err(|why| Refusal::from(why).of_lane(i));
        self.lanes.iter().enumerate().map(copy).collect()
    }

    /// A copy that goes its own way.
    pub fn fork(&self) -> Result<Self, Refusal> {
        let (scenario, text, flows, host) =
            (self.scenario.clone(), self.text.clone(), self.flows.clone(), self.host.clone());
        Ok(Self { lanes: self.copies()?, scenario, text, flows, host, ..*self })
    }

    /// The measures of each lane until now. There are none if there is no copy: the scheme has none, or memory has no room.
    pub fn so_far(&mut self, has_room: bool) -> Vec<Option<RunResult>> {
        let host = self.host.clone();
        self.each(|lane| if has_room { lane.so_far(&*host).ok().flatten() } else { lane.result.clone() })
    }

    /// Measures at the end.
    pub fn finish(&mut self) -> Result<Vec<Finished>, Refusal> {
        let (host, scenario, seed) = (self.host.clone(), self.scenario.clone(), self.seed);
        self.lanes.iter_mut().try_for_each(|lane| lane.finish(&scenario.name, seed, &*host))?;
        let recording = self.recording();
        let labels = self.document().into_iter().map(|lane| lane.label);
        Ok(labels.enumerate().map(|(i, label)| Finished { label, result: recording.result(i) }).collect())
    }

    /// The recording of all that was done, to be exported.
    pub fn recording(&self) -> Recording {
        Recording {
            name: self.scenario.name.clone(),
            seed: self.seed,
            now: self.now().seconds(),
            aqms: self.lanes.iter().map(|lane| lane.aqm.clone()).collect(),
            tomls: self.lanes.iter().map(|lane| lane.simulation.to_toml()).collect(),
            results: self.lanes.iter().map(|lane| lane.result.clone()).collect(),
        }
    }

    /// The lanes as they are now: labels, the scheme of each link with its parameters, changes.
    pub fn document(&self) -> Vec<Lane> {
        let (links, mut values) = (self.links(), BTreeMap::new());
        let mut running = |lane: &SchemeRun, by_hand: &ByHand, link: &str, place: usize| {
            let (aqm, moved) = by_hand.get(link).cloned().unwrap_or_default();
            let own = || self.scenario.scheme_of(&self.scenario.links[place], lane.aqm.as_ref()).to_string();
            let aqm = aqm.map_or_else(own, str::to_string);
            let values =
                values.entry(aqm.clone()).or_insert_with(|| self.scenario.scheme_values(&aqm).unwrap_or_default());
            let moved = moved.into_iter().map(|(name, value)| (name.to_string(), value.to_string()));
            (link.to_string(), Running { aqm, parameters: values.iter().cloned().chain(moved).collect() })
        };
        let mut lane = |lane: &SchemeRun| {
            let (by_hand, places) = (lane.by_hand(), self.scenario.places().into_iter());
            let aqm = lane.aqm.as_ref().map(ToString::to_string);
            let running = places.map(|(link, place)| running(lane, &by_hand, link, place)).collect();
            Lane { label: lane.label(&links), aqm, links: running, changes: lane.changes.clone() }
        };
        self.lanes.iter().map(&mut lane).collect()
    }
}
