//! The window: in a reduction what PRR (RFC 9937) lets be sent, else the law's.

use super::RackRecovery;
use super::detection::AckOutcome;
use super::prr::Prr;
use super::undo::Undo;
use crate::cc::{CongestionEvent, Facts, Recovery};
use crate::params::{Estimator, ReductionBase, TcpParams};
use crate::sender::{Extras, RecoveryState, Tcb};
use aqmlab_core::Time;

impl RackRecovery {
    /// RFC 3168: once per window of data, and not while a loss is being answered. A law that owns the window answers marks itself.
    pub(super) fn on_echo(&mut self, tcb: &mut Tcb) {
        if tcb.state == RecoveryState::Open && !tcb.extras.has(Extras::OWN_WINDOW) {
            self.reduce(tcb, CongestionEvent::Echo, RecoveryState::Cwr);
            tcb.ecn_reductions += 1;
        }
    }

    /// The threshold falls; the window follows as segments arrive. A loss found while an echo is being answered is of the
    /// same window of data (`tcp_enter_recovery`); one that a probe has mended is not (`tcp_process_tlp_ack`).
    pub(super) fn reduce(&mut self, tcb: &mut Tcb, event: CongestionEvent, state: RecoveryState) {
        let window = tcb.cc.window;
        let is_new = tcb.state != RecoveryState::Cwr || state == RecoveryState::Cwr;
        if is_new {
            tcb.cc.reduce_ssthresh(event, ReductionBase::Window, window.cwnd, 0);
            let recover_fs = tcb.reduce_unvalidated(window.cwnd).unwrap_or(window.cwnd as u32);
            self.prr = Prr::new(recover_fs);
            tcb.cwr_due = tcb.ecn;
        } else if tcb.cc.law.control().reduces_again() {
            tcb.cc.reduce_ssthresh(event, ReductionBase::Window, window.cwnd, 0);
        }
        self.undo = match state {
            RecoveryState::FastRecovery => self.undo_from(tcb.snd_una, is_new.then_some(window)),
            _ => Undo::default(),
        };
        tcb.recover = tcb.snd_max;
        tcb.state = state;
        self.probe = None;
    }

    /// After an ACK, and when segments are found lost.
    pub(super) fn set_window(&mut self, tcb: &mut Tcb, outcome: &AckOutcome, now: Time, params: &TcpParams) {
        if tcb.extras.has(Extras::OWN_WINDOW) {
            self.let_law_set_window(tcb, outcome);
        } else if matches!(tcb.state, RecoveryState::FastRecovery | RecoveryState::Cwr) {
            self.reduce_window(tcb, outcome, params);
        } else if outcome.advances || outcome.delivered > 0 && self.detection.counts_any_order(params) {
            self.grow_window(tcb, outcome, now, params);
        }
    }

    /// A law that owns the window sets it, in recovery too.
    fn let_law_set_window(&self, tcb: &mut Tcb, outcome: &AckOutcome) {
        let recovery = match tcb.state {
            RecoveryState::Open | RecoveryState::Cwr => Recovery::None,
            RecoveryState::FastRecovery => Recovery::Fast,
            RecoveryState::RtoRecovery => Recovery::Timeout,
        };
        let srtt = tcb.rtt.smoothed();
        tcb.cc.set_window(self.board.in_flight(), |facts| {
            (facts.acked, facts.lost, facts.recovery) = (outcome.delivered, outcome.lost, recovery);
            (facts.flight, facts.srtt) = (outcome.was_in_flight, srtt);
        });
    }

    /// RFC 9937, section 6: cwnd = inflight + SndCnt. Without PRR it is the threshold, and the first segment is sent in any case.
    fn reduce_window(&mut self, tcb: &mut Tcb, outcome: &AckOutcome, params: &TcpParams) {
        if outcome.delivered == 0 && outcome.lost == 0 {
            return;
        }
        let (ssthresh, is_safe) = (tcb.cc.window.ssthresh as u32, outcome.advances && outcome.lost == 0);
        let in_flight = self.board.in_flight();
        let count = match params.prr {
            true => self.prr.send_count(outcome.delivered, in_flight, ssthresh, is_safe),
            false => ssthresh.saturating_sub(in_flight).max(u32::from(self.prr.out == 0)),
        };
        tcb.cc.window.cwnd = f64::from(in_flight + count);
    }

    /// By what has arrived (RFC 3465), if it is used up. In Linux slow start ends at the threshold; what has arrived beyond that
    /// counts as later on (`tcp_slow_start`).
    fn grow_window(&self, tcb: &mut Tcb, outcome: &AckOutcome, now: Time, params: &TcpParams) {
        let window = tcb.cc.window;
        let usage = &self.usage;
        let (is_used_up, lets_grow) = (usage.is_limited, usage.lets_grow(&window) || params.rate_limited_increase);
        if !tcb.is_growth_valid(|| is_used_up).unwrap_or(lets_grow) {
            return;
        }
        let left = (window.ssthresh - window.cwnd).ceil();
        let is_last = params.estimator == Estimator::Linux && left > 0.0 && left < f64::from(outcome.delivered);
        if is_last {
            self.grow_by(tcb, left as u32, outcome, now);
        }
        self.grow_by(tcb, outcome.delivered - if is_last { left as u32 } else { 0 }, outcome, now);
        if tcb.extras.has(Extras::WINDOW_USE) {
            tcb.limit_growth(window, outcome.was_in_flight, params);
        }
    }

    fn grow_by(&self, tcb: &mut Tcb, acked: u32, outcome: &AckOutcome, now: Time) {
        let (flight, srtt) = (self.usage.used(outcome.was_in_flight, &tcb.cc.window), tcb.rtt.smoothed());
        let is_app_limited = tcb.snd_nxt >= tcb.end;
        let (rtt, hole, sent) = (outcome.rtt.map(|(_, last)| last), tcb.snd_una, tcb.snd_max);
        let byte_counting = true;
        tcb.cc.on_ack(|| Facts {
            acked,
            byte_counting,
            flight,
            is_app_limited,
            delay: outcome.delay,
            srtt,
            rtt,
            hole,
            sent,
            now,
            ..Facts::default()
        });
    }
}
