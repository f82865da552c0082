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
pub const UNDECLARED: &str = "does not declare where it signals with the probability that it shows";
/// Of schemes that compare the queue with a threshold.
pub const BY_THRESHOLD: &str = "shows no probability: it signals by a threshold";
/// Of schemes that look at the time that a packet has waited.
pub const BY_SOJOURN: &str = "decides at departures, by how long packets have waited";
/// Of schemes that tell flows apart.
pub const BY_FLOW: &str = "looks at the flow of each packet; a fluid has none";
/// Of schemes of more than one queue.
pub const SEVERAL_QUEUES: &str = "has several queues; the model has one";
