//! Actions of an agent: parameters of a scheme, moved by numbers in [-1, 1].

use super::{Episode, Task};
use crate::net::packet::Packet;
use aqmlab_aqm::disciplines::Limit;
use aqmlab_aqm::{AnyQueue, Discipline, QueueView, entry};
use aqmlab_core::params::ParamInput;
use aqmlab_core::problem::unknown;
use aqmlab_core::{ParamSpec, Problems, Rate, read_any};
use aqmlab_scenario::{AqmChoice, Scenario};

/// Scale between a knob's position u in [0, 1] and its value. An action a in [-1, 1] moves it to u = (a + 1)/2, or by a
/// step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// least + u (most - least).
    Linear,
    /// least (most/least)^u.
    Log,
    /// least + u² (most - least): even steps of the square root, to whose inverse TCP's rate is proportional.
    Square,
}

/// A parameter that an agent moves between two ends, in base units.
#[derive(Clone, Debug)]
pub struct Knob {
    spec: ParamSpec,
    least: f64,
    most: f64,
    scale: Scale,
    /// Largest change of u by an action, if actions are increments.
    step: Option<f64>,
}

impl Knob {
    /// A knob of a scheme with the given parameters. Without ends it takes those of the declaration; without a scale it
    /// moves by factors where the ends are above zero and more than a factor of 100 apart, else evenly.
    ///
    /// # Errors
    /// If there is no such parameter, it is no number, it cannot change while the scheme runs, or the range is empty or not
    /// within the declared one.
    pub fn new(
        aqm: &AqmChoice,
        name: &str,
        ends: Option<(f64, f64)>,
        scale: Option<Scale>,
        step: Option<f64>,
    ) -> Result<Self, Problems> {
        let path = format!("act.{}.{name}", aqm.name);
        let refused = |reason: String| Problems::one(&path, reason);
        let found = entry(&aqm.name).map_err(|why| Problems::one("act", why))?;
        let specs = (found.params)();
        let names: Vec<&str> = specs.iter().map(|spec| spec.name).collect();
        let spec = specs.iter().find(|spec| spec.name == name);
        let spec = *spec.ok_or_else(|| refused(unknown("parameter", name, &names)))?;
        let declared = declared_ends(&spec);
        let (least, most) = ends.or(declared).ok_or_else(|| refused("is not a number with a declared range".into()))?;
        if least >= most || !least.is_finite() || !most.is_finite() {
            return Err(refused(format!("the range {least} to {most} is empty; give the minimum, then the maximum")));
        }
        if let Some((low, high)) = declared.filter(|(low, high)| least < *low || most > *high) {
            return Err(refused(format!(
                "the range {least} to {most} is not within the declared one, {low} to {high}"
            )));
        }
        let ratio = if least > 0.0 { most / least } else { 0.0 };
        let scale = scale.unwrap_or(if ratio > 100.0 { Scale::Log } else { Scale::Linear });
        if scale == Scale::Log && least <= 0.0 {
            return Err(refused(format!("moves by factors, but {least} is not above 0")));
        }
        if let Some(step) = step.filter(|step| !(*step > 0.0 && *step <= 1.0)) {
            return Err(refused(format!("the largest increment is {step} of the range; expected 0 to 1")));
        }
        can_change(aqm, &spec).map_err(refused)?;
        is_continuous(aqm, &spec, least + 0.314159 * (most - least)).map_err(refused)?;
        Ok(Self { spec, least, most, scale, step })
    }

    /// Value after an action at `value`.
    fn after(&self, value: f64, action: f32) -> f64 {
        let a = f64::from(action);
        let u = self.step.map_or((a + 1.0) / 2.0, |step| (self.place(value) + a * step).clamp(0.0, 1.0));
        let range = self.most - self.least;
        let value = match self.scale {
            Scale::Linear => self.least + u * range,
            Scale::Log => self.least * libm::pow(self.most / self.least, u),
            Scale::Square => self.least + u * u * range,
        };
        value.clamp(self.least, self.most)
    }

    /// The place u of a value.
    fn place(&self, value: f64) -> f64 {
        let share = (value - self.least) / (self.most - self.least);
        match self.scale {
            Scale::Linear => share,
            Scale::Log => libm::log(value / self.least) / libm::log(self.most / self.least),
            Scale::Square => share.sqrt(),
        }
    }
}

/// The ends of the declared range of a number; those of every ratio are 0 and 1.
fn declared_ends(spec: &ParamSpec) -> Option<(f64, f64)> {
    let ends = spec.range.or((spec.unit == "ratio").then_some(("0", "1")))?;
    Some((read_any(ends.0)?.0, read_any(ends.1)?.0))
}

/// Refuses a parameter that a scheme holds from its start on.
fn can_change(aqm: &AqmChoice, spec: &ParamSpec) -> Result<(), String> {
    let view = QueueView::empty(Rate(1e7), 50.0, 100.0);
    let pairs: Vec<(&str, &str)> = aqm.params.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    let found = entry(&aqm.name)?;
    let scheme = found.build(&aqm.name, &pairs, &view).map_err(|why| why.to_string())?;
    let mut queue: AnyQueue<Packet> = scheme.queue(view, Limit::Packets(100), false, 0);
    let values = found.values(&aqm.name, &pairs).map_err(|why| why.to_string())?;
    let text = values.iter().find(|(name, _)| *name == spec.name).map_or(spec.default, |(_, text)| text);
    queue.set_param(spec.name, ParamInput::Text(text))
}

/// Refuses a parameter that takes only some of the numbers between two ends.
fn is_continuous(aqm: &AqmChoice, spec: &ParamSpec, between: f64) -> Result<(), String> {
    let found = entry(&aqm.name)?;
    match found.values(&aqm.name, &[(spec.name, &spec.text(between))]) {
        Err(Problems(why)) if why.iter().any(|why| why.path == format!("{}.{}", aqm.name, spec.name)) => {
            Err(format!("accepts no number in this range: {}", why[0].reason))
        }
        _ => Ok(()),
    }
}

/// Initial values of a task's knobs in an episode.
pub(super) fn begin(task: &Task, scenario: &Scenario) -> Result<Vec<f64>, Problems> {
    let found = entry(&task.aqm.name).map_err(|why| Problems::one("act", why))?;
    let values = found.values(&task.aqm.name, &scenario.params(&task.aqm))?;
    let value = |knob: &Knob| {
        let text = values.iter().find(|(name, _)| *name == knob.spec.name).map(|(_, text)| text.as_str());
        text.and_then(read_any).map_or(knob.least, |(number, _)| number).clamp(knob.least, knob.most)
    };
    Ok(task.knobs.iter().map(value).collect())
}

/// Moves the knobs; whether the scheme took all of it. Parameters that fit only together are tried twice.
pub(super) fn apply(task: &Task, episode: &mut Episode, action: &[f32]) -> bool {
    let stand = task.knobs.iter().zip(&episode.values).zip(action);
    let asked: Vec<f64> = stand.map(|((knob, value), a)| knob.after(*value, *a)).collect();
    let mut set = |i: usize| {
        let spec = &task.knobs[i].spec;
        let is_set = episode.simulation.tune(episode.link, spec.name, asked[i]).is_ok();
        if is_set {
            episode.values[i] = asked[i];
        }
        is_set
    };
    let refused: Vec<usize> = (0..asked.len()).filter(|i| !set(*i)).collect();
    refused.into_iter().all(set)
}
