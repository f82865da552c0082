use crate::disciplines::{Coupled, Joins};
use crate::queue_protection::{QueueProtection, Thresholds};
use crate::signal::SEVERAL_QUEUES;
use crate::{Ctx, EARLY, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Tc, Verdict};
use aqmlab_core::{Bytes, Frequency, Ratio, Span, Time, choice, params};

choice! {
    /// The implementation whose details apply.
    pub enum DualPi2Flavour {
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
    /// Packets with ECT(1), CE or DSCP 45 (RFC 9956, non-queue-building) join the low-latency queue L, all others the classic queue C. Every `t_update`, d =
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
    /// signalled. While both queues wait, C gets `classic_weight` of the link. A packet that cannot carry a mark passes
    /// when L marks.
    ///
    /// `queue_protection` redirects packets of flows that build a queue in L to C on arrival (RFC 9957). Protection
    /// uses the delay of the bytes in L, including the packet, at the link's rate. p'_L of that delay is the
    /// congestion, and min_th + range is CRITICALqL.
    ///
    /// ## Readings
    /// The sojourn time is measured at the departing packet. C's credit counts only while both queues hold packets.
    ///
    /// ## Linux
    /// `flavour = "linux"` follows the rules of `sch_dualpi2`:
    ///
    /// ```text
    /// less than 2*mtu wait:  p' signals nothing
    /// L, k*p' <= 1:          mark at random with k*p'
    /// L, k*p' > 1:           drop at random with p'^2, mark all others
    /// L, not dropped:        mark if the packet waited above min_th + range/2 (1 ms by default): a step
    /// C:                     at random with p'^2: mark ECT(0), drop not-ECT; with k*p' > 1 drop both
    /// ```
    ///
    /// Linux's counter of marks (`ecn_mark`) counts a packet twice that both the draw and the step mark; here a packet counts once. Where
    /// a flow of ECT(1) at twice the rate fills L, Linux counts 2.0 marks for each packet that leaves, and here it is 1.0.
    ///
    /// L takes ECT(1) and CE only, whatever the DSCP. C is owed its share of each L4S packet sent while both wait. Dropped packets do not count, and what is owed stays
    /// while one queue is empty. When both are empty it starts at mtu*(2*classic_weight - 1): L goes first.
    ///
    /// | parameter | here (RFC 9332) | kernel | tc with `max_rtt 100ms` |
    /// | --- | --- | --- | --- |
    /// | `target` | 15 ms | 15 ms | 16.7 ms |
    /// | `t_update` | 15 ms | 16 ms | 16.7 ms |
    /// | `alpha` | 0.15 Hz | 0.16 Hz | 0.17 Hz |
    /// | `beta` | 3 Hz | 3.2 Hz | 3 Hz |
    /// | `classic_weight` | 6.25 % | 10 % | 10 % |
    /// | own threshold of L | ramp 0.8 to 1.2 ms | step 1 ms | step 1 ms |
    ///
    /// Without `max_rtt` and `typical_rtt` tc leaves all to the kernel.
    ///
    /// ## Departures
    /// The buffer is the link's, shared by the two queues. The target is a delay and a parameter of the scheme, not the
    /// link's target. Of Linux (`net/sched/sch_dualpi2.c` at 2519003dd5fb, read line by line) these are left out:
    /// fixed-point numbers, the step in packets and `min_qlen_step`, drops at enqueue, `overflow` instead of drops in
    /// overload, filters, the memory limit and segmentation.
    pub struct DualPi2Params for DualPi2 {
        /// Target queueing delay of the classic queue.
        target: Span = "15 ms" in "1 us" ..= "1000 s", tc "target" in "time", from "RFC 9332, A.1";
        /// Time between updates of p'.
        t_update: Span = "15 ms" in "1 us" ..= "1000 s",
          tc "tupdate" in "time", from "RFC 9332, A.1: min(target, RTT_max/3)";
        /// Gain on the distance from the target, per second of delay.
        alpha: Frequency = "0.15 Hz" in "0 Hz" ..= "1000 kHz",
          tc "alpha" in "hertz", from "RFC 9332, A.1: 0.1*t_update/RTT_max^2";
        /// Gain on the change of the delay, per second of delay.
        beta: Frequency = "3 Hz" in "0 Hz" ..= "1000 kHz", tc "beta" in "hertz", from "RFC 9332, A.1: 0.3/RTT_max";
        /// Coupling factor: L4S marks per square root of a classic signal.
        k: f64 = "2" in "0.1" ..= "100", unit "1", tc "coupling_factor" in "number", from "RFC 9332, A.1";
        /// Sojourn time at which the low-latency queue's own ramp begins.
        min_th: Span = "800 us" in "0 s" ..= "1000 s", from "RFC 9332, A.1";
        /// Length of the ramp.
        range: Span = "400 us" in "1 ns" ..= "1000 s", from "RFC 9332, A.1";
        /// Minimum share of the link for the classic queue while both wait.
        classic_weight: Ratio = "6.25%" in "0" ..= "1",
          tc "classic_protection" in "percent", from "RFC 9332, A.2 (1/16)";
        /// Send packets of flows that build a queue in L to C.
        queue_protection: bool = "false", from "RFC 9957 (QPROTECT_ON)";
        /// The implementation whose details apply.
        flavour: DualPi2Flavour = "rfc", from "RFC 9332, A.2";
        /// Packet size of the flavour linux's exemption and credit.
        mtu: Bytes = "1514 B" in "0 B" ..= "65535 B", from "Linux, psched_mtu (value: Ethernet)";
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
    /// If it is asked for.
    protection: Option<Box<QueueProtection>>,
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

/// A packet of the low-latency queue is marked; one that speaks no ECN is spared (RFC 9956).
fn mark(packet: &PacketView) -> Verdict {
    if packet.ecn.is_capable() { Verdict::Signal(EARLY) } else { Verdict::MarkOnly(EARLY) }
}

impl Scheme for DualPi2 {
    const INFO: SchemeInfo = SchemeInfo {
        name: "dualpi2",
        title: "DualPI2",
        family: "control theory",
        year: 2023,
        source: "De Schepper, Briscoe & White, RFC 9332, appendix A",
        confidence: "after the pseudocode of RFC 9332, step by step against a transcription; flavour linux \
                     after the kernel's source, rule by rule",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p_c", unit: "ratio", doc: "signal probability of a classic packet" },
        Observable { name: "p_cl", unit: "ratio", doc: "coupled mark probability of the low-latency queue, at most 1" },
        Observable { name: "p_root", unit: "ratio", doc: "p', the controller's output" },
        Observable { name: "l_queue", unit: "packets", doc: "packets in the low-latency queue" },
        Observable { name: "c_queue", unit: "packets", doc: "packets in the classic queue" },
    ];

    fn new(params: DualPi2Params, _: &QueueView) -> Result<Self, String> {
        let protection = params.queue_protection.then(Box::default);
        Ok(Self { params, p_root: 0.0, delay_old: 0.0, sum_l4s: 0.0, sum_classic: 0.0, protection })
    }

    fn params_changed(&mut self) {
        self.protection = self.params.queue_protection.then(|| self.protection.take().unwrap_or_default());
    }

    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);
    const TC: Option<Tc> = Some(Tc { kind: "dualpi2", note: "its rule is flavour = \"linux\"" });
}

impl DualPi2 {
    /// p_C, p_CL (at most 1) and p'.
    fn probabilities(&self) -> [f64; 3] {
        [self.p_root * self.p_root, (self.params.k * self.p_root).min(1.0), self.p_root]
    }

    /// The low-latency queue's own marking probability.
    fn own_l4s(&self, sojourn: Span) -> f64 {
        let DualPi2Params { min_th, range, .. } = self.params;
        ((sojourn.seconds() - min_th.seconds()) / range.seconds()).clamp(0.0, 1.0)
    }

    /// A packet that belongs into the low-latency queue finds so many bytes there.
    fn protect(&mut self, packet: &PacketView, waiting: u64, queue: &QueueView, now: Time) -> Joins {
        let delay = queue.rate.transmission(waiting as u32 + packet.size);
        let (p_native, DualPi2Params { min_th, range, .. }) = (self.own_l4s(delay), self.params);
        let critical = Thresholds { delay: min_th + range, score: Thresholds::SCORE, aging: Thresholds::AGING };
        let sanctions = |of: &mut Box<QueueProtection>| of.sanctions(packet, delay, p_native, &critical, now);
        if self.protection.as_mut().is_some_and(sanctions) { Joins::Sanctioned } else { Joins::LowLatency }
    }

    /// RFC 9332, figure 7, lines 4b to 8j.
    fn l4s_of_rfc(&mut self, packet: &PacketView, left: usize, now: Time) -> Verdict {
        let [p_classic, p_coupled, _] = self.probabilities();
        if p_coupled < 1.0 {
            let own = if left > 1 { self.own_l4s(now.since(packet.enqueued_at)) } else { 0.0 };
            return if recur(&mut self.sum_l4s, own.max(p_coupled)) { mark(packet) } else { Verdict::Pass };
        }
        if recur(&mut self.sum_l4s, p_classic) { Verdict::Drop(FORCED) } else { mark(packet) }
    }

    /// Linux: a draw, unless less than two MTU wait, and then the step for what the draw has passed.
    fn l4s_of_linux(&self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let DualPi2Params { min_th, range, .. } = self.params;
        let drawn = match self.is_spared(queue) {
            true => false,
            false if self.is_overloaded() && self.draw_twice(cx) => return Verdict::Drop(FORCED),
            false => self.is_overloaded() || cx.chance(self.params.k * self.p_root),
        };
        let is_late = cx.now.since(packet.enqueued_at).seconds() > min_th.seconds() + range.seconds() / 2.0;
        if drawn || is_late { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn classic_of_rfc(&mut self) -> Verdict {
        let p = self.p_root * self.p_root;
        match recur(&mut self.sum_classic, p) {
            false => Verdict::Pass,
            true if p >= (self.params.k * self.params.k).recip().min(1.0) => Verdict::Drop(FORCED),
            true => Verdict::Signal(EARLY),
        }
    }

    fn classic_of_linux(&self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        match !self.is_spared(queue) && self.draw_twice(cx) {
            false => Verdict::Pass,
            true if self.is_overloaded() => Verdict::Drop(FORCED),
            true => Verdict::Signal(EARLY),
        }
    }

    /// Linux signals nothing for p' while so little waits.
    fn is_spared(&self, queue: &QueueView) -> bool {
        (queue.bytes as f64) < 2.0 * self.params.mtu.0
    }

    fn is_overloaded(&self) -> bool {
        self.params.k * self.p_root > 1.0
    }

    /// True with the square of p'.
    fn draw_twice(&self, cx: &mut Ctx) -> bool {
        cx.chance(self.p_root) && cx.chance(self.p_root)
    }
}

impl Coupled for DualPi2 {
    fn period(&self) -> Option<Span> {
        Some(self.params.t_update)
    }

    fn classic_weight(&self) -> f64 {
        self.params.classic_weight.0
    }

    fn owed_at_rest(&self) -> Option<f64> {
        let DualPi2Params { classic_weight, mtu, flavour, .. } = self.params;
        (flavour == DualPi2Flavour::Linux).then_some(mtu.0 * (2.0 * classic_weight.0 - 1.0))
    }

    fn goes_first(&mut self, packet: &PacketView, _: Time) -> bool {
        match self.params.flavour {
            DualPi2Flavour::Rfc => packet.is_low_latency(),
            DualPi2Flavour::Linux => packet.ecn.is_l4s(),
        }
    }

    fn judge_arrival(
        &mut self,
        packet: &PacketView,
        bytes: [u64; 2],
        queue: &QueueView,
        cx: &mut Ctx,
    ) -> (Joins, Verdict) {
        let joins = match self.goes_first(packet, cx.now) {
            true => self.protect(packet, bytes[0], queue, cx.now),
            false => Joins::Classic,
        };
        (joins, Verdict::Pass)
    }

    /// The PI controller.
    fn update(&mut self, delay: Span, _: [u64; 2], _: &QueueView) {
        let DualPi2Params { target, alpha, beta, .. } = self.params;
        let delay = delay.seconds();
        let step = alpha.0 * (delay - target.seconds()) + beta.0 * (delay - self.delay_old);
        self.p_root = (self.p_root + step).clamp(0.0, 1.0);
        self.delay_old = delay;
    }

    fn judge_l4s(&mut self, packet: &PacketView, left: usize, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        match self.params.flavour {
            DualPi2Flavour::Rfc => self.l4s_of_rfc(packet, left, cx.now),
            DualPi2Flavour::Linux => self.l4s_of_linux(packet, queue, cx),
        }
    }

    fn judge_classic(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        match self.params.flavour {
            DualPi2Flavour::Rfc => self.classic_of_rfc(),
            DualPi2Flavour::Linux => self.classic_of_linux(queue, cx),
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
    use crate::contract::bench;
    use crate::{Ecn, NQB, Tune};
    use aqmlab_core::params::ParamInput;
    use aqmlab_core::{ParamSet, Stream};

    fn with(pairs: &[(&str, &str)]) -> DualPi2 {
        let mut params = DualPi2Params::defaults();
        params.read("x", pairs.iter().copied(), &mut Vec::new());
        DualPi2::new(params, &bench::queue(0)).unwrap()
    }

    fn us(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    fn update(dual: &mut DualPi2, delay: Span) {
        Coupled::update(dual, delay, [0; 2], &bench::queue(0));
    }

    #[test]
    fn steps_by_hand() {
        let mut dual = with(&[]);
        // 0.15*(0.055 - 0.015) + 3*0.055 = 0.171; squared 0.029241, doubled 0.342.
        update(&mut dual, us(55_000));
        assert!((dual.p_root - 0.171).abs() < 1e-12);
        let [classic, coupled, _] = dual.probabilities();
        assert!((classic - 0.029241).abs() < 1e-12 && (coupled - 0.342).abs() < 1e-12);
        // + 0.15*0 - 3*0.04 = 0.051.
        update(&mut dual, us(15_000));
        assert!((dual.p_root - 0.051).abs() < 1e-12);
        // - 0.00225 - 0.045 = 0.00375, then - 0.00225, then held at 0.
        for expected in [0.00375, 0.0015, 0.0] {
            update(&mut dual, us(0));
            assert!((dual.p_root - expected).abs() < 1e-12, "{}", dual.p_root);
        }
    }

    /// The verdict on a packet that waited in the low-latency queue.
    fn l4s(dual: &mut DualPi2, waited: Span, left: usize) -> Verdict {
        l4s_before(dual, waited, left, &mut bench::stream())
    }

    /// The same before `left` packets of 1000 B in either queue.
    fn l4s_before(dual: &mut DualPi2, waited: Span, left: usize, rng: &mut Stream) -> Verdict {
        let packet = PacketView { enqueued_at: Time::ZERO, ecn: Ecn::Ect1, can_mark: true, ..bench::packet() };
        dual.judge_l4s(&packet, left, &bench::queue(left as u32), &mut Ctx { now: Time::ZERO + waited, rng })
    }

    #[test]
    fn the_ramp_begins_at_800_us_and_spares_the_last_two() {
        let mut dual = with(&[]);
        // 1 ms is half way up: every other packet, the third the first, as the sum must pass 1.
        let verdicts: Vec<bool> = (0..5).map(|_| l4s(&mut dual, us(1000), 5) != Verdict::Pass).collect();
        assert_eq!(verdicts, [false, false, true, false, true]);
        let mut dual = with(&[]);
        assert!((0..9).all(|_| l4s(&mut dual, us(800), 5) == Verdict::Pass));
        assert!((0..9).all(|_| l4s(&mut dual, us(9000), 1) == Verdict::Pass));
    }

    #[test]
    fn linux_marks_every_packet_above_one_millisecond() {
        let mut dual = with(&[("flavour", "linux")]);
        for left in [0, 1, 5] {
            assert!((0..9).all(|_| l4s(&mut dual, us(1000), left) == Verdict::Pass));
            assert!((0..9).all(|_| l4s(&mut dual, us(1001), left) == Verdict::Signal(EARLY)), "{left} left");
        }
    }

    #[test]
    fn linux_draws_marks_at_random_and_spares_a_queue_below_two_mtu() {
        let mut dual = with(&[("flavour", "linux")]);
        dual.p_root = 0.1; // coupled 0.2, classic 0.01
        let mut rng = bench::stream();
        let verdicts: Vec<bool> =
            (0..100_000).map(|_| l4s_before(&mut dual, us(0), 4, &mut rng) != Verdict::Pass).collect();
        // A sum of 0.2 would never mark two in a row; draws do so with 0.04. Within five standard deviations.
        let share = |pairs: &mut dyn Iterator<Item = bool>| pairs.filter(|hit| *hit).count() as f64 / 1e5;
        assert!((share(&mut verdicts.iter().copied()) - 0.2).abs() < 0.0064);
        assert!((share(&mut verdicts.windows(2).map(|pair| pair[0] && pair[1])) - 0.04).abs() < 0.004);
        // 4000 B are above two MTU of 1514 B: drawn. 3000 B are not, nor is a frame of 1514 B before a packet of 1500 B.
        let mut classic = |left, n| {
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut rng };
            (0..n).filter(|_| dual.judge_classic(&bench::queue(left), cx) != Verdict::Pass).count()
        };
        let drawn = classic(4, 100_000);
        assert!(drawn.abs_diff(1000) < 158, "{drawn}");
        assert_eq!(classic(3, 100_000), 0);
        assert!((0..1000).all(|_| l4s_before(&mut dual, us(0), 3, &mut rng) == Verdict::Pass));
        for (bytes, is_spared) in [(3014, true), (3027, true), (3028, false)] {
            assert_eq!(dual.is_spared(&QueueView { bytes, ..bench::queue(2) }), is_spared, "{bytes} B");
        }
    }

    #[test]
    fn linux_is_overloaded_above_the_probability_at_which_all_are_marked() {
        let mut rng = bench::stream();
        for (p_root, overloaded) in [(0.5, false), (0.501, true)] {
            let mut dual = with(&[("flavour", "linux")]);
            dual.p_root = p_root;
            let verdicts: Vec<Verdict> = (0..1000).map(|_| l4s_before(&mut dual, us(0), 9, &mut rng)).collect();
            assert!(verdicts.iter().all(|verdict| *verdict != Verdict::Pass));
            assert_eq!(verdicts.contains(&Verdict::Drop(FORCED)), overloaded, "{p_root}");
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut rng };
            let verdicts: Vec<Verdict> = (0..1000).map(|_| dual.judge_classic(&bench::queue(9), cx)).collect();
            assert_eq!(verdicts.contains(&Verdict::Drop(FORCED)), overloaded);
            assert_eq!(verdicts.contains(&Verdict::Signal(EARLY)), !overloaded);
        }
    }

    #[test]
    fn overload_drops_with_the_square_and_marks_the_rest() {
        let mut dual = with(&[]);
        dual.p_root = 0.5; // coupled 1, classic 1/4: sums 0.25 .. 1.25
        let verdicts: Vec<Verdict> = (0..6).map(|_| l4s(&mut dual, us(0), 9)).collect();
        let (mark, drop) = (Verdict::Signal(EARLY), Verdict::Drop(FORCED));
        assert_eq!(verdicts, [mark, mark, mark, mark, drop, mark]);
    }

    /// The queue that a packet of 1500 B joins behind 2500 B in L: on a link of 8 Mbit/s 4 ms, every one marked.
    fn joins(dual: &mut DualPi2, packet: PacketView) -> Joins {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        dual.judge_arrival(&PacketView { size: 1500, ..packet }, [2500, 0], &bench::queue(0), cx).0
    }

    #[test]
    fn packets_that_build_no_queue_belong_into_l_but_not_in_linux() {
        let nqb = PacketView { dscp: NQB, ..bench::packet() };
        assert_eq!(joins(&mut with(&[]), nqb), Joins::LowLatency);
        assert_eq!(joins(&mut with(&[]), PacketView { dscp: 40, ..nqb }), Joins::Classic);
        assert_eq!(joins(&mut with(&[("flavour", "linux")]), nqb), Joins::Classic);
        // Marks are for those that can carry them: no other is dropped instead.
        let mut dual = with(&[]);
        let cx = &mut Ctx { now: Time::ZERO + us(9000), rng: &mut bench::stream() };
        dual.sum_l4s = 0.5;
        assert_eq!(dual.judge_l4s(&nqb, 9, &bench::queue(9), cx), Verdict::MarkOnly(EARLY));
    }

    #[test]
    fn protection_is_asked_for_and_can_be_switched() {
        let l4s = PacketView { ecn: Ecn::Ect1, ..bench::packet() };
        let mut dual = with(&[("queue_protection", "true")]);
        // 4 ms against 1.2 ms: a score of 1.2 ms suffices, and each packet adds 2.861 ms.
        assert_eq!(joins(&mut dual, l4s), Joins::Sanctioned);
        let mut set = |value| {
            dual.set_param("queue_protection", ParamInput::Text(value), &bench::queue(0)).unwrap();
            joins(&mut dual, l4s)
        };
        assert_eq!([set("false"), set("true")], [Joins::LowLatency, Joins::Sanctioned]);
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
