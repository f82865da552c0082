//! CUBIC (RFC 9438): between losses the window is a cubic of time, not of round trips.
//!
//! Section numbers are the RFC's. Readings and departures:
//! - A window never shrinks at an ACK: where the Reno-friendly estimate is above W_cubic(t) but below the window (4.3),
//!   the window stays.
//! - Growth is per ACK, to the letter of 4.4 and 4.5: with delayed ACKs it lags a little behind the cubic.
//! - Slow start is RFC 5681's; HyStart++ (RFC 9406) and the detection of spurious losses (4.9) are left out.

use super::NewAck;
use aqmlab_core::{Span, Time};

/// C, segments/s^3 (5.1).
const C: f64 = 0.4;
/// beta_cubic, the share of the window that a congestion event leaves (4.6).
pub const BETA: f64 = 0.7;
/// alpha_cubic, what makes growth by alpha and reduction by beta as fair as Reno's (4.3).
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// What CUBIC remembers of its last congestion event, and where it is since.
#[derive(Clone, Debug, Default)]
pub struct Cubic {
    /// Window just before the last reduction, segments.
    cwnd_prior: f64,
    /// W_max: the plateau of the cubic, segments; 0 if the window is the first known, or the first after a timeout.
    w_max: f64,
    /// The present congestion avoidance stage; `None` in slow start and until the first ACK after a reduction.
    stage: Option<Stage>,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug)]
struct Stage {
    /// Time that the cubic takes from its beginning to W_max, s.
    k: f64,
    /// Time that the sender has used its window in, since the beginning.
    elapsed: Span,
    /// When the last ACK came.
    last: Time,
    /// W_est: the window that Reno would have, segments.
    w_est: f64,
}

impl Cubic {
    /// The window after an ACK of new data.
    pub fn on_ack(&mut self, cwnd: f64, ssthresh: f64, ack: &NewAck) -> f64 {
        // 5.8: a window that the application leaves unused does not grow, and its time does not count.
        let is_used = f64::from(ack.flight) + 1.0 > cwnd;
        if cwnd < ssthresh {
            self.stage = None;
            return if is_used { cwnd + 1.0 } else { cwnd };
        }
        let mut stage = self.stage.unwrap_or_else(|| self.begin(cwnd, ack.now));
        if is_used {
            stage.elapsed = stage.elapsed + ack.now.since(stage.last);
        }
        stage.last = ack.now;
        let grown = if is_used { self.grow(&mut stage, cwnd, ack) } else { cwnd };
        self.stage = Some(stage);
        grown
    }

    /// 4.2: K follows from W_max. Without one (4.8 after a timeout, 4.10 after slow start) the plateau is here.
    fn begin(&mut self, cwnd: f64, now: Time) -> Stage {
        self.w_max = self.w_max.max(cwnd);
        Stage { k: libm::cbrt((self.w_max - cwnd) / C), elapsed: Span::ZERO, last: now, w_est: cwnd }
    }

    /// 4.3 to 4.5: the Reno-friendly, the concave and the convex region.
    fn grow(&self, stage: &mut Stage, cwnd: f64, ack: &NewAck) -> f64 {
        let alpha = if stage.w_est < self.cwnd_prior { ALPHA } else { 1.0 };
        stage.w_est += alpha * f64::from(ack.acked) / cwnd;
        let t = stage.elapsed.seconds();
        if self.w_cubic(stage.k, t) < stage.w_est {
            return cwnd.max(stage.w_est);
        }
        let target = self.w_cubic(stage.k, t + ack.srtt.seconds()).clamp(cwnd, 1.5 * cwnd);
        cwnd + (target - cwnd) / cwnd
    }

    /// Eq. (1), segments, at `t` s.
    fn w_cubic(&self, k: f64, t: f64) -> f64 {
        let from_plateau = t - k;
        C * from_plateau * from_plateau * from_plateau + self.w_max
    }

    /// 4.6 and 4.7: the window is about to be reduced. Fast convergence: a flow whose window was lower than at the event
    /// before makes room for others.
    pub fn on_congestion(&mut self, cwnd: f64) {
        self.cwnd_prior = cwnd;
        self.w_max = if cwnd < self.w_max { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.stage = None;
    }

    /// 5.8: the time of a pause does not count.
    pub fn resume(&mut self, now: Time) {
        if let Some(stage) = &mut self.stage {
            stage.last = now;
        }
    }

    /// 4.8: the next stage begins at its plateau.
    pub fn on_timeout(&mut self) {
        self.w_max = 0.0;
        self.stage = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of one segment that comes at `ms` to a sender that uses its window, over 100 ms.
    fn ack(ms: u64) -> NewAck {
        let (now, srtt) = (Time(ms * 1_000_000_000), Span::from_seconds(0.1));
        NewAck { acked: 1, flight: 100_000, delay: Span::ZERO, srtt, now }
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value} is not {expected}");
    }

    /// A window of 1000 that was reduced to 700, and the ACK that begins its stage at time 0.
    fn reduced() -> (Cubic, f64) {
        let mut cubic = Cubic::default();
        cubic.on_congestion(1000.0);
        let cwnd = cubic.on_ack(700.0, 700.0, &ack(0));
        (cubic, cwnd)
    }

    #[test]
    fn the_first_step_by_hand() {
        // K = cbrt(300 / 0.4) = 9.085603 s. At time 0 the cubic is at 700, below what Reno has after one ACK.
        let (mut cubic, cwnd) = reduced();
        close(cubic.stage.unwrap().k, 9.085603);
        close(cwnd, 700.0 + 9.0 / 17.0 / 700.0);
        // At 0.1 s it is ahead; where it will be at 0.2 s: 1000 - 0.4 * 8.885603^3 = 719.3787.
        close(cubic.on_ack(700.0, 700.0, &ack(100)), 700.0 + 19.3787 / 700.0);
    }

    #[test]
    fn concave_to_the_plateau_then_convex() {
        let (cubic, _) = reduced();
        // At 5 s: 1000 - 0.4 * (9.085603 - 5.1)^3 = 974.6757; at 9 s it is on the plateau; at 15 s, 6.0144 s past it.
        for (ms, at, target) in [(5000, 900.0, 974.6757), (9000, 1000.0, 1000.0), (15_000, 1080.0, 1087.0221)] {
            let cwnd = cubic.clone().on_ack(at, 700.0, &ack(ms));
            close(cwnd, at + (target - at) / at);
        }
    }

    #[test]
    fn the_target_lies_between_the_window_and_half_as_much_again() {
        let (cubic, _) = reduced();
        close(cubic.clone().on_ack(1000.0, 700.0, &ack(1000)), 1000.0);
        close(cubic.clone().on_ack(1000.0, 700.0, &ack(100_000)), 1000.5);
    }

    #[test]
    fn a_small_window_grows_as_renos_does() {
        let mut cubic = Cubic::default();
        cubic.on_congestion(10.0);
        // K = cbrt(3 / 0.4) = 1.9574 s: at 1 s W_cubic = 10 - 0.4 * 0.9574^3 = 9.649. Reno grows by 9/17 per window.
        let mut cwnd = 7.0;
        let mut estimate = 7.0;
        for i in 0..40 {
            let before = cwnd;
            cwnd = cubic.on_ack(cwnd, 7.0, &ack(5 * i));
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
        let mut cubic = Cubic { cwnd_prior: 10.0, w_max: 10.0, stage: None };
        cubic.stage = Some(Stage { k: 1.957434, elapsed: Span::ZERO, last: Time::ZERO, w_est: 10.0 });
        close(cubic.on_ack(10.0, 7.0, &ack(0)), 10.1);
        close(cubic.on_ack(10.1, 7.0, &NewAck { acked: 2, ..ack(0) }), 10.1 + 2.0 / 10.1);
    }

    #[test]
    fn fast_convergence_gives_up_more_when_the_window_has_shrunk() {
        let (mut cubic, _) = reduced();
        cubic.on_congestion(900.0);
        close(cubic.w_max, 765.0); // 900 * 1.7 / 2
        cubic.on_congestion(800.0);
        close(cubic.w_max, 800.0);
    }

    #[test]
    fn after_a_timeout_the_stage_begins_on_its_plateau() {
        let (mut cubic, _) = reduced();
        cubic.on_congestion(900.0);
        cubic.on_timeout();
        close(cubic.on_ack(1.0, 630.0, &ack(0)), 2.0);
        // K = 0: W_cubic(0.1 s) = 630 + 0.4 * 0.001.
        close(cubic.on_ack(630.0, 630.0, &ack(1000)), 630.0 + 9.0 / 17.0 / 630.0);
        assert_eq!((cubic.w_max, cubic.stage.unwrap().k), (630.0, 0.0));
        // 10 s later: 630 + 0.4 * 10.1^3 = 1042.1204, above 1.5 times the window no more.
        close(cubic.on_ack(700.0, 630.0, &ack(11_000)), 700.0 + (1042.1204 - 700.0) / 700.0);
    }

    #[test]
    fn slow_start_adds_one_where_the_window_is_used() {
        let mut cubic = Cubic::default();
        assert_eq!(cubic.on_ack(5.0, 700.0, &NewAck { flight: 5, ..ack(0) }), 6.0);
        assert_eq!(cubic.on_ack(5.0, 700.0, &NewAck { flight: 4, ..ack(0) }), 5.0);
    }

    #[test]
    fn an_unused_window_does_not_grow_and_its_time_does_not_count() {
        let (mut cubic, cwnd) = reduced();
        let idle = NewAck { flight: 600, ..ack(60_000) };
        assert_eq!(cubic.on_ack(cwnd, 700.0, &idle), cwnd);
        cubic.resume(Time(80_000_000_000_000));
        // 5 s of use: as in the test above.
        close(cubic.on_ack(900.0, 700.0, &ack(85_000)), 900.0 + 74.6757 / 900.0);
    }
}
