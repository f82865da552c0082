//! The network of a scenario: senders, a hub with the links' queues, receivers, each in a network namespace.
//!
//! ```text
//!   senders     s0 === hs0                               hd0 === d0     receivers
//!   10.0.0.1    s1 === hs1   hub: q0 === r0, p0 === w0    hd1 === d1     10.128.0.1
//! ```
//!
//! A pair of devices is a wire without a delay. A flow's packets reach the hub by `hs`, leave it by `q`, the device of a link with its
//! shaper and queueing discipline, come back by `r` when their transmission begins, go over the link's wire (`p` to `w`: the time to send
//! them, and the propagation), and so from link to link until they leave by `hd`. Which link follows is a routing table of its own for each link. The access links are delays at
//! `s`, `hd`, `d` and `hs`: a quarter of what is left of the round trip.

use aqmlab_aqm::Ecn;
use aqmlab_aqm::link_layer::Framing;
use aqmlab_core::{Rate, Span};
use aqmlab_kernel::{GuestOrder, Queue};
use aqmlab_netlink::{Handle, KernelRoute, Metrics, Netem, Netlink, QdiscStats, ROOT, Shaper, VethEnd};
use aqmlab_scenario::{FlowSpec, LinkSpec, Scenario};
use aqmlab_sim::kernel::MemberDraft;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;

const SENDERS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RECEIVERS: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 1);
/// First routing table of a link.
const TABLE: u32 = 1000;
/// Largest packet behind the link header, unless flows send larger ones.
const MTU: u32 = 1500;
const SHAPER: Handle = Handle(1 << 16);
const CLASS: Handle = Handle(1 << 16 | 1);
const LEAF: Handle = Handle(10 << 16);

/// A sending host and the receiving one.
pub struct HostPair {
    /// Group of the flows on it.
    pub group: usize,
    /// Round-trip propagation of their path.
    rtt: Span,
    /// Address of the sender.
    pub sender: Ipv4Addr,
    /// Address of the receiver.
    pub receiver: Ipv4Addr,
}

/// The part of a device in a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// From or to the senders of this host.
    Sender(usize),
    /// Into the queue of this link.
    Queue(usize),
    /// Out of this link, or of its delay.
    Behind,
    /// From or to the receivers of this host.
    Receiver(usize),
}

/// The network.
pub struct GuestNetwork {
    /// The hosts, with the host of each flow of each group.
    pub hosts: Vec<HostPair>,
    host_of: Vec<Vec<usize>>,
    /// The part of each device of the hub, by its index.
    pub gates: BTreeMap<u32, Gate>,
    queues: Vec<Device>,
    hub: Netlink,
    places: [File; 3],
}

/// The device of a link.
struct Device {
    index: u32,
    place: Handle,
    handle: Handle,
    shaper: Option<Shaper>,
    /// The device of its wire, and what happens on it.
    behind: u32,
    delay: Netem,
}

/// A network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// That of the links.
    Hub = 0,
    /// That of the senders.
    Senders = 1,
    /// That of the receivers.
    Receivers = 2,
}

impl GuestNetwork {
    /// Makes it; the process is in the hub then.
    pub fn new(order: &GuestOrder, scenario: &Scenario, members: &[Vec<MemberDraft>]) -> io::Result<Self> {
        let (hosts, host_of) = place_hosts(order, members);
        let hub = Netlink::open()?;
        let place = || File::open("/proc/self/ns/net");
        let first = place()?;
        unshare(CloneFlags::CLONE_NEWNET)?;
        let (senders, at_senders) = (place()?, Netlink::open()?);
        unshare(CloneFlags::CLONE_NEWNET)?;
        let (receivers, at_receivers) = (place()?, Netlink::open()?);
        setns(&first, CloneFlags::CLONE_NEWNET)?;
        let places = [first, senders, receivers];
        let mut network = Self { hosts, host_of, gates: BTreeMap::new(), queues: Vec::new(), hub, places };
        network.set_up_kernel(scenario)?;
        let mtu = scenario.flows.iter().map(|flows| flows.wire_size() - 14).fold(MTU, u32::max);
        for (i, link) in scenario.links.iter().enumerate() {
            network.add_link(i, link, &order.queues[i], mtu, order.seed)?;
        }
        for k in 0..network.hosts.len() {
            network.add_host(k, scenario, mtu, [&at_senders, &at_receivers])?;
        }
        Ok(network)
    }

    /// The host of a flow.
    pub fn host(&self, group: usize, i: usize) -> usize {
        self.host_of[group][i]
    }

    /// Does something in another namespace.
    pub fn within<T>(&self, place: Place, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        setns(&self.places[place as usize], CloneFlags::CLONE_NEWNET)?;
        let done = act();
        setns(&self.places[Place::Hub as usize], CloneFlags::CLONE_NEWNET)?;
        done
    }

    /// Counts of a link's queueing discipline.
    pub fn stats(&self, link: usize) -> io::Result<QdiscStats> {
        let Device { index, place, handle, .. } = self.queues[link];
        self.hub.qdisc_stats(index, place, handle)
    }

    /// Time from a host to the hub, which nobody sees there.
    pub fn access_delay(&self, host: usize, scenario: &Scenario) -> Span {
        let HostPair { group, rtt, .. } = self.hosts[host];
        quarter(rtt, &scenario.flows[group], scenario)
    }

    /// Changes the rate of a link.
    pub fn set_rate(&mut self, link: usize, rate: Rate) -> io::Result<()> {
        let device = &mut self.queues[link];
        device.delay.rate = Some(bytes_a_second(rate));
        self.hub.set_qdisc(device.behind, ROOT, LEAF, "netem", &device.delay.options())?;
        let Some(shaper) = &mut device.shaper else { return Ok(()) };
        shaper.rate = bytes_a_second(rate);
        self.hub.change_shaper(device.index, SHAPER, *shaper)
    }

    /// What a kernel does unless it is told otherwise, where a simulation has no such thing.
    fn set_up_kernel(&self, scenario: &Scenario) -> io::Result<()> {
        let room = room(scenario);
        set("net/ipv4/ip_forward", "1")?;
        for place in [Place::Senders, Place::Receivers] {
            self.within(place, || {
                set("net/ipv4/tcp_no_metrics_save", "1")?;
                set("net/ipv4/tcp_rmem", &format!("4096 131072 {room}"))?;
                set("net/ipv4/tcp_wmem", &format!("4096 65536 {room}"))?;
                set("net/ipv4/ip_local_port_range", "10000 59999")
            })?;
        }
        Ok(())
    }

    /// The wire of a link, with its shaper and queueing discipline, and that of its own delay.
    fn add_link(&mut self, i: usize, link: &LinkSpec, queue: &Queue, mtu: u32, seed: u64) -> io::Result<()> {
        let [near, far, wire, end] = ["q", "r", "p", "w"].map(|name| format!("{name}{i}"));
        self.add_wire([&near, &far], None, mtu, [Gate::Queue(i), Gate::Behind])?;
        let index = if_nametoindex(near.as_str())?;
        let options = queue.option_bytes().ok_or_else(|| io::Error::other("options of a queue are no bytes"))?;
        let shaper = (!queue.shapes).then(|| shaper(link));
        let (place, handle) = if shaper.is_some() { (CLASS, LEAF) } else { (ROOT, LEAF) };
        if let Some(shaper) = shaper {
            self.hub.set_shaper(index, SHAPER, shaper)?;
        }
        self.hub.set_qdisc(index, place, handle, &queue.kind, &options)?;
        self.add_wire([&wire, &end], None, mtu, [Gate::Behind; 2])?;
        let delay = Netem {
            delay: nanoseconds(link.delay),
            rate: Some(bytes_a_second(link.rate)),
            overhead: link.layer.added as u16,
            atm: link.layer.framing == Framing::Atm,
            loss: link.impairments.loss.map_or(0.0, |loss| loss.good),
            seed: seed.wrapping_add(i as u64),
        };
        let behind = if_nametoindex(wire.as_str())?;
        self.hub.set_qdisc(behind, ROOT, LEAF, "netem", &delay.options())?;
        self.queues.push(Device { index, place, handle, shaper, behind, delay });
        let table = TABLE + 2 * i as u32 + 1;
        self.hub.add_rule(&far, table)?;
        let (metrics, from) = (Metrics::default(), None);
        self.hub.add_route(&KernelRoute { to: None, device: &wire, from, table: Some(table), metrics })?;
        self.hub.add_rule(&end, table_of(i))
    }

    /// The access links of a host, and its routes.
    fn add_host(&mut self, k: usize, scenario: &Scenario, mtu: u32, far: [&Netlink; 2]) -> io::Result<()> {
        let HostPair { group, rtt, sender, receiver } = self.hosts[k];
        let flows = &scenario.flows[group];
        let [s, hs, d, hd] = ["s", "hs", "d", "hd"].map(|name| format!("{name}{k}"));
        self.add_wire([&hs, &s], Some(Place::Senders), mtu, [Gate::Sender(k); 2])?;
        self.add_wire([&hd, &d], Some(Place::Receivers), mtu, [Gate::Receiver(k); 2])?;
        let quarter = quarter(rtt, flows, scenario);
        let back = if flows.ack_path.is_empty() { quarter + delay_of_acks(flows, scenario) } else { quarter };
        let rate = flows.access_rate.map(bytes_a_second);
        let netem = |delay: Span| Netem { delay: nanoseconds(delay), rate, ..Netem::default() };
        self.delay(Place::Hub, &self.hub, &hd, netem(quarter))?;
        self.delay(Place::Hub, &self.hub, &hs, netem(back))?;
        for (place, link, name, own, peer) in
            [(Place::Senders, far[0], &s, sender, receiver), (Place::Receivers, far[1], &d, receiver, sender)]
        {
            self.within(place, || {
                link.bring_up(name, None)?;
                segment_singly(name)?;
                link.add_address(name, own.into(), 32)?;
                let metrics = Metrics { ecn: flows.ecn != Ecn::NotEct, initial_window: initial_window(flows) };
                link.add_route(&KernelRoute {
                    to: Some(peer.into()),
                    device: name,
                    from: Some(own.into()),
                    table: None,
                    metrics,
                })
            })?;
            self.delay(place, link, name, netem(quarter))?;
        }
        self.lead(&flows.path, receiver.into(), &hd)?;
        self.lead(&flows.ack_path, sender.into(), &hs)
    }

    /// Routes in the hub: over these links, and then out by `last`.
    fn lead(&self, path: &[usize], to: IpAddr, last: &str) -> io::Result<()> {
        let devices = path.iter().map(|link| format!("q{link}")).chain([last.to_string()]);
        let tables = std::iter::once(None).chain(path.iter().map(|link| Some(table_of(*link))));
        for (device, table) in devices.zip(tables) {
            let metrics = Metrics::default();
            self.hub.add_route(&KernelRoute { to: Some(to), device: &device, from: None, table, metrics })?;
        }
        Ok(())
    }

    /// A wire from the hub to a namespace, or back to itself.
    fn add_wire(&mut self, names: [&str; 2], to: Option<Place>, mtu: u32, gates: [Gate; 2]) -> io::Result<()> {
        let number = self.gates.len() as u32;
        let [_, a, b, c] = number.to_be_bytes();
        let namespace = to.map(|place| self.places[place as usize].as_raw_fd());
        let ends = [VethEnd { name: names[0], namespace: None }, VethEnd { name: names[1], namespace }];
        self.hub.add_wire(ends, [2, 0, 0, a, b, c], mtu)?;
        for (name, gate) in names.into_iter().zip(gates).take(if to.is_some() { 1 } else { 2 }) {
            self.hub.bring_up(name, None)?;
            self.gates.insert(if_nametoindex(name)?, gate);
        }
        Ok(())
    }

    /// What a device does to packets that leave by it, if anything.
    fn delay(&self, place: Place, link: &Netlink, device: &str, netem: Netem) -> io::Result<()> {
        if netem == Netem::default() {
            return Ok(());
        }
        self.within(place, || link.set_qdisc(if_nametoindex(device)?, ROOT, LEAF, "netem", &netem.options()))
    }
}

/// Most room of a receiver, bytes: half of it is window (`tcp_adv_win_scale`), the largest that a group has. Linux moves up to it; a
/// room of a constant size would cost a tenth more drops where windows are small.
fn room(scenario: &Scenario) -> u64 {
    let tcp = scenario.flows.iter().filter(|flows| !flows.traffic.is_udp());
    let window = tcp.map(|flows| flows.tcp.window.0 * f64::from(flows.payload)).fold(1e6, f64::max);
    (2.0 * window).min(f64::from(1 << 30)) as u64
}

/// Flows of one group share a host unless something asks for the host of a packet.
fn place_hosts(order: &GuestOrder, members: &[Vec<MemberDraft>]) -> (Vec<HostPair>, Vec<Vec<usize>>) {
    let mut hosts: Vec<HostPair> = Vec::new();
    let mut known = BTreeMap::new();
    let mut place = |member: &MemberDraft| {
        let apart = order.hosts || member.spec.access_rate.is_some() || member.spec.hosts.is_some();
        let key = (member.group, member.rtt, if apart { member.host() } else { 0 });
        *known.entry(key).or_insert_with(|| {
            let k = hosts.len() as u32;
            let at = |first: Ipv4Addr| Ipv4Addr::from(u32::from(first) + k);
            hosts.push(HostPair { group: member.group, rtt: member.rtt, sender: at(SENDERS), receiver: at(RECEIVERS) });
            hosts.len() - 1
        })
    };
    let host_of = members.iter().map(|members| members.iter().map(&mut place).collect()).collect();
    (hosts, host_of)
}

/// Delay of each of the four access links of a path.
fn quarter(rtt: Span, flows: &FlowSpec, scenario: &Scenario) -> Span {
    let own = flows.own_delay(|link| scenario.links[link].delay);
    Span(rtt.0.saturating_sub(own.0) / 4)
}

fn table_of(link: usize) -> u32 {
    TABLE + 2 * link as u32
}

/// ACKs that queue nowhere return along the same links: their propagation, and the time to send an ACK on each.
fn delay_of_acks(flows: &FlowSpec, scenario: &Scenario) -> Span {
    let ack = flows.tcp.ack.0 as u32;
    let links = flows.path.iter().map(|link| &scenario.links[*link]);
    Span(links.map(|link| link.delay.0 + link.rate.transmission(link.layer.bytes(ack)).0).sum())
}

fn initial_window(flows: &FlowSpec) -> Option<u32> {
    const USUAL: u32 = 10;
    Some(flows.tcp.initial_window.0.round() as u32).filter(|window| *window != USUAL)
}

fn shaper(link: &LinkSpec) -> Shaper {
    let (overhead, mpu) = (link.layer.added as u16, link.layer.least as u16);
    Shaper { rate: bytes_a_second(link.rate), overhead, mpu, atm: link.layer.framing == Framing::Atm }
}

fn bytes_a_second(rate: Rate) -> u64 {
    (rate.0 / 8.0).round().max(1.0) as u64
}

fn nanoseconds(span: Span) -> u64 {
    span.0 / 1000
}

/// Sets a value under /proc/sys.
fn set(name: &str, value: &str) -> io::Result<()> {
    fs::write(format!("/proc/sys/{name}"), value).map_err(|why| io::Error::other(format!("{name} = {value}: {why}")))
}

/// Segments leave the host one by one, as behind a network card: the device is not given several in one.
fn segment_singly(device: &str) -> io::Result<()> {
    const OFFLOADS: [u32; 3] = [0x1f, 0x24, 0x2c]; // ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO
    OFFLOADS.iter().try_for_each(|offload| crate::ethtool::turn_off(device, *offload))
}
