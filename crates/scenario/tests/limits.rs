//! Reading a text takes allocations and memory that grow as the text does, up to the longest text that is read.

#[path = "../../core/tests/counting/mod.rs"]
mod counting;

use aqmlab_scenario::parse;
use counting::{Taken, grows_as_its_input, taken};

const LONGEST: usize = 1 << 24;

fn repeated(n: u32, part: impl Fn(u32) -> String) -> String {
    (0..n).map(part).collect()
}

fn bell(n: u32, part: impl Fn(u32) -> String) -> String {
    let link = "[[links]]\nname = \"l\"\nrate = \"10 Gbit/s\"\nbuffer = \"1000 packets\"\n";
    format!("schema = 1\nduration = \"1 s\"\n{link}{}", repeated(n, part))
}

fn group(i: u32) -> String {
    format!("[[flows]]\nname = \"f{i}\"\nrtt = \"20 ms\"\n")
}

fn link(i: u32, buffer: &str) -> String {
    format!("[[links]]\nname = \"l{i}\"\nrate = \"10 Mbit/s\"\nbuffer = {buffer}\n")
}

fn groups(n: u32) -> String {
    bell(n, group)
}

fn links(n: u32) -> String {
    let flows = |i| format!("{}path = [\"l{i}\"]\n", group(i));
    format!("schema = 1\nduration = \"1 s\"\n{}{}", repeated(n, |i| link(i, "\"9 packets\"")), repeated(n, flows))
}

fn changes(n: u32) -> String {
    let change =
        |i| format!("[[changes]]\nat = \"{i} us\"\npath = \"links.l.buffer\"\nvalue = \"{} packets\"\n", 1 + i % 9);
    bell(100, group) + &repeated(n, change)
}

/// Classes of one link.
fn classes(n: u32) -> String {
    let class = |i| {
        format!(
            "[[links.classes]]\nname = \"c{i}\"\nrate = \"1 kbit/s\"\nflows = [\"f{i}\"]\naqm = \"pie:target={i}us\"\n"
        )
    };
    bell(n, class) + &repeated(n, group)
}

/// Links with a class each, and as many groups.
fn classed_links(n: u32) -> String {
    let one = |i| link(i, "\"9 packets\"") + "[[links.classes]]\nname = \"c\"\nrate = \"1 kbit/s\"\n";
    let flows = |i| format!("{}path = [\"l{i}\"]\n", group(i));
    format!("schema = 1\nduration = \"1 s\"\n{}{}", repeated(n, one), repeated(n, flows))
}

/// Classes each below the one before, which are refused.
fn chain(n: u32) -> String {
    let class = |i| format!("[[links.classes]]\nname = \"c{i}\"\nrate = \"1 kbit/s\"\nparent = \"c{}\"\n", i + 1);
    bell(n, class) + &format!("[[links.classes]]\nname = \"c{n}\"\nrate = \"1 kbit/s\"\n") + &group(0)
}

/// Paths over links that are not there.
fn unknown_links(n: u32) -> String {
    let flows = |i| format!("{}path = [\"m{i}\"]\n", group(i));
    format!("schema = 1\nduration = \"1 s\"\n{}{}", repeated(n, |i| link(i, "\"9 packets\"")), repeated(n, flows))
}

/// Groups of a class that are not there.
fn unknown_groups(n: u32) -> String {
    let names = repeated(n, |i| format!("\"g{i}\", "));
    bell(1, |_| format!("[[links.classes]]\nname = \"c\"\nrate = \"1 kbit/s\"\nflows = [{names}]\n"))
        + &repeated(n, group)
}

/// Changes of links that are not there.
fn unknown_changes(n: u32) -> String {
    let change = |i| format!("[[changes]]\nat = \"1 us\"\npath = \"links.m{i}.rate\"\nvalue = \"1 Mbit/s\"\n");
    links(n) + &repeated(n, change)
}

/// Links that share a buffer each.
fn buffers(n: u32) -> String {
    let buffer = |i| format!("[[buffers]]\nname = \"b{i}\"\nsize = \"9 kB\"\n");
    let one = |i| link(i, &format!("{{ shared = \"b{i}\" }}"));
    let flows = "[[flows]]\nrtt = \"20 ms\"\npath = [\"l0\"]\npacket = \"100 B\"\n";
    format!("schema = 1\nduration = \"1 s\"\n{}{}{flows}", repeated(n, buffer), repeated(n, one))
}

/// Interfaces of hosts.
fn hosts(n: u32) -> String {
    let one = |i| link(i, "\"9 packets\"") + "host = true\n";
    let flows = |i| format!("{}path = [\"l{i}\"]\n", group(i));
    format!("schema = 1\nduration = \"1 s\"\n{}{}", repeated(n, one), repeated(n, flows))
}

/// Controllers of a link each.
fn controllers(n: u32) -> String {
    let one = |i| {
        format!(
            "[[controllers]]\nname = \"c{i}\"\nlaw = \"cake-autorate\"\npings = \"ping\"\n\
             shapers = [{{ link = \"l{i}\", min = \"1 Mbit/s\", base = \"2 Mbit/s\", max = \"3 Mbit/s\" }}]\n"
        )
    };
    let ping =
        "[[flows]]\nname = \"ping\"\nkind = \"udp-cbr\"\nrate = \"1 kbit/s\"\nrtt = \"20 ms\"\npath = [\"l0\"]\n";
    links(n) + ping + &repeated(n, one)
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

/// A rate trace in the text.
fn trace(n: u32) -> String {
    let lines = repeated(n, |i| format!("{}.5, {}\n", i, 1 + i % 9));
    format!(
        "schema = 1\nduration = \"1 s\"\n[traces]\nt = \"\"\"time (s), rate (Mbit/s)\n0, 1\n{lines}\"\"\"\n\
         [[links]]\nrate = {{ trace = \"t\" }}\nbuffer = \"9 packets\"\n{}",
        group(0)
    )
}

/// A rate trace of opportunities.
fn opportunities(n: u32) -> String {
    format!(
        "schema = 1\nduration = \"1 s\"\n[traces]\nt = \"\"\"{}\"\"\"\n[[links]]\nrate = {{ trace = \"t\" }}\nbuffer = \"9 packets\"\n{}",
        repeated(n, |i| format!("{i}\n")) + &format!("{n}\n"),
        group(0)
    )
}

/// Values of a distribution.
fn numbers(n: u32) -> String {
    bell(1, group) + &format!("x = [{}]\n", "1,".repeat(n as usize))
}

/// Tables that nobody asked for.
fn tables(n: u32) -> String {
    bell(1, group) + &format!("x = [{}]\n", "{},".repeat(n as usize))
}

/// Tables with a key.
fn small_tables(n: u32) -> String {
    bell(1, group) + &format!("x = [{}]\n", "{a=1},".repeat(n as usize))
}

/// Keys that nobody asked for.
fn keys(n: u32) -> String {
    bell(1, group) + &repeated(n, |i| format!("k{i}=1\n"))
}

type Shape = (&'static str, fn(u32) -> String, u32);

/// Inputs by name, with the parts that the longest has.
const SHAPES: [Shape; 19] = [
    ("groups", groups, 51_200),
    ("links", links, 51_200),
    ("changes", changes, 102_400),
    ("classes of a link", classes, 51_200),
    ("links with classes", classed_links, 51_200),
    ("classes below classes", chain, 102_400),
    ("unknown links", unknown_links, 51_200),
    ("unknown groups", unknown_groups, 51_200),
    ("unknown links that change", unknown_changes, 51_200),
    ("buffers", buffers, 51_200),
    ("hosts", hosts, 51_200),
    ("controllers", controllers, 25_600),
    ("plans", plans, 800),
    ("trace", trace, 819_200),
    ("opportunities", opportunities, 1_638_400),
    ("numbers", numbers, 1_638_400),
    ("tables", tables, 102_400),
    ("small tables", small_tables, 102_400),
    ("keys", keys, 819_200),
];

/// What it takes to read a text, whether it is refused or not.
fn reading(text: &str) -> Taken {
    assert!(text.len() < LONGEST, "{} bytes", text.len());
    taken(|| parse(text, "m", &[]))
}

fn doubled(most: u32) {
    for (name, make, limit) in SHAPES {
        let last = grows_as_its_input(name, [200, limit.min(most)], |n| reading(&make(n)));
        println!("{name}: {last:?}");
    }
}

#[test]
fn more_than_the_limits_is_refused() {
    let dotted = |n: usize| format!("{}=1", "a.".repeat(n) + "a");
    for (text, why) in [
        (tables(200_001), "tables and lists; at most 200000 are read"),
        (dotted(200_001), "tables and lists; at most 200000"),
        (format!("[{}]", dotted(200_001).replace("=1", "")), "tables and lists; at most 200000"),
        (numbers(2_000_001), "values; at most 2000000 are read"),
        (bell(65_001, group), "flows: more than 65000 groups of flows"),
        (repeated(65_001, |i| link(i, "\"9 packets\"")), "links: more than 65000"),
        (groups(1) + "x = \"" + &"1".repeat(LONGEST) + "\"", "is too long"),
        (many_ways(), "flows: more than 1000000 flows"),
        (long_lists(), "values for each of 1000 places"),
    ] {
        let refused = parse(&text, "m", &[]).map(drop).unwrap_err().to_string();
        assert!(refused.contains(why), "{why}: {}", &refused[..refused.len().min(500)]);
    }
}

#[test]
fn numbers_with_a_point_are_no_tables() {
    let text = bell(1, group)
        + &format!("kind = \"short\"\narrivals = \"1 Hz\"\nsize = {{ values = [{}] }}\n", "1.0,".repeat(300_000));
    let refused = parse(&text, "m", &[]).map(drop).err().map(|problems| problems.to_string()).unwrap_or_default();
    assert!(!refused.contains("tables"), "{refused}");
}

/// Empty groups on every line of a tree.
fn many_ways() -> String {
    let empty = |i| format!("[[flows]]\nname = \"f{i}\"\nlines = true\ncount = 0\n");
    plans(1).replace("count = 4", "count = 30000") + &repeated(40, empty)
}

/// A long schedule for each link of a list.
fn long_lists() -> String {
    let steps = repeated(1000, |i| format!("[\"{i} s\", \"1 Mbit/s\"],"));
    format!(
        "schema = 1\nduration = \"1 s\"\n[[links]]\ncount = 1000\nrate = [{steps}]\nbuffer = \"9 packets\"\n{}",
        group(0)
    )
}

#[test]
fn twice_the_text_takes_twice_the_allocations() {
    doubled(800);
}

#[test]
#[ignore = "takes minutes: make nightly"]
fn twice_the_text_takes_twice_the_allocations_up_to_the_longest() {
    doubled(u32::MAX);
}
