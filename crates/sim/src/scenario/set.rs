//! `path = value` pairs, as of `--set`, over the text of a scenario.

use super::reader::{default_name, kind};
use aqmlab_core::problem::{clip, unknown};
use toml::{Table, Value};

/// Longest path; nothing in a scenario lies deeper.
const MAX_KEYS: usize = 8;

/// Sets `links.bottleneck.rate` and the like: list items go by their `name` or their index.
pub fn set(table: &mut Table, path: &str, text: &str) -> Result<(), String> {
    let mut keys: Vec<&str> = path.split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err("is not a path; write e.g. links.bottleneck.rate=\"15 Mbit/s\"".into());
    }
    if keys.len() > MAX_KEYS {
        return Err(format!("is a path of {} keys; at most {MAX_KEYS}", keys.len()));
    }
    let last = keys.pop().unwrap_or_default();
    let (mut place, mut keys) = (table, keys.into_iter());
    while let Some(key) = keys.next() {
        // A table that is not there is made; if it has no business there, the reader refuses it by name.
        let next = match place.entry(key).or_insert_with(|| Value::Table(Table::new())) {
            Value::Array(items) => {
                let name = keys.next().ok_or_else(|| format!("names a list; write {key}.NAME.{last}"))?;
                named_item(items, key, name)?
            }
            next => next,
        };
        place = match next {
            Value::Table(table) => table,
            other => return Err(format!("\"{}\" is {}, not a table", clip(key), kind(other))),
        };
    }
    let value = format!("value = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("value"));
    place.insert(last.to_string(), value.unwrap_or_else(|| Value::String(text.to_string())));
    Ok(())
}

fn named_item<'a>(items: &'a mut [Value], list: &str, name: &str) -> Result<&'a mut Value, String> {
    let names: Vec<String> =
        items.iter().map(|i| i.get("name").and_then(Value::as_str).unwrap_or(default_name(list)).to_string()).collect();
    let index = names.iter().position(|known| known == name).or_else(|| name.parse().ok().filter(|i| *i < items.len()));
    match index {
        Some(index) => Ok(&mut items[index]),
        None => Err(unknown(list.trim_end_matches('s'), name, &names.iter().map(String::as_str).collect::<Vec<_>>())),
    }
}
