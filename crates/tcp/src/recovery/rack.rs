//! RACK-TLP (RFC 8985): a segment is lost when one that was sent later has arrived, time decides about the rest, and a probe
//! asks when nothing comes. Without detection by time, a segment is lost when enough beyond it have arrived (RFC 6675). In a
//! reduction the window follows the arrivals: PRR (RFC 9937, formerly RFC 6937).
//!
//! ```text
//!   outstanding  the segments outstanding: when each was sent last, what has become of it (RFC 8985, section 5)
//!   detection    which of them are lost (section 6)
//!   timer        tail loss probes (section 7), and one timer for all (section 8)
//!   window       the window: PRR in a reduction, else the law's
//!   prr          proportional rate reduction
//!   undo         a reduction that was needless (RFC 3522, 3708, 5682)
//!   usage        whether the window is used up (RFC 2861)
//!   bursts       bursts of segmentation offload
//!   writes       the ends of what the application has written
//! ```
//!
//! Names are those of the RFCs. Segments are of one size, and every one carries a timestamp, so each ACK measures a round
//! trip. What Linux does otherwise is in `linux.rs`.

mod bursts;
mod detection;
mod outstanding;
mod prr;
mod timer;
mod undo;
mod usage;
mod window;
mod writes;

use crate::ack::Ack;
use crate::cc::CongestionEvent;
use crate::linux;
use crate::params::{BurstLimit, Estimator, ReductionBase, TcpParams};
use crate::segment::SegmentSink;
use crate::tcb::{Extras, RecoveryState, Tcb};
use aqmlab_core::{Span, Time};
use detection::{AckOutcome, Detection};
use outstanding::OutstandingSegments;
use prr::Prr;
use timer::{Probe, Timer};
use undo::Undo;
use usage::Usage;
use writes::Writes;

/// The amount that a window, which is a sum of fractions, may lack of a whole segment.
const ROUNDING: f64 = 1e-9;

/// The state of a sender with RACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct RackRecovery {
    board: OutstandingSegments,
    estimator: linux::Estimator,
    detection: Detection,
    prr: Prr,
    timer: Timer,
    /// The probe that is out.
    probe: Option<Probe>,
    undo: Undo,
    /// Timeouts since something was last acknowledged (`icsk_retransmits`).
    timeouts: u32,
    usage: Usage,
    writes: Writes,
    /// The first segment that ACKs have offered no room for; 0 where they do not say. It is not taken back (RFC 9293, section 3.8.6).
    rwnd_edge: u32,
}

impl RackRecovery {
    /// Segments in the network: neither SACKed nor lost, and those lost that were sent again.
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// An ACK: what has arrived, what is lost, what may be sent. An old one means nothing.
    #[inline(never)] // Reno's way stays short
    pub fn on_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if ack.next < tcb.snd_una {
            if tcb.extras.has(Extras::FEEDBACK) {
                tcb.on_feedback(ack, None, now);
            }
            return;
        }
        let mut outcome = self.take(tcb, ack, now, params);
        let measured = outcome.rtt.filter(|_| params.estimator == Estimator::Linux).map(|(_, last)| last);
        let is_echo = if tcb.extras.has(Extras::FEEDBACK) { tcb.on_feedback(ack, measured, now) } else { ack.ece };
        let handshake_done = tcb.snd_una == 0 && params.syn && ack.next > 0;
        tcb.snd_una = ack.next;
        tcb.snd_nxt = tcb.snd_nxt.max(ack.next);
        self.measure(tcb, &outcome, params);
        if handshake_done {
            tcb.establish(now, params, net);
        }
        let is_echo = is_echo && tcb.ecn && !handshake_done;
        self.undo.on_ack(ack.dsack, is_echo);
        self.end_probe(tcb, &outcome);
        let recovers = tcb.state == RecoveryState::FastRecovery && tcb.snd_una < tcb.recover;
        if !params.undo {
            self.undo = Undo::default();
        }
        self.end_recovery(tcb, &outcome);
        let reordering = self.detect_loss(tcb, &mut outcome, now, params);
        if is_echo && !recovers {
            self.on_echo(tcb);
        }
        let probes = self.set_timer(tcb, reordering, &outcome, now, params);
        if tcb.extras.has(Extras::WINDOW_USE) {
            tcb.validate_window(now, params);
        }
        if !handshake_done {
            if tcb.extras.has(Extras::ORDER) {
                self.report_order(tcb);
            }
            self.set_window(tcb, &outcome, now, params);
        }
        let has_scheduled = self.send(tcb, now, params, net);
        if probes && !has_scheduled {
            self.schedule_probe(tcb, true, now, params);
        }
    }

    /// RFC 8985, section 6.2, steps 1 to 3: takes in an ACK that is not old.
    fn take(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, params: &TcpParams) -> AckOutcome {
        if ack.rwnd > 0 {
            self.rwnd_edge = self.rwnd_edge.max(ack.next.saturating_add(ack.rwnd));
        }
        if ack.dsack.is_some_and(|seq| self.probe.is_none_or(|probe| probe.end_seq != seq + 1)) {
            self.detection.on_duplicate();
        }
        let (una, recover, law) = (tcb.snd_una, tcb.recover, tcb.cc.sampled());
        let mut outcome = self.detection.on_ack(&mut self.board, ack, una, recover, now, law);
        outcome.rtt = outcome.rtt.or_else(|| resent_rtt(&outcome, now, tcb.rtt.phase(), params));
        outcome
    }

    /// A round-trip time a new ACK (RFC 7323), and the end of backoff.
    fn measure(&mut self, tcb: &mut Tcb, outcome: &AckOutcome, params: &TcpParams) {
        if let Some((rtt, _)) = outcome.rtt {
            match params.estimator {
                Estimator::Real => tcb.rtt.on_sample(rtt, params),
                Estimator::Integer | Estimator::Linux => {
                    let (srtt, rto) = self.estimator.sample(rtt, tcb.snd_una, tcb.snd_max, params.min_rto);
                    tcb.rtt.set(srtt, Span(rto.0.next_multiple_of(params.clock.0)));
                }
            }
        }
        let is_linux = params.estimator == Estimator::Linux;
        if outcome.advances || is_linux && outcome.rtt.is_some() {
            tcb.rtt.end_backoff(); // `tcp_ack_update_rtt`
        }
        if outcome.advances {
            self.timeouts = 0;
        }
    }

    /// Tells a law that asks for it whether all is in order: `TCP_CA_Open` of Linux (`tcp_try_keep_open`).
    fn report_order(&self, tcb: &mut Tcb) {
        let (is_open, sent, board) = (tcb.state == RecoveryState::Open, tcb.snd_max, &self.board);
        let is_settled = board.sacked() == 0 && !board.has_lost() && board.resent() == 0 && !board.was_first_resent();
        tcb.cc.adapter().into_iter().for_each(|law| law.law.on_order(is_open && is_settled, sent));
    }

    /// RFC 8985, section 6.2, steps 4 and 5. Recovery begins if anything is lost, found so now or left from one that has
    /// ended. Returns when the next segment may be lost.
    fn detect_loss(&mut self, tcb: &mut Tcb, outcome: &mut AckOutcome, now: Time, params: &TcpParams) -> Option<Time> {
        let (board, detection) = (&mut self.board, &mut self.detection);
        if board.sacked() == 0 && !board.has_lost() && outcome.resent_at.is_none() {
            return None; // nothing sent later has arrived
        }
        let in_recovery = matches!(tcb.state, RecoveryState::FastRecovery | RecoveryState::RtoRecovery);
        let resent = board.resent();
        let reo_wnd = detection.reo_wnd(board, in_recovery, tcb.rtt.smoothed(), params);
        let law = tcb.cc.sampled();
        let (lost, timeout) = match std::mem::take(&mut detection.advanced) {
            true if params.detect_by_time => detection.detect_loss(board, reo_wnd, now, law),
            true => (detection.count_loss(board, params.dup_ack_threshold, now, law), None),
            false => (0, None), // `tcp_rack_mark_lost`
        };
        outcome.lost = lost;
        // As Linux has it, a segment lost again after a timeout begins a recovery, too.
        let is_lost_again = tcb.state == RecoveryState::RtoRecovery && board.resent() < resent;
        if is_lost_again || !in_recovery && board.has_lost() {
            self.reduce(tcb, CongestionEvent::Loss, RecoveryState::FastRecovery);
        }
        timeout
    }

    /// The reordering window of a segment is over: it is lost. A recovery that begins so counts it as delivered
    /// (`tcp_rack_reo_timeout` in Linux).
    fn on_reordering_timeout(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let (mut outcome, before) = (AckOutcome { delivered: 1, ..AckOutcome::default() }, tcb.state);
        self.detection.advanced = true;
        self.detect_loss(tcb, &mut outcome, now, params);
        if outcome.lost > 0 && tcb.state == RecoveryState::RtoRecovery {
            self.reduce(tcb, CongestionEvent::Loss, RecoveryState::FastRecovery);
        }
        if tcb.state != before && !tcb.extras.has(Extras::OWN_WINDOW) {
            self.set_window(tcb, &outcome, now, params);
        }
        self.send(tcb, now, params, net);
        if self.timer == Timer::Reordering {
            self.rearm(tcb, now, params);
        }
    }

    /// RFC 6298, section 5, and RFC 8985, section 6.3: the first segment is lost, and those sent long enough ago; the window
    /// has room for one more than is in flight.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        tcb.deadline = Time::NEVER;
        if tcb.flight() == 0 || tcb.gives_up(params) {
            return;
        }
        let is_first = matches!(tcb.state, RecoveryState::Open | RecoveryState::Cwr);
        let is_again = self.timeouts > 0;
        self.detection.on_timeout(&mut self.board, params.detect_by_time, now, tcb.cc.sampled());
        // Once per window of data, and once more if the timeout before has brought something.
        let brought = tcb.state == RecoveryState::RtoRecovery && !is_again;
        if tcb.state == RecoveryState::Open || tcb.snd_una >= tcb.recover || brought {
            let window = tcb.cc.window;
            self.undo = self.undo_from(tcb.snd_una, Some(window));
            tcb.cc.reduce_ssthresh(CongestionEvent::Timeout, ReductionBase::Window, window.cwnd, 0);
            tcb.reduce_unvalidated(window.cwnd);
            tcb.end_unvalidated_reduction();
        }
        tcb.timeouts += 1;
        tcb.note_lost_syn(params);
        tcb.cc.collapse();
        tcb.cc.window.cwnd = f64::from(self.board.in_flight() + 1);
        tcb.state = RecoveryState::RtoRecovery;
        tcb.recover = tcb.snd_max;
        tcb.cwr_due = tcb.ecn;
        tcb.back_off(params);
        self.timeouts += 1;
        self.undo.frto = (is_first || is_again) && tcb.snd_una > 0;
        self.undo.on_resent(now);
        self.probe = None;
        self.transmit(tcb, tcb.snd_una, now, params, net);
        self.arm(tcb, Timer::Retransmission, tcb.rtt.timeout(params), now, params);
    }

    /// While the window has room: what is lost, then what is new. F-RTO tries what is new first, once (`tcp_xmit_recovery`). True if
    /// it has scheduled a probe.
    pub fn send(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) -> bool {
        let limit = ((tcb.cc.window.cwnd + ROUNDING) as u32).max(1);
        let tries_new = std::mem::take(&mut self.undo.tries_new);
        let (mut has_sent, mut new, mut waits) = (false, 0, false);
        let mut burst = if params.bursts == BurstLimit::Packet { u32::MAX } else { 0 };
        // What is sent anew leaves the state as it is, so the probe's timer, set at the end, replaces any set on the way.
        let probes = (tcb.snd_una > 0 || !params.syn) && self.is_calm(tcb);
        while self.board.in_flight() < limit && self.may_send(tcb, now, params) {
            let lost = if tries_new { None } else { self.board.next_lost() };
            let Some(seq) = lost.or_else(|| self.next_new(tcb, params)) else { break };
            if burst == 0 && lost.is_none() {
                burst = self.burst(tcb, limit, now);
                waits = burst == 0;
                if waits {
                    break;
                }
            }
            let is_first = tcb.flight() == 0;
            self.transmit(tcb, seq, now, params, net);
            tcb.snd_nxt = tcb.snd_nxt.max(seq + 1);
            self.prr.out += 1;
            if lost.is_some() {
                self.undo.on_resent(now);
            } else {
                burst -= 1;
                new += 1;
            }
            if is_first || lost == Some(tcb.snd_una) && self.timer != Timer::Reordering {
                self.arm(tcb, Timer::Retransmission, tcb.rtt.timeout(params), now, params);
            } else if lost.is_none() && self.timer == Timer::Probe && !probes {
                self.rearm(tcb, now, params);
            }
            has_sent = true;
        }
        if tries_new && new == 0 {
            self.undo.frto = false;
            return self.send(tcb, now, params, net);
        }
        let schedules = new > 0 && probes;
        if schedules {
            self.schedule_probe(tcb, false, now, params);
        }
        self.write(tcb, new, limit);
        if !tcb.extras.has(Extras::OWN_WINDOW) {
            self.validate_window(tcb, has_sent, waits, now, params);
        }
        schedules
    }

    /// The application may write. The send buffer grows when the window has room after a segment that is sent, or at the end
    /// (`tcp_check_space`): `new` ones were sent.
    fn write(&mut self, tcb: &Tcb, new: u32, limit: u32) {
        let windows = if tcb.extras.has(Extras::OWN_WINDOW) { 3 } else { 2 }; // `bbr_sndbuf_expand`
        if new > 1 || self.board.in_flight() < limit {
            self.writes.expand(windows, limit);
        }
        self.writes.on_ack(tcb.snd_una, &self.board);
    }

    /// A segment never sent, for which the receiver has room.
    fn next_new(&self, tcb: &Tcb, params: &TcpParams) -> Option<u32> {
        let next = tcb.snd_nxt;
        let has_new = next < tcb.end && f64::from(next - tcb.snd_una + 1) <= tcb.room(params);
        (has_new && (self.rwnd_edge == 0 || next < self.rwnd_edge)).then_some(next)
    }

    fn transmit(&mut self, tcb: &mut Tcb, seq: u32, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.board.on_sent(seq, now);
        let ends_write = self.writes.ends_with(seq, tcb.snd_una);
        tcb.transmit_from(seq, |_| self.board.in_flight(), ends_write, now, params, net);
    }
}

/// The round-trip time of a segment sent again, by its timestamp (RFC 7323). Linux takes it only if something is acknowledged
/// cumulatively, and in whole ticks of that clock (`tcp_rtt_tsopt_us`). When the first copy was sent is not known any longer.
fn resent_rtt(outcome: &AckOutcome, now: Time, phase: Span, params: &TcpParams) -> Option<(Span, Span)> {
    let sent = outcome.resent_at?;
    let rtt = match params.estimator {
        Estimator::Linux if !outcome.advances || outcome.is_original => return None,
        Estimator::Linux => linux::timestamped(sent, now, phase),
        Estimator::Real | Estimator::Integer => now.since(sent),
    };
    Some((rtt, rtt))
}
