use crate::linear::{LinearResponse, OperatingPoint, hold, needs, offered_by_queue, offered_by_signals};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict,
};
use aqmlab_core::{Bytes, Span, params};

params! {
    /// RQ-AQM (RaQ): proportional control of the arrival rate, proportional and integral control of the queue.
    ///
    /// ## Idea
    /// The rate answers at once when the load changes, the queue holds the target. Rate over capacity and queue over
    /// the bandwidth-delay product are pure numbers, so one set of gains serves links of any speed.
    ///
    /// ## Equations
    /// Every `interval` T, e = (q - target) / BDP and g = r / C - 1 (r: packets offered in the interval per second,
    /// dropped ones included; C: the link's packets per second; BDP = C * `rtt`):
    ///
    /// ```text
    /// i = i + q_ki * T * e
    /// p = clamp(r_kp * g + q_kp * e + i, 0, 1)
    /// ```
    ///
    /// An arriving packet is dropped with probability p. If `anti_windup` is true, i is clamped to 0..1, too.
    ///
    /// ## Readings
    /// The paper prints the rate term as r / (CF - 1); the text, which divides the rate by C, gives r / C - 1. q_ki =
    /// 0.08 is per second: 0.0005 a sample, as its simulation section says. The round-trip time in the BDP is 100 ms,
    /// also if the flows have other round trips.
    ///
    /// The paper bounds p and does not mention the integral, which therefore falls without limit while the queue is
    /// below the target. A link that was idle for 10 s then signals nothing for nearly 10 s while the queue is as far
    /// above the target as it was below. In `home/web` the 99th percentile of the delay is 0.47 s, and 0.12 s with
    /// `anti_windup`.
    ///
    /// The same equation in increments of p, clamped at each sample, gives the same queues (ns-2.35: 300.0 packets over
    /// the last 150 s of Table 2), but then signals on a link at half load: each rise of the rate starts from p = 0.
    pub struct RqAqmParams for RqAqm {
        /// Gain on the rate mismatch.
        r_kp: f64 = "0.0095" in "0" ..= "1000", from "Jafar, Table 1";
        /// Gain on the queue error.
        q_kp: f64 = "0.0077" in "0" ..= "1000", from "Jafar, Table 1";
        /// Gain on the integral of the queue error.
        q_ki: f64 = "0.08" in "0" ..= "1000", unit "1/s", from "Jafar, Table 1";
        /// Sampling interval.
        interval: Span = "6.25 ms" in "1 us" ..= "100 s", from "Jafar";
        /// Round-trip time of the bandwidth-delay product.
        rtt: Span = "100 ms" in "1 us" ..= "100 s", from "Jafar";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Jafar";
        /// Clamp the integral to 0..1.
        anti_windup: bool = "false", from "Jafar, eq. (2), which bounds p alone";
    }
}

/// See [`RqAqmParams`].
#[derive(Clone)]
pub struct RqAqm {
    params: RqAqmParams,
    arrived_before: u64,
    integral: f64,
    p: f64,
}

impl Scheme for RqAqm {
    const INFO: SchemeInfo = SchemeInfo {
        name: "rq-aqm",
        title: "RQ-AQM",
        family: "control theory",
        year: 2007,
        source: "Sun & Zukerman, \"RaQ\", Computer Communications 30(8), 2007; Jafar, \"A Simulation Study of Rate and Queue \
                 Based on Active Queue Management\"",
        confidence: "from Jafar's equations; the mean queue of its Table 2 is met, and the run of the algorithm in ns-2.35",
        papers: &["jafar"],
    };
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "integral", unit: "1", doc: "integral part of p before p is bounded" }];

    fn new(params: RqAqmParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self { params, arrived_before: queue.arrived_packets, integral: 0.0, p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<RqAqmParams> = Some(|params| Box::new(params));
}

impl Aqm for RqAqm {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let RqAqmParams { r_kp, q_kp, q_ki, interval, rtt, mean_packet, anti_windup } = self.params;
        let packets_per_second = queue.rate.0 / (8.0 * mean_packet.0);
        let (capacity, bdp) = (packets_per_second * interval.seconds(), packets_per_second * rtt.seconds());
        let arrived = (queue.arrived_packets - self.arrived_before) as f64;
        self.arrived_before = queue.arrived_packets;
        let e = (f64::from(queue.packets) - queue.target) / bdp;
        let g = arrived / capacity - 1.0;
        self.integral += q_ki * interval.seconds() * e;
        if anti_windup {
            self.integral = self.integral.clamp(0.0, 1.0);
        }
        self.p = (r_kp * g + q_kp * e + self.integral).clamp(0.0, 1.0);
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.integral][i]
    }
}

/// r_kp (x/c - 1) + q_kp e/BDP + q_ki T/(1 - z) e/BDP, held.
impl LinearLaw for RqAqmParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.q_ki > 0.0, "q_ki = 0")
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let RqAqmParams { r_kp, q_kp, q_ki, interval, rtt, mean_packet, .. } = *self;
        let (point, period) = (*point, interval.seconds());
        let capacity = point.network.rate / (8.0 * mean_packet.0);
        let (rate, bdp) = (r_kp / (capacity * period), capacity * rtt.seconds());
        let feed =
            move |s| (rate * offered_by_queue(s, &point, period) + q_kp / bdp) * hold(s, period) + q_ki / (bdp * s);
        Ok(LinearResponse::new(1, feed)
            .with_inner(move |s| rate * offered_by_signals(s, &point, period) * hold(s, period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// 1000 packets/s: BDP 100 packets, 6.25 packets in an interval; target 50.
    #[test]
    fn rate_queue_and_integral_by_hand() {
        let mut rq = RqAqm::new(RqAqmParams::defaults(), &bench::queue(0)).unwrap();
        // e = 1, 25 arrivals are g = 3: i = 0.0005, p = 0.0285 + 0.0077 + 0.0005.
        bench::tick_after(&mut rq, 150, 25);
        assert!((rq.integral - 0.0005).abs() < 1e-15);
        assert!((rq.p - 0.0367).abs() < 1e-15, "{}", rq.p);
        // No arrivals, q = 250: e = 2, g = -1: i = 0.0015, p = -0.0095 + 0.0154 + 0.0015.
        bench::tick_after(&mut rq, 250, 25);
        assert!((rq.p - 0.0074).abs() < 1e-15, "{}", rq.p);
    }

    /// An empty queue is e = -0.5: i = -0.00025. Then e = 1 and g = 3: p = 0.0285 + 0.0077 - 0.00025 + 0.0005.
    #[test]
    fn the_integral_of_an_idle_link_falls_below_0() {
        let mut rq = RqAqm::new(RqAqmParams::defaults(), &bench::queue(0)).unwrap();
        bench::tick_after(&mut rq, 0, 0);
        assert_eq!(rq.p, 0.0);
        assert!((rq.integral + 0.00025).abs() < 1e-15);
        bench::tick_after(&mut rq, 150, 25);
        assert!((rq.p - 0.03645).abs() < 1e-15, "{}", rq.p);
    }

    #[test]
    fn with_anti_windup_the_integral_stays_in_0_to_1() {
        let params = RqAqmParams { anti_windup: true, ..RqAqmParams::defaults() };
        let mut rq = RqAqm::new(params, &bench::queue(0)).unwrap();
        bench::tick_after(&mut rq, 0, 0);
        assert_eq!((rq.p, rq.integral), (0.0, 0.0));
        bench::tick_after(&mut rq, 150, 25);
        assert!((rq.p - 0.0367).abs() < 1e-15, "{}", rq.p);
        rq.integral = 1.0;
        bench::tick_after(&mut rq, 150, 25);
        assert_eq!(rq.integral, 1.0);
    }
}
