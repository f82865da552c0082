//! ns-2.35's arithmetic of a window, and its answer to an echo.

use super::{RecoveryState, Tcb};
use crate::params::{EcnResponse, ReductionBase, TcpParams};

impl ReductionBase {
    /// The number of segments that is reduced.
    pub(crate) fn reduced(self, window: f64, flight: u32) -> f64 {
        match self {
            ReductionBase::Window => window,
            ReductionBase::Flight => f64::from(flight),
        }
    }

    /// ssthresh for the share kept: ns-2's is whole.
    pub(crate) fn threshold(self, kept: f64) -> f64 {
        match self {
            ReductionBase::Window => kept.floor(),
            ReductionBase::Flight => kept,
        }
    }

    /// Window in fast recovery: ns-2 keeps the fraction of the half; RFC 5681 goes to ssthresh.
    pub(crate) fn window(self, kept: f64, ssthresh: f64) -> f64 {
        match self {
            ReductionBase::Window => kept,
            ReductionBase::Flight => ssthresh,
        }
    }
}

impl EcnResponse {
    /// Window after an echo that leaves `kept` of `cwnd`. Below one segment it is closed: nothing new can be sent until the
    /// retransmission timer expires.
    pub(crate) fn window(self, kept: f64, cwnd: f64) -> f64 {
        match self {
            EcnResponse::Ns2 => kept,
            EcnResponse::Rfc3168 if cwnd > 1.0 => kept.max(1.0),
            EcnResponse::Rfc3168 => 0.5,
        }
    }
}

impl Tcb {
    /// True if an echo on an ACK of all before `next` asks for a reduction. An echo after a timeout always does. The second
    /// in a row at a window of one segment also doubles the timeout (ns-2's ecn_backoff_).
    pub(crate) fn ns2_heeds_echo(&mut self, next: u32, params: &TcpParams) -> bool {
        let answered = self.recover.max(1); // ns-2 begins with segment 0 for `recover`
        if next <= answered && self.state != RecoveryState::RtoRecovery {
            return false;
        }
        let is_at_one = self.cc.window.cwnd <= 1.0;
        if self.echo_at_one && is_at_one {
            self.rtt.back_off(params);
        }
        self.echo_at_one = is_at_one;
        true
    }
}
