//! Packets through a line per second of one core, beside a plain `VecDeque`: `cargo bench -p aqmlab-bench --bench line`.

use aqmlab::{Ecn, Line, Packet};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::collections::VecDeque;
use std::hint::black_box;

/// Packets a round.
const PACKETS: u64 = 100_000;
/// One comes each microsecond: a million a second.
const GAP: u64 = 1000;

/// What a transport test writes by hand: a limit, a rate, a delay.
struct Plain {
    waiting: VecDeque<(u64, u64)>,
    free_at: u64,
}

impl Plain {
    fn push(&mut self, now: u64, length: u64, payload: u64) {
        if self.waiting.len() < 2000 {
            self.free_at = self.free_at.max(now) + length;
            self.waiting.push_back((self.free_at + 100_000, payload));
        }
    }
    fn pop(&mut self, now: u64) -> Option<u64> {
        self.waiting.front().filter(|(due, _)| *due <= now)?;
        self.waiting.pop_front().map(|(_, payload)| payload)
    }
}

fn packets(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("line");
    group.throughput(Throughput::Elements(PACKETS));
    group.bench_function("VecDeque", |bencher| {
        let (mut line, mut now) = (Plain { waiting: VecDeque::new(), free_at: 0 }, 0);
        bencher.iter(|| {
            for _ in 0..PACKETS {
                now += GAP;
                line.push(now, 1000, now);
                while let Some(payload) = line.pop(now) {
                    black_box(payload);
                }
            }
        });
    });
    // At 8 Gbit/s 1000 bytes take as long as the gap; CoDel meets a standing queue at 7.9 Gbit/s and marks.
    for (aqm, rate) in
        [("droptail", "8"), ("codel", "8"), ("codel", "7.9"), ("fq-codel", "8"), ("dualpi2", "8"), ("cake", "8")]
    {
        let text = format!("rate = '{rate} Gbit/s'\nbuffer = '2000 packets'\ndelay = '100 us'\naqm = '{aqm}'");
        let mut line = Line::new(&text, 1).expect("a line of the benchmark");
        group.bench_function(format!("{aqm}, {rate} Gbit/s"), |bencher| {
            bencher.iter(|| {
                for _ in 0..PACKETS {
                    let now = line.now() + GAP;
                    line.push(now, Packet::new(1000, Ecn::Ect0, now as u32 / GAP as u32 % 16), now)
                        .expect("it is in order");
                    while line.next_event().is_some_and(|due| due <= now) {
                        black_box(line.pop(now).expect("it is due"));
                    }
                    while line.pop_dropped().is_some() {}
                }
            });
        });
    }
    group.finish();
}

criterion_group!(benches, packets);
criterion_main!(benches);
