//! A transmitter that asks before it sends, as a scenario gives it.

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

impl Default for RequestGrant {
    /// Those of docsis-ns3: 2 ms; `MinReqGntDelay`, 12 OFDMA frames of 135 us; none.
    fn default() -> Self {
        Self { interval: Span::from_millis(2), delay: Span::from_micros(1620), guaranteed: Rate(0.0) }
    }
}

const EXAMPLE: &str = "request_grant = { interval = \"2 ms\", guaranteed = \"1 Mbit/s\" }";

impl RequestGrant {
    /// That of one `[[links]]`.
    pub(super) fn read(link: &mut TableReader) -> Option<Self> {
        let mut inner = link.inner("request_grant", EXAMPLE)?;
        let usual = Self::default();
        let interval: Option<Span> = inner.optional("interval").or(Some(usual.interval));
        let interval = inner.within("interval", interval, "100 us", "1 s");
        let delay: Option<Span> = inner.optional("delay").or(Some(usual.delay));
        let delay = inner.within("delay", delay, "0 s", "1 s");
        let guaranteed: Option<Rate> = inner.optional("guaranteed").or(Some(usual.guaranteed));
        let guaranteed = inner.within("guaranteed", guaranteed, "0 bit/s", "10 Tbit/s");
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
