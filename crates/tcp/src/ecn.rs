//! ECN feedback of a receiver.

/// A receiver's feedback of CE marks; the congestion-control law asks for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EcnFeedback {
    /// One mark is echoed until the sender says that it has reduced its window (RFC 3168: ECE until CWR).
    #[default]
    Classic,
    /// An ACK echoes the mark of the segments that it acknowledges; none waits for a segment of the other kind (RFC 8257,
    /// section 3.2).
    PerPacket,
    /// ACKs carry the number of marked segments received so far (draft-ietf-tcpm-accurate-ecn).
    Counter,
}
