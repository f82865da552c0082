//! Reno (RFC 5681, section 3.2): recovery ends at the first ACK of new data, partial or not.

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::sender::{RecoveryState, SegmentSink, Sender};
use aqmlab_core::Time;

impl Sender {
    /// New data are acknowledged: leave recovery, open the window.
    pub(crate) fn reno_on_new_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.take_new_ack(ack, 0, now, params);
        self.send_allowed(now, params, net, u32::MAX);
    }

    /// A duplicate ACK: limited transmit, fast retransmit at the threshold, then one more segment each.
    pub(crate) fn reno_on_duplicate_ack(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.duplicate_acks += 1;
        if self.duplicate_acks < params.dup_ack_threshold {
            self.limited_transmit(now, params, net);
            return;
        }
        if self.duplicate_acks == params.dup_ack_threshold {
            // ns-2 lets a sender that is still in recovery retransmit again, and one that has only its SYN through.
            let again = self.state == RecoveryState::FastRecovery && self.flight() > 0;
            if again || self.may_fast_retransmit(params) {
                self.fast_retransmit(now, params, net);
            } else if self.may_retransmit_after_echo() {
                self.enter_fast_recovery(now, params, net);
            }
        } else if self.state == RecoveryState::FastRecovery {
            self.inflation += 1;
        }
        self.send_allowed(now, params, net, u32::MAX);
    }
}
