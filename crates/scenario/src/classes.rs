//! Reads the classes that share a link: a tree, as Linux's HTB has it.

use crate::keys::{KeySpec, RATES, Section, ValueForm};
use crate::link_context::LinkContext;
use crate::sizing::{BUFFER, SizingBasis, limit, limit_text};
use crate::table_reader::{TableReader, places, scalar};
use crate::{AqmChoice, FlowSpec};
use aqmlab_aqm::Limit;
use aqmlab_aqm::disciplines::{HtbClass, HtbQueue, LEVELS};
use aqmlab_core::problem::clip;
use aqmlab_core::{Bytes, Problem, Quantity, Rate};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use toml::Value;

/// The bytes that a class may send at once.
const BYTES: (&str, &str) = ("1 B", "100 MB");

/// Keys of `[[links.classes]]`. `tc` adds the default burst to what the rate gives in a tick of the clock, which is next to nothing
/// with clocks of nanoseconds.
pub const CLASSES: Section = Section::new(&[&[
    KeySpec::new("name", ValueForm::Name, "Name of the class.").required("\"gold\""),
    KeySpec::new("parent", ValueForm::Text, "The class above it; without one it is a child of the link."),
    KeySpec::of::<Rate>("rate", "Guaranteed rate.").within(RATES.0, RATES.1).required("\"10 Mbit/s\""),
    KeySpec::of::<Rate>("ceil", "Ceiling up to which it borrows; default: the rate, so that nothing is borrowed.")
        .within(RATES.0, RATES.1),
    KeySpec::of::<Bytes>("burst", "Sent at once after a pause, at the rate.").within(BYTES.0, BYTES.1).or("1600 B"),
    KeySpec::of::<Bytes>("cburst", "Sent at once after a pause, at the ceiling.").within(BYTES.0, BYTES.1).or("1600 B"),
    KeySpec::of::<Bytes>(
        "quantum",
        "Sent in a turn; default: what the rate sends in 100 ms, at least 1000 B and at most 200 kB.",
    )
    .within(BYTES.0, BYTES.1),
    KeySpec::of::<u32>("prio", "Order in which classes borrow: the lowest first.").within("0", "7").or("0"),
    KeySpec::new("aqm", ValueForm::Scheme, "Scheme of a leaf's queue; default: that of the link."),
    KeySpec::new("buffer", BUFFER, "Capacity of a leaf's queue; times are at the ceiling. Default: that of the link."),
    KeySpec::new(
        "flows",
        ValueForm::List(&ValueForm::Text),
        "Groups of flows of a leaf; one leaf without `flows` has all others.",
    ),
]]);

/// Classes that share a link.
#[derive(Clone, Debug, Default)]
pub struct ClassTree {
    /// The classes, in the order of the file.
    pub classes: Vec<ClassSpec>,
    /// The leaf of each group of flows that crosses the link, by the index of the group.
    pub of_group: BTreeMap<usize, usize>,
}

/// A class of a link.
#[derive(Clone, Debug)]
pub struct ClassSpec {
    /// Its name.
    pub name: String,
    /// Its place in the tree, and what it may send. A leaf's queue has the index of its scheme in [`ClassTree::schemes`].
    pub htb: HtbClass,
    /// Scheme of its queue, if that is not the link's.
    pub aqm: Option<AqmChoice>,
    /// Groups of flows that it names.
    flows: Option<Vec<usize>>,
}

/// The quantum is the rate's bytes a second over this if a class says nothing (`r2q`), within these bounds.
const R2Q: f64 = 10.0;
const QUANTA: (f64, f64) = (1000.0, 200_000.0);

impl ClassTree {
    /// The schemes that leaves choose for themselves, each once. The queues of those that choose none have index 0, these from 1 on.
    pub fn schemes(&self) -> Vec<&AqmChoice> {
        let mut seen = BTreeSet::new();
        self.classes.iter().filter_map(|class| class.aqm.as_ref()).filter(|own| seen.insert(own.to_string())).collect()
    }

    /// Gives the queue of each leaf the index of its scheme.
    fn number_schemes(&mut self) {
        let models: BTreeMap<String, usize> =
            self.schemes().iter().enumerate().map(|(i, own)| (own.to_string(), 1 + i)).collect();
        for class in &mut self.classes {
            if let (Some(queue), Some(aqm)) = (&mut class.htb.queue, &class.aqm) {
                queue.model = models[&aqm.to_string()];
            }
        }
    }

    /// Classes, or the link as `None`, below which rates add up to more than their own: by name, with the sum and the rate.
    pub fn overbooked(&self, link: Rate) -> Vec<(Option<&str>, Rate, Rate)> {
        let mut sums = vec![0.0; self.classes.len() + 1];
        for class in &self.classes {
            sums[class.htb.parent.map_or(0, |parent| parent + 1)] += class.htb.rate.0;
        }
        let own = self.classes.iter().map(|class| (Some(class.name.as_str()), class.htb.rate));
        let shared = std::iter::once((None, link)).chain(own).zip(sums);
        let over = shared.filter(|((_, rate), sum)| *sum > rate.0 * (1.0 + 1e-9));
        over.map(|((name, rate), sum)| (name, Rate(sum), rate)).collect()
    }

    /// With every default filled in.
    pub fn resolved(&self, flows: &[FlowSpec]) -> Vec<Json> {
        let mut groups = vec![Vec::new(); self.classes.len()];
        for (group, leaf) in &self.of_group {
            groups[*leaf].push(flows[*group].name.as_str());
        }
        let class = |(class, groups): (&ClassSpec, Vec<&str>)| {
            let HtbClass { parent, rate, ceil, burst, cburst, prio, quantum, queue } = &class.htb;
            let own = queue.as_ref().and_then(|queue| queue.limit).map(|(limit, _)| limit_text(limit));
            json!({
                "name": class.name,
                "parent": parent.map(|parent| self.classes[parent].name.as_str()),
                "rate": rate.text(),
                "ceil": ceil.text(),
                "burst": format!("{burst} B"),
                "cburst": format!("{cburst} B"),
                "prio": prio,
                "quantum": format!("{quantum} B"),
                "aqm": class.aqm.as_ref().map(ToString::to_string),
                "buffer": own,
                "flows": groups,
            })
        };
        self.classes.iter().zip(groups).map(class).collect()
    }
}

/// Names of the classes of a link, and of the groups of flows, with their places.
struct Known<'a> {
    classes: BTreeMap<&'a str, usize>,
    groups: &'a BTreeMap<&'a str, usize>,
}

/// `[[links.classes]]` of the `index`-th link.
pub fn read_classes(link: &mut TableReader, index: usize, context: &LinkContext) -> Option<ClassTree> {
    let tables = link.tables("classes");
    if tables.is_empty() {
        return Some(ClassTree::default());
    }
    let names: Vec<&str> = tables.iter().map(|table| table.get("name").and_then(Value::as_str).unwrap_or("")).collect();
    let parents: BTreeSet<&str> =
        tables.iter().filter_map(|table| table.get("parent").and_then(Value::as_str)).collect();
    let known = Known { classes: places(names.iter().copied()), groups: &context.group_of };
    let basis = context.bases.of(index);
    let mut read = Vec::new();
    for (i, table) in tables.iter().enumerate() {
        let path = link.path(&format!("classes.{}", if names[i].is_empty() { i.to_string() } else { clip(names[i]) }));
        let mut class = TableReader::new(table, path, &CLASSES, link.found());
        if known.classes[names[i]] != i {
            class.refuse("name", format!("\"{}\" is the name of two classes", clip(names[i])));
        }
        read.push(read_class(&mut class, !parents.contains(names[i]), &known, basis));
        class.finish();
    }
    let classes: Vec<ClassSpec> = read.into_iter().collect::<Option<_>>()?;
    let mut tree = ClassTree { classes, of_group: BTreeMap::new() };
    let mut problems = shape(&tree.classes);
    if problems.is_empty() {
        problems = place(&mut tree, &context.bases.groups(index), context.flows);
    }
    let is_right = problems.is_empty();
    for (name, key, why) in problems {
        let path = link.path(&if name.is_empty() { key.to_string() } else { format!("classes.{name}.{key}") });
        link.found().push(Problem::new(path, why));
    }
    tree.number_schemes();
    is_right.then_some(tree)
}

fn read_class(class: &mut TableReader, is_leaf: bool, known: &Known, basis: SizingBasis) -> Option<ClassSpec> {
    if class.raw("name").is_none() {
        class.miss("name");
    }
    let name = class.name("class");
    let parent = class.text("parent").and_then(|parent| {
        let found = known.classes.get(parent).copied();
        if found.is_none() {
            class.refuse_unknown("parent", "class", parent, known.classes.keys().copied());
        }
        found
    });
    let rate: Option<Rate> = class.required("rate");
    let ceil: Option<Rate> = if class.raw("ceil").is_some() { class.optional("ceil") } else { rate };
    if let (Some(rate), Some(ceil)) = (rate, ceil)
        && ceil.0 < rate.0
    {
        class.refuse("ceil", format!("\"{}\" is below the rate, \"{}\"", ceil.text(), rate.text()));
    }
    let [burst, cburst] = ["burst", "cburst"].map(|key| class.or_default::<Bytes>(key).0.round() as u32);
    let usual = rate.map_or(QUANTA.0, |rate| (rate.0 / 8.0 / R2Q).clamp(QUANTA.0, QUANTA.1));
    let quantum = class.optional("quantum").unwrap_or(Bytes(usual)).0.round() as u32;
    if !is_leaf {
        class.refuse_all(&["prio", "aqm", "buffer", "flows"], "is a leaf's, and this class has classes below it");
    }
    let prio = class.or_default::<u32>("prio") as u8;
    let aqm = class.text("aqm").and_then(|text| AqmChoice::parse(text).map_err(|why| class.refuse("aqm", why)).ok());
    let own = class.raw("buffer").and_then(|value| {
        let text = scalar(value).unwrap_or_default();
        limit(&text, ceil, basis).map_err(|why| class.refuse("buffer", why)).ok()
    });
    let queue = HtbQueue { model: 0, limit: own.map(|own: Limit| (own, basis.packets(own))) };
    let flows = class.raw("flows").map(|value| read_flows(class, value, known));
    let queue = is_leaf.then_some(queue);
    let htb = HtbClass { parent, rate: rate?, ceil: ceil?, burst, cburst, prio, quantum, queue };
    Some(ClassSpec { name, htb, aqm, flows })
}

fn read_flows(class: &mut TableReader, value: &Value, known: &Known) -> Vec<usize> {
    let names: Option<Vec<&str>> = value.as_array().and_then(|items| items.iter().map(Value::as_str).collect());
    let Some(names) = names else {
        class.refuse("flows", "expected a list of groups of flows such as [\"web\"]");
        return Vec::new();
    };
    let mut found = Vec::new();
    for name in names {
        match known.groups.get(name) {
            Some(group) => found.push(*group),
            None => class.refuse_unknown("flows", "group of flows", name, known.groups.keys().copied()),
        }
    }
    found
}

/// A class by name, its key, and what is wrong with it.
type ClassProblem = (String, &'static str, String);

/// Most classes above a class.
const MOST_ABOVE: usize = LEVELS - 2;

/// Classes must hang from the link, not too far from it.
fn shape(classes: &[ClassSpec]) -> Vec<ClassProblem> {
    let above = |place: &usize| classes[*place].htb.parent;
    let wrong = |place: usize| {
        let path: Vec<usize> = std::iter::successors(Some(place), above).take(MOST_ABOVE + 2).collect();
        let end = path.iter().skip(1).position(|other| *other == place);
        if let Some(end) = end {
            let names: Vec<&str> = path[..end + 2].iter().map(|place| classes[*place].name.as_str()).collect();
            return Some(format!("{} is a cycle", names.join(" below ")));
        }
        (path.len() > MOST_ABOVE + 1).then(|| format!("more than {MOST_ABOVE} classes are above it"))
    };
    let problem = |(place, class): (usize, &ClassSpec)| Some((class.name.clone(), "parent", wrong(place)?));
    classes.iter().enumerate().filter_map(problem).collect()
}

/// Finds the leaf of each group that crosses the link.
fn place(tree: &mut ClassTree, crossing: &BTreeSet<usize>, flows: &[FlowSpec]) -> Vec<ClassProblem> {
    let mut found = Vec::new();
    let mut rest = None;
    for (at, class) in tree.classes.iter().enumerate().filter(|(_, class)| class.htb.queue.is_some()) {
        let mut refuse = |why: String| found.push((class.name.clone(), "flows", why));
        let Some(groups) = &class.flows else {
            if let Some(other) = rest.replace(at) {
                let other: &ClassSpec = &tree.classes[other];
                refuse(format!(
                    "missing: it takes all flows that no class names, as \"{}\" does; name the flows of one",
                    other.name
                ));
            }
            continue;
        };
        for group in groups {
            let spec = &flows[*group];
            match tree.of_group.insert(*group, at) {
                _ if !crossing.contains(group) => refuse(format!("\"{}\" does not cross the link", spec.name)),
                Some(other) => refuse(format!("\"{}\" is in \"{}\" too", spec.name, tree.classes[other].name)),
                None => {}
            }
        }
    }
    for group in crossing {
        match (tree.of_group.contains_key(group), rest) {
            (true, _) => {}
            (false, Some(rest)) => drop(tree.of_group.insert(*group, rest)),
            (false, None) => {
                let name = &flows[*group].name;
                let why = format!(
                    "none takes \"{name}\", which crosses the link; name it in a class, or add one without flows"
                );
                found.push((String::new(), "classes", why));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use crate::parse;

    fn read(classes: &str) -> Result<crate::Scenario, String> {
        let flows = "[[flows]]\nname = \"a\"\nrtt = \"20 ms\"\n[[flows]]\nname = \"b\"\nrtt = \"20 ms\"\n";
        let text = format!(
            "schema = 1\nduration = \"1 s\"\n[[links]]\nname = \"up\"\nrate = \"10 Mbit/s\"\nbuffer = \"50 packets\"\n{classes}{flows}"
        );
        parse(&text, "test", &[]).map_err(|problems| problems.to_string())
    }

    fn class(name: &str, more: &str) -> String {
        format!("[[links.classes]]\nname = \"{name}\"\nrate = \"2 Mbit/s\"\n{more}\n")
    }

    #[test]
    fn a_tree_has_the_defaults_of_tc() {
        let inner = class("site", "ceil = \"10 Mbit/s\"");
        let leaves = class("x", "parent = \"site\"\nflows = [\"b\"]\naqm = \"codel\"")
            + &class("y", "parent = \"site\"\nprio = 2");
        let scenario = read(&(inner + &leaves)).unwrap();
        let tree = &scenario.links[0].classes;
        assert_eq!(tree.of_group, [(0, 2), (1, 1)].into());
        let [site, x, y] = &tree.classes[..] else { panic!("three classes") };
        assert_eq!((x.htb.parent, x.htb.ceil.0, x.htb.burst, x.htb.quantum), (Some(0), 2e6, 1600, 25_000));
        assert_eq!((&site.htb.queue, x.htb.queue.as_ref().unwrap().model), (&None, 1));
        assert_eq!((y.htb.prio, y.htb.queue.as_ref().unwrap().model), (2, 0));
        assert_eq!(scenario.notice().unwrap().matches("add up to").count(), 1, "4 Mbit/s in 2 Mbit/s");
    }

    #[test]
    fn what_is_wrong_with_a_tree_is_named() {
        let one = class("x", "flows = [\"a\", \"b\"]");
        for (classes, message) in [
            (
                class("x", "ceil = \"1 Mbit/s\""),
                "links.up.classes.x.ceil: \"1 Mbit/s\" is below the rate, \"2 Mbit/s\"",
            ),
            (class("x", "parent = \"z\""), "links.up.classes.x.parent: unknown class \"z\""),
            (class("x", "parent = \"y\"") + &class("y", "parent = \"x\""), "x below y below x is a cycle"),
            (class("x", "parent = \"x\""), "x below x is a cycle"),
            (one.clone() + &class("y", "flows = [\"a\"]"), "links.up.classes.y.flows: \"a\" is in \"x\" too"),
            (class("x", "flows = [\"c\"]"), "unknown group of flows \"c\""),
            (class("x", "flows = [\"a\"]"), "links.up.classes: none takes \"b\""),
            (class("x", "") + &class("y", ""), "links.up.classes.y.flows: missing"),
            (class("x", "") + &class("y", "parent = \"x\"") + &class("x", "flows = []"), "is the name of two classes"),
            (class("x", "prio = 1") + &class("y", "parent = \"x\""), "links.up.classes.x.prio: is a leaf's"),
            (class("x", "prio = 8"), "links.up.classes.x.prio: \"8\" is out of range"),
            (class("x", "aqm = \"coddle\""), "links.up.classes.x.aqm"),
            (class("x", "rat = 1"), "unknown key \"rat\""),
        ] {
            let found = read(&classes).unwrap_err();
            assert!(found.contains(message), "{message}: {found}");
        }
        let chain: String = (1..9).map(|i| class(&format!("c{i}"), &format!("parent = \"c{}\"", i - 1))).collect();
        assert!(read(&(class("c0", "") + &chain)).unwrap_err().contains("more than 6 classes are above it"));
    }
}
