//! The profile `ns2`: behaviour of ns-2.35 that the RFCs do not have.
//!
//! The rest is constants: what the profile sets is [`SETTINGS`], and each constant says what it means.

use crate::params::{EcnResponse, ReductionBase, TcpParams};
use crate::sender::{RecoveryState, Sender};

/// Constants that the profile sets, over the declared defaults.
pub const SETTINGS: &[(&str, &str)] = &[
    ("initial_window", "2 packets"),
    ("halve", "window"),
    ("open_on_exit", "true"),
    ("ecn_response", "ns2"),
    ("ect_on_retransmit", "true"),
    ("go_back_n", "true"),
    ("clock", "10 ms"),
    ("estimator", "integer"),
    ("min_rto", "200 ms"),
    ("initial_rto", "3 s"),
    ("syn_retries", "4294967295"), // for ever
];

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

impl Sender {
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

/// Round-trip time estimator of 4.4BSD: Jacobson's shifts on whole numbers of clock ticks.
#[derive(Debug)]
pub(crate) struct IntegerEstimator<'a> {
    /// 8 times the smoothed round-trip time.
    pub srtt: &'a mut f64,
    /// 4 times its variation.
    pub rttvar: &'a mut f64,
}

impl IntegerEstimator<'_> {
    /// Takes a sample; smoothed time and timeout in ticks.
    pub fn sample(self, ticks: f64) -> (f64, f64) {
        let Self { srtt, rttvar } = self;
        if *srtt == 0.0 {
            *srtt = 8.0 * ticks;
            *rttvar = 2.0 * ticks;
        } else {
            let delta = ticks - whole(*srtt / 8.0);
            *srtt = (*srtt + delta).max(1.0);
            *rttvar = (*rttvar + delta.abs() - whole(*rttvar / 4.0)).max(1.0);
        }
        (*srtt / 8.0, whole((8.0 * *rttvar + *srtt) / 8.0))
    }

    /// After several timeouts in a row the old estimate is worth nothing: the next sample is the first again.
    pub fn forget(self) {
        *self.rttvar += (*self.srtt / 8.0).floor();
        *self.srtt = 0.0;
    }
}

/// The whole part of a number of ticks, not negative: a cast, which is faster than `floor` where that is a call.
#[inline]
fn whole(ticks: f64) -> f64 {
    ticks as u64 as f64
}
