//! Answers held to the student's own run.

use crate::sheet::{Assignment, ExerciseTask, Idea, TaskKind};
use crate::written::{WrittenNumber, number};
use aqmlab_core::problem::{ProblemKind, unknown};
use aqmlab_core::{Problem, Problems, read_any};
use serde::Serialize;
use std::collections::BTreeMap;

/// How far off a rounded answer may be, as a share, however few its digits.
const COARSEST: f64 = 0.15;
/// Factors between units that are taken for each other.
const SLIPS: [f64; 4] = [1e3, 1e6, 1e-3, 1e-6];

/// The answer to a task is taken or not, and what to tell the student; a refusal never has the right value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerVerdict {
    /// The task.
    pub task: String,
    /// It is taken.
    pub taken: bool,
    /// The words to the student.
    pub told: String,
    /// The number that was answered, in base units, if one is asked for.
    pub number: Option<f64>,
}

impl Assignment<'_> {
    /// A verdict for each task of a sheet of so many minutes; answers are texts by task.
    ///
    /// # Errors
    /// If there is no such sheet, or an answer is to no task of it.
    pub fn check(&self, minutes: u32, given: &BTreeMap<String, String>) -> Result<Vec<AnswerVerdict>, Problems> {
        let tasks = self.sheet.of(minutes)?;
        let known: Vec<&str> = tasks.iter().map(|task| &*task.id).collect();
        if let Some(name) = given.keys().find(|name| !known.contains(&&***name)) {
            let path = format!("answers.{name}");
            return Err(Problem::new(&path, unknown("task", name, &known)).of(ProblemKind::Unknown).into());
        }
        tasks
            .into_iter()
            .map(|task| {
                let text = given.get(&task.id).map_or("", |text| text.trim());
                let (taken, told) = self.verdict(task, text)?;
                let is_words = matches!(task.kind, TaskKind::Explain { .. });
                let number = number(text).filter(|_| !is_words).and_then(|given| value(&given, task.unit()));
                Ok(AnswerVerdict { task: task.id.clone(), taken, told, number })
            })
            .collect()
    }

    fn verdict(&self, task: &ExerciseTask, text: &str) -> Result<(bool, String), Problems> {
        if text.is_empty() {
            return Ok((false, "no answer yet".into()));
        }
        match &task.kind {
            TaskKind::Explain { ideas, wrong, .. } => Ok(explained(ideas, wrong, text)),
            TaskKind::Predict { of } => {
                let unit = self.sheet.task(of)?.unit();
                Ok(match number(text).and_then(|given| value(&given, unit)) {
                    Some(_) => (true, format!("compare it with your answer to {of}: what did you miss?")),
                    None => (false, format!("a prediction is a number{}", as_in(unit))),
                })
            }
            TaskKind::Do { unit, within, .. } => self.number_verdict(task, text, unit, *within),
            TaskKind::Compare { within, .. } => self.number_verdict(task, text, "", *within),
        }
    }

    fn number_verdict(
        &self,
        task: &ExerciseTask,
        text: &str,
        unit: &str,
        within: f64,
    ) -> Result<(bool, String), Problems> {
        let Some(given) = number(text) else { return Ok((false, format!("there is no number in it{}", as_in(unit)))) };
        let Some(value) = value(&given, unit) else {
            return Ok((false, format!("its unit is missing or wrong{}", as_in(unit))));
        };
        let right = self.measured(task)?.unwrap_or(f64::NAN);
        let scale = if given.value == 0.0 { 1.0 } else { (value / given.value).abs() };
        let rounded = (given.half * scale).min(COARSEST * right.abs());
        let is_near = |value: f64, most: f64| (value - right).abs() <= most;
        let within = within * right.abs();
        Ok(if is_near(value, within.max(rounded)) {
            (true, "right".into())
        } else if SLIPS.iter().any(|slip| is_near(value * slip, within)) {
            (false, "the digits are right and the unit is not: look at the axis again".into())
        } else {
            let size = if value < right { "too small" } else { "too large" };
            (false, format!("{size}. {}", task.hint).trim().into())
        })
    }
}

impl ExerciseTask {
    /// The unit of its number; empty if it has none.
    pub fn unit(&self) -> &str {
        if let TaskKind::Do { unit, .. } = &self.kind { unit } else { "" }
    }
}

/// A number in base units; `None` if it has another kind of unit than is wanted.
fn value(given: &WrittenNumber, unit: &str) -> Option<f64> {
    let of = |unit: &str| read_any(&format!("1 {unit}"));
    match (unit, &*given.unit) {
        ("", "%") => Some(given.value / 100.0),
        ("", _) => Some(given.value),
        ("%", "") if given.value <= 1.0 => Some(given.value),
        ("%", "" | "%") => Some(given.value / 100.0),
        (_, "") | ("%", _) => None,
        (wanted, found) => {
            let ((_, wanted), (scale, found)) = (of(wanted)?, of(found)?);
            (wanted == found).then_some(given.value * scale)
        }
    }
}

fn as_in(unit: &str) -> String {
    format!("; write it as in 12 {unit}").trim_end().to_owned()
}

fn explained(ideas: &[Idea], wrong: &[Idea], text: &str) -> (bool, String) {
    let words = text.to_lowercase().split_whitespace().collect::<Vec<_>>().join(" ");
    let said = wrong.iter().find(|idea| idea.is_in(&words));
    match said.or_else(|| ideas.iter().find(|idea| !idea.is_in(&words))) {
        Some(idea) => (false, idea.hint.clone()),
        None => (true, "the essential points are there".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_taken_in_any_unit_of_its_kind_and_in_no_other() {
        let of = |text: &str, unit: &str| number(text).and_then(|given| value(&given, unit));
        assert_eq!(of("660 ms", "ms"), of("0,66 s", "ms"));
        assert_eq!(of("660", "ms"), None);
        assert_eq!(of("660 packets", "ms"), None);
        assert_eq!(of("95 %", "%"), Some(0.95));
        assert_eq!(of("0.95", "%"), Some(0.95));
        assert_eq!(of("95", "%"), Some(0.95));
        assert_eq!(of("38 times", ""), Some(38.0));
    }

    #[test]
    fn an_explanation_has_every_idea_and_nothing_wrong() {
        let idea = |any: &str, hint: &str| {
            toml::from_str::<Idea>(&format!("any = ['{any}']\nhint = \"{hint}\"")).expect("it is an idea")
        };
        let (ideas, wrong) = ([idea(r"\bfull\b", "how full?"), idea("tcp", "who?")], [idea("too small", "try it")]);
        let told = |text: &str| explained(&ideas, &wrong, text);
        assert_eq!(told("TCP sends until  it is FULL"), (true, "the essential points are there".into()));
        assert_eq!(told("TCP fills it fully"), (false, "how full?".into()));
        assert_eq!(told("it is full"), (false, "who?".into()));
        assert_eq!(told("TCP: the full buffer is too small"), (false, "try it".into()));
    }
}
