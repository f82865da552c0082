use crate::linear::{LinearResponse, Network, OperatingPoint, change, delay, needs};
use crate::{
    Aqm, Ctx, EARLY, FairDefault, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo,
    Signal, Tc, Verdict,
};
use aqmlab_core::{Bytes, Frequency, Ratio, Span, Time, choice, params};

choice! {
    /// The implementation whose details apply.
    pub enum PieFlavour {
        /// RFC 8033.
        Rfc8033 = "rfc8033",
        /// `pie` and `fq_pie` of Linux.
        Linux = "linux",
    }
}

params! {
    /// PIE: a PI controller of the queueing delay whose gains scale with the drop probability, and a burst allowance.
    ///
    /// ## Idea
    /// Control the delay instead of the length: the target then needs no knowledge of the rate. TCP answers to the
    /// square root of p, so steps are scaled to p's own magnitude.
    ///
    /// ## Equations
    /// Every `t_update`, d = the queueing delay:
    ///
    /// ```text
    /// step = (alpha*(d - target) + beta*(d - d_old)) / s     alpha, beta per second of delay
    /// s    = 2048, 512, 128, 32, 8, 2, 1    for p < 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, and above
    /// p    = p + step (at most max_step of it once p >= 0.1);   p = 0.98*p if d = d_old = 0;   0 <= p <= 1
    /// burst_allowance = max(0, burst_allowance - t_update);     d_old = d
    /// ```
    ///
    /// A packet that arrives while p = 0 and d and d_old are below target/2 sets burst_allowance to max_burst. An
    /// arriving packet passes if burst_allowance > 0; if d_old < target/2 and p < 0.2; or if no more than two mean
    /// packets wait. Otherwise it is signalled with probability p: marked if it can be and p < mark_ecnth, else
    /// dropped. `derandomize` sums p from one signal to the next: no packet is signalled below a sum of 0.85, and one
    /// is signalled for sure at 8.5.
    ///
    /// ## Readings
    /// The delay comes from time stamps (RFC 8033, 4.3), not from an estimated departure rate (5.2): it is what the
    /// last packet to leave had waited, or 0 if the link fell idle since. `d_old` of an arrival is the delay at the
    /// last update. If the RFC's text and appendix A differ from appendix B, the simulator follows the former: p decays
    /// at a delay of 0 only (B: below target/2), and the sum of p rests while the burst allowance lasts. The sum starts
    /// again after a signal and, as in B, at a full queue. `tc` sends Linux only the given options, so it defines no
    /// defaults.
    ///
    /// ## Linux
    /// `flavour = "linux"`, the default of `fq-pie`, has the rules of `sch_pie` and `sch_fq_pie`:
    ///
    /// ```text
    /// d at a departure:       what the packet had waited; 0 if nothing waits behind it
    /// burst_allowance:        falls by the time between two departures
    /// update, d > 250 ms:     p += max_step besides
    /// update, d = d_old = 0:  p = 63/64*p, unless something waits
    /// update, p = 0, d and d_old < target/2:   burst_allowance = max_burst, the sum of p starts again
    /// arrival:                passes if d, not d_old, < target/2 and p < 0.2; if less than two mean packets wait
    /// p:                      may be above 1, and is shown as 1 then; 256 becomes 1
    /// the sum of p:           starts again when a draw or a drop takes a packet, not at a mark from 8.5 on
    /// ```
    ///
    /// A flow that does not slow down lifts p above 1: while it comes back, the queue of the flow passes two packets
    /// only, and its delay stays short. If p is held at 1, as in RFC 8033, such a queue swings: `libreqos/flood` waits
    /// 300 ms instead of 12 ms. A full `fq_pie` drops the packet that arrives, whichever queue is the longest.
    ///
    /// In flow queueing a flow with one packet in its queue at a time so has no delay, however long the packet waits for its turn.
    /// An update comes after whole milliseconds and one more (`calc_index`, kernel/time/timer.c): every 16 ms.
    ///
    /// ## Departures
    /// The queue is never switched inactive (RFC 8033, 5.3, optional). A packet that meets a full queue does not renew
    /// the allowance. The target is a delay and a parameter of the scheme, not the link's target. Of Linux
    /// (`net/sched/sch_pie.c` and `sch_fq_pie.c` of 7.3, read line by line) the flavour leaves out: fixed-point
    /// numbers; `bytemode`; `dq_rate_estimator`; the first half second, in which p is not updated.
    pub struct PieParams for Pie {
        /// Target queueing delay.
        target: Span = "15 ms" in "1 us" ..= "1000 s", tc "target" in "time", from "RFC 8033, 4.2 (QDELAY_REF)";
        /// Time between updates of p.
        t_update: Span = "15 ms" in "1 us" ..= "1000 s", tc "tupdate" in "time", from "RFC 8033, 4.2 (T_UPDATE)";
        /// Gain on the distance from the target, per second of delay.
        alpha: Frequency = "0.125 Hz" in "0 Hz" ..= "1000 kHz",
          tc "alpha" in "sixteenths of a hertz", from "RFC 8033, appendix A";
        /// Gain on the change of the delay, per second of delay.
        beta: Frequency = "1.25 Hz" in "0 Hz" ..= "1000 kHz",
          tc "beta" in "sixteenths of a hertz", from "RFC 8033, appendix A";
        /// Time for which a burst passes after a quiet queue.
        max_burst: Span = "150 ms" in "0 s" ..= "1000 s", from "RFC 8033, 4.4 (MAX_BURST)";
        /// From this p on, packets that can carry a mark are dropped.
        mark_ecnth: Ratio = "10%" in "0" ..= "1", tc "ecn_prob" in "percent", from "RFC 8033, 5.1";
        /// Spread signals more evenly than chance.
        derandomize: bool = "true", from "RFC 8033, 5.4";
        /// Maximum increase of p at an update once p is 0.1 or more.
        max_step: Ratio = "2%" in "0" ..= "1", from "RFC 8033, 5.5";
        /// Packet size; up to two of them may wait without a signal.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "RFC 8033, 4.1 (value: this project)";
        /// The implementation whose details apply.
        flavour: PieFlavour = "rfc8033", from "RFC 8033";
    }
}

/// See [`PieParams`].
#[derive(Clone)]
pub struct Pie {
    params: PieParams,
    delay: f64,
    delay_old: f64,
    p: f64,
    burst_allowance: Span,
    /// The last departure since the allowance was renewed, in the flavour linux.
    departed: Option<Time>,
    /// Sum of p over the packets since the last signal.
    p_sum: f64,
}

/// By how much a step is scaled down at probability `p` (RFC 8033, 4.2).
fn scale(p: f64) -> f64 {
    const BOUNDS: [f64; 6] = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1];
    const SCALES: [f64; 7] = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 1.0];
    // All bounds are compared: which is the first above p cannot be predicted.
    SCALES[BOUNDS.iter().filter(|bound| p >= **bound).count()]
}

/// With `derandomize`: the sum of p below which none is signalled, and that at which one is for sure (RFC 8033, 5.4).
const FIRST: f64 = 0.85;
const LAST: f64 = 8.5;

/// Linux: from this delay on p rises by `max_step` more at each update, s.
const LONG: f64 = 0.250;

/// Linux: p is a number of 64 bits of which 1 takes 56 (`MAX_PROB`); where it overflows, it is set to 1.
const WRAPS: f64 = 256.0;

/// A millisecond, in which Linux counts the time between updates.
const JIFFY: Span = Span(1_000_000_000);

/// Share of signals with `derandomize` at a constant p.
fn derandomized(p: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let (first, last) = ((FIRST / p).ceil(), (LAST / p).ceil());
    let drawn = (1.0 - (1.0 - p).powf(last - first + 1.0)) / p;
    1.0 / (first - 1.0 + drawn)
}

impl Pie {
    fn is_quiet(&self, delay: f64) -> bool {
        delay < self.params.target.seconds() / 2.0
    }

    /// No packet of this queue is signalled: it is allowed a burst, or quiet, or short.
    fn withholds(&self, queue: &QueueView) -> bool {
        let (bytes, two_packets) = (queue.bytes as f64, 2.0 * self.params.mean_packet.0);
        let (delay, short) = match self.params.flavour {
            PieFlavour::Rfc8033 => (self.delay_old, bytes <= two_packets),
            PieFlavour::Linux => (self.delay, bytes < two_packets),
        };
        let quiet = self.is_quiet(delay) && self.p < 0.2;
        self.burst_allowance > Span::ZERO || quiet || short
    }

    fn update_p(&mut self, queue: &QueueView) {
        let PieParams { target, alpha, beta, max_step, flavour, .. } = self.params;
        let is_linux = flavour == PieFlavour::Linux;
        let error = self.delay - target.seconds();
        let step = (alpha.0 * error + beta.0 * (self.delay - self.delay_old)) / scale(self.p);
        let step = if self.p >= 0.1 { step.min(max_step.0) } else { step };
        self.p += step;
        if is_linux && self.delay > LONG {
            self.p += max_step.0;
        }
        if self.delay == 0.0 && self.delay_old == 0.0 {
            self.p *= match flavour {
                PieFlavour::Rfc8033 => 0.98,
                PieFlavour::Linux if queue.bytes > 0 => 1.0,
                PieFlavour::Linux => 63.0 / 64.0,
            };
        }
        self.p = match flavour {
            PieFlavour::Rfc8033 => self.p.clamp(0.0, 1.0),
            PieFlavour::Linux if self.p >= WRAPS => 1.0,
            PieFlavour::Linux => self.p.max(0.0),
        };
    }

    /// The burst allowance falls.
    fn pass_time(&mut self, time: Span) {
        self.burst_allowance = Span(self.burst_allowance.0.saturating_sub(time.0));
    }

    /// Linux: a burst passes again after a quiet time (`pie_vars_init`).
    fn restart(&mut self) {
        (self.burst_allowance, self.departed, self.p_sum) = (self.params.max_burst, None, 0.0);
    }

    fn is_calm(&self) -> bool {
        self.p == 0.0 && self.is_quiet(self.delay) && self.is_quiet(self.delay_old)
    }

    fn draw(&mut self, cx: &mut Ctx) -> bool {
        if !self.params.derandomize {
            return cx.chance(self.p);
        }
        self.p_sum = if self.p == 0.0 { 0.0 } else { self.p_sum + self.p };
        let is_sure = self.p_sum >= LAST;
        let drawn = is_sure || self.p_sum >= FIRST && cx.chance(self.p);
        if drawn && !(is_sure && self.params.flavour == PieFlavour::Linux) {
            self.p_sum = 0.0;
        }
        drawn
    }
}

impl Scheme for Pie {
    const INFO: SchemeInfo = SchemeInfo {
        name: "pie",
        title: "PIE",
        family: "control theory",
        year: 2013,
        source: "Pan et al., HPSR 2013; RFC 8033",
        confidence: "RFC 8033: hand-computed steps, and step by step against its pseudocode; mean_packet is a choice",
        papers: &[],
    };
    const FAIR: Option<SchemeInfo> = Some(SchemeInfo {
        name: "fq-pie",
        title: "FQ-PIE",
        family: "fair queueing",
        year: 2021,
        source: "Linux 5.6 (sch_fq_pie); RFC 8290 for the queues, RFC 8033 for PIE",
        confidence: "the queues of RFC 8290; PIE as in Linux",
        papers: &[],
    });
    const FAIR_DEFAULTS: &'static [FairDefault] = &[
        FairDefault { name: "mean_packet", default: "1514 B", source: "Linux, sch_pie.c (value: Ethernet)" },
        FairDefault { name: "flavour", default: "linux", source: "Linux, sch_fq_pie.c" },
    ];
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "delay", unit: "s", doc: "queueing delay at the last update" },
        Observable { name: "burst_allowance", unit: "s", doc: "time for which packets still pass" },
    ];

    fn new(params: PieParams, _: &QueueView) -> Result<Self, String> {
        let burst_allowance = params.max_burst;
        Ok(Self { params, delay: 0.0, delay_old: 0.0, p: 0.0, burst_allowance, departed: None, p_sum: 0.0 })
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<PieParams> = Some(|params| Box::new(params));

    const TC: Option<Tc> = Some(Tc { kind: "pie", note: "ecn_prob is an option of fq_pie alone" });
    const FAIR_TC: Option<Tc> = Some(Tc { kind: "fq_pie", note: "" });
}

impl Aqm for Pie {
    fn tick_every(&self) -> Option<Span> {
        let PieParams { t_update, flavour, .. } = self.params;
        Some(match flavour {
            PieFlavour::Rfc8033 => t_update,
            PieFlavour::Linux => Span((t_update.0.div_ceil(JIFFY.0) + 1) * JIFFY.0),
        })
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let is_at_rest = self.p == 0.0 && self.delay == 0.0 && self.delay_old == 0.0; // p would stay 0
        if !is_at_rest {
            self.update_p(queue);
        }
        match self.params.flavour {
            PieFlavour::Rfc8033 => self.pass_time(self.params.t_update),
            PieFlavour::Linux if self.is_calm() => self.restart(),
            PieFlavour::Linux => {}
        }
        self.delay_old = self.delay;
    }

    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        if self.params.flavour == PieFlavour::Rfc8033 && self.is_calm() {
            self.burst_allowance = self.params.max_burst;
        }
        if self.withholds(queue) || !self.draw(cx) {
            return Verdict::Pass;
        }
        let marks = self.p < self.params.mark_ecnth.0;
        if !(marks && packet.can_mark) {
            self.p_sum = 0.0;
        }
        if marks { Verdict::Signal(EARLY) } else { Verdict::Drop(EARLY) }
    }

    fn on_overflow(&mut self, _: &QueueView, _: &mut Ctx) {
        self.p_sum = 0.0;
    }

    fn refuses_when_full(&self) -> bool {
        self.params.flavour == PieFlavour::Linux
    }

    /// Signals nothing; it is here for the time stamps.
    fn acts_on_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.delay = cx.now.since(packet.enqueued_at).seconds();
        if self.params.flavour == PieFlavour::Linux {
            if queue.bytes == 0 {
                self.delay = 0.0;
            }
            let before = self.departed.replace(cx.now).unwrap_or(cx.now);
            self.pass_time(cx.now.since(before));
        }
        Verdict::Pass
    }

    fn on_empty(&mut self, _: &mut Ctx) {
        self.delay = 0.0;
    }

    fn share(&self, p: f64, queue: &QueueView) -> f64 {
        match self.params.derandomize {
            _ if self.withholds(queue) => 0.0,
            true => derandomized(p),
            false => p,
        }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p.min(1.0), self.delay_old, self.burst_allowance.seconds()][i]
    }
}

/// A PI of the sojourn time, which the head tells one sojourn time late; steps are divided as p has it.
impl LinearLaw for PieParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.alpha.0 > 0.0, "alpha = 0")
    }

    fn queue(&self, _: f64, network: &Network) -> f64 {
        self.target.seconds() * network.capacity()
    }

    /// The sum of p grows to FIRST, and from there on the gap is geometric.
    fn spacing(&self) -> f64 {
        if self.derandomize { FIRST + 1.0 } else { 1.0 }
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let PieParams { t_update, alpha: Frequency(alpha), beta: Frequency(beta), .. } = *self;
        let (period, capacity, spacing) = (t_update.seconds(), point.network.capacity(), self.spacing());
        let slope = 1.0 / (scale(point.p * spacing) * spacing * capacity);
        let late = point.queue / capacity;
        Ok(LinearResponse::new(1, move |s| slope * (alpha + beta * change(s, period)) * delay(s, late) / (s * period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    fn pie_with(pairs: &[(&str, &str)]) -> Pie {
        let mut params = PieParams::defaults();
        params.read("pie", pairs.iter().copied(), &mut Vec::new());
        Pie::new(params, &bench::queue(0)).unwrap()
    }

    /// One update at a delay of `ms`.
    fn update(pie: &mut Pie, ms: u64) {
        let mut cx = Ctx { now: Time(ms * 1_000_000_000), rng: &mut bench::stream() };
        pie.on_dequeue(&bench::packet(), &bench::queue(50), &mut cx);
        bench::tick(pie, 50);
    }

    fn arrive(pie: &mut Pie, waiting: u32) -> Verdict {
        pie.on_enqueue(
            &bench::packet(),
            &bench::queue(waiting),
            &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() },
        )
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-12, "{value}");
    }

    #[test]
    fn steps_are_scaled_to_the_probability() {
        // At rest on 23 ms, target 15 ms: each step is 0.125 * 0.008 = 0.001 before it is scaled.
        for (p, scaled) in [
            (0.0, 0.001 / 2048.0),
            (2e-6, 0.001 / 512.0),
            (2e-5, 0.001 / 128.0),
            (2e-4, 0.001 / 32.0),
            (2e-3, 0.001 / 8.0),
            (0.02, 0.001 / 2.0),
            (0.2, 0.001),
        ] {
            let mut pie = pie_with(&[]);
            (pie.p, pie.delay_old) = (p, 0.023);
            update(&mut pie, 23);
            close(pie.p, p + scaled);
        }
    }

    #[test]
    fn a_step_follows_the_trend_and_is_capped_from_a_tenth_on() {
        let mut pie = pie_with(&[]);
        (pie.p, pie.delay_old) = (0.05, 0.015);
        // 0.125*0.020 + 1.25*0.020 = 0.0275, halved.
        update(&mut pie, 35);
        close(pie.p, 0.06375);
        (pie.p, pie.delay_old) = (0.1, 0.015);
        update(&mut pie, 35);
        close(pie.p, 0.12);
        // Downwards there is no cap: 0.125*(-0.010) + 1.25*(-0.030) = -0.03875.
        update(&mut pie, 5);
        close(pie.p, 0.08125);
    }

    #[test]
    fn it_decays_when_idle() {
        let mut pie = pie_with(&[]);
        pie.p = 0.5;
        // 0.125 * (-0.015) = -0.001875; then times 0.98.
        update(&mut pie, 0);
        close(pie.p, 0.4881625);
    }

    #[test]
    fn a_burst_passes_for_150_ms_and_the_allowance_comes_back_when_all_is_quiet() {
        let mut pie = pie_with(&[("derandomize", "false")]);
        for left in (0..10).rev() {
            assert_eq!(arrive(&mut pie, 50), Verdict::Pass);
            update(&mut pie, 100);
            pie.p = 1.0; // any packet would be taken
            assert_eq!(pie.burst_allowance, Span(left * 15_000_000_000));
        }
        assert_eq!(arrive(&mut pie, 50), Verdict::Drop(EARLY));
        // It takes p = 0, a delay below 7.5 ms at the last update, and one below it now.
        for (p, delay, delay_old, renewed) in
            [(0.0, 0.0074, 0.0074, true), (0.0, 0.0075, 0.0, false), (0.0, 0.0, 0.0075, false), (1e-9, 0.0, 0.0, false)]
        {
            (pie.p, pie.delay, pie.delay_old, pie.burst_allowance) = (p, delay, delay_old, Span::ZERO);
            arrive(&mut pie, 1);
            assert_eq!(pie.burst_allowance, Span(if renewed { 150_000_000_000 } else { 0 }));
        }
    }

    #[test]
    fn a_quiet_or_short_queue_passes() {
        let mut pie = pie_with(&[("derandomize", "false"), ("max_burst", "0 s")]);
        (pie.p, pie.delay_old) = (1.0, 0.030);
        assert_eq!(arrive(&mut pie, 2), Verdict::Pass, "2000 B wait");
        assert_eq!(arrive(&mut pie, 3), Verdict::Drop(EARLY));
        pie.delay_old = 0.007;
        assert_eq!(arrive(&mut pie, 3), Verdict::Drop(EARLY), "p is not below 0.2");
        (pie.p, pie.p_sum, pie.params.derandomize) = (0.19, 9.0, true);
        assert_eq!(arrive(&mut pie, 3), Verdict::Pass);
    }

    #[test]
    fn signals_are_spread_and_marks_end_at_a_tenth() {
        let mut pie = pie_with(&[("max_burst", "0 s")]);
        (pie.p, pie.delay_old) = (0.0625, 0.030);
        // Sums of 1/16 are exact: the 13th is 0.8125, below 0.85, and passes whatever is drawn.
        for _ in 0..13 {
            assert_eq!(arrive(&mut pie, 50), Verdict::Pass);
        }
        assert_eq!(pie.p_sum, 0.8125);
        pie.p_sum = 8.4375;
        assert_eq!(arrive(&mut pie, 50), Verdict::Signal(EARLY), "8.5 is one for sure");
        assert_eq!(pie.p_sum, 0.0);
        (pie.p, pie.p_sum) = (0.1, 8.5);
        assert_eq!(arrive(&mut pie, 50), Verdict::Drop(EARLY));
        pie.p_sum = 8.0;
        pie.on_overflow(&bench::queue(100), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        assert_eq!(pie.p_sum, 0.0);
    }

    fn linux(pairs: &[(&str, &str)]) -> Pie {
        pie_with(&[&[("flavour", "linux"), ("mean_packet", "1500 B")], pairs].concat())
    }

    /// A packet that waited since `since` leaves at `now`, ms, `left` packets of 1000 B behind it.
    fn leave(pie: &mut Pie, since: u64, now: u64, left: u32) {
        let at = |ms: u64| Time(ms * 1_000_000_000);
        let packet = PacketView { enqueued_at: at(since), ..bench::packet() };
        let cx = &mut Ctx { now: at(now), rng: &mut bench::stream() };
        pie.on_dequeue(&packet, &bench::queue(left), cx);
    }

    #[test]
    fn in_linux_a_packet_with_nothing_behind_it_had_no_delay() {
        let mut pie = linux(&[]);
        leave(&mut pie, 0, 40, 1);
        assert_eq!(pie.delay, 0.040);
        leave(&mut pie, 0, 50, 0);
        assert_eq!(pie.delay, 0.0);
    }

    #[test]
    fn in_linux_the_allowance_falls_by_the_time_between_departures_and_comes_back_at_an_update() {
        let mut pie = linux(&[]);
        let left = |pie: &Pie| pie.burst_allowance.seconds();
        for (now, expected) in [(20, 0.150), (50, 0.120), (180, 0.0)] {
            leave(&mut pie, 0, now, 5);
            bench::tick(&mut pie, 5);
            assert_eq!(left(&pie), expected, "{now} ms");
        }
        arrive(&mut pie, 50);
        assert_eq!(left(&pie), 0.0, "no arrival renews it");
        (pie.p, pie.delay, pie.delay_old) = (0.0, 0.007, 0.008);
        bench::tick(&mut pie, 5);
        assert_eq!(left(&pie), 0.0, "d_old is not below 7.5 ms");
        bench::tick(&mut pie, 5);
        assert_eq!((left(&pie), pie.departed), (0.150, None));
    }

    #[test]
    fn in_linux_the_present_delay_and_two_full_packets_withhold() {
        let mut pie = linux(&[("derandomize", "false"), ("max_burst", "0 s")]);
        (pie.p, pie.delay, pie.delay_old) = (1.0, 0.030, 0.030);
        assert_eq!([2, 3].map(|waiting| arrive(&mut pie, waiting)), [Verdict::Pass, Verdict::Drop(EARLY)]);
        (pie.p, pie.delay, pie.delay_old, pie.p_sum, pie.params.derandomize) = (0.19, 0.007, 0.030, 9.0, true);
        assert_eq!(arrive(&mut pie, 50), Verdict::Pass);
        (pie.delay, pie.delay_old) = (0.008, 0.007);
        assert_eq!(arrive(&mut pie, 50), Verdict::Drop(EARLY));
    }

    #[test]
    fn in_linux_marks_for_sure_go_on_until_a_drop() {
        let mut pie = linux(&[("max_burst", "0 s")]);
        (pie.p, pie.delay, pie.p_sum) = (0.0625, 0.030, 8.4375);
        let mut meet = |can_mark| {
            let packet = PacketView { can_mark, ..bench::packet() };
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
            assert_eq!(pie.on_enqueue(&packet, &bench::queue(50), cx), Verdict::Signal(EARLY));
            pie.p_sum
        };
        assert_eq!([true, true, false].map(&mut meet), [8.5, 8.5625, 0.0]);
    }

    /// A flow that does not slow down: p goes on rising where every packet is dropped already, and has to come back.
    #[test]
    fn in_linux_p_rises_above_1_and_starts_again_at_1_where_64_bits_end() {
        let mut pie = linux(&[("derandomize", "false"), ("max_burst", "0 s")]);
        (pie.p, pie.delay, pie.delay_old) = (0.99, 0.035, 0.035);
        for p in [0.9925, 0.995, 0.9975, 1.0, 1.0025] {
            bench::tick(&mut pie, 50); // 0.125 * 0.020
            close(pie.p, p);
        }
        assert_eq!(pie.observe(0), 1.0);
        assert_eq!(arrive(&mut pie, 50), Verdict::Drop(EARLY));
        pie.delay = 0.005;
        bench::tick(&mut pie, 50); // 0.125 * (-0.010) + 1.25 * (-0.030)
        close(pie.p, 0.96375);
        (pie.p, pie.delay, pie.delay_old) = (255.9995, 0.035, 0.035);
        bench::tick(&mut pie, 50);
        assert_eq!(pie.p, 1.0);
    }

    #[test]
    fn in_linux_an_update_adds_for_long_delays_decays_by_a_64th_and_takes_a_jiffy_more() {
        let mut pie = linux(&[]);
        assert_eq!(pie.tick_every(), Some(Span(16_000_000_000)));
        (pie.p, pie.delay, pie.delay_old) = (0.5, 0.251, 0.251);
        bench::tick(&mut pie, 5);
        close(pie.p, 0.54); // 0.125 * 0.236 = 0.0295, held at 0.02, and 0.02 more
        // 0.125 * (-0.015) = -0.001875, and then a 64th unless something waits.
        (pie.p, pie.delay, pie.delay_old) = (0.5, 0.0, 0.0);
        bench::tick(&mut pie, 5);
        close(pie.p, 0.498125);
        pie.p = 0.5;
        bench::tick(&mut pie, 0);
        close(pie.p, 0.490341796875);
    }
}
