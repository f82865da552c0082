//! One direction of a line in time alone: packets in, packets out and when. It reads no clock, so that a live run, its
//! replay and whoever calls it in virtual time get the same.

use crate::measure::link::LinkUsage;
use crate::net::WirePacket;
use crate::net::impairment::Gathering;
use crate::net::lines::LineSpec;
use crate::net::link::{DepartureMode, Link};
use crate::net::outcome::{Decision, PacketOutcome};
use aqmlab_aqm::disciplines::Note;
use aqmlab_aqm::{Discipline, Failure, Fate};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::{Action, AqmChoice, Scenario};
use std::collections::VecDeque;

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
pub struct PacketInFlight<P> {
    /// Its arrival at the other end.
    pub due: Time,
    /// The start of its transmission.
    pub began: Time,
    /// The packet.
    pub packet: P,
}

/// The next event, in this order at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum DirectionEvent {
    Sent,
    Release,
    RateChange,
    Tick,
    WarmedUp,
    Sample,
    Change,
}

/// One direction.
#[derive(Clone)]
pub struct Direction<P> {
    /// The simulator's own link.
    pub link: Link<P>,
    line: LineSpec,
    seed: u64,
    /// Propagation.
    delay: Span,
    /// The number of the line's changes made so far.
    changed: usize,
    /// Measured from here on.
    warmup: Time,
    /// End of the transmission in progress, or when to ask the queue again.
    sent: Option<Time>,
    /// Start of the transmission in progress.
    began: Time,
    tick: Option<Time>,
    is_warm: bool,
    sample: Option<(Time, Span)>,
    sampled: LinkUsage,
    /// The number of quantities that the scheme shows.
    observables: usize,
    /// Rows of the time series: time, queue, utilisation, and what the scheme shows.
    pub series: Vec<Vec<f64>>,
    wire: VecDeque<PacketInFlight<P>>,
    /// The start of the transmission of each packet that waits on the wire for others.
    gathered: Vec<Time>,
    notes: Vec<Note<P>>,
    /// Packets that leave are among the decisions.
    pub logs: bool,
    /// The fates of packets since this was last emptied: of those dropped, and if asked for of those that left.
    pub decisions: Vec<Decision<P>>,
}

impl<P: WirePacket> Direction<P> {
    /// At rest.
    ///
    /// # Errors
    /// If the scheme does not fit the link.
    pub fn new(scenario: &Scenario, line: &LineSpec, choice: &AqmChoice, seed: u64) -> Result<Self, Problems> {
        let spec = &line.link;
        let scheme = scenario.build_scheme(spec, choice)?;
        let mut link = Link::new(spec, scheme, scenario.marks(spec, choice)?, DepartureMode::AtService, seed);
        link.queue.keep_notes(true);
        link.stop_probing();
        let observables = aqmlab_aqm::entry(&choice.name).map_or(0, |entry| entry.observables.len());
        Ok(Self {
            tick: link.queue.tick_every().map(|_| Time::ZERO),
            link,
            delay: line.delay,
            line: line.clone(),
            seed,
            changed: 0,
            warmup: Time::ZERO + scenario.warmup,
            sent: None,
            began: Time::ZERO,
            is_warm: scenario.warmup == Span::ZERO,
            sample: None,
            sampled: LinkUsage::default(),
            observables,
            series: Vec::new(),
            wire: VecDeque::new(),
            gathered: Vec::new(),
            notes: Vec::new(),
            logs: false,
            decisions: Vec::new(),
        })
    }

    /// The same with a time series, a row each `step`.
    pub fn sampled(self, step: Span) -> Self {
        Self { sample: Some((Time::ZERO, step)), ..self }
    }

    /// A packet arrives now, all that comes before having been done ([`Direction::advance`]); returns it as it is now, perhaps
    /// marked.
    pub fn offer(&mut self, mut packet: P, now: Time) -> P {
        match self.link.offer(&mut packet, now) {
            Err(why) => self.decisions.push(Decision { time: now, packet, outcome: PacketOutcome::Refused(why) }),
            Ok(()) if self.link.is_free() => self.start(now),
            Ok(()) => {}
        }
        self.note(now);
        packet
    }

    /// Does all that happens before `until`.
    pub fn advance(&mut self, until: Time) {
        while let Some((now, what)) = self.next().filter(|(time, _)| *time < until) {
            match what {
                DirectionEvent::Sent => self.finish(now),
                DirectionEvent::Release => self.release(now),
                DirectionEvent::RateChange => self.link.change_rate(now),
                DirectionEvent::Tick => {
                    self.link.tick(now);
                    self.tick = self.link.queue.tick_every().map(|period| now + period);
                }
                DirectionEvent::WarmedUp => {
                    self.link.restart_meters(now);
                    self.is_warm = true;
                }
                DirectionEvent::Sample => self.take_sample(now),
                DirectionEvent::Change => self.change(now),
            }
        }
    }

    /// A time before which no packet comes out: when the next does, as far as is known. `None` if none is under way.
    pub fn next_due(&self) -> Option<Time> {
        let leaves = self.sent.map(|sent| match self.next_change() {
            Some(change) if change < sent => change, // of the delay, perhaps
            _ => sent + self.delay,
        });
        let released = self.release_at().map(|time| time + self.delay);
        self.wire.front().map(|flying| flying.due).into_iter().chain(leaves).chain(released).min()
    }

    /// The next packet that is due before or at `now`, in order.
    pub fn take_due(&mut self, now: Time) -> Option<PacketInFlight<P>> {
        if self.wire.front()?.due <= now { self.wire.pop_front() } else { None }
    }

    /// True if metrics count.
    pub fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// The end of the warm-up.
    pub fn warmup(&self) -> Time {
        self.warmup
    }

    /// The number of quantities that the scheme shows.
    pub fn observables(&self) -> usize {
        self.observables
    }

    /// Packets on the wire.
    pub fn flying(&self) -> usize {
        self.wire.len() + self.gathered.len()
    }

    /// The scheme's breakdown, if it has one.
    pub fn failure(&self) -> Option<&Failure> {
        self.link.queue.failure()
    }

    fn next(&self) -> Option<(Time, DirectionEvent)> {
        let all = [
            (self.sent, DirectionEvent::Sent),
            (self.release_at(), DirectionEvent::Release),
            (self.link.rate_changes_at(), DirectionEvent::RateChange),
            (self.tick, DirectionEvent::Tick),
            ((!self.is_warm).then_some(self.warmup), DirectionEvent::WarmedUp),
            (self.sample.map(|(time, _)| time), DirectionEvent::Sample),
            (self.next_change(), DirectionEvent::Change),
        ];
        all.into_iter().filter_map(|(time, what)| Some((time?, what))).min()
    }

    fn next_change(&self) -> Option<Time> {
        self.line.changes.get(self.changed).map(|(time, _)| *time)
    }

    /// Makes the line's next change.
    fn change(&mut self, now: Time) {
        let LineSpec { link: spec, delay, changes, .. } = &self.line;
        match changes[self.changed].1 {
            Action::Rate(_, rate) => self.link.set_rate(rate, now),
            Action::Delay(_, own) => self.delay = Span(delay.0 - spec.delay.0) + own,
            Action::Loss(_, loss) => self.link.set_loss(loss, spec, self.seed),
            _ => {} // a line has no others
        }
        self.changed += 1;
    }

    fn start(&mut self, now: Time) {
        if let Some(end) = self.link.start_service(now) {
            (self.sent, self.began) = (Some(end), now);
        }
        self.note(now);
    }

    fn finish(&mut self, now: Time) {
        self.sent = None;
        if let Some(mut packet) = self.link.finish_service() {
            if self.logs {
                self.decisions.push(Decision { time: now, packet, outcome: PacketOutcome::Sent });
            }
            let left = match &mut self.link.impairment {
                None => Some(now),
                Some(wire) => wire.cross(&mut packet, now, self.warmup..Time::NEVER),
            };
            let gathers = self.link.impairment.as_ref().is_some_and(|wire| wire.gathers());
            match left {
                Some(_) if gathers => self.gather(packet, now),
                Some(left) => self.fly(PacketInFlight { due: left + self.delay, began: self.began, packet }),
                None => self.decisions.push(Decision { time: now, packet, outcome: PacketOutcome::Lost }),
            }
        }
        self.start(now);
    }

    /// A packet waits on the wire for others, or is the last of them.
    fn gather(&mut self, packet: P, now: Time) {
        self.gathered.push(self.began);
        let wire = self.link.impairment.as_mut().expect("packets wait where there is such a wire");
        if wire.gather(packet, now) == Gathering::Complete {
            self.release(now);
        }
    }

    /// Packets that have waited for each other leave the wire.
    fn release(&mut self, now: Time) {
        let Some(mut packets) = self.link.impairment.as_mut().map(|wire| wire.release()) else { return };
        for (i, packet) in packets.drain(..).enumerate() {
            self.fly(PacketInFlight { due: now + self.delay, began: self.gathered[i], packet });
        }
        self.gathered.clear();
        self.link.impairment.iter_mut().for_each(|wire| wire.keep_room(std::mem::take(&mut packets)));
    }

    fn release_at(&self) -> Option<Time> {
        self.link.impairment.as_ref()?.release_at
    }

    /// Puts it behind all that arrive before it or with it.
    fn fly(&mut self, flying: PacketInFlight<P>) {
        let place = self.wire.iter().rposition(|before| before.due <= flying.due).map_or(0, |place| place + 1);
        self.wire.insert(place, flying);
    }

    /// Drops of packets that had joined.
    fn note(&mut self, time: Time) {
        self.link.queue.fetch_notes(&mut self.notes);
        for Note { fate, packet, .. } in self.notes.drain(..) {
            if let Fate::Dropped(why) = fate {
                self.decisions.push(Decision { time, packet, outcome: PacketOutcome::Dropped(why) });
            }
        }
    }

    fn take_sample(&mut self, now: Time) {
        let Some((next, step)) = &mut self.sample else { return };
        *next += *step;
        let (waiting, utilisation) = (self.link.queue.len(), self.link.utilisation_since(&mut self.sampled, now));
        let shown = (0..self.observables).map(|i| self.link.queue.observe(i));
        self.series.push([now.seconds(), f64::from(waiting), utilisation].into_iter().chain(shown).collect());
    }
}
