use super::as_slow_start;
use super::slow_start::{SlowStart, SlowStartChoice};
use super::{CongestionControl, CongestionControlLaw, Facts, LawInfo, Needs, Window};
use aqmlab_core::params;

params! {
    /// Reno: the window grows by a segment in a round trip and is halved at a congestion event.
    ///
    /// ## Idea
    /// Additive increase, multiplicative decrease: flows that share a queue come to equal windows.
    ///
    /// ## Equations
    /// At an ACK of new data outside fast recovery:
    ///
    /// ```text
    /// cwnd += 1        while cwnd < ssthresh   (slow start)
    /// cwnd += 1/cwnd   from there on           (congestion avoidance)
    /// ```
    ///
    /// At a loss or the echo of a mark: `ssthresh = max(flight/2, 2)`, `cwnd = ssthresh`; at a timeout `cwnd = 1`.
    ///
    /// ## What to expect
    /// A long flow that loses a share p of its segments has a mean window of about sqrt(1.5/p).
    ///
    /// ## Departures
    /// An ACK counts once, however many segments it acknowledges (RFC 5681, section 3.1, allows that): delayed ACKs
    /// halve the growth of the window. Under variant `rack` the segments count, and as many as the window has whole
    /// ones add one (RFC 3465, section 2.1; `tcp_cong_avoid_ai` in Linux). The profile `ns2` halves the window instead
    /// of the flight.
    pub struct RenoParams {
        /// The slow start ([Slow starts](../tcp.md#slow-starts)); all but `classic` go with variant `rack`.
        slow_start: SlowStartChoice = "classic", from "RFC 5681, section 3.1";
    }
}

/// The amount that sums of fractions may lack of a whole segment.
const ROUNDING: f64 = 1e-9;

/// Reno as the RFC has it; it needs no memory. See [`RenoParams`].
#[derive(Clone, Copy, Debug)]
pub struct Reno;

/// Reno with any slow start.
#[derive(Clone, Debug)]
pub struct RenoLaw {
    slow_start: SlowStart,
}

impl CongestionControlLaw for RenoLaw {
    const INFO: LawInfo =
        LawInfo { name: "reno", title: "Reno", year: 1990, source: "Jacobson, SIGCOMM 1988; RFC 5681, section 3.1" };
    type Params = RenoParams;

    fn new(params: RenoParams) -> Self {
        Self { slow_start: SlowStart::new(params.slow_start) }
    }

    fn needs(params: &RenoParams) -> Needs {
        params.slow_start.needs(Self::NEEDS)
    }
}

impl CongestionControl for RenoLaw {
    as_slow_start!(on_ack, on_feedback, on_lost, threshold, on_congestion, on_recovered, on_timeout);
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        let credit = ack.credit();
        window.cwnd += match window.cwnd {
            slow if slow < window.ssthresh => credit,
            cwnd if ack.byte_counting => credit / (cwnd + ROUNDING).floor(),
            cwnd => credit / cwnd,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::CongestionEvent;

    #[test]
    fn slow_start_adds_one_and_avoidance_one_per_window() {
        let mut window = Window { cwnd: 3.0, ssthresh: 4.0 };
        Reno.on_ack(&mut window, &Facts::default());
        assert_eq!(window.cwnd, 4.0);
        Reno.on_ack(&mut window, &Facts::default());
        assert_eq!(window.cwnd, 4.25);
    }

    #[test]
    fn counted_segments_add_one_for_each_whole_window() {
        let mut window = Window { cwnd: 3.0, ssthresh: 2.0 };
        let one = Facts { acked: 1, byte_counting: true, ..Facts::default() };
        for expected in [4.0, 5.0, 6.0] {
            for _ in 1..expected as u32 {
                assert!(window.cwnd < expected - 0.1);
                Reno.on_ack(&mut window, &one);
            }
            assert!((window.cwnd - expected).abs() < 1e-6, "{} instead of {expected}", window.cwnd);
        }
    }

    #[test]
    fn hystart_plus_plus_lasts_until_the_first_congestion_event() {
        let mut reno = RenoLaw::new(RenoParams { slow_start: SlowStartChoice::HyStartPlusPlus });
        let grown = |reno: &mut RenoLaw| {
            let mut window = Window { cwnd: 20.0, ssthresh: 100.0 };
            reno.on_ack(&mut window, &Facts { acked: 12, byte_counting: true, ..Facts::default() });
            window.cwnd
        };
        assert_eq!(grown(&mut reno), 28.0, "eight segments at most");
        reno.on_congestion(CongestionEvent::Loss, &Window { cwnd: 20.0, ssthresh: 100.0 });
        assert_eq!(grown(&mut reno), 32.0);
    }
}
