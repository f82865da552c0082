//! Congestion control of Reno (RFC 5681): slow start, congestion avoidance, halving.

use crate::params::{EcnResponse, Halve};

/// Window and threshold of one sender, in segments.
#[derive(Clone, Copy, Debug)]
pub struct Reno {
    /// Congestion window; a real number.
    pub cwnd: f64,
    /// Slow start threshold; ns-2 keeps it whole.
    pub ssthresh: f64,
}

impl Reno {
    /// Opens the window for one ACK of new data: by 1 below ssthresh, by 1/cwnd above.
    #[inline]
    pub fn on_ack(&mut self) {
        self.cwnd += if self.cwnd < self.ssthresh { 1.0 } else { 1.0 / self.cwnd };
    }

    /// ssthresh becomes half of what `halve` says, at least 2 (ns-2 rounds it down); returns that half.
    pub fn reduce_ssthresh(&mut self, halve: Halve, window: f64, flight: u32) -> f64 {
        let (half, rounded) = match halve {
            Halve::Window => (window / 2.0, (window / 2.0).floor()),
            Halve::Flight => (f64::from(flight) / 2.0, f64::from(flight) / 2.0),
        };
        self.ssthresh = rounded.max(2.0);
        half
    }

    /// Window after a fast retransmit. ns-2 halves the window and keeps the fraction; RFC 5681 goes to ssthresh.
    pub fn enter_recovery(&mut self, halve: Halve, window: f64, flight: u32) {
        let half = self.reduce_ssthresh(halve, window, flight);
        self.cwnd = match halve {
            Halve::Window => half,
            Halve::Flight => self.ssthresh,
        };
    }

    /// Window after the echo of a congestion mark (RFC 3168, section 6.1.2). Below one segment it is closed: nothing
    /// new can be sent until the retransmission timer expires.
    pub fn on_ecn_echo(&mut self, response: EcnResponse, halve: Halve, window: f64, flight: u32) {
        // Data in flight beyond the window, as in fast recovery, must not make the half a whole.
        let half = self.reduce_ssthresh(halve, window, flight.min(self.cwnd as u32));
        self.cwnd = match response {
            EcnResponse::Ns2 => half,
            EcnResponse::Rfc3168 if self.cwnd > 1.0 => half.max(1.0),
            EcnResponse::Rfc3168 => 0.5,
        };
    }

    /// Window after a retransmission timeout: one segment (RFC 5681, section 3.1).
    pub fn on_timeout(&mut self, halve: Halve, window: f64, flight: u32) {
        self.reduce_ssthresh(halve, window, flight);
        self.cwnd = 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_adds_one_and_avoidance_one_per_window() {
        let mut reno = Reno { cwnd: 3.0, ssthresh: 4.0 };
        reno.on_ack();
        assert_eq!(reno.cwnd, 4.0);
        reno.on_ack();
        assert_eq!(reno.cwnd, 4.25);
    }

    #[test]
    fn an_echo_halves_down_to_one_segment_then_closes() {
        let after = |response, halve, window: f64, flight| {
            let mut reno = Reno { cwnd: window, ssthresh: 100.0 };
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
        let mut reno = Reno { cwnd: 9.0, ssthresh: 100.0 };
        reno.enter_recovery(Halve::Window, 9.0, 6);
        assert_eq!((reno.ssthresh, reno.cwnd), (4.0, 4.5));
        let mut reno = Reno { cwnd: 9.0, ssthresh: 100.0 };
        reno.enter_recovery(Halve::Flight, 9.0, 7);
        assert_eq!((reno.ssthresh, reno.cwnd), (3.5, 3.5));
        reno.on_timeout(Halve::Flight, 3.0, 1);
        assert_eq!((reno.ssthresh, reno.cwnd), (2.0, 1.0));
    }
}
