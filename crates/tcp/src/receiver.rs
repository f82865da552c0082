//! Reassembly and cumulative ACKs.

/// One receiver. Acknowledges every segment with the highest one received in order.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next segment expected in order.
    next: u32,
    /// One past the highest segment received.
    end: u32,
    /// A bit for each segment from `next` on that has arrived, at position seq mod 64*len.
    received: Box<[u64]>,
}

impl Default for Receiver {
    fn default() -> Self {
        Self { next: 0, end: 0, received: Box::new([0]) }
    }
}

impl Receiver {
    /// A segment arrives; returns the cumulative ACK, the highest segment in order. `None` before segment 0.
    #[inline]
    pub fn on_segment(&mut self, seq: u32) -> Option<u32> {
        if seq == self.next && self.end <= seq + 1 {
            self.next += 1;
            self.end = self.next;
        } else if seq >= self.next {
            self.out_of_order(seq);
        }
        self.next.checked_sub(1)
    }

    /// Segments received in order.
    pub fn in_order(&self) -> u32 {
        self.next
    }

    fn out_of_order(&mut self, seq: u32) {
        while (seq - self.next) as usize >= 64 * self.received.len() {
            self.grow();
        }
        *self.word(seq) |= 1 << (seq % 64);
        self.end = self.end.max(seq + 1);
        while self.next < self.end && *self.word(self.next) & 1 << (self.next % 64) != 0 {
            let next = self.next;
            *self.word(next) &= !(1 << (next % 64));
            self.next += 1;
        }
    }

    fn word(&mut self, seq: u32) -> &mut u64 {
        let words = self.received.len();
        &mut self.received[seq as usize / 64 % words]
    }

    fn grow(&mut self) {
        let old = std::mem::take(&mut self.received);
        self.received = vec![0; 2 * old.len()].into_boxed_slice();
        for seq in self.next..self.end {
            *self.word(seq) |= old[seq as usize / 64 % old.len()] & 1 << (seq % 64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acknowledges_the_highest_segment_in_order() {
        let mut receiver = Receiver::default();
        let acks: Vec<_> = [1, 0, 1, 2, 4, 5, 4, 3, 6].map(|seq| receiver.on_segment(seq)).into();
        assert_eq!(acks, [None, Some(1), Some(1), Some(2), Some(2), Some(2), Some(2), Some(5), Some(6)]);
    }

    #[test]
    fn holds_any_amount_out_of_order() {
        let mut receiver = Receiver::default();
        receiver.on_segment(0);
        for seq in (2..1000).rev() {
            assert_eq!(receiver.on_segment(seq), Some(0));
        }
        assert_eq!(receiver.on_segment(1), Some(999));
        assert_eq!(receiver.on_segment(1000), Some(1000));
        assert_eq!(receiver.on_segment(1002), Some(1000));
    }

    #[test]
    fn agrees_with_a_set() {
        // A permutation of 0..2000 with stride 7 in blocks: every order of arrival ends complete.
        let mut receiver = Receiver::default();
        let mut seen = std::collections::BTreeSet::new();
        for i in 0..2000u32 {
            let seq = (i / 100) * 100 + (i * 37 + 11) % 100;
            seen.insert(seq);
            let in_order = (0..).take_while(|s| seen.contains(s)).count() as u32;
            receiver.on_segment(seq);
            assert_eq!(receiver.in_order(), in_order);
        }
        assert_eq!(receiver.in_order(), 2000);
    }
}
