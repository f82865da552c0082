use super::*;
use crate::contract::bench;
use crate::schemes::cake::{Cake, CakeParams};
use crate::{Ecn, Scheme};

/// A packet of 1000 B, which takes 10 us at 800 Mbit/s.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packet {
    class: u8,
    flow: u32,
}

impl Carried for Packet {
    fn size(&self) -> u32 {
        1000
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn host(&self) -> u32 {
        self.flow / 10
    }
    fn dscp(&self) -> u8 {
        self.class << 3
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

type Instances = Mq<Cake, Packet>;

fn mq(mq: &[(&str, &str)], cake: &[(&str, &str)]) -> Instances {
    let (mut params, mut of_cake) = (MqParams::defaults(), CakeParams::defaults());
    params.read("x", mq.iter().copied(), &mut Vec::new());
    of_cake.read("x", cake.iter().copied(), &mut Vec::new());
    let view = QueueView { rate: Rate(1e12), ..bench::queue(0) };
    Mq::new(params, Cake::new(of_cake, &view).unwrap(), view, Limit::Packets(10_000), true, 1)
}

/// Two instances under this bandwidth; packets of class 0 are in the first, of class 1 in the second.
fn two(bandwidth: &str) -> Instances {
    mq(&[("queues", "2"), ("steering", "classes")], &[("bandwidth", bandwidth)])
}

fn micros(us: u64) -> Time {
    Time(us * 1_000_000)
}

fn join(mq: &mut Instances, us: u64, packet: Packet, count: usize) {
    let cx = &mut Ctx { now: micros(us), rng: &mut bench::stream() };
    (0..count).for_each(|_| assert_eq!(mq.enqueue(packet, cx), Fate::Kept));
}

fn of_class(class: u8) -> Packet {
    Packet { class, flow: class.into() }
}

/// Departures within these microseconds onto a link that takes no time: when, us, and what.
fn leave(mq: &mut Instances, times: std::ops::Range<u64>) -> Vec<(u64, Packet)> {
    let (mut left, mut now) = (Vec::new(), micros(times.start));
    while now < micros(times.end) {
        match mq.dequeue(&mut Ctx { now, rng: &mut bench::stream() }) {
            Some((packet, _)) => left.push((now.0 / 1_000_000, packet)),
            None => match mq.ready_at() {
                Some(ready) => now = ready,
                None => break,
            },
        }
    }
    left
}

/// How many departures of each of two classes are within these microseconds.
fn counts(left: &[(u64, Packet)], times: std::ops::Range<u64>) -> [usize; 2] {
    [0, 1].map(|class| left.iter().filter(|(us, packet)| times.contains(us) && packet.class == class).count())
}

#[test]
fn an_instance_alone_has_the_whole_rate_and_two_have_half_each() {
    let times = |left: &[(u64, Packet)], class| -> Vec<u64> {
        left.iter().filter(|(_, packet)| packet.class == class).map(|(us, _)| *us).collect()
    };
    let mut alone = two("8 Mbit/s");
    join(&mut alone, 0, of_class(0), 4);
    assert_eq!(times(&leave(&mut alone, 0..9000), 0), [0, 1000, 2000, 3000]);
    // The first is alone when its first packet joins, and looks again at 1 ms, after 200 us and more; the second sees it at once.
    let mut both = two("8 Mbit/s");
    join(&mut both, 0, of_class(0), 4);
    join(&mut both, 0, of_class(1), 4);
    let left = leave(&mut both, 0..9000);
    assert_eq!(times(&left, 0), [0, 1000, 3000, 5000]);
    assert_eq!(times(&left, 1), [0, 2000, 4000, 6000]);
}

#[test]
fn for_200_us_after_one_has_woken_the_sum_is_one_and_a_half_of_the_rate() {
    // The first looks at 0, 200, ..., 1000, 1200 us; the second wakes at 1010 us and takes a half.
    let mut mq = two("800 Mbit/s");
    join(&mut mq, 0, of_class(0), 300);
    leave(&mut mq, 0..1010);
    join(&mut mq, 1010, of_class(1), 100);
    let left = leave(&mut mq, 1010..1400);
    assert_eq!(counts(&left, 1010..1200), [19, 10]); // 190 us: 19 packets are the whole rate
    assert_eq!(counts(&left, 1200..1400), [10, 10]);
}

#[test]
fn the_share_of_one_that_falls_idle_is_unused_until_the_next_look_but_one() {
    // The second sends from 0 to 280 us. The first looks at 200, 400 (it has sent since 200) and 600 us (it has not since 400).
    let mut mq = two("800 Mbit/s");
    join(&mut mq, 0, of_class(0), 200);
    join(&mut mq, 0, of_class(1), 15);
    let left = leave(&mut mq, 0..800);
    assert_eq!(counts(&left, 200..300), [5, 5]);
    assert_eq!(counts(&left, 300..600), [15, 0]);
    assert_eq!(counts(&left, 600..800), [20, 0]);
}

#[test]
fn whoever_has_sent_during_a_pause_counts_for_one_look() {
    let mut mq = two("800 Mbit/s");
    join(&mut mq, 0, of_class(0), 1);
    leave(&mut mq, 0..10);
    join(&mut mq, 1_000_000, of_class(1), 1);
    leave(&mut mq, 1_000_000..1_000_010);
    join(&mut mq, 2_000_000, of_class(0), 50);
    let left = leave(&mut mq, 2_000_000..2_000_400);
    assert_eq!(counts(&left, 2_000_000..2_000_200), [10, 0]);
    assert_eq!(counts(&left, 2_000_200..2_000_400), [20, 0]);
}

#[test]
fn sync_time_says_how_often_they_look() {
    // At every departure: the first sees at 300 us that the second has sent its last packet at 280 us.
    let pairs = [("queues", "2"), ("steering", "classes"), ("sync_time", "0 s")];
    let mut mq = mq(&pairs, &[("bandwidth", "800 Mbit/s")]);
    join(&mut mq, 0, of_class(1), 15);
    join(&mut mq, 0, of_class(0), 200);
    let left = leave(&mut mq, 0..500);
    assert_eq!(counts(&left, 0..280), [14, 14]);
    assert_eq!(counts(&left, 300..500), [20, 0]);
}

#[test]
fn without_a_rate_nobody_looks_and_the_link_serves_them_in_turn() {
    let mut mq = mq(&[("queues", "2"), ("steering", "classes")], &[]);
    join(&mut mq, 0, of_class(0), 3);
    join(&mut mq, 0, of_class(1), 2);
    let left = leave(&mut mq, 0..1);
    assert_eq!(
        left.iter().map(|(us, packet)| (*us, packet.class)).collect::<Vec<_>>(),
        [(0, 0), (0, 1), (0, 0), (0, 1), (0, 0)]
    );
    assert!(mq.instances.iter().all(|instance| instance.checked.is_none()));
}

#[test]
fn tins_have_their_parts_of_the_share() {
    // Half of 16 Mbit/s is a packet a millisecond; bulk's sixteenth of that is one in sixteen.
    let mut mq = mq(&[("queues", "2")], &[("bandwidth", "16 Mbit/s"), ("diffserv", "diffserv4")]);
    let flow_of = |mq: &Instances, at| (0..).find(|flow| mq.instance(&Packet { class: 0, flow: *flow }) == at).unwrap();
    let [ours, other] = [0, 1].map(|at| flow_of(&mq, at));
    join(&mut mq, 0, Packet { class: 0, flow: other }, 100);
    join(&mut mq, 0, Packet { class: 0, flow: ours }, 40);
    join(&mut mq, 0, Packet { class: 1, flow: ours }, 10);
    let left = leave(&mut mq, 0..33_000);
    let bulk: Vec<u64> = left.iter().filter(|(_, packet)| packet.class == 1).map(|(us, _)| *us).collect();
    assert_eq!(bulk, [0, 16_000, 32_000]);
}

#[test]
fn what_the_link_has_held_up_is_made_up_for() {
    // 8 Mbit/s; the link comes at 5 ms. Five packets are due by then, the sixth at 5 ms.
    let mut mq = two("8 Mbit/s");
    join(&mut mq, 0, of_class(0), 10);
    let left: Vec<u64> = leave(&mut mq, 5000..7001).iter().map(|(us, _)| *us).collect();
    assert_eq!(left, [5000, 5000, 5000, 5000, 5000, 5000, 6000, 7000]);
}

#[test]
fn packets_are_steered_by_flow_host_or_class() {
    let by = |how| mq(&[("queues", "8"), ("steering", how)], &[]);
    let places = |mq: &Instances, flows: std::ops::Range<u32>| -> Vec<usize> {
        flows.map(|flow| mq.instance(&Packet { class: 5, flow })).collect()
    };
    let flows = places(&by("flows"), 0..800);
    for at in 0..8 {
        let count = flows.iter().filter(|place| **place == at).count();
        assert!((70..130).contains(&count), "{count} of 800 flows are in one of 8 instances");
    }
    let hosts = places(&by("hosts"), 0..800);
    assert!(hosts.chunks(10).all(|host| host.iter().all(|place| *place == host[0])));
    assert!((1..8).all(|at| hosts.contains(&at)));
    assert!(places(&by("classes"), 0..800).iter().all(|place| *place == 5));
}

/// The departures of ten milliseconds, and the accounts, under a load of three halves of the rate.
fn course(mut mq: Instances) -> (Vec<(u64, Packet)>, Accounts) {
    let (mut load, mut left) = (bench::stream(), Vec::new());
    for us in (0..10_000).step_by(20) {
        for _ in 0..(load.uniform() * 7.0) as u32 {
            let packet = Packet { class: (load.uniform() * 8.0) as u8, flow: (load.uniform() * 20.0) as u32 };
            mq.enqueue(packet, &mut Ctx { now: micros(us), rng: &mut bench::stream() });
        }
        left.extend(leave(&mut mq, us..us + 20));
        assert!(mq.accounts_balance());
    }
    let accounts = mq.accounts();
    assert_eq!(accounts.arrived, left.len() as u64 + accounts.dropped + u64::from(mq.len()));
    (left, accounts)
}

#[test]
fn a_copy_takes_the_same_course_and_no_packet_is_lost_from_the_accounts() {
    let mq = mq(&[("queues", "4")], &[("bandwidth", "800 Mbit/s"), ("diffserv", "diffserv4")]);
    let (left, accounts) = course(mq.clone());
    assert!(left.len() > 800 && accounts.departed == left.len() as u64);
    assert_eq!((left, accounts), course(mq));
}

#[test]
fn all_packets_move_to_another_and_back() {
    let mut mq = mq(&[("queues", "4")], &[("bandwidth", "800 Mbit/s")]);
    (0..20).for_each(|flow| join(&mut mq, 0, Packet { class: 0, flow }, 2));
    let mut next = mq.clone();
    next.take_all(micros(0));
    let taken = mq.take_all(micros(7));
    assert_eq!((taken.len(), mq.len(), next.len()), (40, 0, 0));
    taken.into_iter().for_each(|(packet, since)| next.adopt(packet, since));
    assert!(next.len() == 40 && next.accounts_balance() && mq.accounts_balance());
}

#[test]
fn instances_are_there_from_the_start() {
    let mut mq = two("8 Mbit/s");
    let refused = |mq: &mut Instances, name, value| mq.set_param(name, ParamInput::Text(value)).unwrap_err();
    assert!(refused(&mut mq, "queues", "3").contains("cannot change while the scheme runs"));
    assert!(refused(&mut mq, "steering", "flows").contains("cannot change while the scheme runs"));
    mq.set_param("sync_time", ParamInput::Text("1 ms")).unwrap();
    mq.set_param("bandwidth", ParamInput::Text("16 Mbit/s")).unwrap();
    join(&mut mq, 0, of_class(0), 3);
    assert_eq!(leave(&mut mq, 0..2000).iter().map(|(us, _)| *us).collect::<Vec<_>>(), [0, 500, 1000]);
}
