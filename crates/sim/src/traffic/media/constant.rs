//! A law that adapts nothing.

use super::control::{MediaControl, MediaSetup};

/// A rate that never changes, bit/s. Frames are sent in half of the time between them.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRate(f64);

impl ConstantRate {
    /// The rate at first, for good.
    pub fn new(setup: &MediaSetup) -> Self {
        Self(setup.range.start)
    }
}

impl MediaControl for ConstantRate {
    fn target(&self) -> f64 {
        self.0
    }

    fn pace(&self) -> f64 {
        2.0 * self.0
    }
}
