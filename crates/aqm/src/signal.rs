//! The point of a fluid, which has no packets to judge, at which a scheme's signals fall; or the reason why it has none.

/// The event at which a scheme signals with the probability `p` that it shows. The share of packets is
/// [`Aqm::share`](crate::Aqm::share).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// Nowhere: packets are lost at a full buffer only.
    Never,
    /// At arrival.
    AtTail,
    /// At departure. The sender hears of it one queueing delay sooner than of a signal at arrival.
    AtHead,
}

/// Of a scheme that says nothing.
pub const UNDECLARED: &str = "does not declare a signal (`SIGNAL`)";
/// Of schemes that compare the queue with a threshold.
pub const BY_THRESHOLD: &str = "has no signal probability: it signals at a threshold";
/// Of schemes that look at the time that a packet has waited.
pub const BY_SOJOURN: &str = "decides at departures, from the sojourn time of packets";
/// Of schemes that tell flows apart.
pub const BY_FLOW: &str = "depends on the flow of each packet, which a fluid does not have";
/// Of schemes of more than one queue.
pub const SEVERAL_QUEUES: &str = "has several queues; the model has one";
