//! A link as an agent sees it: at even intervals the agent acts on the link's scheme and observes the link.

mod act;
mod observe;

pub use act::{Knob, Scale};
pub use observe::{GAUGES, Gauge, ObservationScale, gauge};

use crate::{Options, RunError, Simulation};
use aqmlab_core::problem::unknown;
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::{AqmChoice, Scenario, SchemeAssignment};
use observe::{LinkObserver, Readings};
use std::sync::{Arc, Mutex, PoisonError};

/// A learning task: the actions and the observations of an agent on one link.
#[derive(Clone, Debug)]
pub struct Task {
    /// Name of the link.
    pub link: String,
    /// The scheme on which it acts.
    pub aqm: AqmChoice,
    /// Parameters that it moves.
    pub knobs: Vec<Knob>,
    /// Time between actions.
    pub every: Span,
    /// Observations: indices in [`GAUGES`].
    pub observe: Vec<usize>,
}

/// One agent's world: an episode after another.
#[derive(Clone)]
pub struct Environment {
    task: Arc<Task>,
    episode: Option<Episode>,
}

/// A simulation under way.
#[derive(Clone)]
struct Episode {
    simulation: Simulation,
    link: usize,
    /// Present value of each knob, in base units.
    values: Vec<f64>,
    observer: LinkObserver,
    steps: u64,
}

/// Output buffers of an environment: the observation, and the readings that it is made of.
pub struct Row<'a> {
    /// One number in [-1, 1] for each of [`Task::observe`].
    pub observation: &'a mut [f32],
    /// One number for each of [`GAUGES`], in its unit.
    pub readings: &'a mut [f32],
}

impl Environment {
    /// An environment without an episode.
    pub fn new(task: Arc<Task>) -> Self {
        Self { task, episode: None }
    }

    /// Begins another episode.
    ///
    /// # Errors
    /// If the scenario has no such link, or the scheme does not fit it.
    pub fn reset(&mut self, scenario: Arc<Scenario>, seed: u64, row: &mut Row) -> Result<(), Problems> {
        let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
        let link = names.iter().position(|name| *name == self.task.link);
        let link = link.ok_or_else(|| Problems::one("link", unknown("link", &self.task.link, &names)))?;
        let values = act::begin(&self.task, &scenario)?;
        let aqm = Some(SchemeAssignment::At(vec![(self.task.link.clone(), self.task.aqm.clone())]));
        let mut simulation = Simulation::foreseeing(scenario, Options { aqm, seed, ..Options::default() })?;
        simulation.stop_probing_flows();
        simulation.take_turns();
        let observer = LinkObserver::new(&simulation, link);
        let episode = self.episode.insert(Episode { simulation, link, values, observer, steps: 0 });
        episode.look(&self.task, row);
        Ok(())
    }

    /// Acts, lets the interval pass and looks. Says whether the scheme took the action: a scheme refuses parameters that
    /// contradict each other, and then goes on with those that it has.
    ///
    /// # Errors
    /// If a scheme breaks down.
    ///
    /// # Panics
    /// Before the first reset.
    pub fn step(&mut self, action: &[f32], row: &mut Row) -> Result<bool, RunError> {
        let episode = self.episode.as_mut().expect("an environment is reset before its first step");
        let is_taken = act::apply(&self.task, episode, action);
        episode.steps += 1;
        let until = Time::ZERO + Span(self.task.every.0 * episode.steps);
        episode.simulation.step_until(until)?;
        episode.look(&self.task, row);
        Ok(is_taken)
    }
}

impl Episode {
    fn look(&mut self, task: &Task, row: &mut Row) {
        let Readings { values, scaled } = self.observer.read(&mut self.simulation, self.link, task.every);
        for (place, value) in row.readings.iter_mut().zip(values) {
            *place = value as f32;
        }
        for (place, gauge) in row.observation.iter_mut().zip(&task.observe) {
            *place = scaled[*gauge] as f32;
        }
    }
}

/// An environment with its action, where it writes, and whether the scheme took the action; `None` to leave it alone.
pub struct Job<'a> {
    /// The environment.
    pub environment: &'a mut Environment,
    /// One number in [-1, 1] for each knob.
    pub action: &'a [f32],
    /// Output buffers.
    pub row: Row<'a>,
    /// Set by the step.
    pub is_taken: &'a mut bool,
}

/// Steps many environments on up to `threads` threads. Each is alone in its world, so threads change no result.
///
/// # Errors
/// The first that a thread meets; what the others did stays.
pub fn step_all<'a>(jobs: impl Iterator<Item = Job<'a>> + Send, threads: usize) -> Result<(), RunError> {
    let jobs = Mutex::new(jobs);
    let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
    let work = || {
        while let Some(mut job) = next() {
            *job.is_taken = job.environment.step(job.action, &mut job.row)?;
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mine = work();
        others.into_iter().fold(mine, |done, other| {
            let theirs = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done.and(theirs)
        })
    })
}

#[cfg(test)]
mod tests;
