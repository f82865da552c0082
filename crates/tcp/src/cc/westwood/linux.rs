//! The estimate of the bandwidth in whole numbers, as `tcp_westwood.c` has it (Linux 7.3, net/ipv4). Names in parentheses are Linux's.

use aqmlab_core::{Span, Time};

/// A tick: that of the kernels that this is compared with.
const TICK: Span = Span::from_millis(1);
/// Bytes of a segment. Linux counts bytes, and cuts off what is less than one a tick.
const SEGMENT: u32 = 1448;
/// The round-trip time before the first sample, in ticks (`TCP_WESTWOOD_INIT_RTT`): no interval ends until then.
const INITIAL_RTT: u64 = 20_000;

/// Bytes a tick that the path has carried, and the least round-trip time.
#[derive(Clone, Debug, Default)]
pub(super) struct BandwidthEstimate {
    /// After one filter (`bw_ns_est`) and after both (`bw_est`).
    once: u32,
    twice: u32,
    /// Bytes counted since then (`bk`, `rtt_win_sx`).
    bytes: u32,
    since: u64,
    /// First segment not acknowledged at the last ACK; `None` before the first one.
    una: Option<u32>,
    /// Segments counted at duplicate ACKs, which an ACK in Linux's slow path takes off again (`accounted`).
    accounted: u32,
    /// The last round-trip time and the least, in ticks.
    rtt: u64,
    rtt_min: u64,
    /// The least is the next one (`reset_rtt_min`).
    forgets_min: bool,
}

impl BandwidthEstimate {
    /// The connection begins now.
    pub fn new(now: Time) -> Self {
        let (rtt, rtt_min) = (INITIAL_RTT, INITIAL_RTT);
        Self { since: ticks(now), rtt, rtt_min, forgets_min: true, ..Self::default() }
    }

    /// An ACK (`tcp_westwood_ack`), after which `una` is the first segment not acknowledged, and its round-trip time if it has one.
    /// `is_fast`: Linux predicts its header, and takes nothing off.
    pub fn on_ack(&mut self, una: u32, is_fast: bool, rtt: Option<Span>, min_interval: Span, now: Time) {
        if let Some(rtt) = rtt.filter(|rtt| *rtt > Span::ZERO) {
            self.rtt = rtt.0.div_ceil(TICK.0);
        }
        let before = *self.una.get_or_insert(una);
        let interval = ticks(now) - self.since;
        if interval > self.rtt.max(min_interval.0 / TICK.0) {
            self.filter(self.bytes / interval as u32);
            (self.bytes, self.since) = (0, ticks(now));
        }
        let advance = una.saturating_sub(before);
        self.bytes += SEGMENT * if is_fast { advance } else { self.count(advance) };
        self.una = Some(una.max(before));
        self.rtt_min = if std::mem::take(&mut self.forgets_min) { self.rtt } else { self.rtt_min.min(self.rtt) };
    }

    /// Segments that an ACK in the slow path counts for (`westwood_acked_count`).
    fn count(&mut self, advance: u32) -> u32 {
        match advance {
            0 => {
                self.accounted += 1;
                1
            }
            1 => 1,
            _ if self.accounted >= advance => {
                self.accounted -= advance;
                1
            }
            _ => advance - std::mem::take(&mut self.accounted),
        }
    }

    fn filter(&mut self, sample: u32) {
        if (self.once, self.twice) == (0, 0) {
            (self.once, self.twice) = (sample, sample);
        } else {
            self.once = (7 * self.once + sample) >> 3;
            self.twice = (7 * self.twice + self.once) >> 3;
        }
    }

    /// The window that fills the path, in whole segments, at least two (`tcp_westwood_bw_rttmin`).
    pub fn window(&self) -> f64 {
        (u64::from(self.twice) * self.rtt_min / u64::from(SEGMENT)).max(2) as f64
    }

    /// The least round-trip time is forgotten.
    pub fn forget_min(&mut self) {
        self.forgets_min = true;
    }
}

fn ticks(time: Time) -> u64 {
    time.0 / TICK.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: Span = Span::from_millis(50);

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// ACKs of two segments every 10 ms from 10 ms up to `until` ms, over 40.2 ms.
    fn fed(until: u64) -> BandwidthEstimate {
        let mut estimate = BandwidthEstimate::new(ms(0));
        (1..=until / 10)
            .for_each(|i| estimate.on_ack(2 * i as u32, true, Some(Span::from_micros(40_200)), LEAST, ms(10 * i)));
        estimate
    }

    #[test]
    fn bytes_and_ticks_are_whole() {
        assert_eq!(fed(50).window(), 2.0, "50 ms are not more than 50");
        // At 60 ms: the ACKs at 20 to 50 ms, for the first one counts nothing: 8*1448/60 = 193.07, and 41 ticks of round trip.
        let estimate = fed(60);
        assert_eq!((estimate.once, estimate.twice, estimate.rtt_min), (193, 193, 41));
        assert_eq!(estimate.window(), 5.0, "193*41/1448 = 5.5");
        // At 120 ms: 12*1448/60 = 289: (7*193 + 289)/8 = 205, (7*193 + 205)/8 = 194.5.
        let estimate = fed(120);
        assert_eq!((estimate.once, estimate.twice), (205, 194));
    }

    #[test]
    fn a_duplicate_counts_a_segment_that_the_slow_path_takes_off_again() {
        let mut estimate = fed(10);
        let mut counted = |una, is_fast| {
            let before = estimate.bytes;
            estimate.on_ack(una, is_fast, None, LEAST, ms(11));
            (estimate.bytes - before) / SEGMENT
        };
        assert_eq!([counted(2, false), counted(2, false), counted(2, false)], [1, 1, 1]);
        assert_eq!(counted(4, false), 1, "of three counted before, two are taken off");
        assert_eq!(counted(5, false), 1, "one segment is never counted twice");
        assert_eq!(counted(9, false), 3, "4 less the last one");
        assert_eq!([counted(9, false), counted(13, true)], [1, 4], "the fast path takes nothing off");
        assert_eq!(counted(13, true), 0);
    }

    #[test]
    fn the_least_round_trip_is_the_next_one_once_it_is_forgotten() {
        let mut estimate = fed(60);
        estimate.forget_min();
        estimate.on_ack(14, true, Some(Span::from_millis(90)), LEAST, ms(70));
        assert_eq!(estimate.rtt_min, 90);
        estimate.on_ack(16, true, Some(Span::from_millis(70)), LEAST, ms(80));
        assert_eq!(estimate.rtt_min, 70);
    }
}
