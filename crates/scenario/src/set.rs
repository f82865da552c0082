//! `path = value` pairs, as of `--set`, over the text of a scenario.

use crate::table_reader::{default_name, kind};
use crate::tcp::table_of;
use aqmlab_core::problem::{clip, unknown};
use toml::{Table, Value};

/// The key whose text stands for a table.
const TCP: &str = "tcp";
/// Longest path; nothing in a scenario lies deeper.
const MAX_KEYS: usize = 8;

/// Sets `links.bottleneck.rate` and the like: list items go by their `name` or their index, or are all meant by `*`.
pub fn set(table: &mut Table, path: &str, text: &str) -> Result<(), String> {
    let keys: Vec<&str> = path.split('.').collect();
    if keys.iter().any(|key| key.is_empty()) {
        return Err("is not a path; write e.g. links.bottleneck.rate=\"15 Mbit/s\"".into());
    }
    if keys.len() > MAX_KEYS {
        return Err(format!("is a path of {} keys; at most {MAX_KEYS}", keys.len()));
    }
    let value = format!("value = {text}").parse::<Table>().ok().and_then(|mut t| t.remove("value"));
    put(table, &keys, &value.unwrap_or_else(|| Value::String(text.to_string())))
}

fn put(table: &mut Table, keys: &[&str], value: &Value) -> Result<(), String> {
    let (key, rest) = match keys {
        [] => return Ok(()),
        [last] => {
            table.insert((*last).to_string(), value.clone());
            return Ok(());
        }
        [key, rest @ ..] => (*key, rest),
    };
    // A table that is not there is made; if it has no business there, the reader refuses it by name.
    let inner = table.entry(key).or_insert_with(|| Value::Table(Table::new()));
    if let (TCP, Value::String(name)) = (key, &*inner)
        && let Ok(table) = table_of(name)
    {
        *inner = Value::Table(table);
    }
    match (inner, rest) {
        (Value::Table(inner), _) => put(inner, rest, value),
        (Value::Array(_), [last]) => Err(format!("names a list; write {key}.NAME.{last}")),
        (Value::Array(items), ["*", rest @ ..]) => {
            items.iter_mut().try_for_each(|item| put(as_table(item, key)?, rest, value))
        }
        (Value::Array(items), [name, rest @ ..]) => put(as_table(named_item(items, key, name)?, key)?, rest, value),
        (other, _) => Err(not_a_table(other, key)),
    }
}

fn as_table<'a>(value: &'a mut Value, key: &str) -> Result<&'a mut Table, String> {
    match value {
        Value::Table(table) => Ok(table),
        other => Err(not_a_table(other, key)),
    }
}

fn not_a_table(value: &Value, key: &str) -> String {
    format!("\"{}\" is {}, not a table", clip(key), kind(value))
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

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(path: &str, text: &str) -> Result<String, String> {
        let mut table: Table = "links = [{ name = \"up\", rate = 1 }, { name = \"down\", rate = 2 }]".parse().unwrap();
        set(&mut table, path, text)?;
        let rates = table["links"].as_array().unwrap().iter().map(|link| link["rate"].to_string());
        Ok(rates.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn one_item_of_a_list_or_all_of_them() {
        assert_eq!(changed("links.down.rate", "7"), Ok("1 7".into()));
        assert_eq!(changed("links.0.rate", "8 Mbit/s"), Ok("\"8 Mbit/s\" 2".into()));
        assert_eq!(changed("links.*.rate", "9"), Ok("9 9".into()));
    }

    #[test]
    fn a_name_of_tcp_is_a_table() {
        let mut table: Table = "tcp = \"sack\"".parse().unwrap();
        set(&mut table, "tcp.congestion_control", "cubic").unwrap();
        let tcp = |key: &str| table["tcp"].get(key).and_then(Value::as_str);
        assert_eq!((tcp("variant"), tcp("congestion_control")), (Some("sack"), Some("cubic")));
        let mut table: Table = "tcp = \"sock\"".parse().unwrap();
        assert!(set(&mut table, "tcp.congestion_control", "cubic").unwrap_err().contains("not a table"));
    }

    #[test]
    fn a_path_that_leads_nowhere_is_refused() {
        assert!(changed("links.rate", "7").unwrap_err().contains("links.NAME.rate"));
        assert!(changed("links.dwon.rate", "7").unwrap_err().contains("down"));
        assert!(changed("links.up.rate.x", "7").unwrap_err().contains("not a table"));
        assert!(changed("links..rate", "7").is_err());
    }
}
