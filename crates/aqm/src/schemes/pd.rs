use super::average::{self, AverageQueue};
use crate::linear::{LinearResponse, OperatingPoint, change, lag, needs};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal,
    Standing, Verdict,
};
use aqmlab_core::{Bytes, Rate, Span, params};

params! {
    /// PD controller: proportional and derivative control of the average queue by steps of the drop probability.
    ///
    /// ## Idea
    /// The controller of PD-RED without RED: the error of the average queue and its change, as shares of the buffer,
    /// move the drop probability itself.
    ///
    /// ## Equations
    /// Every `interval`, e = avg - target, e_old one sample ago, B the buffer, both in packets:
    ///
    /// ```text
    /// avg = avg + (1 - (1 - q_weight)^n) * (q - avg)        n: packets that the link can send in an interval
    /// p = clamp(p + k_p * e/B + k_d * (e - e_old)/B, 0, 1)
    /// ```
    ///
    /// An arriving packet is dropped with probability p. As p is summed up, k_p integrates and k_d acts in proportion:
    /// at rest the average queue is the target.
    ///
    /// ## Readings
    /// Only the paper's abstract was at hand. Equation, gains and interval are PD-RED's, as Xiong et al. 2010 tell
    /// them, applied to p. The average is RED's, sampled once in a packet's transmission time as in the fluid models;
    /// so it also falls while nothing arrives.
    ///
    /// ## What to expect
    /// The gains are for a slower loop, PD-RED's change of max_p. Tables 1 and 2 of Li et al. 2014 have 45 Mbit/s and a
    /// target of 300 packets. The queue of 500 flows is 313 packets with a standard deviation of 80. The queue of 1,500
    /// flows is 320 packets with a deviation of 123.
    pub struct PdParams for Pd {
        /// Gain on the error of the average queue.
        k_p: f64 = "0.001" in "0" ..= "1000", from "Xiong et al. 2010, section 4.3 (PD-RED)";
        /// Gain on the change of that error.
        k_d: f64 = "0.05" in "0" ..= "1000", from "Xiong et al. 2010, section 4.3 (PD-RED)";
        /// Sampling interval.
        interval: Span = "10 ms" in "1 us" ..= "100 s", from "Xiong et al. 2010, section 4.3 (PD-RED)";
        /// Weight of one packet's sample in the average queue.
        q_weight: f64 = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
    }
}

/// See [`PdParams`].
#[derive(Clone)]
pub struct Pd {
    params: PdParams,
    average: AverageQueue,
    p: f64,
}

impl Scheme for Pd {
    const INFO: SchemeInfo = SchemeInfo {
        name: "pd",
        title: "PD controller",
        family: "control theory",
        year: 2003,
        source: "Sun, Chen, Ko, Chan & Zukerman, \"PD-controller: a new active queue management scheme\", GLOBECOM \
                 2003",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing =
        Standing::Reconstructed("only the abstract was available: PD-RED's equation and gains, applied to p");
    const OBSERVABLES: &'static [Observable] = &[P, Observable { name: "avg", unit: "packets", doc: "average queue" }];

    fn new(params: PdParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, average: AverageQueue::default(), p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<PdParams> = Some(|params| Box::new(params));
}

impl Aqm for Pd {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let PdParams { k_p, k_d, interval, q_weight, mean_packet } = self.params;
        let (avg, growth) = self.average.sample(queue, q_weight, interval, mean_packet);
        let step = k_p * (avg - queue.target) + k_d * growth;
        self.p = (self.p + step / queue.limit).clamp(0.0, 1.0);
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.average.avg][i]
    }
}

/// The steps (k_p + k_d (1 - z))/B of the average's error, summed up.
impl LinearLaw for PdParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.k_p > 0.0, "k_p = 0")
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let PdParams { k_p, k_d, interval, q_weight, mean_packet } = *self;
        let (period, buffer) = (interval.seconds(), point.network.buffer);
        let weight = average::weight(q_weight, interval, mean_packet, Rate(point.network.rate));
        Ok(LinearResponse::new(1, move |s| {
            lag(s, weight, period) * (k_p + k_d * change(s, period)) / (buffer * s * period)
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// Target 50, B = 100; one sample of weight 0.5 in an interval.
    #[test]
    fn steps_by_hand() {
        let mut params = PdParams::defaults();
        params.read("pd", [("interval", "1 ms"), ("q_weight", "0.5")], &mut Vec::new());
        let mut pd = Pd::new(params, &bench::queue(0)).unwrap();
        let mut p_at = |packets| {
            bench::tick(&mut pd, packets);
            pd.p
        };
        // avg 40 of 80: (0.001*-10 + 0.05*40) / 100 = 0.0199.
        assert!((p_at(80) - 0.0199).abs() < 1e-15);
        // avg 60: + (0.001*10 + 0.05*20) / 100 = 0.0101.
        assert!((p_at(80) - 0.03).abs() < 1e-15);
        // avg 60 still: + 0.001*10/100.
        assert!((p_at(60) - 0.0301).abs() < 1e-15);
        // avg 30: (0.001*-20 - 0.05*30) / 100 = -0.0152; avg 15: -0.00785; avg 7.5: -0.004175.
        assert!((p_at(0) - 0.0149).abs() < 1e-15);
        assert!((p_at(0) - 0.00705).abs() < 1e-15);
        assert!((p_at(0) - 0.002_875).abs() < 1e-15);
        p_at(0);
        assert_eq!(p_at(0), 0.0, "held at 0");
    }
}
