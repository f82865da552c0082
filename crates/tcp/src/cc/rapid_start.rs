//! Rapid Start (draft-kazuho-ccwg-rapid-start, editor's copy at 00e5ea1): the window triples in a round trip while no queue is to be
//! seen, and the recovery that ends it leaves beta times what the path has carried in it, however much was lost.
//!
//! The window that recovery aims at falls with what arrives and with what is found lost; PRR spreads the sending, so that the pause
//! in which the draft lets the queue drain is spread, too. Arrivals count until one of a segment that was sent in recovery. The
//! draft's pacing over the whole round trip, and its larger initial window, are left out.

use super::{Facts, LostSegment, Window};
use aqmlab_core::Span;

/// Round-trip times that are longer than the least by more than the smaller of these show a queue.
const ADDED: Span = Span::from_millis(4);
const FACTOR: f64 = 1.1;
/// Segments that the window grows by for each acknowledged while there is no queue.
const GROWTH: f64 = 2.0;
/// Greatest factor by which the window may exceed what the path holds.
const OVERSHOOT: f64 = 3.0;
/// K.
const K: f64 = 2.0 / 3.0;

/// The first slow start of a connection, and the recovery after it.
#[derive(Clone, Debug, Default)]
pub struct RapidStart {
    min_rtt: Option<Span>,
    /// rtt_floor: the least of this round, which ends when all below `round_end` is acknowledged.
    rtt_floor: Option<Span>,
    round_end: u32,
    /// Segments found lost.
    lost: u32,
    recovery: Option<FirstRecovery>,
}

#[derive(Clone, Copy, Debug)]
struct FirstRecovery {
    beta: f64,
    /// pre_recovery_cwnd.
    before: f64,
    /// Segments delivered when it began, and since then of those that were sent before.
    begun: Option<u64>,
    acked: u32,
}

/// silence_factor, which is loss_factor, too.
fn silence_factor(beta: f64) -> f64 {
    beta + ack_factor(beta)
}

fn ack_factor(beta: f64) -> f64 {
    K * (1.0 - beta)
}

impl RapidStart {
    /// An ACK that finds the window below the threshold.
    pub fn on_ack(&mut self, window: &mut Window, ack: &Facts, is_used: bool) {
        if ack.hole >= self.round_end {
            (self.round_end, self.rtt_floor) = (ack.sent, None);
        }
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
            self.rtt_floor = Some(self.rtt_floor.map_or(rtt, |least| least.min(rtt)));
        }
        if is_used {
            window.cwnd += ack.credit() * if self.has_queue() { 1.0 } else { GROWTH };
        }
    }

    /// rtt_floor > queue_buildup_thresh; where nothing is known, too.
    fn has_queue(&self) -> bool {
        let (Some(min_rtt), Some(rtt_floor)) = (self.min_rtt, self.rtt_floor) else { return true };
        rtt_floor > (min_rtt + ADDED).min(Span::from_seconds(min_rtt.seconds() * FACTOR))
    }

    /// The threshold with which recovery begins, where a congestion event leaves this share.
    pub fn threshold(beta: f64, window: &Window) -> f64 {
        silence_factor(beta) * window.cwnd
    }

    pub fn begin_recovery(&mut self, beta: f64, window: &Window) {
        self.recovery = Some(FirstRecovery { beta, before: window.cwnd, begun: None, acked: 0 });
    }

    pub fn is_recovering(&self) -> bool {
        self.recovery.is_some()
    }

    /// A segment is found lost.
    pub fn on_lost(&mut self, _: &LostSegment) {
        self.lost += 1;
    }

    /// Any ACK: in recovery the threshold falls.
    pub fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        let (Some(recovery), Some(sample)) = (&mut self.recovery, ack.sample) else { return };
        let begun = *recovery.begun.get_or_insert(sample.delivered - u64::from(sample.newly_delivered));
        if sample.prior_delivered <= begun {
            recovery.acked += sample.newly_delivered;
        }
        let &mut FirstRecovery { beta, before, acked, .. } = recovery;
        let left = before * silence_factor(beta)
            - f64::from(acked) * ack_factor(beta)
            - f64::from(self.lost) * silence_factor(beta);
        window.ssthresh = left.max(before * beta / OVERSHOOT).max(2.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::RateSample;

    #[test]
    fn the_window_triples_until_round_trips_are_longer_by_a_tenth_or_4_ms() {
        // 20 ms: 22 are no queue, 23 are; 100 ms: 104 are none, 105 are.
        for (least, rtt, grown) in [(20, 22, 2.0), (20, 23, 1.0), (100, 104, 2.0), (100, 105, 1.0)] {
            let mut rapid = RapidStart::default();
            let mut window = Window { cwnd: 10.0, ssthresh: 1e6 };
            let ack =
                |hole, rtt| Facts { hole, sent: hole + 10, rtt: Some(Span::from_millis(rtt)), ..Facts::default() };
            rapid.on_ack(&mut window, &ack(1, least), true);
            assert_eq!(window.cwnd, 12.0, "no queue yet");
            rapid.on_ack(&mut window, &ack(5, rtt), true);
            assert_eq!(window.cwnd, 14.0, "the least of the round counts");
            rapid.on_ack(&mut window, &ack(11, rtt), true);
            assert_eq!(window.cwnd, 14.0 + grown, "{rtt} ms, at least {least}");
            rapid.on_ack(&mut window, &ack(12, rtt), false);
            assert_eq!(window.cwnd, 14.0 + grown);
        }
    }

    #[test]
    fn the_factors_are_those_of_the_draft() {
        for (beta, silence, ack) in [(0.5, 5.0 / 6.0, 1.0 / 3.0), (0.7, 0.9, 0.2), (0.8, 14.0 / 15.0, 2.0 / 15.0)] {
            assert!((silence_factor(beta) - silence).abs() < 1e-12 && (ack_factor(beta) - ack).abs() < 1e-12, "{beta}");
        }
    }

    /// The threshold after a recovery from a window of 300 in which so many arrive and are lost.
    fn after(beta: f64, acked: u32, lost: u32) -> f64 {
        let mut rapid = RapidStart::default();
        let mut window =
            Window { cwnd: 300.0, ssthresh: RapidStart::threshold(beta, &Window { cwnd: 300.0, ssthresh: 1e6 }) };
        rapid.on_lost(&LostSegment::default());
        rapid.begin_recovery(beta, &window);
        (1..lost).for_each(|_| rapid.on_lost(&LostSegment::default()));
        for i in 1..=acked {
            let delivered = 1000 + u64::from(i);
            let sample = RateSample { newly_delivered: 1, delivered, prior_delivered: 900, ..RateSample::default() };
            rapid.on_feedback(&mut window, &Facts { sample: Some(sample), ..Facts::default() });
        }
        // What was sent in recovery counts no more.
        let late = RateSample { newly_delivered: 50, delivered: 2000, prior_delivered: 1001, ..RateSample::default() };
        rapid.on_feedback(&mut window, &Facts { sample: Some(late), ..Facts::default() });
        window.ssthresh
    }

    #[test]
    fn recovery_leaves_beta_of_what_arrives_whatever_was_lost() {
        // 300*5/6 - 100/3 - 200*5/6 = 50; with CUBIC's beta 300*0.9 - 150*0.2 - 150*0.9 = 105.
        for (beta, acked, expected) in [(0.5, 100, 50.0), (0.5, 150, 75.0), (0.7, 150, 105.0), (0.5, 299, 149.5)] {
            assert!((after(beta, acked, 300 - acked) - expected).abs() < 1e-9, "{beta}, {acked}");
        }
        // Never less than a third of beta: 300*0.5/3.
        assert!((after(0.5, 20, 280) - 50.0).abs() < 1e-9);
    }
}
