//! The work of the sockets: connections, transfers, datagrams.

use super::{Flow, Player, Receiver, Role, Sender, Transfer, Work, room, token};
use crate::network::Namespace;
use crate::sockets;
use aqmlab_core::Time;
use nix::sys::epoll::{EpollEvent, EpollFlags};
use std::io;

impl Player<'_> {
    /// A connection of a member, under way.
    fn connect(&mut self, member: (usize, usize), transfer: Option<Transfer>, left: u64) -> io::Result<usize> {
        let (group, i) = member;
        let flows = &self.scenario.flows[group];
        let to = self.network.hosts[self.network.host(group, i)].receiver;
        let socket = self.network.within(Namespace::Senders, || sockets::connection(flows, to))?;
        if transfer.is_some() {
            sockets::tell_of_acks(&socket)?;
        }
        self.names.insert(sockets::name(&socket)?, member);
        let index = room(&mut self.senders);
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLOUT, token(Role::Sender, index)))?;
        self.senders[index] = Some(Sender { socket, group, transfer, left });
        Ok(index)
    }

    pub(super) fn open(&mut self, flow: usize) -> io::Result<()> {
        let Flow { group, i } = self.flows[flow];
        self.of_flow[flow] = Some(self.connect((group, i), None, u64::MAX)?);
        Ok(())
    }

    pub(super) fn close(&mut self, flow: usize) {
        if let Some(index) = self.of_flow[flow].take() {
            self.drop_sender(index, true);
        }
    }

    /// Ends a connection.
    fn drop_sender(&mut self, index: usize, is_aborted: bool) {
        let Some(sender) = self.senders[index].take() else { return };
        self.counts.on_end(sender.group, sockets::counters(&sender.socket));
        if is_aborted {
            sockets::abort(sender.socket);
        }
    }

    /// Writes what there is room for; a transfer is complete when all is acknowledged.
    pub(super) fn send(&mut self, index: usize, events: EpollFlags) -> io::Result<()> {
        let Some(sender) = &mut self.senders[index] else { return Ok(()) };
        if events.intersects(EpollFlags::EPOLLERR | EpollFlags::EPOLLHUP) {
            if sockets::failure(&sender.socket).is_some() || events.contains(EpollFlags::EPOLLHUP) {
                return self.fail(index);
            }
            sockets::hear_of_acks(&sender.socket);
        }
        if sender.left > 0 {
            sender.left -= sockets::write(&sender.socket, sender.left)?;
        }
        if sender.transfer.is_some() && sender.left == 0 {
            // Room to write means nothing any longer: only the error queue does.
            self.epoll.modify(&sender.socket, &mut EpollEvent::new(EpollFlags::empty(), token(Role::Sender, index)))?;
            if sockets::unacknowledged(&sender.socket) == 0 {
                self.complete(index)?;
            }
        }
        Ok(())
    }

    fn fail(&mut self, index: usize) -> io::Result<()> {
        let Some(Sender { group, transfer, .. }) = self.senders[index] else { return Ok(()) };
        self.counts.on_failure(group);
        self.drop_sender(index, false);
        if let Some(transfer) = transfer {
            let now = self.now()?;
            let next = self.clients[transfer.client].transfer_failed(now);
            next.into_iter().for_each(|next| self.plan(next, Work::Request(transfer.client)));
        }
        Ok(())
    }

    fn complete(&mut self, index: usize) -> io::Result<()> {
        let Some(sender) = &mut self.senders[index] else { return Ok(()) };
        let (group, Some(transfer)) = (sender.group, sender.transfer.take()) else { return Ok(()) };
        let now = self.now()?;
        self.counts.on_transfer(group, transfer.asked_at, transfer.size, now);
        if self.clients[transfer.client].player().is_some() {
            self.idle[transfer.client].push(index);
        } else {
            self.drop_sender(index, false);
        }
        let next = self.clients[transfer.client].transfer_ended(now);
        next.into_iter().for_each(|next| self.plan(next, Work::Request(transfer.client)));
        Ok(())
    }

    pub(super) fn request(&mut self, client: usize, now: Time) {
        let asking = &mut self.clients[client];
        if asking.is_stopped(now) {
            return;
        }
        let (size, next) = asking.request(now);
        let takes = asking.request_takes(asking.peer.rtt);
        next.into_iter().for_each(|next| self.plan(next, Work::Request(client)));
        self.asked.push(Transfer { client, asked_at: now, size });
        self.plan(now + takes, Work::Transfer(self.asked.len() - 1));
    }

    pub(super) fn start_transfer(&mut self, transfer: usize) -> io::Result<()> {
        let transfer = self.asked[transfer];
        let member = self.client_member[transfer.client];
        let bytes = u64::from(transfer.size) * u64::from(self.scenario.flows[member.0].payload);
        match self.idle[transfer.client].pop() {
            None => self.connect(member, Some(transfer), bytes).map(drop),
            Some(index) => {
                let Some(sender) = &mut self.senders[index] else { return Ok(()) };
                (sender.transfer, sender.left) = (Some(transfer), bytes);
                let mut writable = EpollEvent::new(EpollFlags::EPOLLOUT, token(Role::Sender, index));
                Ok(self.epoll.modify(&sender.socket, &mut writable)?)
            }
        }
    }

    pub(super) fn emit(&mut self, index: usize, now: Time) -> io::Result<()> {
        let source = &mut self.sources[index];
        sockets::emit(&source.socket, source.size)?;
        self.counts.on_emit(source.group);
        let next = source.source.after(now);
        next.into_iter().for_each(|next| self.plan(next, Work::Emit(index)));
        Ok(())
    }

    pub(super) fn accept(&mut self) -> io::Result<()> {
        while let Some((socket, name)) = sockets::accept(&self.listener)? {
            let Some(member) = self.names.get(&name).copied() else { continue };
            let index = room(&mut self.receivers);
            self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, token(Role::Receiver, index)))?;
            self.receivers[index] = Some(Receiver { socket, member });
        }
        Ok(())
    }

    pub(super) fn receive(&mut self, index: usize) -> io::Result<()> {
        let Some(receiver) = &self.receivers[index] else { return Ok(()) };
        match sockets::read(&receiver.socket, &mut self.room)? {
            Some(bytes) => {
                let delivered = &mut self.delivered[receiver.member.0][receiver.member.1];
                *delivered = delivered.wrapping_add(bytes);
            }
            None => self.receivers[index] = None,
        }
        Ok(())
    }

    pub(super) fn take_datagrams(&mut self) -> io::Result<()> {
        for name in sockets::received(&self.sink)? {
            if let Some((group, i)) = self.names.get(&name).copied() {
                self.delivered[group][i] += u64::from(self.scenario.flows[group].payload);
            }
        }
        Ok(())
    }
}
