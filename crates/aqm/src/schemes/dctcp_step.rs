use crate::signal::BY_THRESHOLD;
use crate::{Aqm, Ctx, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Auto, Packets, choice, params};

choice! {
    /// The treatment of packets above the threshold that can carry no mark.
    pub enum UnmarkableAction {
        /// Dropped, as by a switch that does this with RED.
        Drop = "drop",
        /// Left to the end of the buffer.
        Pass = "pass",
    }
}

params! {
    /// DCTCP's marking: every packet that finds the queue at a threshold or above is signalled.
    ///
    /// ## Idea
    /// If senders use the share of marked packets, as DCTCP does, the queue need not average. One threshold on the
    /// current queue signals early and exactly.
    ///
    /// ## Equations
    /// q packets wait when one arrives:
    ///
    /// ```text
    /// q >= k:  mark
    /// ```
    ///
    /// RFC 8257 (3.1, after Alizadeh et al. 2010) requires k > RTT * C / 7.
    ///
    /// ## Readings
    /// A packet that can carry no mark is dropped, as it is by a switch that sets RED's thresholds both to k.
    ///
    /// ## Departures
    /// The default threshold is the link's target, as the scheme cannot know the round-trip time.
    pub struct DctcpStepParams for DctcpStep {
        /// Queue from which on packets are signalled; "auto" is the link's target.
        k: Auto<Packets> = "auto" in "1 packet" ..= "10000000 packets", from "RFC 8257, 3.1 (paper: 20 at 1 Gbit/s, recalled)";
        /// Packets that can carry no mark.
        unmarkable: UnmarkableAction = "drop", from "RFC 8257, section 4.1";
    }
}

/// See [`DctcpStepParams`].
#[derive(Clone)]
pub struct DctcpStep {
    params: DctcpStepParams,
}

impl Scheme for DctcpStep {
    const INFO: SchemeInfo = SchemeInfo {
        name: "dctcp-step",
        title: "DCTCP step",
        family: "baseline",
        year: 2010,
        source: "Alizadeh et al., SIGCOMM 2010; RFC 8257",
        confidence: "exact: a single comparison",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[];

    fn new(params: DctcpStepParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&["k"]);
    const SIGNAL: Result<Signal, &'static str> = Err(BY_THRESHOLD);
}

impl Aqm for DctcpStep {
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, _: &mut Ctx) -> Verdict {
        let k = self.params.k.unwrap_or_else(|| Packets(queue.target)).0;
        match self.params.unmarkable {
            _ if f64::from(queue.packets) < k => Verdict::Pass,
            UnmarkableAction::Drop => Verdict::Signal(FORCED),
            UnmarkableAction::Pass => Verdict::MarkOnly(FORCED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    #[test]
    fn the_threshold_is_the_first_queue_that_is_signalled() {
        for (unmarkable, signal) in [("drop", Verdict::Signal(FORCED)), ("pass", Verdict::MarkOnly(FORCED))] {
            let mut params = DctcpStepParams::defaults();
            params.read("x", [("unmarkable", unmarkable)], &mut Vec::new());
            let mut step = DctcpStep::new(params, &bench::queue(0)).unwrap();
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
            let verdicts = [0, 49, 50, 51].map(|packets| step.on_enqueue(&bench::packet(), &bench::queue(packets), cx));
            assert_eq!(verdicts, [Verdict::Pass, Verdict::Pass, signal, signal]);
        }
    }
}
