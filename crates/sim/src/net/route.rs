//! A flow's path compiled to delays and queues: only queues make events, everything between is one delay.

use crate::engine::calendar::{Calendar, Lane};
use crate::engine::event::AT_SENDER;
use crate::scenario::{FlowSpec, LinkSpec, Scenario};
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_core::{Rate, Span};
use std::collections::BTreeMap;

/// The way of one flow's packets to its receiver and of its ACKs back.
#[derive(Clone, Debug)]
pub struct Route {
    /// From the end of the sender's access link to the first queue.
    pub entry: Leg,
    /// The links crossed, there and then back, and the way from each to the next. The last one there leads to the
    /// receiver's access link, the last one back to the sender.
    pub hops: Vec<Hop>,
    /// How many of them are on the way there.
    pub there: usize,
    /// From the receiver's access link to the receiver.
    pub egress: Span,
    /// From the receiver to the first queue on the way back, or to the sender if there is none; time to send the ACK
    /// included.
    pub back: Leg,
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

impl Route {
    /// The route of a flow with this round-trip propagation. The links take their own delay; what is left is split
    /// evenly between the way there and the way back, and on each between the two access links.
    fn new(wires: &[Wire], spec: &FlowSpec, rtt: Span) -> Self {
        let leg = |ps| Leg { delay: Span(ps), lane: Lane::ANY };
        let hop = |link: &usize| Hop { link: *link, onward: leg(wires[*link].delay.0) };
        let own = own_delay(wires, spec);
        let spare = rtt.0.saturating_sub(own.0); // a lognormal tail may fall below the path itself
        let (access_there, access_back) = (spare / 2, spare - spare / 2);
        let entry = access_there / 2;
        let mut hops: Vec<Hop> = spec.path.iter().map(hop).collect();
        let there = hops.len();
        let links_there: u64 = hops.iter().map(|hop| hop.onward.delay.0).sum();
        hops.extend(spec.ack_path.iter().map(hop));
        let ack = spec.tcp.ack.0 as u32;
        let send_ack = spec.access_rate.map_or(0, |rate| rate.transmission(ack).0);
        let back = match hops[there..].last_mut() {
            Some(last) => {
                last.onward.delay.0 += access_back - access_back / 2 + send_ack;
                access_back / 2 + send_ack
            }
            None => {
                let on_links: u64 = spec.path.iter().map(|i| wires[*i].transmission(ack).0).sum();
                access_back + own.0 - links_there + on_links + 2 * send_ack
            }
        };
        Self { entry: leg(entry), hops, there, egress: Span(access_there - entry), back: leg(back) }
    }

    /// Takes over the delays of another route along the same links.
    fn update(&mut self, from: &Route) {
        (self.entry.delay, self.egress, self.back.delay) = (from.entry.delay, from.egress, from.back.delay);
        self.hops.iter_mut().zip(&from.hops).for_each(|(hop, new)| hop.onward.delay = new.onward.delay);
    }

    /// The hop at which an ACK begins.
    #[inline]
    pub fn first_back(&self) -> u8 {
        if self.there < self.hops.len() { self.there as u8 } else { AT_SENDER }
    }
}

/// The routes of all flows: one per distinct path and delay.
#[derive(Clone)]
pub struct Routes {
    pub routes: Vec<Route>,
    /// Group and round-trip propagation, as drawn, of each.
    of: Vec<(usize, Span)>,
    index: BTreeMap<(usize, Span), u32>,
    flows_on: Vec<u32>,
    /// The links as they are now.
    wires: Vec<Wire>,
}

impl Routes {
    pub fn new(links: &[LinkSpec]) -> Self {
        let wires = links.iter().map(|link| Wire { delay: link.delay, rate: link.rate, layer: link.layer }).collect();
        Self { routes: Vec::new(), of: Vec::new(), index: BTreeMap::new(), flows_on: Vec::new(), wires }
    }

    /// The route of a flow of `group` with this round-trip propagation.
    pub fn of(&mut self, scenario: &Scenario, group: usize, rtt: Span) -> u32 {
        let route = match self.index.get(&(group, rtt)) {
            Some(known) => *known,
            None => {
                self.routes.push(self.build(scenario, group, rtt));
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
    fn build(&self, scenario: &Scenario, group: usize, rtt: Span) -> Route {
        let spec = &scenario.flows[group];
        let (now, then) = (own_delay(&self.wires, spec), spec.own_delay(|link| scenario.links[link].delay));
        Route::new(&self.wires, spec, Span((rtt.0 + now.0).saturating_sub(then.0)))
    }

    /// Round-trip propagation of a route, as it was drawn.
    pub fn rtt(&self, route: u32) -> Span {
        self.of[route as usize].1
    }

    /// A link's rate is another: ACKs that cross it without queueing take another time.
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
        for route in 0..self.routes.len() {
            if self.routes[route].hops.iter().any(|hop| hop.link == link) {
                let (group, rtt) = self.of[route];
                let new = self.build(scenario, group, rtt);
                self.routes[route].update(&new);
            }
        }
    }

    /// Gives a lane to the delays that many flows share; there events come in order.
    pub fn assign_lanes<E: Copy + Default>(&mut self, calendar: &mut Calendar<E>) {
        let all: u32 = self.flows_on.iter().sum();
        let mut onward: BTreeMap<(usize, Span), Lane> = BTreeMap::new();
        for (route, flows) in self.routes.iter_mut().zip(&self.flows_on) {
            if flows * 20 < all {
                continue;
            }
            route.entry.lane = calendar.lane();
            route.back.lane = calendar.lane();
            let receiving = route.there - 1; // leads to the receiver, which makes no event
            for (_, hop) in route.hops.iter_mut().enumerate().filter(|(i, _)| *i != receiving) {
                hop.onward.lane = *onward.entry((hop.link, hop.onward.delay)).or_insert_with(|| calendar.lane());
            }
        }
    }
}
