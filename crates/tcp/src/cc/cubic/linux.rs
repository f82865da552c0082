//! Growth in whole segments and whole ticks, as `tcp_cubic.c` has it (Linux 7.3, net/ipv4, `bictcp_update` and `tcp_cong_avoid_ai`).

use super::{CubicParams, Facts, Window};
use crate::cc::slow_start::SlowStart;
use aqmlab_core::{Span, Time};

/// A tick, and how many a second has (HZ): those of the kernels that this is held against.
const TICK: Span = Span::from_millis(1);
const HZ: u64 = 1000;
/// For how long a count holds while the window stays, in ticks.
const HOLDS: u64 = HZ / 32;
/// The cubic's time is counted in units of 2^-10 s (`BICTCP_HZ`).
const TIME_BITS: u32 = 10;
/// One segment, in units of C times the cube of such a time.
const SEGMENT: u64 = 1 << (10 + 3 * TIME_BITS);

/// What the module makes of its parameters.
#[derive(Clone, Copy, Debug)]
struct Constants {
    /// C, of 1024 (`cube_rtt_scale`): ten times `bic_scale`, which is 41 for 0.4.
    c: u64,
    /// ACKs that Reno's window takes for a segment, over the window, in eighths (`beta_scale`): 15 for 717/1024.
    reno: u64,
}

impl Constants {
    fn of(params: &CubicParams) -> Self {
        let beta = (1024.0 * params.beta) as u64;
        Self { c: 10 * (102.4 * params.c).round().max(1.0) as u64, reno: 8 * (1024 + beta) / 3 / (1024 - beta) }
    }
}

/// Linux's state beyond RFC 9438, and the slow start.
#[derive(Clone, Debug)]
pub(super) struct LinuxState {
    pub slow_start: SlowStart,
    /// Least round-trip time since the last timeout, but for samples of the first second of an epoch.
    delay_min: Option<Span>,
    epoch: Epoch,
}

/// One stage of congestion avoidance, times in ticks, windows in segments.
#[derive(Clone, Copy, Debug, Default)]
struct Epoch {
    start: Option<u64>,
    /// Time from the start to the plateau, in 1/1024 s, and the plateau.
    k: u64,
    origin: u64,
    /// Reno's window, and segments acknowledged that it has not yet grown for.
    reno: u64,
    reno_acked: u64,
    /// Segments that are to be acknowledged for one more in the window (`cnt`); those that have been (`snd_cwnd_cnt`).
    per_segment: u64,
    acked: u64,
    /// Window and time of the last count.
    last: (u64, u64),
}

impl LinuxState {
    pub fn new(slow_start: SlowStart) -> Self {
        Self { slow_start, delay_min: None, epoch: Epoch::default() }
    }

    /// Takes the round-trip time of an ACK, and lets slow start answer it: before the window grows, for `cubictcp_acked` comes before
    /// `cubictcp_cong_avoid`. True if slow start has answered.
    pub fn slow_start(&mut self, window: &mut Window, ack: &Facts, is_used: bool) -> bool {
        let is_settled = self.epoch.start.is_none_or(|start| ticks(ack.now) - start >= HZ);
        if let Some(rtt) = ack.rtt.filter(|_| is_settled) {
            self.delay_min = Some(self.delay_min.map_or(rtt, |least| least.min(rtt)));
        }
        self.slow_start.on_ack(window, ack, is_used)
    }

    /// The window has been reduced: another stage begins (`cubictcp_recalc_ssthresh`, `tcp_init_cwnd_reduction`).
    pub fn end_epoch(&mut self) {
        (self.epoch.start, self.epoch.acked) = (None, 0);
    }

    /// The window after an ACK, `w_max` as [`super::Cubic`] has it.
    pub fn grow(&mut self, cwnd: f64, w_max: f64, params: &CubicParams, ack: &Facts) -> f64 {
        let (acked, now) = (ack.credit() as u64, ticks(ack.now));
        if !self.epoch.holds(cwnd as u64, acked, now) {
            let delay = self.delay_min.unwrap_or(ack.srtt);
            self.epoch.count(cwnd as u64, w_max as u64, Constants::of(params), acked, now, delay);
        }
        cwnd + self.epoch.collect(acked) as f64
    }
}

impl Epoch {
    /// Takes in what an ACK tells of. True while the last count holds.
    fn holds(&mut self, cwnd: u64, acked: u64, now: u64) -> bool {
        self.reno_acked += acked;
        self.last.0 == cwnd && now - self.last.1 <= HOLDS
    }

    /// Computes the number of segments to be acknowledged for one more in the window (`bictcp_update`).
    fn count(&mut self, cwnd: u64, w_max: u64, constants: Constants, acked: u64, now: u64, delay: Span) {
        if self.start.is_none() || now != self.last.1 {
            self.last = (cwnd, now);
            let start = self.start.unwrap_or_else(|| self.begin(cwnd, w_max, constants.c, acked, now));
            let target = self.target(now - start + delay.0.div_ceil(TICK.0), constants.c);
            self.per_segment = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
            if w_max == 0 {
                self.per_segment = self.per_segment.min(20); // the bandwidth is still unknown
            }
        }
        self.keep_up_with_reno(cwnd, cwnd * constants.reno / 8);
        self.per_segment = self.per_segment.max(2);
    }

    /// The stage begins: where the window was reduced is its plateau, if that is above it. Returns the time.
    fn begin(&mut self, cwnd: u64, w_max: u64, c: u64, acked: u64, now: u64) -> u64 {
        (self.reno, self.reno_acked) = (cwnd, acked);
        self.origin = w_max.max(cwnd);
        self.k = if w_max > cwnd { cubic_root(SEGMENT / c * (w_max - cwnd)) } else { 0 };
        *self.start.insert(now)
    }

    /// The cubic, some ticks after its start.
    fn target(&self, after: u64, c: u64) -> u64 {
        let time = (after << TIME_BITS) / HZ;
        let from_plateau = time.abs_diff(self.k);
        let by = (u128::from(c) * u128::from(from_plateau).pow(3) / u128::from(SEGMENT)) as u64;
        if time < self.k { self.origin.saturating_sub(by) } else { self.origin + by }
    }

    /// Grows no slower than Reno would have, with one more for so many acknowledged.
    fn keep_up_with_reno(&mut self, cwnd: u64, per_reno: u64) {
        let grown = self.reno_acked.div_ceil(per_reno).saturating_sub(1);
        self.reno += grown;
        self.reno_acked -= grown * per_reno;
        if self.reno > cwnd {
            self.per_segment = self.per_segment.min(cwnd / (self.reno - cwnd));
        }
    }

    /// Counts segments acknowledged; returns by how many the window grows (`tcp_cong_avoid_ai`).
    fn collect(&mut self, acked: u64) -> u64 {
        let stored = u64::from(self.acked >= self.per_segment); // at another count
        self.acked = if stored > 0 { acked } else { self.acked + acked };
        let grown = self.acked / self.per_segment;
        self.acked -= grown * self.per_segment;
        stored + grown
    }
}

fn ticks(time: Time) -> u64 {
    time.0 / TICK.0
}

/// One step of Newton's method, its third taken as 341/1024, from the root of the leading bits, 3.6 % up (`cubic_root`, which has
/// these from a table).
fn cubic_root(of: u64) -> u64 {
    let bits = ((u64::from(of.ilog2() + 1) * 84) >> 8) - 1; // a third of them
    let leading = of >> (3 * bits);
    let guess = (((66.3 * libm::cbrt(leading as f64)) as u64) << bits) >> 6;
    ((2 * guess + of / (guess * (guess - 1))) * 341) >> 10
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// C = 0.4 is 41/1024 of ten segments; 2^40/410 = 2,681,735,677 units are a segment.
    const SCALE: u64 = 410;
    const LINUX: Constants = Constants { c: SCALE, reno: 15 };

    /// As `bictcp_update`: the ACK is taken in, then counted unless the last count holds.
    fn count(epoch: &mut Epoch, cwnd: u64, w_max: u64, acked: u64, now: u64, delay: Span) -> u64 {
        if !epoch.holds(cwnd, acked, now) {
            epoch.count(cwnd, w_max, LINUX, acked, now, delay);
        }
        epoch.per_segment
    }

    #[test]
    fn constants_are_those_of_the_module() {
        let of = |beta, c| {
            let Constants { c, reno } = Constants::of(&CubicParams { beta, c, ..CubicParams::defaults() });
            (c, reno)
        };
        // 8 * 1741 / 3 = 4642, over 307: 15. Of one half 8 * 1536 / 3 = 4096, over 512: 8. C of 0.001 would be 0, and is one.
        assert_eq!([of(717.0 / 1024.0, 0.4), of(0.5, 0.8), of(0.5, 0.001)], [(410, 15), (820, 8), (10, 8)]);
    }

    #[test]
    fn the_time_to_the_plateau_is_that_of_the_kernel() {
        // 27 segments below it: (27/0.4)^(1/3) = 4.0716 s; with C = 0.400390625 4.0703 s, 4168 units. 72,406,863,279 has 37 bits, 8 are
        // left of 2^33, and 66.3 * 2 in units of 2^5 is 4224: (2*4224 + 72,406,863,279 / (4224*4223)) * 341 >> 10.
        assert_eq!(cubic_root(27 * (SEGMENT / SCALE)), ((8448 + 4059) * 341) >> 10);
        // As measured on Linux 7.3 with windows 1, 3 and 4 segments below.
        assert_eq!([1, 3, 4].map(|below| cubic_root(below * (SEGMENT / SCALE))), [1388, 2003, 2203]);
    }

    #[test]
    fn the_target_is_whole_and_meets_the_plateau() {
        let epoch = Epoch { k: 4163, origin: 90, ..Epoch::default() };
        // Units after 0, 1, 4.066, 5 and 7 s: 0, 1024, 4163, 5120, 7168; 410 * 4163^3 >> 40 = 26, 410 * 3139^3 >> 40 = 11,
        // 410 * 957^3 >> 40 = 0, 410 * 3005^3 >> 40 = 10.
        assert_eq!([0, 1000, 4066, 5000, 7000].map(|after| epoch.target(after, SCALE)), [64, 79, 90, 90, 100]);
    }

    #[test]
    fn a_count_holds_for_31_ticks_while_the_window_stays_and_then_follows_the_cubic() {
        let mut epoch = Epoch::default();
        let mut count = |cwnd, acked, now| count(&mut epoch, cwnd, 90, acked, now, Span::from_millis(100));
        // 100 ms after the start are 102 units: 90 - (410 * 4061^3 >> 40) = 90 - 24 = 66, three above 63: one for 21.
        assert_eq!(count(63, 1, 5000), 21);
        assert_eq!([5001, 5031].map(|now| count(63, 1, now)), [21, 21]);
        // 132 ms are 135 units: 90 - (410 * 4028^3 >> 40) = 90 - 24; 1032 ms are 1056: 90 - (410 * 3107^3 >> 40) = 90 - 11 = 79.
        assert_eq!([5032, 5932].map(|now| count(63, 1, now)), [21, 3]);
    }

    #[test]
    fn another_window_within_a_tick_is_compared_with_renos_alone() {
        let mut epoch = Epoch::default();
        count(&mut epoch, 10, 0, 1, 5000, Span::ZERO);
        assert_eq!((epoch.per_segment, epoch.reno), (20, 10), "the bandwidth is unknown");
        // Reno takes 11*15/8 = 20 of 38 for one segment, and 18 are left; 11 is not above 11, and 20 stays.
        count(&mut epoch, 11, 0, 37, 5000, Span::ZERO);
        assert_eq!((epoch.per_segment, epoch.reno, epoch.reno_acked), (20, 11, 18));
        count(&mut epoch, 12, 0, 60, 5000, Span::ZERO);
        // 12*15/8 = 22: 78 are three and 12 left; 14 is two above 12: one for six.
        assert_eq!((epoch.per_segment, epoch.reno, epoch.reno_acked), (6, 14, 12));
    }

    #[test]
    fn what_was_acknowledged_at_a_higher_count_makes_one_segment() {
        let mut epoch = Epoch { per_segment: 20, acked: 0, ..Epoch::default() };
        assert_eq!(epoch.collect(19), 0);
        epoch.per_segment = 4;
        assert_eq!(epoch.collect(9), 1 + 2);
        assert_eq!(epoch.acked, 1);
    }
}
