//! The writes of the application of a sender of Linux, which PSH tells its receiver.

use super::outstanding::OutstandingSegments;

/// Bytes of the kernel's memory that a full segment takes in the send buffer: its header and 1448 bytes (`tcp_stream_alloc_skb`).
/// SACKed ones that follow each other have one header (`tcp_shift_skb_data`).
const HEADER: u32 = 832;
const SEGMENT: u32 = HEADER + 1448;
/// What `tcp_sndbuf_expand` counts for one.
const EXPECTED: u32 = 2304;
/// Size of the send buffer at first, bytes (`tcp_wmem`).
const FIRST_ROOM: u32 = 65_536;
/// The last segment of the first write, and one in the middle of it: half of the receiver's first window (`forced_push`).
const FIRST_END: u32 = FIRST_ROOM.div_ceil(SEGMENT);
const FIRST_PUSH: u32 = 23;
/// Writes in the buffer: each has filled a third of it, or more. A write that follows a larger one may be smaller, and forgets it.
const KEPT: usize = 6;
/// Least window that there is room for (`TCP_INIT_CWND`).
const LEAST_WINDOW: u32 = 10;

/// The ends of an application's writes. It writes as much as there is room for, when it is told of room: a third of the send buffer
/// (`sk_stream_write_space`).
#[derive(Clone, Copy, Debug)]
pub(super) struct Writes {
    /// One past the last segment written.
    written: u32,
    /// Size of the send buffer, bytes (`sk_sndbuf`).
    room: u32,
    /// The last segments of writes that are not acknowledged, the latest first; zero is none.
    ends: [u32; KEPT],
}

impl Default for Writes {
    fn default() -> Self {
        Self { written: FIRST_END + 1, room: FIRST_ROOM, ends: [FIRST_END, FIRST_PUSH, 0, 0, 0, 0] }
    }
}

impl Writes {
    /// A segment that is sent, for the first time or again, is the last of a write. `hole` is the first one not acknowledged.
    #[inline]
    pub fn ends_with(&mut self, seq: u32, hole: u32) -> bool {
        if seq >= self.written {
            self.write(hole, 0);
        }
        self.ends.contains(&seq)
    }

    /// The send buffer has room for so many `windows` of `cwnd` segments (`tcp_sndbuf_expand`).
    #[inline]
    pub fn expand(&mut self, windows: u32, cwnd: u32) {
        self.room = self.room.max(windows.saturating_mul(cwnd.max(LEAST_WINDOW)).saturating_mul(EXPECTED));
    }

    /// All before `hole` is acknowledged: the application may write.
    #[inline]
    pub fn on_ack(&mut self, hole: u32, board: &OutstandingSegments) {
        let queued = self.written.saturating_sub(hole).saturating_mul(SEGMENT);
        if self.is_told(queued.saturating_sub(HEADER.saturating_mul(board.sacked()))) {
            let shared = HEADER * board.sacked_behind_others();
            if self.is_told(queued - shared) {
                self.write(hole, shared);
            }
        }
    }

    /// With so many bytes in the buffer.
    #[inline]
    fn is_told(&self, queued: u32) -> bool {
        queued <= self.room && self.room - queued >= queued / 2
    }

    /// A segment begins while there is room; `shared` are the bytes that those in the buffer do not take.
    #[cold]
    fn write(&mut self, hole: u32, shared: u32) {
        let written = hole + (self.room + shared).div_ceil(SEGMENT);
        if written > self.written {
            self.written = written;
            self.ends.rotate_right(1);
            self.ends[0] = written - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ends among `sent` while all before `hole` is acknowledged.
    fn ends(writes: &mut Writes, sent: std::ops::Range<u32>, hole: u32) -> Vec<u32> {
        sent.filter(|seq| writes.ends_with(*seq, hole)).collect()
    }

    #[test]
    fn a_write_begins_when_a_third_of_the_buffer_is_free() {
        let mut writes = Writes::default();
        assert_eq!(ends(&mut writes, 1..11, 1), [0; 0]);
        writes.on_ack(10, &OutstandingSegments::default()); // 20 segments wait, 45,600 bytes of 65,536
        assert_eq!(ends(&mut writes, 11..22, 10), [0; 0]);
        writes.on_ack(12, &OutstandingSegments::default()); // 18 wait; 29 segments fill the buffer
        assert_eq!(ends(&mut writes, 22..60, 12), [23, 29, 40]);
    }

    #[test]
    fn the_buffer_has_room_for_two_windows() {
        let mut writes = Writes::default();
        writes.expand(2, 14);
        assert_eq!(writes.room, 65_536);
        writes.expand(2, 17);
        assert_eq!(writes.room, 78_336);
        writes.expand(2, 10);
        assert_eq!(writes.room, 78_336, "it stays");
        writes.on_ack(8, &OutstandingSegments::default()); // 22 wait, and 35 fill it: 79,800 bytes
        assert_eq!(ends(&mut writes, 1..60, 8), [23, 29, 42]);
    }

    #[test]
    fn who_has_sent_all_that_is_written_writes_at_once() {
        let mut writes = Writes::default();
        assert_eq!(ends(&mut writes, 1..31, 20), [23, 29]);
        assert_eq!((writes.written, writes.ends[0]), (49, 48));
    }
}
