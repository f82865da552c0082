//! The traffic of a scenario, played by real sockets: one loop that waits for the next time or the next socket.

mod traffic;

use crate::counts::{self, Counts, Ends};
use crate::network::{Gate, GuestNetwork, Namespace};
use crate::sockets::{self, Name};
use crate::tap::{SNAP, Tap};
use aqmlab_core::{Rate, Span, Time};
use aqmlab_kernel::{GuestOrder, UDP_HEADER};
use aqmlab_scenario::{Action, LinkSpec, Scenario};
use aqmlab_sim::Output;
use aqmlab_sim::kernel::{
    Client, FlowInstanceSpec, FlowInstanceStreams, OwnPropagation, PcapngWriter, RateSchedule, SenderCounters,
    TimedSource, times,
};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId as TimerClock, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use nix::time::{ClockId, clock_gettime};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;

/// Longest time between two looks at the queues.
const LOOK: Span = Span::from_micros(10_000);
/// The network rests so long before the run begins.
const REST: u64 = 10_000_000;
/// Devices that come up in a second at most (`MAX_DO_DEV_PER_LOOP` in net/core/link_watch.c): what leaves by the others is lost.
const DEVICES: u64 = 100;
/// A tick of the kernel's timestamps, ns: the run begins with one, as a simulation does.
const TICK: u64 = 1_000_000;

/// What is to be done at a time, in this order where several are due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Work {
    WarmUp,
    Rate(usize),
    Change(usize),
    Open(usize),
    Close(usize),
    Emit(usize),
    Request(usize),
    Transfer(usize),
    Look,
    Sample,
    Tell,
    End,
}

/// What a socket is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Timer,
    Listener,
    Sender,
    Receiver,
}

/// A member that is not a client.
struct Flow {
    group: usize,
    i: usize,
}

/// A sending connection.
struct Sender {
    socket: OwnedFd,
    group: usize,
    /// The transfer on it.
    transfer: Option<Transfer>,
    /// Bytes still to be written.
    left: u64,
}

/// A transfer of a client.
#[derive(Clone, Copy)]
struct Transfer {
    client: usize,
    asked_at: Time,
    /// Packets.
    size: u32,
}

struct Receiver {
    socket: OwnedFd,
    member: (usize, usize),
}

struct Source {
    socket: OwnedFd,
    source: TimedSource,
    group: usize,
    /// Payload of a datagram, bytes.
    size: usize,
}

struct Player<'a> {
    order: &'a GuestOrder,
    scenario: &'a Scenario,
    /// The links as they are now.
    links: Vec<LinkSpec>,
    /// Queues that changes have set up so far.
    changed: usize,
    /// When changes were made.
    changes: Vec<Span>,
    /// The link whose packets are captured, and the file.
    capture: Option<(usize, PcapngWriter<BufWriter<File>>)>,
    members: &'a [Vec<FlowInstanceSpec<'a>>],
    network: GuestNetwork,
    counts: Counts<'a>,
    tap: Tap,
    epoll: Epoll,
    timer: TimerFd,
    /// Time that the timer is set to, if it is.
    set_to: Option<Time>,
    work: BinaryHeap<Reverse<(Time, u64, Work)>>,
    /// Works planned so far: of those at one time the one that was planned first is done first.
    pushed: u64,
    /// Monotonic time at which the run begins, ns.
    origin: u64,
    /// Wall clock less the monotonic one, ns.
    wall: u64,
    listener: OwnedFd,
    sink: OwnedFd,
    flows: Vec<Flow>,
    senders: Vec<Option<Sender>>,
    /// The sender of each flow, while it is open.
    of_flow: Vec<Option<usize>>,
    receivers: Vec<Option<Receiver>>,
    /// Where receivers read to.
    room: Vec<u8>,
    sources: Vec<Source>,
    clients: Vec<Client>,
    client_member: Vec<(usize, usize)>,
    /// Connections that a client keeps and that carry nothing.
    idle: Vec<Vec<usize>>,
    asked: Vec<Transfer>,
    /// Group and place in it of who sends from an address and port.
    names: HashMap<Name, (usize, usize)>,
    /// Bytes that each member's receiver has taken since the warm-up.
    delivered: Vec<Vec<u64>>,
    /// Packets of each member that queues have dropped since the warm-up.
    dropped: Vec<Vec<i64>>,
    /// The changes of each link's rate, and its present rate, bit/s.
    schedules: Vec<(RateSchedule, Rate)>,
    /// The next rate of each link.
    upcoming: Vec<Option<Rate>>,
    is_over: bool,
}

/// Plays a run; `tell` hears how far it has come.
pub fn play(order: &GuestOrder, mut tell: impl FnMut(f64) -> io::Result<()>) -> io::Result<Output> {
    let scenario = order.scenario().map_err(|why| io::Error::other(why.to_string()))?;
    let members: Vec<Vec<FlowInstanceSpec>> =
        (0..scenario.flows.len()).map(|group| drafts(&scenario, group, order.seed)).collect();
    let network = GuestNetwork::new(order, &scenario, &members)?;
    let mut player = Player::new(order, &scenario, &members, network)?;
    player.schedule()?;
    while !player.is_over {
        player.step(&mut tell)?;
    }
    player.output()
}

fn drafts(scenario: &Scenario, group: usize, seed: u64) -> Vec<FlowInstanceSpec<'_>> {
    let spec = &scenario.flows[group];
    let streams = FlowInstanceStreams::new(seed, spec);
    let drawn = times(spec, &spec.rtt, streams).enumerate();
    drawn.map(|(i, times)| FlowInstanceSpec::new(spec, group, i, &spec.rtt, times, streams)).collect()
}

/// Nanoseconds of a clock.
fn read_clock(clock: ClockId) -> io::Result<u64> {
    let time = clock_gettime(clock)?;
    Ok(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

impl<'a> Player<'a> {
    fn new(
        order: &'a GuestOrder,
        scenario: &'a Scenario,
        members: &'a [Vec<FlowInstanceSpec<'a>>],
        network: GuestNetwork,
    ) -> io::Result<Self> {
        let listener = network.within(Namespace::Receivers, sockets::listener)?;
        let sink = network.within(Namespace::Receivers, sockets::sink)?;
        let timer = TimerFd::new(TimerClock::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let watch = |file: &dyn std::os::fd::AsFd, role| {
            epoll.add(file.as_fd(), EpollEvent::new(EpollFlags::EPOLLIN, token(role, 0)))
        };
        watch(&listener, Role::Listener)?;
        watch(&timer, Role::Timer)?;
        let monotonic = read_clock(ClockId::CLOCK_MONOTONIC)?;
        let ready = monotonic + REST + (network.devices() - 1) / DEVICES * 1_000_000_000;
        let begin = |link: usize| -> io::Result<_> {
            let file = BufWriter::new(File::create("/capture.pcapng")?);
            Ok((link, PcapngWriter::begin(file, &scenario.links[link].name, SNAP)?))
        };
        Ok(Self {
            order,
            links: scenario.links.clone(),
            changed: 0,
            changes: Vec::new(),
            capture: order.capture.map(begin).transpose()?,
            tap: Tap::open()?,
            counts: Counts::new(order, scenario),
            wall: read_clock(ClockId::CLOCK_REALTIME)? - monotonic,
            origin: ready.next_multiple_of(TICK),
            schedules: scenario.links.iter().map(|link| (RateSchedule::new(link, order.seed), link.rate)).collect(),
            upcoming: vec![None; scenario.links.len()],
            delivered: members.iter().map(|members| vec![0; members.len()]).collect(),
            dropped: members.iter().map(|members| vec![0; members.len()]).collect(),
            scenario,
            members,
            network,
            epoll,
            timer,
            set_to: None,
            listener,
            sink,
            work: BinaryHeap::new(),
            pushed: 0,
            flows: Vec::new(),
            senders: Vec::new(),
            of_flow: Vec::new(),
            receivers: Vec::new(),
            room: vec![0; sockets::CHUNK],
            sources: Vec::new(),
            clients: Vec::new(),
            client_member: Vec::new(),
            idle: Vec::new(),
            asked: Vec::new(),
            names: HashMap::new(),
            is_over: false,
        })
    }

    /// Plans what begins by itself.
    fn schedule(&mut self) -> io::Result<()> {
        let warmup = Time::ZERO + self.scenario.warmup;
        let members = self.members;
        for (group, i, member) in members
            .iter()
            .enumerate()
            .flat_map(|(group, members)| members.iter().enumerate().map(move |(i, member)| (group, i, member)))
        {
            self.add_member(group, i, member, warmup)?;
        }
        for link in 0..self.schedules.len() {
            self.plan_rate(link, Time::ZERO);
        }
        for (i, change) in self.scenario.changes.iter().enumerate() {
            self.plan(Time::ZERO + change.at, Work::Change(i));
        }
        if self.scenario.warmup > Span::ZERO {
            self.plan(warmup, Work::WarmUp);
        }
        self.plan(Time::ZERO, Work::Look);
        self.plan(Time::ZERO + self.scenario.sample, Work::Sample);
        self.plan(Time::ZERO + Span::from_secs(1), Work::Tell);
        self.plan(Time::ZERO + self.scenario.duration, Work::End);
        Ok(())
    }

    fn add_member(&mut self, group: usize, i: usize, member: &FlowInstanceSpec, warmup: Time) -> io::Result<()> {
        let is_active = member.start < member.stops_at();
        if let Some(mut client) = member.client(warmup) {
            let first = client.first(member.start).filter(|_| is_active);
            self.clients.push(client);
            self.client_member.push((group, i));
            self.idle.push(Vec::new());
            first.into_iter().for_each(|first| self.plan(first, Work::Request(self.clients.len() - 1)));
            return Ok(());
        }
        let number = self.flows.len();
        self.flows.push(Flow { group, i });
        self.of_flow.push(None);
        if let Some(source) = member.source(number as u32) {
            return self.add_source(member, source, is_active);
        }
        if is_active {
            self.plan(member.start, Work::Open(number));
        }
        if let Some(stop) = member.stop {
            self.plan(stop, Work::Close(number));
        }
        Ok(())
    }

    fn add_source(&mut self, member: &FlowInstanceSpec, mut source: TimedSource, is_active: bool) -> io::Result<()> {
        let host = &self.network.hosts[self.network.host(member.group, member.i)];
        let to = host.receiver;
        let socket = self.network.within(Namespace::Senders, || sockets::source(member.spec, to))?;
        self.names.insert(sockets::name(&socket)?, (member.group, member.i));
        if let Some(first) = source.first(member.start).filter(|_| is_active) {
            self.plan(first, Work::Emit(self.sources.len()));
        }
        let size = member.spec.wire_size().saturating_sub(UDP_HEADER) as usize;
        self.sources.push(Source { socket, source, group: member.group, size });
        Ok(())
    }

    fn plan(&mut self, time: Time, work: Work) {
        self.pushed += 1;
        self.work.push(Reverse((time, self.pushed, work)));
    }

    fn plan_rate(&mut self, link: usize, now: Time) {
        let (schedule, present) = &mut self.schedules[link];
        let next = schedule.next(*present, now);
        self.upcoming[link] = next.map(|(_, rate)| rate);
        if let Some((time, _)) = next {
            self.plan(time, Work::Rate(link));
        }
    }

    /// Time since the run began.
    fn now(&self) -> io::Result<Time> {
        let now = read_clock(ClockId::CLOCK_MONOTONIC)?;
        Ok(Time::ZERO + Span(now.saturating_sub(self.origin) * 1000))
    }

    /// Time of the next work.
    fn next_work(&self) -> Option<Time> {
        self.work.peek().map(|Reverse((time, _, _))| *time)
    }

    /// Waits for what comes next, and does it. System calls are what a run costs: none is made in vain.
    fn step(&mut self, tell: &mut impl FnMut(f64) -> io::Result<()>) -> io::Result<()> {
        let next = self.next_work();
        if let Some(time) = next.filter(|_| next != self.set_to) {
            let at = self.origin + time.0.div_ceil(1000);
            let at = TimeSpec::new((at / 1_000_000_000) as i64, (at % 1_000_000_000) as i64);
            self.timer.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            self.set_to = next;
        }
        let mut ready = [EpollEvent::empty(); 64];
        let count = self.epoll.wait(&mut ready, EpollTimeout::NONE)?;
        for event in &ready[..count] {
            let (role, index) = of_token(event.data());
            match role {
                Role::Timer => {
                    self.set_to = None;
                    self.timer.wait().or_else(again)?;
                }
                Role::Listener => self.accept()?,
                Role::Receiver => self.receive(index)?,
                Role::Sender => self.send(index, event.events())?,
            }
        }
        if self.next_work() == self.set_to {
            return Ok(()); // its time has not come
        }
        let now = self.now()?;
        while let Some(Reverse((time, _, work))) =
            self.work.peek().copied().filter(|Reverse((time, _, _))| *time <= now)
        {
            self.work.pop();
            self.act(work, time, tell)?;
        }
        Ok(())
    }

    fn act(&mut self, work: Work, now: Time, tell: &mut impl FnMut(f64) -> io::Result<()>) -> io::Result<()> {
        match work {
            Work::WarmUp => self.warm_up(now)?,
            Work::Rate(link) => self.change_rate(link, now)?,
            Work::Change(change) => self.change(change, now)?,
            Work::Open(flow) => self.open(flow)?,
            Work::Close(flow) => self.close(flow),
            Work::Emit(source) => self.emit(source, now)?,
            Work::Request(client) => self.request(client, now),
            Work::Transfer(transfer) => self.start_transfer(transfer)?,
            Work::Look => {
                self.look(now)?;
                self.plan(now + LOOK.min(self.scenario.sample), Work::Look);
            }
            Work::Sample => {
                self.look(now)?;
                self.counts.sample(now);
                self.plan(now + self.scenario.sample, Work::Sample);
            }
            Work::Tell => {
                tell(now.seconds())?;
                self.plan(now + Span::from_secs(1), Work::Tell);
            }
            Work::End => {
                self.look(now)?;
                self.is_over = true;
            }
        }
        Ok(())
    }

    /// Takes note of what passed the hub's devices, and of the queues.
    fn look(&mut self, now: Time) -> io::Result<()> {
        let (network, counts, scenario) = (&self.network, &mut self.counts, self.scenario);
        let (begin, capture, mut written) = (self.origin + self.wall, &mut self.capture, Ok(()));
        self.tap.drain(|passing| {
            let Some(gate) = network.gates.get(&passing.device) else { return };
            let at = Time::ZERO + Span(passing.at.saturating_sub(begin) * 1000);
            let own = match gate {
                Gate::Receiver(host) => network.own_propagation(*host, scenario),
                _ => OwnPropagation::default(),
            };
            let gate = match gate {
                Gate::Sender(host) => Gate::Sender(network.hosts[*host].group),
                Gate::Receiver(host) => Gate::Receiver(network.hosts[*host].group),
                gate => *gate,
            };
            if let Some((_, file)) = capture.as_mut().filter(|(link, _)| passing.leaves && gate == Gate::Queue(*link))
                && written.is_ok()
            {
                written = file.write(at, passing.frame, passing.length);
            }
            counts.on_passing(gate, &passing, at, own);
        });
        written?;
        match self.tap.missed() {
            0 => {}
            missed => return Err(io::Error::other(format!("{missed} packets were not seen"))),
        }
        for (name, count) in counts.flights.drops.drain(..) {
            if let Some((group, i)) = self.names.get(&name) {
                self.dropped[*group][*i] += count;
            }
        }
        counts.flights.tidy(now);
        counts.look(network, now)?;
        self.take_datagrams()
    }

    fn warm_up(&mut self, now: Time) -> io::Result<()> {
        self.look(now)?;
        let (senders, lost) = (self.sender_counters(), self.lost()?);
        self.counts.start(now, &senders, &lost);
        self.delivered.iter_mut().for_each(|group| group.fill(0));
        self.dropped.iter_mut().for_each(|group| group.fill(0));
        // What has arrived and waits to be read belongs to the warm-up.
        for receiver in self.receivers.iter().flatten() {
            let (group, i) = receiver.member;
            self.delivered[group][i] = self.delivered[group][i].wrapping_sub(sockets::unread(&receiver.socket));
        }
        Ok(())
    }

    fn sender_counters(&self) -> Vec<SenderCounters> {
        let of_group = |group| {
            let senders = self.senders.iter().flatten().filter(|sender| sender.group == group);
            counts::sum_of(senders.map(|sender| sockets::counters(&sender.socket)))
        };
        (0..self.scenario.flows.len()).map(of_group).collect()
    }

    fn change_rate(&mut self, link: usize, now: Time) -> io::Result<()> {
        if let Some(rate) = self.upcoming[link] {
            self.set_rate(link, rate, now)?;
        }
        self.plan_rate(link, now);
        Ok(())
    }

    fn set_rate(&mut self, link: usize, rate: Rate, now: Time) -> io::Result<()> {
        self.look(now)?;
        self.network.set_rate(link, rate)?;
        self.counts.on_rate(link, rate.0, now);
        self.schedules[link].1 = rate;
        Ok(())
    }

    /// Makes a change of the scenario; those that it has are the ones that `problems` leaves.
    fn change(&mut self, i: usize, now: Time) -> io::Result<()> {
        let change = &self.scenario.changes[i];
        let action = change.action(self.scenario, &self.links).map_err(|why| io::Error::other(why.to_string()))?;
        action.update(&mut self.links);
        match &action {
            Action::Rate(link, rate) => self.set_rate(*link, *rate, now)?,
            Action::Delay(link, delay) => self.network.set_delay(*link, *delay)?,
            Action::Loss(link, loss) => self.network.set_loss(*link, *loss)?,
            Action::Buffer(link, ..) | Action::Parameter(link, ..) => {
                self.look(now)?;
                self.network.set_queue(*link, &self.order.changed[self.changed])?;
                self.changed += 1;
            }
            _ => {}
        }
        if let Action::Rate(link, _) | Action::Delay(link, _) = action {
            self.network.follow(link, self.scenario, &self.links)?;
        }
        if let Action::Buffer(link, ..) | Action::Target(link, _) = action {
            self.counts.on_goal(link, &self.links[link], now);
        }
        self.changes.push(change.at);
        Ok(())
    }

    /// Packets that the wire of each link has lost so far.
    fn lost(&self) -> io::Result<Vec<u64>> {
        (0..self.links.len()).map(|link| self.network.lost(link)).collect()
    }

    fn output(mut self) -> io::Result<Output> {
        for receiver in self.receivers.iter().flatten() {
            let (group, i) = receiver.member;
            self.delivered[group][i] = self.delivered[group][i].wrapping_add(sockets::unread(&receiver.socket));
        }
        if let Some((_, capture)) = self.capture.take() {
            capture.finish()?;
        }
        let now = Time::ZERO + self.scenario.duration;
        let ends = Ends {
            members: self.members,
            delivered: &self.delivered,
            dropped: &self.dropped,
            senders: &self.sender_counters(),
            clients: &self.clients,
            lost: &self.lost()?,
        };
        let scripted = self.scenario.scripted_changes().into_iter();
        let made = self.changes.iter().copied().filter(|at| *at < self.scenario.duration);
        let mut changes: Vec<Span> = scripted.chain(made).collect();
        changes.sort();
        changes.dedup();
        Ok(self.counts.output(&ends, &changes, now))
    }
}

/// A free place.
fn room<T>(places: &mut Vec<Option<T>>) -> usize {
    places.iter().position(Option::is_none).unwrap_or_else(|| {
        places.push(None);
        places.len() - 1
    })
}

fn again(why: nix::errno::Errno) -> nix::Result<()> {
    if why == nix::errno::Errno::EAGAIN { Ok(()) } else { Err(why) }
}

fn token(role: Role, index: usize) -> u64 {
    (role as u64) << 32 | index as u64
}

fn of_token(token: u64) -> (Role, usize) {
    let roles = [Role::Timer, Role::Listener, Role::Sender, Role::Receiver];
    (roles[(token >> 32) as usize], (token & 0xffff_ffff) as usize)
}
