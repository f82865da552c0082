//! Exercises on queues: sheets with tasks to predict, to do and to explain, and the check of what students answer.
//!
//! Python and the studio's page ask the same [`ExerciseRequest`] and get the same answer, so there is one set of rules.

mod known;
mod measured;
mod request;
mod sheet;
mod verdict;
mod written;

pub use known::Known;
pub use request::{ExerciseRequest, answer};
pub use sheet::ExerciseSheet;
