//! The order of events.

use super::place::Place;
use aqmlab_core::Time;

/// The present, when an event is pushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    pub now: Time,
    /// When the event was pushed that now pushes another.
    pub since: Time,
}

impl Moment {
    /// A moment that tells no more of its past.
    pub fn at(now: Time) -> Self {
        Self { now, since: now }
    }
}

/// Order of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Key {
    pub time: Time,
    /// When it was pushed.
    pub pushed: Moment,
    /// The place of who pushed it in the higher bits, a count of pushes in the lower.
    pub order: u64,
}

/// Bits of the count of pushes.
const COUNT_BITS: u32 = u64::BITS - Place::BITS;

impl Key {
    /// After all events.
    pub const NONE: Self =
        Self { time: Time::NEVER, pushed: Moment { now: Time::NEVER, since: Time::NEVER }, order: u64::MAX };

    /// After all events up to and including this time, and before the last of its instant.
    #[inline(always)]
    pub fn after(time: Time) -> Self {
        Self { time, pushed: Moment { now: Time::NEVER, since: Time::ZERO }, order: 0 }
    }

    #[inline(always)]
    pub fn new(time: Time, pushed: Moment, place: Place, count: u64) -> Self {
        debug_assert!(count < 1 << COUNT_BITS);
        Self { time, pushed, order: u64::from(place.bits()) << COUNT_BITS | count }
    }

    /// True if this comes first. Times are seldom equal.
    #[inline(always)]
    pub fn is_before(&self, other: &Self) -> bool {
        self.time < other.time || self.time == other.time && self.was_pushed_before(other)
    }

    #[cold]
    fn was_pushed_before(&self, other: &Self) -> bool {
        self.rank() < other.rank()
    }

    /// What orders keys of one time.
    pub fn rank(&self) -> impl Ord + use<> {
        (self.pushed, self.order)
    }

    /// The one of two that comes first.
    #[inline(always)]
    pub fn or_earlier(self, other: Self) -> Self {
        if other.is_before(&self) { other } else { self }
    }

    /// The place of who pushed the event.
    #[inline(always)]
    pub fn place(self) -> Place {
        Place::of_bits((self.order >> COUNT_BITS) as u32)
    }
}

/// What a wheel holds: a key, or more.
pub trait Keyed: Copy + Default {
    /// Its key.
    fn key(&self) -> Key;

    /// It, by its key alone; the rest stays as it is.
    fn set_key(&mut self, key: Key);
}

impl Keyed for Key {
    #[inline(always)]
    fn key(&self) -> Key {
        *self
    }

    #[inline(always)]
    fn set_key(&mut self, key: Key) {
        *self = key;
    }
}

/// An event and its key, in a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct KeyedEvent<E> {
    pub key: Key,
    pub event: E,
}

impl<E: Copy + Default> Keyed for KeyedEvent<E> {
    #[inline(always)]
    fn key(&self) -> Key {
        self.key
    }

    #[inline(always)]
    fn set_key(&mut self, key: Key) {
        self.key = key;
    }
}
