//! What is measured at a link (definitions: docs/metrics.md).

use crate::measure::histogram::Histogram;
use aqmlab_aqm::Limit;
use aqmlab_core::{Span, Time};

/// A sample of spans: mean, standard deviation, and percentiles to 0.1 %.
#[derive(Clone, Debug, Default)]
pub struct Spans {
    count: u64,
    /// Of picoseconds.
    sum: f64,
    squares: f64,
    histogram: Histogram,
}

impl Spans {
    /// Takes in a span.
    #[inline]
    pub fn add(&mut self, span: Span) {
        let value = span.0 as i64 as f64; // the same below 106 days, and converted by one instruction
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
        self.histogram.add(span);
    }

    /// Takes in another sample.
    pub fn merge(&mut self, other: &Spans) {
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
        self.histogram.merge(&other.histogram);
    }

    /// Forgets all.
    pub fn reset(&mut self) {
        (self.count, self.sum, self.squares) = (0, 0.0, 0.0);
        self.histogram.clear();
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In seconds; `None` without a sample.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64 * 1e-12)
    }

    /// Of the population, in seconds; `None` without a sample.
    pub fn std(&self) -> Option<f64> {
        let mean = self.sum / self.count as f64;
        (self.count > 0).then(|| (self.squares / self.count as f64 - mean * mean).max(0.0).sqrt() * 1e-12)
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

    /// Spans, in seconds, and the share of the sample that does not exceed each (see [`Histogram::distribution`]).
    pub fn distribution(&self) -> (Vec<f64>, Vec<f64>) {
        self.histogram.distribution()
    }
}

/// Bins of the queue's mean, from which the settling time is read.
const BIN: Span = Span::from_millis(100);
/// Bins that the settling time averages over: 1 s.
const BINS_AVERAGED: usize = 10;
/// Bins that the transient averages over: 5 s.
const BINS_OF_TRANSIENT: usize = 50;

/// The transmissions of a link since it was last probed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// Packets taken into service.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their sojourn times, ps.
    sojourn_sum: f64,
    /// The longest of them.
    sojourn_max: Span,
}

impl Served {
    #[inline]
    fn add(&mut self, sojourn: Span, bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.sojourn_sum += sojourn.0 as f64;
        self.sojourn_max = self.sojourn_max.max(sojourn);
    }

    /// Mean and greatest sojourn time, s; `None` if no packet was served.
    pub fn sojourn(&self) -> Option<(f64, f64)> {
        (self.packets > 0).then(|| (self.sojourn_sum / self.packets as f64 * 1e-12, self.sojourn_max.seconds()))
    }
}

/// What a link has carried by some time, and what it could have, since the beginning; in a unit of the link's own.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carried {
    /// What it has carried.
    pub sent: u64,
    /// What it could have carried.
    pub capacity: u64,
}

impl Carried {
    /// Share of what it could have carried since `mark` that it has; 0 where that was nothing.
    pub fn share_since(self, mark: Carried) -> f64 {
        (self.sent - mark.sent) as f64 / (self.capacity - mark.capacity).max(1) as f64
    }
}

/// Measures one link.
#[derive(Clone)]
pub struct LinkMeter {
    queue: u32,
    changed_at: Time,
    /// Time spent with so many packets waiting, ps.
    time_at: Vec<u64>,
    busy: Span,
    busy_until: Time,
    /// Since the last probe; `None` if nobody will ask.
    pub served: Option<Served>,
    /// Time from arrival to start of service.
    pub sojourn: Spans,
    bin_end: Time,
    /// Packets times ps in the present bin.
    bin: u64,
    bin_means: Vec<f64>,
}

impl LinkMeter {
    /// Of a link at rest whose queue holds so much.
    pub fn new(buffer: Limit) -> Self {
        let levels = match buffer {
            Limit::Packets(packets) => packets as usize + 1,
            Limit::Bytes(_) => 1,
        };
        Self {
            queue: 0,
            changed_at: Time::ZERO,
            time_at: vec![0; levels],
            busy: Span::ZERO,
            busy_until: Time::ZERO,
            served: Some(Served::default()),
            sojourn: Spans::default(),
            bin_end: Time::ZERO + BIN,
            bin: 0,
            bin_means: Vec::new(),
        }
    }

    /// `queue` packets wait from now on.
    #[inline]
    pub fn on_queue(&mut self, queue: u32, now: Time) {
        if queue == self.queue {
            return;
        }
        self.pass_time(now);
        self.queue = queue;
        if queue as usize >= self.time_at.len() {
            self.time_at.resize(queue as usize + 1, 0);
        }
    }

    /// A packet of `bytes` that waited `sojourn` goes into service until `end`.
    #[inline]
    pub fn on_service(&mut self, now: Time, sojourn: Span, end: Time, bytes: u16) {
        self.sojourn.add(sojourn);
        if let Some(served) = &mut self.served {
            served.add(sojourn, bytes);
        }
        self.busy = self.busy + end.since(now);
        self.busy_until = end;
    }

    /// Metrics count from now; the settling time keeps its history.
    pub fn restart(&mut self, queue: u32, now: Time) {
        self.on_queue(queue, now);
        self.pass_time(now);
        self.time_at.fill(0);
        self.sojourn.reset();
    }

    /// Accounts for the time up to now.
    #[inline]
    pub fn pass_time(&mut self, now: Time) {
        if now >= self.bin_end {
            self.close_bins(now);
        }
        self.add_time(now);
    }

    #[inline]
    fn add_time(&mut self, until: Time) {
        let span = until.0 - self.changed_at.0;
        self.time_at[self.queue as usize] += span;
        self.bin += u64::from(self.queue) * span;
        self.changed_at = until;
    }

    #[cold]
    fn close_bins(&mut self, now: Time) {
        while now >= self.bin_end {
            self.add_time(self.bin_end);
            self.bin_means.push(self.bin as f64 / BIN.0 as f64);
            self.bin = 0;
            self.bin_end += BIN;
        }
    }

    /// What the link has carried, and what it could have: the time in which the transmitter was busy and all time, ps.
    pub fn carried(&self, now: Time) -> Carried {
        let busy = self.busy.0 - self.busy_until.since(now).0;
        Carried { sent: busy, capacity: now.0 }
    }

    /// What was served since the last call.
    pub fn take_served(&mut self) -> Served {
        self.served.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Time-weighted mean and standard deviation of the packets waiting.
    pub fn queue_mean_and_std(&self) -> (f64, f64) {
        let total: f64 = self.time_at.iter().map(|t| *t as f64).sum();
        let moment = |power| {
            self.time_at.iter().enumerate().map(|(n, t)| (n as f64).powi(power) * *t as f64).sum::<f64>() / total
        };
        let mean = moment(1);
        (mean, (moment(2) - mean * mean).max(0.0).sqrt())
    }

    /// The least queue that is not exceeded for `share` of the time.
    pub fn queue_quantile(&self, share: f64) -> u32 {
        let total: u64 = self.time_at.iter().sum();
        let mut below = 0;
        let level = self.time_at.iter().position(|t| {
            below += t;
            below as f64 >= share * total as f64
        });
        level.unwrap_or(0) as u32
    }

    /// For each stage, the time from its beginning until the queue, averaged over 1 s, stays within `tolerance` of
    /// `target` until the next stage or the end, s; `None` if it does not.
    pub fn settling(&self, stages: &[Stage]) -> Vec<Option<f64>> {
        self.parts(stages).map(|(stage, bins)| settled(stage, bins, BINS_AVERAGED).map(|(time, _)| time)).collect()
    }

    /// Of the first stage, the time until the queue, averaged over 5 s, stays within `tolerance` of `target`, s, and
    /// the mean queue from then on; `None` if it does not.
    pub fn transient(&self, stages: &[Stage]) -> Option<(f64, f64)> {
        self.parts(stages).next().and_then(|(stage, bins)| settled(stage, bins, BINS_OF_TRANSIENT))
    }

    /// The stages, each with the bins that lie within it.
    fn parts<'a>(&'a self, stages: &'a [Stage]) -> impl Iterator<Item = (&'a Stage, &'a [f64])> {
        let ends = stages.iter().skip(1).map(|next| (next.from.0 / BIN.0) as usize).chain([self.bin_means.len()]);
        stages.iter().zip(ends).map(|(stage, end)| {
            let first = stage.from.0.div_ceil(BIN.0) as usize;
            (stage, self.bin_means.get(first..end.min(self.bin_means.len())).unwrap_or_default())
        })
    }
}

/// The time from the beginning of a stage until the mean of `averaged` bins stays within its tolerance, s, and the
/// mean from then on.
fn settled(stage: &Stage, bins: &[f64], averaged: usize) -> Option<(f64, f64)> {
    let mean = |window: &[f64]| window.iter().sum::<f64>() / window.len() as f64;
    let is_outside = |window: &[f64]| (mean(window) - stage.target).abs() > stage.tolerance;
    let windows = bins.windows(averaged);
    let settled = windows.clone().rposition(is_outside).map_or(0, |last| last + 1);
    let first = stage.from.0.div_ceil(BIN.0) as usize;
    let time = || (first + settled) as f64 / (1.0 / BIN.seconds()) - stage.from.seconds();
    (settled < windows.len()).then(|| (time(), mean(&bins[settled..])))
}

/// A part of a run between two scripted changes, and where the queue should be then.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// When it begins.
    pub from: Span,
    /// Packets.
    pub target: f64,
    /// Packets.
    pub tolerance: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> Time {
        Time::ZERO + Span::from_seconds(seconds)
    }

    #[test]
    fn queue_statistics_are_weighted_by_time() {
        let mut meter = LinkMeter::new(Limit::Packets(10));
        meter.on_queue(4, s(1.0));
        meter.on_queue(10, s(3.0));
        meter.pass_time(s(4.0));
        // 0 for 1 s, 4 for 2 s, 10 for 1 s: mean 18/4; second moment (2*16 + 100)/4 = 33.
        assert_eq!(meter.queue_mean_and_std(), (4.5, (33.0f64 - 20.25).sqrt()));
        assert_eq!((meter.queue_quantile(0.5), meter.queue_quantile(0.95)), (4, 10));
    }

    #[test]
    fn what_is_sent_later_is_not_carried_yet() {
        let mut meter = LinkMeter::new(Limit::Packets(10));
        meter.on_service(s(1.0), Span::ZERO, s(2.0), 1000);
        meter.on_service(s(3.0), Span::ZERO, s(5.0), 1000);
        let [at_4, at_45, at_6, at_7] = [4.0, 4.5, 6.0, 7.0].map(|time| meter.carried(s(time)));
        let carried = [Carried::default(), at_4, at_45, at_6, at_7];
        let shares: Vec<f64> = carried.windows(2).map(|pair| pair[1].share_since(pair[0])).collect();
        assert_eq!(shares, [0.5, 1.0, 1.0 / 3.0, 0.0]);
        assert_eq!(at_7.share_since(at_7), 0.0);
    }

    #[test]
    fn sojourn_times_have_a_mean_a_deviation_and_a_percentile() {
        let mut meter = LinkMeter::new(Limit::Packets(10));
        for hundredths in 1..=100 {
            meter.on_service(s(0.0), Span::from_seconds(f64::from(hundredths) * 0.01), s(0.0), 1000);
        }
        let (mean, std, p99) = (meter.sojourn.mean(), meter.sojourn.std(), meter.sojourn.quantile(0.99));
        // 1 to 100 have mean 50.5 and variance (100^2 - 1)/12 = 833.25.
        assert!((mean.unwrap() - 0.505).abs() < 1e-9);
        assert!((std.unwrap() - 0.28866).abs() < 1e-5);
        assert!((p99.unwrap() - 0.99).abs() < 0.001);
    }

    #[test]
    fn settles_after_the_last_excursion() {
        let mut meter = LinkMeter::new(Limit::Packets(1000));
        meter.on_queue(500, s(0.0));
        meter.on_queue(300, s(2.0));
        meter.pass_time(s(5.0));
        // A window from t averages 300 + 200 * (2 - t): within 90 from t = 1.55, at the next bin 1.6.
        let settling = |changes: &[f64], target| {
            let stage = |s: &f64| Stage { from: Span::from_seconds(*s), target, tolerance: 90.0 };
            meter.settling(&changes.iter().map(stage).collect::<Vec<_>>())
        };
        assert!((settling(&[0.0], 300.0)[0].unwrap() - 1.6).abs() < 1e-9);
        assert_eq!(settling(&[0.0], 800.0), [None]);
        let stage = |target| [Stage { from: Span::ZERO, target, tolerance: 90.0 }];
        assert_eq!(meter.transient(&stage(800.0)), None);
        // All 5 s average (500 * 2 + 300 * 3)/5 = 380.
        let (time, mean) = meter.transient(&stage(300.0)).unwrap();
        assert!(time == 0.0 && (mean - 380.0).abs() < 1e-9);
        // Before 2 s it is never near; from 3 s on it is at once; between 4.5 s and the end no second fits.
        assert_eq!(settling(&[0.0, 2.0, 3.0, 4.5], 300.0), [None, Some(0.0), Some(0.0), None]);
    }
}
