//! Events at queues: packets join, leave and go on to the next hop.

use super::NetworkState;
use crate::calendar::{EventOrigin, Lane};
use crate::engine::event::Event;
use crate::net::flow::Schedule;
use crate::net::impairment::Gathering;
use crate::net::link::DepartureMode;
use crate::net::packet::{AT_RECEIVER, AT_SENDER, Packet};
use crate::net::route::{Hop, NextHop, PathTemplate};
use aqmlab_aqm::Reason;
use aqmlab_core::Time;

impl NetworkState {
    /// A packet or an ACK arrives.
    #[inline(always)]
    pub fn take(&mut self, mut packet: Packet) {
        match packet.hop {
            AT_SENDER => self.acknowledge(&packet, self.now),
            _ => self.arrive(&mut packet),
        }
    }

    /// A packet reaches a queue of its way, or its receiver. An ACK of an earlier transfer goes no further: whether there is one
    /// depends on how far ahead its receiver has acted.
    #[inline(always)]
    fn arrive(&mut self, packet: &mut Packet) {
        let (now, way) = (self.now, self.way(packet.flow));
        let PathTemplate { hops, first_back, .. } = &self.routes.ways[way as usize];
        if packet.hop == *first_back
            && self.flows.get(packet.flow as usize).is_some_and(|flow| !flow.is_current_transfer(packet))
        {
            return;
        }
        self.events += 1;
        let Some(&hop) = hops.get(packet.hop as usize) else { return self.receive_late(packet, now) };
        let link = &mut self.links[hop.link];
        if link.departures != DepartureMode::Foreseen {
            return self.arrive_to_wait(packet, hop.link);
        }
        if packet.is_resent() {
            link.recall(packet, now);
        }
        match link.foresee(packet, now) {
            Ok(time) if link.is_impaired() => self.forward_over_wire(*packet, time),
            Ok(time) => self.forward(packet, hop, time),
            Err(why) => self.lose(hop.link, *packet, why),
        }
    }

    /// A packet reaches a queue whose departures are not foreseen.
    #[inline(always)]
    fn arrive_to_wait(&mut self, packet: &mut Packet, index: usize) {
        if self.links[index].departs_now(self.now) {
            self.depart_first(index as u32);
        }
        let link = &mut self.links[index];
        if packet.is_resent() {
            link.recall(packet, self.now);
        }
        if link.shares_buffer() {
            return self.arrive_at_shared(*packet, index);
        }
        match link.offer(packet, self.now) {
            Ok(()) => self.join(index),
            Err(why) => self.lose(index, *packet, why),
        }
    }

    /// What a link has sent leaves it before what arrives at the same instant; its event finds nothing more to do.
    #[cold]
    #[inline(never)]
    fn depart_first(&mut self, link: u32) {
        self.sent(link);
    }

    /// A packet reaches a queue whose buffer other links share.
    #[inline(never)]
    fn arrive_at_shared(&mut self, mut packet: Packet, index: usize) {
        let link = &mut self.links[index];
        link.limit_by(&self.buffers);
        let admission = link.offer(&mut packet, self.now);
        link.report_to(&mut self.buffers);
        match admission {
            Ok(()) => self.join(index),
            Err(why) => self.lose(index, packet, why),
        }
    }

    #[inline(always)]
    fn way(&self, flow: u32) -> u32 {
        self.flows.get(flow as usize).map_or_else(|| self.scheduler.way(flow), |flow| flow.way)
    }

    /// A link has dropped a packet, perhaps with others in its queue. By value: others need not lie in memory.
    #[cold]
    #[inline(never)]
    fn lose(&mut self, index: usize, packet: Packet, why: Reason) {
        let link = &mut self.links[index];
        link.book_drop(&packet, why, self.now);
        if link.is_host {
            self.leave_host(&packet);
        }
        self.book_removed(index);
    }

    /// A queue may have dropped packets that had joined.
    #[inline]
    pub(super) fn book_removed(&mut self, index: usize) {
        if self.links[index].book_removed(self.now) {
            self.leave_host_dropped(index);
        }
    }

    /// The queue of a host has dropped packets that had joined.
    #[cold]
    #[inline(never)]
    fn leave_host_dropped(&mut self, index: usize) {
        let mut removed = std::mem::take(&mut self.links[index].removed);
        removed.drain(..).for_each(|packet| self.leave_host(&packet));
        self.links[index].removed = removed;
    }

    /// A packet waits whose departure was not foreseen; others may have made room for it.
    #[inline(always)]
    fn join(&mut self, index: usize) {
        let link = &mut self.links[index];
        let (is_free, departures) = (link.is_free(), link.departures);
        if departures == DepartureMode::Events {
            self.book_removed(index);
            if self.links[index].is_on_air {
                return self.wait_for_air(index);
            }
        }
        if departures == DepartureMode::AtService {
            self.link_events[index].joined.push_back(self.scheduler.calendar.present);
        }
        if is_free {
            self.leave_rest(index as u32);
        }
    }

    /// A link at rest takes a packet into service, if it may.
    #[inline(never)]
    fn leave_rest(&mut self, index: u32) {
        self.start_service(index);
    }

    /// A link takes the next packet into service, if it may.
    #[inline(always)]
    fn start_service(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        let (end, departures) = (link.start_service(self.now), link.departures);
        if link.shares_buffer() {
            link.report_to(&mut self.buffers);
        }
        if departures == DepartureMode::Events {
            self.book_removed(index as usize);
        }
        let Some(end) = end else { return };
        let (lane, place, sent) =
            (self.link_events[index as usize].sent, EventOrigin::transmitter(index), Event::Sent { link: index });
        if departures == DepartureMode::Events {
            return self.scheduler.push(lane, end, place, sent);
        }
        self.scheduler.calendar.push_last(lane, end, place, sent);
        self.send_at_service(index, end);
    }

    /// Forwards the packet in service at `end`, as if that had been foreseen when it joined the queue.
    #[inline(never)]
    fn send_at_service(&mut self, index: u32, end: Time) {
        let packet = self.links[index as usize].take_sending();
        if let Some((packet, joined)) = packet.zip(self.link_events[index as usize].joined.pop_front()) {
            let present = self.scheduler.as_of(joined);
            self.forward_over_wire(packet, end);
            self.scheduler.as_of(present);
        }
    }

    /// A transmission ends, as an event, which counts where departures are events in every way of running.
    #[inline(always)]
    pub(super) fn end_transmission(&mut self, index: u32) {
        self.events += u64::from(self.links[index as usize].departures == DepartureMode::Events);
        self.sent(index);
    }

    /// A link has sent what was in service.
    #[inline(never)] // one copy of its code
    pub(super) fn sent(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        if link.is_sending(self.now) {
            return; // another packet has gone meanwhile: it was to ask a queue again, or an arrival came first
        }
        let (packet, is_host) = (link.finish_service(), link.is_host);
        match (packet, link.is_impaired()) {
            (None, _) => {}
            (Some(packet), false) => self.forward(&packet, self.hop(&packet), self.now),
            (Some(packet), true) => self.forward_over_wire(packet, self.now),
        }
        self.start_service(index);
        if let Some(packet) = packet.filter(|_| is_host) {
            self.leave_host(&packet);
        }
    }

    /// The link that a packet is at, and what follows it.
    #[inline]
    pub(super) fn hop(&self, packet: &Packet) -> Hop {
        self.routes.ways[self.way(packet.flow) as usize].hops[packet.hop as usize]
    }

    /// From a link that has sent the packet, or will have at `sent`: on to the next link, to the receiver, or to the
    /// sender.
    #[inline(always)]
    pub(super) fn forward(&mut self, packet: &Packet, Hop { link, onward, next }: Hop, sent: Time) {
        match next {
            NextHop::Receiver => self.receive(packet, sent + onward.delay),
            NextHop::Sender => self.send_home(*packet, EventOrigin::wire(link as u32), sent),
            NextHop::Link => {
                let mut packet = *packet;
                packet.hop += 1;
                self.scheduler.send(onward, sent + onward.delay, EventOrigin::wire(link as u32), packet);
            }
        }
    }

    /// The same, out of line, over any wire.
    #[inline(never)]
    pub(super) fn forward_over_wire(&mut self, mut packet: Packet, sent: Time) {
        let hop = self.hop(&packet);
        let (left, reorders, gathers) = match &mut self.links[hop.link].impairment {
            None => (Some(sent), false, false),
            Some(wire) => (wire.cross(&mut packet, sent, self.measured.clone()), wire.reorders(), wire.gathers()),
        };
        let Some(left) = left else { return self.lose_on_wire(hop.link, &packet, sent) };
        if gathers {
            return self.gather(packet, hop.link, left);
        }
        self.leave_wire(packet, hop, left, reorders);
    }

    /// A packet waits on a wire for others, or is the last of them.
    #[cold]
    #[inline(never)]
    fn gather(&mut self, packet: Packet, index: usize, now: Time) {
        let Some(wire) = &mut self.links[index].impairment else { return };
        match wire.gather(packet, now) {
            Gathering::Waits => {}
            Gathering::Complete => self.release(index, now),
            Gathering::Begun(until) => {
                let link = index as u32;
                self.scheduler.push(Lane::ANY, until, EventOrigin::link(link), Event::Release { link });
            }
        }
    }

    /// Packets may have waited long enough, unless they have gone and others have come.
    pub(super) fn release_late(&mut self, link: u32) {
        let release_at = self.links[link as usize].impairment.as_ref().and_then(|wire| wire.release_at);
        if release_at == Some(self.now) {
            self.release(link as usize, self.now);
        }
        if self.links[link as usize].is_on_air {
            self.wait_for_air(link as usize); // its queue may have held packets back
        }
    }

    /// Packets that have waited for each other leave a wire.
    fn release(&mut self, index: usize, now: Time) {
        let Some(wire) = &mut self.links[index].impairment else { return };
        let mut packets = wire.release();
        for packet in packets.drain(..) {
            self.leave_wire(packet, self.hop(&packet), now, false);
        }
        if let Some(wire) = &mut self.links[index].impairment {
            wire.keep_room(packets);
        }
    }

    /// A packet leaves a wire at `left`. Where packets may pass others, the receiver acts when they arrive.
    #[inline(always)]
    fn leave_wire(&mut self, mut packet: Packet, Hop { link, onward, next }: Hop, left: Time, reorders: bool) {
        let (time, place) = (left + onward.delay, EventOrigin::wire(link as u32));
        match next {
            NextHop::Receiver if !reorders => self.receive_late(&packet, time),
            NextHop::Receiver => {
                packet.hop = AT_RECEIVER;
                match self.flows.get(packet.flow as usize) {
                    Some(_) => self.scheduler.push(onward.lane, time, place, Event::Arrive(packet)),
                    None => self.scheduler.post(time, place, packet, false),
                }
            }
            NextHop::Sender => self.send_home(packet, place, left),
            NextHop::Link => {
                packet.hop += 1;
                self.scheduler.send(onward, time, place, packet);
            }
        }
    }

    /// A link loses a packet on its wire, which has been sent onto it at `sent`.
    pub(super) fn lose_on_wire(&mut self, index: usize, packet: &Packet, sent: Time) {
        if let Some(losses) = &mut self.links[index].losses {
            losses.lose(packet, sent, self.now);
        }
    }

    /// [`NetworkState::receive`], out of line.
    #[inline(never)]
    fn receive_late(&mut self, packet: &Packet, time: Time) {
        self.receive(packet, time);
    }
}
