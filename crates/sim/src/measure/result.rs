//! Output of a run: metrics as JSON, time series as columns.

use super::flows::GroupOutcome;
use super::group::FlowResult;
use super::link::LinkResult;
use super::spread::LinkSpread;
use super::station::StationResult;
use super::trace::PacketTrace;
use serde::Serialize;

/// Metrics of a run: SI units (s, bit/s) or packets.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// Version of this format.
    pub schema: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// Scheme, as it was named, with the parameters it was given.
    pub aqm: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// By name, in the order of the scenario; on a tree those of a list of sites, and the lines of a plan, together.
    #[serde(serialize_with = "in_order")]
    pub links: Vec<(String, LinkResult)>,
    /// On a tree, how links differ that are alike: by list of sites or plan with the direction, and of the lines of each site.
    #[serde(serialize_with = "in_order", skip_serializing_if = "Vec::is_empty")]
    pub spreads: Vec<(String, LinkSpread)>,
    /// The stations of a Wi-Fi cell by name, those that are alike together.
    #[serde(serialize_with = "in_order", skip_serializing_if = "Vec::is_empty")]
    pub stations: Vec<(String, StationResult)>,
    /// By name, in the order of the scenario.
    #[serde(serialize_with = "in_order")]
    pub flows: Vec<(String, FlowResult)>,
    /// All flows of all groups together.
    pub total: FlowResult,
    /// About the run itself.
    pub engine: EngineStats,
}

/// About the run itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EngineStats {
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

/// Goodput and drops of each flow, one row a flow: columns of equal length.
#[derive(Clone, Debug, Default)]
pub struct FlowTable {
    /// Index of the group.
    pub group: Vec<f64>,
    /// Round-trip propagation, s.
    pub rtt: Vec<f64>,
    /// Payload received, bit/s.
    pub goodput: Vec<f64>,
    /// Packets dropped by the queues on its way; ACKs are not counted.
    pub dropped: Vec<f64>,
}

/// The transfers that began after the warm-up and ended: columns of equal length.
#[derive(Clone, Debug, Default)]
pub struct TransferTable {
    /// Index of the group.
    pub group: Vec<f64>,
    /// Time of its request, s.
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
    /// Goodput and drops of each flow, if series are asked for.
    pub flow_table: Option<FlowTable>,
    /// Each transfer, if series are asked for.
    pub transfer_table: Option<TransferTable>,
    /// Trace of the packets at the link that was to be traced.
    pub trace: Option<PacketTrace>,
}

impl FlowTable {
    /// Its columns by name.
    pub fn columns(&self) -> [(&'static str, &Vec<f64>); 4] {
        let Self { group, rtt, goodput, dropped } = self;
        [("group", group), ("rtt", rtt), ("goodput", goodput), ("dropped", dropped)]
    }

    /// Of each group.
    pub fn of(groups: &[GroupOutcome]) -> Self {
        let mut table = Self::default();
        let shares = groups.iter().map(|group| &group.shares).enumerate();
        for (group, share) in shares.flat_map(|(group, shares)| shares.iter().map(move |share| (group, share))) {
            table.group.push(group as f64);
            table.rtt.push(share.rtt.seconds());
            table.goodput.push(share.goodput);
            table.dropped.push(share.dropped as f64);
        }
        table
    }
}

impl TransferTable {
    /// Its columns by name.
    pub fn columns(&self) -> [(&'static str, &Vec<f64>); 4] {
        let Self { group, start, size, completion_time } = self;
        [("group", group), ("start", start), ("size", size), ("completion_time", completion_time)]
    }
}

impl Series {
    /// Its columns by name.
    pub fn columns(&self) -> Vec<(&str, &Vec<f64>)> {
        self.columns.iter().map(|(name, values)| (&**name, values)).collect()
    }
}

impl Delays {
    /// Its columns by name.
    pub fn columns(&self) -> [(&'static str, &Vec<f64>); 2] {
        [("queue_delay", &self.queue_delay), ("share", &self.share)]
    }
}

impl Output {
    /// All of it but the trace, in one line of JSON, for another program: `result`, `series` and `delays` by link, `flow_table`,
    /// `transfer_table`. Columns that were not asked for are not there.
    pub fn json(&self) -> String {
        let document = Document {
            result: &self.result,
            series: self.series.iter().map(|of| (of.link.clone(), Columns(of.columns()))).collect(),
            delays: self.delays.iter().map(|of| (of.link.clone(), Columns(of.columns().to_vec()))).collect(),
            flow_table: Columns(self.flow_table.iter().flat_map(FlowTable::columns).collect()),
            transfer_table: Columns(self.transfer_table.iter().flat_map(TransferTable::columns).collect()),
        };
        serde_json::to_string(&document).expect("plain numbers and text always serialise")
    }
}

impl RunResult {
    /// The one text of this result: equal runs give equal bytes, `engine.wall` aside.
    pub fn json(&self) -> String {
        serde_json::to_string(self).expect("plain numbers and text always serialise")
    }
}

/// An output as another program reads it.
#[derive(Serialize)]
struct Document<'a> {
    result: &'a RunResult,
    #[serde(serialize_with = "in_order")]
    series: Vec<(String, Columns<'a>)>,
    #[serde(serialize_with = "in_order")]
    delays: Vec<(String, Columns<'a>)>,
    flow_table: Columns<'a>,
    transfer_table: Columns<'a>,
}

/// Columns of equal length by name; what is no number is null.
struct Columns<'a>(Vec<(&'a str, &'a Vec<f64>)>);

impl Serialize for Columns<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().copied())
    }
}

fn in_order<S: serde::Serializer, T: Serialize>(items: &[(String, T)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(items.iter().map(|(name, item)| (name, item)))
}
