//! The memory that a simulation takes, held against its estimate, and that reading takes as a text grows.

use aqmlab_scenario::{Scenario, parse};
use aqmlab_sim::{Options, footprint, run};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
    static HELD: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
}

/// Counts the bytes that a thread holds.
struct Counting;

fn take(bytes: usize) {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
    HELD.set(HELD.get().wrapping_add(bytes));
    MOST.set(MOST.get().max(HELD.get()));
}

fn give(bytes: usize) {
    HELD.set(HELD.get().wrapping_sub(bytes));
}

// SAFETY: the system's allocator does the work.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }
    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        give(layout.size());
        unsafe { System.dealloc(place, layout) }
    }
    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        take(size); // both are held while one is copied
        give(layout.size());
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that the run of a scenario holds at most.
fn most(scenario: Scenario, series: bool) -> usize {
    let before = HELD.get();
    MOST.set(before);
    run(scenario, Options { series, ..Options::default() }).expect("it runs");
    MOST.get() - before
}

fn bell(duration: &str, link: &str, flows: &str) -> String {
    format!(
        "schema = 1\nduration = \"{duration}\"\n[[links]]\nname = \"l\"\n{link}\n[[flows]]\nname = \"f\"\n{flows}\n"
    )
}

fn tree(lines: u32, plan: &str, flows: &str) -> String {
    format!(
        "schema = 1\nduration = \"100 ms\"\n[[sites]]\nname = \"ap\"\ncount = 10\ndown = \"1 Gbit/s\"\nbuffer = \"100 packets\"\n\
         [[plans]]\nname = \"p\"\ndown = \"50 Mbit/s\"\nup = \"10 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"100 packets\"\n{plan}\n\
         [lines]\ncount = {lines}\nparent = \"ap\"\n[[flows]]\nname = \"f\"\nlines = true\n{flows}\n"
    )
}

fn row(links: u32) -> String {
    let link =
        |i| format!("[[links]]\nname = \"l{i}\"\nrate = \"10 Mbit/s\"\nbuffer = \"200 packets\"\naqm = \"pie\"\n");
    (0..links).map(link).collect()
}

const WIDE: &str = "rate = \"10 Gbit/s\"\nbuffer = \"1000 packets\"";

fn shapes() -> Vec<(&'static str, String, bool)> {
    vec![
        ("TCP flows", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\""), false),
        ("TCP flows of Linux", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\"\ntcp = \"linux\""), false),
        ("datagrams", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\"\nkind = \"udp-cbr\"\nrate = \"100 kbit/s\""), false),
        ("clients", bell("50 ms", WIDE, "count = 20000\nrtt = \"20 ms\"\nkind = \"http\"\nthink_time = { exponential = \"1 s\" }\nsize = { values = [\"10 packets\"] }"), false),
        ("calls", bell("50 ms", WIDE, "count = 2000\nrtt = \"20 ms\"\nkind = \"media\"\nrate = \"1 Mbit/s\""), false),
        ("lines", tree(2000, "", ""), false),
        ("lines with FQ-CoDel", tree(2000, "aqm = \"fq-codel\"", ""), false),
        ("lines with CAKE", tree(2000, "aqm = \"cake\"", ""), false),
        ("a long queue", bell("1 s", "rate = \"1 Mbit/s\"\nbuffer = \"60000 packets\"", "rtt = \"20 ms\""), false),
        ("links in a row", format!("schema = 1\nduration = \"10 ms\"\n{}[[flows]]\nname = \"f\"\nrtt = \"20 ms\"\npath = [\"l0\", \"l999\"]\n", row(1000)), false),
        ("series", format!("sample = \"10 us\"\n{}", bell("10 s", "rate = \"1 Mbit/s\"\nbuffer = \"100 packets\"\naqm = \"red\"", "rtt = \"20 ms\"")), true),
        ("stations", "schema = 1\nduration = \"100 ms\"\n[wifi]\n[[stations]]\nname = \"s\"\ncount = 500\nrate = \"100 Mbit/s\"\n[[flows]]\nname = \"f\"\nstations = true\nrtt = \"20 ms\"\n".to_string(), false),
        ("a fabric", "schema = 1\nduration = \"10 us\"\n[fabric]\nspines = 8\nbuffer = \"4 MB\"\nhosts = { count = 512, rate = \"10 Gbit/s\", buffer = \"1 MB\" }\nleaves = { count = 16, rate = \"40 Gbit/s\" }\n[[flows]]\nname = \"f\"\nrtt = \"100 us\"\ncount = 1000\n".to_string(), false),
    ]
}

#[test]
fn the_estimate_is_within_a_quarter_of_what_it_takes() {
    for (name, text, series) in shapes() {
        let scenario = parse(&text, "m", &[]).unwrap_or_else(|why| panic!("{name}: {why}"));
        let estimate = footprint(&scenario, None, series);
        let share = estimate / most(scenario, series) as f64;
        println!("{name}: {estimate:.0} B, {share:.2} of what it takes");
        assert!((0.75..=1.25).contains(&share), "{name}: {estimate:.0} B, {share:.2} of what it takes");
    }
}

/// Allocations of reading a text, and the bytes that it holds at most.
fn reading(text: &str) -> [usize; 2] {
    let (allocations, before) = (ALLOCATIONS.get(), HELD.get());
    MOST.set(before);
    parse(text, "m", &[]).unwrap_or_else(|why| panic!("{why}"));
    [ALLOCATIONS.get() - allocations, MOST.get() - before]
}

fn repeated(n: u32, part: impl Fn(u32) -> String) -> String {
    (0..n).map(part).collect()
}

fn groups(n: u32) -> String {
    bell("1 s", WIDE, "rtt = \"20 ms\"") + &repeated(n, |i| format!("[[flows]]\nname = \"f{i}\"\nrtt = \"20 ms\"\n"))
}

fn links(n: u32) -> String {
    let flows = |i| format!("[[flows]]\nname = \"f{i}\"\nrtt = \"20 ms\"\npath = [\"l{i}\"]\n");
    format!("schema = 1\nduration = \"1 s\"\n{}{}", row(n), repeated(n, flows))
}

fn changes(n: u32) -> String {
    let change =
        |i| format!("[[changes]]\nat = \"{i} us\"\npath = \"links.l.rate\"\nvalue = \"{} Mbit/s\"\n", 1 + i % 9);
    bell("1 s", WIDE, "rtt = \"20 ms\"") + &repeated(n, change)
}

fn classes(n: u32) -> String {
    let class = |i| format!("[[links.classes]]\nname = \"c{i}\"\nrate = \"1 kbit/s\"\nflows = [\"f{i}\"]\n");
    let flows = |i| format!("[[flows]]\nname = \"f{i}\"\nrtt = \"20 ms\"\n");
    format!("schema = 1\nduration = \"1 s\"\n[[links]]\n{WIDE}\n{}{}", repeated(n, class), repeated(n, flows))
}

fn plans(n: u32) -> String {
    let plan = |i| {
        format!(
            "[[plans]]\nname = \"p{i}\"\ndown = \"9 Mbit/s\"\nup = \"1 Mbit/s\"\nrtt = \"20 ms\"\nbuffer = \"9 packets\"\n"
        )
    };
    let lines = format!("[lines]\ncount = {}\n[[flows]]\nname = \"f\"\nlines = true\n", 4 * n);
    format!("schema = 1\nduration = \"1 s\"\n{}{lines}", repeated(n, plan))
}

#[test]
fn reading_twice_the_text_takes_twice_the_allocations() {
    type Shape = (&'static str, fn(u32) -> String);
    let shapes: [Shape; 5] =
        [("groups", groups), ("links", links), ("changes", changes), ("classes", classes), ("plans", plans)];
    for (name, make) in shapes {
        let (few, many) = (reading(&make(400)), reading(&make(800)));
        for (before, after) in few.into_iter().zip(many) {
            let growth = after as f64 / before as f64;
            assert!(growth <= 2.2, "{name}: {few:?}, then {many:?}: {growth:.2} times");
        }
    }
}
