//! A reduction that turns out to have been needless is undone: F-RTO (RFC 5682).

use super::News;
use crate::cc::Window;
use crate::sender::{RecoveryState, Sender};

/// What an undo needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Undo {
    /// F-RTO: whether the last timeout was spurious is not known yet.
    pub frto: bool,
    /// Window and threshold before the last reduction.
    pub prior: Window,
}

impl Default for Undo {
    fn default() -> Self {
        Self { frto: false, prior: Window { cwnd: 0.0, ssthresh: 0.0 } }
    }
}

impl Sender {
    /// RFC 5682, section 3.1, as Linux has it: if an ACK tells of a segment that was not sent again, the timeout was spurious,
    /// and the window is what it was.
    pub(super) fn rack_frto(&mut self, news: &News, is_over: bool) {
        if news.has_original {
            self.rack_undo();
            self.rack().undo.frto = false;
        } else if self.sent > self.recover {
            self.rack().undo.frto &= !news.has_sacked; // new data have been tried: the loss is real
        } else if news.advances && !is_over {
            self.recover = self.sent; // new data are tried next
            self.rack().undo.frto = self.sent < self.end;
        }
    }

    /// Nothing is lost, and the window is what it was.
    fn rack_undo(&mut self) {
        let prior = self.rack().undo.prior;
        let window = &mut self.cc.window;
        (window.cwnd, window.ssthresh) = (window.cwnd.max(prior.cwnd), window.ssthresh.max(prior.ssthresh));
        self.rack().board.forget_losses();
        self.state = RecoveryState::Open;
    }
}
