//! A flow's path compiled to delays and queues: only queues make events, everything between is one delay.

use crate::calendar::{Calendar, Lane};
use crate::scenario::{FlowSpec, Scenario};
use aqmlab_core::Span;
use std::collections::BTreeMap;

/// The way of one flow's packets to its receiver and of its ACKs back.
#[derive(Clone, Debug)]
pub struct Route {
    /// From the end of the access link to the first queue.
    pub entry: Leg,
    /// The links crossed, and the way from each to the next; the last leads to the receiver's access link.
    pub hops: Vec<Hop>,
    /// From the receiver's access link to the receiver.
    pub egress: Span,
    /// From the receiver to the sender, times to send the ACK included.
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

impl Route {
    /// The route of a flow with this round-trip propagation. Half of it lies on the way there, and of that the links
    /// of the path take their own; the rest is split between the two access links.
    fn new(scenario: &Scenario, spec: &FlowSpec, rtt: Span) -> Self {
        let links = || spec.path.iter().map(|link| &scenario.links[*link]);
        let own: u64 = links().map(|link| link.delay.0).sum();
        let rtt = rtt.0.max(2 * own); // a lognormal tail may fall below the path itself
        let there = rtt / 2;
        let access = (there - own) / 2;
        let ack = spec.tcp.ack.0 as u32;
        let send_ack: u64 = links().map(|link| link.rate.transmission(ack).0).sum::<u64>()
            + 2 * spec.access_rate.map_or(0, |rate| rate.transmission(ack).0);
        let leg = |ps| Leg { delay: Span(ps), lane: Lane::HEAP };
        let hops = spec.path.iter().map(|link| Hop { link: *link, onward: leg(scenario.links[*link].delay.0) });
        Self {
            entry: leg(access),
            hops: hops.collect(),
            egress: Span(there - own - access),
            back: leg(rtt - there + send_ack),
        }
    }
}

/// The routes of all flows: one per distinct path and delay.
pub struct Routes {
    pub routes: Vec<Route>,
    index: BTreeMap<(usize, Span), u32>,
    flows_on: Vec<u32>,
}

impl Routes {
    pub fn new() -> Self {
        Self { routes: Vec::new(), index: BTreeMap::new(), flows_on: Vec::new() }
    }

    /// The route of a flow of `group` with this round-trip propagation.
    pub fn of(&mut self, scenario: &Scenario, group: usize, rtt: Span) -> u32 {
        let route = *self.index.entry((group, rtt)).or_insert_with(|| {
            self.routes.push(Route::new(scenario, &scenario.flows[group], rtt));
            self.flows_on.push(0);
            self.routes.len() as u32 - 1
        });
        self.flows_on[route as usize] += 1;
        route
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
            let last = route.hops.len() - 1;
            for hop in &mut route.hops[..last] {
                hop.onward.lane = *onward.entry((hop.link, hop.onward.delay)).or_insert_with(|| calendar.lane());
            }
        }
    }
}
