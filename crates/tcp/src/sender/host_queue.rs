//! The queue in the sending host. TCP small queues: a flow has no more in it than about a millisecond of its rate. Names in
//! parentheses are Linux's (net/ipv4/tcp_output.c).

use crate::linux;
use crate::params::{BurstLimit, TcpParams};
use crate::scoreboard::LossRecovery;
use crate::sender::{SegmentSink, Sender};
use aqmlab_core::Time;

/// The segments that wait there, in a sender whose queue is kept short.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostQueue {
    waiting: u16,
    is_limited: bool,
    has_bursts: bool,
    /// The window and the pace allow a segment that the queue does not (`TSQ_THROTTLED`).
    is_throttled: bool,
}

/// A flow's queue takes this part of a second at its rate (`sk_pacing_shift` of 10).
const PART: f64 = 1024.0;

impl Sender {
    /// The queue of its host tells when a segment has left it: keeps it short, if `small_queues` says so.
    pub fn watch_host_queue(&mut self, params: &TcpParams) {
        self.host_queue.is_limited = params.small_queues;
        self.host_queue.has_bursts = params.bursts == BurstLimit::Gso && matches!(self.recovery, LossRecovery::Rack(_));
    }

    /// A segment has left the queue of its host, sent or dropped: the next may come (`tcp_wfree`, `tcp_tsq_write`).
    pub fn on_left_host(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let queue = &mut self.host_queue;
        queue.waiting = queue.waiting.saturating_sub(1);
        if std::mem::take(&mut queue.is_throttled) {
            self.send_more(now, params, net);
        }
    }

    /// A segment goes to the queue of its host.
    #[inline]
    pub(crate) fn enter_host(&mut self) {
        self.host_queue.waiting += u16::from(self.host_queue.is_limited);
    }

    /// The queue of its host has room for a segment.
    #[inline]
    pub(super) fn host_has_room(&mut self) -> bool {
        !self.host_queue.is_limited || self.has_room_in_host_queue()
    }

    /// Two segments, or bursts, or what the rate sends in about a millisecond (`tcp_small_queue_check`). One goes in any case
    /// where no more than one is outstanding.
    #[cold]
    #[inline(never)]
    fn has_room_in_host_queue(&mut self) -> bool {
        let rate = self.cc.pacing_rate().unwrap_or_else(|| self.window_rate());
        let at_once = if self.host_queue.has_bursts { self.rack_burst_size() } else { 1 };
        let limit = (rate / PART).max(2.0 * f64::from(at_once)) as u32;
        let has_room = u32::from(self.host_queue.waiting) < limit || self.flight() <= 1;
        self.host_queue.is_throttled |= !has_room;
        has_room
    }

    /// The rate of its window, segments a second.
    pub(crate) fn window_rate(&self) -> f64 {
        linux::pacing_rate(&self.cc.window, self.flight(), self.rtt.smoothed())
    }
}
