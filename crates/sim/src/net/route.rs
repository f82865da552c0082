//! A flow's path compiled to delays and queues: only queues make events, everything between is one delay.

use crate::engine::calendar::{Calendar, Lane};
use crate::engine::event::{AT_SENDER, Event};
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_core::{Rate, Span};
use aqmlab_scenario::{FlowSpec, LinkSpec, Scenario};
use std::collections::BTreeMap;

/// What a flow has of its own on its path; the rest is its group's [`Way`].
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// Round-trip propagation, as drawn.
    pub rtt: Span,
    pub lanes: Lanes,
}

/// Where events at the ends of its legs are queued.
#[derive(Clone, Copy, Debug)]
pub struct Lanes {
    entry: Lane,
    back: Lane,
    home: Lane,
}

/// The links that the flows of a group cross. They take their own delay; what is left of a flow's round-trip propagation is
/// split evenly between the way there and the way back, and on each between the two access links.
#[derive(Clone, Debug)]
pub struct Way {
    /// There and then back, and the way from each to the next. The last one there leads to the receiver's access link;
    /// what follows the last one back is [`Way::home`].
    pub hops: Vec<Hop>,
    /// The hop at which an ACK begins.
    pub first_back: u8,
    /// Propagation of the links, there and back, as the scenario begins: a link that becomes longer makes the round trip
    /// longer, too.
    own: Span,
    /// What all flows have in common of [`Way::back`] and [`Way::home`].
    back: Span,
    home: Span,
}

/// A constant delay.
#[derive(Clone, Copy, Debug)]
pub struct Leg {
    pub delay: Span,
    /// Where events at its end are queued.
    pub lane: Lane,
}

/// A link and what follows it.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    pub link: usize,
    pub onward: Leg,
    pub next: Next,
}

/// Where a link leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// The next link.
    Link,
    /// The receiver's access link.
    Receiver,
    /// The sender, by [`Way::home`].
    Sender,
}

/// What a route knows of a link.
#[derive(Clone, Copy, Debug)]
struct Wire {
    delay: Span,
    rate: Rate,
    layer: LinkLayer,
}

impl Wire {
    fn transmission(&self, size: u32) -> Span {
        self.rate.transmission(self.layer.bytes(size))
    }
}

impl Lanes {
    const ANY: Self = Self { entry: Lane::ANY, back: Lane::ANY, home: Lane::ANY };
}

impl Way {
    fn new(scenario: &Scenario, wires: &[Wire], spec: &FlowSpec) -> Self {
        let links = || spec.path.iter().chain(&spec.ack_path);
        let (there, end) = (spec.path.len(), links().count());
        let hop = |(i, link): (usize, &usize)| {
            let onward = Leg { delay: Span::ZERO, lane: Lane::ANY };
            let next = if i + 1 == there {
                Next::Receiver
            } else if i + 1 == end {
                Next::Sender
            } else {
                Next::Link
            };
            Hop { link: *link, onward, next }
        };
        let first_back = if spec.ack_path.is_empty() { AT_SENDER } else { spec.path.len() as u8 };
        let mut way = Self {
            hops: links().enumerate().map(hop).collect(),
            first_back,
            own: spec.own_delay(|link| scenario.links[link].delay),
            back: Span::ZERO,
            home: Span::ZERO,
        };
        way.update(wires, spec);
        way
    }

    /// The delays that follow from the links as they are now.
    fn update(&mut self, wires: &[Wire], spec: &FlowSpec) {
        for hop in &mut self.hops {
            hop.onward.delay = wires[hop.link].delay;
        }
        let ack = spec.tcp.ack.0 as u32;
        let send_ack = spec.access_rate.map_or(0, |rate| rate.transmission(ack).0);
        let over_links = |time: &dyn Fn(&Wire) -> Span| spec.path.iter().map(|link| time(&wires[*link]).0).sum::<u64>();
        (self.back, self.home) = match spec.ack_path.last() {
            Some(last) => (Span(send_ack), wires[*last].delay + Span(send_ack)),
            None => {
                let (propagation, sending) =
                    (over_links(&|wire| wire.delay), over_links(&|wire| wire.transmission(ack)));
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

    /// From the end of the sender's access link to the first queue.
    #[inline]
    pub fn entry(&self, route: Route) -> Leg {
        Leg { delay: Span(self.access(route).0 / 2), lane: route.lanes.entry }
    }

    /// From the receiver's access link to the receiver.
    #[inline]
    pub fn egress(&self, route: Route) -> Span {
        let there = self.access(route).0;
        Span(there - there / 2)
    }

    /// From the receiver to the first queue on the way back, or to the sender if there is none; time to send the ACK
    /// included.
    #[inline]
    pub fn back(&self, route: Route) -> Leg {
        let access = self.access(route).1;
        let first = if self.first_back == AT_SENDER { access } else { access / 2 };
        Leg { delay: self.back + Span(first), lane: route.lanes.back }
    }

    /// From the last link on the way back to the sender.
    #[inline]
    pub fn home(&self, route: Route) -> Leg {
        let access = self.access(route).1;
        Leg { delay: self.home + Span(access - access / 2), lane: route.lanes.home }
    }

    fn crosses(&self, link: usize) -> bool {
        self.hops.iter().any(|hop| hop.link == link)
    }
}

/// The ways of all groups.
#[derive(Clone)]
pub struct Routes {
    /// The links that each group's flows cross.
    pub ways: Vec<Way>,
    /// The lanes of a group's flows with a round-trip propagation that many have.
    lanes: BTreeMap<(usize, Span), Lanes>,
    /// The links as they are now.
    wires: Vec<Wire>,
}

impl Routes {
    pub fn new(scenario: &Scenario) -> Self {
        let wire = |link: &LinkSpec| Wire { delay: link.delay, rate: link.rate, layer: link.layer };
        let wires: Vec<Wire> = scenario.links.iter().map(wire).collect();
        let ways = scenario.flows.iter().map(|spec| Way::new(scenario, &wires, spec)).collect();
        Self { ways, lanes: BTreeMap::new(), wires }
    }

    /// The route of a flow of `group` with this round-trip propagation.
    pub fn of(&self, group: usize, rtt: Span) -> Route {
        Route { rtt, lanes: self.lanes.get(&(group, rtt)).copied().unwrap_or(Lanes::ANY) }
    }

    /// There are delays that many flows share.
    pub fn has_lanes(&self) -> bool {
        !self.lanes.is_empty()
    }

    /// A link's rate is another. ACKs that cross it without queueing take another time.
    pub fn set_rate(&mut self, scenario: &Scenario, link: usize, rate: Rate) {
        self.wires[link].rate = rate;
        self.update(scenario, link);
    }

    /// A link's delay is another, and with it the round-trip propagation of all flows that cross the link.
    pub fn set_delay(&mut self, scenario: &Scenario, link: usize, delay: Span) {
        self.wires[link].delay = delay;
        self.update(scenario, link);
    }

    fn update(&mut self, scenario: &Scenario, link: usize) {
        for (way, spec) in self.ways.iter_mut().zip(&scenario.flows).filter(|(way, _)| way.crosses(link)) {
            way.update(&self.wires, spec);
        }
    }

    /// Gives a lane to the delays that many flows share; there events come in order. `drawn`: group and round-trip
    /// propagation of each flow or client.
    pub fn assign_lanes(&mut self, mut drawn: Vec<(usize, Span)>, calendar: &mut Calendar<Event>) {
        drawn.sort_unstable();
        let mut onward: BTreeMap<(usize, Span), Lane> = BTreeMap::new();
        let mut shared = |link, delay, calendar: &mut Calendar<Event>| {
            *onward.entry((link, delay)).or_insert_with(|| calendar.lane())
        };
        for alike in drawn.chunk_by(|a, b| a == b).filter(|alike| alike.len() * 20 >= drawn.len()) {
            let (group, rtt) = alike[0];
            let mut lanes = Lanes { entry: calendar.lane(), back: calendar.lane(), home: Lane::ANY };
            let way = &mut self.ways[group];
            for hop in way.hops.iter_mut().filter(|hop| hop.next == Next::Link) {
                hop.onward.lane = shared(hop.link, hop.onward.delay, calendar);
            }
            if let Some(last) = way.hops.last().filter(|hop| hop.next == Next::Sender) {
                lanes.home = shared(last.link, way.home(Route { rtt, lanes }).delay, calendar);
            }
            self.lanes.insert((group, rtt), lanes);
        }
    }
}
