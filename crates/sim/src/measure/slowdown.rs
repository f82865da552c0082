//! The slowdown of transfers, by their size.

use super::declared::measures;
use super::durations::DurationStats;
use aqmlab_core::Span;

/// Greatest sizes of classes, bytes of data: two a decade.
const CLASSES: [f64; 12] = [1e3, 3e3, 1e4, 3e4, 1e5, 3e5, 1e6, 3e6, 1e7, 3e7, 1e8, f64::INFINITY];
/// What stands for the last class.
const LARGEST: f64 = 1e9;
/// The span that stands for a slowdown of one: percentiles of spans are exact to 0.1 %.
const ONE: f64 = 1e-3;

measures! {
    /// Completion times of transfers over a fabric after the warm-up, over those in an empty network.
    ///
    /// There a transfer takes the handshake, then all its segments without a pause at the slowest link of its path, and the last ACK.
    pub struct SlowdownResult from sample: SlowdownSample {
        /// Median of the completion time over the time in an empty network.
        p50: Option<f64>, "Slowdown median" in INDEX, less = quantile(&sample.all(), 0.5);
        /// 95th percentile of the completion time over the time in an empty network.
        p95: Option<f64>, "Slowdown p95" in INDEX, less = quantile(&sample.all(), 0.95);
        /// 99th percentile of the completion time over the time in an empty network.
        p99: Option<f64>, "Slowdown p99" in INDEX, less = quantile(&sample.all(), 0.99);
        /// Median by size: maximum size of a class, bytes, and slowdown.
        ///
        /// Classes end at 1 kB, 3 kB, 10 kB and so on; the last contains all above 100 MB. Classes without a transfer
        /// are left out.
        p50_by_size: Vec<(f64, Option<f64>)> = sample.by_size(0.5);
        /// 95th percentile by size.
        p95_by_size: Vec<(f64, Option<f64>)> = sample.by_size(0.95);
        /// 99th percentile by size.
        p99_by_size: Vec<(f64, Option<f64>)> = sample.by_size(0.99);
        /// Transfers of each class.
        count_by_size: Vec<(f64, Option<f64>)> =
            sample.0.iter().map(|(size, of)| (*size, Some(of.count() as f64))).collect();
    }
}

/// Slowdowns of a group of flows; empty where they are not measured.
#[derive(Clone, Debug, Default)]
pub struct Slowdowns(Vec<DurationStats>);

impl Slowdowns {
    /// A transfer of so many bytes that took so many times what it would have alone.
    pub fn add(&mut self, bytes: f64, slowdown: f64) {
        self.0.resize(CLASSES.len(), DurationStats::default());
        let class = CLASSES.iter().position(|most| bytes <= *most).unwrap_or(CLASSES.len() - 1);
        self.0[class].add(Span::from_seconds(slowdown * ONE));
    }

    /// Takes in others.
    pub fn merge(&mut self, other: &Self) {
        self.0.resize(self.0.len().max(other.0.len()), DurationStats::default());
        self.0.iter_mut().zip(&other.0).for_each(|(spans, others)| spans.merge(others));
    }

    /// Their measures, if there are any.
    pub fn result(&self) -> Option<SlowdownResult> {
        let classes = CLASSES.iter().map(|most| most.min(LARGEST)).zip(self.0.iter().cloned());
        let sample = SlowdownSample(classes.filter(|(_, spans)| spans.count() > 0).collect());
        (!sample.0.is_empty()).then(|| SlowdownResult::of(&sample))
    }
}

/// The classes that have any: greatest size, bytes, and slowdowns.
pub struct SlowdownSample(Vec<(f64, DurationStats)>);

impl SlowdownSample {
    fn all(&self) -> DurationStats {
        let mut all = DurationStats::default();
        self.0.iter().for_each(|(_, spans)| all.merge(spans));
        all
    }

    fn by_size(&self, share: f64) -> Vec<(f64, Option<f64>)> {
        self.0.iter().map(|(size, spans)| (*size, quantile(spans, share))).collect()
    }
}

fn quantile(spans: &DurationStats, share: f64) -> Option<f64> {
    spans.quantile(share).map(|span| span / ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slowdowns_are_told_by_size() {
        let (mut first, mut second) = (Slowdowns::default(), Slowdowns::default());
        assert!(first.result().is_none());
        [(500.0, 1.0), (1000.0, 3.0), (5e8, 9.0)].into_iter().for_each(|(bytes, slowdown)| first.add(bytes, slowdown));
        second.add(1001.0, 2.0);
        first.merge(&second);
        let result = first.result().unwrap();
        let rounded = |values: &[(f64, Option<f64>)]| {
            values.iter().map(|(size, of)| (*size, (of.unwrap() * 100.0).round() / 100.0)).collect::<Vec<_>>()
        };
        assert_eq!(rounded(&result.p99_by_size), [(1e3, 3.0), (3e3, 2.0), (1e9, 9.0)]);
        assert_eq!(rounded(&result.p50_by_size), [(1e3, 1.0), (3e3, 2.0), (1e9, 9.0)]);
        assert_eq!(rounded(&result.count_by_size), [(1e3, 2.0), (3e3, 1.0), (1e9, 1.0)]);
        assert!((result.p50.unwrap() - 2.0).abs() < 0.002 && (result.p99.unwrap() - 9.0).abs() < 0.009);
    }
}
