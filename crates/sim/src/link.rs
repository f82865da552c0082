//! A queueing link: a queue under a scheme, and the transmitter behind it.

use crate::calendar::Lane;
use crate::event::Packet;
use crate::meter::LinkMeter;
use crate::scenario::LinkSpec;
use aqmlab_aqm::{AnyAqm, Ctx, Fifo};
use aqmlab_core::{Rate, Span, Stream, Time};

/// A link in a running world.
pub struct Link {
    pub queue: Fifo<Packet>,
    pub meter: LinkMeter,
    /// Lane of the end of transmissions, which come one by one.
    pub lane: Lane,
    in_service: Option<Packet>,
    rate: Rate,
    /// Size of the last packet sent and what it took.
    transmission: (u16, Span),
    rng: Stream,
}

impl Link {
    pub fn new(spec: &LinkSpec, scheme: AnyAqm, seed: u64, lane: Lane) -> Self {
        Self {
            queue: Fifo::new(scheme, spec.empty_queue(), spec.buffer, false),
            meter: LinkMeter::new(spec.buffer),
            lane,
            in_service: None,
            rate: spec.rate,
            transmission: (0, Span::ZERO),
            rng: Stream::new(seed, &format!("links.{}.aqm", spec.name), 0),
        }
    }

    /// A packet arrives at the queue; true if a transmission may start.
    #[inline]
    pub fn offer(&mut self, packet: Packet, now: Time) -> bool {
        if self.queue.enqueue(packet, &mut Ctx { now, rng: &mut self.rng }) {
            self.meter.on_queue(self.queue.len(), now);
        }
        self.in_service.is_none()
    }

    /// Takes the next packet into service; returns when its transmission ends.
    #[inline]
    pub fn start_service(&mut self, now: Time) -> Option<Time> {
        let waited = self.queue.len();
        let next = self.queue.dequeue(&mut Ctx { now, rng: &mut self.rng });
        if self.queue.len() != waited {
            self.meter.on_queue(self.queue.len(), now);
        }
        let (packet, since) = next?;
        if packet.size != self.transmission.0 {
            self.transmission = (packet.size, self.rate.transmission(u32::from(packet.size)));
        }
        let end = now + self.transmission.1;
        self.meter.on_service(now, now.since(since), end);
        self.in_service = Some(packet);
        Some(end)
    }

    /// The transmission has ended.
    #[inline]
    pub fn finish_service(&mut self) -> Option<Packet> {
        self.in_service.take()
    }

    /// Runs the scheme's periodic update.
    pub fn tick(&mut self, now: Time) {
        self.queue.tick(&mut Ctx { now, rng: &mut self.rng });
    }

    /// Metrics count from now.
    pub fn restart_meters(&mut self, now: Time) {
        self.queue.restart_accounts();
        self.meter.restart(self.queue.len(), now);
    }
}
