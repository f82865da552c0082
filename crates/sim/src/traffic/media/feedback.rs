//! Feedback of a receiver by RFC 8888: for each packet whether it has arrived, its mark, and how long before the feedback.

use super::control::FeedbackRule;
use aqmlab_core::Time;
use std::collections::BTreeMap;

/// A packet is lost once so many later ones have arrived (RFC 9002, section 6.1.1).
pub const REORDERING: u32 = 3;

/// UDP and IP.
const LOWER_HEADERS: u32 = 28;
/// RTCP's header and the sender's SSRC; the stream's SSRC, first packet and count; the time of the report.
const FIXED: u32 = 8 + 8 + 4;
/// Packets that one feedback tells of at most: it fits into a packet of 1500 B.
const MOST: u32 = 700;
/// Arrival times are told in units of so many a second.
const OFFSETS_A_SECOND: f64 = 1024.0;

/// A feedback on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Feedback {
    /// First packet that it tells of.
    pub begin: u32,
    /// Of each from there on: its arrival and whether it was marked; `None` of one that is missing.
    pub packets: Vec<Option<(f64, bool)>>,
    /// The time at which it was sent.
    pub sent: Time,
}

impl Feedback {
    /// Bytes of IP, with reduced-size RTCP (RFC 5506).
    pub fn size(&self) -> u32 {
        LOWER_HEADERS + FIXED + 4 * (self.packets.len() as u32).div_ceil(2)
    }
}

/// A receiver's memory for feedback. Each packet is in two reports, so that one may be lost.
#[derive(Clone, Debug)]
pub struct FeedbackLog {
    rule: FeedbackRule,
    arrived: BTreeMap<u32, (Time, bool)>,
    /// The packet after the last one told of, in the last report and the one before.
    reported: [u32; 2],
    next: u32,
    /// Packets since the last report.
    fresh: u32,
    /// The time at which the next report is due.
    pub due: Time,
}

impl FeedbackLog {
    pub fn new(rule: FeedbackRule) -> Self {
        Self { rule, arrived: BTreeMap::new(), reported: [0; 2], next: 0, fresh: 0, due: Time::NEVER }
    }

    /// A packet arrives.
    pub fn take(&mut self, seq: u32, is_ce: bool, ends_frame: bool, now: Time) {
        if seq >= self.reported[1] {
            self.arrived.entry(seq).or_insert((now, is_ce));
        }
        self.next = self.next.max(seq + 1);
        self.fresh += 1;
        // What is lost is asked for at once, as calls do by NACK (RFC 4585).
        let lost = seq.checked_sub(REORDERING).filter(|early| *early >= self.reported[1]);
        let is_lost = lost.is_some_and(|early| !self.arrived.contains_key(&early));
        let is_due = is_lost || self.fresh >= self.rule.packets || ends_frame && self.rule.at_frame_end;
        self.due = if is_due { now } else { self.due.min(now + self.rule.interval) };
    }

    /// The report that is due.
    pub fn report(&mut self, now: Time) -> Feedback {
        let begin = self.reported[1].max(self.next.saturating_sub(MOST));
        let tell = |(at, is_ce): &(Time, bool)| {
            let units = (now.since(*at).seconds() * OFFSETS_A_SECOND).round();
            (now.seconds() - units / OFFSETS_A_SECOND, *is_ce)
        };
        let packets = (begin..self.next).map(|seq| self.arrived.get(&seq).map(tell)).collect();
        self.reported = [self.next, self.reported[0]];
        self.arrived = self.arrived.split_off(&self.reported[1]);
        (self.fresh, self.due) = (0, Time::NEVER);
        Feedback { begin, packets, sent: now }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Span;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_report_is_due_after_so_many_packets_or_a_frame_or_a_while() {
        let rule = FeedbackRule { packets: 3, at_frame_end: true, interval: Span::from_millis(40) };
        let mut log = FeedbackLog::new(rule);
        log.take(0, false, false, at(10));
        assert_eq!(log.due, at(50));
        log.take(1, false, false, at(20));
        assert_eq!(log.due, at(50), "40 ms after the first");
        log.take(2, false, false, at(30));
        assert_eq!(log.due, at(30), "three packets");
        log.report(at(30));
        assert_eq!(log.due, Time::NEVER);
        log.take(3, false, true, at(60));
        assert_eq!(log.due, at(60), "the end of a frame");
    }

    #[test]
    fn a_loss_is_told_at_once() {
        let rule = FeedbackRule { packets: u32::MAX, at_frame_end: false, interval: Span::from_millis(100) };
        let mut log = FeedbackLog::new(rule);
        [0, 2, 3].into_iter().for_each(|seq| log.take(seq, false, false, at(u64::from(seq))));
        assert_eq!(log.due, at(100), "two packets after the one that is missing");
        log.take(4, false, false, at(4));
        assert_eq!(log.due, at(4));
        log.report(at(4));
        log.take(5, false, false, at(5));
        assert_eq!(log.due, at(105));
    }

    #[test]
    fn a_packet_is_in_two_reports_with_its_time_in_units_of_a_1024th() {
        let rule = FeedbackRule { packets: u32::MAX, at_frame_end: false, interval: Span::from_millis(100) };
        let mut log = FeedbackLog::new(rule);
        log.take(0, false, false, at(0));
        log.take(2, true, false, at(10));
        let first = log.report(at(100));
        // 90 ms are 92.16 units, 92 of them 89.84 ms.
        let expected = vec![Some((0.1 - 102.0 / 1024.0, false)), None, Some((0.1 - 92.0 / 1024.0, true))];
        assert_eq!((first.begin, first.packets.clone()), (0, expected));
        // 28 + 20 + 2 * 3, made up to whole words.
        assert_eq!(first.size(), 56);
        log.take(1, false, false, at(120));
        log.take(3, false, false, at(130));
        let second = log.report(at(200));
        assert_eq!((second.begin, second.packets.len()), (0, 4));
        assert!(second.packets.iter().all(Option::is_some));
        log.take(4, false, false, at(210));
        assert_eq!(log.report(at(300)).begin, 3, "what was in two reports is told no more");
    }
}
