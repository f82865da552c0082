//! A flow's path compiled to delays and queues: only queues make events, everything between is one delay.

use crate::engine::calendar::{Calendar, Lane};
use crate::engine::event::AT_SENDER;
use crate::scenario::{FlowSpec, LinkSpec, Scenario};
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_core::{Rate, Span};
use std::collections::BTreeMap;

/// The delays of one flow's packets to its receiver and of its ACKs back. Each flow has a copy, which saves a look
/// elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// From the end of the sender's access link to the first queue.
    pub entry: Leg,
    /// From the receiver to the first queue on the way back, or to the sender if there is none; time to send the ACK
    /// included.
    pub back: Leg,
    /// From the last link on the way back to the sender.
    pub home: Leg,
    /// From the receiver's access link to the receiver.
    pub egress: Span,
    /// Its place among the routes, and that of its [`Way`].
    pub number: u32,
    pub way: u16,
    /// The hop at which an ACK begins.
    pub first_back: u8,
}

/// The links that the flows of a group cross.
#[derive(Clone, Debug)]
pub struct Way {
    /// There and then back, and the way from each to the next. The last one there leads to the receiver's access link;
    /// what follows the last one back is in the [`Route`].
    pub hops: Vec<Hop>,
    /// How many of them are on the way there.
    pub there: usize,
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

/// Propagation of the links that a flow crosses, there and back.
fn own_delay(wires: &[Wire], spec: &FlowSpec) -> Span {
    spec.own_delay(|link| wires[link].delay)
}

impl Leg {
    fn new(delay: u64) -> Self {
        Leg { delay: Span(delay), lane: Lane::ANY }
    }
}

impl Way {
    fn new(wires: &[Wire], spec: &FlowSpec) -> Self {
        let hop = |link: &usize| Hop { link: *link, onward: Leg::new(wires[*link].delay.0) };
        Self { hops: spec.path.iter().chain(&spec.ack_path).map(hop).collect(), there: spec.path.len() }
    }
}

impl Route {
    /// The route of a flow with this round-trip propagation. The links take their own delay; what is left is split
    /// evenly between the way there and the way back, and on each between the two access links.
    fn new(wires: &[Wire], spec: &FlowSpec, (number, way): (u32, u16), rtt: Span) -> Self {
        let own = own_delay(wires, spec);
        let spare = rtt.0.saturating_sub(own.0); // a lognormal tail may fall below the path itself
        let (access_there, access_back) = (spare / 2, spare - spare / 2);
        let entry = access_there / 2;
        let ack = spec.tcp.ack.0 as u32;
        let send_ack = spec.access_rate.map_or(0, |rate| rate.transmission(ack).0);
        let (back, home) = match spec.ack_path.last() {
            Some(last) => {
                let rest = access_back - access_back / 2;
                (access_back / 2 + send_ack, wires[*last].delay.0 + rest + send_ack)
            }
            None => {
                let links_there: u64 = spec.path.iter().map(|i| wires[*i].delay.0).sum();
                let on_links: u64 = spec.path.iter().map(|i| wires[*i].transmission(ack).0).sum();
                (access_back + own.0 - links_there + on_links + 2 * send_ack, 0)
            }
        };
        let first_back = if spec.ack_path.is_empty() { AT_SENDER } else { spec.path.len() as u8 };
        let [entry, back, home] = [entry, back, home].map(Leg::new);
        Self { entry, back, home, egress: Span(access_there - entry.delay.0), number, way, first_back }
    }

    /// Takes over the delays of another route along the same links.
    fn update(&mut self, from: &Route) {
        (self.entry.delay, self.back.delay, self.home.delay) = (from.entry.delay, from.back.delay, from.home.delay);
        self.egress = from.egress;
    }
}

/// The routes of all flows: one per distinct path and delay.
#[derive(Clone)]
pub struct Routes {
    routes: Vec<Route>,
    /// The links that each group's flows cross.
    pub ways: Vec<Way>,
    /// Group and round-trip propagation, as drawn, of each.
    of: Vec<(usize, Span)>,
    index: BTreeMap<(usize, Span), u32>,
    flows_on: Vec<u32>,
    /// The links as they are now.
    wires: Vec<Wire>,
}

impl Routes {
    pub fn new(scenario: &Scenario) -> Self {
        let wire = |link: &LinkSpec| Wire { delay: link.delay, rate: link.rate, layer: link.layer };
        let wires: Vec<Wire> = scenario.links.iter().map(wire).collect();
        let ways = scenario.flows.iter().map(|spec| Way::new(&wires, spec)).collect();
        Self { routes: Vec::new(), ways, of: Vec::new(), index: BTreeMap::new(), flows_on: Vec::new(), wires }
    }

    /// A route by its number.
    pub fn get(&self, route: u32) -> &Route {
        &self.routes[route as usize]
    }

    /// The route of a flow of `group` with this round-trip propagation.
    pub fn of(&mut self, scenario: &Scenario, group: usize, rtt: Span) -> u32 {
        let route = match self.index.get(&(group, rtt)) {
            Some(known) => *known,
            None => {
                self.routes.push(self.build(scenario, self.routes.len(), group, rtt));
                self.of.push((group, rtt));
                self.flows_on.push(0);
                self.routes.len() as u32 - 1
            }
        };
        self.index.insert((group, rtt), route);
        self.flows_on[route as usize] += 1;
        route
    }

    /// A link that has become longer makes the round trip longer, too.
    fn build(&self, scenario: &Scenario, number: usize, group: usize, rtt: Span) -> Route {
        let spec = &scenario.flows[group];
        let (now, then) = (own_delay(&self.wires, spec), spec.own_delay(|link| scenario.links[link].delay));
        Route::new(&self.wires, spec, (number as u32, group as u16), Span((rtt.0 + now.0).saturating_sub(then.0)))
    }

    /// Round-trip propagation of a route, as it was drawn.
    pub fn rtt(&self, route: u32) -> Span {
        self.of[route as usize].1
    }

    /// A link's rate is another; flows have to be told of their routes. ACKs that cross it without queueing take another time.
    pub fn set_rate(&mut self, scenario: &Scenario, link: usize, rate: Rate) {
        self.wires[link].rate = rate;
        self.update(scenario, link);
    }

    /// A link's delay is another, and with it the round-trip propagation of all flows that cross the link, which have to be
    /// told of their routes.
    pub fn set_delay(&mut self, scenario: &Scenario, link: usize, delay: Span) {
        self.wires[link].delay = delay;
        self.update(scenario, link);
    }

    fn update(&mut self, scenario: &Scenario, link: usize) {
        for hop in self.ways.iter_mut().flat_map(|way| &mut way.hops).filter(|hop| hop.link == link) {
            hop.onward.delay = self.wires[link].delay;
        }
        for route in 0..self.routes.len() {
            let (group, rtt) = self.of[route];
            if self.ways[group].hops.iter().any(|hop| hop.link == link) {
                let new = self.build(scenario, route, group, rtt);
                self.routes[route].update(&new);
            }
        }
    }

    /// Gives a lane to the delays that many flows share; there events come in order.
    pub fn assign_lanes<E: Copy + Default>(&mut self, calendar: &mut Calendar<E>) {
        let all: u32 = self.flows_on.iter().sum();
        let mut onward: BTreeMap<(usize, Span), Lane> = BTreeMap::new();
        let mut shared =
            |link, delay, calendar: &mut Calendar<E>| *onward.entry((link, delay)).or_insert_with(|| calendar.lane());
        for (route, flows) in self.routes.iter_mut().zip(&self.flows_on) {
            if flows * 20 < all {
                continue;
            }
            let Way { hops, there } = &mut self.ways[route.way as usize];
            route.entry.lane = calendar.lane();
            route.back.lane = calendar.lane();
            let receiving = *there - 1; // leads to the receiver, which makes no event
            let last = hops.len() - 1;
            for (_, hop) in hops[..last].iter_mut().enumerate().filter(|(i, _)| *i != receiving) {
                hop.onward.lane = shared(hop.link, hop.onward.delay, calendar);
            }
            if last != receiving {
                route.home.lane = shared(hops[last].link, route.home.delay, calendar);
            }
        }
    }
}
