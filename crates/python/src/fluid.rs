//! The fluid model of a scenario: what of it has a place there, and the arrays that come back.

use crate::{Scenario, refused};
use aqmlab_aqm::{AnyAqm, AnyScheme, Ecn};
use aqmlab_core::problem::unknown;
use aqmlab_core::{Problem, Problems, Stream};
use aqmlab_fluid::host::Host;
use aqmlab_fluid::{Class, Model, Options, Signal, StepError, Trajectory, Windows, difference};
use aqmlab_sim::scenario::{FlowSpec, LinkSpec, RateChanges, Traffic};
use aqmlab_sim::{AqmChoice, Scenario as World};
use numpy::{PyArray1, PyArray2};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

/// Classes that a group of flows with random round trips or starts is divided into, at most.
const MOST_CLASSES: usize = 16;

/// Points kept of a trajectory, at most.
const MOST_SAMPLES: f64 = 1e7;

/// A trajectory of the fluid model.
#[pyclass(frozen)]
pub struct Fluid {
    description: Value,
    series: Option<Trajectory>,
    capacity: f64,
}

#[pymethods]
impl Fluid {
    /// The model and the summary of its trajectory.
    fn json(&self) -> String {
        self.description.to_string()
    }

    /// Columns by name, of which `window` and `rate` have a row for each class; empty unless they were asked for.
    fn series<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let columns = PyDict::new(py);
        let Some(Trajectory { time, queue, p, windows, rates, .. }) = &self.series else { return Ok(columns) };
        let delay = queue.iter().map(|packets| packets / self.capacity);
        columns.set_item("time", PyArray1::from_slice(py, time))?;
        columns.set_item("queue", PyArray1::from_slice(py, queue))?;
        columns.set_item("queue_delay", PyArray1::from_iter(py, delay))?;
        columns.set_item("p", PyArray1::from_slice(py, p))?;
        columns.set_item("window", PyArray2::from_vec2(py, windows)?)?;
        columns.set_item("rate", PyArray2::from_vec2(py, rates)?)?;
        Ok(columns)
    }
}

/// Lets the fluid model of a scenario run; `check` repeats it with half the step and reports the difference.
#[allow(clippy::too_many_arguments)] // named ones, in Python
#[pyfunction]
#[pyo3(signature = (scenario, aqm=None, *, duration=None, step=None, series=false, windows="classic", check=false))]
pub fn fluid(
    py: Python<'_>,
    scenario: &Scenario,
    aqm: Option<&str>,
    duration: Option<f64>,
    step: Option<f64>,
    series: bool,
    windows: &str,
    check: bool,
) -> PyResult<Fluid> {
    let choice = aqm.map(AqmChoice::parse).transpose().map_err(|why| refused(format!("aqm: {why}")))?;
    let world = &*scenario.0;
    let options = options(world, duration, step).map_err(refused)?;
    let windows = windows_of(windows).map_err(refused)?;
    let case = Case::of(world, choice.as_ref(), windows).map_err(refused)?;
    let (trajectory, description) =
        py.detach(|| case.solve(&options, check)).map_err(|why| refused(format!("step: {why}")))?;
    Ok(Fluid { description, series: series.then_some(trajectory), capacity: case.model.capacity })
}

/// How windows move, by its name.
fn windows_of(name: &str) -> Result<Windows, String> {
    match name {
        "classic" => Ok(Windows::Classic),
        "refined" => Ok(Windows::Refined),
        _ => Err(format!("windows: {}", unknown("kind of windows", name, &["classic", "refined"]))),
    }
}

/// Over what time: that of the scenario unless `duration`, s, says otherwise. Means count from its warm-up, or else over
/// the second half.
fn options(world: &World, duration: Option<f64>, step: Option<f64>) -> Result<Options, String> {
    let duration = duration.unwrap_or(world.duration.seconds());
    if !(duration > 0.0 && duration <= 1e6) {
        return Err(format!("duration: {duration} s is out of range: must lie above 0 s and not above 1000000 s"));
    }
    if duration / world.sample.seconds() > MOST_SAMPLES {
        let sample = world.sample.seconds();
        return Err(format!(
            "duration: {duration} s has more than 10000000 samples of {sample} s; set a longer `sample`"
        ));
    }
    let warmup = world.warmup.seconds();
    if warmup >= duration {
        return Err(format!("duration: {duration} s does not reach beyond the warm-up ({warmup} s)"));
    }
    let from = if warmup > 0.0 { warmup } else { duration / 2.0 };
    Ok(Options { duration, from, sample: world.sample.seconds(), step })
}

/// The fluid model of a scenario under a scheme.
struct Case<'a> {
    world: &'a World,
    link: &'a LinkSpec,
    choice: &'a AqmChoice,
    signal: Signal,
    model: Model,
    /// Mean size of a packet on the wire, bytes.
    size: f64,
    /// Group of each class.
    groups: Vec<&'a str>,
}

impl<'a> Case<'a> {
    fn of(world: &'a World, chosen: Option<&'a AqmChoice>, windows: Windows) -> Result<Self, Problems> {
        check_fits(world)?;
        let link = &world.links[0];
        let choice = world.scheme_of(link, chosen);
        let marks = world.marks(link, choice)?;
        let entry = aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?;
        let values = entry.values(&choice.name, &world.params(choice))?;
        let signal = Signal::of(&choice.name, &values).map_err(|why| Problems::one("aqm", why))?;
        let size = mean_size(world);
        let (mut classes, mut groups) = (Vec::new(), Vec::new());
        for flows in &world.flows {
            for class in classes_of(flows, link, size) {
                classes.push(class);
                groups.push(flows.name.as_str());
            }
        }
        let ecn = marks && world.flows.iter().all(|flows| flows.ecn != Ecn::NotEct);
        let capacity = link.rate.0 / (8.0 * size);
        let model = Model { classes, capacity, buffer: link.buffer_packets, ecn, windows };
        Ok(Self { world, link, choice, signal, model, size, groups })
    }

    fn scheme(&self) -> AnyAqm {
        match self.world.build_scheme(self.link, self.choice) {
            Ok(AnyScheme::Fifo(scheme)) => scheme,
            _ => unreachable!("schemes of a single queue alone have a signal, and its parameters were read"),
        }
    }

    fn run(&self, options: &Options) -> Result<Trajectory, StepError> {
        let size = self.size.round() as u32;
        let host = Host::new(self.scheme(), self.signal, self.link.empty_queue(), size, self.model.ecn);
        aqmlab_fluid::run(&self.model, host, options)
    }

    fn solve(&self, options: &Options, check: bool) -> Result<(Trajectory, Value), StepError> {
        let trajectory = self.run(options)?;
        let finer = Options { step: Some(trajectory.step / 2.0), ..*options };
        let error = match check {
            true => Some(difference(&trajectory, &self.run(&finer)?, &self.model, options)),
            false => None,
        };
        let description = json!({
            "schema": 1,
            "scenario": self.world.name,
            "link": self.link.name,
            "aqm": self.choice.name,
            "windows": if self.model.windows == Windows::Classic { "classic" } else { "refined" },
            "duration": options.duration,
            "from": options.from,
            "step": trajectory.step,
            "ecn": self.model.ecn,
            "capacity": self.model.capacity,
            "buffer": self.model.buffer,
            "target": self.link.target,
            "classes": self.groups.iter().zip(&self.model.classes).map(describe).collect::<Vec<_>>(),
            "summary": trajectory.summary(&self.model),
            "error": error,
        });
        Ok((trajectory, description))
    }
}

fn describe((group, class): (&&str, &Class)) -> Value {
    let stop = class.stop.is_finite().then_some(class.stop);
    json!({"group": group, "count": class.count, "rtt": class.rtt, "start": class.start, "stop": stop})
}

/// Refuses what the model has no place for.
fn check_fits(world: &World) -> Result<(), Problems> {
    let mut problems = Vec::new();
    let mut refuse = |path: String, reason: &str| problems.push(Problem { path, reason: reason.to_string() });
    if world.links.len() > 1 {
        refuse("links".into(), "the fluid model has one queue; take a scenario with one link");
    }
    let link = &world.links[0];
    if link.changes != RateChanges::None {
        refuse(
            format!("links.{}.rate", link.name),
            "the fluid model has a constant rate; write one such as \"45 Mbit/s\"",
        );
    }
    let marked = world.flows.first().is_some_and(|flows| flows.ecn != Ecn::NotEct);
    for flows in &world.flows {
        let path = |key: &str| format!("flows.{}.{key}", flows.name);
        if !matches!(flows.traffic, Traffic::Ftp) {
            let reason = format!("\"{}\" has no place in the fluid model; it knows \"ftp\"", flows.traffic.kind());
            refuse(path("kind"), &reason);
        }
        if !flows.ack_path.is_empty() {
            refuse(path("ack_path"), "ACKs that queue have no place in the fluid model; leave it out");
        }
        if flows.tcp.delayed_ack {
            refuse(path("tcp.delayed_ack"), "the fluid model has an ACK for each segment; write false");
        }
        if (flows.ecn != Ecn::NotEct) != marked {
            refuse(path("ecn"), "the fluid model has all flows marked or none; write the same for every group");
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn mean_size(world: &World) -> f64 {
    let flows = || world.flows.iter().map(|flows| (f64::from(flows.count()), f64::from(flows.wire_size())));
    flows().map(|(count, size)| count * size).sum::<f64>() / flows().map(|(count, _)| count).sum::<f64>()
}

/// One flow as it is drawn: round trip, start and stop, s.
type Drawn = [f64; 3];

/// Flows of a group that are alike. Random round trips and times are those that a run with seed 1 draws; where that makes
/// more than 16 kinds of flows, they are put in order, by round trip or else by start, and divided into 16 classes with
/// the means of their flows.
fn classes_of(flows: &FlowSpec, link: &LinkSpec, mean_size: f64) -> Vec<Class> {
    let mut drawn = draw(flows, link);
    drawn.sort_by(|a, b| a.partial_cmp(b).expect("times are numbers"));
    let mut kinds = drawn.clone();
    kinds.dedup();
    let parts: Vec<&[Drawn]> = match kinds.len() {
        0..=MOST_CLASSES => drawn.chunk_by(|a, b| a == b).collect(),
        _ => (0..MOST_CLASSES)
            .map(|i| &drawn[drawn.len() * i / MOST_CLASSES..drawn.len() * (i + 1) / MOST_CLASSES])
            .collect(),
    };
    let size = f64::from(flows.wire_size()) / mean_size;
    let class = |part: &[Drawn]| {
        let mean = |what: usize| part.iter().map(|flow| flow[what]).sum::<f64>() / part.len() as f64;
        let (count, window) = (part.len() as f64, flows.tcp.window.0);
        Class { count, rtt: mean(0), size, window, start: mean(1), stop: mean(2) }
    };
    parts.into_iter().map(class).collect()
}

fn draw(flows: &FlowSpec, link: &LinkSpec) -> Vec<Drawn> {
    let stream = |what: &str, i: usize| Stream::new(1, &format!("flows.{}.{what}", flows.name), i as u64);
    // A packet is under way while it is sent, too.
    let bits = 8.0 * f64::from(flows.wire_size());
    let sending = bits / link.rate.0 + flows.access_rate.map_or(0.0, |rate| bits / rate.0);
    let batches = flows.batches.iter().flat_map(|batch| std::iter::repeat_n(batch, batch.count as usize));
    batches
        .enumerate()
        .map(|(i, batch)| {
            let rtt = flows.rtt.draw(i, &mut stream("rtt", i)).seconds() + sending;
            let start = batch.start.draw(i, &mut stream("start", i)).seconds();
            let stop = batch.stop.as_ref().map(|law| law.draw(i, &mut stream("stop", i)).seconds());
            [rtt, start, stop.unwrap_or(f64::INFINITY)]
        })
        .collect()
}
