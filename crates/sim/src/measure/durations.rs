//! Samples of spans of time.

use crate::measure::histogram::Histogram;
use aqmlab_core::Span;

/// A sample of spans: mean, standard deviation, and percentiles to 0.1 %.
#[derive(Clone, Debug, Default)]
pub struct DurationStats {
    count: u64,
    /// Of picoseconds, whole, so that they are the same in any order.
    sum: u128,
    squares: u128,
    histogram: Histogram,
}

impl DurationStats {
    /// Takes in a span.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let value = u128::from(span.0);
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.histogram.add(span);
    }

    /// Takes in another sample.
    pub fn merge(&mut self, other: &DurationStats) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.histogram.merge(&other.histogram);
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        (self.count, self.sum, self.squares) = (0, 0, 0);
        self.histogram.clear();
    }

    /// Number of spans.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In seconds; `None` without a sample.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 * 1e-12)
    }

    /// Of the population, in seconds; `None` without a sample.
    pub fn std(&self) -> Option<f64> {
        let mean = self.sum as f64 / self.count as f64;
        (self.count > 0).then(|| (self.squares as f64 / self.count as f64 - mean * mean).max(0.0).sqrt() * 1e-12)
    }

    /// The span that `share` of the sample does not exceed, to 0.1 %, in seconds; `None` without a sample.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let [found] = self.quantiles([share]);
        found
    }

    /// The same for several shares, which takes little longer than one.
    pub fn quantiles<const N: usize>(&self, shares: [f64; N]) -> [Option<f64>; N] {
        self.histogram.quantiles(shares)
    }

    /// Counts of the spans by their length.
    pub fn histogram(&self) -> &Histogram {
        &self.histogram
    }

    /// Spans, in seconds, and the share of the sample that does not exceed each (see [`Histogram::distribution`]).
    pub fn distribution(&self) -> (Vec<f64>, Vec<f64>) {
        self.histogram.distribution()
    }

    /// The sample without the spans of `removed`, all of which it has, and with those of `added`.
    pub fn replaced(&self, removed: &DurationStats, added: &DurationStats) -> DurationStats {
        let mut histogram = self.histogram.clone();
        histogram.remove(&removed.histogram);
        histogram.merge(&added.histogram);
        DurationStats {
            count: self.count - removed.count + added.count,
            sum: self.sum - removed.sum + added.sum,
            squares: self.squares - removed.squares + added.squares,
            histogram,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_spans_take_the_place_of_others() {
        let (mut spans, mut removed, mut added) =
            (DurationStats::default(), DurationStats::default(), DurationStats::default());
        [1, 2, 3, 4].into_iter().for_each(|ms| spans.add(Span::from_millis(ms)));
        assert_eq!(spans.replaced(&removed, &added).mean(), spans.mean());
        removed.add(Span::from_millis(4));
        added.add(Span::from_millis(14));
        let replaced = spans.replaced(&removed, &added);
        let (mean, std) = (replaced.mean().unwrap() * 1e3, replaced.std().unwrap() * 1e3);
        assert!((mean - 5.0).abs() < 1e-9, "(1 + 2 + 3 + 14)/4, not {mean}");
        assert!((std - 27.5f64.sqrt()).abs() < 1e-9, "(1 + 4 + 9 + 196)/4 - 25 is its square, not {std}");
        let [median, most] = replaced.quantiles([0.5, 1.0]).map(|found| found.unwrap() * 1e3);
        assert!((median - 2.0).abs() < 0.002 && (most - 14.0).abs() < 0.014, "{median}, {most}");
        [1, 2, 3].into_iter().for_each(|ms| removed.add(Span::from_millis(ms)));
        assert_eq!(spans.replaced(&removed, &DurationStats::default()).mean(), None);
    }

    #[test]
    fn spans_have_a_mean_a_deviation_and_a_percentile() {
        let mut spans = DurationStats::default();
        (1..=100).for_each(|hundredths| spans.add(Span::from_seconds(f64::from(hundredths) * 0.01)));
        // 1 to 100 have mean 50.5 and variance (100^2 - 1)/12 = 833.25.
        assert!((spans.mean().unwrap() - 0.505).abs() < 1e-9);
        assert!((spans.std().unwrap() - 0.28866).abs() < 1e-5);
        assert!((spans.quantile(0.99).unwrap() - 0.99).abs() < 0.001);
    }
}
