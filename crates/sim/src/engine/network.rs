//! The network of queues: packets join, leave and go on to the next hop.
//!
//! Rare paths are not inlined, so that the loop over packets and ACKs stays within the instruction cache.

use crate::calendar::{Lane, Order};
use crate::engine::event::{Event, EventSink};
use crate::net::link::{Admission, DepartureMode, Link};
use crate::net::packet::{AT_RECEIVER, AT_SENDER, Packet};
use crate::net::route::{Hop, NextHop, Way};
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// Lanes and orders of a link's events in the calendar.
#[derive(Clone)]
pub struct LinkEvents {
    /// Lane of the end of transmissions, which come one by one.
    pub sent: Lane,
    /// Lane of the scheme's periodic updates.
    pub tick: Lane,
    /// Places in the order of events of the packets that wait, where departures are computed at service.
    orders: VecDeque<Order>,
    /// Number of the series of periodic updates that counts; updates of earlier series are void.
    pub ticks: u32,
}

/// Updates at least this far apart are too few for a lane of their own, which every event would have to look at.
const RARE_TICK: Span = Span::from_micros(500);

impl LinkEvents {
    /// Of a link at rest: lanes of its own for events that come one by one, where there are many.
    pub fn new(link: &Link, mut new_lane: impl FnMut() -> Lane) -> Self {
        let mut lane = |is_wanted| if is_wanted { new_lane() } else { Lane::ANY };
        let sent = lane(link.departures != DepartureMode::Foreseen);
        let tick = lane(link.queue.tick_every().is_some_and(|period| period < RARE_TICK));
        Self { sent, tick, orders: VecDeque::new(), ticks: 0 }
    }

    /// Departures may be computed at service no longer.
    pub fn follow(&mut self, link: &Link) {
        if link.departures == DepartureMode::Events {
            self.orders.clear();
        }
    }
}

/// The network of queues at one instant, with the ends of the flows around it and the events to come.
pub trait QueueNetwork: EventSink {
    /// The present.
    fn now(&self) -> Time;

    /// Times within which metrics count.
    fn measured(&self) -> Range<Time>;

    /// A link by its index.
    fn link(&mut self, index: usize) -> &mut Link;

    /// Lanes and orders of its events.
    fn events_of(&mut self, index: usize) -> &mut LinkEvents;

    /// Group of a flow, by the flow's index.
    fn group(&self, flow: u32) -> u16;

    /// The way of a group's flows.
    fn way(&self, group: u16) -> &Way;

    /// A packet reaches its receiver's access link at `time`, perhaps ahead of the present.
    fn receive(&mut self, packet: &Packet, time: Time);

    /// An ACK has left the last link on its way back at `time`.
    fn send_home(&mut self, packet: Packet, time: Time);

    /// As [`Calendar::push_last`](crate::calendar::Calendar::push_last).
    fn push_last(&mut self, lane: Lane, time: Time, event: Event);

    /// As [`Calendar::reserve`](crate::calendar::Calendar::reserve).
    fn reserve(&mut self) -> Order;

    /// As [`Calendar::continue_at`](crate::calendar::Calendar::continue_at).
    fn continue_at(&mut self, order: Order) -> Order;

    /// A packet reaches a queue of its way, or its receiver.
    #[inline(always)]
    fn arrive(&mut self, mut packet: Packet) {
        let (now, group) = (self.now(), self.group(packet.flow));
        let Some(&hop) = self.way(group).hops.get(packet.hop as usize) else { return self.receive_late(&packet, now) };
        let link = self.link(hop.link);
        if packet.is_resent() {
            link.recall(&mut packet, now);
        }
        match (link.offer(&mut packet, now), link.is_impaired()) {
            (Admission::Dropped(_), _) => self.lose(hop.link, packet),
            (Admission::SentAt(time), false) => self.forward(&packet, hop, time),
            (Admission::SentAt(time), true) => self.forward_over_wire(packet, time),
            (Admission::Joined, _) => self.join(hop.link),
        }
    }

    /// A link has dropped a packet, perhaps with others in its queue. By value: others need not lie in memory.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, index: usize, packet: Packet) {
        let now = self.now();
        let link = self.link(index);
        link.book_drop(&packet, now);
        link.book_removed(now);
    }

    /// A packet waits whose departure was not foreseen; others may have made room for it.
    #[inline]
    fn join(&mut self, index: usize) {
        let now = self.now();
        let link = self.link(index);
        let (departures, is_free) = (link.departures, link.is_free());
        if departures == DepartureMode::Events {
            link.book_removed(now);
        }
        if departures == DepartureMode::AtService {
            let order = self.reserve();
            self.events_of(index).orders.push_back(order);
        }
        if is_free {
            self.start_service(index as u32);
        }
    }

    /// A link takes the next packet into service, if it may.
    #[inline(always)]
    fn start_service(&mut self, index: u32) {
        let now = self.now();
        let link = self.link(index as usize);
        let end = link.start_service(now);
        if link.departures == DepartureMode::Events {
            link.book_removed(now);
        }
        let Some(end) = end else { return };
        if link.departures == DepartureMode::AtService {
            return self.send_at_service(index, end);
        }
        let lane = self.events_of(index as usize).sent;
        self.push(lane, end, Event::Sent { link: index });
    }

    /// Forwards the packet in service at `end`, as if that had been foreseen when it joined the queue.
    #[inline(never)]
    fn send_at_service(&mut self, index: u32, end: Time) {
        let packet = self.link(index as usize).take_sending();
        let LinkEvents { sent, orders, .. } = self.events_of(index as usize);
        let (lane, sending) = (*sent, packet.zip(orders.pop_front()));
        self.push_last(lane, end, Event::Sent { link: index });
        if let Some((packet, order)) = sending {
            let present = self.continue_at(order);
            self.forward_over_wire(packet, end);
            self.continue_at(present);
        }
    }

    /// A link has sent what was in service.
    #[inline]
    fn sent(&mut self, index: u32) {
        let (now, link) = (self.now(), self.link(index as usize));
        match (link.finish_service(), link.is_impaired()) {
            (None, _) => {}
            (Some(packet), false) => self.forward(&packet, self.hop(&packet), now),
            (Some(packet), true) => self.forward_over_wire(packet, now),
        }
        self.start_service(index);
    }

    /// The link that a packet is at, and what follows it.
    #[inline]
    fn hop(&self, packet: &Packet) -> Hop {
        self.way(self.group(packet.flow)).hops[packet.hop as usize]
    }

    /// From a link that has sent the packet, or will have at `sent`: on to the next link, to the receiver, or to the
    /// sender.
    #[inline(always)]
    fn forward(&mut self, packet: &Packet, Hop { onward, next, .. }: Hop, sent: Time) {
        match next {
            NextHop::Receiver => self.receive(packet, sent + onward.delay),
            NextHop::Sender => self.send_home(*packet, sent),
            NextHop::Link => {
                let mut packet = *packet;
                packet.hop += 1;
                self.push(onward.lane, sent + onward.delay, Event::Arrive(packet));
            }
        }
    }

    /// The same, out of line, over any wire. Where packets may pass others, the receiver acts when they arrive.
    #[inline(never)]
    fn forward_over_wire(&mut self, mut packet: Packet, sent: Time) {
        let measured = self.measured();
        let Hop { link, onward, next } = self.hop(&packet);
        let (left, reorders) = match &mut self.link(link).impairment {
            None => (Some(sent), false),
            Some(wire) => (wire.cross(&mut packet, sent, measured), wire.reorders()),
        };
        let Some(left) = left else { return self.lose_on_wire(link, &packet, sent) };
        packet.hop = match next {
            NextHop::Receiver if !reorders => return self.receive_late(&packet, left + onward.delay),
            NextHop::Receiver => AT_RECEIVER,
            NextHop::Sender => return self.send_home(packet, left),
            NextHop::Link => packet.hop + 1,
        };
        self.push(onward.lane, left + onward.delay, Event::Arrive(packet));
    }

    /// A link loses a packet on its wire, which has been sent onto it at `sent`.
    fn lose_on_wire(&mut self, index: usize, packet: &Packet, sent: Time) {
        if let Some(losses) = &mut self.link(index).losses {
            losses.lose(packet, sent);
        }
    }

    /// [`QueueNetwork::receive`], out of line.
    #[inline(never)]
    fn receive_late(&mut self, packet: &Packet, time: Time) {
        self.receive(packet, time);
    }
}

/// An ACK that has nothing before it but the way to its sender.
pub fn bound_for_sender(mut packet: Packet) -> Event {
    packet.hop = AT_SENDER;
    Event::Arrive(packet)
}
