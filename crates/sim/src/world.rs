//! One run: the world of a scenario, and the loop that handles its events.

mod output;
mod setup;
#[cfg(test)]
mod tests;

use crate::calendar::{Calendar, Lane};
use crate::client::{Client, Peer};
use crate::event::{AT_SENDER, Event, Packet};
use crate::flow::{Access, Connection, Flow, Group, Path};
use crate::link::{Link, Offered};
use crate::meter::GroupMeter;
use crate::result::{Output, Series, TransferTable};
use crate::route::Routes;
use crate::scenario::{AqmChoice, Scenario};
use crate::trace::Recorder;
use crate::udp::UdpSource;
use crate::watch::Watch;
use aqmlab_aqm::{Discipline, Failure};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_tcp::{Sender, TcpParams};
use std::cell::RefCell;
use std::rc::Rc;

/// How a scenario is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// Scheme for all links that do not fix theirs; the scenario's own if `None`.
    pub aqm: Option<&'a AqmChoice>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Record time series.
    pub series: bool,
    /// Record what happens to each packet at the link with this index.
    pub trace: Option<usize>,
    /// Shows another thread how far the run has come, and lets it stop the run.
    pub watch: Option<&'a Watch>,
}

/// The run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Why there is no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The scheme does not fit the scenario.
    #[error(transparent)]
    Input(#[from] Problems),
    /// The run was told to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// A scheme broke down during the run.
    #[error("{name} {failure}")]
    Scheme {
        /// Name of the scheme.
        name: String,
        /// When and why.
        failure: Failure,
    },
}

/// Events between looks at the watch and the schemes: about ten milliseconds.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// Runs a scenario from start to end.
#[allow(clippy::disallowed_methods)] // the wall clock times the run; nothing in the run reads it
pub fn run(scenario: &Scenario, options: RunOptions) -> Result<Output, RunError> {
    let started = std::time::Instant::now();
    let mut world = World::new(scenario, options)?;
    world.run(options)?;
    let mut output = world.output(options);
    output.result.engine.wall = started.elapsed().as_secs_f64();
    Ok(output)
}

struct World<'a> {
    scenario: &'a Scenario,
    calendar: Calendar<Event>,
    now: Time,
    end: Time,
    warmup: Time,
    links: Vec<Link>,
    flows: Vec<Flow>,
    /// For each flow of TCP or UDP: it is active during all of the measured time.
    always_active: Vec<bool>,
    sources: Vec<UdpSource>,
    clients: Vec<Client>,
    connections: Vec<Connection>,
    routes: Routes,
    groups: Vec<Group>,
    group_meters: Vec<GroupMeter>,
    series: Vec<Series>,
    transfer_table: Option<TransferTable>,
    recorder: Option<Rc<RefCell<Recorder>>>,
    events: u64,
}

impl World<'_> {
    fn run(&mut self, options: RunOptions) -> Result<(), RunError> {
        while let Some((time, event)) = self.calendar.pop() {
            if time > self.end {
                break;
            }
            self.now = time;
            self.events += 1;
            match *event {
                Event::Arrive(packet) => self.arrive(packet),
                Event::Sent { link } => self.sent(link),
                Event::Timer { flow } => self.timer(flow),
                Event::AckDue { flow } => self.delayed_ack(flow, time),
                Event::Open { flow } => self.open(flow),
                Event::Close { flow } => self.flows[flow as usize].sender.close(),
                Event::Emit { source } => self.emit(source),
                Event::Request { client } => self.request(client),
                Event::RateChange { link } => self.change_rate(link),
                Event::Tick { link, period } => self.tick(link, period),
                Event::Sample => self.sample(),
                Event::WarmedUp => self.restart_meters(),
            }
            if self.events.is_multiple_of(EVENTS_PER_LOOK) {
                self.look(options)?;
            }
        }
        self.now = self.end;
        for link in &mut self.links {
            link.pass_time(self.end);
            debug_assert!(link.queue.accounts_balance());
        }
        self.look_at_schemes(options)
    }

    /// Looks whether the run should end before its time.
    fn look(&self, options: RunOptions) -> Result<(), RunError> {
        if let Some(watch) = options.watch {
            watch.note(self.now);
            if watch.is_cancelled() {
                return Err(Interrupted.into());
            }
        }
        self.look_at_schemes(options)
    }

    fn look_at_schemes(&self, options: RunOptions) -> Result<(), RunError> {
        for (spec, link) in self.scenario.links.iter().zip(&self.links) {
            if let Some(failure) = link.queue.failure() {
                let name = self.scenario.scheme_of(spec, options.aqm).name.clone();
                return Err(RunError::Scheme { name, failure: failure.clone() });
            }
        }
        Ok(())
    }

    #[inline]
    fn arrive(&mut self, mut packet: Packet) {
        if packet.hop == AT_SENDER {
            return self.acknowledge(&packet);
        }
        let route = &self.routes.routes[self.flows[packet.flow as usize].route as usize];
        let index = route.hops[packet.hop as usize].link;
        match self.links[index].offer(&mut packet, self.now) {
            Offered::Nothing => {}
            Offered::MayStart => self.start_service(index as u32),
            Offered::SentAt(time) => self.forward(&packet, time),
        }
    }

    #[inline]
    fn start_service(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        if let Some(end) = link.start_service(self.now) {
            self.calendar.push(link.lane, end, Event::Sent { link: index });
        }
    }

    #[inline]
    fn sent(&mut self, index: u32) {
        if let Some(packet) = self.links[index as usize].finish_service() {
            self.forward(&packet, self.now);
        }
        self.start_service(index);
    }

    /// From a link that has sent the packet, or will have at `sent`: on to the next link, to the receiver, or to the
    /// sender.
    #[inline(always)]
    fn forward(&mut self, packet: &Packet, sent: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        let route = &self.routes.routes[flow.route as usize];
        let onward = route.hops[packet.hop as usize].onward;
        let next = packet.hop as usize + 1;
        if next == route.there {
            let group = flow.group as usize;
            let (meter, measured) = (&mut self.group_meters[group], self.warmup..self.end);
            let path = Path { group: &self.groups[group], route, calendar: &mut self.calendar };
            return flow.receive(packet, sent + onward.delay, path, meter, measured);
        }
        let mut packet = *packet;
        packet.hop = if next == route.hops.len() { AT_SENDER } else { next as u8 };
        self.calendar.push(onward.lane, sent + onward.delay, Event::Arrive(packet));
    }

    /// A receiver's ACK may have waited long enough; if a segment has fetched it, none is due.
    fn delayed_ack(&mut self, index: u32, now: Time) {
        let flow = &mut self.flows[index as usize];
        let (group, route) = (&self.groups[flow.group as usize], &self.routes.routes[flow.route as usize]);
        let due = flow.receiver.take_due(now);
        flow.send_due_ack(index, due, &mut Path { group, route, calendar: &mut self.calendar });
    }

    #[inline]
    fn acknowledge(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        if packet.epoch() != flow.epoch {
            return;
        }
        let connection = flow.connection;
        let is_transfer = connection != Flow::NO_CONNECTION;
        if is_transfer && flow.sender.is_done() {
            return; // a late duplicate
        }
        self.at_sender(packet.flow, |sender, now, tcp, net| sender.on_ack(&packet.ack(), now, tcp, net));
        if is_transfer && self.flows[packet.flow as usize].sender.is_done() {
            self.end_transfer(packet.flow, connection);
        }
    }

    /// A UDP source sends a datagram and arranges for the next.
    fn emit(&mut self, index: u32) {
        let source = &mut self.sources[index as usize];
        let flow = &mut self.flows[source.flow as usize];
        let (group, route) = (&self.groups[flow.group as usize], &self.routes.routes[flow.route as usize]);
        flow.at_sender(source.flow, group, route, self.now, &mut self.calendar).1.send_datagram();
        if let Some(next) = source.after(self.now) {
            self.calendar.push(Lane::HEAP, next, Event::Emit { source: index });
        }
    }

    /// A client asks for an object: a transfer begins on an idle connection, or on a new one.
    fn request(&mut self, index: u32) {
        let client = &mut self.clients[index as usize];
        let (size, next) = client.request(self.now);
        let peer = client.peer;
        let takes = client.request_takes(self.routes.rtt(peer.route));
        let flow = match client.idle.pop() {
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
        self.calendar.push(Lane::HEAP, self.now + takes, Event::Open { flow });
    }

    /// An idle connection is to carry another transfer: with a fresh sender, or with the same where it is kept.
    fn renew(&mut self, index: u32, peer: Peer) {
        let group = &self.groups[peer.group as usize];
        let flow = &mut self.flows[index as usize];
        if group.keeps_connection {
            let pause = self.now.since(self.connections[flow.connection as usize].ended_at);
            flow.sender.resume(pause, self.now, &group.tcp);
        } else {
            flow.restart(group.sender(peer.phase));
        }
    }

    /// A flow's application starts: with unlimited data, or with those of a transfer.
    fn open(&mut self, index: u32) {
        let connection = self.connections.get(self.flows[index as usize].connection as usize);
        let size = connection.map(|connection| connection.size);
        self.at_sender(index, |sender, now, tcp, net| sender.open(size, now, tcp, net));
    }

    fn schedule_request(&mut self, client: u32, time: Option<Time>) {
        if let Some(time) = time {
            self.calendar.push(Lane::HEAP, time, Event::Request { client });
        }
    }

    /// The last ACK of a transfer has come.
    fn end_transfer(&mut self, index: u32, connection: u32) {
        let flow = &self.flows[index as usize];
        let Connection { client, asked_at, size, ended_at } = &mut self.connections[connection as usize];
        let (client, asked_at, size) = (*client, *asked_at, *size);
        *ended_at = self.now;
        let meter = &mut self.group_meters[flow.group as usize];
        if !self.groups[flow.group as usize].keeps_connection {
            meter.ended.add(&flow.sender);
        }
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

    fn change_rate(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        link.change_rate(self.now);
        if let Some(time) = link.rate_changes_at() {
            self.calendar.push(Lane::HEAP, time, Event::RateChange { link: index });
        }
    }

    fn tick(&mut self, link: u32, period: Span) {
        let of = &mut self.links[link as usize];
        of.tick(self.now);
        self.calendar.push(of.tick_lane, self.now + period, Event::Tick { link, period });
    }

    /// Lets a sender act, then sees to its timer.
    #[inline(always)]
    fn at_sender(&mut self, index: u32, act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut Access)) {
        let flow = &mut self.flows[index as usize];
        let (group, route) = (&self.groups[flow.group as usize], &self.routes.routes[flow.route as usize]);
        let (sender, mut access) = flow.at_sender(index, group, route, self.now, &mut self.calendar);
        act(sender, self.now, &group.tcp, &mut access);
        self.arm(index);
    }

    /// A timer that moves on leaves its event where it is; the event finds out when it comes.
    #[inline]
    fn arm(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let deadline = flow.sender.deadline();
        if deadline < flow.timer_event {
            flow.timer_event = deadline;
            self.calendar.push(Lane::HEAP, deadline, Event::Timer { flow: index });
        }
    }

    fn timer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.timer_event != self.now {
            return; // an earlier event took its place
        }
        flow.timer_event = Time::NEVER;
        if flow.sender.deadline() > self.now {
            self.arm(index);
        } else {
            self.at_sender(index, |sender, now, tcp, net| sender.on_timer(now, tcp, net));
            if self.flows[index as usize].sender.has_failed() {
                self.fail_transfer(index);
            }
        }
    }

    /// A connection could not be opened: its transfer has not been completed, and its client goes on.
    #[cold]
    fn fail_transfer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Some(connection) = self.connections.get_mut(flow.connection as usize) else { return };
        let client = &mut self.clients[connection.client as usize];
        self.group_meters[flow.group as usize].ended.add(&flow.sender);
        flow.restart(self.groups[flow.group as usize].sender(client.peer.phase));
        connection.ended_at = self.now;
        client.idle.push(index);
        let (client, next) = (connection.client, client.transfer_failed(self.now));
        self.schedule_request(client, next);
    }

    fn sample(&mut self) {
        for (series, link) in self.series.iter_mut().zip(&mut self.links) {
            link.catch_up(self.now);
            let waiting = f64::from(link.queue.len());
            let utilisation = link.meter.sample_utilisation(self.now);
            let shown = (0..).map(|i| link.queue.observe(i));
            let values = [self.now.seconds(), waiting, utilisation].into_iter().chain(shown);
            for ((_, column), value) in series.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        self.calendar.push(Lane::HEAP, self.now + self.scenario.sample, Event::Sample);
    }

    fn restart_meters(&mut self) {
        for link in &mut self.links {
            link.restart_meters(self.now);
        }
        for group in 0..self.groups.len() {
            self.group_meters[group].before = self.counters(group);
        }
    }
}
