//! Bursts of segmentation offload: the host hands the segments of about a millisecond to its interface at once. Names in
//! parentheses are Linux's (6.1; net/ipv4/tcp_output.c and tcp_input.c).

use super::RackRecovery;
use crate::params::{BurstLimit, TcpParams};
use crate::sender::{Extras, RecoveryState, Tcb};
use aqmlab_core::{Span, Time};

/// A burst takes so long at the sender's rate, s (`sk_pacing_shift` of 10).
const TIME: f64 = 1.0 / 1024.0;
/// The longest burst, 64 KiB, in segments of 1448 B (`gso_max_size`), and the shortest (`sysctl_tcp_min_tso_segs`).
const LONGEST: f64 = 65_536.0 / 1448.0;
const SHORTEST: u32 = 2;
/// The step of the least round-trip time that halves the extra burst of a near receiver (`sysctl_tcp_tso_rtt_log` of 9).
const RTT_STEP: Span = Span::from_micros(512);
/// A sender that has been silent for longer does not wait for a whole burst.
const SILENCE: Span = Span::from_millis(1);
/// Nor one that may send this part of its window (`sysctl_tcp_tso_win_divisor`).
const PART: u32 = 3;

impl RackRecovery {
    /// New segments that may now be sent at once, under a window of `limit`; 0: they wait for a whole burst
    /// (`tcp_tso_should_defer`).
    #[inline(never)] // the way without bursts stays short
    pub(super) fn burst(&self, tcb: &Tcb, limit: u32, now: Time) -> u32 {
        if tcb.extras.has(Extras::PACING) {
            return u32::MAX;
        }
        let burst = self.burst_size(tcb);
        let room = limit - self.board.in_flight();
        let recovers = matches!(tcb.state, RecoveryState::FastRecovery | RecoveryState::RtoRecovery);
        let is_silent = now.since(self.usage.sent_at) > SILENCE;
        let is_enough = room >= burst || room >= limit / PART || room >= tcb.end - tcb.snd_nxt;
        if recovers || is_silent || is_enough || self.ack_is_late(tcb, now) { burst } else { 0 }
    }

    /// True if the host, and the pace of the law, if it has one, allow a segment now.
    #[inline]
    pub(super) fn may_send(&self, tcb: &mut Tcb, now: Time, params: &TcpParams) -> bool {
        tcb.may_send(now, |tcb| if params.bursts == BurstLimit::Gso { self.burst_size(tcb) } else { 1 })
    }

    /// Segments of a burst.
    fn burst_size(&self, tcb: &Tcb) -> u32 {
        burst(tcb.window_rate(), self.detection.min_rtt())
    }

    /// Half a round trip has not passed since the first segment outstanding was sent: its ACK is too far away to be waited for.
    fn ack_is_late(&self, tcb: &Tcb, now: Time) -> bool {
        let half = Span(tcb.rtt.smoothed().0 / 2);
        self.board.first_sent().is_none_or(|sent| now.since(sent) < half)
    }
}

/// Segments of a burst at `rate` (`tcp_tso_autosize`).
fn burst(rate: f64, min_rtt: Span) -> u32 {
    let near = LONGEST / f64::from(1u32 << (min_rtt.0 / RTT_STEP.0).min(31));
    ((rate * TIME + near).min(LONGEST) as u32).max(SHORTEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_takes_a_millisecond_and_is_longer_to_a_near_receiver() {
        let of = |rate, us| burst(rate, Span::from_micros(us));
        assert_eq!([of(1e3, 40_000), of(10_240.0, 40_000), of(1e6, 40_000)], [2, 10, 45]);
        // 45.26 segments at once below 512 us, a quarter of them, 11.3, from 1024 us on.
        assert_eq!([of(1e3, 100), of(1e3, 1100), of(10_240.0, 1100)], [45, 12, 21]);
    }
}
