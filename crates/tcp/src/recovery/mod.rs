//! Loss recovery: what a new or duplicate ACK means while segments are missing.

pub mod newreno;
mod outstanding;
pub mod rack;
pub mod reno;
pub mod sack;
mod scoreboard;

pub(crate) use outstanding::Outstanding;
pub(crate) use rack::Rack;
pub(crate) use scoreboard::Scoreboard;
