//! Lists of links that are alike but for their names, and groups of flows for each of them.

use crate::keys::KeySpec;
use crate::table_reader::kind;
use aqmlab_core::Problem;
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::clip;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// Links of a list.
pub const COUNT: KeySpec =
    KeySpec::of::<u32>("count", "A list of so many links, NAME-0 and on, that are alike.").within("1", "10000");
/// Most links of a scenario.
const MOST_LINKS: usize = 65_000;
/// Most lists that a message names.
const FEW: usize = 16;

/// The values that tables may have together which stand for several: a long table for many places would be a multiple of the text.
pub struct Room(usize);

impl Room {
    /// That of a scenario.
    pub fn of_scenario() -> Self {
        Self(1_000_000)
    }

    /// Takes the room of so many copies of a table; a problem at `at` if they do not fit.
    pub fn take(&mut self, table: &Table, copies: usize, at: &str) -> Result<(), Problem> {
        let own: usize = table.values().map(values).sum();
        let rest = self.0.checked_sub(own.saturating_mul(copies.saturating_sub(1)));
        self.0 = rest.ok_or_else(|| {
            Problem::new(at, format!("{own} values for each of {copies} places; write fewer of one or the other"))
        })?;
        Ok(())
    }
}

/// Values that a value consists of.
fn values(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(values).sum::<usize>(),
        Value::Table(table) => 1 + table.values().map(values).sum::<usize>(),
        _ => 1,
    }
}

/// A table of the file, or one of those that it stands for: `at` is its path in the file, `is_first` tells that none came before it.
pub struct Repeated {
    pub at: String,
    pub table: Table,
    pub is_first: bool,
}

/// The links of each list, in order, by its name.
pub type LinkLists = BTreeMap<String, Vec<String>>;

fn name_of<'a>(table: &'a Table, otherwise: &'a str) -> &'a str {
    table.get("name").and_then(Value::as_str).unwrap_or(otherwise)
}

/// Every `[[links]]`, those with a `count` as so many: NAME-0 and on.
pub fn repeat_links(tables: &[&Table], room: &mut Room, found: &mut Vec<Problem>) -> (Vec<Repeated>, LinkLists) {
    let (mut links, mut lists) = (Vec::new(), LinkLists::new());
    for table in tables {
        let name = name_of(table, "bottleneck");
        let at = format!("links.{}", clip(name));
        if links.len() >= MOST_LINKS {
            found.push(Problem::new("links", format!("more than {MOST_LINKS}")));
            break;
        }
        let Some(count) = table.get("count") else {
            links.push(Repeated { at, table: (*table).clone(), is_first: true });
            continue;
        };
        let text = count.as_integer().map(|count| count.to_string()).unwrap_or_default();
        let Ok(count) = read_in_range::<u32>(ParamInput::Text(&text), COUNT.range()) else {
            let (least, most) = COUNT.range().unwrap_or_default();
            found.push(Problem::new(format!("{at}.count"), format!("expected a whole number in {least} ..= {most}")));
            continue;
        };
        if let Err(problem) = room.take(table, count as usize, &at) {
            found.push(problem);
            continue;
        }
        let names: Vec<String> = (0..count).map(|i| format!("{name}-{i}")).collect();
        for (i, own) in names.iter().enumerate() {
            let mut table = (*table).clone();
            table.remove("count");
            table.insert("name".into(), own.clone().into());
            links.push(Repeated { at: at.clone(), table, is_first: i == 0 });
        }
        lists.entry(name.to_string()).or_insert(names);
    }
    (links, lists)
}

/// A group of flows, or with `each` one for each link of a list; in paths the name of a list stands for all of its links.
pub fn repeat_flows(
    mut table: Table,
    at: &str,
    lists: &LinkLists,
    room: &mut Room,
    found: &mut Vec<Problem>,
) -> Vec<Repeated> {
    for key in ["path", "ack_path"] {
        let Some(Value::Array(path)) = table.get_mut(key) else { continue };
        let links = |hop: &Value| match hop.as_str().and_then(|name| lists.get(name)) {
            Some(links) => links.iter().cloned().map(Value::String).collect(),
            None => vec![hop.clone()],
        };
        *path = path.iter().flat_map(links).take(MOST_LINKS).collect();
    }
    let Some(each) = table.remove("each") else {
        return vec![Repeated { at: at.to_string(), table, is_first: true }];
    };
    let mut refuse = |key: &str, why: String| found.push(Problem::new(format!("{at}.{key}"), why));
    let Some(links) = each.as_str().and_then(|name| lists.get(name)) else {
        let known: Vec<&str> = lists.keys().take(FEW).map(String::as_str).collect();
        let given = each.as_str().map_or_else(|| kind(&each).to_string(), |name| format!("\"{}\"", clip(name)));
        let known = if known.is_empty() { "there is none".to_string() } else { known.join(", ") };
        refuse("each", format!("{given} is not a list of links, [[links]] with a count: {known}"));
        return Vec::new();
    };
    if table.contains_key("path") {
        refuse("path", "cannot be combined with each, which gives every group one link; leave one of them out".into());
        return Vec::new();
    }
    if let Err(problem) = room.take(&table, links.len(), at) {
        found.push(problem);
        return Vec::new();
    }
    let name = name_of(&table, "flows").to_string();
    let own = |(i, link): (usize, &String)| {
        let mut table = table.clone();
        table.insert("name".into(), format!("{name}-{i}").into());
        table.insert("path".into(), vec![Value::String(link.clone())].into());
        Repeated { at: at.to_string(), table, is_first: i == 0 }
    };
    links.iter().enumerate().map(own).collect()
}

#[cfg(test)]
mod tests {
    use crate::parse;

    const CHAIN: &str = r#"
schema = 1
duration = "1 s"
[[links]]
name = "hop"
count = 3
rate = "1 Mbit/s"
buffer = "9 packets"
[[links]]
name = "back"
rate = "1 Mbit/s"
buffer = "9 packets"
[[flows]]
name = "long"
path = ["hop"]
ack_path = ["back"]
rtt = "9 ms"
tcp = "linux"
[[flows]]
name = "cross"
each = "hop"
count = 2
rtt = "9 ms"
tcp = "linux"
"#;

    #[test]
    fn a_count_stands_for_links_and_each_for_groups() {
        let scenario = parse(CHAIN, "chain", &[]).unwrap();
        let names: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
        assert_eq!(names, ["hop-0", "hop-1", "hop-2", "back"]);
        let flows: Vec<_> =
            scenario.flows.iter().map(|flows| (flows.name.as_str(), &flows.path[..], flows.count())).collect();
        let expected =
            [("long", &[0, 1, 2][..], 1), ("cross-0", &[0][..], 2), ("cross-1", &[1][..], 2), ("cross-2", &[2][..], 2)];
        assert_eq!(flows, expected);
        assert_eq!(scenario.flows[0].ack_path, [3]);
    }

    #[test]
    fn what_is_wrong_with_a_list_is_named_once() {
        for (from, to, message) in [
            ("count = 3", "count = 0", "links.hop.count: expected a whole number in 1 ..= 10000"),
            (
                "each = \"hop\"",
                "each = \"hpo\"",
                "flows.cross.each: \"hpo\" is not a list of links, [[links]] with a count: hop",
            ),
            ("each = \"hop\"", "each = \"hop\"\npath = [\"back\"]", "flows.cross.path: cannot be combined with each"),
            ("rate = \"1 Mbit/s\"", "rate = \"1 Mbit\"", "links.hop.rate"),
            ("path = [\"hop\"]", "path = [\"hop-7\"]", "flows.long.path: unknown link \"hop-7\""),
        ] {
            let found = parse(&CHAIN.replacen(from, to, 1), "chain", &[]).unwrap_err().to_string();
            assert_eq!(found.matches(message).count(), 1, "{message}: {found}");
        }
    }
}
