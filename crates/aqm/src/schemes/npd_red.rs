mod self_tuning;

use crate::linear::{LinearResponse, Network, OperatingPoint, change, hold, lag, needs};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal,
    Standing, Verdict,
};
use aqmlab_core::{Auto, Packets, Quantity, Ratio, Span, Time, choice, params};
use self_tuning::SelfTuning;
use std::collections::VecDeque;

choice! {
    /// The probability to which the controller's terms are added.
    pub enum BaseProbability {
        /// The share of packets lost lately.
        LossRatio = "loss_ratio",
        /// The probability of one sample ago.
        Recursive = "recursive",
        /// The initial probability, unchanged.
        Fixed = "fixed",
        /// The probability of one sample ago; the terms are a rate, per second, and the change is that of a second.
        Integral = "integral",
    }
}

choice! {
    /// The source of the gains.
    pub enum GainSource {
        /// They are given.
        Constant = "constant",
        /// They are drawn from their stability range, for the network as it is estimated.
        SelfTuning = "self-tuning",
    }
}

params! {
    /// NPD-RED: proportional-derivative control of the instantaneous queue around a base probability.
    ///
    /// ## Idea
    /// The average queue of RED hides bursts. NPD-RED responds to the current queue and to its change, both as shares
    /// of the buffer; on a larger time-scale the measured loss ratio sets the probability that the load needs.
    ///
    /// ## Equations
    /// Every `interval`, with q_old the queue one sample ago, B = `buffer`:
    ///
    /// ```text
    /// p = clamp(base + k_p * (q - target)/B + k_d * (q - q_old)/B, 0, 1)
    /// ```
    ///
    /// An arriving packet is dropped with probability p. The base starts at p0. If `base = "loss_ratio"`, it follows,
    /// every `loss_interval`, l = packets lost (or marked) over packets offered in it:
    ///
    /// ```text
    /// base = (1 - loss_weight) * base + loss_weight * l
    /// ```
    ///
    /// For "recursive" it is the p of one sample ago; for "fixed" it remains p0, as eq. (3) is printed. For "integral"
    /// the terms are a rate, and the change is taken over one second:
    ///
    /// ```text
    /// p = clamp(p + interval * (k_p * (q - target) + k_d * (q - q(t - 1 s)))/B, 0, 1)
    /// ```
    ///
    /// This is eq. (6), which the paper analyses. Eq. (6) is not the transform of eq. (3), but of dp/dt equal to the
    /// two terms, with times in seconds.
    ///
    /// ## The printed gains
    /// The paper's K_d = -3.59e-11 and K_p = 2e-10 follow from its stability range with the capacity in bit/s and the
    /// buffer in bits, while eq. (3) counts packets: p moves by 1e-10 and stays at the base. For "recursive" or "fixed"
    /// that is p0, and packets are lost by overflow only. For "loss_ratio" the base counts its own drops, nothing
    /// brings it back, and the link starves. If all units are packets, the range for its link is -0.24 < K_d < 0 and 0
    /// < K_p < 13. (The link: 50 flows, 750 packets/s, 75 packets, 0.1 s.) The defaults have these magnitudes, but the
    /// range is for another equation. `aqmlab analyse npd-red --ranges` computes ranges, and simulates gains inside and
    /// outside.
    ///
    /// ## Self-tuning
    /// The paper computes the range of K_d from R, N and C, chooses K_d in it, computes the range of K_p for that K_d,
    /// and chooses K_p (Figure 5). Both choices are random (section 3.3). `gains = "self-tuning"` does so every
    /// `tuning_interval`, for `base = "integral"`, as the ranges are for its equation. N flows, round trip R, C
    /// packets/s; a0 to a4 as in eqs. (13) to (17):
    ///
    /// ```text
    /// k_d   uniform in -4*N*B / (R * C^2 * (1 + R)) .. 0                              eq. (23)
    /// k_p   uniform where k_p > 0, a1 > 0 and a1*a2*a3 - a1^2*a4 - a0*a3^2 > 0        eqs. (19), (28), (33)
    /// ```
    ///
    /// The paper leaves open how a router comes by R, N and C: it refers to other papers. Here:
    ///
    /// - C: the packets that left in a `tuning_interval` without an idle moment.
    /// - N: the paper refers to the method of S-RED, which takes thousands of packets. Here the flows that sent in the last
    ///   `tuning_interval` are counted with a bitmap of 4,096 hashed flows (linear counting, Whang et al. 1990).
    /// - R: the paper refers to a measurement at the sender. Here R = T_p + q/C, as in section 2, with the queue at its
    ///   target. T_p is the mean over the packets of the last `tuning_interval` of their flows' round trips without
    ///   this queue. These are estimated passively, by the first gaps in a flow's arrivals (Jiang & Dovrolis, ACM CCR
    ///   32(3), 2002; described under `fuzzy-rtt`). They are held in a table of 4,096 flows, 164 kB.
    ///
    /// Figure 5 does all this at each sample. No estimate changes within 0.1 ms, so that gains are drawn when the
    /// estimates are renewed. Until all three are known `k_p` and `k_d` hold. For some K_d no K_p is stable: K_d is
    /// drawn again, up to 16 times, after which the gains stay as they are. The linear control law and the fluid model,
    /// whose packets belong to one flow, need constant gains.
    ///
    /// On the paper's link the queue is 48 packets with a deviation of 21; the default, constant gains, holds 50 with a
    /// deviation of 5. An integral alone is slow, and the range leaves it little gain.
    ///
    /// ## Readings
    /// The paper gives no value of p0. It states only that the loss ratio adjusts the probability on larger
    /// time-scales; `loss_interval` and `loss_weight` are LRED's. In ns-2.35 on the paper's link the defaults give a
    /// queue of 50.1 packets. The printed gains for "recursive" give drops by overflow only. The paper's "unstable" K_p
    /// = 10 for "recursive" gives 48.4 packets.
    ///
    /// ## Departures
    /// By default the gains are constants.
    pub struct NpdRedParams for NpdRed {
        /// The source of the gains: constant or self-tuning.
        gains: GainSource = "constant", from "Xiong et al. 2010, section 4.1 and Figure 5";
        /// Time between two estimates of the network, each with new gains, if they are self-tuning.
        tuning_interval: Span = "1 s" in "1 ms" ..= "1000 s", from "this project";
        /// Gain on the queue error; the paper prints 2e-10 (stable) and 10 (unstable).
        k_p: f64 = "1" in "-1000" ..= "1000", from "reconstruction: inside the paper's range in packets";
        /// Gain on the change of the queue; the paper prints -3.59e-11 (stable) and -3.59e-7 (unstable).
        k_d: f64 = "-0.1" in "-1000" ..= "1000", from "reconstruction: inside the paper's range in packets";
        /// Sampling interval.
        interval: Span = "0.1 ms" in "1 us" ..= "100 s", from "Xiong et al. 2010, section 4";
        /// Queue that errors are measured by; "auto" is the link's buffer.
        buffer: Auto<Packets> = "auto" in "1 packets" ..= "10000000 packets", from "Xiong et al. 2010, eq. (3)";
        /// The probability to which the two terms are added.
        base: BaseProbability = "loss_ratio", from "Xiong et al. 2010, section 1; measured";
        /// Base to begin with.
        p0: Ratio = "0" in "0" ..= "1", from "reconstruction";
        /// Time over which losses are counted.
        loss_interval: Span = "1 s" in "1 us" ..= "1000 s", from "reconstruction, after LRED";
        /// Weight of the last count in the loss ratio.
        loss_weight: Ratio = "0.9" in "0" ..= "1", from "reconstruction, after LRED";
    }
    check |p| match (p.gains, p.base) {
        (GainSource::SelfTuning, base) if base != BaseProbability::Integral => Err(format!(
            "base (\"{}\"): self-tuning gains are drawn from a range that is for base = \"integral\"; set that too",
            base.text()
        )),
        _ => Ok(()),
    };
}

/// See [`NpdRedParams`].
#[derive(Clone)]
pub struct NpdRed {
    params: NpdRedParams,
    /// The queue at the samples since the one that the change is counted from, that one first.
    past: VecDeque<u32>,
    base: f64,
    p: f64,
    /// Packets lost or marked since the last count.
    lost: u64,
    counted_at: Time,
    arrived_before: u64,
    tuning: Option<SelfTuning>,
    /// K_p and K_d, once they have been drawn.
    drawn: Option<(f64, f64)>,
}

impl NpdRedParams {
    /// The unit of errors if `limit` packets may wait.
    fn measure(&self, limit: f64) -> f64 {
        self.buffer.unwrap_or_else(|| Packets(limit)).0
    }

    /// Age of the queue from which the change is counted, samples.
    fn ago(&self) -> usize {
        match self.base {
            BaseProbability::Integral => ((1.0 / self.interval.seconds()).round() as usize).max(1),
            _ => 1,
        }
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

    /// Draws gains for the network as it is estimated, when that is due.
    fn tune(&mut self, queue: &QueueView, cx: &mut Ctx) {
        let NpdRedParams { tuning_interval, .. } = self.params;
        let buffer = self.params.measure(queue.limit);
        if let Some(tuning) = &mut self.tuning
            && tuning.renew(tuning_interval, queue, cx.now)
        {
            let drawn = tuning.control_loop(queue.target, buffer).and_then(|found| found.draw(cx));
            self.drawn = drawn.or(self.drawn);
        }
    }

    fn remember(&mut self, q: u32) {
        self.past.push_back(q);
        let older = self.past.len().saturating_sub(self.params.ago());
        self.past.drain(..older);
    }

    fn gains(&self) -> (f64, f64) {
        self.drawn.unwrap_or((self.params.k_p, self.params.k_d))
    }

    /// A packet is lost; `is_marked` if it goes on with a mark.
    fn lose(&mut self, is_marked: bool) {
        self.lost += 1;
        if let Some(tuning) = &mut self.tuning
            && !is_marked
        {
            tuning.drop();
        }
    }
}

impl Scheme for NpdRed {
    const INFO: SchemeInfo = SchemeInfo {
        name: "npd-red",
        title: "NPD-RED",
        family: "red",
        year: 2010,
        source: "Xiong, Vasilakos, Yang, Wang, Kannan, Chang & Pan, Information Sciences 180(11), 2010",
        confidence: "checked against the same reading in ns-2.35",
        papers: &["xiong2010"],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the gains and the base probability are this project's: the printed gains do not fit the units of the printed equation, and the base has no printed value",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable {
            name: "base",
            unit: "ratio",
            doc: "base probability, to which the terms of the controller are added",
        },
        Observable { name: "k_p", unit: "1", doc: "gain on the queue error" },
        Observable { name: "k_d", unit: "1", doc: "gain on the change of the queue" },
        Observable { name: "flows", unit: "1", doc: "self-tuning: estimated number of flows, 0 before the first" },
        Observable {
            name: "path",
            unit: "s",
            doc: "self-tuning: estimated round trip without this queue, 0 before the first",
        },
        Observable { name: "capacity", unit: "packets/s", doc: "self-tuning: estimated capacity, 0 before the first" },
    ];
    const AT_START: &'static [(&'static str, &'static str)] =
        &[("p0", "the probability starts from it"), ("gains", "self-tuning has watched the packets since")];

    fn new(params: NpdRedParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            past: VecDeque::from([0]),
            base: params.p0.0,
            p: params.p0.0,
            lost: 0,
            counted_at: Time::ZERO,
            arrived_before: queue.arrived_packets,
            tuning: (params.gains == GainSource::SelfTuning).then(SelfTuning::new),
            drawn: None,
        })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<NpdRedParams> = Some(|params| Box::new(params));
}

impl Aqm for NpdRed {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, cx: &mut Ctx) {
        let buffer = self.params.measure(queue.limit);
        self.tune(queue, cx);
        let (k_p, k_d) = self.gains();
        match self.params.base {
            BaseProbability::LossRatio => self.follow_losses(queue, cx.now),
            BaseProbability::Recursive | BaseProbability::Integral => self.base = self.p,
            BaseProbability::Fixed => {}
        }
        let (q, q_old) = (f64::from(queue.packets), f64::from(self.past[0]));
        let terms = (k_p * (q - queue.target) + k_d * (q - q_old)) / buffer;
        let change =
            if self.params.base == BaseProbability::Integral { terms * self.params.interval.seconds() } else { terms };
        self.p = (self.base + change).clamp(0.0, 1.0);
        self.remember(queue.packets);
    }

    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        if let Some(tuning) = &mut self.tuning {
            tuning.note(packet, queue, cx.now);
        }
        if !cx.chance(self.p) {
            return Verdict::Pass;
        }
        self.lose(packet.can_mark);
        Verdict::Signal(EARLY)
    }

    fn on_overflow(&mut self, _: &QueueView, _: &mut Ctx) {
        self.lose(false);
    }

    fn on_empty(&mut self, _: &mut Ctx) {
        if let Some(tuning) = &mut self.tuning {
            tuning.fall_idle();
        }
    }

    fn observe(&self, i: usize) -> f64 {
        let (k_p, k_d) = self.gains();
        let [flows, path, capacity] = self.tuning.as_ref().map_or([None; 3], SelfTuning::estimates);
        let or_none = |estimate: Option<f64>| estimate.unwrap_or(0.0);
        [self.p, self.base, k_p, k_d, or_none(flows), or_none(path), or_none(capacity)][i]
    }
}

/// base + (k_p e + k_d (1 - z) e)/B, held; the base is fixed, the last p, or the average of the share lost. Or the
/// integral of the same, with the change of a second.
impl LinearLaw for NpdRedParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.k_p != 0.0, "k_p = 0")
    }

    fn queue(&self, p: f64, network: &Network) -> f64 {
        match self.base {
            BaseProbability::Fixed => network.target + (p - self.p0.0) * self.measure(network.buffer) / self.k_p,
            _ => network.target,
        }
    }

    fn auto(&self, network: &Network) -> Vec<(&'static str, f64)> {
        vec![("buffer", self.measure(network.buffer))]
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        if self.gains == GainSource::SelfTuning {
            return Err("gains = \"self-tuning\": they are drawn at random while it runs".into());
        }
        let NpdRedParams { k_p, k_d, interval, loss_interval, loss_weight: Ratio(weight), .. } = *self;
        let (period, slow, buffer) = (interval.seconds(), loss_interval.seconds(), self.measure(point.network.buffer));
        let step = move |s| (k_p + k_d * change(s, period)) / buffer;
        let second = self.ago() as f64 * period;
        Ok(match self.base {
            BaseProbability::Recursive => LinearResponse::new(1, move |s| step(s) / (s * period)),
            BaseProbability::Integral => {
                LinearResponse::new(1, move |s| (k_p + k_d * change(s, second)) / (buffer * s))
            }
            BaseProbability::Fixed => LinearResponse::new(0, move |s| step(s) * hold(s, period)),
            // The mean of p over one loss interval, held over the next.
            BaseProbability::LossRatio => LinearResponse::new(0, move |s| step(s) * hold(s, period))
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

    /// dp/dt = (15 (q - 50) - 7.5 (q - q(t - 1 s)))/75, sampled every 0.25 s: a quarter of it each time.
    #[test]
    fn the_integral_is_per_second_and_its_change_that_of_a_second() {
        let mut npd = npd(&[("base", "integral"), ("interval", "250 ms"), ("k_p", "15"), ("k_d", "-7.5")]);
        // Empty a second ago: 0.25 (15*10 - 7.5*60)/75 < 0.
        assert_eq!(p_at(&mut npd, 60), 0.0);
        assert_eq!(p_at(&mut npd, 60), 0.0);
        assert_eq!(p_at(&mut npd, 60), 0.0);
        assert_eq!(p_at(&mut npd, 60), 0.0);
        // The first 60 were a second ago: 0.25 * 150/75, then with 52 packets 0.25 (15*2 + 7.5*8)/75 more.
        assert!((p_at(&mut npd, 60) - 0.5).abs() < 1e-12);
        assert!((p_at(&mut npd, 52) - 0.8).abs() < 1e-12);
    }

    #[test]
    fn self_tuning_gains_are_for_the_integral_only() {
        let mut problems = Vec::new();
        NpdRedParams::defaults().read("npd-red", [("gains", "self-tuning")], &mut problems);
        let [problem] = &problems[..] else { panic!("{problems:?}") };
        assert!(
            problem.to_string().contains("loss_ratio") && problem.to_string().contains("\"integral\""),
            "{problem}"
        );
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

    /// A busy link of 1000 packets/s with 50 packets waiting; 20 flows take turns, each sends every 20 ms.
    #[test]
    fn self_tuning_draws_once_a_second_from_what_it_has_seen() {
        let (mut npd, mut rng) =
            (npd(&[("gains", "self-tuning"), ("base", "integral"), ("k_p", "7"), ("k_d", "-7")]), bench::stream());
        let mut drawn_at = Vec::new();
        for ms in 0..8000 {
            let mut cx = Ctx { now: Time::ZERO + Span::from_millis(ms), rng: &mut rng };
            let view = QueueView { arrived_packets: ms + 1, ..bench::queue(50) };
            let flow = (ms % 20) as u32;
            npd.on_enqueue(&PacketView { flow, flow_hash: flow, can_mark: true, ..bench::packet() }, &view, &mut cx);
            let before = npd.gains();
            npd.on_tick(&view, &mut cx);
            if npd.gains() != before {
                drawn_at.push(ms);
            }
        }
        // The link was idle before the start, which the first second does not forget.
        assert_eq!(drawn_at, [2000, 3000, 4000, 5000, 6000, 7000]);
        let [k_p, k_d, n, path, c] = [2, 3, 4, 5, 6].map(|i| npd.observe(i));
        // A first packet leaves after 50 ms; the next one of its flow comes at 60. 20 of 4096 bits are set, or 19.
        assert!((path - 0.01).abs() < 1e-9 && (c - 1000.0).abs() < 1e-9, "{path}, {c}");
        assert!((19.0..=20.1).contains(&n), "{n}");
        assert!(k_d < 0.0 && k_d > -4.0 * n * 75.0 / (0.06 * c * c * 1.06) && k_p > 0.0, "{k_p}, {k_d}");
    }
}
