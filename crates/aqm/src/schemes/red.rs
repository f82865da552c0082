use crate::linear::{LinearResponse, Network, OperatingPoint, lag, needs};
use crate::{
    Aqm, Ctx, EARLY, FORCED, Limit, LinearLaw, LinearLawOf, Observable, PacketView, QueueView, Scheme, SchemeInfo,
    Signal, Tc, Verdict,
};
use aqmlab_core::{Auto, Bytes, Packets, Quantity, Rate, Ratio, Time, choice, params};

choice! {
    /// The `max_p` from which the gentle line starts.
    pub enum GentleLine {
        /// The initial one, for ever: ns-2 and ns-3.
        Stale = "stale",
        /// The present one, as adapted.
        Fresh = "fresh",
    }
}

choice! {
    /// The implementation whose details apply.
    pub enum RedFlavour {
        /// ns-2.35 in packet mode.
        Ns2 = "ns2",
        /// The queueing discipline of Linux.
        Linux = "linux",
    }
}

params! {
    /// Random Early Detection: drops early with a probability that grows with the average queue.
    ///
    /// ## Idea
    /// An exponentially weighted average of the queue follows the load slowly; between two thresholds packets are
    /// dropped with a probability that rises linearly, spaced out evenly by a counter.
    ///
    /// ## Equations
    /// At each arrival, `q` packets waiting (the arriving one not included), `m` packets that an idle link could have
    /// sent since it fell idle:
    ///
    /// ```text
    /// avg = (1 - q_weight)^(m+1) * avg + q_weight * q
    /// p_b = max_p * (avg - min_th) / (max_th - min_th)           min_th <= avg < max_th
    /// p_b = (1 - mp0) / max_th * avg + 2*mp0 - 1                  max_th <= avg < 2*max_th, gentle
    /// p_b = 1                                                    above
    /// p_a = 0                    count*p_b < 1       (wait = true; count = arrivals since the last drop)
    /// p_a = p_b / (2 - count*p_b)    count*p_b < 2
    /// p_a = 1                    above
    /// ```
    ///
    /// The packet is dropped with probability p_a; count restarts at 0. The first arrival that finds `avg` above
    /// `min_th` is never dropped. Nothing is dropped while q <= 1.
    ///
    /// If `wait` is true, the gaps between drops are uniform on [1/p_b, 2/p_b], so the realised loss is p_b / 1.5.
    /// Otherwise the gaps are uniform on [1, 1/p_b].
    ///
    /// ## Readings
    /// This is ns-2.35 in packet mode, which reproduces the papers. mp0 always is the *initial* max_p (`gentle_line =
    /// "stale"`): ns-2 and ns-3 compute the gentle line once, at reset.
    ///
    /// `flavour = "linux"` is `sch_red`: no gentle line and no `wait` (`gentle`, `wait` and `mark_p` are ns-2's), and
    ///
    /// ```text
    /// avg < min_th:    passes
    /// avg >= max_th:   signalled (marked with ECN, else dropped), the first and at any q
    /// else:            signalled when count*p_b >= r; then count = 0, a new r uniform on [0, 1)
    ///                  count = 0 at the first arrival within, which passes and draws r
    /// ```
    ///
    /// so that gaps are uniform on [1, 1/p_b]. Lengths, thresholds and the limit are in bytes there: a packet of a threshold or of the
    /// buffer is one of the mean size of the link's packets over its flows, as `aqmlab tc` and the engine `linux` say it to Linux. So a
    /// flow of small packets hardly counts. The average moves at arrivals only: time in which the link idles does not count, as a shaper
    /// (HTB, TBF) asks no empty queue for a packet, which is when `sch_red` starts to count it. A packet that finds the buffer full has been judged before. `q_weight = "auto"`
    /// is the rule of the flavour:
    ///
    /// ```text
    /// ns2:     1 - exp(-1/C), C = packets a second that the link sends            (also equation (3) of Li et al. 2014)
    /// linux:   the greatest W = 1/2, 1/4, ... with burst + 1 - min_th <= (1 - (1 - W)^burst) / W              (as tc)
    /// ```
    ///
    /// What `tc ... red` sets where nothing is said: max_th a quarter of the limit, min_th a third of max_th, burst
    /// (2*min_th + max_th)/3, probability 2 %, all in bytes; here the defaults stay those below.
    ///
    /// ## Departures
    /// From Linux (`include/net/red.h` at b18734e696ef, `net/sched/sch_red.c` at 2519003dd5fb, iproute2's `q_red.c` and
    /// `tc_red.c`, read line by line):
    /// RED on a device without a shaper is asked while it is empty: its average then falls with the time in which it idles, by a table that
    /// `tc` computes for ticks of 64 ns and the kernel reads by microseconds; no `harddrop` and no `nodrop`.
    ///
    /// ns-2 has no byte mode here. "auto" thresholds are symmetric around the link's target (15 and 585 packets for a target of 300,
    /// the values of Li et al. 2014), not ns-2's 5 ms rule, so that schemes compared on one link aim at one queue. In the flavour
    /// linux they are whole packets.
    pub struct RedParams for Red {
        /// Average queue below which nothing is dropped; "auto" is target/20, at least 5 packets.
        min_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets",
          tc "min" in "bytes", from "Li et al. 2014 (15 for a target of 300)";
        /// Average queue at which the linear part reaches max_p; "auto" is 2*target - min_th.
        max_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets",
          tc "max" in "bytes", from "Li et al. 2014 (585 for a target of 300)";
        /// Weight of the present queue in the average.
        q_weight: Auto<f64> = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993; Li et al. 2014";
        /// Packets of a burst that flavour linux lets pass an empty queue, for q_weight = auto; "auto" is (2*min_th + max_th)/3.
        burst: Auto<Packets> = "auto" in "1 packet" ..= "1000000 packets", tc "burst" in "packets", from "tc red";
        /// Drop probability at max_th (the start value where it adapts); ns-2's 1/linterm.
        max_p: Ratio = "0.1" in "0" ..= "1", tc "probability" in "probability", from "ns-2 (linterm 10)";
        /// Above max_th the probability rises to 1 at 2*max_th, instead of jumping to 1.
        gentle: bool = "true", from "ns-2 (since 2001)";
        /// Space drops by at least 1/p_b arrivals.
        wait: bool = "true", from "ns-2 (since 1999)";
        /// max_p at the lower end of the gentle slope: the initial one ("stale") or the adapted one ("fresh").
        gentle_line: GentleLine = "stale", from "ns-2, measured: stale reproduces Li et al. 2014, Table 2";
        /// An ECN-capable packet is marked below this probability and dropped from there on; ns-2 has 0.1 (mark_p_).
        mark_p: Ratio = "1" in "0" ..= "1", from "RFC 3168, section 7: drop where congestion is severe";
        /// Packet size that turns the link's rate into packets per second, for the idle time.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", tc "avpkt" in "bytes", from "Li et al. 2014";
        /// The implementation whose details apply.
        flavour: RedFlavour = "ns2", from "ns-2, which the papers use";
    }
    check |p| match (p.min_th, p.max_th) {
        (Auto::Given(min), Auto::Given(max)) if min >= max => {
            Err(format!("min_th (\"{}\") must be below max_th (\"{}\")", min.text(), max.text()))
        }
        _ => Ok(()),
    };
}

/// See [`RedParams`].
#[derive(Clone)]
pub struct Red {
    pub(super) params: RedParams,
    pub(super) avg: f64,
    pub(super) max_p: f64,
    count: u32,
    above_min_th: bool,
    /// Of the flavour linux: the average is between the thresholds, where packets are counted.
    is_counting: bool,
    /// Of the flavour linux: what count*p_b must reach.
    reach: f64,
    idle_since: Option<Time>,
    /// Lengths are whole packets where the average is used, as in Linux's CHOKe; else Linux counts bytes.
    pub(super) in_whole_packets: bool,
    /// What follows from the parameters for the present queue.
    derived: Derived,
    pub(super) p: f64,
}

/// What follows from RED's parameters for a target and a rate.
#[derive(Clone, Copy)]
struct Derived {
    target: f64,
    rate: Rate,
    weight: f64,
    min_th: f64,
    max_th: f64,
}

impl Derived {
    /// Of no target.
    const NONE: Self = Self { target: f64::NAN, rate: Rate(0.0), weight: 0.0, min_th: 0.0, max_th: 0.0 };

    #[inline]
    fn is_of(&self, queue: &QueueView) -> bool {
        (self.target, self.rate) == (queue.target, queue.rate)
    }
}

/// Arrivals since the last signal, times p_b, at which the next is certain. Gaps are uniform from one less to this, so
/// that their mean is half less.
fn certain(wait: bool) -> f64 {
    if wait { 2.0 } else { 1.0 }
}

/// Share of signals at a constant p_b: one over the mean gap between them.
///
/// The k-th packet since the last signal is signalled with probability p/(n - k*p) once k*p >= n - 1, n = [`certain`].
/// All before the `first` such pass; the probability that j more do is (a - j*p)/a, a = n - first*p.
pub(super) fn share_of_spaced(p: f64, wait: bool) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p.clamp(0.0, 1.0);
    }
    let first = if wait { (1.0 / p).ceil() } else { 1.0 };
    let a = certain(wait) - first * p;
    let more = (a / p).floor();
    1.0 / (first + more - p * more * (more + 1.0) / (2.0 * a))
}

/// The same where gaps are uniform from 1 on: the k-th packet since the last signal goes unsignalled with 1 - k*p.
fn share_of_uniform(p: f64) -> f64 {
    if p <= 0.0 || p >= 1.0 {
        return p.clamp(0.0, 1.0);
    }
    let most = (1.0 / p).floor();
    1.0 / (1.0 + most - p * most * (most + 1.0) / 2.0)
}

/// A length cut to whole packets. Out of line, so that none but CHOKe computes it.
#[cold]
#[inline(never)]
fn whole(packets: f64) -> f64 {
    packets.floor()
}

/// The weight at which the average of an empty queue reaches min_th no sooner than at the end of a burst.
fn weight_of_burst(min_th: f64, burst: f64) -> f64 {
    let weight = |k: i32| libm::ldexp(1.0, -k);
    let holds = |w: &f64| burst + 1.0 - min_th <= (1.0 - libm::pow(1.0 - w, burst)) / w;
    (1..31).map(weight).find(holds).unwrap_or(weight(31))
}

impl RedParams {
    /// min_th and max_th for this target, packets; "auto" is whole packets in the flavour linux, as tc's thresholds are.
    pub(super) fn thresholds(&self, target: f64) -> (f64, f64) {
        let auto = |packets: f64| match self.flavour {
            RedFlavour::Ns2 => Packets(packets),
            RedFlavour::Linux => Packets(packets.round()),
        };
        let min_th = self.min_th.unwrap_or_else(|| auto((target / 20.0).max(5.0))).0;
        let max_th = self.max_th.unwrap_or_else(|| auto((2.0 * target - min_th).max(3.0 * min_th))).0;
        (min_th, max_th)
    }

    /// The same, if the one is below the other.
    pub(super) fn apart(&self, target: f64) -> Result<(f64, f64), String> {
        match self.thresholds(target) {
            (min_th, max_th) if min_th < max_th => Ok((min_th, max_th)),
            (min_th, max_th) => {
                Err(format!("min_th (\"{min_th} packets\") must be below max_th (\"{max_th} packets\")"))
            }
        }
    }

    /// The weight of the present queue in the average.
    pub(super) fn weight(&self, target: f64, rate: Rate) -> f64 {
        self.q_weight.unwrap_or_else(|| match self.flavour {
            RedFlavour::Ns2 => -libm::expm1(-8.0 * self.mean_packet.0 / rate.0),
            RedFlavour::Linux => {
                let (min_th, _) = self.thresholds(target);
                weight_of_burst(min_th, self.burst(target))
            }
        })
    }

    fn burst(&self, target: f64) -> f64 {
        let (min_th, max_th) = self.thresholds(target);
        self.burst.unwrap_or_else(|| Packets(((2.0 * min_th + max_th) / 3.0).floor())).0
    }

    fn is_gentle(&self) -> bool {
        self.gentle && matches!(self.flavour, RedFlavour::Ns2)
    }

    fn waits(&self) -> bool {
        self.wait && matches!(self.flavour, RedFlavour::Ns2)
    }

    /// The condition of `tc` on a burst.
    fn burst_fits(&self, target: f64) -> Result<(), String> {
        let ((min_th, _), burst) = (self.thresholds(target), self.burst(target));
        let is_used = matches!((self.q_weight, self.flavour), (Auto::Auto, RedFlavour::Linux));
        match is_used && !(1.0..=burst).contains(&min_th) {
            true => Err(format!("min_th (\"{min_th} packets\") must be from 1 packet to burst (\"{burst} packets\")")),
            false => Ok(()),
        }
    }
}

impl Red {
    /// Goes on under other parameters.
    pub(super) fn set_params(&mut self, params: RedParams) {
        (self.params, self.derived) = (params, Derived::NONE);
    }

    /// Works out weight and thresholds for another target or rate.
    #[cold]
    #[inline(never)]
    fn derive(&mut self, target: f64, rate: Rate) {
        let (min_th, max_th) = self.params.thresholds(target);
        self.derived = Derived { target, rate, weight: self.params.weight(target, rate), min_th, max_th };
    }

    /// Folds the present queue, and any idle time before it, into the average.
    #[inline]
    pub(super) fn update_average(&mut self, queue: &QueueView, cx: &Ctx) {
        if !self.derived.is_of(queue) {
            self.derive(queue.target, queue.rate);
        }
        let w = self.derived.weight;
        if let Some(since) = self.idle_since.take() {
            let packets_per_second = queue.rate.0 / (8.0 * self.params.mean_packet.0);
            let missed = (packets_per_second * cx.now.since(since).seconds()).floor();
            self.avg *= libm::pow(1.0 - w, missed);
        }
        self.avg += w * (self.waiting(queue) - self.length(self.avg));
    }

    /// The present queue as it is counted, packets.
    fn waiting(&self, queue: &QueueView) -> f64 {
        match self.params.flavour {
            RedFlavour::Linux if !self.in_whole_packets => queue.bytes as f64 / queue.packet,
            _ => f64::from(queue.packets),
        }
    }

    /// The limit of its queue: tc's RED has one in bytes.
    pub(super) fn counted_limit(&self, limit: Limit, packet: f64) -> Limit {
        match (limit, self.params.flavour) {
            (Limit::Packets(packets), RedFlavour::Linux) => Limit::Bytes((f64::from(packets) * packet).round() as u64),
            _ => limit,
        }
    }

    /// A length as it is counted.
    #[inline(always)]
    fn length(&self, packets: f64) -> f64 {
        if self.in_whole_packets { whole(packets) } else { packets }
    }

    /// On a busy link, thresholds known, ns-2's rule calls no function: its own copy of the code needs no stack.
    #[inline]
    fn is_in_steady_state(&self, queue: &QueueView) -> bool {
        let is_ns2 = matches!(self.params.flavour, RedFlavour::Ns2) && !self.in_whole_packets;
        is_ns2 && self.idle_since.is_none() && self.derived.is_of(queue)
    }

    #[inline(never)]
    fn judge_in_any_state(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.judge(queue, cx)
    }

    #[inline(always)]
    fn judge(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.update_average(queue, cx);
        self.decide(queue, cx)
    }

    /// Drops or keeps the packet that has just been averaged in.
    #[inline(always)] // for each packet
    pub(super) fn decide(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        match self.params.flavour {
            RedFlavour::Ns2 => self.decide_as_ns2(queue, cx),
            RedFlavour::Linux => self.decide_as_linux(cx),
        }
    }

    fn decide_as_linux(&mut self, cx: &mut Ctx) -> Verdict {
        let Derived { min_th, max_th, .. } = self.derived;
        let is_between = (min_th..max_th).contains(&self.avg);
        let was_between = std::mem::replace(&mut self.is_counting, is_between);
        self.p = if self.avg < min_th { 0.0 } else { self.probability(min_th, max_th) };
        if !is_between {
            return if self.p > 0.0 { Verdict::Signal(FORCED) } else { Verdict::Pass };
        }
        self.count += 1;
        let is_due = was_between && f64::from(self.count) * self.p >= self.reach;
        if is_due || !was_between {
            (self.count, self.reach) = (0, cx.rng.uniform());
        }
        if is_due { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    #[inline(always)] // for each packet
    fn decide_as_ns2(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.count += 1;
        self.p = 0.0;
        let Derived { min_th, max_th, .. } = self.derived;
        if self.avg < min_th || queue.packets <= 1 {
            self.above_min_th = false;
            return Verdict::Pass;
        }
        self.p = self.probability(min_th, max_th);
        if !self.above_min_th {
            self.above_min_th = true;
            self.count = 1;
            return Verdict::Pass;
        }
        if !cx.chance(self.spaced(self.p)) {
            return Verdict::Pass;
        }
        self.count = 0;
        match self.p {
            p if p >= 1.0 => Verdict::Drop(FORCED),
            p if p >= self.params.mark_p.0 => Verdict::Drop(EARLY),
            _ => Verdict::Signal(EARLY),
        }
    }

    #[inline(always)]
    fn probability(&self, min_th: f64, max_th: f64) -> f64 {
        if self.avg < max_th {
            return self.max_p * self.length(self.avg - min_th) / (max_th - min_th);
        }
        if !self.params.is_gentle() {
            return 1.0;
        }
        let foot = match self.params.gentle_line {
            GentleLine::Stale => self.params.max_p.0,
            GentleLine::Fresh => self.max_p,
        };
        ((1.0 - foot) / max_th * self.avg + 2.0 * foot - 1.0).min(1.0)
    }

    /// Turns p_b into p_a, which makes the gaps between drops uniform.
    fn spaced(&self, p: f64) -> f64 {
        let (expected, certain) = (f64::from(self.count) * p, certain(self.params.waits()));
        match expected {
            _ if expected < certain - 1.0 => 0.0,
            _ if expected < certain => p / (certain - expected),
            _ => 1.0,
        }
    }
}

impl Scheme for Red {
    const INFO: SchemeInfo = SchemeInfo {
        name: "red",
        title: "RED",
        family: "red",
        year: 1993,
        source: "Floyd & Jacobson, IEEE/ACM Trans. Networking 1(4), 1993; ns-2.35 queue/red.cc",
        confidence: "exact; checked against ns-2.35 over 30 scenarios",
        papers: &["jafar", "xiong2010", "boudi"],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p", unit: "ratio", doc: "drop probability p_b" },
        Observable { name: "avg", unit: "packets", doc: "average queue" },
    ];

    fn new(params: RedParams, queue: &QueueView) -> Result<Self, String> {
        params.apart(queue.target)?;
        params.burst_fits(queue.target)?;
        Ok(Self {
            params,
            avg: 0.0,
            max_p: params.max_p.0,
            count: 0,
            above_min_th: false,
            is_counting: false,
            reach: 0.0,
            idle_since: Some(Time::ZERO),
            in_whole_packets: false,
            derived: Derived::NONE,
            p: 0.0,
        })
    }

    fn params_changed(&mut self) {
        self.set_params(self.params);
        self.max_p = self.params.max_p.0;
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<RedParams> = Some(|params| Box::new(params));

    const TC: Option<Tc> = Some(Tc { kind: "red", note: "its rule is flavour = \"linux\"; thresholds in bytes" });
}

impl Aqm for Red {
    #[inline]
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        if self.is_in_steady_state(queue) { self.judge(queue, cx) } else { self.judge_in_any_state(queue, cx) }
    }

    /// Both judge the packet before they test the limit; ns-2 restarts the count at a forced drop.
    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.update_average(queue, cx);
        if matches!(self.params.flavour, RedFlavour::Linux) {
            self.decide(queue, cx);
            return;
        }
        self.above_min_th = self.avg >= self.derived.min_th && queue.packets > 1;
        self.count = 0;
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        if matches!(self.params.flavour, RedFlavour::Ns2) {
            self.idle_since = Some(cx.now);
        }
    }

    fn limit(&self, limit: Limit, packet: f64) -> Limit {
        self.counted_limit(limit, packet)
    }

    fn share(&self, p: f64, _: &QueueView) -> f64 {
        match self.params.flavour {
            RedFlavour::Ns2 => share_of_spaced(p, self.params.wait),
            RedFlavour::Linux => share_of_uniform(p),
        }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.avg][i]
    }
}

/// p_b = max_p (avg - min_th)/(max_th - min_th), gentle above max_th; avg takes one sample an arrival.
impl LinearLaw for RedParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.max_p.0 > 0.0, "max_p = 0")
    }

    fn queue(&self, p: f64, network: &Network) -> f64 {
        let (low, high) = self.thresholds(network.target);
        let (shown, max_p) = (p * self.spacing(), self.max_p.0);
        match self.is_gentle() {
            _ if shown <= max_p => low + shown / max_p * (high - low),
            true => high * (1.0 + (shown - max_p) / (1.0 - max_p)),
            false => f64::INFINITY,
        }
    }

    fn spacing(&self) -> f64 {
        certain(self.waits()) - 0.5
    }

    fn auto(&self, network: &Network) -> Vec<(&'static str, f64)> {
        let (low, high) = self.thresholds(network.target);
        let weight = self.weight(network.target, Rate(network.rate));
        vec![("min_th", low), ("max_th", high), ("q_weight", weight), ("burst", self.burst(network.target))]
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let (low, high) = self.apart(point.network.target)?;
        let weight = self.weight(point.network.target, Rate(point.network.rate));
        let (max_p, period) = (self.max_p.0, 1.0 / point.offered());
        let slope = if point.queue < high { max_p / (high - low) } else { (1.0 - max_p) / high } / self.spacing();
        Ok(LinearResponse::new(0, move |s| slope * lag(s, weight, period)))
    }
}

#[cfg(test)]
mod tests;
