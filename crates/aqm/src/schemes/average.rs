use crate::QueueView;
use aqmlab_core::{Bytes, Rate, Span};

/// RED's average queue for schemes that look at it on a timer only: the low-pass filter of the fluid models, one sample
/// in each transmission time of a packet. Unlike RED's own it needs no arrivals, so an idle link's average falls.
pub(super) struct AverageQueue {
    /// Weight of the queue at the end of an interval.
    weight: f64,
    /// Average queue, packets.
    pub(super) avg: f64,
}

/// Weight of an interval's one sample where that of each packet's sample is `q_weight`.
pub(super) fn weight(q_weight: f64, interval: Span, mean_packet: Bytes, rate: Rate) -> f64 {
    let samples = rate.0 / (8.0 * mean_packet.0) * interval.seconds();
    1.0 - libm::pow(1.0 - q_weight, samples)
}

impl AverageQueue {
    /// Of an empty queue; `q_weight` is the weight of one packet's sample.
    pub(super) fn new(q_weight: f64, interval: Span, mean_packet: Bytes, queue: &QueueView) -> Self {
        Self { weight: weight(q_weight, interval, mean_packet, queue.rate), avg: 0.0 }
    }

    /// The average after an interval that ends with `packets` waiting; also how much it has grown.
    pub(super) fn sample(&mut self, packets: u32) -> (f64, f64) {
        let growth = self.weight * (f64::from(packets) - self.avg);
        self.avg += growth;
        (self.avg, growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;

    /// 1000 packets/s: two samples in 2 ms, each of weight 0.5, leave a quarter of what was.
    #[test]
    fn an_interval_counts_as_the_packets_that_the_link_can_send_in_it() {
        let interval = Span::from_seconds(0.002);
        let mut average = AverageQueue::new(0.5, interval, Bytes(1000.0), &bench::queue(0));
        assert_eq!(average.sample(16), (12.0, 12.0));
        assert_eq!(average.sample(16), (15.0, 3.0));
        assert_eq!(average.sample(0), (3.75, -11.25));
    }
}
