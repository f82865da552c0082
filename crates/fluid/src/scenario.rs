//! The fluid model of a scenario under a scheme: what of it has a place there, and what it comes to.

use crate::host::Host;
use crate::{Class, Difference, Model, SignalShare, SolverOptions, Summary, Trajectory, WindowModel, difference};
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_aqm::{AnyAqm, AnyScheme, Ecn};
use aqmlab_core::{Problem, Problems, Stream};
use aqmlab_scenario::{AqmChoice, Engine, FlowSpec, LinkSpec, RateChanges, Scenario, SchemeAssignment, Traffic};
use serde::Serialize;

/// Classes that a group of flows with random round trips or starts is divided into, at most.
const MOST_CLASSES: usize = 16;

/// Points kept of a trajectory, at most.
const MOST_SAMPLES: f64 = 1e7;

/// The options beside the scenario.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request {
    /// Length, s; that of the scenario if `None`.
    pub duration: Option<f64>,
    /// Longest step, s; see [`SolverOptions::step`].
    pub step: Option<f64>,
    /// The dynamics of windows.
    pub windows: WindowModel,
    /// Solve again with half the step, and tell the difference.
    pub check: bool,
}

/// The model of a scenario, and the summary of its trajectory.
#[derive(Clone, Debug, Serialize)]
pub struct Solution {
    /// Of this document.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Name of its link.
    pub link: String,
    /// Name of the scheme.
    pub aqm: String,
    /// The dynamics of windows, by name.
    pub windows: &'static str,
    /// Length, s.
    pub duration: f64,
    /// Means count from here, s.
    pub from: f64,
    /// Step of the method, s.
    pub step: f64,
    /// Signals are marks.
    pub ecn: bool,
    /// Rate of the link, packets of mean size per second.
    pub capacity: f64,
    /// Capacity of the queue, packets of mean size.
    pub buffer: f64,
    /// The same in bytes where the scenario has it in bytes.
    pub buffer_bytes: Option<u64>,
    /// Queue that schemes with a reference aim at, packets.
    pub target: f64,
    /// The flows.
    pub classes: Vec<GroupClass>,
    /// The summary of the trajectory.
    pub summary: Summary,
    /// Difference from the trajectory with half the step.
    pub error: Option<Difference>,
    /// The trajectory itself.
    #[serde(skip)]
    pub trajectory: Trajectory,
}

/// A class of flows, and the group that it is of.
#[derive(Clone, Debug, Serialize)]
pub struct GroupClass {
    /// Name of the group.
    pub group: String,
    /// Flows.
    pub count: f64,
    /// Round trip without queueing, s.
    pub rtt: f64,
    /// Their start, s.
    pub start: f64,
    /// Their end, s; `None` for never.
    pub stop: Option<f64>,
}

impl Solution {
    /// Lets the fluid model of a scenario run, under the scheme `aqm` or its own.
    ///
    /// # Errors
    /// What the model has no place for, and options out of range; each with its path.
    pub fn of(scenario: &Scenario, aqm: Option<&SchemeAssignment>, request: &Request) -> Result<Self, Problems> {
        let options = options(scenario, request)?;
        let case = ScenarioModel::of(scenario, aqm, request.windows)?;
        let trajectory = case.run(&options)?;
        let finer = SolverOptions { step: Some(trajectory.step / 2.0), ..options };
        let error = match request.check {
            true => Some(difference(&trajectory, &case.run(&finer)?, &case.model, &options)),
            false => None,
        };
        Ok(case.solution(&options, trajectory, error))
    }
}

/// Over what time: that of the scenario unless another is asked for. Means count from its warm-up, or else over the
/// second half.
fn options(scenario: &Scenario, request: &Request) -> Result<SolverOptions, Problems> {
    let (warmup, sample) = (scenario.warmup.seconds(), scenario.sample.seconds());
    let duration = request.duration.unwrap_or(scenario.duration.seconds());
    let reason = if !(duration > 0.0 && duration <= 1e6) {
        format!("{duration} s is out of range: must lie above 0 s and not above 1000000 s")
    } else if duration / sample > MOST_SAMPLES {
        format!("{duration} s has more than 10000000 samples of {sample} s; set a longer `sample`")
    } else if warmup >= duration {
        format!("{duration} s does not reach beyond the warm-up ({warmup} s)")
    } else {
        let from = if warmup > 0.0 { warmup } else { duration / 2.0 };
        return Ok(SolverOptions { duration, from, sample, step: request.step });
    };
    Err(Problems::one("duration", reason))
}

/// The model, and what it was made of.
struct ScenarioModel<'a> {
    scenario: &'a Scenario,
    link: &'a LinkSpec,
    choice: &'a AqmChoice,
    share: SignalShare,
    model: Model,
    /// Group of each class.
    groups: Vec<&'a str>,
}

impl<'a> ScenarioModel<'a> {
    fn of(scenario: &'a Scenario, aqm: Option<&'a SchemeAssignment>, windows: WindowModel) -> Result<Self, Problems> {
        check_fits(scenario)?;
        let link = &scenario.links[0];
        let choice = scenario.scheme_of(link, aqm);
        let marks = scenario.marks(link, choice)?;
        let refused = |why| Problems::one("aqm", why);
        let entry = aqmlab_aqm::entry(&choice.name).map_err(refused)?;
        let share = SignalShare::of(&entry).map_err(refused)?;
        let (mut classes, mut groups) = (Vec::new(), Vec::new());
        for flows in &scenario.flows {
            for class in classes_of(flows, link) {
                classes.push(class);
                groups.push(flows.name.as_str());
            }
        }
        let ecn = marks && scenario.flows.iter().all(|flows| flows.ecn != Ecn::NotEct);
        let capacity = link.rate.0 / (8.0 * link.packet);
        let model = Model { classes, capacity, buffer: link.buffer_packets, ecn, windows };
        Ok(Self { scenario, link, choice, share, model, groups })
    }

    fn scheme(&self) -> Result<AnyAqm, Problems> {
        match self.scenario.build_scheme(self.link, self.choice)? {
            AnyScheme::Fifo(scheme) => Ok(scheme),
            _ => Err(Problems::one("aqm", format!("\"{}\" has several queues; the model has one", self.choice.name))),
        }
    }

    fn run(&self, options: &SolverOptions) -> Result<Trajectory, Problems> {
        let size = self.link.packet.round() as u32;
        let host = Host::new(self.scheme()?, self.share, self.link.empty_queue(), size, self.model.ecn);
        crate::run(&self.model, host, options).map_err(|why| Problems::one("step", why.to_string()))
    }

    fn solution(&self, options: &SolverOptions, trajectory: Trajectory, error: Option<Difference>) -> Solution {
        let class = |(group, class): (&&str, &Class)| GroupClass {
            group: group.to_string(),
            count: class.count,
            rtt: class.rtt,
            start: class.start,
            stop: class.stop.is_finite().then_some(class.stop),
        };
        Solution {
            schema: 1,
            scenario: self.scenario.name.clone(),
            link: self.link.name.clone(),
            aqm: self.choice.name.clone(),
            windows: self.model.windows.name(),
            duration: options.duration,
            from: options.from,
            step: trajectory.step,
            ecn: self.model.ecn,
            capacity: self.model.capacity,
            buffer: self.model.buffer,
            buffer_bytes: self.link.buffer_bytes(),
            target: self.link.target,
            classes: self.groups.iter().zip(&self.model.classes).map(class).collect(),
            summary: trajectory.summary(&self.model),
            error,
            trajectory,
        }
    }
}

/// Refuses what the model has no place for.
fn check_fits(scenario: &Scenario) -> Result<(), Problems> {
    let mut problems = Vec::new();
    let mut refuse = |path: String, reason: &str| problems.push(Problem::new(path, reason));
    if scenario.links.len() > 1 {
        refuse("links".into(), "the fluid model has one queue; take a scenario with one link");
    }
    if !(scenario.changes.is_empty() && scenario.awaited.is_empty()) {
        refuse("changes".into(), "the fluid model does not support changes during a run; leave them out");
    }
    if let Some(controller) = scenario.controllers.first() {
        refuse(
            format!("controllers.{}", controller.name),
            "the fluid model does not support controllers; leave it out",
        );
    }
    let link = &scenario.links[0];
    if link.changes != RateChanges::None {
        refuse(
            format!("links.{}.rate", link.name),
            "the fluid model supports only constant rates; write one such as \"45 Mbit/s\"",
        );
    }
    if link.layer != LinkLayer::PLAIN {
        refuse(format!("links.{}.overhead", link.name), "the fluid model does not support link layers; leave it out");
    }
    if link.shared.is_some() {
        refuse(
            format!("links.{}.buffer", link.name),
            "the fluid model does not support shared buffers; write its size",
        );
    }
    for (key, why) in link.refusals(Engine::Fluid) {
        refuse(format!("links.{}.{key}", link.name), why);
    }
    check_flows(&scenario.flows, &mut problems);
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}

fn check_flows(groups: &[FlowSpec], problems: &mut Vec<Problem>) {
    let mut refuse = |path: String, reason: &str| problems.push(Problem::new(path, reason));
    let marked = groups.first().is_some_and(|flows| flows.ecn != Ecn::NotEct);
    for flows in groups {
        let path = |key: &str| format!("flows.{}.{key}", flows.name);
        for (key, why) in flows.refusals(Engine::Fluid) {
            refuse(path(key), why);
        }
        if !matches!(flows.traffic, Traffic::Ftp) {
            let reason = format!("the fluid model does not support \"{}\"; it supports \"ftp\"", flows.traffic.kind());
            refuse(path("kind"), &reason);
        }
        if !flows.ack_path.is_empty() {
            refuse(path("ack_path"), "the fluid model does not support ACKs that queue; leave it out");
        }
        if flows.tcp.delayed_ack {
            refuse(
                path("tcp.delayed_ack"),
                "the fluid model has an ACK for each segment; write false, or tcp = \"sack\"",
            );
        }
        if (flows.ecn != Ecn::NotEct) != marked {
            refuse(path("ecn"), "in the fluid model all flows use ECN or none; write the same for every group");
        }
    }
}

/// One flow as it is drawn: round trip, start and stop, s.
type FlowSample = [f64; 3];

/// Flows of a group that are alike. Random round trips and times are those that a run with seed 1 draws; where that makes
/// more than 16 kinds of flows, they are put in order, by round trip or else by start, and divided into 16 classes with
/// the means of their flows.
fn classes_of(flows: &FlowSpec, link: &LinkSpec) -> Vec<Class> {
    let mut drawn = draw(flows, link);
    drawn.sort_by(|a, b| a.partial_cmp(b).expect("times are numbers"));
    let mut kinds = drawn.clone();
    kinds.dedup();
    let parts: Vec<&[FlowSample]> = match kinds.len() {
        0..=MOST_CLASSES => drawn.chunk_by(|a, b| a == b).collect(),
        _ => (0..MOST_CLASSES)
            .map(|i| &drawn[drawn.len() * i / MOST_CLASSES..drawn.len() * (i + 1) / MOST_CLASSES])
            .collect(),
    };
    let size = f64::from(flows.wire_size()) / link.packet;
    let class = |part: &[FlowSample]| {
        let mean = |what: usize| part.iter().map(|flow| flow[what]).sum::<f64>() / part.len() as f64;
        let (count, window) = (part.len() as f64, flows.tcp.window.0);
        Class { count, rtt: mean(0), size, window, start: mean(1), stop: mean(2) }
    };
    parts.into_iter().map(class).collect()
}

fn draw(flows: &FlowSpec, link: &LinkSpec) -> Vec<FlowSample> {
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
            let stop = batch.stop.as_ref().map(|stop| stop.draw(i, &mut stream("stop", i)).seconds());
            [rtt, start, stop.unwrap_or(f64::INFINITY)]
        })
        .collect()
}
