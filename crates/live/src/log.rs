//! Arrivals and decisions, written down packet by packet for the replay.
//!
//! A record has 32 bytes, little-endian: time in ns of an arrival, in ps of a decision (8), number of the packet (4), flow
//! (4), hash (4), host (4), size (2), traffic class (1), kind (1), and 4 bytes of zeros.

use crate::direction::Decision;
use crate::spool::Spool;
use crate::store::Slot;
use aqmlab_core::{Span, Time};
use aqmlab_sim::PacketOutcome;
use std::io;
use std::path::Path;

/// Bytes of a record.
pub const RECORD: usize = 32;

/// The event that a record describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RecordKind {
    /// A packet has come to the line.
    Arrival = 0,
    /// It has left the link; its traffic class is that after a mark.
    Sent = 1,
    /// It was dropped.
    Dropped = 2,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRecord {
    /// The time: ns of an arrival, ps of a decision.
    pub time: u64,
    /// Of the packet.
    pub number: u32,
    /// Of its flow.
    pub flow: u32,
    /// Of its tuple.
    pub hash: u32,
    /// Of the address that sent it.
    pub host: u32,
    /// Bytes.
    pub size: u16,
    /// DSCP and ECN.
    pub traffic_class: u8,
    /// The event.
    pub kind: RecordKind,
}

impl LogRecord {
    fn of(slot: &Slot, time: u64, kind: RecordKind) -> Self {
        let Slot { number, flow, hash, host, size, traffic_class, .. } = *slot;
        Self { time, number, flow, hash, host, size, traffic_class, kind }
    }

    /// A packet that has come.
    pub fn of_arrival(slot: &Slot) -> Self {
        Self::of(slot, slot.arrived.0 / 1000, RecordKind::Arrival)
    }

    /// The record of a decision.
    pub fn of_decision(decision: &Decision) -> Self {
        let kind = if decision.outcome == PacketOutcome::Sent { RecordKind::Sent } else { RecordKind::Dropped };
        Self::of(&decision.packet, decision.time.0, kind)
    }

    /// The packet of an arrival; where its bytes are is not known.
    pub fn slot(&self) -> Slot {
        let Self { time, number, flow, hash, host, size, traffic_class, .. } = *self;
        let arrived = Time::ZERO + Span::from_nanos(time);
        Slot { arrived, number, block: 0, part: 0, size, flow, hash, host, traffic_class }
    }

    /// As a log has it.
    pub fn bytes(&self) -> [u8; RECORD] {
        let mut bytes = [0; RECORD];
        bytes[..8].copy_from_slice(&self.time.to_le_bytes());
        for (i, word) in [self.number, self.flow, self.hash, self.host].into_iter().enumerate() {
            bytes[8 + 4 * i..][..4].copy_from_slice(&word.to_le_bytes());
        }
        bytes[24..26].copy_from_slice(&self.size.to_le_bytes());
        bytes[26..28].copy_from_slice(&[self.traffic_class, self.kind as u8]);
        bytes
    }

    /// Reads one; `None` if it is none.
    pub fn read(bytes: &[u8; RECORD]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        Some(Self {
            time: u64::from(word(0)) | u64::from(word(4)) << 32,
            number: word(8),
            flow: word(12),
            hash: word(16),
            host: word(20),
            size: u16::from_le_bytes([bytes[24], bytes[25]]),
            traffic_class: bytes[26],
            kind: *[RecordKind::Arrival, RecordKind::Sent, RecordKind::Dropped].get(usize::from(bytes[27]))?,
        })
    }
}

/// A log in the making.
pub struct Log(Spool);

impl Log {
    /// Into this file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: &Path) -> io::Result<Self> {
        Spool::new(path).map(Self)
    }

    /// A packet has come.
    pub fn arrival(&mut self, slot: &Slot) {
        self.0.write(&LogRecord::of_arrival(slot).bytes());
    }

    /// Something became of it.
    pub fn decision(&mut self, decision: &Decision) {
        self.0.write(&LogRecord::of_decision(decision).bytes());
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Of the disk, at any time since the start.
    pub fn end(self) -> io::Result<()> {
        self.0.end()
    }
}
