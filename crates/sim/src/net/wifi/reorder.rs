//! The reorder buffer of a receiver: what arrives waits for what was sent before it.

use crate::net::packet::Packet;
use std::collections::VecDeque;

/// An MPDU of the window.
#[derive(Clone, Copy, Debug)]
enum Slot {
    /// It has not arrived yet.
    Expected,
    Arrived(Packet),
    /// Its packet has gone on, or its sender has given it up, and says so.
    Over,
}

/// The packets under way from one radio to another, from the first MPDU that is expected on.
#[derive(Clone, Debug, Default)]
pub struct Reorder {
    /// Sequence number of the first.
    first: u32,
    slots: VecDeque<Slot>,
}

impl Reorder {
    /// MPDUs of the window, from the first that is expected on.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// One more MPDU is sent; returns its sequence number.
    pub fn expect(&mut self) -> u32 {
        self.slots.push_back(Slot::Expected);
        self.first.wrapping_add(self.len() - 1)
    }

    /// An MPDU arrives, or is given up without its packet.
    pub fn resolve(&mut self, sequence: u32, packet: Option<Packet>) {
        let at = sequence.wrapping_sub(self.first) as usize;
        self.slots[at] = packet.map_or(Slot::Over, Slot::Arrived);
    }

    /// Packets go on that wait for nothing before them.
    pub fn release(&mut self, received: &mut Vec<Packet>) {
        for slot in &mut self.slots {
            match std::mem::replace(slot, Slot::Over) {
                Slot::Expected => {
                    *slot = Slot::Expected;
                    return;
                }
                Slot::Arrived(packet) => received.push(packet),
                Slot::Over => {}
            }
        }
    }

    /// The sender has learnt what has arrived: its window moves on.
    pub fn advance(&mut self) {
        while let Some(Slot::Over) = self.slots.front() {
            self.slots.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::{AnnouncedRtt, Data, FlowTag};
    use aqmlab_aqm::Ecn;
    use aqmlab_core::Time;

    fn packet(flow: u32) -> Packet {
        let data = Data {
            sent_at: Time::ZERO,
            seq: 0,
            rtt: AnnouncedRtt::default(),
            ecn: Ecn::NotEct,
            is_cwr: false,
            is_push: false,
            is_resent: false,
        };
        Packet::of_data(FlowTag { flow, ..FlowTag::default() }, 1500, data)
    }

    #[test]
    fn what_arrives_waits_for_what_was_sent_before() {
        let (mut window, mut received) = (Reorder::default(), Vec::new());
        let sequences = [window.expect(), window.expect(), window.expect(), window.expect()];
        assert_eq!(sequences, [0, 1, 2, 3]);
        window.resolve(1, Some(packet(1)));
        window.resolve(3, Some(packet(3)));
        window.release(&mut received);
        assert!(received.is_empty(), "0 is missing");
        window.resolve(0, Some(packet(0)));
        window.release(&mut received);
        assert_eq!(received.drain(..).map(|packet| packet.flow).collect::<Vec<_>>(), [0, 1]);
        assert_eq!(window.len(), 4, "the sender does not know yet");
        window.resolve(2, None);
        window.release(&mut received);
        window.advance();
        assert_eq!((received[0].flow, window.len(), window.expect()), (3, 0, 4));
    }
}
