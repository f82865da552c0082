//! A timing wheel (Varghese and Lauck, 1987) whose full slots open in two steps, as the rungs of a ladder queue do (Tang, Goh
//! and Thng, 2005): the events of about the next second, by the slot of time in which they come.
//!
//! An event is put into its slot unsorted. When a slot becomes the first that holds any, its events are dealt into bins of
//! a few, and each bin is sorted when its time comes. As the events of the next bins are known, what they will touch can be
//! fetched from memory in time.

use super::calendar::{Key, NO_EVENT};
use super::memory;
use std::ops::Range;

/// A slot lasts 2^32 ps = 4.3 ms.
const SLOT_BITS: u32 = 32;
/// The wheel covers 1.1 s.
const SLOTS: usize = 256;
/// Events of a bin, about.
const IN_BIN: usize = 8;
/// So many events of a slot are sorted at once.
const FEW: usize = 64;

/// Room for so many events is kept for another slot; more is given back, or every slot would come to have the most.
const KEPT: usize = 1 << 12;

/// Events by slot.
#[derive(Clone)]
pub struct Wheel<E> {
    slots: Vec<Vec<(Key, E)>>,
    /// A bit for each slot that holds events.
    occupied: [u64; SLOTS / 64],
    /// The first slot, counted from time zero.
    present: u64,
    /// The events of the first slot that has been dealt into bins: their places in it, by bins, and where each bin ends.
    open: Vec<(Key, E)>,
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
            slots: vec![Vec::new(); SLOTS],
            occupied: [0; SLOTS / 64],
            present: 0,
            open: Vec::new(),
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
        let events = if self.is_empty() {
            self.present = slot(key);
            self.bin.clear();
            self.next = 0;
            &mut self.bin
        } else {
            let index = slot(key) as usize % SLOTS;
            self.occupied[index / 64] |= 1 << (index % 64);
            &mut self.slots[index]
        };
        events.push((key, E::default()));
        let last = events.len() - 1;
        &mut events[last].1
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
                self.bin.extend(self.places[places].iter().map(|place| self.open[*place as usize]));
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
        self.places[next].iter().for_each(|place| coming(&self.open[*place as usize].1));
        self.places[then].iter().for_each(|place| memory::fetch(&self.open[*place as usize]));
    }

    /// Opens the slot that is so far after the first one; few events are a bin as they are.
    fn open(&mut self, distance: u64) {
        self.present += distance;
        let index = self.present as usize % SLOTS;
        self.occupied[index / 64] &= !(1 << (index % 64));
        (self.bins, self.next) = (0, 0);
        self.ends.clear();
        self.bin.clear();
        if self.slots[index].len() <= FEW {
            std::mem::swap(&mut self.bin, &mut self.slots[index]);
            return self.bin.sort_unstable_by_key(|(key, _)| *key);
        }
        let mut before = std::mem::replace(&mut self.open, std::mem::take(&mut self.slots[index]));
        if before.capacity() <= KEPT {
            before.clear();
            self.slots[index] = before;
        }
        self.deal();
    }

    /// Deals the events of the open slot into bins of equal times.
    fn deal(&mut self) {
        let bits = (self.open.len() / IN_BIN).next_power_of_two().trailing_zeros();
        let bin = |key: Key| ((key >> 64) as u64 & u64::from(u32::MAX)) as usize >> (SLOT_BITS - bits);
        self.ends.resize(1 << bits, 0);
        for (key, _) in &self.open {
            self.ends[bin(*key)] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum); // where the bin begins, until it is filled
        }
        self.places.clear();
        self.places.resize(self.open.len(), 0);
        for (place, (key, _)) in self.open.iter().enumerate() {
            let end = &mut self.ends[bin(*key)];
            self.places[*end as usize] = place as u32;
            *end += 1;
        }
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
