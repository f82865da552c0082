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
#[pyclass(module = "aqmlab")]
pub struct Packet(pub(super) PacketView);

#[pymethods]
impl Packet {
    fn __repr__(&self) -> String {
        format!("<Packet: {} B of flow {}, {}>", self.size(), self.flow(), self.ecn())
    }

    /// Size on the wire, bytes.
    #[getter]
    fn size(&self) -> u32 {
        self.0.size
    }

    /// Number of its flow.
    #[getter]
    fn flow(&self) -> u32 {
        self.0.flow
    }

    /// Round-trip time that its sender announces, s; None if it does not.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Span::seconds)
    }

    /// Class selector of its DSCP, 0 to 7.
    #[getter]
    fn class_selector(&self) -> u8 {
        self.0.class
    }

    /// Time at which it joined the queue, s.
    #[getter]
    fn enqueued_at(&self) -> f64 {
        self.0.enqueued_at.seconds()
    }

    /// ECN field: "not-ect", "ect0", "ect1" or "ce".
    #[getter]
    fn ecn(&self) -> &'static str {
        match self.0.ecn {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    }

    /// It can carry a mark, and this queue marks.
    #[getter]
    fn can_mark(&self) -> bool {
        self.0.can_mark
    }
}

/// A scheme's view of its queue; neither the packet being judged nor the one in transmission is in it.
#[pyclass(module = "aqmlab")]
pub struct Queue(pub(super) QueueView);

#[pymethods]
impl Queue {
    fn __repr__(&self) -> String {
        format!("<Queue: {} packets of at most {}>", self.packets(), self.limit())
    }

    /// Packets waiting.
    #[getter]
    fn packets(&self) -> u32 {
        self.0.packets
    }

    /// Bytes waiting.
    #[getter]
    fn bytes(&self) -> u64 {
        self.0.bytes
    }

    /// Length to aim at, packets.
    #[getter]
    fn target(&self) -> f64 {
        self.0.target
    }

    /// Capacity of the queue, packets.
    #[getter]
    fn limit(&self) -> f64 {
        self.0.limit
    }

    /// Rate of the link, bit/s.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.rate.0
    }

    /// Packets offered so far, dropped ones and the one being judged included.
    #[getter]
    fn arrived_packets(&self) -> u64 {
        self.0.arrived_packets
    }

    /// Bytes offered so far.
    #[getter]
    fn arrived_bytes(&self) -> u64 {
        self.0.arrived_bytes
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
