//! What owns the packets of a link: the trait that every queue discipline has, and what all of them share.

use crate::{Ctx, Ecn, Failure, PacketView, Verdict, Why};
use aqmlab_core::{Rate, Span, Time};
use std::cell::RefCell;
use std::rc::Rc;

/// A packet as its host carries it.
pub trait Carried: Clone {
    /// Size on the wire, bytes.
    fn size(&self) -> u32;
    /// Which flow it belongs to.
    fn flow(&self) -> u32;
    /// Which host sent it.
    fn host(&self) -> u32 {
        self.flow()
    }
    /// ECN field of its header.
    fn ecn(&self) -> Ecn;
    /// Class selector of its DSCP, 0 to 7.
    fn class(&self) -> u8 {
        0
    }
    /// The round-trip time that its sender announces, if it does.
    fn rtt(&self) -> Option<Span> {
        None
    }
    /// Sets the congestion-experienced mark.
    fn mark(&mut self);
}

/// How much may wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// So many packets.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

impl Limit {
    /// Whether a packet of `size` bytes finds no room behind `packets` and `bytes`.
    #[inline]
    pub fn is_reached(self, packets: u32, bytes: u64, size: u32) -> bool {
        match self {
            Limit::Packets(limit) => packets >= limit,
            Limit::Bytes(limit) => bytes + u64::from(size) > limit,
        }
    }

    /// Whether more waits than may.
    pub fn is_exceeded(self, packets: u32, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => packets > limit,
            Limit::Bytes(limit) => bytes > limit,
        }
    }
}

/// What has happened at a queue since its start or the last [`Discipline::restart_accounts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Packets offered.
    pub arrived: u64,
    /// Packets that left from the head to be sent.
    pub departed: u64,
    /// Packets dropped, wherever in the queue.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Dropped packets by reason.
    pub drops: Vec<(Why, u64)>,
    /// Packets that waited when the accounts were opened.
    pub waiting_at_start: u64,
}

impl Accounts {
    /// Opened while so many packets wait.
    pub fn open(waiting: u64) -> Self {
        Self { waiting_at_start: waiting, ..Self::default() }
    }

    /// Books drops.
    pub fn drop(&mut self, why: Why, packets: u64) {
        self.dropped += packets;
        match self.drops.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += packets,
            None => self.drops.push((why, packets)),
        }
    }

    /// Books all that `other` has.
    pub fn add(&mut self, other: &Accounts) {
        self.arrived += other.arrived;
        self.departed += other.departed;
        self.marked += other.marked;
        self.waiting_at_start += other.waiting_at_start;
        other.drops.iter().for_each(|(why, packets)| self.drop(why, *packets));
    }

    /// arrived + waiting at the start = departed + dropped + waiting now, to the packet; and reasons add up.
    pub fn balance(&self, waiting: u64) -> bool {
        self.arrived + self.waiting_at_start == self.departed + self.dropped + waiting
            && self.dropped == self.drops.iter().map(|(_, n)| n).sum::<u64>()
    }
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on as it was.
    Kept,
    /// It goes on with a congestion mark.
    Marked(Why),
    /// It is gone.
    Dropped(Why),
}

impl Fate {
    /// Mark or drop: the meanings of a signal, decided here and nowhere else.
    #[inline]
    pub fn of(verdict: Verdict, can_mark: bool) -> Self {
        match verdict {
            Verdict::Pass => Fate::Kept,
            Verdict::Signal(why) | Verdict::MarkOnly(why) if can_mark => Fate::Marked(why),
            Verdict::MarkOnly(_) => Fate::Kept,
            Verdict::Signal(why) | Verdict::Drop(why) => Fate::Dropped(why),
        }
    }
}

/// What a queue has done to packets that had joined, and when each joined: its host asks for it to trace them.
pub type Notes<P> = Rc<RefCell<Vec<(Fate, P, Time)>>>;

/// Notes what is done to a packet, if anybody asks.
#[cold]
pub(crate) fn note<P: Carried>(notes: &Option<Notes<P>>, fate: Fate, packet: &P, since: Time) {
    if let Some(notes) = notes {
        notes.borrow_mut().push((fate, packet.clone(), since));
    }
}

/// A packet as schemes see it.
#[inline]
pub fn view<P: Carried>(packet: &P, enqueued_at: Time, marks: bool) -> PacketView {
    let ecn = packet.ecn();
    PacketView {
        size: packet.size(),
        flow: packet.flow(),
        rtt: packet.rtt(),
        class: packet.class(),
        enqueued_at,
        ecn,
        can_mark: marks && ecn.is_capable(),
    }
}

/// Owns the packets that wait for a link, and decides which goes next.
pub trait Discipline<P> {
    /// Offers a packet; says what became of it. Others may be dropped in its place.
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate;
    /// Takes the next packet to send and the time since it joined; `None` if none may go: the link idles.
    fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)>;
    /// When there will be a packet to send, where packets wait and none may go yet.
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// Packets waiting.
    fn len(&self) -> u32;
    /// No packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Every accepted packet leaves, as it joined, in the order of arrival.
    fn departures_known(&self) -> bool;
    /// Period of [`Discipline::tick`], the first at the start of the run; `None` means never.
    fn tick_every(&self) -> Option<Span>;
    /// Runs the periodic update.
    fn tick(&mut self, cx: &mut Ctx);
    /// The link's rate is another from now on.
    fn set_rate(&mut self, rate: Rate);
    /// Present value of the i-th observable of the scheme.
    fn observe(&self, i: usize) -> f64;
    /// A scheme has broken down: when and why.
    fn failure(&self) -> Option<&Failure> {
        None
    }
    /// What has happened so far.
    fn accounts(&self) -> Accounts;
    /// Opens new accounts, as at the end of a warm-up.
    fn restart_accounts(&mut self);
    /// Whether packets and accounts agree.
    fn accounts_balance(&self) -> bool;
    /// From now on drops of packets that had joined, and marks of packets that leave, go into `notes`.
    fn note_in(&mut self, notes: Notes<P>);
}
