//! A flow in a running world: sender, receiver, and the access links between them and the path.

use crate::calendar::Calendar;
use crate::event::{Event, Packet};
use crate::route::Route;
use crate::scenario::FlowSpec;
use aqmlab_core::{Span, Time};
use aqmlab_tcp::{Network, Receiver, Segment, Sender};

/// Hot state of one flow.
pub struct Flow {
    pub sender: Sender,
    pub receiver: Receiver,
    pub route: u32,
    pub group: u32,
    /// When the sender's access link is free.
    access_free: Time,
    /// When the receiver's access link is free.
    egress_free: Time,
    /// When the pending timer event comes; the timer itself may be due later.
    pub timer_event: Time,
    /// Segments received in order, by the end of the warm-up and by the end of the run.
    pub delivered_before: u32,
    pub delivered: u32,
}

/// What the flows of a group have in common.
pub struct Group {
    data_size: u16,
    syn_size: u16,
    /// What a data packet and a SYN take on an access link.
    data_time: Span,
    syn_time: Span,
}

impl Group {
    pub fn new(spec: &FlowSpec) -> Self {
        // Within 16 bits: the scenario language allows no packet above 65000 B with its header.
        let (data_size, syn_size) = (spec.wire_size() as u16, (spec.tcp.header.0 as u16).max(1));
        let time = |size: u16| spec.access_rate.map_or(Span::ZERO, |rate| rate.transmission(size.into()));
        Self { data_size, syn_size, data_time: time(data_size), syn_time: time(syn_size) }
    }
}

impl Flow {
    pub fn new(sender: Sender, route: u32, group: u32) -> Self {
        Self {
            sender,
            receiver: Receiver::default(),
            route,
            group,
            access_free: Time::ZERO,
            egress_free: Time::ZERO,
            timer_event: Time::NEVER,
            delivered_before: 0,
            delivered: 0,
        }
    }

    /// The sender, and the access link that takes its segments to the first queue.
    #[inline]
    pub fn at_sender<'a>(
        &'a mut self,
        index: u32,
        group: &'a Group,
        route: &'a Route,
        now: Time,
        calendar: &'a mut Calendar<Event>,
    ) -> (&'a mut Sender, Access<'a>) {
        (&mut self.sender, Access { free: &mut self.access_free, flow: index, group, route, now, calendar })
    }

    /// When a packet that reaches the receiver's access link at `time` will be at the receiver.
    #[inline]
    pub fn egress(&mut self, packet: &Packet, group: &Group, route: &Route, time: Time) -> Time {
        let on_link = if packet.size == group.data_size { group.data_time } else { group.syn_time };
        self.egress_free = time.max(self.egress_free) + on_link;
        self.egress_free + route.egress
    }
}

/// The sender's access link: sends one segment after the other, queue unlimited.
pub struct Access<'a> {
    free: &'a mut Time,
    flow: u32,
    group: &'a Group,
    route: &'a Route,
    now: Time,
    calendar: &'a mut Calendar<Event>,
}

impl Network for Access<'_> {
    #[inline]
    fn send(&mut self, segment: Segment) {
        let (size, on_link) = match segment.is_syn {
            true => (self.group.syn_size, self.group.syn_time),
            false => (self.group.data_size, self.group.data_time),
        };
        *self.free = self.now.max(*self.free) + on_link;
        let packet = Packet { sent_at: self.now, flow: self.flow, seq: segment.seq, size, hop: 0 };
        self.calendar.push(self.route.entry.lane, *self.free + self.route.entry.delay, packet.arrival());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hot_state_fits_four_cache_lines() {
        assert!(size_of::<Flow>() <= 256, "{} bytes", size_of::<Flow>());
    }
}
