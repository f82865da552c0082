use super::{CongestionControl, Event, Facts, Info, Law, Needs, RateSample, Recovery, Window};
use aqmlab_core::{Span, Stream, Time, params};

params! {
    /// BBR: sends at the rate that the path has shown to deliver and keeps twice the path's product in flight.
    pub struct BbrParams {}
}

/// Gains in 256ths, as Linux has them. The rate doubles in a round trip with 2/ln 2.
const HIGH_GAIN: f64 = 739.0 / 256.0;
const DRAIN_GAIN: f64 = 88.0 / 256.0;
const CWND_GAIN: f64 = 2.0;
/// Gains of the pace while it probes for more bandwidth, each for about a least round-trip time.
const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// Round trips that a delivery rate is remembered for.
const BW_ROUNDS: u64 = 10;
/// Pace below the bandwidth.
const MARGIN: f64 = 0.99;
const MIN_RTT_WINDOW: Span = Span::from_secs(10);
const PROBE_RTT_TIME: Span = Span::from_millis(200);
/// Least window, which the window is while it probes for the round-trip time.
const MIN_CWND: f64 = 4.0;
/// Linux: TCP_INIT_CWND.
const INITIAL_WINDOW: u64 = 10;
/// The pipe is full when the bandwidth has not grown by a quarter in three round trips.
const FULL_GROWTH: f64 = 1.25;
const FULL_ROUNDS: u32 = 3;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The bandwidth grows.
    Startup,
    /// What startup has left in the queue drains.
    Drain,
    /// This gain of the cycle, since that time.
    ProbeBw(usize, Time),
    /// Few segments in flight. Once there are, `until` says how long, and `round_done` whether a round trip has passed.
    ProbeRtt { until: Option<Time>, round_done: bool },
}

/// BBR's model of the path. See [`BbrParams`]; names are those of Linux.
#[derive(Clone, Debug)]
pub struct Bbr {
    state: State,
    random: Stream,
    max_bw: WindowedMax,
    long_term: LongTerm,
    rounds: Rounds,
    min_rtt: Span,
    min_rtt_stamp: Time,
    /// Bandwidth when it last grew by a quarter, and round trips since.
    full_bw: f64,
    full_bw_count: u32,
    full_bw_reached: bool,
    extra_acked: ExtraAcked,
    /// What loss recovery was at, at the ACK before.
    recovery: Recovery,
    /// As many segments are sent as arrive: the first round trip of recovery.
    packet_conservation: bool,
    /// Window before recovery or [`State::ProbeRtt`].
    prior_cwnd: f64,
    /// Segments sent when so many were delivered have a low rate, because of [`State::ProbeRtt`].
    slow: (u64, u64),
    /// A pause has ended, and nothing sent since has arrived.
    idle_restart: bool,
    pacing_rate: f64,
    /// The window that it has set.
    cwnd: f64,
}

impl Law for Bbr {
    const INFO: Info = Info { name: "bbr", title: "BBR", year: 2016, source: "Cardwell et al., ACM Queue 14(5); Linux 6.1" };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    type Params = BbrParams;

    fn new(_: BbrParams) -> Self {
        Self {
            state: State::Startup,
            random: Stream::new(0, "tcp.bbr", 0),
            max_bw: WindowedMax::default(),
            long_term: LongTerm::default(),
            rounds: Rounds::default(),
            min_rtt: Span::ZERO,
            min_rtt_stamp: Time::ZERO,
            full_bw: 0.0,
            full_bw_count: 0,
            full_bw_reached: false,
            extra_acked: ExtraAcked::default(),
            recovery: Recovery::None,
            packet_conservation: false,
            prior_cwnd: 0.0,
            slow: (0, 0),
            idle_restart: false,
            pacing_rate: 0.0,
            cwnd: 0.0,
        }
    }
}

impl CongestionControl for Bbr {
    fn seed(&mut self, seed: u64) {
        self.random = Stream::new(seed, "tcp.bbr", 0);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        let Some(sample) = ack.sample else { return };
        if self.pacing_rate == 0.0 {
            self.begin(window, ack, &sample);
        }
        self.cwnd = window.cwnd;
        self.update_bw(&sample, ack);
        self.update_extra_acked(&sample, ack.now);
        self.update_cycle(ack);
        self.check_full_bw(&sample);
        self.check_drain(&sample, ack.now);
        self.update_min_rtt(&sample, ack.now);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(&sample, ack);
        window.cwnd = self.cwnd;
    }

    fn kept(&self, _: Event) -> f64 {
        1.0
    }

    /// The last window that was good is kept for when recovery is over.
    fn on_congestion(&mut self, event: Event, window: &Window) {
        self.save_cwnd(window.cwnd);
        if event == Event::Timeout {
            self.full_bw = 0.0;
        }
    }

    fn on_timeout(&mut self) {
        self.recovery = Recovery::Timeout;
    }

    fn on_recovered(&mut self, _: &mut Window) {}

    fn on_resume(&mut self, now: Time) {
        self.idle_restart = true;
        self.extra_acked.begin_epoch(now);
        if let State::ProbeBw(..) = self.state {
            self.set_pacing_rate(1.0);
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        (self.pacing_rate > 0.0).then_some(self.pacing_rate)
    }

    fn send_quantum(&self) -> u32 {
        self.quantum() as u32
    }
}

impl Bbr {
    /// The first ACK of data: until it, nothing is paced.
    fn begin(&mut self, window: &Window, ack: &Facts, sample: &RateSample) {
        self.pacing_rate = HIGH_GAIN * MARGIN * window.cwnd / ack.srtt.seconds();
        (self.min_rtt, self.min_rtt_stamp) = (sample.min_rtt, ack.now);
        self.extra_acked.begin_epoch(ack.now);
    }

    fn update_bw(&mut self, sample: &RateSample, ack: &Facts) {
        self.rounds.note(sample);
        if self.rounds.has_begun {
            self.packet_conservation = false;
        }
        let is_cycling = matches!(self.state, State::ProbeBw(..));
        if self.long_term.update(sample, self.is_slow(sample), self.rounds.has_begun, is_cycling, ack) {
            self.probe_bw(ack.now);
        }
        if !self.is_slow(sample) || sample.rate >= self.max_bw.get() {
            self.max_bw.update(BW_ROUNDS, self.rounds.count, sample.rate);
        }
    }

    /// The rate is not the network's but the application's, or that of [`State::ProbeRtt`].
    fn is_slow(&self, sample: &RateSample) -> bool {
        sample.is_app_limited || (self.slow.0..self.slow.1).contains(&sample.prior_delivered)
    }

    fn bw(&self) -> f64 {
        self.long_term.bw().unwrap_or(self.max_bw.get())
    }

    fn update_extra_acked(&mut self, sample: &RateSample, now: Time) {
        if sample.rate > 0.0 {
            let has_begun = self.rounds.has_begun;
            self.extra_acked.update(sample.newly_delivered, self.bw(), self.cwnd, has_begun, now);
        }
    }

    /// A gain above 1 lasts until it has filled the pipe, or losses say that it cannot; one below 1 ends when the pipe is no
    /// more than full.
    fn update_cycle(&mut self, ack: &Facts) {
        let State::ProbeBw(i, since) = self.state else { return };
        let (gain, in_flight) = (self.pacing_gain(), f64::from(ack.flight));
        let is_full_length = ack.now.since(since) > self.min_rtt;
        let is_over = if gain > 1.0 {
            is_full_length && (ack.lost > 0 || in_flight + self.quantum() >= self.inflight(gain))
        } else {
            is_full_length || gain < 1.0 && in_flight <= self.inflight(1.0)
        };
        if is_over {
            self.state = State::ProbeBw((i + 1) % CYCLE.len(), ack.now);
        }
    }

    fn check_full_bw(&mut self, sample: &RateSample) {
        if self.full_bw_reached || !self.rounds.has_begun || self.is_slow(sample) {
            return;
        }
        if self.max_bw.get() >= FULL_GROWTH * self.full_bw {
            (self.full_bw, self.full_bw_count) = (self.max_bw.get(), 0);
        } else {
            self.full_bw_count += 1;
            self.full_bw_reached = self.full_bw_count >= FULL_ROUNDS;
        }
    }

    fn check_drain(&mut self, sample: &RateSample, now: Time) {
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
        }
        if self.state == State::Drain && f64::from(sample.in_flight) <= self.inflight(1.0) {
            self.probe_bw(now);
        }
    }

    /// Begins anywhere in the cycle but where the queue drains.
    fn probe_bw(&mut self, now: Time) {
        let i = CYCLE.len() - self.random.below(CYCLE.len() as u32 - 1) as usize;
        self.state = State::ProbeBw(i % CYCLE.len(), now);
    }

    fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        let is_expired = now.since(self.min_rtt_stamp) > MIN_RTT_WINDOW;
        if let Some(rtt) = sample.rtt
            && (rtt <= self.min_rtt || is_expired)
        {
            (self.min_rtt, self.min_rtt_stamp) = (rtt, now);
        }
        let probes = matches!(self.state, State::ProbeRtt { .. });
        if is_expired && !self.idle_restart && !probes {
            self.save_cwnd(self.cwnd);
            self.state = State::ProbeRtt { until: None, round_done: false };
            self.slow.0 = sample.delivered;
        }
        self.probe_rtt(sample, now);
        self.idle_restart = false;
    }

    /// At least 200 ms and a round trip with few segments in flight.
    fn probe_rtt(&mut self, sample: &RateSample, now: Time) {
        let State::ProbeRtt { until, round_done } = &mut self.state else { return };
        self.slow.1 = sample.delivered + u64::from(sample.in_flight) + 1;
        let Some(end) = *until else {
            if f64::from(sample.in_flight) <= MIN_CWND {
                *until = Some(now + PROBE_RTT_TIME);
                self.rounds.begin(sample.delivered);
            }
            return;
        };
        *round_done |= self.rounds.has_begun;
        if *round_done && now > end {
            self.min_rtt_stamp = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            match self.full_bw_reached {
                true => self.probe_bw(now),
                false => self.state = State::Startup,
            }
        }
    }

    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeBw(i, _) if self.long_term.bw().is_none() => CYCLE[i],
            State::ProbeBw(..) | State::ProbeRtt { .. } => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw(..) => CWND_GAIN,
            State::ProbeRtt { .. } => 1.0,
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        let rate = gain * MARGIN * self.bw();
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    fn set_cwnd(&mut self, sample: &RateSample, ack: &Facts) {
        let acked = f64::from(sample.newly_delivered);
        if !self.recovers(sample, ack) {
            let target = self.budget(self.bdp(self.bw(), self.cwnd_gain()) + self.aggregation());
            if self.full_bw_reached {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || sample.delivered < INITIAL_WINDOW {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(MIN_CWND);
        }
        if let State::ProbeRtt { .. } = self.state {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// Lost segments leave the window. As many are sent as arrive in the first round trip of recovery, when it is true; the
    /// window is what it was when recovery is over.
    fn recovers(&mut self, sample: &RateSample, ack: &Facts) -> bool {
        let conserved = f64::from(sample.in_flight + sample.newly_delivered);
        self.cwnd = (self.cwnd - f64::from(ack.lost)).max(1.0);
        let before = std::mem::replace(&mut self.recovery, ack.recovery);
        if ack.recovery == Recovery::Fast && before != Recovery::Fast {
            self.packet_conservation = true;
            self.rounds.begin(sample.delivered);
            self.cwnd = conserved;
        } else if before != Recovery::None && ack.recovery == Recovery::None {
            self.packet_conservation = false;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
        }
        if self.packet_conservation {
            self.cwnd = self.cwnd.max(conserved);
        }
        self.packet_conservation
    }

    fn save_cwnd(&mut self, cwnd: f64) {
        let is_good = self.recovery == Recovery::None && !matches!(self.state, State::ProbeRtt { .. });
        self.prior_cwnd = if is_good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// So many times what the path holds without a queue.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        (gain * bw * self.min_rtt.seconds()).ceil()
    }

    /// The data in flight that a gain aims at.
    fn inflight(&self, gain: f64) -> f64 {
        self.budget(self.bdp(self.max_bw.get(), gain))
    }

    /// With room for what waits in the sending and the receiving host.
    fn budget(&self, inflight: f64) -> f64 {
        let even = ((inflight + 3.0 * self.quantum()) / 2.0).ceil() * 2.0;
        if matches!(self.state, State::ProbeBw(0, _)) { even + 2.0 } else { even }
    }

    fn quantum(&self) -> f64 {
        quantum(self.pacing_rate)
    }

    /// Room for ACKs that come together.
    fn aggregation(&self) -> f64 {
        let most = (self.bw() * 0.1).floor();
        if self.full_bw_reached { self.extra_acked.get().min(most) } else { 0.0 }
    }
}

/// Segments that Linux sends at once at a rate: what a 1024th of a second takes, 64 KB at most, two at least above 1.2 Mbit/s.
pub(super) fn quantum(rate: f64) -> f64 {
    let least = if rate < 100.0 { 1.0 } else { 2.0 };
    (rate / 1024.0).floor().clamp(least, 44.0)
}

/// The rate that a policer lets through: two intervals in a row had many losses and about the same rate.
#[derive(Clone, Debug, Default)]
struct LongTerm {
    stage: Stage,
    /// Rate of the interval before, or of the policer; 0: none yet.
    bw: f64,
    /// Round trips of the interval, or with that rate.
    rounds: u32,
    /// Segments lost so far.
    lost: u32,
    /// Time, segments delivered and lost when the interval began.
    since: (Time, u64, u32),
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Stage {
    /// No segment has been lost.
    #[default]
    Waiting,
    Sampling,
    /// There is a policer.
    Policed,
}

impl LongTerm {
    /// Round trips of an interval, at least and at most, and those for which a policer is believed in.
    const ROUNDS: (u32, u32) = (4, 16);
    const POLICED_ROUNDS: u32 = 48;
    /// Segments lost per segment delivered, at least.
    const LOSS: f64 = 50.0 / 256.0;

    fn bw(&self) -> Option<f64> {
        (self.stage == Stage::Policed).then_some(self.bw)
    }

    /// True if there is a policer no longer.
    fn update(&mut self, sample: &RateSample, is_slow: bool, has_begun: bool, is_cycling: bool, ack: &Facts) -> bool {
        self.lost += ack.lost;
        if sample.rate == 0.0 {
            return false;
        }
        if self.stage == Stage::Policed {
            self.rounds += u32::from(is_cycling && has_begun);
            let is_over = self.rounds >= Self::POLICED_ROUNDS;
            if is_over {
                self.reset();
            }
            return is_over;
        }
        if self.stage == Stage::Waiting && ack.lost > 0 {
            self.stage = Stage::Sampling;
            self.begin(sample, ack.now);
        }
        self.rounds += u32::from(has_begun);
        if self.stage == Stage::Waiting || is_slow || self.rounds > Self::ROUNDS.1 {
            self.reset();
        } else if self.rounds >= Self::ROUNDS.0 && ack.lost > 0 {
            self.end_interval(sample, ack.now);
        }
        false
    }

    fn end_interval(&mut self, sample: &RateSample, now: Time) {
        let (since, delivered, lost) = self.since;
        let (delivered, lost) = ((sample.delivered - delivered) as f64, f64::from(self.lost - lost));
        let time = now.since(since).seconds();
        if lost < Self::LOSS * delivered || time < 1e-3 {
            return;
        }
        let rate = delivered / time;
        if self.bw > 0.0 && (rate - self.bw).abs() <= (self.bw / 8.0).max(1.0 / 3.0) {
            (self.stage, self.bw, self.rounds) = (Stage::Policed, (self.bw + rate) / 2.0, 0);
        } else {
            self.bw = rate;
            self.begin(sample, now);
        }
    }

    fn begin(&mut self, sample: &RateSample, now: Time) {
        (self.since, self.rounds) = ((now, sample.delivered, self.lost), 0);
    }

    fn reset(&mut self) {
        (self.stage, self.bw, self.rounds) = (Stage::Waiting, 0.0, 0);
    }
}

/// Round trips, counted by deliveries: one ends when a segment arrives that was sent after it began.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    pub count: u64,
    /// One has begun with this ACK.
    pub has_begun: bool,
    next: u64,
}

impl Rounds {
    /// Takes in an ACK.
    pub fn note(&mut self, sample: &RateSample) {
        self.has_begun = sample.rate > 0.0 && sample.prior_delivered >= self.next;
        if self.has_begun {
            self.begin(sample.delivered);
            self.count += 1;
        }
    }

    /// One begins now.
    pub fn begin(&mut self, delivered: u64) {
        self.next = delivered;
    }
}

/// The most that ACKs have told of beyond what the bandwidth explains, over the last five to ten round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct ExtraAcked {
    epoch: Time,
    acked: f64,
    most: [f64; 2],
    index: usize,
    rounds: u32,
}

impl ExtraAcked {
    pub fn begin_epoch(&mut self, now: Time) {
        (self.epoch, self.acked) = (now, 0.0);
    }

    pub fn get(&self) -> f64 {
        self.most[0].max(self.most[1])
    }

    /// An ACK tells of `delivered` segments.
    pub fn update(&mut self, delivered: u32, bw: f64, cwnd: f64, round_has_begun: bool, now: Time) {
        if round_has_begun {
            self.rounds += 1;
            if self.rounds >= 5 {
                (self.rounds, self.index) = (0, 1 - self.index);
                self.most[self.index] = 0.0;
            }
        }
        let mut expected = (bw * now.since(self.epoch).seconds()).floor();
        if self.acked <= expected {
            self.begin_epoch(now);
            expected = 0.0;
        }
        self.acked += f64::from(delivered);
        let extra = (self.acked - expected).min(cwnd);
        self.most[self.index] = self.most[self.index].max(extra);
    }
}

/// The largest of the values in a window of time, by three of them (Nichols: the largest, and the largest after it, and after
/// that one, as candidates for when it is too old).
#[derive(Clone, Debug, Default)]
struct WindowedMax([(u64, f64); 3]);

impl WindowedMax {
    fn get(&self) -> f64 {
        self.0[0].1
    }

    fn update(&mut self, window: u64, now: u64, value: f64) {
        let (best, new) = (&mut self.0, (now, value));
        if value >= best[0].1 || now - best[2].0 > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].1 {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].1 {
            best[2] = new;
        }
        let age = now - best[0].0;
        if age > window {
            *best = [best[1], best[2], new];
            if now - best[0].0 > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].0 == best[0].0 && age > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].0 == best[1].0 && age > window / 2 {
            best[2] = new;
        }
    }
}
