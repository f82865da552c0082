//! Growth in whole segments, as `tcp_cubic.c` has it (net/ipv4, `bictcp_update` and `tcp_cong_avoid_ai`).

use super::{Facts, Window};
use crate::cc::slow_start::SlowStart;
use aqmlab_core::{Span, Time};

/// For how long a count holds while the window stays, HZ/32.
const HOLDS: Span = Span::from_micros(31_250);
/// ACKs that Reno's window takes for a segment, over the window: 8*(1 + beta)/(3*(1 - beta)) in eighths, rounded down, is 15.
const RENO: f64 = 15.0 / 8.0;

/// Linux's state beyond RFC 9438, and the slow start.
#[derive(Clone, Debug, Default)]
pub(super) struct LinuxState {
    pub slow_start: SlowStart,
    /// Least round-trip time since the last timeout.
    pub delay_min: Option<Span>,
    pub epoch: Epoch,
}

/// One stage of congestion avoidance.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Epoch {
    start: Option<Time>,
    /// Time from the start to the plateau, s, and the plateau.
    k: f64,
    origin: f64,
    /// Reno's window, and segments acknowledged that it has not yet grown for.
    reno: f64,
    reno_acked: f64,
    /// Segments that are to be acknowledged for one more in the window; those that have been.
    per_segment: f64,
    acked: f64,
    /// Window and time of the last count.
    last: Option<(f64, Time)>,
}

impl LinuxState {
    /// Takes the round-trip time of an ACK, and lets slow start answer it: before the window grows, for `cubictcp_acked` comes before
    /// `cubictcp_cong_avoid`. True if slow start has answered.
    pub fn slow_start(&mut self, window: &mut Window, ack: &Facts, is_used: bool) -> bool {
        if let Some(rtt) = ack.rtt {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
        self.slow_start.on_ack(window, ack, is_used)
    }

    /// The window has been reduced: another stage begins.
    pub fn end_epoch(&mut self) {
        self.epoch = Epoch::default();
    }

    /// The window after an ACK, `w_max` and `c` as [`super::Cubic`] has them.
    pub fn grow(&mut self, cwnd: f64, w_max: f64, c: f64, ack: &Facts) -> f64 {
        self.count(cwnd, w_max, c, ack);
        let epoch = &mut self.epoch;
        if epoch.acked >= epoch.per_segment {
            epoch.acked = 0.0;
            return cwnd + 1.0 + epoch.collect(ack.credit());
        }
        cwnd + epoch.collect(ack.credit())
    }

    /// Computes the number of segments to be acknowledged for one more in the window.
    fn count(&mut self, cwnd: f64, w_max: f64, c: f64, ack: &Facts) {
        let delay_min = self.delay_min.unwrap_or(ack.srtt);
        let epoch = &mut self.epoch;
        epoch.reno_acked += ack.credit();
        if epoch.last.is_some_and(|(window, at)| window == cwnd && ack.now.since(at) <= HOLDS) {
            return;
        }
        epoch.last = Some((cwnd, ack.now));
        let start = *epoch.start.get_or_insert_with(|| {
            (epoch.reno, epoch.reno_acked) = (cwnd, ack.credit());
            epoch.origin = w_max.max(cwnd);
            epoch.k = libm::cbrt((epoch.origin - cwnd) / c);
            ack.now
        });
        let from_plateau = (ack.now.since(start) + delay_min).seconds() - epoch.k;
        let target = epoch.origin + (c * from_plateau * from_plateau * from_plateau).trunc();
        let mut count = if target > cwnd { (cwnd / (target - cwnd)).floor() } else { 100.0 * cwnd };
        if w_max == 0.0 {
            count = count.min(20.0); // the bandwidth is still unknown
        }
        let per_reno = (cwnd * RENO).floor();
        let grown = (epoch.reno_acked / per_reno).ceil() - 1.0;
        if grown > 0.0 {
            epoch.reno += grown;
            epoch.reno_acked -= grown * per_reno;
        }
        if epoch.reno > cwnd {
            count = count.min((cwnd / (epoch.reno - cwnd)).floor());
        }
        epoch.per_segment = count.max(2.0);
    }
}

impl Epoch {
    /// Counts segments acknowledged; returns by how many the window grows.
    fn collect(&mut self, acked: f64) -> f64 {
        self.acked += acked;
        let grown = (self.acked / self.per_segment).floor();
        self.acked -= grown * self.per_segment;
        grown
    }
}
