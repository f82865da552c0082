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

const HOP_BY_HOP: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const DESTINATION_OPTIONS: u8 = 60;

/// What tells flows apart: addresses, protocol, ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tuple {
    /// IPv4 addresses are mapped into IPv6 (RFC 4291, section 2.5.5.2).
    pub source: [u8; 16],
    /// As `source`.
    pub destination: [u8; 16],
    /// Of the transport.
    pub protocol: u8,
    /// Source and destination; 0 where there are none, as in fragments.
    pub ports: [u16; 2],
}

impl Tuple {
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

impl fmt::Display for Tuple {
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

/// Where a packet's parts are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// 4 or 6.
    pub version: u8,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// Whose it is.
    pub tuple: Tuple,
    /// Where the transport's header begins.
    pub transport: usize,
    /// Where the payload begins: behind the header of TCP or UDP, at `transport` for other protocols.
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
        let tuple = Tuple { source, destination, protocol, ports: [port(0), port(2)] };
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
