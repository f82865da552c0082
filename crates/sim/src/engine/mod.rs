//! The engine: what is pending, what can happen, and a simulation that handles it.

pub mod event;
mod network;
pub mod simulation;
pub mod watch;
