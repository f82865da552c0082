//! The sizes of a link: its buffer and its target, by the flows that cross it.

use crate::FlowSpec;
use crate::keys::{MOST_BYTES, ValueForm};
use aqmlab_aqm::Limit;
use aqmlab_core::problem::clip;
use aqmlab_core::quantity::nearest_unit;
use aqmlab_core::{Bytes, Packets, Quantity, Rate, Span};
use std::collections::{BTreeMap, BTreeSet};

/// The packet size and round-trip time by which a link's buffer and target are sized.
#[derive(Clone, Copy)]
pub struct SizingBasis {
    /// Mean size on the wire, over flows, bytes.
    pub packet: f64,
    /// The largest of these sizes.
    pub largest: f64,
    /// Seconds; `None` without a flow.
    pub longest_rtt: Option<f64>,
}

impl SizingBasis {
    /// The flows whose data cross the `link`-th link, or else those whose ACKs do, or else all.
    pub fn of(link: usize, flows: &[FlowSpec]) -> Self {
        let crossing = |crosses: &dyn Fn(&FlowSpec) -> bool| -> Vec<usize> {
            (0..flows.len()).filter(|group| flows[*group].count() > 0 && crosses(&flows[*group])).collect()
        };
        let data = crossing(&|flow| flow.sends_over(link));
        let acks = if data.is_empty() { crossing(&|flow| flow.acknowledges_over(link)) } else { Vec::new() };
        Self::of_crossing(flows, &data, &acks).unwrap_or_else(|| Self::of_all(flows))
    }

    /// The groups whose data cross a link, or else those whose ACKs do, if there are any.
    fn of_crossing(flows: &[FlowSpec], data: &[usize], acks: &[usize]) -> Option<Self> {
        match (data, acks) {
            ([], []) => None,
            ([], acks) => Some(Self::of_sizes(acks.iter().map(|group| (&flows[*group], flows[*group].tcp.ack.0)))),
            (data, _) => Some(Self::of_data(data.iter().map(|group| &flows[*group]))),
        }
    }

    fn of_all(flows: &[FlowSpec]) -> Self {
        Self::of_data(flows.iter().filter(|flow| flow.count() > 0))
    }

    fn of_data<'a>(flows: impl Iterator<Item = &'a FlowSpec>) -> Self {
        Self::of_sizes(flows.map(|flow| (flow, f64::from(flow.wire_size()))))
    }

    fn of_sizes<'a>(sizes: impl Iterator<Item = (&'a FlowSpec, f64)>) -> Self {
        let (mut count, mut bytes, mut largest, mut longest_rtt) = (0.0, 0.0, 0.0, None);
        for (flow, size) in sizes {
            let (flows, rtt) = (f64::from(flow.count()), flow.rtt.typical_largest().seconds());
            count += flows;
            bytes += flows * size;
            largest = f64::max(largest, size);
            longest_rtt = Some(longest_rtt.map_or(rtt, |longest| f64::max(longest, rtt)));
        }
        Self { packet: if count > 0.0 { bytes / count } else { 1040.0 }, largest, longest_rtt }
    }

    /// A buffer in packets of mean size.
    pub fn packets(self, buffer: Limit) -> f64 {
        match buffer {
            Limit::Packets(packets) => f64::from(packets),
            Limit::Bytes(bytes) => bytes as f64 / self.packet,
        }
    }
}

/// The flows that cross each link and the basis that they give, in time proportional to the hops of all flows.
pub struct SizingBases {
    crossing: BTreeMap<usize, Crossing>,
    of_all: SizingBasis,
}

/// Of a link, the groups whose data cross it and those whose ACKs do, empty ones too; and the basis, if there is a flow.
struct Crossing {
    groups: [Vec<usize>; 2],
    basis: Option<SizingBasis>,
}

impl SizingBases {
    /// Of links that these flows cross.
    pub fn new(flows: &[FlowSpec]) -> Self {
        let mut crossing: BTreeMap<usize, [Vec<usize>; 2]> = BTreeMap::new();
        for (group, spec) in flows.iter().enumerate() {
            let of_branches = spec.branches.iter().flat_map(|branch| [&branch.path, &branch.ack_path]);
            for (i, path) in [&spec.path, &spec.ack_path].into_iter().chain(of_branches).enumerate() {
                for link in path {
                    let groups = &mut crossing.entry(*link).or_default()[i % 2];
                    if groups.last() != Some(&group) {
                        groups.push(group);
                    }
                }
            }
        }
        let with_basis = |(link, groups): (usize, [Vec<usize>; 2])| {
            let full = |groups: &[usize]| groups.iter().copied().filter(|group| flows[*group].count() > 0).collect();
            let [data, acks]: [Vec<usize>; 2] = groups.each_ref().map(|groups| full(groups));
            (link, Crossing { basis: SizingBasis::of_crossing(flows, &data, &acks), groups })
        };
        let crossing = crossing.into_iter().map(with_basis).collect();
        Self { crossing, of_all: SizingBasis::of_all(flows) }
    }

    /// That of the `link`-th link, as [`SizingBasis::of`].
    pub fn of(&self, link: usize) -> SizingBasis {
        self.crossing.get(&link).and_then(|crossing| crossing.basis).unwrap_or(self.of_all)
    }

    /// The groups whose data or ACKs cross the `link`-th link, in order.
    pub fn groups(&self, link: usize) -> BTreeSet<usize> {
        self.crossing.get(&link).into_iter().flat_map(|crossing| crossing.groups.iter().flatten().copied()).collect()
    }
}

/// The numbers of packets that a buffer may hold, and the sizes.
const LIMITS: [(&str, &str); 2] = [("1 packet", "10000000 packets"), ("1 B", MOST_BYTES)];

/// The forms of a buffer: packets, bytes, what the link sends in a time, or multiples of the bandwidth-delay product.
pub const BUFFER: ValueForm = ValueForm::Any(&[
    ValueForm::of::<Packets>().within(LIMITS[0].0, LIMITS[0].1).whole(),
    ValueForm::of::<Bytes>().within(LIMITS[1].0, LIMITS[1].1),
    ValueForm::of::<Span>(),
    ValueForm::Bdp,
]);

/// The forms of a target.
pub const TARGET: ValueForm = ValueForm::Any(&[ValueForm::of::<Packets>(), ValueForm::of::<Span>()]);

/// A value in a declared range.
fn is_within<Q: Quantity>(value: Q, (least, greatest): (&str, &str)) -> bool {
    let bound = |text| Q::parse(text).expect("declared bounds parse");
    bound(least) <= value && value <= bound(greatest)
}

/// The units that a buffer may have.
const UNITS: [&str; 10] = ["packets", "bdp", "B", "kB", "MB", "KiB", "MiB", "s", "ms", "us"];

/// The message for a `text` that is no buffer: `why`, but if its unit is unknown, all that a buffer may be.
fn expected(text: &str, why: String) -> String {
    let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || "+-._".contains(c)).trim();
    if unit.is_empty() || unit.len() == text.trim().len() || UNITS.contains(&unit) {
        return why;
    }
    let guess = nearest_unit(unit, &UNITS).map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default();
    format!(
        "\"{}\" has an unknown unit: expected packets, bytes (B, kB, MB, KiB, MiB), a time (s, ms, us) or bdp{guess}",
        clip(text)
    )
}

/// Packets, bytes, what the link sends in a time, or multiples of the bandwidth-delay product at the longest RTT that
/// crosses the link.
pub fn limit(text: &str, rate: Option<Rate>, basis: SizingBasis) -> Result<Limit, String> {
    let bytes = match Span::parse(text) {
        Ok(time) => Some(rate.map_or(1.0, |rate| rate.0 / 8.0 * time.seconds())),
        Err(_) if text.trim().ends_with('B') => Some(Bytes::parse(text).map_err(|why| expected(text, why))?.0),
        Err(_) => None,
    };
    if let Some(bytes) = bytes {
        let (least, greatest) = LIMITS[1];
        return match is_within(Bytes(bytes), LIMITS[1]) {
            true => Ok(Limit::Bytes(bytes as u64)),
            false => Err(format!("\"{}\" is out of range: must lie in {least} ..= {greatest}", clip(text))),
        };
    }
    let packets = match text.trim().strip_suffix("bdp") {
        Some(multiple) => {
            let bdp = rate.map_or(0.0, |rate| rate.0) * basis.longest_rtt.unwrap_or(0.0) / 8.0 / basis.packet;
            (f64::parse(multiple)? * bdp).ceil()
        }
        None => Packets::parse(text).map_err(|why| expected(text, why))?.0,
    };
    if !is_within(Packets(packets), LIMITS[0]) || packets.fract() != 0.0 {
        let (least, greatest) = LIMITS[0];
        return Err(format!("\"{}\" is out of range: must be a whole number in {least} ..= {greatest}", clip(text)));
    }
    Ok(Limit::Packets(packets as u32))
}

/// A buffer as a scenario writes it, in packets of `packet` bytes, at a rate and a round-trip time in s.
///
/// # Errors
/// Why it is no buffer.
pub fn buffer_packets(text: &str, rate: Rate, rtt: f64, packet: f64) -> Result<f64, String> {
    let basis = SizingBasis { packet, largest: packet, longest_rtt: Some(rtt) };
    Ok(basis.packets(limit(text, Some(rate), basis)?))
}

/// A target as text, packets.
pub fn target(text: &str, rate: Rate, buffer_packets: f64, basis: SizingBasis) -> Result<f64, String> {
    let packets = match Packets::parse(text) {
        Ok(Packets(packets)) => packets,
        Err(reason) => match Span::parse(text) {
            Ok(delay) => delay.seconds() * rate.0 / 8.0 / basis.packet,
            Err(_) => return Err(format!("{reason}, or a delay such as \"10 ms\"")),
        },
    };
    match packets > 0.0 && packets <= buffer_packets {
        true => Ok(packets),
        false => Err(format!("\"{}\" must be above 0 and not above the buffer ({buffer_packets} packets)", clip(text))),
    }
}

/// A capacity as a scenario writes it.
pub fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::Packets(packets) => format!("{packets} packets"),
        Limit::Bytes(bytes) => format!("{bytes} B"),
    }
}

#[cfg(test)]
mod tests {
    use super::{SizingBases, SizingBasis};

    /// Two groups cross the first link, one of them the second; ACKs alone cross the third, nothing the last. Headers have 40 B.
    const TEXT: &str = r#"
schema = 1
duration = "1 s"
[[links]]
name = "a"
rate = "1 Mbit/s"
buffer = "9 packets"
[[links]]
name = "b"
rate = "1 Mbit/s"
buffer = "9 packets"
[[links]]
name = "back"
rate = "1 Mbit/s"
buffer = "9 packets"
[[links]]
name = "idle"
rate = "1 Mbit/s"
buffer = "9 packets"
[[flows]]
name = "f"
count = 3
path = ["a", "b"]
ack_path = ["back"]
rtt = "20 ms"
packet = "1000 B"
tcp = "ns2"
[[flows]]
name = "g"
count = 1
path = ["a"]
rtt = "50 ms"
packet = "500 B"
tcp = "ns2"
[[flows]]
name = "none"
count = 0
path = ["a"]
rtt = "90 ms"
tcp = "ns2"
"#;

    #[test]
    fn a_link_is_sized_by_what_crosses_it() {
        let scenario = crate::parse(TEXT, "x", &[]).unwrap();
        let bases = SizingBases::new(&scenario.flows);
        // (3 * 1040 + 540) / 4 = 915 B on the first and, as nothing crosses it, the last; 1040 B on the second, ACKs on the third.
        let expected = [(915.0, 1040.0, 0.05), (1040.0, 1040.0, 0.02), (40.0, 40.0, 0.02), (915.0, 1040.0, 0.05)];
        for (link, expected) in expected.into_iter().enumerate() {
            for SizingBasis { packet, largest, longest_rtt } in [bases.of(link), SizingBasis::of(link, &scenario.flows)]
            {
                assert_eq!((packet, largest, longest_rtt), (expected.0, expected.1, Some(expected.2)), "link {link}");
            }
        }
    }
}
