//! Events at the two ends of a call that adapts.

use super::NetworkState;
use crate::calendar::{EventOrigin, Lane};
use crate::engine::event::Event;
use crate::net::flow::Path;
use crate::net::packet::{Packet, PacketKind};
use crate::traffic::media::{MediaPacket, MediaStream};
use aqmlab_aqm::{Carried, Ecn};
use aqmlab_core::Time;

impl NetworkState {
    /// A stream begins as soon as its time has come.
    pub fn add_media(&mut self, flow: u32, mut stream: MediaStream) {
        let next = stream.next();
        if next < Time::NEVER {
            stream.event = next;
            self.scheduler.push(Lane::ANY, next, EventOrigin::sender(flow), Event::Media { flow });
        }
        self.media.insert(flow, stream);
    }

    /// A packet of media reaches its receiver, or a feedback its sender.
    #[inline(never)]
    pub(super) fn take_media(&mut self, packet: &Packet) {
        let (now, number) = (self.now, packet.data().seq);
        self.at_media(packet.flow, |stream| match packet.kind() {
            PacketKind::Feedback => stream.take_feedback(number, now),
            _ => stream.take_media(number, packet.ecn() == Ecn::Ce, now),
        });
    }

    /// Something may be due at a stream, unless another event took this one's place.
    #[inline(never)]
    pub(super) fn wake_media(&mut self, flow: u32) {
        if self.media.get(&flow).is_some_and(|stream| stream.event == self.now) {
            self.at_media(flow, |stream| stream.event = Time::NEVER);
        }
    }

    /// Lets the ends of a stream act, sends what they send and arranges for what is due next.
    fn at_media(&mut self, index: u32, act: impl FnOnce(&mut MediaStream)) {
        let now = self.now;
        let Some(stream) = self.media.get_mut(&index) else { return };
        act(stream);
        stream.wake(now);
        let (mut packets, next) = (std::mem::take(&mut stream.out), stream.next());
        if next < stream.event {
            stream.event = next;
            self.scheduler.push(Lane::ANY, next, EventOrigin::sender(index), Event::Media { flow: index });
        }
        for packet in packets.drain(..) {
            self.send_media(index, packet);
        }
        if let Some(stream) = self.media.get_mut(&index) {
            stream.out = packets; // empty, with its room
        }
        self.process_acks_early();
    }

    fn send_media(&mut self, index: u32, MediaPacket { number, size, is_feedback }: MediaPacket) {
        let flow = &self.flows[index as usize];
        let (way, at) = (&self.routes.ways[flow.way as usize], self.routes.group(flow.way));
        let (hop, ecn) = match is_feedback {
            true => ((way.first_back, PacketKind::Feedback), Ecn::NotEct),
            false => ((0, PacketKind::Media), self.scenario.flows[at].ecn),
        };
        let packet = Packet::of_foreign(flow.label(index), size, hop, number, ecn, self.now);
        let path = Path { group: &self.groups[at], way, schedule: &mut self.scheduler };
        flow.send_foreign(packet, self.now, path);
        self.group_meters[at].sent += u64::from(!is_feedback);
    }
}
