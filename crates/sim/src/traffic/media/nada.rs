//! NADA: delay, losses and marks are one signal of congestion, which sets the rate (RFC 8698, by its names; times in ms).
//!
//! The RFC's receiver computes the signal; here the sender does, from feedback by RFC 8888, with the same equations, as cisco's
//! ns3-rmcat does. The penalty of marks is that of the RFC. The signal is at most 500 ms, as in ns3-rmcat (`XMAX`): the RFC's table
//! of parameters has no bound, and without one the squares of many losses, as soon as they are fewer, raise the rate to several times what there is.

use super::control::{MediaControl, MediaReport, MediaSetup, RateRange};
use std::collections::VecDeque;

const PRIO: f64 = 1.0;
const XREF: f64 = 10.0;
const KAPPA: f64 = 0.5;
const ETA: f64 = 2.0;
const TAU: f64 = 500.0;
const DELTA: f64 = 100.0;
const LOGWIN: f64 = 500.0;
const QEPS: f64 = 10.0;
const DFILT: f64 = 120.0;
const GAMMA_MAX: f64 = 0.5;
const QBOUND: f64 = 50.0;
const MULTILOSS: f64 = 7.0;
const QTH: f64 = 50.0;
const LAMBDA: f64 = 0.5;
const PLRREF: f64 = 0.01;
const PMRREF: f64 = 0.01;
const DLOSS: f64 = 10.0;
const DMARK: f64 = 2.0;
const ALPHA: f64 = 0.1;
/// Greatest signal of congestion (ns3-rmcat).
const XMAX: f64 = 500.0;
const BETA_V: f64 = 0.1;
const BETA_S: f64 = 0.1;
/// Samples of delay of which the least counts.
const TAPS: usize = 15;
/// Loss intervals that are remembered, and their weights (RFC 5348, section 5.4).
const WEIGHTS: [f64; 8] = [1.0, 1.0, 1.0, 1.0, 0.8, 0.6, 0.4, 0.2];

/// A packet that has arrived within the window, or is lost (`owd` is `None`).
#[derive(Clone, Copy, Debug)]
struct Logged {
    sent: f64,
    arrived: f64,
    owd: Option<f64>,
    size: f64,
    is_ce: bool,
}

/// NADA.
#[derive(Clone, Debug)]
pub struct Nada {
    range: RateRange,
    fps: f64,
    r_ref: f64,
    log: VecDeque<Logged>,
    d_base: f64,
    rtt: f64,
    p_loss: f64,
    p_mark: f64,
    x_curr: f64,
    /// Packets since the last loss, and the intervals between losses before that, the latest first.
    interval: f64,
    intervals: VecDeque<f64>,
    updated: Option<f64>,
    /// Bytes that wait to be sent.
    buffer_len: f64,
}

impl Nada {
    /// At rest; `fps`: frames a second.
    pub fn new(&MediaSetup { range, frame_rate, .. }: &MediaSetup) -> Self {
        Self {
            range,
            fps: frame_rate,
            r_ref: range.start,
            log: VecDeque::new(),
            d_base: f64::INFINITY,
            rtt: 0.0,
            p_loss: 0.0,
            p_mark: 0.0,
            x_curr: 0.0,
            interval: 0.0,
            intervals: VecDeque::new(),
            updated: None,
            buffer_len: 0.0,
        }
    }

    fn note(&mut self, report: &MediaReport) {
        for packet in &report.arrivals {
            let owd = 1e3 * (packet.arrived - packet.sent);
            self.d_base = self.d_base.min(owd);
            let (sent, arrived, size, is_ce) = (1e3 * packet.sent, 1e3 * packet.arrived, packet.size, packet.is_ce);
            self.log.push_back(Logged { sent, arrived, owd: Some(owd), size, is_ce });
            self.interval += 1.0;
        }
        for _ in &report.lost {
            let sent = self.log.back().map_or(0.0, |last| last.sent);
            self.log.push_back(Logged { sent, arrived: 0.0, owd: None, size: 0.0, is_ce: false });
            self.intervals.push_front(self.interval.max(1.0));
            self.intervals.truncate(WEIGHTS.len());
            self.interval = 0.0;
        }
        let last = self.log.back().map_or(0.0, |last| last.sent);
        while self.log.front().is_some_and(|first| last - first.sent >= LOGWIN) {
            self.log.pop_front();
        }
    }

    /// Delay without that of the path, of which the least of the last samples counts.
    fn d_queue(&self) -> Option<f64> {
        let last = self.log.iter().rev().filter_map(|packet| packet.owd).take(TAPS);
        last.reduce(f64::min).map(|owd| owd - self.d_base)
    }

    /// Weighted mean of the intervals between losses. The one that is open does not count: with it none would ever be longer than
    /// [`MULTILOSS`] times the mean.
    fn mean_interval(&self) -> Option<f64> {
        let weighted = self.intervals.iter().zip(WEIGHTS);
        let (sum, all) = weighted.fold((0.0, 0.0), |(sum, all), (own, weight)| (sum + own * weight, all + weight));
        (all > 0.0).then(|| sum / all)
    }

    /// Section 4.2: delay in the eyes of the law, which is less where losses say that others fill the queue.
    fn d_tilde(&self, d_queue: f64) -> f64 {
        let warped = match d_queue < QTH {
            true => d_queue,
            false => QTH * libm::exp(-LAMBDA * (d_queue - QTH) / QTH),
        };
        let Some(mean) = self.mean_interval() else { return d_queue };
        // Beyond MULTILOSS mean intervals without a loss it comes back, over one more.
        let back = (self.interval / mean - MULTILOSS).clamp(0.0, 1.0);
        back * d_queue + (1.0 - back) * warped
    }

    /// Share of the packets of the window that `counts`.
    fn share(&self, counts: impl Fn(&Logged) -> bool) -> f64 {
        self.log.iter().filter(|packet| counts(packet)).count() as f64 / self.log.len().max(1) as f64
    }

    /// What arrives, bit/s.
    fn r_recv(&self) -> Option<f64> {
        let mut arrived = self.log.iter().filter(|packet| packet.owd.is_some());
        let first = arrived.next()?.arrived;
        let (bytes, last) = arrived.fold((0.0, first), |(bytes, _), packet| (bytes + packet.size, packet.arrived));
        (last > first).then(|| 8e3 * bytes / (last - first))
    }

    fn may_accelerate(&self) -> bool {
        self.log.iter().all(|packet| packet.owd.is_some_and(|owd| owd - self.d_base <= QEPS))
    }

    /// Section 4.3, `delta` ms after the last time.
    fn update(&mut self, delta: f64) {
        self.p_loss += ALPHA * (self.share(|packet| packet.owd.is_none()) - self.p_loss);
        self.p_mark += ALPHA * (self.share(|packet| packet.is_ce) - self.p_mark);
        let Some(d_queue) = self.d_queue() else { return };
        let x_prev = self.x_curr;
        let (mark, loss) = (self.p_mark / PMRREF, self.p_loss / PLRREF);
        self.x_curr = (self.d_tilde(d_queue) + DMARK * mark * mark + DLOSS * loss * loss).min(XMAX);
        if self.may_accelerate() {
            let gamma = GAMMA_MAX.min(QBOUND / (self.rtt + DELTA + DFILT));
            self.r_ref = self.r_ref.max((1.0 + gamma) * self.r_recv().unwrap_or(0.0));
        } else {
            let x_offset = self.x_curr - PRIO * XREF * self.range.max / self.r_ref;
            let x_diff = self.x_curr - x_prev;
            self.r_ref -=
                KAPPA * (delta / TAU) * (x_offset / TAU) * self.r_ref + KAPPA * ETA * (x_diff / TAU) * self.r_ref;
        }
        self.r_ref = self.r_ref.clamp(self.range.min, self.range.max);
    }
}

impl MediaControl for Nada {
    fn on_report(&mut self, report: &MediaReport) {
        self.note(report);
        self.rtt = 1e3 * report.rtt;
        let delta = self.updated.map_or(DELTA, |updated| 1e3 * (report.now - updated));
        if delta >= DELTA / 2.0 {
            self.updated = Some(report.now);
            self.update(delta);
        }
    }

    fn on_frame(&mut self, _: f64, _: f64, _: f64, waiting: f64) {
        self.buffer_len = waiting;
    }

    /// Section 4.3, r_vin.
    fn target(&self) -> f64 {
        (self.r_ref - BETA_V * 8.0 * self.buffer_len * self.fps).max(self.range.min)
    }

    /// Section 4.3, r_send. A frame is sent in less than its time even at the greatest rate.
    fn pace(&self) -> f64 {
        (self.r_ref + BETA_S * 8.0 * self.buffer_len * self.fps).min(1.2 * self.range.max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::MediaArrival;
    use super::*;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
    }

    fn nada() -> Nada {
        Nada::new(&MediaSetup::of(RateRange { start: 300e3, min: 150e3, max: 1.5e6 }))
    }

    /// `count` packets of 1000 B, one each 10 ms, that took `owd` ms.
    fn report(now: f64, count: u32, owd: f64) -> MediaReport {
        let packet = |i: u32| {
            let sent = now - 0.1 - 0.01 * f64::from(count - i);
            MediaArrival { seq: i, sent, arrived: sent + 1e-3 * owd, size: 1000.0, is_ce: false }
        };
        let arrivals = (0..count).map(packet).collect();
        MediaReport { now, arrivals, lost: Vec::new(), newly_acked: 0.0, in_flight: 0.0, rtt: 0.1 }
    }

    #[test]
    fn without_delay_the_rate_grows_with_what_arrives() {
        let mut law = nada();
        law.on_report(&report(1.0, 10, 50.0));
        // 9000 B in 90 ms are 800 kbit/s; gamma = 50/(100 + 100 + 120).
        close(law.r_ref, 800e3 * (1.0 + 50.0 / 320.0));
    }

    #[test]
    fn delay_moves_the_rate_by_its_offset_and_its_change() {
        let mut law = nada();
        law.d_base = 50.0;
        law.r_ref = 1e6;
        law.x_curr = 10.0;
        law.updated = Some(0.9);
        law.on_report(&report(1.0, 20, 70.0));
        // x = 20; offset 20 - 10*1.5 = 5, change 10. 1e6*(1 - 0.5*0.2*0.01 - 0.5*2*0.02).
        close(law.r_ref, 1e6 * (1.0 - 0.001 - 0.02));
        close(law.target(), law.r_ref);
        law.on_frame(0.0, 0.0, 0.0, 1000.0);
        close(law.target(), law.r_ref - 24e3);
        close(law.pace(), law.r_ref + 24e3);
    }

    #[test]
    fn long_delays_count_less_while_losses_are_seen() {
        let mut law = nada();
        close(law.d_tilde(100.0), 100.0);
        (law.intervals, law.interval) = ([10.0, 10.0].into(), 5.0);
        close(law.mean_interval().unwrap(), 10.0);
        close(law.d_tilde(40.0), 40.0);
        close(law.d_tilde(100.0), 50.0 * libm::exp(-0.5));
        // Seven mean intervals later they are forgotten, over one more.
        law.interval = 75.0;
        close(law.d_tilde(100.0), 50.0 + 25.0 * libm::exp(-0.5));
        law.interval = 80.0;
        close(law.d_tilde(100.0), 100.0);
    }

    #[test]
    fn losses_and_marks_are_penalties_by_the_square() {
        let mut law = nada();
        law.d_base = 50.0;
        let mut marked = report(1.0, 20, 50.0);
        marked.arrivals.iter_mut().take(4).for_each(|packet| packet.is_ce = true);
        law.on_report(&marked);
        // A fifth of the packets, and a tenth of that at once: 2 % is twice the reference.
        close(law.x_curr, 2.0 * 4.0);
        let mut law = nada();
        law.d_base = 50.0;
        law.on_report(&MediaReport { lost: vec![20, 21, 22, 23, 24], ..report(1.0, 20, 50.0) });
        close(law.x_curr, 10.0 * 4.0);
    }

    #[test]
    fn many_losses_are_no_more_than_500_ms() {
        let mut law = nada();
        (law.d_base, law.p_loss, law.r_ref) = (50.0, 0.3, 1e6);
        law.on_report(&report(1.0, 20, 70.0));
        // 27 % would be 10 * 27^2 = 7290; two reports later it would raise the rate by half of the change over 500, five times.
        close(law.x_curr, 500.0);
        law.on_report(&report(1.1, 20, 70.0));
        close(law.x_curr, 500.0);
        assert!(law.r_ref < 1e6);
    }
}
