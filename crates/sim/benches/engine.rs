//! Speed of the engine in packets that leave the bottleneck, per second of one core: `cargo bench -p aqmlab-sim`.

use aqmlab_aqm::entries;
use aqmlab_sim::{Chosen, Options, Scenario, run, scenario};
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput, criterion_group, criterion_main};
use std::sync::Arc;
use std::time::Duration;

/// 500 Reno flows on 45 Mbit/s for 100 s, from Li et al. (2014).
const TABLE_1: &str = include_str!("../../../python/aqmlab/scenarios/li2014/table-1.toml");

/// Every scheme, in Table 1.
fn schemes(criterion: &mut Criterion) {
    let scenario = table_1(&[]);
    let mut group = criterion.benchmark_group("schemes");
    for entry in entries() {
        measure(&mut group, entry.info.name, &scenario, entry.info.name);
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
        let scenario = table_1(&[
            ("duration", "10 s".into()),
            ("flows.ftp.rtt", rtt.into()),
            ("flows.ftp.count", flows.to_string()),
            ("links.bottleneck.rate", format!("{} kbit/s", flows * 90)),
            ("links.bottleneck.buffer", format!("{} packets", flows * 9 / 5)),
            ("links.bottleneck.target", format!("{} packets", flows * 3 / 5)),
        ]);
        measure(&mut group, &flows.to_string(), &scenario, "droptail");
    }
}

fn table_1(settings: &[(&str, String)]) -> Arc<Scenario> {
    let settings: Vec<_> = settings.iter().map(|(path, value)| (path.to_string(), value.clone())).collect();
    Arc::new(scenario::parse(TABLE_1, "table-1", &settings).expect("Table 1 and its settings are valid"))
}

/// Times whole runs: the set-up, its events, its metrics.
fn measure(group: &mut BenchmarkGroup<WallTime>, name: &str, scenario: &Arc<Scenario>, scheme: &str) {
    let aqm = Chosen::parse(scheme).expect("the catalogue has the scheme");
    let options = Options { aqm: Some(aqm), seed: 1, ..Options::default() };
    let simulate = || run(scenario.clone(), options.clone()).expect("the scheme fits the scenario").result;
    let departed = simulate().links[0].1.departed;
    group.throughput(Throughput::Elements(departed));
    group.bench_function(name, |bencher| bencher.iter(simulate));
}

/// Few samples: a run is long, and lasts the same number of events each time.
fn few_samples() -> Criterion {
    Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_secs(1))
        .without_plots()
}

criterion_group! { name = benches; config = few_samples(); targets = schemes, sizes }
criterion_main!(benches);
