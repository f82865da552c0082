//! Round trips of packets, and variation of their delay, where flows differ in propagation.

use super::durations::DurationStats;
use super::histogram::Histogram;
use aqmlab_core::Span;

/// Share of the round trips that RPM counts: the draft's trimmed mean.
const TRIMMED: f64 = 0.95;

/// The delay that a flow adds to its packets by itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct OwnPropagation {
    /// On its access links, on the way there.
    pub there: Span,
    /// Half of its round-trip propagation: a way back without a queue.
    pub back: Span,
}

/// Packets of flows that differ in propagation.
#[derive(Clone, Debug, Default)]
pub struct RoundTrips {
    /// Delay, and the flow's own way back.
    trips: Histogram,
    /// Delay less what the flow adds by itself.
    rests: Histogram,
}

impl RoundTrips {
    /// After packets with these delays of flows that added `own`.
    pub fn after(delays: &Histogram, own: OwnPropagation) -> Self {
        Self { trips: delays.moved(|delay| delay + own.back), rests: delays.moved(|delay| rest(delay, own)) }
    }

    /// A packet that took `delay`, of a flow that adds `own`.
    #[inline(never)] // few groups have them
    pub fn add(&mut self, delay: Span, own: OwnPropagation) {
        self.trips.add(delay + own.back);
        self.rests.add(rest(delay, own));
    }

    /// Takes in others.
    pub fn merge(&mut self, other: &Self) {
        self.trips.merge(&other.trips);
        self.rests.merge(&other.rests);
    }
}

/// A packet that is under way as its flow's propagation changes may have taken less than that.
fn rest(delay: Span, own: OwnPropagation) -> Span {
    Span(delay.0.saturating_sub(own.there.0))
}

/// Times in s, each with the number of packets that it stands for, ascending.
#[derive(Clone, Debug, Default)]
struct Times(Vec<(f64, u64)>);

impl Times {
    fn of(histogram: &Histogram, offset: f64) -> Self {
        Self(histogram.values().map(|(value, count)| (value + offset, count)).collect())
    }

    fn union<'a>(parts: impl Iterator<Item = &'a Self>) -> Self {
        let mut all: Vec<_> = parts.flat_map(|part| part.0.iter().copied()).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        Self(all)
    }

    /// From the least of them on.
    fn above_least(self) -> Self {
        let least = self.0.first().map_or(0.0, |(least, _)| *least);
        Self(self.0.into_iter().map(|(time, count)| (time - least, count)).collect())
    }

    fn count(&self) -> u64 {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// The time that `share` of the packets do not exceed.
    fn quantile(&self, share: f64) -> Option<f64> {
        let wanted = (share * self.count() as f64).ceil().max(1.0);
        let mut below = 0;
        let found = self.0.iter().find(|(_, count)| {
            below += count;
            below as f64 >= wanted
        });
        found.map(|(time, _)| *time)
    }

    /// Mean of the least of them, so many of all.
    fn trimmed_mean(&self, share: f64) -> Option<f64> {
        let kept = (share * self.count() as f64).ceil();
        let (mut left, mut total) = (kept, 0.0);
        for (time, count) in &self.0 {
            let taken = (*count as f64).min(left);
            total += taken * time;
            left -= taken;
        }
        (kept > 0.0).then(|| total / kept)
    }
}

/// Round trips and delay variation of a group's packets, or of those of several groups.
#[derive(Clone, Debug, Default)]
pub struct PathTimes {
    round_trips: Times,
    variations: Times,
}

impl PathTimes {
    /// Of packets with these delays, of flows with the same way back, s.
    pub fn alike(delays: &DurationStats, way_back: f64) -> Self {
        let delays = delays.histogram();
        Self { round_trips: Times::of(delays, way_back), variations: Times::of(delays, 0.0).above_least() }
    }

    /// Of flows that differ.
    pub fn apart(packets: &RoundTrips) -> Self {
        let RoundTrips { trips, rests } = packets;
        Self { round_trips: Times::of(trips, 0.0), variations: Times::of(rests, 0.0).above_least() }
    }

    /// Of several groups, each of which has a least delay of its own.
    pub fn union(groups: &[Self]) -> Self {
        Self {
            round_trips: Times::union(groups.iter().map(|group| &group.round_trips)),
            variations: Times::union(groups.iter().map(|group| &group.variations)),
        }
    }

    /// The round trip that `share` of the packets do not exceed, s.
    pub fn round_trip(&self, share: f64) -> Option<f64> {
        self.round_trips.quantile(share)
    }

    /// The mean of the 95 % shortest round trips, s.
    pub fn trimmed_round_trip(&self) -> Option<f64> {
        self.round_trips.trimmed_mean(TRIMMED)
    }

    /// By how much `share` of the packets exceed the least delay at most, s.
    pub fn variation(&self, share: f64) -> Option<f64> {
        self.variations.quantile(share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn own(rtt: u64) -> OwnPropagation {
        OwnPropagation { there: Span::from_millis(rtt / 2), back: Span::from_millis(rtt / 2) }
    }

    fn close(found: Option<f64>, ms: f64) {
        let found = found.unwrap() * 1e3;
        assert!((found - ms).abs() <= 0.01 * ms + 1e-9, "{found} is not {ms}");
    }

    #[test]
    fn a_packet_has_the_way_back_of_its_own_flow() {
        // 19 packets take 10 ms and as much back, one takes 300 ms and as much back.
        let mut packets = RoundTrips::default();
        (0..19).for_each(|_| packets.add(Span::from_millis(10), own(20)));
        packets.add(Span::from_millis(300), own(600));
        let times = PathTimes::apart(&packets);
        close(times.trimmed_round_trip(), 20.0);
        close(times.round_trip(0.95), 20.0);
        close(times.round_trip(1.0), 600.0);
    }

    #[test]
    fn a_trimmed_mean_leaves_out_the_longest() {
        // 10, 20, ... 200 ms: without the last, 1900/19 = 100 ms; of half of them 55 ms.
        let times = Times((1..=20).map(|n| (0.01 * f64::from(n), 1)).collect());
        [(0.95, 100.0), (0.5, 55.0), (1.0, 105.0)]
            .iter()
            .for_each(|(share, ms)| close(times.trimmed_mean(*share), *ms));
    }

    #[test]
    fn round_trips_that_differ_are_no_variation() {
        let mut packets = RoundTrips::default();
        [20, 60, 600].iter().for_each(|rtt| packets.add(Span::from_millis(rtt / 2 + 1), own(*rtt)));
        close(PathTimes::apart(&packets).variation(0.99), 0.0);
        // One of them waits for 7 ms.
        packets.add(Span::from_millis(308), own(600));
        close(PathTimes::apart(&packets).variation(0.99), 7.0);
        close(PathTimes::apart(&packets).variation(0.75), 0.0);
    }

    #[test]
    fn each_group_has_a_least_delay_of_its_own() {
        let group = |delays: &[u64], way_back| {
            let mut spans = DurationStats::default();
            delays.iter().for_each(|ms| spans.add(Span::from_millis(*ms)));
            PathTimes::alike(&spans, way_back)
        };
        let near = group(&[10, 10, 10], 0.01);
        let far = group(&[150, 170], 0.15);
        let all = PathTimes::union(&[far, near]);
        // 0, 0, 0, 0 and 20 ms; round trips of 20, 20, 20, 300 and 320 ms.
        close(all.variation(0.8), 0.0);
        close(all.variation(0.99), 20.0);
        close(all.round_trip(0.6), 20.0);
        close(all.trimmed_round_trip(), (3.0 * 20.0 + 300.0 + 320.0) / 5.0);
        assert_eq!(PathTimes::union(&[]).variation(0.99), None);
        assert_eq!(PathTimes::default().trimmed_round_trip(), None);
    }

    #[test]
    fn packets_from_before_flows_differed_count() {
        let mut before = Histogram::default();
        before.add(Span::from_millis(12));
        let mut packets = RoundTrips::after(&before, own(20));
        packets.add(Span::from_millis(302), own(600));
        let times = PathTimes::apart(&packets);
        close(times.round_trip(0.5), 22.0);
        close(times.round_trip(1.0), 602.0);
        assert!(times.variation(1.0).unwrap() < 0.1e-3, "both take 2 ms beyond propagation");
    }
}
