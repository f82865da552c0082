//! Events at the two ends of a flow.

use super::{IN_CACHE, NetworkState, path};
use crate::calendar::{Lane, Moment, Place};
use crate::engine::agenda::{Agenda, PendingAck};
use crate::engine::event::Event;
use crate::net::flow::{AccessLink, Ahead, Flow, Schedule};
use crate::net::packet::{AT_SENDER, Packet};
use crate::net::route::{Hop, NextHop, Route, Way};
use aqmlab_core::{Span, Time};
use aqmlab_tcp::{Sender, TcpParams};

impl NetworkState {
    /// A packet reaches its receiver's access link at `time`, perhaps ahead of the present.
    #[inline(always)]
    pub(super) fn receive(&mut self, packet: &Packet, time: Time) {
        let Some(flow) = self.flows.get_mut(packet.flow as usize) else {
            return self.agenda.post(time, Place::receiver(packet.flow), *packet, true);
        };
        let meter = &mut self.group_meters[self.routes.group(flow.way)];
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.agenda);
        match path.group.has_extras {
            true => flow.receive::<true>(packet, time, path, meter, &self.measured),
            false => flow.receive::<false>(packet, time, path, meter, &self.measured),
        }
        self.acknowledge_ahead();
    }

    /// An ACK has left the last link on its way back at `time`.
    pub(super) fn send_home(&mut self, mut packet: Packet, place: Place, time: Time) {
        packet.hop = AT_SENDER;
        let Some(flow) = self.flows.get(packet.flow as usize) else {
            return self.agenda.post(time, place, packet, true);
        };
        let home = self.routes.ways[flow.way as usize].home(flow.route());
        let sent = self.agenda.calendar.present;
        self.agenda.acks.push(PendingAck { sent, lane: home.lane, time: time + home.delay, place, packet });
        self.acknowledge_ahead();
    }

    /// Senders act at once on ACKs that have just been sent, if they may.
    #[inline(always)]
    pub(super) fn acknowledge_ahead(&mut self) {
        if self.agenda.acks.is_empty() {
            return;
        }
        let present = self.agenda.calendar.present;
        for i in 0..self.agenda.acks.len() {
            let PendingAck { sent, lane, time, place, packet } = self.agenda.acks[i];
            if self.may_act_ahead(packet.flow, time) {
                self.events += 1;
                self.agenda.as_of(Moment { now: time, since: sent.now });
                self.hear(&packet, time);
            } else {
                let flow = &mut self.flows[packet.flow as usize];
                flow.acks_until = flow.acks_until.max(time);
                self.agenda.as_of(sent);
                self.agenda.push(lane, time, place, Event::Arrive(packet));
            }
        }
        self.agenda.acks.clear();
        self.agenda.as_of(present);
    }

    /// True if nothing else can happen to a sender before an ACK that reaches it at `time`: ACKs of a flow come in order, so
    /// that only a timer, an ACK that is pending already and the end of its application remain.
    #[inline(always)]
    fn may_act_ahead(&mut self, index: u32, time: Time) -> bool {
        let flow = &mut self.flows[index as usize];
        let may = flow.acks_until < self.now && flow.ahead() != Ahead::Never;
        let is_next = may && flow.is_before_timer(index, time, &mut self.agenda);
        let acts = is_next && time <= self.measured.end;
        if acts && flow.ahead() == Ahead::WarmingUp && time >= self.measured.start {
            self.enter_measured(index);
        }
        acts
    }

    /// A sender that acts ahead of time acts for the first time after the warm-up: what it has done before does not count.
    #[cold]
    fn enter_measured(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        flow.set_ahead(Ahead::Measured);
        self.group_meters[self.routes.group(flow.way)].before.add(&flow.sender);
    }

    /// From now on nobody looks at the flows before the end, nor changes anything on their way: senders may act ahead of time,
    /// and do so where that is faster. Few flows whose ACKs come in lanes lose by it.
    /// Those of transfers do not, as what a client does next depends on all of its connections, nor do those whose ACKs may
    /// pass each other or whose delays change with the rate of a link, nor those of calls, nor those that
    /// are to stop or that their host's queue holds back.
    pub fn let_senders_run_ahead(&mut self) {
        if self.routes.has_lanes() && self.flows.len() <= IN_CACHE {
            return;
        }
        self.agenda.runs_ahead = true;
        let ahead = if self.measured.start > Time::ZERO { Ahead::WarmingUp } else { Ahead::Measured };
        let waits: Vec<bool> = self
            .routes
            .ways
            .iter()
            .map(|way| way.begins_at_host || self.reorders_acks(way) || self.changes_delays(way))
            .collect();
        let may = |(index, flow): &(u32, &mut Flow)| {
            flow.connection == Flow::NO_CONNECTION && !waits[flow.way as usize] && !self.media.contains_key(index)
        };
        (0..).zip(&mut self.flows).filter(may).for_each(|(_, flow)| flow.set_ahead(ahead));
    }

    /// The least time from the departure of a packet at the last hop there to what its flow does next, apart from what it does at
    /// once: its receiver acts on a packet as soon as that is on its way, unless the packet may be passed by others.
    pub(super) fn reception(&self, way: &Way, route: Route, last: &Hop) -> Span {
        let delay = last.onward.delay;
        if self.links[last.link].impairment.as_ref().is_some_and(|wire| wire.reorders()) {
            return delay;
        }
        let acts_at_once = way.first_back == AT_SENDER && !self.groups[way.group as usize].delays_acks;
        let back = if acts_at_once { way.back(route).delay } else { Span::ZERO };
        delay + way.egress(route) + back
    }

    /// True if ACKs may pass each other on their last link.
    fn reorders_acks(&self, way: &Way) -> bool {
        let mut last = way.hops.iter().filter(|hop| hop.next == NextHop::Sender);
        last.any(|hop| self.links[hop.link].impairment.as_ref().is_some_and(|wire| wire.reorders()))
    }

    /// True if a link that the way crosses will change its rate, and with it the delays of the way.
    fn changes_delays(&self, way: &Way) -> bool {
        way.hops.iter().any(|hop| self.links[hop.link].rate_changes_at().is_some())
    }

    /// An ACK reaches its sender. One of an earlier transfer does nothing, nor does it count.
    #[inline(always)]
    pub(super) fn acknowledge(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        if !flow.knows(packet) {
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
        self.hear(packet, self.now);
        if is_transfer && self.flows[packet.flow as usize].sender.is_done() {
            self.end_transfer(packet.flow, connection);
        }
    }

    /// What is no ACK of ours reaches the end that it goes to.
    #[cold]
    #[inline(never)]
    fn take_reply(&mut self, packet: &Packet) {
        match packet.is_media() {
            true => self.take_media(packet),
            false => self.agenda.hand_over(self.now, *packet),
        }
    }

    /// A sender acts on an ACK.
    #[inline(never)] // one copy of its code
    fn hear(&mut self, packet: &Packet, time: Time) {
        if let Some(window) = packet.advertised(time) {
            self.flows[packet.flow as usize].sender.take_window(window);
        }
        self.at_sender(packet.flow, time, |sender, now, tcp, net| sender.on_ack(packet.ack(), now, tcp, net));
    }

    /// A packet has left the queue of the host that sends it, on its way or dropped: its sender may go on.
    #[cold]
    #[inline(never)]
    pub(super) fn leave_host(&mut self, packet: &Packet) {
        let flow = &self.flows[packet.flow as usize];
        if self.groups[self.routes.group(flow.way)].is_tcp && flow.knows(packet) {
            self.at_sender(packet.flow, self.now, |sender, now, tcp, net| sender.on_left_host(now, tcp, net));
        }
    }

    #[inline(always)]
    fn at_sender(
        &mut self,
        index: u32,
        time: Time,
        act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut AccessLink<Agenda>),
    ) {
        let flow = &mut self.flows[index as usize];
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.agenda);
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
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.agenda);
        flow.timer(index, self.now, path);
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
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.agenda);
        flow.delayed_ack(index, self.now, path);
        self.acknowledge_ahead();
    }

    #[inline(never)]
    pub(super) fn emit(&mut self, index: u32) {
        let source = &mut self.sources[index as usize];
        let flow = &mut self.flows[source.flow as usize];
        let group = self.routes.group(flow.way);
        let path = path(&self.groups, &self.routes.ways, flow.way, &mut self.agenda);
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
        self.agenda.push(Lane::ANY, time, Place::application(flow), Event::Close { flow });
    }
}
