//! Reno (RFC 5681, section 3.2): recovery ends at the first ACK of new data, partial or not.

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::sender::{SegmentSink, Tcb};
use aqmlab_core::Time;

impl Tcb {
    /// New data are acknowledged: leave recovery, open the window.
    pub(crate) fn reno_on_new_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.take_new_ack(ack, 0, now, params);
        self.send_allowed(now, params, net, u32::MAX);
    }

    /// The retransmission timer is over.
    pub(crate) fn reno_on_timer(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if self.on_retransmission_timer(now, params) {
            self.send_allowed(now, params, net, u32::MAX);
        }
    }
}
