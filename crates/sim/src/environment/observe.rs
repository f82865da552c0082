//! Quantities of a link that an agent may observe.

use crate::Simulation;
use aqmlab_core::Span;
use aqmlab_core::problem::unknown;

/// Scaling of a reading x to an observation in [-1, 1].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ObservationScale {
    /// x/(|x| + reference): 1/2 at the reference, which is said in words.
    Reference(&'static str),
    /// √x, of a ratio.
    Root,
}

/// A quantity that an agent may observe.
#[derive(Clone, Copy, Debug)]
pub struct Gauge {
    /// Name.
    pub name: &'static str,
    /// Unit of its readings.
    pub unit: &'static str,
    /// Description.
    pub doc: &'static str,
    /// Scaling to an observation.
    pub scale: ObservationScale,
    /// It may be below zero.
    pub is_signed: bool,
}

const fn gauge_of(name: &'static str, unit: &'static str, scale: ObservationScale, doc: &'static str) -> Gauge {
    Gauge { name, unit, doc, scale, is_signed: false }
}

const fn signed(gauge: Gauge) -> Gauge {
    Gauge { is_signed: true, ..gauge }
}

const TARGET: ObservationScale = ObservationScale::Reference("the link's target");
const TARGET_DELAY: ObservationScale = ObservationScale::Reference("the time to send the target");
const CAPACITY: ObservationScale = ObservationScale::Reference("the capacity");

/// Every quantity that an agent may observe. "In the interval" is since the action before.
pub const GAUGES: [Gauge; 15] = [
    gauge_of("queue", "packets", TARGET, "packets waiting now"),
    signed(gauge_of("error", "packets", TARGET, "packets waiting minus the link's target")),
    signed(gauge_of(
        "trend",
        "packets",
        ObservationScale::Reference("a tenth of the target"),
        "change of the queue in the interval",
    )),
    gauge_of("backlog", "s", TARGET_DELAY, "time to send the queue, with packets of mean size"),
    gauge_of(
        "sojourn",
        "s",
        TARGET_DELAY,
        "mean sojourn time of the packets taken into service in the interval; without one, as before",
    ),
    gauge_of(
        "sojourn_max",
        "s",
        TARGET_DELAY,
        "maximum sojourn time of the packets taken into service in the interval; without one, as before",
    ),
    gauge_of("arrival_rate", "packets/s", CAPACITY, "packets offered in the interval"),
    gauge_of("departure_rate", "packets/s", CAPACITY, "packets taken into service in the interval"),
    gauge_of(
        "drop_ratio",
        "ratio",
        ObservationScale::Root,
        "share of the packets offered in the interval that were dropped",
    ),
    gauge_of(
        "mark_ratio",
        "ratio",
        ObservationScale::Root,
        "share of the packets offered in the interval that were marked",
    ),
    gauge_of("utilisation", "ratio", ObservationScale::Root, "utilisation of the link in the interval"),
    gauge_of("p", "ratio", ObservationScale::Root, "the scheme's drop or mark probability now"),
    gauge_of(
        "flows",
        "flows",
        ObservationScale::Reference("100 flows"),
        "flows, sources and clients present now, which a real queue cannot observe",
    ),
    gauge_of(
        "capacity",
        "packets/s",
        ObservationScale::Reference("1000 packets/s"),
        "rate of the link now, in packets of mean size",
    ),
    gauge_of("target", "packets", ObservationScale::Reference("100 packets"), "the link's target"),
];

/// Place of the gauge of that name.
///
/// # Errors
/// If there is none; the message names the nearest.
pub fn gauge(name: &str) -> Result<usize, String> {
    let names = GAUGES.map(|gauge| gauge.name);
    names.iter().position(|known| *known == name).ok_or_else(|| unknown("observation", name, &names))
}

/// Observer of a link, with the readings that carry over to the next look.
#[derive(Clone, Debug)]
pub(super) struct LinkObserver {
    /// Place of p among what the scheme shows.
    p: Option<usize>,
    queue: f64,
    sojourn: f64,
    sojourn_max: f64,
}

/// Values of the gauges, and the same scaled to [-1, 1].
pub(super) struct Readings {
    pub values: [f64; GAUGES.len()],
    pub scaled: [f64; GAUGES.len()],
}

impl LinkObserver {
    pub fn new(simulation: &Simulation, link: usize) -> Self {
        let p = aqmlab_aqm::entry(&simulation.schemes()[link].name).ok().and_then(|entry| entry.observable("p"));
        Self { p, queue: 0.0, sojourn: 0.0, sojourn_max: 0.0 }
    }

    pub fn read(&mut self, simulation: &mut Simulation, link: usize, every: Span) -> Readings {
        let probe = simulation.probe_link(link);
        let (rate, spec) = (simulation.rate(link), simulation.link(link));
        let (target, capacity) = (spec.target, rate.0 / (8.0 * spec.packet));
        let (queue, arrived) = (f64::from(probe.queue), probe.arrived as f64);
        let trend = queue - self.queue;
        let of_arrived = |count: u64| if arrived > 0.0 { count as f64 / arrived } else { 0.0 };
        self.queue = queue;
        self.sojourn = probe.queue_delay_mean.unwrap_or(self.sojourn);
        self.sojourn_max = probe.queue_delay_max.unwrap_or(self.sojourn_max);
        let p = self.p.map_or(0.0, |i| probe.observables[i].1);
        let values = [
            queue,
            queue - target,
            trend,
            queue / capacity,
            self.sojourn,
            self.sojourn_max,
            arrived / every.seconds(),
            probe.departed as f64 / every.seconds(),
            of_arrived(probe.dropped),
            of_arrived(probe.marked),
            probe.utilisation,
            p,
            simulation.present() as f64,
            capacity,
            target,
        ];
        let delay = target / capacity;
        let references = [
            target,
            target,
            target / 10.0,
            delay,
            delay,
            delay,
            capacity,
            capacity,
            0.0,
            0.0,
            0.0,
            0.0,
            100.0,
            1000.0,
            100.0,
        ];
        let mut scaled = [0.0; GAUGES.len()];
        for (i, gauge) in GAUGES.iter().enumerate() {
            scaled[i] = match gauge.scale {
                ObservationScale::Reference(_) => between(values[i], references[i]),
                ObservationScale::Root => values[i].clamp(0.0, 1.0).sqrt(),
            };
        }
        Readings { values, scaled }
    }
}

/// x/(|x| + reference), and 0 of nothing.
fn between(x: f64, reference: f64) -> f64 {
    if x == 0.0 { 0.0 } else { x / (x.abs() + reference) }
}
