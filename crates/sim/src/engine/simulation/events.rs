//! What happens at each event.
//!
//! What is rare is not inlined, so that the loop over packets and ACKs stays within the instruction cache.

use super::Simulation;
use crate::engine::calendar::Lane;
use crate::engine::event::{AT_RECEIVER, AT_SENDER, Event, Packet, Timer};
use crate::net::flow::{Access, Connection, Flow, Path};
use crate::net::link::{Departures, Offered};
use crate::net::route::Hop;
use crate::traffic::client::Peer;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Time};
use aqmlab_tcp::{Sender, TcpParams};

impl Simulation {
    #[inline]
    pub(super) fn arrive(&mut self, mut packet: Packet) {
        if packet.hop == AT_SENDER {
            return self.acknowledge(&packet);
        }
        let way = &self.routes.ways[self.flows[packet.flow as usize].group as usize];
        let Some(hop) = way.hops.get(packet.hop as usize) else { return self.receive(packet, self.now) };
        let index = hop.link;
        let link = &mut self.links[index];
        match link.offer(&mut packet, self.now) {
            Offered::Dropped => {}
            Offered::SentAt(time) => self.forward(&packet, time),
            Offered::Joined => {
                if link.departures == Departures::AtService {
                    link.orders.push_back(self.calendar.reserve());
                }
                if link.is_free() {
                    self.start_service(index as u32);
                }
            }
        }
    }

    #[inline]
    pub(super) fn start_service(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        let Some(end) = link.start_service(self.now) else { return };
        match link.departures {
            Departures::AtService => self.send_at_service(index, end),
            _ => self.calendar.push(link.lane, end, Event::Sent { link: index }),
        }
    }

    /// What is taken into service goes on at `end`, as if that had been foreseen when it joined the queue.
    #[inline(never)]
    fn send_at_service(&mut self, index: u32, end: Time) {
        let link = &mut self.links[index as usize];
        self.calendar.push_last(link.lane, end, Event::Sent { link: index });
        if let (Some(packet), Some(order)) = (link.take_sending(), link.orders.pop_front()) {
            let present = self.calendar.continue_at(order);
            self.forward_over_wire(packet, end);
            self.calendar.continue_at(present);
        }
    }

    #[inline]
    pub(super) fn sent(&mut self, index: u32) {
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
        let group = flow.group as usize;
        let way = &self.routes.ways[group];
        let Hop { link, mut onward } = way.hops[packet.hop as usize];
        if self.links[link].impairment.is_some() {
            return self.forward_over_wire(*packet, sent);
        }
        let next = packet.hop as usize + 1;
        if next == way.there {
            let (meter, measured) = (&mut self.group_meters[group], self.warmup..self.end);
            let path = Path { group: &self.groups[group], way, calendar: &mut self.calendar };
            return flow.receive(packet, sent + onward.delay, path, meter, measured);
        }
        let mut packet = *packet;
        packet.hop = next as u8;
        if next == way.hops.len() {
            (packet.hop, onward) = (AT_SENDER, way.home(&flow.route));
        }
        self.calendar.push(onward.lane, sent + onward.delay, Event::Arrive(packet));
    }

    /// The same, out of line, over any wire. Where packets may pass others, the receiver acts when they arrive.
    #[inline(never)]
    fn forward_over_wire(&mut self, mut packet: Packet, sent: Time) {
        let flow = &self.flows[packet.flow as usize];
        let way = &self.routes.ways[flow.group as usize];
        let Hop { link, mut onward } = way.hops[packet.hop as usize];
        let (left, reorders) = match &mut self.links[link].impairment {
            None => (Some(sent), false),
            Some(wire) => (wire.cross(&mut packet, sent, self.warmup..self.end), wire.reorders()),
        };
        let Some(left) = left else { return };
        let next = packet.hop as usize + 1;
        packet.hop = match next {
            _ if next == way.there && !reorders => return self.receive(packet, left + onward.delay),
            _ if next == way.there => AT_RECEIVER,
            _ if next == way.hops.len() => AT_SENDER,
            _ => next as u8,
        };
        if packet.hop == AT_SENDER {
            onward = way.home(&flow.route);
        }
        self.calendar.push(onward.lane, left + onward.delay, Event::Arrive(packet));
    }

    /// A packet reaches its receiver's access link at `time`, perhaps ahead of the present.
    #[inline(never)]
    fn receive(&mut self, packet: Packet, time: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        let group = flow.group as usize;
        let (meter, measured) = (&mut self.group_meters[group], self.warmup..self.end);
        let (group, way) = (&self.groups[group], &self.routes.ways[group]);
        let path = Path { group, way, calendar: &mut self.calendar };
        flow.receive(&packet, time, path, meter, measured);
    }

    /// A receiver's ACK may have waited long enough; if a segment has fetched it, none is due.
    #[inline(never)]
    pub(super) fn delayed_ack(&mut self, index: u32, now: Time) {
        let flow = &mut self.flows[index as usize];
        let (group, way) = (&self.groups[flow.group as usize], &self.routes.ways[flow.group as usize]);
        let due = flow.receiver.take_due(now);
        flow.send_due_ack(index, due, &mut Path { group, way, calendar: &mut self.calendar });
    }

    #[inline]
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

    /// A UDP source sends a datagram and arranges for the next.
    #[inline(never)]
    pub(super) fn emit(&mut self, index: u32) {
        let source = &mut self.sources[index as usize];
        if source.is_stopped(self.now) {
            return;
        }
        let flow = &mut self.flows[source.flow as usize];
        self.group_meters[flow.group as usize].sent += 1;
        let (group, way) = (&self.groups[flow.group as usize], &self.routes.ways[flow.group as usize]);
        let path = Path { group, way, calendar: &mut self.calendar };
        flow.at_sender(source.flow, self.now, path).1.send_datagram();
        if let Some(next) = source.after(self.now) {
            self.calendar.push(Lane::ANY, next, Event::Emit { source: index });
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

    /// Where a transfer has ended there is another: with a fresh sender from other ports, or on the connection that is kept.
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
        if self.flows[index as usize].is_stopped {
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
        let link = &mut self.links[index as usize];
        link.change_rate(self.now);
        let rate = link.rate();
        self.specs[index as usize].rate = rate;
        self.routes.set_rate(&self.scenario, index as usize, rate);
        let link = &self.links[index as usize];
        if let Some(time) = link.rate_changes_at() {
            self.calendar.push(Lane::ANY, time, Event::RateChange { link: index });
        }
    }

    #[inline(never)]
    pub(super) fn tick(&mut self, link: u32, period: Span, series: u32) {
        let of = &mut self.links[link as usize];
        if of.ticks != series {
            return; // of a scheme or a period that was replaced
        }
        of.tick(self.now);
        self.calendar.push(of.tick_lane, self.now + period, Event::Tick { link, period, series });
    }

    /// Lets a sender act, then sees to its timer.
    #[inline(always)]
    fn at_sender(&mut self, index: u32, act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut Access)) {
        let flow = &mut self.flows[index as usize];
        let (group, way) = (&self.groups[flow.group as usize], &self.routes.ways[flow.group as usize]);
        let path = Path { group, way, calendar: &mut self.calendar };
        let (sender, mut access) = flow.at_sender(index, self.now, path);
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
            self.calendar.push_timer(deadline, Timer::Retransmission(index));
        }
    }

    #[inline(never)]
    pub(super) fn timer(&mut self, index: u32) {
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
        flow.restart(self.groups[flow.group as usize].sender(client.peer.phase), client.peer.tuple);
        connection.ended_at = self.now;
        client.idle.push(index);
        let (client, next) = (connection.client, client.transfer_failed(self.now));
        self.schedule_request(client, next);
    }

    #[inline(never)]
    pub(super) fn sample(&mut self) {
        let columns = self.plotted.iter().zip(&mut self.sampled);
        for ((series, link), (plotted, mark)) in self.series.iter_mut().zip(&mut self.links).zip(columns) {
            link.catch_up(self.now);
            let waiting = f64::from(link.queue.len());
            let utilisation = link.meter.utilisation_since(mark, self.now);
            let shown = plotted.iter().map(|place| place.map_or(f64::NAN, |i| link.queue.observe(i)));
            let values = [self.now.seconds(), waiting, utilisation].into_iter().chain(shown);
            for ((_, column), value) in series.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        self.calendar.push(Lane::ANY, self.now + self.scenario.sample, Event::Sample);
    }

    /// The warm-up is over.
    pub(super) fn restart_meters(&mut self) {
        for (link, probed) in self.links.iter_mut().zip(&mut self.probed.links) {
            link.catch_up(self.now);
            probed.before_restart(&link.queue.accounts());
            link.restart_meters(self.now);
        }
        for group in 0..self.groups.len() {
            self.group_meters[group].before = self.counters(group);
            self.group_meters[group].sent = 0;
        }
    }
}
