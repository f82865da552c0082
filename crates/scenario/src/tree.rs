//! Reads trees: sites below sites, and below these the lines of subscribers, all by their counts.

use crate::impairments::WIRE;
use crate::keys::{KeySpec, RATES, Section, ValueForm};
use crate::link_context::LinkContext;
use crate::links::{QUEUE, read_link};
use crate::repeat::Room;
use crate::table_reader::{TableReader, kind, names, note_of_link, scalar};
use crate::{Branch, LinkSpec};
use aqmlab_core::problem::{clip, unknown};
use aqmlab_core::{Problem, Quantity, Rate, Span};
use toml::{Table, Value};

/// Most links of a tree.
const MAX_LINKS: usize = 65_000;
/// Most lists of sites, one below the other: each line has a path through all of them.
const MAX_LEVELS: usize = 100;
/// Most plans: each line is weighed against each plan.
const MAX_PLANS: usize = 1000;
/// Most regions below the root.
const MAX_REGIONS: usize = 63;
/// The directions, in the order of a place's links.
const DIRECTIONS: [&str; 2] = ["down", "up"];

const EACH: KeySpec = KeySpec::of::<bool>("each", "Results have each of the links, too.").or("false");

const fn direction(name: &'static str, doc: &'static str) -> KeySpec {
    KeySpec::of::<Rate>(name, doc).within(RATES.0, RATES.1).example("\"100 Mbit/s\"")
}

/// Keys of `[[sites]]`.
pub const SITES: Section = Section::new(&[
    &[
        KeySpec::new("name", ValueForm::Name, "Name of the sites of a level.").required("\"ap\""),
        KeySpec::of::<u32>("count", "Number of the sites.").within("1", "32000").or("1"),
        KeySpec::new("parent", ValueForm::Text, "The sites above, over which these are spread evenly."),
        direction("down", "Rate of the link down.").required("\"100 Mbit/s\""),
        direction("up", "Rate of the link up; without one, packets up do not queue at the site."),
        EACH,
    ],
    QUEUE,
    WIRE,
]);

/// Keys of `[[plans]]`.
pub const PLANS: Section = Section::new(&[
    &[
        KeySpec::new("name", ValueForm::Name, "Name of the plan.").required("\"fast\""),
        KeySpec::of::<f64>("share", "Weight of the plan among the access links.").within("0.000001", "1000000").or("1"),
        direction("down", "Rate of each access link down.").required("\"100 Mbit/s\""),
        direction("up", "Rate of each access link up.").required("\"100 Mbit/s\""),
        KeySpec::distribution::<Span>("rtt", "Round-trip propagation of its flows that have none of their own."),
        EACH,
    ],
    QUEUE,
    WIRE,
]);

/// Keys of `[lines]`.
pub const LINES: Section = Section::new(&[&[
    KeySpec::of::<u32>("count", "Number of access links.").within("1", "32000").required("10000"),
    KeySpec::new("parent", ValueForm::Text, "The sites above, over which the access links are spread evenly."),
    KeySpec::new(
        "only",
        ValueForm::Some(&ValueForm::of::<u32>()),
        "Numbers of the access links that are built; default: all.",
    ),
]]);

/// A tree of links, two for each line and each site: one from the root down and one up, which sites may lack.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Of each link of the scenario, the part of the tree that it is in: 0 for what all share, and for links that are not of the tree.
    pub regions: Vec<u16>,
    /// Number of regions.
    pub region_count: u16,
    /// Sites of the first list that has several, each with the links down to its lines; empty if lines hang from no such site.
    pub sites: Vec<(String, Vec<usize>)>,
    /// Sites below which rates add up to more than their own: list and direction, the sum and the rate.
    overbooked: Vec<(String, Rate, Rate)>,
}

/// Links that differ by their place only: of a list of sites, of the lines of a plan, or of a tier of a fabric, in one direction.
#[derive(Clone, Debug)]
pub struct AlikeLinks {
    /// That of list or plan with the direction, as in `fast-down`.
    pub name: String,
    /// Their indices, in the order of their numbers.
    pub links: Vec<usize>,
    /// Results have each of them, too.
    pub each: bool,
}

impl Tree {
    /// Warnings of what whoever wrote the tree may not have meant.
    pub(super) fn notices(&self) -> impl Iterator<Item = String> {
        self.overbooked.iter().map(|(list, sum, rate)| {
            format!("{list}: the rates of the sites below one add up to {}, more than its {}", sum.text(), rate.text())
        })
    }
}

/// A list of sites, or of the lines of a plan, as it is written.
struct List<'a> {
    /// Its path in the file.
    at: String,
    name: String,
    table: &'a Table,
    each: bool,
}

impl List<'_> {
    /// Links of each place; without one up, what goes up does not queue there.
    fn links(&self) -> usize {
        if self.table.contains_key(DIRECTIONS[1]) { 2 } else { 1 }
    }
}

/// A list of sites.
struct Sites<'a> {
    list: List<'a>,
    count: usize,
    parent: Option<&'a str>,
}

/// A plan of subscribers.
struct Plan<'a> {
    list: List<'a>,
    share: f64,
}

/// A line: its number, that among those of its plan whether they are built or not, and the place of its link down.
struct Line {
    number: usize,
    rank: u32,
    down: usize,
}

/// The shape of a tree: all of it but what its links are like.
pub struct TreeShape<'a> {
    /// From the root down.
    sites: Vec<Sites<'a>>,
    plans: Vec<Plan<'a>>,
    lines: Vec<Line>,
    /// Of each plan, the places of its lines in `lines`.
    of_plan: Vec<Vec<usize>>,
    /// Lines, whether they are built or not.
    count: usize,
    /// Of each site, the index of its link down; that of the link up, if there is one, is the next.
    down: Vec<Vec<usize>>,
    first: usize,
    regions: Vec<u16>,
    region_count: u16,
}

/// `[[sites]]`, `[[plans]]` and `[lines]`; its links come after the `first` of the scenario.
pub fn read_shape<'a>(top: &mut TableReader<'a, '_>, first: usize) -> Option<TreeShape<'a>> {
    let (site_tables, plan_tables, lines) = (top.tables("sites"), top.tables("plans"), top.raw("lines"));
    if site_tables.is_empty() && plan_tables.is_empty() && lines.is_none() {
        return None;
    }
    if plan_tables.is_empty() {
        top.miss("plans");
    }
    let before = top.found().len();
    for (key, tables, most) in [("sites", &site_tables, MAX_LEVELS), ("plans", &plan_tables, MAX_PLANS)] {
        if tables.len() > most {
            top.refuse(key, format!("there are {}; at most {most}", tables.len()));
            return None;
        }
    }
    let sites: Vec<Sites> = site_tables.into_iter().map(|table| read_sites(table, top.found())).collect();
    let plans: Vec<Plan> = plan_tables.into_iter().map(|table| read_plan(table, top.found())).collect();
    let table = top.section("lines")?;
    let mut lines = TableReader::new(table, "lines", &LINES, top.found());
    let count: Option<u32> = lines.required("count");
    let parent = lines.text("parent");
    if parent.is_none() && !sites.is_empty() && lines.raw("parent").is_none() {
        lines.miss_such("parent", &format!("\"{}\"", sites[sites.len() - 1].list.name));
    }
    let only = count.and_then(|count| read_only(&mut lines, count as usize));
    lines.finish();
    let sites = chain(sites, parent, top.found())?;
    if top.found().len() > before {
        return None;
    }
    let (count, only) = (count? as usize, only?);
    let shape = lay_out(sites, plans, count, only, first);
    if shape.regions.len() > MAX_LINKS {
        top.refuse("lines", format!("the tree has {} links; at most {MAX_LINKS}", shape.regions.len() - first));
        return None;
    }
    Some(shape)
}

fn read_sites<'a>(table: &'a Table, found: &mut Vec<Problem>) -> Sites<'a> {
    let mut sites = List::reader("sites", table, &SITES, found);
    let list = List::read("sites", table, &mut sites);
    let count = sites.or_default::<u32>("count") as usize;
    Sites { list, count, parent: sites.text("parent") }
}

fn read_plan<'a>(table: &'a Table, found: &mut Vec<Problem>) -> Plan<'a> {
    let mut plan = List::reader("plans", table, &PLANS, found);
    let list = List::read("plans", table, &mut plan);
    let share = plan.or_default("share");
    Plan { list, share }
}

/// The numbers of the lines to be built, in order.
fn read_only(lines: &mut TableReader, count: usize) -> Option<Vec<usize>> {
    let Some(value) = lines.raw("only") else { return Some((0..count).collect()) };
    let number = |value: &Value| value.as_integer().and_then(|number| usize::try_from(number).ok());
    let numbers: Option<Vec<usize>> = value.as_array().and_then(|numbers| numbers.iter().map(number).collect());
    let Some(mut numbers) = numbers.filter(|numbers| !numbers.is_empty()) else {
        lines.refuse("only", "expected a list of numbers of lines such as [0, 417]");
        return None;
    };
    if let Some(beyond) = numbers.iter().find(|number| **number >= count) {
        lines.refuse("only", format!("there is no line {beyond}; they are 0 to {}", count - 1));
        return None;
    }
    numbers.sort_unstable();
    numbers.dedup();
    Some(numbers)
}

/// The lists of sites from the root down to that which the lines hang from.
fn chain<'a>(mut sites: Vec<Sites<'a>>, parent: Option<&str>, found: &mut Vec<Problem>) -> Option<Vec<Sites<'a>>> {
    let mut refuse = |path: String, why: String| found.push(Problem::new(path, why));
    let (mut chain, mut of, mut below): (Vec<Sites>, _, _) =
        (Vec::new(), parent.map(String::from), "lines".to_string());
    while let Some(parent) = of {
        let Some(at) = sites.iter().position(|site| site.list.name == parent) else {
            if chain.iter().any(|site| site.list.name == parent) {
                let path: Vec<&str> =
                    chain.iter().map(|site| site.list.name.as_str()).chain([parent.as_str()]).collect();
                refuse(format!("{below}.parent"), format!("{} is a cycle", path.join(" below ")));
            } else {
                let known: Vec<&str> = sites.iter().chain(&chain).map(|site| site.list.name.as_str()).collect();
                refuse(format!("{below}.parent"), unknown("list of sites", &parent, &known));
            }
            return None;
        };
        let site = sites.remove(at);
        (of, below) = (site.parent.map(String::from), site.list.at.clone());
        chain.push(site);
    }
    for site in &sites {
        let why = match chain.iter().any(|known| known.list.name == site.list.name) {
            true => "this name is used twice",
            false => "there are no access links below these sites: a tree has one list of sites per level",
        };
        refuse(format!("{}.name", site.list.at), why.into());
    }
    chain.reverse();
    sites.is_empty().then_some(chain)
}

/// Numbers all links: first what all lines share, then region by region.
fn lay_out<'a>(
    sites: Vec<Sites<'a>>,
    plans: Vec<Plan<'a>>,
    count: usize,
    only: Vec<usize>,
    first: usize,
) -> TreeShape<'a> {
    let levels: Vec<usize> = sites.iter().map(|sites| sites.count).chain([count]).collect();
    let split = levels.iter().position(|count| *count > 1).unwrap_or(levels.len() - 1);
    let regions = levels[split].min(MAX_REGIONS);
    // The place above, at the level of the split, of the i-th at a level.
    let region = |level: usize, i: usize| {
        let at_split = (split..level).rev().fold(i, |i, above| i * levels[above] / levels[above + 1]);
        if level < split { 0 } else { 1 + at_split * regions / levels[split] }
    };
    let of_sites = (0..sites.len()).flat_map(|level| (0..levels[level]).map(move |i| (level, i)));
    let mut places: Vec<(usize, usize, usize)> =
        of_sites.chain(only.iter().map(|i| (sites.len(), *i))).map(|(level, i)| (region(level, i), level, i)).collect();
    places.sort_unstable();
    let mut down: Vec<Vec<usize>> = sites.iter().map(|sites| vec![0; sites.count]).collect();
    let (plan_of, mut lines, mut of_plan) = (plans_of(&plans, count), Vec::new(), vec![Vec::new(); plans.len()]);
    let mut link_regions = vec![0; first];
    for (region, level, i) in places {
        let link = link_regions.len();
        let links = sites.get(level).map_or(DIRECTIONS.len(), |sites| sites.list.links());
        link_regions.extend(std::iter::repeat_n(region as u16, links));
        match down.get_mut(level) {
            Some(of) => of[i] = link,
            None => {
                let (plan, rank) = plan_of[i];
                of_plan[plan].push(lines.len());
                lines.push(Line { number: i, rank, down: link });
            }
        }
    }
    TreeShape {
        sites,
        plans,
        lines,
        of_plan,
        count,
        down,
        first,
        regions: link_regions,
        region_count: regions as u16 + 1,
    }
}

/// The plan of each line, and its number among those of that plan: by shares, spread evenly.
fn plans_of(plans: &[Plan], count: usize) -> Vec<(usize, u32)> {
    let all: f64 = plans.iter().map(|plan| plan.share).sum();
    let mut taken = vec![0; plans.len()];
    let owed =
        |plan: usize, line: usize, taken: &[u32]| plans[plan].share / all * (line + 1) as f64 - f64::from(taken[plan]);
    let next = |line: usize| {
        let plan =
            (0..plans.len()).max_by(|a, b| owed(*a, line, &taken).total_cmp(&owed(*b, line, &taken)).then(b.cmp(a)));
        let plan = plan.expect("there is a plan");
        taken[plan] += 1;
        (plan, taken[plan] - 1)
    };
    (0..count).map(next).collect()
}

impl<'a> List<'a> {
    fn reader<'f>(
        of: &str,
        table: &'a Table,
        section: &'static Section,
        found: &'f mut Vec<Problem>,
    ) -> TableReader<'a, 'f> {
        let name = table.get("name").and_then(Value::as_str).unwrap_or("0");
        TableReader::new(table, format!("{of}.{}", clip(name)), section, found)
    }

    fn read(of: &str, table: &'a Table, reader: &mut TableReader<'a, '_>) -> Self {
        if reader.raw("name").is_none() {
            reader.miss("name");
        }
        let name = reader.name(of);
        reader.refuse_all(&["rate", "classes"], "is a link's; write down and up here");
        for key in DIRECTIONS {
            match reader.raw(key) {
                None if of == "sites" && key == DIRECTIONS[1] => {}
                None => reader.miss(key),
                Some(value) if scalar(value).is_none() => {
                    reader.refuse(key, format!("expected a rate, found {}", kind(value)));
                }
                Some(_) => {}
            }
        }
        let each = reader.or_default("each");
        Self { at: format!("{of}.{name}"), name, table, each }
    }

    /// A link of it in one direction, the `index`-th of the scenario.
    fn link(&self, direction: &str, index: usize, context: &LinkContext, found: &mut Vec<Problem>) -> Option<LinkSpec> {
        const OWN: [&str; 7] = ["count", "parent", "share", "rtt", "each", "down", "up"];
        let mut table = self.table.clone();
        OWN.iter().for_each(|key| drop(table.remove(*key)));
        table.insert("rate".into(), self.table[direction].clone());
        let mut own = Vec::new();
        let link = read_link(&table, &self.at, index, context, &mut own);
        for problem in &mut own {
            if let Some(at) = problem.path.strip_suffix(".rate") {
                problem.path = format!("{at}.{direction}");
            }
        }
        note_of_link(own, &OWN, found);
        link.map(|(link, _)| link)
    }
}

impl TreeShape<'_> {
    /// Names of its plans.
    pub fn plans(&self) -> Vec<&str> {
        self.plans.iter().map(|plan| plan.list.name.as_str()).collect()
    }

    /// The round trips of a plan's flows, as it has them.
    pub fn rtt(&self, plan: &str) -> Option<&Value> {
        self.plans.iter().find(|known| known.list.name == plan)?.list.table.get("rtt")
    }

    /// The way of the flows on each line of a plan; their ACKs queue on the way back if they have any.
    pub fn branches(&self, plan: &str, is_up: bool, has_acks: bool) -> Vec<Branch> {
        let Some(plan) = self.plans.iter().position(|known| known.list.name == plan) else { return Vec::new() };
        let branch = |line: &usize| {
            let line = &self.lines[*line];
            let (down, up) = self.paths(line);
            let (path, back) = if is_up { (up, down) } else { (down, up) };
            let ack_path = if has_acks { back } else { Vec::new() };
            Branch { number: line.rank, path, ack_path, region: self.regions[line.down] }
        };
        self.of_plan[plan].iter().map(branch).collect()
    }

    /// The links down to a line, and those up from it.
    fn paths(&self, line: &Line) -> (Vec<usize>, Vec<usize>) {
        let (mut down, mut up) = (vec![line.down], vec![line.down + 1]);
        for ((sites, links), i) in self.sites.iter().zip(&self.down).zip(self.above(line)).rev() {
            down.push(links[i]);
            up.extend((sites.list.links() > 1).then_some(links[i] + 1));
        }
        down.reverse();
        (down, up)
    }

    /// The tree, whose links follow those of `links`, and lists of those that are alike.
    pub fn build(
        &self,
        links: &mut Vec<LinkSpec>,
        context: &LinkContext,
        found: &mut Vec<Problem>,
    ) -> Option<(Tree, Vec<AlikeLinks>)> {
        let mut alike = Vec::new();
        let mut tree = Tree { regions: self.regions.clone(), region_count: self.region_count, ..Tree::default() };
        let mut specs: Vec<Option<LinkSpec>> = vec![None; self.regions.len() - self.first];
        let of_sites = self.sites.iter().zip(&self.down).map(|(sites, down)| {
            let name =
                |i: usize| if sites.count == 1 { sites.list.name.clone() } else { format!("{}-{i}", sites.list.name) };
            (&sites.list, down.iter().enumerate().map(|(i, down)| (name(i), *down)).collect::<Vec<_>>())
        });
        let of_plans = self.plans.iter().zip(&self.of_plan).map(|(of, lines)| {
            let lines = lines.iter().map(|line| &self.lines[*line]);
            (&of.list, lines.map(|line| (format!("line-{}", line.number), line.down)).collect())
        });
        for (list, places) in of_plans.chain(of_sites) {
            if places.is_empty() {
                continue; // a plan may have no line at all
            }
            for (i, direction) in DIRECTIONS.into_iter().enumerate().take(list.links()) {
                let index = places[0].1 + i;
                let Some(spec) = list.link(direction, index, context, found) else { continue };
                let of = format!("{}-{direction}", list.name);
                for (name, down) in &places {
                    let name = format!("{name}-{direction}");
                    specs[down + i - self.first] = Some(LinkSpec { name, list: of.clone(), ..spec.clone() });
                }
                let links = places.iter().map(|(_, down)| down + i).collect();
                alike.push(AlikeLinks { name: of, links, each: list.each });
            }
        }
        links.extend(specs.into_iter().collect::<Option<Vec<_>>>()?);
        tree.overbooked = self.overbooked(links);
        tree.sites = self.lines_of_sites();
        Some((tree, alike))
    }

    /// Sites of the first list that has several, each with the links down to its lines.
    fn lines_of_sites(&self) -> Vec<(String, Vec<usize>)> {
        let Some(split) = self.sites.iter().position(|sites| sites.count > 1) else { return Vec::new() };
        let name = |i: usize| (format!("{}-{i}", self.sites[split].list.name), Vec::new());
        let mut found: Vec<(String, Vec<usize>)> = (0..self.sites[split].count).map(name).collect();
        for line in &self.lines {
            found[self.above(line)[split]].1.push(line.down);
        }
        found
    }

    /// The site above a line at each level.
    fn above(&self, line: &Line) -> Vec<usize> {
        let (mut i, mut below) = (line.number, self.count);
        let mut found: Vec<usize> = Vec::new();
        for sites in self.sites.iter().rev() {
            i = i * sites.count / below;
            below = sites.count;
            found.push(i);
        }
        found.reverse();
        found
    }

    /// Lists of sites that have less than the sites below them, in one direction.
    fn overbooked(&self, links: &[LinkSpec]) -> Vec<(String, Rate, Rate)> {
        let mut found = Vec::new();
        for (above, below) in (0..self.sites.len()).zip(1..self.sites.len()) {
            let directions = self.sites[above].list.links().min(self.sites[below].list.links());
            for (i, direction) in DIRECTIONS.into_iter().enumerate().take(directions) {
                let each = self.sites[below].count.div_ceil(self.sites[above].count) as f64;
                let rate = |level: usize| links[self.down[level][0] + i].rate;
                if each * rate(below).0 > rate(above).0 * (1.0 + 1e-9) {
                    let name = format!("{}.{direction}", self.sites[above].list.at);
                    found.push((name, Rate(each * rate(below).0), rate(above)));
                }
            }
        }
        found
    }
}

/// A group of flows on lines, as one for each plan that it names; any other as it is.
pub fn by_plan(table: &Table, shape: Option<&TreeShape>, room: &mut Room, found: &mut Vec<Problem>) -> Vec<Table> {
    let Some(value) = table.get("lines") else { return vec![table.clone()] };
    let name = table.get("name").and_then(Value::as_str).unwrap_or("flows");
    let mut refuse = |why: String| found.push(Problem::new(format!("flows.{}.lines", clip(name)), why));
    let Some(shape) = shape else {
        refuse("there are none; write [lines], [[plans]] and, if you like, [[sites]]".into());
        return Vec::new();
    };
    let known = shape.plans();
    let Some(plans) = names(value, &known) else {
        refuse(format!("expected true, a plan or a list of plans, found {}", kind(value)));
        return Vec::new();
    };
    if let Err(problem) = room.take(table, plans.len(), &format!("flows.{}", clip(name))) {
        found.push(problem);
        return Vec::new();
    }
    let mut tables = Vec::new();
    for plan in plans {
        if !known.contains(&plan) {
            refuse(unknown("plan", plan, &known));
            continue;
        }
        let mut own = table.clone();
        own.insert("name".into(), format!("{name}-{plan}").into());
        own.insert("lines".into(), plan.into());
        if let (None, Some(rtt)) = (table.get("rtt"), shape.rtt(plan)) {
            own.insert("rtt".into(), rtt.clone());
        }
        tables.push(own);
    }
    tables
}

#[cfg(test)]
mod tests {
    use crate::{Scenario, parse};

    const TREE: &str = r#"
schema = 1
duration = "1 s"

[[sites]]
name = "town"
down = "1 Gbit/s"
delay = "1 ms"
buffer = "100 packets"

[[sites]]
name = "site"
count = 2
parent = "town"
down = "500 Mbit/s"
up = "500 Mbit/s"
buffer = "100 packets"

[[sites]]
name = "ap"
count = 3
parent = "site"
down = "200 Mbit/s"
buffer = "100 packets"

[[plans]]
name = "slow"
share = 2
down = "20 Mbit/s"
up = "5 Mbit/s"
rtt = "30 ms"
buffer = "100 packets"
aqm = "cake"

[[plans]]
name = "fast"
down = "100 Mbit/s"
up = "50 Mbit/s"
buffer = "100 packets"
each = true

[lines]
count = 6
parent = "ap"

[[flows]]
name = "web"
lines = ["slow", "fast"]
rtt = "20 ms"

[[flows]]
name = "upload"
lines = "slow"
direction = "up"
count = 2

[[flows]]
name = "call"
kind = "udp-cbr"
rate = "80 kbit/s"
lines = "slow"
rtt = "20 ms"
"#;

    fn read(text: &str) -> Result<Scenario, String> {
        parse(text, "tree", &[]).map_err(|problems| problems.to_string())
    }

    #[test]
    fn lines_hang_below_sites_and_plans_take_them_in_turn() {
        let scenario = read(TREE).unwrap();
        let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
        // Access points 0 and 1 hang from site 0, the third from site 1, and two lines from each.
        let expected = "town-down site-0-down site-0-up ap-0-down ap-1-down line-0-down line-0-up line-1-down line-1-up \
                        line-2-down line-2-up line-3-down line-3-up site-1-down site-1-up ap-2-down line-4-down line-4-up \
                        line-5-down line-5-up";
        assert_eq!(names.join(" "), expected);
        let tree = scenario.tree.as_ref().unwrap();
        assert_eq!((tree.region_count, &tree.regions[..3], &tree.regions[13..15]), (3, &[0, 1, 1][..], &[2, 2][..]));
        let groups: Vec<_> = scenario.flows.iter().map(|flows| (flows.name.as_str(), flows.count())).collect();
        assert_eq!(groups, [("web-slow", 4), ("web-fast", 2), ("upload-slow", 8), ("call-slow", 4)]);
        // Of every three lines the second is fast: 1 and 4.
        let way = |path: &[usize]| path.iter().map(|link| names[*link]).collect::<Vec<_>>().join(" ");
        let [_, web, upload, call] = &scenario.flows[..] else { panic!("four groups") };
        assert_eq!(way(&web.branches[1].path), "town-down site-1-down ap-2-down line-4-down");
        assert_eq!((way(&web.branches[1].ack_path), web.branches[1].number), ("line-4-up site-1-up".to_string(), 1));
        assert_eq!(way(&upload.branches[3].path), "line-5-up site-1-up");
        assert_eq!((upload.branches[3].region, upload.rtt.least().seconds()), (2, 0.03), "the plan's");
        assert_eq!((call.branches[0].ack_path.len(), call.count_of_line()), (0, 1));
        let (slow, fast) = (&scenario.links[5], &scenario.links[7]);
        assert_eq!((slow.rate.0, &*slow.aqm.name, fast.rate.0, &*fast.aqm.name), (2e7, "cake", 1e8, "droptail"));
        assert_eq!(tree.sites[1], ("site-1".to_string(), vec![16, 18]));
        assert!(scenario.alike.iter().any(|alike| alike.name == "fast-up" && alike.links == [8, 17] && alike.each));
        assert_eq!(scenario.notice(), None, "two sites of 500 Mbit/s fit into 1 Gbit/s");
    }

    #[test]
    fn lines_built_alone_are_those_of_the_whole_tree() {
        let all = read(TREE).unwrap();
        let some = read(&TREE.replace("count = 6", "count = 6\nonly = [4, 2]")).unwrap();
        assert_eq!(some.links.iter().filter(|link| link.name.starts_with("line")).count(), 4);
        let numbers = |scenario: &Scenario, group: usize| -> Vec<u32> {
            scenario.flows[group].branches.iter().map(|branch| branch.number).collect()
        };
        assert_eq!((numbers(&all, 0), numbers(&some, 0), numbers(&some, 1)), (vec![0, 1, 2, 3], vec![1], vec![1]));
    }

    #[test]
    fn sites_that_have_less_than_those_below_are_told() {
        let message = read(&TREE.replace("\"1 Gbit/s\"", "\"900 Mbit/s\"")).unwrap().notice().unwrap();
        assert!(message.contains("sites.town.down: the rates of the sites below one add up to 1 Gbit/s"), "{message}");
    }

    #[test]
    fn what_is_wrong_with_a_tree_is_named() {
        for (from, to, message) in [
            (
                "name = \"town\"",
                "name = \"town\"\nparent = \"ap\"",
                "sites.town.parent: ap below site below town below ap is a cycle",
            ),
            (
                "parent = \"town\"",
                "parent = \"twon\"",
                "sites.site.parent: unknown list of sites \"twon\"; did you mean \"town\"?",
            ),
            ("parent = \"town\"", "", "sites.town.name: there are no access links below these sites"),
            ("parent = \"ap\"", "", "lines.parent: missing"),
            ("down = \"100 Mbit/s\"", "down = \"fast\"", "plans.fast.down"),
            (
                "down = \"100 Mbit/s\"",
                "down = [[\"0 s\", \"1 Mbit/s\"]]",
                "plans.fast.down: expected a rate, found a list",
            ),
            ("down = \"100 Mbit/s\"", "rate = \"1 Mbit/s\"", "plans.fast.rate: is a link's; write down and up here"),
            ("up = \"50 Mbit/s\"", "", "plans.fast.up: missing"),
            ("share = 2", "sharp = 2", "plans.slow.sharp: unknown key"),
            ("share = 2", "share = 0", "plans.slow.share"),
            ("count = 6", "count = 6\nonly = [6]", "lines.only: there is no line 6; they are 0 to 5"),
            (
                "lines = \"slow\"",
                "lines = \"slwo\"",
                "flows.upload.lines: unknown plan \"slwo\"; did you mean \"slow\"?",
            ),
            ("direction = \"up\"", "direction = \"left\"", "flows.upload.direction: unknown direction \"left\""),
            ("direction = \"up\"", "path = [\"line-0-up\"]", "flows.upload.path: cannot be combined with lines"),
            ("rtt = \"30 ms\"", "", "flows.upload.rtt: missing"),
            ("rtt = \"30 ms\"", "rtt = \"0.5 ms\"", "flows.upload-slow.rtt: \"500 us\" is shorter"),
        ] {
            let found = read(&TREE.replacen(from, to, 1)).err().unwrap_or_else(|| "nothing".into());
            assert!(found.contains(message), "{message}: {found}");
        }
        let alone = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n[[flows]]\nlines = true\nrtt = \"9 ms\"\n";
        assert!(read(alone).unwrap_err().contains("flows.flows.lines: there are none"));
        let plan = "[[plans]]\nname = \"p\"\ndown = \"1 Mbit/s\"\nup = \"1 Mbit/s\"\n";
        let site = "[[sites]]\nname = \"s\"\ndown = \"1 Mbit/s\"\n";
        for (list, message) in [
            (plan.repeat(999), "plans: there are 1001; at most 1000"),
            (site.repeat(98), "sites: there are 101; at most 100"),
        ] {
            assert!(read(&format!("{TREE}{list}")).unwrap_err().contains(message), "{message}");
        }
        let large = TREE.replace("count = 3", "count = 2000").replace("count = 6", "count = 32000");
        assert!(read(&large).unwrap_err().contains("lines: the tree has 66005 links; at most 65000"));
    }
}
