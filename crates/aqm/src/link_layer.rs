//! Overhead of a packet on a link, beyond its own bytes: headers, padding, cells.

use aqmlab_core::choice;

choice! {
    /// The frames or cells that a link cuts packets into.
    pub enum Framing {
        /// Nothing: bytes are sent as they are.
        Plain = "none",
        /// ATM: cells of 53 bytes with 48 of them for the packet, the last one padded.
        Atm = "atm",
        /// PTM: a byte more for every 64, begun ones included.
        Ptm = "ptm",
    }
}

/// A link layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLayer {
    /// Bytes added to each packet.
    pub added: i64,
    /// No packet takes fewer bytes than these, before framing.
    pub least: i64,
    /// The framing.
    pub framing: Framing,
}

impl LinkLayer {
    /// A packet takes its own bytes.
    pub const PLAIN: Self = Self { added: 0, least: 0, framing: Framing::Plain };

    /// Bytes that a packet of `size` bytes takes.
    #[inline]
    pub fn bytes(self, size: u32) -> u32 {
        let bytes = (i64::from(size) + self.added).max(self.least) as u32;
        match self.framing {
            Framing::Plain => bytes,
            Framing::Atm => bytes.div_ceil(48) * 53,
            Framing::Ptm => bytes + bytes.div_ceil(64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(added: i64, least: i64, framing: Framing) -> LinkLayer {
        LinkLayer { added, least, framing }
    }

    #[test]
    fn atm_fills_whole_cells() {
        // PPPoE with LLC/SNAP: 40 bytes. 1500 + 40 = 1540 B: 33 cells of 53 B; 40 + 40 = 80 B: 2; 56 + 40 = 96 B: 2; 57: 3.
        let atm = layer(40, 0, Framing::Atm);
        assert_eq!([1500, 40, 56, 57].map(|size| atm.bytes(size)), [1749, 106, 106, 159]);
    }

    #[test]
    fn ptm_takes_a_byte_for_every_64_or_part_of_them() {
        // 34 + 30 = 64 B: 65; 35 + 30 = 65 B: 67; 1492 + 30 = 1522 B: 23.8 times 64, so 24 more.
        let ptm = layer(30, 0, Framing::Ptm);
        assert_eq!([34, 35, 1492].map(|size| ptm.bytes(size)), [65, 67, 1546]);
    }

    #[test]
    fn the_least_size_is_held_against_what_has_been_added_and_before_it_is_framed() {
        // Ethernet: 40 + 38 = 78 B count as 84; 46 + 38 = 84. In cells: 84 B take two, 106 B.
        assert_eq!([40, 46, 1500].map(|size| layer(38, 84, Framing::Plain).bytes(size)), [84, 84, 1538]);
        assert_eq!(layer(38, 84, Framing::Atm).bytes(40), 106);
    }

    #[test]
    fn a_plain_link_and_one_that_takes_off_a_header() {
        assert_eq!([0, 1, 1514].map(|size| LinkLayer::PLAIN.bytes(size)), [0, 1, 1514]);
        assert_eq!([1514, 14, 10].map(|size| layer(-14, 0, Framing::Plain).bytes(size)), [1500, 0, 0]);
    }
}
