//! The engine: what is pending, what can happen, and a simulation that handles it.

pub mod calendar;
mod crossing;
pub mod event;
mod memory;
pub mod simulation;
pub mod watch;
mod wheel;
