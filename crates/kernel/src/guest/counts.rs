//! The measures of a run, from what is counted inside: those of a simulation, computed by the same code.

use crate::flights::{Flights, Sighting};
use crate::network::{Gate, GuestNetwork};
use crate::sockets::Counters;
use crate::tap::Passing;
use aqmlab_aqm::{Accounts, EARLY, OVERFLOW};
use aqmlab_core::{Span, Time};
use aqmlab_kernel::{GuestOrder, Queue};
use aqmlab_netlink::QdiscStats;
use aqmlab_scenario::{LinkSpec, Scenario};
use aqmlab_sim::kernel::{
    CapacityUse, Client, EngineStats, FlowInstanceSpec, FlowShare, FlowTable, GroupMeter, GroupOutcome, LinkFacts,
    LinkMeter, LinkResult, OwnPropagation, RunResult, SenderCounters, Series, Stage, TransferTable, flow_results,
};
use aqmlab_sim::{Delays, Output};

/// Counts of all links and groups.
pub struct Counts<'a> {
    order: &'a GuestOrder,
    scenario: &'a Scenario,
    links: Vec<LinkCount>,
    groups: Vec<GroupMeter>,
    /// Packets between the senders' gates and the receivers'.
    pub flights: Flights,
    /// What counters of senders that are gone had.
    ended: Vec<SenderCounters>,
    failed: Vec<u64>,
    before: Vec<SenderCounters>,
    series: Vec<Series>,
    transfers: TransferTable,
    is_measured: bool,
    warmup: Time,
}

/// Counts of a link.
struct LinkCount {
    meter: LinkMeter,
    last: QdiscStats,
    at_warmup: QdiscStats,
    /// Bytes that it could have carried since the warm-up, and since the last point of its series.
    capacity: f64,
    sampled_capacity: f64,
    sampled: u64,
    rate: f64,
    changed_at: Time,
    /// Packets lost on its wire, up to the warm-up.
    lost_before: u64,
    /// From a time on: its target and its buffer, packets.
    goals: Vec<(Span, f64, f64)>,
}

/// The members, clients and senders at the end of a run.
pub struct Ends<'a> {
    /// All members by group.
    pub members: &'a [Vec<FlowInstanceSpec<'a>>],
    /// Bytes that the receiver of each has taken since the warm-up.
    pub delivered: &'a [Vec<u64>],
    /// Packets of each that queues have dropped since the warm-up.
    pub dropped: &'a [Vec<i64>],
    /// Counters of those that still send.
    pub senders: &'a [SenderCounters],
    /// All clients.
    pub clients: &'a [Client],
    /// Packets that the wire of each link has lost.
    pub lost: &'a [u64],
}

impl<'a> Counts<'a> {
    /// Before anything has happened.
    pub fn new(order: &'a GuestOrder, scenario: &'a Scenario) -> Self {
        let link = |spec: &LinkSpec| LinkCount {
            meter: LinkMeter::new(spec.buffer),
            last: QdiscStats::default(),
            at_warmup: QdiscStats::default(),
            capacity: 0.0,
            sampled_capacity: 0.0,
            sampled: 0,
            rate: spec.rate.0 / 8.0,
            changed_at: Time::ZERO,
            lost_before: 0,
            goals: vec![(Span::ZERO, spec.target, spec.buffer_packets)],
        };
        let columns = || ["time", "queue", "utilisation"].map(|name| (name.to_string(), Vec::new())).to_vec();
        let series = |spec: &LinkSpec| Series { link: spec.name.clone(), columns: columns() };
        let groups = scenario.flows.len();
        Self {
            order,
            scenario,
            links: scenario.links.iter().map(link).collect(),
            groups: scenario.flows.iter().map(GroupMeter::new).collect(),
            flights: Flights::default(),
            ended: vec![SenderCounters::default(); groups],
            failed: vec![0; groups],
            before: vec![SenderCounters::default(); groups],
            series: scenario.links.iter().map(series).collect(),
            transfers: TransferTable::default(),
            is_measured: scenario.warmup == Span::ZERO,
            warmup: Time::ZERO + scenario.warmup,
        }
    }

    /// A packet passes a gate of the hub, of flows that add `own` to its delay.
    pub fn on_passing(&mut self, gate: Gate, passing: &Passing, now: Time, own: OwnPropagation) {
        let Some(packet) = Sighting::read(passing.packet) else { return };
        match (gate, passing.leaves) {
            (Gate::Sender(group), false) => self.flights.enter(&packet, self.scenario.flows[group].path.len(), now),
            (Gate::Receiver(group), false) => {
                self.flights.enter(&packet, self.scenario.flows[group].ack_path.len(), now);
            }
            (Gate::Behind, false) => self.flights.go_on(&packet, now),
            (Gate::Queue(link), true) => {
                if let Some(sojourn) = self.flights.leave(&packet, now) {
                    self.links[link].meter.on_service(now, sojourn, now, passing.packet.len() as u16);
                }
            }
            (Gate::Receiver(group), true) => self.on_receipt(group, &packet, now, own),
            (Gate::Sender(_), true) => drop(self.flights.arrive(&packet)),
            _ => {}
        }
    }

    fn on_receipt(&mut self, group: usize, packet: &Sighting, now: Time, own: OwnPropagation) {
        let Some(arrival) = self.flights.arrive(packet).filter(|_| now >= self.warmup) else { return };
        let access = Span(own.there.0 / 2); // half of it lies in the hub
        let delay = now.since(arrival.entered) + access;
        self.groups[group].count(delay, packet.is_marked, || own);
        if arrival.is_resent {
            self.groups[group].count_resent(delay, arrival.first.map(|first| now.since(first) + access));
        }
    }

    /// Looks at the queues.
    pub fn look(&mut self, network: &GuestNetwork, now: Time) -> std::io::Result<()> {
        for (i, link) in self.links.iter_mut().enumerate() {
            link.last = network.stats(i)?;
            link.meter.on_queue(link.last.waiting, now);
            link.meter.pass_time(now);
        }
        Ok(())
    }

    /// A point of the time series.
    pub fn sample(&mut self, now: Time) {
        for (link, series) in self.links.iter_mut().zip(&mut self.series) {
            link.pass_time(now);
            let sent = (link.last.bytes - link.sampled) as f64 / link.sampled_capacity.max(1.0);
            (link.sampled, link.sampled_capacity) = (link.last.bytes, 0.0);
            let values = [now.seconds(), f64::from(link.last.waiting), sent.min(1.0)];
            series.columns.iter_mut().zip(values).for_each(|((_, column), value)| column.push(value));
        }
    }

    /// A link has another rate from now on, bit/s.
    pub fn on_rate(&mut self, link: usize, rate: f64, now: Time) {
        self.links[link].pass_time(now);
        self.links[link].rate = rate / 8.0;
    }

    /// A link has another target or buffer from now on.
    pub fn on_goal(&mut self, link: usize, spec: &LinkSpec, now: Time) {
        self.links[link].goals.push((now.since(Time::ZERO), spec.target, spec.buffer_packets));
    }

    /// Measures count from now; `lost` packets were lost on the wires.
    pub fn start(&mut self, now: Time, senders: &[SenderCounters], lost: &[u64]) {
        self.flights.start(self.links.iter().map(|link| u64::from(link.last.waiting)).sum(), now);
        for (link, lost) in self.links.iter_mut().zip(lost) {
            link.lost_before = *lost;
            link.pass_time(now);
            link.meter.restart(link.last.waiting, now);
            link.at_warmup = link.last.clone();
            link.capacity = 0.0;
        }
        self.before = self.ended.iter().zip(senders).map(|(ended, now)| ended.plus(*now)).collect();
        self.groups.iter_mut().for_each(|group| group.sent = 0);
        self.is_measured = true;
    }

    /// A datagram was sent.
    pub fn on_emit(&mut self, group: usize) {
        self.groups[group].sent += 1;
    }

    /// The connection of a sender is over.
    pub fn on_end(&mut self, group: usize, counters: Counters) {
        self.ended[group] = self.ended[group].plus(sender_counters(counters, 0));
    }

    /// A connection could not be made.
    pub fn on_failure(&mut self, group: usize) {
        self.failed[group] += u64::from(self.is_measured);
    }

    /// A transfer of so many packets is complete.
    pub fn on_transfer(&mut self, group: usize, asked_at: Time, size: u32, now: Time) {
        if asked_at < self.warmup {
            return;
        }
        let taken = now.since(asked_at);
        self.groups[group].completion.add(taken);
        self.transfers.group.push(group as f64);
        self.transfers.start.push(asked_at.seconds());
        self.transfers.size.push(f64::from(size));
        self.transfers.completion_time.push(taken.seconds());
    }

    /// The output of the run.
    pub fn output(mut self, ends: &Ends, changes: &[Span], now: Time) -> Output {
        let links = self.link_results(ends.lost, changes, now);
        let groups: Vec<GroupOutcome> = (0..self.groups.len()).map(|group| self.outcome(group, ends)).collect();
        let clients: Vec<_> = ends.clients.iter().map(|client| (client.peer.way as usize, client)).collect();
        let (flows, total) = flow_results(self.scenario, &groups, &clients, now);
        let result = RunResult {
            schema: 1,
            scenario: self.scenario.name.clone(),
            aqm: self.order.aqm.clone(),
            seed: self.order.seed,
            spreads: Vec::new(),
            stations: Vec::new(),
            flows,
            total,
            links,
            engine: EngineStats { events: 0, wall: 0.0 },
        };
        if !self.order.series {
            let (series, delays) = (Vec::new(), Vec::new());
            return Output { result, series, delays, flow_table: None, transfer_table: None, trace: None };
        }
        let delays = |(spec, link): (&LinkSpec, &LinkCount)| {
            let (queue_delay, share) = link.meter.sojourn.distribution();
            Delays { link: spec.name.clone(), queue_delay, share }
        };
        Output {
            delays: self.scenario.links.iter().zip(&self.links).map(delays).collect(),
            flow_table: Some(FlowTable::of(&groups)),
            result,
            series: self.series,
            transfer_table: Some(self.transfers),
            trace: None,
        }
    }

    fn outcome(&self, group: usize, ends: &Ends) -> GroupOutcome<'_> {
        let members = ends.members[group].iter().zip(&ends.delivered[group]).zip(&ends.dropped[group]);
        GroupOutcome {
            shares: members.map(|((member, bytes), dropped)| self.share(member, *bytes, *dropped)).collect(),
            meter: &self.groups[group],
            counters: self.counters(group, ends.senders[group]),
            media: None, // refused
        }
    }

    fn link_results(&mut self, lost: &[u64], changes: &[Span], now: Time) -> Vec<(String, LinkResult)> {
        let seconds = now.since(self.warmup).seconds();
        let links = self.scenario.links.iter().zip(&mut self.links).zip(&self.order.queues).zip(lost);
        links
            .map(|(((spec, link), queue), lost)| {
                link.pass_time(now);
                link.meter.pass_time(now);
                (spec.name.clone(), link.result(queue, lost - link.lost_before, changes, seconds))
            })
            .collect()
    }

    fn counters(&self, group: usize, senders: SenderCounters) -> SenderCounters {
        let counted = self.ended[group].plus(senders).since(self.before[group]);
        SenderCounters { failed: self.failed[group], ..counted }
    }

    fn share(&self, member: &FlowInstanceSpec, bytes: u64, dropped: i64) -> FlowShare {
        let seconds = (self.scenario.duration.0 - self.scenario.warmup.0) as f64 * 1e-12;
        let end = Time::ZERO + self.scenario.duration;
        let lasts = member.start <= self.warmup && member.stops_at() >= end;
        FlowShare {
            goodput: 8.0 * bytes as f64 / seconds,
            dropped: dropped.max(0) as u64,
            always_active: lasts && !member.spec.traffic.has_clients(),
            is_long: member.spec.traffic.is_long(),
            rtt: member.rtt,
        }
    }
}

impl LinkCount {
    /// What it could have carried up to now.
    fn pass_time(&mut self, now: Time) {
        let bytes = self.rate * now.since(self.changed_at).seconds();
        self.capacity += bytes;
        self.sampled_capacity += bytes;
        self.changed_at = now;
    }

    /// Its result over so many seconds.
    fn result(&self, queue: &Queue, lost: u64, changes: &[Span], seconds: f64) -> LinkResult {
        let (now, then) = (&self.last, &self.at_warmup);
        let since = |count: fn(&QdiscStats) -> u64| count(now) - count(then);
        let (departed, dropped) = (since(|stats| stats.packets), since(|stats| stats.dropped.into()));
        let mut accounts = Accounts::open(then.waiting.into());
        accounts.departed = departed;
        accounts.arrived = (departed + dropped + u64::from(now.waiting)).saturating_sub(then.waiting.into());
        accounts.marked = match queue.tins {
            true => now.marked_in_tins() - then.marked_in_tins(),
            false => queue.sum_since(&queue.marks, now, then),
        };
        let overflow = queue.sum_since(&queue.overflows, now, then).min(dropped);
        [(OVERFLOW, overflow), (EARLY, dropped - overflow)]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .for_each(|(why, n)| accounts.drop(why, n));
        let stage = |from: &Span| {
            let (_, target, buffer) = self.goals.iter().rfind(|(since, ..)| since <= from).unwrap_or(&self.goals[0]);
            Stage { from: *from, target: *target, tolerance: 0.1 * buffer }
        };
        let stages: Vec<Stage> = changes.iter().map(stage).collect();
        let bytes = since(|stats| stats.bytes) as f64;
        let unused = 8.0 * (self.capacity - bytes).max(0.0) / seconds;
        let used = CapacityUse {
            utilisation: (bytes / self.capacity.max(1.0)).min(1.0),
            capacity: 8.0 * self.capacity / seconds,
            unused,
        };
        LinkResult::of(&LinkFacts::new(&self.meter, &accounts, used, lost, &stages))
    }
}

fn sender_counters(counters: Counters, failed: u64) -> SenderCounters {
    SenderCounters { retransmits: counters.retransmits, timeouts: counters.timeouts, ecn_reductions: 0, failed }
}

/// Counters of these connections together.
pub fn sum_of(counters: impl Iterator<Item = Counters>) -> SenderCounters {
    counters.fold(SenderCounters::default(), |sum, each| sum.plus(sender_counters(each, 0)))
}

/// Counts at such bytes of a discipline's own statistics.
trait OwnCounts {
    /// Their sum now, less what it was then.
    fn sum_since(&self, places: &[usize], now: &QdiscStats, then: &QdiscStats) -> u64;
}

impl OwnCounts for Queue {
    fn sum_since(&self, places: &[usize], now: &QdiscStats, then: &QdiscStats) -> u64 {
        let sum = |stats: &QdiscStats| -> u64 {
            let words = places.iter().filter_map(|at| stats.own.get(*at..at + 4)?.try_into().ok());
            words.map(|word| u64::from(u32::from_ne_bytes(word))).sum()
        };
        sum(now).saturating_sub(sum(then))
    }
}
