//! Probing for bandwidth (draft, section 5.3.3).

use super::bounds::ShortTermBounds;
use super::{BETA, Bbr3, State, is_lossy};
use crate::cc::RateSample;
use aqmlab_core::{Span, Time};

/// Round trips after which it probes at the latest, as Reno would lose then.
const MAX_PROBE_ROUNDS: f64 = 63.0;

/// The probing phase that present ACKs tell of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of the cycle of probes.
#[derive(Clone, Debug)]
pub(super) struct Cycle {
    pub ack_phase: AckPhase,
    /// Losses of now are the probe's.
    pub is_probe_sample: bool,
    /// The probe before lost too much; it ended where that one began to lose.
    was_too_high: bool,
    was_precautionary: bool,
    /// Time at which the probe before ended, time to wait for the next, and round trips so far.
    pub stamp: Time,
    pub wait: Span,
    pub rounds: u32,
}

impl Cycle {
    /// Before the first probe.
    pub const START: Self = Self {
        ack_phase: AckPhase::Init,
        is_probe_sample: false,
        was_too_high: false,
        was_precautionary: false,
        stamp: Time::ZERO,
        wait: Span::ZERO,
        rounds: 0,
    };
}

impl Bbr3 {
    pub(super) fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, sample: &RateSample, now: Time) {
        if self.adapt_long_term(sample, now) {
            return;
        }
        let in_flight = f64::from(sample.in_flight);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now) => self.start_refill(sample.delivered),
            State::Down if in_flight <= self.with_headroom().min(self.inflight(self.max_bw())) => {
                self.state = State::Cruise;
            }
            State::Refill if self.rounds.has_begun => {
                self.cycle.is_probe_sample = true;
                self.start_up(sample);
            }
            State::Up => self.check_up(sample, now),
            _ => {}
        }
    }

    /// AdaptLongTermModel. True if it has changed the state.
    fn adapt_long_term(&mut self, sample: &RateSample, now: Time) -> bool {
        if self.cycle.ack_phase == AckPhase::ProbeStarting && self.rounds.has_begun {
            self.cycle.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.ack_phase == AckPhase::ProbeStopping && self.rounds.has_begun && self.end_feedback(sample) {
            return true;
        }
        if is_lossy(sample) {
            return false;
        }
        if self.ecn.is_too_much() {
            if self.cycle.is_probe_sample {
                let fits = f64::from(sample.tx_in_flight);
                self.handle_inflight_too_high(fits, sample.is_app_limited, sample.delivered, now);
            }
            return false;
        }
        if self.long_term.inflight.is_finite() {
            self.long_term.inflight = self.long_term.inflight.max(sample.tx_in_flight.into());
            if self.state == State::Up {
                self.probe_upward(sample);
            }
        }
        false
    }

    /// The segments of a probe have arrived. True if another follows at once.
    fn end_feedback(&mut self, sample: &RateSample) -> bool {
        self.cycle.is_probe_sample = false;
        self.cycle.ack_phase = AckPhase::Init;
        if !self.is_in_probe_bw() {
            return false;
        }
        if !sample.is_app_limited && self.max_bw[1] > 0.0 {
            self.max_bw = [self.max_bw[1], 0.0];
        }
        let goes_on = self.cycle.was_precautionary && !self.cycle.was_too_high;
        if goes_on {
            self.start_refill(sample.delivered);
        }
        goes_on
    }

    /// HandleInflightTooHigh: `fits` segments in flight did not make too many losses.
    pub(super) fn handle_inflight_too_high(&mut self, fits: f64, is_app_limited: bool, delivered: u64, now: Time) {
        self.cycle.was_too_high = true;
        self.cycle.is_probe_sample = false;
        if !is_app_limited {
            self.long_term.inflight = fits.max(BETA * self.target_inflight());
        }
        if self.state == State::Up {
            self.before_loss.left = Some(State::Up);
            self.start_down(delivered, now);
        }
    }

    /// A bound that the window fills grows.
    fn probe_upward(&mut self, sample: &RateSample) {
        if !self.is_bounded(sample) {
            return;
        }
        self.long_term.grow(sample.newly_delivered);
        if self.rounds.has_begun {
            self.long_term.raise_slope(self.control.cwnd);
        }
    }

    /// The window is full, and as large as the bound lets it be.
    fn is_bounded(&self, sample: &RateSample) -> bool {
        self.is_cwnd_limited(sample) && self.control.cwnd >= self.long_term.inflight
    }

    /// Two to three seconds have passed, or Reno would have lost a segment.
    pub(super) fn is_time_to_probe(&self, now: Time) -> bool {
        let reno = self.target_inflight().min(MAX_PROBE_ROUNDS);
        now > self.cycle.stamp + self.cycle.wait || f64::from(self.cycle.rounds) >= reno
    }

    /// IsTimeToGoDown, and what follows. After a probe that lost too much, the next one ends where that one began to lose.
    fn check_up(&mut self, sample: &RateSample, now: Time) {
        let is_risky = self.cycle.was_too_high && f64::from(sample.in_flight) >= self.long_term.inflight;
        if is_risky {
            self.cycle.was_precautionary = true;
        } else if self.is_bounded(sample) {
            self.full.restart(sample.rate); // the bound limits the bandwidth
        }
        if is_risky || self.full.now {
            self.cycle.was_too_high = false;
            self.start_down(sample.delivered, now);
        }
    }

    pub(super) fn start_down(&mut self, delivered: u64, now: Time) {
        self.loss_round.reset();
        self.long_term.acked_per_inc = f64::INFINITY;
        self.cycle.rounds = self.random.below(2);
        self.cycle.wait = Span::from_seconds(2.0 + self.random.uniform());
        self.cycle.stamp = now;
        self.cycle.ack_phase = AckPhase::ProbeStopping;
        self.rounds.begin(delivered);
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self, delivered: u64) {
        self.short_term = ShortTermBounds::UNBOUNDED;
        self.long_term.restart();
        self.cycle.was_precautionary = false;
        self.cycle.ack_phase = AckPhase::Refilling;
        self.rounds.begin(delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &RateSample) {
        self.cycle.ack_phase = AckPhase::ProbeStarting;
        self.rounds.begin(sample.delivered);
        self.full.restart(sample.rate);
        self.state = State::Up;
        self.long_term.raise_slope(self.control.cwnd);
    }
}
