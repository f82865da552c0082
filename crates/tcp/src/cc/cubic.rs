mod linux;

use super::slow_start::{SlowStart, SlowStartChoice};
use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, LostSegment, Needs, Window};
use aqmlab_core::{Span, Time, choice, params};
use linux::LinuxState;
use std::sync::Arc;

choice! {
    /// The implementation whose details apply.
    pub enum CubicFlavour {
        /// RFC 9438.
        Rfc9438 = "rfc9438",
        /// `tcp_cubic.c` of Linux.
        Linux = "linux",
    }
}

params! {
    /// CUBIC: between losses the window is a cubic of time, not of round trips.
    ///
    /// ## Idea
    /// After a reduction the window rises fast, slows down where the last loss was, and probes faster and faster beyond it.
    /// As the clock is time, flows with a long round trip get more than Reno gives them.
    ///
    /// ## Equations
    /// W_max is the window before the last reduction, t the time since. Sections are from RFC 9438:
    ///
    /// ```text
    /// K = cbrt((W_max - cwnd) / c);   W_cubic(t) = c*(t - K)^3 + W_max                        (4.2)
    /// W_est += alpha*acked/cwnd,  alpha = 3*(1 - beta)/(1 + beta) until W_est is where it was, then 1   (4.3)
    /// W_cubic(t) < W_est:  cwnd = max(cwnd, W_est)          as fast as Reno
    /// else:                cwnd += (W_cubic(t + srtt) - cwnd)/cwnd, the target within cwnd and 1.5*cwnd   (4.4, 4.5)
    /// ```
    ///
    /// A congestion event leaves the share beta (4.6). Under fast convergence, a flow whose window was lower than at
    /// the event before takes W_max = cwnd*(1 + beta)/2, which makes room for others (4.7).
    ///
    /// ## What to expect
    /// Over short or slow paths it is as fast as Reno. Over long and fast ones the mean window is about
    /// 1.054*(RTT/p)^0.75 segments for a loss in p segments, RTT in seconds.
    ///
    /// ## Readings
    /// A window never shrinks at an ACK: if W_est is above W_cubic(t) but below the window, the window stays. Growth is
    /// per ACK, to the letter of 4.4 and 4.5: delayed ACKs make it slightly slower than the cubic. A window that the
    /// application leaves unused neither grows nor lets its clock run (5.8).
    ///
    /// ## Linux
    /// `flavour = "linux"` counts as `tcp_cubic.c` does: whole segments, ticks of 1 ms, `beta = 717/1024` and `C =
    /// 410/1024`. K takes one step of Newton's method. The window grows by one per whole number of acknowledged
    /// segments, at least 2. The target is the window one minimum round trip ahead; in the first second of a stage that
    /// minimum is constant.
    ///
    /// ## Departures
    /// HyStart is Linux's (Ha & Rhee 2011); `flavour = "linux"` takes it from its profile. A classic slow start ends in
    /// losses or marks as Reno's does, and gives up 0.3 of the window there, not half. When variant `rack` undoes a
    /// spurious reduction, W_max stays, as in Linux (4.9 restores it). A pause does not move the stage of `flavour =
    /// "linux"` (`cubictcp_cwnd_event_tx_start` does).
    pub struct CubicParams {
        /// C, how fast the window grows: segments per second cubed.
        c: f64 = "0.4" in "0.001" ..= "100", unit "packets/s^3", from "RFC 9438, section 5.1";
        /// Share of the window that a congestion event leaves.
        beta: f64 = "0.7" in "0.1" ..= "0.95", from "RFC 9438, section 4.6";
        /// A flow whose window shrinks from loss to loss gives up more.
        fast_convergence: bool = "true", from "RFC 9438, section 4.7";
        /// The slow start ([Slow starts](../tcp.md#slow-starts)); all but `classic` go with variant `rack`.
        slow_start: SlowStartChoice = "classic", from "RFC 9438, section 4.10; Linux: hystart";
        /// The implementation whose details apply.
        flavour: CubicFlavour = "rfc9438", from "RFC 9438";
    }
}

/// CUBIC's state: its last congestion event, and its progress since. See [`CubicParams`].
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Shared with the other senders of the group.
    params: Arc<CubicParams>,
    /// Window just before the last reduction, segments.
    cwnd_prior: f64,
    /// W_max: the plateau of the cubic, segments; 0 if the window is the first known, or the first after a timeout.
    w_max: f64,
    /// The present congestion avoidance stage; `None` in slow start and until the first ACK after a reduction.
    stage: Option<Stage>,
    /// Of the flavour linux, and where slow start is not the classic one.
    linux: Option<Box<LinuxState>>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Time that the cubic takes from its beginning to W_max, s.
    k: f64,
    /// Time that the sender has used its window in, since the beginning.
    elapsed: Span,
    /// Time of the last ACK.
    last: Time,
    /// W_est: the window that Reno would have, segments.
    w_est: f64,
}

impl CongestionControlLaw for Cubic {
    const INFO: LawInfo = LawInfo {
        name: "cubic",
        title: "CUBIC",
        year: 2008,
        source: "Ha, Rhee & Xu, SIGOPS Operating Systems Review 42(5), 2008; RFC 9438",
    };
    type Params = CubicParams;

    fn new(mut params: CubicParams) -> Self {
        if params.flavour == CubicFlavour::Linux {
            params.beta = (1024.0 * params.beta).round() / 1024.0; // 717/1024, by which 90 segments become 63, not 62
        }
        let has_linux = params.flavour == CubicFlavour::Linux || params.slow_start != SlowStartChoice::Classic;
        let slow_start = SlowStart::new(params.slow_start);
        let linux = has_linux.then(|| Box::new(LinuxState::new(slow_start)));
        Self { params: Arc::new(params), cwnd_prior: 0.0, w_max: 0.0, stage: None, linux }
    }

    fn needs(params: &CubicParams) -> Needs {
        params.slow_start.needs(Self::NEEDS)
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        let cwnd = window.cwnd;
        // 5.8: a window that the application leaves unused does not grow, and its time does not count. Linux asks the sender only,
        // whether it was used up in the last round trip (`tcp_is_cwnd_limited`).
        let is_linux = self.params.flavour == CubicFlavour::Linux && ack.byte_counting;
        let is_used = is_linux || f64::from(ack.flight) + 1.0 > cwnd;
        let is_slow = match &mut self.linux {
            Some(linux) => linux.slow_start(window, ack, is_used),
            None => SlowStart::Classic.on_ack(window, ack, is_used),
        };
        if is_slow {
            self.stage = None;
            return;
        }
        if self.params.flavour == CubicFlavour::Linux
            && let Some(linux) = &mut self.linux
        {
            if is_used {
                window.cwnd = linux.grow(cwnd, self.w_max, &self.params, ack);
            }
            return;
        }
        let mut stage = self.stage.unwrap_or_else(|| self.begin(cwnd, ack.now));
        if is_used {
            stage.elapsed = stage.elapsed + ack.now.since(stage.last);
        }
        stage.last = ack.now;
        if is_used {
            window.cwnd = self.grow(&mut stage, cwnd, ack);
        }
        self.stage = Some(stage);
    }

    fn kept(&self, _: CongestionEvent) -> f64 {
        self.params.beta
    }

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        if let Some(linux) = &mut self.linux {
            linux.slow_start.on_feedback(window, ack);
        }
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        if let Some(linux) = &mut self.linux {
            linux.slow_start.on_lost(lost);
        }
    }

    fn threshold(&self, event: CongestionEvent, window: &Window) -> Option<f64> {
        self.linux.as_ref()?.slow_start.threshold(event, self.params.beta, window)
    }

    /// Rapid Start leaves beta of what the path holds: the plateau is where slow start would have been (its section on CUBIC).
    fn on_recovered(&mut self, window: &mut Window) {
        window.cwnd = window.ssthresh;
        if self.linux.as_mut().is_some_and(|linux| linux.slow_start.on_recovered()) {
            self.w_max = window.cwnd / self.params.beta * if self.params.fast_convergence { 2.0 } else { 1.0 };
        }
    }

    /// 4.6 and 4.7.
    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        let cwnd = window.cwnd;
        self.cwnd_prior = cwnd;
        let gives_up_more = self.params.fast_convergence && cwnd < self.w_max;
        self.w_max = if gives_up_more { cwnd * (1.0 + self.params.beta) / 2.0 } else { cwnd };
        if self.params.flavour == CubicFlavour::Linux {
            self.w_max = self.w_max.floor();
        }
        self.stage = None;
        if let Some(linux) = &mut self.linux {
            linux.end_epoch();
            linux.slow_start.on_congestion(event, self.params.beta, window);
        }
    }

    /// 4.8: the next stage begins at its plateau.
    fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.stage = None;
        if let Some(linux) = &mut self.linux {
            linux.slow_start.on_timeout();
            let slow_start = std::mem::take(&mut linux.slow_start);
            **linux = LinuxState::new(slow_start);
        }
    }

    /// 5.8: the time of a pause does not count.
    fn on_resume(&mut self, _: &mut Window, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.last = now;
        }
    }
}

impl Cubic {
    /// 4.2: K follows from W_max. Without one (4.8 after a timeout, 4.10 after slow start) the plateau is here.
    fn begin(&mut self, cwnd: f64, now: Time) -> Stage {
        self.w_max = self.w_max.max(cwnd);
        Stage { k: libm::cbrt((self.w_max - cwnd) / self.params.c), elapsed: Span::ZERO, last: now, w_est: cwnd }
    }

    /// 4.3 to 4.5: the Reno-friendly, the concave and the convex region.
    fn grow(&self, stage: &mut Stage, cwnd: f64, ack: &Facts) -> f64 {
        let beta = self.params.beta;
        let alpha = if stage.w_est < self.cwnd_prior { 3.0 * (1.0 - beta) / (1.0 + beta) } else { 1.0 };
        stage.w_est += alpha * f64::from(ack.acked) / cwnd;
        let t = stage.elapsed.seconds();
        if self.w_cubic(stage.k, t) < stage.w_est {
            return cwnd.max(stage.w_est);
        }
        let target = self.w_cubic(stage.k, t + ack.srtt.seconds()).clamp(cwnd, 1.5 * cwnd);
        cwnd + ack.credit() * (target - cwnd) / cwnd
    }

    /// W_cubic, segments, at `t` s.
    fn w_cubic(&self, k: f64, t: f64) -> f64 {
        let from_plateau = t - k;
        self.params.c * from_plateau * from_plateau * from_plateau + self.w_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    fn cubic() -> Cubic {
        Cubic::new(CubicParams::defaults())
    }

    /// The window after an ACK that finds it at `cwnd`.
    fn after(cubic: &mut Cubic, cwnd: f64, ssthresh: f64, ack: &Facts) -> f64 {
        let mut window = Window { cwnd, ssthresh };
        cubic.on_ack(&mut window, ack);
        window.cwnd
    }

    fn reduce(cubic: &mut Cubic, cwnd: f64) {
        cubic.on_congestion(CongestionEvent::Loss, &Window { cwnd, ssthresh: 0.0 });
    }

    /// An ACK of one segment that comes at `ms` to a sender that uses its window, over 100 ms.
    fn ack(ms: u64) -> Facts {
        let (now, srtt) = (Time::ZERO + Span::from_millis(ms), Span::from_millis(100));
        Facts { acked: 1, flight: 100_000, srtt, now, ..Facts::default() }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value} is not {expected}");
    }

    /// A window of 1000 that was reduced to 700, and the ACK that begins its stage at time 0.
    fn reduced() -> (Cubic, f64) {
        let mut cubic = cubic();
        reduce(&mut cubic, 1000.0);
        let cwnd = after(&mut cubic, 700.0, 700.0, &ack(0));
        (cubic, cwnd)
    }

    #[test]
    fn the_first_step_by_hand() {
        // K = cbrt(300 / 0.4) = 9.085603 s. At time 0 the cubic is at 700, below what Reno has after one ACK.
        let (mut cubic, cwnd) = reduced();
        close(cubic.stage.unwrap().k, 9.085603);
        close(cwnd, 700.0 + 9.0 / 17.0 / 700.0);
        // At 0.1 s it is ahead; where it will be at 0.2 s: 1000 - 0.4 * 8.885603^3 = 719.3787.
        close(after(&mut cubic, 700.0, 700.0, &ack(100)), 700.0 + 19.3787 / 700.0);
    }

    #[test]
    fn concave_to_the_plateau_then_convex() {
        let (cubic, _) = reduced();
        // At 5 s: 1000 - 0.4 * (9.085603 - 5.1)^3 = 974.6757; at 9 s it is on the plateau; at 15 s, 6.0144 s past it.
        for (ms, at, target) in [(5000, 900.0, 974.6757), (9000, 1000.0, 1000.0), (15_000, 1080.0, 1087.0221)] {
            let cwnd = after(&mut cubic.clone(), at, 700.0, &ack(ms));
            close(cwnd, at + (target - at) / at);
        }
    }

    #[test]
    fn the_target_lies_between_the_window_and_half_as_much_again() {
        let (cubic, _) = reduced();
        close(after(&mut cubic.clone(), 1000.0, 700.0, &ack(1000)), 1000.0);
        close(after(&mut cubic.clone(), 1000.0, 700.0, &ack(100_000)), 1000.5);
    }

    #[test]
    fn a_small_window_grows_as_renos_does() {
        let mut cubic = cubic();
        reduce(&mut cubic, 10.0);
        // K = cbrt(3 / 0.4) = 1.9574 s: at 1 s W_cubic = 10 - 0.4 * 0.9574^3 = 9.649. Reno grows by 9/17 per window.
        let mut cwnd = 7.0;
        let mut estimate = 7.0;
        for i in 0..40 {
            let before = cwnd;
            cwnd = after(&mut cubic, cwnd, 7.0, &ack(5 * i));
            estimate += 9.0 / 17.0 / before;
            if cubic.w_cubic(1.957434, 0.005 * i as f64) < estimate {
                close(cwnd, estimate);
            }
        }
        close(cubic.stage.unwrap().w_est, estimate);
        assert!(cwnd > 9.0, "{cwnd}: ahead of 7.7 on the cubic at 0.2 s");
    }

    #[test]
    fn the_estimate_grows_by_one_a_window_once_it_is_where_it_was() {
        let mut cubic = Cubic { cwnd_prior: 10.0, w_max: 10.0, ..cubic() };
        cubic.stage = Some(Stage { k: 1.957434, elapsed: Span::ZERO, last: Time::ZERO, w_est: 10.0 });
        close(after(&mut cubic, 10.0, 7.0, &ack(0)), 10.1);
        close(after(&mut cubic, 10.1, 7.0, &Facts { acked: 2, ..ack(0) }), 10.1 + 2.0 / 10.1);
    }

    #[test]
    fn fast_convergence_gives_up_more_when_the_window_has_shrunk() {
        let (mut cubic, _) = reduced();
        reduce(&mut cubic, 900.0);
        close(cubic.w_max, 765.0); // 900 * 1.7 / 2
        reduce(&mut cubic, 800.0);
        close(cubic.w_max, 800.0);
    }

    #[test]
    fn after_a_timeout_the_stage_begins_on_its_plateau() {
        let (mut cubic, _) = reduced();
        reduce(&mut cubic, 900.0);
        cubic.on_timeout();
        close(after(&mut cubic, 1.0, 630.0, &ack(0)), 2.0);
        // K = 0: W_cubic(0.1 s) = 630 + 0.4 * 0.001.
        close(after(&mut cubic, 630.0, 630.0, &ack(1000)), 630.0 + 9.0 / 17.0 / 630.0);
        assert_eq!((cubic.w_max, cubic.stage.unwrap().k), (630.0, 0.0));
        // 10 s later: 630 + 0.4 * 10.1^3 = 1042.1204, above 1.5 times the window no more.
        close(after(&mut cubic, 700.0, 630.0, &ack(11_000)), 700.0 + (1042.1204 - 700.0) / 700.0);
    }

    #[test]
    fn slow_start_adds_one_where_the_window_is_used() {
        let mut cubic = cubic();
        assert_eq!(after(&mut cubic, 5.0, 700.0, &Facts { flight: 5, ..ack(0) }), 6.0);
        assert_eq!(after(&mut cubic, 5.0, 700.0, &Facts { flight: 4, ..ack(0) }), 5.0);
    }

    #[test]
    fn an_unused_window_does_not_grow_and_its_time_does_not_count() {
        let (mut cubic, cwnd) = reduced();
        let idle = Facts { flight: 600, ..ack(60_000) };
        assert_eq!(after(&mut cubic, cwnd, 700.0, &idle), cwnd);
        cubic.on_resume(&mut Window { cwnd, ssthresh: 700.0 }, Time::ZERO + Span::from_secs(80));
        // 5 s of use: as in the test above.
        close(after(&mut cubic, 900.0, 700.0, &ack(85_000)), 900.0 + 74.6757 / 900.0);
    }

    #[test]
    fn parameters_set_growth_and_reduction() {
        let params = CubicParams { c: 0.8, beta: 0.5, fast_convergence: false, ..CubicParams::defaults() };
        let mut cubic = Cubic::new(params);
        reduce(&mut cubic, 1000.0);
        // alpha = 3 * 0.5 / 1.5 = 1; K = cbrt(500 / 0.8) = 8.549880 s.
        close(after(&mut cubic, 500.0, 500.0, &ack(0)), 500.0 + 1.0 / 500.0);
        close(cubic.stage.unwrap().k, 8.549880);
        assert_eq!(cubic.kept(CongestionEvent::Loss), 0.5);
        reduce(&mut cubic, 900.0);
        assert_eq!(cubic.w_max, 900.0, "no fast convergence");
    }
}
