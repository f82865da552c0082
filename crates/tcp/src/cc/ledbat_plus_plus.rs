use super::ledbat::{DelayHistory, MIN_CWND};
use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, Window};
use aqmlab_core::{Span, Time, params};

params! {
    /// LEDBAT++: LEDBAT that yields faster, shares equally with other LEDBAT++ flows, and measures its base delay by
    /// periodic slowdowns.
    ///
    /// ## Idea
    /// LEDBAT mistakes the queue of other LEDBAT flows for the path's delay, and reduces slowly. If the buffer never
    /// reaches the target, it yields no more than Reno. LEDBAT++ grows more slowly than Reno where round trips are
    /// short, falls in proportion, and empties the queue for two round trips in every twenty or so, in which everyone
    /// sees the base delay.
    ///
    /// ## Equations
    /// The delay is the minimum of the last four round-trip times minus the minimum of the last ten minutes. Per round
    /// trip (sections are from draft-irtf-iccrg-ledbat-plus-plus-01):
    ///
    /// ```text
    /// gain = 1/min(16, ceil(2*target/base))                                                          (4.2)
    /// slow start:    cwnd += gain for each segment acknowledged; the first ends at delay > 3/4*target    (4.1)
    /// delay < target:    cwnd += gain                                                                (4.3)
    /// otherwise:         cwnd += max(gain - cwnd*(delay/target - 1), -cwnd/2), at least 2            (4.3)
    /// slowdown:      ssthresh = cwnd, cwnd = 2 for two round trips, then slow start up to ssthresh   (4.4)
    /// ```
    ///
    /// The first slowdown comes two round trips after the first slow start. The next one comes once nine times the time has passed
    /// that the last took, from its beginning until the window was back: it costs no more than a tenth. A loss halves.
    ///
    /// ## What to expect
    /// Alone it keeps the queue near the target, with dips. Flows that start later measure the true base delay in a
    /// slowdown and get their share. Competing with Reno or CUBIC, which fill a buffer beyond the target, it falls to
    /// two segments. If the buffer is shorter than the target, losses are the signal, and only the gain makes it yield:
    /// 1/6 of Reno's growth at 20 ms. Goodput on 10 Mbit/s over 40 ms in profile `linux` (100 s, of which 20 s do not
    /// count), in Mbit/s:
    ///
    /// | flows | buffer 200 packets | buffer 40 packets |
    /// | --- | --- | --- |
    /// | alone | 9.1 | 9.0 |
    /// | beside CUBIC | 0.1 and 9.5 | 2.3 and 7.3 |
    /// | two, the second 10 s later | 5.1 and 4.3 | 5.0 and 4.4 |
    /// | two of LEDBAT at the same target | 0.6 and 8.9 | 5.0 and 4.6 |
    ///
    /// ## Readings
    /// The ramp after a slowdown is slow start with the gain of 4.1, as in Apple's implementation (`tcp_ledbat.c` of XNU), and no
    /// delay ends it. An amount for a round trip is spread over its ACKs. A loss or mark ends a slowdown, and halves the window that it
    /// began with, on which the draft is silent. A window that the application leaves unused does not grow.
    ///
    /// ## Departures
    /// The text that this follows is revision 01 with its section numbers; 06 (January 2026) names the same four mechanisms. ACKs are
    /// timed in the sender, so that reordering and delayed ACKs count as delay.
    pub struct LedbatPlusPlusParams {
        /// The queueing delay that it aims at.
        target: Span = "60 ms" in "100 us" ..= "10 s", from "draft-irtf-iccrg-ledbat-plus-plus-01, section 4.5";
    }
}

/// Greatest divisor of the gain (4.2).
const MAX_DIVISOR: f64 = 16.0;
/// Share of the target that ends the first slow start (4.1).
const EXIT: f64 = 0.75;
/// Times that a slowdown took which pass until the next (4.4).
const INTERVAL: u64 = 9;
/// Round trips at the least window, and from the end of the first slow start to the first slowdown (4.4).
const ROUND_TRIPS: u64 = 2;

/// LEDBAT++'s delays and slowdowns. See [`LedbatPlusPlusParams`].
#[derive(Clone, Debug)]
pub struct LedbatPlusPlus {
    params: LedbatPlusPlusParams,
    delays: DelayHistory,
    phase: Phase,
}

/// Between slowdowns, and in them.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    /// The first slow start.
    Start,
    /// Until the next slowdown; `None` until the first ACK after the first slow start.
    Between { slowdown: Option<Time> },
    /// A slowdown, at the least window.
    Frozen { since: Time },
    /// A slowdown, in which the window grows back.
    Ramp { since: Time },
}

impl CongestionControlLaw for LedbatPlusPlus {
    const INFO: LawInfo = LawInfo {
        name: "ledbat-plus-plus",
        title: "LEDBAT++",
        year: 2020,
        source: "Balasubramanian, Ertugay, Havey & Bagnulo, draft-irtf-iccrg-ledbat-plus-plus-01; RFC 6817",
    };
    const NEEDS: Needs = Needs { rate_samples: true, ..Needs::NONE };
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("initial_window", "2 packets")];
    type Params = LedbatPlusPlusParams;

    fn new(params: LedbatPlusPlusParams) -> Self {
        Self { params, delays: DelayHistory::default(), phase: Phase::Start }
    }
}

impl CongestionControl for LedbatPlusPlus {
    fn on_feedback(&mut self, _: &mut Window, ack: &Facts) {
        if let Some(rtt) = ack.sample.and_then(|sample| sample.rtt) {
            self.delays.note(rtt, ack.now);
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        if self.delays.base() == Span(u64::MAX) {
            return; // no sample yet
        }
        self.change_phase(window, ack);
        let is_used = f64::from(ack.flight) + 1.0 > window.cwnd;
        let acked = f64::from(ack.acked);
        let gain = self.gain();
        window.cwnd = match self.phase {
            Phase::Frozen { .. } => MIN_CWND,
            _ if window.cwnd < window.ssthresh => window.cwnd + if is_used { gain * acked } else { 0.0 },
            _ => {
                let excess = self.over_target() - 1.0;
                let moved = if excess < 0.0 { gain } else { (gain - window.cwnd * excess).max(-window.cwnd / 2.0) };
                let moved = if is_used { moved } else { moved.min(0.0) };
                let cwnd = (window.cwnd + moved * acked / window.cwnd).max(MIN_CWND);
                window.ssthresh = window.ssthresh.min(cwnd); // what it gives up is not won back in slow start
                cwnd
            }
        };
    }

    /// In a slowdown, of the window that it began with.
    fn threshold(&self, _: CongestionEvent, window: &Window) -> Option<f64> {
        matches!(self.phase, Phase::Frozen { .. } | Phase::Ramp { .. }).then(|| window.ssthresh / 2.0)
    }

    fn on_congestion(&mut self, _: CongestionEvent, _: &Window) {
        self.phase = match self.phase {
            Phase::Start => Phase::Between { slowdown: None },
            Phase::Frozen { since } => Phase::Ramp { since },
            other => other,
        };
    }
}

impl LedbatPlusPlus {
    /// 4.1 and 4.4: ends the first slow start, begins and ends slowdowns.
    fn change_phase(&mut self, window: &mut Window, ack: &Facts) {
        let round_trips = Span(ROUND_TRIPS * ack.srtt.0);
        match self.phase {
            Phase::Start if window.cwnd >= window.ssthresh || self.over_target() > EXIT => {
                window.ssthresh = window.ssthresh.min(window.cwnd);
                self.phase = Phase::Between { slowdown: Some(ack.now + round_trips) };
            }
            Phase::Between { slowdown: None } => {
                self.phase = Phase::Between { slowdown: Some(ack.now + round_trips) };
            }
            Phase::Between { slowdown: Some(at) } if ack.now >= at && window.cwnd >= window.ssthresh => {
                window.ssthresh = window.cwnd;
                self.phase = Phase::Frozen { since: ack.now };
            }
            Phase::Frozen { since } if ack.now >= since + round_trips => self.phase = Phase::Ramp { since },
            Phase::Ramp { since } if window.cwnd >= window.ssthresh => {
                let took = ack.now.since(since);
                self.phase = Phase::Between { slowdown: Some(ack.now + Span(INTERVAL * took.0)) };
            }
            _ => {}
        }
    }

    /// The queueing delay, in targets.
    fn over_target(&self) -> f64 {
        self.delays.queueing().seconds() / self.params.target.seconds()
    }

    /// 4.2.
    fn gain(&self) -> f64 {
        1.0 / (2.0 * self.params.target.seconds() / self.delays.base().seconds()).ceil().min(MAX_DIVISOR)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::RateSample;
    use aqmlab_core::ParamSet;

    /// An ACK of one segment at `now` ms, with this round-trip time, to a sender that uses its window; srtt is 100 ms.
    fn ack(now: u64, rtt_ms: u64) -> Facts {
        let sample = Some(RateSample { rtt: Some(Span::from_millis(rtt_ms)), ..RateSample::default() });
        let (srtt, now) = (Span::from_millis(100), Time::ZERO + Span::from_millis(now));
        Facts { acked: 1, flight: 10_000, sample, srtt, now, ..Facts::default() }
    }

    fn on(law: &mut LedbatPlusPlus, window: &mut Window, ack: &Facts) -> f64 {
        law.on_feedback(window, ack);
        law.on_ack(window, ack);
        window.cwnd
    }

    /// Between slowdowns, with this base delay, and the delay seen four times.
    fn between(base_ms: u64, rtt_ms: u64) -> LedbatPlusPlus {
        let mut law = LedbatPlusPlus::new(LedbatPlusPlusParams::defaults());
        law.phase = Phase::Between { slowdown: Some(Time::NEVER) };
        let mut window = Window { cwnd: 100.0, ssthresh: 2.0 };
        for rtt in [base_ms, rtt_ms, rtt_ms, rtt_ms, rtt_ms] {
            law.on_feedback(&mut window, &ack(0, rtt));
        }
        law
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn the_gain_is_a_sixth_at_20_ms_and_one_at_120() {
        // 2*60/base: 120, 12, 6, 2.4 and 1, rounded up, 16 at most.
        for (base, divisor) in [(1, 16.0), (10, 12.0), (20, 6.0), (50, 3.0), (120, 1.0), (600, 1.0)] {
            close(between(base, base).gain(), 1.0 / divisor);
        }
    }

    #[test]
    fn the_window_grows_by_the_gain_and_falls_in_proportion() {
        // In a round trip of 100 segments: +1/6 below the target of 60 ms; at 66 ms 1/6 - 100*0.1; at 150 ms half at most.
        for (rtt, moved) in [(20, 1.0 / 6.0), (79, 1.0 / 6.0), (80, 1.0 / 6.0), (86, 1.0 / 6.0 - 10.0), (170, -50.0)] {
            let mut window = Window { cwnd: 100.0, ssthresh: 2.0 };
            close(on(&mut between(20, rtt), &mut window, &ack(1, rtt)), 100.0 + moved / 100.0);
        }
        let mut least = Window { cwnd: 2.0, ssthresh: 2.0 };
        close(on(&mut between(20, 500), &mut least, &ack(1, 500)), 2.0);
        let mut unused = Window { cwnd: 100.0, ssthresh: 2.0 };
        close(on(&mut between(20, 20), &mut unused, &Facts { flight: 50, ..ack(1, 20) }), 100.0);
    }

    #[test]
    fn the_first_slow_start_ends_at_three_quarters_of_the_target() {
        let mut law = LedbatPlusPlus::new(LedbatPlusPlusParams::defaults());
        let mut window = Window { cwnd: 2.0, ssthresh: 1e6 };
        close(on(&mut law, &mut window, &ack(0, 40)), 2.0 + 1.0 / 3.0);
        // 45 ms are 3/4 of 60 and no more; the least of four samples counts.
        for _ in 0..4 {
            on(&mut law, &mut window, &ack(10, 85));
        }
        assert_eq!(law.phase, Phase::Start);
        for _ in 0..4 {
            on(&mut law, &mut window, &ack(20, 86));
        }
        close(window.ssthresh, 2.0 + 8.0 / 3.0);
        assert_eq!(law.phase, Phase::Between { slowdown: Some(ack(220, 0).now) });
    }

    #[test]
    fn a_slowdown_holds_two_segments_for_two_round_trips_and_the_next_is_nine_times_as_far() {
        let mut law = between(120, 120); // a gain of 1
        law.phase = Phase::Between { slowdown: Some(ack(1000, 0).now) };
        let mut window = Window { cwnd: 4.0, ssthresh: 2.0 };
        close(on(&mut law, &mut window, &ack(999, 120)), 4.25);
        for now in [1000, 1100, 1199] {
            close(on(&mut law, &mut window, &ack(now, 120)), 2.0);
        }
        assert_eq!(window.ssthresh, 4.25);
        // Slow start: 3, 4, 5, which is not below 4.25: from 1000 to 1300 ms it took 300.
        for (now, cwnd) in [(1200, 3.0), (1250, 4.0), (1299, 5.0), (1300, 5.2)] {
            close(on(&mut law, &mut window, &ack(now, 120)), cwnd);
        }
        assert_eq!(law.phase, Phase::Between { slowdown: Some(ack(1300 + 2700, 0).now) });
    }

    #[test]
    fn a_loss_in_a_slowdown_halves_what_it_began_with() {
        let mut law = between(120, 120);
        let window = Window { cwnd: 2.0, ssthresh: 40.0 };
        assert_eq!(law.threshold(CongestionEvent::Loss, &window), None);
        law.phase = Phase::Frozen { since: Time::ZERO };
        assert_eq!(law.threshold(CongestionEvent::Loss, &window), Some(20.0));
        law.on_congestion(CongestionEvent::Loss, &window);
        assert_eq!(law.phase, Phase::Ramp { since: Time::ZERO });
    }
}
