//! Loss recovery: what a new or duplicate ACK means while segments are missing.

pub mod newreno;
pub mod reno;
pub mod sack;
mod scoreboard;

pub(crate) use scoreboard::Scoreboard;
