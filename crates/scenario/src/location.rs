//! Locations of fields in a text of TOML.

use crate::table_reader::default_name;
use aqmlab_core::problem::{Location, Problem, ProblemKind};
use std::ops::Range;
use toml::de::{DeArray, DeTable, DeValue};

/// Most problems whose field is looked for in the text, so that the time grows as the text does.
const MOST: usize = 100;

/// Says of each problem where its field is written, or else the nearest table around it: the begin of the file of what is missing
/// there. A field that somebody wrote elsewhere has no location.
/// `set` are paths whose values come from elsewhere.
pub fn locate(problems: &mut [Problem], text: &str, file: &str, set: &[&str]) {
    let Ok(document) = DeTable::parse(text) else { return };
    let elsewhere: Vec<_> = set.iter().filter_map(|path| find(document.get_ref(), path)).collect();
    let is_set = |path: &str, found: &Match| {
        let is_same = |set: &&str| is_within(path, set) || (!found.is_whole && is_within(set, path));
        set.iter().any(is_same) || elsewhere.iter().any(|set| set.is_whole && set.value == found.value)
    };
    for problem in problems.iter_mut().filter(|problem| problem.location.is_none()).take(MOST) {
        let Some(found) = find(document.get_ref(), &problem.path) else {
            problem.location = (problem.kind == ProblemKind::Missing).then(|| location(text, file, &(0..0)));
            continue;
        };
        if !is_set(&problem.path, &found) {
            let span = if found.is_whole && problem.kind == ProblemKind::Key { found.key } else { found.value };
            problem.location = Some(location(text, file, &span));
        }
    }
    problems.sort_by_key(|problem| problem.location.as_ref().map_or((usize::MAX, 0), |at| (at.line, at.column)));
}

/// Line and column of a span of bytes.
pub fn location(text: &str, file: &str, span: &Range<usize>) -> Location {
    let (before, here) = (text.get(..span.start).unwrap_or(text), text.get(span.clone()).unwrap_or(""));
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    Location {
        file: file.to_string(),
        line: 1 + before.matches('\n').count(),
        column: 1 + before[start..].chars().count(),
        length: here.lines().next().map_or(1, |line| line.chars().count().max(1)),
    }
}

/// A path leads to another, or to something within it.
fn is_within(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The part of a path that is written, as spans of bytes.
struct Match {
    key: Range<usize>,
    value: Range<usize>,
    /// The whole path is there, not only a table around it.
    is_whole: bool,
}

/// Follows a path as far as it is written. Items of a list go by their `name` or their index.
fn find(root: &DeTable<'_>, path: &str) -> Option<Match> {
    let mut parts = path.split('.').peekable();
    let (mut table, mut found) = (root, None);
    while let Some((key, value)) =
        parts.next_if(|part| table.contains_key(*part)).and_then(|part| table.get_key_value(part))
    {
        found = Some(Match { key: key.span(), value: value.span(), is_whole: parts.peek().is_none() });
        table = match (value.get_ref(), parts.peek()) {
            (DeValue::Table(inner), Some(_)) => inner,
            (DeValue::Array(items), Some(name)) => {
                let Some(item) = item(items, key.get_ref(), name) else { break };
                parts.next();
                found = Some(Match { key: item.span(), value: item.span(), is_whole: parts.peek().is_none() });
                let DeValue::Table(inner) = item.get_ref() else { break };
                inner
            }
            _ => break,
        };
    }
    found
}

fn item<'a, 'i>(items: &'a DeArray<'i>, list: &str, name: &str) -> Option<&'a toml::Spanned<DeValue<'i>>> {
    let is_named = |item: &&toml::Spanned<DeValue<'_>>| {
        item.get_ref().get("name").map_or(Some(default_name(list)), |name| name.get_ref().as_str()) == Some(name)
    };
    items.iter().find(is_named).or_else(|| items.get(name.parse::<usize>().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "title = \"ü\"\n[[links]]\nrate = 1\n\n[[links]]\nname = \"up\"\nrates = 2 # no such key\nloss = { p = 3 }\n";

    fn at(path: &str, kind: ProblemKind, set: &[&str]) -> Option<(usize, usize, usize)> {
        let mut problems = [Problem::new(path, "is wrong").of(kind)];
        locate(&mut problems, TEXT, "my.toml", set);
        let [Problem { location, .. }] = problems;
        location.map(|at| (at.line, at.column, at.length))
    }

    #[test]
    fn values_keys_and_the_tables_around_what_is_missing() {
        assert_eq!(at("title", ProblemKind::Value, &[]), Some((1, 9, 3)));
        assert_eq!(at("links.bottleneck.rate", ProblemKind::Value, &[]), Some((3, 8, 1)));
        assert_eq!(at("links.up.rates", ProblemKind::Key, &[]), Some((7, 1, 5)));
        assert_eq!(at("links.1.loss.p", ProblemKind::Value, &[]), Some((8, 14, 1)));
        assert_eq!(at("links.up.delay", ProblemKind::Missing, &[]), Some((5, 1, 9)));
        assert_eq!(at("duration", ProblemKind::Missing, &[]), Some((1, 1, 1)));
        assert_eq!(at("duration", ProblemKind::Value, &["duration"]), None);
        assert_eq!(at("links.down.rate", ProblemKind::Value, &[]).map(|(line, ..)| line), Some(2));
    }

    #[test]
    fn what_is_set_from_elsewhere_is_not_in_the_text() {
        assert_eq!(at("links.up.rates", ProblemKind::Value, &["links.1.rates"]), None);
        assert_eq!(at("links.up.name", ProblemKind::Value, &["links.1.rates"]), Some((6, 8, 4)));
        assert_eq!(at("links.1.loss.p", ProblemKind::Value, &["links.1.loss"]), None);
        assert_eq!(at("links.up.delay", ProblemKind::Value, &["links.up.delay.x"]), None);
    }
}
