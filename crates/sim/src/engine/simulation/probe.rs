//! The state of a simulation as seen from outside, up to the present and no further.

use super::Simulation;
use crate::engine::network::NetworkState;
use crate::measure::link::LinkUsage;
use crate::net::link::Offered;
use crate::traffic::instance::FlowInstanceKind;
use aqmlab_aqm::{Discipline, Observable};
use aqmlab_core::{Rate, Time};
use aqmlab_scenario::{AqmChoice, LinkSpec, Scenario};

/// Counts since the last probe, or since the start, and the present state. SI units (s, bit/s), or packets.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// The present, s.
    pub now: f64,
    /// Time since the last probe, s.
    pub span: f64,
    /// In the order of the scenario.
    pub links: Vec<LinkProbe>,
    /// In the order of the scenario.
    pub flows: Vec<GroupProbe>,
}

/// A link since the last probe.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkProbe {
    /// Packets offered.
    pub arrived: u64,
    /// Packets taken into service.
    pub departed: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets sent and lost on the wire.
    pub lost: u64,
    /// Bytes of the packets taken into service.
    pub bytes: u64,
    /// Packets that wait now, without the one in transmission.
    pub queue: u32,
    /// Mean sojourn time of the packets taken into service, s; `None` if there were none.
    pub queue_delay_mean: Option<f64>,
    /// The longest of them, s.
    pub queue_delay_max: Option<f64>,
    /// Share of what the link could have carried that it has.
    pub utilisation: f64,
    /// Observables of the scheme now, by name.
    pub observables: Vec<(&'static str, f64)>,
}

/// A group of flows since the last probe.
#[derive(Clone, Debug, PartialEq)]
pub struct GroupProbe {
    /// Packets received, whatever their order.
    pub received: u64,
    /// Received packets with a congestion mark.
    pub marked: u64,
    /// Payload received (over TCP: in order), bit/s over all flows.
    pub goodput: f64,
    /// Mean delay of the packets received, source to destination, s; `None` if there were none.
    pub packet_delay_mean: Option<f64>,
    /// The longest of them, s.
    pub packet_delay_max: Option<f64>,
    /// Transfers completed.
    pub transfers: u64,
}

/// The sender of a flow, now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlowState {
    /// Congestion window, segments.
    pub cwnd: f64,
    /// Smoothed round-trip time, s; `None` before the first sample.
    pub srtt: Option<f64>,
    /// Segments sent again so far.
    pub retransmits: u32,
    /// Retransmission timeouts so far.
    pub timeouts: u32,
}

/// The state of a flow's congestion control, now.
#[derive(Clone, Debug, PartialEq)]
pub struct LawState {
    /// Segments in the network, as far as the sender knows.
    pub in_flight: u32,
    /// Pace of its law, segments/s, of a law that has one.
    pub pacing_rate: Option<f64>,
    /// Its phase ([`aqmlab_tcp::Sender::phase`]).
    pub phase: &'static str,
    /// Variables of its law, of a law that shows some.
    pub variables: Vec<(&'static str, f64)>,
}

/// State at the last probe.
#[derive(Clone, Debug)]
pub(super) struct ProbeBaseline {
    at: Time,
    links: Vec<LinkBaseline>,
    /// Transfers of each group.
    transfers: Vec<u64>,
}

/// A link at the last probe.
#[derive(Clone, Debug, Default)]
struct LinkBaseline {
    offered: Offered,
    usage: LinkUsage,
}

impl ProbeBaseline {
    pub fn new(scenario: &Scenario) -> Self {
        Self {
            at: Time::ZERO,
            links: vec![LinkBaseline::default(); scenario.links.len()],
            transfers: vec![0; scenario.flows.len()],
        }
    }
}

impl Simulation {
    /// Counts since the last probe, and the present state. Probing changes no result.
    pub fn probe(&mut self) -> Probe {
        let links = (0..self.network.links.len()).map(|link| self.probe_link(link)).collect();
        let span = self.span_of_probe();
        let flows = (0..self.network.groups.len()).map(|group| self.probe_group(group, span)).collect();
        Probe { now: self.network.now.seconds(), span, links, flows }
    }

    /// Other simulations run between the steps of this one: it finds its flows out of the caches.
    pub fn take_turns(&mut self) {
        self.network.is_cold = true;
    }

    /// Only links will be probed from now on; nobody will ask what flows have received.
    pub fn stop_probing_flows(&mut self) {
        self.network.group_meters.iter_mut().for_each(|meter| meter.receipts = None);
    }

    /// One link alone, as [`probe`](Self::probe) shows it.
    pub fn probe_link(&mut self, index: usize) -> LinkProbe {
        let probe = self.probe_queue(index);
        let (queue, shown) = (&self.network.links[index].queue, self.shown[index]);
        let observables = shown.iter().enumerate().map(|(i, shown)| (shown.name, queue.observe(i))).collect();
        LinkProbe { observables, ..probe }
    }

    /// The same without what the scheme shows.
    pub(super) fn probe_queue(&mut self, index: usize) -> LinkProbe {
        let (link, baseline) = (&mut self.network.links[index], &mut self.baseline.links[index]);
        link.catch_up(self.network.now);
        let offered = link.offered();
        let before = std::mem::replace(&mut baseline.offered, offered);
        let service = link.meter.take_service_stats();
        let sojourn = service.sojourn();
        LinkProbe {
            arrived: offered.arrived - before.arrived,
            departed: service.packets,
            dropped: offered.dropped - before.dropped,
            marked: offered.marked - before.marked,
            lost: link.impairment.as_mut().map_or(0, |wire| wire.take_lost(self.network.now)),
            bytes: service.bytes,
            queue: link.queue.len(),
            queue_delay_mean: sojourn.map(|(mean, _)| mean),
            queue_delay_max: sojourn.map(|(_, max)| max),
            utilisation: link.utilisation_since(&mut baseline.usage, self.network.now),
            observables: Vec::new(),
        }
    }

    /// Time since the probe before, s; the next span begins now.
    pub(super) fn span_of_probe(&mut self) -> f64 {
        self.network.now.since(std::mem::replace(&mut self.baseline.at, self.network.now)).seconds()
    }

    pub(super) fn probe_group(&mut self, group: usize, span: f64) -> GroupProbe {
        let (meter, spec) = (&mut self.network.group_meters[group], &self.scenario.flows[group]);
        let received = meter.receipts.as_mut().map(|receipts| receipts.take(self.network.now)).unwrap_or_default();
        let bits = 8.0 * f64::from(spec.payload) * received.delivered as f64;
        let (completed, delay) = (meter.ever_completed, received.delay());
        GroupProbe {
            received: received.packets,
            marked: received.marked,
            goodput: if span > 0.0 { bits / span } else { 0.0 },
            packet_delay_mean: delay.map(|(mean, _)| mean),
            packet_delay_max: delay.map(|(_, max)| max),
            transfers: completed - std::mem::replace(&mut self.baseline.transfers[group], completed),
        }
    }

    /// Packets that wait at a link now, ACKs included, by the group of their flow.
    pub fn content(&mut self, link: usize) -> Vec<u32> {
        let NetworkState { groups, links, flows, routes, now, .. } = &mut self.network;
        let (mut content, link) = (vec![0; groups.len()], &mut links[link]);
        link.catch_up(*now);
        link.for_each_flow(|flow| content[routes.group(flows[flow as usize].way)] += 1);
        content
    }

    /// Rate of a link now.
    pub fn rate(&self, link: usize) -> Rate {
        self.network.links[link].rate()
    }

    /// A link as it is now.
    pub fn link(&self, link: usize) -> &LinkSpec {
        &self.network.specs[link]
    }

    /// Flows, sources and clients that have started and have not been stopped.
    pub fn present(&self) -> usize {
        self.members
            .iter()
            .flatten()
            .filter(|member| member.start <= self.network.now && self.network.now < member.stop)
            .count()
    }

    /// The sender of the `i`-th flow of a group; `None` if there is no such flow, or it belongs to a client or is UDP.
    pub fn flow_state(&self, group: usize, i: usize) -> Option<FlowState> {
        let FlowInstanceKind::Flow(flow) = self.members.get(group)?.get(i)?.kind else { return None };
        let sender = &self.network.flows[flow as usize].sender;
        Some(FlowState {
            cwnd: sender.cwnd(),
            srtt: sender.srtt().map(|srtt| srtt.seconds()),
            retransmits: sender.retransmits(),
            timeouts: sender.timeouts(),
        })
    }

    /// The state of the same flow's congestion control.
    pub fn law_state(&self, group: usize, i: usize) -> Option<LawState> {
        let FlowInstanceKind::Flow(flow) = self.members.get(group)?.get(i)?.kind else { return None };
        let sender = &self.network.flows[flow as usize].sender;
        Some(LawState {
            in_flight: sender.in_network(),
            pacing_rate: sender.pacing_rate(),
            phase: sender.phase(),
            variables: sender.law_variables(),
        })
    }
}

/// The observables of a scheme.
pub(crate) fn observables(scheme: &AqmChoice) -> &'static [Observable] {
    aqmlab_aqm::entry(&scheme.name).map(|entry| entry.observables).unwrap_or_default()
}
