//! The segments outstanding, one by one: when each was sent last, and what has become of it (RFC 8985, section 5.1).

use crate::ack::{Ack, Sack};
use crate::ring::Ring;
use crate::seqset::SeqSet;
use aqmlab_core::Time;
use std::collections::VecDeque;

/// A segment sent and not acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutstandingSegment {
    /// Time at which it was sent last.
    pub time: Time,
    /// It has been sent more than once.
    pub was_resent: bool,
    is_sacked: bool,
    is_lost: bool,
    /// It is lost and has been sent again since.
    is_resent: bool,
}

impl OutstandingSegment {
    /// Neither SACKed nor lost, or sent again since.
    fn is_in_network(&self) -> bool {
        !self.is_sacked && (!self.is_lost || self.is_resent)
    }
}

/// All of them, in order. Those sent once were sent in this order, those sent again in that of `again`: so what has been in
/// the network for longest is found without a look at the others (section 6.2, step 5).
#[derive(Clone, Debug, Default)]
pub(super) struct OutstandingSegments {
    segments: Ring<OutstandingSegment>,
    first: u32,
    end: u32,
    /// Those of them that are SACKed, those that are lost and were not sent again, and those that are SACKed or lost or were
    /// sent again: all but those sent once that are in the network.
    delivered: SeqSet,
    due: SeqSet,
    settled: SeqSet,
    /// One past the highest of the latter; below the other all are among the latter.
    settled_end: u32,
    settled_to: u32,
    /// Segments sent again, and when: an entry counts while its segment is in the network and was not sent later.
    again: VecDeque<(Time, u32)>,
    /// Those found lost last, in order.
    found: Vec<u32>,
    in_network: u32,
    sacked: u32,
    lost: u32,
    resent: u32,
    /// The blocks of the last ACK.
    last_sack: Sack,
    /// One past the highest segment delivered.
    top: u32,
    /// Below, what is lost has been sent again.
    due_from: u32,
}

impl OutstandingSegments {
    /// A segment is sent, new or again.
    pub fn on_sent(&mut self, seq: u32, now: Time) {
        if seq < self.end {
            return self.on_resent(seq, now);
        }
        self.end = seq + 1;
        self.in_network += 1;
        self.segments.push(self.first..self.end, OutstandingSegment { time: now, ..OutstandingSegment::default() });
    }

    fn on_resent(&mut self, seq: u32, now: Time) {
        self.settle(seq);
        self.due.remove(seq);
        let sent = &mut self.segments[seq];
        let returns = u32::from(sent.is_lost && !sent.is_resent);
        (self.resent, self.in_network) = (self.resent + returns, self.in_network + returns);
        (sent.time, sent.was_resent, sent.is_resent) = (now, true, sent.is_lost);
        self.drop_stale();
        self.again.push_back((now, seq));
    }

    /// Takes in an ACK that is not old; tells `delivered` of each segment that it is the first to tell of, with its number.
    pub fn take(&mut self, ack: &Ack, mut delivered: impl FnMut(u32, &OutstandingSegment)) {
        let acknowledged = self.first..ack.next.min(self.settled_end);
        if !acknowledged.is_empty() {
            self.delivered.clear(acknowledged.clone());
            self.due.clear(acknowledged.clone());
            self.settled.clear(acknowledged);
        }
        for seq in self.first..ack.next.min(self.end) {
            let sent = self.segments[seq];
            self.forget(&sent);
            match sent.is_sacked {
                true => self.sacked -= 1,
                false => delivered(seq, &sent),
            }
        }
        self.first = ack.next;
        self.end = self.end.max(ack.next);
        self.top = self.top.max(ack.next);
        if ack.sack.is_empty() {
            return;
        }
        for block in ack.sack.news(&mut self.last_sack) {
            let (mut from, end) = (block.start.max(ack.next), block.end.min(self.end));
            if from < end {
                self.reserve(end);
            }
            while from < end
                && let Some(seq) = self.delivered.first_missing(from..end)
            {
                delivered(seq, &self.sack(seq));
                from = seq + 1;
            }
        }
    }

    /// A segment is SACKed; returns what it was before.
    fn sack(&mut self, seq: u32) -> OutstandingSegment {
        self.delivered.insert(seq);
        self.settled.insert(seq);
        let sent = &mut self.segments[seq];
        let before =
            std::mem::replace(sent, OutstandingSegment { is_sacked: true, is_lost: false, is_resent: false, ..*sent });
        if before.is_lost && !before.is_resent {
            self.due.remove(seq);
        }
        self.sacked += 1;
        self.forget(&before);
        self.top = self.top.max(seq + 1);
        before
    }

    /// A segment is lost, or sent again.
    fn settle(&mut self, seq: u32) {
        self.reserve(seq + 1);
        self.settled.insert(seq);
    }

    /// Numbers below `end` may be put into the sets.
    #[inline]
    fn reserve(&mut self, end: u32) {
        if end <= self.settled_end {
            return;
        }
        let held = self.first..self.settled_end;
        for set in [&mut self.delivered, &mut self.due, &mut self.settled] {
            set.reserve(held.clone(), self.first..end);
        }
        self.settled_end = end;
    }

    /// It is no longer in the network, nor lost, nor resent.
    fn forget(&mut self, sent: &OutstandingSegment) {
        self.in_network -= u32::from(sent.is_in_network());
        self.lost -= u32::from(sent.is_lost);
        self.resent -= u32::from(sent.is_resent);
    }

    /// Segments in the network: neither SACKed nor lost, and those lost that were sent again.
    pub fn in_flight(&self) -> u32 {
        self.in_network
    }

    /// Time at which the first segment outstanding was sent last.
    pub fn first_sent(&self) -> Option<Time> {
        (self.first < self.end).then(|| self.segments[self.first].time)
    }

    /// The first segment outstanding was sent more than once.
    pub fn was_first_resent(&self) -> bool {
        self.first < self.end && self.segments[self.first].was_resent
    }

    /// Segments lost and sent again that are in the network.
    pub fn resent(&self) -> u32 {
        self.resent
    }

    /// Segments SACKed.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Segments SACKed that follow another.
    pub fn sacked_behind_others(&self) -> u32 {
        self.sacked - self.delivered.runs(self.first..self.settled_end.max(self.first))
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
    #[inline]
    pub fn next_lost(&mut self) -> Option<u32> {
        if self.lost == self.resent {
            return None;
        }
        let start = self.due_from.max(self.first);
        self.due_from = self.due.first_member(start..self.settled_end)?;
        Some(self.due_from)
    }

    /// Marks as lost those in the network that were sent before `newest` (when, and its number) and long enough ago. Returns
    /// when the last of the others sent before `newest` was sent. A segment sent again may be lost again.
    pub fn mark_lost(&mut self, newest: (Time, u32), is_long_ago: impl Fn(Time) -> bool) -> Option<Time> {
        self.found.clear();
        let mut waiting = None;
        self.settled_to = self.next_once(self.settled_to.max(self.first));
        let mut seq = self.settled_to;
        while seq < self.end {
            let time = self.segments[seq].time;
            match (time, seq) < newest {
                true if is_long_ago(time) => self.lose(seq),
                true => waiting = Some(time),
                false => break,
            }
            seq = self.next_once(seq + 1);
        }
        self.drop_stale();
        for i in 0..self.again.len() {
            let entry @ (time, seq) = self.again[i];
            if time > newest.0 {
                break;
            }
            if entry < newest && self.counts(entry) {
                match is_long_ago(time) {
                    true => self.lose(seq),
                    false => waiting = waiting.max(Some(time)),
                }
            }
        }
        if self.found.len() > 1 {
            self.found.sort_unstable();
        }
        waiting
    }

    /// Marks as lost what was sent once and has `threshold` segments beyond it that have arrived.
    pub fn mark_lost_by_count(&mut self, threshold: u32) {
        self.found.clear();
        let (mut beyond, mut end) = (0, self.top.min(self.end));
        while beyond < threshold && end > self.first {
            end -= 1;
            beyond += u32::from(self.segments[end].is_sacked);
        }
        if beyond < threshold {
            return;
        }
        self.settled_to = self.next_once(self.settled_to.max(self.first));
        let mut seq = self.settled_to;
        while seq < end {
            self.lose(seq);
            seq = self.next_once(seq + 1);
        }
    }

    /// Marks as lost the first segment, if it is in the network, and those sent long enough ago.
    pub fn mark_lost_at_timeout(&mut self, is_long_ago: impl Fn(Time) -> bool) {
        self.found.clear();
        for seq in self.first..self.end {
            let sent = &self.segments[seq];
            if sent.is_in_network() && (seq == self.first || is_long_ago(sent.time)) {
                self.lose(seq);
            }
        }
    }

    fn lose(&mut self, seq: u32) {
        self.settle(seq);
        let sent = &mut self.segments[seq];
        self.in_network -= 1;
        self.lost += u32::from(!sent.is_lost);
        self.resent -= u32::from(sent.is_resent);
        (sent.is_lost, sent.is_resent) = (true, false);
        self.due.insert(seq);
        self.due_from = self.due_from.min(seq);
        self.found.push(seq);
    }

    /// The segments that were found lost last.
    pub fn found(&self) -> &[u32] {
        &self.found
    }

    /// From `seq` on, the first segment that was sent once and is in the network, or one past the last.
    fn next_once(&self, seq: u32) -> u32 {
        self.settled.first_missing(seq..self.settled_end).unwrap_or(self.settled_end.max(seq))
    }

    /// True if a segment sent again at that time is still in the network, and was not sent again since.
    fn counts(&self, (time, seq): (Time, u32)) -> bool {
        seq >= self.first && {
            let sent = &self.segments[seq];
            sent.time == time && sent.is_in_network()
        }
    }

    /// Drops entries until the first segment sent again is one that is in the network.
    fn drop_stale(&mut self) {
        while self.again.front().is_some_and(|&entry| !self.counts(entry)) {
            self.again.pop_front();
        }
    }

    /// Nothing is lost after all.
    pub fn forget_losses(&mut self) {
        self.again.clear();
        self.due.clear(self.first..self.settled_end);
        for seq in self.first..self.end {
            let sent = &mut self.segments[seq];
            if sent.is_lost && !sent.was_resent {
                self.settled.remove(seq);
            }
            (sent.is_lost, sent.is_resent) = (false, false);
            if sent.was_resent && !sent.is_sacked {
                self.again.push_back((sent.time, seq));
            }
        }
        self.again.make_contiguous().sort_unstable();
        (self.lost, self.resent, self.settled_to) = (0, 0, self.first);
        self.in_network = self.end - self.first - self.sacked;
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more
mod tests {
    use super::*;
    use std::ops::Range;

    fn ack(next: u32, blocks: &[Range<u32>]) -> Ack {
        Ack { next, sack: Sack::listing(blocks), ..Ack::default() }
    }

    /// Segments 0 to 9, sent a picosecond apart.
    fn ten() -> OutstandingSegments {
        let mut board = OutstandingSegments::default();
        (0..10).for_each(|seq| board.on_sent(seq, Time(seq.into())));
        board
    }

    fn delivered(board: &mut OutstandingSegments, ack: &Ack) -> Vec<u32> {
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

    /// The segments found lost when segment `newest` arrives, if those sent until `long_ago` are.
    fn lost(board: &mut OutstandingSegments, newest: (u64, u32), long_ago: u64) -> (Vec<u32>, Option<u64>) {
        let (time, seq) = newest;
        let waiting = board.mark_lost((Time(time), seq), |sent| sent <= Time(long_ago));
        (board.found().to_vec(), waiting.map(|time| time.0))
    }

    #[test]
    fn a_segment_sent_again_can_be_lost_again() {
        let mut board = ten();
        board.take(&ack(1, &[5..8]), |_, _| {});
        assert_eq!(lost(&mut board, (7, 7), 7), (vec![1, 2, 3, 4], None), "8 is later than 7");
        assert_eq!((board.in_flight(), board.next_lost()), (2, Some(1)));
        board.on_sent(1, Time(20));
        board.on_sent(2, Time(21));
        assert_eq!((board.in_flight(), board.next_lost()), (4, Some(3)));
        board.take(&ack(1, &[2..3, 5..8]), |seq, sent| assert_eq!((seq, sent.was_resent), (2, true)));
        assert_eq!(lost(&mut board, (21, 2), 7), (vec![], Some(20)), "8, 9 and 1 again have time");
        assert_eq!(lost(&mut board, (21, 2), 8), (vec![8], Some(20)));
        assert_eq!(lost(&mut board, (21, 2), 20), (vec![1, 9], None), "the lowest first");
        assert_eq!((board.in_flight(), board.next_lost()), (0, Some(1)));
        board.forget_losses();
        assert_eq!((board.in_flight(), board.next_lost()), (5, None), "1, 3, 4, 8 and 9");
        assert_eq!(lost(&mut board, (20, 2), 8), (vec![3, 4, 8], Some(20)), "9 and 1 again have time");
    }

    #[test]
    fn of_segments_sent_at_once_those_below_the_newest_are_older() {
        let mut board = OutstandingSegments::default();
        (0..6).for_each(|seq| board.on_sent(seq, Time(5)));
        board.take(&ack(0, &[3..4]), |_, _| {});
        assert_eq!(lost(&mut board, (5, 3), 5).0, [0, 1, 2]);
        [0, 2, 1].into_iter().for_each(|seq| board.on_sent(seq, Time(9)));
        board.take(&ack(0, &[1..2]), |_, _| {});
        assert_eq!(lost(&mut board, (9, 1), 9).0, [0, 4, 5], "not 2");
    }

    #[test]
    fn by_count_three_that_arrive_beyond_make_a_loss() {
        let mut board = ten();
        delivered(&mut board, &ack(0, &[4..6]));
        board.mark_lost_by_count(3);
        assert_eq!(board.found(), []);
        delivered(&mut board, &ack(0, &[8..9, 4..6]));
        board.mark_lost_by_count(3);
        assert_eq!(board.found(), [0, 1, 2, 3], "not 6 and 7, beyond which there is one");
        board.on_sent(0, Time(20));
        delivered(&mut board, &ack(0, &[4..10]));
        board.mark_lost_by_count(3);
        assert_eq!(board.found(), [], "the timer has a retransmitted one");
    }

    #[test]
    fn at_a_timeout_the_first_is_lost_and_what_was_sent_long_ago() {
        let mut board = ten();
        board.take(&ack(2, &[3..4]), |_, _| {});
        board.mark_lost_at_timeout(|sent| sent <= Time(5));
        assert_eq!(board.found(), [2, 4, 5]);
        board.on_sent(2, Time(20));
        board.mark_lost_at_timeout(|sent| sent <= Time(5));
        assert_eq!(board.found(), [2], "again");
    }
}
