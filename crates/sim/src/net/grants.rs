//! Times that a headend grants to a transmitter: the request-grant MAC of a cable modem.

use aqmlab_core::{Rate, Span, Stream, Time};
use aqmlab_scenario::RequestGrant;
use std::collections::VecDeque;

/// Requests of a modem and the grants that answer them.
///
/// The modem asks for the bytes that wait and that it has not asked for: along with a grant, or in an interval without one at a
/// time drawn from all of it (contention, without collisions). A grant begins with its interval and is as long as its bytes take at the
/// link's rate. A packet that begins within it is sent to its end; the bytes beyond are part of the next grant.
#[derive(Clone)]
pub struct Grants {
    law: RequestGrant,
    /// Beginning of the present MAP interval, and end of the grant in it.
    begin: Time,
    end: Time,
    /// When the modem may ask in this interval, and whether along with a grant; `None` after that.
    asks: Option<(Time, bool)>,
    /// Requests that no interval could answer yet: when they were sent, and bytes.
    sent: VecDeque<(Time, f64)>,
    /// Bytes that were asked for and not granted.
    backlog: f64,
    rng: Stream,
}

/// Less of a grant than this is due to rounding.
const LEAST: Span = Span(1000);

impl Grants {
    /// Before the first request.
    pub fn new(law: RequestGrant, rng: Stream) -> Self {
        let (begin, end, asks, sent) = (Time::ZERO, Time::ZERO, Some((Time::ZERO, false)), VecDeque::new());
        Self { law, begin, end, asks, sent, backlog: 0.0, rng }
    }

    /// So many bytes wait. `None` if a packet may begin now; else when to ask again.
    pub fn until(&mut self, now: Time, waiting: f64, rate: Rate) -> Option<Time> {
        while now >= self.begin + self.law.interval {
            self.begin_next(now, rate);
        }
        match self.asks {
            Some((time, with_grant)) if time == now || with_grant && now <= self.end => {
                self.ask(now, waiting, rate);
                self.asks = None;
            }
            _ => {}
        }
        if now + LEAST <= self.end {
            return None;
        }
        let next = self.begin + self.law.interval;
        Some(self.asks.map(|(time, _)| time).filter(|time| *time > now).unwrap_or(next))
    }

    /// The next MAP interval; if nothing was asked for, that of `now`.
    fn begin_next(&mut self, now: Time, rate: Rate) {
        let RequestGrant { interval, delay, .. } = self.law;
        let is_idle = self.sent.is_empty() && self.backlog == 0.0;
        self.begin += if is_idle { Span(now.since(self.begin).0 / interval.0 * interval.0) } else { interval };
        while let Some((_, bytes)) = self.sent.front().filter(|(sent, _)| *sent + delay <= self.begin) {
            self.backlog += bytes;
            self.sent.pop_front();
        }
        let most = rate.0 / 8.0 * interval.seconds();
        let unasked = self.unasked().min(most);
        let granted = self.backlog.min(most - unasked);
        self.backlog -= granted;
        self.end = self.begin + Span::from_seconds((unasked + granted) * 8.0 / rate.0);
        self.asks = Some(match self.end > self.begin {
            true => (self.begin, true),
            false => (self.begin + Span((self.rng.uniform() * interval.0 as f64) as u64), false),
        });
    }

    /// Bytes of an interval that are granted without a request.
    fn unasked(&self) -> f64 {
        self.law.guaranteed.0 / 8.0 * self.law.interval.seconds()
    }

    fn ask(&mut self, now: Time, waiting: f64, rate: Rate) {
        let asked: f64 = self.sent.iter().map(|(_, bytes)| bytes).sum::<f64>() + self.backlog;
        let granted = if self.end > now { self.end.since(now).seconds() * rate.0 / 8.0 } else { 0.0 };
        let more = waiting - asked - granted - self.unasked();
        if more >= 1.0 {
            self.sent.push_back((now, more));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 8 Mbit/s: 1000 B take 1 ms.
    const RATE: Rate = Rate(8e6);

    fn us(us: u64) -> Time {
        Time::ZERO + Span::from_micros(us)
    }

    fn grants(interval: u64, delay: u64, guaranteed: f64) -> Grants {
        let [interval, delay] = [interval, delay].map(Span::from_micros);
        Grants::new(RequestGrant { interval, delay, guaranteed: Rate(guaranteed) }, Stream::new(1, "grants", 0))
    }

    #[test]
    fn a_packet_waits_for_its_request_to_be_answered() {
        // Asked at 0; answered 1.62 ms later, in the interval that begins at 2 ms: 1000 B end at 3 ms.
        let mut grants = grants(2000, 1620, 0.0);
        assert_eq!(grants.until(us(0), 1000.0, RATE), Some(us(2000)));
        assert_eq!(grants.until(us(500), 1000.0, RATE), Some(us(2000)), "it has asked for them");
        assert_eq!(grants.until(us(2000), 1000.0, RATE), None);
        assert_eq!(grants.until(us(2999), 0.0, RATE), None);
        assert_eq!(grants.until(us(3000), 500.0, RATE), Some(us(4000)), "all of it is used");
    }

    #[test]
    fn what_joins_later_is_asked_for_along_with_the_grant() {
        let mut grants = grants(2000, 1620, 0.0);
        grants.until(us(0), 1000.0, RATE);
        // At 2 ms 2500 B wait, 1000 B of them granted: 1500 B are asked for, and answered at 4 ms until 5.5 ms.
        assert_eq!(grants.until(us(2000), 2500.0, RATE), None);
        assert_eq!(grants.until(us(3000), 1500.0, RATE), Some(us(4000)));
        assert_eq!(grants.until(us(4000), 1500.0, RATE), None);
        assert_eq!((grants.end, grants.backlog, grants.sent.len()), (us(5500), 0.0, 0));
    }

    #[test]
    fn an_interval_holds_what_the_rate_allows_and_the_rest_comes_next() {
        // 5000 B of which 2000 B fit into 2 ms.
        let mut grants = grants(2000, 1620, 0.0);
        grants.until(us(0), 5000.0, RATE);
        for (begin, end) in [(2000, 4000), (4000, 6000), (6000, 7000)] {
            assert_eq!(grants.until(us(begin), 0.0, RATE), None);
            assert_eq!(grants.end, us(end));
        }
        assert_eq!(grants.backlog, 0.0);
    }

    #[test]
    fn without_a_grant_the_modem_asks_at_a_time_of_its_own() {
        let mut grants = grants(2000, 1620, 0.0);
        let asks = grants.until(us(10_100), 1000.0, RATE).unwrap();
        let (time, with_grant) = grants.asks.unwrap();
        assert!(!with_grant && time >= us(10_000) && time < us(12_000));
        if time > us(10_100) {
            assert_eq!(asks, time);
        }
        // Asked at any time up to 10.38 ms, it is answered at 12 ms, later at 14 ms.
        grants.asks = Some((us(10_380), false));
        assert_eq!(grants.until(us(10_380), 1000.0, RATE), Some(us(12_000)));
        assert_eq!(grants.until(us(12_000), 1000.0, RATE), None);
        grants.end = us(12_000);
        grants.asks = Some((us(12_381), false));
        grants.until(us(12_381), 1000.0, RATE);
        assert!(grants.until(us(14_000), 1000.0, RATE).is_some());
        assert_eq!(grants.until(us(16_000), 1000.0, RATE), None);
    }

    #[test]
    fn what_is_guaranteed_is_not_asked_for() {
        // 2 Mbit/s: 500 B each 2 ms, sent at once.
        let mut grants = grants(2000, 1620, 2e6);
        assert_eq!(grants.until(us(2000), 500.0, RATE), None);
        assert_eq!((grants.end, grants.sent.len()), (us(2500), 0));
        assert_eq!(grants.until(us(2500), 300.0, RATE), Some(us(4000)));
        // Of 1700 B 500 are granted, and 500 come with the next interval.
        assert_eq!(grants.until(us(4000), 1700.0, RATE), None);
        assert_eq!(grants.sent, [(us(4000), 700.0)]);
    }

    /// The test of CableLabs' model (docsis-ns3, `docsis-lld-test-suite.cc`, one upstream packet): frames of 135 us, seven of them an interval,
    /// a request-grant delay of twelve. The packet joins at 100.001 ms, is asked for at 100.71 ms and received 103.315 ms, after a frame of
    /// transmission, one of decoding and 40 us of propagation: its grant began at 103.005 ms.
    #[test]
    fn the_published_test_has_its_grant() {
        let mut grants = grants(945, 1620, 0.0);
        assert_eq!(grants.until(us(100_170), 0.0, RATE).map(|_| grants.begin), Some(us(100_170)));
        grants.asks = Some((us(100_710), false));
        grants.until(us(100_710), 1000.0, RATE);
        assert!(grants.until(us(102_060), 1000.0, RATE).is_some(), "1.35 ms later");
        assert_eq!(grants.until(us(103_005), 1000.0, RATE), None);
        assert_eq!(grants.begin, us(103_005));
    }
}
