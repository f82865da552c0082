//! Sources of datagrams: a constant rate, or a constant rate that goes on and off.

use aqmlab_core::{Rate, Span, Stream, Time};
use aqmlab_scenario::{Distribution, Traffic};

/// One source.
#[derive(Clone)]
pub struct UdpSource {
    /// Its flow.
    pub flow: u32,
    /// Between two packets while on.
    interval: Span,
    /// Distributions of its on and off times; `None`: always on.
    on_off: Option<(Distribution<Span>, Distribution<Span>)>,
    /// Packets of the present burst still to come.
    left: u64,
    bursts: usize,
    stop: Time,
    rng: Stream,
}

impl UdpSource {
    /// The source of `flow`, at rest, whose packets take `size` bytes on the wire; `None` where the traffic is not UDP.
    pub fn new(traffic: &Traffic, flow: u32, size: u32, stop: Time, rng: Stream) -> Option<Self> {
        let (rate, on_off): (Rate, _) = match traffic {
            Traffic::UdpCbr { rate } => (*rate, None),
            Traffic::UdpOnOff { rate, on, off } => (*rate, Some((on.clone(), off.clone()))),
            _ => return None,
        };
        let interval = rate.transmission(size).max(Span(1));
        Some(Self { flow, interval, on_off, left: 0, bursts: 0, stop, rng })
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
        let mut source = UdpSource::new(traffic, 0, 500, stop, Stream::new(1, "udp", 0)).unwrap();
        let first = source.first(Time::ZERO);
        std::iter::successors(first, |time| source.after(*time)).map(Time::seconds).collect()
    }

    #[test]
    fn a_constant_rate_sends_at_equal_intervals_until_it_stops() {
        // 500 B at 64 kbit/s: one packet every 62.5 ms.
        assert_eq!(times(&Traffic::UdpCbr { rate: Rate(64e3) }, 0.25), [0.0, 0.0625, 0.125, 0.1875]);
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
