//! The window: in a reduction what PRR (RFC 9937) lets be sent, else the law's. It grows only while it limits what is sent,
//! and decays while it does not (RFC 2861, as Linux has it; RFC 7661 is absent).

use super::{News, Prr, Undo};
use crate::cc::{Event, Facts, Recovery, Seen, Window};
use crate::params::{AfterIdle, Halve, TcpParams};
use crate::sender::{RecoveryState, Sender};
use aqmlab_core::{Span, Time};

/// How much of the window is used (`tcp_cwnd_validate` in Linux).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// The window was used up in this round trip, which ends when `until` is acknowledged.
    is_limited: bool,
    until: u32,
    /// Most segments outstanding in it.
    most: u32,
    /// When the window was last used up or decayed, and the most segments outstanding since.
    limited_at: Time,
    used: u32,
    /// When something was last sent.
    pub sent_at: Time,
}

impl Sender {
    /// RFC 3168: once per window of data. A law that owns the window answers marks itself.
    pub(super) fn rack_on_echo(&mut self, next: u32) {
        self.rack().undo.forbid();
        if self.cc.owns_window() {
            return;
        }
        if self.state == RecoveryState::Open || next > self.recover && self.state == RecoveryState::Cwr {
            self.rack_reduce(Event::Echo, RecoveryState::Cwr);
            self.ecn_reductions += 1;
        }
    }

    /// The threshold falls; the window follows as segments arrive. A loss found while an echo is being answered is of the
    /// same window of data.
    pub(super) fn rack_reduce(&mut self, event: Event, state: RecoveryState) {
        let (hole, sent, window) = (self.hole, self.sent, self.cc.window);
        let is_new = self.state != RecoveryState::Cwr || hole >= self.recover;
        if is_new {
            self.cc.reduce_ssthresh(event, Halve::Window, window.cwnd, 0);
            self.rack().prr = Prr::new(window.cwnd as u32);
            self.cwr_due = self.ecn;
        }
        let rack = self.rack();
        rack.undo = match state {
            RecoveryState::FastRecovery => Undo::new(hole, sent, is_new.then_some(window), rack.board.resent()),
            _ => Undo::default(),
        };
        self.recover = self.sent;
        self.state = state;
        self.rack().probe = None;
    }

    /// After an ACK, and when segments are found lost.
    pub(super) fn rack_set_window(&mut self, news: &News, now: Time) {
        if self.cc.owns_window() {
            self.rack_let_law_set_window(news);
        } else if matches!(self.state, RecoveryState::FastRecovery | RecoveryState::Cwr) {
            self.rack_reduce_window(news);
        } else if news.advances && self.rack_is_limited() {
            self.rack_grow_window(news, now);
        }
    }

    /// A law that owns the window sets it, in recovery too.
    fn rack_let_law_set_window(&mut self, news: &News) {
        let &News { delivered, lost, was_in_flight, .. } = news;
        let recovery = match self.state {
            RecoveryState::Open | RecoveryState::Cwr => Recovery::None,
            RecoveryState::FastRecovery => Recovery::Fast,
            RecoveryState::RtoRecovery => Recovery::Timeout,
        };
        let (in_flight, srtt) = (self.rack().board.in_flight(), self.rtt.smoothed());
        self.cc.set_window(Seen { delivered, lost, recovery, was_in_flight, in_flight, srtt });
    }

    /// RFC 9937, section 6: cwnd = inflight + SndCnt.
    fn rack_reduce_window(&mut self, news: &News) {
        if news.delivered == 0 && news.lost == 0 {
            return;
        }
        let (ssthresh, is_safe) = (self.cc.window.ssthresh as u32, news.advances && news.lost == 0);
        let rack = self.rack();
        let in_flight = rack.board.in_flight();
        let count = rack.prr.send_count(news.delivered, in_flight, ssthresh, is_safe);
        self.cc.window.cwnd = f64::from(in_flight + count);
    }

    /// By what has arrived (RFC 3465).
    fn rack_grow_window(&mut self, news: &News, now: Time) {
        let (acked, flight, srtt) = (news.delivered, news.was_in_flight, self.rtt.smoothed());
        let is_app_limited = self.next_seq >= self.end;
        let (rtt, hole, sent) = (news.rtt.map(|(_, last)| last), self.hole, self.sent);
        let byte_counting = true;
        self.cc.on_ack(|| Facts {
            acked,
            byte_counting,
            flight,
            is_app_limited,
            srtt,
            rtt,
            hole,
            sent,
            now,
            ..Facts::default()
        });
    }

    /// In slow start the window may be twice what was used (`tcp_is_cwnd_limited`).
    fn rack_is_limited(&mut self) -> bool {
        let Window { cwnd, ssthresh } = self.cc.window;
        let usage = self.rack().usage;
        usage.is_limited || cwnd < ssthresh && cwnd < f64::from(2 * usage.most)
    }

    /// After sending what may be sent: whether the window was used up.
    pub(super) fn rack_validate_window(&mut self, has_sent: bool, now: Time, params: &TcpParams) {
        let (hole, sent, flight) = (self.hole, self.sent, self.flight());
        let is_limited = self.rack().board.in_flight() >= self.cc.window.cwnd as u32;
        if !has_sent && !is_limited {
            return;
        }
        let usage = &mut self.rack().usage;
        if has_sent {
            usage.sent_at = now;
        }
        if is_limited || hole >= usage.until || !usage.is_limited && flight > usage.most {
            (usage.is_limited, usage.most, usage.until) = (is_limited, flight, sent);
        }
        if self.rack_is_limited() {
            let usage = &mut self.rack().usage;
            (usage.limited_at, usage.used) = (now, 0);
        } else {
            let usage = &mut self.rack().usage;
            usage.used = usage.used.max(flight);
            let is_stale = now.since(usage.limited_at) >= self.rtt.timeout(params);
            if is_stale && params.after_idle == AfterIdle::Decay && !self.cc.owns_window() {
                self.rack_decay_window(now, params);
            }
        }
    }

    /// The window has not been used up for a timeout: half of what was not used goes (`tcp_cwnd_application_limited`).
    fn rack_decay_window(&mut self, now: Time, params: &TcpParams) {
        let used = f64::from(self.rack().usage.used).max(self.initial_window(params));
        if self.state == RecoveryState::Open && used < self.cc.window.cwnd {
            self.keep_three_quarters();
            self.cc.window.cwnd = ((self.cc.window.cwnd + used) / 2.0).floor();
        }
        let usage = &mut self.rack().usage;
        (usage.limited_at, usage.used) = (now, 0);
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
        let usage = &mut self.rack().usage;
        (usage.limited_at, usage.used) = (now, 0);
    }

    /// The threshold remembers three quarters of the window (RFC 2861).
    fn keep_three_quarters(&mut self) {
        let window = &mut self.cc.window;
        window.ssthresh = window.ssthresh.max((0.75 * window.cwnd).floor());
    }
}
