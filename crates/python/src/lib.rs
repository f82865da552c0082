//! `aqmlab._core`: the Rust half as Python sees it. No logic; the interpreter is released while a run lasts, unless a
//! scheme of it is written in Python.
//!
//! Also a library: an extension from elsewhere registers a scheme of its own and then calls [`fill`].

mod catalogue;
mod columns;
mod controller;
mod environment;
mod fluid;
mod group;
#[cfg(target_os = "linux")]
mod kernel;
mod line;
mod linear_law;
mod link;
#[cfg(target_os = "linux")]
mod live;
mod measures;
mod memory;
mod output;
mod own;
mod scenario;
mod simulation;
mod studio;
mod toml_text;
mod waiting;

use aqmlab_aqm::schemes::fuzzy;
use aqmlab_aqm::{OWN, entry};
use aqmlab_core::problem::{self, ProblemKind, unknown};
use aqmlab_core::{Problem, Problems, Rate};
use aqmlab_exercise::Known;
use aqmlab_scenario::{AqmChoice, SchemeAssignment};
use aqmlab_sim::{MemoryBound, Options, RunError};
use output::{PacketTrace, Run};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use scenario::Scenario;
use std::collections::BTreeMap;
use std::sync::Arc;

create_exception!(
    aqmlab,
    SchemeError,
    PyRuntimeError,
    "A scheme broke down during a run; the message names it, the simulated time and the cause."
);
create_exception!(
    aqmlab,
    CommandError,
    PyException,
    "The command of a live run could not be started: why, and a code."
);
create_exception!(aqmlab, Interrupted, PyException, "The run was cancelled.");

/// An input that is refused, as Python raises it: `aqmlab.problems.InputError`.
fn refused(problems: impl Into<Problems>) -> PyErr {
    let Problems(problems) = problems.into();
    Python::attach(|py| input_error(py, &problems).unwrap_or_else(|error| error))
}

fn input_error(py: Python<'_>, problems: &[Problem]) -> PyResult<PyErr> {
    let module = py.import("aqmlab.problems")?;
    let (problem, location) = (module.getattr("Problem")?, module.getattr("Location")?);
    let each = problems.iter().map(|each| {
        let at = each.location.as_ref();
        let at = at.map(|at| location.call1((&at.file, at.line, at.column, at.length))).transpose()?;
        problem.call1((&each.path, &each.reason, each.kind.name(), at))
    });
    let each = PyTuple::new(py, each.collect::<PyResult<Vec<_>>>()?)?;
    Ok(PyErr::from_value(module.getattr("InputError")?.call1(each)?))
}

/// The error for a text that names schemes.
fn bad_aqm(why: String) -> PyErr {
    refused(Problem::new("aqm", why))
}

/// A hint where an unknown name is given: the nearest one, those that are known if they are few.
#[pyfunction]
fn hint(given: &str, known: Vec<String>) -> String {
    problem::hint(given, &known.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The name that was meant, if one is near.
#[pyfunction]
fn nearest(given: &str, known: Vec<String>) -> Option<String> {
    problem::nearest(given, known.iter().map(String::as_str)).map(str::to_string)
}

/// A name that is none of those `known`.
fn not_known(path: &str, what: &str, given: &str, known: &[&str]) -> PyErr {
    refused(Problem::new(path, unknown(what, given, known)).of(ProblemKind::Unknown))
}

/// Shared with a run: shows how far it has come, and can stop it.
#[pyclass(frozen)]
struct Watch(Arc<aqmlab_sim::Watch>);

#[pymethods]
impl Watch {
    /// Runs that hold more than `memory` bytes together are stopped, those first that hold no less than a `share` of them.
    #[new]
    #[pyo3(signature = (memory=None, share=0.0))]
    fn new(memory: Option<f64>, share: f64) -> Self {
        let bound = |most: f64| MemoryBound {
            held: memory::held,
            own: memory::own,
            most: most as u64,
            share: (share * most) as u64,
        };
        Watch(Arc::new(memory.map(bound).map_or_else(aqmlab_sim::Watch::default, aqmlab_sim::Watch::bounded)))
    }

    /// The run stops within milliseconds.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// A run elsewhere has reached this time, s.
    fn reach(&self, seconds: f64) {
        self.0.note(aqmlab_core::Time::ZERO + aqmlab_core::Span::from_seconds(seconds));
    }

    /// True if `cancel` has been called.
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }

    /// Simulated time that the run has reached, s.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now().seconds()
    }
}

/// "1 link", "2 links".
fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// True if one of these schemes is written in Python.
fn is_own<'a>(schemes: impl IntoIterator<Item = &'a AqmChoice>) -> bool {
    let mut entries = schemes.into_iter().filter_map(|scheme| entry(&scheme.name).ok());
    entries.any(|entry| entry.info.family == OWN)
}

/// A JSON value as Python objects. (`pythonize` does the same, but has no release for this version of PyO3.)
fn object<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    use serde_json::Value;
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(truth) => truth.into_pyobject(py)?.to_owned().into_any(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.into_pyobject(py)?.into_any(),
            None => number.as_f64().into_pyobject(py)?.into_any(),
        },
        Value::String(text) => text.into_pyobject(py)?.into_any(),
        Value::Array(items) => {
            let items = items.iter().map(|item| object(py, item)).collect::<PyResult<Vec<_>>>()?;
            PyList::new(py, items)?.into_any()
        }
        Value::Object(entries) => {
            let dict = PyDict::new(py);
            entries.iter().try_for_each(|(key, item)| dict.set_item(key, object(py, item)?))?;
            dict.into_any()
        }
    })
}

/// The schemes that `--aqm` names, if any.
fn parse_choice(aqm: Option<&str>) -> PyResult<Option<SchemeAssignment>> {
    aqm.map(SchemeAssignment::parse).transpose().map_err(bad_aqm)
}

/// Loads a congestion-control law from a shared library; returns its name.
#[pyfunction]
fn load_law(file: std::path::PathBuf) -> PyResult<&'static str> {
    aqmlab_law::load(&file).map_err(refused)
}

/// Runs a scenario; other threads of the interpreter go on meanwhile, unless it calls Python at every turn.
#[pyfunction]
#[pyo3(signature = (scenario, aqm=None, seed=1, series=false, watch=None, trace=None, threads=1, most_events=None))]
#[allow(clippy::too_many_arguments)] // as Python names them
fn run(
    py: Python<'_>,
    scenario: &Scenario,
    aqm: Option<&str>,
    seed: u64,
    series: bool,
    watch: Option<&Watch>,
    trace: Option<&str>,
    threads: usize,
    most_events: Option<u64>,
) -> PyResult<Run> {
    let aqm = parse_choice(aqm)?;
    let trace = trace.map(|name| link(&scenario.0, name)).transpose()?;
    let is_own = runs_own(scenario, aqm.as_ref());
    let watch = watch.map(|watch| watch.0.clone());
    let options = Options { aqm, seed, series, trace, watch, threads, most_events, is_controlled: false };
    let simulate = || {
        memory::begin();
        aqmlab_sim::run(scenario.0.clone(), options)
    };
    let done = if is_own { simulate() } else { py.detach(simulate) };
    done.map(Run::of).map_err(failed)
}

/// Some link of a scenario has a scheme that is written in Python.
fn runs_own(scenario: &Scenario, aqm: Option<&SchemeAssignment>) -> bool {
    let links = scenario.0.places().into_iter().map(|(_, link)| &scenario.0.links[link]);
    is_own(links.map(|link| scenario.0.scheme_of(link, aqm)))
}

/// The error that Python raises for a simulation without a result.
fn failed(error: RunError) -> PyErr {
    match error {
        RunError::Input(problems) => refused(problems),
        RunError::Interrupted(why) => Interrupted::new_err(why.to_string()),
        RunError::Endless { .. } | RunError::Memory { .. } => PyRuntimeError::new_err(error.to_string()),
        RunError::Scheme { .. } => SchemeError::new_err(error.to_string()),
    }
}

/// Index of the link with this name.
fn link(scenario: &aqmlab_scenario::Scenario, name: &str) -> PyResult<usize> {
    let places = scenario.places();
    let place = places.iter().find(|(known, _)| *known == name).map(|(_, link)| *link);
    let found = place.or_else(|| scenario.links.iter().position(|link| link.name == name));
    found.ok_or_else(|| not_known("link", "link", name, &places.iter().map(|(name, _)| *name).collect::<Vec<_>>()))
}

/// Version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Address of the project's home, which `Cargo.toml` of the workspace has; none while that is a name that cannot exist (RFC 2606).
#[pyfunction]
fn home() -> Option<&'static str> {
    let home = env!("CARGO_PKG_REPOSITORY");
    (!home.ends_with(".invalid")).then_some(home)
}

/// Hash of the Rust sources that the extension was compiled from: 16 hexadecimal digits, the same for every build of them.
#[pyfunction]
fn source() -> &'static str {
    env!("AQMLAB_SOURCE")
}

/// The commit that was checked out when the extension was compiled, with "-dirty" if the Rust sources were not those of the
/// commit; `unknown` outside git.
#[pyfunction]
fn commit() -> &'static str {
    env!("AQMLAB_COMMIT")
}

/// A quantity as number and base unit: `80 ms` is 0.08 and `s`; `None` for any other text.
#[pyfunction]
fn quantity(text: &str) -> Option<(f64, &'static str)> {
    aqmlab_core::read_any(text)
}

/// The JSON Schema of a kind of file, `scenario` or `exercise`, as JSON.
#[pyfunction]
fn schema(of: &str) -> PyResult<String> {
    match of {
        "scenario" => Ok(aqmlab_scenario::schema().to_string()),
        "exercise" => Ok(aqmlab_exercise::ExerciseSheet::schema().as_value().to_string()),
        other => Err(not_known("of", "kind of file", other, &["scenario", "exercise"])),
    }
}

/// The answer to a request about the exercises of a student; both are JSON.
#[pyfunction]
fn exercise(py: Python<'_>, request: &str) -> PyResult<String> {
    let request = serde_json::from_str(request).map_err(|why| refused(Problem::new("", why.to_string())))?;
    Ok(py.detach(|| aqmlab_exercise::answer(&request, &Known::default())).map_err(refused)?.to_string())
}

/// A buffer as a scenario writes it, in packets of `packet` bytes, at a rate in bit/s and a round-trip time in s.
#[pyfunction]
fn buffer_packets(text: &str, rate: f64, rtt: f64, packet: f64) -> PyResult<f64> {
    let found = aqmlab_scenario::buffer_packets(text, Rate(rate), rtt, packet);
    found.map_err(|why| refused(Problem::new("buffer", why)))
}

/// Every parameter of a scheme (as in `--aqm`) with its value as text.
#[pyfunction]
fn scheme_values(aqm: &str) -> PyResult<BTreeMap<String, String>> {
    let choice = AqmChoice::parse(aqm).map_err(bad_aqm)?;
    let pairs: Vec<(&str, &str)> = choice.params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let values = entry(&choice.name).map_err(bad_aqm)?.values(&choice.name, &pairs).map_err(refused)?;
    Ok(values.into_iter().map(|(name, text)| (name.to_string(), text)).collect())
}

/// The degrees to which an input of the fuzzy controllers, in -1 to 1, belongs to their terms, NB to PB.
#[pyfunction]
fn fuzzy_terms(input: f64) -> [f64; 7] {
    fuzzy::memberships(input)
}

/// The answer of the fuzzy controllers to a scaled error and its scaled change, all in -1 to 1.
#[pyfunction]
fn fuzzy_answer(error: f64, change: f64) -> f64 {
    fuzzy::infer(error, change)
}

/// The extension's build profile: `release` or `debug`.
#[pyfunction]
fn build_profile() -> &'static str {
    if cfg!(debug_assertions) { "debug" } else { "release" }
}

#[pymodule]
fn _core(m: &Bound<'_, PyModule>) -> PyResult<()> {
    fill(m)
}

/// Puts all of `aqmlab._core` into a module, which may then stand in its place. The catalogue that Python sees has every
/// scheme that was given to [`aqmlab_aqm::register`].
///
/// # Errors
/// Errors that Python raises.
pub fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("Interrupted", m.py().get_type::<Interrupted>())?;
    m.add("SchemeError", m.py().get_type::<SchemeError>())?;
    m.add_function(wrap_pyfunction!(buffer_packets, m)?)?;
    m.add_function(wrap_pyfunction!(hint, m)?)?;
    m.add_function(wrap_pyfunction!(nearest, m)?)?;
    m.add_function(wrap_pyfunction!(scheme_values, m)?)?;
    m.add_class::<own::HookVerdict>()?;
    m.add_class::<own::Packet>()?;
    m.add_class::<own::Queue>()?;
    m.add_class::<own::Scheme>()?;
    m.add_class::<own::Parameters>()?;
    m.add_class::<own::LawWindow>()?;
    m.add_class::<own::AckFacts>()?;
    m.add_function(wrap_pyfunction!(own::declare_law, m)?)?;
    m.add_function(wrap_pyfunction!(load_law, m)?)?;
    m.add_function(wrap_pyfunction!(own::declare, m)?)?;
    m.add_function(wrap_pyfunction!(own::check, m)?)?;
    m.add_class::<Watch>()?;
    m.add_class::<Scenario>()?;
    m.add_class::<line::Line>()?;
    m.add_class::<line::SharedPath>()?;
    m.add_class::<link::Link>()?;
    m.add_class::<controller::ControllerSpecs>()?;
    m.add_class::<controller::ShaperSpecs>()?;
    m.add_class::<group::Group>()?;
    m.add_class::<linear_law::LinearLaw>()?;
    m.add_class::<linear_law::LinearResponse>()?;
    m.add_class::<Run>()?;
    m.add_class::<simulation::Simulation>()?;
    m.add_class::<simulation::Probe>()?;
    m.add_class::<studio::StudioSession>()?;
    m.add_class::<studio::StudioExport>()?;
    m.add_function(wrap_pyfunction!(studio::studio_check, m)?)?;
    m.add_function(wrap_pyfunction!(studio::studio_limits, m)?)?;
    m.add_function(wrap_pyfunction!(studio::columns_of, m)?)?;
    m.add_class::<PacketTrace>()?;
    m.add_class::<environment::Environments>()?;
    m.add_function(wrap_pyfunction!(environment::gauges, m)?)?;
    m.add_function(wrap_pyfunction!(run, m)?)?;
    m.add_function(wrap_pyfunction!(columns::columns, m)?)?;
    m.add_function(wrap_pyfunction!(toml_text::read_toml, m)?)?;
    m.add_function(wrap_pyfunction!(toml_text::location, m)?)?;
    m.add("CommandError", m.py().get_type::<CommandError>())?;
    #[cfg(target_os = "linux")]
    live::fill(m)?;
    #[cfg(target_os = "linux")]
    m.add_function(wrap_pyfunction!(kernel::on_linux, m)?)?;
    m.add_class::<fluid::Fluid>()?;
    m.add_class::<fluid::WindowModel>()?;
    m.add_function(wrap_pyfunction!(fluid::fluid, m)?)?;
    catalogue::fill(m)?;
    m.add_function(wrap_pyfunction!(measures::measures, m)?)?;
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(home, m)?)?;
    m.add_function(wrap_pyfunction!(source, m)?)?;
    m.add_function(wrap_pyfunction!(commit, m)?)?;
    m.add_function(wrap_pyfunction!(quantity, m)?)?;
    m.add_function(wrap_pyfunction!(exercise, m)?)?;
    m.add_function(wrap_pyfunction!(schema, m)?)?;
    m.add_function(wrap_pyfunction!(fuzzy_terms, m)?)?;
    m.add_function(wrap_pyfunction!(fuzzy_answer, m)?)?;
    m.add_function(wrap_pyfunction!(build_profile, m)?)
}
