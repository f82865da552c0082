//! One queue, one scheme.

use super::drawn::FlowTags;
use super::queue_state::QueueState;
use super::{Carried, Discipline, Fate, Limit, can_mark, view};
use crate::{Aqm, Ctx, Failure, MATCH, OVERFLOW, PacketView, QueueView, Tune, Verdict};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;

#[derive(Clone)]
struct QueuedPacket<P> {
    packet: P,
    since: Time,
}

impl<P: Carried> QueuedPacket<P> {
    fn view(&self, marks: bool) -> PacketView {
        view(&self.packet, self.since, marks)
    }
}

/// First in, first out, under one scheme.
#[derive(Clone)]
pub struct Fifo<A, P> {
    waiting: VecDeque<QueuedPacket<P>>,
    state: QueueState<P>,
    /// The scheme acts on arrivals, and on departures; asked once.
    acts_on_enqueue: bool,
    acts_on_dequeue: bool,
    /// The scheme draws packets; asked once, for few do.
    draws: bool,
    scheme: A,
    /// Flows of the packets that wait, for a scheme that draws them.
    flows: FlowTags,
}

impl<A: Aqm, P: Carried> Fifo<A, P> {
    /// An empty queue, which `view` describes; `ecn` lets it mark instead of dropping.
    pub fn new(scheme: A, view: QueueView, limit: Limit, ecn: bool) -> Self {
        Self {
            acts_on_enqueue: scheme.acts_on_enqueue() || cfg!(debug_assertions),
            acts_on_dequeue: scheme.acts_on_dequeue(),
            draws: scheme.draws_packets(),
            state: QueueState::new(view, scheme.limit(limit, view.packet), ecn),
            scheme,
            waiting: VecDeque::new(), // a host that keeps the packets needs none
            flows: FlowTags::default(),
        }
    }

    /// Draws packets at random beside the arriving one, if its scheme wants any; whether one was of its flow.
    #[inline(never)]
    fn draw(&mut self, packet: &P, cx: &mut Ctx) -> bool {
        let shown = view(packet, cx.now, self.state.ecn);
        let draws = self.scheme.draws(&shown, &self.state.view, cx);
        if draws == 0 {
            return false;
        }
        let Self { waiting, flows, state, .. } = self;
        if !flows.are_kept() {
            flows.start(waiting.iter().map(|waiting| waiting.packet.flow()));
        }
        flows.draw_all(shown.flow, draws, cx, |position| {
            if waiting[position].packet.flow() != shown.flow {
                return false;
            }
            let removed = waiting.remove(position).expect("it has just been looked at");
            state.view.packets -= 1;
            state.view.bytes -= u64::from(removed.packet.size());
            state.drop(MATCH, &removed.packet, removed.since);
            true
        })
    }

    #[inline(always)]
    fn pop(&mut self) -> Option<QueuedPacket<P>> {
        let head = self.waiting.pop_front()?;
        self.state.view.packets -= 1;
        self.state.view.bytes -= u64::from(head.packet.size());
        self.flows.leaves(0);
        Some(head)
    }

    /// Offers a packet that the host keeps, which must not draw any ([`Discipline::departures_known`]); says what became of it.
    #[inline(always)]
    pub fn admit(&mut self, packet: &mut P, cx: &mut Ctx) -> Fate {
        let size = packet.size();
        self.count_arrival(size);
        if self.state.is_full_for(size) {
            return self.overflow(cx);
        }
        let fate = self.judge_arrival(packet, cx);
        if !matches!(fate, Fate::Dropped(_)) {
            self.state.view.packets += 1;
            self.state.view.bytes += u64::from(size);
        }
        fate
    }

    /// The packet at the head, of this size, which the host has kept, is sent.
    #[inline(always)]
    pub fn release(&mut self, size: u32) {
        self.state.view.packets -= 1;
        self.state.view.bytes -= u64::from(size);
        self.state.accounts.departed += 1;
    }

    /// The link asks for a packet where none waits.
    #[inline]
    pub fn fall_idle(&mut self, cx: &mut Ctx) {
        self.scheme.on_empty(cx);
    }

    #[inline(always)]
    fn count_arrival(&mut self, size: u32) {
        self.state.accounts.arrived += 1;
        self.state.view.arrived_packets += 1;
        self.state.view.arrived_bytes += u64::from(size);
    }

    /// A packet finds no room.
    #[cold]
    #[inline(never)]
    fn overflow(&mut self, cx: &mut Ctx) -> Fate {
        self.scheme.on_overflow(&self.state.view, cx);
        self.state.refuse(OVERFLOW)
    }

    /// Fate of an arriving packet, which is marked if that is its fate.
    #[inline(always)]
    fn judge_arrival(&mut self, packet: &mut P, cx: &mut Ctx) -> Fate {
        if !self.acts_on_enqueue {
            return Fate::Kept;
        }
        let (arriving, marks) = (&*packet, self.state.ecn);
        let verdict = self.scheme.judge_arrival(move |now| view(arriving, now, marks), &self.state.view, cx);
        if matches!(verdict, Verdict::Pass) {
            return Fate::Kept;
        }
        let fate = Fate::of(verdict, can_mark(packet, self.state.ecn));
        self.state.joins(fate, packet);
        fate
    }

    /// Judges the packet at the head, which then no longer counts as waiting: true if it leaves, perhaps marked, false if
    /// it is dropped; `None` if there is none. It is judged where it lies: what has just been moved is slow to come.
    #[inline(always)]
    fn judge_head(&mut self, cx: &mut Ctx) -> Option<bool> {
        let Self { waiting, scheme, state, flows, .. } = self;
        let head = waiting.front_mut()?;
        state.view.packets -= 1;
        state.view.bytes -= u64::from(head.packet.size());
        flows.leaves(0);
        let (leaving, marks) = (&*head, state.ecn);
        let verdict = scheme.judge_departure(move || leaving.view(marks), &state.view, cx);
        let QueuedPacket { packet, since } = head;
        Some(state.leaves(Fate::of(verdict, can_mark(packet, state.ecn)), packet, *since))
    }
}

impl<A: Aqm + Tune, P: Carried> Discipline<P> for Fifo<A, P> {
    #[inline(always)]
    fn state(&self) -> &QueueState<P> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut QueueState<P> {
        &mut self.state
    }

    #[inline(always)] // one copy of its code in the engine
    fn enqueue(&mut self, mut packet: P, cx: &mut Ctx) -> Fate {
        let size = packet.size();
        self.count_arrival(size);
        if self.state.is_full_for(size) {
            return self.overflow(cx);
        }
        if (self.draws || cfg!(debug_assertions)) && self.draw(&packet, cx) {
            return self.state.refuse(MATCH);
        }
        let fate = self.judge_arrival(&mut packet, cx);
        if !matches!(fate, Fate::Dropped(_)) {
            self.state.view.packets += 1;
            self.state.view.bytes += u64::from(size);
            self.flows.joins(packet.flow());
            self.waiting.push_back(QueuedPacket { packet, since: cx.now });
        }
        fate
    }

    #[inline(always)]
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        // In debug builds all are asked, so that the contract finds one that forgot to say that it acts.
        if !self.acts_on_dequeue
            && !cfg!(debug_assertions)
            && let Some(head) = self.pop()
        {
            self.state.accounts.departed += 1;
            return Some(keep(head.packet, head.since));
        }
        while let Some(leaves) = self.judge_head(cx) {
            if let Some(head) = self.waiting.pop_front()
                && leaves
            {
                return Some(keep(head.packet, head.since));
            }
        }
        self.scheme.on_empty(cx);
        None
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.waiting.iter().for_each(|waiting| act(&waiting.packet));
    }

    fn departures_known(&self) -> bool {
        !self.acts_on_dequeue && !self.draws
    }

    fn set_limit(&mut self, limit: Limit, packets: f64) {
        self.state.limit = self.scheme.limit(limit, self.state.view.packet);
        self.state.view.limit = packets;
    }

    fn tick_every(&self) -> Option<Span> {
        self.scheme.tick_every()
    }

    fn tick(&mut self, cx: &mut Ctx) {
        self.scheme.on_tick(&self.state.view, cx);
    }

    fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String> {
        self.scheme.set_param(name, value, &self.state.view)
    }

    fn take_all(&mut self, _: Time) -> Vec<(P, Time)> {
        let taken: Vec<_> = std::iter::from_fn(|| self.pop()).map(|head| (head.packet, head.since)).collect();
        self.state.accounts.taken += taken.len() as u64;
        taken
    }

    fn adopt(&mut self, packet: P, since: Time) {
        self.state.accounts.adopted += 1;
        self.scheme.on_adopt(&view(&packet, since, self.state.ecn));
        self.state.view.packets += 1;
        self.state.view.bytes += u64::from(packet.size());
        self.flows.joins(packet.flow());
        self.waiting.push_back(QueuedPacket { packet, since });
    }

    fn observe(&self, i: usize) -> f64 {
        self.scheme.observe(i)
    }

    fn failure(&self) -> Option<&Failure> {
        self.scheme.failure()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use crate::{Ecn, PacketView};

    struct DrawsThree;
    impl Tune for DrawsThree {}
    impl Aqm for DrawsThree {
        fn draws(&mut self, _: &PacketView, queue: &QueueView, _: &mut Ctx) -> u32 {
            if queue.packets == 10 { 3 } else { 0 }
        }
        fn draws_packets(&self) -> bool {
            true
        }
    }

    #[derive(Clone)]
    struct OfFlow(u32);
    impl Carried for OfFlow {
        fn size(&self) -> u32 {
            1000
        }
        fn flow(&self) -> u32 {
            self.0
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn mark(&mut self) {}
    }

    /// Ten packets wait, two of flow 7 and three of one that hashes like it; three are drawn beside a packet of flow 7.
    #[test]
    fn draws_find_as_many_as_single_draws_would() {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        let alike = 7 + FlowTags::TAGS as u32;
        let mut dropped = [0; 3];
        for _ in 0..100_000 {
            let mut fifo = Fifo::new(DrawsThree, bench::queue(0), Limit::Packets(20), false);
            for flow in [1, 7, alike, 2, 3, alike, 7, 4, alike, 5] {
                fifo.enqueue(OfFlow(flow), cx);
            }
            fifo.enqueue(OfFlow(7), cx);
            dropped[10 - fifo.len().min(10) as usize] += 1;
        }
        // None: 0.8^3 = 0.512. Both: found at the first draw (0.2) and at one of two more among nine (1 - (8/9)^2), or at
        // the second (0.16) and at the third (1/9): 0.05975. Within five standard deviations (0.00158, 0.00075).
        let shares = dropped.map(|times| f64::from(times) / 1e5);
        assert!((shares[0] - 0.512).abs() < 0.0079, "{shares:?}");
        assert!((shares[2] - 0.05975).abs() < 0.0038, "{shares:?}");
    }
}
