//! A reduction that turns out to have been needless is undone: the original has arrived after all (Eifel, RFC 3522 and 4015;
//! F-RTO, RFC 5682), or all that was sent again had arrived before (DSACK, RFC 3708). What is asked when is Linux's
//! (`tcp_fastretrans_alert`, `tcp_process_loss` in net/ipv4/tcp_input.c), as are the names in parentheses.

use crate::scoreboard::{News, Undo};
use crate::sender::{RecoveryState, Sender};

impl Sender {
    /// Ends or undoes the present or the last reduction, as an ACK tells.
    pub(super) fn rack_end_recovery(&mut self, news: &News) {
        match self.state {
            RecoveryState::Open => self.rack_try_undo_dsack(),
            RecoveryState::Cwr if self.hole > self.recover => self.rack_leave_recovery(),
            RecoveryState::Cwr => {}
            RecoveryState::FastRecovery if self.hole >= self.recover => self.rack_try_undo_recovery(news),
            RecoveryState::FastRecovery => {
                self.rack_try_undo_partial(news);
                self.rack_try_undo_dsack();
            }
            RecoveryState::RtoRecovery => self.rack_process_loss(news),
        }
    }

    /// The segments outstanding at the reduction are acknowledged (`tcp_try_undo_recovery`).
    fn rack_try_undo_recovery(&mut self, news: &News) {
        let undo = self.rack().undo;
        if undo.was_needless() || undo.was_delayed(news) {
            self.rack_undo();
        } else {
            self.rack().detection.on_recovered();
            self.rack_leave_recovery();
            self.rack_try_undo_dsack();
        }
    }

    /// A part of it is, by an original: the path reorders more than was known (`tcp_try_undo_partial`).
    fn rack_try_undo_partial(&mut self, news: &News) {
        let rack = self.rack();
        if news.advances && rack.undo.was_delayed(news) {
            rack.detection.on_late(news.hole, rack.board.top());
            if rack.board.resent() == 0 {
                rack.board.forget_losses();
                self.rack_undo();
            }
        }
    }

    /// DSACKs have told of all that was sent again (`tcp_try_undo_dsack`).
    fn rack_try_undo_dsack(&mut self) {
        if self.rack().undo.was_needless() {
            self.rack().detection.on_needless();
            self.rack_undo();
        }
    }

    /// After a timeout (`tcp_process_loss`). F-RTO (RFC 5682, section 3.1): if an ACK tells of a segment that was not sent
    /// again, the timeout was spurious.
    fn rack_process_loss(&mut self, news: &News) {
        let is_over = self.hole >= self.recover;
        let undo = self.rack().undo;
        let is_spurious = news.advances && (undo.was_needless() || undo.was_delayed(news));
        if is_spurious || undo.frto && news.has_original {
            self.rack().board.forget_losses();
            return self.rack_undo();
        }
        if undo.frto && self.sent > self.recover {
            self.rack().undo.frto = !news.has_sacked; // new data have been tried: the loss is real
        } else if undo.frto && news.advances && !is_over {
            self.recover = self.sent;
            let has_new = self.sent < self.end;
            let undo = &mut self.rack().undo;
            (undo.frto, undo.tries_new) = (has_new, has_new);
        }
        if is_over {
            self.rack().detection.on_recovered();
            self.rack_end();
        }
    }

    /// The window is what it was (`tcp_undo_cwnd_reduction`).
    fn rack_undo(&mut self) {
        self.cc.undo();
        if let Some(prior) = self.rack().undo.prior {
            let window = &mut self.cc.window;
            self.cwr_due &= prior.ssthresh <= window.ssthresh;
            (window.cwnd, window.ssthresh) = (window.cwnd.max(prior.cwnd), window.ssthresh.max(prior.ssthresh));
        }
        let rack = self.rack();
        (rack.undo, rack.timeouts) = (Undo::default(), 0);
        self.rack_end();
    }

    /// The reduction is over (`tcp_end_cwnd_reduction`).
    pub(super) fn rack_leave_recovery(&mut self) {
        self.end_unvalidated_reduction();
        self.cc.leave_recovery();
        self.rack_end();
    }

    fn rack_end(&mut self) {
        self.state = RecoveryState::Open;
        let rack = self.rack();
        (rack.prr, rack.undo.frto) = (Default::default(), false);
    }
}
