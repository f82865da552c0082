//! The packets that wait: their bytes stay where they are while queues hold handles of them.
//!
//! A large segment crosses the device once, is cut before any scheme sees it, and is written as one again where its parts
//! leave together: every part is a packet of its own to the queue, and none of its bytes is copied.

use crate::packet::{Layout, TCP, UDP, ecn, fold, set_traffic_class, sum, word};
use crate::tun::VIRTIO;
use aqmlab_aqm::{Carried, Ecn};
use aqmlab_core::Time;
use aqmlab_sim::WirePacket;

/// A packet in the store, as queues see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The time at which it was read.
    pub arrived: Time,
    /// The number of packets before it.
    pub number: u32,
    /// The block with its bytes.
    pub block: u32,
    /// The index of its part of the block.
    pub part: u16,
    /// Bytes of IP.
    pub size: u16,
    /// Its flow in the table of flows.
    pub flow: u32,
    /// Hash of its tuple.
    pub hash: u32,
    /// Hash of the address that sent it.
    pub host: u32,
    /// DSCP and ECN.
    pub traffic_class: u8,
}

impl Carried for Slot {
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn flow_hash(&self) -> u32 {
        self.hash
    }
    fn host(&self) -> u32 {
        self.host
    }
    fn ecn(&self) -> Ecn {
        ecn(self.traffic_class)
    }
    fn dscp(&self) -> u8 {
        self.traffic_class >> 2
    }
    fn mark(&mut self) {
        self.traffic_class |= Ecn::Ce as u8;
    }
}

impl WirePacket for Slot {
    fn set_ecn(&mut self, ecn: Ecn) {
        self.traffic_class = self.traffic_class & !3 | ecn as u8;
    }
}

/// The way in which the bytes of a block are cut (virtio 1.2, section 5.1.6.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segmentation {
    /// Not at all.
    #[default]
    Whole,
    /// Into TCP segments.
    Tcp,
    /// Into datagrams.
    Udp,
}

const NEEDS_CHECKSUM: u8 = 1;
const GSO_TCP_V4: u8 = 1;
const GSO_TCP_V6: u8 = 4;
const GSO_UDP: u8 = 5;
const GSO_ECN: u8 = 0x80;

const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// The longest header that is written again for a part: IPv6 with extensions, and TCP with options.
const LONGEST_HEADER: usize = 256;

/// The bytes of one read: one packet, or a large segment.
#[derive(Clone, Debug, Default)]
pub struct Block {
    bytes: Vec<u8>,
    virtio: [u8; VIRTIO],
    cut: Segmentation,
    /// Bytes before the payload, of a block that is cut.
    header: usize,
    transport: usize,
    /// Payload of each part but the last.
    step: usize,
    parts: u16,
    /// Parts that have neither left nor been dropped.
    kept: u16,
    /// Sequence number of the first byte, over TCP.
    pub seq: Option<u32>,
    class: usize,
}

impl Block {
    /// The number of its packets.
    pub fn parts(&self) -> u16 {
        self.parts
    }

    /// The offset of the payload of parts, relative to that of the first, and its length.
    pub fn payload(&self, first: u16, count: u16) -> (usize, usize) {
        let all = self.bytes.len().saturating_sub(self.header);
        let from = (usize::from(first) * self.step).min(all);
        let to = (usize::from(first + count) * self.step).min(all);
        (from, to - from)
    }

    /// The payload of one part.
    pub fn datagram(&self, part: u16) -> &[u8] {
        let (from, length) = self.payload(part, 1);
        self.bytes.get(self.header + from..).map_or(&[], |rest| &rest[..length])
    }

    /// Bytes of IP of one part.
    pub fn size(&self, part: u16) -> usize {
        match self.cut {
            Segmentation::Whole => self.bytes.len(),
            _ => self.header + self.payload(part, 1).1,
        }
    }

    /// Reads how it is cut; `None` if that cannot be.
    fn lay(&mut self, layout: &Layout) -> Option<()> {
        let [flags, kind, _, _, low, high, ..] = self.virtio;
        let protocol = layout.tuple.protocol;
        (self.header, self.transport) = (layout.payload, layout.transport);
        self.cut = match (kind & !GSO_ECN, layout.version, protocol) {
            (0, _, _) => Segmentation::Whole,
            (GSO_TCP_V4, 4, TCP) | (GSO_TCP_V6, 6, TCP) => Segmentation::Tcp,
            (GSO_UDP, _, UDP) => Segmentation::Udp,
            _ => return None,
        };
        let payload = self.bytes.len() - self.header;
        (self.step, self.parts) = (payload, 1);
        if self.cut != Segmentation::Whole {
            let least = if self.cut == Segmentation::Tcp { 20 } else { 8 };
            self.step = usize::from(u16::from_ne_bytes([low, high]));
            let is_sound = flags & NEEDS_CHECKSUM != 0
                && self.step > 0
                && self.header >= self.transport + least
                && self.header <= LONGEST_HEADER
                && !layout.is_fragment;
            self.parts =
                u16::try_from(payload.div_ceil(self.step.max(1))).ok().filter(|parts| is_sound && *parts > 0)?;
        }
        self.kept = self.parts;
        Some(())
    }
}

/// One packet ready to be written: the device's header, the packet's own, and the rest of its bytes.
pub struct OutgoingPacket<'a> {
    /// For the device.
    pub virtio: [u8; VIRTIO],
    header: [u8; LONGEST_HEADER],
    length: usize,
    /// Behind the header.
    pub rest: &'a [u8],
}

impl OutgoingPacket<'_> {
    /// The header; empty where nothing in it is new.
    pub fn header(&self) -> &[u8] {
        &self.header[..self.length]
    }
}

/// Blocks by size, so that a small packet takes little. Those that are free are used again.
#[derive(Default)]
pub struct Store {
    blocks: Vec<Block>,
    free: [Vec<u32>; SIZES.len()],
}

/// Room for a packet: of an ACK, of an Ethernet frame, of a large segment, which lengths of 16 bits bound.
const SIZES: [usize; 4] = [256, 2048, 16 << 10, u16::MAX as usize];

impl Store {
    /// Keeps what was read; `None` if it is no IP packet, or cannot be cut as its sender says.
    pub fn keep(&mut self, virtio: [u8; VIRTIO], ip: &[u8]) -> Option<(u32, Layout)> {
        let layout = Layout::of(ip)?;
        let class = SIZES.iter().position(|size| ip.len() <= *size)?;
        let place = self.free[class].pop().unwrap_or_else(|| {
            self.blocks.push(Block { bytes: Vec::with_capacity(SIZES[class]), class, ..Block::default() });
            self.blocks.len() as u32 - 1
        });
        let block = &mut self.blocks[place as usize];
        block.bytes.clear();
        block.bytes.extend_from_slice(ip);
        block.virtio = virtio;
        block.seq = layout.seq(ip);
        if block.lay(&layout).is_none() {
            self.free[class].push(place);
            return None;
        }
        Some((place, layout))
    }

    /// A block that is in use.
    pub fn block(&self, place: u32) -> &Block {
        &self.blocks[place as usize]
    }

    /// So many parts have left or were dropped.
    pub fn release(&mut self, place: u32, parts: u16) {
        let block = &mut self.blocks[place as usize];
        block.kept -= parts;
        if block.kept == 0 {
            self.free[block.class].push(place);
        }
    }

    /// Blocks that are in use.
    pub fn in_use(&self) -> usize {
        self.blocks.len() - self.free.iter().map(Vec::len).sum::<usize>()
    }

    /// Makes `count` parts of a block, from `first` on, one packet with this traffic class.
    pub fn ready(&mut self, place: u32, first: u16, count: u16, traffic_class: u8) -> OutgoingPacket<'_> {
        let block = &mut self.blocks[place as usize];
        let mut ready = OutgoingPacket { virtio: block.virtio, header: [0; LONGEST_HEADER], length: 0, rest: &[] };
        if block.cut == Segmentation::Whole {
            set_traffic_class(&mut block.bytes, traffic_class);
            ready.rest = &block.bytes;
            return ready;
        }
        let (from, length) = block.payload(first, count);
        ready.length = block.header;
        let header = &mut ready.header[..block.header];
        header.copy_from_slice(&block.bytes[..block.header]);
        let is_last = first + count == block.parts;
        write_lengths(header, block.transport, length, first);
        match block.cut {
            Segmentation::Tcp => write_tcp(&mut header[block.transport..], from as u32, first == 0, is_last),
            _ => write_word(header, block.transport + 4, (8 + length) as u16),
        }
        write_checksum(header, block.transport, length, if block.cut == Segmentation::Tcp { 16 } else { 6 });
        set_traffic_class(header, traffic_class);
        ready.rest = &block.bytes[block.header + from..][..length];
        if count == 1 {
            ready.virtio[1] = 0;
            ready.virtio[4..6].fill(0);
        } else if first > 0 {
            ready.virtio[1] &= !GSO_ECN;
        }
        ready
    }
}

fn write_word(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Length, and in IPv4 the identification, which counts, and the checksum.
fn write_lengths(header: &mut [u8], transport: usize, payload: usize, first: u16) {
    if header[0] >> 4 == 6 {
        return write_word(header, 4, (header.len() - 40 + payload) as u16);
    }
    write_word(header, 2, (header.len() + payload) as u16);
    let identification = word(header, 4).unwrap_or(0).wrapping_add(first);
    write_word(header, 4, identification);
    write_word(header, 10, 0);
    let checksum = !fold(sum(&header[..transport]));
    write_word(header, 10, checksum);
}

/// Sequence number and flags: what asks for something is in the last part, and what is said of the window in the first.
fn write_tcp(tcp: &mut [u8], offset: u32, is_first: bool, is_last: bool) {
    let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]).wrapping_add(offset);
    tcp[4..8].copy_from_slice(&seq.to_be_bytes());
    tcp[13] &= !(if is_last { 0 } else { FIN | PSH } | if is_first { 0 } else { CWR });
}

/// The sum over the pseudo-header, to which the receiving kernel adds the rest if ever it leaves the machine.
fn write_checksum(header: &mut [u8], transport: usize, payload: usize, place: usize) {
    let (addresses, protocol) = match header[0] >> 4 {
        4 => (&header[12..20], header[9]),
        _ => (&header[8..40], if place == 16 { TCP } else { UDP }),
    };
    let length = header.len() - transport + payload;
    let pseudo = fold(sum(addresses) + u64::from(protocol) + length as u64);
    write_word(header, transport + place, pseudo);
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use crate::cases::config;
    use crate::packet::tests::{v4, v6};
    use proptest::prelude::*;

    /// A large segment as the kernel hands it over: TCP with options, FIN, PSH and CWR, the sum of the pseudo-header.
    pub fn large(version: u8, payload: &[u8], mss: u16) -> ([u8; VIRTIO], Vec<u8>) {
        let mut tcp =
            vec![0x12, 0x34, 0x14, 0x51, 0xff, 0xff, 0xff, 0x00, 0, 0, 0, 1, 0x80, 0x10 | FIN | PSH | CWR, 1, 0];
        tcp.extend([0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
        tcp.extend(payload);
        let (ip, kind, transport) = match version {
            4 => (v4(2, TCP, &tcp), GSO_TCP_V4, 20u16),
            _ => (v6(2, TCP, &tcp), GSO_TCP_V6, 40),
        };
        let words = [transport + 32, mss, transport, 16].map(u16::to_ne_bytes).concat();
        ([&[NEEDS_CHECKSUM, kind | GSO_ECN], &words[..]].concat().try_into().unwrap(), ip)
    }

    /// Datagrams of `step` bytes, the last perhaps shorter, as the kernel hands them over.
    pub fn datagrams(version: u8, payload: &[u8], step: u16) -> ([u8; VIRTIO], Vec<u8>) {
        let [high, low] = ((8 + payload.len()) as u16).to_be_bytes();
        let udp = [&[0x12, 0x34, 0x14, 0x51, high, low, 0, 0], payload].concat();
        let (ip, transport) = if version == 4 { (v4(2, UDP, &udp), 20u16) } else { (v6(2, UDP, &udp), 40) };
        let words = [transport + 8, step, transport, 6].map(u16::to_ne_bytes).concat();
        ([&[NEEDS_CHECKSUM, GSO_UDP], &words[..]].concat().try_into().unwrap(), ip)
    }

    /// The bytes to write, with the checksum that the device asks for filled in, as the receiving side would.
    fn whole(ready: &OutgoingPacket) -> Vec<u8> {
        let mut ip = [ready.header(), ready.rest].concat();
        let at = |place| usize::from(u16::from_ne_bytes([ready.virtio[place], ready.virtio[place + 1]]));
        if ready.virtio[0] & NEEDS_CHECKSUM != 0 {
            let checksum = !fold(sum(&ip[at(6)..]));
            write_word(&mut ip, at(6) + at(8), checksum);
        }
        ip
    }

    /// Of right packets the sum over pseudo-header, header and payload is all ones (RFC 9293, section 3.1).
    fn assert_right(ip: &[u8], transport: usize) {
        let addresses = if transport == 20 { &ip[12..20] } else { &ip[8..40] };
        let segment = &ip[transport..];
        assert_eq!(fold(sum(addresses) + u64::from(TCP) + segment.len() as u64 + sum(segment)), 0xffff);
        if transport == 20 {
            assert_eq!((fold(sum(&ip[..20])), word(ip, 2)), (0xffff, Some(ip.len() as u16)));
        } else {
            assert_eq!(word(ip, 4), Some(segment.len() as u16));
        }
    }

    #[test]
    fn a_large_segment_is_cut_by_hand() {
        // 2500 bytes by 1000: three parts, of which the second begins at 0xffffff00 + 1000 = 0x000002e8.
        let payload: Vec<u8> = (0..2500u32).map(|i| i as u8).collect();
        for (version, transport) in [(4, 20), (6, 40)] {
            let mut store = Store::default();
            let (virtio, ip) = large(version, &payload, 1000);
            let (block, layout) = store.keep(virtio, &ip).unwrap();
            assert_eq!((store.block(block).parts(), layout.transport), (3, transport));
            let sizes = [0, 1, 2].map(|part| store.block(block).size(part));
            assert_eq!(sizes, [1000, 1000, 500].map(|size| size + transport + 32));
            let parts = [0, 1, 2].map(|part| whole(&store.ready(block, part, 1, if part == 1 { 3 } else { 2 })));
            parts.iter().for_each(|ip| assert_right(ip, transport));
            let seqs = parts.each_ref().map(|ip| Layout::of(ip).unwrap().seq(ip).unwrap());
            assert_eq!(seqs, [0xffff_ff00, 0x0000_02e8, 0x0000_06d0]);
            let flags = parts.each_ref().map(|ip| ip[transport + 13]);
            assert_eq!(flags, [0x10 | CWR, 0x10, 0x10 | FIN | PSH]);
            assert_eq!(
                parts.each_ref().map(|ip| Layout::of(ip).unwrap().traffic_class),
                [2, 3, 2],
                "only one is marked"
            );
            if version == 4 {
                assert_eq!(parts.each_ref().map(|ip| word(ip, 4)), [Some(7), Some(8), Some(9)]);
            }
            assert_eq!(parts.map(|ip| ip[transport + 32..].to_vec()).concat(), payload);
            store.release(block, 2);
            assert_eq!(store.in_use(), 1);
            store.release(block, 1);
            assert_eq!(store.in_use(), 0);
        }
    }

    #[test]
    fn parts_that_leave_together_are_written_as_one() {
        let payload: Vec<u8> = (0..2500u32).map(|i| i as u8).collect();
        let mut store = Store::default();
        let (virtio, ip) = large(4, &payload, 1000);
        let (block, _) = store.keep(virtio, &ip).unwrap();
        let all = store.ready(block, 0, 3, 2);
        assert_eq!((all.virtio, [all.header(), all.rest].concat()), (virtio_of(&all, virtio), with_sum(&ip, 20)));
        let last = store.ready(block, 1, 2, 2);
        assert_eq!((last.virtio[1], last.rest), (GSO_TCP_V4, &payload[1000..]), "the first one had said CWR");
        assert_right(&whole(&last), 20);
    }

    fn virtio_of(ready: &OutgoingPacket, expected: [u8; VIRTIO]) -> [u8; VIRTIO] {
        assert_eq!(ready.virtio, expected);
        expected
    }

    /// With the sum of the pseudo-header, which the kernel would have put there.
    fn with_sum(ip: &[u8], transport: usize) -> Vec<u8> {
        let mut header = ip[..transport + 32].to_vec();
        write_checksum(&mut header, transport, ip.len() - transport - 32, 16);
        [&header, &ip[transport + 32..]].concat()
    }

    #[test]
    fn small_packets_take_little_and_room_is_used_again() {
        let mut store = Store::default();
        let ip = v4(0, UDP, &[0; 30]);
        let places: Vec<u32> = (0..10).map(|_| store.keep([0; VIRTIO], &ip).unwrap().0).collect();
        assert!(store.blocks.iter().all(|block| block.bytes.capacity() == SIZES[0]));
        places.iter().for_each(|place| store.release(*place, 1));
        assert!((0..10).all(|_| store.keep([0; VIRTIO], &ip).is_some()));
        assert_eq!((store.blocks.len(), store.in_use()), (10, 10));
    }

    proptest! {
        #![proptest_config(config(300))]
        #[test]
        fn any_parts_are_the_whole(version in prop_oneof![Just(4u8), Just(6)], length in 1usize..60_000, mss in 1u16..9000, split in any::<u16>()) {
            let payload: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let mut store = Store::default();
            let (virtio, ip) = large(version, &payload, mss);
            let (block, layout) = store.keep(virtio, &ip).unwrap();
            let parts = store.block(block).parts();
            prop_assert_eq!(usize::from(parts), length.div_ceil(mss.into()));
            let middle = split % parts;
            let mut found = Vec::new();
            for (first, count) in [(0, middle), (middle, parts - middle)].into_iter().filter(|(_, count)| *count > 0) {
                let written = whole(&store.ready(block, first, count, 2));
                assert_right(&written, layout.transport);
                found.extend_from_slice(&written[layout.payload..]);
            }
            prop_assert_eq!(found, payload);
        }

        #[test]
        fn any_bytes_do_not_make_it_panic(virtio in any::<[u8; VIRTIO]>(), place in 0usize..80, byte in any::<u8>(), length in 0usize..3000, class in any::<u8>()) {
            for version in [4, 6] {
                let (mut sound, mut ip) = large(version, &vec![1; length], 700);
                if let Some(hit) = ip.get_mut(place) {
                    *hit = byte;
                }
                sound[place % VIRTIO] = byte;
                for virtio in [virtio, sound] {
                    let mut store = Store::default();
                    if let Some((block, _)) = store.keep(virtio, &ip) {
                        let parts = store.block(block).parts();
                        for part in 0..parts {
                            store.block(block).size(part);
                            let ready = store.ready(block, part, 1, class);
                            prop_assert!(!ready.header().is_empty() || !ready.rest.is_empty());
                            store.release(block, 1);
                        }
                    }
                    prop_assert_eq!(store.in_use(), 0);
                }
            }
        }
    }
}
