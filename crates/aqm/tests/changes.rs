//! Changes while packets wait: of the link, the parameters, the scheme itself; and copies that go on by themselves.
//! Every scheme of the catalogue is tested.

use aqmlab_aqm::contract::bench;
use aqmlab_aqm::{
    AnyAqm, AnyQueue, AnyScheme, Carried, Ctx, Discipline, Ecn, Limit, QueueView, SchemeEntry, entries, entry,
};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Rate, Span, Stream, Time};

/// Numbered in the order of arrival, of one of seven flows, every other one ECN-capable.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Packet {
    number: u32,
    marked: bool,
}

impl Carried for Packet {
    fn size(&self) -> u32 {
        1000
    }
    fn flow(&self) -> u32 {
        self.number % 7
    }
    fn ecn(&self) -> Ecn {
        [Ecn::NotEct, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1][self.number as usize % 4]
    }
    fn dscp(&self) -> u8 {
        ((self.number % 5) as u8) << 3
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

/// A queue, its link and its load: more arrives than leaves, with pauses.
#[derive(Clone)]
struct Bed {
    queue: AnyQueue<Packet>,
    rng: Stream,
    now: Time,
    next_tick: Time,
    number: u32,
    departed: Vec<Packet>,
}

const MS: Span = Span(1_000_000_000);

impl Bed {
    fn new(queue: AnyQueue<Packet>) -> Self {
        let rng = Stream::new(1, "changes", 0);
        Self { queue, rng, now: Time::ZERO, next_tick: Time::ZERO, number: 0, departed: Vec::new() }
    }

    /// `ms` times a millisecond in which up to three packets arrive and one leaves.
    fn run(mut self, ms: u32) -> Self {
        for _ in 0..ms {
            let arrivals = (self.rng.uniform() * 3.5) as u32;
            for _ in 0..arrivals {
                self.number += 1;
                let packet = Packet { number: self.number, marked: false };
                self.queue.enqueue(packet, &mut Ctx { now: self.now, rng: &mut self.rng });
            }
            let gone = self.queue.dequeue(&mut Ctx { now: self.now, rng: &mut self.rng });
            self.departed.extend(gone.map(|(packet, _)| packet));
            let end = self.now + MS;
            while let Some(period) = self.queue.tick_every()
                && self.next_tick <= end
            {
                self.queue.tick(&mut Ctx { now: self.next_tick, rng: &mut self.rng });
                self.next_tick += period;
            }
            self.now = end;
            assert!(self.queue.accounts_balance(), "{:?}", self.queue.accounts());
        }
        self
    }

    /// All that can be seen of the way so far.
    fn seen(&self, scheme: &SchemeEntry) -> (Vec<Packet>, Vec<u64>, String) {
        let observed = (0..scheme.observables.len()).map(|i| self.queue.observe(i).to_bits()).collect();
        (self.departed.clone(), observed, format!("{:?}", self.queue.accounts()))
    }
}

/// Every listed scheme, and two that are not.
fn schemes() -> Vec<SchemeEntry> {
    entries().into_iter().chain(["fq-red", "fq-an-aqm"].map(|name| entry(name).unwrap())).collect()
}

fn queue(scheme: &SchemeEntry, view: QueueView, limit: Limit) -> AnyQueue<Packet> {
    scheme.build(scheme.info.name, &[], &view).unwrap().queue(view, limit, true, 7)
}

fn bed(scheme: &SchemeEntry) -> Bed {
    Bed::new(queue(scheme, bench::queue(0), bench::LIMIT))
}

#[test]
fn queues_and_schemes_can_be_copied_and_sent_to_other_threads() {
    fn check<T: Send + Clone>() {}
    check::<AnyQueue<Vec<u8>>>();
    check::<AnyScheme>();
    check::<AnyAqm>();
}

#[test]
fn a_copy_goes_on_as_the_original_does() {
    for scheme in schemes() {
        let half = bed(&scheme).run(300);
        let copy = half.clone();
        let original = half.run(300);
        assert!(copy.run(300).seen(&scheme) == original.seen(&scheme), "{}", scheme.info.name);
    }
}

/// Nothing of the rate, the buffer or a limit is kept from the start: a queue that is told of others before the first
/// packet goes the way of a queue that was made for them.
#[test]
fn a_scheme_follows_the_rate_and_the_buffer_of_its_link() {
    let (rate, limit) = (Rate(3e6), Limit::Packets(60));
    for scheme in schemes() {
        let mut told = bed(&scheme);
        told.queue.set_rate(rate);
        told.queue.set_limit(limit, 60.0);
        let made = Bed::new(queue(&scheme, QueueView::empty(rate, 50.0, 60.0), limit));
        assert!(told.run(600).seen(&scheme) == made.run(600).seen(&scheme), "{}", scheme.info.name);
    }
}

/// A controller's memory of the error before is of the old target; what has no such memory goes the way of a queue that
/// was made for the new one.
#[test]
fn a_scheme_follows_the_target_of_its_link() {
    for name in ["red", "ared", "dctcp-step", "rem", "an-aqm", "gred", "choke", "choker", "lred", "npd-red", "fq-red"] {
        let scheme = entry(name).unwrap();
        let mut told = bed(&scheme);
        told.queue.set_target(20.0);
        let made = Bed::new(queue(&scheme, QueueView::empty(Rate(8e6), 20.0, 100.0), bench::LIMIT));
        assert!(told.run(600).seen(&scheme) == made.run(600).seen(&scheme), "{name}");
    }
}

#[test]
fn a_smaller_limit_drops_nothing_at_once() {
    for scheme in schemes() {
        let mut bed = bed(&scheme).run(200);
        let (waiting, dropped) = (bed.queue.len(), bed.queue.accounts().dropped);
        bed.queue.set_limit(Limit::Packets(5), 5.0);
        assert_eq!((bed.queue.len(), bed.queue.accounts().dropped), (waiting, dropped), "{}", scheme.info.name);
        let instances = if scheme.info.name == "cake-mq" { 4 } else { 1 }; // each has the limit for itself
        assert!(bed.run(200).queue.len() <= 5 * instances, "{}", scheme.info.name);
    }
}

/// Setting what is set already changes nothing; any legal value leaves a queue that works.
#[test]
fn every_parameter_is_set_while_the_scheme_runs_or_refused_with_the_reason() {
    for scheme in schemes() {
        let half = bed(&scheme).run(200);
        for spec in (scheme.params)() {
            let name = format!("{}: {}", scheme.info.name, spec.name);
            let mut same = half.clone();
            match same.queue.set_param(spec.name, ParamInput::Text(spec.default)) {
                Ok(()) => {
                    assert!(same.run(200).seen(&scheme) == half.clone().run(200).seen(&scheme), "{name}");
                    let bounds = spec.range.map(|(least, greatest)| [least, greatest]);
                    for value in bounds.iter().flatten().chain(spec.choices) {
                        let mut other = half.clone();
                        // Bounds such as 10^7 packets are legal and contradict the other threshold.
                        if other.queue.set_param(spec.name, ParamInput::Text(value)).is_ok() && spec.unit != "time" {
                            let other = other.run(50);
                            assert!(
                                other.seen(&scheme).1.iter().all(|bits| f64::from_bits(*bits).is_finite()),
                                "{name}"
                            );
                        }
                    }
                }
                Err(why) => assert!(why.contains("cannot change while the scheme runs: "), "{name}: {why}"),
            }
        }
    }
}

#[test]
fn a_parameter_that_is_set_counts() {
    let refusal = |name: &str, param: &str, value: &str| {
        bed(&entry(name).unwrap()).queue.set_param(param, ParamInput::Text(value))
    };
    assert_eq!(refusal("pi", "gian", "1").unwrap_err(), "unknown parameter \"gian\"; known: a, b, w");
    assert_eq!(
        refusal("pi", "w", "0 Hz").unwrap_err(),
        "w: \"0 Hz\" is out of range: must lie in 0.01 Hz ..= 1000 kHz"
    );
    assert!(refusal("red", "max_th", "1 packets").unwrap_err().contains("must be below max_th"));
    assert!(refusal("an-aqm", "w0", "1").unwrap_err().contains("the weights have learnt since"));
    assert!(refusal("fq-codel", "flows", "8").unwrap_err().contains("hashed"));
    for (name, param, value) in [
        ("pi", "a", "1e-3"),
        ("ared", "q_weight", "0.2"),
        ("choke", "max_th", "60 packets"),
        ("codel", "interval", "10 ms"),
        ("fq-codel", "interval", "10 ms"),
        ("fq-codel", "quantum", "100 B"),
        ("dualpi2", "target", "1 ms"),
        ("cake", "rtt", "1 ms"),
        ("cake-mq", "rtt", "1 ms"),
        ("lred", "periods", "1"),
    ] {
        let scheme = entry(name).unwrap();
        let plain = bed(&scheme).run(2000);
        let mut changed = bed(&scheme).run(200);
        changed.queue.set_param(param, ParamInput::Text(value)).unwrap();
        assert!(changed.run(1800).seen(&scheme) != plain.seen(&scheme), "{name}: {param}");
    }
}

/// Packets, accounts and times of joining survive a change of the scheme.
#[test]
fn a_scheme_takes_the_place_of_another_while_packets_wait() {
    for (first, second) in schemes().into_iter().zip(schemes().into_iter().cycle().skip(11)) {
        let name = format!("{} to {}", first.info.name, second.info.name);
        let mut bed = bed(&first).run(150);
        let (waiting, before) = (bed.queue.len(), bed.queue.accounts());
        let mut all = Vec::new();
        bed.queue.for_each(&mut |packet| all.push(packet.number));
        assert_eq!(all.len() as u32, waiting, "{name}");
        let mut in_order = bed.queue.clone();
        bed.queue.replace(queue(&second, bench::queue(0), bench::LIMIT), bed.now);
        let after = bed.queue.accounts();
        assert_eq!(
            (bed.queue.len(), after.arrived, after.dropped),
            (waiting, before.arrived, before.dropped),
            "{name}"
        );
        let mut moved = Vec::new();
        bed.queue.for_each(&mut |packet| moved.push(packet.number));
        let mut left: Vec<(u32, Time)> =
            in_order.take_all(bed.now).into_iter().map(|(packet, since)| (packet.number, since)).collect();
        assert!(in_order.is_empty() && in_order.accounts_balance(), "{name}");
        assert!(left.iter().all(|(_, since)| *since <= bed.now), "{name}");
        left.sort_unstable();
        moved.sort_unstable();
        assert_eq!(left.iter().map(|(number, _)| *number).collect::<Vec<_>>(), moved, "{name}");
        bed.run(300);
    }
}

/// Two of each of two flows joined: round robin with a quantum of one packet takes turns.
#[test]
fn packets_move_in_the_order_in_which_they_would_leave() {
    let scheme = entry("fq-droptail").unwrap();
    let built = scheme.build("fq-droptail", &[("quantum", "1000 B")], &bench::queue(0)).unwrap();
    let mut queue: AnyQueue<Packet> = built.queue(bench::queue(0), bench::LIMIT, true, 7);
    let rng = &mut bench::stream();
    for number in [7, 14, 8, 15] {
        queue.enqueue(Packet { number, marked: false }, &mut Ctx { now: Time::ZERO, rng });
    }
    let mut asked = queue.clone();
    let left: Vec<u32> = std::iter::from_fn(|| asked.dequeue(&mut Ctx { now: Time::ZERO, rng }))
        .map(|(packet, _)| packet.number)
        .collect();
    assert_eq!(left, [7, 8, 14, 15]);
    let taken: Vec<u32> = queue.take_all(Time::ZERO).iter().map(|(packet, _)| packet.number).collect();
    assert_eq!(taken, left);
}
