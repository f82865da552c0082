//! Congestion-control laws from shared libraries: a library exports `aqmlab_law`, which answers with a table of functions
//! ([`AqmlabLaw`]; it is in `crates/c/include/aqmlab.h`).
//!
//! Native code can do anything, so a library is loaded only where the command line or a program names its file, never because a scenario
//! says so. Its answers are looked at as those of any law from elsewhere.

#![allow(unsafe_code)] // calls into a library that the user has named; the table says what each function is given

mod table;

pub use table::*;

use aqmlab_core::{Problem, Span, Time};
use aqmlab_tcp::EcnFeedback;
use aqmlab_tcp::cc::{
    CongestionControl, CongestionEvent, Facts, LawDeclaration, LawInfo, Needs, Recovery, Window, declare,
};
use libloading::{Library, Symbol};
use std::ffi::{CStr, c_char, c_void};
use std::path::Path;
use std::ptr;

/// Loads the law of a shared library into the catalogue of this process, where it stays; returns its name.
///
/// # Errors
/// If the file cannot be loaded, has no law of this version, or its name cannot be used.
pub fn load(file: &Path) -> Result<&'static str, Problem> {
    let wrong = |why: String| Problem::new("law", format!("{}: {why}", file.display()));
    if !file.is_file() {
        return Err(wrong("no such file; expected a shared library that exports aqmlab_law".into()));
    }
    let path = file.canonicalize().map_err(|why| wrong(why.to_string()))?; // so that no system folder is searched
    // SAFETY: the user has named the library, whose code is trusted as a program that the user starts is
    let library = unsafe { Library::new(path) }.map_err(|why| wrong(format!("cannot be loaded: {why}")))?;
    let library: &'static Library = Box::leak(Box::new(library)); // as long as the process, for senders have its functions
    let table = {
        // SAFETY: the symbol of that name is such a function, as the header says
        let found: Result<Symbol<extern "C" fn() -> *const AqmlabLaw>, _> = unsafe { library.get("aqmlab_law") };
        found.map_err(|_| wrong("has no function aqmlab_law".into()))?()
    };
    register(table).map_err(|why| wrong(why.reason))
}

/// Declares the law of a table.
fn register(table: *const AqmlabLaw) -> Result<&'static str, Problem> {
    let refused = |why: &str| Problem::new("law", why);
    // SAFETY: version and size come first in every version of the table
    let (version, size) = match unsafe { table.as_ref() } {
        None => return Err(refused("aqmlab_law answers null")),
        Some(table) => (table.version, table.size as usize),
    };
    if (version, size) != (AQMLAB_LAW_VERSION, size_of::<AqmlabLaw>()) {
        let why = format!(
            "was built for version {version} of the table ({size} bytes); expected {AQMLAB_LAW_VERSION} ({} bytes)",
            size_of::<AqmlabLaw>()
        );
        return Err(refused(&why));
    }
    // SAFETY: it is a table of this version, and lives as long as the library
    let table: &'static AqmlabLaw = unsafe { &*table };
    if table.on_ack.is_none() {
        return Err(refused("has no on_ack"));
    }
    if table.new_state.is_some() != table.clone_state.is_some()
        || table.new_state.is_some() != table.free_state.is_some()
    {
        return Err(refused("new_state, clone_state and free_state go together"));
    }
    let name = text(table.name).ok_or_else(|| refused("has no name"))?;
    let info = LawInfo {
        name,
        title: text(table.title).unwrap_or(name),
        year: 0,
        source: text(table.source).unwrap_or("a shared library"),
    };
    let needs = Needs {
        every_ack: table.needs & AQMLAB_NEEDS_EVERY_ACK != 0,
        pacing: table.needs & AQMLAB_NEEDS_PACING != 0,
        rate_samples: table.needs & AQMLAB_NEEDS_RATE_SAMPLES != 0,
        owns_window: table.needs & AQMLAB_NEEDS_OWN_WINDOW != 0,
        feedback: if table.needs & AQMLAB_NEEDS_MARK_COUNTS != 0 { EcnFeedback::Counter } else { EcnFeedback::Classic },
        ..Needs::NONE
    };
    declare(LawDeclaration {
        info,
        page: "A congestion controller from a shared library.",
        needs,
        params: Vec::new(),
        make: Box::new(move |_| Ok(Box::new(NativeLaw::new(table)))),
    })?;
    Ok(name)
}

/// A text of the library, which lives as long as it does.
fn text(pointer: *const c_char) -> Option<&'static str> {
    // SAFETY: the header asks for texts that end with a zero and are never changed
    let found = (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) })?;
    found.to_str().ok()
}

/// A law of a library at work in one sender.
#[derive(Debug)]
struct NativeLaw {
    table: &'static AqmlabLaw,
    state: *mut c_void,
}

// SAFETY: the header asks for states that may move between threads, and for functions of a constant state that only read it.
unsafe impl Send for NativeLaw {}
// SAFETY: as above
unsafe impl Sync for NativeLaw {}

impl NativeLaw {
    fn new(table: &'static AqmlabLaw) -> Self {
        Self { table, state: table.new_state.map_or(ptr::null_mut(), |new_state| new_state()) }
    }

    /// Lets a function set the window.
    fn set(&mut self, window: &mut Window, act: impl FnOnce(*mut c_void, *mut AqmlabWindow)) {
        let mut shown = AqmlabWindow::of(window);
        act(self.state, &raw mut shown);
        *window = Window { cwnd: shown.cwnd, ssthresh: shown.ssthresh };
    }
}

impl Clone for NativeLaw {
    fn clone(&self) -> Self {
        Self { table: self.table, state: self.table.clone_state.map_or(ptr::null_mut(), |copy| copy(self.state)) }
    }
}

impl Drop for NativeLaw {
    fn drop(&mut self) {
        if let Some(free_state) = self.table.free_state {
            free_state(self.state);
        }
    }
}

impl CongestionControl for NativeLaw {
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        let (on_ack, facts) = (self.table.on_ack, AqmlabFacts::of(ack));
        if let Some(on_ack) = on_ack {
            self.set(window, |state, window| on_ack(state, window, &raw const facts));
        }
    }

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        if let Some(on_feedback) = self.table.on_feedback {
            let facts = AqmlabFacts::of(ack);
            self.set(window, |state, window| on_feedback(state, window, &raw const facts));
        }
    }

    fn seed(&mut self, seed: u64) {
        if let Some(on_seed) = self.table.on_seed {
            on_seed(self.state, seed);
        }
    }

    fn kept(&self, event: CongestionEvent) -> f64 {
        self.table.kept.map_or(0.5, |kept| kept(self.state, event.into()))
    }

    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        if let Some(on_congestion) = self.table.on_congestion {
            let window = AqmlabWindow::of(window);
            on_congestion(self.state, event.into(), &raw const window);
        }
    }

    fn on_recovered(&mut self, window: &mut Window) {
        match self.table.on_recovered {
            None => window.cwnd = window.ssthresh,
            Some(on_recovered) => self.set(window, |state, window| on_recovered(state, window)),
        }
    }

    fn on_established(&mut self, window: &Window, rtt: Span, now: Time) {
        if let Some(on_established) = self.table.on_established {
            let window = AqmlabWindow::of(window);
            on_established(self.state, &raw const window, nanos(rtt), nanos(now.since(Time::ZERO)));
        }
    }

    fn on_timeout(&mut self) {
        if let Some(on_timeout) = self.table.on_timeout {
            on_timeout(self.state);
        }
    }

    fn on_undo(&mut self) {
        if let Some(on_undo) = self.table.on_undo {
            on_undo(self.state);
        }
    }

    fn on_resume(&mut self, window: &mut Window, now: Time) {
        if let Some(on_resume) = self.table.on_resume {
            self.set(window, |state, window| on_resume(state, window, nanos(now.since(Time::ZERO))));
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rate = self.table.pacing_rate?(self.state);
        (rate != 0.0).then_some(rate)
    }
}

fn nanos(span: Span) -> u64 {
    span.0 / 1000
}

impl AqmlabWindow {
    fn of(window: &Window) -> Self {
        Self { cwnd: window.cwnd, ssthresh: window.ssthresh }
    }
}

impl From<CongestionEvent> for AqmlabEvent {
    fn from(event: CongestionEvent) -> Self {
        match event {
            CongestionEvent::Loss => Self::Loss,
            CongestionEvent::Echo => Self::Echo,
            CongestionEvent::Timeout => Self::Timeout,
        }
    }
}

impl AqmlabFacts {
    fn of(facts: &Facts) -> Self {
        let sample = facts.sample.as_ref();
        Self {
            now: nanos(facts.now.since(Time::ZERO)),
            srtt: nanos(facts.srtt),
            rtt: facts.rtt.map_or(0, nanos),
            delivery_rate: sample.map_or(0.0, |sample| sample.rate),
            acked: facts.acked,
            marked: facts.marked,
            lost: facts.lost,
            flight: facts.flight,
            hole: facts.hole,
            sent: facts.sent,
            byte_counting: facts.byte_counting,
            is_app_limited: facts.is_app_limited,
            in_recovery: facts.recovery != Recovery::None,
        }
    }
}
