//! The packets of many queues in one place. What one leaves free the next one takes, whichever its queue, so that packets
//! stay within the caches.

use aqmlab_core::{Time, make_room};

/// In place of a slot.
const NONE: u32 = u32::MAX;

#[derive(Clone)]
struct Slot<P> {
    /// `None` of a free one.
    packet: Option<P>,
    /// Time at which it joined.
    since: Time,
    /// The one behind it in its line, or among the free ones.
    next: u32,
}

/// Packets that wait in lines.
#[derive(Clone)]
pub(super) struct PacketStore<P> {
    slots: Vec<Slot<P>>,
    /// The free one that was left last.
    free: u32,
}

/// Packets of a store, first in, first out.
#[derive(Clone, Copy)]
pub(super) struct WaitingLine {
    first: u32,
    last: u32,
    len: u32,
}

impl WaitingLine {
    pub(super) const EMPTY: Self = Self { first: NONE, last: NONE, len: 0 };

    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.len
    }
}

impl<P> PacketStore<P> {
    pub(super) fn new() -> Self {
        Self { slots: Vec::new(), free: NONE }
    }

    /// A packet joins the end of a line.
    #[inline(always)]
    pub(super) fn push(&mut self, line: &mut WaitingLine, packet: P, since: Time) {
        let slot = self.free;
        if slot == NONE {
            return self.push_slot(line, packet, since);
        }
        let of = &mut self.slots[slot as usize];
        self.free = of.next;
        *of = Slot { packet: Some(packet), since, next: NONE };
        self.link(line, slot);
    }

    /// The same, where no slot is free.
    #[cold]
    fn push_slot(&mut self, line: &mut WaitingLine, packet: P, since: Time) {
        make_room(&mut self.slots);
        self.slots.push(Slot { packet: Some(packet), since, next: NONE });
        self.link(line, self.slots.len() as u32 - 1);
    }

    #[inline(always)]
    fn link(&mut self, line: &mut WaitingLine, slot: u32) {
        match line.len {
            0 => line.first = slot,
            _ => self.slots[line.last as usize].next = slot,
        }
        line.last = slot;
        line.len += 1;
    }

    /// The slot of the first packet of a line, which is in no line from now on and stays to be [taken](Self::take).
    #[inline(always)]
    pub(super) fn unlink(&mut self, line: &mut WaitingLine) -> Option<u32> {
        if line.len == 0 {
            return None;
        }
        let slot = line.first;
        line.first = self.slots[slot as usize].next;
        line.len -= 1;
        Some(slot)
    }

    /// Contents of a slot.
    #[inline(always)]
    pub(super) fn at(&mut self, slot: u32) -> (&mut P, Time) {
        let of = &mut self.slots[slot as usize];
        (of.packet.as_mut().expect("a slot in use has a packet"), of.since)
    }

    /// Takes a packet out that is in no line.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: u32) -> (P, Time) {
        let of = &mut self.slots[slot as usize];
        of.next = std::mem::replace(&mut self.free, slot);
        (of.packet.take().expect("a slot in use has a packet"), of.since)
    }

    /// Takes the packet at this position of a line out, if `is_meant` says so.
    pub(super) fn take_at(
        &mut self,
        line: &mut WaitingLine,
        position: usize,
        is_meant: impl FnOnce(&P) -> bool,
    ) -> Option<(P, Time)> {
        let mut slots = self.slots_of(line);
        let before = position.checked_sub(1).and_then(|before| slots.nth(before));
        let slot = slots.next()?;
        drop(slots);
        if !self.slots[slot as usize].packet.as_ref().is_some_and(is_meant) {
            return None;
        }
        let next = self.slots[slot as usize].next;
        match before {
            None => line.first = next,
            Some(before) => self.slots[before as usize].next = next,
        }
        if next == NONE {
            line.last = before.unwrap_or(NONE);
        }
        line.len -= 1;
        Some(self.take(slot))
    }

    fn slots_of(&self, line: &WaitingLine) -> impl Iterator<Item = u32> {
        let next = |slot: &u32| Some(self.slots[*slot as usize].next);
        std::iter::successors(Some(line.first), next).take(line.len as usize)
    }

    /// The packets of a line in their order.
    pub(super) fn packets_of(&self, line: &WaitingLine) -> impl Iterator<Item = &P> {
        self.slots_of(line).filter_map(|slot| self.slots[slot as usize].packet.as_ref())
    }

    /// All packets, in any order.
    pub(super) fn packets(&self) -> impl Iterator<Item = &P> {
        self.slots.iter().filter_map(|slot| slot.packet.as_ref())
    }
}
