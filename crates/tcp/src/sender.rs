//! The sending endpoint: window, sending, ECN and the retransmission timer, shared by every kind of recovery.

mod ecn;
mod growth;
mod host_queue;
mod ns2;
mod validation;

use crate::ack::{Ack, Advertised};
use crate::cc::{AckContext, AnyLaw, Congestion, Facts, LawChoice, LawFailure, SENDER_PHASES};
use crate::ecn::EcnFeedback;
use crate::params::{BurstLimit, EcnResponse, Estimator, IdleWindow, TcpParams, TcpVariant};
use crate::rtt::RttEstimator;
use crate::scoreboard::LossRecovery;
use aqmlab_core::{Span, Time};
use growth::WindowUse;
use host_queue::HostQueue;
use validation::Validation;

/// A segment as the sender hands it out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment; 0 is the SYN where there is one.
    pub seq: u32,
    /// It carries no data.
    pub is_syn: bool,
    /// It has been sent before.
    pub is_retransmission: bool,
    /// It may be marked instead of dropped (RFC 3168, ECT).
    pub is_ect: bool,
    /// It tells the receiver that the window was reduced (RFC 3168, CWR).
    pub is_cwr: bool,
    /// It is the last of what the application has written (RFC 9293, PSH).
    pub is_push: bool,
}

/// A sink of segments.
pub trait SegmentSink {
    /// Takes a segment sent now.
    fn send(&mut self, segment: &Segment);
    /// Takes the ACK of what has answered the SYN, which carries no data.
    fn send_handshake_ack(&mut self) {}
}

/// The state of the sender between congestion events. It stays until the next event, but for the end of fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecoveryState {
    /// No reduction yet, or fast recovery has ended.
    Open,
    /// Fast recovery (RFC 5681, section 3.2).
    FastRecovery,
    /// The echo of a mark has reduced the window (RFC 3168, CWR).
    Cwr,
    /// The retransmission timer has expired.
    RtoRecovery,
}

/// One sender. Parameters are passed in: many senders share one set. What an ACK that tells of no loss needs comes first, in
/// three cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    pub(crate) cc: Congestion,
    pub(crate) rtt: RttEstimator,
    pub(crate) recovery: LossRecovery,
    pub(crate) deadline: Time,
    pub(crate) next_seq: u32,
    /// First segment not acknowledged.
    pub(crate) hole: u32,
    /// One past the highest segment sent.
    pub(crate) sent: u32,
    /// No segment from here on exists; 0 before the first `open`.
    pub(crate) end: u32,
    /// Segments that have left the network during recovery (ns-2's dupwnd).
    pub(crate) inflation: u32,
    pub(crate) duplicate_acks: u32,
    /// New segments sent at these duplicate ACKs.
    pub(crate) limited_transmits: u32,
    /// The value of `sent` when the window was last reduced; 0 before the first time.
    pub(crate) recover: u32,
    pub(crate) state: RecoveryState,
    pub(crate) first_partial_seen: bool,
    /// Data are sent ECN-capable.
    pub(crate) ecn: bool,
    /// The receiver has not yet been told of the last reduction.
    pub(crate) cwr_due: bool,
    /// ns-2: the last echo came at a window of one segment or less.
    pub(crate) echo_at_one: bool,
    /// The SYN has timed out, or was marked.
    pub(crate) syn_lost: bool,
    /// The SYN has been given up.
    pub(crate) has_failed: bool,
    /// With SACK after a timeout: no recovery before all that had been sent is acknowledged (RFC 6675, section 5.1).
    pub(crate) not_before: u32,
    retransmits: u32,
    pub(crate) timeouts: u32,
    pub(crate) ecn_reductions: u32,
    host_queue: HostQueue,
    window_use: WindowUse,
    /// Of a sender with new-CWV, whose law does not own the window.
    validation: Option<Box<Validation>>,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Sender, not_before) == 3 * 64);

impl Sender {
    /// A sender at rest. `ecn`: its data are ECN-capable. `clock_phase` is its boot time within a tick of its clock, which
    /// also seeds what its law draws at random.
    pub fn new(variant: TcpVariant, params: &TcpParams, control: &LawChoice, ecn: bool, clock_phase: Span) -> Self {
        let cwnd = if params.syn { 1.0 } else { params.initial_window.0 };
        let mut cc = Congestion::new(cwnd, params.window.0.floor(), control.law());
        cc.seed(clock_phase.0);
        cc.host().into_iter().for_each(|law| law.has_offload = params.bursts == BurstLimit::Gso);
        let validation = if cc.owns_window() { None } else { Validation::new(params.after_idle) };
        Self {
            cc,
            rtt: RttEstimator::new(params, clock_phase),
            recovery: LossRecovery::new(variant),
            state: RecoveryState::Open,
            first_partial_seen: false,
            ecn,
            cwr_due: false,
            echo_at_one: false,
            inflation: 0,
            duplicate_acks: 0,
            limited_transmits: 0,
            next_seq: 0,
            hole: 0,
            sent: 0,
            recover: 0,
            not_before: 0,
            end: 0,
            syn_lost: false,
            has_failed: false,
            deadline: Time::NEVER,
            retransmits: 0,
            timeouts: 0,
            ecn_reductions: 0,
            host_queue: HostQueue::default(),
            window_use: WindowUse::default(),
            validation,
        }
    }

    /// The application has `segments` of data from now on, without limit if `None`; they follow what it had before.
    pub fn open(&mut self, segments: Option<u32>, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let first = self.end.max(u32::from(params.syn));
        let (has_sent_all, in_flight) = (self.next_seq >= self.end, self.in_network());
        if has_sent_all && first > 1 && f64::from(in_flight) < self.cc.window.cwnd {
            self.cc.host().into_iter().for_each(|law| law.note_app_limited(in_flight));
        }
        self.end = first.saturating_add(segments.unwrap_or(u32::MAX));
        match self.recovery {
            LossRecovery::Rack(_) => self.rack_send(now, params, net),
            _ => self.send_allowed(now, params, net, u32::MAX),
        }
    }

    /// The application has `segments` more of data, `pause` after those before: at the beginning, while others are outstanding, or
    /// after a pause in which all had been acknowledged.
    pub fn offer(&mut self, segments: u32, pause: Span, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if self.has_failed {
            return;
        }
        if self.is_done() {
            self.resume(pause, now, params);
        }
        self.open(Some(segments), now, params, net);
    }

    /// The application has more data after a pause in which all had been acknowledged; `open` follows. What becomes of the
    /// window says [`IdleWindow`], if the law does not own it.
    pub fn resume(&mut self, pause: Span, now: Time, params: &TcpParams) {
        if !self.cc.owns_window() {
            match (params.after_idle, &self.recovery) {
                (IdleWindow::Keep, _) => {}
                (IdleWindow::NewCwv, _) => self.validate_window(now, params),
                (IdleWindow::Decay, LossRecovery::Rack(_)) => self.rack_restart_window(now, params),
                _ if pause <= self.rtt.timeout(params) => {}
                _ => self.cc.window.cwnd = self.cc.window.cwnd.min(self.initial_window(params)),
            }
        }
        self.cc.resume(now);
    }

    /// The application stops: nothing new is sent, what is outstanding still is until it is acknowledged.
    pub fn close(&mut self) {
        self.end = self.sent;
    }

    /// A finite or closed transfer is acknowledged to its end. False before `open` and while data are unlimited.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.end > 0 && self.hole >= self.end
    }

    /// An ACK arrives.
    #[inline]
    pub fn on_ack(&mut self, mut ack: Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if self.hole == 0 {
            self.on_syn_answered(&ack, params);
        }
        if matches!(self.recovery, LossRecovery::Rack(_)) {
            return self.rack_on_ack(&ack, now, params, net);
        }
        if self.needs_feedback() {
            let (hole, sent) = (self.hole, self.sent);
            self.cc.host().into_iter().for_each(|law| law.take(&ack, hole, sent));
            ack.ece = self.on_feedback(&ack, None, now);
        }
        let ack = &ack;
        if ack.ece && self.ecn {
            self.on_ecn_echo(ack.next, params);
        }
        match self.recovery {
            LossRecovery::Sack(_) => self.sack_on_ack(ack, now, params, net),
            LossRecovery::Reno if ack.next > self.hole => self.reno_on_new_ack(ack, now, params, net),
            LossRecovery::NewReno if ack.next > self.hole => self.newreno_on_new_ack(ack, now, params, net),
            _ if ack.next == self.hole => self.on_duplicate_ack(now, params, net),
            _ if self.duplicate_acks > 0 && self.duplicate_acks < params.dup_ack_threshold => {}
            _ => self.send_allowed(now, params, net, u32::MAX),
        }
    }

    /// A timer is over: that of loss recovery, or before that one is due, the pace allows the next segment.
    pub fn on_timer(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if now < self.deadline {
            return self.send_more(now, params, net);
        }
        match self.recovery {
            LossRecovery::Rack(_) => self.rack_on_timer(now, params, net),
            _ => self.on_retransmission_timer(now, params, net),
        }
    }

    /// Time at which `on_timer` is due; [`Time::NEVER`] if the timer is off. It often moves on before it comes.
    #[inline]
    pub fn deadline(&self) -> Time {
        match &self.cc.law {
            AnyLaw::Other(law) => self.deadline.min(law.due),
            _ => self.deadline,
        }
    }

    /// The SYN was sent `syn_retries` times again and not answered: the connection is closed, and nothing more is sent.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// The breakdown of its law, if it has one.
    pub fn law_failure(&self) -> Option<&LawFailure> {
        self.cc.failure()
    }

    /// The phase that it is in: of its law, if that has phases of its own, or one of [`SENDER_PHASES`](crate::cc::SENDER_PHASES).
    pub fn phase(&self) -> &'static str {
        let [slow_start, avoidance, fast_recovery, rto_recovery] = SENDER_PHASES;
        let window = self.cc.window;
        self.cc.phase().unwrap_or(match self.state {
            RecoveryState::FastRecovery => fast_recovery,
            RecoveryState::RtoRecovery if self.hole < self.recover => rto_recovery,
            _ if window.cwnd < window.ssthresh => slow_start,
            _ => avoidance,
        })
    }

    /// The variables of its law ([`CongestionControl::variables`](crate::cc::CongestionControl::variables)).
    pub fn law_variables(&self) -> Vec<(&'static str, f64)> {
        self.cc.variables()
    }

    /// The pace of its law, segments/s, of a law that has one.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.cc.pacing_rate()
    }

    /// Congestion window, segments. Below 1 it is closed until the timer expires ([`EcnResponse`]).
    pub fn cwnd(&self) -> f64 {
        self.cc.window.cwnd
    }

    /// Segments sent again so far.
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Retransmission timeouts so far.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Times the window was reduced for the echo of a congestion mark.
    pub fn ecn_reductions(&self) -> u32 {
        self.ecn_reductions
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        self.rtt.srtt()
    }

    /// Window in segments, with what left the network during recovery, within the receiver's.
    pub(crate) fn window(&self, params: &TcpParams) -> f64 {
        let (window, room) = (self.cc.window.cwnd + f64::from(self.inflation), self.room(params));
        if window < room { window } else { room } // neither is NaN, which `min` asks for
    }

    /// Segments from the first not acknowledged on that the receiver has room for.
    #[inline]
    pub(crate) fn room(&self, params: &TcpParams) -> f64 {
        match &self.cc.law {
            AnyLaw::Other(law) => match law.advertised {
                Some(window) => f64::from(window.edge.saturating_sub(self.hole)),
                None => params.window.0,
            },
            _ => params.window.0,
        }
    }

    /// An ACK says what room the receiver has; [`on_ack`](Self::on_ack) follows. One that another has overtaken says nothing.
    pub fn take_window(&mut self, advertised: Advertised) {
        if let Some(law) = self.cc.host()
            && law.advertised.is_none_or(|last| advertised.sent_at >= last.sent_at)
        {
            law.advertised = Some(advertised);
        }
    }

    /// Timestamp that its segments echo, to a receiver that drives it: when the ACK was sent.
    pub fn echo(&self) -> Option<Time> {
        if let AnyLaw::Other(law) = &self.cc.law { law.advertised.map(|window| window.sent_at) } else { None }
    }

    /// Segments sent and not acknowledged.
    pub(crate) fn flight(&self) -> u32 {
        self.sent.saturating_sub(self.hole)
    }

    /// Segments in the network, as far as loss recovery knows.
    pub fn in_network(&self) -> u32 {
        match &self.recovery {
            LossRecovery::Rack(rack) => rack.board.in_flight(),
            _ => self.flight(),
        }
    }

    /// Sends what the window allows, at most `burst` segments.
    #[inline(always)] // for each ACK
    pub(crate) fn send_allowed(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink, burst: u32) {
        if matches!(self.recovery, LossRecovery::Sack(_)) {
            return self.sack_send_allowed(now, params, net, burst);
        }
        let stop = self.allowed(params, burst);
        while self.next_seq < stop && self.may_send(now) {
            self.transmit(self.next_seq, now, params, net);
            self.next_seq += 1;
        }
    }

    /// The segment before which the window stops, at most `burst` from now.
    #[inline]
    pub(crate) fn allowed(&self, params: &TcpParams, burst: u32) -> u32 {
        // Whole segments only: ns-2 cuts cwnd before it adds the inflation, which is whole itself.
        let allowed = self.hole.saturating_add(self.window(params) as u32).min(self.end);
        allowed.min(self.next_seq.saturating_add(burst))
    }

    /// New data end fast recovery, if it is on, or are acknowledged outside it. Of `known` segments among them an earlier ACK
    /// has told: they have left the network, and the window has grown for them or was not to.
    pub(crate) fn take_new_ack(&mut self, ack: &Ack, known: u32, now: Time, params: &TcpParams) {
        let in_recovery = self.state == RecoveryState::FastRecovery;
        self.inflation = 0;
        if in_recovery {
            self.state = RecoveryState::Open;
            self.end_unvalidated_reduction();
        }
        self.duplicate_acks = 0;
        self.limited_transmits = 0;
        let handshake_done = self.hole == 0 && params.syn;
        let hole = self.hole;
        self.acknowledge(ack, now, params);
        let is_echo = ack.ece && self.ecn;
        self.echo_at_one &= is_echo;
        if handshake_done && self.timeouts > 0 {
            self.rtt.after_lost_syn();
            // ns-2 takes the ECE that agrees on ECN for an echo, after a timeout and at a window of one.
            self.echo_at_one = self.ecn && params.ecn_response == EcnResponse::Ns2;
        }
        self.restart_timer(now, params);
        self.validate_window(now, params);
        if handshake_done {
            self.begin(params);
        } else if in_recovery && !params.open_on_exit {
            self.cc.leave_recovery();
        } else if !is_echo || self.is_answered(ack.next, params) {
            let (acked, flight, srtt) = (ack.next - hole - known, self.sent - hole, self.rtt.smoothed());
            let (is_app_limited, before) = (self.next_seq >= self.end, self.cc.window);
            if self.is_growth_valid(|| f64::from(flight) >= before.cwnd.floor()).unwrap_or(true) {
                let delay = ack.delay;
                self.cc.on_ack(|| Facts { acked, flight, is_app_limited, delay, srtt, now, ..Facts::default() });
                self.limit_growth(before, flight, params);
            }
        }
    }

    /// The handshake is done. Linux takes back what a lost SYN has done to ssthresh (`tcp_init_metrics`).
    pub(crate) fn begin(&mut self, params: &TcpParams) {
        self.cc.window.cwnd = self.initial_window(params);
        if params.forgive_syn {
            self.cc.window.ssthresh = params.window.0;
        }
    }

    /// RFC 5681, section 3.1: after a lost SYN, one segment. So it is after a marked one.
    pub(crate) fn initial_window(&self, params: &TcpParams) -> f64 {
        if self.syn_lost { 1.0 } else { params.initial_window.0 }
    }

    /// The retransmission timer has expired, which `timeouts` counts: was it the SYN's, and one too many?
    pub(crate) fn note_lost_syn(&mut self, params: &TcpParams) {
        let forgiven = u32::from(params.forgive_syn);
        self.syn_lost |= self.hole == 0 && self.timeouts > forgiven;
    }

    /// Notes what is acknowledged; samples the round-trip time.
    pub(crate) fn acknowledge(&mut self, ack: &Ack, now: Time, params: &TcpParams) {
        self.hole = ack.next;
        self.next_seq = self.next_seq.max(ack.next);
        self.rtt.on_ack(ack.next, self.echo_at_one && ack.ece, now, params);
    }

    /// The law must be told of ACKs.
    #[inline]
    pub(crate) fn needs_feedback(&mut self) -> bool {
        self.cc.host().is_some_and(|law| law.needs_feedback())
    }

    /// Tells a law that asks for it of an ACK, and of the round trip that loss recovery has measured with it. True if it tells of a
    /// new mark that the sender must answer.
    #[inline(never)] // Reno's way stays short
    pub(crate) fn on_feedback(&mut self, ack: &Ack, rtt: Option<Span>, now: Time) -> bool {
        let (hole, sent, flight) = (self.hole, self.sent, self.flight());
        let acked = ack.next.saturating_sub(hole);
        let is_app_limited = self.next_seq >= self.end;
        let (delay, srtt) = (ack.delay, self.rtt.smoothed());
        let facts = Facts {
            acked,
            flight,
            is_app_limited,
            delay,
            srtt,
            rtt,
            hole: hole.max(ack.next),
            sent,
            is_predicted: ack.sack.is_empty() && ack.dsack.is_none() && !ack.ece && !ack.has_new_window,
            now,
            ..Facts::default()
        };
        let context = AckContext { facts, hole, resent: self.retransmits };
        let ssthresh = self.cc.window.ssthresh;
        let is_echo = self.cc.on_feedback(ack, context);
        if is_echo && self.cc.host().is_some_and(|law| law.answers_marks()) {
            self.ecn_reductions += u32::from(self.cc.window.ssthresh != ssthresh);
            return false;
        }
        is_echo
    }

    /// True if the host, and the pace of the law, if it has one, allow a segment now.
    #[inline]
    pub(crate) fn may_send(&mut self, now: Time) -> bool {
        self.host_has_room() && self.cc.host().is_none_or(|law| law.may_send(now))
    }

    /// The pace, or the host, allows a segment that the window has allowed before.
    #[cold]
    fn send_more(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if let Some(law) = self.cc.host() {
            law.due = Time::NEVER; // until the window allows more than the pace
        }
        match self.recovery {
            LossRecovery::Rack(_) => self.rack_send(now, params, net),
            LossRecovery::Sack(_) if self.state == RecoveryState::FastRecovery => self.fill_pipe(now, params, net),
            _ => self.send_allowed(now, params, net, u32::MAX),
        }
    }

    /// Tells a law other than Reno's of a segment sent.
    fn tell_sent(&mut self, seq: u32, is_first: bool, is_new: bool, now: Time) {
        let (in_flight, sent_before) = (self.in_network(), self.sent - u32::from(is_new));
        if in_flight == 1 && !is_first {
            self.cc.restart(now);
        }
        if let Some(law) = self.cc.host() {
            if law.needs_order() && in_flight == 1 {
                law.law.on_transmit_start(sent_before);
            }
            law.on_sent(seq, self.hole, is_first, in_flight, now);
        }
    }

    /// The SYN is answered. One that was sent again may have been the end of ECN, if it is that which came first.
    #[cold]
    fn on_syn_answered(&mut self, ack: &Ack, params: &TcpParams) {
        self.syn_lost |= params.ect_on_syn && (ack.ece || ack.ce > 0);
        let asks = 1 + u32::from(self.cc.feedback() == EcnFeedback::Counter);
        if params.ecn_fallback && ack.is_resent && self.retransmits >= asks {
            self.ecn = false;
        }
    }

    /// A SYN carries ECT: that of DCTCP and of Prague in Linux does, again too (`tcp_ecn_send_syn`).
    #[cold]
    fn is_ect_on_syn(&self, is_first: bool, params: &TcpParams) -> bool {
        let feedback = self.cc.feedback();
        let needs_ecn = feedback != EcnFeedback::Classic && !self.cc.owns_window();
        needs_ecn && params.estimator == Estimator::Linux || params.ect_on_syn && is_first
    }

    pub(crate) fn transmit(&mut self, seq: u32, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let nothing_outstanding = self.sent == self.hole;
        let is_new = seq >= self.sent;
        if is_new {
            self.sent = seq + 1;
            self.rtt.on_send_new(seq, now);
        } else {
            self.retransmits += 1;
            self.rtt.on_retransmit(seq);
        }
        self.enter_host();
        let is_syn = seq == 0 && params.syn;
        let is_ect = match is_syn {
            true => self.ecn && self.is_ect_on_syn(is_new, params),
            false => self.ecn && (is_new || params.ect_on_retransmit),
        };
        let is_cwr = is_ect && std::mem::take(&mut self.cwr_due);
        let mut is_push = seq + 1 == self.end;
        if let LossRecovery::Rack(rack) = &mut self.recovery {
            rack.board.on_sent(seq, now);
            is_push |= rack.writes.ends_with(seq, self.hole);
        }
        if matches!(self.cc.law, AnyLaw::Other(_)) {
            self.tell_sent(seq, nothing_outstanding, is_new, now);
        }
        net.send(&Segment { seq, is_syn, is_retransmission: !is_new, is_ect, is_cwr, is_push });
        if self.deadline == Time::NEVER || nothing_outstanding {
            self.deadline = now + self.rtt.timeout(params);
        }
    }
}

#[cfg(test)]
mod tests;
