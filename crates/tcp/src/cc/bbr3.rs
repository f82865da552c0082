use super::path::{ExtraAcked, Rounds, quantum};
use super::{CongestionControl, Event, Facts, Info, Law, LostSegment, Needs, RateSample, Recovery, Window};
use crate::ecn::EcnFeedback;
use aqmlab_core::{Span, Stream, Time, params};

params! {
    /// BBRv3: BBR within bounds that losses set, which probes for more bandwidth every two to three seconds at the latest.
    ///
    /// ## Idea
    /// [BBR](bbr.md) measures bandwidth and least round-trip time of a path. BBRv3 also learns how much may be in flight: a probe
    /// that loses more than 2 % sets an upper bound, from which it keeps 15 % away between probes, and losses between probes
    /// lower rate and window until the next probe. It probes rarely enough that Reno and CUBIC have time to grow.
    ///
    /// ## Equations
    /// At every ACK that tells of an arrival:
    ///
    /// ```text
    /// bw   = min(the largest delivery rate of this probing cycle and the one before, bw_shortterm)
    /// pace = 0.99*pacing_gain*bw
    /// cwnd = min(cwnd + delivered, cwnd_gain*bw*min_rtt + extra_acked, bound, inflight_shortterm), at least 4
    /// ```
    ///
    /// | state | pacing_gain | cwnd_gain | bound | ends |
    /// | --- | --- | --- | --- | --- |
    /// | startup | 2.77 | 2 | | the rate has grown by less than a quarter in three round trips; or six ACKs of a round trip in recovery told of losses, 2 % and more |
    /// | drain | 0.5 | 2 | | bw*min_rtt is in flight, or after three round trips |
    /// | down | 0.9 | 2 | inflight_longterm | bw*min_rtt is in flight and 0.85*inflight_longterm |
    /// | cruise | 1 | 2 | 0.85*inflight_longterm | 2 to 3 s after the last probe, at random; or as many round trips after it as segments are in flight, 63 at most |
    /// | refill | 1 | 2 | inflight_longterm | after a round trip |
    /// | up | 1.25 | 2.25 | inflight_longterm | the rate grows no longer, or losses exceed 2 % |
    /// | probe_rtt | 1 | 0.5 | 0.85*inflight_longterm | after 200 ms and a round trip; begins 5 s after the last shorter round trip |
    ///
    /// Losses beyond 2 % of what was in flight when the lost segment was sent, in refill or up:
    ///
    /// ```text
    /// inflight_longterm = max(what was in flight when the losses reached 2 %, 0.7*min(bw*min_rtt, cwnd))
    /// ```
    ///
    /// In up it grows by 1, 2, 4, ... segments in a round trip. The probe after one that lost too much ends at this bound, and
    /// if it has lost nothing, another follows at once. After a round trip with a loss, in other states:
    ///
    /// ```text
    /// bw_shortterm       = max(the largest rate of this round trip, 0.7*bw_shortterm)
    /// inflight_shortterm = max(the most delivered in it, 0.7*inflight_shortterm)
    /// ```
    ///
    /// ## What to expect
    /// Alone it fills the link to 97 %, with a queue while it probes only. Several flows lose a tenth of what BBR does in a buffer
    /// of one product of the path. Beside one CUBIC flow it has about half of the link at 20 Mbit/s and 40 ms. At 100
    /// Mbit/s and a buffer of one product it still takes 70 %.
    ///
    /// ## Readings
    /// The draft leaves ECN out. As in Google's BBRv3, marks count where the least round-trip time is at most `ecn_max_rtt`: alpha
    /// is their share, smoothed with 1/16 a round trip; a round trip with marks cuts inflight_shortterm by alpha/3; a share
    /// of half ends a probe and, in two round trips, startup. With longer round trips a mark changes nothing: an AQM that marks
    /// instead of dropping is not heard. What is drawn at random comes from a stream of the sender.
    ///
    /// ## Departures
    /// A loss that turns out to be spurious is not undone. The share of marks that ends a probe is that of the last round
    /// trip, not that since the newest segment was sent. quantum is that of BBR, pace/1024 s. It goes with loss recovery
    /// `rack`, whose window it replaces.
    pub struct Bbr3Params {
        /// Least round-trip time up to which marks count.
        ecn_max_rtt: Span = "5 ms" in "0 s" ..= "100 s", from "Google's BBRv3 (ecn_max_rtt_us)";
    }
}

const STARTUP_GAIN: f64 = 2.77;
const DRAIN_GAIN: f64 = 0.5;
const DOWN_GAIN: f64 = 0.9;
const UP_GAIN: f64 = 1.25;
const CWND_GAIN: f64 = 2.0;
const UP_CWND_GAIN: f64 = 2.25;
const PROBE_RTT_CWND_GAIN: f64 = 0.5;
/// Pace below the bandwidth.
const MARGIN: f64 = 0.99;
/// LossThresh, Beta, Headroom.
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
const HEADROOM: f64 = 0.15;
/// MinPipeCwnd.
const MIN_CWND: f64 = 4.0;
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_INTERVAL: Span = Span::from_secs(5);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
const INITIAL_WINDOW: u64 = 10;
const NO_SAMPLE: Span = Span(u64::MAX);
/// Round trips after which it probes at the latest, as Reno would lose then.
const MAX_PROBE_ROUNDS: f64 = 63.0;
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;
/// StartupFullLossCnt.
const FULL_LOSSES: u32 = 6;
/// Google's BBRv3: weight of a round trip in the smoothed share of marks, the cut for it, the share that is too much, and
/// round trips with it that end startup.
const ECN_GAIN: f64 = 1.0 / 16.0;
const ECN_FACTOR: f64 = 1.0 / 3.0;
const ECN_THRESH: f64 = 0.5;
const FULL_ECN_ROUNDS: u32 = 2;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    /// Since that round trip.
    Drain(u64),
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt {
        until: Option<Time>,
        round_done: bool,
    },
}

/// What the ACKs of now tell of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AckPhase {
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// BBRv3's model of the path. See [`Bbr3Params`]; names are the draft's.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Bbr3Params,
    random: Stream,
    state: State,
    ack_phase: AckPhase,
    rounds: Rounds,
    /// Greatest delivery rate of the cycle before, and of this one.
    max_bw: [f64; 2],
    min_rtt: Span,
    min_rtt_stamp: Time,
    probe_rtt_min_delay: Span,
    probe_rtt_min_stamp: Time,
    full_bw: f64,
    full_bw_count: u32,
    full_bw_now: bool,
    full_bw_reached: bool,
    extra_acked: ExtraAcked,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
    /// Largest rate and volume delivered in this round trip.
    bw_latest: f64,
    inflight_latest: f64,
    loss_round_delivered: u64,
    loss_round_start: bool,
    is_loss_in_round: bool,
    /// ACKs that told of losses in this round trip.
    loss_events: u32,
    is_bw_probe_sample: bool,
    prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    cycle_stamp: Time,
    bw_probe_wait: Span,
    rounds_since_probe_up: u32,
    probe_up_acked_per_inc: f64,
    bw_probe_up_acked: f64,
    bw_probe_up_rounds: u32,
    ecn: Ecn,
    recovery: Recovery,
    prior_cwnd: f64,
    /// Segments sent when so many were delivered have a low rate, because of [`State::ProbeRtt`].
    slow: (u64, u64),
    /// Segments delivered when the window was last full.
    limited_at: Option<u64>,
    idle_restart: bool,
    pacing_rate: f64,
    cwnd: f64,
}

/// Marks, as Google's BBRv3 answers them.
#[derive(Clone, Copy, Debug)]
struct Ecn {
    /// Smoothed share of marks.
    alpha: f64,
    delivered: u32,
    marked: u32,
    /// Share of marks in the last round trip.
    share: f64,
    /// There were marks in this round trip.
    in_round: bool,
    /// Round trips in a row with too many.
    rounds: u32,
}

impl Law for Bbr3 {
    const INFO: Info = Info { name: "bbr3", title: "BBRv3", year: 2023, source: "draft-ietf-ccwg-bbr-06" };
    const NEEDS: Needs =
        Needs { feedback: EcnFeedback::Counter, rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    type Params = Bbr3Params;

    fn new(params: Bbr3Params) -> Self {
        let unbounded = f64::INFINITY;
        Self {
            params,
            random: Stream::new(0, "tcp.bbr3", 0),
            state: State::Startup,
            ack_phase: AckPhase::Init,
            rounds: Rounds::default(),
            max_bw: [0.0; 2],
            min_rtt: NO_SAMPLE,
            min_rtt_stamp: Time::ZERO,
            probe_rtt_min_delay: NO_SAMPLE,
            probe_rtt_min_stamp: Time::ZERO,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_now: false,
            full_bw_reached: false,
            extra_acked: ExtraAcked::default(),
            bw_shortterm: unbounded,
            inflight_shortterm: unbounded,
            inflight_longterm: unbounded,
            bw_latest: 0.0,
            inflight_latest: 0.0,
            loss_round_delivered: 0,
            loss_round_start: false,
            is_loss_in_round: false,
            loss_events: 0,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            cycle_stamp: Time::ZERO,
            bw_probe_wait: Span::ZERO,
            rounds_since_probe_up: 0,
            probe_up_acked_per_inc: unbounded,
            bw_probe_up_acked: 0.0,
            bw_probe_up_rounds: 0,
            ecn: Ecn { alpha: 1.0, delivered: 0, marked: 0, share: 0.0, in_round: false, rounds: 0 },
            recovery: Recovery::None,
            prior_cwnd: 0.0,
            slow: (0, 0),
            limited_at: None,
            idle_restart: false,
            pacing_rate: 0.0,
            cwnd: 0.0,
        }
    }
}

impl CongestionControl for Bbr3 {
    fn seed(&mut self, seed: u64) {
        self.random = Stream::new(seed, "tcp.bbr3", 0);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        let Some(mut sample) = ack.sample else { return };
        if self.pacing_rate == 0.0 {
            self.begin(window, ack, &sample);
        }
        self.cwnd = window.cwnd;
        sample.is_app_limited |= (self.slow.0..self.slow.1).contains(&sample.prior_delivered);
        self.note_limit(&sample, ack);
        self.update_model(&sample, ack);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(&sample, ack);
        window.cwnd = self.cwnd;
    }

    fn on_lost(&mut self, lost: &LostSegment) {
        if !self.is_loss_in_round {
            self.loss_round_delivered = lost.delivered;
        }
        self.is_loss_in_round = true;
        let (in_flight, count) = (f64::from(lost.tx_in_flight), f64::from(lost.lost));
        if self.is_bw_probe_sample && count > LOSS_THRESH * in_flight {
            let fits = inflight_at_loss(in_flight, count);
            self.handle_inflight_too_high(fits, lost.is_app_limited, lost.delivered, lost.now);
        }
    }

    fn kept(&self, _: Event) -> f64 {
        1.0
    }

    fn on_congestion(&mut self, _: Event, window: &Window) {
        self.save_cwnd(window.cwnd);
    }

    fn on_timeout(&mut self) {
        self.recovery = Recovery::Timeout;
    }

    fn on_recovered(&mut self, _: &mut Window) {}

    fn on_resume(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_acked.begin_epoch(now);
        if self.is_in_probe_bw() {
            self.set_pacing_rate(1.0);
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate)
    }

    fn send_quantum(&self) -> u32 {
        quantum(self.pacing_rate) as u32
    }
}

/// What was in flight when the share of losses became too large; `in_flight` and `lost` count the segment that is found lost.
fn inflight_at_loss(in_flight: f64, lost: f64) -> f64 {
    let (in_flight, lost) = (in_flight - 1.0, lost - 1.0);
    in_flight + ((LOSS_THRESH * in_flight - lost) / (1.0 - LOSS_THRESH)).max(0.0)
}

/// The model, once per ACK (draft, section 5.2.3).
impl Bbr3 {
    fn begin(&mut self, window: &Window, ack: &Facts, sample: &RateSample) {
        self.pacing_rate = STARTUP_GAIN * MARGIN * window.cwnd / ack.srtt.seconds().max(1e-6);
        self.min_rtt = if sample.min_rtt == Span::ZERO { NO_SAMPLE } else { sample.min_rtt };
        self.probe_rtt_min_delay = self.min_rtt;
        (self.min_rtt_stamp, self.probe_rtt_min_stamp) = (ack.now, ack.now);
        self.extra_acked.begin_epoch(ack.now);
    }

    /// C.is_cwnd_limited: the window was full in the last round trip.
    fn note_limit(&mut self, sample: &RateSample, ack: &Facts) {
        if f64::from(ack.flight) >= self.cwnd.floor() {
            self.limited_at = Some(sample.delivered - u64::from(sample.newly_delivered));
        }
    }

    fn is_cwnd_limited(&self, sample: &RateSample) -> bool {
        self.limited_at.is_some_and(|at| at >= sample.prior_delivered)
    }

    fn update_model(&mut self, sample: &RateSample, ack: &Facts) {
        self.update_latest(sample);
        self.update_max_bw(sample);
        self.update_ecn(sample, ack);
        if self.loss_round_start {
            self.adapt_lower_bounds();
            (self.is_loss_in_round, self.ecn.in_round) = (false, false);
        }
        if sample.rate > 0.0 {
            let (bw, has_begun) = (self.bw(), self.rounds.has_begun);
            self.extra_acked.update(sample.newly_delivered, bw, self.cwnd, has_begun, ack.now);
        }
        self.check_full_bw(sample);
        self.check_startup(sample, ack);
        self.check_drain(sample, ack.now);
        if self.full_bw_reached {
            self.update_cycle(sample, ack.now);
        }
        self.update_min_rtt(sample, ack.now);
        if self.loss_round_start {
            (self.bw_latest, self.inflight_latest) = (sample.rate, delivered_in(sample));
        }
    }

    fn update_latest(&mut self, sample: &RateSample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(delivered_in(sample));
        self.loss_round_start = sample.prior_delivered >= self.loss_round_delivered;
        if self.loss_round_start {
            self.loss_round_delivered = sample.delivered;
        }
    }

    fn update_max_bw(&mut self, sample: &RateSample) {
        self.rounds.note(sample);
        self.rounds_since_probe_up += u32::from(self.rounds.has_begun);
        if !sample.is_app_limited || sample.rate >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn bw(&self) -> f64 {
        self.max_bw().min(self.bw_shortterm)
    }

    fn update_ecn(&mut self, sample: &RateSample, ack: &Facts) {
        if self.min_rtt > self.params.ecn_max_rtt {
            return;
        }
        let ecn = &mut self.ecn;
        ecn.delivered += sample.newly_delivered;
        ecn.marked += ack.marked;
        ecn.in_round |= ack.marked > 0;
        if self.rounds.has_begun {
            ecn.share = (f64::from(ecn.marked) / f64::from(ecn.delivered)).min(1.0);
            ecn.alpha += ECN_GAIN * (ecn.share - ecn.alpha);
            (ecn.delivered, ecn.marked) = (0, 0);
            ecn.rounds = if ecn.share >= ECN_THRESH { ecn.rounds + 1 } else { 0 };
        }
    }

    /// Once per round trip, when it does not probe: losses and marks bound rate and volume.
    fn adapt_lower_bounds(&mut self) {
        if matches!(self.state, State::Startup | State::Refill | State::Up) {
            return;
        }
        let inflight = if self.inflight_shortterm.is_finite() { self.inflight_shortterm } else { self.cwnd };
        if self.is_loss_in_round {
            let bw = if self.bw_shortterm.is_finite() { self.bw_shortterm } else { self.max_bw() };
            self.bw_shortterm = self.bw_latest.max(BETA * bw);
            self.inflight_shortterm = self.inflight_latest.max(BETA * inflight);
        }
        if self.ecn.in_round {
            let cut = (1.0 - ECN_FACTOR * self.ecn.alpha) * inflight;
            self.inflight_shortterm = self.inflight_shortterm.min(cut);
        }
    }

    fn check_full_bw(&mut self, sample: &RateSample) {
        if self.full_bw_now || !self.rounds.has_begun || sample.is_app_limited {
            return;
        }
        if sample.rate >= FULL_GROWTH * self.full_bw {
            return self.reset_full_bw(sample.rate);
        }
        self.full_bw_count += 1;
        self.full_bw_now = self.full_bw_count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full_bw_now;
    }

    fn reset_full_bw(&mut self, rate: f64) {
        (self.full_bw, self.full_bw_count, self.full_bw_now) = (rate, 0, false);
    }

    /// The bandwidth grows no longer, or a round trip of recovery had many losses, or two round trips had many marks.
    fn check_startup(&mut self, sample: &RateSample, ack: &Facts) {
        if self.state != State::Startup {
            return;
        }
        self.loss_events += u32::from(ack.lost > 0);
        let has_losses = ack.recovery == Recovery::Fast && self.loss_events >= FULL_LOSSES && is_lossy(sample);
        if self.loss_round_start && has_losses || self.ecn.rounds >= FULL_ECN_ROUNDS {
            self.full_bw_reached = true;
            self.inflight_longterm = self.bdp(self.max_bw()).max(self.inflight_latest);
        }
        if self.loss_round_start {
            self.loss_events = 0;
        }
        if self.full_bw_reached {
            self.state = State::Drain(self.rounds.count);
        }
    }

    fn check_drain(&mut self, sample: &RateSample, now: Time) {
        let State::Drain(since) = self.state else { return };
        if f64::from(sample.in_flight) <= self.inflight(self.bw()) || self.rounds.count > since + 3 {
            self.start_down(sample.delivered, now);
        }
    }
}

/// Probing for bandwidth (5.3.3).
impl Bbr3 {
    fn is_in_probe_bw(&self) -> bool {
        matches!(self.state, State::Down | State::Cruise | State::Refill | State::Up)
    }

    fn update_cycle(&mut self, sample: &RateSample, now: Time) {
        if self.adapt_long_term(sample, now) {
            return;
        }
        let in_flight = f64::from(sample.in_flight);
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(now) => self.start_refill(sample.delivered),
            State::Down if in_flight <= self.with_headroom().min(self.inflight(self.max_bw())) => {
                self.state = State::Cruise;
            }
            State::Refill if self.rounds.has_begun => {
                self.is_bw_probe_sample = true;
                self.start_up(sample);
            }
            State::Up => self.check_up(sample, now),
            _ => {}
        }
    }

    /// AdaptLongTermModel. True if it has changed the state.
    fn adapt_long_term(&mut self, sample: &RateSample, now: Time) -> bool {
        if self.ack_phase == AckPhase::ProbeStarting && self.rounds.has_begun {
            self.ack_phase = AckPhase::ProbeFeedback;
        }
        if self.ack_phase == AckPhase::ProbeStopping && self.rounds.has_begun {
            self.is_bw_probe_sample = false;
            self.ack_phase = AckPhase::Init;
            if self.is_in_probe_bw() && !sample.is_app_limited && self.max_bw[1] > 0.0 {
                self.max_bw = [self.max_bw[1], 0.0];
            }
            if self.is_in_probe_bw() && self.prev_probe_precautionary && !self.prev_probe_too_high {
                self.start_refill(sample.delivered);
                return true;
            }
        }
        if is_lossy(sample) {
            return false;
        }
        if self.ecn.in_round && self.ecn.share > ECN_THRESH {
            if self.is_bw_probe_sample {
                let fits = f64::from(sample.tx_in_flight);
                self.handle_inflight_too_high(fits, sample.is_app_limited, sample.delivered, now);
            }
            return false;
        }
        if self.inflight_longterm.is_finite() {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight.into());
            if self.state == State::Up {
                self.probe_upward(sample);
            }
        }
        false
    }

    /// HandleInflightTooHigh: `fits` segments in flight did not make too many losses.
    fn handle_inflight_too_high(&mut self, fits: f64, is_app_limited: bool, delivered: u64, now: Time) {
        self.prev_probe_too_high = true;
        self.is_bw_probe_sample = false;
        if !is_app_limited {
            self.inflight_longterm = fits.max(BETA * self.target_inflight());
        }
        if self.state == State::Up {
            self.start_down(delivered, now);
        }
    }

    /// ProbeInflightLongtermUpward: by 1, 2, 4, ... segments in a round trip.
    fn probe_upward(&mut self, sample: &RateSample) {
        if !self.is_cwnd_limited(sample) || self.cwnd < self.inflight_longterm {
            return;
        }
        self.bw_probe_up_acked += f64::from(sample.newly_delivered);
        let more = (self.bw_probe_up_acked / self.probe_up_acked_per_inc).floor();
        self.bw_probe_up_acked -= more * self.probe_up_acked_per_inc;
        self.inflight_longterm += more;
        if self.rounds.has_begun {
            self.raise_slope();
        }
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1u32 << self.bw_probe_up_rounds);
        self.bw_probe_up_rounds = (self.bw_probe_up_rounds + 1).min(30);
        self.probe_up_acked_per_inc = (self.cwnd / growth).max(1.0);
    }

    /// Two to three seconds have passed, or Reno would have lost a segment.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let reno = self.target_inflight().min(MAX_PROBE_ROUNDS);
        now > self.cycle_stamp + self.bw_probe_wait || f64::from(self.rounds_since_probe_up) >= reno
    }

    /// IsTimeToGoDown, and what follows. After a probe that lost too much, the next one ends where that one began to lose.
    fn check_up(&mut self, sample: &RateSample, now: Time) {
        let is_risky = self.prev_probe_too_high && f64::from(sample.in_flight) >= self.inflight_longterm;
        let is_bounded = self.is_cwnd_limited(sample) && self.cwnd >= self.inflight_longterm;
        if is_risky {
            self.prev_probe_precautionary = true;
        } else if is_bounded {
            self.reset_full_bw(sample.rate); // the bound limits the bandwidth
        }
        if is_risky || self.full_bw_now {
            self.prev_probe_too_high = false;
            self.start_down(sample.delivered, now);
        }
    }

    fn start_down(&mut self, delivered: u64, now: Time) {
        (self.is_loss_in_round, self.bw_latest, self.inflight_latest) = (false, 0.0, 0.0);
        self.probe_up_acked_per_inc = f64::INFINITY;
        self.rounds_since_probe_up = self.random.below(2);
        self.bw_probe_wait = Span::from_seconds(2.0 + self.random.uniform());
        self.cycle_stamp = now;
        self.ack_phase = AckPhase::ProbeStopping;
        self.rounds.begin(delivered);
        self.state = State::Down;
    }

    fn start_refill(&mut self, delivered: u64) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
        (self.bw_probe_up_rounds, self.bw_probe_up_acked) = (0, 0.0);
        self.prev_probe_precautionary = false;
        self.ack_phase = AckPhase::Refilling;
        self.rounds.begin(delivered);
        self.state = State::Refill;
    }

    fn start_up(&mut self, sample: &RateSample) {
        self.ack_phase = AckPhase::ProbeStarting;
        self.rounds.begin(sample.delivered);
        self.reset_full_bw(sample.rate);
        self.state = State::Up;
        self.raise_slope();
    }
}

/// Probing for the round-trip time (5.3.4).
impl Bbr3 {
    fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        let is_expired = now.since(self.probe_rtt_min_stamp) > PROBE_RTT_INTERVAL;
        if let Some(rtt) = sample.rtt
            && (rtt < self.probe_rtt_min_delay || is_expired)
        {
            (self.probe_rtt_min_delay, self.probe_rtt_min_stamp) = (rtt, now);
        }
        if self.probe_rtt_min_delay < self.min_rtt || now.since(self.min_rtt_stamp) > MIN_RTT_WINDOW {
            (self.min_rtt, self.min_rtt_stamp) = (self.probe_rtt_min_delay, self.probe_rtt_min_stamp);
        }
        if is_expired && !self.idle_restart && !matches!(self.state, State::ProbeRtt { .. }) {
            self.save_cwnd(self.cwnd);
            self.state = State::ProbeRtt { until: None, round_done: false };
            self.ack_phase = AckPhase::ProbeStopping;
            self.rounds.begin(sample.delivered);
            self.slow.0 = sample.delivered;
        }
        self.probe_rtt(sample, now);
        self.idle_restart = false;
    }

    fn probe_rtt(&mut self, sample: &RateSample, now: Time) {
        let few = self.probe_rtt_cwnd();
        let State::ProbeRtt { until, round_done } = &mut self.state else { return };
        self.slow.1 = sample.delivered + u64::from(sample.in_flight) + 1;
        let Some(end) = *until else {
            if f64::from(sample.in_flight) <= few {
                *until = Some(now + PROBE_RTT_TIME);
                self.rounds.begin(sample.delivered);
            }
            return;
        };
        *round_done |= self.rounds.has_begun;
        if *round_done && now > end {
            self.probe_rtt_min_stamp = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.exit_probe_rtt(sample.delivered, now);
        }
    }

    fn exit_probe_rtt(&mut self, delivered: u64, now: Time) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
        self.state = State::Startup;
        if self.full_bw_reached {
            self.start_down(delivered, now);
            self.state = State::Cruise;
        }
    }
}

/// Rate and window (5.6).
impl Bbr3 {
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => STARTUP_GAIN,
            State::Drain(_) => DRAIN_GAIN,
            State::Down => DOWN_GAIN,
            State::Up => UP_GAIN,
            State::Cruise | State::Refill | State::ProbeRtt { .. } => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Up => UP_CWND_GAIN,
            State::ProbeRtt { .. } => PROBE_RTT_CWND_GAIN,
            _ => CWND_GAIN,
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * MARGIN * self.bw();
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, sample: &RateSample, ack: &Facts) {
        let before = std::mem::replace(&mut self.recovery, ack.recovery);
        if before != Recovery::None && ack.recovery == Recovery::None {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        let acked = f64::from(sample.newly_delivered);
        let most = self.budget(self.cwnd_gain() * self.bdp(self.bw()) + self.extra_acked.get());
        if self.full_bw_reached {
            self.cwnd = (self.cwnd + acked).min(most);
        } else if self.cwnd < most || sample.delivered < INITIAL_WINDOW {
            self.cwnd += acked;
        }
        self.cwnd = self.cwnd.max(MIN_CWND);
        if let State::ProbeRtt { .. } = self.state {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = self.cwnd.min(self.bound());
    }

    /// BoundCwndForModel.
    fn bound(&self) -> f64 {
        let longterm = match self.state {
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt { .. } => self.with_headroom(),
            State::Startup | State::Drain(_) => f64::INFINITY,
        };
        longterm.min(self.inflight_shortterm).max(MIN_CWND)
    }

    /// InflightWithHeadroom.
    fn with_headroom(&self) -> f64 {
        let headroom = (HEADROOM * self.inflight_longterm).max(1.0);
        if self.inflight_longterm.is_finite() {
            (self.inflight_longterm - headroom).max(MIN_CWND)
        } else {
            f64::INFINITY
        }
    }

    fn probe_rtt_cwnd(&self) -> f64 {
        (PROBE_RTT_CWND_GAIN * self.bdp(self.bw())).max(MIN_CWND)
    }

    fn bdp(&self, bw: f64) -> f64 {
        if self.min_rtt == NO_SAMPLE { INITIAL_WINDOW as f64 } else { bw * self.min_rtt.seconds() }
    }

    /// TargetInflight.
    fn target_inflight(&self) -> f64 {
        self.bdp(self.bw()).min(self.cwnd)
    }

    fn inflight(&self, bw: f64) -> f64 {
        self.budget(self.bdp(bw))
    }

    /// QuantizationBudget.
    fn budget(&self, inflight: f64) -> f64 {
        let least = (3.0 * quantum(self.pacing_rate)).max(MIN_CWND);
        inflight.max(least) + if self.state == State::Up { 2.0 } else { 0.0 }
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let is_good = self.recovery == Recovery::None && !matches!(self.state, State::ProbeRtt { .. });
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }
}

/// RS.delivered: segments delivered since the newest one told of was sent.
fn delivered_in(sample: &RateSample) -> f64 {
    (sample.delivered - sample.prior_delivered) as f64
}

/// IsInflightTooHigh, by losses since the newest segment told of was sent.
fn is_lossy(sample: &RateSample) -> bool {
    f64::from(sample.lost) > LOSS_THRESH * f64::from(sample.tx_in_flight)
}

#[cfg(test)]
mod tests;
