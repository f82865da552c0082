//! Losses by flow at a link: the packets that its queue drops, the flows that lose together, and when a segment that is
//! sent again was sent first.

use crate::memory;
use crate::net::outcome::{Decision, PacketOutcome};
use crate::net::packet::Packet;
use aqmlab_aqm::disciplines::Note;
use aqmlab_core::{Span, Time};
use std::collections::BTreeMap;

/// Losses of each flow at one link. Only a loss, and a segment sent again, cost anything.
#[derive(Clone, Debug)]
pub struct LossMeter {
    /// Of all flows that have lost a packet, by index; where few of many flows cross the link, the long ones first, then in the order
    /// of their first losses.
    flows: Vec<FlowLosses>,
    /// Where each flow is, if few of many cross the link.
    places: Option<BTreeMap<u32, u32>>,
    lost: LostSegments,
    /// Number of flows that are active all the time.
    long: u32,
    /// Their mean round-trip propagation.
    round_trip: Span,
    /// Number of the present loss event, and its end.
    event: u32,
    ends: Time,
    /// Loss events since metrics began to count, and the long flows that lost a packet in each, added up.
    events: u64,
    losing: u64,
    /// For packets that the queue has dropped after they had joined; empty between two calls, and kept for its memory.
    pub notes: Vec<Note<Packet>>,
    /// Packets of foreign flows that were lost since this was last emptied: when, and how.
    pub foreign: Vec<Decision<Packet>>,
}

/// Losses of one flow, in half a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
struct FlowLosses {
    /// Data packets dropped since metrics began to count.
    dropped: u32,
    /// The last loss event in which it lost a packet, from 1 on; [`NOT_LONG`] where it is not active all the time.
    event: u32,
    lost: LostList,
}

const NOT_LONG: u32 = u32::MAX;

/// Segments of one transfer that have not been sent again since they were lost, in the order of their losses, which is mostly that
/// in which they are sent again.
#[derive(Clone, Copy, Debug)]
struct LostList {
    /// Slots of the first and of the last; [`NO_SLOT`] if there are none.
    first: u32,
    last: u32,
    epoch: u8,
}

/// The segments of all lists. A slot is used again, so that memory is what is lost at a time.
#[derive(Clone, Debug)]
struct LostSegments {
    slots: Vec<LostSegment>,
    /// The first slot that holds none; each of them tells the next.
    free: u32,
    /// Slots of segments whose loss lies ahead, as a departure was foreseen, and when they will have been lost.
    ahead: BTreeMap<u32, Time>,
}

/// In place of a slot.
const NO_SLOT: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct LostSegment {
    first_sent: Time,
    seq: u32,
    /// Slot of the next one.
    next: u32,
}

impl LossMeter {
    /// Of a link that these flows cross all the time, each with its round-trip propagation. Where few of many flows cross it
    /// (`of_few`), it has no room for the others.
    pub fn new(long: &[(u32, Span)], of_few: bool) -> Self {
        let sum: u64 = long.iter().map(|(_, rtt)| rtt.0 / long.len() as u64).sum();
        let (event, ends, events, losing) = (0, Time::ZERO, 0, 0);
        let (notes, foreign) = (Vec::new(), Vec::new());
        let mut meter = Self {
            places: of_few.then(BTreeMap::new),
            flows: Vec::with_capacity(long.len()),
            lost: LostSegments::default(),
            long: long.len() as u32,
            round_trip: Span(sum),
            event,
            ends,
            events,
            losing,
            notes,
            foreign,
        };
        for (flow, _) in long {
            let index = meter.index(*flow);
            meter.flows[index].event = 0;
        }
        meter
    }

    /// The queue drops a packet, behind which others would wait for `wait`. What goes back does not count.
    pub fn drop_packet(&mut self, packet: &Packet, outcome: PacketOutcome, now: Time, wait: impl FnOnce() -> Span) {
        if packet.is_foreign() {
            self.foreign.push(Decision { time: now, packet: *packet, outcome });
        }
        if packet.goes_back() {
            return;
        }
        let index = self.index(packet.flow);
        let flow = &mut self.flows[index];
        flow.dropped += 1;
        if flow.event != NOT_LONG {
            self.count_loss_event(index, now, wait);
        }
        self.miss(packet);
    }

    /// A packet is lost on the wire at `lost_at`, which may lie ahead.
    pub fn lose(&mut self, packet: &Packet, lost_at: Time, now: Time) {
        if packet.is_foreign() {
            self.foreign.push(Decision { time: lost_at, packet: *packet, outcome: PacketOutcome::Lost });
        }
        if let Some(slot) = self.miss(packet)
            && lost_at > now
        {
            self.lost.ahead.insert(slot, lost_at);
        }
    }

    /// A segment that has been lost may be sent again; returns its slot.
    fn miss(&mut self, packet: &Packet) -> Option<u32> {
        if packet.goes_back() || packet.is_foreign() || packet.is_media() {
            return None;
        }
        // Of a segment that was sent again though it had not been lost here nobody waits for another copy.
        let segment = LostSegment { first_sent: packet.first_sent()?, seq: packet.data().seq, next: NO_SLOT };
        let index = self.index(packet.flow);
        let list = &mut self.flows[index].lost;
        self.lost.push(list, packet.epoch(), segment);
        Some(list.last)
    }

    /// A segment is sent again: when it was sent first, if it has been lost here before now.
    #[cold]
    #[inline(never)]
    pub fn recall(&mut self, flow: u32, seq: u32, epoch: u8, now: Time) -> Option<Time> {
        let place = self.place(flow)?;
        let list = &mut self.flows.get_mut(place)?.lost;
        if list.epoch == epoch { self.lost.take(list, seq, now) } else { None }
    }

    /// Asks for the losses of a flow, which are needed soon.
    #[inline(always)]
    pub fn fetch(&self, flow: u32) {
        memory::fetch_at(&self.flows, flow as usize);
    }

    /// Where a flow is, if it has lost a packet.
    #[inline]
    fn place(&self, flow: u32) -> Option<usize> {
        match &self.places {
            None => Some(flow as usize),
            Some(places) => places.get(&flow).map(|place| *place as usize),
        }
    }

    /// Metrics count from now on.
    pub fn restart(&mut self) {
        self.flows.iter_mut().for_each(|flow| flow.dropped = 0);
        (self.ends, self.events, self.losing) = (Time::ZERO, 0, 0);
    }

    /// Data packets that the queue has dropped, by flow.
    pub fn dropped(&self) -> impl Iterator<Item = (u32, u32)> {
        let numbers = self.places.iter().flatten().map(|(flow, place)| (*flow, *place));
        let all = if self.places.is_some() { 0 } else { self.flows.len() as u32 };
        numbers.chain((0..all).map(|flow| (flow, flow))).map(|(flow, place)| (flow, self.flows[place as usize].dropped))
    }

    /// Mean share of the long flows that lose a packet in a loss event; `None` without one, or with a single flow.
    pub fn synchronisation(&self) -> Option<f64> {
        let most = self.events * u64::from(self.long);
        (self.events > 0 && self.long > 1).then(|| self.losing as f64 / most as f64)
    }

    /// Where a flow is from now on.
    fn index(&mut self, flow: u32) -> usize {
        let place = match &mut self.places {
            None => flow as usize,
            Some(places) => *places.entry(flow).or_insert(self.flows.len() as u32) as usize,
        };
        let more = (place + 1).saturating_sub(self.flows.len());
        if more > 0 {
            memory::reserve(&mut self.flows, more);
            self.flows.resize(place + 1, FlowLosses::NONE);
        }
        place
    }

    /// A long flow loses a packet: in the present loss event, or as the first of another.
    fn count_loss_event(&mut self, index: usize, now: Time, wait: impl FnOnce() -> Span) {
        if now >= self.ends {
            self.ends = now + self.round_trip + wait();
            self.event += 1;
            self.events += 1;
        }
        let event = self.event;
        let last = std::mem::replace(&mut self.flows[index].event, event);
        self.losing += u64::from(last != self.event);
    }
}

impl FlowLosses {
    /// It has lost nothing, and is not active all the time.
    const NONE: Self = Self { dropped: 0, event: NOT_LONG, lost: LostList { first: NO_SLOT, last: NO_SLOT, epoch: 0 } };
}

impl Default for LostSegments {
    fn default() -> Self {
        Self { slots: Vec::new(), free: NO_SLOT, ahead: BTreeMap::new() }
    }
}

impl LostSegments {
    /// One more segment of a list; those of an earlier transfer are forgotten.
    fn push(&mut self, list: &mut LostList, epoch: u8, segment: LostSegment) {
        if list.epoch != epoch {
            self.clear(list);
            list.epoch = epoch;
        }
        match self.slots.get_mut(list.last as usize) {
            Some(last) if last.seq == segment.seq => *last = segment, // a datagram
            _ => self.append(list, segment),
        }
        if !self.ahead.is_empty() {
            self.ahead.remove(&list.last);
        }
    }

    /// True if the segment of a slot was lost before `now`.
    fn is_lost(&self, slot: u32, now: Time) -> bool {
        self.ahead.is_empty() || self.ahead.get(&slot).is_none_or(|lost_at| *lost_at < now)
    }

    fn append(&mut self, list: &mut LostList, segment: LostSegment) {
        let slot = match self.slots.get_mut(self.free as usize) {
            Some(free) => {
                let next = std::mem::replace(free, segment).next;
                std::mem::replace(&mut self.free, next)
            }
            None => {
                memory::reserve(&mut self.slots, 1);
                self.slots.push(segment);
                self.slots.len() as u32 - 1
            }
        };
        match self.slots.get_mut(list.last as usize) {
            Some(last) => last.next = slot,
            None => list.first = slot,
        }
        list.last = slot;
    }

    /// The list is empty from now on.
    fn clear(&mut self, list: &mut LostList) {
        if let Some(last) = self.slots.get_mut(list.last as usize) {
            last.next = std::mem::replace(&mut self.free, list.first);
            (list.first, list.last) = (NO_SLOT, NO_SLOT);
        }
    }

    /// Takes out a segment that was lost before now; returns when it was sent first.
    #[inline]
    fn take(&mut self, list: &mut LostList, seq: u32, now: Time) -> Option<Time> {
        let (mut before, mut slot) = (NO_SLOT, list.first);
        loop {
            let segment = self.slots.get(slot as usize)?;
            if segment.seq == seq && self.is_lost(slot, now) {
                break;
            }
            (before, slot) = (slot, segment.next);
        }
        let taken = &mut self.slots[slot as usize];
        let first_sent = taken.first_sent;
        let next = std::mem::replace(&mut taken.next, std::mem::replace(&mut self.free, slot));
        match self.slots.get_mut(before as usize) {
            Some(before) => before.next = next,
            None => list.first = next,
        }
        if list.last == slot {
            list.last = before;
        }
        Some(first_sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DROPPED: PacketOutcome = PacketOutcome::Refused(aqmlab_aqm::OVERFLOW);
    use crate::net::packet::{AnnouncedRtt, Data, FlowTag};
    use aqmlab_aqm::Ecn;
    use aqmlab_tcp::Ack;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    fn segment(flow: u32, seq: u32, sent_at: Time, is_resent: bool) -> Packet {
        let (rtt, ecn) = (AnnouncedRtt::default(), Ecn::NotEct);
        let data = Data { sent_at, seq, rtt, ecn, is_cwr: false, is_push: false, is_resent };
        Packet::of_data(FlowTag { flow, ..FlowTag::default() }, 1000, data)
    }

    /// The segment, which has just been sent again, arrives at the queue.
    fn take_along(meter: &mut LossMeter, packet: &mut Packet) {
        let data = packet.data();
        let first_sent = meter.recall(packet.flow, data.seq, packet.epoch(), data.sent_at);
        first_sent.into_iter().for_each(|time| packet.set_first_sent(time));
    }

    impl LostSegments {
        fn listed(&self, list: &LostList) -> Vec<u32> {
            let first = self.slots.get(list.first as usize);
            let all = std::iter::successors(first, |segment| self.slots.get(segment.next as usize));
            all.map(|segment| segment.seq).collect()
        }
    }

    impl LossMeter {
        fn listed(&self, flow: usize) -> Vec<u32> {
            self.lost.listed(&self.flows[flow].lost)
        }
    }

    /// Four long flows with round trips of 60, 60, 100 and 100 ms; flow 4 is none.
    const LONG: [(u32, Span); 4] = [
        (0, Span::from_millis(60)),
        (1, Span::from_millis(60)),
        (2, Span::from_millis(100)),
        (3, Span::from_millis(100)),
    ];

    fn meter() -> LossMeter {
        LossMeter::new(&LONG, false)
    }

    #[test]
    fn a_link_that_few_of_many_flows_cross_has_room_for_those_alone() {
        let long = LONG.map(|(flow, rtt)| (10_000 * flow, rtt));
        let mut meter = LossMeter::new(&long, true);
        for flow in [0, 10_000, 20_000, 25_000] {
            meter.drop_packet(&segment(flow, 0, ms(1), false), DROPPED, ms(1), || Span::ZERO);
        }
        assert_eq!(meter.synchronisation(), Some(0.75));
        assert_eq!(meter.dropped().collect::<Vec<_>>(), [(0, 1), (10_000, 1), (20_000, 1), (25_000, 1), (30_000, 0)]);
        assert_eq!(meter.flows.len(), 5);
        assert_eq!([10_000, 30_000, 30_001].map(|flow| meter.recall(flow, 0, 0, ms(2))), [Some(ms(1)), None, None]);
    }

    #[test]
    fn flows_that_lose_within_a_round_trip_lose_together() {
        let mut meter = meter();
        assert_eq!(meter.synchronisation(), None);
        // The mean round trip of 80 ms and a wait of 20 ms make an event of 100 ms: flows 0, 1 and 2 lose in the first, flow 3
        // in the second, which begins at 100 ms; flow 4 begins none.
        for (flow, at) in [(0, 0), (0, 10), (1, 50), (4, 60), (2, 99), (3, 100), (3, 199), (4, 500)] {
            meter.drop_packet(&segment(flow, 0, ms(at), false), DROPPED, ms(at), || Span::from_millis(20));
        }
        assert_eq!(meter.synchronisation(), Some((3.0 + 1.0) / (2.0 * 4.0)));
        assert_eq!(meter.dropped().collect::<Vec<_>>(), [(0, 2), (1, 1), (2, 1), (3, 2), (4, 2)]);
        meter.restart();
        assert_eq!((meter.synchronisation(), meter.dropped().next()), (None, Some((0, 0))));
        meter.drop_packet(&segment(1, 9, ms(510), false), DROPPED, ms(510), || Span::ZERO);
        assert_eq!(meter.synchronisation(), Some(0.25), "an event before the warm-up's end is over with it");
    }

    #[test]
    fn a_segment_keeps_the_time_of_its_first_transmission() {
        let (mut meter, wait) = (meter(), || Span::ZERO);
        meter.drop_packet(&segment(0, 7, ms(10), false), DROPPED, ms(15), wait);
        meter.drop_packet(&segment(0, 8, ms(11), false), DROPPED, ms(16), wait);
        let mut again = segment(0, 7, ms(110), true);
        assert_eq!(again.first_sent(), None);
        take_along(&mut meter, &mut again);
        assert_eq!(again.first_sent(), Some(ms(10)));
        meter.drop_packet(&again, DROPPED, ms(115), wait);
        let mut third = segment(0, 7, ms(310), true);
        take_along(&mut meter, &mut third);
        assert_eq!(third.first_sent(), Some(ms(10)), "lost twice");
        let mut spurious = segment(0, 9, ms(320), true);
        take_along(&mut meter, &mut spurious);
        assert_eq!(spurious.first_sent(), None, "it has not been lost");
        meter.lose(&spurious, ms(325), ms(325));
        assert_eq!(meter.listed(0), [8]);
    }

    #[test]
    fn a_loss_that_lies_ahead_is_not_known_yet() {
        let mut meter = meter();
        meter.lose(&segment(0, 7, ms(10), false), ms(50), ms(20));
        assert_eq!([40, 50, 51].map(|at| meter.recall(0, 7, 0, ms(at))), [None, None, Some(ms(10))]);
        meter.lose(&segment(0, 7, ms(60), false), ms(90), ms(65));
        assert_eq!(meter.recall(0, 7, 1, ms(70)), None);
        meter.drop_packet(&segment(1, 3, ms(61), false), DROPPED, ms(66), || Span::ZERO);
        meter.drop_packet(&segment(0, 7, ms(62), false), DROPPED, ms(67), || Span::ZERO);
        let found = [(1, 3), (0, 7)].map(|(flow, seq)| meter.recall(flow, seq, 0, ms(70)));
        assert_eq!(found, [Some(ms(61)), Some(ms(62))], "a copy that is dropped now takes the other's place");
    }

    #[test]
    fn acks_and_datagrams_leave_nothing_to_recall() {
        let mut meter = meter();
        meter.drop_packet(&Packet::of_ack(FlowTag::default(), 40, 0, &Ack::default()), DROPPED, ms(1), || Span::ZERO);
        assert_eq!((meter.dropped().next(), meter.synchronisation()), (Some((0, 0)), None));
        (0..9).for_each(|at| meter.drop_packet(&segment(9, 0, ms(at), false), DROPPED, ms(at), || Span::ZERO));
        assert_eq!((meter.dropped().last(), meter.listed(9)), (Some((9, 9)), vec![0]));
    }

    #[test]
    fn segments_are_found_in_any_order_and_those_of_an_earlier_transfer_forgotten() {
        let (mut lost, mut list) = (LostSegments::default(), FlowLosses::NONE.lost);
        let segment = |seq: u32| LostSegment { first_sent: ms(seq.into()), seq, next: NO_SLOT };
        (10..15).for_each(|seq| lost.push(&mut list, 0, segment(seq)));
        assert_eq!([12, 10, 12].map(|seq| lost.take(&mut list, seq, ms(30))), [Some(ms(12)), Some(ms(10)), None]);
        assert_eq!(lost.take(&mut list, 11, ms(30)), Some(ms(11)));
        (15..18).for_each(|seq| lost.push(&mut list, 0, segment(seq)));
        assert_eq!(
            [13, 14, 17, 16, 15].map(|seq| lost.take(&mut list, seq, ms(30))),
            [13, 14, 17, 16, 15].map(|at| Some(ms(at)))
        );
        assert!(lost.listed(&list).is_empty());
        lost.push(&mut list, 0, segment(1));
        lost.push(&mut list, 0, segment(2));
        lost.push(&mut list, 1, segment(3));
        assert_eq!((lost.listed(&list), list.epoch), (vec![3], 1));
        assert_eq!((lost.take(&mut list, 1, ms(30)), lost.take(&mut list, 3, ms(30))), (None, Some(ms(3))));
    }

    #[test]
    fn a_resent_segment_of_another_transfer_recalls_nothing() {
        let mut meter = meter();
        meter.drop_packet(&segment(0, 7, ms(10), false), DROPPED, ms(15), || Span::ZERO);
        assert_eq!([1, 0].map(|epoch| meter.recall(0, 7, epoch, ms(20))), [None, Some(ms(10))]);
    }

    /// Three flows lose ten segments each, again and again, and send them again, one flow from the last one on.
    #[test]
    fn slots_of_lost_segments_are_used_again() {
        let mut lost = LostSegments::default();
        let mut lists = [FlowLosses::NONE.lost; 3];
        let segment = |seq: u32| LostSegment { first_sent: ms(seq.into()), seq, next: NO_SLOT };
        for round in 0..100 {
            (0..30).for_each(|i| lost.push(&mut lists[i % 3], round, segment(i as u32)));
            for i in 0..10 {
                let found = [3 * i, 28 - 3 * i].map(|seq| lost.take(&mut lists[seq as usize % 3], seq, ms(2)));
                assert_eq!(found, [3 * i, 28 - 3 * i].map(|seq| Some(ms(seq.into()))));
            }
            assert_eq!(lists.map(|list| lost.listed(&list).len()), [0, 0, 10], "the next transfer forgets them");
        }
        assert_eq!(lost.slots.len(), 30);
    }
}
