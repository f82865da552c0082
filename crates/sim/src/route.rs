//! A flow's path compiled to delays and queues: only queues make events, everything between is one delay.

use crate::calendar::{Calendar, Lane};
use crate::event::AT_SENDER;
use crate::scenario::{FlowSpec, Scenario};
use aqmlab_core::Span;
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

impl Route {
    /// The route of a flow with this round-trip propagation. The links take their own delay; what is left is split
    /// evenly between the way there and the way back, and on each between the two access links.
    fn new(scenario: &Scenario, spec: &FlowSpec, rtt: Span) -> Self {
        let leg = |ps| Leg { delay: Span(ps), lane: Lane::HEAP };
        let hop = |link: &usize| Hop { link: *link, onward: leg(scenario.links[*link].delay.0) };
        let own = spec.own_delay(&scenario.links);
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
                let on_links: u64 = spec.path.iter().map(|i| scenario.links[*i].rate.transmission(ack).0).sum();
                access_back + own.0 - links_there + on_links + 2 * send_ack
            }
        };
        Self { entry: leg(entry), hops, there, egress: Span(access_there - entry), back: leg(back) }
    }

    /// The hop at which an ACK begins.
    #[inline]
    pub fn first_back(&self) -> u8 {
        if self.there < self.hops.len() { self.there as u8 } else { AT_SENDER }
    }
}

/// The routes of all flows: one per distinct path and delay.
pub struct Routes {
    pub routes: Vec<Route>,
    rtts: Vec<Span>,
    index: BTreeMap<(usize, Span), u32>,
    flows_on: Vec<u32>,
}

impl Routes {
    pub fn new() -> Self {
        Self { routes: Vec::new(), rtts: Vec::new(), index: BTreeMap::new(), flows_on: Vec::new() }
    }

    /// The route of a flow of `group` with this round-trip propagation.
    pub fn of(&mut self, scenario: &Scenario, group: usize, rtt: Span) -> u32 {
        let route = *self.index.entry((group, rtt)).or_insert_with(|| {
            self.routes.push(Route::new(scenario, &scenario.flows[group], rtt));
            self.rtts.push(rtt);
            self.flows_on.push(0);
            self.routes.len() as u32 - 1
        });
        self.flows_on[route as usize] += 1;
        route
    }

    /// Round-trip propagation of a route, as it was drawn.
    pub fn rtt(&self, route: u32) -> Span {
        self.rtts[route as usize]
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
