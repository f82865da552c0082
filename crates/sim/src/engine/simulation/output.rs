//! Results of a simulation that is over.

use super::Simulation;
use crate::calendar::Calendar;
use crate::measure::flows::{GroupOutcome, flow_results};
use crate::measure::group::{FlowShare, SenderCounters};
use crate::measure::link::LinkResult;
use crate::measure::result::{Delays, EngineStats, FlowTable, Output, RunResult};
use crate::measure::settling::Stage;
use crate::measure::trace::{PacketTrace, TraceRecord};
use crate::net::flow::Flow;
use crate::net::link::Link;
use crate::traffic::member::{Member, MemberKind};
use aqmlab_core::Span;
use aqmlab_scenario::{LinkSpec, SchemeAssignment};

impl Simulation {
    /// Output of the run.
    pub(super) fn output(mut self) -> Output {
        self.calendar = Calendar::default(); // what is still pending needs no memory any longer
        let options = self.options.clone();
        let named =
            options.aqm.as_ref().map_or_else(|| self.scenario.links[0].aqm.to_string(), SchemeAssignment::to_string);
        let groups: Vec<GroupOutcome> = (0..self.groups.len()).map(|group| self.outcome(group)).collect();
        let (flows, total) = flow_results(&self.scenario, &groups, &self.clients, self.now);
        let flow_table = options.series.then(|| FlowTable::of(&groups));
        // Looks for the time series are no part of the simulation: a result is the same with them and without.
        let looks = self.series.first().map_or(0, |series| series.columns[0].1.len() as u64);
        let result = RunResult {
            schema: 1,
            scenario: self.scenario.name.clone(),
            aqm: named,
            seed: options.seed,
            links: (0..self.links.len()).map(|i| (self.scenario.links[i].name.clone(), self.link_result(i))).collect(),
            flows,
            total,
            engine: EngineStats { events: self.events - looks, wall: 0.0 },
        };
        let delays = if options.series { self.delays() } else { Vec::new() };
        let trace = options.trace.map(|link| self.trace(link));
        Output { result, delays, flow_table, series: self.series, transfer_table: self.transfer_table, trace }
    }

    fn outcome(&self, group: usize) -> GroupOutcome<'_> {
        let (meter, counters) = (&self.group_meters[group], self.measured(group));
        GroupOutcome { shares: self.shares(group), meter, counters }
    }

    fn trace(&mut self, link: usize) -> PacketTrace {
        let records = TraceRecord::of(self.links[link].queue.take_events());
        let group_of = self.flows.iter().map(|flow| flow.group).collect();
        PacketTrace::new(&self.scenario, link, records, group_of)
    }

    fn delays(&self) -> Vec<Delays> {
        let of = |(spec, link): (&LinkSpec, &Link)| {
            let (queue_delay, share) = link.meter.sojourn.distribution();
            Delays { link: spec.name.clone(), queue_delay, share }
        };
        self.scenario.links.iter().zip(&self.links).map(of).collect()
    }

    fn link_result(&self, index: usize) -> LinkResult {
        let stages: Vec<Stage> = self.scripted_changes().into_iter().map(|from| self.stage(index, from)).collect();
        self.links[index].result(&stages, self.now)
    }

    /// Times at which the load or a link changed, as scripted or by hand, in order.
    fn scripted_changes(&self) -> Vec<Span> {
        let mut times = self.scenario.scripted_changes();
        times.extend(self.applied.iter().map(|change| change.at).filter(|at| *at < self.scenario.duration));
        times.sort();
        times.dedup();
        times
    }

    /// Target and tolerance of a link's queue from a time on.
    fn stage(&self, link: usize, from: Span) -> Stage {
        let goal = self.goals[link].iter().rfind(|goal| goal.from <= from).unwrap_or(&self.goals[link][0]);
        Stage { from, target: goal.target, tolerance: 0.1 * goal.buffer }
    }

    /// Share of each member of a group; of clients over all their connections.
    fn shares(&self, group: usize) -> Vec<FlowShare> {
        let spec = &self.scenario.flows[group];
        let bits = 8.0 * f64::from(spec.payload) / self.now.since(self.warmup).seconds();
        let mut of_client = vec![(0.0, 0); if spec.traffic.has_clients() { self.clients.len() } else { 0 }];
        if spec.traffic.has_clients() {
            for (index, flow) in (0u32..).zip(&self.flows).filter(|(_, flow)| flow.group as usize == group) {
                let (goodput, dropped) = &mut of_client[self.connections[flow.connection as usize].client as usize];
                *goodput += bits * f64::from(flow.receiver.delivered);
                *dropped += self.dropped(index);
            }
        }
        let share = |member: &Member| {
            let index = match member.kind {
                MemberKind::Flow(flow) => flow,
                MemberKind::Source(source) => self.sources[source as usize].flow,
                MemberKind::Client(client) => {
                    let rtt = self.clients[client as usize].peer.rtt;
                    let (goodput, dropped) = of_client[client as usize];
                    return FlowShare { goodput, always_active: false, dropped, rtt };
                }
            };
            let flow = &self.flows[index as usize];
            let always_active = member.start <= self.warmup && member.stop >= self.end;
            let (goodput, dropped) = (bits * f64::from(flow.receiver.delivered), self.dropped(index));
            FlowShare { goodput, always_active, dropped, rtt: flow.rtt }
        };
        self.members[group].iter().map(share).collect()
    }

    /// Data packets of a flow that the queues have dropped.
    fn dropped(&self, flow: u32) -> u64 {
        self.links.iter().filter_map(|link| link.losses.as_ref()).map(|losses| losses.dropped(flow)).sum()
    }

    /// Sum of a group's sender counters so far.
    pub(super) fn counters(&self, group: usize) -> SenderCounters {
        let mut counters = self.group_meters[group].ended;
        let of_group = self.flows.iter().filter(|flow| flow.group as usize == group);
        // A finished transfer was counted when it ended, unless its sender goes on.
        let goes_on = self.groups[group].keeps_connection;
        of_group
            .filter(|flow| goes_on || flow.connection == Flow::NO_CONNECTION || !flow.sender.is_done())
            .for_each(|f| counters.add(&f.sender));
        counters
    }

    /// Sum of a group's sender counters since the warm-up.
    fn measured(&self, group: usize) -> SenderCounters {
        self.counters(group).since(self.group_meters[group].before)
    }
}
