//! The clock of a session: plays its lanes at a speed, and says what is new.

use crate::error::Refusal;
use crate::export::ExportRequest;
use crate::frames::{FrameHead, Samples};
use crate::lanes::Lanes;
use crate::messages::{Measured, Message, State, written};
use aqmlab_core::{Span, Time};
use aqmlab_sim::RunResult;
use serde_json::Value;
use std::collections::BTreeMap;

/// Seconds that a step takes, about.
const SLICE: f64 = 0.03;
/// Seconds between frames, at least.
const FRAME_EVERY: f64 = 1.0 / 30.0;
/// Frames that a page may have left unanswered.
const UNDER_WAY: u32 = 3;
/// Seconds between tables of measures, at least, and the share of the time that they may take.
const TABLE_EVERY: f64 = 0.5;
const SHARE_OF_TABLES: f64 = 0.02;
/// Seconds over which the speed is measured.
const SPEED_OVER: f64 = 0.3;
/// Simulated seconds of the first step.
const FIRST_SLICE: f64 = 1e-3;

/// An output of a session, for its page.
pub enum SessionOutput {
    /// A binary message: samples and the packets that wait.
    Frame(Vec<u8>),
    /// A message, as JSON.
    Message(String),
    /// The same with measures, which replace those that have not been sent yet.
    Table(String),
    /// A file to be made.
    Export(Box<ExportRequest>),
}

/// The work of a step or an answer that is timed, so that the next takes as long as it should.
enum Timed {
    /// Simulated seconds.
    Slice(f64),
    Table,
}

/// The lanes of a session with their clock. Real times are seconds of the host's clock.
#[derive(Default)]
pub(crate) struct Player {
    pub lanes: Option<Lanes>,
    /// Bytes that the marks hold.
    pub marked: f64,
    pub epoch: u32,
    /// Simulated seconds a second; `None` for as fast as it goes.
    pub speed: Option<f64>,
    pub samples: Samples,
    pub outputs: Vec<SessionOutput>,
    /// The time at which the present step or answer began.
    pub clock: f64,
    is_playing: bool,
    until: Time,
    /// The id of a request that the state at the end of playing answers.
    awaited: Option<Value>,
    /// Real and simulated time from which the clock counts, and from which the speed is measured.
    anchor: (f64, f64),
    measured_from: (f64, f64),
    measured: f64,
    slice: f64,
    timed: Option<Timed>,
    columns: usize,
    next_table: f64,
    last_frame: f64,
    is_new: bool,
    sent: u32,
    seen: u32,
}

impl Player {
    /// The lanes that are open.
    pub fn opened(&mut self) -> Result<&mut Lanes, Refusal> {
        self.lanes.as_mut().ok_or_else(|| Refusal::one("open", "nothing is open; send open first"))
    }

    /// Takes these lanes, paused.
    pub fn open(&mut self, lanes: Lanes) {
        (self.is_playing, self.awaited, self.slice) = (false, None, FIRST_SLICE);
        self.samples.open(lanes.end().seconds());
        self.renew(lanes.columns().len());
        self.lanes = Some(lanes);
    }

    /// Begins another epoch: of another run, or of the same one with other columns.
    fn renew(&mut self, columns: usize) {
        self.epoch += 1;
        self.columns = columns;
        self.samples.restart(columns);
    }

    /// Plays on, up to a time; the state at its end answers `awaited`.
    pub fn play(&mut self, until: Option<Time>, awaited: Option<Value>) -> Result<(), Refusal> {
        let lanes = self.opened()?;
        let (now, end) = (lanes.now(), lanes.end());
        self.until = until.map_or(end, |until| until.min(end));
        (self.awaited, self.is_playing) = (awaited, now < self.until);
        self.anchor()?;
        if self.is_playing { Ok(()) } else { self.arrive() }
    }

    /// Stops here.
    pub fn pause(&mut self) -> Result<(), Refusal> {
        self.opened()?;
        self.is_playing = false;
        self.show();
        Ok(())
    }

    /// Lets real time count from here.
    pub fn anchor(&mut self) -> Result<(), Refusal> {
        self.anchor = (self.clock, self.opened()?.now().seconds());
        self.measured_from = self.anchor;
        Ok(())
    }

    /// The lanes were changed by hand: columns may change, samples continue.
    pub fn changed(&mut self) -> Result<(), Refusal> {
        let columns = self.opened()?.columns().len();
        if columns != self.columns {
            if !self.samples.is_empty() {
                self.frame(); // while the page knows what its columns are
            }
            self.renew(columns);
        }
        Ok(())
    }

    pub fn state(&mut self) -> Result<Message, Refusal> {
        let (playing, speed, lanes) = (self.is_playing, self.speed, self.opened()?);
        let now = lanes.now();
        Ok(Message::State(State { playing, speed, now: now.seconds(), ended: now >= lanes.end() }))
    }

    /// The time at which the next step is due; `None` while nothing plays. Call it at the end of each step or answer, because it
    /// measures how long that took.
    pub fn due(&mut self, now: f64) -> Option<f64> {
        let took = (now - self.clock).max(1e-6);
        match self.timed.take() {
            Some(Timed::Slice(span)) => self.slice = (SLICE * span / took).clamp(1e-6, 4.0 * self.slice),
            Some(Timed::Table) => self.next_table = now + TABLE_EVERY.max(took / SHARE_OF_TABLES),
            None => {}
        }
        let lanes = self.lanes.as_ref().filter(|_| self.is_playing)?;
        let next = (lanes.now() + lanes.sample).min(self.until).seconds();
        Some(self.speed.map_or(now, |speed| self.anchor.0 + (next - self.anchor.1) / speed))
    }

    /// Somebody waits for the end of a step.
    pub fn is_awaited(&self) -> bool {
        self.awaited.is_some()
    }

    /// Continues for about a slice of real time, or shows measures that are due.
    pub fn step(&mut self) {
        if let Err(refusal) = self.try_step() {
            self.is_playing = false;
            if refusal.is_final {
                self.close();
            }
            self.say(&Message::Problem { problems: refusal.shown() }, &Value::Null);
        }
    }

    /// Drops the lanes.
    pub fn close(&mut self) {
        (self.is_playing, self.lanes) = (false, None);
    }

    fn try_step(&mut self) -> Result<(), Refusal> {
        if !self.is_playing {
            return Ok(());
        }
        if self.clock >= self.next_table {
            self.table();
            return Ok(());
        }
        let before = self.opened()?.now();
        let goal = self.goal(before);
        if goal > before {
            self.timed = Some(Timed::Slice(goal.since(before).seconds()));
        }
        let Self { lanes: Some(lanes), samples, marked, .. } = self else { return Ok(()) };
        lanes.reserve(*marked, 0.0)?;
        lanes.advance(goal)?;
        samples.add(lanes.rows());
        self.is_new = true;
        self.measure_speed(goal.seconds());
        if goal >= self.until {
            return self.arrive();
        }
        if self.clock - self.last_frame >= FRAME_EVERY {
            self.flush();
        }
        Ok(())
    }

    /// The end of a step: about a slice of real time, and no further than the clock is.
    fn goal(&self, now: Time) -> Time {
        let goal = (now + Span::from_seconds(self.slice)).min(self.until);
        let (began, at) = self.anchor;
        let clock = self.speed.map(|speed| Time::ZERO + Span::from_seconds(at + speed * (self.clock - began).max(0.0)));
        clock.map_or(goal, |clock| goal.min(clock.max(now)))
    }

    fn measure_speed(&mut self, now: f64) {
        let (began, at) = self.measured_from;
        if self.clock - began >= SPEED_OVER {
            self.measured = (now - at) / (self.clock - began);
            self.measured_from = (self.clock, now);
        }
    }

    /// Is where one wanted to be: at the end of the scenario, or paused before.
    fn arrive(&mut self) -> Result<(), Refusal> {
        self.is_playing = false;
        self.show();
        let (state, awaited) = (self.state()?, self.awaited.take().unwrap_or_default());
        self.say(&state, &awaited);
        let marked = self.marked;
        let lanes = self.opened()?;
        let now = lanes.now();
        if now >= lanes.end() {
            lanes.reserve(marked, lanes.memory() / lanes.len() as f64)?;
            let lanes = lanes.finish()?;
            self.say(&Message::Done { now: now.seconds(), lanes }, &Value::Null);
        }
        Ok(())
    }

    /// Shows measures, samples and the packets that wait.
    pub fn show(&mut self) {
        self.table();
        self.is_new = true;
        self.flush();
    }

    fn table(&mut self) {
        let Some(lanes) = &mut self.lanes else { return };
        let has_room = lanes.reserve(self.marked, lanes.memory()).is_ok();
        let (now, found) = (lanes.now().seconds(), lanes.so_far(has_room));
        let message = Message::Table(Measured { now, lanes: found.iter().map(measures).collect() });
        self.outputs.push(SessionOutput::Table(written(&message, &Value::Null)));
        self.timed = Some(Timed::Table);
    }

    /// A page has drawn a frame.
    pub fn seen(&mut self, sequence: u32) {
        self.seen = self.seen.max(sequence.min(self.sent));
        if !self.is_playing {
            self.flush(); // no step does
        }
    }

    /// Sends what is new, unless the page is slow.
    pub fn flush(&mut self) {
        if self.is_new && self.sent - self.seen < UNDER_WAY {
            self.frame();
        }
    }

    fn frame(&mut self) {
        let Some(lanes) = &mut self.lanes else { return };
        (self.sent, self.is_new, self.last_frame) = (self.sent + 1, false, self.clock);
        let head =
            FrameHead { epoch: self.epoch, sequence: self.sent, now: lanes.now().seconds(), speed: self.measured };
        self.outputs.push(SessionOutput::Frame(self.samples.pack(&head, &lanes.content())));
    }

    /// Says something, as the answer to the request with this id.
    pub fn say(&mut self, message: &Message, id: &Value) {
        self.outputs.push(SessionOutput::Message(written(message, id)));
    }
}

/// The measures of a result by their full names, lists aside.
fn measures(result: &Option<RunResult>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    if let Some(Ok(Value::Object(parts))) = result.as_ref().map(serde_json::to_value) {
        let named = parts.into_iter().filter(|(name, _)| ["links", "flows", "stations", "total"].contains(&&**name));
        named.for_each(|(name, part)| flatten(name, part, &mut found));
    }
    found
}

fn flatten(path: String, value: Value, found: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(parts) => {
            parts.into_iter().for_each(|(name, part)| flatten(format!("{path}.{name}"), part, found))
        }
        Value::Array(_) => {}
        number => drop(found.insert(path, number)),
    }
}
