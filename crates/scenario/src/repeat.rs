//! Lists of links that are alike but for their names, and groups of flows for each of them.

use crate::table_reader::kind;
use aqmlab_core::Problem;
use aqmlab_core::problem::clip;
use toml::{Table, Value};

/// Most links of a list.
const MOST: i64 = 10_000;

/// A table of the file, or one of those that it stands for: `at` is its path in the file, `is_first` tells that none came before it.
pub struct Repeated {
    pub at: String,
    pub table: Table,
    pub is_first: bool,
}

/// The links of each list, by its name, in order.
pub type LinkLists = Vec<(String, Vec<String>)>;

fn name_of<'a>(table: &'a Table, otherwise: &'a str) -> &'a str {
    table.get("name").and_then(Value::as_str).unwrap_or(otherwise)
}

/// Every `[[links]]`, those with a `count` as so many: NAME-0 and on.
pub fn repeat_links(tables: &[&Table], found: &mut Vec<Problem>) -> (Vec<Repeated>, LinkLists) {
    let (mut links, mut lists) = (Vec::new(), Vec::new());
    for table in tables {
        let name = name_of(table, "bottleneck");
        let at = format!("links.{}", clip(name));
        let Some(count) = table.get("count") else {
            links.push(Repeated { at, table: (*table).clone(), is_first: true });
            continue;
        };
        let Some(count) = count.as_integer().filter(|count| (1..=MOST).contains(count)) else {
            found.push(Problem::new(format!("{at}.count"), format!("expected a whole number in 1 ..= {MOST}")));
            continue;
        };
        let names: Vec<String> = (0..count).map(|i| format!("{name}-{i}")).collect();
        for (i, own) in names.iter().enumerate() {
            let mut table = (*table).clone();
            table.remove("count");
            table.insert("name".into(), own.clone().into());
            links.push(Repeated { at: at.clone(), table, is_first: i == 0 });
        }
        lists.push((name.to_string(), names));
    }
    (links, lists)
}

/// A group of flows, or with `each` one for each link of a list; in paths the name of a list stands for all of its links.
pub fn repeat_flows(mut table: Table, at: &str, lists: &LinkLists, found: &mut Vec<Problem>) -> Vec<Repeated> {
    for key in ["path", "ack_path"] {
        let Some(Value::Array(path)) = table.get_mut(key) else { continue };
        let links = |hop: &Value| match lists.iter().find(|(name, _)| hop.as_str() == Some(name)) {
            Some((_, links)) => links.iter().cloned().map(Value::String).collect(),
            None => vec![hop.clone()],
        };
        *path = path.iter().flat_map(links).collect();
    }
    let Some(each) = table.remove("each") else {
        return vec![Repeated { at: at.to_string(), table, is_first: true }];
    };
    let mut refuse = |key: &str, why: String| found.push(Problem::new(format!("{at}.{key}"), why));
    let Some((_, links)) = lists.iter().find(|(name, _)| each.as_str() == Some(name)) else {
        let known: Vec<&str> = lists.iter().map(|(name, _)| name.as_str()).collect();
        let given = each.as_str().map_or_else(|| kind(&each).to_string(), |name| format!("\"{}\"", clip(name)));
        let known = if known.is_empty() { "there is none".to_string() } else { known.join(", ") };
        refuse("each", format!("{given} is not a list of links, [[links]] with a count: {known}"));
        return Vec::new();
    };
    if table.contains_key("path") {
        refuse("path", "stands beside each, which gives every group one link; leave one of them out".into());
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
        for (from, to, told) in [
            ("count = 3", "count = 0", "links.hop.count: expected a whole number in 1 ..= 10000"),
            (
                "each = \"hop\"",
                "each = \"hpo\"",
                "flows.cross.each: \"hpo\" is not a list of links, [[links]] with a count: hop",
            ),
            ("each = \"hop\"", "each = \"hop\"\npath = [\"back\"]", "flows.cross.path: stands beside each"),
            ("rate = \"1 Mbit/s\"", "rate = \"1 Mbit\"", "links.hop.rate"),
            ("path = [\"hop\"]", "path = [\"hop-7\"]", "flows.long.path: unknown link \"hop-7\""),
        ] {
            let found = parse(&CHAIN.replacen(from, to, 1), "chain", &[]).unwrap_err().to_string();
            assert_eq!(found.matches(told).count(), 1, "{told}: {found}");
        }
    }
}
