//! The session of the page.

use aqmlab_core::Problems;
use aqmlab_studio::{Session, SessionHost, SessionOutput};
use std::cell::RefCell;
use std::sync::Arc;

/// Bytes that the lanes and marks may take, as estimated.
const MOST_MEMORY: f64 = 5e8;

/// The page, which passes the text of a scenario with its request.
struct Page;

impl SessionHost for Page {
    fn scenario(&self, name: &str) -> Result<String, Problems> {
        Err(Problems::one("scenario", format!("{name}: no scenario of this name")))
    }

    fn hold(&self, held: f64, more: f64) -> Result<(), Problems> {
        if held + more <= MOST_MEMORY {
            return Ok(());
        }
        let most = MOST_MEMORY / 1e6;
        let why = format!("more than {most} MB for the lanes and marks of this page: use fewer flows, lanes or marks");
        Err(Problems::one("memory", why))
    }
}

thread_local! {
    /// The session, and the frames that the page has not read yet; a module has one thread.
    static OPENED: RefCell<(Session, Vec<Vec<u8>>)> = RefCell::new((Session::new(Arc::new(Page)), Vec::new()));
}

pub fn request(text: &str, now: f64) -> String {
    outputs(|session| session.handle(text, now))
}

pub fn step(now: f64) -> String {
    outputs(|session| session.step(now))
}

pub fn due(now: f64) -> Option<f64> {
    OPENED.with_borrow_mut(|(session, _)| session.due(now))
}

/// Outputs as JSON: messages as they are, frames by their place in memory.
fn outputs(act: impl FnOnce(&mut Session) -> Vec<SessionOutput>) -> String {
    OPENED.with_borrow_mut(|(session, frames)| {
        frames.clear();
        let output = |output| match output {
            SessionOutput::Message(text) | SessionOutput::Table(text) => format!("{{\"message\":{text}}}"),
            SessionOutput::Export(asked) => format!("{{\"message\":{}}}", asked.answer(asked.file(None))),
            SessionOutput::Frame(frame) => {
                let shown = format!("{{\"start\":{},\"bytes\":{}}}", frame.as_ptr().addr(), frame.len());
                frames.push(frame);
                shown
            }
        };
        let outputs: Vec<String> = act(session).into_iter().map(output).collect();
        format!("{{\"outputs\":[{}]}}", outputs.join(","))
    })
}
