use super::path::{ExtraAcked, LongTerm, Rounds, WindowedMax, quantum};
use super::{CongestionControl, Event, Facts, Info, Law, Needs, RateSample, Recovery, Window};
use aqmlab_core::{Span, Stream, Time, params};

params! {
    /// BBR: sends at the rate that the path has shown to deliver, with at most twice the path's product in flight.
    ///
    /// ## Idea
    /// A path is full, and its queue empty, when as much is in flight as its bandwidth and its least round-trip time multiply
    /// to. BBR measures both, one at a time: it sends faster for a while and looks whether more arrives, and every ten seconds it
    /// sends next to nothing and looks how short the round trip is. A loss is no signal of congestion to it, nor is a mark.
    ///
    /// ## Equations
    /// At every ACK that tells of an arrival:
    ///
    /// ```text
    /// bw      = the largest delivery rate of the last ten round trips
    /// min_rtt = the least round-trip time of the last ten seconds
    /// pace    = 0.99*pacing_gain*bw
    /// target  = cwnd_gain*bw*min_rtt + extra_acked + 3*quantum, even; 2 more while the pace probes
    /// cwnd    = min(cwnd + delivered, target), at least 4
    /// ```
    ///
    /// | state | pacing_gain | cwnd_gain | ends |
    /// | --- | --- | --- | --- |
    /// | startup | 2.89 | 2.89 | bw has grown by less than a quarter in three round trips |
    /// | drain | 0.34 | 2.89 | bw*min_rtt is in flight, or less |
    /// | probe_bw | 1.25, 0.75, then six times 1 | 2 | each gain after min_rtt; 1.25 not before 1.25*bw*min_rtt is in flight or a segment is lost, 0.75 as soon as bw*min_rtt is |
    /// | probe_rtt | 1 | four segments | after 200 ms and a round trip with four in flight |
    ///
    /// extra_acked is the most that ACKs have told of beyond bw in the last five to ten round trips, at most 100 ms of bw.
    /// quantum is what is sent at once: pace/1024 s, two segments at least above 1.2 Mbit/s.
    ///
    /// A lost segment leaves the window. In the first round trip of recovery as many are sent as arrive; when recovery ends,
    /// the window is what it was. After a timeout it is one segment more than is in flight. If a fifth of the segments is lost
    /// in two intervals of 4 to 16 round trips, and both had the same rate to an eighth, a policer is at work: the pace is that
    /// rate for 48 round trips.
    ///
    /// ## What to expect
    /// Alone it fills the link to 98 % (the pace is 1 % below bw, and probe_rtt takes 2 %) with a queue of a few packets. Several
    /// flows overestimate their shares: the window keeps up to a product of the path in the queue, and a shorter
    /// buffer loses a tenth of the packets. Beside one CUBIC flow it takes 85 % of the link at a buffer of one product, and less
    /// the longer the buffer. An AQM that asks for fewer packets by drops or marks is not heard.
    ///
    /// ## Readings
    /// All is as in Linux 6.1 (net/ipv4/tcp_bbr.c): gains in 256ths, the bandwidth filter of three candidates, no pace for the
    /// first window. Marks are ignored, and not counted as answered. It goes with loss recovery `rack`, whose window it replaces.
    ///
    /// ## Departures
    /// Times are exact, where Linux rounds those of min_rtt to a jiffy. What waits for its pace in the host is not
    /// subtracted from what is in flight (less than a quantum). A spurious timeout does not begin the search for the full
    /// bandwidth again, and a timeout does not end an interval of the search for a policer. A policer's rates are the same
    /// within 4 kbit/s of packets of 1500 B too.
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
const NO_SAMPLE: Span = Span(u64::MAX);
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
    const INFO: Info =
        Info { name: "bbr", title: "BBR", year: 2016, source: "Cardwell et al., ACM Queue 14(5); Linux 6.1" };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    type Params = BbrParams;

    fn new(_: BbrParams) -> Self {
        Self {
            state: State::Startup,
            random: Stream::new(0, "tcp.bbr", 0),
            max_bw: WindowedMax::default(),
            long_term: LongTerm::default(),
            rounds: Rounds::default(),
            min_rtt: NO_SAMPLE,
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
        self.pacing_rate = HIGH_GAIN * MARGIN * window.cwnd / ack.srtt.seconds().max(1e-6);
        self.min_rtt = if sample.min_rtt == Span::ZERO { NO_SAMPLE } else { sample.min_rtt };
        self.min_rtt_stamp = ack.now;
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
        if self.min_rtt == NO_SAMPLE {
            return INITIAL_WINDOW as f64;
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: f64) -> Time {
        Time::ZERO + Span::from_seconds(ms / 1e3)
    }

    /// BBR behind a path whose round trips take 40 ms, and what it has been told so far.
    struct Bench {
        bbr: Bbr,
        window: Window,
        delivered: u64,
        /// What had been delivered when the segments were sent that now arrive; if `None`, all of it: a round trip ends.
        prior: Option<u64>,
        now: f64,
    }

    impl Bench {
        fn new() -> Self {
            let window = Window { cwnd: 10.0, ssthresh: 1e6 };
            Self { bbr: Bbr::new(BbrParams {}), window, delivered: 0, prior: None, now: 0.0 }
        }

        /// An ACK of `acked` segments of 200, 40 ms after the one before, that ends a round trip with this delivery rate.
        fn round(&mut self, acked: u32, rate: f64) {
            self.ack(40.0, acked, rate, Facts { flight: 200, ..Facts::default() });
        }

        fn ack(&mut self, after: f64, acked: u32, rate: f64, facts: Facts) {
            let prior_delivered = self.prior.unwrap_or(self.delivered);
            self.delivered += u64::from(acked);
            self.now += after;
            let rtt = Span::from_millis(40);
            let sample = RateSample {
                newly_delivered: acked,
                delivered: self.delivered,
                prior_delivered,
                in_flight: facts.flight.saturating_sub(acked),
                rate,
                rtt: Some(rtt),
                min_rtt: rtt,
                ..RateSample::default()
            };
            let facts = Facts { acked, srtt: rtt, now: at(self.now), sample: Some(sample), ..facts };
            self.bbr.on_feedback(&mut self.window, &facts);
        }

        /// At 1000 segments a second, in `ProbeBw`, with 40 segments in flight, all that the path holds.
        fn cruising() -> Self {
            let mut bench = Self::new();
            (0..4).for_each(|_| bench.round(40, 1000.0));
            assert_eq!(bench.bbr.state, State::Drain);
            bench.ack(40.0, 40, 1000.0, Facts { flight: 80, ..Facts::default() });
            assert!(matches!(bench.bbr.state, State::ProbeBw(..)));
            bench
        }

        fn pace(&self) -> f64 {
            self.bbr.pacing_rate().expect("paces")
        }
    }

    fn close(value: f64, expected: f64) {
        assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn the_first_pace_is_that_of_the_window_and_no_round_trip_lowers_it() {
        let mut bench = Bench::new();
        assert_eq!(bench.bbr.pacing_rate(), None);
        bench.round(1, 25.0);
        close(bench.pace(), 739.0 / 256.0 * 0.99 * 10.0 / 0.04);
        bench.round(10, 500.0);
        close(bench.pace(), 739.0 / 256.0 * 0.99 * 500.0);
    }

    #[test]
    fn startup_ends_when_three_round_trips_bring_no_quarter_more() {
        let mut bench = Bench::new();
        for rate in [100.0, 200.0, 400.0, 499.0, 499.0] {
            bench.round(20, rate);
            assert_eq!(bench.bbr.state, State::Startup, "{rate}");
        }
        bench.ack(40.0, 20, 499.0, Facts { flight: 120, ..Facts::default() });
        assert_eq!(bench.bbr.state, State::Drain);
        close(bench.pace(), 88.0 / 256.0 * 0.99 * 499.0);
        // ceil(499*0.04) = 20 and three quanta of two are 26, what may be in flight in the end.
        bench.ack(1.0, 20, 499.0, Facts { flight: 47, ..Facts::default() });
        assert_eq!(bench.bbr.state, State::Drain);
        bench.ack(1.0, 20, 499.0, Facts { flight: 46, ..Facts::default() });
        assert!(matches!(bench.bbr.state, State::ProbeBw(..)));
    }

    #[test]
    fn the_window_is_twice_what_the_path_holds_with_room_for_quanta_and_aggregation() {
        let mut bench = Bench::cruising();
        bench.bbr.extra_acked = ExtraAcked::default();
        bench.bbr.state = State::ProbeBw(3, at(bench.now));
        bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
        // 80 + 1 that came at once + 6, even.
        assert_eq!(bench.window.cwnd, 88.0);
        bench.bbr.state = State::ProbeBw(0, at(bench.now));
        bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
        assert_eq!(bench.window.cwnd, 89.0, "up to 90 by what arrives");
    }

    #[test]
    fn each_gain_lasts_for_a_round_trip_but_a_probe_fills_the_pipe_and_draining_empties_it() {
        let mut bench = Bench::cruising();
        bench.bbr.state = State::ProbeBw(0, at(bench.now));
        let index = |bench: &Bench| if let State::ProbeBw(i, _) = bench.bbr.state { i } else { 9 };
        let mut step = |after: f64, flight: u32, lost: u32| {
            bench.ack(after, 1, 1000.0, Facts { flight, lost, ..Facts::default() });
            index(&bench)
        };
        // 1.25*40 = 50, three quanta and two are 58; the quantum to be sent next counts.
        assert_eq!([step(39.0, 60, 0), step(2.0, 55, 0), step(1.0, 56, 0)], [0, 0, 1]);
        assert_eq!([step(1.0, 47, 0), step(1.0, 46, 0)], [1, 2], "40 and three quanta");
        assert_eq!([step(40.0, 40, 0), step(1.0, 40, 0), step(41.0, 40, 0)], [2, 3, 4]);
        bench.bbr.state = State::ProbeBw(0, at(bench.now));
        bench.ack(41.0, 1, 1000.0, Facts { flight: 45, lost: 1, ..Facts::default() });
        assert_eq!(index(&bench), 1, "a loss ends a probe");
    }

    #[test]
    fn a_cycle_begins_anywhere_but_where_it_drains() {
        let mut seen = [0; 8];
        for seed in 0..700 {
            let mut bench = Bench::cruising();
            bench.bbr.seed(seed);
            bench.bbr.probe_bw(at(0.0));
            let State::ProbeBw(i, _) = bench.bbr.state else { panic!("{:?}", bench.bbr.state) };
            seen[i] += 1;
        }
        assert_eq!(seen[1], 0);
        assert!(seen.iter().enumerate().all(|(i, count)| i == 1 || (60..140).contains(count)), "{seen:?}");
    }

    #[test]
    fn after_ten_seconds_four_segments_measure_the_path_for_200_ms_and_a_round_trip() {
        let mut bench = Bench::cruising();
        bench.bbr.state = State::ProbeBw(3, at(bench.now));
        bench.bbr.min_rtt = Span::from_millis(30); // a round trip that is not seen again
        bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
        let cwnd = bench.window.cwnd;
        bench.ack(10_041.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
        assert_eq!((bench.bbr.min_rtt, bench.window.cwnd), (Span::from_millis(40), 4.0));
        close(bench.pace(), 990.0);
        // The time runs from when four are in flight; a low rate in it is not the path's.
        bench.ack(40.0, 4, 100.0, Facts { flight: 8, ..Facts::default() });
        for after in [40.0, 40.0, 40.0, 40.0, 40.0] {
            bench.ack(after, 4, 100.0, Facts { flight: 4, ..Facts::default() });
            assert_eq!(bench.window.cwnd, 4.0);
        }
        bench.ack(1.0, 4, 100.0, Facts { flight: 4, ..Facts::default() });
        assert!(matches!(bench.bbr.state, State::ProbeBw(..)));
        assert!(bench.window.cwnd >= cwnd, "{} < {cwnd}", bench.window.cwnd);
        assert_eq!(bench.bbr.max_bw.get(), 1000.0);
    }

    #[test]
    fn as_many_are_sent_as_arrive_in_the_first_round_trip_of_recovery_and_then_the_window_returns() {
        let mut bench = Bench::cruising();
        bench.bbr.state = State::ProbeBw(3, at(bench.now));
        bench.ack(1.0, 1, 1000.0, Facts { flight: 80, ..Facts::default() });
        let cwnd = bench.window.cwnd;
        bench.bbr.on_congestion(Event::Loss, &bench.window);
        let fast = |flight, lost| Facts { flight, lost, recovery: Recovery::Fast, ..Facts::default() };
        bench.prior = Some(0);
        bench.ack(1.0, 2, 1000.0, fast(72, 3));
        assert_eq!(bench.window.cwnd, 72.0, "70 in flight and 2");
        bench.ack(1.0, 2, 1000.0, fast(60, 1));
        assert_eq!(bench.window.cwnd, 71.0);
        bench.prior = None;
        bench.ack(1.0, 2, 1000.0, fast(60, 0));
        assert_eq!(bench.window.cwnd, 73.0, "slow start");
        bench.ack(1.0, 2, 1000.0, Facts { flight: 60, ..Facts::default() });
        assert!(bench.window.cwnd >= cwnd, "{} < {cwnd}", bench.window.cwnd);
    }

    #[test]
    fn a_policed_flow_paces_at_the_policers_rate() {
        let mut bench = Bench::cruising();
        bench.bbr.state = State::ProbeBw(0, at(bench.now));
        (0..20).for_each(|_| bench.ack(40.0, 20, 1000.0, Facts { flight: 40, lost: 5, ..Facts::default() }));
        close(bench.pace(), 0.99 * 500.0);
    }
}
