//! The segments outstanding, one by one: when each was sent last, and what has become of it (RFC 8985, section 5.1).

use crate::ack::Ack;
use crate::seqset::SeqSet;
use aqmlab_core::Time;
use std::collections::VecDeque;
use std::ops::Range;

/// A segment sent and not acknowledged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// When it was sent last.
    pub time: Time,
    /// It has been sent more than once.
    pub was_resent: bool,
    is_sacked: bool,
    is_lost: bool,
    /// It is lost and has been sent again since.
    is_resent: bool,
}

/// All of them, in order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outstanding {
    segments: VecDeque<Sent>,
    first: u32,
    /// Those of them that are SACKed, and those not in the network: SACKed, or lost and not sent again.
    delivered: SeqSet,
    absent: SeqSet,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// One past the highest segment delivered.
    top: u32,
    /// Below, what is lost has been sent again.
    resent_to: u32,
}

impl Outstanding {
    /// A segment is sent, new or again.
    pub fn on_sent(&mut self, seq: u32, now: Time) {
        let index = (seq - self.first) as usize;
        let held = self.held();
        self.delivered.reserve(held.clone(), self.first..seq + 1);
        self.absent.reserve(held, self.first..seq + 1);
        match self.segments.get_mut(index) {
            Some(sent) => {
                self.resent += u32::from(sent.is_lost && !sent.is_resent);
                if sent.is_lost {
                    self.absent.clear(seq..seq + 1);
                }
                (sent.time, sent.was_resent, sent.is_resent) = (now, true, sent.is_lost);
            }
            None => self.segments.push_back(Sent {
                time: now,
                was_resent: false,
                is_sacked: false,
                is_lost: false,
                is_resent: false,
            }),
        }
    }

    /// Takes in an ACK that is not old; tells `delivered` of each segment that it is the first to tell of, with its number.
    pub fn take(&mut self, ack: &Ack, mut delivered: impl FnMut(u32, &Sent)) {
        let acknowledged = self.first..ack.next.min(self.held().end);
        self.delivered.clear(acknowledged.clone());
        self.absent.clear(acknowledged);
        while self.first < ack.next
            && let Some(sent) = self.segments.pop_front()
        {
            self.forget(&sent);
            match sent.is_sacked {
                true => self.sacked -= 1,
                false => delivered(self.first, &sent),
            }
            self.first += 1;
        }
        self.first = ack.next;
        for block in ack.sack.blocks() {
            let (mut from, end) = (block.start.max(ack.next), block.end.min(self.held().end));
            while let Some(seq) = self.delivered.first_missing(from..end) {
                delivered(seq, &self.sack(seq));
                from = seq + 1;
            }
        }
        self.top = self.top.max(ack.next);
    }

    /// A segment is SACKed; returns what it was before.
    fn sack(&mut self, seq: u32) -> Sent {
        self.delivered.insert(seq);
        self.absent.insert(seq);
        let sent = &mut self.segments[(seq - self.first) as usize];
        let before = std::mem::replace(sent, Sent { is_sacked: true, is_lost: false, is_resent: false, ..*sent });
        self.sacked += 1;
        self.forget(&before);
        self.top = self.top.max(seq + 1);
        before
    }

    /// The numbers of all segments.
    fn held(&self) -> Range<u32> {
        self.first..self.first + self.segments.len() as u32
    }

    /// It is no longer lost, nor resent.
    fn forget(&mut self, sent: &Sent) {
        self.lost -= u32::from(sent.is_lost);
        self.resent -= u32::from(sent.is_resent);
    }

    /// Segments in the network: neither SACKed nor lost, and those lost that were sent again.
    pub fn in_flight(&self) -> u32 {
        self.segments.len() as u32 - self.sacked - self.lost + self.resent
    }

    /// Segments lost and sent again that are in the network.
    pub fn resent(&self) -> u32 {
        self.resent
    }

    /// Segments SACKed.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// One past the highest segment delivered.
    pub fn top(&self) -> u32 {
        self.top
    }

    /// Something is lost, sent again or not.
    pub fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The first segment that is lost and has not been sent again.
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.lost == self.resent {
            return None;
        }
        let start = self.resent_to.max(self.first);
        let is_due = |sent: &Sent| sent.is_lost && !sent.is_resent;
        let found = self.segments.iter().skip((start - self.first) as usize).position(is_due);
        self.resent_to = start + found? as u32;
        Some(self.resent_to)
    }

    /// Marks as lost those in the network for which `is_lost` holds, up to the first of them for which `is_later` does;
    /// returns how many they are. A segment sent again may be lost again.
    pub fn mark_lost(&mut self, is_later: impl Fn(&Sent) -> bool, mut is_lost: impl FnMut(u32, &Sent) -> bool) -> u32 {
        let (mut marked, Range { start: mut from, end }) = (0, self.held());
        while let Some(seq) = self.absent.first_missing(from..end) {
            from = seq + 1;
            let sent = &mut self.segments[(seq - self.first) as usize];
            if is_later(sent) {
                break;
            }
            if is_lost(seq, sent) {
                self.lost += u32::from(!sent.is_lost);
                self.resent -= u32::from(sent.is_resent);
                (sent.is_lost, sent.is_resent) = (true, false);
                self.absent.insert(seq);
                self.resent_to = self.resent_to.min(seq);
                marked += 1;
            }
        }
        marked
    }

    /// Nothing is lost after all.
    pub fn forget_losses(&mut self) {
        for (seq, sent) in (self.first..).zip(&mut self.segments) {
            if sent.is_lost {
                self.absent.clear(seq..seq + 1);
            }
            (sent.is_lost, sent.is_resent) = (false, false);
        }
        (self.lost, self.resent) = (0, 0);
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more
mod tests {
    use super::*;
    use crate::ack::Sack;

    fn ack(next: u32, blocks: &[Range<u32>]) -> Ack {
        let mut sack = Sack::default();
        blocks.iter().for_each(|block| sack.push(block.clone()));
        Ack { next, sack, ..Ack::default() }
    }

    /// Segments 0 to 9, sent a picosecond apart.
    fn ten() -> Outstanding {
        let mut board = Outstanding::default();
        (0..10).for_each(|seq| board.on_sent(seq, Time(seq.into())));
        board
    }

    fn delivered(board: &mut Outstanding, ack: &Ack) -> Vec<u32> {
        let mut found = Vec::new();
        board.take(ack, |seq, _| found.push(seq));
        found
    }

    #[test]
    fn each_arrival_is_told_of_once() {
        let mut board = ten();
        assert_eq!(delivered(&mut board, &ack(2, &[4..6])), [0, 1, 4, 5]);
        assert_eq!(delivered(&mut board, &ack(2, &[7..8, 4..6])), [7]);
        assert_eq!((board.in_flight(), board.sacked(), board.top()), (5, 3, 8));
        assert_eq!(delivered(&mut board, &ack(7, &[])), [2, 3, 6]);
        assert_eq!((board.in_flight(), board.sacked()), (2, 1), "8 and 9; 7 is SACKed");
    }

    #[test]
    fn a_segment_sent_again_can_be_lost_again() {
        let mut board = ten();
        board.take(&ack(1, &[5..8]), |_, _| {});
        assert_eq!(board.mark_lost(|sent| sent.time > Time(7), |_, _| true), 4, "1 to 4; 8 is later than 7");
        assert_eq!((board.in_flight(), board.next_lost()), (2, Some(1)));
        board.on_sent(1, Time(20));
        board.on_sent(2, Time(21));
        assert_eq!((board.in_flight(), board.next_lost()), (4, Some(3)));
        board.take(&ack(1, &[2..3, 5..8]), |seq, sent| assert_eq!((seq, sent.was_resent), (2, true)));
        assert_eq!(board.mark_lost(|_| false, |_, sent| sent.was_resent), 1);
        assert_eq!((board.in_flight(), board.next_lost()), (2, Some(1)));
        board.forget_losses();
        assert_eq!((board.in_flight(), board.next_lost()), (5, None), "1, 3, 4, 8 and 9");
    }
}
