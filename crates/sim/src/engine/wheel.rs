//! A timing wheel (Varghese and Lauck, 1987): the events of about the next second, by the slot of time in which they come.
//!
//! An event is put into its slot unsorted. The events of a slot are sorted when it becomes the first that holds any.

use super::calendar::{Key, NO_EVENT};

/// A slot lasts 2^32 ps = 4.3 ms.
const SLOT_BITS: u32 = 32;
/// The wheel covers 1.1 s.
const SLOTS: usize = 256;

/// Events by slot.
#[derive(Clone)]
pub struct Wheel<E> {
    slots: Vec<Vec<(Key, E)>>,
    /// A bit for each slot that holds events.
    occupied: [u64; SLOTS / 64],
    /// The events of the first slot, in order; those before `next` have come. When all have, no other slot holds any.
    open: Vec<(Key, E)>,
    next: usize,
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
            next: 0,
            present: 0,
            popped: E::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.next == self.open.len()
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
            self.open.clear();
            self.next = 0;
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
        self.open.get(self.next).map_or(NO_EVENT, |(key, _)| *key)
    }

    /// Takes out the first event; there must be one.
    #[inline]
    pub fn pop(&mut self) {
        self.popped = self.open[self.next].1;
        self.next += 1;
        if self.is_empty()
            && let Some(distance) = self.distance()
        {
            self.open(distance);
        }
    }

    /// The event taken out last.
    #[inline]
    pub fn popped(&self) -> &E {
        &self.popped
    }

    /// Opens the slot that is so far after the first one.
    fn open(&mut self, distance: u64) {
        self.present += distance;
        let index = self.present as usize % SLOTS;
        self.occupied[index / 64] &= !(1 << (index % 64));
        self.open.clear();
        self.next = 0;
        std::mem::swap(&mut self.open, &mut self.slots[index]);
        self.open.sort_unstable_by_key(|(key, _)| *key);
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
