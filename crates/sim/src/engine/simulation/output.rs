//! Results of a simulation that is over.

use super::Simulation;
use crate::engine::agenda::Agenda;
use crate::engine::network::NetworkState;
use crate::measure::flows::{GroupOutcome, flow_results};
use crate::measure::group::{FlowShare, PhaseTable, SenderCounters};
use crate::measure::link::LinkResult;
use crate::measure::result::{Delays, EngineStats, FlowTable, Output, RunResult};
use crate::measure::settling::Stage;
use crate::measure::trace::{PacketTrace, TraceRecord};
use crate::net::link::Link;
use crate::traffic::member::{Member, MemberKind};
use aqmlab_core::Span;
use aqmlab_scenario::{LinkSpec, SchemeAssignment};

impl Simulation {
    /// Output of the run.
    pub(super) fn output(mut self) -> Output {
        self.network.agenda = Agenda::default(); // what is still pending needs no memory any longer
        let options = self.options.clone();
        let named =
            options.aqm.as_ref().map_or_else(|| self.scenario.links[0].aqm.to_string(), SchemeAssignment::to_string);
        let groups: Vec<GroupOutcome> = (0..self.network.groups.len()).map(|group| self.outcome(group)).collect();
        let (mut flows, total) = flow_results(&self.scenario, &groups, &self.network.clients, self.network.now);
        for (group, (_, result)) in flows.iter_mut().enumerate() {
            result.phases = self.scenario.flows[group].phases.then(|| self.phases(group));
        }
        let flow_table = options.series.then(|| FlowTable::of(&groups));
        let result = RunResult {
            schema: 1,
            scenario: self.scenario.name.clone(),
            aqm: named,
            seed: options.seed,
            links: (0..self.network.links.len())
                .map(|i| (self.scenario.links[i].name.clone(), self.link_result(i)))
                .collect(),
            flows,
            total,
            engine: EngineStats { events: self.network.events, wall: 0.0 },
        };
        let delays = if options.series { self.delays() } else { Vec::new() };
        let trace = options.trace.map(|link| self.trace(link));
        let NetworkState { series, transfer_table, .. } = self.network;
        let series = series.into_iter().map(|link| link.series).collect();
        Output { result, delays, flow_table, series, transfer_table, trace }
    }

    /// The phases of each flow of a group.
    fn phases(&self, group: usize) -> PhaseTable {
        let flows = self.members[group].iter().filter_map(|member| match member.kind {
            MemberKind::Flow(flow) => Some(flow),
            _ => None,
        });
        flows.map(|flow| self.network.phases.as_ref().map_or(Vec::new(), |phases| phases.of(flow))).collect()
    }

    fn outcome(&self, group: usize) -> GroupOutcome<'_> {
        let (meter, counters) = (&self.network.group_meters[group], self.measured(group));
        GroupOutcome { shares: self.shares(group), meter, counters }
    }

    fn trace(&mut self, link: usize) -> PacketTrace {
        let records = TraceRecord::of(self.network.links[link].queue.take_events());
        let group_of = self.network.flows.iter().map(|flow| flow.group).collect();
        PacketTrace::new(&self.scenario, link, records, group_of)
    }

    fn delays(&self) -> Vec<Delays> {
        let of = |(spec, link): (&LinkSpec, &Link)| {
            let (queue_delay, share) = link.meter.sojourn.distribution();
            Delays { link: spec.name.clone(), queue_delay, share }
        };
        self.scenario.links.iter().zip(&self.network.links).map(of).collect()
    }

    fn link_result(&self, index: usize) -> LinkResult {
        let stages: Vec<Stage> = self.scripted_changes().into_iter().map(|from| self.stage(index, from)).collect();
        self.network.links[index].result(&stages, self.network.now)
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
        let seconds = self.network.now.since(self.network.measured.start).seconds();
        let bits = 8.0 * f64::from(spec.payload) / seconds;
        let mut of_client = vec![(0.0, 0); if spec.traffic.has_clients() { self.network.clients.len() } else { 0 }];
        if spec.traffic.has_clients() {
            for (index, flow) in (0u32..).zip(&self.network.flows).filter(|(_, flow)| flow.group as usize == group) {
                let (goodput, dropped) =
                    &mut of_client[self.network.connections[flow.connection as usize].client as usize];
                *goodput += bits * f64::from(flow.receiver.delivered);
                *dropped += self.dropped(index);
            }
        }
        let share = |member: &Member| {
            let index = match member.kind {
                MemberKind::Flow(flow) | MemberKind::Foreign(flow) => flow,
                MemberKind::Source(source) => self.network.sources[source as usize].flow,
                MemberKind::Client(client) => {
                    let rtt = self.network.clients[client as usize].peer.rtt;
                    let (goodput, dropped) = of_client[client as usize];
                    return FlowShare { goodput, always_active: false, dropped, rtt };
                }
            };
            let flow = &self.network.flows[index as usize];
            let always_active = member.start <= self.network.measured.start && member.stop >= self.network.measured.end;
            let goodput = match member.kind {
                MemberKind::Foreign(flow) => 8.0 * self.foreign_bytes(flow) as f64 / seconds,
                _ => bits * f64::from(flow.receiver.delivered),
            };
            let dropped = self.dropped(index);
            FlowShare { goodput, always_active, dropped, rtt: flow.rtt }
        };
        self.members[group].iter().map(share).collect()
    }

    /// Data packets of a flow that the queues have dropped.
    fn dropped(&self, flow: u32) -> u64 {
        self.network.links.iter().filter_map(|link| link.losses.as_ref()).map(|losses| losses.dropped(flow)).sum()
    }

    /// Sum of a group's sender counters since the warm-up.
    fn measured(&self, group: usize) -> SenderCounters {
        let (of, meter) = (&self.network.groups[group], &self.network.group_meters[group]);
        let mut counters = meter.ended;
        let flows = self.network.flows.iter().filter(|flow| flow.group as usize == group && flow.counts(of));
        flows.for_each(|flow| counters.add(&flow.sender));
        counters.since(meter.before)
    }
}
