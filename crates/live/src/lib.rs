//! Real packets through the schemes: a command behind an emulated line, without privileges. Linux only: elsewhere the crate
//! is empty.
//!
//! ```text
//!   setup       settings of a live run
//!   sandbox     two network namespaces behind TUN devices, seen from outside
//!   inside      the processes within them
//!   outside     a way out of them
//!   message     messages between the two
//!   tun         the devices
//!   packet      a packet's flow, and its ECN field
//!   store       the packets that wait; large segments in parts
//!   direction   one direction of the line in time alone: the simulator's, over the packets of the store
//!   forward     a thread that carries one direction
//!   flows       counts of each flow
//!   rtp         headers of RTP, and feedback on congestion
//!   calls       the calls among the flows
//!   log         each packet, written down
//!   capture     the same for programs that read captures
//!   spool       files that a thread of their own writes
//!   replay      the same arrivals once more, without a clock
//!   run         a command from start to end
//!   report      its result
//! ```
//!
//! What is decided is decided by the simulator's own [`aqmlab_sim::Link`]. A scheme sees the times at which packets were read
//! and those at which the ideal link sends, never those at which the machine gets round to it.

#![cfg(target_os = "linux")]

mod calls;
mod capture;
#[cfg(test)]
mod cases;
mod direction;
mod flows;
mod forward;
#[cfg(test)]
mod fuzz;
mod inside;
mod log;
mod message;
mod outside;
mod packet;
mod replay;
mod report;
mod rtp;
mod run;
mod sandbox;
mod setup;
mod spool;
mod store;
mod tun;

pub use flows::{FlowCounts, FlowRow};
pub use forward::{View, ViewRow};
pub use packet::FiveTuple;
pub use replay::{Replay, replay};
pub use report::Report;
pub use run::{LiveError, run};
pub use sandbox::SandboxError;
pub use setup::{LiveOptions, Setup};
