//! A user's own scheme: a Python class, as the engine sees it.

mod law;
mod scheme;
mod views;

pub use law::{AckFacts, LawWindow, declare_law};
pub use views::{HookVerdict, Packet, Queue, Scheme};

use crate::linear_law::set_value;
use crate::{bad_aqm, refused};
use aqmlab_aqm::contract::{self, Outcome, bench};
use aqmlab_aqm::{
    AnyAqm, AnyScheme, Aqm, BoxedAqm, Declaration, Failure, OWN, Observable, QueueView, SchemeInfo, Tune,
};
use aqmlab_core::runtime_param::read_all;
use aqmlab_core::{ParamSpec, Problem, Problems, RuntimeParam, Time};
use aqmlab_scenario::AqmChoice;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use scheme::OwnAqm;

/// The declared parameters of a class.
#[pyclass(frozen)]
pub struct Parameters {
    path: &'static str,
    params: Vec<RuntimeParam>,
}

impl Parameters {
    fn declare(path: &'static str, params: Vec<Param>) -> Result<Self, Problem> {
        let params = params.into_iter().map(declared).collect::<Result<_, _>>();
        params.map(|params| Self { path, params }).map_err(|problem| problem.within(path))
    }
}

#[pymethods]
impl Parameters {
    /// Those of a class that no catalogue lists; `name` is the class's.
    #[new]
    fn new(name: String, params: Vec<Param>) -> PyResult<Self> {
        Self::declare(leak(name), params).map_err(refused)
    }

    /// Every parameter's value in base units when `pairs` (name and text) are set.
    fn read<'py>(&self, py: Python<'py>, pairs: Vec<(String, String)>) -> PyResult<Bound<'py, PyDict>> {
        let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let mut problems = Vec::new();
        let (values, _) = read_all(&self.params, self.path, &pairs, &mut problems);
        if !problems.is_empty() {
            return Err(refused(Problems(problems)));
        }
        let read = PyDict::new(py);
        for (RuntimeParam { spec, .. }, value) in self.params.iter().zip(values) {
            set_value(&read, spec.name, value)?;
        }
        Ok(read)
    }
}

/// A parameter as Python declares it: name, default, range, choices, unit, meaning.
type Param = (String, String, Option<(String, String)>, Vec<String>, String, String);

fn leak(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

fn declared((name, default, range, choices, unit, doc): Param) -> Result<RuntimeParam, Problem> {
    let path = name.clone();
    let choices: Vec<&'static str> = choices.into_iter().map(leak).collect();
    let spec = ParamSpec {
        name: leak(name),
        doc: leak(doc),
        unit: leak(unit),
        default: leak(default),
        range: range.map(|(least, greatest)| (leak(least), leak(greatest))),
        choices: Vec::leak(choices),
        source: "",
        tc: None,
    };
    RuntimeParam::new(spec).map_err(|problem| problem.within(&path))
}

/// Adds a class to the catalogue; what it declares lives as long as the process. `hooks` are those it overrides,
/// `observables` are name, unit and meaning.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // called from one place, by name
pub fn declare(
    class: Py<PyType>,
    name: String,
    title: String,
    source: String,
    page: String,
    params: Vec<Param>,
    observables: Vec<(String, String, String)>,
    hooks: Vec<String>,
    reads_target: bool,
) -> PyResult<Parameters> {
    let name = leak(name);
    let parameters = Parameters::declare(name, params).map_err(refused)?;
    let confidence = "a scheme of the user's own; see aqmlab.check_aqm";
    let (title, source) = (leak(title), leak(source));
    let observables: Vec<Observable> = observables
        .into_iter()
        .map(|(name, unit, doc)| Observable { name: leak(name), unit: leak(unit), doc: leak(doc) })
        .collect();
    let shown: Vec<&'static str> = observables.iter().map(|observable| observable.name).collect();
    let declared = parameters.params.clone();
    let make = move |pairs: &[(&str, &str)], queue: &QueueView| -> Result<Box<dyn BoxedAqm>, String> {
        Python::attach(|py| OwnAqm::new(class.bind(py), &hooks, &shown, &declared, pairs, queue))
            .map(|own| Box::new(own) as _)
    };
    aqmlab_aqm::declare(Declaration {
        info: SchemeInfo { name, title, family: OWN, year: 0, source, confidence, papers: &[] },
        page: leak(page),
        observables,
        params: parameters.params.clone(),
        reads_target,
        make: Box::new(make),
    })
    .map_err(|problem| refused(problem.within(name)))?;
    Ok(parameters)
}

/// A clause, how it is broken, and why it is not asked for.
type ClauseResult = (&'static str, Option<String>, Option<&'static str>);

/// Puts a scheme, written as for `run`, to the contract of the built-in ones.
#[pyfunction]
pub fn check(py: Python<'_>, aqm: &str) -> PyResult<Vec<ClauseResult>> {
    let choice = AqmChoice::parse(aqm).map_err(bad_aqm)?;
    let entry = aqmlab_aqm::entry(&choice.name).map_err(bad_aqm)?;
    let pairs: Vec<(&str, &str)> = choice.params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let build = || entry.build(&choice.name, &pairs, &bench::queue(0));
    build().map_err(refused)?;
    let queue = || build().unwrap_or_else(broken).queue(bench::queue(0), bench::LIMIT, true, 7);
    let clauses = contract::suite(queue, entry.observables, entry.exceptions);
    py.check_signals()?;
    let checked = |(clause, outcome)| match outcome {
        Outcome::Kept => (clause, None, None),
        Outcome::Broken(why) => (clause, Some(why), None),
        Outcome::Excepted(why) => (clause, None, Some(why)),
    };
    Ok(clauses.into_iter().map(checked).collect())
}

/// Stands for a scheme that could be built before and cannot be again.
#[derive(Clone)]
struct BrokenScheme(Failure);

impl Tune for BrokenScheme {}

impl Aqm for BrokenScheme {
    fn failure(&self) -> Option<&Failure> {
        Some(&self.0)
    }
}

fn broken(why: Problems) -> AnyScheme {
    AnyScheme::Fifo(AnyAqm::Boxed(Box::new(BrokenScheme(Failure { at: Time::ZERO, cause: why.to_string() }))))
}
