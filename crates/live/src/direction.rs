//! One direction of the line in time alone: packets in, packets out and when. It reads no clock, so that a live run and
//! its replay are the same.

use crate::store::Slot;
use aqmlab_aqm::disciplines::Note;
use aqmlab_aqm::{Discipline, Failure, Fate};
use aqmlab_core::{Problems, Span, Time};
use aqmlab_sim::scenario::LinkSpec;
use aqmlab_sim::{AqmChoice, BusyMark, Link, Offered, Scenario};
use std::collections::VecDeque;

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// When.
    pub time: Time,
    /// The packet.
    pub slot: Slot,
    /// `Kept` of one that leaves.
    pub fate: Fate,
}

/// A packet on the wire.
#[derive(Clone, Copy, Debug)]
pub struct Flying {
    /// When it arrives at the other end.
    pub due: Time,
    /// The packet.
    pub slot: Slot,
}

/// What comes next, in this order at one instant.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Sent,
    RateChange,
    Tick,
    WarmedUp,
    Sample,
}

/// One direction.
pub struct Direction {
    /// The simulator's own link.
    pub link: Link<Slot>,
    /// Propagation.
    delay: Span,
    /// Measured from here on.
    warmup: Time,
    sent: Option<Time>,
    tick: Option<Time>,
    is_warm: bool,
    sample: Option<(Time, Span)>,
    sampled: BusyMark,
    /// How many quantities the scheme shows.
    observables: usize,
    /// Rows of the time series: time, queue, utilisation, and what the scheme shows.
    pub series: Vec<Vec<f64>>,
    wire: VecDeque<Flying>,
    notes: Vec<Note<Slot>>,
    /// Packets that leave are among the decisions.
    pub logs: bool,
    /// What became of packets since this was last emptied: those that were dropped, and if asked for those that left.
    pub decisions: Vec<Decision>,
}

impl Direction {
    /// At rest.
    ///
    /// # Errors
    /// If the scheme does not fit the link.
    pub fn new(
        scenario: &Scenario,
        spec: &LinkSpec,
        choice: &AqmChoice,
        delay: Span,
        seed: u64,
    ) -> Result<Self, Problems> {
        let scheme = scenario.build_scheme(spec, choice)?;
        let mut link = Link::new(spec, scheme, scenario.marks(spec, choice)?, true, seed);
        link.queue.keep_notes();
        link.stop_probing();
        let observables = aqmlab_aqm::entry(&choice.name).map_or(0, |entry| entry.observables.len());
        Ok(Self {
            tick: link.queue.tick_every().map(|_| Time::ZERO),
            link,
            delay,
            warmup: Time::ZERO + scenario.warmup,
            sent: None,
            is_warm: scenario.warmup == Span::ZERO,
            sample: Some((Time::ZERO, scenario.sample)),
            sampled: BusyMark::default(),
            observables,
            series: Vec::new(),
            wire: VecDeque::with_capacity(1 << 12),
            notes: Vec::new(),
            logs: false,
            decisions: Vec::new(),
        })
    }

    /// A packet arrives. What comes before has been done ([`Direction::advance`]).
    pub fn offer(&mut self, mut slot: Slot) {
        let now = slot.arrived;
        match self.link.offer(&mut slot, now) {
            Offered::Dropped => self.decisions.push(Decision { time: now, slot, fate: Fate::Dropped(REFUSED) }),
            _ if self.link.is_free() => self.start(now),
            _ => {}
        }
        self.note(now);
    }

    /// Does all that happens before `until`.
    pub fn advance(&mut self, until: Time) {
        while let Some((now, what)) = self.next().filter(|(time, _)| *time < until) {
            match what {
                What::Sent => self.finish(now),
                What::RateChange => self.link.change_rate(now),
                What::Tick => {
                    self.link.tick(now);
                    self.tick = self.link.queue.tick_every().map(|period| now + period);
                }
                What::WarmedUp => {
                    self.link.restart_meters(now);
                    self.is_warm = true;
                }
                What::Sample => self.take_sample(now),
            }
        }
    }

    /// When something comes out next, as far as is known.
    pub fn next_due(&self) -> Option<Time> {
        let flying = self.wire.front().map(|flying| flying.due);
        flying.or_else(|| self.sent.map(|sent| sent + self.delay))
    }

    /// What is due before or at `now`, in order.
    pub fn take_due(&mut self, now: Time) -> Option<Flying> {
        if self.wire.front()?.due <= now { self.wire.pop_front() } else { None }
    }

    /// Whether metrics count.
    pub fn is_warm(&self) -> bool {
        self.is_warm
    }

    /// How many quantities the scheme shows.
    pub fn observables(&self) -> usize {
        self.observables
    }

    /// Packets on the wire.
    pub fn flying(&self) -> usize {
        self.wire.len()
    }

    /// Why the scheme has broken down, if it has.
    pub fn failure(&self) -> Option<&Failure> {
        self.link.queue.failure()
    }

    fn next(&self) -> Option<(Time, What)> {
        let all = [
            (self.sent, What::Sent),
            (self.link.rate_changes_at(), What::RateChange),
            (self.tick, What::Tick),
            ((!self.is_warm).then_some(self.warmup), What::WarmedUp),
            (self.sample.map(|(time, _)| time), What::Sample),
        ];
        all.into_iter().filter_map(|(time, what)| Some((time?, what))).min()
    }

    fn start(&mut self, now: Time) {
        if let Some(end) = self.link.start_service(now) {
            self.sent = Some(end);
        }
        self.note(now);
    }

    fn finish(&mut self, now: Time) {
        self.sent = None;
        if let Some(mut slot) = self.link.finish_service() {
            if self.logs {
                self.decisions.push(Decision { time: now, slot, fate: Fate::Kept });
            }
            let left = match &mut self.link.impairment {
                None => Some(now),
                Some(wire) => wire.cross(&mut slot, now, self.warmup..Time::NEVER),
            };
            match left {
                Some(left) => self.fly(Flying { due: left + self.delay, slot }),
                None => self.decisions.push(Decision { time: now, slot, fate: Fate::Dropped(LOST) }),
            }
        }
        self.start(now);
    }

    /// Puts it behind all that arrive before it or with it.
    fn fly(&mut self, flying: Flying) {
        let place = self.wire.iter().rposition(|before| before.due <= flying.due).map_or(0, |place| place + 1);
        self.wire.insert(place, flying);
    }

    /// Drops of packets that had joined.
    fn note(&mut self, time: Time) {
        self.link.queue.fetch_notes(&mut self.notes);
        for Note { fate, packet, .. } in self.notes.drain(..) {
            if let Fate::Dropped(_) = fate {
                self.decisions.push(Decision { time, slot: packet, fate });
            }
        }
    }

    fn take_sample(&mut self, now: Time) {
        let Some((next, step)) = &mut self.sample else { return };
        *next += *step;
        let (waiting, busy) = (self.link.queue.len(), self.link.meter.utilisation_since(&mut self.sampled, now));
        let shown = (0..self.observables).map(|i| self.link.queue.observe(i));
        self.series.push([now.seconds(), f64::from(waiting), busy].into_iter().chain(shown).collect());
    }
}

/// A packet that did not join; the accounts of the queue have the reason.
pub const REFUSED: &str = "refused";
/// A packet that was lost on the wire.
pub const LOST: &str = "lost";
