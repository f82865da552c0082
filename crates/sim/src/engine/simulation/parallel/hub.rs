//! The queues of a run, which meet the packets of all flows in order.

use super::super::Simulation;
use super::lineage::{Born, Lineage};
use super::shard::{Arrival, Passed, Receipt, before};
use crate::engine::calendar::{Calendar, Lane, Order, Pending};
use crate::engine::crossing::Crossing;
use crate::engine::event::{AT_SENDER, Event, Packet, Timer};
use crate::measure::group::ReceiptMeter;
use crate::net::link::Link;
use crate::net::route::Way;
use aqmlab_core::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;

/// What is to come at the queues, and what has passed them.
pub struct Hub {
    calendar: Calendar<Born, Lineage>,
    /// Of each flow.
    group_of: Vec<u16>,
    /// 2 to this power flows are a shard.
    shard_bits: u32,
    /// What reaches the queues in this round, from each shard, by time.
    pub arrivals: Vec<Vec<Arrival>>,
    /// What has passed the queues in this round, to each shard.
    pub passed: Vec<Vec<Passed>>,
    /// The shards of the packets that have passed to their receivers, in order: in this round, in the one before, and in
    /// that before.
    orders: [Vec<u16>; 3],
    /// How many events there have been.
    handled: u64,
    /// Of the present event.
    lineage: Lineage,
    now: Time,
    /// The order of two events could not be told.
    pub is_uncertain: bool,
}

impl Hub {
    pub fn new(group_of: Vec<u16>, shard_bits: u32, lanes: usize) -> Self {
        let shards = group_of.len().div_ceil(1 << shard_bits);
        Self {
            calendar: Calendar::with_lanes(lanes),
            group_of,
            shard_bits,
            arrivals: vec![Vec::new(); shards],
            passed: vec![Vec::new(); shards],
            orders: Default::default(),
            handled: 0,
            lineage: Lineage::default(),
            now: Time::ZERO,
            is_uncertain: false,
        }
    }

    /// An event of the set-up, which is the `place`-th.
    pub fn push_set_up(&mut self, time: Time, event: Event, place: u64) {
        self.calendar.push(Lane::ANY, time, Born { event, lineage: Lineage::of_set_up(place) });
    }

    /// Events handled.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Handles all events of the queues before `end`; `simulation` is without its flows.
    pub fn advance(&mut self, simulation: &mut Simulation, end: Time) {
        self.orders.rotate_right(1);
        self.orders[0].clear();
        let arrivals = std::mem::take(&mut self.arrivals);
        let mut merge = Merge::new(&arrivals);
        while let Some(time) = merge.next_time() {
            while let Some((at, born)) = self.calendar.pop(before(time)) {
                let born = *born;
                self.handle(simulation, at, &born);
            }
            let (arrival, is_alone) = merge.next();
            if is_alone && self.calendar.first_time() != time {
                self.arrive(simulation, arrival);
            } else {
                self.handle_instant(simulation, arrival, &mut merge);
            }
        }
        while let Some((at, born)) = self.calendar.pop(before(end)) {
            let born = *born;
            self.handle(simulation, at, &born);
        }
        self.arrivals = arrivals;
    }

    /// Handles all events of an instant that have been pushed before.
    #[inline(never)]
    fn handle_instant(&mut self, simulation: &mut Simulation, first: &Arrival, merge: &mut Merge) {
        let now = first.time;
        let mut events = vec![Born { event: Event::Arrive(first.packet), lineage: first.lineage }];
        while merge.next_time() == Some(now) {
            let (arrival, _) = merge.next();
            events.push(Born { event: Event::Arrive(arrival.packet), lineage: arrival.lineage });
        }
        while let Some((_, born)) = self.calendar.pop(now) {
            events.push(*born);
        }
        events.sort_by_key(|born| born.lineage.rank());
        self.is_uncertain |= events.windows(2).any(|two| two[0].lineage.compare(&two[1].lineage).is_none());
        events.iter().for_each(|born| self.handle(simulation, now, born));
    }

    #[inline(always)]
    fn arrive(&mut self, simulation: &mut Simulation, arrival: &Arrival) {
        self.begin(simulation, arrival.time, &arrival.lineage);
        self.crossing(simulation).arrive(arrival.packet);
    }

    fn handle(&mut self, simulation: &mut Simulation, now: Time, born: &Born) {
        self.begin(simulation, now, &born.lineage);
        match born.event {
            Event::Arrive(packet) => self.crossing(simulation).arrive(packet),
            Event::Sent { link } => self.crossing(simulation).sent(link),
            Event::WarmedUp => simulation.restart_meters(),
            event => {
                if let Some((lane, next)) = simulation.update(event) {
                    self.calendar.push(lane, next, Born { event, lineage: self.lineage });
                }
            }
        }
    }

    #[inline(always)]
    fn begin(&mut self, simulation: &mut Simulation, now: Time, lineage: &Lineage) {
        simulation.now = now;
        (self.now, self.lineage) = (now, lineage.of_queue(now, self.handled));
        self.handled += 1;
    }

    #[inline(always)]
    fn crossing<'a>(&'a mut self, simulation: &'a mut Simulation) -> AtHub<'a> {
        AtHub { hub: self, simulation }
    }

    /// Takes in what the shards counted in the round before of what passed two rounds before, in the order of the queues.
    pub fn count(&self, simulation: &mut Simulation, receipts: &[Vec<Receipt>]) {
        let mut receipts: Vec<_> = receipts.iter().map(|of_shard| of_shard.iter()).collect();
        for shard in &self.orders[2] {
            if let Some(receipt) = receipts[usize::from(*shard)].next()
                && receipt.counts
            {
                simulation.group_meters[usize::from(receipt.group)].count(receipt.delay, receipt.is_marked);
            }
        }
    }

    #[inline(always)]
    fn pass(&mut self, packet: Packet, time: Time) -> u16 {
        let shard = packet.flow >> self.shard_bits;
        self.passed[shard as usize].push(Passed { packet, time, decided: self.now, lineage: self.lineage });
        shard as u16
    }
}

/// The queues of a simulation, around which is the hub.
struct AtHub<'a> {
    hub: &'a mut Hub,
    simulation: &'a mut Simulation,
}

impl Pending for AtHub<'_> {
    #[inline(always)]
    fn push(&mut self, lane: Lane, time: Time, event: Event) {
        self.hub.calendar.push(lane, time, Born { event, lineage: self.hub.lineage });
    }

    fn push_timer(&mut self, time: Time, timer: Timer) {
        self.hub.calendar.push_timer(time, timer, self.hub.lineage);
    }
}

impl Crossing for AtHub<'_> {
    #[inline(always)]
    fn now(&self) -> Time {
        self.hub.now
    }

    #[inline(always)]
    fn measured(&self) -> Range<Time> {
        self.simulation.measured()
    }

    #[inline(always)]
    fn link(&mut self, index: usize) -> &mut Link {
        self.simulation.link(index)
    }

    #[inline(always)]
    fn group(&self, flow: u32) -> u16 {
        self.hub.group_of[flow as usize]
    }

    #[inline(always)]
    fn way(&self, group: u16) -> &Way {
        self.simulation.way(group)
    }

    #[inline(always)]
    fn receive(&mut self, packet: &Packet, time: Time) {
        let shard = self.hub.pass(*packet, time);
        self.hub.orders[0].push(shard);
    }

    fn send_home(&mut self, mut packet: Packet, time: Time) {
        packet.hop = AT_SENDER;
        self.hub.pass(packet, time);
    }

    fn push_last(&mut self, lane: Lane, time: Time, event: Event) {
        let born = Born { event, lineage: self.hub.lineage };
        self.hub.calendar.push_last(lane, time, born);
    }

    fn reserve(&mut self) -> Order {
        self.hub.calendar.reserve()
    }

    fn continue_at(&mut self, order: Order) -> Order {
        self.hub.calendar.continue_at(order)
    }
}

/// Merges what the shards have sent.
struct Merge<'a> {
    arrivals: &'a [Vec<Arrival>],
    /// The next of each shard: when, whose, and its place there.
    heads: BinaryHeap<Reverse<(Time, u16, u32)>>,
}

impl<'a> Merge<'a> {
    fn new(arrivals: &'a [Vec<Arrival>]) -> Self {
        let head = |(shard, of_shard): (usize, &Vec<Arrival>)| {
            of_shard.first().map(|first| Reverse((first.time, shard as u16, 0)))
        };
        Self { arrivals, heads: arrivals.iter().enumerate().filter_map(head).collect() }
    }

    #[inline]
    fn next_time(&self) -> Option<Time> {
        self.heads.peek().map(|Reverse((time, ..))| *time)
    }

    /// The next one, and whether no other comes at its instant; there must be one.
    #[inline]
    fn next(&mut self) -> (&'a Arrival, bool) {
        let mut head = self.heads.peek_mut().expect("there is a next arrival");
        let Reverse((time, shard, place)) = *head;
        let of_shard = &self.arrivals[usize::from(shard)];
        match of_shard.get(place as usize + 1) {
            Some(following) => {
                *head = Reverse((following.time, shard, place + 1));
                drop(head);
            }
            None => drop(PeekMut::pop(head)),
        }
        (&of_shard[place as usize], self.next_time() != Some(time))
    }
}
