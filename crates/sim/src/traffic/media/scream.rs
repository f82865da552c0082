//! SCReAMv2: a reference window that losses, marks and queueing delay reduce, and a media rate that follows it
//! (draft-ietf-ccwg-rfc8298bis-screamv2-01 of July 2026; equations by its names).
//!
//! Of what the draft leaves to choice it has what Ericsson's implementation has: the scale for queueing delay that varies
//! (`REDUCE_JITTER`), the loss rate from which losses count, less backoff where the target is below what arrives, and the target
//! of delay that follows other flows; it has no limit for policers. Departures: the base delay is the least of the whole run,
//! as no clock drifts here. The first window is what the first rate fills in the first round trip, for the draft leaves it open.
//! The range of the delay begins as nothing, as in Ericsson's implementation: with the draft's first value of `qdelay_max_avg`,
//! the target, a window would grow at a tenth of its pace for seconds, as if delay varied.

use super::control::{FeedbackRule, MediaControl, MediaReport, MediaSetup, RateRange};
use aqmlab_core::Span;
use std::collections::VecDeque;

const QDELAY_TARGET_LO: f64 = 0.06;
const QDELAY_TARGET_HI: f64 = 0.4;
const MIN_REF_WND: f64 = 3000.0;
const BYTES_IN_FLIGHT_HEAD_ROOM: f64 = 1.5;
const BETA_LOSS: f64 = 0.7;
const BETA_ECN: f64 = 0.8;
const POST_CONGESTION_DELAY_RTTS: f64 = 100.0;
const MUL_INCREASE_FACTOR: f64 = 0.02;
const VIRTUAL_RTT: f64 = 0.025;
const L4S_AVG_G_UP: f64 = 1.0 / 8.0;
const L4S_AVG_G_DOWN: f64 = 1.0 / 128.0;
/// Of s_rtt, for a round trip, however many reports come in it (RFC 6298; RFC 7323, appendix G).
const RTT_AVG_G: f64 = 1.0 / 8.0;
const QDELAY_AVG_G: f64 = 1.0 / 4.0;
const QDELAY_MIN_MAX_AVG_G: f64 = 1.0 / 16.0;
const QDELAY_DEV_AVG_G: f64 = 1.0 / 32.0;
const QDELAY_DEV_THRESHOLD: f64 = 0.01;
const REF_WND_OVERHEAD_MIN: f64 = 1.5;
const REF_WND_OVERHEAD_MAX: f64 = 3.0;
const RATE_PACE_MIN: f64 = 50e3;
const PACKET_PACING_HEADROOM: f64 = 1.5;
const MAX_RELAXED_PACING_FACTOR: f64 = 4.0;
const RELAXED_PACING_LIMIT_LOW: f64 = 0.8;
const PACKET_OVERHEAD: f64 = 20.0;
const RATE_ADJUST_GAIN: f64 = 1.0 / 16.0;
const FRAME_SIZE_DEV_ALPHA: f64 = 1.0 / 64.0;
/// Share of lost packets from which losses count where there is little delay.
const LOSS_RATE_THRESHOLD: f64 = 0.01;
const ACKED_BITRATE_MARGIN: f64 = 0.8;
const BACKOFF_SCALE_LOW_TARGET_RATE: f64 = 0.25;
/// Samples of the normalised queueing delay, one each 50 ms (RFC 8298), long and short.
const NORM_HISTORY: usize = 200;
const NORM_HISTORY_SHORT: usize = 50;
const NORM_HISTORY_STEP: f64 = 0.05;

/// SCReAMv2.
#[derive(Clone, Debug)]
pub struct Scream {
    range: RateRange,
    mss: f64,
    is_l4s: bool,
    ref_wnd: f64,
    /// Window at the last congestion, the inflection point.
    ref_wnd_i: f64,
    s_rtt: Option<f64>,
    last_s_rtt: f64,
    base_owd: f64,
    qdelay: f64,
    qdelay_avg: f64,
    qdelay_max_avg: f64,
    qdelay_min_avg: f64,
    qdelay_dev_avg: f64,
    qdelay_target: f64,
    norm_history: VecDeque<f64>,
    last_norm: f64,
    last_qdelay_avg: f64,
    l4s_alpha: f64,
    delivered_this_rtt: f64,
    marked_this_rtt: f64,
    last_l4s_alpha: f64,
    loss_rate: f64,
    loss_event_rate: f64,
    has_lost_this_rtt: bool,
    /// Since the last reaction.
    has_lost: bool,
    has_marks: bool,
    last_congestion: f64,
    last_reaction: f64,
    ref_wnd_i_update_allowed: bool,
    acked_bitrate: f64,
    acked_since: f64,
    last_acked_bitrate: f64,
    frame_period: f64,
    max_bytes_in_flight: f64,
    max_bytes_in_flight_prev: f64,
    last_round: f64,
    rate_adjust_factor: f64,
    frame_size_dev: f64,
    target_bitrate: f64,
}

impl Scream {
    /// At rest; `mss`: payload of a full packet, bytes; `is_l4s`: its packets are ECT(1).
    pub fn new(&MediaSetup { range, mss, is_l4s, .. }: &MediaSetup) -> Self {
        Self {
            range,
            mss,
            is_l4s,
            ref_wnd: MIN_REF_WND,
            ref_wnd_i: 1.0,
            s_rtt: None,
            last_s_rtt: 0.0,
            base_owd: f64::INFINITY,
            qdelay: 0.0,
            qdelay_avg: 0.0,
            qdelay_max_avg: 0.0,
            qdelay_min_avg: 0.0,
            qdelay_dev_avg: 0.0,
            qdelay_target: QDELAY_TARGET_LO,
            norm_history: VecDeque::new(),
            last_norm: 0.0,
            last_qdelay_avg: 0.0,
            l4s_alpha: 0.0,
            delivered_this_rtt: 0.0,
            marked_this_rtt: 0.0,
            last_l4s_alpha: 0.0,
            loss_rate: 0.0,
            loss_event_rate: 0.0,
            has_lost_this_rtt: false,
            has_lost: false,
            has_marks: false,
            last_congestion: 0.0,
            last_reaction: 0.0,
            ref_wnd_i_update_allowed: true,
            acked_bitrate: 0.0,
            acked_since: 0.0,
            last_acked_bitrate: 0.0,
            frame_period: 0.02,
            max_bytes_in_flight: 0.0,
            max_bytes_in_flight_prev: 0.0,
            last_round: 0.0,
            rate_adjust_factor: 0.0,
            frame_size_dev: 0.0,
            target_bitrate: range.start,
        }
    }

    fn rtt(&self) -> f64 {
        self.s_rtt.unwrap_or(VIRTUAL_RTT)
    }

    fn ref_wnd_ratio(&self) -> f64 {
        (self.mss / self.ref_wnd).min(1.0)
    }

    /// What is left of the threshold of delay variation.
    fn ref_wnd_delay_scale(&self) -> f64 {
        (1.0 - self.qdelay_dev_avg / QDELAY_DEV_THRESHOLD).clamp(0.0, 1.0)
    }

    /// Distance from the window of the last congestion, 0.1 to 1.
    fn scl(&self) -> f64 {
        let distance = 8.0 * (self.ref_wnd - self.ref_wnd_i) / self.ref_wnd_i;
        (distance * distance).clamp(0.1, 1.0)
    }

    fn measure(&mut self, report: &MediaReport) {
        let now = report.now;
        self.s_rtt = Some(match self.s_rtt {
            None => {
                self.ref_wnd = MIN_REF_WND.max(1.2 * self.range.start * report.rtt / 8.0);
                report.rtt
            }
            Some(old) => old + (report.rtt - old) * RTT_AVG_G * ((now - self.last_s_rtt) / old).min(1.0),
        });
        self.last_s_rtt = now;
        for packet in &report.arrivals {
            let owd = packet.arrived - packet.sent;
            self.base_owd = self.base_owd.min(owd);
            self.qdelay = owd - self.base_owd;
            self.qdelay_max_avg = self.qdelay_max_avg.max(self.qdelay).min(self.qdelay_target);
            self.qdelay_min_avg = self.qdelay_min_avg.min(self.qdelay);
        }
        let round = VIRTUAL_RTT.min(self.rtt());
        if now - self.last_qdelay_avg >= round {
            self.qdelay_avg = match self.qdelay < self.qdelay_avg {
                true => self.qdelay,
                false => QDELAY_AVG_G * self.qdelay + (1.0 - QDELAY_AVG_G) * self.qdelay_avg,
            };
            self.qdelay_max_avg *= 1.0 - QDELAY_MIN_MAX_AVG_G;
            self.qdelay_min_avg += QDELAY_MIN_MAX_AVG_G * (self.qdelay_max_avg - self.qdelay_min_avg);
            let range = self.qdelay_max_avg - self.qdelay_min_avg;
            self.qdelay_dev_avg += QDELAY_DEV_AVG_G * (range - self.qdelay_dev_avg);
            self.last_qdelay_avg = now;
        }
        self.delivered_this_rtt += report.arrivals.len() as f64;
        self.marked_this_rtt += report.arrivals.iter().filter(|packet| packet.is_ce).count() as f64;
        if now - self.last_l4s_alpha >= self.rtt().min(0.01) && self.delivered_this_rtt > 0.0 {
            let fraction = self.marked_this_rtt / self.delivered_this_rtt;
            self.l4s_alpha = match fraction >= self.l4s_alpha {
                true => L4S_AVG_G_UP * fraction + (1.0 - L4S_AVG_G_UP) * self.l4s_alpha,
                false => (1.0 - L4S_AVG_G_DOWN) * self.l4s_alpha,
            };
            (self.last_l4s_alpha, self.delivered_this_rtt, self.marked_this_rtt) = (now, 0.0, 0.0);
        }
        let gain = (self.ref_wnd_ratio() / 2.0).min(LOSS_RATE_THRESHOLD / 4.0);
        for is_lost in report.arrivals.iter().map(|_| 0.0).chain(report.lost.iter().map(|_| 1.0)) {
            self.loss_rate += gain * (is_lost - self.loss_rate);
        }
        self.has_lost_this_rtt |= !report.lost.is_empty();
        let counts = self.loss_rate > LOSS_RATE_THRESHOLD || self.qdelay_avg > self.qdelay_target / 4.0;
        self.has_lost |= !report.lost.is_empty() && counts;
        self.has_marks |= report.arrivals.iter().any(|packet| packet.is_ce);
        self.acked_since += report.newly_acked;
        if now - self.last_acked_bitrate >= self.rtt().max(2.0 * self.frame_period) {
            self.acked_bitrate = 8.0 * self.acked_since / (now - self.last_acked_bitrate);
            (self.last_acked_bitrate, self.acked_since) = (now, 0.0);
        }
        if now - self.last_norm >= NORM_HISTORY_STEP {
            self.last_norm = now;
            self.adjust_qdelay_target();
        }
    }

    /// Competing flows compensation: the target of the delay follows that which others cause.
    fn adjust_qdelay_target(&mut self) {
        self.norm_history.push_back(self.qdelay / QDELAY_TARGET_LO);
        if self.norm_history.len() > NORM_HISTORY {
            self.norm_history.pop_front();
        }
        let mean = self.norm_history.iter().sum::<f64>() / NORM_HISTORY as f64;
        let missing = (NORM_HISTORY - self.norm_history.len()) as f64; // they count as 0
        let squares = self.norm_history.iter().map(|norm| (norm - mean) * (norm - mean)).sum::<f64>();
        let variance = (squares + missing * mean * mean) / NORM_HISTORY as f64;
        let short = self.norm_history.iter().rev().take(NORM_HISTORY_SHORT).sum::<f64>() / NORM_HISTORY_SHORT as f64;
        let new_target = (short + variance.sqrt()) * QDELAY_TARGET_LO;
        self.qdelay_target = match () {
            () if self.loss_event_rate > 0.002 => 1.5 * new_target,
            () if variance < 0.2 => new_target,
            () if new_target < QDELAY_TARGET_LO => new_target.max(0.5 * self.qdelay_target),
            () => 0.9 * self.qdelay_target,
        };
        self.qdelay_target = self.qdelay_target.clamp(QDELAY_TARGET_LO, QDELAY_TARGET_HI);
    }

    /// Reference window reduction.
    fn reduce(&mut self, now: f64) {
        let scl = self.scl();
        if self.has_lost || self.has_marks {
            self.last_congestion = now;
        }
        if now - self.last_reaction < VIRTUAL_RTT.min(self.rtt()) {
            return;
        }
        let (is_loss, is_ce) = (self.has_lost, self.has_marks && !self.has_lost);
        let is_virtual = !is_loss && !is_ce && self.qdelay_avg > self.qdelay_target / 2.0;
        if !(is_loss || is_ce || is_virtual) {
            return;
        }
        if self.ref_wnd_i_update_allowed {
            (self.ref_wnd_i, self.ref_wnd_i_update_allowed) = (self.ref_wnd, false);
        }
        let is_low = self.target_bitrate < self.acked_bitrate * ACKED_BITRATE_MARGIN;
        let less = if is_low { BACKOFF_SCALE_LOW_TARGET_RATE } else { 1.0 } / (self.rtt() / VIRTUAL_RTT).max(1.0);
        if is_loss {
            self.ref_wnd *= BETA_LOSS;
        } else if is_ce && self.is_l4s {
            let mut backoff = self.l4s_alpha / 2.0 * less;
            if self.qdelay < self.qdelay_target * 0.25 {
                backoff *= scl.max(0.25) * self.ref_wnd_delay_scale().max(0.25);
            }
            if now - self.last_reaction > 100.0 * self.rtt().max(VIRTUAL_RTT) {
                self.ref_wnd = self.ref_wnd.min(self.max_bytes_in_flight_prev);
            }
            self.ref_wnd *= 1.0 - backoff;
        } else if is_ce {
            self.ref_wnd *= BETA_ECN;
        } else {
            let half = self.qdelay_target / 2.0;
            let alpha = ((self.qdelay_avg - half) / half).clamp(0.0, 1.0);
            self.ref_wnd *= 1.0 - alpha / 2.0 * less;
        }
        self.ref_wnd = self.ref_wnd.max(MIN_REF_WND);
        self.last_reaction = now;
        (self.has_lost, self.has_marks) = (false, false);
    }

    /// Reference window increase.
    fn increase(&mut self, report: &MediaReport) {
        let marked: f64 = report.arrivals.iter().filter(|packet| packet.is_ce).map(|packet| packet.size).sum();
        let scl = self.scl();
        let delay = POST_CONGESTION_DELAY_RTTS * self.rtt().max(VIRTUAL_RTT);
        let post_congestion = ((report.now - self.last_congestion) / delay).clamp(0.0, 1.0);
        let mut increment = (report.newly_acked - marked).max(0.0) * self.ref_wnd_ratio();
        increment *= (self.rtt() / VIRTUAL_RTT).min(1.0);
        increment *= scl.max(0.25);
        increment *= self.ref_wnd_delay_scale().max(0.1);
        increment *= 1.0 + MUL_INCREASE_FACTOR * self.ref_wnd / self.mss * post_congestion * scl;
        let most = self.max_bytes_in_flight.max(self.max_bytes_in_flight_prev) * BYTES_IN_FLIGHT_HEAD_ROOM + self.mss;
        if self.ref_wnd + increment <= most && self.target_bitrate < self.range.max {
            self.ref_wnd += increment;
            self.ref_wnd_i_update_allowed |= increment > 0.0;
        }
    }

    fn set_target(&mut self) {
        let Some(s_rtt) = self.s_rtt else { return };
        let small = 1.0 - (self.ref_wnd_ratio() - 0.1).clamp(0.0, 0.2);
        let share =
            small * self.mss / (self.mss + PACKET_OVERHEAD) / (1.2 + self.rate_adjust_factor + self.frame_size_dev);
        self.target_bitrate = (share * 8.0 * self.ref_wnd / s_rtt).clamp(self.range.min, self.range.max);
    }
}

impl MediaControl for Scream {
    fn on_sent(&mut self, _: f64, in_flight: f64, now: f64) {
        if now - self.last_round >= self.rtt() {
            self.last_round = now;
            self.max_bytes_in_flight_prev = self.max_bytes_in_flight;
            self.max_bytes_in_flight = 0.0;
            self.loss_event_rate = 0.98 * self.loss_event_rate + if self.has_lost_this_rtt { 0.02 } else { 0.0 };
            self.has_lost_this_rtt = false;
        }
        self.max_bytes_in_flight = self.max_bytes_in_flight.max(in_flight);
    }

    fn on_report(&mut self, report: &MediaReport) {
        self.measure(report);
        self.reduce(report.now);
        self.increase(report);
        self.set_target();
    }

    fn on_frame(&mut self, size: f64, period: f64, waited: f64, _: f64) {
        self.frame_period = period;
        let error = (waited - period / 4.0) / period;
        self.rate_adjust_factor = (self.rate_adjust_factor + error * RATE_ADJUST_GAIN).clamp(0.0, 0.5);
        let nominal = self.target_bitrate * period / 8.0;
        let deviation = ((size - nominal) / nominal).max(0.0);
        self.frame_size_dev += FRAME_SIZE_DEV_ALPHA * (deviation - self.frame_size_dev);
        self.frame_size_dev = self.frame_size_dev.min(0.2);
        self.set_target();
    }

    fn target(&self) -> f64 {
        self.target_bitrate
    }

    fn pace(&self) -> f64 {
        let nominal = self.target_bitrate / self.range.max;
        let relaxed = ((nominal - RELAXED_PACING_LIMIT_LOW) / (1.0 - RELAXED_PACING_LIMIT_LOW)).min(1.0);
        let scale = (1.0 - relaxed).clamp(1.0 / MAX_RELAXED_PACING_FACTOR, 1.0);
        self.target_bitrate.max(RATE_PACE_MIN) * PACKET_PACING_HEADROOM / scale
    }

    fn window(&self) -> f64 {
        let spread = REF_WND_OVERHEAD_MAX - REF_WND_OVERHEAD_MIN;
        self.ref_wnd * (REF_WND_OVERHEAD_MIN + spread * self.ref_wnd_delay_scale())
    }

    fn feedback(&self) -> FeedbackRule {
        FeedbackRule { packets: 16, at_frame_end: true, interval: Span::from_millis(40) }
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::MediaArrival;
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
    }

    fn scream(is_l4s: bool) -> Scream {
        Scream::new(&MediaSetup { mss: 1000.0, is_l4s, ..MediaSetup::of(RateRange { start: 1e6, min: 1e5, max: 1e9 }) })
    }

    /// `count` packets of 1000 B, the first of them marked or not, that have taken 50 ms, and 50 ms back.
    fn report(now: f64, first: u32, count: u32, marks: u32) -> MediaReport {
        let sent = now - 0.1;
        let packet =
            |i: u32| MediaArrival { seq: first + i, sent, arrived: sent + 0.05, size: 1000.0, is_ce: i < marks };
        let arrivals: Vec<_> = (0..count).map(packet).collect();
        let newly_acked = 1000.0 * f64::from(count);
        MediaReport { now, arrivals, lost: Vec::new(), newly_acked, in_flight: 0.0, rtt: 0.1 }
    }

    #[test]
    fn the_first_window_holds_the_first_rate_and_its_packets_let_it_grow() {
        let mut law = scream(true);
        law.on_sent(1000.0, 20_000.0, 0.0);
        law.on_report(&report(0.2, 0, 10, 0));
        // 1.2 * 1 Mbit/s * 100 ms = 15 000 B. 10 000 B * 1000/15 000 = 666.7 B; ref_wnd_i is 1, so scl is 1; 0.2 s after the
        // start of 100 round trips of 100 ms, 1 + 0.02*15*0.02 = 1.006.
        close(law.ref_wnd, 15_000.0 + 10_000.0 / 15.0 * (1.0 + 0.02 * 15.0 * 0.02));
        let share = 1000.0 / 1020.0 / 1.2;
        close(law.target(), share * 8.0 * law.ref_wnd / 0.1);
    }

    #[test]
    fn marks_count_by_their_share_under_l4s_and_alike_in_classic_ecn() {
        let mut law = scream(true);
        law.on_report(&report(0.2, 0, 10, 5));
        // alpha = 1/8 * 0.5; halved, over an RTT of four virtual ones: 1/128. 666.7/2 B would be added, but nothing is in
        // flight.
        close(law.l4s_alpha, 0.0625);
        let backoff = 0.0625 / 2.0 / 4.0;
        // qdelay 0 is below a quarter of the target: scaled by scl, which is 1 of a window that was never congested.
        close(law.ref_wnd, 15_000.0 * (1.0 - backoff));
        let mut classic = scream(false);
        classic.on_report(&report(0.2, 0, 10, 5));
        close(classic.ref_wnd, 12_000.0);
        // The same round: no second reaction.
        classic.on_report(&report(0.21, 10, 10, 5));
        close(classic.ref_wnd, 12_000.0);
        classic.on_report(&report(0.23, 20, 10, 5));
        close(classic.ref_wnd, 9_600.0);
    }

    #[test]
    fn a_loss_counts_once_losses_are_frequent_or_the_queue_is_long() {
        let mut law = scream(false);
        law.on_report(&MediaReport { lost: vec![0], ..report(0.2, 1, 10, 0) });
        close(law.loss_rate, 0.0025);
        close(law.ref_wnd, 15_000.0);
        law.on_report(&MediaReport { lost: vec![0; 2], ..report(0.3, 1, 1, 0) });
        close(law.ref_wnd, 15_000.0); // three lost: at most 0.75 %
        law.on_report(&MediaReport { lost: vec![0; 2], ..report(0.4, 1, 1, 0) });
        // Five lost are more than 1 %: 15 000 * 0.7.
        close(law.ref_wnd, 10_500.0);
    }

    #[test]
    fn delay_beyond_half_of_the_target_is_a_virtual_mark() {
        let mut law = scream(true);
        law.on_report(&report(0.2, 0, 1, 0));
        for i in 1..40 {
            let mut late = report(0.2 + 0.1 * f64::from(i), i, 1, 0);
            late.arrivals[0].arrived += 0.045;
            law.on_report(&late);
        }
        // The average has come to 45 ms, half-way from 30 to 60: 1/2, halved, over four virtual round trips, is 1/16 a round.
        close(law.qdelay, 0.045);
        let before = law.ref_wnd;
        assert!(law.qdelay_target == QDELAY_TARGET_LO && (law.qdelay_avg - 0.045).abs() < 1e-6);
        let mut late = report(10.0, 41, 1, 0);
        late.arrivals[0].arrived += 0.045;
        law.reduce(late.now);
        assert!((law.ref_wnd - (before * 15.0 / 16.0).max(MIN_REF_WND)).abs() < 1e-3);
    }

    #[test]
    fn delay_that_varies_slows_the_growth_and_a_steady_delay_does_not() {
        let mut law = scream(true);
        law.on_report(&report(0.2, 0, 1, 0));
        let mut late = report(0.3, 1, 1, 0);
        late.arrivals[0].arrived += 0.032;
        law.on_report(&late);
        // The range was 0 to 32 ms, comes to 30 and 30/16 ms, and 1/32 of 28.125 is 0.879 ms of the threshold's 10.
        close(law.qdelay_dev_avg, 0.028_125 / 32.0);
        close(law.ref_wnd_delay_scale(), 1.0 - 0.087_890_625);
        close(law.window(), law.ref_wnd * (1.5 + 1.5 * (1.0 - 0.087_890_625)));
        for i in 2..200 {
            let mut late = report(0.2 + 0.1 * f64::from(i), i, 1, 0);
            late.arrivals[0].arrived += 0.02;
            law.on_report(&late);
        }
        assert!(law.ref_wnd_delay_scale() > 0.7, "{}", law.ref_wnd_delay_scale());
    }

    #[test]
    fn the_window_of_the_last_congestion_is_that_from_which_it_fell_after_it_had_grown() {
        let mut law = scream(false);
        law.on_report(&report(0.2, 0, 10, 5));
        close(law.ref_wnd_i, 15_000.0);
        law.on_report(&report(0.3, 10, 10, 5));
        close(law.ref_wnd, 9_600.0); // falls again, and has not grown: nothing is in flight
        close(law.ref_wnd_i, 15_000.0);
        law.on_sent(1000.0, 20_000.0, 0.3);
        law.on_report(&report(0.4, 20, 10, 5));
        let grown = law.ref_wnd;
        law.on_report(&report(0.5, 30, 10, 5));
        close(law.ref_wnd_i, grown);
    }

    #[test]
    fn a_window_falls_by_a_quarter_where_the_target_is_below_what_arrives() {
        let mut law = scream(true);
        law.on_report(&report(0.2, 0, 10, 0));
        (law.acked_bitrate, law.last_acked_bitrate) = (2.0 * law.target_bitrate, 0.3);
        let before = law.ref_wnd;
        law.on_report(&report(0.3, 10, 10, 10));
        // alpha = 1/8; halved, over four virtual round trips: 1/64, and a quarter of it.
        close(law.ref_wnd, before * (1.0 - 1.0 / 256.0));
    }

    #[test]
    fn the_round_trip_is_averaged_by_time_however_many_reports_come() {
        let [mut few, mut many] = [scream(true), scream(true)];
        for (law, reports) in [(&mut few, 1), (&mut many, 10)] {
            law.on_report(&report(0.2, 0, 1, 0));
            for i in 1..=reports {
                law.on_report(&MediaReport {
                    rtt: 0.2,
                    ..report(0.2 + 0.1 * f64::from(i) / f64::from(reports), i, 1, 0)
                });
            }
        }
        close(few.rtt(), 0.1 + 0.1 / 8.0);
        // Ten steps come a little closer to where one would lead: what is left is less each time.
        assert!((many.rtt() / few.rtt() - 1.0).abs() < 0.02, "{} and {}", many.rtt(), few.rtt());
    }

    #[test]
    fn frames_that_wait_or_exceed_their_share_lower_the_rate() {
        let mut law = scream(true);
        law.on_report(&report(0.2, 0, 1, 0));
        let before = law.target();
        // (50 - 10)/40 = 1: 1/16 more in the divisor, and a frame twice as large as it should be 1/64.
        law.on_frame(2.0 * before * 0.04 / 8.0, 0.04, 0.05, 0.0);
        close(law.target(), before * 1.2 / (1.2 + 1.0 / 16.0 + 1.0 / 64.0));
    }

    #[test]
    fn pacing_relaxes_near_the_greatest_rate() {
        let mut law = Scream::new(&MediaSetup {
            mss: 1000.0,
            is_l4s: true,
            ..MediaSetup::of(RateRange { start: 1e6, min: 1e5, max: 1e6 })
        });
        close(law.pace(), 6e6); // 1.5 * 4
        law.target_bitrate = 0.9e6;
        close(law.pace(), 2.7e6); // half-way: 1.5 * 2
        law.target_bitrate = 0.5e6;
        close(law.pace(), 0.75e6);
    }

    /// Where the window of 2/p packets neither grows nor shrinks: p = 0.02, a round trip of 25 ms and packets of 1360 B make
    /// 2/p * MSS * 8/RTT = 43.52 Mbit/s. One round at that window, with its average of marks at p, moves it by less than 5 %
    /// of a packet.
    #[test]
    fn two_marks_a_round_trip_are_the_equilibrium_of_l4s() {
        let mut law = Scream::new(&MediaSetup {
            mss: 1360.0,
            is_l4s: true,
            ..MediaSetup::of(RateRange { start: 1e6, min: 1e5, max: 1e9 })
        });
        (law.s_rtt, law.base_owd, law.ref_wnd) = (Some(0.025), 0.0125, 136_000.0);
        (law.l4s_alpha, law.ref_wnd_i_update_allowed, law.ref_wnd_i) = (0.02, false, 68_000.0);
        (law.last_reaction, law.last_congestion) = (9.97, 9.99);
        law.max_bytes_in_flight_prev = 136_000.0;
        let packet =
            |i: u32| MediaArrival { seq: i, sent: 9.975, arrived: 9.9875, size: 1360.0, is_ce: i.is_multiple_of(50) };
        let arrivals: Vec<_> = (0..100).map(packet).collect();
        law.last_l4s_alpha = 10.0; // as it was before this round
        law.on_report(&MediaReport {
            now: 10.0,
            arrivals,
            lost: Vec::new(),
            newly_acked: 136_000.0,
            in_flight: 0.0,
            rtt: 0.025,
        });
        let rate = 8.0 * law.ref_wnd / 0.025;
        assert!((rate / 43.52e6 - 1.0).abs() < 0.0005, "{rate}");
    }
}
