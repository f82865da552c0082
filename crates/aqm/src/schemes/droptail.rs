use crate::{Aqm, Observable, QueueView, Scheme, SchemeInfo, Signal, Tc};
use aqmlab_core::params;

params! {
    /// No active management: a packet that finds the buffer full is dropped, and that is the only signal.
    ///
    /// ## Idea
    /// First in, first out, with a limit. The baseline that every scheme is measured against: the queue of long-lived
    /// TCP flows fills the buffer, whatever its size, and flows synchronise on its overflows.
    ///
    /// ## Departures
    /// The buffer holds `buffer` packets. ns-2's DropTail refuses a packet when `length + 1 >= limit` and so holds one
    /// packet less.
    pub struct DropTailParams for DropTail {}
}

/// See [`DropTailParams`].
#[derive(Clone)]
pub struct DropTail {
    params: DropTailParams,
}

impl Scheme for DropTail {
    const INFO: SchemeInfo = SchemeInfo {
        name: "droptail",
        title: "DropTail",
        family: "baseline",
        year: 1988,
        source: "RFC 7567, section 2 (tail drop)",
        confidence: "exact; checked against ns-2.35 over 13 scenarios",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[];

    fn new(params: DropTailParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params })
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::Never);
    const TC: Option<Tc> = Some(Tc { kind: "pfifo", note: "bfifo where the buffer is in bytes" });
}

impl Aqm for DropTail {
    fn acts_on_enqueue(&self) -> bool {
        false
    }
}
