//! The window of a sender.

/// The window and threshold that a law sets, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Congestion window; a real number. Below 1 it is closed until the retransmission timer expires.
    pub cwnd: f64,
    /// Slow start threshold.
    pub ssthresh: f64,
}
