//! Arrivals and decisions, written down packet by packet for the replay.
//!
//! A record has 32 bytes, little-endian: time in ns of an arrival, in ps of a decision (8), number of the packet (4), flow
//! (4), hash (4), host (4), size (2), traffic class (1), kind (1), and 4 bytes of zeros.

use crate::direction::Decision;
use crate::store::Slot;
use aqmlab_aqm::Fate;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::{JoinHandle, spawn};

/// Bytes of a record.
pub const RECORD: usize = 32;

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A packet has come to the line.
    Arrival = 0,
    /// It has left the link; its traffic class is that after a mark.
    Sent = 1,
    /// It was dropped.
    Dropped = 2,
}

/// Records are handed over when there are so many bytes of them.
const CHUNK: usize = RECORD << 15;

/// A log in the making. A thread of its own writes it, so that a slow disk holds up no packet.
pub struct Log {
    chunk: Vec<u8>,
    chunks: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Log {
    /// Into this file.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: &Path) -> io::Result<Self> {
        let mut file = File::create(path)?;
        let (chunks, taken) = channel::<Vec<u8>>();
        let writer = spawn(move || taken.into_iter().try_for_each(|chunk| file.write_all(&chunk)));
        Ok(Self { chunk: Vec::with_capacity(CHUNK), chunks, writer })
    }

    /// A packet has come.
    pub fn arrival(&mut self, slot: &Slot) {
        self.write(slot, slot.arrived.0 / 1000, Kind::Arrival);
    }

    /// Something became of it.
    pub fn decision(&mut self, decision: &Decision) {
        let kind = if let Fate::Dropped(_) = decision.fate { Kind::Dropped } else { Kind::Sent };
        self.write(&decision.slot, decision.time.0, kind);
    }

    fn write(&mut self, slot: &Slot, time: u64, kind: Kind) {
        let record = &mut self.chunk;
        record.extend(time.to_le_bytes());
        [slot.number, slot.flow, slot.hash, slot.host].iter().for_each(|word| record.extend(word.to_le_bytes()));
        record.extend(slot.size.to_le_bytes());
        record.extend([slot.traffic_class, kind as u8, 0, 0, 0, 0]);
        if self.chunk.len() >= CHUNK {
            // Where the disk is full nobody takes it; `end` says why.
            self.chunks.send(std::mem::replace(&mut self.chunk, Vec::with_capacity(CHUNK))).ok();
        }
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Of the disk, at any time since the start.
    pub fn end(self) -> io::Result<()> {
        let Self { chunk, chunks, writer } = self;
        chunks.send(chunk).ok();
        drop(chunks);
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the writer of the log has failed")))
    }
}
