//! The table of functions, as C sees it.

use std::ffi::{c_char, c_void};

/// Version of the table: a library has to be compiled again when it changes.
pub const AQMLAB_LAW_VERSION: u32 = 1;

/// The law sees every ACK by `on_feedback`, in recovery too.
pub const AQMLAB_NEEDS_EVERY_ACK: u32 = 1;
/// The sender asks for `pacing_rate` and keeps to it.
pub const AQMLAB_NEEDS_PACING: u32 = 2;
/// Facts come with the delivery rate; implies every ACK.
pub const AQMLAB_NEEDS_RATE_SAMPLES: u32 = 4;
/// The law alone sets the window, by `on_feedback`; with loss recovery `rack` only.
pub const AQMLAB_NEEDS_OWN_WINDOW: u32 = 8;
/// The receiver counts marked segments (accurate ECN).
pub const AQMLAB_NEEDS_MARK_COUNTS: u32 = 16;

/// The window and threshold that a law sets, in segments; real numbers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabWindow {
    /// Congestion window, more than 0.
    pub cwnd: f64,
    /// Slow start threshold.
    pub ssthresh: f64,
}

/// The facts of an ACK. Counts are in segments, times in ns.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabFacts {
    /// Time of its arrival.
    pub now: u64,
    /// Smoothed round-trip time; 0 before the first sample.
    pub srtt: u64,
    /// A round-trip time that it measures; 0 if none.
    pub rtt: u64,
    /// Delivery rate, segments/s; 0 if unknown (`AQMLAB_NEEDS_RATE_SAMPLES`).
    pub delivery_rate: f64,
    /// Segments that it acknowledges; 0 for a duplicate ACK.
    pub acked: u32,
    /// Segments known to be CE-marked since the ACK before; known to laws that see every ACK.
    pub marked: u32,
    /// Segments sent again since the ACK before; known to laws that see every ACK.
    pub lost: u32,
    /// Segments outstanding before it.
    pub flight: u32,
    /// The first segment not acknowledged, after it.
    pub hole: u32,
    /// The first segment never sent.
    pub sent: u32,
    /// The window grows by what is acknowledged (RFC 3465), not by ACKs.
    pub byte_counting: bool,
    /// The application has nothing more to send at present.
    pub is_app_limited: bool,
    /// Loss recovery is going on.
    pub in_recovery: bool,
}

/// A sign of congestion. The window is reduced for one at most once per window of data.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AqmlabEvent {
    /// Fast retransmit.
    Loss = 0,
    /// The receiver tells of a mark.
    Echo = 1,
    /// The retransmission timer expired.
    Timeout = 2,
}

/// A congestion-control law. A function may be null, except `on_ack`: then the sender does as Reno does.
///
/// `state` is what `new_state` gave, or null if that is null. A state may move between threads and is used by one at a time; functions
/// that take a constant state only read it. Texts and table live as long as the library.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabLaw {
    /// `AQMLAB_LAW_VERSION`.
    pub version: u32,
    /// `sizeof(AqmlabLaw)`.
    pub size: u32,
    /// Name on the command line: small letters, digits and "-".
    pub name: *const c_char,
    /// Name in print; null for `name`.
    pub title: *const c_char,
    /// Publication; may be null.
    pub source: *const c_char,
    /// Sum of `AQMLAB_NEEDS_*`; 0 for a law as Reno is.
    pub needs: u32,
    /// The state of a new sender.
    pub new_state: Option<extern "C" fn() -> *mut c_void>,
    /// A copy of a state.
    pub clone_state: Option<extern "C" fn(state: *const c_void) -> *mut c_void>,
    /// Frees a state.
    pub free_state: Option<extern "C" fn(state: *mut c_void)>,
    /// A number of this sender's own, from which a law draws what is random; before the first segment.
    pub on_seed: Option<extern "C" fn(state: *mut c_void, seed: u64)>,
    /// The handshake is done, and has measured the first round-trip time.
    pub on_established: Option<extern "C" fn(state: *mut c_void, window: *const AqmlabWindow, rtt: u64, now: u64)>,
    /// An ACK of new data outside fast recovery that tells of no new mark: the window may grow.
    pub on_ack: Option<extern "C" fn(state: *mut c_void, window: *mut AqmlabWindow, facts: *const AqmlabFacts)>,
    /// Any ACK, if the law needs that.
    pub on_feedback: Option<extern "C" fn(state: *mut c_void, window: *mut AqmlabWindow, facts: *const AqmlabFacts)>,
    /// The share of the window (RFC 5681: of the data in flight) that an event leaves, 0 to 1.
    pub kept: Option<extern "C" fn(state: *const c_void, event: AqmlabEvent) -> f64>,
    /// The window is about to be reduced to that share.
    pub on_congestion: Option<extern "C" fn(state: *mut c_void, event: AqmlabEvent, window: *const AqmlabWindow)>,
    /// Fast recovery has ended.
    pub on_recovered: Option<extern "C" fn(state: *mut c_void, window: *mut AqmlabWindow)>,
    /// A timeout has brought the window down to one segment.
    pub on_timeout: Option<extern "C" fn(state: *mut c_void)>,
    /// A supposed loss was none; the sender restores the window.
    pub on_undo: Option<extern "C" fn(state: *mut c_void)>,
    /// A pause ends in which the application had nothing to send.
    pub on_resume: Option<extern "C" fn(state: *mut c_void, window: *mut AqmlabWindow, now: u64)>,
    /// Segments per second at which to send; 0 if there is no rate yet.
    pub pacing_rate: Option<extern "C" fn(state: *const c_void) -> f64>,
}

// SAFETY: a table is constant, as its texts are.
unsafe impl Sync for AqmlabLaw {}
// SAFETY: as above
unsafe impl Send for AqmlabLaw {}
