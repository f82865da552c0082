//! Questions that a page may ask, and the answers.

use crate::page;
use aqmlab_core::{Problem, Problems};
use aqmlab_exercise::{ExerciseRequest, Known};
use aqmlab_scenario::{SchemeAssignment, parse};
use aqmlab_sim::{Options, run};
use serde::Deserialize;
use serde_json::{Value, json};

/// A question that a page may ask. Scenarios are texts of TOML, schemes are written as `--aqm` has them; times are in s.
#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
pub enum Question {
    /// A run from start to end: what [`Output::json`](aqmlab_sim::Output::json) says.
    Run {
        /// Text of the scenario.
        scenario: String,
        /// Name of the scenario.
        name: String,
        /// Values set in the scenario: path and text of each.
        #[serde(default)]
        set: Vec<(String, String)>,
        /// Scheme; by default the scenario's own.
        aqm: Option<String>,
        /// Seed of all random streams.
        #[serde(default = "first")]
        seed: u64,
        /// Record time series.
        #[serde(default)]
        series: bool,
    },
    /// A question about the exercises of a student.
    Exercise(ExerciseRequest),
    /// The problems of a scenario and of schemes that are to run in it, or its drawing: [`aqmlab_studio::check`].
    Check {
        /// `{"text": ..., "name": ..., "aqms": [...]}`, as JSON.
        request: String,
    },
    /// A request to the session of the page ([`Session::handle`](aqmlab_studio::Session::handle)): its `outputs`. A frame is bytes in
    /// memory, until the next question: where they begin, and how many they are.
    Request {
        /// The request, as JSON.
        text: String,
        /// Seconds of a clock that does not go back.
        now: f64,
    },
    /// A step of the session: its `outputs`.
    Step {
        /// Seconds of the clock.
        now: f64,
    },
    /// The time at which the next step is `due`; null while nothing plays. A page asks at the end of each request and step, because
    /// the answer measures how long these took.
    Due {
        /// Seconds of the clock.
        now: f64,
    },
}

thread_local! {
    static KNOWN: Known = Known::default();
}

/// The seed of a run that names none.
fn first() -> u64 {
    1
}

/// The answer to a question, which is JSON, as JSON; `{"problems": [...]}` if it is refused.
pub fn answer(question: &str) -> String {
    answered(question).unwrap_or_else(|Problems(problems)| {
        let problems: Vec<Value> = problems.iter().map(as_json).collect();
        json!({ "problems": problems }).to_string()
    })
}

fn answered(text: &str) -> Result<String, Problems> {
    let question = serde_json::from_str(text).map_err(|error| Problems::one("", error.to_string()))?;
    let answer = match question {
        Question::Run { scenario, name, set, aqm, seed, series } => {
            let aqm = aqm.as_deref().map(SchemeAssignment::parse).transpose();
            let aqm = aqm.map_err(|why| Problems::one("aqm", why))?;
            let options = Options { aqm, seed, series, ..Options::default() };
            return Ok(run(parse(&scenario, &name, &set)?, options)?.json());
        }
        Question::Exercise(request) => KNOWN.with(|known| aqmlab_exercise::answer(&request, known))?,
        Question::Check { request } => return aqmlab_studio::check(&request),
        Question::Request { text, now } => return Ok(page::request(&text, now)),
        Question::Step { now } => return Ok(page::step(now)),
        Question::Due { now } => json!({ "due": page::due(now) }),
    };
    Ok(answer.to_string())
}

/// A problem as a page reads it: path, reason, kind and, where it is known, line, column and length.
fn as_json(problem: &Problem) -> Value {
    let Problem { path, reason, kind, location } = problem;
    let at = location.as_ref();
    json!({
        "path": path, "reason": reason, "kind": kind.name(), "line": at.map(|at| at.line), "column": at.map(|at| at.column),
        "length": at.map(|at| at.length),
    })
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
        let mut found =
            asked(&json!({ "ask": "run", "scenario": SCENARIO, "name": "t", "set": set, "aqm": "codel", "seed": 3 }));
        let aqm = SchemeAssignment::parse("codel").ok();
        let options = Options { aqm, seed: 3, ..Options::default() };
        let mut expected = run(parse(SCENARIO, "t", &set).unwrap(), options).unwrap();
        found["result"]["engine"]["wall"] = json!(0.0);
        expected.result.engine.wall = 0.0;
        assert_eq!(found, serde_json::from_str::<Value>(&expected.json()).unwrap());
    }

    #[test]
    fn what_is_refused_is_named() {
        let refused = asked(&json!({ "ask": "run", "scenario": "schema = 1\ntitle = 3\n", "name": "t" }));
        let problems = refused["problems"].as_array().unwrap();
        let title = problems.iter().find(|problem| problem["path"] == "title").unwrap();
        assert_eq!(title["line"], 2, "what is missing stands before it, at line 1");
        let refused = asked(&json!({ "ask": "run", "scenario": SCENARIO, "name": "t", "aqm": "codle" }));
        assert!(refused["problems"][0]["reason"].as_str().unwrap().contains("codel"), "{refused}");
        let refused = asked(&json!({ "ask": "run", "scenario": SCENARIO, "name": "t", "threads": 2 }));
        assert!(refused["problems"][0]["reason"].as_str().unwrap().contains("threads"), "{refused}");
    }
}
