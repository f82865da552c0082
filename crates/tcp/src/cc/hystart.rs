//! HyStart (Ha & Rhee, Computer Networks 55(9), 2011; `tcp_cubic.c` of Linux): leaves slow start before it overflows the
//! queue, when the ACKs of a round trip come for longer than half of the least one and of what bursts may add, or when round
//! trips get longer.

use super::{Facts, Window};
use crate::linux;
use aqmlab_core::{Span, Time};

/// Least window at which it looks, segments (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// ACKs no further apart belong to one train (`hystart_ack_delta_us`).
const ACK_DELTA: Span = Span::from_millis(2);
/// Four of the longest bursts, 64 KiB, in segments of 1448 B, and the most that they add to a train (`hystart_ack_delay`).
const BURSTS: (f64, Span) = (4.0 * 65_536.0 / 1448.0, Span::from_millis(1));
/// Round-trip times of a round that are looked at (`HYSTART_MIN_SAMPLES`).
const MIN_SAMPLES: u32 = 8;
/// An eighth of the least round trip, within these bounds, is too much delay (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
const DELAY: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));

/// The state of the present round.
#[derive(Clone, Debug, Default)]
pub struct HyStart {
    /// Least round-trip time so far.
    delay_min: Option<Span>,
    /// The round ends when this is acknowledged.
    end_seq: u32,
    round_start: Time,
    last_ack: Time,
    /// Least round-trip time of the first samples of the round.
    curr_rtt: Option<Span>,
    samples: u32,
}

impl HyStart {
    /// Takes the round-trip time of an ACK.
    pub fn measure(&mut self, ack: &Facts) {
        if let Some(rtt) = ack.rtt {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    /// True if slow start ends at this ACK, which finds the window so.
    pub fn ends_slow_start(&mut self, window: &Window, ack: &Facts) -> bool {
        let (Some(rtt), Some(delay_min)) = (ack.rtt, self.delay_min) else { return false };
        if ack.hole > self.end_seq {
            (self.end_seq, self.round_start, self.last_ack) = (ack.sent, ack.now, ack.now);
            (self.curr_rtt, self.samples) = (None, 0);
        }
        if window.cwnd < LOW_WINDOW {
            return false;
        }
        if ack.now.since(self.last_ack) <= ACK_DELTA {
            self.last_ack = ack.now;
            let bursts = BURSTS.0 / linux::pacing_rate(window, ack.flight, ack.srtt);
            let longest = delay_min + Span::from_seconds(bursts.min(BURSTS.1.seconds()));
            if ack.now.since(self.round_start).0 > longest.0 / 2 {
                return true;
            }
        }
        let curr_rtt = self.curr_rtt.map_or(rtt, |least| least.min(rtt));
        self.curr_rtt = Some(curr_rtt);
        if self.samples < MIN_SAMPLES {
            self.samples += 1;
            return false;
        }
        curr_rtt > delay_min + Span(delay_min.0 / 8).clamp(DELAY.0, DELAY.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(us: u64, rtt_ms: u64, hole: u32) -> Facts {
        let now = Time::ZERO + Span::from_micros(us);
        let rtt = Span::from_millis(rtt_ms);
        Facts { rtt: Some(rtt), srtt: rtt, hole, sent: hole + 40, now, ..Facts::default() }
    }

    fn ends(hystart: &mut HyStart, cwnd: f64, ack: &Facts) -> bool {
        hystart.measure(ack);
        hystart.ends_slow_start(&Window { cwnd, ssthresh: f64::INFINITY }, ack)
    }

    #[test]
    fn a_train_of_acks_longer_than_half_a_round_trip_ends_it() {
        let mut hystart = HyStart::default();
        // The round begins at 0; 40 ms of round trip, and a millisecond, for 181 segments at 20 in 20 ms take longer: after 20.5 ms
        // of ACKs 1 ms apart.
        let ended = (0..40).find(|i| ends(&mut hystart, 20.0, &ack(1000 * i, 40, 1 + *i as u32)));
        assert_eq!(ended, Some(21));
        // At 20 segments in 0.2 ms / 2 they take 905 us: after (400 + 905)/2 = 652.5 us.
        let mut near = HyStart::default();
        let close = |us| Facts {
            rtt: Some(Span::from_micros(400)),
            srtt: Span::from_micros(200),
            ..ack(us, 0, 1 + us as u32 / 25)
        };
        assert_eq!((0..40).find(|i| ends(&mut near, 20.0, &close(25 * i))), Some(27));
        let mut apart = HyStart::default();
        assert!(!(0..13).any(|i| ends(&mut apart, 20.0, &ack(3000 * i, 40, 1 + i as u32))), "no train");
        let mut small = HyStart::default();
        assert!(!(0..40).any(|i| ends(&mut small, 15.0, &ack(1000 * i, 40, 1 + i as u32))));
    }

    #[test]
    fn longer_round_trips_end_it_after_eight_samples() {
        let mut hystart = HyStart::default();
        assert!(!ends(&mut hystart, 20.0, &ack(0, 40, 1)));
        // 45 ms is no more than 40 + 40/8.
        assert!(!(0..20).any(|i| ends(&mut hystart, 20.0, &ack(50_000 + 3000 * i, 45, 42 + i as u32 / 2))));
        let later = |i: u64| ack(200_000 + 3000 * i, 46, 100 + i as u32 / 2);
        assert_eq!((0..20).find(|i| ends(&mut hystart, 20.0, &later(*i))), Some(8));
    }
}
