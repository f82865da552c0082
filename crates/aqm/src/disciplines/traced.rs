//! A queue discipline that records the events of each packet. It stands in the place of the one it traces, so that
//! others pay nothing for it.

use super::delegate::delegate;
use super::{Accounts, Carried, Discipline, Fate, Limit, Note, QueueState};
use crate::{Ctx, Failure, Reason};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Rate, Span, Time};

/// An event of a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueEvent {
    /// It joined.
    Enqueued,
    /// It was dropped as it arrived.
    Refused(Reason),
    /// It was marked, as it joined or as it left; one of these comes next.
    Marked(Reason),
    /// It was dropped while it waited, or at the head.
    Dropped(Reason),
    /// It left from the head to be sent.
    Dequeued,
}

/// An event of a packet, with its time.
#[derive(Clone, Copy, Debug)]
pub struct TraceEvent<P> {
    /// The event.
    pub event: QueueEvent,
    /// The packet, with its mark if it got one.
    pub packet: P,
    /// Arrival of the packet.
    pub since: Time,
    /// Time of the event.
    pub time: Time,
}

/// A discipline, and all that has happened to its packets.
#[derive(Clone)]
pub struct TracedQueue<Q, P> {
    queue: Q,
    /// Written as events, and kept until the host fetches them.
    notes: Vec<Note<P>>,
    events: Vec<TraceEvent<P>>,
}

impl<Q: Discipline<P>, P: Carried> TracedQueue<Q, P> {
    /// The discipline `queue`, still empty.
    pub fn new(mut queue: Q) -> Self {
        queue.keep_notes(true);
        Self { queue, notes: Vec::new(), events: Vec::new() }
    }

    /// The events since the last call, in order.
    pub fn take_events(&mut self) -> Vec<TraceEvent<P>> {
        std::mem::take(&mut self.events)
    }

    /// The discipline traced.
    pub(super) fn queue_mut(&mut self) -> &mut Q {
        &mut self.queue
    }

    fn write(&mut self, event: QueueEvent, packet: &P, since: Time, time: Time) {
        self.events.push(TraceEvent { event, packet: packet.clone(), since, time });
    }

    /// Of those that had joined before.
    fn write_notes(&mut self, time: Time) {
        let written = self.notes.len();
        self.queue.fetch_notes(&mut self.notes);
        for Note { fate, packet, since } in &self.notes[written..] {
            let event = match *fate {
                Fate::Dropped(why) => QueueEvent::Dropped(why),
                Fate::Marked(why) => QueueEvent::Marked(why),
                Fate::Kept => continue,
            };
            self.events.push(TraceEvent { event, packet: packet.clone(), since: *since, time });
        }
    }
}

macro_rules! within {
    ($self:ident, $queue:ident => $act:expr) => {
        match $self {
            TracedQueue { queue: $queue, .. } => $act,
        }
    };
}

impl<Q: Discipline<P>, P: Carried> Discipline<P> for TracedQueue<Q, P> {
    /// The arriving packet comes first, then those that were dropped for it.
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        let (mut arrived, now) = (packet.clone(), cx.now);
        let fate = self.queue.enqueue(packet, cx);
        match fate {
            Fate::Dropped(why) => self.write(QueueEvent::Refused(why), &arrived, now, now),
            Fate::Marked(why) => {
                arrived.mark();
                self.write(QueueEvent::Marked(why), &arrived, now, now);
                self.write(QueueEvent::Enqueued, &arrived, now, now);
            }
            Fate::Kept => self.write(QueueEvent::Enqueued, &arrived, now, now),
        }
        self.write_notes(now);
        fate
    }

    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        let sent = self.queue.dequeue(cx);
        self.write_notes(cx.now);
        let (packet, since) = sent?;
        self.write(QueueEvent::Dequeued, &packet, since, cx.now);
        Some(keep(packet, since))
    }

    fn drop_from_fattest(&mut self, cx: &mut Ctx) {
        self.queue.drop_from_fattest(cx);
        self.write_notes(cx.now);
    }

    fn ready_at(&self) -> Option<Time> {
        self.queue.ready_at()
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        notes.append(&mut self.notes);
    }

    delegate!(within);
}
