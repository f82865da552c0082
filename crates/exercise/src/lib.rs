//! Exercises on queues: sheets with tasks to predict, to do and to explain, and the check of what students answer.
//!
//! Python and the studio's page ask the same [`Request`] and get the same answer, so there is one set of rules.

mod measured;
mod request;
mod sheet;
mod verdict;
mod written;

pub use measured::Known;
pub use request::{Request, answer};
pub use sheet::{Assignment, ExerciseSheet, ExerciseTask, Idea, MINUTES, TaskKind, TaskStep};
pub use verdict::AnswerVerdict;
pub use written::{WrittenNumber, number};
