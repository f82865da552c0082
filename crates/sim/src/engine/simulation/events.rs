//! Handlers of all events.
//!
//! Rare paths are not inlined, so that the loop over packets and ACKs stays within the instruction cache.

use super::Simulation;
use crate::calendar::{Calendar, Lane, Order, Timer};
use crate::engine::event::{Event, EventSink};
use crate::engine::network::{LinkEvents, QueueNetwork, bound_for_sender};
use crate::net::flow::{AccessLink, Connection, Flow, Group, Path};
use crate::net::link::{DepartureMode, Link};
use crate::net::packet::{AT_SENDER, Packet};
use crate::net::route::Way;
use crate::traffic::client::Peer;
use aqmlab_aqm::Discipline;
use aqmlab_core::Time;
use aqmlab_tcp::{Sender, TcpParams};
use std::ops::Range;

impl Simulation {
    /// Handles any event but the arrival of a packet.
    #[inline(never)]
    pub(super) fn handle(&mut self, event: Event) {
        match event {
            Event::Arrive(_) => unreachable!("the loop takes packets itself"),
            Event::Sent { link } => {
                if self.links[link as usize].departures == DepartureMode::AtService {
                    self.events -= 1; // where departures are foreseen there is no such event
                }
                self.sent(link);
            }
            Event::Timer { flow } => self.timer(flow),
            Event::AckDue { flow } => self.delayed_ack(flow),
            Event::Open { flow } => self.open(flow),
            Event::Close { flow } => self.flows[flow as usize].sender.close(),
            Event::Emit { source } => self.emit(source),
            Event::Request { client } => self.request(client),
            Event::RateChange { link } => self.change_rate(link),
            Event::WarmedUp => self.restart_meters(),
            Event::Tick { .. } | Event::Sample => {
                if let Some((lane, next)) = self.update(event) {
                    self.calendar.push(lane, next, event);
                }
            }
        }
    }

    /// A packet or an ACK arrives.
    #[inline(always)]
    pub(super) fn take(&mut self, packet: Packet) {
        match packet.hop {
            AT_SENDER => self.acknowledge(&packet),
            _ => self.arrive(packet),
        }
    }

    #[inline(never)]
    pub(super) fn delayed_ack(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.group, &mut self.calendar);
        flow.delayed_ack(index, self.now, path);
    }

    #[inline(always)]
    fn acknowledge(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        if !flow.knows(packet) {
            return;
        }
        let connection = flow.connection;
        let is_transfer = connection != Flow::NO_CONNECTION;
        if is_transfer && flow.sender.is_done() {
            return; // a late duplicate
        }
        self.at_sender(packet.flow, |sender, now, tcp, net| sender.on_ack(packet.ack(), now, tcp, net));
        if is_transfer && self.flows[packet.flow as usize].sender.is_done() {
            self.end_transfer(packet.flow, connection);
        }
    }

    #[inline(never)]
    pub(super) fn emit(&mut self, index: u32) {
        let source = &mut self.sources[index as usize];
        let flow = &mut self.flows[source.flow as usize];
        let group = flow.group;
        let path = path(&self.groups, &self.routes.ways, group, &mut self.calendar);
        if flow.emit(source, index, self.now, path) {
            self.group_meters[group as usize].sent += 1;
        }
    }

    /// A client asks for an object: a transfer begins, on the connection that the client keeps or on one of other ports,
    /// which takes the place of one that has ended.
    #[inline(never)]
    pub(super) fn request(&mut self, index: u32) {
        let client = &mut self.clients[index as usize];
        if client.is_stopped(self.now) {
            return;
        }
        let (size, next) = client.request(self.now);
        let idle = client.idle.pop();
        if idle.is_none() || !self.groups[client.peer.group as usize].keeps_connection {
            client.opened += 1;
        }
        let peer = client.peer.other_ports(client.opened);
        let takes = client.request_takes(peer.rtt);
        let flow = match idle {
            Some(flow) => {
                self.renew(flow, peer);
                flow
            }
            None => {
                self.connections.push(Connection { client: index, asked_at: self.now, size, ended_at: Time::ZERO });
                self.add_flow(peer, self.connections.len() as u32 - 1)
            }
        };
        let connection = &mut self.connections[self.flows[flow as usize].connection as usize];
        (connection.asked_at, connection.size) = (self.now, size);
        self.schedule_request(index, next);
        self.calendar.push(Lane::ANY, self.now + takes, Event::Open { flow });
    }

    /// Reuses a flow whose transfer has ended: with a fresh sender from other ports, or on the connection that is kept.
    fn renew(&mut self, index: u32, peer: Peer) {
        let group = &self.groups[peer.group as usize];
        let flow = &mut self.flows[index as usize];
        if group.keeps_connection {
            let pause = self.now.since(self.connections[flow.connection as usize].ended_at);
            flow.sender.resume(pause, self.now, &group.tcp);
        } else {
            flow.restart(group.sender(peer.phase), peer.tuple);
        }
    }

    /// A flow's application starts: with unlimited data, or with those of a transfer.
    #[inline(never)]
    pub(super) fn open(&mut self, index: u32) {
        if self.never_start.contains(&index) {
            return;
        }
        let connection = self.connections.get(self.flows[index as usize].connection as usize);
        let size = connection.map(|connection| connection.size);
        self.at_sender(index, |sender, now, tcp, net| sender.open(size, now, tcp, net));
    }

    pub(super) fn schedule_request(&mut self, client: u32, time: Option<Time>) {
        if let Some(time) = time {
            self.calendar.push(Lane::ANY, time, Event::Request { client });
        }
    }

    /// The last ACK of a transfer has come.
    #[inline(never)]
    fn end_transfer(&mut self, index: u32, connection: u32) {
        let flow = &self.flows[index as usize];
        let Connection { client, asked_at, size, ended_at } = &mut self.connections[connection as usize];
        let (client, asked_at, size) = (*client, *asked_at, *size);
        *ended_at = self.now;
        let meter = &mut self.group_meters[flow.group as usize];
        if !self.groups[flow.group as usize].keeps_connection {
            meter.ended.add(&flow.sender);
        }
        meter.ever_completed += 1;
        if asked_at >= self.warmup {
            let taken = self.now.since(asked_at);
            meter.completion.add(taken);
            if let Some(table) = &mut self.transfer_table {
                table.group.push(f64::from(flow.group));
                table.start.push(asked_at.seconds());
                table.size.push(f64::from(size));
                table.completion_time.push(taken.seconds());
            }
        }
        let asking = &mut self.clients[client as usize];
        asking.idle.push(index);
        let next = asking.transfer_ended(self.now);
        self.schedule_request(client, next);
    }

    pub(super) fn change_rate(&mut self, index: u32) {
        let at = index as usize;
        let link = &mut self.links[at];
        link.change_rate(self.now);
        self.specs[at].rate = link.rate();
        self.routes.follow(&self.scenario.flows, &self.specs, at);
        if let Some(time) = self.links[at].rate_changes_at() {
            self.calendar.push(Lane::ANY, time, Event::RateChange { link: index });
        }
    }

    /// Runs a scheme's periodic update, unless it is of a scheme or a period that was replaced; returns whether it did.
    #[inline(never)]
    fn tick(&mut self, link: u32, series: u32) -> bool {
        let counts = self.link_events[link as usize].ticks == series;
        if counts {
            self.links[link as usize].tick(self.now);
        }
        counts
    }

    /// An event of the queues alone, after which another may follow.
    #[inline]
    pub(super) fn update(&mut self, event: Event) -> Option<(Lane, Time)> {
        match event {
            Event::Tick { link, period, series } if self.tick(link, series) => {
                Some((self.link_events[link as usize].tick, self.now + period))
            }
            Event::Sample => {
                self.sample();
                Some((Lane::ANY, self.now + self.scenario.sample))
            }
            _ => None,
        }
    }

    #[inline(always)]
    fn at_sender(
        &mut self,
        index: u32,
        act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut AccessLink<Calendar<Event>>),
    ) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.group, &mut self.calendar);
        flow.act(index, self.now, path, act);
    }

    #[inline(never)]
    pub(super) fn timer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.group, &mut self.calendar);
        flow.timer(index, self.now, path);
        if flow.sender.has_failed() {
            self.fail_transfer(index);
        }
    }

    /// A connection could not be opened: its transfer has not been completed, and its client goes on.
    #[cold]
    fn fail_transfer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Some(connection) = self.connections.get_mut(flow.connection as usize) else { return };
        let client = &mut self.clients[connection.client as usize];
        self.group_meters[flow.group as usize].ended.add(&flow.sender);
        flow.restart(self.groups[flow.group as usize].sender(client.peer.phase), client.peer.tuple);
        connection.ended_at = self.now;
        client.idle.push(index);
        let (client, next) = (connection.client, client.transfer_failed(self.now));
        self.schedule_request(client, next);
    }

    #[inline(never)]
    fn sample(&mut self) {
        let columns = self.plotted.iter().zip(&mut self.sampled);
        for ((series, link), (plotted, mark)) in self.series.iter_mut().zip(&mut self.links).zip(columns) {
            link.catch_up(self.now);
            let waiting = f64::from(link.queue.len());
            let utilisation = link.utilisation_since(mark, self.now);
            let shown = plotted.iter().map(|place| place.map_or(f64::NAN, |i| link.queue.observe(i)));
            let values = [self.now.seconds(), waiting, utilisation].into_iter().chain(shown);
            for ((_, column), value) in series.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
    }

    /// The warm-up is over.
    pub(super) fn restart_meters(&mut self) {
        for (link, baseline) in self.links.iter_mut().zip(&mut self.baseline.links) {
            link.catch_up(self.now);
            baseline.before_restart(&link.queue.accounts());
            link.restart_meters(self.now);
        }
        for group in 0..self.groups.len() {
            self.group_meters[group].before = self.counters(group);
            self.group_meters[group].sent = 0;
        }
    }
}

/// Path of a group's flows, with the sink of their events.
#[inline(always)]
pub(in crate::engine) fn path<'a, P>(
    groups: &'a [Group],
    ways: &'a [Way],
    group: u16,
    schedule: &'a mut P,
) -> Path<'a, P> {
    Path { group: &groups[group as usize], way: &ways[group as usize], schedule }
}

impl EventSink for Simulation {
    #[inline(always)]
    fn push(&mut self, lane: Lane, time: Time, event: Event) {
        self.calendar.push(lane, time, event);
    }

    fn push_timer(&mut self, time: Time, timer: Timer) {
        self.calendar.push_timer(time, timer, ());
    }
}

impl QueueNetwork for Simulation {
    #[inline(always)]
    fn now(&self) -> Time {
        self.now
    }

    #[inline(always)]
    fn measured(&self) -> Range<Time> {
        self.warmup..self.end
    }

    #[inline(always)]
    fn link(&mut self, index: usize) -> &mut Link {
        &mut self.links[index]
    }

    #[inline(always)]
    fn events_of(&mut self, index: usize) -> &mut LinkEvents {
        &mut self.link_events[index]
    }

    #[inline(always)]
    fn group(&self, flow: u32) -> u16 {
        self.flows[flow as usize].group
    }

    #[inline(always)]
    fn way(&self, group: u16) -> &Way {
        &self.routes.ways[group as usize]
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, time: Time) {
        let measured = self.measured();
        let flow = &mut self.flows[packet.flow as usize];
        let meter = &mut self.group_meters[flow.group as usize];
        let path = path(&self.groups, &self.routes.ways, flow.group, &mut self.calendar);
        flow.receive(packet, time, path, meter, measured);
    }

    fn send_home(&mut self, packet: Packet, time: Time) {
        let flow = &self.flows[packet.flow as usize];
        let home = self.way(flow.group).home(flow.route());
        self.calendar.push(home.lane, time + home.delay, bound_for_sender(packet));
    }

    fn push_last(&mut self, lane: Lane, time: Time, event: Event) {
        self.calendar.push_last(lane, time, event);
    }

    fn reserve(&mut self) -> Order {
        self.calendar.reserve()
    }

    fn continue_at(&mut self, order: Order) -> Order {
        self.calendar.continue_at(order)
    }
}
