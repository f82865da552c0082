//! The fluid model of a scenario, as numbers and arrays.

use crate::{Scenario, object, parse_choice, refused};
use aqmlab_core::Problem;
use aqmlab_fluid::{Request, Solution, Trajectory};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The dynamics of a mean window; segments.
#[pyclass(frozen, eq, hash, name = "Windows")]
#[derive(PartialEq, Hash)]
pub struct WindowModel(aqmlab_fluid::WindowModel);

#[pymethods]
impl WindowModel {
    /// Those of this name: "classic" or "refined".
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        aqmlab_fluid::WindowModel::named(name).map(WindowModel).map_err(|why| refused(Problem::new("windows", why)))
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// By how much a window grows in a round trip.
    fn growth(&self, w: f64) -> f64 {
        self.0.growth(w)
    }

    /// By how much a signal shortens a window.
    fn cut(&self, w: f64) -> f64 {
        self.0.cut(w)
    }

    /// Derivatives of growth and cut.
    fn slopes(&self, w: f64) -> (f64, f64) {
        self.0.slopes(w)
    }

    /// The window at which growth and signals balance at a share p of signals.
    fn at(&self, p: f64) -> f64 {
        self.0.at(p)
    }
}

/// A trajectory of the fluid model.
#[pyclass(frozen)]
pub struct Fluid {
    solution: Solution,
    series: bool,
}

#[pymethods]
impl Fluid {
    /// The model and the summary of its trajectory, in numbers: what `aqmlab.fluid` documents.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &serde_json::to_value(&self.solution).expect("numbers, texts and lists of them"))
    }

    /// Columns by name, of which `window` and `rate` have a row for each class; empty unless they were asked for.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        if !self.series {
            return Ok(columns);
        }
        let Trajectory { time, queue, p, windows, rates, .. } = &self.solution.trajectory;
        let delay = queue.iter().map(|packets| packets / self.solution.capacity);
        columns.set_item("time", PyArray1::from_slice(py, time))?;
        columns.set_item("queue", PyArray1::from_slice(py, queue))?;
        columns.set_item("queue_delay", PyArray1::from_iter(py, delay))?;
        columns.set_item("p", PyArray1::from_slice(py, p))?;
        columns.set_item("window", PyArray2::from_vec2(py, windows)?)?;
        columns.set_item("rate", PyArray2::from_vec2(py, rates)?)?;
        Ok(columns)
    }
}

/// Lets the fluid model of a scenario run; `check` repeats it with half the step and reports the difference.
#[allow(clippy::too_many_arguments)] // named ones, in Python
#[pyfunction]
#[pyo3(signature = (scenario, aqm=None, *, duration=None, step=None, series=false, windows="classic", check=false))]
pub fn fluid(
    py: Python<'_>,
    scenario: &Scenario,
    aqm: Option<&str>,
    duration: Option<f64>,
    step: Option<f64>,
    series: bool,
    windows: &str,
    check: bool,
) -> PyResult<Fluid> {
    let choice = parse_choice(aqm)?;
    let windows = WindowModel::new(windows)?.0;
    let request = Request { duration, step, windows, check };
    let solution = py.detach(|| Solution::of(&scenario.0, choice.as_ref(), &request)).map_err(refused)?;
    Ok(Fluid { solution, series })
}
