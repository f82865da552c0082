//! Reads a Wi-Fi cell: an access point, and the stations that share its channel.

use crate::impairments::WIRE;
use crate::keys::{KeySpec, Section, ValueForm};
use crate::link_context::LinkContext;
use crate::links::{QUEUE, read_link};
use crate::repeat::Room;
use crate::table_reader::{TableReader, kind, names, note_of_link};
use crate::{AlikeLinks, Branch, LinkSpec};
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Bytes, Problem, Quantity, Rate, Span};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// Most stations of a cell: as many as have an association identifier (IEEE 802.11, 9.4.1.8).
const MAX_STATIONS: usize = 2007;
/// The queue of each station as mac80211 has it: `net/fq_impl.h` and the parameters of `ieee80211_txq_setup_flows`.
const MAC80211: &str = "fq-codel:flows=4096,quantum=300B,drop_batch=32,target=20ms,interval=100ms";
/// The same for slow stations before Linux 6.15.
const MAC80211_SLOW: &str = "fq-codel:flows=4096,quantum=300B,drop_batch=32,target=50ms,interval=300ms,ecn=false";
/// A station is slow if it has less than so much for each station of the cell (`STA_SLOW_THRESHOLD`).
const SLOW: f64 = 6e6;
/// Names of the directions.
const DIRECTIONS: [&str; 2] = ["down", "up"];

const fn time(name: &'static str, doc: &'static str, default: &'static str) -> KeySpec {
    KeySpec::of::<Span>(name, doc).within("0 s", "1 ms").or(default)
}

/// Keys of `[wifi]`.
pub const WIFI: Section = Section::new(&[
    &[
        KeySpec::new("name", ValueForm::Name, "Name of the cell.").or("wifi"),
        KeySpec::new(
            "queues",
            ValueForm::Words(&["stations", "shared"]),
            "A queue for each station, as in mac80211, or one queue for all of them and then a driver's.",
        )
        .or("stations"),
        KeySpec::of::<bool>("airtime_fairness", "Stations have the same airtime; otherwise they take turns.")
            .or("true"),
        KeySpec::new(
            "aql",
            ValueForm::Any(&[ValueForm::of::<bool>(), ValueForm::Tuple(&[ValueForm::of::<Span>(); 3])]),
            "Airtime queue limits: of a station, of a station while all together are below the last, and the last.",
        )
        .or("false"),
        KeySpec::of::<u32>("driver_queue", "Packets that the driver of a shared queue holds.")
            .within("1", "100000")
            .or("123"),
        KeySpec::of::<u32>("hardware_queue", "Aggregates that a transmitter has ready.").within("1", "64").or("2"),
        KeySpec::new(
            "codel",
            ValueForm::Words(&["linux-6.15", "linux-6.14"]),
            "The state of mac80211's CoDel parameters.",
        )
        .or("linux-6.15"),
        time("slot", "Slot time.", "9 us"),
        time("sifs", "Short interframe space.", "16 us"),
        KeySpec::of::<u32>("aifsn", "Slots of the arbitration interframe space.").within("1", "15").or("3"),
        KeySpec::of::<u32>("cw_min", "Least contention window, slots.").within("0", "32767").or("15"),
        KeySpec::of::<u32>("cw_max", "Greatest contention window, slots.").within("0", "32767").or("1023"),
        time("preamble", "Preamble and header of the physical layer.", "36 us"),
        time("block_ack", "Length of a block ACK.", "32 us"),
        KeySpec::new("ampdu", ValueForm::Table(&AMPDU), "Limits of an aggregate."),
        KeySpec::of::<u32>("retries", "Further transmissions of an MPDU at most.").within("0", "1000000").or("7"),
    ],
    QUEUE,
    WIRE,
]);

/// Keys of `ampdu`.
const AMPDU: Section = Section::new(&[&[
    KeySpec::of::<u32>("packets", "MPDUs.").within("1", "1024").or("32"),
    KeySpec::of::<u32>("window", "MPDUs that may be under way; default: 64, or `packets` if that is more.")
        .within("1", "1024"),
    KeySpec::of::<Bytes>("bytes", "Bytes, with the headers of MPDUs.").within("1 B", "16 MB").or("65535 B"),
    KeySpec::of::<Span>("time", "Time on the air.").within("0 s", "1 s").or("4 ms"),
]]);

/// Keys of `[[stations]]`.
pub const STATIONS: Section = Section::new(&[
    &[
        KeySpec::new("name", ValueForm::Name, "Name of the station.").required("\"laptop\""),
        KeySpec::of::<Rate>("rate", "Rate of the physical layer, both ways.")
            .within("100 kbit/s", "100 Gbit/s")
            .required("\"144.4 Mbit/s\""),
        KeySpec::of::<u32>("count", "So many stations, NAME-0 and on, that are alike.").within("1", "2007"),
        KeySpec::of::<f64>("error", "Share of the MPDUs that are lost.").within("0", "0.99").or("0"),
        KeySpec::of::<f64>("airtime", "Share of the airtime that it has; default: the same as others without one.")
            .within("0.0001", "1"),
        KeySpec::of::<bool>("each", "Results have each of the links, too.").or("false"),
    ],
    QUEUE,
    WIRE,
]);

/// A Wi-Fi cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Wifi {
    /// Times of the channel, and contention.
    pub channel: RadioChannel,
    /// Limits of an aggregate.
    pub ampdu: Ampdu,
    /// An MPDU is sent so many times more at most.
    pub retries: u32,
    /// Aggregates that a transmitter has ready at most.
    pub hardware_queue: u32,
    /// Packets that a driver holds at most, where it takes them from one queue for all stations.
    pub driver_queue: u32,
    /// The queues of the access point.
    pub queues: CellQueues,
    /// Stations.
    pub stations: Vec<Station>,
}

/// A radio channel under IEEE 802.11's EDCA, access category best effort.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RadioChannel {
    /// Slot time.
    pub slot: Span,
    /// Short interframe space.
    pub sifs: Span,
    /// Arbitration interframe space: SIFS and so many slots.
    pub aifs: Span,
    /// Least and greatest contention window, slots.
    pub windows: [u32; 2],
    /// Preamble and header of the physical layer.
    pub preamble: Span,
    /// Length of a block ACK.
    pub block_ack: Span,
}

/// Limits of an aggregate, A-MPDU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ampdu {
    /// MPDUs.
    pub packets: u32,
    /// MPDUs that may be under way: the window of the block ACK.
    pub window: u32,
    /// Bytes, with the headers of MPDUs.
    pub bytes: u32,
    /// Time on the air.
    pub time: Span,
}

/// The queues of an access point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum CellQueues {
    /// One queue for all stations, then a driver's, as before mac80211 had queues.
    Shared,
    /// A queue for each station, as in mac80211.
    Stations {
        /// Stations have the same airtime; otherwise they take turns.
        airtime_fairness: bool,
        /// The airtime queue limits: of a station, and of a station while all together are below the last.
        aql: Option<[Span; 3]>,
    },
}

/// A station of a cell.
#[derive(Clone, Debug, PartialEq)]
pub struct Station {
    /// Name of it, or of the stations that it is like.
    pub list: String,
    /// Rate of the physical layer, both ways.
    pub rate: Rate,
    /// Share of the MPDUs that are lost.
    pub error: f64,
    /// Weight among stations in the access point's turns; 1 on average.
    pub weight: f64,
    /// Index of the link to it, and of that from it.
    pub links: [usize; 2],
}

impl Wifi {
    /// Index of the access point's first link.
    pub fn first(&self) -> usize {
        self.stations[0].links[0]
    }

    /// The stations by the lists of those that are alike, in order.
    pub fn lists(&self) -> impl Iterator<Item = &[Station]> {
        self.stations.chunk_by(|one, next| one.list == next.list)
    }
}

/// Stations that are alike, as they are written.
struct Stations<'a> {
    at: String,
    name: String,
    table: &'a Table,
    /// `None`: one, whose links have no number.
    count: Option<u32>,
    rate: Rate,
    error: f64,
    airtime: Option<f64>,
    each: bool,
    first: usize,
}

impl Stations<'_> {
    fn count(&self) -> usize {
        self.count.unwrap_or(1) as usize
    }

    fn name_of(&self, i: usize) -> String {
        if self.count.is_some() { format!("{}-{i}", self.name) } else { self.name.clone() }
    }
}

/// A cell as it is written.
pub struct CellShape<'a> {
    name: String,
    table: &'a Table,
    lists: Vec<Stations<'a>>,
    wifi: Wifi,
    is_before_2025: bool,
}

/// `[wifi]` and `[[stations]]`, if there are any; their links come after the `first` of the scenario.
pub fn read_cell<'a>(top: &mut TableReader<'a, '_>, first: usize) -> Option<CellShape<'a>> {
    let tables = top.tables("stations");
    if top.raw("wifi").is_none() && tables.is_empty() {
        return None;
    }
    let table = top.section("wifi")?;
    if tables.is_empty() {
        top.miss("stations");
        return None;
    }
    let others = ["sites", "plans", "lines", "fabric"].into_iter().filter(|key| top.raw(key).is_some());
    if let Some(key) = others.collect::<Vec<_>>().first() {
        top.refuse(key, "cannot be combined with [wifi]; leave one of them out");
        return None;
    }
    let before = top.found().len();
    let mut of = TableReader::new(table, "wifi", &WIFI, top.found());
    let name = of.name("wifi");
    let wifi = read_wifi(&mut of);
    let is_before_2025 = of.word("codel", "state of mac80211") == Some("linux-6.14");
    let lists: Vec<_> = tables.into_iter().filter_map(|table| read_stations(table, top.found())).collect();
    let mut seen = BTreeSet::new();
    for list in lists.iter().filter(|list| !seen.insert(&list.name)) {
        top.found().push(Problem::new(format!("{}.name", list.at), "this name is used twice"));
    }
    let count: usize = lists.iter().map(Stations::count).sum();
    if count > MAX_STATIONS {
        top.refuse("stations", format!("the cell has {count}; at most {MAX_STATIONS}"));
    }
    let taken: f64 = lists.iter().map(|list| list.airtime.unwrap_or(0.0) * list.count() as f64).sum();
    if taken > 1.0 + 1e-9 {
        top.refuse("stations", format!("their airtime adds up to {taken}; at most 1"));
    }
    if taken > 1.0 - 1e-9 && lists.iter().any(|list| list.airtime.is_none()) {
        top.refuse("stations", "their airtime adds up to 1, and leaves none for those that name none");
    }
    if top.found().len() > before {
        return None;
    }
    Some(lay_out(name, table, lists, wifi?, taken, is_before_2025, first))
}

fn read_wifi(of: &mut TableReader) -> Option<Wifi> {
    let [slot, sifs, preamble, block_ack] =
        ["slot", "sifs", "preamble", "block_ack"].map(|key| of.or_default::<Span>(key));
    let slot = slot.max(Span::from_nanos(1));
    let aifsn: u32 = of.or_default("aifsn");
    let windows: [u32; 2] = ["cw_min", "cw_max"].map(|key| of.or_default(key));
    let [retries, hardware_queue, driver_queue] =
        ["retries", "hardware_queue", "driver_queue"].map(|key| of.or_default(key));
    if windows[0] > windows[1] {
        of.refuse("cw_min", format!("\"{}\" is above cw_max, {}", windows[0], windows[1]));
    }
    let ampdu = read_ampdu(of)?;
    let queues = read_queues(of)?;
    let channel =
        RadioChannel { slot, sifs, aifs: Span(sifs.0 + u64::from(aifsn) * slot.0), windows, preamble, block_ack };
    Some(Wifi { channel, ampdu, retries, hardware_queue, driver_queue, queues, stations: Vec::new() })
}

fn read_ampdu(of: &mut TableReader) -> Option<Ampdu> {
    let empty = Table::new();
    let table = match of.raw("ampdu") {
        None => &empty,
        Some(Value::Table(table)) => table,
        Some(other) => {
            let form = "{ packets = 32, window = 64, bytes = \"65535 B\", time = \"4 ms\" }";
            of.refuse("ampdu", format!("expected {form}, found {}", kind(other)));
            return None;
        }
    };
    let mut ampdu = TableReader::new(table, "wifi.ampdu", &AMPDU, of.found());
    let packets: u32 = ampdu.or_default("packets");
    let window = ampdu.optional("window").unwrap_or(packets.max(64));
    if window < packets {
        ampdu.refuse("window", format!("\"{window}\" is below packets, {packets}"));
    }
    let bytes = ampdu.or_default::<Bytes>("bytes").0 as u32;
    let time = ampdu.or_default("time");
    ampdu.finish();
    Some(Ampdu { packets, window, bytes, time })
}

fn read_queues(of: &mut TableReader) -> Option<CellQueues> {
    let queues = of.word("queues", "kind of queues")?;
    let mut is_given = |key: &&'static str| of.raw(key).is_some_and(|value| *value != Value::Boolean(false));
    let given: Vec<_> = ["airtime_fairness", "aql", "codel"].into_iter().filter(&mut is_given).collect();
    let aql = match of.raw("aql") {
        Some(Value::Boolean(true)) => Some(Some(["5 ms", "12 ms", "24 ms"].map(String::from))),
        None | Some(Value::Boolean(false)) => Some(None),
        Some(Value::Array(limits)) => {
            let limits: Option<Vec<_>> = limits.iter().map(|limit| limit.as_str().map(String::from)).collect();
            limits.and_then(|limits| limits.try_into().ok()).map(Some)
        }
        Some(_) => None,
    };
    let limit = |text: String| Span::parse(&text);
    let aql = match aql.map(|limits| limits.map(|[low, high, all]| Ok([limit(low)?, limit(high)?, limit(all)?]))) {
        Some(None) => None,
        Some(Some(Ok::<_, String>(limits))) => Some(limits),
        wrong => {
            let why = wrong.flatten().and_then(Result::err).unwrap_or_default();
            let form = "true, false or [\"5 ms\", \"12 ms\", \"24 ms\"]: of a station, of one while all have less than the last";
            of.refuse(
                "aql",
                if why.is_empty() { format!("expected {form}") } else { format!("{why}; expected {form}") },
            );
            return None;
        }
    };
    let airtime_fairness = of.or_default("airtime_fairness");
    match (queues, given.first()) {
        ("shared", None) => Some(CellQueues::Shared),
        ("shared", Some(key)) => {
            of.refuse(key, "is for queues = \"stations\"; leave it out, or that");
            None
        }
        _ => Some(CellQueues::Stations { airtime_fairness, aql }),
    }
}

fn read_stations<'a>(table: &'a Table, found: &mut Vec<Problem>) -> Option<Stations<'a>> {
    let shown = table.get("name").and_then(Value::as_str).unwrap_or("0");
    let at = format!("stations.{}", clip(shown));
    let mut of = TableReader::new(table, &at, &STATIONS, found);
    if of.raw("name").is_none() {
        of.miss("name");
    }
    let name = of.name("0");
    let rate: Option<Rate> = of.required("rate");
    let has_count = of.raw("count").is_some();
    let count: Option<u32> = of.optional("count");
    let error = of.or_default("error");
    let airtime: Option<f64> = of.optional("airtime");
    let each = of.or_default("each");
    (has_count == count.is_some()).then_some(())?;
    Some(Stations { at, name, table, count, rate: rate?, error, airtime, each, first: 0 })
}

/// Numbers the links: those of the access point and the stations in pairs, or one for all stations and then those up.
fn lay_out<'a>(
    name: String,
    table: &'a Table,
    mut lists: Vec<Stations<'a>>,
    mut wifi: Wifi,
    taken: f64,
    is_before_2025: bool,
    first: usize,
) -> CellShape<'a> {
    let count: usize = lists.iter().map(Stations::count).sum();
    let others: usize = lists.iter().filter(|list| list.airtime.is_none()).map(Stations::count).sum();
    for list in &mut lists {
        list.first = wifi.stations.len();
        let share = list.airtime.unwrap_or_else(|| (1.0 - taken).max(0.0) / others as f64);
        for _ in 0..list.count() {
            let at = wifi.stations.len();
            let links = match wifi.queues {
                CellQueues::Shared => [first, first + 1 + at],
                CellQueues::Stations { .. } => [first + 2 * at, first + 2 * at + 1],
            };
            let weight = share * count as f64;
            let Stations { name, rate, error, .. } = &*list;
            wifi.stations.push(Station { list: name.clone(), rate: *rate, error: *error, weight, links });
        }
    }
    CellShape { name, table, lists, wifi, is_before_2025 }
}

impl CellShape<'_> {
    /// Names of the lists of stations.
    fn names(&self) -> Vec<&str> {
        self.lists.iter().map(|list| list.name.as_str()).collect()
    }

    /// The ways of the flows of the stations of a list, which go over these links before the access point, and back.
    pub fn branches(&self, list: &str, is_up: bool, has_acks: bool, wired: [&[usize]; 2]) -> Vec<Branch> {
        let Some(list) = self.lists.iter().find(|known| known.name == list) else { return Vec::new() };
        let branch = |number: usize| {
            let [down, up] = self.wifi.stations[list.first + number].links;
            let [there, back] = wired;
            let (path, ack_path) = match is_up {
                false => ([there, &[down]].concat(), [&[up], back].concat()),
                true => ([&[up], there].concat(), [back, &[down]].concat()),
            };
            let ack_path = if has_acks { ack_path } else { Vec::new() };
            Branch { number: (list.first + number) as u32, path, ack_path, region: 0 }
        };
        (0..list.count()).map(branch).collect()
    }

    /// The cell, whose links follow those of `links`, and lists of those that are alike.
    pub fn build(
        self,
        links: &mut Vec<LinkSpec>,
        context: &LinkContext,
        found: &mut Vec<Problem>,
    ) -> Option<(Wifi, Vec<AlikeLinks>)> {
        let mut alike = Vec::new();
        let all = self.wifi.stations.len() as f64;
        let mut specs: Vec<(usize, LinkSpec)> = Vec::new();
        if self.wifi.queues == CellQueues::Shared {
            let rate = self.lists.iter().map(|list| list.rate).fold(Rate(0.0), |a, b| if b > a { b } else { a });
            let first = self.wifi.first();
            let given = [("buffer", "1000 packets"), ("aqm", "droptail")];
            let spec = link(self.table, "wifi", rate, &given, first, context, found)?;
            let name = format!("{}-down", self.name);
            specs.push((first, LinkSpec { list: name.clone(), name, ..spec }));
        }
        for list in &self.lists {
            for (direction, label) in DIRECTIONS.into_iter().enumerate() {
                let of = |i: usize| self.wifi.stations[list.first + i].links[direction];
                let spec = match (direction, self.wifi.queues) {
                    (0, CellQueues::Shared) => continue,
                    (0, _) => {
                        let is_slow = self.is_before_2025 && list.rate.0 < SLOW * all;
                        let aqm = if is_slow { MAC80211_SLOW } else { MAC80211 };
                        let given = [("buffer", "8192 packets"), ("aqm", aqm)];
                        link(self.table, "wifi", list.rate, &given, of(0), context, found)?
                    }
                    _ => {
                        let given = [("buffer", "1000 packets"), ("aqm", "droptail"), ("fixed", "true")];
                        link(list.table, &list.at, list.rate, &given, of(0), context, found)?
                    }
                };
                let name = format!("{}-{label}", list.name);
                for i in 0..list.count() {
                    let own = format!("{}-{label}", list.name_of(i));
                    specs.push((of(i), LinkSpec { name: own, list: name.clone(), ..spec.clone() }));
                }
                if list.count.is_some() {
                    alike.push(AlikeLinks { name, links: (0..list.count()).map(of).collect(), each: list.each });
                }
            }
        }
        specs.sort_by_key(|(at, _)| *at);
        links.extend(specs.into_iter().map(|(_, spec)| spec));
        Some((self.wifi, alike))
    }
}

/// A link of the cell, the `index`-th of the scenario, whose table has keys of its own, too. What `given` has is the default.
fn link(
    table: &Table,
    at: &str,
    rate: Rate,
    given: &[(&str, &str)],
    index: usize,
    context: &LinkContext,
    found: &mut Vec<Problem>,
) -> Option<LinkSpec> {
    let mut problems = Vec::new();
    let section = if at == "wifi" { &WIFI } else { &STATIONS };
    let own = section.own();
    let mut reader = TableReader::new(table, at, section, &mut problems);
    reader.refuse_all(&["host", "classes"], "is that of a link of [[links]]; leave it out");
    let mut table = table.clone();
    own.iter().chain(&["host", "classes"]).for_each(|key| drop(table.remove(*key)));
    if at == "wifi" && table.remove("rate").is_some() {
        problems.push(Problem::new("wifi.rate", "is that of each station; write it in [[stations]]"));
    }
    table.insert("rate".into(), rate.text().into());
    for (key, value) in given {
        let value: Value = if *value == "true" { true.into() } else { (*value).into() };
        table.entry(*key).or_insert(value);
    }
    let spec = read_link(&table, at, index, context, &mut problems);
    note_of_link(problems, &own, found);
    spec.map(|(spec, _)| spec)
}

/// A group of flows at stations, as one for each list of them that it names; any other as it is.
pub fn by_station(table: &Table, cell: Option<&CellShape>, room: &mut Room, found: &mut Vec<Problem>) -> Vec<Table> {
    let Some(value) = table.get("stations") else { return vec![table.clone()] };
    let name = table.get("name").and_then(Value::as_str).unwrap_or("flows");
    let mut refuse = |why: String| found.push(Problem::new(format!("flows.{}.stations", clip(name)), why));
    let Some(cell) = cell else {
        refuse("there are none; write [wifi] and [[stations]]".into());
        return Vec::new();
    };
    let known = cell.names();
    let Some(lists) = names(value, &known) else {
        refuse(format!("expected true, a name of [[stations]] or a list of these, found {}", kind(value)));
        return Vec::new();
    };
    if let Err(problem) = room.take(table, lists.len(), &format!("flows.{}", clip(name))) {
        found.push(problem);
        return Vec::new();
    }
    let mut tables = Vec::new();
    for list in lists {
        if !known.contains(&list) {
            refuse(unknown("name of [[stations]]", list, &known));
            continue;
        }
        let mut own = table.clone();
        if !value.is_str() {
            own.insert("name".into(), format!("{name}-{list}").into());
        }
        own.insert("stations".into(), list.into());
        tables.push(own);
    }
    tables
}

#[cfg(test)]
mod tests {
    use super::CellQueues;
    use crate::{Scenario, parse};
    use aqmlab_core::Span;

    const CELL: &str = r#"
schema = 1
duration = "1 s"

[[links]]
name = "line"
rate = "100 Mbit/s"
buffer = "100 packets"

[wifi]
queues = "stations"

[[stations]]
name = "near"
count = 2
rate = "144.4 Mbit/s"
each = true

[[stations]]
name = "far"
rate = "7.2 Mbit/s"
error = 0.1
buffer = "50 packets"

[[flows]]
name = "web"
stations = true
path = ["line"]
rtt = "20 ms"
tcp = "linux"

[[flows]]
name = "upload"
stations = "far"
direction = "up"
rtt = "20 ms"
tcp = "linux"

[[flows]]
name = "call"
kind = "udp-cbr"
rate = "80 kbit/s"
stations = ["near"]
rtt = "20 ms"
"#;

    fn read(from: &str, to: &str) -> Scenario {
        assert!(CELL.contains(from), "{from}");
        parse(&CELL.replacen(from, to, 1), "cell", &[]).unwrap()
    }

    fn names(scenario: &Scenario, links: &[usize]) -> Vec<String> {
        links.iter().map(|link| scenario.links[*link].name.clone()).collect()
    }

    #[test]
    fn stations_have_links_and_flows_ways_over_them() {
        let scenario = read("", "");
        let all: Vec<usize> = (0..scenario.links.len()).collect();
        let expected = ["line", "near-0-down", "near-0-up", "near-1-down", "near-1-up", "far-down", "far-up"];
        assert_eq!(names(&scenario, &all), expected);
        let of = |name: &str| scenario.flows.iter().find(|flows| flows.name == name).unwrap();
        let second = &of("web-near").branches[1];
        assert_eq!(names(&scenario, &second.path), ["line", "near-1-down"]);
        assert_eq!(names(&scenario, &second.ack_path), ["near-1-up"]);
        assert_eq!(names(&scenario, &of("web-far").branches[0].path), ["line", "far-down"]);
        assert_eq!((second.number, of("web-far").branches[0].number), (1, 2), "numbers are those of stations");
        let upload = &of("upload").branches[0];
        assert_eq!(
            (names(&scenario, &upload.path), names(&scenario, &upload.ack_path)),
            (vec!["far-up".into()], vec!["far-down".into()])
        );
        assert!(of("call-near").branches.iter().all(|branch| branch.ack_path.is_empty()));
        let places: Vec<&str> = scenario.places().into_iter().map(|(name, _)| name).collect();
        let expected = [
            "line",
            "far-down",
            "far-up",
            "near-down",
            "near-0-down",
            "near-1-down",
            "near-up",
            "near-0-up",
            "near-1-up",
        ];
        assert_eq!(places, expected);
    }

    #[test]
    fn queues_are_those_of_mac80211_or_one() {
        let limits = read("queues = \"stations\"", "aql = true\nairtime_fairness = false").wifi.unwrap().queues;
        let aql = Some([5, 12, 24].map(Span::from_millis));
        assert_eq!(limits, CellQueues::Stations { airtime_fairness: false, aql });
        let scenario = read("", "");
        let wifi = scenario.wifi.as_ref().unwrap();
        assert_eq!(wifi.queues, CellQueues::Stations { airtime_fairness: true, aql: None });
        assert_eq!(wifi.channel.aifs, Span::from_micros(16 + 3 * 9));
        assert_eq!(wifi.stations.iter().map(|station| station.weight).collect::<Vec<_>>(), [1.0; 3]);
        let aqm = |name: &str| scenario.links.iter().find(|link| link.name == name).unwrap().aqm.to_string();
        let fq = "fq-codel:flows=4096,quantum=300B,drop_batch=32,target=20ms,interval=100ms";
        assert_eq!((aqm("far-down").as_str(), aqm("near-1-up").as_str()), (fq, "droptail"));

        // Before Linux 6.15: far has less than 3 * 6 Mbit/s.
        let scenario = read("queues = \"stations\"", "codel = \"linux-6.14\"");
        let aqm = |name: &str| scenario.links.iter().find(|link| link.name == name).unwrap().aqm.to_string();
        assert_eq!(aqm("near-0-down"), fq);
        assert!(aqm("far-down").ends_with("target=50ms,interval=300ms,ecn=false"));

        let scenario = read("queues = \"stations\"", "queues = \"shared\"\naqm = \"fq-codel\"");
        let all: Vec<usize> = (0..scenario.links.len()).collect();
        assert_eq!(names(&scenario, &all), ["line", "wifi-down", "near-0-up", "near-1-up", "far-up"]);
        assert_eq!(scenario.links[1].aqm.name, "fq-codel");
    }

    #[test]
    fn weights_follow_from_airtime() {
        let scenario = read("error = 0.1", "airtime = 0.5");
        let weights: Vec<f64> = scenario.wifi.unwrap().stations.iter().map(|station| station.weight).collect();
        assert_eq!(weights, [0.75, 0.75, 1.5]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            ("rate = \"7.2 Mbit/s\"\n", "", "stations.far.rate: missing; write e.g. rate ="),
            ("error = 0.1", "airtime = 1.5", "stations.far.airtime: \"1.5\" is out of range: must lie in 0.0001 ..= 1"),
            ("each = true", "airtime = 0.6", "stations: their airtime adds up to 1.2; at most 1"),
            ("each = true", "airtime = 0.5", "stations: their airtime adds up to 1, and leaves none"),
            ("error = 0.1", "error = 1", "stations.far.error: \"1\" is out of range"),
            ("error = 0.1", "eror = 0.1", "stations.far.eror: unknown key"),
            ("name = \"far\"", "name = \"near\"", "stations.near.name: this name is used twice"),
            ("queues = \"stations\"", "queues = \"station\"", "wifi.queues: unknown kind of queues \"station\""),
            ("queues = \"stations\"", "queues = \"shared\"\naql = true", "wifi.aql: is for queues = \"stations\""),
            ("queues = \"stations\"", "aql = 5", "wifi.aql: expected true, false or"),
            ("queues = \"stations\"", "aql = [\"5 ms\", \"x\", \"9 ms\"]", "wifi.aql: "),
            ("queues = \"stations\"", "codel = \"old\"", "wifi.codel: unknown state of mac80211 \"old\""),
            ("queues = \"stations\"", "rate = \"1 Mbit/s\"", "wifi.rate: is that of each station"),
            ("queues = \"stations\"", "cw_min = 63\ncw_max = 31", "wifi.cw_min: \"63\" is above cw_max, 31"),
            ("queues = \"stations\"", "ampdu = { packets = 0 }", "wifi.ampdu.packets: \"0\" is out of range"),
            ("queues = \"stations\"", "ampdu = { windw = 9 }", "wifi.ampdu.windw: unknown key"),
            ("queues = \"stations\"", "slots = \"9 us\"", "wifi.slots: unknown key"),
            (
                "stations = \"far\"",
                "stations = \"fare\"",
                "flows.upload.stations: unknown name of [[stations]] \"fare\"",
            ),
            ("direction = \"up\"", "direction = \"out\"", "flows.upload.direction: unknown direction \"out\""),
            ("[wifi]\nqueues = \"stations\"\n", "", "wifi: missing"),
            ("[[flows]]", "[fabric]\n[[flows]]", "cannot be combined with [wifi]"),
        ] {
            assert!(CELL.contains(from), "{from}");
            let found = parse(&CELL.replacen(from, to, 1), "cell", &[]).unwrap_err().to_string();
            assert_eq!(found.matches(message).count(), 1, "{message}: {found}");
        }
        let change = "[[changes]]\nat = \"1 ms\"\npath = \"links.far-up.rate\"\nvalue = \"9 Mbit/s\"\n";
        let found = parse(&(CELL.to_string() + change), "cell", &[]).unwrap_err().to_string();
        assert!(found.contains("the rate of a station's radio cannot change"), "{found}");
    }
}
