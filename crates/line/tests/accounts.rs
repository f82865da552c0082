//! Every packet that enters comes out, is handed back with a reason, or is still within, under every scheme.

use aqmlab::{Ecn, Line, Packet};
use aqmlab_core::Stream;

const LINE: &str = "rate = '100 Mbit/s'\nbuffer = '60 packets'\ntarget = '20 packets'\nloss = '1%'\ndelay = '2 ms'\n\
                    jitter = { uniform = ['0 ms', '1 ms'] }\nreorder = '10%'\n";

/// Random packets of ten flows on five hosts, at more than the line's rate, of every ECN codepoint and class.
fn arrivals(count: u32) -> Vec<(u64, Packet)> {
    let (mut rng, mut now) = (Stream::new(1, "arrivals", 0), 0);
    let codepoints = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
    let arrival = |_| {
        now += u64::from(rng.below(100_000));
        let flow = rng.below(10);
        let (length, ecn) = (rng.below(1500) + 1, codepoints[rng.below(4) as usize]);
        (now, Packet { length, ecn, flow, host: flow / 2, dscp: (rng.below(8) as u8) << 3 })
    };
    (0..count).map(arrival).collect()
}

#[test]
fn what_is_pushed_is_delivered_dropped_or_held() {
    let arrivals = arrivals(10_000);
    for entry in aqmlab_aqm::entries() {
        let name = entry.info.name;
        let mut line = Line::new(&format!("{LINE}aqm = '{name}'"), 1).unwrap();
        let (mut seen, mut delivered, mut dropped) = (vec![0; arrivals.len()], 0, 0);
        for (number, (time, packet)) in arrivals.iter().enumerate() {
            while let Some(at) = line.next_event().filter(|at| at < time) {
                if let Some(delivery) = line.pop(at).unwrap() {
                    assert!(delivery.at <= at && delivery.waited < at);
                    seen[delivery.payload] += 1;
                    delivered += 1;
                }
            }
            line.push(*time, *packet, number).unwrap();
            while let Some(gone) = line.pop_dropped() {
                assert!(gone.at <= *time);
                seen[gone.payload] += 1;
                dropped += 1;
            }
            let found = line.counters();
            assert_eq!(
                (found.pushed, found.delivered, found.dropped()),
                (number as u64 + 1, delivered, dropped),
                "{name}"
            );
            assert_eq!(found.pushed, delivered + dropped + found.held, "{name}: {found:?}");
            assert!(found.waiting <= found.held, "{name}");
        }
        assert!(delivered > 5000 && dropped > 0, "{name}: {delivered} {dropped}");
        // What is left comes out or is dropped, once each.
        while let Some(at) = line.next_event() {
            if let Some(delivery) = line.pop(at).unwrap() {
                seen[delivery.payload] += 1;
            }
        }
        std::iter::from_fn(|| line.pop_dropped()).for_each(|gone| seen[gone.payload] += 1);
        assert!(seen.iter().all(|times| *times == 1), "{name}");
        assert_eq!(line.counters().held, 0, "{name}");
        assert_eq!(line.failure(), None, "{name}");
    }
}
