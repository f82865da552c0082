//! The event queue. Events come out by time and, at equal times, in the order in which they were pushed.
//!
//! Most events of a network lie a constant delay ahead, so they are pushed in order: a lane holds them as a plain
//! queue at about a nanosecond each. What is out of order, and all timers, go to a 4-ary heap.

use aqmlab_core::Time;

/// Time in the upper half; order of insertion, then the heap's slot, in the lower.
type Key = u128;

const SLOT_BITS: u32 = 26;
const NO_EVENT: Key = Key::MAX;
/// Order of insertion from which on an event is one of the last of its instant.
const LAST: u64 = 1 << 37;
/// Pushes for which a place in the order of insertion is kept (see [`Calendar::reserve`]).
const RESERVED: u64 = 4;
/// Every pop looks at the head of every lane, so there are few.
const MAX_LANES: usize = 12;

/// A place in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order(u64);

/// Where an event is pushed: a lane, or the heap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u8);

impl Lane {
    /// Events in any order.
    pub const HEAP: Lane = Lane(0);
}

/// Pending events.
#[derive(Clone)]
pub struct Calendar<E> {
    heap: Vec<Key>,
    slots: Vec<E>,
    free_slots: Vec<u32>,
    /// The first stands for the heap and stays empty.
    lanes: Vec<Ring<E>>,
    /// Key of the first event of the heap and of each lane.
    heads: [Key; MAX_LANES],
    pushed: u64,
}

impl<E: Copy + Default> Calendar<E> {
    pub fn new() -> Self {
        Self {
            heap: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            lanes: vec![Ring::new()],
            heads: [NO_EVENT; MAX_LANES],
            pushed: 0,
        }
    }

    /// A lane for events that are mostly pushed in order of time; the heap when there are too many lanes.
    pub fn lane(&mut self) -> Lane {
        if self.lanes.len() == MAX_LANES {
            return Lane::HEAP;
        }
        self.lanes.push(Ring::new());
        Lane(self.lanes.len() as u8 - 1)
    }

    /// Inlined, so that an event is written where it stays and not copied there through the stack.
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, time: Time, event: E) {
        self.pushed += 1;
        self.push_key(lane, key(time, self.pushed), event);
    }

    /// An event that comes after all others of its instant, those included that are pushed later. Such events come in
    /// order of insertion among themselves.
    pub fn push_last(&mut self, lane: Lane, time: Time, event: E) {
        self.pushed += 1;
        self.push_key(lane, key(time, LAST | self.pushed), event);
    }

    /// Keeps a place in the order of insertion for up to four events that are pushed later.
    pub fn reserve(&mut self) -> Order {
        let order = Order(self.pushed);
        self.pushed += RESERVED;
        order
    }

    /// What is pushed from now on takes the place kept. Returns the present place, to go on from by the same call.
    pub fn continue_at(&mut self, order: Order) -> Order {
        Order(std::mem::replace(&mut self.pushed, order.0))
    }

    #[inline(always)]
    fn push_key(&mut self, lane: Lane, key: Key, event: E) {
        let ring = &mut self.lanes[usize::from(lane.0)];
        if lane == Lane::HEAP || (ring.len > 0 && key < ring.last_key) {
            return self.push_heap(key, event);
        }
        if ring.len == 0 {
            self.heads[usize::from(lane.0) % MAX_LANES] = key;
        }
        ring.push(key, event);
    }

    /// The earliest event up to and including `until`, but none of the last of that instant ([`Calendar::push_last`]).
    /// It stays readable until the next push.
    #[inline(always)]
    pub fn pop(&mut self, until: Time) -> Option<(Time, &E)> {
        let mut lane = 0;
        for i in 1..self.lanes.len().min(MAX_LANES) {
            if self.heads[i] < self.heads[lane] {
                lane = i;
            }
        }
        let first = self.heads[lane];
        if first >= key(until, LAST) {
            return None;
        }
        let time = Time((first >> 64) as u64);
        if lane == 0 {
            let slot = self.pop_heap();
            return Some((time, &self.slots[slot]));
        }
        let ring = &mut self.lanes[lane];
        let popped = ring.pop();
        self.heads[lane] = ring.first_key();
        Some((time, &ring.items[popped].1))
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
        assert!(slot < 1 << SLOT_BITS, "more than 67 million events pending");
        let key = key | Key::from(slot);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 && self.heap[(hole - 1) / 4] > key {
            self.heap[hole] = self.heap[(hole - 1) / 4];
            hole = (hole - 1) / 4;
        }
        self.heap[hole] = key;
        self.heads[0] = self.heap[0];
    }

    /// Slot of the first event of the heap.
    fn pop_heap(&mut self) -> usize {
        let slot = (self.heap[0] as u32) & ((1 << SLOT_BITS) - 1);
        self.free_slots.push(slot);
        let last = self.heap.pop().unwrap_or(NO_EVENT);
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        self.heads[0] = self.heap.first().copied().unwrap_or(NO_EVENT);
        slot as usize
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
            let least = match children.len() {
                4 => least_of_four(children),
                few => (0..few).min_by_key(|i| children[*i]).unwrap_or(0),
            };
            let least_key = children[least];
            if least_key >= key {
                break;
            }
            self.heap[hole] = least_key;
            hole = first_child + least;
        }
        self.heap[hole] = key;
    }
}

#[inline(always)]
fn key(time: Time, order: u64) -> Key {
    Key::from(time.0) << 64 | Key::from(order << SLOT_BITS)
}

/// Which of four keys is the least. That cannot be predicted, so it is computed in two rounds, not branched on.
#[inline(always)]
fn least_of_four(keys: &[Key]) -> usize {
    let (first, second) = (usize::from(keys[1] < keys[0]), 2 + usize::from(keys[3] < keys[2]));
    first + (second - first) * usize::from(keys[second] < keys[first])
}

/// First in, first out; grows when full, to a power of two.
#[derive(Clone)]
struct Ring<E> {
    items: Vec<(Key, E)>,
    first: usize,
    len: usize,
    last_key: Key,
}

impl<E: Copy + Default> Ring<E> {
    fn new() -> Self {
        Self { items: Vec::new(), first: 0, len: 0, last_key: 0 }
    }

    #[inline(always)]
    fn push(&mut self, key: Key, event: E) {
        if self.len == self.items.len() {
            self.grow();
        }
        let end = (self.first + self.len) & (self.items.len() - 1);
        self.items[end] = (key, event);
        self.len += 1;
        self.last_key = key;
    }

    /// Place of the first event, which is overwritten by a later push; the ring must not be empty.
    #[inline]
    fn pop(&mut self) -> usize {
        let place = self.first;
        self.first = (place + 1) & (self.items.len() - 1);
        self.len -= 1;
        place
    }

    #[inline]
    fn first_key(&self) -> Key {
        if self.len == 0 { NO_EVENT } else { self.items[self.first].0 }
    }

    #[cold]
    fn grow(&mut self) {
        self.items.rotate_left(self.first);
        self.first = 0;
        self.items.resize((2 * self.len).max(64), (NO_EVENT, E::default()));
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
                    if let Some((time, event)) = calendar.pop(Time::NEVER) {
                        now = time.0;
                        popped.push((time.0, *event));
                    }
                }
            }
            popped.extend(std::iter::from_fn(|| calendar.pop(Time::NEVER).map(|(time, event)| (time.0, *event))));
            expected.sort();
            prop_assert_eq!(popped, expected);
        }
    }

    /// The events up to a time.
    fn popped(calendar: &mut Calendar<u32>, until: u64) -> Vec<u32> {
        std::iter::from_fn(|| calendar.pop(Time(until)).map(|(_, event)| *event)).collect()
    }

    #[test]
    fn the_last_of_an_instant_come_after_what_is_pushed_later() {
        let mut calendar = Calendar::new();
        calendar.push_last(Lane::HEAP, Time(5), 3);
        calendar.push_last(Lane::HEAP, Time(5), 4);
        calendar.push(Lane::HEAP, Time(5), 2);
        calendar.push(Lane::HEAP, Time(4), 1);
        assert_eq!(popped(&mut calendar, 5), [1, 2], "the end of the instant has not come");
        assert_eq!(popped(&mut calendar, 6), [3, 4]);
    }

    #[test]
    fn a_reserved_place_comes_before_what_was_pushed_after_it() {
        let mut calendar = Calendar::new();
        let lane = calendar.lane();
        calendar.push(lane, Time(5), 1);
        let kept = calendar.reserve();
        calendar.push(lane, Time(5), 4);
        let present = calendar.continue_at(kept);
        calendar.push(lane, Time(5), 2);
        calendar.push(Lane::HEAP, Time(5), 3);
        calendar.continue_at(present);
        calendar.push(lane, Time(5), 5);
        assert_eq!(popped(&mut calendar, 5), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn runs_out_of_lanes_gracefully() {
        let mut calendar = Calendar::new();
        let lanes: Vec<Lane> = (0..20).map(|_| calendar.lane()).collect();
        for (i, lane) in lanes.iter().enumerate() {
            calendar.push(*lane, Time(20 - i as u64), i);
        }
        let order: Vec<usize> = std::iter::from_fn(|| calendar.pop(Time::NEVER).map(|(_, i)| *i)).collect();
        assert_eq!(order, (0..20).rev().collect::<Vec<_>>());
    }
}
