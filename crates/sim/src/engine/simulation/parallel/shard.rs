//! Some of the flows of a run, with what happens at their two ends.

use super::lineage::{Born, Lineage};
use crate::engine::calendar::{Calendar, Lane, Pending};
use crate::engine::event::{AT_SENDER, Event, Packet, Timer};
use crate::engine::memory;
use crate::engine::simulation::events::path;
use crate::measure::group::{Counters, ReceiptMeter};
use crate::net::flow::{Flow, Group};
use crate::net::route::Way;
use crate::traffic::udp::UdpSource;
use aqmlab_core::{Span, Time};
use std::collections::HashMap;
use std::ops::Range;

/// How many packets ahead of the present one flows are fetched from memory.
const AHEAD: usize = 8;

/// A packet that has passed the queues, on its way to its receiver, or an ACK on its way to its sender.
#[derive(Clone, Copy)]
pub struct Passed {
    pub packet: Packet,
    /// When a packet reaches its receiver's access link, or an ACK has left the last link.
    pub time: Time,
    /// When the queue decided that.
    pub decided: Time,
    /// Of what it causes.
    pub lineage: Lineage,
}

/// A packet that reaches a queue.
#[derive(Clone, Copy)]
pub struct Arrival {
    pub time: Time,
    pub packet: Packet,
    pub lineage: Lineage,
}

/// What a packet that reached its receiver counts for; nothing outside of the time that is measured.
#[derive(Clone, Copy)]
pub struct Receipt {
    pub group: u16,
    pub counts: bool,
    pub is_marked: bool,
    pub delay: Span,
}

/// Up to when events are handled in a round, these times not included.
#[derive(Clone, Copy, Debug, Default)]
pub struct Windows {
    /// At the receivers: what the queues had decided before the round.
    pub receivers: Time,
    pub senders: Time,
    /// At the queues in the next round.
    pub queues_next: Time,
}

/// What has been measured at the flows of a group.
#[derive(Clone, Copy, Default)]
pub struct GroupCount {
    /// Datagrams sent since the warm-up.
    pub sent: u64,
    /// Of the senders when the warm-up ended.
    pub before: Counters,
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
    instant: Instant,
    measured: Range<Time>,
    windows: Windows,
    /// What has passed the queues, in their order.
    inbox: Vec<Passed>,
    /// What the inbox counts for, in its order.
    receipts: Vec<Receipt>,
    /// What reaches the queues in the next round, by time.
    outbox: Vec<Arrival>,
    pub counts: Vec<GroupCount>,
    pub events: u64,
    /// The order of two events could not be told.
    pub is_uncertain: bool,
}

/// What is to come at the flows of a shard.
struct Agenda {
    senders: Calendar<Born, Lineage>,
    /// Delayed ACKs.
    receivers: Calendar<Born, Lineage>,
    /// On their way to a queue.
    departures: Calendar<Born, Lineage>,
    /// Of what is pushed now.
    lineage: Lineage,
}

impl Pending for Agenda {
    #[inline(always)]
    fn push(&mut self, lane: Lane, time: Time, event: Event) {
        let calendar = match &event {
            Event::Arrive(packet) if packet.hop != AT_SENDER => &mut self.departures,
            Event::AckDue { .. } => &mut self.receivers,
            _ => &mut self.senders,
        };
        calendar.push(lane, time, Born { event, lineage: self.lineage });
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
        (groups, ways): (&'a [Group], &'a [Way]),
        lanes: usize,
        measured: Range<Time>,
    ) -> Self {
        let calendar = || Calendar::with_lanes(lanes);
        let agenda =
            Agenda { senders: calendar(), receivers: calendar(), departures: calendar(), lineage: Lineage::default() };
        Self {
            first,
            first_source,
            flows,
            sources,
            groups,
            ways,
            agenda,
            instant: Instant::default(),
            measured,
            windows: Windows::default(),
            inbox: Vec::new(),
            receipts: Vec::new(),
            outbox: Vec::new(),
            counts: vec![GroupCount::default(); groups.len()],
            events: 0,
            is_uncertain: false,
        }
    }

    /// An event of the set-up, which is the `place`-th.
    pub fn push_set_up(&mut self, time: Time, event: Event, place: u64) {
        self.agenda.lineage = Lineage::of_set_up(place);
        match event {
            Event::Open { flow } => self.agenda.push_timer(time, Timer::Open(flow)),
            event => self.agenda.push(Lane::ANY, time, event),
        }
    }

    /// Takes what has passed the queues for what is to reach them, before a round; `receipts` are of the round before.
    pub fn exchange(
        &mut self,
        windows: Windows,
        passed: &mut Vec<Passed>,
        arrivals: &mut Vec<Arrival>,
        receipts: &mut Vec<Receipt>,
    ) {
        self.windows = windows;
        std::mem::swap(&mut self.inbox, passed);
        passed.clear();
        std::mem::swap(&mut self.outbox, arrivals);
        std::mem::swap(&mut self.receipts, receipts);
    }

    /// Handles all events of a round.
    pub fn advance(&mut self) {
        self.receive_all();
        self.run_senders();
        self.outbox.clear();
        let until = before(self.windows.queues_next);
        while let Some((time, born)) = self.agenda.departures.pop(until) {
            let Event::Arrive(packet) = born.event else { unreachable!("only packets are on their way to a queue") };
            self.outbox.push(Arrival { time, packet, lineage: born.lineage });
        }
    }

    /// The receivers' part: what the queues decided in the last round, and delayed ACKs.
    fn receive_all(&mut self) {
        self.receipts.clear();
        let inbox = std::mem::take(&mut self.inbox);
        for (i, passed) in inbox.iter().enumerate() {
            if let Some(coming) = inbox.get(i + AHEAD) {
                memory::fetch(&self.flows[(coming.packet.flow - self.first) as usize]);
            }
            self.delayed_acks(passed.decided);
            self.is_uncertain |= self.agenda.receivers.first_time() == passed.decided;
            self.pass(passed);
        }
        self.delayed_acks(self.windows.receivers);
        self.inbox = inbox;
    }

    #[inline]
    fn pass(&mut self, passed: &Passed) {
        let Passed { packet, time, lineage, .. } = passed;
        let flow = &mut self.flows[(packet.flow - self.first) as usize];
        self.agenda.lineage = *lineage;
        if packet.hop == AT_SENDER {
            let home = self.ways[flow.group as usize].home(&flow.route);
            return self.agenda.push(home.lane, *time + home.delay, Event::Arrive(*packet));
        }
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        let mut receipt = Receipt { group: flow.group, counts: false, is_marked: false, delay: Span::ZERO };
        flow.receive(packet, *time, path, &mut receipt, self.measured.clone());
        self.receipts.push(receipt);
    }

    /// Delayed ACKs before a time.
    #[inline]
    fn delayed_acks(&mut self, until: Time) {
        while let Some((time, born)) = self.agenda.receivers.pop(before(until)) {
            let Event::AckDue { flow: index } = born.event else { unreachable!("receivers know delayed ACKs only") };
            self.agenda.lineage = born.lineage.child(time);
            let flow = &mut self.flows[(index - self.first) as usize];
            let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
            flow.delayed_ack(index, time, path);
            self.events += 1;
        }
    }

    /// The senders' part.
    fn run_senders(&mut self) {
        let until = before(self.windows.senders);
        let first = self.first;
        loop {
            let flows = &self.flows;
            let fetch = |born: &Born| {
                if let Event::Arrive(Packet { flow, .. }) | Event::Timer { flow } | Event::Open { flow } = &born.event {
                    memory::fetch(&flows[(flow - first) as usize]);
                }
            };
            let Some((now, born)) = self.agenda.senders.pop_showing(until, true, fetch) else { break };
            let Born { event, lineage } = *born;
            self.agenda.lineage = lineage.child(now);
            self.events += 1;
            self.handle(event, now, &lineage);
        }
    }

    #[inline(always)]
    fn handle(&mut self, event: Event, now: Time, lineage: &Lineage) {
        let index = match event {
            Event::Arrive(packet) => packet.flow,
            Event::Timer { flow } | Event::Open { flow } | Event::Close { flow } => flow,
            Event::Emit { source } => return self.emit(source, now),
            Event::WarmedUp => return self.restart_meters(),
            event => unreachable!("no event of a sender: {event:?}"),
        };
        self.is_uncertain |= !self.instant.follows(now, index, lineage);
        let flow = &mut self.flows[(index - self.first) as usize];
        let path = path(self.groups, self.ways, flow.group, &mut self.agenda);
        match event {
            Event::Arrive(packet) => {
                flow.act(index, now, path, |sender, now, tcp, net| sender.on_ack(packet.ack(), now, tcp, net));
            }
            Event::Open { .. } => {
                flow.act(index, now, path, |sender, now, tcp, net| sender.open(None, now, tcp, net));
            }
            Event::Close { .. } => flow.sender.close(),
            _ => flow.timer(index, now, path),
        }
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
        self.counts.iter_mut().for_each(|count| count.sent = 0);
        self.flows.iter().for_each(|flow| self.counts[flow.group as usize].before.add(&flow.sender));
    }
}

impl ReceiptMeter for Receipt {
    #[inline(always)]
    fn count(&mut self, delay: Span, is_marked: bool) {
        *self = Receipt { group: self.group, counts: true, is_marked, delay };
    }

    #[inline(always)]
    fn note_receipt(&mut self, _: Time, _: Span, _: u32, _: bool) {}
}

/// The last instant that is not `time` yet; nothing happens before the first.
pub fn before(time: Time) -> Time {
    Time(time.0.saturating_sub(1))
}

/// The senders' events of the present instant: those of one flow have to come in order.
#[derive(Default)]
struct Instant {
    now: Time,
    flow: u32,
    lineage: Lineage,
    /// The last of each flow, where there are several events.
    several: HashMap<u32, Lineage>,
}

impl Instant {
    /// Notes an event; false if it may not come after one of its flow that has come.
    #[inline(always)]
    fn follows(&mut self, now: Time, flow: u32, lineage: &Lineage) -> bool {
        let is_same = self.now == now;
        let follows = !is_same || self.is_in_order(flow, lineage);
        if !is_same && !self.several.is_empty() {
            self.several.clear();
        }
        (self.now, self.flow, self.lineage) = (now, flow, *lineage);
        follows
    }

    #[cold]
    fn is_in_order(&mut self, flow: u32, lineage: &Lineage) -> bool {
        self.several.insert(self.flow, self.lineage);
        self.several.get(&flow).is_none_or(|earlier| earlier.compare(lineage).is_some_and(|order| order.is_le()))
    }
}
