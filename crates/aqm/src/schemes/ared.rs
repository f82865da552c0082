use super::red::{Red, RedParams};
use crate::{Aqm, Ctx, Limit, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Tc, Verdict};
use aqmlab_core::{Auto, Ratio, Span, Time, params};

params! {
    /// Adaptive RED: RED whose maximum probability is adapted to hold the average queue mid-way between the thresholds.
    ///
    /// ## Idea
    /// RED's queue depends on the load. Adaptive RED raises max_p slowly by addition while the average is high and lowers
    /// it by multiplication while it is low.
    ///
    /// ## Equations
    /// RED's (see `red`), and at the first arrival more than `interval` after the last change, with
    /// d = 0.4 * (max_th - min_th):
    ///
    /// ```text
    /// avg < min_th + d and max_p > bottom:  max_p = beta * max_p
    /// avg > max_th - d and max_p < top:     max_p = max_p + min(alpha, max_p / 4)
    /// ```
    ///
    /// ## Two states under heavy load
    /// In ns-2 the gentle line above max_th always starts from the *initial* max_p (0.1). When max_p has adapted to
    /// 0.5, the drop probability falls from 0.5 just below max_th to 0.1 just above: the loop has two attractors. If
    /// the first burst lifts the average above max_th it stays there, near 700 packets, and ARED behaves as RED does.
    /// That is the "failure of ARED" of Li et al. 2014 (Tables 2, 5, 7). At 500 flows (Table 1) the seed decides: most
    /// runs average about 350 packets, some about 635. Reports show both branches. `gentle_line = "fresh"` removes the
    /// upper state.
    ///
    /// ## Readings
    /// The paper of 2001 also sets the weight by the link's speed: `q_weight = "auto"` is its 1 - exp(-1/C), equation
    /// (3) of Li et al. 2014, with C packets of `mean_packet` a second. The tables of Li et al. were made with 0.002,
    /// the default. `flavour = "linux"` uses RED's rule of Linux. Linux adapts max_p in the same way, with bounds of 1
    /// % and 50 %, every half second, even without arrivals.
    ///
    /// ## Departures
    /// As `red`. For a target of 300 packets, the thresholds of Li et al. are 15 and 585 packets. For a target of 50
    /// they are 15 and 75.
    pub struct AredParams for Ared {
        flatten red: RedParams;
        /// Maximum increase of max_p in a step.
        alpha: f64 = "0.01" in "0" ..= "1", from "Floyd, Gummadi & Shenker 2001; Li et al. 2014";
        /// Factor of a decrease of max_p.
        beta: f64 = "0.9" in "0" ..= "1", from "Floyd, Gummadi & Shenker 2001; Li et al. 2014";
        /// Time between changes of max_p.
        interval: Span = "0.5 s" in "1 ms" ..= "1000 s", from "Floyd, Gummadi & Shenker 2001; Li et al. 2014";
        /// max_p is not raised at or above this.
        top: Ratio = "0.5" in "0" ..= "1", from "Floyd, Gummadi & Shenker 2001; ns-2";
        /// max_p is not lowered at or below this; "auto" is min(0.01, 80 kbit/s / rate).
        bottom: Auto<Ratio> = "auto" in "0" ..= "1", from "ns-2 (bottom_ 0)";
    }
}

/// See [`AredParams`].
#[derive(Clone)]
pub struct Ared {
    params: AredParams,
    red: Red,
    last_change: Time,
}

impl Ared {
    fn adapt_max_p(&mut self, queue: &QueueView, now: Time) {
        if now.since(self.last_change) <= self.params.interval {
            return;
        }
        let red = &mut self.red;
        let (min_th, max_th) = self.params.red.thresholds(queue.target);
        let part = 0.4 * (max_th - min_th);
        let bottom = self.params.bottom.unwrap_or_else(|| Ratio((80_000.0 / queue.rate.0).min(0.01))).0;
        if red.avg < min_th + part && red.max_p > bottom {
            red.max_p *= self.params.beta;
        } else if red.avg > max_th - part && red.max_p < self.params.top.0 {
            red.max_p += self.params.alpha.min(red.max_p / 4.0);
        } else {
            return; // ns-2 notes the time of changes only, so the test repeats at each arrival
        }
        self.last_change = now;
    }
}

impl Scheme for Ared {
    const INFO: SchemeInfo = SchemeInfo {
        name: "ared",
        title: "ARED",
        family: "red",
        year: 2001,
        source: "Floyd, Gummadi & Shenker, \"Adaptive RED\", ICSI 2001; ns-2.35 queue/red.cc",
        confidence: "exact; checked against ns-2.35 over 40 scenarios, both branches",
        papers: &["li2014", "sun2007", "jafar", "xiong2010"],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p", unit: "ratio", doc: "drop probability p_b" },
        Observable { name: "avg", unit: "packets", doc: "average queue" },
        Observable { name: "max_p", unit: "ratio", doc: "drop probability at max_th, as adapted" },
    ];
    const AT_START: &'static [(&'static str, &'static str)] = &[("max_p", "it has been adapted since")];

    fn new(params: AredParams, queue: &QueueView) -> Result<Self, String> {
        let red = Red::new(params.red, queue)?;
        Ok(Self { params, red, last_change: Time::ZERO })
    }

    fn params_changed(&mut self) {
        self.red.set_params(self.params.red);
    }

    const TARGET: Option<&'static [&'static str]> = Some(&["min_th", "max_th"]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const TC: Option<Tc> = Some(Tc { kind: "red", note: "with `adaptive`; thresholds in bytes, no gentle line" });
}

impl Aqm for Ared {
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.red.update_average(queue, cx);
        self.adapt_max_p(queue, cx.now);
        self.red.decide(queue, cx)
    }

    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.red.on_overflow(queue, cx);
        self.adapt_max_p(queue, cx.now);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.red.on_empty(cx);
    }

    fn limit(&self, limit: Limit, packet: f64) -> Limit {
        self.red.counted_limit(limit, packet)
    }

    fn share(&self, p: f64, queue: &QueueView) -> f64 {
        self.red.share(p, queue)
    }

    fn observe(&self, i: usize) -> f64 {
        [self.red.p, self.red.avg, self.red.max_p][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// Thresholds 10 and 110: the dead band is 50 ..= 70.
    fn ared(avg: f64, max_p: f64) -> Ared {
        let mut params = AredParams::defaults();
        params.read("ared", [("min_th", "10 packets"), ("max_th", "110 packets")], &mut Vec::new());
        let mut ared = Ared::new(params, &bench::queue(0)).unwrap();
        (ared.red.avg, ared.red.max_p) = (avg, max_p);
        ared
    }

    fn max_p_after(mut ared: Ared, seconds: f64) -> f64 {
        ared.adapt_max_p(&bench::queue(0), Time::ZERO + Span::from_seconds(seconds));
        ared.red.max_p
    }

    #[test]
    fn falls_by_a_tenth_below_the_band_and_rises_by_at_most_alpha_above_it() {
        assert!((max_p_after(ared(49.0, 0.1), 0.6) - 0.09).abs() < 1e-15);
        assert_eq!(max_p_after(ared(60.0, 0.1), 0.6), 0.1);
        assert!((max_p_after(ared(71.0, 0.1), 0.6) - 0.11).abs() < 1e-15);
        assert!((max_p_after(ared(71.0, 0.02), 0.6) - 0.025).abs() < 1e-15);
    }

    #[test]
    fn waits_for_the_interval_and_stops_at_the_bounds() {
        assert_eq!(max_p_after(ared(49.0, 0.1), 0.5), 0.1);
        assert_eq!(max_p_after(ared(71.0, 0.5), 0.6), 0.5);
        // 80 kbit/s over 8 Mbit/s is 0.01.
        assert_eq!(max_p_after(ared(49.0, 0.01), 0.6), 0.01);
    }

    #[test]
    fn only_a_change_restarts_the_interval() {
        let mut ared = ared(60.0, 0.1);
        ared.adapt_max_p(&bench::queue(0), Time::ZERO + Span::from_seconds(0.6));
        ared.red.avg = 49.0;
        ared.adapt_max_p(&bench::queue(0), Time::ZERO + Span::from_seconds(0.7));
        assert!((ared.red.max_p - 0.09).abs() < 1e-15);
    }

    /// 8 Mbit/s are 1000 packets of 1000 B a second. A queue of 100 moves an average of 0 to 100*(1 - exp(-0.001)).
    #[test]
    fn the_automatic_weight_is_one_less_exp_of_a_packet_time() {
        let mut params = AredParams::defaults();
        params.read("ared", [("q_weight", "auto")], &mut Vec::new());
        let mut ared = Ared::new(params, &bench::queue(0)).unwrap();
        ared.on_enqueue(&bench::packet(), &bench::queue(100), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        assert!((ared.red.avg - 0.099_950_016_66).abs() < 1e-11, "{}", ared.red.avg);
    }
}
