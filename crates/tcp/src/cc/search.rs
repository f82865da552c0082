//! SEARCH, slow start exit at right chokepoint (draft-chung-ccwg-search-09): slow start ends when less arrives than was sent a
//! round trip before, both summed over three and a half round trips. Then the window falls to what the path carries in a round trip
//! without a queue, by a segment for every three acknowledged.
//!
//! The sums are kept for ten bins of time, as the difference of two totals. Revision 00 compared what arrives with twice what had
//! arrived a round trip before, against a threshold of 0.35, and took the excess off at once; from 09 are the segments sent, the
//! threshold and the drain. Two readings: where the beginning of a sum lies within a bin, the share of the bin before it counts (the
//! draft's text adds the bin after it, which Mozilla's implementation found to be a mistake); and a sender from which nothing has
//! been heard for a whole window of bins begins anew, which the draft leaves open.

use super::{Facts, Window};
use aqmlab_core::{Span, Time};

/// WINDOW_SIZE over the first round-trip time.
const WINDOW: f64 = 3.5;
/// W: bins of a window.
const W: usize = 10;
/// EXTRA_BINS: how far back it looks for what was sent, bins.
const EXTRA_BINS: usize = 15;
/// NUM_BINS, and one for the bin before the first of a sum.
const NUM_BINS: usize = W + EXTRA_BINS + 1;
/// THRESH: the share of what was sent that is missing when slow start ends.
const THRESH: f64 = 0.26;
/// Segments acknowledged for each by which the window falls in the drain.
const ACKED_PER_DRAINED: f64 = 3.0;

/// The step that an ACK has been to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchStep {
    /// Nothing: slow start goes on.
    Grows,
    /// The window fell.
    Drains,
    /// The window fell, and the drain is over.
    Over,
}

/// The first slow start of a connection, and the drain after it.
#[derive(Clone, Debug, Default)]
pub struct Search {
    bins: Option<Bins>,
    /// The window at which the drain ends, if it is on.
    target: Option<f64>,
}

/// Segments acknowledged and sent until the end of each bin.
#[derive(Clone, Debug)]
struct Bins {
    acked: [u32; NUM_BINS],
    sent: [u32; NUM_BINS],
    /// curr_idx: the last bin that is over, counted from the beginning.
    current: usize,
    /// bin_end, and BIN_DURATION.
    end: Time,
    duration: Span,
    initial_rtt: Span,
}

impl Search {
    /// An ACK outside recovery.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Facts) -> SearchStep {
        if self.target.is_none() && window.cwnd < window.ssthresh {
            self.target = self.chokepoint(ack);
        }
        let Some(target) = self.target else { return SearchStep::Grows };
        let drained = window.cwnd - f64::from(ack.acked) / ACKED_PER_DRAINED;
        window.cwnd = drained.max(target.min(window.cwnd));
        window.ssthresh = window.cwnd;
        if window.cwnd > target { SearchStep::Drains } else { SearchStep::Over }
    }

    /// The window that the path carries, if slow start ends at this ACK.
    fn chokepoint(&mut self, ack: &Facts) -> Option<f64> {
        let rtt = ack.rtt?;
        let Some(bins) = &mut self.bins else {
            self.bins = Some(Bins::new(rtt, ack));
            return None;
        };
        if ack.now <= bins.end {
            return None;
        }
        if !bins.update(ack) {
            self.bins = None;
            return None;
        }
        bins.is_choked(rtt).then(|| bins.carried())
    }
}

impl Bins {
    fn new(initial_rtt: Span, ack: &Facts) -> Self {
        let duration = Span::from_seconds(initial_rtt.seconds() * WINDOW / W as f64);
        let (mut acked, mut sent) = ([0; NUM_BINS], [0; NUM_BINS]);
        (acked[0], sent[0]) = (ack.hole, ack.sent);
        Self { acked, sent, current: 0, end: ack.now + duration, duration, initial_rtt }
    }

    /// update_bins: one bin is over, or more. False if so many are that what is known is too old.
    fn update(&mut self, ack: &Facts) -> bool {
        let passed = (ack.now.since(self.end).0 / self.duration.0 + 1) as usize;
        if passed > W {
            return false;
        }
        let (acked, sent) = (self.acked[self.current % NUM_BINS], self.sent[self.current % NUM_BINS]);
        for bin in self.current + 1..self.current + passed {
            (self.acked[bin % NUM_BINS], self.sent[bin % NUM_BINS]) = (acked, sent);
        }
        self.current += passed;
        self.end += Span(self.duration.0 * passed as u64);
        (self.acked[self.current % NUM_BINS], self.sent[self.current % NUM_BINS]) = (ack.hole, ack.sent);
        true
    }

    /// Less has arrived in the last window than was sent in the one that ended a round trip before.
    fn is_choked(&self, rtt: Span) -> bool {
        let back = (rtt.0 / self.duration.0) as usize;
        if back >= EXTRA_BINS || self.current <= W + back {
            return false; // not enough bins
        }
        let previous = self.current - back;
        let fraction = (rtt.0 % self.duration.0) as f64 / self.duration.0 as f64;
        let arrived = sum(&self.acked, self.current - W, self.current);
        let sent = (1.0 - fraction) * sum(&self.sent, previous - W, previous)
            + fraction * sum(&self.sent, previous - 1 - W, previous - 1);
        sent > 0.0 && (sent - arrived) / sent >= THRESH
    }

    /// What has arrived in the last initial round trip, in whole bins: the path's own product of rate and delay.
    fn carried(&self) -> f64 {
        let bins = self.initial_rtt.0.div_ceil(self.duration.0) as usize;
        sum(&self.acked, self.current - bins, self.current)
    }
}

/// Segments from the end of bin `from` to that of bin `to`.
fn sum(totals: &[u32; NUM_BINS], from: usize, to: usize) -> f64 {
    f64::from(totals[to % NUM_BINS] - totals[from % NUM_BINS])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1000;

    /// The ACK that ends bin `i`, with these totals. The first round-trip time is 100 ms, so that a bin takes 35 ms.
    fn ack(i: u64, acked: u32, sent: u32, rtt_us: u64) -> Facts {
        let now = Time::ZERO + Span::from_micros(i * 35 * MS + u64::from(i > 0));
        Facts { acked: 1, hole: acked, sent, rtt: Some(Span::from_micros(rtt_us)), now, ..Facts::default() }
    }

    /// SEARCH after its first ACK, and a window in slow start.
    fn begun() -> (Search, Window) {
        let (mut search, mut window) = (Search::default(), Window { cwnd: 40.0, ssthresh: 1e6 });
        assert_eq!(search.on_ack(&mut window, &ack(0, 0, 4, 100 * MS)), SearchStep::Grows);
        (search, window)
    }

    #[test]
    fn slow_start_ends_when_a_quarter_of_what_was_sent_does_not_arrive() {
        let (mut search, mut window) = begun();
        // Two segments are sent and arrive in a bin, and an RTT of 70 ms is two bins.
        for i in 1..=20 {
            let i32 = i as u32;
            assert_eq!(search.on_ack(&mut window, &ack(i, 2 * i32, 4 + 2 * i32, 70 * MS)), SearchStep::Grows, "{i}");
        }
        // Then one arrives in a bin. After five of them 5 of 20 are missing, after six 6: 0.30.
        for i in 21..=25 {
            let facts = ack(i, 20 + i as u32, 4 + 2 * i as u32, 70 * MS);
            assert_eq!(search.on_ack(&mut window, &facts), SearchStep::Grows, "{i}");
        }
        assert_eq!(window, Window { cwnd: 40.0, ssthresh: 1e6 });
        // The drain: 3 segments arrived in the last three bins, which an RTT of 100 ms takes.
        let facts = Facts { acked: 3, ..ack(26, 46, 56, 70 * MS) };
        assert_eq!(search.on_ack(&mut window, &facts), SearchStep::Drains);
        assert_eq!(window, Window { cwnd: 39.0, ssthresh: 39.0 });
        let more = Facts { acked: 107, ..facts };
        assert_eq!(search.on_ack(&mut window, &more), SearchStep::Drains);
        assert_eq!(search.on_ack(&mut window, &more), SearchStep::Over);
        assert_eq!(window, Window { cwnd: 3.0, ssthresh: 3.0 });
    }

    #[test]
    fn what_was_sent_is_interpolated_backwards() {
        // Bin i sends i segments. At bin 20 and 87.5 ms, two and a half bins: the window ends within bin 18.
        // Bins 9 to 18 have 135, bins 8 to 17 have 125, half of each 130. 0.26 of 130 is 33.8: 96 arrive or 97.
        let choked = |arrived: u32| {
            let mut bins = Bins::new(Span::from_micros(100 * MS), &ack(0, 0, 0, 0));
            for i in 1..=20 {
                bins.update(&ack(i, if i == 20 { arrived } else { 0 }, (i * (i + 1) / 2) as u32, 0));
            }
            bins.is_choked(Span::from_micros(87_500))
        };
        assert_eq!([96, 97].map(choked), [true, false]);
    }

    #[test]
    fn it_needs_a_window_of_bins_and_a_round_trip_more() {
        // Nothing arrives: the first check is at bin 13, for an RTT of two bins.
        let (mut search, mut window) = begun();
        let ended =
            (1..40).find(|&i| search.on_ack(&mut window, &ack(i, 0, 4 + i as u32, 70 * MS)) != SearchStep::Grows);
        assert_eq!(ended, Some(13));
        // With a round trip of 15 bins there is never enough.
        let (mut search, mut window) = begun();
        let late = |i| ack(i, 0, 4 + i as u32, 15 * 35 * MS);
        assert!((1..60).all(|i| search.on_ack(&mut window, &late(i)) == SearchStep::Grows));
    }

    #[test]
    fn skipped_bins_are_empty_and_too_many_begin_it_anew() {
        let (mut search, mut window) = begun();
        search.on_ack(&mut window, &ack(3, 9, 20, 70 * MS));
        let bins = search.bins.as_ref().unwrap();
        assert_eq!((bins.current, &bins.acked[..4], &bins.sent[..4]), (3, &[0, 0, 0, 9][..], &[4, 4, 4, 20][..]));
        search.on_ack(&mut window, &ack(14, 9, 20, 70 * MS));
        assert!(search.bins.is_none());
    }
}
