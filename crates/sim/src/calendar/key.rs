//! The order of events.

use super::origin::EventOrigin;
use aqmlab_core::Time;

/// The present, when an event is pushed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PushTime {
    pub now: Time,
    /// The time at which the event was pushed that now pushes another.
    pub since: Time,
}

impl PushTime {
    /// A moment that tells no more of its past.
    pub fn at(now: Time) -> Self {
        Self { now, since: now }
    }
}

/// Order of an event: by time, then by the moment at which it was pushed, then by who pushed it, then by their count of pushes.
///
/// A processor waits where one load reads what two stores have just written. So the halves of a moment lie apart, and where a
/// call is not inlined a key is passed in parts, not through memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Key {
    pub now: Time,
    pub time: Time,
    pub since: Time,
    /// The origin in the higher bits, a count of pushes in the lower.
    pub order: u64,
}

/// Bits of the count of pushes.
const COUNT_BITS: u32 = u64::BITS - EventOrigin::BITS;

/// The order among the pushes of one moment.
#[inline(always)]
pub fn order(place: EventOrigin, count: u64) -> u64 {
    debug_assert!(count < 1 << COUNT_BITS);
    u64::from(place.bits()) << COUNT_BITS | count
}

impl Key {
    /// After all events.
    pub const NONE: Self = Self { time: Time::NEVER, now: Time::NEVER, since: Time::NEVER, order: u64::MAX };

    /// After all events up to and including this time, and before the last of its instant.
    #[inline(always)]
    pub fn after(time: Time) -> Self {
        Self { time, now: Time::NEVER, since: Time::ZERO, order: 0 }
    }

    #[inline(always)]
    pub fn new(time: Time, pushed: PushTime, order: u64) -> Self {
        Self { time, now: pushed.now, since: pushed.since, order }
    }

    /// The time at which it was pushed.
    #[inline(always)]
    pub fn pushed(&self) -> PushTime {
        PushTime { now: self.now, since: self.since }
    }

    /// True if this comes first. Times are seldom equal.
    #[inline(always)]
    pub fn is_before(&self, other: &Self) -> bool {
        let is_tied = || is_pushed_before(self.pushed(), self.order, other.pushed(), other.order);
        self.time < other.time || self.time == other.time && is_tied()
    }

    /// The order among keys of one time.
    pub fn rank(&self) -> impl Ord + use<> {
        (self.pushed(), self.order)
    }

    /// The one of two that comes first.
    #[inline(always)]
    pub fn or_earlier(self, other: Self) -> Self {
        if other.is_before(&self) { other } else { self }
    }

    /// The origin of the event.
    #[inline(always)]
    pub fn place(self) -> EventOrigin {
        EventOrigin::of_bits((self.order >> COUNT_BITS) as u32)
    }
}

#[cold]
fn is_pushed_before(one: PushTime, order: u64, other: PushTime, other_order: u64) -> bool {
    (one.now.0, one.since.0, order) < (other.now.0, other.since.0, other_order) // numbers: a chain of calls is slow
}

/// An entry of a wheel: a key, or more.
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
