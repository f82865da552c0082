//! A queue discipline that tells what happens to each packet. It stands in the place of the one it traces, so that others
//! pay nothing for it.

use crate::{Accounts, Carried, Ctx, Discipline, Failure, Fate, Notes, Why};
use aqmlab_core::{Rate, Span, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// What happens to a packet at a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It joined.
    Enqueued,
    /// It was dropped as it arrived.
    Refused(Why),
    /// It was marked, as it joined or as it left; one of these comes next.
    Marked(Why),
    /// It was dropped while it waited, or at the head.
    Dropped(Why),
    /// It left from the head to be sent.
    Dequeued,
}

/// Is told what happens.
pub trait Observer<P> {
    /// To a packet that arrived at `since`.
    fn on(&mut self, happening: Happening, packet: &P, since: Time, now: Time);
}

/// A discipline and its observer.
pub struct Traced<Q, P> {
    queue: Q,
    notes: Notes<P>,
    observer: Rc<RefCell<dyn Observer<P>>>,
}

impl<Q: Discipline<P>, P: Carried> Traced<Q, P> {
    /// The discipline `queue`, still empty, of whose packets `observer` is told.
    pub fn new(mut queue: Q, observer: Rc<RefCell<dyn Observer<P>>>) -> Self {
        let notes = Notes::default();
        queue.note_in(notes.clone());
        Self { queue, notes, observer }
    }

    fn tell(&self, happening: Happening, packet: &P, since: Time, now: Time) {
        self.observer.borrow_mut().on(happening, packet, since, now);
    }

    /// Of those that had joined before.
    fn tell_notes(&self, now: Time) {
        for (fate, packet, since) in self.notes.borrow_mut().drain(..) {
            match fate {
                Fate::Dropped(why) => self.tell(Happening::Dropped(why), &packet, since, now),
                Fate::Marked(why) => self.tell(Happening::Marked(why), &packet, since, now),
                Fate::Kept => {}
            }
        }
    }
}

impl<Q: Discipline<P>, P: Carried> Discipline<P> for Traced<Q, P> {
    /// The arriving packet comes first, then those that were dropped for it.
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        let (mut arrived, now) = (packet.clone(), cx.now);
        let fate = self.queue.enqueue(packet, cx);
        match fate {
            Fate::Dropped(why) => self.tell(Happening::Refused(why), &arrived, now, now),
            Fate::Marked(why) => {
                arrived.mark();
                self.tell(Happening::Marked(why), &arrived, now, now);
                self.tell(Happening::Enqueued, &arrived, now, now);
            }
            Fate::Kept => self.tell(Happening::Enqueued, &arrived, now, now),
        }
        self.tell_notes(now);
        fate
    }

    fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        let sent = self.queue.dequeue(cx);
        self.tell_notes(cx.now);
        if let Some((packet, since)) = &sent {
            self.tell(Happening::Dequeued, packet, *since, cx.now);
        }
        sent
    }

    fn ready_at(&self) -> Option<Time> {
        self.queue.ready_at()
    }

    fn len(&self) -> u32 {
        self.queue.len()
    }

    fn departures_known(&self) -> bool {
        self.queue.departures_known()
    }

    fn tick_every(&self) -> Option<Span> {
        self.queue.tick_every()
    }

    fn tick(&mut self, cx: &mut Ctx) {
        self.queue.tick(cx);
    }

    fn set_rate(&mut self, rate: Rate) {
        self.queue.set_rate(rate);
    }

    fn observe(&self, i: usize) -> f64 {
        self.queue.observe(i)
    }

    fn failure(&self) -> Option<&Failure> {
        self.queue.failure()
    }

    fn accounts(&self) -> Accounts {
        self.queue.accounts()
    }

    fn restart_accounts(&mut self) {
        self.queue.restart_accounts();
    }

    fn accounts_balance(&self) -> bool {
        self.queue.accounts_balance()
    }

    fn note_in(&mut self, notes: Notes<P>) {
        self.queue.note_in(notes);
    }
}
