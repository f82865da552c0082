//! A file that a thread of its own writes, so that a slow disk holds up no packet.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::thread::{JoinHandle, spawn};

/// Bytes are handed over when there are so many.
const CHUNK: usize = 1 << 20;

/// A file in the making.
pub struct Spool {
    chunk: Vec<u8>,
    chunks: Sender<Vec<u8>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Spool {
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

    /// At the end of the file.
    pub fn write(&mut self, bytes: &[u8]) {
        self.chunk.extend_from_slice(bytes);
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
        writer.join().unwrap_or_else(|_| Err(io::Error::other("the thread that writes has failed")))
    }
}
