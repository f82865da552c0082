//! HyStart++ (RFC 9406): where round trips get longer, slow start goes on at a quarter of its pace, until that turns out to have
//! been needless or five round trips have shown that it was not. Names and section numbers are the RFC's.

use super::{Facts, Window};
use aqmlab_core::Span;

/// Section 4.3: MIN_RTT_THRESH and MAX_RTT_THRESH, MIN_RTT_DIVISOR, N_RTT_SAMPLE, CSS_GROWTH_DIVISOR, CSS_ROUNDS, and L of a
/// sender that does not pace.
const RTT_THRESH: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
const L: f64 = 8.0;

/// The first slow start of a connection.
#[derive(Clone, Debug, Default)]
pub struct HyStartPlusPlus {
    /// windowEnd: the round ends when all below is acknowledged.
    window_end: u32,
    /// lastRoundMinRTT, currentRoundMinRTT and rttSampleCount.
    last_round: Option<Span>,
    current_round: Option<Span>,
    samples: u32,
    /// Conservative slow start, if it is on.
    css: Option<ConservativeSlowStart>,
}

#[derive(Clone, Debug)]
struct ConservativeSlowStart {
    /// cssBaselineMinRtt.
    baseline: Span,
    /// Rounds that it has seen the end of.
    rounds: u32,
}

impl HyStartPlusPlus {
    /// Section 4.2: an ACK below the threshold. The window grows, unless it is not used, and slow start may end: then the
    /// threshold is the window.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Facts, is_used: bool) {
        if is_used {
            let divisor = if self.css.is_some() { CSS_GROWTH_DIVISOR } else { 1.0 };
            window.cwnd += ack.credit().min(L) / divisor;
        }
        if ack.hole >= self.window_end && self.ends_round(ack.sent) {
            window.ssthresh = window.cwnd;
            return;
        }
        let Some(rtt) = ack.rtt else { return };
        let current = self.current_round.map_or(rtt, |least| least.min(rtt));
        self.current_round = Some(current);
        self.samples += 1;
        if self.samples >= N_RTT_SAMPLE {
            self.judge(current);
        }
    }

    /// A round ends, and the next one goes up to `sent`. True if it was the last of conservative slow start.
    fn ends_round(&mut self, sent: u32) -> bool {
        self.window_end = sent;
        (self.last_round, self.current_round, self.samples) = (self.current_round.take(), None, 0);
        self.css.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= CSS_ROUNDS
        })
    }

    /// The least round-trip time of this round is known well enough: has the queue grown, or was it a passing delay?
    fn judge(&mut self, current: Span) {
        match (&self.css, self.last_round) {
            (Some(css), _) if current < css.baseline => self.css = None,
            (None, Some(last)) => {
                let threshold = Span(last.0 / MIN_RTT_DIVISOR).clamp(RTT_THRESH.0, RTT_THRESH.1);
                if current >= last + threshold {
                    self.css = Some(ConservativeSlowStart { baseline: current, rounds: 0 });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A round of `acks` ACKs with this round-trip time; the window after each.
    fn round(hystart: &mut HyStartPlusPlus, window: &mut Window, acks: u32, rtt_ms: u64) -> Vec<f64> {
        let (start, end) = (hystart.window_end, hystart.window_end + acks);
        let rtt = Some(Span::from_millis(rtt_ms));
        let mut ack = |i| {
            let facts = Facts { acked: 1, rtt, hole: start + i, sent: end, ..Facts::default() };
            hystart.on_ack(window, &facts, true);
            window.cwnd
        };
        (0..acks).map(&mut ack).collect()
    }

    fn slow_start() -> (HyStartPlusPlus, Window) {
        (HyStartPlusPlus::default(), Window { cwnd: 10.0, ssthresh: 1e6 })
    }

    #[test]
    fn the_window_grows_by_a_quarter_once_round_trips_are_longer() {
        let (mut hystart, mut window) = slow_start();
        assert_eq!(round(&mut hystart, &mut window, 10, 40).last(), Some(&20.0));
        // 44 ms is less than 40 + 40/8.
        assert_eq!(round(&mut hystart, &mut window, 20, 44).last(), Some(&40.0));
        // 50 ms is more than 44 + 44/8 = 49.5, which the eighth sample shows: 8 segments, then 12 quarters.
        let windows = round(&mut hystart, &mut window, 20, 50);
        assert_eq!((windows[7], windows[8], windows[19]), (48.0, 48.25, 51.0));
    }

    #[test]
    fn the_threshold_is_an_eighth_between_4_and_16_ms() {
        for (rtt, longer, is_conservative) in
            [(8, 11, false), (8, 12, true), (80, 89, false), (80, 90, true), (400, 415, false), (400, 416, true)]
        {
            let (mut hystart, mut window) = slow_start();
            round(&mut hystart, &mut window, 10, rtt);
            round(&mut hystart, &mut window, 10, longer);
            assert_eq!(hystart.css.is_some(), is_conservative, "{rtt} ms, then {longer} ms");
        }
    }

    #[test]
    fn seven_samples_say_nothing() {
        let (mut hystart, mut window) = slow_start();
        round(&mut hystart, &mut window, 10, 40);
        round(&mut hystart, &mut window, 7, 80);
        assert!(hystart.css.is_none());
    }

    #[test]
    fn five_rounds_end_slow_start() {
        let (mut hystart, mut window) = slow_start();
        round(&mut hystart, &mut window, 10, 40);
        round(&mut hystart, &mut window, 10, 50); // in part the first of the five
        for _ in 0..4 {
            round(&mut hystart, &mut window, 10, 50);
            assert_eq!(window.ssthresh, 1e6);
        }
        // 20 after the first round, 28 and two quarters in the second, 10 quarters in each of four, and one more.
        assert_eq!(round(&mut hystart, &mut window, 1, 50), [20.0 + 8.5 + 10.0 + 0.25]);
        assert_eq!(window.ssthresh, window.cwnd);
    }

    #[test]
    fn slow_start_goes_on_when_round_trips_are_short_again() {
        let (mut hystart, mut window) = slow_start();
        for rtt in [40, 50, 49] {
            round(&mut hystart, &mut window, 10, rtt);
        }
        let before = window.cwnd;
        assert_eq!(round(&mut hystart, &mut window, 1, 49), [before + 1.0]);
    }

    #[test]
    fn an_ack_counts_for_eight_segments_at_most_and_not_for_an_unused_window() {
        let (mut hystart, mut window) = slow_start();
        let ack = Facts { acked: 12, byte_counting: true, hole: 12, sent: 40, ..Facts::default() };
        hystart.on_ack(&mut window, &ack, true);
        assert_eq!(window.cwnd, 18.0);
        hystart.on_ack(&mut window, &ack, false);
        assert_eq!(window.cwnd, 18.0);
    }
}
