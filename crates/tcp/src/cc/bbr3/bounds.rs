//! Bounds of rate and volume from losses and marks (draft, section 5.5.10).

use super::BETA;
use crate::cc::RateSample;

/// Round trips as losses count them, with what was delivered in the present one.
#[derive(Clone, Debug, Default)]
pub(super) struct LossRound {
    /// Largest rate and volume delivered.
    pub bw_latest: f64,
    pub inflight_latest: f64,
    /// It ends with a segment that is sent once so many are delivered.
    end: u64,
    /// One has begun with this ACK.
    pub has_begun: bool,
    pub has_loss: bool,
}

impl LossRound {
    /// UpdateLatestDeliverySignals.
    pub fn update(&mut self, sample: &RateSample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(delivered_in(sample));
        self.has_begun = sample.prior_delivered >= self.end;
        if self.has_begun {
            self.end = sample.delivered;
        }
    }

    /// AdvanceLatestDeliverySignals.
    pub fn advance(&mut self, sample: &RateSample) {
        if self.has_begun {
            (self.bw_latest, self.inflight_latest) = (sample.rate, delivered_in(sample));
        }
    }

    /// NoteLoss.
    pub fn on_lost(&mut self, delivered: u64) {
        if !self.has_loss {
            self.end = delivered;
        }
        self.has_loss = true;
    }

    /// ResetCongestionSignals.
    pub fn reset(&mut self) {
        (self.has_loss, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
    }
}

/// RS.delivered: segments delivered since the newest one told of was sent.
fn delivered_in(sample: &RateSample) -> f64 {
    (sample.delivered - sample.prior_delivered) as f64
}

/// The bounds of rate and volume from losses between probes.
#[derive(Clone, Debug)]
pub(super) struct ShortTermBounds {
    pub bw: f64,
    pub inflight: f64,
}

impl ShortTermBounds {
    pub const UNBOUNDED: Self = Self { bw: f64::INFINITY, inflight: f64::INFINITY };

    /// LossLowerBounds.
    pub fn on_loss(&mut self, latest: &LossRound, max_bw: f64, cwnd: f64) {
        let bw = if self.bw.is_finite() { self.bw } else { max_bw };
        self.bw = latest.bw_latest.max(BETA * bw);
        self.inflight = latest.inflight_latest.max(BETA * self.inflight_or(cwnd));
    }

    pub fn inflight_or(&self, cwnd: f64) -> f64 {
        if self.inflight.is_finite() { self.inflight } else { cwnd }
    }
}

/// The bound of volume that probes have shown to fit into the path, and its growth.
#[derive(Clone, Debug)]
pub(super) struct LongTermBounds {
    pub inflight: f64,
    /// probe_up_acked_per_inc: segments acknowledged for one more, and those that were.
    pub acked_per_inc: f64,
    acked: f64,
    /// Round trips for which it has grown.
    pub rounds: u32,
}

impl LongTermBounds {
    /// Before the first probe that lost too much.
    pub const UNBOUNDED: Self = Self { inflight: f64::INFINITY, acked_per_inc: f64::INFINITY, acked: 0.0, rounds: 0 };
    const HEADROOM: f64 = 0.15;

    /// InflightWithHeadroom, but for the least window.
    pub fn with_headroom(&self) -> f64 {
        if self.inflight.is_finite() {
            self.inflight - (Self::HEADROOM * self.inflight).max(1.0)
        } else {
            f64::INFINITY
        }
    }

    /// The next probe begins with one segment in a round trip.
    pub fn restart(&mut self) {
        (self.rounds, self.acked) = (0, 0.0);
    }

    /// ProbeInflightLongtermUpward.
    pub fn grow(&mut self, acked: u32) {
        self.acked += f64::from(acked);
        let more = (self.acked / self.acked_per_inc).floor();
        self.acked -= more * self.acked_per_inc;
        self.inflight += more;
    }

    /// RaiseInflightLongtermSlope: by 1, 2, 4, ... segments in a round trip.
    pub fn raise_slope(&mut self, cwnd: f64) {
        let growth = f64::from(1u32 << self.rounds);
        self.rounds = (self.rounds + 1).min(30);
        self.acked_per_inc = (cwnd / growth).max(1.0);
    }
}
