//! The engine in a web page: a scenario's text in, results out, both as JSON.
//!
//! The module imports nothing: neither clock nor network nor threads. A page writes a [`Request`] into memory that it gets from
//! [`aqmlab_allocate`], calls [`aqmlab_run`], reads the answer and gives both back by [`aqmlab_release`]; `engine.mjs` does that.
//! An answer is what [`Output::json`](aqmlab_sim::Output::json) says, or `{"problems": [...]}`. Results are those of every other way of running,
//! to the byte, but `engine.wall`, which is 0 for want of a clock.

#![allow(unsafe_code)] // a page and its module share memory; each function says what it is given

use aqmlab_core::{Problem, Problems};
use aqmlab_scenario::{SchemeAssignment, parse};
use aqmlab_sim::{Options, run};
use serde::Deserialize;
use serde_json::{Value, json};

/// A run that a page asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    /// Text of the scenario, TOML.
    scenario: String,
    /// Name of the scenario.
    name: String,
    /// Values set in the scenario: path and text of each.
    #[serde(default)]
    set: Vec<(String, String)>,
    /// Scheme, as `--aqm` has it; by default the scenario's own.
    aqm: Option<String>,
    /// Seed of all random streams.
    #[serde(default = "first")]
    seed: u64,
    /// Record time series.
    #[serde(default)]
    series: bool,
}

/// The seed of a run that names none.
fn first() -> u64 {
    1
}

/// The answer to a request.
pub fn answer(request: &str) -> String {
    answered(request).unwrap_or_else(|Problems(problems)| {
        let problems: Vec<Value> = problems.iter().map(told).collect();
        json!({ "problems": problems }).to_string()
    })
}

fn answered(request: &str) -> Result<String, Problems> {
    let refused = |path: &str, why: String| Problems(vec![Problem::new(path, why)]);
    let request: Request = serde_json::from_str(request).map_err(|error| refused("", error.to_string()))?;
    let scenario = parse(&request.scenario, &request.name, &request.set)?;
    let aqm = request.aqm.as_deref().map(SchemeAssignment::parse).transpose();
    let aqm = aqm.map_err(|error| refused("aqm", error.to_string()))?;
    let options = Options { aqm, seed: request.seed, series: request.series, ..Options::default() };
    let output = run(scenario, options).map_err(|error| refused("", error.to_string()))?;
    Ok(output.json())
}

/// A problem as a page reads it: path, reason, kind and, where it is known, line and column.
fn told(problem: &Problem) -> Value {
    let Problem { path, reason, kind, location } = problem;
    let place = location.as_ref().map(|at| (at.line, at.column));
    json!({ "path": path, "reason": reason, "kind": kind.name(), "line": place.map(|at| at.0), "column": place.map(|at| at.1) })
}

/// Memory for so many bytes.
#[unsafe(no_mangle)]
pub extern "C" fn aqmlab_allocate(bytes: usize) -> *mut u8 {
    Box::leak(vec![0; bytes].into_boxed_slice()).as_mut_ptr()
}

/// Gives back memory.
///
/// # Safety
/// `start` and `bytes` are of [`aqmlab_allocate`], or of an answer, and have not been given back yet.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_release(start: *mut u8, bytes: usize) {
    // SAFETY: both were leaked as a boxed slice of this length, and nobody else gives it back
    drop(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, bytes)) });
}

/// Answers a [`Request`]: returns where the answer begins, in the upper 32 bits, and its bytes, in the lower.
///
/// # Safety
/// `bytes` bytes of UTF-8 begin at `start`, and nothing changes them meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn aqmlab_run(start: *const u8, bytes: usize) -> u64 {
    // SAFETY: as this function asks
    let request = unsafe { std::slice::from_raw_parts(start, bytes) };
    let answer = answer(&String::from_utf8_lossy(request)).into_bytes().into_boxed_slice();
    let bytes = answer.len() as u64;
    (Box::leak(answer).as_mut_ptr().addr() as u64) << 32 | bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = include_str!("../../../python/aqmlab/scenarios/li2014/table-1.toml");

    fn asked(request: &Value) -> Value {
        serde_json::from_str(&answer(&request.to_string())).unwrap()
    }

    #[test]
    fn a_run_has_the_results_of_every_other_way_of_running() {
        let set = [("duration", "2 s"), ("warmup", "1 s")].map(|(path, text)| (path.to_owned(), text.to_owned()));
        let mut found = asked(&json!({ "scenario": SCENARIO, "name": "t", "set": set, "aqm": "codel", "seed": 3 }));
        let aqm = SchemeAssignment::parse("codel").ok();
        let options = Options { aqm, seed: 3, ..Options::default() };
        let mut expected = run(parse(SCENARIO, "t", &set).unwrap(), options).unwrap();
        found["result"]["engine"]["wall"] = json!(0.0);
        expected.result.engine.wall = 0.0;
        assert_eq!(found, serde_json::from_str::<Value>(&expected.json()).unwrap());
    }

    #[test]
    fn what_is_refused_is_named() {
        let refused = asked(&json!({ "scenario": "schema = 1\ntitle = 3\n", "name": "t" }));
        assert_eq!(refused["problems"][0]["path"], "title");
        assert_eq!(refused["problems"][0]["line"], 2);
        let refused = asked(&json!({ "scenario": SCENARIO, "name": "t", "aqm": "codle" }));
        assert!(refused["problems"][0]["reason"].as_str().unwrap().contains("codel"), "{refused}");
        let refused = asked(&json!({ "scenario": SCENARIO, "name": "t", "threads": 2 }));
        assert!(refused["problems"][0]["reason"].as_str().unwrap().contains("threads"), "{refused}");
    }
}
