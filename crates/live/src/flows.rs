//! Counts of each flow, told apart by addresses, protocol and ports.

use crate::packet::{FiveTuple, Layout, TCP};
use crate::store::{Block, Slot};
use aqmlab_core::Time;
use std::collections::HashMap;

/// Counts of a flow in one direction.
#[derive(Clone, Debug, Default)]
pub struct FlowCounts {
    /// Its addresses, protocol and ports; those of no packet where flows are not told apart.
    pub tuple: FiveTuple,
    /// Packets that reached the line.
    pub arrived: u64,
    /// Packets that had been sent before, as far as their sequence numbers say (TCP).
    pub resent: u64,
    /// Packets delivered.
    pub received: u64,
    /// Their bytes, IP headers included.
    pub bytes: u64,
    /// Those of them with a congestion mark.
    pub marked: u64,
    /// Payload delivered, bytes; over TCP what was sent again counts once.
    pub payload: u64,
    /// Seconds of the run in which payload was delivered.
    pub active: u32,
    last_second: Option<u64>,
    /// Payload delivered, whatever was sent again included.
    carried: u64,
    /// Bytes from the first to the last place of the sequence space that was delivered.
    reached: u64,
    /// End of what has arrived, and of what has been delivered, of the sequence space.
    seen: Option<u32>,
    given: Option<u32>,
}

/// A row of the table of flows: direction, name, packets sent, sent again, delivered and marked, payload (B).
pub type FlowRow<'a> = (&'a str, String, u64, u64, u64, u64, u64);

impl FlowCounts {
    /// Its row in the table of flows.
    pub fn row<'a>(&self, direction: &'a str) -> FlowRow<'a> {
        (direction, self.tuple.to_string(), self.arrived, self.resent, self.received, self.marked, self.payload)
    }

    /// Where the payload of a block is in the sequence space of the flow, if it has one.
    fn seq_of(&self, block: &Block) -> Option<u32> {
        block.seq.filter(|_| self.tuple.protocol == TCP)
    }
}

/// All flows of a direction.
#[derive(Default)]
pub struct Flows {
    places: HashMap<FiveTuple, u32>,
    all: Vec<FlowCounts>,
}

/// Rows of the table. Flows that come when only the last is left count together in it.
const MOST: usize = 1 << 16;

impl Flows {
    /// The flow's index in the table.
    pub fn place(&mut self, layout: &Layout) -> u32 {
        if let Some(place) = self.places.get(&layout.tuple) {
            return *place;
        }
        let place = self.all.len().min(MOST - 1);
        if place < MOST - 1 {
            self.places.insert(layout.tuple, place as u32);
            self.all.push(FlowCounts { tuple: layout.tuple, ..FlowCounts::default() });
        } else if self.all.len() < MOST {
            self.all.push(FlowCounts::default());
        }
        place as u32
    }

    /// All parts of a block have reached the line.
    pub fn arrives(&mut self, place: u32, block: &Block) {
        let flow = &mut self.all[place as usize];
        flow.arrived += u64::from(block.parts());
        let (_, length) = block.payload(0, block.parts());
        if let (Some(seq), true) = (flow.seq_of(block), length > 0) {
            let end = seq.wrapping_add(length as u32);
            match flow.seen {
                Some(seen) if !is_after(end, seen) => flow.resent += u64::from(block.parts()),
                _ => flow.seen = Some(end),
            }
        }
    }

    /// Parts of a block, from that of `slot` on, are delivered.
    pub fn delivers(&mut self, slot: &Slot, count: u16, block: &Block, now: Time) {
        let flow = &mut self.all[slot.flow as usize];
        let (from, length) = block.payload(slot.part, count);
        let size: usize = (slot.part..slot.part + count).map(|part| block.size(part)).sum();
        flow.received += u64::from(count);
        flow.bytes += size as u64;
        flow.marked += u64::from(count) * u64::from(slot.traffic_class & 3 == 3);
        if length == 0 {
            return;
        }
        let new = match flow.seq_of(block) {
            None => length as u32,
            Some(seq) => {
                let end = seq.wrapping_add((from + length) as u32);
                let given = flow.given.unwrap_or(end.wrapping_sub(length as u32));
                if is_after(end, given) {
                    flow.given = Some(end);
                    end.wrapping_sub(given)
                } else {
                    0
                }
            }
        };
        flow.carried += length as u64;
        flow.reached += u64::from(new);
        flow.payload = flow.reached.min(flow.carried); // what a leap has passed over was not delivered
        let second = Some(now.0 / 1_000_000_000_000);
        if second != flow.last_second {
            (flow.active, flow.last_second) = (flow.active + 1, second);
        }
    }

    /// Counts from now on.
    pub fn restart(&mut self) {
        for flow in &mut self.all {
            (flow.arrived, flow.resent, flow.received, flow.marked) = (0, 0, 0, 0);
            (flow.bytes, flow.payload, flow.carried, flow.reached) = (0, 0, 0, 0);
            (flow.active, flow.last_second) = (0, None);
        }
    }

    /// In the order in which they came.
    pub fn all(&self) -> &[FlowCounts] {
        &self.all
    }
}

/// Of two places in the sequence space, which wraps.
fn is_after(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::TCP;
    use crate::store::Store;
    use crate::store::tests::large;
    use crate::tun::VIRTIO;

    /// A TCP segment of 100 bytes from one of many hosts.
    fn segment(host: u32, seq: u32) -> Vec<u8> {
        let (_, mut ip) = large(4, &[1; 100], 100);
        ip[12..16].copy_from_slice(&host.to_be_bytes());
        ip[24..28].copy_from_slice(&seq.to_be_bytes());
        ip
    }

    /// Packets that come and are delivered.
    fn carried(packets: impl Iterator<Item = Vec<u8>>) -> Flows {
        let (mut flows, mut store) = (Flows::default(), Store::default());
        for ip in packets {
            let (block, layout) = store.keep([0; VIRTIO], &ip).unwrap();
            let flow = flows.place(&layout);
            flows.arrives(flow, store.block(block));
            let arrived = Time::ZERO;
            let size = ip.len() as u16;
            let slot = Slot { arrived, number: 0, block, part: 0, size, flow, hash: 0, host: 0, traffic_class: 0 };
            flows.delivers(&slot, 1, store.block(block), arrived);
            store.release(block, 1);
        }
        flows
    }

    #[test]
    fn the_table_of_flows_is_bounded_and_the_last_counts_all_others() {
        let flows = carried((0..MOST as u32 + 500).map(|host| segment(host, host << 16)));
        assert_eq!((flows.all.len(), flows.places.len()), (MOST, MOST - 1));
        let [.., told_apart, others] = &flows.all[..] else { panic!("{MOST} flows") };
        assert_eq!((told_apart.tuple.protocol, told_apart.payload), (TCP, 100));
        assert_eq!((others.tuple, others.received, others.resent), (FiveTuple::default(), 501, 0));
        assert_eq!(others.payload, 501 * 100, "sequence numbers of many connections are not one sequence");
    }

    #[test]
    fn a_leap_of_the_sequence_numbers_is_no_payload() {
        let leap = carried([0, 100, 1 << 30, (1 << 30) + 100].into_iter().map(|seq| segment(1, seq)));
        assert_eq!(leap.all[0].payload, 400);
        let hole = carried([0, 200, 100, 200].into_iter().map(|seq| segment(1, seq)));
        assert_eq!(hole.all[0].payload, 300, "one was lost and sent again, one came twice");
    }
}
