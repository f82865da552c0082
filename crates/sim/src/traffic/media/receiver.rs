//! A receiver's frames: when they are complete, when they are shown, and what is seen of that.

use crate::measure::durations::DurationStats;
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;
use std::ops::Range;

/// How long after its time a frame is waited for while later ones are there.
const GIVE_UP: Span = Span::from_millis(500);
/// Frames over which the time between two is averaged (W3C, Identifiers for WebRTC's Statistics API, freezeCount).
const AVERAGED: usize = 30;
/// What a gap has to exceed the average by, or be three times of, to be a freeze (the same).
const FREEZE: Span = Span::from_millis(150);

/// The statistics of a stream after the warm-up.
#[derive(Clone, Debug, Default)]
pub struct MediaStats {
    /// Frames that the encoder has made.
    pub frames: u64,
    /// Of them, those that were complete or given up by the end.
    pub settled: u64,
    /// Frames that were never complete.
    pub lost: u64,
    /// Frames that were complete after they should have been shown.
    pub late: u64,
    /// From capture to complete reception.
    pub delay: DurationStats,
    /// From capture to display.
    pub display_delay: DurationStats,
    /// Times the picture stood still.
    pub freezes: u64,
    /// The time for which it did.
    pub freeze_time: Span,
    /// Time for which there was something to see.
    pub watched: Span,
    /// Sum of the encoder's rates at each frame, bit/s.
    pub targets: f64,
    /// Media received, bytes.
    pub bytes: u64,
    /// Packets sent again.
    pub resent: u64,
    /// Feedback that was sent, bytes of IP.
    pub feedback_bytes: u64,
    /// Packets of it.
    pub feedback_packets: u64,
}

impl MediaStats {
    /// Takes in another stream's.
    pub fn merge(&mut self, other: &MediaStats) {
        self.frames += other.frames;
        self.settled += other.settled;
        self.lost += other.lost;
        self.late += other.late;
        self.delay.merge(&other.delay);
        self.display_delay.merge(&other.display_delay);
        self.freezes += other.freezes;
        self.freeze_time = self.freeze_time + other.freeze_time;
        self.watched = self.watched + other.watched;
        self.targets += other.targets;
        self.bytes += other.bytes;
        self.resent += other.resent;
        self.feedback_bytes += other.feedback_bytes;
        self.feedback_packets += other.feedback_packets;
    }
}

/// A frame that has not been shown yet.
#[derive(Clone, Debug)]
struct Frame {
    captured: Time,
    /// Of each packet, whether it has arrived.
    has: Vec<bool>,
    missing: u32,
    complete: Option<Time>,
    is_given_up: bool,
}

/// The frames of one stream.
#[derive(Clone, Debug)]
pub struct MediaReceiver {
    jitter_buffer: Span,
    /// Time between two frames; a camera is off if two of them pass without one.
    pub period: Span,
    /// The time in which what is seen counts.
    pub measured: Range<Time>,
    /// Number of the first that has not been shown.
    first: u64,
    frames: VecDeque<Frame>,
    /// Those of them that are complete.
    complete: usize,
    /// Least time from capture to complete reception so far.
    fastest: Option<Span>,
    /// When the last frame was shown.
    shown: Option<Time>,
    /// When the last frame that was shown or lost was captured.
    last_captured: Option<Time>,
    /// Times between the last frames that were shown.
    gaps: VecDeque<Span>,
    /// The statistics so far.
    pub stats: MediaStats,
}

impl MediaReceiver {
    /// Frames are shown so long after the fastest.
    pub fn new(jitter_buffer: Span, period: Span, measured: Range<Time>) -> Self {
        let (frames, gaps) = (VecDeque::new(), VecDeque::new());
        let (fastest, shown, last_captured, stats) = (None, None, None, MediaStats::default());
        let (first, complete) = (0, 0);
        Self { jitter_buffer, period, measured, first, frames, complete, fastest, shown, last_captured, gaps, stats }
    }

    fn counts(&self, time: Time) -> bool {
        time >= self.measured.start && time < self.measured.end
    }

    /// A frame of so many packets is made: its number.
    pub fn expect(&mut self, captured: Time, packets: u32, rate: f64) -> u64 {
        if self.counts(captured) {
            self.stats.frames += 1;
            self.stats.targets += rate;
        }
        let has = vec![false; packets as usize];
        self.frames.push_back(Frame { captured, has, missing: packets, complete: None, is_given_up: false });
        self.first + self.frames.len() as u64 - 1
    }

    /// The sender has dropped the rest of a frame.
    pub fn give_up(&mut self, frame: u64, now: Time) {
        if let Some(frame) = frame.checked_sub(self.first).and_then(|i| self.frames.get_mut(i as usize)) {
            frame.is_given_up = frame.complete.is_none();
        }
        self.show(now);
    }

    /// A packet of a frame arrives; true if it is new.
    pub fn take(&mut self, frame: u64, index: u32, bytes: u32, now: Time) -> bool {
        let Some(place) = frame.checked_sub(self.first) else { return false };
        let Some(frame) = self.frames.get_mut(place as usize) else { return false };
        if std::mem::replace(&mut frame.has[index as usize], true) {
            return false;
        }
        frame.missing -= 1;
        let (is_complete, captured) = (frame.missing == 0, frame.captured);
        if is_complete {
            frame.complete = Some(now);
            frame.is_given_up = false;
            self.complete += 1;
        }
        if self.counts(now) {
            self.stats.bytes += u64::from(bytes);
        }
        if is_complete {
            let delay = now.since(captured);
            self.fastest = Some(self.fastest.map_or(delay, |fastest| fastest.min(delay)));
            if self.counts(captured) && now <= self.measured.end {
                self.stats.delay.add(delay);
            }
            self.show(now);
        }
        true
    }

    /// When a frame should be shown.
    fn due(&self, captured: Time) -> Time {
        captured + self.fastest.unwrap_or(Span::ZERO) + self.jitter_buffer
    }

    /// Shows the frames whose turn has come, in order.
    fn show(&mut self, now: Time) {
        while let Some(frame) = self.frames.front() {
            let (captured, complete) = (frame.captured, frame.complete);
            let due = self.due(captured);
            let is_hopeless = frame.is_given_up || now >= due + GIVE_UP && self.complete > 0;
            if complete.is_none() && !is_hopeless {
                return;
            }
            self.frames.pop_front();
            self.first += 1;
            self.complete -= usize::from(complete.is_some());
            if self.counts(captured) {
                self.stats.settled += 1;
            }
            match complete {
                None => self.stats.lost += u64::from(self.counts(captured)),
                Some(complete) => {
                    self.stats.late += u64::from(self.counts(captured) && complete > due);
                    self.show_frame(captured, due.max(now));
                }
            }
            self.last_captured = Some(captured);
        }
    }

    fn show_frame(&mut self, captured: Time, at: Time) {
        if self.counts(captured) && at <= self.measured.end {
            self.stats.display_delay.add(at.since(captured));
        }
        let at = self.shown.map_or(at, |last| last.max(at));
        let was_off = self.last_captured.is_some_and(|last| captured.since(last) > self.period + self.period);
        if let Some(last) = self.shown.filter(|_| !was_off) {
            self.see(at.since(last), at);
        }
        self.shown = Some(at);
    }

    /// `gap` between two frames, the second of which is shown at `at`.
    fn see(&mut self, gap: Span, at: Time) {
        let is_freeze = self.is_freeze(gap);
        if self.counts(at) {
            let seen = gap.min(at.since(self.measured.start));
            self.stats.watched = self.stats.watched + seen;
            if is_freeze {
                self.stats.freezes += 1;
                self.stats.freeze_time = self.stats.freeze_time + seen;
            }
        }
        self.gaps.push_back(gap);
        if self.gaps.len() > AVERAGED {
            self.gaps.pop_front();
        }
    }

    fn is_freeze(&self, gap: Span) -> bool {
        if self.gaps.is_empty() {
            return false;
        }
        let mean = Span(self.gaps.iter().map(|gap| gap.0).sum::<u64>() / self.gaps.len() as u64);
        gap >= Span(3 * mean.0).max(mean + FREEZE)
    }

    /// The statistics up to now, a freeze under way included; `lasts` if more frames should come.
    pub fn stats_at(&self, now: Time, lasts: bool) -> MediaStats {
        let mut end = self.clone();
        let gap = self.shown.map_or(Span::ZERO, |last| now.since(last));
        if lasts && self.is_freeze(gap) {
            end.see(gap, Time(now.0 - 1));
        }
        end.stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ms(ms: u64) -> Span {
        Span::from_millis(ms)
    }

    /// Frames of two packets, one each 40 ms, with a jitter buffer of 20 ms; metrics count from 0 to 100 s.
    fn receiver() -> MediaReceiver {
        MediaReceiver::new(ms(20), ms(40), Time::ZERO..at(100_000))
    }

    /// A frame captured at `captured` whose packets arrive at `arrivals`.
    fn frame(receiver: &mut MediaReceiver, captured: u64, arrivals: [u64; 2]) {
        let number = receiver.expect(at(captured), 2, 1e6);
        assert!(receiver.take(number, 0, 1000, at(arrivals[0])));
        assert!(receiver.take(number, 1, 500, at(arrivals[1])));
        assert!(!receiver.take(number, 1, 500, at(arrivals[1])), "a second copy counts for nothing");
    }

    #[test]
    fn a_frame_is_there_with_its_last_packet_and_shown_after_the_jitter_buffer() {
        let mut receiver = receiver();
        frame(&mut receiver, 0, [50, 55]);
        frame(&mut receiver, 40, [90, 110]);
        frame(&mut receiver, 80, [150, 160]);
        let stats = receiver.stats_at(at(200), false);
        assert_eq!((stats.frames, stats.settled, stats.bytes), (3, 3, 4500));
        // 55, 70 and 80 ms; due 75 ms after capture, so that the third is late by 5.
        let mean = |spans: &DurationStats| (spans.mean().unwrap() * 1e6).round();
        assert_eq!(mean(&stats.delay), 68_333.0);
        assert_eq!((stats.late, stats.lost), (1, 0));
        assert_eq!(mean(&stats.display_delay), 76_667.0, "75, 75 and 80 ms");
        assert_eq!(stats.watched, ms(85), "from 75 to 160 ms");
    }

    #[test]
    fn a_frame_that_is_missing_holds_up_those_after_it_until_it_is_given_up() {
        let mut receiver = receiver();
        frame(&mut receiver, 0, [50, 55]);
        let missing = receiver.expect(at(40), 2, 1e6);
        receiver.take(missing, 0, 1000, at(95));
        frame(&mut receiver, 80, [130, 135]);
        assert_eq!(receiver.stats.settled, 1, "due 115 ms, it may still come");
        frame(&mut receiver, 600, [650, 655]);
        assert_eq!((receiver.stats.settled, receiver.stats.lost), (4, 1), "more than 500 ms after that");
        let mut other = super::tests::receiver();
        frame(&mut other, 0, [50, 55]);
        let dropped = other.expect(at(40), 2, 1e6);
        other.give_up(dropped, at(60));
        assert_eq!((other.stats.settled, other.stats.lost), (2, 1), "its sender has said so");
    }

    #[test]
    fn a_gap_of_three_times_the_usual_and_150_ms_more_is_a_freeze() {
        let mut receiver = receiver();
        for i in 0..10 {
            frame(&mut receiver, 40 * i, [40 * i + 50, 40 * i + 55]);
        }
        // Shown each 40 ms until 435. A gap of 185 ms is none, one of 195 is: 40 + 150.
        frame(&mut receiver, 400, [600, 620]);
        assert_eq!(receiver.stats.freezes, 0);
        let mut other = super::tests::receiver();
        for i in 0..10 {
            frame(&mut other, 40 * i, [40 * i + 50, 40 * i + 55]);
        }
        frame(&mut other, 400, [600, 630]);
        assert_eq!((other.stats.freezes, other.stats.freeze_time), (1, ms(195)));
        assert_eq!(other.stats_at(at(1630), true).freezes, 2, "and nothing since");
        assert_eq!(other.stats_at(at(1630), false).freezes, 1);
    }

    #[test]
    fn a_camera_that_was_off_is_no_freeze() {
        let mut receiver = receiver();
        for start in [0, 20_000] {
            for i in 0..10 {
                frame(&mut receiver, start + 40 * i, [start + 40 * i + 50, start + 40 * i + 55]);
            }
        }
        assert_eq!((receiver.stats.freezes, receiver.stats.watched), (0, ms(720)));
    }
}
