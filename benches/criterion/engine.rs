//! Speed of the engine in packets that leave the bottleneck, per second of one core: `cargo bench -p aqmlab-bench --bench engine`.

use aqmlab_aqm::entries;
use aqmlab_core::{Stream, Time};
use aqmlab_scenario::parse;
use aqmlab_scenario::{Scenario, SchemeAssignment};
use aqmlab_sim::event_queue::{Calendar, EventOrigin, Lane, TimerEvent};
use aqmlab_sim::{Options, run};
use criterion::measurement::WallTime;
use criterion::{Bencher, BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

/// 500 Reno flows on 45 Mbit/s for 100 s, from Li et al. (2014).
const TABLE_1: &str = include_str!("../../python/aqmlab/scenarios/li2014/table-1.toml");

/// Every scheme, in Table 1.
fn schemes(criterion: &mut Criterion) {
    let scenario = table_1(&[]);
    let mut group = criterion.benchmark_group("schemes");
    for entry in entries() {
        measure(&mut group, entry.info.name, &scenario, entry.info.name, 1);
    }
}

/// Ever more flows for 10 s, each with the share of rate, buffer and target it has in Table 1. The queue is droptail:
/// it has no gains, which would suit one size only. All with one round trip, then each with its own.
fn sizes(criterion: &mut Criterion) {
    sizes_of(criterion, "sizes", "80 ms");
    sizes_of(criterion, "sizes, round trips that differ", "{ uniform = [\"40 ms\", \"200 ms\"] }");
}

fn sizes_of(criterion: &mut Criterion, name: &str, rtt: &str) {
    let mut group = criterion.benchmark_group(name);
    for flows in [50, 500, 5_000, 50_000] {
        measure(&mut group, &flows.to_string(), &many(flows, rtt), "droptail", 1);
    }
}

/// Table 1 for 10 s with another number of flows, whose round trips follow a law.
fn many(flows: u32, rtt: &str) -> Arc<Scenario> {
    table_1(&[
        ("duration", "10 s".into()),
        ("flows.ftp.rtt", rtt.into()),
        ("flows.ftp.count", flows.to_string()),
        ("links.bottleneck.rate", format!("{} kbit/s", flows * 90)),
        ("links.bottleneck.buffer", format!("{} packets", flows * 9 / 5)),
        ("links.bottleneck.target", format!("{} packets", flows * 3 / 5)),
    ])
}

fn table_1(settings: &[(&str, String)]) -> Arc<Scenario> {
    let settings: Vec<_> = settings.iter().map(|(path, value)| (path.to_string(), value.clone())).collect();
    Arc::new(parse(TABLE_1, "table-1", &settings).expect("Table 1 and its settings are valid"))
}

/// Times whole runs: the set-up, its events, its metrics.
fn measure(group: &mut BenchmarkGroup<WallTime>, name: &str, scenario: &Arc<Scenario>, scheme: &str, threads: usize) {
    let aqm = SchemeAssignment::parse(scheme).expect("the catalogue has the scheme");
    let options = Options { aqm: Some(aqm), seed: 1, threads, ..Options::default() };
    let simulate = || run(scenario.clone(), options.clone()).expect("the scheme fits the scenario").result;
    let departed = simulate().links[0].1.departed;
    group.throughput(Throughput::Elements(departed));
    group.bench_function(name, |bencher| bencher.iter(simulate));
}

/// One run on one thread and on several, where flows have round trips of their own.
fn threads(criterion: &mut Criterion) {
    for flows in [5_000, 50_000] {
        let mut group = criterion.benchmark_group(format!("threads, {flows} flows"));
        let scenario = many(flows, "{ uniform = [\"40 ms\", \"200 ms\"] }");
        for threads in 1..=available_parallelism().map_or(1, usize::from) {
            measure(&mut group, &threads.to_string(), &scenario, "droptail", threads);
        }
    }
}

/// As large as a packet.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Held([u64; 4]);

impl TimerEvent for Held {
    fn of_place(_: EventOrigin) -> Self {
        Self::default()
    }
}

/// Pending events.
trait Queue {
    fn push(&mut self, time: u64, event: Held);
    fn pop(&mut self) -> (u64, Held);
}

impl Queue for Calendar<Held> {
    fn push(&mut self, time: u64, event: Held) {
        Calendar::push(self, Lane::ANY, Time(time), EventOrigin::SAMPLE, event);
    }

    fn pop(&mut self) -> (u64, Held) {
        let (time, event) = Calendar::pop(self, Time::NEVER).expect("as many are pushed as popped");
        (time.0, *event)
    }
}

/// The standard library's heap, with the order of insertion.
#[derive(Default)]
struct Heap {
    events: BinaryHeap<Reverse<(u64, u64, Held)>>,
    pushed: u64,
}

impl Queue for Heap {
    fn push(&mut self, time: u64, event: Held) {
        self.pushed += 1;
        self.events.push(Reverse((time, self.pushed, event)));
    }

    fn pop(&mut self) -> (u64, Held) {
        let Reverse((time, _, event)) = self.events.pop().expect("as many are pushed as popped");
        (time, event)
    }
}

/// The hold model (Jones, 1986): the first of so many events is taken out, and one put in 20 to 100 ms later.
fn event_queue(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("event queue");
    group.throughput(Throughput::Elements(1));
    for pending in [1_000, 10_000, 200_000, 2_000_000] {
        group.bench_function(format!("{pending} calendar"), |bencher| hold(bencher, Calendar::default(), pending));
        group.bench_function(format!("{pending} heap"), |bencher| hold(bencher, Heap::default(), pending));
    }
}

fn hold(bencher: &mut Bencher, mut queue: impl Queue, pending: u64) {
    let mut random = Stream::new(1, "hold", 0);
    let mut ahead = || 20_000_000_000 + (random.uniform() * 80e9) as u64;
    (0..pending).for_each(|i| queue.push(ahead(), Held([i; 4])));
    bencher.iter(|| {
        let (time, event) = queue.pop();
        queue.push(time + ahead(), event);
    });
}

/// Few samples: a run is long, and lasts the same number of events each time.
fn few_samples() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .without_plots()
}

criterion_group! { name = benches; config = few_samples(); targets = schemes, sizes, threads, event_queue }
criterion_main!(benches);
