//! A run on several threads.
//!
//! A network is cut into parts, each with a calendar of its own. Between what happens in one and what follows from it in
//! another lies at least the least delay between parts, so that for this long all can go on without news from each other
//! (Chandy and Misra, 1979). Time goes on in rounds of that length, after each of which parts exchange what crosses from one to
//! another. Events of one instant come in an order that no thread decides, so that nothing depends on the division.

use super::{IN_CACHE, NetworkState};
use crate::calendar::{Calendar, Lane};
use crate::engine::error::RunError;
use crate::engine::event::Event;
use crate::engine::partition::Partition;
use crate::engine::scheduler::{Crossing, FlowLocation, RemotePartitions};
use crate::engine::watch::Watch;
use crate::measure::group::GroupMeter;
use crate::memory;
use crate::net::flow::{Flow, Schedule};
use crate::net::packet::AT_SENDER;
use crate::net::route::NextHop;
use crate::traffic::client::Client;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{RateChanges, Tree};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

/// Parts a thread, so that all threads are busy until the end of a round.
const PARTS_A_THREAD: usize = 4;
/// Packets a round from which on several threads are faster than one.
const WORTHWHILE: f64 = 200.0;
/// Longest round of a tree, so that a run can be seen to go on, and be stopped.
const LONGEST: Span = Span::from_millis(1000);
/// Rounds between looks at the schemes.
const ROUNDS_PER_LOOK: u64 = 16;
/// Polls of a waiting thread before it lets others run.
const LOOKS: u32 = 4000;
/// Distance, in messages, at which flows are fetched from memory.
const AHEAD: usize = 8;
const PART: &str = "a part is one of several";

/// Division of a network at rest into parts.
pub struct Plan {
    threads: usize,
    parts: usize,
    /// The part of each link, and where each flow is, by its number.
    links: Arc<[u16]>,
    flows: Vec<FlowLocation>,
    /// Parts are the regions of a tree.
    is_tree: bool,
    /// Length of a round.
    pub round: Span,
    /// Packets cross from one part to another.
    crosses: bool,
    /// Packets that the links send in a round.
    packets: f64,
}

impl Plan {
    /// The plan of a network at rest for so many threads; `None` if it cannot be divided: for one thread, unless on a tree, whose
    /// regions take less time one by one; with clients on anything but a tree, with changes of rates or of anything else, with calls that
    /// adapt, where a host's queue holds its senders back, and where no delay lies between links and flows.
    pub fn new(network: &NetworkState, threads: usize) -> Option<Self> {
        let scenario = &network.scenario;
        let is_fit = (threads > 1 || scenario.tree.is_some())
            && network.flows.len() + network.clients.len() > 1
            && scenario.changes.is_empty()
            && network.phases.is_none()
            && network.media.is_empty()
            && !scenario.links.iter().any(|link| link.host)
            && scenario.links.iter().all(|link| matches!(link.changes, RateChanges::None | RateChanges::Trace(_)));
        let divisions = match (&scenario.tree, network.clients.len()) {
            _ if !is_fit => return None,
            (Some(tree), clients)
                if network.series.len() == 0 && (clients == 0 || network.transfer_table.is_none()) =>
            {
                [Some(by_region(network, tree)), None]
            }
            (_, 0) => [by_queue(network, threads), by_flow(network, threads)],
            _ => return None,
        };
        divisions.into_iter().flatten().find_map(|(links, flows)| {
            let (round, crosses) = round(network, &links, &flows)?;
            let round = if scenario.tree.is_some() { round.min(LONGEST) } else { round };
            let rate: f64 = scenario.links.iter().map(|link| link.rate.0).sum();
            let bits = scenario.flows.iter().map(|flows| 8.0 * f64::from(flows.wire_size())).fold(1.0, f64::max);
            let packets = rate / bits * round.seconds();
            let parts = 1 + flows.iter().map(|home| home.part).chain(links.iter().copied()).max()? as usize;
            let is_tree = scenario.tree.is_some();
            Some(Self { threads, parts, links: links.into(), flows, is_tree, round, crosses, packets })
        })
    }

    /// Several threads are faster than one.
    pub fn is_worthwhile(&self) -> bool {
        self.is_tree || self.packets >= WORTHWHILE
    }
}

/// The part of each link, and the home of each flow.
type Division = (Vec<u16>, Vec<FlowLocation>);

/// A region in each part, with the flows whose lines are there, and what all of them share in the first.
fn by_region(network: &NetworkState, tree: &Tree) -> Division {
    // Not by its number: a number that no region counts has a filler, with the way of another flow.
    let home = |flow: &Flow| FlowLocation { way: flow.way, part: network.routes.ways[flow.way as usize].region };
    (tree.regions.clone(), network.flows.iter().map(home).collect())
}

/// Neighbouring links in each part, with the flows that they meet first; `None` if there are too few, or if flows do not come
/// in the order of their first links, or if links share a buffer or the air.
fn by_queue(network: &NetworkState, threads: usize) -> Option<Division> {
    let entry = |flow: &Flow| network.routes.ways[flow.way as usize].entry(flow.route()).to as usize;
    let mut weights = vec![0; network.links.len()];
    network.flows.iter().for_each(|flow| weights[entry(flow)] += 1);
    let all = network.flows.len();
    let shares = !network.buffers.is_empty() || network.cell.is_some();
    if shares || weights.iter().any(|weight| weight * threads > all) || !network.flows.iter().is_sorted_by_key(entry) {
        return None;
    }
    let parts = (PARTS_A_THREAD * threads).min(network.links.len());
    let mut before = 0;
    let part = |weight: &usize| {
        let part = (before * parts / all).min(parts - 1) as u16;
        before += weight;
        part
    };
    let links: Vec<u16> = weights.iter().map(part).collect();
    let flows = network.flows.iter().map(|flow| FlowLocation { way: flow.way, part: links[entry(flow)] });
    let flows = flows.collect();
    Some((links, flows))
}

/// All links in one part, and the flows in others.
fn by_flow(network: &NetworkState, threads: usize) -> Option<Division> {
    let parts = PARTS_A_THREAD * threads;
    let each = network.flows.len().div_ceil(parts);
    let home = |(i, flow): (usize, &Flow)| FlowLocation { way: flow.way, part: (1 + i / each) as u16 };
    Some((vec![0; network.links.len()], network.flows.iter().enumerate().map(home).collect()))
}

/// The least delay between two parts, before the end of the run, and whether anything crosses from one to another; `None` if
/// there is one without any delay.
fn round(network: &NetworkState, links: &[u16], flows: &[FlowLocation]) -> Option<(Span, bool)> {
    let mut crosses = false;
    let mut least = network.measured.end.since(Time::ZERO) + Span(1);
    let lasting = network.flows.iter().zip(flows).map(|(flow, home)| (flow.way, flow.route(), home.part));
    let of_clients = network.clients.iter().map(|client| {
        let (way, route) = (client.peer.way, network.routes.of(network.routes.group(client.peer.way), client.peer.rtt));
        (way, route, network.routes.ways[way as usize].region)
    });
    for (way, route, home) in lasting.chain(of_clients) {
        let way = &network.routes.ways[way as usize];
        let mut cross = |from: u16, to: u16, delay: Span| {
            if from != to {
                (least, crosses) = (least.min(delay), true);
            }
        };
        let part = |hop: usize| links[way.hops[hop].link];
        let (entry, back) = (way.entry(route), way.back(route));
        cross(home, part(0), entry.delay);
        for (i, hop) in way.hops.iter().enumerate() {
            match hop.next {
                NextHop::Link => cross(part(i), part(i + 1), hop.onward.delay),
                NextHop::Sender => cross(part(i), home, way.home(route).delay),
                NextHop::Receiver => cross(part(i), home, network.reception(way, route, hop)),
            }
        }
        if way.first_back != AT_SENDER {
            cross(home, part(way.first_back as usize), back.delay);
        }
    }
    (least > Span::ZERO).then_some((least, crosses))
}

/// Lets all of a run happen; returns the network at its end, or why the watch says stop. A scheme may have failed.
pub fn run(network: NetworkState, plan: &Plan, watch: Option<&Watch>) -> Result<NetworkState, RunError> {
    let parts: Vec<Mutex<NetworkState>> = divide(network, plan).into_iter().map(Mutex::new).collect();
    let gate = Gate::new(&parts, plan.round, watch);
    let outcome = std::thread::scope(|scope| {
        (1..plan.threads).for_each(|_| drop(scope.spawn(|| gate.serve())));
        let _closing = ClosingGuard(&gate);
        go_round(&gate, plan)
    });
    let parts = parts.into_iter().map(|part| part.into_inner().expect("a thread panicked"));
    outcome.map(|()| NetworkState::joined(parts.collect(), plan.is_tree))
}

/// Round after round until the end, or until the watch says stop.
fn go_round(gate: &Gate, plan: &Plan) -> Result<(), RunError> {
    let (mut rounds, end) = (0, gate.lock(0).measured.end + Span(1));
    let mut now = Time::ZERO;
    while now < end {
        now = end.min(now + plan.round);
        gate.until.store(now.0 - 1, Ordering::Relaxed);
        gate.open();
        gate.help(|| {});
        gate.wait();
        let mut parts: Vec<_> = (0..gate.parts.len()).map(|part| gate.lock(part)).collect();
        exchange(&mut parts);
        gate.watch.map_or(Ok(()), |watch| watch.reach(now, gate.elsewhere.load(Ordering::Acquire)))?;
        rounds += 1;
        if rounds % ROUNDS_PER_LOOK == 0 && parts.iter().any(|part| part.has_failed()) {
            return Ok(());
        }
    }
    (0..gate.parts.len()).for_each(|part| gate.lock(part).take_in());
    Ok(())
}

/// Each part gets what the others have for it.
fn exchange(parts: &mut [MutexGuard<NetworkState>]) {
    for from in 0..parts.len() {
        for to in 0..parts.len() {
            let message = std::mem::take(&mut parts[from].abroad_mut().outboxes[to]);
            let empty = std::mem::replace(&mut parts[to].abroad_mut().inboxes[from], message);
            parts[from].abroad_mut().outboxes[to] = empty;
        }
        for (flow, home) in std::mem::take(&mut parts[from].abroad_mut().begun) {
            (0..parts.len()).filter(|to| *to != from).for_each(|to| parts[to].abroad_mut().learn(flow, home));
        }
    }
}

/// The parts of a network at rest.
fn divide(mut network: NetworkState, plan: &Plan) -> Vec<NetworkState> {
    let source_of: Vec<u32> = network.sources.iter().map(|source| source.flow).collect();
    let of_client = |client: &Client| network.routes.ways[client.peer.way as usize].region;
    let clients: Vec<u16> = network.clients.iter().map(of_client).collect();
    let calendar = &mut network.scheduler.calendar;
    let lanes = calendar.lanes();
    let events: Vec<_> = std::iter::from_fn(|| calendar.pop_keyed(Time(u64::MAX - 1))).collect();
    let mut regions = match plan.is_tree {
        true => std::mem::take(&mut network.flows).by_region(network.numbers.shift, plan.parts),
        false => Vec::new(),
    };
    network.is_cold |= plan.flows.len() + clients.len() > IN_CACHE; // the parts take turns
    let mut parts = Vec::new();
    for number in (0..plan.parts).rev() {
        let is_before = |part: u16| usize::from(part) < number;
        let first = Firsts {
            link: plan.links.iter().rposition(|part| is_before(*part)).map_or(0, |last| last + 1),
            flow: plan.flows.partition_point(|home| is_before(home.part)),
            source: source_of.iter().filter(|flow| is_before(plan.flows[**flow as usize].part)).count(),
            client: clients.iter().filter(|part| is_before(**part)).count(),
        };
        let locations = plan.crosses.then(|| plan.flows.clone());
        let remote = RemotePartitions::new(number as u16, plan.parts, plan.links.clone(), locations, lanes);
        parts.push(network.take_from(first, regions.pop(), lanes, remote));
    }
    parts.reverse();
    for (key, event) in events {
        let (time, place) = (key.time, key.place());
        let part = match event {
            Event::Tick { link, .. } | Event::RateChange { link } | Event::Sent { link } => plan.links[link as usize],
            Event::Open { flow } | Event::Close { flow } | Event::Media { flow } => plan.flows[flow as usize].part,
            Event::Emit { source } => plan.flows[source_of[source as usize] as usize].part,
            Event::Request { client } => clients[client as usize],
            _ => {
                parts.iter_mut().for_each(|part| part.scheduler.push(Lane::ANY, time, place, event));
                continue;
            }
        };
        let calendar = &mut parts[usize::from(part)].scheduler.calendar;
        match event {
            Event::Open { .. } => calendar.push_timer(time, place),
            _ => calendar.push(Lane::ANY, time, place, event),
        }
    }
    parts
}

/// The first number of everything in a part.
struct Firsts {
    link: usize,
    flow: usize,
    source: usize,
    client: usize,
}

impl NetworkState {
    /// A part: what is still here from these numbers on; the flows of a region are known.
    fn take_from(
        &mut self,
        first: Firsts,
        region: Option<Partition<Flow>>,
        lanes: usize,
        mut remote: RemotePartitions,
    ) -> Self {
        let is_tree = region.is_some();
        let mut part = Self {
            links: self.links.split_off(first.link),
            buffers: self.buffers.clone(),
            cell: self.cell.take_if(|_| first.link == 0), // where there is one, all links are in the first part
            link_events: self.link_events.split_off(first.link),
            series: self.series.split_off(first.link),
            flows: region.unwrap_or_else(|| self.flows.split_off(first.flow)),
            numbers: self.numbers.clone(),
            sources: self.sources.split_off(first.source),
            never_start: self.never_start.clone(),
            clients: self.clients.split_off(first.client),
            media: Default::default(), // with any there is one part
            connections: Vec::new(),
            scenario: self.scenario.clone(),
            specs: self.specs.clone(),
            routes: self.routes.clone(),
            ecmp: self.ecmp.clone(),
            groups: self.groups.clone(),
            group_meters: self.scenario.flows.iter().map(GroupMeter::new).collect(),
            transfer_table: self.transfer_table.clone(),
            phases: None,
            measured: self.measured.clone(),
            scheduler: Default::default(),
            now: self.now,
            events: 0,
            is_cold: self.is_cold,
        };
        part.scheduler.calendar = if is_tree { Calendar::dense(lanes) } else { Calendar::with_lanes(lanes) };
        remote.arriving = part.scheduler.calendar.lane();
        part.scheduler.runs_ahead = true;
        part.scheduler.remote = Some(Box::new(remote));
        part
    }

    /// All parts together, at the end.
    fn joined(mut parts: Vec<Self>, is_tree: bool) -> Self {
        fn all<T>(parts: &mut [NetworkState], of: impl Fn(&mut NetworkState) -> &mut Partition<T>) -> Partition<T> {
            Partition::joined(parts.iter_mut().map(|part| std::mem::take(of(part))).collect())
        }
        let (links, link_events) =
            (all(&mut parts, |part| &mut part.links), all(&mut parts, |part| &mut part.link_events));
        let mut connections = Vec::new();
        for part in &mut parts {
            let before = connections.len() as u32;
            let transfers = part.flows.iter_mut().filter(|flow| flow.connection != Flow::NO_CONNECTION);
            transfers.for_each(|flow| flow.connection += before);
            connections.append(&mut part.connections);
        }
        let flows = match is_tree {
            true => {
                let filler = parts.iter().find_map(|part| part.flows.iter().next()).cloned();
                let filler = filler.map(|flow| flow.at_rest(&parts[0].groups, &parts[0].routes));
                let flows = parts.iter_mut().map(|part| std::mem::take(&mut part.flows)).collect();
                Partition::of_regions(flows, || filler.clone().expect("there is a flow"))
            }
            false => all(&mut parts, |part| &mut part.flows),
        };
        let (sources, clients) = (all(&mut parts, |part| &mut part.sources), all(&mut parts, |part| &mut part.clients));
        let series = all(&mut parts, |part| &mut part.series);
        let mut parts = parts.into_iter();
        let mut whole = parts.next().expect("there are several");
        for part in parts {
            whole.group_meters.iter_mut().zip(&part.group_meters).for_each(|(meter, other)| meter.merge(other));
            whole.events += part.events;
        }
        Self {
            links,
            link_events,
            flows,
            sources,
            clients,
            connections,
            series,
            scheduler: Default::default(),
            ..whole
        }
    }

    fn abroad_mut(&mut self) -> &mut RemotePartitions {
        self.scheduler.remote.as_mut().expect(PART)
    }

    /// A scheme has broken down.
    fn has_failed(&self) -> bool {
        self.links.iter().any(|link| link.queue.failure().is_some())
    }

    /// Handles what has come from other parts and the events up to and including `until`, and hands over what arrives elsewhere
    /// in the round after, which ends at `next`.
    fn go_on(&mut self, until: Time, next: Time) {
        self.take_in();
        self.advance(until, u64::MAX);
        self.hand_over(next);
    }

    /// Takes in what has come from other parts. What arrives at links has come in order from each of them, and gets a lane of its own.
    fn take_in(&mut self) {
        let mut inboxes = std::mem::take(&mut self.abroad_mut().inboxes);
        let mut arriving = Vec::new();
        for (from, inbox) in inboxes.iter().enumerate() {
            for (i, message) in inbox.iter().enumerate() {
                memory::fetch_at(inbox, i + 2 * AHEAD);
                if let Some(coming) = inbox.get(i + AHEAD)
                    && let Some(flow) = self.flows.get(coming.packet.flow as usize)
                {
                    memory::fetch(flow);
                }
                if message.is_ahead {
                    self.take_in_one(message, Lane::ANY);
                } else {
                    arriving.push((message.time, from as u32, i as u32));
                }
            }
        }
        arriving.sort_by_key(|(time, ..)| *time);
        let lane = self.abroad_mut().arriving;
        for (_, from, i) in arriving {
            self.take_in_one(&inboxes[from as usize][i as usize], lane);
        }
        inboxes.iter_mut().for_each(Vec::clear);
        self.abroad_mut().inboxes = inboxes;
    }

    /// Hands over what arrives at links elsewhere up to and including `until`.
    fn hand_over(&mut self, until: Time) {
        let ways = &self.routes.ways;
        let RemotePartitions { links, locations, later, outboxes, .. } =
            self.scheduler.remote.as_deref_mut().expect(PART);
        while let Some((key, event)) = later.pop_keyed(until) {
            let Event::Arrive(packet) = event else { unreachable!("nothing else crosses") };
            let way = &ways[locations[packet.flow as usize].way as usize];
            let to = links[way.hops[usize::from(packet.hop)].link];
            let crossing =
                Crossing { time: key.time, pushed: key.pushed(), place: key.place(), packet, is_ahead: false };
            memory::append(&mut outboxes[usize::from(to)], crossing);
        }
    }

    #[inline(always)]
    fn take_in_one(&mut self, message: &Crossing, lane: Lane) {
        let &Crossing { time, pushed, place, packet, is_ahead } = message;
        self.scheduler.as_of(pushed);
        match (is_ahead, packet.hop) {
            (false, _) => self.scheduler.push(lane, time, place, Event::Arrive(packet)),
            (true, AT_SENDER) => self.send_home(packet, place, time),
            (true, _) => self.receive(&packet, time),
        }
    }
}

/// Hands out the parts of each round to the threads.
struct Gate<'a> {
    parts: &'a [Mutex<NetworkState>],
    /// Of a round.
    length: Span,
    /// The last instant of the round, ps.
    until: AtomicU64,
    /// Changes when a round begins.
    round: AtomicU64,
    is_over: AtomicBool,
    /// The next part to be handed out.
    next: AtomicUsize,
    /// Number of parts done in this round.
    done: AtomicUsize,
    watch: Option<&'a Watch>,
    /// Bytes that the serving threads have come to hold.
    elsewhere: AtomicI64,
}

impl<'a> Gate<'a> {
    fn new(parts: &'a [Mutex<NetworkState>], length: Span, watch: Option<&'a Watch>) -> Self {
        let [next, done] = [0, 1].map(|_| AtomicUsize::new(parts.len()));
        let [until, round] = [0, 1].map(|_| AtomicU64::new(0));
        let elsewhere = AtomicI64::new(0);
        Self { parts, length, until, round, is_over: AtomicBool::new(false), next, done, watch, elsewhere }
    }

    /// # Panics
    /// If another thread panicked with the part.
    fn lock(&self, part: usize) -> MutexGuard<'a, NetworkState> {
        self.parts[part].lock().expect("a thread panicked")
    }

    /// All parts may be taken.
    fn open(&self) {
        self.done.store(0, Ordering::Relaxed);
        self.next.store(0, Ordering::Release);
        self.round.fetch_add(1, Ordering::Release);
    }

    /// Takes parts as long as there are any, and does something after each.
    fn help(&self, after: impl Fn()) {
        loop {
            let part = self.next.fetch_add(1, Ordering::AcqRel);
            if part >= self.parts.len() {
                return;
            }
            let _done = DoneGuard(&self.done);
            let until = Time(self.until.load(Ordering::Relaxed));
            self.lock(part).go_on(until, until + self.length);
            after();
        }
    }

    /// Waits until all parts have been done.
    fn wait(&self) {
        wait_until(|| self.done.load(Ordering::Acquire) >= self.parts.len());
    }

    /// Helps in each round until the gate is closed.
    fn serve(&self) {
        let (mut seen, said) = (0, Cell::new(0));
        let say = || {
            let own = self.watch.map_or(0, Watch::own);
            self.elsewhere.fetch_add(own - said.replace(own), Ordering::AcqRel);
        };
        while !self.is_over.load(Ordering::Acquire) {
            self.help(say);
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

/// A part has been done when this goes out of scope, also by a panic.
struct DoneGuard<'a>(&'a AtomicUsize);

impl Drop for DoneGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::AcqRel);
    }
}

/// The gate is closed when this goes out of scope.
struct ClosingGuard<'a, 'b>(&'a Gate<'b>);

impl Drop for ClosingGuard<'_, '_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Release);
    }
}
