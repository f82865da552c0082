use crate::disciplines::{Coupled, Joins};
use crate::queue_protection::{QueueProtection, Thresholds};
use crate::signal::SEVERAL_QUEUES;
use crate::{Ctx, EARLY, OVERFLOW, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Bytes, Frequency, Rate, Ratio, Span, params};

params! {
    /// Low Latency DOCSIS (LLD): the coupled queues of a cable modem, an immediate AQM for the one and PIE for the other, with queue
    /// protection.
    ///
    /// ## Idea
    /// As DualPI2 a low-latency queue L and a classic one C share a link, and L's marks are coupled to C's drops. Cable has PIE in
    /// its modems since DOCSIS 3.1 (RFC 8034), so PIE is what drives both. All decisions are taken as packets arrive, from the
    /// bytes that wait: when they will leave is up to the headend's grants. Flows in L that build a queue are found by queue
    /// protection (RFC 9957), and their packets are sent to C.
    ///
    /// ## Equations
    /// Packets with ECT(1), CE or DSCP 45 (RFC 9956, non-queue-building) belong into L. One that finds q_L bytes there, itself included:
    ///
    /// ```text
    /// d_L      = 8*q_L / rate
    /// min      = max(max_th - range, 16*max_frame/rate);  max = min + range;  both at most 65.535 ms
    /// p_native = (d_L - min) / (max - min) in 0..1
    /// p_L      = max(p_native, min(k*p', 1)): mark, if it can carry a mark
    /// sanction: to C, if queue protection says so (RFC 9957); CRITICALqL = max, CRITICALqLSCORE = critical_score, AGING = aging
    /// else drop if q_L before it is at least max(l_buffer*rate, 20*max_frame) - max_frame
    /// ```
    ///
    /// Every `t_update`, of the q_C bytes in C and the bits that L has sent since the last update:
    ///
    /// ```text
    /// r_L  = min(weight*rate, bits/t_update);   d = 8*q_C / (rate - r_L)
    /// step = (alpha*(d - target) + beta*(d - d_old)) / s   alpha, beta per second of delay
    /// s    = 2048, 512, 128, 32, 8, 2, 1/2, 1/8, 1/32      for p < 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1, 10, and above
    /// p    = p + step (at most 0.02 of it once p >= 0.1)
    /// p    = 0.98*p if d and d_old < 5 ms;  p + 0.02 if d > 200 ms;  0 <= p <= 0.85*mean_packet/64 B;  p' = sqrt(p)
    /// p    = p' = 0 while burst_allowance > 0, which falls by t_update
    /// ```
    ///
    /// A packet of s bytes that arrives at C passes if burst_allowance > 0. It passes if there is no burst and C is
    /// less than a third full; otherwise a burst begins. It also passes if d < target/2 and p < 0.2, or if no more than
    /// two mean packets wait. Otherwise it is dropped, ECN or not, with probability min(p*s/mean_packet, 0.85). This
    /// probability is summed up: no packet is dropped below a sum of 0.85, and one is dropped for sure at 8.5. The
    /// first drop of a burst sets burst_allowance to max_burst. A burst is over after `burst_reset` with d < target/2
    /// and p = 0.
    ///
    /// While both wait, L gets `weight` of the link.
    ///
    /// ## Readings
    /// The rate is the link's, the rate of the service flow (AMSR). Each queue has its own buffer, `l_buffer` and
    /// `c_buffer`; the link's limits both together. The scheduler is the dual queue's, weighted by bytes. CableLabs'
    /// model adds weight*quantum to L's deficit and a whole quantum to C's in a round, which gives L 47 % of a busy
    /// downstream link. In the specification the weight is the share of L. Their upstream scheduler and the simulator
    /// follow the specification.
    ///
    /// ## Departures
    /// The delay of L is computed from its length (qdelayCoupledL). The virtual queue (qdelayCoupledV), which subtracts
    /// bytes that wait only for their grants, is left out, and so are the 10 B of the MAC header.
    pub struct DocsisLldParams for DocsisLld {
        /// Target delay of the classic queue.
        target: Span = "10 ms" in "1 us" ..= "1000 s", from "RFC 8034, 4.1 (LATENCY_TARGET)";
        /// Time between updates of p.
        t_update: Span = "16 ms" in "1 us" ..= "1000 s", from "RFC 8034, 4.1 (INTERVAL)";
        /// Gain on the distance from the target, per second of delay.
        alpha: Frequency = "0.25 Hz" in "0 Hz" ..= "1000 kHz", from "RFC 8034, 4.1 (A)";
        /// Gain on the change of the delay, per second of delay.
        beta: Frequency = "2.5 Hz" in "0 Hz" ..= "1000 kHz", from "RFC 8034, 4.1 (B)";
        /// Time for which a burst passes.
        max_burst: Span = "142 ms" in "0 s" ..= "1000 s", from "RFC 8034, 4.1 (MAX_BURST)";
        /// Quiet time after which a burst is over.
        burst_reset: Span = "1 s" in "0 s" ..= "1000 s", from "RFC 8034, 4.1 (BURST_RESET_TIMEOUT)";
        /// Packet size for which p is meant; up to two of them may wait without a drop.
        mean_packet: Bytes = "1024 B" in "1 B" ..= "65535 B", from "RFC 8034, 4.1 (MEAN_PKTSIZE)";
        /// Coupling factor: marks in L per square root of p.
        k: f64 = "2" in "0.1" ..= "100", unit "1", from "docsis-ns3 (CouplingFactor)";
        /// Share of the link that the low-latency queue gets while both wait.
        weight: Ratio = "89.84375%" in "0" ..= "99.609375%", from "docsis-ns3 (SchedulingWeight): 230/256";
        /// Delay of the low-latency queue from which every packet is marked.
        max_th: Span = "1 ms" in "1 us" ..= "65.535 ms", from "docsis-ns3 (MaxTh)";
        /// Length of the ramp below it.
        range: Span = "524.288 us" in "1 ns" ..= "65.535 ms", from "docsis-ns3 (LgRange): 2^19 ns";
        /// Largest frame; on a slow link the ramp begins above two of them.
        max_frame: Bytes = "2000 B" in "1 B" ..= "65535 B", from "docsis-ns3 (MaxFrameSize)";
        /// Buffer of the low-latency queue, at the link's rate.
        l_buffer: Span = "10 ms" in "1 us" ..= "1000 s", from "docsis-ns3";
        /// Buffer of the classic queue, at the link's rate.
        c_buffer: Span = "100 ms" in "1 us" ..= "1000 s", from "docsis-ns3";
        /// Send packets of flows that build a queue in L to C.
        queue_protection: bool = "true", from "RFC 9957 (QPROTECT_ON)";
        /// Queueing score above which a packet is sanctioned at the critical delay.
        critical_score: Span = "4 ms" in "1 us" ..= "5 s", from "RFC 9957 (CRITICALqLSCORE)";
        /// Congestion that a flow in L may cause at all times: bits times marking probability, per second.
        aging: Rate = "4.194304 Mbit/s" in "1 kbit/s" ..= "1 Tbit/s", from "RFC 9957 (AGING): 2^19 B/s";
    }
}

/// Sum of p below which none is dropped, and the greatest p of a packet; and the sum at which one is for sure.
const PROB_LOW: f64 = 0.85;
const PROB_HIGH: f64 = 8.5;
/// Smallest packet, B.
const MIN_PKTSIZE: f64 = 64.0;
/// p decays below, and rises by more above, s.
const LATENCY_LOW: f64 = 0.005;
const LATENCY_HIGH: f64 = 0.2;
/// Greatest threshold of the ramp, s.
const GREATEST_TH: f64 = 0.065_535;

/// Whether PIE lets a burst pass (RFC 8034, section 4.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Burst {
    None,
    Ongoing,
    Protecting,
}

/// The scheme of [`Dual`](crate::disciplines::Dual); see [`DocsisLldParams`].
#[derive(Clone)]
pub struct DocsisLld {
    params: DocsisLldParams,
    /// Drop probability of a classic packet of mean size; may be above 1.
    p: f64,
    delay_old: f64,
    burst: Burst,
    burst_allowance: Span,
    /// Quiet updates since the burst.
    quiet_updates: u32,
    /// Sum of p over the classic packets since the last drop.
    p_sum: f64,
    /// Running sum of the low-latency queue's p.
    l_sum: f64,
    /// The last of its own probabilities.
    p_native: f64,
    /// Sent by it since the last update.
    l_bits: f64,
    protection: Box<QueueProtection>,
}

impl Scheme for DocsisLld {
    const INFO: SchemeInfo = SchemeInfo {
        name: "docsis-lld",
        title: "DOCSIS LLD",
        family: "control theory",
        year: 2019,
        source: "CableLabs, DOCSIS 3.1 MAC and Upper Layer Protocols Interface Specification, annexes M to P; White & Pan, \
                 RFC 8034; Briscoe & White, RFC 9957",
        confidence: "after the source of CableLabs' docsis-ns3 and the two RFCs, rule by rule, in hand-computed steps; \
                     not compared with measurements of a modem",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p_c", unit: "ratio", doc: "drop probability of a classic packet of mean size" },
        Observable { name: "p_cl", unit: "ratio", doc: "coupled mark probability of the low-latency queue" },
        Observable {
            name: "p_native",
            unit: "ratio",
            doc: "mark probability of the low-latency queue's own ramp, at its last packet",
        },
        Observable { name: "l_queue", unit: "packets", doc: "packets in the low-latency queue" },
        Observable { name: "c_queue", unit: "packets", doc: "packets in the classic queue" },
    ];

    fn new(params: DocsisLldParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            p: 0.0,
            delay_old: 0.0,
            burst: Burst::None,
            burst_allowance: Span::ZERO,
            quiet_updates: 0,
            p_sum: 0.0,
            l_sum: 0.0,
            p_native: 0.0,
            l_bits: 0.0,
            protection: Box::default(),
        })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);
}

/// Bytes that a rate carries in a time.
fn bytes_in(time: Span, rate: Rate) -> f64 {
    rate.0 / 8.0 * time.seconds()
}

/// By how much a step is scaled down at p (RFC 8034, section 4.2).
fn scale(p: f64) -> f64 {
    const BOUNDS: [f64; 8] = [1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0];
    const SCALES: [f64; 9] = [2048.0, 512.0, 128.0, 32.0, 8.0, 2.0, 0.5, 0.125, 0.031_25];
    SCALES[BOUNDS.iter().filter(|bound| p >= **bound).count()]
}

/// The low-latency queue.
impl DocsisLld {
    /// Delays between which its own marking probability goes from 0 to 1.
    fn ramp(&self, rate: Rate) -> [f64; 2] {
        let DocsisLldParams { max_th, range, max_frame, .. } = self.params;
        let floor = (16.0 * max_frame.0 / rate.0).min(GREATEST_TH);
        let min = (max_th.seconds() - range.seconds()).max(floor);
        [min, (min + range.seconds()).min(GREATEST_TH)]
    }

    fn p_coupled(&self) -> f64 {
        (self.params.k * self.p.sqrt()).min(1.0)
    }

    fn arrives_at_l(
        &mut self,
        packet: &PacketView,
        bytes: [u64; 2],
        queue: &QueueView,
        cx: &mut Ctx,
    ) -> (Joins, Verdict) {
        let delay = queue.rate.transmission(bytes[0] as u32 + packet.size);
        let [min, max] = self.ramp(queue.rate);
        let above = delay.seconds() - min;
        self.p_native = if delay.seconds() >= max { 1.0 } else { (above / (max - min)).max(0.0) };
        let mark = if self.marks() { Verdict::MarkOnly(EARLY) } else { Verdict::Pass };
        let DocsisLldParams { max_frame, l_buffer, queue_protection, critical_score, aging, .. } = self.params;
        let critical = Thresholds { delay: Span::from_seconds(max), score: critical_score, aging };
        if queue_protection && self.protection.sanctions(packet, delay, self.p_native, &critical, cx.now) {
            return match self.arrives_at_c(packet, bytes[1], queue, cx) {
                Verdict::Pass => (Joins::Sanctioned, mark),
                drop => (Joins::Sanctioned, drop),
            };
        }
        let buffer = bytes_in(l_buffer, queue.rate).max(20.0 * max_frame.0);
        let has_room = (bytes[0] as f64) < buffer - max_frame.0;
        (Joins::LowLatency, if has_room { mark } else { Verdict::Drop(OVERFLOW) })
    }

    /// A deterministic "with probability p_L".
    fn marks(&mut self) -> bool {
        self.l_sum += self.p_native.max(self.p_coupled());
        let is_due = self.l_sum > 1.0;
        if is_due {
            self.l_sum -= 1.0;
        }
        is_due
    }
}

/// The classic queue: PIE for DOCSIS.
impl DocsisLld {
    fn arrives_at_c(&mut self, packet: &PacketView, waiting: u64, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let buffer = bytes_in(self.params.c_buffer, queue.rate);
        if self.drops_early(packet.size, waiting, buffer, cx) {
            return Verdict::Drop(EARLY);
        }
        if waiting as f64 + f64::from(packet.size) > buffer { Verdict::Drop(OVERFLOW) } else { Verdict::Pass }
    }

    /// RFC 8034, section 4.3.
    fn drops_early(&mut self, size: u32, waiting: u64, buffer: f64, cx: &mut Ctx) -> bool {
        let DocsisLldParams { mean_packet, max_burst, .. } = self.params;
        if self.burst_allowance > Span::ZERO {
            return false;
        }
        if self.p == 0.0 {
            self.p_sum = 0.0;
        }
        if self.burst == Burst::None {
            if (waiting as f64) < buffer / 3.0 {
                return false;
            }
            self.burst = Burst::Ongoing;
        }
        let p = (self.p * f64::from(size) / mean_packet.0).min(PROB_LOW);
        self.p_sum += p;
        if self.is_quiet(self.delay_old) && self.p < 0.2 || waiting as f64 <= 2.0 * mean_packet.0 {
            return false;
        }
        let drops = self.p_sum >= PROB_LOW && (self.p_sum >= PROB_HIGH || cx.chance(p));
        if drops {
            self.p_sum = 0.0;
            if self.burst == Burst::Ongoing {
                (self.burst, self.burst_allowance) = (Burst::Protecting, max_burst);
            }
        }
        drops
    }

    fn is_quiet(&self, delay: f64) -> bool {
        delay < self.params.target.seconds() / 2.0
    }

    /// RFC 8034, section 4.2; the delay by annex O of the specification.
    fn update_p(&mut self, delay: f64) {
        let DocsisLldParams { target, alpha, beta, mean_packet, .. } = self.params;
        let step = (alpha.0 * (delay - target.seconds()) + beta.0 * (delay - self.delay_old)) / scale(self.p);
        self.p += if self.p >= 0.1 { step.min(0.02) } else { step };
        if delay < LATENCY_LOW && self.delay_old < LATENCY_LOW {
            self.p *= 0.98;
        } else if delay > LATENCY_HIGH {
            self.p += 0.02;
        }
        self.p = self.p.clamp(0.0, PROB_LOW * mean_packet.0 / MIN_PKTSIZE);
    }

    fn update_burst(&mut self, delay: f64) {
        let DocsisLldParams { t_update, burst_reset, .. } = self.params;
        self.burst_allowance = Span(self.burst_allowance.0.saturating_sub(t_update.0));
        let is_over = self.p == 0.0 && self.burst_allowance == Span::ZERO;
        match self.burst {
            Burst::Protecting if is_over && self.is_quiet(delay) && self.is_quiet(self.delay_old) => {
                (self.burst, self.quiet_updates) = (Burst::Ongoing, 0);
            }
            Burst::Ongoing if is_over && self.is_quiet(delay) && self.is_quiet(self.delay_old) => {
                self.quiet_updates += 1;
                if u64::from(self.quiet_updates) > burst_reset.0 / t_update.0 {
                    (self.burst, self.quiet_updates) = (Burst::None, 0);
                }
            }
            Burst::Ongoing => self.quiet_updates = 0,
            Burst::None | Burst::Protecting => {}
        }
    }
}

impl Coupled for DocsisLld {
    fn period(&self) -> Option<Span> {
        Some(self.params.t_update)
    }

    fn classic_weight(&self) -> f64 {
        1.0 - self.params.weight.0
    }

    fn owed_at_rest(&self) -> Option<f64> {
        None
    }

    fn judge_arrival(
        &mut self,
        packet: &PacketView,
        bytes: [u64; 2],
        queue: &QueueView,
        cx: &mut Ctx,
    ) -> (Joins, Verdict) {
        match self.goes_first(packet, cx.now) {
            true => self.arrives_at_l(packet, bytes, queue, cx),
            false => (Joins::Classic, self.arrives_at_c(packet, bytes[1], queue, cx)),
        }
    }

    fn update(&mut self, _: Span, bytes: [u64; 2], queue: &QueueView) {
        let DocsisLldParams { t_update, weight, .. } = self.params;
        let l_rate = (std::mem::take(&mut self.l_bits) / t_update.seconds()).min(weight.0 * queue.rate.0);
        let delay = 8.0 * bytes[1] as f64 / (queue.rate.0 - l_rate);
        match self.burst_allowance {
            Span::ZERO => self.update_p(delay),
            _ => self.p = 0.0,
        }
        self.update_burst(delay);
        self.delay_old = delay;
    }

    fn judge_l4s(&mut self, packet: &PacketView, _: usize, _: &QueueView, _: &mut Ctx) -> Verdict {
        self.l_bits += 8.0 * f64::from(packet.size);
        Verdict::Pass
    }

    fn judge_classic(&mut self, _: &QueueView, _: &mut Ctx) -> Verdict {
        Verdict::Pass
    }

    fn observe(&self, i: usize, waiting: [usize; 2]) -> f64 {
        match i {
            0 => self.p.min(PROB_LOW),
            1 => self.p_coupled(),
            2 => self.p_native,
            _ => waiting[i - 3] as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use crate::{Ecn, NQB};
    use aqmlab_core::{ParamSet, Time};

    /// A link of 80 Mbit/s: a packet of 1000 B takes 100 us, two frames of 2000 B take 400 us.
    fn link() -> QueueView {
        QueueView { rate: Rate(80e6), ..bench::queue(0) }
    }

    fn with(pairs: &[(&str, &str)]) -> DocsisLld {
        let mut params = DocsisLldParams::defaults();
        let problems = &mut Vec::new();
        params.read("x", pairs.iter().copied(), problems);
        assert!(problems.is_empty(), "{problems:?}");
        DocsisLld::new(params, &link()).unwrap()
    }

    fn l4s() -> PacketView {
        PacketView { ecn: Ecn::Ect1, can_mark: true, ..bench::packet() }
    }

    /// The answer to a packet behind so many bytes in L and in C.
    fn arrive(lld: &mut DocsisLld, packet: PacketView, bytes: [u64; 2]) -> (Joins, Verdict) {
        let mut rng = bench::stream();
        lld.judge_arrival(&packet, bytes, &link(), &mut Ctx { now: Time::ZERO, rng: &mut rng })
    }

    #[test]
    fn the_ramp_ends_at_a_millisecond_and_begins_above_two_frames_of_a_slow_link() {
        let lld = with(&[]);
        let ramp = |rate| lld.ramp(Rate(rate)).map(|delay| (delay * 1e9).round());
        assert_eq!(ramp(80e6), [475_712.0, 1e6]);
        // 32,000 bit / 32 Mbit/s = 1 ms.
        assert_eq!(ramp(32e6), [1e6, 1_524_288.0]);
        assert_eq!(ramp(64e3), [65_535_000.0; 2]);
    }

    /// The tests of CableLabs' model (docsis-ns3, `dual-queue-coupled-aqm-test-suite.cc`), at 50 Mbit/s.
    #[test]
    fn the_published_thresholds_and_buffers() {
        let min_th = |max_th| with(&[("max_th", max_th)]).ramp(Rate(50e6))[0];
        assert!((min_th("1 ms") - 640e-6).abs() < 1e-6, "two frames");
        assert!((min_th("2 ms") - 1476e-6).abs() < 1e-6);
        let DocsisLldParams { l_buffer, c_buffer, .. } = with(&[]).params;
        assert_eq!([l_buffer, c_buffer].map(|buffer| bytes_in(buffer, Rate(50e6))), [62_500.0, 625_000.0]);
    }

    #[test]
    fn what_belongs_into_the_low_latency_queue() {
        let mut lld = with(&[]);
        let mut joins = |ecn, dscp| arrive(&mut lld, PacketView { ecn, dscp, ..bench::packet() }, [0, 0]).0;
        assert_eq!([Ecn::Ect1, Ecn::Ce].map(|ecn| joins(ecn, 0)), [Joins::LowLatency; 2]);
        assert_eq!(joins(Ecn::NotEct, NQB), Joins::LowLatency);
        assert_eq!(
            [(Ecn::Ect0, 0), (Ecn::NotEct, 46), (Ecn::NotEct, 40)].map(|(ecn, dscp)| joins(ecn, dscp)),
            [Joins::Classic; 3]
        );
    }

    #[test]
    fn marks_follow_the_bytes_that_wait() {
        // 737.856 us are half way up; 6378.56 B and 1000 B take that. Behind 6378 B: p just below a half.
        let mut lld = with(&[("queue_protection", "false")]);
        let mark = (Joins::LowLatency, Verdict::MarkOnly(EARLY));
        let verdicts: Vec<bool> = (0..6).map(|_| arrive(&mut lld, l4s(), [6378, 0]) == mark).collect();
        assert!((lld.p_native - 0.5).abs() < 2e-4);
        assert_eq!(verdicts, [false, false, true, false, true, false]);
        // 900 us of others and 100 us of its own: every one, once the sum is above 1.
        lld.l_sum = 0.5;
        assert!((0..9).all(|_| arrive(&mut lld, l4s(), [9000, 0]) == mark));
        assert!((0..9).all(|_| arrive(&mut with(&[]), l4s(), [3757, 0]) == (Joins::LowLatency, Verdict::Pass)));
    }

    #[test]
    fn protection_sends_the_packets_of_a_flow_that_builds_a_queue_to_the_classic_one() {
        // 1000 B at p = 1 add 1.907 ms. At 1.1 ms 3.636 ms are critical: the second packet.
        let mut lld = with(&[]);
        lld.l_sum = 1.0;
        let verdicts: Vec<_> = (0..3).map(|_| arrive(&mut lld, l4s(), [10_000, 0])).collect();
        let mark = Verdict::MarkOnly(EARLY);
        assert_eq!(verdicts, [(Joins::LowLatency, mark), (Joins::Sanctioned, mark), (Joins::Sanctioned, mark)]);
        assert_eq!(arrive(&mut lld, PacketView { flow: 7, flow_hash: 7, ..l4s() }, [10_000, 0]).0, Joins::LowLatency);
        let mut off = with(&[("queue_protection", "false")]);
        assert!((0..9).all(|_| arrive(&mut off, l4s(), [10_000, 0]).0 == Joins::LowLatency));
    }

    #[test]
    fn each_queue_has_its_buffer() {
        let mut lld = with(&[("queue_protection", "false")]);
        // 10 ms at 80 Mbit/s are 100,000 B, less 2000; 100 ms are 1,000,000 B.
        assert_ne!(arrive(&mut lld, l4s(), [97_999, 0]).1, Verdict::Drop(OVERFLOW));
        assert_eq!(arrive(&mut lld, l4s(), [98_000, 0]), (Joins::LowLatency, Verdict::Drop(OVERFLOW)));
        assert_eq!(arrive(&mut lld, bench::packet(), [0, 999_000]).1, Verdict::Pass);
        assert_eq!(arrive(&mut lld, bench::packet(), [0, 999_001]).1, Verdict::Drop(OVERFLOW));
        let slow = QueueView { rate: Rate(8e6), ..link() };
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        // 10 ms at 8 Mbit/s are 10,000 B, and 20 frames 40,000 B.
        assert_ne!(lld.judge_arrival(&l4s(), [37_999, 0], &slow, cx).1, Verdict::Drop(OVERFLOW));
        assert_eq!(lld.judge_arrival(&l4s(), [38_000, 0], &slow, cx).1, Verdict::Drop(OVERFLOW));
    }

    #[test]
    fn the_classic_delay_counts_on_the_rate_that_the_low_latency_queue_leaves() {
        let mut lld = with(&[]);
        // 160,000 B at 80 Mbit/s: 16 ms. 0.25*0.006 + 2.5*0.016 = 0.0415, over 2048.
        lld.update(Span::ZERO, [0, 160_000], &link());
        assert!((lld.delay_old - 0.016).abs() < 1e-12 && (lld.p - 0.0415 / 2048.0).abs() < 1e-12);
        // L has sent 80,000 B in 16 ms, 40 Mbit/s: 32 ms for the same.
        (0..80).for_each(|_| {
            lld.judge_l4s(&l4s(), 0, &link(), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        });
        lld.update(Span::ZERO, [0, 160_000], &link());
        assert!((lld.delay_old - 0.032).abs() < 1e-12);
        // 0.25*0.022 + 2.5*0.016 = 0.0455, over 128 above 1e-5.
        assert!((lld.p - 0.0415 / 2048.0 - 0.0455 / 128.0).abs() < 1e-12);
        // It cannot have more than its weight: 26/256 of 80 Mbit/s are left, 8.125 Mbit/s.
        lld.l_bits = 1e9;
        lld.update(Span::ZERO, [0, 8125], &link());
        assert!((lld.delay_old - 0.008).abs() < 1e-12);
    }

    #[test]
    fn p_decays_rises_and_is_bounded() {
        let mut lld = with(&[]);
        lld.p = 0.05;
        // 4 ms, twice: (0.25*-0.006 + 2.5*0.004)/2 = 0.00425, then -0.00075, each with a decay of 2 %.
        lld.update_p(0.004);
        assert!((lld.p - 0.05425 * 0.98).abs() < 1e-12);
        lld.p = 13.599;
        lld.delay_old = 0.3;
        // At most 0.02, and 0.02 above 200 ms; 0.85*1024/64 = 13.6 at most.
        lld.update_p(0.3);
        assert_eq!(lld.p, 13.6);
        assert_eq!((lld.observe(0, [0, 0]), lld.observe(1, [0, 0])), (0.85, 1.0));
    }

    /// A queue of 500,000 B, half its buffer, at a delay of 50 ms.
    fn busy(p: f64) -> DocsisLld {
        let mut lld = with(&[]);
        (lld.p, lld.delay_old) = (p, 0.05);
        lld
    }

    #[test]
    fn drops_begin_at_a_sum_of_085_and_are_sure_at_85_and_a_burst_passes_after_the_first() {
        let mut rng = bench::stream();
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut rng };
        // 1024 B: p = 0.0001 a packet is summed up; at 8.5, after 85,000 packets, one is dropped for sure.
        let mut lld = busy(1e-4);
        lld.p_sum = 8.5 - 0.5e-4;
        assert!(lld.drops_early(1024, 500_000, 1e6, cx));
        let mut lld = busy(0.2);
        let verdicts: Vec<bool> = (0..4).map(|_| lld.drops_early(1024, 500_000, 1e6, cx)).collect();
        assert_eq!(verdicts, [false; 4], "0.2, 0.4, 0.6 and 0.8");
        lld.p_sum = 8.4;
        assert!(lld.drops_early(1024, 500_000, 1e6, cx));
        assert_eq!((lld.burst, lld.burst_allowance, lld.p_sum), (Burst::Protecting, Span::from_millis(142), 0.0));
        lld.p_sum = 8.4;
        assert!(!lld.drops_early(1024, 500_000, 1e6, cx), "the burst passes");
        // 142 ms are 9 updates of 16 ms; p is 0 meanwhile.
        (0..9).for_each(|_| lld.update(Span::ZERO, [0, 500_000], &link()));
        assert_eq!((lld.burst_allowance, lld.p), (Span::ZERO, 0.0));
    }

    #[test]
    fn nothing_is_dropped_early_from_a_short_or_quiet_queue() {
        let mut rng = bench::stream();
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut rng };
        let mut drops_early = |lld: &mut DocsisLld, waiting| {
            lld.p_sum = 8.5;
            lld.drops_early(1024, waiting, 1e6, cx)
        };
        assert!(!drops_early(&mut busy(0.5), 333_333), "no burst, and less than a third of the buffer");
        let in_burst = |p, delay| DocsisLld { burst: Burst::Ongoing, delay_old: delay, ..busy(p) };
        assert!(!drops_early(&mut in_burst(0.5, 0.05), 2048));
        assert!(drops_early(&mut in_burst(0.5, 0.05), 2049));
        assert!(!drops_early(&mut in_burst(0.19, 0.004), 500_000));
        assert!(drops_early(&mut in_burst(0.2, 0.004), 500_000));
    }

    #[test]
    fn a_burst_is_over_after_a_quiet_second() {
        let mut lld = DocsisLld { burst: Burst::Protecting, ..with(&[]) };
        // One update ends the protection, 62.5 intervals are a second: over at the 63rd quiet one.
        (0..63).for_each(|_| lld.update(Span::ZERO, [0, 0], &link()));
        assert_eq!((lld.burst, lld.quiet_updates), (Burst::Ongoing, 62));
        lld.update(Span::ZERO, [0, 0], &link());
        assert_eq!(lld.burst, Burst::None);
    }
}
