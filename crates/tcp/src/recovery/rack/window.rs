//! The window: in a reduction what PRR (RFC 9937) lets be sent, else the law's.

use crate::cc::{CongestionEvent, Facts, Recovery, RecoveryReport};
use crate::params::{Estimator, ReductionBase, TcpParams};
use crate::scoreboard::{News, Prr, Undo};
use crate::sender::{RecoveryState, Sender};
use aqmlab_core::Time;

impl Sender {
    /// RFC 3168: once per window of data, and not while a loss is being answered. A law that owns the window answers marks itself.
    pub(super) fn rack_on_echo(&mut self) {
        if self.state == RecoveryState::Open && !self.cc.owns_window() {
            self.rack_reduce(CongestionEvent::Echo, RecoveryState::Cwr);
            self.ecn_reductions += 1;
        }
    }

    /// The threshold falls; the window follows as segments arrive. A loss found while an echo is being answered is of the
    /// same window of data (`tcp_enter_recovery`); one that a probe has mended is not (`tcp_process_tlp_ack`).
    pub(super) fn rack_reduce(&mut self, event: CongestionEvent, state: RecoveryState) {
        let (hole, window) = (self.hole, self.cc.window);
        let is_new = self.state != RecoveryState::Cwr || state == RecoveryState::Cwr;
        if is_new {
            self.cc.reduce_ssthresh(event, ReductionBase::Window, window.cwnd, 0);
            let recover_fs = self.reduce_unvalidated(window.cwnd).unwrap_or(window.cwnd as u32);
            self.rack().prr = Prr::new(recover_fs);
            self.cwr_due = self.ecn;
        } else if self.cc.reduces_again() {
            self.cc.reduce_ssthresh(event, ReductionBase::Window, window.cwnd, 0);
        }
        let rack = self.rack();
        rack.undo = match state {
            RecoveryState::FastRecovery => rack.undo_from(hole, is_new.then_some(window)),
            _ => Undo::default(),
        };
        self.recover = self.sent;
        self.state = state;
        self.rack().probe = None;
    }

    /// After an ACK, and when segments are found lost.
    pub(super) fn rack_set_window(&mut self, news: &News, now: Time, params: &TcpParams) {
        if self.cc.owns_window() {
            self.rack_let_law_set_window(news);
        } else if matches!(self.state, RecoveryState::FastRecovery | RecoveryState::Cwr) {
            self.rack_reduce_window(news, params);
        } else if news.advances || news.delivered > 0 && self.rack().detection.counts_any_order(params) {
            self.rack_grow_window(news, now, params);
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
        self.cc.set_window(RecoveryReport { delivered, lost, recovery, was_in_flight, in_flight, srtt });
    }

    /// RFC 9937, section 6: cwnd = inflight + SndCnt. Without PRR it is the threshold, and the first segment is sent in any case.
    fn rack_reduce_window(&mut self, news: &News, params: &TcpParams) {
        if news.delivered == 0 && news.lost == 0 {
            return;
        }
        let (ssthresh, is_safe) = (self.cc.window.ssthresh as u32, news.advances && news.lost == 0);
        let rack = self.rack();
        let in_flight = rack.board.in_flight();
        let count = match params.prr {
            true => rack.prr.send_count(news.delivered, in_flight, ssthresh, is_safe),
            false => ssthresh.saturating_sub(in_flight).max(u32::from(rack.prr.out == 0)),
        };
        self.cc.window.cwnd = f64::from(in_flight + count);
    }

    /// By what has arrived (RFC 3465), if it is used up. In Linux slow start ends at the threshold; what has arrived beyond that
    /// counts as later on (`tcp_slow_start`).
    fn rack_grow_window(&mut self, news: &News, now: Time, params: &TcpParams) {
        let window = self.cc.window;
        let usage = &self.rack().usage;
        let (is_used_up, lets_grow) = (usage.is_limited, usage.lets_grow(&window) || params.rate_limited_increase);
        if !self.is_growth_valid(|| is_used_up).unwrap_or(lets_grow) {
            return;
        }
        let left = (window.ssthresh - window.cwnd).ceil();
        let is_last = params.estimator == Estimator::Linux && left > 0.0 && left < f64::from(news.delivered);
        if is_last {
            self.rack_grow_by(left as u32, news, now);
        }
        self.rack_grow_by(news.delivered - if is_last { left as u32 } else { 0 }, news, now);
        self.limit_growth(window, news.was_in_flight, params);
    }

    fn rack_grow_by(&mut self, acked: u32, news: &News, now: Time) {
        let window = self.cc.window;
        let (flight, srtt) = (news.was_in_flight, self.rtt.smoothed());
        let flight = self.rack().usage.used(flight, &window);
        let is_app_limited = self.next_seq >= self.end;
        let (rtt, hole, sent) = (news.rtt.map(|(_, last)| last), self.hole, self.sent);
        let byte_counting = true;
        self.cc.on_ack(|| Facts {
            acked,
            byte_counting,
            flight,
            is_app_limited,
            delay: news.delay,
            srtt,
            rtt,
            hole,
            sent,
            now,
            ..Facts::default()
        });
    }
}
