use super::path::{
    AckEpoch, FullPipe, LeastRtt, MARGIN, MIN_CWND, MIN_RTT_WINDOW, RateControl, RoundCounter, RttProbe, WindowedMax,
    whole, whole_up,
};
use super::{
    CongestionControl, CongestionControlLaw, CongestionEvent, Facts, LawInfo, Needs, RateSample, Recovery, Window,
};
use aggregation::ExtraAcked;
use aqmlab_core::{Span, Stream, Time, params};
use policer::Policer;

mod aggregation;
mod policer;

params! {
    /// BBR: sends at the rate that the path has shown to deliver, with at most twice the path's product in flight.
    ///
    /// ## Idea
    /// A path is full, and its queue empty, when the data in flight equal the product of its bandwidth and its minimum
    /// round-trip time. BBR measures both, one at a time: it sends faster for a while and looks whether more arrives,
    /// and every ten seconds it sends next to nothing and looks how short the round trip is. A loss is no signal of
    /// congestion to it, nor is a mark.
    ///
    /// ## Equations
    /// At every ACK that reports an arrival:
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
    /// extra_acked is the maximum that ACKs have reported beyond bw in the last five to ten round trips, at most 100 ms
    /// of bw. quantum is what is sent at once: pace/1024 s, two segments at least above 1.2 Mbit/s.
    ///
    /// A lost segment leaves the window. In the first round trip of recovery as many are sent as arrive; when recovery ends,
    /// the window is what it was. After a timeout it is one segment more than is in flight. If a fifth of the segments is lost
    /// in two intervals of 4 to 16 round trips, and both had the same rate to an eighth, a policer is at work: the pace is that
    /// rate for 48 round trips.
    ///
    /// ## What to expect
    /// Alone it fills the link to 98 % (the pace is 1 % below bw, and probe_rtt takes 2 %) with a queue of a few
    /// packets. Several flows overestimate their shares: the window keeps up to a product of the path in the queue, and
    /// a shorter buffer loses a tenth of the packets. Competing with one CUBIC flow, it takes 85 % of the link at a
    /// buffer of one product, and less at longer buffers. It does not respond to an AQM's drops or marks.
    ///
    /// ## Readings
    /// All is as in Linux 6.1 (net/ipv4/tcp_bbr.c): gains in 256ths, the bandwidth filter of three candidates, no pace for the
    /// first window. Marks are ignored, and not counted as answered. It goes with loss recovery `rack`, whose window it replaces.
    ///
    /// ## Departures
    /// Linux does not renew an expired min_rtt from a possibly delayed ACK, recognised by a segment below full size.
    /// The simulator has no such segments. Times are exact; Linux rounds the times of min_rtt to a jiffy. min_rtt is in
    /// whole microseconds, as in Linux. A spurious timeout does not begin the search for the full bandwidth again, and
    /// a timeout does not end an interval of the search for a policer. A policer's rates are the same within 4 kbit/s
    /// of packets of 1,500 B too.
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

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    /// The bandwidth grows.
    Startup,
    /// The queue that startup has left drains.
    Drain,
    /// This gain of the cycle, since that time.
    ProbeBw(usize, Time),
    /// Few segments in flight.
    ProbeRtt,
}

/// BBR's model of the path. See [`BbrParams`]; names are those of Linux.
#[derive(Clone, Debug)]
pub struct Bbr {
    state: State,
    random: Stream,
    max_bw: WindowedMax,
    policer: Policer,
    rounds: RoundCounter,
    min_rtt: LeastRtt,
    full: FullPipe,
    ack_epoch: AckEpoch,
    extra_acked: ExtraAcked,
    probe: RttProbe,
    /// As many segments are sent as arrive: the first round trip of recovery.
    packet_conservation: bool,
    /// A pause has ended, and nothing sent since has arrived.
    idle_restart: bool,
    control: RateControl,
}

impl CongestionControlLaw for Bbr {
    const INFO: LawInfo =
        LawInfo { name: "bbr", title: "BBR", year: 2016, source: "Cardwell et al., ACM Queue 14(5); Linux 6.1" };
    const NEEDS: Needs = Needs { rate_samples: true, pacing: true, owns_window: true, ..Needs::NONE };
    const PHASES: &'static [&'static str] = &["startup", "drain", "probe_bw", "probe_rtt"];
    type Params = BbrParams;

    fn new(_: BbrParams) -> Self {
        Self {
            state: State::Startup,
            random: Stream::new(0, "tcp.bbr", 0),
            max_bw: WindowedMax::default(),
            policer: Policer::default(),
            rounds: RoundCounter::default(),
            min_rtt: LeastRtt::NONE,
            full: FullPipe::default(),
            ack_epoch: AckEpoch::default(),
            extra_acked: ExtraAcked::default(),
            probe: RttProbe::default(),
            packet_conservation: false,
            idle_restart: false,
            control: RateControl::default(),
        }
    }
}

impl CongestionControl for Bbr {
    fn seed(&mut self, seed: u64) {
        self.random = Stream::new(seed, "tcp.bbr", 0);
    }

    fn on_established(&mut self, window: &Window, rtt: Span, now: Time) {
        self.begin(window, rtt, LeastRtt::of(rtt, now), now);
    }

    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}

    fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        let Some(sample) = &ack.sample else { return };
        if self.control.pacing_rate == 0.0 {
            self.begin(window, ack.srtt, LeastRtt::known(sample, ack.now), ack.now);
        }
        self.control.cwnd = window.cwnd;
        self.update_bw(sample, ack);
        self.update_extra_acked(sample, ack.now);
        self.update_cycle(ack);
        self.check_full_bw(sample);
        self.check_drain(sample, ack);
        self.update_min_rtt(sample, ack.now);
        self.set_pacing_rate(self.pacing_gain());
        self.set_cwnd(sample, ack);
        window.cwnd = self.control.cwnd;
    }

    fn kept(&self, _: CongestionEvent) -> f64 {
        1.0
    }

    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        self.control.save_cwnd(window.cwnd, self.state == State::ProbeRtt);
        if event == CongestionEvent::Timeout {
            self.full.bw = 0.0;
        }
    }

    fn on_timeout(&mut self) {
        self.control.recovery = Recovery::Timeout;
    }

    fn on_recovered(&mut self, _: &mut Window) {}

    fn on_resume(&mut self, window: &mut Window, now: Time) {
        self.idle_restart = true;
        self.ack_epoch.begin(now);
        if let State::ProbeBw(..) = self.state {
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
        let [startup, drain, probe_bw, probe_rtt] = *Self::PHASES else { return None };
        Some(match self.state {
            State::Startup => startup,
            State::Drain => drain,
            State::ProbeBw(..) => probe_bw,
            State::ProbeRtt => probe_rtt,
        })
    }

    /// By the names of the draft of its third version, which calls the same things so.
    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![
            ("max_bw", self.max_bw.get()),
            ("inflight_bdp", self.inflight(1.0)),
            ("bdp", self.min_rtt.bdp(self.bw())),
            ("extra_acked", self.extra_acked.get()),
            ("min_rtt", self.min_rtt.rtt.seconds()),
            ("probe_rtt_min_stamp", self.min_rtt.stamp.seconds()),
            ("full_bw_count", self.full.rounds.into()),
            ("full_bw_now", self.full.now.into()),
            ("full_bw_reached", self.full.reached.into()),
            ("round_count", self.rounds.count as f64),
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

/// The model of the path.
impl Bbr {
    /// The handshake is done (`bbr_init`), or if there was none, the first ACK comes.
    fn begin(&mut self, window: &Window, srtt: Span, min_rtt: LeastRtt, now: Time) {
        self.control.pacing_rate = HIGH_GAIN * MARGIN * window.cwnd / srtt.seconds().max(1e-6);
        self.min_rtt = min_rtt;
        self.ack_epoch.begin(now);
    }

    fn update_bw(&mut self, sample: &RateSample, ack: &Facts) {
        self.rounds.note(sample);
        if self.rounds.has_begun {
            self.packet_conservation = false;
        }
        let (is_slow, is_cycling) = (self.probe.is_slow(sample), matches!(self.state, State::ProbeBw(..)));
        if self.policer.update(sample, is_slow, self.rounds.has_begun, is_cycling, ack) {
            self.probe_bw(ack.now);
        }
        if !is_slow || sample.rate >= self.max_bw.get() {
            self.max_bw.update(BW_ROUNDS, self.rounds.count, sample.rate);
        }
    }

    fn bw(&self) -> f64 {
        self.policer.bw().unwrap_or(self.max_bw.get())
    }

    fn update_extra_acked(&mut self, sample: &RateSample, now: Time) {
        if sample.rate > 0.0 {
            let extra = self.ack_epoch.extra(sample.newly_delivered, self.bw(), true, now);
            self.extra_acked.update(extra.min(self.control.cwnd), self.rounds.has_begun);
        }
    }

    /// A gain above 1 lasts until it has filled the pipe, or losses say that it cannot; one below 1 ends when the pipe is no
    /// more than full.
    fn update_cycle(&mut self, ack: &Facts) {
        let State::ProbeBw(i, since) = self.state else { return };
        let (gain, in_flight) = (self.pacing_gain(), self.in_network(ack.flight, ack));
        let is_full_length = ack.now.since(since) > self.min_rtt.rtt;
        let is_over = if gain > 1.0 {
            is_full_length && (ack.lost > 0 || in_flight + self.control.quantum() >= self.inflight(gain))
        } else {
            is_full_length || gain < 1.0 && in_flight <= self.inflight(1.0)
        };
        if is_over {
            self.state = State::ProbeBw((i + 1) % CYCLE.len(), ack.now);
        }
    }

    fn check_full_bw(&mut self, sample: &RateSample) {
        if !self.full.reached && self.rounds.has_begun && !self.probe.is_slow(sample) {
            self.full.check(self.max_bw.get());
        }
    }

    fn check_drain(&mut self, sample: &RateSample, ack: &Facts) {
        if self.state == State::Startup && self.full.reached {
            self.state = State::Drain;
        }
        if self.state == State::Drain && self.in_network(sample.in_flight, ack) <= self.inflight(1.0) {
            self.probe_bw(ack.now);
        }
    }

    /// Of so many segments in flight, those that are still there when the pace allows the next (`bbr_packets_in_net_at_edt`).
    fn in_network(&self, in_flight: u32, ack: &Facts) -> f64 {
        let until_then = ack.next_send.since(ack.now).seconds();
        (f64::from(in_flight) - whole(self.bw() * until_then)).max(0.0)
    }

    /// Begins anywhere in the cycle but where the queue drains.
    fn probe_bw(&mut self, now: Time) {
        let i = CYCLE.len() - self.random.below(CYCLE.len() as u32 - 1) as usize;
        self.state = State::ProbeBw(i % CYCLE.len(), now);
    }

    fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        let is_expired = self.min_rtt.is_older(MIN_RTT_WINDOW, now);
        self.min_rtt.take(sample.rtt, is_expired, now);
        if is_expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.control.save_cwnd(self.control.cwnd, true);
            self.probe.begin(sample.delivered);
        }
        if self.state == State::ProbeRtt && self.probe.update(sample, MIN_CWND, &mut self.rounds, now) {
            self.leave_probe_rtt(now);
        }
        self.idle_restart = false;
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        self.min_rtt.stamp = now;
        self.control.restore_cwnd();
        match self.full.reached {
            true => self.probe_bw(now),
            false => self.state = State::Startup,
        }
    }
}

/// Pace and window.
impl Bbr {
    fn pacing_gain(&self) -> f64 {
        match self.state {
            State::Startup => HIGH_GAIN,
            State::Drain => DRAIN_GAIN,
            State::ProbeBw(i, _) if self.policer.bw().is_none() => CYCLE[i],
            State::ProbeBw(..) | State::ProbeRtt => 1.0,
        }
    }

    fn cwnd_gain(&self) -> f64 {
        match self.state {
            State::Startup | State::Drain => HIGH_GAIN,
            State::ProbeBw(..) => CWND_GAIN,
            State::ProbeRtt => 1.0,
        }
    }

    fn set_pacing_rate(&mut self, gain: f64) {
        self.control.set_pacing_rate(gain * MARGIN * self.bw(), &self.full);
    }

    fn set_cwnd(&mut self, sample: &RateSample, ack: &Facts) {
        if !self.recovers(sample, ack) {
            let target = self.budget(self.bdp(self.bw(), self.cwnd_gain()) + self.aggregation());
            self.control.grow(sample, target, &self.full);
        }
        if self.state == State::ProbeRtt {
            self.control.cwnd = self.control.cwnd.min(MIN_CWND);
        }
    }

    /// Lost segments leave the window. As many are sent as arrive in the first round trip of recovery, when it is true; the
    /// window is what it was when recovery is over.
    fn recovers(&mut self, sample: &RateSample, ack: &Facts) -> bool {
        let conserved = f64::from(sample.in_flight + sample.newly_delivered);
        let control = &mut self.control;
        control.cwnd = (control.cwnd - f64::from(ack.lost)).max(1.0);
        let before = std::mem::replace(&mut control.recovery, ack.recovery);
        if ack.recovery == Recovery::Fast && before != Recovery::Fast {
            self.packet_conservation = true;
            self.rounds.begin(sample.delivered);
            control.cwnd = conserved;
        } else if before != Recovery::None && ack.recovery == Recovery::None {
            self.packet_conservation = false;
            control.restore_cwnd();
        }
        if self.packet_conservation {
            control.cwnd = control.cwnd.max(conserved);
        }
        self.packet_conservation
    }

    /// So many times what the path holds without a queue.
    fn bdp(&self, bw: f64, gain: f64) -> f64 {
        whole_up(self.min_rtt.bdp(gain * bw))
    }

    /// The data in flight that a gain aims at.
    fn inflight(&self, gain: f64) -> f64 {
        self.budget(self.bdp(self.max_bw.get(), gain))
    }

    /// With room for what waits in the sending and the receiving host.
    fn budget(&self, inflight: f64) -> f64 {
        let even = whole_up((inflight + 3.0 * self.control.quantum()) / 2.0) * 2.0;
        if matches!(self.state, State::ProbeBw(0, _)) { even + 2.0 } else { even }
    }

    /// Room for ACKs that come together.
    fn aggregation(&self) -> f64 {
        let most = whole(self.bw() * 0.1);
        if self.full.reached { self.extra_acked.get().min(most) } else { 0.0 }
    }
}

#[cfg(test)]
mod tests;
