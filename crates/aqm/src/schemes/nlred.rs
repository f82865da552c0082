use super::red::{Red, RedParams, share_of_spaced};
use crate::{Aqm, Ctx, EARLY, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Auto, Packets, ParamSet, Ratio, params};

params! {
    /// NLRED: RED whose drop probability rises with the square of the average queue above the lower threshold.
    ///
    /// ## Idea
    /// A straight line drops too much at a light load and too little at a heavy one. A parabola is gentle near the lower
    /// threshold and firm near the upper one.
    ///
    /// ## Equations
    /// `avg` is RED's average. At an arrival, with x = (avg - min_th) / (max_th - min_th):
    ///
    /// ```text
    /// p_b = 0 below min_th;  1.5 * max_p * x^2 up to max_th;  1 above
    /// p_a = p_b / (1 - count * p_b)        count = arrivals since the last drop
    /// ```
    ///
    /// The packet is dropped with probability p_a. The factor 1.5 makes the mean over x, drawn evenly, as with RED.
    ///
    /// ## Readings
    /// The rest is RED of 1993: gaps between drops uniform on [1, 1/p_b], no gentle part.
    ///
    /// ## Departures
    /// The thresholds follow the link's target, as RED's do here.
    pub struct NlRedParams for NlRed {
        /// Average queue below which nothing is dropped; "auto" is target/20, at least 5 packets.
        min_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets", from "as RED's here";
        /// Average queue from which everything is dropped; "auto" is 2*target - min_th.
        max_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets", from "as RED's here";
        /// Weight of the present queue in the average.
        q_weight: f64 = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993";
        /// Drop probability at max_th, times 2/3.
        max_p: Ratio = "10%" in "0" ..= "1", from "Floyd & Jacobson 1993";
    }
}

impl NlRedParams {
    /// Those of the RED that keeps the average.
    fn red(&self) -> RedParams {
        let NlRedParams { min_th, max_th, q_weight, .. } = *self;
        RedParams { min_th, max_th, q_weight: Auto::Given(q_weight), ..RedParams::defaults() }
    }
}

/// See [`NlRedParams`].
#[derive(Clone)]
pub struct NlRed {
    params: NlRedParams,
    /// Keeps the average.
    red: Red,
    count: u32,
    p: f64,
}

impl NlRed {
    fn probability(&self, queue: &QueueView) -> f64 {
        let (min_th, max_th) = self.red.params.thresholds(queue.target);
        match (self.red.avg - min_th) / (max_th - min_th) {
            x if x < 0.0 => 0.0,
            x if x < 1.0 => (1.5 * self.params.max_p.0 * x * x).min(1.0),
            _ => 1.0,
        }
    }
}

impl Scheme for NlRed {
    const INFO: SchemeInfo = SchemeInfo {
        name: "nlred",
        title: "NLRED",
        family: "red",
        year: 2006,
        source: "Zhou, Yeung & Li, Computer Networks 50(18), 2006; ns-3 (NonlinearRed)",
        confidence: "algorithm as in ns-3; by hand-computed steps",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = Red::OBSERVABLES;

    fn new(params: NlRedParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self { params, red: Red::new(params.red(), queue)?, count: 0, p: 0.0 })
    }

    fn params_changed(&mut self) {
        self.red.set_params(self.params.red());
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for NlRed {
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.red.update_average(queue, cx);
        self.p = self.probability(queue);
        if self.p == 0.0 {
            self.count = 0;
            return Verdict::Pass;
        }
        self.count += 1;
        let spacing = 1.0 - f64::from(self.count) * self.p;
        if spacing > 0.0 && !cx.chance(self.p / spacing) {
            return Verdict::Pass;
        }
        self.count = 0;
        if self.p >= 1.0 { Verdict::Drop(FORCED) } else { Verdict::Signal(EARLY) }
    }

    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.red.on_overflow(queue, cx);
        self.count = 0;
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.red.on_empty(cx);
    }

    fn share(&self, p: f64, _: &QueueView) -> f64 {
        share_of_spaced(p, false)
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.red.avg][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::Time;

    /// Thresholds 10 and 30; the average is the present queue.
    fn nlred() -> NlRed {
        let mut params = NlRedParams::defaults();
        let pairs = [("min_th", "10 packets"), ("max_th", "30 packets"), ("q_weight", "1")];
        params.read("x", pairs, &mut Vec::new());
        NlRed::new(params, &bench::queue(0)).unwrap()
    }

    fn arrive(nlred: &mut NlRed, packets: u32) -> Verdict {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        nlred.on_enqueue(&bench::packet(), &bench::queue(packets), cx)
    }

    #[test]
    fn the_probability_is_a_parabola() {
        // 0.15 * (1/4)^2, 0.15 * (1/2)^2, just below max_th 0.15 * (19/20)^2.
        for (packets, p) in [(9, 0.0), (10, 0.0), (15, 0.009375), (20, 0.0375), (29, 0.135375), (30, 1.0)] {
            let mut nlred = nlred();
            arrive(&mut nlred, packets);
            assert!((nlred.p - p).abs() < 1e-12, "{packets}: {}", nlred.p);
        }
        assert_eq!(arrive(&mut nlred(), 30), Verdict::Drop(FORCED));
    }

    #[test]
    fn a_drop_comes_at_the_latest_after_one_over_p() {
        // p = 0.0375: 1/p = 26.7, so the 27th arrival at the latest, whatever is drawn.
        let mut nlred = nlred();
        let first = (1..).find(|_| arrive(&mut nlred, 20) != Verdict::Pass).unwrap();
        assert!(first <= 27, "{first}");
        assert_eq!(nlred.count, 0);
    }
}
