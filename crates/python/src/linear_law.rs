//! The linear law of a scheme, as functions of NumPy arrays.

use crate::{bad_aqm, not_known, refused};
use aqmlab_aqm::linear::{self, Complex64};
use aqmlab_aqm::{SchemeEntry, entries, entry};
use aqmlab_core::params::TypedValues;
use aqmlab_core::{ParamSpec, Problem, Value};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::collections::BTreeMap;

/// A link in numbers, from any object with these attributes.
#[derive(FromPyObject)]
pub struct Network {
    rate: f64,
    packet: f64,
    target: f64,
    buffer: f64,
    ecn: bool,
}

impl Network {
    fn plain(&self) -> linear::Network {
        let Network { rate, packet, target, buffer, ecn } = *self;
        linear::Network { rate, packet, target, buffer, ecn }
    }
}

/// An operating point, from any object with these attributes.
#[derive(FromPyObject)]
pub struct OperatingPoint {
    network: Network,
    p: f64,
    queue: f64,
}

/// The linear law of a scheme with its parameters.
#[pyclass(frozen, name = "Law")]
pub struct LinearLaw {
    entry: SchemeEntry,
    law: Box<dyn aqmlab_aqm::LinearLaw>,
    params: TypedValues,
}

impl LinearLaw {
    /// Of a scheme of the catalogue with these parameters.
    pub fn of(entry: SchemeEntry, pairs: &[(&str, &str)]) -> PyResult<Self> {
        let name = entry.info.name;
        match entry.law(name, pairs).map_err(refused)? {
            Some((law, params)) => Ok(Self { entry, law, params }),
            None => {
                let mut known: Vec<&str> =
                    entries().iter().filter(|entry| has_law(entry)).map(|e| e.info.name).collect();
                known.sort_unstable();
                let known = known.join(", ");
                Err(refused(Problem::new(
                    "aqm",
                    format!("\"{name}\" has no linear model; those that have one: {known}"),
                )))
            }
        }
    }

    fn spec(&self, name: &str) -> PyResult<ParamSpec> {
        let specs = (self.entry.params)();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        let found = specs.iter().find(|spec| spec.name == name).copied();
        found.ok_or_else(|| not_known(self.entry.info.name, "parameter", name, &names))
    }
}

/// True if a scheme has a linear law.
pub fn has_law(entry: &SchemeEntry) -> bool {
    entry.law(entry.info.name, &[]).is_ok_and(|law| law.is_some())
}

/// A parameter's value as Python has it.
pub fn set_value(dict: &Bound<'_, PyDict>, name: &str, value: Value) -> PyResult<()> {
    match value {
        Value::Number(number) => dict.set_item(name, number),
        Value::Switch(switch) => dict.set_item(name, switch),
        Value::Word(word) => dict.set_item(name, word),
    }
}

#[pymethods]
impl LinearLaw {
    /// The law of a scheme: its name and what is set on it, as texts.
    #[new]
    #[pyo3(signature = (name, parameters=BTreeMap::new()))]
    fn new(name: &str, parameters: BTreeMap<String, String>) -> PyResult<Self> {
        let pairs: Vec<(&str, &str)> = parameters.iter().map(|(name, text)| (&**name, &**text)).collect();
        Self::of(entry(name).map_err(bad_aqm)?, &pairs)
    }

    fn __repr__(&self) -> String {
        format!("<Law of {}>", self.name())
    }

    /// Name of the scheme.
    #[getter]
    fn name(&self) -> &str {
        self.entry.info.name
    }

    /// Every parameter: a number in s, bit/s, B, packets, Hz or as it is; a bool; or a word.
    #[getter]
    fn params<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let params = PyDict::new(py);
        self.params.iter().try_for_each(|(name, value)| set_value(&params, name, *value))?;
        Ok(params)
    }

    /// The law with other numbers for some parameters, in base units.
    fn vary(&self, numbers: BTreeMap<String, f64>) -> PyResult<Self> {
        let mut texts: Vec<(&str, String)> = Vec::new();
        for spec in (self.entry.params)() {
            let present = self.params.iter().find(|(name, _)| *name == spec.name).map(|(_, value)| *value);
            let text = match present.expect("every parameter has a value") {
                Value::Number(number) => spec.text(number),
                Value::Switch(switch) => switch.to_string(),
                Value::Word(word) => word.to_string(),
            };
            texts.push((spec.name, text));
        }
        for (name, number) in &numbers {
            let spec = self.spec(name)?;
            texts.push((spec.name, spec.text(*number)));
        }
        let pairs: Vec<(&str, &str)> = texts.iter().map(|(name, text)| (*name, text.as_str())).collect();
        Self::of(self.entry, &pairs)
    }

    /// Mean gap between signals times the p that the scheme shows; 1 where signals are independent.
    #[getter]
    fn spacing(&self) -> f64 {
        self.law.spacing()
    }

    /// The queue at rest while it signals the share `p`, packets; infinite if it never rests.
    fn queue(&self, p: f64, network: Network) -> f64 {
        self.law.queue(p, &network.plain())
    }

    /// Parameters that may be "auto", with the numbers that they come to in a network.
    fn auto<'py>(&self, py: Python<'py>, network: Network) -> PyResult<Bound<'py, PyDict>> {
        let found = PyDict::new(py);
        self.law.auto(&network.plain()).into_iter().try_for_each(|(name, value)| found.set_item(name, value))?;
        Ok(found)
    }

    /// The answer to small changes at an operating point.
    fn at(&self, point: OperatingPoint) -> PyResult<LinearResponse> {
        let OperatingPoint { network, p, queue } = point;
        self.law.at(&linear::OperatingPoint { network: network.plain(), p, queue }).map(LinearResponse).map_err(bad_aqm)
    }
}

/// The answer to small changes: p = feed(s) q + inner(s) p.
#[pyclass(frozen, name = "Linear")]
pub struct LinearResponse(linear::LinearResponse);

impl LinearResponse {
    fn map<'py>(
        answer: &linear::TransferFunction,
        s: &PyReadonlyArray1<'py, Complex64>,
    ) -> Bound<'py, PyArray1<Complex64>> {
        PyArray1::from_iter(s.py(), s.as_array().iter().map(|s| answer(*s)))
    }
}

#[pymethods]
impl LinearResponse {
    /// To a change of the queue, 1/packet.
    fn feed<'py>(&self, s: PyReadonlyArray1<'py, Complex64>) -> Bound<'py, PyArray1<Complex64>> {
        Self::map(&self.0.feed, &s)
    }

    /// To a change of its own signals.
    fn inner<'py>(&self, s: PyReadonlyArray1<'py, Complex64>) -> Bound<'py, PyArray1<Complex64>> {
        Self::map(&self.0.inner, &s)
    }

    /// Poles at s = 0.
    #[getter]
    fn integrators(&self) -> u32 {
        self.0.integrators
    }
}
