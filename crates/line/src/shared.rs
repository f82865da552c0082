//! Both directions, with traffic of others.

use crate::payloads::Payloads;
use crate::{Counters, Delivery, DropReason, Dropped, LineError, Packet, Side, Verdict};
use aqmlab_aqm::Ecn;
use aqmlab_core::{Problem, Problems, Span, Time};
use aqmlab_scenario::{Batch, Distribution, FlowSpec, Scenario, SchemeAssignment, Traffic, parse};
use aqmlab_sim::{ForeignEvent, ForeignPacket, LineSpec, Lines, Options, PacketOutcome, Simulation};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A path that others use, too: the flows of the scenario send over its links, in the time of whoever calls it.
///
/// All traffic of the simulator can be there: long transfers under any law of congestion control, the web, video, datagrams. It is the
/// simulator's own, so a run of the same scenario without packets of the caller's gives the same.
///
/// ```
/// use aqmlab::{Ecn, Packet, SharedPath, Side};
///
/// let scenario = "schema = 1\nduration = '60 s'\n\
///     [[links]]\nname = 'up'\nrate = '20 Mbit/s'\nbuffer = '200 packets'\naqm = 'fq-codel'\n\
///     [[links]]\nname = 'down'\nrate = '100 Mbit/s'\nbuffer = '500 packets'\n\
///     [[flows]]\nname = 'others'\ncount = 4\npath = ['up']\nrtt = '40 ms'\ntcp = 'cubic'\n";
/// let mut path = SharedPath::new(scenario, None, 1)?;
/// path.push(Side::Up, 2_000_000_000, Packet::new(1200, Ecn::Ect0, 7), "a datagram")?;
/// let (side, delivery) = path.pop(3_000_000_000)?.expect("it arrives within a second");
/// assert_eq!((side, delivery.payload), (Side::Up, "a datagram"));
/// assert!(delivery.waited > 0); // the others were there before
/// # Ok::<(), aqmlab::LineError>(())
/// ```
#[derive(Clone)]
pub struct SharedPath<T> {
    simulation: Simulation,
    directions: [Direction; 2],
    /// The number in the simulation of each flow of the caller's: by direction, flow, host and DSCP.
    flows: BTreeMap<(usize, u32, u32, u8), u32>,
    payloads: Payloads<(usize, T)>,
    /// What a direction without a queue carries.
    flying: VecDeque<Flying>,
    /// What has come out before it was asked for.
    ready: VecDeque<(Side, Delivery<T>)>,
    dropped: VecDeque<(Side, Dropped<T>)>,
    /// The time of the last call, ns.
    now: u64,
}

/// One direction.
#[derive(Clone)]
struct Direction {
    /// Index of its link, if it has a queue.
    link: Option<usize>,
    /// Index of the caller's flows among the groups.
    group: usize,
    rtt: Span,
    /// Propagation.
    delay: Span,
    counters: Counters,
}

/// A packet under way where nothing queues.
#[derive(Clone, Copy)]
struct Flying {
    due: Time,
    key: u32,
    ecn: Ecn,
}

impl<T> SharedPath<T> {
    /// Both directions and all flows at rest, of a scenario as [`Path::new`](crate::Path::new) takes it, whose flows send. They go on
    /// after its duration.
    ///
    /// # Errors
    /// Every problem of the scenario, with its path; what a line cannot do.
    pub fn new(scenario: &str, aqm: Option<&str>, seed: u64) -> Result<Self, Problems> {
        let mut scenario = parse(scenario, "path", &[])?;
        if let Some(spec) = scenario.flows.iter().find(|spec| spec.traffic.is_foreign()) {
            let why = format!("\"{}\" is not part of the simulator", spec.traffic.kind());
            return Err(Problems::one(format!("flows.{}.kind", spec.name), why));
        }
        let aqm = aqm.map(SchemeAssignment::parse).transpose().map_err(|why| Problems::one("aqm", why))?;
        scenario.check_schemes(aqm.as_ref())?;
        let lines = Lines::of(&scenario)?;
        let up = Direction::of(&mut scenario, &lines.up);
        let down = Direction::of(&mut scenario, &lines.down);
        let simulation = Simulation::hosting(scenario, Options { aqm, seed, ..Options::default() })?;
        Ok(Self {
            simulation,
            directions: [up, down],
            flows: BTreeMap::new(),
            payloads: Payloads::new(),
            flying: VecDeque::new(),
            ready: VecDeque::new(),
            dropped: VecDeque::new(),
            now: 0,
        })
    }

    /// A packet enters a direction at `now`, ns, behind all that others have sent until then.
    ///
    /// # Errors
    /// As [`Line::push`](crate::Line::push), and if a scheme breaks down.
    pub fn push(&mut self, side: Side, now: u64, packet: Packet, payload: T) -> Result<Verdict, LineError> {
        packet.check()?;
        let time = self.check(now)?;
        if time > self.simulation.now() {
            self.pass(time, false)?;
        }
        self.now = now;
        let at = side as usize;
        self.directions[at].counters.pushed += 1;
        let key = self.payloads.put((at, payload));
        let Some(flow) = self.flow(at, &packet) else {
            let due = time + self.directions[at].delay;
            self.flying.push_back(Flying { due, key, ecn: packet.ecn });
            return Ok(Verdict::Joined);
        };
        let (size, ecn) = (packet.length as u16, packet.ecn);
        self.simulation.reach(time);
        let marked = self.simulation.offer_foreign(ForeignPacket { flow, is_reply: false, size, ecn, number: key });
        let mut verdict = if marked { Verdict::Marked } else { Verdict::Joined };
        while let Some(lost) = self.simulation.take_lost() {
            let reason = DropReason::of(lost.outcome);
            if lost.packet.number == key {
                verdict = Verdict::Dropped(reason);
            }
            self.lose(&lost);
        }
        Ok(verdict)
    }

    /// The time at which to call [`SharedPath::pop`] next, ns: nothing comes out before. It is the next event of the whole network, so that most
    /// calls give nothing; `pop` may also be called later. `None` if nothing of the caller's is within.
    pub fn next_event(&self) -> Option<u64> {
        if !self.ready.is_empty() {
            return Some(self.now);
        }
        let flies = self.flying.front().map_or(Time::NEVER, |flying| flying.due);
        let due = flies.min(self.simulation.next_event());
        (self.payloads.len() > 0 && due < Time::NEVER).then(|| due.0.div_ceil(1000).max(self.now))
    }

    /// Takes the next packet of the caller's that comes out at `now` or before, in either direction; at one instant in the order in
    /// which that became known. Time passes until `now`, or until that packet comes out ([`Delivery::at`]): what is pushed then may be.
    ///
    /// # Errors
    /// If time goes backwards, or a scheme breaks down.
    pub fn pop(&mut self, now: u64) -> Result<Option<(Side, Delivery<T>)>, LineError> {
        let time = self.check(now)?;
        if self.ready.is_empty() {
            self.pass(time + Span(1), true)?;
        }
        let found = self.ready.pop_front();
        self.now = self.now.max(found.as_ref().map_or(now, |(_, delivery)| delivery.at));
        Ok(found)
    }

    /// Takes the next packet of the caller's that was dropped, in order. They are kept until they are taken.
    pub fn pop_dropped(&mut self) -> Option<(Side, Dropped<T>)> {
        self.dropped.pop_front()
    }

    /// Counts of the caller's packets in a direction since the start; `marked` and `waiting` are those of all.
    pub fn counters(&self, side: Side) -> Counters {
        let Direction { link, counters, .. } = &self.directions[side as usize];
        let held = counters.pushed - counters.delivered - counters.dropped();
        let (marked, waiting) = link.map_or((0, 0), |link| self.simulation.marked_and_waiting(link));
        Counters { held, marked, waiting, ..*counters }
    }

    /// The time of the last call, or of the packet that it took, ns.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The caller's flow in the simulation; `None` where nothing queues.
    fn flow(&mut self, at: usize, packet: &Packet) -> Option<u32> {
        let Direction { link, group, rtt, .. } = self.directions[at];
        link?;
        let Packet { flow, host, dscp, .. } = *packet;
        let simulation = &mut self.simulation;
        let number = self.flows.entry((at, flow, host, dscp));
        Some(*number.or_insert_with(|| simulation.add_foreign_flow(group, rtt, tuple(flow, host), dscp)))
    }

    /// Lets happen what comes before `end`; what comes out is ready then. `one`: only until something does.
    fn pass(&mut self, end: Time, one: bool) -> Result<(), LineError> {
        while !one || self.ready.is_empty() {
            let flies = self.flying.front().map_or(Time::NEVER, |flying| flying.due);
            match self.simulation.next_foreign(Time(flies.min(end).0 - 1)).map_err(broken)? {
                Some(event) if event.outcome == PacketOutcome::Sent => self.arrive(&event),
                Some(event) => self.lose(&event),
                None if flies < end => {
                    let Flying { due, key, ecn } = self.flying.pop_front().expect("it was there");
                    self.deliver(key, ecn, Span::ZERO, due);
                }
                None => break,
            }
        }
        Ok(())
    }

    fn arrive(&mut self, event: &ForeignEvent) {
        let ForeignPacket { flow, size, number, ecn, .. } = event.packet;
        let alone = self.simulation.time_without_queue(flow, size);
        let waited = Span(event.time.since(event.sent).0.saturating_sub(alone.0));
        self.deliver(number, ecn, waited, event.time);
    }

    fn deliver(&mut self, key: u32, ecn: Ecn, waited: Span, time: Time) {
        let (at, payload) = self.payloads.take(key);
        self.directions[at].counters.delivered += 1;
        let delivery = Delivery { payload, ecn, waited: waited.0 / 1000, at: time.0.div_ceil(1000) };
        self.ready.push_back((SIDES[at], delivery));
    }

    fn lose(&mut self, event: &ForeignEvent) {
        let (at, payload) = self.payloads.take(event.packet.number);
        let reason = DropReason::of(event.outcome);
        *self.directions[at].counters.of(reason) += 1;
        let dropped = Dropped { payload, ecn: event.packet.ecn, reason, at: event.time.0.div_ceil(1000) };
        self.dropped.push_back((SIDES[at], dropped));
    }

    fn check(&self, now: u64) -> Result<Time, LineError> {
        LineError::check(now, self.now)
    }
}

const SIDES: [Side; 2] = [Side::Up, Side::Down];

impl Direction {
    /// Adds the group of the caller's flows to the scenario.
    fn of(scenario: &mut Scenario, line: &LineSpec) -> Self {
        let group = scenario.flows.len();
        let link = scenario.links.iter().position(|link| line.is_measured && link.name == line.link.name);
        let Some(at) = link else {
            return Self { link, group, rtt: Span::ZERO, delay: line.delay, counters: Counters::default() };
        };
        let own = scenario.links[at].delay;
        // A quarter of what is not the link's own is between the last queue and the receiver.
        let rtt = Span(2 * own.0 + 4 * (line.delay.0 - own.0));
        let none = Batch { count: 0, start: Distribution::Fixed(Span::ZERO), stop: None };
        scenario.flows.push(FlowSpec {
            name: format!("{} of the caller", line.link.name),
            traffic: Traffic::Foreign,
            path: vec![at],
            ack_path: Vec::new(),
            batches: vec![none],
            access_rate: None,
            hosts: None,
            ..scenario.flows[0].clone()
        });
        Self { link, group, rtt, delay: line.delay, counters: Counters::default() }
    }
}

/// Stands for the addresses and ports of a flow: the host in the bits from 12 on.
fn tuple(flow: u32, host: u32) -> u32 {
    let mixed = |number: u32| number.wrapping_add(1).wrapping_mul(0x9e37_79b1);
    mixed(host) & !0xfff | mixed(flow) >> 20
}

fn broken(error: aqmlab_sim::RunError) -> LineError {
    match error {
        aqmlab_sim::RunError::Input(problems) => problems.into(),
        other => Problem::new("aqm", other.to_string()).into(),
    }
}

impl<T> fmt::Debug for SharedPath<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counters = SIDES.map(|side| self.counters(side));
        f.debug_struct("SharedPath").field("now", &self.now).field("counters", &counters).finish()
    }
}
