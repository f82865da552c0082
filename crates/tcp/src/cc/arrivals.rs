//! Arrivals of segments, where loss recovery does not tell of them.

use crate::ack::{Ack, Sack};
use crate::seqset::SeqSet;
use std::ops::Range;

/// The segments outstanding that are known to have arrived.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    sacked: SeqSet,
    first: u32,
    /// One past the highest of them.
    top: u32,
    /// The blocks of the last ACK.
    last_sack: Sack,
}

impl Arrivals {
    /// Takes in an ACK; tells `delivered` of each segment that it is the first to tell of. `hole` is the first segment not
    /// acknowledged before it, `sent` one past the highest sent.
    pub fn take(&mut self, ack: &Ack, hole: u32, sent: u32, mut delivered: impl FnMut(u32)) {
        self.sacked.clear(self.first..hole.min(self.top.max(self.first)));
        self.first = hole;
        self.add(hole..ack.next.min(sent), &mut delivered);
        if !ack.sack.is_empty() {
            for block in ack.sack.news(&mut self.last_sack) {
                self.add(block.start.max(ack.next).max(hole)..block.end.min(sent), &mut delivered);
            }
        }
    }

    fn add(&mut self, range: Range<u32>, delivered: &mut impl FnMut(u32)) {
        if range.is_empty() {
            return;
        }
        let (first, top) = (self.first, self.top.max(self.first));
        self.sacked.reserve(first..top, first..top.max(range.end));
        self.top = top.max(range.end);
        let mut from = range.start;
        while from < range.end
            && let Some(seq) = self.sacked.first_missing(from..range.end)
        {
            self.sacked.insert(seq);
            delivered(seq);
            from = seq + 1;
        }
    }
}
