//! What the application of a sender of Linux writes, which PSH tells its receiver.

/// Segments that the send buffer has room for at first, and of the first write: 64 KiB of the kernel's memory (`tcp_wmem`).
const FIRST_ROOM: u32 = 31;
const FIRST_WRITE: u32 = 29;
/// Whole segments of 128 KiB, the most that is written at once: iperf3's block.
const BLOCK: u32 = 90;

/// The ends of an application's writes. It writes whenever a third of the send buffer is free (`sk_stream_write_space`), which has room for
/// two windows (`tcp_sndbuf_expand`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Writes {
    /// The last segment of the present write.
    last: u32,
    room: u32,
}

impl Default for Writes {
    fn default() -> Self {
        Self { last: FIRST_WRITE, room: FIRST_ROOM }
    }
}

impl Writes {
    /// A segment that is sent for the first time is the last of a write.
    #[inline]
    pub fn ends_with(&mut self, seq: u32, cwnd: f64) -> bool {
        if seq < self.last {
            return false;
        }
        self.room = self.room.max((2.0 * cwnd) as u32);
        self.last = seq + (self.room / 3).min(BLOCK);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_third_of_the_buffer_at_a_time_and_no_more_than_a_block() {
        let mut writes = Writes::default();
        let mut ends = |segments: std::ops::Range<u32>, cwnd| -> Vec<u32> {
            segments.filter(|seq| writes.ends_with(*seq, cwnd)).collect()
        };
        assert_eq!(ends(1..50, 10.0), [29, 39, 49]);
        assert_eq!(ends(50..90, 30.0), [59, 79], "two windows of 30 segments");
        assert_eq!(ends(90..130, 6.0), [99, 119], "it stays");
        assert_eq!(ends(130..400, 600.0), [139, 229, 319]);
    }
}
