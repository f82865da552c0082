//! TCP endpoints without input or output: time, ACKs and timers go in, segments come out.
//!
//! ```text
//!   params     every constant of TCP, declared once; two profiles fill them in
//!   sender     what both kinds of recovery share: window, sending, retransmission timer
//!   recovery/  what a duplicate or partial ACK means: one file per kind
//!   cc         congestion control: how the window grows and shrinks
//!   rtt        round-trip time estimator and retransmission timeout
//!   receiver   reassembly and cumulative ACKs
//! ```
//!
//! Sequence numbers count segments, not bytes; segment 0 is the SYN. The window is a real number of segments.

pub mod cc;
pub mod params;
pub mod receiver;
mod recovery;
pub mod rtt;
pub mod sender;

pub use params::{Profile, TcpParams, Variant};
pub use receiver::Receiver;
pub use sender::{Network, Segment, Sender};
