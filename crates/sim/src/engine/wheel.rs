//! A timing wheel (Varghese and Lauck, 1987) whose full slots open in two steps, as the rungs of a ladder queue do (Tang, Goh
//! and Thng, 2005): the events of about the next second, by the slot of time in which they come.
//!
//! An event is put into its slot unsorted. When a slot becomes the first that holds any, its events are dealt into bins of
//! a few, and each bin is sorted when its time comes. As the events of the next bins are known, what they will touch can be
//! fetched from memory in time.

use super::calendar::{Key, NO_EVENT};
use super::memory;
use super::pages::{List, Pages};
use std::ops::Range;

/// A slot lasts 2^32 ps = 4.3 ms.
const SLOT_BITS: u32 = 32;
/// The wheel covers 1.1 s.
const SLOTS: usize = 256;
/// Events of a bin, about.
const IN_BIN: usize = 8;
/// So many events of a slot are sorted at once.
const FEW: usize = 64;

/// Events by slot.
#[derive(Clone)]
pub struct Wheel<E> {
    events: Pages<(Key, E)>,
    slots: [List; SLOTS],
    /// A bit for each slot that holds events.
    occupied: [u64; SLOTS / 64],
    /// The first slot, counted from time zero.
    present: u64,
    /// The first slot, if it is dealt into bins: the places of its events, by bins, and where each bin ends.
    open: List,
    places: Vec<u32>,
    ends: Vec<u32>,
    /// How many bins have come.
    bins: usize,
    /// The events of the present bin, in order; those before `next` have come. When all have, there are no others.
    bin: Vec<(Key, E)>,
    next: usize,
    popped: E,
}

impl<E: Copy + Default> Wheel<E> {
    pub fn new() -> Self {
        Self {
            events: Pages::new(),
            slots: [List::EMPTY; SLOTS],
            occupied: [0; SLOTS / 64],
            present: 0,
            open: List::EMPTY,
            places: Vec::new(),
            ends: Vec::new(),
            bins: 0,
            bin: Vec::new(),
            next: 0,
            popped: E::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.next == self.bin.len()
    }

    /// Whether the wheel takes an event with this key: one after the first slot and within its reach, or any if it is empty.
    #[inline]
    pub fn takes(&self, key: Key) -> bool {
        let ahead = slot(key).wrapping_sub(self.present);
        ahead > 0 && ahead < SLOTS as u64 || self.is_empty()
    }

    /// Where an event with this key is to be written, which the wheel takes.
    #[inline]
    pub fn place(&mut self, key: Key) -> &mut E {
        let (of, event) = if self.is_empty() {
            self.present = slot(key);
            self.next = 0;
            self.bin.clear();
            self.bin.push((key, E::default()));
            &mut self.bin[0]
        } else {
            let index = slot(key) as usize % SLOTS;
            self.occupied[index / 64] |= 1 << (index % 64);
            self.events.add(&mut self.slots[index])
        };
        *of = key;
        event
    }

    /// Key of the first event.
    #[inline]
    pub fn first_key(&self) -> Key {
        self.bin.get(self.next).map_or(NO_EVENT, |(key, _)| *key)
    }

    /// Takes out the first event; there must be one. Shows `coming` events that follow in a little while.
    #[inline]
    pub fn pop(&mut self, coming: impl FnMut(&E)) {
        self.popped = self.bin[self.next].1;
        self.next += 1;
        if self.is_empty() {
            self.go_on(coming);
        }
    }

    /// The event taken out last.
    #[inline]
    pub fn popped(&self) -> &E {
        &self.popped
    }

    /// Goes on to the next bin that holds any events, if there is one.
    fn go_on(&mut self, coming: impl FnMut(&E)) {
        while self.bins < self.ends.len() {
            let places = self.places_of(self.bins);
            self.bins += 1;
            if !places.is_empty() {
                self.bin.clear();
                self.next = 0;
                self.bin.extend(self.places[places].iter().map(|place| *self.events.at(*place)));
                self.bin.sort_unstable_by_key(|(key, _)| *key);
                return self.look_ahead(coming);
            }
        }
        if let Some(distance) = self.distance() {
            self.open(distance);
            if self.is_empty() {
                self.go_on(coming);
            }
        }
    }

    /// Which of `places` are those of a bin.
    fn places_of(&self, bin: usize) -> Range<usize> {
        let end = |bin: usize| self.ends.get(bin).map_or(self.places.len(), |end| *end as usize);
        bin.checked_sub(1).map_or(0, end)..end(bin)
    }

    /// Shows the events of the next bin, and fetches those of the bin after it.
    fn look_ahead(&self, mut coming: impl FnMut(&E)) {
        let [next, then] = [0, 1].map(|ahead| self.places_of(self.bins + ahead));
        self.places[next].iter().for_each(|place| coming(&self.events.at(*place).1));
        self.places[then].iter().for_each(|place| memory::fetch(self.events.at(*place)));
    }

    /// Opens the slot that is so far after the first one; few events are a bin as they are.
    fn open(&mut self, distance: u64) {
        self.present += distance;
        let index = self.present as usize % SLOTS;
        self.occupied[index / 64] &= !(1 << (index % 64));
        (self.bins, self.next) = (0, 0);
        self.ends.clear();
        self.bin.clear();
        self.events.clear(&mut self.open);
        let slot = std::mem::replace(&mut self.slots[index], List::EMPTY);
        if slot.len as usize > FEW {
            self.open = slot;
            return self.deal();
        }
        let bin = &mut self.bin;
        self.events.each(&slot, |_, event| bin.push(*event));
        self.events.clear(&mut { slot });
        self.bin.sort_unstable_by_key(|(key, _)| *key);
    }

    /// Deals the events of the open slot into bins of equal times.
    fn deal(&mut self) {
        let bits = (self.open.len as usize / IN_BIN).next_power_of_two().trailing_zeros();
        let bin = |key: Key| ((key >> 64) as u64 & u64::from(u32::MAX)) as usize >> (SLOT_BITS - bits);
        let (ends, places) = (&mut self.ends, &mut self.places);
        ends.resize(1 << bits, 0);
        self.events.each(&self.open, |_, (key, _)| ends[bin(*key)] += 1);
        let mut sum = 0;
        for end in &mut *ends {
            sum += std::mem::replace(end, sum); // where the bin begins, until it is filled
        }
        places.clear();
        places.resize(self.open.len as usize, 0);
        self.events.each(&self.open, |place, (key, _)| {
            let end = &mut ends[bin(*key)];
            places[*end as usize] = place;
            *end += 1;
        });
    }

    /// How many slots after the first one the next one is that holds events.
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

#[inline(always)]
fn slot(key: Key) -> u64 {
    (key >> 64) as u64 >> SLOT_BITS
}
