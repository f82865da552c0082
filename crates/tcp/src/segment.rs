//! Segments on their way out of a sender.

/// A segment as the sender hands it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment; 0 is the SYN where there is one.
    pub seq: u32,
    /// It carries no data.
    pub is_syn: bool,
    /// It has been sent before.
    pub is_retransmission: bool,
    /// It may be marked instead of dropped (RFC 3168, ECT).
    pub is_ect: bool,
    /// It tells the receiver that the window was reduced (RFC 3168, CWR).
    pub is_cwr: bool,
    /// It is the last of what the application has written (RFC 9293, PSH).
    pub is_push: bool,
}

/// A sink of segments.
pub trait SegmentSink {
    /// Takes a segment sent now.
    fn send(&mut self, segment: &Segment);
    /// Takes the ACK of what has answered the SYN, which carries no data.
    fn send_handshake_ack(&mut self) {}
}
