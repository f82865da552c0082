//! Differences of links that are alike: percentiles over the links of a list, and over the lines of a site.

use crate::net::link::Link;
use aqmlab_aqm::Discipline;
use aqmlab_core::Time;
use serde::Serialize;

/// Percentiles over links, by nearest rank: the value that so many of them do not exceed. Links without a value are left out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Percentiles {
    /// 5 %.
    pub p5: f64,
    /// Half.
    pub p50: f64,
    /// 95 %.
    pub p95: f64,
    /// 99 %.
    pub p99: f64,
    /// All.
    pub max: f64,
}

impl Percentiles {
    /// Of values; `None` without one.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let at = |share: f64| values.get(((share * values.len() as f64).ceil() as usize).max(1) - 1).copied();
        Some(Self { p5: at(0.05)?, p50: at(0.5)?, p95: at(0.95)?, p99: at(0.99)?, max: at(1.0)? })
    }
}

/// Links that are alike, after the warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkSpread {
    /// The number of them.
    pub count: usize,
    /// Bits sent over what the link could have carried.
    pub utilisation: Option<Percentiles>,
    /// Packets dropped over packets that arrived.
    pub drop_ratio: Option<Percentiles>,
    /// Packets marked over packets that arrived.
    pub mark_ratio: Option<Percentiles>,
    /// Mean time from arrival to start of service, s.
    pub queue_delay_mean: Option<Percentiles>,
    /// Time that 99 % of the packets do not wait longer than, s.
    pub queue_delay_p99: Option<Percentiles>,
}

impl LinkSpread {
    /// Of links, `now` being the end.
    pub fn of(links: &[&Link], now: Time) -> Self {
        let over = |value: &dyn Fn(&Link) -> Option<f64>| Percentiles::of(links.iter().filter_map(|link| value(link)));
        let share = |link: &Link, count: u64| {
            let arrived = link.queue.accounts().arrived;
            (arrived > 0).then(|| count as f64 / arrived as f64)
        };
        Self {
            count: links.len(),
            utilisation: over(&|link| Some(link.utilisation(now))),
            drop_ratio: over(&|link| share(link, link.queue.accounts().dropped)),
            mark_ratio: over(&|link| share(link, link.queue.accounts().marked)),
            queue_delay_mean: over(&|link| link.meter.sojourn.mean()),
            queue_delay_p99: over(&|link| link.meter.sojourn.quantile(0.99)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_are_there() {
        let of = |values: &[f64]| Percentiles::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0]), Some(Percentiles { p5: 3.0, p50: 3.0, p95: 3.0, p99: 3.0, max: 3.0 }));
        let hundred: Vec<f64> = (1..=200).rev().map(f64::from).collect();
        let expected = Percentiles { p5: 10.0, p50: 100.0, p95: 190.0, p99: 198.0, max: 200.0 };
        assert_eq!(of(&hundred), Some(expected));
    }
}
