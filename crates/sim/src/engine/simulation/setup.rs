//! Sets up a simulation: links, flows and clients, and the first event of each.

use super::change::changing_links;
use super::foreign::Foreign;
use super::probe::{ProbeBaseline, observables};
use super::target_change::TargetChange;
use super::{Options, Simulation};
use crate::calendar::{EventOrigin, Lane};
use crate::engine::event::Event;
use crate::engine::network::{LinkEvents, LinkSeries, NetworkState};
use crate::measure::link::LinkUsage;
use crate::measure::losses::LossMeter;
use crate::measure::result::Series;
use crate::net::ecmp::Ecmp;
use crate::net::flow::Flow;
use crate::net::link::{DepartureMode, Link};
use crate::net::wifi::Cell;
use crate::traffic::ends::TransferEnds;
use crate::traffic::instance::{self, FlowInstance, FlowInstanceKind, FlowInstanceSpec, FlowInstanceStreams};
use crate::traffic::timed::TimedSource;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Problem, Problems, Span, Time};
use aqmlab_scenario::{FlowSpec, Scenario, Traffic};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Records of losses that may be there for flows that lose nothing, on all links: 64 MB of them.
const MOST_DENSE: usize = 1 << 20;

impl Simulation {
    /// A scenario before anything has happened. Nothing is computed ahead that a later change could move.
    ///
    /// # Errors
    /// If the scheme does not fit the scenario, or ends of flows are outside.
    pub fn new(scenario: impl Into<Arc<Scenario>>, options: Options) -> Result<Self, Problems> {
        let scenario = scenario.into();
        refuse_foreign(&scenario)?;
        Self::set_up(scenario, options, DepartureMode::AtService)
    }

    /// The same with departures computed ahead, which is faster, with the same results: of a link nothing may be changed by
    /// hand but its scheme's parameters, its buffer and its target.
    pub(crate) fn foreseeing(scenario: Arc<Scenario>, options: Options) -> Result<Self, Problems> {
        refuse_foreign(&scenario)?;
        Self::set_up(scenario, options, DepartureMode::Foreseen)
    }

    pub(super) fn set_up(
        scenario: Arc<Scenario>,
        options: Options,
        departures: DepartureMode,
    ) -> Result<Self, Problems> {
        refuse_uncontrolled(&scenario, &options)?;
        let mut simulation = Simulation {
            network: NetworkState::new(&scenario, options.series),
            schemes: Vec::new(),
            pending: scenario.changes.clone().into(),
            applied: Vec::new(),
            goals: scenario.links.iter().map(|spec| vec![TargetChange::at(Span::ZERO, spec)]).collect(),
            rtts: scenario.flows.iter().map(|spec| spec.rtt.clone()).collect(),
            shown: Vec::new(),
            baseline: ProbeBaseline::new(&scenario),
            members: vec![Vec::new(); scenario.flows.len()],
            foreign: Foreign::default(),
            scenario: scenario.clone(),
            options,
        };
        simulation.network.ecmp = scenario.fabric.map(|fabric| Ecmp::new(fabric, simulation.options.seed));
        simulation.network.cell = scenario
            .wifi
            .as_ref()
            .map(|wifi| Box::new(Cell::new(wifi, scenario.links[wifi.first()].buffer, simulation.options.seed)));
        simulation.add_links(departures)?;
        if let Some(ecmp) = &mut simulation.network.ecmp {
            ecmp.assign_lanes(&scenario.links, || simulation.network.scheduler.calendar.lane());
        }
        if scenario.warmup > Span::ZERO {
            let warmup = simulation.network.measured.start;
            simulation.network.scheduler.push(Lane::ANY, warmup, EventOrigin::WARM_UP, Event::WarmedUp);
        }
        simulation.add_groups();
        simulation.assign_lanes();
        if departures == DepartureMode::Foreseen && scenario.changes.is_empty() && scenario.awaited.is_empty() {
            simulation.network.enable_lookahead();
        }
        simulation.count_losses();
        if simulation.options.series {
            simulation.start_series();
        }
        Ok(simulation)
    }

    /// Ends the counts between probes: there will be no more probes.
    pub(super) fn stop_probing(&mut self) {
        self.network.links.iter_mut().for_each(Link::stop_probing);
        self.stop_probing_flows();
    }

    fn add_links(&mut self, departures: DepartureMode) -> Result<(), Problems> {
        let (scenario, seed) = (self.scenario.clone(), self.options.seed);
        let named = self.options.aqm.as_ref();
        named.map_or(Ok(()), |named| named.check(&scenario.links)).map_err(|why| Problems::one("aqm", why))?;
        let choice = |spec| scenario.scheme_of(spec, named).clone();
        self.schemes = scenario.links.iter().map(choice).collect();
        let changing = changing_links(&scenario, &self.schemes)?;
        let mut of_ports: BTreeMap<u64, Lane> = BTreeMap::new();
        for (i, spec) in scenario.links.iter().enumerate() {
            let choice = &self.schemes[i];
            let plan = scenario.build_scheme(spec, choice)?;
            let marks = scenario.marks(spec, choice)?;
            self.shown.push(observables(choice));
            let departures = if changing[i] { DepartureMode::AtService } else { departures };
            let mut link = Link::new(spec, plan, marks, departures, seed);
            if scenario.wifi.as_ref().is_some_and(|wifi| wifi.first() <= i) {
                link = link.on_air(); // its links are the last
            }
            link.departs_first = !spec.host && scenario.is_of_linux();
            if self.options.trace == Some(i) {
                link = link.traced();
            }
            let period = link.queue.tick_every();
            let mut new_lane = || self.network.scheduler.calendar.lane();
            let events = match scenario.fabric {
                // Too many for a lane each; what takes as long ends in order, wherever it is.
                Some(_) => {
                    LinkEvents::new(&link, || *of_ports.entry(spec.rate.0.to_bits()).or_insert_with(&mut new_lane))
                }
                None => LinkEvents::new(&link, new_lane),
            };
            self.network.link_events.push(events);
            self.network.links.push(link);
            period.into_iter().for_each(|period| self.network.schedule_tick(i as u32, Time::ZERO, period));
            self.network.schedule_rate_change(i as u32);
        }
        // Taken together, they have no settling time.
        for alike in scenario.alike.iter().filter(|alike| alike.links.len() > 1) {
            alike.links.iter().for_each(|link| self.network.links[*link].meter.forget_history());
        }
        Ok(())
    }

    /// The members of all groups, group by group; those on lines follow, line by line, so that a region of the tree has a row of them.
    fn add_groups(&mut self) {
        let (scenario, rtts) = (self.scenario.clone(), self.rtts.clone());
        let mut on_lines = Vec::new();
        for (group, spec) in scenario.flows.iter().enumerate() {
            let streams = FlowInstanceStreams::new(self.options.seed, spec);
            self.members[group].reserve_exact(spec.count() as usize);
            let mut times = instance::times(spec, &rtts[group], streams);
            match spec.branches.len() {
                0 => times.for_each(|(start, stop)| self.add_member(group, start, stop, streams)),
                lines => on_lines.extend((0..lines).map(|line| {
                    let first = spec.branches[line].path.iter().chain(&spec.branches[line].ack_path).max();
                    let own: Vec<_> = times.by_ref().take(spec.count_of_line() as usize).collect();
                    (first, group, streams, own)
                })),
            }
        }
        on_lines.sort_by_key(|(line, group, ..)| (*line, *group));
        for (_, group, streams, times) in on_lines {
            times.into_iter().for_each(|(start, stop)| self.add_member(group, start, stop, streams));
        }
    }

    /// One more member of a group.
    pub(super) fn add_member(&mut self, group: usize, start: Time, stop: Option<Time>, streams: FlowInstanceStreams) {
        let scenario = self.scenario.clone();
        let (spec, i) = (&scenario.flows[group], self.members[group].len());
        let mut draft = FlowInstanceSpec::new(spec, group, i, &self.rtts[group], (start, stop), streams);
        draft.way = self
            .network
            .routes
            .way(group, if spec.branches.is_empty() { 0 } else { i / spec.count_of_line() as usize });
        if let (Some(mut ends), false) = (draft.ends(), spec.traffic.has_clients()) {
            let (from, to) = ends.draw();
            draft.tuple = TransferEnds::tuple(from, draft.tuple);
            draft.way = self.network.add_way(group, from, to, draft.tuple);
        }
        let kind = self.add_sender(&draft);
        self.members[group].push(FlowInstance { kind, start, stop: draft.stops_at() });
    }

    fn add_sender(&mut self, draft: &FlowInstanceSpec) -> FlowInstanceKind {
        let (start, stop) = (draft.start, draft.stop);
        let active = start < draft.stops_at();
        if let Some(mut client) = draft.client(self.network.measured.start) {
            let first = client.first(start).filter(|_| active);
            let client = self.network.clients.push(client) as u32;
            self.network.schedule_request(client, first);
            return FlowInstanceKind::Client(client);
        }
        let flow = self.network.add_flow(draft.peer(), Flow::NO_CONNECTION);
        if draft.spec.traffic.is_foreign() {
            return FlowInstanceKind::Foreign(flow);
        }
        if let Some(stream) = draft.media(self.network.measured.clone()) {
            self.network.add_media(flow, stream);
            return FlowInstanceKind::Media(flow);
        }
        if let Some(source) = draft.source(flow) {
            let source = self.add_source(source, start, active);
            if !draft.spec.traffic.is_tcp() {
                return FlowInstanceKind::Source(source);
            }
            self.network.flows[flow as usize].acks_until = Time::NEVER; // its data may come before an ACK
        } else if active {
            self.network.scheduler.calendar.push_timer(start, EventOrigin::application(flow));
        }
        if let Some(stop) = stop {
            self.network.schedule_close(flow, stop);
        }
        FlowInstanceKind::Flow(flow)
    }

    pub(super) fn add_source(&mut self, mut source: TimedSource, start: Time, active: bool) -> u32 {
        if let Some(first) = source.first(start).filter(|_| active) {
            let event = Event::Emit { source: self.network.sources.len() as u32 };
            self.network.scheduler.push(Lane::ANY, first, EventOrigin::sender(source.flow), event);
        }
        self.network.sources.push(source) as u32
    }

    /// Events of delays that many flows share are queued in order.
    fn assign_lanes(&mut self) {
        let NetworkState { flows, clients, routes, scheduler, .. } = &mut self.network;
        let of_flows = flows.iter().map(|flow| (routes.group(flow.way), flow.route().rtt));
        let of_clients = clients.iter().map(|client| (routes.group(client.peer.way), client.peer.rtt));
        let drawn = of_flows.chain(of_clients).collect();
        routes.assign_lanes(drawn, || scheduler.calendar.lane());
        for flow in flows {
            flow.set_route(routes.of(routes.group(flow.way), flow.route().rtt));
        }
    }

    /// Losses count by flow; flows with unlimited data that are active all the time may lose together.
    fn count_losses(&mut self) {
        let is_long = |member: &&FlowInstance| {
            member.start <= self.network.measured.start && member.stop >= self.network.measured.end
        };
        let mut long: Vec<Vec<(u32, Span)>> = vec![Vec::new(); self.network.links.len()];
        for (spec, members) in self.scenario.flows.iter().zip(&self.members) {
            if !matches!(spec.traffic, Traffic::Ftp) {
                continue;
            }
            for member in members.iter().filter(is_long) {
                let FlowInstanceKind::Flow(number) = member.kind else { continue };
                let flow = &self.network.flows[number as usize];
                let way = &self.network.routes.ways[flow.way as usize];
                let there = way.hops.iter().take(usize::from(way.first_back));
                there.for_each(|hop| long[hop.link].push((number, flow.route().rtt)));
            }
        }
        let records = self.network.links.len() * self.network.flows.len();
        let of_few = !self.scenario.alike.is_empty() || self.network.links.len() > 1 && records > MOST_DENSE;
        for (long, link) in long.iter().zip(&mut self.network.links) {
            link.count_losses(LossMeter::new(long, of_few));
        }
    }

    fn start_series(&mut self) {
        for (place, link) in self.scenario.places() {
            let shown = &self.shown[link];
            let names = ["time", "queue", "utilisation"].into_iter().chain(shown.iter().map(|o| o.name));
            let columns = names.map(|name| (name.to_string(), Vec::new())).collect();
            let series = Series { link: place.to_string(), columns };
            let plotted = (0..shown.len()).map(Some).collect();
            self.network.series.push(LinkSeries { link, series, plotted, sampled: LinkUsage::default() });
        }
        self.network.schedule_sample();
    }

    /// The columns of a link's time series keep their names when its scheme is replaced; those that the new one does not
    /// show are NaN.
    pub(super) fn follow_series(&mut self, link: usize) {
        for LinkSeries { series, plotted, .. } in self.network.series.iter_mut().filter(|of| of.link == link) {
            let place = |name: &str| self.shown[link].iter().position(|shown| shown.name == name);
            *plotted = series.columns[3..].iter().map(|(name, _)| place(name)).collect();
        }
    }
}

/// Refuses controllers that nobody would run.
fn refuse_uncontrolled(scenario: &Scenario, options: &Options) -> Result<(), Problems> {
    const WHY: &str = "is not supported here; aqmlab run, compare and sweep run controllers";
    match scenario.controllers.first().filter(|_| !options.is_controlled) {
        Some(controller) => Err(Problems::one(format!("controllers.{}", controller.name), WHY)),
        None => Ok(()),
    }
}

/// Refuses flows whose ends are outside: nobody would send their packets.
fn refuse_foreign(scenario: &Scenario) -> Result<(), Problems> {
    let foreign = scenario.flows.iter().filter(|spec| spec.traffic.is_foreign());
    let problem = |spec: &FlowSpec| {
        let kind = spec.traffic.kind();
        let why = format!("\"{kind}\" is not part of the engine; aqmlab-quic (crates/quic) runs scenarios with it");
        Problem::new(format!("flows.{}.kind", spec.name), why)
    };
    let problems: Vec<Problem> = foreign.map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(Problems(problems)) }
}
