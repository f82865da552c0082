//! Future arrivals at the queues, by the round in which they are handled.

use super::lineage::{Lineage, OrderedEvent};
use crate::calendar::{Calendar, Lane};
use crate::engine::event::Event;
use crate::memory;
use crate::net::packet::Packet;
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;

/// Number of rounds ahead that have a list each; what comes later is sorted.
const NEAR: usize = 256;

/// A packet that reaches a queue: a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct Arrival {
    pub time: Time,
    pub packet: Packet,
    pub lineage: Lineage,
}

impl Arrival {
    /// The arrival as an event of a calendar.
    pub fn event(&self) -> OrderedEvent {
        OrderedEvent { event: Event::Arrive(self.packet), lineage: self.lineage }
    }
}

/// Arrivals by round.
pub struct Rounds {
    /// End of the first round.
    ends: Time,
    /// Length of each of the others.
    length: Span,
    /// In any order, those of the first round and of the next ones.
    near: VecDeque<Vec<Arrival>>,
    far: Calendar<OrderedEvent, Lineage>,
    /// Empty lists, to be filled again.
    spare: Vec<Vec<Arrival>>,
}

impl Rounds {
    pub fn new(length: Span) -> Self {
        Self { ends: Time::ZERO, length, near: VecDeque::new(), far: Calendar::default(), spare: Vec::new() }
    }

    /// The first round ends at `ends`.
    pub fn begin(&mut self, ends: Time) {
        self.ends = ends;
        let near = before(ends + Span(self.length.0.saturating_mul(NEAR as u64 - 1)));
        while let Some((time, ordered)) = self.far.pop(near) {
            let OrderedEvent { event: Event::Arrive(packet), lineage } = *ordered else {
                unreachable!("a packet arrives")
            };
            self.push(time, packet, lineage);
        }
    }

    #[inline(always)]
    pub fn push(&mut self, time: Time, packet: Packet, lineage: Lineage) {
        let ahead = if time < self.ends { 0 } else { 1 + time.since(self.ends).0 / self.length.0 };
        match self.near.get_mut(ahead as usize) {
            Some(round) => memory::append(round, Arrival { time, packet, lineage }),
            None => self.push_ahead(ahead, Arrival { time, packet, lineage }),
        }
    }

    /// Into a round that has no list yet.
    #[cold]
    fn push_ahead(&mut self, ahead: u64, arrival: Arrival) {
        let Arrival { time, packet, lineage } = arrival;
        if ahead >= NEAR as u64 {
            return self.far.push(Lane::ANY, time, OrderedEvent { event: Event::Arrive(packet), lineage });
        }
        while self.near.len() <= ahead as usize {
            self.near.push_back(self.spare.pop().unwrap_or_default());
        }
        self.near[ahead as usize].push(arrival);
    }

    /// Exchanges the first round for a list that is no longer needed.
    pub fn end(&mut self, list: &mut Vec<Arrival>) {
        list.clear();
        let first = self.near.pop_front().unwrap_or_default();
        self.spare.push(std::mem::replace(list, first));
    }
}

/// The last instant that is not `time` yet; nothing happens before the first.
pub fn before(time: Time) -> Time {
    Time(time.0.saturating_sub(1))
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::net::packet::{AnnouncedRtt, Data, Label};
    use aqmlab_aqm::Ecn;

    /// Of a packet that was sent at once.
    pub fn arrival(time: Time) -> Arrival {
        let (rtt, ecn) = (AnnouncedRtt::default(), Ecn::NotEct);
        let data = Data { sent_at: time, seq: 0, rtt, ecn, is_cwr: false, is_resent: false };
        Arrival { time, packet: Packet::of_data(Label::default(), 1000, data), lineage: Lineage::default() }
    }

    #[test]
    fn each_round_has_its_arrivals_near_and_far() {
        let mut rounds = Rounds::new(Span(10));
        let (mut list, mut found) = (Vec::new(), 0);
        for round in 0..700 {
            let ends = 15 + 10 * round;
            rounds.begin(Time(ends));
            for ahead in [0, 7, 30, 2550, 2570, 5600].into_iter().filter(|_| round < 100) {
                let Arrival { time, packet, lineage } = arrival(Time(ends - 3 + ahead));
                rounds.push(time, packet, lineage);
            }
            rounds.end(&mut list);
            assert!(list.iter().all(|arrival| (ends - 10..ends).contains(&arrival.time.0)), "the round up to {ends}");
            assert!(list.iter().all(|arrival| arrival.packet.data().sent_at == arrival.time));
            found += list.len();
        }
        assert_eq!(found, 600);
    }
}
