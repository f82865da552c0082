//! A queueing link: a queue under a scheme, and the transmitter behind it.

use crate::calendar::Lane;
use crate::meter::LinkMeter;
use crate::scenario::{AqmChoice, LinkSpec, Scenario};
use crate::world::Event;
use aqmlab_aqm::{AnyAqm, Carried, Ctx, Fifo, QueueView};
use aqmlab_core::{Problems, Rate, Span, Stream, Time};

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

/// The scheme of `link`, with the parameters of scenario and choice.
pub fn build_scheme(scenario: &Scenario, link: &LinkSpec, choice: &AqmChoice) -> Result<AnyAqm, Problems> {
    let entry = aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?;
    entry.build(&choice.name, &scenario.params(choice), &empty_view(link))
}

fn empty_view(link: &LinkSpec) -> QueueView {
    Fifo::<Packet>::empty_view(link.rate, link.target)
}

impl Link {
    pub fn new(spec: &LinkSpec, scheme: AnyAqm, seed: u64, lane: Lane) -> Self {
        Self {
            queue: Fifo::new(scheme, empty_view(spec), spec.buffer, false),
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
