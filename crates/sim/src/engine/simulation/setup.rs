//! Sets up a simulation: links, flows and clients, and the first event of each.

use super::change::changing_links;
use super::goal::Goal;
use super::probe::{ProbeBaseline, observables};
use super::{Options, Simulation};
use crate::calendar::{Calendar, Lane, Timer};
use crate::engine::event::Event;
use crate::engine::network::LinkEvents;
use crate::measure::group::{GroupMeter, Receipts};
use crate::measure::link::LinkUsage;
use crate::measure::losses::LossMeter;
use crate::measure::result::{Series, TransferTable};
use crate::memory;
use crate::net::flow::{Flow, Group};
use crate::net::link::{DepartureMode, Link};
use crate::net::route::Routes;
use crate::traffic::client::Peer;
use crate::traffic::member::{self, Member, MemberDraft, MemberKind};
use crate::traffic::udp::UdpSource;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::Scenario;
use std::collections::BTreeSet;
use std::sync::Arc;

impl Simulation {
    /// A scenario before anything has happened. Nothing is computed ahead that a later change could move.
    ///
    /// # Errors
    /// If the scheme does not fit the scenario.
    pub fn new(scenario: impl Into<Arc<Scenario>>, options: Options) -> Result<Self, Problems> {
        Self::set_up(scenario.into(), options, DepartureMode::AtService)
    }

    /// The same with departures computed ahead, which is faster, with the same results: of a link nothing may be changed by
    /// hand but its scheme's parameters, its buffer and its target.
    pub(crate) fn foreseeing(scenario: Arc<Scenario>, options: Options) -> Result<Self, Problems> {
        Self::set_up(scenario, options, DepartureMode::Foreseen)
    }

    pub(super) fn set_up(
        scenario: Arc<Scenario>,
        options: Options,
        departures: DepartureMode,
    ) -> Result<Self, Problems> {
        let lasting = scenario.flows.iter().filter(|spec| !spec.traffic.has_clients());
        let mut simulation = Simulation {
            specs: scenario.links.clone(),
            schemes: Vec::new(),
            plotted: Vec::new(),
            pending: scenario.changes.clone().into(),
            applied: Vec::new(),
            goals: scenario.links.iter().map(|spec| vec![Goal::at(Span::ZERO, spec)]).collect(),
            rtts: scenario.flows.iter().map(|spec| spec.rtt.clone()).collect(),
            shown: Vec::new(),
            baseline: ProbeBaseline::new(&scenario),
            sampled: vec![LinkUsage::default(); scenario.links.len()],
            calendar: Calendar::default(),
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            warmup: Time::ZERO + scenario.warmup,
            links: Vec::new(),
            link_events: Vec::new(),
            flows: memory::room_for(lasting.map(|spec| spec.count() as usize).sum()),
            never_start: BTreeSet::new(),
            members: vec![Vec::new(); scenario.flows.len()],
            sources: Vec::new(),
            clients: Vec::new(),
            connections: Vec::new(),
            routes: Routes::new(&scenario),
            groups: scenario.flows.iter().map(Group::new).collect(),
            group_meters: vec![
                GroupMeter { receipts: Some(Receipts::default()), ..GroupMeter::default() };
                scenario.flows.len()
            ],
            series: Vec::new(),
            transfer_table: options.series.then(TransferTable::default),
            events: 0,
            is_cold: false,
            scenario: scenario.clone(),
            options,
        };
        simulation.add_links(departures)?;
        if scenario.warmup > Span::ZERO {
            simulation.calendar.push(Lane::ANY, simulation.warmup, Event::WarmedUp);
        }
        for group in 0..scenario.flows.len() {
            simulation.add_group(group);
        }
        simulation.assign_lanes();
        simulation.count_losses();
        if simulation.options.series {
            simulation.start_series();
        }
        Ok(simulation)
    }

    /// Ends the counts between probes: there will be no more probes.
    pub(super) fn stop_probing(&mut self) {
        self.links.iter_mut().for_each(Link::stop_probing);
        self.stop_probing_flows();
    }

    fn add_links(&mut self, departures: DepartureMode) -> Result<(), Problems> {
        let (scenario, seed) = (self.scenario.clone(), self.options.seed);
        let named = self.options.aqm.as_ref();
        named.map_or(Ok(()), |named| named.check(&scenario.links)).map_err(|why| Problems::one("aqm", why))?;
        let choice = |spec| scenario.scheme_of(spec, named).clone();
        self.schemes = scenario.links.iter().map(choice).collect();
        let changing = changing_links(&scenario, &self.schemes)?;
        for (i, spec) in scenario.links.iter().enumerate() {
            let choice = &self.schemes[i];
            let plan = scenario.build_scheme(spec, choice)?;
            let marks = scenario.marks(spec, choice)?;
            self.shown.push(observables(choice));
            let departures = if changing[i] { DepartureMode::AtService } else { departures };
            let mut link = Link::new(spec, plan, marks, departures, seed);
            let events = LinkEvents::new(&link, || self.calendar.lane());
            if let Some(period) = link.queue.tick_every() {
                self.calendar.push(events.tick, Time::ZERO, Event::Tick { link: i as u32, period, series: 0 });
            }
            self.link_events.push(events);
            if let Some(time) = link.rate_changes_at() {
                self.calendar.push(Lane::ANY, time, Event::RateChange { link: i as u32 });
            }
            if self.options.trace == Some(i) {
                link = link.traced();
            }
            self.links.push(link);
        }
        Ok(())
    }

    fn add_group(&mut self, group: usize) {
        let scenario = self.scenario.clone();
        let (spec, seed) = (&scenario.flows[group], self.options.seed);
        self.members[group].reserve_exact(spec.count() as usize);
        let rtts = self.rtts[group].clone();
        for (start, stop) in member::times(spec, &rtts, seed) {
            self.add_member(group, start, stop);
        }
    }

    /// One more member of a group.
    pub(super) fn add_member(&mut self, group: usize, start: Time, stop: Option<Time>) {
        let scenario = self.scenario.clone();
        let (spec, i) = (&scenario.flows[group], self.members[group].len());
        let draft = MemberDraft::new(spec, group, i, &self.rtts[group], (start, stop), self.options.seed);
        let kind = self.add_sender(&draft);
        self.members[group].push(Member { kind, start, stop: draft.stops_at() });
    }

    fn add_sender(&mut self, draft: &MemberDraft) -> MemberKind {
        let (start, stop) = (draft.start, draft.stop);
        let active = start < draft.stops_at();
        if let Some(mut client) = draft.client(self.warmup) {
            let first = client.first(start).filter(|_| active);
            self.clients.push(client);
            let client = self.clients.len() as u32 - 1;
            self.schedule_request(client, first);
            return MemberKind::Client(client);
        }
        let flow = self.add_flow(draft.peer(), Flow::NO_CONNECTION);
        if let Some(source) = draft.source(flow) {
            return MemberKind::Source(self.add_source(source, start, active));
        }
        if active {
            self.calendar.push_timer(start, Timer::Open(flow), ());
        }
        if let Some(stop) = stop {
            self.calendar.push(Lane::ANY, stop, Event::Close { flow });
        }
        MemberKind::Flow(flow)
    }

    pub(super) fn add_flow(&mut self, peer: Peer, connection: u32) -> u32 {
        let Peer { group, rtt, tuple, phase } = peer;
        let of = &self.groups[group as usize];
        // Fewer groups than 65536: a scenario's text is not long enough for more.
        let route = self.routes.of(group as usize, rtt);
        self.flows.push(Flow::new(of, group as u16, phase, route, connection, tuple));
        self.flows.len() as u32 - 1
    }

    fn add_source(&mut self, mut source: UdpSource, start: Time, active: bool) -> u32 {
        if let Some(first) = source.first(start).filter(|_| active) {
            let event = Event::Emit { source: self.sources.len() as u32 };
            self.calendar.push(Lane::ANY, first, event);
        }
        self.sources.push(source);
        self.sources.len() as u32 - 1
    }

    /// Events of delays that many flows share are queued in order.
    fn assign_lanes(&mut self) {
        let flows = self.flows.iter().map(|flow| (flow.group as usize, flow.rtt));
        let clients = self.clients.iter().map(|client| (client.peer.group as usize, client.peer.rtt));
        self.routes.assign_lanes(flows.chain(clients).collect(), || self.calendar.lane());
        for flow in &mut self.flows {
            flow.set_route(self.routes.of(flow.group as usize, flow.rtt));
        }
    }

    /// Losses count by flow; flows with unlimited data that are active all the time may lose together.
    fn count_losses(&mut self) {
        let is_long = |member: &&Member| member.start <= self.warmup && member.stop >= self.end;
        let flow = |member: &Member| match member.kind {
            MemberKind::Flow(flow) => Some((flow, self.flows[flow as usize].rtt)),
            MemberKind::Source(_) | MemberKind::Client(_) => None,
        };
        for (i, link) in self.links.iter_mut().enumerate() {
            let crossing = self.scenario.flows.iter().zip(&self.members).filter(|(spec, _)| spec.path.contains(&i));
            let long: Vec<_> = crossing.flat_map(|(_, of)| of.iter().filter(is_long).filter_map(flow)).collect();
            link.count_losses(LossMeter::new(&long));
        }
    }

    fn start_series(&mut self) {
        for (spec, shown) in self.scenario.links.iter().zip(&self.shown) {
            let names = ["time", "queue", "utilisation"].into_iter().chain(shown.iter().map(|o| o.name));
            let columns = names.map(|name| (name.to_string(), Vec::new())).collect();
            self.series.push(Series { link: spec.name.clone(), columns });
        }
        self.plotted = self.shown.iter().map(|shown| (0..shown.len()).map(Some).collect()).collect();
        self.calendar.push(Lane::ANY, Time::ZERO + self.scenario.sample, Event::Sample);
    }

    /// The columns of a link's time series keep their names when its scheme is replaced; those that the new one does not
    /// show are NaN.
    pub(super) fn follow_series(&mut self, link: usize) {
        if let Some(series) = self.series.get(link) {
            let place = |name: &str| self.shown[link].iter().position(|shown| shown.name == name);
            self.plotted[link] = series.columns[3..].iter().map(|(name, _)| place(name)).collect();
        }
    }
}
