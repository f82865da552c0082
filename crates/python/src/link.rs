//! A link of a scenario, in numbers.

use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_scenario::{LinkSpec, RateChanges};
use pyo3::prelude::*;

/// A queueing link.
#[pyclass(frozen)]
pub struct Link(pub LinkSpec);

#[pymethods]
impl Link {
    fn __repr__(&self) -> String {
        format!("<Link {}: {} Mbit/s>", self.name(), self.rate() / 1e6)
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Rate, at first, bit/s.
    #[getter]
    fn rate(&self) -> f64 {
        self.0.rate.0
    }

    /// True if the rate changes during a run.
    #[getter]
    fn rate_changes(&self) -> bool {
        self.0.changes != RateChanges::None
    }

    /// Every rate that it has or may have, bit/s: one, those of its schedule, those that it wanders between, or the mean of its trace.
    #[getter]
    fn rates(&self) -> Vec<f64> {
        match &self.0.changes {
            RateChanges::None | RateChanges::Trace(_) => vec![self.0.rate.0],
            RateChanges::At(steps) => std::iter::once(self.0.rate.0).chain(steps.iter().map(|step| step.1.0)).collect(),
            RateChanges::Wander { values, .. } => values.iter().map(|rate| rate.0).collect(),
        }
    }

    /// Propagation delay, one way, s.
    #[getter]
    fn delay(&self) -> f64 {
        self.0.delay.seconds()
    }

    /// Capacity of the queue, packets; of mean size where the scenario has bytes.
    #[getter]
    fn buffer(&self) -> f64 {
        self.0.buffer_packets
    }

    /// The same in bytes where the scenario has it in bytes.
    #[getter]
    fn buffer_bytes(&self) -> Option<u64> {
        self.0.buffer_bytes()
    }

    /// Mean size on the wire of the packets that cross it, bytes.
    #[getter]
    fn packet(&self) -> f64 {
        self.0.packet
    }

    /// Queue that schemes with a reference aim at, packets.
    #[getter]
    fn target(&self) -> f64 {
        self.0.target
    }

    /// True if packets are marked where others are dropped.
    #[getter]
    fn ecn(&self) -> bool {
        self.0.ecn
    }

    /// True if packets take more on its wire than their own bytes.
    #[getter]
    fn has_layer(&self) -> bool {
        self.0.layer != LinkLayer::PLAIN
    }

    /// Keys of the impairments of its wire.
    #[getter]
    fn impairments(&self) -> Vec<&'static str> {
        self.0.impairments.keys()
    }
}
