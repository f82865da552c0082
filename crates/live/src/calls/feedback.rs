//! The feedback of receivers on a stream.

use super::sequence::{MAX_DROPOUT, REMEMBERED, Unwrapped};
use crate::rtp::RtpReport;
use aqmlab_aqm::Ecn;
use aqmlab_core::Time;
use aqmlab_sim::media::RtpFacts;
use std::collections::VecDeque;

/// The feedback of a direction on one stream of the other.
#[derive(Clone, Debug, Default)]
pub struct StreamFeedback {
    /// Bytes of IP.
    pub bytes: u64,
    feedbacks: u64,
    arrived: u64,
    marked: u64,
    lost: u64,
    /// When the first and the last came through.
    span: Option<(Time, Time)>,
    /// Of each packet whether it has arrived, from number `first` on.
    arrivals: VecDeque<bool>,
    first: u64,
    sequence: Unwrapped,
}

impl StreamFeedback {
    /// A report has come through, and so many bytes for it.
    pub fn take(&mut self, report: &RtpReport, bytes: u64, now: Time) {
        self.feedbacks += 1;
        self.bytes += bytes;
        self.span = Some((self.span.map_or(now, |(first, _)| first), now));
        for (i, packet) in (0u16..).zip(&report.packets) {
            let number = self.sequence.of(report.begin.wrapping_add(i));
            if number > self.first + self.arrivals.len() as u64 + MAX_DROPOUT || number + MAX_DROPOUT < self.first {
                self.settle(self.arrivals.len());
                self.first = number;
            }
            // A packet that was settled long ago is not counted again.
            let Some(place) = number.checked_sub(self.first) else { continue };
            self.arrivals.resize(self.arrivals.len().max(place as usize + 1), false);
            if let (Some(ecn), false) = (packet, self.arrivals[place as usize]) {
                self.arrivals[place as usize] = true;
                self.arrived += 1;
                self.marked += u64::from(*ecn == Ecn::Ce);
            }
        }
        self.settle(self.arrivals.len().saturating_sub(REMEMBERED));
    }

    /// Of so many packets nothing more is expected.
    fn settle(&mut self, packets: usize) {
        self.lost += self.arrivals.drain(..packets).filter(|has| !has).count() as u64;
        self.first += packets as u64;
    }

    /// The feedback, beside what was seen of the stream itself.
    pub fn beside(&self, seen: RtpFacts) -> RtpFacts {
        RtpFacts {
            feedbacks: self.feedbacks,
            feedback_time: self.span.map_or(0.0, |(first, last)| last.since(first).seconds()),
            reported: self.arrived,
            reported_marked: self.marked,
            reported_lost: self.lost + self.arrivals.iter().filter(|has| !**has).count() as u64,
            ..seen
        }
    }

    /// Counts from now on.
    pub fn restart(&mut self) {
        self.settle(self.arrivals.len());
        (self.bytes, self.feedbacks, self.arrived, self.marked, self.lost, self.span) = (0, 0, 0, 0, 0, None);
    }
}
