//! TCP endpoints without input or output: time, ACKs and timers go in, segments come out.
//!
//! ```text
//!   params     every constant of TCP, declared once; three profiles fill them in
//!   ack        the fields of an ACK
//!   arrival    a segment as its receiver gets it
//!   sender     the part that every kind of recovery shares: window, sending, ECN, retransmission timer
//!   recovery/  loss recovery at duplicate and partial ACKs: one file per kind with its state, RACK's parts in rack/
//!   ecn        a receiver's feedback of marks; a sender's answer is in sender/
//!   cc/        congestion control: growth and reduction of the window; one file per law
//!   ns2        departures of ns-2
//!   linux      departures of Linux
//!   rtt        round-trip time estimator and retransmission timeout
//!   receiver   reassembly and ACKs
//!   quickack   ACKs that Linux does not delay
//!   ring       a value for each segment of a window
//!   seqset     a set of segments of a window, a bit each
//! ```
//!
//! Sequence numbers count segments, not bytes; segment 0 is the SYN. The window is a real number of segments.

pub mod ack;
mod arrival;
pub mod cc;
pub mod ecn;
mod linux;
mod linux_receiver;
mod ns2;
pub mod params;
pub mod receiver;
mod recovery;
mod ring;
pub mod rtt;
pub mod segment;
pub mod sender;
mod seqset;
mod tcb;

pub use ack::{Ack, Advertised, Sack};
pub use arrival::SegmentArrival;
pub use cc::{CongestionControl, CongestionControlLaw, LawChoice};
pub use ecn::EcnFeedback;
pub use params::{EcnResponse, Profile, TcpParams, TcpVariant};
pub use receiver::Receiver;
pub use segment::{Segment, SegmentSink};
pub use sender::Sender;
