//! Reassembly, and the ACKs that tell of it: cumulative, selective, delayed, with the echo of congestion marks.

use crate::ack::{Ack, Advertised, Sack};
use crate::arrival::SegmentArrival;
use crate::cc::Needs;
use crate::cc::rledbat::DrivenWindow;
use crate::ecn::EcnFeedback;
use crate::linux;
use crate::linux_receiver::{AckTime, ArrivedSegment, LinuxReceiver};
use crate::params::{TcpParams, TcpVariant};
use crate::seqset::SeqSet;
use aqmlab_core::{Span, Time};
use std::ops::Range;

/// One receiver. Acknowledges every segment, or every second one.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next segment expected in order.
    next: u32,
    /// One past the highest segment received.
    end: u32,
    /// Segments that have arrived from `next` on.
    received: SeqSet,
    ack_due: Time,
    /// The first segments of the blocks reported last, the newest first. Those below `next` count no more, and come last.
    recent: [u32; 3],
    /// State of a Linux receiver, or of one that limits its sender (rLEDBAT).
    quick: Option<Box<LinuxReceiver>>,
    /// The sender's loss recovery, which decides what ACKs tell of segments out of order, or twice.
    variant: TcpVariant,
    feedback: EcnFeedback,
    /// The echo of ACKs: a mark that has come and not yet been answered, or that the last segment was marked.
    ece: bool,
    /// The last segment that came, and was not beyond those that the last ACK has acknowledged, had been sent before: ACKs echo
    /// its timestamp (RFC 7323, section 4.3).
    is_resent: bool,
    /// Marked segments received, where they are counted.
    ce: u32,
    /// Segments delivered in order, or datagrams, while metrics count: its owner adds to it.
    pub delivered: u32,
}

/// State of a Linux receiver before the first segment. Out of line: it is large, and made once.
#[cold]
#[inline(never)]
fn fresh() -> Box<LinuxReceiver> {
    Box::default()
}

impl Receiver {
    /// A receiver before segment 0. `variant`: the sender's. `needs`: those of its law.
    pub fn new(variant: TcpVariant, needs: Needs) -> Self {
        let rledbat = needs.receiver_target.map(DrivenWindow::new);
        Self {
            next: 0,
            end: 0,
            received: SeqSet::default(),
            ack_due: Time::NEVER,
            recent: Default::default(),
            quick: (variant == TcpVariant::Rack || rledbat.is_some()).then(|| Box::new(LinuxReceiver::new(rledbat))),
            variant,
            feedback: needs.feedback,
            ece: false,
            is_resent: false,
            ce: 0,
            delivered: 0,
        }
    }

    /// A segment arrives at a receiver that acknowledges each one at once: the same as [`on_segment`](Self::on_segment) where `params`
    /// have neither delayed nor quick ACKs nor an ACK of the handshake, and the receiver does not drive its sender. Its number if it
    /// had arrived before and the sender wants to know; [`ack`](Self::ack) or [`cumulative`](Self::cumulative) follows.
    #[inline(always)] // for each packet
    pub fn take_in(&mut self, seq: u32, is_ce: bool, is_cwr: bool, is_resent: bool) -> Option<u32> {
        self.takes_mark(is_ce, is_cwr);
        self.take(seq, is_resent).1
    }

    /// Its ACKs contain [`cumulative`](Self::cumulative) and no SACK blocks.
    #[inline]
    pub fn is_cumulative(&self) -> bool {
        !self.variant.has_sack()
    }

    /// The next segment expected, and the echo of a mark.
    #[inline]
    pub fn cumulative(&self) -> (u32, bool) {
        (self.next, self.ece)
    }

    /// A segment arrives at `now`. `Some(ack)` if it is to be acknowledged at once, `None` if the ACK is delayed: then
    /// [`ack_due`](Self::ack_due) says until when.
    #[inline(always)] // for each packet
    pub fn on_segment(&mut self, segment: SegmentArrival, now: Time, params: &TcpParams) -> Option<Ack> {
        if segment.seq == 0 && params.handshake_ack && self.next > 0 && !segment.is_resent {
            self.quick.iter_mut().for_each(|quick| quick.on_handshake_ack(now));
            return None; // the ACK of what has answered the SYN
        }
        if let Some(rledbat) = self.quick.as_mut().and_then(|quick| quick.rledbat.as_mut()) {
            let is_new = segment.seq >= self.end || segment.seq >= self.next && !self.received.contains(segment.seq);
            rledbat.on_segment(&segment, is_new, params.window.0, now);
        }
        let (is_due, dsack) = match params.quick_acks {
            0 => self.judge(segment, now, params),
            _ => self.ack_policy_linux(segment, now, params),
        };
        is_due.then(|| self.ack(dsack))
    }

    /// Takes in a segment. Whether to acknowledge it at once, else it is arranged when; its number if it had arrived before
    /// and the sender wants to know.
    #[inline(always)]
    fn judge(&mut self, segment: SegmentArrival, now: Time, params: &TcpParams) -> (bool, Option<u32>) {
        let is_other_mark = self.takes_mark(segment.is_ce, segment.is_cwr);
        let (is_in_order, dsack) = self.take(segment.seq, segment.is_resent);
        if !params.delayed_ack {
            return (true, dsack);
        }
        let waits = is_in_order && !is_other_mark && self.may_wait(segment.seq, params);
        self.ack_due = if waits { now + params.ack_delay } else { Time::NEVER };
        (!waits, dsack)
    }

    /// The same, as a receiver of Linux does it. By value: others need not lie in memory.
    #[inline(never)]
    fn ack_policy_linux(&mut self, segment: SegmentArrival, now: Time, params: &TcpParams) -> (bool, Option<u32>) {
        let SegmentArrival { seq, is_ce, is_ect, is_cwr, is_push, is_resent, sent_at, .. } = segment;
        if !self.quick.get_or_insert_with(fresh).take_stamp(seq, sent_at) {
            return (true, self.refuse(seq, now, params));
        }
        let (before, was_echoing) = (self.next, self.ece && !is_cwr);
        let is_other_mark = self.takes_mark(is_ce, is_cwr);
        let (is_in_order, dsack) = self.take(seq, is_resent);
        let is_now = is_other_mark || is_cwr || dsack.is_some(); // `tcp_ecn_accept_cwr`
        let is_classic = self.feedback != EcnFeedback::Counter;
        let quick = self.quick.get_or_insert_with(fresh);
        let arrived = ArrivedSegment {
            seq,
            sent_at,
            is_resent,
            before,
            next: self.next,
            end: self.end,
            held: if is_in_order { 0 } else { self.received.count(self.next..self.end) },
            runs: if is_in_order { 0 } else { self.received.runs(self.next..self.end) },
            is_first_of_run: seq > self.next && !self.received.contains(seq - 1),
            is_new_mark: self.feedback == EcnFeedback::Classic && is_ce && !was_echoing,
            lacks_ect: is_classic && !is_ect && !is_ce && quick.has_seen_ect,
        };
        quick.has_seen_ect |= (is_ect || is_ce) && (seq > 0 || !params.syn);
        let is_second = self.ack_due != Time::NEVER;
        let due = match quick.on_segment(&arrived, is_second, now, params) {
            // The application reads at once, and with the end of what was written the ACK is due (`__tcp_cleanup_rbuf`).
            AckTime::Delayed(wait) if !is_now && !is_push && params.delayed_ack => {
                quick.delayed = linux::expiry(now, wait, params.clock, Span::ZERO);
                quick.delayed
            }
            AckTime::Compressed(wait) if !is_now => quick.compressed(now + wait, now),
            _ => {
                quick.on_ack(self.next, now);
                self.ack_due = Time::NEVER;
                return (true, dsack);
            }
        };
        self.ack_due = self.ack_due.min(due);
        (false, dsack)
    }

    /// A segment with a timestamp older than the last is not taken in (`tcp_send_dupack`). Its number if it had arrived before.
    #[cold]
    fn refuse(&mut self, seq: u32, now: Time, params: &TcpParams) -> Option<u32> {
        self.ack_due = Time::NEVER;
        let quick = self.quick.get_or_insert_with(fresh);
        if seq < self.next {
            quick.raise(params.quick_acks, params);
        }
        quick.on_ack(self.next, now);
        (seq < self.next).then_some(seq)
    }

    /// Takes in a segment: whether it was the next one and fills no hole, and its number if it had arrived before and the
    /// sender wants to know.
    #[inline(always)]
    fn take(&mut self, seq: u32, is_resent: bool) -> (bool, Option<u32>) {
        if self.variant == TcpVariant::Rack && self.quick.as_ref().is_some_and(|quick| seq <= quick.acked) {
            self.is_resent = is_resent;
        }
        if seq != self.next || self.end > seq + 1 {
            return (false, self.out_of_order(seq));
        }
        self.next += 1;
        self.end = self.next;
        (true, None)
    }

    /// Takes in whether a segment is marked, and whether it answers a mark. True if its ACK must not wait.
    #[inline]
    fn takes_mark(&mut self, is_ce: bool, is_cwr: bool) -> bool {
        match self.feedback {
            // RFC 3168, section 6.1.3: echo until the answer comes; a mark on the answer itself is a new one.
            EcnFeedback::Classic => self.ece = is_ce || self.ece && !is_cwr,
            EcnFeedback::PerPacket => return is_ce != std::mem::replace(&mut self.ece, is_ce),
            EcnFeedback::Counter => self.ce = (self.ce + u32::from(is_ce)) & Ack::CE_MASK,
        }
        false
    }

    /// Time at which a delayed ACK is due; [`Time::NEVER`] if none is.
    #[inline]
    pub fn ack_due(&self) -> Time {
        self.ack_due
    }

    /// The time at which its host must look for the delayed ACK ([`take_due`](Self::take_due)); `None` if it does so before.
    #[inline]
    pub fn next_look(&mut self) -> Option<Time> {
        let due = self.ack_due;
        if let Some(quick) = &mut self.quick {
            if due >= quick.looked_at {
                return None;
            }
            quick.looked_at = due;
        }
        Some(due)
    }

    /// Its host has looked: when it must do so again. Most ACKs are sent with the next segment, so that few looks find one.
    pub fn look_again(&mut self, now: Time) -> Option<Time> {
        let quick = self.quick.as_mut().filter(|quick| quick.looked_at <= now)?;
        quick.looked_at = Time::NEVER;
        self.next_look()
    }

    /// The delayed ACK if it is due at or before `now`, with its time; none is due any longer.
    pub fn take_due(&mut self, now: Time, params: &TcpParams) -> Option<(Time, Ack)> {
        if self.ack_due == Time::NEVER || self.ack_due > now {
            return None;
        }
        self.quick.iter_mut().for_each(|quick| quick.on_timer(params));
        Some(self.take_waiting(now))
    }

    /// The delayed ACK that a segment, `seq`, marked or not, must not be acknowledged together with: the one that is due, that
    /// of a segment of the other kind (RFC 8257, section 3.2: an implementation may send two ACKs), or one that tells of blocks
    /// that another may have no room for.
    #[inline]
    pub fn take_before(&mut self, seq: u32, is_ce: bool, now: Time, params: &TcpParams) -> Option<(Time, Ack)> {
        if self.ack_due == Time::NEVER {
            return None;
        }
        let differs = self.feedback == EcnFeedback::PerPacket && is_ce != self.ece || self.crowds_out(seq);
        if differs && self.ack_due > now {
            self.ack_due = now;
            return Some(self.take_waiting(now));
        }
        self.take_due(now, params)
    }

    /// A segment is neither of the two newest blocks nor next to one, and the ACK that waits tells of both (`tcp_sack_new_ofo_skb`,
    /// `TCP_SACK_BLOCKS_EXPECTED`).
    #[inline]
    fn crowds_out(&self, seq: u32) -> bool {
        self.quick.as_ref().is_some_and(|quick| quick.is_compressing()) && self.is_of_third_block(seq)
    }

    #[cold]
    fn is_of_third_block(&self, seq: u32) -> bool {
        let [first, second, _] = self.recent;
        let touches = |start: u32| start <= seq + 1 && seq <= self.gap(start);
        second > self.next && seq > self.next && !self.has(seq) && !touches(first) && !touches(second)
    }

    /// The ACK that waits.
    fn take_waiting(&mut self, now: Time) -> (Time, Ack) {
        self.quick.iter_mut().for_each(|quick| quick.on_ack(self.next, now));
        (std::mem::replace(&mut self.ack_due, Time::NEVER), self.ack(None))
    }

    /// The window that an ACK of all that has arrived advertises, sent at `now` by a receiver that drives its sender.
    pub fn advertise(&mut self, now: Time) -> Option<Advertised> {
        let next = self.next;
        let rledbat = self.quick.as_mut()?.rledbat.as_mut()?;
        Some(Advertised { edge: rledbat.advertise(next), sent_at: now })
    }

    /// Segments received in order.
    pub fn in_order(&self) -> u32 {
        self.next
    }

    /// A segment has arrived.
    pub fn has(&self, seq: u32) -> bool {
        seq < self.next || seq < self.end && self.received.contains(seq)
    }

    /// Ready for a new transfer from segment 0 on; keeps its memory.
    pub fn restart(&mut self) {
        self.received.clear(self.next..self.end);
        (self.next, self.end, self.recent) = (0, 0, Default::default());
        (self.ack_due, self.ece, self.is_resent, self.ce) = (Time::NEVER, false, false, 0);
        self.quick.iter_mut().for_each(|quick| quick.restart());
    }

    /// RFC 5681, section 4.2: every second segment is acknowledged at once. So is the SYN.
    fn may_wait(&self, seq: u32, params: &TcpParams) -> bool {
        self.ack_due == Time::NEVER && !(params.syn && seq == 0)
    }

    /// The ACK of what has arrived. `dsack`: the segment that has caused it had arrived before.
    #[inline(always)]
    pub fn ack(&mut self, dsack: Option<u32>) -> Ack {
        let Self { next, ece, ce, is_resent, .. } = *self;
        let mut ack = Ack { next, ece, ce, dsack, is_resent, ..Ack::default() };
        if let Some(quick) = &mut self.quick {
            quick.acked = next;
            (ack.has_new_window, ack.rwnd) = (quick.has_new_window, quick.rwnd);
        }
        if self.end > self.next && self.variant.has_sack() {
            ack.sack = self.blocks(dsack);
        }
        ack
    }

    /// A segment that is not the next, or fills a hole; its number if it had arrived before and the sender wants to know.
    #[inline(never)] // the way of a segment in order stays short
    fn out_of_order(&mut self, seq: u32) -> Option<u32> {
        let wants_to_know = self.variant == TcpVariant::Rack;
        if seq < self.next {
            return wants_to_know.then_some(seq);
        }
        let is_new = !wants_to_know || seq >= self.end || !self.received.contains(seq);
        self.received.reserve(self.next..self.end, self.next..self.end.max(seq + 1));
        self.received.insert(seq);
        self.end = self.end.max(seq + 1);
        if seq == self.next {
            let next = self.gap(seq);
            self.received.clear(seq..next);
            self.next = next;
            if self.variant.has_sack() {
                let mut left = self.recent.into_iter().filter(|start| *start > next);
                self.recent = std::array::from_fn(|_| left.next().unwrap_or_default());
            }
        } else if self.variant.has_sack() {
            self.remember(seq);
        }
        (!is_new).then_some(seq)
    }

    /// The block of `seq` becomes the newest; those it has swallowed go.
    fn remember(&mut self, seq: u32) {
        let block = self.block(seq);
        let mut others = self.recent.into_iter().filter(|start| !block.contains(start));
        self.recent = [block.start, others.next().unwrap_or_default(), others.next().unwrap_or_default()];
    }

    /// RFC 2018, section 4: the block of the newest segment first, then those reported last. A segment that has arrived twice
    /// takes the room of the third (RFC 2883, section 4).
    #[inline(never)]
    fn blocks(&self, dsack: Option<u32>) -> Sack {
        let block = |start: u32| if start > self.next { start..self.gap(start) } else { 0..0 };
        let [first, second, third] = self.recent;
        Sack::of([block(first), block(second), if dsack.is_some() { 0..0 } else { block(third) }])
    }

    /// The segments that have arrived around `seq` without a gap.
    fn block(&self, seq: u32) -> Range<u32> {
        let before = self.received.last_missing(self.next..seq).unwrap_or(self.next);
        before + 1..self.gap(seq)
    }

    /// The first segment from `seq` on that has not arrived.
    fn gap(&self, seq: u32) -> u32 {
        self.received.first_missing(seq..self.end).unwrap_or(self.end)
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    /// A receiver whose segments come at intervals of a millisecond, neither marked nor answering a mark.
    struct Bench {
        receiver: Receiver,
        params: TcpParams,
        now: Time,
    }

    fn bench(sack: bool, changes: &[(&str, &str)]) -> Bench {
        let (mut params, mut problems) = (TcpParams::defaults(), Vec::new());
        params.read("tcp", changes.iter().copied(), &mut problems);
        assert_eq!(problems, []);
        let variant = if sack { TcpVariant::Sack } else { TcpVariant::Reno };
        Bench { receiver: Receiver::new(variant, Needs::NONE), params, now: Time::ZERO }
    }

    impl Bench {
        fn ack(&mut self, seq: u32, is_ce: bool, is_cwr: bool) -> Option<Ack> {
            self.now += Span::from_millis(1);
            let segment = SegmentArrival { seq, is_ce, is_cwr, ..SegmentArrival::default() };
            self.receiver.on_segment(segment, self.now, &self.params)
        }

        /// The next segment expected by the ACK, if there is one.
        fn next(&mut self, seq: u32) -> Option<u32> {
            self.ack(seq, false, false).map(|ack| ack.next)
        }

        fn blocks(&mut self, seq: u32) -> Vec<Range<u32>> {
            self.ack(seq, false, false).expect("an ACK at once").sack.blocks().collect()
        }
    }

    #[test]
    fn acknowledges_up_to_the_next_segment_expected() {
        let mut bench = bench(false, &[]);
        let acks = [1, 0, 1, 2, 4, 5, 4, 3, 6].map(|seq| bench.next(seq).expect("an ACK at once"));
        assert_eq!(acks, [0, 2, 2, 3, 3, 3, 3, 6, 7]);
    }

    #[test]
    fn knows_what_has_arrived() {
        let mut bench = bench(false, &[]);
        for seq in [0, 1, 4] {
            bench.next(seq);
        }
        assert_eq!([0, 1, 2, 3, 4, 5].map(|seq| bench.receiver.has(seq)), [true, true, false, false, true, false]);
    }

    #[test]
    fn holds_any_amount_out_of_order() {
        let mut bench = bench(false, &[]);
        bench.next(0);
        for seq in (2..1000).rev() {
            assert_eq!(bench.next(seq), Some(1));
        }
        assert_eq!([bench.next(1), bench.next(1000), bench.next(1002)], [Some(1000), Some(1001), Some(1001)]);
    }

    #[test]
    fn agrees_with_a_set() {
        // A permutation of 0..2000 with stride 7 in blocks: every order of arrival ends complete.
        let mut bench = bench(true, &[]);
        let mut seen = std::collections::BTreeSet::new();
        for i in 0..2000u32 {
            let seq = (i / 100) * 100 + (i * 37 + 11) % 100;
            seen.insert(seq);
            let in_order = (0..).take_while(|s| seen.contains(s)).count() as u32;
            let blocks = bench.blocks(seq);
            assert_eq!(bench.receiver.in_order(), in_order);
            for block in blocks {
                assert!(block.start > in_order && block.clone().all(|s| seen.contains(&s)));
                assert!(!seen.contains(&(block.start - 1)) && !seen.contains(&block.end));
            }
        }
        assert_eq!(bench.receiver.in_order(), 2000);
    }

    #[test]
    fn names_the_newest_block_first_and_then_those_named_last() {
        let mut bench = bench(true, &[]);
        assert_eq!(bench.blocks(0), []);
        assert_eq!(bench.blocks(2), [2..3]);
        assert_eq!(bench.blocks(4), [4..5, 2..3]);
        assert_eq!(bench.blocks(6), [6..7, 4..5, 2..3]);
        assert_eq!(bench.blocks(8), [8..9, 6..7, 4..5], "three blocks at most");
        assert_eq!(bench.blocks(7), [6..9, 4..5], "two have become one");
        assert_eq!(bench.blocks(3), [2..5, 6..9], "the newest is the one that has grown");
        assert_eq!(bench.blocks(1), [6..9], "up to 5 all is there");
        assert_eq!(bench.blocks(7), [6..9], "a duplicate");
        assert_eq!(bench.blocks(5), []);
        assert_eq!(bench.receiver.in_order(), 9);
    }

    #[test]
    fn names_no_block_unless_asked() {
        let mut bench = bench(false, &[]);
        assert_eq!([bench.blocks(0), bench.blocks(2), bench.blocks(4)], [[], [], []]);
    }

    #[test]
    fn tells_of_what_has_arrived_twice_in_the_place_of_a_block() {
        let mut bench = bench(true, &[]);
        bench.receiver = Receiver::new(TcpVariant::Rack, Needs::NONE);
        let mut answer = |seq| {
            let ack = bench.ack(seq, false, false).expect("an ACK at once");
            (ack.next, ack.dsack, ack.sack.blocks().collect::<Vec<_>>())
        };
        assert_eq!([0, 2, 4].map(|seq| answer(seq).0), [1, 1, 1]);
        assert_eq!(answer(6), (1, None, vec![6..7, 4..5, 2..3]));
        assert_eq!(answer(4), (1, Some(4), vec![4..5, 6..7]));
        assert_eq!(answer(1), (3, None, vec![4..5, 6..7]));
        assert_eq!(answer(2), (3, Some(2), vec![4..5, 6..7]));
    }

    #[test]
    fn a_hole_that_is_filled_leaves_the_other_blocks_in_their_order() {
        let mut bench = bench(true, &[]);
        assert_eq!([0, 4, 6].map(|seq| bench.next(seq)), [Some(1); 3]);
        assert_eq!(bench.blocks(2), [2..3, 6..7, 4..5]);
        assert_eq!(bench.blocks(1), [6..7, 4..5], "1 and 2 are acknowledged");
        assert_eq!(bench.blocks(5), [4..7]);
    }

    #[test]
    fn echoes_the_timestamp_of_the_first_segment_not_acknowledged() {
        let mut bench = bench(true, &[("delayed_ack", "true"), ("syn", "false")]);
        bench.receiver = Receiver::new(TcpVariant::Rack, Needs::NONE);
        let mut is_resent = |seq, is_resent| {
            let segment = SegmentArrival { seq, is_resent, ..SegmentArrival::default() };
            bench.receiver.on_segment(segment, Time::ZERO, &bench.params).map(|ack| ack.is_resent)
        };
        // 0 waits, 1 ends its wait; 3 is out of order; 2, sent again, fills the hole.
        assert_eq!([is_resent(0, false), is_resent(1, true), is_resent(3, false)], [None, Some(false), Some(false)]);
        assert_eq!([is_resent(2, true), is_resent(4, true), is_resent(5, false)], [Some(true), None, Some(true)]);
    }

    /// SACKs wait for each other (`compress`); what is sent again meanwhile is not taken for an original that came late.
    #[test]
    fn a_compressed_ack_does_not_keep_the_timestamp_of_what_fills_the_hole() {
        let mut bench = bench(true, &[("delayed_ack", "true"), ("quick_acks", "1"), ("syn", "false")]);
        bench.receiver = Receiver::new(TcpVariant::Rack, Needs::NONE);
        let mut arrive = |seq, is_resent, ms| {
            let segment = SegmentArrival { seq, is_resent, ..SegmentArrival::default() };
            let ack = bench.receiver.on_segment(segment, Time::ZERO + Span::from_millis(ms), &bench.params);
            (ack.map(|ack| ack.is_resent), bench.receiver.ack_due() != Time::NEVER)
        };
        arrive(0, false, 0);
        let beyond: Vec<_> = (2..40).map(|seq| arrive(seq, false, 40)).collect();
        assert_eq!(beyond.last(), Some(&(None, true)), "it waits for others");
        assert_eq!(arrive(1, true, 40), (Some(true), false));
    }

    #[test]
    fn a_third_block_does_not_wait_with_the_other_two() {
        let mut bench = bench(true, &[("delayed_ack", "true"), ("quick_acks", "1"), ("syn", "false")]);
        bench.receiver = Receiver::new(TcpVariant::Rack, Needs::NONE);
        let now = Time::ZERO + Span::from_millis(40);
        let mut arrive = |seq| {
            let before = bench.receiver.take_before(seq, false, now, &bench.params);
            let ack =
                bench.receiver.on_segment(SegmentArrival { seq, ..SegmentArrival::default() }, now, &bench.params);
            [before.map(|(_, ack)| ack), ack].map(|ack| ack.map(|ack| ack.sack))
        };
        let blocks = |blocks: &[Range<u32>]| Some(Sack::listing(blocks));
        // Of the first 40 segments 1 is missing; those after the first few wait, and 42 begins a second block, which waits with them.
        for seq in (0..40).filter(|seq| *seq != 1) {
            arrive(seq);
        }
        assert_eq!([arrive(40), arrive(42)], [[None, None]; 2]);
        assert_eq!(arrive(44), [blocks(&[42..43, 2..41]), None], "before a third one");
        assert_eq!([arrive(43), arrive(45)], [[None, None]; 2], "of the newest");
        assert_eq!(arrive(47), [blocks(&[42..46, 2..41]), None]);
        assert_eq!([arrive(46), arrive(41)], [[None, None]; 2], "41 is next to the second");
    }

    /// A tick is 1 ms. Segment 2 is lost, 3 late: what fills the hole, sent at 50 ms, dates the connection.
    #[test]
    fn a_segment_that_is_older_than_the_last_timestamp_is_not_taken_in() {
        let mut bench = bench(true, &[("delayed_ack", "true"), ("quick_acks", "1"), ("syn", "false")]);
        bench.receiver = Receiver::new(TcpVariant::Rack, Needs::NONE);
        let mut arrive = |seq, us| {
            let segment =
                SegmentArrival { seq, sent_at: Time::ZERO + Span::from_micros(us), ..SegmentArrival::default() };
            let ack = bench.receiver.on_segment(segment, Time::ZERO + Span::from_millis(60), &bench.params);
            ack.map(|ack| (ack.next, ack.dsack))
        };
        assert_eq!([arrive(0, 10_000), arrive(1, 11_000)], [Some((1, None)), Some((2, None))]);
        assert_eq!([arrive(6, 16_000), arrive(2, 50_900)], [Some((2, None)), Some((3, None))]);
        assert_eq!(arrive(3, 48_999), Some((3, None)), "two ticks older: an ACK, and nothing is taken in");
        assert_eq!(arrive(1, 12_000), Some((3, Some(1))), "it had arrived before, and the sender is told");
        assert_eq!(arrive(3, 49_000), Some((4, None)), "a tick older");
    }

    #[test]
    fn the_end_of_what_was_written_waits_for_no_other_segment() {
        let mut bench = bench(true, &[("delayed_ack", "true"), ("quick_acks", "1"), ("syn", "false")]);
        let mut is_quick = |seq, is_push| {
            let segment = SegmentArrival { seq, is_push, ..SegmentArrival::default() };
            bench.receiver.on_segment(segment, Time::ZERO, &bench.params).is_some()
        };
        // Seven are quick while the window grows, then every second one.
        let quick: Vec<_> = (0..10).map(|seq| is_quick(seq, false)).collect();
        assert_eq!(quick, [true, true, true, true, true, true, true, false, true, false]);
        assert_eq!(
            [is_quick(10, false), is_quick(11, true), is_quick(12, false), is_quick(13, false)],
            [true, true, false, true]
        );
    }

    #[test]
    fn echoes_a_mark_until_it_is_answered() {
        let mut bench = bench(false, &[]);
        let marked = (true, false);
        let answer = (false, true);
        let plain = (false, false);
        let flags = [plain, marked, plain, plain, answer, plain, marked, (true, true), plain, answer];
        let echoes = (0..).zip(flags).map(|(seq, (ce, cwr))| bench.ack(seq, ce, cwr).expect("an ACK at once").ece);
        assert_eq!(
            echoes.collect::<Vec<_>>(),
            [false, true, true, true, false, false, true, true, true, false],
            "a marked answer is a new mark"
        );
    }

    #[test]
    fn delays_every_other_ack_until_the_next_segment_or_the_timer() {
        let mut bench = bench(false, &[("delayed_ack", "true"), ("ack_delay", "100 ms")]);
        assert_eq!(bench.next(0), Some(1), "the SYN at once");
        assert_eq!([bench.next(1), bench.next(2), bench.next(3)], [None, Some(3), None]);
        // Segment 3 came at 4 ms.
        let due = Time::ZERO + Span::from_millis(104);
        assert_eq!(bench.receiver.ack_due(), due);
        assert_eq!(bench.receiver.take_due(Time(due.0 - 1), &bench.params), None);
        assert_eq!(
            bench.receiver.take_due(Time(due.0 + 1), &bench.params),
            Some((due, Ack { next: 4, ..Ack::default() }))
        );
        assert_eq!(
            (bench.receiver.ack_due(), bench.receiver.take_due(Time(2 * due.0), &bench.params)),
            (Time::NEVER, None)
        );
        assert_eq!([bench.next(4), bench.next(5)], [None, Some(6)], "the timer counts as an ACK");
    }

    #[test]
    fn delays_nothing_out_of_order_and_nothing_that_fills_a_hole() {
        let mut bench = bench(false, &[("delayed_ack", "true"), ("syn", "false")]);
        assert_eq!([bench.next(0), bench.next(2)], [None, Some(1)], "tells of 0 too");
        assert_eq!(bench.receiver.ack_due(), Time::NEVER);
        assert_eq!([bench.next(4), bench.next(1), bench.next(3), bench.next(3)], [Some(1), Some(3), Some(5), Some(5)]);
        assert_eq!([bench.next(5), bench.next(6)], [None, Some(7)]);
    }

    #[test]
    fn a_delayed_ack_echoes_a_mark_on_either_segment() {
        for marked in [0, 1] {
            let mut bench = bench(false, &[("delayed_ack", "true"), ("syn", "false")]);
            bench.ack(0, marked == 0, false);
            assert!(bench.ack(1, marked == 1, false).is_some_and(|ack| ack.ece));
        }
    }

    #[test]
    fn per_packet_feedback_never_mixes_marked_and_unmarked_segments() {
        // RFC 8257, section 3.2: an ACK is sent at once when the mark changes, else for every second segment.
        let mut bench = bench(false, &[("delayed_ack", "true"), ("syn", "false")]);
        bench.receiver = Receiver::new(TcpVariant::Reno, Needs { feedback: EcnFeedback::PerPacket, ..Needs::NONE });
        let mut answers = Vec::new();
        for (seq, is_ce) in (0..).zip([false, true, true, true, false, false]) {
            let before = bench.receiver.take_before(0, is_ce, bench.now, &bench.params).map(|(_, ack)| ack);
            answers.extend(before.into_iter().chain(bench.ack(seq, is_ce, false)).map(|ack| (ack.next, ack.ece)));
        }
        assert_eq!(answers, [(1, false), (2, true), (4, true), (5, false)], "5 waits");
        assert_eq!(
            bench.receiver.take_before(0, false, bench.now, &bench.params),
            None,
            "one of the same kind may come"
        );
    }

    #[test]
    fn counters_count_every_mark_once() {
        let mut bench = bench(false, &[]);
        bench.receiver = Receiver::new(TcpVariant::Reno, Needs { feedback: EcnFeedback::Counter, ..Needs::NONE });
        let marks = [(0, true), (1, false), (3, true), (2, true)].map(|(seq, is_ce)| {
            let ack = bench.ack(seq, is_ce, true).expect("an ACK at once");
            (ack.ece, ack.ce)
        });
        assert_eq!(marks, [(false, 1), (false, 1), (false, 2), (false, 3)]);
        bench.receiver.ce = Ack::CE_MASK;
        assert_eq!(bench.ack(4, true, false).map(|ack| ack.ce), Some(0), "24 bits");
    }

    #[test]
    fn a_host_looks_for_delayed_acks_once_before_the_next_is_due() {
        let ms = |ms| Time::ZERO + Span::from_millis(ms);
        let mut receiver = Receiver::new(TcpVariant::Rack, Needs::NONE);
        let mut look_for = |due| {
            receiver.ack_due = due;
            receiver.next_look()
        };
        assert_eq!(
            [ms(40), ms(70), Time::NEVER].map(&mut look_for),
            [Some(ms(40)), None, None],
            "the look at 40 serves all"
        );
        assert_eq!(look_for(ms(30)), Some(ms(30)), "that would be too late");
        receiver.ack_due = ms(70);
        assert_eq!(receiver.look_again(ms(30)), Some(ms(70)));
        assert_eq!(receiver.look_again(ms(40)), None, "the look at 70 is arranged");
        receiver.ack_due = Time::NEVER;
        assert_eq!(receiver.look_again(ms(70)), None, "none is due");
        receiver.ack_due = ms(90);
        assert_eq!(receiver.next_look(), Some(ms(90)));
    }

    #[test]
    fn a_restart_forgets_everything() {
        let mut bench = bench(true, &[("delayed_ack", "true"), ("syn", "false")]);
        bench.ack(0, true, false);
        bench.ack(3, false, false);
        bench.receiver.restart();
        assert_eq!((bench.receiver.in_order(), bench.receiver.ack_due()), (0, Time::NEVER));
        assert_eq!(bench.ack(1, false, false).map(|ack| (ack.next, ack.ece)), Some((0, false)));
        assert_eq!(bench.next(0), Some(2), "3 is not there");
    }
}
