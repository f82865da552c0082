//! Real traffic through the schemes.

use crate::output::arrays;
use crate::{CommandError, Scenario, object, parse_choice, refused};
use aqmlab_core::Span;
use aqmlab_live::{FlowRow, LiveError, LiveOptions, Report, Setup};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::ffi::OsString;
use std::path::PathBuf;

/// Puts what live runs need into the module.
pub fn fill(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<Live>()?;
    m.add_function(wrap_pyfunction!(live, m)?)?;
    m.add_function(wrap_pyfunction!(replay, m)?)
}

/// The result of a live run.
#[pyclass(frozen)]
pub struct Live(Report);

#[pymethods]
impl Live {
    /// The code of the command.
    #[getter]
    fn code(&self) -> i32 {
        self.0.code
    }

    /// Warnings for the user.
    #[getter]
    fn warnings(&self) -> Vec<String> {
        self.0.warnings.clone()
    }

    /// The document.
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.0.json)
    }

    /// A row for each flow of a direction: direction, whose it is, packets sent, sent again, delivered and marked, payload (B).
    fn flows(&self) -> Vec<FlowRow<'_>> {
        self.0.flows.iter().map(|(direction, flow)| flow.row(direction)).collect()
    }

    /// Columns of every link's time series.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let links = PyDict::new(py);
        for series in &self.0.series {
            links.set_item(&series.link, arrays(py, series.columns())?)?;
        }
        Ok(links)
    }
}

/// Runs a command behind the line of a scenario. `watch` is called ten times a second with the seconds so far and, for each
/// direction, packets waiting, bytes delivered, packets dropped and marked, and what the scheme shows.
#[pyfunction]
#[pyo3(signature = (scenario, command, *, aqm=None, seed=1, serve=Vec::new(), duration=None, mtu=1500,
                    sysctls=Vec::new(), outside=false, quiet_stdout=false, folder=None, watch=None))]
#[allow(clippy::too_many_arguments)] // keywords of Python
pub fn live(
    py: Python<'_>,
    scenario: &Scenario,
    command: Vec<OsString>,
    aqm: Option<&str>,
    seed: u64,
    serve: Vec<String>,
    duration: Option<f64>,
    mtu: u32,
    sysctls: Vec<(String, String)>,
    outside: bool,
    quiet_stdout: bool,
    folder: Option<PathBuf>,
    watch: Option<Py<PyAny>>,
) -> PyResult<Live> {
    let options = LiveOptions {
        scenario: scenario.0.clone(),
        aqm: parse_choice(aqm)?,
        seed,
        is_virtual: false,
        look: Span::from_millis(100),
        setup: Setup {
            command,
            serve,
            also: Vec::new(),
            start: 0.0,
            logs: folder.clone(),
            outside,
            quiet_stdout,
            mtu,
            foreground: false,
            sysctls,
        },
        duration: duration.map(Span::from_seconds),
        log: folder,
    };
    // A scheme in Python takes the interpreter when it is asked, so nobody may hold it meanwhile.
    let done = py.detach(|| {
        let mut raised = None;
        let done = aqmlab_live::run(&options, &mut |seconds, up, down| {
            if let (Some(watch), None) = (&watch, &raised) {
                raised = Python::attach(|py| watch.call1(py, (seconds, up.row(), down.row())).err());
            }
        });
        raised.map_or(Ok(done), Err)
    })?;
    done.map(Live).map_err(|error| match error {
        LiveError::Input(problems) => refused(problems),
        LiveError::Scheme { .. } => crate::SchemeError::new_err(error.to_string()),
        LiveError::NotStarted(code, why) => CommandError::new_err((why, code)),
        LiveError::Sandbox(_) | LiveError::Io(_) => PyOSError::new_err(error.to_string()),
    })
}

/// Packets that came, decisions, those that are the same, and the first that is not.
type ReplayCounts = (u64, u64, u64, Option<(String, String)>);

/// Puts the arrivals that a live run has logged through the simulated link.
#[pyfunction]
pub fn replay(
    scenario: &Scenario,
    aqm: Option<&str>,
    seed: u64,
    direction: &str,
    log: &[u8],
) -> PyResult<ReplayCounts> {
    let aqm = parse_choice(aqm)?;
    let found = aqmlab_live::replay(&scenario.0, aqm.as_ref(), seed, direction == "up", log);
    let found = found.map_err(refused)?;
    Ok((found.arrived, found.decisions, found.same, found.first_difference))
}
