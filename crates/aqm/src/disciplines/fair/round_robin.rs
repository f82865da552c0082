//! Deficit round robin: which queue is served next, and what happens to one that has nothing to send.

use super::{Fair, Isolation};
use crate::{Aqm, Carried, Ctx, Tune};
use aqmlab_core::Time;

/// Treatment of a queue that runs empty, by variant of deficit round robin.
#[derive(Clone, Copy, PartialEq)]
pub(in crate::disciplines) enum RoundRobin {
    /// A new one joins the old, so that it cannot starve them; an old one leaves (RFC 8290).
    Rfc8290,
    /// It leaves; until its scheme is at rest it stays its flow's, and is told at departures that it is empty (CAKE).
    Cake,
}

/// The set that a queue is in (`cake_flow_sets` in Linux).
#[derive(Clone, Copy, PartialEq)]
pub(super) enum FlowSet {
    /// In no list: any flow may have it.
    Idle,
    /// Among the new ones.
    Sparse,
    /// Among the old ones, but it was empty when it came there.
    SparseWait,
    /// Among the old ones; it counts as load of its host.
    Bulk,
    /// Empty, and its scheme is not at rest yet.
    Decaying,
}

impl<A: Aqm + Tune + Clone, P: Carried> Fair<A, P> {
    /// Bytes that a queue may send in a turn: its host's bulk queues share one quantum, if hosts are isolated.
    pub(super) fn quantum(&self, host: u32) -> i64 {
        let quantum = self.params.quantum.0 as i64;
        let sharing = if self.params.isolation == Isolation::Hosts { self.hosts.bulk(host) } else { 1 };
        if sharing > 1 { (quantum / sharing).max(1) } else { quantum.max(1) }
    }

    /// A queue gets a quantum.
    fn credit(&mut self, index: u32) {
        let quantum = self.quantum(self.queues[index as usize].host);
        self.queues[index as usize].credits += quantum;
    }

    /// Changes a queue's state, and its host's load with it.
    fn set_state(&mut self, index: u32, state: FlowSet) {
        let queue = &mut self.queues[index as usize];
        let (before, host) = (std::mem::replace(&mut queue.state, state), queue.host);
        if state == FlowSet::Bulk {
            self.bulk += 1;
            self.hosts.gain_bulk(host);
        }
        if before == FlowSet::Bulk {
            self.bulk -= 1;
            self.hosts.lose_bulk(host);
        }
    }

    /// The queue whose turn it is, and whether it is in the list of new ones.
    #[inline(always)]
    pub(super) fn next(&mut self) -> Option<(u32, bool)> {
        loop {
            let (index, is_new) = match self.new.front() {
                Some(index) => (*index, true),
                None => (*self.old.front()?, false),
            };
            if self.queues[index as usize].credits > 0 {
                return Some((index, is_new));
            }
            self.end_turn(index, is_new);
        }
    }

    /// The queue at the head of a list has sent what it might in its turn.
    #[inline(never)]
    fn end_turn(&mut self, index: u32, is_new: bool) {
        if is_new { &mut self.new } else { &mut self.old }.pop_front();
        self.old.push_back(index);
        let queue = &self.queues[index as usize];
        if queue.state == FlowSet::Sparse {
            self.set_state(index, if queue.is_empty() { FlowSet::SparseWait } else { FlowSet::Bulk });
        }
        self.credit(index);
    }

    /// A queue has packets: one that was in no list is new.
    #[inline(always)]
    pub(super) fn begin(&mut self, index: u32) {
        let state = self.queues[index as usize].state;
        if !matches!(state, FlowSet::Sparse | FlowSet::Bulk) {
            self.wake(index, state);
        }
    }

    /// A queue that was empty: it counts as load from now on if it is among the old ones, else it is new.
    #[inline(never)]
    fn wake(&mut self, index: u32, before: FlowSet) {
        if before == FlowSet::SparseWait {
            return self.set_state(index, FlowSet::Bulk);
        }
        self.set_state(index, FlowSet::Sparse);
        self.queues[index as usize].credits = 0;
        self.credit(index);
        self.new.push_back(index);
    }

    /// The queue at the head of a list has nothing to send.
    pub(super) fn retire(&mut self, index: u32, is_new: bool, now: Time) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        list.pop_front();
        match self.round_robin {
            RoundRobin::Rfc8290 if is_new => {
                self.old.push_back(index);
                self.set_state(index, FlowSet::SparseWait);
            }
            RoundRobin::Rfc8290 => self.set_state(index, FlowSet::Idle),
            RoundRobin::Cake => self.release(index, now),
        }
    }

    /// A queue in no list is idle as soon as its scheme is at rest.
    fn release(&mut self, index: u32, now: Time) {
        if self.queues[index as usize].scheme.is_at_rest(now) {
            return self.set_state(index, FlowSet::Idle);
        }
        self.set_state(index, FlowSet::Decaying);
        let queue = &mut self.queues[index as usize];
        queue.decays += 1;
        let decays = queue.decays;
        self.decaying.push_back((index, decays));
    }

    /// Tells the first of the decaying queues that it is empty.
    pub(super) fn decay(&mut self, cx: &mut Ctx) {
        while let Some((index, decays)) = self.decaying.pop_front() {
            let queue = &mut self.queues[index as usize];
            if queue.state == FlowSet::Decaying && queue.decays == decays {
                queue.scheme.on_empty(cx);
                return self.release(index, cx.now);
            }
        }
    }
}
