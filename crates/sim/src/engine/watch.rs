//! Progress and cancellation of a run, from another thread.

use aqmlab_core::Time;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared with a run: shows how far it has come, and can stop it.
#[derive(Debug, Default)]
pub struct Watch {
    cancelled: AtomicBool,
    now: AtomicU64,
}

impl Watch {
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

    /// The run has reached this time.
    pub fn note(&self, now: Time) {
        self.now.store(now.0, Ordering::Relaxed);
    }
}
