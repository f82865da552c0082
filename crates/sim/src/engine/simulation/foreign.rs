//! Flows whose ends are outside: the program that hosts the simulation hands in their packets, and gets them where they arrive or
//! are lost. Links, queues and all other flows are as in any simulation.

use super::{EVENTS_PER_LOOK, Options, RunError, Simulation};
use crate::calendar::PushTime;
use crate::net::flow::{Flow, Path, Schedule};
use crate::net::link::DepartureMode;
use crate::net::outcome::{Decision, PacketOutcome};
use crate::net::packet::{FlowTag, Packet, PacketKind};
use crate::net::route::NextHop;
use crate::traffic::instance::FlowInstanceKind;
use crate::traffic::peer::Peer;
use aqmlab_aqm::{Carried, Discipline, Ecn};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::Scenario;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

/// A packet of a foreign flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignPacket {
    /// Its flow ([`ForeignFlow::flow`]).
    pub flow: u32,
    /// It goes back, as ACKs do.
    pub is_reply: bool,
    /// Bytes of IP.
    pub size: u16,
    /// ECN field.
    pub ecn: Ecn,
    /// A number of the host's.
    pub number: u32,
}

/// The fate of one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ForeignEvent {
    /// The time.
    pub time: Time,
    /// The time at which it was handed in.
    pub sent: Time,
    /// The packet, perhaps with a mark.
    pub packet: ForeignPacket,
    /// [`PacketOutcome::Sent`] if it has arrived.
    pub outcome: PacketOutcome,
}

/// A flow whose ends are outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignFlow {
    /// Its number in the simulation.
    pub flow: u32,
    /// Index of its group.
    pub group: usize,
    /// The time at which it starts.
    pub start: Time,
    /// From when on it has nothing to send; [`Time::NEVER`] if it does not stop.
    pub stop: Time,
}

/// The foreign flows of a simulation.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// Packets that will arrive.
    arrivals: BinaryHeap<Reverse<Arrival>>,
    /// Packets that have been lost.
    lost: VecDeque<Decision<Packet>>,
    /// Packets that have arrived or will.
    count: u64,
    /// Bytes that each flow has received since metrics began to count, as its ends count them.
    received: BTreeMap<u32, u64>,
    /// Events since schemes and watch were looked at.
    unseen: u64,
}

/// A packet that will arrive, ordered by its time, then by when that became known.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    time: Time,
    count: u64,
    packet: Packet,
}

impl PartialEq for Arrival {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Arrival {}

impl PartialOrd for Arrival {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Arrival {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.count).cmp(&(other.time, other.count))
    }
}

impl ForeignEvent {
    fn of(Decision { time, packet, outcome }: Decision<Packet>) -> Self {
        let data = packet.data();
        let is_reply = packet.goes_back();
        let foreign =
            ForeignPacket { flow: packet.flow, is_reply, size: packet.size, ecn: packet.ecn(), number: data.seq };
        Self { time, sent: data.sent_at, packet: foreign, outcome }
    }
}

impl Simulation {
    /// The same as [`Simulation::new`], for who sends the packets of foreign flows.
    ///
    /// # Errors
    /// If the scheme does not fit the scenario.
    pub fn hosting(scenario: impl Into<Arc<Scenario>>, options: Options) -> Result<Self, Problems> {
        let mut simulation = Self::set_up(scenario.into(), options, DepartureMode::AtService)?;
        simulation.stop_probing();
        Ok(simulation)
    }

    /// The foreign flows of the scenario.
    pub fn foreign_flows(&self) -> Vec<ForeignFlow> {
        let members = self.members.iter().enumerate().flat_map(|(group, all)| all.iter().map(move |one| (group, one)));
        let foreign = members.filter_map(|(group, member)| match member.kind {
            FlowInstanceKind::Foreign(flow) => {
                Some(ForeignFlow { flow, group, start: member.start, stop: member.stop })
            }
            _ => None,
        });
        foreign.collect()
    }

    /// Adds a flow to a foreign group; `tuple` stands for its addresses (bits 12 and up) and ports, `dscp` is that of its packets.
    pub fn add_foreign_flow(&mut self, group: usize, rtt: Span, tuple: u32, dscp: u8) -> u32 {
        let peer = Peer { way: self.network.routes.way(group, 0), rtt, tuple, phase: Span::ZERO };
        let flow = self.network.add_flow(peer, Flow::NO_CONNECTION);
        self.network.flows[flow as usize].set_dscp(dscp);
        flow
    }

    /// Time that a packet of a foreign flow takes from its first queue to its receiver where nothing waits, at the present rates.
    pub fn time_without_queue(&self, flow: u32, size: u16) -> Span {
        let of = &self.network.flows[flow as usize];
        let way = &self.network.routes.ways[of.way as usize];
        let there = way.hops.iter().take_while(|hop| hop.next != NextHop::Sender);
        let crossed = there.map(|hop| {
            let spec = &self.network.specs[hop.link];
            hop.onward.delay + self.network.links[hop.link].rate().transmission(spec.layer.bytes(size.into()))
        });
        crossed.fold(way.egress(of.route()), |sum, span| sum + span)
    }

    /// Packets that a link has marked, and those that wait there.
    pub fn marked_and_waiting(&self, link: usize) -> (u64, u64) {
        let queue = &self.network.links[link].queue;
        (queue.accounts().marked, queue.len().into())
    }

    /// Takes the next foreign packet that has been lost, without letting time pass.
    pub fn take_lost(&mut self) -> Option<ForeignEvent> {
        self.foreign.lost.pop_front().map(ForeignEvent::of)
    }

    /// `time` is the present, if it is not past; what happens at that instant is still to come.
    pub fn reach(&mut self, time: Time) {
        self.network.now = self.network.now.max(time);
    }

    /// A foreign packet leaves its end at the present, on the way to its first queue.
    pub fn send_foreign(&mut self, packet: ForeignPacket) {
        let (packet, now) = (self.packet_of(packet), self.network.now);
        let network = &mut self.network;
        network.scheduler.as_of(PushTime::at(now));
        let flow = &network.flows[packet.flow as usize];
        let (group, way) = (&network.groups[network.routes.group(flow.way)], &network.routes.ways[flow.way as usize]);
        flow.send_foreign(packet, now, Path { group, way, schedule: &mut network.scheduler });
        self.note_sent(packet);
    }

    /// A foreign packet reaches its first queue at the present; true if that has marked it. If it has been dropped, that is the
    /// last of the events.
    pub fn offer_foreign(&mut self, packet: ForeignPacket) -> bool {
        let packet = self.packet_of(packet);
        let way = self.network.flows[packet.flow as usize].way;
        let link = self.network.routes.ways[way as usize].hops[packet.hop as usize].link;
        let (before, _) = self.marked_and_waiting(link);
        self.network.scheduler.as_of(PushTime::at(self.network.now));
        self.network.take(packet);
        self.note_sent(packet);
        self.collect_foreign();
        self.marked_and_waiting(link).0 > before
    }

    fn packet_of(&self, ForeignPacket { flow, is_reply, size, ecn, number }: ForeignPacket) -> Packet {
        let of = &self.network.flows[flow as usize];
        let kind = match is_reply {
            true => (self.network.routes.ways[of.way as usize].first_back, PacketKind::ForeignReply),
            false => (0, PacketKind::Foreign),
        };
        let label: FlowTag = of.label(flow);
        Packet::of_foreign(label, size, kind, number, ecn, self.network.now)
    }

    fn note_sent(&mut self, packet: Packet) {
        let group = self.network.routes.group(self.network.flows[packet.flow as usize].way);
        self.network.group_meters[group].sent += u64::from(!packet.goes_back());
    }

    /// An end of a foreign flow has got so many bytes, of what it counts as goodput, at the present.
    pub fn count_received(&mut self, flow: u32, bytes: u64) {
        let now = self.network.now;
        if now > self.network.measured.start && now <= self.network.measured.end {
            *self.foreign.received.entry(flow).or_default() += bytes;
        }
    }

    /// A foreign flow has got the last acknowledgement of all its data, `bytes` of payload, at the present.
    pub fn count_transfer(&mut self, flow: &ForeignFlow, bytes: u64) {
        let payload = u64::from(self.scenario.flows[flow.group].payload);
        self.network.note_transfer(flow.group, flow.start, bytes.div_ceil(payload) as u32);
    }

    /// The connection of a foreign flow is lost at the present.
    pub fn count_lost_connection(&mut self, flow: &ForeignFlow) {
        self.network.group_meters[flow.group].ended.failed += 1;
    }

    /// Bytes that a foreign flow has received since metrics began to count.
    pub(super) fn foreign_bytes(&self, flow: u32) -> u64 {
        self.foreign.received.get(&flow).copied().unwrap_or(0)
    }

    /// A time before which no foreign packet arrives or is lost; [`Time::NEVER`] if nothing is to happen.
    pub fn next_event(&self) -> Time {
        if !self.foreign.lost.is_empty() {
            return self.network.now;
        }
        let arrives = self.foreign.arrivals.peek().map_or(Time::NEVER, |Reverse(first)| first.time);
        let changes = self.pending.front().map_or(Time::NEVER, |change| Time::ZERO + change.at);
        // Once a time is past, so are the last events of its instant.
        let happens = Time(self.network.scheduler.calendar.next_time().0.saturating_add(1));
        arrives.min(changes).min(happens)
    }

    /// Lets happen what comes up to and including `until`, but nothing after the next foreign packet that arrives or is lost,
    /// which it returns; that moment is the present then. `None`, and `until` is the present, if there is none.
    ///
    /// # Errors
    /// As [`Simulation::step_until`].
    pub fn next_foreign(&mut self, until: Time) -> Result<Option<ForeignEvent>, RunError> {
        loop {
            if let Some(lost) = self.foreign.lost.pop_front() {
                return Ok(Some(ForeignEvent::of(lost)));
            }
            let arrives = self.foreign.arrivals.peek().map_or(Time::NEVER, |Reverse(first)| first.time);
            let changes = self.pending.front().map_or(Time::NEVER, |change| Time::ZERO + change.at);
            if self.network.advance(until.min(arrives).min(changes), 1) {
                self.apply_due()?;
                self.collect_foreign();
                self.foreign.unseen += 1;
                if self.foreign.unseen == EVENTS_PER_LOOK {
                    self.foreign.unseen = 0;
                    self.look()?;
                }
            } else if changes <= until.min(arrives) {
                let change = self.pending.pop_front().expect("it was there");
                self.apply(change)?;
            } else if arrives <= until {
                let Reverse(Arrival { time, packet, .. }) = self.foreign.arrivals.pop().expect("it was there");
                let outcome = PacketOutcome::Sent;
                return Ok(Some(ForeignEvent::of(Decision { time, packet, outcome })));
            } else {
                self.look_at_schemes()?;
                return Ok(None);
            }
        }
    }

    fn collect_foreign(&mut self) {
        let Foreign { arrivals, lost, count, .. } = &mut self.foreign;
        for (time, packet) in self.network.scheduler.foreign.drain(..) {
            *count += 1;
            arrivals.push(Reverse(Arrival { time, count: *count, packet }));
        }
        for losses in self.network.links.iter_mut().filter_map(|link| link.losses.as_mut()) {
            lost.extend(losses.foreign.drain(..));
        }
    }
}
