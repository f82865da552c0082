//! Texts that the scenario language refuses, and its messages.

mod accepted;
mod any_text;
mod form;

use aqmlab_scenario::Scenario;
use aqmlab_scenario::{Loss, parse};

const VALID: &str = r#"schema = 1
title = "a valid scenario"
duration = "10 s"
warmup = "1 s"
sample = "10 ms"

[[links]]
name = "bottleneck"
rate = "8 Mbit/s"
delay = "1 ms"
buffer = "100 packets"
target = "30 packets"
aqm = "droptail"

[[links]]
name = "uplink"
rate = "20 Mbit/s"
buffer = "50 kB"
fixed = true

[[flows]]
name = "ftp"
kind = "ftp"
count = 3
path = ["bottleneck", "uplink"]
rtt = "20 ms"
start = "0 s"
stop = "8 s"
packet = "1000 B"
access_rate = "100 Mbit/s"
ecn = false
tcp = { variant = "reno", profile = "ns2", window = "64 packets" }

[[flows]]
name = "late"
rtt = { lognormal = { median = "50 ms", sigma = 0.4 } }
groups = [{ count = 2, start = "1 s" }, { count = 3, start = { uniform = ["2 s", "3 s"] }, stop = "9 s" }]
tcp = "newreno"

[schemes.pi]
a = 2e-5
"#;

/// The problems of a text, line by line.
fn problems(text: &str, overrides: &[(&str, &str)]) -> String {
    let overrides: Vec<_> = overrides.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    parse(text, "test", &overrides).map_or_else(|problems| problems.to_string(), |_| "nothing".into())
}

fn valid_with(overrides: &[(&str, &str)]) -> Scenario {
    let overrides: Vec<_> = overrides.iter().map(|(path, value)| (path.to_string(), value.to_string())).collect();
    parse(VALID, "test", &overrides).unwrap_or_else(|problems| panic!("{overrides:?}: {problems}"))
}

/// Every kind of traffic, ACKs that queue, links whose rate changes.
const TRAFFIC: &str = r#"schema = 1
duration = "10 s"

[[links]]
name = "down"
rate = [["0 s", "8 Mbit/s"], ["4 s", "2 Mbit/s"]]
delay = "1 ms"
buffer = "100 packets"

[[links]]
name = "up"
rate = { values = ["3 Mbit/s", "1 Mbit/s"], hold = { exponential = "2 s" } }
delay = "2 ms"
buffer = "100 packets"
ecn = false

[[flows]]
name = "ecn"
path = ["down"]
ack_path = ["up"]
rtt = "20 ms"
ecn = true
rtt_notification = true

[[flows]]
name = "cbr"
kind = "udp-cbr"
path = ["up"]
rtt = "30 ms"
rate = "64 kbit/s"
packet = "500 B"
header = "0 B"

[[flows]]
name = "onoff"
kind = "udp-onoff"
rtt = "40 ms"
rate_on = "32 kbit/s"
on = { exponential = "500 ms" }
off = { exponential = "600 ms" }

[[flows]]
name = "web"
kind = "http"
rtt = "50 ms"
pages = 25
think_time = { exponential = "1 s" }
think_after = "page"
objects = { uniform = [1, 7] }
object_gap = { exponential = "10 ms" }
size = { pareto = { mean = "12 packets", shape = 1.2 } }

[[flows]]
name = "short"
kind = "short"
count = 10
rtt = "60 ms"
arrivals = "50 Hz"
size = { exponential = "20 packets" }

[schemes.red]
ecn = false
mark_p = 0.5
"#;

/// Each row: a line of the valid scenario, what stands there instead, and a part of a line of the answer.
fn each_is_refused(rows: &[(&str, &str, &str)]) {
    each_is_refused_in(VALID, rows);
}

fn each_is_refused_in(valid: &str, rows: &[(&str, &str, &str)]) {
    for (line, instead, expected) in rows {
        assert_eq!(valid.matches(line).count(), 1, "{line} stands once in the valid scenario");
        let found = problems(&valid.replace(line, instead), &[]);
        assert!(found.contains(expected), "{line} -> {instead}\n  gives:    {found}\n  expected: {expected}");
    }
}

#[test]
fn a_wrong_flow_is_no_fault_of_the_buffer() {
    let text = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"2 bdp\"\n[[flows]]\nname = \"a\"\n\
                rtt = \"90 ms\"\ntcp = \"cubik\"\n";
    let found = problems(text, &[]);
    assert!(
        found.starts_with("test:9:7: flows.a.tcp: unknown choice \"cubik\"") && !found.contains("buffer"),
        "{found}"
    );
    let found = problems(&text.replace("90 ms", "0 s").replace("cubik", "cubic"), &[]);
    assert!(found.starts_with("test:5:10: links.bottleneck.buffer: \"2 bdp\" is out of range"), "{found}");
}

#[test]
fn the_valid_scenarios_are_valid() {
    assert_eq!(problems(VALID, &[]), "nothing");
    assert_eq!(problems(TRAFFIC, &[]), "nothing");
}

#[test]
fn traffic_is_read_strictly() {
    each_is_refused_in(
        TRAFFIC,
        &[
            ("rate = \"64 kbit/s\"\n", "", "flows.cbr.rate: missing; write e.g. rate = \"64 kbit/s\""),
            ("rate = \"64 kbit/s\"\n", "rate = \"0 bit/s\"\n", "flows.cbr.rate: \"0 bit/s\" is out of range"),
            ("header = \"0 B\"", "header = \"2 kB\"", "flows.cbr.header: \"2 kB\" is out of range"),
            ("header = \"0 B\"", "tcp = \"reno\"", "flows.cbr.tcp: unknown key \"tcp\";"),
            ("header = \"0 B\"", "rtt_notification = true", "flows.cbr.rtt_notification: unknown key"),
            ("header = \"0 B\"", "ecn = 2", "flows.cbr.ecn: \"2\" is not true, false, \"ect0\" or \"ect1\""),
            ("header = \"0 B\"", "class = 8", "flows.cbr.class: "),
            ("header = \"0 B\"", "dscp = 64", "flows.cbr.dscp: \"64\" is out of range: must lie in 0 ..= 63"),
            ("header = \"0 B\"", "dscp = \"nqb\"", "flows.cbr.dscp: \"nqb\" is not a whole number"),
            ("header = \"0 B\"", "class = 5\ndscp = 45", "flows.cbr.class: is the upper part of dscp"),
            ("\"udp-cbr\"", "\"udp-cbt\"", "flows.cbr.kind: unknown kind \"udp-cbt\"; did you mean \"udp-cbr\"?"),
            ("on = { exponential = \"500 ms\" }\n", "", "flows.onoff.on: missing; write e.g. on = { exponential"),
            ("{ exponential = \"600 ms\" }", "\"-1 s\"", "flows.onoff.off: \"-1 s\" is negative"),
            ("pages = 25", "pages = 0", "flows.web.pages: \"0\" is out of range: must be 1 or more"),
            ("pages = 25", "pages = \"25 s\"", "flows.web.pages: \"25 s\" is not a plain number"),
            ("pages = 25", "pages = -25", "flows.web.pages: \"-25\" is negative"),
            ("pages = 25", "page = 25", "flows.web.page: unknown key \"page\"; did you mean \"pages\"?"),
            ("think_time = { exponential = \"1 s\" }\n", "", "flows.web.think_time: missing; write e.g. think_time ="),
            ("\"page\"\n", "\"pege\"\n", "flows.web.think_after: unknown choice \"pege\"; did you mean \"page\"?"),
            ("[1, 7]", "[7, 1]", "flows.web.objects: uniform takes two numbers, the smaller first"),
            ("[1, 7]", "[1.2, 1.8]", "flows.web.objects: there is no whole number between \"1.2\" and \"1.8\""),
            ("shape = 1.2", "shape = 1", "flows.web.size: shape \"1\" is out of range: must lie in 1.01 ..= 100"),
            (
                "shape = 1.2",
                "shpe = 1.2",
                "flows.web.size: pareto takes { mean = a number of packets, shape = a number }",
            ),
            ("mean = \"12 packets\"", "mean = \"12 kB\"", "flows.web.size: \"12 kB\" is not a number of packets"),
            ("mean = \"12 packets\"", "mean = \"0 packets\"", "flows.web.size: \"Pareto, mean 0 packets"),
            ("pages = 25", "request_round_trips = -1", "flows.web.request_round_trips: \"-1\" is out of range"),
            ("arrivals = \"50 Hz\"\n", "", "flows.short.arrivals: missing; write e.g. arrivals = \"50 Hz\""),
            ("\"50 Hz\"", "\"0 Hz\"", "flows.short.arrivals: \"0 Hz\" is out of range"),
            ("size = { exponential = \"20 packets\" }\n", "", "flows.short.size: missing; write e.g. size = "),
        ],
    );
}

#[test]
fn paths_and_rates_are_read_strictly() {
    let up = "{ values = [\"3 Mbit/s\", \"1 Mbit/s\"], hold = { exponential = \"2 s\" } }";
    each_is_refused_in(
        TRAFFIC,
        &[
            ("ack_path = [\"up\"]", "ack_path = [\"upp\"]", "flows.ecn.ack_path: unknown link \"upp\"; did you mean"),
            ("ack_path = [\"up\"]", "ack_path = [\"up\", \"up\"]", "flows.ecn.ack_path: crosses \"up\" twice"),
            ("ack_path = [\"up\"]", "ack_path = []", "flows.ecn.ack_path: expected a list of links"),
            ("\"20 ms\"", "\"2.9 ms\"", "\"2.9 ms\" is shorter than the path's own delay, there and back: 3 ms"),
            ("[\"4 s\", ", "[\"0 s\", ", "links.down.rate: the schedule is out of order: \"0 s\" follows \"0 s\""),
            ("[\"0 s\", ", "[\"1 s\", ", "links.down.rate: the schedule begins at 1 s; the first step must be at 0 s"),
            ("\"2 Mbit/s\"]", "\"2 Mbit\"]", "links.down.rate: \"2 Mbit\" is not a rate"),
            ("\"2 Mbit/s\"]", "\"0 bit/s\"]", "links.down.rate: \"0 bit/s\" is out of range: must lie in 1 bit/s"),
            ("[\"4 s\", \"2 Mbit/s\"]", "[\"4 s\"]", "links.down.rate: expected a rate, a schedule [["),
            (
                "[[\"0 s\", \"8 Mbit/s\"], [\"4 s\", \"2 Mbit/s\"]]",
                "[]",
                "links.down.rate: expected a rate, a schedule",
            ),
            ("[\"3 Mbit/s\", \"1 Mbit/s\"]", "[\"3 Mbit/s\"]", "links.up.rate: values: a rate that wanders needs two"),
            ("{ exponential = \"2 s\" }", "\"0 s\"", "links.up.rate: hold: \"0 s\" is too short"),
            ("{ exponential = \"2 s\" }", "\"2\"", "links.up.rate: hold: \"2\" has no unit"),
            (
                up,
                "\"1 Mbit/s\"\noverhead = \"300 B\"",
                "links.up.overhead: \"300 B\" is out of range: must lie in -64 B",
            ),
            (up, "\"1 Mbit/s\"\nmpu = \"1.5 B\"", "links.up.mpu: \"1.5 B\" must be whole bytes"),
            (up, "\"1 Mbit/s\"\nframing = \"atmm\"", "links.up.framing: "),
            (up, "{ trace = \"cell\" }", "links.up.rate: trace: \"cell\" is not in [traces]"),
            (up, "{ trace = 3 }", "links.up.rate: expected a rate, a schedule"),
            (up, "{ trace = \"cell\", hold = \"2 s\" }", "links.up.rate: expected a rate, a schedule"),
            ("[schemes.red]", "[traces]\ncell = \"1\\nx\"\n[schemes.red]", "traces.cell: line 2: \"x\" is not a time"),
            ("[schemes.red]", "[traces]\ncell = \"20000000\"\n[schemes.red]", "traces.cell: its mean of"),
            ("ecn = false\n\n[[flows", "ecn = 1\n\n[[flows", "links.up.ecn: \"1\" is not true or false"),
            ("[schemes.red]\necn = false", "[schemes.red]\necn = 2", "red.ecn: \"2\" is not true or false"),
        ],
    );
}

#[test]
fn changes_that_wait_for_a_phase_are_read_strictly() {
    let when = |when: &str| {
        let change = format!("when = {when}\npath = \"links.uplink.rate\"\nvalue = \"9 Mbit/s\"\n");
        format!("[[changes]]\n{change}\n[schemes.pi]")
    };
    let of_pi = "[schemes.pi]";
    each_is_refused(&[
        (
            of_pi,
            &when("\"drain\""),
            "changes.0.when: expected a table, found text; write e.g. when = { flow = \"bulk\"",
        ),
        (of_pi, &when("{ flow = \"ftp\" }"), "changes.0.when.enters: missing; write e.g. enters = \"slow_start\""),
        (of_pi, &when("{ flow = \"fpt\", enters = \"drain\" }"), "changes.0.when.flow: unknown group of flows \"fpt\""),
        (
            of_pi,
            &when("{ flow = \"ftp\", enters = \"drain\" }"),
            "changes.0.when.enters: unknown phase \"drain\"; known: slow_start, congestion_avoidance, fast_recovery, rto_recovery",
        ),
        (
            of_pi,
            &when("{ flow = \"ftp\", enters = \"slow_start\" }\nat = \"3 s\""),
            "changes.0.at: cannot be combined with when",
        ),
        (
            of_pi,
            &when("{ flow = \"ftp\", enters = \"slow_start\", after = \"x\" }"),
            "changes.0.when.after: \"x\" is not a",
        ),
        (
            of_pi,
            &when("{ flow = \"ftp\", enters = \"slow_start\" }").replace("uplink", "upling"),
            "changes.0.links.upling.rate: unknown link \"upling\"",
        ),
        (
            "kind = \"ftp\"",
            "phases = true\nkind = \"udp-cbr\"\nrate = \"1 Mbit/s\"",
            "flows.ftp.phases: \"true\" needs senders that last; expected kind = \"ftp\" or \"app-limited\"",
        ),
    ]);
    let text = VALID.replace(of_pi, &when("{ flow = \"ftp\", enters = \"fast_recovery\", after = \"2 s\" }"));
    let scenario = parse(&text, "test", &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let awaited = &scenario.awaited[0];
    assert_eq!((awaited.group, awaited.phase, awaited.after), (0, "fast_recovery", aqmlab_core::Span::from_secs(2)));
    assert_eq!(parse(&scenario.to_toml(&[], &scenario.awaited), "test", &[]).unwrap().awaited, scenario.awaited);
}

#[test]
fn impairments_are_read_strictly() {
    let policer =
        |rate, burst, action| format!("policer = {{ rate = \"{rate}\", burst = \"{burst}\", action = \"{action}\" }}");
    const TARGET: &str = "target = \"30 packets\"";
    each_is_refused(&[
        (TARGET, "loss = \"101%\"", "links.bottleneck.loss: \"101%\" is not a ratio: must lie in 0 ..= 1"),
        (TARGET, "loss = \"-1%\"", "links.bottleneck.loss: \"-1%\" is not a ratio"),
        (TARGET, "loss = \"1 ms\"", "links.bottleneck.loss: \"1 ms\" is not a ratio: units are"),
        (TARGET, "loss = [\"1%\"]", "links.bottleneck.loss: expected a probability such as \"0.1%\", found a list"),
        (TARGET, "loss = { p = \"1%\" }", "links.bottleneck.loss: r: missing; write e.g. { p = \"1%\", r = \"30%\" }"),
        (TARGET, "loss = { p = 0.1, r = 2 }", "links.bottleneck.loss: r: \"2\" is not a ratio"),
        (TARGET, "loss = { p = 0, r = 1, bda = 1 }", "loss: unknown key \"bda\"; did you mean \"bad\"?"),
        (
            TARGET,
            "policer = \"1 Mbit/s\"",
            "links.bottleneck.policer: expected a table, found text; write e.g. policer = {",
        ),
        (
            TARGET,
            "policer = { rate = \"1 Mbit/s\" }",
            "links.bottleneck.policer.burst: missing; write e.g. burst = \"100 kB\"",
        ),
        (TARGET, &policer("0 bit/s", "9 kB", "drop"), "policer.rate: \"0 bit/s\" is out of range: must lie in 1 bit/s"),
        (
            TARGET,
            &policer("1 Mbit/s", "1039 B", "drop"),
            "policer.burst: \"1039 B\" holds no packet of 1040 B; expected",
        ),
        (TARGET, &policer("1 Mbit/s", "9 kB", "mark"), "policer.action: unknown choice \"mark\"; known: drop, ce"),
        (TARGET, "policer = { rat = 1 }", "links.bottleneck.policer.rat: unknown key \"rat\"; did you mean \"rate\"?"),
        (TARGET, "aggregation = \"5 ms\"", "links.bottleneck.aggregation: expected a table, found text; write e.g. "),
        (TARGET, "aggregation = {}", "links.bottleneck.aggregation.every: missing; write e.g. every = \"10 ms\""),
        (TARGET, "aggregation = { every = \"0 s\" }", "aggregation.every: \"0 s\" is out of range: must lie in 1 us"),
        (TARGET, "aggregation = { packets = 1, hold = \"1 ms\" }", "aggregation.packets: \"1\" is out of range"),
        (TARGET, "aggregation = { packets = 9 }", "aggregation.hold: missing; write e.g. hold = \"10 ms\""),
        (
            TARGET,
            "aggregation = { packets = 9, every = \"1 ms\", hold = \"1 ms\" }",
            "links.bottleneck.aggregation.every: unknown key \"every\"; known: hold, packets",
        ),
        (
            TARGET,
            "aggregation = { packets = 9, hold = \"1 ms\" }\njitter = \"1 ms\"",
            "links.bottleneck.aggregation: of so many packets does not go with jitter; expected { every = TIME }",
        ),
        (TARGET, "los = \"1%\"", "links.bottleneck.los: unknown key \"los\"; did you mean \"loss\"?"),
        (TARGET, "jitter = \"1\"", "links.bottleneck.jitter: \"1\" has no unit"),
        (TARGET, "jitter = \"-1 ms\"", "links.bottleneck.jitter: \"-1 ms\" is negative"),
        (TARGET, "jitter = { exponential = \"11 s\" }", "jitter: \"11 s\" is out of range: must lie in 0 s ..= 10 s"),
        (TARGET, "jitter = { expo = \"1 ms\" }", "jitter: unknown distribution \"expo\""),
        (TARGET, "reorder = \"1%\"", "links.bottleneck.reorder: needs jitter"),
        (TARGET, "jitter = \"1 ms\"\nreorder = 1.5", "links.bottleneck.reorder: \"1.5\" is not a ratio"),
        (TARGET, "ecn_mangling = \"bleech\"", "ecn_mangling: unknown choice \"bleech\"; did you mean \"bleach\"?"),
        (TARGET, "ecn_mangling = true", "links.bottleneck.ecn_mangling: expected text, found true or false"),
    ]);
    assert_eq!(valid_with(&[]).links[0].impairments.keys(), [""; 0]);
    let policer = valid_with(&[("links.bottleneck.policer", "{ rate = \"5 Mbit/s\", burst = \"1040 B\" }")]);
    assert_eq!(policer.links[0].impairments.policer.unwrap().text(), "5 Mbit/s, burst 1040 B, drop");
    assert_eq!(policer.links[0].impairments.keys(), ["policer"]);
    let aggregation = |text| valid_with(&[("links.bottleneck.aggregation", text)]).links[0].impairments.aggregation;
    assert_eq!(aggregation("{ every = \"9 ms\" }").unwrap().text(), "every 9 ms");
    let packets = aggregation("{ packets = 8, hold = \"9 ms\" }").unwrap();
    assert_eq!(packets.text(), "8 packets, held for 9 ms at most");
    let loss = |text| valid_with(&[("links.bottleneck.loss", text)]).links[0].impairments.loss.unwrap();
    assert_eq!(loss("0.1%").text(), "0.001");
    let Loss { p, r, bad, good } = loss("{ p = \"1%\", r = 0.3, good = 0.02 }");
    assert_eq!([p, r, bad, good], [0.01, 0.3, 1.0, 0.02]);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_choice() {
    each_is_refused(&[
        ("duration = \"10 s\"", "duraton = \"10 s\"", "duraton: unknown key \"duraton\"; did you mean \"duration\"?"),
        ("target = ", "tagret = ", "links.bottleneck.tagret: unknown key \"tagret\"; did you mean \"target\"?"),
        ("count = 3\n", "cuont = 3\n", "flows.ftp.cuont: unknown key \"cuont\"; did you mean \"count\"?"),
        ("{ count = 2,", "{ count = 2, begin = 1,", "flows.late.groups.0.begin: unknown key \"begin\";"),
        ("window = ", "windwo = ", "flows.ftp.tcp.windwo: unknown key \"windwo\"; did you mean \"window\"?"),
        ("\"reno\"", "\"remo\"", "flows.ftp.tcp.variant: unknown choice \"remo\"; did you mean \"reno\"?"),
        ("\"ns2\"", "\"linx\"", "flows.ftp.tcp.profile: unknown choice \"linx\"; did you mean \"linux\"?"),
        ("tcp = \"newreno\"", "tcp = \"illinois\"", "flows.late.tcp: unknown choice \"illinois\"; expected one of"),
        (
            "\"droptail\"",
            "\"drop_tial\"",
            "links.bottleneck.aqm: unknown scheme \"drop_tial\"; did you mean \"droptail\"?",
        ),
        ("\"droptail\"", "\"pi:aa=1\"", "pi.aa: unknown parameter \"aa\"; did you mean \"a\"?"),
        ("\"droptail\"", "\"pi:a\"", "links.bottleneck.aqm: \"a\" is not a parameter; write pi:name=value,..."),
        ("[schemes.pi]", "[schemes.pio]", "schemes.pio: unknown scheme \"pio\"; did you mean \"pi\"?"),
        ("a = 2e-5", "c = 2e-5", "schemes.pi.c: unknown parameter \"c\"; known: a, b, w"),
        ("kind = \"ftp\"", "kind = \"htpp\"", "flows.ftp.kind: unknown kind \"htpp\"; did you mean \"http\"?"),
        ("\"uplink\"]", "\"uplnik\"]", "flows.ftp.path: unknown link \"uplnik\"; did you mean \"uplink\"?"),
        (
            "uniform = ",
            "unifrom = ",
            "flows.late.groups.1.start: unknown distribution \"unifrom\"; did you mean \"uniform\"?",
        ),
    ]);
}

#[test]
fn units_are_asked_for_and_held_against_the_dimension() {
    each_is_refused(&[
        ("\"10 s\"", "10", "duration: \"10\" has no unit; write e.g. \"80 ms\""),
        ("\"8 Mbit/s\"", "8e6", "links.bottleneck.rate: \"8000000\" has no unit; write e.g. \"45 Mbit/s\""),
        ("\"100 packets\"", "100", "links.bottleneck.buffer: \"100\" has no unit; write e.g. \"300 packets\""),
        ("packet = \"1000 B\"", "packet = 1000", "flows.ftp.packet: \"1000\" has no unit; write e.g. \"1000 B\""),
        ("\"8 Mbit/s\"", "\"8 Mbits\"", "links.bottleneck.rate: \"8 Mbits\" is not a rate: units are"),
        ("\"8 Mbit/s\"", "\"8 Mbits\"", "did you mean \"Mbit/s\"?"),
        ("\"20 ms\"", "\"20 msec\"", "flows.ftp.rtt: \"20 msec\" is not a time: units are"),
        ("\"10 s\"", "\"10 packets\"", "duration: \"10 packets\" is not a time"),
        ("\"30 packets\"", "\"30 Mbit/s\"", "links.bottleneck.target: \"30 Mbit/s\" is not a number of packets"),
        ("\"30 packets\"", "\"30 Mbit/s\"", ", or a delay such as \"10 ms\""),
        ("\"100 packets\"", "\"100 Hz\"", "links.bottleneck.buffer: \"100 Hz\" has an unknown unit"),
        (
            "\"100 packets\"",
            "\"2 BDP\"",
            "packets, bytes (B, kB, MB, KiB, MiB), a time (s, ms, us) or bdp; did you mean \"bdp\"?",
        ),
        (
            "\"100 packets\"",
            "\"2 GB\"",
            "links.bottleneck.buffer: \"2 GB\" has an unknown unit: expected packets, bytes",
        ),
        ("a = 2e-5", "a = \"2e-5 packets\"", "schemes.pi.a: \"2e-5 packets\" is not a plain number"),
    ]);
}

#[test]
fn values_out_of_range_are_refused() {
    each_is_refused(&[
        ("\"10 s\"", "\"0 s\"", "duration: \"0 s\" is out of range: must lie in 1 us ..= 1000000 s"),
        ("\"10 s\"", "\"-10 s\"", "duration: \"-10 s\" is negative; times are 0 s or more"),
        ("\"10 s\"", "\"2000000 s\"", "duration: \"2000000 s\" is out of range"),
        ("\"10 s\"", "\"1e300 s\"", "duration: \"1e300 s\" is too long"),
        ("\"10 s\"", "\"1e999 s\"", "duration: \"1e999 s\" is too large"),
        ("\"10 s\"", "nan", "duration: \"NaN\" is not a number"),
        ("\"10 s\"", "inf", "duration: \"inf\" is not a number"),
        ("\"1 s\"\nsample", "\"10 s\"\nsample", "warmup: \"10 s\" must be shorter than the duration"),
        ("\"10 ms\"\n", "\"0 s\"\n", "sample: \"0 s\" is out of range"),
        ("\"10 ms\"\n", "\"1 ns\"\n", "sample: \"1 ns\" is out of range"),
        ("\"8 Mbit/s\"", "\"0 Mbit/s\"", "links.bottleneck.rate: \"0 Mbit/s\" is out of range: must lie in 1 bit/s"),
        ("\"8 Mbit/s\"", "\"-8 Mbit/s\"", "links.bottleneck.rate: \"-8 Mbit/s\" is out of range"),
        ("\"8 Mbit/s\"", "\"1e9 Tbit/s\"", "links.bottleneck.rate: "),
        ("\"100 packets\"", "\"0 packets\"", "links.bottleneck.buffer: \"0 packets\" is out of range"),
        ("\"100 packets\"", "\"-1 packets\"", "links.bottleneck.buffer: \"-1 packets\" is out of range"),
        (
            "\"100 packets\"",
            "\"1.5 packets\"",
            "links.bottleneck.buffer: \"1.5 packets\" is out of range: must be a whole",
        ),
        ("\"100 packets\"", "\"1e8 packets\"", "links.bottleneck.buffer: \"1e8 packets\" is out of range"),
        ("\"100 packets\"", "\"0 bdp\"", "links.bottleneck.buffer: \"0 bdp\" is out of range"),
        ("\"100 packets\"", "\"two bdp\"", "links.bottleneck.buffer: \"two\" is not a number"),
        ("\"50 kB\"", "\"0 B\"", "links.uplink.buffer: \"0 B\" is out of range"),
        ("\"50 kB\"", "\"1e18 B\"", "links.uplink.buffer: \"1e18 B\" is out of range"),
        ("\"30 packets\"", "\"0 packets\"", "links.bottleneck.target: \"0 packets\" must be above 0"),
        ("\"30 packets\"", "\"101 packets\"", "\"101 packets\" must be above 0 and not above the buffer (100 packets)"),
        ("\"30 packets\"", "\"1 s\"", "links.bottleneck.target: \"1 s\" must be above 0 and not above the buffer"),
        ("count = 3\n", "count = 1000001\n", "flows.ftp.count: \"1000001\" is out of range: must lie in 0 ..= 1000000"),
        ("count = 3\n", "count = -3\n", "flows.ftp.count: \"-3\" is not a whole number"),
        ("count = 3\n", "count = 2.5\n", "flows.ftp.count: \"2.5\" is not a whole number"),
        ("count = 3\n", "count = 1000001\n", "flows.ftp.count: \"1000001\" is out of range"),
        ("count = 3\n", "count = 1000000\n", "flows: more than 1000000 flows"),
        (
            "packet = \"1000 B\"",
            "packet = \"0 B\"",
            "flows.ftp.packet: \"0 B\" is out of range: must lie in 1 B ..= 64000 B",
        ),
        ("packet = \"1000 B\"", "packet = \"1 MB\"", "flows.ftp.packet: \"1 MB\" is out of range"),
        ("\"100 Mbit/s\"", "\"0 bit/s\"", "flows.ftp.access_rate: \"0 bit/s\" is out of range"),
        (
            "\"64 packets\"",
            "\"0 packets\"",
            "flows.ftp.tcp.window: \"0 packets\" is out of range: must lie in 1 packet",
        ),
        (
            "window = ",
            "min_rto = \"2 s\", max_rto = \"1 s\", window = ",
            "flows.ftp.tcp: min_rto must not exceed max_rto",
        ),
        ("a = 2e-5", "a = 2", "schemes.pi.a: \"2\" is out of range: must lie in 0 ..= 1"),
        ("sigma = 0.4", "sigma = -1", "flows.late.rtt: sigma \"-1\" is out of range: must lie in 0 ..= 10"),
    ]);
}

#[test]
fn contradictions_between_fields_are_refused() {
    each_is_refused(&[
        ("\"20 ms\"", "\"1.9 ms\"", "\"1.9 ms\" is shorter than the path's own delay, there and back: 2 ms"),
        (
            "\"20 ms\"",
            "{ uniform = [\"1 ms\", \"9 ms\"] }",
            "flows.ftp.rtt: \"1 ms\" is shorter than the path's own delay",
        ),
        (
            "\"20 ms\"",
            "{ values = [\"9 ms\", \"1 ms\"] }",
            "flows.ftp.rtt: \"1 ms\" is shorter than the path's own delay",
        ),
        ("\"8 s\"", "\"0 s\"", "flows.ftp.stop: \"0 s\" is not after the start (0 s)"),
        ("\"0 s\"", "\"9 s\"", "flows.ftp.stop: \"8 s\" is not after the start (9 s)"),
        ("\"0 s\"", "\"11 s\"", "flows.ftp.start: \"11 s\" is after the end of the run (10 s)"),
        ("\"50 kB\"", "\"1039 B\"", "flows.ftp.packet: 1040 B on the wire do not fit the buffer of links.uplink"),
        ("\"bottleneck\", \"uplink\"]", "\"uplink\", \"uplink\"]", "flows.ftp.path: crosses \"uplink\" twice"),
        ("\"bottleneck\", \"uplink\"]", "]", "flows.ftp.path: expected a list of links such as [\"bottleneck\"]"),
        ("name = \"uplink\"", "name = \"bottleneck\"", "links.bottleneck: this name is used twice"),
        ("name = \"late\"", "name = \"ftp\"", "flows.ftp: this name is used twice"),
        ("tcp = \"newreno\"", "count = 4", "flows.late.count: cannot be combined with groups; give it in each group"),
        (
            "tcp = \"newreno\"",
            "start = \"1 s\"",
            "flows.late.start: cannot be combined with groups; give it in each group",
        ),
        (
            "\"0 s\"",
            "{ uniform = [\"8 s\", \"9 s\"] }",
            "flows.ftp.stop: \"8 s\" is not after the start (uniform 8 s to 9 s)",
        ),
        (
            "\"8 s\"",
            "{ uniform = [\"0 s\", \"0 s\"] }",
            "flows.ftp.stop: \"uniform 0 s to 0 s\" is not after the start",
        ),
        ("schema = 1", "schema = 2", "schema: 2 is not known; this version reads schema 1"),
        (
            "\"droptail\"",
            "\"red:min_th=30 packets,max_th=20 packets\"",
            "red: min_th (\"30 packets\") must be below max_th (\"20 packets\")",
        ),
    ]);
}

#[test]
fn what_is_missing_is_named_with_an_example() {
    each_is_refused(&[
        ("schema = 1\n", "", "schema: missing; write e.g. schema = 1"),
        ("duration = \"10 s\"\n", "", "duration: missing; write e.g. duration = \"100 s\""),
        ("rate = \"8 Mbit/s\"\n", "", "links.bottleneck.rate: missing; write e.g. rate = \"45 Mbit/s\""),
        ("buffer = \"100 packets\"\n", "", "links.bottleneck.buffer: missing; write e.g. buffer = \"900 packets\""),
        ("rtt = \"20 ms\"\n", "", "flows.ftp.rtt: missing; write e.g. rtt = \"80 ms\""),
    ]);
    let empty = problems("", &[]);
    for part in ["schema: missing", "duration: missing", "links: missing", "flows: missing"] {
        assert!(empty.contains(part), "{empty}");
    }
}

#[test]
fn distributions_are_read_strictly() {
    let rtt = |law: &str| problems(&VALID.replace("rtt = \"20 ms\"", &format!("rtt = {law}")), &[]);
    for (law, expected) in [
        ("{ lognormal = { median = \"9 ms\" } }", "lognormal takes { median = a time, sigma = a number }"),
        ("{ lognormal = \"9 ms\" }", "lognormal takes { median = a time, sigma = a number }"),
        ("{ lognormal = { median = \"9 ms\", sigma = \"x\" } }", "\"x\" is not a number"),
        ("{ lognormal = { median = 9, sigma = 1 } }", "\"9\" has no unit"),
        ("{ uniform = [\"9 ms\"] }", "uniform takes two times, the smaller first"),
        ("{ uniform = [\"9 ms\", \"8 ms\"] }", "uniform takes two times, the smaller first"),
        ("{ uniform = \"9 ms\" }", "expected a list of times, found text"),
        ("{ uniform = [9, 10] }", "\"9\" has no unit"),
        ("{ values = [] }", "expected a list of times, found a list"),
        ("{ values = [[\"9 ms\"]] }", "expected a time, found a list"),
        ("{ exponential = \"-9 ms\" }", "\"-9 ms\" is negative"),
        ("{ exponential = { mean = \"9 ms\" } }", "expected a time, found a table"),
        ("{}", "a distribution has one name; known: uniform, exponential, lognormal, pareto, lomax, values"),
        ("{ exponential = \"9 ms\", values = [\"9 ms\"] }", "a distribution has one name"),
        ("{ pareto = \"9 ms\" }", "pareto takes { mean = a time, shape = a number }"),
        ("{ weibull = \"9 ms\" }", "unknown distribution \"weibull\"; known:"),
    ] {
        let expected = format!("flows.ftp.rtt: {expected}");
        assert!(rtt(law).contains(&expected), "{law}: {}", rtt(law));
    }
}
