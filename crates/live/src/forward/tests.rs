//! A million packets, random and mutated, through parser, store and every scheme.

use super::*;
use crate::packet::tests::{v4, v6};
use crate::packet::{TCP, UDP};
use crate::store::tests::large;
use aqmlab_core::Stream;
use aqmlab_scenario::parse;
use aqmlab_scenario::{AqmChoice, Scenario};
use aqmlab_sim::Lines;

/// A packet that an interface may give, or should not: packets of every kind, large segments, noise; some bytes changed,
/// some cut off.
fn packet(rng: &mut Stream) -> ([u8; VIRTIO], Vec<u8>) {
    let longest = if rng.below(50) == 0 { 20_000 } else { 1400 };
    let payload = vec![0x12; rng.below(longest) as usize];
    let (class, plain) = (rng.below(256) as u8, [0; VIRTIO]);
    let (mut virtio, mut ip) = match rng.below(8) {
        0 => (plain, payload.iter().take(100).map(|_| rng.below(256) as u8).collect()),
        1 => large(4, &payload, 1 + rng.below(9000) as u16),
        2 => large(6, &payload, 1 + rng.below(9000) as u16),
        3 => (plain, v4(class, TCP, &payload)),
        4 => (plain, v4(class, UDP, &payload)),
        5 => (plain, v6(class, UDP, &payload)),
        kind => (plain, v6(class, [0, 44][kind as usize - 6], &payload)), // hop-by-hop options, a fragment
    };
    for _ in 0..rng.below(4) {
        let (place, byte) = (rng.below(90) as usize, rng.below(256) as u8);
        match place.checked_sub(VIRTIO) {
            None => virtio[place] = byte,
            Some(place) => drop(ip.get_mut(place).map(|old| *old = byte)),
        }
    }
    if rng.below(10) == 0 {
        ip.truncate(rng.below(ip.len() as u32 + 1) as usize);
    }
    (virtio, ip)
}

/// Between devices that give nothing and take everything.
pub fn forwarder(scenario: &Scenario, aqm: &str) -> Forwarder {
    let choice = AqmChoice::parse(aqm).unwrap();
    let direction = Direction::new(scenario, &Lines::of(scenario).unwrap().up, &choice, 1).unwrap();
    let null = || File::options().read(true).write(true).open("/dev/null").unwrap();
    Forwarder::new(null(), null(), direction, Clock { started: 0, is_virtual: false })
}

/// All that happens until a packet is read, then the packet.
pub fn carry(forwarder: &mut Forwarder, virtio: [u8; VIRTIO], ip: &[u8], now: Time) {
    forwarder.direction.advance(now);
    forwarder.clear_decisions();
    forwarder.take(virtio, ip, now);
    forwarder.write(now);
}

#[test]
fn a_million_strange_packets_are_all_accounted_for() {
    let link = "name = \"up\"\nrate = \"200 Mbit/s\"\nbuffer = \"60 packets\"\ntarget = \"20 packets\"\nloss = \"1%\"";
    let text = format!(
        "schema = 1\nduration = \"9 s\"\nsample = \"1 s\"\n[[links]]\n{link}\n[[flows]]\nrtt = \"2 ms\"\npacket = \"1460 B\""
    );
    let scenario = parse(&text, "fuzz", &[]).unwrap();
    let entries = aqmlab_aqm::entries();
    let each = 1_000_000 / entries.len() + 1;
    for entry in entries {
        let name = entry.info.name;
        let (mut rng, mut forwarder, mut now) = (Stream::new(1, name, 0), forwarder(&scenario, name), Time::ZERO);
        for _ in 0..each {
            now += Span::from_nanos(u64::from(rng.below(80_000)));
            let (virtio, ip) = packet(&mut rng);
            carry(&mut forwarder, virtio, &ip, now);
        }
        now += Span::from_secs(9);
        forwarder.direction.advance(now);
        forwarder.clear_decisions();
        forwarder.write(now);
        let (link, counts) = (&forwarder.direction.link, &forwarder.counts);
        let (accounts, lost) = (link.queue.accounts(), link.impairment.as_ref().map_or(0, |wire| wire.lost));
        let came: u64 = forwarder.flows.all().iter().map(|flow| flow.arrived).sum();
        let left: u64 = forwarder.flows.all().iter().map(|flow| flow.received).sum();
        assert_eq!(came, u64::from(forwarder.number), "{name}");
        assert_eq!(came, left + lost + accounts.dropped, "{name}");
        assert!(left > 0 && lost > 0 && accounts.dropped > 0 && counts.unreadable > 0, "{name}");
        assert_eq!((forwarder.store.in_use(), counts.refused), (0, 0), "{name}");
        assert!(link.queue.accounts_balance(), "{name}");
    }
}
