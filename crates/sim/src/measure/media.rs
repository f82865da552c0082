//! Measures of calls that adapt: of frames, as people see them, not of packets.

use super::declared::measures;
use crate::traffic::media::receiver::MediaStats;
use aqmlab_core::Time;

measures! {
    /// The media of a group after the warm-up, over all its flows.
    pub struct MediaResult from media: MediaFacts {
        /// Frames that the encoders have made.
        frames: u64, "Frames" in COUNT = media.stats.frames;
        /// Mean target rate that the rate control gave the encoders.
        target: Option<f64>, "Target" in RATE, more =
            (media.stats.frames > 0).then(|| media.stats.targets / media.stats.frames as f64);
        /// Mean time from the capture of a frame to the arrival of its last packet.
        ///
        /// Queueing at the sender and retransmissions are included.
        frame_delay_mean: Option<f64>, "Frame delay" in DELAY, less = media.stats.delay.mean();
        /// 95 % of the frames are complete at most this long after their capture.
        frame_delay_p95: Option<f64>, "Frame delay p95" in DELAY, less = media.stats.delay.quantile(0.95);
        /// 99 % of the frames are complete at most this long after their capture.
        frame_delay_p99: Option<f64>, "Frame delay p99" in DELAY, less = media.stats.delay.quantile(0.99);
        /// Mean time from the capture of a frame to its display.
        ///
        /// Frames are shown in order. A frame is due after the delay of the fastest frame plus `jitter_buffer`, counted
        /// from its capture. A late frame is shown as soon as it and all frames before it are complete.
        display_delay_mean: Option<f64>, "Display delay" in DELAY, less = media.stats.display_delay.mean();
        /// Frames that were complete after they should have been shown, over frames that were shown or lost.
        late_ratio: Option<f64>, "Late frames" in SHARE, less = media.stats.of_settled(media.stats.late);
        /// Frames that were never complete, over frames that were shown or lost.
        ///
        /// The sender drops packets that have waited for 1 s; the receiver waits for 500 ms after the time of a frame
        /// while later ones are there.
        lost_ratio: Option<f64>, "Lost frames" in SHARE, less = media.stats.of_settled(media.stats.lost);
        /// Number of freezes (W3C `freezeCount`).
        ///
        /// A freeze is a gap between two frames on display of at least three times the average of the last 30, and 150
        /// ms longer. A freeze under way at the end of the run counts up to the end.
        freezes: u64, "Freezes" in COUNT, less = media.stats.freezes;
        /// Share of the time in which the picture was frozen.
        freeze_ratio: Option<f64>, "Frozen" in SHARE, less = media.stats.freeze_ratio();
        /// Standard deviation of the rate that arrives, over its mean.
        ///
        /// Of whole seconds, the root of the mean of the flows' squares.
        rate_variation: Option<f64>, "Rate variation" in SHARE, less = media.rate_variation;
        /// Packets retransmitted.
        resent: u64, "Retransmitted" in PACKETS, less = media.stats.resent;
        /// Rate of feedback on the reverse path, with IP's header.
        ///
        /// RFC 8888 in RTCP of reduced size: 48 bytes and 2 for each packet, of which each is in two feedbacks.
        feedback_rate: f64, "Feedback" in RATE, less = 8.0 * media.stats.feedback_bytes as f64 / media.seconds;
        /// For each flow, the media that arrived in each second of the run, bit/s.
        ///
        /// Recorded if `rates = true`.
        #[serde(skip_serializing_if = "Option::is_none")]
        rates: Option<RateTable> = media.rates.clone();
    }
}

measures! {
    /// A stream of RTP in a live run after the warm-up, and what feedback says of it.
    pub struct RtpResult from rtp: RtpFacts {
        /// Packets that have reached the emulated link.
        sent: u64, "Sent" in PACKETS = rtp.sent;
        /// Packets that have not passed the emulated link, over those expected.
        ///
        /// The expected packets are all sequence numbers from the lowest to the highest that came through (RFC 3550,
        /// section 6.4.1), including packets lost before the link.
        loss_ratio: Option<f64>, "Lost packets" in SHARE, less =
            share(rtp.expected.saturating_sub(rtp.received), rtp.expected);
        /// Packets that came through with a congestion mark, over those that came through.
        mark_ratio: Option<f64>, "Marked packets" in SHARE = share(rtp.marked, rtp.received);
        /// Feedback messages (RFC 8888) on the stream that came through in the other direction.
        ///
        /// None if the feedback is encrypted, as in browsers.
        feedbacks: u64, "Feedbacks" in COUNT = rtp.feedbacks;
        /// Mean time between two feedback messages.
        feedback_interval: Option<f64>, "Feedback interval" in DELAY =
            (rtp.feedbacks > 1).then(|| rtp.feedback_time / (rtp.feedbacks - 1) as f64);
        /// Packets that no feedback reports as arrived, over those that feedback covers.
        reported_loss_ratio: Option<f64>, "Reported losses" in SHARE, less =
            share(rtp.reported_lost, rtp.reported + rtp.reported_lost);
        /// Packets that feedback reports as marked, over those that it reports as arrived.
        reported_mark_ratio: Option<f64>, "Reported marks" in SHARE = share(rtp.reported_marked, rtp.reported);
    }
}

/// The facts that the measures of a stream of RTP are computed from.
#[derive(Clone, Debug, Default)]
pub struct RtpFacts {
    /// Packets that have reached the emulated link.
    pub sent: u64,
    /// Sequence numbers from the lowest to the highest that came through.
    pub expected: u64,
    /// Packets that came through, each once.
    pub received: u64,
    /// Those of them with a congestion mark.
    pub marked: u64,
    /// Feedback that came through.
    pub feedbacks: u64,
    /// From the first to the last of it, s.
    pub feedback_time: f64,
    /// Packets that have arrived, as it says.
    pub reported: u64,
    /// Those of them with a congestion mark.
    pub reported_marked: u64,
    /// Packets that it tells of, but not that they have arrived.
    pub reported_lost: u64,
}

fn share(part: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| part as f64 / of as f64)
}

/// Standard deviation of the bytes of each second over their mean: of the whole seconds from `start` on that a stream took part in.
pub fn rate_variation(seconds: &[u32], start: Time, now: Time) -> Option<f64> {
    let first = seconds.iter().position(|bytes| *bytes > 0)?;
    let from = (first + 1).max(start.seconds().ceil() as usize);
    let until = (now.seconds() as usize).min(seconds.len().saturating_sub(1));
    let rates: Vec<f64> = seconds.get(from..until)?.iter().map(|bytes| f64::from(*bytes)).collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    let variance = rates.iter().map(|rate| (rate - mean) * (rate - mean)).sum::<f64>() / rates.len() as f64;
    (rates.len() > 1 && mean > 0.0).then(|| variance.sqrt() / mean)
}

/// The root of the mean of the squares.
pub fn rms(values: impl Iterator<Item = f64>) -> Option<f64> {
    let values: Vec<f64> = values.collect();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (!values.is_empty()).then(|| (squares / values.len() as f64).sqrt())
}

/// The rate of each flow in each second.
pub type RateTable = Vec<Vec<f64>>;

/// The facts that the measures of media are computed from, at the end of a run.
#[derive(Debug, Default)]
pub struct MediaFacts {
    /// Of all streams of the group.
    pub stats: MediaStats,
    /// See [`MediaResult::rate_variation`].
    pub rate_variation: Option<f64>,
    /// Time that metrics count, s.
    pub seconds: f64,
    /// See [`MediaResult::rates`].
    pub rates: Option<RateTable>,
}

impl MediaStats {
    fn of_settled(&self, count: u64) -> Option<f64> {
        (self.settled > 0).then(|| count as f64 / self.settled as f64)
    }

    fn freeze_ratio(&self) -> Option<f64> {
        let watched = self.watched.seconds();
        (watched > 0.0).then(|| self.freeze_time.seconds() / watched)
    }
}
