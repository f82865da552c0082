use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Auto, Ratio, Span, params};
use std::collections::VecDeque;

params! {
    /// LRED: a drop probability around the measured loss ratio, moved at each packet by the queue error.
    ///
    /// ## Idea
    /// The loss ratio of the last seconds is the drop probability that the load needs. The queue's distance from the
    /// target corrects it at once, the more so the higher the loss.
    ///
    /// ## Equations
    /// Every `period`, l = packets lost (or marked) over packets offered in the last `periods`:
    ///
    /// ```text
    /// loss = loss_weight * loss + (1 - loss_weight) * l
    /// ```
    ///
    /// At each arrival, q packets waiting:
    ///
    /// ```text
    /// p = clamp(loss + beta * sqrt(loss) * (q - target), 0, 1)
    /// ```
    ///
    /// The arriving packet is dropped with probability p. As p is `loss` at the target and `loss` follows p, the queue
    /// at rest is the target.
    ///
    /// ## What to expect
    /// Far below the target p is less than the loss by beta*sqrt(loss)*target, and only that lets the loss fall: once
    /// it is above (beta*target)^2, p stays above 0 even at an empty queue. For beta = 0.001 and a target of 30 packets
    /// that is 0.09 %. A loss of 30 % from an overflow at the start then holds p at 28 %. "auto" keeps beta*target at
    /// 0.3, so the effect of such a loss ends after a few periods, whatever the target. Take 2 Mbit/s and a target of
    /// 30 packets: 5 to 20 flows use 97 % of the link in their first minute. For beta = 0.001 they used 50 to 62 %, and
    /// 26 % under the worst seed.
    ///
    /// Without a loss there is no p: overflows start it. If `periods` pass without a loss, `loss` falls to zero and the
    /// queue grows until the next overflow. This happens with 2 flows on 45 Mbit/s; 20 flows hold the target.
    ///
    /// ## Readings
    /// The algorithm and 0.001 for `beta` follow the description of LRED in the paper on AOPC (Wang, Rong & Liu 2008).
    /// LRED's own papers were not at hand beyond their abstracts, so whether their beta follows the target is not
    /// known; that "auto" is 0.3/target, 0.001 at 300 packets, is this project's reading. Losses to a full queue count;
    /// periods without arrivals have no loss.
    pub struct LredParams for Lred {
        /// Gain on the queue error, at a loss ratio of 1; "auto" is 0.3/target.
        beta: Auto<f64> = "auto" in "0" ..= "1000", unit "1/packet", from "this project (Wang, Rong & Liu 2008: 0.001)";
        /// Time between measurements of the loss ratio.
        period: Span = "1 s" in "1 ms" ..= "1000 s", from "Wang et al. 2004 (recalled)";
        /// Periods that a measurement looks back on.
        periods: u32 = "4" in "1" ..= "1000", from "Wang et al. 2004 (recalled)";
        /// Weight of the loss ratio so far in the new one.
        loss_weight: Ratio = "0.1" in "0" ..= "1", from "Wang et al. 2004 (recalled)";
    }
}

/// Packets of a period.
#[derive(Clone, Copy, Default)]
struct Period {
    offered: u64,
    lost: u64,
}

/// See [`LredParams`].
#[derive(Clone)]
pub struct Lred {
    params: LredParams,
    arrived_before: u64,
    /// Packets lost or marked in this period.
    lost: u64,
    /// The last periods, oldest first.
    history: VecDeque<Period>,
    loss: f64,
    p: f64,
}

impl Lred {
    /// Share of the packets of the last periods that was lost.
    fn measured(&self) -> f64 {
        let sum = |count: fn(&Period) -> u64| self.history.iter().map(count).sum::<u64>();
        sum(|period| period.lost) as f64 / sum(|period| period.offered).max(1) as f64
    }
}

impl Scheme for Lred {
    const INFO: SchemeInfo = SchemeInfo {
        name: "lred",
        title: "LRED",
        family: "load-based",
        year: 2004,
        source: "Wang, Li, Hou, Sohraby & Lin, GLOBECOM 2004; Wang, Liu, Li, Sohraby & Hou, IEEE Trans. Parallel and \
                 Distributed Systems 18(1), 2007",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the algorithm follows another paper's description, period and weight are recalled, and that beta follows the target is this \
         project's; of its papers only the abstracts were available",
    );
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "loss", unit: "ratio", doc: "loss ratio as measured" }];

    fn new(params: LredParams, queue: &QueueView) -> Result<Self, String> {
        let history = VecDeque::from(vec![Period::default(); params.periods as usize]);
        Ok(Self { params, arrived_before: queue.arrived_packets, lost: 0, history, loss: 0.0, p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Lred {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.period)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        while self.history.len() >= self.params.periods as usize {
            self.history.pop_front();
        }
        self.history.push_back(Period { offered: queue.arrived_packets - self.arrived_before, lost: self.lost });
        (self.arrived_before, self.lost) = (queue.arrived_packets, 0);
        let weight = self.params.loss_weight.0;
        self.loss = weight * self.loss + (1.0 - weight) * self.measured();
    }

    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let error = f64::from(queue.packets) - queue.target;
        let beta = self.params.beta.unwrap_or_else(|| 0.3 / queue.target);
        self.p = (self.loss + beta * self.loss.sqrt() * error).clamp(0.0, 1.0);
        if !cx.chance(self.p) {
            return Verdict::Pass;
        }
        self.lost += 1;
        Verdict::Signal(EARLY)
    }

    fn on_overflow(&mut self, _: &QueueView, _: &mut Ctx) {
        self.lost += 1;
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.loss][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    fn lred() -> Lred {
        Lred::new(LredParams::defaults(), &bench::queue(0)).unwrap()
    }

    fn with_beta(beta: f64) -> Lred {
        Lred::new(LredParams { beta: Auto::Given(beta), ..LredParams::defaults() }, &bench::queue(0)).unwrap()
    }

    /// An arrival that finds `packets` waiting.
    fn arrival(lred: &mut Lred, packets: u32) -> Verdict {
        let mut rng = bench::stream();
        lred.on_enqueue(&bench::packet(), &bench::queue(packets), &mut Ctx { now: Time::ZERO, rng: &mut rng })
    }

    #[test]
    fn p_by_hand() {
        let mut lred = with_beta(0.001);
        lred.loss = 0.04;
        // Target 50, sqrt(0.04) = 0.2: 0.04 + 0.0002 for each packet above it.
        for (packets, p) in [(50, 0.04), (100, 0.05), (0, 0.03), (5050, 1.0)] {
            arrival(&mut lred, packets);
            assert!((lred.p - p).abs() < 1e-15, "{packets}: {}", lred.p);
        }
        lred.loss = 0.0001;
        arrival(&mut lred, 0);
        assert_eq!(lred.p, 0.0, "0.0001 - 0.00001*50 is held at 0");
    }

    #[test]
    fn loss_is_that_of_the_last_four_periods() {
        let mut lred = lred();
        let mut loss_after = |lost: u64, arrived: u64| {
            lred.lost = lost;
            bench::tick_after(&mut lred, 0, arrived);
            lred.loss
        };
        // Of 100, 300, 100, 500, then 900 packets (the first 100 forgotten): 0.9*l + 0.1 of the last.
        assert!((loss_after(10, 100) - 0.09).abs() < 1e-15);
        assert!((loss_after(30, 400) - 0.099).abs() < 1e-15);
        assert!((loss_after(10, 500) - 0.0999).abs() < 1e-15);
        assert!((loss_after(50, 1000) - 0.099_99).abs() < 1e-15);
        assert!((loss_after(0, 1900) - 0.054_999).abs() < 1e-15);
    }

    #[test]
    fn overflows_and_signals_are_losses() {
        let mut lred = lred();
        lred.on_overflow(&bench::queue(100), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        assert_eq!(lred.lost, 1);
        assert_eq!(arrival(&mut lred, 100), Verdict::Pass, "without a measured loss p is 0");
        lred.loss = 1.0;
        assert_eq!(arrival(&mut lred, 50), Verdict::Signal(EARLY));
        assert_eq!(lred.lost, 2);
    }

    #[test]
    fn silence_has_no_loss() {
        let mut lred = lred();
        lred.loss = 0.5;
        bench::tick_after(&mut lred, 0, 0);
        assert!((lred.loss - 0.05).abs() < 1e-15);
    }

    /// Target 50: 0.3/50 = 0.006. sqrt(0.04) = 0.2: 0.04 + 0.0012 for each packet above it.
    #[test]
    fn beta_goes_with_the_target() {
        let mut lred = lred();
        lred.loss = 0.04;
        for (packets, p) in [(50, 0.04), (60, 0.052), (30, 0.016), (10, 0.0)] {
            arrival(&mut lred, packets);
            assert!((lred.p - p).abs() < 1e-15, "{packets}: {}", lred.p);
        }
    }

    /// Periods of 1000 arrivals at an empty queue, from a loss of 30 % on, until p is 0; a bound by sqrt(loss), which falls by
    /// beta*target/2 each time that the loss has followed p (two to three periods): 0.55/0.15 = 4 times with auto.
    #[test]
    fn an_empty_queue_forgets_an_overflow_whatever_the_target() {
        let periods = |mut lred: Lred| {
            (lred.loss, lred.history) = (0.3, VecDeque::from([Period { offered: 1000, lost: 300 }; 4]));
            let is_dropping = |n: &u64| {
                arrival(&mut lred, 0);
                lred.lost = (1000.0 * lred.p) as u64;
                bench::tick_after(&mut lred, 0, n * 1000);
                lred.p > 0.0
            };
            (1..1000).take_while(is_dropping).count()
        };
        assert!(periods(lred()) <= 12);
        assert!(periods(with_beta(0.001)) > 24, "the trap");
    }
}
