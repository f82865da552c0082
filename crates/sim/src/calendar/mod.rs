//! The event queue. Events come out by time and, at equal times, in the order in which they were pushed ([`EventOrigin`]).
//!
//! Most events of a network lie a constant delay ahead, so they are pushed in order: a lane holds them as a plain
//! queue at about a nanosecond each. What is out of order goes to a timing wheel, and a flow's timer to another one, where it
//! takes a third of the memory; what neither takes, because it comes very soon or very late, goes to a 4-ary heap.
//!
//! A slot of timers asks for the present deadlines when it opens: most have moved on.

mod key;
mod origin;
mod wheel;

pub use key::{Key, PushTime};
pub use origin::EventOrigin;
pub use wheel::{Ask, Moved};

use crate::memory;
use aqmlab_core::Time;
use key::{KeyedEvent, order};
use wheel::Wheel;

/// Distance, in events of a lane, at which upcoming ones are fetched from memory.
const AHEAD: usize = 8;
/// Every pop looks at the head of every lane, so there are few.
const MAX_LANES: usize = 12;
/// So many are looked at whether in use or not, [`Lane::ANY`] among them: most scenarios have no more.
const FEW: usize = 4;
/// Room for them: a power of two, so that no index needs a check.
const ROOM: usize = MAX_LANES.next_power_of_two();

/// The queue of the calendar that an event is pushed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lane(u8);

impl Lane {
    /// Events in any order.
    pub const ANY: Lane = Lane(0);
    /// Bits that tell one.
    pub const BITS: u32 = 4;

    /// Its number, below 2 to the power of [`Lane::BITS`].
    #[inline(always)]
    pub fn bits(self) -> u16 {
        self.0.into()
    }

    /// The lane of this number.
    #[inline(always)]
    pub fn of_bits(bits: u16) -> Self {
        Self(bits as u8 & ((1 << Self::BITS) - 1))
    }
}

const _: () = assert!(MAX_LANES <= 1 << Lane::BITS);

/// An event of which its place tells all: many of these pend for long, and a calendar holds no more of them than a key.
pub trait TimerEvent {
    /// The event that this place pushes as a timer.
    fn of_place(place: EventOrigin) -> Self;
}

/// An event of the heap: its key, and where it is.
type HeapEntry = (Key, u32);

/// Pending events.
#[derive(Clone)]
pub struct Calendar<E> {
    heap: Vec<HeapEntry>,
    slots: Vec<E>,
    free_slots: Vec<u32>,
    /// The next 1.1 s, in slots of 4.3 ms; where many events come within a millisecond the next 69 ms, in slots of 0.27 ms.
    wheel: Wheel<KeyedEvent<E>>,
    /// The next 17 s, in slots of 69 ms: the timers are in the keys.
    timers: Wheel<Key>,
    /// The timer that has come last.
    timer: E,
    /// The first stands for wheels and heap and stays empty.
    lanes: [Ring<E>; ROOM],
    /// Number of lanes in use, the first one included.
    used: usize,
    /// Time of the first event of wheels and heap together, and of each lane: all that a pop looks at, unless two are equal.
    heads: [Time; ROOM],
    /// Key of the first event of wheels and heap together.
    first_in_any_order: Key,
    pushed: u64,
    /// The moment of the next pushes: that of the last event to come out, unless said otherwise.
    pub present: PushTime,
}

impl<E: Copy + Default + TimerEvent> Default for Calendar<E> {
    /// Nothing is pending.
    fn default() -> Self {
        Self {
            heap: Vec::new(),
            slots: Vec::new(),
            free_slots: Vec::new(),
            wheel: Wheel::new(32),
            timers: Wheel::new(36),
            timer: E::default(),
            lanes: std::array::from_fn(|_| Ring::new()),
            used: 1,
            heads: [Time::NEVER; ROOM],
            first_in_any_order: Key::NONE,
            pushed: 0,
            present: PushTime::default(),
        }
    }
}

impl<E: Copy + Default + TimerEvent> Calendar<E> {
    /// One with so many lanes beside [`Lane::ANY`], which are numbered as those of another one.
    pub fn with_lanes(lanes: usize) -> Self {
        Self { used: lanes + 1, ..Self::default() }
    }

    /// The same for many events, most of which come within milliseconds.
    pub fn dense(lanes: usize) -> Self {
        Self { wheel: Wheel::new(28), ..Self::with_lanes(lanes) }
    }

    /// Number of lanes beside [`Lane::ANY`].
    pub fn lanes(&self) -> usize {
        self.used - 1
    }

    /// The earliest event up to and including `until`, as by [`Calendar::pop`], with its key.
    pub fn pop_keyed(&mut self, until: Time) -> Option<(Key, E)> {
        let first = self.first_key(self.first().0);
        Some((first, *self.pop(until)?.1))
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
    pub fn push(&mut self, lane: Lane, time: Time, place: EventOrigin, event: E) {
        self.push_as_of(self.present, lane, time, place, event);
    }

    /// An event that comes after all others of its instant, those included that are pushed later, by place.
    pub fn push_last(&mut self, lane: Lane, time: Time, place: EventOrigin, event: E) {
        self.push_as_of(PushTime::at(Time::NEVER), lane, time, place, event);
    }

    #[inline(always)]
    fn push_as_of(&mut self, moment: PushTime, lane: Lane, time: Time, place: EventOrigin, event: E) {
        self.pushed += 1;
        *self.storage(lane, time, moment, order(place, self.pushed)) = event;
    }

    /// The event that the place tells, in any order.
    pub fn push_timer(&mut self, time: Time, place: EventOrigin) {
        self.pushed += 1;
        let key = Key::new(time, self.present, order(place, self.pushed));
        if self.timers.takes(time) {
            self.note_in_any_order(key);
            self.timers.place(key);
        } else {
            *self.storage_in_any_order(time, key.pushed(), key.order) = E::of_place(place);
        }
    }

    /// Storage for an event with this key.
    #[inline(always)]
    fn storage(&mut self, lane: Lane, time: Time, pushed: PushTime, order: u64) -> &mut E {
        let index = usize::from(lane.0) % ROOM;
        if lane == Lane::ANY || !self.lanes[index].is_next(time, pushed, order) {
            return self.storage_in_any_order(time, pushed, order);
        }
        let ring = &mut self.lanes[index];
        if ring.len == 0 {
            ring.first = 0; // few events stay in the same cache lines
            self.heads[index] = time;
        }
        ring.place(Key::new(time, pushed, order))
    }

    /// Time of the earliest event, [`Time::NEVER`] if there is none.
    pub fn next_time(&self) -> Time {
        self.first().1
    }

    /// The earliest event up to and including `until`, but none of the last of that instant ([`Calendar::push_last`]).
    /// It stays readable until the next push.
    #[inline(always)]
    pub fn pop(&mut self, until: Time) -> Option<(Time, &E)> {
        self.pop_asking(until, false, |_| None)
    }

    /// The same, which asks about timers before they come and, if `shows`, shows events that follow in a little while.
    #[inline(always)]
    pub fn pop_asking(
        &mut self,
        until: Time,
        shows: bool,
        mut ask: impl FnMut(Ask<E>) -> Option<Moved>,
    ) -> Option<(Time, &E)> {
        let (lane, time) = self.first();
        if time >= until && !self.is_due(lane, until) {
            return None;
        }
        if lane == 0 {
            self.present = PushTime { now: time, since: self.first_in_any_order.now };
            return Some((time, self.pop_any(shows, ask)));
        }
        let lane = lane % ROOM;
        let ring = &mut self.lanes[lane];
        if shows {
            ring.look_ahead(&mut ask);
        }
        let popped = ring.pop();
        self.heads[lane] = ring.first_time();
        let KeyedEvent { key, event } = &ring.items[popped];
        self.present = PushTime { now: time, since: key.now };
        Some((time, event))
    }

    /// The lane whose head comes first, and when.
    #[inline(always)]
    fn first(&self) -> (usize, Time) {
        let mut first = (0, self.heads[0]);
        for lane in 1..FEW {
            first = self.earlier(first, lane);
        }
        for lane in FEW..self.used {
            first = self.earlier(first, lane % ROOM);
        }
        first
    }

    /// The first lane so far, or another one, if its head comes before.
    #[inline(always)]
    fn earlier(&self, first: (usize, Time), lane: usize) -> (usize, Time) {
        let head = self.heads[lane];
        if head <= first.1 && (head < first.1 || self.comes_before(lane, first.0)) {
            branch(); // a conditional move would make all that follows wait for the heads
            return (lane, head);
        }
        first
    }

    /// True if the first event of a lane comes before that of another one.
    #[cold]
    #[inline(never)]
    fn comes_before(&self, lane: usize, other: usize) -> bool {
        self.first_key(lane).is_before(&self.first_key(other))
    }

    /// True if the first event of a lane comes up to and including `until`, and is none of the last of that instant.
    #[cold]
    #[inline(never)]
    fn is_due(&self, lane: usize, until: Time) -> bool {
        self.first_key(lane).is_before(&Key::after(until))
    }

    /// Key of the first event of a lane, or of wheels and heap together.
    fn first_key(&self, lane: usize) -> Key {
        if lane == 0 { self.first_in_any_order } else { self.lanes[lane].first_key() }
    }

    /// An event in wheels or heap.
    #[inline(always)]
    fn note_in_any_order(&mut self, key: Key) {
        if key.is_before(&self.first_in_any_order) {
            self.set_first_in_any_order(key);
        }
    }

    #[inline(always)]
    fn set_first_in_any_order(&mut self, key: Key) {
        (self.first_in_any_order, self.heads[0]) = (key, key.time);
    }

    /// Storage for an event with this key, in the wheel or in the heap.
    #[inline(never)]
    fn storage_in_any_order(&mut self, time: Time, pushed: PushTime, order: u64) -> &mut E {
        let key = Key::new(time, pushed, order);
        self.note_in_any_order(key);
        if self.wheel.takes(time) {
            &mut self.wheel.place(key).event
        } else {
            self.storage_in_heap(time, pushed, order)
        }
    }

    /// The first event of wheels and heap together; there must be one.
    #[inline]
    fn pop_any(&mut self, shows: bool, mut ask: impl FnMut(Ask<E>) -> Option<Moved>) -> &E {
        let first = self.first_in_any_order;
        if self.wheel.first_key() == first {
            let place = self.wheel.pop(|about| match about {
                Ask::Soon(item) if shows => ask(Ask::Soon(&item.event)),
                _ => None,
            });
            self.find_first_in_any_order();
            &self.wheel.at(place).event
        } else if self.timers.first_key() == first {
            self.timers.pop(|about| match about {
                Ask::Soon(key) if shows => ask(Ask::Soon(&E::of_place(key.place()))),
                Ask::Soon(_) => None,
                Ask::Due(key, time, reach) => ask(Ask::Due(&E::of_place(key.place()), time, reach)),
            });
            self.timer = E::of_place(first.place());
            self.find_first_in_any_order();
            &self.timer
        } else {
            let slot = self.pop_heap();
            self.find_first_in_any_order();
            &self.slots[slot]
        }
    }

    #[inline]
    fn find_first_in_any_order(&mut self) {
        let heap = self.heap.first().map_or(Key::NONE, |(key, _)| *key);
        self.set_first_in_any_order(self.wheel.first_key().or_earlier(self.timers.first_key()).or_earlier(heap));
    }

    #[inline(never)]
    fn storage_in_heap(&mut self, time: Time, pushed: PushTime, order: u64) -> &mut E {
        let key = Key::new(time, pushed, order);
        let slot = self.free_slots.pop().unwrap_or_else(|| {
            self.slots.push(E::default());
            self.slots.len() as u32 - 1
        });
        let mut hole = self.heap.len();
        self.heap.push((key, slot));
        while hole > 0 && key.is_before(&self.heap[(hole - 1) / 4].0) {
            self.heap[hole] = self.heap[(hole - 1) / 4];
            hole = (hole - 1) / 4;
        }
        self.heap[hole] = (key, slot);
        &mut self.slots[slot as usize]
    }

    /// Slot of the first event of the heap.
    fn pop_heap(&mut self) -> usize {
        let (_, slot) = self.heap[0];
        self.free_slots.push(slot);
        let last = self.heap.pop().unwrap_or((Key::NONE, 0));
        if !self.heap.is_empty() {
            self.sift_down(last);
        }
        slot as usize
    }

    /// Puts an entry where the first was and lets it sink.
    fn sift_down(&mut self, entry: HeapEntry) {
        let (mut hole, len) = (0, self.heap.len());
        loop {
            let first_child = 4 * hole + 1;
            if first_child >= len {
                break;
            }
            let children = &self.heap[first_child..len.min(first_child + 4)];
            let least = match children.len() {
                4 => least_of_four(children),
                few => (1..few).fold(0, |least, i| if children[i].0.is_before(&children[least].0) { i } else { least }),
            };
            let child = children[least];
            if !child.0.is_before(&entry.0) {
                break;
            }
            self.heap[hole] = child;
            hole = first_child + least;
        }
        self.heap[hole] = entry;
    }
}

/// A call that makes the compiler emit a branch, which a processor can predict, instead of a conditional move.
#[cold]
#[inline]
fn branch() {}

/// Index of the least of four entries. It cannot be predicted, so it is computed in two rounds, without a branch.
#[inline(always)]
fn least_of_four(entries: &[HeapEntry]) -> usize {
    let precedes = |i: usize, j: usize| usize::from(entries[i].0.is_before(&entries[j].0));
    let (first, second) = (precedes(1, 0), 2 + precedes(3, 2));
    first + (second - first) * precedes(second, first)
}

/// First in, first out; grows when full.
#[derive(Clone)]
#[repr(align(64))]
struct Ring<E> {
    items: Vec<KeyedEvent<E>>,
    first: usize,
    len: usize,
    last_time: Time,
}

impl<E: Copy + Default> Ring<E> {
    fn new() -> Self {
        Self { items: Vec::new(), first: 0, len: 0, last_time: Time::ZERO }
    }

    #[inline(always)]
    fn is_next(&self, time: Time, pushed: PushTime, order: u64) -> bool {
        self.len == 0 || time > self.last_time || time == self.last_time && !self.is_before_last(pushed, order)
    }

    /// The same of an event that is due with the last one.
    #[cold]
    fn is_before_last(&self, pushed: PushTime, order: u64) -> bool {
        let last = &self.items[self.place_of(self.len - 1)].key;
        (pushed, order) < (last.pushed(), last.order)
    }

    /// Place of the event that comes so many after the first one.
    #[inline(always)]
    fn place_of(&self, after: usize) -> usize {
        let place = self.first + after;
        place.checked_sub(self.items.len()).unwrap_or(place)
    }

    /// Storage for the next event.
    #[inline(always)]
    fn place(&mut self, key: Key) -> &mut E {
        if self.len == self.items.len() {
            self.grow();
        }
        let end = self.place_of(self.len);
        self.len += 1;
        self.last_time = key.time;
        let item = &mut self.items[end];
        item.key = key;
        &mut item.event
    }

    /// Place of the first event, which is overwritten by a later push; the ring must not be empty.
    #[inline]
    fn pop(&mut self) -> usize {
        let place = self.first;
        let next = place + 1;
        self.first = if next == self.items.len() { 0 } else { next };
        self.len -= 1;
        place
    }

    /// Shows an event that is [`AHEAD`] of the first one, if there are so many.
    #[inline(always)]
    fn look_ahead(&self, ask: &mut impl FnMut(Ask<E>) -> Option<Moved>) {
        if self.len > AHEAD {
            ask(Ask::Soon(&self.items[self.place_of(AHEAD)].event));
        }
    }

    #[inline]
    fn first_key(&self) -> Key {
        if self.len == 0 { Key::NONE } else { self.items[self.first].key }
    }

    #[inline]
    fn first_time(&self) -> Time {
        if self.len == 0 { Time::NEVER } else { self.items[self.first].key.time }
    }

    #[cold]
    fn grow(&mut self) {
        self.items.rotate_left(self.first);
        self.first = 0;
        memory::reserve(&mut self.items, 64);
        self.items.resize(self.items.capacity(), KeyedEvent::default());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A number; as a timer, that of a flow.
    type Number = u32;

    impl TimerEvent for Number {
        fn of_place(place: EventOrigin) -> Self {
            place.flow().0
        }
    }

    /// Pushes a number for a time, from a place that has pushed others before or not.
    fn push(calendar: &mut Calendar<Number>, lane: Lane, time: u64, place: u32, number: Number) {
        calendar.push(lane, Time(time), EventOrigin::link(place), number);
    }

    proptest! {
        /// Whatever goes where, events come out by time, at equal times by the moment of the push, by place, and in the order of the
        /// pushes.
        #[test]
        fn sorts_by_time_then_push_then_place_then_insertion(
            pushes in prop::collection::vec((0u64..50, 0u32..46, 0usize..6, 0u32..3, 0u64..3, 0usize..3), 0..300),
        ) {
            let mut calendar = Calendar::default();
            let lanes = [calendar.lane(), calendar.lane(), Lane::ANY, Lane::ANY];
            let (mut expected, mut popped, mut now) = (Vec::new(), Vec::new(), 0);
            for (i, (ahead, scale, lane, place, since, pops)) in (0u32..).zip(pushes) {
                let ahead = 1 + (ahead << scale.saturating_sub(6)); // from the next instant to far beyond the wheel
                calendar.present = PushTime { now: Time(now), since: Time(since) };
                expected.push(match lanes.get(lane) {
                    Some(lane) => {
                        push(&mut calendar, *lane, now + ahead, place, i);
                        (now + ahead, now, since, EventOrigin::link(place), i)
                    }
                    None => {
                        calendar.push_timer(Time(now + ahead), EventOrigin::timer(i));
                        (now + ahead, now, since, EventOrigin::timer(i), i)
                    }
                });
                for _ in 0..pops {
                    if let Some((time, event)) = calendar.pop(Time::NEVER) {
                        now = time.0;
                        popped.push((time.0, *event));
                    }
                }
            }
            popped.extend(std::iter::from_fn(|| calendar.pop(Time::NEVER).map(|(time, event)| (time.0, *event))));
            expected.sort();
            let expected: Vec<_> = expected.into_iter().map(|(time, .., i)| (time, i)).collect();
            prop_assert_eq!(popped, expected);
        }

        /// Full slots of the wheel are dealt into bins, which changes no order; what is coming is shown once at most.
        #[test]
        fn full_slots_come_in_order(
            times in prop::collection::vec(0u64..3 << 32, 200..800),
            grain in 0u32..31,
            pops in 1usize..4,
        ) {
            let mut calendar = Calendar::default();
            let (mut expected, mut popped, mut shown) = (Vec::new(), Vec::new(), vec![0; times.len()]);
            let mut take = |calendar: &mut Calendar<Number>| {
                let next = calendar.pop_asking(Time::NEVER, true, |ask| match ask {
                    Ask::Soon(event) => {
                        shown[*event as usize] += 1;
                        None
                    }
                    Ask::Due(..) => None,
                });
                next.map(|(time, event)| popped.push((time.0, *event))).is_some()
            };
            let mut push = |calendar: &mut Calendar<Number>, time, i: Number| {
                expected.push((time, i));
                match i % 2 {
                    0 => calendar.push(Lane::ANY, Time(time), EventOrigin::sender(i), i),
                    _ => calendar.push_timer(Time(time), EventOrigin::timer(i)),
                }
            };
            push(&mut calendar, 0, 0);
            let (early, late) = times.split_at(times.len() / 2);
            for (i, time) in (0..).zip(early).skip(1) {
                let time = (time >> grain << grain) + (1 << 33);
                push(&mut calendar, time, i);
            }
            (0..pops).for_each(|_| assert!(take(&mut calendar)));
            for (i, time) in (early.len() as Number..).zip(late) {
                let time = (time >> grain << grain) + (5 << 32); // some of it into the slot that is open
                push(&mut calendar, time, i);
            }
            while take(&mut calendar) {}
            expected.sort();
            prop_assert_eq!(popped, expected);
            prop_assert!(shown.iter().all(|times| *times <= 1));
        }
    }

    /// The events up to a time.
    fn popped(calendar: &mut Calendar<Number>, until: u64) -> Vec<Number> {
        std::iter::from_fn(|| calendar.pop(Time(until)).map(|(_, event)| *event)).collect()
    }

    #[test]
    fn the_last_of_an_instant_come_after_what_is_pushed_later() {
        let mut calendar = Calendar::default();
        calendar.push_last(Lane::ANY, Time(5), EventOrigin::transmitter(1), 4);
        calendar.push_last(Lane::ANY, Time(5), EventOrigin::transmitter(0), 3);
        calendar.push(Lane::ANY, Time(5), EventOrigin::wire(9), 2);
        calendar.push(Lane::ANY, Time(4), EventOrigin::wire(9), 1);
        assert_eq!(popped(&mut calendar, 5), [1, 2], "the end of the instant has not come");
        assert_eq!(popped(&mut calendar, 6), [3, 4]);
    }

    /// Ten timers pend for a second or two; when their slot opens, half of them have moved on, to where another event comes.
    #[test]
    fn a_timer_that_has_moved_on_comes_when_it_is_due() {
        const SECOND: u64 = 1_000_000_000_000;
        let mut calendar = Calendar::<Number>::default();
        (0..10)
            .for_each(|flow| calendar.push_timer(Time((1 + u64::from(flow % 2)) * SECOND), EventOrigin::timer(flow)));
        calendar.present = PushTime::at(Time(SECOND));
        calendar.push(Lane::ANY, Time(5 * SECOND), EventOrigin::sender(0), 100);
        let mut popped = Vec::new();
        let mut pop = |calendar: &mut Calendar<Number>| {
            let next = calendar.pop_asking(Time::NEVER, false, |ask| match ask {
                Ask::Due(flow, time, reach) if flow % 2 == 1 && time.0 < 3 * SECOND => {
                    assert!(reach.contains(&Time(5 * SECOND)) && reach.end < Time(20 * SECOND));
                    Some((Time(5 * SECOND), PushTime::at(Time(u64::from(*flow) % 4 * SECOND))))
                }
                _ => None,
            });
            next.map(|(time, event)| popped.push((time.0 / SECOND, *event))).is_some()
        };
        while pop(&mut calendar) {}
        let moved = [1, 5, 9].map(|flow| (5, flow)); // as if pushed at 1 s, as the other, but by a flow before its sender's
        let at_one = [0, 2, 4, 6, 8].map(|flow| (1, flow));
        assert_eq!(popped, [&at_one[..], &[(5, 100)], &moved, &[(5, 3), (5, 7)]].concat());
    }

    #[test]
    fn what_was_pushed_first_comes_first() {
        let mut calendar = Calendar::default();
        let lane = calendar.lane();
        for (present, place, number) in [(1, 2, 3), (3, 1, 6), (2, 9, 4), (0, 3, 2), (3, 0, 5)] {
            calendar.present = PushTime::at(Time(present));
            push(&mut calendar, lane, 5, place, number);
        }
        calendar.present = PushTime::default();
        calendar.push_timer(Time(5), EventOrigin::timer(1));
        assert_eq!(popped(&mut calendar, 5), [2, 1, 3, 4, 5, 6]);
    }

    #[test]
    fn a_lane_takes_what_comes_before_others_of_its_instant() {
        let mut calendar = Calendar::default();
        let lane = calendar.lane();
        for (place, number) in [(1, 2), (3, 5), (1, 3), (0, 1), (2, 4), (3, 6)] {
            push(&mut calendar, lane, 5, place, number);
        }
        assert_eq!(popped(&mut calendar, 5), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn runs_out_of_lanes_gracefully() {
        let mut calendar = Calendar::default();
        let lanes: Vec<Lane> = (0..20).map(|_| calendar.lane()).collect();
        for (i, lane) in (0..).zip(&lanes) {
            push(&mut calendar, *lane, 20 - u64::from(i), 0, i);
        }
        assert_eq!(popped(&mut calendar, 20), (0..20).rev().collect::<Vec<_>>());
    }
}
