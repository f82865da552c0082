//! `aqmlab._core`: the Rust half as Python sees it. No logic; the interpreter is released while a run lasts, unless a
//! scheme of it is written in Python.
//!
//! Also a library: an extension from elsewhere registers a scheme of its own and then calls [`fill`].

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
mod output;
mod own;
mod simulation;
mod toml_text;

use aqmlab_aqm::cost::{Cost, measure};
use aqmlab_aqm::schemes::fuzzy;
use aqmlab_aqm::{OWN, SchemeEntry, Signal, Standing, entries, entry};
use aqmlab_core::problem::{self, ProblemKind, unknown};
use aqmlab_core::{ParamSet, ParamSpec, Problem, Problems, Rate};
use aqmlab_exercise::Known;
use aqmlab_scenario::{AqmChoice, SchemeAssignment, of_table, parse_file};
use aqmlab_sim::{Options, RunError};
use aqmlab_tcp::cc::Needs;
use aqmlab_tcp::{EcnFeedback, Profile, TcpParams};
use output::{PacketTrace, Run};
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use serde_json::json;
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
    #[new]
    fn new() -> Self {
        Watch(Arc::default())
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

/// A checked scenario, and what it was read from, so that it can travel to another process.
#[pyclass(frozen, module = "aqmlab._core")]
struct Scenario(Arc<aqmlab_scenario::Scenario>, Source);

/// Text and overrides, as [`Scenario::parse`] takes them.
struct Source(String, Vec<(String, String)>);

#[pymethods]
impl Scenario {
    /// Reads TOML text; `overrides` are (path, value) pairs as of `--set`, `file` is where the text is from.
    #[staticmethod]
    #[pyo3(signature = (text, name, overrides=Vec::new(), file=None))]
    fn parse(text: &str, name: &str, overrides: Vec<(String, String)>, file: Option<&str>) -> PyResult<Self> {
        let parsed = parse_file(text, name, file.unwrap_or(name), &overrides).map_err(refused)?;
        Ok(Scenario(Arc::new(parsed), Source(text.to_owned(), overrides)))
    }

    /// Reads values instead of text: what a file would say, as a dictionary.
    #[staticmethod]
    #[pyo3(signature = (values, name, overrides=Vec::new()))]
    fn of(values: &Bound<'_, PyDict>, name: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        let table = toml_text::table(values)?;
        let text = table.to_string();
        let read = of_table(table, name, &overrides).map_err(refused)?;
        Ok(Scenario(Arc::new(read), Source(text, overrides)))
    }

    /// The scenario with another group of flows: what a file would say of it, as a dictionary.
    fn with_flows(&self, group: &Bound<'_, PyDict>) -> PyResult<Self> {
        let flows = toml::Table::from_iter([("flows".to_string(), vec![toml_text::table(group)?].into())]);
        Self::parse(&format!("{}\n{flows}", self.text()), &self.0.name, self.overrides(), None)
    }

    #[new]
    fn new(text: &str, name: &str, overrides: Vec<(String, String)>) -> PyResult<Self> {
        Self::parse(text, name, overrides, None)
    }

    fn __repr__(&self) -> String {
        let flows: u64 = self.0.flows.iter().map(|flows| u64::from(flows.count())).sum();
        let (flows, links) = (counted(flows, "flow"), counted(self.0.links.len() as u64, "link"));
        format!("<Scenario {}: {flows}, {links}, {} s>", self.0.name, self.duration())
    }

    /// The text that it was read from, without what was set.
    #[getter]
    fn text(&self) -> &str {
        &self.1.0
    }

    /// The arguments from which pickle makes it again.
    fn __getnewargs__(&self) -> (&str, &str, Vec<(String, String)>) {
        (&self.1.0, &self.0.name, self.overrides())
    }

    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    #[getter]
    fn title(&self) -> &str {
        &self.0.title
    }

    /// One line on what has another meaning than in version 0.1, if anything.
    #[getter]
    fn notice(&self) -> Option<String> {
        self.0.notice()
    }

    /// The overrides, as (path, value).
    #[getter]
    fn overrides(&self) -> Vec<(String, String)> {
        self.1.1.clone()
    }

    #[getter]
    fn duration(&self) -> f64 {
        self.0.duration.seconds()
    }

    #[getter]
    fn warmup(&self) -> f64 {
        self.0.warmup.seconds()
    }

    #[getter]
    fn sample(&self) -> f64 {
        self.0.sample.seconds()
    }

    /// Names of the groups of flows.
    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.0.flows.iter().map(|flows| flows.name.as_str()).collect()
    }

    #[getter]
    fn links(&self) -> Vec<&str> {
        self.0.places().into_iter().map(|(name, _)| name).collect()
    }

    /// Names of the lists of stations of its Wi-Fi cell.
    #[getter]
    fn stations(&self) -> Vec<&str> {
        self.0.wifi.iter().flat_map(|wifi| wifi.lists()).map(|list| list[0].list.as_str()).collect()
    }

    /// Its controllers, in order.
    #[getter]
    fn controllers(&self, py: Python<'_>) -> PyResult<Vec<controller::ControllerSpecs>> {
        self.0.controllers.iter().map(|spec| controller::ControllerSpecs::of(py, spec, &self.0)).collect()
    }

    /// The link of that name, in numbers.
    fn link(&self, name: &str) -> PyResult<link::Link> {
        Ok((&self.0.links[link(&self.0, name)?]).into())
    }

    /// The linear law of a scheme, with its parameters as it will run here.
    fn law(&self, aqm: &str) -> PyResult<linear_law::LinearLaw> {
        let (choice, entry) = self.0.choice(aqm).map_err(refused)?;
        linear_law::LinearLaw::of(entry, &self.0.params(&choice))
    }

    /// The group of flows of that name, in numbers.
    fn group(&self, name: &str) -> PyResult<group::Group> {
        let names: Vec<&str> = self.0.flows.iter().map(|flows| flows.name.as_str()).collect();
        let found = self.0.flows.iter().find(|flows| flows.name == name);
        found.map(group::Group::from).ok_or_else(|| not_known("flows", "group of flows", name, &names))
    }

    /// Every parameter of a scheme as it will run here, as text with its unit; "up.target" of a scheme for one link.
    fn parameters(&self, aqm: &str) -> PyResult<BTreeMap<String, String>> {
        Ok(self.0.scheme_values(aqm).map_err(refused)?.into_iter().collect())
    }

    /// The scenario with every default filled in: quantities are texts with their units.
    fn resolved<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.0.resolved())
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
    let is_own = is_own(
        scenario.0.places().into_iter().map(|(_, link)| scenario.0.scheme_of(&scenario.0.links[link], aqm.as_ref())),
    );
    let watch = watch.map(|watch| watch.0.clone());
    let options = Options { aqm, seed, series, trace, watch, threads, most_events, is_controlled: false };
    let simulate = || aqmlab_sim::run(scenario.0.clone(), options);
    let done = if is_own { simulate() } else { py.detach(simulate) };
    done.map(Run::of).map_err(failed)
}

/// The error that Python raises for a simulation without a result.
fn failed(error: RunError) -> PyErr {
    match error {
        RunError::Input(problems) => refused(problems),
        RunError::Interrupted(why) => Interrupted::new_err(why.to_string()),
        RunError::Endless { .. } => PyRuntimeError::new_err(error.to_string()),
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

/// Every scheme with its page and parameters.
#[pyfunction]
fn catalogue(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    entries().iter().map(|entry| object(py, &describe(entry))).collect()
}

/// One scheme, listed or not (`fq-` and any scheme of a single queue).
#[pyfunction]
fn scheme<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    object(py, &describe(&entry(name).map_err(bad_aqm)?))
}

/// The names of the laws of calls.
#[pyfunction]
fn media_laws() -> &'static [&'static str] {
    <aqmlab_scenario::MediaLaw as aqmlab_core::Quantity>::CHOICES
}

/// Every congestion-control law with its page and parameters.
#[pyfunction]
fn laws(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let laws = aqmlab_tcp::cc::entries().into_iter().map(|law| {
        let (info, (summary, page)) = (law.info, page(law.page));
        let law = json!({
            "name": info.name, "title": info.title, "year": info.year, "source": info.source,
            "summary": summary, "page": page,
            "parameters": (law.params)().iter().map(parameter).collect::<Vec<_>>(),
            "asks": needs_in_words(&law.needs), "settings": law.settings,
        });
        object(py, &law)
    });
    laws.collect()
}

/// The needs of a law beyond what every sender knows, in words.
fn needs_in_words(needs: &Needs) -> Vec<&'static str> {
    let asked = [
        (needs.feedback == EcnFeedback::PerPacket, "an ECN echo per packet"),
        (needs.feedback == EcnFeedback::Counter, "a count of ECN marks"),
        (needs.delay, "one-way delays"),
        (needs.every_ack, "every ACK"),
        (needs.rate_samples, "delivery-rate samples"),
        (needs.pacing, "pacing"),
        (needs.answers_marks, "its own answer to ECN marks"),
        (needs.l4s, "ECT(1)"),
        (needs.owns_window, "the window in recovery too"),
        (needs.receiver_target.is_some(), "a receiver that limits it (RFC 9840)"),
    ];
    asked.into_iter().filter_map(|(is_asked, what)| is_asked.then_some(what)).collect()
}

/// The first line of a doc comment, and the rest.
fn page(doc: &str) -> (String, String) {
    // Doc comments carry one leading space on every line.
    let lines: Vec<&str> = doc.lines().map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    let (summary, body) = lines.split_first().unwrap_or((&"", &[]));
    (summary.to_string(), body.join("\n").trim().to_string())
}

fn describe(entry: &SchemeEntry) -> serde_json::Value {
    let (info, (summary, page)) = (entry.info, page(entry.page));
    json!({
        "name": info.name, "title": info.title, "family": info.family, "year": info.year, "source": info.source,
        "confidence": info.confidence, "standing": standing(entry.standing), "papers": info.papers,
        "summary": summary, "page": page,
        "parameters": (entry.params)().iter().map(parameter).collect::<Vec<_>>(),
        "observables": entry.observables.iter()
            .map(|o| json!({"name": o.name, "unit": o.unit, "doc": o.doc})).collect::<Vec<_>>(),
        "target": entry.target,
        "signal": entry.signal.ok().map(signal),
        "no_signal": entry.signal.err(),
        "has_law": linear_law::has_law(entry),
        "exceptions": entry.exceptions.iter()
            .map(|exception| json!({"clause": exception.clause, "why": exception.why})).collect::<Vec<_>>(),
        "tc": entry.tc.map(|tc| json!({"kind": tc.kind, "note": tc.note})),
    })
}

/// The basis of a scheme's law, and the part that is fitted or reconstructed.
fn standing(found: Standing) -> serde_json::Value {
    let (kind, why) = match found {
        Standing::Published => ("published", ""),
        Standing::Fitted(why) => ("fitted", why),
        Standing::Reconstructed(why) => ("reconstructed", why),
    };
    json!({"kind": kind, "why": why})
}

/// The cost of a scheme with its default parameters, measured now on this machine; times in s.
#[pyfunction]
fn cost<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let entry = entry(name).map_err(bad_aqm)?;
    let cost = measure(&entry).map_err(refused)?;
    let Cost { parameters, memory, packet, update, update_every } = cost;
    let found = json!({
        "parameters": parameters, "memory": memory, "packet": packet, "update": update, "update_every": update_every,
        "second": cost.second(),
    });
    object(py, &found)
}

fn signal(signal: Signal) -> &'static str {
    match signal {
        Signal::Never => "never",
        Signal::AtTail => "tail",
        Signal::AtHead => "head",
    }
}

fn parameter(spec: &ParamSpec) -> serde_json::Value {
    let choices = (!spec.choices.is_empty()).then_some(spec.choices);
    json!({
        "name": spec.name, "unit": spec.unit, "default": spec.default, "range": spec.range.map(|(a, b)| [a, b]),
        "choices": choices, "doc": spec.doc, "source": spec.source, "tc": spec.tc,
    })
}

/// Every constant of TCP: as a scheme's parameters, and what the profiles `ns2` and `linux` set it to.
#[pyfunction]
fn tcp(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyAny>>> {
    let set_by = |profile: Profile, spec: &ParamSpec| {
        profile.settings().iter().find(|(set, _)| *set == spec.name).map_or(spec.default, |(_, value)| *value)
    };
    let constants = TcpParams::specs().into_iter().map(|spec| {
        let mut constant = parameter(&spec);
        constant["ns2"] = set_by(Profile::Ns2, &spec).into();
        constant["linux"] = set_by(Profile::Linux, &spec).into();
        object(py, &constant)
    });
    constants.collect()
}

/// Version of the package.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// Address of the project's home, which `Cargo.toml` of the workspace has.
#[pyfunction]
fn home() -> &'static str {
    env!("CARGO_PKG_REPOSITORY")
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
    m.add_function(wrap_pyfunction!(catalogue, m)?)?;
    m.add_function(wrap_pyfunction!(scheme, m)?)?;
    m.add_function(wrap_pyfunction!(cost, m)?)?;
    m.add_function(wrap_pyfunction!(laws, m)?)?;
    m.add_function(wrap_pyfunction!(media_laws, m)?)?;
    m.add_function(wrap_pyfunction!(measures::measures, m)?)?;
    m.add_function(wrap_pyfunction!(tcp, m)?)?;
    m.add_function(wrap_pyfunction!(version, m)?)?;
    m.add_function(wrap_pyfunction!(home, m)?)?;
    m.add_function(wrap_pyfunction!(source, m)?)?;
    m.add_function(wrap_pyfunction!(commit, m)?)?;
    m.add_function(wrap_pyfunction!(quantity, m)?)?;
    m.add_function(wrap_pyfunction!(exercise, m)?)?;
    m.add_function(wrap_pyfunction!(fuzzy_terms, m)?)?;
    m.add_function(wrap_pyfunction!(fuzzy_answer, m)?)?;
    m.add_function(wrap_pyfunction!(build_profile, m)?)
}
