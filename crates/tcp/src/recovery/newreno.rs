//! NewReno (RFC 6582): a partial ACK retransmits the next hole; recovery lasts until `recover` is acknowledged.

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::sender::{RecoveryState, SegmentSink, Sender};
use aqmlab_core::Time;

/// Segments that one ACK may release during recovery.
pub(super) const MAX_BURST: u32 = 2;

impl Sender {
    /// New data are acknowledged: all that was outstanding at the loss, or only a part.
    pub(crate) fn newreno_on_new_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if ack.next < self.recover && self.state == RecoveryState::FastRecovery {
            return self.on_partial_ack(ack, now, params, net);
        }
        let in_recovery = self.state == RecoveryState::FastRecovery;
        self.first_partial_seen = false;
        self.take_new_ack(ack, 0, now, params);
        if in_recovery && !params.open_on_exit {
            // RFC 6582, section 3.2, step 3: a full ACK releases no burst.
            self.cc.window.cwnd = self.cc.window.cwnd.min(f64::from(self.flight().max(1) + 1));
        }
        self.send_allowed(now, params, net, u32::MAX);
    }

    /// RFC 6582, section 3.2, step 3: retransmit the hole, deflate by what was acknowledged, add one segment back.
    fn on_partial_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let acked = ack.next - self.hole;
        if self.inflation > acked {
            self.inflation -= acked - 1;
        } else {
            self.cc.window.cwnd = (self.cc.window.cwnd - f64::from(acked - self.inflation)).max(1.0);
            self.inflation = 1; // recovery goes on
        }
        self.acknowledge(ack, now, params);
        if !self.first_partial_seen {
            // The impatient variant: only the first partial ACK restarts the timer.
            self.first_partial_seen = true;
            self.restart_timer(now, params);
        }
        self.transmit(self.hole, now, params, net);
        self.send_allowed(now, params, net, MAX_BURST);
    }
}
