//! Packets on their way through the hub: where each has been, which were dropped, and which had been sent before.
//!
//! No queue that we set up changes the order of a flow's packets, so that a packet is known to be dropped when a later one of its flow
//! leaves the queue. Should one leave after all, which DualPI2 may do to a flow that is not always ECN-capable, that is taken back.

use crate::sockets::Name;
use aqmlab_core::{Span, Time};
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};
use std::net::Ipv4Addr;

/// Packets older than this are lost.
const OLDEST: Span = Span::from_secs(60);
/// Packets that are kept before the old ones are looked for.
const MANY: usize = 1 << 16;

/// A packet by its headers.
pub struct Sighting {
    /// Hash that tells it from all others.
    key: u64,
    /// Hash of its addresses and ports.
    flow: u64,
    sender: Name,
    /// Payload, bytes.
    length: u32,
    /// Sequence number, of a TCP segment.
    seq: Option<u32>,
    is_syn: bool,
    /// It has a congestion mark.
    pub is_marked: bool,
}

/// A packet in the hub.
struct Flight {
    entered: Time,
    /// When it came to the queue that it is in.
    joined: Time,
    /// When its segment was sent first, if that was before.
    first: Option<Time>,
    /// Queues still to leave.
    ahead: u8,
    is_dropped: bool,
    /// It is a datagram, a segment with data, or a SYN.
    counts: bool,
    sender: Name,
}

/// A packet that reaches its receiver.
pub struct Landing {
    /// The time at which it came to the hub.
    pub entered: Time,
    /// Its segment had been sent before.
    pub is_resent: bool,
    /// The time at which its segment was sent first; `None` of a duplicate.
    pub first: Option<Time>,
}

/// All packets in the hub.
#[derive(Default)]
pub struct Flights {
    under_way: Hashed<Flight>,
    /// Those that wait at the n-th last queue of their flow, in the order in which they came.
    waiting: Hashed<VecDeque<u64>>,
    segments: Hashed<Segments>,
    /// Packets dropped before metrics began to count that are not known yet, and when they began.
    unknown: u64,
    counts_from: Time,
    /// The sender of a packet that was dropped, and 1; or -1 for one that was not, after all.
    pub drops: Vec<(Name, i64)>,
}

/// Segments of a flow that have been sent and not all received: the sequence number of each, when it was sent first, and whether it
/// has arrived.
#[derive(Default)]
struct Segments {
    sent: VecDeque<(u32, Time, bool)>,
    next: u32,
}

type Hashed<T> = HashMap<u64, T, BuildHasherDefault<Taken>>;

/// Keys are hashes already.
#[derive(Default)]
struct Taken(u64);

impl Hasher for Taken {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes);
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

impl Flights {
    /// A packet comes to the hub, with so many queues ahead.
    pub fn enter(&mut self, packet: &Sighting, queues: usize, now: Time) {
        let first = self.note_sent(packet, now);
        let (key, ahead, counts) = (packet.key, queues as u8, packet.length > 0 || packet.is_syn);
        let sender = packet.sender;
        let flight = Flight { entered: now, joined: now, first, ahead, is_dropped: false, counts, sender };
        self.under_way.insert(key, flight);
        if ahead > 0 {
            self.waiting.entry(place(packet.flow, ahead)).or_default().push_back(key);
        }
    }

    /// It leaves the wire of a link, for the next queue if there is one.
    pub fn go_on(&mut self, packet: &Sighting, now: Time) {
        let Some(flight) = self.under_way.get_mut(&packet.key) else { return };
        flight.joined = now;
        if flight.ahead > 0 {
            self.waiting.entry(place(packet.flow, flight.ahead)).or_default().push_back(packet.key);
        }
    }

    /// It leaves a queue: how long it was there.
    pub fn leave(&mut self, packet: &Sighting, now: Time) -> Option<Span> {
        let flight = self.under_way.get_mut(&packet.key)?;
        let (sojourn, at) = (now.since(flight.joined), place(packet.flow, flight.ahead));
        flight.ahead = flight.ahead.saturating_sub(1);
        if std::mem::take(&mut flight.is_dropped) {
            let sender = flight.sender;
            self.drops.push((sender, -1));
            return Some(sojourn);
        }
        while let Some(key) = self.waiting.get_mut(&at).and_then(VecDeque::pop_front).filter(|key| *key != packet.key) {
            self.drop_packet(key);
        }
        Some(sojourn)
    }

    fn drop_packet(&mut self, key: u64) {
        let Some(flight) = self.under_way.get_mut(&key) else { return };
        if flight.joined < self.counts_from && self.unknown > 0 {
            self.unknown -= 1;
        } else if flight.counts {
            flight.is_dropped = true;
            self.drops.push((flight.sender, 1));
        }
    }

    /// It reaches its receiver; `None` of what is not known, or is an ACK.
    pub fn arrive(&mut self, packet: &Sighting) -> Option<Landing> {
        let flight = self.under_way.remove(&packet.key)?;
        if packet.length == 0 {
            return None;
        }
        let is_new = packet.seq.is_none_or(|seq| self.segments.get_mut(&packet.flow).is_some_and(|of| of.arrive(seq)));
        let first = flight.first.filter(|_| is_new);
        Some(Landing { entered: flight.entered, is_resent: flight.first.is_some(), first })
    }

    /// Metrics count from now; so many packets wait in all queues.
    pub fn start(&mut self, waiting: u64, now: Time) {
        let there: usize = self.waiting.values().map(VecDeque::len).sum();
        (self.unknown, self.counts_from) = ((there as u64).saturating_sub(waiting), now);
        self.drops.clear();
    }

    /// Forgets packets that are lost.
    pub fn tidy(&mut self, now: Time) {
        if self.under_way.len() > MANY {
            self.under_way.retain(|_, flight| now.since(flight.entered) < OLDEST);
            self.waiting.retain(|_, keys| !keys.is_empty());
            self.segments.retain(|_, segments| !segments.sent.is_empty());
        }
    }

    /// When the segment was sent first, if that was before.
    fn note_sent(&mut self, packet: &Sighting, now: Time) -> Option<Time> {
        if packet.is_syn {
            self.segments.remove(&packet.flow); // another connection
        }
        let seq = packet.seq.filter(|_| packet.length > 0)?;
        self.segments.entry(packet.flow).or_default().send(seq, packet.length, now)
    }
}

impl Segments {
    /// A segment is sent: when it was sent first, if that was before.
    fn send(&mut self, seq: u32, length: u32, now: Time) -> Option<Time> {
        let is_new = self.next == 0 || !is_before(seq, self.next);
        if is_new {
            self.sent.push_back((seq, now, false));
            self.next = seq.wrapping_add(length);
            return None;
        }
        Some(self.find(seq).map_or(now, |i| self.sent[i].1))
    }

    /// A segment arrives: it had not arrived before.
    fn arrive(&mut self, seq: u32) -> bool {
        let Some(i) = self.find(seq) else { return false };
        let is_new = !std::mem::replace(&mut self.sent[i].2, true);
        while self.sent.front().is_some_and(|(_, _, has_arrived)| *has_arrived) {
            self.sent.pop_front();
        }
        is_new
    }

    /// The place of the segment that has this byte.
    fn find(&self, seq: u32) -> Option<usize> {
        self.sent.partition_point(|(first, ..)| !is_before(seq, *first)).checked_sub(1)
    }
}

/// In the order of sequence numbers, which begin again.
fn is_before(seq: u32, other: u32) -> bool {
    (seq.wrapping_sub(other) as i32) < 0
}

/// A flow's queue, so many before the last one.
fn place(flow: u64, ahead: u8) -> u64 {
    flow.wrapping_add(ahead.into())
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325;
    bytes.iter().fold(start, |key: u64, byte| (key ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

impl Sighting {
    /// From its headers; `None` if it is neither TCP nor UDP over IPv4.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        const TCP: u8 = 6;
        const UDP: u8 = 17;
        const SYN: u8 = 2;
        let header = usize::from(bytes.first()? & 15) * 4;
        let protocol = *bytes.get(9)?;
        if bytes[0] >> 4 != 4 || ![TCP, UDP].contains(&protocol) {
            return None;
        }
        let total = usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?));
        let transport = bytes.get(header..header + 8)?;
        let is_tcp = protocol == TCP;
        let own = if is_tcp { usize::from(bytes.get(header + 12)? >> 4) * 4 } else { 8 };
        // The identification counts up in each connection, so that a segment that is sent again is another packet.
        let ends = [&bytes[12..20], &transport[..4]].concat();
        let named = [&bytes[4..6], &ends, &transport[4..8]].concat();
        let [a, b, c, d] = bytes[12..16].try_into().ok()?;
        Some(Self {
            key: hash(&named),
            flow: hash(&ends),
            sender: (Ipv4Addr::new(a, b, c, d), u16::from_be_bytes([transport[0], transport[1]])),
            length: total.saturating_sub(header + own) as u32,
            seq: is_tcp.then(|| u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]])),
            is_syn: is_tcp && bytes.get(header + 13)? & SYN != 0,
            is_marked: bytes[1] & 3 == 3,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDER: Name = (Ipv4Addr::new(10, 0, 0, 1), 40000);

    fn ms(number: u64) -> Time {
        Time::ZERO + Span::from_millis(number)
    }

    /// A segment of 1000 bytes, the n-th, as the `key`-th packet of its flow.
    fn segment(key: u64, n: u32) -> Sighting {
        let seq = Some(1 + 1000 * n);
        Sighting { key, flow: 1 << 40, sender: SENDER, length: 1000, seq, is_syn: false, is_marked: false }
    }

    #[test]
    fn a_packet_is_dropped_if_a_later_one_leaves_first() {
        let mut flights = Flights::default();
        (0..4).for_each(|i| flights.enter(&segment(i, i as u32), 1, ms(i)));
        assert_eq!(flights.leave(&segment(0, 0), ms(10)), Some(Span::from_millis(10)));
        assert!(flights.drops.is_empty());
        assert_eq!(flights.leave(&segment(3, 3), ms(12)), Some(Span::from_millis(9)));
        assert_eq!(flights.drops, [(SENDER, 1), (SENDER, 1)]);
        flights.leave(&segment(2, 2), ms(13));
        assert_eq!(flights.drops.last(), Some(&(SENDER, -1)), "it was in another queue of the discipline");
    }

    #[test]
    fn what_was_dropped_before_metrics_count_does_not_count() {
        let mut flights = Flights::default();
        (0..3).for_each(|i| flights.enter(&segment(i, i as u32), 1, ms(i)));
        flights.start(2, ms(5)); // three came and two wait: one was dropped
        flights.leave(&segment(1, 1), ms(6));
        assert!(flights.drops.is_empty());
        flights.enter(&segment(3, 3), 1, ms(7));
        flights.leave(&segment(3, 3), ms(8));
        assert_eq!(flights.drops, [(SENDER, 1)]);
    }

    #[test]
    fn a_segment_that_is_sent_again_counts_from_its_first_transmission() {
        let mut flights = Flights::default();
        (0..3).for_each(|i| flights.enter(&segment(i, i as u32), 1, ms(i)));
        flights.enter(&segment(7, 1), 1, ms(40));
        let first = |arrival: Option<Landing>| arrival.map(|arrival| (arrival.is_resent, arrival.first));
        assert_eq!(first(flights.arrive(&segment(0, 0))), Some((false, None)));
        assert_eq!(first(flights.arrive(&segment(7, 1))), Some((true, Some(ms(1)))));
        flights.enter(&segment(8, 1), 1, ms(50));
        assert_eq!(first(flights.arrive(&segment(8, 1))), Some((true, None)), "a duplicate");
    }
}
