//! A queueing link: queues under a scheme, and the transmitter behind them.

mod foreseen;

use crate::measure::link::{CapacityBits, CapacityUse, LinkFacts, LinkMeter, LinkResult, LinkUsage};
use crate::measure::losses::LossMeter;
use crate::measure::settling::Stage;
use crate::net::WirePacket;
use crate::net::deliveries::Deliveries;
use crate::net::gate::LinkGate;
use crate::net::impairment::Impairment;
use crate::net::outcome::PacketOutcome;
use crate::net::packet::Packet;
use crate::net::rate_schedule::RateSchedule;
use crate::net::shared_buffer::{BufferShare, SharedBuffer};
use crate::net::stream_of;
use aqmlab_aqm::link_layer::LinkLayer;
use aqmlab_aqm::{AnyQueue, AnyScheme, Ctx, Discipline, Fate, Limit, Reason};
use aqmlab_core::{Rate, Span, Stream, Time};
use aqmlab_scenario::{AqmChoice, Impairments, LinkSpec, Loss, RateChanges};
use foreseen::Foreseen;

/// The way in which departures of a link are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DepartureMode {
    /// Computed when a packet is accepted. The scheme acts on arrivals only and the rate does not change, so the packet
    /// leaves after all that is before it. The departure is not an event; the link catches up with its departures
    /// whenever it is looked at. At one instant an arrival comes before a departure, unless the link [`Link::departs_first`].
    Foreseen,
    /// Computed when the transmission starts, with the same results. Until then a change of the link changes it.
    AtService,
    /// The end of each transmission is an event like any other: the scheme acts on departures too, or the rate follows a
    /// schedule.
    Events,
}

/// A link: of a simulation, or between real packets.
#[derive(Clone)]
pub struct Link<P = Packet> {
    /// The waiting packets and the scheme.
    pub queue: AnyQueue<P>,
    /// The meter of its queue and transmitter.
    pub meter: LinkMeter,
    /// Impairments of the wire behind the transmitter, if there are any.
    pub impairment: Option<Box<Impairment<P>>>,
    /// What it holds of a buffer that it shares with other links.
    share: Option<BufferShare>,
    /// The way in which departures are computed.
    pub departures: DepartureMode,
    /// End of the transmission in progress.
    in_service: Option<Time>,
    /// Time at which the queue releases a packet, if packets wait and none may go yet.
    ready_at: Option<Time>,
    /// The packet in transmission, unless its departure was foreseen.
    sending: Option<P>,
    /// The packets that wait, if departures are foreseen.
    foreseen: Foreseen,
    /// Usage when metrics began to count.
    usage_before: LinkUsage,
    /// Usage when the present rate began.
    usage_at_change: LinkUsage,
    /// The rate and the end of the packet that was under way then.
    straddling: (Rate, Time),
    /// Transmission gate: interruptions and grants of a MAP.
    gate: Option<Box<LinkGate>>,
    /// Packets offered until then.
    before_restart: Offered,
    /// Salt of the hash of flows.
    salt: u64,
    changes: RateSchedule,
    /// The next change: when, and to what.
    upcoming: Option<(Time, Rate)>,
    /// Delivery opportunities, if it follows a trace of them.
    deliveries: Option<Box<Deliveries>>,
    /// Bytes that a packet takes on the wire.
    layer: LinkLayer,
    /// Size of the last packet timed and what its transmission takes; size 0 where it takes another time for each packet.
    transmission: (u16, Span),
    rng: Stream,
    /// The meter of losses by flow, if they are to be counted.
    pub losses: Option<Box<LossMeter>>,
    /// The last operation dropped queued packets.
    has_removed: bool,
    /// It is the interface of the host that sends its packets.
    pub is_host: bool,
    /// A radio sends its packets, when it may.
    pub is_on_air: bool,
    /// At one instant a departure comes before an arrival, which finds the place of what has left: as in Linux, whose device takes
    /// the next packet from the queue before the wire is free. Where ACKs clock a sender, both come at one instant again and again.
    pub departs_first: bool,
    /// Packets that the radio has given up.
    given_up: u64,
    /// Packets that the queue of a host has dropped after they had joined; empty between two calls.
    pub removed: Vec<Packet>,
}

/// Packets offered to a link, and what became of them at once or later.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offered {
    /// All of them.
    pub arrived: u64,
    /// Those dropped.
    pub dropped: u64,
    /// Those marked.
    pub marked: u64,
}

impl<P: WirePacket> Link<P> {
    /// A link at rest. `marks`: its queue marks ECN-capable packets. `departures`: how they are computed if the scheme and
    /// the rate allow it.
    pub fn new(spec: &LinkSpec, scheme: AnyScheme, marks: bool, departures: DepartureMode, seed: u64) -> Self {
        let stream = |what: &str| stream_of(seed, spec, what);
        let salt = (stream("hash").uniform() * (1u64 << 53) as f64) as u64;
        let queue: AnyQueue<P> = scheme.queue(spec.empty_queue(), spec.buffer, marks, salt);
        let impairment: Option<Box<Impairment<P>>> =
            (spec.impairments != Impairments::default()).then(|| Box::new(Impairment::new(spec, seed)));
        let gathers = impairment.as_ref().is_some_and(|wire| wire.gathers());
        let gate = LinkGate::of(&spec.impairments, stream);
        let are_known = queue.departures_known()
            && !spec.host
            && spec.changes == RateChanges::None
            && !gathers
            && gate.is_none()
            && spec.shared.is_none();
        let mut changes = RateSchedule::new(spec, seed);
        Self {
            departures: if are_known { departures } else { DepartureMode::Events },
            upcoming: changes.next(spec.rate, Time::ZERO),
            queue,
            share: spec.shared.map(BufferShare::of),
            meter: LinkMeter::new(spec.buffer),
            impairment,
            in_service: None,
            ready_at: None,
            sending: None,
            foreseen: Foreseen::default(),
            usage_before: LinkUsage::default(),
            usage_at_change: LinkUsage::default(),
            straddling: (spec.rate, Time::ZERO),
            gate,
            before_restart: Offered::default(),
            salt,
            changes,
            deliveries: match &spec.changes {
                RateChanges::Trace(trace) => Some(Box::new(Deliveries::new(trace))),
                _ => None,
            },
            layer: spec.layer,
            transmission: (0, Span::ZERO),
            rng: stream("aqm"),
            losses: None,
            has_removed: false,
            is_host: spec.host,
            is_on_air: false,
            departs_first: false,
            given_up: 0,
            removed: Vec::new(),
        }
    }

    /// The link at rest, with what happens to its packets written down.
    pub fn traced(self) -> Self {
        let departures = match self.departures {
            DepartureMode::Foreseen => DepartureMode::AtService, // they are written down, packet by packet
            departures => departures,
        };
        Self { queue: self.queue.traced(), departures, ..self }
    }

    /// The link at rest, with a radio in place of its transmitter.
    pub fn on_air(self) -> Self {
        Self { is_on_air: true, departures: DepartureMode::Events, in_service: Some(Time::NEVER), ..self }
    }

    /// Its queue has packets, and holds them back no longer.
    pub fn has_packets(&self, now: Time) -> bool {
        !self.queue.is_empty() && self.queue.ready_at().is_none_or(|time| time <= now)
    }

    /// Time at which to ask a queue again that holds its packets back from a radio, unless that is arranged.
    pub fn held_until(&mut self, now: Time) -> Option<Time> {
        if self.queue.is_empty() { None } else { self.ask_again(now) }
    }

    /// A radio takes the next packet: with the time since when it has waited.
    pub fn hand_over(&mut self, now: Time) -> Option<(P, Time)> {
        let next = self.queue.dequeue(&mut Ctx { now, rng: &mut self.rng });
        let waiting = self.queue.len();
        self.has_removed |= waiting + u32::from(next.is_some()) != self.meter.queue;
        self.meter.on_queue(waiting, now);
        next
    }

    /// The longest queue of a flow loses packets, for links that share what may wait.
    pub fn make_room(&mut self, now: Time) {
        self.queue.drop_from_fattest(&mut Ctx { now, rng: &mut self.rng });
        let waiting = self.queue.len();
        self.has_removed |= waiting != self.meter.queue;
        self.meter.on_queue(waiting, now);
    }

    /// A radio has given up a packet.
    pub fn give_up(&mut self) {
        self.given_up += 1;
    }

    /// A packet arrives at the queue, which may mark it, or drop it for the reason that is returned. If it waits and the
    /// transmitter is free, a transmission may start. Departures must not be foreseen ([`Link::foresee`]).
    #[inline(always)]
    pub fn offer(&mut self, packet: &mut P, now: Time) -> Result<(), Reason> {
        debug_assert_ne!(self.departures, DepartureMode::Foreseen);
        let before = self.meter.queue;
        let fate = self.queue.enqueue(*packet, &mut Ctx { now, rng: &mut self.rng });
        self.meter.on_queue(self.queue.len(), now);
        match fate {
            Fate::Kept => {}
            Fate::Marked(_) => packet.mark(),
            Fate::Dropped(why) => {
                self.has_removed = self.meter.queue != before;
                return Err(why);
            }
        }
        self.has_removed = self.meter.queue != before + 1;
        Ok(())
    }

    /// It shares a buffer; its departures are events then, and of other links no more is looked at.
    #[inline(always)]
    pub fn shares_buffer(&self) -> bool {
        self.departures == DepartureMode::Events && self.share.is_some()
    }

    /// As many bytes may wait as the buffers, of which it shares one, allow at present.
    pub fn limit_by(&mut self, buffers: &[SharedBuffer]) {
        if let Some(share) = &self.share {
            let (limit, shown) = (buffers[share.buffer].limit(share), self.queue.state().view.limit);
            self.queue.set_limit(Limit::Bytes(limit), shown);
        }
    }

    /// Tells the buffer that it shares how much waits.
    pub fn report_to(&mut self, buffers: &mut [SharedBuffer]) {
        if let Some(share) = &mut self.share {
            buffers[share.buffer].follow(share, self.queue.state().view.bytes);
        }
    }

    /// Nothing is being sent.
    #[inline]
    pub fn is_free(&self) -> bool {
        self.in_service.is_none()
    }

    /// A transmission is in progress that does not end now.
    #[inline]
    pub fn is_sending(&self, now: Time) -> bool {
        self.in_service.is_some_and(|end| end > now)
    }

    /// A transmission ends now, as an event that has not come yet, and before what arrives now; departures are not foreseen.
    #[inline(always)]
    pub fn departs_now(&self, now: Time) -> bool {
        self.in_service == Some(now) && self.departs_first
    }

    /// True if the wire has impairments.
    #[inline]
    pub fn is_impaired(&self) -> bool {
        self.impairment.is_some()
    }

    /// Takes the next packet into service; returns when its transmission ends, or when to ask again if none may go yet.
    #[inline]
    pub fn start_service(&mut self, now: Time) -> Option<Time> {
        if let Some(gate) = &mut self.gate
            && let Some(next) = gate.until(now, &self.queue.state().view, self.layer)
        {
            return self.ask_at(Some(next), now);
        }
        let next = self.queue.dequeue_with(&mut Ctx { now, rng: &mut self.rng }, |packet, since| {
            self.sending = Some(packet);
            (packet.size() as u16, since)
        });
        let waiting = self.queue.len();
        self.has_removed = waiting + u32::from(next.is_some()) != self.meter.queue;
        self.meter.on_queue(waiting, now);
        let Some((size, since)) = next else { return self.ask_again(now) };
        let end = now + self.transmission(size, now);
        self.meter.on_service(now, now.since(since), end, size);
        self.in_service = Some(end);
        Some(end)
    }

    /// Time at which to ask a queue again that holds its packets back; `None` if it is asked before then anyway.
    #[cold]
    fn ask_again(&mut self, now: Time) -> Option<Time> {
        let next = self.queue.ready_at().filter(|time| *time > now);
        self.ask_at(next, now)
    }

    /// The time `next`, if it is not asked by then anyway.
    #[cold]
    fn ask_at(&mut self, next: Option<Time>, now: Time) -> Option<Time> {
        let arranged = self.ready_at.filter(|time| *time > now);
        if arranged.is_some_and(|time| next.is_none_or(|next| time <= next)) {
            return None;
        }
        self.ready_at = next;
        next
    }

    /// Takes the packet in transmission, if it has not been taken yet.
    #[inline]
    pub fn take_sending(&mut self) -> Option<P> {
        self.sending.take()
    }

    /// The transmission has ended; returns its packet unless that has been taken.
    #[inline]
    pub fn finish_service(&mut self) -> Option<P> {
        self.in_service = None;
        self.sending.take()
    }

    /// Ends the counts between probes: there will be no more probes.
    pub fn stop_probing(&mut self) {
        self.meter.service = None;
        if let Some(wire) = &mut self.impairment {
            wire.losses = None;
        }
    }

    /// Rate of the transmitter.
    pub fn rate(&self) -> Rate {
        self.queue.state().view.rate
    }

    /// Time of the next rate change, if there is one.
    pub fn rate_changes_at(&self) -> Option<Time> {
        self.upcoming.map(|(time, _)| time)
    }

    /// The rate changes now: the next packet is the first at the new one.
    pub fn change_rate(&mut self, now: Time) {
        if let Some((_, rate)) = self.upcoming.take() {
            self.set_rate(rate, now);
            self.upcoming = self.changes.next(rate, now);
        }
    }

    /// The next packet after now is the first at this rate.
    pub fn set_rate(&mut self, rate: Rate, now: Time) {
        self.usage_at_change = LinkUsage { rate: self.usage_at_change.rate + 2, ..self.usage(now) };
        if self.straddling.1 <= now {
            self.straddling = (self.rate(), self.meter.busy_until());
        }
        self.transmission = (0, Span::ZERO);
        self.queue.set_rate(rate);
    }

    /// The loss on the wire from the next packet on.
    pub fn set_loss(&mut self, loss: Loss, spec: &LinkSpec, seed: u64) {
        self.impairment.get_or_insert_with(|| Box::new(Impairment::new(spec, seed))).set_loss(loss);
    }

    /// Another scheme, with queues of its own, takes over the packets that wait.
    pub fn replace_queue(&mut self, spec: &LinkSpec, scheme: AnyScheme, marks: bool, now: Time) {
        self.catch_up(now);
        let mut next: AnyQueue<P> = scheme.queue(spec.empty_queue(), spec.buffer, marks, self.salt);
        if self.losses.is_some() {
            next.keep_notes(false);
        }
        self.queue.replace(next, now);
        if !self.queue.departures_known() {
            self.departures = DepartureMode::Events;
        }
    }

    /// Runs the scheme's periodic update.
    pub fn tick(&mut self, now: Time) {
        self.catch_up(now);
        self.meter.updates += 1;
        self.queue.tick(&mut Ctx { now, rng: &mut self.rng });
    }

    /// Metrics count from now.
    pub fn restart_meters(&mut self, now: Time) {
        self.catch_up(now);
        self.before_restart = self.offered();
        self.queue.restart_accounts();
        self.meter.restart(self.queue.len(), now);
        self.losses.iter_mut().for_each(|losses| losses.restart());
        self.given_up = 0;
        self.usage_before = self.usage(now);
    }

    /// Packets offered since the beginning.
    pub fn offered(&self) -> Offered {
        let (accounts, before) = (self.queue.accounts(), self.before_restart);
        Offered {
            arrived: before.arrived + accounts.arrived,
            dropped: before.dropped + accounts.dropped,
            marked: before.marked + accounts.marked,
        }
    }

    /// Usage since the beginning: bytes of the opportunities of a trace, otherwise time.
    pub fn usage(&self, now: Time) -> LinkUsage {
        let present = match &self.deliveries {
            Some(trace) => trace.usage(now),
            None => self.meter.usage(now),
        };
        let LinkUsage { bits: before, rate, .. } = self.usage_at_change;
        let rate = rate + u32::from(self.straddling.1 > now);
        let more = (present.capacity - self.usage_at_change.capacity) as f64;
        let sent = (present.sent - self.usage_at_change.sent) as f64;
        let unit = if self.deliveries.is_some() { 8.0 } else { 1e-12 * self.rate().0 };
        let (old, earlier) = self.straddled(now);
        let bits = CapacityBits {
            all: before.all + unit * more,
            sent: before.sent + unit * (sent - old) + earlier * old,
            unused: before.unused + unit * (more - sent).max(0.0),
        };
        LinkUsage { bits, rate, ..present }
    }

    /// Of the time since the rate changed, that in which a packet from before was under way, ps, and the bits of it in one.
    fn straddled(&self, now: Time) -> (f64, f64) {
        let ((rate, end), since) = (self.straddling, self.usage_at_change.capacity);
        let old = if self.deliveries.is_some() { 0 } else { end.min(now).0.saturating_sub(since) };
        (old as f64, 1e-12 * rate.0)
    }

    /// What it has made of its capacity since the warm-up.
    fn capacity_use(&self, now: Time) -> CapacityUse {
        let (usage, seconds) = (self.usage(now), self.meter.counted(now).seconds());
        let (bits, before) = (usage.bits, self.usage_before.bits);
        CapacityUse {
            utilisation: usage.share_since(self.usage_before),
            capacity: (bits.all - before.all) / seconds,
            unused: (bits.unused - before.unused).max(0.0) / seconds,
        }
    }

    /// Share of what it could have carried since `mark` that it has; the mark moves on to now.
    pub fn utilisation_since(&self, mark: &mut LinkUsage, now: Time) -> f64 {
        let present = self.usage(now);
        present.share_since(std::mem::replace(mark, present))
    }

    /// Accounts for the time up to now.
    pub fn pass_time(&mut self, now: Time) {
        self.catch_up(now);
        self.meter.pass_time(now);
    }

    /// Result of links that are alike, after the warm-up: their packets, queues and drops together, the use of capacity on average.
    ///
    /// # Panics
    /// If there are none.
    pub fn result_of_all(links: &[&Self], stage: Stage, schemes: &[(Span, AqmChoice)], now: Time) -> LinkResult {
        let [first, others @ ..] = links else { panic!("there are links") };
        let (mut meter, mut accounts) = (first.meter.clone(), first.queue.accounts());
        for link in others {
            meter.merge(&link.meter);
            accounts.add(&link.queue.accounts());
        }
        let (lost, policed) = links.iter().map(|link| link.lost()).fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let used = CapacityUse::mean(links.iter().map(|link| link.capacity_use(now)));
        let facts = LinkFacts::new(&meter, &accounts, used, lost, std::slice::from_ref(&stage));
        LinkResult::of(&facts.with(None, policed).under(schemes))
    }

    /// Share of what it could have carried since the warm-up that it has.
    pub fn utilisation(&self, now: Time) -> f64 {
        self.usage(now).share_since(self.usage_before)
    }

    /// Packets lost behind its queue, and those that did not conform to a policer.
    fn lost(&self) -> (u64, u64) {
        let (lost, policed) = self.impairment.as_ref().map_or((0, 0), |wire| (wire.lost, wire.policed));
        (lost + self.given_up, policed)
    }

    /// Result after the warm-up, `now` being the end; the queue is judged in stages, the first from the start on.
    pub fn result(&self, stages: &[Stage], schemes: &[(Span, AqmChoice)], now: Time) -> LinkResult {
        let (lost, policed) = self.lost();
        let used = self.capacity_use(now);
        let synchronisation = self.losses.as_ref().and_then(|losses| losses.synchronisation());
        let accounts = self.queue.accounts();
        let facts = LinkFacts::new(&self.meter, &accounts, used, lost, stages);
        LinkResult::of(&facts.with(synchronisation, policed).under(schemes))
    }

    /// Transmission time of a packet of `size` bytes that begins now.
    #[inline(always)]
    fn transmission(&mut self, size: u16, now: Time) -> Span {
        if size != self.transmission.0 {
            self.time(size, now);
        }
        self.transmission.1
    }

    /// Times a packet; all of one size take the same, but where the rate follows a trace.
    #[inline(never)]
    fn time(&mut self, size: u16, now: Time) {
        let bytes = self.layer.bytes(u32::from(size));
        self.transmission = match &mut self.deliveries {
            None => (size, self.queue.state().view.rate.transmission(bytes)),
            Some(trace) => (0, trace.deliver(bytes, now).since(now)),
        };
    }
}

/// Losses by flow, of simulated packets.
impl Link {
    /// From now on losses are counted by flow.
    pub fn count_losses(&mut self, losses: LossMeter) {
        self.losses = Some(Box::new(losses));
        self.queue.keep_notes(false);
    }

    /// A segment that has been sent before arrives at the queue: it takes along when it was sent first, if it has been lost
    /// here before now.
    #[inline(always)]
    pub fn recall(&mut self, packet: &mut Packet, now: Time) {
        let recalled =
            self.losses.as_mut().and_then(|losses| losses.recall(packet.flow, packet.data().seq, packet.epoch(), now));
        if let Some(first_sent) = recalled {
            packet.set_first_sent(first_sent);
        }
    }

    /// Asks for what is known of the losses of a flow, which a packet that is coming may need.
    #[inline(always)]
    pub fn fetch_losses(&self, flow: u32) {
        self.losses.iter().for_each(|losses| losses.fetch(flow));
    }

    /// The queue has dropped a packet as it arrived.
    pub fn book_drop(&mut self, packet: &Packet, why: Reason, now: Time) {
        let (Self { queue, losses, .. }, outcome) = (self, PacketOutcome::Refused(why));
        losses.iter_mut().for_each(|losses| losses.drop_packet(packet, outcome, now, || backlog_time(queue)));
    }

    /// The queue may have dropped packets that had joined; true if it is a host's, and has.
    #[inline]
    pub fn book_removed(&mut self, now: Time) -> bool {
        std::mem::take(&mut self.has_removed) && self.book_notes(now)
    }

    #[cold]
    #[inline(never)]
    fn book_notes(&mut self, now: Time) -> bool {
        let Self { queue, losses: Some(losses), is_host, removed, .. } = self else { return false };
        let mut notes = std::mem::take(&mut losses.notes);
        queue.fetch_notes(&mut notes);
        for note in notes.drain(..) {
            if let Fate::Dropped(why) = note.fate {
                removed.extend(is_host.then_some(note.packet));
                losses.drop_packet(&note.packet, PacketOutcome::Dropped(why), now, || backlog_time(queue));
            }
        }
        losses.notes = notes;
        !removed.is_empty()
    }
}

/// Time that the packets waiting take to be sent.
fn backlog_time(queue: &AnyQueue<Packet>) -> Span {
    let view = &queue.state().view;
    view.rate.transmission(u32::try_from(view.bytes).unwrap_or(u32::MAX))
}
