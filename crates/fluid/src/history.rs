//! The past of a trajectory at equal steps, as far back as a round trip can reach.
//!
//! Windows and the queue are interpolated by cubic Hermite polynomials, which keeps the fourth order of the method. The
//! probability of a signal, which a scheme holds from one step to the next, is kept as its integral: the mean over any
//! stretch of time is then exact, wherever its jumps fall.

/// Values at one instant: the windows, then the queue.
struct HistoryPoint {
    values: Vec<f64>,
    /// Slopes on the way here and from here on, which differ where signals begin or p jumps.
    slopes: [Vec<f64>; 2],
    /// Integral of the probability of a signal up to here, s.
    signals: f64,
}

/// A ring of points.
pub struct History {
    points: Vec<HistoryPoint>,
    step: f64,
    capacity: f64,
    /// Points written so far; the last one is `count - 1` steps after the start.
    count: usize,
}

/// A position in the past: between point `index` and the next, `part` of the way.
#[derive(Clone, Copy, Debug, Default)]
pub struct HistoryPosition {
    index: usize,
    part: f64,
}

impl History {
    /// Room for `reach` seconds at this step, of `width` values; a queue of q packets takes q/capacity to drain.
    pub fn new(width: usize, step: f64, capacity: f64, reach: f64) -> Self {
        // A power of two, for a place in the ring to cost no division.
        let room = ((reach / step) as usize + 4).next_power_of_two();
        let point =
            || HistoryPoint { values: vec![0.0; width], slopes: [vec![0.0; width], vec![0.0; width]], signals: 0.0 };
        Self { points: (0..room).map(|_| point()).collect(), step, capacity, count: 0 }
    }

    /// Adds the next point; `slopes` are those before and after it.
    pub fn push(&mut self, values: &[f64], slopes: [&[f64]; 2], signals: f64) {
        let place = self.place(self.count);
        let point = &mut self.points[place];
        point.values.copy_from_slice(values);
        for (kept, slopes) in point.slopes.iter_mut().zip(slopes) {
            kept.copy_from_slice(slopes);
        }
        point.signals = signals;
        self.count += 1;
    }

    /// Time at which the packet that arrived at point `index` left the queue, s.
    fn leaves(&self, index: usize) -> f64 {
        let point = self.point(index);
        index as f64 * self.step + point.values[point.values.len() - 1] / self.capacity
    }

    /// Arrival time of the packet that leaves the queue at time `t`, s; `None` if that is before the start, when the queue was
    /// empty. `place` is where the last search ended; searches must not go back in time, nor stay away for longer than
    /// the history reaches. The packet must have arrived before the last point.
    pub fn arrival(&self, t: f64, place: &mut HistoryPosition) -> Option<f64> {
        if t < 0.0 {
            return None;
        }
        while place.index + 2 < self.count && self.leaves(place.index + 1) <= t {
            place.index += 1;
        }
        let queue = self.points[0].values.len() - 1;
        let start = place.index as f64 * self.step;
        let (from, to) = (self.leaves(place.index), self.leaves(place.index + 1));
        let mut part = if to > from { ((t - from) / (to - from)).clamp(0.0, 1.0) } else { 1.0 };
        for _ in 0..2 {
            // Newton on arrival + wait = t. Packets leave in order, so the slope is positive unless the link is idle.
            let (q, slope) = self.interpolate(place.index, part, queue);
            let excess = start + part * self.step + q / self.capacity - t;
            part = (part - excess / (self.step * (1.0 + slope / self.capacity).max(1e-3))).clamp(0.0, 1.0);
        }
        place.part = part;
        Some(start + part * self.step)
    }

    /// The `i`-th value at a place.
    pub fn value(&self, place: HistoryPosition, i: usize) -> f64 {
        self.interpolate(place.index, place.part, i).0
    }

    /// The `i`-th value at time `t`, within the last step.
    pub fn recent(&self, t: f64, i: usize) -> f64 {
        let index = self.count.saturating_sub(2);
        self.interpolate(index, t / self.step - index as f64, i).0
    }

    /// Integral of the probability of a signal up to time `t`, which is in reach.
    pub fn signals(&self, t: f64) -> f64 {
        let index = ((t / self.step).max(0.0) as usize).min(self.count.saturating_sub(2));
        let (from, to) = (self.point(index).signals, self.point(index + 1).signals);
        from + (t / self.step - index as f64).clamp(0.0, 1.0) * (to - from)
    }

    fn point(&self, index: usize) -> &HistoryPoint {
        &self.points[self.place(index)]
    }

    fn place(&self, index: usize) -> usize {
        index & (self.points.len() - 1)
    }

    /// Value and slope of the cubic through two points.
    fn interpolate(&self, index: usize, part: f64, i: usize) -> (f64, f64) {
        let (a, b) = (self.point(index), self.point(index + 1));
        let (rise, m0, m1) = (b.values[i] - a.values[i], a.slopes[1][i] * self.step, b.slopes[0][i] * self.step);
        let (c2, c3) = (3.0 * rise - 2.0 * m0 - m1, m0 + m1 - 2.0 * rise);
        let value = a.values[i] + part * (m0 + part * (c2 + part * c3));
        (value, (m0 + part * (2.0 * c2 + part * 3.0 * c3)) / self.step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Queue t^2/2 on a link of 1 packet/s, a value t^3, and p = 0.5 until 1 s, then 0; steps of 0.25 s.
    fn history() -> History {
        let mut history = History::new(2, 0.25, 1.0, 4.0);
        for n in 0..=8 {
            let t = 0.25 * f64::from(n);
            let slopes = [3.0 * t * t, t];
            history.push(&[t * t * t, t * t / 2.0], [&slopes, &slopes], 0.5 * t.min(1.0));
        }
        history
    }

    /// s + s^2/2 = t, so s = sqrt(1 + 2t) - 1.
    #[test]
    fn finds_when_the_leaving_packet_arrived() {
        let (history, mut place) = (history(), HistoryPosition::default());
        assert_eq!(history.arrival(-1e-9, &mut place), None);
        for t in [0.0, 0.1, 0.25, 1.0, 2.5, 3.9] {
            let s = history.arrival(t, &mut place).unwrap();
            assert!((s - ((1.0 + 2.0 * t).sqrt() - 1.0)).abs() < 1e-9, "{s} at {t}");
            assert!((history.value(place, 0) - s * s * s).abs() < 1e-12, "cubics are met exactly");
        }
        assert!((history.recent(1.9, 0) - 1.9f64.powi(3)).abs() < 1e-12);
    }

    #[test]
    fn the_integral_of_p_is_met_between_points_too() {
        let history = history();
        let met = [(-1.0, 0.0), (0.6, 0.3), (0.9, 0.45), (1.1, 0.5), (2.0, 0.5)];
        assert!(met.iter().all(|(t, signals)| (history.signals(*t) - signals).abs() < 1e-12));
    }
}
