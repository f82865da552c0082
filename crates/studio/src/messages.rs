//! The messages of a session: the requests of a page, and the messages to it. Times in s, rates in bit/s, queues in packets.
//!
//! `studio/src/messages.ts` is written from this file: `AQMLAB_WRITE=1 cargo test -p aqmlab-studio messages`.

use crate::error::{Refusal, ShownProblem};
use aqmlab_sim::RunResult;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_json::error::Category;
use serde_path_to_error::Segment;
use std::collections::BTreeMap;

/// Characters of a name, a path or a value.
const LONGEST_TEXT: usize = 1000;
/// Of a request: seconds, pixels; no scenario lasts as long.
const LARGEST_NUMBER: f64 = 1e9;
/// Simulated seconds per second; a slower speed is a pause.
const SLOWEST: f64 = 1e-6;

/// A request of a page.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(test, derive(ts_rs::TS), ts(tag = "type", optional_fields = nullable))]
pub(crate) enum Request {
    /// Opens a scenario, paused at its start; `opened` answers.
    Open(Opening),
    /// Plays on, up to a time or the end; `state` answers.
    Play {
        #[serde(default, deserialize_with = "seconds")]
        until: Option<f64>,
    },
    /// Stops here; `state` answers.
    Pause {},
    /// Plays on for a time, by default one sample; `state` answers at its end.
    Step {
        #[serde(default, deserialize_with = "seconds")]
        span: Option<f64>,
    },
    /// Sets the simulated seconds a second, null for as fast as it goes; `state` answers.
    Speed {
        #[serde(default, deserialize_with = "speed")]
        speed: Option<f64>,
    },
    /// The time that is in sight, and the pixels that it takes.
    View {
        #[serde(default, deserialize_with = "seconds")]
        span: Option<f64>,
        #[serde(default, deserialize_with = "pixels")]
        pixels: Option<f64>,
    },
    /// Changes something as `[[changes]]` would, in one lane or all; `changed` answers.
    Set {
        #[serde(deserialize_with = "short")]
        path: String,
        #[serde(deserialize_with = "short")]
        value: String,
        lane: Option<usize>,
    },
    /// Stops half of the flows, of one group or all; `changed` answers.
    Halve { group: Option<String> },
    /// Remembers the present; `marks` answers.
    Mark {
        #[serde(deserialize_with = "short")]
        name: String,
    },
    /// Forgets a mark; `marks` answers.
    Unmark { mark: u32 },
    /// Goes back to a mark; `opened` answers.
    Rewind { mark: u32 },
    /// A file to be saved; `export` answers.
    Export { what: String, lane: Option<usize> },
    /// A frame that has been drawn.
    Seen { sequence: u32 },
}

/// The request that opens a run.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields = nullable))]
pub(crate) struct Opening {
    /// A scenario by its name, unless there is a text.
    pub scenario: Option<String>,
    pub text: Option<String>,
    /// The name of a text.
    pub name: Option<String>,
    /// null: the schemes that the scenario has.
    pub aqms: Vec<Option<String>>,
    /// By default 1.
    pub seed: Option<u64>,
    pub sample: Option<f64>,
    /// Flows whose windows are shown.
    pub flows: Option<Vec<(String, u32)>>,
    /// The link for which a group of datagrams is added.
    pub blast: Option<String>,
}

/// Declares messages to a page, which TypeScript has too.
macro_rules! messages {
    ($($item:item)*) => {
        $(
            #[derive(Serialize)]
            #[cfg_attr(test, derive(ts_rs::TS))]
            $item
        )*
    };
}

messages! {
/// A message to a page.
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Message {
    Opened(Box<Opened>),
    State(State),
    Changed(Changed),
    Table(Measured),
    Export(Exported),
    Marks { marks: Vec<Mark> },
    Done { now: f64, lanes: Vec<Finished> },
    Problem { problems: Vec<ShownProblem> },
}

/// A run that has been opened, or gone back to.
pub(crate) struct Opened {
    /// Of the frames that belong to it.
    pub epoch: u32,
    pub name: String,
    /// The name of its files.
    pub file: String,
    pub title: String,
    pub text: String,
    pub seed: u64,
    pub now: f64,
    pub end: f64,
    pub warmup: f64,
    pub sample: f64,
    #[serde(flatten)]
    pub layout: Layout,
    pub lanes: Vec<Lane>,
    pub columns: Vec<Column>,
    pub content: Places,
    pub marks: Vec<Mark>,
}

/// The order of the numbers of a frame's content.
pub(crate) struct Places {
    pub links: Vec<String>,
    pub groups: Vec<String>,
}

/// The drawing of a scenario.
pub(crate) struct Layout {
    pub links: Vec<Link>,
    pub groups: Vec<Group>,
}

/// A link, left to right by `x`.
pub(crate) struct Link {
    pub name: String,
    pub x: usize,
    pub rate: f64,
    /// "varies" where it does.
    pub rate_text: String,
    /// The room of the queue, and the queue that schemes aim at, in packets; as the scenario writes it.
    pub packets: f64,
    pub target_packets: f64,
    pub delay: String,
    pub buffer: String,
    pub target: String,
    pub ecn: bool,
    pub aqm: String,
    pub fixed: bool,
}

/// A group of flows.
pub(crate) struct Group {
    pub name: String,
    pub kind: String,
    pub count: u32,
    pub rtt: Option<f64>,
    pub rtt_text: String,
    pub path: Vec<String>,
    pub ack_path: Vec<String>,
    pub ecn: bool,
    /// The congestion controller.
    pub law: Option<String>,
    pub rate: Option<f64>,
    pub start: String,
    pub stop: Option<String>,
}

/// A lane as it is now.
pub(crate) struct Lane {
    pub label: String,
    /// null: the schemes that the scenario has.
    pub aqm: Option<String>,
    #[cfg_attr(test, ts(type = "Record<string, Running>"))]
    pub links: BTreeMap<String, Running>,
    pub changes: Vec<Change>,
}

/// The scheme of a link with its parameters.
pub(crate) struct Running {
    pub aqm: String,
    #[cfg_attr(test, ts(type = "Record<string, string>"))]
    pub parameters: BTreeMap<String, String>,
}

/// A change by hand.
#[derive(Clone)]
pub(crate) struct Change {
    pub at: f64,
    pub path: String,
    pub value: String,
}

/// A column of a frame's rows.
pub(crate) struct Column {
    pub lane: Option<usize>,
    #[cfg_attr(test, ts(type = "\"time\" | \"link\" | \"scheme\" | \"group\" | \"flow\""))]
    pub of: &'static str,
    pub place: String,
    pub index: Option<usize>,
    pub name: &'static str,
    pub unit: &'static str,
}

/// A point to go back to.
pub(crate) struct Mark {
    pub mark: u32,
    pub name: String,
    pub at: f64,
}

/// The time of a session, and whether it plays.
pub(crate) struct State {
    pub playing: bool,
    pub speed: Option<f64>,
    pub now: f64,
    pub ended: bool,
}

/// The lanes after a change by hand.
pub(crate) struct Changed {
    pub now: f64,
    pub epoch: u32,
    pub columns: Vec<Column>,
    pub lanes: Vec<Lane>,
}

/// The measures of each lane by their full names, such as `links.bottleneck.queue_mean`; none before the warm-up is over.
pub(crate) struct Measured {
    pub now: f64,
    #[cfg_attr(test, ts(type = "Record<string, number | null>[]"))]
    pub lanes: Vec<BTreeMap<String, Value>>,
}

/// A file to be saved.
pub(crate) struct Exported {
    pub what: &'static str,
    pub name: String,
    pub media: String,
    pub text: String,
}

/// The result of a lane.
pub(crate) struct Finished {
    pub label: String,
    #[cfg_attr(test, ts(type = "unknown"))]
    pub result: Option<RunResult>,
}
}

/// A message with the id of the request that it answers, as JSON.
pub fn written(message: &Message, id: &Value) -> String {
    #[derive(Serialize)]
    struct Answer<'a> {
        #[serde(flatten)]
        message: &'a Message,
        #[serde(skip_serializing_if = "Value::is_null")]
        id: &'a Value,
    }
    serde_json::to_string(&Answer { message, id }).expect("plain numbers and text always serialise")
}

/// The type and the id of a request.
#[derive(Deserialize)]
pub(crate) struct Head {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    pub id: Value,
}

/// The head of a text.
///
/// # Errors
/// If it is no JSON object.
pub fn head(text: &str) -> Result<Head, Refusal> {
    if !text.trim_start().starts_with('{') {
        return Err(Refusal::one("message", "expected a JSON object"));
    }
    serde_json::from_str(text).map_err(|error| match error.classify() {
        Category::Data => Refusal::one("message", format!("{error}; expected a type, which is a text")),
        _ => {
            let why =
                error.to_string().replace("unexpected end of hex escape", "half of a character (a lone surrogate)");
            Refusal::one("message", format!("is not JSON: {why}"))
        }
    })
}

/// The request in a text.
///
/// # Errors
/// Names the field that is not as it should be.
pub fn request(head: &Head, text: &str) -> Result<Request, Refusal> {
    fields(&format!("{{{}:{text}}}", Value::from(&*head.kind)), 1)
}

/// Reads what serde has declared. A problem has the name of the field `depth` levels down.
///
/// # Errors
/// Names the field that is not as it should be.
pub fn fields<'a, T: Deserialize<'a>>(text: &'a str, depth: usize) -> Result<T, Refusal> {
    serde_path_to_error::deserialize(&mut serde_json::Deserializer::from_str(text)).map_err(|error| {
        let mut names = error.path().iter().filter_map(|segment| match segment {
            Segment::Map { key } => Some(key.as_str()),
            Segment::Enum { variant } => Some(variant.as_str()),
            _ => None,
        });
        let (field, why) = (names.nth(depth).map(str::to_string), error.inner().to_string());
        let missing = why.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let field = field.or(missing.map(str::to_string)).unwrap_or_else(|| match error.inner().classify() {
            Category::Data if depth > 0 => "type".to_string(),
            _ => "message".to_string(),
        });
        Refusal::one(&field, why.rsplit_once(" at line ").map_or(&*why, |(why, _)| why))
    })
}

fn short<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    if text.len() > LONGEST_TEXT {
        Err(D::Error::custom(format!("longer than {LONGEST_TEXT} characters")))
    } else {
        Ok(text)
    }
}

fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    number(from, 0.0)
}

fn speed<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    number(from, SLOWEST)
}

fn pixels<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    number(from, 1.0)
}

fn number<'de, D: Deserializer<'de>>(from: D, least: f64) -> Result<Option<f64>, D::Error> {
    let found = Option::<f64>::deserialize(from)?;
    let why = |number| D::Error::custom(format!("{number}: expected a number from {least} to {LARGEST_NUMBER}"));
    found.filter(|number| !(least..=LARGEST_NUMBER).contains(number)).map_or(Ok(found), |number| Err(why(number)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ts_rs::{Config, TS, TypeVisitor};

    const PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../studio/src/messages.ts");
    const HEAD: &str = "// What a session and its page say to each other: written from crates/studio/src/messages.rs, which says how.\n";

    /// The declarations of TypeScript by name.
    struct Declared(Config, BTreeMap<String, String>);

    impl TypeVisitor for Declared {
        fn visit<T: TS + 'static + ?Sized>(&mut self) {
            if T::output_path().is_some() && !self.1.contains_key(&T::ident(&self.0)) {
                let declared = T::decl(&self.0);
                let code = declared.lines().filter(|line| !line.trim_start().starts_with(['/', '*']));
                self.1.insert(T::ident(&self.0), format!("export {}\n", code.collect::<String>()));
                T::visit_dependencies(self);
            }
        }
    }

    #[test]
    fn typescript_has_the_types_of_messages() {
        let mut found = Declared(Config::new().with_large_int("number"), BTreeMap::new());
        found.visit::<Request>();
        found.visit::<Message>();
        found.visit::<Layout>();
        found.visit::<Running>();
        let text = HEAD.to_string() + &found.1.into_values().collect::<String>();
        if std::env::var("AQMLAB_WRITE").is_ok() {
            std::fs::write(PATH, &text).expect("the folder is there");
        }
        assert!(
            std::fs::read_to_string(PATH).is_ok_and(|there| there == text),
            "AQMLAB_WRITE=1 writes studio/src/messages.ts"
        );
    }

    #[test]
    fn a_field_that_is_not_as_it_should_be_is_named() {
        let huge = "9".repeat(400);
        for (text, field) in [
            (r#"{"type": "speed", "speed": 1e-300}"#, "speed"),
            (r#"{"type": "speed", "speed": true}"#, "speed"),
            (&format!(r#"{{"type": "open", "aqms": ["pi"], "seed": {huge}}}"#), "seed"),
            (&format!(r#"{{"type": "set", "path": "a", "value": "b", "lane": -{huge}}}"#), "lane"),
            (r#"{"type": "set", "path": 3, "value": "b"}"#, "path"),
            (r#"{"type": "set", "value": "b"}"#, "path"),
            (r#"{"type": "shell"}"#, "type"),
            ("{}", "message"),
            ("[]", "message"),
            (r#"{"type": "pause", "id": 1e999}"#, "message"),
            (r#"{"type": "\ud800"}"#, "message"),
        ] {
            let refusal = head(text).and_then(|head| request(&head, text)).expect_err(text);
            assert_eq!(refusal.shown()[0].field.as_deref(), Some(field), "{text}: {}", refusal.shown()[0].message);
        }
    }
}
