//! Enqueueing, dequeueing and dropping of packets.

use super::Fair;
use crate::disciplines::memory::truesize;
use crate::disciplines::{can_mark, view};
use crate::{Aqm, Carried, Ctx, Fate, MATCH, OVERFLOW, Tune};
use aqmlab_core::Time;

/// A packet that has left its line.
pub(super) struct Head {
    pub(super) slot: u32,
    pub(super) size: u32,
}

impl<A: Aqm + Tune + Clone, P: Carried> Fair<A, P> {
    /// Fate of a packet that arrives at a queue.
    #[inline(always)]
    pub(super) fn judge_arrival(&mut self, index: u32, packet: &mut P, cx: &mut Ctx) -> Fate {
        self.count_arrival(index, packet.size());
        if !self.acts_on_enqueue {
            return Fate::Kept; // its scheme lies in other cache lines
        }
        if self.draws && self.draw(index, packet, cx) {
            return self.state.refuse(MATCH);
        }
        let queue = &mut self.queues[index as usize];
        let (seen, arriving, marks) = (queue.view(&self.state.view), &*packet, self.state.ecn);
        let verdict = queue.scheme.judge_arrival(move |now| view(arriving, now, marks), &seen, cx);
        let fate = Fate::of(verdict, can_mark(packet, self.state.ecn));
        self.state.joins(fate, packet);
        fate
    }

    /// A packet of this size asks to join a queue.
    #[inline(always)]
    fn count_arrival(&mut self, index: u32, size: u32) {
        let queue = &mut self.queues[index as usize];
        self.state.accounts.arrived += 1;
        queue.arrived_packets += 1;
        queue.arrived_bytes += u64::from(size);
    }

    /// Refuses a packet of this size for want of room.
    #[inline(never)]
    pub(super) fn refuse(&mut self, index: u32, size: u32, cx: &mut Ctx) -> Fate {
        self.count_arrival(index, size);
        let queue = &mut self.queues[index as usize];
        let seen = queue.view(&self.state.view);
        queue.scheme.on_overflow(&seen, cx);
        self.state.refuse(OVERFLOW)
    }

    /// Draws packets of a queue at random beside an arriving one; whether one was of its flow.
    #[inline(never)]
    fn draw(&mut self, index: u32, packet: &P, cx: &mut Ctx) -> bool {
        let shown = view(packet, cx.now, self.state.ecn);
        let Self { queues, store, flows, state, memory, .. } = self;
        let (queue, flows) = (&mut queues[index as usize], &mut flows[index as usize]);
        let seen = queue.view(&state.view);
        let draws = queue.scheme.draws(&shown, &seen, cx);
        if draws == 0 {
            return false;
        }
        if !flows.are_kept() {
            flows.start(store.packets_of(&queue.line).map(P::flow));
        }
        flows.draw_all(shown.flow, draws, cx, |position| {
            let Some((packet, since)) = store.take_at(&mut queue.line, position, |packet| packet.flow() == shown.flow)
            else {
                return false;
            };
            queue.lose(packet.size(), &mut state.view);
            release(memory, packet.size());
            state.drop(MATCH, &packet, since);
            true
        })
    }

    /// A packet joins a queue, which gets a turn.
    #[inline(always)]
    pub(super) fn join(&mut self, index: u32, packet: P, since: Time) {
        let queue = &mut self.queues[index as usize];
        queue.gain(packet.size(), &mut self.state.view);
        if let Some(memory) = &mut self.memory {
            *memory += u64::from(truesize(packet.size()));
        }
        if self.draws {
            self.flows[index as usize].joins(packet.flow());
        }
        self.store.push(&mut queue.line, packet, since);
        self.begin(index);
    }

    /// The packet at the head of a queue leaves its line; `None` if there is none.
    #[inline(always)]
    pub(super) fn unlink(&mut self, index: u32) -> Option<Head> {
        let queue = &mut self.queues[index as usize];
        let slot = self.store.unlink(&mut queue.line)?;
        let size = self.store.at(slot).0.size();
        queue.lose(size, &mut self.state.view);
        release(&mut self.memory, size);
        if self.draws {
            self.flows[index as usize].leaves(0);
        }
        Some(Head { slot, size })
    }

    /// Judges a packet that has left its line, and charges its queue for it: true if it is sent, perhaps marked.
    #[inline(always)]
    pub(super) fn leaves(&mut self, index: u32, head: &Head, cx: &mut Ctx) -> bool {
        let queue = &mut self.queues[index as usize];
        let (packet, since) = self.store.at(head.slot);
        if self.dropped.is_some() {
            queue.scheme.set_bulk_flows(self.bulk);
        }
        let fate = if self.acts_on_dequeue {
            let seen = queue.view(&self.state.view);
            let verdict = queue.scheme.judge_departure(|| view(packet, since, self.state.ecn), &seen, cx);
            Fate::of(verdict, can_mark(packet, self.state.ecn))
        } else {
            Fate::Kept
        };
        let is_sent = self.state.leaves(fate, packet, since);
        if is_sent || self.dropped.is_some() {
            queue.credits -= i64::from(self.layer.bytes(head.size));
        }
        is_sent
    }

    /// A packet that has left its line is gone.
    pub(super) fn throw_away(&mut self, head: &Head) {
        self.store.take(head.slot);
        let bytes = self.layer.bytes(head.size);
        self.dropped.iter_mut().for_each(|dropped| dropped.push(bytes));
    }

    /// Drops from the head of the queue with most bytes: half of its packets, but no more than a batch.
    pub(in crate::disciplines) fn make_room(&mut self, cx: &mut Ctx) {
        let (_, longest) = self.longest();
        let index = self.buckets[longest as usize].queue;
        let waiting = self.queues.get(index as usize).map_or(0, |queue| queue.line.len());
        for _ in 0..waiting.div_ceil(2).min(self.params.drop_batch) {
            let Some(head) = self.unlink(index) else { return };
            let (queue, (packet, since)) = (&mut self.queues[index as usize], self.store.at(head.slot));
            let seen = queue.view(&self.state.view);
            queue.scheme.on_head_drop(&view(packet, since, self.state.ecn), &seen, cx);
            self.state.drop(OVERFLOW, packet, since);
            self.throw_away(&head);
        }
    }
}

/// A packet of this size waits no longer.
#[inline(always)]
fn release(memory: &mut Option<u64>, size: u32) {
    if let Some(memory) = memory {
        *memory -= u64::from(truesize(size));
    }
}
