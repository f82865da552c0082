//! The parts that BBR and its third version share: their model of a path, piece by piece, and the rate control that follows it.

use super::{RateSample, Recovery};
use aqmlab_core::{Span, Time};

/// Pace below the bandwidth.
pub const MARGIN: f64 = 0.99;
/// Least window.
pub const MIN_CWND: f64 = 4.0;
/// For how long a least round-trip time is believed in.
pub const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Linux: TCP_INIT_CWND.
const INITIAL_WINDOW: u64 = 10;

/// `floor` of what is neither negative nor 2^63, without a call.
pub fn whole(value: f64) -> f64 {
    value as i64 as f64
}

/// `ceil`, likewise.
pub fn whole_up(value: f64) -> f64 {
    let below = whole(value);
    if below < value { below + 1.0 } else { below }
}

/// Pace and window.
#[derive(Clone, Debug, Default)]
pub struct RateControl {
    /// Segments a second; 0 before the first ACK, until which nothing is paced.
    pub pacing_rate: f64,
    /// The window that the law has set.
    pub cwnd: f64,
    /// The window before recovery or a probe for the round-trip time.
    prior_cwnd: f64,
    /// The state of loss recovery at the ACK before.
    pub recovery: Recovery,
}

impl RateControl {
    /// The pace falls only once the pipe has been full.
    pub fn set_pacing_rate(&mut self, rate: f64, full: &FullPipe) {
        if full.reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Segments that Linux sends at once: what a 1024th of a second takes, 64 KB at most, two at least above 1.2 Mbit/s.
    pub fn quantum(&self) -> f64 {
        let least = if self.pacing_rate < 100.0 { 1.0 } else { 2.0 };
        f64::from((self.pacing_rate / 1024.0).clamp(least, 44.0) as u32)
    }

    /// The window grows by what arrives, and is cut to `most` only once the pipe has been full.
    pub fn grow(&mut self, sample: &RateSample, most: f64, full: &FullPipe) {
        let acked = f64::from(sample.newly_delivered);
        if full.reached {
            self.cwnd = (self.cwnd + acked).min(most);
        } else if self.cwnd < most || sample.delivered < INITIAL_WINDOW {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
    }

    /// Keeps the last window that was good for when recovery, or a probe for the round-trip time, is over.
    pub fn save_cwnd(&mut self, cwnd: f64, is_probing_rtt: bool) {
        let is_good = self.recovery == Recovery::None && !is_probing_rtt;
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    pub fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}

/// The least round-trip time, and when it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastRtt {
    pub rtt: Span,
    pub stamp: Time,
}

impl LeastRtt {
    /// Before the first measurement.
    pub const NONE: Self = Self { rtt: Span(u64::MAX), stamp: Time::ZERO };

    /// One measured now, in whole microseconds as Linux counts them (`tcp_stamp_us_delta`): what is shorter by less is no news.
    pub fn of(rtt: Span, now: Time) -> Self {
        Self { rtt: Span(rtt.0 - rtt.0 % Span::from_micros(1).0), stamp: now }
    }

    /// The estimate at the first ACK of data.
    pub fn known(sample: &RateSample, now: Time) -> Self {
        if sample.min_rtt == Span::ZERO { Self { stamp: now, ..Self::NONE } } else { Self::of(sample.min_rtt, now) }
    }

    /// Takes in a measurement if it is shorter, or if the estimate `is_expired`.
    pub fn take(&mut self, rtt: Option<Span>, is_expired: bool, now: Time) {
        let measured = rtt.map(|rtt| Self::of(rtt, now));
        if let Some(measured) = measured.filter(|measured| is_expired || measured.rtt < self.rtt) {
            *self = measured;
        }
    }

    pub fn is_older(&self, age: Span, now: Time) -> bool {
        now.since(self.stamp) > age
    }

    /// The segments that the path holds at this bandwidth without a queue.
    pub fn bdp(&self, bw: f64) -> f64 {
        if self.rtt == Self::NONE.rtt { INITIAL_WINDOW as f64 } else { bw * self.rtt.seconds() }
    }
}

/// The pipe is full when the bandwidth has not grown by a quarter in three round trips.
#[derive(Clone, Debug, Default)]
pub struct FullPipe {
    /// Bandwidth when it last grew by a quarter, and round trips since.
    pub bw: f64,
    pub rounds: u32,
    /// It is full, as found since the last [`FullPipe::restart`].
    pub now: bool,
    /// It has been full.
    pub reached: bool,
}

impl FullPipe {
    /// A round trip had this bandwidth.
    pub fn check(&mut self, bw: f64) {
        if bw >= 1.25 * self.bw {
            return self.restart(bw);
        }
        self.rounds += 1;
        self.now = self.rounds >= 3;
        self.reached |= self.now;
    }

    pub fn restart(&mut self, bw: f64) {
        (self.bw, self.rounds, self.now) = (bw, 0, false);
    }
}

/// A probe for the least round-trip time: few segments in flight for 200 ms and a round trip.
#[derive(Clone, Debug, Default)]
pub struct RttProbe {
    /// Its end; `None` until few segments are in flight.
    until: Option<Time>,
    is_round_done: bool,
    /// Segments sent when so many were delivered have a low rate because of it.
    slow: (u64, u64),
}

impl RttProbe {
    const TIME: Span = Span::from_millis(200);

    pub fn begin(&mut self, delivered: u64) {
        *self = Self { slow: (delivered, delivered), ..Self::default() };
    }

    /// An ACK comes while it lasts; true if it is over.
    pub fn update(&mut self, sample: &RateSample, few: f64, rounds: &mut RoundCounter, now: Time) -> bool {
        self.slow.1 = sample.delivered + u64::from(sample.in_flight) + 1;
        if self.until.is_none() {
            if f64::from(sample.in_flight) <= few {
                self.until = Some(now + Self::TIME);
                rounds.begin(sample.delivered);
            }
            return false;
        }
        self.is_round_done |= rounds.has_begun;
        self.is_round_done && self.is_time_over(now)
    }

    pub fn is_time_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }

    /// The rate is not the network's but the application's, or that of a probe.
    pub fn is_slow(&self, sample: &RateSample) -> bool {
        sample.is_app_limited || self.slows(sample.prior_delivered)
    }

    /// Segments sent now, when so many are delivered, have a low rate because of it.
    pub fn slows(&self, delivered: u64) -> bool {
        (self.slow.0..self.slow.1).contains(&delivered)
    }
}

/// Round trips, counted by deliveries: one ends when a segment arrives that was sent after it began.
#[derive(Clone, Debug, Default)]
pub struct RoundCounter {
    pub count: u64,
    /// One has begun with this ACK.
    pub has_begun: bool,
    /// Segments delivered, after it.
    pub delivered: u64,
    next: u64,
}

impl RoundCounter {
    /// Takes in an ACK.
    pub fn note(&mut self, sample: &RateSample) {
        self.delivered = sample.delivered;
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

/// A time in which ACKs have told of more than the bandwidth explains.
#[derive(Clone, Debug, Default)]
pub struct AckEpoch {
    since: Time,
    acked: f64,
}

impl AckEpoch {
    pub fn begin(&mut self, now: Time) {
        *self = Self { since: now, acked: 0.0 };
    }

    /// An ACK tells of `delivered` segments: how many more than expected, in whole segments or not, have come in this epoch?
    pub fn extra(&mut self, delivered: u32, bw: f64, is_whole: bool, now: Time) -> f64 {
        let expected = bw * now.since(self.since).seconds();
        let mut expected = if is_whole { whole(expected) } else { expected };
        if self.acked <= expected {
            self.begin(now);
            expected = 0.0;
        }
        self.acked += f64::from(delivered);
        self.acked - expected
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
    fn a_round_trip_shorter_by_less_than_a_microsecond_is_no_news() {
        let mut least = LeastRtt::of(Span::from_nanos(40_000_700), ms(0));
        for (nanos, expired, expected) in
            [(40_000_699, false, 0), (40_000_000, false, 0), (39_999_999, false, 3), (50_000_000, true, 4)]
        {
            let at = ms(if expired { 4 } else { 3 });
            least.take(Some(Span::from_nanos(nanos)), expired, at);
            assert_eq!(least.stamp, ms(expected), "{nanos} ns");
        }
        assert_eq!(least, LeastRtt { rtt: Span::from_millis(50), stamp: ms(4) });
        least.take(None, true, ms(9));
        assert_eq!(least.stamp, ms(4));
    }

    #[test]
    fn a_round_trip_ends_with_a_segment_sent_after_it_began() {
        let mut rounds = RoundCounter::default();
        let mut begins = |prior_delivered, delivered| {
            rounds.note(&RateSample { prior_delivered, delivered, rate: 1.0, ..RateSample::default() });
            rounds.has_begun
        };
        assert_eq!([begins(0, 10), begins(9, 11), begins(10, 12), begins(11, 13)], [true, false, true, false]);
    }

    #[test]
    fn what_comes_beyond_the_bandwidth_is_extra() {
        let mut epoch = AckEpoch::default();
        epoch.begin(ms(0));
        // 1000 segments a second: at 10 ms, 10 are expected since 0, and 8 come in a new epoch; at 12 ms 3 more, less 2.
        assert_eq!(epoch.extra(8, 1000.0, true, ms(10)), 8.0);
        assert_eq!(epoch.extra(3, 1000.0, true, ms(12)), 9.0);
        // At 13 ms 4.5 of 1500 a second, or 4 whole ones.
        assert_eq!(epoch.clone().extra(1, 1500.0, true, ms(13)), 8.0);
        assert_eq!(epoch.extra(1, 1500.0, false, ms(13)), 7.5);
    }

    #[test]
    fn whole_numbers_are_those_of_floor_and_ceil() {
        for value in [0.0, 0.3, 1.0, 1.5, 2.0f64.next_down(), 1e15 + 0.5, 3e18] {
            assert_eq!((whole(value), whole_up(value)), (value.floor(), value.ceil()), "{value}");
        }
    }

    #[test]
    fn a_quantum_is_a_millisecond_of_the_rate() {
        let quantum = |pacing_rate| RateControl { pacing_rate, ..RateControl::default() }.quantum();
        assert_eq!([50.0, 100.0, 2100.0, 5200.0, 1e6].map(quantum), [1.0, 2.0, 2.0, 5.0, 44.0]);
    }
}

#[cfg(test)]
pub mod bench;
