//! What happens to packets at the queues.
//!
//! What is rare is not inlined, so that the loop over packets and ACKs stays within the instruction cache.

use super::calendar::{Order, Pending};
use super::event::{AT_RECEIVER, AT_SENDER, Event, Packet};
use crate::net::link::{Departures, Link, Offered};
use crate::net::route::{Hop, Way};
use aqmlab_core::Time;
use std::ops::Range;

/// What lies around the queues: where packets come from and go to, and what is to come.
pub trait Surroundings: Pending {
    /// The place of a flow's way among the ways.
    fn way(&self, flow: u32) -> usize;

    /// A packet reaches its receiver's access link at `time`, perhaps ahead of the present.
    fn receive(&mut self, packet: &Packet, time: Time);

    /// An ACK has left the last link on its way back at `time`.
    fn send_home(&mut self, packet: Packet, time: Time);

    /// As [`Calendar::push_last`](super::calendar::Calendar::push_last).
    fn push_last(&mut self, link: &Link, time: Time, event: Event);

    /// As [`Calendar::reserve`](super::calendar::Calendar::reserve).
    fn reserve(&mut self) -> Order;

    /// As [`Calendar::continue_at`](super::calendar::Calendar::continue_at).
    fn continue_at(&mut self, order: Order) -> Order;
}

/// The queues at one instant.
pub struct Crossing<'a, S> {
    pub links: &'a mut [Link],
    pub ways: &'a [Way],
    pub around: S,
    pub now: Time,
    /// When metrics count.
    pub measured: Range<Time>,
}

impl<S: Surroundings> Crossing<'_, S> {
    /// A packet reaches a queue of its way, or its receiver.
    #[inline(always)]
    pub fn arrive(&mut self, mut packet: Packet) {
        let way = &self.ways[self.around.way(packet.flow)];
        let Some(hop) = way.hops.get(packet.hop as usize) else { return self.receive(&packet, self.now) };
        let index = hop.link;
        let link = &mut self.links[index];
        match link.offer(&mut packet, self.now) {
            Offered::Dropped => {}
            Offered::SentAt(time) => self.forward(&packet, time),
            Offered::Joined => {
                if link.departures == Departures::AtService {
                    link.orders.push_back(self.around.reserve());
                }
                if link.is_free() {
                    self.start_service(index as u32);
                }
            }
        }
    }

    /// A link takes the next packet into service, if it may.
    #[inline]
    pub fn start_service(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        let Some(end) = link.start_service(self.now) else { return };
        match link.departures {
            Departures::AtService => self.send_at_service(index, end),
            _ => self.around.push(link.lane, end, Event::Sent { link: index }),
        }
    }

    /// What is taken into service goes on at `end`, as if that had been foreseen when it joined the queue.
    #[inline(never)]
    fn send_at_service(&mut self, index: u32, end: Time) {
        let link = &mut self.links[index as usize];
        self.around.push_last(link, end, Event::Sent { link: index });
        if let (Some(packet), Some(order)) = (link.take_sending(), link.orders.pop_front()) {
            let present = self.around.continue_at(order);
            self.forward_over_wire(packet, end);
            self.around.continue_at(present);
        }
    }

    /// A link has sent what was in service.
    #[inline]
    pub fn sent(&mut self, index: u32) {
        if let Some(packet) = self.links[index as usize].finish_service() {
            self.forward(&packet, self.now);
        }
        self.start_service(index);
    }

    /// From a link that has sent the packet, or will have at `sent`: on to the next link, to the receiver, or to the
    /// sender.
    #[inline(always)]
    fn forward(&mut self, packet: &Packet, sent: Time) {
        let way = &self.ways[self.around.way(packet.flow)];
        let Hop { link, onward } = way.hops[packet.hop as usize];
        if self.links[link].impairment.is_some() {
            return self.forward_over_wire(*packet, sent);
        }
        let next = packet.hop as usize + 1;
        if next == way.there {
            return self.around.receive(packet, sent + onward.delay);
        }
        let mut packet = *packet;
        if next == way.hops.len() {
            return self.around.send_home(packet, sent);
        }
        packet.hop = next as u8;
        self.around.push(onward.lane, sent + onward.delay, Event::Arrive(packet));
    }

    /// The same, out of line, over any wire. Where packets may pass others, the receiver acts when they arrive.
    #[inline(never)]
    fn forward_over_wire(&mut self, mut packet: Packet, sent: Time) {
        let way = &self.ways[self.around.way(packet.flow)];
        let Hop { link, onward } = way.hops[packet.hop as usize];
        let (left, reorders) = match &mut self.links[link].impairment {
            None => (Some(sent), false),
            Some(wire) => (wire.cross(&mut packet, sent, self.measured.clone()), wire.reorders()),
        };
        let Some(left) = left else { return };
        let next = packet.hop as usize + 1;
        packet.hop = match next {
            _ if next == way.there && !reorders => return self.receive(&packet, left + onward.delay),
            _ if next == way.there => AT_RECEIVER,
            _ if next == way.hops.len() => return self.around.send_home(packet, left),
            _ => next as u8,
        };
        self.around.push(onward.lane, left + onward.delay, Event::Arrive(packet));
    }

    #[inline(never)]
    fn receive(&mut self, packet: &Packet, time: Time) {
        self.around.receive(packet, time);
    }
}

/// An ACK that has nothing before it but the way to its sender.
pub fn bound_for_sender(mut packet: Packet) -> Event {
    packet.hop = AT_SENDER;
    Event::Arrive(packet)
}
