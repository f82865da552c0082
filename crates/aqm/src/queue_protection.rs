//! Queue protection of a low-latency queue (RFC 9957): packets of the flows that build the queue go to the classic one.
//!
//! Names and steps are those of the RFC's pseudocode (section 4.2). A flow's queueing score is the sum of the congestion that its
//! packets have met, bytes times the queue's own marking probability, less what `AGING` forgives. It is kept as a time, that at
//! which the score will have aged away, so that nothing has to be done while time passes.

use crate::PacketView;
use aqmlab_core::{Rate, Span, Time};

/// Bits of a flow's hash that choose a bucket (`BI_SIZE`), and the buckets that flows own (`NBUCKETS`). One more serves all flows
/// that find none.
const BI_SIZE: u32 = 5;
const NBUCKETS: usize = 1 << BI_SIZE;
/// Buckets that a flow looks at.
const ATTEMPTS: u32 = 2;
/// Greatest score (`MAX_QLSCORE`).
const MAX_QLSCORE: Span = Span::from_millis(5000);

/// The score of a flow, for as long as it has one.
#[derive(Clone, Copy, Default)]
struct Bucket {
    /// The flow whose it is.
    id: Option<u32>,
    /// Time at which its score has aged away.
    t_exp: Time,
}

/// The thresholds of queue protection.
#[derive(Clone, Copy, Debug)]
pub struct Thresholds {
    /// Delay of the low-latency queue up to which nothing is sanctioned (`CRITICALqL`).
    pub delay: Span,
    /// Score above which a packet is sanctioned at that delay; at a longer one less suffices (`CRITICALqLSCORE`).
    pub score: Span,
    /// Congestion that a flow may cause at all times: its bits times the marking probability, a second (`AGING`).
    pub aging: Rate,
}

impl Thresholds {
    /// The score of the RFC, 4 ms, and its aging of 2^19 B/s.
    pub const SCORE: Span = Span::from_millis(4);
    /// See [`Thresholds::SCORE`].
    pub const AGING: Rate = Rate(8.0 * (1 << 19) as f64);
}

/// The buckets of a low-latency queue.
#[derive(Clone, Default)]
pub struct QueueProtection {
    buckets: [Bucket; NBUCKETS],
    /// Of the flows that own none.
    common: Bucket,
}

impl QueueProtection {
    /// A packet joins a queue whose delay, the packet included, is `qdelay`, and which marks with `prob_native`. True if it is
    /// sanctioned (`qprotect`).
    pub fn sanctions(
        &mut self,
        packet: &PacketView,
        qdelay: Span,
        prob_native: f64,
        critical: &Thresholds,
        now: Time,
    ) -> bool {
        let bucket = self.pick_bucket(packet.flow, scatter(packet.flow_hash), now);
        let congestion = critical.aging.transmission(packet.size).seconds() * prob_native;
        let score = fill_bucket(bucket, Span::from_seconds(congestion), now);
        qdelay > critical.delay
            && qdelay.seconds() * score.seconds() > critical.delay.seconds() * critical.score.seconds()
    }

    /// The bucket of a flow: its own among those that it looks at, or else the first whose score has aged away, or else the common
    /// one. Without a score it starts now.
    fn pick_bucket(&mut self, flow: u32, hash: u32, now: Time) -> &mut Bucket {
        let attempts = || (0..ATTEMPTS).map(|attempt| (hash >> (attempt * BI_SIZE)) as usize % NBUCKETS);
        let own = attempts().find(|h| self.buckets[*h].id == Some(flow));
        let picked = own.or_else(|| attempts().find(|h| self.buckets[*h].t_exp <= now));
        let bucket = match picked {
            Some(h) => &mut self.buckets[h],
            None => &mut self.common,
        };
        (bucket.id, bucket.t_exp) = (Some(flow), bucket.t_exp.max(now));
        bucket
    }
}

/// The packet's congestion is added; the score with it.
fn fill_bucket(bucket: &mut Bucket, congestion: Span, now: Time) -> Span {
    bucket.t_exp = (bucket.t_exp + congestion).min(now + MAX_QLSCORE);
    bucket.t_exp.since(now)
}

/// Every bit of a flow's hash in each of the lowest ten (the finaliser of MurmurHash3, as CableLabs' model hashes).
fn scatter(hash: u32) -> u32 {
    let hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    let hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;

    const RFC: Thresholds =
        Thresholds { delay: Span::from_millis(1), score: Thresholds::SCORE, aging: Thresholds::AGING };

    fn us(us: u64) -> Span {
        Span::from_micros(us)
    }

    fn at(time: Span) -> Time {
        Time::ZERO + time
    }

    /// Of packets of 1500 B of one flow, one each `gap`, at this delay and marking probability: which are sanctioned.
    fn sanctioned(count: u64, gap: Span, qdelay: Span, p: f64) -> Vec<bool> {
        let mut protection = QueueProtection::default();
        let packet = PacketView { size: 1500, ..bench::packet() };
        (0..count).map(|n| protection.sanctions(&packet, qdelay, p, &RFC, at(Span(n * gap.0)))).collect()
    }

    #[test]
    fn a_packet_adds_its_size_over_the_aging() {
        let bucket = &mut Bucket::default();
        // 1500 B / 524,288 B/s = 2.861 ms.
        let congestion = RFC.aging.transmission(1500);
        assert_eq!(fill_bucket(bucket, congestion, at(us(0))), Span(2_861_022_949));
        assert_eq!(fill_bucket(bucket, congestion, at(us(0))), Span(5_722_045_898));
    }

    #[test]
    fn the_second_packet_of_a_burst_is_sanctioned_just_above_the_critical_delay() {
        // 1.001 ms * 2.861 ms < 1 ms * 4 ms < 1.001 ms * 5.722 ms.
        assert_eq!(sanctioned(3, us(0), us(1001), 1.0), [false, true, true]);
        // At the critical delay itself none is, whatever the score.
        assert_eq!(sanctioned(9, us(0), us(1000), 1.0), [false; 9]);
    }

    #[test]
    fn at_twice_the_critical_delay_half_the_score_suffices() {
        // Half a mark each: 1.431, 2.861 ms; sanctioned above 2 ms. At 1.001 ms 2.861 and 4.292 ms are on either side of 3.996 ms.
        assert_eq!(sanctioned(2, us(0), us(2000), 0.5), [false, true]);
        assert_eq!(sanctioned(3, us(0), us(1001), 0.5), [false, false, true]);
    }

    #[test]
    fn without_congestion_none_is_ever_sanctioned() {
        assert_eq!(sanctioned(50, us(0), us(50_000), 0.0), [false; 50]);
    }

    #[test]
    fn a_flow_within_the_aging_accumulates_nothing_and_one_above_it_does() {
        // p = 0.1: 0.286 ms a packet. One each 0.3 ms, 40 Mbit/s * 0.1 < 4.19 Mbit/s, is forgiven before the next; of one each
        // 0.2 ms, 6 Mbit/s, 0.086 ms stay: 0.286 + 0.0861 n ms > 3.996 ms from n = 44 on.
        assert_eq!(sanctioned(1000, us(300), us(1001), 0.1), [false; 1000]);
        let above = sanctioned(100, us(200), us(1001), 0.1);
        assert_eq!(above.iter().position(|hit| *hit), Some(44));
        assert!(above[44..].iter().all(|hit| *hit));
    }

    #[test]
    fn a_score_stays_below_five_seconds() {
        let bucket = &mut Bucket::default();
        assert_eq!(fill_bucket(bucket, Span::from_seconds(4.0), at(us(0))), Span::from_seconds(4.0));
        assert_eq!(fill_bucket(bucket, Span::from_seconds(4.0), at(us(0))), Span::from_seconds(5.0));
        assert_eq!(fill_bucket(bucket, Span::ZERO, at(Span::from_seconds(3.0))), Span::from_seconds(2.0));
    }

    #[test]
    fn a_flow_finds_its_own_bucket_then_one_that_has_aged_and_then_the_common_one() {
        let mut protection = QueueProtection::default();
        // Three flows that look at buckets 3 and 1; each gets a score of 1 ms.
        let hash = 1 << BI_SIZE | 3;
        let mut fill = |flow, now| {
            let bucket = protection.pick_bucket(flow, hash, at(now));
            fill_bucket(bucket, us(1000), at(now))
        };
        assert_eq!([fill(7, us(0)), fill(8, us(0)), fill(9, us(0))], [us(1000); 3], "buckets 3, 1 and the common one");
        assert_eq!([fill(8, us(0)), fill(7, us(0))], [us(2000); 2], "its own");
        assert_eq!(fill(5, us(500)), us(1500), "the common one, with what flow 9 has left there");
        assert_eq!(fill(4, us(2000)), us(1000), "bucket 3, whose score has aged away at that instant");
        assert_eq!([3, 1].map(|bucket: usize| protection.buckets[bucket].id), [Some(4), Some(8)]);
        assert_eq!(protection.common.id, Some(5));
    }

    /// The test of CableLabs' model (docsis-ns3, `queue-protection-test-suite.cc`): five packets of 1000 B of three flows at a queue
    /// that no rate drains, so that its delay counts as 0. None of them is sanctioned.
    #[test]
    fn the_published_test_sanctions_none() {
        let mut protection = QueueProtection::default();
        let of = |flow| PacketView { flow, flow_hash: flow, ..bench::packet() };
        let hits = [1, 1, 2, 3, 3].map(|flow| protection.sanctions(&of(flow), Span::ZERO, 0.0, &RFC, at(us(0))));
        assert_eq!(hits, [false; 5]);
    }
}
