use crate::linear::{LinearResponse, Network, OperatingPoint, lag, needs, offered_by_queue, offered_by_signals};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict,
};
use aqmlab_core::{Bytes, Ratio, Span, params};

params! {
    /// Random Exponential Marking: a price integrates the queue error and the rate mismatch.
    ///
    /// ## Idea
    /// Congestion has a price, updated as in a market: it rises while more arrives than leaves or while the queue is above
    /// target. The drop probability is exponential in the price, so that prices of several links add up along a path.
    ///
    /// ## Equations
    /// Every `interval`, `x` packets offered in it (smoothed with weight `input_weight`), c = what the link sends in it:
    ///
    /// ```text
    /// price = max(0, price + gamma * (x + alpha*(q - target) - c))
    /// p     = 1 - phi^(-price)
    /// ```
    ///
    /// An arriving packet is dropped with probability p.
    ///
    /// ## What to expect
    /// The price is at rest when x = c + alpha*(target - q). x counts packets before they are dropped, so with a loss ratio
    /// d the queue settles below target by about c*d / ((1-d)*alpha): 21 packets at 16 %, 36 at 25 %. On the papers' link c
    /// counts 1000-byte packets while the wire carries 1,040 bytes, which lifts it by 4 packets again.
    ///
    /// ## Readings
    /// ns-2.35: alpha fixed at 0.1, no smoothing. `input_weight = 0.8` gives the printed mean of Li et al.'s Table 1 to
    /// the digit, but is within the noise of the default.
    pub struct RemParams for Rem {
        /// Base of the exponential.
        phi: f64 = "1.001" in "1.0000001" ..= "10", from "Athuraliya et al. 2001; ns-2";
        /// Weight of the queue error against the rate mismatch.
        alpha: f64 = "0.1" in "0" ..= "10", from "Athuraliya et al. 2001; ns-2 (fixed)";
        /// Step of the price.
        gamma: f64 = "0.001" in "0" ..= "10", unit "1/packet", from "Athuraliya et al. 2001; ns-2";
        /// Weight of the last interval in the smoothed input.
        input_weight: Ratio = "1" in "0" ..= "1", from "ns-2 (inw_)";
        /// Sampling interval.
        interval: Span = "2 ms" in "1 us" ..= "100 s", from "Li et al. 2014; ns-2 (Jafar: 10 ms)";
        /// Packet size that turns the link's rate into packets.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "ns-2";
    }
}

/// See [`RemParams`].
#[derive(Clone)]
pub struct Rem {
    params: RemParams,
    input: f64,
    arrived_before: u64,
    price: f64,
    p: f64,
}

impl Scheme for Rem {
    const INFO: SchemeInfo = SchemeInfo {
        name: "rem",
        title: "REM",
        family: "optimisation",
        year: 2001,
        source: "Athuraliya, Low, Li & Yin, IEEE Network 15(3), 2001; ns-2.35 queue/rem.cc",
        confidence: "exact; checked against ns-2.35 over 20 scenarios",
        papers: &["li2014", "sun2007", "jafar"],
    };
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "price", unit: "1", doc: "congestion price of the link" }];

    fn new(params: RemParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self { params, input: 0.0, arrived_before: queue.arrived_packets, price: 0.0, p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<RemParams> = Some(|params| Box::new(params));
}

impl Aqm for Rem {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let RemParams { phi, alpha, gamma, input_weight: Ratio(w), interval, mean_packet } = self.params;
        let capacity = interval.seconds() * queue.rate.0 / (8.0 * mean_packet.0);
        let arrived = (queue.arrived_packets - self.arrived_before) as f64;
        self.arrived_before = queue.arrived_packets;
        self.input += w * (arrived - self.input);
        let excess = self.input + alpha * (f64::from(queue.packets) - queue.target) - capacity;
        self.price = (self.price + gamma * excess).max(0.0);
        self.p = 1.0 - libm::pow(phi, -self.price);
    }

    #[inline]
    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.price][i]
    }
}

/// gamma (x + alpha e - c) summed up to the price; dp/dprice = ln(phi) (1 - p).
impl LinearLaw for RemParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.alpha * self.gamma > 0.0, "alpha or gamma = 0")
    }

    fn queue(&self, p: f64, network: &Network) -> f64 {
        let offered = OperatingPoint { network: *network, p, queue: 0.0 }.offered();
        let link = network.rate / (8.0 * self.mean_packet.0);
        network.target + (link - offered) * self.interval.seconds() / self.alpha
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let RemParams { phi, alpha, gamma, input_weight: Ratio(weight), interval, .. } = *self;
        let (point, period) = (*point, interval.seconds());
        let slope = gamma * libm::log(phi) * (1.0 - point.p);
        let by_queue = move |s| lag(s, weight, period) * offered_by_queue(s, &point, period);
        let by_signals = move |s| lag(s, weight, period) * offered_by_signals(s, &point, period);
        Ok(LinearResponse::new(1, move |s| slope * (by_queue(s) + alpha) / (s * period))
            .with_inner(move |s| slope * by_signals(s) / (s * period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    fn rem() -> Rem {
        Rem::new(RemParams::defaults(), &bench::queue(0)).unwrap()
    }

    #[test]
    fn price_follows_rate_and_queue() {
        let mut rem = rem();
        // 1000 packets/s: c = 2 in 2 ms. 7 arrivals, q = 150, target 50: 0.001 * (7 + 0.1*100 - 2) = 0.015.
        bench::tick_after(&mut rem, 150, 7);
        assert!((rem.price - 0.015).abs() < 1e-15);
        // Empty and idle: 0.015 + 0.001 * (0 - 5 - 2) = 0.008, then 0.001, then held at 0.
        bench::tick_after(&mut rem, 0, 7);
        assert!((rem.price - 0.008).abs() < 1e-15);
        bench::tick_after(&mut rem, 0, 7);
        bench::tick_after(&mut rem, 0, 7);
        assert_eq!(rem.price, 0.0);
    }

    #[test]
    fn probability_is_exponential_in_the_price() {
        let mut rem = rem();
        let mut p_at = |price: f64| {
            rem.price = price + 0.007; // what the idle tick below takes away
            bench::tick_after(&mut rem, 0, 0);
            rem.p
        };
        assert!((p_at(693.49) - 0.5).abs() < 1e-5);
        assert!((p_at(100.0) - 0.0951).abs() < 1e-4);
    }
}
