//! The facts and answers of a congestion control of real-time media. Laws count in seconds, bytes of media and bit/s.

use aqmlab_core::Span;

/// A packet that the receiver has told of for the first time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaArrival {
    /// Its place in the stream.
    pub seq: u32,
    /// The time at which it was sent, s.
    pub sent: f64,
    /// The time at which it arrived, s, as far as the feedback's clock tells.
    pub arrived: f64,
    /// Bytes.
    pub size: f64,
    /// It carried a congestion mark.
    pub is_ce: bool,
}

/// The news of a feedback.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaReport {
    /// The time at which it reached the sender, s.
    pub now: f64,
    /// Packets that have arrived, in the order of sending.
    pub arrivals: Vec<MediaArrival>,
    /// Packets that are taken for lost from now on: they are missing, and three later ones have arrived.
    pub lost: Vec<u32>,
    /// Bytes by which the last packet that has arrived is further than before.
    pub newly_acked: f64,
    /// Bytes sent after the last packet that has arrived.
    pub in_flight: f64,
    /// Time since the last packet that has arrived was sent, less the time that the receiver held it, s.
    pub rtt: f64,
}

/// A receiver's rule for sending feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeedbackRule {
    /// After so many packets.
    pub packets: u32,
    /// After the last packet of a frame.
    pub at_frame_end: bool,
    /// At the latest so long after the first packet that it tells of.
    pub interval: Span,
}

/// The limits within which a law chooses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateRange {
    /// Rate at first, bit/s.
    pub start: f64,
    /// Least, bit/s.
    pub min: f64,
    /// Greatest, bit/s.
    pub max: f64,
}

/// The facts that a law begins with.
#[derive(Clone, Copy, Debug)]
pub struct MediaSetup {
    /// The limits within which it chooses.
    pub range: RateRange,
    /// Media in a full packet, bytes.
    pub mss: f64,
    /// Frames a second.
    pub frame_rate: f64,
    /// Its packets carry ECT(1).
    pub is_l4s: bool,
}

#[cfg(test)]
impl MediaSetup {
    /// That of a law in a test: packets of 1000 B, 30 frames a second, no ECN.
    pub fn of(range: RateRange) -> Self {
        Self { range, mss: 1000.0, frame_rate: 30.0, is_l4s: false }
    }
}

/// A congestion control of real-time media.
pub trait MediaControl {
    /// A packet of `size` bytes has been sent; with it so many bytes are in flight.
    fn on_sent(&mut self, _size: f64, _in_flight: f64, _now: f64) {}

    /// A feedback has come.
    fn on_report(&mut self, _report: &MediaReport) {}

    /// The encoder has made a frame of `size` bytes each `period`; the oldest packet that waits to be sent has waited for `waited`,
    /// and `waiting` bytes do with it.
    fn on_frame(&mut self, _size: f64, _period: f64, _waited: f64, _waiting: f64) {}

    /// Rate that the encoder is to have, bit/s.
    fn target(&self) -> f64;

    /// Rate at which packets are sent, bit/s.
    fn pace(&self) -> f64;

    /// Bytes in flight up to which packets may be sent.
    fn window(&self) -> f64 {
        f64::INFINITY
    }

    /// The feedback that it asks of the receiver.
    fn feedback(&self) -> FeedbackRule {
        FeedbackRule { packets: u32::MAX, at_frame_end: false, interval: Span::from_millis(100) }
    }
}
