use crate::{PacketView, QueueView};
use aqmlab_core::{Span, Time};

/// The round-trip times of flows, by the times at which their packets arrive.
///
/// A flow sends its SYN and waits for the answer, then its first window and waits: a round trip lies between a packet and
/// the first one after a gap (both cases: Jiang & Dovrolis, "Passive estimation of TCP round-trip times", ACM CCR 32(3),
/// 2002). The shorter of the two counts, for a loss makes one longer. It is counted from when the packet leaves this queue,
/// so that this queue has no part in it.
#[derive(Clone)]
pub(super) struct RoundTrips(Box<[Option<Flow>]>);

#[derive(Clone, Copy)]
struct Flow {
    hash: u32,
    /// Round trips that have been measured since it began.
    measured: u8,
    /// Packets of the present round trip.
    packets: u8,
    /// Time at which the first of them left the queue.
    left: Time,
    seen: Time,
    rtt: Option<Span>,
}

impl RoundTrips {
    /// Flows that have a place.
    const SLOTS: usize = 4096;

    /// Knows no flow.
    pub(super) fn new() -> Self {
        Self(vec![None; Self::SLOTS].into())
    }

    /// Takes note of an arriving packet, and returns the round-trip time of its flow: `None` if it is not known yet or
    /// another flow has the place.
    pub(super) fn note(&mut self, packet: &PacketView, queue: &QueueView, now: Time) -> Option<Span> {
        let hash = packet.flow_hash;
        let slot = hash.wrapping_mul(0x9E37_79B9) >> (32 - Self::SLOTS.ilog2()); // multiplicative hashing
        let place = &mut self.0[slot as usize];
        match place {
            Some(flow) if now.since(flow.seen) >= Flow::SILENCE => {
                let rtt = flow.rtt.filter(|_| flow.hash == hash);
                *flow = Flow { rtt, ..Flow::begin(hash, queue, now) };
                rtt
            }
            Some(flow) if flow.hash == hash => flow.go_on(queue, now),
            Some(_) => None,
            None => {
                *place = Some(Flow::begin(hash, queue, now));
                None
            }
        }
    }
}

impl Flow {
    /// The SYN's, and that of the first window.
    const ROUND_TRIPS: u8 = 2;
    /// A shorter pause is not a wait for an answer.
    const GAP: Span = Span::from_millis(10);
    /// After so many packets without a gap the answers must have come: the round trip is shorter than a gap.
    const PACKETS: u8 = 32;
    /// After a silence of TCP's first timeout, 1 s (RFC 6298), a flow starts over: it has waited for a timeout, not for an
    /// answer. Longer round trips cannot be measured.
    const SILENCE: Span = Span::from_secs(1);

    fn begin(hash: u32, queue: &QueueView, now: Time) -> Self {
        Self { hash, measured: 0, packets: 1, left: leaves(queue, now), seen: now, rtt: None }
    }

    fn go_on(&mut self, queue: &QueueView, now: Time) -> Option<Span> {
        if self.measured < Self::ROUND_TRIPS {
            if now.since(self.seen) >= Self::GAP && now > self.left {
                self.measure(now.since(self.left));
                (self.packets, self.left) = (1, leaves(queue, now));
            } else if self.packets < Self::PACKETS {
                self.packets += 1;
            } else {
                if self.measured == 0 {
                    self.measure(Self::GAP);
                }
                self.measured = Self::ROUND_TRIPS;
            }
        }
        self.seen = now;
        self.rtt
    }

    /// The first measurement after a start replaces what was known before.
    fn measure(&mut self, rtt: Span) {
        self.rtt = Some(if self.measured == 0 { rtt } else { self.rtt.map_or(rtt, |known| known.min(rtt)) });
        self.measured += 1;
    }
}

/// Departure time of a packet that joins the queue now.
fn leaves(queue: &QueueView, now: Time) -> Time {
    now + Span::from_seconds(8.0 * queue.bytes as f64 / queue.rate.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;

    /// Notes packets of a flow at these milliseconds while `waiting` packets of 1 ms wait; what is told of the last, in ms.
    fn after(round_trips: &mut RoundTrips, flow_hash: u32, waiting: u32, arrivals: &[u64]) -> Option<f64> {
        let packet = PacketView { flow_hash, ..bench::packet() };
        let note = |&ms| round_trips.note(&packet, &bench::queue(waiting), Time::ZERO + Span::from_millis(ms));
        arrivals.iter().map(note).last().flatten().map(|rtt| rtt.seconds() * 1e3)
    }

    #[test]
    fn a_round_trip_lies_between_a_packet_and_the_first_gap() {
        let mut round_trips = RoundTrips::new();
        // A SYN, its answer after 40 ms, a window of three within 9 ms and its answer after 45; later gaps tell nothing.
        assert_eq!(after(&mut round_trips, 1, 0, &[0]), None);
        assert_eq!(after(&mut round_trips, 1, 0, &[40]), Some(40.0));
        assert_eq!(after(&mut round_trips, 1, 0, &[43, 49, 85, 100, 300]), Some(40.0));
        // Without a SYN: two windows.
        assert_eq!(after(&mut round_trips, 2, 0, &[100, 103, 109]), None);
        assert_eq!(after(&mut round_trips, 2, 0, &[180, 181, 270]), Some(80.0));
    }

    #[test]
    fn the_shorter_of_two_counts() {
        // The first window is lost at a full queue and sent again after 700 ms; only then is there an answer.
        assert_eq!(after(&mut RoundTrips::new(), 1, 0, &[0, 700]), Some(700.0));
        assert_eq!(after(&mut RoundTrips::new(), 1, 0, &[0, 700, 760, 780]), Some(60.0));
    }

    #[test]
    fn this_queue_has_no_part_in_it() {
        let mut round_trips = RoundTrips::new();
        // The first packet leaves at 30; what comes before cannot be its answer. The second one leaves at 100.
        assert_eq!(after(&mut round_trips, 1, 30, &[0, 20]), None);
        assert_eq!(after(&mut round_trips, 1, 30, &[70]), Some(40.0));
        assert_eq!(after(&mut round_trips, 1, 30, &[95, 135]), Some(35.0));
    }

    #[test]
    fn many_packets_without_a_gap_have_a_short_round_trip() {
        let arrivals: Vec<u64> = (0..33).map(|i| 9 * i).collect();
        assert_eq!(after(&mut RoundTrips::new(), 1, 0, &arrivals[..32]), None);
        assert_eq!(after(&mut RoundTrips::new(), 1, 0, &arrivals), Some(10.0));
        // A SYN's round trip is not given up for a large first window.
        let (mut round_trips, arrivals) = (RoundTrips::new(), [90; 40]);
        assert_eq!(after(&mut round_trips, 1, 0, &[0]), None);
        assert_eq!(after(&mut round_trips, 1, 0, &arrivals), Some(90.0));
    }

    #[test]
    fn a_flow_starts_over_after_a_second_so_that_longer_round_trips_are_not_measured() {
        let mut round_trips = RoundTrips::new();
        // The SYN is lost on the way and sent again after 1 s; then an idle second, and longer round trips than before.
        assert_eq!(after(&mut round_trips, 1, 0, &[0, 1000]), None);
        assert_eq!(after(&mut round_trips, 1, 0, &[1050]), Some(50.0));
        assert_eq!(after(&mut round_trips, 1, 0, &[2050]), Some(50.0), "what is known stays");
        assert_eq!(after(&mut round_trips, 1, 0, &[2120, 2200]), Some(70.0));
        assert_eq!(after(&mut RoundTrips::new(), 1, 0, &[0, 999]), Some(999.0));
        assert_eq!(after(&mut RoundTrips::new(), 1, 0, &[0, 1000, 2100, 3200]), None);
    }

    #[test]
    fn a_place_is_one_flow_s_until_it_is_silent() {
        let mut round_trips = RoundTrips::new();
        let slot = |hash: u32| hash.wrapping_mul(0x9E37_79B9) >> 20;
        let alike = (2..).find(|hash| slot(*hash) == slot(1)).expect("4096 places");
        assert_eq!(after(&mut round_trips, 1, 0, &[0, 40]), Some(40.0));
        assert_eq!(after(&mut round_trips, alike, 0, &[50, 130]), None);
        assert_eq!(after(&mut round_trips, alike, 0, &[1040, 1120]), Some(80.0));
        assert_eq!(after(&mut round_trips, 1, 0, &[1130]), None);
    }
}
