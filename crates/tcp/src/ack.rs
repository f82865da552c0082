//! Acknowledgements: the cumulative number, the echo of a congestion mark, selective blocks, the one-way delay, the window.

use aqmlab_core::{Span, Time};
use std::ops::Range;

/// An ACK as its sender reads it. `ece` is not the first byte of a word, or the word would be read for it: a processor waits
/// where one load reads what several stores have just written, or what they have not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Ack {
    /// The next segment expected: all before it have arrived; 0 before segment 0.
    pub next: u32,
    /// The segment whose timestamp it echoes had been sent before; variant `rack` asks (RFC 3522).
    pub is_resent: bool,
    /// Echo of a congestion mark (RFC 3168, ECE).
    pub ece: bool,
    /// It offers another window than the ACK before, of a receiver of Linux: then the sender has not predicted its header. An ACK
    /// with a third block, a delay or a count does not say.
    pub has_new_window: bool,
    /// The window of a receiver of Linux, segments; 0 says nothing.
    pub rwnd: u32,
    /// Segments received with a congestion mark so far, modulo 2^24, for senders that ask for it: it takes the room of a
    /// block. 0 where they are not counted.
    pub ce: u32,
    /// Segments that have arrived beyond `next`, the block of the segment that caused this ACK first (RFC 2018); empty
    /// if there is none.
    pub sack: Sack,
    /// A segment that had arrived before has caused it (RFC 2883, DSACK): it takes the room of a block.
    pub dsack: Option<u32>,
    /// One-way delay of the segment that caused this ACK, for senders that ask for it: it takes the room of the third
    /// block. Zero where it is not measured.
    pub delay: Span,
}

impl Ack {
    /// The bits of `ce`.
    pub const CE_MASK: u32 = (1 << 24) - 1;
}

/// The window in an ACK of a receiver that drives its sender (RFC 9840).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// The first segment that the receiver has no room for.
    pub edge: u32,
    /// Its timestamp: when the ACK was sent.
    pub sent_at: Time,
}

/// Up to three blocks of segments (RFC 2018).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)] // the lengths lie within the first 16 bytes, which are written at once: a read across two writes waits for both
pub struct Sack {
    /// The number of segments of each; 0 ends the list.
    pub lens: [u16; 3],
    /// The first segment of each.
    pub starts: [u32; 3],
}

impl Default for Sack {
    #[inline(always)] // that of an array is a call
    fn default() -> Self {
        Self::NONE
    }
}

impl Sack {
    /// No block at all.
    pub const NONE: Self = Self { lens: [0; 3], starts: [0; 3] };

    /// Of these blocks; one from 0 up to 0 ends the list. Of more than 65535 segments the last 65535 are named: the earlier
    /// ones have been before.
    #[inline]
    pub(crate) fn of(blocks: [Range<u32>; 3]) -> Self {
        let lens = blocks.clone().map(|block| block.len().min(u16::MAX.into()) as u16);
        let [first, second, third] = blocks;
        let starts = [first.end - u32::from(lens[0]), second.end - u32::from(lens[1]), third.end - u32::from(lens[2])];
        Self { starts, lens }
    }

    /// The blocks, in the order in which they were reported.
    pub fn blocks(&self) -> impl Iterator<Item = Range<u32>> + use<> {
        let (starts, lens) = (self.starts, self.lens);
        (0..lens.len()).take_while(move |&i| lens[i] > 0).map(move |i| starts[i]..starts[i] + u32::from(lens[i]))
    }

    /// The segments of which `earlier`, of an ACK before, has not told in a block with the same first segment. `earlier`
    /// becomes this one.
    #[inline]
    pub(crate) fn news(&self, earlier: &mut Sack) -> [Range<u32>; 3] {
        let earlier = std::mem::replace(earlier, *self);
        std::array::from_fn(|i| {
            let (start, len) = (self.starts[i], self.lens[i]);
            if earlier.starts[i] == start && earlier.lens[i] == len {
                return start..start; // the same in the same place
            }
            let known =
                (0..3).map(|j| if earlier.starts[j] == start { earlier.lens[j].into() } else { 0 }).sum::<u32>();
            start + known..start + u32::from(len)
        })
    }

    /// No block at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.lens[0] == 0
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more
mod tests {
    use super::*;

    impl Sack {
        /// Of up to three blocks.
        pub(crate) fn listing(blocks: &[Range<u32>]) -> Self {
            Self::of(std::array::from_fn(|i| blocks.get(i).cloned().unwrap_or_default()))
        }
    }

    #[test]
    fn holds_three_blocks_and_the_end_of_a_long_one() {
        assert!(Sack::default().is_empty() && Sack::of([0..0, 0..0, 0..0]) == Sack::default());
        let sack = Sack::of([5..6, 10..100_010, 3..4]);
        assert_eq!(sack.blocks().collect::<Vec<_>>(), [5..6, 34_475..100_010, 3..4]);
    }

    #[test]
    fn blocks_that_have_grown_bring_news_at_their_end() {
        let mut heard = Sack::default();
        let mut news = |blocks: &[Range<u32>]| {
            Sack::listing(blocks).news(&mut heard).into_iter().filter(|block| !block.is_empty()).collect::<Vec<_>>()
        };
        assert_eq!(news(&[5..7]), [5..7]);
        assert_eq!(news(&[9..10, 5..7]), [9..10]);
        assert_eq!(news(&[9..12, 5..7]), [10..12]);
        assert_eq!(news(&[5..8, 9..11]), [7..8], "9 to 11 was longer in an ACK that has come before it");
        assert_eq!(news(&[3..8]), [3..8]);
    }
}
