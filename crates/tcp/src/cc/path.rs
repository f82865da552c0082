//! What BBR and its third version learn of a path, piece by piece.

use super::{Facts, RateSample};
use aqmlab_core::Time;

/// Segments that Linux sends at once at a rate: what a 1024th of a second takes, 64 KB at most, two at least above 1.2 Mbit/s.
pub fn quantum(rate: f64) -> f64 {
    let least = if rate < 100.0 { 1.0 } else { 2.0 };
    (rate / 1024.0).floor().clamp(least, 44.0)
}

/// The rate that a policer lets through: two intervals in a row had many losses and about the same rate.
#[derive(Clone, Debug, Default)]
pub struct LongTerm {
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

impl LongTerm {
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

/// Round trips, counted by deliveries: one ends when a segment arrives that was sent after it began.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    pub count: u64,
    /// One has begun with this ACK.
    pub has_begun: bool,
    next: u64,
}

impl Rounds {
    /// Takes in an ACK.
    pub fn note(&mut self, sample: &RateSample) {
        self.has_begun = sample.rate > 0.0 && sample.prior_delivered >= self.next;
        if self.has_begun {
            self.begin(sample.delivered);
            self.count += 1;
        }
    }

    /// One begins now.
    pub fn begin(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// The most that ACKs have told of beyond what the bandwidth explains, over the last five to ten round trips.
#[derive(Clone, Debug, Default)]
pub struct ExtraAcked {
    epoch: Time,
    acked: f64,
    most: [f64; 2],
    index: usize,
    rounds: u32,
}

impl ExtraAcked {
    pub fn begin_epoch(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    pub fn get(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// An ACK tells of `delivered` segments.
    pub fn update(&mut self, delivered: u32, bw: f64, cwnd: f64, round_has_begun: bool, now: Time) {
        if round_has_begun {
            self.rounds += 1;
            if self.rounds >= 5 {
                (self.rounds, self.index) = (0, 1 - self.index);
                self.most[self.index] = 0.0;
            }
        }
        let mut expected = (bw * now.since(self.epoch).seconds()).floor();
        if self.acked <= expected {
            self.begin_epoch(now);
            expected = 0.0;
        }
        self.acked += f64::from(delivered);
        let extra = (self.acked - expected).min(cwnd);
        self.most[self.index] = self.most[self.index].max(extra);
    }
}

/// The largest of the values in a window of time, by three of them (Nichols: the largest, and the largest after it, and after
/// that one, as candidates for when it is too old).
#[derive(Clone, Debug, Default)]
pub struct WindowedMax([(u64, f64); 3]);

impl WindowedMax {
    pub fn get(&self) -> f64 {
        self.0[0].1
    }

    pub fn update(&mut self, window: u64, now: u64, value: f64) {
        let (best, new) = (&mut self.0, (now, value));
        if value >= best[0].1 || now - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = now - best[0].0;
        if age > window {
            *best = [best[1], best[2], new];
            if now - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Span;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn the_largest_value_is_forgotten_after_its_window() {
        let mut most = WindowedMax::default();
        for (round, value, expected) in [(1, 5.0, 5.0), (2, 9.0, 9.0), (5, 7.0, 9.0), (8, 6.0, 9.0), (12, 3.0, 9.0)] {
            most.update(10, round, value);
            assert_eq!(most.get(), expected, "round {round}");
        }
        // 9 is 11 rounds old: the largest of those after it is 7, 8 rounds old; then 6, for 7 is 11 rounds old.
        for (round, value, expected) in [(13, 1.0, 7.0), (16, 2.0, 6.0), (30, 1.0, 1.0)] {
            most.update(10, round, value);
            assert_eq!(most.get(), expected, "round {round}");
        }
    }

    #[test]
    fn a_round_trip_ends_with_a_segment_sent_after_it_began() {
        let mut rounds = Rounds::default();
        let mut begins = |prior_delivered, delivered| {
            rounds.note(&RateSample { prior_delivered, delivered, rate: 1.0, ..RateSample::default() });
            rounds.has_begun
        };
        assert_eq!([begins(0, 10), begins(9, 11), begins(10, 12), begins(11, 13)], [true, false, true, false]);
    }

    #[test]
    fn what_comes_beyond_the_bandwidth_is_remembered_for_five_to_ten_round_trips() {
        let mut extra = ExtraAcked::default();
        extra.begin_epoch(ms(0));
        // 1000 segments a second: at 10 ms, 10 are expected since 0, and 8 come in a new epoch; at 12 ms 3 more, less 2.
        extra.update(8, 1000.0, 100.0, false, ms(10));
        assert_eq!(extra.get(), 8.0);
        extra.update(3, 1000.0, 100.0, false, ms(12));
        assert_eq!(extra.get(), 9.0);
        extra.update(50, 1000.0, 20.0, false, ms(12));
        assert_eq!(extra.get(), 20.0, "no more than the window");
        for round in 0..10 {
            assert_eq!(extra.get(), 20.0, "round {round}");
            extra.update(1, 1000.0, 100.0, true, ms(1000 + 100 * round));
        }
        assert_eq!(extra.get(), 1.0);
    }

    #[test]
    fn a_quantum_is_a_millisecond_of_the_rate() {
        assert_eq!([50.0, 100.0, 2100.0, 5200.0, 1e6].map(quantum), [1.0, 2.0, 2.0, 5.0, 44.0]);
    }

    /// Round trips of 100 segments and 100 ms, of which `lost` are lost; true if the last says that there is no policer.
    fn rounds(policer: &mut LongTerm, from: u64, count: u64, delivered: u64, lost: u32) -> bool {
        let round = |i| {
            let sample = RateSample { delivered: i * delivered, rate: 1.0, ..RateSample::default() };
            policer.update(&sample, false, true, true, &Facts { lost, now: ms(100 * i), ..Facts::default() })
        };
        (from..from + count).map(round).last().unwrap_or(false)
    }

    #[test]
    fn two_intervals_of_one_rate_and_many_losses_are_a_policers() {
        let mut policer = LongTerm::default();
        // The first loss begins an interval; three round trips later, with the fourth, it is over: 1000 a second.
        assert!(!rounds(&mut policer, 1, 6, 100, 25) && policer.bw().is_none());
        rounds(&mut policer, 7, 1, 100, 25);
        assert_eq!(policer.bw().map(f64::round), None, "3 round trips of the second interval");
        rounds(&mut policer, 8, 1, 100, 25);
        assert_eq!(policer.bw(), Some(1000.0));
        assert!(!rounds(&mut policer, 9, 47, 100, 0));
        assert!(rounds(&mut policer, 56, 1, 100, 0), "for 48 round trips");
        assert_eq!(policer.bw(), None);
        let mut few = LongTerm::default();
        rounds(&mut few, 1, 100, 100, 19);
        assert_eq!(few.bw(), None, "19 of 100 are less than 50/256");
    }
}
