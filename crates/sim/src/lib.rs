//! Packet-level simulation: a scenario in, a result out.
//!
//! ```text
//!   engine/     calendar     the event queue: time, then order of insertion
//!               event        what can happen, and the packets to which it happens
//!               crossing     what happens to packets at the queues
//!               simulation   a scenario at one instant: set-up, events, probes, changes, what it yields; on one thread
//!                            or on several (parallel)
//!               watch        how far a run has come, and how to stop it
//!   net/        route        a flow's path, compiled to delays and queues
//!               link         a queue, its scheme, and the transmitter behind it
//!               flow         a sender, a receiver and the delays between them
//!   traffic/    udp          sources of datagrams
//!               client       web sessions, short transfers, players: who asks for what, and when
//!               video        a player of adaptive video: which bitrate, and what its viewer sees
//!   environment/             a link as an agent sees it: what it observes, on what it acts, many side by side
//!   measure/    histogram    percentiles at a nanosecond a sample
//!               spans        a sample of times
//!               declared     how a measure is declared: once
//!               link         measures of a link
//!               settling     from when on a queue stays near its target
//!               group        measures of a group of flows
//!               call         measures of a call
//!               result       metrics and time series of a run
//!               trace        what happened to each packet at a link
//!               pcap         the packets that left it, as a capture file
//! ```
//!
//! A result depends on scenario, scheme and seed only: never on threads, hash order or the wall clock.

mod calendar;
mod engine;
pub mod environment;
mod measure;
mod memory;
mod net;
mod traffic;

/// The event queue, for its benchmark.
#[doc(hidden)]
pub mod event_queue {
    pub use crate::calendar::{Calendar, Lane, OfTimer, Timer};
}

pub use engine::simulation::{
    FlowState, GroupProbe, Interrupted, LinkProbe, Options, Place, Probe, RunError, SampleColumn, Simulation, run,
    run_divided,
};
pub use engine::watch::Watch;
pub use measure::call::CallResult;
pub use measure::declared::{Better, Field, Measure, Unit};
pub use measure::group::{FlowResult, jain};
pub use measure::link::{Carried, LinkMeter, LinkResult, SHARED_DROPS};
pub use measure::result::{Delays, Engine, FlowTable, Output, RunResult, Series, TransferTable};
pub use measure::settling::Stage;
pub use measure::spans::Spans;
pub use measure::trace::{Columns, Trace};
pub use net::Wired;
pub use net::impairment::Impairment;
pub use net::link::{Link, Offered};
pub use traffic::video::VideoResult;
