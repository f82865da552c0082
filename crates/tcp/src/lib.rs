//! TCP endpoints without input or output: time, ACKs and timers go in, segments come out.
//!
//! ```text
//!   params     every constant of TCP, declared once; three profiles fill them in
//!   ack        what an ACK says
//!   sender     what every kind of recovery shares: window, sending, ECN, retransmission timer
//!   recovery/  what a duplicate or partial ACK means: one file per kind, SACK's scoreboard, RACK's parts in rack/
//!   ecn        how a receiver tells of marks, and when a sender answers
//!   cc/        congestion control: how the window grows and shrinks; one file per law
//!   ns2        what ns-2 does otherwise
//!   linux      what Linux does otherwise
//!   rtt        round-trip time estimator and retransmission timeout
//!   receiver   reassembly and ACKs
//!   quickack   which ACKs Linux does not delay
//!   ring       what is known of each segment of a window
//!   seqset     which segments of a window are there, a bit each
//! ```
//!
//! Sequence numbers count segments, not bytes; segment 0 is the SYN. The window is a real number of segments.

pub mod ack;
pub mod cc;
pub mod ecn;
mod linux;
mod ns2;
pub mod params;
mod quickack;
pub mod receiver;
mod recovery;
mod ring;
pub mod rtt;
pub mod sender;
mod seqset;

pub use ack::{Ack, Sack};
pub use cc::{CongestionControl, Control, Law};
pub use ecn::EcnFeedback;
pub use params::{EcnResponse, Profile, TcpParams, Variant};
pub use receiver::{Arrival, Receiver};
pub use sender::{Network, Segment, Sender};
