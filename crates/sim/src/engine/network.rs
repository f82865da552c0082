//! A network at one instant: links, flows and pending events.
//!
//! Rare paths are not inlined, so that the loop over packets and ACKs stays within the instruction cache.

mod cell;
mod clients;
mod ends;
mod media;
mod queues;
pub mod rounds;

use crate::calendar::{Ask, EventOrigin, Lane, PushTime};
use crate::engine::event::Event;
use crate::engine::partition::Partition;
use crate::engine::phases::PhaseLog;
use crate::engine::scheduler::{RemotePartitions, Scheduler};
use crate::measure::group::{GroupMeter, Receipts};
use crate::measure::link::LinkUsage;
use crate::measure::result::{Series, TransferTable};
use crate::memory;
use crate::net::ecmp::Ecmp;
use crate::net::flow::{Connection, Flow, Group, Lookahead, Path, Schedule};
use crate::net::link::{DepartureMode, Link};
use crate::net::packet::Packet;
use crate::net::route::{PathTemplate, Routes};
use crate::net::shared_buffer::SharedBuffer;
use crate::net::wifi::Cell;
use crate::traffic::client::Client;
use crate::traffic::media::MediaStream;
use crate::traffic::timed::TimedSource;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{LinkSpec, Scenario};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;

/// Number of flows that stay in the caches by themselves.
const IN_CACHE: usize = 1000;

/// Links, flows and pending events: all of a scenario, or a part of them.
#[derive(Clone)]
pub struct NetworkState {
    pub scenario: Arc<Scenario>,
    /// The links as they are now.
    pub specs: Arc<[LinkSpec]>,
    pub scheduler: Scheduler,
    pub now: Time,
    /// Times within which metrics count: from the end of the warm-up to the end.
    pub measured: Range<Time>,
    pub links: Partition<Link>,
    /// Buffers that links share; all of a buffer's links are in one part.
    pub buffers: Vec<SharedBuffer>,
    /// The Wi-Fi cell, if there is one; all of its links are in one part.
    pub cell: Option<Box<Cell>>,
    pub link_events: Partition<LinkEvents>,
    /// The time series of links, if they are recorded: of each, or of the first of those that are alike.
    pub series: Partition<LinkSeries>,
    pub flows: Partition<Flow>,
    pub numbers: FlowNumbers,
    /// Flows that were stopped by hand before they started.
    pub never_start: BTreeSet<u32>,
    pub sources: Partition<TimedSource>,
    pub clients: Partition<Client>,
    /// Calls that adapt, by their flows.
    pub media: BTreeMap<u32, MediaStream>,
    pub connections: Vec<Connection>,
    pub routes: Routes,
    /// Routes of a fabric.
    pub ecmp: Option<Ecmp>,
    pub groups: Vec<Group>,
    pub group_meters: Vec<GroupMeter>,
    pub transfer_table: Option<TransferTable>,
    /// Phases of senders, if somebody asks for them.
    pub phases: Option<Box<PhaseLog>>,
    /// Events handled.
    pub events: u64,
    /// Others run between its steps, so that its flows have left the caches.
    pub is_cold: bool,
}

/// The numbers of flows. On a tree their last bits tell the region, so that each region goes on counting for itself.
#[derive(Clone)]
pub struct FlowNumbers {
    /// Bits that tell the region.
    pub shift: u32,
    /// How many there are in each region.
    count: Vec<u32>,
}

impl FlowNumbers {
    fn new(regions: usize) -> Self {
        Self { shift: regions.next_power_of_two().ilog2(), count: vec![0; regions] }
    }

    /// That of one more flow in a region.
    fn next(&mut self, region: u16) -> u32 {
        let count = &mut self.count[usize::from(region)];
        *count += 1;
        (*count - 1) << self.shift | u32::from(region)
    }
}

/// The events of a link, as they are queued.
#[derive(Clone)]
pub struct LinkEvents {
    /// Lane of the end of transmissions, which come one by one.
    pub sent: Lane,
    /// Lane of the scheme's periodic updates.
    pub tick: Lane,
    /// The moments at which each packet that waits has joined the queue, where departures are computed at service.
    pub joined: VecDeque<PushTime>,
    /// Number of the series of periodic updates that counts; updates of earlier series are void.
    pub ticks: u32,
}

/// Updates at least this far apart are too few for a lane of their own, which every event would have to look at.
const RARE_TICK: Span = Span::from_micros(500);

impl LinkEvents {
    /// Of a link at rest: lanes of its own for events that come one by one, where there are many.
    pub fn new(link: &Link, mut new_lane: impl FnMut() -> Lane) -> Self {
        let mut lane = |is_wanted| if is_wanted { new_lane() } else { Lane::ANY };
        let sent = lane(link.departures != DepartureMode::Foreseen && !link.is_on_air);
        let tick = lane(link.queue.tick_every().is_some_and(|period| period < RARE_TICK));
        Self { sent, tick, joined: VecDeque::new(), ticks: 0 }
    }

    /// Departures may be computed at service no longer.
    pub fn follow(&mut self, link: &Link) {
        if link.departures == DepartureMode::Events {
            self.joined.clear();
        }
    }
}

/// The time series of a link.
#[derive(Clone)]
pub struct LinkSeries {
    /// Its link.
    pub link: usize,
    pub series: Series,
    /// The places among what its scheme shows of the columns.
    pub plotted: Vec<Option<usize>>,
    /// The last point.
    pub sampled: LinkUsage,
}

impl NetworkState {
    /// Without links and flows.
    pub fn new(scenario: &Arc<Scenario>, records: bool) -> Self {
        let lasting = scenario.flows.iter().filter(|spec| !spec.traffic.has_clients());
        let meter = |spec| GroupMeter { receipts: Some(Receipts::default()), ..GroupMeter::new(spec) };
        Self {
            specs: scenario.links.clone().into(),
            scheduler: Scheduler::default(),
            now: Time::ZERO,
            measured: Time::ZERO + scenario.warmup..Time::ZERO + scenario.duration,
            links: Partition::default(),
            buffers: scenario.buffers.iter().map(SharedBuffer::new).collect(),
            cell: None,
            link_events: Partition::default(),
            series: Partition::default(),
            flows: memory::room_for(lasting.map(|spec| spec.count() as usize).sum()).into(),
            numbers: FlowNumbers::new(scenario.tree.as_ref().map_or(1, |tree| tree.region_count.into())),
            never_start: BTreeSet::new(),
            sources: Partition::default(),
            clients: Partition::default(),
            media: BTreeMap::new(),
            connections: Vec::new(),
            routes: Routes::new(scenario),
            ecmp: None,
            groups: scenario.flows.iter().map(|spec| Group::new(spec, scenario.links[spec.path[0]].host)).collect(),
            group_meters: scenario.flows.iter().map(meter).collect(),
            transfer_table: records.then(TransferTable::default),
            phases: PhaseLog::new(scenario),
            events: 0,
            is_cold: false,
            scenario: scenario.clone(),
        }
    }

    /// Handles the events up to and including `until`, about `most` of them; true if there may be more.
    #[inline(never)] // `make instructions` counts what it takes
    pub fn advance(&mut self, until: Time, most: u64) -> bool {
        match self.is_cold || self.flows.len() > IN_CACHE {
            true => self.handle_until::<true>(until, most),
            false => self.handle_until::<false>(until, most),
        }
    }

    /// The same; where `IS_LARGE`, what an event will touch is fetched from memory before it comes.
    #[inline(never)]
    fn handle_until<const IS_LARGE: bool>(&mut self, until: Time, most: u64) -> bool {
        for _ in 0..most {
            let Scheduler { calendar, remote, .. } = &mut self.scheduler;
            let next = calendar.pop_asking(until, IS_LARGE, |ask| match ask {
                Ask::Soon(event) => {
                    fetch(event, &self.flows, &self.links, remote);
                    None
                }
                Ask::Due(Event::Timer { flow }, time, reach) => {
                    self.flows[*flow as usize].move_timer(time, reach, self.now)
                }
                Ask::Due(..) => None,
            });
            let Some((time, event)) = next else {
                self.now = self.now.max(until);
                self.scheduler.as_of(PushTime::at(self.now));
                return false;
            };
            self.now = time;
            match *event {
                Event::Arrive(packet) => self.take(packet),
                Event::Sent { link } => self.end_transmission(link),
                Event::Timer { flow } => self.timer(flow),
                event => self.handle(event),
            }
        }
        true
    }

    /// Handles any event but those that the loop handles itself.
    #[inline(never)]
    fn handle(&mut self, event: Event) {
        self.events += u64::from(self.counts(event));
        match event {
            Event::Arrive(_) | Event::Sent { .. } | Event::Timer { .. } => unreachable!("the loop handles them itself"),
            Event::Release { link } => self.release_late(link),
            Event::Frame => self.frame(),
            Event::AckDue { flow } => self.delayed_ack(flow),
            Event::Open { flow } => self.open(flow),
            Event::Close { flow } => self.close(flow),
            Event::Emit { source } => self.emit(source),
            Event::Media { flow } => self.wake_media(flow),
            Event::Request { client } => self.request(client),
            Event::RateChange { link } => self.change_rate(link),
            Event::Tick { link, period, series } => self.tick(link, period, series),
            Event::Sample => self.sample(),
            Event::WarmedUp => self.restart_meters(),
        }
    }

    /// True of an event that there is once in every way of running: a look at a time series may be asked for or not, a receiver that
    /// acts ahead may have sent its delayed ACK, and the warm-up ends in all parts.
    fn counts(&self, event: Event) -> bool {
        match event {
            Event::Sample | Event::AckDue { .. } => false,
            Event::WarmedUp => self.links.get(0).is_some(),
            _ => true,
        }
    }

    fn change_rate(&mut self, index: u32) {
        let at = index as usize;
        let link = &mut self.links[at];
        link.change_rate(self.now);
        Arc::make_mut(&mut self.specs)[at].rate = link.rate();
        self.routes.follow(&self.scenario.flows, &self.specs, at);
        self.schedule_rate_change(index);
    }

    /// The next change of a link's rate is an event.
    pub fn schedule_rate_change(&mut self, link: u32) {
        if let Some(time) = self.links[link as usize].rate_changes_at() {
            self.scheduler.push(Lane::ANY, time, EventOrigin::link(link), Event::RateChange { link });
        }
    }

    /// Runs a scheme's periodic update, unless it is of a scheme or a period that was replaced.
    #[inline(never)]
    fn tick(&mut self, link: u32, period: Span, series: u32) {
        let at = link as usize;
        if self.link_events[at].ticks == series {
            self.links[at].tick(self.now);
            self.schedule_tick(link, self.now + period, period);
        }
    }

    /// The next update of a link's scheme is at `time`.
    pub fn schedule_tick(&mut self, link: u32, time: Time, period: Span) {
        let LinkEvents { tick, ticks, .. } = &self.link_events[link as usize];
        let (tick, series) = (*tick, *ticks);
        self.scheduler.push(tick, time, EventOrigin::link(link), Event::Tick { link, period, series });
    }

    /// Adds a point to the time series.
    #[inline(never)]
    fn sample(&mut self) {
        for LinkSeries { link, series, plotted, sampled } in &mut self.series {
            let link = &mut self.links[*link];
            link.catch_up(self.now);
            let waiting = f64::from(link.queue.len());
            let utilisation = link.utilisation_since(sampled, self.now);
            let shown = plotted.iter().map(|place| place.map_or(f64::NAN, |i| link.queue.observe(i)));
            let values = [self.now.seconds(), waiting, utilisation].into_iter().chain(shown);
            for ((_, column), value) in series.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        self.schedule_sample();
    }

    /// The next point of the time series is due.
    pub fn schedule_sample(&mut self) {
        self.scheduler.push(Lane::ANY, self.now + self.scenario.sample, EventOrigin::SAMPLE, Event::Sample);
    }

    /// The warm-up is over.
    fn restart_meters(&mut self) {
        self.links.iter_mut().for_each(|link| link.restart_meters(self.now));
        self.cell.iter_mut().for_each(|cell| cell.restart_meters(self.now));
        for meter in &mut self.group_meters {
            meter.before = meter.before.plus(meter.ended);
            meter.sent = 0;
        }
        for flow in self.flows.iter_mut().filter(|flow| flow.lookahead() != Lookahead::Measured) {
            let group = self.routes.group(flow.way);
            if flow.counts(&self.groups[group]) {
                self.group_meters[group].before.add(&flow.sender);
            }
            if flow.lookahead() == Lookahead::WarmingUp {
                flow.set_lookahead(Lookahead::Measured);
            }
        }
    }
}

/// The path of a way, with the sink of its flows' events.
#[inline(always)]
fn path<'a>(
    groups: &'a [Group],
    ways: &'a [PathTemplate],
    way: u32,
    schedule: &'a mut Scheduler,
) -> Path<'a, Scheduler> {
    let way = &ways[way as usize];
    Path { group: &groups[way.group as usize], way, schedule }
}

/// Fetches from memory what an event will touch.
fn fetch(event: &Event, flows: &Partition<Flow>, links: &Partition<Link>, remote: &Option<Box<RemotePartitions>>) {
    if let Event::Arrive(Packet { flow, .. }) | Event::Timer { flow } | Event::Open { flow } = event {
        match flows.get(*flow as usize) {
            Some(flow) => memory::fetch(flow),
            None => remote.iter().for_each(|remote| memory::fetch_at(&remote.locations, *flow as usize)),
        }
    }
    // Which of several links it is bound for only its flow says, and that is not here yet.
    if let Event::Arrive(packet) = event
        && packet.is_data()
        && links.len() == 1
    {
        links.iter().for_each(|link| link.fetch_losses(packet.flow));
    }
}
