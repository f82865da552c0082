//! The cost of a scheme: its parameters, its memory, and the time of a packet and of an update.
//!
//! The reference queue is that of Li et al. (2014), Table 1: 45 Mbit/s, packets of 1000 B, a target of 300 packets of 900,
//! 50 flows. Packets arrive one transmission apart, so that as many arrive as leave, and two at a time below the target.

use crate::catalogue::{AnyQueue, SchemeEntry};
use crate::{Carried, Ctx, Discipline, Ecn, Limit, QueueView};
use aqmlab_core::{Problems, Rate, Span, Stream, Time};
use std::hint::black_box;
use std::time::{Duration, Instant};

const RATE: Rate = Rate(45e6);
const TARGET: u32 = 300;
const LIMIT: u32 = 900;
const FLOWS: u32 = 50;
const SIZE: u32 = 1000;
/// Packets, and updates, that are timed together.
const PACKETS: u32 = 50_000;
const UPDATES: u32 = 5_000;
/// The least of so many measurements counts: what disturbs one only adds to it.
const REPEATS: usize = 3;

/// Packets that the reference link sends in a second.
const LOAD: f64 = RATE.0 / (8.0 * SIZE as f64);

/// The cost of a scheme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Parameters that it declares.
    pub parameters: usize,
    /// Bytes of its parameters and state ([`SchemeEntry::memory`]).
    pub memory: Option<usize>,
    /// Time to take in a packet and let it go, s; the discipline included.
    pub packet: f64,
    /// Time of a periodic update, s; `None` if it has none.
    pub update: Option<f64>,
    /// Time between updates with its default parameters, s.
    pub update_every: Option<f64>,
}

impl Cost {
    /// Time that the scheme takes for a second of the reference link, s.
    pub fn second(&self) -> f64 {
        let updates = self.update.zip(self.update_every).map_or(0.0, |(update, every)| update / every);
        LOAD * self.packet + updates
    }
}

/// Measures a scheme with its default parameters on this machine, which takes some 30 ms.
///
/// # Errors
/// If the scheme does not fit the reference queue.
pub fn measure(entry: &SchemeEntry) -> Result<Cost, Problems> {
    let view = QueueView::empty(RATE, f64::from(TARGET), f64::from(LIMIT));
    let mut cost = Cost {
        parameters: (entry.params)().len(),
        memory: entry.memory,
        packet: f64::INFINITY,
        update: None,
        update_every: None,
    };
    for _ in 0..REPEATS {
        let queue = entry.build("scheme", &[], &view)?.queue(view, Limit::Packets(LIMIT), false, 1);
        let mut bench = Bench { queue, now: Time::ZERO, rng: Stream::new(1, "cost", 0), sent: 0 };
        let every = bench.queue.tick_every();
        bench.pass(PACKETS / 10, every); // the queue fills, the scheme warms up
        cost.packet = cost.packet.min(bench.packets() / f64::from(PACKETS));
        cost.update_every = every.map(Span::seconds);
        if every.is_some() {
            let update = bench.updates() / f64::from(UPDATES);
            cost.update = Some(cost.update.map_or(update, |least: f64| least.min(update)));
        }
    }
    Ok(cost)
}

/// A queue that is fed and served.
struct Bench {
    queue: AnyQueue<Datagram>,
    now: Time,
    rng: Stream,
    sent: u32,
}

impl Bench {
    /// One transmission time: a packet arrives, or two if the queue is short, and one leaves.
    #[inline]
    fn slot(&mut self) {
        self.now += RATE.transmission(SIZE);
        let cx = &mut Ctx { now: self.now, rng: &mut self.rng };
        for _ in 0..if self.queue.len() < TARGET { 2 } else { 1 } {
            self.sent += 1;
            black_box(self.queue.enqueue(Datagram { flow: self.sent % FLOWS }, cx));
        }
        black_box(self.queue.dequeue(cx));
    }

    /// `slots` transmission times with their updates.
    fn pass(&mut self, slots: u32, every: Option<Span>) {
        let mut due = every.map(|every| self.now + every);
        for _ in 0..slots {
            self.slot();
            while let (Some(at), Some(every)) = (due, every)
                && at <= self.now
            {
                self.update();
                due = Some(at + every);
            }
        }
    }

    fn update(&mut self) {
        self.queue.tick(&mut Ctx { now: self.now, rng: &mut self.rng });
    }

    /// Seconds for `PACKETS` packets.
    fn packets(&mut self) -> f64 {
        let until = self.sent + PACKETS;
        timed(|| {
            while self.sent < until {
                self.slot();
            }
        })
        .as_secs_f64()
    }

    /// Seconds for `UPDATES` updates.
    fn updates(&mut self) -> f64 {
        timed(|| (0..UPDATES).for_each(|_| self.update())).as_secs_f64()
    }
}

#[allow(clippy::disallowed_methods)] // it times code; no run comes by here
fn timed(act: impl FnOnce()) -> Duration {
    let started = Instant::now();
    act();
    started.elapsed()
}

#[derive(Clone)]
struct Datagram {
    flow: u32,
}

impl Carried for Datagram {
    fn size(&self) -> u32 {
        SIZE
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn mark(&mut self) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{entries, entry};

    #[test]
    fn every_scheme_has_a_cost() {
        for entry in entries() {
            let cost = measure(&entry).unwrap_or_else(|problems| panic!("{}: {problems}", entry.info.name));
            assert!(cost.packet > 0.0, "{}: {cost:?}", entry.info.name);
            assert_eq!(cost.update.is_some(), cost.update_every.is_some(), "{}: {cost:?}", entry.info.name);
        }
    }

    #[test]
    fn droptail_has_nothing_to_update_and_pi_does_it_at_its_frequency() {
        let cost = |name| measure(&entry(name).unwrap()).unwrap();
        assert_eq!((cost("droptail").parameters, cost("droptail").update), (0, None));
        assert_eq!(cost("pi").update_every.map(|every| (1.0 / every).round()), Some(170.0));
    }
}
