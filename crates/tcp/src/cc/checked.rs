//! A law from elsewhere, whose answers are looked at before a sender goes by them.

use super::{CongestionControl, CongestionEvent, Facts, LawFailure, LostSegment, Window};
use aqmlab_core::{Span, Time};
use std::sync::OnceLock;

/// The widest window that a law may set, segments: more than any scenario holds.
const WIDEST: f64 = 1e9;

/// A law, and the first of its answers that could not be. From then on it is not asked again.
#[derive(Clone, Debug)]
pub struct CheckedLaw {
    law: Box<dyn CongestionControl>,
    now: Time,
    failure: OnceLock<LawFailure>,
}

impl CheckedLaw {
    pub fn new(law: Box<dyn CongestionControl>) -> Self {
        Self { law, now: Time::ZERO, failure: OnceLock::new() }
    }

    fn fail(&self, cause: String) {
        self.failure.get_or_init(|| LawFailure { at: self.now, cause });
    }

    /// Lets the law set the window; one that cannot be is not kept.
    fn set(&mut self, window: &mut Window, what: &str, act: impl FnOnce(&mut dyn CongestionControl, &mut Window)) {
        if self.failure().is_some() {
            return;
        }
        let before = *window;
        act(&mut *self.law, window);
        let is_window = |value: f64| value > 0.0 && value <= WIDEST;
        if !is_window(window.cwnd) {
            self.fail(format!("{what} set cwnd to {}; must lie above 0, up to {WIDEST:e} segments", window.cwnd));
        } else if window.ssthresh.is_nan() || window.ssthresh < 0.0 {
            self.fail(format!("{what} set ssthresh to {}; must be 0 or more segments", window.ssthresh));
        } else {
            return;
        }
        *window = before;
    }
}

impl CongestionControl for CheckedLaw {
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        self.now = ack.now;
        self.set(window, "on_ack", |law, window| law.on_ack(window, ack));
    }

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        self.now = ack.now;
        self.set(window, "on_feedback", |law, window| law.on_feedback(window, ack));
    }

    fn seed(&mut self, seed: u64) {
        self.law.seed(seed);
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        self.law.on_lost(lost);
    }

    fn kept(&self, event: CongestionEvent) -> f64 {
        let kept = self.law.kept(event);
        if (0.0..=1.0).contains(&kept) {
            return kept;
        }
        self.fail(format!("kept answered {kept}; must lie in 0 ..= 1"));
        0.5
    }

    fn threshold(&self, event: CongestionEvent, window: &Window) -> Option<f64> {
        let threshold = self.law.threshold(event, window)?;
        if threshold >= 0.0 {
            return Some(threshold);
        }
        self.fail(format!("threshold answered {threshold}; must be 0 or more segments"));
        None
    }

    fn reduces_again(&self) -> bool {
        self.law.reduces_again()
    }

    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        self.law.on_congestion(event, window);
    }

    fn on_recovered(&mut self, window: &mut Window) {
        self.set(window, "on_recovered", |law, window| law.on_recovered(window));
    }

    fn on_established(&mut self, window: &Window, rtt: Span, now: Time) {
        self.now = now;
        self.law.on_established(window, rtt, now);
    }

    fn on_timeout(&mut self) {
        self.law.on_timeout();
    }

    fn on_undo(&mut self) {
        self.law.on_undo();
    }

    fn on_resume(&mut self, window: &mut Window, now: Time) {
        self.now = now;
        self.set(window, "on_resume", |law, window| law.on_resume(window, now));
    }

    fn on_restart(&mut self, window: &mut Window, is_app_limited: bool, now: Time) {
        self.now = now;
        self.set(window, "on_restart", |law, window| law.on_restart(window, is_app_limited, now));
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rate = self.law.pacing_rate()?;
        if rate > 0.0 && rate.is_finite() {
            return Some(rate);
        }
        self.fail(format!("pacing_rate answered {rate}; must be more than 0 segments/s"));
        None
    }

    fn send_quantum(&self) -> u32 {
        self.law.send_quantum().max(1)
    }

    fn failure(&self) -> Option<&LawFailure> {
        self.failure.get().or_else(|| self.law.failure())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers with these numbers.
    #[derive(Clone, Debug)]
    struct Odd {
        cwnd: f64,
        ssthresh: f64,
        kept: f64,
        rate: f64,
    }

    const RIGHT: Odd = Odd { cwnd: 5.0, ssthresh: 4.0, kept: 0.5, rate: 9.0 };

    impl CongestionControl for Odd {
        fn on_ack(&mut self, window: &mut Window, _: &Facts) {
            *window = Window { cwnd: self.cwnd, ssthresh: self.ssthresh };
        }
        fn kept(&self, _: CongestionEvent) -> f64 {
            self.kept
        }
        fn pacing_rate(&self) -> Option<f64> {
            Some(self.rate)
        }
    }

    /// The window after an ACK at 3 s, and why the law has broken down.
    fn after(odd: Odd) -> (f64, String) {
        let mut law = CheckedLaw::new(Box::new(odd));
        let mut window = Window { cwnd: 2.0, ssthresh: 1.0 };
        law.on_ack(&mut window, &Facts { now: Time::ZERO + Span::from_secs(3), ..Facts::default() });
        law.kept(CongestionEvent::Loss);
        law.pacing_rate();
        let why = law.failure().map(|LawFailure { at, cause }| format!("{} s: {cause}", at.seconds()));
        (window.cwnd, why.unwrap_or_default())
    }

    #[test]
    fn what_cannot_be_is_named_and_not_kept() {
        assert_eq!(after(RIGHT), (5.0, String::new()));
        let (kept, why) = after(Odd { cwnd: f64::NAN, ..RIGHT });
        assert_eq!((kept, why.as_str()), (2.0, "3 s: on_ack set cwnd to NaN; must lie above 0, up to 1e9 segments"));
        for cwnd in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(after(Odd { cwnd, ..RIGHT }).0, 2.0);
        }
        assert!(after(Odd { ssthresh: f64::NAN, ..RIGHT }).1.contains("ssthresh to NaN"));
        assert!(after(Odd { kept: 2.0, ..RIGHT }).1.contains("kept answered 2"));
        assert!(after(Odd { rate: 0.0, ..RIGHT }).1.contains("pacing_rate answered 0"));
    }
}
