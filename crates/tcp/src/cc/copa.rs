use super::{CongestionControl, CongestionControlLaw, Facts, LawInfo, Needs, Window};
use aqmlab_core::{Span, Time, params};
use std::collections::VecDeque;

params! {
    /// Copa: steers its window to the rate 1/(delta*d_q), d_q being the measured queueing delay.
    ///
    /// ## Idea
    /// For packets that arrive at random, a rate of 1/(delta*d_q) is best where delay counts delta times as much as
    /// throughput. A sender that increases its rate below that rate and reduces it above empties the queue every few
    /// round trips, and so measures the path's own delay. If the queue is never empty, other senders fill it. Copa may
    /// then reduce delta and compete as a sender that fills buffers.
    ///
    /// ## Equations
    /// At every ACK. RTT_min is the minimum round-trip time of ten seconds, RTT_standing the minimum of half a smoothed
    /// round trip. Sections are from Arun & Balakrishnan 2018:
    ///
    /// ```text
    /// d_q = RTT_standing - RTT_min;   lambda_t = 1/(delta*d_q);   lambda = cwnd/RTT_standing     (2.1)
    /// lambda <= lambda_t:  cwnd += v/(delta*cwnd),   else cwnd -= v/(delta*cwnd)
    /// v = 1, doubled in each round trip from the third on in which the window moves the same way
    /// pace = 2*cwnd/RTT_standing
    /// ```
    ///
    /// At first the window doubles in a round trip, until lambda exceeds lambda_t. If `competitive` is set, the mode is
    /// chosen (2.2): the queue is nearly empty when d_q < 0.1*(RTT_max - RTT_min), RTT_max being the maximum of four
    /// round trips. If the queue was not nearly empty during five round trips, 1/delta grows by one per round trip. It
    /// is halved at a loss, but not below its value in the default mode.
    ///
    /// ## What to expect
    /// The window moves by 1/delta segments in a round trip, and turns round when the turn has been seen: the queue
    /// varies between zero and about 2.5/delta segments per flow, 1/delta on average (section 3). The simulator agrees
    /// on 10 to 50 Mbit/s over 40 ms. One flow keeps 2.4 to 4.5 packets in the queue and uses 98 to 99.7 % of the link.
    /// Four flows on 20 Mbit/s keep 8.7 packets and get equal shares. If their round trips are 20 to 100 ms, they get
    /// 3.7 to 6.2 Mbit/s. A large window may run into another cycle, in which v grows while it seeks its target and
    /// passes that by as much: on 100 Mbit/s over 40 ms the queue varies between 0 and 110 packets every half second.
    /// The mean is 19 packets, and 95 % of the link is used. Competing with one CUBIC flow on 20 Mbit/s and a buffer of
    /// one product, Copa gets 7 % of the goodput.
    ///
    /// If `competitive` is set, Copa gets 46 % there, and 17 % in a buffer of four products. But Copa flows then take
    /// each other for senders that fill the buffer: in four products, 264 packets, two hold 99 on average, four 144.
    /// The trough of their queue follows a round trip after the target was met, and the target has risen by then. Flows
    /// that differ in delta turn at different times, so the trough stays above a tenth. Three variants were tried: a
    /// memory of eight or ten round trips, single ACKs for RTT_standing, and a window cut to 0.7 at a loss. Two flows
    /// still hold 12 to 60 packets and four 75 to 121. The switch is therefore off. Meta's implementation (mvfst) has
    /// no such mode.
    ///
    /// ## Readings
    /// The paper sets no bound to v; here it is delta*cwnd, with which the window doubles in a round trip. v is 1 again with the first
    /// step the other way, as in mvfst, and not only at the end of its round trip: a large v would empty the path. A
    /// loss means nothing in the default mode. The window is at least two segments. A window that the application leaves unused
    /// does not grow. A round trip ends when what was sent at its beginning has arrived.
    ///
    /// ## Departures
    /// The competitive mode is off by default. After a timeout the window is one segment, as every sender's here; the
    /// paper does not say.
    pub struct CopaParams {
        /// Weight of delay in the default mode.
        delta: f64 = "0.5" in "0.001" ..= "10", unit "1/packets", from "Arun & Balakrishnan 2018, section 2.2";
        /// Competes with flows that fill the buffer.
        competitive: bool = "false", from "Arun & Balakrishnan 2018, section 2.2: true";
    }
}

/// For how long RTT_min is remembered.
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
/// Round trips that RTT_max is of, and after which a queue that was never nearly empty is another's.
const MAX_RTT_ROUNDS: u64 = 4;
const EMPTY_ROUNDS: u64 = 5;
/// A queue is nearly empty below this share of RTT_max - RTT_min.
const NEARLY_EMPTY: f64 = 0.1;
/// Round trips in the same direction after which v doubles.
const SAME_ROUNDS: u32 = 3;
/// Least window, segments.
const MIN_CWND: f64 = 2.0;

/// Copa's measurements. See [`CopaParams`].
#[derive(Clone, Debug)]
pub struct Copa {
    params: CopaParams,
    min_rtt: Extreme,
    standing: Extreme,
    /// Of the negated times.
    max_rtt: Extreme,
    in_slow_start: bool,
    velocity: f64,
    round: Round,
    /// 1/delta of the competitive mode; `None` in the default mode.
    competing: Option<f64>,
    /// The queue was last seen nearly empty.
    empty_at: Option<Time>,
    rate: Option<f64>,
}

/// A round trip.
#[derive(Clone, Copy, Debug, Default)]
struct Round {
    /// It ends with a segment that was sent when more than these were delivered.
    end: u64,
    /// The window at its beginning.
    cwnd: f64,
    /// The window rose in the last one.
    rises: bool,
    /// Round trips in which it has moved that way.
    same: u32,
    /// A segment was found lost.
    has_lost: bool,
}

/// The least of the samples of a time.
#[derive(Clone, Debug, Default)]
struct Extreme(VecDeque<(Time, i64)>);

impl Extreme {
    fn note(&mut self, value: i64, window: Span, now: Time) -> i64 {
        while self.0.back().is_some_and(|&(_, last)| last >= value) {
            self.0.pop_back();
        }
        self.0.push_back((now, value));
        while self.0.front().is_some_and(|&(at, _)| now.since(at) > window) {
            self.0.pop_front();
        }
        self.0.front().map_or(value, |&(_, least)| least)
    }
}

impl CongestionControlLaw for Copa {
    const INFO: LawInfo = LawInfo { name: "copa", title: "Copa", year: 2018, source: "Arun & Balakrishnan, NSDI 2018" };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    const PHASES: &'static [&'static str] = &["slow_start", "default", "competitive"];
    type Params = CopaParams;

    fn new(params: CopaParams) -> Self {
        Self {
            params,
            min_rtt: Extreme::default(),
            standing: Extreme::default(),
            max_rtt: Extreme::default(),
            in_slow_start: true,
            velocity: 1.0,
            round: Round::default(),
            competing: None,
            empty_at: None,
            rate: None,
        }
    }
}

impl CongestionControl for Copa {
    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        self.round.has_lost |= ack.lost > 0;
        let Some(sample) = ack.sample else { return };
        let Some(rtt) = sample.rtt else { return };
        let (now, rtt) = (ack.now, rtt.0 as i64);
        let min_rtt = self.min_rtt.note(rtt, MIN_RTT_WINDOW, now);
        let standing = self.standing.note(rtt, Span(ack.srtt.0 / 2), now);
        let max_rtt = -self.max_rtt.note(-rtt, Span(MAX_RTT_ROUNDS * ack.srtt.0), now);
        let queueing = standing - min_rtt;
        let begins = sample.prior_delivered >= self.round.end;
        self.choose_mode(queueing as f64 <= NEARLY_EMPTY * (max_rtt - min_rtt) as f64, begins, ack);
        let delta = self.competing.map_or(self.params.delta, |inverse| 1.0 / inverse);
        if begins {
            self.end_round(window.cwnd, sample.delivered);
        }
        // lambda <= lambda_t, multiplied out: cwnd*delta*d_q <= RTT_standing.
        let is_below = window.cwnd * delta * queueing as f64 <= standing as f64;
        self.in_slow_start &= is_below;
        let acked = f64::from(sample.newly_delivered);
        if is_below != self.round.rises && self.velocity > 1.0 {
            self.turn(is_below, window.cwnd);
        }
        let velocity = self.velocity.min(delta * window.cwnd);
        let step = if self.in_slow_start { acked } else { velocity * acked / (delta * window.cwnd) };
        if is_below && f64::from(ack.flight) + 1.0 > window.cwnd {
            window.cwnd += step;
        } else if !is_below {
            window.cwnd = (window.cwnd - step).max(MIN_CWND);
        }
        self.rate = Some(2.0 * window.cwnd / Span(standing as u64).seconds());
    }

    fn on_timeout(&mut self) {
        self.velocity = 1.0;
    }

    fn phase(&self) -> Option<&'static str> {
        let [slow_start, default, competitive] = *Self::PHASES else { return None };
        Some(match self.competing {
            _ if self.in_slow_start => slow_start,
            None => default,
            Some(_) => competitive,
        })
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        let delta = self.competing.map_or(self.params.delta, |inverse| 1.0 / inverse);
        vec![("delta", delta), ("velocity", self.velocity)]
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.rate
    }
}

impl Copa {
    /// 2.2: who fills the buffer, and what 1/delta is where it is somebody else.
    fn choose_mode(&mut self, is_empty: bool, begins: bool, ack: &Facts) {
        let empty_at = *self.empty_at.get_or_insert(ack.now);
        if is_empty {
            self.empty_at = Some(ack.now);
        }
        let is_ours = is_empty || ack.now.since(empty_at) <= Span(EMPTY_ROUNDS * ack.srtt.0);
        let least = 1.0 / self.params.delta;
        self.competing = match self.competing {
            _ if is_ours || self.in_slow_start || !self.params.competitive => None,
            None => Some(least),
            Some(inverse) if begins && self.round.has_lost => Some((inverse / 2.0).max(least)),
            Some(inverse) if begins => Some(inverse + 1.0),
            same => same,
        };
    }

    /// A step goes the other way at a window of `cwnd`: v was meant for the way before.
    fn turn(&mut self, rises: bool, cwnd: f64) {
        self.velocity = 1.0;
        self.round = Round { cwnd, rises, same: 1, ..self.round };
    }

    /// A round trip ends at a window of `cwnd`: v doubles if the window has moved the same way for long enough.
    fn end_round(&mut self, cwnd: f64, delivered: u64) {
        let rises = cwnd > self.round.cwnd;
        let is_same = rises == self.round.rises && cwnd != self.round.cwnd && !self.in_slow_start;
        let same = if is_same { self.round.same + 1 } else { 1 };
        self.velocity = if same > SAME_ROUNDS { 2.0 * self.velocity } else { 1.0 };
        self.round = Round { end: delivered, cwnd, rises, same, has_lost: false };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::RateSample;
    use aqmlab_core::ParamSet;

    fn copa() -> Copa {
        Copa { in_slow_start: false, ..Copa::new(CopaParams::defaults()) }
    }

    /// An ACK at `now` ms of one segment, with this round-trip time; srtt is 40 ms, and the round goes on.
    fn ack(now: u64, rtt_ms: u64) -> Facts {
        let rtt = Some(Span::from_millis(rtt_ms));
        let sample = Some(RateSample { newly_delivered: 1, rtt, delivered: 1, ..RateSample::default() });
        let (srtt, now) = (Span::from_millis(40), Time::ZERO + Span::from_millis(now));
        Facts { flight: 1000, sample, srtt, now, ..Facts::default() }
    }

    /// The window after an ACK of 60 ms, 40 being the least, that finds it at `cwnd`.
    fn after(mut copa: Copa, cwnd: f64) -> f64 {
        let (mut window, velocity, round) = (Window { cwnd: 9.0, ssthresh: 1e6 }, copa.velocity, copa.round);
        copa.on_feedback(&mut window, &ack(0, 40));
        (copa.velocity, copa.round) = (velocity, Round { end: copa.round.end, ..round });
        window.cwnd = cwnd;
        copa.on_feedback(&mut window, &ack(100, 60));
        window.cwnd
    }

    #[test]
    fn the_window_goes_towards_the_target_rate() {
        // d_q = 20 ms: lambda_t = 1/(0.5*0.02) = 100 a second, which is a window of 6 at 60 ms. The step is 1/(0.5*cwnd).
        assert_eq!(after(copa(), 5.0), 5.0 + 1.0 / 2.5);
        assert_eq!(after(copa(), 6.0), 6.0 + 1.0 / 3.0);
        assert_eq!(after(copa(), 8.0), 8.0 - 1.0 / 4.0);
        assert_eq!(after(Copa { velocity: 4.0, ..copa() }, 8.0), 8.0 - 1.0, "the velocity of a round that falls");
        assert_eq!(after(copa(), 2.0), 3.0);
    }

    #[test]
    fn slow_start_doubles_until_the_target_is_passed() {
        let slow = || Copa::new(CopaParams::defaults());
        assert_eq!(after(slow(), 6.0), 7.0);
        assert_eq!(after(slow(), 8.0), 7.75);
    }

    #[test]
    fn the_pace_is_twice_the_window_in_a_standing_round_trip() {
        let (mut copa, mut window) = (copa(), Window { cwnd: 10.0, ssthresh: 1e6 });
        copa.on_feedback(&mut window, &ack(0, 40));
        // 10 + 1/(0.5*10) segments, 40 ms; 20 ms later a longer one does not count.
        assert_eq!(copa.pacing_rate(), Some(2.0 * 10.2 / 0.04));
        copa.on_feedback(&mut window, &ack(20, 60));
        assert_eq!(copa.pacing_rate(), Some(2.0 * window.cwnd / 0.04));
    }

    #[test]
    fn the_velocity_doubles_from_the_fourth_round_in_one_direction_on() {
        let mut copa = copa();
        let velocities = [10.0, 12.0, 14.0, 16.0, 20.0, 19.0, 18.0].map(|cwnd| {
            copa.end_round(cwnd, 0);
            copa.velocity
        });
        assert_eq!(velocities, [1.0, 1.0, 1.0, 2.0, 4.0, 1.0, 1.0]);
    }

    #[test]
    fn a_step_the_other_way_forgets_the_velocity() {
        let rising = Copa { velocity: 8.0, round: Round { rises: true, ..Round::default() }, ..copa() };
        assert_eq!(after(rising.clone(), 40.0), 40.0 - 1.0 / 20.0);
        assert_eq!(after(rising, 5.0), 6.0, "it goes on: 8/(0.5*5), bounded by doubling");
    }

    #[test]
    fn a_queue_that_is_never_empty_is_anothers() {
        let mut off = copa();
        off.choose_mode(true, true, &ack(0, 60));
        off.choose_mode(false, true, &ack(300, 60));
        assert_eq!((off.competing, off.phase()), (None, Some("default")));
        let mut copa = copa();
        copa.params.competitive = true;
        let mut mode = |now, is_empty, begins| {
            copa.choose_mode(is_empty, begins, &ack(now, 60));
            copa.round.has_lost = now >= 500;
            copa.competing
        };
        assert_eq!(mode(0, true, true), None);
        assert_eq!(mode(200, false, true), None, "five round trips of 40 ms");
        assert_eq!(mode(201, false, true), Some(2.0));
        assert_eq!(mode(210, false, false), Some(2.0));
        assert_eq!(mode(240, false, true), Some(3.0));
        assert_eq!(mode(500, false, true), Some(4.0));
        assert_eq!(mode(540, false, true), Some(2.0), "halved at a loss");
        assert_eq!(mode(580, false, true), Some(2.0), "not below the default's");
        assert_eq!(mode(600, true, false), None);
    }

    #[test]
    fn the_least_of_a_time_is_forgotten_after_it() {
        let mut least = Extreme::default();
        let window = Span::from_millis(10);
        let mut at = |ms, value| least.note(value, window, Time::ZERO + Span::from_millis(ms));
        assert_eq!([at(0, 5), at(5, 7), at(10, 9), at(11, 9), at(16, 8)], [5, 5, 5, 7, 8]);
    }
}
