//! Counts of each flow, told apart by addresses, protocol and ports.

use crate::packet::{FiveTuple, Layout};
use crate::store::{Block, Slot};
use aqmlab_core::Time;
use std::collections::HashMap;

/// Counts of a flow in one direction.
#[derive(Clone, Debug)]
pub struct FlowCounts {
    /// Its addresses, protocol and ports.
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
    last_second: u64,
    /// End of what has arrived, and of what has been delivered, of the sequence space.
    seen: Option<u32>,
    given: Option<u32>,
}

/// All flows of a direction.
#[derive(Default)]
pub struct Flows {
    places: HashMap<FiveTuple, u32>,
    all: Vec<FlowCounts>,
}

/// Flows that are told apart; those that come later count with the last.
const MOST: usize = 1 << 16;

impl Flows {
    /// The flow's index in the table.
    pub fn place(&mut self, layout: &Layout) -> u32 {
        if let Some(place) = self.places.get(&layout.tuple) {
            return *place;
        }
        if self.all.len() < MOST {
            let (tuple, arrived, resent, received, bytes, marked, payload) = (layout.tuple, 0, 0, 0, 0, 0, 0);
            let (active, last_second, seen, given) = (0, u64::MAX, None, None);
            let flow = FlowCounts {
                tuple,
                arrived,
                resent,
                received,
                bytes,
                marked,
                payload,
                active,
                last_second,
                seen,
                given,
            };
            self.all.push(flow);
        }
        let place = self.all.len() as u32 - 1;
        self.places.insert(layout.tuple, place);
        place
    }

    /// All parts of a block have reached the line.
    pub fn arrives(&mut self, place: u32, block: &Block) {
        let flow = &mut self.all[place as usize];
        flow.arrived += u64::from(block.parts());
        let (_, length) = block.payload(0, block.parts());
        if let (Some(seq), true) = (block.seq, length > 0) {
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
        let new = match block.seq {
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
        flow.payload += u64::from(new);
        let second = now.0 / 1_000_000_000_000;
        if second != flow.last_second {
            (flow.active, flow.last_second) = (flow.active + 1, second);
        }
    }

    /// Counts from now on.
    pub fn restart(&mut self) {
        for flow in &mut self.all {
            (flow.arrived, flow.resent, flow.received, flow.marked) = (0, 0, 0, 0);
            (flow.bytes, flow.payload, flow.active, flow.last_second) = (0, 0, 0, u64::MAX);
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
