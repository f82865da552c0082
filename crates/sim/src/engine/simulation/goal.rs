//! The aim of a link's queue, which changes may move.

use aqmlab_core::Span;
use aqmlab_scenario::LinkSpec;

/// Target of a link's queue, from a time on.
#[derive(Clone, Copy, Debug)]
pub struct Goal {
    pub from: Span,
    /// Packets.
    pub target: f64,
    /// Packets.
    pub buffer: f64,
}

impl Goal {
    /// Goal of a link as it is from then on.
    pub fn at(from: Span, spec: &LinkSpec) -> Self {
        Self { from, target: spec.target, buffer: spec.buffer_packets }
    }
}
