//! Reasons for which a run has no result.

use aqmlab_aqm::Failure;
use aqmlab_core::{Problems, Time};

/// The run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Reason for which a run has no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The scheme does not fit the scenario.
    #[error(transparent)]
    Input(#[from] Problems),
    /// The run was told to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The run has had more events than it may have.
    #[error("{events} events by {:.3} s, more than the {most} allowed for the run", at.seconds())]
    Endless {
        /// Events so far.
        events: u64,
        /// Events that it may have.
        most: u64,
        /// The time that it has reached.
        at: Time,
    },
    /// The run, or all runs of the process together, hold more memory than they may.
    #[error("{:.2} GB are held by {:.3} s, more than the {:.2} GB that runs may have together", *held as f64 / 1e9, at.seconds(), *most as f64 / 1e9)]
    Memory {
        /// Bytes that are held.
        held: u64,
        /// Bytes that may be held.
        most: u64,
        /// The time that it has reached.
        at: Time,
    },
    /// A scheme, or a congestion-control law, broke down during the run.
    #[error("{name} {failure}")]
    Scheme {
        /// Its name.
        name: String,
        /// Time and reason.
        failure: Failure,
    },
}

/// For whoever has no other errors than problems with what was asked.
impl From<RunError> for Problems {
    fn from(error: RunError) -> Self {
        match error {
            RunError::Input(problems) => problems,
            other => Problems::one("", other.to_string()),
        }
    }
}
