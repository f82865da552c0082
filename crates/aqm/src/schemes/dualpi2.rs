use crate::disciplines::Coupled;
use crate::signal::SEVERAL_QUEUES;
use crate::{Ctx, EARLY, FORCED, Info, Observable, PacketView, QueueView, Scheme, Signal, Tc, Verdict};
use aqmlab_core::{Bytes, Frequency, Ratio, Span, Time, choice, params};

choice! {
    /// Whose DualPI2.
    pub enum Flavour {
        /// Appendix A of RFC 9332.
        Rfc = "rfc",
        /// The queueing discipline of Linux.
        Linux = "linux",
    }
}

params! {
    /// DualPI2: a low-latency queue and a classic one on one link, coupled so that their flows share it evenly.
    ///
    /// ## Idea
    /// Scalable senders (L4S) need marks often and early; classic ones need few, and a queue. Give each its own queue,
    /// serve the low-latency one first, and let one PI controller drive both: classic packets are signalled with the
    /// square of its output, as TCP's rate goes as 1 / sqrt(p), and L4S packets with the output times k.
    ///
    /// ## Equations
    /// Packets with ECT(1) or CE join the low-latency queue L, all others the classic queue C. Every `t_update`, d =
    /// the longer of the times that the two heads have waited:
    ///
    /// ```text
    /// p'   = clamp(p' + alpha*(d - target) + beta*(d - d_old), 0, 1);   d_old = d
    /// p_C  = p'^2          p_CL = k*p'
    /// ```
    ///
    /// When a packet leaves:
    ///
    /// ```text
    /// L, p_CL < 1:   p_L = max(p'_L, p_CL): mark.  p'_L = (sojourn - min_th) / range in 0..1; 0 if at most one is left
    /// L, p_CL >= 1:  drop with p_C, mark all others                                   (overload)
    /// C:             with p_C: mark ECT(0), drop not-ECT; from p_C >= 1/k^2 on drop both
    /// ```
    ///
    /// A probability is a running sum: each packet adds p; when the sum is above 1, one is taken off and the packet is
    /// signalled. While both queues wait, C gets `classic_weight` of the link.
    ///
    /// ## Readings
    /// `flavour = "linux"`: p'_L is a step from 0 to 1 at `min_th + range/2` (1 ms by default); C draws at random
    /// instead of summing; nothing is signalled for p' while no more than two `mtu` wait. (Linux also has t_update 16 ms,
    /// alpha 0.16 Hz, beta 3.2 Hz, classic_weight 0.1.) The sojourn time is that of the packet which leaves.
    ///
    /// ## Departures
    /// The buffer is the link's, shared by the two queues. The target is a delay of its own, not the link's.
    pub struct DualPi2Params {
        /// Queueing delay of the classic queue to hold.
        target: Span = "15 ms" in "1 us" ..= "1000 s", from "RFC 9332, A.1";
        /// Time between updates of p'.
        t_update: Span = "15 ms" in "1 us" ..= "1000 s", from "RFC 9332, A.1: min(target, RTT_max/3)";
        /// Gain on the distance from the target, per second of delay.
        alpha: Frequency = "0.15 Hz" in "0 Hz" ..= "1000 kHz", from "RFC 9332, A.1: 0.1*t_update/RTT_max^2";
        /// Gain on the change of the delay, per second of delay.
        beta: Frequency = "3 Hz" in "0 Hz" ..= "1000 kHz", from "RFC 9332, A.1: 0.3/RTT_max";
        /// Coupling factor: L4S marks per square root of a classic signal.
        k: f64 = "2" in "0.1" ..= "100", unit "1", from "RFC 9332, A.1";
        /// Sojourn time at which the low-latency queue's own ramp begins.
        min_th: Span = "800 us" in "0 s" ..= "1000 s", from "RFC 9332, A.1";
        /// Length of the ramp.
        range: Span = "400 us" in "1 ns" ..= "1000 s", from "RFC 9332, A.1";
        /// Share of the link that the classic queue gets at least while both wait.
        classic_weight: Ratio = "6.25%" in "0" ..= "1", from "RFC 9332, A.2 (1/16)";
        /// Whose details.
        flavour: Flavour = "rfc", from "RFC 9332, A.2";
        /// Packet size of the flavour linux's exemption.
        mtu: Bytes = "1500 B" in "0 B" ..= "65535 B", from "Linux (value: Ethernet)";
    }
}

/// The scheme of [`Dual`](crate::disciplines::Dual); see [`DualPi2Params`].
#[derive(Clone)]
pub struct DualPi2 {
    params: DualPi2Params,
    p_root: f64,
    delay_old: f64,
    /// Running sums of the two queues.
    sum_l4s: f64,
    sum_classic: f64,
}

/// A deterministic "with probability p".
fn recur(sum: &mut f64, p: f64) -> bool {
    *sum += p;
    let is_due = *sum > 1.0;
    if is_due {
        *sum -= 1.0;
    }
    is_due
}

impl Scheme for DualPi2 {
    const INFO: Info = Info {
        name: "dualpi2",
        title: "DualPI2",
        family: "control theory",
        year: 2023,
        source: "De Schepper, Briscoe & White, RFC 9332, appendix A",
        confidence: "after the pseudocode of RFC 9332; step by step against an independent transcription",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p_c", unit: "ratio", doc: "signal probability of a classic packet" },
        Observable { name: "p_cl", unit: "ratio", doc: "mark probability coupled to the low-latency queue, at most 1" },
        Observable { name: "p_root", unit: "ratio", doc: "p', the controller's output" },
        Observable { name: "l_queue", unit: "packets", doc: "packets in the low-latency queue" },
        Observable { name: "c_queue", unit: "packets", doc: "packets in the classic queue" },
    ];
    type Params = DualPi2Params;

    fn new(params: DualPi2Params, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, p_root: 0.0, delay_old: 0.0, sum_l4s: 0.0, sum_classic: 0.0 })
    }

    fn params(&mut self) -> &mut DualPi2Params {
        &mut self.params
    }

    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);
    const TC: Option<Tc> = Some(Tc { kind: "dualpi2", note: "its rule is that of flavour = \"linux\"" });
}

impl DualPi2 {
    /// p_C, p_CL (at most 1) and p'.
    fn probabilities(&self) -> [f64; 3] {
        [self.p_root * self.p_root, (self.params.k * self.p_root).min(1.0), self.p_root]
    }

    /// The low-latency queue's own marking probability.
    fn own_l4s(&self, sojourn: Span) -> f64 {
        let DualPi2Params { min_th, range, .. } = self.params;
        let along = (sojourn.seconds() - min_th.seconds()) / range.seconds();
        match self.params.flavour {
            Flavour::Rfc => along.clamp(0.0, 1.0),
            Flavour::Linux => f64::from(u8::from(along > 0.5)),
        }
    }
}

impl Coupled for DualPi2 {
    fn period(&self) -> Span {
        self.params.t_update
    }

    fn classic_weight(&self) -> f64 {
        self.params.classic_weight.0
    }

    /// The PI controller.
    fn update(&mut self, delay: Span) {
        let DualPi2Params { target, alpha, beta, .. } = self.params;
        let delay = delay.seconds();
        let step = alpha.0 * (delay - target.seconds()) + beta.0 * (delay - self.delay_old);
        self.p_root = (self.p_root + step).clamp(0.0, 1.0);
        self.delay_old = delay;
    }

    fn judge_l4s(&mut self, packet: &PacketView, left: usize, now: Time) -> Verdict {
        let [p_classic, p_coupled, _] = self.probabilities();
        if p_coupled < 1.0 {
            let own = if left > 1 { self.own_l4s(now.since(packet.enqueued_at)) } else { 0.0 };
            return if recur(&mut self.sum_l4s, own.max(p_coupled)) { Verdict::Signal(EARLY) } else { Verdict::Pass };
        }
        if recur(&mut self.sum_l4s, p_classic) { Verdict::Drop(FORCED) } else { Verdict::Signal(EARLY) }
    }

    fn judge_classic(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let p = self.p_root * self.p_root;
        let is_due = match self.params.flavour {
            Flavour::Rfc => recur(&mut self.sum_classic, p),
            Flavour::Linux => queue.bytes as f64 > 2.0 * self.params.mtu.0 && cx.chance(p),
        };
        match is_due {
            false => Verdict::Pass,
            true if p >= (self.params.k * self.params.k).recip().min(1.0) => Verdict::Drop(FORCED),
            true => Verdict::Signal(EARLY),
        }
    }

    fn observe(&self, i: usize, waiting: [usize; 2]) -> f64 {
        match i {
            0..3 => self.probabilities()[i],
            _ => waiting[i - 3] as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    fn with(pairs: &[(&str, &str)]) -> DualPi2 {
        let mut params = DualPi2Params::defaults();
        params.read("x", pairs.iter().copied(), &mut Vec::new());
        DualPi2::new(params, &bench::queue(0)).unwrap()
    }

    fn us(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    #[test]
    fn steps_by_hand() {
        let mut dual = with(&[]);
        // 0.15*(0.055 - 0.015) + 3*0.055 = 0.171; squared 0.029241, doubled 0.342.
        dual.update(us(55_000));
        assert!((dual.p_root - 0.171).abs() < 1e-12);
        let [classic, coupled, _] = dual.probabilities();
        assert!((classic - 0.029241).abs() < 1e-12 && (coupled - 0.342).abs() < 1e-12);
        // + 0.15*0 - 3*0.04 = 0.051.
        dual.update(us(15_000));
        assert!((dual.p_root - 0.051).abs() < 1e-12);
        // - 0.00225 - 0.045 = 0.00375, then - 0.00225, then held at 0.
        for expected in [0.00375, 0.0015, 0.0] {
            dual.update(us(0));
            assert!((dual.p_root - expected).abs() < 1e-12, "{}", dual.p_root);
        }
    }

    /// What becomes of a packet that waited in the low-latency queue.
    fn l4s(dual: &mut DualPi2, waited: Span, left: usize) -> Verdict {
        let packet = PacketView { enqueued_at: Time::ZERO, ecn: Ecn::Ect1, can_mark: true, ..bench::packet() };
        dual.judge_l4s(&packet, left, Time::ZERO + waited)
    }

    #[test]
    fn the_ramp_begins_at_800_us_and_spares_the_last_two() {
        let mut dual = with(&[]);
        // 1 ms is half way up: every other packet, the third the first, as the sum must pass 1.
        let told: Vec<bool> = (0..5).map(|_| l4s(&mut dual, us(1000), 5) != Verdict::Pass).collect();
        assert_eq!(told, [false, false, true, false, true]);
        let mut dual = with(&[]);
        assert!((0..9).all(|_| l4s(&mut dual, us(800), 5) == Verdict::Pass));
        assert!((0..9).all(|_| l4s(&mut dual, us(9000), 1) == Verdict::Pass));
    }

    #[test]
    fn linux_has_a_step_at_one_millisecond() {
        let mut dual = with(&[("flavour", "linux")]);
        assert!((0..9).all(|_| l4s(&mut dual, us(1000), 5) == Verdict::Pass));
        // The sum of ones is above 1 from the second on.
        let told: Vec<bool> = (0..3).map(|_| l4s(&mut dual, us(1001), 5) != Verdict::Pass).collect();
        assert_eq!(told, [false, true, true]);
    }

    #[test]
    fn overload_drops_with_the_square_and_marks_the_rest() {
        let mut dual = with(&[]);
        dual.p_root = 0.5; // coupled 1, classic 1/4: sums 0.25 .. 1.25
        let told: Vec<Verdict> = (0..6).map(|_| l4s(&mut dual, us(0), 9)).collect();
        let (mark, drop) = (Verdict::Signal(EARLY), Verdict::Drop(FORCED));
        assert_eq!(told, [mark, mark, mark, mark, drop, mark]);
    }

    #[test]
    fn classic_packets_are_dropped_markable_or_not_from_a_quarter_on() {
        let (mut rng, view) = (bench::stream(), bench::queue(50));
        for (p_root, expected) in [(0.499, Verdict::Signal(EARLY)), (0.5, Verdict::Drop(FORCED))] {
            let mut dual = with(&[]);
            (dual.p_root, dual.sum_classic) = (p_root, 0.9);
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut rng };
            assert_eq!(dual.judge_classic(&view, cx), expected);
        }
    }
}
