//! Measures of a link, each declared once.

use super::declared::{Field, Measure, PACKETS, measures};
use super::durations::DurationStats;
use super::settling::{BIN, Stage, settling, transient};
use aqmlab_aqm::{Accounts, Limit};
use aqmlab_core::{Quantity, Span, Time};
use aqmlab_scenario::AqmChoice;
use std::collections::BTreeMap;

measures! {
    /// A link after the warm-up. The packet in service does not wait.
    pub struct LinkResult from link: LinkFacts<'_> {
        /// The schemes of the link, each with the time from which it was there, in order.
        ///
        /// The first is there from `0 s` on. Each scripted change, or one by hand, that replaces the scheme or sets a parameter of it
        /// adds one. What a controller sets is not among them.
        schemes: Vec<(String, String)> = link.schemes.clone();
        /// Bits sent, headers included, over the bits that the link could have carried.
        ///
        /// At a constant rate that is the share of time in which the transmitter was busy. If the rate varies, a second
        /// at a high rate counts for more than one at a low rate. A packet in transmission keeps the rate at which it
        /// began. On a link that follows a trace: bytes sent over the bytes of the opportunities; waiting for an
        /// opportunity does not count as utilisation.
        utilisation: f64, "Utilisation" in SHARE, more = link.used.utilisation;
        /// Capacity: the mean rate at which the link could have sent.
        ///
        /// For a trace: its opportunities in the measurement period.
        capacity: f64, "Capacity" in RATE = link.used.capacity;
        /// Capacity left unused: the rate at which the link could have carried more.
        ///
        /// Bits that it could have sent at the current rate while it sent nothing, over time. On a link with a variable
        /// rate, each idle second counts with its rate. For a trace: unused opportunities. Time in which a shaper held
        /// packets back, and time that an [interruption](radio.md#keys) took, count as unused.
        capacity_unused: f64, "Unused" in RATE, less = link.used.unused;
        /// Packets dropped over packets that arrived.
        drop_ratio: f64, "Drop ratio" in SHARE, less = link.per_arrival(link.accounts.dropped);
        /// Packets marked over packets that arrived.
        mark_ratio: f64, "Mark ratio" in SHARE = link.per_arrival(link.accounts.marked);
        /// Time-weighted mean of the packets waiting.
        queue_mean: f64, "Queue mean" in QUEUE = link.queue.0;
        /// Time-weighted standard deviation of the packets waiting.
        queue_std: f64, "Queue std" in QUEUE = link.queue.1;
        /// 95 % of the time the queue is at most this long.
        queue_p95: u32, "Queue p95" in QUEUE = link.meter.queue_quantile(0.95);
        /// Mean time from arrival to start of service.
        ///
        /// The sojourn time of the packets taken into service.
        queue_delay_mean: Option<f64>, "Delay mean" in DELAY, less = link.meter.sojourn.mean();
        /// Standard deviation of the queueing delay.
        queue_delay_std: Option<f64>, "Delay std" in DELAY = link.meter.sojourn.std();
        /// 99 % of the packets wait at most this long.
        ///
        /// To 0.1 %.
        queue_delay_p99: Option<f64>, "Delay p99" in DELAY, less = link.meter.sojourn.quantile(0.99);
        /// Time from which the mean queue over 1 s stays within 10 % of the buffer around the target.
        ///
        /// Until the first scripted change, or the end of the run; null if it never does. The target is the link's,
        /// which a scenario sets (by default a third of the buffer), whether the scheme steers to it or not.
        settling_time: Option<f64>, "Settling" in TIME, less = link.settling[0];
        /// For the start and each scripted change: its time, and how long the queue takes to settle.
        ///
        /// A scripted change is a step of a rate schedule, or flows that start or stop together. Null if the queue does
        /// not settle before the next.
        settling: Vec<(f64, Option<f64>)> =
            link.stages.iter().map(|stage| stage.from.seconds()).zip(link.settling.iter().copied()).collect();
        /// Time from which the mean queue over 5 s stays within 10 % of the buffer around the target.
        ///
        /// As one reads it off a figure: over the next 5 s, until the first scripted change, or the end of the run;
        /// null if it never does. Claims of studies read it off the time series, with other bands.
        transient: Option<f64>, "Transient" in TIME, less = link.transient.map(|(time, _)| time);
        /// Mean of the packets waiting after the transient.
        ///
        /// Until the first scripted change, or the end of the run; null without a transient.
        queue_mean_settled: Option<f64>, "Settled mean" in QUEUE = link.transient.map(|(_, mean)| mean);
        /// Root mean square of the packets waiting minus the target, over the target.
        ///
        /// Transient, offset and oscillation in one number. Null if the target changes.
        queue_error: Option<f64>, "Queue error" in SHARE, less =
            link.steady_target().map(|target| hypotenuse(link.queue.1, link.queue.0 - target) / target);
        /// Packets offered to the queue.
        ///
        /// SYNs, retransmissions, and queueing ACKs are packets, too. Exact to the packet: arrived + waiting at the
        /// start = departed + dropped + waiting at the end.
        arrived: u64, "Arrived" in PACKETS = link.accounts.arrived;
        /// Packets taken into service.
        departed: u64, "Departed" in PACKETS = link.accounts.departed;
        /// Packets dropped.
        ///
        /// By the scheme, or because the buffer was full.
        dropped: u64, "Dropped" in PACKETS = link.accounts.dropped;
        /// Packets marked.
        marked: u64, "Marked" in PACKETS = link.accounts.marked;
        /// Packets that queue protection has sent to the classic queue.
        ///
        /// They belong in the low-latency queue of [`dualpi2`](schemes/dualpi2.md) or
        /// [`docsis-lld`](schemes/docsis-lld.md), but their flow builds a queue there (RFC 9957). 0 without queue
        /// protection.
        sanctioned: u64, "Sanctioned" in PACKETS = link.accounts.sanctioned;
        /// Packets sent and lost on the wire.
        ///
        /// By [impairments](impairments.md). They are counted in `departed` and not in drops.
        lost: u64, "Lost" in PACKETS = link.lost;
        /// Packets for which the link's policer had too few tokens, dropped or marked.
        ///
        /// By a [policer](impairments.md#a-policer). Dropped packets are also in `lost`; marked packets are in no other
        /// count of the link. 0 without a policer.
        policed: u64, "Policed" in PACKETS = link.policed;
        /// Share of the long flows that lose a packet in the same loss event, on average.
        ///
        /// A loss event begins with the drop of a packet of a long flow and lasts a round trip: the mean propagation of
        /// the long flows and the time that the packets then waiting take to be sent. Long flows are TCP flows with
        /// unlimited data that are active all the time. 1 is the global synchronisation of Floyd and Jacobson (1993);
        /// with n flows the minimum is 1/n. Defined in RFC 7928, section 2.4; null without such a drop, or with a
        /// single flow.
        loss_synchronisation: Option<f64>, "Loss synchronisation" in SHARE, less = link.synchronisation;
        /// Periodic updates of the scheme per second.
        ///
        /// Null if the scheme acts on packets only.
        update_rate: Option<f64>, "Updates" in FREQUENCY = link.meter.update_rate();
        /// Dropped packets by reason.
        ///
        /// A scheme may define more reasons; reasons without a drop are not listed.
        drops: BTreeMap<&'static str, u64> = link.accounts.drops.iter().map(|(why, packets)| (why.name(), *packets)).collect();
    }
}

/// The reasons of drops that schemes share, as fields of `drops`.
pub const SHARED_DROPS: [Field; 3] = [
    drops("overflow", "Overflow", "Packets dropped because the buffer was full."),
    drops("early", "Early drops", "Packets dropped by a random draw of the scheme."),
    drops("forced", "Forced drops", "Packets dropped because the scheme drops everything."),
];

const fn drops(name: &'static str, title: &'static str, doc: &'static str) -> Field {
    Field { name, kind: "u64", doc, measure: Some(Measure { title, unit: PACKETS, better: None }) }
}

/// Data that the measures of a link are computed from, at the end of a run.
pub struct LinkFacts<'a> {
    meter: &'a LinkMeter,
    accounts: &'a Accounts,
    used: CapacityUse,
    lost: u64,
    policed: u64,
    /// Share of the long flows that lose together.
    synchronisation: Option<f64>,
    /// Mean and standard deviation of the packets waiting.
    queue: (f64, f64),
    stages: &'a [Stage],
    /// Of each stage.
    settling: Vec<Option<f64>>,
    transient: Option<(f64, f64)>,
    /// Times and schemes.
    schemes: Vec<(String, String)>,
}

impl<'a> LinkFacts<'a> {
    /// `lost`: packets lost on the wire. The queue is judged in stages, the first from the start on.
    pub fn new(
        meter: &'a LinkMeter,
        accounts: &'a Accounts,
        used: CapacityUse,
        lost: u64,
        stages: &'a [Stage],
    ) -> Self {
        let means = meter.bin_means.as_deref().unwrap_or_default();
        Self {
            queue: meter.queue_mean_and_std(),
            settling: settling(means, stages),
            transient: transient(means, stages),
            meter,
            accounts,
            used,
            lost,
            policed: 0,
            synchronisation: None,
            stages,
            schemes: Vec::new(),
        }
    }

    /// With the schemes that the link has had, each with the time from which on.
    pub fn under(self, schemes: &[(Span, AqmChoice)]) -> Self {
        Self { schemes: schemes.iter().map(|(from, choice)| (from.text(), choice.to_string())).collect(), ..self }
    }

    /// With the share of the long flows that lose together, and the packets that did not conform to a policer.
    pub fn with(self, synchronisation: Option<f64>, policed: u64) -> Self {
        Self { synchronisation, policed, ..self }
    }

    fn per_arrival(&self, count: u64) -> f64 {
        if self.accounts.arrived > 0 { count as f64 / self.accounts.arrived as f64 } else { 0.0 }
    }

    /// The target, packets, if there is one that does not change.
    fn steady_target(&self) -> Option<f64> {
        let target = self.stages[0].target;
        (target > 0.0 && self.stages.iter().all(|stage| stage.target == target)).then_some(target)
    }
}

/// Statistics of the transmissions of a link since it was last probed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ServiceStats {
    /// Packets taken into service.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Sum of their sojourn times, ps.
    sojourn_sum: f64,
    /// The longest of them.
    sojourn_max: Span,
}

impl ServiceStats {
    #[inline]
    fn add(&mut self, sojourn: Span, bytes: u16) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.sojourn_sum += sojourn.0 as f64;
        self.sojourn_max = self.sojourn_max.max(sojourn);
    }

    /// Mean and greatest sojourn time, s; `None` if no packet was served.
    pub fn sojourn(&self) -> Option<(f64, f64)> {
        (self.packets > 0).then(|| (self.sojourn_sum / self.packets as f64 * 1e-12, self.sojourn_max.seconds()))
    }
}

/// Usage and capacity of a link since the beginning, in a unit of the link's own: ps or bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinkUsage {
    /// Amount carried.
    pub sent: u64,
    /// Amount that could have been carried.
    pub capacity: u64,
    /// The same in bits.
    pub bits: CapacityBits,
    /// Number of the rate at which it sends, of those that it has had; odd while a packet goes on at the one before.
    pub rate: u32,
}

/// Bits that a link could have carried, those that it has, and those that it could have while it sent nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapacityBits {
    /// At the rate of the moment.
    pub all: f64,
    /// Each packet at the rate at which it began.
    pub sent: f64,
    /// At the rate of the moment.
    pub unused: f64,
}

impl LinkUsage {
    /// Share of the bits that it could have carried since `mark` that it has; 0 where that was nothing. At one rate that is the
    /// share of its own unit, which is exact.
    pub fn share_since(self, mark: LinkUsage) -> f64 {
        if self.rate == mark.rate {
            return (self.sent - mark.sent) as f64 / (self.capacity - mark.capacity).max(1) as f64;
        }
        let (sent, all) = (self.bits.sent - mark.bits.sent, self.bits.all - mark.bits.all);
        if all > 0.0 { (sent / all).clamp(0.0, 1.0) } else { 0.0 } // a packet goes on at its rate where the link's has fallen
    }
}

/// A link's use of its capacity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CapacityUse {
    /// Share of it that was used.
    pub utilisation: f64,
    /// All of it, bit/s.
    pub capacity: f64,
    /// The part that was not used, bit/s.
    pub unused: f64,
}

impl CapacityUse {
    /// Of several links, of which there is one at least.
    pub fn mean(links: impl ExactSizeIterator<Item = Self>) -> Self {
        let count = links.len() as f64;
        links.fold(Self::default(), |sum, Self { utilisation, capacity, unused }| Self {
            utilisation: sum.utilisation + utilisation / count,
            capacity: sum.capacity + capacity / count,
            unused: sum.unused + unused / count,
        })
    }
}

/// Measures one link.
#[derive(Clone)]
pub struct LinkMeter {
    /// Packets waiting.
    pub queue: u32,
    changed_at: Time,
    /// Time spent with so many packets waiting, ps.
    time_at: Vec<u64>,
    busy: Span,
    busy_until: Time,
    /// Since the last probe; `None` if nobody will ask.
    pub service: Option<ServiceStats>,
    /// Time from arrival to start of service.
    pub sojourn: DurationStats,
    bin_end: Time,
    /// Packets times ps in the present bin.
    bin: u64,
    /// `None` if nobody will ask when the queue has settled.
    bin_means: Option<Vec<f64>>,
    /// Periodic updates of the scheme.
    pub updates: u64,
    /// Time from which metrics count.
    counts_from: Time,
}

impl LinkMeter {
    /// Of a link at rest whose queue holds so much.
    pub fn new(buffer: Limit) -> Self {
        let levels = match buffer {
            Limit::Packets(packets) => packets as usize + 1,
            Limit::Bytes(_) => 1,
        };
        Self {
            queue: 0,
            changed_at: Time::ZERO,
            time_at: vec![0; levels],
            busy: Span::ZERO,
            busy_until: Time::ZERO,
            service: Some(ServiceStats::default()),
            sojourn: DurationStats::default(),
            bin_end: Time::ZERO + BIN,
            bin: 0,
            bin_means: Some(Vec::new()),
            updates: 0,
            counts_from: Time::ZERO,
        }
    }

    /// `queue` packets wait from now on.
    #[inline]
    pub fn on_queue(&mut self, queue: u32, now: Time) {
        if queue == self.queue {
            return;
        }
        self.pass_time(now);
        self.queue = queue;
        if queue as usize >= self.time_at.len() {
            self.time_at.resize(queue as usize + 1, 0);
        }
    }

    /// A packet of `bytes` that waited `sojourn` goes into service until `end`.
    #[inline]
    pub fn on_service(&mut self, now: Time, sojourn: Span, end: Time, bytes: u16) {
        self.on_start(sojourn, bytes);
        self.occupy(now, end);
    }

    /// A packet of `bytes` that waited `sojourn` goes into service, perhaps with others.
    #[inline]
    pub fn on_start(&mut self, sojourn: Span, bytes: u16) {
        self.sojourn.add(sojourn);
        if let Some(service) = &mut self.service {
            service.add(sojourn, bytes);
        }
    }

    /// The transmitter is busy until `end`.
    #[inline]
    pub fn occupy(&mut self, now: Time, end: Time) {
        self.busy = self.busy + end.since(now);
        self.busy_until = end;
    }

    /// Keeps nothing that grows with time: nobody will ask when the queue has settled.
    pub fn forget_history(&mut self) {
        self.bin_means = None;
    }

    /// Metrics count from now; the settling time keeps its history.
    pub fn restart(&mut self, queue: u32, now: Time) {
        self.on_queue(queue, now);
        self.pass_time(now);
        self.time_at.fill(0);
        self.sojourn.reset();
        (self.updates, self.counts_from) = (0, now);
    }

    /// Takes in what was measured at another link; what has a place in time is forgotten.
    pub fn merge(&mut self, other: &LinkMeter) {
        self.bin_means = None;
        self.time_at.resize(self.time_at.len().max(other.time_at.len()), 0);
        self.time_at.iter_mut().zip(&other.time_at).for_each(|(time, more)| *time += more);
        self.sojourn.merge(&other.sojourn);
        self.updates += other.updates;
    }

    /// Accounts for the time up to now.
    #[inline]
    pub fn pass_time(&mut self, now: Time) {
        if now >= self.bin_end {
            self.close_bins(now);
        }
        self.add_time(now);
    }

    #[inline]
    fn add_time(&mut self, until: Time) {
        let span = until.0 - self.changed_at.0;
        self.time_at[self.queue as usize] += span;
        self.bin += u64::from(self.queue) * span;
        self.changed_at = until;
    }

    #[cold]
    fn close_bins(&mut self, now: Time) {
        while now >= self.bin_end {
            self.add_time(self.bin_end);
            let mean = self.bin as f64 / BIN.0 as f64;
            if let Some(means) = &mut self.bin_means {
                means.push(mean);
            }
            self.bin = 0;
            self.bin_end += BIN;
        }
    }

    /// Usage so far: the time for which the transmitter was busy, of all time, ps.
    pub fn usage(&self, now: Time) -> LinkUsage {
        let busy = self.busy.0 - self.busy_until.since(now).0;
        LinkUsage { sent: busy, capacity: now.0, ..LinkUsage::default() }
    }

    /// The end of the transmission that began last.
    pub fn busy_until(&self) -> Time {
        self.busy_until
    }

    /// Time for which metrics have counted.
    pub fn counted(&self, now: Time) -> Span {
        now.since(self.counts_from)
    }

    /// Updates of the scheme a second, up to the time accounted for; `None` if there are none.
    fn update_rate(&self) -> Option<f64> {
        (self.updates > 0).then(|| self.updates as f64 / self.changed_at.since(self.counts_from).seconds())
    }

    /// Transmissions since the last call.
    pub fn take_service_stats(&mut self) -> ServiceStats {
        self.service.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Time-weighted mean and standard deviation of the packets waiting.
    pub fn queue_mean_and_std(&self) -> (f64, f64) {
        let total: f64 = self.time_at.iter().map(|t| *t as f64).sum();
        let moment = |power| {
            self.time_at.iter().enumerate().map(|(n, t)| (n as f64).powi(power) * *t as f64).sum::<f64>() / total
        };
        let mean = moment(1);
        (mean, (moment(2) - mean * mean).max(0.0).sqrt())
    }

    /// The least queue that is not exceeded for `share` of the time.
    pub fn queue_quantile(&self, share: f64) -> u32 {
        let total: u64 = self.time_at.iter().sum();
        let mut below = 0;
        let level = self.time_at.iter().position(|t| {
            below += t;
            below as f64 >= share * total as f64
        });
        level.unwrap_or(0) as u32
    }
}

/// Root of the sum of two squares, by fused operations and one correction (Borges, 2019, algorithm 10): the same bytes on every
/// machine, where `f64::hypot` is what the system's library says.
fn hypotenuse(a: f64, b: f64) -> f64 {
    let (long, short) = (a.abs().max(b.abs()), a.abs().min(b.abs()));
    if long == 0.0 {
        return 0.0;
    }
    let root = long.mul_add(long, short * short).sqrt();
    let (of_root, of_long) = (root * root, long * long);
    let left = (-short).mul_add(short, of_root - of_long) + root.mul_add(root, -of_root) - long.mul_add(long, -of_long);
    root - left / (2.0 * root)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hypotenuse_is_that_of_whole_triangles_and_next_to_the_roots() {
        let sides = [(3.0, 4.0, 5.0), (-12.0, 5.0, 13.0), (0.0, -7.0, 7.0), (0.0, 0.0, 0.0), (20.0, -99.0, 101.0)];
        sides.iter().for_each(|(a, b, c)| assert_eq!(hypotenuse(*a, *b), *c, "{a}, {b}"));
        assert!((hypotenuse(1.0, 1.0) - 2f64.sqrt()).abs() <= f64::EPSILON);
    }

    fn s(seconds: f64) -> Time {
        Time::ZERO + Span::from_seconds(seconds)
    }

    #[test]
    fn queue_statistics_are_weighted_by_time() {
        let mut meter = LinkMeter::new(Limit::Packets(10));
        meter.on_queue(4, s(1.0));
        meter.on_queue(10, s(3.0));
        meter.pass_time(s(4.0));
        // 0 for 1 s, 4 for 2 s, 10 for 1 s: mean 18/4; second moment (2*16 + 100)/4 = 33.
        assert_eq!(meter.queue_mean_and_std(), (4.5, (33.0f64 - 20.25).sqrt()));
        assert_eq!((meter.queue_quantile(0.5), meter.queue_quantile(0.95)), (4, 10));
    }

    #[test]
    fn what_is_sent_later_is_not_carried_yet() {
        let mut meter = LinkMeter::new(Limit::Packets(10));
        meter.on_service(s(1.0), Span::ZERO, s(2.0), 1000);
        meter.on_service(s(3.0), Span::ZERO, s(5.0), 1000);
        let [at_4, at_45, at_6, at_7] = [4.0, 4.5, 6.0, 7.0].map(|time| meter.usage(s(time)));
        let carried = [LinkUsage::default(), at_4, at_45, at_6, at_7];
        let shares: Vec<f64> = carried.windows(2).map(|pair| pair[1].share_since(pair[0])).collect();
        assert_eq!(shares, [0.5, 1.0, 1.0 / 3.0, 0.0]);
        assert_eq!(at_7.share_since(at_7), 0.0);
    }
}
