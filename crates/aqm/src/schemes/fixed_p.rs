use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Ratio, params};

params! {
    /// Signals each arriving packet with a probability that somebody else sets: an agent, a schedule, or nobody.
    ///
    /// ## Idea
    /// The actuator of every scheme with a probability, without its controller. An environment sets `p` step by step; a
    /// constant `p` shows how senders answer to it.
    ///
    /// ## Equations
    /// ```text
    /// an arriving packet is signalled with probability p
    /// ```
    pub struct FixedPParams for FixedP {
        /// Probability.
        p: Ratio = "0", from "the user";
    }
}

/// See [`FixedPParams`].
#[derive(Clone)]
pub struct FixedP {
    params: FixedPParams,
}

impl Scheme for FixedP {
    const INFO: SchemeInfo = SchemeInfo {
        name: "fixed-p",
        title: "Fixed p",
        family: "baseline",
        year: 2026,
        source: "none: what an agent acts on",
        confidence: "exact: a single comparison",
        papers: &[],
    };
    const IS_LISTED: bool = false;
    const OBSERVABLES: &'static [Observable] = &[P];

    fn new(params: FixedPParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params })
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for FixedP {
    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.params.p.0) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, _: usize) -> f64 {
        self.params.p.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    #[test]
    fn the_share_that_is_asked_for_is_signalled() {
        let mut params = FixedPParams::defaults();
        params.read("x", [("p", "0.25")], &mut Vec::new());
        let mut scheme = FixedP::new(params, &bench::queue(0)).unwrap();
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        let judge = |_: &u32| scheme.on_enqueue(&bench::packet(), &bench::queue(0), cx) == Verdict::Signal(EARLY);
        let signalled = (0..100_000).filter(judge).count();
        // The standard deviation of the count is sqrt(100000 * 0.25 * 0.75) = 137.
        assert!((24_500..=25_500).contains(&signalled), "{signalled}");
    }
}
