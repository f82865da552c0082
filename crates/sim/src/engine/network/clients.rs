//! Transfers that clients ask for.

use super::NetworkState;
use crate::calendar::{EventOrigin, Lane};
use crate::engine::event::Event;
use crate::net::flow::{Connection, Flow};
use crate::net::route::PathTemplate;
use crate::traffic::ends::TransferEnds;
use crate::traffic::peer::Peer;
use aqmlab_aqm::Discipline;
use aqmlab_core::Time;

impl NetworkState {
    /// A client asks for an object: a transfer begins, on the connection that the client keeps or on one of other ports,
    /// which takes the place of one that has ended.
    #[inline(never)]
    pub(super) fn request(&mut self, index: u32) {
        let client = &mut self.clients[index as usize];
        if client.is_stopped(self.now) {
            return;
        }
        let (size, next) = client.request(self.now);
        let idle = client.idle.pop();
        if idle.is_none() || !self.groups[self.routes.group(client.peer.way)].keeps_connection {
            client.opened += 1;
        }
        let mut peer = client.peer.other_ports(client.opened);
        let takes = client.request_takes(peer.rtt);
        if let (Some(ends), None) = (&mut client.ends, idle) {
            let (from, to) = ends.draw();
            peer.tuple = TransferEnds::tuple(from, peer.tuple);
            peer.way = self.add_way(self.routes.group(peer.way), from, to, peer.tuple);
        }
        let flow = match idle {
            Some(flow) => {
                self.renew(flow, peer);
                flow
            }
            None => {
                self.connections.push(Connection { client: index, asked_at: self.now, size, ended_at: Time::ZERO });
                self.add_flow(peer, self.connections.len() as u32 - 1)
            }
        };
        let connection = &mut self.connections[self.flows[flow as usize].connection as usize];
        (connection.asked_at, connection.size) = (self.now, size);
        self.schedule_request(index, next);
        self.scheduler.push(Lane::ANY, self.now + takes, EventOrigin::application(flow), Event::Open { flow });
    }

    /// One more way, of a group's flow between hosts of a fabric.
    pub fn add_way(&mut self, group: usize, from: u32, to: u32, tuple: u32) -> u32 {
        let ecmp = self.ecmp.as_ref().expect("hosts are of a fabric");
        let spec = &self.scenario.flows[group];
        let branch = ecmp.branch(from, to, tuple, !spec.ack_path.is_empty());
        let mut way = PathTemplate::new(&self.specs, spec, group, Some(&branch));
        ecmp.lay(&mut way, &self.specs);
        self.routes.add(way)
    }

    /// One more flow, before its start.
    pub fn add_flow(&mut self, peer: Peer, connection: u32) -> u32 {
        let Peer { way, rtt, tuple, phase } = peer;
        let PathTemplate { group, region, hops, .. } = &self.routes.ways[way as usize];
        let of = &self.groups[usize::from(*group)];
        let route = self.routes.of((*group).into(), rtt);
        let (number, group) = (self.numbers.next(*region), usize::from(*group));
        let flow = |connection| Flow::new(of, way, phase, route, connection, tuple);
        self.flows.put(number as usize, flow(connection), || flow(Flow::NO_CONNECTION));
        for link in hops.iter().map(|hop| hop.link) {
            if let Some(class) = self.specs[link].classes.of_group.get(&group) {
                self.links[link].queue.assign(number, *class);
            }
        }
        if let Some(cell) = &mut self.cell
            && let Some(branch) = self.scenario.flows[group].branches.get((way - self.routes.way(group, 0)) as usize)
        {
            cell.assign(number, branch.number as u16);
        }
        if let Some(remote) = &mut self.scheduler.remote {
            remote.begin(number, way);
        }
        number
    }

    /// Reuses a flow whose transfer has ended: with a fresh sender from other ports, or on the connection that is kept.
    fn renew(&mut self, index: u32, peer: Peer) {
        let group = &self.groups[self.routes.group(peer.way)];
        let flow = &mut self.flows[index as usize];
        if group.keeps_connection {
            let pause = self.now.since(self.connections[flow.connection as usize].ended_at);
            flow.sender.resume(pause, self.now, &group.tcp);
        } else {
            flow.restart(group.sender(peer.phase), peer.tuple);
        }
    }

    /// A client asks at `time`, if it does.
    pub fn schedule_request(&mut self, client: u32, time: Option<Time>) {
        if let Some(time) = time {
            self.scheduler.push(Lane::ANY, time, EventOrigin::client(client), Event::Request { client });
        }
    }

    /// A transfer of a group, so many segments, is complete at the present; it counts if its request does.
    pub fn note_transfer(&mut self, group: usize, asked_at: Time, size: u32) {
        let meter = &mut self.group_meters[group];
        meter.ever_completed += 1;
        if asked_at < self.measured.start {
            return;
        }
        let taken = self.now.since(asked_at);
        meter.completion.add(taken);
        if let Some(table) = &mut self.transfer_table {
            table.group.push(group as f64);
            table.start.push(asked_at.seconds());
            table.size.push(f64::from(size));
            table.completion_time.push(taken.seconds());
        }
    }

    /// The last ACK of a transfer has come.
    #[inline(never)]
    pub(super) fn end_transfer(&mut self, index: u32, connection: u32) {
        let flow = &self.flows[index as usize];
        let Connection { client, asked_at, size, ended_at } = &mut self.connections[connection as usize];
        let (client, asked_at, size) = (*client, *asked_at, *size);
        *ended_at = self.now;
        let group = self.routes.group(flow.way);
        let meter = &mut self.group_meters[group];
        if !self.groups[group].keeps_connection {
            meter.ended.add(&flow.sender);
        }
        if asked_at >= self.measured.start && self.ecmp.is_some() {
            let (way, of) = (&self.routes.ways[flow.way as usize], &self.groups[group]);
            let ideal = way.ideal(flow.route(), &self.specs, of.sizes(), size);
            let bytes = f64::from(size) * f64::from(self.scenario.flows[group].payload);
            meter.slowdowns.add(bytes, self.now.since(asked_at).seconds() / ideal.seconds());
        }
        self.note_transfer(group, asked_at, size);
        let asking = &mut self.clients[client as usize];
        if asking.ends.is_none() || self.groups[group].keeps_connection {
            asking.idle.push(index); // else the next has another way
        }
        let next = asking.transfer_ended(self.now);
        self.schedule_request(client, next);
    }

    /// A connection could not be opened: its transfer has not been completed, and its client goes on.
    #[cold]
    pub(super) fn fail_transfer(&mut self, index: u32) {
        let flow = &mut self.flows[index as usize];
        let Some(connection) = self.connections.get_mut(flow.connection as usize) else { return };
        let client = &mut self.clients[connection.client as usize];
        let group = self.routes.group(flow.way);
        self.group_meters[group].ended.add(&flow.sender);
        flow.restart(self.groups[group].sender(client.peer.phase), client.peer.tuple);
        connection.ended_at = self.now;
        if client.ends.is_none() {
            client.idle.push(index);
        }
        let (client, next) = (connection.client, client.transfer_failed(self.now));
        self.schedule_request(client, next);
    }
}
