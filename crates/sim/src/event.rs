//! Everything that can happen in a run, and the packets to which it happens.

use aqmlab_aqm::Carried;
use aqmlab_core::{Span, Time};

/// Everything that can happen.
#[derive(Clone, Copy, Debug, Default)]
pub enum Event {
    /// A packet reaches the queue of its next link. The fields of [`Packet`], laid out to keep events small.
    Arrive { sent_at: Time, flow: u32, seq: u32, size: u16, hop: u8 },
    /// A link has sent a packet.
    Sent { link: u32 },
    /// An ACK reaches its sender.
    Ack { flow: u32, ack: Option<u32> },
    /// A sender's retransmission timer may be due.
    Timer { flow: u32 },
    /// A flow's application starts.
    Open { flow: u32 },
    /// A flow's application stops.
    Close { flow: u32 },
    /// A scheme's periodic update.
    Tick { link: u32, period: Span },
    /// A point of the recorded time series.
    #[default]
    Sample,
    /// Metrics count from now.
    WarmedUp,
}

/// A data packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// When the sender handed it to its access link.
    pub sent_at: Time,
    pub flow: u32,
    pub seq: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Which link of its path it is at or bound for.
    pub hop: u8,
}

impl Packet {
    /// The event of its arrival at the next queue.
    #[inline]
    pub fn arrival(self) -> Event {
        let Packet { sent_at, flow, seq, size, hop } = self;
        Event::Arrive { sent_at, flow, seq, size, hop }
    }
}

impl Carried for Packet {
    #[inline]
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn is_ect(&self) -> bool {
        false
    }
    fn mark(&mut self) {}
}
