//! One run in rounds, which several threads can share, with the result of one event after the other to the byte.
//!
//! The queues are on one side, the flows on the other, in shards. Between the departure of a packet from a queue and its
//! flow's next arrival at one lies at least the flow's propagation delay; so both sides can go on for a while without
//! news from each other (Chandy and Misra, 1979). Time goes on in rounds. In each, the queues handle what was sent to
//! them in the round before, while each shard does for its flows what the queues decided in the round before, and then
//! lets their senders act.
//!
//! Flows meet at the queues only, so a shard need not keep to the order of time among its flows. ACKs of a flow come in
//! order: its sender acts on one as soon as the receiver has sent it, ahead of time, unless a timer, the end of the
//! warm-up or the end of the flow comes before. So an ACK has no place in a calendar, and a flow is fetched from memory
//! once for both of its ends. What the senders send lies in a list for each round; the queues sort it.
//! With different round trips this is faster on one thread, too.
//!
//! Events of one instant come in the order in which a single thread would have pushed them. Nobody counts the pushes, so
//! each event knows how it came about ([`lineage`]). Where that leaves an order open, which takes three coincidences to
//! the picosecond, the run is given up and repeated without rounds.

mod hub;
mod lineage;
mod rounds;
mod shard;

use super::{IN_CACHE, RunError, Simulation};
use crate::calendar::Calendar;
use crate::engine::event::Event;
use crate::net::flow::{Flow, Group};
use crate::net::packet::AT_SENDER;
use crate::net::route::{NextHop, Way};
use crate::traffic::udp::UdpSource;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::RateChanges;
use hub::Hub;
use shard::{Horizons, Shard};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Shards a thread, so that all threads are busy until the end of a round; one thread has one for itself.
const SHARDS_A_THREAD: usize = 4;
/// Packets a round from which on several threads are faster than one.
const WORTHWHILE: f64 = 300.0;
/// The same for rounds on one thread, where round trips differ.
const WORTHWHILE_ALONE: f64 = 5.0;
/// Flows up to which one thread goes in rounds: they take two to three times the memory.
const MOST_ALONE: usize = 1 << 17;
/// Polls of a waiting thread before it lets others run.
const LOOKS: u32 = 4000;

/// Division of a run into rounds on threads.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// The least delay from a sender to the queues.
    to_queues: Span,
    /// Length of a round.
    round: Span,
    /// Packets that a link sends in a round.
    packets: f64,
    threads: usize,
    /// There are many round trips but not too many flows, so that one thread gains from rounds.
    suits_one: bool,
}

/// Reason for which a run in rounds has not been finished.
pub enum RoundsError {
    /// The order of two events could not be told.
    Uncertain,
    Failed(RunError),
}

impl Plan {
    /// The plan of a run at rest for so many threads, 0 being one; `None` if it cannot be divided: with clients, with
    /// changes, with rates that change, and with receivers of Linux, whose ACKs wait for each other.
    pub fn new(simulation: &Simulation, threads: usize) -> Option<Self> {
        let scenario = &simulation.scenario;
        let is_fit = simulation.flows.len() > 1
            && simulation.pending.is_empty()
            && scenario.links.iter().all(|link| matches!(link.changes, RateChanges::None | RateChanges::Trace(_)))
            && scenario.flows.iter().all(|flows| !flows.traffic.has_clients())
            && simulation.groups.iter().all(|group| group.tcp.quick_acks == 0);
        if !is_fit {
            return None;
        }
        let entry = |flow: &Flow| simulation.routes.ways[flow.group as usize].entry(flow.route()).delay;
        let to_queues = simulation.flows.iter().map(entry).min()?;
        let round = simulation.flows.iter().map(|flow| round_of(simulation, flow, to_queues)).min()?;
        let rate = scenario.links.iter().map(|link| link.rate.0).fold(0.0, f64::max);
        let bits = scenario.flows.iter().map(|flows| 8.0 * f64::from(flows.wire_size())).fold(1.0, f64::max);
        let packets = rate / bits * round.seconds();
        let suits_one = !simulation.routes.has_lanes() && simulation.flows.len() <= MOST_ALONE;
        let plan = Self { to_queues, round, packets, threads: threads.max(1), suits_one };
        (to_queues > Span::ZERO && round > Span::ZERO).then_some(plan)
    }

    /// Rounds are faster than one event after the other.
    pub fn is_worthwhile(&self) -> bool {
        match self.threads {
            1 => self.suits_one && self.packets >= WORTHWHILE_ALONE,
            _ => self.packets >= WORTHWHILE,
        }
    }
}

/// The longest round for a flow. What the queues decide in a round reaches senders after the next one, and queues on the
/// way back after that one; a delayed ACK waits at the receiver and has only the way back before it.
fn round_of(simulation: &Simulation, flow: &Flow, to_queues: Span) -> Span {
    let way = &simulation.routes.ways[flow.group as usize];
    let (back, home) = (way.back(flow.route()), way.home(flow.route()));
    let last = way.hops.iter().find(|hop| hop.next == NextHop::Receiver).expect("a way leads to the receiver");
    let reorders = simulation.links[last.link].impairment.as_ref().is_some_and(|wire| wire.reorders());
    let onward = if reorders { Span::ZERO } else { last.onward.delay };
    let is_delayed = simulation.groups[flow.group as usize].tcp.delayed_ack;
    let from_queue = if is_delayed { back.delay } else { onward + way.egress(flow.route()) + back.delay };
    let half = |span: Span| Span(span.0 / 2);
    if way.first_back == AT_SENDER {
        half(to_queues + from_queue)
    } else {
        half(to_queues + home.delay).min(half(from_queue))
    }
}

/// Lets all of a run happen that is at rest.
///
/// # Errors
/// If the order of two events cannot be told, if a scheme breaks down, or if the watch says stop. The simulation is then
/// of no further use.
pub fn run(simulation: &mut Simulation, plan: Plan) -> Result<(), RoundsError> {
    let mut flows = std::mem::take(&mut simulation.flows);
    let mut sources = std::mem::take(&mut simulation.sources);
    let (groups, ways) = (simulation.groups.clone(), simulation.routes.ways.clone());
    let shards = if plan.threads == 1 { 1 } else { SHARDS_A_THREAD * plan.threads };
    let bits = flows.len().div_ceil(shards).next_power_of_two().trailing_zeros();
    let is_large = flows.len() > IN_CACHE;
    let group_of = flows.iter().map(|flow| flow.group).collect();
    let mut hub = Hub::new(group_of, bits, simulation.calendar.lanes(), is_large);
    let flow_of: Vec<u32> = sources.iter().map(|source| source.flow).collect();
    let mut shards = divide(simulation, &mut flows, &mut sources, (&groups, &ways), bits, (plan.round, is_large));
    deal(&mut simulation.calendar, &mut hub, &mut shards, bits, &flow_of);
    let shards: Vec<Mutex<Shard>> = shards.into_iter().map(Mutex::new).collect();
    let gate = Gate::new(&shards);
    std::thread::scope(|scope| {
        (1..plan.threads).for_each(|_| drop(scope.spawn(|| gate.serve())));
        let _closing = ClosingGuard(&gate);
        go_round(simulation, &mut hub, &gate, plan)
    })?;
    simulation.events += hub.handled();
    for shard in shards {
        let shard = shard.into_inner().unwrap_or_else(PoisonError::into_inner);
        simulation.events += shard.events;
        for (meter, count) in simulation.group_meters.iter_mut().zip(&shard.counts) {
            meter.sent += count.sent;
            meter.before = meter.before.plus(count.before);
            meter.resent.merge(&count.resent);
        }
    }
    (simulation.flows, simulation.sources) = (flows, sources);
    Ok(())
}

/// The flows in shards, each with the sources among them.
fn divide<'a>(
    simulation: &Simulation,
    flows: &'a mut [Flow],
    mut sources: &'a mut [UdpSource],
    common: (&'a [Group], &'a [Way]),
    bits: u32,
    (round, is_large): (Span, bool),
) -> Vec<Shard<'a>> {
    let (mut shards, mut first_source) = (Vec::new(), 0);
    let (groups, ways) = common;
    let reorders: Vec<bool> = ways.iter().map(|way| reorders_on_last(simulation, way)).collect();
    for (i, of_shard) in flows.chunks_mut(1 << bits).enumerate() {
        let first = (i << bits) as u32;
        let own = sources.partition_point(|source| source.flow < first + of_shard.len() as u32);
        let (own, others) = sources.split_at_mut(own);
        let next_source = first_source + own.len() as u32;
        let (common, measured) = ((groups, ways, &reorders[..]), simulation.warmup..simulation.end);
        shards.push(Shard::new((first, of_shard), (first_source, own), common, (round, is_large), measured));
        (sources, first_source) = (others, next_source);
    }
    shards
}

/// True if ACKs may pass each other on their last link.
fn reorders_on_last(simulation: &Simulation, way: &Way) -> bool {
    let mut last = way.hops.iter().filter(|hop| hop.next == NextHop::Sender);
    last.any(|hop| simulation.links[hop.link].impairment.as_ref().is_some_and(|wire| wire.reorders()))
}

/// Gives each event of the set-up to where it happens; `flow_of` is the flow of each source.
fn deal(calendar: &mut Calendar<Event>, hub: &mut Hub, shards: &mut [Shard], bits: u32, flow_of: &[u32]) {
    let mut place = 0;
    while let Some((time, event)) = calendar.pop(Time::NEVER) {
        let event = *event;
        let flow = match event {
            Event::Open { flow } | Event::Close { flow } => Some(flow),
            Event::Emit { source } => Some(flow_of[source as usize]),
            _ => None,
        };
        match flow {
            Some(flow) => shards[(flow >> bits) as usize].push_set_up(time, event, place),
            None => hub.push_set_up(time, event, place),
        }
        if matches!(event, Event::WarmedUp) {
            shards.iter_mut().for_each(|shard| shard.push_set_up(time, event, place));
        }
        place += 1;
    }
}

/// Round after round until the end.
fn go_round(simulation: &mut Simulation, hub: &mut Hub, gate: &Gate, plan: Plan) -> Result<(), RoundsError> {
    let end = simulation.end + Span(1);
    let (mut queues, mut senders) = (Time::ZERO, Time::ZERO); // how far they are
    let mut receipts = vec![Vec::new(); gate.shards.len()];
    let mut is_uncertain = false;
    let mut last_rounds = 2; // in which the receipts of the last packets are counted
    while last_rounds > 0 {
        last_rounds -= u32::from(queues == end && senders == end);
        let horizons = Horizons {
            receivers: queues,
            senders: end.min(senders + plan.round),
            queues_next: end.min(senders + plan.round + plan.to_queues),
        };
        for (i, receipts) in receipts.iter_mut().enumerate() {
            let mut shard = gate.lock(i);
            is_uncertain |= shard.is_uncertain;
            shard.exchange(horizons, &mut hub.forwarded[i], &mut hub.arrivals[i], receipts);
        }
        if is_uncertain || hub.is_uncertain {
            return Err(RoundsError::Uncertain);
        }
        gate.open();
        queues = end.min(senders + plan.to_queues);
        hub.advance(simulation, queues);
        hub.count(simulation, &receipts);
        simulation.look().map_err(RoundsError::Failed)?;
        gate.help();
        gate.wait();
        senders = horizons.senders;
    }
    Ok(())
}

/// Hands out the shards of each round to the threads.
struct Gate<'a, 'b> {
    shards: &'a [Mutex<Shard<'b>>],
    /// Changes when a round begins.
    round: AtomicU64,
    is_over: AtomicBool,
    /// The next shard to be handed out.
    next: AtomicUsize,
    /// Number of shards done in this round.
    done: AtomicUsize,
}

impl<'a, 'b> Gate<'a, 'b> {
    fn new(shards: &'a [Mutex<Shard<'b>>]) -> Self {
        let [next, done] = [0, 0].map(|_| AtomicUsize::new(shards.len()));
        Self { shards, round: AtomicU64::new(0), is_over: AtomicBool::new(false), next, done }
    }

    /// # Panics
    /// If another thread panicked with the shard.
    fn lock(&self, shard: usize) -> MutexGuard<'a, Shard<'b>> {
        self.shards[shard].lock().expect("a thread panicked")
    }

    /// All shards may be taken.
    fn open(&self) {
        self.done.store(0, Ordering::Relaxed);
        self.next.store(0, Ordering::Release);
        self.round.fetch_add(1, Ordering::Release);
    }

    /// Takes shards as long as there are any.
    fn help(&self) {
        loop {
            let shard = self.next.fetch_add(1, Ordering::AcqRel);
            if shard >= self.shards.len() {
                return;
            }
            let _done = DoneGuard(&self.done);
            self.lock(shard).advance();
        }
    }

    /// Waits until all shards have been done.
    fn wait(&self) {
        wait_until(|| self.done.load(Ordering::Acquire) >= self.shards.len());
    }

    /// Helps in each round until the gate is closed.
    fn serve(&self) {
        let mut seen = 0;
        while !self.is_over.load(Ordering::Acquire) {
            self.help();
            wait_until(|| self.round.load(Ordering::Acquire) != seen || self.is_over.load(Ordering::Acquire));
            seen = self.round.load(Ordering::Acquire);
        }
    }
}

/// Looks for a while, then lets other threads run between the looks.
fn wait_until(is_so: impl Fn() -> bool) {
    let mut looks = 0;
    while !is_so() {
        looks += 1;
        if looks < LOOKS { std::hint::spin_loop() } else { std::thread::yield_now() }
    }
}

/// A shard has been done when this goes out of scope, also by a panic.
struct DoneGuard<'a>(&'a AtomicUsize);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// The gate is closed when this goes out of scope.
struct ClosingGuard<'a, 'b, 'c>(&'a Gate<'b, 'c>);

impl Drop for ClosingGuard<'_, '_, '_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
    }
}
