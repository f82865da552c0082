use crate::linear::{LinearResponse, Network, OperatingPoint, change, needs};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal,
    Standing, Verdict,
};
use aqmlab_core::{Frequency, Span, params};

params! {
    /// PI2: a PI controller of the queueing delay whose output is squared into the drop probability.
    ///
    /// ## Idea
    /// TCP's rate goes as 1 / sqrt(p). A controller of p' = sqrt(p) therefore sees a linear plant: its gains fit every
    /// load, without PIE's table and its special cases.
    ///
    /// ## Equations
    /// Every `t_update`, d = the queueing delay:
    ///
    /// ```text
    /// p' = clamp(p' + alpha*(d - target) + beta*(d - d_old), 0, 1);   d_old = d
    /// p  = p'^2
    /// ```
    ///
    /// A packet at the head is marked, or dropped, with probability p.
    ///
    /// ## One queue for L4S too
    /// If `coupling` is k (2 in RFC 9332), packets with ECT(1) or CE are marked with probability k*p', at most 1,
    /// instead. Their senders respond to each mark, so their rate is proportional to 1 / p'. Rates balance as in
    /// [DualPI2](dualpi2.md), but all packets wait in the same queue.
    ///
    /// ## Readings
    /// The delay comes from time stamps: the sojourn time of the last departed packet, or 0 if the link has been idle
    /// since. The decision falls at the head, as RFC 9332 has it. RFC 9332, A.1: target and t_update 15 ms, alpha 0.15
    /// Hz and beta 3 Hz.
    ///
    /// ## Departures
    /// The target is a delay and a parameter of the scheme, not the link's target. The fluid model and the linear
    /// control law assume classic flows.
    pub struct Pi2Params for Pi2 {
        /// Target queueing delay.
        target: Span = "20 ms" in "1 us" ..= "1000 s", from "De Schepper et al. 2016 (recalled)";
        /// Time between updates of p'.
        t_update: Span = "32 ms" in "1 us" ..= "1000 s", from "De Schepper et al. 2016 (recalled)";
        /// Gain on the distance from the target, per second of delay.
        alpha: Frequency = "0.3125 Hz" in "0 Hz" ..= "1000 kHz", from "De Schepper et al. 2016 (recalled): 5/16";
        /// Gain on the change of the delay, per second of delay.
        beta: Frequency = "3.125 Hz" in "0 Hz" ..= "1000 kHz", from "De Schepper et al. 2016 (recalled): 50/16";
        /// Marks of an L4S packet per p'; 0: they are treated as all others.
        coupling: f64 = "0" in "0" ..= "100", unit "1", from "De Schepper et al. 2016; RFC 9332, A.1 (2)";
    }
}

/// See [`Pi2Params`].
#[derive(Clone)]
pub struct Pi2 {
    params: Pi2Params,
    delay: f64,
    delay_old: f64,
    p_root: f64,
}

impl Scheme for Pi2 {
    const INFO: SchemeInfo = SchemeInfo {
        name: "pi2",
        title: "PI2",
        family: "control theory",
        year: 2016,
        source: "De Schepper, Bondarenko, Tsang & Briscoe, CoNEXT 2016; RFC 9332, appendix A",
        confidence: "algorithm of RFC 9332, A.1, by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the default parameters are recalled; the paper was not available, and RFC 9332 prints others",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "p_root", unit: "ratio", doc: "p', the square root of p" },
        Observable { name: "delay", unit: "s", doc: "queueing delay at the last update" },
    ];

    fn new(params: Pi2Params, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, delay: 0.0, delay_old: 0.0, p_root: 0.0 })
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtHead);
    const LINEAR_LAW: LinearLawOf<Pi2Params> = Some(|params| Box::new(params));
}

impl Aqm for Pi2 {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.t_update)
    }

    fn on_tick(&mut self, _: &QueueView, _: &mut Ctx) {
        let Pi2Params { target, alpha, beta, .. } = self.params;
        let step = alpha.0 * (self.delay - target.seconds()) + beta.0 * (self.delay - self.delay_old);
        self.p_root = (self.p_root + step).clamp(0.0, 1.0);
        self.delay_old = self.delay;
    }

    fn acts_on_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        self.delay = cx.now.since(packet.enqueued_at).seconds();
        if self.params.coupling > 0.0 && packet.ecn.is_l4s() {
            let p = (self.params.coupling * self.p_root).min(1.0);
            return if cx.chance(p) { Verdict::Signal(EARLY) } else { Verdict::Pass };
        }
        if cx.chance(self.p_root * self.p_root) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn on_empty(&mut self, _: &mut Ctx) {
        self.delay = 0.0;
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p_root * self.p_root, self.p_root, self.delay_old][i]
    }
}

/// A PI of the sojourn time makes p', and p = p'^2: 2 p' (alpha + beta (1 - z))/(1 - z), held.
///
/// The head of the queue tells how long it waited, one sojourn time late, and is signalled there, one sojourn time early:
/// both cancel.
impl LinearLaw for Pi2Params {
    fn rests(&self) -> Result<(), String> {
        needs(self.alpha.0 > 0.0, "alpha = 0")
    }

    fn queue(&self, _: f64, network: &Network) -> f64 {
        self.target.seconds() * network.capacity()
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let Pi2Params { t_update, alpha: Frequency(alpha), beta: Frequency(beta), .. } = *self;
        let (period, slope) = (t_update.seconds(), 2.0 * point.p.sqrt() / point.network.capacity());
        Ok(LinearResponse::new(1, move |s| slope * (alpha + beta * change(s, period)) / (s * period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    fn pi2() -> Pi2 {
        Pi2::new(Pi2Params::defaults(), &bench::queue(0)).unwrap()
    }

    fn leave(pi2: &mut Pi2, ms: u64, cx: &mut Ctx) -> Verdict {
        cx.now = Time(ms * 1_000_000_000);
        pi2.on_dequeue(&bench::packet(), &bench::queue(50), cx)
    }

    /// One update at a delay of `ms`.
    fn update(pi2: &mut Pi2, ms: u64) {
        leave(pi2, ms, &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        bench::tick(pi2, 50);
    }

    #[test]
    fn steps_by_hand() {
        let mut pi2 = pi2();
        // 0.3125*(0.100 - 0.020) + 3.125*0.100 = 0.3375; squared 0.11390625.
        update(&mut pi2, 100);
        assert!((pi2.p_root - 0.3375).abs() < 1e-12 && (pi2.observe(0) - 0.11390625).abs() < 1e-12);
        // At rest: + 0.3125*0.080 = 0.3625.
        update(&mut pi2, 100);
        assert!((pi2.p_root - 0.3625).abs() < 1e-12, "{}", pi2.p_root);
        // Down to 60 ms: + 0.3125*0.040 - 3.125*0.040 = 0.25; squared 1/16.
        update(&mut pi2, 60);
        assert!((pi2.p_root - 0.25).abs() < 1e-12 && (pi2.observe(0) - 0.0625).abs() < 1e-12);
    }

    #[test]
    fn the_root_is_held_within_0_and_1() {
        let mut pi2 = pi2();
        // 0.3125*1.980 + 3.125*2 = 6.87 is held at 1; the step down from there starts at 1:
        update(&mut pi2, 2000);
        assert_eq!(pi2.p_root, 1.0);
        // 1 + 0.3125*1.880 - 3.125*0.1 = 1.275, held; then an idle link: 1 - 0.00625 - 3.125*1.9 < 0.
        update(&mut pi2, 1900);
        assert_eq!(pi2.p_root, 1.0);
        pi2.on_empty(&mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        bench::tick(&mut pi2, 0);
        assert_eq!((pi2.p_root, pi2.delay_old), (0.0, 0.0));
    }

    #[test]
    fn the_square_is_what_is_drawn() {
        let mut pi2 = pi2();
        pi2.p_root = 0.5;
        let mut rng = bench::stream();
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        let drawn = (0..40_000).filter(|_| leave(&mut pi2, 20, &mut cx) == Verdict::Signal(EARLY)).count();
        // 10000 expected, 5 standard deviations of 87 allowed.
        assert!((9_567..=10_433).contains(&drawn), "{drawn}");
    }

    #[test]
    fn coupled_l4s_packets_are_marked_with_the_root_times_k() {
        let mut pi2 = pi2();
        (pi2.p_root, pi2.params.coupling) = (0.25, 2.0);
        let (mut rng, l4s) = (bench::stream(), PacketView { ecn: crate::Ecn::Ect1, ..bench::packet() });
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        let mut count = |packet: &PacketView| {
            (0..40_000).filter(|_| pi2.on_dequeue(packet, &bench::queue(50), &mut cx) == Verdict::Signal(EARLY)).count()
        };
        // 2*0.25: 20000 expected, 5 standard deviations of 100 allowed; classic 0.25^2: 2500, 5 of 48.
        assert!((19_500..=20_500).contains(&count(&l4s)) && (2_260..=2_740).contains(&count(&bench::packet())));
    }
}
