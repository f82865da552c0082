//! What a congestion control of real-time media gets and answers. Laws count in seconds, bytes of media and bit/s.

use super::gcc::Gcc;
use super::nada::Nada;
use super::scream::Scream;
use aqmlab_aqm::Ecn;
use aqmlab_core::Span;
use aqmlab_scenario::{Media, MediaLaw};

/// A packet that the receiver has told of for the first time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MediaArrival {
    /// Its place in the stream.
    pub seq: u32,
    /// When it was sent, s.
    pub sent: f64,
    /// When it arrived, s, as far as the feedback's clock tells.
    pub arrived: f64,
    /// Bytes.
    pub size: f64,
    /// It carried a congestion mark.
    pub is_ce: bool,
}

/// What a feedback has told.
#[derive(Clone, Debug, PartialEq)]
pub struct MediaReport {
    /// When it reached the sender, s.
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

/// When a receiver sends feedback.
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

    /// What it asks of the receiver.
    fn feedback(&self) -> FeedbackRule {
        FeedbackRule { packets: u32::MAX, at_frame_end: false, interval: Span::from_millis(100) }
    }
}

/// The law of a stream.
#[derive(Clone, Debug)]
pub enum Control {
    Constant(ConstantRate),
    Scream(Box<Scream>),
    Gcc(Box<Gcc>),
    Nada(Box<Nada>),
}

impl Control {
    /// The law of a scenario at rest; `mss` is the payload of a full packet, bytes, and `ecn` the field of its packets.
    pub fn new(media: &Media, mss: u32, ecn: Ecn) -> Self {
        let range = RateRange { start: media.rate.0, min: media.rate_min.0, max: media.rate_max.0 };
        match media.law {
            MediaLaw::Constant => Self::Constant(ConstantRate(media.rate.0)),
            MediaLaw::Scream => Self::Scream(Box::new(Scream::new(range, f64::from(mss), ecn == Ecn::Ect1))),
            MediaLaw::Gcc => Self::Gcc(Box::new(Gcc::new(range))),
            MediaLaw::Nada => Self::Nada(Box::new(Nada::new(range, media.frame_rate.0))),
        }
    }

    pub fn law(&self) -> &dyn MediaControl {
        match self {
            Self::Constant(law) => law,
            Self::Scream(law) => &**law,
            Self::Gcc(law) => &**law,
            Self::Nada(law) => &**law,
        }
    }

    pub fn law_mut(&mut self) -> &mut dyn MediaControl {
        match self {
            Self::Constant(law) => law,
            Self::Scream(law) => &mut **law,
            Self::Gcc(law) => &mut **law,
            Self::Nada(law) => &mut **law,
        }
    }
}

/// A rate that never changes, bit/s. Frames are sent in half of the time between them.
#[derive(Clone, Copy, Debug)]
pub struct ConstantRate(pub f64);

impl MediaControl for ConstantRate {
    fn target(&self) -> f64 {
        self.0
    }

    fn pace(&self) -> f64 {
        2.0 * self.0
    }
}
