//! The step of the method: short beside every delay, and a whole part of the scheme's period.

use crate::{Model, SolverOptions};

/// Steps of a run at most.
pub const MOST_STEPS: f64 = 2e7;

/// A step that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum StepError {
    /// Delays would fall into the present step.
    #[error("\"{step} s\" is too long: at most half the shortest round trip, {longest} s")]
    TooLong {
        /// As asked for, s.
        step: f64,
        /// Longest, s.
        longest: f64,
    },
    /// Not a positive number.
    #[error("\"{0} s\" is not above 0")]
    NotPositive(f64),
    /// It would take too long.
    #[error("{steps} steps of {step} s are too many; at most 20000000")]
    TooMany {
        /// Their number.
        steps: f64,
        /// Step, s.
        step: f64,
    },
}

/// The step, and how many make a period of the scheme's update.
pub(crate) fn choose_step(
    model: &Model,
    tick: Option<f64>,
    options: &SolverOptions,
) -> Result<(f64, usize), StepError> {
    let shortest = model.classes.iter().map(|class| class.rtt).fold(f64::INFINITY, f64::min);
    let longest = options.step.unwrap_or((shortest / 50.0).min(1e-3));
    if longest.is_nan() || longest <= 0.0 {
        return Err(StepError::NotPositive(longest));
    }
    if longest > shortest / 2.0 {
        return Err(StepError::TooLong { step: longest, longest: shortest / 2.0 });
    }
    let per_tick = tick.map_or(1.0, |tick| (tick / longest * (1.0 - 1e-12)).ceil());
    let step = tick.map_or(longest, |tick| tick / per_tick);
    let steps = (options.duration / step).ceil();
    if steps > MOST_STEPS {
        return Err(StepError::TooMany { steps, step });
    }
    Ok((step, if tick.is_some() { per_tick as usize } else { 0 }))
}
