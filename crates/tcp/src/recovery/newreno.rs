//! NewReno (RFC 6582): a partial ACK retransmits the next hole; recovery lasts until `recover` is acknowledged.

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::sender::{RecoveryState, SegmentSink, Tcb};
use aqmlab_core::Time;

/// Segments that one ACK may release during recovery.
pub(super) const MAX_BURST: u32 = 2;

/// The state of a sender with NewReno.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct NewRenoRecovery {
    first_partial_seen: bool,
}

impl NewRenoRecovery {
    /// New data are acknowledged: all that was outstanding at the loss, or only a part.
    pub fn on_new_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let in_recovery = tcb.state == RecoveryState::FastRecovery;
        if in_recovery && ack.next < tcb.recover {
            return self.on_partial_ack(tcb, ack, now, params, net);
        }
        self.first_partial_seen = false;
        tcb.take_new_ack(ack, 0, now, params);
        if in_recovery && !params.open_on_exit {
            // RFC 6582, section 3.2, step 3: a full ACK releases no burst.
            tcb.cc.window.cwnd = tcb.cc.window.cwnd.min(f64::from(tcb.flight().max(1) + 1));
        }
        tcb.send_allowed(now, params, net, u32::MAX);
    }

    /// The retransmission timer is over.
    pub fn on_timer(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.first_partial_seen = false;
        tcb.reno_on_timer(now, params, net);
    }

    /// RFC 6582, section 3.2, step 3: retransmit the hole, deflate by what was acknowledged, add one segment back.
    fn on_partial_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let acked = ack.next - tcb.snd_una;
        if tcb.inflation > acked {
            tcb.inflation -= acked - 1;
        } else {
            tcb.cc.window.cwnd = (tcb.cc.window.cwnd - f64::from(acked - tcb.inflation)).max(1.0);
            tcb.inflation = 1; // recovery goes on
        }
        tcb.acknowledge(ack, now, params);
        if !self.first_partial_seen {
            // The impatient variant: only the first partial ACK restarts the timer.
            self.first_partial_seen = true;
            tcb.restart_timer(now, params);
        }
        tcb.transmit(tcb.snd_una, now, params, net);
        tcb.send_allowed(now, params, net, MAX_BURST);
    }
}
