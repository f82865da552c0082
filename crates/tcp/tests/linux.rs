//! Every segment that our sender sends, and when, beside those of a real Linux 7.3 under the same script: what it sends is recorded in
//! `validation/sequences/linux.jsonl`, what differs is explained in `explained.json` beside it (docs/validation-sequences.md).

#[path = "../examples/replay_sequences/path.rs"]
mod path;

use serde_json::Value;

/// Times may differ by so much.
const TOLERANCE: f64 = 1000.0; // us

fn read(name: &str) -> String {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/sequences");
    std::fs::read_to_string(format!("{folder}/{name}")).unwrap()
}

/// Segments with their times, µs.
fn sent(row: &Value) -> Vec<(u64, f64)> {
    let numbers = row["sent"].as_array().unwrap().iter().map(|number| number.as_u64().unwrap());
    numbers.zip(row["us"].as_array().unwrap().iter().map(|us| us.as_f64().unwrap())).collect()
}

#[test]
fn what_is_sent_and_when_is_that_of_linux_or_explained() {
    let scripts: Vec<Value> = serde_json::from_str(&read("scripts.json")).unwrap();
    let explained: Vec<Value> = serde_json::from_str(&read("explained.json")).unwrap();
    let is_explained = |name: &Value, law: &Value| {
        explained.iter().any(|entry| entry["name"] == *name && entry["laws"].as_array().unwrap().contains(law))
    };
    let (mut count, mut wrong) = (0, Vec::new());
    for row in read("linux.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let script = scripts.iter().find(|script| script["name"] == row["name"]).unwrap();
        let (ours, theirs) = (sent(&path::replay(script, row["law"].as_str().unwrap())), sent(&row));
        let is_near =
            |(our, their): (&(u64, f64), &(u64, f64))| our.0 == their.0 && (our.1 - their.1).abs() <= TOLERANCE;
        let is_equal = ours.len() == theirs.len() && ours.iter().zip(&theirs).all(is_near);
        if is_equal == is_explained(&row["name"], &row["law"]) {
            wrong.push(format!("{}, {}: {}", row["name"], row["law"], if is_equal { "equal" } else { "differs" }));
        }
        count += 1;
    }
    assert!(count >= 160 && wrong.is_empty(), "{wrong:#?}");
}
