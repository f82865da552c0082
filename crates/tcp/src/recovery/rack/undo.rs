//! A reduction that turns out to have been needless is undone: the original has arrived after all (Eifel, RFC 3522 and 4015;
//! F-RTO, RFC 5682), or all that was sent again had arrived before (DSACK, RFC 3708). What is asked when is Linux's
//! (`tcp_fastretrans_alert`, `tcp_process_loss` in net/ipv4/tcp_input.c), as are the names in parentheses.

use super::RackRecovery;
use super::detection::AckOutcome;
use super::prr::Prr;
use crate::cc::Window;
use crate::sender::{RecoveryState, Tcb};
use aqmlab_core::Time;

/// The state that an undo needs of the last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The first segment outstanding then, as long as it can be undone (`undo_marker`).
    marker: Option<u32>,
    /// Window and threshold before it, if no mark asked for it, too (`prior_cwnd`, `prior_ssthresh`).
    prior: Option<Window>,
    /// Of the segments sent again since, those not known to have been needless; `None` before the first (`undo_retrans`).
    resent: Option<u32>,
    /// Time of the first of them, or of the first in the recovery before if any of that was still outstanding (`retrans_stamp`).
    resent_since: Option<Time>,
    /// F-RTO: whether the last timeout was spurious is not known yet (`frto`).
    pub frto: bool,
    /// It tries new data now, before what is lost (`REXMIT_NEW`).
    pub tries_new: bool,
}

impl Undo {
    /// A loss reduces the window (`tcp_init_undo`) while `una` is the first segment outstanding. `resent` segments sent again are in
    /// the network, the first since then.
    fn new(una: u32, prior: Option<Window>, resent: u32, resent_since: Option<Time>) -> Self {
        Self { marker: Some(una), prior, resent: (resent > 0).then_some(resent), resent_since, ..Self::default() }
    }

    /// A segment is sent again.
    pub fn on_resent(&mut self, now: Time) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.resent_since.get_or_insert(now);
    }

    /// An ACK comes that asks for a reduction, if it is an echo, or tells of a segment that has arrived twice (`tcp_check_dsack`).
    pub fn on_ack(&mut self, dsack: Option<u32>, is_echo: bool) {
        if is_echo {
            self.prior = None;
        }
        if dsack.is_some_and(|seq| self.marker.is_some_and(|una| seq >= una)) {
            self.resent = self.resent.map(|resent| resent.saturating_sub(1));
        }
    }

    /// All that was sent again had arrived before (`tcp_try_undo_dsack`).
    fn was_needless(&self) -> bool {
        self.marker.is_some() && self.resent == Some(0)
    }

    /// The original of what was sent again has arrived (`tcp_packet_delayed`): the ACK echoes the timestamp of a segment sent before
    /// anything was sent again. Where ACKs are lost it may be of the last segment that it tells of.
    fn was_delayed(&self, outcome: &AckOutcome) -> bool {
        let is_older = outcome.once_at.is_none_or(|sent| self.resent_since.is_some_and(|since| sent < since));
        self.marker.is_some() && self.resent > Some(0) && outcome.is_original && is_older
    }
}

impl RackRecovery {
    /// A loss reduces the window while `una` is the first segment outstanding; `prior` is what it was. If nothing that was sent
    /// again is outstanding, the next one will be the first (`tcp_retrans_stamp_cleanup`).
    pub(super) fn undo_from(&self, una: u32, prior: Option<Window>) -> Undo {
        let resent = self.board.resent();
        let since = self.undo.resent_since.filter(|_| resent > 0 || self.board.was_first_resent());
        Undo::new(una, prior, resent, since)
    }

    /// Ends or undoes the present or the last reduction, as an ACK tells.
    pub(super) fn end_recovery(&mut self, tcb: &mut Tcb, outcome: &AckOutcome) {
        match tcb.state {
            RecoveryState::Open => self.try_undo_dsack(tcb),
            RecoveryState::Cwr if tcb.snd_una > tcb.recover => self.leave_recovery(tcb),
            RecoveryState::Cwr => {}
            RecoveryState::FastRecovery if tcb.snd_una >= tcb.recover => self.try_undo_recovery(tcb, outcome),
            RecoveryState::FastRecovery => {
                self.try_undo_partial(tcb, outcome);
                self.try_undo_dsack(tcb);
            }
            RecoveryState::RtoRecovery => self.process_loss(tcb, outcome),
        }
    }

    /// The segments outstanding at the reduction are acknowledged (`tcp_try_undo_recovery`).
    fn try_undo_recovery(&mut self, tcb: &mut Tcb, outcome: &AckOutcome) {
        let undo = self.undo;
        if undo.was_needless() || undo.was_delayed(outcome) {
            self.restore(tcb);
        } else {
            self.detection.on_recovered();
            self.leave_recovery(tcb);
            self.try_undo_dsack(tcb);
        }
    }

    /// A part of it is, by an original: the path reorders more than was known (`tcp_try_undo_partial`).
    fn try_undo_partial(&mut self, tcb: &mut Tcb, outcome: &AckOutcome) {
        if outcome.advances && self.undo.was_delayed(outcome) {
            self.detection.on_late(outcome.prior_una, self.board.top());
            if self.board.resent() == 0 {
                self.board.forget_losses();
                self.restore(tcb);
            }
        }
    }

    /// DSACKs have told of all that was sent again (`tcp_try_undo_dsack`).
    fn try_undo_dsack(&mut self, tcb: &mut Tcb) {
        if self.undo.was_needless() {
            self.detection.on_needless();
            self.restore(tcb);
        }
    }

    /// After a timeout (`tcp_process_loss`). F-RTO (RFC 5682, section 3.1): if an ACK tells of a segment that was not sent
    /// again, the timeout was spurious.
    fn process_loss(&mut self, tcb: &mut Tcb, outcome: &AckOutcome) {
        let is_over = tcb.snd_una >= tcb.recover;
        let undo = self.undo;
        let is_spurious = outcome.advances && (undo.was_needless() || undo.was_delayed(outcome));
        if is_spurious || undo.frto && outcome.has_original {
            self.board.forget_losses();
            return self.restore(tcb);
        }
        if undo.frto && tcb.snd_max > tcb.recover {
            self.undo.frto = !outcome.has_sacked; // new data have been tried: the loss is real
        } else if undo.frto && outcome.advances && !is_over {
            tcb.recover = tcb.snd_max;
            let has_new = tcb.snd_max < tcb.end;
            let undo = &mut self.undo;
            (undo.frto, undo.tries_new) = (has_new, has_new);
        }
        if is_over {
            self.detection.on_recovered();
            self.end(tcb);
        }
    }

    /// The window is what it was (`tcp_undo_cwnd_reduction`).
    fn restore(&mut self, tcb: &mut Tcb) {
        tcb.cc.law.control_mut().on_undo();
        if let Some(prior) = self.undo.prior {
            let window = &mut tcb.cc.window;
            tcb.cwr_due &= prior.ssthresh <= window.ssthresh;
            (window.cwnd, window.ssthresh) = (window.cwnd.max(prior.cwnd), window.ssthresh.max(prior.ssthresh));
        }
        (self.undo, self.timeouts) = (Undo::default(), 0);
        self.end(tcb);
    }

    /// The reduction is over (`tcp_end_cwnd_reduction`).
    pub(super) fn leave_recovery(&mut self, tcb: &mut Tcb) {
        tcb.end_unvalidated_reduction();
        tcb.cc.leave_recovery();
        self.end(tcb);
    }

    fn end(&mut self, tcb: &mut Tcb) {
        tcb.state = RecoveryState::Open;
        (self.prr, self.undo.frto) = (Prr::default(), false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Span;

    #[test]
    fn an_original_tells_of_a_needless_reduction_if_it_was_sent_before_anything_was_sent_again() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let mut undo = Undo::new(5, None, 0, None);
        let was_delayed = |undo: &Undo, is_original, once_at| {
            undo.was_delayed(&AckOutcome { is_original, once_at, ..AckOutcome::default() })
        };
        assert!(!was_delayed(&undo, true, Some(at(50))), "nothing has been sent again");
        undo.on_resent(at(100));
        undo.on_resent(at(120));
        assert_eq!([50, 100, 150].map(|ms| was_delayed(&undo, true, Some(at(ms)))), [true, false, false]);
        assert!(was_delayed(&undo, true, None), "the first copy of one that was sent again");
        assert!(!was_delayed(&undo, false, None) && !was_delayed(&undo, false, Some(at(50))));
        // Another recovery while what was sent again at 120 ms is outstanding: the first time stays.
        let next = Undo::new(9, None, 1, undo.resent_since);
        assert_eq!([50, 110].map(|ms| was_delayed(&next, true, Some(at(ms)))), [true, false]);
    }
}
