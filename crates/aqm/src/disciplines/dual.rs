//! The dual queue of RFC 9332: a low-latency queue and a classic one, coupled by one scheme, on one link; or two queues that another rule
//! tells apart.

use super::queue_state::QueueState;
use super::{Carried, Discipline, Fate, Limit, view};
use crate::{Ctx, OVERFLOW, PacketView, QueueView, Tune, Verdict};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;

/// The queue that a packet joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    /// The low-latency queue.
    LowLatency,
    /// The classic queue.
    Classic,
    /// The classic queue, by queue protection: it belongs into the low-latency one.
    Sanctioned,
}

/// A scheme that couples the two queues. Bytes that wait are those of the low-latency and of the classic queue.
pub trait Coupled: Tune {
    /// Time between updates; `None` if there are none.
    fn period(&self) -> Option<Span>;
    /// A packet that joins at `now` belongs to the low-latency queue.
    fn goes_first(&mut self, packet: &PacketView, _now: Time) -> bool {
        packet.is_low_latency()
    }
    /// Who finds the buffer full takes the place of the packet at the head of the classic queue.
    fn drops_front(&self) -> bool {
        false
    }
    /// The classic queue's share of the link while both wait.
    fn classic_weight(&self) -> f64;
    /// Bytes that the classic queue is owed when both queues are empty, where what it is owed outlasts a queue that runs
    /// empty and dropped packets are not counted; `None` where it is forgotten and every packet counts.
    fn owed_at_rest(&self) -> Option<f64>;
    /// A packet asks to join a link on which so many `bytes` wait: the queue that it joins, and what becomes of it.
    fn judge_arrival(&mut self, packet: &PacketView, _: [u64; 2], _: &QueueView, cx: &mut Ctx) -> (Joins, Verdict) {
        (if self.goes_first(packet, cx.now) { Joins::LowLatency } else { Joins::Classic }, Verdict::Pass)
    }
    /// The periodic update. `delay` is the longer of the times that the two heads have waited.
    fn update(&mut self, delay: Span, bytes: [u64; 2], queue: &QueueView);
    /// A packet leaves the low-latency queue, `left` packets behind it, of a link on which `queue` still waits.
    fn judge_l4s(&mut self, packet: &PacketView, left: usize, queue: &QueueView, cx: &mut Ctx) -> Verdict;
    /// The same of the classic queue.
    fn judge_classic(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict;
    /// Present value of the i-th observable, with so many packets in the low-latency and in the classic queue.
    fn observe(&self, i: usize, waiting: [usize; 2]) -> f64;
}

/// One of the two queues.
#[derive(Clone)]
struct Side<P> {
    waiting: VecDeque<(P, Time)>,
    bytes: u64,
}

impl<P: Carried> Side<P> {
    fn new() -> Self {
        Self { waiting: VecDeque::new(), bytes: 0 }
    }

    /// Time for which the packet at the head has waited.
    fn delay(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |(_, since)| now.since(*since))
    }

    fn head_size(&self) -> Option<f64> {
        self.waiting.front().map(|(packet, _)| f64::from(packet.size()))
    }
}

/// Two queues under weighted round robin; the scheme says which of them a packet joins.
#[derive(Clone)]
pub struct Dual<S, P> {
    scheme: S,
    l4s: Side<P>,
    classic: Side<P>,
    /// Both queues together.
    state: QueueState<P>,
    /// Weighted bytes that the classic queue is owed; above zero it is its turn.
    owed: f64,
}

impl<S: Coupled, P: Carried> Dual<S, P> {
    /// Empty queues of a link that `view` describes; they share `limit`, and mark if `ecn`.
    pub fn new(scheme: S, view: QueueView, limit: Limit, ecn: bool) -> Self {
        let (l4s, classic, state) = (Side::new(), Side::new(), QueueState::new(view, limit, ecn));
        let owed = scheme.owed_at_rest().unwrap_or(0.0);
        Self { scheme, l4s, classic, state, owed }
    }

    /// Bytes that wait in the low-latency and in the classic queue.
    fn bytes(&self) -> [u64; 2] {
        [self.l4s.bytes, self.classic.bytes]
    }

    /// Takes the head of the low-latency queue or of the classic one.
    fn head(&mut self, is_l4s: bool) -> (P, Time) {
        let side = if is_l4s { &mut self.l4s } else { &mut self.classic };
        let (packet, since) = side.waiting.pop_front().expect("the scheduler picks a queue with packets");
        side.bytes -= u64::from(packet.size());
        self.state.view.packets -= 1;
        self.state.view.bytes -= u64::from(packet.size());
        (packet, since)
    }

    fn join(&mut self, packet: P, joins: Joins, since: Time) {
        let side = if joins == Joins::LowLatency { &mut self.l4s } else { &mut self.classic };
        side.bytes += u64::from(packet.size());
        self.state.view.packets += 1;
        self.state.view.bytes += u64::from(packet.size());
        side.waiting.push_back((packet, since));
    }

    /// The queue served next, true for the low-latency one, and how that changes what the classic queue is owed, if both
    /// wait.
    fn turn(&self) -> Option<(bool, Option<f64>)> {
        let weight = self.scheme.classic_weight();
        match (self.l4s.head_size(), self.classic.head_size()) {
            (None, None) => None,
            (Some(size), Some(_)) if self.owed <= 0.0 => Some((true, Some(size * weight))),
            (Some(_), Some(size)) => Some((false, Some(-size * (1.0 - weight)))),
            (l4s, _) => Some((l4s.is_some(), None)),
        }
    }

    /// Books what `turn` said of a packet that was `sent` or not.
    fn charge(&mut self, more: Option<f64>, sent: bool) {
        match (self.scheme.owed_at_rest(), more) {
            (None, None) => self.owed = 0.0,
            (Some(_), Some(_)) if !sent => {}
            (_, more) => self.owed += more.unwrap_or(0.0),
        }
    }
}

impl<S: Coupled, P: Carried> Discipline<P> for Dual<S, P> {
    fn state(&self) -> &QueueState<P> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut QueueState<P> {
        &mut self.state
    }

    fn enqueue(&mut self, mut packet: P, cx: &mut Ctx) -> Fate {
        self.state.accounts.arrived += 1;
        while self.state.limit.is_reached(self.state.view.packets, self.state.view.bytes, packet.size()) {
            if !self.scheme.drops_front() || self.classic.waiting.is_empty() {
                return self.state.refuse(OVERFLOW);
            }
            let (oldest, since) = self.head(false);
            self.state.drop(OVERFLOW, &oldest, since);
        }
        let shown = view(&packet, cx.now, self.state.ecn);
        let (joins, verdict) = self.scheme.judge_arrival(&shown, self.bytes(), &self.state.view, cx);
        self.state.accounts.sanctioned += u64::from(joins == Joins::Sanctioned);
        let fate = Fate::of(verdict, shown.can_mark);
        if self.state.joins(fate, &mut packet) {
            self.join(packet, joins, cx.now);
        }
        fate
    }

    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        while let Some((is_l4s, more)) = self.turn() {
            let (mut packet, since) = self.head(is_l4s);
            let shown = view(&packet, since, self.state.ecn);
            let verdict = match is_l4s {
                true => self.scheme.judge_l4s(&shown, self.l4s.waiting.len(), &self.state.view, cx),
                false => self.scheme.judge_classic(&self.state.view, cx),
            };
            let fate = Fate::of(verdict, shown.can_mark);
            self.charge(more, !matches!(fate, Fate::Dropped(_)));
            if self.state.leaves(fate, &mut packet, since) {
                return Some(keep(packet, since));
            }
        }
        self.owed = self.scheme.owed_at_rest().unwrap_or(self.owed);
        None
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.l4s.waiting.iter().chain(&self.classic.waiting).for_each(|(packet, _)| act(packet));
    }

    fn tick_every(&self) -> Option<Span> {
        self.scheme.period()
    }

    fn tick(&mut self, cx: &mut Ctx) {
        let delay = self.l4s.delay(cx.now).max(self.classic.delay(cx.now));
        self.scheme.update(delay, self.bytes(), &self.state.view);
    }

    fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String> {
        self.scheme.set_param(name, value, &self.state.view)
    }

    fn take_all(&mut self, _: Time) -> Vec<(P, Time)> {
        self.state.accounts.taken += u64::from(self.state.view.packets);
        let next = || {
            let (is_l4s, more) = self.turn()?;
            self.charge(more, true);
            Some(self.head(is_l4s))
        };
        std::iter::from_fn(next).collect()
    }

    fn adopt(&mut self, packet: P, since: Time) {
        self.state.accounts.adopted += 1;
        let goes_first = self.scheme.goes_first(&view(&packet, since, false), since);
        let joins = if goes_first { Joins::LowLatency } else { Joins::Classic };
        self.join(packet, joins, since);
    }

    fn observe(&self, i: usize) -> f64 {
        self.scheme.observe(i, [self.l4s.waiting.len(), self.classic.waiting.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use crate::schemes::dualpi2::{DualPi2, DualPi2Params};
    use crate::{Ecn, Scheme};
    use aqmlab_core::ParamSet;

    #[derive(Clone)]
    struct Packet(Ecn);

    impl Carried for Packet {
        fn size(&self) -> u32 {
            1000
        }
        fn flow(&self) -> u32 {
            0
        }
        fn ecn(&self) -> Ecn {
            self.0
        }
        fn mark(&mut self) {}
    }

    /// Linux's DualPI2, a tenth for the classic queue; its step is out of reach.
    fn linux() -> Dual<DualPi2, Packet> {
        let mut params = DualPi2Params::defaults();
        let pairs = [("flavour", "linux"), ("classic_weight", "10%"), ("mtu", "1000 B"), ("min_th", "100 s")];
        params.read("x", pairs, &mut Vec::new());
        let view = bench::queue(0);
        Dual::new(DualPi2::new(params, &view).unwrap(), view, bench::LIMIT, true)
    }

    fn join(dual: &mut Dual<DualPi2, Packet>, ecn: Ecn, count: usize) {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        (0..count).for_each(|_| assert_eq!(dual.enqueue(Packet(ecn), cx), Fate::Kept));
    }

    /// For each of the next packets, true if it is from the low-latency queue.
    fn leave(dual: &mut Dual<DualPi2, Packet>, count: usize) -> Vec<bool> {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        (0..count).filter_map(|_| dual.dequeue(cx).map(|(packet, _)| packet.0.is_l4s())).collect()
    }

    #[test]
    fn linux_starts_with_credit_for_the_low_latency_queue_and_keeps_it_while_one_queue_is_empty() {
        // 1000 B * (10 % - 90 %) = -800 B; each L4S packet adds 100 B, a classic one takes 900 B off.
        let mut dual = linux();
        assert_eq!(dual.owed, -800.0);
        join(&mut dual, Ecn::NotEct, 20);
        join(&mut dual, Ecn::Ect1, 12);
        assert_eq!(leave(&mut dual, 11), [[true; 9].as_slice(), &[false, true]].concat());
        assert_eq!(dual.owed.round(), -700.0);
        // The last L4S packet but one, then only classic ones: what is owed stays. Empty: it starts again.
        leave(&mut dual, 21);
        assert_eq!((dual.len(), dual.owed.round()), (0, -500.0));
        leave(&mut dual, 1);
        assert_eq!(dual.owed, -800.0);
    }

    #[test]
    fn linux_does_not_charge_a_dropped_packet() {
        // In overload a classic packet is dropped at its turn: the turn stays the classic queue's.
        let mut dual = linux();
        dual.scheme.update(Span::from_seconds(1e6), [0; 2], &bench::queue(0));
        join(&mut dual, Ecn::NotEct, 20);
        join(&mut dual, Ecn::Ect1, 5);
        dual.owed = 50.0;
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        dual.dequeue(cx);
        // p' = 1: all are dropped but the last, which leaves less than two MTU behind it.
        assert_eq!((dual.state.accounts.dropped, dual.state.accounts.departed), (23, 1));
        assert_eq!(dual.owed, 50.0);
    }
}
