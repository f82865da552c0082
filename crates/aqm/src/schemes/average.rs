use crate::QueueView;
use aqmlab_core::{Bytes, Rate, Span};

/// RED's average queue for schemes that look at it on a timer only: the low-pass filter of the fluid models, one sample
/// in each transmission time of a packet. Unlike RED's own it needs no arrivals, so an idle link's average falls.
#[derive(Clone, Default)]
pub(super) struct AverageQueue {
    /// Average queue, packets.
    pub(super) avg: f64,
}

/// Weight of an interval's one sample where that of each packet's sample is `q_weight`.
pub(super) fn weight(q_weight: f64, interval: Span, mean_packet: Bytes, rate: Rate) -> f64 {
    let samples = rate.0 / (8.0 * mean_packet.0) * interval.seconds();
    1.0 - libm::pow(1.0 - q_weight, samples)
}

impl AverageQueue {
    /// The average after an `interval` that ends with this queue, and how much it has grown; `q_weight` is the weight of
    /// one packet's sample.
    pub(super) fn sample(
        &mut self,
        queue: &QueueView,
        q_weight: f64,
        interval: Span,
        mean_packet: Bytes,
    ) -> (f64, f64) {
        let growth = weight(q_weight, interval, mean_packet, queue.rate) * (f64::from(queue.packets) - self.avg);
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
        let mut average = AverageQueue::default();
        let mut sample = |packets| average.sample(&bench::queue(packets), 0.5, interval, Bytes(1000.0));
        assert_eq!([16, 16, 0].map(&mut sample), [(12.0, 12.0), (15.0, 3.0), (3.75, -11.25)]);
        // Half the rate: one sample of weight 0.5.
        let slow = QueueView { rate: Rate(4e6), ..bench::queue(0) };
        assert_eq!(average.sample(&slow, 0.5, interval, Bytes(1000.0)), (1.875, -1.875));
    }
}
