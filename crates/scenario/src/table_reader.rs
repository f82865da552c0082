//! Reads the keys of a TOML table one by one and remembers what is wrong with them.

use crate::keys::{KeySpec, Section, ValueForm};
use aqmlab_core::params::{ParamInput, read_in_range};
use aqmlab_core::problem::{ProblemKind, clip, unknown};
use aqmlab_core::{Problem, Problems, Quantity};
use std::collections::{BTreeMap, BTreeSet};
use toml::{Table, Value};

/// Unknown keys of a table that are named one by one.
const MOST_UNKNOWN: usize = 20;

/// A table being read by the declarations of its keys. Keys nobody asked for are refused by [`TableReader::finish`].
pub struct TableReader<'a, 'f> {
    table: &'a Table,
    path: String,
    section: &'static Section,
    /// The keys that come with the table's `kind`.
    of_kind: &'static [&'static [KeySpec]],
    asked: BTreeSet<&'static str>,
    found: &'f mut Vec<Problem>,
}

/// The values that fit a unit, for a message.
fn expected(unit: &str) -> &str {
    match unit {
        "1" => "a number",
        "switch" => "true or false",
        unit => unit,
    }
}

/// The name of an entry of a list that has none.
pub fn default_name(list: &str) -> &'static str {
    match list {
        "links" => "bottleneck",
        "controllers" => "controller",
        _ => "flows",
    }
}

/// The place of each name, the first of one that is used twice.
pub fn places<'a>(names: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut found = BTreeMap::new();
    for (at, name) in names.enumerate() {
        found.entry(name).or_insert(at);
    }
    found
}

/// A scalar as text that quantities are read from: `"80 ms"`, `0.002`, `true`.
pub fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(flag) => Some(flag.to_string()),
        _ => None,
    }
}

/// The kind of a value, for a message.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Table(_) => "a table",
        Value::Array(_) => "a list",
        Value::String(_) => "text",
        Value::Datetime(_) => "a date",
        Value::Boolean(_) => "true or false",
        Value::Integer(_) | Value::Float(_) => "a number",
    }
}

/// Adds the problems with a link that stands in a table with `own` keys besides; links that are alike have the same ones.
pub fn note_of_link(problems: Vec<Problem>, own: &[&str], found: &mut Vec<Problem>) {
    for mut problem in problems {
        if problem.kind == ProblemKind::Key {
            problem.reason = format!("{} or {}", problem.reason, own.join(", "));
        }
        if !found.contains(&problem) {
            found.push(problem);
        }
    }
}

/// The reason for refusing an unknown name; the nearest one is looked for only if the problem `is_kept`.
pub fn unknown_name<'n>(what: &str, name: &str, known: impl IntoIterator<Item = &'n str>, is_kept: bool) -> String {
    match is_kept {
        true => unknown(what, name, &known.into_iter().collect::<Vec<_>>()),
        false => format!("unknown {what} \"{}\"", clip(name)),
    }
}

/// The names that a value gives: all that are `known` if it is true, one, or a list of them.
pub fn names<'v>(value: &'v Value, known: &[&'v str]) -> Option<Vec<&'v str>> {
    match value {
        Value::Boolean(true) => Some(known.to_vec()),
        Value::String(name) => Some(vec![name]),
        value => value.as_array().and_then(|names| names.iter().map(Value::as_str).collect()),
    }
}

impl<'a, 'f> TableReader<'a, 'f> {
    /// Begins to read `table`, which stands at `path` and has the keys of `section`.
    pub fn new(
        table: &'a Table,
        path: impl Into<String>,
        section: &'static Section,
        found: &'f mut Vec<Problem>,
    ) -> Self {
        Self { table, path: path.into(), section, of_kind: &[], asked: BTreeSet::new(), found }
    }

    /// Its kind, by `kind`; the first of its section if there is none. From here on its keys are those of the kind, too.
    pub fn kind(&mut self) -> Option<&'static str> {
        let kinds = self.section.kinds;
        let given = self.text("kind");
        let kind = given.map_or(kinds.first(), |given| kinds.iter().find(|kind| kind.name == given));
        if let (Some(given), None) = (given, kind) {
            self.refuse("kind", unknown("kind", given, &kinds.iter().map(|kind| kind.name).collect::<Vec<_>>()));
        }
        self.of_kind = kind.map_or(&[], |kind| kind.keys);
        kind.map(|kind| kind.name)
    }

    /// The declaration of `key`.
    fn key(&self, key: &str) -> &'static KeySpec {
        let own = self.of_kind.iter().flat_map(|keys| keys.iter()).find(|known| known.name == key);
        own.or_else(|| self.section.key(key)).unwrap_or_else(|| panic!("key {key} is not declared"))
    }

    /// Path of `key` in this table.
    pub fn path(&self, key: &str) -> String {
        if self.path.is_empty() { clip(key) } else { format!("{}.{}", self.path, clip(key)) }
    }

    /// Notes a problem with `key`.
    pub fn refuse(&mut self, key: &str, reason: impl Into<String>) {
        self.push(key, reason, ProblemKind::Value);
    }

    /// Notes that there is no `what` of this name.
    pub fn refuse_unknown<'n>(&mut self, key: &str, what: &str, name: &str, known: impl IntoIterator<Item = &'n str>) {
        let reason = unknown_name(what, name, known, self.found.len() < Problems::MOST);
        self.refuse(key, reason);
    }

    /// Notes that `key` has to be there.
    pub fn miss(&mut self, key: &str) {
        let example = self.key(key).example.unwrap_or_default();
        self.miss_such(key, example);
    }

    /// Notes that `key` has to be there; `example` is what to write.
    pub fn miss_such(&mut self, key: &str, example: &str) {
        self.push(key, format!("missing; write e.g. {key} = {example}"), ProblemKind::Missing);
    }

    fn push(&mut self, key: &str, reason: impl Into<String>, kind: ProblemKind) {
        self.found.push(Problem::new(self.path(key), reason).of(kind));
    }

    /// Notes problems that carry their own paths.
    pub fn extend(&mut self, problems: Vec<Problem>) {
        self.found.extend(problems);
    }

    /// The list of problems, for a table within this one.
    pub fn found(&mut self) -> &mut Vec<Problem> {
        self.found
    }

    /// The raw value of `key`, if it is there.
    pub fn raw(&mut self, key: &'static str) -> Option<&'a Value> {
        debug_assert_eq!(self.key(key).name, key);
        self.asked.insert(key);
        self.table.get(key)
    }

    /// The raw value of what is not a declared key: a parameter, or a key of another table.
    pub fn parameter(&mut self, name: &'static str) -> Option<&'a Value> {
        self.asked.insert(name);
        self.table.get(name)
    }

    /// The quantity at `key`, if it is there, and right and in its range.
    pub fn optional<Q: Quantity>(&mut self, key: &'static str) -> Option<Q> {
        let value = self.raw(key)?;
        let text = scalar(value).ok_or_else(|| format!("expected {}, found {}", expected(Q::UNIT), kind(value)));
        let read = text.and_then(|text| read_in_range(ParamInput::Text(&text), self.key(key).range()));
        read.map_err(|reason| self.refuse(key, reason)).ok()
    }

    /// The quantity at `key`; its absence is a problem.
    pub fn required<Q: Quantity>(&mut self, key: &'static str) -> Option<Q> {
        if self.raw(key).is_none() {
            self.miss(key);
        }
        self.optional(key)
    }

    /// The quantity at `key`, or else its default; `None` if it is wrong.
    pub fn optional_or_default<Q: Quantity>(&mut self, key: &'static str) -> Option<Q> {
        if self.raw(key).is_some() { self.optional(key) } else { Some(self.default(key)) }
    }

    /// The quantity at `key`; its default if it is not there, and if it is wrong.
    pub fn or_default<Q: Quantity>(&mut self, key: &'static str) -> Q {
        self.optional(key).unwrap_or_else(|| self.default(key))
    }

    /// `value`, which was made of what stands at `key`, lies in the range of the key; else a problem is noted.
    pub fn is_in_range<Q: Quantity>(&mut self, key: &str, value: Q) -> bool {
        let within = read_in_range::<Q>(ParamInput::Text(&value.text()), self.key(key).range());
        within.map_err(|reason| self.refuse(key, reason)).is_ok()
    }

    fn default<Q: Quantity>(&self, key: &str) -> Q {
        let default = self.key(key).default.unwrap_or_else(|| panic!("key {key} has no default"));
        Q::parse(default).expect("declared defaults parse")
    }

    /// The word at `key`, or else its default; `None` if it is wrong. Messages call it `what`.
    pub fn word(&mut self, key: &'static str, what: &str) -> Option<&'static str> {
        let KeySpec { form: ValueForm::Words(words), default, .. } = *self.key(key) else {
            panic!("key {key} is declared as words")
        };
        let Some(given) = self.text(key) else { return default };
        let known = words.iter().copied().find(|word| *word == given);
        if known.is_none() {
            self.refuse(key, unknown(what, given, words));
        }
        known
    }

    /// Text at `key`.
    pub fn text(&mut self, key: &'static str) -> Option<&'a str> {
        match self.raw(key)? {
            Value::String(text) => Some(text),
            other => {
                self.refuse(key, format!("expected text, found {}", kind(other)));
                None
            }
        }
    }

    /// A name of something: not empty, letters, digits, `-` and `_`.
    pub fn name(&mut self, fallback: &str) -> String {
        let name = self.text("name").unwrap_or(fallback);
        let legal = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || name.len() > 64 || !name.chars().all(legal) {
            self.refuse("name", format!("\"{}\" is not a name: use up to 64 letters, digits, - and _", clip(name)));
            return fallback.to_string();
        }
        name.to_string()
    }

    /// The table at `key`, if it is there and one.
    pub fn inner<'s>(&'s mut self, key: &'static str) -> Option<TableReader<'a, 's>> {
        let KeySpec { form: ValueForm::Table(section), example, .. } = *self.key(key) else {
            panic!("key {key} is declared as a table")
        };
        match self.raw(key)? {
            Value::Table(table) => Some(TableReader::new(table, self.path(key), section, self.found)),
            other => {
                let example = example.unwrap_or_default();
                self.refuse(key, format!("expected a table, found {}; write e.g. {key} = {example}", kind(other)));
                None
            }
        }
    }

    /// The table `[key]`; its absence is a problem.
    pub fn section(&mut self, key: &'static str) -> Option<&'a Table> {
        match self.raw(key) {
            Some(Value::Table(table)) => return Some(table),
            Some(other) => {
                self.refuse(key, format!("expected a table, [{}], found {}", self.path(key), kind(other)));
            }
            None => self.miss(key),
        }
        None
    }

    /// Refuses those of these keys that are there.
    pub fn refuse_all(&mut self, keys: &[&'static str], reason: &str) {
        for key in keys {
            if self.parameter(key).is_some() {
                self.refuse(key, reason);
            }
        }
    }

    /// The tables of the list `[[key]]`.
    pub fn tables(&mut self, key: &'static str) -> Vec<&'a Table> {
        match self.raw(key) {
            None => Vec::new(),
            Some(Value::Array(items)) if items.iter().all(Value::is_table) => {
                items.iter().filter_map(Value::as_table).collect()
            }
            Some(other) => {
                self.refuse(key, format!("expected a list of tables, [[{key}]], found {}", kind(other)));
                Vec::new()
            }
        }
    }

    /// The tables of the list `[[key]]`, of which there must be one.
    pub fn some_tables(&mut self, key: &'static str) -> Vec<&'a Table> {
        if self.raw(key).is_none_or(|value| value.as_array().is_some_and(Vec::is_empty)) {
            self.push(key, format!("missing: a scenario needs at least one [[{key}]]"), ProblemKind::Missing);
        }
        self.tables(key)
    }

    /// Refuses every key that was not asked for.
    pub fn finish(mut self) {
        let known: Vec<&str> = self.asked.iter().copied().collect();
        let mut others = self.table.keys().filter(|key| !known.contains(&key.as_str()));
        for key in others.by_ref().take(MOST_UNKNOWN) {
            let reason = unknown("key", key, &known);
            self.push(key, reason, ProblemKind::Key);
        }
        if let (Some(key), more) = (others.next(), others.count()) {
            self.push(key, format!("unknown key, and {more} more; known: {}", known.join(", ")), ProblemKind::Key);
        }
    }
}
