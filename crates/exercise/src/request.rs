//! Questions about a sheet, and the answers.

use crate::known::Known;
use crate::sheet::{Assignment, ExerciseSheet, ExerciseTask, TaskKind};
use aqmlab_core::{Problems, read_any};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// A question about the sheet of a student.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExerciseRequest {
    /// The sheet, TOML.
    sheet: String,
    /// The scenario of its lesson, TOML.
    scenario: String,
    /// Number of the student.
    student: String,
    /// Length of the sheet.
    minutes: u32,
    /// The kind of question.
    want: Wanted,
    /// The student's answers, by task.
    #[serde(default)]
    answers: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wanted {
    /// The parameters, the scenario and the tasks.
    Show,
    /// A verdict for each task.
    Check,
    /// The file of answers.
    File,
    /// Measurements, and an answer to each task that is taken.
    Solve,
}

/// Answers a request.
///
/// # Errors
/// If sheet, scenario, student, minutes or answers cannot be used.
pub fn answer(request: &ExerciseRequest, known: &Known) -> Result<Value, Problems> {
    let sheet = ExerciseSheet::read(&request.sheet)?;
    let tasks = sheet.of(request.minutes)?;
    let own = sheet.assignment(&request.student, &request.scenario, known)?;
    match request.want {
        Wanted::Show => Ok(json!({
            "values": own.values.iter().map(|(path, value)| (path.clone(), value.clone().into())).collect::<Map<_, _>>(),
            "scenario": own.scenario,
            "tasks": tasks.into_iter().map(|task| own.described(task)).collect::<Result<Vec<_>, _>>()?,
        })),
        Wanted::Check => Ok(json!({ "verdicts": own.check(request.minutes, &request.answers)? })),
        Wanted::File => Ok(json!({ "text": own.file(request.minutes, &tasks, &request.answers) })),
        Wanted::Solve => {
            let solved = tasks.into_iter().map(|task| own.solved(task)).collect::<Result<Vec<_>, _>>()?;
            Ok(json!({ "solutions": solved }))
        }
    }
}

impl Assignment<'_> {
    /// A task as the student reads it; `stops` are the times at which something is to be done or to be seen.
    fn described(&self, task: &ExerciseTask) -> Result<Value, Problems> {
        let words = self.filled(&task.text).split_whitespace().collect::<Vec<_>>().join(" ");
        let mut described = json!({ "id": task.id, "words": words, "ask": "Predict" });
        match &task.kind {
            TaskKind::Predict { .. } => {}
            TaskKind::Do { aqm, set, steps, between, curve, .. } => {
                let stops: Vec<f64> = steps.iter().map(|step| step.at).chain([between.1]).collect();
                let scenario = if set.is_empty() { self.scenario.clone() } else { self.opened(aqm, set)?.to_toml() };
                let set: Map<String, Value> =
                    set.iter().map(|(path, value)| (path.clone(), value.clone().into())).collect();
                let run = json!({ "aqm": aqm, "set": set, "scenario": scenario, "stops": stops, "curve": curve });
                described["ask"] = "Do".into();
                described["run"] = run;
            }
            TaskKind::Compare { .. } => described["ask"] = "Do".into(),
            TaskKind::Explain { .. } => described["ask"] = "Explain".into(),
        }
        Ok(described)
    }

    /// The file of answers, TOML.
    fn file(&self, minutes: u32, tasks: &[&ExerciseTask], given: &BTreeMap<String, String>) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        let head = format!("sheet = {}\nstudent = {}\n", text(&self.sheet.lesson), text(&self.student));
        let line =
            |task: &&ExerciseTask| format!("{} = {}\n", task.id, text(given.get(&task.id).map_or("", |text| text)));
        format!("{head}minutes = {minutes}\n\n[answers]\n{}", tasks.iter().map(line).collect::<String>())
    }

    /// What a task measures, and an answer to it that is taken.
    fn solved(&self, task: &ExerciseTask) -> Result<Value, Problems> {
        let measured = self.measured(task)?;
        let verdict = match &task.kind {
            TaskKind::Explain { solution, .. } => solution.trim().to_owned(),
            TaskKind::Predict { of } => {
                let other = self.sheet.task(of)?;
                let found = self.measured(other)?.unwrap_or(f64::NAN);
                format!("any number; {of} comes out as {}", shown(found, other.unit()))
            }
            TaskKind::Do { .. } | TaskKind::Compare { .. } => shown(measured.unwrap_or(f64::NAN), task.unit()),
        };
        Ok(json!({ "task": task.id, "measured": measured, "told": verdict }))
    }
}

/// A measurement with three digits, in a unit.
fn shown(value: f64, unit: &str) -> String {
    let scale = if unit.is_empty() { 1.0 } else { read_any(&format!("1 {unit}")).map_or(1.0, |(scale, _)| scale) };
    let rounded: f64 = format!("{:.2e}", value / scale).parse().unwrap_or(f64::NAN);
    format!("{rounded} {unit}").trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_has_three_digits() {
        assert_eq!(shown(0.66, "ms"), "660 ms");
        assert_eq!(shown(1_234_567.0, "kbit/s"), "1230 kbit/s");
        assert_eq!(shown(0.999, "%"), "99.9 %");
        assert_eq!(shown(23.456, ""), "23.5");
    }
}
