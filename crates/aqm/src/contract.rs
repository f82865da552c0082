//! The contract: conditions that every scheme must satisfy, tested through the queue that hosts it.
//!
//! Public, so that a scheme written elsewhere can be put to the same test: [`suite`] runs all of it, [`check`] one course
//! of events.

use crate::{Aqm, Carried, Ctx, Discipline, Ecn, Fifo, Limit, Observable, QueueView, Tune};
use aqmlab_core::{Rate, Span, Stream, Time};

/// One thing that happens to a queue.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet of this size arrives, of the next of three flows.
    Arrive(u32),
    /// The link asks for a packet.
    Depart,
    /// Time passes; periodic updates run.
    Wait(Span),
}

/// A packet of the contract: numbered, so that order can be seen.
#[derive(Clone, Copy, Debug)]
pub struct NumberedPacket {
    number: u64,
    size: u32,
    ecn: Ecn,
    marked: bool,
}

impl NumberedPacket {
    /// Three flows; of those that speak ECN one is classic and one L4S.
    fn new(number: u64, size: u32, ect: bool) -> Self {
        let ecn = if ect { [Ecn::Ect0, Ecn::Ect1, Ecn::NotEct][(number % 3) as usize] } else { Ecn::NotEct };
        Self { number, size, ecn, marked: false }
    }
}

impl Carried for NumberedPacket {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        (self.number % 3) as u32
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn dscp(&self) -> u8 {
        ((self.number % 3) as u8) << 3
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

/// The final state of a queue under a scheme: equal inputs must give equal ends.
#[derive(Clone, Debug, PartialEq)]
pub struct EndState {
    departed: Vec<(u64, bool)>,
    observed: Vec<f64>,
    /// Packets dropped or marked.
    pub signalled: u64,
}

/// Puts a scheme to `steps` in the single queue of [`bench::queue`]; see [`check_queue`].
pub fn check(
    scheme: impl Aqm + Tune,
    observables: &[Observable],
    steps: &[Step],
    ect: bool,
    seed: u64,
) -> Result<EndState, String> {
    check_queue(Fifo::new(scheme, bench::queue(0), bench::LIMIT, true), observables, steps, ect, seed)
}

/// Puts a queue under a scheme to `steps`; the error says which clause of the contract it broke.
///
/// The clauses: the scheme does not break down; accounts balance after every step; packets of a flow leave in the order in which they joined, unless queue protection
/// has sent some to another queue; only
/// ECN-capable packets (some are, if `ect`) are marked; a scheme that does not act on departures signals none; every
/// observable is finite and a probability (unit `ratio`) lies in 0 ..= 1.
pub fn check_queue(
    queue: impl Discipline<NumberedPacket>,
    observables: &[Observable],
    steps: &[Step],
    ect: bool,
    seed: u64,
) -> Result<EndState, String> {
    let rng = Stream::new(seed, "contract", 0);
    let mut host = Host { queue, rng, now: Time::ZERO, next_tick: Time::ZERO };
    let (mut number, mut departed) = (0, Vec::new());
    for step in steps {
        match *step {
            Step::Arrive(size) => {
                number += 1;
                host.with(|queue, cx| queue.enqueue(NumberedPacket::new(number, size, ect), cx));
            }
            Step::Depart => departed.extend(host.depart()?),
            Step::Wait(span) => host.wait(span),
        }
        host.verify(observables)?;
    }
    let in_order = host.queue.accounts().sanctioned == 0;
    for flow in (0..3).filter(|_| in_order) {
        let order: Vec<u64> = departed.iter().filter(|p| p.flow() == flow).map(|p| p.number).collect();
        if order.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err("packets of a flow left out of order".into());
        }
    }
    if departed.iter().any(|packet| packet.marked && !packet.ecn.is_capable()) {
        return Err("a packet that cannot carry a mark was marked".into());
    }
    let observed = (0..observables.len()).map(|i| host.queue.observe(i)).collect();
    let signalled = host.signalled();
    Ok(EndState {
        departed: departed.iter().map(|packet| (packet.number, packet.marked)).collect(),
        observed,
        signalled,
    })
}

/// Asks a link for `ms` packets, one a millisecond: the rate of [`bench::queue`] for packets of 1000 B.
fn idle_ms(ms: usize) -> impl Iterator<Item = Step> {
    [Step::Depart, Step::Wait(Span(1_000_000_000))].into_iter().cycle().take(2 * ms)
}

fn burst(packets: usize) -> impl Iterator<Item = Step> {
    std::iter::repeat_n(Step::Arrive(1000), packets)
}

const HOUR: Step = Step::Wait(Span(3_600_000_000_000_000));

/// A random course: up to five packets offered for each one taken.
fn random_course(rng: &mut Stream) -> Vec<Step> {
    let arrivals = 1.0 + 9.0 * rng.uniform();
    let step = |_| match rng.uniform() * (arrivals + 3.0) {
        kind if kind < arrivals => Step::Arrive(40 + (8960.0 * rng.uniform()) as u32),
        kind if kind < arrivals + 2.0 => Step::Depart,
        _ => Step::Wait(Span((2e10 * rng.uniform()) as u64)),
    };
    (0..600).map(step).collect()
}

/// The clause that nothing is signalled at half the link's rate in bursts of 7 packets.
pub const LIGHT_LOAD: &str = "a light load is never signalled";

/// A clause that a scheme does not keep by its nature, as it declares itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The clause, such as [`LIGHT_LOAD`].
    pub clause: &'static str,
    /// The reason.
    pub why: &'static str,
}

/// The result for a clause.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is kept.
    Kept,
    /// It is broken: how.
    Broken(String),
    /// It is not asked for: why.
    Excepted(&'static str),
}

/// A clause of the contract, and what was found.
pub type Clause = (&'static str, Outcome);

/// Puts queues under a scheme, as `make` makes them, to the whole contract but its exceptions. They must be alike, with
/// the view of [`bench::queue`] and the limit [`bench::LIMIT`].
pub fn suite<Q: Discipline<NumberedPacket>>(
    make: impl Fn() -> Q,
    observables: &[Observable],
    exceptions: &[Exception],
) -> Vec<Clause> {
    let judged = |(clause, found): (&'static str, Result<(), String>)| {
        let excepted = exceptions.iter().find(|exception| exception.clause == clause);
        let outcome = match (excepted, found) {
            (Some(exception), _) => Outcome::Excepted(exception.why),
            (None, Ok(())) => Outcome::Kept,
            (None, Err(why)) => Outcome::Broken(why),
        };
        (clause, outcome)
    };
    put_to_all(make, observables).into_iter().map(judged).collect()
}

/// Every clause, and how it is broken.
fn put_to_all<Q: Discipline<NumberedPacket>>(
    make: impl Fn() -> Q,
    observables: &[Observable],
) -> [(&'static str, Result<(), String>); 5] {
    let put = |steps: &[Step], seed: u64| check_queue(make(), observables, steps, true, seed);
    let around = |middle: Step| {
        let busy = || burst(150).chain(idle_ms(150));
        let steps: Vec<Step> = busy().chain([middle]).chain(busy()).collect();
        put(&steps, 1).map(drop)
    };
    let courses = || (0..40).map(|seed| (seed, random_course(&mut Stream::new(seed, "course", 0))));
    let full: Vec<Step> = burst(150).chain([HOUR]).chain(burst(150)).chain(idle_ms(150)).collect();
    let light: Vec<Step> = (0..50).flat_map(|_| burst(7).chain(idle_ms(14))).collect();
    let repeat = |(seed, steps): (u64, Vec<Step>)| match (put(&steps, seed), put(&steps, seed)) {
        (Ok(first), Ok(second)) if first == second => Ok(()),
        (Ok(_), Ok(_)) => Err(format!("two runs of random course {seed} end differently")),
        (Err(why), _) | (_, Err(why)) => Err(format!("random course {seed}: {why}")),
    };
    let spared = put(&light, 1).and_then(|end| match end.signalled {
        0 => Ok(()),
        n => Err(format!("{n} of 350 packets were signalled at half the link's rate")),
    });
    [
        ("an empty queue and its updates are harmless", put(&[Step::Depart, HOUR, Step::Depart], 1).map(drop)),
        ("an hour of silence is harmless", around(HOUR)),
        ("an hour at a full queue is harmless", put(&full, 1).map(drop)),
        ("random courses keep order, accounts and bounds, and repeat", courses().try_for_each(repeat)),
        (LIGHT_LOAD, spared),
    ]
}

struct Host<Q> {
    queue: Q,
    rng: Stream,
    now: Time,
    next_tick: Time,
}

impl<Q: Discipline<NumberedPacket>> Host<Q> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Q, &mut Ctx) -> T) -> T {
        act(&mut self.queue, &mut Ctx { now: self.now, rng: &mut self.rng })
    }

    fn signalled(&self) -> u64 {
        self.queue.accounts().dropped + self.queue.accounts().marked
    }

    fn depart(&mut self) -> Result<Option<NumberedPacket>, String> {
        let before = self.signalled();
        let departed = self.with(Q::dequeue);
        if self.signalled() != before && self.queue.departures_known() {
            return Err("signals on departure, but declares that it does not act on departures".into());
        }
        Ok(departed.map(|(packet, _)| packet))
    }

    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        if let Some(period) = self.queue.tick_every() {
            while self.next_tick <= end {
                self.now = self.next_tick;
                self.with(Q::tick);
                self.next_tick += period;
            }
        }
        self.now = end;
    }

    fn verify(&self, observables: &[Observable]) -> Result<(), String> {
        if let Some(failure) = self.queue.failure() {
            return Err(failure.cause.clone());
        }
        if !self.queue.accounts_balance() {
            return Err(format!("accounts do not balance: {:?}", self.queue.accounts()));
        }
        for (i, observable) in observables.iter().enumerate() {
            let value = self.queue.observe(i);
            if !value.is_finite() {
                return Err(format!("{} is {value}", observable.name));
            }
            if observable.unit == "ratio" && !(0.0..=1.0).contains(&value) {
                return Err(format!("{} = {value} is not in 0 ..= 1", observable.name));
            }
        }
        Ok(())
    }
}

/// Made-up queues for the unit tests of schemes: 8 Mbit/s (1000 packets of 1000 B a second), target 50 packets.
pub mod bench {
    use super::*;
    use crate::PacketView;

    /// Capacity of the queue.
    pub const LIMIT: Limit = Limit::Packets(100);

    /// A queue with `packets` waiting.
    pub fn queue(packets: u32) -> QueueView {
        let bytes = u64::from(packets) * 1000;
        QueueView { packets, bytes, ..QueueView::empty(Rate(8e6), 50.0, 100.0) }
    }

    /// A packet of 1000 B.
    pub fn packet() -> PacketView {
        let (rtt, ecn) = (None, Ecn::NotEct);
        PacketView { size: 1000, flow: 0, flow_hash: 0, rtt, dscp: 0, enqueued_at: Time::ZERO, ecn, can_mark: false }
    }

    /// A random stream.
    pub fn stream() -> Stream {
        Stream::new(1, "bench", 0)
    }

    /// One periodic update with `packets` waiting.
    pub fn tick(scheme: &mut impl Aqm, packets: u32) {
        tick_after(scheme, packets, 0);
    }

    /// One periodic update with `packets` waiting, after `arrived` packets since the start.
    pub fn tick_after(scheme: &mut impl Aqm, packets: u32, arrived: u64) {
        let view = QueueView { arrived_packets: arrived, ..queue(packets) };
        scheme.on_tick(&view, &mut Ctx { now: Time::ZERO, rng: &mut stream() });
    }
}
