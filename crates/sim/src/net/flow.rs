//! A flow in a simulation: sender, receiver, and the access links between them and the path.

mod timer;

use crate::calendar::{EventOrigin, PushTime};
use crate::measure::group::GroupMeter;
use crate::net::packet::{AnnouncedRtt, Data, DscpEpoch, FlowTag, Packet, PacketKind};
use crate::net::route::{Lanes, Leg, PathTemplate, Route, Routes};
use crate::traffic::timed::TimedSource;
use aqmlab_aqm::Ecn;
use aqmlab_core::{Span, Time};
use aqmlab_scenario::{FlowSpec, Traffic};
use aqmlab_tcp::{
    Ack, EcnFeedback, LawChoice, Receiver, Segment, SegmentArrival, SegmentSink, Sender, TcpParams, TcpVariant,
};
use std::ops::Range;

/// Hot state of one flow, in cache lines of its own: what its receiver needs in the first two, its sender in all but the first.
#[derive(Clone)]
#[repr(C, align(64))]
pub struct Flow {
    pub receiver: Receiver,
    own: OwnPath,
    /// Time from which the receiver's access link is free.
    egress_busy_until: Time,
    /// Time of the next look at the timer, which may be due later. An ACK looks for it where no event does.
    timer_look: Time,
    /// Time of the timer's pending event.
    timer_event: Time,
    /// Arrival of the last ACK that waits for its time.
    pub acks_until: Time,
    /// Index of the [`Connection`] it is, or [`Flow::NO_CONNECTION`].
    pub connection: u32,
    /// Index of its [`PathTemplate`], which tells its group.
    pub way: u32,
    pub sender: Sender,
    /// Time of the last look at the timer.
    looked_at: Time,
    /// Time as of which the delayed ACK was arranged.
    due_since: Time,
}

/// A flow's own part of its path.
#[derive(Clone)]
struct OwnPath {
    /// Round-trip propagation, as drawn.
    rtt: Span,
    /// Time from which the sender's access link is free.
    busy_until: Time,
    /// Stands for its addresses and ports.
    tuple: u32,
    /// Its DSCP, and which transfer this is: packets of an earlier one are strangers.
    stamp: DscpEpoch,
    /// With its [`Lookahead`].
    lanes: Lanes,
}

impl OwnPath {
    #[inline]
    fn route(&self) -> Route {
        Route { rtt: self.rtt, lanes: self.lanes }
    }

    #[inline]
    fn label(&self, index: u32) -> FlowTag {
        FlowTag { flow: index, tuple: self.tuple, stamp: self.stamp }
    }
}

/// Each cache line more costs a run of many flows a tenth of its time.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(std::mem::offset_of!(Flow, sender) == 2 * 64 && size_of::<Flow>() == 6 * 64);

/// A sender's licence to act on ACKs ahead of time, and what then counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookahead {
    Never,
    /// It has not got beyond the warm-up.
    WarmingUp,
    Measured,
}

/// A flow that carries transfers of a client, one after the other.
#[derive(Clone)]
pub struct Connection {
    pub client: u32,
    /// Time at which the present transfer was requested.
    pub asked_at: Time,
    /// Its data, segments.
    pub size: u32,
    /// End of the transfer before it.
    pub ended_at: Time,
}

/// Schedule of a flow's packets and timers.
pub trait Schedule {
    /// The present.
    fn now(&self) -> Time;

    /// Arranges what follows as of a moment; returns that before.
    fn as_of(&mut self, moment: PushTime) -> PushTime;

    /// A packet will be at the end of a leg of its way; `place`: of who sends it.
    fn arrive(&mut self, leg: Leg, time: Time, place: EventOrigin, packet: Packet);

    /// The retransmission timer of a flow may be due.
    fn retransmission(&mut self, time: Time, flow: u32);

    /// The delayed ACK of a flow's receiver may be due.
    fn delayed_ack(&mut self, time: Time, flow: u32);

    /// A source may send its flow's next datagram.
    fn emission(&mut self, time: Time, source: u32, flow: u32);

    /// A packet of media will be at its receiver.
    fn take_media(&mut self, time: Time, packet: Packet);

    /// A packet of a foreign flow will be at its end.
    fn hand_over(&mut self, time: Time, packet: Packet);
}

/// All between the two ends of a flow, and where they put what is to come.
pub struct Path<'a, P> {
    pub group: &'a Group,
    pub way: &'a PathTemplate,
    pub schedule: &'a mut P,
}

/// Properties that the flows of a group share.
#[derive(Clone)]
#[repr(align(64))]
pub struct Group {
    pub tcp: TcpParams,
    variant: TcpVariant,
    control: LawChoice,
    /// Its senders pace at no more than so many segments per second.
    max_pace: Option<f64>,
    pub is_tcp: bool,
    /// They leave by a link that is their host's.
    pub begins_at_host: bool,
    /// Its receivers do more than to answer each segment with an ACK of its cumulative number.
    pub has_extras: bool,
    /// ACKs may wait at the receiver.
    pub delays_acks: bool,
    /// The transfers of a client follow each other on one connection, which lasts.
    pub keeps_connection: bool,
    /// ECN field of its packets that may carry one.
    ecn: Ecn,
    dscp: u8,
    /// Packets carry the smoothed round-trip time.
    announces_rtt: bool,
    /// Its segments carry [`SegmentOptions`].
    has_options: bool,
    /// ACKs carry the one-way delay of the segment that caused them.
    measures_delay: bool,
    /// ACKs carry the number of marked segments received.
    counts_marks: bool,
    /// ACKs carry a window and a timestamp, which segments echo.
    is_rledbat: bool,
    data_size: u16,
    syn_size: u16,
    ack_size: u16,
    /// Transmission times of a data packet and of a SYN on an access link.
    data_time: Span,
    syn_time: Span,
}

impl Group {
    pub fn new(spec: &FlowSpec, begins_at_host: bool) -> Self {
        // Within 16 bits: the scenario language allows no packet above 65000 B with its header.
        let (data_size, syn_size) = (spec.wire_size() as u16, (spec.header as u16).max(1));
        let (needs, is_tcp) = (spec.control.needs(), spec.traffic.is_tcp());
        let delays_acks = spec.tcp.delayed_ack || spec.tcp.quick_acks > 0;
        let (measures_delay, counts_marks) = (needs.delay, needs.feedback == EcnFeedback::Counter);
        let is_rledbat = needs.receiver_target.is_some();
        let time = |size: u16| spec.access_rate.map_or(Span::ZERO, |rate| rate.transmission(size.into()));
        Self {
            tcp: spec.tcp,
            variant: spec.variant,
            control: spec.control.clone(),
            max_pace: spec.max_pacing_rate.map(|rate| rate.0 / 8.0 / f64::from(spec.payload)),
            is_tcp,
            begins_at_host,
            has_extras: !is_tcp
                || delays_acks
                || spec.tcp.handshake_ack
                || measures_delay
                || counts_marks
                || is_rledbat,
            delays_acks,
            keeps_connection: matches!(spec.traffic, Traffic::Video(_)),
            ecn: spec.ecn,
            dscp: spec.dscp,
            announces_rtt: spec.rtt_notification,
            has_options: spec.rtt_notification || is_rledbat,
            measures_delay,
            counts_marks,
            is_rledbat,
            data_size,
            syn_size,
            ack_size: spec.tcp.ack.0 as u16,
            data_time: time(data_size),
            syn_time: time(syn_size),
        }
    }

    /// A sender of this group at rest; `phase` is its host's boot time within a tick of its clock.
    pub fn sender(&self, phase: Span) -> Sender {
        let mut sender = Sender::new(self.variant, &self.tcp, &self.control, self.ecn.is_capable(), phase);
        if self.begins_at_host {
            sender.watch_host_queue(&self.tcp);
        }
        if let Some(rate) = self.max_pace {
            sender.limit_pace(rate);
        }
        sender
    }

    /// Sizes of a SYN, of a data packet and of an ACK, bytes.
    pub fn sizes(&self) -> [u16; 3] {
        [self.syn_size, self.data_size, self.ack_size]
    }

    /// The name of its law, if that comes from elsewhere and may break down.
    pub fn law_from_elsewhere(&self) -> Option<&'static str> {
        self.control.is_checked().then(|| self.control.name())
    }

    /// A receiver of this group before the first segment.
    pub fn receiver(&self) -> Receiver {
        Receiver::new(self.variant, self.control.needs())
    }
}

impl Flow {
    /// It belongs to no client.
    pub const NO_CONNECTION: u32 = u32::MAX;

    /// A flow of `group`, whose way has the index `way`, before its start; `phase` as for [`Group::sender`].
    pub fn new(group: &Group, way: u32, phase: Span, route: Route, connection: u32, tuple: u32) -> Self {
        Self {
            sender: group.sender(phase),
            receiver: group.receiver(),
            own: OwnPath {
                rtt: route.rtt,
                busy_until: Time::ZERO,
                tuple,
                stamp: DscpEpoch::new(group.dscp, 0),
                lanes: route.lanes,
            },
            way,
            egress_busy_until: Time::ZERO,
            timer_look: Time::NEVER,
            timer_event: Time::NEVER,
            looked_at: Time::ZERO,
            acks_until: Time::ZERO,
            due_since: Time::ZERO,
            connection,
        }
    }

    /// One like it that never starts.
    pub fn at_rest(&self, groups: &[Group], routes: &Routes) -> Self {
        let group = &groups[routes.group(self.way)];
        Self::new(group, self.way, Span::ZERO, self.route(), Self::NO_CONNECTION, 0)
    }

    /// Ready for another transfer, from segment 0 on, of other ports.
    pub fn restart(&mut self, sender: Sender, tuple: u32) {
        self.own.tuple = tuple;
        self.sender = sender;
        self.receiver.restart();
        self.own.stamp = self.own.stamp.next();
    }

    /// Its own part of its path.
    #[inline]
    pub fn route(&self) -> Route {
        self.own.route()
    }

    /// True if what its sender has counted is part of what its group's have: that of a transfer that has ended was counted then,
    /// unless the sender goes on.
    pub fn counts(&self, group: &Group) -> bool {
        group.keeps_connection || self.connection == Self::NO_CONNECTION || !self.sender.is_done()
    }

    /// Takes another time on its way from now on.
    pub fn set_route(&mut self, route: Route) {
        (self.own.rtt, self.own.lanes) = (route.rtt, route.lanes.with_spare(self.own.lanes.spare()));
    }

    /// Its sender's licence to act on ACKs ahead of time.
    #[inline(always)]
    pub fn lookahead(&self) -> Lookahead {
        match self.own.lanes.spare() {
            0 => Lookahead::Never,
            1 => Lookahead::WarmingUp,
            _ => Lookahead::Measured,
        }
    }

    /// From now on its sender may, or may not.
    pub fn set_lookahead(&mut self, ahead: Lookahead) {
        self.own.lanes = self.own.lanes.with_spare(ahead as u16);
    }

    /// DSCP of its packets, 0 to 63.
    pub fn set_dscp(&mut self, dscp: u8) {
        self.own.stamp = DscpEpoch::new(dscp, self.own.stamp.epoch());
    }

    /// Fields that its packets share.
    #[inline]
    pub fn label(&self, index: u32) -> FlowTag {
        self.own.label(index)
    }

    /// The packet is of the present transfer.
    #[inline]
    pub fn is_current_transfer(&self, packet: &Packet) -> bool {
        packet.epoch() == self.own.stamp.epoch()
    }

    /// The sender, and the access link that takes its segments to the first queue.
    #[inline]
    pub fn at_sender<'a, P>(
        &'a mut self,
        index: u32,
        now: Time,
        path: Path<'a, P>,
    ) -> (&'a mut Sender, AccessLink<'a, P>) {
        self.pass_look(now);
        let Path { group, way, schedule } = path;
        let options =
            if group.has_options { SegmentOptions::of(&self.sender, group) } else { SegmentOptions::default() };
        (&mut self.sender, AccessLink { own: &mut self.own, index, options, group, way, now, schedule })
    }

    /// Lets the sender act, then sees to its timer.
    #[inline(always)]
    pub fn act<P: Schedule>(
        &mut self,
        index: u32,
        now: Time,
        path: Path<P>,
        act: impl FnOnce(&mut Sender, Time, &TcpParams, &mut AccessLink<P>),
    ) {
        let Path { group, way, schedule } = path;
        let (sender, mut access) = self.at_sender(index, now, Path { group, way, schedule });
        act(sender, now, &group.tcp, &mut access);
        self.arm(index, schedule);
    }

    /// An ACK reaches the sender.
    #[inline(always)] // at one place
    pub fn acknowledge(&mut self, packet: &Packet, now: Time, path: Path<impl Schedule>) {
        match packet.plain_ack() {
            Some(ack) => self.take_ack(packet.flow, ack, now, path),
            None => self.acknowledge_more(packet, now, path),
        }
    }

    /// An ACK with SACK blocks, a delay or other extras. A copy of the code of its own: plain ACKs stay in registers.
    #[inline(never)]
    fn acknowledge_more(&mut self, packet: &Packet, now: Time, path: Path<impl Schedule>) {
        if let Some(window) = packet.advertised(now) {
            self.sender.take_window(window);
        }
        self.take_ack(packet.flow, packet.ack(), now, path);
    }

    #[inline(always)] // at two places
    fn take_ack(&mut self, index: u32, ack: Ack, now: Time, path: Path<impl Schedule>) {
        self.act(index, now, path, |sender, now, tcp, net| sender.on_ack(ack, now, tcp, net));
    }

    /// A source, whose number is `index`, sends a datagram or offers data, and arranges for the next; false if it has stopped.
    pub fn emit(&mut self, source: &mut TimedSource, index: u32, now: Time, path: Path<impl Schedule>) -> bool {
        if source.is_stopped(now) {
            return false;
        }
        let Path { group, way, schedule } = path;
        if group.is_tcp {
            let (chunk, pause) = (source.chunk, now.since(source.emitted));
            self.act(source.flow, now, Path { group, way, schedule }, |sender, now, tcp, net| {
                sender.offer(chunk, pause, now, tcp, net);
            });
        } else {
            self.at_sender(source.flow, now, Path { group, way, schedule }).1.send_datagram();
        }
        if let Some(next) = source.after(now) {
            schedule.emission(next, index, source.flow);
        }
        true
    }

    /// A packet of a foreign flow or of media leaves one of its ends.
    pub fn send_foreign(&self, packet: Packet, now: Time, path: Path<impl Schedule>) {
        let (leg, place) = match packet.goes_back() {
            true => (path.way.back(self.route()), EventOrigin::receiver(packet.flow)),
            false => (path.way.entry(self.route()), EventOrigin::sender(packet.flow)),
        };
        path.schedule.arrive(leg, now + leg.delay, place, packet);
    }

    /// The receiver's delayed ACK may have waited long enough; if a segment has fetched it, none is due.
    pub fn delayed_ack(&mut self, index: u32, now: Time, mut path: Path<impl Schedule>) {
        if let Some((due, ack)) = self.receiver.take_due(now, &path.group.tcp) {
            self.send_due_ack(index, due, &ack, &mut path);
        }
        if let Some(time) = self.receiver.look_again(now) {
            path.schedule.delayed_ack(time, index);
        }
    }

    /// A segment or datagram reaches the receiver's access link at `time`, which may lie ahead: nothing happens on the
    /// way through the receiver but delay. `EXTRAS`: those of its group ([`Group::has_extras`]).
    #[inline(always)]
    pub fn receive<const EXTRAS: bool>(
        &mut self,
        packet: &Packet,
        time: Time,
        mut path: Path<impl Schedule>,
        meter: &mut GroupMeter,
        measured: &Range<Time>,
    ) {
        let Data { sent_at, seq, ecn, is_cwr, is_push, is_resent, .. } = packet.data();
        let received = self.egress(packet.size, &path, time);
        let counts = received > measured.start && received <= measured.end;
        if counts {
            meter.count(received.since(sent_at), ecn == Ecn::Ce, || path.way.own_propagation(self.route()));
            if is_resent {
                meter.count_resent(received.since(sent_at), self.segment_delay(*packet, received));
            }
        }
        if !self.is_current_transfer(packet) {
            return; // of a transfer that has ended
        }
        let tcp = &path.group.tcp;
        let is_marked = ecn == Ecn::Ce;
        if EXTRAS && !path.group.is_tcp {
            self.take_datagram(*packet, received, counts, path.schedule);
            return meter.note_receipt(received, received.since(sent_at), 1, is_marked);
        }
        if EXTRAS && path.group.delays_acks {
            let is_late = self.receiver.ack_due() < received; // at one instant it leaves just before the other, and as that does
            match self.receiver.take_before(seq, is_marked, received, tcp) {
                None => {}
                Some((_, ack)) if !is_late => self.send_ack(packet.flow, &ack, Span::ZERO, received, &mut path),
                Some((due, ack)) => self.send_due_ack(packet.flow, due, &ack, &mut path),
            }
        }
        let (before, due) = (self.receiver.in_order(), self.receiver.ack_due());
        let (ack, dsack) = if EXTRAS {
            let echo = if path.group.is_rledbat { packet.echo(received) } else { None };
            let is_ect = ecn.is_capable();
            let segment = SegmentArrival { seq, is_ce: is_marked, is_ect, is_cwr, is_push, is_resent, sent_at, echo };
            (self.receiver.on_segment(segment, received, tcp), None)
        } else {
            (None, self.receiver.take_in(seq, is_marked, is_cwr, is_resent))
        };
        let syn = u32::from(tcp.syn && before == 0 && self.receiver.in_order() > 0);
        let delivered = self.receiver.in_order() - before - syn;
        meter.note_receipt(received, received.since(sent_at), delivered, is_marked);
        if counts {
            self.receiver.delivered += delivered;
        }
        if !EXTRAS {
            return self.send_plain_ack(packet.flow, dsack, received, &mut path);
        }
        match ack {
            Some(ack) => self.send_ack(packet.flow, &ack, received.since(sent_at), received, &mut path),
            None => {
                if self.receiver.ack_due() != due {
                    self.due_since = path.schedule.now();
                }
                if let Some(time) = self.receiver.next_look() {
                    path.schedule.delayed_ack(time, packet.flow);
                }
            }
        }
    }

    /// A datagram has reached its end, which counts it, or is outside.
    #[inline(never)]
    fn take_datagram(&mut self, packet: Packet, time: Time, counts: bool, schedule: &mut impl Schedule) {
        match packet.kind() {
            PacketKind::Foreign => schedule.hand_over(time, packet),
            PacketKind::Media => schedule.take_media(time, packet),
            _ => self.receiver.delivered += u32::from(counts),
        }
    }

    /// Time since the first transmission of a segment that has been sent again; `None` if it has arrived before.
    #[cold]
    #[inline(never)]
    fn segment_delay(&self, packet: Packet, received: Time) -> Option<Span> {
        let is_new = self.is_current_transfer(&packet) && !self.receiver.has(packet.data().seq);
        is_new.then(|| received.since(packet.first_sent().unwrap_or(packet.data().sent_at)))
    }

    /// Sends a delayed ACK at its time.
    #[inline(never)]
    fn send_due_ack(&mut self, index: u32, due: Time, ack: &Ack, path: &mut Path<impl Schedule>) {
        let present = path.schedule.as_of(PushTime { now: due, since: self.due_since });
        self.send_ack(index, ack, Span::ZERO, due, path);
        path.schedule.as_of(present);
    }

    /// Sends an ACK of a group without extras.
    #[inline(always)]
    fn send_plain_ack(&mut self, index: u32, dsack: Option<u32>, time: Time, path: &mut Path<impl Schedule>) {
        let (size, hop, back) = (path.group.ack_size, path.way.first_back, path.way.back(self.route()));
        let label = self.label(index);
        let packet = match self.receiver.is_cumulative() {
            true => Packet::of_cumulative_ack(label, size, hop, self.receiver.cumulative()),
            false => Packet::of_ack(label, size, hop, &self.receiver.ack(dsack)),
        };
        path.schedule.arrive(back, time + back.delay, EventOrigin::receiver(index), packet);
    }

    #[inline(always)]
    fn send_ack(&mut self, index: u32, ack: &Ack, delay: Span, time: Time, path: &mut Path<impl Schedule>) {
        let (group, back) = (path.group, path.way.back(self.route()));
        let mut packet = Packet::of_ack(self.label(index), group.ack_size, path.way.first_back, ack);
        if group.measures_delay {
            packet.set_delay(delay);
        }
        if group.is_rledbat {
            self.receiver.advertise(time).into_iter().for_each(|window| packet.set_advertised(window));
        }
        if group.counts_marks {
            packet.set_marks(ack.ce);
        }
        path.schedule.arrive(back, time + back.delay, EventOrigin::receiver(index), packet);
    }

    /// Sends a packet that reaches the receiver's access link at `time` over it; returns its arrival at the receiver.
    #[inline]
    fn egress<P>(&mut self, size: u16, path: &Path<P>, time: Time) -> Time {
        let group = path.group;
        let on_link = if size == group.data_size { group.data_time } else { group.syn_time };
        self.egress_busy_until = time.max(self.egress_busy_until) + on_link;
        self.egress_busy_until + path.way.egress(self.route())
    }
}

/// A sender's state that segments carry, if their group has any.
#[derive(Default)]
struct SegmentOptions {
    rtt: AnnouncedRtt,
    /// When the ACK was sent whose timestamp segments echo.
    echo: Option<Time>,
}

impl SegmentOptions {
    #[cold]
    fn of(sender: &Sender, group: &Group) -> Self {
        let srtt = if group.announces_rtt { sender.srtt() } else { None };
        let echo = if group.is_rledbat { sender.echo() } else { None };
        Self { rtt: srtt.map_or(AnnouncedRtt::default(), AnnouncedRtt::new), echo }
    }
}

/// The sender's access link: sends one packet after the other, queue unlimited.
pub struct AccessLink<'a, P> {
    own: &'a mut OwnPath,
    index: u32,
    options: SegmentOptions,
    group: &'a Group,
    way: &'a PathTemplate,
    now: Time,
    schedule: &'a mut P,
}

impl<P: Schedule> AccessLink<'_, P> {
    /// Sends a datagram.
    pub fn send_datagram(&mut self) {
        self.push(self.group.data_size, self.group.data_time, &Segment::default(), self.group.ecn);
    }

    #[inline(always)] // one copy of its code where segments are sent
    fn push(&mut self, size: u16, on_link: Span, segment: &Segment, ecn: Ecn) {
        let entry = self.way.entry(self.own.route());
        self.own.busy_until = self.now.max(self.own.busy_until) + on_link;
        let Segment { seq, is_cwr, is_push, is_retransmission: is_resent, .. } = *segment;
        let data = Data { sent_at: self.now, seq, rtt: self.options.rtt, ecn, is_cwr, is_push, is_resent };
        let mut packet = Packet::of_data(self.own.label(self.index), size, data);
        if let Some(sent_at) = self.options.echo
            && !is_resent
        {
            packet.set_echo(sent_at);
        }
        let place = EventOrigin::sender(packet.flow);
        self.schedule.arrive(entry, self.own.busy_until + entry.delay, place, packet);
    }
}

impl<P: Schedule> SegmentSink for AccessLink<'_, P> {
    #[inline(always)]
    fn send(&mut self, segment: &Segment) {
        let (size, on_link) = match segment.is_syn {
            true => (self.group.syn_size, self.group.syn_time),
            false => (self.group.data_size, self.group.data_time),
        };
        let ecn = if segment.is_ect { self.group.ecn } else { Ecn::NotEct };
        self.push(size, on_link, segment, ecn);
    }

    fn send_handshake_ack(&mut self) {
        self.push(self.group.syn_size, self.group.syn_time, &Segment::default(), Ecn::NotEct);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_aqm::Carried;

    /// The packets on their way; timers never come.
    impl Schedule for Vec<Packet> {
        fn now(&self) -> Time {
            Time::ZERO
        }
        fn as_of(&mut self, moment: PushTime) -> PushTime {
            moment
        }
        fn arrive(&mut self, _: Leg, _: Time, _: EventOrigin, packet: Packet) {
            self.push(packet);
        }
        fn retransmission(&mut self, _: Time, _: u32) {}
        fn delayed_ack(&mut self, _: Time, _: u32) {}
        fn emission(&mut self, _: Time, _: u32, _: u32) {}
        fn take_media(&mut self, _: Time, _: Packet) {}
        fn hand_over(&mut self, _: Time, _: Packet) {}
    }

    /// The round trips that packets announce, ms.
    fn announced(packets: &mut Vec<Packet>) -> Vec<Option<f64>> {
        packets.drain(..).map(|packet| packet.rtt().map(|rtt| rtt.seconds() * 1000.0)).collect()
    }

    #[test]
    fn segments_announce_the_smoothed_round_trip_once_there_is_one() {
        let text = "schema = 1\nduration = \"1 s\"\n[[links]]\nrate = \"1 Mbit/s\"\nbuffer = \"9 packets\"\n\
                    [[flows]]\nrtt = \"80 ms\"\nrtt_notification = true\n";
        for (text, expected) in [(text.to_string(), Some(80.0)), (text.replace("true", "false"), None)] {
            let scenario = aqmlab_scenario::parse(&text, "announce", &[]).unwrap();
            let group = Group::new(&scenario.flows[0], false);
            let routes = crate::net::route::Routes::new(&scenario);
            let route = routes.of(0, Span::from_seconds(0.08));
            let mut flow = Flow::new(&group, 0, Span::ZERO, route, Flow::NO_CONNECTION, 0);
            let (mut packets, way) = (Vec::new(), &routes.ways[0]);
            let path = Path { group: &group, way, schedule: &mut packets };
            let (sender, mut access) = flow.at_sender(0, Time::ZERO, path);
            sender.open(None, Time::ZERO, &group.tcp, &mut access);
            assert_eq!(announced(&mut packets), [None], "the SYN knows no round trip");
            for (next, seconds) in [(1, 0.08), (2, 0.16)] {
                let now = Time::ZERO + Span::from_seconds(seconds);
                let path = Path { group: &group, way, schedule: &mut packets };
                let (sender, mut access) = flow.at_sender(0, now, path);
                sender.on_ack(Ack { next, ..Ack::default() }, now, &group.tcp, &mut access);
            }
            assert_eq!(announced(&mut packets).last(), Some(&expected));
        }
    }

    #[test]
    fn a_flow_takes_six_cache_lines_the_scoreboard_of_sack_included() {
        assert!(size_of::<Flow>() <= 384, "{} bytes", size_of::<Flow>());
    }
}
