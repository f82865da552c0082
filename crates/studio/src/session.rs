//! The session of a page: its requests and their answers.

use crate::error::Refusal;
use crate::export::{ExportRequest, KINDS};
use crate::host::SessionHost;
use crate::lanes::Lanes;
use crate::layout::layout;
use crate::messages::{Changed, Head, Mark, Message, Opened, Opening, Places, Request, head, request};
use crate::opening::{self, BLAST, group_of};
use crate::player::{Player, SessionOutput};
use aqmlab_core::problem::unknown;
use aqmlab_core::{Problems, Span, Time};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Marks of a session.
pub const MARKS: usize = 16;

/// A point to go back to.
struct Bookmark {
    name: String,
    lanes: Lanes,
}

/// The session of a page. Times are seconds of the host's clock, which does not go back.
pub struct Session {
    host: Arc<dyn SessionHost>,
    player: Player,
    name: String,
    marks: BTreeMap<u32, Bookmark>,
    last_mark: u32,
}

impl Session {
    /// A session in which nothing is open.
    pub fn new(host: Arc<dyn SessionHost>) -> Self {
        Self { host, player: Player::default(), name: String::new(), marks: BTreeMap::new(), last_mark: 0 }
    }

    /// Answers a request, which is JSON.
    pub fn handle(&mut self, text: &str, now: f64) -> Vec<SessionOutput> {
        self.player.clock = now;
        let (id, answer) = match head(text) {
            Ok(head) => (head.id.clone(), self.answer(&head, text)),
            Err(refusal) => (Value::Null, Err(refusal)),
        };
        let message = answer.unwrap_or_else(|refusal| Some(Message::Problem { problems: refusal.shown() }));
        if let Some(message) = message {
            self.player.say(&message, &id);
            if matches!(message, Message::Opened(_) | Message::Changed(_)) {
                self.player.show();
            }
        }
        self.outputs()
    }

    /// Continues for about 30 ms of real time, or shows measures.
    pub fn step(&mut self, now: f64) -> Vec<SessionOutput> {
        self.player.clock = now;
        self.player.step();
        self.outputs()
    }

    /// The outputs so far; the host knows then how much the session holds.
    fn outputs(&mut self) -> Vec<SessionOutput> {
        drop(self.reserve(0.0)); // only a step or a request is refused
        std::mem::take(&mut self.player.outputs)
    }

    /// Refuses more memory than there is, bytes.
    fn reserve(&self, more: f64) -> Result<(), Problems> {
        let held = self.player.lanes.as_ref().map_or(0.0, Lanes::memory);
        self.host.hold(held + self.player.marked, more)
    }

    /// The time at which the next step is due; `None` while nothing plays. Call it at the end of each [`step`](Self::step) and
    /// [`handle`](Self::handle), because it measures how long these took.
    pub fn due(&mut self, now: f64) -> Option<f64> {
        self.player.due(now)
    }

    /// True if a request waits for the end of a step.
    pub fn is_awaited(&self) -> bool {
        self.player.is_awaited()
    }

    /// Drops lanes and marks, after a fault or at the end.
    pub fn close(&mut self) {
        self.player.close();
        self.marks.clear();
        self.player.marked = 0.0;
        drop(self.reserve(0.0)); // the host knows it
    }

    fn answer(&mut self, head: &Head, text: &str) -> Result<Option<Message>, Refusal> {
        let player = &mut self.player;
        match request(head, text)? {
            Request::Open(opening) => return self.open(opening).map(Some),
            Request::Play { until } => player.play(until.map(time), None)?,
            Request::Pause {} => player.pause()?,
            Request::Step { span } => {
                let lanes = player.opened()?;
                let until = lanes.now() + span.map_or(lanes.sample, Span::from_seconds);
                player.play(Some(until), Some(head.id.clone()))?;
                return Ok(None);
            }
            Request::Speed { speed } => {
                player.opened()?;
                player.speed = speed;
                player.anchor()?;
            }
            Request::View { span, pixels } => {
                if let (Some(span), Some(pixels)) = (span.filter(|span| *span > 0.0), pixels) {
                    player.samples.view(span, pixels);
                }
                return Ok(None);
            }
            Request::Set { path, value, lane } => {
                let marked = player.marked;
                let lanes = player.opened()?;
                lanes.set(&path, &value, lane_of(lane, lanes)?, marked)?;
                return self.changed().map(Some);
            }
            Request::Halve { group } => {
                let lanes = player.opened()?;
                let groups = match group {
                    Some(group) => vec![group_of(&lanes.scenario, "group", &group).map(|_| group)?],
                    None => lanes.groups().filter(|group| group != BLAST).collect(),
                };
                lanes.halve(&groups)?;
                return self.changed().map(Some);
            }
            Request::Mark { name } => return self.mark(name).map(Some),
            Request::Unmark { mark } => {
                self.marks.remove(&self.known(mark)?);
                return Ok(Some(self.marked()));
            }
            Request::Rewind { mark } => return self.rewind(mark).map(Some),
            Request::Export { what, lane } => {
                let lanes = player.opened()?;
                let known = KINDS.into_iter().find(|kind| *kind == what);
                let what = known.ok_or_else(|| Refusal::one("what", unknown("kind of file", &what, &KINDS)))?;
                let (lane, id) = (lane_of(lane, lanes)?.unwrap_or(0), head.id.clone());
                let asked = ExportRequest { recording: lanes.recording(), what, lane, id };
                player.outputs.push(SessionOutput::Export(Box::new(asked)));
                return Ok(None);
            }
            Request::Seen { sequence } => {
                player.seen(sequence);
                return Ok(None);
            }
        }
        player.flush();
        player.state().map(Some)
    }

    fn open(&mut self, request: Opening) -> Result<Message, Refusal> {
        let opened = opening::Opened::read(request, &*self.host)?;
        self.reserve(opened.memory())?;
        let name = opened.name.clone();
        self.player.open(Lanes::new(opened, self.host.clone())?);
        self.name = name;
        self.marks.clear();
        self.player.marked = 0.0;
        self.opened()
    }

    fn changed(&mut self) -> Result<Message, Refusal> {
        self.player.changed()?;
        let epoch = self.player.epoch;
        let lanes = self.player.opened()?;
        let (now, columns, lanes) = (lanes.now().seconds(), lanes.columns(), lanes.document());
        Ok(Message::Changed(Changed { now, epoch, columns, lanes }))
    }

    fn mark(&mut self, name: String) -> Result<Message, Refusal> {
        if self.marks.len() >= MARKS {
            return Err(Refusal::one("mark", format!("{MARKS} marks are kept; remove one first")));
        }
        let memory = self.player.opened()?.memory();
        self.reserve(memory)?;
        self.last_mark += 1;
        self.marks.insert(self.last_mark, Bookmark { name, lanes: self.player.opened()?.fork()? });
        Ok(self.marked())
    }

    fn rewind(&mut self, mark: u32) -> Result<Message, Refusal> {
        let Bookmark { lanes, .. } = &self.marks[&self.known(mark)?];
        self.reserve(lanes.memory())?;
        self.player.open(lanes.fork()?);
        self.opened()
    }

    /// The number of a mark that is there.
    fn known(&self, mark: u32) -> Result<u32, Refusal> {
        let known: Vec<String> = self.marks.keys().map(ToString::to_string).collect();
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        let is_there = self.marks.contains_key(&mark);
        if is_there { Ok(mark) } else { Err(Refusal::one("mark", unknown("mark", &mark.to_string(), &known))) }
    }

    /// The marks after one was set or removed.
    fn marked(&mut self) -> Message {
        self.player.marked = self.marks.values().map(|mark| mark.lanes.memory()).sum();
        Message::Marks { marks: self.all_marks() }
    }

    fn all_marks(&self) -> Vec<Mark> {
        let mark = |(mark, Bookmark { name, lanes }): (&u32, &Bookmark)| Mark {
            mark: *mark,
            name: name.clone(),
            at: lanes.now().seconds(),
        };
        self.marks.iter().map(mark).collect()
    }

    fn opened(&mut self) -> Result<Message, Refusal> {
        let (epoch, name, marks) = (self.player.epoch, self.name.clone(), self.all_marks());
        let lanes = self.player.opened()?;
        let scenario = &lanes.scenario;
        Ok(Message::Opened(Box::new(Opened {
            epoch,
            name,
            file: scenario.name.clone(),
            title: scenario.title.clone(),
            text: lanes.text.clone(),
            seed: lanes.seed,
            now: lanes.now().seconds(),
            end: lanes.end().seconds(),
            warmup: scenario.warmup.seconds(),
            sample: lanes.sample.seconds(),
            layout: layout(scenario),
            lanes: lanes.document(),
            columns: lanes.columns(),
            content: Places {
                links: lanes.links().into_iter().map(str::to_string).collect(),
                groups: lanes.groups().collect(),
            },
            marks,
        })))
    }
}

fn time(seconds: f64) -> Time {
    Time::ZERO + Span::from_seconds(seconds)
}

/// A lane that is there, if one is named.
fn lane_of(lane: Option<usize>, lanes: &Lanes) -> Result<Option<usize>, Refusal> {
    let why = |lane| Refusal::one("lane", format!("{lane}: expected one of 0 to {}, or null", lanes.len() - 1));
    lane.filter(|lane| *lane >= lanes.len()).map_or(Ok(lane), |lane| Err(why(lane)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Problem;
    use serde_json::json;
    use std::sync::Mutex;

    const SMALL: &str = "schema = 1\nduration = \"2 s\"\nsample = \"100 ms\"\n[[links]]\nname = \"up\"\nrate = \"10 Mbit/s\"\n\
        buffer = \"100 packets\"\ntarget = \"30 packets\"\n[[flows]]\nname = \"bulk\"\ncount = 10\nrtt = \"20 ms\"\n";

    /// A host with so many bytes.
    struct Room(Mutex<f64>);

    impl SessionHost for Room {
        fn scenario(&self, name: &str) -> Result<String, Problems> {
            if name == "small" { Ok(SMALL.into()) } else { Err(Problems::one("scenario", format!("{name}: not here"))) }
        }

        fn hold(&self, held: f64, more: f64) -> Result<(), Problems> {
            let most = *self.0.lock().expect("one thread has it");
            if held + more <= most { Ok(()) } else { Err(Problem::new("memory", "too little").into()) }
        }
    }

    /// A session whose clock goes on by a millisecond each time.
    struct Page(Session, f64);

    impl Page {
        fn new(room: f64) -> Self {
            Self(Session::new(Arc::new(Room(Mutex::new(room)))), 0.0)
        }

        /// The outputs of a request and, while something plays as fast as possible, of all steps after it.
        fn ask(&mut self, request: Value) -> Vec<SessionOutput> {
            let mut found = self.0.handle(&request.to_string(), self.1);
            while self.0.due(self.1 + 1e-3).is_some() {
                self.1 += 1e-3;
                found.extend(self.0.step(self.1));
            }
            found
        }

        /// The last message of these outputs that answers a request with the id 1.
        fn answer(&mut self, mut request: Value) -> Value {
            request["id"] = json!(1);
            let said = messages(&self.ask(request));
            said.into_iter().rfind(|message| message["id"] == 1).expect("it is answered")
        }

        fn open(&mut self, aqms: &[&str]) -> Value {
            self.answer(json!({ "type": "open", "scenario": "small", "aqms": aqms, "blast": "up" }))
        }
    }

    fn messages(outputs: &[SessionOutput]) -> Vec<Value> {
        let texts = outputs.iter().filter_map(|output| match output {
            SessionOutput::Message(text) | SessionOutput::Table(text) => Some(text),
            _ => None,
        });
        texts.map(|text| serde_json::from_str(text).expect("it is JSON")).collect()
    }

    fn labels(message: &Value) -> Vec<&str> {
        message["lanes"].as_array().expect("it has lanes").iter().filter_map(|lane| lane["label"].as_str()).collect()
    }

    #[test]
    fn a_run_is_opened_with_what_a_page_draws() {
        let opened = Page::new(1e9).open(&["pi", "fapidnn", "red:max_p=0.2"]);
        assert_eq!(labels(&opened), ["PI", "FAPIDNN†", "RED (max_p=0.2)"]);
        let columns = opened["columns"].as_array().unwrap().iter().filter(|column| column["name"] == "time").count();
        assert_eq!((columns, &opened["columns"][0]["lane"]), (1, &Value::Null));
        assert_eq!(
            (&opened["links"][0]["rate_text"], &opened["groups"][0]["law"]),
            (&json!("10 Mbit/s"), &json!("cubic"))
        );
        assert!(
            opened["text"]
                .as_str()
                .unwrap()
                .ends_with("rate = \"1000000 bit/s\"\nrtt = \"1 ps\"\npacket = \"1000 B\"\n")
        );
    }

    #[test]
    fn it_plays_to_a_time_and_frames_before_its_state_have_all_rows() {
        let mut page = Page::new(1e9);
        page.open(&["pi"]);
        let found = page.ask(json!({ "type": "play", "until": 1 }));
        let rows = |output: &SessionOutput| match output {
            SessionOutput::Frame(bytes) => u32::from_le_bytes(bytes[12..16].try_into().unwrap()),
            _ => 0,
        };
        assert_eq!(found.iter().map(rows).sum::<u32>(), 10);
        let state = messages(&found).pop().unwrap();
        assert_eq!((&state["type"], &state["now"], &state["playing"]), (&json!("state"), &json!(1.0), &json!(false)));
        assert_eq!(page.answer(json!({ "type": "step" }))["now"], 1.1, "an answer at the end of the step");
    }

    #[test]
    fn a_change_that_one_scheme_refuses_changes_none() {
        let mut page = Page::new(1e9);
        page.open(&["pi", "red"]);
        let changed = page.answer(json!({ "type": "set", "path": "links.up.aqm", "value": "codel", "lane": 1 }));
        assert_eq!(labels(&changed), ["PI", "RED, now CoDel"]);
        let refused = page.answer(json!({ "type": "set", "path": "links.up.aqm.w", "value": "340 Hz" }));
        assert_eq!((&refused["type"], &refused["problems"][0]["lane"]), (&json!("problem"), &json!(1)));
        let changed = page.answer(json!({ "type": "halve" }));
        let paths = |lane: usize| changed["lanes"][lane]["changes"].as_array().unwrap().iter().map(|of| &of["path"]);
        assert_eq!(paths(0).collect::<Vec<_>>(), ["flows.bulk.count"]);
        let refused = page.answer(json!({ "type": "set", "path": "links.up.rate", "value": "2 Mbit/s", "lane": 2 }));
        assert_eq!(refused["problems"][0]["message"], "2: expected one of 0 to 1, or null");
    }

    #[test]
    fn a_mark_is_a_copy_to_go_back_to() {
        let mut page = Page::new(1e9);
        page.open(&["pi"]);
        assert_eq!(page.answer(json!({ "type": "mark", "name": "here" }))["marks"][0]["mark"], 1);
        page.answer(json!({ "type": "set", "path": "links.up.rate", "value": "2 Mbit/s" }));
        let back = page.answer(json!({ "type": "rewind", "mark": 1 }));
        assert_eq!(
            (&back["type"], &back["lanes"][0]["changes"], &back["epoch"]),
            (&json!("opened"), &json!([]), &json!(2))
        );
        assert_eq!(page.answer(json!({ "type": "unmark", "mark": 1 }))["marks"], json!([]));
        assert_eq!(page.answer(json!({ "type": "rewind", "mark": 1 }))["problems"][0]["field"], "mark");
    }

    #[test]
    fn what_cannot_be_opened_is_refused() {
        let mut page = Page::new(1e9);
        let field = |answer: Value| answer["problems"][0]["field"].clone();
        assert_eq!(field(page.answer(json!({ "type": "play" }))), "open");
        assert_eq!(field(page.answer(json!({ "type": "open", "scenario": "large", "aqms": [null] }))), "scenario");
        assert_eq!(
            field(page.answer(json!({ "type": "open", "scenario": "small", "aqms": ["pi"], "blast": "x" }))),
            "blast"
        );
        assert_eq!(page.open(&["pi", "pj"])["problems"][0]["lane"], 1);
        assert_eq!(field(Page::new(1e3).open(&["pi"])), "memory");
    }

    #[test]
    fn the_files_of_lanes_with_different_changes_differ_in_their_names() {
        let mut page = Page::new(1e9);
        page.open(&["pi", "red"]);
        let mut name = |what: &str| {
            let asked = page.ask(json!({ "type": "export", "what": what, "lane": 1 }));
            let Some(SessionOutput::Export(asked)) = asked.into_iter().next() else { panic!("a file is asked for") };
            asked.file(None).map(|(name, _, text)| (name, text)).expect("it needs no Python")
        };
        assert_eq!(name("json").0, "small.json");
        assert_eq!(name("command").1.lines().next(), Some("aqmlab run small.toml --aqm pi --seed 1 --json"));
        assert!(name("csv").1.starts_with("time,up.queue,up.utilisation"));
        page.ask(json!({ "type": "set", "path": "links.up.rate", "value": "2 Mbit/s", "lane": 1 }));
        let Some(SessionOutput::Export(asked)) = page.ask(json!({ "type": "export", "what": "toml", "lane": 1 })).pop()
        else {
            panic!("a file is asked for")
        };
        assert_eq!(asked.file(None).unwrap().0, "small-2.toml");
    }
}
