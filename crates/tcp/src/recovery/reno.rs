//! Reno (RFC 5681, section 3.2): recovery ends at the first ACK of new data, partial or not.

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::sender::{SegmentSink, Sender};
use aqmlab_core::Time;

impl Sender {
    /// New data are acknowledged: leave recovery, open the window.
    pub(crate) fn reno_on_new_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.take_new_ack(ack, 0, now, params);
        self.send_allowed(now, params, net, u32::MAX);
    }
}
