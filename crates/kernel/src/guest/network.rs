//! The network of a scenario: senders, a hub with the links' queues, receivers, each in a network namespace.
//!
//! ```text
//!   senders     s0 === hs0                               hd0 === d0     receivers
//!   10.0.0.1    s1 === hs1   hub: q0 === r0, p0 === w0    hd1 === d1     10.128.0.1
//! ```
//!
//! A pair of devices is a wire without a delay. A flow's packets reach the hub by `hs`, leave it by `q`, the device of a link with its
//! shaper and queueing discipline, come back by `r` when their transmission begins, go over the link's wire (`p` to `w`: the time to send
//! them, and the propagation; a second one where packets jitter or are lost in bursts), and so from link to link until they leave by
//! `hd`. What follows a device is a routing table of its own. The access links are delays at `s`, `hd`, `d` and `hs`: a quarter of what
//! is left of the round trip.

use aqmlab_aqm::Ecn;
use aqmlab_aqm::link_layer::Framing;
use aqmlab_core::{Rate, Span, Stream};
use aqmlab_kernel::{ETHERNET_HEADER, GuestOrder, Queue, largest_frame, law_of_linux};
use aqmlab_netlink::{Handle, KernelRoute, Metrics, Netem, NetemLoss, Netlink, QdiscStats, ROOT, Shaper, VethEnd};
use aqmlab_scenario::{Action, Distribution, FlowSpec, LinkSpec, Loss, Scenario};
use aqmlab_sim::kernel::{FlowInstanceSpec, OwnPropagation};
use aqmlab_tcp::EcnFeedback;
use aqmlab_tcp::params::BurstLimit;
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::AsRawFd;
use std::path::Path;

const SENDERS: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
const RECEIVERS: Ipv4Addr = Ipv4Addr::new(10, 128, 0, 1);
/// First routing table of a link.
const TABLE: u32 = 1000;
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
    /// On the wire of a link.
    Wire,
    /// Out of the wire of a link.
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
    /// Its wire in one piece or two: the first takes the time to send a packet and to propagate it, the last loses packets.
    wire: Vec<Stretch>,
}

/// A piece of a link's wire: the device that packets enter it by, and what happens to them.
struct Stretch {
    index: u32,
    netem: Netem,
}

/// A network namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// That of the links.
    Hub = 0,
    /// That of the senders.
    Senders = 1,
    /// That of the receivers.
    Receivers = 2,
}

impl GuestNetwork {
    /// Makes it; the process is in the hub then.
    pub fn new(order: &GuestOrder, scenario: &Scenario, members: &[Vec<FlowInstanceSpec>]) -> io::Result<Self> {
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
        let mtu = largest_frame(scenario) - ETHERNET_HEADER;
        for i in 0..scenario.links.len() {
            network.add_link(i, scenario, &order.queues[i], mtu, order.seed)?;
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
    pub fn within<T>(&self, place: Namespace, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        setns(&self.places[place as usize], CloneFlags::CLONE_NEWNET)?;
        let done = act();
        setns(&self.places[Namespace::Hub as usize], CloneFlags::CLONE_NEWNET)?;
        done
    }

    /// Ends of its wires.
    pub fn devices(&self) -> u64 {
        self.gates.values().map(|gate| if matches!(gate, Gate::Sender(_) | Gate::Receiver(_)) { 2 } else { 1 }).sum()
    }

    /// Counts of a link's queueing discipline.
    pub fn stats(&self, link: usize) -> io::Result<QdiscStats> {
        let Device { index, place, handle, .. } = self.queues[link];
        self.hub.qdisc_stats(index, place, handle)
    }

    /// The delay that the flows of a host add to their packets by themselves. Half of the way there lies between the host and the hub, so
    /// that nobody sees it there.
    pub fn own_propagation(&self, host: usize, scenario: &Scenario) -> OwnPropagation {
        let HostPair { group, rtt, .. } = self.hosts[host];
        OwnPropagation { there: Span(2 * quarter(rtt, &scenario.flows[group], scenario).0), back: Span(rtt.0 / 2) }
    }

    /// Packets that a link's wire has lost.
    pub fn lost(&self, link: usize) -> io::Result<u64> {
        let lost = |stretch: &Stretch| Ok(u64::from(self.hub.qdisc_stats(stretch.index, ROOT, LEAF)?.dropped));
        self.queues[link].wire.iter().map(lost).sum()
    }

    /// Changes the rate of a link.
    pub fn set_rate(&mut self, link: usize, rate: Rate) -> io::Result<()> {
        let device = &mut self.queues[link];
        device.wire[0].netem.rate = Some(bytes_a_second(rate));
        device.wire[0].change(&self.hub)?;
        let Some(shaper) = &mut device.shaper else { return Ok(()) };
        shaper.rate = bytes_a_second(rate);
        self.hub.change_shaper(device.index, SHAPER, *shaper)
    }

    /// Changes the propagation delay of a link.
    pub fn set_delay(&mut self, link: usize, delay: Span) -> io::Result<()> {
        let stretch = &mut self.queues[link].wire[0];
        stretch.netem.delay = nanoseconds(delay);
        stretch.change(&self.hub)
    }

    /// Changes the loss on the wire of a link.
    pub fn set_loss(&mut self, link: usize, loss: Loss) -> io::Result<()> {
        let Some(stretch) = self.queues[link].wire.last_mut() else { return Ok(()) };
        stretch.netem.loss = Some(netem_loss(loss));
        stretch.change(&self.hub)
    }

    /// Changes the parameters or the buffer of a link's queueing discipline; what waits stays.
    pub fn set_queue(&mut self, link: usize, queue: &Queue) -> io::Result<()> {
        let Device { index, place, handle, .. } = self.queues[link];
        self.hub.set_qdisc(index, place, handle, &queue.kind, &bytes_of(queue)?)
    }

    /// ACKs that queue nowhere follow a link whose rate or delay has changed.
    pub fn follow(&self, link: usize, scenario: &Scenario, links: &[LinkSpec]) -> io::Result<()> {
        for (k, host) in self.hosts.iter().enumerate() {
            let flows = &scenario.flows[host.group];
            if flows.path.contains(&link) && flows.ack_path.is_empty() {
                let netem = access(flows, quarter(host.rtt, flows, scenario) + delay_of_acks(flows, links));
                self.delay(Namespace::Hub, &self.hub, &format!("hs{k}"), netem)?;
            }
        }
        Ok(())
    }

    /// What a kernel does unless it is told otherwise, where a simulation has no such thing.
    fn set_up_kernel(&self, scenario: &Scenario) -> io::Result<()> {
        let room = room(scenario);
        without_ipv6()?;
        set("net/ipv4/ip_forward", "1")?;
        for place in [Namespace::Senders, Namespace::Receivers] {
            self.within(place, || {
                without_ipv6()?;
                set("net/ipv4/tcp_no_metrics_save", "1")?;
                set("net/ipv4/tcp_rmem", &format!("4096 131072 {room}"))?;
                set("net/ipv4/tcp_wmem", &format!("4096 65536 {room}"))?;
                set("net/ipv4/ip_local_port_range", "10000 59999")
            })?;
        }
        Ok(())
    }

    /// The device of a link, with its shaper and queueing discipline, and its wire.
    fn add_link(&mut self, i: usize, scenario: &Scenario, queue: &Queue, mtu: u32, seed: u64) -> io::Result<()> {
        let link = &scenario.links[i];
        let [near, far] = ["q", "r"].map(|name| format!("{name}{i}"));
        self.add_wire([&near, &far], None, mtu, [Gate::Queue(i), Gate::Wire])?;
        let index = if_nametoindex(near.as_str())?;
        let shaper = (!queue.shapes).then(|| shaper(link));
        let (place, handle) = if shaper.is_some() { (CLASS, LEAF) } else { (ROOT, LEAF) };
        if let Some(shaper) = shaper {
            self.hub.set_shaper(index, SHAPER, shaper)?;
        }
        self.hub.set_qdisc(index, place, handle, &queue.kind, &bytes_of(queue)?)?;
        let mut wire = Vec::new();
        let mut from = far;
        let stretches = stretches(i, scenario, seed);
        let last = stretches.len() - 1;
        for (n, netem) in stretches.into_iter().enumerate() {
            let [enter, leave] = ["p", "w"].map(|name| format!("{name}{i}.{n}"));
            self.add_wire(
                [&enter, &leave],
                None,
                mtu,
                [Gate::Wire, if n == last { Gate::Behind } else { Gate::Wire }],
            )?;
            let mut stretch = Stretch { index: if_nametoindex(enter.as_str())?, netem };
            stretch.change(&self.hub)?;
            stretch.netem.seed = None; // its random numbers go on when it changes
            wire.push(stretch);
            let (table, metrics) = (table_of(i) + 1 + n as u32, Metrics::default());
            self.hub.add_rule(&from, table)?;
            self.hub.add_route(&KernelRoute { to: None, device: &enter, from: None, table: Some(table), metrics })?;
            from = leave;
        }
        self.queues.push(Device { index, place, handle, shaper, wire });
        self.hub.add_rule(&from, table_of(i))
    }

    /// The access links of a host, and its routes.
    fn add_host(&mut self, k: usize, scenario: &Scenario, mtu: u32, far: [&Netlink; 2]) -> io::Result<()> {
        let HostPair { group, rtt, sender, receiver } = self.hosts[k];
        let flows = &scenario.flows[group];
        let [s, hs, d, hd] = ["s", "hs", "d", "hd"].map(|name| format!("{name}{k}"));
        self.add_wire([&hs, &s], Some(Namespace::Senders), mtu, [Gate::Sender(k); 2])?;
        self.add_wire([&hd, &d], Some(Namespace::Receivers), mtu, [Gate::Receiver(k); 2])?;
        let quarter = quarter(rtt, flows, scenario);
        let back = if flows.ack_path.is_empty() { quarter + delay_of_acks(flows, &scenario.links) } else { quarter };
        self.delay(Namespace::Hub, &self.hub, &hd, access(flows, quarter))?;
        self.delay(Namespace::Hub, &self.hub, &hs, access(flows, back))?;
        for (place, link, name, own, peer) in
            [(Namespace::Senders, far[0], &s, sender, receiver), (Namespace::Receivers, far[1], &d, receiver, sender)]
        {
            self.within(place, || {
                link.bring_up(name, None)?;
                if flows.tcp.bursts == BurstLimit::Packet {
                    link.segment_singly(name)?;
                }
                take_singly(name)?;
                link.add_address(name, own.into(), 32)?;
                let (ecn, law) = (flows.ecn != Ecn::NotEct, flows.control.needs().feedback == EcnFeedback::PerPacket);
                let law = if law { law_of_linux(flows.control.name()) } else { None };
                let metrics = Metrics { ecn, initial_window: initial_window(flows), law };
                link.add_route(&KernelRoute {
                    to: Some(peer.into()),
                    device: name,
                    from: Some(own.into()),
                    table: None,
                    metrics,
                })
            })?;
            self.delay(place, link, name, access(flows, quarter))?;
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
    fn add_wire(&mut self, names: [&str; 2], to: Option<Namespace>, mtu: u32, gates: [Gate; 2]) -> io::Result<()> {
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
    fn delay(&self, place: Namespace, link: &Netlink, device: &str, netem: Netem) -> io::Result<()> {
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
fn place_hosts(order: &GuestOrder, members: &[Vec<FlowInstanceSpec>]) -> (Vec<HostPair>, Vec<Vec<usize>>) {
    let mut hosts: Vec<HostPair> = Vec::new();
    let mut known = BTreeMap::new();
    let mut place = |member: &FlowInstanceSpec| {
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

/// The routing table for what comes out of a link; those of its wire are the next.
fn table_of(link: usize) -> u32 {
    TABLE + 3 * link as u32
}

/// An access link.
fn access(flows: &FlowSpec, delay: Span) -> Netem {
    Netem { delay: nanoseconds(delay), rate: flows.access_rate.map(bytes_a_second), ..Netem::default() }
}

/// The pieces of a link's wire. Jitter has one of its own, without a time to send: packets that bunch leave together. So do bursts of
/// losses, which a change of the rate would end.
fn stretches(i: usize, scenario: &Scenario, seed: u64) -> Vec<Netem> {
    let link = &scenario.links[i];
    let seed = Some(scattered(seed, &link.name));
    let loss = link.impairments.loss.map(netem_loss);
    let first = Netem {
        delay: nanoseconds(link.delay),
        rate: Some(bytes_a_second(link.rate)),
        overhead: link.layer.added as u16,
        atm: link.layer.framing == Framing::Atm,
        seed,
        ..Netem::default()
    };
    if !needs_two(i, scenario) {
        return vec![Netem { loss, ..first }];
    }
    const AT_ONCE: u64 = 1 << 40; // bytes a second; only with a rate packets keep their order
    vec![first, Netem { rate: Some(AT_ONCE), loss, jitter: extra_delays(link, seed), seed, ..Netem::default() }]
}

fn needs_two(i: usize, scenario: &Scenario) -> bool {
    let link = &scenario.links[i];
    let is_in_bursts = |loss: Loss| loss.p > 0.0;
    let actions = scenario.changes.iter().filter_map(|change| change.action(scenario, &scenario.links).ok());
    let changes = actions.filter(|action| matches!(action, Action::Loss(at, loss) if *at == i && is_in_bursts(*loss)));
    link.impairments.jitter.is_some() || link.impairments.loss.is_some_and(is_in_bursts) || changes.count() > 0
}

/// A seed for the random numbers of a link's wire, of 52 bits: netem uses the first numbers that follow from its seed, and those of
/// small seeds are small (`prandom_seed_state`), so that the first packet of a run would be lost.
fn scattered(seed: u64, link: &str) -> u64 {
    (Stream::new(seed, &format!("links.{link}.wire"), 0).uniform() * (1u64 << 52) as f64) as u64
}

/// Draws of a link's jitter, ns.
fn extra_delays(link: &LinkSpec, seed: Option<u64>) -> Vec<u64> {
    const DRAWS: usize = 8192; // at most 16384 (NETEM_DIST_MAX)
    let mut stream = Stream::new(seed.unwrap_or_default(), &format!("links.{}.jitter", link.name), 0);
    let draw = |law: &Distribution<Span>| (0..DRAWS).map(|i| nanoseconds(law.draw(i, &mut stream))).collect();
    link.impairments.jitter.as_ref().map(draw).unwrap_or_default()
}

fn netem_loss(Loss { p, r, bad, good }: Loss) -> NetemLoss {
    NetemLoss { p, r, bad, good }
}

fn bytes_of(queue: &Queue) -> io::Result<Vec<u8>> {
    queue.option_bytes().ok_or_else(|| io::Error::other("options of a queue are no bytes"))
}

impl Stretch {
    /// Tells the kernel what happens to packets from now on.
    fn change(&self, hub: &Netlink) -> io::Result<()> {
        hub.set_qdisc(self.index, ROOT, LEAF, "netem", &self.netem.options())
    }
}

/// ACKs that queue nowhere return along the same links: their propagation, and the time to send an ACK on each.
fn delay_of_acks(flows: &FlowSpec, links: &[LinkSpec]) -> Span {
    let ack = flows.tcp.ack.0 as u32;
    let links = flows.path.iter().map(|link| &links[*link]);
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

/// Devices ask for no IPv6 router: packets of 70 B that would cross the links.
fn without_ipv6() -> io::Result<()> {
    let asks = Path::new("/proc/sys/net/ipv6").exists(); // not in a kernel that has been built without it
    ["all", "default"]
        .into_iter()
        .filter(|_| asks)
        .try_for_each(|of| set(&format!("net/ipv6/conf/{of}/disable_ipv6"), "1"))
}

/// Segments are handed on one by one, as behind a network card: no device joins several to one.
fn take_singly(device: &str) -> io::Result<()> {
    const OFFLOADS: [u32; 3] = [0x1f, 0x24, 0x2c]; // ETHTOOL_STSO, ETHTOOL_SGSO, ETHTOOL_SGRO
    OFFLOADS.iter().try_for_each(|offload| crate::ethtool::turn_off(device, *offload))
}
