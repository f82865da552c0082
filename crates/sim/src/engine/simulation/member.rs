//! The members of a group: flows, sources, clients.

use aqmlab_core::{Stream, Time};
use aqmlab_scenario::FlowSpec;

/// One flow, source or client of a group.
#[derive(Clone, Debug)]
pub struct Member {
    pub kind: MemberKind,
    pub start: Time,
    /// [`Time::NEVER`] if it does not stop.
    pub stop: Time,
}

/// Kind of a member, and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A flow with unlimited data.
    Flow(u32),
    /// A source of datagrams.
    Source(u32),
    Client(u32),
}

/// The random stream of the `i`-th member of a group for a purpose.
pub fn stream_of(seed: u64, spec: &FlowSpec, what: &str, i: usize) -> Stream {
    // `format!` would be half of a short run's set-up.
    Stream::new(seed, &["flows.", &spec.name, ".", what].concat(), i as u64)
}
