//! The order of events.

/// Time in the upper half; order of insertion, then the heap's slot or a timer, in the lower.
pub type Key = u128;

/// After all events.
pub const NO_EVENT: Key = Key::MAX;
