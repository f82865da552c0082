//! A stream of RTP in one direction, as a line sees it.

use super::feedback::StreamFeedback;
use super::sequence::{MAX_DROPOUT, REMEMBERED, Unwrapped};
use crate::rtp::RtpHeader;
use aqmlab_core::{Span, Time};
use aqmlab_sim::media::{MediaFacts, MediaReceiver, RtpFacts, rate_variation};
use std::collections::VecDeque;
use std::ops::Range;

/// Packets in order, of one number and type, from which on they are a stream. RFC 3550 asks for two where RTP is expected.
const IN_ORDER: u32 = 8;
/// Frames are shown so long after the fastest: `jitter_buffer` of a scenario, as it is there if nothing is said.
const JITTER_BUFFER: Span = Span::from_millis(100);

/// A packet between the first that has not been forgotten and the latest.
#[derive(Clone, Copy, Debug)]
struct EventOrigin {
    frame: u64,
    index: u32,
    has_come: bool,
    is_through: bool,
}

/// The frame whose packets are coming.
#[derive(Debug)]
struct OpenFrame {
    timestamp: u32,
    began: Time,
    /// Of each packet, when it came through, and its bytes.
    through: Vec<Option<(Time, u32)>>,
}

/// A stream of RTP in one direction.
#[derive(Debug)]
pub struct RtpStream {
    /// The type of what is in its packets.
    pub payload_type: u8,
    in_order: u32,
    sequence: Unwrapped,
    /// Number of the first of `places`.
    first: u64,
    places: VecDeque<EventOrigin>,
    /// Number of the frame that is open, or is the next.
    frame: u64,
    open: Option<OpenFrame>,
    /// When the last frame began.
    last_began: Option<Time>,
    receiver: MediaReceiver,
    resent: u64,
    facts: RtpFacts,
    /// Packets expected before the sequence numbers leapt.
    expected: u64,
    /// Media that came through in each second, bytes.
    seconds: Vec<u32>,
    /// The lowest and the highest that have come through since the warm-up.
    through: Option<(u64, u64)>,
}

impl RtpStream {
    /// That begins with this packet, which is still to come.
    pub fn new(header: &RtpHeader, measured: Range<Time>) -> Self {
        let mut sequence = Unwrapped::default();
        let first = sequence.of(header.seq);
        Self {
            payload_type: header.payload_type,
            in_order: 0,
            sequence,
            first,
            places: VecDeque::new(),
            frame: 0,
            open: None,
            last_began: None,
            receiver: MediaReceiver::new(JITTER_BUFFER, Span::ZERO, measured),
            resent: 0,
            facts: RtpFacts::default(),
            expected: 0,
            seconds: Vec::new(),
            through: None,
        }
    }

    /// So many packets came in order that it is no chance.
    pub fn is_recognised(&self) -> bool {
        self.in_order >= IN_ORDER
    }

    /// True if the packet may be of this stream: the next one, until the stream is recognised.
    pub fn fits(&self, header: &RtpHeader) -> bool {
        let is_next = { self.sequence }.of(header.seq) == self.next() && header.payload_type == self.payload_type;
        is_next || self.is_recognised()
    }

    fn next(&self) -> u64 {
        self.first + self.places.len() as u64
    }

    /// The sequence begins anew.
    fn leap(&mut self, number: u64, now: Time) {
        self.close();
        self.forget(self.places.len(), now);
        self.first = number;
        self.expected += self.span();
        self.through = None;
    }

    /// Of so many packets nothing more is expected: frames that miss one of them are given up.
    fn forget(&mut self, packets: usize, now: Time) {
        for place in self.places.drain(..packets).filter(|place| !place.is_through) {
            self.receiver.give_up(place.frame, now);
        }
        self.first += packets as u64;
    }

    /// Packets from the lowest to the highest that have come through.
    fn span(&self) -> u64 {
        self.through.map_or(0, |(low, high)| high - low + 1)
    }

    /// A packet has come to the line.
    pub fn comes(&mut self, header: &RtpHeader, now: Time) {
        let number = self.sequence.of(header.seq);
        self.facts.sent += 1;
        if number >= self.next() + MAX_DROPOUT || number + MAX_DROPOUT < self.first {
            self.leap(number, now);
        }
        if number < self.next() {
            self.sequence.0 = Some(self.next() - 1);
            let place = number.checked_sub(self.first).and_then(|i| self.places.get_mut(i as usize));
            let was_there = place.is_none_or(|place| std::mem::replace(&mut place.has_come, true));
            self.resent += u64::from(was_there);
            return;
        }
        self.in_order = (self.in_order + 1).min(IN_ORDER);
        if self.open.as_ref().is_some_and(|open| open.timestamp != header.timestamp) {
            self.close();
        }
        if self.open.is_none() {
            self.begin(header.timestamp, now);
        }
        // Those that are missing before it are taken for packets of its frame.
        while self.next() <= number {
            let (has_come, frame) = (self.next() == number, self.frame);
            let open = self.open.as_mut().expect("it has begun");
            self.places.push_back(EventOrigin { frame, index: open.through.len() as u32, has_come, is_through: false });
            open.through.push(None);
        }
        if header.marker || self.open.as_ref().is_some_and(|open| open.through.len() >= REMEMBERED) {
            self.close();
        }
        self.forget(self.places.len().saturating_sub(REMEMBERED), now);
    }

    fn begin(&mut self, timestamp: u32, now: Time) {
        self.open = Some(OpenFrame { timestamp, began: now, through: Vec::new() });
        // An average over some 30 frames; two of them without one are a camera that is off.
        if let Some(last) = self.last_began.replace(now) {
            let (gap, mean) = (now.since(last), self.receiver.period);
            self.receiver.period = if mean == Span::ZERO { gap } else { Span(mean.0 - mean.0 / 30 + gap.0 / 30) };
        }
    }

    /// All packets of the frame have come to the line; those that are through already count with their times.
    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.frame = self.receiver.expect(open.began, open.through.len() as u32, 0.0) + 1;
        let mut through: Vec<(Time, u32, u32)> =
            (0..).zip(open.through).filter_map(|(i, arrival)| arrival.map(|(at, bytes)| (at, i, bytes))).collect();
        through.sort_by_key(|(at, ..)| *at);
        through.into_iter().for_each(|(at, i, bytes)| {
            self.receiver.take(self.frame - 1, i, bytes, at);
        });
    }

    /// A packet has come through.
    pub fn goes(&mut self, header: &RtpHeader, is_marked: bool, now: Time) {
        let number = { self.sequence }.of(header.seq);
        let Some(place) = number.checked_sub(self.first).and_then(|i| self.places.get_mut(i as usize)) else { return };
        if std::mem::replace(&mut place.is_through, true) {
            return;
        }
        let (frame, index) = (place.frame, place.index);
        self.facts.received += 1;
        self.facts.marked += u64::from(is_marked);
        let (low, high) = self.through.unwrap_or((number, number));
        self.through = Some((low.min(number), high.max(number)));
        match &mut self.open {
            Some(open) if frame == self.frame => open.through[index as usize] = Some((now, header.media)),
            _ => {
                self.receiver.take(frame, index, header.media, now);
            }
        }
        let second = now.seconds() as usize;
        self.seconds.resize(self.seconds.len().max(second + 1), 0);
        self.seconds[second] = self.seconds[second].saturating_add(header.media);
    }

    /// Counts from now on.
    pub fn restart(&mut self) {
        (self.resent, self.facts, self.expected, self.through) = (0, RtpFacts::default(), 0, None);
    }

    /// The facts of the stream up to now, with what feedback has said.
    pub fn facts(&self, feedback: &StreamFeedback, now: Time) -> (MediaFacts, RtpFacts) {
        let mut stats = self.receiver.stats_at(now, false);
        (stats.resent, stats.feedback_bytes) = (self.resent, feedback.bytes);
        let measured = self.receiver.measured.start;
        let media = MediaFacts {
            stats,
            rate_variation: rate_variation(&self.seconds, measured, now),
            seconds: now.since(measured).seconds(),
            rates: Some(vec![self.seconds.iter().map(|bytes| 8.0 * f64::from(*bytes)).collect()]),
        };
        let seen = RtpFacts { expected: self.expected + self.span(), ..self.facts.clone() };
        (media, feedback.beside(seen))
    }
}
