//! The sending endpoint: the application, the network and the timer come to it, and its loss recovery answers.

use crate::ack::{Ack, Advertised};
use crate::cc::{AnyLaw, LawChoice, LawFailure, SENDER_PHASES};
use crate::params::{IdleWindow, TcpParams, TcpVariant};
use crate::recovery::LossRecovery;
use crate::segment::SegmentSink;
use crate::tcb::{Extras, RecoveryState, Tcb};
use aqmlab_core::{Span, Time};

/// One sender. Parameters are passed in: many senders share one set. What an ACK that tells of no loss needs comes first, in
/// three cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    recovery: LossRecovery,
    tcb: Tcb,
}

#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Sender, tcb.retransmits) == 3 * 64);

impl Sender {
    /// A sender at rest. `ecn`: its data are ECN-capable. `clock_phase` is its boot time within a tick of its clock, which
    /// also seeds what its law draws at random.
    pub fn new(variant: TcpVariant, params: &TcpParams, control: &LawChoice, ecn: bool, clock_phase: Span) -> Self {
        Self { recovery: LossRecovery::new(variant), tcb: Tcb::new(params, control, ecn, clock_phase) }
    }

    /// The application has `segments` of data from now on, without limit if `None`; they follow what it had before.
    pub fn open(&mut self, segments: Option<u32>, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let in_flight = self.in_network();
        let tcb = &mut self.tcb;
        let first = tcb.end.max(u32::from(params.syn));
        if tcb.snd_nxt >= tcb.end && first > 1 && f64::from(in_flight) < tcb.cc.window.cwnd {
            tcb.cc.adapter().into_iter().for_each(|law| law.note_app_limited(in_flight));
        }
        tcb.end = first.saturating_add(segments.unwrap_or(u32::MAX));
        match &mut self.recovery {
            LossRecovery::Reno | LossRecovery::NewReno(_) => tcb.send_allowed(now, params, net, u32::MAX),
            LossRecovery::Sack(sack) => sack.send_allowed(tcb, now, params, net),
            LossRecovery::Rack(rack) => _ = rack.send(tcb, now, params, net),
        }
    }

    /// The application has `segments` more of data, `pause` after those before: at the beginning, while others are outstanding, or
    /// after a pause in which all had been acknowledged.
    pub fn offer(&mut self, segments: u32, pause: Span, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if self.tcb.has_failed {
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
        let tcb = &mut self.tcb;
        if !tcb.extras.has(Extras::OWN_WINDOW) {
            match (params.after_idle, &mut self.recovery) {
                (IdleWindow::Keep, _) => {}
                (IdleWindow::NewCwv, _) => tcb.validate_window(now, params),
                (IdleWindow::Decay, LossRecovery::Rack(rack)) => rack.restart_window(tcb, now, params),
                _ if pause <= tcb.rtt.timeout(params) => {}
                _ => tcb.cc.window.cwnd = tcb.cc.window.cwnd.min(tcb.initial_window(params)),
            }
        }
        tcb.cc.resume(now);
    }

    /// The application stops: nothing new is sent, what is outstanding still is until it is acknowledged.
    pub fn close(&mut self) {
        self.tcb.end = self.tcb.snd_max;
    }

    /// A finite or closed transfer is acknowledged to its end. False before `open` and while data are unlimited.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.tcb.is_done()
    }

    /// An ACK arrives.
    #[inline(always)] // at two places
    pub fn on_ack(&mut self, mut ack: Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let tcb = &mut self.tcb;
        if tcb.snd_una == 0 {
            tcb.on_syn_answered(&ack, params);
        }
        if let LossRecovery::Rack(rack) = &mut self.recovery {
            return rack.on_ack(tcb, &ack, now, params, net);
        }
        if tcb.extras.has(Extras::FEEDBACK) {
            let (una, sent) = (tcb.snd_una, tcb.snd_max);
            tcb.cc.adapter().into_iter().for_each(|law| law.take(&ack, una, sent));
            ack.ece = tcb.on_feedback(&ack, None, now);
        }
        let ack = &ack;
        if ack.ece && tcb.ecn {
            tcb.on_ecn_echo(ack.next, params);
        }
        match &mut self.recovery {
            LossRecovery::Sack(sack) => sack.on_ack(tcb, ack, now, params, net),
            LossRecovery::Reno if ack.next > tcb.snd_una => tcb.reno_on_new_ack(ack, now, params, net),
            LossRecovery::NewReno(newreno) if ack.next > tcb.snd_una => {
                newreno.on_new_ack(tcb, ack, now, params, net);
            }
            recovery if ack.next == tcb.snd_una => {
                let is_reno = matches!(recovery, LossRecovery::Reno);
                tcb.on_duplicate_ack(is_reno, now, params, net);
            }
            _ if tcb.duplicate_acks > 0 && tcb.duplicate_acks < params.dup_ack_threshold => {}
            _ => tcb.send_allowed(now, params, net, u32::MAX),
        }
    }

    /// A timer is over: that of loss recovery, or before that one is due, the pace allows the next segment.
    pub fn on_timer(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let tcb = &mut self.tcb;
        if now < tcb.deadline {
            return self.send_more(now, params, net);
        }
        match &mut self.recovery {
            LossRecovery::Reno => tcb.reno_on_timer(now, params, net),
            LossRecovery::NewReno(newreno) => newreno.on_timer(tcb, now, params, net),
            LossRecovery::Sack(sack) => sack.on_timer(tcb, now, params, net),
            LossRecovery::Rack(rack) => rack.on_timer(tcb, now, params, net),
        }
    }

    /// The queue of its host tells when a segment has left it: keeps it short, if `small_queues` says so.
    pub fn watch_host_queue(&mut self, params: &TcpParams) {
        self.tcb.extras.set(Extras::HOST_QUEUE, params.small_queues);
    }

    /// It paces at no more than so many segments per second, whatever its controller (SO_MAX_PACING_RATE in Linux).
    pub fn limit_pace(&mut self, rate: f64) {
        self.tcb.cc.limit_pace(rate);
        self.tcb.extras.set(Extras::LAW | Extras::PACING, true);
    }

    /// A segment has left the queue of its host, sent or dropped: the next may come (`tcp_wfree`, `tcp_tsq_write` in Linux).
    pub fn on_left_host(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let queue = &mut self.tcb.host_queue;
        queue.waiting = queue.waiting.saturating_sub(1);
        if std::mem::take(&mut queue.is_throttled) {
            self.send_more(now, params, net);
        }
    }

    /// The pace, or the host, allows a segment that the window has allowed before.
    #[cold]
    fn send_more(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let tcb = &mut self.tcb;
        if let Some(law) = tcb.cc.adapter() {
            law.due = Time::NEVER; // until the window allows more than the pace
        }
        match &mut self.recovery {
            LossRecovery::Reno | LossRecovery::NewReno(_) => tcb.send_allowed(now, params, net, u32::MAX),
            LossRecovery::Sack(sack) => sack.send_more(tcb, now, params, net),
            LossRecovery::Rack(rack) => _ = rack.send(tcb, now, params, net),
        }
    }

    /// Time at which `on_timer` is due; [`Time::NEVER`] if the timer is off. It often moves on before it comes.
    #[inline]
    pub fn deadline(&self) -> Time {
        match &self.tcb.cc.law {
            AnyLaw::Other(law) if self.tcb.extras.has(Extras::PACING) => self.tcb.deadline.min(law.due),
            _ => self.tcb.deadline,
        }
    }

    /// The SYN was sent `syn_retries` times again and not answered: the connection is closed, and nothing more is sent.
    pub fn has_failed(&self) -> bool {
        self.tcb.has_failed
    }

    /// The breakdown of its law, if it has one.
    pub fn law_failure(&self) -> Option<&LawFailure> {
        self.tcb.cc.law.control().failure()
    }

    /// The phase that it is in: of its law, if that has phases of its own, or one of [`SENDER_PHASES`](crate::cc::SENDER_PHASES).
    pub fn phase(&self) -> &'static str {
        let [slow_start, avoidance, fast_recovery, rto_recovery] = SENDER_PHASES;
        let window = self.tcb.cc.window;
        self.tcb.cc.law.control().phase().unwrap_or(match self.tcb.state {
            RecoveryState::FastRecovery => fast_recovery,
            RecoveryState::RtoRecovery if self.tcb.snd_una < self.tcb.recover => rto_recovery,
            _ if window.cwnd < window.ssthresh => slow_start,
            _ => avoidance,
        })
    }

    /// The variables of its law ([`CongestionControl::variables`](crate::cc::CongestionControl::variables)).
    pub fn law_variables(&self) -> Vec<(&'static str, f64)> {
        self.tcb.cc.law.control().variables()
    }

    /// The pace of its law, segments/s, of a law that has one.
    pub fn pacing_rate(&self) -> Option<f64> {
        self.tcb.cc.pacing_rate()
    }

    /// Congestion window, segments. Below 1 it is closed until the timer expires ([`EcnResponse`]).
    pub fn cwnd(&self) -> f64 {
        self.tcb.cc.window.cwnd
    }

    /// Segments sent again so far.
    pub fn retransmits(&self) -> u32 {
        self.tcb.retransmits
    }

    /// Retransmission timeouts so far.
    pub fn timeouts(&self) -> u32 {
        self.tcb.timeouts
    }

    /// Times the window was reduced for the echo of a congestion mark.
    pub fn ecn_reductions(&self) -> u32 {
        self.tcb.ecn_reductions
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        self.tcb.rtt.srtt()
    }

    /// An ACK says what room the receiver has; [`on_ack`](Self::on_ack) follows. One that another has overtaken says nothing.
    pub fn take_window(&mut self, advertised: Advertised) {
        if let Some(law) = self.tcb.cc.adapter()
            && law.advertised.is_none_or(|last| advertised.sent_at >= last.sent_at)
        {
            law.advertised = Some(advertised);
        }
    }

    /// Timestamp that its segments echo, to a receiver that drives it: when the ACK was sent.
    pub fn echo(&self) -> Option<Time> {
        if let AnyLaw::Other(law) = &self.tcb.cc.law { law.advertised.map(|window| window.sent_at) } else { None }
    }

    /// Segments in the network, as far as loss recovery knows.
    pub fn in_network(&self) -> u32 {
        match &self.recovery {
            LossRecovery::Rack(rack) => rack.in_flight(),
            _ => self.tcb.flight(),
        }
    }
}

#[cfg(test)]
mod tests;
