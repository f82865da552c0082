//! The sending endpoint: window, sending and the retransmission timer, shared by every kind of recovery.

use crate::cc::Reno;
use crate::params::{TcpParams, Variant};
use crate::rtt::Rtt;
use aqmlab_core::{Span, Time};

/// A segment as the sender hands it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Number of the segment; 0 is the SYN where there is one.
    pub seq: u32,
    /// It carries no data.
    pub is_syn: bool,
    /// It has been sent before.
    pub is_retransmission: bool,
}

/// Where segments go.
pub trait Network {
    /// Takes a segment sent now.
    fn send(&mut self, segment: Segment);
}

/// Why the window was last reduced (ns-2's last_cwnd_action).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LastCut {
    None,
    /// In fast recovery.
    FastRetransmit,
    /// Fast recovery has ended.
    Recovered,
    Timeout,
}

/// One sender with unlimited data. Parameters are passed in: many senders share one set.
#[derive(Clone, Debug)]
pub struct Sender {
    pub(crate) cc: Reno,
    pub(crate) rtt: Rtt,
    variant: Variant,
    pub(crate) last_cut: LastCut,
    pub(crate) first_partial_seen: bool,
    /// Segments that have left the network during recovery (ns-2's dupwnd).
    pub(crate) inflation: u32,
    pub(crate) duplicate_acks: u32,
    /// New segments sent at these duplicate ACKs.
    limited_transmits: u32,
    next_seq: u32,
    /// Highest segment acknowledged.
    pub(crate) highest_ack: Option<u32>,
    /// Highest segment sent.
    highest_sent: Option<u32>,
    /// Highest segment sent when the window was last reduced; `None` before the first time.
    pub(crate) recover: Option<u32>,
    /// No segment from here on exists.
    end: u32,
    initial_window: f64,
    deadline: Time,
    retransmits: u32,
    timeouts: u32,
}

impl Sender {
    /// A sender at rest. `clock_phase` is its boot time within a tick of its clock.
    pub fn new(variant: Variant, params: &TcpParams, clock_phase: Span) -> Self {
        let initial_window = params.initial_window.0;
        let cwnd = if params.syn { 1.0 } else { initial_window };
        Self {
            cc: Reno { cwnd, ssthresh: params.window.0.floor() },
            rtt: Rtt::new(params, clock_phase),
            variant,
            last_cut: LastCut::None,
            first_partial_seen: false,
            inflation: 0,
            duplicate_acks: 0,
            limited_transmits: 0,
            next_seq: 0,
            highest_ack: None,
            highest_sent: None,
            recover: None,
            end: 0,
            initial_window,
            deadline: Time::NEVER,
            retransmits: 0,
            timeouts: 0,
        }
    }

    /// The application has unlimited data from now on.
    pub fn open(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        self.end = u32::MAX;
        self.send_allowed(now, params, net, u32::MAX);
    }

    /// The application stops: nothing new is sent, what is outstanding still is until it is acknowledged.
    pub fn close(&mut self) {
        self.end = self.highest_sent.map_or(0, |seq| seq + 1);
    }

    /// A cumulative ACK arrives: all up to `ack` are there, or (`None`) not even segment 0.
    #[inline]
    pub fn on_ack(&mut self, ack: Option<u32>, now: Time, params: &TcpParams, net: &mut impl Network) {
        match (ack, self.variant) {
            (Some(new), Variant::Reno) if ack > self.highest_ack => self.reno_on_new_ack(new, now, params, net),
            (Some(new), Variant::NewReno) if ack > self.highest_ack => self.newreno_on_new_ack(new, now, params, net),
            (_, Variant::Reno) if ack == self.highest_ack => self.reno_on_duplicate_ack(now, params, net),
            (_, Variant::NewReno) if ack == self.highest_ack => self.newreno_on_duplicate_ack(now, params, net),
            _ if self.duplicate_acks > 0 && self.duplicate_acks < params.dup_ack_threshold => {}
            _ => self.send_allowed(now, params, net, u32::MAX),
        }
    }

    /// The retransmission timer expired: one segment, everything after the hole again (go-back-N), timeout doubled.
    pub fn on_timer(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        self.deadline = Time::NEVER;
        if self.highest_sent == self.highest_ack {
            return;
        }
        self.timeouts += 1;
        if self.highest_ack.is_none() {
            self.initial_window = 1.0; // RFC 5681, section 3.1: after a lost SYN, one segment
        }
        self.inflation = 0;
        self.duplicate_acks = 0;
        self.limited_transmits = 0;
        self.first_partial_seen = false;
        self.recover = self.highest_sent;
        self.cc.on_timeout(params.halve, self.window(params), self.flight());
        self.last_cut = LastCut::Timeout;
        self.rtt.back_off(params);
        self.rtt.cancel();
        self.deadline = now + self.rtt.timeout(params);
        self.next_seq = self.hole();
        self.send_allowed(now, params, net, u32::MAX);
    }

    /// When `on_timer` is due; [`Time::NEVER`] if the timer is off. It often moves on before it comes.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// Congestion window, segments.
    pub fn cwnd(&self) -> f64 {
        self.cc.cwnd
    }

    /// Segments sent again so far.
    pub fn retransmits(&self) -> u32 {
        self.retransmits
    }

    /// Retransmission timeouts so far.
    pub fn timeouts(&self) -> u32 {
        self.timeouts
    }

    /// Window in segments, with what left the network during recovery, within the receiver's.
    pub(crate) fn window(&self, params: &TcpParams) -> f64 {
        (self.cc.cwnd + f64::from(self.inflation)).min(params.window.0)
    }

    /// First segment not acknowledged.
    fn hole(&self) -> u32 {
        self.highest_ack.map_or(0, |ack| ack + 1)
    }

    /// Segments sent and not acknowledged.
    pub(crate) fn flight(&self) -> u32 {
        self.highest_sent.map_or(0, |sent| sent + 1).saturating_sub(self.hole())
    }

    /// Sends what the window allows, at most `burst` segments.
    #[inline]
    pub(crate) fn send_allowed(&mut self, now: Time, params: &TcpParams, net: &mut impl Network, burst: u32) {
        // Whole segments only: ns-2 cuts cwnd before it adds the inflation, which is whole itself.
        let allowed = self.hole().saturating_add(self.window(params) as u32).min(self.end);
        let stop = allowed.min(self.next_seq.saturating_add(burst));
        while self.next_seq < stop {
            self.transmit(self.next_seq, now, params, net);
            self.next_seq += 1;
        }
    }

    /// RFC 3042: one new segment for each of the first duplicate ACKs.
    pub(crate) fn limited_transmit(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        let limit = f64::from(self.hole()) + (self.cc.cwnd + f64::from(self.duplicate_acks));
        let within = f64::from(self.next_seq + 1) <= limit.min(f64::from(self.hole()) + params.window.0);
        if params.limited_transmit && within && self.next_seq < self.end {
            self.transmit(self.next_seq, now, params, net);
            self.next_seq += 1;
            self.limited_transmits += 1;
        }
    }

    /// No fast retransmit for duplicates of segments sent before the last reduction (RFC 6582, section 3.2, step 2).
    pub(crate) fn may_fast_retransmit(&self, params: &TcpParams) -> bool {
        let only_syn_through = self.highest_ack == Some(0);
        let beyond_last_cut = self.recover.is_none() || self.highest_ack > self.recover;
        self.flight() > 0 && (!params.careful || only_syn_through || beyond_last_cut)
    }

    /// RFC 5681, section 3.2, steps 2 and 3: halve, resend the hole, count the segments that have left.
    pub(crate) fn fast_retransmit(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        self.recover = self.highest_sent;
        self.last_cut = LastCut::FastRetransmit;
        // RFC 5681, section 3.2, step 2: what limited transmit sent does not count.
        let flight = self.flight().saturating_sub(self.limited_transmits);
        self.cc.enter_recovery(params.halve, self.window(params), flight);
        self.deadline = now + self.rtt.timeout(params);
        self.rtt.cancel();
        self.transmit(self.hole(), now, params, net);
        self.inflation = params.dup_ack_threshold;
    }

    /// Sends the first segment not acknowledged again.
    pub(crate) fn retransmit_hole(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        self.rtt.on_retransmit(self.hole());
        self.transmit(self.hole(), now, params, net);
    }

    /// New data end fast recovery, if it is on, or are acknowledged outside it.
    pub(crate) fn take_new_ack(&mut self, ack: u32, now: Time, params: &TcpParams) {
        let in_recovery = self.last_cut == LastCut::FastRetransmit;
        self.inflation = 0;
        if in_recovery {
            self.last_cut = LastCut::Recovered;
        }
        self.duplicate_acks = 0;
        self.limited_transmits = 0;
        let handshake_done = self.highest_ack.is_none() && params.syn;
        self.acknowledge(ack, now, params);
        if handshake_done && self.timeouts > 0 {
            self.rtt.after_lost_syn();
        }
        self.restart_timer(now, params);
        if handshake_done {
            self.cc.cwnd = self.initial_window;
        } else if in_recovery && !params.open_on_exit {
            self.cc.cwnd = self.cc.ssthresh;
        } else {
            self.cc.on_ack();
        }
    }

    /// Notes what is acknowledged; samples the round-trip time.
    pub(crate) fn acknowledge(&mut self, ack: u32, now: Time, params: &TcpParams) {
        self.highest_ack = Some(ack);
        self.next_seq = self.next_seq.max(ack + 1);
        self.rtt.on_ack(ack, now, params);
    }

    /// RFC 6298, (5.2) and (5.3): on while data are outstanding, else off.
    pub(crate) fn restart_timer(&mut self, now: Time, params: &TcpParams) {
        let outstanding = self.highest_sent > self.highest_ack;
        self.deadline = if outstanding { now + self.rtt.timeout(params) } else { Time::NEVER };
    }

    fn transmit(&mut self, seq: u32, now: Time, params: &TcpParams, net: &mut impl Network) {
        let nothing_outstanding = self.highest_sent == self.highest_ack;
        let is_new = self.highest_sent.is_none_or(|highest| seq > highest);
        if is_new {
            self.highest_sent = Some(seq);
            self.rtt.on_send_new(seq, now);
        } else {
            self.retransmits += 1;
        }
        net.send(Segment { seq, is_syn: seq == 0 && params.syn, is_retransmission: !is_new });
        if self.deadline == Time::NEVER || nothing_outstanding {
            self.deadline = now + self.rtt.timeout(params);
        }
    }
}

#[cfg(test)]
mod tests;
