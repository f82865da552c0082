//! RACK-TLP (RFC 8985): a segment is lost when one that was sent later has arrived, time decides about the rest, and a probe
//! asks when nothing comes.
//!
//! ```text
//!   bursts       bursts of segmentation offload
//!   tlp          tail loss probes (section 7)
//!   window       the window: PRR (RFC 9937) in a reduction, else the law's
//!   usage        whether it is used up (RFC 2861)
//!   undo         a reduction that was needless (RFC 3522, 3708, 5682)
//! ```
//!
//! Names are those of the RFCs. Segments are of one size, and every one carries a timestamp, so each ACK measures a round
//! trip. The segments outstanding, and which of them are lost (sections 5 and 6), are in `scoreboard/rack/`; what Linux does
//! otherwise is in `linux.rs`.

mod bursts;
mod tlp;
mod undo;
mod usage;
mod window;

use crate::ack::Ack;
use crate::cc::{CongestionEvent, LawHost};
use crate::linux;
use crate::params::{BurstLimit, Estimator, ReductionBase, TcpParams};
use crate::scoreboard::{LossRecovery, News, Rack, Timer, Undo};
use crate::sender::{RecoveryState, SegmentSink, Sender};
use aqmlab_core::{Span, Time};

/// A host's boot time within a tick stands for that within so many: the position of its timer wheel.
const WHEEL: u64 = 4096;

/// The amount that a window, which is a sum of fractions, may lack of a whole segment.
const ROUNDING: f64 = 1e-9;

impl Sender {
    /// An ACK: what has arrived, what is lost, what may be sent. An old one means nothing.
    #[inline(never)] // Reno's way stays short
    pub(crate) fn rack_on_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let (hole, recover, is_old) = (self.hole, self.recover, ack.next < self.hole);
        let mut news = News::default();
        if !is_old {
            let (rack, law) = self.rack_and_law();
            if ack.rwnd > 0 {
                rack.rwnd_edge = rack.rwnd_edge.max(ack.next.saturating_add(ack.rwnd));
            }
            if ack.dsack.is_some_and(|seq| rack.probe.is_none_or(|probe| probe.end_seq != seq + 1)) {
                rack.detection.on_duplicate();
            }
            news = rack.detection.on_ack(&mut rack.board, ack, hole, recover, now, law);
            news.rtt = news.rtt.or_else(|| self.rack_resent_rtt(&news, now, params));
        }
        let measured = news.rtt.filter(|_| params.estimator == Estimator::Linux).map(|(_, last)| last);
        let is_echo = if self.needs_feedback() { self.on_feedback(ack, measured, now) } else { ack.ece };
        if is_old {
            return;
        }
        self.hole = ack.next;
        self.next_seq = self.next_seq.max(ack.next);
        let handshake_done = hole == 0 && params.syn && self.hole > 0;
        self.rack_measure(&news, params);
        if handshake_done {
            if params.handshake_ack {
                net.send_handshake_ack();
                self.enter_host();
            }
            self.begin(params);
            let (window, rtt) = (self.cc.window, self.rtt.smoothed());
            self.cc.host().into_iter().for_each(|law| law.on_established(&window, rtt, now));
        }
        let is_echo = is_echo && self.ecn && !handshake_done;
        if is_echo {
            self.rack().undo.forbid();
        }
        if let Some(seq) = ack.dsack {
            self.rack().undo.on_dsack(seq);
        }
        self.rack_end_probe(&news);
        let recovers = self.state == RecoveryState::FastRecovery && self.hole < self.recover;
        if !params.undo {
            self.rack().undo = Undo::default();
        }
        self.rack_end_recovery(&news);
        let timeout = self.rack_detect_loss(&mut news, now, params);
        if is_echo && !recovers {
            self.rack_on_echo();
        }
        self.rack_set_timer(timeout, &news, now, params);
        self.validate_window(now, params);
        if !handshake_done {
            self.rack_tell_order();
            self.rack_set_window(&news, now, params);
        }
        self.rack_send(now, params, net);
    }

    /// Tells a law that asks for it whether all is in order: `TCP_CA_Open` of Linux (`tcp_try_keep_open`).
    fn rack_tell_order(&mut self) {
        if self.cc.host().is_none_or(|law| !law.needs_order()) {
            return;
        }
        let (is_open, sent) = (self.state == RecoveryState::Open, self.sent);
        let board = &self.rack().board;
        let is_settled = board.sacked() == 0 && !board.has_lost() && board.resent() == 0 && !board.was_first_resent();
        if let Some(law) = self.cc.host() {
            law.law.on_order(is_open && is_settled, sent);
        }
    }

    /// The timer is over.
    pub(crate) fn rack_on_timer(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        match self.rack().timer {
            Timer::Retransmission => self.rack_on_timeout(now, params, net),
            Timer::Reordering => self.rack_on_reordering_timeout(now, params, net),
            Timer::Probe => self.rack_send_probe(now, params, net),
        }
    }

    /// A round-trip time a new ACK (RFC 7323), and the end of backoff.
    fn rack_measure(&mut self, news: &News, params: &TcpParams) {
        let (next, sent) = (self.hole, self.sent);
        if let Some((rtt, _)) = news.rtt {
            match params.estimator {
                Estimator::Real => self.rtt.on_sample(rtt, params),
                Estimator::Integer | Estimator::Linux => {
                    let (srtt, rto) = self.rack().estimator.sample(rtt, next, sent, params.min_rto);
                    self.rtt.set(srtt, Span(rto.0.next_multiple_of(params.clock.0)));
                }
            }
        }
        let is_linux = params.estimator == Estimator::Linux;
        if news.advances || is_linux && news.rtt.is_some() {
            self.rtt.end_backoff(); // `tcp_ack_update_rtt`
        }
        if news.advances {
            self.rack().timeouts = 0;
        }
    }

    /// The round-trip time of a segment sent again, by its timestamp (RFC 7323). Linux takes it only if something is acknowledged
    /// cumulatively, and in whole ticks of that clock (`tcp_rtt_tsopt_us`). When the first copy was sent is not known any longer.
    fn rack_resent_rtt(&self, news: &News, now: Time, params: &TcpParams) -> Option<(Span, Span)> {
        let sent = news.resent_at?;
        let rtt = match params.estimator {
            Estimator::Linux if !news.advances || news.is_original => return None,
            Estimator::Linux => linux::timestamped(sent, now, self.rtt.phase()),
            Estimator::Real | Estimator::Integer => now.since(sent),
        };
        Some((rtt, rtt))
    }

    /// RFC 8985, section 6.2, steps 4 and 5. Recovery begins if anything is lost, found so now or left from one that has
    /// ended. Returns when the next segment may be lost.
    fn rack_detect_loss(&mut self, news: &mut News, now: Time, params: &TcpParams) -> Option<Time> {
        let in_recovery = matches!(self.state, RecoveryState::FastRecovery | RecoveryState::RtoRecovery);
        let srtt = self.rtt.smoothed();
        let (rack, law) = self.rack_and_law();
        if rack.board.sacked() == 0 && !rack.board.has_lost() && news.resent_at.is_none() {
            return None; // nothing sent later has arrived
        }
        let resent = rack.board.resent();
        let reo_wnd = rack.detection.reo_wnd(&rack.board, in_recovery, srtt, params);
        let (lost, timeout) = match std::mem::take(&mut rack.detection.advanced) {
            true if params.detect_by_time => rack.detection.detect_loss(&mut rack.board, reo_wnd, now, law),
            true => (rack.detection.count_loss(&mut rack.board, params.dup_ack_threshold, now, law), None),
            false => (0, None), // `tcp_rack_mark_lost`
        };
        news.lost = lost;
        // As Linux has it, a segment lost again after a timeout begins a recovery, too.
        let is_lost_again = self.state == RecoveryState::RtoRecovery && self.rack().board.resent() < resent;
        if is_lost_again || !in_recovery && self.rack().board.has_lost() {
            self.rack_reduce(CongestionEvent::Loss, RecoveryState::FastRecovery);
        }
        timeout
    }

    /// The reordering window of a segment is over: it is lost. A recovery that begins so counts it as delivered
    /// (`tcp_rack_reo_timeout` in Linux).
    fn rack_on_reordering_timeout(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let (mut news, before) = (News { delivered: 1, ..News::default() }, self.state);
        self.rack().detection.advanced = true;
        self.rack_detect_loss(&mut news, now, params);
        if news.lost > 0 && self.state == RecoveryState::RtoRecovery {
            self.rack_reduce(CongestionEvent::Loss, RecoveryState::FastRecovery);
        }
        if self.state != before && !self.cc.owns_window() {
            self.rack_set_window(&news, now, params);
        }
        self.rack_send(now, params, net);
        if self.rack().timer == Timer::Reordering {
            self.rack_rearm(now, params);
        }
    }

    /// RFC 6298, section 5, and RFC 8985, section 6.3: the first segment is lost, and those sent long enough ago; the window
    /// has room for one more than is in flight.
    fn rack_on_timeout(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.deadline = Time::NEVER;
        if self.flight() == 0 || self.gives_up(params) {
            return;
        }
        let (state, hole) = (self.state, self.hole);
        let (is_first, is_again) =
            (matches!(state, RecoveryState::Open | RecoveryState::Cwr), self.rack().timeouts > 0);
        let (rack, law) = self.rack_and_law();
        rack.detection.on_timeout(&mut rack.board, params.detect_by_time, now, law);
        // Once per window of data, and once more if the timeout before has brought something.
        let brought = state == RecoveryState::RtoRecovery && !is_again;
        if state == RecoveryState::Open || hole >= self.recover || brought {
            let window = self.cc.window;
            let rack = self.rack();
            rack.undo = rack.undo_from(hole, Some(window));
            self.cc.reduce_ssthresh(CongestionEvent::Timeout, ReductionBase::Window, window.cwnd, 0);
            self.reduce_unvalidated(window.cwnd);
            self.end_unvalidated_reduction();
        }
        self.timeouts += 1;
        self.note_lost_syn(params);
        self.cc.collapse();
        self.cc.window.cwnd = f64::from(self.rack().board.in_flight() + 1);
        self.state = RecoveryState::RtoRecovery;
        self.recover = self.sent;
        self.cwr_due = self.ecn;
        self.back_off(params);
        let rack = self.rack();
        rack.timeouts += 1;
        rack.undo.frto = (is_first || is_again) && hole > 0;
        rack.undo.on_resent(now);
        rack.probe = None;
        self.transmit(self.hole, now, params, net);
        self.rack_arm(Timer::Retransmission, self.rtt.timeout(params), now, params);
    }

    /// While the window has room: what is lost, then what is new. F-RTO tries what is new first, once (`tcp_xmit_recovery`).
    pub(crate) fn rack_send(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let limit = ((self.cc.window.cwnd + ROUNDING) as u32).max(1);
        let tries_new = std::mem::take(&mut self.rack().undo.tries_new);
        let (mut has_sent, mut new, mut waits) = (false, 0, false);
        let mut burst = if params.bursts == BurstLimit::Packet { u32::MAX } else { 0 };
        // What is sent anew leaves the state as it is, so the probe's timer, set at the end, replaces any set on the way.
        let probes = (self.hole > 0 || !params.syn) && self.rack_is_calm();
        while self.rack().board.in_flight() < limit && self.may_send(now) {
            let lost = if tries_new { None } else { self.rack().board.next_lost() };
            let Some(seq) = lost.or_else(|| self.rack_next_new(params)) else { break };
            if burst == 0 && lost.is_none() {
                burst = self.rack_burst(limit, now);
                waits = burst == 0;
                if waits {
                    break;
                }
            }
            let is_first = self.flight() == 0;
            self.transmit(seq, now, params, net);
            self.next_seq = self.next_seq.max(seq + 1);
            let hole = self.hole;
            let rack = self.rack();
            rack.prr.out += 1;
            if lost.is_some() {
                rack.undo.on_resent(now);
            } else {
                burst -= 1;
                new += 1;
            }
            if is_first || lost == Some(hole) && rack.timer != Timer::Reordering {
                self.rack_arm(Timer::Retransmission, self.rtt.timeout(params), now, params);
            } else if lost.is_none() && rack.timer == Timer::Probe && !probes {
                self.rack_rearm(now, params);
            }
            has_sent = true;
        }
        if tries_new && new == 0 {
            self.rack().undo.frto = false;
            return self.rack_send(now, params, net);
        }
        if new > 0 && probes {
            self.rack_schedule_probe(false, now, params);
        }
        self.rack_write(new, limit);
        if !self.cc.owns_window() {
            self.rack_validate_window(has_sent, waits, now, params);
        }
    }

    /// The application may write. The send buffer grows when the window has room after a segment that is sent, or at the end
    /// (`tcp_check_space`): `new` ones were sent.
    fn rack_write(&mut self, new: u32, limit: u32) {
        let windows = if self.cc.owns_window() { 3 } else { 2 }; // `bbr_sndbuf_expand`
        let hole = self.hole;
        let rack = self.rack();
        if new > 1 || rack.board.in_flight() < limit {
            rack.writes.expand(windows, limit);
        }
        rack.writes.on_ack(hole, &rack.board);
    }

    /// A segment never sent, for which the receiver has room.
    fn rack_next_new(&mut self, params: &TcpParams) -> Option<u32> {
        let has_new = self.next_seq < self.end && f64::from(self.next_seq - self.hole + 1) <= self.room(params);
        let (next, edge) = (self.next_seq, self.rack().rwnd_edge);
        (has_new && (edge == 0 || next < edge)).then_some(next)
    }

    /// After an ACK the timer is for the reordering window, or else it starts again for a probe or the retransmission timeout if
    /// the ACK acknowledges something, or SACKs what was sent before the first segment outstanding was sent last
    /// (`tcp_clean_rtx_queue`, `tcp_set_xmit_timer` in Linux).
    fn rack_set_timer(&mut self, reordering: Option<Time>, news: &News, now: Time, params: &TcpParams) {
        if self.flight() == 0 {
            return self.deadline = Time::NEVER;
        }
        if let Some(due) = reordering {
            return self.rack_arm(Timer::Reordering, due.since(now) + linux::TIMEOUT_MIN, now, params);
        }
        let first = self.rack().board.first_sent().unwrap_or(now);
        let is_older = news.has_sacked && news.rtt.is_some_and(|(rtt, _)| now.since(first) < rtt);
        if news.advances || is_older {
            match self.rack_is_calm() {
                true => self.rack_schedule_probe(true, now, params),
                false => self.rack_rearm(now, params),
            }
        }
    }

    /// Starts the retransmission timer, from the time on at which the first segment outstanding was sent if it takes the place of
    /// another timer (`tcp_rearm_rto` in Linux).
    fn rack_rearm(&mut self, now: Time, params: &TcpParams) {
        if self.flight() == 0 {
            return self.deadline = Time::NEVER;
        }
        let is_pending = self.deadline != Time::NEVER && self.rack().timer != Timer::Retransmission;
        let rto = if is_pending { self.rack_rto_left(now, params) } else { self.rtt.timeout(params) };
        self.rack_arm(Timer::Retransmission, rto, now, params);
    }

    /// The retransmission timeout less the time since the first segment outstanding was sent (`tcp_rto_delta_us` in Linux).
    fn rack_rto_left(&mut self, now: Time, params: &TcpParams) -> Span {
        let rto = self.rtt.timeout(params);
        let since = self.rack().board.first_sent().map_or(Span::ZERO, |sent| now.since(sent));
        Span(rto.0.saturating_sub(since.0).max(1))
    }

    fn rack_arm(&mut self, timer: Timer, after: Span, now: Time, params: &TcpParams) {
        self.rack().timer = timer;
        self.deadline = match params.estimator {
            Estimator::Linux => linux::expiry(now, after, params.clock, Span(WHEEL * self.rtt.phase().0)),
            _ => now + after,
        };
    }

    fn rack(&mut self) -> &mut Rack {
        let LossRecovery::Rack(rack) = &mut self.recovery else { unreachable!("made for variant rack") };
        rack
    }

    /// The state, and the law if it is told of each segment.
    fn rack_and_law(&mut self) -> (&mut Rack, Option<&mut LawHost>) {
        let LossRecovery::Rack(rack) = &mut self.recovery else { unreachable!("made for variant rack") };
        (rack, self.cc.host().filter(|law| law.has_samples()))
    }
}
