//! The measures of all flows at the end of a run, whatever did it.

use super::call::CallResult;
use super::group::{FlowResult, FlowShare, GroupFacts, GroupMeter, SenderCounters};
use super::media::MediaResult;
use super::round_trips::PathTimes;
use crate::traffic::client::Client;
use crate::traffic::video::{PlaybackStats, VideoResult};
use aqmlab_core::Time;
use aqmlab_scenario::Scenario;

/// A group of flows at the end of a run.
pub struct GroupOutcome<'a> {
    /// Of each member.
    pub shares: Vec<FlowShare>,
    /// Of its packets and transfers.
    pub meter: &'a GroupMeter,
    /// Of its senders since the warm-up.
    pub counters: SenderCounters,
    /// Of its media, if it is that.
    pub media: Option<MediaResult>,
}

/// The measures of each group by its name, in the order of the scenario, and of all flows together; `clients` with the group of each.
pub fn flow_results(
    scenario: &Scenario,
    groups: &[GroupOutcome],
    clients: &[(usize, &Client)],
    now: Time,
) -> (Vec<(String, FlowResult)>, FlowResult) {
    let mut all = GroupMeter::default();
    groups.iter().for_each(|group| all.merge(group.meter));
    let counters = groups.iter().fold(SenderCounters::default(), |sum, group| sum.plus(group.counters));
    let times: Vec<PathTimes> =
        groups.iter().map(|group| group.meter.path_times(&group.shares.iter().collect::<Vec<_>>())).collect();
    let of_all: Vec<&FlowShare> = groups.iter().flat_map(|group| &group.shares).collect();
    let results = scenario.flows.iter().zip(groups).enumerate().map(|(index, (spec, group))| {
        let call = spec.traffic.is_udp().then(|| CallResult::new(group.meter.sent, &group.meter.packet_delay));
        let facts = GroupFacts::new(&group.shares.iter().collect::<Vec<_>>(), group.meter, group.counters);
        (spec.name.clone(), FlowResult::of(&facts.with(call, video(index, clients, now), group.media.clone())))
    });
    (results.collect(), FlowResult::of(&GroupFacts::of_all(&of_all, &all, counters, &times)))
}

/// Video result of a group's viewers, if it has any.
fn video(group: usize, clients: &[(usize, &Client)], now: Time) -> Option<VideoResult> {
    let clients = clients.iter().filter(|(of, _)| *of == group);
    let mut stats = clients.filter_map(|(_, client)| client.player()).map(|player| player.stats_at(now)).peekable();
    stats.peek()?;
    Some(VideoResult::of(&stats.fold(PlaybackStats::default(), PlaybackStats::plus)))
}
