//! The outcome of a packet at a link and on the wire behind it.

use aqmlab_aqm::Reason;
use aqmlab_core::Time;

/// The outcome of a packet at the link and on the wire behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketOutcome {
    /// It has left the link.
    Sent,
    /// It was dropped as it arrived.
    Refused(Reason),
    /// It had joined the queue, and was dropped there.
    Dropped(Reason),
    /// It was lost on the wire.
    Lost,
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision<P> {
    /// The time.
    pub time: Time,
    /// The packet.
    pub packet: P,
    /// Its outcome.
    pub outcome: PacketOutcome,
}
