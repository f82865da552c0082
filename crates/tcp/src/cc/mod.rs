//! Congestion control: how the window grows and shrinks. What is common to all is here; Reno's law (RFC 5681) needs no
//! more, the others have a file each.

mod cubic;
mod ledbat;

use crate::params::{CongestionControl, EcnResponse, Halve, TcpParams};
use aqmlab_core::{Span, Time};
use cubic::Cubic;
use ledbat::Ledbat;

/// Window and threshold of one sender, in segments, and the law by which they change.
#[derive(Clone, Debug)]
pub struct Congestion {
    /// Congestion window; a real number.
    pub cwnd: f64,
    /// Slow start threshold; ns-2 keeps it whole.
    pub ssthresh: f64,
    /// `None`: Reno's. Boxed, for most senders have none.
    law: Option<Box<Law>>,
}

#[derive(Clone, Debug)]
enum Law {
    Cubic(Cubic),
    Ledbat(Ledbat),
}

impl Law {
    /// The window after an ACK of new data.
    #[inline(never)] // Reno's way stays short
    fn on_ack(&mut self, cwnd: f64, ssthresh: f64, ack: NewAck, params: &TcpParams) -> f64 {
        match self {
            Law::Cubic(cubic) => cubic.on_ack(cwnd, ssthresh, &ack),
            Law::Ledbat(ledbat) => ledbat.on_ack(cwnd, &ack, params),
        }
    }
}

/// An ACK of new data, as congestion control sees it.
#[derive(Clone, Copy, Debug)]
pub struct NewAck {
    /// Segments that it acknowledges.
    pub acked: u32,
    /// Segments outstanding before it.
    pub flight: u32,
    /// One-way delay of the segment that caused it; zero where the receiver does not measure it.
    pub delay: Span,
    /// Smoothed round-trip time; zero before the first sample.
    pub srtt: Span,
    /// When it came.
    pub now: Time,
}

impl Congestion {
    /// The law that `params` name, before the first ACK.
    pub fn new(cwnd: f64, ssthresh: f64, params: &TcpParams) -> Self {
        let law = match params.congestion_control {
            CongestionControl::Reno => None,
            CongestionControl::Cubic => Some(Law::Cubic(Cubic::default())),
            CongestionControl::Ledbat => Some(Law::Ledbat(Ledbat::default())),
        };
        Self { cwnd, ssthresh, law: law.map(Box::new) }
    }

    /// Opens the window for one ACK of new data. Reno, which asks nothing of the ACK: by 1 below ssthresh, by 1/cwnd
    /// above.
    #[inline]
    pub fn on_ack(&mut self, ack: impl FnOnce() -> NewAck, params: &TcpParams) {
        match &mut self.law {
            None => self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd },
            Some(law) => self.cwnd = law.on_ack(self.cwnd, self.ssthresh, ack(), params),
        }
    }

    /// The share of the window that is left after a congestion event: a half, CUBIC's beta.
    pub fn kept(&self) -> f64 {
        if matches!(self.law.as_deref(), Some(Law::Cubic(_))) { cubic::BETA } else { 0.5 }
    }

    fn cubic(&mut self) -> Option<&mut Cubic> {
        if let Some(Law::Cubic(cubic)) = self.law.as_deref_mut() { Some(cubic) } else { None }
    }

    /// ssthresh becomes the share kept of what `halve` says, at least 2 (ns-2 rounds it down); returns that share.
    fn reduce_ssthresh(&mut self, halve: Halve, window: f64, flight: u32) -> f64 {
        let kept = self.kept() * if halve == Halve::Window { window } else { f64::from(flight) };
        let rounded = if halve == Halve::Window { kept.floor() } else { kept };
        self.ssthresh = rounded.max(2.0);
        let cwnd = self.cwnd;
        if let Some(cubic) = self.cubic() {
            cubic.on_congestion(cwnd);
        }
        kept
    }

    /// Window after a fast retransmit. ns-2 halves the window and keeps the fraction; RFC 5681 goes to ssthresh.
    pub fn enter_recovery(&mut self, halve: Halve, window: f64, flight: u32) {
        let kept = self.reduce_ssthresh(halve, window, flight);
        self.cwnd = match halve {
            Halve::Window => kept,
            Halve::Flight => self.ssthresh,
        };
    }

    /// Window after the echo of a congestion mark (RFC 3168, section 6.1.2). Below one segment it is closed: nothing
    /// new can be sent until the retransmission timer expires.
    pub fn on_ecn_echo(&mut self, response: EcnResponse, halve: Halve, window: f64, flight: u32) {
        // Data in flight beyond the window, as in fast recovery, must not make the half a whole.
        let kept = self.reduce_ssthresh(halve, window, flight.min(self.cwnd as u32));
        self.cwnd = match response {
            EcnResponse::Ns2 => kept,
            EcnResponse::Rfc3168 if self.cwnd > 1.0 => kept.max(1.0),
            EcnResponse::Rfc3168 => 0.5,
        };
    }

    /// Window after a retransmission timeout: one segment (RFC 5681, section 3.1).
    pub fn on_timeout(&mut self, halve: Halve, window: f64, flight: u32) {
        self.reduce_ssthresh(halve, window, flight);
        self.collapse();
    }

    /// A pause ends in which there was nothing to send.
    pub fn resume(&mut self, now: Time) {
        if let Some(cubic) = self.cubic() {
            cubic.resume(now);
        }
    }

    /// One segment again, after a timeout whose window of data has been answered.
    pub fn collapse(&mut self) {
        self.cwnd = 1.0;
        if let Some(cubic) = self.cubic() {
            cubic.on_timeout();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    const ACK: NewAck = NewAck { acked: 1, flight: 10, delay: Span::ZERO, srtt: Span::ZERO, now: Time::ZERO };

    fn reno(cwnd: f64, ssthresh: f64) -> Congestion {
        Congestion::new(cwnd, ssthresh, &TcpParams::defaults())
    }

    #[test]
    fn slow_start_adds_one_and_avoidance_one_per_window() {
        let mut reno = reno(3.0, 4.0);
        reno.on_ack(|| ACK, &TcpParams::defaults());
        assert_eq!(reno.cwnd, 4.0);
        reno.on_ack(|| ACK, &TcpParams::defaults());
        assert_eq!(reno.cwnd, 4.25);
    }

    #[test]
    fn an_echo_halves_down_to_one_segment_then_closes() {
        let after = |response, halve, window: f64, flight| {
            let mut reno = reno(window, 100.0);
            reno.on_ecn_echo(response, halve, window, flight);
            (reno.ssthresh, reno.cwnd)
        };
        let rfc = |window, flight| after(EcnResponse::Rfc3168, Halve::Flight, window, flight);
        assert_eq!(rfc(9.5, 7), (3.5, 3.5));
        assert_eq!(rfc(9.5, 15), (4.5, 4.5), "9 of the flight are the window's");
        assert_eq!(rfc(1.5, 1), (2.0, 1.0));
        assert_eq!(rfc(1.0, 1), (2.0, 0.5), "closed");
        let ns2 = |window| after(EcnResponse::Ns2, Halve::Window, window, 0);
        assert_eq!([ns2(9.5), ns2(1.5), ns2(1.0)], [(4.0, 4.75), (2.0, 0.75), (2.0, 0.5)]);
    }

    #[test]
    fn halves_the_window_or_the_flight() {
        let mut a = reno(9.0, 100.0);
        a.enter_recovery(Halve::Window, 9.0, 6);
        assert_eq!((a.ssthresh, a.cwnd), (4.0, 4.5));
        let mut b = reno(9.0, 100.0);
        b.enter_recovery(Halve::Flight, 9.0, 7);
        assert_eq!((b.ssthresh, b.cwnd), (3.5, 3.5));
        b.on_timeout(Halve::Flight, 3.0, 1);
        assert_eq!((b.ssthresh, b.cwnd), (2.0, 1.0));
    }
}
