//! Values that functions take and give.

use crate::Refusal;
use line::{Counters, Delivery, DropReason, Dropped, Ecn, LineError, Packet, Verdict};
use std::ffi::c_char;

/// The outcome of a call.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AqmlabStatus {
    /// It is done.
    Ok = 0,
    /// It is done, and nothing came out.
    Nothing = 1,
    /// A description, name or value is wrong.
    Input = 2,
    /// Time goes backwards.
    Backwards = 3,
    /// Time is beyond 213 days, what a line can count.
    Late = 4,
    /// Nothing is due yet.
    NotDue = 5,
    /// The length of a packet is not 1 to 65535 bytes.
    Length = 6,
    /// The DSCP of a packet is not 0 to 63.
    Dscp = 7,
    /// A pointer is null that may not be.
    Null = 8,
    /// A fault of aqmlab. The object is of no further use but to be freed.
    Panic = 9,
}

impl AqmlabStatus {
    pub(crate) fn of(error: &LineError) -> Self {
        match error {
            LineError::Input(_) => Self::Input,
            LineError::Backwards { .. } => Self::Backwards,
            LineError::Late { .. } => Self::Late,
            LineError::NotDue { .. } => Self::NotDue,
            LineError::Length { .. } => Self::Length,
            LineError::Dscp { .. } => Self::Dscp,
        }
    }
}

/// ECN field of a packet that does not take part (RFC 3168).
pub const AQMLAB_NOT_ECT: u8 = 0;
/// ECN field of an L4S sender (RFC 9331).
pub const AQMLAB_ECT1: u8 = 1;
/// ECN field of a classic capable sender.
pub const AQMLAB_ECT0: u8 = 2;
/// ECN field of a marked packet.
pub const AQMLAB_CE: u8 = 3;

/// A packet as queue and scheme see it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabPacket {
    /// Bytes of IP; a line that says so adds what its link layer does.
    pub length: u32,
    /// Its flow, by a number of the caller's. Flow queueing hashes it.
    pub flow: u32,
    /// The host that sent it, likewise; for schemes that are fair to hosts.
    pub host: u32,
    /// ECN field of the IP header, `AQMLAB_NOT_ECT` to `AQMLAB_CE`.
    pub ecn: u8,
    /// Its DSCP, 0 to 63; for schemes with priorities, or with a queue for flows that build none (45).
    pub dscp: u8,
}

impl AqmlabPacket {
    pub(crate) fn read(self) -> Result<Packet, Refusal> {
        let Self { length, flow, host, ecn, dscp } = self;
        let ecn = match ecn {
            AQMLAB_NOT_ECT => Ecn::NotEct,
            AQMLAB_ECT1 => Ecn::Ect1,
            AQMLAB_ECT0 => Ecn::Ect0,
            AQMLAB_CE => Ecn::Ce,
            _ => return Err(Refusal(AqmlabStatus::Input, format!("ecn: {ecn} is out of range: must lie in 0 ..= 3"))),
        };
        Ok(Packet { length, ecn, flow, host, dscp })
    }
}

fn bits(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => AQMLAB_NOT_ECT,
        Ecn::Ect1 => AQMLAB_ECT1,
        Ecn::Ect0 => AQMLAB_ECT0,
        Ecn::Ce => AQMLAB_CE,
    }
}

/// The fate of a packet as it entered.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AqmlabVerdict {
    /// It is in the queue, or already being sent.
    Joined = 0,
    /// The same, with a mark.
    Marked = 1,
    /// It was dropped; `aqmlab_line_pop_dropped` has it.
    Dropped = 2,
}

impl From<Verdict> for AqmlabVerdict {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Joined => Self::Joined,
            Verdict::Marked => Self::Marked,
            Verdict::Dropped(_) => Self::Dropped,
        }
    }
}

/// The reason for which a packet was dropped.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AqmlabReason {
    /// The queue was full.
    Full = 0,
    /// The scheme dropped it.
    Scheme = 1,
    /// It had joined, and made room for another.
    Evicted = 2,
    /// It was lost on the wire.
    Lost = 3,
}

/// A packet that comes out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabDelivery {
    /// The payload that was pushed.
    pub payload: u64,
    /// Time at which it comes out, ns.
    pub at: u64,
    /// Time in the queue, ns.
    pub waited: u64,
    /// ECN field, perhaps with a mark.
    pub ecn: u8,
}

impl From<Delivery<u64>> for AqmlabDelivery {
    fn from(Delivery { payload, ecn, waited, at }: Delivery<u64>) -> Self {
        Self { payload, at, waited, ecn: bits(ecn) }
    }
}

/// Bytes of the text of a scheme's reason, its zero included.
pub const AQMLAB_WHY: usize = 32;

/// A packet that does not come out.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabDropped {
    /// The payload that was pushed.
    pub payload: u64,
    /// The time, ns.
    pub at: u64,
    /// The reason.
    pub reason: AqmlabReason,
    /// ECN field at the end.
    pub ecn: u8,
    /// The scheme's own word for why, as results of runs have it; "" if another reason than the scheme.
    pub why: [c_char; AQMLAB_WHY],
}

impl From<Dropped<u64>> for AqmlabDropped {
    fn from(Dropped { payload, ecn, reason, at }: Dropped<u64>) -> Self {
        let (reason, word) = match reason {
            DropReason::Full => (AqmlabReason::Full, ""),
            DropReason::Scheme(word) => (AqmlabReason::Scheme, word),
            DropReason::Evicted => (AqmlabReason::Evicted, ""),
            DropReason::Lost => (AqmlabReason::Lost, ""),
        };
        let mut why = [0; AQMLAB_WHY];
        for (place, byte) in why[..AQMLAB_WHY - 1].iter_mut().zip(word.bytes()) {
            *place = byte as c_char;
        }
        Self { payload, at, reason, ecn: bits(ecn), why }
    }
}

/// Counts of a line since its start: `pushed` is the sum of `delivered`, `full`, `scheme`, `evicted`, `lost` and `held`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AqmlabCounters {
    /// Packets that have entered.
    pub pushed: u64,
    /// Packets taken out at the other end.
    pub delivered: u64,
    /// Packets dropped because they found no room.
    pub full: u64,
    /// Packets dropped by the scheme, at arrival or later.
    pub scheme: u64,
    /// Packets that had joined and were dropped to make room for others.
    pub evicted: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Packets marked by the queue.
    pub marked: u64,
    /// Packets within: waiting, being sent, on the wire, or due and not taken yet.
    pub held: u64,
    /// Those of them that wait in the queue.
    pub waiting: u64,
}

impl From<Counters> for AqmlabCounters {
    fn from(counters: Counters) -> Self {
        let Counters { pushed, delivered, full, scheme, evicted, lost, marked, held, waiting } = counters;
        Self { pushed, delivered, full, scheme, evicted, lost, marked, held, waiting }
    }
}
