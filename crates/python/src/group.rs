//! A group of flows of a scenario, in numbers.

use crate::counted;
use aqmlab_scenario::{Distribution, FlowSpec};
use pyo3::prelude::*;

/// A group of flows.
#[pyclass(frozen)]
pub struct Group(pub FlowSpec);

#[pymethods]
impl Group {
    fn __repr__(&self) -> String {
        format!("<Group {}: {}, {}>", self.name(), counted(self.count().into(), "flow"), self.kind())
    }

    /// Name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// Flows in it: connections, sources, sessions or hosts.
    #[getter]
    fn count(&self) -> u32 {
        self.0.count()
    }

    /// Round-trip propagation, s; None where it is drawn for each flow.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        match &self.0.rtt {
            Distribution::Fixed(span) => Some(span.seconds()),
            _ => None,
        }
    }

    /// The ends between which the round trips are uniformly distributed, s; None for any other law.
    #[getter]
    fn rtt_range(&self) -> Option<(f64, f64)> {
        match &self.0.rtt {
            Distribution::Uniform(low, high) => Some((low.seconds(), high.seconds())),
            _ => None,
        }
    }

    /// Kind of its traffic, as scenarios write it.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.traffic.kind()
    }

    /// Its flows have TCP.
    #[getter]
    fn is_tcp(&self) -> bool {
        !self.0.traffic.is_udp()
    }

    /// Some of its flows stop before the end.
    #[getter]
    fn stops(&self) -> bool {
        self.0.batches.iter().any(|batch| batch.stop.is_some())
    }

    /// Its ACKs queue on their way back.
    #[getter]
    fn acks_queue(&self) -> bool {
        !self.0.ack_path.is_empty()
    }

    /// Its endpoints speak ECN.
    #[getter]
    fn ecn(&self) -> bool {
        self.0.ecn.is_capable()
    }

    /// Rate of the access link of each host, bit/s; None where it takes no time to send.
    #[getter]
    fn access_rate(&self) -> Option<f64> {
        self.0.access_rate.map(|rate| rate.0)
    }

    /// The receivers' window, packets.
    #[getter]
    fn window(&self) -> f64 {
        self.0.tcp.window.0
    }

    /// Receivers delay their ACKs.
    #[getter]
    fn delayed_ack(&self) -> bool {
        self.0.tcp.delayed_ack
    }

    /// Payload of a packet, bytes.
    #[getter]
    fn payload(&self) -> u32 {
        self.0.payload
    }

    /// Rate of a source of datagrams while it sends, headers included, bit/s.
    #[getter]
    fn rate(&self) -> Option<f64> {
        self.0.traffic.rate().map(|rate| rate.0)
    }

    /// Headers of a packet, bytes.
    #[getter]
    fn header(&self) -> u32 {
        self.0.header
    }
}
