use crate::contract::LIGHT_LOAD;
use crate::signal::BY_THRESHOLD;
use crate::{Aqm, Ctx, Exception, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Span, params};

params! {
    /// L4S step: marks ECT(1) packets that have waited longer than a threshold, and leaves all others alone.
    ///
    /// ## Idea
    /// The low-latency queue of L4S at its simplest: a threshold on the sojourn time, for senders that read the share of
    /// marks.
    ///
    /// ## Equations
    /// For each packet at the head, with `left` packets after it:
    ///
    /// ```text
    /// ECT(1) or CE, sojourn > threshold, left >= 1:  mark
    /// ```
    ///
    /// ## Readings
    /// This is the `ce_threshold` of Linux with its selector set to ECT(1). On a slow link a packet alone may wait long;
    /// it is spared.
    ///
    /// ## Departures
    /// None. Packets that are not L4S are dropped only when the buffer is full.
    pub struct L4sStepParams for L4sStep {
        /// Sojourn time above which a packet is marked.
        threshold: Span = "1 ms" in "1 us" ..= "1000 s", from "Linux dualpi2 (step_thresh); RFC 9332, A.1 has a ramp";
    }
}

/// See [`L4sStepParams`].
#[derive(Clone)]
pub struct L4sStep {
    params: L4sStepParams,
    sojourn: Span,
}

impl Scheme for L4sStep {
    const INFO: SchemeInfo = SchemeInfo {
        name: "l4s-step",
        title: "L4S step",
        family: "baseline",
        year: 2023,
        source: "RFC 9332; RFC 9331, section 5.2",
        confidence: "exact: a single comparison",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] =
        &[Observable { name: "sojourn", unit: "s", doc: "sojourn time of the last packet at the head" }];

    fn new(params: L4sStepParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, sojourn: Span::ZERO })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_THRESHOLD);
    const EXCEPTIONS: &'static [Exception] = &[Exception {
        clause: LIGHT_LOAD,
        why: "it marks packets that waited longer than 1 ms, and one packet takes 1 ms on the contract's link",
    }];
}

impl Aqm for L4sStep {
    fn acts_on_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.sojourn = cx.now.since(packet.enqueued_at);
        let is_late = self.sojourn > self.params.threshold && queue.packets >= 1;
        if is_late && packet.ecn.is_l4s() { Verdict::MarkOnly(FORCED) } else { Verdict::Pass }
    }

    fn on_empty(&mut self, _: &mut Ctx) {
        self.sojourn = Span::ZERO;
    }

    fn observe(&self, _: usize) -> f64 {
        self.sojourn.seconds()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    #[test]
    fn only_late_l4s_packets_with_company_are_marked() {
        let mut step = L4sStep::new(L4sStepParams::defaults(), &bench::queue(0)).unwrap();
        let mut leave = |ecn: Ecn, us: u64, left: u32| {
            let cx = &mut Ctx { now: Time(us * 1_000_000), rng: &mut bench::stream() };
            step.on_dequeue(&PacketView { ecn, ..bench::packet() }, &bench::queue(left), cx)
        };
        let mark = Verdict::MarkOnly(FORCED);
        assert_eq!([1000, 1001].map(|us| leave(Ecn::Ect1, us, 1)), [Verdict::Pass, mark]);
        assert_eq!(
            [Ecn::Ce, Ecn::Ect0, Ecn::NotEct].map(|ecn| leave(ecn, 5000, 9)),
            [mark, Verdict::Pass, Verdict::Pass]
        );
        assert_eq!(leave(Ecn::Ect1, 5000, 0), Verdict::Pass);
    }
}
