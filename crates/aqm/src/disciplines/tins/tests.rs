use super::*;
use crate::contract::bench;
use crate::schemes::cake::{Cake, CakeParams};
use crate::{Ecn, Scheme};
use aqmlab_core::ParamSet;

const BEST_EFFORT: u8 = 0;
const BULK: u8 = 1;
const VIDEO: u8 = 3;

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
    fn dscp(&self) -> u8 {
        self.0 << 3
    }
    fn mark(&mut self) {}
}

/// Four tins behind a shaper that sends a packet a millisecond.
fn tins() -> Tins<Cake, Packet> {
    with(&[("diffserv", "diffserv4"), ("bandwidth", "8 Mbit/s")], Rate(8e6))
}

fn with(pairs: &[(&str, &str)], link: Rate) -> Tins<Cake, Packet> {
    let mut params = CakeParams::defaults();
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

/// The same on a link of 1.166 Mbit/s, and of twice as much: Linux is told the link's rate for a bandwidth.
#[test]
fn without_a_bandwidth_what_a_packet_takes_counts_at_the_rate_of_the_link() {
    let mut tins = with(&[("overhead", "40 B"), ("framing", "atm")], Rate(1.166e6));
    join(&mut tins, 0, BEST_EFFORT, 8);
    let mut left = |times: std::ops::Range<u64>| -> Vec<u64> {
        times.filter(|ms| at(*ms, |cx| tins.dequeue(cx)).is_some()).collect()
    };
    assert_eq!(left(0..20), [0, 8, 16]);
    tins.set_rate(Rate(2.332e6));
    let mut left = |times: std::ops::Range<u64>| -> Vec<u64> {
        times.filter(|ms| at(*ms, |cx| tins.dequeue(cx)).is_some()).collect()
    };
    assert_eq!(left(20..37), [24, 28, 32, 36], "COBALT drops one at 28 ms: its first gap is 0");
}

/// Departure times within 10 ms, in ms; a packet is asked for every half of one.
fn leave_times(tins: &mut Tins<Cake, Packet>, from: u64) -> Vec<f64> {
    let half = |n: u64| Ctx { now: Time((2 * from + n) * 500_000_000), rng: &mut bench::stream() }.now;
    let leaves = |n: &u64| tins.dequeue(&mut Ctx { now: half(*n), rng: &mut bench::stream() }).is_some();
    (0..20).filter(leaves).map(|n| n as f64 / 2.0).collect()
}

#[test]
fn what_the_link_has_held_up_is_made_up_for_but_not_what_was_idle() {
    // One packet leaves at 0. The link comes back at 3 ms, when three more are due; at 20 ms nothing has waited.
    let mut tins = tins();
    join(&mut tins, 0, BEST_EFFORT, 5);
    let asked = |tins: &mut Tins<Cake, Packet>, ms| (0..5).filter(|_| at(ms, |cx| tins.dequeue(cx)).is_some()).count();
    assert_eq!([0, 3, 4].map(|ms| asked(&mut tins, ms)), [1, 3, 1]);
    join(&mut tins, 20, BEST_EFFORT, 5);
    assert_eq!([20, 21].map(|ms| asked(&mut tins, ms)), [1, 1]);
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

/// The departure at each millisecond of ten seconds, and the accounts, under a load of up to three packets in each.
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

#[test]
fn without_a_rate_tins_take_turns() {
    // Best effort gets 1024 B a turn, video 512, voice 256: packets of 1000 B leave as 4 : 2 : 1 in the long run. After the first
    // of each, 24 B are left to best effort; video owes 488 B, so that its next turn pays, and it sends in the one after.
    let mut tins = with(&[("diffserv", "diffserv4"), ("unlimited", "true")], Rate(8e6));
    for class in [BEST_EFFORT, VIDEO, 5] {
        join(&mut tins, 0, class, 30);
    }
    let classes: Vec<u8> = (0..35).map(|_| at(0, |cx| tins.dequeue(cx).expect("a packet waits").0.0)).collect();
    assert_eq!(classes[..5], [BEST_EFFORT, VIDEO, 5, BEST_EFFORT, BEST_EFFORT]);
    let of = |class| classes.iter().filter(|each| **each == class).count();
    assert_eq!([of(BEST_EFFORT), of(VIDEO), of(5)], [20, 10, 5]);
}
