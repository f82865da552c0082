use crate::linear::{Linear, Network, Point, lag, needs};
use crate::{Aqm, Ctx, EARLY, FORCED, Info, Law, Observable, PacketView, QueueView, Scheme, Signal, Tc, Verdict};
use aqmlab_core::{Auto, Bytes, Packets, Quantity, Rate, Ratio, Time, choice, params};

choice! {
    /// Which `max_p` the gentle line starts from.
    pub enum GentleLine {
        /// The initial one, for ever: ns-2 and ns-3.
        Stale = "stale",
        /// The present one, as adapted.
        Fresh = "fresh",
    }
}

choice! {
    /// Whose RED.
    pub enum Flavour {
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
    /// With `wait` the gaps between drops are uniform on [1/p_b, 2/p_b], so the realised loss is p_b / 1.5; without it
    /// the gaps are uniform on [1, 1/p_b].
    ///
    /// ## Readings
    /// This is ns-2.35 in packet mode, which reproduces the papers. mp0 is the *initial* max_p for ever
    /// (`gentle_line = "stale"`): ns-2 and ns-3 compute the gentle line once, at reset.
    ///
    /// `flavour = "linux"` is `sch_red`: no gentle line and no `wait` (`gentle`, `wait` and `mark_p` are ns-2's), and
    ///
    /// ```text
    /// avg < min_th:    passes
    /// avg >= max_th:   signalled (marked with ECN, else dropped), the first and at any q
    /// else:            signalled when count*p_b >= r; then count = 0, r uniform on [0, 1) anew
    ///                  count = 0 at the first arrival within, which passes and draws r
    /// ```
    ///
    /// so that gaps are uniform on [1, 1/p_b]. A packet that finds the buffer full has been judged before. `q_weight = "auto"`
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
    /// From Linux (`red.h` of about 6.0, `sch_red.c` of about 5.4, iproute2's `q_red.c` and `tc_red.c`, read line by line):
    /// lengths count in packets; while the link idles the average decays exactly, not by a table of powers of two; no
    /// `harddrop` and no `nodrop`.
    ///
    /// No byte mode. "auto" thresholds are symmetric around the link's target (15 and 585 packets for a target of 300,
    /// the values of Li et al. 2014), not ns-2's 5 ms rule, so that schemes compared on one link aim at one queue.
    pub struct RedParams {
        /// Average queue below which nothing is dropped; "auto" is target/20, at least 5 packets.
        min_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets", from "Li et al. 2014 (15 for a target of 300)";
        /// Average queue at which the linear part reaches max_p; "auto" is 2*target - min_th.
        max_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets", from "Li et al. 2014 (585 for a target of 300)";
        /// Weight of the present queue in the average.
        q_weight: Auto<f64> = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993; Li et al. 2014";
        /// Packets of a burst that flavour linux lets pass an empty queue, for q_weight = auto; "auto" is (2*min_th + max_th)/3.
        burst: Auto<Packets> = "auto" in "1 packet" ..= "1000000 packets", from "tc red";
        /// Drop probability at max_th (the start value where it adapts); ns-2's 1/linterm.
        max_p: Ratio = "0.1" in "0" ..= "1", from "ns-2 (linterm 10)";
        /// Above max_th let the probability rise to 1 at 2*max_th instead of jumping there.
        gentle: bool = "true", from "ns-2 (since 2001)";
        /// Space drops by at least 1/p_b arrivals.
        wait: bool = "true", from "ns-2 (since 1999)";
        /// max_p at the foot of the gentle line: the initial one ("stale") or the adapted one ("fresh").
        gentle_line: GentleLine = "stale", from "ns-2, measured: stale reproduces Li et al. 2014, Table 2";
        /// An ECN-capable packet is marked below this probability and dropped from there on; ns-2 has 0.1 (mark_p_).
        mark_p: Ratio = "1" in "0" ..= "1", from "RFC 3168, section 7: drop where congestion is severe";
        /// Packet size that turns the link's rate into packets per second, for the idle time.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
        /// Whose details.
        flavour: Flavour = "ns2", from "ns-2, which the papers use";
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
    pub(super) p: f64,
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

/// The weight at which the average of an empty queue reaches min_th no sooner than at the end of a burst.
fn weight_of_burst(min_th: f64, burst: f64) -> f64 {
    let weight = |k: i32| libm::ldexp(1.0, -k);
    let holds = |w: &f64| burst + 1.0 - min_th <= (1.0 - libm::pow(1.0 - w, burst)) / w;
    (1..31).map(weight).find(holds).unwrap_or(weight(31))
}

impl RedParams {
    /// min_th and max_th for this target, packets.
    pub(super) fn thresholds(&self, target: f64) -> (f64, f64) {
        let min_th = self.min_th.unwrap_or_else(|| Packets((target / 20.0).max(5.0))).0;
        let max_th = self.max_th.unwrap_or_else(|| Packets((2.0 * target - min_th).max(3.0 * min_th))).0;
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
            Flavour::Ns2 => -libm::expm1(-8.0 * self.mean_packet.0 / rate.0),
            Flavour::Linux => {
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
        self.gentle && matches!(self.flavour, Flavour::Ns2)
    }

    fn waits(&self) -> bool {
        self.wait && matches!(self.flavour, Flavour::Ns2)
    }

    /// What `tc` refuses.
    fn burst_fits(&self, target: f64) -> Result<(), String> {
        let ((min_th, _), burst) = (self.thresholds(target), self.burst(target));
        let is_used = matches!((self.q_weight, self.flavour), (Auto::Auto, Flavour::Linux));
        match is_used && !(1.0..=burst).contains(&min_th) {
            true => Err(format!("min_th (\"{min_th} packets\") must be from 1 packet to burst (\"{burst} packets\")")),
            false => Ok(()),
        }
    }
}

impl Red {
    /// Folds the present queue, and any idle time before it, into the average.
    pub(super) fn update_average(&mut self, queue: &QueueView, cx: &Ctx) {
        let w = self.params.weight(queue.target, queue.rate);
        if let Some(since) = self.idle_since.take() {
            let packets_per_second = queue.rate.0 / (8.0 * self.params.mean_packet.0);
            let missed = (packets_per_second * cx.now.since(since).seconds()).floor();
            self.avg *= libm::pow(1.0 - w, missed);
        }
        self.avg += w * (f64::from(queue.packets) - self.avg);
    }

    /// Drops or keeps the packet that has just been averaged in.
    pub(super) fn decide(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        match self.params.flavour {
            Flavour::Ns2 => self.decide_as_ns2(queue, cx),
            Flavour::Linux => self.decide_as_linux(queue, cx),
        }
    }

    fn decide_as_linux(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let (min_th, max_th) = self.params.thresholds(queue.target);
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

    fn decide_as_ns2(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.count += 1;
        self.p = 0.0;
        let (min_th, max_th) = self.params.thresholds(queue.target);
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

    fn probability(&self, min_th: f64, max_th: f64) -> f64 {
        if self.avg < max_th {
            return self.max_p * (self.avg - min_th) / (max_th - min_th);
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
    const INFO: Info = Info {
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
    type Params = RedParams;

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
            p: 0.0,
        })
    }

    fn params(&mut self) -> &mut RedParams {
        &mut self.params
    }

    fn retuned(&mut self) {
        self.max_p = self.params.max_p.0;
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);

    fn law(params: Self::Params) -> Option<Box<dyn Law>> {
        Some(Box::new(params))
    }

    const TC: Option<Tc> =
        Some(Tc { kind: "red", note: "its rule is that of flavour = \"linux\"; thresholds in bytes" });
}

impl Aqm for Red {
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.update_average(queue, cx);
        self.decide(queue, cx)
    }

    /// Both judge the packet before they test the limit; ns-2 restarts the count at a forced drop.
    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.update_average(queue, cx);
        if matches!(self.params.flavour, Flavour::Linux) {
            self.decide(queue, cx);
            return;
        }
        self.above_min_th = self.avg >= self.params.thresholds(queue.target).0 && queue.packets > 1;
        self.count = 0;
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.idle_since = Some(cx.now);
    }

    fn share(&self, p: f64, _: &QueueView) -> f64 {
        match self.params.flavour {
            Flavour::Ns2 => share_of_spaced(p, self.params.wait),
            Flavour::Linux => share_of_uniform(p),
        }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.avg][i]
    }
}

/// p_b = max_p (avg - min_th)/(max_th - min_th), gentle above max_th; avg takes one sample an arrival.
impl Law for RedParams {
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

    fn at(&self, point: &Point) -> Result<Linear, String> {
        let (low, high) = self.apart(point.network.target)?;
        let weight = self.weight(point.network.target, Rate(point.network.rate));
        let (max_p, period) = (self.max_p.0, 1.0 / point.offered());
        let slope = if point.queue < high { max_p / (high - low) } else { (1.0 - max_p) / high } / self.spacing();
        Ok(Linear::new(0, move |s| slope * lag(s, weight, period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Span};

    /// A queue of `packets` on a link of 8 Mbit/s (1000 packets of 1000 B a second), thresholds 10 and 30.
    fn red(changes: &[(&str, &str)]) -> Red {
        let mut params = RedParams::defaults();
        let pairs = [("min_th", "10 packets"), ("max_th", "30 packets"), ("q_weight", "0.5")];
        params.read("red", pairs.iter().chain(changes).copied(), &mut Vec::new());
        Red::new(params, &bench::queue(0)).unwrap()
    }

    #[test]
    fn average_decays_by_the_packets_an_idle_link_could_have_sent() {
        let (mut red, mut rng) = (red(&[]), bench::stream());
        red.idle_since = None;
        red.avg = 16.0;
        red.on_empty(&mut Ctx { now: Time::ZERO, rng: &mut rng });
        // 2.9 ms at 1000 packets/s are 2 whole packets: 16 * 0.5^2, then one sample of 0: half of 4.
        let cx = Ctx { now: Time::ZERO + Span::from_seconds(0.0029), rng: &mut rng };
        red.update_average(&bench::queue(0), &cx);
        assert_eq!(red.avg, 2.0);
    }

    #[test]
    fn probability_is_linear_then_gentle_then_one() {
        let mut red = red(&[]);
        let mut at = |avg| {
            red.avg = avg;
            red.probability(10.0, 30.0)
        };
        assert_eq!(at(10.0), 0.0);
        assert!((at(20.0) - 0.05).abs() < 1e-15);
        assert!((at(30.0) - 0.1).abs() < 1e-15);
        assert!((at(45.0) - 0.55).abs() < 1e-15);
        assert!((at(60.0) - 1.0).abs() < 1e-15);
        assert_eq!(at(70.0), 1.0);
    }

    #[test]
    fn the_fresh_gentle_line_follows_the_adapted_max_p() {
        let (mut stale, mut fresh) = (red(&[]), red(&[("gentle_line", "fresh")]));
        (stale.max_p, stale.avg, fresh.max_p, fresh.avg) = (0.5, 30.0, 0.5, 30.0);
        assert!((stale.probability(10.0, 30.0) - 0.1).abs() < 1e-15);
        assert!((fresh.probability(10.0, 30.0) - 0.5).abs() < 1e-15);
    }

    #[test]
    fn gaps_are_uniform_on_one_to_two_over_p() {
        let mut red = red(&[]);
        let mut at = |count| {
            red.count = count;
            red.spaced(0.1)
        };
        assert_eq!(at(9), 0.0);
        assert!((at(10) - 0.1).abs() < 1e-15);
        assert!((at(19) - 1.0).abs() < 1e-9);
        assert_eq!(at(20), 1.0);
    }

    /// Gaps of 10 to 19 and of 1 to 9 packets at p_b = 0.1; towards p_b = 0 the mean gap is `spacing` over p_b.
    #[test]
    fn the_share_of_signals_is_one_over_the_mean_gap() {
        for (wait, gap, spacing) in [("true", 14.5, 1.5), ("false", 5.0, 0.5)] {
            let red = red(&[("wait", wait)]);
            let share = red.share(0.1, &bench::queue(0));
            assert!((share - 1.0 / gap).abs() < 1e-12, "{share}");
            assert_eq!(red.params.spacing(), spacing);
            assert!((red.share(1e-6, &bench::queue(0)) * spacing / 1e-6 - 1.0).abs() < 1e-5);
        }
    }

    #[test]
    fn without_wait_a_drop_may_follow_at_once() {
        let mut red = red(&[("wait", "false")]);
        red.count = 5;
        assert_eq!(red.spaced(0.1), 0.2);
        red.count = 10;
        assert_eq!(red.spaced(0.1), 1.0);
    }

    #[test]
    fn the_first_arrival_above_min_th_is_never_dropped() {
        let (mut red, mut rng) = (red(&[("max_th", "11 packets"), ("gentle", "false")]), bench::stream());
        red.idle_since = None;
        red.avg = 100.0;
        let mut judge = |queue| {
            let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
            red.on_enqueue(&bench::packet(), &bench::queue(queue), &mut cx)
        };
        assert_eq!(judge(100), Verdict::Pass);
        assert_eq!(judge(100), Verdict::Drop(FORCED));
        assert_eq!(judge(1), Verdict::Pass, "a queue of one is never dropped from");
    }

    #[test]
    fn a_lost_packet_that_crosses_min_th_leaves_none_to_let_pass() {
        let (mut red, mut rng) = (red(&[("max_th", "11 packets"), ("gentle", "false")]), bench::stream());
        (red.idle_since, red.avg) = (None, 100.0);
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        red.on_overflow(&bench::queue(100), &mut cx);
        assert_eq!(red.count, 0);
        // p_b = 1 and count = 1: p_a = 1 / (2 - 1), sure.
        assert_eq!(red.on_enqueue(&bench::packet(), &bench::queue(99), &mut cx), Verdict::Drop(FORCED));
    }

    /// avg = 20 has p_b = 0.05; the 41st arrival since the last drop is certain to be signalled.
    #[test]
    fn marks_below_mark_p_and_drops_from_there_on() {
        for (mark_p, expected) in
            [("1", Verdict::Signal(EARLY)), ("0.06", Verdict::Signal(EARLY)), ("0.05", Verdict::Drop(EARLY))]
        {
            let (mut red, mut rng) = (red(&[("mark_p", mark_p)]), bench::stream());
            (red.idle_since, red.avg, red.above_min_th, red.count) = (None, 20.0, true, 40);
            let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
            assert_eq!(red.on_enqueue(&bench::packet(), &bench::queue(20), &mut cx), expected);
        }
    }

    #[test]
    fn the_weight_of_a_burst_is_that_of_tc() {
        // burst 33, min_th 20: a = 14; W = 1/8 gives 7.9, 1/16 gives 14.1.
        assert_eq!(weight_of_burst(20.0, 33.0), 1.0 / 16.0);
        assert_eq!(weight_of_burst(4.0, 4.0), 0.5, "a = 1");
        // a = 3 at burst 6: 1/2 gives 1.97, 1/4 gives 3.29.
        assert_eq!(weight_of_burst(4.0, 6.0), 0.25);
        // Where min_th is 20 and max_th 60, tc takes a burst of 100/3 packets, rounded down.
        let tc = [("flavour", "linux"), ("q_weight", "auto"), ("min_th", "20 packets"), ("max_th", "60 packets")];
        assert_eq!(red(&tc).params.weight(50.0, Rate(8e6)), 1.0 / 16.0);
    }

    #[test]
    fn a_burst_below_min_th_is_refused_where_it_is_used() {
        let mut params = RedParams::defaults();
        let pairs = [("flavour", "linux"), ("q_weight", "auto"), ("min_th", "20 packets"), ("burst", "19 packets")];
        params.read("red", pairs, &mut Vec::new());
        assert!(Red::new(params, &bench::queue(0)).is_err_and(|why| why.contains("19 packets")));
        params.q_weight = Auto::Given(0.002);
        assert!(Red::new(params, &bench::queue(0)).is_ok());
    }

    /// 1000 packets of 1000 B a second: 1 - exp(-0.001) = 0.001 - 0.001^2/2 + 0.001^3/6.
    #[test]
    fn the_automatic_weight_of_ns2_follows_the_rate() {
        let weight = red(&[("q_weight", "auto")]).params.weight(50.0, Rate(8e6));
        assert!((weight - 0.000_999_500_166_6).abs() < 1e-13, "{weight}");
    }

    #[test]
    fn linux_drops_every_packet_above_max_th_and_draws_between() {
        let linux = [("flavour", "linux"), ("max_th", "30 packets"), ("q_weight", "1")];
        let (mut red, mut rng) = (red(&linux), bench::stream());
        red.idle_since = None;
        let mut judge = |red: &mut Red, queue| {
            red.on_enqueue(&bench::packet(), &bench::queue(queue), &mut Ctx { now: Time::ZERO, rng: &mut rng })
        };
        assert_eq!([30, 31, 99].map(|queue| judge(&mut red, queue)), [Verdict::Signal(FORCED); 3], "even the first");
        assert_eq!(judge(&mut red, 20), Verdict::Pass, "the first between");
        // p_b = 0.05: count*p_b reaches 0.12 with the third.
        red.reach = 0.12;
        assert_eq!([20; 3].map(|queue| judge(&mut red, queue)), [Verdict::Pass, Verdict::Pass, Verdict::Signal(EARLY)]);
        assert_eq!(red.count, 0);
        assert_eq!(judge(&mut red, 9), Verdict::Pass);
        assert!(!red.is_counting);
    }

    /// Gaps of 1 to 10 packets at p_b = 0.1 in Linux.
    #[test]
    fn the_share_of_linux_is_one_over_the_mean_gap() {
        let red = red(&[("flavour", "linux")]);
        assert!((red.share(0.1, &bench::queue(0)) - 1.0 / 5.5).abs() < 1e-12);
        assert_eq!(red.params.spacing(), 0.5);
    }
}
