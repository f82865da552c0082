//! A capture file (pcapng, draft-ietf-opsawg-pcapng): the packets of one interface, with times in ns.
//!
//! Its three blocks are written here: the crate `pcap-file` needs a second `thiserror` and `syn` (2.0) or is not released (3.0).

use aqmlab_core::Time;
use std::io::{self, Write};

/// A capture file that is being written.
pub struct PcapngWriter<W> {
    out: W,
    /// Bytes of a frame that are kept.
    snap: u32,
}

impl<W: Write> PcapngWriter<W> {
    /// Of an Ethernet interface; of each frame `snap` bytes are kept.
    ///
    /// # Errors
    /// Of `out`.
    pub fn begin(mut out: W, interface: &str, snap: u32) -> io::Result<Self> {
        write_section(&mut out)?;
        write_interface(&mut out, interface, snap)?;
        Ok(Self { out, snap })
    }

    /// Writes a frame of `length` bytes, of which at least the first `snap` are in `bytes`, or all (enhanced packet block, 4.3).
    ///
    /// # Errors
    /// Of the file.
    pub fn write(&mut self, time: Time, bytes: &[u8], length: u32) -> io::Result<()> {
        let (ns, kept) = (time.0 / 1000, length.min(self.snap));
        let bytes = &bytes[..kept as usize];
        let padding = bytes.len().next_multiple_of(4) - bytes.len();
        let total = 32 + (bytes.len() + padding) as u32;
        for field in [6, total, 0, (ns >> 32) as u32, ns as u32, kept, length] {
            self.out.write_all(&field.to_le_bytes())?;
        }
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; 3][..padding])?;
        self.out.write_all(&total.to_le_bytes())
    }

    /// Writes what is not written yet.
    ///
    /// # Errors
    /// Of the file.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Section header block (4.1).
fn write_section(out: &mut impl Write) -> io::Result<()> {
    let mut body = Vec::new();
    body.extend(0x1a2b_3c4d_u32.to_le_bytes());
    body.extend([1, 0, 0, 0]); // version 1.0
    body.extend([0xff; 8]); // length of the section not given
    let program = concat!("aqmlab ", env!("CARGO_PKG_VERSION"));
    push_option(&mut body, 4, program.as_bytes());
    push_option(&mut body, 0, &[]);
    write_block(out, 0x0a0d_0d0a, &body)
}

/// Interface description block (4.2): Ethernet, times in ns.
fn write_interface(out: &mut impl Write, name: &str, snap: u32) -> io::Result<()> {
    let mut body = vec![1, 0, 0, 0];
    body.extend(snap.to_le_bytes());
    push_option(&mut body, 2, name.as_bytes());
    push_option(&mut body, 9, &[9]);
    push_option(&mut body, 0, &[]);
    write_block(out, 1, &body)
}

fn push_option(body: &mut Vec<u8>, code: u16, value: &[u8]) {
    body.extend(code.to_le_bytes());
    body.extend((value.len() as u16).to_le_bytes());
    body.extend(value);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn write_block(out: &mut impl Write, kind: u32, body: &[u8]) -> io::Result<()> {
    let total = 12 + body.len() as u32; // options are padded
    out.write_all(&kind.to_le_bytes())?;
    out.write_all(&total.to_le_bytes())?;
    out.write_all(body)?;
    out.write_all(&total.to_le_bytes())
}
