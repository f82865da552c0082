//! The event queue. Events come out by time and, at equal times, in the order in which they were pushed.
//!
//! Most events of a network lie a constant delay ahead, so they are pushed in order: a lane holds them as a plain
//! queue at about a nanosecond each. What is out of order goes to a timing wheel, and what only tells of a flow's timer to
//! another one, where it takes a third of the memory; what neither takes, because it comes very soon or very late, goes to a 4-ary
//! heap.

mod key;
mod timer;
mod wheel;

pub use timer::{FromTimer, Timer};

use aqmlab_core::Time;
use key::{Key, NO_EVENT};
use wheel::Wheel;

const SLOT_BITS: u32 = 26;
/// Order of insertion from which on an event is one of the last of its instant.
const LAST: u64 = 1 << 37;
/// Pushes for which a place in the order of insertion is kept (see [`Calendar::reserve`]).
const RESERVED: u64 = 4;
/// Distance, in events of a lane, at which upcoming ones are fetched from memory.
const AHEAD: usize = 8;
/// Every pop looks at the head of every lane, so there are few.
const MAX_LANES: usize = 12;
/// Room for them: a power of two, so that no index needs a check.
const ROOM: usize = MAX_LANES.next_power_of_two();

/// A place in the order of insertion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order(u64);

/// The queue of the calendar that an event is pushed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u8);

impl Lane {
    /// Events in any order.
    pub const ANY: Lane = Lane(0);
}

/// Pending events.
#[derive(Clone)]
pub struct Calendar<E, D = ()> {
    heap: Vec<Key>,
    slots: Vec<E>,
    free_slots: Vec<u32>,
    /// The next 1.1 s, in slots of 4.3 ms.
    wheel: Wheel<E, 32>,
    /// The next 17 s, in slots of 69 ms: the timers are in the keys, and with each what else there is to know.
    timers: Wheel<D, 36>,
    /// The timer that has come last.
    timer: E,
    /// The first stands for wheels and heap and stays empty.
    lanes: [Ring<E>; ROOM],
    /// Number of lanes in use, the first one included.
    used: usize,
    /// Key of the first event of wheels and heap together, and of each lane.
    heads: [Key; ROOM],
    pushed: u64,
}

impl<E: Copy + Default + FromTimer<D>, D: Copy + Default> Default for Calendar<E, D> {
    /// Nothing is pending.
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            wheel: Wheel::new(),
            timers: Wheel::new(),
            timer: E::default(),
            lanes: std::array::from_fn(|_| Ring::new()),
            used: 1,
            heads: [NO_EVENT; ROOM],
            pushed: 0,
        }
    }
}

impl<E: Copy + Default + FromTimer<D>, D: Copy + Default> Calendar<E, D> {
    /// One with so many lanes beside [`Lane::ANY`], which are numbered as those of another one.
    pub fn with_lanes(lanes: usize) -> Self {
        Self { used: lanes + 1, ..Self::default() }
    }

    /// Number of lanes beside [`Lane::ANY`].
    pub fn lanes(&self) -> usize {
        self.used - 1
    }

    /// Time of the first event; [`Time::NEVER`] without one.
    #[inline]
    pub fn first_time(&self) -> Time {
        let time = |lane: usize| (self.heads[lane % ROOM] >> 64) as u64;
        Time((1..self.used).fold(time(0), |first, lane| first.min(time(lane))))
    }

    /// A lane for events that are mostly pushed in order of time; any order when there are too many lanes.
    pub fn lane(&mut self) -> Lane {
        if self.used == MAX_LANES {
            return Lane::ANY;
        }
        self.used += 1;
        Lane(self.used as u8 - 1)
    }

    /// Inlined, so that an event is written where it stays and not copied there through the stack.
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, time: Time, event: E) {
        self.pushed += 1;
        self.push_key(lane, key(time, self.pushed), event);
    }

    /// The same, in any order, of a timer with what else there is to know.
    pub fn push_timer(&mut self, time: Time, timer: Timer, data: D) {
        self.pushed += 1;
        let key = key(time, self.pushed);
        if self.timers.takes(key) {
            let key = key | Key::from(timer.bits());
            self.heads[0] = self.heads[0].min(key);
            *self.timers.place(key) = data;
        } else {
            *self.place_in_any_order(key) = E::from_timer(timer, data);
        }
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

    /// Lets the next pushes take the reserved place. Returns the present place, to go on from by the same call.
    pub fn continue_at(&mut self, order: Order) -> Order {
        Order(std::mem::replace(&mut self.pushed, order.0))
    }

    #[inline(always)]
    fn push_key(&mut self, lane: Lane, key: Key, event: E) {
        *self.place(lane, key) = event;
    }

    /// Storage for an event with this key.
    #[inline(always)]
    fn place(&mut self, lane: Lane, key: Key) -> &mut E {
        let index = usize::from(lane.0) % ROOM;
        if lane == Lane::ANY || !self.lanes[index].is_next(key) {
            return self.place_in_any_order(key);
        }
        let ring = &mut self.lanes[index];
        if ring.len == 0 {
            ring.first = 0; // few events stay in the same cache lines
            self.heads[index] = key;
        }
        ring.place(key)
    }

    /// The earliest event up to and including `until`, but none of the last of that instant ([`Calendar::push_last`]).
    /// It stays readable until the next push.
    #[inline(always)]
    pub fn pop(&mut self, until: Time) -> Option<(Time, &E)> {
        self.pop_showing(until, false, |_| ())
    }

    /// The same. If `shows`, shows `coming` events that follow in a little while, so that what they will touch can be fetched
    /// from memory; each is shown once at most, and few are not.
    #[inline(always)]
    pub fn pop_showing(&mut self, until: Time, shows: bool, mut coming: impl FnMut(&E)) -> Option<(Time, &E)> {
        let (lane, first) = self.first();
        if first >= key(until, LAST) {
            return None;
        }
        let time = Time((first >> 64) as u64);
        if lane == 0 {
            let coming = |event: &E| {
                if shows {
                    coming(event);
                }
            };
            return Some((time, self.pop_any(coming)));
        }
        let ring = &mut self.lanes[lane];
        if shows {
            ring.look_ahead(&mut coming);
        }
        let popped = ring.pop();
        self.heads[lane] = ring.first_key();
        Some((time, &ring.items[popped].1))
    }

    /// The lane whose head comes first, and its key.
    #[inline(always)]
    fn first(&self) -> (usize, Key) {
        let (mut first, mut key) = (0, self.heads[0]);
        for (lane, &head) in self.heads.iter().enumerate().skip(1) {
            if lane >= self.used {
                break;
            }
            if head < key {
                branch(); // a conditional move would make all that follows wait for the heads
                (first, key) = (lane, head);
            }
        }
        (first, key)
    }

    /// Storage for an event with this key, in the wheel or in the heap.
    fn place_in_any_order(&mut self, key: Key) -> &mut E {
        self.heads[0] = self.heads[0].min(key);
        if self.wheel.takes(key) { self.wheel.place(key) } else { self.place_in_heap(key) }
    }

    /// The first event of wheels and heap together; there must be one.
    #[inline]
    fn pop_any(&mut self, mut coming: impl FnMut(&E)) -> &E {
        if self.wheel.first_key() == self.heads[0] {
            let place = self.wheel.pop(|(_, event)| coming(event));
            self.heads[0] = self.first_in_any_order();
            self.wheel.at(place)
        } else if self.timers.first_key() == self.heads[0] {
            let place = self.timers.pop(|([_, order], data)| coming(&E::from_timer(timer(*order), *data)));
            self.timer = E::from_timer(timer(self.heads[0] as u64), *self.timers.at(place));
            self.heads[0] = self.first_in_any_order();
            &self.timer
        } else {
            let slot = self.pop_heap();
            self.heads[0] = self.first_in_any_order();
            &self.slots[slot]
        }
    }

    /// Key of the first event of wheels and heap together.
    #[inline]
    fn first_in_any_order(&self) -> Key {
        let heap = self.heap.first().copied().unwrap_or(NO_EVENT);
        self.wheel.first_key().min(self.timers.first_key()).min(heap)
    }

    fn place_in_heap(&mut self, key: Key) -> &mut E {
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(E::default());
            self.slots.len() as u32 - 1
        });
        assert!(slot < 1 << SLOT_BITS, "more than 67 million events pending");
        let key = key | Key::from(slot);
        let mut hole = self.heap.len();
        self.heap.push(key);
        while hole > 0 && self.heap[(hole - 1) / 4] > key {
            self.heap[hole] = self.heap[(hole - 1) / 4];
            hole = (hole - 1) / 4;
        }
        self.heap[hole] = key;
        &mut self.slots[slot as usize]
    }

    /// Slot of the first event of the heap.
    fn pop_heap(&mut self) -> usize {
        let slot = (self.heap[0] as u32) & ((1 << SLOT_BITS) - 1);
        self.free_slots.push(slot);
        let last = self.heap.pop().unwrap_or(NO_EVENT);
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
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

/// The timer in the lower half of a key.
#[inline(always)]
fn timer(order: u64) -> Timer {
    Timer::of_bits(order as u32 & ((1 << SLOT_BITS) - 1))
}

/// A call that makes the compiler emit a branch, which a processor can predict, instead of a conditional move.
#[cold]
#[inline]
fn branch() {}

#[inline(always)]
fn key(time: Time, order: u64) -> Key {
    Key::from(time.0) << 64 | Key::from(order << SLOT_BITS)
}

/// Index of the least of four keys. It cannot be predicted, so it is computed in two rounds, without a branch.
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
    fn is_next(&self, key: Key) -> bool {
        self.len == 0 || key >= self.last_key
    }

    /// Storage for the next event.
    #[inline(always)]
    fn place(&mut self, key: Key) -> &mut E {
        if self.len == self.items.len() {
            self.grow();
        }
        let end = (self.first + self.len) & (self.items.len() - 1);
        self.len += 1;
        self.last_key = key;
        let (of, event) = &mut self.items[end];
        *of = key;
        event
    }

    /// Place of the first event, which is overwritten by a later push; the ring must not be empty.
    #[inline]
    fn pop(&mut self) -> usize {
        let place = self.first;
        self.first = (place + 1) & (self.items.len() - 1);
        self.len -= 1;
        place
    }

    /// Shows an event that is [`AHEAD`] of the first one, if there are so many.
    #[inline(always)]
    fn look_ahead(&self, coming: &mut impl FnMut(&E)) {
        if self.len > AHEAD {
            coming(&self.items[(self.first + AHEAD) & (self.items.len() - 1)].1);
        }
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

    impl FromTimer<()> for usize {
        fn from_timer(timer: Timer, (): ()) -> Self {
            let (Timer::Retransmission(flow) | Timer::Open(flow)) = timer;
            flow as usize
        }
    }

    impl FromTimer<()> for u32 {
        fn from_timer(timer: Timer, (): ()) -> Self {
            usize::from_timer(timer, ()) as u32
        }
    }

    proptest! {
        /// Whatever goes where, events come out by time, and in order of insertion at equal times.
        #[test]
        fn sorts_by_time_then_insertion(
            pushes in prop::collection::vec((0u64..50, 0u32..46, 0usize..6, 0usize..3), 0..300),
        ) {
            let mut calendar = Calendar::default();
            let lanes = [calendar.lane(), calendar.lane(), Lane::ANY, Lane::ANY];
            let (mut expected, mut popped, mut now) = (Vec::new(), Vec::new(), 0);
            for (i, (ahead, scale, lane, pops)) in pushes.into_iter().enumerate() {
                let ahead = ahead << scale.saturating_sub(6); // from the same instant to far beyond the wheel
                match lanes.get(lane) {
                    Some(lane) => calendar.push(*lane, Time(now + ahead), i),
                    None => calendar.push_timer(Time(now + ahead), Timer::Open(i as u32), ()),
                }
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

    proptest! {
        /// Full slots of the wheel are dealt into bins, which changes no order; what is coming is shown once at most.
        #[test]
        fn full_slots_come_in_order(
            times in prop::collection::vec(0u64..3 << 32, 200..800),
            grain in 0u32..31,
            pops in 1usize..4,
        ) {
            let mut calendar = Calendar::default();
            let (mut expected, mut popped, mut shown) = (Vec::new(), Vec::new(), vec![0; times.len()]);
            let mut take = |calendar: &mut Calendar<usize>| {
                let next = calendar.pop_showing(Time::NEVER, true, |event| shown[*event] += 1);
                next.map(|(time, event)| popped.push((time.0, *event))).is_some()
            };
            let push = |calendar: &mut Calendar<usize>, time, i: usize| match i % 2 {
                0 => calendar.push(Lane::ANY, time, i),
                _ => calendar.push_timer(time, Timer::Retransmission(i as u32), ()),
            };
            calendar.push(Lane::ANY, Time(0), 0);
            expected.push((0, 0));
            let (early, late) = times.split_at(times.len() / 2);
            for (i, time) in early.iter().enumerate().skip(1) {
                let time = (time >> grain << grain) + (1 << 33);
                push(&mut calendar, Time(time), i);
                expected.push((time, i));
            }
            (0..pops).for_each(|_| assert!(take(&mut calendar)));
            for (i, time) in late.iter().enumerate().map(|(i, time)| (i + early.len(), time)) {
                let time = (time >> grain << grain) + (5 << 32); // some of it into the slot that is open
                push(&mut calendar, Time(time), i);
                expected.push((time, i));
            }
            while take(&mut calendar) {}
            expected.sort();
            prop_assert_eq!(popped, expected);
            prop_assert!(shown.iter().all(|times| *times <= 1));
        }
    }

    /// The events up to a time.
    fn popped(calendar: &mut Calendar<u32>, until: u64) -> Vec<u32> {
        std::iter::from_fn(|| calendar.pop(Time(until)).map(|(_, event)| *event)).collect()
    }

    #[test]
    fn the_last_of_an_instant_come_after_what_is_pushed_later() {
        let mut calendar = Calendar::default();
        calendar.push_last(Lane::ANY, Time(5), 3);
        calendar.push_last(Lane::ANY, Time(5), 4);
        calendar.push(Lane::ANY, Time(5), 2);
        calendar.push(Lane::ANY, Time(4), 1);
        assert_eq!(popped(&mut calendar, 5), [1, 2], "the end of the instant has not come");
        assert_eq!(popped(&mut calendar, 6), [3, 4]);
    }

    #[test]
    fn a_reserved_place_comes_before_what_was_pushed_after_it() {
        let mut calendar = Calendar::default();
        let lane = calendar.lane();
        calendar.push(lane, Time(5), 1);
        let kept = calendar.reserve();
        calendar.push(lane, Time(5), 4);
        let present = calendar.continue_at(kept);
        calendar.push(lane, Time(5), 2);
        calendar.push(Lane::ANY, Time(5), 3);
        calendar.continue_at(present);
        calendar.push(lane, Time(5), 5);
        assert_eq!(popped(&mut calendar, 5), [1, 2, 3, 4, 5]);
    }

    #[test]
    fn runs_out_of_lanes_gracefully() {
        let mut calendar = Calendar::default();
        let lanes: Vec<Lane> = (0..20).map(|_| calendar.lane()).collect();
        for (i, lane) in lanes.iter().enumerate() {
            calendar.push(*lane, Time(20 - i as u64), i);
        }
        let order: Vec<usize> = std::iter::from_fn(|| calendar.pop(Time::NEVER).map(|(_, i)| *i)).collect();
        assert_eq!(order, (0..20).rev().collect::<Vec<_>>());
    }
}
