use super::*;
use crate::contract::bench;
use crate::schemes::cobalt::{Cobalt, CobaltParams};
use crate::{Ecn, Scheme};

/// A packet of a flow, of a host, of a size.
#[derive(Clone)]
struct Packet(u32, u32, u32);

impl Carried for Packet {
    fn size(&self) -> u32 {
        self.2
    }
    fn flow(&self) -> u32 {
        self.0
    }
    fn host(&self) -> u32 {
        self.1
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

/// Queues of one of CAKE's tins, a quantum of 1000 B.
fn tin(flows: u32, ways: u32) -> Fair<Cobalt, Packet> {
    let quantum = Bytes(1000.0);
    let params = FairParams { flows, ways, quantum, isolation: Isolation::Hosts, ..FairParams::defaults() };
    let cobalt = Cobalt::new(CobaltParams::defaults(), &bench::queue(0)).unwrap();
    Fair::new(params, cobalt, bench::queue(0), bench::LIMIT, true, 1).with_round_robin(RoundRobin::Cake)
}

fn join(tin: &mut Fair<Cobalt, Packet>, ms: u64, packet: Packet, count: usize) {
    let cx = &mut Ctx { now: Time(ms * 1_000_000_000), rng: &mut bench::stream() };
    (0..count).for_each(|_| assert_eq!(tin.enqueue(packet.clone(), cx), Fate::Kept));
}

fn leave(tin: &mut Fair<Cobalt, Packet>, ms: u64) -> Option<u32> {
    let cx = &mut Ctx { now: Time(ms * 1_000_000_000), rng: &mut bench::stream() };
    tin.dequeue(cx).map(|(packet, _)| packet.0)
}

/// Bucket of a flow's queue.
fn bucket(tin: &mut Fair<Cobalt, Packet>, flow: u32) -> u32 {
    let index = tin.claim(flow, 1, Time::ZERO);
    tin.queues[index as usize].bucket
}

#[test]
fn flows_with_little_to_send_are_no_load_of_their_host() {
    // Flows 1 and 2 of hosts 1 and 2 have sent their quantum when nine flows of host 1 send a packet each.
    let mut tin = tin(1024, 8);
    for flow in [1, 2] {
        join(&mut tin, 0, Packet(flow, flow, 1000), 10);
    }
    assert_eq!([(); 2].map(|()| leave(&mut tin, 0)), [Some(1), Some(2)]);
    (3..12).for_each(|flow| join(&mut tin, 0, Packet(flow, 1, 10), 1));
    let order: Vec<u32> = (0..8).filter_map(|_| leave(&mut tin, 0)).collect();
    assert_eq!(order, [3, 4, 5, 6, 7, 8, 9, 10]);
    // The last of them still waits. If they counted, flow 1 would have a part of a quantum.
    let [host, idle] = [1, 3].map(|host| tin.hosts.bucket(host));
    assert_eq!([host, idle].map(|host| tin.hosts.bulk(host)), [1, 0]);
    assert_eq!(tin.quantum(host), 1000);
    let order: Vec<u32> = (0..9).filter_map(|_| leave(&mut tin, 0)).collect();
    assert_eq!(order, [11, 1, 2, 1, 2, 1, 2, 1, 2]);
}

#[test]
fn bulk_flows_of_a_host_share_a_quantum() {
    let mut tin = tin(1024, 8);
    for (flow, host) in [(1, 1), (2, 1), (3, 2)] {
        join(&mut tin, 0, Packet(flow, host, 100), 30);
    }
    // Ten packets each; then flow 1, still the only bulk flow of its host, has ten, flow 2 five and flow 3 ten.
    let order: Vec<u32> = (0..75).filter_map(|_| leave(&mut tin, 0)).collect();
    let count = |order: &[u32]| [1, 2, 3].map(|flow| order.iter().filter(|other| **other == flow).count());
    assert_eq!([&order[..30], &order[30..55], &order[55..]].map(count), [[10, 10, 10], [10, 5, 10], [5, 5, 10]]);
}

#[test]
fn a_queue_stays_its_flows_until_its_scheme_is_at_rest() {
    let mut tin = tin(8, 8);
    join(&mut tin, 0, Packet(1, 1, 1000), 1);
    assert_eq!([leave(&mut tin, 1), leave(&mut tin, 1)], [Some(1), None]);
    // COBALT is at rest an interval after the last packet. Until then another flow takes another queue.
    let [one, two] = [1, 2].map(|flow| tin.claim(flow, 1, Time::ZERO));
    assert_ne!(one, two);
    for (ms, state) in [(50, FlowSet::Decaying), (100, FlowSet::Decaying), (101, FlowSet::Idle)] {
        join(&mut tin, ms, Packet(2, 1, 1000), 1);
        leave(&mut tin, ms);
        assert!(tin.queues[one as usize].state == state, "{ms} ms");
    }
}

#[test]
fn a_flow_returns_to_its_last_queue_though_the_one_that_it_hashes_to_is_idle() {
    let mut tin = tin(8, 8);
    let alike = (2..).find(|flow| tin.hash.home(*flow) == tin.hash.home(1)).unwrap();
    let [first, second] = [1, alike].map(|flow| {
        join(&mut tin, 0, Packet(flow, 1, 1000), 1);
        bucket(&mut tin, flow)
    });
    assert_eq!([first == tin.hash.home(1), second == first], [true, false]);
    while leave(&mut tin, 0).is_some() {}
    // Told at 1 and 2 s, one at a time, that they are empty.
    for ms in [1000, 2000] {
        join(&mut tin, ms, Packet(alike + 1, 1, 1000), 1);
        leave(&mut tin, ms);
    }
    assert!(
        [first, second]
            .iter()
            .all(|bucket| tin.queues[tin.buckets[*bucket as usize].queue as usize].state == FlowSet::Idle)
    );
    assert_eq!(bucket(&mut tin, alike), second);
}

#[test]
fn a_flow_finds_its_own_queue_again_and_no_state_of_another() {
    // Eight flows take the queues of a set; each returns to its own, in whatever order.
    let mut tin = tin(8, 8);
    let mut joined = |flow| {
        join(&mut tin, 0, Packet(flow, 1, 1000), 1);
        bucket(&mut tin, flow)
    };
    let buckets: Vec<u32> = (1..9).map(&mut joined).collect();
    assert!((0..8).all(|bucket| buckets.contains(&bucket)), "{buckets:?}");
    assert_eq!((1..9).rev().map(&mut joined).collect::<Vec<_>>(), buckets.into_iter().rev().collect::<Vec<_>>());
    // A ninth shares the one that it hashes to.
    assert_eq!([joined(9), joined(9)], [tin.hash.home(9); 2]);
}

#[test]
fn a_queue_that_is_as_good_as_new_is_used_again_and_one_that_has_counted_is_not() {
    let mut tin = tin(1024, 8);
    let mut pass = |ms: u64, flow: u32, waited: u64| {
        join(&mut tin, ms, Packet(flow, 1, 1000), 2);
        while leave(&mut tin, ms + waited).is_some() {}
        leave(&mut tin, ms + waited + 500); // told that it is empty; it is idle then
        tin.queues.len()
    };
    // Flow 3 finds the queue of flow 1, flow 1 on its return that of flow 3. Flow 4 has waited and counted.
    assert_eq!([pass(0, 1, 1), pass(1000, 3, 1), pass(2000, 1, 1), pass(3000, 4, 200)], [1, 1, 1, 1]);
    assert_eq!([pass(5000, 5, 1), pass(6000, 6, 1)], [2, 2], "flow 4 keeps its own");
}

/// Two queues of Linux's PIE with room for four packets: the fifth is refused, though the other flow has three.
#[test]
fn a_full_buffer_refuses_the_arrival_where_the_scheme_says_so() {
    use crate::schemes::pie::{Pie, PieParams};
    let mut params = PieParams::defaults();
    params.read("pie", [("flavour", "linux")], &mut Vec::new());
    let pie = Pie::new(params, &bench::queue(0)).unwrap();
    let mut fair = Fair::new(FairParams::defaults(), pie, bench::queue(0), Limit::Packets(4), false, 1);
    let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
    let fates = [1, 1, 1, 2, 2].map(|flow| fair.enqueue(Packet(flow, flow, 1000), cx));
    assert_eq!(fates, [Fate::Kept, Fate::Kept, Fate::Kept, Fate::Kept, Fate::Dropped(crate::OVERFLOW)]);
    assert!(fair.accounts_balance());
}
