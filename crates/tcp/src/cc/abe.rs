use super::as_slow_start;
use super::slow_start::{SlowStart, SlowStartChoice};
use super::{CongestionControl, CongestionControlLaw, CongestionEvent, LawInfo, Needs};
use aqmlab_core::params;

params! {
    /// ABE: Reno that gives up less for a mark than for a loss.
    ///
    /// ## Idea
    /// A loss may mean a full buffer, a mark means an AQM with a short queue. If the queue is short, half of the window
    /// is more than the queue holds, and the link becomes idle: a fifth is enough.
    ///
    /// ## Equations
    /// Growth and losses as Reno (RFC 5681). At the echo of a mark (RFC 8511, section 3):
    ///
    /// ```text
    /// ssthresh = max(beta_ecn*flight, 2),   cwnd = ssthresh
    /// ```
    ///
    /// ## What to expect
    /// For a mark in 1/p segments the mean window is sqrt((1 + beta_ecn)/(2*(1 - beta_ecn)*p)): 1.73 times Reno's.
    ///
    /// ## Readings
    /// The profile `linux` reduces the window, not the flight, as Linux's Reno does. Linux itself has no ABE.
    pub struct AbeParams {
        /// Share of the window that a mark leaves.
        beta_ecn: f64 = "0.8" in "0.5" ..= "0.95", from "RFC 8511, section 3.1";
        /// The slow start ([Slow starts](../tcp.md#slow-starts)); all but `classic` go with variant `rack`.
        slow_start: SlowStartChoice = "classic", from "RFC 5681, section 3.1";
    }
}

/// See [`AbeParams`].
#[derive(Clone, Debug)]
pub struct Abe {
    params: AbeParams,
    slow_start: SlowStart,
}

impl CongestionControlLaw for Abe {
    const INFO: LawInfo = LawInfo { name: "abe", title: "ABE", year: 2018, source: "RFC 8511" };
    type Params = AbeParams;

    fn new(params: AbeParams) -> Self {
        Self { params, slow_start: SlowStart::new(params.slow_start) }
    }

    fn needs(params: &AbeParams) -> Needs {
        params.slow_start.needs(Self::NEEDS)
    }
}

impl CongestionControl for Abe {
    as_slow_start!(on_ack, on_feedback, on_lost, threshold, on_congestion, on_recovered, on_timeout);

    fn kept(&self, event: CongestionEvent) -> f64 {
        if event == CongestionEvent::Echo { self.params.beta_ecn } else { 0.5 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::{Facts, Window};
    use aqmlab_core::ParamSet;

    #[test]
    fn a_mark_leaves_more_than_a_loss() {
        let abe = Abe::new(AbeParams::defaults());
        assert_eq!(
            [CongestionEvent::Echo, CongestionEvent::Loss, CongestionEvent::Timeout].map(|event| abe.kept(event)),
            [0.8, 0.5, 0.5]
        );
    }

    #[test]
    fn the_window_grows_as_renos_does() {
        let mut window = Window { cwnd: 3.0, ssthresh: 4.0 };
        let mut abe = Abe::new(AbeParams::defaults());
        abe.on_ack(&mut window, &Facts::default());
        abe.on_ack(&mut window, &Facts::default());
        assert_eq!(window.cwnd, 4.25);
    }
}
