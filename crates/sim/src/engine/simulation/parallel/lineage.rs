//! Order of an event among the others of its instant, told without a count of all pushes.
//!
//! Events of one instant come in the order in which they were pushed: by when that was and, if it was at one instant,
//! in the order of the events that pushed them, and so on back to an event whose place is known: one of a queue, which
//! are counted, or of the set-up.

use crate::calendar::{FromTimer, Timer};
use crate::engine::event::Event;
use aqmlab_core::Time;
use std::cmp::Ordering;

/// Origin of an event: the times at which its ancestors were pushed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Lineage {
    /// Time of the push plus 1 ps; 0 at set-up.
    at: u64,
    /// The same of the event that pushed it.
    before: u64,
    /// In the highest bits what stands for the times of the generations before, back to the root; in the others the
    /// place of the root among the events of the queues, or among those of the set-up.
    origin: u64,
}

impl Lineage {
    const SET_UP: u64 = 0;
    const OF_QUEUE: u64 = 1;
    const AFTER_QUEUE: u64 = 2;
    /// A root's place is below 2 to this power: a million million.
    const CHAIN: u32 = 40;

    /// Time of the push, if that was after the set-up.
    #[inline(always)]
    pub fn pushed_at(&self) -> Time {
        Time(self.at - 1)
    }

    #[inline(always)]
    fn chain(&self) -> u64 {
        self.origin >> Self::CHAIN
    }

    #[inline(always)]
    fn with_chain(&self, chain: u64) -> u64 {
        chain << Self::CHAIN | self.origin & ((1 << Self::CHAIN) - 1)
    }

    /// Of an event of the set-up.
    pub fn of_set_up(place: u64) -> Self {
        Self { at: 0, before: 0, origin: Self::SET_UP << Self::CHAIN | place }
    }

    /// Of an event that is pushed now by an event of a queue, which is the `place`-th.
    pub fn of_queue(&self, now: Time, place: u64) -> Self {
        Self { at: now.0 + 1, before: self.at, origin: Self::OF_QUEUE << Self::CHAIN | place }
    }

    /// Of an event that is pushed now by one of this lineage.
    pub fn child(&self, now: Time) -> Self {
        let chain = match self.chain() {
            Self::OF_QUEUE => Self::AFTER_QUEUE, // the place of the root says more than the times before it
            chain => mix(chain, self.before),
        };
        Self { at: now.0 + 1, before: self.at, origin: self.with_chain(chain) }
    }

    /// Order relative to another event of the same instant; `None` if that cannot be told.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        let by_times = (self.at, self.before).cmp(&(other.at, other.before));
        match by_times {
            Ordering::Equal if self.chain() != other.chain() => None,
            Ordering::Equal => Some(self.origin.cmp(&other.origin)),
            decided => Some(decided),
        }
    }

    /// An order that agrees with [`compare`](Self::compare) where that can tell.
    pub fn rank(&self) -> impl Ord + use<> {
        (self.at, self.before, self.origin)
    }
}

/// The highest bits of SplitMix64's finalizer (Steele, Lea and Flood, 2014).
fn mix(chain: u64, time: u64) -> u64 {
    let mut bits = chain.wrapping_add(time).wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ bits >> 31) >> Lineage::CHAIN
}

/// An event and its lineage, which orders it among the events of its instant.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderedEvent {
    pub event: Event,
    pub lineage: Lineage,
}

impl FromTimer<Lineage> for OrderedEvent {
    fn from_timer(timer: Timer, lineage: Lineage) -> Self {
        Self { event: Event::from_timer(timer, ()), lineage }
    }
}
