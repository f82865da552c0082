mod linux;

use super::as_slow_start;
use super::slow_start::{SlowStart, SlowStartChoice};
use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, Window};
use aqmlab_core::{Span, Time, choice, params};
use linux::BandwidthEstimate;

choice! {
    /// The implementation whose details apply.
    pub enum WestwoodFlavour {
        /// The papers, in real numbers.
        Paper = "paper",
        /// `tcp_westwood.c` of Linux, in its whole numbers.
        Linux = "linux",
    }
}

params! {
    /// Westwood+: after a loss or mark the window is set to the data that the path has delivered, not halved.
    ///
    /// ## Idea
    /// The sender counts how fast its data arrive. That rate times the minimum round-trip time is the window that fills
    /// the path without a queue. A loss that congestion did not cause, as on radio, then costs little.
    ///
    /// ## Equations
    /// Every round trip, but not before 50 ms, with d segments that have arrived in a time T (Mascolo et al. 2001, section 3;
    /// Westwood+ of `tcp_westwood.c` in Linux):
    ///
    /// ```text
    /// b = 7/8*b + 1/8*d/T,   rate = 7/8*rate + 1/8*b,   both d/T the first time
    /// ```
    ///
    /// The window grows as Reno's. At a loss or mark `ssthresh = max(rate*rtt_min, 2)`, no more than the window, and
    /// `cwnd = ssthresh`; at a timeout `cwnd = 1`. rtt_min is the minimum round-trip time since the last timeout.
    ///
    /// ## What to expect
    /// At a buffer of a bandwidth-delay product it acts as Reno: it keeps half of the window. At a short buffer, or if
    /// losses are random, it keeps more and the link stays busy.
    ///
    /// ## Readings
    /// Arrived segments are counted from acknowledgements and SACKs (`RateSample`), each segment once. Until the first
    /// estimate half is kept. The filter of the paper, which follows the spacing of the ACKs, belongs to Westwood, not
    /// to Westwood+.
    ///
    /// ## Linux
    /// `flavour = "linux"`, which the profile `linux` sets, halves the window while recovery lasts, as Reno does, and sets
    /// window and threshold to rate*rtt_min when it ends: that may be more than the window was at the loss, and then comes as one
    /// burst. It counts bytes of acknowledgements: one segment for a duplicate ACK, which a later ACK takes off again only if its
    /// header is not predicted: if it carries blocks of SACK, or offers another window than the ACK before. The ACK that ends a
    /// recovery does the latter where what it fills up to takes enough of the receiver's memory. Else it counts what its duplicate
    /// ACKs have counted once more, and the rate after losses is too high. Rates are whole bytes in a tick of 1 ms, round-trip
    /// times whole ticks, rounded up.
    ///
    /// ## Departures
    /// Linux sets the window to rate*rtt_min also at the end of a recovery that is undone; here the window is restored.
    pub struct WestwoodParams {
        /// Minimum time over which a rate is measured.
        min_interval: Span = "50 ms" in "1 us" ..= "10 s", from "Linux, tcp_westwood.c (TCP_WESTWOOD_RTT_MIN)";
        /// The implementation whose details apply.
        flavour: WestwoodFlavour = "paper", from "Grieco & Mascolo 2004";
        /// The slow start ([Slow starts](../tcp.md#slow-starts)); all but `classic` go with variant `rack`.
        slow_start: SlowStartChoice = "classic", from "Mascolo et al. 2001, section 3: as Reno";
    }
}

/// Westwood+'s measurements. See [`WestwoodParams`].
#[derive(Clone, Debug)]
pub struct Westwood {
    params: WestwoodParams,
    /// The rate after one filter and after both, segments per second.
    rates: Option<(f64, f64)>,
    /// Segments that have arrived since `since`.
    arrived: u32,
    since: Option<Time>,
    rtt: Span,
    rtt_min: Option<Span>,
    /// Of the flavour linux: what takes the place of all these.
    linux: Option<Box<BandwidthEstimate>>,
    slow_start: SlowStart,
}

impl CongestionControlLaw for Westwood {
    const INFO: LawInfo = LawInfo {
        name: "westwood",
        title: "Westwood+",
        year: 2001,
        source: "Mascolo et al., MobiCom 2001; Grieco & Mascolo, Computer Communication Review 34(2), 2004",
    };
    const NEEDS: Needs = Needs { rate_samples: true, ..Needs::NONE };
    type Params = WestwoodParams;

    fn new(params: WestwoodParams) -> Self {
        let slow_start = SlowStart::new(params.slow_start);
        let linux = (params.flavour == WestwoodFlavour::Linux).then(|| Box::new(BandwidthEstimate::new(Time::ZERO)));
        Self { params, rates: None, arrived: 0, since: None, rtt: Span::ZERO, rtt_min: None, linux, slow_start }
    }
}

impl CongestionControl for Westwood {
    as_slow_start!(on_ack, on_lost);

    fn on_established(&mut self, _: &Window, _: Span, now: Time) {
        if let Some(linux) = &mut self.linux {
            **linux = BandwidthEstimate::new(now);
        }
    }

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        self.slow_start.on_feedback(window, ack);
        if let Some(linux) = &mut self.linux {
            let rtt = ack.rtt.or_else(|| ack.sample?.rtt);
            return linux.on_ack(ack.hole, ack.is_predicted, rtt, self.params.min_interval, ack.now);
        }
        let Some(sample) = ack.sample else { return };
        let since = *self.since.get_or_insert(ack.now);
        let time = ack.now.since(since);
        if time > self.rtt.max(self.params.min_interval) {
            self.filter(f64::from(self.arrived) / time.seconds());
            (self.arrived, self.since) = (0, Some(ack.now));
        }
        self.arrived += sample.newly_delivered;
        if let Some(rtt) = sample.rtt {
            self.rtt = rtt;
            self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
        }
    }

    fn threshold(&self, event: CongestionEvent, window: &Window) -> Option<f64> {
        let of_slow_start = self.slow_start.threshold(event, self.kept(event), window);
        of_slow_start.or_else(|| match &self.linux {
            Some(linux) => (event == CongestionEvent::Timeout).then(|| linux.window()),
            None => {
                let ((_, rate), rtt_min) = (self.rates?, self.rtt_min?);
                Some((rate * rtt_min.seconds()).min(window.cwnd))
            }
        })
    }

    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        self.slow_start.on_congestion(event, self.kept(event), window);
        if let (Some(linux), CongestionEvent::Timeout) = (&mut self.linux, event) {
            linux.forget_min();
        }
    }

    fn on_recovered(&mut self, window: &mut Window) {
        if let Some(linux) = &self.linux {
            window.ssthresh = linux.window();
        }
        window.cwnd = window.ssthresh;
        self.slow_start.on_recovered();
    }

    fn on_timeout(&mut self) {
        self.rtt_min = None;
        self.slow_start.on_timeout();
    }
}

impl Westwood {
    fn filter(&mut self, sample: f64) {
        let (once, twice) = self.rates.unwrap_or((sample, sample));
        let once = (7.0 * once + sample) / 8.0;
        self.rates = Some((once, (7.0 * twice + once) / 8.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::RateSample;
    use aqmlab_core::ParamSet;

    /// ACKs of two segments every 10 ms up to `until` ms: 200 segments a second, over this round-trip time.
    fn fed(rtt: u64, until: u64) -> Westwood {
        let mut westwood = Westwood::new(WestwoodParams::defaults());
        (0..=until / 10).for_each(|i| feed(&mut westwood, 10 * i, 2, rtt));
        westwood
    }

    fn feed(westwood: &mut Westwood, ms: u64, newly_delivered: u32, rtt: u64) {
        let sample = RateSample { newly_delivered, rtt: Some(Span::from_millis(rtt)), ..RateSample::default() };
        let now = Time::ZERO + Span::from_millis(ms);
        let ack = Facts { sample: Some(sample), now, ..Facts::default() };
        westwood.on_feedback(&mut Window { cwnd: 50.0, ssthresh: 50.0 }, &ack);
    }

    fn close(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-9), "{value:?} is not {expected}");
    }

    fn threshold(westwood: &Westwood, cwnd: f64) -> Option<f64> {
        westwood.threshold(CongestionEvent::Loss, &Window { cwnd, ssthresh: 100.0 })
    }

    #[test]
    fn what_arrived_in_the_least_round_trip_is_kept() {
        assert_eq!(threshold(&fed(100, 100), 50.0), None, "no interval is over");
        // The interval ends at 110 ms, with the 22 segments of 0 to 100 ms.
        close(threshold(&fed(100, 110), 50.0), 20.0);
        close(threshold(&fed(100, 110), 15.0), 15.0);
    }

    #[test]
    fn an_interval_is_50_ms_at_the_least() {
        assert_eq!(threshold(&fed(20, 50), 50.0), None);
        close(threshold(&fed(20, 60), 50.0), 4.0);
    }

    #[test]
    fn rates_pass_two_filters() {
        let mut westwood = fed(100, 110);
        // The next interval has 2 + 10 segments in 120 ms: 100 a second.
        feed(&mut westwood, 120, 10, 100);
        feed(&mut westwood, 230, 0, 100);
        let once = (7.0 * 200.0 + 100.0) / 8.0;
        close(threshold(&westwood, 50.0), 0.1 * (7.0 * 200.0 + once) / 8.0);
    }

    #[test]
    fn the_least_round_trip_is_forgotten_at_a_timeout() {
        let mut westwood = fed(100, 110);
        westwood.on_timeout();
        assert_eq!(threshold(&westwood, 50.0), None);
        feed(&mut westwood, 120, 2, 150);
        close(threshold(&westwood, 50.0), 30.0);
    }

    /// Of the flavour linux, which has seen two segments in 10 ms over 40 ms up to 60 ms: 193 bytes a tick, 5 segments.
    fn linux() -> Westwood {
        let mut westwood =
            Westwood::new(WestwoodParams { flavour: WestwoodFlavour::Linux, ..WestwoodParams::defaults() });
        let mut window = Window { cwnd: 50.0, ssthresh: 50.0 };
        westwood.on_established(&window, Span::from_millis(40), Time::ZERO);
        for i in 1..=6u32 {
            let now = Time::ZERO + Span::from_millis(10 * u64::from(i));
            let rtt = Some(Span::from_millis(40));
            westwood.on_feedback(&mut window, &Facts { hole: 2 * i, is_predicted: true, rtt, now, ..Facts::default() });
        }
        westwood
    }

    #[test]
    fn linux_halves_and_sets_the_window_when_recovery_ends() {
        let mut westwood = linux();
        let mut window = Window { cwnd: 3.0, ssthresh: 3.0 };
        assert_eq!(westwood.threshold(CongestionEvent::Loss, &window), None, "half");
        westwood.on_recovered(&mut window);
        assert_eq!((window.cwnd, window.ssthresh), (5.0, 5.0), "193*40/1448 = 5.3, more than it was");
        assert_eq!(westwood.threshold(CongestionEvent::Timeout, &window), Some(5.0));
    }
}
