//! The engine: what is pending, what can happen, and a simulation that handles it.

pub mod error;
mod event;
mod network;
mod partition;
pub mod phases;
mod scheduler;
pub mod simulation;
pub mod watch;
