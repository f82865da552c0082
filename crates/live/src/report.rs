//! The result of a live run: the document of a simulation, with what can be known of real traffic.

use crate::calls::{CallReport, Calls};
use crate::flows::FlowCounts;
use crate::forward::Forwarder;
use crate::message::DeviceCounts;
use crate::setup::LiveOptions;
use aqmlab_aqm::Discipline;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::SchemeAssignment;
use aqmlab_sim::{DurationStats, LineSpec, PathTimes, Series, Stage, jain, qoo};
use serde_json::{Map, Value, json};
use std::fs;

/// A run is valid if half of its packets were written at most so late...
pub const LATE_P50: f64 = 0.1e-3;
/// ...and 99 % at most so late, and no packet was lost in a device.
pub const LATE_P99: f64 = 1e-3;

/// One direction when all is over.
pub struct Side<'a> {
    pub(crate) line: &'a LineSpec,
    pub(crate) forwarder: Forwarder,
    /// The kernel's counts at the device whose packets were read.
    pub(crate) sender: Option<DeviceCounts>,
    /// At the other.
    pub(crate) receiver: Option<DeviceCounts>,
}

/// The result of a live run.
#[derive(Debug)]
pub struct Report {
    /// The command's.
    pub code: i32,
    /// The document.
    pub json: Value,
    /// Time series of the links.
    pub series: Vec<Series>,
    /// The counts of each flow, by direction.
    pub flows: Vec<(&'static str, FlowCounts)>,
    /// Warnings for the user.
    pub warnings: Vec<String>,
}

impl Report {
    /// All of it: what a program that has no Python writes down.
    pub fn to_json(&self) -> Value {
        let series = self.series.iter().map(|of_link| {
            let columns = of_link.columns.iter().map(|(name, values)| (name.clone(), json!(values)));
            (of_link.link.clone(), columns.collect::<Map<_, _>>().into())
        });
        json!({
            "document": self.json, "code": self.code, "warnings": self.warnings,
            "series": series.collect::<Map<String, Value>>(),
            "flows": self.flows.iter().map(|(direction, flow)| flow.row(direction)).collect::<Vec<_>>(),
        })
    }

    pub(crate) fn new(
        options: &LiveOptions,
        up: Side,
        down: Side,
        code: i32,
        warnings: Vec<String>,
        is_urgent: bool,
        end: Time,
    ) -> Self {
        let scenario = &options.scenario;
        let sides = [("up", &up), ("down", &down)];
        let measured = || sides.iter().filter(|(_, side)| side.line.is_measured);
        let links: Map<String, Value> =
            measured().map(|(_, side)| (side.line.link.name.clone(), side.link(options, end))).collect();
        let span = end.since(Time::ZERO + scenario.warmup).seconds();
        let mut streams: Vec<Value> = Vec::new();
        let flows: Map<String, Value> = sides
            .iter()
            .zip([&down, &up])
            .map(|((name, side), other)| {
                let way = PathTemplate { there: &side.forwarder.transit, back: Back::Empty(other.line.delay) };
                let transit = &side.forwarder.transit;
                let mut measured = group(side.flows(), transit, &PathTimes::alike(transit, 0.0), way, span);
                let calls = CallReport::new(side.calls(), other.calls(), name, end);
                streams.extend(calls.streams);
                if let Some(media) = calls.all {
                    measured["media"] = json!(media);
                }
                (name.to_string(), measured)
            })
            .collect();
        let times = PathTimes::union(&[&up, &down].map(|side| PathTimes::alike(&side.forwarder.transit, 0.0)));
        let mut transit = up.forwarder.transit.clone();
        transit.merge(&down.forwarder.transit);
        let way = PathTemplate { there: &up.forwarder.transit, back: Back::Measured(&down.forwarder.transit) };
        let all: Vec<&FlowCounts> = sides.iter().flat_map(|(_, side)| side.flows()).collect();
        let mut why: Vec<String> = sides.iter().flat_map(|(name, side)| side.faults(name)).collect();
        if span == 0.0 {
            why.push(format!(
                "the command ended within the warm-up of {} s; run it for longer, or give --set warmup=0s",
                scenario.warmup.seconds()
            ));
        }
        let mut lateness = up.forwarder.lateness.clone();
        lateness.merge(&down.forwarder.lateness);
        let first = &scenario.links[0];
        let aqm = options.aqm.as_ref().map_or_else(|| first.aqm.to_string(), SchemeAssignment::to_string);
        let json = json!({
            "schema": 1, "scenario": scenario.name, "aqm": aqm, "seed": options.seed,
            "links": links, "flows": flows, "total": group(all.into_iter(), &transit, &times, way, span),
            "live": {
                "duration": span, "code": code,
                "lateness_p50": lateness.quantile(0.5), "lateness_p99": lateness.quantile(0.99),
                "valid": why.is_empty(), "why": why, "realtime": is_urgent,
                "up": up.devices(), "down": down.devices(), "streams": streams, "engine": engine(options),
            },
        });
        let series = at_common_times(measured().map(|(_, side)| side.series(options)).collect());
        let flows = sides.iter().flat_map(|(name, side)| side.flows().map(|flow| (*name, flow.clone()))).collect();
        Self { code, json, series, flows, warnings }
    }
}

/// The kernel that carried the packets between programs and devices, and its clock.
fn engine(options: &LiveOptions) -> Value {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    json!({
        "name": "linux", "version": release.trim(), "clock": if options.is_virtual { "virtual" } else { "real" },
    })
}

/// The two directions do not end at one instant: a sample that only one of them has taken is left out.
fn at_common_times(mut series: Vec<Series>) -> Vec<Series> {
    let samples = series.iter().flat_map(|of_link| &of_link.columns).map(|(_, values)| values.len()).min();
    for (_, values) in series.iter_mut().flat_map(|of_link| &mut of_link.columns) {
        values.truncate(samples.unwrap_or(0));
    }
    series
}

impl Side<'_> {
    fn link(&self, options: &LiveOptions, end: Time) -> Value {
        let spec = &self.line.link;
        let stage = Stage { from: Span::ZERO, target: spec.target, tolerance: 0.1 * spec.buffer_packets };
        let choice = options.scenario.scheme_of(spec, options.aqm.as_ref());
        json!(self.forwarder.direction.link.result(&[stage], &[(Span::ZERO, choice.clone())], end))
    }

    /// Those that have sent anything since the warm-up.
    fn flows(&self) -> impl Iterator<Item = &FlowCounts> {
        self.forwarder.flows.all().iter().filter(|flow| flow.arrived > 0)
    }

    fn calls(&self) -> (&Calls, &[FlowCounts]) {
        (&self.forwarder.calls, self.forwarder.flows.all())
    }

    /// The reasons why its numbers cannot be trusted.
    fn faults(&self, name: &str) -> Vec<String> {
        let lateness = &self.forwarder.lateness;
        let late = [(0.5, LATE_P50, "half of the packets were"), (0.99, LATE_P99, "1 % of the packets were")];
        let late = late.into_iter().filter_map(|(share, limit, what)| {
            let found = lateness.quantile(share).filter(|found| *found > limit)?;
            Some(format!("{name}: {what} more than {:.2} ms late (limit {} ms)", found * 1e3, limit * 1e3))
        });
        let overrun = self.sender.map_or(0, |counts| counts.overrun);
        let overrun =
            (overrun > 0).then(|| format!("{name}: {overrun} packets were lost because they were not read in time"));
        late.chain(overrun).collect()
    }

    /// Packets read and written, beside what the kernel says of them.
    fn devices(&self) -> Value {
        let (counts, lateness) = (&self.forwarder.counts, &self.forwarder.lateness);
        json!({
            "link": self.line.link.name, "delay": self.line.delay.seconds(),
            "lateness_p50": lateness.quantile(0.5), "lateness_p99": lateness.quantile(0.99),
            "lateness_max": lateness.quantile(1.0),
            "processor": self.forwarder.processor.seconds(),
            "read": counts.read, "written": counts.written, "refused": counts.refused,
            "unreadable": counts.unreadable, "multicast": counts.multicast,
            "waiting": self.forwarder.direction.link.queue.len(), "flying": self.forwarder.direction.flying(),
            "stored": self.forwarder.store.in_use(),
            "kernel_sent": self.sender.map(|kernel| kernel.sent), "overrun": self.sender.map(|kernel| kernel.overrun),
            "kernel_received": self.receiver.map(|kernel| kernel.received),
        })
    }

    fn series(&self, options: &LiveOptions) -> Series {
        let direction = &self.forwarder.direction;
        let choice = options.scenario.scheme_of(&self.line.link, options.aqm.as_ref());
        let shown = aqmlab_aqm::entry(&choice.name).map_or(&[][..], |entry| entry.observables);
        let names = ["time", "queue", "utilisation"].into_iter().chain(shown.iter().map(|shown| shown.name));
        let columns =
            names.enumerate().map(|(i, name)| (name.to_string(), direction.series.iter().map(|row| row[i]).collect()));
        Series { link: self.line.link.name.clone(), columns: columns.collect() }
    }
}

/// The way back of a round trip.
enum Back<'a> {
    /// Propagation: no queue.
    Empty(Span),
    /// The delays of the packets there.
    Measured(&'a DurationStats),
}

/// Both ways of a round trip.
struct PathTemplate<'a> {
    there: &'a DurationStats,
    back: Back<'a>,
}

impl PathTemplate<'_> {
    /// Time of a round trip, of both ways that which `of` tells of their delays.
    fn time(&self, of: impl Fn(&DurationStats) -> Option<f64>) -> Option<f64> {
        let back = match self.back {
            Back::Empty(delay) => Some(delay.seconds()),
            Back::Measured(delays) => of(delays),
        };
        Some(of(self.there)? + back?)
    }

    fn rpm(&self) -> Option<f64> {
        self.time(|delays| PathTimes::alike(delays, 0.0).trimmed_round_trip()).and_then(qoo::rpm)
    }

    fn qoo(&self, profile: &qoo::QooProfile, loss_ratio: f64) -> Option<f64> {
        Some(profile.score(self.time(|delays| delays.quantile(profile.percentile))?, loss_ratio))
    }
}

/// The measures of a group of flows, by the names of a simulation. What only their endpoints know is null.
fn group<'a>(
    flows: impl Iterator<Item = &'a FlowCounts>,
    transit: &DurationStats,
    times: &PathTimes,
    way: PathTemplate,
    span: f64,
) -> Value {
    let flows: Vec<&FlowCounts> = flows.collect();
    let rate = |flow: &&FlowCounts| if span > 0.0 { flow.payload as f64 * 8.0 / span } else { 0.0 };
    let mut rates: Vec<f64> = flows.iter().map(rate).collect();
    rates.sort_by(f64::total_cmp);
    // A connection that starves for some seconds is among them, one that only controls others is not.
    let most = flows.iter().map(|flow| flow.payload).max().unwrap_or(0);
    let lasts = |flow: &FlowCounts| {
        let is_active = f64::from(flow.active) >= (0.5 * span.floor()).max(1.0);
        is_active && flow.payload * 100 >= most && flow.tuple.may_transfer()
    };
    let lasting = flows.iter().filter(|flow| lasts(flow));
    let sum = |count: fn(&FlowCounts) -> u64| flows.iter().map(|flow| count(flow)).sum::<u64>();
    let (arrived, received) = (sum(|flow| flow.arrived), sum(|flow| flow.received));
    let loss_ratio = arrived.saturating_sub(received) as f64 / arrived.max(1) as f64;
    let mut measured = json!({
        "count": flows.len(), "goodput": rates.iter().fold(0.0, |sum, rate| sum + rate),
        "goodput_min": rates.first(), "goodput_p50": rates.get(rates.len() / 2), "goodput_max": rates.last(),
        "lasting": lasting.clone().count(), "jain": jain(lasting.map(rate)),
        "received": received, "marked": sum(|flow| flow.marked),
        "retransmits": sum(|flow| flow.resent),
        "packet_delay_mean": transit.mean(), "packet_delay_std": transit.std(),
        "packet_delay_p50": transit.quantile(0.5), "packet_delay_p95": transit.quantile(0.95),
        "packet_delay_p99": transit.quantile(0.99), "packet_delay_p999": transit.quantile(0.999),
        "packet_delay_variation_p99": times.variation(0.99),
        "rpm": way.rpm(), "timeouts": null, "ecn_reductions": null,
    });
    for (name, profile) in qoo::PROFILES {
        measured[name] = json!(way.qoo(profile, loss_ratio));
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many packets of each delay.
    fn delays(of: &[(u64, u64)]) -> DurationStats {
        let mut delays = DurationStats::default();
        of.iter().for_each(|(packets, ms)| (0..*packets).for_each(|_| delays.add(Span::from_millis(*ms))));
        delays
    }

    #[test]
    fn what_users_feel_by_hand() {
        // 30 ms up, one packet in twenty a second; 20 ms down: 50 ms, 1200 a minute. Up alone, 10 ms back: 40 ms, 1500.
        let (up, down) = (delays(&[(95, 30), (5, 1000)]), delays(&[(100, 20)]));
        let both = PathTemplate { there: &up, back: Back::Measured(&down) };
        let alone = PathTemplate { there: &up, back: Back::Empty(Span::from_millis(10)) };
        for (way, rpm) in [(&both, 1200.0), (&alone, 1500.0)] {
            assert!((way.rpm().unwrap() / rpm - 1.0).abs() < 0.002);
        }
        // At 90 % 50 ms are perfect for browsing, but half of the least loss that makes it of no use, beyond what is perfect: 50.
        assert!((both.qoo(&qoo::WEB, 0.0).unwrap() - 100.0).abs() < 0.2);
        assert!((both.qoo(&qoo::WEB, 0.0075).unwrap() - 50.0).abs() < 1e-9);
        let nothing = DurationStats::default();
        assert_eq!(PathTemplate { there: &nothing, back: Back::Measured(&down) }.rpm(), None);
    }

    #[test]
    fn series_of_two_directions_have_the_same_times() {
        let series = |link: &str, times: &[f64]| Series {
            link: link.into(),
            columns: vec![("time".into(), times.to_vec()), ("queue".into(), vec![1.0; times.len()])],
        };
        let found = at_common_times(vec![series("up", &[0.0, 0.1, 0.2]), series("down", &[0.0, 0.1])]);
        for of_link in found {
            assert_eq!(of_link.columns, [("time".into(), vec![0.0, 0.1]), ("queue".into(), vec![1.0, 1.0])]);
        }
        assert_eq!(at_common_times(Vec::new()).len(), 0);
    }
}
