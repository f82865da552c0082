//! A flow's path compiled to delays and queues: only queues make events, everything between is one delay.

use crate::calendar::Lane;
use crate::measure::round_trips::OwnPropagation;
use crate::net::packet::AT_SENDER;
use aqmlab_core::Span;
use aqmlab_scenario::{Branch, FlowSpec, LinkSpec, Scenario};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A flow's own part of its path; the rest is its group's [`PathTemplate`].
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Round-trip propagation, as drawn.
    pub rtt: Span,
    pub lanes: Lanes,
}

/// Lanes of the calendar for events at the ends of a flow's legs, and above their bits room for something else.
#[derive(Clone, Copy, Debug)]
pub struct Lanes(u16);

/// The links that the flows of a group cross, or those of them on one line. They take their own delay; what is left of a flow's round-trip propagation is
/// split evenly between the way there and the way back, and on each between the two access links.
#[derive(Clone, Debug)]
pub struct PathTemplate {
    /// There and then back, and the way from each to the next. The last one there leads to the receiver's access link;
    /// what follows the last one back is [`PathTemplate::home`].
    pub hops: Vec<Hop>,
    /// The hop at which an ACK begins.
    pub first_back: u8,
    /// The group.
    pub group: u16,
    /// The region of the tree where its flows are, if there is a tree.
    pub region: u16,
    /// The first link, and the first on the way back or [`Leg::NO_LINK`].
    first: u32,
    first_on_way_back: u32,
    /// Propagation of the links, there and back, as the scenario begins: a link that becomes longer makes the round trip
    /// longer, too.
    own: Span,
    /// The first link is the interface of the sending host: nothing lies before it.
    pub begins_at_host: bool,
    /// The part of [`PathTemplate::back`] and [`PathTemplate::home`] that all flows of the group share.
    back: Span,
    home: Span,
}

/// A constant delay.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    pub delay: Span,
    /// Lane of the calendar for events at its end.
    pub lane: Lane,
    /// The link at its end; [`Leg::NO_LINK`] if that is an end of the flow.
    pub to: u32,
}

impl Leg {
    /// In place of a link.
    pub const NO_LINK: u32 = u32::MAX;
}

/// A link and what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub link: usize,
    pub onward: Leg,
    pub next: NextHop,
}

/// The next hop after a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextHop {
    /// The next link.
    Link,
    /// The receiver's access link.
    Receiver,
    /// The sender, by [`PathTemplate::home`].
    Sender,
}

impl Lanes {
    const ANY: Self = Self(0);
    const HOME: u32 = 2 * Lane::BITS;
    const SPARE: u32 = 3 * Lane::BITS;

    fn new(entry: Lane, back: Lane) -> Self {
        Self(entry.bits() | back.bits() << Lane::BITS)
    }

    fn with_home(self, home: Lane) -> Self {
        Self(self.0 | home.bits() << Self::HOME)
    }

    #[inline(always)]
    fn entry(self) -> Lane {
        Lane::of_bits(self.0)
    }

    #[inline(always)]
    fn back(self) -> Lane {
        Lane::of_bits(self.0 >> Lane::BITS)
    }

    #[inline(always)]
    fn home(self) -> Lane {
        Lane::of_bits(self.0 >> Self::HOME)
    }

    /// The content of the bits above.
    #[inline(always)]
    pub fn spare(self) -> u16 {
        self.0 >> Self::SPARE
    }

    /// These with something else in the bits above.
    pub fn with_spare(self, spare: u16) -> Self {
        Self(self.0 & ((1 << Self::SPARE) - 1) | spare << Self::SPARE)
    }
}

impl PathTemplate {
    pub fn new(links: &[LinkSpec], spec: &FlowSpec, group: usize, branch: Option<&Branch>) -> Self {
        let (there, back) = branch.map_or((&spec.path, &spec.ack_path), |branch| (&branch.path, &branch.ack_path));
        let crossed = || there.iter().chain(back);
        let (there, end) = (there.len(), crossed().count());
        let path: Vec<usize> = crossed().copied().collect();
        let hop = |(i, link): (usize, &usize)| {
            let next = if i + 1 == there {
                NextHop::Receiver
            } else if i + 1 == end {
                NextHop::Sender
            } else {
                NextHop::Link
            };
            let to = if next == NextHop::Link { path[i + 1] as u32 } else { Leg::NO_LINK };
            Hop { link: *link, onward: Leg { delay: Span::ZERO, lane: Lane::ANY, to }, next }
        };
        let first_back = if back.is_empty() { AT_SENDER } else { there as u8 };
        let mut way = Self {
            hops: crossed().enumerate().map(hop).collect(),
            first_back,
            group: group as u16, // fewer than 65536: a scenario's text is not long enough for more
            region: branch.map_or(0, |branch| branch.region),
            first: path[0] as u32,
            first_on_way_back: back.first().map_or(Leg::NO_LINK, |link| *link as u32),
            own: spec.own_delay(|link| links[link].delay), // alike on all lines; on a fabric that of the longest way
            begins_at_host: links[path[0]].host,
            back: Span::ZERO,
            home: Span::ZERO,
        };
        way.update(links, spec);
        way
    }

    /// The delays that follow from the links as they are now.
    fn update(&mut self, links: &[LinkSpec], spec: &FlowSpec) {
        for hop in &mut self.hops {
            hop.onward.delay = links[hop.link].delay;
        }
        let ack = spec.tcp.ack.0 as u32;
        let send_ack = spec.access_rate.map_or(0, |rate| rate.transmission(ack).0);
        let there = self.hops.iter().map(|hop| hop.link);
        let over_links = |time: &dyn Fn(&LinkSpec) -> Span| there.clone().map(|link| time(&links[link]).0).sum::<u64>();
        (self.back, self.home) = match self.hops.last().filter(|_| self.first_back != AT_SENDER) {
            Some(last) => (Span(send_ack), links[last.link].delay + Span(send_ack)),
            None => {
                let propagation = over_links(&|link| link.delay);
                let sending = over_links(&|link| link.rate.transmission(link.layer.bytes(ack)));
                (Span(propagation + sending + 2 * send_ack), Span::ZERO)
            }
        };
    }

    /// Propagation on the access links, there and back.
    #[inline]
    fn access(&self, route: Route) -> (u64, u64) {
        let spare = route.rtt.0.saturating_sub(self.own.0); // a lognormal tail may fall below the path itself
        (spare / 2, spare - spare / 2)
    }

    /// The delay that a flow adds to its packets by itself.
    pub fn own_propagation(&self, route: Route) -> OwnPropagation {
        OwnPropagation { there: Span(self.access(route).0), back: Span(route.rtt.max(self.own).0 / 2) }
    }

    /// From the end of the sender's access link to the first queue.
    #[inline]
    pub fn entry(&self, route: Route) -> Leg {
        Leg { delay: self.before_first(route), lane: route.lanes.entry(), to: self.first }
    }

    /// From the receiver's access link to the receiver.
    #[inline]
    pub fn egress(&self, route: Route) -> Span {
        Span(self.access(route).0 - self.before_first(route).0)
    }

    #[inline]
    fn before_first(&self, route: Route) -> Span {
        if self.begins_at_host { Span::ZERO } else { Span(self.access(route).0 / 2) }
    }

    /// From the receiver to the first queue on the way back, or to the sender if there is none; time to send the ACK
    /// included.
    #[inline]
    pub fn back(&self, route: Route) -> Leg {
        let access = self.access(route).1;
        let first = if self.first_back == AT_SENDER { access } else { access / 2 };
        Leg { delay: self.back + Span(first), lane: route.lanes.back(), to: self.first_on_way_back }
    }

    /// From the last link on the way back to the sender.
    #[inline]
    pub fn home(&self, route: Route) -> Leg {
        let access = self.access(route).1;
        Leg { delay: self.home + Span(access - access / 2), lane: route.lanes.home(), to: Leg::NO_LINK }
    }

    /// Time from the request of a transfer of so many segments to its last ACK where nothing else is sent, and no window holds it back: the
    /// handshake, then all segments at the slowest link, and the ACK of the last. ACKs queue on the way back.
    pub fn ideal(&self, route: Route, links: &[LinkSpec], [syn, data, ack]: [u16; 3], segments: u32) -> Span {
        let (there, back) = self.hops.split_at(usize::from(self.first_back));
        let send = |hop: &Hop, size: u16| {
            let link = &links[hop.link];
            link.rate.transmission(link.layer.bytes(size.into())).0
        };
        let along = |hops: &[Hop], size| hops.iter().map(|hop| send(hop, size)).sum::<u64>();
        let delays = |hops: &[Hop]| hops.iter().map(|hop| hop.onward.delay.0).sum::<u64>();
        let last = back.len().saturating_sub(1);
        let there_delay = self.entry(route).delay.0 + delays(there) + self.egress(route).0;
        let back_takes = self.back(route).delay.0 + delays(&back[..last]) + self.home(route).delay.0 + along(back, ack);
        let slowest = there.iter().map(|hop| send(hop, data)).max().unwrap_or(0);
        let handshake = there_delay + along(there, syn) + back_takes;
        Span(
            handshake + there_delay + along(there, data) + u64::from(segments.saturating_sub(1)) * slowest + back_takes,
        )
    }

    pub fn crosses(&self, link: usize) -> bool {
        self.hops.iter().any(|hop| hop.link == link)
    }
}

/// The ways of all groups.
#[derive(Clone)]
pub struct Routes {
    /// The links that the flows of each group cross; of a group on lines, those of each line.
    pub ways: Arc<[PathTemplate]>,
    /// The first way of each group, and the end.
    first: Arc<[u32]>,
    /// How many ways there are; behind them is room for more.
    count: usize,
    /// The lanes of a group's flows with a round-trip propagation that many have.
    lanes: BTreeMap<(usize, Span), Lanes>,
}

impl Routes {
    pub fn new(scenario: &Scenario) -> Self {
        let (mut ways, mut first) = (Vec::new(), vec![0]);
        for (group, spec) in scenario.flows.iter().enumerate() {
            let branches = spec.branches.iter().map(Some).chain(spec.branches.is_empty().then_some(None));
            ways.extend(branches.map(|branch| PathTemplate::new(&scenario.links, spec, group, branch)));
            first.push(ways.len() as u32);
        }
        Self { count: ways.len(), ways: ways.into(), first: first.into(), lanes: BTreeMap::new() }
    }

    /// Index of the way of a group's flows, on the `branch`-th of its lines if it is on lines.
    pub fn way(&self, group: usize, branch: usize) -> u32 {
        self.first[group] + branch as u32
    }

    /// One more way; returns its index.
    pub fn add(&mut self, way: PathTemplate) -> u32 {
        if self.count == self.ways.len() {
            let room = std::iter::repeat_n(&way, self.count.max(1 << 10));
            self.ways = self.ways.iter().chain(room).cloned().collect();
        }
        Arc::make_mut(&mut self.ways)[self.count] = way;
        self.count += 1;
        self.count as u32 - 1
    }

    /// The group of a way.
    #[inline(always)]
    pub fn group(&self, way: u32) -> usize {
        self.ways[way as usize].group as usize
    }

    /// The route of a flow of `group` with this round-trip propagation.
    pub fn of(&self, group: usize, rtt: Span) -> Route {
        Route { rtt, lanes: self.lanes.get(&(group, rtt)).copied().unwrap_or(Lanes::ANY) }
    }

    /// There are delays that many flows share.
    pub fn has_lanes(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// Rate or delay of a link has changed: ACKs that cross it without queueing take another time, and with its delay the
    /// round-trip propagation of all flows that cross it changes. `links` are as they are now.
    pub fn follow(&mut self, flows: &[FlowSpec], links: &[LinkSpec], link: usize) {
        for way in Arc::make_mut(&mut self.ways).iter_mut().filter(|way| way.crosses(link)) {
            way.update(links, &flows[way.group as usize]);
        }
    }

    /// Gives a lane to the delays that many flows share; there events come in order. `drawn`: group and round-trip
    /// propagation of each flow or client.
    pub fn assign_lanes(&mut self, mut drawn: Vec<(usize, Span)>, mut new_lane: impl FnMut() -> Lane) {
        drawn.sort_unstable();
        let mut onward: BTreeMap<(usize, Span), Lane> = BTreeMap::new();
        for alike in drawn.chunk_by(|a, b| a == b).filter(|alike| alike.len() * 20 >= drawn.len()) {
            let (group, rtt) = alike[0];
            let mut lanes = Lanes::new(new_lane(), new_lane());
            let of = self.first[group] as usize..self.first[group + 1] as usize;
            let [way] = &mut Arc::make_mut(&mut self.ways)[of] else {
                self.lanes.insert((group, rtt), lanes); // on many lines few packets follow each other
                continue;
            };
            for hop in way.hops.iter_mut().filter(|hop| hop.next == NextHop::Link) {
                hop.onward.lane = *onward.entry((hop.link, hop.onward.delay)).or_insert_with(&mut new_lane);
            }
            if let Some(last) = way.hops.last().filter(|hop| hop.next == NextHop::Sender) {
                let delay = way.home(Route { rtt, lanes }).delay;
                lanes = lanes.with_home(*onward.entry((last.link, delay)).or_insert_with(&mut new_lane));
            }
            self.lanes.insert((group, rtt), lanes);
        }
    }
}
