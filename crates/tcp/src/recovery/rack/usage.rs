//! A window that is not used up does not grow, and decays (RFC 2861, as Linux has it; RFC 7661 is in `sender/validation.rs`). Names in parentheses
//! are Linux's (net/ipv4/tcp_output.c).

use crate::params::{IdleWindow, TcpParams};
use crate::sender::{RecoveryState, Sender};
use aqmlab_core::{Span, Time};

impl Sender {
    /// After sending what may be sent (`tcp_cwnd_validate`), unless the law owns the window. `waits`: for a whole burst.
    pub(super) fn rack_validate_window(&mut self, has_sent: bool, waits: bool, now: Time, params: &TcpParams) {
        let (hole, sent, flight, window) = (self.hole, self.sent, self.flight(), self.cc.window);
        let rack = self.rack();
        rack.usage.waits = waits;
        let is_limited = waits || rack.board.in_flight() >= window.cwnd as u32;
        if !has_sent && !is_limited {
            return;
        }
        let usage = &mut rack.usage;
        if has_sent {
            usage.sent_at = now;
        }
        if is_limited || hole >= usage.until || !usage.is_limited && flight > usage.most {
            (usage.is_limited, usage.most, usage.until) = (is_limited, flight, sent);
        }
        if usage.lets_grow(&window) {
            return usage.restart(now);
        }
        usage.used = usage.used.max(flight);
        let unused_for = now.since(usage.limited_at);
        if params.after_idle == IdleWindow::Decay && unused_for >= self.rtt.timeout(params) {
            self.rack_decay_window(now, params);
        }
    }

    /// It has not been used up for a timeout: half of what was not used goes (`tcp_cwnd_application_limited`).
    fn rack_decay_window(&mut self, now: Time, params: &TcpParams) {
        let used = f64::from(self.rack().usage.used).max(self.initial_window(params));
        if self.state == RecoveryState::Open && used < self.cc.window.cwnd {
            self.keep_three_quarters();
            self.cc.window.cwnd = ((self.cc.window.cwnd + used) / 2.0).floor();
        }
        self.rack().usage.restart(now);
    }

    /// A pause ends. For each timeout of it the window is halved, down to the initial window (`tcp_cwnd_restart`).
    pub(crate) fn rack_restart_window(&mut self, now: Time, params: &TcpParams) {
        let (timeout, least) = (self.rtt.timeout(params), self.initial_window(params));
        let mut pause = now.since(self.rack().usage.sent_at);
        if pause <= timeout {
            return;
        }
        self.keep_three_quarters();
        let window = &mut self.cc.window;
        let least = least.min(window.cwnd);
        while pause > timeout && window.cwnd > least {
            window.cwnd = (window.cwnd / 2.0).floor();
            pause = Span(pause.0 - timeout.0);
        }
        window.cwnd = window.cwnd.max(least);
        self.rack().usage.restart(now);
    }

    /// The threshold remembers three quarters of the window (`tcp_current_ssthresh`).
    fn keep_three_quarters(&mut self) {
        let window = &mut self.cc.window;
        window.ssthresh = window.ssthresh.max((0.75 * window.cwnd).floor());
    }
}
