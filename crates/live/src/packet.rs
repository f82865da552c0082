//! IPv4 and IPv6 packets as they come from an interface: whose they are, and their ECN field.
//!
//! Total: any bytes give an answer, none a panic.

use aqmlab_aqm::Ecn;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// Protocol numbers (IANA).
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;

/// Port of HTTP/3, over QUIC (RFC 9114).
const HTTPS: u16 = 443;

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// The five fields that tell flows apart: addresses, protocol, ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FiveTuple {
    /// IPv4 addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2).
    pub source: [u8; 16],
    /// As `source`.
    pub destination: [u8; 16],
    /// Of the transport.
    pub protocol: u8,
    /// Source and destination; 0 where there are none, as in fragments.
    pub ports: [u16; 2],
}

impl FiveTuple {
    /// It is of UDP, and none of the fragments, in which headers cannot be told from the rest.
    pub fn has_datagrams(&self) -> bool {
        self.protocol == UDP && self.ports != [0, 0]
    }

    /// It may be a transfer: TCP, or QUIC, which UDP is at a port of HTTPS.
    pub fn may_transfer(&self) -> bool {
        self.protocol == TCP || (self.protocol == UDP && self.ports.contains(&HTTPS))
    }

    /// FNV-1a, 32 bits, over all of it.
    pub fn hash(&self) -> u32 {
        let ports = self.ports.iter().flat_map(|port| port.to_be_bytes());
        fnv(self.source.into_iter().chain(self.destination).chain([self.protocol]).chain(ports))
    }

    /// The same over the address that sent it.
    pub fn host(&self) -> u32 {
        fnv(self.source.into_iter())
    }
}

fn fnv(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

impl fmt::Display for FiveTuple {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = |bytes: [u8; 16]| IpAddr::V6(Ipv6Addr::from(bytes)).to_canonical();
        let [from, to] = self.ports;
        let [source, destination] =
            [(self.source, from), (self.destination, to)].map(|(bytes, port)| SocketAddr::new(address(bytes), port));
        let protocol = match self.protocol {
            TCP => "tcp",
            UDP => "udp",
            1 | 58 => "icmp",
            other => return write!(f, "{source} > {destination} protocol {other}"),
        };
        write!(f, "{source} > {destination} {protocol}")
    }
}

/// The offsets of a packet's parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// 4 or 6.
    pub version: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Its flow.
    pub tuple: FiveTuple,
    /// Offset of the transport's header.
    pub transport: usize,
    /// Offset of the payload: behind the header of TCP or UDP, at `transport` for other protocols.
    pub payload: usize,
    /// It is a part of a larger packet.
    pub is_fragment: bool,
}

impl Layout {
    /// Reads the headers; `None` if the bytes are no IP packet.
    pub fn of(ip: &[u8]) -> Option<Self> {
        match ip.first()? >> 4 {
            4 => Self::of_v4(ip),
            6 => Self::of_v6(ip),
            _ => None,
        }
    }

    fn of_v4(ip: &[u8]) -> Option<Self> {
        let header = usize::from(ip[0] & 15) * 4;
        if header < 20 || ip.len() < header {
            return None;
        }
        let is_fragment = word(ip, 6)? & 0x3fff != 0;
        let mapped = |at: usize| {
            let mut address = [0; 16];
            address[10..12].fill(0xff);
            address[12..].copy_from_slice(&ip[at..at + 4]);
            address
        };
        Some(Self::with_transport(ip, 4, ip[1], mapped(12), mapped(16), ip[9], header, is_fragment))
    }

    fn of_v6(ip: &[u8]) -> Option<Self> {
        let (source, destination) = (ip.get(8..24)?.try_into().ok()?, ip.get(24..40)?.try_into().ok()?);
        let traffic_class = ip[0] << 4 | ip[1] >> 4;
        let (mut next, mut at, mut is_fragment) = (ip[6], 40, false);
        while let Some([following, length]) = ip.get(at..at + 2) {
            at += match next {
                HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => (usize::from(*length) + 1) * 8,
                AUTHENTICATION => (usize::from(*length) + 2) * 4,
                FRAGMENT => {
                    is_fragment |= word(ip, at + 2).is_some_and(|word| word & 0xfff9 != 0);
                    8
                }
                _ => break,
            };
            next = *following;
        }
        Some(Self::with_transport(ip, 6, traffic_class, source, destination, next, at.min(ip.len()), is_fragment))
    }

    #[allow(clippy::too_many_arguments)] // the fields, from either version
    fn with_transport(
        ip: &[u8],
        version: u8,
        traffic_class: u8,
        source: [u8; 16],
        destination: [u8; 16],
        protocol: u8,
        transport: usize,
        is_fragment: bool,
    ) -> Self {
        let has_ports = !is_fragment && matches!(protocol, TCP | UDP | 33 | 132 | 136); // DCCP, SCTP, UDP-Lite
        let port = |at| if has_ports { word(ip, transport + at).unwrap_or(0) } else { 0 };
        let header = match protocol {
            _ if is_fragment => 0,
            TCP => ip.get(transport + 12).map_or(0, |offset| usize::from(offset >> 4) * 4),
            UDP => 8,
            _ => 0,
        };
        let tuple = FiveTuple { source, destination, protocol, ports: [port(0), port(2)] };
        let payload = (transport + header).min(ip.len());
        Self { version, traffic_class, tuple, transport, payload, is_fragment }
    }

    /// The sequence number of a TCP segment.
    pub fn seq(&self, ip: &[u8]) -> Option<u32> {
        let at = self.transport + 4;
        (self.tuple.protocol == TCP && !self.is_fragment).then_some(())?;
        Some(u32::from_be_bytes(ip.get(at..at + 4)?.try_into().ok()?))
    }

    /// It goes to a group of hosts, not to one.
    pub fn is_multicast(&self) -> bool {
        let to = &self.tuple.destination;
        match self.version {
            4 => to[12] >> 4 == 0xe || to[12..] == [255; 4],
            _ => to[0] == 0xff,
        }
    }
}

/// The two bytes from `at` on.
pub fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// The ECN field of a traffic class.
pub fn ecn(traffic_class: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(traffic_class & 3)]
}

/// Writes the traffic class of an IP packet; in IPv4 updates the checksum by RFC 1624: HC' = ~(~HC + ~m + m').
pub fn set_traffic_class(ip: &mut [u8], class: u8) {
    match ip {
        [first, second, ..] if *first >> 4 == 6 => {
            *first = 0x60 | class >> 4;
            *second = class << 4 | *second & 15;
        }
        [first, old, rest @ ..] if *first >> 4 == 4 && rest.len() >= 10 => {
            let before = u16::from_be_bytes([*first, *old]);
            let after = u16::from_be_bytes([*first, class]);
            *old = class;
            let sum = u16::from_be_bytes([rest[8], rest[9]]);
            let sum = !fold(u64::from(!sum) + u64::from(!before) + u64::from(after));
            rest[8..10].copy_from_slice(&sum.to_be_bytes());
        }
        _ => {}
    }
}

/// A one's complement sum in 16 bits.
pub fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The one's complement sum of bytes in words (RFC 1071), neither folded nor inverted.
pub fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0)));
    words.sum()
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::cases::config;
    use proptest::prelude::*;

    /// An IPv4 header of 20 bytes with a right checksum, then `rest`.
    pub fn v4(traffic_class: u8, protocol: u8, rest: &[u8]) -> Vec<u8> {
        let [high, low] = ((20 + rest.len()) as u16).to_be_bytes();
        let mut ip =
            vec![0x45, traffic_class, high, low, 0, 7, 0x40, 0, 64, protocol, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2];
        let checksum = !fold(sum(&ip));
        ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        [&ip[..], rest].concat()
    }

    /// An IPv6 header, then `rest`, which begins with a header of kind `next`.
    pub fn v6(traffic_class: u8, next: u8, rest: &[u8]) -> Vec<u8> {
        let [high, low] = (rest.len() as u16).to_be_bytes();
        let mut ip = vec![0x60 | traffic_class >> 4, traffic_class << 4, 0, 0, high, low, next, 64];
        ip.extend([0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        ip.extend([0x20, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
        [&ip[..], rest].concat()
    }

    /// From port 4660 to 22136.
    const PORTS: [u8; 8] = [0x12, 0x34, 0x56, 0x78, 0, 8, 0, 0];

    #[test]
    fn ports_are_found_behind_every_extension_header() {
        // Hop-by-hop of 8 bytes, routing of 16, authentication of (2 + 2) * 4 = 16, destination options of 8: 40 + 48.
        let hop = [ROUTING, 0, 0, 0, 0, 0, 0, 0];
        let routing = [[AUTHENTICATION, 1, 0, 0, 0, 0, 0, 0], [0; 8]].concat();
        let authentication = [[DESTINATION_OPTIONS, 2, 0, 0, 0, 0, 0, 0], [0; 8]].concat();
        let options = [UDP, 0, 0, 0, 0, 0, 0, 0];
        let ip = v6(0, HOP_BY_HOP, &[&hop[..], &routing, &authentication, &options, &PORTS].concat());
        let layout = Layout::of(&ip).unwrap();
        assert_eq!((layout.transport, layout.payload, layout.tuple.protocol), (88, 96, UDP));
        assert_eq!(layout.tuple.to_string(), "[2001:2::1]:4660 > [2001:2::2]:22136 udp");
        let plain = Layout::of(&v4(0, UDP, &PORTS)).unwrap();
        assert_eq!(plain.tuple.to_string(), "198.18.0.1:4660 > 198.18.0.2:22136 udp");
    }

    #[test]
    fn all_fragments_of_a_packet_are_one_flow() {
        let (mut first, mut last) = (v4(0, UDP, &PORTS), v4(0, UDP, &[9; 8]));
        (first[6], last[7]) = (0x20, 1); // more fragments; an offset of 8 bytes
        let [first, last] = [first, last].map(|ip| Layout::of(&ip).unwrap());
        assert!(first.is_fragment && last.is_fragment && first.tuple == last.tuple);
        let part = |offset: u8, rest: &[u8]| v6(0, FRAGMENT, &[&[UDP, 0, 0, offset, 0, 0, 0, 1][..], rest].concat());
        let [first, last, only] =
            [part(1, &PORTS), part(8, &[9; 8]), part(0, &PORTS)].map(|ip| Layout::of(&ip).unwrap());
        assert!(first.is_fragment && last.is_fragment && first.tuple == last.tuple);
        assert!(!only.is_fragment && only.tuple.ports == [0x1234, 0x5678]);
    }

    #[test]
    fn groups_of_hosts_are_known() {
        let to = |address: [u8; 4]| {
            let mut ip = v4(0, UDP, &PORTS);
            ip[16..20].copy_from_slice(&address);
            Layout::of(&ip).unwrap().is_multicast()
        };
        assert_eq!([[224, 0, 0, 1], [239, 1, 2, 3], [255; 4], [198, 18, 0, 2]].map(to), [true, true, true, false]);
        let mut ip = v6(0, UDP, &PORTS);
        ip[24] = 0xff;
        assert!(Layout::of(&ip).unwrap().is_multicast());
    }

    #[test]
    fn every_traffic_class_can_be_written_and_the_checksum_stays_right() {
        for (before, after) in (0..=255).flat_map(|before| [0, 1, 2, 3, 0xb8, 0xff].map(|after| (before, after))) {
            let mut ip = v4(before, UDP, &PORTS);
            set_traffic_class(&mut ip, after);
            assert_eq!((fold(sum(&ip[..20])), ip[1]), (0xffff, after), "RFC 1071: all ones");
            let mut ip = v6(before, UDP, &PORTS);
            set_traffic_class(&mut ip, after);
            assert_eq!(ip, v6(after, UDP, &PORTS));
        }
    }

    #[test]
    fn what_is_no_packet_is_none() {
        assert_eq!([&[][..], &[0x45; 19], &[0x44; 40], &[0x60; 39], &[0x75; 60]].map(Layout::of), [None; 5]);
    }

    proptest! {
        #![proptest_config(config(5000))]
        #[test]
        fn any_bytes_give_an_answer(mut bytes in prop::collection::vec(any::<u8>(), 0..200), version in 0u8..16, next in any::<u8>()) {
            if let Some(first) = bytes.first_mut() {
                *first = version << 4 | *first & 15;
            }
            if let Some(protocol) = bytes.get_mut(6) {
                *protocol = next;
            }
            if let Some(layout) = Layout::of(&bytes) {
                prop_assert!(layout.transport <= layout.payload.max(layout.transport) && layout.payload <= bytes.len());
                layout.seq(&bytes);
                layout.tuple.to_string();
            }
            set_traffic_class(&mut bytes, next);
        }
    }
}
