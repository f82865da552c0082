//! A token bucket, which tells packets that conform to a rate and a burst from those that do not.

use aqmlab_core::{Rate, Span, Time};
use aqmlab_scenario::PolicerSpec;

/// A bucket of tokens, each the right to send a byte. It counts them as the time that they take to come, as Linux does
/// (`tcf_police_act`), so that a whole number of picoseconds is never lost.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    rate: Rate,
    /// Time in which it fills.
    depth: Span,
    /// Time in which the tokens have come that are there.
    filled: Span,
    /// Time as of which they are.
    since: Time,
}

impl TokenBucket {
    /// A full one.
    pub fn new(policer: &PolicerSpec) -> Self {
        let depth = Span::from_seconds(8.0 * policer.burst.0 / policer.rate.0);
        Self { rate: policer.rate, depth, filled: depth, since: Time::ZERO }
    }

    /// A packet of `bytes` bytes comes: true if there are tokens for it, which it takes.
    pub fn takes(&mut self, bytes: u32, now: Time) -> bool {
        let come = self.filled.0.saturating_add(now.since(self.since).0);
        (self.filled, self.since) = (Span(come.min(self.depth.0)), now);
        let left = self.filled.0.checked_sub(self.rate.transmission(bytes).0);
        self.filled = left.map_or(self.filled, Span);
        left.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Bytes;
    use aqmlab_scenario::PolicerAction;

    fn bucket(rate: f64, burst: f64) -> TokenBucket {
        TokenBucket::new(&PolicerSpec { rate: Rate(rate), burst: Bytes(burst), action: PolicerAction::Drop })
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_packet_takes_its_tokens_or_none() {
        // 1 kB/s and 2 kB: two packets of 1000 B at once, then 500 B of 1000 B have come, then 1000 B.
        let mut bucket = bucket(8e3, 2000.0);
        let steps = [(0, 1000, true), (0, 1000, true), (500, 1000, false), (500, 500, true), (1499, 1000, false)];
        for (at, bytes, takes) in steps.into_iter().chain([(1500, 1000, true), (1500, 1, false)]) {
            assert_eq!(bucket.takes(bytes, ms(at)), takes, "{bytes} B at {at} ms");
        }
    }

    #[test]
    fn no_more_than_the_burst_is_saved_up() {
        let mut bucket = bucket(8e3, 2000.0);
        assert!(bucket.takes(2000, ms(0)) && !bucket.takes(2001, ms(100_000)));
        assert!(bucket.takes(2000, ms(100_000)) && !bucket.takes(1, ms(100_000)));
    }

    #[test]
    fn twice_the_rate_finds_tokens_for_burst_over_rate_and_then_for_every_other_packet() {
        // 1000 B each ms are 8 Mbit/s; tokens come at 4 Mbit/s. The n-th packet (from 0) finds 10000 + 500 n - 1000 n
        // bytes: enough up to n = 18, at 18 ms; in theory B/(2r - r) = 20 ms.
        let mut bucket = bucket(4e6, 10_000.0);
        let takes: Vec<bool> = (0..1000).map(|n| bucket.takes(1000, ms(n))).collect();
        assert!(takes[..19].iter().all(|takes| *takes) && !takes[19]);
        assert_eq!(takes[19..].iter().filter(|takes| **takes).count(), 490, "of 981");
    }
}
