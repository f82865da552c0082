//! The queue in the sending host. TCP small queues: a flow has no more in it than about a millisecond of its rate. Names in
//! parentheses are Linux's (net/ipv4/tcp_output.c).

use crate::linux;
use crate::sender::Tcb;

/// The segments that wait there, in a sender whose queue is kept short.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HostQueue {
    pub waiting: u16,
    /// The window and the pace allow a segment that the queue does not (`TSQ_THROTTLED`).
    pub is_throttled: bool,
}

/// A flow's queue takes this part of a second at its rate (`sk_pacing_shift` of 10).
const PART: f64 = 1024.0;

impl Tcb {
    /// The queue of its host has room for a segment. It may hold two bursts of `at_once` segments, or what the rate sends in about
    /// a millisecond (`tcp_small_queue_check`). One goes in any case where no more than one is outstanding.
    #[cold]
    #[inline(never)]
    pub(super) fn host_has_room(&mut self, at_once: u32) -> bool {
        let rate = self.cc.pacing_rate().unwrap_or_else(|| self.window_rate());
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
