//! Reads a leaf-spine fabric: hosts below leaf switches, and spine switches that join all leaves, by their counts.

use crate::impairments::WIRE;
use crate::keys::{KeySpec, RATES, Section, ValueForm};
use crate::link_context::LinkContext;
use crate::links::{QUEUE, read_link};
use crate::shared_buffer::{ALPHA, SharedBufferSpec, shared_size};
use crate::table_reader::{TableReader, note_of_link};
use crate::{AlikeLinks, HostRange, LinkSpec};
use aqmlab_core::{Problem, Rate};
use std::collections::BTreeSet;
use std::sync::Arc;
use toml::{Table, Value};

/// Most links of a fabric.
const MAX_LINKS: u32 = 65_000;
/// Keys of hosts and leaves that are not those of their links.
const OWN: [&str; 2] = ["count", "each"];

/// Keys of `[fabric]`.
pub const FABRIC: Section = Section::new(&[&[
    KeySpec::of::<u32>("spines", "Spine switches.").within("1", "1024").required("16"),
    shared_size("buffer", "Buffer of each switch, which its ports share."),
    ALPHA,
    KeySpec::new("hosts", ValueForm::Table(&HOSTS), "The hosts, evenly below the leaves.").required(EXAMPLE),
    KeySpec::new("leaves", ValueForm::Table(&LEAVES), "The leaf switches, and their links to each spine.")
        .required(EXAMPLE),
]]);

const EXAMPLE: &str = "{ count = 32, rate = \"40 Gbit/s\" }";
const EACH: KeySpec = KeySpec::of::<bool>("each", "Results have each of the links, too.").or("false");
const RATE: KeySpec =
    KeySpec::of::<Rate>("rate", "Rate of each link, both ways.").within(RATES.0, RATES.1).required("\"10 Gbit/s\"");
const HOSTS: Section = Section::new(&[
    &[KeySpec::of::<u32>("count", "Hosts.").within("2", "32000").required("32"), RATE, EACH],
    QUEUE,
    WIRE,
]);
const LEAVES: Section = Section::new(&[
    &[KeySpec::of::<u32>("count", "Leaves.").within("1", "32000").required("32"), RATE, EACH],
    QUEUE,
    WIRE,
]);

/// A leaf-spine fabric, a folded Clos network of two tiers. Its links are the first of the scenario: up from each host, down to each
/// host, from each leaf up to each spine, and down to each leaf from each spine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fabric {
    /// Spine switches.
    pub spines: u32,
    /// Leaf switches.
    pub leaves: u32,
    /// Hosts, evenly below the leaves.
    pub hosts: u32,
}

impl Fabric {
    /// The leaf that a host is below.
    pub fn leaf(&self, host: u32) -> u32 {
        host / (self.hosts / self.leaves)
    }

    fn host_link(&self, host: u32, is_up: bool) -> usize {
        (host + if is_up { 0 } else { self.hosts }) as usize
    }

    fn leaf_link(&self, leaf: u32, spine: u32, is_up: bool) -> usize {
        let before = 2 * self.hosts + if is_up { 0 } else { self.leaves * self.spines };
        (before + leaf * self.spines + spine) as usize
    }

    /// The links from a host to another, over this spine unless both are below one leaf.
    pub fn path(&self, from: u32, to: u32, spine: u32) -> Vec<usize> {
        let (first, last) = (self.host_link(from, true), self.host_link(to, false));
        match (self.leaf(from), self.leaf(to)) {
            (here, there) if here == there => vec![first, last],
            (here, there) => vec![first, self.leaf_link(here, spine, true), self.leaf_link(there, spine, false), last],
        }
    }

    /// The path between hosts that are farthest apart, or that back.
    pub(super) fn longest(&self, is_back: bool) -> Vec<usize> {
        let last = self.hosts - 1;
        if is_back { self.path(last, 0, 0) } else { self.path(0, last, 0) }
    }
}

/// A fabric as it is written.
pub struct FabricShape<'a> {
    /// Its counts.
    pub fabric: Fabric,
    /// Rate of a host's link.
    pub host_rate: Rate,
    hosts: &'a Table,
    all_hosts: Arc<[u32]>,
    leaves: &'a Table,
    /// Of each switch.
    buffer: SharedBufferSpec,
}

/// `[fabric]`, if there is one.
pub fn read_fabric<'a>(top: &mut TableReader<'a, '_>) -> Option<FabricShape<'a>> {
    top.raw("fabric")?;
    let table = top.section("fabric")?;
    let others = ["links", "sites", "plans", "lines"].into_iter().filter(|key| top.raw(key).is_some());
    if let Some(key) = others.collect::<Vec<_>>().first() {
        top.refuse(key, "cannot be combined with [fabric], which defines all links; leave one of them out");
        return None;
    }
    let mut of = TableReader::new(table, "fabric", &FABRIC, top.found());
    let spines = of.required("spines");
    let buffer = SharedBufferSpec::read("leaf".into(), "buffer", &mut of);
    let tables = ["hosts", "leaves"].map(|key| of.section(key));
    of.finish();
    let [hosts, leaves] = [tables[0]?, tables[1]?];
    let mut counts = |at: &str, table: &'a Table, section| {
        let mut of = TableReader::new(table, at, section, top.found());
        let (count, rate): (Option<u32>, Option<Rate>) = (of.required("count"), of.required("rate"));
        Some((count?, rate?))
    };
    let (of_hosts, of_leaves) = (counts("fabric.hosts", hosts, &HOSTS), counts("fabric.leaves", leaves, &LEAVES));
    if leaves.contains_key("buffer") {
        top.found().push(Problem::new("fabric.leaves.buffer", "is that of the switches, fabric.buffer; leave it out"));
    }
    let ((hosts_count, host_rate), (leaves_count, _)) = (of_hosts?, of_leaves?);
    let fabric = Fabric { spines: spines?, leaves: leaves_count, hosts: hosts_count };
    if !fabric.hosts.is_multiple_of(fabric.leaves) {
        let why =
            format!("\"{}\" is no multiple of the {} leaves that they are evenly below", fabric.hosts, fabric.leaves);
        top.found().push(Problem::new("fabric.hosts.count", why));
        return None;
    }
    let links = u64::from(2 * fabric.hosts) + 2 * u64::from(fabric.leaves) * u64::from(fabric.spines);
    if links > u64::from(MAX_LINKS) {
        top.found().push(Problem::new("fabric", format!("has {links} links; at most {MAX_LINKS}")));
        return None;
    }
    let all_hosts = (0..fabric.hosts).collect();
    Some(FabricShape { fabric, host_rate, hosts, all_hosts, leaves, buffer: buffer? })
}

impl FabricShape<'_> {
    /// The links, which share the buffers of their switches, and lists of those that are alike.
    pub fn build(
        &self,
        buffers: &mut Vec<SharedBufferSpec>,
        context: &LinkContext,
        found: &mut Vec<Problem>,
    ) -> Option<(Vec<LinkSpec>, Vec<AlikeLinks>)> {
        let Fabric { spines, leaves, hosts } = self.fabric;
        let switches =
            (0..leaves).map(|leaf| format!("leaf-{leaf}")).chain((0..spines).map(|spine| format!("spine-{spine}")));
        buffers.extend(switches.map(|name| SharedBufferSpec { name, ..self.buffer.clone() }));
        let of_host = |host: u32| vec![(format!("host-{host}"), self.fabric.leaf(host))];
        let of_leaf = |leaf: u32| -> Vec<(String, u32)> {
            (0..spines).map(|spine| (format!("leaf-{leaf}-spine-{spine}"), leaf)).collect()
        };
        let [first, .., last] = self.fabric.longest(false)[..] else { return None };
        let places = |count, of: &dyn Fn(u32) -> Vec<(String, u32)>| (0..count).flat_map(of).collect::<Vec<_>>();
        let tiers = [
            ("host-up", first, self.hosts, places(hosts, &of_host)),
            ("host-down", last, self.hosts, places(hosts, &of_host)),
            ("leaf-up", self.fabric.leaf_link(0, 0, true), self.leaves, places(leaves, &of_leaf)),
            ("leaf-down", self.fabric.leaf_link(leaves - 1, 0, false), self.leaves, places(leaves, &of_leaf)),
        ];
        let (mut links, mut alike) = (Vec::new(), Vec::new());
        for (list, index, table, places) in tiers {
            let (_, direction) = list.split_once('-')?;
            let spec = self.link(list, index, table, context, found)?;
            let begins = links.len();
            for (i, (name, leaf)) in (0u32..).zip(places) {
                let shared = match list {
                    "host-up" => None,
                    "leaf-down" => Some((leaves + i % spines) as usize),
                    _ => Some(leaf as usize),
                };
                links.push(LinkSpec { name: format!("{name}-{direction}"), list: list.into(), shared, ..spec.clone() });
            }
            let each = table.get("each").and_then(Value::as_bool).unwrap_or(false);
            alike.push(AlikeLinks { name: list.into(), links: (begins..links.len()).collect(), each });
        }
        Some((links, alike))
    }

    /// A link of a tier, the `index`-th of the scenario. That of a host on its way up has a buffer of its own.
    fn link(
        &self,
        list: &str,
        index: usize,
        table: &Table,
        context: &LinkContext,
        found: &mut Vec<Problem>,
    ) -> Option<LinkSpec> {
        let (at, section) =
            if list.starts_with("host") { ("fabric.hosts", &HOSTS) } else { ("fabric.leaves", &LEAVES) };
        let mut own = Vec::new();
        let mut reader = TableReader::new(table, at, section, &mut own);
        reader.optional::<bool>("each");
        reader.refuse_all(&["name", "host", "classes"], "is that of a link of [[links]]; leave it out");
        let mut table = table.clone();
        OWN.iter().for_each(|key| drop(table.remove(*key)));
        table.insert("name".into(), list.into());
        if list != "host-up" {
            table.insert("buffer".into(), format!("{} B", self.buffer.most()).into());
        }
        let link = read_link(&table, at, index, context, &mut own);
        note_of_link(own, &OWN, found);
        link.map(|(link, _)| link)
    }
}

/// `from` and `to` of a group of flows: hosts, by default all.
pub fn read_hosts(flow: &mut TableReader, shape: &FabricShape) -> Option<Arc<HostRange>> {
    let fabric = shape.fabric;
    let mut read = |key: &'static str| {
        let number = |value: &Value| {
            value.as_integer().and_then(|number| u32::try_from(number).ok()).filter(|number| *number < fabric.hosts)
        };
        let given = match flow.raw(key) {
            None => return Some(shape.all_hosts.clone()),
            Some(Value::Array(given)) => given.iter().map(number).collect(),
            Some(value) => number(value).map(|host| vec![host]),
        };
        let hosts: Option<Vec<u32>> = given.filter(|hosts: &Vec<u32>| !hosts.is_empty());
        let hosts = hosts.map(|hosts| Arc::from_iter(BTreeSet::from_iter(hosts)));
        if hosts.is_none() {
            let most = fabric.hosts - 1;
            flow.refuse(key, format!("expected the number of a host or a list of them, each in 0 ..= {most}"));
        }
        hosts
    };
    let (from, to) = (read("from"), read("to"));
    let (from, to) = (from?, to?);
    if from.iter().all(|host| to.iter().all(|other| other == host)) {
        flow.refuse("to", "is the only host that sends; expected another one");
        return None;
    }
    Some(Arc::new(HostRange { from, to }))
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, Traffic, parse};

    const FABRIC: &str = r#"
schema = 1
duration = "1 s"
[fabric]
spines = 2
buffer = "1 MB"
[fabric.leaves]
count = 3
rate = "40 Gbit/s"
delay = "2 us"
[fabric.hosts]
count = 12
rate = "10 Gbit/s"
delay = "1 us"
buffer = "100 packets"
[[flows]]
name = "web"
kind = "short"
load = 0.5
size = { cdf = [["1 packet", 0.5], ["3 packets", 1]] }
packet = "1460 B"
rtt = "16 us"
tcp = "linux"
"#;

    fn read() -> Scenario {
        parse(FABRIC, "fabric", &[]).unwrap()
    }

    #[test]
    fn links_and_routes_follow_from_counts() {
        let scenario = read();
        let fabric = scenario.fabric.unwrap();
        let names = |path: Vec<usize>| path.iter().map(|link| scenario.links[*link].name.clone()).collect::<Vec<_>>();
        let far = ["host-1-up", "leaf-0-spine-1-up", "leaf-2-spine-1-down", "host-11-down"];
        assert_eq!(names(fabric.path(1, 11, 1)), far);
        assert_eq!(names(fabric.path(5, 4, 1)), ["host-5-up", "host-4-down"], "both are below leaf 1");
        let counts: Vec<_> = scenario.alike.iter().map(|alike| (&*alike.name, alike.links.len())).collect();
        assert_eq!(counts, [("host-up", 12), ("host-down", 12), ("leaf-up", 6), ("leaf-down", 6)]);
        // host 4 and the ways up from leaf 1 are ports of leaf 1, ways down from spine 1 of spine 1
        let shared = |name: &str| {
            let link = scenario.links.iter().find(|link| link.name == name).unwrap();
            link.shared.map(|shared| scenario.buffers[shared].name.as_str())
        };
        let expected = [None, Some("leaf-1"), Some("leaf-1"), Some("spine-1")];
        assert_eq!(["host-4-up", "host-4-down", "leaf-1-spine-0-up", "leaf-2-spine-1-down"].map(shared), expected);
    }

    #[test]
    fn a_load_is_a_rate_of_arrivals() {
        // 0.5 * 12 * 10 Gbit/s over packets of 1526 B, of which a transfer has 0.5 * 1 + 0.5 * 2 = 1.5 on average.
        let Traffic::Short { arrivals, .. } = &read().flows[0].traffic else { panic!() };
        let wire = f64::from(read().flows[0].wire_size());
        assert!((arrivals.0 / (0.5 * 12.0 * 10e9 / (8.0 * wire * 1.5)) - 1.0).abs() < 1e-9, "{}", arrivals.0);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            ("count = 12", "count = 0", "fabric.hosts.count: \"0\" is out of range"),
            ("count = 12", "count = 10", "fabric.hosts.count: \"10\" is no multiple of the 3 leaves"),
            ("spines = 2", "spines = 0", "fabric.spines: \"0\" is out of range"),
            ("buffer = \"1 MB\"", "buffer = \"1 MB\"\nalpha = -1", "fabric.alpha: \"-1\" is out of range"),
            ("rtt = \"16 us\"", "rtt = \"9 us\"", "flows.web.rtt: \"9 us\" is shorter than the path's own delay"),
            ("load = 0.5", "load = 0", "flows.web.load: \"0\" is out of range"),
            ("rtt = \"16 us\"", "rtt = \"16 us\"\nto = 12", "flows.web.to: expected the number of a host"),
            ("rtt = \"16 us\"", "rtt = \"16 us\"\nto = 3\nfrom = 3", "flows.web.to: is the only host that sends"),
            ("rtt = \"16 us\"", "rtt = \"16 us\"\npath = [\"a\"]", "flows.web.path: unknown link"),
            ("delay = \"2 us\"", "dealy = \"2 us\"", "fabric.leaves.dealy: unknown key"),
            ("[[flows]]", "[[links]]\nname = \"x\"\n[[flows]]", "links: cannot be combined with [fabric]"),
        ] {
            let found = parse(&FABRIC.replacen(from, to, 1), "fabric", &[]).unwrap_err().to_string();
            assert_eq!(found.matches(message).count(), 1, "{message}: {found}");
        }
    }
}
