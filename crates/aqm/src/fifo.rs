//! One queue, one scheme: owns the packets and does all marking, dropping and counting.

use crate::{Aqm, Ctx, OVERFLOW, PacketView, QueueView, Verdict, Why};
use aqmlab_core::{Rate, Span, Time};
use std::collections::VecDeque;

/// A packet as its host carries it.
pub trait Carried {
    /// Size on the wire, bytes.
    fn size(&self) -> u32;
    /// Which flow it belongs to.
    fn flow(&self) -> u32;
    /// It is ECN-capable.
    fn is_ect(&self) -> bool;
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

/// What has happened at a queue since its start or the last [`Fifo::restart_accounts`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accounts {
    /// Packets offered.
    pub arrived: u64,
    /// Packets that left from the head to be sent.
    pub departed: u64,
    /// Packets dropped, at the tail or at the head.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Dropped packets by reason.
    pub drops: Vec<(Why, u64)>,
    /// Packets that waited when the accounts were opened.
    pub waiting_at_start: u64,
}

struct Waiting<P> {
    packet: P,
    since: Time,
}

/// First in, first out, under one scheme.
pub struct Fifo<A, P> {
    scheme: A,
    waiting: VecDeque<Waiting<P>>,
    view: QueueView,
    limit: Limit,
    ecn: bool,
    accounts: Accounts,
}

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on as it was.
    Kept,
    /// It goes on with a congestion mark.
    Marked,
    /// It is gone.
    Dropped(Why),
}

/// Mark or drop: the three meanings of a signal, decided here and nowhere else.
#[inline]
fn fate(verdict: Verdict, can_mark: bool) -> Fate {
    match verdict {
        Verdict::Pass => Fate::Kept,
        Verdict::Signal(_) | Verdict::MarkOnly(_) if can_mark => Fate::Marked,
        Verdict::MarkOnly(_) => Fate::Kept,
        Verdict::Signal(why) | Verdict::Drop(why) => Fate::Dropped(why),
    }
}

impl<A: Aqm, P: Carried> Fifo<A, P> {
    /// An empty queue, which `view` describes; `ecn` lets it mark instead of dropping.
    pub fn new(scheme: A, view: QueueView, limit: Limit, ecn: bool) -> Self {
        let room = match limit {
            Limit::Packets(packets) => packets.min(1 << 16) as usize,
            Limit::Bytes(_) => 1 << 10,
        };
        let waiting = VecDeque::with_capacity(room + 1);
        Self { scheme, waiting, view, limit, ecn, accounts: Accounts::default() }
    }

    /// The scheme.
    pub fn scheme(&self) -> &A {
        &self.scheme
    }

    /// The queue as its scheme sees it.
    pub fn view(&self) -> &QueueView {
        &self.view
    }

    /// Packets waiting.
    #[inline]
    pub fn len(&self) -> u32 {
        self.view.packets
    }

    /// No packet waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The link's rate is another from now on.
    pub fn set_rate(&mut self, rate: Rate) {
        self.view.rate = rate;
    }

    /// Offers a packet; unless it is dropped, it waits now, marked or not.
    #[inline]
    pub fn enqueue(&mut self, mut packet: P, cx: &mut Ctx) -> Fate {
        let size = packet.size();
        self.accounts.arrived += 1;
        self.view.arrived_packets += 1;
        self.view.arrived_bytes += u64::from(size);
        if self.is_full(size) {
            self.scheme.on_overflow(&self.view, cx);
            self.count_drop(OVERFLOW);
            return Fate::Dropped(OVERFLOW);
        }
        let can_mark = self.ecn && packet.is_ect();
        let shown = PacketView { size, flow: packet.flow(), rtt: packet.rtt(), enqueued_at: cx.now, can_mark };
        let fate = fate(self.scheme.on_enqueue(&shown, &self.view, cx), can_mark);
        match fate {
            Fate::Dropped(why) => {
                self.count_drop(why);
                return fate;
            }
            Fate::Marked => self.mark(&mut packet),
            Fate::Kept => {}
        }
        self.view.packets += 1;
        self.view.bytes += u64::from(size);
        self.waiting.push_back(Waiting { packet, since: cx.now });
        fate
    }

    /// Takes the next packet to send and the time since it joined; `None` tells the scheme that the link idles.
    #[inline]
    pub fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        while let Some(Waiting { mut packet, since }) = self.waiting.pop_front() {
            let size = packet.size();
            self.view.packets -= 1;
            self.view.bytes -= u64::from(size);
            let can_mark = self.ecn && packet.is_ect();
            let shown = PacketView { size, flow: packet.flow(), rtt: packet.rtt(), enqueued_at: since, can_mark };
            match fate(self.scheme.on_dequeue(&shown, &self.view, cx), can_mark) {
                Fate::Dropped(why) => {
                    self.count_drop(why);
                    continue;
                }
                Fate::Marked => self.mark(&mut packet),
                Fate::Kept => {}
            }
            self.accounts.departed += 1;
            return Some((packet, since));
        }
        self.scheme.on_empty(cx);
        None
    }

    /// Runs the scheme's periodic update.
    pub fn tick(&mut self, cx: &mut Ctx) {
        self.scheme.on_tick(&self.view, cx);
    }

    /// What has happened so far.
    pub fn accounts(&self) -> &Accounts {
        &self.accounts
    }

    /// Opens new accounts, as at the end of a warm-up.
    pub fn restart_accounts(&mut self) {
        self.accounts = Accounts { waiting_at_start: self.waiting.len() as u64, ..Accounts::default() };
    }

    /// arrived + waiting at the start = departed + dropped + waiting now, to the packet; and reasons add up.
    pub fn accounts_balance(&self) -> bool {
        let a = &self.accounts;
        a.arrived + a.waiting_at_start == a.departed + a.dropped + self.waiting.len() as u64
            && a.dropped == a.drops.iter().map(|(_, n)| n).sum::<u64>()
            && self.view.packets as usize == self.waiting.len()
            && self.view.bytes == self.waiting.iter().map(|w| u64::from(w.packet.size())).sum::<u64>()
    }

    #[inline]
    fn is_full(&self, size: u32) -> bool {
        match self.limit {
            Limit::Packets(packets) => self.view.packets >= packets,
            Limit::Bytes(bytes) => self.view.bytes + u64::from(size) > bytes,
        }
    }

    fn count_drop(&mut self, why: Why) {
        self.accounts.dropped += 1;
        match self.accounts.drops.iter_mut().find(|(known, _)| *known == why) {
            Some((_, count)) => *count += 1,
            None => self.accounts.drops.push((why, 1)),
        }
    }

    fn mark(&mut self, packet: &mut P) {
        self.accounts.marked += 1;
        packet.mark();
    }
}
