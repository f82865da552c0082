//! Schemes beside independent transcriptions of what defines them: same packets, times and random numbers, step by
//! step.
//!
//! A transcription is a small program after the page of an RFC or a description. It owns its queue and shares no code
//! with the schemes. Each can also be broken on purpose: a comparison that misses a broken copy proves nothing.

mod cobalt;
mod codel;
mod dualpi2;
mod pie;
mod red;

use aqmlab_aqm::{AnyQueue, Carried, Ctx, Discipline, Ecn, Fate, Limit, QueueView, entry};
use aqmlab_core::{Rate, Stream, Time};
use std::collections::BTreeMap;
use std::fmt::Debug;

const MS: u64 = 1_000_000_000;
const US: u64 = 1_000_000;

/// A packet of both queues.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packet {
    number: u64,
    size: u32,
    ect: bool,
    marked: bool,
}

impl Carried for Packet {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        0
    }
    /// One in three of the ECN-capable ones is L4S.
    fn ecn(&self) -> Ecn {
        match (self.ect, self.number % 3) {
            (false, _) => Ecn::NotEct,
            (true, 0) => Ecn::Ect1,
            (true, _) => Ecn::Ect0,
        }
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

/// The fate of a packet on arrival.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Arrived {
    Joined,
    Marked,
    Dropped,
}

/// A stretch of load at one rate of the link.
#[derive(Clone, Copy)]
struct Phase {
    /// Length, ms.
    ms: u64,
    /// Mean time between bursts, us; nothing arrives if 0.
    gap: u64,
    /// Packets in a burst.
    burst: u32,
    /// Rate of the link, Mbit/s.
    rate: f64,
}

/// A link, its load, and the scheme's parameters, once as text and once as the transcription's own constants.
struct Setup<C> {
    params: &'static [(&'static str, &'static str)],
    constants: C,
    /// Room, packets.
    limit: usize,
    phases: Vec<Phase>,
}

/// A program after the page. Times are picoseconds since the start.
trait Transcription: Sized {
    /// Name of our scheme.
    const SCHEME: &'static str;
    /// Seeds that each setup is run with.
    const SEEDS: u64 = 10;
    /// Branches that the load must reach.
    const BRANCHES: &'static [&'static str];
    /// Ways to break it.
    const MUTATIONS: &'static [Self::Mutation];
    /// Ways to break it that the fate of no packet of these loads can show.
    const ONLY_IN_STATE: &'static [Self::Mutation] = &[];
    type Mutation: Copy + Debug + PartialEq + 'static;
    type Constants: Copy;

    fn setups() -> Vec<Setup<Self::Constants>>;
    fn new(constants: Self::Constants, limit: usize, rng: Stream, notes: Notes<Self::Mutation>) -> Self;
    fn enqueue(&mut self, now: u64, packet: Packet) -> Arrived;
    fn dequeue(&mut self, now: u64) -> Option<Packet>;
    fn update(&mut self, _now: u64) {}
    fn set_rate(&mut self, _bits_per_second: f64) {}
    /// The observables of our scheme.
    fn state(&self) -> Vec<f64>;
    fn notes(&self) -> &Notes<Self::Mutation>;
}

/// The broken branch of a transcription, and the number of times each of its branches was taken.
struct Notes<M> {
    mutation: Option<M>,
    reached: BTreeMap<&'static str, u64>,
}

impl<M: PartialEq> Notes<M> {
    fn is(&self, mutation: M) -> bool {
        self.mutation == Some(mutation)
    }

    fn reach(&mut self, branch: &'static str) {
        *self.reached.entry(branch).or_default() += 1;
    }

    /// Notes the branch if it is taken; whether it is.
    fn reach_if(&mut self, taken: bool, branch: &'static str) -> bool {
        if taken {
            self.reach(branch);
        }
        taken
    }
}

enum Load {
    Packet(Packet),
    Rate(f64),
}

/// Sizes, gaps between half and one and a half times the mean, and every other packet ECN-capable, by chance.
fn load(phases: &[Phase], seed: u64) -> Vec<(Time, Load)> {
    let mut rng = Stream::new(seed, "load", 0);
    let (mut loads, mut start, mut number) = (Vec::new(), 0, 0);
    for phase in phases {
        loads.push((Time(start), Load::Rate(phase.rate * 1e6)));
        let end = start + phase.ms * MS;
        let mut now = start;
        while phase.gap > 0 && now < end {
            for _ in 0..phase.burst {
                number += 1;
                let size = [60, 576, 1000, 1000, 1500][(rng.uniform() * 5.0) as usize];
                let packet = Packet { number, size, ect: rng.uniform() < 0.5, marked: false };
                loads.push((Time(now), Load::Packet(packet)));
            }
            now += ((0.5 + rng.uniform()) * phase.gap as f64).round() as u64 * US;
        }
        start = end;
    }
    loads.push((Time(start), Load::Rate(1e6)));
    loads
}

struct Bed<T> {
    ours: AnyQueue<Packet>,
    rng: Stream,
    theirs: T,
    /// Compare the state, too, not only what becomes of the packets.
    state: bool,
    now: Time,
    next_tick: Time,
    /// Time at which the link has sent its packet; `NEVER` while it is idle.
    free: Time,
    rate: f64,
    steps: u64,
}

impl<T: Transcription> Bed<T> {
    fn new(setup: &Setup<T::Constants>, mutation: Option<T::Mutation>, seed: u64, state: bool) -> Self {
        let view = QueueView::empty(Rate(8e6), 50.0, setup.limit as f64);
        let plan = entry(T::SCHEME).unwrap().build("aqm", setup.params, &view).unwrap();
        let ours: AnyQueue<Packet> = plan.queue(view, Limit::Packets(setup.limit as u32), true, 0);
        let next_tick = ours.tick_every().map_or(Time::NEVER, |_| Time::ZERO);
        let rng = Stream::new(seed, "scheme", 0);
        let notes = Notes { mutation, reached: BTreeMap::new() };
        Self {
            ours,
            theirs: T::new(setup.constants, setup.limit, rng.clone(), notes),
            rng,
            state,
            now: Time::ZERO,
            next_tick,
            free: Time::NEVER,
            rate: 8e6,
            steps: 0,
        }
    }

    fn run(&mut self, loads: &[(Time, Load)]) -> Result<(), String> {
        for (at, load) in loads {
            self.pass_to(*at)?;
            match load {
                Load::Packet(packet) => self.arrive(*packet)?,
                Load::Rate(rate) => {
                    self.rate = *rate;
                    self.ours.set_rate(Rate(*rate));
                    self.theirs.set_rate(*rate);
                }
            }
        }
        Ok(())
    }

    /// Ticks and departures up to `end`.
    fn pass_to(&mut self, end: Time) -> Result<(), String> {
        while self.next_tick.min(self.free) <= end {
            self.now = self.next_tick.min(self.free);
            if self.now == self.next_tick {
                self.tick()?;
            } else {
                self.ask()?;
            }
        }
        self.now = end;
        Ok(())
    }

    fn tick(&mut self) -> Result<(), String> {
        self.ours.tick(&mut Ctx { now: self.now, rng: &mut self.rng });
        self.theirs.update(self.now.0);
        self.next_tick += self.ours.tick_every().unwrap();
        self.agree("tick", (), ())
    }

    fn arrive(&mut self, packet: Packet) -> Result<(), String> {
        let ours = match self.ours.enqueue(packet, &mut Ctx { now: self.now, rng: &mut self.rng }) {
            Fate::Kept => Arrived::Joined,
            Fate::Marked(_) => Arrived::Marked,
            Fate::Dropped(_) => Arrived::Dropped,
        };
        let theirs = self.theirs.enqueue(self.now.0, packet);
        self.agree("arrival", ours, theirs)?;
        if self.free == Time::NEVER { self.ask() } else { Ok(()) }
    }

    /// The link asks for a packet.
    fn ask(&mut self) -> Result<(), String> {
        let ours = self.ours.dequeue(&mut Ctx { now: self.now, rng: &mut self.rng }).map(|(packet, _)| packet);
        let theirs = self.theirs.dequeue(self.now.0);
        self.free = match ours {
            Some(packet) => Time(self.now.0 + (f64::from(packet.size) * 8e12 / self.rate) as u64),
            None => Time::NEVER,
        };
        self.agree("departure", ours, theirs)
    }

    fn agree<R: PartialEq + Debug>(&mut self, step: &str, ours: R, theirs: R) -> Result<(), String> {
        self.steps += 1;
        let state = self.theirs.state();
        let shown: Vec<f64> = (0..state.len()).map(|i| self.ours.observe(i)).collect();
        let close = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-9 * a.abs().max(1e-6);
        if ours == theirs && (!self.state || state.iter().zip(&shown).all(close)) {
            return Ok(());
        }
        let at = self.now.seconds();
        Err(format!("{step} at {at} s: ours {ours:?}, state {shown:?}; transcription {theirs:?}, state {state:?}"))
    }
}

/// No step differs in any setup, with any seed; and every branch of the page was taken.
fn agrees<T: Transcription>() {
    let mut reached: BTreeMap<&str, u64> = BTreeMap::new();
    let mut steps = 0;
    for (i, setup) in T::setups().iter().enumerate() {
        for seed in 0..T::SEEDS {
            let mut bed = Bed::<T>::new(setup, None, seed, true);
            bed.run(&load(&setup.phases, seed)).unwrap_or_else(|why| panic!("setup {i}, seed {seed}: {why}"));
            bed.theirs.notes().reached.iter().for_each(|(branch, n)| *reached.entry(branch).or_default() += n);
            steps += bed.steps;
        }
    }
    println!("{}: {steps} steps; {reached:?}", T::SCHEME);
    for branch in T::BRANCHES {
        assert!(reached.contains_key(branch), "never: {branch}");
    }
    assert!(reached.keys().all(|branch| T::BRANCHES.contains(branch)), "a branch is not listed");
}

/// The fates of packets alone give nearly every broken copy away, the state the rest.
fn finds_broken_copies<T: Transcription>() {
    for mutation in T::MUTATIONS {
        let state = T::ONLY_IN_STATE.contains(mutation);
        let differs = |setup: &Setup<T::Constants>, seed| {
            Bed::<T>::new(setup, Some(*mutation), seed, state).run(&load(&setup.phases, seed)).is_err()
        };
        let found = T::setups().iter().any(|setup| (0..T::SEEDS).any(|seed| differs(setup, seed)));
        assert!(found, "{mutation:?} was not found");
    }
}

#[test]
fn codel_is_that_of_rfc_8289() {
    agrees::<codel::Codel>();
}

#[test]
fn broken_codel_is_found() {
    finds_broken_copies::<codel::Codel>();
}

#[test]
fn pie_is_that_of_rfc_8033() {
    agrees::<pie::Pie>();
}

#[test]
fn broken_pie_is_found() {
    finds_broken_copies::<pie::Pie>();
}

#[test]
fn dualpi2_is_that_of_rfc_9332() {
    agrees::<dualpi2::DualPi2>();
}

#[test]
fn broken_dualpi2_is_found() {
    finds_broken_copies::<dualpi2::DualPi2>();
}

#[test]
fn red_is_that_of_1993_with_what_ns_2_added() {
    agrees::<red::Red>();
}

#[test]
fn broken_red_is_found() {
    finds_broken_copies::<red::Red>();
}

#[test]
fn cobalt_is_that_of_cake() {
    agrees::<cobalt::Cobalt>();
}

#[test]
fn broken_cobalt_is_found() {
    finds_broken_copies::<cobalt::Cobalt>();
}
