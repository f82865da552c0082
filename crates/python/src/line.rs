//! A line in the time of a Python program.

use crate::refused;
use aqmlab::{DropReason, Ecn, Packet, Path, Problem, Problems, Side, Verdict};
use aqmlab_core::problem::unknown;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a packet carries: any object, shared with copies of the line.
type Payload = Arc<Py<PyAny>>;

/// Payload, ECN field, time in the queue and time at which it comes out, both ns.
type Out = (Py<PyAny>, &'static str, u64, u64);

const CODEPOINTS: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

/// One direction: a queue under a scheme, a transmitter and a wire.
#[pyclass(frozen, module = "aqmlab._core")]
pub struct Line(Mutex<aqmlab::Line<Payload>>);

fn ecn_of(name: &str) -> PyResult<Ecn> {
    let found = CODEPOINTS.iter().find(|(known, _)| *known == name).map(|(_, ecn)| *ecn);
    found.ok_or_else(|| refused(Problem::new("ecn", unknown("codepoint", name, &CODEPOINTS.map(|(name, _)| name)))))
}

fn ecn_name(ecn: Ecn) -> &'static str {
    CODEPOINTS.iter().find(|(_, known)| *known == ecn).map_or("", |(name, _)| name)
}

/// The reason for which a packet was dropped: "full", "evicted", "lost" or the scheme's own word.
fn reason_name(reason: DropReason) -> &'static str {
    match reason {
        DropReason::Full => "full",
        DropReason::Scheme(word) => word,
        DropReason::Evicted => "evicted",
        DropReason::Lost => "lost",
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Joined => "joined",
        Verdict::Marked => "marked",
        Verdict::Dropped(reason) => reason_name(reason),
    }
}

/// In the order of `LineCounters` in Python.
fn counts(counters: aqmlab::Counters) -> [u64; 9] {
    let aqmlab::Counters { pushed, delivered, full, scheme, evicted, lost, marked, held, waiting } = counters;
    [pushed, delivered, full, scheme, evicted, lost, marked, held, waiting]
}

fn wrong(error: aqmlab::LineError) -> PyErr {
    refused(Problems::from(error))
}

/// Raises what a scheme written in Python has raised.
fn verify(line: &aqmlab::Line<Payload>) -> PyResult<()> {
    match line.failure() {
        None => Ok(()),
        Some(why) => Err(crate::SchemeError::new_err(format!("{} {why}", line.aqm()))),
    }
}

impl Line {
    fn of(line: aqmlab::Line<Payload>) -> Self {
        Self(Mutex::new(line))
    }

    /// Lets go of the interpreter while another thread has the line.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, aqmlab::Line<Payload>> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl Line {
    #[new]
    fn new(description: &str, seed: u64) -> PyResult<Self> {
        aqmlab::Line::new(description, seed).map(Self::of).map_err(refused)
    }

    /// The lines of a scenario: up and down.
    #[staticmethod]
    #[pyo3(signature = (scenario, aqm=None, seed=1))]
    fn pair(scenario: &str, aqm: Option<&str>, seed: u64) -> PyResult<(Self, Self)> {
        let Path { up, down } = Path::new(scenario, aqm, seed).map_err(refused)?;
        Ok((Self::of(up), Self::of(down)))
    }

    /// The fate of a packet as it entered: "joined", "marked", or why it was dropped.
    #[allow(clippy::too_many_arguments)] // as Python names them
    fn push(
        &self,
        py: Python<'_>,
        now: u64,
        length: u32,
        payload: Py<PyAny>,
        ecn: &str,
        flow: u32,
        host: u32,
        dscp: u8,
    ) -> PyResult<&'static str> {
        let packet = Packet { length, ecn: ecn_of(ecn)?, flow, host, dscp };
        let mut line = self.lock(py);
        let verdict = line.push(now, packet, Arc::new(payload)).map_err(wrong)?;
        verify(&line)?;
        Ok(verdict_name(verdict))
    }

    fn next_event(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).next_event()
    }

    fn pop(&self, py: Python<'_>, now: u64) -> PyResult<Option<Out>> {
        let mut line = self.lock(py);
        let delivery = line.pop(now).map_err(wrong)?;
        verify(&line)?;
        Ok(delivery.map(|out| (out.payload.clone_ref(py), ecn_name(out.ecn), out.waited, out.at)))
    }

    /// Payload, ECN field, reason and time, ns.
    fn pop_dropped(&self, py: Python<'_>) -> Option<(Py<PyAny>, &'static str, &'static str, u64)> {
        let gone = self.lock(py).pop_dropped()?;
        Some((gone.payload.clone_ref(py), ecn_name(gone.ecn), reason_name(gone.reason), gone.at))
    }

    fn advance(&self, py: Python<'_>, now: u64) -> PyResult<()> {
        let mut line = self.lock(py);
        line.advance(now).map_err(wrong)?;
        verify(&line)
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.lock(py).now()
    }

    #[getter]
    fn aqm(&self, py: Python<'_>) -> &'static str {
        self.lock(py).aqm()
    }

    #[getter]
    fn counters(&self, py: Python<'_>) -> [u64; 9] {
        counts(self.lock(py).counters())
    }

    /// The observables of the scheme, by name.
    #[getter]
    fn observables(&self, py: Python<'_>) -> Vec<(&'static str, f64)> {
        self.lock(py).observables().collect()
    }

    fn copy(&self, py: Python<'_>) -> Self {
        Self::of(self.lock(py).clone())
    }
}

/// Both directions, with traffic of others.
#[pyclass(frozen, module = "aqmlab._core")]
pub struct SharedPath(Mutex<aqmlab::SharedPath<Payload>>);

const SIDES: [(&str, Side); 2] = [("up", Side::Up), ("down", Side::Down)];

fn side_of(name: &str) -> PyResult<Side> {
    let found = SIDES.iter().find(|(known, _)| *known == name).map(|(_, side)| *side);
    found.ok_or_else(|| refused(Problem::new("side", unknown("direction", name, &SIDES.map(|(name, _)| name)))))
}

fn side_name(side: Side) -> &'static str {
    SIDES[side as usize].0
}

impl SharedPath {
    /// Lets go of the interpreter while another thread has the path.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, aqmlab::SharedPath<Payload>> {
        self.0.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }
}

#[pymethods]
impl SharedPath {
    #[new]
    #[pyo3(signature = (scenario, aqm=None, seed=1))]
    fn new(scenario: &str, aqm: Option<&str>, seed: u64) -> PyResult<Self> {
        aqmlab::SharedPath::new(scenario, aqm, seed).map(|path| Self(Mutex::new(path))).map_err(refused)
    }

    #[allow(clippy::too_many_arguments)] // as Python names them
    fn push(
        &self,
        py: Python<'_>,
        side: &str,
        now: u64,
        length: u32,
        payload: Py<PyAny>,
        ecn: &str,
        flow: u32,
        host: u32,
        dscp: u8,
    ) -> PyResult<&'static str> {
        let packet = Packet { length, ecn: ecn_of(ecn)?, flow, host, dscp };
        let verdict = self.lock(py).push(side_of(side)?, now, packet, Arc::new(payload));
        verdict.map(verdict_name).map_err(wrong)
    }

    fn next_event(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).next_event()
    }

    fn pop(&self, py: Python<'_>, now: u64) -> PyResult<Option<(&'static str, Out)>> {
        let found = self.lock(py).pop(now).map_err(wrong)?;
        Ok(found
            .map(|(side, out)| (side_name(side), (out.payload.clone_ref(py), ecn_name(out.ecn), out.waited, out.at))))
    }

    fn pop_dropped(&self, py: Python<'_>) -> Option<(Py<PyAny>, &'static str, &'static str, u64)> {
        let (_, gone) = self.lock(py).pop_dropped()?;
        Some((gone.payload.clone_ref(py), ecn_name(gone.ecn), reason_name(gone.reason), gone.at))
    }

    fn counters(&self, py: Python<'_>, side: &str) -> PyResult<[u64; 9]> {
        Ok(counts(self.lock(py).counters(side_of(side)?)))
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.lock(py).now()
    }

    fn copy(&self, py: Python<'_>) -> Self {
        Self(Mutex::new(self.lock(py).clone()))
    }
}
