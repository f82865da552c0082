//! Some of the flows of a run, with what happens at their two ends.

use super::lineage::{Lineage, OrderedEvent};
use super::rounds::{Arrival, Rounds, before};
use crate::calendar::{Calendar, Lane, Timer};
use crate::engine::event::{Event, EventSink};
use crate::engine::simulation::events::path;
use crate::measure::group::{ReceiptMeter, ResentDelays, SenderCounters};
use crate::memory;
use crate::net::flow::{Flow, Group};
use crate::net::packet::{AT_SENDER, Packet};
use crate::net::route::Way;
use crate::traffic::udp::UdpSource;
use aqmlab_core::{Span, Time};
use std::ops::Range;

/// Distance, in packets, at which the flows of upcoming ones are fetched from memory.
const AHEAD: usize = 8;

/// A packet that has passed the queues, on its way to its receiver, or an ACK on its way to its sender: a cache line.
#[derive(Clone, Copy)]
#[repr(align(64))]
pub struct ForwardedPacket {
    pub packet: Packet,
    /// Time at which a packet reaches its receiver's access link, or an ACK has left the last link.
    pub time: Time,
    /// Of what it causes, from when the queue decided that.
    pub lineage: Lineage,
}

/// The contribution of a received packet to its group's meter; nothing outside of the measured time.
#[derive(Clone, Copy)]
pub struct MeasuredReceipt {
    pub group: u16,
    pub counts: bool,
    pub is_marked: bool,
    pub delay: Span,
}

/// Times before which events are handled in a round.
#[derive(Clone, Copy, Debug, Default)]
pub struct Horizons {
    /// At the receivers: what the queues had decided before the round.
    pub receivers: Time,
    pub senders: Time,
    /// At the queues in the next round.
    pub queues_next: Time,
}

/// Counts of a group's flows in one shard.
#[derive(Clone, Default)]
pub struct GroupCount {
    /// Datagrams sent since the warm-up.
    pub sent: u64,
    /// Of the senders when the warm-up ended.
    pub before: SenderCounters,
    /// Delays of what was sent again.
    pub resent: ResentDelays,
}

/// Meter of one packet at its receiver.
struct ShardMeter<'a> {
    receipt: MeasuredReceipt,
    counts: &'a mut [GroupCount],
}

/// A share of the flows.
pub struct Shard<'a> {
    /// Number of the first of its flows and of its sources.
    first: u32,
    first_source: u32,
    flows: &'a mut [Flow],
    sources: &'a mut [UdpSource],
    groups: &'a [Group],
    ways: &'a [Way],
    agenda: Agenda,
    /// Of each flow.
    limits: Vec<LookaheadLimit>,
    /// Time before which every sender may run ahead.
    limit: Time,
    measured: Range<Time>,
    horizons: Horizons,
    /// Packets that have passed the queues, in their order.
    inbox: Vec<ForwardedPacket>,
    /// Receipts of the inbox, in its order.
    receipts: Vec<MeasuredReceipt>,
    /// Arrivals at the queues in the next round, in any order.
    outbox: Vec<Arrival>,
    pub counts: Vec<GroupCount>,
    pub events: u64,
    /// The order of two events could not be told.
    pub is_uncertain: bool,
    /// All shards together have so many flows that what they touch is to be fetched from memory in time.
    is_large: bool,
}

/// Future events of a shard's flows.
struct Agenda {
    senders: Calendar<OrderedEvent, Lineage>,
    /// Delayed ACKs.
    receivers: Calendar<OrderedEvent, Lineage>,
    /// On their way to a queue.
    departures: Rounds,
    /// On their way to the sender of the present flow.
    acks: Vec<(Time, Packet)>,
    /// Of what is pushed now.
    lineage: Lineage,
}

/// Limit to how far a sender may run ahead of the others.
#[derive(Clone, Copy)]
struct LookaheadLimit {
    /// Time of the next event other than a timer or an ACK.
    time: Time,
    /// Number of pending ACKs; one more if they may pass each other.
    waiting: u32,
}

impl EventSink for Agenda {
    #[inline(always)]
    fn push(&mut self, lane: Lane, time: Time, event: Event) {
        match event {
            Event::Arrive(packet) if packet.hop == AT_SENDER => self.acks.push((time, packet)),
            Event::Arrive(packet) => self.departures.push(time, packet, self.lineage),
            Event::AckDue { .. } => self.receivers.push(lane, time, OrderedEvent { event, lineage: self.lineage }),
            _ => self.senders.push(lane, time, OrderedEvent { event, lineage: self.lineage }),
        }
    }

    fn push_timer(&mut self, time: Time, timer: Timer) {
        self.senders.push_timer(time, timer, self.lineage);
    }
}

impl<'a> Shard<'a> {
    /// The flows from number `first` on, and the sources from `first_source` on that are among them, at rest.
    pub fn new(
        (first, flows): (u32, &'a mut [Flow]),
        (first_source, sources): (u32, &'a mut [UdpSource]),
        (groups, ways, reorders): (&'a [Group], &'a [Way], &[bool]),
        (round, is_large): (Span, bool),
        measured: Range<Time>,
    ) -> Self {
        let limit =
            |flow: &Flow| LookaheadLimit { time: Time::NEVER, waiting: u32::from(reorders[flow.group as usize]) };
        let agenda = Agenda {
            senders: Calendar::default(),
            receivers: Calendar::default(),
            departures: Rounds::new(round),
            acks: Vec::new(),
            lineage: Lineage::default(),
        };
        Self {
            limits: flows.iter().map(limit).collect(),
            limit: measured.end + Span(1),
            first,
            first_source,
            flows,
            sources,
            groups,
            ways,
            agenda,
            measured,
            horizons: Horizons::default(),
            inbox: Vec::new(),
            receipts: Vec::new(),
            outbox: Vec::new(),
            counts: vec![GroupCount::default(); groups.len()],
            events: 0,
            is_uncertain: false,
            is_large,
        }
    }

    /// An event of the set-up, which is the `place`-th.
    pub fn push_set_up(&mut self, time: Time, event: Event, place: u64) {
        self.agenda.lineage = Lineage::of_set_up(place);
        match event {
            Event::Open { flow } => return self.agenda.push_timer(time, Timer::Open(flow)),
            Event::Close { flow } => self.limits[(flow - self.first) as usize].time = time,
            Event::WarmedUp => self.limit = self.limit.min(time),
            _ => (),
        }
        self.agenda.push(Lane::ANY, time, event);
    }

    /// Exchanges packets that have passed the queues for those that are to reach them, before a round;
    /// `receipts` are of the round before.
    pub fn exchange(
        &mut self,
        horizons: Horizons,
        forwarded: &mut Vec<ForwardedPacket>,
        arrivals: &mut Vec<Arrival>,
        receipts: &mut Vec<MeasuredReceipt>,
    ) {
        self.horizons = horizons;
        std::mem::swap(&mut self.inbox, forwarded);
        forwarded.clear();
        std::mem::swap(&mut self.outbox, arrivals);
        std::mem::swap(&mut self.receipts, receipts);
    }

    /// Handles all events of a round.
    pub fn advance(&mut self) {
        self.agenda.departures.begin(self.horizons.queues_next);
        self.receive_all();
        self.run_senders();
        self.agenda.departures.end(&mut self.outbox);
    }

    /// The receivers' part: what the queues decided in the last round, and delayed ACKs.
    fn receive_all(&mut self) {
        self.receipts.clear();
        let inbox = std::mem::take(&mut self.inbox);
        for (i, forwarded) in inbox.iter().enumerate() {
            if self.is_large {
                self.fetch(&inbox[i..]);
            }
            let decided = forwarded.lineage.pushed_at();
            if self.agenda.receivers.first_time() <= decided {
                self.delayed_acks(decided);
                self.is_uncertain |= self.agenda.receivers.first_time() == decided;
            }
            self.pass(forwarded);
        }
        self.delayed_acks(self.horizons.receivers);
        self.inbox = inbox;
    }

    /// Asks for what will be touched in a little while.
    #[inline(always)]
    fn fetch(&self, forwarded: &[ForwardedPacket]) {
        if let Some(coming) = forwarded.get(2 * AHEAD) {
            memory::fetch(coming);
        }
        if let Some(coming) = forwarded.get(AHEAD) {
            let index = (coming.packet.flow - self.first) as usize;
            memory::fetch(&self.flows[index]);
            memory::fetch(&self.limits[index]);
        }
    }

    #[inline]
    fn pass(&mut self, forwarded: &ForwardedPacket) {
        let ForwardedPacket { packet, time, lineage, .. } = forwarded;
        let flow = &mut self.flows[(packet.flow - self.first) as usize];
        self.agenda.lineage = *lineage;
        if packet.hop == AT_SENDER {
            let home = self.ways[flow.group as usize].home(flow.route());
            return self.acknowledge(*time + home.delay, packet);
        }
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        let receipt = MeasuredReceipt { group: flow.group, counts: false, is_marked: false, delay: Span::ZERO };
        let mut meter = ShardMeter { receipt, counts: &mut self.counts };
        flow.receive(packet, *time, path, &mut meter, self.measured.clone());
        self.receipts.push(meter.receipt);
        self.acknowledge_all();
    }

    /// Handles the ACKs that a receiver has just sent to its sender.
    #[inline(always)]
    fn acknowledge_all(&mut self) {
        let mut acks = std::mem::take(&mut self.agenda.acks);
        acks.iter().for_each(|(time, packet)| self.acknowledge(*time, packet));
        acks.clear();
        self.agenda.acks = acks;
    }

    /// An ACK will reach its sender. ACKs of a flow come in order, so the sender acts at once unless something else may
    /// happen to it before.
    #[inline(always)]
    fn acknowledge(&mut self, time: Time, packet: &Packet) {
        let index = (packet.flow - self.first) as usize;
        let (flow, limit) = (&mut self.flows[index], &self.limits[index]);
        if time >= flow.timer_event.min(limit.time).min(self.limit) || limit.waiting > 0 {
            return self.wait(time, packet);
        }
        let lineage = self.agenda.lineage;
        self.agenda.lineage = lineage.child(time);
        self.events += 1;
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        flow.act(packet.flow, time, path, |sender, now, tcp, net| sender.on_ack(packet.ack(), now, tcp, net));
        self.agenda.lineage = lineage;
    }

    /// The same, when its time has come.
    #[inline(never)]
    fn wait(&mut self, time: Time, packet: &Packet) {
        if time <= self.measured.end {
            self.limits[(packet.flow - self.first) as usize].waiting += 1;
            let ordered = OrderedEvent { event: Event::Arrive(*packet), lineage: self.agenda.lineage };
            self.agenda.senders.push(Lane::ANY, time, ordered);
        }
    }

    /// Delayed ACKs before a time.
    #[inline]
    fn delayed_acks(&mut self, until: Time) {
        while let Some((time, ordered)) = self.agenda.receivers.pop(before(until)) {
            let Event::AckDue { flow: index } = ordered.event else { unreachable!("receivers know delayed ACKs only") };
            self.agenda.lineage = ordered.lineage.child(time);
            let flow = &mut self.flows[(index - self.first) as usize];
            let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
            flow.delayed_ack(index, time, path);
            self.events += 1;
            self.acknowledge_all();
        }
    }

    /// The senders' part.
    fn run_senders(&mut self) {
        let until = before(self.horizons.senders);
        let first = self.first;
        loop {
            let flows = &self.flows;
            let fetch = |ordered: &OrderedEvent| {
                if let Event::Arrive(Packet { flow, .. }) | Event::Timer { flow } | Event::Open { flow } =
                    &ordered.event
                {
                    memory::fetch(&flows[(flow - first) as usize]);
                }
            };
            let Some((now, ordered)) = self.agenda.senders.pop_showing(until, true, fetch) else { break };
            let lineage = ordered.lineage;
            if let Event::Timer { flow } = ordered.event {
                self.at_timer(now, flow, lineage); // most events, of which nothing else is copied
            } else {
                let event = ordered.event;
                self.run_instant(now, OrderedEvent { event, lineage });
            }
        }
    }

    /// Handles all events of an instant that have been pushed before; `first` has been taken out.
    #[inline(never)]
    fn run_instant(&mut self, now: Time, first: OrderedEvent) {
        if self.agenda.senders.first_time() != now {
            return self.handle(now, &first);
        }
        let mut events = vec![first];
        while let Some((_, ordered)) = self.agenda.senders.pop(now) {
            events.push(*ordered);
        }
        events.sort_by_key(|ordered| ordered.lineage.rank());
        let mut by_flow: Vec<_> =
            events.iter().map(|ordered| (self.flow_of(&ordered.event), ordered.lineage)).collect();
        by_flow.sort_by_key(|(flow, _)| *flow);
        let is_open = |two: &[(_, Lineage)]| two[0].0 == two[1].0 && two[0].1.compare(&two[1].1).is_none();
        self.is_uncertain |= by_flow.windows(2).any(is_open);
        events.iter().for_each(|ordered| self.handle(now, ordered));
    }

    /// The flow to whose sender something happens.
    fn flow_of(&self, event: &Event) -> Option<u32> {
        match event {
            Event::Arrive(packet) => Some(packet.flow),
            Event::Timer { flow } | Event::Open { flow } | Event::Close { flow } => Some(*flow),
            Event::Emit { source } => Some(self.sources[(source - self.first_source) as usize].flow),
            _ => None,
        }
    }

    fn handle(&mut self, now: Time, ordered: &OrderedEvent) {
        let OrderedEvent { event, lineage } = ordered;
        if let Event::Timer { flow } = *event {
            return self.timer(now, flow, lineage);
        }
        self.agenda.lineage = lineage.child(now);
        self.events += 1;
        let index = match *event {
            Event::Arrive(packet) => packet.flow,
            Event::Open { flow } | Event::Close { flow } => flow,
            Event::Emit { source } => return self.emit(source, now),
            Event::WarmedUp => return self.restart_meters(),
            event => unreachable!("no event of a sender: {event:?}"),
        };
        let flow = &mut self.flows[(index - self.first) as usize];
        let limit = &mut self.limits[(index - self.first) as usize];
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        match event {
            Event::Arrive(packet) => {
                limit.waiting -= 1;
                flow.act(index, now, path, |sender, now, tcp, net| sender.on_ack(packet.ack(), now, tcp, net));
            }
            Event::Open { .. } => {
                flow.act(index, now, path, |sender, now, tcp, net| sender.open(None, now, tcp, net));
            }
            Event::Close { .. } => {
                limit.time = Time::NEVER;
                flow.sender.close();
            }
            _ => unreachable!("a timer"),
        }
    }

    /// A retransmission timer may be due, perhaps among other events of the instant.
    #[inline]
    fn at_timer(&mut self, now: Time, flow: u32, lineage: Lineage) {
        if self.agenda.senders.first_time() == now {
            self.run_instant(now, OrderedEvent { event: Event::Timer { flow }, lineage });
        } else {
            self.timer(now, flow, &lineage);
        }
    }

    #[inline]
    fn timer(&mut self, now: Time, index: u32, lineage: &Lineage) {
        self.agenda.lineage = lineage.child(now);
        self.events += 1;
        let flow = &mut self.flows[(index - self.first) as usize];
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        flow.timer(index, now, path);
    }

    #[inline(never)]
    fn emit(&mut self, index: u32, now: Time) {
        let source = &mut self.sources[(index - self.first_source) as usize];
        let flow = &mut self.flows[(source.flow - self.first) as usize];
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        if flow.emit(source, index, now, path) {
            self.counts[flow.group as usize].sent += 1;
        }
    }

    /// The warm-up is over.
    #[cold]
    fn restart_meters(&mut self) {
        self.events -= 1; // counted at the queues
        self.limit = self.measured.end + Span(1);
        self.counts.iter_mut().for_each(|count| count.sent = 0);
        self.flows.iter().for_each(|flow| self.counts[flow.group as usize].before.add(&flow.sender));
    }
}

impl ReceiptMeter for ShardMeter<'_> {
    #[inline(always)]
    fn count(&mut self, delay: Span, is_marked: bool) {
        self.receipt = MeasuredReceipt { counts: true, is_marked, delay, ..self.receipt };
    }

    #[inline]
    fn count_resent(&mut self, delay: Span, segment: Option<Span>) {
        self.counts[self.receipt.group as usize].resent.add(delay, segment);
    }

    #[inline(always)]
    fn note_receipt(&mut self, _: Time, _: Span, _: u32, _: bool) {}
}
