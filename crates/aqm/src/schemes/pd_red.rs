use super::red::{Red, RedParams};
use crate::linear::{LinearResponse, Network, OperatingPoint, change, lag, needs};
use crate::{
    Aqm, Ctx, LinearLaw, LinearLawOf, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict,
};
use aqmlab_core::{Auto, Packets, Rate, Span, params};

params! {
    /// PD-RED: RED whose maximum probability is moved by a proportional-derivative controller on the average queue.
    ///
    /// ## Idea
    /// Adaptive RED moves max_p by fixed steps. PD-RED moves it in proportion to how far the average queue is from the
    /// target and how fast it departs from it, and leaves the rest of RED as it is.
    ///
    /// ## Equations
    /// RED's (see `red`), and every `interval`, with e = avg - target, e_old one sample ago, B = `buffer`:
    ///
    /// ```text
    /// max_p = clamp(max_p + k_p * e/B + k_d * (e - e_old)/B, 0, 1)
    /// ```
    ///
    /// As max_p is summed up, k_p integrates: at rest the average queue is the target.
    ///
    /// ## Readings
    /// The equation is reconstructed from Xiong et al. 2010, who give the interval and both gains. Errors are shares of
    /// the buffer, as in their own eq. (3): if errors are in packets (`buffer = "1 packets"`) the queue of their Table
    /// 4 swings between empty and full, 38 packets on average.
    ///
    /// ## Departures
    /// As `red`. Xiong et al. have thresholds of 15 and 75 packets.
    pub struct PdRedParams for PdRed {
        flatten red: RedParams;
        /// Gain on the error of the average queue, which changes max_p.
        k_p: f64 = "0.001" in "0" ..= "1000", from "Xiong et al. 2010, section 4.3";
        /// Gain on the change of that error.
        k_d: f64 = "0.05" in "0" ..= "1000", from "Xiong et al. 2010, section 4.3";
        /// Sampling interval of the controller.
        interval: Span = "10 ms" in "1 us" ..= "100 s", from "Xiong et al. 2010, section 4.3";
        /// Queue that errors are measured by; "auto" is the link's buffer.
        buffer: Auto<Packets> = "auto" in "1 packets" ..= "10000000 packets", from "reconstruction";
    }
}

/// See [`PdRedParams`].
#[derive(Clone)]
pub struct PdRed {
    params: PdRedParams,
    red: Red,
    e_old: f64,
}

impl PdRedParams {
    /// The unit of errors if `limit` packets may wait.
    fn measure(&self, limit: f64) -> f64 {
        self.buffer.unwrap_or_else(|| Packets(limit)).0
    }
}

impl Scheme for PdRed {
    const INFO: SchemeInfo = SchemeInfo {
        name: "pd-red",
        title: "PD-RED",
        family: "red",
        year: 2003,
        source: "Sun, Ko, Chen, Chan & Zukerman, IEEE Communications Letters 7(8), 2003. Xiong et al., Information \
                 Sciences 180(11), 2010",
        confidence: "checked against the same equations in ns-2.35",
        papers: &["xiong2010"],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the gains are those that Xiong et al. 2010 print, the equation and the unit of its errors are this project's; \
         its paper was not available",
    );
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p", unit: "ratio", doc: "drop probability p_b" },
        Observable { name: "avg", unit: "packets", doc: "average queue" },
        Observable { name: "max_p", unit: "ratio", doc: "drop probability at max_th, as controlled" },
    ];
    const AT_START: &'static [(&'static str, &'static str)] = &[("max_p", "it has been controlled since")];

    fn new(params: PdRedParams, queue: &QueueView) -> Result<Self, String> {
        let red = Red::new(params.red, queue)?;
        Ok(Self { params, red, e_old: -queue.target })
    }

    fn params_changed(&mut self) {
        self.red.set_params(self.params.red);
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<PdRedParams> = Some(|params| Box::new(params));
}

impl Aqm for PdRed {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let PdRedParams { k_p, k_d, .. } = self.params;
        let buffer = self.params.measure(queue.limit);
        let e = self.red.avg - queue.target;
        self.red.max_p = (self.red.max_p + (k_p * e + k_d * (e - self.e_old)) / buffer).clamp(0.0, 1.0);
        self.e_old = e;
    }

    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.red.on_enqueue(packet, queue, cx)
    }

    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.red.on_overflow(queue, cx);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.red.on_empty(cx);
    }

    fn share(&self, p: f64, queue: &QueueView) -> f64 {
        self.red.share(p, queue)
    }

    fn observe(&self, i: usize) -> f64 {
        [self.red.p, self.red.avg, self.red.max_p][i]
    }
}

/// RED whose max_p is summed up from the error of the average queue and its change, as shares of `buffer`.
impl LinearLaw for PdRedParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.k_p > 0.0, "k_p = 0")
    }

    fn spacing(&self) -> f64 {
        self.red.spacing()
    }

    fn auto(&self, network: &Network) -> Vec<(&'static str, f64)> {
        let buffer = ("buffer", self.measure(network.buffer));
        self.red.auto(network).into_iter().chain([buffer]).collect()
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let PdRedParams { red, k_p, k_d, interval, .. } = *self;
        let (low, high) = red.apart(point.network.target)?;
        let (share, period) = ((point.network.target - low) / (high - low), interval.seconds());
        let max_p = point.p * self.spacing() / share;
        if !(max_p > 0.0 && max_p <= 1.0) {
            return Err(format!("operating point: none, pd-red needs max_p = {max_p:.3} at its target; 0 to 1"));
        }
        let (buffer, spacing) = (self.measure(point.network.buffer), self.spacing());
        let weight = red.weight(point.network.target, Rate(point.network.rate));
        let arrival = 1.0 / point.offered();
        Ok(LinearResponse::new(1, move |s| {
            let adapted = (k_p + k_d * change(s, period)) / (buffer * s * period);
            (max_p / (high - low) + share * adapted) * lag(s, weight, arrival) / spacing
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// Target 50, B = 75, max_p = 0.1 to begin with.
    #[test]
    fn max_p_by_hand() {
        let mut params = PdRedParams::defaults();
        params.read("pd-red", [("buffer", "75 packets")], &mut Vec::new());
        let mut pd = PdRed::new(params, &bench::queue(0)).unwrap();
        let mut max_p_at = |avg: f64| {
            pd.red.avg = avg;
            bench::tick(&mut pd, 0);
            pd.red.max_p
        };
        // e = 25 after -50: 0.1 + (0.001*25 + 0.05*75) / 75 = 0.1 + 3.775/75.
        assert!((max_p_at(75.0) - 0.150_333_333_333_333).abs() < 1e-12);
        // e = 25 again: + 0.025/75.
        assert!((max_p_at(75.0) - 0.150_666_666_666_667).abs() < 1e-12);
        // e = -50: - (0.05 + 3.75) / 75, which undoes both.
        assert!((max_p_at(0.0) - 0.1).abs() < 1e-12);
    }

    #[test]
    fn max_p_stays_a_probability() {
        let mut pd = PdRed::new(PdRedParams::defaults(), &bench::queue(0)).unwrap();
        pd.red.avg = 1e6;
        bench::tick(&mut pd, 0);
        assert_eq!(pd.red.max_p, 1.0);
        pd.red.avg = 0.0;
        bench::tick(&mut pd, 0);
        assert_eq!(pd.red.max_p, 0.0);
    }
}
