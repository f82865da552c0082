//! The memory of measurements.

use aqmlab_core::Problems;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// Measurements that were made before, so that a second check need not wait for them.
#[derive(Debug, Default)]
pub struct Known(RefCell<BTreeMap<String, f64>>);

impl Known {
    /// The measurement of that name, or else what `measure` finds.
    pub fn or(&self, name: String, measure: impl FnOnce() -> Result<f64, Problems>) -> Result<f64, Problems> {
        if let Some(found) = self.0.borrow().get(&name) {
            return Ok(*found);
        }
        let found = measure()?;
        self.0.borrow_mut().insert(name, found);
        Ok(found)
    }
}
