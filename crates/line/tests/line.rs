//! One direction, with values worked out by hand.

use aqmlab::{DropReason, Ecn, Line, LineError, Packet, Verdict};

const MS: u64 = 1_000_000;

fn line(text: &str) -> Line<u32> {
    Line::new(text, 1).unwrap()
}

fn packet(flow: u32) -> Packet {
    Packet::new(1000, Ecn::NotEct, flow)
}

/// Pushes packets of 1000 bytes, each with its number, at these times.
fn push_all(line: &mut Line<u32>, times: &[u64]) -> Vec<Verdict> {
    (0..).zip(times).map(|(number, time)| line.push(*time, packet(0), number).unwrap()).collect()
}

/// Each packet that comes out, with its time and how long it waited.
fn pop_all(line: &mut Line<u32>) -> Vec<(u32, u64, u64)> {
    let mut out = Vec::new();
    while let Some(at) = line.next_event() {
        out.extend(line.pop(at).unwrap().map(|delivery| (delivery.payload, delivery.at, delivery.waited)));
    }
    out
}

#[test]
fn packets_leave_at_the_rate_and_come_out_a_delay_later() {
    // 8 Mbit/s: 1 ms a packet. The fourth finds one being sent and two waiting.
    let mut line = line("rate = '8 Mbit/s'\ndelay = '10 ms'\nbuffer = '2 packets'");
    let verdicts = push_all(&mut line, &[0, 0, MS / 10, MS / 5, 20 * MS]);
    let (joined, full) = (Verdict::Joined, Verdict::Dropped(DropReason::Full));
    assert_eq!(verdicts, [joined, joined, joined, full, joined]);
    let out = [(0, 11 * MS, 0), (1, 12 * MS, MS), (2, 13 * MS, 19 * MS / 10), (4, 31 * MS, 0)];
    assert_eq!(pop_all(&mut line), out);
    let dropped = line.pop_dropped().unwrap();
    assert_eq!((dropped.payload, dropped.reason, dropped.at), (3, DropReason::Full, MS / 5));
    assert_eq!(line.pop_dropped(), None);
}

#[test]
fn packets_that_wait_for_each_other_on_the_wire_come_out_together() {
    // Sent at 1, 2, 3 and 4 ms: two go at 2 ms, two at 4 ms, and one alone, sent at 5 ms, 2 ms later.
    let text = "rate = '8 Mbit/s'\ndelay = '10 ms'\nbuffer = '9 packets'\naggregation = { packets = 2, hold = '2 ms' }";
    let mut line = line(text);
    push_all(&mut line, &[0; 5]);
    let out = [(0, 12 * MS, 0), (1, 12 * MS, MS), (2, 14 * MS, 2 * MS), (3, 14 * MS, 3 * MS), (4, 17 * MS, 4 * MS)];
    assert_eq!(pop_all(&mut line), out);
    assert_eq!(line.counters().held, 0);
}

#[test]
fn remainders_of_a_nanosecond_are_kept() {
    // 7 Gbit/s: 1000 bytes take 1142.857 ns. Seven packets take 8000 ns; each comes out at the nanosecond after its time.
    let mut line = line("rate = '7 Gbit/s'\nbuffer = '100 packets'");
    push_all(&mut line, &[0; 14]);
    let times: Vec<u64> = pop_all(&mut line).into_iter().map(|(_, at, _)| at).collect();
    assert_eq!(times[..3], [1143, 2286, 3429]);
    assert_eq!((times[6], times[13]), (8000, 16_000));
}

#[test]
fn schedules_traces_and_the_link_layer_are_those_of_scenarios() {
    let mut stepped = line("rate = [['0 s', '8 Mbit/s'], ['1500 us', '2 Mbit/s']]\nbuffer = '2 packets'");
    push_all(&mut stepped, &[0, 0, 0]);
    assert_eq!(pop_all(&mut stepped), [(0, MS, 0), (1, 2 * MS, MS), (2, 6 * MS, 2 * MS)]);
    // The table: 8 Mbit/s and 4 ms, from 2.5 ms on 2 Mbit/s and 9 ms. The third is sent from 2 to 3 ms.
    let table = "rate = { trace = 't' }\nbuffer = '9 packets'\n[traces]\nt = '''\ntime (ms),rate (Mbit/s),delay (ms)\n0,8,4\n2.5,2,9\n'''";
    let mut traced = line(table);
    push_all(&mut traced, &[0; 4]);
    let found = [(0, 5 * MS, 0), (1, 6 * MS, MS), (2, 12 * MS, 2 * MS), (3, 16 * MS, 3 * MS)];
    assert_eq!(pop_all(&mut traced), found);
    // PPPoE over ATM: 1040 bytes are 22 cells of 53 bytes, 1166 us.
    let mut atm = line("rate = '8 Mbit/s'\nbuffer = '9 packets'\noverhead = '40 B'\nframing = 'atm'");
    push_all(&mut atm, &[0]);
    assert_eq!(pop_all(&mut atm), [(0, 1166 * MS / 1000, 0)]);
}

#[test]
fn a_shorter_delay_lets_packets_come_out_earlier_than_was_known() {
    // One packet is sent until 1 ms; its delay is 9 ms until 0.5 ms, then 2 ms.
    let table = "rate = { trace = 't' }\nbuffer = '9 packets'\n[traces]\nt = '''\ntime (ms),rate (Mbit/s),delay (ms)\n0,8,9\n0.5,8,2\n'''";
    let mut line = line(table);
    push_all(&mut line, &[0]);
    assert_eq!(line.next_event(), Some(MS / 2));
    assert_eq!(pop_all(&mut line), [(0, 3 * MS, 0)]);
}

#[test]
fn losses_and_jitter_are_told_apart_from_drops() {
    let mut lossy = line("rate = '8 Mbit/s'\nbuffer = '9 packets'\nloss = '100%'");
    push_all(&mut lossy, &[0]);
    assert_eq!((lossy.next_event(), lossy.pop(MS), lossy.next_event()), (Some(MS), Ok(None), None));
    let lost = lossy.pop_dropped().unwrap();
    assert_eq!((lost.payload, lost.reason, lost.at), (0, DropReason::Lost, MS));
    // The first has 5 ms of jitter, the second none, and passes it.
    let mut free =
        line("rate = '8 Mbit/s'\nbuffer = '9 packets'\njitter = { values = ['5 ms', '0 ms'] }\nreorder = '100%'");
    push_all(&mut free, &[0, 0]);
    assert_eq!(pop_all(&mut free), [(1, 2 * MS, MS), (0, 6 * MS, 0)]);
}

#[test]
fn marks_and_head_drops_of_codel() {
    // 8 Mbit/s and a packet of 1000 B each 0.9 ms: the queue grows by a tenth of a packet each time. CoDel of RFC 8289: above
    // 5 ms for 100 ms, then it signals. A packet that cannot be marked is dropped as it leaves.
    let config = "rate = '8 Mbit/s'\nbuffer = '1000 packets'\naqm = 'codel'";
    for (ecn, marks) in [(Ecn::Ect0, true), (Ecn::NotEct, false)] {
        let mut line = line(config);
        for number in 0..400 {
            let packet = Packet::new(1000, ecn, 0);
            assert_eq!(line.push(u64::from(number) * 900_000, packet, number), Ok(Verdict::Joined));
        }
        let (mut marked, mut out) = (0, 0);
        while let Some(at) = line.next_event() {
            let delivery = line.pop(at).unwrap();
            out += u64::from(delivery.is_some());
            marked += u64::from(delivery.is_some_and(|delivery| delivery.ecn == Ecn::Ce));
        }
        let found = line.counters();
        assert!(found.marked + found.scheme > 3, "{found:?}");
        assert_eq!((marked > 0, found.scheme == 0), (marks, marks));
        assert_eq!((found.pushed, found.delivered, found.held, found.marked), (400, out, 0, marked));
        let drops =
            std::iter::from_fn(|| line.pop_dropped()).filter(|dropped| matches!(dropped.reason, DropReason::Scheme(_)));
        assert_eq!(drops.count() as u64, found.scheme);
    }
}

#[test]
fn flow_queueing_evicts_packets_of_others() {
    // Flow 1 fills the buffer; a packet of flow 2 joins, and packets of flow 1 make room.
    let mut line = line("rate = '8 Mbit/s'\nbuffer = '10 packets'\naqm = 'fq-codel'");
    for number in 0..11 {
        assert_eq!(line.push(0, packet(1), number), Ok(Verdict::Joined));
    }
    assert_eq!(line.push(0, packet(2), 11), Ok(Verdict::Joined));
    let evicted: Vec<u32> = std::iter::from_fn(|| line.pop_dropped()).map(|dropped| dropped.payload).collect();
    // Half of the longest queue of ten, from its head; the first packet is being sent.
    assert_eq!(evicted, [1, 2, 3, 4, 5]);
    assert_eq!(line.counters().evicted, 5);
    // A packet that is its own victim says so: the longest queue is its own.
    for number in 12..17 {
        line.push(0, packet(1), number).unwrap();
    }
    assert_eq!(line.counters().dropped() + line.counters().held, 17);
}

#[test]
fn a_copy_goes_its_own_way() {
    let mut line = line("rate = '8 Mbit/s'\nbuffer = '20 packets'\naqm = 'pie'\nloss = '20%'");
    push_all(&mut line, &[0; 10]);
    let mut fork = line.clone();
    assert_eq!(pop_all(&mut line), pop_all(&mut fork));
    fork.push(20 * MS, packet(0), 7).unwrap();
    assert_eq!((line.counters().pushed, fork.counters().pushed), (10, 11));
    fn is_send<T: Send>(_: &T) {}
    is_send(&line);
}

#[test]
fn the_seed_decides_and_nothing_else() {
    let of = |seed| {
        let mut line = Line::new("rate = '8 Mbit/s'\nbuffer = '99 packets'\nloss = '30%'", seed).unwrap();
        push_all(&mut line, &[0; 90]);
        pop_all(&mut line)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

#[test]
fn observables_are_those_of_the_scheme() {
    let mut line = line("rate = '8 Mbit/s'\nbuffer = '9 packets'\naqm = 'fixed-p:p=25%'");
    line.advance(5).unwrap();
    assert_eq!((line.observe("p"), line.now()), (Ok(0.25), 5));
    assert_eq!(line.observables().collect::<Vec<_>>(), [("p", 0.25)]);
    let why = line.observe("pp").unwrap_err().to_string();
    assert_eq!(why, "name: unknown observable \"pp\"; did you mean \"p\"? known: p");
}

#[test]
fn a_wrong_call_changes_nothing_and_says_what_is_wrong() {
    let mut line = line("rate = '8 Mbit/s'\nbuffer = '9 packets'");
    let why = |result: Result<_, LineError>| result.map(|_: ()| ()).unwrap_err().to_string();
    assert_eq!(why(line.pop(3).map(drop)), "now: nothing is due at 3 ns; the line is empty");
    line.push(7, packet(0), 1).unwrap();
    assert_eq!(why(line.push(6, packet(0), 2).map(drop)), "now: 6 ns is before 7 ns, the time of an earlier call");
    assert_eq!(why(line.pop(6).map(drop)), "now: 6 ns is before 7 ns, the time of an earlier call");
    assert_eq!(why(line.advance(6)), "now: 6 ns is before 7 ns, the time of an earlier call");
    assert_eq!(why(line.pop(MS).map(drop)), "now: nothing is due at 1000000 ns; the next event is at 1000007 ns");
    let of = |length| Packet { length, ..packet(0) };
    assert_eq!(why(line.push(8, of(0), 2).map(drop)), "length: 0 bytes is out of range: must lie in 1 ..= 65535 bytes");
    assert!(why(line.push(8, of(65_536), 2).map(drop)).starts_with("length: 65536"));
    let wrong = Packet { dscp: 64, ..packet(0) };
    assert_eq!(why(line.push(8, wrong, 2).map(drop)), "dscp: 64 is out of range: must lie in 0 ..= 63");
    assert!(
        why(line.push(u64::MAX, packet(0), 2).map(drop)).starts_with("now: 18446744073709551615 ns is out of range")
    );
    assert_eq!((line.now(), line.counters().pushed), (7, 1));
    assert_eq!(pop_all(&mut line), [(1, MS + 7, 0)]);
}

#[test]
fn every_problem_of_a_description_is_told_with_its_key() {
    let why = |text: &str| Line::<()>::new(text, 1).unwrap_err().to_string();
    let several = why("rate = '8 Mbit'\ntagret = '5 ms'\nbuffer = '9 packets'\naqm = 'codle'");
    let keys: Vec<&str> = several.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(keys, ["rate", "aqm", "tagret"], "{several}");
    assert!(several.contains("did you mean \"target\"?") && several.contains("did you mean \"codel\"?"), "{several}");
    assert!(
        why("rate = '8 Mbit/s'\nbuffer = '9 packets'\naqm = 'codel:tagret=3ms'").starts_with("codel.tagret: unknown")
    );
    assert!(why("rate = '8 Mbit/s'").starts_with("buffer: missing"));
    assert!(why("rate = '8 Mbit/s'\nbuffer = '2 bdp'").starts_with("rtt: missing"));
    assert!(
        why("rate = '8 Mbit/s'\nbuffer = '2 bdp'\ndelay = '10 ms'\nrtt = '9 ms'")
            .starts_with("rtt: \"9 ms\" is shorter")
    );
    assert!(why("rate = ").contains("is not TOML"));
    assert!(why("rate = { trace = 'x' }\nbuffer = '9 packets'").starts_with("rate: trace: \"x\""));
    assert!(why("links = [1]").contains("links: unknown key"));
    // 8 Mbit/s times 80 ms are 80000 bytes: 53.3 packets, rounded up.
    let mut bdp = line("rate = '8 Mbit/s'\nbuffer = '1 bdp'\nrtt = '80 ms'");
    assert_eq!(push_all(&mut bdp, &[0; 56]).iter().filter(|verdict| **verdict == Verdict::Joined).count(), 55);
}
