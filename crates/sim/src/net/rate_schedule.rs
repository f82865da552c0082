//! The rates that a link comes to have.

use crate::net::stream_of;
use aqmlab_core::{Rate, Span, Stream, Time};
use aqmlab_scenario::{Distribution, Fading, LinkSpec, RateChanges};

/// A rate holds at least this long, so that a run moves on.
const SHORTEST_HOLD: Span = Span::from_micros(1);

/// Changes of the rate of a link yet to come.
#[derive(Clone)]
pub struct RateSchedule(Steps);

#[derive(Clone)]
enum Steps {
    Listed(std::vec::IntoIter<(Span, Rate)>),
    Wander { values: Vec<Rate>, hold: Distribution<Span>, holds: usize, rng: Stream },
    Fade { mean: Rate, fading: Fading, level: f64, rng: Stream },
}

impl RateSchedule {
    /// Of a link.
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        Self(match spec.changes.clone() {
            RateChanges::None | RateChanges::Trace(_) => Steps::Listed(Vec::new().into_iter()),
            RateChanges::At(steps) => Steps::Listed(steps.into_iter()),
            RateChanges::Wander { values, hold } => {
                Steps::Wander { values, hold, holds: 0, rng: stream_of(seed, spec, "rate") }
            }
            RateChanges::Fade(fading) => {
                Steps::Fade { mean: spec.rate, fading, level: 0.0, rng: stream_of(seed, spec, "rate") }
            }
        })
    }

    /// The next rate, and when it begins.
    pub fn next(&mut self, present: Rate, now: Time) -> Option<(Time, Rate)> {
        match &mut self.0 {
            Steps::Listed(steps) => steps.next().map(|(time, rate)| (Time::ZERO + time, rate)),
            Steps::Wander { values, hold, holds, rng } => {
                let begins = now + hold.draw(*holds, rng).max(SHORTEST_HOLD);
                *holds += 1;
                let others: Vec<Rate> = values.iter().copied().filter(|rate| *rate != present).collect();
                let rate = others.get((rng.uniform() * others.len() as f64) as usize).copied().unwrap_or(present);
                Some((begins, rate))
            }
            Steps::Fade { mean, fading, level, rng } => {
                *level = fading.step(*level, rng);
                Some((now + fading.every, fading.rate(*mean, *level)))
            }
        }
    }
}
