//! Fast retransmit, fast recovery (RFC 5681, section 3.2) and limited transmit (RFC 3042), which Reno, NewReno and SACK share.

use super::newreno::MAX_BURST;
use crate::params::TcpParams;
use crate::sender::{RecoveryState, SegmentSink, Tcb};
use aqmlab_core::Time;

impl Tcb {
    /// RFC 3042: one new segment for each of the first duplicate ACKs.
    pub(super) fn limited_transmit(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let limit = f64::from(self.snd_una) + (self.cc.window.cwnd + f64::from(self.duplicate_acks));
        let within = f64::from(self.snd_nxt + 1) <= limit.min(f64::from(self.snd_una) + self.room(params));
        if params.limited_transmit && within && self.snd_nxt < self.end {
            self.transmit(self.snd_nxt, now, params, net);
            self.snd_nxt += 1;
            self.limited_transmits += 1;
        }
    }

    /// A duplicate ACK of Reno or NewReno: limited transmit, fast retransmit at the threshold, then one more segment each.
    pub fn on_duplicate_ack(&mut self, is_reno: bool, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.duplicate_acks += 1;
        if self.duplicate_acks < params.dup_ack_threshold {
            self.limited_transmit(now, params, net);
            return;
        }
        if self.duplicate_acks == params.dup_ack_threshold {
            // ns-2's Reno retransmits again while still in recovery, and if it has only its SYN through.
            let again = is_reno && self.state == RecoveryState::FastRecovery && self.flight() > 0;
            if again || self.may_fast_retransmit(params) {
                self.fast_retransmit(now, params, net);
            } else if self.may_retransmit_after_echo() {
                self.enter_fast_recovery(now, params, net);
            }
        } else if self.state == RecoveryState::FastRecovery {
            self.inflation += 1;
        }
        self.send_allowed(now, params, net, if is_reno { u32::MAX } else { MAX_BURST });
    }

    /// No fast retransmit for duplicates of segments sent before the last reduction (RFC 6582, section 3.2, step 2).
    pub(super) fn may_fast_retransmit(&self, params: &TcpParams) -> bool {
        let careful = params.careful || self.ecn;
        let only_syn_through = self.snd_una == 1;
        let beyond_last_cut = self.recover == 0 || self.snd_una > self.recover;
        self.flight() > 0 && (!careful || only_syn_through || beyond_last_cut)
    }

    /// RFC 5681, section 3.2, steps 2 and 3: reduce the window, resend the hole, count the segments that have left.
    pub(super) fn fast_retransmit(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.recover = self.snd_max;
        // RFC 5681, section 3.2, step 2: what limited transmit sent does not count.
        let flight = self.flight().saturating_sub(self.limited_transmits);
        let before = self.cc.window.cwnd;
        self.cc.enter_recovery(params.halve, self.window(params), flight);
        if self.reduce_unvalidated(before).is_some() {
            self.cc.window.cwnd = self.cc.window.ssthresh;
        }
        self.cwr_due = self.ecn;
        self.enter_fast_recovery(now, params, net);
    }

    /// Resends the hole and counts the segments that have left.
    pub(super) fn enter_fast_recovery(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.state = RecoveryState::FastRecovery;
        self.deadline = now + self.rtt.timeout(params);
        self.rtt.cancel();
        self.transmit(self.snd_una, now, params, net);
        self.inflation = params.dup_ack_threshold;
    }
}
