//! State that all disciplines share: what waits and may wait, and the fate of packets, decided and counted in one
//! place.

use super::{Accounts, Carried, Fate, Limit, Note};
use crate::{QueueView, Reason};
use aqmlab_core::Time;

/// The queues of a discipline as a whole, its accounts, and notes once the host has asked for them.
#[derive(Clone)]
pub struct QueueState<P> {
    /// All queues together.
    pub view: QueueView,
    /// Limit of what may wait.
    pub limit: Limit,
    /// Signals mark packets that can carry a mark.
    pub ecn: bool,
    /// Of all queues.
    pub accounts: Accounts,
    notes: Option<Vec<Note<P>>>,
    /// Marks are noted, too.
    notes_marks: bool,
}

impl<P: Carried> QueueState<P> {
    /// Empty, of a link that `view` describes.
    pub fn new(view: QueueView, limit: Limit, ecn: bool) -> Self {
        Self { view, limit, ecn, accounts: Accounts::default(), notes: None, notes_marks: false }
    }

    /// True if so many packets and bytes agree with the accounts.
    pub fn balances(&self, packets: u32, bytes: u64) -> bool {
        self.accounts.balance(packets.into()) && self.view.packets == packets && self.view.bytes == bytes
    }

    /// True if a packet of this size finds no room.
    #[inline(always)]
    pub fn is_full_for(&self, size: u32) -> bool {
        self.limit.is_reached(self.view.packets, self.view.bytes, size)
    }

    /// Takes over what waits in one of its queues now: packets and bytes.
    #[inline(always)]
    pub fn follow(&mut self, before: (u32, u64), after: (u32, u64)) {
        let view = &mut self.view;
        (view.packets, view.bytes) = (view.packets - before.0 + after.0, view.bytes - before.1 + after.1);
    }

    /// An arriving packet, marked if that is its fate; whether it joins.
    #[inline(always)]
    pub fn joins(&mut self, fate: Fate, packet: &mut P) -> bool {
        match fate {
            Fate::Kept => true,
            Fate::Marked(_) => {
                self.mark(packet);
                true
            }
            Fate::Dropped(why) => {
                self.accounts.drop(why, 1);
                false
            }
        }
    }

    /// An arriving packet is dropped.
    pub fn refuse(&mut self, why: Reason) -> Fate {
        self.accounts.drop(why, 1);
        Fate::Dropped(why)
    }

    /// A packet at the head, marked if that is its fate; whether it leaves to be sent.
    #[inline(always)]
    pub fn leaves(&mut self, fate: Fate, packet: &mut P, since: Time) -> bool {
        match fate {
            Fate::Kept => {}
            Fate::Marked(_) => {
                self.mark(packet);
                if self.notes_marks {
                    self.note(fate, packet, since);
                }
            }
            Fate::Dropped(why) => {
                self.drop(why, packet, since);
                return false;
            }
        }
        self.accounts.departed += 1;
        true
    }

    /// A packet that had joined is dropped.
    pub fn drop(&mut self, why: Reason, packet: &P, since: Time) {
        self.accounts.drop(why, 1);
        self.note(Fate::Dropped(why), packet, since);
    }

    fn mark(&mut self, packet: &mut P) {
        self.accounts.marked += 1;
        packet.mark();
    }

    #[cold]
    fn note(&mut self, fate: Fate, packet: &P, since: Time) {
        if let Some(notes) = &mut self.notes {
            notes.push(Note { fate, packet: packet.clone(), since });
        }
    }

    /// See [`Discipline::keep_notes`](super::Discipline::keep_notes).
    pub fn keep_notes(&mut self, marks: bool) {
        self.notes.get_or_insert_default();
        self.notes_marks |= marks;
    }

    /// See [`Discipline::fetch_notes`](super::Discipline::fetch_notes).
    pub fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.notes.iter_mut().for_each(|kept| notes.append(kept));
    }
}
