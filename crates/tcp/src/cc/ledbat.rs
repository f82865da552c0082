use super::{CongestionControl, CongestionControlLaw, Facts, LawInfo, Needs, Window};
use aqmlab_core::{Span, Time, params};

params! {
    /// LEDBAT: holds its own queueing delay at a target and yields to loss-based flows.
    ///
    /// ## Idea
    /// The one-way delay above its minimum is queueing delay. Below the target the window grows, above it shrinks: a
    /// transfer in the background takes what others leave.
    ///
    /// ## Equations
    /// At an ACK outside recovery (RFC 6817, section 2.4.2):
    ///
    /// ```text
    /// queueing = current - base;   off = (target - queueing)/target
    /// cwnd += gain*off*acked/cwnd, at least 2, at most flight + 1
    /// ```
    ///
    /// The base delay is the minimum of the last ten one-minute minima; a loss halves the data in flight.
    ///
    /// ## What to expect
    /// Alone it keeps the queue at the target. If other flows or an AQM keep the queue shorter than the target, it
    /// grows as Reno does. If they keep it longer, it falls to two segments. Flows that start later see the queue of
    /// the earlier ones as a part of the base delay and get more.
    ///
    /// ## Readings
    /// The current delay is the minimum of the last four samples (4.2 requires a filter over few). Every sample arrives
    /// on an ACK that may open the window, so none is taken during recovery. There is no slow start, and the first
    /// window is two segments. The receiver measures the delay and sends it back with each ACK, in the place of the
    /// third SACK block.
    ///
    /// ## Departures
    /// A gain above 1, which RFC 7928 uses, is more than RFC 6817 allows.
    pub struct LedbatParams {
        /// Target queueing delay.
        target: Span = "100 ms" in "100 us" ..= "10 s", from "RFC 6817, section 2.5: at most 100 ms";
        /// Growth of the window per round trip without queueing, in segments.
        gain: f64 = "1" in "0.01" ..= "100", unit "packets", from "RFC 6817, section 2.5: at most 1; RFC 7928, section 5.4: 10";
    }
}

/// BASE_HISTORY: minutes that the base delay is remembered for.
const BASE_HISTORY: usize = 10;
/// CURRENT_FILTER: samples that the current delay is the least of.
const CURRENT_FILTER: usize = 4;
/// ALLOWED_INCREASE: the window is no more than this above the data in flight, segments.
const ALLOWED_INCREASE: f64 = 1.0;
/// MIN_CWND, segments.
pub(super) const MIN_CWND: f64 = 2.0;

const MINUTE: Span = Span::from_secs(60);
const NO_SAMPLE: Span = Span(u64::MAX);

/// LEDBAT's window and the delays that it follows. See [`LedbatParams`].
#[derive(Clone, Debug)]
pub struct Ledbat {
    params: LedbatParams,
    delays: DelayHistory,
}

impl CongestionControlLaw for Ledbat {
    const INFO: LawInfo = LawInfo { name: "ledbat", title: "LEDBAT", year: 2012, source: "RFC 6817" };
    const NEEDS: Needs = Needs { delay: true, ..Needs::NONE };
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("initial_window", "2 packets")]; // INIT_CWND
    type Params = LedbatParams;

    fn new(params: LedbatParams) -> Self {
        Self { params, delays: DelayHistory::default() }
    }
}

impl CongestionControl for Ledbat {
    /// Without a sample of the delay the window stays.
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        if ack.delay == Span::ZERO {
            return;
        }
        self.delays.note(ack.delay, ack.now);
        let target = self.params.target.seconds();
        let off_target = (target - self.delays.queueing().seconds()) / target;
        let moved = window.cwnd + self.params.gain * off_target * f64::from(ack.acked) / window.cwnd;
        window.cwnd = moved.min(f64::from(ack.flight) + ALLOWED_INCREASE).max(MIN_CWND);
    }
}

/// The delays that LEDBAT remembers, and LEDBAT++.
#[derive(Clone, Debug)]
pub(super) struct DelayHistory {
    /// Least delay of each of the last minutes.
    base: [Span; BASE_HISTORY],
    /// The minute that `base` is at, from the start of the run on.
    minute: u64,
    /// The last samples.
    current: [Span; CURRENT_FILTER],
    samples: usize,
}

impl Default for DelayHistory {
    fn default() -> Self {
        Self { base: [NO_SAMPLE; BASE_HISTORY], minute: 0, current: [NO_SAMPLE; CURRENT_FILTER], samples: 0 }
    }
}

impl DelayHistory {
    /// Takes a sample.
    pub fn note(&mut self, delay: Span, now: Time) {
        self.update_base(delay, now);
        self.current[self.samples % CURRENT_FILTER] = delay;
        self.samples += 1;
    }

    /// The least of each minute, so that a route that has become longer is noticed (4.1).
    fn update_base(&mut self, delay: Span, now: Time) {
        let minute = now.0 / MINUTE.0;
        for passed in self.minute + 1..=minute.min(self.minute + BASE_HISTORY as u64) {
            self.base[passed as usize % BASE_HISTORY] = NO_SAMPLE;
        }
        self.minute = minute;
        let least = &mut self.base[minute as usize % BASE_HISTORY];
        *least = delay.min(*least);
    }

    /// The least delay of the last ten minutes; there is a sample.
    pub fn base(&self) -> Span {
        least(&self.base)
    }

    /// The delay that the path adds to its base delay; there is a sample. None where one of the last is from before the base.
    pub fn queueing(&self) -> Span {
        Span(least(&self.current).0.saturating_sub(self.base().0))
    }
}

fn least(spans: &[Span]) -> Span {
    spans.iter().fold(NO_SAMPLE, |least, span| least.min(*span))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// An ACK of one segment with this delay at this time, to a sender with a flight that limits nothing.
    fn ack(delay_ms: u64, seconds: u64) -> Facts {
        let (delay, now) = (Span::from_millis(delay_ms), Time::ZERO + Span::from_secs(seconds));
        Facts { acked: 1, flight: 1000, delay, now, ..Facts::default() }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    /// The window after an ACK that finds it at `cwnd`.
    fn after(ledbat: &mut Ledbat, cwnd: f64, ack: &Facts) -> f64 {
        let mut window = Window { cwnd, ssthresh: 0.0 };
        ledbat.on_ack(&mut window, ack);
        window.cwnd
    }

    /// A sender with these parameters that has seen a base delay of 20 ms, and then a constant delay often enough.
    fn with(params: LedbatParams, delay_ms: u64) -> Ledbat {
        let mut ledbat = Ledbat::new(params);
        after(&mut ledbat, 10.0, &ack(20, 0));
        for _ in 0..CURRENT_FILTER {
            after(&mut ledbat, 10.0, &ack(delay_ms, 1));
        }
        ledbat
    }

    fn at(delay_ms: u64) -> Ledbat {
        with(LedbatParams::defaults(), delay_ms)
    }

    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        // Target 100 ms: queueing 0, 50, 100 and 150 ms are off by 1, 0.5, 0 and -0.5 of it.
        for (delay, off) in [(20, 1.0), (70, 0.5), (120, 0.0), (170, -0.5)] {
            close(after(&mut at(delay), 10.0, &ack(delay, 2)), 10.0 + off / 10.0);
        }
        let lbe = LedbatParams { target: Span::from_millis(5), gain: 10.0 };
        close(after(&mut with(lbe, 22), 10.0, &ack(22, 2)), 10.0 + 10.0 * 0.6 / 10.0);
        close(after(&mut with(lbe, 22), 10.0, &Facts { acked: 2, ..ack(22, 2) }), 10.0 + 10.0 * 0.6 * 2.0 / 10.0);
    }

    #[test]
    fn the_current_delay_is_the_least_of_four_samples() {
        let mut ledbat = at(120);
        close(after(&mut ledbat, 10.0, &ack(20, 2)), 10.1);
        for _ in 0..3 {
            close(after(&mut ledbat, 10.0, &ack(120, 2)), 10.1);
        }
        close(after(&mut ledbat, 10.0, &ack(120, 2)), 10.0);
    }

    #[test]
    fn the_window_stays_between_two_and_the_flight_and_one() {
        close(after(&mut at(20), 10.0, &Facts { flight: 9, ..ack(20, 2) }), 10.0);
        close(after(&mut at(1020), 2.5, &ack(1020, 2)), 2.0);
        close(after(&mut at(20), 10.0, &Facts { delay: Span::ZERO, ..ack(20, 2) }), 10.0);
    }

    #[test]
    fn a_base_delay_is_forgotten_after_ten_minutes() {
        let mut ledbat = at(120);
        // 20 ms were seen in minute 0, which the tenth minute after it takes the place of.
        for minute in 1..10 {
            close(after(&mut ledbat, 10.0, &ack(120, 60 * minute)), 10.0);
        }
        close(after(&mut ledbat, 10.0, &ack(120, 600)), 10.1);
        // The last samples of a sender that was silent for as long may be below the base that it now has.
        let mut silent = at(20);
        close(after(&mut silent, 10.0, &ack(120, 6000)), 10.1);
        let mut idle = at(120);
        close(after(&mut idle, 10.0, &ack(120, 100_000)), 10.1);
    }
}
