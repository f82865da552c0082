//! Active queue management schemes, and the queue that hosts them.
//!
//! A scheme looks at a queue and answers with a [`Verdict`]; it never touches a packet. It knows nothing of
//! simulators, of TCP or of a packet's real form, so the same code decides in a simulation and on real traffic.
//!
//! ```text
//!   schemes/     one file per scheme, reading like the paper's pseudocode, with all that is known of it; the list of them
//!   catalogue    the schemes by name
//!   disciplines/ owners of the packets, which count, mark and drop: one queue; a queue per flow; a classic and a
//!                low-latency queue; queues per flow within tins; a tree of classes; any of them, traced
//!   declaration  schemes that are declared while the program runs
//!   link_layer   overhead of a packet on a link beyond its own bytes
//!   queue_protection  packets of flows that build a low-latency queue, sent to the classic one
//!   tune         parameters that are set while a scheme runs
//!   signal       the event at which a scheme signals, for a fluid
//!   linear       linear laws: the operating point of a scheme, and its response to small changes
//!   contract     the conditions that every scheme must satisfy; public, so that yours can be put to it
//! ```
//!
//! Arrows point one way: catalogue and declared use schemes, schemes use disciplines, and disciplines know schemes through
//! traits only.

pub mod catalogue;
pub mod contract;
pub mod cost;
pub mod declaration;
pub mod disciplines;
pub mod linear;
pub mod link_layer;
pub mod queue_protection;
pub mod schemes;
pub mod signal;
mod tune;

use aqmlab_core::{ParamHolder, Rate, Span, Stream, Time};

pub use catalogue::{AnyAqm, AnyQueue, AnyScheme, BoxedAqm, SchemeEntry, entries, entry, register};
pub use contract::Exception;
pub use declaration::{Declaration, declare};
pub use disciplines::{Accounts, Carried, Discipline, Fate, Fifo, Limit, QueueEvent};
pub use linear::{LinearLaw, LinearLawOf};
pub use signal::Signal;
pub use tune::Tune;

/// ECN field of the IP header (RFC 3168, section 5; RFC 9331 for ECT(1)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct = 0,
    /// ECT(1): ECN-capable, low latency, low loss, scalable throughput (L4S).
    Ect1 = 1,
    /// ECT(0): ECN-capable, classic.
    Ect0 = 2,
    /// Congestion experienced.
    Ce = 3,
}

impl Ecn {
    /// It can carry a mark.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }

    /// It belongs into the low-latency queue: ECT(1), or CE whatever it was (RFC 9331, section 5.1).
    #[inline]
    pub fn is_l4s(self) -> bool {
        matches!(self, Ecn::Ect1 | Ecn::Ce)
    }
}

/// A scheme's view of a packet: no payload, no transport header.
#[derive(Clone, Copy, Debug)]
pub struct PacketView {
    /// Size on the wire, bytes.
    pub size: u32,
    /// Number of its flow.
    pub flow: u32,
    /// Hash of the flow's 5-tuple.
    pub flow_hash: u32,
    /// Round-trip time that its sender announces (Explicit RTT Notification), if it does.
    pub rtt: Option<Span>,
    /// Its DSCP, 0 to 63 (RFC 2474).
    pub dscp: u8,
    /// Time at which it joined the queue.
    pub enqueued_at: Time,
    /// ECN field of its header.
    pub ecn: Ecn,
    /// It can carry a mark: ECN-capable, and this queue marks.
    pub can_mark: bool,
}

impl PacketView {
    /// Class selector of its DSCP, 0 to 7 (RFC 2474, section 4.2.2).
    #[inline]
    pub fn class(&self) -> u8 {
        class_of(self.dscp)
    }

    /// It belongs into a low-latency queue: L4S by its ECN field, or non-queue-building by its DSCP.
    #[inline]
    pub fn is_low_latency(&self) -> bool {
        self.ecn.is_l4s() || self.dscp == NQB
    }
}

/// DSCP of packets that build no queue (RFC 9956, section 4): they may join a low-latency queue, ECN-capable or not.
pub const NQB: u8 = 45;

/// Class selector of a DSCP, 0 to 7: its upper three bits (RFC 2474, section 4.2.2).
#[inline]
pub fn class_of(dscp: u8) -> u8 {
    dscp >> 3
}

/// A scheme's view of its queue. The packet being judged is never included, nor is the one in transmission.
///
/// `rate`, `target` and `limit` are always those of the present: each may change while packets wait. A scheme computes
/// what follows from them when it uses it, and keeps nothing of them from [`Scheme::new`].
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Bytes waiting in the other queues of its discipline.
    pub others: u64,
    /// Queue length that schemes with a reference aim at, packets.
    pub target: f64,
    /// Buffer: how much may wait, packets.
    pub limit: f64,
    /// Rate of the link at present.
    pub rate: Rate,
    /// Mean size of the packets of the link over its flows, bytes: a packet where a scheme counts bytes.
    pub packet: f64,
    /// Packets offered so far: accepted, marked or dropped, the one being judged included.
    pub arrived_packets: u64,
    /// Bytes offered so far.
    pub arrived_bytes: u64,
}

impl QueueView {
    /// A queue before the first packet, of packets of 1000 B.
    pub fn empty(rate: Rate, target: f64, limit: f64) -> Self {
        let (arrived_packets, arrived_bytes) = (0, 0);
        Self { packets: 0, bytes: 0, others: 0, target, limit, rate, packet: 1000.0, arrived_packets, arrived_bytes }
    }
}

/// The context of a scheme at one instant: the time and its random numbers.
pub struct Ctx<'a> {
    /// The present.
    pub now: Time,
    /// The scheme's own random stream.
    pub rng: &'a mut Stream,
}

impl Ctx<'_> {
    /// True with probability `p`.
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.rng.uniform() < p
    }
}

/// The reason for a signal; counted per reason in the results. As large as a pointer, so that a [`Verdict`] fits two registers.
#[derive(Clone, Copy, Eq)]
pub struct Reason(&'static &'static str);

impl Reason {
    /// The reason of this name.
    pub const fn new(name: &'static &'static str) -> Self {
        Self(name)
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

impl PartialEq for Reason {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.name() == other.name()
    }
}

impl std::fmt::Debug for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        self.name().fmt(f)
    }
}

/// The queue was full; no scheme was asked.
pub const OVERFLOW: Reason = Reason::new(&"overflow");
/// The scheme drew the packet at random.
pub const EARLY: Reason = Reason::new(&"early");
/// The scheme drops every packet in its present state.
pub const FORCED: Reason = Reason::new(&"forced");
/// A packet of the same flow was drawn from the queue; both are dropped.
pub const MATCH: Reason = Reason::new(&"match");

/// A scheme's decision on the packet it was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Let it be.
    Pass,
    /// Mark if the packet can carry a mark, else drop.
    Signal(Reason),
    /// Mark if the packet can carry a mark, else pass.
    MarkOnly(Reason),
    /// Drop, markable or not.
    Drop(Reason),
}

/// Decides the fate of the packets of one queue. It answers; it never touches the packet.
#[allow(unused_variables)]
pub trait Aqm {
    /// A packet asks to join: how many of those waiting are drawn at random beside it, one after the other. Each drawn
    /// one that is of its flow is dropped, and then so is the arriving one ([`MATCH`]); else `on_enqueue` judges it.
    #[inline]
    fn draws(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> u32 {
        0
    }
    /// A packet asks to join the tail.
    #[inline]
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        Verdict::Pass
    }
    /// The same, of a packet that is looked at only where the scheme does; `packet` receives the present time.
    #[inline(always)]
    fn judge_arrival(&mut self, packet: impl FnOnce(Time) -> PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict
    where
        Self: Sized,
    {
        self.on_enqueue(&packet(cx.now), queue, cx)
    }
    /// True if [`Aqm::on_enqueue`] does anything. If not, a host of many queues may leave the scheme alone at arrivals.
    fn acts_on_enqueue(&self) -> bool {
        true
    }
    /// True if [`Aqm::draws`] ever draws. It is asked only then.
    fn draws_packets(&self) -> bool {
        false
    }
    /// True if [`Aqm::on_dequeue`] does anything. If not, and if no packet is drawn, a departure is known as soon as a
    /// packet is accepted, and a host may save itself the events.
    fn acts_on_dequeue(&self) -> bool {
        false
    }
    /// A packet is about to leave from the head. After a drop, the next head is shown at once. Asked only if
    /// [`Aqm::acts_on_dequeue`] says so.
    #[inline]
    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        Verdict::Pass
    }
    /// The same, of a packet that is looked at only where the scheme does.
    #[inline(always)]
    fn judge_departure(&mut self, packet: impl FnOnce() -> PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict
    where
        Self: Sized,
    {
        self.on_dequeue(&packet(), queue, cx)
    }
    /// A packet joins that another scheme has accepted, whose place this one takes while it waits; it is not judged.
    #[inline]
    fn on_adopt(&mut self, packet: &PacketView) {}
    /// A packet was refused because the queue was full; `on_enqueue` was not asked.
    #[inline]
    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {}
    /// A waiting packet was dropped from the head because all queues of the link together were full.
    #[inline]
    fn on_head_drop(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) {
        self.on_overflow(queue, cx);
    }
    /// The link asked for a packet and found none: it falls idle.
    #[inline]
    fn on_empty(&mut self, cx: &mut Ctx) {}
    /// True if nothing that it has met still counts. Asked while its queue is empty, which another flow may have then.
    #[inline]
    fn is_at_rest(&self, now: Time) -> bool {
        true
    }
    /// True if from now on it does what it would do had it met nothing. Asked while its queue is empty, which is forgotten then.
    #[inline]
    fn is_reset(&self, now: Time) -> bool {
        false
    }
    /// So many queues have more than a quantum to send, this one among them; told before each departure where drops count
    /// as sent.
    #[inline]
    fn set_bulk_flows(&mut self, flows: u32) {}
    /// The limit of its queue as it counts it, where packets have this mean size, bytes.
    fn limit(&self, limit: Limit, packet: f64) -> Limit {
        limit
    }
    /// In flow queueing a full buffer refuses the arriving packet ([`Aqm::on_overflow`]); else the longest queue loses packets.
    fn refuses_when_full(&self) -> bool {
        false
    }
    /// Period of `on_tick`, the first at the start of the run; `None` means never. A parameter that is set may change it.
    fn tick_every(&self) -> Option<Span> {
        None
    }
    /// The periodic update; runs whether packets arrive or not.
    fn on_tick(&mut self, queue: &QueueView, cx: &mut Ctx) {}
    /// Share of the packets meeting this queue that are signalled, where `p` is what the scheme shows under that name:
    /// p itself, unless signals are spread out or withheld. For schemes with a [`Signal`].
    fn share(&self, p: f64, queue: &QueueView) -> f64 {
        p
    }
    /// Present value of the i-th quantity of [`Scheme::OBSERVABLES`]; [`SchemeEntry::observable`] finds i by name.
    fn observe(&self, i: usize) -> f64 {
        f64::NAN
    }
    /// The scheme has broken down: when and why. It then passes every packet, and its host ends the run.
    fn failure(&self) -> Option<&Failure> {
        None
    }
}

/// A breakdown of a scheme: time and cause.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {} s: {cause}", (.at.seconds() * 1e6).round() / 1e6)]
pub struct Failure {
    /// Simulated time.
    pub at: Time,
    /// The cause, for people.
    pub cause: String,
}

/// A quantity that a scheme shows for plots.
#[derive(Clone, Copy, Debug)]
pub struct Observable {
    /// Column name, such as `p`.
    pub name: &'static str,
    /// Unit.
    pub unit: &'static str,
    /// Meaning.
    pub doc: &'static str,
}

/// The drop (or mark) probability, which most schemes show first.
pub const P: Observable = Observable { name: "p", unit: "ratio", doc: "drop probability of an arriving packet" };

/// The counterpart of a scheme in Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tc {
    /// Kind of its queueing discipline, as behind `tc qdisc add dev DEV root`.
    pub kind: &'static str,
    /// In what the two differ; empty if in nothing that matters.
    pub note: &'static str,
}

/// The basis of a scheme's law and of its default constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// All of it on what its paper, its RFC or its implementation prints.
    Published,
    /// A constant, or the choice between readings, was fitted to results that a paper prints. The text says which.
    Fitted(&'static str),
    /// Part of it on no source, as the source is silent or was not at hand, and nothing was fitted. The text says which.
    Reconstructed(&'static str),
}

/// The kinds of schemes.
pub const FAMILIES: [&str; 9] = [
    "baseline",
    "red",
    "load-based",
    "control theory",
    "optimisation",
    "neuron",
    "fuzzy",
    "flow-aware",
    "fair queueing",
];

/// The kind of those that are declared while the program runs.
pub const OWN: &str = "own";

/// A scheme's entry in the catalogue: names and sources.
#[derive(Clone, Copy, Debug)]
pub struct SchemeInfo {
    /// Name on the command line.
    pub name: &'static str,
    /// Name in print.
    pub title: &'static str,
    /// Kind of controller: one of [`FAMILIES`], or [`OWN`] of schemes that are declared while the program runs.
    pub family: &'static str,
    /// Year of publication.
    pub year: u32,
    /// Publication.
    pub source: &'static str,
    /// The degree of confidence in the implementation, and the evidence for it.
    pub confidence: &'static str,
    /// Studies that compare it.
    pub papers: &'static [&'static str],
}

/// The default of a parameter where its scheme is used in the queues of flow queueing.
#[derive(Clone, Copy, Debug)]
pub struct FairDefault {
    /// Name of the parameter.
    pub name: &'static str,
    /// Its default, as text with unit.
    pub default: &'static str,
    /// The source of the default.
    pub source: &'static str,
}

/// A scheme that can be built from declared parameters. The doc comment of its parameters is its page.
///
/// It holds its parameters, and reads them when it uses them, so that each can be set while it runs ([`Tune`]).
pub trait Scheme: ParamHolder + Sized + 'static {
    /// Its entry in the catalogue.
    const INFO: SchemeInfo;
    /// The basis of its law and constants.
    const STANDING: Standing = Standing::Published;
    /// Lists show it; what no one proposes is known by its name only.
    const IS_LISTED: bool = true;
    /// The catalogue's entry for its use in the queues of flow queueing, if that was published on its own.
    const FAIR: Option<SchemeInfo> = None;
    /// Parameters with another default there.
    const FAIR_DEFAULTS: &'static [FairDefault] = &[];
    /// Quantities that it shows for plots.
    const OBSERVABLES: &'static [Observable];
    /// Parameters that cannot change while it runs, each with the reason.
    const AT_START: &'static [(&'static str, &'static str)] = &[];
    /// The scheme at rest before the first packet of a queue like this one. The error says what is contradictory.
    fn new(params: Self::Params, queue: &QueueView) -> Result<Self, String>;
    /// A parameter has been set: renews what was made from the parameters, such as those of a scheme within this one.
    fn params_changed(&mut self) {}
    /// Parameters whose mean is the queue that it steers to, that of its link where they are "auto" or there are none;
    /// `None` if it steers to no length.
    const TARGET: Option<&'static [&'static str]> = None;
    /// The point of a fluid at which its signals fall, or the reason why it has none.
    const SIGNAL: Result<Signal, &'static str> = Err(signal::UNDECLARED);
    /// Its linear law with these parameters, if it has one.
    const LINEAR_LAW: LinearLawOf<Self::Params> = None;
    /// Clauses of the contract that it does not keep, and why.
    const EXCEPTIONS: &'static [Exception] = &[];
    /// Its counterpart in Linux.
    const TC: Option<Tc> = None;
    /// The counterpart in Linux of its use in flow queueing.
    const FAIR_TC: Option<Tc> = None;
}
