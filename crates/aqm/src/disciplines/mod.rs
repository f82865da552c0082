//! Queue disciplines, which own the packets of a link: the trait of all, and the state and code that they share.
//!
//! A discipline knows schemes through small traits only ([`Aqm`](crate::Aqm), [`Coupled`], [`TinPolicy`]) and packets
//! through [`Carried`], so it hosts packets of a simulation and real ones alike.

mod any;
mod delegate;
mod drawn;
mod dual;
mod fair;
mod fifo;
mod htb;
mod memory;
mod mq;
mod queue_state;
mod tins;
mod traced;

pub use any::Any;
pub use dual::{Coupled, Dual, Joins};
pub use fair::{Fair, FairParams, Isolation};
pub use fifo::Fifo;
pub use htb::{Htb, HtbClass, HtbQueue, LEVELS, PRIORITIES};
pub use mq::{Mq, MqParams, Steering};
pub use queue_state::QueueState;
pub use tins::{TinPolicy, Tins};
pub use traced::{QueueEvent, TraceEvent, TracedQueue};

use crate::{Ctx, Ecn, Failure, PacketView, Reason, Verdict};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Rate, Span, Time};

/// A packet as its host carries it.
pub trait Carried: Clone {
    /// Size on the wire, bytes.
    fn size(&self) -> u32;
    /// Number of its flow.
    fn flow(&self) -> u32;
    /// Hash of the 5-tuple of its flow: addresses, protocol, ports. Flow queueing and SFB place flows by it.
    fn flow_hash(&self) -> u32 {
        self.flow()
    }
    /// Number of the host that sent it.
    fn host(&self) -> u32 {
        self.flow()
    }
    /// ECN field of its header.
    fn ecn(&self) -> Ecn;
    /// Its DSCP, 0 to 63.
    fn dscp(&self) -> u8 {
        0
    }
    /// The round-trip time that its sender announces, if it does.
    fn rtt(&self) -> Option<Span> {
        None
    }
    /// Sets the congestion-experienced mark.
    fn mark(&mut self);
}

/// Limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// A number of packets.
    Packets(u32),
    /// A number of bytes.
    Bytes(u64),
}

impl Limit {
    /// No limit of its own.
    pub(crate) const NONE: Limit = Limit::Bytes(u64::MAX);

    /// True if a packet of `size` bytes finds no room behind `packets` and `bytes`.
    #[inline]
    pub fn is_reached(self, packets: u32, bytes: u64, size: u32) -> bool {
        match self {
            Limit::Packets(limit) => packets >= limit,
            Limit::Bytes(limit) => bytes + u64::from(size) > limit,
        }
    }

    /// True if more waits than may.
    pub fn is_exceeded(self, packets: u32, bytes: u64) -> bool {
        match self {
            Limit::Packets(limit) => packets > limit,
            Limit::Bytes(limit) => bytes > limit,
        }
    }
}

/// Counts of a queue since its start or the last [`Discipline::restart_accounts`].
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
    /// Packets that queue protection has sent to the classic queue.
    pub sanctioned: u64,
    /// Dropped packets by reason.
    pub drops: Vec<(Reason, u64)>,
    /// Packets that waited when the accounts were opened.
    pub waiting_at_start: u64,
    /// Packets that came from another discipline ([`Discipline::adopt`]).
    pub adopted: u64,
    /// Packets taken out to be moved to another discipline ([`Discipline::take_all`]).
    pub taken: u64,
}

impl Accounts {
    /// Opened while so many packets wait.
    pub fn open(waiting: u64) -> Self {
        Self { waiting_at_start: waiting, ..Self::default() }
    }

    /// Books drops.
    pub fn drop(&mut self, why: Reason, packets: u64) {
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
        self.sanctioned += other.sanctioned;
        self.waiting_at_start += other.waiting_at_start;
        self.adopted += other.adopted;
        self.taken += other.taken;
        other.drops.iter().for_each(|(why, packets)| self.drop(*why, *packets));
    }

    /// arrived + adopted + waiting at the start = departed + dropped + taken + waiting now, to the packet; and reasons
    /// add up.
    pub fn balance(&self, waiting: u64) -> bool {
        self.arrived + self.adopted + self.waiting_at_start == self.departed + self.dropped + self.taken + waiting
            && self.dropped == self.drops.iter().map(|(_, n)| n).sum::<u64>()
    }
}

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It goes on as it was.
    Kept,
    /// It goes on with a congestion mark.
    Marked(Reason),
    /// It is gone.
    Dropped(Reason),
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

/// A note of a drop, or a mark at departure, of a packet that had joined a queue.
#[derive(Clone, Debug)]
pub struct Note<P> {
    /// Fate of the packet.
    pub fate: Fate,
    /// The packet, with its mark if it got one.
    pub packet: P,
    /// Time at which it joined.
    pub since: Time,
}

/// A signal marks the packet, where the queue marks at all: it is ECN-capable.
#[inline]
fn can_mark<P: Carried>(packet: &P, marks: bool) -> bool {
    marks && packet.ecn().is_capable()
}

/// A packet as schemes see it.
#[inline]
pub fn view<P: Carried>(packet: &P, enqueued_at: Time, marks: bool) -> PacketView {
    let ecn = packet.ecn();
    PacketView {
        size: packet.size(),
        flow: packet.flow(),
        flow_hash: packet.flow_hash(),
        rtt: packet.rtt(),
        dscp: packet.dscp(),
        enqueued_at,
        ecn,
        can_mark: marks && ecn.is_capable(),
    }
}

/// Owns the packets that wait for a link, and decides which goes next.
pub trait Discipline<P: Carried> {
    /// State that it shares with all other disciplines.
    fn state(&self) -> &QueueState<P>;
    /// The same, to be changed.
    fn state_mut(&mut self) -> &mut QueueState<P>;
    /// Packets of a flow are of this class from now on, where there are classes.
    fn assign(&mut self, _flow: u32, _class: usize) {}
    /// Offers a packet; says what became of it. Others may be dropped in its place.
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate;
    /// Takes the next packet to send and the time since it joined; `None` if none may go: the link idles.
    fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        self.dequeue_with(cx, |packet, since| (packet, since))
    }
    /// As [`Discipline::dequeue`], for a host that needs no more of the packet than `keep` returns: it is not moved.
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R>;
    /// Bytes of the longest queue of a flow, where flows have queues.
    fn fattest(&self) -> u64 {
        0
    }
    /// That queue loses packets, as if the limit were reached: the link shares what may wait with others.
    fn drop_from_fattest(&mut self, _cx: &mut Ctx) {}
    /// Time of the next possible departure, if packets wait and none may go yet.
    fn ready_at(&self) -> Option<Time> {
        None
    }
    /// Packets waiting.
    #[inline(always)]
    fn len(&self) -> u32 {
        self.state().view.packets
    }
    /// No packet waits.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Shows every waiting packet once, in any order.
    fn for_each(&self, act: &mut dyn FnMut(&P));
    /// Every accepted packet leaves, as it joined, in the order of arrival.
    fn departures_known(&self) -> bool {
        false
    }
    /// Period of [`Discipline::tick`], the first at the start of the run; `None` means never. A parameter that is set
    /// may change it.
    fn tick_every(&self) -> Option<Span>;
    /// Runs the periodic update.
    fn tick(&mut self, cx: &mut Ctx);

    /// The link's rate is another from now on.
    fn set_rate(&mut self, rate: Rate) {
        self.state_mut().view.rate = rate;
    }
    /// The queue that schemes with a reference aim at, packets, is another from now on.
    fn set_target(&mut self, target: f64) {
        self.state_mut().view.target = target;
    }
    /// Another `limit`, shown to schemes as `packets`. A smaller one drops no waiting packet at once: until they fit,
    /// arrivals are refused, or make room at the longest queue where flows have queues.
    fn set_limit(&mut self, limit: Limit, packets: f64) {
        let state = self.state_mut();
        (state.limit, state.view.limit) = (limit, packets);
    }
    /// Sets a parameter of the scheme. What the scheme has learnt stays.
    ///
    /// # Errors
    /// If there is no such parameter, its value is illegal, or it cannot change while the scheme runs; nothing is changed.
    fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String>;

    /// Takes all packets out, in the order in which they would leave from `now` on, and the time since each joined. The
    /// scheme is not asked. For a discipline that takes the place of this one.
    fn take_all(&mut self, now: Time) -> Vec<(P, Time)>;
    /// Takes in a packet of another discipline, which joined there at `since`. The scheme is not asked.
    fn adopt(&mut self, packet: P, since: Time);

    /// Present value of the i-th observable of the scheme.
    fn observe(&self, i: usize) -> f64;
    /// A scheme has broken down: when and why.
    fn failure(&self) -> Option<&Failure> {
        None
    }
    /// Counts so far.
    fn accounts(&self) -> Accounts {
        self.state().accounts.clone()
    }
    /// Adds what has happened at the discipline whose place this one takes.
    fn add_accounts(&mut self, earlier: &Accounts) {
        self.state_mut().accounts.add(earlier);
    }
    /// Opens new accounts, as at the end of a warm-up.
    fn restart_accounts(&mut self) {
        let waiting = u64::from(self.len());
        self.state_mut().accounts = Accounts::open(waiting);
    }
    /// True if packets and accounts agree.
    fn accounts_balance(&self) -> bool {
        let (mut packets, mut bytes) = (0, 0);
        self.for_each(&mut |packet| {
            packets += 1;
            bytes += u64::from(packet.size());
        });
        self.state().balances(packets, bytes)
    }

    /// From now on notes drops of packets that had joined, and with `marks` those of packets that leave, until they are
    /// fetched.
    fn keep_notes(&mut self, marks: bool) {
        self.state_mut().keep_notes(marks);
    }
    /// Moves the notes since the last call to the end of `notes`.
    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.state_mut().fetch_notes(notes);
    }
}
