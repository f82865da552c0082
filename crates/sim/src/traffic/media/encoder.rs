//! An encoder: a frame each period, as large as the rate says, by and large.

use aqmlab_core::{Span, Stream, Time};
use aqmlab_scenario::{FrameSizes, Media};

/// Size of a key frame over that of others.
const KEY_SIZE: f64 = 4.0;
/// Standard deviation of a frame's size over its mean. RFC 8593 has Laplace's distribution; how wide it is is chosen here.
const DEVIATION: f64 = 0.1;

/// An encoder of one stream.
#[derive(Clone, Debug)]
pub struct Encoder {
    frames: FrameSizes,
    period: Span,
    pause: Option<(Time, Time)>,
    stop: Time,
    /// Frames made.
    count: u64,
    /// Frames between key frames, and the size of one that is none over the mean.
    key_every: u64,
    plain: f64,
    /// Mean of a trace.
    mean: f64,
    /// The time at which it makes the next.
    pub next: Time,
    rng: Stream,
}

impl Encoder {
    pub fn new(media: &Media, start: Time, stop: Time, rng: Stream) -> Self {
        let period = media.frame_rate.period();
        let (mut key_every, mut plain, mut mean) = (u64::MAX, 1.0, 1.0);
        match &media.frames {
            FrameSizes::Constant => {}
            FrameSizes::Statistical { key_interval } => {
                key_every = ((key_interval.seconds() / period.seconds()).round() as u64).max(1);
                plain = key_every as f64 / (key_every as f64 - 1.0 + KEY_SIZE);
            }
            FrameSizes::Trace(sizes) => mean = sizes.iter().sum::<f64>() / sizes.len() as f64,
        }
        let pause = media.pause.map(|(from, to)| (Time::ZERO + from, Time::ZERO + to));
        let (frames, next) = (media.frames.clone(), if start < stop { start } else { Time::NEVER });
        let mut encoder = Self { frames, period, pause, stop, count: 0, key_every, plain, mean, next, rng };
        encoder.rest();
        encoder
    }

    /// Makes the frame that is due, at `rate` bit/s: its bytes.
    pub fn make(&mut self, rate: f64) -> u32 {
        let relative = match &self.frames {
            FrameSizes::Constant => 1.0,
            FrameSizes::Statistical { .. } => {
                let is_key = self.count.is_multiple_of(self.key_every);
                let size = self.plain * if is_key { KEY_SIZE } else { 1.0 };
                size * (1.0 + laplace(self.rng.uniform())).max(0.1)
            }
            FrameSizes::Trace(sizes) => sizes[(self.count % sizes.len() as u64) as usize] / self.mean,
        };
        self.count += 1;
        self.next += self.period;
        self.rest();
        (relative * rate * self.period.seconds() / 8.0).round().max(1.0) as u32
    }

    /// Time between frames.
    pub fn period(&self) -> Span {
        self.period
    }

    /// It makes no more from `time` on.
    pub fn stop_at(&mut self, time: Time) {
        self.stop = time;
        self.rest();
    }

    fn rest(&mut self) {
        if let Some((from, to)) = self.pause
            && (from..to).contains(&self.next)
        {
            self.next = to;
        }
        if self.next >= self.stop {
            self.next = Time::NEVER;
        }
    }
}

/// A number of Laplace's distribution around 0, from one that is uniform in 0 to 1.
fn laplace(uniform: f64) -> f64 {
    let scale = DEVIATION / std::f64::consts::SQRT_2;
    let away = uniform - 0.5;
    -scale * away.signum() * libm::log((1.0 - 2.0 * away.abs()).max(1e-12))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoder(keys: &str) -> Encoder {
        let text = format!(
            "schema = 1\nduration = \"9 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n[[flows]]\n\
             kind = \"media\"\nrtt = \"80 ms\"\nrate = \"1 Mbit/s\"\nframe_rate = \"25 Hz\"\n{keys}\n"
        );
        let scenario = aqmlab_scenario::parse(&text, "encoder", &[]).unwrap();
        let media = scenario.flows[0].traffic.media().unwrap();
        Encoder::new(media, Time::ZERO, Time::ZERO + Span::from_secs(2), Stream::new(1, "media", 0))
    }

    #[test]
    fn frames_of_a_constant_rate_are_alike() {
        let mut encoder = encoder("");
        // 1 Mbit/s over 25 frames a second: 5000 B.
        assert_eq!((encoder.make(1e6), encoder.make(2e6)), (5000, 10_000));
        assert_eq!(encoder.next, Time::ZERO + Span::from_millis(80));
    }

    #[test]
    fn a_trace_keeps_its_proportions_and_the_rate() {
        let mut encoder = encoder("frames = [6, 1, 2]");
        let sizes: Vec<u32> = (0..4).map(|_| encoder.make(1e6)).collect();
        assert_eq!(sizes, [10_000, 1667, 3333, 10_000]);
    }

    #[test]
    fn key_frames_come_out_of_the_others() {
        let mut encoder = encoder("frames = \"statistical\"\nkey_interval = \"400 ms\"");
        encoder.stop_at(Time::NEVER);
        let sizes: Vec<f64> = (0..10_000).map(|_| f64::from(encoder.make(1e6))).collect();
        let mean = |sizes: &mut dyn Iterator<Item = f64>| {
            let (sum, count) = sizes.fold((0.0, 0.0), |(sum, count), size| (sum + size, count + 1.0));
            sum / count
        };
        // Ten frames are nine and a key: 10/13 of the mean, and 40/13. 10 % over 100 frames' root: 1 %.
        assert!((mean(&mut sizes.iter().copied()) / 5000.0 - 1.0).abs() < 0.01);
        assert!((mean(&mut sizes.iter().copied().step_by(10)) / (5000.0 * 40.0 / 13.0) - 1.0).abs() < 0.02);
    }

    #[test]
    fn nothing_is_made_in_a_pause_nor_after_the_end() {
        let mut encoder = encoder("pause = [\"500 ms\", \"1.5 s\"]");
        let mut times = Vec::new();
        while encoder.next < Time::NEVER {
            times.push(encoder.next.seconds());
            encoder.make(1e6);
        }
        assert_eq!(times.len(), 13 + 13, "0 to 480 ms, and 1.5 to 1.98 s");
        assert_eq!(times[13], 1.5);
    }
}
