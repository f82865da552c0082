//! The views and answers of a user's scheme, as Python objects.

use aqmlab_aqm::{Ecn, PacketView, QueueView};
use aqmlab_core::{Span, Stream};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// A hook's decision on the packet it was shown.
#[pyclass(name = "Verdict", module = "aqmlab", frozen, eq, hash)]
#[derive(PartialEq, Hash)]
pub enum HookVerdict {
    /// Let it be.
    Pass,
    /// Mark it if it can carry a mark, else drop it.
    Signal,
    /// Mark it if it can carry a mark, else let it be.
    Mark,
    /// Drop it.
    Drop,
}

/// A scheme's view of a packet.
#[pyclass(module = "aqmlab", get_all)]
#[derive(Clone, Copy)]
pub struct Packet {
    /// Size on the wire, bytes.
    size: u32,
    /// Number of its flow.
    flow: u32,
    /// Round-trip time that its sender announces, s; None if it does not.
    rtt: Option<f64>,
    /// Its DSCP, 0 to 63.
    dscp: u8,
    /// Class selector of its DSCP, 0 to 7: the upper three bits.
    class_selector: u8,
    /// Time at which it joined the queue, s.
    enqueued_at: f64,
    /// ECN field: "not-ect", "ect0", "ect1" or "ce".
    ecn: &'static str,
    /// It can carry a mark, and this queue marks.
    can_mark: bool,
}

impl From<&PacketView> for Packet {
    fn from(view: &PacketView) -> Self {
        Self {
            size: view.size,
            flow: view.flow,
            rtt: view.rtt.map(Span::seconds),
            dscp: view.dscp,
            class_selector: view.class(),
            enqueued_at: view.enqueued_at.seconds(),
            ecn: match view.ecn {
                Ecn::NotEct => "not-ect",
                Ecn::Ect0 => "ect0",
                Ecn::Ect1 => "ect1",
                Ecn::Ce => "ce",
            },
            can_mark: view.can_mark,
        }
    }
}

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        format!("<Packet: {} B of flow {}, {}>", self.size, self.flow, self.ecn)
    }
}

/// A scheme's view of its queue; neither the packet being judged nor the one in transmission is in it.
#[pyclass(module = "aqmlab", get_all)]
#[derive(Clone, Copy)]
pub struct Queue {
    /// Packets waiting.
    packets: u32,
    /// Bytes waiting.
    bytes: u64,
    /// Length to aim at, packets.
    target: f64,
    /// Capacity of the queue, packets.
    limit: f64,
    /// Rate of the link, bit/s.
    rate: f64,
    /// Packets offered so far, dropped ones and the one being judged included.
    arrived_packets: u64,
    /// Bytes offered so far.
    arrived_bytes: u64,
}

impl From<&QueueView> for Queue {
    fn from(view: &QueueView) -> Self {
        let QueueView { packets, bytes, target, limit, arrived_packets, arrived_bytes, .. } = *view;
        Self { packets, bytes, target, limit, rate: view.rate.0, arrived_packets, arrived_bytes }
    }
}

#[pymethods]
impl Queue {
    fn __repr__(&self) -> String {
        format!("<Queue: {} packets of at most {}>", self.packets, self.limit)
    }
}

/// The engine's part of the base class of schemes.
#[pyclass(module = "aqmlab._core", subclass)]
pub struct Scheme {
    pub(super) now: f64,
    pub(super) p: f64,
    /// There while a hook runs.
    pub(super) rng: Option<Stream>,
}

#[pymethods]
impl Scheme {
    #[new]
    #[pyo3(signature = (**_parameters))]
    fn new(_parameters: Option<&Bound<'_, PyDict>>) -> Self {
        Scheme { now: 0.0, p: 0.0, rng: None }
    }

    /// Lets `copy.deepcopy` make a copy by attributes; the engine carries over what it holds itself.
    fn __getnewargs__<'py>(&self, py: Python<'py>) -> Bound<'py, PyTuple> {
        PyTuple::empty(py)
    }

    /// Simulated time, s.
    #[getter]
    fn now(&self) -> f64 {
        self.now
    }

    /// Probability with which an arriving packet is signalled, unless `on_enqueue` is overridden.
    #[getter]
    fn p(&self) -> f64 {
        self.p
    }

    #[setter]
    fn set_p(&mut self, p: f64) -> PyResult<()> {
        if !(0.0..=1.0).contains(&p) {
            return Err(PyValueError::new_err(format!("p = {p} is not a probability: must lie in 0 ..= 1")));
        }
        self.p = p;
        Ok(())
    }

    /// A random number in [0, 1) of the scheme's own stream; there in the hooks, not in `reset`.
    fn random(&mut self) -> PyResult<f64> {
        let rng =
            self.rng.as_mut().ok_or_else(|| PyRuntimeError::new_err("random numbers are for the hooks of a run"))?;
        Ok(rng.uniform())
    }
}
