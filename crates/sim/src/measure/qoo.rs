//! Quality of Outcome: how near a network comes to what an application asks for (draft-ietf-ippm-qoo-06, section 7.1).

use super::spans::Spans;

/// Requirements of an application: from where on it works perfectly, and from where on it is of no use.
pub struct QooProfile {
    /// Share of the packets whose latency counts.
    percentile: f64,
    /// Round trip, s: perfect, and useless.
    latency: [f64; 2],
    /// Share of packets lost: perfect, and useless.
    loss: [f64; 2],
}

/// The profiles of LibreQoS 2.0.
pub const WEB: QooProfile = QooProfile { percentile: 0.90, latency: [0.050, 0.150], loss: [0.005, 0.01] };
/// See [`WEB`].
pub const CONFERENCING: QooProfile = QooProfile { percentile: 0.95, latency: [0.050, 0.100], loss: [0.001, 0.005] };
/// See [`WEB`].
pub const GAMING: QooProfile = QooProfile { percentile: 0.95, latency: [0.050, 0.100], loss: [0.005, 0.01] };
/// See [`WEB`].
pub const BACKUP: QooProfile = QooProfile { percentile: 0.95, latency: [0.100, 0.150], loss: [0.001, 0.01] };

impl QooProfile {
    /// The score, 0 to 100: the worse of those of latency and loss. Of the delays of packets one way, the time of the way back, s,
    /// and the share of packets lost; `None` without a packet.
    pub fn score(&self, delays: &Spans, way_back: f64, loss_ratio: f64) -> Option<f64> {
        let latency = delays.quantile(self.percentile)? + way_back;
        Some(component(latency, self.latency).min(component(loss_ratio, self.loss)))
    }
}

/// 100 up to what is perfect, 0 from what is useless on, linear between.
fn component(value: f64, [perfect, useless]: [f64; 2]) -> f64 {
    (100.0 * (1.0 - (value - perfect) / (useless - perfect))).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::Span;

    /// Of 100 packets as many as said are late, the others take 20 ms; the way back takes 20 ms.
    fn score(profile: &QooProfile, late: u64, ms: u64, loss_ratio: f64) -> f64 {
        let mut delays = Spans::default();
        (0..100).for_each(|n| delays.add(Span::from_millis(if n < late { ms } else { 20 })));
        profile.score(&delays, 0.020, loss_ratio).unwrap()
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 0.2, "{value} is not {expected}"); // percentiles are exact to 0.1 %
    }

    #[test]
    fn scores_by_hand() {
        // 40 ms are perfect for all; 5 packets of 100 that are late do not count at 90 %, 20 do.
        close(score(&WEB, 5, 400, 0.0), 100.0);
        // 80 + 20 ms: half way from 50 to 150 ms, and all the way from 50 to 100 ms.
        close(score(&WEB, 20, 80, 0.0), 50.0);
        close(score(&CONFERENCING, 20, 80, 0.0), 0.0);
        // 60 + 20 ms of 50 to 100 ms: 40. 100 + 20 ms of 100 to 150 ms: 60.
        close(score(&GAMING, 20, 60, 0.0), 40.0);
        close(score(&BACKUP, 20, 100, 0.0), 60.0);
    }

    #[test]
    fn the_worse_of_latency_and_loss_counts() {
        // 0.2 % of 0.1 to 0.5 %: 75. Half way of 0.5 to 1 %: 50.
        close(score(&CONFERENCING, 0, 0, 0.002), 75.0);
        close(score(&WEB, 0, 0, 0.0075), 50.0);
        close(score(&GAMING, 20, 60, 0.0075), 40.0);
        close(score(&GAMING, 20, 60, 0.02), 0.0);
        assert_eq!(WEB.score(&Spans::default(), 0.0, 0.0), None);
    }
}
