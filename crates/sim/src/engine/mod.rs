//! The engine: what is pending, what can happen, and a simulation that handles it.

mod crossing;
pub mod event;
pub mod simulation;
pub mod watch;
