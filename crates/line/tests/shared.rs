//! A path with traffic of others: without them it is the same as one's own, with them nothing is lost and all repeats.

use aqmlab::{DropReason, Ecn, Packet, Path, SharedPath, Side, Verdict};
use aqmlab_core::Stream;

const LINKS: &str = "schema = 1\nduration = '60 s'\n\
    [[links]]\nname = 'up'\nrate = '10 Mbit/s'\nbuffer = '40 packets'\ntarget = '10 packets'\necn = true\ndelay = '3 ms'\nloss = '0.5%'\n\
    [[links]]\nname = 'down'\nrate = [['0 s', '20 Mbit/s'], ['1 s', '5 Mbit/s']]\nbuffer = '100 packets'\ndelay = '2 ms'\n";
/// Long transfers of every kind that is usual, the web, short transfers and datagrams, in both directions.
const OTHERS: &str = "[[flows]]\nname = 'cubic'\ncount = 2\npath = ['up']\nack_path = ['down']\nrtt = '40 ms'\ntcp = 'cubic'\n\
    [[flows]]\nname = 'reno'\npath = ['down']\nack_path = ['up']\nrtt = '40 ms'\ntcp = 'reno'\n\
    [[flows]]\nname = 'prague'\npath = ['up']\nrtt = '30 ms'\ntcp = 'prague'\n\
    [[flows]]\nname = 'bbr'\npath = ['up']\nrtt = '40 ms'\ntcp = 'bbr'\n\
    [[flows]]\nname = 'bbr3'\npath = ['down']\nrtt = '40 ms'\ntcp = 'bbr3'\n\
    [[flows]]\nname = 'web'\nkind = 'http'\npath = ['down']\nack_path = ['up']\nrtt = '40 ms'\nthink_time = '100 ms'\nsize = '12 packets'\n\
    [[flows]]\nname = 'datagrams'\nkind = 'udp-onoff'\npath = ['up']\nrtt = '40 ms'\nrate_on = '2 Mbit/s'\non = '50 ms'\noff = '50 ms'\npacket = '500 B'\n";
const NOBODY: &str = "[[flows]]\nstart = '59 s'\nrtt = '40 ms'\n";
/// All of one's own packets have come out by then, ns.
const END: u64 = 50_000_000_000;

/// What becomes of packets: number, when, in ns, ECN field, time in the queue, or why not.
type Fates = Vec<(u32, u64, Ecn, Result<u64, DropReason>)>;

/// Random packets of three flows at 6 Mbit/s in each direction, for two seconds: when, where and what.
fn arrivals() -> Vec<(u64, Side, Packet)> {
    let (mut rng, mut now) = (Stream::new(1, "arrivals", 0), 0);
    let arrival = |number: u32| {
        now += u64::from(rng.below(2_000_000));
        let side = if number.is_multiple_of(2) { Side::Up } else { Side::Down };
        (now, side, Packet::new(rng.below(1400) + 100, Ecn::Ect0, rng.below(3)))
    };
    (0..2000).map(arrival).collect()
}

fn shared(others: &str, aqm: &str) -> SharedPath<u32> {
    SharedPath::new(&format!("{LINKS}{others}"), Some(aqm), 1).unwrap()
}

/// Takes all that comes out or is dropped before `now`.
fn take(path: &mut SharedPath<u32>, now: u64, fates: &mut Fates) {
    while let Some(at) = path.next_event().filter(|at| *at < now) {
        if let Some((_, out)) = path.pop(at).unwrap() {
            assert!(out.at <= at);
            fates.push((out.payload, out.at, out.ecn, Ok(out.waited)));
        }
        while let Some((_, gone)) = path.pop_dropped() {
            fates.push((gone.payload, gone.at, gone.ecn, Err(gone.reason)));
        }
    }
}

/// The fates of all arrivals, in the order of their numbers.
fn fates(path: &mut SharedPath<u32>) -> Fates {
    let mut fates = Fates::new();
    for (number, (now, side, packet)) in (0..).zip(arrivals()) {
        take(path, now, &mut fates);
        path.push(side, now, packet, number).unwrap();
    }
    take(path, END, &mut fates);
    fates.sort_unstable_by_key(|fate| fate.0);
    fates
}

#[test]
fn without_others_it_is_a_path_of_ones_own() {
    for aqm in ["droptail", "codel", "pie", "red", "pi2"] {
        let mut path: Path<u32> = Path::new(&format!("{LINKS}{NOBODY}"), Some(aqm), 1).unwrap();
        let mut own = Fates::new();
        let mut take = |path: &mut Path<u32>, now: u64| {
            while let Some(at) = path.next_event().filter(|at| *at < now) {
                let out = path.pop(at).unwrap().map(|(_, out)| (out.payload, out.at, out.ecn, Ok(out.waited)));
                own.extend(out);
                while let Some((_, gone)) = path.pop_dropped() {
                    own.push((gone.payload, gone.at, gone.ecn, Err(gone.reason)));
                }
            }
        };
        for (number, (now, side, packet)) in (0..).zip(arrivals()) {
            take(&mut path, now);
            path.push(side, now, packet, number).unwrap();
        }
        take(&mut path, END);
        own.sort_unstable_by_key(|fate| fate.0);
        let mut found = fates(&mut shared(NOBODY, aqm));
        // Of what is sent as the rate changes it is known afterwards how long that took at the new one only: 1500 B at 5, not 20 Mbit/s.
        for (own, found) in own.iter_mut().zip(&mut found) {
            if own.3.is_ok_and(|own| found.3.is_ok_and(|found| found.abs_diff(own) <= 1_800_001)) {
                (own.3, found.3) = (Ok(0), Ok(0));
            }
        }
        assert_eq!(found, own, "{aqm}");
        assert!(own.iter().any(|fate| fate.3.is_err()), "{aqm} drops none");
    }
}

#[test]
fn what_is_pushed_is_delivered_dropped_or_held_beside_others() {
    for aqm in ["droptail", "codel", "pie", "fq-codel", "dualpi2", "cake", "choke"] {
        let mut path = shared(OTHERS, aqm);
        for (number, (now, side, packet)) in (0..).zip(arrivals().into_iter().take(1000)) {
            let before = path.counters(side);
            let verdict = path.push(side, now, packet, number).unwrap();
            let after = path.counters(side);
            assert_eq!(after.pushed, before.pushed + 1, "{aqm}");
            assert_eq!(after.pushed, after.delivered + after.dropped() + after.held, "{aqm}");
            assert!(after.dropped() > before.dropped() || !matches!(verdict, Verdict::Dropped(_)), "{aqm}");
        }
        let mut fates = Fates::new();
        take(&mut path, END, &mut fates);
        fates.sort_unstable_by_key(|fate| fate.0);
        let numbers: Vec<u32> = fates.iter().map(|fate| fate.0).collect();
        assert_eq!(numbers, (0..1000).collect::<Vec<_>>(), "{aqm}");
        let [up, down] = [Side::Up, Side::Down].map(|side| path.counters(side));
        assert_eq!((up.held, down.held), (0, 0), "{aqm}");
        assert!(up.dropped() > 0 && up.waiting + down.waiting > 0, "{aqm}: {up:?} {down:?}");
    }
}

#[test]
fn it_repeats_and_forks_with_all_that_is_on_it() {
    let (mut first, mut second) = (shared(OTHERS, "fq-codel"), shared(OTHERS, "fq-codel"));
    let mut fork = first.clone();
    let found = fates(&mut first);
    assert_eq!(found, fates(&mut second));
    assert_eq!(found, fates(&mut fork));
    let other = fates(&mut SharedPath::new(&format!("{LINKS}{OTHERS}"), Some("fq-codel"), 2).unwrap());
    assert_ne!(found, other);
}

#[test]
fn others_take_their_share() {
    let mean = |others: &str| {
        let found = fates(&mut shared(others, "droptail"));
        let waited: Vec<u64> = found.iter().filter_map(|fate| fate.3.ok()).collect();
        waited.iter().sum::<u64>() / waited.len() as u64
    };
    // Greedy senders keep a queue of 40 packets half full and more: 20 packets of 1500 B at 10 Mbit/s take 24 ms.
    let (alone, beside) = (mean(NOBODY), mean(OTHERS));
    assert!(beside > 24_000_000 && beside > 2 * alone, "{alone} ns, {beside} ns");
}

#[test]
fn wrong_calls_are_refused() {
    let mut path = shared(NOBODY, "droptail");
    path.push(Side::Up, 1000, Packet::new(100, Ecn::NotEct, 0), 1).unwrap();
    let told = |result: Result<_, aqmlab::LineError>| result.unwrap_err().to_string();
    assert!(told(path.push(Side::Up, 999, Packet::new(100, Ecn::NotEct, 0), 2)).contains("999 ns is before 1000 ns"));
    assert!(told(path.push(Side::Up, 1000, Packet::new(0, Ecn::NotEct, 0), 2)).contains("length: 0 bytes"));
    assert!(path.pop(999).unwrap_err().to_string().contains("before"));
    let refused = |text: &str| SharedPath::<u32>::new(text, None, 1).unwrap_err().to_string();
    assert!(refused("schema = 1").contains("links"));
    assert!(refused(&format!("{LINKS}{NOBODY}kind = 'foreign'\n")).contains("unknown kind"));
    assert!(
        refused(&format!("{LINKS}{NOBODY}kind = 'quic'\n"))
            .contains("flows.flows.kind: \"quic\" is not part of the simulator")
    );
}
