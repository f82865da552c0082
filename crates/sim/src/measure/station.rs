//! What the stations of a Wi-Fi cell have of the air.

use crate::net::wifi::AirMeter;
use aqmlab_core::Span;
use serde::Serialize;

/// A station of a Wi-Fi cell after the warm-up, or several that are alike, on average. What goes to it and what comes from it count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StationResult {
    /// How many there are.
    pub count: usize,
    /// Share of the time in which one of them is on the air, with the block ACKs and its part of collisions.
    pub airtime: f64,
    /// The same over the sum of all stations.
    pub airtime_share: f64,
    /// Mean number of MPDUs in an aggregate; null without one.
    pub ampdu_mean: Option<f64>,
    /// MPDUs that did not arrive over those sent; null without one.
    pub mpdu_loss_ratio: Option<f64>,
}

impl StationResult {
    /// Of stations that are alike, where `all` have had so much time on the air in this time.
    pub fn of(meters: &[AirMeter], all: Span, time: Span) -> Self {
        let sum = meters.iter().copied().fold(AirMeter::default(), AirMeter::plus);
        let over = |a: u64, b: u64| (b > 0).then(|| a as f64 / b as f64);
        let each = sum.airtime.seconds() / meters.len() as f64;
        Self {
            count: meters.len(),
            airtime: each / time.seconds(),
            airtime_share: if all > Span::ZERO { each / all.seconds() } else { 0.0 },
            ampdu_mean: over(sum.mpdus, sum.aggregates),
            mpdu_loss_ratio: over(sum.failed, sum.mpdus),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_one_station() {
        let meter =
            |ms, aggregates, mpdus, failed| AirMeter { airtime: Span::from_millis(ms), aggregates, mpdus, failed };
        let of = StationResult::of(
            &[meter(100, 4, 10, 1), meter(300, 6, 10, 4)],
            Span::from_millis(800),
            Span::from_secs(2),
        );
        let expected = StationResult {
            count: 2,
            airtime: 0.1,
            airtime_share: 0.25,
            ampdu_mean: Some(2.0),
            mpdu_loss_ratio: Some(0.25),
        };
        assert_eq!(of, expected);
        let idle = StationResult::of(&[AirMeter::default()], Span::ZERO, Span::from_secs(1));
        assert_eq!((idle.airtime_share, idle.ampdu_mean), (0.0, None));
    }
}
