//! The memory of a sender's loss recovery: the segments that are outstanding, and how the reduction came about.

mod rack;
mod sack;

pub(crate) use rack::detection::News;
pub(crate) use rack::prr::Prr;
pub(crate) use rack::undo::Undo;
pub(crate) use rack::{Probe, Rack, Timer};
pub(crate) use sack::Scoreboard;

use crate::params::TcpVariant;

/// The kind of recovery that a sender has, and what it remembers for it.
#[derive(Clone, Debug)]
pub(crate) enum LossRecovery {
    Reno,
    NewReno,
    Sack(Scoreboard),
    Rack(Box<Rack>),
}

impl LossRecovery {
    pub fn new(variant: TcpVariant) -> Self {
        match variant {
            TcpVariant::Reno => Self::Reno,
            TcpVariant::NewReno => Self::NewReno,
            TcpVariant::Sack => Self::Sack(Scoreboard::default()),
            TcpVariant::Rack => Self::Rack(Box::default()),
        }
    }
}
