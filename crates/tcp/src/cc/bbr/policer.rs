//! Token buckets that drop what exceeds their rate (Linux: the long-term bandwidth, `lt_bw`).

use crate::cc::{Facts, RateSample};
use aqmlab_core::Time;

/// The rate that a policer lets through: two intervals in a row had many losses and about the same rate.
#[derive(Clone, Debug, Default)]
pub(super) struct Policer {
    stage: Stage,
    /// Rate of the interval before, or of the policer; 0: none yet.
    bw: f64,
    /// Round trips of the interval, or with that rate.
    rounds: u32,
    /// Segments lost so far.
    lost: u32,
    /// Time, segments delivered and lost when the interval began.
    since: (Time, u64, u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Stage {
    /// No segment has been lost.
    #[default]
    Waiting,
    Sampling,
    /// There is a policer.
    Policed,
}

impl Policer {
    /// Round trips of an interval, at least and at most, and those for which a policer is believed in.
    const ROUNDS: (u32, u32) = (4, 16);
    const POLICED_ROUNDS: u32 = 48;
    /// Segments lost per segment delivered, at least.
    const LOSS: f64 = 50.0 / 256.0;

    pub fn bw(&self) -> Option<f64> {
        (self.stage == Stage::Policed).then_some(self.bw)
    }

    /// True if there is a policer no longer.
    pub fn update(
        &mut self,
        sample: &RateSample,
        is_slow: bool,
        has_begun: bool,
        is_cycling: bool,
        ack: &Facts,
    ) -> bool {
        self.lost += ack.lost;
        if sample.rate == 0.0 {
            return false;
        }
        if self.stage == Stage::Policed {
            self.rounds += u32::from(is_cycling && has_begun);
            let is_over = self.rounds >= Self::POLICED_ROUNDS;
            if is_over {
                self.reset();
            }
            return is_over;
        }
        if self.stage == Stage::Waiting && ack.lost > 0 {
            self.stage = Stage::Sampling;
            self.begin(sample, ack.now);
        }
        self.rounds += u32::from(has_begun);
        if self.stage == Stage::Waiting || is_slow || self.rounds > Self::ROUNDS.1 {
            self.reset();
        } else if self.rounds >= Self::ROUNDS.0 && ack.lost > 0 {
            self.end_interval(sample, ack.now);
        }
        false
    }

    fn end_interval(&mut self, sample: &RateSample, now: Time) {
        let (since, delivered, lost) = self.since;
        let (delivered, lost) = ((sample.delivered - delivered) as f64, f64::from(self.lost - lost));
        let time = now.since(since).seconds();
        if lost < Self::LOSS * delivered || time < 1e-3 {
            return;
        }
        let rate = delivered / time;
        if self.bw > 0.0 && (rate - self.bw).abs() <= (self.bw / 8.0).max(1.0 / 3.0) {
            (self.stage, self.bw, self.rounds) = (Stage::Policed, (self.bw + rate) / 2.0, 0);
        } else {
            self.bw = rate;
            self.begin(sample, now);
        }
    }

    fn begin(&mut self, sample: &RateSample, now: Time) {
        (self.since, self.rounds) = ((now, sample.delivered, self.lost), 0);
    }

    fn reset(&mut self) {
        (self.stage, self.bw, self.rounds) = (Stage::Waiting, 0.0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Span;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// Round trips of 100 segments and 100 ms, of which `lost` are lost; true if the last says that there is no policer.
    fn rounds(policer: &mut Policer, from: u64, count: u64, delivered: u64, lost: u32) -> bool {
        let round = |i| {
            let sample = RateSample { delivered: i * delivered, rate: 1.0, ..RateSample::default() };
            policer.update(&sample, false, true, true, &Facts { lost, now: ms(100 * i), ..Facts::default() })
        };
        (from..from + count).map(round).last().unwrap_or(false)
    }

    #[test]
    fn two_intervals_of_one_rate_and_many_losses_are_a_policers() {
        let mut policer = Policer::default();
        // The first loss begins an interval; three round trips later, with the fourth, it is over: 1000 a second.
        assert!(!rounds(&mut policer, 1, 6, 100, 25) && policer.bw().is_none());
        rounds(&mut policer, 7, 1, 100, 25);
        assert_eq!(policer.bw().map(f64::round), None, "3 round trips of the second interval");
        rounds(&mut policer, 8, 1, 100, 25);
        assert_eq!(policer.bw(), Some(1000.0));
        assert!(!rounds(&mut policer, 9, 47, 100, 0));
        assert!(rounds(&mut policer, 56, 1, 100, 0), "for 48 round trips");
        assert_eq!(policer.bw(), None);
        let mut few = Policer::default();
        rounds(&mut few, 1, 100, 100, 19);
        assert_eq!(few.bw(), None, "19 of 100 are less than 50/256");
    }
}
