//! Counts of spans in bins of equal relative width: percentiles to 0.1 % at a nanosecond a sample.

use aqmlab_core::Span;

/// Bins of an octave: 2^9, so that the middle of a bin is within 0.1 % of all its values. Few and small enough that those
/// in use stay in the processor's first cache.
const BITS: u32 = 9;

/// Counts of whole nanoseconds. Below 2^9 ns each value has its own bin; above, each octave has 2^9.
#[derive(Clone, Debug, Default)]
pub struct Histogram {
    counts: Vec<u32>,
}

impl Histogram {
    #[inline]
    pub fn add(&mut self, span: Span) {
        let bin = bin(span.0 / 1000);
        if bin >= self.counts.len() {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] = self.counts[bin].saturating_add(1);
    }

    /// Takes in another's counts.
    pub fn merge(&mut self, other: &Histogram) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count = count.saturating_add(*more));
    }

    pub fn clear(&mut self) {
        self.counts.fill(0);
    }

    /// The value that `share` of all do not exceed, in seconds; `None` without a value.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = (share * all as f64).ceil().max(1.0);
        let mut below = 0;
        let found = self.counts.iter().position(|count| {
            below += u64::from(*count);
            below as f64 >= wanted
        });
        found.map(|bin| middle(bin) * 1e-9)
    }
}

#[inline]
fn bin(value: u64) -> usize {
    let octave = (u64::BITS - (value >> BITS).leading_zeros()).saturating_sub(1);
    (value >> octave) as usize + (octave << BITS) as usize
}

/// The value in the middle of a bin.
fn middle(bin: usize) -> f64 {
    let octave = (bin >> BITS).saturating_sub(1) as u32;
    let least = (bin as u64 - u64::from(octave << BITS)) << octave;
    least as f64 + ((1u64 << octave) - 1) as f64 / 2.0
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
        assert_eq!(histogram.quantile(0.5), None);
        (1..=100).for_each(|us| histogram.add(Span(us * 1_000_000)));
        for (share, us) in [(0.0, 1.0), (0.01, 1.0), (0.5, 50.0), (0.95, 95.0), (1.0, 100.0)] {
            let found = histogram.quantile(share).unwrap() * 1e6;
            assert!((found - us).abs() <= 0.001 * us, "{share}: {found}");
        }
    }
}
