//! Aggregation on the wire of a link, as a scenario gives it.

use crate::keys::{KeySpec, Section};
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

const TIMES: (&str, &str) = ("1 us", "10 s");

/// Keys of `aggregation`.
pub const AGGREGATION: Section = Section::new(&[&[
    KeySpec::of::<Span>("every", "All waiting packets are released each time that so long has passed.")
        .within(TIMES.0, TIMES.1)
        .example("\"10 ms\""),
    KeySpec::of::<u32>("packets", "So many packets are released together.").within("2", "65536").example("32"),
    KeySpec::of::<Span>("hold", "With `packets`: fewer are released after the first of them has waited for so long.")
        .within(TIMES.0, TIMES.1)
        .example("\"10 ms\""),
]]);

impl Aggregation {
    /// The aggregation of one `[[links]]`.
    pub(super) fn read(link: &mut TableReader) -> Option<Self> {
        let mut aggregation = link.inner("aggregation")?;
        let read = if aggregation.raw("packets").is_none() {
            aggregation.required("every").map(Self::Every)
        } else {
            let most: Option<u32> = aggregation.optional("packets");
            let hold = aggregation.required("hold");
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
