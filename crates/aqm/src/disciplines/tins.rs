//! CAKE's queues: flow queueing within tins, priorities among tins, and a shaper before the link.

use super::fair::RoundRobin;
use super::queue_state::QueueState;
use super::{Accounts, Carried, Discipline, Fair, FairParams, Fate, Limit, Note, memory};
use crate::link_layer::LinkLayer;
use crate::{Aqm, Ctx, QueueView, Tune};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Rate, Span, Time};

/// The policy of a set of tins: their number, their rates, and the schemes of their queues.
pub trait TinPolicy: Tune {
    /// The scheme of the queues.
    type Aqm: Aqm + Tune + Clone;
    /// Rate of the shaper on a link of this rate, if there is one.
    fn shaper(&self, link: Rate) -> Option<Rate>;
    /// Tins know of no rate: they take turns, and schemes see an infinite one.
    fn is_unlimited(&self) -> bool;
    /// Bytes that packets take on the link, which shaper, tins and rounds count.
    fn link_layer(&self) -> LinkLayer;
    /// True if drops count as sent.
    fn counts_drops(&self) -> bool;
    /// The tin of a DSCP.
    fn tin_of(&self, dscp: u8) -> usize;
    /// Rates of the tins while others wait, least priority first, of this rate in all. Their number stays.
    fn tin_rates(&self, all: Rate) -> Vec<Rate>;
    /// The queues of a tin of this rate.
    fn fair(&self, rate: Rate) -> FairParams;
    /// The scheme, at rest, of a queue in a tin of this rate.
    fn scheme(&self, rate: Rate, queue: &QueueView) -> Self::Aqm;
    /// The rate of the tin has changed: sets what the parameters of `scheme` take from it.
    fn retune(&self, rate: Rate, scheme: &mut Self::Aqm);
}

/// What the tins share in a turn: bytes, which their rates are in proportion to.
const TURN: Rate = Rate(1024.0);

/// The rate of which tins have their parts.
fn shared(policy: &impl TinPolicy, shaper: Option<Rate>, link: &QueueView) -> Rate {
    if policy.is_unlimited() { Rate(f64::INFINITY) } else { shaper.unwrap_or(link.rate) }
}

/// Packets of one priority.
#[derive(Clone)]
struct Tin<A, P> {
    queues: Fair<A, P>,
    /// Rate up to which it goes before tins of less priority.
    rate: Rate,
    /// Time from which it has sent no more than that.
    next_at: Time,
    /// Bytes of the last packet sent, and what they take at its rate: most packets are of one size.
    last: (u32, Span),
    /// Bytes that a turn adds where tins take turns, and what is left of them; below zero it waits for its next turn.
    weight: i64,
    credit: i64,
}

impl<A, P> Tin<A, P> {
    fn set_rate(&mut self, rate: Rate) {
        self.rate = rate;
        self.last = (0, Span::ZERO);
    }

    /// Counts `bytes` sent. A tin that waits catches up on its rate; one that borrows owes one packet at most.
    fn charge(&mut self, bytes: u32, now: Time) {
        if bytes != self.last.0 {
            self.last = (bytes, self.rate.transmission(bytes));
        }
        self.credit -= i64::from(bytes);
        let takes = self.last.1;
        self.next_at = if self.next_at < now { self.next_at + takes } else { self.next_at.max(now + takes) };
    }
}

/// Tins, least priority first.
#[derive(Clone)]
pub struct Tins<S: TinPolicy, P> {
    tins: Vec<Tin<S::Aqm, P>>,
    policy: S,
    /// Rate of the shaper now: the policy's, or a share of it.
    shaper: Option<Rate>,
    /// Bytes that packets take on the link.
    layer: LinkLayer,
    /// Tins that hold packets: a bit for each, so that those that are idle need not be looked at.
    waiting: u32,
    /// The tin whose turn it is.
    turn: usize,
    /// Of the link: its rate, what waits in all tins, and their target and limit; accounts are those of the tins. The schemes see
    /// the rate of their tin.
    state: QueueState<P>,
    /// Time at which the shaper lets the next packet go. What the link has held up is made up for at the link's own rate.
    next_at: Time,
    /// The same if nothing had been dropped, at two thirds of the rate. Where drops count as sent, the earlier of both holds.
    failsafe_at: Time,
}

impl<S: TinPolicy, P: Carried> Tins<S, P> {
    /// Empty queues of a link that `view` describes; they share `limit`, mark if `ecn`, and hash flows with `salt`.
    pub fn new(policy: S, view: QueueView, limit: Limit, ecn: bool, salt: u64) -> Self {
        let (layer, shaper) = (policy.link_layer(), policy.shaper(view.rate));
        let tin = |(rate, Rate(weight)): (Rate, Rate)| {
            let view = QueueView { rate, ..view };
            let queues = Fair::new(policy.fair(rate), policy.scheme(rate, &view), view, Limit::NONE, ecn, salt);
            let mut queues = queues.with_round_robin(RoundRobin::Cake);
            queues.set_link_layer(layer);
            queues.count_drops(policy.counts_drops());
            queues.count_memory();
            Tin { queues, rate, next_at: Time::ZERO, last: (0, Span::ZERO), weight: weight as i64, credit: 0 }
        };
        let rates = policy.tin_rates(shared(&policy, shaper, &view));
        let tins = rates.into_iter().zip(policy.tin_rates(TURN)).map(tin).collect();
        let state = QueueState::new(view, limit, ecn);
        Self { tins, policy, shaper, layer, waiting: 0, turn: 0, state, next_at: Time::ZERO, failsafe_at: Time::ZERO }
    }

    /// Rate of the policy's shaper, if there is one.
    pub(super) fn shaper(&self) -> Option<Rate> {
        self.policy.shaper(self.state.view.rate)
    }

    /// The shaper's rate from now on, of which tins have their parts and queues their quanta. Schemes keep what they have taken
    /// from the policy's rate.
    pub(super) fn set_shaper(&mut self, rate: Rate) {
        if self.shaper == Some(rate) {
            return;
        }
        self.shaper = Some(rate);
        for (tin, rate) in self.tins.iter_mut().zip(self.policy.tin_rates(rate)) {
            tin.set_rate(rate);
            *tin.queues.params_mut() = self.policy.fair(rate);
        }
    }

    /// The rates of the link, the shaper or the tins, or the link layer, may have changed: nothing that follows from them stays stale.
    fn follow_rates(&mut self) {
        let Self { tins, policy, shaper, layer, state, .. } = self;
        (*layer, *shaper) = (policy.link_layer(), policy.shaper(state.view.rate));
        for (tin, rate) in tins.iter_mut().zip(policy.tin_rates(shared(policy, *shaper, &state.view))) {
            tin.set_rate(rate);
            *tin.queues.params_mut() = policy.fair(rate);
            tin.queues.schemes_mut().for_each(|scheme| policy.retune(rate, scheme));
            tin.queues.set_rate(rate);
            tin.queues.set_link_layer(*layer);
            tin.queues.count_drops(policy.counts_drops());
        }
    }

    /// Earliest time of the next departure.
    pub(super) fn opens_at(&self) -> Time {
        if self.policy.counts_drops() { self.next_at.min(self.failsafe_at) } else { self.next_at }
    }

    /// Shaper and tin count so many bytes as sent.
    fn charge(&mut self, tin: usize, bytes: u32, now: Time) {
        self.tins[tin].charge(bytes, now);
        self.next_at = self.shaper.map_or(now, |rate| self.next_at + rate.transmission(bytes));
    }

    /// They count what a tin has dropped, where that counts.
    #[inline]
    fn charge_dropped(&mut self, tin: usize, now: Time) {
        if !self.policy.counts_drops() {
            return;
        }
        for bytes in self.tins[tin].queues.fetch_dropped() {
            self.charge(tin, bytes, now);
        }
    }

    /// Does something with a tin, after which it may hold more or less.
    #[inline(always)]
    fn at<R>(&mut self, tin: usize, act: impl FnOnce(&mut Tin<S::Aqm, P>) -> R) -> R {
        let held = |tin: &Tin<S::Aqm, P>| (tin.queues.len(), tin.queues.bytes());
        let before = held(&self.tins[tin]);
        let result = act(&mut self.tins[tin]);
        let after = held(&self.tins[tin]);
        self.state.follow(before, after);
        self.waiting = self.waiting & !(1 << tin) | u32::from(after.0 > 0) << tin;
        result
    }

    /// Does what lets a packet join its tin, once the tin is ready for it.
    #[inline(always)]
    fn join<R>(&mut self, packet: P, now: Time, act: impl FnOnce(&mut Fair<S::Aqm, P>, P) -> R) -> R {
        self.at(self.policy.tin_of(packet.dscp()), |tin| {
            if tin.queues.is_empty() {
                tin.next_at = tin.next_at.max(now);
            }
            act(&mut tin.queues, packet)
        })
    }

    /// Packets take more memory than the limit allows.
    fn is_overfull(&self) -> bool {
        self.tins.iter().map(|tin| tin.queues.memory()).sum::<u64>() > memory::allowed(self.state.limit)
    }

    /// The tin served next: the most important that has not had its rate, or else the one that had it longest ago; where they take
    /// turns, the next that has credit.
    fn choose(&mut self, now: Time) -> Option<usize> {
        if self.policy.is_unlimited() {
            return self.next_turn();
        }
        let waiting = || (0..self.tins.len()).rev().filter(|tin| self.waiting >> tin & 1 == 1);
        let due = waiting().find(|tin| self.tins[*tin].next_at <= now);
        due.or_else(|| waiting().min_by_key(|tin| self.tins[*tin].next_at))
    }

    /// The tin whose turn it is, by deficit round robin; one that is idle keeps a turn's credit, no more.
    fn next_turn(&mut self) -> Option<usize> {
        while self.waiting != 0 {
            let tin = &mut self.tins[self.turn];
            if tin.credit >= 0 && self.waiting >> self.turn & 1 == 1 {
                return Some(self.turn);
            }
            if tin.credit <= 0 {
                tin.credit += tin.weight;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
        None
    }
}

impl<S: TinPolicy, P: Carried> Discipline<P> for Tins<S, P> {
    fn state(&self) -> &QueueState<P> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut QueueState<P> {
        &mut self.state
    }

    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        if self.next_at < cx.now && self.is_empty() {
            (self.next_at, self.failsafe_at) = (cx.now, cx.now);
        }
        let fate = self.join(packet, cx.now, |queues, packet| queues.enqueue(packet, cx));
        while self.is_overfull() {
            let longest =
                (0..self.tins.len()).max_by_key(|tin| self.tins[*tin].queues.longest()).expect("there is a tin");
            self.at(longest, |tin| tin.queues.make_room(cx));
            self.charge_dropped(longest, cx.now);
        }
        fate
    }

    #[inline(always)]
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        if cx.now < self.opens_at() {
            return None;
        }
        let layer = self.layer;
        let mut keep = Some(keep); // one packet leaves
        while let Some(index) = self.choose(cx.now) {
            let kept = |packet: P, since| (layer.bytes(packet.size()), keep.take().map(|keep| keep(packet, since)));
            let left = self.at(index, |tin| tin.queues.dequeue_with(cx, kept));
            self.charge_dropped(index, cx.now);
            if let Some((bytes, sent)) = left {
                self.charge(index, bytes, cx.now);
                let failsafe = |rate: Rate| self.failsafe_at + Span(rate.transmission(bytes).0 * 3 / 2);
                self.failsafe_at = self.shaper.map_or(cx.now, failsafe);
                return sent;
            }
        }
        None
    }

    fn ready_at(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.opens_at())
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.tins.iter().for_each(|tin| tin.queues.for_each(act));
    }

    fn tick_every(&self) -> Option<Span> {
        None
    }

    fn tick(&mut self, _: &mut Ctx) {}

    fn set_rate(&mut self, rate: Rate) {
        let before = self.shaper();
        self.state.view.rate = rate;
        if before.is_none() || before != self.shaper() {
            self.follow_rates();
        }
    }

    fn set_target(&mut self, target: f64) {
        self.state.view.target = target;
        self.tins.iter_mut().for_each(|tin| tin.queues.set_target(target));
    }

    fn set_limit(&mut self, limit: Limit, packets: f64) {
        self.state.limit = limit;
        self.state.view.limit = packets;
        self.tins.iter_mut().for_each(|tin| tin.queues.set_limit(Limit::NONE, packets));
    }

    fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String> {
        self.policy.set_param(name, value, &self.state.view)?;
        self.follow_rates();
        self.tins.iter_mut().for_each(|tin| tin.credit = 0); // every byte was charged, with turns or without
        Ok(())
    }

    /// As if the shaper, or else the link, were to send without a pause.
    fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
        let (mut taken, mut now) = (Vec::new(), now);
        let pace = self.shaper.unwrap_or(self.state.view.rate);
        let layer = self.layer;
        while let Some(index) = self.choose(now) {
            let Some((packet, since)) = self.at(index, |tin| tin.queues.take_next(now)) else { continue };
            let bytes = layer.bytes(packet.size());
            self.tins[index].charge(bytes, now);
            now += pace.transmission(bytes);
            taken.push((packet, since));
        }
        taken
    }

    fn adopt(&mut self, packet: P, since: Time) {
        (self.next_at, self.failsafe_at) = (self.next_at.max(since), self.failsafe_at.max(since));
        self.join(packet, since, |queues, packet| queues.adopt(packet, since));
    }

    /// Queues with packets, and packets of the longest.
    fn observe(&self, i: usize) -> f64 {
        let of_tins = self.tins.iter().map(|tin| tin.queues.observe(i));
        if i == 0 { of_tins.sum() } else { of_tins.fold(0.0, f64::max) }
    }

    fn accounts(&self) -> Accounts {
        let mut sum = Accounts::default();
        self.tins.iter().for_each(|tin| sum.add(&tin.queues.accounts()));
        sum
    }

    fn add_accounts(&mut self, earlier: &Accounts) {
        self.tins[0].queues.add_accounts(earlier);
    }

    fn restart_accounts(&mut self) {
        self.tins.iter_mut().for_each(|tin| tin.queues.restart_accounts());
    }

    fn accounts_balance(&self) -> bool {
        let packets = self.tins.iter().map(|tin| tin.queues.len()).sum::<u32>();
        let bytes = self.tins.iter().map(|tin| tin.queues.bytes()).sum::<u64>();
        self.tins.iter().all(|tin| tin.queues.accounts_balance())
            && (self.state.view.packets, self.state.view.bytes) == (packets, bytes)
    }

    fn keep_notes(&mut self, marks: bool) {
        self.tins.iter_mut().for_each(|tin| tin.queues.keep_notes(marks));
    }

    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.tins.iter_mut().for_each(|tin| tin.queues.fetch_notes(notes));
    }
}

#[cfg(test)]
mod tests;
