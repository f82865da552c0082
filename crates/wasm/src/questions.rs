//! Questions that a page may ask, and the answers.

use crate::simulations::{self, Id};
use aqmlab_aqm::{Standing, entry};
use aqmlab_core::{Problem, Problems};
use aqmlab_exercise::{ExerciseRequest, Known};
use aqmlab_scenario::{Distribution, FlowSpec, LinkSpec, Scenario, SchemeAssignment, parse};
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
    /// A scenario described: its defaults filled in, its links and groups in numbers. A scheme that it cannot have is a problem.
    Describe {
        /// Text of the scenario.
        scenario: String,
        /// Name of the scenario.
        name: String,
        /// Scheme that is to run in it.
        aqm: Option<String>,
    },
    /// A simulation at its start, which stays until it is closed: its number.
    Open {
        /// Text of the scenario.
        scenario: String,
        /// Name of the scenario.
        name: String,
        /// Scheme; by default the scenario's own.
        aqm: Option<String>,
        /// Seed of all random streams.
        seed: u64,
    },
    /// Columns of the rows of `sample`, with these TCP flows, each a group and a number.
    Columns {
        /// The simulation.
        id: Id,
        /// Flows whose windows are wanted.
        flows: Vec<(String, usize)>,
    },
    /// Goes on to a time. The rows on the way, one each `every` s, are numbers of 32 bits in memory, until the next question: where they
    /// begin, how many numbers they are, and how many of them are a row.
    Sample {
        /// The simulation.
        id: Id,
        /// Time to go on to.
        until: f64,
        /// Time between rows.
        every: f64,
        /// Flows whose windows are wanted.
        flows: Vec<(String, usize)>,
    },
    /// Packets that wait at each link, by group.
    Content {
        /// The simulation.
        id: Id,
    },
    /// Flows of a group that have not been stopped.
    Count {
        /// The simulation.
        id: Id,
        /// The group.
        group: String,
    },
    /// Changes something now, as `[[changes]]` would.
    Set {
        /// The simulation.
        id: Id,
        /// The path of what is changed.
        path: String,
        /// Its new value.
        value: String,
    },
    /// The scheme of a link in a run.
    Used {
        /// The simulation.
        id: Id,
        /// The link.
        link: String,
        /// Scheme that the run has; by default the scenario's own.
        aqm: Option<String>,
    },
    /// Every parameter of a scheme as it runs here.
    Parameters {
        /// The simulation.
        id: Id,
        /// The scheme.
        aqm: String,
    },
    /// The title of a scheme, and what its law rests on.
    Title {
        /// Name of the scheme.
        scheme: String,
    },
    /// A copy that goes its own way: its number.
    Fork {
        /// The simulation.
        id: Id,
    },
    /// The measures so far; null before the warm-up is over.
    SoFar {
        /// The simulation.
        id: Id,
    },
    /// The scenario with all that was changed by hand.
    Toml {
        /// The simulation.
        id: Id,
    },
    /// Forgets a simulation.
    Close {
        /// The simulation.
        id: Id,
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
        let problems: Vec<Value> = problems.iter().map(told).collect();
        json!({ "problems": problems }).to_string()
    })
}

fn answered(text: &str) -> Result<String, Problems> {
    let question = serde_json::from_str(text).map_err(|error| Problems::one("", error.to_string()))?;
    let answer = match question {
        Question::Run { scenario, name, set, aqm, seed, series } => {
            let options = Options { aqm: assignment(aqm.as_deref())?, seed, series, ..Options::default() };
            return Ok(run(parse(&scenario, &name, &set)?, options)?.json());
        }
        Question::Exercise(request) => KNOWN.with(|known| aqmlab_exercise::answer(&request, known))?,
        Question::Describe { scenario, name, aqm } => {
            let scenario = parse(&scenario, &name, &[])?;
            scenario.check_schemes(assignment(aqm.as_deref())?.as_ref())?;
            described(&scenario)
        }
        Question::Open { scenario, name, aqm, seed } => {
            let options = Options { aqm: assignment(aqm.as_deref())?, seed, threads: 1, ..Options::default() };
            simulations::open(parse(&scenario, &name, &[])?, options)?
        }
        Question::Columns { id, flows } => simulations::columns(id, &flows)?,
        Question::Sample { id, until, every, flows } => simulations::sample(id, until, every, &flows)?,
        Question::Content { id } => simulations::content(id)?,
        Question::Count { id, group } => simulations::count(id, &group)?,
        Question::Set { id, path, value } => simulations::set(id, &path, &value)?,
        Question::Used { id, link, aqm } => simulations::used(id, &link, assignment(aqm.as_deref())?.as_ref())?,
        Question::Parameters { id, aqm } => simulations::parameters(id, &aqm)?,
        Question::Title { scheme } => title(&scheme)?,
        Question::Fork { id } => simulations::fork(id)?,
        Question::SoFar { id } => simulations::so_far(id)?,
        Question::Toml { id } => simulations::toml(id)?,
        Question::Close { id } => simulations::close(id)?,
    };
    Ok(answer.to_string())
}

/// The schemes that a text names.
fn assignment(aqm: Option<&str>) -> Result<Option<SchemeAssignment>, Problems> {
    aqm.map(SchemeAssignment::parse).transpose().map_err(|why| Problems::one("aqm", why))
}

fn title(scheme: &str) -> Result<Value, Problems> {
    let entry = entry(scheme).map_err(|why| Problems::one("aqm", why))?;
    let standing = match entry.standing {
        Standing::Published => "published",
        Standing::Fitted(_) => "fitted",
        Standing::Reconstructed(_) => "reconstructed",
    };
    Ok(json!({ "title": entry.info.title, "standing": standing }))
}

fn described(scenario: &Scenario) -> Value {
    json!({
        "name": scenario.name, "title": scenario.title, "resolved": scenario.resolved(),
        "duration": scenario.duration.seconds(), "warmup": scenario.warmup.seconds(), "sample": scenario.sample.seconds(),
        "links": scenario.places().into_iter().map(|(name, link)| link_of(name, &scenario.links[link])).collect::<Vec<_>>(),
        "groups": scenario.flows.iter().map(group_of).collect::<Vec<_>>(),
    })
}

fn link_of(name: &str, link: &LinkSpec) -> Value {
    json!({
        "name": name, "rate": link.rate.0, "delay": link.delay.seconds(), "packets": link.buffer_packets,
        "target_packets": link.target,
    })
}

fn group_of(flows: &FlowSpec) -> Value {
    let rtt = if let Distribution::Fixed(span) = &flows.rtt { Some(span.seconds()) } else { None };
    json!({
        "name": flows.name, "kind": flows.traffic.kind(), "count": flows.count(), "rtt": rtt, "ecn": flows.ecn.is_capable(),
        "rate": flows.traffic.rate().map(|rate| rate.0),
    })
}

/// A problem as a page reads it: path, reason, kind and, where it is known, line, column and length.
fn told(problem: &Problem) -> Value {
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
