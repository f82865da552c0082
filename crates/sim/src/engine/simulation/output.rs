//! Results of a simulation that is over.

use super::Simulation;
use crate::engine::network::NetworkState;
use crate::engine::scheduler::Scheduler;
use crate::measure::durations::DurationStats;
use crate::measure::flows::{GroupOutcome, flow_results};
use crate::measure::group::{FlowShare, PhaseTable, SenderCounters};
use crate::measure::link::LinkResult;
use crate::measure::media::{MediaFacts, MediaResult, rms};
use crate::measure::result::{Delays, EngineStats, FlowTable, Output, RunResult};
use crate::measure::settling::Stage;
use crate::measure::spread::LinkSpread;
use crate::measure::station::{Air, StationResult};
use crate::measure::trace::{PacketTrace, TraceRecord};
use crate::net::flow::Flow;
use crate::net::link::Link;
use crate::traffic::instance::{FlowInstance, FlowInstanceKind};
use crate::traffic::media::MediaStream;
use crate::traffic::media::receiver::MediaStats;
use aqmlab_core::Span;
use aqmlab_scenario::{AlikeLinks, AqmChoice, SchemeAssignment};

impl Simulation {
    /// Output of the run.
    pub(super) fn output(mut self) -> Output {
        self.network.scheduler = Scheduler::default(); // what is still pending needs no memory any longer
        let options = self.options.clone();
        let first = &self.scenario.links[self.scenario.places()[0].1];
        let named = options.aqm.as_ref().map_or_else(|| first.aqm.to_string(), SchemeAssignment::to_string);
        let dropped = self.dropped();
        let groups: Vec<GroupOutcome> =
            (0..self.network.groups.len()).map(|group| self.outcome(group, &dropped)).collect();
        let clients = self.network.clients.iter();
        let clients: Vec<_> = clients.map(|client| (self.network.routes.group(client.peer.way), client)).collect();
        let (mut flows, total) = flow_results(&self.scenario, &groups, &clients, self.network.now);
        for (group, (_, result)) in flows.iter_mut().enumerate() {
            result.phases = self.scenario.flows[group].phases.then(|| self.phases(group));
        }
        let changes = self.scripted_changes();
        let flow_table = options.series.then(|| FlowTable::of(&groups));
        let result = RunResult {
            schema: 1,
            scenario: self.scenario.name.clone(),
            aqm: named,
            seed: options.seed,
            links: self.link_results(&changes),
            spreads: self.spreads(),
            stations: self.stations(),
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
            FlowInstanceKind::Flow(flow) => Some(flow),
            _ => None,
        });
        flows.map(|flow| self.network.phases.as_ref().map_or(Vec::new(), |phases| phases.of(flow))).collect()
    }

    fn outcome(&self, group: usize, dropped: &[u32]) -> GroupOutcome<'_> {
        let (meter, counters) = (&self.network.group_meters[group], self.measured(group));
        GroupOutcome { shares: self.shares(group, dropped), meter, counters, media: self.media(group) }
    }

    /// Frames of a group of calls, if it is one.
    fn media(&self, group: usize) -> Option<MediaResult> {
        let media = self.scenario.flows[group].traffic.media()?;
        let now = self.network.now;
        let streams = self.members[group].iter().filter_map(|member| match member.kind {
            FlowInstanceKind::Media(flow) => self.network.media.get(&flow),
            _ => None,
        });
        let streams: Vec<&MediaStream> = streams.collect();
        let mut stats = MediaStats::default();
        streams.iter().for_each(|stream| stats.merge(&stream.stats_at(now)));
        let rate_variation = rms(streams.iter().filter_map(|stream| stream.rate_variation(now)));
        let seconds = now.since(self.network.measured.start).seconds();
        let rates = media.rates.then(|| streams.iter().map(|stream| stream.rates()).collect());
        Some(MediaResult::of(&MediaFacts { stats, rate_variation, seconds, rates }))
    }

    fn trace(&mut self, link: usize) -> PacketTrace {
        let records = TraceRecord::of(self.network.links[link].queue.take_events());
        let group_of =
            self.network.flows.iter().map(|flow| self.network.routes.ways[flow.way as usize].group).collect();
        PacketTrace::new(&self.scenario, link, records, group_of)
    }

    fn delays(&self) -> Vec<Delays> {
        let of = |(name, link): (&str, usize)| {
            let links = self.alike(name).map_or(vec![&self.network.links[link]], |alike| self.links_of(&alike.links));
            let mut sojourn = DurationStats::default();
            links.into_iter().for_each(|link| sojourn.merge(&link.meter.sojourn));
            let (queue_delay, share) = sojourn.distribution();
            Delays { link: name.to_string(), queue_delay, share }
        };
        self.scenario.places().into_iter().map(of).collect()
    }

    /// What results have of links; those of a tree or a fabric that are alike are taken together.
    fn link_results(&self, changes: &[Span]) -> Vec<(String, LinkResult)> {
        let history = self.scenario.scheme_history(self.options.aqm.as_ref(), &self.applied);
        let result = |(name, link): (&str, usize)| match self.alike(name) {
            None => (name.to_string(), self.link_result(link, changes, &history[link])),
            Some(alike) => {
                let (links, stage) = (self.links_of(&alike.links), self.stage(link, Span::ZERO));
                (name.to_string(), Link::result_of_all(&links, stage, &history[link], self.network.now))
            }
        };
        self.scenario.places().into_iter().map(result).collect()
    }

    /// The links of a tree or a fabric that this name stands for.
    fn alike(&self, name: &str) -> Option<&AlikeLinks> {
        self.scenario.alike.iter().find(|alike| alike.name == name)
    }

    fn links_of(&self, indices: &[usize]) -> Vec<&Link> {
        indices.iter().map(|i| &self.network.links[*i]).collect()
    }

    /// Percentiles over links that are alike, and over the lines of each site of a tree.
    fn spreads(&self) -> Vec<(String, LinkSpread)> {
        let lists = self.scenario.alike.iter().map(|alike| (&alike.name, &alike.links));
        let all = lists
            .chain(self.scenario.tree.iter().flat_map(|tree| &tree.sites).map(|(name, links)| (name, links)))
            .filter(|(_, links)| links.len() > 1);
        all.map(|(name, links)| (name.clone(), LinkSpread::of(&self.links_of(links), self.network.now))).collect()
    }

    /// What the stations of a cell have of the air.
    fn stations(&self) -> Vec<(String, StationResult)> {
        let (Some(cell), Some(wifi)) = (&self.network.cell, &self.scenario.wifi) else { return Vec::new() };
        let (meters, time) = cell.air(self.network.now);
        let all = meters.iter().fold(Span::ZERO, |sum, meter| sum + meter.airtime);
        let mut first = 0;
        let lists = wifi.lists().map(|list| {
            let of = &meters[first..first + list.len()];
            first += list.len();
            (list[0].list.clone(), StationResult::of(&Air::new(of, all, time)))
        });
        lists.collect()
    }

    fn link_result(&self, index: usize, changes: &[Span], schemes: &[(Span, AqmChoice)]) -> LinkResult {
        let stages: Vec<Stage> = changes.iter().map(|from| self.stage(index, *from)).collect();
        self.network.links[index].result(&stages, schemes, self.network.now)
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

    /// Share of each member of a group, of clients over all their connections; `dropped`: packets of each flow.
    fn shares(&self, group: usize, dropped: &[u32]) -> Vec<FlowShare> {
        let dropped_of = |flow: u32| dropped.get(flow as usize).map_or(0, |count| u64::from(*count));
        let spec = &self.scenario.flows[group];
        let seconds = self.network.now.since(self.network.measured.start).seconds();
        let bits = 8.0 * f64::from(spec.payload) / seconds;
        let mut of_client = vec![(0.0, 0); if spec.traffic.has_clients() { self.network.clients.len() } else { 0 }];
        if spec.traffic.has_clients() {
            let is_of_group = |(_, flow): &(u32, &Flow)| self.network.routes.group(flow.way) == group;
            for (index, flow) in (0u32..).zip(&self.network.flows).filter(is_of_group) {
                let Some(connection) = self.network.connections.get(flow.connection as usize) else { continue };
                let (goodput, dropped) = &mut of_client[connection.client as usize];
                *goodput += bits * f64::from(flow.receiver.delivered);
                *dropped += dropped_of(index);
            }
        }
        let share = |member: &FlowInstance| {
            let index = match member.kind {
                FlowInstanceKind::Flow(flow) | FlowInstanceKind::Foreign(flow) | FlowInstanceKind::Media(flow) => flow,
                FlowInstanceKind::Source(source) => self.network.sources[source as usize].flow,
                FlowInstanceKind::Client(client) => {
                    let rtt = self.network.clients[client as usize].peer.rtt;
                    let (goodput, dropped) = of_client[client as usize];
                    return FlowShare { goodput, always_active: false, is_long: false, dropped, rtt };
                }
            };
            let flow = &self.network.flows[index as usize];
            let always_active = member.start <= self.network.measured.start && member.stop >= self.network.measured.end;
            let goodput = match member.kind {
                FlowInstanceKind::Media(flow) => {
                    let bytes =
                        self.network.media.get(&flow).map_or(0, |stream| stream.stats_at(self.network.now).bytes);
                    8.0 * bytes as f64 / seconds
                }
                FlowInstanceKind::Foreign(flow) => 8.0 * self.foreign_bytes(flow) as f64 / seconds,
                _ => bits * f64::from(flow.receiver.delivered),
            };
            let dropped = dropped_of(index);
            FlowShare { goodput, always_active, is_long: spec.traffic.is_long(), dropped, rtt: flow.route().rtt }
        };
        self.members[group].iter().map(share).collect()
    }

    /// Data packets of each flow that the queues have dropped.
    fn dropped(&self) -> Vec<u32> {
        let mut dropped = vec![0; self.network.flows.len()];
        for losses in self.network.links.iter().filter_map(|link| link.losses.as_ref()) {
            losses.dropped().for_each(|(flow, count)| dropped[flow as usize] += count);
        }
        dropped
    }

    /// Sum of a group's sender counters since the warm-up.
    fn measured(&self, group: usize) -> SenderCounters {
        let (of, meter) = (&self.network.groups[group], &self.network.group_meters[group]);
        let mut counters = meter.ended;
        let flows =
            self.network.flows.iter().filter(|flow| self.network.routes.group(flow.way) == group && flow.counts(of));
        flows.for_each(|flow| counters.add(&flow.sender));
        counters.since(meter.before)
    }
}
