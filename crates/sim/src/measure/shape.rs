//! The packets of a group as they would lie on a wire.

use aqmlab_scenario::FlowSpec;

/// Bytes of an Ethernet header.
pub const ETHERNET: u32 = 14;
/// Bytes of an IPv4 header.
pub const IP: u32 = 20;

/// The headers and the payload of a group's packets.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub is_udp: bool,
    /// Connections begin with a SYN: segment 0.
    pub syn: bool,
    /// Its endpoints speak ECN.
    pub ecn: bool,
    /// Of a data segment: header and payload, bytes.
    pub header: u32,
    pub payload: u32,
    /// Header of an ACK, bytes.
    pub ack_header: u32,
}

/// A TCP header takes what is left of the headers, in whole words; what it needs no bytes for it fills with options.
fn tcp_header(headers: u32) -> u32 {
    headers.saturating_sub(IP).clamp(20, 60) / 4 * 4
}

impl Shape {
    /// Of the packets of `spec`.
    pub fn of(spec: &FlowSpec) -> Self {
        let header = tcp_header(spec.header);
        Self {
            is_udp: spec.traffic.is_udp(),
            syn: spec.tcp.syn,
            ecn: spec.ecn.is_capable(),
            header,
            payload: spec.wire_size().saturating_sub(IP + header).max(1),
            ack_header: tcp_header(spec.tcp.ack.0 as u32),
        }
    }

    /// Sequence number in bytes of a segment; the SYN counts as one.
    pub fn sequence(&self, segment: u32) -> u32 {
        match (self.syn, segment) {
            (true, 0) => 0,
            (syn, segment) => (segment - u32::from(syn)).wrapping_mul(self.payload).wrapping_add(1),
        }
    }

    /// Bytes of the longest headers.
    pub fn longest(&self) -> u32 {
        ETHERNET + IP + self.header.max(self.ack_header)
    }
}
