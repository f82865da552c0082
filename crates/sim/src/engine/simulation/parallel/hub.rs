//! The queues of a run, which meet the packets of all flows in order.

use super::super::Simulation;
use super::lineage::{Lineage, OrderedEvent};
use super::rounds::Arrival;
use super::shard::{ForwardedPacket, MeasuredReceipt};
use crate::calendar::{Calendar, Lane, Order, Timer};
use crate::engine::event::{Event, EventSink};
use crate::engine::network::{LinkEvents, QueueNetwork};
use crate::measure::group::ReceiptMeter;
use crate::memory;
use crate::net::link::Link;
use crate::net::packet::{AT_SENDER, Packet};
use crate::net::route::Way;
use aqmlab_core::Time;
use std::ops::Range;

/// Distance, in packets, at which upcoming ones are fetched from memory.
const AHEAD: usize = 8;
/// Arrivals of a bin, about.
const IN_BIN: usize = 4;

/// Future events at the queues, and the packets that have passed them.
pub struct Hub {
    calendar: Calendar<OrderedEvent, Lineage>,
    /// Of each flow.
    group_of: Vec<u16>,
    /// 2 to this power flows are a shard.
    shard_bits: u32,
    /// Arrivals at the queues in this round, from each shard.
    pub arrivals: Vec<Vec<Arrival>>,
    /// The same in order.
    order: SortedArrivals,
    /// Packets that have passed the queues in this round, to each shard.
    pub forwarded: Vec<Vec<ForwardedPacket>>,
    /// The shards of the packets that have passed to their receivers, in order: in this round, in the one before, and in
    /// that before.
    orders: [Vec<u16>; 3],
    /// Events handled so far.
    handled: u64,
    /// Time before which all events have been handled.
    until: Time,
    /// Of the present event.
    lineage: Lineage,
    now: Time,
    /// The order of two events could not be told.
    pub is_uncertain: bool,
    /// There are so many flows that what they touch is to be fetched from memory in time.
    is_large: bool,
}

impl Hub {
    pub fn new(group_of: Vec<u16>, shard_bits: u32, lanes: usize, is_large: bool) -> Self {
        let shards = group_of.len().div_ceil(1 << shard_bits);
        Self {
            calendar: Calendar::with_lanes(lanes),
            group_of,
            shard_bits,
            arrivals: vec![Vec::new(); shards],
            order: SortedArrivals::default(),
            forwarded: vec![Vec::new(); shards],
            orders: Default::default(),
            handled: 0,
            until: Time::ZERO,
            lineage: Lineage::default(),
            now: Time::ZERO,
            is_uncertain: false,
            is_large,
        }
    }

    /// An event of the set-up, which is the `place`-th.
    pub fn push_set_up(&mut self, time: Time, event: Event, place: u64) {
        self.calendar.push(Lane::ANY, time, OrderedEvent { event, lineage: Lineage::of_set_up(place) });
    }

    /// Events handled.
    pub fn handled(&self) -> u64 {
        self.handled
    }

    /// Handles all events of the queues before `end`; `simulation` is without its flows.
    pub fn advance(&mut self, simulation: &mut Simulation, end: Time) {
        self.orders.rotate_right(1);
        self.orders[0].clear();
        let (arrivals, mut order) = (std::mem::take(&mut self.arrivals), std::mem::take(&mut self.order));
        order.sort(&arrivals, self.until..end);
        self.until = end;
        let mut rest = &order.places[..];
        while let Some(first) = rest.first().filter(|place| place.time < end) {
            if self.is_large {
                self.fetch(rest, &arrivals);
            }
            let mut next = self.calendar.first_time();
            while next < first.time {
                self.handle_first(simulation);
                next = self.calendar.first_time();
            }
            let (now, after) = at_once(rest);
            if next > first.time && are_siblings(now, &arrivals) {
                now.iter().for_each(|place| self.arrive(simulation, place.of(&arrivals)));
            } else {
                self.handle_instant(simulation, now, &arrivals);
            }
            rest = after;
        }
        while self.calendar.first_time() < end {
            self.handle_first(simulation);
        }
        (self.arrivals, self.order) = (arrivals, order);
    }

    /// Asks for what will be touched in a little while.
    #[inline(always)]
    fn fetch(&self, places: &[ArrivalIndex], arrivals: &[Vec<Arrival>]) {
        if let Some(coming) = places.get(AHEAD) {
            memory::fetch(coming.of(arrivals));
        }
        if let Some(coming) = places.get(AHEAD / 2) {
            memory::fetch_at(&self.group_of, coming.of(arrivals).packet.flow as usize);
        }
    }

    /// Handles the first event of the calendar.
    fn handle_first(&mut self, simulation: &mut Simulation) {
        if let Some((at, ordered)) = self.calendar.pop(Time::NEVER) {
            let ordered = *ordered;
            self.handle(simulation, at, &ordered);
        }
    }

    /// Handles all events of an instant that have been pushed before.
    #[inline(never)]
    fn handle_instant(&mut self, simulation: &mut Simulation, places: &[ArrivalIndex], arrivals: &[Vec<Arrival>]) {
        let time = places[0].time;
        let mut events: Vec<OrderedEvent> = places.iter().map(|place| place.of(arrivals).event()).collect();
        while let Some((_, ordered)) = self.calendar.pop(time) {
            events.push(*ordered);
        }
        events.sort_by_key(|ordered| ordered.lineage.rank());
        self.is_uncertain |= events.windows(2).any(|two| two[0].lineage.compare(&two[1].lineage).is_none());
        events.iter().for_each(|ordered| self.handle(simulation, time, ordered));
    }

    #[inline(always)]
    fn arrive(&mut self, simulation: &mut Simulation, arrival: &Arrival) {
        self.begin(simulation, arrival.time, &arrival.lineage);
        self.network(simulation).arrive(arrival.packet);
    }

    fn handle(&mut self, simulation: &mut Simulation, now: Time, ordered: &OrderedEvent) {
        self.begin(simulation, now, &ordered.lineage);
        match ordered.event {
            Event::Arrive(packet) => self.network(simulation).arrive(packet),
            Event::Sent { link } => self.network(simulation).sent(link),
            Event::WarmedUp => simulation.restart_meters(),
            event => {
                if let Some((lane, next)) = simulation.update(event) {
                    self.calendar.push(lane, next, OrderedEvent { event, lineage: self.lineage });
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
    fn network<'a>(&'a mut self, simulation: &'a mut Simulation) -> HubNetwork<'a> {
        HubNetwork { hub: self, simulation }
    }

    /// Takes in what the shards counted in the round before of what passed two rounds before, in the order of the queues.
    pub fn count(&self, simulation: &mut Simulation, receipts: &[Vec<MeasuredReceipt>]) {
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
        memory::append(&mut self.forwarded[shard as usize], ForwardedPacket { packet, time, lineage: self.lineage });
        shard as u16
    }
}

/// The queues of a simulation, around which is the hub.
struct HubNetwork<'a> {
    hub: &'a mut Hub,
    simulation: &'a mut Simulation,
}

impl EventSink for HubNetwork<'_> {
    #[inline(always)]
    fn push(&mut self, lane: Lane, time: Time, event: Event) {
        self.hub.calendar.push(lane, time, OrderedEvent { event, lineage: self.hub.lineage });
    }

    fn push_timer(&mut self, time: Time, timer: Timer) {
        self.hub.calendar.push_timer(time, timer, self.hub.lineage);
    }
}

impl QueueNetwork for HubNetwork<'_> {
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
    fn events_of(&mut self, index: usize) -> &mut LinkEvents {
        self.simulation.events_of(index)
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
        let ordered = OrderedEvent { event, lineage: self.hub.lineage };
        self.hub.calendar.push_last(lane, time, ordered);
    }

    fn reserve(&mut self) -> Order {
        self.hub.calendar.reserve()
    }

    fn continue_at(&mut self, order: Order) -> Order {
        self.hub.calendar.continue_at(order)
    }
}

/// The places of one instant, and those after them.
#[inline(always)]
fn at_once(places: &[ArrivalIndex]) -> (&[ArrivalIndex], &[ArrivalIndex]) {
    let others = places[1..].iter().take_while(|place| place.time == places[0].time);
    places.split_at(1 + others.count())
}

/// True if one event has pushed all of them.
#[inline(always)]
fn are_siblings(places: &[ArrivalIndex], arrivals: &[Vec<Arrival>]) -> bool {
    places[1..].iter().all(|other| other.of(arrivals).lineage == places[0].of(arrivals).lineage)
}

/// Arrivals in order of time, then of shards, then as they were pushed.
#[derive(Default)]
struct SortedArrivals {
    places: Vec<ArrivalIndex>,
    /// End of each bin.
    ends: Vec<u32>,
}

/// Position of an arrival.
#[derive(Clone, Copy, Default)]
struct ArrivalIndex {
    time: Time,
    shard: u32,
    index: u32,
}

impl ArrivalIndex {
    #[inline(always)]
    fn of<'a>(&self, arrivals: &'a [Vec<Arrival>]) -> &'a Arrival {
        &arrivals[self.shard as usize][self.index as usize]
    }
}

impl SortedArrivals {
    /// Deals what arrives, within a window but for the last packets of a run, into bins of equal times and sorts each.
    fn sort(&mut self, arrivals: &[Vec<Arrival>], window: Range<Time>) {
        let count: usize = arrivals.iter().map(Vec::len).sum();
        let bits = usize::BITS - (count / IN_BIN).leading_zeros();
        let span = window.end.since(window.start).0;
        let shift = (u64::BITS - span.leading_zeros()).saturating_sub(bits);
        let bin = |time: Time| (time.since(window.start).0.min(span) >> shift) as usize;
        self.ends.clear();
        self.ends.resize(1 << bits, 0);
        for of_shard in arrivals {
            for (i, arrival) in of_shard.iter().enumerate() {
                memory::fetch_at(of_shard, i + AHEAD);
                self.ends[bin(arrival.time)] += 1;
            }
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum); // where the bin begins, until it is filled
        }
        self.places.resize(count, ArrivalIndex::default());
        for (shard, of_shard) in arrivals.iter().enumerate() {
            for (index, Arrival { time, .. }) in of_shard.iter().enumerate() {
                let end = &mut self.ends[bin(*time)];
                self.places[*end as usize] = ArrivalIndex { time: *time, shard: shard as u32, index: index as u32 };
                *end += 1;
            }
        }
        let mut begin = 0;
        for end in &self.ends {
            self.places[begin..*end as usize].sort_by_key(|place| place.time);
            begin = *end as usize;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounds::tests::arrival;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// By time, and at one time by shard and place: what one event has pushed keeps its order.
        #[test]
        fn arrivals_are_sorted_by_time_shard_and_place(
            times in prop::collection::vec(prop::collection::vec(1000u64..1400, 0..60), 1..5),
            end in 1000u64..1300,
        ) {
            let arrival = |time: &u64| arrival(Time(*time));
            let arrivals: Vec<Vec<_>> = times.iter().map(|of_shard| of_shard.iter().map(arrival).collect()).collect();
            let mut order = SortedArrivals::default();
            for _ in 0..2 {
                order.sort(&arrivals, Time(1000)..Time(end));
                let sorted: Vec<_> = order.places.iter().map(|place| (place.time.0, place.shard, place.index)).collect();
                let places = times.iter().zip(0u32..).flat_map(|(of_shard, shard)| {
                    of_shard.iter().zip(0u32..).map(move |(time, index)| (*time, shard, index))
                });
                let mut expected: Vec<_> = places.collect();
                expected.sort();
                prop_assert_eq!(sorted, expected);
            }
        }
    }
}
