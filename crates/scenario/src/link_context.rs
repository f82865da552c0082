//! The parts of a scenario that its links are read with.

use crate::FlowSpec;
use crate::link_trace::LinkTraces;
use crate::sizing::SizingBases;
use std::collections::BTreeMap;

/// The context of reading links: the flows, which tell packet sizes and round-trip times, and the traces that rates follow.
pub struct LinkContext<'a> {
    pub flows: &'a [FlowSpec],
    /// The place of each group of flows, by its name.
    pub group_of: BTreeMap<&'a str, usize>,
    pub bases: SizingBases,
    pub traces: &'a LinkTraces,
}
