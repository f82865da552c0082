//! The profile `linux`: behaviour of Linux that the RFCs do not have.

use crate::cc::Window;
use aqmlab_core::{Span, Time};

/// Constants that the profile sets, over the declared defaults.
pub const SETTINGS: &[(&str, &str)] = &[
    ("delayed_ack", "true"),
    ("ack_delay", "40 ms"),
    ("quick_acks", "16"),
    ("clock", "4 ms"),
    ("estimator", "linux"),
    ("forgive_syn", "true"),
    ("ecn_fallback", "true"),
    ("handshake_ack", "true"),
    ("linear_syn_timeouts", "4"),
    ("min_rto", "200 ms"),
    ("max_rto", "120 s"),
    ("after_idle", "decay"),
    ("small_queues", "true"),
    ("header", "66 B"),
    ("ack", "66 B"),
];

/// Parameters that it sets of CUBIC.
pub const CUBIC: &[(&str, &str)] = &[("flavour", "linux"), ("slow_start", "hystart")];
/// Parameters that it sets of DCTCP.
pub const DCTCP: &[(&str, &str)] = &[("flavour", "linux")];
/// Parameters that it sets of Vegas and of Westwood+.
pub const VEGAS: &[(&str, &str)] = &[("flavour", "linux")];
pub const WESTWOOD: &[(&str, &str)] = &[("flavour", "linux")];

/// Least wait for a reordering window or a probe beyond what they ask for (`TCP_TIMEOUT_MIN_US`).
pub(crate) const TIMEOUT_MIN: Span = Span::from_millis(2);

/// A tick of the clock of timestamps (`TCP_TS_HZ`).
pub(crate) const TIMESTAMP_TICK: Span = Span::from_millis(1);

/// The pace that Linux reckons with for a law without one, segments a second: the window in a round trip, and a fifth more, or twice
/// as much while it is to double (`tcp_update_pacing_rate`).
pub(crate) fn pacing_rate(window: &Window, flight: u32, srtt: Span) -> f64 {
    let ratio = if window.cwnd < window.ssthresh / 2.0 { 2.0 } else { 1.2 };
    ratio * window.cwnd.max(f64::from(flight)) / srtt.seconds().max(1e-6)
}

/// The time at which a timer expires that is set at `now` for `after` it. Timers lie in a wheel of 64 slots a level, each level eight
/// times as coarse as the one before, and expire at the end of their slot (`calc_wheel_index` in kernel/time/timer.c). `phase` is the
/// time that the host has been up at [`Time::ZERO`].
pub(crate) fn expiry(now: Time, after: Span, tick: Span, phase: Span) -> Time {
    let ticks = after.0.div_ceil(tick.0);
    let mut shift = 0;
    while ticks >= 63 << shift {
        shift += 3;
    }
    let slot = ((now.0 + phase.0) / tick.0 + ticks) >> shift;
    Time(((slot + 1) << shift).saturating_mul(tick.0).saturating_sub(phase.0))
}

/// A round-trip time as timestamps tell it, which are whole milliseconds: at least one (`tcp_rtt_tsopt_us`). `phase` is the time
/// that the host has been up at [`Time::ZERO`].
pub(crate) fn timestamped(sent: Time, now: Time, phase: Span) -> Span {
    let stamp = |time: Time| (time.0 + phase.0) / TIMESTAMP_TICK.0;
    Span((stamp(now) - stamp(sent)).max(1) * TIMESTAMP_TICK.0)
}

/// Round-trip time estimator of `tcp_rtt_estimator` (net/ipv4/tcp_input.c): four times the mean deviation as RFC 6298, but
/// slower where round trips get shorter, and held at its maximum for a round trip; all times in seconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Estimator {
    srtt: f64,
    /// Four times the mean deviation, its maximum in this round trip, and what the timeout takes.
    mdev: f64,
    mdev_max: f64,
    rttvar: f64,
    /// The round trip ends when this is acknowledged.
    rtt_seq: u32,
}

impl Estimator {
    /// Takes a sample at an ACK of all before `next`, when `sent` is the next to send; smoothed round-trip time and timeout.
    pub fn sample(&mut self, rtt: Span, next: u32, sent: u32, min_rto: Span) -> (Span, Span) {
        let (rtt, least) = (rtt.seconds(), min_rto.seconds());
        if self.srtt == 0.0 {
            (self.srtt, self.mdev) = (rtt, 2.0 * rtt);
            self.rttvar = self.mdev.max(least);
            (self.mdev_max, self.rtt_seq) = (self.rttvar, sent);
        } else {
            let error = rtt - self.srtt;
            self.srtt += error / 8.0;
            let change = error.abs() - self.mdev / 4.0;
            self.mdev += if error < 0.0 && change > 0.0 { change / 8.0 } else { change };
            if self.mdev > self.mdev_max {
                self.mdev_max = self.mdev;
            }
            if self.mdev_max > self.rttvar {
                self.rttvar = self.mdev_max;
            }
            if next > self.rtt_seq {
                self.rttvar -= (self.rttvar - self.mdev_max).max(0.0) / 4.0;
                (self.mdev_max, self.rtt_seq) = (least, sent);
            }
        }
        (Span::from_seconds(self.srtt), Span::from_seconds(self.srtt + self.rttvar))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamps_are_whole_milliseconds() {
        let rtt = |sent, now| {
            timestamped(
                Time::ZERO + Span::from_micros(sent),
                Time::ZERO + Span::from_micros(now),
                Span::from_micros(300),
            )
        };
        // Sent at 0.9 and 1.0 ms of the host's clock, 40.6 ms before the ACK.
        assert_eq!([rtt(600, 41_200), rtt(700, 41_300)], [Span::from_millis(41), Span::from_millis(40)]);
        assert_eq!(rtt(100, 200), Span::from_millis(1));
    }

    #[test]
    fn timers_expire_at_the_end_of_a_slot() {
        let ms = Span::from_millis;
        let after = |now, after| expiry(Time::ZERO + ms(now), ms(after), ms(1), ms(32)).since(Time::ZERO);
        // One tick, 8 from 63 on, 64 from 504 on; (32 + 1000)/64 = 16.1, so that the slot ends at 17*64 - 32.
        assert_eq!([after(0, 40), after(0, 62), after(0, 63)], [ms(41), ms(63), ms(64)]);
        assert_eq!([after(5, 200), after(0, 1000), after(1056, 1000)], [ms(208), ms(1056), ms(2080)]);
        let late = Time::ZERO + Span::from_micros(1900);
        assert_eq!(expiry(late, Span::from_micros(2100), ms(1), Span::ZERO), Time::ZERO + ms(5), "1 + 3 ticks");
    }
}
