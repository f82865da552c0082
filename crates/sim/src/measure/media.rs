//! Measures of calls that adapt: of frames, as people see them, not of packets.

use super::declared::measures;
use crate::traffic::media::receiver::MediaStats;

measures! {
    /// The media of a group after the warm-up, over all its flows.
    pub struct MediaResult from media: MediaFacts {
        /// Frames that the encoders have made.
        frames: u64, "Frames" in COUNT = media.stats.frames;
        /// Mean rate that the laws have asked of the encoders.
        target: Option<f64>, "Target" in RATE, more =
            (media.stats.frames > 0).then(|| media.stats.targets / media.stats.frames as f64);
        /// Mean time from the capture of a frame to the arrival of its last packet.
        ///
        /// The wait at the sender is part of it, and so are packets that were sent again.
        frame_delay_mean: Option<f64>, "Frame delay" in DELAY, less = media.stats.delay.mean();
        /// 95 % of the frames are complete at most this long after their capture.
        frame_delay_p95: Option<f64>, "Frame delay p95" in DELAY, less = media.stats.delay.quantile(0.95);
        /// 99 % of the frames are complete at most this long after their capture.
        frame_delay_p99: Option<f64>, "Frame delay p99" in DELAY, less = media.stats.delay.quantile(0.99);
        /// Mean time from the capture of a frame to its display.
        ///
        /// Frames are shown in order, so long after their capture as the fastest frame took to arrive and `jitter_buffer`; those that
        /// are late as soon as they and all before them are there.
        display_delay_mean: Option<f64>, "Display delay" in DELAY, less = media.stats.display_delay.mean();
        /// Frames that were complete after they should have been shown, over frames that were shown or lost.
        late_ratio: Option<f64>, "Late frames" in SHARE, less = media.stats.of_settled(media.stats.late);
        /// Frames that were never complete, over frames that were shown or lost.
        ///
        /// The sender drops what has waited for 1 s; the receiver waits for 500 ms after the time of a frame while later ones are there.
        lost_ratio: Option<f64>, "Lost frames" in SHARE, less = media.stats.of_settled(media.stats.lost);
        /// Times the picture stood still.
        ///
        /// A gap between two frames on display that is at least three times the average of the last 30, and 150 ms longer (freezeCount
        /// of W3C's statistics of WebRTC). One under way at the end counts up to then.
        freezes: u64, "Freezes" in COUNT, less = media.stats.freezes;
        /// Share of the time for which the picture stood still.
        freeze_ratio: Option<f64>, "Frozen" in SHARE, less = media.stats.freeze_ratio();
        /// Standard deviation of the rate that arrives, over its mean.
        ///
        /// Of whole seconds, the root of the mean of the flows' squares.
        rate_variation: Option<f64>, "Rate variation" in SHARE, less = media.rate_variation;
        /// Packets that were sent again.
        resent: u64, "Resent" in PACKETS, less = media.stats.resent;
        /// Feedback sent on the way back, with IP's header.
        ///
        /// RFC 8888 in RTCP of reduced size: 48 bytes and 2 for each packet, of which each is in two feedbacks.
        feedback_rate: f64, "Feedback" in RATE, less = 8.0 * media.stats.feedback_bytes as f64 / media.seconds;
        /// For each flow, the media that arrived in each second of the run, bit/s.
        ///
        /// If `rates = true` asks for them.
        #[serde(skip_serializing_if = "Option::is_none")]
        rates: Option<RateTable> = media.rates.clone();
    }
}

/// The rate of each flow in each second.
pub type RateTable = Vec<Vec<f64>>;

/// What the measures of media are computed from, at the end of a run.
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
