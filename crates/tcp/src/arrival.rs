//! A segment as its receiver gets it.

use aqmlab_core::Time;

/// A segment that arrives.
#[derive(Clone, Copy, Debug, Default)]
pub struct SegmentArrival {
    /// Its number.
    pub seq: u32,
    /// It is marked (RFC 3168, CE).
    pub is_ce: bool,
    /// It may be marked or is (RFC 3168, ECT).
    pub is_ect: bool,
    /// It answers a mark (RFC 3168, CWR).
    pub is_cwr: bool,
    /// It is the last of what the application has written (RFC 9293, PSH).
    pub is_push: bool,
    /// It has been sent before.
    pub is_resent: bool,
    /// Time at which it was sent, which is its timestamp; [`Time::ZERO`] if that is not known.
    pub sent_at: Time,
    /// Time at which the ACK was sent whose timestamp it echoes; `None` if it does not say.
    pub echo: Option<Time>,
}
