//! Losses that turn out to be spurious (draft, section 5.5.11).
//!
//! State is saved when a loss recovery episode starts, as the draft's text says. Its pseudocode saves at the first loss of each round
//! trip, and resets that with the move to ProbeBW_DOWN: the second loss of a burst would forget what the first has ended.

use super::bounds::ShortTermBounds;
use super::{Bbr3, State};

/// The state that a loss may change, as it was before.
#[derive(Clone, Debug)]
pub(super) struct BeforeLoss {
    /// The episode goes on.
    is_open: bool,
    /// The sender has found that nothing was lost; told at its next ACK, so that round trips begin with what that delivers.
    pub is_spurious: bool,
    /// The state that the loss has ended, if it has ended a search for bandwidth.
    pub left: Option<State>,
    short_term: ShortTermBounds,
    inflight_longterm: f64,
}

impl BeforeLoss {
    /// Before the first loss.
    pub const NONE: Self = Self {
        is_open: false,
        is_spurious: false,
        left: None,
        short_term: ShortTermBounds { bw: 0.0, inflight: 0.0 },
        inflight_longterm: 0.0,
    };
}

impl Bbr3 {
    /// SaveStateUponLoss; the window is saved when the sender reduces it.
    pub(super) fn save_state(&mut self) {
        if self.before_loss.is_open {
            return;
        }
        let (short_term, inflight_longterm) = (self.short_term.clone(), self.long_term.inflight);
        self.before_loss = BeforeLoss { is_open: true, short_term, inflight_longterm, ..BeforeLoss::NONE };
    }

    /// Nothing is missing any more.
    pub(super) fn end_episode(&mut self) {
        self.before_loss.is_open = false;
    }

    /// HandleSpuriousLossDetection; the window is restored as recovery ends.
    pub(super) fn undo_loss(&mut self, delivered: u64) {
        let BeforeLoss { left, short_term, inflight_longterm, .. } =
            std::mem::replace(&mut self.before_loss, BeforeLoss::NONE);
        self.loss_round.has_loss = false;
        self.full.restart(0.0);
        self.short_term.bw = self.short_term.bw.max(short_term.bw);
        self.short_term.inflight = self.short_term.inflight.max(short_term.inflight);
        self.long_term.inflight = self.long_term.inflight.max(inflight_longterm);
        match left {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.reached = false;
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill(delivered);
            }
            _ => {}
        }
    }
}
