use super::*;
use crate::catalogue::AnyQueue;
use crate::contract::bench;
use crate::{Ecn, entry};

/// A packet of 1000 B of a flow, which takes 1 ms at 8 Mbit/s.
#[derive(Clone)]
struct Packet(u32);

impl Carried for Packet {
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

type Tree = Htb<AnyQueue<Packet>, Packet>;

const MBIT: f64 = 1e6;

/// A leaf below `parent` with this rate and ceiling, Mbit/s.
fn leaf(parent: Option<usize>, rate: f64, ceil: f64) -> HtbClass {
    HtbClass { queue: Some(HtbQueue { model: 0, limit: None }), ..inner(parent, rate, ceil) }
}

fn inner(parent: Option<usize>, rate: f64, ceil: f64) -> HtbClass {
    let (rate, ceil) = (Rate(rate * MBIT), Rate(ceil * MBIT));
    HtbClass { parent, rate, ceil, burst: 1000, cburst: 1000, prio: 0, quantum: 1000, queue: None }
}

/// A tree over queues without a scheme; flow i is of the i-th leaf.
fn tree(classes: &[HtbClass], link: f64) -> Tree {
    with(classes, link, &["droptail"])
}

fn with(classes: &[HtbClass], link: f64, schemes: &[&str]) -> Tree {
    let view = QueueView { rate: Rate(link * MBIT), ..bench::queue(0) };
    let queue = |name: &&str| {
        let (name, pairs) = aqmlab_core::params::split_choice(name).unwrap();
        entry(name).unwrap().build("x", &pairs, &view).unwrap().queue(view, bench::LIMIT, true, 1)
    };
    let models = schemes.iter().map(queue).collect();
    let mut tree = Htb::new(classes.to_vec(), models, LinkLayer::PLAIN, view, bench::LIMIT);
    let leaves = classes.iter().enumerate().filter(|(_, class)| class.queue.is_some());
    leaves.enumerate().for_each(|(flow, (class, _))| tree.assign(flow as u32, class));
    tree
}

fn at<T>(now: Time, act: impl FnOnce(&mut Ctx) -> T) -> T {
    act(&mut Ctx { now, rng: &mut bench::stream() })
}

fn join(tree: &mut Tree, flow: u32, now: Time) {
    at(now, |cx| tree.enqueue(Packet(flow), cx));
}

/// Mbit/s of each of these flows, which always have packets, in the 10 s after the first.
fn shares(mut tree: Tree, flows: &[u32]) -> Vec<f64> {
    let mut now = Time::ZERO;
    flows.iter().for_each(|flow| (0..5).for_each(|_| join(&mut tree, *flow, now)));
    let (begin, end) = (Time(1_000_000_000_000), Time(11_000_000_000_000));
    let mut sent = vec![0.0; flows.len()];
    while now < end {
        match at(now, |cx| tree.dequeue(cx)) {
            Some((Packet(flow), _)) => {
                if now >= begin {
                    sent[flows.iter().position(|known| *known == flow).unwrap()] += 8000.0 / 10.0 / MBIT;
                }
                join(&mut tree, flow, now);
                now += tree.state.view.rate.transmission(1000);
            }
            None => {
                let ready = tree.ready_at().expect("packets wait");
                assert!(ready > now, "asked again at {now}");
                now = ready;
            }
        }
    }
    assert!(tree.accounts_balance());
    sent
}

#[track_caller]
fn assert_shares(found: &[f64], expected: &[f64]) {
    let is_near = |(found, expected): (&f64, &f64)| (found - expected).abs() <= 0.01 * expected;
    assert!(found.len() == expected.len() && found.iter().zip(expected).all(is_near), "{found:?} for {expected:?}");
}

#[test]
fn tokens_come_at_the_rate_and_no_more_than_the_burst_is_saved() {
    // 8 Mbit/s on a link that takes next to no time: the burst is one packet, and a class may go below zero by one.
    let mut tree = tree(&[leaf(None, 8.0, 8.0)], 1e6);
    let ms = |ms: u64| Time(ms * 1_000_000_000);
    let mut leaves = |now: Time, count: usize| {
        (0..5).for_each(|_| join(&mut tree, 0, now));
        (0..count).for_each(|_| assert!(at(now, |cx| tree.dequeue(cx)).is_some(), "at {now}"));
        assert!(at(now, |cx| tree.dequeue(cx)).is_none(), "at {now}");
        tree.ready_at()
    };
    assert_eq!(leaves(ms(0), 2), Some(ms(1)));
    assert_eq!(leaves(ms(1), 1), Some(ms(2)));
    assert_eq!(leaves(ms(10_000), 2), Some(ms(10_001)));
}

#[test]
fn classes_have_their_rates_for_certain() {
    assert_shares(&shares(tree(&[leaf(None, 6.0, 8.0), leaf(None, 2.0, 8.0)], 8.0), &[0, 1]), &[6.0, 2.0]);
    assert_shares(&shares(tree(&[leaf(None, 3.0, 3.0), leaf(None, 2.0, 2.0)], 8.0), &[0, 1]), &[3.0, 2.0]);
}

#[test]
fn what_is_left_is_shared_by_quantum() {
    // 4 Mbit/s are left: half each, or 3 : 1.
    let pair = |quantum| [leaf(None, 1.0, 8.0), HtbClass { quantum, ..leaf(None, 3.0, 8.0) }];
    assert_shares(&shares(tree(&pair(1000), 8.0), &[0, 1]), &[3.0, 5.0]);
    assert_shares(&shares(tree(&pair(3000), 8.0), &[0, 1]), &[2.0, 6.0]);
}

#[test]
fn what_is_left_goes_to_the_first_priority_up_to_its_ceiling() {
    let pair = |ceil| [HtbClass { prio: 1, ..leaf(None, 1.0, 8.0) }, leaf(None, 1.0, ceil)];
    assert_shares(&shares(tree(&pair(8.0), 8.0), &[0, 1]), &[1.0, 7.0]);
    assert_shares(&shares(tree(&pair(5.0), 8.0), &[0, 1]), &[3.0, 5.0]);
}

#[test]
fn a_class_lends_to_those_below_it_first() {
    // Two sites of 4 Mbit/s; of the first site only the leaf of 1 Mbit/s is busy, which has 4. Alone it has all.
    let classes = [
        inner(None, 4.0, 8.0),
        leaf(Some(0), 1.0, 8.0),
        leaf(Some(0), 3.0, 8.0),
        inner(None, 4.0, 8.0),
        leaf(Some(3), 4.0, 8.0),
    ];
    assert_shares(&shares(tree(&classes, 8.0), &[0, 2]), &[4.0, 4.0]);
    assert_shares(&shares(tree(&classes, 8.0), &[0]), &[8.0]);
    assert_shares(&shares(tree(&classes, 8.0), &[0, 1]), &[3.0, 5.0]); // 4 from the first site, 2 each from the link
    let capped = [inner(None, 4.0, 5.0), leaf(Some(0), 1.0, 8.0), leaf(Some(0), 3.0, 8.0)];
    assert_shares(&shares(tree(&capped, 8.0), &[0, 1]), &[1.5, 3.5]);
}

#[test]
fn a_leaf_that_holds_its_packets_back_holds_up_no_other() {
    let cake = HtbClass { queue: Some(HtbQueue { model: 1, limit: None }), ..leaf(None, 4.0, 8.0) };
    let found = shares(with(&[leaf(None, 1.0, 8.0), cake], 8.0, &["droptail", "cake:bandwidth=2 Mbit/s"]), &[0, 1]);
    assert_shares(&found, &[6.0, 2.0]);
}

#[test]
fn a_queue_is_made_when_it_is_used_and_forgotten_after_five_minutes() {
    let mut tree = tree(&[leaf(None, 4.0, 8.0), leaf(None, 4.0, 8.0)], 8.0);
    assert_eq!(tree.queues().count(), 0);
    join(&mut tree, 0, Time::ZERO);
    assert_eq!(tree.queues().count(), 1);
    assert!(at(Time::ZERO, |cx| tree.dequeue(cx)).is_some());
    let minutes = |minutes: u64| Time(minutes * 60_000_000_000_000);
    join(&mut tree, 1, minutes(4));
    assert_eq!(tree.queues().count(), 2);
    join(&mut tree, 1, minutes(6));
    assert_eq!(tree.queues().count(), 1);
    assert_eq!((tree.accounts().arrived, tree.accounts().departed), (3, 1));
    join(&mut tree, 0, minutes(12));
    assert!(tree.accounts_balance() && tree.queues().count() == 2, "the other still has its packets");
}

#[test]
fn a_leaf_may_have_room_of_its_own() {
    let small =
        HtbClass { queue: Some(HtbQueue { model: 0, limit: Some((Limit::Packets(2), 2.0)) }), ..leaf(None, 1.0, 8.0) };
    let mut tree = tree(&[small, leaf(None, 1.0, 8.0)], 8.0);
    (0..200).for_each(|i| join(&mut tree, i % 2, Time::ZERO));
    assert_eq!((tree.len(), tree.accounts().dropped), (102, 98));
    tree.set_limit(Limit::Packets(150), 150.0);
    (0..200).for_each(|i| join(&mut tree, i % 2, Time::ZERO));
    assert_eq!(tree.len(), 152);
    assert_eq!(tree.take_all(Time::ZERO).len(), 152);
    assert!(tree.is_empty() && tree.accounts_balance());
}
