//! Proportional Rate Reduction (RFC 9937): in a reduction the window follows what arrives.

/// Its state (section 5), in segments.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    /// RecoverFS: the window before the reduction, as in Linux; of one that was not validated, the flight.
    recover_fs: u32,
    /// prr_delivered.
    delivered: u32,
    /// prr_out: sent in this reduction.
    pub out: u32,
}

impl Prr {
    /// Section 6, at the start of a reduction.
    pub fn new(recover_fs: u32) -> Self {
        Self { recover_fs, delivered: 0, out: 0 }
    }

    /// Section 6, at each ACK: SndCnt, the segments that may be sent now. `is_safe`: SafeACK.
    pub fn send_count(&mut self, delivered: u32, in_flight: u32, ssthresh: u32, is_safe: bool) -> u32 {
        self.delivered += delivered;
        let count = match ssthresh.checked_sub(in_flight) {
            None => (u64::from(ssthresh) * u64::from(self.delivered)).div_ceil(self.recover_fs.max(1).into()) as u32,
            Some(room) => {
                let limit = self.delivered.saturating_sub(self.out).max(delivered) + u32::from(is_safe);
                limit.min(room) + self.out
            }
        };
        count.saturating_sub(self.out).max(u32::from(self.out == 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_what_arrives_is_sent_until_the_threshold_is_reached() {
        let mut prr = Prr { recover_fs: 20, delivered: 0, out: 0 };
        // ssthresh 10. At the loss the missing segment is sent, whatever else; then one for two that arrive.
        assert_eq!(prr.send_count(1, 17, 10, false), 1);
        prr.out = 1;
        assert_eq!(prr.send_count(1, 17, 10, false), 0, "ceil(2*10/20) - 1");
        assert_eq!(prr.send_count(1, 16, 10, false), 1, "ceil(3*10/20) - 1");
        // Below the threshold: what has arrived and was not answered, one more where the ACK is safe, up to the threshold.
        let mut below = Prr { recover_fs: 20, delivered: 8, out: 3 };
        assert_eq!(below.send_count(1, 4, 10, false), 6, "9 - 3");
        assert_eq!(below.send_count(1, 8, 10, true), 2, "no more than to the threshold");
    }
}
