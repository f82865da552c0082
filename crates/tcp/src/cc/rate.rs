//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation): how fast the network delivered the segments
//! sent in the last round trip. Names are the draft's; data are counted in segments.

use crate::ring::Ring;
use aqmlab_core::{Span, Time};

/// A sample of the path, as an ACK gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RateSample {
    /// Segments that the ACK newly tells of, acknowledged or SACKed.
    pub newly_delivered: u32,
    /// Segments delivered so far.
    pub delivered: u64,
    /// The same when the newest of the segments told of was sent: a round trip lies between.
    pub prior_delivered: u64,
    /// Segments sent and not known to have arrived: those outstanding without what is SACKed; of a law that owns the window,
    /// those in the network.
    pub in_flight: u32,
    /// Segments in the network when the newest was sent, itself included.
    pub tx_in_flight: u32,
    /// Segments found lost since.
    pub lost: u32,
    /// Segments per second between `prior_delivered` and `delivered`; 0 if that took less than the least round-trip time, which
    /// a segment sent again without need can pretend.
    pub rate: f64,
    /// Round-trip time of that newest segment; if it was sent twice (Karn), what a timestamp tells of, or `None`.
    pub rtt: Option<Span>,
    /// The least such time so far; zero before the first.
    pub min_rtt: Span,
    /// The rate may be the application's, not the network's.
    pub is_app_limited: bool,
}

/// A segment found lost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LostSegment {
    /// Segments in the network when it was sent, itself included.
    pub tx_in_flight: u32,
    /// Segments found lost since then, itself included.
    pub lost: u32,
    /// It was sent when the application limited the rate.
    pub is_app_limited: bool,
    /// Segments delivered so far.
    pub delivered: u64,
    /// Time at which it is found lost.
    pub now: Time,
}

/// A segment outstanding, as it was sent last (P in the draft).
#[derive(Clone, Copy, Debug, Default)]
struct SentSegment {
    sent_time: Time,
    first_sent_time: Time,
    delivered: u64,
    delivered_time: Time,
    tx_in_flight: u32,
    lost: u32,
    is_app_limited: bool,
    is_resent: bool,
}

/// The state of a connection (C in the draft).
#[derive(Clone, Debug, Default)]
pub(crate) struct RateSampler {
    /// The segments outstanding.
    records: Ring<SentSegment>,
    /// One past the highest sent.
    end: u32,
    /// Of the segments that the present ACK tells of: how many they are, and the one sent last.
    newly: u32,
    newest: u32,
    delivered: u64,
    /// Segments found lost so far.
    lost: u32,
    delivered_time: Time,
    first_sent_time: Time,
    /// Until so many are delivered, samples are the application's; 0: none are.
    app_limited: u64,
    min_rtt: Span,
}

impl RateSampler {
    /// A segment is sent, new or again. `is_first`: none is outstanding; `tx_in_flight` are, with it.
    pub fn on_sent(&mut self, seq: u32, hole: u32, is_first: bool, tx_in_flight: u32, now: Time) {
        if is_first {
            (self.first_sent_time, self.delivered_time) = (now, now);
        }
        let record = SentSegment {
            sent_time: now,
            first_sent_time: self.first_sent_time,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            tx_in_flight,
            lost: self.lost,
            is_app_limited: self.app_limited > 0,
            is_resent: seq < self.end,
        };
        if record.is_resent {
            self.records[seq] = record;
        } else {
            self.end = seq + 1;
            self.records.push(hole..self.end, record);
        }
    }

    /// A segment is found lost.
    pub fn on_lost(&mut self, seq: u32, now: Time) -> LostSegment {
        self.lost += 1;
        let sent = self.records[seq];
        let SentSegment { tx_in_flight, is_app_limited, .. } = sent;
        LostSegment { tx_in_flight, lost: self.lost - sent.lost, is_app_limited, delivered: self.delivered, now }
    }

    /// The application has nothing more to send: what is sent next is limited by it until `flight` is delivered.
    pub fn note_app_limited(&mut self, flight: u32) {
        self.app_limited = (self.delivered + u64::from(flight)).max(1);
    }

    /// Samples of what is sent now may be the application's rate.
    pub fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }

    /// An ACK is the first to tell of a segment.
    #[inline]
    pub fn on_delivered(&mut self, seq: u32) {
        let key = |seq| {
            let record = &self.records[seq];
            (record.sent_time, record.delivered)
        };
        if self.newly == 0 || key(seq) >= key(self.newest) {
            self.newest = seq;
        }
        self.newly += 1;
        self.delivered += 1;
    }

    /// The sample of an ACK, now that all its arrivals are known; `None` if it tells of nothing new. `measured` is a round trip
    /// that a timestamp tells of.
    pub fn sample(&mut self, measured: Option<Span>, now: Time) -> Option<RateSample> {
        let newly_delivered = std::mem::take(&mut self.newly);
        if newly_delivered == 0 {
            return None;
        }
        let newest = self.records[self.newest];
        self.delivered_time = now;
        self.first_sent_time = newest.sent_time;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let taken = now.since(newest.sent_time);
        // An ACK that comes sooner after the last copy than any round trip took is of an earlier one (RFC 8985, section 6.2, step 2).
        let rtt = if newest.is_resent { measured.filter(|_| taken >= self.min_rtt) } else { Some(taken) };
        if let Some(rtt) = rtt {
            self.min_rtt = if self.min_rtt == Span::ZERO { rtt } else { self.min_rtt.min(rtt) };
        }
        let send_elapsed = newest.sent_time.since(newest.first_sent_time);
        let interval = send_elapsed.max(now.since(newest.delivered_time)).max(Span::from_picos(1));
        let is_plausible = interval >= self.min_rtt;
        Some(RateSample {
            newly_delivered,
            delivered: self.delivered,
            in_flight: (u64::from(self.end) - self.delivered) as u32,
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            lost: self.lost - newest.lost,
            rate: if is_plausible { (self.delivered - newest.delivered) as f64 / interval.seconds() } else { 0.0 },
            rtt,
            min_rtt: self.min_rtt,
            is_app_limited: newest.is_app_limited,
        })
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // a list of blocks
mod tests {
    use super::super::arrivals::Arrivals;
    use super::*;
    use crate::ack::{Ack, Sack};

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ack(next: u32, blocks: &[std::ops::Range<u32>]) -> Ack {
        Ack { next, sack: Sack::listing(blocks), ..Ack::default() }
    }

    /// A sampler, and what has arrived.
    #[derive(Default)]
    struct Bench(RateSampler, Arrivals);

    impl Bench {
        fn on_ack(&mut self, ack: &Ack, hole: u32, now: Time) -> Option<RateSample> {
            let Self(sampler, arrivals) = self;
            arrivals.take(ack, hole, sampler.end, |seq| sampler.on_delivered(seq));
            sampler.sample(None, now)
        }
    }

    /// Segments 0 to 9, sent 1 ms apart from 0 ms on.
    fn ten() -> Bench {
        let mut bench = Bench::default();
        (0..10).for_each(|seq| bench.0.on_sent(seq, 0, seq == 0, seq + 1, ms(seq.into())));
        bench
    }

    #[test]
    fn the_rate_is_what_arrived_in_a_round_trip() {
        let mut bench = ten();
        // ACKs come 2 ms apart from 100 ms on: the first says 1 in 100 ms, the tenth 10 in 118 ms.
        for seq in 0..10u32 {
            let sample = bench.on_ack(&ack(seq + 1, &[]), seq, ms(100 + 2 * u64::from(seq))).unwrap();
            assert_eq!((sample.newly_delivered, sample.delivered), (1, u64::from(seq) + 1));
            assert_eq!(sample.rtt, Some(Span::from_millis(100 + u64::from(seq))), "sent at {seq} ms");
            let expected = f64::from(seq + 1) / (0.1 + 0.002 * f64::from(seq));
            assert!((sample.rate - expected).abs() < 1e-9, "{sample:?}");
            assert_eq!(sample.min_rtt, Span::from_millis(100));
        }
        // The next is sent at 118 ms, with 10 delivered: at 228 ms, 1 in 110 ms.
        bench.0.on_sent(10, 10, true, 1, ms(118));
        let sample = bench.on_ack(&ack(11, &[]), 10, ms(228)).unwrap();
        assert_eq!((sample.prior_delivered, sample.rtt), (10, Some(Span::from_millis(110))));
        assert!((sample.rate - 1.0 / 0.11).abs() < 1e-9);
    }

    #[test]
    fn a_block_counts_once_and_a_segment_sent_again_from_its_last_time() {
        let mut bench = ten();
        let sample = bench.on_ack(&ack(1, &[3..5]), 0, ms(104)).unwrap();
        assert_eq!((sample.newly_delivered, sample.rtt), (3, Some(Span::from_millis(100))), "4 is the newest");
        assert_eq!(sample.in_flight, 7, "1, 2 and 5 to 9");
        assert_eq!(bench.on_ack(&ack(1, &[3..5]), 1, ms(105)), None);
        assert_eq!(bench.on_ack(&ack(1, &[3..6]), 1, ms(106)).unwrap().newly_delivered, 1);
        bench.0.on_sent(1, 1, false, 7, ms(107));
        let sample = bench.on_ack(&ack(2, &[3..6]), 1, ms(210)).unwrap();
        assert_eq!((sample.newly_delivered, sample.rtt), (1, None));
        let sample = bench.on_ack(&ack(6, &[]), 2, ms(211)).unwrap();
        assert_eq!((sample.newly_delivered, sample.in_flight), (1, 4), "only 2");
    }

    #[test]
    fn losses_count_from_when_a_segment_was_sent() {
        let mut bench = ten();
        let lost = |lost, tx_in_flight, ms: Time| LostSegment {
            tx_in_flight,
            lost,
            is_app_limited: false,
            delivered: 7,
            now: ms,
        };
        bench.on_ack(&ack(0, &[3..10]), 0, ms(110));
        assert_eq!(bench.0.on_lost(0, ms(110)), lost(1, 1, ms(110)));
        assert_eq!(bench.0.on_lost(1, ms(110)), lost(2, 2, ms(110)));
        bench.0.on_sent(10, 0, false, 2, ms(111));
        assert_eq!(bench.0.on_lost(2, ms(112)), lost(3, 3, ms(112)));
        let sample = bench.on_ack(&ack(0, &[3..11]), 0, ms(211)).unwrap();
        assert_eq!((sample.tx_in_flight, sample.lost), (2, 1), "2 only was found lost after 10 was sent");
    }

    #[test]
    fn an_earlier_copy_of_a_segment_sent_again_measures_no_round_trip() {
        let mut bench = ten();
        bench.on_ack(&ack(0, &[2..10]), 0, ms(110));
        let rtt = |at| {
            let Bench(mut sampler, _) = Bench(bench.0.clone(), Arrivals::default());
            sampler.on_sent(0, 0, false, 1, ms(120));
            sampler.on_delivered(0);
            sampler.sample(Some(Span::from_millis(1)), ms(at)).unwrap().rtt
        };
        assert_eq!(rtt(121), None, "the least is 101 ms");
        assert_eq!(rtt(221), Some(Span::from_millis(1)), "what the timestamp says");
    }

    #[test]
    fn a_rate_in_less_than_the_least_round_trip_is_none() {
        let mut bench = ten();
        bench.on_ack(&ack(0, &[2..10]), 0, ms(110));
        bench.0.on_sent(0, 0, false, 1, ms(120));
        bench.on_ack(&ack(1, &[2..10]), 0, ms(121));
        bench.0.on_sent(1, 1, false, 1, ms(122));
        let sample = bench.on_ack(&ack(10, &[]), 1, ms(123)).unwrap();
        assert_eq!((sample.newly_delivered, sample.rate), (1, 0.0), "in a millisecond came what was sent first");
    }

    #[test]
    fn samples_are_the_applications_until_what_it_had_is_delivered() {
        let mut bench = ten();
        bench.on_ack(&ack(8, &[]), 0, ms(110));
        bench.0.note_app_limited(2);
        bench.0.on_sent(10, 8, false, 3, ms(150));
        assert!(!bench.on_ack(&ack(10, &[]), 8, ms(151)).unwrap().is_app_limited);
        assert!(bench.on_ack(&ack(11, &[]), 10, ms(250)).unwrap().is_app_limited);
        bench.0.on_sent(11, 11, true, 1, ms(260));
        assert!(!bench.on_ack(&ack(12, &[]), 11, ms(360)).unwrap().is_app_limited);
    }
}
