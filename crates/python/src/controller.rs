//! Controllers of a scenario, in numbers.

use aqmlab_scenario::{ControllerSpec, Scenario};
use pyo3::prelude::*;

/// A controller of rates.
#[pyclass(frozen, get_all)]
pub struct ControllerSpecs {
    /// Name.
    name: String,
    /// Its law, with parameters.
    law: String,
    /// The group of datagrams whose delay it sees.
    pings: String,
    /// The shapers that it sets.
    shapers: Vec<Py<ShaperSpecs>>,
}

/// A rate that a controller sets; bit/s.
#[pyclass(frozen, get_all)]
pub struct ShaperSpecs {
    /// Name of the link.
    link: String,
    /// The path that is set, as `Simulation.set` takes it.
    path: String,
    /// The least rate.
    min: f64,
    /// The rate at first.
    base: f64,
    /// The greatest rate.
    max: f64,
}

impl ControllerSpecs {
    /// Of a scenario.
    pub fn of(py: Python<'_>, spec: &ControllerSpec, scenario: &Scenario) -> PyResult<Self> {
        let shaper = |shaper: &aqmlab_scenario::ShaperSpec| {
            let link = scenario.links[shaper.link].name.clone();
            let (min, base, max) = (shaper.min.0, shaper.base.0, shaper.max.0);
            Py::new(py, ShaperSpecs { link, path: shaper.path(&scenario.links), min, base, max })
        };
        Ok(Self {
            name: spec.name.clone(),
            law: spec.law.clone(),
            pings: scenario.flows[spec.pings].name.clone(),
            shapers: spec.shapers.iter().map(shaper).collect::<PyResult<_>>()?,
        })
    }
}
