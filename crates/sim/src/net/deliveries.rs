//! Delivery times of a link that follows a trace of opportunities.

use crate::measure::link::LinkUsage;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{OPPORTUNITY, OpportunityTrace};
use std::sync::Arc;

/// The opportunities of a trace. What is left of one when the link has nothing to send is lost.
#[derive(Clone)]
pub struct Deliveries {
    times: Arc<[u32]>,
    period: Span,
    /// Start of the present repetition of the trace.
    began: Time,
    /// Index of the next opportunity.
    next: usize,
    /// Time of the last one taken, and bytes left of it.
    at: Time,
    left: u32,
    /// Bytes of all packets so far.
    sent: u64,
}

impl Deliveries {
    pub fn new(trace: &OpportunityTrace) -> Self {
        let (times, period) = (trace.times.clone(), trace.period());
        Self { times, period, began: Time::ZERO, next: 0, at: Time::ZERO, left: 0, sent: 0 }
    }

    /// Takes opportunities for a packet whose transmission may begin now; returns the delivery time of its last byte.
    pub fn deliver(&mut self, size: u32, now: Time) -> Time {
        if self.at < now {
            self.left = 0;
            self.skip_to(now);
        }
        let mut rest = size;
        while rest > self.left {
            rest -= self.left;
            self.take_next();
        }
        self.left -= rest;
        self.sent += u64::from(size);
        self.at
    }

    /// Bytes delivered before now, and those that the opportunities would have carried. Of a packet in transmission what has
    /// been delivered counts. An opportunity at this very instant may be taken yet, so it is not one of them.
    pub fn usage(&self, now: Time) -> LinkUsage {
        let Some(before) = now.0.checked_sub(1) else { return LinkUsage::default() };
        let whole = before / self.period.0;
        let within = (before % self.period.0) / Span::from_millis(1).0;
        let passed = self.times.partition_point(|time| u64::from(*time) <= within) as u64;
        let capacity = self.bytes(whole, passed);
        let taken = self.bytes(self.began.0 / self.period.0, self.next as u64) - u64::from(self.left);
        let to_come = taken.saturating_sub(capacity);
        LinkUsage { sent: self.sent - to_come, capacity, ..LinkUsage::default() }
    }

    /// Bytes that so many whole repetitions and further opportunities carry.
    fn bytes(&self, repetitions: u64, further: u64) -> u64 {
        (repetitions * self.times.len() as u64 + further) * u64::from(OPPORTUNITY)
    }

    fn take_next(&mut self) {
        if self.next == self.times.len() {
            (self.began, self.next) = (self.began + self.period, 0);
        }
        self.at = self.began + Span::from_millis(u64::from(self.times[self.next]));
        self.left = OPPORTUNITY;
        self.next += 1;
    }

    /// The next opportunity is the first that has not passed.
    fn skip_to(&mut self, now: Time) {
        let since = now.since(self.began).0;
        if since > self.period.0 {
            self.began += Span((since - 1) / self.period.0 * self.period.0);
            self.next = 0;
        }
        let passed = now.since(self.began).0.div_ceil(Span::from_millis(1).0);
        self.next = self.next.max(self.times.partition_point(|time| u64::from(*time) < passed));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opportunities at 1, 1, 4 ms, then 5, 5, 8, 9, 9, 12 and so on.
    fn deliveries() -> Deliveries {
        Deliveries::new(&OpportunityTrace { name: "cell".into(), times: [1, 1, 4].into() })
    }

    fn ms(time: f64) -> Time {
        Time::ZERO + Span::from_seconds(time / 1e3)
    }

    #[test]
    fn a_busy_link_uses_every_opportunity() {
        let mut link = deliveries();
        let mut now = Time::ZERO;
        let ends = [1.0, 1.0, 4.0, 5.0, 5.0, 8.0, 9.0].map(|_| {
            now = link.deliver(1500, now);
            now
        });
        assert_eq!(ends, [1.0, 1.0, 4.0, 5.0, 5.0, 8.0, 9.0].map(ms));
    }

    #[test]
    fn small_packets_share_an_opportunity_and_large_ones_take_several() {
        let mut link = deliveries();
        let mut now = Time::ZERO;
        // 1000 B of the first, then 500 + 500 B, 1000 B, then 2 times 1500 B.
        let ends = [1000, 1000, 1000, 3000].map(|size| {
            now = link.deliver(size, now);
            now
        });
        assert_eq!(ends, [1.0, 1.0, 1.0, 5.0].map(ms));
    }

    #[test]
    fn an_idle_link_loses_its_opportunities() {
        let mut link = deliveries();
        assert_eq!(link.deliver(500, ms(0.5)), ms(1.0));
        assert_eq!(link.deliver(1000, ms(1.0)), ms(1.0), "the rest of the same one");
        assert_eq!(link.deliver(1500, ms(4.0)), ms(4.0), "one at this very instant");
        assert_eq!(link.deliver(500, ms(4.1)), ms(5.0));
        assert_eq!(link.deliver(500, ms(5.5)), ms(8.0), "1000 B of one and all of the other at 5 ms have passed");
        assert_eq!(link.deliver(500, ms(4001.5)), ms(4004.0));
        assert_eq!(link.deliver(500, ms(8000.0)), ms(8000.0), "the last one of a repetition");
        assert_eq!(link.deliver(1500, ms(8000.0)), ms(8001.0), "1000 B of it, then 500 B");
    }

    #[test]
    fn what_is_carried_are_bytes_of_the_opportunities_so_far() {
        let mut link = deliveries();
        let carried = |link: &Deliveries, time: f64| {
            let carried = link.usage(ms(time));
            (carried.sent, carried.capacity)
        };
        assert_eq!(link.deliver(4000, ms(0.0)), ms(4.0));
        assert_eq!(carried(&link, 0.9), (0, 0));
        assert_eq!(carried(&link, 1.1), (3000, 3000), "1000 B are still to come");
        assert_eq!(carried(&link, 4.1), (4000, 4500));
        // The two at 5 ms pass in vain; that of 8 ms is used, and one of 9 ms.
        assert_eq!(link.deliver(3000, ms(6.0)), ms(9.0));
        assert_eq!(carried(&link, 8.5), (5500, 9000));
        assert_eq!(carried(&link, 9.1), (7000, 12000), "the other one of 9 ms is not used");
    }

    #[test]
    fn a_busy_link_never_carries_more_than_it_could() {
        let mut link = deliveries();
        link.deliver(1500, ms(0.0));
        let mark = link.usage(ms(1.0)); // between two packets, the second of which takes the other opportunity of 1 ms
        link.deliver(1500, ms(1.0));
        link.deliver(1500, ms(1.0));
        let share = link.usage(ms(4.5)).share_since(mark);
        assert!((share - 1.0).abs() < 1e-12, "{share}");
    }
}
