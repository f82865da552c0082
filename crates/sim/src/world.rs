//! One run: the world of a scenario, and the loop that handles its events.

mod output;
#[cfg(test)]
mod tests;

use crate::calendar::{Calendar, Lane};
use crate::event::{Event, Packet};
use crate::flow::{Flow, Group};
use crate::link::{Link, Offered};
use crate::meter::GroupMeter;
use crate::result::{Output, Series};
use crate::route::Routes;
use crate::scenario::{AqmChoice, Batch, Scenario};
use crate::watch::Watch;
use aqmlab_aqm::Aqm;
use aqmlab_core::{Problems, Span, Stream, Time};
use aqmlab_tcp::{Sender, TcpParams};

/// How a scenario is run.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunOptions<'a> {
    /// Scheme for all links that do not fix theirs; the scenario's own if `None`.
    pub aqm: Option<&'a AqmChoice>,
    /// Seed of all random streams.
    pub seed: u64,
    /// Record time series.
    pub series: bool,
    /// Shows another thread how far the run has come, and lets it stop the run.
    pub watch: Option<&'a Watch>,
}

/// The run was told to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Why there is no result.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RunError {
    /// The scheme does not fit the scenario.
    #[error(transparent)]
    Input(#[from] Problems),
    /// The run was told to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
}

/// Events between looks at the watch: about ten milliseconds.
const EVENTS_PER_LOOK: u64 = 1 << 16;

/// Runs a scenario from start to end.
#[allow(clippy::disallowed_methods)] // the wall clock times the run; nothing in the run reads it
pub fn run(scenario: &Scenario, options: RunOptions) -> Result<Output, RunError> {
    let started = std::time::Instant::now();
    let mut world = World::new(scenario, options)?;
    world.run(options.watch)?;
    let mut output = world.output(options);
    output.result.engine.wall = started.elapsed().as_secs_f64();
    Ok(output)
}

struct World<'a> {
    scenario: &'a Scenario,
    calendar: Calendar<Event>,
    now: Time,
    end: Time,
    warmup: Time,
    links: Vec<Link>,
    flows: Vec<Flow>,
    /// For each flow: it is active during all of the measured time.
    always_active: Vec<bool>,
    routes: Routes,
    groups: Vec<Group>,
    group_meters: Vec<GroupMeter>,
    tcp: Vec<TcpParams>,
    series: Vec<Series>,
    events: u64,
}

impl<'a> World<'a> {
    fn new(scenario: &'a Scenario, options: RunOptions) -> Result<Self, Problems> {
        let mut world = World {
            scenario,
            calendar: Calendar::new(),
            now: Time::ZERO,
            end: Time::ZERO + scenario.duration,
            warmup: Time::ZERO + scenario.warmup,
            links: Vec::new(),
            flows: Vec::new(),
            always_active: Vec::new(),
            routes: Routes::new(),
            groups: scenario.flows.iter().map(Group::new).collect(),
            group_meters: vec![GroupMeter::default(); scenario.flows.len()],
            tcp: scenario.flows.iter().map(|flow| flow.tcp).collect(),
            series: Vec::new(),
            events: 0,
        };
        world.add_links(options)?;
        if scenario.warmup > Span::ZERO {
            world.calendar.push(Lane::HEAP, world.warmup, Event::WarmedUp);
        }
        for group in 0..scenario.flows.len() {
            world.add_flows(group, options.seed);
        }
        world.routes.assign_lanes(&mut world.calendar);
        if options.series {
            world.start_series(options);
        }
        Ok(world)
    }

    fn add_links(&mut self, options: RunOptions) -> Result<(), Problems> {
        for (i, spec) in self.scenario.links.iter().enumerate() {
            let scheme = self.scenario.build_scheme(spec, self.scenario.scheme_of(spec, options.aqm))?;
            if let Some(period) = scheme.tick_every() {
                self.calendar.push(Lane::HEAP, Time::ZERO, Event::Tick { link: i as u32, period });
            }
            self.links.push(Link::new(spec, scheme, options.seed, &mut self.calendar));
        }
        Ok(())
    }

    fn add_flows(&mut self, group: usize, seed: u64) {
        let spec = &self.scenario.flows[group];
        let stream = |what: &str, i: usize| Stream::new(seed, &format!("flows.{}.{what}", spec.name), i as u64);
        let batches: Vec<&Batch> = spec.batches.iter().flat_map(|b| std::iter::repeat_n(b, b.count as usize)).collect();
        for (i, batch) in batches.into_iter().enumerate() {
            let route = self.routes.of(self.scenario, group, spec.rtt.draw(i, &mut stream("rtt", i)));
            let phase = Span((stream("clock", i).uniform() * spec.tcp.clock.0 as f64) as u64);
            let flow = self.flows.len() as u32;
            self.flows.push(Flow::new(Sender::new(spec.variant, &spec.tcp, phase), route, group as u32));
            let start = Time::ZERO + batch.start.draw(i, &mut stream("start", i));
            let stop = batch.stop.as_ref().map(|law| Time::ZERO + law.draw(i, &mut stream("stop", i)));
            if stop.is_none_or(|stop| start < stop) {
                self.calendar.push(Lane::HEAP, start, Event::Open { flow });
            }
            if let Some(stop) = stop {
                self.calendar.push(Lane::HEAP, stop, Event::Close { flow });
            }
            self.always_active.push(start <= self.warmup && stop.is_none_or(|stop| stop >= self.end));
        }
    }

    fn start_series(&mut self, options: RunOptions) {
        for spec in &self.scenario.links {
            let scheme = self.scenario.scheme_of(spec, options.aqm);
            let shown = aqmlab_aqm::entry(&scheme.name).map(|entry| entry.observables).unwrap_or_default();
            let names = ["time", "queue"].into_iter().chain(shown.iter().map(|o| o.name));
            let columns = names.map(|name| (name.to_string(), Vec::new())).collect();
            self.series.push(Series { link: spec.name.clone(), columns });
        }
        self.calendar.push(Lane::HEAP, Time::ZERO + self.scenario.sample, Event::Sample);
    }

    fn run(&mut self, watch: Option<&Watch>) -> Result<(), Interrupted> {
        while let Some((time, event)) = self.calendar.pop() {
            if time > self.end {
                break;
            }
            self.now = time;
            self.events += 1;
            if self.events.is_multiple_of(EVENTS_PER_LOOK)
                && let Some(watch) = watch
            {
                watch.note(time);
                if watch.is_cancelled() {
                    return Err(Interrupted);
                }
            }
            match *event {
                Event::Arrive { sent_at, flow, seq, size, hop } => {
                    self.arrive(Packet { sent_at, flow, seq, size, hop })
                }
                Event::Sent { link } => self.sent(link),
                Event::Ack { flow, ack } => self.acknowledge(flow, ack),
                Event::Timer { flow } => self.timer(flow),
                Event::Open { flow } => self.at_sender(flow, |sender, now, tcp, net| sender.open(now, tcp, net)),
                Event::Close { flow } => self.flows[flow as usize].sender.close(),
                Event::Tick { link, period } => self.tick(link, period),
                Event::Sample => self.sample(),
                Event::WarmedUp => self.restart_meters(),
            }
        }
        self.now = self.end;
        for link in &mut self.links {
            link.pass_time(self.end);
            debug_assert!(link.queue.accounts_balance());
        }
        Ok(())
    }

    #[inline]
    fn arrive(&mut self, packet: Packet) {
        let route = &self.routes.routes[self.flows[packet.flow as usize].route as usize];
        let index = route.hops[packet.hop as usize].link;
        match self.links[index].offer(packet, self.now) {
            Offered::Nothing => {}
            Offered::MayStart => self.start_service(index as u32),
            Offered::SentAt(time) => self.forward(packet, time),
        }
    }

    #[inline]
    fn start_service(&mut self, index: u32) {
        let link = &mut self.links[index as usize];
        if let Some(end) = link.start_service(self.now) {
            self.calendar.push(link.lane, end, Event::Sent { link: index });
        }
    }

    #[inline]
    fn sent(&mut self, index: u32) {
        if let Some(packet) = self.links[index as usize].finish_service() {
            self.forward(packet, self.now);
        }
        self.start_service(index);
    }

    /// From a link that has sent the packet, or will have at `sent`: on to the next link, or through the receiver and
    /// back as an ACK. Nothing happens on that way but delay.
    #[inline]
    fn forward(&mut self, mut packet: Packet, sent: Time) {
        let flow = &mut self.flows[packet.flow as usize];
        let route = &self.routes.routes[flow.route as usize];
        let onward = route.hops[packet.hop as usize].onward;
        packet.hop += 1;
        if (packet.hop as usize) < route.hops.len() {
            self.calendar.push(onward.lane, sent + onward.delay, packet.arrival());
            return;
        }
        let received = flow.egress(&packet, &self.groups[flow.group as usize], route, sent + onward.delay);
        let ack = flow.receiver.on_segment(packet.seq);
        if received <= self.warmup {
            flow.delivered_before = flow.receiver.in_order();
        } else if received <= self.end {
            self.group_meters[flow.group as usize].packet_delay.add(received.since(packet.sent_at));
        }
        if received <= self.end {
            flow.delivered = flow.receiver.in_order();
        }
        self.calendar.push(route.back.lane, received + route.back.delay, Event::Ack { flow: packet.flow, ack });
    }

    #[inline]
    fn acknowledge(&mut self, flow: u32, ack: Option<u32>) {
        self.at_sender(flow, |sender, now, tcp, net| sender.on_ack(ack, now, tcp, net));
    }

    fn tick(&mut self, link: u32, period: Span) {
        self.links[link as usize].tick(self.now);
        self.calendar.push(Lane::HEAP, self.now + period, Event::Tick { link, period });
    }

    /// Lets a sender act, then sees to its timer.
    #[inline]
    fn at_sender(&mut self, index: u32, act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut crate::flow::Access)) {
        let flow = &mut self.flows[index as usize];
        let group = flow.group as usize;
        let route = &self.routes.routes[flow.route as usize];
        let (sender, mut access) = flow.at_sender(index, &self.groups[group], route, self.now, &mut self.calendar);
        act(sender, self.now, &self.tcp[group], &mut access);
        self.arm(index);
    }

    /// A timer that moves on leaves its event where it is; the event finds out when it comes.
    #[inline]
    fn arm(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let deadline = flow.sender.deadline();
        if deadline < flow.timer_event {
            flow.timer_event = deadline;
            self.calendar.push(Lane::HEAP, deadline, Event::Timer { flow: index });
        }
    }

    fn timer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        if flow.timer_event != self.now {
            return; // an earlier event took its place
        }
        flow.timer_event = Time::NEVER;
        if flow.sender.deadline() > self.now {
            self.arm(index);
        } else {
            self.at_sender(index, |sender, now, tcp, net| sender.on_timer(now, tcp, net));
        }
    }

    fn sample(&mut self) {
        for (series, link) in self.series.iter_mut().zip(&mut self.links) {
            link.catch_up(self.now);
            let waiting = f64::from(link.queue.len());
            let shown = (0..).map(|i| link.queue.scheme().observe(i));
            let values = [self.now.seconds(), waiting].into_iter().chain(shown);
            for ((_, column), value) in series.columns.iter_mut().zip(values) {
                column.push(value);
            }
        }
        self.calendar.push(Lane::HEAP, self.now + self.scenario.sample, Event::Sample);
    }

    fn restart_meters(&mut self) {
        for link in &mut self.links {
            link.restart_meters(self.now);
        }
        for flow in &self.flows {
            let meter = &mut self.group_meters[flow.group as usize];
            meter.retransmits_before += u64::from(flow.sender.retransmits());
            meter.timeouts_before += u64::from(flow.sender.timeouts());
        }
    }
}
