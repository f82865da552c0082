//! One direction of a path.

use crate::config::scenario_of;
use crate::payloads::Payloads;
use crate::{Counters, LineError};
use aqmlab_aqm::{Carried, Discipline, Ecn, OVERFLOW, SchemeEntry};
use aqmlab_core::problem::unknown;
use aqmlab_core::{Problems, Span, Time};
use aqmlab_scenario::{Scenario, SchemeAssignment};
use aqmlab_sim::{Direction, LineSpec, Lines, PacketOutcome, WirePacket};
use std::collections::VecDeque;
use std::fmt;

/// A packet as queue and scheme see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Bytes of IP; a line that says so adds what its link layer does.
    pub length: u32,
    /// ECN field of the IP header.
    pub ecn: Ecn,
    /// Its flow, by a number of the caller's. Flow queueing hashes it.
    pub flow: u32,
    /// The host that sent it, likewise; for schemes that are fair to hosts.
    pub host: u32,
    /// Its DSCP, 0 to 63; for schemes with priorities, or with a queue for flows that build none (45).
    pub dscp: u8,
}

impl Packet {
    /// A packet of DSCP 0, of a host that sends nothing but this flow.
    pub fn new(length: u32, ecn: Ecn, flow: u32) -> Self {
        Self { length, ecn, flow, host: flow, dscp: 0 }
    }

    /// Refuses what no packet has.
    pub(crate) fn check(&self) -> Result<(), LineError> {
        match *self {
            Self { length, .. } if length == 0 || length > LineError::LONGEST => Err(LineError::Length { length }),
            Self { dscp, .. } if dscp > 63 => Err(LineError::Dscp { dscp }),
            _ => Ok(()),
        }
    }
}

/// The fate of a packet as it entered. What is decided later, [`Line::pop`] and [`Line::pop_dropped`] tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is in the queue, or already being sent.
    Joined,
    /// The same, with a mark.
    Marked,
    /// It was dropped; its payload is with [`Line::pop_dropped`].
    Dropped(DropReason),
}

/// The reason for which a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropReason {
    /// The queue was full.
    Full,
    /// The scheme dropped it, as it arrived or later: the reason that results of runs give.
    Scheme(&'static str),
    /// It had joined, and made room for another.
    Evicted,
    /// It was lost on the wire.
    Lost,
}

/// A packet that comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// The payload that was pushed.
    pub payload: T,
    /// ECN field, perhaps with a mark.
    pub ecn: Ecn,
    /// Time in the queue, ns.
    pub waited: u64,
    /// Time at which it comes out, ns.
    pub at: u64,
}

/// A packet that does not come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dropped<T> {
    /// The payload that was pushed.
    pub payload: T,
    /// ECN field at the end.
    pub ecn: Ecn,
    /// The reason.
    pub reason: DropReason,
    /// The time, ns.
    pub at: u64,
}

/// A packet within the line.
#[derive(Clone, Copy)]
struct Handle {
    arrived: Time,
    key: u32,
    flow: u32,
    host: u32,
    size: u16,
    ecn: Ecn,
    dscp: u8,
}

impl Carried for Handle {
    fn size(&self) -> u32 {
        self.size.into()
    }
    fn flow(&self) -> u32 {
        self.flow
    }
    fn host(&self) -> u32 {
        self.host
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn mark(&mut self) {
        self.ecn = Ecn::Ce;
    }
}

impl WirePacket for Handle {
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ecn = ecn;
    }
}

/// One direction: a queue under a scheme, a transmitter and a wire, in the caller's time. `T` is what packets carry.
///
/// At one instant what is pushed before the next [`Line::pop`] comes before what then leaves the queue.
#[derive(Clone)]
pub struct Line<T> {
    direction: Direction<Handle>,
    payloads: Payloads<T>,
    dropped: VecDeque<Dropped<T>>,
    counters: Counters,
    /// The time of the last call, ns.
    now: u64,
    scheme: SchemeEntry,
}

impl<T> Line<T> {
    /// A line at rest. `text` is TOML with the keys of a link in a scenario; rate and buffer have to be there:
    ///
    /// ```toml
    /// rate = "45 Mbit/s"           # or a schedule, rates that hold for a while, { trace = "NAME" } with [traces]
    /// buffer = "900 packets"       # or bytes, a time at the rate, "2 bdp" (needs rtt)
    /// aqm = "codel:target=3ms"     # "droptail"; [schemes.codel] too sets parameters
    /// delay = "20 ms"              # "0 s"
    /// target = "20 ms"             # for schemes with a reference; a third of the buffer
    /// ecn = true                   # capable packets are marked where others are dropped
    /// overhead = "0 B"             # link layer, with mpu and framing
    /// loss = "0.1%"                # impairments, with policer, aggregation, jitter, reorder and ecn_mangling
    /// packet = "1500 B"            # the size by which buffer and target are converted
    /// ```
    ///
    /// # Errors
    /// Every problem, with the path of its key.
    pub fn new(text: &str, seed: u64) -> Result<Self, Problems> {
        let scenario = scenario_of(text)?;
        let line = Lines::of(&scenario)?.up;
        let delay = line.link.delay; // a round-trip time is there to size the buffer
        Self::of(&scenario, &LineSpec { delay, ..line }, None, seed)
    }

    pub(crate) fn of(
        scenario: &Scenario,
        line: &LineSpec,
        aqm: Option<&SchemeAssignment>,
        seed: u64,
    ) -> Result<Self, Problems> {
        let choice = scenario.scheme_of(&line.link, aqm);
        let mut direction = Direction::new(scenario, line, choice, seed)?;
        direction.link.meter.forget_history();
        Ok(Self {
            direction,
            payloads: Payloads::new(),
            dropped: VecDeque::new(),
            counters: Counters::default(),
            now: 0,
            scheme: aqmlab_aqm::entry(&choice.name).map_err(|why| Problems::one("aqm", why))?,
        })
    }

    /// A packet enters at `now`, ns. What it makes the queue drop, itself or others, is with [`Line::pop_dropped`].
    ///
    /// # Errors
    /// If time goes backwards or the packet cannot be; the payload is gone then.
    #[inline]
    pub fn push(&mut self, now: u64, packet: Packet, payload: T) -> Result<Verdict, LineError> {
        packet.check()?;
        let Packet { length, ecn, flow, host, dscp } = packet;
        let time = self.enter(now)?;
        self.direction.advance(time);
        self.collect();
        let (key, before) = (self.payloads.put(payload), self.dropped.len());
        let joined =
            self.direction.offer(Handle { arrived: time, key, flow, host, size: length as u16, ecn, dscp }, time);
        self.counters.pushed += 1;
        if let Some(reason) = self.collect_with(key) {
            debug_assert!(self.dropped.len() > before);
            return Ok(Verdict::Dropped(reason));
        }
        Ok(if joined.ecn == ecn { Verdict::Joined } else { Verdict::Marked })
    }

    /// The time at which to call [`Line::pop`] next, ns: nothing comes out before; at once, if something was due by the last call. `None` if
    /// the line is empty.
    #[inline]
    pub fn next_event(&self) -> Option<u64> {
        self.direction.next_due().map(|due| due.0.div_ceil(1000).max(self.now))
    }

    /// Takes the next packet that comes out at `now` or before, ns. `None` if what was due was none: it has been dropped,
    /// or is held up on the wire. Call it while [`Line::next_event`] is due.
    ///
    /// # Errors
    /// If time goes backwards, or nothing is due.
    #[inline]
    pub fn pop(&mut self, now: u64) -> Result<Option<Delivery<T>>, LineError> {
        let due = self.next_event();
        if due.is_none_or(|due| due > now) {
            self.check(now)?;
            return Err(LineError::NotDue { now, due });
        }
        let time = self.pass(now)?;
        let Some(flying) = self.direction.take_due(time) else { return Ok(None) };
        self.counters.delivered += 1;
        Ok(Some(Delivery {
            payload: self.payloads.take(flying.packet.key),
            ecn: flying.packet.ecn,
            waited: flying.began.since(flying.packet.arrived).0 / 1000,
            at: flying.due.0.div_ceil(1000),
        }))
    }

    /// Takes the next packet that was dropped, in order. They are kept until they are taken.
    #[inline]
    pub fn pop_dropped(&mut self) -> Option<Dropped<T>> {
        self.dropped.pop_front()
    }

    /// Does all that happens until `now`, ns, so that counts, drops and observables are those of then.
    ///
    /// # Errors
    /// If time goes backwards.
    pub fn advance(&mut self, now: u64) -> Result<(), LineError> {
        self.pass(now).map(drop)
    }

    /// Name of the scheme.
    pub fn aqm(&self) -> &'static str {
        self.scheme.info.name
    }

    /// The time of the last call, ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// Counts since the start.
    pub fn counters(&self) -> Counters {
        Counters {
            held: self.payloads.len() as u64,
            waiting: self.direction.link.queue.len().into(),
            marked: self.direction.link.queue.accounts().marked,
            ..self.counters
        }
    }

    /// The observables of the scheme, by name.
    pub fn observables(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let shown = self.scheme.observables.iter().enumerate();
        shown.map(|(i, shown)| (shown.name, self.direction.link.queue.observe(i)))
    }

    /// One quantity that the scheme shows, as it is at the time of the last call.
    ///
    /// # Errors
    /// If it shows none of that name.
    pub fn observe(&self, name: &str) -> Result<f64, LineError> {
        let known = || self.scheme.observables.iter().map(|shown| shown.name).collect::<Vec<_>>();
        let found = self.scheme.observable(name).map(|i| self.direction.link.queue.observe(i));
        found.ok_or_else(|| Problems::one("name", unknown("observable", name, &known())).into())
    }

    /// The reason for which the scheme has broken down, if it has: one from elsewhere. It passes every packet since.
    pub fn failure(&self) -> Option<String> {
        self.direction.failure().map(ToString::to_string)
    }

    /// Refuses a time before that of the last call, or beyond all.
    #[inline]
    fn check(&self, now: u64) -> Result<Time, LineError> {
        LineError::check(now, self.now)
    }

    #[inline]
    fn enter(&mut self, now: u64) -> Result<Time, LineError> {
        let time = self.check(now)?;
        self.now = now;
        Ok(time)
    }

    /// Does all that happens until `now`, that instant included.
    #[inline]
    fn pass(&mut self, now: u64) -> Result<Time, LineError> {
        let time = self.enter(now)?;
        self.direction.advance(time + Span(1));
        self.collect();
        Ok(time)
    }

    /// Takes the payloads of the packets dropped.
    #[inline]
    fn collect(&mut self) {
        if !self.direction.decisions.is_empty() {
            self.collect_with(u32::MAX);
        }
    }

    /// The same; says why the packet of this key was among them, if it was.
    fn collect_with(&mut self, key: u32) -> Option<DropReason> {
        let mut found = None;
        let Self { direction, payloads, dropped, counters, .. } = self;
        for decision in direction.decisions.drain(..) {
            let reason = DropReason::of(decision.outcome);
            *counters.of(reason) += 1;
            if decision.packet.key == key {
                found = Some(reason);
            }
            let payload = payloads.take(decision.packet.key);
            dropped.push_back(Dropped {
                payload,
                ecn: decision.packet.ecn,
                reason,
                at: decision.time.0.div_ceil(1000),
            });
        }
        found
    }
}

impl DropReason {
    pub(crate) fn of(outcome: PacketOutcome) -> Self {
        match outcome {
            PacketOutcome::Refused(why) if why == OVERFLOW => Self::Full,
            PacketOutcome::Dropped(why) if why == OVERFLOW => Self::Evicted,
            PacketOutcome::Refused(why) | PacketOutcome::Dropped(why) => Self::Scheme(why.name()),
            PacketOutcome::Lost | PacketOutcome::Sent => Self::Lost, // what is sent is not logged
        }
    }
}

impl Counters {
    pub(crate) fn of(&mut self, reason: DropReason) -> &mut u64 {
        match reason {
            DropReason::Full => &mut self.full,
            DropReason::Scheme(_) => &mut self.scheme,
            DropReason::Evicted => &mut self.evicted,
            DropReason::Lost => &mut self.lost,
        }
    }
}

impl<T> fmt::Debug for Line<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Line")
            .field("aqm", &self.aqm())
            .field("now", &self.now)
            .field("counters", &self.counters())
            .finish()
    }
}
