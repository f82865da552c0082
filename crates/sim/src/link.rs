//! A queueing link: queues under a scheme, and the transmitter behind them.

use crate::calendar::{Calendar, Lane};
use crate::event::{Event, Packet};
use crate::meter::LinkMeter;
use crate::scenario::{Law, LinkSpec, RateChanges};
use aqmlab_aqm::{AnyQueue, AnyScheme, Carried, Ctx, Discipline, Fate};
use aqmlab_core::{Rate, Span, Stream, Time};

/// A link in a running world.
///
/// Where the scheme acts on arrivals only, a packet's departure is known when it is accepted: it leaves after all that
/// is before it. The link then needs no event for it; it catches up with its own departures whenever it is looked at. At
/// one instant an arrival comes before a departure, as it mostly does in the order of insertion. Where the scheme also
/// acts on departures, or the rate changes, the end of each transmission is an event.
pub struct Link {
    pub queue: AnyQueue<Packet>,
    pub meter: LinkMeter,
    /// Lane of the end of transmissions, which come one by one.
    pub lane: Lane,
    /// Lane of the scheme's periodic updates.
    pub tick_lane: Lane,
    departures_known: bool,
    /// When the transmission in progress ends.
    in_service: Option<Time>,
    /// When the queue will let a packet go, where some wait and none may.
    ready_at: Option<Time>,
    /// What is being sent, where the end of its transmission is an event.
    sending: Option<Packet>,
    /// When all that was accepted will have been sent, where departures are known.
    clear_at: Time,
    rate: Rate,
    changes: Changes,
    /// The next change: when, and to what.
    upcoming: Option<(Time, Rate)>,
    /// Size of the last packet timed and what its transmission takes.
    transmission: (u16, Span),
    rng: Stream,
}

/// What follows from the arrival of a packet.
pub enum Offered {
    /// Nothing: it was dropped, or waits behind others.
    Nothing,
    /// The transmitter is free: a transmission may start.
    MayStart,
    /// The packet will have been sent at this time.
    SentAt(Time),
}

/// Changes of the rate yet to come.
enum Changes {
    Steps(std::vec::IntoIter<(Span, Rate)>),
    Wander { values: Vec<Rate>, hold: Law<Span>, holds: usize, rng: Stream },
}

impl Changes {
    fn new(changes: &RateChanges, rng: Stream) -> Self {
        match changes.clone() {
            RateChanges::None => Changes::Steps(Vec::new().into_iter()),
            RateChanges::At(steps) => Changes::Steps(steps.into_iter()),
            RateChanges::Wander { values, hold } => Changes::Wander { values, hold, holds: 0, rng },
        }
    }

    /// The next rate, and when it begins.
    fn next(&mut self, present: Rate, now: Time) -> Option<(Time, Rate)> {
        match self {
            Changes::Steps(steps) => steps.next().map(|(time, rate)| (Time::ZERO + time, rate)),
            Changes::Wander { values, hold, holds, rng } => {
                let begins = now + hold.draw(*holds, rng).max(SHORTEST_HOLD);
                *holds += 1;
                let others: Vec<Rate> = values.iter().copied().filter(|rate| *rate != present).collect();
                let rate = others.get((rng.uniform() * others.len() as f64) as usize).copied().unwrap_or(present);
                Some((begins, rate))
            }
        }
    }
}

/// Updates at least this far apart are too few for a lane of their own, which every event would have to look at.
const RARE_TICK: Span = Span::from_micros(500);

/// A rate holds at least this long, so that a run moves on.
const SHORTEST_HOLD: Span = Span::from_micros(1);

impl Link {
    /// A link at rest; `marks` says whether its queue marks ECN-capable packets.
    pub fn new(spec: &LinkSpec, scheme: AnyScheme, marks: bool, seed: u64, calendar: &mut Calendar<Event>) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("links.{}.{what}", spec.name), 0);
        let salt = (stream("hash").uniform() * (1u64 << 53) as f64) as u64;
        let queue: AnyQueue<Packet> = scheme.queue(spec.empty_queue(), spec.buffer, marks, salt);
        let departures_known = queue.departures_known() && spec.changes == RateChanges::None;
        let mut changes = Changes::new(&spec.changes, stream("rate"));
        Self {
            departures_known,
            upcoming: changes.next(spec.rate, Time::ZERO),
            lane: if departures_known { Lane::HEAP } else { calendar.lane() },
            tick_lane: match queue.tick_every() {
                Some(period) if period < RARE_TICK => calendar.lane(),
                _ => Lane::HEAP,
            },
            queue,
            meter: LinkMeter::new(spec.buffer),
            in_service: None,
            ready_at: None,
            sending: None,
            clear_at: Time::ZERO,
            rate: spec.rate,
            changes,
            transmission: (0, Span::ZERO),
            rng: stream("aqm"),
        }
    }

    /// The link at rest, with what happens to its packets written down.
    pub fn traced(self) -> Self {
        Self { queue: self.queue.traced(), ..self }
    }

    /// As for a scheme that acts on departures: to hold one way of sending against the other.
    #[cfg(test)]
    pub fn make_departures_events(&mut self) {
        self.departures_known = false;
    }

    /// A packet arrives at the queue, which may mark it.
    #[inline]
    pub fn offer(&mut self, packet: &mut Packet, now: Time) -> Offered {
        self.catch_up(now);
        let waited = self.queue.len();
        let fate = self.queue.enqueue(*packet, &mut Ctx { now, rng: &mut self.rng });
        if self.queue.len() != waited {
            self.meter.on_queue(self.queue.len(), now);
        }
        match fate {
            Fate::Kept => {}
            Fate::Marked(_) => packet.mark(),
            Fate::Dropped(_) => return Offered::Nothing,
        }
        match (self.departures_known, self.in_service) {
            (true, in_service) => {
                self.clear_at = now.max(self.clear_at) + self.transmission(packet.size);
                if in_service.is_none() {
                    self.start_service(now);
                }
                Offered::SentAt(self.clear_at)
            }
            (false, None) => Offered::MayStart,
            (false, Some(_)) => Offered::Nothing,
        }
    }

    /// Takes the next packet into service; returns when its transmission ends, or when to ask again if none may go yet.
    #[inline]
    pub fn start_service(&mut self, now: Time) -> Option<Time> {
        let waited = self.queue.len();
        let next = self.queue.dequeue(&mut Ctx { now, rng: &mut self.rng });
        if self.queue.len() != waited {
            self.meter.on_queue(self.queue.len(), now);
        }
        let Some((packet, since)) = next else { return self.ask_again(now) };
        let end = now + self.transmission(packet.size);
        self.meter.on_service(now, now.since(since), end);
        self.in_service = Some(end);
        if !self.departures_known {
            self.sending = Some(packet);
        }
        Some(end)
    }

    /// When a queue that holds its packets back is to be asked next, unless that is arranged.
    #[cold]
    fn ask_again(&mut self, now: Time) -> Option<Time> {
        let is_arranged = self.ready_at.is_some_and(|time| time > now);
        self.ready_at = self.queue.ready_at().filter(|time| *time > now);
        if is_arranged { None } else { self.ready_at }
    }

    /// The transmission has ended.
    #[inline]
    pub fn finish_service(&mut self) -> Option<Packet> {
        self.in_service = None;
        self.sending.take()
    }

    /// Goes through the departures before now that made no event.
    #[inline]
    pub fn catch_up(&mut self, now: Time) {
        while self.departures_known
            && let Some(end) = self.in_service
            && end < now
        {
            self.in_service = None;
            self.start_service(end);
        }
    }

    /// When the rate changes next, if it does.
    pub fn rate_changes_at(&self) -> Option<Time> {
        self.upcoming.map(|(time, _)| time)
    }

    /// The rate changes now: the next packet is the first at the new one.
    pub fn change_rate(&mut self, now: Time) {
        if let Some((_, rate)) = self.upcoming.take() {
            self.rate = rate;
            self.transmission = (0, Span::ZERO);
            self.queue.set_rate(rate);
            self.upcoming = self.changes.next(rate, now);
        }
    }

    /// Runs the scheme's periodic update.
    pub fn tick(&mut self, now: Time) {
        self.catch_up(now);
        self.queue.tick(&mut Ctx { now, rng: &mut self.rng });
    }

    /// Metrics count from now.
    pub fn restart_meters(&mut self, now: Time) {
        self.catch_up(now);
        self.queue.restart_accounts();
        self.meter.restart(self.queue.len(), now);
    }

    /// Accounts for the time up to now.
    pub fn pass_time(&mut self, now: Time) {
        self.catch_up(now);
        self.meter.pass_time(now);
    }

    #[inline]
    fn transmission(&mut self, size: u16) -> Span {
        if size != self.transmission.0 {
            self.transmission = (size, self.rate.transmission(u32::from(size)));
        }
        self.transmission.1
    }
}
