//! Packet-level simulation: a scenario in, a result out.
//!
//! ```text
//!   scenario/   the scenario language: text -> Scenario, every problem with its path
//!   calendar    the event queue: time, then order of insertion
//!   event       what can happen, and the packets to which it happens
//!   simulation  a scenario at one instant: set-up, events, probes, what it yields
//!   route       a flow's path, compiled to delays and queues
//!   link        a queue, its scheme, and the transmitter behind it
//!   flow        a sender, a receiver and the delays between them
//!   udp         sources of datagrams
//!   client      web sessions, short transfers, players: who asks for what, and when
//!   video       a player of adaptive video: which bitrate, and what its viewer sees
//!   histogram   percentiles at a nanosecond a sample
//!   meter       what is measured at a link and at a group of flows
//!   watch       how far a run has come, and how to stop it
//!   result      metrics and time series of a run
//!   trace       what happened to each packet at a link
//!   pcap        the packets that left it, as a capture file
//! ```
//!
//! A result depends on scenario, scheme and seed only: never on threads, hash order or the wall clock.

mod calendar;
mod client;
mod event;
mod flow;
mod histogram;
mod link;
mod meter;
mod pcap;
mod result;
mod route;
pub mod scenario;
mod simulation;
mod trace;
mod udp;
mod video;
mod watch;

pub use result::{
    Delays, Engine, FlowResult, FlowTable, LinkResult, Output, RunResult, Series, TransferTable, VideoResult,
};
pub use scenario::{AqmChoice, Scenario};
pub use simulation::{FlowState, GroupProbe, Interrupted, LinkProbe, Options, Probe, RunError, Simulation, run};
pub use trace::{Columns, Trace};
pub use watch::Watch;
