//! Refusals of a session.

use aqmlab_core::{Problem, Problems};
use aqmlab_sim::RunError;
use serde::Serialize;

/// A problem: its field, and its place in the scenario's text.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(rename = "Problem"))]
pub(crate) struct ShownProblem {
    pub field: Option<String>,
    pub message: String,
    pub line: Option<usize>,
    pub column: Option<usize>,
    pub length: Option<usize>,
    pub lane: Option<usize>,
}

/// A request or a step that is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub problems: Problems,
    /// The lane that refuses.
    lane: Option<usize>,
    /// The simulation has ended in a step and is of no further use.
    pub is_final: bool,
}

impl Refusal {
    /// A single problem.
    pub fn one(field: &str, why: impl Into<String>) -> Self {
        Problem::new(field, why).into()
    }

    /// The same of a lane.
    pub fn of_lane(self, lane: usize) -> Self {
        Self { lane: Some(lane), ..self }
    }

    /// The problems as a page shows them.
    pub fn shown(&self) -> Vec<ShownProblem> {
        let shown = |problem: &Problem| {
            let at = problem.location.as_ref();
            ShownProblem {
                field: Some(problem.path.clone()).filter(|path| !path.is_empty()),
                message: problem.reason.clone(),
                line: at.map(|at| at.line),
                column: at.map(|at| at.column),
                length: at.map(|at| at.length),
                lane: self.lane,
            }
        };
        self.problems.0.iter().take(Problems::MOST).map(shown).collect()
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Problems::from(problem).into()
    }
}

impl From<Problems> for Refusal {
    fn from(problems: Problems) -> Self {
        Self { problems, lane: None, is_final: false }
    }
}

impl From<RunError> for Refusal {
    fn from(error: RunError) -> Self {
        let is_final = !matches!(error, RunError::Input(_) | RunError::Scheme { .. });
        Self { is_final, ..Problems::from(error).into() }
    }
}
