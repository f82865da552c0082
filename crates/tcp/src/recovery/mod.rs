//! Loss recovery: what a new or duplicate ACK means while segments are missing.

mod detection;
pub mod newreno;
mod outstanding;
mod prr;
pub mod rack;
pub mod reno;
pub mod sack;
mod scoreboard;

pub(crate) use detection::Rack;
pub(crate) use scoreboard::Scoreboard;
