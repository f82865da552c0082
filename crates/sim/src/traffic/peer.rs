//! The end of a path that a client asks.

use aqmlab_core::Span;

/// The sender at the other end of a flow's path.
#[derive(Clone, Copy, Default)]
pub struct Peer {
    /// Index of the flow's way, which tells its group.
    pub way: u32,
    /// Round-trip propagation of the path.
    pub rtt: Span,
    /// Stands for the addresses and ports of a flow from there.
    pub tuple: u32,
    /// Boot time within a clock tick.
    pub phase: Span,
}

impl Peer {
    /// The same host, as the end of a flow of other ports: the `nth` of them.
    pub fn other_ports(self, nth: u32) -> Self {
        let mixed = u64::from(self.tuple ^ nth).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { tuple: self.tuple & !Self::PORTS | (mixed >> 32) as u32 & Self::PORTS, ..self }
    }

    /// The bits of a tuple that stand for ports.
    pub const PORTS: u32 = (1 << 12) - 1;
}
