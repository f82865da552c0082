//! A queue of real packets: bytes from outside, a real clock, marks in the IP header.
//!
//! `cargo run -p aqmlab-aqm --example live_queue`

use aqmlab_aqm::{AnyQueue, Carried, Ctx, Discipline, Ecn, Limit, QueueView, entry};
use aqmlab_core::{Rate, Span, Stream, Time};

/// An IPv4 or IPv6 packet as it came from an interface.
#[derive(Clone, Debug)]
struct Ip(Vec<u8>);

impl Ip {
    /// The eight bits of DSCP and ECN: the second byte of IPv4; in IPv6 the four bits after the version and four more.
    fn traffic_class(&self) -> u8 {
        if self.0[0] >> 4 == 4 { self.0[1] } else { self.0[0] << 4 | self.0[1] >> 4 }
    }
}

impl Carried for Ip {
    fn size(&self) -> u32 {
        self.0.len() as u32
    }
    /// FNV-1a over addresses, protocol and the first four bytes behind the header: the ports of TCP and UDP.
    fn flow_hash(&self) -> u32 {
        let (addresses, protocol, header) = match self.0[0] >> 4 {
            4 => (12..20, 9, usize::from(self.0[0] & 15) * 4),
            _ => (8..40, 6, 40),
        };
        let ports = self.0.iter().skip(header).take(4);
        let tuple = self.0[addresses].iter().chain([&self.0[protocol]]).chain(ports);
        tuple.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
    }
    fn flow(&self) -> u32 {
        self.flow_hash()
    }
    fn ecn(&self) -> Ecn {
        [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(self.traffic_class() & 3)]
    }
    fn dscp(&self) -> u8 {
        self.traffic_class() >> 2
    }
    /// Sets both ECN bits, and in IPv4 updates the header's checksum by RFC 1624: HC' = ~(~HC + ~m + m').
    fn mark(&mut self) {
        let ip = &mut self.0;
        if ip[0] >> 4 == 6 {
            ip[1] |= 3 << 4;
            return;
        }
        let (before, sum) = (u16::from_be_bytes([ip[0], ip[1]]), u16::from_be_bytes([ip[10], ip[11]]));
        ip[1] |= 3;
        let after = u16::from_be_bytes([ip[0], ip[1]]);
        let sum = u32::from(!sum) + u32::from(!before) + u32::from(after);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = !(((sum & 0xffff) + (sum >> 16)) as u16);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Real time as the queue counts it, from the start of the program on.
fn at(elapsed: std::time::Duration) -> Time {
    Time::ZERO + Span::from_seconds(elapsed.as_secs_f64())
}

/// A UDP datagram from 10.0.0.1:4660 to 10.0.0.2:22136 with these DSCP and ECN bits: what an interface would give.
fn datagram(traffic_class: u8) -> Ip {
    let mut ip = vec![0x45, traffic_class, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    let sum: u32 = ip.chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    ip[10..12].copy_from_slice(&(!((sum & 0xffff) + (sum >> 16)) as u16).to_be_bytes());
    ip.extend([0x12, 0x34, 0x56, 0x78, 0, 8, 0, 0]);
    Ip(ip)
}

#[allow(clippy::disallowed_methods)] // the edge to the real world: its clock becomes a time here and nowhere else
fn main() {
    let view = QueueView::empty(Rate(100e6), 100.0, 1000.0);
    let scheme = entry("l4s-step").and_then(|entry| entry.build("aqm", &[], &view).map_err(|why| why.to_string()));
    let mut queue: AnyQueue<Ip> = scheme.expect("a scheme of the catalogue").queue(view, Limit::Packets(1000), true, 1);
    let (started, mut rng) = (std::time::Instant::now(), Stream::new(1, "live", 0));
    for _ in 0..2 {
        queue.enqueue(datagram(1), &mut Ctx { now: at(started.elapsed()), rng: &mut rng });
    }
    std::thread::sleep(std::time::Duration::from_millis(2));
    while let Some((packet, since)) = queue.dequeue(&mut Ctx { now: at(started.elapsed()), rng: &mut rng }) {
        println!("{:?} after {:.6} s: {:02x?}", packet.ecn(), at(started.elapsed()).since(since).seconds(), packet.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of a correct header the one's complement sum is all ones (RFC 1071).
    fn sum(ip: &[u8]) -> u32 {
        let sum: u32 = ip[..20].chunks(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
        (sum & 0xffff) + (sum >> 16)
    }

    #[test]
    fn a_marked_ipv4_header_has_the_right_checksum() {
        for traffic_class in 0..=255 {
            let mut packet = datagram(traffic_class);
            let (dscp, hash) = (packet.dscp(), packet.flow_hash());
            assert_eq!((sum(&packet.0), dscp), (0xffff, traffic_class >> 2));
            packet.mark();
            assert_eq!((sum(&packet.0), packet.ecn()), (0xffff, Ecn::Ce), "{traffic_class}");
            assert_eq!((packet.dscp(), packet.flow_hash(), packet.size()), (dscp, hash, 28));
        }
    }

    #[test]
    fn ipv6_carries_its_bits_across_two_bytes() {
        // Version 6, traffic class 0b101_000_01: DSCP 40, ECT(1).
        let mut packet = Ip([&[0x6a, 0x10][..], &[0; 38]].concat());
        assert_eq!((packet.dscp(), packet.ecn()), (40, Ecn::Ect1));
        packet.mark();
        assert_eq!((packet.0[..2].to_vec(), packet.ecn()), (vec![0x6a, 0x30], Ecn::Ce));
    }

    /// All leave after five milliseconds; the step marks L4S packets that have waited longer than one.
    #[test]
    fn a_queue_hosts_bytes_and_marks_them() {
        let view = QueueView::empty(Rate(100e6), 100.0, 1000.0);
        let mut queue: AnyQueue<Ip> =
            entry("l4s-step").unwrap().build("aqm", &[], &view).unwrap().queue(view, Limit::Packets(9), true, 1);
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut Stream::new(1, "live", 0) };
        for traffic_class in [1, 0, 1] {
            queue.enqueue(datagram(traffic_class), cx);
        }
        cx.now = at(std::time::Duration::from_millis(5));
        let left: Vec<Ecn> = std::iter::from_fn(|| queue.dequeue(cx)).map(|(packet, _)| packet.ecn()).collect();
        assert_eq!(left, [Ecn::Ce, Ecn::NotEct, Ecn::Ect1], "the last leaves nothing behind: it is not marked");
        assert!(queue.accounts_balance() && queue.accounts().marked == 1);
    }
}
