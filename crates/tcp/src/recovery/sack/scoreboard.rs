//! The scoreboard of RFC 6675: what the receiver holds beyond the cumulative ACK, what is lost, what is in the pipe.

use crate::ack::Ack;
use crate::seqset::SeqSet;

/// Names are those of RFC 6675, section 2; where it has the highest of some data, this has one past it.
#[derive(Clone, Debug, Default)]
pub(super) struct Scoreboard {
    /// Segments SACKed above HighACK.
    sacked: SeqSet,
    /// Their number.
    count: u32,
    /// One past the highest of them.
    top: u32,
    /// Below, what is not SACKed is lost (`IsLost`): `DupThresh` segments above it are SACKed.
    lost_end: u32,
    /// HighRxt: up to here, what is not SACKed has been resent.
    high_rxt: u32,
    /// Their number.
    resent: u32,
    /// RescueRxt: no rescue before HighACK is beyond; `None` before the first recovery.
    pub rescue: Option<u32>,
    /// RecoveryPoint of a timeout: no recovery before HighACK has reached it (section 5.1).
    pub recovery_point: u32,
}

impl Scoreboard {
    /// `Update`: takes in the blocks of an ACK that is not old. `hole` is the first segment not acknowledged before
    /// this ACK, `sent` one past the highest sent. True if something was not yet known to have arrived.
    pub fn update(&mut self, ack: &Ack, hole: u32, sent: u32, dup_thresh: u32) -> bool {
        if ack.next > hole {
            self.forget(hole, ack.next);
        }
        let before = self.count;
        for block in ack.sack.blocks() {
            let (start, end) = (block.start.max(ack.next), block.end.min(sent));
            if start < end {
                self.add(ack.next, start, end);
            }
        }
        if self.count > before
            && let Some(lost_end) = self.sacked.nth_last(ack.next..self.top, dup_thresh)
        {
            self.lost_end = lost_end;
        }
        self.count > before
    }

    /// True if the receiver holds `seq`, not below the hole.
    pub fn has(&self, seq: u32) -> bool {
        seq < self.top && self.sacked.contains(seq)
    }

    /// `IsLost`, of the first segment not acknowledged.
    pub fn is_lost(&self, hole: u32) -> bool {
        hole < self.lost_end
    }

    /// `SetPipe`: segments in the network. Each one not SACKed counts unless it is lost, and once more if it was
    /// resent.
    pub fn pipe(&self, hole: u32, sent: u32, dup_thresh: u32) -> u32 {
        // At and above `lost_end` exactly `DupThresh` are SACKed.
        let in_flight = if self.is_lost(hole) { sent - self.lost_end - dup_thresh } else { sent - hole - self.count };
        in_flight + self.resent
    }

    /// `NextSeg`, rule 1: the first segment lost and not yet resent.
    pub fn next_lost(&self, hole: u32) -> Option<u32> {
        self.sacked.first_missing(self.high_rxt.max(hole)..self.lost_end.max(hole))
    }

    /// `NextSeg`, rule 3: the first segment not yet resent that lies below something SACKed.
    pub fn next_hole(&self, hole: u32) -> Option<u32> {
        self.sacked.first_missing(self.high_rxt.max(hole)..self.top.max(hole))
    }

    /// `NextSeg`, rule 4: the last segment outstanding that is not SACKed.
    pub fn last_hole(&self, hole: u32, sent: u32) -> Option<u32> {
        if self.top < sent { Some(sent - 1) } else { self.sacked.last_missing(hole..sent) }
    }

    /// HighRxt goes up to `seq`, the next hole, which is resent.
    pub fn resend(&mut self, seq: u32) {
        self.high_rxt = seq + 1;
        self.resent += 1;
    }

    /// Nothing has been resent: HighRxt is HighACK.
    pub fn restart(&mut self) {
        (self.high_rxt, self.resent) = (0, 0);
    }

    /// Segments SACKed from `hole` up to `end`.
    pub fn sacked(&self, hole: u32, end: u32) -> u32 {
        self.sacked.count(hole..end.min(self.top).max(hole))
    }

    /// RFC 2018, section 5: the receiver's word of before a timeout counts no more.
    pub fn expunge(&mut self, hole: u32) {
        self.sacked.clear(hole..self.top.max(hole));
        (self.count, self.top, self.lost_end, self.rescue) = (0, 0, 0, None);
    }

    /// Everything from `hole` up to `next` is acknowledged.
    fn forget(&mut self, hole: u32, next: u32) {
        let rxt_end = self.high_rxt.clamp(hole, next);
        let among_resent = hole..rxt_end.min(self.top.max(hole));
        self.resent -= rxt_end - hole - self.sacked.count(among_resent);
        self.count -= self.sacked.clear(hole..next.min(self.top.max(hole)));
    }

    /// Segments from `start` up to `end` have arrived; `hole` has not.
    fn add(&mut self, hole: u32, start: u32, end: u32) {
        self.sacked.reserve(hole..self.top.max(hole), hole..self.top.max(end));
        let rxt_end = self.high_rxt.clamp(start, end);
        let resent = self.sacked.fill(start..rxt_end);
        self.resent -= resent;
        self.count += resent + self.sacked.fill(rxt_end..end);
        self.top = self.top.max(end);
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more
mod tests {
    use super::*;
    use crate::ack::Sack;

    fn ack(next: u32, blocks: &[std::ops::Range<u32>]) -> Ack {
        Ack { next, sack: Sack::listing(blocks), ..Ack::default() }
    }

    #[test]
    fn three_segments_above_make_a_loss() {
        let mut board = Scoreboard::default();
        assert!(board.update(&ack(5, &[6..7]), 0, 20, 3));
        assert!(board.update(&ack(5, &[8..9, 6..7]), 5, 20, 3));
        assert!(!board.update(&ack(5, &[8..9, 6..7]), 5, 20, 3), "nothing new");
        assert!(!board.is_lost(5));
        // 5 to 19 without 6 and 8.
        assert_eq!(board.pipe(5, 20, 3), 13);
        assert!(board.update(&ack(5, &[10..11, 8..9, 6..7]), 5, 20, 3));
        // Above 5 are 6, 8 and 10; above 7 only two.
        assert_eq!((board.is_lost(5), board.next_lost(5)), (true, Some(5)));
        assert_eq!(board.pipe(5, 20, 3), 11, "7, 9 and 11 to 19");
        board.resend(5);
        assert_eq!((board.next_lost(5), board.next_hole(5), board.pipe(5, 20, 3)), (None, Some(7), 12));
        board.update(&ack(5, &[10..13, 8..9, 6..7]), 5, 20, 3);
        // 10, 11 and 12 are above 7 and 9: both are lost.
        assert_eq!((board.next_lost(5), board.pipe(5, 20, 3)), (Some(7), 8), "5 again, 13 to 19");
        board.resend(7);
        board.update(&ack(7, &[10..13, 8..9]), 5, 20, 3);
        assert_eq!((board.next_lost(7), board.pipe(7, 20, 3)), (Some(9), 8), "7 again, 13 to 19");
        assert_eq!(board.last_hole(7, 20), Some(19));
        board.update(&ack(7, &[13..20]), 7, 20, 3);
        assert_eq!(board.last_hole(7, 20), Some(9));
        assert_eq!(board.pipe(7, 20, 3), 1, "7 again");
    }

    #[test]
    fn a_resent_segment_that_arrives_leaves_the_pipe() {
        let mut board = Scoreboard::default();
        board.update(&ack(1, &[4..9]), 0, 12, 3);
        [1, 2, 3].into_iter().for_each(|seq| board.resend(seq));
        assert_eq!(board.pipe(1, 12, 3), 6, "1 to 3 again, 9 to 11");
        board.update(&ack(1, &[2..3, 4..9]), 1, 12, 3);
        assert_eq!(board.pipe(1, 12, 3), 5);
        board.update(&ack(3, &[4..9]), 1, 12, 3);
        assert_eq!(board.pipe(3, 12, 3), 4, "3 again, 9 to 11");
        board.update(&ack(12, &[]), 3, 12, 3);
        assert_eq!(board.pipe(12, 12, 3), 0);
    }

    #[test]
    fn a_timeout_keeps_what_has_arrived_unless_it_is_expunged() {
        let mut board = Scoreboard::default();
        board.update(&ack(1, &[4..9]), 0, 12, 3);
        board.resend(1);
        board.restart();
        assert_eq!(board.pipe(1, 12, 3), 3, "9 to 11; 1 to 3 are lost");
        assert_eq!([1, 4, 6, 9, 12].map(|end| board.sacked(1, end)), [0, 0, 2, 5, 5]);
        board.expunge(1);
        assert!(!board.has(5));
        assert_eq!((board.is_lost(1), board.pipe(1, 12, 3)), (false, 11));
        assert!(board.update(&ack(1, &[4..9]), 1, 12, 3), "the same is new again");
        assert!(board.has(4) && board.has(8) && !board.has(3) && !board.has(9));
    }
}
