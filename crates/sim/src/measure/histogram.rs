//! Counts of spans in bins of equal relative width: percentiles to 0.1 % at a nanosecond a sample.

use aqmlab_core::{Span, SparseTable};
use std::borrow::Cow;

/// Bins of an octave: 2^9, so that the middle of a bin is within 0.1 % of all its values. Few and small enough that those
/// in use stay in the processor's first cache.
const BITS: u32 = 9;
/// Bins taken together in a distribution: 64 points an octave, a few hundred in all.
const TOGETHER: usize = 8;

/// Values that are counted together. With their number they fill a cache line: where ten thousand histograms take turns, bins
/// are missed once for all of them, and at the same time.
const RECENT: usize = 31;

/// Counts of whole nanoseconds. Below 2^9 ns each value has its own bin; above, each octave has 2^9.
#[derive(Clone, Debug)]
pub struct Histogram {
    counts: SparseTable<u32>,
    recent: Recent,
}

/// Bins of the last values, not counted yet.
#[derive(Clone, Debug, Default)]
#[repr(align(64))]
struct Recent {
    bins: [u16; RECENT],
    len: u16,
}

const _: () = assert!(bin(u64::MAX / 1000) <= u16::MAX as usize, "a bin is a number of 16 bits");

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: SparseTable::new(0, 0), recent: Recent::default() }
    }
}

impl Histogram {
    #[inline(always)] // for each packet
    pub fn add(&mut self, span: Span) {
        let bin = bin(span.0 / 1000) as u16;
        let Recent { bins, len } = &mut self.recent;
        match bins.get_mut(usize::from(*len)) {
            Some(last) => (*last, *len) = (bin, *len + 1),
            None => self.count_recent_before(bin),
        }
    }

    /// Counts the values that wait to be counted; this one waits from now on.
    #[inline(never)]
    fn count_recent_before(&mut self, bin: u16) {
        self.count_recent();
        (self.recent.bins[0], self.recent.len) = (bin, 1);
    }

    /// Counts the values that wait to be counted.
    fn count_recent(&mut self) {
        let mut rest = &self.recent.bins[..usize::from(self.recent.len)];
        while !rest.is_empty() {
            let counted = self.counts.for_each_stored(rest, |count| *count = count.saturating_add(1));
            rest = &rest[counted..];
            if let Some(bin) = rest.first() {
                self.counts.grow(usize::from(*bin) + 1);
                self.counts.get_mut(usize::from(*bin)); // stored from now on
            }
        }
        self.recent.len = 0;
    }

    /// All counts, with none waiting.
    fn counted(&self) -> Cow<'_, SparseTable<u32>> {
        if self.recent.len == 0 {
            return Cow::Borrowed(&self.counts);
        }
        let mut all = self.clone();
        all.count_recent();
        Cow::Owned(all.counts)
    }

    /// Takes in another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        for (bin, more) in other.counted().stored().filter(|(_, count)| *count > 0) {
            self.counts.grow(bin + 1);
            self.counts[bin] = self.counts[bin].saturating_add(more);
        }
    }

    /// Takes out another's counts, all of which it has.
    pub fn remove(&mut self, other: &Histogram) {
        self.count_recent();
        for (bin, less) in other.counted().stored().filter(|(_, count)| *count > 0) {
            self.counts[bin] = self.counts[bin].saturating_sub(less);
        }
    }

    pub fn clear(&mut self) {
        self.counts.clear();
        self.recent.len = 0;
    }

    /// Another of the same values, each moved.
    pub fn moved(&self, to: impl Fn(Span) -> Span) -> Histogram {
        let mut moved = Histogram::default();
        for (from, more) in self.counted().stored().filter(|(_, count)| *count > 0) {
            let bin = bin(to(Span::from_nanos(middle(from) as u64)).0 / 1000);
            moved.counts.grow(bin + 1);
            moved.counts[bin] = moved.counts[bin].saturating_add(more);
        }
        moved
    }

    /// Values in seconds, ascending, each with the number of those that it stands for, which it is within 0.1 % of.
    pub fn values(&self) -> impl Iterator<Item = (f64, u64)> {
        let counts: Vec<_> = self.counted().stored().filter(|(_, count)| *count > 0).collect();
        counts.into_iter().map(|(bin, count)| (middle(bin) * 1e-9, u64::from(count)))
    }

    /// Counts up to the greatest value.
    fn used(&self) -> Vec<u32> {
        let mut counts: Vec<u32> = self.counted().rows().collect();
        counts.truncate(counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1));
        counts
    }

    /// For each share, the value that so many of all do not exceed, in seconds; `None` without a value.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        // Most bins are empty: first whole octaves are passed over, then the bins of one.
        let counts = self.used();
        let octaves: Vec<u64> = counts.chunks(1 << BITS).map(sum).collect();
        let all: u64 = octaves.iter().sum();
        shares.map(|share| {
            let wanted = (share * all as f64).ceil().max(1.0);
            let (octave, below) = reach(octaves.iter().copied(), 0, wanted)?;
            let bins = counts[octave << BITS..].iter().map(|count| u64::from(*count));
            let (bin, _) = reach(bins, below, wanted)?;
            Some(middle((octave << BITS) + bin) * 1e-9)
        })
    }

    /// The distribution as a polyline: values in seconds, and the share of all that do not exceed each. Neighbouring bins
    /// are taken together, so that a point follows another by 1.6 % at most where there are values; shares are exact to
    /// a nanosecond. It begins at the share 0, unless values below a nanosecond are the least, and ends at 1; empty
    /// without a value.
    pub fn distribution(&self) -> (Vec<f64>, Vec<f64>) {
        let counts = self.used();
        let all = sum(&counts);
        let (mut values, mut shares, mut below, mut end) = (Vec::new(), Vec::new(), 0, 0);
        for (group, counts) in counts.chunks(TOGETHER).enumerate() {
            let count = sum(counts);
            if count == 0 {
                continue;
            }
            let (first, next) = (group * TOGETHER, group * TOGETHER + counts.len());
            let edges = [(first, below), (next, below + count)];
            // Where the bins before are empty the share stays as it is up to here.
            for (bin, share) in edges.into_iter().skip(usize::from(first == end)) {
                values.push(greatest_before(bin) * 1e-9);
                shares.push(share as f64 / all as f64);
            }
            (below, end) = (below + count, next);
        }
        (values, shares)
    }
}

fn sum(counts: &[u32]) -> u64 {
    counts.iter().map(|count| u64::from(*count)).sum()
}

/// The first of `counts` by which, with the `below` that come before all, `wanted` are reached; how many come before it.
fn reach(counts: impl IntoIterator<Item = u64>, mut below: u64, wanted: f64) -> Option<(usize, u64)> {
    for (i, count) in counts.into_iter().enumerate() {
        if (below + count) as f64 >= wanted {
            return Some((i, below));
        }
        below += count;
    }
    None
}

#[inline]
const fn bin(value: u64) -> usize {
    let octave = (value >> BITS | 1).ilog2();
    (value >> octave) as usize + (octave << BITS) as usize
}

/// The value in the middle of a bin.
fn middle(bin: usize) -> f64 {
    least(bin) as f64 + ((1u64 << octave(bin)) - 1) as f64 / 2.0
}

fn octave(bin: usize) -> u32 {
    (bin >> BITS).saturating_sub(1) as u32
}

/// The least value of a bin, ns.
fn least(bin: usize) -> u64 {
    (bin as u64 - u64::from(octave(bin) << BITS)) << octave(bin)
}

/// The greatest value below those of a bin, ns.
fn greatest_before(bin: usize) -> f64 {
    least(bin) as f64 - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other_and_hold_their_values_to_a_thousandth() {
        assert_eq!([511, 512, 1023, 1024, 1025, 1026].map(bin), [511, 512, 1023, 1024, 1024, 1025]);
        for value in (0..5000).chain((4..15).flat_map(|power| [10u64.pow(power) - 1, 10u64.pow(power) + 7])) {
            assert!((middle(bin(value)) - value as f64).abs() <= 0.001 * value as f64, "{value}");
        }
    }

    #[test]
    fn quantiles_of_a_hundred_values() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantiles([0.0, 0.5]), [None; 2]);
        (1..=100).for_each(|us| histogram.add(Span::from_micros(us)));
        let (shares, expected) = ([0.0, 0.01, 0.5, 0.95, 1.0], [1.0, 1.0, 50.0, 95.0, 100.0]);
        for (found, us) in histogram.quantiles(shares).into_iter().zip(expected) {
            let found = found.unwrap() * 1e6;
            assert!((found - us).abs() <= 0.001 * us, "{us}: {found}");
        }
    }

    #[test]
    fn a_distribution_steps_where_values_are_and_is_level_between() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.distribution(), (vec![], vec![]));
        [0, 1, 2, 2].into_iter().for_each(|us| histogram.add(Span::from_micros(us)));
        // Bins of 1 ns, eight together, hold 0 and 1000 ns; the last, of 2 ns, ends the curve.
        let (values, shares) = histogram.distribution();
        let expected = [7e-9, 999e-9, 1007e-9, 1999e-9, 2001e-9];
        assert!(values.len() == 5 && values.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-15), "{values:?}");
        assert_eq!(shares, [0.25, 0.25, 0.5, 0.5, 1.0]);
    }
}
