//! A session of the studio, as the server hosts it.

use crate::{Watch, failed, memory, object, refused};
use aqmlab_core::{Problem, Problems};
use aqmlab_studio::{ExportRequest, ExportedFile, LANES, MARKS, MOST_FLOWS, Session, SessionHost, SessionOutput};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The server: what it knows, and what memory it has.
struct Server {
    scenario: Py<PyAny>,
    hold: Py<PyAny>,
    watch: Arc<aqmlab_sim::Watch>,
}

impl SessionHost for Server {
    fn scenario(&self, name: &str) -> Result<String, Problems> {
        Python::attach(|py| self.scenario.call1(py, (name,))?.extract(py)).map_err(problems)
    }

    fn hold(&self, held: f64, more: f64) -> Result<(), Problems> {
        Python::attach(|py| self.hold.call1(py, (held, more)).map(drop)).map_err(problems)
    }

    fn watch(&self) -> Option<Arc<aqmlab_sim::Watch>> {
        Some(self.watch.clone())
    }

    /// The interpreter stays with a scheme that is written in Python.
    fn work(&self, is_own: bool, held: f64, work: &mut dyn FnMut()) -> Option<f64> {
        let counted = || memory::going_on(held as i64, work).1;
        Some(if is_own { Python::attach(|_| counted()) } else { counted() } as f64)
    }
}

/// The problems of an `InputError`: path and reason of each.
fn problems(error: PyErr) -> Problems {
    type Pairs = Vec<(String, String, Py<PyAny>, Py<PyAny>)>;
    let pairs = Python::attach(|py| error.value(py).getattr("problems")?.extract::<Pairs>());
    let problem = |(path, reason, ..): (String, String, _, _)| Problem::new(path, reason);
    pairs.map_or_else(
        |_| Problems::one("", error.to_string()),
        |pairs| Problems(pairs.into_iter().map(problem).collect()),
    )
}

/// An output: its kind ("frame", "message", "table" or "export"), and bytes, a text or an `StudioExport`.
type OutputOf = (&'static str, Py<PyAny>);

/// A session of the studio.
#[pyclass(frozen)]
pub struct StudioSession(Mutex<Session>);

impl StudioSession {
    /// Lets the session act, while other threads of the interpreter go on.
    fn act<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Session) -> T + Send) -> T {
        py.detach(|| act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)))
    }
}

#[pymethods]
impl StudioSession {
    /// A session in which nothing is open. `scenario` returns the text of a scenario by its name; `hold` gets the bytes that the
    /// session holds and those that it is about to take; it refuses more than there are.
    #[new]
    fn new(scenario: Py<PyAny>, hold: Py<PyAny>, watch: &Watch) -> Self {
        Self(Mutex::new(Session::new(Arc::new(Server { scenario, hold, watch: watch.0.clone() }))))
    }

    /// Answers a request.
    fn handle(&self, py: Python<'_>, text: &str, now: f64) -> PyResult<Vec<OutputOf>> {
        outputs(py, self.act(py, |session| session.handle(text, now)))
    }

    /// Continues for about 30 ms, or shows measures.
    fn step(&self, py: Python<'_>, now: f64) -> PyResult<Vec<OutputOf>> {
        outputs(py, self.act(py, |session| session.step(now)))
    }

    /// The time of the next step, `None` while nothing plays; and whether a request waits for its end.
    fn due(&self, py: Python<'_>, now: f64) -> (Option<f64>, bool) {
        self.act(py, |session| (session.due(now), session.is_awaited()))
    }

    /// Drops lanes and marks.
    fn close(&self, py: Python<'_>) {
        self.act(py, Session::close);
    }
}

fn outputs(py: Python<'_>, found: Vec<SessionOutput>) -> PyResult<Vec<OutputOf>> {
    let output = |output| {
        Ok(match output {
            SessionOutput::Frame(bytes) => ("frame", PyBytes::new(py, &bytes).into_any().unbind()),
            SessionOutput::Message(text) => ("message", text.into_pyobject(py)?.into_any().unbind()),
            SessionOutput::Table(text) => ("table", text.into_pyobject(py)?.into_any().unbind()),
            SessionOutput::Export(asked) => ("export", Py::new(py, StudioExport(*asked))?.into_any()),
        })
    };
    found.into_iter().map(output).collect()
}

/// A request for a file.
#[pyclass(frozen)]
pub struct StudioExport(ExportRequest);

#[pymethods]
impl StudioExport {
    /// The kind of file.
    #[getter]
    fn what(&self) -> &str {
        self.0.what
    }

    /// Name and seed of the scenario, the scheme of each lane, and the scenario of the first as it is now.
    #[getter]
    fn recording(&self) -> (&str, u64, Vec<Option<String>>, &str) {
        let recording = &self.0.recording;
        let aqms = recording.aqms.iter().map(|aqm| aqm.as_ref().map(ToString::to_string)).collect();
        (&recording.name, recording.seed, aqms, &recording.tomls[0])
    }

    /// True if all lanes have the same scenario.
    #[getter]
    fn is_one(&self) -> bool {
        self.0.recording.is_one()
    }

    /// True if the scenario runs again for it.
    #[getter]
    fn runs(&self) -> bool {
        self.0.runs()
    }

    /// The id of the request.
    #[getter]
    fn id<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        object(py, &self.0.id)
    }

    /// Name, media type and content of the file, but of a report.
    fn file(&self, py: Python<'_>, watch: &Watch) -> PyResult<ExportedFile> {
        let watch = watch.0.clone();
        py.detach(|| {
            memory::begin();
            self.0.file(Some(watch))
        })
        .map_err(failed)
    }

    /// The answer with a file.
    fn answer(&self, file: ExportedFile) -> String {
        self.0.answer(Ok(file))
    }
}

/// The problems of a scenario's text and schemes, or its drawing: a request and its answer are JSON.
#[pyfunction]
pub fn studio_check(py: Python<'_>, request: &str) -> PyResult<String> {
    py.detach(|| aqmlab_studio::check(request)).map_err(refused)
}

/// The limits of a session.
#[pyfunction]
pub fn studio_limits() -> BTreeMap<&'static str, usize> {
    BTreeMap::from([("lanes", LANES), ("marks", MARKS), ("flows", MOST_FLOWS)])
}

/// The column of each link in the drawing of a scenario, by the paths of its flows.
#[pyfunction]
pub fn columns_of(paths: Vec<Vec<usize>>, links: usize) -> Vec<usize> {
    aqmlab_studio::columns_of(&paths, links)
}
