//! Packets and sequences of packets that no honest sender makes: through the readers, the store and a forwarder.

use crate::calls::CallReport;
use crate::cases::config;
use crate::flows::FlowCounts;
use crate::forward::tests::{carry, forwarder};
use crate::packet::tests::{v4, v6};
use crate::packet::{TCP, UDP, word};
use crate::rtp::tests::{feedback, rtp};
use crate::rtp::{RtpHeader, RtpReport, reports};
use crate::store::Store;
use crate::store::tests::{datagrams, large};
use crate::tun::VIRTIO;
use aqmlab_aqm::{Discipline, Ecn};
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{Scenario, parse};
use proptest::collection::vec;
use proptest::prelude::*;
use std::fmt;
use std::sync::LazyLock;

/// Bytes that are written elsewhere, and a length at which they may be cut off.
#[derive(Clone, Debug)]
struct Damage {
    bytes: Vec<(usize, u8)>,
    cut: Option<usize>,
}

impl Damage {
    /// Of the first bytes, where headers are.
    fn any() -> impl Strategy<Value = Self> {
        let cut = prop::option::weighted(0.2, 0usize..400);
        (vec((0usize..100, any::<u8>()), 0..4), cut).prop_map(|(bytes, cut)| Self { bytes, cut })
    }

    fn of(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        for (place, byte) in &self.bytes {
            bytes.get_mut(*place).into_iter().for_each(|old| *old = *byte);
        }
        bytes.truncate(self.cut.unwrap_or(usize::MAX));
        bytes
    }
}

/// A whole header of RTP with its bytes: sources, an extension, media and padding.
fn any_rtp() -> impl Strategy<Value = (RtpHeader, Vec<u8>)> {
    let types = prop_oneof![0u8..64, 96u8..128];
    let parts = (0u8..16, prop::option::of(0u16..20), 0u32..200, prop::option::of(1u8..=255));
    (any::<(bool, u16, u32, u32)>(), types, parts).prop_map(|((marker, seq, timestamp, ssrc), payload_type, parts)| {
        let (sources, extension, media, padding) = parts;
        let mut bytes = rtp(ssrc, seq, timestamp, marker, 4 * usize::from(sources));
        bytes[0] |= sources | u8::from(extension.is_some()) << 4 | u8::from(padding.is_some()) << 5;
        bytes[1] = payload_type | u8::from(marker) << 7;
        if let Some(words) = extension {
            bytes.extend([0xbe, 0xde].into_iter().chain(words.to_be_bytes()));
            bytes.resize(bytes.len() + 4 * usize::from(words), 0x55);
        }
        bytes.resize(bytes.len() + media as usize + usize::from(padding.unwrap_or(0)), 0x33);
        if let (Some(count), Some(last)) = (padding, bytes.last_mut()) {
            *last = count;
        }
        (RtpHeader { marker, payload_type, seq, timestamp, ssrc, media }, bytes)
    })
}

/// A packet of RTCP with the report in it, or one of another kind.
fn any_rtcp() -> impl Strategy<Value = (Option<RtpReport>, Vec<u8>)> {
    let metrics = prop_oneof![3 => 0x8000u16..=0xffff, 1 => Just(0u16)];
    let report = (any::<(u32, u16)>(), vec(metrics, 0..40)).prop_map(|((ssrc, begin), metrics)| {
        let ecn = |bits: u16| [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(bits >> 13 & 3)];
        let packets = metrics.iter().map(|bits| (*bits != 0).then(|| ecn(*bits))).collect();
        (Some(RtpReport { ssrc, begin, packets }), feedback(ssrc, begin, &metrics))
    });
    let other = (192u8..=204, vec(any::<[u8; 4]>(), 0..8)).prop_map(|(kind, words)| {
        let length = (words.len() as u16).to_be_bytes();
        (None, [&[0x81, kind, length[0], length[1]], words.as_flattened()].concat())
    });
    prop_oneof![2 => report, 1 => other]
}

/// The bytes of one read from a device.
#[derive(Clone)]
struct DeviceRead {
    virtio: [u8; VIRTIO],
    ip: Vec<u8>,
}

impl fmt::Debug for DeviceRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first = &self.ip[..self.ip.len().min(100)];
        write!(f, "virtio {:02x?}, {} bytes: {first:02x?}", self.virtio, self.ip.len())
    }
}

/// A packet of any kind, or a large segment of any step, damaged or not, and perhaps about as long as a read can be.
fn any_read() -> impl Strategy<Value = DeviceRead> {
    let step = prop_oneof![1u16..3000, 64_000u16..=65_535];
    let plain = |ip: Vec<u8>| ([0; VIRTIO], ip);
    let protocol = prop_oneof![Just(TCP), Just(UDP), Just(0), Just(44), any::<u8>()];
    let length = prop_oneof![4 => 0usize..3000, 1 => 3000usize..65_500];
    let sound = (0u8..6, length, step, any::<u8>(), protocol).prop_map(move |(kind, length, step, class, protocol)| {
        let payload = vec![0x11; length];
        match kind {
            0 => large(4, &payload, step),
            1 => large(6, &payload, step),
            2 => datagrams(4, &payload, step),
            3 => datagrams(6, &payload, step),
            4 => plain(v4(class, protocol, &payload)),
            _ => plain(v6(class, protocol, &payload)),
        }
    });
    let longest = prop::option::weighted(0.3, 65_533usize..65_538);
    (sound, Damage::any(), longest).prop_map(|((virtio, mut ip), damage, longest)| {
        ip.resize(longest.unwrap_or(ip.len()), 0x11);
        let damaged = damage.of([&virtio[..], &ip].concat());
        let (virtio, ip) = damaged.split_first_chunk().map_or((virtio, &[][..]), |(virtio, ip)| (*virtio, ip));
        DeviceRead { virtio, ip: ip.to_vec() }
    })
}

/// A datagram of a few flows that may be of a call: its media, in one or several parts, or feedback on it.
fn any_of_a_call() -> impl Strategy<Value = DeviceRead> {
    let number = prop_oneof![4 => 0u16..40, 1 => any::<u16>()];
    (0u8..4, 0u32..3, number, any::<(u32, bool)>(), 1usize..4).prop_map(
        |(port, ssrc, seq, (timestamp, flag), parts)| {
            let packets: Vec<u8> = match port {
                3 => feedback(ssrc, seq, &vec![0xa000; 7 * parts]),
                _ => (0..parts as u16).flat_map(|i| rtp(ssrc, seq.wrapping_add(i), timestamp % 9, flag, 88)).collect(),
            };
            let (mut virtio, mut ip) = datagrams(4, &packets, 100);
            ip[21] = port;
            if parts == 1 || port == 3 {
                virtio = [0; VIRTIO];
            }
            DeviceRead { virtio, ip }
        },
    )
}

static LINE: LazyLock<Scenario> = LazyLock::new(|| {
    let text = "schema = 1\nduration = \"9 s\"\nsample = \"1 s\"\n[[links]]\nname = \"up\"\n\
                rate = \"200 Mbit/s\"\nbuffer = \"60 packets\"\ntarget = \"20 packets\"\nloss = \"1%\"\n[[flows]]\nrtt = \"2 ms\"\n";
    parse(text, "fuzz", &[]).unwrap()
});

proptest! {
    #![proptest_config(config(500))]

    #[test]
    fn any_header_of_rtp_is_read_as_it_was_written((header, bytes) in any_rtp(), damage in Damage::any()) {
        prop_assert_eq!(RtpHeader::of(&bytes), Some(header));
        let bytes = damage.of(bytes);
        if let Some(header) = RtpHeader::of(&bytes) {
            prop_assert!(header.media as usize + 12 <= bytes.len());
        }
    }

    #[test]
    fn any_feedback_is_read_as_it_was_written(packets in vec(any_rtcp(), 0..6), damage in Damage::any()) {
        let expected: Vec<RtpReport> = packets.iter().filter_map(|(report, _)| report.clone()).collect();
        let bytes: Vec<u8> = packets.into_iter().flat_map(|(_, bytes)| bytes).collect();
        prop_assert_eq!(reports(&bytes), expected);
        let bytes = damage.of(bytes);
        let metrics: usize = reports(&bytes).iter().map(|report| 8 + 2 * report.packets.len()).sum();
        prop_assert!(metrics <= bytes.len());
    }

    /// The lengths in the headers are those of the packets, and those that queues see.
    #[test]
    fn any_read_is_cut_into_packets_of_their_length(read in any_read(), split in any::<u16>()) {
        let mut store = Store::default();
        let Some((block, layout)) = store.keep(read.virtio, &read.ip) else { return Ok(()) };
        let parts = store.block(block).parts();
        for part in (0..parts).step_by(1 + usize::from(parts / 8)) {
            let size = store.block(block).size(part);
            prop_assert!((1..=usize::from(u16::MAX)).contains(&size), "{} bytes", size);
            let ready = store.ready(block, part, 1, 0);
            prop_assert_eq!(ready.header().len() + ready.rest.len(), size);
        }
        let middle = split % parts;
        for (first, count) in [(0, middle), (middle, parts - middle)].into_iter().filter(|(_, count)| *count > 0) {
            let ready = store.ready(block, first, count, 0);
            if !ready.header().is_empty() {
                let (at, behind) = if layout.version == 4 { (2, 0) } else { (4, 40) };
                let metrics = word(ready.header(), at).map(|metrics| usize::from(metrics) + behind);
                prop_assert_eq!(metrics, Some(ready.header().len() + ready.rest.len()));
            }
        }
        store.release(block, parts);
        prop_assert_eq!(store.in_use(), 0);
    }

    /// Whatever comes, and when: each packet has one fate, and no flow gets more payload than bytes.
    #[test]
    fn any_sequence_of_packets_is_accounted_for(
        steps in vec((prop_oneof![any_read(), any_of_a_call()], prop_oneof![0u64..100, 0u64..4_000_000]), 1..40),
        scheme in any::<prop::sample::Index>(),
    ) {
        let name = scheme.get(&aqmlab_aqm::entries()).info.name;
        let (mut forwarder, mut now) = (forwarder(&LINE, name), Time::ZERO);
        for (read, ns) in &steps {
            now += Span::from_nanos(*ns);
            carry(&mut forwarder, read.virtio, &read.ip, now);
        }
        now += Span::from_secs(9);
        carry(&mut forwarder, [0; VIRTIO], &[], now);
        let (link, flows) = (&forwarder.direction.link, forwarder.flows.all());
        let (accounts, lost) = (link.queue.accounts(), link.impairment.as_ref().map_or(0, |wire| wire.lost));
        let sum = |count: fn(&FlowCounts) -> u64| flows.iter().map(count).sum::<u64>();
        prop_assert_eq!(sum(|flow| flow.arrived), accounts.arrived);
        prop_assert_eq!(sum(|flow| flow.received), accounts.arrived - accounts.dropped - lost);
        prop_assert!(link.queue.accounts_balance());
        prop_assert_eq!((forwarder.store.in_use(), forwarder.counts.refused), (0, 0));
        for flow in flows {
            prop_assert!(flow.payload <= flow.bytes && flow.marked <= flow.received, "{:?}", flow);
        }
        let other = (&forwarder.calls, flows);
        let report = CallReport::new(other, other, "up", now);
        prop_assert!(report.streams.iter().all(|stream| stream["rtp"]["sent"].is_u64()));
    }
}
