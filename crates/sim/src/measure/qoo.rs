//! Measures of what users feel: Quality of Outcome, how near a network comes to what an application asks for (draft-ietf-ippm-qoo-06, section 7.1),
//! and round trips a minute (RPM, draft-ietf-ippm-responsiveness).

/// Requirements of an application: from where on it works perfectly, and from where on it is of no use.
pub struct QooProfile {
    /// Share of the packets whose latency counts.
    pub percentile: f64,
    /// Round trip, s: perfect, and useless.
    latency: [f64; 2],
    /// Share of packets lost: perfect, and useless.
    loss: [f64; 2],
}

/// Each by its measure.
pub const PROFILES: [(&str, &QooProfile); 4] =
    [("qoo_web", &WEB), ("qoo_conferencing", &CONFERENCING), ("qoo_gaming", &GAMING), ("qoo_backup", &BACKUP)];

/// The profiles of LibreQoS 2.0.
pub const WEB: QooProfile = QooProfile { percentile: 0.90, latency: [0.050, 0.150], loss: [0.005, 0.01] };
/// See [`WEB`].
pub const CONFERENCING: QooProfile = QooProfile { percentile: 0.95, latency: [0.050, 0.100], loss: [0.001, 0.005] };
/// See [`WEB`].
pub const GAMING: QooProfile = QooProfile { percentile: 0.95, latency: [0.050, 0.100], loss: [0.005, 0.01] };
/// See [`WEB`].
pub const BACKUP: QooProfile = QooProfile { percentile: 0.95, latency: [0.100, 0.150], loss: [0.001, 0.01] };

impl QooProfile {
    /// The score, 0 to 100: the worse of those of latency, a round trip that `percentile` of the packets do not exceed, s, and of loss,
    /// the share of packets lost.
    pub fn score(&self, latency: f64, loss_ratio: f64) -> f64 {
        component(latency, self.latency).min(component(loss_ratio, self.loss))
    }
}

/// Round trips a minute, each of which takes so long, s.
pub fn rpm(round_trip: f64) -> Option<f64> {
    (round_trip > 0.0).then(|| 60.0 / round_trip)
}

/// 100 up to what is perfect, 0 from what is useless on, linear between.
fn component(value: f64, [perfect, useless]: [f64; 2]) -> f64 {
    (100.0 * (1.0 - (value - perfect) / (useless - perfect))).clamp(0.0, 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn scores_by_hand() {
        close(WEB.score(0.050, 0.0), 100.0);
        // 100 ms: half way from 50 to 150 ms, and all the way from 50 to 100 ms.
        close(WEB.score(0.100, 0.0), 50.0);
        close(CONFERENCING.score(0.100, 0.0), 0.0);
        // 80 ms of 50 to 100 ms: 40. 120 ms of 100 to 150 ms: 60.
        close(GAMING.score(0.080, 0.0), 40.0);
        close(BACKUP.score(0.120, 0.0), 60.0);
    }

    #[test]
    fn the_worse_of_latency_and_loss_counts() {
        // 0.2 % of 0.1 to 0.5 %: 75. Half way of 0.5 to 1 %: 50.
        close(CONFERENCING.score(0.020, 0.002), 75.0);
        close(WEB.score(0.020, 0.0075), 50.0);
        close(GAMING.score(0.080, 0.0075), 40.0);
        close(GAMING.score(0.080, 0.02), 0.0);
    }
}
