//! The network: links, routes compiled to delays, and the access links at both ends of a flow; and a line, which has no
//! flows of ours.

pub mod deliveries;
pub mod direction;
pub mod ecmp;
pub mod flow;
mod foreseen;
mod gate;
mod grants;
pub mod impairment;
pub mod interruption;
pub mod lines;
pub mod link;
pub mod outcome;
pub mod packet;
pub mod rate_schedule;
pub mod route;
pub mod shared_buffer;
pub mod token_bucket;
pub mod wifi;

use aqmlab_aqm::{Carried, Ecn};
use aqmlab_core::Stream;
use aqmlab_scenario::LinkSpec;

/// A packet that crosses a link and its wire.
pub trait WirePacket: Carried + Copy {
    /// Writes another ECN field.
    fn set_ecn(&mut self, ecn: Ecn);
}

/// A link's random stream for a purpose.
fn stream_of(seed: u64, spec: &LinkSpec, what: &str) -> Stream {
    Stream::new(seed, &format!("links.{}.{what}", spec.name), 0)
}
