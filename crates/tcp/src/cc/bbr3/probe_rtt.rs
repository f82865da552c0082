//! Probing for the round-trip time (draft, section 5.3.4).

use super::bounds::ShortTermBounds;
use super::cycle::AckPhase;
use super::{Bbr3, State};
use crate::cc::RateSample;
use aqmlab_core::Time;

impl Bbr3 {
    pub(super) fn update_min_rtt(&mut self, sample: &RateSample, now: Time) {
        let is_expired = self.probe_rtt_min.is_older(self.params.probe_rtt_interval, now);
        self.probe_rtt_min.take(sample.rtt, is_expired, now);
        let old = self.probe_rtt_cwnd();
        if self.probe_rtt_min.rtt < self.min_rtt.rtt || self.min_rtt.is_older(self.params.min_rtt_filter, now) {
            self.min_rtt = self.probe_rtt_min;
        }
        if is_expired && !self.idle_restart && self.state != State::ProbeRtt {
            self.state = State::ProbeRtt;
            self.probe_cwnd = self.params.probe_rtt_by_old.then_some(old);
            self.control.save_cwnd(self.control.cwnd, true);
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.rounds.begin(sample.delivered);
            self.probe.begin(sample.delivered);
        }
        let few = self.probe_rtt_cwnd();
        if self.state == State::ProbeRtt && self.probe.update(sample, few, &mut self.rounds, now) {
            self.leave_probe_rtt(now);
        }
        self.idle_restart = false;
    }

    pub(super) fn leave_probe_rtt(&mut self, now: Time) {
        self.probe_rtt_min.stamp = now;
        self.probe_cwnd = None;
        self.control.restore_cwnd();
        self.short_term = ShortTermBounds::UNBOUNDED;
        self.state = State::Startup;
        if self.full.reached {
            self.start_down(self.rounds.delivered, now);
            self.state = State::Cruise;
        }
    }
}
