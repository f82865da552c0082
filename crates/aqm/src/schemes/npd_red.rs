use crate::linear::{Linear, Network, Point, change, hold, lag, needs};
use crate::{Aqm, Ctx, EARLY, Info, Law, Observable, P, PacketView, QueueView, Scheme, Signal, Standing, Verdict};
use aqmlab_core::{Auto, Packets, Ratio, Span, Time, choice, params};

choice! {
    /// What the controller's terms are added to.
    pub enum Base {
        /// The share of packets lost lately.
        LossRatio = "loss_ratio",
        /// The probability of one sample ago.
        Recursive = "recursive",
        /// The initial probability, for ever.
        Fixed = "fixed",
    }
}

params! {
    /// NPD-RED: proportional-derivative control of the instantaneous queue around a base probability.
    ///
    /// ## Idea
    /// The average queue of RED hides bursts. NPD-RED answers to the queue as it is and to its change, both as shares
    /// of the buffer; on a larger time-scale the measured loss ratio tells which probability the load needs.
    ///
    /// ## Equations
    /// Every `interval`, with q_old the queue one sample ago, B = `buffer`:
    ///
    /// ```text
    /// p = clamp(base + k_p * (q - target)/B + k_d * (q - q_old)/B, 0, 1)
    /// ```
    ///
    /// An arriving packet is dropped with probability p. The base starts at p0. With `base = "loss_ratio"` it follows,
    /// every `loss_interval`, l = packets lost (or marked) over packets offered in it:
    ///
    /// ```text
    /// base = (1 - loss_weight) * base + loss_weight * l
    /// ```
    ///
    /// With "recursive" it is the p of one sample ago, with "fixed" p0 for ever, as eq. (3) is printed.
    ///
    /// ## The printed gains
    /// The paper's K_d = -3.59e-11 and K_p = 2e-10 follow from its stability range with the capacity in bit/s and the
    /// buffer in bits, while eq. (3) counts packets: p moves by 1e-10 and stays at the base. With "recursive" or
    /// "fixed" that is p0: mere overflow. With "loss_ratio" the base counts its own drops, nothing brings it back, and
    /// the link starves. With packets throughout, the range for its link (50 flows, 750 packets/s, 75 packets, 0.1 s)
    /// is -0.24 < K_d < 0 and 0 < K_p < 13; the defaults lie inside.
    ///
    /// ## Readings
    /// The paper gives p0 no value, and says of the loss ratio only that it adjusts the probability on larger
    /// time-scales; `loss_interval` and `loss_weight` are those of LRED. In ns-2.35 on the paper's link the defaults
    /// give a queue of 50.1 packets, the printed gains with "recursive" mere overflow, the paper's "unstable" K_p = 10
    /// with "recursive" 48.4 packets.
    ///
    /// ## Departures
    /// The gains are constants; the paper chooses them at random within their range.
    pub struct NpdRedParams {
        /// Gain on the queue error; the paper prints 2e-10 (stable) and 10 (unstable).
        k_p: f64 = "1" in "-1000" ..= "1000", from "reconstruction: inside the paper's range in packets";
        /// Gain on the change of the queue; the paper prints -3.59e-11 (stable) and -3.59e-7 (unstable).
        k_d: f64 = "-0.1" in "-1000" ..= "1000", from "reconstruction: inside the paper's range in packets";
        /// Sampling interval.
        interval: Span = "0.1 ms" in "1 us" ..= "100 s", from "Xiong et al. 2010, section 4";
        /// Queue that errors are measured by; "auto" is the link's buffer.
        buffer: Auto<Packets> = "auto" in "1 packets" ..= "10000000 packets", from "Xiong et al. 2010, eq. (3)";
        /// What the two terms are added to.
        base: Base = "loss_ratio", from "Xiong et al. 2010, section 1; measured";
        /// Base to begin with.
        p0: Ratio = "0" in "0" ..= "1", from "reconstruction";
        /// Time over which losses are counted.
        loss_interval: Span = "1 s" in "1 us" ..= "1000 s", from "reconstruction, after LRED";
        /// Weight of the last count in the loss ratio.
        loss_weight: Ratio = "0.9" in "0" ..= "1", from "reconstruction, after LRED";
    }
}

/// See [`NpdRedParams`].
#[derive(Clone)]
pub struct NpdRed {
    params: NpdRedParams,
    q_old: f64,
    base: f64,
    p: f64,
    /// Packets lost or marked since the last count.
    lost: u64,
    counted_at: Time,
    arrived_before: u64,
}

impl NpdRedParams {
    /// What errors are measured by where `limit` packets may wait.
    fn measure(&self, limit: f64) -> f64 {
        self.buffer.unwrap_or_else(|| Packets(limit)).0
    }
}

impl NpdRed {
    /// Moves the base; a span without arrivals tells nothing.
    fn follow_losses(&mut self, queue: &QueueView, now: Time) {
        let arrived = queue.arrived_packets - self.arrived_before;
        if now.since(self.counted_at) < self.params.loss_interval || arrived == 0 {
            return;
        }
        self.base += self.params.loss_weight.0 * (self.lost as f64 / arrived as f64 - self.base);
        (self.lost, self.counted_at, self.arrived_before) = (0, now, queue.arrived_packets);
    }
}

impl Scheme for NpdRed {
    const INFO: Info = Info {
        name: "npd-red",
        title: "NPD-RED",
        family: "red",
        year: 2010,
        source: "Xiong, Vasilakos, Yang, Wang, Kannan, Chang & Pan, Information Sciences 180(11), 2010",
        confidence: "checked against the same reading in ns-2.35",
        papers: &["xiong2010"],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the gains and the base probability are this project's: the printed gains do not fit the units of the \
         printed law, and the base has no printed value",
    );
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "base", unit: "ratio", doc: "probability that the controller's terms are added to" }];
    type Params = NpdRedParams;
    const AT_START: &'static [(&'static str, &'static str)] = &[("p0", "the probability starts from it")];

    fn new(params: NpdRedParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            q_old: 0.0,
            base: params.p0.0,
            p: params.p0.0,
            lost: 0,
            counted_at: Time::ZERO,
            arrived_before: queue.arrived_packets,
        })
    }

    fn params(&mut self) -> &mut NpdRedParams {
        &mut self.params
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);

    fn law(params: Self::Params) -> Option<Box<dyn Law>> {
        Some(Box::new(params))
    }
}

impl Aqm for NpdRed {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, cx: &mut Ctx) {
        let NpdRedParams { k_p, k_d, base, .. } = self.params;
        let buffer = self.params.measure(queue.limit);
        match base {
            Base::LossRatio => self.follow_losses(queue, cx.now),
            Base::Recursive => self.base = self.p,
            Base::Fixed => {}
        }
        let q = f64::from(queue.packets);
        let change = (k_p * (q - queue.target) + k_d * (q - self.q_old)) / buffer;
        self.p = (self.base + change).clamp(0.0, 1.0);
        self.q_old = q;
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
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
        [self.p, self.base][i]
    }
}

/// base + (k_p e + k_d (1 - z) e)/B, held; the base is fixed, the last p, or the average of the share lost.
impl Law for NpdRedParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.k_p != 0.0, "k_p = 0")
    }

    fn queue(&self, p: f64, network: &Network) -> f64 {
        match self.base {
            Base::Fixed => network.target + (p - self.p0.0) * self.measure(network.buffer) / self.k_p,
            _ => network.target,
        }
    }

    fn auto(&self, network: &Network) -> Vec<(&'static str, f64)> {
        vec![("buffer", self.measure(network.buffer))]
    }

    fn at(&self, point: &Point) -> Result<Linear, String> {
        let NpdRedParams { k_p, k_d, interval, loss_interval, loss_weight: Ratio(weight), .. } = *self;
        let (period, slow, buffer) = (interval.seconds(), loss_interval.seconds(), self.measure(point.network.buffer));
        let step = move |s| (k_p + k_d * change(s, period)) / buffer;
        Ok(match self.base {
            Base::Recursive => Linear::new(1, move |s| step(s) / (s * period)),
            Base::Fixed => Linear::new(0, move |s| step(s) * hold(s, period)),
            // The mean of p over one loss interval, held over the next.
            Base::LossRatio => Linear::new(0, move |s| step(s) * hold(s, period))
                .with_inner(move |s| lag(s, weight, slow) * hold(s, slow).powu(2)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// Target 50, B = 75.
    fn npd(changes: &[(&str, &str)]) -> NpdRed {
        let mut params = NpdRedParams::defaults();
        params.read("npd-red", [("buffer", "75 packets")].iter().chain(changes).copied(), &mut Vec::new());
        NpdRed::new(params, &bench::queue(0)).unwrap()
    }

    fn p_at(npd: &mut NpdRed, packets: u32) -> f64 {
        bench::tick(npd, packets);
        npd.p
    }

    #[test]
    fn around_a_fixed_base() {
        let mut npd = npd(&[("base", "fixed"), ("p0", "0.1")]);
        // 0.1 + (1*10 - 0.1*60)/75, then without the change, then 0.1 + (1*0 + 0.1*10)/75.
        assert!((p_at(&mut npd, 60) - 0.153_333_333_333_333).abs() < 1e-12);
        assert!((p_at(&mut npd, 60) - 0.233_333_333_333_333).abs() < 1e-12);
        assert!((p_at(&mut npd, 50) - 0.113_333_333_333_333).abs() < 1e-12);
        assert_eq!(p_at(&mut npd, 0), 0.0, "0.1 - 45/75 is held at 0");
    }

    #[test]
    fn recursion_sums_up() {
        let mut npd = npd(&[("base", "recursive"), ("k_p", "0.75"), ("k_d", "0")]);
        // 0.75/75 = 0.01 for each packet above 50 and each sample.
        assert!((p_at(&mut npd, 60) - 0.1).abs() < 1e-12);
        assert!((p_at(&mut npd, 60) - 0.2).abs() < 1e-12);
        assert!((p_at(&mut npd, 45) - 0.15).abs() < 1e-12);
    }

    #[test]
    fn the_base_follows_the_loss_ratio_once_a_second() {
        let (mut npd, mut rng) = (npd(&[]), bench::stream());
        npd.lost = 15;
        npd.on_overflow(&bench::queue(75), &mut Ctx { now: Time::ZERO, rng: &mut rng });
        let mut base_at = |seconds: f64, arrived: u64| {
            let view = QueueView { arrived_packets: arrived, ..bench::queue(50) };
            npd.on_tick(&view, &mut Ctx { now: Time::ZERO + Span::from_seconds(seconds), rng: &mut rng });
            npd.base
        };
        assert_eq!(base_at(0.9, 90), 0.0);
        // 16 of 100 lost: 0.9 * 0.16; then none of 100: a tenth of it stays; then nothing arrives.
        assert!((base_at(1.0, 100) - 0.144).abs() < 1e-15);
        assert!((base_at(2.0, 200) - 0.0144).abs() < 1e-15);
        assert!((base_at(3.0, 200) - 0.0144).abs() < 1e-15);
    }
}
