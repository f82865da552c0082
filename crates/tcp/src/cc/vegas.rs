use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, Reno, Window};
use aqmlab_core::{Span, Time, choice, params};

choice! {
    /// The implementation whose details apply.
    pub enum VegasFlavour {
        /// The paper, in real numbers, with the slow start of Linux.
        Paper = "paper",
        /// `tcp_vegas.c` of Linux, in its whole numbers.
        Linux = "linux",
    }
}

params! {
    /// Vegas: keeps a few of its segments in the queue, by its round-trip times.
    ///
    /// ## Idea
    /// A window that the path can hold returns in the minimum round-trip time. A longer round trip includes queueing:
    /// the sender counts how many segments that are, and keeps the number between two bounds. No loss is needed.
    ///
    /// ## Equations
    /// Once per round trip. rtt is the minimum round-trip time in it, base the minimum so far (Brakmo & Peterson 1995,
    /// section 3.2; `tcp_vegas.c` of Linux):
    ///
    /// ```text
    /// diff = cwnd*(rtt - base)/base
    /// slow start:   diff > gamma:  cwnd = min(cwnd, cwnd*base/rtt + 1), ssthresh = cwnd;   else as Reno
    /// from there:   diff < alpha:  cwnd += 1;   diff > beta:  cwnd -= 1;   at least 2
    /// ```
    ///
    /// diff is in segments. The flow's share of the queue is diff*base/rtt segments: a little less than diff while the
    /// queue is short compared with the path, and at most half of it once the queue takes as long as the path.
    ///
    /// If a round trip has fewer than three samples, the window grows as Reno's. A loss or mark halves, as Reno's does.
    ///
    /// ## What to expect
    /// A flow alone holds between 2 and 4 packets in the queue. Flows that start later take the queue of the earlier
    /// ones for a part of the base and hold more: the queue of ten can be three times 40 packets, unevenly shared. A
    /// Vegas flow that competes with Reno or CUBIC gets little.
    ///
    /// ## Readings
    /// Slow start is Linux's: it doubles in every round trip, not in every second one (3.3), and a round trip is counted from the
    /// ACKs. A new round begins after recovery, a timeout and a pause; what a pause has made of the path is unknown, so
    /// base is forgotten. diff is Linux's, in units of base; the paper divides by rtt.
    ///
    /// ## Linux
    /// `flavour = "linux"`, which the profile `linux` sets, cuts diff down to whole segments, so that a window falls
    /// from diff = 5 on, and counts microseconds. The handshake's round-trip time is no base: flows that start together
    /// take the queue of their first windows for a part of the path, and so hold more of it. Base is forgotten whenever
    /// a segment is sent while none is in the network: after a timeout, and in each round trip of a flow whose window
    /// comes back in one ACK, which therefore measures no queue and grows. While something is out of order or being
    /// recovered the window grows as Reno's.
    ///
    /// ## Departures
    /// The paper's finer timeouts and duplicate ACKs (3.1) are left out, as in Linux.
    pub struct VegasParams {
        /// diff, in segments, below which the window grows.
        alpha: f64 = "2" in "0.1" ..= "1000", unit "packets", from "Linux, tcp_vegas.c; paper: 1 to 2";
        /// diff, in segments, above which it shrinks.
        beta: f64 = "4" in "0.1" ..= "1000", unit "packets", from "Linux, tcp_vegas.c; paper: 3 to 4";
        /// diff, in segments, that ends slow start.
        gamma: f64 = "1" in "0.1" ..= "1000", unit "packets", from "Linux, tcp_vegas.c; paper, section 3.3";
        /// The implementation whose details apply.
        flavour: VegasFlavour = "paper", from "Brakmo & Peterson 1995";
    }
    check |p| if p.alpha <= p.beta { Ok(()) } else { Err("alpha must not exceed beta".into()) };
}

/// Round-trip times without which a round says nothing: two may both be of delayed ACKs.
const MIN_SAMPLES: u32 = 3;
/// Least window, segments.
const MIN_CWND: f64 = 2.0;
/// The amount that a window, which is a sum of fractions, may lack of a whole segment.
const ROUNDING: f64 = 1e-9;

/// Vegas's measurements. See [`VegasParams`].
#[derive(Clone, Debug)]
pub struct Vegas {
    params: VegasParams,
    base: Option<Span>,
    /// The present round trip; `None` until the first ACK after a reduction or a pause, of the flavour linux while something is
    /// out of order or being recovered (`doing_vegas_now`).
    round: Option<Round>,
    /// Nothing was out of order or being recovered at the last ACK (`TCP_CA_Open`).
    is_in_order: bool,
}

/// A round trip.
#[derive(Clone, Copy, Debug)]
struct Round {
    /// It ends when more than this is acknowledged.
    end: u32,
    least: Option<Span>,
    samples: u32,
}

impl Round {
    /// One that begins.
    fn until(end: u32) -> Self {
        Self { end, least: None, samples: 0 }
    }
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

    fn needs(params: &VegasParams) -> Needs {
        Needs { order: params.flavour == VegasFlavour::Linux, ..Self::NEEDS }
    }

    fn new(params: VegasParams) -> Self {
        Self { params, base: None, round: None, is_in_order: true }
    }
}

impl CongestionControl for Vegas {
    fn on_feedback(&mut self, _: &mut Window, ack: &Facts) {
        let of_sample = || ack.sample.and_then(|sample| sample.rtt);
        let rtt = if self.is_linux() { ack.rtt.or_else(of_sample).map(micros) } else { of_sample() };
        let Some(rtt) = rtt else { return };
        self.base = Some(self.base.map_or(rtt, |least| least.min(rtt)));
        if let Some(round) = &mut self.round {
            round.least = Some(round.least.map_or(rtt, |least| least.min(rtt)));
            round.samples += 1;
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        let next = Round::until(ack.sent);
        let round = match self.round {
            None if self.is_linux() => return Reno.on_ack(window, ack),
            _ => *self.round.get_or_insert(next),
        };
        let in_slow_start = window.cwnd < window.ssthresh;
        if ack.hole > round.end {
            self.round = Some(next);
            match (round.least, self.base) {
                (Some(rtt), Some(base)) if round.samples >= MIN_SAMPLES => match self.params.flavour {
                    VegasFlavour::Paper => self.adjust(window, rtt.seconds() / base.seconds(), ack),
                    VegasFlavour::Linux => self.adjust_whole(window, rtt, base, ack),
                },
                _ => Reno.on_ack(window, ack),
            }
        } else if in_slow_start {
            Reno.on_ack(window, ack);
        }
    }

    fn on_established(&mut self, _: &Window, _: Span, _: Time) {
        if self.is_linux() {
            self.base = None;
        }
    }

    fn on_order(&mut self, is_in_order: bool, sent: u32) {
        if is_in_order != self.is_in_order {
            self.is_in_order = is_in_order;
            self.round = is_in_order.then(|| Round::until(sent));
        }
    }

    fn on_transmit_start(&mut self, sent: u32) {
        (self.base, self.round) = (None, Some(Round::until(sent)));
    }

    fn on_congestion(&mut self, _: CongestionEvent, _: &Window) {
        (self.round, self.is_in_order) = (None, false);
    }

    fn on_timeout(&mut self) {
        (self.round, self.is_in_order) = (None, false);
    }

    fn on_resume(&mut self, _: &mut Window, _: Time) {
        (self.base, self.round) = (None, None);
    }
}

impl Vegas {
    fn is_linux(&self) -> bool {
        self.params.flavour == VegasFlavour::Linux
    }

    /// A round ends whose least round-trip time is `rtt`, of the flavour linux (`tcp_vegas_cong_avoid`).
    fn adjust_whole(&self, window: &mut Window, rtt: Span, base: Span, ack: &Facts) {
        let VegasParams { alpha, beta, gamma, .. } = self.params;
        let before = (window.cwnd + ROUNDING).floor();
        let diff = (before as u64 * (rtt.0 - base.0) / base.0) as f64;
        if window.cwnd >= window.ssthresh {
            let step = f64::from(i8::from(diff < alpha) - i8::from(diff > beta));
            window.cwnd = (window.cwnd + step).max(MIN_CWND);
            if step < 0.0 {
                window.ssthresh = window.ssthresh.min(window.cwnd);
            }
        } else if diff <= gamma {
            Reno.on_ack(window, ack);
        } else {
            let held = before as u64 * base.0 / rtt.0 + 1;
            window.cwnd = before.min(held as f64).max(MIN_CWND);
            window.ssthresh = window.cwnd;
        }
        window.ssthresh = window.ssthresh.max((0.75 * window.cwnd).floor()); // `tcp_current_ssthresh`
    }

    /// A round ends whose least round-trip time is `longer` times the base.
    fn adjust(&self, window: &mut Window, longer: f64, ack: &Facts) {
        let VegasParams { alpha, beta, gamma, .. } = self.params;
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

/// A round-trip time as Linux counts it (`tcp_vegas_pkts_acked`): whole microseconds, and one more.
fn micros(rtt: Span) -> Span {
    Span::from_micros(rtt.0 / Span::from_micros(1).0 + 1)
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

    /// Of the flavour linux, in a round that ends with segment 10.
    fn linux(base: u64) -> Vegas {
        let mut vegas = Vegas::new(VegasParams { flavour: VegasFlavour::Linux, ..VegasParams::defaults() });
        vegas.on_transmit_start(10);
        vegas.base = Some(Span::from_millis(base));
        vegas
    }

    #[test]
    fn linux_cuts_segments_in_the_queue_down_to_whole_ones() {
        // A window of 20.6 counts as 20: 20*24/100 = 4.8 are 4, 25 ms are 5; 14.9 ms are 2.98, which are 2.
        for (rtt, expected) in [(124, 20.6), (125, 19.6), (109, 21.6), (110, 20.6)] {
            let mut window = Window { cwnd: 20.6, ssthresh: 16.0 };
            linux(100).adjust_whole(&mut window, Span::from_millis(rtt), Span::from_millis(100), &Facts::default());
            assert!((window.cwnd - expected).abs() < 1e-9, "{rtt} ms: {}", window.cwnd);
        }
        // From slow start: 20*100/106 = 18.9, and one more; 20*6/100 = 1.2 is 1, no more than gamma.
        let mut window = Window { cwnd: 20.0, ssthresh: 100.0 };
        linux(100).adjust_whole(&mut window, Span::from_millis(110), Span::from_millis(100), &Facts::default());
        assert_eq!((window.cwnd, window.ssthresh), (19.0, 19.0), "2000/110 = 18.2");
        let one = Facts { acked: 1, byte_counting: true, ..Facts::default() };
        let mut window = Window { cwnd: 20.0, ssthresh: 100.0 };
        linux(100).adjust_whole(&mut window, Span::from_millis(106), Span::from_millis(100), &one);
        assert_eq!((window.cwnd, window.ssthresh), (21.0, 100.0));
    }

    #[test]
    fn linux_knows_no_base_when_it_sends_while_nothing_is_in_the_network() {
        let mut vegas = linux(40);
        let rtt = |us| Facts { rtt: Some(Span::from_micros(us)), ..Facts::default() };
        vegas.on_feedback(&mut Window { cwnd: 2.0, ssthresh: 2.0 }, &rtt(60_000));
        assert_eq!(vegas.base, Some(Span::from_millis(40)));
        vegas.on_transmit_start(30);
        vegas.on_feedback(&mut Window { cwnd: 2.0, ssthresh: 2.0 }, &rtt(60_000));
        assert_eq!(vegas.base, Some(Span::from_micros(60_001)), "and a microsecond");
        assert_eq!(vegas.round.map(|round| round.end), Some(30));
    }

    #[test]
    fn linux_grows_as_reno_while_something_is_out_of_order() {
        let mut vegas = linux(40);
        vegas.on_order(false, 30);
        let mut window = Window { cwnd: 20.0, ssthresh: 5.0 };
        vegas.on_ack(&mut window, &Facts { acked: 2, byte_counting: true, hole: 12, sent: 30, ..Facts::default() });
        assert_eq!(window.cwnd, 20.1);
        vegas.on_order(true, 31);
        assert_eq!(vegas.round.map(|round| round.end), Some(31), "a round begins");
        vegas.on_order(true, 40);
        assert_eq!(vegas.round.map(|round| round.end), Some(31), "and goes on");
    }
}
