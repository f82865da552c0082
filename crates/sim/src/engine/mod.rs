//! The engine: what is pending, what can happen, and a simulation that handles it.

mod agenda;
pub mod error;
mod event;
mod network;
mod part;
pub mod phases;
pub mod simulation;
pub mod watch;
