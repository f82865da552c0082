//! Quick ACKs: segments that a receiver of Linux acknowledges at once instead of delaying the ACK (net/ipv4/tcp_input.c).
//!
//! The receive window is followed for this only. Linux lets it grow ahead of what arrives; what limits a sender here is the
//! constant `window`.

use crate::params::TcpParams;
use aqmlab_core::{Span, Time};

/// The window that a receiver offers at first, segments: 64 KiB (`tcp_rmem`).
const FIRST_WINDOW: u32 = 45;
/// Segments that it expects in the first round trip (`tcp_init_buffer_space`).
const FIRST_ROUND: u32 = 10;

/// Segments still to be acknowledged at once, and what gives more of them.
#[derive(Clone, Debug)]
pub(crate) struct QuickAcks {
    left: u32,
    /// Time of the last segment; the first is the SYN.
    last: Time,
    /// Between the SYN and the first data; zero before.
    rtt: Span,
    /// The receive window, and what it may grow to (`rcv_ssthresh`, `window_clamp`), segments.
    window: u32,
    clamp: u32,
    /// Most segments of a round trip so far.
    space: u32,
    /// Time at which this round trip began, and the segment expected then.
    round: (Time, u32),
}

impl Default for QuickAcks {
    fn default() -> Self {
        Self {
            left: 0,
            last: Time::ZERO,
            rtt: Span::ZERO,
            window: FIRST_WINDOW,
            clamp: FIRST_WINDOW,
            space: FIRST_ROUND,
            round: (Time::ZERO, 0),
        }
    }
}

impl QuickAcks {
    /// The next segments are acknowledged at once, as after one that was there already (`tcp_data_queue`).
    pub fn hurry(&mut self, params: &TcpParams) {
        self.left = params.quick_acks;
    }

    /// True if this segment is acknowledged at once; `next` is the segment expected after it. It is at the start and after a
    /// pause longer than a timeout (`tcp_event_data_recv`), after a mark (`tcp_ecn_check_ce`), and while the receive window
    /// grows (`tcp_grow_window`).
    pub fn takes(&mut self, seq: u32, next: u32, is_ce: bool, now: Time, params: &TcpParams) -> bool {
        let since = now.since(std::mem::replace(&mut self.last, now));
        if seq == 0 && params.syn {
            return true;
        }
        if self.rtt == Span::ZERO {
            (self.rtt, self.left, self.round) = (since.max(Span(1)), params.quick_acks, (now, seq));
        } else if since > params.min_rto {
            self.hurry(params);
        } else if is_ce {
            self.left = self.left.max(2);
        }
        if self.window < self.clamp {
            self.window = (self.window + 2).min(self.clamp);
            self.left = self.left.max(1);
        }
        self.adjust_space(next, now);
        let is_quick = self.left > 0;
        self.left = self.left.saturating_sub(1);
        is_quick
    }

    /// After each round trip that has brought more than any before, the window may grow (`tcp_rcv_space_adjust`).
    fn adjust_space(&mut self, next: u32, now: Time) {
        let (began, from) = self.round;
        if now.since(began) < self.rtt {
            return;
        }
        let copied = next.saturating_sub(from);
        if copied > self.space {
            let room = 2 * copied + 16;
            let more = u64::from(room) * u64::from(copied - self.space) / u64::from(self.space);
            self.clamp = self.clamp.max(room.saturating_add(2 * more.min(u64::from(u32::MAX / 4)) as u32));
            self.space = copied;
        }
        self.round = (now, next);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Profile;
    use aqmlab_core::ParamSet;

    /// The segments from 1 on that are acknowledged at once: the SYN at 0, the first data 40 ms later, then as `ms` says.
    fn quick(count: u32, ms: impl Fn(u32) -> u64) -> Vec<bool> {
        let (mut params, mut problems) = (TcpParams::defaults(), Vec::new());
        params.read("tcp", Profile::Linux.settings().iter().copied(), &mut problems);
        let mut acks = QuickAcks::default();
        acks.takes(0, 1, false, Time::ZERO, &params);
        (1..=count)
            .map(|seq| acks.takes(seq, seq + 1, false, Time::ZERO + Span::from_millis(ms(seq)), &params))
            .collect()
    }

    #[test]
    fn the_first_sixteen_and_those_after_a_pause() {
        // One every 10 ms: four in a round trip, no more than expected. The 31st comes 300 ms after the 30th.
        let quick = quick(50, |seq| 40 + 10 * u64::from(seq) + if seq > 30 { 300 } else { 0 });
        let expected: Vec<bool> = (1..=50).map(|seq| seq <= 16 || (31..=46).contains(&seq)).collect();
        assert_eq!(quick, expected);
    }

    #[test]
    fn a_window_that_grows_is_told_of_at_once() {
        // The first data come after 41 ms, and 41 more within a round trip: room 2*42 + 16 = 100, more 100*32/10 = 320, so
        // that the window of 45 may grow to 740, by 2 a segment. Then half as many come, and it stays at that.
        let quick = quick(500, |seq| if seq < 43 { 40 + u64::from(seq) } else { 82 + 2 * u64::from(seq - 42) });
        let counted = |quick: &[bool]| quick.iter().filter(|quick| **quick).count();
        assert_eq!([counted(&quick[..16]), counted(&quick[16..42]), counted(&quick[42..])], [16, 0, 348]);
    }
}
