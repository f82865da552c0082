use super::cubic::{Cubic, CubicFlavour, CubicParams};
use super::ledbat_plus_plus::{LedbatPlusPlus, LedbatPlusPlusParams};
use super::reno::{RenoLaw, RenoParams};
use super::slow_start::SlowStartChoice;
use super::{
    CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, LostSegment, Needs, RateSample, Window,
};
use crate::arrival::SegmentArrival;
use aqmlab_core::{ParamSet, Span, Time, choice, params};

choice! {
    /// The law of a sender whose receiver limits it.
    pub enum RledbatSender {
        /// CUBIC as Linux has it.
        Cubic = "cubic",
        /// Reno.
        Reno = "reno",
    }
}

params! {
    /// rLEDBAT: the receiver keeps an ordinary sender in the background, by the window that it advertises.
    ///
    /// ## Idea
    /// A user who downloads an update wants it to yield, but the sender belongs to others and runs CUBIC. The receiver
    /// can do it alone: it measures round trips by the timestamps that come back to it, runs LEDBAT++ on them, and
    /// advertises the window that comes of it.
    ///
    /// ## Equations
    /// At every new segment. RLWND is the window of LEDBAT++, fcwnd the window of flow control, TCP's constant
    /// `window`:
    ///
    /// ```text
    /// advertised = min(fcwnd, RLWND),  but next + advertised never falls
    /// RTT = arrival of the first segment that echoes a timestamp - sending of the ACK with it
    /// RLWND moves as LEDBAT++'s window does, by these round-trip times
    /// a segment below the highest received and sent later: a retransmission, which counts as a loss, once per round trip
    /// ```
    ///
    /// The advertised window shrinks by the data that arrive, and no faster, so all data in flight are still accepted.
    /// A loss halves RLWND.
    ///
    /// ## What to expect
    /// It behaves as [LEDBAT++](ledbat-plus-plus.md), whatever the sender is, as long as RLWND is the smaller of the
    /// two windows. Goodput in Mbit/s on 10 Mbit/s over 40 ms in profile `linux` with a CUBIC sender (100 s, without
    /// the first 20 s). A Reno sender gives the same in the deep buffer, and the same within 0.8 in the other:
    ///
    /// | flows | buffer 200 packets | buffer 40 packets |
    /// | --- | --- | --- |
    /// | alone | 9.1 | 8.9 |
    /// | with CUBIC | 0.1 and 9.5 | 2.1 and 7.5 |
    /// | with CUBIC, which starts 10 s later | 0.1 and 9.5 | 2.6 and 7.0 |
    /// | two, the second 10 s later | 4.3 and 5.2 | 5.5 and 3.9 |
    /// | and LEDBAT++ in the sender, 10 s later | 5.2 and 4.4 | |
    ///
    /// If the AQM keeps the queue below the target, it yields no more than a slow Reno: competing with CUBIC, it gets
    /// 3.9 with FQ-CoDel and 3.3 with PIE.
    ///
    /// ## Readings
    /// Details follow the authors' prototype (net-research/rledbat_module, of draft-irtf-iccrg-rledbat-02): it was read
    /// line by line, the RFC was not. RLWND begins at two segments, LEDBAT++'s first window, and grows whether or not
    /// the sender uses it. A window has whole segments. The timestamp clock ticks every microsecond, as Linux allows
    /// since 6.7. Marks (CE) are the sender's to answer.
    ///
    /// ## Departures
    /// A retransmitted segment gives no sample of the round trip. An ACK names two SACK blocks, not three: a window and
    /// a timestamp take the room of one here. Round trips above 8.3 s are not distinguished from shorter ones. One-way
    /// delays in their place are not here.
    pub struct RledbatParams {
        /// Target queueing delay of the receiver.
        target: Span = "60 ms" in "100 us" ..= "10 s", from "draft-irtf-iccrg-ledbat-plus-plus-01, section 4.5";
        /// The sender's congestion controller.
        sender: RledbatSender = "cubic", from "RFC 9840";
    }
}

/// The sender that an rLEDBAT receiver limits: an ordinary one. See [`RledbatParams`].
#[derive(Clone, Debug)]
pub struct Rledbat {
    sender: Box<dyn CongestionControl>,
}

impl CongestionControlLaw for Rledbat {
    const INFO: LawInfo = LawInfo { name: "rledbat", title: "rLEDBAT", year: 2025, source: "RFC 9840" };
    const NEEDS: Needs = Needs { receiver_target: Some(Span::from_millis(60)), ..Needs::NONE };
    type Params = RledbatParams;

    fn new(params: RledbatParams) -> Self {
        let sender: Box<dyn CongestionControl> = match params.sender {
            RledbatSender::Cubic => Box::new(Cubic::new(linux_cubic())),
            RledbatSender::Reno => Box::new(RenoLaw::new(RenoParams::defaults())),
        };
        Self { sender }
    }

    fn needs(params: &RledbatParams) -> Needs {
        let needs = match params.sender {
            RledbatSender::Cubic => Cubic::needs(&linux_cubic()),
            RledbatSender::Reno => RenoLaw::needs(&RenoParams::defaults()),
        };
        Needs { receiver_target: Some(params.target), ..needs }
    }
}

fn linux_cubic() -> CubicParams {
    let (flavour, slow_start) = (CubicFlavour::Linux, SlowStartChoice::HyStart);
    CubicParams { flavour, slow_start, ..CubicParams::defaults() }
}

/// The sender knows nothing of it.
impl CongestionControl for Rledbat {
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        self.sender.on_ack(window, ack);
    }

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        self.sender.on_feedback(window, ack);
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        self.sender.on_lost(lost);
    }

    fn kept(&self, event: CongestionEvent) -> f64 {
        self.sender.kept(event)
    }

    fn threshold(&self, event: CongestionEvent, window: &Window) -> Option<f64> {
        self.sender.threshold(event, window)
    }

    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        self.sender.on_congestion(event, window);
    }

    fn on_recovered(&mut self, window: &mut Window) {
        self.sender.on_recovered(window);
    }

    fn on_timeout(&mut self) {
        self.sender.on_timeout();
    }

    fn on_resume(&mut self, window: &mut Window, now: Time) {
        self.sender.on_resume(window, now);
    }
}

/// The window of a receiver that drives its sender.
#[derive(Clone, Debug)]
pub(crate) struct DrivenWindow {
    target: Span,
    law: LedbatPlusPlus,
    /// RLWND, and the threshold of its slow starts.
    window: Window,
    /// One past the last segment that an ACK has made room for.
    edge: u32,
    srtt: Span,
    /// The last timestamp that a round trip was measured with: when the ACK with it was sent.
    echo: Time,
    /// The highest segment received, and its timestamp.
    highest: (u32, Time),
    /// Losses before this time are of a window of data that has been answered.
    answered: Time,
}

/// Share of a new sample in the smoothed round-trip time (RFC 6298).
const SMOOTHING: u64 = 8;
/// The window at first: LEDBAT++'s.
const FIRST_WINDOW: Window = Window { cwnd: 2.0, ssthresh: f64::INFINITY };

impl DrivenWindow {
    /// Before the first segment.
    pub fn new(target: Span) -> Self {
        Self {
            target,
            law: LedbatPlusPlus::new(LedbatPlusPlusParams { target }),
            window: FIRST_WINDOW,
            edge: 0,
            srtt: Span::ZERO,
            echo: Time::ZERO,
            highest: (0, Time::ZERO),
            answered: Time::ZERO,
        }
    }

    /// Before the first segment of another transfer.
    pub fn restarted(&self) -> Self {
        Self::new(self.target)
    }

    /// A segment arrives; `is_new`: for the first time. `most`: fcwnd.
    #[inline(never)] // the way of other receivers stays short
    pub fn on_segment(&mut self, segment: &SegmentArrival, is_new: bool, most: f64, now: Time) {
        let (highest, stamp) = self.highest;
        let is_resent = segment.seq < highest && segment.sent_at > stamp;
        if is_resent && now >= self.answered {
            self.on_loss(now);
        }
        if segment.seq >= highest {
            self.highest = (segment.seq, segment.sent_at);
        }
        if let Some(echo) = segment.echo
            && echo > self.echo
        {
            self.echo = echo;
            self.on_rtt(now.since(echo), now);
        }
        if is_new {
            // The flight is unknown: the window grows in any case.
            let facts = Facts { acked: 1, flight: u32::MAX, srtt: self.srtt, now, ..Facts::default() };
            self.law.on_ack(&mut self.window, &facts);
            self.window.cwnd = self.window.cwnd.min(most);
        }
    }

    fn on_rtt(&mut self, rtt: Span, now: Time) {
        let is_first = self.srtt == Span::ZERO;
        self.srtt = if is_first { rtt } else { Span((self.srtt.0 * (SMOOTHING - 1) + rtt.0) / SMOOTHING) };
        let sample = Some(RateSample { rtt: Some(rtt), ..RateSample::default() });
        self.law.on_feedback(&mut self.window, &Facts { sample, now, ..Facts::default() });
    }

    fn on_loss(&mut self, now: Time) {
        self.answered = now + self.srtt;
        let window = self.window;
        let left = self.law.threshold(CongestionEvent::Loss, &window);
        self.window.ssthresh = left.unwrap_or(window.cwnd / 2.0).max(FIRST_WINDOW.cwnd);
        self.law.on_congestion(CongestionEvent::Loss, &window);
        self.window.cwnd = window.cwnd.min(self.window.ssthresh);
    }

    /// An ACK of all before `next` is sent: the first segment that there is no room for.
    pub fn advertise(&mut self, next: u32) -> u32 {
        self.edge = self.edge.max(next.saturating_add(self.window.cwnd as u32));
        self.edge
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: f64 = 1000.0;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    /// A receiver at this window in congestion avoidance; 100 ms, and no more, has been its round trip.
    fn at(cwnd: f64) -> DrivenWindow {
        let mut rledbat = DrivenWindow::new(Span::from_millis(60));
        rledbat.on_segment(&segment(0, 100, Some(0)), true, MOST, ms(100));
        rledbat.window = Window { cwnd, ssthresh: 2.0 };
        rledbat
    }

    /// A segment sent at so many ms, which echoes the ACK of another time.
    fn segment(seq: u32, sent: u64, echo: Option<u64>) -> SegmentArrival {
        // A time of 0 is none.
        let echo = echo.map(|echo| ms(echo) + Span::from_micros(1));
        SegmentArrival { seq, sent_at: ms(sent), echo, ..SegmentArrival::default() }
    }

    #[test]
    fn what_is_advertised_shrinks_by_what_arrives() {
        let mut rledbat = at(10.0);
        assert_eq!(rledbat.advertise(0), 10);
        rledbat.window.cwnd = 7.9;
        // The ACKs of segments 0, 1 and 2 leave the edge where it is: then there are 7.
        assert_eq!([0, 1, 2, 3, 4].map(|next| rledbat.advertise(next)), [10, 10, 10, 10, 11]);
        assert_eq!(rledbat.advertise(4), 11, "a segment out of order");
        rledbat.window.cwnd = 9.0;
        assert_eq!(rledbat.advertise(9), 18);
    }

    #[test]
    fn the_first_segment_with_an_echo_measures_a_round_trip() {
        let mut rledbat = at(10.0);
        assert_eq!(rledbat.srtt, Span::from_micros(99_999));
        rledbat.on_segment(&segment(1, 200, Some(180)), true, MOST, ms(300));
        let expected = (7.0 * 99.999 + 119.999) / 8.0;
        assert!((rledbat.srtt.seconds() * 1000.0 - expected).abs() < 1e-6);
        // The second has waited in the sender; an older one has been overtaken.
        for (seq, echo) in [(2, 180), (3, 170)] {
            rledbat.on_segment(&segment(seq, 280, Some(echo)), true, MOST, ms(380));
        }
        rledbat.on_segment(&segment(4, 290, None), true, MOST, ms(390));
        assert!((rledbat.srtt.seconds() * 1000.0 - expected).abs() < 1e-6);
    }

    #[test]
    fn the_window_is_ledbats() {
        // The base is 100 ms, the gain 1/ceil(120/100) = 1/2; four round trips of 166 ms are a tenth above the target.
        let mut rledbat = at(10.0);
        rledbat.on_segment(&segment(1, 200, None), true, MOST, ms(300));
        assert!((rledbat.window.cwnd - (10.0 + 0.5 / 10.0)).abs() < 1e-9);
        for (seq, echo) in [(2, 301), (3, 302), (4, 303)] {
            rledbat.on_segment(&segment(seq, 400, Some(echo)), false, MOST, ms(echo + 166));
        }
        rledbat.window.cwnd = 10.0;
        rledbat.on_segment(&segment(5, 400, Some(304)), true, MOST, ms(304 + 166));
        let excess = 66.0 / 60.0 - 1.0;
        assert!((rledbat.window.cwnd - (10.0 + (0.5 - 10.0 * excess) / 10.0)).abs() < 1e-4, "{}", rledbat.window.cwnd);
    }

    #[test]
    fn the_window_is_within_that_of_flow_control() {
        let mut rledbat = at(10.0);
        rledbat.on_segment(&segment(1, 200, None), true, 8.0, ms(300));
        assert_eq!((rledbat.window.cwnd, rledbat.advertise(2)), (8.0, 10));
    }

    #[test]
    fn a_segment_sent_again_is_a_loss_once_in_a_round_trip() {
        let mut rledbat = at(40.0);
        let cwnd = |rledbat: &DrivenWindow| rledbat.window.cwnd.round();
        rledbat.on_segment(&segment(9, 200, None), false, MOST, ms(300));
        rledbat.on_segment(&segment(8, 199, None), false, MOST, ms(301));
        assert_eq!(cwnd(&rledbat), 40.0, "overtaken on the way");
        rledbat.on_segment(&segment(7, 250, None), false, MOST, ms(350));
        assert_eq!(cwnd(&rledbat), 20.0);
        rledbat.on_segment(&segment(6, 251, None), false, MOST, ms(449));
        assert_eq!(cwnd(&rledbat), 20.0, "of the same window");
        rledbat.on_segment(&segment(5, 300, None), false, MOST, ms(450));
        assert_eq!(cwnd(&rledbat), 10.0);
        let mut least = at(2.0);
        least.on_segment(&segment(9, 200, None), false, MOST, ms(300));
        least.on_segment(&segment(7, 250, None), false, MOST, ms(350));
        assert_eq!((cwnd(&least), least.advertise(0)), (2.0, 2));
    }

    #[test]
    fn another_transfer_begins_anew() {
        let mut rledbat = at(40.0);
        rledbat.advertise(5);
        rledbat = rledbat.restarted();
        assert_eq!((rledbat.advertise(1), rledbat.srtt), (3, Span::ZERO));
    }

    #[test]
    fn the_sender_is_an_ordinary_one() {
        for (sender, kept) in [(RledbatSender::Cubic, 717.0 / 1024.0), (RledbatSender::Reno, 0.5)] {
            let params = RledbatParams { sender, target: Span::from_millis(20) };
            assert_eq!(Rledbat::needs(&params).receiver_target, Some(Span::from_millis(20)));
            assert_eq!(Rledbat::new(params).kept(CongestionEvent::Loss), kept);
        }
    }
}
