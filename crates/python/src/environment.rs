//! Environments side by side, which write into arrays that Python keeps.

use crate::{Scenario, failed, not_known, refused};
use aqmlab_core::{Problem, Span};
use aqmlab_scenario::AqmChoice;
use aqmlab_sim::environment::{Environment, GAUGES, Job, Knob, ObservationScale, Row, Scale, Task, gauge, step_all};
use numpy::{PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, PoisonError};

/// A parameter to move: name, ends, scale ("linear", "log", "square"), and the largest increment.
type Moved = (String, Option<(f64, f64)>, Option<String>, Option<f64>);

/// Environments of one kind, each in an episode of its own.
#[pyclass(frozen)]
pub struct Environments {
    worlds: Mutex<Vec<Environment>>,
    threads: usize,
    /// Names of the parameters that are moved.
    moved: Vec<String>,
    /// Observations of the agents: a row for each, between -1 and 1.
    #[pyo3(get)]
    observations: Py<PyArray2<f32>>,
    /// Readings of the gauges: a row for each environment.
    #[pyo3(get)]
    readings: Py<PyArray2<f32>>,
    /// A flag for each scheme: it took the last action.
    #[pyo3(get)]
    taken: Py<PyArray1<bool>>,
}

fn knob(aqm: &AqmChoice, (name, ends, scale, step): Moved) -> PyResult<Knob> {
    let scale = match scale.as_deref() {
        None => None,
        Some("linear") => Some(Scale::Linear),
        Some("log") => Some(Scale::Log),
        Some("square") => Some(Scale::Square),
        Some(other) => {
            return Err(not_known(&format!("ranges.{name}"), "scale", other, &["linear", "log", "square"]));
        }
    };
    Knob::new(aqm, &name, ends, scale, step).map_err(refused)
}

#[pymethods]
impl Environments {
    /// `count` environments without an episode.
    #[new]
    #[pyo3(signature = (count, link, aqm, moved, every, observe, threads=1))]
    #[allow(clippy::too_many_arguments)] // as many as a task has
    fn new(
        py: Python<'_>,
        count: usize,
        link: String,
        aqm: &str,
        moved: Vec<Moved>,
        every: f64,
        observe: Vec<String>,
        threads: usize,
    ) -> PyResult<Self> {
        let aqm = AqmChoice::parse(aqm).map_err(|why| refused(Problem::new("act", why)))?;
        let names = moved.iter().map(|(name, ..)| name.clone()).collect();
        let knobs = moved.into_iter().map(|moved| knob(&aqm, moved)).collect::<PyResult<_>>()?;
        let place = |name: &String| gauge(name).map_err(|why| refused(Problem::new("observe", why)));
        let observe = observe.iter().map(place).collect::<PyResult<Vec<_>>>()?;
        let width = observe.len();
        let task = Task { link, aqm, knobs, every: Span::from_seconds(every), observe };
        Ok(Self {
            worlds: Mutex::new(vec![Environment::new(Arc::new(task)); count]),
            threads: threads.min(count),
            moved: names,
            observations: PyArray2::zeros(py, [count, width], false).unbind(),
            readings: PyArray2::zeros(py, [count, GAUGES.len()], false).unbind(),
            taken: PyArray1::from_vec(py, vec![true; count]).unbind(),
        })
    }

    /// Begins another episode in the environment at `index`.
    fn reset(&self, py: Python<'_>, index: usize, scenario: &Scenario, seed: u64) -> PyResult<()> {
        let (mut observations, mut readings) =
            (self.observations.bind(py).readwrite(), self.readings.bind(py).readwrite());
        let mut row = Row {
            observation: row(observations.as_slice_mut()?, index, self.width(py)),
            readings: row(readings.as_slice_mut()?, index, GAUGES.len()),
        };
        let scenario = scenario.0.clone();
        let reset =
            || self.worlds.lock().unwrap_or_else(PoisonError::into_inner)[index].reset(scenario, seed, &mut row);
        py.detach(reset).map_err(refused)
    }

    /// Acts and lets an interval pass in every environment but those to `skip`.
    /// Says whether all schemes took their actions.
    fn step(&self, py: Python<'_>, actions: PyReadonlyArray2<f32>, skip: PyReadonlyArray1<bool>) -> PyResult<bool> {
        let (mut observations, mut readings, mut taken) = (
            self.observations.bind(py).readwrite(),
            self.readings.bind(py).readwrite(),
            self.taken.bind(py).readwrite(),
        );
        let width = self.width(py).max(1);
        let rows =
            observations.as_slice_mut()?.chunks_mut(width).zip(readings.as_slice_mut()?.chunks_mut(GAUGES.len()));
        let (actions, skip, taken) = (actions.as_slice()?, skip.as_slice()?, taken.as_slice_mut()?);
        self.check(actions)?;
        let step = || {
            let mut worlds = self.worlds.lock().unwrap_or_else(PoisonError::into_inner);
            let each =
                worlds.iter_mut().zip(actions.chunks(self.moved.len())).zip(rows).zip(taken.iter_mut()).zip(skip);
            let jobs = each.filter(|(_, skip)| !**skip).map(|((((environment, action), row), is_taken), _)| {
                let row = Row { observation: row.0, readings: row.1 };
                Job { environment, action, row, is_taken }
            });
            step_all(jobs, self.threads)?;
            Ok(taken.iter().all(|is_taken| *is_taken))
        };
        py.detach(step).map_err(failed)
    }
}

impl Environments {
    /// Refuses actions outside their space.
    fn check(&self, actions: &[f32]) -> PyResult<()> {
        let Some(i) = actions.iter().position(|action| !(-1.0..=1.0).contains(action)) else { return Ok(()) };
        let (name, environment) = (&self.moved[i % self.moved.len()], i / self.moved.len());
        Err(refused(Problem::new(
            "action",
            format!("{} for {name} in environment {environment}; expected -1 to 1", actions[i]),
        )))
    }

    fn width(&self, py: Python<'_>) -> usize {
        self.observations.bind(py).dims()[1]
    }
}

fn row(array: &mut [f32], index: usize, width: usize) -> &mut [f32] {
    &mut array[index * width..(index + 1) * width]
}

/// Gauges that an agent may observe: name, unit, meaning, reference (`None` of a ratio, which is scaled by its root), and whether it
/// may be below zero.
#[pyfunction]
pub fn gauges() -> Vec<(&'static str, &'static str, &'static str, Option<&'static str>, bool)> {
    let name = |scale| match scale {
        ObservationScale::Reference(words) => Some(words),
        ObservationScale::Root => None,
    };
    GAUGES.iter().map(|gauge| (gauge.name, gauge.unit, gauge.doc, name(gauge.scale), gauge.is_signed)).collect()
}
