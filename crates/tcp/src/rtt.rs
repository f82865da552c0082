//! Round-trip time estimator and retransmission timeout (RFC 6298; ns-2's integer arithmetic).

use crate::ns2::IntegerEstimator;
use crate::params::{Estimator, TcpParams};
use aqmlab_core::{Span, Time};

/// Estimator of one sender. Times one segment at a time; never a retransmitted one (Karn).
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Smoothed round-trip time: ticks * 8 (integer) or ticks (real); 0 before the first sample.
    srtt: f64,
    /// Round-trip time variation: ticks * 4 (integer) or ticks (real).
    rttvar: f64,
    /// Smoothed round-trip time; zero before the first sample.
    smoothed: Span,
    /// Timeout before backoff.
    rto: Span,
    backoff: u32,
    /// Time at which the segment being timed was sent, which is the last timed; [`Time::NEVER`] if none is.
    timed: Time,
    /// Highest segment ever timed.
    last_timed: u32,
    /// Offset in a clock tick at which this sender was booted.
    phase: Span,
}

/// RFC 6298, (5.7).
const RTO_AFTER_LOST_SYN: Span = Span::from_secs(3);
/// ns-2 backs off by doubling up to this, and on while the timeout is below its maximum.
const MAX_BACKOFF: u32 = 64;

impl RttEstimator {
    /// No sample yet. `phase` is the sender's boot time within a clock tick.
    pub fn new(params: &TcpParams, phase: Span) -> Self {
        let (smoothed, rto) = (Span::ZERO, params.initial_rto);
        RttEstimator { srtt: 0.0, rttvar: 0.0, smoothed, rto, backoff: 1, timed: Time::NEVER, last_timed: 0, phase }
    }

    /// A segment never sent before leaves; it is timed if none is.
    #[inline]
    pub fn on_send_new(&mut self, seq: u32, now: Time) {
        if self.timed == Time::NEVER && (seq > self.last_timed || seq == 0) {
            self.timed = now;
            self.last_timed = seq;
        }
    }

    /// All data before `next` have arrived: takes the sample if the timed segment is among them. Only this ends
    /// backoff, unless it is to be kept.
    #[inline]
    pub fn on_ack(&mut self, next: u32, keeps_backoff: bool, now: Time, params: &TcpParams) {
        let sent = self.timed;
        if sent != Time::NEVER && next > self.last_timed {
            self.timed = Time::NEVER;
            if !keeps_backoff {
                self.backoff = 1;
            }
            self.sample(self.ticks(sent, now, params.clock), params);
        }
    }

    /// A segment sent twice cannot be timed (Karn).
    pub fn on_retransmit(&mut self, seq: u32) {
        if self.last_timed == seq {
            self.timed = Time::NEVER;
        }
    }

    /// The SYN was lost and data begin: RFC 6298, (5.7).
    pub fn after_lost_syn(&mut self) {
        if self.rto < RTO_AFTER_LOST_SYN {
            self.rto = RTO_AFTER_LOST_SYN;
            self.backoff = 1;
        }
    }

    /// Gives up timing, as at a loss.
    pub fn cancel(&mut self) {
        self.timed = Time::NEVER;
    }

    /// The retransmission timer expired: doubles the timeout.
    pub fn back_off(&mut self, params: &TcpParams) {
        if self.backoff < MAX_BACKOFF || self.timeout(params) < params.max_rto {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if params.estimator == Estimator::Integer && self.backoff > 8 {
            self.integer().forget();
        }
    }

    /// Present timeout: at least min_rto before backoff, at most max_rto after.
    #[inline]
    pub fn timeout(&self, params: &TcpParams) -> Span {
        let base = self.rto.max(params.min_rto).0;
        let backed_off = Span(base.saturating_mul(u64::from(self.backoff))).min(params.max_rto);
        match params.estimator {
            Estimator::Integer => backed_off.max(Span(2 * params.clock.0)),
            Estimator::Real | Estimator::Linux => backed_off,
        }
    }

    /// A round-trip time that a timestamp has measured (RFC 7323), in variant `rack`: one for each ACK.
    pub fn on_sample(&mut self, rtt: Span, params: &TcpParams) {
        self.sample(rtt.0 as f64 / params.clock.0 as f64, params);
    }

    /// Takes the values of another estimator.
    pub fn set(&mut self, smoothed: Span, rto: Span) {
        (self.smoothed, self.rto) = (smoothed, rto);
    }

    /// The sender's boot time within a clock tick.
    pub fn phase(&self) -> Span {
        self.phase
    }

    /// The timeout is what the estimate says again.
    pub fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// Smoothed round-trip time; `None` before the first sample.
    pub fn srtt(&self) -> Option<Span> {
        (self.smoothed > Span::ZERO).then_some(self.smoothed)
    }

    /// The same; zero before the first sample.
    #[inline]
    pub fn smoothed(&self) -> Span {
        self.smoothed
    }

    /// Clock ticks crossed between two instants, at least 1.
    fn ticks(&self, from: Time, to: Time, clock: Span) -> f64 {
        let tick = |time: Time| (time.0 + self.phase.0) / clock.0;
        (tick(to) - tick(from)).max(1) as f64
    }

    fn sample(&mut self, ticks: f64, params: &TcpParams) {
        let (srtt_ticks, rto_ticks) = match params.estimator {
            Estimator::Integer => self.integer().sample(ticks),
            Estimator::Real | Estimator::Linux => self.sample_real(ticks),
        };
        let span = |ticks: f64| Span((ticks * params.clock.0 as f64) as u64);
        (self.smoothed, self.rto) = (span(srtt_ticks), span(rto_ticks));
    }

    fn integer(&mut self) -> IntegerEstimator<'_> {
        IntegerEstimator { srtt: &mut self.srtt, rttvar: &mut self.rttvar }
    }

    /// Smoothed time and timeout in ticks: RFC 6298, (2.2) and (2.3), with clock granularity 1.
    fn sample_real(&mut self, ticks: f64) -> (f64, f64) {
        if self.srtt == 0.0 {
            self.srtt = ticks;
            self.rttvar = ticks / 2.0;
        } else {
            self.rttvar += ((self.srtt - ticks).abs() - self.rttvar) / 4.0;
            self.srtt += (ticks - self.srtt) / 8.0;
        }
        (self.srtt, self.srtt + (4.0 * self.rttvar).max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Profile;
    use aqmlab_core::ParamSet;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn ns2() -> TcpParams {
        let mut params = TcpParams::defaults();
        params.read("tcp", Profile::Ns2.settings().iter().copied(), &mut Vec::new());
        params
    }

    #[test]
    fn integer_arithmetic_by_hand() {
        let params = ns2();
        let mut rtt = RttEstimator::new(&params, Span::ZERO);
        assert_eq!(rtt.timeout(&params), Span::from_secs(3));
        rtt.on_send_new(0, ms(0));
        rtt.on_ack(1, false, ms(95), &params);
        // 9 ticks: srtt = 72, rttvar = 18; (18*8 + 72)/8 = 27 ticks.
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.timeout(&params)), (72.0, 18.0, Span::from_millis(270)));
        rtt.on_send_new(1, ms(100));
        rtt.on_ack(2, false, ms(241), &params);
        // 14 ticks: delta = 5; srtt = 77; rttvar = 18 + 5 - 4 = 19; (152 + 77)/8 = 28.6 -> 28 ticks.
        assert_eq!((rtt.srtt, rtt.rttvar, rtt.timeout(&params)), (77.0, 19.0, Span::from_millis(280)));
    }

    #[test]
    fn the_smoothed_time_is_in_units_of_time() {
        for (params, expected) in [(ns2(), 90), (TcpParams::defaults(), 95)] {
            let mut rtt = RttEstimator::new(&params, Span::ZERO);
            assert_eq!(rtt.srtt(), None);
            rtt.on_send_new(0, ms(0));
            rtt.on_ack(1, false, ms(95), &params);
            assert_eq!(rtt.srtt(), Some(Span::from_millis(expected)));
        }
    }

    #[test]
    fn backoff_may_outlast_a_sample() {
        let params = ns2();
        let mut rtt = RttEstimator::new(&params, Span::ZERO);
        rtt.back_off(&params);
        rtt.on_send_new(0, ms(0));
        rtt.on_ack(1, true, ms(95), &params);
        assert_eq!(rtt.timeout(&params), Span::from_millis(540), "27 ticks twice");
    }

    #[test]
    fn real_arithmetic_by_hand() {
        let params = TcpParams { min_rto: Span::ZERO, ..TcpParams::defaults() };
        let mut rtt = RttEstimator::new(&params, Span::ZERO);
        rtt.on_send_new(0, ms(0));
        rtt.on_ack(1, false, ms(100), &params);
        assert_eq!(rtt.timeout(&params), Span::from_millis(300));
        rtt.on_send_new(1, ms(100));
        rtt.on_ack(2, false, ms(280), &params);
        // 180 ms: rttvar = 50 + (80 - 50)/4 = 57.5; srtt = 100 + 80/8 = 110; 110 + 230 = 340 ms.
        assert_eq!(rtt.timeout(&params), Span::from_millis(340));
    }

    #[test]
    fn counts_tick_boundaries_from_the_boot_phase() {
        let params = ns2();
        let rtt = RttEstimator::new(&params, Span::from_millis(9));
        // 9 ms phase: 0.5 ms after the start is before the first boundary, 1.5 ms after it.
        assert_eq!(rtt.ticks(Time(500_000_000), Time(1_500_000_000), params.clock), 1.0);
        assert_eq!(rtt.ticks(Time(1_500_000_000), Time(10_500_000_000), params.clock), 1.0, "at least one");
        assert_eq!(rtt.ticks(Time(1_500_000_000), Time(21_500_000_000), params.clock), 2.0);
    }

    #[test]
    fn backs_off_to_the_maximum_and_ends_only_at_a_timed_segment() {
        let params = ns2();
        let mut rtt = RttEstimator::new(&params, Span::ZERO);
        rtt.on_send_new(0, ms(0));
        rtt.on_ack(1, false, ms(95), &params);
        for expected in [540, 1080, 2160] {
            rtt.back_off(&params);
            assert_eq!(rtt.timeout(&params), Span::from_millis(expected));
        }
        rtt.on_ack(6, false, ms(5000), &params);
        assert_eq!(rtt.timeout(&params), Span::from_millis(2160), "nothing was timed");
        for _ in 0..10 {
            rtt.back_off(&params);
        }
        assert_eq!(rtt.timeout(&params), params.max_rto);
        // Above 8 the estimate is cleared; the next sample is the first again.
        assert_eq!(rtt.srtt, 0.0);
    }
}
