//! Loss recovery: what a new or duplicate ACK means while segments are missing, and what the retransmission timer does.

mod fast;
mod newreno;
mod rack;
mod reno;
mod sack;
mod scoreboard;
mod timeout;

use crate::params::TcpVariant;
use rack::Rack;
use scoreboard::Scoreboard;

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
