//! A class of a tree, and its tokens.

use super::{LEVELS, PRIORITIES};
use crate::Limit;
use aqmlab_core::{Rate, Span, Time};
use std::collections::BTreeSet;

/// Tokens never owed for longer, nor counted for longer at once (`mbuffer`).
const LONGEST: i64 = 60_000_000_000_000;

/// A class of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbClass {
    /// Its parent among the classes; `None` is the link.
    pub parent: Option<usize>,
    /// The rate that it has for certain.
    pub rate: Rate,
    /// The rate that it may have with what it borrows.
    pub ceil: Rate,
    /// Bytes that it may send at once at its rate, after a pause.
    pub burst: u32,
    /// The same at its ceiling.
    pub cburst: u32,
    /// Priority among those that borrow, the lowest first.
    pub prio: u8,
    /// Bytes that it sends in its turn.
    pub quantum: u32,
    /// Its queue, if it is a leaf.
    pub queue: Option<HtbQueue>,
}

/// The queue of a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct HtbQueue {
    /// Index of the queue at rest that it is a copy of.
    pub model: usize,
    /// A capacity of its own, and the same in packets; `None` is that of the link.
    pub limit: Option<(Limit, f64)>,
}

/// The tokens that a class has now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// It has tokens of its own.
    Sends,
    /// It has none, and may have those of its parent.
    Borrows,
    /// It has had its ceiling.
    Waits,
}

/// Classes that take turns at a priority, by number, and whose turn it is. `None` is the end of a round.
#[derive(Clone, Default)]
pub(super) struct Round {
    pub classes: BTreeSet<u32>,
    pub turn: Option<u32>,
}

impl Round {
    pub fn pass(&mut self) {
        self.turn = self.turn.and_then(|turn| self.classes.range(turn + 1..).next().copied());
    }
}

#[derive(Clone)]
pub(super) struct Class<Q> {
    pub spec: HtbClass,
    /// 0 of leaves; of others one less than that of the parent.
    pub level: usize,
    pub mode: Mode,
    /// Tokens at the rate and at the ceiling, as the time in which they come, ps; below zero owed.
    pub tokens: i64,
    pub ceil_tokens: i64,
    /// The most of each.
    pub depth: i64,
    pub ceil_depth: i64,
    /// Time as of which they are.
    pub since: Time,
    /// Time at which the mode changes by itself, while it does not send.
    pub changes_at: Time,
    /// Priorities at which it, or a class that borrows from it, has packets.
    pub active: u8,
    /// Bytes left of its turn, by the level that it sends at.
    pub credits: [i64; LEVELS],
    /// The classes that borrow from it, by priority.
    pub rounds: Vec<Round>,
    pub queue: Option<Box<Q>>,
    pub emptied: Time,
    pub is_listed: bool,
}

impl<Q> Class<Q> {
    pub fn new(spec: HtbClass, level: usize) -> Self {
        let time = |bytes: u32, rate: Rate| rate.transmission(bytes).0 as i64;
        let (depth, ceil_depth) = (time(spec.burst, spec.rate), time(spec.cburst, spec.ceil));
        Self {
            rounds: if level == 0 { Vec::new() } else { vec![Round::default(); PRIORITIES] },
            spec,
            level,
            mode: Mode::Sends,
            tokens: depth,
            ceil_tokens: ceil_depth,
            depth,
            ceil_depth,
            since: Time::ZERO,
            changes_at: Time::ZERO,
            active: 0,
            credits: [0; LEVELS],
            queue: None,
            emptied: Time::ZERO,
            is_listed: false,
        }
    }

    /// Tokens that have come since they were counted.
    pub fn come(&self, now: Time) -> i64 {
        (now.since(self.since).0 as i64).min(LONGEST)
    }

    /// Its mode once so many tokens more have come, and the time until it changes.
    pub fn mode_with(&self, come: i64) -> (Mode, Span) {
        let (tokens, ceil_tokens) = (self.tokens + come, self.ceil_tokens + come);
        match () {
            () if ceil_tokens < 0 => (Mode::Waits, Span(ceil_tokens.unsigned_abs())),
            () if tokens < 0 => (Mode::Borrows, Span(tokens.unsigned_abs())),
            () => (Mode::Sends, Span::ZERO),
        }
    }

    /// Counts `bytes` sent, whose tokens at the rate a class above has given if `borrows`.
    pub fn charge(&mut self, bytes: u32, borrows: bool, now: Time) {
        let come = self.come(now);
        let left = |tokens: i64, depth: i64, rate: Rate| {
            ((tokens + come).min(depth) - rate.transmission(bytes).0 as i64).max(1 - LONGEST)
        };
        self.tokens = if borrows { self.tokens + come } else { left(self.tokens, self.depth, self.spec.rate) };
        self.ceil_tokens = left(self.ceil_tokens, self.ceil_depth, self.spec.ceil);
        self.since = now;
    }
}
