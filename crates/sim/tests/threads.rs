//! Runs on several threads: the bytes of one.

use aqmlab_core::Span;
use aqmlab_scenario::Scenario;
use aqmlab_scenario::parse;
use aqmlab_sim::{EngineStats, MemoryBound, Options, Output, RunError, RunResult, Simulation, Watch, run_divided};
use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The files of the built-in scenarios.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the scenarios are there").map(|entry| entry.unwrap().path());
    let mut files: Vec<_> = entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

/// A built-in scenario, cut to a few seconds; `None` if it is another one by another name, or of a thousand hosts or lines.
fn built_in(path: &Path) -> Option<Arc<Scenario>> {
    let text = fs::read_to_string(path).unwrap();
    if ["same_as = ", "[lines]", "[fabric]"].iter().any(|key| text.contains(key)) {
        return None;
    }
    let mut scenario = parse(&text, "built in", &[]).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
    scenario.duration = scenario.duration.min(Span::from_millis(3000));
    scenario.warmup = scenario.warmup.min(Span::from_millis(1000));
    Some(Arc::new(scenario))
}

/// One event after the other.
fn undivided(scenario: &Arc<Scenario>, options: Options) -> Output {
    Simulation::new(scenario.clone(), options).unwrap().finish().unwrap()
}

fn json(output: Output) -> String {
    RunResult { engine: EngineStats { wall: 0.0, ..output.result.engine }, ..output.result }.json()
}

/// Compares runs of every `step`th built-in scenario on several threads with those on one.
fn compare_built_in(step: usize, counts: &[usize]) {
    let (mut divided, mut all) = (0, 0);
    let files = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/aqmlab/scenarios"));
    for (path, scenario) in files.iter().filter_map(|path| Some((path, built_in(path)?))).step_by(step) {
        let one = json(undivided(&scenario, Options::default()));
        for &threads in counts {
            all += 1;
            if let Some(several) = run_divided(scenario.clone(), Options { threads, ..Options::default() }).unwrap() {
                divided += 1;
                assert_eq!(json(several), one, "{} on {threads} threads", path.display());
            }
        }
    }
    assert!(divided > all / 2, "only {divided} of {all} runs were divided");
}

#[test]
fn a_third_of_the_built_in_scenarios_gives_the_same_bytes_on_3_threads() {
    compare_built_in(3, &[3]);
}

#[test]
#[ignore = "takes a minute: make nightly"]
fn built_in_scenarios_give_the_same_bytes_on_2_3_and_16_threads() {
    compare_built_in(1, &[2, 3, 16]);
}

/// Long queues of equal flows that start together, whose packets come at equal instants.
#[test]
fn events_of_one_instant_keep_their_order() {
    let text = "schema = 1\nduration = \"4 s\"\n\
                [[links]]\nname = \"one\"\nrate = \"16 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"40 packets\"\n\
                [[links]]\nname = \"two\"\nrate = \"8 Mbit/s\"\ndelay = \"2 ms\"\nbuffer = \"20 packets\"\naqm = \"red\"\n\
                [[flows]]\nname = \"a\"\ncount = 8\npath = [\"one\", \"two\"]\nrtt = \"40 ms\"\npacket = \"1000 B\"\ntcp = \"rfc\"\n\
                [[flows]]\nname = \"b\"\ncount = 8\npath = [\"one\", \"two\"]\nrtt = \"80 ms\"\npacket = \"500 B\"\n\
                ack_path = [\"two\", \"one\"]\ntcp = { profile = \"rfc\", delayed_ack = true }\n\
                [[flows]]\nname = \"c\"\ncount = 4\npath = [\"two\"]\nkind = \"udp-cbr\"\nrate = \"80 kbit/s\"\nrtt = \"40 ms\"\n";
    let scenario = Arc::new(parse(text, "equal", &[]).unwrap());
    let one = json(undivided(&scenario, Options::default()));
    for threads in [2, 3, 16] {
        let several = run_divided(scenario.clone(), Options { threads, ..Options::default() }).unwrap();
        assert_eq!(several.map(json).as_ref(), Some(&one), "{threads} threads");
    }
}

/// Senders act on ACKs ahead of time, but for what comes before: timers, the end of the warm-up, the end of a flow, ACKs that
/// overtake others. Access links and round trips of many lengths put packets far ahead.
#[test]
fn senders_that_are_ahead_change_nothing() {
    let text = "schema = 1\nduration = \"6 s\"\nwarmup = \"1.5 s\"\n\
                [[links]]\nname = \"one\"\nrate = \"8 Mbit/s\"\nbuffer = \"30 packets\"\naqm = \"pie\"\nloss = \"2%\"\n\
                [[links]]\nname = \"back\"\nrate = \"2 Mbit/s\"\nbuffer = \"30 packets\"\naqm = \"codel\"\n\
                jitter = { exponential = \"9 ms\" }\nreorder = \"20%\"\n\
                [[flows]]\nname = \"stops\"\ncount = 9\npath = [\"one\"]\nrtt = { uniform = [\"4 ms\", \"900 ms\"] }\n\
                start = { uniform = [\"0 s\", \"1 s\"] }\nstop = { uniform = [\"1 s\", \"5 s\"] }\ntcp = \"rfc\"\n\
                [[flows]]\nname = \"slow\"\ncount = 5\npath = [\"one\"]\nrtt = \"30 ms\"\naccess_rate = \"64 kbit/s\"\ntcp = \"rfc\"\n\
                [[flows]]\nname = \"overtakes\"\ncount = 9\npath = [\"one\"]\nack_path = [\"back\"]\nrtt = \"50 ms\"\n\
                start = { uniform = [\"0 s\", \"1 s\"] }\ntcp = { profile = \"rfc\", delayed_ack = true, min_rto = \"200 ms\" }\n";
    let scenario = Arc::new(parse(text, "ahead", &[]).unwrap());
    for seed in 0..12 {
        let options = Options { seed, ..Options::default() };
        let one = json(undivided(&scenario, options.clone()));
        for threads in [2, 3, 16] {
            let several = run_divided(scenario.clone(), Options { threads, ..options.clone() }).unwrap();
            assert_eq!(several.map(json).as_ref(), Some(&one), "seed {seed}, {threads} threads");
        }
    }
}

#[test]
fn what_cannot_be_divided_is_not() {
    let text = |more: &str| {
        format!(
            "schema = 1\nduration = \"1 s\"\n[[links]]\nname = \"one\"\nrate = \"9 Mbit/s\"\nbuffer = \"9 packets\"\n\
             [[flows]]\nname = \"a\"\ncount = 9\nrtt = \"9 ms\"\n{more}"
        )
    };
    let divided = |more: &str| {
        let scenario = parse(&text(more), "small", &[]).unwrap();
        run_divided(scenario, Options { threads: 2, ..Options::default() }).unwrap().is_some()
    };
    assert!(divided(""));
    assert!(!divided(
        "tcp = \"rfc\"\n[[flows]]\nname = \"web\"\nkind = \"short\"\narrivals = \"9 Hz\"\nsize = \"9 packets\"\nrtt = \"9 ms\"\n",
    ));
    assert!(!divided(
        "tcp = \"rfc\"\n[[changes]]\nat = \"0.5 s\"\npath = \"links.one.buffer\"\nvalue = \"5 packets\"\n"
    ));
}

/// Two towns below an exchange whose link all lines share: clients, calls, files both ways, and drops.
const TREE: &str = r#"
schema = 1
duration = "2 s"
warmup = "500 ms"

[[sites]]
name = "exchange"
down = "150 Mbit/s"
up = "60 Mbit/s"
delay = "2 ms"
buffer = "20 ms"

[[sites]]
name = "town"
count = 2
parent = "exchange"
down = "80 Mbit/s"
delay = "1 ms"
buffer = "20 ms"

[[plans]]
name = "slow"
down = "10 Mbit/s"
up = "2 Mbit/s"
delay = "1 ms"
rtt = { uniform = ["12 ms", "40 ms"] }
buffer = "60 packets"
aqm = "cake"

[[plans]]
name = "fast"
down = "30 Mbit/s"
up = "10 Mbit/s"
delay = "1 ms"
rtt = "20 ms"
buffer = "60 packets"
aqm = "fq-codel"

[lines]
count = 24
parent = "town"

[[flows]]
name = "web"
kind = "http"
lines = true
count = 2
think_time = { exponential = "300 ms" }
objects = { exponential = 6 }
object_gap = { exponential = "20 ms" }
size = { exponential = "20 packets" }
tcp = "linux"

[[flows]]
name = "film"
kind = "video"
lines = "fast"
bitrates = ["1 Mbit/s", "6 Mbit/s"]
tcp = "linux"

[[flows]]
name = "file"
lines = "slow"
tcp = { profile = "rfc" }

[[flows]]
name = "upload"
lines = "fast"
direction = "up"
start = { uniform = ["0 s", "1 s"] }
tcp = "linux"

[[flows]]
name = "call"
kind = "udp-onoff"
lines = true
rate_on = "80 kbit/s"
packet = "172 B"
on = { exponential = "1 s" }
off = { exponential = "1 s" }
"#;

#[test]
fn regions_of_a_tree_give_the_same_bytes_on_any_number_of_threads() {
    let apart = TREE.replacen("[[sites]]\nname = \"exchange\"", "[[sites]]\nname = \"town\"\ncount = 2", 1);
    let second = apart.rfind("[[sites]]").unwrap();
    let apart = apart[..second].to_string() + &apart[apart.find("[[plans]]").unwrap()..];
    for (text, parts) in [(TREE.to_string(), "an exchange"), (apart, "two towns apart")] {
        let scenario = Arc::new(parse(&text, "tree", &[]).unwrap());
        let mut stepped = Simulation::new(scenario.clone(), Options::default()).unwrap();
        (1..=3).for_each(|i| stepped.step_until(aqmlab_core::Time::ZERO + Span::from_millis(500 * i)).unwrap());
        let one = json(stepped.finish().unwrap());
        for threads in [1, 2, 3, 16] {
            let options = Options { threads, ..Options::default() };
            let several = run_divided(scenario.clone(), options).unwrap().expect("a tree is divided");
            assert_eq!(json(several), one, "{parts} on {threads} threads");
        }
    }
}

#[test]
fn results_of_a_tree_are_by_list_and_by_line_if_asked_for() {
    let read = |text: &str| Arc::new(parse(text, "tree", &[]).unwrap());
    let output = |text: &str| run_divided(read(text), Options::default()).unwrap().unwrap().result;
    let result = output(&TREE.replacen("name = \"slow\"", "name = \"slow\"\neach = true", 1));
    let names: Vec<&str> = result.links.iter().map(|(name, _)| name.as_str()).collect();
    let short = ["slow-down", "slow-up", "fast-down", "fast-up", "exchange-down", "exchange-up", "town-down"];
    assert_eq!(names.iter().filter(|name| !name.starts_with("line-")).copied().collect::<Vec<_>>(), short);
    let of = |name: &str| &result.links.iter().find(|(known, _)| known == name).unwrap().1;
    let lines = || result.links.iter().filter(|(name, _)| name.starts_with("line-") && name.ends_with("-down"));
    assert_eq!(lines().count(), 12, "every second line is slow");
    let sum = |value: &dyn Fn(&aqmlab_sim::LinkResult) -> u64| lines().map(|(_, link)| value(link)).sum::<u64>();
    let all = of("slow-down");
    assert_eq!((sum(&|link| link.arrived), sum(&|link| link.dropped)), (all.arrived, all.dropped));
    let used: f64 = lines().map(|(_, link)| link.utilisation).sum::<f64>() / 12.0;
    assert!((used - all.utilisation).abs() < 1e-12 && used > 0.4, "{used}");
    let most = lines().map(|(_, link)| link.utilisation).fold(0.0, f64::max);
    let spread = |name: &str| result.spreads.iter().find(|(known, _)| known == name).unwrap().1;
    assert_eq!(spread("slow-down").utilisation.unwrap().max, most);
    assert_eq!((spread("town-1").count, spread("fast-up").count), (12, 12));
    let few = output(TREE);
    assert_eq!(few.links.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), short);
    assert_eq!(few.links.iter().find(|(name, _)| name == "slow-down").unwrap().1.arrived, all.arrived);
}

thread_local! {
    static IS_ASKING: Cell<bool> = const { Cell::new(false) };
}

/// The thread that asks holds nothing; each other thread does.
#[test]
fn what_other_threads_of_a_run_hold_counts() {
    IS_ASKING.set(true);
    let own = || if IS_ASKING.get() { 0 } else { 10 };
    let watch = Some(Arc::new(Watch::bounded(MemoryBound { held: || 100, own, most: 99, share: 10 })));
    let text =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/aqmlab/scenarios/link/bulk.toml"));
    let long = text.unwrap().replace("duration = \"72 s\"", "duration = \"100000 s\"");
    let scenario = parse(&long, "long", &[]).unwrap();
    let outcome = run_divided(scenario.clone(), Options { threads: 2, watch, ..Options::default() });
    assert!(matches!(outcome, Err(RunError::Memory { held: 100, .. })));
}
