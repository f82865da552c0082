//! The transmission control block (TCB, RFC 9293), which every kind of recovery shares: window, sending, round-trip times, and
//! reports to the law.

mod ecn;
mod extras;
mod growth;
mod host_queue;
mod ns2;
mod validation;

pub(crate) use extras::Extras;

use crate::ack::Ack;
use crate::cc::{AnyLaw, Congestion, Facts, LawChoice};
use crate::ecn::EcnFeedback;
use crate::params::{BurstLimit, EcnResponse, Estimator, TcpParams};
use crate::rtt::RttEstimator;
use crate::segment::{Segment, SegmentSink};
use aqmlab_core::{Span, Time};
use growth::WindowUse;
use host_queue::HostQueue;
use validation::Validation;

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

/// The state of a sender that every kind of recovery reads and changes. The fields that an ACK without loss needs come first.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Tcb {
    pub cc: Congestion,
    pub rtt: RttEstimator,
    pub deadline: Time,
    /// SND.NXT: the next segment to be sent; after a timeout it goes back.
    pub snd_nxt: u32,
    /// SND.UNA: the first segment not acknowledged.
    pub snd_una: u32,
    /// One past the highest segment sent.
    pub snd_max: u32,
    /// No segment from here on exists; 0 before the first `open`.
    pub end: u32,
    /// Segments that have left the network during recovery (ns-2's dupwnd).
    pub inflation: u32,
    pub duplicate_acks: u32,
    /// New segments sent at these duplicate ACKs.
    pub limited_transmits: u32,
    /// The value of `snd_max` when the window was last reduced; 0 before the first time.
    pub recover: u32,
    pub state: RecoveryState,
    /// Data are sent ECN-capable.
    pub ecn: bool,
    /// The receiver has not yet been told of the last reduction.
    pub cwr_due: bool,
    /// ns-2: the last echo came at a window of one segment or less.
    pub echo_at_one: bool,
    pub extras: Extras,
    /// The SYN has timed out, or was marked.
    pub syn_lost: bool,
    /// The SYN has been given up.
    pub has_failed: bool,
    pub retransmits: u32,
    pub timeouts: u32,
    pub ecn_reductions: u32,
    pub(super) host_queue: HostQueue,
    pub(super) window_use: WindowUse,
    /// Of a sender with new-CWV, whose law does not own the window.
    pub(super) validation: Option<Box<Validation>>,
}

impl Tcb {
    pub fn new(params: &TcpParams, control: &LawChoice, ecn: bool, clock_phase: Span) -> Self {
        let cwnd = if params.syn { 1.0 } else { params.initial_window.0 };
        let mut cc = Congestion::new(cwnd, params.window.0.floor(), control.law());
        cc.law.control_mut().seed(clock_phase.0);
        if let Some(law) = cc.adapter() {
            law.has_offload = params.bursts == BurstLimit::Gso;
            law.needs.pacing &= params.pacing;
        }
        let extras = Extras::new(&cc, params);
        let validation = if extras.has(Extras::OWN_WINDOW) { None } else { Validation::new(params.after_idle) };
        Self {
            cc,
            rtt: RttEstimator::new(params, clock_phase),
            deadline: Time::NEVER,
            snd_nxt: 0,
            snd_una: 0,
            snd_max: 0,
            end: 0,
            inflation: 0,
            duplicate_acks: 0,
            limited_transmits: 0,
            recover: 0,
            state: RecoveryState::Open,
            ecn,
            cwr_due: false,
            echo_at_one: false,
            extras,
            syn_lost: false,
            has_failed: false,
            retransmits: 0,
            timeouts: 0,
            ecn_reductions: 0,
            host_queue: HostQueue::default(),
            window_use: WindowUse::default(),
            validation,
        }
    }

    /// Window in segments, with what left the network during recovery, within the receiver's.
    pub fn window(&self, params: &TcpParams) -> f64 {
        let (window, room) = (self.cc.window.cwnd + f64::from(self.inflation), self.room(params));
        if window < room { window } else { room } // neither is NaN, which `min` asks for
    }

    /// Segments from the first not acknowledged on that the receiver has room for.
    #[inline]
    pub fn room(&self, params: &TcpParams) -> f64 {
        if self.extras.has(Extras::ADVERTISED)
            && let AnyLaw::Other(law) = &self.cc.law
            && let Some(window) = law.advertised
        {
            return f64::from(window.edge.saturating_sub(self.snd_una));
        }
        params.window.0
    }

    /// Segments sent and not acknowledged.
    pub fn flight(&self) -> u32 {
        self.snd_max.saturating_sub(self.snd_una)
    }

    /// A finite or closed transfer is acknowledged to its end. False before `open` and while data are unlimited.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.end > 0 && self.snd_una >= self.end
    }

    /// Sends what the window allows, at most `burst` segments. It asks for no block of SACK.
    #[inline(always)] // for each ACK
    pub fn send_allowed(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink, burst: u32) {
        let stop = self.allowed(params, burst);
        while self.snd_nxt < stop && self.may_send(now, |_| 1) {
            self.transmit(self.snd_nxt, now, params, net);
            self.snd_nxt += 1;
        }
    }

    /// The segment before which the window stops, at most `burst` from now.
    #[inline]
    pub fn allowed(&self, params: &TcpParams, burst: u32) -> u32 {
        // Whole segments only: ns-2 cuts cwnd before it adds the inflation, which is whole itself.
        let allowed = self.snd_una.saturating_add(self.window(params) as u32).min(self.end);
        allowed.min(self.snd_nxt.saturating_add(burst))
    }

    /// New data end fast recovery, if it is on, or are acknowledged outside it. Of `known` segments among them an earlier ACK
    /// has told: they have left the network, and the window has grown for them or was not to.
    pub fn take_new_ack(&mut self, ack: &Ack, known: u32, now: Time, params: &TcpParams) {
        let in_recovery = self.state == RecoveryState::FastRecovery;
        self.inflation = 0;
        if in_recovery {
            self.state = RecoveryState::Open;
            self.end_unvalidated_reduction();
        }
        self.duplicate_acks = 0;
        self.limited_transmits = 0;
        let handshake_done = self.snd_una == 0 && params.syn;
        let prior_una = self.snd_una;
        self.acknowledge(ack, now, params);
        let is_echo = ack.ece && self.ecn;
        self.echo_at_one &= is_echo;
        if handshake_done && self.timeouts > 0 {
            self.rtt.after_lost_syn();
            // ns-2 takes the ECE that agrees on ECN for an echo, after a timeout and at a window of one.
            self.echo_at_one = self.ecn && params.ecn_response == EcnResponse::Ns2;
        }
        self.restart_timer(now, params);
        let minds_use = self.extras.has(Extras::WINDOW_USE);
        if minds_use {
            self.validate_window(now, params);
        }
        if handshake_done {
            self.begin(params);
        } else if in_recovery && !params.open_on_exit {
            self.cc.leave_recovery();
        } else if !is_echo || self.is_answered(ack.next, params) {
            let (acked, flight, srtt) = (ack.next - prior_una - known, self.snd_max - prior_una, self.rtt.smoothed());
            let (is_app_limited, before) = (self.snd_nxt >= self.end, self.cc.window);
            if !minds_use || self.is_growth_valid(|| f64::from(flight) >= before.cwnd.floor()).unwrap_or(true) {
                let delay = ack.delay;
                self.cc.on_ack(|| Facts { acked, flight, is_app_limited, delay, srtt, now, ..Facts::default() });
                if minds_use {
                    self.limit_growth(before, flight, params);
                }
            }
        }
    }

    /// The handshake is done, as loss recovery with timestamps sees it.
    pub fn establish(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if params.handshake_ack {
            net.send_handshake_ack();
            self.host_queue.waiting += u16::from(self.extras.has(Extras::HOST_QUEUE));
        }
        self.begin(params);
        let (window, rtt) = (self.cc.window, self.rtt.smoothed());
        self.cc.adapter().into_iter().for_each(|law| law.on_established(&window, rtt, now));
    }

    /// The handshake is done. Linux takes back what a lost SYN has done to ssthresh (`tcp_init_metrics`).
    pub fn begin(&mut self, params: &TcpParams) {
        self.cc.window.cwnd = self.initial_window(params);
        if params.forgive_syn {
            self.cc.window.ssthresh = params.window.0;
        }
    }

    /// RFC 5681, section 3.1: after a lost SYN, one segment. So it is after a marked one.
    pub fn initial_window(&self, params: &TcpParams) -> f64 {
        if self.syn_lost { 1.0 } else { params.initial_window.0 }
    }

    /// The retransmission timer has expired, which `timeouts` counts: was it the SYN's, and one too many?
    pub fn note_lost_syn(&mut self, params: &TcpParams) {
        let forgiven = u32::from(params.forgive_syn);
        self.syn_lost |= self.snd_una == 0 && self.timeouts > forgiven;
    }

    /// Notes what is acknowledged; samples the round-trip time.
    #[inline]
    pub fn acknowledge(&mut self, ack: &Ack, now: Time, params: &TcpParams) {
        self.snd_una = ack.next;
        self.snd_nxt = self.snd_nxt.max(ack.next);
        self.rtt.on_ack(ack.next, self.echo_at_one && ack.ece, now, params);
    }

    /// Tells a law that asks for it of an ACK, and of the round trip that loss recovery has measured with it. True if it tells of a
    /// new mark that the sender must answer.
    #[inline(never)] // Reno's way stays short
    pub fn on_feedback(&mut self, ack: &Ack, rtt: Option<Span>, now: Time) -> bool {
        let (una, sent, flight) = (self.snd_una, self.snd_max, self.flight());
        let acked = ack.next.saturating_sub(una);
        let is_app_limited = self.snd_nxt >= self.end;
        let (delay, srtt) = (ack.delay, self.rtt.smoothed());
        let facts = Facts {
            acked,
            flight,
            is_app_limited,
            delay,
            srtt,
            rtt,
            hole: una.max(ack.next),
            sent,
            is_predicted: ack.sack.is_empty() && ack.dsack.is_none() && !ack.ece && !ack.has_new_window,
            now,
            ..Facts::default()
        };
        let ssthresh = self.cc.window.ssthresh;
        let is_echo = self.cc.on_feedback(ack, facts, una, self.retransmits);
        if is_echo && self.cc.adapter().is_some_and(|law| law.needs.answers_marks) {
            self.ecn_reductions += u32::from(self.cc.window.ssthresh != ssthresh);
            return false;
        }
        is_echo
    }

    /// True if the host, and the pace of the law, if it has one, allow a segment now. `at_once`: segments that leave the host at once.
    #[inline]
    pub fn may_send(&mut self, now: Time, at_once: impl FnOnce(&Self) -> u32) -> bool {
        if !self.extras.has(Extras::PACING | Extras::HOST_QUEUE) {
            return true;
        }
        let has_room = !self.extras.has(Extras::HOST_QUEUE) || self.host_has_room(at_once(self));
        has_room && self.cc.adapter().is_none_or(|law| law.may_send(now))
    }

    /// Counts a segment sent in the queue of its host and reports it to the law; `in_flight` are in the network, with it.
    fn report_sent(&mut self, seq: u32, is_first: bool, is_new: bool, in_flight: u32, now: Time) {
        self.host_queue.waiting += u16::from(self.extras.has(Extras::HOST_QUEUE));
        let sent_before = self.snd_max - u32::from(is_new);
        if in_flight == 1 && !is_first {
            self.cc.restart(now);
        }
        if let Some(law) = self.cc.adapter() {
            if law.needs.order && in_flight == 1 {
                law.law.on_transmit_start(sent_before);
            }
            law.on_sent(seq, self.snd_una, is_first, in_flight, now);
        }
    }

    /// The SYN is answered. One that was sent again may have been the end of ECN, if it is that which came first.
    #[cold]
    pub fn on_syn_answered(&mut self, ack: &Ack, params: &TcpParams) {
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
        let needs_ecn = feedback != EcnFeedback::Classic && !self.extras.has(Extras::OWN_WINDOW);
        needs_ecn && params.estimator == Estimator::Linux || params.ect_on_syn && is_first
    }

    /// Sends a segment, new or again, where all that is outstanding counts as in the network.
    pub fn transmit(&mut self, seq: u32, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.transmit_from(seq, Self::flight, false, now, params, net);
    }

    /// Sends a segment, new or again. `in_network`: segments in the network, with it; `ends_write`: it is the last of what the
    /// application has written at once.
    pub fn transmit_from(
        &mut self,
        seq: u32,
        in_network: impl FnOnce(&Self) -> u32,
        ends_write: bool,
        now: Time,
        params: &TcpParams,
        net: &mut impl SegmentSink,
    ) {
        let nothing_outstanding = self.snd_max == self.snd_una;
        let is_new = seq >= self.snd_max;
        if is_new {
            self.snd_max = seq + 1;
            self.rtt.on_send_new(seq, now);
        } else {
            self.retransmits += 1;
            self.rtt.on_retransmit(seq);
        }
        let is_syn = seq == 0 && params.syn;
        let is_ect = match is_syn {
            true => self.ecn && self.is_ect_on_syn(is_new, params),
            false => self.ecn && (is_new || params.ect_on_retransmit),
        };
        let is_cwr = is_ect && std::mem::take(&mut self.cwr_due);
        let is_push = ends_write || seq + 1 == self.end;
        if self.extras.has(Extras::LAW | Extras::HOST_QUEUE) {
            self.report_sent(seq, nothing_outstanding, is_new, in_network(self), now);
        }
        net.send(&Segment { seq, is_syn, is_retransmission: !is_new, is_ect, is_cwr, is_push });
        if self.deadline == Time::NEVER || nothing_outstanding {
            self.deadline = now + self.rtt.timeout(params);
        }
    }
}
