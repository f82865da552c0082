//! The reduction that may have been needless (RFC 3522, 3708, 5682). Names in parentheses are Linux's (net/ipv4/tcp_input.c).

use super::detection::News;
use crate::cc::Window;
use aqmlab_core::Time;

/// The state that an undo needs of the last reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// The first segment outstanding then, as long as it can be undone (`undo_marker`).
    pub marker: Option<u32>,
    /// Window and threshold before it, if no mark asked for it, too (`prior_cwnd`, `prior_ssthresh`).
    pub prior: Option<Window>,
    /// Of the segments sent again since, those not known to have been needless; `None` before the first (`undo_retrans`).
    pub resent: Option<u32>,
    /// Time of the first of them, or of the first in the recovery before if any of that was still outstanding (`retrans_stamp`).
    pub resent_since: Option<Time>,
    /// F-RTO: whether the last timeout was spurious is not known yet (`frto`).
    pub frto: bool,
    /// It tries new data now, before what is lost (`REXMIT_NEW`).
    pub tries_new: bool,
}

impl Undo {
    /// A loss reduces the window (`tcp_init_undo`) while `hole` is the first segment outstanding. `resent` segments sent again are in
    /// the network, the first since then.
    pub fn new(hole: u32, prior: Option<Window>, resent: u32, resent_since: Option<Time>) -> Self {
        Self { marker: Some(hole), prior, resent: (resent > 0).then_some(resent), resent_since, ..Self::default() }
    }

    /// A segment is sent again.
    pub fn on_resent(&mut self, now: Time) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
        self.resent_since.get_or_insert(now);
    }

    /// A segment has arrived twice (`tcp_check_dsack`).
    pub fn on_dsack(&mut self, seq: u32) {
        if self.marker.is_some_and(|hole| seq >= hole) {
            self.resent = self.resent.map(|resent| resent.saturating_sub(1));
        }
    }

    /// An echo has asked for a reduction.
    pub fn forbid(&mut self) {
        self.prior = None;
    }

    /// All that was sent again had arrived before (`tcp_try_undo_dsack`).
    pub fn was_needless(&self) -> bool {
        self.marker.is_some() && self.resent == Some(0)
    }

    /// The original of what was sent again has arrived (`tcp_packet_delayed`): the ACK echoes the timestamp of a segment sent before
    /// anything was sent again. Where ACKs are lost it may be of the last segment that it tells of.
    pub fn was_delayed(&self, news: &News) -> bool {
        let is_older = news.once_at.is_none_or(|sent| self.resent_since.is_some_and(|since| sent < since));
        self.marker.is_some() && self.resent > Some(0) && news.is_original && is_older
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
        let was_delayed =
            |undo: &Undo, is_original, once_at| undo.was_delayed(&News { is_original, once_at, ..News::default() });
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
