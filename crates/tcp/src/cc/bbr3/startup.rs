//! Startup and what it leaves in the queue (draft, sections 5.3.1 and 5.3.2).

use super::{Bbr3, State, is_lossy};
use crate::cc::{Facts, RateSample, Recovery};
use aqmlab_core::Time;

/// StartupFullLossCnt.
const FULL_LOSSES: u32 = 6;

impl Bbr3 {
    pub(super) fn check_full_bw(&mut self, sample: &RateSample) {
        if !self.full.now && self.rounds.has_begun && !sample.is_app_limited {
            self.full.check(sample.rate);
        }
    }

    /// The bandwidth grows no longer, or a round trip of recovery had many losses, or two round trips had many marks.
    pub(super) fn check_startup(&mut self, sample: &RateSample, ack: &Facts) {
        if self.state != State::Startup {
            return;
        }
        self.loss_events += u32::from(ack.lost > 0);
        let has_losses = ack.recovery == Recovery::Fast && self.loss_events >= FULL_LOSSES && is_lossy(sample);
        if self.loss_round.has_begun && has_losses || self.ecn.ends_startup() {
            self.before_loss.left = Some(State::Startup);
            (self.full.now, self.full.reached) = (true, true);
            self.long_term.inflight = self.bdp(self.max_bw()).max(self.loss_round.inflight_latest);
        }
        if self.loss_round.has_begun {
            self.loss_events = 0;
        }
        if self.full.reached {
            self.state = State::Drain(self.rounds.count);
        }
    }

    pub(super) fn check_drain(&mut self, sample: &RateSample, now: Time) {
        let State::Drain(since) = self.state else { return };
        if f64::from(sample.in_flight) <= self.inflight(self.bw()) || self.rounds.count > since + 3 {
            self.start_down(sample.delivered, now);
        }
    }
}
