//! The measures of a run, from what is counted inside: those of a simulation, computed by the same code.

use crate::network::{Gate, GuestNetwork};
use crate::sockets::Counters;
use crate::tap::Passing;
use aqmlab_aqm::Accounts;
use aqmlab_core::{Span, Time};
use aqmlab_kernel::{GuestOrder, Queue};
use aqmlab_netlink::QdiscStats;
use aqmlab_scenario::{LinkSpec, Scenario};
use aqmlab_sim::kernel::{
    CallResult, Client, EngineStats, FlowResult, FlowShare, FlowTable, GroupFacts, GroupMeter, LinkFacts, LinkMeter,
    LinkResult, MemberDraft, PlaybackStats, ReceiptMeter, RunResult, SenderCounters, Series, Stage, TransferTable,
    VideoResult,
};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// Counts of all links and groups.
pub struct Counts<'a> {
    order: &'a GuestOrder,
    scenario: &'a Scenario,
    links: Vec<LinkCount>,
    groups: Vec<GroupMeter>,
    /// Packets between the senders' gates and the receivers'.
    under_way: HashMap<u64, UnderWay>,
    /// What counters of senders that are gone had.
    ended: Vec<SenderCounters>,
    failed: Vec<u64>,
    before: Vec<SenderCounters>,
    series: Vec<Series>,
    transfers: TransferTable,
    is_measured: bool,
    warmup: Time,
}

/// Columns of equal length by name.
pub type Columns = BTreeMap<String, Vec<f64>>;

/// The output of a run, as it is written down; columns are empty unless series were asked for.
#[derive(Serialize)]
pub struct Document {
    result: RunResult,
    #[serde(flatten)]
    tables: Tables,
}

#[derive(Default, Serialize)]
struct Tables {
    series: Vec<(String, Columns)>,
    delays: Vec<(String, Columns)>,
    flow_table: Columns,
    transfer_table: Columns,
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
}

#[derive(Clone, Copy)]
struct UnderWay {
    /// When it passed the first gate.
    first: Time,
    /// When it came to the queue that it is in.
    joined: Time,
}

/// Packets older than this are lost.
const OLDEST: Span = Span::from_secs(60);

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
        };
        let columns = || ["time", "queue", "utilisation"].map(|name| (name.to_string(), Vec::new())).to_vec();
        let series = |spec: &LinkSpec| Series { link: spec.name.clone(), columns: columns() };
        let groups = scenario.flows.len();
        Self {
            order,
            scenario,
            links: scenario.links.iter().map(link).collect(),
            groups: vec![GroupMeter::default(); groups],
            under_way: HashMap::new(),
            ended: vec![SenderCounters::default(); groups],
            failed: vec![0; groups],
            before: vec![SenderCounters::default(); groups],
            series: scenario.links.iter().map(series).collect(),
            transfers: TransferTable::default(),
            is_measured: scenario.warmup == Span::ZERO,
            warmup: Time::ZERO + scenario.warmup,
        }
    }

    /// A packet passes a gate of the hub.
    pub fn on_passing(&mut self, gate: Gate, passing: &Passing, now: Time, access: Span) {
        let Some(packet) = Packet::read(passing.packet) else { return };
        match (gate, passing.leaves) {
            (Gate::Sender(_) | Gate::Receiver(_), false) => {
                self.under_way.insert(packet.key, UnderWay { first: now, joined: now });
            }
            (Gate::Behind, false) => {
                if let Some(known) = self.under_way.get_mut(&packet.key) {
                    known.joined = now;
                }
            }
            (Gate::Queue(link), true) => {
                if let Some(known) = self.under_way.get(&packet.key) {
                    let link = &mut self.links[link].meter;
                    link.on_service(now, now.since(known.joined), now, passing.packet.len() as u16);
                }
            }
            (Gate::Receiver(_), true) if packet.has_data => self.on_receipt(gate, &packet, now, access),
            (Gate::Receiver(_) | Gate::Sender(_), true) => drop(self.under_way.remove(&packet.key)),
            _ => {}
        }
    }

    fn on_receipt(&mut self, gate: Gate, packet: &Packet, now: Time, access: Span) {
        let Some(known) = self.under_way.remove(&packet.key) else { return };
        if let Gate::Receiver(group) = gate
            && now >= self.warmup
        {
            self.groups[group].count(now.since(known.first) + access, packet.is_marked);
        }
    }

    /// Forgets packets that are lost.
    pub fn tidy(&mut self, now: Time) {
        if self.under_way.len() > 1 << 16 {
            self.under_way.retain(|_, known| now.since(known.first) < OLDEST);
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

    /// Measures count from now.
    pub fn start(&mut self, now: Time, senders: &[SenderCounters]) {
        for link in &mut self.links {
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

    /// The document of the run. `delivered` are bytes of each member since the warm-up, `senders` counters of those that still send.
    pub fn document(
        mut self,
        members: &[Vec<MemberDraft>],
        delivered: &[Vec<u64>],
        senders: &[SenderCounters],
        clients: &[Client],
        now: Time,
    ) -> Document {
        let result = self.result(members, delivered, senders, clients, now);
        if !self.order.series {
            return Document { result, tables: Tables::default() };
        }
        let delays = |(spec, link): (&LinkSpec, &LinkCount)| {
            let (queue_delay, share) = link.meter.sojourn.distribution();
            (spec.name.clone(), columns([("queue_delay", queue_delay), ("share", share)]))
        };
        let shares: Vec<Vec<FlowShare>> =
            members.iter().zip(delivered).map(|(members, delivered)| self.shares(members, delivered)).collect();
        let FlowTable { group, rtt, goodput, .. } = FlowTable::of(&shares);
        let t = self.transfers;
        let tables = Tables {
            delays: self.scenario.links.iter().zip(&self.links).map(delays).collect(),
            series: self.series.into_iter().map(|series| (series.link, series.columns.into_iter().collect())).collect(),
            flow_table: columns([("group", group), ("rtt", rtt), ("goodput", goodput)]),
            transfer_table: columns([
                ("group", t.group),
                ("start", t.start),
                ("size", t.size),
                ("completion_time", t.completion_time),
            ]),
        };
        Document { result, tables }
    }

    fn result(
        &mut self,
        members: &[Vec<MemberDraft>],
        delivered: &[Vec<u64>],
        senders: &[SenderCounters],
        clients: &[Client],
        now: Time,
    ) -> RunResult {
        let groups = 0..self.groups.len();
        let shares: Vec<Vec<FlowShare>> =
            groups.clone().map(|group| self.shares(&members[group], &delivered[group])).collect();
        let counters: Vec<SenderCounters> = groups.map(|group| self.counters(group, senders[group])).collect();
        let mut all = GroupMeter::default();
        self.groups.iter().for_each(|meter| all.merge(meter));
        let flows = self.scenario.flows.iter().enumerate().map(|(group, spec)| {
            let meter = &self.groups[group];
            let call = spec.traffic.is_udp().then(|| CallResult::new(meter.sent, &meter.packet_delay));
            let facts = GroupFacts::new(&shares[group].iter().collect::<Vec<_>>(), meter, counters[group]);
            (spec.name.clone(), FlowResult::of(&facts.with(call, video(group, clients, now))))
        });
        let sum = counters.iter().copied().fold(SenderCounters::default(), SenderCounters::plus);
        let total = FlowResult::of(&GroupFacts::new(&shares.iter().flatten().collect::<Vec<_>>(), &all, sum));
        RunResult {
            schema: 1,
            scenario: self.scenario.name.clone(),
            aqm: self.order.aqm.clone(),
            seed: self.order.seed,
            flows: flows.collect(),
            total,
            links: self.link_results(now),
            engine: EngineStats { events: 0, wall: 0.0 },
        }
    }

    fn link_results(&mut self, now: Time) -> Vec<(String, LinkResult)> {
        let stages = self.scenario.scripted_changes();
        let links = self.scenario.links.iter().zip(&mut self.links).zip(&self.order.queues);
        links
            .map(|((spec, link), queue)| {
                link.pass_time(now);
                link.meter.pass_time(now);
                (spec.name.clone(), link.result(spec, queue, &stages))
            })
            .collect()
    }

    fn counters(&self, group: usize, senders: SenderCounters) -> SenderCounters {
        let counted = self.ended[group].plus(senders).since(self.before[group]);
        SenderCounters { failed: self.failed[group], ..counted }
    }

    fn shares(&self, members: &[MemberDraft], delivered: &[u64]) -> Vec<FlowShare> {
        let seconds = (self.scenario.duration.0 - self.scenario.warmup.0) as f64 * 1e-12;
        let end = Time::ZERO + self.scenario.duration;
        let share = |(member, bytes): (&MemberDraft, &u64)| FlowShare {
            goodput: 8.0 * *bytes as f64 / seconds,
            dropped: 0,
            always_active: !member.spec.traffic.has_clients()
                && member.start <= self.warmup
                && member.stops_at() >= end,
            rtt: member.rtt,
        };
        members.iter().zip(delivered).map(share).collect()
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

    fn result(&self, spec: &LinkSpec, queue: &Queue, changes: &[Span]) -> LinkResult {
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
        [("overflow", overflow), ("early", dropped - overflow)]
            .into_iter()
            .filter(|(_, n)| *n > 0)
            .for_each(|(why, n)| accounts.drop(why, n));
        let stage = |from: &Span| Stage { from: *from, target: spec.target, tolerance: 0.1 * spec.buffer_packets };
        let stages: Vec<Stage> = changes.iter().map(stage).collect();
        let utilisation = (since(|stats| stats.bytes) as f64 / self.capacity.max(1.0)).min(1.0);
        LinkResult::of(&LinkFacts::new(&self.meter, &accounts, utilisation, 0, &stages))
    }
}

/// A packet of a flow.
struct Packet {
    key: u64,
    has_data: bool,
    is_marked: bool,
}

impl Packet {
    /// From its headers; `None` if it is neither TCP nor UDP over IPv4.
    fn read(bytes: &[u8]) -> Option<Self> {
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        let header = usize::from(bytes.first()? & 15) * 4;
        let protocol = *bytes.get(9)?;
        if bytes[0] >> 4 != 4 || ![TCP, UDP].contains(&protocol) {
            return None;
        }
        let length = usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
        let transport = bytes.get(header..header + 8)?;
        let own = if protocol == TCP { usize::from(bytes.get(header + 12)? >> 4) * 4 } else { 8 };
        // The identification counts up in each connection, so that a segment that is sent again is another packet.
        let named = [&bytes[4..6], &bytes[12..20], &transport[..8]].concat();
        let key = named
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |key: u64, byte| (key ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        Some(Self { key, has_data: length > header + own, is_marked: bytes[1] & 3 == 3 })
    }
}

fn sender_counters(counters: Counters, failed: u64) -> SenderCounters {
    SenderCounters { retransmits: counters.retransmits, timeouts: counters.timeouts, ecn_reductions: 0, failed }
}

/// Counters of these connections together.
pub fn sum_of(counters: impl Iterator<Item = Counters>) -> SenderCounters {
    counters.fold(SenderCounters::default(), |sum, each| sum.plus(sender_counters(each, 0)))
}

fn video(group: usize, clients: &[Client], now: Time) -> Option<VideoResult> {
    let clients = clients.iter().filter(|client| client.peer.group as usize == group);
    let mut stats = clients.filter_map(Client::player).map(|player| player.stats_at(now)).peekable();
    stats.peek()?;
    Some(VideoResult::of(&stats.fold(PlaybackStats::default(), PlaybackStats::plus)))
}

fn columns<const N: usize>(columns: [(&str, Vec<f64>); N]) -> Columns {
    columns.into_iter().map(|(name, values)| (name.to_string(), values)).collect()
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
