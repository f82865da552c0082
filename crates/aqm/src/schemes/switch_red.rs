use super::dctcp_step::UnmarkableAction;
use crate::{Aqm, Ctx, EARLY, FORCED, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Auto, Bytes, Quantity, Ratio, params};

params! {
    /// RED as data-centre switches apply it for ECN: the current queue, two thresholds in bytes, a maximum probability.
    ///
    /// ## Idea
    /// DCTCP and DCQCN average the marks at the sender, so the switch need not average its queue. If the probability rises
    /// along the queue, some senders are marked earlier than others, which a single threshold cannot do.
    ///
    /// ## Equations
    /// q bytes wait when a packet arrives:
    ///
    /// ```text
    /// p = 0                                    q < kmin
    /// p = pmax * (q - kmin) / (kmax - kmin)    kmin <= q < kmax
    /// p = 1                                    q >= kmax
    /// ```
    ///
    /// Each packet is signalled with probability p, independently of the others. If kmin equals kmax, this is the
    /// threshold of `dctcp-step` in bytes.
    ///
    /// ## What to expect
    /// Production values for DCQCN at 25 Gbit/s are kmin 100 kB, kmax 400 kB and pmax 20 %, in proportion to the rate. For
    /// DCTCP, kmin and kmax are 30 kB per 10 Gbit/s. The study [data-centre marking](../marking.md) measures both.
    ///
    /// ## Readings
    /// Between the thresholds, a packet that can carry no mark is dropped with the same probability, unless
    /// `unmarkable = "pass"`. From kmax on it is dropped, too.
    ///
    /// ## Departures
    /// Switches differ in the time at which they read the queue: at arrival or at departure. Here it is the arrival, and the
    /// arriving packet does not count. Some average the queue; `red` does that. The automatic thresholds follow the link's
    /// target, not the rate, and keep the ratio of 1 to 4.
    pub struct SwitchRedParams for SwitchRed {
        /// Queue from which on packets are signalled; "auto" is 0.4 times the link's target.
        kmin: Auto<Bytes> = "auto" in "0 B" ..= "1000000000 B", from "DCQCN in production: 100 kB at 25 Gbit/s";
        /// Queue from which on every packet is signalled; "auto" is 1.6 times the link's target, at least kmin.
        kmax: Auto<Bytes> = "auto" in "1 B" ..= "1000000000 B", from "DCQCN in production: 400 kB at 25 Gbit/s";
        /// Probability just below kmax.
        pmax: Ratio = "0.2" in "0" ..= "1", from "DCQCN in production: 20 %";
        /// Packets that can carry no mark.
        unmarkable: UnmarkableAction = "drop", from "RFC 3168, section 5: ECN replaces drops for ECN-capable packets only";
    }
    check |p| match (p.kmin, p.kmax) {
        (Auto::Given(kmin), Auto::Given(kmax)) if kmin > kmax => Err(out_of_order(kmin, kmax)),
        _ => Ok(()),
    };
}

/// Why these thresholds are rejected.
fn out_of_order(kmin: Bytes, kmax: Bytes) -> String {
    format!("kmin (\"{}\") must not exceed kmax (\"{}\")", kmin.text(), kmax.text())
}

impl SwitchRedParams {
    /// kmin and kmax for this queue, bytes.
    fn thresholds(&self, queue: &QueueView) -> (f64, f64) {
        let target = queue.target * queue.packet;
        let kmin = self.kmin.unwrap_or_else(|| Bytes(0.4 * target)).0;
        (kmin, self.kmax.unwrap_or_else(|| Bytes(kmin.max(1.6 * target))).0)
    }

    /// The probability at the present queue.
    fn probability(&self, queue: &QueueView) -> f64 {
        let ((kmin, kmax), waiting) = (self.thresholds(queue), queue.bytes as f64);
        match waiting {
            _ if waiting >= kmax => 1.0,
            _ if waiting < kmin => 0.0,
            _ => self.pmax.0 * (waiting - kmin) / (kmax - kmin),
        }
    }
}

/// See [`SwitchRedParams`].
#[derive(Clone)]
pub struct SwitchRed {
    params: SwitchRedParams,
    p: f64,
}

impl Scheme for SwitchRed {
    const INFO: SchemeInfo = SchemeInfo {
        name: "switch-red",
        title: "Switch RED",
        family: "red",
        year: 2015,
        source: "Zhu et al., SIGCOMM 2015 (DCQCN), section 3.1",
        confidence: "exact: two comparisons and a ramp",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[P];

    fn new(params: SwitchRedParams, queue: &QueueView) -> Result<Self, String> {
        match params.thresholds(queue) {
            (kmin, kmax) if kmin > kmax => Err(out_of_order(Bytes(kmin), Bytes(kmax))),
            _ => Ok(Self { params, p: 0.0 }),
        }
    }

    const TARGET: Option<&'static [&'static str]> = Some(&["kmin", "kmax"]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for SwitchRed {
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.p = self.params.probability(queue);
        let reason = if self.p < 1.0 { EARLY } else { FORCED };
        match self.params.unmarkable {
            _ if !cx.chance(self.p) => Verdict::Pass,
            UnmarkableAction::Drop => Verdict::Signal(reason),
            UnmarkableAction::Pass => Verdict::MarkOnly(reason),
        }
    }

    fn observe(&self, _: usize) -> f64 {
        self.p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    /// kmin 20 kB, kmax 60 kB, pmax 40 %, unless changed.
    fn params(changes: &[(&str, &str)]) -> SwitchRedParams {
        let mut params = SwitchRedParams::defaults();
        let usual = [("kmin", "20 kB"), ("kmax", "60 kB"), ("pmax", "40 %")];
        params.read("x", usual.iter().chain(changes).copied(), &mut Vec::new());
        params
    }

    fn queue(bytes: u64) -> QueueView {
        QueueView { bytes, ..bench::queue(1) }
    }

    #[test]
    fn the_probability_is_linear_between_the_thresholds() {
        let p = |bytes| params(&[]).probability(&queue(bytes));
        assert_eq!([0, 19_999, 20_000, 40_000, 60_000, 900_000].map(p), [0.0, 0.0, 0.0, 0.2, 1.0, 1.0]);
    }

    #[test]
    fn equal_thresholds_are_a_step() {
        let p = |bytes| params(&[("kmin", "60 kB")]).probability(&queue(bytes));
        assert_eq!([59_999, 60_000].map(p), [0.0, 1.0]);
    }

    #[test]
    fn automatic_thresholds_have_the_target_at_their_centre() {
        let params = SwitchRedParams::defaults();
        let queue = QueueView { target: 50.0, packet: 1500.0, ..bench::queue(0) };
        assert_eq!(params.thresholds(&queue), (30_000.0, 120_000.0));
        let given = SwitchRedParams { kmin: Auto::Given(Bytes(200_000.0)), ..params };
        assert_eq!(given.thresholds(&queue), (200_000.0, 200_000.0));
    }

    #[test]
    fn thresholds_out_of_order_are_rejected() {
        let mut problems = Vec::new();
        SwitchRedParams::defaults().read("x", [("kmin", "61 kB"), ("kmax", "60 kB")], &mut problems);
        assert_eq!(problems[0].to_string(), "x: kmin (\"61 kB\") must not exceed kmax (\"60 kB\")");
        let low = SwitchRedParams { kmax: Auto::Given(Bytes(1.0)), ..SwitchRedParams::defaults() };
        assert!(SwitchRed::new(low, &bench::queue(0)).is_err_and(|why| why.contains("kmax (\"1 B\")")));
    }

    #[test]
    fn packets_are_signalled_with_the_probability() {
        for (unmarkable, signal) in [("drop", Verdict::Signal(EARLY)), ("pass", Verdict::MarkOnly(EARLY))] {
            let mut red = SwitchRed::new(params(&[("unmarkable", unmarkable)]), &queue(0)).unwrap();
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
            let judge = |_: &u32| red.on_enqueue(&bench::packet(), &queue(40_000), cx) == signal;
            let signalled = (0..100_000).filter(judge).count();
            // The standard deviation of the count is sqrt(100000 * 0.2 * 0.8) = 126.
            assert!((19_500..=20_500).contains(&signalled), "{signalled}");
        }
    }

    #[test]
    fn every_packet_from_kmax_on_is_signalled() {
        let mut red = SwitchRed::new(params(&[]), &queue(0)).unwrap();
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        let verdicts = [60_000; 100].map(|bytes| red.on_enqueue(&bench::packet(), &queue(bytes), cx));
        assert_eq!(verdicts, [Verdict::Signal(FORCED); 100]);
    }
}
