//! What a run yields: metrics as JSON, time series as columns.

use crate::measure::trace::Trace;
use serde::Serialize;
use std::collections::BTreeMap;

/// Metrics of a run: SI units (s, bit/s) or packets.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// Version of this format.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Scheme, as it was named.
    pub aqm: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// By name, in the order of the scenario.
    #[serde(serialize_with = "in_order")]
    pub links: Vec<(String, LinkResult)>,
    /// By name, in the order of the scenario.
    #[serde(serialize_with = "in_order")]
    pub flows: Vec<(String, FlowResult)>,
    /// All flows of all groups together.
    pub total: FlowResult,
    /// About the run itself.
    pub engine: Engine,
}

/// What happened at a link after the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct LinkResult {
    /// Share of the time in which the transmitter was busy; on a trace, of the bytes that its opportunities could carry.
    pub utilisation: f64,
    /// dropped / arrived.
    pub drop_ratio: f64,
    /// marked / arrived.
    pub mark_ratio: f64,
    /// Packets waiting: time-weighted mean.
    pub queue_mean: f64,
    /// Packets waiting: time-weighted standard deviation.
    pub queue_std: f64,
    /// Packets waiting: not exceeded for 95 % of the time.
    pub queue_p95: u32,
    /// Sojourn time: mean, s.
    pub queue_delay_mean: Option<f64>,
    /// Sojourn time: standard deviation, s.
    pub queue_delay_std: Option<f64>,
    /// Sojourn time: 99th percentile, s, to 0.1 %.
    pub queue_delay_p99: Option<f64>,
    /// From when on the queue stays near its target, s; until the first scripted change.
    pub settling_time: Option<f64>,
    /// For each scripted change, the start of the run included: when it is, s, and how long the queue takes to settle.
    pub settling: Vec<(f64, Option<f64>)>,
    /// From when on the queue, averaged over 5 s, stays near its target, s; until the first scripted change.
    pub transient: Option<f64>,
    /// Packets waiting: mean from the end of the transient to the first scripted change.
    pub queue_mean_settled: Option<f64>,
    /// Packets waiting: root mean square of the difference from the target, as a share of it.
    pub queue_error: Option<f64>,
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
    /// Dropped packets by reason.
    pub drops: BTreeMap<&'static str, u64>,
}

/// What a group of flows got after the warm-up.
#[derive(Clone, Debug, Serialize)]
pub struct FlowResult {
    /// Flows in the group: connections, sources, sessions or hosts.
    pub count: u32,
    /// Payload received (over TCP: in order), bit/s over all flows.
    pub goodput: f64,
    /// The same of one flow: least, median and greatest.
    pub goodput_min: Option<f64>,
    /// Median.
    pub goodput_p50: Option<f64>,
    /// Greatest.
    pub goodput_max: Option<f64>,
    /// Jain's fairness index of the goodput of flows active all the time.
    pub jain: Option<f64>,
    /// Packets received, whatever their order, ACKs not counted.
    pub received: u64,
    /// Those of them with a congestion mark.
    pub marked: u64,
    /// Source to destination of one transmission: mean, s.
    pub packet_delay_mean: Option<f64>,
    /// Standard deviation, s.
    pub packet_delay_std: Option<f64>,
    /// Percentiles, s, to 0.1 %.
    pub packet_delay_p50: Option<f64>,
    /// 95th percentile.
    pub packet_delay_p95: Option<f64>,
    /// 99th percentile.
    pub packet_delay_p99: Option<f64>,
    /// 99.9th percentile.
    pub packet_delay_p999: Option<f64>,
    /// 99th percentile less the least packet delay, s (packet delay variation, RFC 5481, section 4.2).
    pub packet_delay_variation_p99: Option<f64>,
    /// Power: goodput over mean packet delay, bit/s^2.
    pub power: Option<f64>,
    /// Segments sent again.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Windows reduced for a congestion mark.
    pub ecn_reductions: u64,
    /// Transfers completed.
    pub transfers: u64,
    /// Connections given up because no SYN was answered.
    pub failed: u64,
    /// Flow completion time, from the request of a transfer to its last ACK: mean, s.
    pub fct_mean: Option<f64>,
    /// Percentiles, s, to 0.1 %.
    pub fct_p50: Option<f64>,
    /// 95th percentile.
    pub fct_p95: Option<f64>,
    /// 99th percentile.
    pub fct_p99: Option<f64>,
    /// What became of datagrams; only groups that send them have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<CallResult>,
    /// What the viewers of adaptive video have seen; only groups of that kind have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub video: Option<VideoResult>,
}

/// About the run itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Engine {
    /// Events handled, those of recorded time series left out.
    pub events: u64,
    /// Wall time, s: the only field that differs between equal runs.
    pub wall: f64,
}

/// Time series of a link: columns of equal length.
#[derive(Clone, Debug)]
pub struct Series {
    /// Name of the link.
    pub link: String,
    /// Column name and values: `time` (s), `queue` (packets), `utilisation` (since the last point),
    /// then what the scheme shows.
    pub columns: Vec<(String, Vec<f64>)>,
}

/// Distribution of the sojourn time at a link, after the warm-up: columns of equal length.
#[derive(Clone, Debug)]
pub struct Delays {
    /// Name of the link.
    pub link: String,
    /// Sojourn time, s, ascending.
    pub queue_delay: Vec<f64>,
    /// Share of the packets sent that waited at most that long; straight lines join the points.
    pub share: Vec<f64>,
}

/// What each flow got, one row a flow: columns of equal length.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// Index of the group.
    pub group: Vec<f64>,
    /// Round-trip propagation, s.
    pub rtt: Vec<f64>,
    /// Payload received, bit/s.
    pub goodput: Vec<f64>,
}

/// The transfers that began after the warm-up and ended: columns of equal length.
#[derive(Clone, Debug, Default)]
pub struct TransferTable {
    /// Index of the group.
    pub group: Vec<f64>,
    /// When it was asked for, s.
    pub start: Vec<f64>,
    /// Segments of data.
    pub size: Vec<f64>,
    /// From its request to its last ACK, s.
    pub completion_time: Vec<f64>,
}

/// Metrics and, on request, time series and tables.
#[derive(Clone, Debug)]
pub struct Output {
    /// Metrics.
    pub result: RunResult,
    /// One for each link, if asked for.
    pub series: Vec<Series>,
    /// One for each link, if series are asked for.
    pub delays: Vec<Delays>,
    /// What each flow got, if series are asked for.
    pub flow_table: Option<FlowTable>,
    /// Each transfer, if series are asked for.
    pub transfer_table: Option<TransferTable>,
    /// What happened to each packet at the link that was to be traced.
    pub trace: Option<Trace>,
}

impl RunResult {
    /// The one text of this result: equal runs give equal bytes, `engine.wall` aside.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("plain numbers and text always serialise")
    }
}

/// What became of a group's datagrams after the warm-up, and what a G.711 call over them would be like.
#[derive(Clone, Debug, Serialize)]
pub struct CallResult {
    /// Datagrams sent.
    pub sent: u64,
    /// Share of them that was not received.
    pub loss_ratio: f64,
    /// Transmission rating factor (ITU-T G.107); `None` if no datagram was received.
    pub r_factor: Option<f64>,
    /// Its mean opinion score, 1 to 4.5.
    pub mos: Option<f64>,
}

/// What the viewers of a group have seen after the warm-up, all together.
#[derive(Clone, Debug, Serialize)]
pub struct VideoResult {
    /// Segments asked for after the warm-up and complete.
    pub segments: u64,
    /// Mean of their bitrates, bit/s.
    pub bitrate_mean: Option<f64>,
    /// Times the bitrate changed from one segment to the next.
    pub switches: u64,
    /// Times the playback buffer ran empty; the wait for the first segment is none.
    pub stalls: u64,
    /// How long it was empty, s.
    pub stall_time: f64,
}

fn in_order<S: serde::Serializer, T: Serialize>(items: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(items.iter().map(|(name, item)| (name, item)))
}

/// (sum x)^2 / (n sum x^2); `None` if nobody got anything.
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let (count, sum) = (shares.clone().count() as f64, shares.clone().sum::<f64>());
    let squares: f64 = shares.map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_by_hand() {
        assert_eq!(jain([1.0, 1.0, 1.0].into_iter()), Some(1.0));
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([3.0, 1.0].into_iter()), Some(0.8));
        assert_eq!(jain([0.0].into_iter()), None);
    }
}
