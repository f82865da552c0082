//! The events to come in a network, or in a part of one.

use crate::calendar::{Calendar, EventOrigin, Lane, PushTime};
use crate::engine::event::Event;
use crate::memory;
use crate::net::flow::Schedule;
use crate::net::packet::{AT_SENDER, Packet};
use crate::net::route::Leg;
use aqmlab_core::Time;
use std::sync::Arc;

/// Pending events, and what is on its way elsewhere.
#[derive(Clone, Default)]
pub struct Scheduler {
    pub calendar: Calendar<Event>,
    /// ACKs that have just been sent, where their sender may act on them ahead of time.
    pub acks: Vec<PendingAck>,
    /// Senders may act ahead of time: nobody looks at them.
    pub runs_ahead: bool,
    /// Packets of foreign flows that will have arrived, in no order; emptied by whoever hosts the simulation.
    pub foreign: Vec<(Time, Packet)>,
    /// The other parts, if the network is one.
    pub remote: Option<Box<RemotePartitions>>,
}

/// An ACK on its way to its sender.
#[derive(Clone, Copy)]
pub struct PendingAck {
    pub sent: PushTime,
    pub lane: Lane,
    pub time: Time,
    pub place: EventOrigin,
    pub packet: Packet,
}

/// Location of a flow in another partition.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowLocation {
    /// Index of its way.
    pub way: u32,
    /// The part where it is.
    pub part: u16,
}

/// A packet that crosses from one part to another, in a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Crossing {
    pub time: Time,
    pub pushed: PushTime,
    pub place: EventOrigin,
    pub packet: Packet,
    /// It has left its last link there or back, or will have: its flow acts at once.
    pub is_ahead: bool,
}

/// The other parts of a network.
#[derive(Clone)]
pub struct RemotePartitions {
    own: u16,
    /// The part of each link.
    pub links: Arc<[u16]>,
    /// Of each flow by its number; of none where nothing crosses from one part to another.
    pub locations: Vec<FlowLocation>,
    crosses: bool,
    /// Flows that have begun here, of which the others do not know yet, and their ways.
    pub begun: Vec<(u32, FlowLocation)>,
    /// Events that go to links of others and arrive after the next round: they wait here and not there, as the links of many flows are
    /// in one part.
    pub later: Calendar<Event>,
    /// For each part what goes there, and what has come from there.
    pub outboxes: Vec<Vec<Crossing>>,
    pub inboxes: Vec<Vec<Crossing>>,
    /// Lane of what arrives from elsewhere.
    pub arriving: Lane,
}

impl RemotePartitions {
    /// The outlook of the part number `own` of so many; `locations` where something crosses.
    pub fn new(own: u16, parts: usize, links: Arc<[u16]>, locations: Option<Vec<FlowLocation>>, lanes: usize) -> Self {
        let boxes = vec![Vec::new(); parts];
        let later = Calendar::with_lanes(lanes);
        Self {
            own,
            links,
            crosses: locations.is_some(),
            locations: locations.unwrap_or_default(),
            begun: Vec::new(),
            later,
            outboxes: boxes.clone(),
            inboxes: boxes,
            arriving: Lane::ANY,
        }
    }

    /// A flow begins here; where nothing crosses nobody asks for it.
    pub fn begin(&mut self, flow: u32, way: u32) {
        if !self.crosses {
            return;
        }
        let home = FlowLocation { way, part: self.own };
        self.learn(flow, home);
        self.begun.push((flow, home));
    }

    /// A flow has begun.
    pub fn learn(&mut self, flow: u32, home: FlowLocation) {
        let flow = flow as usize;
        if flow >= self.locations.len() {
            self.locations.resize(flow + 1, FlowLocation::default());
        }
        self.locations[flow] = home;
    }
}

impl Scheduler {
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, time: Time, place: EventOrigin, event: Event) {
        self.calendar.push(lane, time, place, event);
    }

    /// A packet will be at the link at the end of a leg.
    #[inline(always)]
    pub fn send(&mut self, leg: Leg, time: Time, place: EventOrigin, packet: Packet) {
        if let Some(remote) = &mut self.remote
            && remote.links[leg.to as usize] != remote.own
        {
            remote.later.present = self.calendar.present;
            remote.later.push(leg.lane, time, place, Event::Arrive(packet));
        } else {
            self.push(leg.lane, time, place, Event::Arrive(packet));
        }
    }

    /// A packet is for a flow that is in another part.
    #[inline(never)]
    pub fn post(&mut self, time: Time, place: EventOrigin, packet: Packet, is_ahead: bool) {
        let remote = self.remote.as_mut().expect("a flow is here or there");
        let part = remote.locations[packet.flow as usize].part;
        let pushed = self.calendar.present;
        memory::append(&mut remote.outboxes[usize::from(part)], Crossing { time, pushed, place, packet, is_ahead });
    }

    /// Index of the way of a flow that is in another part.
    #[inline]
    pub fn way(&self, flow: u32) -> u32 {
        self.remote.as_ref().expect("a flow is here or there").locations[flow as usize].way
    }
}

impl Schedule for Scheduler {
    #[inline(always)]
    fn now(&self) -> Time {
        self.calendar.present.now
    }

    #[inline(always)]
    fn as_of(&mut self, moment: PushTime) -> PushTime {
        std::mem::replace(&mut self.calendar.present, moment)
    }

    #[inline(always)]
    fn arrive(&mut self, leg: Leg, time: Time, place: EventOrigin, packet: Packet) {
        if packet.hop != AT_SENDER {
            self.send(leg, time, place, packet);
        } else if self.runs_ahead {
            self.acks.push(PendingAck { sent: self.calendar.present, lane: leg.lane, time, place, packet });
        } else {
            self.push(leg.lane, time, place, Event::Arrive(packet));
        }
    }

    #[inline(always)]
    fn retransmission(&mut self, time: Time, flow: u32) {
        self.calendar.push_timer(time, EventOrigin::timer(flow));
    }

    #[inline(always)]
    fn delayed_ack(&mut self, time: Time, flow: u32) {
        self.push(Lane::ANY, time, EventOrigin::receiver(flow), Event::AckDue { flow });
    }

    #[inline(always)]
    fn emission(&mut self, time: Time, source: u32, flow: u32) {
        self.push(Lane::ANY, time, EventOrigin::sender(flow), Event::Emit { source });
    }

    #[inline(never)]
    fn take_media(&mut self, time: Time, mut packet: Packet) {
        packet.hop = AT_SENDER;
        self.push(Lane::ANY, time, EventOrigin::receiver(packet.flow), Event::Arrive(packet));
    }

    #[cold]
    fn hand_over(&mut self, time: Time, packet: Packet) {
        self.foreign.push((time, packet));
    }
}
