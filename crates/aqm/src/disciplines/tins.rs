//! CAKE's queues: flow queueing within tins, priorities among tins, and a shaper before the link.

use super::fair::Rounds;
use super::{Accounts, Carried, Discipline, Fair, FairParams, Fate, Limit, Note};
use crate::link_layer::LinkLayer;
use crate::{Aqm, Ctx, QueueView, Tune};
use aqmlab_core::{Rate, Span, Time};

/// What decides how many tins there are, what each may send, and which scheme its queues have.
pub trait TinPolicy: Tune {
    /// The scheme of the queues.
    type Aqm: Aqm + Tune + Clone;
    /// Rate of the shaper, if there is one.
    fn shaper(&self) -> Option<Rate>;
    /// What packets take on the link, which shaper, tins and rounds count.
    fn link_layer(&self) -> LinkLayer;
    /// Whether drops count as sent.
    fn counts_drops(&self) -> bool;
    /// The tin of a class selector.
    fn tin_of(&self, class: u8) -> usize;
    /// What the tins may send while others wait, least priority first, on a link of this rate. Their number stays.
    fn tin_rates(&self, link: Rate) -> Vec<Rate>;
    /// The queues of a tin of this rate.
    fn fair(&self, rate: Rate) -> FairParams;
    /// The scheme, at rest, of a queue in a tin of this rate.
    fn scheme(&self, rate: Rate, queue: &QueueView) -> Self::Aqm;
    /// The rate of the tin has changed: sets what the parameters of `scheme` take from it.
    fn retune(&self, rate: Rate, scheme: &mut Self::Aqm);
}

/// Packets of one priority.
#[derive(Clone)]
struct Tin<A, P> {
    queues: Fair<A, P>,
    /// What it may send while others of less priority wait for it.
    rate: Rate,
    /// When it will have sent no more than that.
    next_at: Time,
}

impl<A, P> Tin<A, P> {
    /// Counts `bytes` sent. A tin that waits catches up on its rate; one that borrows owes one packet at most.
    fn charge(&mut self, bytes: u32, now: Time) {
        let takes = self.rate.transmission(bytes);
        self.next_at = if self.next_at < now { self.next_at + takes } else { self.next_at.max(now + takes) };
    }
}

/// Tins, least priority first.
#[derive(Clone)]
pub struct Tins<S: TinPolicy, P> {
    tins: Vec<Tin<S::Aqm, P>>,
    policy: S,
    /// Of the link: its rate, and all tins' target and limit. The schemes see the rate of their tin.
    view: QueueView,
    limit: Limit,
    /// When the shaper lets the next packet go; it may then be sent at the link's own rate.
    next_at: Time,
    /// The same if nothing had been dropped, at two thirds of the rate. Where drops count as sent, the earlier of both holds.
    failsafe_at: Time,
}

impl<S: TinPolicy, P: Carried> Tins<S, P> {
    /// Empty queues of a link that `view` describes; they share `limit`, mark if `ecn`, and hash flows with `salt`.
    pub fn new(policy: S, view: QueueView, limit: Limit, ecn: bool, salt: u64) -> Self {
        let tin = |rate: Rate| {
            let view = QueueView { rate, ..view };
            let queues = Fair::new(policy.fair(rate), policy.scheme(rate, &view), view, Limit::NONE, ecn, salt);
            let mut queues = queues.with_rounds(Rounds::Cake);
            queues.set_link_layer(policy.link_layer());
            queues.count_drops(policy.counts_drops());
            Tin { queues, rate, next_at: Time::ZERO }
        };
        let tins = policy.tin_rates(view.rate).into_iter().map(tin).collect();
        Self { tins, policy, view, limit, next_at: Time::ZERO, failsafe_at: Time::ZERO }
    }

    /// The rates of the link, the shaper or the tins, or the link layer, may have changed: nothing that follows from them stays stale.
    fn follow_rates(&mut self) {
        let Self { tins, policy, view, .. } = self;
        for (tin, rate) in tins.iter_mut().zip(policy.tin_rates(view.rate)) {
            tin.rate = rate;
            *tin.queues.params_mut() = policy.fair(rate);
            tin.queues.schemes_mut().for_each(|scheme| policy.retune(rate, scheme));
            tin.queues.set_rate(rate);
            tin.queues.set_link_layer(policy.link_layer());
            tin.queues.count_drops(policy.counts_drops());
        }
    }

    /// When the next packet may go.
    fn opens_at(&self) -> Time {
        if self.policy.counts_drops() { self.next_at.min(self.failsafe_at) } else { self.next_at }
    }

    /// Shaper and tin count so many bytes as sent.
    fn charge(&mut self, tin: usize, bytes: u32, now: Time) {
        self.tins[tin].charge(bytes, now);
        if let Some(rate) = self.policy.shaper() {
            self.next_at = self.next_at.max(now) + rate.transmission(bytes);
        }
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

    /// The tin of a packet, ready for it.
    fn tin_for(&mut self, packet: &P, now: Time) -> &mut Tin<S::Aqm, P> {
        let tin = &mut self.tins[self.policy.tin_of(packet.class())];
        if tin.queues.is_empty() {
            tin.next_at = tin.next_at.max(now);
        }
        tin
    }

    /// The tin served next: the most important that has not had its rate, or else the one that had it longest ago.
    fn choose(&self, now: Time) -> Option<usize> {
        let waiting = || (0..self.tins.len()).rev().filter(|tin| !self.tins[*tin].queues.is_empty());
        let due = waiting().find(|tin| self.tins[*tin].next_at <= now);
        due.or_else(|| waiting().min_by_key(|tin| self.tins[*tin].next_at))
    }

    fn packets(&self) -> u32 {
        self.tins.iter().map(|tin| tin.queues.len()).sum()
    }
}

impl<S: TinPolicy, P: Carried> Discipline<P> for Tins<S, P> {
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        if self.policy.counts_drops() && self.next_at < cx.now && self.is_empty() {
            self.failsafe_at = cx.now;
        }
        let fate = self.tin_for(&packet, cx.now).queues.enqueue(packet, cx);
        while self.limit.is_exceeded(self.packets(), self.tins.iter().map(|tin| tin.queues.bytes()).sum()) {
            let longest =
                (0..self.tins.len()).max_by_key(|tin| self.tins[*tin].queues.longest()).expect("there is a tin");
            self.tins[longest].queues.make_room(cx);
            self.charge_dropped(longest, cx.now);
        }
        fate
    }

    fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        self.dequeue_with(cx, |packet, since| (packet, since))
    }

    #[inline(always)]
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        if cx.now < self.opens_at() {
            return None;
        }
        let layer = self.policy.link_layer();
        let mut keep = Some(keep); // one packet leaves
        while let Some(index) = self.choose(cx.now) {
            let tin = &mut self.tins[index];
            let kept = |packet: P, since| (layer.bytes(packet.size()), keep.take().map(|keep| keep(packet, since)));
            let left = tin.queues.dequeue_with(cx, kept);
            self.charge_dropped(index, cx.now);
            if let Some((bytes, sent)) = left {
                self.charge(index, bytes, cx.now);
                if let Some(rate) = self.policy.shaper() {
                    self.failsafe_at = self.failsafe_at.max(cx.now) + Span(rate.transmission(bytes).0 * 3 / 2);
                }
                return sent;
            }
        }
        None
    }

    fn ready_at(&self) -> Option<Time> {
        (!self.is_empty()).then_some(self.opens_at())
    }

    fn len(&self) -> u32 {
        self.packets()
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.tins.iter().for_each(|tin| tin.queues.for_each(act));
    }

    fn departures_known(&self) -> bool {
        false
    }

    fn tick_every(&self) -> Option<Span> {
        None
    }

    fn tick(&mut self, _: &mut Ctx) {}

    fn set_rate(&mut self, rate: Rate) {
        self.view.rate = rate;
        self.follow_rates();
    }

    fn set_target(&mut self, target: f64) {
        self.view.target = target;
        self.tins.iter_mut().for_each(|tin| tin.queues.set_target(target));
    }

    fn set_limit(&mut self, limit: Limit, packets: f64) {
        self.limit = limit;
        self.view.limit = packets;
        self.tins.iter_mut().for_each(|tin| tin.queues.set_limit(Limit::NONE, packets));
    }

    fn set_param(&mut self, name: &str, value: &str) -> Result<(), String> {
        self.policy.set_param(name, value, &self.view)?;
        self.follow_rates();
        Ok(())
    }

    /// As if the shaper, or else the link, were to send without a pause.
    fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
        let (mut taken, mut now) = (Vec::new(), now);
        let pace = self.policy.shaper().unwrap_or(self.view.rate);
        let layer = self.policy.link_layer();
        while let Some(index) = self.choose(now) {
            let tin = &mut self.tins[index];
            let Some((packet, since)) = tin.queues.take_next(now) else { continue };
            let bytes = layer.bytes(packet.size());
            tin.charge(bytes, now);
            now += pace.transmission(bytes);
            taken.push((packet, since));
        }
        taken
    }

    fn adopt(&mut self, packet: P, since: Time) {
        self.tin_for(&packet, since).queues.adopt(packet, since);
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
        self.tins.iter().all(|tin| tin.queues.accounts_balance())
    }

    fn keep_notes(&mut self) {
        self.tins.iter_mut().for_each(|tin| tin.queues.keep_notes());
    }

    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.tins.iter_mut().for_each(|tin| tin.queues.fetch_notes(notes));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use crate::schemes::cake::Cake;
    use crate::{Ecn, Scheme};
    use aqmlab_core::ParamSet;

    const BEST_EFFORT: u8 = 0;
    const BULK: u8 = 1;
    const VIDEO: u8 = 4;

    /// A packet of 1000 B of this class and flow.
    #[derive(Clone)]
    struct Packet(u8, u32);

    impl Carried for Packet {
        fn size(&self) -> u32 {
            1000
        }
        fn flow(&self) -> u32 {
            self.1
        }
        fn ecn(&self) -> Ecn {
            Ecn::NotEct
        }
        fn class(&self) -> u8 {
            self.0
        }
        fn mark(&mut self) {}
    }

    /// Four tins behind a shaper that sends a packet a millisecond.
    fn tins() -> Tins<Cake, Packet> {
        with(&[("diffserv", "diffserv4"), ("bandwidth", "8 Mbit/s")], Rate(8e6))
    }

    fn with(pairs: &[(&str, &str)], link: Rate) -> Tins<Cake, Packet> {
        let mut params = <Cake as Scheme>::Params::defaults();
        params.read("x", pairs.iter().copied(), &mut Vec::new());
        let view = QueueView { rate: link, ..bench::queue(0) };
        Tins::new(Cake::new(params, &view).unwrap(), view, bench::LIMIT, true, 1)
    }

    fn at<T>(ms: u64, act: impl FnOnce(&mut Ctx) -> T) -> T {
        act(&mut Ctx { now: Time(ms * 1_000_000_000), rng: &mut bench::stream() })
    }

    fn join(tins: &mut Tins<Cake, Packet>, ms: u64, class: u8, count: usize) {
        for _ in 0..count {
            at(ms, |cx| tins.enqueue(Packet(class, 0), cx));
        }
    }

    /// Classes of the packets that leave in these milliseconds, one in each.
    fn leave(tins: &mut Tins<Cake, Packet>, times: std::ops::Range<u64>) -> Vec<u8> {
        times.map(|ms| at(ms, |cx| tins.dequeue(cx).expect("a packet waits").0.0)).collect()
    }

    #[test]
    fn bulk_keeps_its_sixteenth_beside_best_effort() {
        // A packet takes 16 ms at bulk's rate of 0.5 Mbit/s.
        let mut tins = tins();
        join(&mut tins, 0, BEST_EFFORT, 40);
        join(&mut tins, 0, BULK, 10);
        let classes = leave(&mut tins, 0..33);
        let bulk: Vec<usize> = (0..33).filter(|ms| classes[*ms] == BULK).collect();
        assert_eq!(bulk, [0, 16, 32]);
    }

    #[test]
    fn what_was_borrowed_is_not_held_against_a_tin() {
        // Video has had twice its rate of 4 Mbit/s while alone, and gets it from the first moment others wait.
        let mut tins = tins();
        join(&mut tins, 0, VIDEO, 30);
        leave(&mut tins, 0..20);
        join(&mut tins, 20, BEST_EFFORT, 10);
        assert_eq!(leave(&mut tins, 20..26), [BEST_EFFORT, VIDEO, BEST_EFFORT, VIDEO, BEST_EFFORT, VIDEO]);
    }

    #[test]
    fn the_shaper_counts_what_a_packet_takes_on_its_link() {
        // 1000 + 40 = 1040 B: 22 cells, 1166 B; at 1.166 Mbit/s they take 8 ms.
        let framed = [("bandwidth", "1166 kbit/s"), ("overhead", "40 B"), ("framing", "atm")];
        let mut tins = with(&framed, Rate(100e6));
        join(&mut tins, 0, BEST_EFFORT, 3);
        let left: Vec<u64> = (0..20).filter(|ms| at(*ms, |cx| tins.dequeue(cx)).is_some()).collect();
        assert_eq!(left, [0, 8, 16]);
    }

    /// When packets leave within 10 ms, in ms; they are asked for every half of one.
    fn leave_times(tins: &mut Tins<Cake, Packet>, from: u64) -> Vec<f64> {
        let half = |n: u64| Ctx { now: Time((2 * from + n) * 500_000_000), rng: &mut bench::stream() }.now;
        let leaves = |n: &u64| tins.dequeue(&mut Ctx { now: half(*n), rng: &mut bench::stream() }).is_some();
        (0..20).filter(leaves).map(|n| n as f64 / 2.0).collect()
    }

    #[test]
    fn a_drop_counts_as_sent_behind_the_bottleneck() {
        // The 101st packet makes one drop, which has the shaper's first millisecond. The first to leave need not wait for
        // it, as none has left; the second may leave 1.5 ms later; then what was dropped has been made up for.
        let ingress = [("bandwidth", "8 Mbit/s"), ("ingress", "true")];
        let mut tins = with(&ingress, Rate(8e6));
        join(&mut tins, 0, BEST_EFFORT, 101);
        assert_eq!(leave_times(&mut tins, 0)[..5], [0.0, 1.5, 3.0, 4.0, 5.0]);
        let mut egress = with(&ingress[..1], Rate(8e6));
        join(&mut egress, 0, BEST_EFFORT, 101);
        assert_eq!(leave_times(&mut egress, 0)[..5], [0.0, 1.0, 2.0, 3.0, 4.0]);
    }

    #[test]
    fn two_thirds_of_the_rate_leave_whatever_is_dropped() {
        // Two packets arrive in each millisecond, in which one could leave; drops take all the shaper has.
        let mut tins = with(&[("bandwidth", "8 Mbit/s"), ("ingress", "true")], Rate(8e6));
        let mut left = 0;
        for ms in 0..3000 {
            join(&mut tins, ms, BEST_EFFORT, 2);
            for half in [0, 1] {
                let now = Time((2 * ms + half) * 500_000_000);
                left += usize::from(tins.dequeue(&mut Ctx { now, rng: &mut bench::stream() }).is_some());
            }
        }
        assert!((1990..2110).contains(&left), "{left}");
    }

    #[test]
    fn rounds_count_what_packets_take_on_the_link() {
        // A quantum of 1100 B, a 4096th of a second: a packet of 1000 + 256 B ends a turn; without overhead the second does.
        let order = |pairs: &[(&str, &str)]| {
            let mut tins = with(pairs, Rate(1100.0 * 8.0 * 4096.0));
            for flow in [0, 0, 0, 1, 1, 1] {
                at(0, |cx| tins.enqueue(Packet(BEST_EFFORT, flow), cx));
            }
            (0..6).map(|ms| at(ms, |cx| tins.dequeue(cx).expect("a packet waits").0.1)).collect::<Vec<_>>()
        };
        assert_eq!(order(&[]), [0, 0, 1, 1, 0, 1]);
        assert_eq!(order(&[("overhead", "256 B")]), [0, 1, 0, 1, 0, 1]);
    }

    /// What leaves at each millisecond of ten seconds, and what is dropped, under a load of up to three packets in each.
    fn course(mut tins: Tins<Cake, Packet>) -> (Vec<Option<u8>>, Accounts) {
        let mut load = bench::stream();
        let left = (0..10_000).map(|ms| {
            for _ in 0..(load.uniform() * 3.0) as u32 {
                let packet = Packet((load.uniform() * 8.0) as u8, (load.uniform() * 20.0) as u32);
                at(ms, |cx| tins.enqueue(packet, cx));
            }
            at(ms, |cx| tins.dequeue(cx).map(|(packet, _)| packet.0))
        });
        (left.collect(), tins.accounts())
    }

    #[test]
    fn a_shaper_slower_than_its_link_acts_as_a_link_of_its_rate() {
        // 500 kbit/s: a packet takes 16 ms; COBALT's four MTU take 97 ms, at the rate of the faster link 1 ms.
        for diffserv in ["besteffort", "diffserv4"] {
            let shaped = with(&[("diffserv", diffserv), ("bandwidth", "500 kbit/s")], Rate(50e6));
            let link = with(&[("diffserv", diffserv), ("bandwidth", "500 kbit/s")], Rate(500e3));
            let (shaped, link) = (course(shaped), course(link));
            assert_eq!(shaped, link, "{diffserv}");
            assert!(link.1.drops.iter().any(|(why, n)| *why == crate::FORCED && *n > 10), "{:?}", link.1);
        }
    }

    #[test]
    fn room_is_made_at_the_longest_queue_of_all_tins() {
        // Best effort has 72 of 100 packets, but six in each queue; video has one queue of 28.
        let mut tins = tins();
        for flow in 0..12 {
            (0..6).for_each(|_| assert_eq!(at(0, |cx| tins.enqueue(Packet(BEST_EFFORT, flow), cx)), Fate::Kept));
        }
        join(&mut tins, 0, VIDEO, 28);
        at(0, |cx| tins.enqueue(Packet(BEST_EFFORT, 12), cx));
        let dropped: Vec<u64> = tins.tins.iter().map(|tin| tin.queues.accounts().dropped).collect();
        assert_eq!(dropped, [0, 0, 1, 0]);
    }
}
