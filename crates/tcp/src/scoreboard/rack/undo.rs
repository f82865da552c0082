//! The reduction that may have been needless (RFC 3522, 3708, 5682). Names in parentheses are Linux's (net/ipv4/tcp_input.c).

use super::detection::News;
use crate::cc::Window;

/// The state that an undo needs of the last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// The segments outstanding then, as long as it can be undone (`undo_marker`).
    pub range: Option<(u32, u32)>,
    /// Window and threshold before it, if no mark asked for it, too (`prior_cwnd`, `prior_ssthresh`).
    pub prior: Option<Window>,
    /// Of the segments sent again since, those not known to have been needless; `None` before the first (`undo_retrans`).
    pub resent: Option<u32>,
    /// F-RTO: whether the last timeout was spurious is not known yet (`frto`).
    pub frto: bool,
}

impl Undo {
    /// A loss reduces the window (`tcp_init_undo`). `resent` segments sent again are in the network.
    pub fn new(hole: u32, sent: u32, prior: Option<Window>, resent: u32) -> Self {
        Self { range: Some((hole, sent)), prior, resent: (resent > 0).then_some(resent), frto: false }
    }

    /// A segment is sent again.
    pub fn on_resent(&mut self) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
    }

    /// A segment has arrived twice (`tcp_check_dsack`).
    pub fn on_dsack(&mut self, seq: u32) {
        if self.range.is_some_and(|(hole, _)| seq >= hole) {
            self.resent = self.resent.map(|resent| resent.saturating_sub(1));
        }
    }

    /// An echo has asked for a reduction.
    pub fn forbid(&mut self) {
        self.prior = None;
    }

    /// All that was sent again had arrived before (`tcp_try_undo_dsack`).
    pub fn was_needless(&self) -> bool {
        self.range.is_some() && self.resent == Some(0)
    }

    /// The original of what was sent again has arrived (`tcp_packet_delayed`): the ACK is for a segment sent before.
    pub fn was_delayed(&self, news: &News) -> bool {
        let is_older = self.range.is_some_and(|(_, sent)| news.end <= sent);
        is_older && self.resent > Some(0) && news.is_original
    }
}
