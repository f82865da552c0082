//! Any queue discipline, over the schemes that it is given.

use super::delegate::delegate;
use super::{
    Accounts, Carried, Coupled, Discipline, Dual, Fair, Fate, Fifo, Htb, Limit, Mq, Note, QueueState, TinPolicy, Tins,
    TraceEvent, TracedQueue,
};
use crate::{Aqm, Ctx, Failure, Tune};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Rate, Span, Time};

/// Any queue discipline: over schemes `A` of a single queue, `C` of the dual queue and `T` of tins. The single queue,
/// which most runs have, is held in place.
#[allow(missing_docs, clippy::large_enum_variant)]
#[derive(Clone)]
#[repr(u8)] // a tag of its own is read faster than one hidden in a value
pub enum Any<A, C, T: TinPolicy, P> {
    Fifo(Fifo<A, P>),
    Fair(Box<Fair<A, P>>),
    Dual(Box<Dual<C, P>>),
    Tins(Box<Tins<T, P>>),
    Mq(Box<Mq<T, P>>),
    Htb(Box<Htb<Any<A, C, T, P>, P>>),
    Traced(Box<TracedQueue<Any<A, C, T, P>, P>>),
}

impl<A: Aqm + Tune + Clone, C: Coupled + Clone, T: TinPolicy + Clone, P: Carried> Any<A, C, T, P> {
    /// The same discipline, still empty, with what happens to its packets written down.
    pub fn traced(self) -> Self {
        Any::Traced(Box::new(TracedQueue::new(self)))
    }

    /// Takes the events since the last call, in order; none unless it is traced.
    pub fn take_events(&mut self) -> Vec<TraceEvent<P>> {
        match self {
            Any::Traced(queue) => queue.take_events(),
            _ => Vec::new(),
        }
    }

    /// Puts `next`, which is still empty, in the place of this discipline at the time `now`. Its packets move over,
    /// unasked, in the order in which they would leave and with the times at which they joined; its accounts go on, and
    /// so does its trace.
    pub fn replace(&mut self, mut next: Self, now: Time) {
        if let Any::Traced(traced) = self {
            next.keep_notes(true);
            return traced.queue_mut().replace(next, now);
        }
        let packets = self.take_all(now);
        next.add_accounts(&self.accounts());
        packets.into_iter().for_each(|(packet, since)| next.adopt(packet, since));
        *self = next;
    }
}

macro_rules! any {
    ($self:ident, $queue:ident => $act:expr) => {
        match $self {
            Any::Fifo($queue) => $act,
            Any::Fair($queue) => $act,
            Any::Dual($queue) => $act,
            Any::Tins($queue) => $act,
            Any::Mq($queue) => $act,
            Any::Htb($queue) => $act,
            Any::Traced($queue) => $act,
        }
    };
}

/// Calls of their own: the code of the other disciplines stays out of the way of the single queue's.
impl<A: Aqm + Tune + Clone, C: Coupled + Clone, T: TinPolicy + Clone, P: Carried> Any<A, C, T, P> {
    #[inline(never)]
    fn enqueue_in_others(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        any!(self, queue => queue.enqueue(packet, cx))
    }

    #[inline(never)]
    fn dequeue_from_others<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        any!(self, queue => queue.dequeue_with(cx, keep))
    }

    #[inline(never)]
    fn len_of_others(&self) -> u32 {
        any!(self, queue => queue.len())
    }
}

impl<A: Aqm + Tune + Clone, C: Coupled + Clone, T: TinPolicy + Clone, P: Carried> Discipline<P> for Any<A, C, T, P> {
    #[inline(always)]
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        match self {
            Any::Fifo(queue) => queue.enqueue(packet, cx),
            others => others.enqueue_in_others(packet, cx),
        }
    }
    #[inline(always)]
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        match self {
            Any::Fifo(queue) => queue.dequeue_with(cx, keep),
            others => others.dequeue_from_others(cx, keep),
        }
    }
    #[inline]
    fn ready_at(&self) -> Option<Time> {
        any!(self, queue => queue.ready_at())
    }
    #[inline(always)]
    fn len(&self) -> u32 {
        match self {
            Any::Fifo(queue) => queue.len(),
            Any::Fair(queue) => queue.len(),
            Any::Tins(queue) => queue.len(),
            others => others.len_of_others(),
        }
    }
    fn drop_from_fattest(&mut self, cx: &mut Ctx) {
        any!(self, queue => queue.drop_from_fattest(cx));
    }
    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        any!(self, queue => queue.fetch_notes(notes))
    }
    delegate!(any);
}
