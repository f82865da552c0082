//! What a world has measured when its run is over.

use super::{RunOptions, World};
use crate::flow::Flow;
use crate::result::{Engine, FlowResult, LinkResult, Output, RunResult, jain};

impl World<'_> {
    /// What the run yields.
    pub(super) fn output(self, options: RunOptions) -> Output {
        let named = options.aqm.unwrap_or(&self.scenario.links[0].aqm);
        let result = RunResult {
            schema: 1,
            scenario: self.scenario.name.clone(),
            aqm: named.name.clone(),
            seed: options.seed,
            links: (0..self.links.len()).map(|i| (self.scenario.links[i].name.clone(), self.link_result(i))).collect(),
            flows: (0..self.groups.len()).map(|i| (self.scenario.flows[i].name.clone(), self.flow_result(i))).collect(),
            engine: Engine { events: self.events, wall: 0.0 },
        };
        Output { result, series: self.series }
    }

    fn link_result(&self, index: usize) -> LinkResult {
        let (spec, link) = (&self.scenario.links[index], &self.links[index]);
        let (meter, accounts) = (&link.meter, link.queue.accounts());
        let (queue_mean, queue_std) = meter.queue_mean_and_std();
        let (queue_delay_mean, queue_delay_std, queue_delay_p99) = meter.sojourn();
        let per_arrival = |count: u64| if accounts.arrived > 0 { count as f64 / accounts.arrived as f64 } else { 0.0 };
        LinkResult {
            utilisation: meter.utilisation(self.now),
            drop_ratio: per_arrival(accounts.dropped),
            mark_ratio: per_arrival(accounts.marked),
            queue_mean,
            queue_std,
            queue_p95: meter.queue_quantile(0.95),
            queue_delay_mean,
            queue_delay_std,
            queue_delay_p99,
            settling_time: meter.settling_time(spec.target, 0.1 * spec.buffer_packets),
            arrived: accounts.arrived,
            departed: accounts.departed,
            dropped: accounts.dropped,
            marked: accounts.marked,
            drops: accounts.drops.iter().copied().collect(),
        }
    }

    fn flow_result(&self, group: usize) -> FlowResult {
        let (spec, meter) = (&self.scenario.flows[group], &self.group_meters[group]);
        let flows = || self.flows.iter().filter(|flow| flow.group as usize == group);
        let syn = u32::from(spec.tcp.syn);
        let segments = |flow: &Flow| f64::from(flow.delivered.max(syn) - flow.delivered_before.max(syn));
        let bits = 8.0 * f64::from(spec.payload) / self.now.since(self.warmup).seconds();
        let always_active = self.flows.iter().zip(&self.always_active);
        let always_active = always_active.filter(|(flow, active)| flow.group as usize == group && **active);
        FlowResult {
            count: spec.count(),
            goodput: bits * flows().map(segments).sum::<f64>(),
            jain: jain(always_active.map(|(flow, _)| segments(flow))),
            packet_delay_mean: meter.packet_delay.mean(),
            packet_delay_std: meter.packet_delay.std(),
            retransmits: flows().map(|f| u64::from(f.sender.retransmits())).sum::<u64>() - meter.retransmits_before,
            timeouts: flows().map(|f| u64::from(f.sender.timeouts())).sum::<u64>() - meter.timeouts_before,
        }
    }
}
