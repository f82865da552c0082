//! A group of flows of a scenario, in numbers.

use aqmlab_sim::scenario::{FlowSpec, Law};
use pyo3::prelude::*;

/// A group of flows.
#[pyclass(frozen)]
pub struct Group(pub FlowSpec);

#[pymethods]
impl Group {
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
            Law::Fixed(span) => Some(span.seconds()),
            _ => None,
        }
    }

    /// Payload of a packet, bytes.
    #[getter]
    fn payload(&self) -> u32 {
        self.0.payload
    }

    /// Headers of a packet, bytes.
    #[getter]
    fn header(&self) -> u32 {
        self.0.header
    }
}
