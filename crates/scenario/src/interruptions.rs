//! Interruptions of a link, as a scenario gives them.

use crate::distribution::Distribution;
use crate::keys::{KeySpec, Section};
use crate::table_reader::TableReader;
use crate::traffic::required_distribution;
use aqmlab_core::{Quantity, Span};

/// Times at which the transmitter begins nothing: a handover, or satellites that are assigned anew.
#[derive(Clone, Debug, PartialEq)]
pub struct Interruptions {
    /// Time from the beginning of one to that of the next.
    pub every: Distribution<Span>,
    /// Length of each.
    pub hold: Distribution<Span>,
    /// Beginning of the first; the first of `every` where it is not given.
    pub first: Option<Span>,
}

/// Keys of `interruptions`.
pub const INTERRUPTIONS: Section = Section::new(&[&[
    KeySpec::distribution::<Span>("every", "Time from the beginning of one interruption to that of the next.")
        .required("\"15 s\""),
    KeySpec::distribution::<Span>("hold", "Length of each interruption.").required("\"50 ms\""),
    KeySpec::of::<Span>("first", "Beginning of the first interruption; default: the first `every`.")
        .within("0 s", "1000000 s"),
]]);

impl Interruptions {
    /// Those of one `[[links]]`.
    pub(super) fn read(link: &mut TableReader) -> Option<Self> {
        let mut inner = link.inner("interruptions")?;
        let every: Option<Distribution<Span>> = required_distribution(&mut inner, "every");
        let hold: Option<Distribution<Span>> = required_distribution(&mut inner, "hold");
        let first = inner.optional("first");
        let (every, hold) = (every?, hold?);
        if every.typical_largest() < Span::from_millis(1) {
            inner.refuse("every", format!("\"{}\" is too short; at least 1 ms", every.text()));
        }
        if hold.typical_largest() >= every.typical_largest() {
            inner.refuse("hold", format!("\"{}\" leaves no time to send; expected less than every", hold.text()));
        }
        inner.finish();
        Some(Self { every, hold, first })
    }

    /// For people.
    pub fn text(&self) -> String {
        let first = self.first.map_or(String::new(), |first| format!(", first at {}", first.text()));
        format!("each {} for {}{first}", self.every.text(), self.hold.text())
    }
}
