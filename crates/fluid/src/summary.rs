//! The summary of a trajectory.

use crate::{Model, SolverOptions, Trajectory};
use serde::Serialize;

/// Means over the measured time, and how the queue moves.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// Time-weighted mean of the packets waiting.
    pub queue_mean: f64,
    /// Its standard deviation over time.
    pub queue_std: f64,
    /// The mean over the link's rate, s.
    pub queue_delay_mean: f64,
    /// Share of the offered packets that were signalled, by the scheme or the full buffer.
    pub p_mean: f64,
    /// Packets sent over what the link could send.
    pub utilisation: f64,
    /// Part of the time at an empty queue.
    pub empty: f64,
    /// Part of the time at a full buffer.
    pub full: f64,
    /// The oscillation of the queue.
    pub oscillation: Oscillation,
    /// Means of each class.
    pub classes: Vec<ClassMeans>,
}

/// Means of a flow of a class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassMeans {
    /// Window, segments.
    pub window_mean: f64,
    /// Segments sent per second.
    pub rate_mean: f64,
}

/// The oscillation of the queue about its mean.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Oscillation {
    /// Half the distance from the lowest to the highest queue of the last quarter, packets.
    pub amplitude: f64,
    /// The same of the quarter before; larger if the motion dies away.
    pub amplitude_before: f64,
    /// Mean time between two rises through the mean in the last half, s; `None` if it rises less than twice.
    pub period: Option<f64>,
    /// The amplitude is at most 5 % of the buffer, or 2 packets.
    ///
    /// A loop that is unstable ends in a limit cycle that fills or empties a good part of the buffer; one that is stable
    /// ends at rest, within the packet by which rounded readings move it. 5 % lies far from both.
    pub settles: bool,
}

/// Part of the buffer within which a queue has settled.
const SETTLED: f64 = 0.05;

/// Packets within which it has in any case, for schemes read whole packets.
const ROUNDING: f64 = 2.0;

impl Trajectory {
    /// The summary for the model that it is of.
    pub fn summary(&self, model: &Model) -> Summary {
        let m = &self.measured;
        let mean = m.queue[0] / m.time;
        Summary {
            queue_mean: mean,
            queue_std: (m.queue[1] / m.time - mean * mean).max(0.0).sqrt(),
            queue_delay_mean: mean / model.capacity,
            p_mean: if m.offered > 0.0 { m.signalled / m.offered } else { 0.0 },
            utilisation: m.served / (model.capacity * m.time),
            empty: m.empty / m.time,
            full: m.full / m.time,
            oscillation: Oscillation::of(&self.time, &self.queue, model.buffer),
            classes: self.means.iter().map(|&[window_mean, rate_mean]| ClassMeans { window_mean, rate_mean }).collect(),
        }
    }
}

impl Oscillation {
    /// Of a queue at these times.
    pub fn of(time: &[f64], queue: &[f64], buffer: f64) -> Self {
        let part = |from: usize, to: usize| &queue[queue.len() * from / 4..queue.len() * to / 4];
        let amplitude = half_range(part(3, 4));
        Self {
            amplitude,
            amplitude_before: half_range(part(2, 3)),
            period: period(&time[queue.len() / 2..], part(2, 4)),
            settles: amplitude <= (SETTLED * buffer).max(ROUNDING),
        }
    }
}

fn half_range(values: &[f64]) -> f64 {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if values.is_empty() { 0.0 } else { (high - low) / 2.0 }
}

/// Mean time between rises through the mean. A rise counts if it comes from a quarter of the amplitude below the mean and
/// reaches as much above, so that ripples on a wave do not.
fn period(time: &[f64], queue: &[f64]) -> Option<f64> {
    let mean = queue.iter().sum::<f64>() / queue.len() as f64;
    let band = half_range(queue) / 4.0;
    let mut rises = Vec::new();
    let mut below = false;
    for (t, q) in time.iter().zip(queue) {
        if *q < mean - band {
            below = true;
        } else if *q > mean + band && below {
            below = false;
            rises.push(*t);
        }
    }
    match rises[..] {
        [first, .., last] => Some((last - first) / (rises.len() - 1) as f64),
        _ => None,
    }
}

/// The distance of two trajectories at the same times, over the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// Greatest distance of the queues, packets.
    pub queue: f64,
    /// Distance of the mean queues, packets.
    pub queue_mean: f64,
    /// Distance of the mean p over the second's; 0 if both are 0.
    pub p_mean: f64,
}

/// The distance of a trajectory from one with a finer step: the error of the method is about that in the coarser one.
pub fn difference(coarse: &Trajectory, fine: &Trajectory, model: &Model, options: &SolverOptions) -> Difference {
    let measured = coarse.time.iter().zip(coarse.queue.iter().zip(&fine.queue)).filter(|(t, _)| **t >= options.from);
    let (a, b) = (coarse.summary(model), fine.summary(model));
    Difference {
        queue: measured.map(|(_, (a, b))| (a - b).abs()).fold(0.0, f64::max),
        queue_mean: (a.queue_mean - b.queue_mean).abs(),
        p_mean: if b.p_mean > 0.0 { (a.p_mean - b.p_mean).abs() / b.p_mean } else { a.p_mean },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 100 s of 300 + amplitude * sin(2 pi t / 4 s), every 10 ms, with a ripple of 1 packet on it.
    fn wave(amplitude: impl Fn(f64) -> f64) -> Oscillation {
        let time: Vec<f64> = (0..=10_000).map(|n| 0.01 * f64::from(n)).collect();
        let sine = |t: f64| 300.0 + amplitude(t) * (t * std::f64::consts::TAU / 4.0).sin();
        let queue: Vec<f64> = time.iter().enumerate().map(|(n, t)| sine(*t) + (n % 2) as f64).collect();
        Oscillation::of(&time, &queue, 900.0)
    }

    #[test]
    fn a_steady_wave_has_its_amplitude_and_period() {
        let steady = wave(|_| 100.0);
        assert!((steady.amplitude - 100.5).abs() < 0.1 && (steady.amplitude_before - 100.5).abs() < 0.1);
        assert!((steady.period.unwrap() - 4.0).abs() < 0.02, "{steady:?}");
        assert!(!steady.settles);
    }

    /// Amplitude 1000 * e^(-t/20): 82 at 50 s, 23.5 at 75 s. 45 packets are 5 % of the buffer.
    #[test]
    fn a_wave_that_dies_away_settles() {
        let dying = wave(|t| 1000.0 * (-t / 20.0).exp());
        assert!(dying.settles && dying.amplitude < 25.0 && dying.amplitude_before > 70.0, "{dying:?}");
    }

    #[test]
    fn a_queue_at_rest_has_no_period_and_two_packets_are_rest_in_any_buffer() {
        let (time, queue) = ([0.0; 100], [7.0; 100]);
        let rest = Oscillation::of(&time, &queue, 10.0);
        assert_eq!((rest.amplitude, rest.period, rest.settles), (0.0, None, true));
        let (time, queue): (Vec<f64>, Vec<f64>) = (0..100).map(|n| (f64::from(n), f64::from(n % 2) * 4.0)).unzip();
        assert!(Oscillation::of(&time, &queue, 10.0).settles);
        assert!(!Oscillation::of(&time, &queue.iter().map(|q| q * 1.1).collect::<Vec<_>>(), 10.0).settles);
    }
}
