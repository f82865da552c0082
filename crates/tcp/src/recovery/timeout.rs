//! The retransmission timer (RFC 6298, section 5) of Reno, NewReno and SACK.

use crate::params::TcpParams;
use crate::sender::{RecoveryState, Tcb};
use aqmlab_core::Time;

impl Tcb {
    /// The timer has expired: one segment, everything after the hole again that is not SACKed, timeout doubled. If nothing is
    /// outstanding, an echo has closed the window, and it opens to one segment. False if there is nothing to send.
    pub fn on_retransmission_timer(&mut self, now: Time, params: &TcpParams) -> bool {
        self.deadline = Time::NEVER;
        if !self.needs_timer() || self.gives_up(params) {
            return false;
        }
        self.inflation = 0;
        self.duplicate_acks = 0;
        self.limited_transmits = 0;
        if self.flight() > 0 {
            self.on_timeout(params);
        } else {
            self.cc.window.cwnd = 1.0;
        }
        self.state = RecoveryState::RtoRecovery;
        self.recover = self.snd_max;
        self.cwr_due = self.ecn;
        self.rtt.cancel();
        self.deadline = now + self.rtt.timeout(params);
        self.snd_nxt = self.snd_una;
        true
    }

    /// The outstanding data have timed out: RFC 5681, section 3.1, and RFC 6298, (5.5).
    fn on_timeout(&mut self, params: &TcpParams) {
        self.timeouts += 1;
        self.note_lost_syn(params);
        if self.is_of_echoed_window(params) {
            self.cc.collapse();
        } else {
            // What recovery has sent beyond the lost window must not raise ssthresh (RFC 5681, eq. (4): no more than).
            let answered = if self.snd_una < self.recover { self.cc.reduced_from() } else { u32::MAX };
            let before = self.cc.window.cwnd;
            self.cc.on_timeout(params.halve, self.window(params), self.flight().min(answered));
            self.reduce_unvalidated(before);
            self.end_unvalidated_reduction();
        }
        self.back_off(params);
    }

    /// (5.2) and (5.3): on while data are outstanding, else off.
    pub fn restart_timer(&mut self, now: Time, params: &TcpParams) {
        self.deadline = if self.needs_timer() { now + self.rtt.timeout(params) } else { Time::NEVER };
    }

    /// Data are outstanding, or only the timer can open the window again.
    fn needs_timer(&self) -> bool {
        self.flight() > 0 || self.cc.window.cwnd < 1.0 && !self.is_done()
    }

    /// The timeout doubles, that of a SYN not yet at the first ones (`tcp_retransmit_timer` in Linux). `timeouts` counts this one.
    pub(super) fn back_off(&mut self, params: &TcpParams) {
        let is_linear = self.snd_una == 0 && params.syn && self.timeouts <= params.linear_syn_timeouts;
        if !is_linear {
            self.rtt.back_off(params);
        }
    }

    /// The SYN has been sent again as often as it may be (`tcp_write_timeout` in Linux): the connection is given up.
    pub(super) fn gives_up(&mut self, params: &TcpParams) -> bool {
        let most = params.syn_retries.saturating_add(params.linear_syn_timeouts);
        let gives_up = self.snd_una == 0 && params.syn && self.timeouts >= most;
        if gives_up {
            self.has_failed = true;
            self.end = self.snd_max;
        }
        gives_up
    }
}
