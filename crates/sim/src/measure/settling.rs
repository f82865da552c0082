//! Settling time of a queue near its target, read off its mean in bins of 0.1 s.

use aqmlab_core::Span;

/// Bins of the queue's mean.
pub const BIN: Span = Span::from_millis(100);
/// Bins that the settling time averages over: 1 s.
const BINS_AVERAGED: usize = 10;
/// Bins that the transient averages over: 5 s.
const BINS_OF_TRANSIENT: usize = 50;

/// A part of a run between two scripted changes, and where the queue should be then.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    /// Its beginning.
    pub from: Span,
    /// Packets.
    pub target: f64,
    /// Packets.
    pub tolerance: f64,
}

/// For each stage, the time from its beginning until the queue, averaged over 1 s, stays within `tolerance` of
/// `target` until the next stage or the end, s; `None` if it does not. `means`: of the bins from the start of the run on.
pub fn settling(means: &[f64], stages: &[Stage]) -> Vec<Option<f64>> {
    parts(means, stages).map(|(stage, bins)| settled(stage, bins, BINS_AVERAGED).map(|(time, _)| time)).collect()
}

/// Of the first stage, the time until the queue, averaged over 5 s, stays within `tolerance` of `target`, s, and
/// the mean queue from then on; `None` if it does not.
pub fn transient(means: &[f64], stages: &[Stage]) -> Option<(f64, f64)> {
    parts(means, stages).next().and_then(|(stage, bins)| settled(stage, bins, BINS_OF_TRANSIENT))
}

/// The stages, each with the bins that lie within it.
fn parts<'a>(means: &'a [f64], stages: &'a [Stage]) -> impl Iterator<Item = (&'a Stage, &'a [f64])> {
    let ends = stages.iter().skip(1).map(|next| (next.from.0 / BIN.0) as usize).chain([means.len()]);
    stages.iter().zip(ends).map(|(stage, end)| {
        let first = stage.from.0.div_ceil(BIN.0) as usize;
        (stage, means.get(first..end.min(means.len())).unwrap_or_default())
    })
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stage(from: f64, target: f64) -> Stage {
        Stage { from: Span::from_seconds(from), target, tolerance: 90.0 }
    }

    #[test]
    fn settles_after_the_last_excursion() {
        // 500 packets for 2 s, then 300 for 3 s.
        let means: Vec<f64> = [500.0; 20].into_iter().chain([300.0; 30]).collect();
        let stages = |changes: &[f64], target| changes.iter().map(|from| stage(*from, target)).collect::<Vec<_>>();
        // A window from t averages 300 + 200 * (2 - t): within 90 from t = 1.55, at the next bin 1.6.
        assert!((settling(&means, &stages(&[0.0], 300.0))[0].unwrap() - 1.6).abs() < 1e-9);
        assert_eq!(settling(&means, &stages(&[0.0], 800.0)), [None]);
        assert_eq!(transient(&means, &stages(&[0.0], 800.0)), None);
        // All 5 s average (500 * 2 + 300 * 3)/5 = 380.
        let (time, mean) = transient(&means, &stages(&[0.0], 300.0)).unwrap();
        assert!(time == 0.0 && (mean - 380.0).abs() < 1e-9);
        // Before 2 s it is never near; from 3 s on it is at once; between 4.5 s and the end no second fits.
        let found = settling(&means, &stages(&[0.0, 2.0, 3.0, 4.5], 300.0));
        assert_eq!(found, [None, Some(0.0), Some(0.0), None]);
    }
}
