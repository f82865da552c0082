//! The packets that leave a direction, as a capture file (pcapng, draft-ietf-opsawg-pcapng): headers only.

use crate::spool::Spool;
use aqmlab_core::{Span, Time};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::path::Path;

/// Bytes of a packet that are kept: IPv6 with TCP and its options.
const KEPT: usize = 128;

const SECTION: u32 = 0x0a0d_0d0a;
const INTERFACE: u32 = 1;
const PACKET: u32 = 6;
/// Packets begin with an IP header.
const RAW_IP: u16 = 101;

/// A capture in the making.
pub struct Capture {
    spool: Spool,
    /// Time since 1970 at the start of the run, ns.
    epoch: u64,
    block: Vec<u8>,
}

impl Capture {
    /// Into this file; the run starts now.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new(path: &Path) -> io::Result<Self> {
        let time = clock_gettime(ClockId::CLOCK_REALTIME)?;
        let epoch = time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64;
        let mut capture = Self { spool: Spool::new(path)?, epoch, block: Vec::with_capacity(2 * KEPT) };
        // Byte order, version 1.0, length not known.
        capture.write(SECTION, &[&0x1a2b_3c4du32.to_ne_bytes(), &1u16.to_ne_bytes(), &[0; 2], &[0xff; 8]]);
        // Time in ns (if_tsresol, 9), and the end of the options.
        let resolution = [&9u16.to_ne_bytes()[..], &1u16.to_ne_bytes(), &[9, 0, 0, 0], &[0; 4]].concat();
        capture.write(INTERFACE, &[&RAW_IP.to_ne_bytes(), &[0; 2], &(KEPT as u32).to_ne_bytes(), &resolution]);
        Ok(capture)
    }

    /// A packet has left, made of a header and the rest.
    pub fn packet(&mut self, now: Time, header: &[u8], rest: &[u8]) {
        let size = header.len() + rest.len();
        let kept = size.min(KEPT);
        let (header, rest) = (&header[..header.len().min(kept)], &rest[..kept.saturating_sub(header.len())]);
        let time = self.epoch + now.since(Time::ZERO).0 / Span::from_nanos(1).0;
        let words = [0, (time >> 32) as u32, time as u32, kept as u32, size as u32].map(u32::to_ne_bytes).concat();
        let padding = &[0; 3][..kept.next_multiple_of(4) - kept];
        self.write(PACKET, &[&words, header, rest, padding]);
    }

    /// A block: its kind, its length, what is in it, and its length again.
    fn write(&mut self, kind: u32, parts: &[&[u8]]) {
        let length = (12 + parts.iter().map(|part| part.len()).sum::<usize>()) as u32;
        self.block.clear();
        self.block.extend([kind.to_ne_bytes(), length.to_ne_bytes()].as_flattened());
        parts.iter().for_each(|part| self.block.extend_from_slice(part));
        self.block.extend(length.to_ne_bytes());
        self.spool.write(&self.block);
    }

    /// Writes the rest.
    ///
    /// # Errors
    /// Of the disk.
    pub fn end(self) -> io::Result<()> {
        self.spool.end()
    }
}
