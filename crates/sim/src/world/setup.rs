//! Sets up a world: links, flows and clients, and the first event of each.

use super::{RunOptions, World};
use crate::calendar::{Calendar, Lane};
use crate::client::{Client, Peer};
use crate::event::Event;
use crate::flow::{Flow, Group};
use crate::link::Link;
use crate::meter::GroupMeter;
use crate::result::{Series, TransferTable};
use crate::route::Routes;
use crate::scenario::{Batch, FlowSpec, Scenario};
use crate::udp::UdpSource;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Problems, Span, Stream, Time};
use std::rc::Rc;

/// One flow or client of a group, as it is set up.
struct Member<'a> {
    spec: &'a FlowSpec,
    group: usize,
    /// Its place in the group.
    i: usize,
    route: u32,
    /// Boot time of its sender within a clock tick.
    phase: Span,
    start: Time,
    stop: Option<Time>,
    seed: u64,
}

impl Member<'_> {
    /// Its random stream for a purpose.
    fn stream(&self, what: &str) -> Stream {
        Stream::new(self.seed, &format!("flows.{}.{what}", self.spec.name), self.i as u64)
    }

    /// The end that sends. Groups share no host; the members of one share as many as it says.
    fn peer(&self) -> Peer {
        let group = self.group as u32;
        let host = group << 20 | (self.i as u32 % self.spec.hosts.unwrap_or(1 << 20));
        Peer { group, route: self.route, host, phase: self.phase }
    }

    fn stops_at(&self) -> Time {
        self.stop.unwrap_or(Time::NEVER)
    }
}

impl<'a> World<'a> {
    /// The world of a scenario before anything has happened.
    pub(super) fn new(scenario: &'a Scenario, options: RunOptions) -> Result<Self, Problems> {
        let mut world = World {
            scenario,
            calendar: Calendar::new(),
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            warmup: Time::ZERO + scenario.warmup,
            links: Vec::new(),
            flows: Vec::new(),
            always_active: Vec::new(),
            sources: Vec::new(),
            clients: Vec::new(),
            connections: Vec::new(),
            routes: Routes::new(),
            groups: scenario.flows.iter().map(Group::new).collect(),
            group_meters: vec![GroupMeter::default(); scenario.flows.len()],
            series: Vec::new(),
            transfer_table: options.series.then(TransferTable::default),
            recorder: options.trace.map(|_| Rc::default()),
            events: 0,
        };
        world.add_links(options)?;
        if scenario.warmup > Span::ZERO {
            world.calendar.push(Lane::HEAP, world.warmup, Event::WarmedUp);
        }
        for group in 0..scenario.flows.len() {
            world.add_flows(group, options.seed);
        }
        world.routes.assign_lanes(&mut world.calendar);
        if options.series {
            world.start_series(options);
        }
        Ok(world)
    }

    fn add_links(&mut self, options: RunOptions) -> Result<(), Problems> {
        for (i, spec) in self.scenario.links.iter().enumerate() {
            let choice = self.scenario.scheme_of(spec, options.aqm);
            let plan = self.scenario.build_scheme(spec, choice)?;
            let marks = self.scenario.marks(spec, choice)?;
            let mut link = Link::new(spec, plan, marks, options.seed, &mut self.calendar);
            if let Some(period) = link.queue.tick_every() {
                self.calendar.push(link.tick_lane, Time::ZERO, Event::Tick { link: i as u32, period });
            }
            if let Some(time) = link.rate_changes_at() {
                self.calendar.push(Lane::HEAP, time, Event::RateChange { link: i as u32 });
            }
            if let Some(recorder) = self.recorder.as_ref().filter(|_| options.trace == Some(i)) {
                link = link.trace(recorder.clone());
            }
            self.links.push(link);
        }
        Ok(())
    }

    fn add_flows(&mut self, group: usize, seed: u64) {
        let spec = &self.scenario.flows[group];
        let stream = |what: &str, i: usize| Stream::new(seed, &format!("flows.{}.{what}", spec.name), i as u64);
        let batches: Vec<&Batch> = spec.batches.iter().flat_map(|b| std::iter::repeat_n(b, b.count as usize)).collect();
        for (i, batch) in batches.into_iter().enumerate() {
            let route = self.routes.of(self.scenario, group, spec.rtt.draw(i, &mut stream("rtt", i)));
            self.add_member(Member {
                spec,
                group,
                i,
                route,
                phase: Span((stream("clock", i).uniform() * spec.tcp.clock.0 as f64) as u64),
                start: Time::ZERO + batch.start.draw(i, &mut stream("start", i)),
                stop: batch.stop.as_ref().map(|law| Time::ZERO + law.draw(i, &mut stream("stop", i))),
                seed,
            });
        }
    }

    fn add_member(&mut self, member: Member) {
        let active = member.stop.is_none_or(|stop| member.start < stop);
        let Member { spec, i, .. } = member;
        let (peer, stops_at) = (member.peer(), member.stops_at());
        if let Some(mut client) = Client::new(spec, i, peer, stops_at, self.warmup, member.stream("client")) {
            let first = client.first(member.start).filter(|_| active);
            self.clients.push(client);
            self.schedule_request(self.clients.len() as u32 - 1, first);
            return;
        }
        let flow = self.add_flow(member.peer(), Flow::NO_CONNECTION);
        let lasts = member.start <= self.warmup && member.stops_at() >= self.end;
        self.always_active.push(lasts);
        if let Some(source) = UdpSource::new(
            &member.spec.traffic,
            flow,
            member.spec.wire_size(),
            member.stops_at(),
            member.stream("source"),
        ) {
            return self.add_source(source, member.start, active);
        }
        if active {
            self.calendar.push(Lane::HEAP, member.start, Event::Open { flow });
        }
        if let Some(stop) = member.stop {
            self.calendar.push(Lane::HEAP, stop, Event::Close { flow });
        }
    }

    pub(super) fn add_flow(&mut self, peer: Peer, connection: u32) -> u32 {
        let Peer { group, route, host, phase } = peer;
        let of = &self.groups[group as usize];
        // Fewer groups than 65536: a scenario's text is not long enough for more.
        self.flows.push(Flow::new(of.sender(phase), of.receiver(), route, group as u16, connection, host));
        self.flows.len() as u32 - 1
    }

    fn add_source(&mut self, mut source: UdpSource, start: Time, active: bool) {
        if let Some(first) = source.first(start).filter(|_| active) {
            let event = Event::Emit { source: self.sources.len() as u32 };
            self.calendar.push(Lane::HEAP, first, event);
        }
        self.sources.push(source);
    }

    fn start_series(&mut self, options: RunOptions) {
        for spec in &self.scenario.links {
            let scheme = self.scenario.scheme_of(spec, options.aqm);
            let shown = aqmlab_aqm::entry(&scheme.name).map(|entry| entry.observables).unwrap_or_default();
            let names = ["time", "queue", "utilisation"].into_iter().chain(shown.iter().map(|o| o.name));
            let columns = names.map(|name| (name.to_string(), Vec::new())).collect();
            self.series.push(Series { link: spec.name.clone(), columns });
        }
        self.calendar.push(Lane::HEAP, Time::ZERO + self.scenario.sample, Event::Sample);
    }
}
