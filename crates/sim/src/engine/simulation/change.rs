//! Changing a simulation from outside, and copying it.

use super::probe::observables;
use super::target_change::TargetChange;
use super::{RunError, Simulation};
use crate::calendar::PushTime;
use crate::engine::network::NetworkState;
use crate::net::flow::Schedule;
use crate::net::link::DepartureMode;
use crate::net::packet::Packet;
use crate::traffic::instance::{FlowInstance, FlowInstanceKind, FlowInstanceStreams};
use aqmlab_aqm::{AnyQueue, Discipline};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Problem, Problems, Rate, Span, Time};
use aqmlab_scenario::{Action, AqmChoice, Change, Distribution, Scenario};
use std::sync::Arc;

/// Most flows in a simulation.
const MOST_FLOWS: usize = 1_000_000;

impl Simulation {
    /// Changes what `path` names to `value`, now, after everything else of this instant; both are written as in
    /// `[[changes]]`, which repeats it. It can be
    ///
    /// - `links.NAME.rate`, `.delay`, `.buffer`, `.target`, `.loss`, `.aqm` (another scheme, which takes over the packets that
    ///   wait), `.aqm.PARAMETER` (of the scheme that is there);
    /// - `flows.NAME.count` (more flows start now, or those added last stop), `.rtt`, `.rate` (of `app-limited`), `.stop` (a time).
    ///
    /// # Errors
    /// If there is no such thing or the value is not legal, and then nothing has changed.
    pub fn set(&mut self, path: &str, value: &str) -> Result<(), RunError> {
        self.step_until(self.network.now)?;
        Ok(self.apply(Change::new(Span(self.network.now.0), path, value))?)
    }

    /// Sets a parameter of the scheme of a link to a number in base units, now: [`set`](Self::set) for a controller that acts
    /// every few milliseconds. It is not among the [`changes`](Self::changes).
    ///
    /// # Errors
    /// If there is no such parameter, its value is illegal, or it cannot change while the scheme runs; nothing has changed
    /// then.
    pub fn tune(&mut self, link: usize, name: &str, value: f64) -> Result<(), String> {
        self.set_parameter(link, name, ParamInput::Number(value))
    }

    /// All changes so far and those that the scenario still has to come, in order of time; not those of traces.
    pub fn changes(&self) -> Vec<Change> {
        self.applied.iter().chain(&self.pending).filter(|change| !change.is_of_trace).cloned().collect()
    }

    /// The scenario with everything that has been changed as `[[changes]]`: run under the same scheme and seed it gives the
    /// same result.
    pub fn to_toml(&self) -> String {
        let awaited = self.network.phases.as_ref().map_or(&[][..], |phases| &phases.awaited);
        self.scenario.to_toml(&self.changes(), awaited)
    }

    /// A copy that goes its own way from now on.
    ///
    /// # Errors
    /// If a scheme cannot be copied; it says why.
    pub fn fork(&self) -> Result<Self, RunError> {
        let copy = self.clone();
        copy.look_at_schemes()?;
        Ok(copy)
    }

    /// Makes a change now.
    pub(super) fn apply(&mut self, change: Change) -> Result<(), Problems> {
        let refused = |reason: String| Problems::one(&change.path, reason);
        let action = change.action(&self.scenario, &self.network.specs).map_err(|problem| Problems(vec![problem]))?;
        let is_foreseen = |link: &usize| self.network.links[*link].departures == DepartureMode::Foreseen;
        debug_assert!(!action.needs_causality(&self.scenario).iter().any(is_foreseen), "{} is foreseen", change.path);
        match action.clone() {
            Action::Rate(link, rate) => self.network.links[link].set_rate(rate, self.network.now),
            Action::Delay(..) => {}
            Action::Buffer(link, buffer, packets) => self.at_link(link, |queue| queue.set_limit(buffer, packets)),
            Action::Target(link, target) => self.at_link(link, |queue| queue.set_target(target)),
            Action::Scheme(link, choice) => self.replace_scheme(link, choice)?,
            Action::Parameter(link, name, value) => {
                self.set_parameter(link, &name, ParamInput::Text(&value)).map_err(refused)?
            }
            Action::Loss(link, loss) => {
                self.network.links[link].set_loss(loss, &self.network.specs[link], self.options.seed)
            }
            Action::Count(group, count) => self.set_count(group, count as usize).map_err(refused)?,
            Action::Rtt(group, law) => self.set_rtt(group, law),
            Action::Offered(group, rate) => self.set_offered(group, rate),
            Action::Stop(group, time) => self.stop_group(group, Time::ZERO + time),
        }
        action.update(Arc::make_mut(&mut self.network.specs));
        if let Action::Rate(link, _) | Action::Delay(link, _) = action {
            self.network.routes.follow(&self.scenario.flows, &self.network.specs, link);
        }
        self.note_goals(&action);
        self.applied.push(change);
        Ok(())
    }

    /// Makes the changes that have waited for the phase that a flow has just entered.
    pub(super) fn apply_due(&mut self) -> Result<(), Problems> {
        let now = self.network.now;
        let due = self.network.phases.as_mut().map_or(Vec::new(), |phases| std::mem::take(&mut phases.due));
        for change in due {
            self.network.scheduler.as_of(PushTime::at(now));
            self.apply(change.at(Span(now.0)))?;
        }
        Ok(())
    }

    fn at_link<T>(&mut self, link: usize, act: impl FnOnce(&mut AnyQueue<Packet>) -> T) -> T {
        let link = &mut self.network.links[link];
        link.catch_up(self.network.now);
        act(&mut link.queue)
    }

    fn replace_scheme(&mut self, link: usize, choice: AqmChoice) -> Result<(), Problems> {
        let spec = &self.network.specs[link];
        let scheme = self.scenario.build_scheme(spec, &choice)?;
        let marks = self.scenario.marks(spec, &choice)?;
        self.network.links[link].replace_queue(spec, scheme, marks, self.network.now);
        self.network.link_events[link].follow(&self.network.links[link]);
        self.shown[link] = observables(&choice);
        self.schemes[link] = choice;
        self.follow_series(link);
        self.restart_ticks(link, self.network.now);
        Ok(())
    }

    fn set_parameter(&mut self, link: usize, name: &str, value: ParamInput) -> Result<(), String> {
        let before = self.network.links[link].queue.tick_every();
        self.at_link(link, |queue| queue.set_param(name, value))?;
        let after = self.network.links[link].queue.tick_every();
        if let Some(period) = after.filter(|_| before != after) {
            self.restart_ticks(link, self.network.now + period);
        }
        Ok(())
    }

    /// Updates that were to come are forgotten; the next is at `first`.
    fn restart_ticks(&mut self, index: usize, first: Time) {
        self.network.link_events[index].ticks += 1;
        if let Some(period) = self.network.links[index].queue.tick_every() {
            self.network.schedule_tick(index as u32, first, period);
        }
    }

    fn set_count(&mut self, group: usize, count: usize) -> Result<(), String> {
        let now = self.network.now;
        let there: Vec<usize> = (0..self.members[group].len()).filter(|i| self.members[group][*i].stop > now).collect();
        if count + self.members.iter().map(Vec::len).sum::<usize>() > MOST_FLOWS + there.len() {
            return Err(format!("\"{count}\" makes more than {MOST_FLOWS} flows in all"));
        }
        for i in there.iter().skip(count).rev() {
            self.stop_member(group, *i, now);
        }
        let streams = FlowInstanceStreams::new(self.options.seed, &self.scenario.flows[group]);
        for _ in there.len()..count {
            self.add_member(group, now, None, streams);
        }
        Ok(())
    }

    fn stop_group(&mut self, group: usize, time: Time) {
        for i in 0..self.members[group].len() {
            if self.members[group][i].stop > time {
                self.stop_member(group, i, time);
            }
        }
    }

    fn stop_member(&mut self, group: usize, i: usize, time: Time) {
        let member = &mut self.members[group][i];
        member.stop = time;
        match member.kind {
            FlowInstanceKind::Flow(flow) => {
                let never_starts = member.start >= time;
                if never_starts {
                    self.network.never_start.insert(flow);
                }
                self.stop_sources(flow, time);
                self.network.schedule_close(flow, time);
            }
            FlowInstanceKind::Source(source) => self.network.sources[source as usize].stop_at(time),
            FlowInstanceKind::Media(flow) => {
                self.network.media.get_mut(&flow).into_iter().for_each(|stream| stream.stop_at(time));
            }
            FlowInstanceKind::Foreign(_) => {} // whoever hosts it sees to that
            FlowInstanceKind::Client(client) => self.network.clients[client as usize].stop_at(time),
        }
    }

    /// Whatever offers data to a flow does so no longer from `time` on.
    fn stop_sources(&mut self, flow: u32, time: Time) {
        self.network.sources.iter_mut().filter(|source| source.flow == flow).for_each(|source| source.stop_at(time));
    }

    /// Another source takes the place of each that offers data to a group's flows; what has not been sent is taken back.
    fn set_offered(&mut self, group: usize, rate: Rate) {
        let now = self.network.now;
        for i in 0..self.members[group].len() {
            let FlowInstance { kind: FlowInstanceKind::Flow(flow), stop, .. } = self.members[group][i] else {
                continue;
            };
            if stop <= now {
                continue;
            }
            let size = self.scenario.flows[group].payload;
            let old = self.network.sources.iter().rfind(|source| source.flow == flow).cloned();
            self.stop_sources(flow, now);
            self.network.flows[flow as usize].sender.close();
            if let Some(source) = old.filter(|_| rate.0 > 0.0) {
                self.add_source(source.at_rate(rate, size, stop), now, true);
            }
        }
    }

    /// Each flow draws a round trip again, from the same stream.
    fn set_rtt(&mut self, group: usize, law: Distribution<Span>) {
        let scenario = self.scenario.clone();
        let streams = FlowInstanceStreams::new(self.options.seed, &scenario.flows[group]);
        if let Distribution::Fixed(before) = self.rtts[group] {
            let NetworkState { routes, group_meters, .. } = &mut self.network;
            let way = &routes.ways[routes.way(group, 0) as usize];
            group_meters[group].tell_apart(way.own_propagation(routes.of(group, before)));
        }
        for i in 0..self.members[group].len() {
            let rtt = law.draw(i, &mut streams.rtt.of(i as u64));
            let flow = match self.members[group][i].kind {
                FlowInstanceKind::Flow(flow) | FlowInstanceKind::Foreign(flow) | FlowInstanceKind::Media(flow) => flow,
                FlowInstanceKind::Source(source) => self.network.sources[source as usize].flow,
                FlowInstanceKind::Client(client) => {
                    self.network.clients[client as usize].peer.rtt = rtt;
                    continue;
                }
            };
            self.network.flows[flow as usize].set_route(self.network.routes.of(group, rtt));
        }
        if scenario.flows[group].traffic.has_clients() {
            let NetworkState { flows, connections, clients, routes, .. } = &mut self.network;
            for flow in flows.iter_mut().filter(|flow| routes.group(flow.way) == group) {
                let Some(connection) = connections.get(flow.connection as usize) else { continue };
                flow.set_route(routes.of(group, clients[connection.client as usize].peer.rtt));
            }
        }
        self.rtts[group] = law;
    }

    fn note_goals(&mut self, action: &Action) {
        if let Action::Buffer(link, ..) | Action::Target(link, _) = action {
            let spec = &self.network.specs[*link];
            self.goals[*link].push(TargetChange::at(Span(self.network.now.0), spec));
        }
    }
}

/// For each link, true if it must not compute departures ahead, as something on a path through it changes: the rate
/// of a link is part of the delay of ACKs that cross it without queueing.
///
/// # Errors
/// If a change of the scenario does not fit the schemes that it meets.
pub(super) fn changing_links(scenario: &Scenario, schemes: &[AqmChoice]) -> Result<Vec<bool>, Problems> {
    let (mut specs, mut schemes) = (scenario.links.clone(), schemes.to_vec());
    let rates = (0..specs.len()).filter(|link| specs[*link].changes != aqmlab_scenario::RateChanges::None);
    let mut changing: Vec<usize> = rates.flat_map(|link| scenario.together_with(link)).collect();
    let awaited = scenario.awaited.iter().map(|change| change.at(Span::ZERO));
    for (i, change) in scenario.changes.iter().cloned().chain(awaited).enumerate() {
        let refused = |problem: Problem| problem.within(&format!("changes.{i}"));
        let action = change.action(scenario, &specs).map_err(|problem| Problems(vec![refused(problem)]))?;
        if let Action::Scheme(link, choice) = &action {
            schemes[*link] = choice.clone();
        }
        if let Action::Scheme(link, _) | Action::Parameter(link, ..) = &action {
            let spec = &specs[*link];
            let scheme = scenario.build_scheme(spec, &schemes[*link])?;
            let mut queue: AnyQueue<Packet> = scheme.queue(spec.empty_queue(), spec.buffer, spec.ecn, 0);
            if let Action::Parameter(_, name, value) = &action {
                let set = queue.set_param(name, ParamInput::Text(value));
                set.map_err(|reason| Problems(vec![refused(Problem::new(&change.path, reason))]))?;
            }
        }
        action.update(&mut specs);
        changing.extend(action.needs_causality(scenario));
    }
    Ok((0..specs.len()).map(|link| changing.contains(&link)).collect())
}
