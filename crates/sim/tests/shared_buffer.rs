//! Links that share a buffer under dynamic thresholds.

use aqmlab_scenario::parse;
use aqmlab_sim::{EngineStats, Options, RunResult, run, run_divided};

/// Two ports of a switch with 300 kB, each offered twice what it sends; a third has little to do.
fn switch(alpha: f64, aqm: &str) -> String {
    let port = |name: &str| {
        format!(
            "[[links]]\nname = \"{name}\"\nrate = \"8 Mbit/s\"\nbuffer = {{ shared = \"switch\" }}\naqm = \"{aqm}\"\n"
        )
    };
    let flow = |name: &str, rate: u32, packet: u32| {
        format!(
            "[[flows]]\nname = \"{name}\"\npath = [\"{name}\"]\nkind = \"udp-cbr\"\nrate = \"{rate} Mbit/s\"\n\
             packet = \"{packet} B\"\nheader = \"0 B\"\nrtt = \"2 ms\"\n"
        )
    };
    format!(
        "schema = 1\nduration = \"4 s\"\nwarmup = \"2 s\"\n[[buffers]]\nname = \"switch\"\nsize = \"300 kB\"\nalpha = {alpha}\n\
         {}{}{}{}{}{}",
        port("one"),
        port("two"),
        port("three"),
        flow("one", 16, 1000),
        flow("two", 24, 500),
        flow("three", 1, 1000)
    )
}

fn result(text: &str) -> RunResult {
    run(parse(text, "switch", &[]).unwrap(), Options::default()).unwrap().result
}

#[test]
fn full_queues_share_the_buffer_as_their_thresholds_say() {
    // Two full queues hold alpha * 300 / (1 + 2 alpha) kB each; beside a third that is empty. Packets of 1000 and 500 B.
    for (alpha, kilobytes) in [(1.0, 100.0), (2.0, 120.0), (0.5, 75.0)] {
        let result = result(&switch(alpha, "droptail"));
        for ((name, link), size) in result.links.iter().zip([1.0, 0.5]) {
            let held = link.queue_mean * size;
            assert!((held - kilobytes).abs() < 2.0, "alpha {alpha}, {name}: {held} kB, not {kilobytes}");
        }
        let (_, idle) = &result.links[2];
        assert!(idle.queue_mean < 1.0 && idle.dropped == 0, "the buffer keeps room for who needs it");
    }
}

#[test]
fn accounts_balance_under_any_scheme_and_any_number_of_threads() {
    for aqm in ["droptail", "codel", "fq-codel", "cake", "red", "dualpi2"] {
        let text = switch(1.0, aqm)
            + "[[flows]]\nname = \"file\"\ncount = 9\npath = [\"one\", \"three\"]\nrtt = \"9 ms\"\ntcp = \"linux\"\n";
        let json =
            |result: RunResult| RunResult { engine: EngineStats { wall: 0.0, ..result.engine }, ..result }.json();
        let one = json(result(&text)); // in debug builds each queue's accounts are asserted
        for threads in [2, 3] {
            let scenario = parse(&text, "switch", &[]).unwrap();
            let several = run_divided(scenario, Options { threads, ..Options::default() }).unwrap();
            assert_eq!(several.map(|output| json(output.result)).as_ref(), Some(&one), "{aqm}, {threads} threads");
        }
    }
}
