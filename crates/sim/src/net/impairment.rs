//! The wire of a link on which packets are policed, lost, delayed, reordered, held together or have their ECN field changed.
//!
//! Each packet takes the same number of draws, lost or not: under one seed the n-th packet on a link meets the same fate,
//! whatever its flow and whenever it is sent.

use crate::net::WirePacket;
use crate::net::packet::Packet;
use crate::net::token_bucket::TokenBucket;
use aqmlab_aqm::Ecn;
use aqmlab_core::{Ratio, Span, Stream, Time};
use aqmlab_scenario::{Aggregation, Impairments, LinkSpec, Loss, PolicerAction};
use std::collections::VecDeque;
use std::ops::Range;

/// The consequence of a packet that waits for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gathering {
    /// It is the first: all go at this time, if they have not gone before.
    Begun(Time),
    /// Others follow.
    Waits,
    /// It is the last: all go now.
    Complete,
}

/// The wire of a link.
#[derive(Clone)]
pub struct Impairment<P = Packet> {
    keys: Impairments,
    /// The bucket of the policer, if there is one, and what that does.
    policer: Option<(TokenBucket, PolicerAction)>,
    /// State of the Gilbert-Elliott model.
    is_bad: bool,
    /// Packets so far.
    packets: usize,
    /// The jitter that holds at present, and the number of its period, where it holds for several packets.
    held: (u64, Span),
    /// Departure time of the last packet that keeps the order, without propagation.
    last: Time,
    /// Packets lost while metrics count, those dropped by the policer among them.
    pub lost: u64,
    /// Packets for which the policer had too few tokens while metrics count.
    pub policed: u64,
    /// Send times of the packets lost since the last probe, or about to be lost; `None` if nobody probes.
    pub losses: Option<VecDeque<Time>>,
    /// Packets that wait for others.
    gathered: Vec<P>,
    /// Time until which they wait at most, if there are any.
    pub release_at: Option<Time>,
    loss: Stream,
    jitter: Stream,
    reorder: Stream,
}

impl<P: WirePacket> Impairment<P> {
    /// The wire before the first packet.
    pub fn new(spec: &LinkSpec, seed: u64) -> Self {
        let stream = |what: &str| Stream::new(seed, &format!("links.{}.{what}", spec.name), 0);
        Self {
            keys: spec.impairments.clone(),
            policer: spec.impairments.policer.map(|policer| (TokenBucket::new(&policer), policer.action)),
            is_bad: false,
            packets: 0,
            held: (0, Span::ZERO),
            last: Time::ZERO,
            lost: 0,
            policed: 0,
            losses: Some(VecDeque::new()),
            gathered: Vec::new(),
            release_at: None,
            loss: stream("loss"),
            jitter: stream("jitter"),
            reorder: stream("reorder"),
        }
    }

    /// The loss of the packets from the next one on; the wire is in the good state.
    pub fn set_loss(&mut self, loss: Loss) {
        self.keys.loss = Some(loss);
        self.is_bad = false;
    }

    /// Packets sent before now that were lost since the last call.
    pub fn take_lost(&mut self, now: Time) -> u64 {
        self.losses.as_mut().map_or(0, |losses| {
            let past = losses.partition_point(|sent| *sent < now);
            losses.drain(..past).count() as u64
        })
    }

    /// Packets may pass others.
    pub fn reorders(&self) -> bool {
        self.keys.reorder.is_some()
    }

    /// Carries a packet sent at `sent`: the time at which it leaves the wire, without propagation; `None` if it is lost.
    pub fn cross(&mut self, packet: &mut P, sent: Time, measured: Range<Time>) -> Option<Time> {
        let (is_lost, jitter, is_free) = (self.loses(), self.delays(sent), self.frees());
        self.packets += 1;
        let is_policed = self.policer.is_some() && self.polices(packet, sent, &measured);
        if is_policed || is_lost {
            self.lost += u64::from(sent > measured.start && sent <= measured.end);
            if let Some(losses) = &mut self.losses {
                losses.push_back(sent);
            }
            return None;
        }
        if let Some(mangling) = self.keys.ecn_mangling {
            packet.set_ecn(mangling.apply(packet.ecn()));
        }
        let left = if is_free { sent + jitter } else { self.last.max(sent + jitter) };
        if !is_free {
            self.last = left;
        }
        match self.keys.aggregation {
            Some(Aggregation::Every(time)) => Some(Time(left.0.next_multiple_of(time.0))),
            _ => Some(left),
        }
    }

    /// Packets wait until so many have come.
    pub fn gathers(&self) -> bool {
        matches!(self.keys.aggregation, Some(Aggregation::Packets { .. }))
    }

    /// A packet has come now that waits for others, if [`Impairment::gathers`].
    pub fn gather(&mut self, packet: P, now: Time) -> Gathering {
        let Some(Aggregation::Packets { most, hold }) = self.keys.aggregation else { return Gathering::Complete };
        self.gathered.push(packet);
        match self.gathered.len() {
            count if count == most as usize => Gathering::Complete,
            1 => {
                self.release_at = Some(now + hold);
                Gathering::Begun(now + hold)
            }
            _ => Gathering::Waits,
        }
    }

    /// Takes the packets that wait; they come back empty to [`Impairment::keep_room`].
    pub fn release(&mut self) -> Vec<P> {
        self.release_at = None;
        std::mem::take(&mut self.gathered)
    }

    /// Room for packets that wait, used again.
    pub fn keep_room(&mut self, emptied: Vec<P>) {
        self.gathered = emptied;
    }

    /// The policer lets the packet pass, marks it, or drops it: then true.
    #[cold]
    #[inline(never)]
    fn polices(&mut self, packet: &mut P, sent: Time, measured: &Range<Time>) -> bool {
        let Some((bucket, action)) = &mut self.policer else { return false };
        if bucket.takes(packet.size(), sent) {
            return false;
        }
        self.policed += u64::from(sent > measured.start && sent <= measured.end);
        let is_marked = *action == PolicerAction::Ce && packet.ecn().is_capable();
        if is_marked {
            packet.set_ecn(Ecn::Ce);
        }
        !is_marked
    }

    /// Draws whether the next packet is lost.
    fn loses(&mut self) -> bool {
        let Some(Loss { p, r, bad, good }) = self.keys.loss else { return false };
        let (loses, changes) = if self.is_bad { (bad, r) } else { (good, p) };
        let is_lost = self.loss.uniform() < loses;
        self.is_bad ^= self.loss.uniform() < changes;
        is_lost
    }

    /// Extra delay of the next packet, which was sent at `sent`. One that holds is that of its period, whoever has sent before.
    fn delays(&mut self, sent: Time) -> Span {
        let Some(law) = &self.keys.jitter else { return Span::ZERO };
        let Some(every) = self.keys.jitter_every else { return law.draw(self.packets, &mut self.jitter) };
        let period = sent.0 / every.0 + 1;
        while self.held.0 < period {
            self.held = (self.held.0 + 1, law.draw(self.held.0 as usize, &mut self.jitter));
        }
        self.held.1
    }

    /// Draws whether the next packet may pass others.
    fn frees(&mut self) -> bool {
        self.keys.reorder.is_some_and(|Ratio(share)| self.reorder.uniform() < share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::packet::{AnnouncedRtt, Data, FlowTag, Packet};
    use aqmlab_aqm::{Carried, Ecn};
    use aqmlab_scenario::parse;

    const NAME: &str = "bottleneck";

    fn wire(keys: &str, seed: u64) -> Impairment {
        let text = format!(
            "schema = 1\nduration = \"1 s\"\n[[links]]\nname = \"{NAME}\"\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n{keys}\n\
             [[flows]]\nrtt = \"9 ms\"\n"
        );
        Impairment::new(&parse(&text, "wire", &[]).unwrap().links[0], seed)
    }

    fn data(ecn: Ecn) -> Packet {
        let (sent_at, rtt, is_cwr) = (Time::ZERO, AnnouncedRtt::default(), true);
        let data = Data { sent_at, seq: 7, rtt, ecn, is_cwr, is_push: false, is_resent: false };
        Packet::of_data(FlowTag::default(), 1000, data)
    }

    fn ms(number: u64) -> Time {
        Time::ZERO + Span::from_millis(number)
    }

    /// Departure times from the wire of `count` packets sent 1 ms apart.
    fn left(keys: &str, count: u64) -> Vec<Option<Time>> {
        let mut wire = wire(keys, 1);
        (0..count).map(|i| wire.cross(&mut data(Ecn::Ect0), ms(i), Time::ZERO..Time::NEVER)).collect()
    }

    /// Share of the packets that are lost, and the lengths of the runs of such packets.
    fn losses(keys: &str) -> (f64, Vec<f64>) {
        let left = left(keys, N);
        let runs = left.chunk_by(|a, b| a.is_none() == b.is_none()).filter(|run| run[0].is_none());
        let bursts: Vec<f64> = runs.map(|run| run.len() as f64).collect();
        (bursts.iter().sum::<f64>() / N as f64, bursts)
    }

    fn mean(numbers: &[f64]) -> f64 {
        numbers.iter().sum::<f64>() / numbers.len() as f64
    }

    fn share(count: usize) -> f64 {
        count as f64 / N as f64
    }

    const N: u64 = 200_000;

    #[test]
    fn random_loss_is_binomial_and_without_memory() {
        let (lost, bursts) = losses("loss = \"5%\"");
        // Four standard errors: sqrt(0.05 * 0.95 / 200000) = 0.00049.
        assert!((lost - 0.05).abs() < 0.00195, "{lost}");
        // A burst goes on with probability 5 %: its mean is 1/0.95 = 1.0526, its standard deviation 0.2354. There are
        // about 9500.
        let mean = mean(&bursts);
        assert!((mean - 1.0526).abs() < 0.0097, "{mean}");
    }

    #[test]
    fn bursts_of_gilbert_loss_are_geometric_with_mean_1_over_r() {
        let (lost, bursts) = losses("loss = { p = \"1%\", r = \"25%\" }");
        // p / (p + r) = 0.03846. The chain forgets by 0.74 a packet, which multiplies the variance by 1.74/0.26:
        // four standard errors are 4 sqrt(0.03846 * 0.96154 * 6.69 / 200000) = 0.0045.
        assert!((lost - 0.03846).abs() < 0.0045, "{lost}");
        // Mean 4, standard deviation sqrt(0.75)/0.25 = 3.46, about 1920 bursts: four standard errors are 0.32. Of the
        // bursts 25 % have length 1: four standard errors are 0.04.
        let mean = mean(&bursts);
        assert!((mean - 4.0).abs() < 0.32, "{mean}");
        let single = bursts.iter().filter(|length| **length == 1.0).count() as f64 / bursts.len() as f64;
        assert!((single - 0.25).abs() < 0.04, "{single}");
    }

    #[test]
    fn both_states_of_elliott_s_model_lose() {
        let (lost, _) = losses("loss = { p = \"2%\", r = \"8%\", bad = \"50%\", good = \"1%\" }");
        // (r good + p bad) / (p + r) = (0.08 * 0.01 + 0.02 * 0.5) / 0.1 = 0.108. The share of time in the bad state, 0.2,
        // has a standard error of sqrt(0.2 * 0.8 * 1.9/0.1 / 200000) = 0.0039, times 0.49; the losses within the states
        // add sqrt((0.2 * 0.25 + 0.8 * 0.0099) / 200000) = 0.0005: together 0.002.
        assert!((lost - 0.108).abs() < 0.008, "{lost}");
    }

    #[test]
    fn jitter_keeps_the_order() {
        let all: Vec<Time> = left("jitter = { uniform = [\"0 ms\", \"20 ms\"] }", 1000).into_iter().flatten().collect();
        assert!(all.is_sorted());
        let late = all.iter().zip(0..).map(|(left, i)| left.since(ms(i)));
        assert!(late.clone().all(|late| late < Span::from_millis(20)));
        assert!(late.clone().any(|late| late > Span::from_millis(18)) && late.min().unwrap() < Span::from_millis(18));
        // By hand: a packet waits for the one before, which was sent 1 ms earlier and takes 3 ms.
        let by_hand: Vec<Time> =
            left("jitter = { values = [\"3 ms\", \"0 ms\", \"5 ms\"] }", 4).into_iter().flatten().collect();
        assert_eq!(by_hand, [ms(3), ms(3), ms(7), ms(7)]);
    }

    #[test]
    fn packets_free_of_the_order_wait_for_nobody_and_hold_up_nobody() {
        // A packet without jitter follows one with 10 ms: it leaves at once if it is free, else it waits.
        let alternating = "jitter = { values = [\"10 ms\", \"0 ms\"] }\nreorder = \"5%\"";
        let left: Vec<Time> = left(alternating, N).into_iter().flatten().collect();
        let free = (1..N).step_by(2).filter(|i| left[*i as usize] == ms(*i)).count();
        // Four standard errors of a binomial share: 4 sqrt(0.05 * 0.95 / 100000) = 0.0028.
        assert!((2.0 * share(free) - 0.05).abs() < 0.0028, "{free}");
        assert!((0..N).step_by(2).all(|i| left[i as usize] == ms(i + 10)), "nobody has more than 10 ms");
    }

    #[test]
    fn without_any_order_delays_are_independent() {
        let left: Vec<Time> =
            left("jitter = { uniform = [\"0 ms\", \"2 ms\"] }\nreorder = \"100%\"", N).into_iter().flatten().collect();
        let inverted = left.windows(2).filter(|pair| pair[1] < pair[0]).count();
        // The difference of two draws exceeds the 1 ms between two packets with probability (2 - 1)^2 / (2 * 2^2) = 1/8.
        // Neighbouring pairs exclude each other, so the binomial standard error, 0.00074, is a bound: four of it.
        assert!((share(inverted) - 0.125).abs() < 0.003, "{inverted}");
    }

    #[test]
    fn the_nth_packet_meets_the_same_fate_whatever_it_is() {
        let (loss, rest) = (
            "loss = { p = \"5%\", r = \"30%\" }\n",
            "jitter = { lognormal = { median = \"3 ms\", sigma = 1 } }\nreorder = \"9%\"",
        );
        let keys = loss.to_string() + rest;
        let fates = |keys: &str, packet: fn() -> Packet, apart: u64, seed| {
            let mut wire = wire(keys, seed);
            // So far apart that nobody waits for the one before.
            let fate = |i: u64| {
                wire.cross(&mut packet(), ms(i * apart), Time::ZERO..Time::NEVER).map(|left| left.since(ms(i * apart)))
            };
            (0..1000).map(fate).collect::<Vec<_>>()
        };
        let first = fates(&keys, || data(Ecn::NotEct), 1000, 1);
        assert_eq!(
            first,
            fates(&keys, || Packet::of_ack(FlowTag::default(), 40, 0, &aqmlab_tcp::Ack::default()), 1700, 1)
        );
        assert_ne!(first, fates(&keys, || data(Ecn::NotEct), 1000, 2));
        assert!(first.contains(&None) && first[0] != first[1]);
        let lossless = fates(rest, || data(Ecn::NotEct), 1000, 1);
        assert!(first.iter().zip(&lossless).all(|(fate, other)| fate.is_none() || fate == other));
    }

    #[test]
    fn packets_leave_at_the_next_multiple_of_a_time() {
        let alone = left("aggregation = { every = \"3 ms\" }", 5);
        assert_eq!(alone, [0, 3, 3, 3, 6].map(|at| Some(ms(at))), "sent at 0, 1, 2, 3 and 4 ms");
        let with_jitter = "aggregation = { every = \"3 ms\" }\njitter = { values = [\"2 ms\", \"0 ms\"] }";
        assert_eq!(left(with_jitter, 4), [3, 3, 6, 6].map(|at| Some(ms(at))), "at 2, 2, 4 and 4 ms without");
    }

    #[test]
    fn packets_wait_until_so_many_have_come_or_one_has_waited_long_enough() {
        let mut wire = wire("aggregation = { packets = 3, hold = \"5 ms\" }", 1);
        let mut gather = |at| wire.gather(data(Ecn::NotEct), ms(at));
        assert_eq!([gather(0), gather(1)], [Gathering::Begun(ms(5)), Gathering::Waits]);
        assert_eq!(gather(2), Gathering::Complete);
        assert_eq!((wire.release().len(), wire.release_at), (3, None));
        assert_eq!(wire.gather(data(Ecn::NotEct), ms(4)), Gathering::Begun(ms(9)));
        assert_eq!((wire.release_at, wire.release().len()), (Some(ms(9)), 1));
    }

    #[test]
    fn a_jitter_that_holds_is_that_of_its_period() {
        // 3 ms until 2 ms, then 0 ms, then 5 ms; packets at 0, 1, 2, ... ms keep their order.
        let keys = "jitter = { values = [\"3 ms\", \"0 ms\", \"5 ms\"] }\njitter_every = \"2 ms\"";
        let all: Vec<Time> = left(keys, 6).into_iter().flatten().collect();
        assert_eq!(all, [3, 4, 4, 4, 9, 10].map(ms));
        // A packet of the third period has its jitter though none was sent before.
        assert_eq!(wire(keys, 1).cross(&mut data(Ecn::Ect0), ms(4), Time::ZERO..Time::NEVER), Some(ms(9)));
    }

    #[test]
    fn losses_count_while_metrics_do() {
        let mut wire = wire("loss = \"100%\"", 1);
        for sent in 0..10 {
            assert_eq!(wire.cross(&mut data(Ecn::NotEct), ms(sent), ms(3)..ms(7)), None);
        }
        assert_eq!(wire.lost, 4, "sent after 3 ms and not after 7 ms");
    }

    #[test]
    fn mangling_changes_the_ecn_field_and_nothing_else() {
        const ALL: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        for (name, expected) in [
            ("bleach", [Ecn::NotEct; 4]),
            ("ce-only", [Ecn::NotEct, Ecn::NotEct, Ecn::NotEct, Ecn::Ce]),
            ("continuous-ce", [Ecn::NotEct, Ecn::Ce, Ecn::Ce, Ecn::Ce]),
        ] {
            let mut wire = wire(&format!("ecn_mangling = \"{name}\""), 1);
            let mangled = ALL.map(|ecn| {
                let mut packet = data(ecn);
                assert_eq!(wire.cross(&mut packet, ms(1), Time::ZERO..Time::NEVER), Some(ms(1)));
                assert!(packet.data().is_cwr && packet.data().seq == 7 && packet.size == 1000);
                packet.ecn()
            });
            assert_eq!(mangled, expected, "{name}");
            let ack = aqmlab_tcp::Ack { next: 9, ece: true, ..Default::default() };
            let mut packet = Packet::of_ack(FlowTag::default(), 40, 0, &ack);
            wire.cross(&mut packet, ms(1), Time::ZERO..Time::NEVER);
            assert_eq!(packet.ack(), ack, "what an ACK echoes is in the TCP header");
        }
    }
}
