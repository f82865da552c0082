//! What is to come in a network.

use crate::calendar::{Calendar, Lane, Moment, Place};
use crate::engine::event::Event;
use crate::net::flow::Schedule;
use crate::net::packet::{AT_SENDER, Packet};
use aqmlab_core::Time;

/// Pending events, and the ACKs on their way to the sender of the present flow.
#[derive(Clone, Default)]
pub struct Agenda {
    pub calendar: Calendar<Event>,
    /// ACKs that have just been sent, where their sender may act on them ahead of time.
    pub acks: Vec<PendingAck>,
    /// Senders may act ahead of time: nobody looks at them.
    pub runs_ahead: bool,
}

/// An ACK on its way to its sender.
#[derive(Clone, Copy)]
pub struct PendingAck {
    pub sent: Moment,
    pub lane: Lane,
    pub time: Time,
    pub place: Place,
    pub packet: Packet,
}

impl Agenda {
    #[inline(always)]
    pub fn push(&mut self, lane: Lane, time: Time, place: Place, event: Event) {
        self.calendar.push(lane, time, place, event);
    }
}

impl Schedule for Agenda {
    #[inline(always)]
    fn now(&self) -> Time {
        self.calendar.present.now
    }

    #[inline(always)]
    fn as_of(&mut self, moment: Moment) -> Moment {
        std::mem::replace(&mut self.calendar.present, moment)
    }

    #[inline(always)]
    fn arrive(&mut self, lane: Lane, time: Time, place: Place, packet: Packet) {
        if packet.hop == AT_SENDER && self.runs_ahead {
            self.acks.push(PendingAck { sent: self.calendar.present, lane, time, place, packet });
        } else {
            self.push(lane, time, place, Event::Arrive(packet));
        }
    }

    #[inline(always)]
    fn retransmission(&mut self, time: Time, flow: u32) {
        self.calendar.push_timer(time, Place::timer(flow));
    }

    #[inline(always)]
    fn delayed_ack(&mut self, time: Time, flow: u32) {
        self.push(Lane::ANY, time, Place::receiver(flow), Event::AckDue { flow });
    }

    #[inline(always)]
    fn emission(&mut self, time: Time, source: u32, flow: u32) {
        self.push(Lane::ANY, time, Place::sender(flow), Event::Emit { source });
    }
}
