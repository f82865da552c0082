//! A group of flows of a scenario, in numbers.

use crate::counted;
use aqmlab_scenario::{Distribution, FlowSpec};
use pyo3::prelude::*;

/// A group of flows.
#[pyclass(frozen, get_all)]
pub struct Group {
    /// Name.
    name: String,
    /// Flows in it: connections, sources, sessions or hosts.
    count: u32,
    /// Round-trip propagation, s; None where it is drawn for each flow.
    rtt: Option<f64>,
    /// The ends between which the round trips are uniformly distributed, s; None for any other distribution.
    rtt_range: Option<(f64, f64)>,
    /// Kind of its traffic, as scenarios write it.
    kind: &'static str,
    /// Its flows have TCP.
    is_tcp: bool,
    /// Some of its flows stop before the end.
    stops: bool,
    /// Its flows go between hosts of a fabric.
    on_fabric: bool,
    /// Its ACKs queue on their way back.
    acks_queue: bool,
    /// Its endpoints speak ECN.
    ecn: bool,
    /// Rate of the access link of each host, bit/s; None where it takes no time to send.
    access_rate: Option<f64>,
    /// The receivers' window, packets.
    window: f64,
    /// Receivers delay their ACKs.
    delayed_ack: bool,
    /// Payload of a packet, bytes.
    payload: u32,
    /// Rate of a source of datagrams while it sends, headers included, bit/s.
    rate: Option<f64>,
    /// Headers of a packet, bytes.
    header: u32,
    /// Memory that each of its flows takes in a simulation, bytes, within a quarter.
    memory: f64,
}

impl From<&FlowSpec> for Group {
    fn from(spec: &FlowSpec) -> Self {
        let (rtt, rtt_range) = match &spec.rtt {
            Distribution::Fixed(span) => (Some(span.seconds()), None),
            Distribution::Uniform(low, high) => (None, Some((low.seconds(), high.seconds()))),
            _ => (None, None),
        };
        Self {
            name: spec.name.clone(),
            count: spec.count(),
            rtt,
            rtt_range,
            kind: spec.traffic.kind(),
            is_tcp: spec.traffic.is_tcp(),
            stops: spec.batches.iter().any(|batch| batch.stop.is_some()),
            on_fabric: spec.ends.is_some(),
            acks_queue: !spec.ack_path.is_empty(),
            ecn: spec.ecn.is_capable(),
            access_rate: spec.access_rate.map(|rate| rate.0),
            window: spec.tcp.window.0,
            delayed_ack: spec.tcp.delayed_ack,
            payload: spec.payload,
            rate: spec.traffic.rate().map(|rate| rate.0),
            header: spec.header,
            memory: aqmlab_sim::footprint_of_flow(spec),
        }
    }
}

#[pymethods]
impl Group {
    fn __repr__(&self) -> String {
        format!("<Group {}: {}, {}>", self.name, counted(self.count.into(), "flow"), self.kind)
    }
}
