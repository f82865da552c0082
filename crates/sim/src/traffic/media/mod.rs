//! Real-time media: an encoder, a paced sender whose law adapts the encoder's rate, and a receiver that shows frames and sends
//! feedback. Lost packets are sent again as feedback tells of them (RFC 4588).

mod constant;
mod control;
mod encoder;
mod feedback;
mod gcc;
mod laws;
mod nada;
pub mod receiver;
mod scream;

use crate::measure::media::rate_variation;
use aqmlab_core::{Span, Stream, Time};
use aqmlab_scenario::{FlowSpec, Media};
use control::{MediaArrival, MediaReport};
use encoder::Encoder;
use feedback::{Feedback, FeedbackLog, REORDERING};
use laws::StreamLaw;
use receiver::{MediaReceiver, MediaStats};
use std::collections::VecDeque;
use std::ops::Range;

/// A sender drops what it could not send so long after its capture.
const MOST_WAIT: Span = Span::from_secs(1);
/// Longest that a sender waits for feedback before it sends all the same, one packet.
const PATIENCE: Span = Span::from_millis(200);
/// A sender remembers for so long what it has sent.
const MEMORY: Span = Span::from_secs(10);

/// A packet that a stream's end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MediaPacket {
    /// Its place among those of its end.
    pub number: u32,
    /// Bytes of IP.
    pub size: u16,
    pub is_feedback: bool,
}

/// A part of a frame.
#[derive(Clone, Copy, Debug)]
struct Fragment {
    frame: u64,
    index: u32,
    is_last: bool,
    captured: Time,
    /// Bytes of media.
    size: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Unknown,
    Arrived,
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct SentFragment {
    fragment: Fragment,
    at: Time,
    fate: Fate,
}

/// Both ends of one stream.
#[derive(Clone, Debug)]
pub struct MediaStream {
    payload: u32,
    header: u32,
    measured: Range<Time>,
    law: StreamLaw,
    encoder: Encoder,
    /// Fragments that wait to be sent.
    queue: VecDeque<Fragment>,
    /// Time from which pacing lets another packet go.
    pace_free: Time,
    last_sent: Time,
    /// What was sent, from the packet `first` on.
    sent: VecDeque<SentFragment>,
    first: u32,
    /// The packet after the last that has arrived, as far as the sender knows.
    acked: u32,
    /// The packet after the last whose fate is known.
    judged: u32,
    /// Bytes sent from `acked` on.
    in_flight: f64,
    receiver: MediaReceiver,
    log: FeedbackLog,
    /// Feedback on its way, with numbers from `first_feedback` on.
    feedback: VecDeque<Feedback>,
    first_feedback: u32,
    /// Media that arrived in each second of the run, bytes.
    seconds: Vec<u32>,
    /// Time of the pending event.
    pub event: Time,
    /// The packets that its ends have sent since the engine last took them.
    pub out: Vec<MediaPacket>,
}

impl MediaStream {
    /// A stream at rest.
    pub fn new(spec: &FlowSpec, media: &Media, start: Time, stop: Time, measured: Range<Time>, rng: Stream) -> Self {
        let encoder = Encoder::new(media, start, stop, rng);
        let law = StreamLaw::new(media, spec.payload, spec.ecn);
        let receiver = MediaReceiver::new(media.jitter_buffer, encoder.period(), measured.clone());
        Self {
            payload: spec.payload,
            header: spec.header,
            measured,
            log: FeedbackLog::new(law.get().feedback()),
            law,
            encoder,
            queue: VecDeque::new(),
            pace_free: Time::ZERO,
            last_sent: Time::ZERO,
            sent: VecDeque::new(),
            first: 0,
            acked: 0,
            judged: 0,
            in_flight: 0.0,
            receiver,
            feedback: VecDeque::new(),
            first_feedback: 0,
            seconds: Vec::new(),
            event: Time::NEVER,
            out: Vec::new(),
        }
    }

    /// The time at which something is to be done if nothing arrives before.
    pub fn next(&self) -> Time {
        self.encoder.next.min(self.log.due).min(self.may_send_at())
    }

    /// When the next packet may leave.
    fn may_send_at(&self) -> Time {
        let Some(fragment) = self.queue.front() else { return Time::NEVER };
        let fits = self.in_flight + f64::from(fragment.size) <= self.law.get().window();
        let is_free = fits || self.in_flight == 0.0;
        if is_free { self.pace_free } else { self.pace_free.max(self.last_sent + PATIENCE) }
    }

    /// Does what is due by now.
    pub fn wake(&mut self, now: Time) {
        while self.encoder.next <= now {
            self.make_frame(now);
        }
        if self.log.due <= now {
            self.send_feedback(now);
        }
        while self.may_send_at() <= now {
            self.send(now);
        }
    }

    fn make_frame(&mut self, now: Time) {
        while self.queue.front().is_some_and(|oldest| now.since(oldest.captured) >= MOST_WAIT) {
            let Some(oldest) = self.queue.pop_front() else { break };
            self.receiver.give_up(oldest.frame, now);
        }
        let rate = self.law.get().target();
        let bytes = self.encoder.make(rate);
        let packets = bytes.div_ceil(self.payload);
        let frame = self.receiver.expect(now, packets, rate);
        for index in 0..packets {
            let size = (bytes - index * self.payload).min(self.payload);
            self.queue.push_back(Fragment { frame, index, is_last: index + 1 == packets, captured: now, size });
        }
        let oldest = self.queue.iter().map(|fragment| fragment.captured).min().unwrap_or(now);
        let waiting: u32 =
            self.queue.iter().filter(|fragment| fragment.frame != frame).map(|fragment| fragment.size).sum();
        let period = self.encoder.period().seconds();
        self.law.get_mut().on_frame(bytes.into(), period, now.since(oldest).seconds(), waiting.into());
    }

    fn send(&mut self, now: Time) {
        let Some(fragment) = self.queue.pop_front() else { return };
        while self.sent.front().is_some_and(|oldest| now.since(oldest.at) > MEMORY) {
            self.sent.pop_front();
            self.first += 1;
        }
        let number = self.first + self.sent.len() as u32;
        self.sent.push_back(SentFragment { fragment, at: now, fate: Fate::Unknown });
        self.in_flight += f64::from(fragment.size);
        self.law.get_mut().on_sent(fragment.size.into(), self.in_flight, now.seconds());
        let gap = Span::from_seconds(8.0 * f64::from(fragment.size) / self.law.get().pace());
        (self.pace_free, self.last_sent) = (self.pace_free.max(now) + gap, now);
        self.out.push(MediaPacket { number, size: (fragment.size + self.header) as u16, is_feedback: false });
    }

    fn send_feedback(&mut self, now: Time) {
        let feedback = self.log.report(now);
        let size = feedback.size();
        if now >= self.measured.start && now < self.measured.end {
            self.receiver.stats.feedback_packets += 1;
            self.receiver.stats.feedback_bytes += u64::from(size);
        }
        let number = self.first_feedback + self.feedback.len() as u32;
        self.feedback.push_back(feedback);
        self.out.push(MediaPacket { number, size: size as u16, is_feedback: true });
    }

    /// A packet of media arrives.
    pub fn take_media(&mut self, number: u32, is_ce: bool, now: Time) {
        let place = number.checked_sub(self.first).and_then(|place| self.sent.get(place as usize));
        let Some(SentFragment { fragment, .. }) = place.copied() else { return };
        self.log.take(number, is_ce, fragment.is_last, now);
        if self.receiver.take(fragment.frame, fragment.index, fragment.size, now) {
            let second = now.seconds() as usize;
            self.seconds.resize(self.seconds.len().max(second + 1), 0);
            self.seconds[second] += fragment.size;
        }
    }

    /// A feedback arrives.
    pub fn take_feedback(&mut self, number: u32, now: Time) {
        let Some(place) = number.checked_sub(self.first_feedback) else { return };
        self.feedback.drain(..place as usize); // what was lost on the way, or comes too late
        let Some(feedback) = self.feedback.pop_front() else { return };
        self.first_feedback = number + 1;
        let mut arrivals = Vec::new();
        let (mut newest, mut rtt) = (self.acked, None);
        for (seq, arrival) in (feedback.begin..).zip(&feedback.packets) {
            let Some((arrived, is_ce)) = *arrival else { continue };
            let Some(sent) = seq.checked_sub(self.first).and_then(|place| self.sent.get_mut(place as usize)) else {
                continue;
            };
            let (at, size) = (sent.at.seconds(), f64::from(sent.fragment.size));
            newest = newest.max(seq + 1);
            rtt = Some(now.seconds() - at - (feedback.sent.seconds() - arrived));
            if std::mem::replace(&mut sent.fate, Fate::Arrived) == Fate::Unknown {
                arrivals.push(MediaArrival { seq, sent: at, arrived, size, is_ce });
            }
        }
        let of = |range: Range<u32>| {
            range.filter_map(|seq| seq.checked_sub(self.first)).filter_map(|i| self.sent.get(i as usize))
        };
        let newly_acked: f64 = of(self.acked..newest).map(|sent| f64::from(sent.fragment.size)).sum();
        self.acked = newest;
        let in_flight = of(newest..self.first + self.sent.len() as u32).map(|sent| f64::from(sent.fragment.size)).sum();
        self.in_flight = in_flight;
        let lost = self.find_lost(now);
        let Some(rtt) = rtt else { return };
        self.law.get_mut().on_report(&MediaReport { now: now.seconds(), arrivals, lost, newly_acked, in_flight, rtt });
    }

    /// Packets that three later ones have overtaken; they wait to be sent again, before all others.
    fn find_lost(&mut self, now: Time) -> Vec<u32> {
        let mut lost = Vec::new();
        let until = self.acked.saturating_sub(REORDERING);
        for seq in self.judged.max(self.first)..until {
            let sent = &mut self.sent[(seq - self.first) as usize];
            if sent.fate == Fate::Unknown {
                sent.fate = Fate::Lost;
                lost.push(seq);
            }
        }
        self.judged = self.judged.max(until);
        for seq in lost.iter().rev() {
            let fragment = self.sent[(seq - self.first) as usize].fragment;
            if now.since(fragment.captured) < MOST_WAIT {
                self.queue.push_front(fragment);
                self.receiver.stats.resent += u64::from(now >= self.measured.start && now < self.measured.end);
            }
        }
        lost
    }

    /// It makes no more frames from `time` on.
    pub fn stop_at(&mut self, time: Time) {
        self.encoder.stop_at(time);
    }

    /// The statistics up to now.
    pub fn stats_at(&self, now: Time) -> MediaStats {
        self.receiver.stats_at(now, self.encoder.next < Time::NEVER && self.encoder.next <= now + self.encoder.period())
    }

    /// Media that arrived in each second of the run, bit/s.
    pub fn rates(&self) -> Vec<f64> {
        self.seconds.iter().map(|bytes| 8.0 * f64::from(*bytes)).collect()
    }

    /// Standard deviation of those rates over their mean.
    pub fn rate_variation(&self, now: Time) -> Option<f64> {
        rate_variation(&self.seconds, self.measured.start, now)
    }
}
