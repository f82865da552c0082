//! LEDBAT (RFC 6817): keeps the queueing delay that it sees at a target, and yields to those that make more.
//!
//! Section numbers are the RFC's. Readings: the current delay is the least of the last four samples (4.2 asks for a
//! filter over few); every sample comes with an ACK that may open the window, so none is taken during recovery; a loss
//! halves the data in flight, as in RFC 5681, with the same least window of two (2.4.2); there is no slow start.

use super::NewAck;
use crate::params::TcpParams;
use aqmlab_core::{Span, Time};

/// BASE_HISTORY: minutes that the base delay is remembered for.
const BASE_HISTORY: usize = 10;
/// CURRENT_FILTER: samples that the current delay is the least of.
const CURRENT_FILTER: usize = 4;
/// ALLOWED_INCREASE: the window is no more than this above the data in flight, segments.
const ALLOWED_INCREASE: f64 = 1.0;
/// MIN_CWND, segments.
const MIN_CWND: f64 = 2.0;

const MINUTE: Span = Span(60_000_000_000_000);
const NO_SAMPLE: Span = Span(u64::MAX);

/// The delays that LEDBAT remembers.
#[derive(Clone, Debug)]
pub struct Ledbat {
    /// Least one-way delay of each of the last minutes.
    base: [Span; BASE_HISTORY],
    /// The minute that `base` is at, from the start of the run on.
    minute: u64,
    /// The last samples.
    current: [Span; CURRENT_FILTER],
    samples: usize,
}

impl Default for Ledbat {
    fn default() -> Self {
        Self { base: [NO_SAMPLE; BASE_HISTORY], minute: 0, current: [NO_SAMPLE; CURRENT_FILTER], samples: 0 }
    }
}

impl Ledbat {
    /// The window after an ACK of new data (2.4.2); without a sample of the delay it stays.
    pub fn on_ack(&mut self, cwnd: f64, ack: &NewAck, params: &TcpParams) -> f64 {
        if ack.delay == Span::ZERO {
            return cwnd;
        }
        self.update_base(ack.delay, ack.now);
        self.current[self.samples % CURRENT_FILTER] = ack.delay;
        self.samples += 1;
        let target = params.target.seconds();
        let off_target = (target - self.queueing_delay().seconds()) / target;
        let moved = cwnd + params.gain * off_target * f64::from(ack.acked) / cwnd;
        moved.min(f64::from(ack.flight) + ALLOWED_INCREASE).max(MIN_CWND)
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

    /// What the path adds to its base delay; there is a sample.
    fn queueing_delay(&self) -> Span {
        let least = |spans: &[Span]| spans.iter().fold(NO_SAMPLE, |least, span| least.min(*span));
        Span(least(&self.current).0 - least(&self.base).0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// An ACK of one segment with this delay at this time, to a sender with a flight that limits nothing.
    fn ack(delay_ms: u64, seconds: u64) -> NewAck {
        let delay = Span(delay_ms * 1_000_000_000);
        NewAck { acked: 1, flight: 1000, delay, srtt: Span::ZERO, now: Time(seconds * 1_000_000_000_000) }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    fn params(settings: &[(&str, &str)]) -> TcpParams {
        let (mut params, mut problems) = (TcpParams::defaults(), Vec::new());
        params.read("tcp", settings.iter().copied(), &mut problems);
        assert_eq!(problems, []);
        params
    }

    /// A sender that has seen a base delay of 20 ms, and then a constant delay often enough.
    fn at(delay_ms: u64) -> Ledbat {
        let mut ledbat = Ledbat::default();
        ledbat.on_ack(10.0, &ack(20, 0), &params(&[]));
        for _ in 0..CURRENT_FILTER {
            ledbat.on_ack(10.0, &ack(delay_ms, 1), &params(&[]));
        }
        ledbat
    }

    #[test]
    fn the_window_follows_the_distance_from_the_target() {
        // Target 100 ms: queueing 0, 50, 100 and 150 ms are off by 1, 0.5, 0 and -0.5 of it.
        for (delay, off) in [(20, 1.0), (70, 0.5), (120, 0.0), (170, -0.5)] {
            close(at(delay).on_ack(10.0, &ack(delay, 2), &params(&[])), 10.0 + off / 10.0);
        }
        let lbe = params(&[("target", "5 ms"), ("gain", "10")]);
        close(at(22).on_ack(10.0, &ack(22, 2), &lbe), 10.0 + 10.0 * 0.6 / 10.0);
        close(at(22).on_ack(10.0, &NewAck { acked: 2, ..ack(22, 2) }, &lbe), 10.0 + 10.0 * 0.6 * 2.0 / 10.0);
    }

    #[test]
    fn the_current_delay_is_the_least_of_four_samples() {
        let mut ledbat = at(120);
        close(ledbat.on_ack(10.0, &ack(20, 2), &params(&[])), 10.1);
        for _ in 0..3 {
            close(ledbat.on_ack(10.0, &ack(120, 2), &params(&[])), 10.1);
        }
        close(ledbat.on_ack(10.0, &ack(120, 2), &params(&[])), 10.0);
    }

    #[test]
    fn the_window_stays_between_two_and_the_flight_and_one() {
        close(at(20).on_ack(10.0, &NewAck { flight: 9, ..ack(20, 2) }, &params(&[("gain", "10")])), 10.0);
        close(at(1020).on_ack(2.5, &ack(1020, 2), &params(&[])), 2.0);
        close(at(20).on_ack(10.0, &NewAck { delay: Span::ZERO, ..ack(20, 2) }, &params(&[])), 10.0);
    }

    #[test]
    fn a_base_delay_is_forgotten_after_ten_minutes() {
        let mut ledbat = at(120);
        // 20 ms were seen in minute 0, which the tenth minute after it takes the place of.
        for minute in 1..10 {
            close(ledbat.on_ack(10.0, &ack(120, 60 * minute), &params(&[])), 10.0);
        }
        close(ledbat.on_ack(10.0, &ack(120, 600), &params(&[])), 10.1);
        let mut idle = at(120);
        close(idle.on_ack(10.0, &ack(120, 100_000), &params(&[])), 10.1);
    }
}
