//! Samples of the delivery rate (draft-cheng-iccrg-delivery-rate-estimation): how fast the network delivered the segments
//! sent in the last round trip. Names are the draft's; data are counted in segments.

use crate::ack::{Ack, Sack};
use crate::seqset::SeqSet;
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;

/// What an ACK tells of the path.
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
    /// Round-trip time of that newest segment; `None` if it was sent twice (Karn).
    pub rtt: Option<Span>,
    /// The least such time so far; zero before the first.
    pub min_rtt: Span,
    /// The rate may be the application's, not the network's.
    pub is_app_limited: bool,
}

/// What is known of a segment found lost.
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
    /// When it is found lost.
    pub now: Time,
}

/// A segment outstanding, as it was sent last (P in the draft).
#[derive(Clone, Copy, Debug)]
struct Sent {
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
    /// The segments outstanding from `first` on.
    records: VecDeque<Sent>,
    first: u32,
    /// Those of them that have been delivered.
    sacked: SeqSet,
    /// The blocks of the last ACK.
    heard: Sack,
    /// One past the highest of them.
    top: u32,
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
        self.forget(hole);
        let index = (seq - self.first) as usize; // new segments follow each other
        let record = Sent {
            sent_time: now,
            first_sent_time: self.first_sent_time,
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            tx_in_flight,
            lost: self.lost,
            is_app_limited: self.app_limited > 0,
            is_resent: index < self.records.len(),
        };
        match self.records.get_mut(index) {
            Some(again) => *again = record,
            None => self.records.push_back(record),
        }
    }

    /// A segment is found lost.
    pub fn on_lost(&mut self, seq: u32, now: Time) -> LostSegment {
        self.lost += 1;
        let sent = self.records[(seq - self.first) as usize];
        let Sent { tx_in_flight, is_app_limited, .. } = sent;
        LostSegment { tx_in_flight, lost: self.lost - sent.lost, is_app_limited, delivered: self.delivered, now }
    }

    /// The application has nothing more to send: what is sent next is limited by it until `flight` is delivered.
    pub fn note_app_limited(&mut self, flight: u32) {
        self.app_limited = (self.delivered + u64::from(flight)).max(1);
    }

    /// An ACK comes; `None` if it tells of nothing new. `hole` is the first segment not acknowledged before it, `sent` one
    /// past the highest sent.
    pub fn on_ack(&mut self, ack: &Ack, hole: u32, sent: u32, now: Time) -> Option<RateSample> {
        let before = self.delivered;
        let mut newest: Option<Sent> = None;
        self.take(hole..ack.next.min(sent), &mut newest);
        if !ack.sack.is_empty() {
            for block in ack.sack.news(&mut self.heard) {
                let block = block.start.max(ack.next).max(hole)..block.end.min(sent);
                self.take(block, &mut newest);
            }
        }
        let newest = newest?;
        self.delivered_time = now;
        self.first_sent_time = newest.sent_time;
        if self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        let rtt = (!newest.is_resent).then(|| now.since(newest.sent_time));
        if let Some(rtt) = rtt {
            self.min_rtt = if self.min_rtt == Span::ZERO { rtt } else { self.min_rtt.min(rtt) };
        }
        let send_elapsed = newest.sent_time.since(newest.first_sent_time);
        let interval = send_elapsed.max(now.since(newest.delivered_time)).max(Span::from_picos(1));
        let is_plausible = interval >= self.min_rtt;
        Some(RateSample {
            newly_delivered: (self.delivered - before) as u32,
            delivered: self.delivered,
            in_flight: (u64::from(sent) - self.delivered) as u32,
            prior_delivered: newest.delivered,
            tx_in_flight: newest.tx_in_flight,
            lost: self.lost - newest.lost,
            rate: if is_plausible { (self.delivered - newest.delivered) as f64 / interval.seconds() } else { 0.0 },
            rtt,
            min_rtt: self.min_rtt,
            is_app_limited: newest.is_app_limited,
        })
    }

    /// Those of `range` not yet known to have arrived have; the one of them sent last is the newest.
    fn take(&mut self, range: std::ops::Range<u32>, newest: &mut Option<Sent>) {
        if range.is_empty() {
            return;
        }
        let (first, top) = (self.first, self.top.max(self.first));
        self.sacked.reserve(first..top, first..top.max(range.end));
        self.top = top.max(range.end);
        let mut from = range.start;
        while from < range.end
            && let Some(seq) = self.sacked.first_missing(from..range.end)
        {
            self.sacked.insert(seq);
            from = seq + 1;
            let record = self.records[(seq - first) as usize];
            self.delivered += 1;
            if newest.is_none_or(|newest| (record.sent_time, record.delivered) >= (newest.sent_time, newest.delivered))
            {
                *newest = Some(record);
            }
        }
    }

    /// What lies below `hole` is acknowledged.
    fn forget(&mut self, hole: u32) {
        let acknowledged = (hole - self.first) as usize;
        self.records.drain(..acknowledged.min(self.records.len()));
        self.sacked.clear(self.first..hole.min(self.top.max(self.first)));
        self.first = hole;
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // a list of blocks
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ack(next: u32, blocks: &[std::ops::Range<u32>]) -> Ack {
        let mut sack = Sack::default();
        blocks.iter().for_each(|block| sack.push(block.clone()));
        Ack { next, sack, ..Ack::default() }
    }

    /// Segments 0 to 9, sent 1 ms apart from 0 ms on.
    fn ten() -> RateSampler {
        let mut sampler = RateSampler::default();
        (0..10).for_each(|seq| sampler.on_sent(seq, 0, seq == 0, seq + 1, ms(seq.into())));
        sampler
    }

    #[test]
    fn the_rate_is_what_arrived_in_a_round_trip() {
        let mut sampler = ten();
        // ACKs come 2 ms apart from 100 ms on: the first says 1 in 100 ms, the tenth 10 in 118 ms.
        for seq in 0..10u32 {
            let sample = sampler.on_ack(&ack(seq + 1, &[]), seq, 10, ms(100 + 2 * u64::from(seq))).unwrap();
            assert_eq!((sample.newly_delivered, sample.delivered), (1, u64::from(seq) + 1));
            assert_eq!(sample.rtt, Some(Span::from_millis(100 + u64::from(seq))), "sent at {seq} ms");
            let expected = f64::from(seq + 1) / (0.1 + 0.002 * f64::from(seq));
            assert!((sample.rate - expected).abs() < 1e-9, "{sample:?}");
            assert_eq!(sample.min_rtt, Span::from_millis(100));
        }
        // The next is sent at 118 ms, with 10 delivered: at 228 ms, 1 in 110 ms.
        sampler.on_sent(10, 10, true, 1, ms(118));
        let sample = sampler.on_ack(&ack(11, &[]), 10, 11, ms(228)).unwrap();
        assert_eq!((sample.prior_delivered, sample.rtt), (10, Some(Span::from_millis(110))));
        assert!((sample.rate - 1.0 / 0.11).abs() < 1e-9);
    }

    #[test]
    fn a_block_counts_once_and_a_segment_sent_again_from_its_last_time() {
        let mut sampler = ten();
        let sample = sampler.on_ack(&ack(1, &[3..5]), 0, 10, ms(104)).unwrap();
        assert_eq!((sample.newly_delivered, sample.rtt), (3, Some(Span::from_millis(100))), "4 is the newest");
        assert_eq!(sample.in_flight, 7, "1, 2 and 5 to 9");
        assert_eq!(sampler.on_ack(&ack(1, &[3..5]), 1, 10, ms(105)), None);
        assert_eq!(sampler.on_ack(&ack(1, &[3..6]), 1, 10, ms(106)).unwrap().newly_delivered, 1);
        sampler.on_sent(1, 1, false, 7, ms(107));
        let sample = sampler.on_ack(&ack(2, &[3..6]), 1, 10, ms(210)).unwrap();
        assert_eq!((sample.newly_delivered, sample.rtt), (1, None));
        let sample = sampler.on_ack(&ack(6, &[]), 2, 10, ms(211)).unwrap();
        assert_eq!((sample.newly_delivered, sample.in_flight), (1, 4), "only 2");
    }

    #[test]
    fn losses_count_from_when_a_segment_was_sent() {
        let mut sampler = ten();
        let lost = |lost, tx_in_flight, ms: Time| LostSegment {
            tx_in_flight,
            lost,
            is_app_limited: false,
            delivered: 7,
            now: ms,
        };
        sampler.on_ack(&ack(0, &[3..10]), 0, 10, ms(110));
        assert_eq!(sampler.on_lost(0, ms(110)), lost(1, 1, ms(110)));
        assert_eq!(sampler.on_lost(1, ms(110)), lost(2, 2, ms(110)));
        sampler.on_sent(10, 0, false, 2, ms(111));
        assert_eq!(sampler.on_lost(2, ms(112)), lost(3, 3, ms(112)));
        let sample = sampler.on_ack(&ack(0, &[3..11]), 0, 11, ms(211)).unwrap();
        assert_eq!((sample.tx_in_flight, sample.lost), (2, 1), "2 only was found lost after 10 was sent");
    }

    #[test]
    fn a_rate_in_less_than_the_least_round_trip_is_none() {
        let mut sampler = ten();
        sampler.on_ack(&ack(0, &[2..10]), 0, 10, ms(110));
        sampler.on_sent(0, 0, false, 1, ms(120));
        sampler.on_ack(&ack(1, &[2..10]), 0, 10, ms(121));
        sampler.on_sent(1, 1, false, 1, ms(122));
        let sample = sampler.on_ack(&ack(10, &[]), 1, 10, ms(123)).unwrap();
        assert_eq!((sample.newly_delivered, sample.rate), (1, 0.0), "in a millisecond came what was sent first");
    }

    #[test]
    fn samples_are_the_applications_until_what_it_had_is_delivered() {
        let mut sampler = ten();
        sampler.on_ack(&ack(8, &[]), 0, 10, ms(110));
        sampler.note_app_limited(2);
        sampler.on_sent(10, 8, false, 3, ms(150));
        assert!(!sampler.on_ack(&ack(10, &[]), 8, 11, ms(151)).unwrap().is_app_limited);
        assert!(sampler.on_ack(&ack(11, &[]), 10, 11, ms(250)).unwrap().is_app_limited);
        sampler.on_sent(11, 11, true, 1, ms(260));
        assert!(!sampler.on_ack(&ack(12, &[]), 11, 12, ms(360)).unwrap().is_app_limited);
    }
}
