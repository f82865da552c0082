//! The one timer (RFC 8985, section 8): for the reordering window, a tail loss probe (section 7) or the retransmission timeout.

use super::RackRecovery;
use super::detection::AckOutcome;
use crate::cc::CongestionEvent;
use crate::linux;
use crate::params::{Estimator, TcpParams};
use crate::segment::SegmentSink;
use crate::tcb::{RecoveryState, Tcb};
use aqmlab_core::{Span, Time};

/// A host's boot time within a tick stands for that within so many: the position of its timer wheel.
const WHEEL: u64 = 4096;

/// The event that the timer is waiting for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Timer {
    #[default]
    Retransmission,
    /// The reordering window of the next segment is over.
    Reordering,
    /// A tail loss probe.
    Probe,
}

/// A probe that is out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Probe {
    /// TLP.end_seq: one past the highest segment sent, the probe included.
    pub end_seq: u32,
    /// TLP.is_retrans: it was a segment sent before.
    is_retrans: bool,
}

impl RackRecovery {
    /// The timer is over.
    pub fn on_timer(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        match self.timer {
            Timer::Retransmission => self.on_timeout(tcb, now, params, net),
            Timer::Reordering => self.on_reordering_timeout(tcb, now, params, net),
            Timer::Probe => self.send_probe(tcb, now, params, net),
        }
    }

    /// After an ACK the timer is for the reordering window, or else it starts again for a probe or the retransmission timeout if
    /// the ACK acknowledges something, or SACKs what was sent before the first segment outstanding was sent last
    /// (`tcp_clean_rtx_queue`, `tcp_set_xmit_timer` in Linux). True if it is for a probe, which is scheduled once what the ACK allows has
    /// been sent.
    pub(super) fn set_timer(
        &mut self,
        tcb: &mut Tcb,
        reordering: Option<Time>,
        outcome: &AckOutcome,
        now: Time,
        params: &TcpParams,
    ) -> bool {
        if tcb.flight() == 0 {
            tcb.deadline = Time::NEVER;
            return false;
        }
        if let Some(due) = reordering {
            self.arm(tcb, Timer::Reordering, due.since(now) + linux::TIMEOUT_MIN, now, params);
            return false;
        }
        let first = self.board.first_sent().unwrap_or(now);
        let is_older = outcome.has_sacked && outcome.rtt.is_some_and(|(rtt, _)| now.since(first) < rtt);
        let starts = outcome.advances || is_older;
        let probes = starts && self.is_calm(tcb);
        if starts && !probes {
            self.rearm(tcb, now, params);
        }
        probes
    }

    /// Starts the retransmission timer, from the time on at which the first segment outstanding was sent if it takes the place of
    /// another timer (`tcp_rearm_rto` in Linux).
    pub(super) fn rearm(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams) {
        if tcb.flight() == 0 {
            return tcb.deadline = Time::NEVER;
        }
        let is_pending = tcb.deadline != Time::NEVER && self.timer != Timer::Retransmission;
        let rto = if is_pending { self.rto_left(tcb, now, params) } else { tcb.rtt.timeout(params) };
        self.arm(tcb, Timer::Retransmission, rto, now, params);
    }

    /// The retransmission timeout less the time since the first segment outstanding was sent (`tcp_rto_delta_us` in Linux).
    pub(super) fn rto_left(&self, tcb: &Tcb, now: Time, params: &TcpParams) -> Span {
        let rto = tcb.rtt.timeout(params);
        let since = self.board.first_sent().map_or(Span::ZERO, |sent| now.since(sent));
        Span(rto.0.saturating_sub(since.0).max(1))
    }

    pub(super) fn arm(&mut self, tcb: &mut Tcb, timer: Timer, after: Span, now: Time, params: &TcpParams) {
        self.timer = timer;
        tcb.deadline = match params.estimator {
            Estimator::Linux => linux::expiry(now, after, params.clock, Span(WHEEL * tcb.rtt.phase().0)),
            _ => now + after,
        };
    }

    /// Section 7.2: a probe may be scheduled while nothing is SACKed and nothing being recovered.
    pub(super) fn is_calm(&self, tcb: &Tcb) -> bool {
        let is_calm = matches!(tcb.state, RecoveryState::Open | RecoveryState::Cwr);
        is_calm && self.board.sacked() == 0 && !self.board.has_lost()
    }

    /// Section 7.2: the timer is for a probe, no later than the retransmission timeout, which starts from now on if something
    /// has been acknowledged (`tcp_schedule_loss_probe` in Linux).
    pub(super) fn schedule_probe(&mut self, tcb: &mut Tcb, from_now: bool, now: Time, params: &TcpParams) {
        let rto = if from_now { tcb.rtt.timeout(params) } else { self.rto_left(tcb, now, params) };
        match params.detect_by_time {
            true => self.arm(tcb, Timer::Probe, probe_timeout(tcb, params).min(rto), now, params),
            false => self.arm(tcb, Timer::Retransmission, rto, now, params),
        }
    }

    /// Section 7.3: sends a new segment, or the last again, whatever the window says.
    pub(super) fn send_probe(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if self.probe.is_none() {
            let new = self.next_new(tcb, params);
            let seq = new.unwrap_or(tcb.snd_max - 1);
            self.transmit(tcb, seq, now, params, net);
            tcb.snd_nxt = tcb.snd_nxt.max(seq + 1);
            self.probe = Some(Probe { end_seq: tcb.snd_max, is_retrans: new.is_none() });
            self.timer = Timer::Retransmission; // it starts now
        }
        self.rearm(tcb, now, params);
    }

    /// Section 7.4.2: what an ACK says of a probe. A probe that was sent again was needless if a duplicate has arrived (cases 1
    /// and 3); if something later is acknowledged, it has mended a loss, which counts as one (case 2).
    pub(super) fn end_probe(&mut self, tcb: &mut Tcb, outcome: &AckOutcome) {
        let Some(Probe { end_seq, is_retrans }) = self.probe else { return };
        if tcb.snd_una < end_seq || is_retrans && tcb.snd_una == end_seq && !outcome.is_duplicate {
            return;
        }
        self.probe = None;
        if is_retrans && !outcome.is_duplicate {
            self.reduce(tcb, CongestionEvent::Loss, RecoveryState::Cwr);
            self.leave_recovery(tcb);
        }
    }
}

/// Section 7.2: PTO. For a single segment the receiver may delay its ACK.
fn probe_timeout(tcb: &Tcb, params: &TcpParams) -> Span {
    let slack = if tcb.flight() == 1 { params.max_ack_delay } else { linux::TIMEOUT_MIN };
    match tcb.rtt.srtt() {
        Some(srtt) => Span(2 * srtt.0) + slack,
        None => params.initial_rto,
    }
}
