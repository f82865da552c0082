//! The events of a run.

use crate::calendar::{Calendar, FromTimer, Lane, Timer};
use crate::net::flow::Schedule;
use crate::net::packet::Packet;
use aqmlab_core::{Span, Time};

/// An event of a run.
#[derive(Clone, Copy, Debug, Default)]
pub enum Event {
    /// A packet reaches the queue of its next link or its receiver, or an ACK its sender.
    Arrive(Packet),
    /// A link has sent a packet.
    Sent { link: u32 },
    /// A sender's retransmission timer may be due.
    Timer { flow: u32 },
    /// A receiver's delayed ACK may be due.
    AckDue { flow: u32 },
    /// A flow's application starts.
    Open { flow: u32 },
    /// A flow's application stops.
    Close { flow: u32 },
    /// A UDP source may send.
    Emit { source: u32 },
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

impl FromTimer<()> for Event {
    #[inline]
    fn from_timer(timer: Timer, (): ()) -> Self {
        match timer {
            Timer::Retransmission(flow) => Event::Timer { flow },
            Timer::Open(flow) => Event::Open { flow },
        }
    }
}

/// Sink of future events.
pub trait EventSink {
    /// Schedules an event at `time`.
    fn push(&mut self, lane: Lane, time: Time, event: Event);

    /// Schedules a timer, in any order.
    fn push_timer(&mut self, time: Time, timer: Timer);
}

impl EventSink for Calendar<Event> {
    #[inline(always)]
    fn push(&mut self, lane: Lane, time: Time, event: Event) {
        Calendar::push(self, lane, time, event);
    }

    #[inline]
    fn push_timer(&mut self, time: Time, timer: Timer) {
        Calendar::push_timer(self, time, timer, ());
    }
}

impl<P: EventSink> Schedule for P {
    #[inline(always)]
    fn arrive(&mut self, lane: Lane, time: Time, packet: Packet) {
        self.push(lane, time, Event::Arrive(packet));
    }

    #[inline(always)]
    fn retransmission(&mut self, time: Time, flow: u32) {
        self.push_timer(time, Timer::Retransmission(flow));
    }

    #[inline(always)]
    fn delayed_ack(&mut self, time: Time, flow: u32) {
        self.push(Lane::ANY, time, Event::AckDue { flow });
    }

    #[inline(always)]
    fn emission(&mut self, time: Time, source: u32) {
        self.push(Lane::ANY, time, Event::Emit { source });
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
