//! A player of adaptive video over HTTP: fetches one segment after the other on one connection that it keeps, at the
//! bitrate that the throughput of the last segments allows.
//!
//! The throughput rule is the simple one of the early players (Akhshabi et al. 2011, "An experimental evaluation of
//! rate-adaptation algorithms in adaptive streaming over HTTP"); the harmonic mean is that of Jiang et al. 2012
//! (FESTIVE). RFC 7928 asks for adaptive video and leaves the rule open.

use crate::measure::declared::measures;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::Video;

measures! {
    /// The video of a group's viewers after the warm-up, all together.
    pub struct VideoResult from stats: PlaybackStats {
        /// Segments of video requested after the warm-up and completed.
        ///
        /// They are transfers, too.
        segments: u64, "Segments" in COUNT = stats.segments;
        /// Mean bitrate of the segments of video.
        bitrate_mean: Option<f64>, "Bitrate" in RATE, more =
            (stats.segments > 0).then(|| stats.bitrates / stats.segments as f64);
        /// Changes of the bitrate from one segment to the next.
        switches: u64, "Switches" in COUNT = stats.switches;
        /// Times the playback buffer ran empty.
        ///
        /// The wait for the first segment is not a stall.
        stalls: u64, "Stalls" in COUNT, less = stats.stalls;
        /// Time for which the playback buffer was empty.
        ///
        /// A stall under way at the end of the run or of the flow counts up to that time.
        stall_time: f64, "Stall time" in TIME, less = stats.stall_time.seconds();
    }
}

/// Segments that the throughput is averaged over.
const HISTORY: usize = 3;
/// Share of that throughput that a bitrate may take.
const SAFETY: f64 = 0.8;

/// One player.
#[derive(Clone)]
pub struct Player {
    video: Video,
    /// Payload of a packet, bits.
    payload: f64,
    /// End of requests and of playback.
    stop: Time,
    /// Metrics count from then on.
    warmup: Time,
    /// Index of the bitrate of the segment asked for last.
    rung: usize,
    asked_at: Time,
    /// Throughputs of the last segments, bit/s.
    throughputs: [f64; HISTORY],
    fetched: usize,
    /// Time at which the playback buffer runs empty; `None` before the first segment has arrived.
    empty_at: Option<Time>,
    stats: PlaybackStats,
}

/// Playback statistics of a viewer after the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub struct PlaybackStats {
    /// Segments fetched.
    pub segments: u64,
    /// Sum of their bitrates, bit/s.
    pub bitrates: f64,
    /// Segments whose bitrate was not that of the one before.
    pub switches: u64,
    /// Times the buffer ran empty.
    pub stalls: u64,
    /// Time for which it was empty.
    pub stall_time: Span,
}

impl PlaybackStats {
    /// Sum over two viewers.
    pub fn plus(self, other: PlaybackStats) -> PlaybackStats {
        PlaybackStats {
            segments: self.segments + other.segments,
            bitrates: self.bitrates + other.bitrates,
            switches: self.switches + other.switches,
            stalls: self.stalls + other.stalls,
            stall_time: self.stall_time + other.stall_time,
        }
    }
}

impl Player {
    pub fn new(video: Video, payload: u32, stop: Time, warmup: Time) -> Self {
        Self {
            video,
            payload: 8.0 * f64::from(payload),
            stop,
            warmup,
            rung: 0,
            asked_at: Time::ZERO,
            throughputs: [0.0; HISTORY],
            fetched: 0,
            empty_at: None,
            stats: PlaybackStats::default(),
        }
    }

    /// Asks for the next segment: the packets that it takes.
    pub fn request(&mut self, now: Time) -> u32 {
        let rung = self.choose();
        if now >= self.warmup {
            self.stats.switches += u64::from(self.fetched > 0 && rung != self.rung);
        }
        (self.rung, self.asked_at) = (rung, now);
        (self.bits() / self.payload).ceil() as u32
    }

    /// The greatest bitrate within the safe share of the throughput, or the least there is.
    fn choose(&self) -> usize {
        let known = &self.throughputs[..self.fetched.min(HISTORY)];
        let slowness: f64 = known.iter().map(|throughput| 1.0 / throughput).sum();
        let safe = SAFETY * known.len() as f64 / slowness; // not a number, so no bitrate is, before the first segment
        self.video.bitrates.iter().rposition(|bitrate| bitrate.0 <= safe).unwrap_or(0)
    }

    /// Size of a segment at the present bitrate.
    fn bits(&self) -> f64 {
        self.video.bitrates[self.rung].0 * self.video.segment.seconds()
    }

    /// The segment is there: when to ask for the next, which is at once if the buffer has room for it.
    pub fn segment_ended(&mut self, now: Time) -> Time {
        self.throughputs[self.fetched % HISTORY] = self.bits() / now.since(self.asked_at).seconds();
        self.fetched += 1;
        if self.asked_at >= self.warmup {
            self.stats.segments += 1;
            self.stats.bitrates += self.video.bitrates[self.rung].0;
        }
        self.stats = self.stats_at(now);
        let full_at = self.empty_at.map_or(now, |empty_at| empty_at.max(now)) + self.video.segment;
        self.empty_at = Some(full_at);
        let level_after_next = full_at.since(now) + self.video.segment;
        now + Span(level_after_next.0.saturating_sub(self.video.playback_buffer.0))
    }

    /// Playback until `now`, a stall under way included.
    pub fn stats_at(&self, now: Time) -> PlaybackStats {
        let mut stats = self.stats;
        if let Some(empty_at) = self.empty_at {
            let stalled = now.min(self.stop).since(empty_at.max(self.warmup));
            stats.stalls += u64::from(stalled > Span::ZERO);
            stats.stall_time = stats.stall_time + stalled;
        }
        stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Rate;

    fn at(seconds: f64) -> Time {
        Time::ZERO + Span::from_seconds(seconds)
    }

    /// Segments of 4 s at 1, 2 or 4 Mbit/s, a buffer of 10 s, packets of 1000 B.
    fn player(stop: f64, warmup: f64) -> Player {
        let video = Video {
            bitrates: [1e6, 2e6, 4e6].map(Rate).to_vec(),
            segment: Span::from_seconds(4.0),
            playback_buffer: Span::from_seconds(10.0),
        };
        Player::new(video, 1000, at(stop), at(warmup))
    }

    #[test]
    fn the_bitrate_follows_the_throughput_of_three_segments() {
        let mut player = player(1000.0, 0.0);
        assert_eq!(player.request(at(0.0)), 500, "4 Mbit at the least bitrate");
        player.segment_ended(at(1.0));
        // 4 Mbit/s, of which 3.2 are safe.
        assert_eq!(player.request(at(1.0)), 1000);
        player.segment_ended(at(1.5));
        // 4 and 16 Mbit/s have a harmonic mean of 6.4; 5.12 are safe.
        assert_eq!(player.request(at(1.5)), 2000);
        player.segment_ended(at(17.5));
        // 4, 16 and 1 Mbit/s: 3 / 1.3125 = 2.29, of which 1.83 are safe.
        assert_eq!(player.request(at(17.5)), 500);
        player.segment_ended(at(18.5));
        // 16, 1 and 4: the same again.
        assert_eq!(player.request(at(18.5)), 500);
        let stats = player.stats_at(at(18.5));
        assert_eq!((stats.segments, stats.switches, stats.bitrates), (4, 3, 1e6 + 2e6 + 4e6 + 1e6));
    }

    #[test]
    fn a_segment_is_asked_for_when_it_fits_the_buffer() {
        let mut player = player(1000.0, 0.0);
        player.request(at(0.0));
        assert_eq!(player.segment_ended(at(1.0)), at(1.0), "4 s, and 4 more fit");
        player.request(at(1.0));
        // At 2 s 7 are left: 4 more fit when 6 are.
        assert_eq!(player.segment_ended(at(2.0)), at(3.0));
    }

    #[test]
    fn an_empty_buffer_is_a_stall_until_the_next_segment() {
        let mut player = player(30.0, 6.0);
        player.request(at(0.0));
        player.segment_ended(at(1.0)); // plays until 5 s
        player.request(at(1.0));
        player.segment_ended(at(8.0)); // empty from 5 s on, counted from 6 s; plays until 12 s
        assert_eq!((player.stats.stalls, player.stats.stall_time), (1, Span::from_seconds(2.0)));
        player.request(at(8.0));
        let stats = player.stats_at(at(20.0));
        assert_eq!((stats.stalls, stats.stall_time), (2, Span::from_seconds(10.0)), "from 12 s on, still empty");
        assert_eq!(player.stats_at(at(50.0)).stall_time, Span::from_seconds(20.0), "nobody looks after 30 s");
        assert_eq!(stats.segments, 0, "both were asked for during the warm-up");
    }
}
