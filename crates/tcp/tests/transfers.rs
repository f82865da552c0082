//! What holds of every transfer over a pipe that loses and marks at random and keeps the order.

use aqmlab_core::{ParamSet, Span, Stream, Time};
use aqmlab_tcp::{Ack, Network, Profile, Receiver, Segment, Sender, TcpParams, Variant};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::VecDeque;

/// From one end of the pipe to the other.
const DELAY: Span = Span(20_000_000_000);

/// The way of the segments; ACKs come back by another like it.
struct Pipe {
    now: Time,
    end: u32,
    segments: VecDeque<(Time, Segment, bool)>,
    stream: Stream,
    loss: f64,
    marks: f64,
}

impl Network for Pipe {
    fn send(&mut self, segment: Segment) {
        assert!(segment.seq < self.end, "{segment:?} is beyond the end {}", self.end);
        assert!(segment.is_ect || !segment.is_cwr, "{segment:?}");
        let is_marked = segment.is_ect && self.stream.uniform() < self.marks;
        if self.stream.uniform() >= self.loss {
            self.segments.push_back((self.now + DELAY, segment, is_marked));
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct Case {
    variant: Variant,
    profile: Profile,
    ecn: bool,
    delayed_ack: bool,
    syn: bool,
    segments: u32,
    loss: f64,
    seed: u64,
}

impl Case {
    fn params(&self) -> TcpParams {
        let mut params = TcpParams::defaults();
        params.read("tcp", self.profile.settings().iter().copied(), &mut Vec::new());
        (params.delayed_ack, params.syn) = (self.delayed_ack, self.syn);
        params
    }

    /// Runs the transfer to its end; returns sender and receiver.
    fn run(&self) -> (Sender, Receiver) {
        let (params, mut acks) = (self.params(), VecDeque::<(Time, Ack)>::new());
        let mut sender = Sender::new(self.variant, &params, self.ecn, Span::ZERO);
        let mut receiver = Receiver::new(self.variant == Variant::Sack);
        let mut stream = Stream::new(self.seed, "acks", 0);
        let mut pipe = Pipe {
            now: Time::ZERO,
            end: self.segments + u32::from(self.syn),
            segments: VecDeque::new(),
            stream: Stream::new(self.seed, "segments", 0),
            loss: self.loss,
            marks: self.loss,
        };
        sender.open(Some(self.segments), pipe.now, &params, &mut pipe);
        for _ in 0..1_000_000 {
            if sender.is_done() {
                return (sender, receiver);
            }
            let time = |head: Option<Time>| head.unwrap_or(Time::NEVER);
            let segment = time(pipe.segments.front().map(|s| s.0));
            let ack = time(acks.front().map(|a| a.0));
            let first = segment.min(ack).min(receiver.ack_due()).min(sender.deadline());
            assert!(pipe.now <= first && first < Time::NEVER, "at a standstill after {} in {self:?}", pipe.now);
            pipe.now = first;
            let answer = if first == segment {
                let (_, segment, is_ce) = pipe.segments.pop_front().expect("just seen");
                receiver.on_segment(segment.seq, is_ce, segment.is_cwr, first, &params)
            } else if first == ack {
                let (_, ack) = acks.pop_front().expect("just seen");
                sender.on_ack(&ack, first, &params, &mut pipe);
                None
            } else if first == receiver.ack_due() {
                receiver.take_due(first).map(|(_, ack)| ack)
            } else {
                sender.on_timer(first, &params, &mut pipe);
                None
            };
            if stream.uniform() >= self.loss {
                acks.extend(answer.map(|ack| (first + DELAY, ack)));
            }
        }
        panic!("no end to {self:?}");
    }
}

fn case() -> impl Strategy<Value = Case> {
    let variant = prop_oneof![Just(Variant::Reno), Just(Variant::NewReno), Just(Variant::Sack)];
    let profile = prop_oneof![Just(Profile::Rfc), Just(Profile::Ns2)];
    let loss = prop_oneof![Just(0.0), 0.0..0.05, 0.0..0.5];
    (variant, profile, any::<[bool; 3]>(), 1u32..2000, loss, any::<u64>()).prop_map(
        |(variant, profile, [ecn, delayed_ack, syn], segments, loss, seed)| Case {
            variant,
            profile,
            ecn,
            delayed_ack,
            syn,
            segments,
            loss,
            seed,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn every_segment_arrives_whatever_is_lost(case in case()) {
        let (sender, receiver) = case.run();
        prop_assert_eq!(receiver.in_order(), case.segments + u32::from(case.syn));
        prop_assert!(case.ecn || sender.ecn_reductions() == 0);
        if case.loss == 0.0 {
            prop_assert_eq!((sender.retransmits(), sender.timeouts(), sender.ecn_reductions()), (0, 0, 0));
        }
    }
}

/// RFC 6675 exists to repair several losses in a round trip: with one segment in fifty lost, it needs the timer least.
#[test]
fn sack_needs_fewer_timeouts_than_reno() {
    let timeouts = |variant| -> u32 {
        let case = |seed| Case {
            variant,
            profile: Profile::Rfc,
            ecn: false,
            delayed_ack: false,
            syn: true,
            segments: 2000,
            loss: 0.02,
            seed,
        };
        (0..20).map(|seed| case(seed).run().0.timeouts()).sum()
    };
    let (reno, newreno, sack) = (timeouts(Variant::Reno), timeouts(Variant::NewReno), timeouts(Variant::Sack));
    assert!(sack < newreno && newreno < reno, "{sack} {newreno} {reno}");
}
