//! A timing wheel (Varghese and Lauck, 1987) whose slots open in two steps, as the rungs of a ladder queue do (Tang, Goh and
//! Thng, 2005): the events of about the next second, by the slot of time in which they come.
//!
//! An event is put into its slot unsorted. When a slot becomes the first that holds any, its events are dealt into bins of
//! a few, and each bin is sorted when it comes. What is moved about is not the events but their ranks. As the events of
//! the next bins are known, what they will touch can be fetched from memory in time ([`Wheel::pop`]).

use super::calendar::{Key, NO_EVENT};

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
    slots: Vec<Vec<(Key, E)>>,
    /// A bit for each slot that holds events.
    occupied: [u64; SLOTS / 64],
    /// The events of the first slot, in any order. When all have come, no other slot holds any.
    open: Vec<(Key, E)>,
    /// Time within the slot, and place in `open` (lower half), of each of them, by bins.
    ranks: Vec<u64>,
    /// The first that has not come.
    next: usize,
    /// Where the bin ends that it is in: those before are in order.
    sorted: usize,
    /// Where each of the other bins ends, and how many of them have been sorted.
    ends: Vec<u32>,
    bin: usize,
    /// Key of the first event.
    first: Key,
    /// The first slot, counted from time zero.
    present: u64,
    popped: E,
}

impl<E: Copy + Default> Wheel<E> {
    pub fn new() -> Self {
        Self {
            slots: vec![Vec::new(); SLOTS],
            occupied: [0; SLOTS / 64],
            open: Vec::new(),
            ranks: Vec::new(),
            next: 0,
            sorted: 0,
            ends: Vec::new(),
            bin: 0,
            first: NO_EVENT,
            present: 0,
            popped: E::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.first == NO_EVENT
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
            (self.present, self.first) = (slot(key), key);
            self.open.clear();
            self.ranks.clear();
            self.ranks.push(rank(key, 0));
            self.ends.clear();
            (self.next, self.sorted, self.bin) = (0, 1, 0);
            &mut self.open
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
        self.first
    }

    /// Takes out the first event; there must be one. Shows `coming` events that follow in a little while.
    #[inline]
    pub fn pop(&mut self, coming: impl FnMut(&E)) {
        self.popped = self.open[place(self.ranks[self.next])].1;
        self.next += 1;
        if self.next == self.sorted {
            self.go_on(coming);
        }
        self.first = self.ranks.get(self.next).map_or(NO_EVENT, |rank| self.open[place(*rank)].0);
    }

    /// The event taken out last.
    #[inline]
    pub fn popped(&self) -> &E {
        &self.popped
    }

    /// Goes on to the next bin that holds any events, if there is one, and sorts it.
    fn go_on(&mut self, mut coming: impl FnMut(&E)) {
        while self.next == self.sorted {
            if self.bin < self.ends.len() {
                self.sorted = self.ends[self.bin] as usize;
                self.bin += 1;
            } else if let Some(distance) = self.distance() {
                self.open(distance);
            } else {
                return;
            }
        }
        self.sort();
        let then = self.ends.get(self.bin).map_or(self.sorted, |end| *end as usize);
        for rank in &self.ranks[self.sorted..then] {
            coming(&self.open[place(*rank)].1);
        }
    }

    /// Puts the ranks of the present bin in order. At equal times keys decide, which mostly ascend.
    fn sort(&mut self) {
        let bin = &mut self.ranks[self.next..self.sorted];
        bin.sort_unstable();
        let ascends = |a: u64, b: u64| a >> 32 != b >> 32 || self.open[place(a)].0 < self.open[place(b)].0;
        if !bin.windows(2).all(|pair| ascends(pair[0], pair[1])) {
            bin.sort_unstable_by_key(|rank| self.open[place(*rank)].0);
        }
    }

    /// Opens the slot that is so far after the first one.
    fn open(&mut self, distance: u64) {
        self.present += distance;
        let index = self.present as usize % SLOTS;
        self.occupied[index / 64] &= !(1 << (index % 64));
        self.open.clear();
        std::mem::swap(&mut self.open, &mut self.slots[index]);
        (self.next, self.sorted, self.bin) = (0, 0, 0);
        self.deal();
    }

    /// Deals the ranks of the open slot into bins of equal times; those of a few events into one.
    fn deal(&mut self) {
        self.ends.clear();
        self.ranks.clear();
        if self.open.len() <= FEW {
            self.ends.push(self.open.len() as u32);
            return self.ranks.extend(self.open.iter().enumerate().map(|(i, (key, _))| rank(*key, i)));
        }
        let bits = (self.open.len() / IN_BIN).max(1).next_power_of_two().trailing_zeros();
        let bin = |key: Key| ((key >> 64) as u64 & u64::from(u32::MAX)) as usize >> (SLOT_BITS - bits);
        self.ends.resize(1 << bits, 0);
        for (key, _) in &self.open {
            self.ends[bin(*key)] += 1;
        }
        let mut sum = 0;
        for end in &mut self.ends {
            sum += std::mem::replace(end, sum); // where the bin begins, until it is filled
        }
        self.ranks.resize(self.open.len(), 0);
        for (i, (key, _)) in self.open.iter().enumerate() {
            let end = &mut self.ends[bin(*key)];
            self.ranks[*end as usize] = rank(*key, i);
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

/// Time within the slot, and place among its events.
#[inline(always)]
fn rank(key: Key, place: usize) -> u64 {
    ((key >> 64) as u64) << 32 | place as u64
}

#[inline(always)]
fn place(rank: u64) -> usize {
    rank as u32 as usize
}
