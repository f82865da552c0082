//! The stations' share of a Wi-Fi cell's air.

use super::declared::measures;
use crate::net::wifi::AirMeter;
use aqmlab_core::Span;

/// The share of stations that are alike in the air.
pub struct Air {
    count: usize,
    sum: AirMeter,
    /// Airtime of the whole cell.
    all: Span,
    time: Span,
}

impl Air {
    /// Of these stations, where all of the cell together have had `all` on the air in this time.
    pub fn new(meters: &[AirMeter], all: Span, time: Span) -> Self {
        let sum = meters.iter().copied().fold(AirMeter::default(), AirMeter::plus);
        Self { count: meters.len(), sum, all, time }
    }

    /// Airtime of one of them, s.
    fn each(&self) -> f64 {
        self.sum.airtime.seconds() / self.count as f64
    }
}

fn over(a: u64, b: u64) -> Option<f64> {
    (b > 0).then(|| a as f64 / b as f64)
}

measures! {
    /// A station of a Wi-Fi cell after the warm-up, or several that are alike, on average.
    ///
    /// What is sent to it and what it sends count.
    pub struct StationResult from air: Air {
        /// Number of identical stations.
        count: u64 = air.count as u64;
        /// Share of the time in which one station is on the air, with block ACKs and its part of collisions.
        airtime: f64, "Airtime" in SHARE = air.each() / air.time.seconds();
        /// Airtime of one station over the airtime of all stations of the cell.
        airtime_share: f64, "Airtime share" in SHARE = if air.all > Span::ZERO { air.each() / air.all.seconds() } else { 0.0 };
        /// Mean number of MPDUs in an aggregate.
        ampdu_mean: Option<f64>, "MPDUs per A-MPDU" in QUEUE, more = over(air.sum.mpdus, air.sum.aggregates);
        /// Share of the MPDUs sent that did not arrive.
        mpdu_loss_ratio: Option<f64>, "MPDUs lost" in SHARE, less = over(air.sum.failed, air.sum.mpdus);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_one_station() {
        let meter =
            |ms, aggregates, mpdus, failed| AirMeter { airtime: Span::from_millis(ms), aggregates, mpdus, failed };
        let meters = [meter(100, 4, 10, 1), meter(300, 6, 10, 4)];
        let of = StationResult::of(&Air::new(&meters, Span::from_millis(800), Span::from_secs(2)));
        assert_eq!((of.count, of.airtime, of.airtime_share), (2, 0.1, 0.25));
        assert_eq!((of.ampdu_mean, of.mpdu_loss_ratio), (Some(2.0), Some(0.25)));
        let idle = StationResult::of(&Air::new(&[AirMeter::default()], Span::ZERO, Span::from_secs(1)));
        assert_eq!((idle.airtime_share, idle.ampdu_mean), (0.0, None));
    }
}
