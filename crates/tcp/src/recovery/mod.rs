//! Loss recovery: what a new or duplicate ACK means while segments are missing, and what the retransmission timer does.

mod fast;
mod newreno;
mod rack;
mod reno;
mod sack;
mod timeout;
