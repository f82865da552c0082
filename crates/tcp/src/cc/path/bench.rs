//! A path for unit tests of BBR and its third version.

use crate::cc::{CongestionControl, Facts, RateSample, Window};
use aqmlab_core::{Span, Time};

pub fn at(ms: f64) -> Time {
    Time::ZERO + Span::from_seconds(ms / 1e3)
}

pub fn close(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
}

/// A law behind a path whose round trips take 40 ms, and what it has been told so far.
pub struct Bench<L> {
    pub bbr: L,
    pub window: Window,
    pub delivered: u64,
    pub now: f64,
}

impl<L: CongestionControl> Bench<L> {
    pub fn of(bbr: L) -> Self {
        Self { bbr, window: Window { cwnd: 10.0, ssthresh: 1e6 }, delivered: 0, now: 0.0 }
    }

    /// An ACK of `acked` segments, 40 ms after the one before, that ends a round trip with 1000 segments a second.
    pub fn round(&mut self, acked: u32, flight: u32) {
        self.ack(40.0, acked, 1000.0, Facts { flight, ..Facts::default() });
    }

    /// An ACK of `acked` segments that ends a round trip with this delivery rate.
    pub fn ack(&mut self, after: f64, acked: u32, rate: f64, facts: Facts) {
        self.ack_but(after, acked, rate, facts, |_| {});
    }

    /// The same, but for what `change` says.
    pub fn ack_but(&mut self, after: f64, acked: u32, rate: f64, facts: Facts, change: impl Fn(&mut RateSample)) {
        let prior_delivered = self.delivered;
        self.delivered += u64::from(acked);
        self.now += after;
        let rtt = Span::from_millis(40);
        let mut sample = RateSample {
            newly_delivered: acked,
            delivered: self.delivered,
            prior_delivered,
            in_flight: facts.flight.saturating_sub(acked),
            tx_in_flight: facts.flight,
            rate,
            rtt: Some(rtt),
            min_rtt: rtt,
            ..RateSample::default()
        };
        change(&mut sample);
        let facts = Facts { acked, srtt: rtt, now: at(self.now), sample: Some(sample), ..facts };
        self.bbr.on_feedback(&mut self.window, &facts);
    }

    pub fn pace(&self) -> f64 {
        self.bbr.pacing_rate().expect("paces")
    }
}
