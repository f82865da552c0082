//! Sources of datagrams, or of data for TCP: a constant rate, or a constant rate that goes on and off.

use aqmlab_core::{Rate, Span, Stream, Time};
use aqmlab_scenario::{Distribution, OfferedData, Traffic};

/// One source.
#[derive(Clone)]
pub struct TimedSource {
    /// Its flow.
    pub flow: u32,
    /// Segments that it offers at once; 1 of datagrams.
    pub chunk: u32,
    /// Time at which it last sent or offered something.
    pub emitted: Time,
    /// Between two times while on.
    interval: Span,
    /// Distributions of its on and off times; `None`: always on.
    on_off: Option<(Distribution<Span>, Distribution<Span>)>,
    /// Packets of the present burst still to come.
    left: u64,
    bursts: usize,
    stop: Time,
    rng: Stream,
}

impl TimedSource {
    /// The source of `flow`, at rest; `None` where the traffic has none. `size`: bytes that each packet counts in its rate.
    pub fn new(traffic: &Traffic, flow: u32, size: u32, stop: Time, rng: Stream) -> Option<Self> {
        let (rate, chunk, on_off): (Rate, u32, _) = match traffic {
            Traffic::UdpCbr { rate } => (*rate, 1, None),
            Traffic::UdpOnOff { rate, on, off } => (*rate, 1, Some((on.clone(), off.clone()))),
            Traffic::AppLimited(OfferedData { rate, chunk, on_off }) => (*rate, *chunk, on_off.clone()),
            _ => return None,
        };
        let source =
            Self { flow, chunk, emitted: Time::ZERO, interval: Span::ZERO, on_off, left: 0, bursts: 0, stop, rng };
        Some(source.at_rate(rate, size, stop))
    }

    /// The same at another rate, which is more than 0.
    pub fn at_rate(self, rate: Rate, size: u32, stop: Time) -> Self {
        let interval = Span::from_seconds(8.0 * f64::from(size) * f64::from(self.chunk) / rate.0).max(Span(1));
        Self { interval, stop, ..self }
    }

    /// Time of its first packet. An on-off source begins with an off time, so that sources do not begin together.
    pub fn first(&mut self, start: Time) -> Option<Time> {
        match self.on_off {
            None => self.unless_stopped(start),
            Some(_) => self.after(start),
        }
    }

    /// A packet has left now: when the next one does, if it does.
    pub fn after(&mut self, now: Time) -> Option<Time> {
        self.emitted = now;
        let mut next = now + self.interval;
        if let Some((on, off)) = &self.on_off {
            if self.left == 0 {
                let packets = on.draw(self.bursts, &mut self.rng).seconds() / self.interval.seconds();
                next += off.draw(self.bursts, &mut self.rng);
                self.left = packets.round().max(1.0) as u64;
                self.bursts += 1;
            }
            self.left -= 1;
        }
        self.unless_stopped(next)
    }

    /// It sends nothing from `time` on.
    pub fn stop_at(&mut self, time: Time) {
        self.stop = time;
    }

    /// It sends nothing more.
    pub fn is_stopped(&self, now: Time) -> bool {
        now >= self.stop
    }

    fn unless_stopped(&self, time: Time) -> Option<Time> {
        (time < self.stop).then_some(time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(s: f64) -> Span {
        Span::from_seconds(s)
    }

    fn times(traffic: &Traffic, stop: f64) -> Vec<f64> {
        let stop = Time::ZERO + seconds(stop);
        let mut source = TimedSource::new(traffic, 0, 500, stop, Stream::new(1, "udp", 0)).unwrap();
        let first = source.first(Time::ZERO);
        std::iter::successors(first, |time| source.after(*time)).map(Time::seconds).collect()
    }

    #[test]
    fn a_constant_rate_sends_at_equal_intervals_until_it_stops() {
        // 500 B at 64 kbit/s: one packet every 62.5 ms.
        assert_eq!(times(&Traffic::UdpCbr { rate: Rate(64e3) }, 0.25), [0.0, 0.0625, 0.125, 0.1875]);
    }

    #[test]
    fn data_are_offered_in_chunks() {
        let offered = OfferedData { rate: Rate(64e3), chunk: 4, on_off: None };
        // 4 segments of 500 B at 64 kbit/s: a chunk every 250 ms.
        assert_eq!(times(&Traffic::AppLimited(offered.clone()), 1.0), [0.0, 0.25, 0.5, 0.75]);
        let always = Distribution::Fixed(seconds(0.5));
        let offered = OfferedData { on_off: Some((always, Distribution::Fixed(seconds(1.0)))), ..offered };
        assert_eq!(times(&Traffic::AppLimited(offered), 3.0), [1.25, 1.5, 2.75], "two chunks a burst");
    }

    #[test]
    fn bursts_of_whole_packets_follow_off_times() {
        let traffic = Traffic::UdpOnOff {
            rate: Rate(64e3),
            on: Distribution::Fixed(seconds(0.2)),
            off: Distribution::Fixed(seconds(1.0)),
        };
        // 0.2 s are 3.2 packets: 3 a burst.
        assert_eq!(times(&traffic, 2.5), [1.0625, 1.125, 1.1875, 2.25, 2.3125, 2.375]);
    }

    #[test]
    fn an_on_off_source_is_on_half_of_the_time() {
        let half = Distribution::Exponential(seconds(0.5));
        let traffic = Traffic::UdpOnOff { rate: Rate(64e3), on: half.clone(), off: half };
        // 16 packets a second while on; over 10000 s the share has a standard error of about 0.7 %.
        let share = times(&traffic, 10_000.0).len() as f64 / 160_000.0;
        assert!((share - 0.5).abs() < 0.02, "{share}");
    }
}
