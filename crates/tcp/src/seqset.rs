//! A set of segment numbers within a sliding window, a bit for each.

use std::ops::Range;

/// Segment numbers. All members lie in one window, known to the owner; each range asked about lies in it too.
#[derive(Clone, Debug)]
pub(crate) struct SeqSet {
    words: Words,
}

/// Segment `seq` is bit `seq` mod 64 of word `seq/64` mod the number of words, a power of two. Most windows need one word.
#[derive(Clone, Debug)]
enum Words {
    One(u64),
    Many(Box<[u64]>),
}

impl Default for SeqSet {
    fn default() -> Self {
        Self { words: Words::One(0) }
    }
}

impl SeqSet {
    /// Makes room for `wanted`; the members so far lie in `held`.
    #[inline]
    pub fn reserve(&mut self, held: Range<u32>, wanted: Range<u32>) {
        if wanted.len() > 64 * self.len() {
            self.grow(held, wanted.len());
        }
    }

    #[cold]
    fn grow(&mut self, held: Range<u32>, wanted: usize) {
        let mut words = vec![0; wanted.div_ceil(64).next_power_of_two()].into_boxed_slice();
        for (word, mask) in pieces(held) {
            words[word & (words.len() - 1)] |= self.bits(word) & mask;
        }
        self.words = Words::Many(words);
    }

    /// Number of words.
    fn len(&self) -> usize {
        if let Words::Many(words) = &self.words { words.len() } else { 1 }
    }

    /// True if `seq` is a member.
    pub fn contains(&self, seq: u32) -> bool {
        self.bits(seq as usize / 64) & 1 << (seq % 64) != 0
    }

    /// Adds one number.
    #[inline]
    pub fn insert(&mut self, seq: u32) {
        *self.word(seq as usize / 64) |= 1 << (seq % 64);
    }

    /// Removes one number.
    #[inline]
    pub fn remove(&mut self, seq: u32) {
        *self.word(seq as usize / 64) &= !(1 << (seq % 64));
    }

    /// Adds all of `range`; returns how many were missing.
    pub fn fill(&mut self, range: Range<u32>) -> u32 {
        let mut added = 0;
        for (word, mask) in pieces(range) {
            let word = self.word(word);
            added += (mask & !*word).count_ones();
            *word |= mask;
        }
        added
    }

    /// Removes all of `range`; returns how many were there.
    pub fn clear(&mut self, range: Range<u32>) -> u32 {
        let mut removed = 0;
        for (word, mask) in pieces(range) {
            let word = self.word(word);
            removed += (mask & *word).count_ones();
            *word &= !mask;
        }
        removed
    }

    /// Members in `range`.
    pub fn count(&self, range: Range<u32>) -> u32 {
        pieces(range).map(|(word, mask)| (self.bits(word) & mask).count_ones()).sum()
    }

    /// Runs of members in `range` that lack none between them.
    pub fn runs(&self, range: Range<u32>) -> u32 {
        let mut last = 0; // the bit before
        let starts = pieces(range).map(|(word, mask)| {
            let bits = self.bits(word) & mask;
            let starts = bits & !(bits << 1 | last);
            last = bits >> 63;
            starts.count_ones()
        });
        starts.sum()
    }

    /// The first number of `range` that is missing.
    #[inline]
    pub fn first_missing(&self, range: Range<u32>) -> Option<u32> {
        let (start, end) = (range.start, range.end);
        let mut word = start / 64;
        let mut missing = !self.bits(word as usize) & u64::MAX << (start % 64);
        while missing == 0 && word < end / 64 {
            word += 1;
            missing = !self.bits(word as usize);
        }
        let found = 64 * word + missing.trailing_zeros();
        (found < end).then_some(found)
    }

    /// The first member in `range`.
    pub fn first_member(&self, range: Range<u32>) -> Option<u32> {
        let mut members = pieces(range).map(|(word, mask)| (word, self.bits(word) & mask));
        members.find(|&(_, bits)| bits != 0).map(|(word, bits)| 64 * word as u32 + bits.trailing_zeros())
    }

    /// The last number of `range` that is missing.
    pub fn last_missing(&self, range: Range<u32>) -> Option<u32> {
        let mut missing = pieces(range).rev().map(|(word, mask)| (word, !self.bits(word) & mask));
        missing.find(|&(_, bits)| bits != 0).map(|(word, bits)| 64 * word as u32 + bits.ilog2())
    }

    /// The `n`-th member of `range` from its end, counted from 1.
    pub fn nth_last(&self, range: Range<u32>, mut n: u32) -> Option<u32> {
        for (word, mask) in pieces(range).rev() {
            let mut bits = self.bits(word) & mask;
            if bits.count_ones() < n {
                n -= bits.count_ones();
                continue;
            }
            for _ in 1..n {
                bits ^= 1 << bits.ilog2();
            }
            return Some(64 * word as u32 + bits.ilog2());
        }
        None
    }

    #[inline]
    fn bits(&self, word: usize) -> u64 {
        match &self.words {
            Words::One(bits) => *bits,
            Words::Many(words) => words[word & (words.len() - 1)],
        }
    }

    #[inline]
    fn word(&mut self, word: usize) -> &mut u64 {
        match &mut self.words {
            Words::One(bits) => bits,
            Words::Many(words) => &mut words[word & (words.len() - 1)],
        }
    }
}

/// The words that hold `range`, as if there were no wrapping, with the bits that belong to it.
fn pieces(range: Range<u32>) -> impl DoubleEndedIterator<Item = (usize, u64)> {
    let Range { start, end } = range;
    let words = if start < end { start / 64..(end - 1) / 64 + 1 } else { 0..0 };
    words.map(move |word| {
        let from = if word == start / 64 { u64::MAX << (start % 64) } else { u64::MAX };
        let to = if word == (end - 1) / 64 { u64::MAX >> (63 - (end - 1) % 64) } else { u64::MAX };
        (word as usize, from & to)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_what_it_adds_and_removes() {
        let mut set = SeqSet::default();
        set.reserve(0..0, 100..300);
        assert_eq!(set.fill(130..260), 130);
        assert_eq!(set.fill(120..140), 10);
        assert_eq!(set.count(100..300), 140);
        assert_eq!(set.clear(128..192), 64);
        set.insert(128);
        set.remove(128);
        assert_eq!((set.count(100..300), set.count(100..128), set.count(192..300)), (76, 8, 68));
    }

    #[test]
    fn finds_gaps_and_members_across_words() {
        let mut set = SeqSet::default();
        set.reserve(0..0, 60..310);
        set.fill(62..200);
        set.fill(250..252);
        assert_eq!([set.first_missing(60..300), set.first_missing(62..300)], [Some(60), Some(200)]);
        assert_eq!(set.first_missing(62..200), None);
        assert_eq!([set.last_missing(60..200), set.last_missing(60..252)], [Some(61), Some(249)]);
        assert_eq!(
            [60, 100, 200, 251, 252].map(|from| set.first_member(from..300)),
            [62, 100, 250, 251, 0].map(|s| (s > 0).then_some(s))
        );
        assert_eq!(
            [1, 2, 3, 140, 141].map(|n| set.nth_last(60..310, n)),
            [251, 250, 199, 62, 0].map(|s| (s > 0).then_some(s))
        );
    }

    #[test]
    fn wraps_and_grows_within_a_window() {
        let mut set = SeqSet::default();
        set.fill(100..120);
        set.fill(130..140); // 64 numbers from 80 on share the one word
        set.reserve(80..144, 80..1000);
        set.fill(900..1000);
        assert_eq!(set.count(80..1000), 130);
        assert!(set.contains(139) && !set.contains(140) && set.contains(999));
    }

    #[test]
    fn a_window_of_a_word_takes_no_memory_but_its_own() {
        let mut set = SeqSet::default();
        set.reserve(0..0, 70..134);
        assert!(matches!(set.words, Words::One(_)) && size_of::<SeqSet>() == 16);
        set.reserve(70..134, 70..135);
        assert!(matches!(set.words, Words::Many(_)));
    }

    #[test]
    fn an_empty_range_holds_nothing() {
        let mut set = SeqSet::default();
        assert_eq!(
            (set.fill(7..7), set.count(7..7), set.first_missing(7..7), set.nth_last(7..7, 1)),
            (0, 0, None, None)
        );
    }
}
