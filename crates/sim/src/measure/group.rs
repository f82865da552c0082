//! Measures of a group of flows, each declared once.

use super::call::CallResult;
use super::declared::measures;
use super::durations::DurationStats;
use super::media::MediaResult;
use super::qoo;
use super::round_trips::{OwnPropagation, PathTimes, RoundTrips};
use super::slowdown::{SlowdownResult, Slowdowns};
use crate::engine::phases::PhaseEntry;
use crate::traffic::video::VideoResult;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{Distribution, FlowSpec};
use aqmlab_tcp::Sender;

measures! {
    /// A group of flows after the warm-up, or all of them.
    pub struct FlowResult from group: GroupFacts<'_> {
        /// Connections, sources, sessions or hosts.
        count: u32, "Flows" in COUNT = group.goodputs.len() as u32;
        /// Payload received by all flows.
        ///
        /// Over TCP: in order.
        goodput: f64, "Goodput" in RATE, more = group.goodput;
        /// Minimum payload of one flow.
        ///
        /// A flow is a connection, a source, a session or a host.
        goodput_min: Option<f64>, "Goodput min" in RATE, more = group.goodputs.first().copied();
        /// Half of the flows receive at most this payload.
        goodput_p50: Option<f64>, "Goodput median" in RATE, more = median(&group.goodputs);
        /// Maximum payload of one flow.
        goodput_max: Option<f64>, "Goodput max" in RATE = group.goodputs.last().copied();
        /// Fairness of the flows' goodput, by Jain's index.
        ///
        /// Computed over flows active for the whole measurement period. For all groups together only long transfers
        /// count: TCP or QUIC with unlimited data. Datagrams and application-limited flows do not compete for a share.
        /// Null if there are none.
        jain: Option<f64>, "Jain" in INDEX, more = group.jain;
        /// Packets received, retransmissions included.
        ///
        /// In any order; ACKs are not counted.
        received: u64, "Received" in PACKETS = group.meter.packet_delay.count();
        /// Packets received with a congestion mark.
        marked: u64, "Marked" in PACKETS = group.meter.marked;
        /// Packets dropped by the queues on their path.
        ///
        /// For any reason; ACKs are not counted.
        dropped: u64, "Dropped" in PACKETS, less = group.dropped;
        /// Packets dropped over packets dropped or received.
        ///
        /// Packets in flight when the warm-up ends compensate for packets in flight at the end. Losses on the wire are
        /// left out.
        drop_ratio: f64, "Drop ratio" in SHARE, less = group.drop_ratio();
        /// Mean time from source to destination.
        ///
        /// Measured per transmission, including queueing at the sender's access link.
        packet_delay_mean: Option<f64>, "Packet delay" in DELAY, less = group.meter.packet_delay.mean();
        /// Standard deviation of the time from source to destination.
        packet_delay_std: Option<f64>, "Packet delay std" in DELAY, less = group.meter.packet_delay.std();
        /// Half of the packets take at most this long.
        ///
        /// Percentiles are exact to 0.1 %.
        packet_delay_p50: Option<f64>, "Packet delay median" in DELAY = group.delays[0];
        /// 95 % of the packets take at most this long.
        packet_delay_p95: Option<f64>, "Packet delay p95" in DELAY = group.delays[1];
        /// 99 % of the packets take at most this long.
        packet_delay_p99: Option<f64>, "Packet delay p99" in DELAY = group.delays[2];
        /// 99.9 % of the packets take at most this long.
        packet_delay_p999: Option<f64>, "Packet delay p99.9" in DELAY = group.delays[3];
        /// 99th percentile of the packet delay minus its minimum (RFC 5481).
        ///
        /// The packet delay variation of section 4.2. Flows that differ in round-trip propagation differ by no more
        /// than their queues: the delay of a flow's access links is subtracted before the minimum of the group is
        /// taken. Each of several groups has a separate minimum.
        packet_delay_variation_p99: Option<f64>, "Delay variation p99" in DELAY, less = group.times.variation(0.99);
        /// Quality of Outcome of browsing over such a path, 0 to 100 (draft-ietf-ippm-qoo).
        ///
        /// The worse of two scores, each 100 up to the application's perfect value and 0 from the unusable value on:
        /// the latency that 90 % of the packets do not exceed (50 and 150 ms) and the share of packets lost (0.5 and 1
        /// %), by the profile of LibreQoS 2.0. The latency is the packet delay and half of the round-trip propagation
        /// of the packet's own flow: a reverse path without a queue. Lost packets are datagrams that were not received,
        /// and segments that queues dropped.
        qoo_web: Option<f64>, "QoO web" in SCORE, more = group.qoo(&qoo::WEB);
        /// Quality of Outcome of a video conference, 0 to 100.
        ///
        /// As `qoo_web`, of 95 % of the packets: 50 and 100 ms, 0.1 and 0.5 %.
        qoo_conferencing: Option<f64>, "QoO conferencing" in SCORE, more = group.qoo(&qoo::CONFERENCING);
        /// Quality of Outcome of a game, 0 to 100.
        ///
        /// As `qoo_web`, of 95 % of the packets: 50 and 100 ms, 0.5 and 1 %.
        qoo_gaming: Option<f64>, "QoO gaming" in SCORE, more = group.qoo(&qoo::GAMING);
        /// Quality of Outcome of a backup, 0 to 100.
        ///
        /// As `qoo_web`, of 95 % of the packets: 100 and 150 ms, 0.1 and 1 %.
        qoo_backup: Option<f64>, "QoO backup" in SCORE, more = group.qoo(&qoo::BACKUP);
        /// Round trips per minute of its packets (RPM, draft-ietf-ippm-responsiveness).
        ///
        /// 60 s over the mean of the 95 % shortest round trips: packet delay and half of the round-trip propagation of
        /// the packet's own flow, a reverse path without a queue. For a group that loads the path this is the draft's
        /// loaded responsiveness. For a sparse group in the same run it is the foreign responsiveness. The draft's
        /// responsiveness is the mean of the two. Its probes measure with handshakes and requests.
        rpm: Option<f64>, "RPM" in COUNT, more =
            group.times.trimmed_round_trip().and_then(qoo::rpm);
        /// Mean time from the first transmission of a segment to its arrival.
        ///
        /// The packet delay, retransmissions included, of Li et al. (2014), section 3.1: of each segment received, once. It does
        /// not wait for the segments before it. Datagrams are sent once.
        segment_delay_mean: Option<f64>, "Segment delay" in DELAY, less = group.segment_delay.mean();
        /// Standard deviation of the time from the first transmission of a segment to its arrival.
        segment_delay_std: Option<f64>, "Segment delay std" in DELAY, less = group.segment_delay.std();
        /// 99 % of the segments arrive at most this long after their first transmission.
        segment_delay_p99: Option<f64>, "Segment delay p99" in DELAY, less = group.segment_delay.quantile(0.99);
        /// Goodput over mean packet delay.
        ///
        /// High if much arrives early.
        power: Option<f64>, "Power" in POWER, more =
            group.meter.packet_delay.mean().filter(|mean| *mean > 0.0).map(|mean| group.goodput / mean);
        /// Segments retransmitted.
        retransmits: u64, "Retransmits" in PACKETS = group.counters.retransmits;
        /// Expiries of the retransmission timer.
        timeouts: u64, "Timeouts" in COUNT = group.counters.timeouts;
        /// Reductions of the window after a congestion mark.
        ecn_reductions: u64, "ECN reductions" in COUNT = group.counters.ecn_reductions;
        /// Transfers that began after the warm-up and are complete.
        transfers: u64, "Transfers" in COUNT = group.meter.completion.count();
        /// Connections given up because no SYN was answered, and QUIC connections that timed out.
        ///
        /// After the warm-up: a bulk flow, or a transfer of a client, which may have begun before. In profile `ns2` there
        /// are none.
        failed: u64, "Failed" in COUNT, less = group.counters.failed;
        /// Mean time from the request of a transfer to its last ACK.
        fct_mean: Option<f64>, "FCT mean" in DELAY = group.meter.completion.mean();
        /// Half of the transfers take at most this long.
        fct_p50: Option<f64>, "FCT median" in DELAY, less = group.completions[0];
        /// 95 % of the transfers take at most this long.
        fct_p95: Option<f64>, "FCT p95" in DELAY = group.completions[1];
        /// 99 % of the transfers take at most this long.
        fct_p99: Option<f64>, "FCT p99" in DELAY, less = group.completions[2];
        /// For each flow, the phases that its sender entered: times from the start of the run, s, and names.
        ///
        /// Recorded if `phases = true` ([sender phases](phases.md)).
        #[serde(skip_serializing_if = "Option::is_none")]
        phases: Option<PhaseTable> = None;
        /// The datagrams of the group, if it sends any.
        #[serde(skip_serializing_if = "Option::is_none")]
        call: Option<CallResult> = group.call.clone();
        /// Adaptive video, if that is its kind.
        #[serde(skip_serializing_if = "Option::is_none")]
        video: Option<VideoResult> = group.video.clone();
        /// Frames of adaptive video calls, if that is its kind.
        #[serde(skip_serializing_if = "Option::is_none")]
        media: Option<MediaResult> = group.media.clone();
        /// Completion times over those in an empty network, on a fabric.
        #[serde(skip_serializing_if = "Option::is_none")]
        slowdown: Option<SlowdownResult> = group.meter.slowdowns.result();
    }
}

/// Shares of the packets whose delay is asked for.
const SHARES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// The phases of each flow of a group.
pub type PhaseTable = Vec<Vec<PhaseEntry>>;

/// Goodput of one flow, bit/s, and its activity.
pub struct FlowShare {
    /// Payload received, bit/s.
    pub goodput: f64,
    /// It sends from the end of the warm-up to the end of the run.
    pub always_active: bool,
    /// It is a transfer without end.
    pub is_long: bool,
    /// Data packets that queues have dropped.
    pub dropped: u64,
    /// Round-trip propagation.
    pub rtt: Span,
}

/// Data that the measures of a group are computed from, at the end of a run.
pub struct GroupFacts<'a> {
    meter: &'a GroupMeter,
    /// Of the senders since the warm-up.
    counters: SenderCounters,
    /// Of each flow, ascending, bit/s.
    goodputs: Vec<f64>,
    /// Their sum, in the order of the flows.
    goodput: f64,
    jain: Option<f64>,
    dropped: u64,
    /// Of its packets.
    times: PathTimes,
    /// Retransmissions included.
    segment_delay: DurationStats,
    /// Packet delay that these shares of the packets do not exceed.
    delays: [Option<f64>; SHARES.len()],
    /// Completion time: median, 95 %, 99 %.
    completions: [Option<f64>; 3],
    call: Option<CallResult>,
    video: Option<VideoResult>,
    media: Option<MediaResult>,
}

impl<'a> GroupFacts<'a> {
    /// `shares`: of each flow of the group.
    pub fn new(shares: &[&FlowShare], meter: &'a GroupMeter, counters: SenderCounters) -> Self {
        let compared = shares.iter().filter(|share| share.always_active);
        let times = meter.path_times(shares);
        Self::with_fairness(compared.map(|share| share.goodput), shares, meter, counters, times)
    }

    /// Of all groups: with the times of each.
    pub fn of_all(shares: &[&FlowShare], meter: &'a GroupMeter, counters: SenderCounters, times: &[PathTimes]) -> Self {
        let compared = shares.iter().filter(|share| share.always_active && share.is_long);
        let goodputs = compared.map(|share| share.goodput);
        Self::with_fairness(goodputs, shares, meter, counters, PathTimes::union(times))
    }

    fn with_fairness(
        compared: impl Iterator<Item = f64> + Clone,
        shares: &[&FlowShare],
        meter: &'a GroupMeter,
        counters: SenderCounters,
        times: PathTimes,
    ) -> Self {
        let mut goodputs: Vec<f64> = shares.iter().map(|share| share.goodput).collect();
        let goodput = goodputs.iter().sum();
        goodputs.sort_by(f64::total_cmp);
        Self {
            meter,
            counters,
            goodput,
            goodputs,
            jain: jain(compared),
            dropped: shares.iter().map(|share| share.dropped).sum(),
            times,
            segment_delay: meter.segment_delay(),
            delays: meter.packet_delay.quantiles(SHARES),
            completions: meter.completion.quantiles([0.5, 0.95, 0.99]),
            call: None,
            video: None,
            media: None,
        }
    }

    fn drop_ratio(&self) -> f64 {
        let sent = self.dropped + self.meter.packet_delay.count();
        if sent > 0 { self.dropped as f64 / sent as f64 } else { 0.0 }
    }

    fn qoo(&self, profile: &qoo::QooProfile) -> Option<f64> {
        let loss_ratio = self.call.as_ref().map_or_else(|| self.drop_ratio(), |call| call.loss_ratio);
        Some(profile.score(self.times.round_trip(profile.percentile)?, loss_ratio))
    }

    /// With what only groups of some kinds have.
    pub fn with(self, call: Option<CallResult>, video: Option<VideoResult>, media: Option<MediaResult>) -> Self {
        Self { call, video, media, ..self }
    }
}

/// (sum x)^2 / (n sum x^2); `None` if nobody got anything.
pub fn jain(shares: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let (count, sum) = (shares.clone().count() as f64, shares.clone().sum::<f64>());
    let squares: f64 = shares.map(|x| x * x).sum();
    (squares > 0.0).then(|| sum * sum / (count * squares))
}

/// Of sorted values; between the two in the middle if their number is even.
fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => sorted.get(middle).copied(),
        _ => sorted.get(middle).map(|upper| (sorted[middle - 1] + upper) / 2.0),
    }
}

/// One packet at its receiver. Receivers act as soon as it is certain when a packet reaches them, so `at` may lie ahead.
#[derive(Clone, Copy, Debug)]
struct Receipt {
    at: Time,
    delay: Span,
    /// Segments that it completes in order; 1 for a datagram.
    delivered: u32,
    is_marked: bool,
}

/// Statistics of the receipts of a group of flows since it was last probed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ReceiptStats {
    /// Packets.
    pub packets: u64,
    /// Packets with a congestion mark.
    pub marked: u64,
    /// Segments received in order, or datagrams.
    pub delivered: u64,
    /// Sum of the packets' delays, ps.
    delay_sum: f64,
    /// The longest of them.
    delay_max: Span,
}

impl ReceiptStats {
    fn add(&mut self, receipt: &Receipt) {
        self.packets += 1;
        self.marked += u64::from(receipt.is_marked);
        self.delivered += u64::from(receipt.delivered);
        self.delay_sum += receipt.delay.0 as f64;
        self.delay_max = self.delay_max.max(receipt.delay);
    }

    /// Mean and greatest packet delay, s; `None` if no packet was received.
    pub fn delay(&self) -> Option<(f64, f64)> {
        (self.packets > 0).then(|| (self.delay_sum / self.packets as f64 * 1e-12, self.delay_max.seconds()))
    }
}

/// Receipts since the last probe, of which those that lie ahead must not be seen yet.
#[derive(Clone, Debug, Default)]
pub struct Receipts {
    ahead: Vec<Receipt>,
    past: ReceiptStats,
}

impl Receipts {
    /// Receipts that may pile up before those of the past are counted.
    const MOST: usize = 1 << 14;

    #[inline(never)] // nobody asks but who steps through a run
    fn note(&mut self, receipt: Receipt) {
        self.ahead.push(receipt);
    }

    /// Receipts up to now since the last call.
    pub fn take(&mut self, now: Time) -> ReceiptStats {
        self.count(now);
        std::mem::take(&mut self.past)
    }

    /// Keeps the list short between probes.
    pub fn tidy(&mut self, now: Time) {
        if self.ahead.len() > Self::MOST {
            self.count(now);
        }
    }

    fn count(&mut self, now: Time) {
        let past = &mut self.past;
        self.ahead.retain(|receipt| {
            let is_past = receipt.at <= now;
            if is_past {
                past.add(receipt);
            }
            !is_past
        });
    }
}

/// Measures one group of flows.
#[derive(Clone, Debug, Default)]
pub struct GroupMeter {
    /// For probes, if there may be any.
    pub receipts: Option<Receipts>,
    /// Source to destination of one transmission.
    pub packet_delay: DurationStats,
    /// The same with what each flow adds by itself, where flows differ in that.
    pub round_trips: Option<Box<RoundTrips>>,
    /// Datagrams sent.
    pub sent: u64,
    /// Packets received with a congestion mark.
    pub marked: u64,
    /// From the request of a transfer to its last ACK.
    pub completion: DurationStats,
    /// The same over what it would be in an empty network, on a fabric.
    pub slowdowns: Slowdowns,
    /// Transfers completed, warm-up included.
    pub ever_completed: u64,
    /// Of senders whose transfer has ended.
    pub ended: SenderCounters,
    /// Of all senders when measuring began.
    pub before: SenderCounters,
    /// Of what was sent again; few, so that they lie elsewhere.
    pub resent: Box<ResentDelays>,
}

/// Delays of packets received that had been sent before. A segment that is sent once has the delay of its packet, which
/// [`GroupMeter::packet_delay`] has, so that only these cost anything.
#[derive(Clone, Debug, Default)]
pub struct ResentDelays {
    /// Source to destination of the last transmission, duplicates included.
    packets: DurationStats,
    /// The same from the first transmission on, without duplicates.
    segments: DurationStats,
}

impl ResentDelays {
    /// A packet that took `delay`; `segment` is the time since the first transmission, unless it is a duplicate.
    #[cold]
    #[inline(never)]
    pub fn add(&mut self, delay: Span, segment: Option<Span>) {
        self.packets.add(delay);
        segment.into_iter().for_each(|since| self.segments.add(since));
    }

    /// Takes in others.
    pub fn merge(&mut self, other: &ResentDelays) {
        self.packets.merge(&other.packets);
        self.segments.merge(&other.segments);
    }
}

/// Counters of senders.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderCounters {
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
    /// Reductions of the window after a congestion mark.
    pub ecn_reductions: u64,
    /// Connections given up because no SYN was answered, and QUIC connections that timed out.
    pub failed: u64,
}

impl SenderCounters {
    /// Adds those of a sender.
    pub fn add(&mut self, sender: &Sender) {
        self.retransmits += u64::from(sender.retransmits());
        self.timeouts += u64::from(sender.timeouts());
        self.ecn_reductions += u64::from(sender.ecn_reductions());
        self.failed += u64::from(sender.has_failed());
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            retransmits: self.retransmits + other.retransmits,
            timeouts: self.timeouts + other.timeouts,
            ecn_reductions: self.ecn_reductions + other.ecn_reductions,
            failed: self.failed + other.failed,
        }
    }

    /// Increase since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts - before.timeouts,
            ecn_reductions: self.ecn_reductions - before.ecn_reductions,
            failed: self.failed - before.failed,
        }
    }
}

impl GroupMeter {
    /// Of a group of flows before the first packet.
    pub fn new(spec: &FlowSpec) -> Self {
        let differ = !matches!(spec.rtt, Distribution::Fixed(_));
        Self { round_trips: differ.then(Box::default), ..Self::default() }
    }

    /// Its flows differ in propagation from now on; so far each has added `own`.
    pub fn tell_apart(&mut self, own: OwnPropagation) {
        let delays = self.packet_delay.histogram();
        self.round_trips.get_or_insert_with(|| Box::new(RoundTrips::after(delays, own)));
    }

    /// Round trips and delay variation of its packets, at the end of a run.
    pub fn path_times(&self, shares: &[&FlowShare]) -> PathTimes {
        match &self.round_trips {
            Some(packets) => PathTimes::apart(packets),
            None => {
                let way_back = shares.first().map_or(0.0, |share| share.rtt.seconds() / 2.0);
                PathTimes::alike(&self.packet_delay, way_back)
            }
        }
    }

    /// A packet that counts, source to destination; its flow adds `own` to its delay.
    #[inline(always)]
    pub fn count(&mut self, delay: Span, is_marked: bool, own: impl FnOnce() -> OwnPropagation) {
        self.packet_delay.add(delay);
        self.marked += u64::from(is_marked);
        if let Some(round_trips) = &mut self.round_trips {
            round_trips.add(delay, own());
        }
    }

    /// It had been sent before. `segment`: how long ago it was sent first, unless it is a duplicate.
    #[inline]
    pub fn count_resent(&mut self, delay: Span, segment: Option<Span>) {
        self.resent.add(delay, segment);
    }

    /// A packet reaches its receiver, perhaps ahead of the present.
    #[inline(always)]
    pub fn note_receipt(&mut self, at: Time, delay: Span, delivered: u32, is_marked: bool) {
        if let Some(receipts) = &mut self.receipts {
            receipts.note(Receipt { at, delay, delivered, is_marked });
        }
    }

    /// Takes in what was measured at others.
    pub fn merge(&mut self, other: &GroupMeter) {
        self.sent += other.sent;
        self.ever_completed += other.ever_completed;
        self.ended = self.ended.plus(other.ended);
        self.before = self.before.plus(other.before);
        self.packet_delay.merge(&other.packet_delay);
        if let (Some(own), Some(others)) = (&mut self.round_trips, &other.round_trips) {
            own.merge(others);
        }
        self.resent.merge(&other.resent);
        self.marked += other.marked;
        self.completion.merge(&other.completion);
        self.slowdowns.merge(&other.slowdowns);
    }

    /// From the first transmission of a segment to its arrival.
    fn segment_delay(&self) -> DurationStats {
        self.packet_delay.replaced(&self.resent.packets, &self.resent.segments)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> Time {
        Time::ZERO + Span::from_seconds(seconds)
    }

    /// Where flows do not differ in propagation nobody asks for it.
    fn alike() -> OwnPropagation {
        unreachable!("flows are alike")
    }

    #[test]
    fn a_ping_is_no_long_transfer() {
        let share = |goodput, is_long| FlowShare { goodput, always_active: true, is_long, dropped: 0, rtt: Span::ZERO };
        let transfers: Vec<FlowShare> = (0..20).map(|_| share(5e6, true)).collect();
        let ping = share(3e4, false);
        let all: Vec<&FlowShare> = transfers.iter().chain([&ping]).collect();
        let (meter, none) = (GroupMeter::default(), SenderCounters::default());
        assert_eq!(GroupFacts::of_all(&all, &meter, none, &[]).jain, Some(1.0));
        assert_eq!(GroupFacts::of_all(&[&ping], &meter, none, &[]).jain, None);
        assert_eq!(GroupFacts::new(&[&ping, &ping], &meter, none).jain, Some(1.0), "a group's flows are of a kind");
    }

    #[test]
    fn jain_by_hand() {
        assert_eq!(jain([1.0, 1.0, 1.0].into_iter()), Some(1.0));
        assert_eq!(jain([1.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([3.0, 1.0].into_iter()), Some(0.8));
        assert_eq!(jain([0.0].into_iter()), None);
    }

    #[test]
    fn a_segment_that_is_sent_again_counts_once_and_from_its_first_transmission() {
        let ms = Span::from_millis;
        let mut meter = GroupMeter::default();
        assert_eq!(meter.segment_delay().mean(), None);
        // Two segments of 40 ms, one of 50 ms that was sent 200 ms before, and a duplicate of 90 ms.
        for (delay, resent) in [(40, None), (40, None), (50, Some(Some(250))), (90, Some(None))] {
            meter.count(ms(delay), false, alike);
            resent.into_iter().for_each(|segment| meter.count_resent(ms(delay), segment.map(ms)));
        }
        let delay = meter.segment_delay();
        let [mean, p99] = [delay.mean(), delay.quantile(0.99)].map(|delay| delay.unwrap() * 1e3);
        assert!((mean - 110.0).abs() < 1e-6, "(40 + 40 + 250)/3 ms, not {mean}");
        assert!((p99 - 250.0).abs() < 0.25, "{p99}");
    }

    #[test]
    fn quality_of_outcome_takes_the_share_of_the_packets_that_its_profile_says() {
        // 20 ms one way, but 8 of 100 packets 80 ms; 20 ms back. At 90 % 40 ms, perfect; at 95 % 100 ms, of no use to a game.
        let mut meter = GroupMeter::default();
        (0..100).for_each(|n| meter.count(Span::from_millis(if n < 8 { 80 } else { 20 }), false, alike));
        let share =
            FlowShare { goodput: 0.0, always_active: true, is_long: true, dropped: 0, rtt: Span::from_millis(40) };
        let facts = GroupFacts::new(&[&share], &meter, SenderCounters::default());
        assert_eq!(facts.qoo(&qoo::WEB), Some(100.0));
        assert!(facts.qoo(&qoo::GAMING).unwrap() < 0.2, "percentiles are exact to 0.1 %");
        assert_eq!(GroupFacts::new(&[], &GroupMeter::default(), SenderCounters::default()).qoo(&qoo::WEB), None);
    }

    #[test]
    fn rpm_by_hand() {
        // 40 ms one way and 10 ms back, 50 ms: 1200 a minute. The packet in twenty that takes a second is left out.
        let mut meter = GroupMeter::default();
        (0..20).for_each(|n| meter.count(Span::from_millis(if n == 7 { 1000 } else { 40 }), false, alike));
        let share =
            FlowShare { goodput: 0.0, always_active: true, is_long: true, dropped: 0, rtt: Span::from_millis(20) };
        let rpm = |shares: &[&FlowShare], meter: &GroupMeter| {
            FlowResult::of(&GroupFacts::new(shares, meter, SenderCounters::default())).rpm
        };
        let found = rpm(&[&share], &meter).unwrap();
        assert!((found - 1200.0).abs() < 1.2, "{found}");
        assert_eq!(rpm(&[], &GroupMeter::default()), None);
    }

    #[test]
    fn drops_are_a_share_of_what_was_sent() {
        let mut meter = GroupMeter::default();
        (0..6).for_each(|_| meter.count(Span::from_millis(40), false, alike));
        let share = |dropped| FlowShare { goodput: 0.0, always_active: true, is_long: true, dropped, rtt: Span::ZERO };
        let (first, second) = (share(1), share(2));
        let facts = GroupFacts::new(&[&first, &second], &meter, SenderCounters::default());
        assert_eq!((facts.dropped, facts.drop_ratio()), (3, 3.0 / 9.0));
        let nothing = GroupMeter::default();
        assert_eq!(GroupFacts::new(&[], &nothing, SenderCounters::default()).drop_ratio(), 0.0);
    }

    #[test]
    fn a_probe_sees_no_receipt_that_lies_ahead() {
        let mut meter = GroupMeter { receipts: Some(Receipts::default()), ..GroupMeter::default() };
        for (at, delay, marked) in [(1.0, 0.1, false), (3.0, 0.3, true), (2.0, 0.2, false)] {
            meter.note_receipt(s(at), Span::from_seconds(delay), 1, marked);
        }
        let mut take = |now| meter.receipts.as_mut().unwrap().take(s(now));
        let first = take(2.0);
        assert_eq!((first.packets, first.marked, first.delivered), (2, 0, 2));
        let (mean, max) = first.delay().unwrap();
        assert!((mean - 0.15).abs() < 1e-12 && max == 0.2);
        assert_eq!((take(2.5).packets, take(3.0).marked, take(9.0).delay()), (0, 1, None));
    }
}
