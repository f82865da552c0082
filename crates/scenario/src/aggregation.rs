//! Aggregation on the wire of a link, as a scenario gives it.

use crate::table_reader::TableReader;
use aqmlab_core::{Quantity, Span};

/// A wire that releases packets together: what has been sent waits there, behind the transmitter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aggregation {
    /// All that wait, each time that so long has passed since the start of the run.
    Every(Span),
    /// So many packets at once, or fewer once the first of them has waited for `hold`.
    Packets {
        /// The number.
        most: u32,
        /// The longest wait.
        hold: Span,
    },
}

const EXAMPLES: &str = "aggregation = { every = \"10 ms\" } or { packets = 32, hold = \"10 ms\" }";

impl Aggregation {
    /// The aggregation of one `[[links]]`.
    pub(super) fn read(link: &mut TableReader) -> Option<Self> {
        let mut aggregation = link.inner("aggregation", EXAMPLES)?;
        let time = |key, aggregation: &mut TableReader| {
            let time: Option<Span> = aggregation.required(key, "\"10 ms\"");
            aggregation.within(key, time, "1 us", "10 s")
        };
        let read = if aggregation.raw("packets").is_none() {
            time("every", &mut aggregation).map(Self::Every)
        } else {
            let most: Option<u32> = aggregation.optional("packets");
            let most = aggregation.within("packets", most, "2", "65536");
            let hold = time("hold", &mut aggregation);
            most.zip(hold).map(|(most, hold)| Self::Packets { most, hold })
        };
        aggregation.finish();
        read
    }

    /// For people.
    pub fn text(&self) -> String {
        match self {
            Self::Every(time) => format!("every {}", time.text()),
            Self::Packets { most, hold } => format!("{most} packets, held for {} at most", hold.text()),
        }
    }
}
