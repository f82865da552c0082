//! A transmitter that asks before it sends, as a scenario gives it.

use crate::keys::{KeySpec, RATES, Section};
use crate::table_reader::TableReader;
use aqmlab_core::{Quantity, Rate, Span};

/// The request-grant MAC of a cable modem's upstream: a headend divides each MAP interval among its modems.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestGrant {
    /// MAP interval.
    pub interval: Span,
    /// Time from a request to the beginning of the first interval that may answer it.
    pub delay: Span,
    /// Rate that is granted without a request (guaranteed grant rate of the Proactive Grant Service).
    pub guaranteed: Rate,
}

/// Keys of `request_grant`, with the defaults of docsis-ns3; `delay` is `MinReqGntDelay`, 12 OFDMA frames of 135 us.
pub const REQUEST_GRANT: Section = Section::new(&[&[
    KeySpec::of::<Span>("interval", "MAP interval.").within("100 us", "1 s").or("2 ms"),
    KeySpec::of::<Span>("delay", "Time from a request to the beginning of the first interval that may answer it.")
        .within("0 s", "1 s")
        .or("1620 us"),
    KeySpec::of::<Rate>("guaranteed", "Rate that is granted without a request.")
        .within("0 bit/s", RATES.1)
        .or("0 bit/s"),
]]);

impl RequestGrant {
    /// That of one `[[links]]`.
    pub(super) fn read(link: &mut TableReader) -> Option<Self> {
        let mut inner = link.inner("request_grant")?;
        let interval = inner.optional_or_default("interval");
        let delay = inner.optional_or_default("delay");
        let guaranteed = inner.optional_or_default("guaranteed");
        inner.finish();
        Some(Self { interval: interval?, delay: delay?, guaranteed: guaranteed? })
    }

    /// For people.
    pub fn text(&self) -> String {
        let Self { interval, delay, guaranteed } = self;
        let guaranteed = if guaranteed.0 > 0.0 { format!(", {} guaranteed", guaranteed.text()) } else { String::new() };
        format!("each {}, {} after a request{guaranteed}", interval.text(), delay.text())
    }
}
