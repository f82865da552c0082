//! Departures that are known as soon as a packet is accepted: those of a single queue whose scheme acts on arrivals only.
//! No packet is kept, and no departure is an event.

use super::{DepartureMode, Link};
use crate::net::WirePacket;
use aqmlab_aqm::{AnyAqm, AnyQueue, Ctx, Discipline, Fate, Fifo, Reason};
use aqmlab_core::Time;

/// The packets that wait, as their service needs them, and the time at which all are sent.
#[derive(Clone, Default)]
pub struct Foreseen {
    /// The i-th since the start is at i modulo their number, a power of two.
    ring: Box<[Waiting]>,
    /// So many have joined since the start.
    joined: u32,
    /// So many have left.
    left: u32,
    busy_until: Time,
}

/// A packet that waits.
#[derive(Clone, Copy, Default)]
struct Waiting {
    since: Time,
    flow: u32,
    size: u16,
}

impl Foreseen {
    #[inline(always)]
    fn len(&self) -> u32 {
        self.joined.wrapping_sub(self.left)
    }

    #[inline(always)]
    fn push(&mut self, waiting: Waiting) {
        if self.len() as usize == self.ring.len() {
            self.grow();
        }
        self.ring[self.joined as usize & (self.ring.len() - 1)] = waiting;
        self.joined = self.joined.wrapping_add(1);
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<Waiting> {
        if self.joined == self.left {
            return None;
        }
        let first = self.ring[self.left as usize & (self.ring.len() - 1)];
        self.left = self.left.wrapping_add(1);
        Some(first)
    }

    fn iter(&self) -> impl Iterator<Item = Waiting> {
        (0..self.len()).map(|i| self.ring[self.left.wrapping_add(i) as usize & (self.ring.len() - 1)])
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut ring = vec![Waiting::default(); (2 * self.ring.len()).max(8)].into_boxed_slice();
        ring.iter_mut().zip(self.iter()).for_each(|(place, waiting)| *place = waiting);
        (self.ring, self.joined, self.left) = (ring, self.len(), 0);
    }
}

impl<P: WirePacket> Link<P> {
    /// A packet arrives at the queue, which may mark it; returns when it will have been sent, or the reason of its drop.
    #[inline(always)]
    pub fn foresee(&mut self, packet: &mut P, now: Time) -> Result<Time, Reason> {
        self.serve_until(Time(now.0 + u64::from(self.departs_first)));
        let queue = single(&mut self.queue);
        let fate = queue.admit(packet, &mut Ctx { now, rng: &mut self.rng });
        self.meter.on_queue(queue.len(), now);
        if let Fate::Dropped(why) = fate {
            return Err(why);
        }
        let size = packet.size() as u16;
        let begins = now.max(self.foreseen.busy_until);
        self.foreseen.busy_until = begins + self.transmission(size, begins);
        self.foreseen.push(Waiting { since: now, flow: packet.flow(), size });
        if self.in_service.is_none() {
            self.serve_next(now);
        }
        Ok(self.foreseen.busy_until)
    }

    /// Goes through the departures before now that are foreseen.
    #[inline]
    pub fn catch_up(&mut self, now: Time) {
        if self.departures == DepartureMode::Foreseen {
            self.serve_until(now);
        }
    }

    #[inline(always)]
    fn serve_until(&mut self, now: Time) {
        while let Some(end) = self.in_service.filter(|end| *end < now) {
            self.serve_next(end);
        }
    }

    /// The transmitter takes the next packet, if one waits.
    #[inline(always)]
    fn serve_next(&mut self, now: Time) {
        let queue = single(&mut self.queue);
        let Some(Waiting { since, size, .. }) = self.foreseen.pop() else {
            self.in_service = None;
            return queue.fall_idle(&mut Ctx { now, rng: &mut self.rng });
        };
        queue.release(size.into());
        self.meter.on_queue(queue.len(), now);
        let end = now + self.transmission(size, now);
        self.meter.on_service(now, now.since(since), end, size);
        self.in_service = Some(end);
    }

    /// Shows the flow of each packet that waits.
    pub fn for_each_flow(&self, mut act: impl FnMut(u32)) {
        self.foreseen.iter().for_each(|waiting| act(waiting.flow));
        self.queue.for_each(&mut |packet| act(packet.flow()));
    }

    /// Its accounts add up to the packets that wait.
    pub fn accounts_balance(&self) -> bool {
        let bytes = || self.foreseen.iter().map(|waiting| u64::from(waiting.size)).sum();
        match self.departures {
            DepartureMode::Foreseen => self.queue.state().balances(self.foreseen.len(), bytes()),
            _ => self.queue.accounts_balance(),
        }
    }
}

/// The single queue, which alone has departures that are foreseen.
#[inline(always)]
fn single<P: WirePacket>(queue: &mut AnyQueue<P>) -> &mut Fifo<AnyAqm, P> {
    match queue {
        AnyQueue::Fifo(queue) => queue,
        _ => unreachable!("the link asks whether departures are known"),
    }
}
