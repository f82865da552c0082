use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, Reno, Window};
use aqmlab_core::{Span, Time, params};

params! {
    /// Vegas: keeps a few segments of its own in the queue, by its round-trip times.
    ///
    /// ## Idea
    /// A window that the path can hold comes back in the least round-trip time. What takes longer waits in a queue: the
    /// sender counts how many segments that are, and keeps the number between two bounds. No loss is needed.
    ///
    /// ## Equations
    /// Once per round trip, with rtt the least round-trip time in it and base the least ever (Brakmo & Peterson 1995,
    /// section 3.2; `tcp_vegas.c` of Linux):
    ///
    /// ```text
    /// diff = cwnd*(rtt - base)/base
    /// slow start:   diff > gamma:  cwnd = min(cwnd, cwnd*base/rtt + 1), ssthresh = cwnd;   else as Reno
    /// from there:   diff < alpha:  cwnd += 1;   diff > beta:  cwnd -= 1;   at least 2
    /// ```
    ///
    /// diff is in segments. The flow's share of the queue is diff*base/rtt segments: a little less than diff while the queue is
    /// short beside the path, and at most half of it once the queue takes as long as the path.
    ///
    /// With fewer than three round-trip times in a round trip it grows as Reno. A loss or mark halves, as Reno's does.
    ///
    /// ## What to expect
    /// A flow alone holds between 2 and 4 packets in the queue. Flows that start later take the queue of the earlier ones for a
    /// part of the base and hold more: the queue of ten can be three times 40 packets, unevenly shared. Beside Reno or CUBIC a
    /// flow of Vegas gets little.
    ///
    /// ## Readings
    /// Slow start is Linux's: it doubles in every round trip, not in every second one (3.3), and a round trip is counted from the
    /// ACKs. A new round begins after recovery, a timeout and a pause; what a pause has made of the path is unknown, so
    /// base is forgotten. diff is Linux's, in units of base; the paper divides by rtt.
    ///
    /// ## Departures
    /// Numbers are real, where Linux cuts diff down to whole segments: there a window falls from diff = 5 on. The paper's
    /// finer timeouts and duplicate ACKs (3.1) are left out, as in Linux.
    pub struct VegasParams {
        /// diff, in segments, below which the window grows.
        alpha: f64 = "2" in "0.1" ..= "1000", unit "packets", from "Linux, tcp_vegas.c; paper: 1 to 2";
        /// diff, in segments, above which it shrinks.
        beta: f64 = "4" in "0.1" ..= "1000", unit "packets", from "Linux, tcp_vegas.c; paper: 3 to 4";
        /// diff, in segments, that ends slow start.
        gamma: f64 = "1" in "0.1" ..= "1000", unit "packets", from "Linux, tcp_vegas.c; paper, section 3.3";
    }
    check |p| if p.alpha <= p.beta { Ok(()) } else { Err("alpha must not exceed beta".into()) };
}

/// Round-trip times without which a round says nothing: two may both be of delayed ACKs.
const MIN_SAMPLES: u32 = 3;
/// Least window, segments.
const MIN_CWND: f64 = 2.0;

/// Vegas's measurements. See [`VegasParams`].
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    base: Option<Span>,
    /// The present round trip; `None` until the first ACK after a reduction or a pause.
    round: Option<Round>,
}

/// A round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// It ends when more than this is acknowledged.
    end: u32,
    least: Option<Span>,
    samples: u32,
}

impl CongestionControlLaw for Vegas {
    const INFO: LawInfo = LawInfo {
        name: "vegas",
        title: "Vegas",
        year: 1994,
        source: "Brakmo & Peterson, IEEE Journal on Selected Areas in Communications 13(8), 1995",
    };
    const NEEDS: Needs = Needs { rate_samples: true, ..Needs::NONE };
    type Params = VegasParams;

    fn new(params: VegasParams) -> Self {
        Self { params, base: None, round: None }
    }
}

impl CongestionControl for Vegas {
    fn on_feedback(&mut self, _: &mut Window, ack: &Facts) {
        let Some(rtt) = ack.sample.and_then(|sample| sample.rtt) else { return };
        self.base = Some(self.base.map_or(rtt, |least| least.min(rtt)));
        if let Some(round) = &mut self.round {
            round.least = Some(round.least.map_or(rtt, |least| least.min(rtt)));
            round.samples += 1;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        let next = Round { end: ack.sent, least: None, samples: 0 };
        let round = *self.round.get_or_insert(next);
        let in_slow_start = window.cwnd < window.ssthresh;
        if ack.hole > round.end {
            self.round = Some(next);
            match (round.least, self.base) {
                (Some(rtt), Some(base)) if round.samples >= MIN_SAMPLES => {
                    self.adjust(window, rtt.seconds() / base.seconds(), ack);
                }
                _ => Reno.on_ack(window, ack),
            }
        } else if in_slow_start {
            Reno.on_ack(window, ack);
        }
    }

    fn on_congestion(&mut self, _: CongestionEvent, _: &Window) {
        self.round = None;
    }

    fn on_timeout(&mut self) {
        self.round = None;
    }

    fn on_resume(&mut self, _: &mut Window, _: Time) {
        (self.base, self.round) = (None, None);
    }
}

impl Vegas {
    /// A round ends whose least round-trip time is `longer` times the base.
    fn adjust(&self, window: &mut Window, longer: f64, ack: &Facts) {
        let VegasParams { alpha, beta, gamma } = self.params;
        let diff = window.cwnd * (longer - 1.0);
        if window.cwnd < window.ssthresh {
            if diff <= gamma {
                return Reno.on_ack(window, ack);
            }
            window.cwnd = window.cwnd.min(window.cwnd / longer + 1.0);
            window.ssthresh = window.cwnd;
        } else if diff > beta {
            window.cwnd -= 1.0;
            window.ssthresh = window.ssthresh.min(window.cwnd);
        } else if diff < alpha {
            window.cwnd += 1.0;
        }
        window.cwnd = window.cwnd.max(MIN_CWND);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::RateSample;
    use aqmlab_core::ParamSet;

    /// A round of ten ACKs that measure `rtt` ms, then the ACK that ends it, which finds the window like this.
    fn round(vegas: &mut Vegas, cwnd: f64, ssthresh: f64, rtt: u64) -> (f64, f64) {
        let from = vegas.round.map_or(1, |round| round.end);
        let mut window = Window { cwnd, ssthresh };
        let mut ack = |hole| {
            let sample = RateSample { rtt: Some(Span::from_millis(rtt)), ..RateSample::default() };
            let ack = Facts { acked: 1, hole, sent: from + 10, sample: Some(sample), ..Facts::default() };
            let before = window;
            vegas.on_feedback(&mut window, &ack);
            vegas.on_ack(&mut window, &ack);
            std::mem::replace(&mut window, before)
        };
        for _ in 0..10 {
            ack(from);
        }
        let after = ack(from + 1);
        (after.cwnd, after.ssthresh)
    }

    /// One that has seen a base of 100 ms.
    fn vegas() -> Vegas {
        let mut vegas = Vegas::new(VegasParams::defaults());
        round(&mut vegas, 10.0, 5.0, 100);
        round(&mut vegas, 10.0, 5.0, 100);
        vegas
    }

    #[test]
    fn two_to_four_segments_in_the_queue_are_right() {
        // A window of 20: 10 ms more than 100 are 2 segments, 20 ms are 4.
        for (rtt, cwnd) in [(100, 21.0), (109, 21.0), (111, 20.0), (119, 20.0), (121, 19.0), (200, 19.0)] {
            assert_eq!(round(&mut vegas(), 20.0, 5.0, rtt).0, cwnd, "{rtt} ms");
        }
        assert_eq!(round(&mut vegas(), 2.5, 2.0, 400), (2.0, 1.5), "two at least");
    }

    #[test]
    fn slow_start_ends_at_one_segment_in_the_queue() {
        // 20 * 0.06 = 1.2: the path holds 20/1.06.
        let (cwnd, ssthresh) = round(&mut vegas(), 20.0, 100.0, 106);
        assert!((cwnd - (20.0 / 1.06 + 1.0)).abs() < 1e-9, "{cwnd}");
        assert_eq!(ssthresh, cwnd);
        assert_eq!(round(&mut vegas(), 20.0, 100.0, 105), (21.0, 100.0), "0.9999");
    }

    #[test]
    fn a_round_with_two_samples_says_nothing() {
        let mut vegas = vegas();
        let end = vegas.round.unwrap().end;
        vegas.round = Some(Round { end, least: Some(Span::from_millis(200)), samples: 2 });
        let mut window = Window { cwnd: 20.0, ssthresh: 5.0 };
        vegas.on_ack(&mut window, &Facts { acked: 1, hole: end + 1, sent: end + 9, ..Facts::default() });
        assert_eq!(window.cwnd, 20.05, "as Reno");
    }

    #[test]
    fn a_reduction_begins_another_round_and_a_pause_another_base() {
        let mut vegas = vegas();
        vegas.on_congestion(CongestionEvent::Loss, &Window { cwnd: 20.0, ssthresh: 10.0 });
        assert_eq!(round(&mut vegas, 10.0, 5.0, 200).0, 10.0, "begins at the first ACK, and has not ended");
        vegas.on_resume(&mut Window { cwnd: 10.0, ssthresh: 5.0 }, Time::ZERO);
        round(&mut vegas, 10.0, 5.0, 200);
        assert_eq!(round(&mut vegas, 10.0, 5.0, 200).0, 11.0, "200 ms is the base");
    }
}
