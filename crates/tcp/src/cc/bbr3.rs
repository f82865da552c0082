use super::path::{AckEpoch, FullPipe, LeastRtt, RateControl, RoundCounter, RttProbe, WindowedMax};
use super::{
    CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, LostSegment, Needs, RateSample, Recovery,
    Window,
};
use crate::ecn::EcnFeedback;
use aqmlab_core::{Span, Stream, Time, params};
use bounds::{LongTermBounds, LossRound, ShortTermBounds};
use cycle::Cycle;
use ecn::EcnCounts;
use undo::BeforeLoss;

mod bounds;
mod cycle;
mod ecn;
mod output;
mod probe_rtt;
mod startup;
mod undo;

params! {
    /// BBRv3: BBR within bounds that losses set, which probes for more bandwidth every two to three seconds at the latest.
    ///
    /// ## Idea
    /// [BBR](bbr.md) measures bandwidth and minimum round-trip time of a path. BBRv3 also learns how much may be in
    /// flight: a probe that loses more than 2 % sets an upper bound, from which it keeps 15 % away between probes, and
    /// losses between probes lower rate and window until the next probe. It probes rarely enough that Reno and CUBIC
    /// have time to grow.
    ///
    /// ## Equations
    /// At every ACK that reports an arrival:
    ///
    /// ```text
    /// bw   = min(the largest delivery rate of this probing cycle and the one before, bw_shortterm)
    /// pace = 0.99*pacing_gain*bw
    /// cwnd = min(cwnd + delivered, cwnd_gain*bw*min_rtt + extra_acked, bound, inflight_shortterm), at least 4
    /// ```
    ///
    /// extra_acked is the maximum that ACKs have reported beyond bw in the last ten round trips, in startup in the last
    /// one.
    ///
    /// | state | pacing_gain | cwnd_gain | bound | ends |
    /// | --- | --- | --- | --- | --- |
    /// | startup | 2.77 | 2 | | the rate has grown by less than a quarter in three round trips; or six ACKs of a round
    /// trip in recovery reported losses of 2 % or more |
    /// | drain | 0.5 | 2 | | bw*min_rtt is in flight, or after three round trips |
    /// | down | 0.9 | 2 | inflight_longterm | bw*min_rtt is in flight and 0.85*inflight_longterm |
    /// | cruise | 1 | 2 | 0.85*inflight_longterm | 2 to 3 s after the last probe, at random; or as many round trips after it as segments are in flight, 63 at most |
    /// | refill | 1 | 2 | inflight_longterm | after a round trip |
    /// | up | 1.25 | 2.25 | inflight_longterm | the rate grows no longer, or losses exceed 2 % |
    /// | probe_rtt | 1 | 0.5 | 0.85*inflight_longterm | after 200 ms and a round trip; begins 5 s after the last shorter round trip |
    ///
    /// In refill or up, if losses exceed 2 % of the data that was in flight when the lost segment was sent:
    ///
    /// ```text
    /// inflight_longterm = max(what was in flight when the losses reached 2 %, 0.7*min(bw*min_rtt, cwnd))
    /// ```
    ///
    /// In up it grows by 1, 2, 4, ... segments in a round trip. The probe after one that lost too much ends at this
    /// bound, and if the probe is without loss, another follows at once. After a round trip with a loss, in other
    /// states:
    ///
    /// ```text
    /// bw_shortterm       = max(the largest rate of this round trip, 0.7*bw_shortterm)
    /// inflight_shortterm = max(the most delivered in it, 0.7*inflight_shortterm)
    /// ```
    ///
    /// ## What to expect
    /// Alone it fills the link to 97 %, with a queue while it probes only. In a buffer of one product of the path,
    /// several flows lose a tenth of BBR's losses. Its share and BBR's when competing with one CUBIC flow (profile
    /// `linux`, droptail, mean of three seeds), by the buffer in products of the path:
    ///
    /// | link | RTT | 1 | 4 | BBR, 1 | BBR, 4 |
    /// | --- | --- | --- | --- | --- | --- |
    /// | 20 Mbit/s | 40 ms | 51 % | 53 % | 89 % | 45 % |
    /// | 100 Mbit/s | 40 ms | 81 % | 56 % | 89 % | 42 % |
    /// | 100 Mbit/s | 100 ms | 85 % | 42 % | 86 % | 39 % |
    ///
    /// Measurements of Google's BBRv3 agree in words: it leaves CUBIC little or no room at equal round-trip times
    /// (Zeynali et al., PAM 2024), as BBRv2 does, depending on buffer and number of flows (Gomez et al., Computer
    /// Communications, 2024). Their printed numbers are compared with the simulator in [BBR: buffers, shares and
    /// AQMs](../bbr.md).
    ///
    /// ## Readings
    /// The draft leaves ECN out. As in Google's BBRv3, marks count if the minimum round-trip time is at most
    /// `ecn_max_rtt`: alpha is their share, smoothed with 1/16 a round trip; a round trip with marks cuts
    /// inflight_shortterm by alpha/3; a share of half ends a probe and, in two round trips, startup. On longer round
    /// trips a mark changes nothing: BBRv3 then ignores an AQM that marks instead of dropping. Random numbers come from
    /// a stream of the sender.
    ///
    /// ## Departures
    /// The share of marks that ends a probe is measured over the last round trip, not since the newest segment was
    /// sent. Losses that end startup are counted by ACKs, as Google's BBRv3 does. The quantum is BBR's, pace/1024 s. It
    /// goes with loss recovery `rack`, whose window it replaces.
    pub struct Bbr3Params {
        /// Maximum of the minimum round-trip time for which marks count.
        ecn_max_rtt: Span = "5 ms" in "0 s" ..= "100 s", from "Google's BBRv3 (ecn_max_rtt_us)";
        /// Pacing rate in drain, as a share of the bandwidth.
        drain_gain: f64 = "0.5" in "0.01" ..= "0.99", from "draft, section 5.3.2 (BBR.DrainPacingGain)";
        /// Time without a shorter round trip after which probe_rtt begins.
        probe_rtt_interval: Span = "5 s" in "100 ms" ..= "1000 s", from "draft, section 5.3.4 (BBR.ProbeRTTInterval)";
        /// Time for which a minimum round-trip time is valid.
        min_rtt_filter: Span = "10 s" in "100 ms" ..= "1000 s", from "draft, section 5.5.7 (BBR.MinRTTFilterLen)";
        /// The limit on data in flight in probe_rtt follows from min_rtt as it was before probe_rtt began.
        probe_rtt_by_old: bool = "false", from "Cardwell, draft-ietf-ccwg-bbr issue 109";
    }
}

const STARTUP_GAIN: f64 = 2.77;
/// LossThresh, Beta.
const LOSS_THRESH: f64 = 0.02;
const BETA: f64 = 0.7;
/// ExtraAckedFilterLen: round trips, once the pipe has been full.
const EXTRA_ACKED_ROUNDS: u64 = 10;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Startup,
    /// Since that round trip.
    Drain(u64),
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

/// BBRv3's model of the path. See [`Bbr3Params`]; names are the draft's.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    params: Bbr3Params,
    random: Stream,
    state: State,
    rounds: RoundCounter,
    /// Greatest delivery rate of the cycle before, and of this one.
    max_bw: [f64; 2],
    min_rtt: LeastRtt,
    /// The same for when to probe for it.
    probe_rtt_min: LeastRtt,
    probe: RttProbe,
    /// The window of the probe, if it was decided when that began.
    probe_cwnd: Option<f64>,
    full: FullPipe,
    ack_epoch: AckEpoch,
    extra_acked: WindowedMax,
    loss_round: LossRound,
    /// ACKs that told of losses in this round trip of startup.
    loss_events: u32,
    short_term: ShortTermBounds,
    long_term: LongTermBounds,
    before_loss: BeforeLoss,
    cycle: Cycle,
    ecn: EcnCounts,
    /// Segments delivered when the window was last full.
    limited_at: Option<u64>,
    idle_restart: bool,
    control: RateControl,
}

impl CongestionControlLaw for Bbr3 {
    const INFO: LawInfo = LawInfo { name: "bbr3", title: "BBRv3", year: 2023, source: "draft-ietf-ccwg-bbr-06" };
    const NEEDS: Needs =
        Needs { feedback: EcnFeedback::Counter, rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    const PHASES: &'static [&'static str] =
        &["startup", "drain", "probe_bw_down", "probe_bw_cruise", "probe_bw_refill", "probe_bw_up", "probe_rtt"];
    type Params = Bbr3Params;

    fn new(params: Bbr3Params) -> Self {
        Self {
            params,
            random: Stream::new(0, "tcp.bbr3", 0),
            state: State::Startup,
            rounds: RoundCounter::default(),
            max_bw: [0.0; 2],
            min_rtt: LeastRtt::NONE,
            probe_rtt_min: LeastRtt::NONE,
            probe: RttProbe::default(),
            probe_cwnd: None,
            full: FullPipe::default(),
            ack_epoch: AckEpoch::default(),
            extra_acked: WindowedMax::default(),
            loss_round: LossRound::default(),
            loss_events: 0,
            short_term: ShortTermBounds::UNBOUNDED,
            long_term: LongTermBounds::UNBOUNDED,
            before_loss: BeforeLoss::NONE,
            cycle: Cycle::START,
            ecn: EcnCounts::NONE,
            limited_at: None,
            idle_restart: false,
            control: RateControl::default(),
        }
    }
}

impl CongestionControl for Bbr3 {
    fn seed(&mut self, seed: u64) {
        self.random = Stream::new(seed, "tcp.bbr3", 0);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        if self.before_loss.is_spurious {
            self.undo_loss(ack.sample.map_or(self.rounds.delivered, |sample| sample.delivered));
        }
        let Some(mut sample) = ack.sample else { return };
        if self.control.pacing_rate == 0.0 {
            self.begin(window, ack, &sample);
        }
        self.control.cwnd = window.cwnd;
        sample.is_app_limited = self.probe.is_slow(&sample);
        self.note_limit(&sample, ack);
        self.update_model(&sample, ack);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(&sample, ack);
        window.cwnd = self.control.cwnd;
    }

    /// HandleLostPacket.
    fn on_lost(&mut self, lost: &LostSegment) {
        self.save_state();
        self.loss_round.on_lost(lost.delivered);
        let (in_flight, count) = (f64::from(lost.tx_in_flight), f64::from(lost.lost));
        if self.cycle.is_probe_sample && count > LOSS_THRESH * in_flight {
            let fits = inflight_at_loss(in_flight, count);
            self.handle_inflight_too_high(fits, lost.is_app_limited, lost.delivered, lost.now);
        }
    }

    fn kept(&self, _: CongestionEvent) -> f64 {
        1.0
    }

    fn on_congestion(&mut self, _: CongestionEvent, window: &Window) {
        self.control.save_cwnd(window.cwnd, self.state == State::ProbeRtt);
    }

    fn on_timeout(&mut self) {
        self.control.recovery = Recovery::Timeout;
    }

    fn on_recovered(&mut self, _: &mut Window) {}

    fn on_undo(&mut self) {
        self.before_loss.is_spurious = true;
    }

    /// HandleRestartFromIdle.
    fn on_resume(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.ack_epoch.begin(now);
        if self.is_in_probe_bw() {
            self.set_pacing_rate(1.0);
        } else if self.state == State::ProbeRtt && self.probe.is_time_over(now) {
            self.control.cwnd = window.cwnd;
            self.leave_probe_rtt(now);
            window.cwnd = self.control.cwnd;
        }
    }

    fn on_restart(&mut self, window: &mut Window, is_app_limited: bool, now: Time) {
        if is_app_limited || self.probe.slows(self.rounds.delivered) {
            self.on_resume(window, now);
        }
    }

    fn phase(&self) -> Option<&'static str> {
        let [startup, drain, down, cruise, refill, up, probe_rtt] = *Self::PHASES else { return None };
        Some(match self.state {
            State::Startup => startup,
            State::Drain(_) => drain,
            State::Down => down,
            State::Cruise => cruise,
            State::Refill => refill,
            State::Up => up,
            State::ProbeRtt => probe_rtt,
        })
    }

    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("max_bw", self.max_bw()),
            ("bw_shortterm", self.short_term.bw),
            ("inflight_shortterm", self.short_term.inflight),
            ("inflight_longterm", self.long_term.inflight),
            ("inflight_with_headroom", self.with_headroom()),
            ("inflight_bdp", self.inflight(self.bw())),
            ("bdp", self.bdp(self.bw())),
            ("extra_acked", self.extra_acked.get()),
            ("min_rtt", self.min_rtt.rtt.seconds()),
            ("probe_rtt_min_stamp", self.probe_rtt_min.stamp.seconds()),
            ("full_bw_count", self.full.rounds.into()),
            ("full_bw_now", self.full.now.into()),
            ("full_bw_reached", self.full.reached.into()),
            ("round_count", self.rounds.count as f64),
            ("bw_probe_up_rounds", self.long_term.rounds.into()),
            ("bw_probe_wait", self.cycle.wait.seconds()),
            ("idle_restart", self.idle_restart.into()),
            ("pacing_gain", self.pacing_gain()),
            ("cwnd_gain", self.cwnd_gain()),
        ]
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.control.pacing_rate > 0.0).then_some(self.control.pacing_rate)
    }

    fn send_quantum(&self) -> u32 {
        self.control.quantum() as u32
    }
}

/// The volume in flight when the share of losses became too large; `in_flight` and `lost` count the segment that is found lost.
fn inflight_at_loss(in_flight: f64, lost: f64) -> f64 {
    let (in_flight, lost) = (in_flight - 1.0, lost - 1.0);
    in_flight + ((LOSS_THRESH * in_flight - lost) / (1.0 - LOSS_THRESH)).max(0.0)
}

/// IsInflightTooHigh, by losses since the newest segment told of was sent.
fn is_lossy(sample: &RateSample) -> bool {
    f64::from(sample.lost) > LOSS_THRESH * f64::from(sample.tx_in_flight)
}

/// The model, once per ACK (draft, section 5.2.3).
impl Bbr3 {
    fn begin(&mut self, window: &Window, ack: &Facts, sample: &RateSample) {
        self.control.pacing_rate = STARTUP_GAIN * window.cwnd / ack.srtt.seconds().max(1e-6);
        self.min_rtt = LeastRtt::known(sample, ack.now);
        self.probe_rtt_min = self.min_rtt;
        self.ack_epoch.begin(ack.now);
    }

    /// C.is_cwnd_limited: the window was full in the last round trip.
    fn note_limit(&mut self, sample: &RateSample, ack: &Facts) {
        if f64::from(ack.flight) >= self.control.cwnd.floor() {
            self.limited_at = Some(sample.delivered - u64::from(sample.newly_delivered));
        }
    }

    fn is_cwnd_limited(&self, sample: &RateSample) -> bool {
        self.limited_at.is_some_and(|at| at >= sample.prior_delivered)
    }

    fn update_model(&mut self, sample: &RateSample, ack: &Facts) {
        self.loss_round.update(sample);
        self.update_max_bw(sample);
        if self.min_rtt.rtt <= self.params.ecn_max_rtt {
            self.ecn.update(sample.newly_delivered, ack.marked, self.rounds.has_begun);
        }
        if self.loss_round.has_begun {
            self.adapt_lower_bounds();
            (self.loss_round.has_loss, self.ecn.in_round) = (false, false);
        }
        if sample.rate > 0.0 {
            let extra = self.ack_epoch.extra(sample.newly_delivered, self.bw(), false, ack.now);
            let window = if self.full.reached { EXTRA_ACKED_ROUNDS } else { 1 };
            self.extra_acked.update(window, self.rounds.count, extra.min(self.control.cwnd));
        }
        self.check_full_bw(sample);
        self.check_startup(sample, ack);
        self.check_drain(sample, ack.now);
        if self.full.reached {
            self.update_cycle(sample, ack.now);
        }
        self.update_min_rtt(sample, ack.now);
        self.loss_round.advance(sample);
    }

    fn update_max_bw(&mut self, sample: &RateSample) {
        self.rounds.note(sample);
        self.cycle.rounds += u32::from(self.rounds.has_begun);
        if !sample.is_app_limited || sample.rate >= self.max_bw() {
            self.max_bw[1] = self.max_bw[1].max(sample.rate);
        }
    }

    fn max_bw(&self) -> f64 {
        self.max_bw[0].max(self.max_bw[1])
    }

    fn bw(&self) -> f64 {
        self.max_bw().min(self.short_term.bw)
    }

    /// Once per round trip, when it does not probe: losses and marks bound rate and volume.
    fn adapt_lower_bounds(&mut self) {
        if matches!(self.state, State::Startup | State::Refill | State::Up) {
            return;
        }
        let cut = self.ecn.kept() * self.short_term.inflight_or(self.control.cwnd);
        if self.loss_round.has_loss {
            let max_bw = self.max_bw();
            self.short_term.on_loss(&self.loss_round, max_bw, self.control.cwnd);
        }
        if self.ecn.in_round {
            self.short_term.inflight = self.short_term.inflight.min(cut);
        }
    }
}

#[cfg(test)]
mod tests;
