use super::{CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, RateSample, Window};
use aqmlab_core::{Span, params};

params! {
    /// C4: holds a rate that the path has delivered, for media: pushes it now and then, and backs off from delay.
    ///
    /// ## Idea
    /// A call wants short queues, does not use its rate most of the time, and goes over Wi-Fi, whose delays jump. Two
    /// numbers are enough for it: the maximum rate that the path has delivered, and the longest round trip without a
    /// self-made queue. The rate follows the delivery rate upwards, and falls at signs of congestion, to which fast
    /// flows are more sensitive than slow ones.
    ///
    /// ## Equations
    /// An era lasts until the first segment that was sent in it is acknowledged. Sections are from
    /// draft-huitema-ccwg-c4-spec-00:
    ///
    /// ```text
    /// pace = alpha*nominal_rate;   cwnd = max(pace*nominal_max_rtt, 2 segments)                        (4.1)
    /// nominal_rate = max(nominal_rate, rate delivered), but in a recovery with a sign of congestion    (3.1)
    /// at the end of an era, if alpha of the era before was 1 or less:                                  (3.2)
    ///   era_max = min(era_max, running_min + 250 ms)
    ///   running_min = era_min       if that is less, else (7*running_min + era_min)/8
    ///   nominal_max_rtt = era_max   if that is more, else (7*nominal_max_rtt + era_max)/8
    /// ```
    ///
    /// | state | alpha | until |
    /// | --- | --- | --- |
    /// | initial | 2 | three eras without growth, or congestion (4.2) |
    /// | recovery | 15/16 | the end of the era; then initial after three pushes that succeeded, else cruising (4.3) |
    /// | cruising | 1 | four eras, and the application uses the rate (4.4) |
    /// | pushing | 5/4 if the push before succeeded, else 17/16 | the end of the era (4.5) |
    ///
    /// The sensitivity s is 0 up to 50 kB/s and 0.92 at 1 MB/s. From 10 MB/s on it is 1. It is linear in between (5.1).
    /// Congestion in cruising or pushing leaves 1 - beta of nominal_rate, and begins a recovery (5.5):
    ///
    /// ```text
    /// threshold = min(25 ms, (1/16 + (1 - s)*3/16)*nominal_max_rtt)                                    (5.2)
    /// RTT > nominal_max_rtt + threshold:       beta = min(1/4, (RTT - nominal_max_rtt - threshold)/threshold)
    /// smoothed loss > 0.02 + (1 - s)/2:        beta = 1/4, of nominal_max_rtt, too                     (5.3)
    /// ```
    ///
    /// ## What to expect
    /// A flow alone uses a link and leaves a queue of only 0.5 ms on average on 10 Mbit/s and 40 ms, at 95 % of the
    /// rate. Several C4 flows on a slow link fill any buffer: the part of the queue that another flow keeps is a part
    /// of the longest round trip, pushes of one take from the others, and a flow of 2.5 Mbit/s bears losses of 39 %. On
    /// 10 Mbit/s with a buffer of 200 packets two flows lose 2.9 %, four 8.7 %. On 100 Mbit/s and a buffer of one
    /// product four lose 0.4 %. Competing with CUBIC, C4 gets two thirds. Later code of the authors (2026) lowers the
    /// rate where that happens.
    ///
    /// These downloads of draft-huitema-ccwg-c4-test (five seeds) finish in their time: a flow alone on 20 and on 200
    /// Mbit/s; a rate that drops and recovers; and two flows at once, short and long. A second flow 0.5 or 1 s later
    /// and long competition with CUBIC also finish in their time. The others transfer less in that time. "Low and up"
    /// transfers 6.5 of 7 MB (6.8 with `cascade`). A flow that begins 0.5 s after another transfers 1.3 to 3.4 of 5 MB.
    /// Competing with CUBIC for a short time, four of five seeds finish. Against BBRv3, a flow transfers 3.8 to 5.2 MB
    /// in the time for 5 MB. In the time for 20 MB it transfers 17 to 25 MB. Against BBR it transfers half of the data.
    /// The satellite test requires careful resume.
    ///
    /// ## Readings
    /// Growth is a quarter of the growth by alpha (4.3), also in the initial state, for which the draft allows any
    /// growth. The authors' code (private-octopus/c4 of October 2025) does the same. Taken from this code: the window
    /// of the initial state is ten segments at least, a loss takes from nominal_max_rtt, which the draft leaves to
    /// "some condition", and the smoothed loss begins at 0 after a recovery. An eighth is added for a lost segment and
    /// subtracted for a segment that arrives, in the order in which an ACK reports them. Losses that the retransmission
    /// timer finds mean nothing (5.3.1).
    ///
    /// ## Departures
    /// The rate follows the [delivery-rate draft](bbr.md): it is measured from the delivery before the sending, not
    /// from the sending, and is no greater. Sensitivity takes a segment for 1,448 B, whatever it is. Marks are ignored:
    /// 5.4 is to be done. Careful resume is not here.
    pub struct C4Params {
        /// Eras of cruising between pushes.
        cruising: u32 = "4" in "1" ..= "1000", from "draft-huitema-ccwg-c4-spec-00, section 4.4";
        /// After a push that succeeded there is one era of cruising.
        cascade: bool = "false", from "true: private-octopus/c4, October 2025";
    }
}

const ALPHA_INITIAL: f64 = 2.0;
const ALPHA_RECOVERY: f64 = 15.0 / 16.0;
const ALPHA_CRUISING: f64 = 1.0;
const ALPHA_PUSHING: f64 = 5.0 / 4.0;
const ALPHA_PUSHING_LOW: f64 = 17.0 / 16.0;
/// Share of the rate that a push must bring, of what it asks for.
const SUCCESS: f64 = 0.25;
/// Pushes that succeed before the initial state begins again; eras without growth that end it.
const SUCCESSES: u32 = 3;
const ERAS_WITHOUT_GROWTH: u32 = 3;
/// Eras without growth after which delay ends the initial state, and segments received before which loss does not.
const ERAS_BEFORE_DELAY: u32 = 2;
const SEGMENTS_BEFORE_LOSS: u32 = 20;
/// Jitter that counts, and the shortest of running_min_rtt in nominal_max_rtt without more.
const MAX_JITTER: Span = Span::from_millis(250);
const HIGH_JITTER: f64 = 2.0 / 5.0;
const MAX_THRESHOLD: f64 = 0.025;
const MAX_BETA: f64 = 0.25;
const LOSS_GAIN: f64 = 1.0 / 16.0;
/// Windows of the initial state, and of all, segments.
const INITIAL_WINDOW: f64 = 10.0;
const MIN_WINDOW: f64 = 2.0;
/// A segment, B.
const SEGMENT: f64 = 1448.0;

/// C4's two numbers and its state. See [`C4Params`]; names are the draft's, times in seconds, rates in segments/s.
#[derive(Clone, Debug)]
pub struct C4 {
    params: C4Params,
    state: State,
    nominal_rate: f64,
    nominal_max_rtt: f64,
    running_min_rtt: f64,
    era: Era,
    alpha: f64,
    /// That of the era before.
    alpha_previous: f64,
    /// The rate at the end of the last recovery, or era of the initial state, and what the push since then has asked for.
    rate_before: f64,
    push: f64,
    /// Pushes in a row that succeeded.
    successes: u32,
    smoothed_loss: f64,
    /// A sign of congestion came in this recovery, or began it.
    is_congested: bool,
    has_met_jitter: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Initial { without_growth: u32, received: u32 },
    Recovery,
    Cruising { left: u32 },
    Pushing,
}

/// A round trip.
#[derive(Clone, Copy, Debug)]
struct Era {
    /// It ends with a segment that was sent when so many were delivered.
    end: u64,
    min_rtt: f64,
    max_rtt: f64,
    is_app_limited: bool,
}

impl Era {
    fn new(delivered: u64) -> Self {
        Self { end: delivered, min_rtt: f64::INFINITY, max_rtt: 0.0, is_app_limited: false }
    }
}

impl State {
    const INITIAL: State = State::Initial { without_growth: 0, received: 0 };
}

impl CongestionControlLaw for C4 {
    const INFO: LawInfo = LawInfo {
        name: "c4",
        title: "C4",
        year: 2025,
        source: "Huitema, Nandakumar & Jennings, draft-huitema-ccwg-c4-spec-00",
    };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    const PHASES: &'static [&'static str] = &["initial", "recovery", "cruising", "pushing"];
    type Params = C4Params;

    fn new(params: C4Params) -> Self {
        Self {
            params,
            state: State::INITIAL,
            nominal_rate: 0.0,
            nominal_max_rtt: 0.0,
            running_min_rtt: f64::INFINITY,
            era: Era::new(0),
            alpha: ALPHA_INITIAL,
            alpha_previous: ALPHA_INITIAL,
            rate_before: 0.0,
            push: ALPHA_INITIAL,
            successes: 0,
            smoothed_loss: 0.0,
            is_congested: false,
            has_met_jitter: false,
        }
    }
}

impl CongestionControl for C4 {
    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        let Some(sample) = &ack.sample else { return };
        if let State::Initial { received, .. } = &mut self.state {
            *received = received.saturating_add(sample.newly_delivered);
        }
        if let Some(rtt) = sample.rtt {
            self.on_rtt(rtt.seconds(), sample);
        }
        self.on_losses(ack.lost, sample);
        self.era.is_app_limited |= sample.is_app_limited;
        if !(self.state == State::Recovery && self.is_congested) {
            self.nominal_rate = self.nominal_rate.max(sample.rate);
        }
        if sample.prior_delivered >= self.era.end {
            self.end_era(sample);
        }
        if self.nominal_rate > 0.0 {
            let least = if matches!(self.state, State::Initial { .. }) { INITIAL_WINDOW } else { MIN_WINDOW };
            window.cwnd = (self.alpha * self.nominal_rate * self.nominal_max_rtt).max(least);
        }
    }

    fn kept(&self, _: CongestionEvent) -> f64 {
        1.0
    }

    fn on_recovered(&mut self, _: &mut Window) {}

    fn phase(&self) -> Option<&'static str> {
        let [initial, recovery, cruising, pushing] = *Self::PHASES else { return None };
        Some(match self.state {
            State::Initial { .. } => initial,
            State::Recovery => recovery,
            State::Cruising { .. } => cruising,
            State::Pushing => pushing,
        })
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("nominal_rate", self.nominal_rate),
            ("nominal_max_rtt", self.nominal_max_rtt),
            ("running_min_rtt", self.running_min_rtt),
            ("alpha_current", self.alpha),
            ("smoothed_loss_rate", self.smoothed_loss),
        ]
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.nominal_rate > 0.0).then_some(self.alpha * self.nominal_rate)
    }
}

impl C4 {
    fn sensitivity(&self) -> f64 {
        let rate = self.nominal_rate * SEGMENT;
        match rate {
            low if low <= 50e3 => 0.0,
            rate if rate <= 1e6 => 0.92 * (rate - 50e3) / 950e3,
            rate if rate <= 10e6 => 0.92 + 0.08 * (rate - 1e6) / 9e6,
            _ => 1.0,
        }
    }

    /// 5.2.
    fn delay_threshold(&self) -> f64 {
        let fraction = 1.0 / 16.0 + (1.0 - self.sensitivity()) * 3.0 / 16.0;
        MAX_THRESHOLD.min(fraction * self.nominal_max_rtt)
    }

    fn on_rtt(&mut self, rtt: f64, sample: &RateSample) {
        self.era.min_rtt = self.era.min_rtt.min(rtt);
        self.era.max_rtt = self.era.max_rtt.max(rtt);
        if self.nominal_max_rtt == 0.0 {
            (self.nominal_max_rtt, self.running_min_rtt) = (rtt, rtt);
        }
        let threshold = self.delay_threshold();
        let excess = rtt - self.nominal_max_rtt - threshold;
        if excess > 0.0 {
            match self.state {
                State::Initial { without_growth, .. } if without_growth < ERAS_BEFORE_DELAY => {}
                _ => self.on_congestion_sign((excess / threshold).min(MAX_BETA), false, sample),
            }
        }
    }

    /// 5.3. Those of segments that were sent before a recovery are not counted in it.
    fn on_losses(&mut self, lost: u32, sample: &RateSample) {
        if self.state == State::Recovery {
            self.is_congested |= lost > 0 && self.smoothed_loss > self.loss_threshold();
            return;
        }
        self.smoothed_loss *= (1.0 - LOSS_GAIN).powi(sample.newly_delivered.min(1000) as i32);
        for _ in 0..lost {
            self.smoothed_loss += (1.0 - self.smoothed_loss) * LOSS_GAIN;
        }
        if lost > 0 && self.smoothed_loss > self.loss_threshold() {
            match self.state {
                State::Initial { received, .. } if received <= SEGMENTS_BEFORE_LOSS => {}
                _ => self.on_congestion_sign(MAX_BETA, true, sample),
            }
        }
    }

    fn loss_threshold(&self) -> f64 {
        0.02 + 0.5 * (1.0 - self.sensitivity())
    }

    /// 5.5; in recovery (4.3) and in the initial state nothing is reduced.
    fn on_congestion_sign(&mut self, beta: f64, is_loss: bool, sample: &RateSample) {
        match self.state {
            State::Recovery => self.is_congested = true,
            State::Initial { .. } => self.enter_recovery(false, sample.delivered),
            State::Cruising { .. } | State::Pushing => {
                self.nominal_rate *= 1.0 - beta;
                if is_loss {
                    self.nominal_max_rtt *= 1.0 - beta;
                }
                self.enter_recovery(true, sample.delivered);
            }
        }
    }

    fn end_era(&mut self, sample: &RateSample) {
        let delivered = sample.delivered;
        match self.state {
            State::Initial { without_growth, received } => {
                let without_growth = match self.has_grown() {
                    true => 0,
                    false if self.era.is_app_limited => without_growth,
                    false => without_growth + 1,
                };
                self.rate_before = self.nominal_rate;
                if without_growth >= ERAS_WITHOUT_GROWTH {
                    self.enter_recovery(false, delivered);
                } else {
                    self.enter(State::Initial { without_growth, received }, ALPHA_INITIAL, delivered);
                }
            }
            State::Recovery => {
                self.update_rtts();
                self.successes = if self.has_grown() && !self.is_congested { self.successes + 1 } else { 0 };
                (self.rate_before, self.push, self.smoothed_loss) = (self.nominal_rate, ALPHA_CRUISING, 0.0);
                let is_jitter = !self.has_met_jitter && self.running_min_rtt < HIGH_JITTER * self.nominal_max_rtt;
                self.has_met_jitter |= is_jitter;
                if is_jitter || self.successes >= SUCCESSES {
                    (self.successes, self.push) = (0, ALPHA_INITIAL);
                    self.enter(State::INITIAL, ALPHA_INITIAL, delivered);
                } else {
                    let left = if self.params.cascade && self.successes > 0 { 1 } else { self.params.cruising };
                    self.enter(State::Cruising { left }, ALPHA_CRUISING, delivered);
                }
            }
            State::Cruising { left } => {
                self.update_rtts();
                let (left, is_app_limited) = (left.saturating_sub(1), self.era.is_app_limited);
                if left > 0 || is_app_limited {
                    self.enter(State::Cruising { left }, ALPHA_CRUISING, delivered);
                } else {
                    self.push = if self.successes > 0 { ALPHA_PUSHING } else { ALPHA_PUSHING_LOW };
                    self.enter(State::Pushing, self.push, delivered);
                }
            }
            State::Pushing => {
                self.update_rtts();
                self.enter_recovery(false, delivered);
            }
        }
    }

    /// 4.3: the rate has grown by enough of what was asked for; a push of 17/16 or less by anything.
    fn has_grown(&self) -> bool {
        let asked = if self.push > ALPHA_PUSHING_LOW { SUCCESS * (self.push - 1.0) } else { 0.0 };
        self.push > ALPHA_CRUISING && self.nominal_rate > (1.0 + asked) * self.rate_before
    }

    fn enter_recovery(&mut self, is_congested: bool, delivered: u64) {
        self.is_congested = is_congested;
        if let State::Initial { .. } = self.state {
            self.push = ALPHA_CRUISING; // what the initial state has found is no push
        }
        self.enter(State::Recovery, ALPHA_RECOVERY, delivered);
    }

    fn enter(&mut self, state: State, alpha: f64, delivered: u64) {
        (self.state, self.era) = (state, Era::new(delivered));
        self.alpha_previous = std::mem::replace(&mut self.alpha, alpha);
    }

    /// 3.2: of segments that were sent at the nominal rate at most.
    fn update_rtts(&mut self) {
        let Era { min_rtt, max_rtt, .. } = self.era;
        if self.alpha_previous > ALPHA_CRUISING || max_rtt == 0.0 {
            return;
        }
        self.running_min_rtt =
            if min_rtt < self.running_min_rtt { min_rtt } else { (7.0 * self.running_min_rtt + min_rtt) / 8.0 };
        let max_rtt = max_rtt.min(self.running_min_rtt + MAX_JITTER.seconds());
        self.nominal_max_rtt =
            if max_rtt > self.nominal_max_rtt { max_rtt } else { (7.0 * self.nominal_max_rtt + max_rtt) / 8.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// 1 MB/s, segments/s.
    const MB: f64 = 1e6 / SEGMENT;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9 * expected.abs().max(1.0), "{value} is not {expected}");
    }

    /// A flow in this state at 1 MB/s, with round trips of 40 ms.
    fn at(state: State, alpha: f64, alpha_previous: f64) -> C4 {
        C4 {
            state,
            nominal_rate: MB,
            nominal_max_rtt: 0.04,
            running_min_rtt: 0.04,
            era: Era::new(100),
            alpha,
            alpha_previous,
            rate_before: MB,
            push: alpha,
            ..C4::new(C4Params::defaults())
        }
    }

    fn cruising() -> C4 {
        at(State::Cruising { left: 4 }, 1.0, 1.0)
    }

    /// An ACK of the era, or the one that ends it, with this round trip in ms and a rate of so many MB/s.
    fn ack(ends: bool, rtt: u64, rate: f64) -> Facts {
        let sample = RateSample {
            newly_delivered: 1,
            delivered: 200,
            prior_delivered: if ends { 100 } else { 99 },
            rate: rate * MB,
            rtt: Some(Span::from_millis(rtt)),
            ..RateSample::default()
        };
        Facts { sample: Some(sample), ..Facts::default() }
    }

    /// The window after such an ACK.
    fn on(c4: &mut C4, ack: &Facts) -> f64 {
        let mut window = Window { cwnd: 0.0, ssthresh: 1e6 };
        c4.on_feedback(&mut window, ack);
        window.cwnd
    }

    #[test]
    fn sensitivity_grows_with_the_rate() {
        for (bytes, expected) in
            [(0.0, 0.0), (5e4, 0.0), (525e3, 0.46), (1e6, 0.92), (5.5e6, 0.96), (1e7, 1.0), (1e9, 1.0)]
        {
            close(C4 { nominal_rate: bytes / SEGMENT, ..cruising() }.sensitivity(), expected);
        }
    }

    #[test]
    fn slow_flows_bear_longer_delays_and_more_losses() {
        let with = |bytes: f64, rtt| C4 { nominal_rate: bytes / SEGMENT, nominal_max_rtt: rtt, ..cruising() };
        // 1/4 of 40 ms at a sensitivity of 0, 1/16 at 1; 25 ms at most.
        close(with(1e4, 0.04).delay_threshold(), 0.01);
        close(with(1e7, 0.04).delay_threshold(), 0.0025);
        close(with(1e4, 1.0).delay_threshold(), 0.025);
        close(with(1e4, 0.04).loss_threshold(), 0.52);
        close(with(1e6, 0.04).loss_threshold(), 0.06);
        close(with(1e7, 0.04).loss_threshold(), 0.02);
    }

    #[test]
    fn pace_and_window_follow_from_rate_and_longest_round_trip() {
        let mut c4 = cruising();
        close(on(&mut c4, &ack(false, 40, 0.5)), MB * 0.04);
        assert_eq!(c4.pacing_rate(), Some(MB));
        close(on(&mut c4, &ack(false, 40, 1.1)), 1.1 * MB * 0.04);
        close(on(&mut C4 { nominal_rate: 1.0, ..cruising() }, &ack(false, 40, 0.0)), 2.0);
        close(on(&mut at(State::Pushing, 1.25, 1.0), &ack(false, 40, 0.5)), 1.25 * MB * 0.04);
        let mut new = C4::new(C4Params::defaults());
        assert_eq!(new.pacing_rate(), None);
        close(on(&mut new, &ack(false, 40, 0.01)), 10.0);
    }

    #[test]
    fn delay_takes_a_share_of_the_rate_by_its_excess() {
        // The threshold is (1/16 + 0.08*3/16)*40 ms = 3.1 ms: 43 ms are none, 43.5 an excess of 0.4/3.1, 50 more than a quarter.
        let after = |rtt| {
            let mut c4 = cruising();
            c4.on_rtt(rtt, &RateSample::default());
            (c4.state, c4.nominal_rate / MB)
        };
        assert_eq!(after(0.043), (State::Cruising { left: 4 }, 1.0));
        let (state, left) = after(0.0435);
        assert_eq!(state, State::Recovery);
        close(left, 1.0 - 0.4 / 3.1);
        close(after(0.05).1, 0.75);
    }

    #[test]
    fn loss_takes_a_quarter_of_rate_and_round_trip_beyond_its_threshold() {
        // The first loss makes 6.25 %, beyond 6.
        let mut c4 = cruising();
        on(&mut c4, &Facts { lost: 1, ..ack(false, 40, 0.5) });
        close(c4.smoothed_loss, 1.0 / 16.0);
        assert_eq!(c4.state, State::Recovery);
        close(c4.nominal_rate, 0.75 * MB);
        close(c4.nominal_max_rtt, 0.03);
        // A slow flow bears 52 %: 1 - (15/16)^n is above that from the twelfth on.
        let mut slow = C4 { nominal_rate: 1.0, ..cruising() };
        on(&mut slow, &Facts { lost: 11, ..ack(false, 40, 0.0) });
        assert_eq!(slow.state, State::Cruising { left: 4 });
        on(&mut slow, &Facts { lost: 2, ..ack(false, 40, 0.0) });
        assert_eq!(slow.state, State::Recovery);
    }

    #[test]
    fn signs_in_recovery_reduce_nothing_but_hold_the_rate() {
        let mut c4 = at(State::Recovery, ALPHA_RECOVERY, 1.25);
        on(&mut c4, &ack(false, 60, 1.2));
        assert_eq!((c4.nominal_rate, c4.nominal_max_rtt, c4.is_congested), (MB, 0.04, true));
        let mut calm = at(State::Recovery, ALPHA_RECOVERY, 1.25);
        on(&mut calm, &ack(false, 40, 1.2));
        close(calm.nominal_rate, 1.2 * MB);
    }

    #[test]
    fn four_eras_of_cruising_then_a_push_then_a_recovery() {
        let mut c4 = cruising();
        for left in [3, 2, 1] {
            on(&mut c4, &ack(true, 40, 0.5));
            assert_eq!(c4.state, State::Cruising { left });
            c4.era.end = 100;
        }
        let mut limited = c4.clone();
        on(&mut c4, &ack(true, 40, 0.5));
        assert_eq!((c4.state, c4.alpha), (State::Pushing, 17.0 / 16.0));
        let mut sample = ack(true, 40, 0.5);
        sample.sample.iter_mut().for_each(|sample| sample.is_app_limited = true);
        on(&mut limited, &sample);
        assert_eq!(limited.state, State::Cruising { left: 0 });
        limited.era.end = 100;
        on(&mut limited, &ack(true, 40, 0.5));
        assert_eq!(limited.state, State::Pushing);
        c4.era.end = 100;
        on(&mut c4, &ack(true, 40, 0.5));
        assert_eq!((c4.state, c4.alpha, c4.alpha_previous), (State::Recovery, 15.0 / 16.0, 17.0 / 16.0));
        c4.era.end = 100;
        on(&mut c4, &ack(true, 40, 0.5));
        assert_eq!((c4.state, c4.alpha), (State::Cruising { left: 4 }, 1.0));
    }

    #[test]
    fn a_push_succeeds_with_a_quarter_of_what_it_asks_for_and_three_begin_anew() {
        let after = |push, rate, is_congested, successes| {
            let recovery = at(State::Recovery, ALPHA_RECOVERY, push);
            let mut c4 = C4 { push, is_congested, successes, ..recovery };
            c4.nominal_rate = rate * MB;
            on(&mut c4, &ack(true, 40, 0.0));
            (c4.successes, c4.state == State::INITIAL)
        };
        assert_eq!(after(ALPHA_PUSHING_LOW, 1.001, false, 0), (1, false));
        assert_eq!(after(ALPHA_PUSHING_LOW, 1.0, false, 2), (0, false));
        assert_eq!(after(ALPHA_PUSHING, 1.062, false, 1), (0, false));
        assert_eq!(after(ALPHA_PUSHING, 1.063, false, 1), (2, false));
        assert_eq!(after(ALPHA_PUSHING, 1.063, true, 1), (0, false));
        assert_eq!(after(ALPHA_PUSHING, 1.2, false, 2), (0, true));
        let mut cascade = C4 { push: ALPHA_PUSHING_LOW, ..at(State::Recovery, ALPHA_RECOVERY, ALPHA_PUSHING_LOW) };
        cascade.params.cascade = true;
        on(&mut cascade, &ack(true, 40, 1.1));
        assert_eq!(cascade.state, State::Cruising { left: 1 });
        let mut next = C4 { successes: 1, state: State::Cruising { left: 1 }, ..cruising() };
        on(&mut next, &ack(true, 40, 0.0));
        assert_eq!(next.alpha, 1.25);
    }

    #[test]
    fn round_trips_of_an_era_at_the_nominal_rate_move_the_two() {
        // (7*40 + 48)/8 ms; the longest at once upwards, by an eighth downwards, no more than 250 ms above the least.
        let after = |min_rtt, max_rtt, alpha_previous| {
            let mut c4 = C4 { alpha_previous, era: Era { min_rtt, max_rtt, ..Era::new(0) }, ..cruising() };
            c4.update_rtts();
            (c4.running_min_rtt, c4.nominal_max_rtt)
        };
        let (least, most) = after(0.048, 0.06, 1.0);
        close(least, 0.041);
        close(most, 0.06);
        let (least, most) = after(0.032, 0.032, 15.0 / 16.0);
        close(least, 0.032);
        close(most, 0.039);
        close(after(0.04, 0.9, 1.0).1, 0.29);
        assert_eq!(after(0.02, 0.06, 17.0 / 16.0), (0.04, 0.04));
    }

    #[test]
    fn high_jitter_begins_anew_once() {
        let recovery = || C4 { running_min_rtt: 0.015, ..at(State::Recovery, ALPHA_RECOVERY, 17.0 / 16.0) };
        let mut c4 = recovery();
        on(&mut c4, &ack(true, 40, 0.0));
        assert_eq!((c4.state, c4.has_met_jitter), (State::INITIAL, true));
        let mut again = C4 { has_met_jitter: true, ..recovery() };
        on(&mut again, &ack(true, 40, 0.0));
        assert_eq!(again.state, State::Cruising { left: 4 });
        let mut least = C4 { running_min_rtt: 0.016, ..recovery() };
        on(&mut least, &ack(true, 40, 0.0));
        assert_eq!(least.state, State::Cruising { left: 4 });
    }

    #[test]
    fn the_initial_state_ends_after_three_eras_without_growth_or_congestion() {
        let initial = |without_growth, received| at(State::Initial { without_growth, received }, 2.0, 2.0);
        // A quarter of doubling is growth.
        for (rate, without_growth, state) in [
            (1.26, 2, State::Initial { without_growth: 0, received: 1 }),
            (1.24, 1, State::Initial { without_growth: 2, received: 1 }),
            (1.24, 2, State::Recovery),
        ] {
            let mut c4 = initial(without_growth, 0);
            on(&mut c4, &ack(true, 40, rate));
            assert_eq!((c4.state, c4.nominal_max_rtt), (state, 0.04), "{rate}");
        }
        let mut limited = initial(2, 0);
        limited.era.is_app_limited = true;
        on(&mut limited, &ack(true, 40, 1.0));
        assert_eq!(limited.state, State::Initial { without_growth: 2, received: 1 });
        // Delay counts after two eras without growth, loss after 20 segments; neither reduces anything.
        for (without_growth, received, facts, is_over) in [
            (1, 0, ack(false, 60, 1.0), false),
            (2, 0, ack(false, 60, 1.0), true),
            (0, 19, Facts { lost: 1, ..ack(false, 40, 1.0) }, false),
            (0, 20, Facts { lost: 1, ..ack(false, 40, 1.0) }, true),
        ] {
            let mut c4 = initial(without_growth, received);
            on(&mut c4, &facts);
            assert_eq!((c4.state == State::Recovery, c4.nominal_rate), (is_over, MB));
        }
    }
}
