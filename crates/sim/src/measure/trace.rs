//! The trace of packets at one link, on request. Nothing is recorded otherwise.

use crate::measure::shape::Shape;
use crate::net::packet::Packet;
use aqmlab_aqm::disciplines::TraceEvent;
use aqmlab_aqm::{Carried, Ecn, QueueEvent};
use aqmlab_core::Time;
use aqmlab_scenario::Scenario;

/// Record of one event of a packet.
#[derive(Clone, Copy, Debug)]
pub struct TraceRecord {
    pub packet: Packet,
    pub time: Time,
    /// Arrival of the packet at the queue.
    pub since: Time,
    pub event: QueueEvent,
    /// Packets that wait after it.
    pub waiting: u32,
}

impl TraceRecord {
    /// Each event with the packets that wait after it.
    pub fn of(events: Vec<TraceEvent<Packet>>) -> Vec<TraceRecord> {
        let mut waiting = 0;
        let record = |TraceEvent { event, packet, since, time }| {
            match event {
                QueueEvent::Enqueued => waiting += 1,
                QueueEvent::Dequeued | QueueEvent::Dropped(_) => waiting -= 1,
                // A packet marked as it leaves has been taken from the queue, but is counted until it has left.
                QueueEvent::Marked(_) | QueueEvent::Refused(_) => {}
            }
            TraceRecord { packet, time, since, event, waiting }
        };
        events.into_iter().map(record).collect()
    }
}

/// Trace of packets at one link: all events in order, from the start of the run to its end.
#[derive(Clone, Debug)]
pub struct PacketTrace {
    /// Name of the link.
    pub link: String,
    /// Names of the groups of flows.
    pub groups: Vec<String>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) group_of: Vec<u16>,
    pub(crate) records: Vec<TraceRecord>,
}

/// A packet trace as a table: columns of equal length. Codes count from 0 on in the list of their labels; -1 is none.
#[derive(Clone, Debug, Default)]
pub struct TraceTable {
    /// Time of the event, s.
    pub time: Vec<f64>,
    /// Event: code in [`TraceTable::EVENTS`].
    pub event: Vec<i16>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Group of the flow: code in [`PacketTrace::groups`].
    pub group: Vec<u16>,
    /// Number of the transfer within the flow.
    pub transfer: Vec<u32>,
    /// Code in [`TraceTable::KINDS`].
    pub kind: Vec<i16>,
    /// Bytes on the wire.
    pub size: Vec<u32>,
    /// Segment, counted from 0 on; of an ACK the next expected; 0 of a datagram.
    pub seq: Vec<u32>,
    /// ECN field of its header, after what happened: code in [`TraceTable::ECN`].
    pub ecn: Vec<i16>,
    /// Reason of the drop or mark: code in `reasons`.
    pub reason: Vec<i16>,
    /// Time since it joined the queue, s; NaN of a packet that never did.
    pub sojourn: Vec<f64>,
    /// Packets waiting afterwards.
    pub queue: Vec<u32>,
    /// Labels of `reason`.
    pub reasons: Vec<&'static str>,
}

impl TraceTable {
    /// Labels of `event`.
    pub const EVENTS: [&str; 4] = ["enqueue", "dequeue", "drop", "mark"];
    /// Labels of `kind`.
    pub const KINDS: [&str; 2] = ["data", "ack"];
    /// Labels of `ecn`.
    pub const ECN: [&str; 4] = ["not-ect", "ect0", "ect1", "ce"];

    fn push(&mut self, record: &TraceRecord, group: u16, transfer: u32) {
        let TraceRecord { packet, time, since, event, waiting } = record;
        let (code, why) = match *event {
            QueueEvent::Enqueued => (0, None),
            QueueEvent::Dequeued => (1, None),
            QueueEvent::Refused(why) | QueueEvent::Dropped(why) => (2, Some(why)),
            QueueEvent::Marked(why) => (3, Some(why)),
        };
        let (kind, seq) = if packet.goes_back() { (1, packet.ack().next) } else { (0, packet.data().seq) };
        let has_joined = !matches!(event, QueueEvent::Refused(_));
        let reason = why.map_or(-1, |why| self.reason(why.name()));
        self.time.push(time.seconds());
        self.event.push(code);
        self.flow.push(packet.flow);
        self.group.push(group);
        self.transfer.push(transfer);
        self.kind.push(kind);
        self.size.push(packet.size.into());
        self.seq.push(seq);
        self.ecn.push(match packet.ecn() {
            Ecn::NotEct => 0,
            Ecn::Ect0 => 1,
            Ecn::Ect1 => 2,
            Ecn::Ce => 3,
        });
        self.reason.push(reason);
        self.sojourn.push(if has_joined { time.since(*since).seconds() } else { f64::NAN });
        self.queue.push(*waiting);
    }

    fn reason(&mut self, why: &'static str) -> i16 {
        let known = self.reasons.iter().position(|reason| *reason == why);
        known.unwrap_or_else(|| {
            self.reasons.push(why);
            self.reasons.len() - 1
        }) as i16
    }
}

impl PacketTrace {
    pub(crate) fn new(scenario: &Scenario, link: usize, records: Vec<TraceRecord>, group_of: Vec<u16>) -> Self {
        Self {
            link: scenario.links[link].name.clone(),
            groups: scenario.flows.iter().map(|flows| flows.name.clone()).collect(),
            shapes: scenario.flows.iter().map(Shape::of).collect(),
            group_of,
            records,
        }
    }

    /// The trace as a table.
    pub fn table(&self) -> TraceTable {
        let mut table = TraceTable::default();
        let mut transfers = TransferNumbering::new(self.group_of.len());
        for record in &self.records {
            let Packet { flow, .. } = record.packet;
            table.push(record, self.group_of[flow as usize], transfers.of(&record.packet));
        }
        table
    }
}

/// Numbering of the transfers of each flow; packets carry the number modulo 256.
pub struct TransferNumbering(Vec<u32>);

impl TransferNumbering {
    pub fn new(flows: usize) -> Self {
        Self(vec![0; flows])
    }

    /// Number of a packet's transfer within its flow. A late packet may be of an earlier transfer than those before it.
    pub fn of(&mut self, packet: &Packet) -> u32 {
        let latest = &mut self.0[packet.flow as usize];
        let ahead = packet.epoch().wrapping_sub(*latest as u8) as i8;
        let transfer = latest.saturating_add_signed(ahead.into());
        *latest = transfer.max(*latest);
        transfer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::{DscpEpoch, FlowTag};
    use aqmlab_tcp::Ack;

    #[test]
    fn numbers_transfers_beyond_what_a_packet_can_carry() {
        let mut transfers = TransferNumbering::new(1);
        let mut of = |epoch: u8| {
            let label = FlowTag { stamp: DscpEpoch::new(0, epoch), ..FlowTag::default() };
            transfers.of(&Packet::of_ack(label, 40, 0, &Ack::default()))
        };
        assert_eq!(
            [of(0), of(1), of(0), of(120), of(240), of(255), of(0), of(255), of(3)],
            [0, 1, 0, 120, 240, 255, 256, 255, 259]
        );
    }
}
