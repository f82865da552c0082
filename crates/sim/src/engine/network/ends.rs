//! Events at the two ends of a flow.

use super::{IN_CACHE, NetworkState, path};
use crate::calendar::{EventOrigin, Lane, PushTime};
use crate::engine::event::Event;
use crate::engine::scheduler::{PendingAck, Scheduler};
use crate::net::flow::{AccessLink, Flow, Lookahead, Schedule};
use crate::net::packet::{AT_SENDER, Packet};
use crate::net::route::{Hop, NextHop, PathTemplate, Route};
use aqmlab_core::{Span, Time};
use aqmlab_tcp::{Sender, TcpParams};

impl NetworkState {
    /// A packet reaches its receiver's access link at `time`, perhaps ahead of the present.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: &Packet, time: Time) {
        let Some(flow) = self.flows.get_mut(packet.flow as usize) else {
            return self.scheduler.post(time, EventOrigin::receiver(packet.flow), *packet, true);
        };
        let meter = &mut self.group_meters[self.routes.group(flow.way)];
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.scheduler);
        match path.group.has_extras {
            true => flow.receive::<true>(packet, time, path, meter, &self.measured),
            false => flow.receive::<false>(packet, time, path, meter, &self.measured),
        }
        self.process_acks_early();
    }

    /// An ACK has left the last link on its way back at `time`.
    pub(super) fn send_home(&mut self, mut packet: Packet, place: EventOrigin, time: Time) {
        packet.hop = AT_SENDER;
        let Some(flow) = self.flows.get(packet.flow as usize) else {
            return self.scheduler.post(time, place, packet, true);
        };
        let home = self.routes.ways[flow.way as usize].home(flow.route());
        let sent = self.scheduler.calendar.present;
        self.scheduler.acks.push(PendingAck { sent, lane: home.lane, time: time + home.delay, place, packet });
        self.process_acks_early();
    }

    /// Senders act at once on ACKs that have just been sent, if they may.
    #[inline(always)]
    pub(super) fn process_acks_early(&mut self) {
        if self.scheduler.acks.is_empty() {
            return;
        }
        let present = self.scheduler.calendar.present;
        for i in 0..self.scheduler.acks.len() {
            let PendingAck { sent, lane, time, place, packet } = self.scheduler.acks[i];
            if self.may_act_ahead(packet.flow, time) {
                self.scheduler.as_of(PushTime { now: time, since: sent.now });
                self.acknowledge(&packet, time);
            } else {
                let flow = &mut self.flows[packet.flow as usize];
                flow.acks_until = flow.acks_until.max(time);
                self.scheduler.as_of(sent);
                self.scheduler.push(lane, time, place, Event::Arrive(packet));
            }
        }
        self.scheduler.acks.clear();
        self.scheduler.as_of(present);
    }

    /// True if nothing else can happen to a sender before an ACK that reaches it at `time`: ACKs of a flow come in order, so
    /// that only a timer, an ACK that is pending already and the end of its application remain.
    #[inline(always)]
    fn may_act_ahead(&mut self, index: u32, time: Time) -> bool {
        let flow = &mut self.flows[index as usize];
        let may = flow.acks_until < self.now && flow.lookahead() != Lookahead::Never;
        let acts = may && time < flow.sender.deadline() && time <= self.measured.end;
        if acts && flow.lookahead() == Lookahead::WarmingUp && time >= self.measured.start {
            self.enter_measured(index);
        }
        acts
    }

    /// A sender that acts ahead of time acts for the first time after the warm-up: what it has done before does not count.
    #[cold]
    fn enter_measured(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.set_lookahead(Lookahead::Measured);
        self.group_meters[self.routes.group(flow.way)].before.add(&flow.sender);
    }

    /// From now on nobody looks at the flows before the end, nor changes anything on their way: senders may act ahead of time,
    /// and do so where that is faster. Few flows whose ACKs come in lanes lose by it.
    /// Those of transfers do not, as what a client does next depends on all of its connections, nor do those whose ACKs may
    /// pass each other or whose delays change with the rate of a link, nor those of calls, nor those that
    /// are to stop or that their host's queue holds back.
    pub fn enable_lookahead(&mut self) {
        if self.routes.has_lanes() && self.flows.len() <= IN_CACHE {
            return;
        }
        self.scheduler.runs_ahead = true;
        let ahead = if self.measured.start > Time::ZERO { Lookahead::WarmingUp } else { Lookahead::Measured };
        let waits: Vec<bool> = self
            .routes
            .ways
            .iter()
            .map(|way| way.begins_at_host || self.reorders_acks(way) || self.changes_delays(way))
            .collect();
        let may = |(index, flow): &(u32, &mut Flow)| {
            flow.connection == Flow::NO_CONNECTION && !waits[flow.way as usize] && !self.media.contains_key(index)
        };
        (0..).zip(&mut self.flows).filter(may).for_each(|(_, flow)| flow.set_lookahead(ahead));
    }

    /// The least time from the departure of a packet at the last hop there to what its flow does next, apart from what it does at
    /// once: its receiver acts on a packet as soon as that is on its way, unless the packet may be passed by others.
    pub(super) fn reception(&self, way: &PathTemplate, route: Route, last: &Hop) -> Span {
        let delay = last.onward.delay;
        if self.links[last.link].impairment.as_ref().is_some_and(|wire| wire.reorders()) {
            return delay;
        }
        let acts_at_once = way.first_back == AT_SENDER && !self.groups[way.group as usize].delays_acks;
        let back = if acts_at_once { way.back(route).delay } else { Span::ZERO };
        delay + way.egress(route) + back
    }

    /// True if ACKs may pass each other on their last link.
    fn reorders_acks(&self, way: &PathTemplate) -> bool {
        let mut last = way.hops.iter().filter(|hop| hop.next == NextHop::Sender);
        last.any(|hop| self.links[hop.link].impairment.as_ref().is_some_and(|wire| wire.reorders()))
    }

    /// True if a link that the way crosses will change its rate, and with it the delays of the way.
    fn changes_delays(&self, way: &PathTemplate) -> bool {
        way.hops.iter().any(|hop| self.links[hop.link].rate_changes_at().is_some())
    }

    /// An ACK reaches its sender at `time`, perhaps ahead of the present. One of an earlier transfer does nothing, nor does it count.
    #[inline(never)] // one copy of its code
    pub(super) fn acknowledge(&mut self, packet: &Packet, time: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        if !flow.is_current_transfer(packet) {
            return;
        }
        self.events += 1;
        if packet.is_data() {
            return self.take_reply(packet);
        }
        let connection = flow.connection;
        let is_transfer = connection != Flow::NO_CONNECTION;
        if is_transfer && flow.sender.is_done() {
            return; // a late duplicate
        }
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.scheduler);
        flow.acknowledge(packet, time, path);
        let is_done = is_transfer && flow.sender.is_done();
        if self.phases.is_some() {
            self.note_phase(packet.flow, time);
        }
        if is_done {
            self.end_transfer(packet.flow, connection);
        }
    }

    /// What is no ACK of ours reaches the end that it goes to.
    #[cold]
    #[inline(never)]
    fn take_reply(&mut self, packet: &Packet) {
        match packet.is_media() {
            true => self.take_media(packet),
            false => self.scheduler.hand_over(self.now, *packet),
        }
    }

    /// A packet has left the queue of the host that sends it, on its way or dropped: its sender may go on.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_host(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        if self.groups[self.routes.group(flow.way)].is_tcp && flow.is_current_transfer(packet) {
            self.at_sender(packet.flow, self.now, |sender, now, tcp, net| sender.on_left_host(now, tcp, net));
        }
    }

    #[inline(always)]
    fn at_sender(
        &mut self,
        index: u32,
        time: Time,
        act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut AccessLink<Scheduler>),
    ) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.scheduler);
        flow.act(index, time, path, act);
        if self.phases.is_some() {
            self.note_phase(index, time);
        }
    }

    /// A sender has acted, and may be in another phase.
    #[cold]
    #[inline(never)]
    fn note_phase(&mut self, index: u32, time: Time) {
        let flow = &self.flows[index as usize];
        if let Some(phases) = &mut self.phases {
            phases.note(index, self.routes.group(flow.way), flow.sender.phase(), time);
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
        self.at_sender(index, self.now, |sender, now, tcp, net| sender.open(size, now, tcp, net));
    }

    pub(super) fn close(&mut self, index: u32) {
        self.flows[index as usize].sender.close();
    }

    #[inline(never)]
    pub(super) fn timer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.scheduler);
        if !flow.timer(index, self.now, path) {
            return;
        }
        self.events += 1;
        if flow.sender.has_failed() {
            self.fail_transfer(index);
        }
        if self.phases.is_some() {
            self.note_phase(index, self.now);
        }
    }

    #[inline(never)]
    pub(super) fn delayed_ack(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.scheduler);
        flow.delayed_ack(index, self.now, path);
        self.process_acks_early();
    }

    #[inline(never)]
    pub(super) fn emit(&mut self, index: u32) {
        let source = &mut self.sources[index as usize];
        let flow = &mut self.flows[source.flow as usize];
        let group = self.routes.group(flow.way);
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.scheduler);
        let sender = source.flow;
        if flow.emit(source, index, self.now, path) {
            self.group_meters[group].sent += 1;
        }
        if self.phases.is_some() && self.groups[group].is_tcp {
            self.note_phase(sender, self.now);
        }
    }

    /// A flow's application stops at `time`, so that ACKs wait for theirs.
    pub fn schedule_close(&mut self, flow: u32, time: Time) {
        self.flows[flow as usize].acks_until = Time::NEVER;
        self.scheduler.push(Lane::ANY, time, EventOrigin::application(flow), Event::Close { flow });
    }
}
