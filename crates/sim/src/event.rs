//! Everything that can happen in a run, and the packets to which it happens.

use aqmlab_aqm::{Carried, Ecn};
use aqmlab_core::{Span, Time};
use aqmlab_tcp::Ack;

/// Everything that can happen.
#[derive(Clone, Copy, Debug, Default)]
pub enum Event {
    /// A packet reaches the queue of its next link, or an ACK its sender.
    Arrive(Packet),
    /// A link has sent a packet.
    Sent { link: u32 },
    /// A sender's retransmission timer may be due.
    Timer { flow: u32 },
    /// A receiver's delayed ACK may be due.
    AckDue { flow: u32 },
    /// A flow's application starts.
    Open { flow: u32 },
    /// A flow's application stops.
    Close { flow: u32 },
    /// A UDP source may send.
    Emit { source: u32 },
    /// A client asks for its next object.
    Request { client: u32 },
    /// A link's rate changes.
    RateChange { link: u32 },
    /// A scheme's periodic update.
    Tick { link: u32, period: Span },
    /// A point of the recorded time series.
    #[default]
    Sample,
    /// Metrics count from now.
    WarmedUp,
}

/// The hop of an ACK that has passed all queues: it reaches its sender.
pub const AT_SENDER: u8 = u8::MAX;

/// A packet on its way. What it carries lies packed in words, for packets are copied often and looked into seldom.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Which link of its route it is at or bound for; [`AT_SENDER`] after the last.
    pub hop: u8,
    pub kind: Kind,
    /// Data: when it was sent; an ACK: the start of its first block and the lengths of the second and third.
    first: u64,
    /// From the lowest bit: sequence number or next expected (32), announced RTT or a length (16), flags (8), epoch (8).
    second: u64,
    /// Data: the host that sent it; an ACK: the starts of the second and third block. A one-way delay takes the place of
    /// the third block, its low half here and the rest of it in `first`. A count of marks takes the place of the last block
    /// that is left.
    third: u64,
}

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment or a datagram.
    Data,
    Ack,
}

/// What a data packet carries.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// When the sender handed it to its access link.
    pub sent_at: Time,
    pub seq: u32,
    /// The sender's smoothed round-trip time, if it says.
    pub rtt: Announced,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Class selector of the DSCP, 0 to 7.
    pub class: u8,
    /// The sender has reduced its window (RFC 3168, CWR).
    pub is_cwr: bool,
    /// Which host sent it.
    pub host: u32,
}

/// Where the two bits of the ECN field lie.
const ECN: u32 = 48;
const CWR: u64 = 1 << 50;
const ECE: u64 = 1 << 51;
/// An ACK carries a one-way delay.
const TIMED: u64 = 1 << 52;
/// An ACK carries a count of marks.
const COUNTS: u64 = CWR;
/// The longest such delay, ps: 281 s.
const LONGEST_DELAY: u64 = (1 << 48) - 1;
/// Bits from here on: the class selector, 3 bits.
const CLASS: u32 = 53;

impl Packet {
    /// Data at the start of its route, of the `epoch`-th transfer of its flow.
    #[inline]
    pub fn of_data(flow: u32, size: u16, epoch: u8, data: Data) -> Self {
        let flag = |set: bool, flag: u64| if set { flag } else { 0 };
        let ecn = (data.ecn as u64) << ECN;
        let flags = ecn | flag(data.is_cwr, CWR) | u64::from(data.class & 7) << CLASS;
        let second = u64::from(data.seq) | u64::from(data.rtt.0) << 32 | flags | u64::from(epoch) << 56;
        Self { flow, size, hop: 0, kind: Kind::Data, first: data.sent_at.0, second, third: data.host.into() }
    }

    /// An ACK on its way back from `hop` on.
    #[inline]
    pub fn of_ack(flow: u32, size: u16, hop: u8, epoch: u8, ack: &Ack) -> Self {
        let flags = if ack.ece { ECE } else { 0 } | u64::from(epoch) << 56;
        let mut packet =
            Self { flow, size, hop, kind: Kind::Ack, first: 0, second: u64::from(ack.next) | flags, third: 0 };
        if !ack.sack.is_empty() {
            let (starts, lens) = (ack.sack.starts.map(u64::from), ack.sack.lens.map(u64::from));
            packet.first = starts[0] | lens[1] << 32 | lens[2] << 48;
            packet.second |= lens[0] << 32;
            packet.third = starts[1] | starts[2] << 32;
        }
        packet
    }

    /// An ACK takes a delay along, no longer than 281 s.
    pub fn set_delay(&mut self, delay: Span) {
        let ps = delay.0.min(LONGEST_DELAY);
        self.second |= TIMED;
        self.first = self.first & LONGEST_DELAY | ps >> 32 << 48;
        self.third = self.third & u64::from(u32::MAX) | ps << 32;
    }

    /// An ACK takes a count of marks along, after the delay if it takes one.
    pub fn set_marks(&mut self, marks: u32) {
        self.second |= COUNTS;
        if self.second & TIMED != 0 {
            self.first &= !(0xffff << 32);
            self.third = self.third >> 32 << 32 | u64::from(marks);
        } else {
            self.first &= LONGEST_DELAY;
            self.third = self.third & u64::from(u32::MAX) | u64::from(marks) << 32;
        }
    }

    /// Which transfer of its flow it belongs to: what is left of an earlier one is thrown away.
    #[inline]
    pub fn epoch(&self) -> u8 {
        (self.second >> 56) as u8
    }

    /// What a packet of kind data carries.
    #[inline]
    pub fn data(&self) -> Data {
        Data {
            sent_at: Time(self.first),
            seq: self.second as u32,
            rtt: Announced((self.second >> 32) as u16),
            ecn: self.ecn(),
            class: self.class(),
            is_cwr: self.second & CWR != 0,
            host: self.third as u32,
        }
    }

    /// What a packet of kind ACK carries.
    #[inline]
    pub fn ack(&self) -> Ack {
        let mut ack = Ack { next: self.second as u32, ece: self.second & ECE != 0, ..Ack::default() };
        let len = (self.second >> 32) as u16;
        if len > 0 {
            ack.sack.starts = [self.first as u32, self.third as u32, (self.third >> 32) as u32];
            ack.sack.lens = [len, (self.first >> 32) as u16, (self.first >> 48) as u16];
        }
        if self.second & TIMED != 0 {
            ack.delay = Span(self.first >> 48 << 32 | self.third >> 32);
            (ack.sack.starts[2], ack.sack.lens[2]) = (0, 0);
        }
        if self.second & COUNTS != 0 {
            let place = if self.second & TIMED != 0 { 1 } else { 2 };
            ack.ce = (self.third >> (32 * (place - 1))) as u32;
            (ack.sack.starts[place], ack.sack.lens[place]) = (0, 0);
        }
        ack
    }
}

/// A round-trip time as a packet carries it: units of 0.1 ms, up to 6.5 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Announced(u16);

impl Announced {
    const UNIT: u64 = 100_000_000;

    pub fn new(rtt: Span) -> Self {
        Announced((rtt.0 / Self::UNIT).clamp(1, u16::MAX.into()) as u16)
    }

    fn span(self) -> Option<Span> {
        (self.0 > 0).then(|| Span(u64::from(self.0) * Self::UNIT))
    }
}

impl Carried for Packet {
    #[inline]
    fn size(&self) -> u32 {
        u32::from(self.size)
    }
    #[inline]
    fn flow(&self) -> u32 {
        self.flow
    }
    #[inline]
    fn host(&self) -> u32 {
        if self.kind == Kind::Data { self.third as u32 } else { self.flow }
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.second >> ECN & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }
    #[inline]
    fn class(&self) -> u8 {
        (self.second >> CLASS) as u8 & 7
    }
    #[inline]
    fn rtt(&self) -> Option<Span> {
        if self.kind == Kind::Data { self.data().rtt.span() } else { None }
    }
    #[inline]
    fn mark(&mut self) {
        self.second |= (Ecn::Ce as u64) << ECN;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_tcp::Sack;

    #[test]
    fn an_event_is_half_a_cache_line() {
        assert_eq!((size_of::<Packet>(), size_of::<Event>()), (32, 32));
    }

    #[test]
    fn a_packet_carries_what_is_put_into_it() {
        let rtt = Announced::new(Span::from_seconds(0.08));
        let data =
            Data { sent_at: Time(u64::MAX - 1), seq: u32::MAX, rtt, ecn: Ecn::Ect1, class: 5, is_cwr: true, host: 9 };
        let mut packet = Packet::of_data(7, 1500, 255, data);
        assert_eq!((packet.ecn(), packet.class(), packet.host()), (Ecn::Ect1, 5, 9));
        packet.mark();
        let out = packet.data();
        assert_eq!((out.sent_at, out.seq, out.rtt, out.ecn, out.is_cwr), (data.sent_at, data.seq, rtt, Ecn::Ce, true));
        assert_eq!((packet.epoch(), packet.flow, packet.size, packet.hop), (255, 7, 1500, 0));
        let sack = Sack { starts: [5, u32::MAX, 7], lens: [1, u16::MAX, 3] };
        for sack in [sack, Sack::default()] {
            let ack = Ack { next: u32::MAX, ece: true, sack, ..Ack::default() };
            let packet = Packet::of_ack(9, 40, AT_SENDER, 3, &ack);
            assert_eq!((packet.ack(), packet.epoch(), packet.hop), (ack, 3, AT_SENDER));
            assert!(packet.ecn() == Ecn::NotEct && packet.rtt().is_none());
        }
    }

    #[test]
    fn a_delay_takes_the_place_of_the_third_block() {
        let two = Sack { starts: [5, u32::MAX, 0], lens: [1, u16::MAX, 0] };
        for (sack, kept) in
            [(Sack { starts: [5, u32::MAX, 7], lens: [1, u16::MAX, 3] }, two), (two, two), Default::default()]
        {
            for (ps, carried) in [(0, 0), (123_456_789_012_345, 123_456_789_012_345), (u64::MAX, (1 << 48) - 1)] {
                let ack = Ack { next: 8, sack, ..Ack::default() };
                let mut packet = Packet::of_ack(9, 40, AT_SENDER, 3, &ack);
                packet.set_delay(Span(ps));
                assert_eq!(packet.ack(), Ack { sack: kept, delay: Span(carried), ..ack });
                assert_eq!((packet.epoch(), packet.class()), (3, 0));
            }
        }
    }

    #[test]
    fn a_count_of_marks_takes_the_place_of_the_last_block_that_is_left() {
        let sack = Sack { starts: [5, u32::MAX, 7], lens: [1, u16::MAX, 3] };
        let (two, one) =
            (Sack { starts: [5, u32::MAX, 0], lens: [1, u16::MAX, 0] }, Sack { starts: [5, 0, 0], lens: [1, 0, 0] });
        for (sack, two, one) in [(sack, two, one), Default::default()] {
            let ack = Ack { next: 8, ece: false, ce: Ack::CE_MASK, sack, delay: Span::from_millis(123) };
            let mut packet = Packet::of_ack(9, 40, AT_SENDER, 3, &ack);
            packet.set_marks(ack.ce);
            assert_eq!(packet.ack(), Ack { sack: two, delay: Span::ZERO, ..ack });
            let mut packet = Packet::of_ack(9, 40, AT_SENDER, 3, &ack);
            packet.set_delay(ack.delay);
            packet.set_marks(ack.ce);
            assert_eq!(packet.ack(), Ack { sack: one, ..ack });
            assert_eq!((packet.epoch(), packet.class()), (3, 0));
        }
    }

    #[test]
    fn announces_round_trip_times_to_a_tenth_of_a_millisecond() {
        let told = |ms: f64| Announced::new(Span::from_seconds(ms / 1000.0)).span().map(|span| span.seconds() * 1000.0);
        assert_eq!((told(80.04), told(0.01), told(9000.0)), (Some(80.0), Some(0.1), Some(6553.5)));
        assert_eq!(Announced::default().span(), None);
    }
}
