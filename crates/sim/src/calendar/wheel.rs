//! A timing wheel (Varghese and Lauck, 1987) whose full slots open in two steps, as the rungs of a ladder queue do (Tang, Goh
//! and Thng, 2005): events by the slot of time in which they come, 256 slots from the present one on.
//!
//! An event is put into its slot unsorted. When a slot becomes the first that holds any, each of its events is asked about: it
//! may come later by now. What stays is dealt into bins of a few, and each bin is sorted when its time comes. As the
//! events of the next bins are known, what they will touch can be fetched from memory in time.
//!
//! Slots are written page by page, and a page whose events have come is used again: memory is what pends, and no slot is
//! copied as it grows.

use super::key::{Key, Keyed, PushTime};
use crate::memory;
use aqmlab_core::Time;
use std::ops::Range;

const SLOTS: usize = 256;
/// Events of a bin, about.
const IN_BIN: usize = 8;
/// Number of events up to which a slot is sorted at once.
const FEW: usize = 64;

/// Events of a page.
const PAGE: usize = 64;
/// The place of an event that comes when there is none. No slot gets its page.
const ALONE: usize = 0;
/// In place of a page.
const NO_PAGE: u32 = u32::MAX;

/// A question about an event of a wheel, before it comes.
pub enum Ask<'a, T> {
    /// It follows in a little while, so that what it will touch can be fetched from memory. Each is shown once at most, and few are
    /// not.
    Soon(&'a T),
    /// It pends for this time, and its slot opens: it may come later instead, within this reach, the end of which is included.
    Due(&'a T, Time, Range<Time>),
}

/// The time at which an event comes instead, as one that was pushed at that moment.
pub type Moved = (Time, PushTime);

/// The pages of a slot. Every page knows the one before it.
#[derive(Clone, Copy, Default)]
struct Slot {
    /// Number of its events.
    len: usize,
    /// The place after its last event, if it has any.
    end: usize,
}

/// Events in pages, each of which belongs to one slot or to none.
#[derive(Clone)]
struct PagePool<T> {
    events: Vec<T>,
    /// For each page, the one before it in its slot, or among the free ones.
    before: Vec<u32>,
    /// The last of the free ones.
    free: u32,
}

/// Events by slot of 2^`bits` ps.
#[derive(Clone)]
pub struct Wheel<T> {
    bits: u32,
    pages: PagePool<T>,
    slots: [Slot; SLOTS],
    /// A bit for each slot that holds events.
    occupied: [u64; SLOTS / 64],
    /// The first slot, counted from time zero.
    present: u64,
    /// The first slot, opened: its events by bins, each as its time within the slot and its place, and where each bin ends.
    open: Slot,
    marks: Vec<u64>,
    ends: Vec<u32>,
    /// The marks of a full slot before they are dealt into bins.
    undealt: Vec<u64>,
    /// Number of bins that have begun.
    bins: usize,
    /// Marks of the present bin that are still to come, in order. If there are none, there are no events at all.
    bin: Range<usize>,
    /// Key of the first event.
    first: Key,
}

impl<T: Keyed> Wheel<T> {
    pub fn new(bits: u32) -> Self {
        Self {
            bits,
            pages: PagePool { events: vec![Default::default(); PAGE], before: vec![NO_PAGE], free: NO_PAGE },
            slots: [Slot::default(); SLOTS],
            occupied: [0; SLOTS / 64],
            present: 0,
            open: Slot::default(),
            marks: Vec::new(),
            ends: Vec::new(),
            undealt: Vec::new(),
            bins: 0,
            bin: 0..0,
            first: Key::NONE,
        }
    }

    #[inline(always)]
    fn slot(&self, time: Time) -> u64 {
        time.0 >> self.bits
    }

    /// Time within the slot, and in the lower bits place.
    #[inline(always)]
    fn mark(&self, key: Key, place: usize) -> u64 {
        key.time.0 << (u64::BITS - self.bits) | place as u64
    }

    #[inline(always)]
    fn place_of(&self, mark: u64) -> usize {
        (mark << self.bits >> self.bits) as usize
    }

    /// True if the wheel takes an event of this time: after the first slot and within its reach, or any if it is empty.
    #[inline]
    pub fn takes(&self, time: Time) -> bool {
        let ahead = self.slot(time).wrapping_sub(self.present);
        ahead > 0 && ahead < SLOTS as u64 || self.first.time == Time::NEVER
    }

    /// Storage for an event with this key, which the wheel takes.
    #[inline]
    pub fn place(&mut self, key: Key) -> &mut T {
        if self.first.time == Time::NEVER {
            return self.begin(key.time, key.pushed(), key.order);
        }
        let index = self.slot(key.time) as usize % SLOTS;
        let slot = &mut self.slots[index];
        if slot.len == 0 {
            self.occupied[index / 64] |= 1 << (index % 64);
        }
        let place = self.pages.place(slot, key);
        &mut self.pages.events[place]
    }

    /// The same where there are no events.
    #[cold]
    fn begin(&mut self, time: Time, pushed: PushTime, order: u64) -> &mut T {
        let key = Key::new(time, pushed, order);
        (self.present, self.first) = (self.slot(time), key);
        self.marks.clear();
        self.marks.push(self.mark(key, ALONE));
        self.ends.clear();
        (self.bins, self.bin) = (0, 0..1);
        let event = &mut self.pages.events[ALONE];
        event.set_key(key);
        event
    }

    /// Key of the first event.
    #[inline]
    pub fn first_key(&self) -> Key {
        self.first
    }

    /// Takes out the first event; there must be one. Its place, which stays as it is until the next push.
    #[inline]
    pub fn pop(&mut self, ask: impl FnMut(Ask<T>) -> Option<Moved>) -> usize {
        let place = self.place_of(self.marks[self.bin.start]);
        self.bin.start += 1;
        if self.bin.is_empty() {
            self.go_on(ask);
        } else {
            self.first = self.first_of_bin();
        }
        place
    }

    /// The event at a place.
    #[inline]
    pub fn at(&self, place: usize) -> &T {
        &self.pages.events[place]
    }

    #[inline]
    fn first_of_bin(&self) -> Key {
        self.pages.key(self.place_of(self.marks[self.bin.start]))
    }

    /// Goes on to the next bin that holds any events, if there is one.
    fn go_on(&mut self, mut ask: impl FnMut(Ask<T>) -> Option<Moved>) {
        while self.bin.is_empty() {
            if self.bins < self.ends.len() {
                self.bin = self.marks_of(self.bins);
                self.bins += 1;
            } else if let Some(distance) = self.distance() {
                self.open(distance, &mut ask);
            } else {
                self.first = Key::NONE;
                return;
            }
        }
        self.sort_bin();
        self.first = self.first_of_bin();
        self.look_ahead(ask);
    }

    /// Range of a bin's marks.
    fn marks_of(&self, bin: usize) -> Range<usize> {
        let end = |bin: usize| self.ends.get(bin).map_or(self.marks.len(), |end| *end as usize);
        bin.checked_sub(1).map_or(0, end)..end(bin)
    }

    /// By time and, as marks do not tell the order of insertion, where times are equal by key.
    fn sort_bin(&mut self) {
        let (bits, bin) = (self.bits, &mut self.marks[self.bin.clone()]);
        bin.sort_unstable();
        if bin.windows(2).any(|two| two[0] >> (u64::BITS - bits) == two[1] >> (u64::BITS - bits)) {
            bin.sort_unstable_by_key(|mark| {
                let key = self.pages.key((*mark << bits >> bits) as usize);
                (key.time, key.rank())
            });
        }
    }

    /// Shows the events of the next bin, and fetches those of the bin after it; a slot of few events has one bin.
    fn look_ahead(&self, mut ask: impl FnMut(Ask<T>) -> Option<Moved>) {
        if self.bins == self.ends.len() {
            return;
        }
        let [next, then] = [0, 1].map(|ahead| &self.marks[self.marks_of(self.bins + ahead)]);
        for mark in next {
            ask(Ask::Soon(&self.pages.events[self.place_of(*mark)]));
        }
        then.iter().for_each(|mark| memory::fetch(&self.pages.events[self.place_of(*mark)]));
    }

    /// Opens the slot that is so far after the first one; few events are one bin.
    fn open(&mut self, distance: u64, ask: &mut impl FnMut(Ask<T>) -> Option<Moved>) {
        self.present += distance;
        let index = self.present as usize % SLOTS;
        self.occupied[index / 64] &= !(1 << (index % 64));
        self.pages.free(self.open);
        self.open = std::mem::take(&mut self.slots[index]);
        self.bins = 0;
        self.ends.clear();
        self.marks.clear();
        let mut page = self.pages.last(self.open);
        while let Some(places) = page {
            page = self.pages.before(&places);
            places.for_each(|place| self.mark_or_move(place, ask));
        }
        if self.marks.len() > FEW {
            return self.deal();
        }
        self.bin = 0..self.marks.len();
    }

    /// An event of the open slot gets its mark, unless it comes in a later slot by now.
    #[inline(always)]
    fn mark_or_move(&mut self, place: usize, ask: &mut impl FnMut(Ask<T>) -> Option<Moved>) {
        let key = self.pages.key(place);
        let starts = |ahead: usize| Time((self.present + ahead as u64) << self.bits);
        let reach = starts(1)..Time(starts(SLOTS).0 - 1);
        match ask(Ask::Due(&self.pages.events[place], key.time, reach)) {
            None => self.marks.push(self.mark(key, place)),
            Some((time, pushed)) => {
                let (event, key) = (self.pages.events[place], Key::new(time, pushed, key.order));
                let moved = self.place(key);
                *moved = event;
                moved.set_key(key);
            }
        }
    }

    /// Deals the marks of the open slot into bins of equal times.
    fn deal(&mut self) {
        let Self { marks, ends, undealt, .. } = self;
        std::mem::swap(marks, undealt);
        let bits = (undealt.len() / IN_BIN).next_power_of_two().trailing_zeros();
        let bin = |mark: u64| (mark >> (u64::BITS - bits)) as usize;
        ends.resize(1 << bits, 0);
        for mark in &*undealt {
            ends[bin(*mark)] += 1;
        }
        let mut sum = 0;
        for end in ends.iter_mut() {
            sum += std::mem::replace(end, sum); // where the bin begins, until it is filled
        }
        marks.resize(undealt.len(), 0);
        for mark in &*undealt {
            let end = &mut ends[bin(*mark)];
            marks[*end as usize] = *mark;
            *end += 1;
        }
    }

    /// Number of slots from the first one to the next one that holds events.
    fn distance(&self) -> Option<u64> {
        const WORDS: usize = SLOTS / 64;
        let start = (self.present as usize + 1) % SLOTS;
        let rotated = |i: usize| {
            let word = |i: usize| u128::from(self.occupied[(start / 64 + i) % WORDS]);
            ((word(i + 1) << 64 | word(i)) >> (start % 64)) as u64
        };
        let first = (0..WORDS).find(|i| rotated(*i) != 0)?;
        Some((64 * first + rotated(first).trailing_zeros() as usize + 1) as u64)
    }
}

impl<T: Keyed> PagePool<T> {
    #[inline(always)]
    fn key(&self, place: usize) -> Key {
        self.events[place].key()
    }

    /// The place of the next event of a slot, which has this key.
    #[inline]
    fn place(&mut self, slot: &mut Slot, key: Key) -> usize {
        if slot.end.is_multiple_of(PAGE) {
            self.add_page(slot);
        }
        let place = slot.end;
        self.events[place].set_key(key);
        slot.end += 1;
        slot.len += 1;
        memory::fetch_at(&self.events, slot.end); // the slot's next event may be long in coming
        place
    }

    /// One more page for a slot without room.
    #[inline(never)]
    fn add_page(&mut self, slot: &mut Slot) {
        if self.free == NO_PAGE {
            self.free = self.before.len() as u32;
            self.before.push(NO_PAGE);
            memory::reserve(&mut self.events, PAGE);
            self.events.resize(self.before.len() * PAGE, Default::default());
        }
        let page = self.free as usize;
        let last = if slot.len == 0 { NO_PAGE } else { (slot.end / PAGE) as u32 - 1 };
        self.free = std::mem::replace(&mut self.before[page], last);
        slot.end = page * PAGE;
    }

    /// The places of the events in a slot's last page, if it has one.
    fn last(&self, slot: Slot) -> Option<Range<usize>> {
        (slot.len > 0).then(|| (slot.end - 1) / PAGE * PAGE..slot.end)
    }

    /// The places of the page before this one, if there is one.
    fn before(&self, places: &Range<usize>) -> Option<Range<usize>> {
        match self.before[places.start / PAGE] {
            NO_PAGE => None,
            before => Some(before as usize * PAGE..(before as usize + 1) * PAGE),
        }
    }

    /// The pages of a slot hold nothing that is needed.
    fn free(&mut self, slot: Slot) {
        if let Some(first) = std::iter::successors(self.last(slot), |page| self.before(page)).last() {
            self.before[first.start / PAGE] = std::mem::replace(&mut self.free, ((slot.end - 1) / PAGE) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::KeyedEvent;
    use super::*;
    use aqmlab_core::Time;

    /// 100 events that each come back half a second later, 30 times: they never lie in more than 101 slots.
    #[test]
    fn pages_are_used_again() {
        let mut wheel = Wheel::<KeyedEvent<u64>>::new(32);
        let key = |time: u64| Key { time: Time(time), ..Key::default() };
        (0..100).for_each(|i| wheel.place(key(i << 33)).event = i);
        for _ in 0..3000 {
            let first = wheel.first_key();
            let place = wheel.pop(|_| None);
            let event = wheel.at(place).event;
            wheel.place(key(first.time.0 + (120 << 32))).event = event;
        }
        assert!(wheel.pages.before.len() <= 1 + 101, "{} pages", wheel.pages.before.len());
    }

    #[test]
    fn events_take_no_more_than_their_pages() {
        let mut wheel = Wheel::<Key>::new(32);
        wheel.place(Key::default());
        for i in 0..10_000u64 {
            wheel.place(Key { time: Time((1 + i % 5) << 32 | i), ..Key::default() });
        }
        assert_eq!(wheel.pages.before.len(), 1 + 5 * 2000usize.div_ceil(PAGE));
    }
}
