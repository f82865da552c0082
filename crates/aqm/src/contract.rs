//! What every scheme must satisfy, put to it through the queue that hosts it.
//!
//! Public, so that a scheme written elsewhere can be put to the same test: [`check`] takes any [`Aqm`].

use crate::{Aqm, Carried, Ctx, Fifo, Limit, Observable, QueueView};
use aqmlab_core::{Rate, Span, Stream, Time};

/// One thing that happens to a queue.
#[derive(Clone, Copy, Debug)]
pub enum Step {
    /// A packet of this size arrives.
    Arrive(u32),
    /// The link asks for a packet.
    Depart,
    /// Time passes; periodic updates run.
    Wait(Span),
}

/// A packet of the contract: numbered, so that order can be seen.
#[derive(Clone, Copy, Debug)]
pub struct Numbered {
    number: u64,
    size: u32,
    ect: bool,
    marked: bool,
}

impl Carried for Numbered {
    fn size(&self) -> u32 {
        self.size
    }
    fn flow(&self) -> u32 {
        0
    }
    fn is_ect(&self) -> bool {
        self.ect
    }
    fn mark(&mut self) {
        self.marked = true;
    }
}

/// How a queue under a scheme ended: equal inputs must give equal ends.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    departed: Vec<(u64, bool)>,
    observed: Vec<f64>,
}

/// Puts the scheme to `steps`; the error says which clause of the contract it broke.
///
/// The queue is that of [`bench::queue`], with room for 100 packets. The clauses: accounts balance after every step;
/// packets leave in the order in which they joined; only ECN-capable packets (`ect`) are marked; a scheme that does not
/// act on departures signals none; every observable is finite and a probability (unit `ratio`) lies in 0 ..= 1.
pub fn check(
    scheme: impl Aqm,
    observables: &[Observable],
    steps: &[Step],
    ect: bool,
    seed: u64,
) -> Result<End, String> {
    let mut host = Host {
        fifo: Fifo::new(scheme, bench::queue(0), Limit::Packets(100), true),
        rng: Stream::new(seed, "contract", 0),
        now: Time::ZERO,
        next_tick: Time::ZERO,
    };
    let (mut number, mut departed) = (0, Vec::new());
    for step in steps {
        match *step {
            Step::Arrive(size) => {
                number += 1;
                host.with(|fifo, cx| fifo.enqueue(Numbered { number, size, ect, marked: false }, cx));
            }
            Step::Depart => departed.extend(host.depart()?),
            Step::Wait(span) => host.wait(span),
        }
        host.verify(observables)?;
    }
    if departed.windows(2).any(|pair| pair[0].number >= pair[1].number) {
        return Err("packets left out of order".into());
    }
    if departed.iter().any(|packet| packet.marked && !packet.ect) {
        return Err("a packet that cannot carry a mark was marked".into());
    }
    let observed = (0..observables.len()).map(|i| host.fifo.scheme().observe(i)).collect();
    Ok(End { departed: departed.iter().map(|packet| (packet.number, packet.marked)).collect(), observed })
}

struct Host<A> {
    fifo: Fifo<A, Numbered>,
    rng: Stream,
    now: Time,
    next_tick: Time,
}

impl<A: Aqm> Host<A> {
    fn with<T>(&mut self, act: impl FnOnce(&mut Fifo<A, Numbered>, &mut Ctx) -> T) -> T {
        act(&mut self.fifo, &mut Ctx { now: self.now, rng: &mut self.rng })
    }

    fn depart(&mut self) -> Result<Option<Numbered>, String> {
        let signals = |fifo: &Fifo<A, Numbered>| fifo.accounts().dropped + fifo.accounts().marked;
        let before = signals(&self.fifo);
        let departed = self.with(Fifo::dequeue);
        if signals(&self.fifo) != before && !self.fifo.scheme().acts_on_dequeue() {
            return Err("signals on departure, but says that it does not act on departures".into());
        }
        Ok(departed.map(|(packet, _)| packet))
    }

    fn wait(&mut self, span: Span) {
        let end = self.now + span;
        if let Some(period) = self.fifo.scheme().tick_every() {
            while self.next_tick <= end {
                self.now = self.next_tick;
                self.with(Fifo::tick);
                self.next_tick += period;
            }
        }
        self.now = end;
    }

    fn verify(&self, observables: &[Observable]) -> Result<(), String> {
        if !self.fifo.accounts_balance() {
            return Err(format!("accounts do not balance: {:?}", self.fifo.accounts()));
        }
        for (i, observable) in observables.iter().enumerate() {
            let value = self.fifo.scheme().observe(i);
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

    /// A queue with `packets` waiting.
    pub fn queue(packets: u32) -> QueueView {
        let bytes = u64::from(packets) * 1000;
        QueueView { packets, bytes, ..QueueView::empty(Rate(8e6), 50.0) }
    }

    /// A packet of 1000 B.
    pub fn packet() -> PacketView {
        PacketView { size: 1000, flow: 0, rtt: None, enqueued_at: Time::ZERO, can_mark: false }
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
