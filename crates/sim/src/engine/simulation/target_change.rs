//! Changes of the target of a link's queue.

use aqmlab_core::Span;
use aqmlab_scenario::LinkSpec;

/// Target of a link's queue, from a time on.
#[derive(Clone, Copy, Debug)]
pub struct TargetChange {
    pub from: Span,
    /// Packets.
    pub target: f64,
    /// Packets.
    pub buffer: f64,
}

impl TargetChange {
    /// Goal of a link as it is from then on.
    pub fn at(from: Span, spec: &LinkSpec) -> Self {
        Self { from, target: spec.target, buffer: spec.buffer_packets }
    }
}
