//! The program that hosts a session.

use aqmlab_core::Problems;
use aqmlab_sim::Watch;
use std::sync::Arc;

/// The program that a session runs in. Memory is in bytes.
pub trait SessionHost: Send + Sync {
    /// The text of a scenario that a page names.
    ///
    /// # Errors
    /// If there is none.
    fn scenario(&self, name: &str) -> Result<String, Problems>;

    /// A session holds so much, and is about to take so much more.
    ///
    /// # Errors
    /// If there is not as much.
    fn hold(&self, held: f64, more: f64) -> Result<(), Problems>;

    /// Ends simulations that outgrow all estimates.
    fn watch(&self) -> Option<Arc<Watch>> {
        None
    }

    /// Does some work of a simulation that held so much before, and that runs a scheme of the user's own if `is_own`. Returns what it
    /// holds then; `None` where nobody counts.
    fn work(&self, is_own: bool, held: f64, work: &mut dyn FnMut()) -> Option<f64> {
        let _ = (is_own, held);
        work();
        None
    }
}

impl dyn SessionHost + '_ {
    /// Does some work; returns its outcome, and what the simulation holds then.
    pub(crate) fn run<T>(&self, is_own: bool, held: f64, work: impl FnOnce() -> T) -> (T, Option<f64>) {
        let (mut found, mut work) = (None, Some(work));
        let held = self.work(is_own, held, &mut || found = work.take().map(|work| work()));
        (found.expect("a host does it"), held)
    }
}
