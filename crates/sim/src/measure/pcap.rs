//! The packets that left a link as a capture file, with real headers and without the payload, which is zero.
//!
//! Headers are those of IEEE 802.3, RFC 791, 9293 (with RFC 3168) and 768.

use crate::measure::capture::PcapngWriter;
use crate::measure::shape::{ETHERNET, IP, Shape};
use crate::measure::trace::{PacketTrace, TransferNumbering};
use crate::net::packet::{Packet, PacketKind};
use aqmlab_aqm::{Carried, Ecn, QueueEvent};
use std::io::{self, Write};

const UDP: u32 = 8;

const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

impl PacketTrace {
    /// Writes the packets that left the queue as a capture file (pcapng), each at the time at which its transmission began.
    ///
    /// # Errors
    /// Of `out`.
    pub fn write_pcap(&self, out: &mut impl Write) -> io::Result<()> {
        let snap = self.shapes.iter().map(Shape::longest).max().unwrap_or(ETHERNET + IP + 20);
        let mut capture = PcapngWriter::begin(out, &self.link, snap)?;
        let mut frames = Frames::new(self);
        for record in &self.records {
            if record.event == QueueEvent::Dequeued {
                let frame = frames.frame(&record.packet);
                capture.write(record.time, &frame.bytes, frame.length)?;
            }
        }
        capture.finish()
    }
}

/// The longest headers: Ethernet, IP and a TCP header full of options, and two bytes that no frame uses.
const LONGEST: usize = 96;

/// A frame: its headers, zeros behind them, and its whole length.
struct Frame {
    bytes: [u8; LONGEST],
    length: u32,
}

/// Makes frames of packets, one after the other.
struct Frames<'a> {
    trace: &'a PacketTrace,
    transfers: TransferNumbering,
    /// For each flow how many of its transfers have been answered with a SYN-ACK.
    opened: Vec<u32>,
}

impl<'a> Frames<'a> {
    fn new(trace: &'a PacketTrace) -> Self {
        let flows = trace.group_of.len();
        Self { trace, transfers: TransferNumbering::new(flows), opened: vec![0; flows] }
    }

    fn frame(&mut self, packet: &Packet) -> Frame {
        let shape = self.trace.shapes[usize::from(self.trace.group_of[packet.flow as usize])];
        let transfer = self.transfers.of(packet);
        let segment = match packet.kind() {
            PacketKind::Foreign | PacketKind::ForeignReply | PacketKind::Media | PacketKind::Feedback => {
                Segment::datagram(packet)
            }
            PacketKind::Data | PacketKind::Resent if shape.is_udp => Segment::datagram(packet),
            PacketKind::Data | PacketKind::Resent => Segment::data(&shape, packet),
            PacketKind::Ack | PacketKind::TimedAck | PacketKind::WindowAck => {
                Segment::ack(&shape, packet, self.opens(&shape, packet, transfer))
            }
        };
        let mut frame = Frame { bytes: [0; LONGEST], length: ETHERNET + IP + segment.header + segment.payload };
        let is_back = packet.goes_back();
        ethernet(&mut frame.bytes[..14], is_back);
        ip(&mut frame.bytes[14..34], packet, &segment, is_back);
        let ports = [49152 + (transfer % 16384) as u16, RECEIVER_PORT];
        let ports = if is_back { [ports[1], ports[0]] } else { ports };
        segment.write(&mut frame.bytes, ports);
        frame
    }

    /// True for the first ACK that answers the SYN of its transfer.
    fn opens(&mut self, shape: &Shape, packet: &Packet, transfer: u32) -> bool {
        let opened = &mut self.opened[packet.flow as usize];
        let opens = shape.syn && packet.ack().next == 1 && transfer >= *opened;
        *opened = (*opened).max(if opens { transfer + 1 } else { 0 });
        opens
    }
}

/// Of no service that a dissector would look for.
const RECEIVER_PORT: u16 = 49151;

/// The transport's part of a packet.
struct Segment {
    is_udp: bool,
    /// Bytes.
    header: u32,
    /// Bytes, all zero.
    payload: u32,
    seq: u32,
    ack: u32,
    flags: u8,
}

impl Segment {
    fn datagram(packet: &Packet) -> Self {
        let payload = packet.size().saturating_sub(IP + UDP);
        Self { is_udp: true, header: UDP, payload, seq: 0, ack: 0, flags: 0 }
    }

    fn data(shape: &Shape, packet: &Packet) -> Self {
        let data = packet.data();
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        let is_syn = shape.syn && data.seq == 0;
        let (payload, ack, flags) = match is_syn {
            true => (0, 0, SYN | flag(shape.ecn, ECE | CWR)), // RFC 3168, section 6.1.1
            false => (shape.payload, 1, ACK | flag(data.is_cwr, CWR) | flag(data.is_push, PSH)),
        };
        Self { is_udp: false, header: shape.header, payload, seq: shape.sequence(data.seq), ack, flags }
    }

    fn ack(shape: &Shape, packet: &Packet, opens: bool) -> Self {
        let ack = packet.ack();
        let (seq, syn) = if opens { (0, SYN) } else { (1, 0) };
        let echo = if ack.ece || opens && shape.ecn { ECE } else { 0 };
        let (header, ack) = (shape.ack_header, shape.sequence(ack.next));
        Self { is_udp: false, header, payload: 0, seq, ack, flags: ACK | syn | echo }
    }

    fn protocol(&self) -> u8 {
        if self.is_udp { 17 } else { 6 }
    }

    /// Writes itself behind the IP header, whose addresses its checksum covers.
    fn write(&self, frame: &mut [u8; LONGEST], ports: [u16; 2]) {
        let length = self.header + self.payload;
        let (ip, transport) = frame.split_at_mut(34);
        let transport = &mut transport[..self.header as usize];
        transport[0..2].copy_from_slice(&ports[0].to_be_bytes());
        transport[2..4].copy_from_slice(&ports[1].to_be_bytes());
        let at = if self.is_udp {
            transport[4..6].copy_from_slice(&(length as u16).to_be_bytes());
            6
        } else {
            transport[4..8].copy_from_slice(&self.seq.to_be_bytes());
            transport[8..12].copy_from_slice(&self.ack.to_be_bytes());
            transport[12..16].copy_from_slice(&[(self.header * 4) as u8, self.flags, 0xff, 0xff]);
            transport[20..].fill(1); // no operation
            16
        };
        let pseudo = sum(&ip[26..34]) + u32::from(self.protocol()) + length;
        let checksum = match !fold(pseudo + sum(transport)) {
            0 if self.is_udp => 0xffff, // 0 says that there is none
            checksum => checksum,
        };
        transport[at..at + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}

fn ethernet(header: &mut [u8], is_back: bool) {
    header.copy_from_slice(&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0]);
    if is_back {
        (header[5], header[11]) = (1, 2);
    }
}

/// Each flow has a sender in 10.0.0.0/9 and a receiver in 10.128.0.0/9 of its own.
fn ip(header: &mut [u8], packet: &Packet, segment: &Segment, is_back: bool) {
    let ecn = match packet.ecn() {
        Ecn::NotEct => 0,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let sender = 10 << 24 | (packet.flow + 1) & 0x7f_ffff;
    let receiver = sender | 0x80_0000;
    let (from, to) = if is_back { (receiver, sender) } else { (sender, receiver) };
    let length = (IP + segment.header + segment.payload) as u16;
    header[0..2].copy_from_slice(&[0x45, packet.dscp() << 2 | ecn]);
    header[2..4].copy_from_slice(&length.to_be_bytes());
    header[6..10].copy_from_slice(&[0x40, 0, 64, segment.protocol()]); // not to be fragmented; time to live 64
    header[12..16].copy_from_slice(&from.to_be_bytes());
    header[16..20].copy_from_slice(&to.to_be_bytes());
    let checksum = !fold(sum(header));
    header[10..12].copy_from_slice(&checksum.to_be_bytes());
}

/// Sum of 16-bit words (RFC 1071), of an even number of bytes.
fn sum(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

fn fold(sum: u32) -> u16 {
    let once = (sum & 0xffff) + (sum >> 16);
    ((once & 0xffff) + (once >> 16)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::trace::TraceRecord;
    use crate::net::packet::{Data, DscpEpoch, FlowTag};
    use aqmlab_core::{Span, Time};
    use aqmlab_scenario::parse;
    use aqmlab_tcp::Ack;

    /// A trace of one flow of 1000 B segments, whose ACKs queue too.
    fn trace(of_flow: &str, records: Vec<TraceRecord>) -> PacketTrace {
        let text = "schema = 1\nduration = \"1 s\"\n[[links]]\nname = \"l\"\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n\
                    [[flows]]\nrtt = \"80 ms\"\npacket = \"1000 B\"\ntcp.profile = \"rfc\"\n";
        PacketTrace::new(&parse(&format!("{text}{of_flow}"), "pcap", &[]).unwrap(), 0, records, vec![0])
    }

    fn data(seq: u32, size: u16, ecn: Ecn, is_cwr: bool) -> Packet {
        let (sent_at, rtt) = (Time::ZERO, Default::default());
        let data = Data { sent_at, seq, rtt, ecn, is_cwr, is_push: false, is_resent: false };
        Packet::of_data(FlowTag { stamp: DscpEpoch::new(5 << 3, 0), ..FlowTag::default() }, size, data)
    }

    #[test]
    fn a_syn_byte_by_byte() {
        let mut trace = trace("", Vec::new());
        trace.shapes[0].ecn = false;
        let packet = Packet::of_data(FlowTag::default(), 40, data(0, 40, Ecn::NotEct, false).data());
        let frame = Frames::new(&trace).frame(&packet);
        assert_eq!(frame.length, 54);
        let ethernet = [2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
        assert_eq!(frame.bytes[..14], ethernet);
        // Sum of the words: 4500 + 28 + 4000 + 4006 + a00 + 1 + a80 + 1 = d9b0; its complement is 264f.
        let ip = [0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0x26, 0x4f, 10, 0, 0, 1, 10, 128, 0, 1];
        assert_eq!(frame.bytes[14..34], ip);
        // c000 + bfff + 5002 + ffff, addresses 1482, protocol 6, length 14: 2e49c, folded e49e; its complement is 1b61.
        let tcp = [0xc0, 0, 0xbf, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0xff, 0xff, 0x1b, 0x61, 0, 0];
        assert_eq!(frame.bytes[34..54], tcp);
        assert_eq!(frame.bytes[54..], [0; LONGEST - 54]);
    }

    /// Length on the wire, DSCP and ECN byte, IP length, sequence and ACK number, words of the TCP header, flags.
    fn seen(frames: &mut Frames, packet: &Packet) -> (u32, u8, u16, u32, u32, u8, u8) {
        let Frame { bytes, length } = frames.frame(packet);
        let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
        (length, bytes[15], u16::from_be_bytes([bytes[16], bytes[17]]), word(38), word(42), bytes[46] >> 4, bytes[47])
    }

    #[test]
    fn sequence_numbers_count_bytes_and_flags_speak_of_congestion() {
        let trace = trace("ecn = true\n", Vec::new());
        let mut frames = Frames::new(&trace);
        let mut see = |packet: &Packet| seen(&mut frames, packet);
        assert_eq!(see(&data(0, 40, Ecn::NotEct, false)), (54, 0xa0, 40, 0, 0, 5, SYN | ECE | CWR));
        let ack = |next, ece| Packet::of_ack(FlowTag::default(), 40, 1, &Ack { next, ece, ..Ack::default() });
        assert_eq!(see(&ack(1, false)), (54, 0, 40, 0, 1, 5, SYN | ACK | ECE));
        assert_eq!(see(&ack(1, false)), (54, 0, 40, 1, 1, 5, ACK), "segment 1 is missing");
        assert_eq!(see(&ack(3, true)), (54, 0, 40, 1, 2001, 5, ACK | ECE));
        assert_eq!(see(&data(1, 1040, Ecn::Ect0, false)), (1054, 0xa2, 1040, 1, 1, 5, ACK));
        assert_eq!(see(&data(3, 1040, Ecn::Ce, true)), (1054, 0xa3, 1040, 2001, 1, 5, ACK | CWR));
    }

    #[test]
    fn headers_of_other_sizes_are_filled_with_options_or_take_from_the_payload() {
        for (header, words, ip) in [("52 B", 8, 1052), ("0 B", 5, 1000), ("100 B", 15, 1100)] {
            let trace = trace(&format!("tcp.header = \"{header}\"\n"), Vec::new());
            let (length, _, total, seq, ..) = seen(&mut Frames::new(&trace), &data(2, ip, Ecn::NotEct, false));
            let (.., shown, _) = seen(&mut Frames::new(&trace), &data(2, ip, Ecn::NotEct, false));
            assert_eq!((length, total, shown), (u32::from(ip) + 14, ip, words), "{header}");
            assert_eq!(seq, 1 + u32::from(ip) - 20 - 4 * u32::from(words));
        }
    }

    #[test]
    fn a_file_of_one_packet() {
        let record = |event, time| TraceRecord {
            packet: data(1, 1040, Ecn::NotEct, false),
            time: Time::ZERO + Span::from_seconds(time),
            since: Time::ZERO,
            event,
            waiting: 0,
        };
        let records = vec![record(QueueEvent::Enqueued, 1.0), record(QueueEvent::Dequeued, 5.000_000_003)];
        let mut file = Vec::new();
        trace("", records).write_pcap(&mut file).unwrap();
        let words: Vec<u32> = file.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect();
        let section = words[1] as usize / 4;
        assert_eq!((words[0], words[2], words[3], words[section - 1]), (0x0a0d_0d0a, 0x1a2b_3c4d, 1, words[1]));
        // 40 B: Ethernet, 54 B kept; name of one byte, resolution, end. Then a packet.
        let interface = &words[section..section + 11];
        assert_eq!(interface, [1, 40, 1, 54, 2 | 1 << 16, 'l' as u32, 9 | 1 << 16, 9, 0, 40, 6]);
        // 5000000003 ns = 1 * 2^32 + 705032707; 54 of 1054 B, padded to 56.
        let frame = &words[section + 10..];
        assert_eq!(frame[..7], [6, 88, 0, 1, 705_032_707, 54, 1054]);
        assert_eq!((frame.len(), frame[21]), (22, 88));
    }
}
