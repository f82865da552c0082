//! The packets of a simulation.

#[cfg(test)]
mod tests;

use crate::net::WirePacket;
use aqmlab_aqm::{Carried, Ecn};
use aqmlab_core::{Span, Time};
use aqmlab_tcp::{Ack, Advertised, Sack};

/// The hop of an ACK that has passed all queues: it reaches its sender. Also of media, when they reach their receiver.
pub const AT_SENDER: u8 = u8::MAX;
/// The hop of a segment or datagram that has passed all queues: it reaches its receiver's access link. No route has it.
pub const AT_RECEIVER: u8 = u8::MAX - 1;

/// A packet on its way: 32 bytes, copied as a whole. `body` holds what the kinds do not have in common, and what is seldom
/// asked for, as 128 bits counted from the lowest of the first word:
///
/// | bits     | data                         | ACK                                         |
/// |----------|------------------------------|---------------------------------------------|
/// | 0-33     | 0-63: when it was sent, ps   | first SACK block: offset (18), length (16)  |
/// | 34-67    | 64-79: announced RTT         | second SACK block, likewise                 |
/// | 68-110   | 80-81: ECN field; 82: CWR,   | third SACK block; or the one-way delay, ps; |
/// |          | or of media: feedback        | or the window of a receiver that drives     |
/// |          |                              | (20) and a timestamp                        |
/// | 112      | 83-115: since when, us, if   | the window of its receiver is in `tuple`    |
/// | 113      | it has been sent before;     | it echoes a segment that had been           |
/// |          | else the timestamp it echoes |                                             |
/// | 114      |                              | ECE                                         |
/// | 115      |                              | a count of marks is in place of a block     |
/// | 116      | PSH                          | there is anything in the bits before        |
/// | 117-119  | kind                         | kind                                        |
/// | 120-127  | epoch                        | epoch                                       |
///
/// The offset of a block is its first segment's distance from the next one expected. A first block without length is a
/// segment that has arrived twice, whose offset has a sign. A third block without length but with an offset is a new window.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub flow: u32,
    /// Bytes on the wire.
    pub size: u16,
    /// Index on its route of the link that it is at or bound for; [`AT_RECEIVER`] or [`AT_SENDER`] after the last.
    pub hop: u8,
    dscp: Dscp,
    /// Data: the segment; an ACK: the next one expected.
    number: u32,
    /// Of its flow ([`FlowTag::tuple`]); in an ACK that meets no queue the window that it offers, segments.
    tuple: u32,
    body: [u64; 2],
}

/// Kind of a packet, in three bits of `body`; a fourth tells the two of media apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// A segment or a datagram.
    Data = 0,
    /// A segment that has been sent before.
    Resent = 1,
    /// A packet of a foreign flow, on the way that data take there.
    Foreign = 2,
    /// The same on the way back.
    ForeignReply = 3,
    Ack = 4,
    /// An ACK with a one-way delay.
    TimedAck = 5,
    /// An ACK with a window and a timestamp.
    WindowAck = 6,
    /// A packet of a call that adapts.
    Media = 7,
    /// The feedback of its receiver: its bits are those of media, and [`FEEDBACK`].
    Feedback = 15,
}

/// Fields that all packets of a transfer share, its ACKs included.
#[derive(Clone, Copy, Debug, Default)]
pub struct FlowTag {
    pub flow: u32,
    /// Stands for the addresses and ports of its flow: hashes of the sending host's address (bits 12-31) and of the ports.
    pub tuple: u32,
    pub stamp: DscpEpoch,
}

/// DSCP and transfer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DscpEpoch {
    dscp: Dscp,
    epoch: u8,
}

impl DscpEpoch {
    /// `dscp`: 0 to 63. `epoch`: which transfer of its flow, modulo 256.
    pub fn new(dscp: u8, epoch: u8) -> Self {
        Self { dscp: Dscp::ALL[usize::from(dscp & 63)], epoch }
    }

    pub fn epoch(self) -> u8 {
        self.epoch
    }

    /// That of the next transfer.
    pub fn next(self) -> Self {
        Self { epoch: self.epoch.wrapping_add(1), ..self }
    }
}

macro_rules! dscps {
    ($first:ident $($other:ident)*) => {
        /// A DSCP, 0 to 63. An enum, so that the other values of its byte can tell an event of a run from a packet.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        enum Dscp {
            #[default]
            $first,
            $($other),*
        }

        impl Dscp {
            const ALL: [Self; 64] = [Self::$first, $(Self::$other),*];
        }
    };
}

dscps! {
    D0 D1 D2 D3 D4 D5 D6 D7 D8 D9 D10 D11 D12 D13 D14 D15
    D16 D17 D18 D19 D20 D21 D22 D23 D24 D25 D26 D27 D28 D29 D30 D31
    D32 D33 D34 D35 D36 D37 D38 D39 D40 D41 D42 D43 D44 D45 D46 D47
    D48 D49 D50 D51 D52 D53 D54 D55 D56 D57 D58 D59 D60 D61 D62 D63
}

/// Contents of a data packet.
#[derive(Clone, Copy, Debug)]
pub struct Data {
    /// Time at which the sender handed it to its access link.
    pub sent_at: Time,
    pub seq: u32,
    /// The sender's smoothed round-trip time, if it says.
    pub rtt: AnnouncedRtt,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// The sender has reduced its window (RFC 3168, CWR).
    pub is_cwr: bool,
    /// It is the last of what the application has written (PSH).
    pub is_push: bool,
    /// It has been sent before.
    pub is_resent: bool,
}

/// Hosts that send data have hashes below this number, those that receive the same hashes above it: an ACK comes from the
/// host that its data go to.
const MAX_HOSTS: u32 = 1 << HOST_BITS;

// Where things are in `tuple` and in the second word of `body`.
const HOST_BITS: u32 = 20;
const PORT_BITS: u32 = u32::BITS - HOST_BITS;
const ECN: u32 = 16;
const CWR: u32 = 18;
/// Media has no CWR.
const FEEDBACK: u32 = CWR;
const AGE: u32 = 19;
const AGE_BITS: u32 = 33;
const OFFERS: u32 = 48;
const ECHOES_RESENT: u32 = 49;
const ECE: u32 = 50;
const COUNTS: u32 = 51;
const MORE: u32 = 52;
const PUSH: u32 = 52;
const KIND: u32 = 53;
const EPOCH: u32 = 56;
// Where things are in an ACK's `body` as a whole.
const OFFSET_BITS: u32 = 18;
const OFFSETS: u32 = (1 << OFFSET_BITS) - 1;
const BLOCK_BITS: u32 = OFFSET_BITS + u16::BITS;
const DELAY: u32 = 2 * BLOCK_BITS;
const DELAY_BITS: u32 = 43;
const WINDOW_BITS: u32 = 20;

impl Packet {
    /// Data at the start of its route.
    #[inline]
    pub fn of_data(label: FlowTag, size: u16, data: Data) -> Self {
        let flags = u64::from(data.is_cwr) << CWR | u64::from(data.is_push) << PUSH;
        let traits = u64::from(data.rtt.0) | (data.ecn as u64) << ECN | flags;
        let kind = if data.is_resent { PacketKind::Resent } else { PacketKind::Data };
        Self::new(label, size, 0, kind, data.seq, [data.sent_at.0, traits])
    }

    /// A packet of a foreign flow or of media, which is known by its number, from `hop` on.
    pub fn of_foreign(
        label: FlowTag,
        size: u16,
        (hop, kind): (u8, PacketKind),
        number: u32,
        ecn: Ecn,
        now: Time,
    ) -> Self {
        Self::new(label, size, hop, kind, number, [now.0, (ecn as u64) << ECN])
    }

    /// An ACK on its way back from `hop` on. Blocks 2^18 segments or more ahead are left out, and those after them. So is the window
    /// where it queues: its receiver takes what an ACK needs for constant, and what it lets grow by that would be too small.
    #[inline(always)] // for each packet
    pub fn of_ack(label: FlowTag, size: u16, hop: u8, ack: &Ack) -> Self {
        let has_more = !ack.sack.is_empty() | ack.is_resent | ack.dsack.is_some() | ack.has_new_window;
        let offers = hop == AT_SENDER && ack.rwnd > 0;
        let label = FlowTag { tuple: if offers { ack.rwnd } else { label.tuple }, ..label };
        let body = [0, u64::from(ack.ece) << ECE | u64::from(offers) << OFFERS];
        let body = if has_more { Self::with_blocks(body, *ack) } else { body };
        Self::new(label, size, hop, PacketKind::Ack, ack.next, body)
    }

    /// An ACK that contains the next segment expected and the echo of a mark, and nothing else.
    #[inline(always)] // for each packet
    pub fn of_cumulative_ack(label: FlowTag, size: u16, hop: u8, (next, ece): (u32, bool)) -> Self {
        Self::new(label, size, hop, PacketKind::Ack, next, [0, u64::from(ece) << ECE])
    }

    #[inline]
    fn new(label: FlowTag, size: u16, hop: u8, kind: PacketKind, number: u32, body: [u64; 2]) -> Self {
        let FlowTag { flow, tuple, stamp } = label;
        let [first, second] = body;
        let kind = (kind as u64 & 7) << KIND | (kind as u64 >> 3) << FEEDBACK;
        let body = [first, second | kind | u64::from(stamp.epoch) << EPOCH];
        Self { flow, size, hop, dscp: stamp.dscp, number, tuple, body }
    }

    /// A body with what few ACKs tell of. By value: others need not lie in memory.
    #[inline(never)]
    fn with_blocks([first, second]: [u64; 2], ack: Ack) -> [u64; 2] {
        let Sack { starts, lens } = ack.sack;
        let offset = |i: usize| starts[i].wrapping_sub(ack.next);
        let is_told = |i: usize| lens[i] > 0 && offset(i) < 1 << OFFSET_BITS;
        let block = |i: usize| if (0..=i).all(is_told) { (offset(i), lens[i]) } else { (0, 0) };
        let last = |i: usize| if is_told(i) { block(i) } else { (u32::from(ack.has_new_window), 0) };
        let twice = ack.dsack.filter(|seq| seq.abs_diff(ack.next) < 1 << (OFFSET_BITS - 1));
        let blocks = match twice {
            Some(seq) => [(seq.wrapping_sub(ack.next) & OFFSETS, 0), block(0), last(1)],
            None => [block(0), block(1), last(2)],
        };
        let [one, two, three] = blocks.map(|(offset, len)| u128::from(offset) | u128::from(len) << OFFSET_BITS);
        let second = second | 1 << MORE | u64::from(ack.is_resent) << ECHOES_RESENT;
        let body = u128::from(first) | u128::from(second) << 64 | one | two << BLOCK_BITS | three << (2 * BLOCK_BITS);
        [body as u64, (body >> 64) as u64]
    }

    fn bits(&self) -> u128 {
        u128::from(self.body[0]) | u128::from(self.body[1]) << 64
    }

    fn set_bits(&mut self, bits: u128) {
        self.body = [bits as u64, (bits >> 64) as u64];
    }

    /// Those of the third block, whose place something else may take.
    const LAST_BITS: u128 = ((1 << DELAY_BITS) - 1) << DELAY;

    /// A plain ACK becomes one of another kind.
    fn tell_more(&mut self, kind: PacketKind) {
        self.body[1] = self.body[1] & !(7 << KIND) | (kind as u64) << KIND | 1 << MORE;
    }

    /// An ACK takes a delay along, no longer than 8.8 s.
    pub fn set_delay(&mut self, delay: Span) {
        const LONGEST: u64 = (1 << DELAY_BITS) - 1;
        let others = self.bits() & !Self::LAST_BITS;
        self.set_bits(others | u128::from(delay.0.min(LONGEST)) << DELAY);
        self.tell_more(PacketKind::TimedAck);
    }

    /// An ACK takes a window along, of up to 2^20 - 1 segments, and when it is sent.
    pub fn set_advertised(&mut self, advertised: Advertised) {
        const LARGEST: u32 = (1 << WINDOW_BITS) - 1;
        let window = (advertised.edge - self.number).min(LARGEST);
        let bits = u128::from(window) | u128::from(Timestamp::at(advertised.sent_at).0) << WINDOW_BITS;
        let others = self.bits() & !Self::LAST_BITS;
        self.set_bits(others | bits << DELAY);
        self.tell_more(PacketKind::WindowAck);
    }

    /// The window that an ACK takes along, read at `now`.
    #[inline]
    pub fn advertised(&self, now: Time) -> Option<Advertised> {
        (self.kind_bits() == PacketKind::WindowAck as u64).then(|| {
            let bits = (self.bits() >> DELAY) as u64;
            let (window, stamp) = (bits & ((1 << WINDOW_BITS) - 1), bits >> WINDOW_BITS & Timestamp::LAST);
            Advertised { edge: self.number + window as u32, sent_at: Timestamp(stamp).time(now) }
        })
    }

    /// A segment that has not been sent before takes along the timestamp of an ACK sent at `sent_at`.
    pub fn set_echo(&mut self, sent_at: Time) {
        self.body[1] |= Timestamp::at(sent_at).0 << AGE;
    }

    /// The time of the ACK whose timestamp a segment echoes, read at `now`; `None` if it does not say.
    #[inline]
    pub fn echo(&self, now: Time) -> Option<Time> {
        let stamp = self.body[1] >> AGE & Timestamp::LAST;
        (stamp > 0 && !self.is_resent()).then(|| Timestamp(stamp).time(now))
    }

    /// An ACK takes a count of marks along, in the place of the third block, or of the second if it takes a delay.
    pub fn set_marks(&mut self, marks: u32) {
        let shift = self.count_place() as u32 * BLOCK_BITS;
        let others = self.bits() & !(u128::from(u32::MAX) << shift | 3 << (shift + u32::BITS));
        self.set_bits(others | u128::from(marks) << shift);
        self.body[1] |= 1 << COUNTS | 1 << MORE;
    }

    /// Index of the SACK block that a count of marks replaces.
    fn count_place(&self) -> usize {
        if self.kind() == PacketKind::Ack { 2 } else { 1 }
    }

    /// Its kind.
    #[inline]
    pub fn kind(&self) -> PacketKind {
        match self.kind_bits() {
            0 => PacketKind::Data,
            1 => PacketKind::Resent,
            2 => PacketKind::Foreign,
            3 => PacketKind::ForeignReply,
            4 => PacketKind::Ack,
            5 => PacketKind::TimedAck,
            6 => PacketKind::WindowAck,
            _ if self.body[1] >> FEEDBACK & 1 == 1 => PacketKind::Feedback,
            _ => PacketKind::Media,
        }
    }

    /// The number of its kind, which [`PacketKind::Media`] and [`PacketKind::Feedback`] share.
    #[inline]
    fn kind_bits(&self) -> u64 {
        self.body[1] >> KIND & 7
    }

    /// It is no ACK of ours: it may carry a mark, and its loss counts.
    #[inline]
    pub fn is_data(&self) -> bool {
        !(PacketKind::Ack as u64..=PacketKind::WindowAck as u64).contains(&self.kind_bits())
    }

    /// It goes from the end that data reach to the other one.
    #[inline]
    pub fn goes_back(&self) -> bool {
        let replies = PacketKind::ForeignReply as u64..=PacketKind::WindowAck as u64;
        replies.contains(&self.kind_bits()) || self.is_media() && self.body[1] >> FEEDBACK & 1 == 1
    }

    /// Its ends are those of a call that adapts.
    #[inline]
    pub fn is_media(&self) -> bool {
        self.kind_bits() == PacketKind::Media as u64
    }

    /// Its ends are outside of the simulation.
    #[inline]
    pub fn is_foreign(&self) -> bool {
        (PacketKind::Foreign as u64..=PacketKind::ForeignReply as u64).contains(&self.kind_bits())
    }

    /// Number of its transfer within its flow, modulo 256: leftovers of an earlier transfer are ignored.
    #[inline]
    pub fn epoch(&self) -> u8 {
        (self.body[1] >> EPOCH) as u8
    }

    /// Contents of a packet of kind data.
    #[inline]
    pub fn data(&self) -> Data {
        Data {
            sent_at: Time(self.body[0]),
            seq: self.number,
            rtt: AnnouncedRtt(self.body[1] as u16),
            ecn: self.ecn_bits(),
            is_cwr: self.body[1] >> CWR & 1 == 1,
            is_push: self.body[1] >> PUSH & 1 == 1,
            is_resent: self.is_resent(),
        }
    }

    /// The ECN field of what is no ACK of ours.
    #[inline]
    fn ecn_bits(&self) -> Ecn {
        match self.body[1] >> ECN & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        }
    }

    /// A segment that has been sent before.
    #[inline]
    pub fn is_resent(&self) -> bool {
        self.kind_bits() == PacketKind::Resent as u64
    }

    /// Time at which the segment was sent first, to a microsecond; `None` of one that has been sent before, if it does not
    /// say.
    pub fn first_sent(&self) -> Option<Time> {
        let sent_at = self.body[0];
        let age = if self.is_resent() { self.body[1] >> AGE & ((1 << AGE_BITS) - 1) } else { 0 };
        (age > 0 || !self.is_resent()).then(|| Time(sent_at - age * Self::AGE_UNIT.0))
    }

    /// A segment that has been sent before takes along when it was sent first; of two times, the earlier one.
    pub fn set_first_sent(&mut self, time: Time) {
        const MOST: u64 = (1 << AGE_BITS) - 1;
        let age = (Time(self.body[0]).since(time).0 / Self::AGE_UNIT.0).clamp(1, MOST);
        let known = self.body[1] >> AGE & MOST;
        self.body[1] = self.body[1] & !(MOST << AGE) | age.max(known) << AGE;
    }

    const AGE_UNIT: Span = Span::from_micros(1);

    /// Contents of an ACK, if it has only what each has.
    #[inline]
    pub fn plain_ack(&self) -> Option<Ack> {
        (self.body[1] >> MORE & 1 == 0).then(|| self.basic_ack())
    }

    /// Contents of an ACK.
    pub fn ack(&self) -> Ack {
        self.plain_ack().unwrap_or_else(|| self.whole(self.basic_ack()))
    }

    #[inline]
    fn basic_ack(&self) -> Ack {
        let rwnd = if self.body[1] >> OFFERS & 1 == 1 { self.tuple } else { 0 };
        Ack { next: self.number, ece: self.body[1] >> ECE & 1 == 1, rwnd, ..Ack::default() }
    }

    /// An ACK with what few carry. Nothing is written to a place that is known at run time only: the reader would wait for it.
    #[inline(always)]
    fn whole(&self, ack: Ack) -> Ack {
        let (is_timed, counts) = (self.kind() == PacketKind::TimedAck, self.body[1] >> COUNTS & 1 == 1);
        let (bits, next) = (self.bits(), ack.next);
        let is_plain = self.kind() == PacketKind::Ack;
        let room = 3 - u32::from(!is_plain) - u32::from(counts);
        let [first, second, third] = [0, 1, 2].map(|i| {
            let (offset, len) =
                ((bits >> (i * BLOCK_BITS)) as u32 & OFFSETS, (bits >> (i * BLOCK_BITS + OFFSET_BITS)) as u16);
            if i < room { (offset, len) } else { (0, 0) }
        });
        let has_twice = first.0 > 0 && first.1 == 0;
        let sign = u32::BITS - OFFSET_BITS;
        let twice = next.wrapping_add_signed((first.0 << sign) as i32 >> sign);
        let blocks = if has_twice { [second, third, (0, 0)] } else { [first, second, third] };
        let starts = blocks.map(|(offset, len)| if len > 0 { next.wrapping_add(offset) } else { 0 });
        let delay = Span((bits >> DELAY) as u64 & ((1 << DELAY_BITS) - 1));
        Ack {
            sack: Sack { starts, lens: blocks.map(|(_, len)| len) },
            dsack: has_twice.then_some(twice),
            is_resent: self.body[1] >> ECHOES_RESENT & 1 == 1,
            has_new_window: third.0 > 0 && third.1 == 0,
            delay: if is_timed { delay } else { Span::ZERO },
            ce: if counts { (bits >> (self.count_place() as u32 * BLOCK_BITS)) as u32 } else { 0 },
            ..ack
        }
    }
}

/// A timestamp (RFC 7323) of a clock that ticks each microsecond, from 1 up to [`Timestamp::LAST`] and again: a time is known for
/// 8.4 s. 0 is none.
struct Timestamp(u64);

impl Timestamp {
    const LAST: u64 = (1 << (DELAY_BITS - WINDOW_BITS)) - 1;
    const TICK: Span = Span::from_micros(1);

    fn at(time: Time) -> Self {
        Self(time.0 / Self::TICK.0 % Self::LAST + 1)
    }

    /// The last time before `now` that has it.
    fn time(&self, now: Time) -> Time {
        let now = now.0 / Self::TICK.0;
        let since = (now + Self::LAST - (self.0 - 1)) % Self::LAST;
        Time(now.saturating_sub(since) * Self::TICK.0)
    }
}

/// A round-trip time as a packet carries it: units of 0.1 ms, up to 6.5 s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnnouncedRtt(u16);

impl AnnouncedRtt {
    const UNIT: Span = Span::from_micros(100);

    pub fn new(rtt: Span) -> Self {
        AnnouncedRtt((rtt.0 / Self::UNIT.0).clamp(1, u16::MAX.into()) as u16)
    }

    fn span(self) -> Option<Span> {
        (self.0 > 0).then(|| Span(u64::from(self.0) * Self::UNIT.0))
    }
}

impl WirePacket for Packet {
    /// An ACK has none.
    fn set_ecn(&mut self, ecn: Ecn) {
        if self.is_data() {
            self.body[1] = self.body[1] & !(3 << ECN) | (ecn as u64) << ECN;
        }
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
    /// That of an ACK is the other direction's.
    #[inline]
    fn flow_hash(&self) -> u32 {
        if self.goes_back() { !self.tuple } else { self.tuple }
    }
    #[inline]
    fn host(&self) -> u32 {
        let sends_data = self.tuple >> PORT_BITS;
        if self.goes_back() { MAX_HOSTS + sends_data } else { sends_data }
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        if !self.is_data() {
            return Ecn::NotEct; // RFC 3168, section 6.1.4
        }
        self.ecn_bits()
    }
    #[inline]
    fn dscp(&self) -> u8 {
        self.dscp as u8
    }
    #[inline]
    fn rtt(&self) -> Option<Span> {
        if self.is_data() { self.data().rtt.span() } else { None }
    }
    #[inline]
    fn mark(&mut self) {
        self.body[1] |= (Ecn::Ce as u64) << ECN;
    }
}
