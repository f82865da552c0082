//! Google's congestion control: the trend of one-way delays, and losses (draft-ietf-rmcat-gcc-02).
//!
//! Where libwebrtc has left the draft: the gradient of the delay is the slope of a line through the last 20 groups of packets (the
//! draft has a Kalman filter), times four and the number of groups up to 60; the threshold moves by 0.0087 and 0.039 a millisecond
//! (the draft: 0.01 and 0.00018); all of it is computed at the sender; packets are paced at 2.5 times the rate. What libwebrtc has
//! besides, probes of the capacity at the start and after a silence, and a loss model of its own since 2021, is not here: rates
//! grow as in the draft, but the least additive step, 1000 bit/s, is for a second and not for each feedback. docs/media.md goes
//! through all rules.

use super::control::{MediaArrival, MediaControl, MediaReport, MediaSetup, RateRange};
use std::collections::VecDeque;

/// Packets sent within so long, s, are one group, as are those that arrive so close together because a queue empties...
const BURST: f64 = 0.005;
/// ...but for no longer than this, s (libwebrtc).
const LONGEST_BURST: f64 = 0.1;
/// Groups that the line goes through.
const WINDOW: usize = 20;
const SMOOTHING: f64 = 0.9;
const TREND_GAIN: f64 = 4.0;
const MOST_DELTAS: u32 = 60;
/// del_var_th, ms: at first, least and greatest.
const THRESHOLD: f64 = 12.5;
const THRESHOLD_MIN: f64 = 6.0;
const THRESHOLD_MAX: f64 = 600.0;
const K_UP: f64 = 0.0087;
const K_DOWN: f64 = 0.039;
/// A trend further than this from the threshold, ms, does not move it.
const MAX_ADAPT_OFFSET: f64 = 15.0;
/// overuse_time_th, ms.
const OVERUSE_TIME: f64 = 10.0;
const BETA: f64 = 0.85;
const ETA: f64 = 1.08;
/// Window of the rate that arrives, s.
const RATE_WINDOW: f64 = 0.5;
/// Time over which losses are counted, s.
const LOSS_PERIOD: f64 = 1.0;
const PACING_FACTOR: f64 = 2.5;

/// What the delay tells of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Usage {
    Normal,
    Over,
    Under,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RateState {
    Increase,
    Decrease,
    Hold,
}

/// Packets sent together.
#[derive(Clone, Copy, Debug)]
struct PacketGroup {
    first_sent: f64,
    last_sent: f64,
    first_arrived: f64,
    last_arrived: f64,
}

impl PacketGroup {
    /// Sections 5.1 and 5.2: the packet was sent with the group, or it arrives right behind it, and has taken less time.
    fn holds(&self, packet: &MediaArrival) -> bool {
        let gap = packet.arrived - self.last_arrived;
        let was_faster = gap - (packet.sent - self.last_sent) < 0.0;
        let is_burst = gap <= BURST && was_faster && packet.arrived - self.first_arrived < LONGEST_BURST;
        packet.sent - self.first_sent <= BURST || is_burst
    }
}

/// The arrival-time filter and the over-use detector, in ms.
#[derive(Clone, Debug)]
struct DelayDetector {
    group: Option<PacketGroup>,
    before: Option<PacketGroup>,
    first_arrival: Option<f64>,
    deltas: u32,
    accumulated: f64,
    smoothed: f64,
    /// Arrival and smoothed delay.
    points: VecDeque<(f64, f64)>,
    trend_before: f64,
    threshold: f64,
    updated: Option<f64>,
    /// Time for which the trend has been above the threshold, and how often.
    over: Option<(f64, u32)>,
    usage: Usage,
}

impl DelayDetector {
    fn new() -> Self {
        Self {
            group: None,
            before: None,
            first_arrival: None,
            deltas: 0,
            accumulated: 0.0,
            smoothed: 0.0,
            points: VecDeque::new(),
            trend_before: 0.0,
            threshold: THRESHOLD,
            updated: None,
            over: None,
            usage: Usage::Normal,
        }
    }

    fn take(&mut self, packet: &MediaArrival) {
        let MediaArrival { sent, arrived, .. } = *packet;
        let own = PacketGroup { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived };
        let Some(group) = &mut self.group else {
            self.group = Some(own);
            return;
        };
        if packet.sent < group.first_sent {
            return; // out of order
        }
        if group.holds(packet) {
            group.last_sent = group.last_sent.max(packet.sent);
            group.last_arrived = group.last_arrived.max(packet.arrived);
            return;
        }
        let group = std::mem::replace(group, own);
        if let Some(before) = self.before.replace(group) {
            let sent = 1e3 * (group.last_sent - before.last_sent);
            let arrived = 1e3 * (group.last_arrived - before.last_arrived);
            self.take_delta(arrived - sent, sent, 1e3 * group.last_arrived);
        }
    }

    /// A group that took `delta` longer than the one before, sent `sent` after it.
    fn take_delta(&mut self, delta: f64, sent: f64, arrived: f64) {
        let first = *self.first_arrival.get_or_insert(arrived);
        self.deltas += 1;
        self.accumulated += delta;
        self.smoothed = SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * self.accumulated;
        self.points.push_back((arrived - first, self.smoothed));
        if self.points.len() > WINDOW {
            self.points.pop_front();
        }
        if let Some(slope) = slope(&self.points) {
            self.detect(f64::from(self.deltas.min(MOST_DELTAS)) * slope * TREND_GAIN, slope, sent, arrived);
        }
    }

    fn detect(&mut self, trend: f64, slope: f64, sent: f64, now: f64) {
        if trend > self.threshold {
            let (time, count) = self.over.map_or((sent / 2.0, 1), |(time, count)| (time + sent, count + 1));
            self.over = Some((time, count));
            if time > OVERUSE_TIME && count > 1 && slope >= self.trend_before {
                (self.over, self.usage) = (Some((0.0, 0)), Usage::Over);
            }
        } else {
            self.over = None;
            self.usage = if trend < -self.threshold { Usage::Under } else { Usage::Normal };
        }
        self.trend_before = slope;
        let since = self.updated.map_or(0.0, |updated| (now - updated).min(100.0));
        self.updated = Some(now);
        if trend.abs() > self.threshold + MAX_ADAPT_OFFSET {
            return;
        }
        let gain = if trend.abs() < self.threshold { K_DOWN } else { K_UP };
        self.threshold += gain * (trend.abs() - self.threshold) * since;
        self.threshold = self.threshold.clamp(THRESHOLD_MIN, THRESHOLD_MAX);
    }
}

/// Of the least-squares line through a full window.
fn slope(points: &VecDeque<(f64, f64)>) -> Option<f64> {
    if points.len() < WINDOW {
        return None;
    }
    let count = points.len() as f64;
    let (sum_x, sum_y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0, y + point.1));
    let (mean_x, mean_y) = (sum_x / count, sum_y / count);
    let above: f64 = points.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let below: f64 = points.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
    (below > 0.0).then(|| above / below)
}

/// Google's congestion control.
#[derive(Clone, Debug)]
pub struct Gcc {
    range: RateRange,
    delays: DelayDetector,
    state: RateState,
    /// A_hat, the rate by delay, bit/s.
    by_delay: f64,
    /// As_hat, the rate by losses, bit/s; before the first it is no limit.
    by_loss: f64,
    updated: Option<f64>,
    /// Arrival and bytes of the packets of the last half second.
    received: VecDeque<(f64, f64)>,
    /// Rate at which decreases have begun, bit/s: mean, and variance over the mean.
    convergence: Option<(f64, f64)>,
    /// Packets since losses were looked at, those lost, and when that was.
    counted: (f64, f64),
    looked: f64,
}

impl Gcc {
    pub fn new(&MediaSetup { range, .. }: &MediaSetup) -> Self {
        Self {
            range,
            delays: DelayDetector::new(),
            state: RateState::Increase,
            by_delay: range.start,
            by_loss: range.max,
            updated: None,
            received: VecDeque::new(),
            convergence: None,
            counted: (0.0, 0.0),
            looked: 0.0,
        }
    }

    /// R_hat: what arrives, bit/s.
    fn incoming(&self) -> Option<f64> {
        let (first, last) = (self.received.front()?.0, self.received.back()?.0);
        let bytes: f64 = self.received.iter().map(|(_, size)| size).sum();
        // Before the window is full it begins with the first packet.
        let span = if last - first > 0.9 * RATE_WINDOW { RATE_WINDOW } else { last - first };
        (span > 0.1).then(|| 8.0 * bytes / span)
    }

    /// Section 5.5: the rate by delay.
    fn control_rate(&mut self, rtt: f64, now: f64) {
        self.state = match (self.delays.usage, self.state) {
            (Usage::Over, _) => RateState::Decrease,
            (Usage::Under, _) => RateState::Hold,
            (Usage::Normal, RateState::Hold | RateState::Increase) => RateState::Increase,
            (Usage::Normal, RateState::Decrease) => RateState::Hold,
        };
        let since = self.updated.map_or(0.0, |updated| now - updated);
        self.updated = Some(now);
        let incoming = self.incoming();
        match self.state {
            RateState::Hold => {}
            RateState::Decrease => {
                let incoming = incoming.unwrap_or(self.by_delay);
                self.note_convergence(incoming);
                self.by_delay = self.by_delay.min(BETA * incoming);
                self.delays.usage = Usage::Normal; // one signal, one decrease
            }
            RateState::Increase => {
                if let (Some((mean, variance)), Some(incoming)) = (self.convergence, incoming)
                    && incoming > mean + 3.0 * (variance * mean).sqrt()
                {
                    self.convergence = None; // there is more than there was
                }
                let grown = match self.convergence {
                    Some(_) => {
                        let frame = self.by_delay / 30.0;
                        let packet = frame / (frame / 9600.0).ceil();
                        let response = 0.1 + rtt;
                        self.by_delay + (0.5 * (since / response).min(1.0) * packet).max(1000.0 * since.min(1.0))
                    }
                    None => self.by_delay * libm::pow(ETA, since.min(1.0)),
                };
                let most = incoming.map_or(f64::INFINITY, |incoming| 1.5 * incoming + 10e3);
                self.by_delay = self.by_delay.max(grown.min(most));
            }
        }
        self.by_delay = self.by_delay.clamp(self.range.min, self.range.max);
    }

    /// Exponential averages with 0.95 of the old, of the rate at decreases and its variance, which is kept over the mean.
    fn note_convergence(&mut self, rate: f64) {
        let (mean, variance) = match self.convergence {
            Some((mean, variance)) if (rate - mean).abs() <= 3.0 * (variance * mean).sqrt() => (mean, variance),
            _ => (rate, 400.0), // 0.4 of kbit/s, as libwebrtc begins
        };
        let mean = 0.95 * mean + 0.05 * rate;
        let variance = 0.95 * variance + 0.05 * (mean - rate) * (mean - rate) / mean;
        self.convergence = Some((mean, variance.clamp(400.0, 2500.0)));
    }

    /// Section 6: the rate by losses.
    fn count_losses(&mut self, report: &MediaReport) {
        self.counted.0 += (report.arrivals.len() + report.lost.len()) as f64;
        self.counted.1 += report.lost.len() as f64;
        if report.now - self.looked < LOSS_PERIOD || self.counted.0 == 0.0 {
            return;
        }
        let share = self.counted.1 / self.counted.0;
        (self.counted, self.looked) = ((0.0, 0.0), report.now);
        if share > 0.1 {
            self.by_loss = self.target() * (1.0 - 0.5 * share);
        } else if share < 0.02 {
            self.by_loss = 1.05 * (self.by_loss + 1000.0);
        }
        self.by_loss = self.by_loss.clamp(self.range.min, self.range.max);
    }
}

impl MediaControl for Gcc {
    fn on_report(&mut self, report: &MediaReport) {
        for packet in &report.arrivals {
            self.delays.take(packet);
            self.received.push_back((packet.arrived, packet.size));
        }
        if let Some((last, _)) = self.received.back().copied() {
            while self.received.front().is_some_and(|(at, _)| last - at > RATE_WINDOW) {
                self.received.pop_front();
            }
        }
        self.control_rate(report.rtt, report.now);
        self.count_losses(report);
    }

    fn target(&self) -> f64 {
        self.by_delay.min(self.by_loss)
    }

    fn pace(&self) -> f64 {
        PACING_FACTOR * self.target()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-6 * expected.abs(), "{value} is not {expected}");
    }

    fn gcc(rate: f64) -> Gcc {
        Gcc::new(&MediaSetup::of(RateRange { start: rate, min: 1e5, max: 1e7 }))
    }

    #[test]
    fn packets_sent_within_5_ms_are_a_group() {
        let mut detector = DelayDetector::new();
        // Groups sent at 0 to 4, 20 to 24, 40 ms; their last packets arrive at 50, 73 and 90 ms.
        for (sent, arrived) in [(0.0, 48.0), (4.0, 50.0), (20.0, 70.0), (24.0, 73.0), (40.0, 90.0), (60.0, 110.0)] {
            let (sent, arrived) = (sent * 1e-3, arrived * 1e-3);
            detector.take(&MediaArrival { seq: 0, sent, arrived, size: 1000.0, is_ce: false });
        }
        // (73 - 50) - (24 - 4) = 3, then (90 - 73) - (40 - 24) = 1.
        close(detector.accumulated, 4.0);
        // 0.1*3 = 0.3, then 0.9*0.3 + 0.1*4.
        close(detector.smoothed, 0.67);
    }

    #[test]
    fn what_arrives_in_a_burst_is_one_group_and_what_is_out_of_order_none() {
        let take = |detector: &mut DelayDetector, packets: &[(f64, f64)]| {
            for (sent, arrived) in packets {
                let (sent, arrived) = (sent * 1e-3, arrived * 1e-3);
                detector.take(&MediaArrival { seq: 0, sent, arrived, size: 1000.0, is_ce: false });
            }
        };
        // Sent 20 ms apart; an outage ends at 100 ms, and three come at once, 4 ms apart. The second and the third took less time.
        let mut detector = DelayDetector::new();
        take(&mut detector, &[(0.0, 50.0), (20.0, 100.0), (40.0, 104.0), (60.0, 108.0), (80.0, 130.0), (100.0, 150.0)]);
        // (108 - 50) - (60 - 0) = -2, then (130 - 108) - (80 - 60) = 2: the outage is not seen.
        close(detector.accumulated + 1.0, 1.0);
        assert_eq!(detector.deltas, 2);
        // Sent before its group: (70 - 50) - (22 - 0) = -2, whatever arrived at 69 ms.
        let mut other = DelayDetector::new();
        take(&mut other, &[(0.0, 50.0), (20.0, 68.0), (4.0, 69.0), (22.0, 70.0), (40.0, 90.0)]);
        close(other.accumulated, -2.0);
    }

    #[test]
    fn the_trend_is_the_slope_of_twenty_points() {
        let line: VecDeque<(f64, f64)> = (0..20).map(|i| (10.0 * f64::from(i), 3.0 + 0.5 * f64::from(i))).collect();
        close(slope(&line).unwrap(), 0.05);
        assert_eq!(slope(&line.iter().copied().take(19).collect()), None);
    }

    #[test]
    fn the_threshold_follows_the_trend_slowly_up_and_fast_down() {
        let mut detector = DelayDetector::new();
        detector.detect(0.0, 0.0, 10.0, 0.0);
        close(detector.threshold, 12.5);
        detector.detect(0.0, 0.0, 10.0, 10.0);
        close(detector.threshold, 12.5 - 0.039 * 12.5 * 10.0);
        detector.threshold = 12.5;
        detector.detect(20.0, 0.0, 10.0, 20.0);
        close(detector.threshold, 12.5 + 0.0087 * 7.5 * 10.0);
        detector.threshold = 12.5;
        detector.detect(28.0, 0.0, 10.0, 30.0);
        close(detector.threshold, 12.5); // 15.5 away
        detector.detect(0.0, 0.0, 10.0, 1e6);
        close(detector.threshold, 6.0); // 100 ms count at most, and 6 ms is the least
    }

    #[test]
    fn overuse_takes_more_than_10_ms_of_a_trend_that_does_not_fall() {
        let mut detector = DelayDetector::new();
        let mut usage = |trend: f64, slope: f64| {
            detector.detect(trend, slope, 8.0, 0.0);
            detector.usage
        };
        assert_eq!(usage(20.0, 0.2), Usage::Normal, "4 ms");
        assert_eq!(usage(20.0, 0.1), Usage::Normal, "12 ms, but it falls");
        assert_eq!(usage(20.0, 0.1), Usage::Over, "20 ms");
        assert_eq!(usage(1.0, 0.0), Usage::Normal);
        assert_eq!(usage(-20.0, -0.1), Usage::Under);
    }

    /// Half a second of packets at 1 Mbit/s: 1250 B each 10 ms.
    fn receive(law: &mut Gcc) {
        law.received = (0..=50).map(|i| (0.01 * f64::from(i), 1250.0)).collect();
        law.received[0].1 = 0.0;
    }

    #[test]
    fn rates_grow_by_8_percent_a_second_or_by_half_a_packet_a_response_time() {
        let mut law = gcc(960e3);
        receive(&mut law);
        law.control_rate(0.1, 1.0);
        law.control_rate(0.1, 1.1);
        close(law.by_delay, 960e3 * 1.08f64.powf(0.1));
        law.by_delay = 960e3;
        law.convergence = Some((1e6, 400.0));
        law.control_rate(0.1, 1.2);
        // A frame has 32 000 bits, in four packets of 8000; 100 of 200 ms: half of a half.
        close(law.by_delay, 962e3);
        law.by_delay = 3e6;
        law.convergence = None;
        law.control_rate(0.1, 1.3);
        close(law.by_delay, 3e6); // no further than 1.5 times what arrives
    }

    #[test]
    fn overuse_takes_the_rate_to_85_percent_of_what_arrives() {
        let mut law = gcc(2e6);
        receive(&mut law);
        law.delays.usage = Usage::Over;
        law.control_rate(0.1, 1.0);
        close(law.by_delay, 0.85e6);
        assert_eq!(law.convergence, Some((1e6, 400.0)));
        law.control_rate(0.1, 1.1);
        assert_eq!((law.state, law.by_delay), (RateState::Hold, 0.85e6));
        law.control_rate(0.1, 1.2);
        assert_eq!(law.state, RateState::Increase);
    }

    #[test]
    fn one_loss_in_ten_takes_half_of_its_share() {
        let mut law = gcc(1e6);
        let packet = MediaArrival { seq: 0, sent: 0.0, arrived: 0.0, size: 1000.0, is_ce: false };
        let report = |now: f64, lost: u32| MediaReport {
            now,
            arrivals: vec![packet; 100 - lost as usize],
            lost: (0..lost).collect(),
            newly_acked: 0.0,
            in_flight: 0.0,
            rtt: 0.1,
        };
        law.count_losses(&report(1.0, 20));
        close(law.by_loss, 0.9e6);
        law.count_losses(&report(2.0, 5));
        close(law.by_loss, 0.9e6); // between 2 and 10 %
        law.count_losses(&report(3.0, 1));
        close(law.by_loss, 1.05 * 0.901e6);
    }
}
