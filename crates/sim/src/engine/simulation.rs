//! A simulation of a scenario that can be stopped at any time, looked at and continued.
//!
//! [`run`] goes from start to end at once; stopping in between changes no byte of the result.

mod change;
mod foreign;
mod output;
mod probe;
mod sample;
mod setup;
mod target_change;
#[cfg(test)]
mod tests;

pub use foreign::{ForeignEvent, ForeignFlow, ForeignPacket};
pub(crate) use probe::observables;
pub use probe::{FlowState, GroupProbe, LawState, LinkProbe, Probe};
pub use sample::{ColumnSource, SampleColumn};

use crate::engine::error::RunError;
use crate::engine::network::NetworkState;
use crate::engine::network::rounds::{self, Plan};
use crate::engine::watch::Watch;
use crate::measure::result::Output;
use crate::net::flow::Group;
use crate::traffic::instance::FlowInstance;
use aqmlab_aqm::{Discipline, Failure, Observable};
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{AqmChoice, Change, Distribution, Scenario, SchemeAssignment};
use aqmlab_tcp::cc::LawFailure;
use foreign::Foreign;
use probe::ProbeBaseline;
use std::collections::VecDeque;
use std::sync::Arc;
use target_change::TargetChange;

/// Options of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Scheme for all links that do not fix theirs, or for some links; the scenario's own if `None`.
    pub aqm: Option<SchemeAssignment>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Record time series.
    pub series: bool,
    /// Record what happens to each packet at the link with this index.
    pub trace: Option<usize>,
    /// Threads that may simulate at once; 0 is one. The result is the same. Some runs take no more than one: with
    /// clients on anything but a tree, with changes, with rates that change by schedule, and those too small to gain.
    pub threads: usize,
    /// Shows another thread how far the simulation has come, and lets it stop the simulation.
    pub watch: Option<Arc<Watch>>,
    /// Events after which the run is given up, at the next look; none by default. Such a run takes one thread.
    pub most_events: Option<u64>,
    /// Whoever steps the simulation runs the scenario's controllers.
    pub is_controlled: bool,
}

/// Events between looks at the watch and the schemes: about ten milliseconds.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// Runs a scenario from start to end.
///
/// # Errors
/// If the scheme does not fit the scenario or breaks down, or if the watch says stop.
#[allow(clippy::disallowed_methods)] // the wall clock times the run; nothing in the run reads it
pub fn run(scenario: impl Into<Arc<Scenario>>, options: Options) -> Result<Output, RunError> {
    let started = cfg!(not(target_family = "wasm")).then(std::time::Instant::now); // a web page has no clock for it
    let (threads, goes_on) = (options.threads.max(1), options.most_events.is_none());
    let mut simulation = Simulation::foreseeing(scenario.into(), options)?;
    simulation.stop_probing();
    let plan = goes_on.then(|| Plan::new(&simulation.network, threads)).flatten();
    if let Some(plan) = plan.filter(Plan::is_worthwhile) {
        simulation = simulation.after_rounds(&plan)?;
    }
    let mut output = simulation.finish()?;
    output.result.engine.wall = started.map_or(0.0, |started| started.elapsed().as_secs_f64());
    Ok(output)
}

/// The same on several threads, worthwhile or not; `None` if that cannot be.
///
/// # Errors
/// As [`run`].
pub fn run_divided(scenario: impl Into<Arc<Scenario>>, options: Options) -> Result<Option<Output>, RunError> {
    let threads = options.threads;
    let mut simulation = Simulation::foreseeing(scenario.into(), options)?;
    simulation.stop_probing();
    let Some(plan) = Plan::new(&simulation.network, threads) else { return Ok(None) };
    simulation.after_rounds(&plan)?.finish().map(Some)
}

/// A scenario at one instant.
#[derive(Clone)]
pub struct Simulation {
    scenario: Arc<Scenario>,
    options: Options,
    /// Links, flows and pending events.
    network: NetworkState,
    /// The scheme of each link.
    schemes: Vec<AqmChoice>,
    /// Observables of each link's scheme.
    shown: Vec<&'static [Observable]>,
    /// Members of each group: flows, sources or clients.
    members: Vec<Vec<FlowInstance>>,
    baseline: ProbeBaseline,
    /// Changes of the scenario still to come.
    pending: VecDeque<Change>,
    applied: Vec<Change>,
    /// For each link, where its queue is to be.
    goals: Vec<Vec<TargetChange>>,
    /// For each group, what its round trips are drawn from.
    rtts: Vec<Distribution<Span>>,
    foreign: Foreign,
}

impl Simulation {
    /// The present: everything up to and including this instant has happened, except transmissions that end now.
    pub fn now(&self) -> Time {
        self.network.now
    }

    /// End of the simulation.
    pub fn end(&self) -> Time {
        self.network.measured.end
    }

    /// The scenario that is simulated.
    pub fn scenario(&self) -> &Arc<Scenario> {
        &self.scenario
    }

    /// The scheme of each link, now.
    pub fn schemes(&self) -> &[AqmChoice] {
        &self.schemes
    }

    /// Lets everything happen up to and including `time`, at most until the end of the scenario. A time before the
    /// present changes nothing.
    ///
    /// # Errors
    /// If a scheme breaks down, or the watch says stop. The simulation is then of no further use.
    pub fn step_until(&mut self, time: Time) -> Result<(), RunError> {
        let until = time.min(self.end());
        while let Some(change) = self.pending.front().filter(|change| Time::ZERO + change.at <= until).cloned() {
            self.pending.pop_front();
            self.advance(Time::ZERO + change.at)?;
            self.apply(change)?;
        }
        self.advance(until)
    }

    /// Handles the events up to and including `until`.
    fn advance(&mut self, until: Time) -> Result<(), RunError> {
        while self.advance_some(until)? {
            self.look()?;
        }
        self.look_at_schemes()
    }

    /// Handles as many of them as come between two looks; one by one while a change waits for a phase. True if there may be more.
    fn advance_some(&mut self, until: Time) -> Result<bool, RunError> {
        for _ in 0..EVENTS_PER_LOOK {
            if self.network.phases.as_ref().is_none_or(|phases| phases.awaited.is_empty()) {
                return Ok(self.network.advance(until, EVENTS_PER_LOOK));
            }
            let goes_on = self.network.advance(until, 1);
            self.apply_due()?;
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// It after everything has happened, on several threads.
    fn after_rounds(self, plan: &Plan) -> Result<Self, RunError> {
        let network = rounds::run(self.network, plan, self.options.watch.as_deref())?;
        let whole = Self { network, ..self };
        whole.look_at_schemes()?;
        Ok(whole)
    }

    /// Goes on to the end of the scenario; returns what was measured, as if the simulation had never been stopped.
    ///
    /// # Errors
    /// As [`Simulation::step_until`].
    pub fn finish(mut self) -> Result<Output, RunError> {
        self.step_until(self.end())?;
        let end = self.end();
        for link in &mut self.network.links {
            link.pass_time(end);
            debug_assert!(link.accounts_balance());
        }
        self.look_at_schemes()?;
        Ok(self.output())
    }

    /// Looks whether the run should end before its time.
    fn look(&mut self) -> Result<(), RunError> {
        let now = self.now();
        for receipts in self.network.group_meters.iter_mut().filter_map(|meter| meter.receipts.as_mut()) {
            receipts.tidy(now);
        }
        self.options.watch.as_ref().map_or(Ok(()), |watch| watch.reach(now, 0))?;
        let events = self.network.events;
        if let Some(most) = self.options.most_events.filter(|most| events > *most) {
            return Err(RunError::Endless { events, most, at: now });
        }
        self.look_at_schemes()
    }

    fn look_at_schemes(&self) -> Result<(), RunError> {
        for (scheme, link) in self.schemes.iter().zip(&self.network.links) {
            if let Some(failure) = link.queue.failure() {
                return Err(RunError::Scheme { name: scheme.name.clone(), failure: failure.clone() });
            }
        }
        self.look_at_laws()
    }

    /// The same, of the laws that come from elsewhere.
    fn look_at_laws(&self) -> Result<(), RunError> {
        let laws: Vec<Option<&str>> = self.network.groups.iter().map(Group::law_from_elsewhere).collect();
        if laws.iter().all(Option::is_none) {
            return Ok(());
        }
        let mut failures = self.network.flows.iter().filter_map(|flow| {
            let LawFailure { at, cause } = flow.sender.law_failure()?.clone();
            Some(RunError::Scheme {
                name: laws[self.network.routes.group(flow.way)]?.into(),
                failure: Failure { at, cause },
            })
        });
        failures.next().map_or(Ok(()), Err)
    }
}
