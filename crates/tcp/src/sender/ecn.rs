//! ECN: when a sender answers.

use super::{RecoveryState, Tcb};
use crate::params::{EcnResponse, TcpParams};

impl Tcb {
    /// RFC 3168, section 6.1.2: the echo of a mark reduces the window, once per window of data.
    pub(crate) fn on_ecn_echo(&mut self, next: u32, params: &TcpParams) {
        let is_heeded = match params.ecn_response {
            EcnResponse::Rfc3168 => next > self.recover,
            EcnResponse::Ns2 => self.ns2_heeds_echo(next, params),
        };
        if !is_heeded {
            return;
        }
        self.recover = self.snd_max;
        self.state = RecoveryState::Cwr;
        let before = self.cc.window.cwnd;
        self.cc.on_ecn_echo(params.ecn_response, params.halve, self.window(params), self.flight());
        if self.reduce_unvalidated(before).is_some() {
            self.cc.window.cwnd = self.cc.window.ssthresh;
            self.end_unvalidated_reduction();
        }
        self.cwr_due = true;
        self.ecn_reductions += 1;
    }

    /// A timeout has answered the marks of the data before `next`. Segments sent again carry no CWR, so the receiver goes
    /// on echoing; the window must not wait for that (RFC 3168, section 6.1.2: once per window of data).
    #[cold] // an echo
    pub(crate) fn is_answered(&self, next: u32, params: &TcpParams) -> bool {
        let after_timeout = self.state == RecoveryState::RtoRecovery && next <= self.recover;
        after_timeout && params.ecn_response == EcnResponse::Rfc3168
    }

    /// An echo has reduced the window for the data that have now timed out: ssthresh falls once per window of data (RFC
    /// 3168, section 6.1.2). For ns-2 the data sent since count as the same window.
    pub(crate) fn is_of_echoed_window(&self, params: &TcpParams) -> bool {
        let is_of_window = params.ecn_response == EcnResponse::Ns2 || self.snd_una < self.recover;
        self.state == RecoveryState::Cwr && is_of_window
    }

    /// An echo has reduced the window for the data in which a segment is now lost: the segment is sent again, and the window
    /// stays (RFC 3168, section 6.1.2: once per window of data).
    pub(crate) fn may_retransmit_after_echo(&self) -> bool {
        self.state == RecoveryState::Cwr && self.flight() > 0
    }
}
