//! A link of a scenario, in numbers.

use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_scenario::{LinkSpec, RateChanges};
use pyo3::prelude::*;

/// A queueing link.
#[pyclass(frozen, get_all)]
pub struct Link {
    /// Name.
    name: String,
    /// Rate, at first, bit/s.
    rate: f64,
    /// True if the rate changes during a run.
    rate_changes: bool,
    /// Every rate that it has or may have, bit/s: one, those of its schedule, those that it wanders between, the mean of its trace, or those
    /// that are not exceeded in 5, 50 and 95 % of the time where it fades.
    rates: Vec<f64>,
    /// The rates that it does not exceed in 5, 50 and 95 % of the seconds, bit/s.
    typical_rates: Vec<f64>,
    /// Propagation delay, one way, s.
    delay: f64,
    /// Capacity of the queue, packets; of mean size where the scenario has bytes.
    buffer: f64,
    /// The same in bytes where the scenario has it in bytes.
    buffer_bytes: Option<u64>,
    /// Mean size on the wire of the packets that cross it, bytes.
    packet: f64,
    /// Queue that schemes with a reference aim at, packets.
    target: f64,
    /// True if packets are marked where others are dropped.
    ecn: bool,
    /// True if packets take more on its wire than their own bytes.
    has_layer: bool,
    /// Keys of the impairments of its wire.
    impairments: Vec<&'static str>,
}

impl From<&LinkSpec> for Link {
    fn from(spec: &LinkSpec) -> Self {
        let rate = spec.rate.0;
        Self {
            name: spec.name.clone(),
            rate,
            rate_changes: spec.changes != RateChanges::None,
            rates: match &spec.changes {
                RateChanges::None | RateChanges::Trace(_) => vec![rate],
                RateChanges::At(steps) => std::iter::once(rate).chain(steps.iter().map(|step| step.1.0)).collect(),
                RateChanges::Wander { values, .. } => values.iter().map(|rate| rate.0).collect(),
                RateChanges::Fade(fading) => fading.typical(spec.rate).iter().map(|rate| rate.0).collect(),
            },
            typical_rates: spec.typical_rates().map(|rate| rate.0).to_vec(),
            delay: spec.delay.seconds(),
            buffer: spec.buffer_packets,
            buffer_bytes: spec.buffer_bytes(),
            packet: spec.packet,
            target: spec.target,
            ecn: spec.ecn,
            has_layer: spec.layer != LinkLayer::PLAIN,
            impairments: spec.impairments.keys(),
        }
    }
}

#[pymethods]
impl Link {
    fn __repr__(&self) -> String {
        format!("<Link {}: {} Mbit/s>", self.name, self.rate / 1e6)
    }
}
