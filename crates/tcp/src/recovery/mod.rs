//! Loss recovery: what a new or duplicate ACK means while segments are missing, and what the retransmission timer does.

mod fast;
mod newreno;
mod rack;
mod reno;
mod sack;
mod timeout;

use crate::params::TcpVariant;
use newreno::NewRenoRecovery;
use rack::RackRecovery;
use sack::SackRecovery;

/// The kind of recovery that a sender has, with the state of its own.
#[derive(Clone, Debug)]
pub(crate) enum LossRecovery {
    /// RFC 5681, as ns-2 has it.
    Reno,
    /// RFC 6582, as ns-2 has it.
    NewReno(NewRenoRecovery),
    /// RFC 6675.
    Sack(SackRecovery),
    /// RFC 8985.
    Rack(Box<RackRecovery>),
}

impl LossRecovery {
    pub fn new(variant: TcpVariant) -> Self {
        match variant {
            TcpVariant::Reno => Self::Reno,
            TcpVariant::NewReno => Self::NewReno(NewRenoRecovery::default()),
            TcpVariant::Sack => Self::Sack(SackRecovery::default()),
            TcpVariant::Rack => Self::Rack(Box::default()),
        }
    }
}
