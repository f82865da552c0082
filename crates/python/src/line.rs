//! A line in the time of a Python program.

use crate::refused;
use aqmlab::{DropReason, Ecn, Packet, Path, Problem, Problems, Side, Verdict};
use aqmlab_core::problem::unknown;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::{MutexExt, PyOnceLock};
use pyo3::types::PyString;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Payload, ECN field, time in the queue and time at which it comes out, both ns.
type Out = (Py<PyAny>, Py<PyString>, u64, u64);

/// Payload, ECN field, reason and time, ns.
type Gone = (Py<PyAny>, Py<PyString>, &'static str, u64);

const CODEPOINTS: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];

/// A line or a path, and the payloads of its packets by number: any objects, which the garbage collector visits.
struct Held<L> {
    engine: L,
    payloads: Vec<Option<Py<PyAny>>>,
    /// Numbers of packets that have left.
    free: Vec<u64>,
}

impl<L> Held<L> {
    fn of(engine: L) -> Mutex<Self> {
        Mutex::new(Self { engine, payloads: Vec::new(), free: Vec::new() })
    }

    /// The number of the next packet.
    fn next(&self) -> u64 {
        self.free.last().copied().unwrap_or(self.payloads.len() as u64)
    }

    fn keep(&mut self, payload: Py<PyAny>) {
        match self.free.pop() {
            Some(number) => self.payloads[number as usize] = Some(payload),
            None => self.payloads.push(Some(payload)),
        }
    }

    /// The payload of a packet that has left; none where the garbage collector has taken it.
    fn take(&mut self, py: Python<'_>, number: u64) -> Py<PyAny> {
        self.free.push(number);
        self.payloads[number as usize].take().unwrap_or_else(|| py.None())
    }

    fn out(&mut self, py: Python<'_>, out: &aqmlab::Delivery<u64>) -> Out {
        (self.take(py, out.payload), ecn_name(py, out.ecn), out.waited, out.at)
    }

    fn gone(&mut self, py: Python<'_>, gone: &aqmlab::Dropped<u64>) -> Gone {
        (self.take(py, gone.payload), ecn_name(py, gone.ecn), reason_name(gone.reason), gone.at)
    }
}

impl<L: Clone> Held<L> {
    fn copy(&self, py: Python<'_>) -> Mutex<Self> {
        let payloads =
            self.payloads.iter().map(|payload| payload.as_ref().map(|payload| payload.clone_ref(py))).collect();
        Mutex::new(Self { engine: self.engine.clone(), payloads, free: self.free.clone() })
    }
}

/// Lets go of the interpreter while another thread has it.
fn locked<'a, L>(held: &'a Mutex<Held<L>>, py: Python<'_>) -> MutexGuard<'a, Held<L>> {
    held.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
}

/// The line as the garbage collector finds it; `None` while a call is under way, in which it may run.
fn idle<L>(held: &Mutex<Held<L>>) -> Option<MutexGuard<'_, Held<L>>> {
    match held.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

fn traverse<L>(held: &Mutex<Held<L>>, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
    idle(held).map_or(Ok(()), |held| held.payloads.iter().flatten().try_for_each(|payload| visit.call(payload)))
}

/// Lets go of the payloads, once the lock is: their ends may call the line.
fn clear<L>(held: &Mutex<Held<L>>) {
    let payloads: Option<Vec<_>> =
        idle(held).map(|mut held| held.payloads.iter_mut().filter_map(Option::take).collect());
    drop(payloads);
}

/// One direction: a queue under a scheme, a transmitter and a wire.
#[pyclass(frozen, module = "aqmlab._core")]
pub struct Line(Mutex<Held<aqmlab::Line<u64>>>);

fn ecn_of(name: &str) -> PyResult<Ecn> {
    let found = CODEPOINTS.iter().find(|(known, _)| *known == name).map(|(_, ecn)| *ecn);
    found.ok_or_else(|| refused(Problem::new("ecn", unknown("codepoint", name, &CODEPOINTS.map(|(name, _)| name)))))
}

/// The name of a codepoint, of which Python has one copy.
fn ecn_name(py: Python<'_>, ecn: Ecn) -> Py<PyString> {
    static NAMES: PyOnceLock<[Py<PyString>; CODEPOINTS.len()]> = PyOnceLock::new();
    let names = NAMES.get_or_init(py, || CODEPOINTS.map(|(name, _)| PyString::intern(py, name).unbind()));
    let place = CODEPOINTS.iter().position(|(_, known)| *known == ecn).unwrap_or_default();
    names[place].clone_ref(py)
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

fn verdict_name<'py>(py: Python<'py>, verdict: Verdict) -> Bound<'py, PyString> {
    match verdict {
        Verdict::Joined => intern!(py, "joined").clone(),
        Verdict::Marked => intern!(py, "marked").clone(),
        Verdict::Dropped(reason) => PyString::new(py, reason_name(reason)),
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
fn verify(line: &aqmlab::Line<u64>) -> PyResult<()> {
    match line.failure() {
        None => Ok(()),
        Some(why) => Err(crate::SchemeError::new_err(format!("{} {why}", line.aqm()))),
    }
}

impl Line {
    fn of(line: aqmlab::Line<u64>) -> Self {
        Self(Held::of(line))
    }

    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Held<aqmlab::Line<u64>>> {
        locked(&self.0, py)
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
    fn push<'py>(
        &self,
        py: Python<'py>,
        now: u64,
        length: u32,
        payload: Py<PyAny>,
        ecn: &str,
        flow: u32,
        host: u32,
        dscp: u8,
    ) -> PyResult<Bound<'py, PyString>> {
        let packet = Packet { length, ecn: ecn_of(ecn)?, flow, host, dscp };
        let mut held = self.lock(py);
        let number = held.next();
        let verdict = held.engine.push(now, packet, number).map_err(wrong)?;
        held.keep(payload);
        verify(&held.engine)?;
        Ok(verdict_name(py, verdict))
    }

    fn next_event(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).engine.next_event()
    }

    fn pop(&self, py: Python<'_>, now: u64) -> PyResult<Option<Out>> {
        let mut held = self.lock(py);
        let delivery = held.engine.pop(now).map_err(wrong)?;
        verify(&held.engine)?;
        Ok(delivery.map(|out| held.out(py, &out)))
    }

    fn pop_dropped(&self, py: Python<'_>) -> Option<Gone> {
        let mut held = self.lock(py);
        let gone = held.engine.pop_dropped()?;
        Some(held.gone(py, &gone))
    }

    fn advance(&self, py: Python<'_>, now: u64) -> PyResult<()> {
        let mut held = self.lock(py);
        held.engine.advance(now).map_err(wrong)?;
        verify(&held.engine)
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.lock(py).engine.now()
    }

    #[getter]
    fn aqm(&self, py: Python<'_>) -> &'static str {
        self.lock(py).engine.aqm()
    }

    #[getter]
    fn counters(&self, py: Python<'_>) -> [u64; 9] {
        counts(self.lock(py).engine.counters())
    }

    /// The observables of the scheme, by name.
    #[getter]
    fn observables(&self, py: Python<'_>) -> Vec<(&'static str, f64)> {
        self.lock(py).engine.observables().collect()
    }

    fn copy(&self, py: Python<'_>) -> Self {
        Self(self.lock(py).copy(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse(&self.0, &visit)
    }

    fn __clear__(&self) {
        clear(&self.0);
    }
}

/// Both directions, with traffic of others.
#[pyclass(frozen, module = "aqmlab._core")]
pub struct SharedPath(Mutex<Held<aqmlab::SharedPath<u64>>>);

const SIDES: [(&str, Side); 2] = [("up", Side::Up), ("down", Side::Down)];

fn side_of(name: &str) -> PyResult<Side> {
    let found = SIDES.iter().find(|(known, _)| *known == name).map(|(_, side)| *side);
    found.ok_or_else(|| refused(Problem::new("side", unknown("direction", name, &SIDES.map(|(name, _)| name)))))
}

fn side_name(side: Side) -> &'static str {
    SIDES[side as usize].0
}

impl SharedPath {
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Held<aqmlab::SharedPath<u64>>> {
        locked(&self.0, py)
    }
}

#[pymethods]
impl SharedPath {
    #[new]
    #[pyo3(signature = (scenario, aqm=None, seed=1))]
    fn new(scenario: &str, aqm: Option<&str>, seed: u64) -> PyResult<Self> {
        aqmlab::SharedPath::new(scenario, aqm, seed).map(|path| Self(Held::of(path))).map_err(refused)
    }

    #[allow(clippy::too_many_arguments)] // as Python names them
    fn push<'py>(
        &self,
        py: Python<'py>,
        side: &str,
        now: u64,
        length: u32,
        payload: Py<PyAny>,
        ecn: &str,
        flow: u32,
        host: u32,
        dscp: u8,
    ) -> PyResult<Bound<'py, PyString>> {
        let packet = Packet { length, ecn: ecn_of(ecn)?, flow, host, dscp };
        let side = side_of(side)?;
        let mut held = self.lock(py);
        let number = held.next();
        let verdict = held.engine.push(side, now, packet, number).map_err(wrong)?;
        held.keep(payload);
        Ok(verdict_name(py, verdict))
    }

    fn next_event(&self, py: Python<'_>) -> Option<u64> {
        self.lock(py).engine.next_event()
    }

    fn pop(&self, py: Python<'_>, now: u64) -> PyResult<Option<(&'static str, Out)>> {
        let mut held = self.lock(py);
        let found = held.engine.pop(now).map_err(wrong)?;
        Ok(found.map(|(side, out)| (side_name(side), held.out(py, &out))))
    }

    fn pop_dropped(&self, py: Python<'_>) -> Option<Gone> {
        let mut held = self.lock(py);
        let (_, gone) = held.engine.pop_dropped()?;
        Some(held.gone(py, &gone))
    }

    fn counters(&self, py: Python<'_>, side: &str) -> PyResult<[u64; 9]> {
        Ok(counts(self.lock(py).engine.counters(side_of(side)?)))
    }

    #[getter]
    fn now(&self, py: Python<'_>) -> u64 {
        self.lock(py).engine.now()
    }

    fn copy(&self, py: Python<'_>) -> Self {
        Self(self.lock(py).copy(py))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        traverse(&self.0, &visit)
    }

    fn __clear__(&self) {
        clear(&self.0);
    }
}
