//! The trace of packets at one link, on request. Nothing is recorded otherwise.

use crate::measure::shape::Shape;
use crate::net::packet::Packet;
use aqmlab_aqm::disciplines::TraceEvent;
use aqmlab_aqm::{Carried, Ecn, Happening};
use aqmlab_core::Time;
use aqmlab_scenario::Scenario;

/// Something that happened to a packet.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub packet: Packet,
    pub time: Time,
    /// Arrival of the packet at the queue.
    pub since: Time,
    pub happening: Happening,
    /// Packets that wait after it.
    pub waiting: u32,
}

impl Record {
    /// Each event with the packets that wait after it.
    pub fn of(events: Vec<TraceEvent<Packet>>) -> Vec<Record> {
        let mut waiting = 0;
        let record = |TraceEvent { happening, packet, since, time }| {
            match happening {
                Happening::Enqueued => waiting += 1,
                Happening::Dequeued | Happening::Dropped(_) => waiting -= 1,
                // A packet marked as it leaves has been taken from the queue, but is counted until it has left.
                Happening::Marked(_) | Happening::Refused(_) => {}
            }
            Record { packet, time, since, happening, waiting }
        };
        events.into_iter().map(record).collect()
    }
}

/// All that happened to packets at one link, in order, from the start of the run to its end.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Name of the link.
    pub link: String,
    /// Names of the groups of flows.
    pub groups: Vec<String>,
    pub(crate) shapes: Vec<Shape>,
    pub(crate) group_of: Vec<u16>,
    pub(crate) records: Vec<Record>,
}

/// A trace as columns of equal length. Those that hold codes count from 0 on in the list of their labels; -1 is none.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Time of the event, s.
    pub time: Vec<f64>,
    /// Event: code in [`Columns::EVENTS`].
    pub event: Vec<i16>,
    /// Number of the flow.
    pub flow: Vec<u32>,
    /// Group of the flow: code in [`Trace::groups`].
    pub group: Vec<u16>,
    /// Number of the transfer within the flow.
    pub transfer: Vec<u32>,
    /// Code in [`Columns::KINDS`].
    pub kind: Vec<i16>,
    /// Bytes on the wire.
    pub size: Vec<u32>,
    /// Segment, counted from 0 on; of an ACK the next expected; 0 of a datagram.
    pub seq: Vec<u32>,
    /// ECN field of its header, after what happened: code in [`Columns::ECN`].
    pub ecn: Vec<i16>,
    /// Why it was dropped or marked: code in `reasons`.
    pub reason: Vec<i16>,
    /// Time since it joined the queue, s; NaN of a packet that never did.
    pub sojourn: Vec<f64>,
    /// Packets waiting afterwards.
    pub queue: Vec<u32>,
    /// Labels of `reason`.
    pub reasons: Vec<&'static str>,
}

impl Columns {
    /// Labels of `event`.
    pub const EVENTS: [&str; 4] = ["enqueue", "dequeue", "drop", "mark"];
    /// Labels of `kind`.
    pub const KINDS: [&str; 2] = ["data", "ack"];
    /// Labels of `ecn`.
    pub const ECN: [&str; 4] = ["not-ect", "ect0", "ect1", "ce"];

    fn push(&mut self, record: &Record, group: u16, transfer: u32) {
        let Record { packet, time, since, happening, waiting } = record;
        let (event, why) = match *happening {
            Happening::Enqueued => (0, None),
            Happening::Dequeued => (1, None),
            Happening::Refused(why) | Happening::Dropped(why) => (2, Some(why)),
            Happening::Marked(why) => (3, Some(why)),
        };
        let (kind, seq) = if packet.kind.is_data() { (0, packet.data().seq) } else { (1, packet.ack().next) };
        let has_joined = !matches!(happening, Happening::Refused(_));
        let reason = why.map_or(-1, |why| self.reason(why));
        self.time.push(time.seconds());
        self.event.push(event);
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

impl Trace {
    pub(crate) fn new(scenario: &Scenario, link: usize, records: Vec<Record>, group_of: Vec<u16>) -> Self {
        Self {
            link: scenario.links[link].name.clone(),
            groups: scenario.flows.iter().map(|flows| flows.name.clone()).collect(),
            shapes: scenario.flows.iter().map(Shape::of).collect(),
            group_of,
            records,
        }
    }

    /// The trace as columns.
    pub fn columns(&self) -> Columns {
        let mut columns = Columns::default();
        let mut transfers = Transfers::new(self.group_of.len());
        for record in &self.records {
            let Packet { flow, .. } = record.packet;
            columns.push(record, self.group_of[flow as usize], transfers.of(&record.packet));
        }
        columns
    }
}

/// Numbers the transfers of each flow: packets carry the number modulo 256.
pub struct Transfers(Vec<u32>);

impl Transfers {
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
    use crate::net::packet::{Label, Stamp};
    use aqmlab_tcp::Ack;

    #[test]
    fn numbers_transfers_beyond_what_a_packet_can_carry() {
        let mut transfers = Transfers::new(1);
        let mut of = |epoch: u8| {
            let label = Label { stamp: Stamp::new(0, epoch), ..Label::default() };
            transfers.of(&Packet::of_ack(label, 40, 0, &Ack::default()))
        };
        assert_eq!(
            [of(0), of(1), of(0), of(120), of(240), of(255), of(0), of(255), of(3)],
            [0, 1, 0, 120, 240, 255, 256, 255, 259]
        );
    }
}
