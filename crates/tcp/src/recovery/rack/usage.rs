//! A window that is not used up does not grow, and decays (RFC 2861, as Linux has it; RFC 7661 is in `sender/validation.rs`). Names in parentheses
//! are Linux's (net/ipv4/tcp_output.c).

use super::RackRecovery;
use crate::cc::Window;
use crate::params::{IdleWindow, TcpParams};
use crate::sender::{RecoveryState, Tcb};
use aqmlab_core::{Span, Time};

/// The use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// It was used up in this round trip, which ends when `until` is acknowledged (`is_cwnd_limited`, `cwnd_usage_seq`).
    pub is_limited: bool,
    until: u32,
    /// Most segments outstanding in it (`max_packets_out`).
    most: u32,
    /// Time at which it was last used up or decayed, and the most segments outstanding since (`snd_cwnd_stamp`, `snd_cwnd_used`).
    limited_at: Time,
    used: u32,
    /// Time at which something was last sent (`lsndtime`).
    pub sent_at: Time,
    /// Segments that the window allows wait for a whole burst.
    pub waits: bool,
}

impl Usage {
    /// The window may grow: it is used up, or in slow start by half (`tcp_is_cwnd_limited`).
    pub fn lets_grow(&self, window: &Window) -> bool {
        self.is_limited || window.cwnd < window.ssthresh && window.cwnd < f64::from(2 * self.most)
    }

    /// Segments that count as outstanding where `flight` are: what waits for a whole burst uses the window.
    pub fn used(&self, flight: u32, window: &Window) -> u32 {
        if self.waits { flight.max(window.cwnd as u32) } else { flight }
    }

    /// Restarts the count of the time for which the window is not used up.
    pub fn restart(&mut self, now: Time) {
        (self.limited_at, self.used) = (now, 0);
    }
}

impl RackRecovery {
    /// After sending what may be sent (`tcp_cwnd_validate`), unless the law owns the window. `waits`: for a whole burst.
    pub(super) fn validate_window(
        &mut self,
        tcb: &mut Tcb,
        has_sent: bool,
        waits: bool,
        now: Time,
        params: &TcpParams,
    ) {
        let (flight, window, usage) = (tcb.flight(), tcb.cc.window, &mut self.usage);
        usage.waits = waits;
        let is_limited = waits || self.board.in_flight() >= window.cwnd as u32;
        if !has_sent && !is_limited {
            return;
        }
        if has_sent {
            usage.sent_at = now;
        }
        if is_limited || tcb.snd_una >= usage.until || !usage.is_limited && flight > usage.most {
            (usage.is_limited, usage.most, usage.until) = (is_limited, flight, tcb.snd_max);
        }
        if usage.lets_grow(&window) {
            return usage.restart(now);
        }
        usage.used = usage.used.max(flight);
        let unused_for = now.since(usage.limited_at);
        if params.after_idle == IdleWindow::Decay && unused_for >= tcb.rtt.timeout(params) {
            self.decay_window(tcb, now, params);
        }
    }

    /// It has not been used up for a timeout: half of what was not used goes (`tcp_cwnd_application_limited`).
    fn decay_window(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams) {
        let used = f64::from(self.usage.used).max(tcb.initial_window(params));
        if tcb.state == RecoveryState::Open && used < tcb.cc.window.cwnd {
            keep_three_quarters(&mut tcb.cc.window);
            tcb.cc.window.cwnd = ((tcb.cc.window.cwnd + used) / 2.0).floor();
        }
        self.usage.restart(now);
    }

    /// A pause ends. For each timeout of it the window is halved, down to the initial window (`tcp_cwnd_restart`).
    pub fn restart_window(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams) {
        let (timeout, least) = (tcb.rtt.timeout(params), tcb.initial_window(params));
        let mut pause = now.since(self.usage.sent_at);
        if pause <= timeout {
            return;
        }
        let window = &mut tcb.cc.window;
        keep_three_quarters(window);
        let least = least.min(window.cwnd);
        while pause > timeout && window.cwnd > least {
            window.cwnd = (window.cwnd / 2.0).floor();
            pause = Span(pause.0 - timeout.0);
        }
        window.cwnd = window.cwnd.max(least);
        self.usage.restart(now);
    }
}

/// The threshold remembers three quarters of the window (`tcp_current_ssthresh`).
fn keep_three_quarters(window: &mut Window) {
    window.ssthresh = window.ssthresh.max((0.75 * window.cwnd).floor());
}
