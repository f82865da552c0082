//! Measurements in the student's own run.

use crate::sheet::{Assignment, CurveMeasure, ExerciseTask, TaskKind, TaskStep};
use aqmlab_core::{Problem, Problems, Span, Time, problem};
use aqmlab_scenario::{SchemeAssignment, parse};
use aqmlab_sim::{ColumnSource, Options, Simulation};

impl Assignment<'_> {
    /// The measurement that a task asks for, in base units; for a comparison the ratio. A guess and words have none.
    ///
    /// # Errors
    /// If the sheet and the scenario do not fit each other.
    pub fn measured(&self, task: &ExerciseTask) -> Result<Option<f64>, Problems> {
        match &task.kind {
            TaskKind::Do { aqm, set, steps, between, curve, measure, .. } => {
                let found = self.known.or(format!("{}{:?}", self.scenario, task.kind), || {
                    let samples = self.played(self.opened(aqm, set)?, steps, between.1, curve)?;
                    let inside = samples.iter().filter(|(time, _)| between.0 < *time && *time <= between.1);
                    let values = inside.map(|(_, value)| *value).filter(|value| !value.is_nan());
                    Ok(seen(*measure, &values.collect::<Vec<_>>()))
                });
                found.map(Some)
            }
            TaskKind::Compare { over: (first, second), .. } => {
                let [first, second] = [first, second].map(|id| self.measured(self.sheet.task(id)?));
                Ok(first?.zip(second?).map(|(first, second)| first / second))
            }
            TaskKind::Predict { .. } | TaskKind::Explain { .. } => Ok(None),
        }
    }

    /// The simulation of a task at its start.
    ///
    /// # Errors
    /// If a value or the scheme does not fit the scenario.
    pub fn opened(&self, aqm: &str, set: &[(String, String)]) -> Result<Simulation, Problems> {
        let aqm = Some(SchemeAssignment::parse(aqm).map_err(|why| Problems::one("aqm", why))?);
        let scenario = parse(&self.scenario, &self.sheet.lesson, set)?;
        Simulation::new(scenario, Options { aqm, seed: 1, ..Options::default() })
    }

    /// A curve up to a time: time and value of each sample.
    fn played(
        &self,
        mut simulation: Simulation,
        steps: &[TaskStep],
        until: f64,
        curve: &str,
    ) -> Result<Vec<(f64, f64)>, Problems> {
        let every = simulation.scenario().sample;
        let mut samples = Vec::new();
        for step in steps {
            sample(&mut simulation, step.at, every, curve, &mut samples)?;
            simulation.set(&step.path, &self.filled(&step.value))?;
        }
        sample(&mut simulation, until, every, curve, &mut samples)?;
        Ok(samples)
    }
}

/// Goes on to a time and adds the samples of a curve on the way.
fn sample(
    simulation: &mut Simulation,
    until: f64,
    every: Span,
    curve: &str,
    samples: &mut Vec<(f64, f64)>,
) -> Result<(), Problems> {
    let (column, width) = place(simulation, curve)?;
    let mut rows = Vec::new();
    simulation.sample_until(Time::ZERO + Span::from_seconds(until), every, &[], &mut rows)?;
    for row in rows.chunks(width) {
        let time = every.seconds() * (samples.len() + 1) as f64;
        samples.push(((time * 1e6).round() / 1e6, f64::from(row[column])));
    }
    Ok(())
}

/// The place of a curve in the rows of a simulation, and how many numbers are in one.
fn place(simulation: &Simulation, curve: &str) -> Result<(usize, usize), Problems> {
    let (links, flows) = (&simulation.scenario().links, &simulation.scenario().flows);
    let columns = simulation.sample_columns(&[]);
    let names: Vec<String> = columns
        .iter()
        .map(|column| match column.source {
            ColumnSource::Link(link) | ColumnSource::Scheme(link) => {
                format!("links.{}.{}", links[link].name, column.name)
            }
            ColumnSource::Group(group) => format!("flows.{}.{}", flows[group].name, column.name),
            ColumnSource::Time | ColumnSource::Flow(..) => String::new(),
        })
        .collect();
    let known: Vec<&str> = names.iter().map(String::as_str).filter(|name| !name.is_empty()).collect();
    let found = names.iter().position(|name| name == curve);
    let found = found.ok_or_else(|| Problem::new("curve", problem::unknown("curve", curve, &known)))?;
    Ok((found, columns.len()))
}

/// What is seen of the values of a curve.
fn seen(measure: CurveMeasure, values: &[f64]) -> f64 {
    let mean = |of: &dyn Fn(f64) -> f64| values.iter().map(|value| of(*value)).sum::<f64>() / values.len() as f64;
    match measure {
        CurveMeasure::Mean => mean(&|value| value),
        CurveMeasure::Min => values.iter().copied().fold(f64::INFINITY, f64::min),
        CurveMeasure::Max => values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        CurveMeasure::Sd => {
            let centre = mean(&|value| value);
            mean(&|value| (value - centre).powi(2)).sqrt()
        }
        CurveMeasure::Zero => mean(&|value| f64::from(u8::from(value == 0.0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_is_seen_as_the_task_says() {
        let values = [1.0, 0.0, 5.0, 0.0];
        let found = [CurveMeasure::Mean, CurveMeasure::Min, CurveMeasure::Max, CurveMeasure::Zero]
            .map(|measure| seen(measure, &values));
        assert_eq!(found, [1.5, 0.0, 5.0, 0.5]);
        assert_eq!(seen(CurveMeasure::Sd, &[1.0, 5.0]), 2.0);
    }
}
