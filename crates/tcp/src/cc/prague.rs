use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, Window};
use crate::ecn::EcnFeedback;
use aqmlab_core::{Packets, Span, Time, params};

params! {
    /// Prague: scalable, paced congestion control for the Internet that responds to the fraction of marked segments
    /// (L4S).
    ///
    /// ## Idea
    /// DCTCP keeps queues short if every sender uses DCTCP. Prague brings it to the Internet (RFC 9331, section 4.3).
    /// Its packets request early marks. It responds to a loss as other controllers do, and sends no bursts. Flows with
    /// a short round trip take no more than flows of 25 ms.
    ///
    /// ## Equations
    /// srtt is the smoothed round-trip time, rtt_v = max(srtt, rtt_virt) the virtual one. Sections are from
    /// draft-briscoe-iccrg-prague-congestion-control-04:
    ///
    /// ```text
    /// alpha = alpha + g*(F - alpha), g = 1/16   after a window of data and an rtt_v; F: its share of marks;
    ///                                           1 when the first mark comes                             (2.3.2)
    /// cwnd = cwnd*(1 - alpha/2)                 at a mark; then at none for a window of data and an rtt_v (2.4.2)
    /// cwnd += unmarked*(srtt/rtt_v)^2/cwnd      at an ACK, marks or not; 1 for each in slow start    (2.4.3, 2.4.4)
    /// cwnd = beta*cwnd                          at a loss                                                (2.4.1)
    /// pace = cwnd/srtt                          twice that while cwnd < ssthresh/2                       (2.5.1)
    /// ```
    ///
    /// Slow start ends at the first mark or loss. For the first `transition` round trips after it, rtt_v is srtt (2.4.4).
    ///
    /// ## What to expect
    /// If each segment is marked independently with probability p, a reduction comes every cwnd*rtt_v/srtt + 1/p
    /// segments. As much is gained in between:
    ///
    /// ```text
    /// rate = x/(p*rtt_v),   x^2/2 = (1 - p)*(x + 1):   x = 1 + sqrt(3) at small p
    /// ```
    ///
    /// Marks at equal distances give x between 2 and sqrt(6). RFC 9332 assumes 2; competing with CUBIC over DualPI2 it
    /// is 2.6.
    ///
    /// The table shows the rate of one flow divided by the rate of one CUBIC flow without ECN, over DualPI2 from the
    /// second minute on. A constant p' would mark with 2*p' and drop with p'^2. CUBIC, as Reno, then sends sqrt(1.5/p)
    /// segments in its round trip, which is 15 ms longer:
    ///
    /// | link | RTT | ratio | by the measured marks and drops | by one p' | delay in the L queue, 99 % |
    /// | --- | --- | --- | --- | --- | --- |
    /// | 50 Mbit/s | 5 ms | 0.8 | 0.9 | 0.9 | 0.3 ms |
    /// | 50 Mbit/s | 10 ms | 1.1 | 1.2 | 1.1 | 0.3 ms |
    /// | 50 Mbit/s | 20 ms | 1.8 | 1.7 | 1.5 | 0.4 ms |
    /// | 50 Mbit/s | 40 ms | 1.9 | 1.8 | 1.5 | 0.4 ms |
    /// | 200 Mbit/s | 20 ms | 1.7 | 1.8 | 1.5 | 0.1 ms |
    /// | 200 Mbit/s | 40 ms | 1.8 | 2.0 | 1.5 | 0.1 ms |
    ///
    /// The ratio exceeds 1.5 from 20 ms on because p' wanders with the one window of CUBIC: marks follow its mean,
    /// drops the mean of its square. There are 1.6 to 1.7 marks for a segment and root of the share of drops, not 2.
    /// What p' was predicts the ratio, and a real kernel has the same: [L4S](../l4s.md#how-they-share-50-mbits). For
    /// four flows of each on 200 Mbit/s the ratio is 1.5 at 20 ms. It is 1.6 at 40 ms. For 16 on 800 Mbit/s it is 1.5
    /// and 1.4.
    ///
    /// Alone over DualPI2 two flows with different round trips share unequally: a step marks both at once, and the
    /// window of the longer one grows no faster. A flow of 25 ms gets this multiple of the rate of a flow of 100 ms
    /// (one run per rate, 200 s after 200 s of warm-up):
    ///
    /// | link, Mbit/s | 10 | 20 | 50 | 100 | 200 |
    /// | --- | --- | --- | --- | --- | --- |
    /// | ratio of the rates | 12 | 19 | 10 | 9 | 8 |
    ///
    /// ## Below one segment
    /// The sender keeps to the next whole number of segments in flight, and the pace to the window itself: at cwnd =
    /// 0.1 a segment leaves every ten round trips. There the window grows by no more than a segment for each that
    /// arrives unmarked, so marks stay below 100 % for any number of flows: cwnd = 2*(1 - p)/p^2. A hundred flows on 2
    /// Mbit/s over 10 ms, where 1.7 packets are under way, lose one packet in several hundred. The draft leaves windows
    /// below two segments to the future (3), and Linux sends at least two. If `min_window=2 packets`, as in Linux,
    /// those hundred lose half of their packets.
    ///
    /// ## Readings
    /// All packets carry ECT(1), including retransmissions, and ECN is on unless the scenario says `ecn = false`. The
    /// receiver counts marks on every ACK (RFC 9768). A window that the application leaves unused does not grow. A mark
    /// during loss recovery reduces nothing more. Linux moves its window by one segment an ACK towards the fraction
    /// that it computes; here it is that fraction.
    ///
    /// ## Departures
    /// Not done: telling a Classic ECN queue by its delay (off in Linux too), loss detection in time units under variants
    /// other than `rack` (2.3.3), the SYN with ECT(1). Additive increase during loss recovery waits, as in Linux. Every packet is
    /// paced; with `bursts = "gso"`, bursts of 250 us (2.5.2).
    pub struct PragueParams {
        /// Minimum virtual round-trip time.
        rtt_virt: Span = "25 ms" in "1 us" ..= "10 s", from "draft, section 2.4.4";
        /// Round trips after slow start until the virtual round-trip time counts.
        transition: u32 = "500" in "0" ..= "1000000", from "draft, section 2.4.4; Linux";
        /// Share of the window that a loss leaves.
        beta: f64 = "0.5" in "0.1" ..= "0.95", from "draft, section 2.4.1: as Reno; CUBIC 0.7";
        /// Minimum window.
        min_window: Packets = "0.01 packets" in "0.001 packets" ..= "2 packets", from "chosen; Linux: 2";
    }
}

/// The longest burst, s (section 2.5.2).
const BURST: f64 = 250e-6;
/// g: weight of the last window of data.
const GAIN: f64 = 1.0 / 16.0;

/// Prague's state. See [`PragueParams`].
#[derive(Clone, Debug)]
pub struct Prague {
    params: PragueParams,
    /// The window after the last ACK, segments; it may be below 1.
    cwnd: f64,
    /// `None` before the first mark.
    alpha: Option<f64>,
    acked: u32,
    marked: u32,
    /// The window of data that alpha learns from next.
    window: Period,
    /// Until it is over, no mark reduces the window.
    cwr: Option<Period>,
    /// Round trips since slow start ended.
    rounds: u32,
    in_recovery: bool,
    srtt: Span,
    /// Slow start has less than half of its way behind it.
    is_starting: bool,
}

/// A window of data and a time.
#[derive(Clone, Copy, Debug)]
struct Period {
    /// One past its last segment.
    end: u32,
    until: Time,
}

impl Period {
    fn is_over(&self, ack: &Facts) -> bool {
        ack.hole > self.end && ack.now >= self.until
    }
}

impl CongestionControlLaw for Prague {
    const INFO: LawInfo = LawInfo {
        name: "prague",
        title: "Prague",
        year: 2021,
        source: "De Schepper, Tilmans, Briscoe & Goel, draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331",
    };
    const NEEDS: Needs = Needs {
        feedback: EcnFeedback::Counter,
        every_ack: true,
        pacing: true,
        answers_marks: true,
        l4s: true,
        ..Needs::NONE
    };
    const SETTINGS: &'static [(&'static str, &'static str)] = &[("ect_on_retransmit", "true")];
    type Params = PragueParams;

    fn new(params: PragueParams) -> Self {
        Self {
            params,
            cwnd: 1.0,
            alpha: None,
            acked: 0,
            marked: 0,
            window: Period { end: 0, until: Time::ZERO },
            cwr: None,
            rounds: 0,
            in_recovery: false,
            srtt: Span::ZERO,
            is_starting: true,
        }
    }
}

impl CongestionControl for Prague {
    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        self.srtt = ack.srtt;
        self.note(window);
        self.acked += ack.acked;
        self.marked += ack.marked;
        if ack.marked > 0 {
            self.alpha.get_or_insert(1.0);
        }
        if self.window.is_over(ack) {
            self.end_window(window, ack);
        }
        if self.cwr.is_some_and(|cwr| cwr.is_over(ack)) {
            self.cwr = None;
        }
        if let Some(alpha) = self.alpha
            && ack.marked > 0
            && self.cwr.is_none()
            && !self.in_recovery
        {
            self.set(window, self.cwnd * (1.0 - alpha / 2.0));
            window.ssthresh = self.cwnd;
            self.cwr = Some(self.period(ack));
        }
    }

    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        self.note(window);
        if ack.is_app_limited && f64::from(ack.flight) + 1.0 <= self.cwnd {
            return;
        }
        let unmarked = f64::from(ack.acked.saturating_sub(ack.marked));
        // Slow start ends at ssthresh, within an ACK too; what is left of the ACK counts as congestion avoidance does.
        let slow = unmarked.min((window.ssthresh - self.cwnd).max(0.0));
        let cwnd = self.cwnd + slow;
        self.set(window, cwnd + (unmarked - slow) * self.increase() / cwnd.max(1.0));
    }

    fn kept(&self, event: CongestionEvent) -> f64 {
        if event == CongestionEvent::Loss { self.params.beta } else { 0.5 }
    }

    fn on_congestion(&mut self, event: CongestionEvent, _: &Window) {
        self.in_recovery = event == CongestionEvent::Loss;
    }

    fn on_recovered(&mut self, window: &mut Window) {
        window.cwnd = window.ssthresh;
        self.in_recovery = false;
        self.note(window);
    }

    fn on_timeout(&mut self) {
        self.in_recovery = false;
    }

    fn on_undo(&mut self) {
        self.in_recovery = false;
    }

    fn pacing_rate(&self) -> Option<f64> {
        let rate = if self.is_starting { 2.0 * self.cwnd } else { self.cwnd };
        (self.srtt > Span::ZERO).then(|| rate / self.srtt.seconds())
    }

    fn send_quantum(&self) -> u32 {
        self.pacing_rate().map_or(1, |rate| ((rate * BURST) as u32).max(1))
    }
}

impl Prague {
    /// Takes in the window that the sender has, if it is not the one that it got from here.
    fn note(&mut self, window: &Window) {
        if window.cwnd != self.cwnd.ceil() {
            self.cwnd = window.cwnd;
        }
        self.is_starting = self.cwnd < window.ssthresh / 2.0;
    }

    /// The sender gets a whole window; the pace makes up for what that is too much.
    fn set(&mut self, window: &mut Window, cwnd: f64) {
        self.cwnd = cwnd.max(self.params.min_window.0);
        window.cwnd = self.cwnd.ceil();
        self.is_starting = self.cwnd < window.ssthresh / 2.0;
    }

    /// rtt_v: the virtual round-trip time.
    fn rtt(&self) -> Span {
        if self.rounds < self.params.transition { self.srtt } else { self.srtt.max(self.params.rtt_virt) }
    }

    /// Segments that the window grows by in a round trip without marks.
    fn increase(&self) -> f64 {
        let ratio = self.srtt.seconds() / self.rtt().seconds();
        if self.srtt > Span::ZERO { ratio * ratio } else { 1.0 }
    }

    /// The window now sent, and the virtual round-trip time from now on.
    fn period(&self, ack: &Facts) -> Period {
        Period { end: ack.sent, until: ack.now + self.rtt() }
    }

    fn end_window(&mut self, window: &Window, ack: &Facts) {
        if let Some(alpha) = &mut self.alpha {
            let share = f64::from(self.marked) / f64::from(self.acked.max(1));
            *alpha += GAIN * (share.min(1.0) - *alpha);
        }
        self.rounds += u32::from(self.cwnd >= window.ssthresh);
        (self.acked, self.marked) = (0, 0);
        self.window = self.period(ack);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// An ACK at `ms` of one segment, over 10 ms, of all before `hole`; 100 more are outstanding.
    fn ack(ms: u64, hole: u32, marked: u32) -> Facts {
        let (now, srtt) = (Time::ZERO + Span::from_millis(ms), Span::from_millis(10));
        Facts { acked: 1, marked, flight: 100, hole, sent: hole + 100, srtt, now, ..Facts::default() }
    }

    /// In congestion avoidance, at a window of `cwnd` with this alpha; the window of data began with segment 0 at 0 ms.
    fn prague(transition: u32, alpha: f64, cwnd: f64) -> (Prague, Window) {
        let mut prague = Prague::new(PragueParams { transition, ..PragueParams::defaults() });
        (prague.alpha, prague.cwnd, prague.srtt) = (Some(alpha), cwnd, Span::from_millis(10));
        prague.window = Period { end: 100, until: Time::ZERO + prague.rtt() };
        (prague, Window { cwnd: cwnd.ceil(), ssthresh: 1.0 })
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    fn feed(prague: &mut Prague, window: &mut Window, ack: &Facts) -> f64 {
        prague.on_feedback(window, ack);
        prague.on_ack(window, ack);
        prague.cwnd
    }

    #[test]
    fn a_burst_takes_a_quarter_of_a_millisecond() {
        // 400 segments in 10 ms are 10 in 250 us.
        let (mut prague, _) = prague(0, 0.0, 400.0);
        prague.is_starting = false;
        assert_eq!(prague.send_quantum(), 10);
        prague.cwnd = 20.0;
        assert_eq!(prague.send_quantum(), 1);
    }

    #[test]
    fn the_first_mark_halves_and_ends_slow_start() {
        let mut prague = Prague::new(PragueParams::defaults());
        let mut window = Window { cwnd: 20.0, ssthresh: 1000.0 };
        close(feed(&mut prague, &mut window, &ack(5, 5, 0)), 21.0);
        close(prague.pacing_rate().unwrap(), 2.0 * 21.0 / 0.01);
        // The marked segment adds nothing.
        close(feed(&mut prague, &mut window, &ack(6, 6, 1)), 10.5);
        assert_eq!((window.cwnd, window.ssthresh), (11.0, 10.5), "the pace makes the difference");
        close(prague.pacing_rate().unwrap(), 1050.0);
    }

    #[test]
    fn slow_start_ends_at_the_threshold_within_an_ack() {
        let (mut prague, mut window) = prague(0, 0.5, 8.0);
        window.ssthresh = 10.0;
        // Of six segments two take it there; four add (10/25)^2 of a segment for a window of ten.
        let six = Facts { acked: 6, ..ack(5, 5, 0) };
        close(feed(&mut prague, &mut window, &six), 10.0 + 4.0 * 0.16 / 10.0);
    }

    #[test]
    fn a_mark_takes_half_of_alpha_once_in_a_virtual_round_trip() {
        let (mut prague, mut window) = prague(0, 0.2, 50.0);
        close(feed(&mut prague, &mut window, &ack(5, 50, 1)), 45.0);
        // The window of data ends with 150, the virtual round trip at 30 ms.
        close(feed(&mut prague, &mut window, &ack(6, 51, 1)), 45.0);
        close(feed(&mut prague, &mut window, &ack(29, 151, 1)), 45.0);
        let alpha = prague.alpha.unwrap();
        close(feed(&mut prague, &mut window, &ack(30, 152, 1)), 45.0 * (1.0 - alpha / 2.0));
    }

    #[test]
    fn alpha_learns_from_a_window_of_data_and_a_virtual_round_trip() {
        let (mut prague, mut window) = prague(0, 0.5, 50.0);
        for (ms, hole, marked) in [(10, 99, 0), (20, 101, 1), (24, 102, 0)] {
            feed(&mut prague, &mut window, &ack(ms, hole, marked));
            close(prague.alpha.unwrap(), 0.5);
        }
        // At 25 ms: one of four was marked.
        feed(&mut prague, &mut window, &ack(25, 103, 0));
        close(prague.alpha.unwrap(), 0.5 + (0.25 - 0.5) / 16.0);
        assert_eq!((prague.acked, prague.marked, prague.window.end), (0, 0, 203));
    }

    #[test]
    fn short_round_trips_grow_as_one_of_25_ms_in_rate() {
        // (10/25)^2 of a segment in a round trip, a fiftieth of it at an ACK; in the transition, all of it.
        for (transition, increase) in [(0, 0.16), (500, 1.0)] {
            let (mut prague, mut window) = prague(transition, 0.5, 50.0);
            close(feed(&mut prague, &mut window, &ack(5, 5, 0)), 50.0 + increase / 50.0);
            let longer = Facts { srtt: Span::from_millis(40), ..ack(6, 6, 0) };
            let before = prague.cwnd;
            close(feed(&mut prague, &mut window, &longer), before + 1.0 / before);
        }
    }

    #[test]
    fn the_transition_is_over_after_so_many_windows_of_data() {
        let (mut prague, mut window) = prague(2, 0.5, 50.0);
        for (ms, hole) in [(10, 101), (20, 202)] {
            assert_eq!(prague.rtt(), Span::from_millis(10));
            feed(&mut prague, &mut window, &ack(ms, hole, 0));
        }
        assert_eq!(prague.rtt(), Span::from_millis(25));
    }

    #[test]
    fn below_one_segment_the_window_is_a_pace() {
        let (mut prague, mut window) = prague(500, 0.8, 1.0);
        close(feed(&mut prague, &mut window, &ack(5, 5, 1)), 0.6);
        assert_eq!(window.cwnd, 1.0);
        close(prague.pacing_rate().unwrap(), 60.0);
        close(feed(&mut prague, &mut window, &ack(200, 106, 1)), 0.6 * (1.0 - prague.alpha.unwrap() / 2.0));
        // An unmarked segment adds one, no more.
        let before = prague.cwnd;
        close(feed(&mut prague, &mut window, &ack(300, 107, 0)), before + 1.0);
        (prague.cwnd, prague.cwr, window.cwnd) = (0.011, None, 1.0);
        close(feed(&mut prague, &mut window, &ack(900, 900, 1)), 0.01);
    }

    #[test]
    fn marks_in_recovery_reduce_nothing_and_a_loss_halves() {
        let (mut prague, mut window) = prague(0, 0.5, 50.0);
        assert_eq!([CongestionEvent::Loss, CongestionEvent::Timeout].map(|event| prague.kept(event)), [0.5, 0.5]);
        prague.on_congestion(CongestionEvent::Loss, &window);
        window.ssthresh = 25.0;
        prague.on_feedback(&mut window, &ack(5, 5, 1));
        assert_eq!(window.cwnd, 50.0);
        prague.on_recovered(&mut window);
        assert_eq!((window.cwnd, prague.cwnd), (25.0, 25.0));
        close(feed(&mut prague, &mut window, &ack(6, 6, 1)), 18.75);
    }

    #[test]
    fn marks_count_again_once_a_loss_turns_out_to_be_none() {
        let (mut prague, mut window) = prague(0, 0.5, 50.0);
        prague.on_congestion(CongestionEvent::Loss, &window);
        prague.on_undo();
        close(feed(&mut prague, &mut window, &ack(6, 6, 1)), 37.5);
    }

    #[test]
    fn an_unused_window_does_not_grow() {
        let (mut prague, mut window) = prague(0, 0.5, 50.0);
        let idle = Facts { is_app_limited: true, flight: 40, ..ack(5, 5, 0) };
        close(feed(&mut prague, &mut window, &idle), 50.0);
    }
}
