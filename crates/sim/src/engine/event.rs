//! The events of a run.

use crate::calendar::{EventOrigin, TimerEvent};
use crate::net::packet::Packet;
use aqmlab_core::Span;

/// An event of a run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Event {
    /// A packet reaches the queue of its next link or its receiver, or an ACK its sender.
    Arrive(Packet),
    /// A link has sent a packet.
    Sent { link: u32 },
    /// Packets may have waited long enough on a link's wire for others, or in the queue of a radio's link.
    Release { link: u32 },
    /// A frame of the Wi-Fi cell may begin or end.
    Frame,
    /// A sender's retransmission timer may be due.
    Timer { flow: u32 },
    /// A receiver's delayed ACK may be due.
    AckDue { flow: u32 },
    /// A flow's application starts.
    Open { flow: u32 },
    /// A flow's application stops.
    Close { flow: u32 },
    /// A source may send a datagram, or offer data.
    Emit { source: u32 },
    /// An end of a call that adapts has something to do.
    Media { flow: u32 },
    /// A client asks for its next object.
    Request { client: u32 },
    /// A link's rate changes.
    RateChange { link: u32 },
    /// A scheme's periodic update. Another scheme, or another period, begins another series.
    Tick { link: u32, period: Span, series: u32 },
    /// A point of the recorded time series.
    #[default]
    Sample,
    /// Metrics count from now.
    WarmedUp,
}

impl TimerEvent for Event {
    #[inline]
    fn of_place(place: EventOrigin) -> Self {
        match place.flow() {
            (flow, true) => Event::Timer { flow },
            (flow, false) => Event::Open { flow },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_half_a_cache_line() {
        assert_eq!((size_of::<Packet>(), size_of::<Event>()), (32, 32));
    }
}
