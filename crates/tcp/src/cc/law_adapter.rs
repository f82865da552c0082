//! The adapter of a law other than Reno's: the marks that the sender knows of, samples of the delivery rate, and a pace.

use super::arrivals::Arrivals;
use super::rate::RateSampler;
use super::{CongestionControl, Facts, Needs, Window};
use crate::ack::{Ack, Advertised};
use crate::ecn::EcnFeedback;
use aqmlab_core::{Span, Time};

/// The segment after which a pace begins.
const UNPACED: u32 = 10;

/// A law, and what the sender does on its behalf.
#[derive(Clone, Debug)]
pub(crate) struct LawAdapter {
    pub law: Box<dyn CongestionControl>,
    pub needs: Needs,
    /// The facts of the last ACK, of laws that see every ACK.
    pub last_facts: Facts,
    /// Marks that the receiver had counted at the last ACK.
    marks: u32,
    /// Segments sent again until the last ACK.
    resent: u32,
    sampler: Option<RateSampler>,
    arrivals: Arrivals,
    /// Time at which the next segment may be sent, and the number before that time, for segments are paced some at once.
    next_send: Time,
    at_once: u32,
    /// The host hands several segments to its interface at once.
    pub has_offload: bool,
    /// Segments sent since there is a pace, up to those that it leaves alone.
    paced: u32,
    /// The pace, segments/s, and the time between two at it.
    pace: (f64, Span),
    /// The law sets a pace of its own, and the most of any pace, segments/s.
    own_pace: bool,
    max_pace: Option<f64>,
    /// Time at which a segment that the window allows is due; [`Time::NEVER`] if none waits for its time.
    pub due: Time,
    /// The last window of a receiver that drives this sender.
    pub advertised: Option<Advertised>,
}

impl LawAdapter {
    pub fn new(law: Box<dyn CongestionControl>, needs: Needs) -> Self {
        let sampler = needs.rate_samples.then(RateSampler::default);
        let (next_send, due) = (Time::ZERO, Time::NEVER);
        let (last_facts, arrivals) = (Facts::default(), Arrivals::default());
        let pace = (0.0, Span::ZERO);
        Self {
            law,
            needs,
            last_facts,
            marks: 0,
            resent: 0,
            sampler,
            arrivals,
            next_send,
            at_once: 0,
            has_offload: false,
            paced: 0,
            pace,
            own_pace: needs.pacing,
            max_pace: None,
            due,
            advertised: None,
        }
    }

    /// The handshake is done: the law may have a pace from now on.
    pub fn on_established(&mut self, window: &Window, rtt: Span, now: Time) {
        self.law.on_established(window, rtt, now);
    }

    /// An ACK of new data may open the window.
    #[inline(never)] // Reno's way stays short
    pub fn on_ack(&mut self, window: &mut Window, facts: Facts) {
        if !self.needs.needs_feedback() {
            return self.law.on_ack(window, &facts);
        }
        let Facts { marked, lost, sample, hole, sent, is_predicted, .. } = self.last_facts;
        self.law.on_ack(window, &Facts { marked, lost, sample, hole, sent, is_predicted, ..facts });
    }

    /// An ACK comes, of whose arrivals loss recovery does not tell. `hole`: the first segment
    /// not acknowledged before it; `sent`: one past the highest sent.
    pub fn take(&mut self, ack: &Ack, hole: u32, sent: u32) {
        if let Some(sampler) = &mut self.sampler {
            self.arrivals.take(ack, hole, sent, |seq| sampler.on_delivered(seq));
        }
    }

    /// Loss recovery tells of a segment that has arrived.
    #[inline]
    pub fn on_delivered(&mut self, seq: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.on_delivered(seq);
        }
    }

    /// Any ACK comes, and its arrivals are known: tells the law of it. `una` is the first segment not acknowledged before it,
    /// `resent` have been sent again so far. True if it tells of a new mark.
    pub fn on_feedback(&mut self, window: &mut Window, ack: &Ack, facts: Facts, una: u32, resent: u32) -> bool {
        let (marked, is_echo) = self.marks(ack, &facts, una);
        let lost = resent - std::mem::replace(&mut self.resent, resent);
        let sample = self.sampler.as_mut().and_then(|sampler| sampler.sample(facts.rtt, facts.now));
        let left = facts.flight.saturating_sub(facts.acked);
        if facts.is_app_limited && f64::from(left) < window.cwnd {
            self.note_app_limited(left);
        }
        self.last_facts = Facts { marked, lost, sample, ..facts };
        if (self.needs.every_ack || self.needs.rate_samples) && !self.needs.owns_window {
            self.law.on_feedback(window, &self.last_facts);
        }
        is_echo
    }

    /// Loss recovery has seen the ACK: the law that owns the window sets it. `in_flight` are in the network after it.
    pub fn set_window(&mut self, window: &mut Window, in_flight: u32) {
        let last_facts = &mut self.last_facts;
        last_facts.next_send = self.next_send;
        if let Some(sample) = &mut last_facts.sample {
            sample.in_flight = in_flight;
        }
        self.law.on_feedback(window, last_facts);
    }

    /// Loss recovery has found a segment lost.
    pub fn on_lost(&mut self, seq: u32, now: Time) {
        if let Some(sampler) = &mut self.sampler {
            self.law.on_lost(&sampler.on_lost(seq, now));
        }
    }

    /// Marks that an ACK tells of, and whether it is an echo.
    fn marks(&mut self, ack: &Ack, facts: &Facts, una: u32) -> (u32, bool) {
        match self.needs.feedback {
            EcnFeedback::Classic => (0, ack.ece),
            EcnFeedback::PerPacket => {
                let is_old = ack.next < una;
                let marked = if ack.ece && !is_old { facts.acked.max(1) } else { 0 };
                (marked, marked > 0)
            }
            EcnFeedback::Counter => {
                let more = ack.ce.wrapping_sub(self.marks) & Ack::CE_MASK;
                let is_old = more > Ack::CE_MASK / 2; // overtaken by a later ACK
                let marked = if is_old { 0 } else { more };
                self.marks = self.marks.wrapping_add(marked) & Ack::CE_MASK;
                (marked, marked > 0)
            }
        }
    }

    /// The application has nothing more to send while `flight` segments are outstanding.
    pub fn note_app_limited(&mut self, flight: u32) {
        if let Some(sampler) = &mut self.sampler {
            sampler.note_app_limited(flight);
        }
    }

    /// A segment is sent while others are outstanding, but none is in the network.
    pub fn on_restart(&mut self, window: &mut Window, now: Time) {
        if let Some(sampler) = &self.sampler {
            self.law.on_restart(window, sampler.is_app_limited(), now);
        }
    }

    /// Its pace is at most so many segments per second, whether the law paces or not.
    pub fn limit_pace(&mut self, rate: f64) {
        self.own_pace = self.needs.pacing;
        self.needs.pacing = true;
        self.max_pace = Some(rate);
    }

    /// Segments per second: the law's, within its limit; `None` as long as neither is there.
    fn pacing_rate(&self) -> Option<f64> {
        let own = if self.own_pace { self.law.pacing_rate() } else { None };
        own.into_iter().chain(self.max_pace).reduce(f64::min)
    }

    /// True if the pace allows a segment now; if not, it is due when the pace allows it.
    pub fn may_send(&mut self, now: Time) -> bool {
        if !self.needs.pacing {
            return true;
        }
        let waits = self.at_once == 0 && now < self.next_send;
        if self.at_once == 0 && !waits {
            self.at_once = if self.has_offload { self.law.send_quantum() } else { 1 };
        }
        self.due = if waits { self.next_send } else { Time::NEVER };
        !waits
    }

    /// A segment has been sent, after which the pace allows the next one in a while (`tcp_update_skb_after_send` in Linux: the
    /// first ten are not paced). `hole`: the first one not acknowledged; `is_first`: none was outstanding; `in_flight` are, with
    /// it.
    pub fn on_sent(&mut self, seq: u32, hole: u32, is_first: bool, in_flight: u32, now: Time) {
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(seq, hole, is_first, in_flight, now);
        }
        if self.needs.pacing
            && let Some(rate) = self.pacing_rate()
        {
            assert!(rate > 0.0, "a controller paces at {rate} segments/s; it must be more than 0");
            if rate != self.pace.0 {
                self.pace = (rate, Span::from_seconds(1.0 / rate));
            }
            let late = now.since(self.next_send.min(now)); // of which up to half is made good
            self.next_send = now.max(self.next_send);
            self.paced = (self.paced + 1).min(UNPACED);
            if self.paced == UNPACED {
                self.next_send += Span(self.pace.1.0 - late.0.min(self.pace.1.0 / 2));
            }
            self.at_once = self.at_once.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::Reno;

    /// Marks and echo that an ACK tells of, which acknowledges `acked` segments from 10 on.
    fn marks(adapter: &mut LawAdapter, next: u32, acked: u32, ece: bool, ce: u32) -> (u32, bool) {
        let facts = Facts { acked, ..Facts::default() };
        adapter.marks(&Ack { next, ece, ce, ..Ack::default() }, &facts, 10)
    }

    fn with(feedback: EcnFeedback) -> LawAdapter {
        LawAdapter::new(Box::new(Reno), Needs { feedback, ..Needs::NONE })
    }

    #[test]
    fn an_echo_per_packet_tells_of_what_it_acknowledges() {
        let mut adapter = with(EcnFeedback::PerPacket);
        assert_eq!(marks(&mut adapter, 12, 2, true, 0), (2, true));
        assert_eq!(marks(&mut adapter, 10, 0, true, 0), (1, true), "a duplicate: of the segment that caused it");
        assert_eq!(marks(&mut adapter, 12, 2, false, 0), (0, false));
        assert_eq!(marks(&mut adapter, 9, 0, true, 0), (0, false), "an old one");
    }

    #[test]
    fn a_counter_tells_of_marks_whose_acks_were_lost_and_wraps() {
        let mut adapter = with(EcnFeedback::Counter);
        assert_eq!(marks(&mut adapter, 11, 1, false, 3), (3, true));
        assert_eq!(marks(&mut adapter, 12, 1, false, 3), (0, false));
        assert_eq!(marks(&mut adapter, 9, 0, false, 2), (0, false), "overtaken");
        adapter.marks = Ack::CE_MASK;
        assert_eq!(marks(&mut adapter, 12, 1, false, 1), (2, true));
    }

    #[test]
    fn classic_feedback_counts_nothing() {
        assert_eq!(marks(&mut with(EcnFeedback::Classic), 11, 1, true, 0), (0, true));
    }

    /// Paces at `rate` segments/s, `quantum` of them at once.
    #[derive(Clone, Debug)]
    struct Paced {
        rate: f64,
        quantum: u32,
    }

    impl CongestionControl for Paced {
        fn on_ack(&mut self, _: &mut Window, _: &Facts) {}
        fn pacing_rate(&self) -> Option<f64> {
            Some(self.rate)
        }
        fn send_quantum(&self) -> u32 {
            self.quantum
        }
    }

    fn paced(rate: f64, quantum: u32) -> LawAdapter {
        let needs = Needs { pacing: true, ..Needs::NONE };
        let adapter = LawAdapter::new(Box::new(Paced { rate, quantum }), needs);
        LawAdapter { paced: UNPACED, has_offload: quantum > 1, ..adapter }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_pace_lets_a_segment_go_when_its_time_has_come() {
        let mut adapter = paced(100.0, 1);
        adapter.next_send = at(5);
        assert!(adapter.may_send(at(5)));
        adapter.on_sent(0, 0, true, 1, at(5));
        assert!(!adapter.may_send(at(14)));
        assert_eq!(adapter.due, at(15));
        assert!(adapter.may_send(at(18)));
        assert_eq!(adapter.due, Time::NEVER);
        adapter.on_sent(1, 0, false, 2, at(18));
        adapter.on_sent(2, 0, false, 3, at(18)); // one that did not ask: the next waits for both
        // 3 ms late, which are made good: 18 + 10 - 3 + 10 ms.
        assert!(!adapter.may_send(at(34)) && adapter.may_send(at(35)));
    }

    #[test]
    fn a_pace_lets_as_many_segments_go_at_once_as_the_law_says() {
        let mut adapter = paced(100.0, 2);
        for start in [0, 20, 40] {
            for seq in [0, 1] {
                assert!(adapter.may_send(at(start)), "{start} ms, {seq}");
                adapter.on_sent(seq, 0, false, 1, at(start));
            }
            assert!(!adapter.may_send(at(start + 19)));
        }
    }

    #[test]
    fn a_limit_holds_for_any_law() {
        // A law's 100 segments per second become 50; Reno, which has no pace, gets one.
        for law in [paced(100.0, 1), LawAdapter { paced: UNPACED, ..LawAdapter::new(Box::new(Reno), Needs::NONE) }] {
            let mut adapter = law;
            adapter.limit_pace(50.0);
            assert!(adapter.may_send(at(1000)));
            adapter.on_sent(0, 0, true, 1, at(1000));
            assert!(!adapter.may_send(at(1009)) && adapter.may_send(at(1020)), "20 ms, of which half may be made good");
        }
    }

    #[test]
    fn the_first_ten_segments_are_not_paced_and_a_quantum_asks_for_offload() {
        let mut adapter = LawAdapter { paced: 0, has_offload: false, next_send: at(5), ..paced(100.0, 2) };
        for seq in 0..10 {
            assert!(adapter.may_send(at(5)), "{seq}");
            adapter.on_sent(seq, 0, false, 1, at(5));
        }
        assert!(!adapter.may_send(at(14)) && adapter.may_send(at(15)));
        adapter.on_sent(10, 0, false, 1, at(15));
        assert!(!adapter.may_send(at(15)), "one at a time");
        // More than half an interval late: half is made good.
        assert!(adapter.may_send(at(32)));
        adapter.on_sent(11, 0, false, 1, at(32));
        assert!(!adapter.may_send(at(36)) && adapter.may_send(at(37)));
    }

    #[test]
    #[should_panic(expected = "paces at 0 segments/s")]
    fn a_pace_of_nothing_is_refused() {
        paced(0.0, 1).on_sent(0, 0, true, 1, at(0));
    }
}
