//! The timer of a flow's sender: its event, and the looks that no event makes any more.
//!
//! Each ACK moves the timer on. An event that stays where it is finds the timer not due, time and again; one that moves with the
//! timer changes the order of simultaneous events, which is that of their pushes. So the event moves when its slot of the calendar
//! opens, and the flow remembers at which times it would have been looked at: the event has the key that the last look gives it.

use super::{Flow, Path, Schedule};
use crate::calendar::{Moved, PushTime};
use aqmlab_core::Time;
use std::ops::Range;

impl Flow {
    /// A timer that moves on leaves its event where it is; the event finds out when it comes.
    #[inline]
    pub(super) fn arm(&mut self, index: u32, schedule: &mut impl Schedule) {
        let deadline = self.sender.deadline();
        if deadline < self.timer_event.max(self.timer_look) {
            self.arm_earlier(deadline, index, schedule);
        }
    }

    /// The timer is due before its event, or the next look: an event more, pushed now, or as of the look that will find it due.
    #[inline(never)]
    fn arm_earlier(&mut self, deadline: Time, index: u32, schedule: &mut impl Schedule) {
        if deadline < self.timer_look {
            (self.timer_look, self.timer_event) = (deadline, deadline);
            schedule.retransmission(deadline, index);
        } else {
            self.push_timer_event(index, schedule);
        }
    }

    /// A look at the timer that has passed found it not due, and put the next one where it was due then.
    #[inline(always)]
    pub(super) fn pass_look(&mut self, now: Time) {
        if now >= self.timer_look {
            self.postpone_look();
        }
    }

    #[inline]
    fn postpone_look(&mut self) {
        self.looked_at = self.timer_look;
        self.timer_look = self.sender.deadline();
    }

    /// Time of the timer's event as things are, and when it would be pushed: by the last look before that time. Without a timer, the
    /// next look.
    #[inline]
    fn next_timer_event(&self) -> Moved {
        let deadline = self.sender.deadline();
        match deadline == self.timer_look || deadline == Time::NEVER {
            true => (self.timer_look, PushTime::at(self.looked_at)),
            false => (deadline, PushTime::at(self.timer_look)),
        }
    }

    fn push_timer_event(&mut self, index: u32, schedule: &mut impl Schedule) {
        let (time, pushed) = self.next_timer_event();
        self.timer_event = time;
        if time < Time::NEVER {
            let present = schedule.as_of(pushed);
            schedule.retransmission(time, index);
            schedule.as_of(present);
        }
    }

    /// A timer event has come; true if the timer is due. If it comes too early, another takes its place.
    #[inline]
    pub fn timer(&mut self, index: u32, now: Time, path: Path<impl Schedule>) -> bool {
        if self.timer_event != now {
            return false; // another took its place
        }
        self.pass_look(now);
        let is_due = self.sender.deadline() <= now;
        if is_due {
            (self.timer_look, self.timer_event) = (Time::NEVER, Time::NEVER);
            self.act(index, now, path, |sender, now, tcp, net| sender.on_timer(now, tcp, net));
        } else {
            self.push_timer_event(index, path.schedule);
        }
        is_due
    }

    /// Moves the timer event of this time into `reach`, if it is due there or later.
    #[inline(always)]
    pub fn move_timer(&mut self, time: Time, reach: Range<Time>, now: Time) -> Option<Moved> {
        if self.timer_event != time {
            return None; // another took its place
        }
        self.pass_look(now);
        let (next, pushed) = self.next_timer_event();
        (next >= reach.start && next < Time::NEVER).then(|| {
            self.timer_event = next.min(reach.end);
            (self.timer_event, pushed)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Group;
    use super::*;
    use crate::net::packet::Packet;
    use aqmlab_core::Span;
    use aqmlab_tcp::Ack;

    /// A SYN at 0 and ACKs at 80 and 160 ms: the timer, first looked at after 1 s, is due at 1.16 s.
    #[test]
    fn a_timer_event_moves_to_the_deadline_as_if_pushed_by_the_look_before_it() {
        let text = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n\
                    [[flows]]\nrtt = \"80 ms\"\ntcp = \"rfc\"\n";
        let scenario = aqmlab_scenario::parse(text, "timer", &[]).unwrap();
        let group = Group::new(&scenario.flows[0], false);
        let routes = crate::net::route::Routes::new(&scenario);
        let route = routes.of(0, Span::from_seconds(0.08));
        let mut flow = Flow::new(&group, 0, Span::ZERO, route, Flow::NO_CONNECTION, 0);
        let (mut packets, way) = (Vec::<Packet>::new(), &routes.ways[0]);
        let ms = |ms: u64| Time::ZERO + Span::from_micros(1000 * ms);
        macro_rules! path {
            () => {
                Path { group: &group, way, schedule: &mut packets }
            };
        }
        flow.act(0, ms(0), path!(), |sender, now, tcp, net| sender.open(None, now, tcp, net));
        for next in [1, 2] {
            let ack = Ack { next, ..Ack::default() };
            flow.act(0, ms(80 * u64::from(next)), path!(), |sender, now, tcp, net| sender.on_ack(ack, now, tcp, net));
        }
        assert_eq!((flow.timer_event, flow.timer_look, flow.sender.deadline()), (ms(1000), ms(1000), ms(1160)));
        let mut early = flow.clone();
        assert!(!early.timer(0, ms(1000), path!()), "not due");
        assert_eq!((early.timer_event, early.timer_look, early.looked_at), (ms(1160), ms(1160), ms(1000)));
        assert_eq!(flow.move_timer(ms(999), ms(1001)..ms(9000), ms(160)), None, "not its event");
        assert_eq!(flow.move_timer(ms(1000), ms(1161)..ms(9000), ms(160)), None, "due before");
        let moved = flow.move_timer(ms(1000), ms(1001)..ms(9000), ms(160));
        assert_eq!(moved, Some((ms(1160), PushTime::at(ms(1000)))));
        assert_eq!((flow.timer_event, flow.timer_look), (ms(1160), ms(1000)), "the look is still to come");
        assert!(flow.timer(0, ms(1160), path!()), "due");
        assert_eq!(flow.sender.timeouts(), 1);
    }
}
