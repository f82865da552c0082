//! The event queue. Events come out by time and, at equal times, in the order in which they were pushed.
//!
//! Most events of a network lie a constant delay ahead, so they are pushed in order: a lane holds them as a plain
//! queue at about a nanosecond each. What is out of order, and all timers, go to a 4-ary heap.

use aqmlab_core::Time;
use std::collections::VecDeque;

/// Time in the upper half; order of insertion, then the heap's slot, in the lower.
type Key = u128;

const SLOT_BITS: u32 = 24;
const NO_EVENT: Key = Key::MAX;
/// Every pop looks at the head of every lane, so there are few.
const MAX_LANES: usize = 12;

/// Where an event is pushed: a lane, or the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u8);

impl Lane {
    /// Events in any order.
    pub const HEAP: Lane = Lane(u8::MAX);
}

/// Pending events.
pub struct Calendar<E> {
    heap: Vec<Key>,
    slots: Vec<E>,
    free_slots: Vec<u32>,
    lanes: Vec<VecDeque<(Key, E)>>,
    heads: [Key; MAX_LANES],
    pushed: u64,
}

impl<E: Copy> Calendar<E> {
    pub fn new() -> Self {
        Self {
            heap: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            lanes: Vec::new(),
            heads: [NO_EVENT; MAX_LANES],
            pushed: 0,
        }
    }

    /// A lane for events that are mostly pushed in order of time; the heap when there are too many lanes.
    pub fn lane(&mut self) -> Lane {
        if self.lanes.len() == MAX_LANES {
            return Lane::HEAP;
        }
        self.lanes.push(VecDeque::with_capacity(64));
        Lane(self.lanes.len() as u8 - 1)
    }

    #[inline]
    pub fn push(&mut self, lane: Lane, time: Time, event: E) {
        self.pushed += 1;
        let key = Key::from(time.0) << 64 | Key::from(self.pushed << SLOT_BITS);
        let Some(queue) = self.lanes.get_mut(usize::from(lane.0)) else { return self.push_heap(key, event) };
        match queue.back() {
            None => self.heads[usize::from(lane.0)] = key,
            Some((last, _)) if *last < key => {}
            Some(_) => return self.push_heap(key, event),
        }
        queue.push_back((key, event));
    }

    /// The earliest event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let (mut first, mut lane) = (self.heap.first().copied().unwrap_or(NO_EVENT), usize::MAX);
        for (i, head) in self.heads[..self.lanes.len()].iter().enumerate() {
            if *head < first {
                (first, lane) = (*head, i);
            }
        }
        if first == NO_EVENT {
            return None;
        }
        let event = match self.lanes.get_mut(lane) {
            Some(queue) => {
                let (_, event) = queue.pop_front()?;
                self.heads[lane] = queue.front().map_or(NO_EVENT, |(key, _)| *key);
                event
            }
            None => self.pop_heap(),
        };
        Some((Time((first >> 64) as u64), event))
    }

    fn push_heap(&mut self, key: Key, event: E) {
        let slot = match self.free_slots.pop() {
            Some(slot) => {
                self.slots[slot as usize] = event;
                slot
            }
            None => {
                self.slots.push(event);
                self.slots.len() as u32 - 1
            }
        };
        assert!(slot < 1 << SLOT_BITS, "more than 16 million events pending");
        let key = key | Key::from(slot);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 && self.heap[(hole - 1) / 4] > key {
            self.heap[hole] = self.heap[(hole - 1) / 4];
            hole = (hole - 1) / 4;
        }
        self.heap[hole] = key;
    }

    fn pop_heap(&mut self) -> E {
        let slot = (self.heap[0] as u32) & ((1 << SLOT_BITS) - 1);
        self.free_slots.push(slot);
        let last = self.heap.pop().unwrap_or(NO_EVENT);
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        self.slots[slot as usize]
    }

    /// Puts `key` where the first was and lets it sink.
    fn sift_down(&mut self, key: Key) {
        let (mut hole, len) = (0, self.heap.len());
        loop {
            let first_child = 4 * hole + 1;
            if first_child >= len {
                break;
            }
            let children = &self.heap[first_child..len.min(first_child + 4)];
            let (mut least, mut least_key) = (0, children[0]);
            for (i, child) in children.iter().enumerate().skip(1) {
                if *child < least_key {
                    (least, least_key) = (i, *child);
                }
            }
            if least_key >= key {
                break;
            }
            self.heap[hole] = least_key;
            hole = first_child + least;
        }
        self.heap[hole] = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever goes where, events come out by time, and in order of insertion at equal times.
        #[test]
        fn sorts_by_time_then_insertion(pushes in prop::collection::vec((0u64..50, 0usize..4, 0usize..3), 0..300)) {
            let mut calendar = Calendar::new();
            let lanes = [calendar.lane(), calendar.lane(), Lane::HEAP, Lane::HEAP];
            let (mut expected, mut popped, mut now) = (Vec::new(), Vec::new(), 0);
            for (i, (ahead, lane, pops)) in pushes.into_iter().enumerate() {
                calendar.push(lanes[lane], Time(now + ahead), i);
                expected.push((now + ahead, i));
                for _ in 0..pops {
                    if let Some((time, event)) = calendar.pop() {
                        now = time.0;
                        popped.push((time.0, event));
                    }
                }
            }
            popped.extend(std::iter::from_fn(|| calendar.pop()).map(|(time, event)| (time.0, event)));
            expected.sort();
            prop_assert_eq!(popped, expected);
        }
    }

    #[test]
    fn runs_out_of_lanes_gracefully() {
        let mut calendar = Calendar::new();
        let lanes: Vec<Lane> = (0..20).map(|_| calendar.lane()).collect();
        for (i, lane) in lanes.iter().enumerate() {
            calendar.push(*lane, Time(20 - i as u64), i);
        }
        let order: Vec<usize> = std::iter::from_fn(|| calendar.pop()).map(|(_, i)| i).collect();
        assert_eq!(order, (0..20).rev().collect::<Vec<_>>());
    }
}
