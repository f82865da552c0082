//! Rate and window (draft, section 5.6).

use super::{Bbr3, STARTUP_GAIN, State};
use crate::cc::path::{MARGIN, MIN_CWND};
use crate::cc::{Facts, RateSample, Recovery};

const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;

impl Bbr3 {
    pub(super) fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain(_) => self.params.drain_gain,
            State::Down => DOWN_GAIN,
            State::Up => UP_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt => 1.0,
        }
    }

    pub(super) fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    pub(super) fn set_pacing_rate(&mut self, gain: f64) {
        self.control.set_pacing_rate(gain * MARGIN * self.bw(), &self.full);
    }

    pub(super) fn set_cwnd(&mut self, sample: &RateSample, ack: &Facts) {
        let before = std::mem::replace(&mut self.control.recovery, ack.recovery);
        if ack.recovery == Recovery::None {
            self.end_episode();
        }
        if before != Recovery::None && ack.recovery == Recovery::None {
            self.control.restore_cwnd();
        }
        let most = self.budget(self.cwnd_gain() * self.bdp(self.bw()) + self.extra_acked.get());
        self.control.grow(sample, most, &self.full);
        if self.state == State::ProbeRtt {
            self.control.cwnd = self.control.cwnd.min(self.probe_rtt_cwnd());
        }
        self.control.cwnd = self.control.cwnd.min(self.bound());
    }

    /// BoundCwndForModel.
    fn bound(&self) -> f64 {
        let long_term = match self.state {
            State::Down | State::Refill | State::Up => self.long_term.inflight,
            State::Cruise | State::ProbeRtt => self.with_headroom(),
            State::Startup | State::Drain(_) => f64::INFINITY,
        };
        long_term.min(self.short_term.inflight).max(MIN_CWND)
    }

    pub(super) fn with_headroom(&self) -> f64 {
        self.long_term.with_headroom().max(MIN_CWND)
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.probe_cwnd.unwrap_or((PROBE_RTT_CWND_GAIN * self.bdp(self.bw())).max(MIN_CWND))
    }

    pub(super) fn bdp(&self, bw: f64) -> f64 {
        self.min_rtt.bdp(bw)
    }

    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(self.bw()).min(self.control.cwnd)
    }

    pub(super) fn inflight(&self, bw: f64) -> f64 {
        self.budget(self.bdp(bw))
    }

    /// QuantizationBudget.
    pub(super) fn budget(&self, inflight: f64) -> f64 {
        let least = (3.0 * self.control.quantum()).max(MIN_CWND);
        inflight.max(least) + if self.state == State::Up { 2.0 } else { 0.0 }
    }
}
