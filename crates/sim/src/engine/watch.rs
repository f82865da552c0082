//! Progress, cancellation and memory of a run, from another thread.

use crate::engine::error::{Interrupted, RunError};
use aqmlab_core::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared with a run: shows how far it has come, and can stop it.
#[derive(Debug, Default)]
pub struct Watch {
    cancelled: AtomicBool,
    now: AtomicU64,
    bound: Option<MemoryBound>,
}

/// The memory that may be held while a run goes on.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBound {
    /// Bytes that all runs of the process hold together.
    pub held: fn() -> u64,
    /// Bytes that the asking thread has come to hold; negative if it gave back what others took.
    pub own: fn() -> i64,
    /// Bytes that all may hold.
    pub most: u64,
    /// A run that holds less than this is not the cause.
    pub share: u64,
}

impl Watch {
    /// One that stops the run when memory is at its bound.
    pub fn bounded(bound: MemoryBound) -> Self {
        Self { bound: Some(bound), ..Self::default() }
    }

    /// Stops the run within milliseconds.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// True if [`Watch::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Simulated time that the run has reached.
    pub fn now(&self) -> Time {
        Time(self.now.load(Ordering::Relaxed))
    }

    /// Bytes that the asking thread has come to hold; 0 without a bound.
    pub(crate) fn own(&self) -> i64 {
        self.bound.map_or(0, |bound| (bound.own)())
    }

    /// The run has reached this time; fails if it is to stop. Other threads of the run hold `elsewhere` bytes.
    pub(crate) fn reach(&self, now: Time, elsewhere: i64) -> Result<(), RunError> {
        self.note(now);
        if self.is_cancelled() {
            return Err(Interrupted.into());
        }
        match self.bound.map(|bound| (bound, (bound.held)())) {
            Some((bound, held)) if held > bound.most && self.own() + elsewhere >= bound.share as i64 => {
                Err(RunError::Memory { held, most: bound.most, at: now })
            }
            _ => Ok(()),
        }
    }

    /// The run has reached this time.
    pub fn note(&self, now: Time) {
        self.now.store(now.0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_holds_what_all_its_threads_hold() {
        let watch = Watch::bounded(MemoryBound { held: || 100, own: || 10, most: 99, share: 15 });
        assert!(watch.reach(Time(1), 4).is_ok(), "others hold more");
        assert!(matches!(watch.reach(Time(2), 5), Err(RunError::Memory { held: 100, most: 99, at: Time(2) })));
        let roomy = Watch::bounded(MemoryBound { held: || 100, own: || 10, most: 100, share: 0 });
        assert!(roomy.reach(Time(3), 0).is_ok());
    }
}
