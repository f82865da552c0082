use crate::signal::BY_SOJOURN;
use crate::{Aqm, Ctx, EARLY, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Bytes, Ratio, Span, Time, choice, params};

choice! {
    /// The time of a queue's first signal ever, if packets stay above target.
    pub enum FirstSignal {
        /// With the packet after the first one above target.
        NextPacket = "next_packet",
        /// An interval after the first packet above target, as later on.
        Interval = "interval",
    }
}

params! {
    /// COBALT: CoDel that also counts down when the queue is good again, with BLUE for unresponsive flows.
    ///
    /// ## Idea
    /// CoDel forgets its drop rate when the delay falls below target and guesses it back at the next entry. COBALT
    /// keeps it, and lets it fall at the pace at which it rose. If the buffer overflows nevertheless, BLUE's drop
    /// probability rises until the queue drains.
    ///
    /// ## Equations
    /// For each packet at the head, once removed (due: count > 0 and now >= drop_next):
    ///
    /// ```text
    /// over = sojourn > target and sojourn > 4 * mtu / rate
    /// over, not dropping:           count = max(count, 1); drop_next = now + interval / sqrt(count); dropping state
    /// not over:                     leave the dropping state
    ///
    /// it was due, dropping state:   mark or drop; count += 1; drop_next += interval / sqrt(count)
    /// else, while due:              count -= 1; drop_next += interval / sqrt(max(count, 1))
    /// with probability p:           drop, markable or not
    ///
    /// count = 0:                    drop_next = now + interval
    /// late, not dropped:            drop_next = now
    ///
    /// the queue is full:            p += p_inc; dropping state; drop_next = now; count = max(count, 1)
    /// the queue is empty:           p -= p_dec; leave the dropping state; if due, count down once
    /// ```
    ///
    /// Linux renews 1 / sqrt(count) with each `count += 1` and `count -= 1`: up to 15 exactly, from 16 on by one Newton
    /// step from where it was. Before the first of them it is 0, so that a queue's first signal ever comes with the
    /// packet after the first one above target. If `first_signal` is "interval", it is 1.
    ///
    /// p changes at most once in a `target`. Late: drop_next, as last advanced, or else as found, is in the past. The
    /// last packet of the queue may be marked but is not dropped; the state changes as if it were.
    ///
    /// ## What to expect
    /// One packet above target starts the schedule, which runs on while the queue is good, until it is counted down. A
    /// second burst just when a signal falls due may therefore cost a packet, where CoDel wants a whole bad interval.
    ///
    /// ## Readings
    /// After Linux's CAKE, with an exact square root. A mark counts as a signal, not as a drop: a late drop_next moves
    /// to the present after it. ns-3 waits an interval for the first signal too (`first_signal = "interval"` here), has no
    /// condition on the MTU (`mtu = "0 B"`), drops the last packet too, and can raise p above a sojourn time.
    ///
    /// `target`, `interval`, `p_inc` and `p_dec` are the kernel's; tc cannot set COBALT alone.
    ///
    /// ## Departures
    /// From `net/sched/sch_cake.c` at 0c4882bff345, read line by line. One queue, not one per flow as in CAKE: the last
    /// packet means the last of the whole queue, p is common, and a full queue drops the arriving packet. CAKE's
    /// count of bulk flows (`ingress` there) and its longer target and interval on slow links are left out. The target
    /// is a sojourn time and a parameter of the scheme, not the link's target.
    pub struct CobaltParams for Cobalt {
        /// Sojourn time that may persist; also the minimum time between changes of p.
        target: Span = "5 ms" in "1 us" ..= "1000 s", from "Linux, sch_cake";
        /// Time in which a good queue falls below target; about the maximum round-trip time.
        interval: Span = "100 ms" in "1 us" ..= "1000 s", from "Linux, sch_cake";
        /// A sojourn time within four times the time to send this is never too long.
        mtu: Bytes = "1514 B" in "0 B" ..= "65535 B", from "Linux, sch_cake (value: Ethernet)";
        /// Increase of p at an overflow.
        p_inc: Ratio = "0.00390625" in "0" ..= "1", from "Linux, sch_cake: 1/256";
        /// Decrease of p on an empty queue.
        p_dec: Ratio = "0.000244140625" in "0" ..= "1", from "Linux, sch_cake: 1/4096";
        /// The time of a queue's first signal ever.
        first_signal: FirstSignal = "next_packet", from "Linux, sch_cake (ns-3: interval)";
    }
}

/// See [`CobaltParams`].
#[derive(Clone)]
pub struct Cobalt {
    pub(super) params: CobaltParams,
    count: u32,
    /// 1 / sqrt(count), as far as the control law knows it (`rec_inv_sqrt`).
    inv_sqrt: f64,
    drop_next: Time,
    dropping: bool,
    /// BLUE's probability, and when it last changed.
    p: f64,
    p_changed: Time,
    /// Queues that have more than a quantum to send, where drops count as sent; else 0.
    bulk_flows: u32,
}

/// Counts up to which 1 / sqrt(count) is exact (`REC_INV_SQRT_CACHE`).
const CACHED: u32 = 16;

/// 1 / sqrt(count) before the first count.
fn first_inv_sqrt(params: &CobaltParams) -> f64 {
    if params.first_signal == FirstSignal::NextPacket { 0.0 } else { 1.0 }
}

impl Cobalt {
    fn is_over(&self, packet: &PacketView, queue: &QueueView, now: Time) -> bool {
        let sojourn = now.since(packet.enqueued_at);
        let packets = f64::from((2 * self.bulk_flows).max(4));
        sojourn > self.params.target && sojourn.seconds() > packets * 8.0 * self.params.mtu.0 / queue.rate.0
    }

    fn is_due(&self, now: Time) -> bool {
        self.count > 0 && now >= self.drop_next
    }

    /// Time to the next signal, by the control law.
    fn gap(&self) -> Span {
        Span::from_seconds(self.params.interval.seconds() * self.inv_sqrt)
    }

    /// The control law counts, up or down: from 16 on 1 / sqrt(count) takes one Newton step from where it was
    /// (`cobalt_invsqrt`, `cobalt_newton_step`).
    fn set_count(&mut self, count: u32) {
        self.count = count;
        let last = self.inv_sqrt;
        self.inv_sqrt = match count {
            0..CACHED => 1.0 / f64::from(count.max(1)).sqrt(),
            _ => last / 2.0 * (3.0 - f64::from(count) * last * last),
        };
        self.drop_next += self.gap();
    }

    fn set_dropping(&mut self, over: bool, now: Time) {
        if over && !self.dropping {
            self.count = self.count.max(1);
            self.drop_next = now + self.gap();
        }
        self.dropping = over;
    }

    fn change_p(&mut self, step: f64, now: Time) {
        if now.since(self.p_changed) > self.params.target {
            self.p = (self.p + step).clamp(0.0, 1.0);
            self.p_changed = now;
        }
    }
}

impl Scheme for Cobalt {
    const INFO: SchemeInfo = SchemeInfo {
        name: "cobalt",
        title: "COBALT",
        family: "control theory",
        year: 2018,
        source: "Høiland-Jørgensen, Täht & Morton, LANMAN 2018 (CAKE); Linux, net/sched/sch_cake.c",
        confidence: "algorithm of Linux's CAKE for one queue; step by step against an independent transcription",
        papers: &[],
    };
    const FAIR: Option<SchemeInfo> = Some(SchemeInfo {
        name: "fq-cobalt",
        title: "FQ-COBALT",
        family: "fair queueing",
        year: 2019,
        source: "ns-3 (FqCobaltQueueDisc); RFC 8290 for the queues",
        confidence: "the queues of RFC 8290; COBALT as on its own",
        papers: &[],
    });
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p", unit: "ratio", doc: "BLUE's drop probability of a packet at the head" },
        Observable { name: "count", unit: "packets", doc: "count of the control law" },
        Observable { name: "dropping", unit: "1", doc: "1 in the dropping state" },
    ];

    fn new(params: CobaltParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self {
            count: 0,
            inv_sqrt: first_inv_sqrt(&params),
            params,
            drop_next: Time::ZERO,
            dropping: false,
            p: 0.0,
            p_changed: Time::ZERO,
            bulk_flows: 0,
        })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_SOJOURN);
}

impl Aqm for Cobalt {
    fn acts_on_enqueue(&self) -> bool {
        false
    }

    fn acts_on_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let due = self.is_due(cx.now);
        let met = self.drop_next;
        self.set_dropping(self.is_over(packet, queue, cx.now), cx.now);
        let signal = due && self.dropping;
        if signal {
            self.set_count(self.count.saturating_add(1));
        }
        while due && !signal && self.is_due(cx.now) {
            self.set_count(self.count - 1);
        }
        let late = cx.now > if due { self.drop_next } else { met };
        let blue = self.p > 0.0 && cx.chance(self.p);
        let dropped = blue || signal && !packet.can_mark;
        if self.count == 0 {
            self.drop_next = cx.now + self.params.interval;
        } else if late && !dropped {
            self.drop_next = cx.now;
        }
        match queue.packets {
            1.. if blue => Verdict::Drop(EARLY),
            1.. if signal => Verdict::Signal(FORCED),
            _ if signal => Verdict::MarkOnly(FORCED),
            _ => Verdict::Pass,
        }
    }

    fn on_overflow(&mut self, _: &QueueView, cx: &mut Ctx) {
        self.change_p(self.params.p_inc.0, cx.now);
        self.dropping = true;
        self.drop_next = cx.now;
        self.count = self.count.max(1);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        if self.p > 0.0 {
            self.change_p(-self.params.p_dec.0, cx.now);
        }
        self.dropping = false;
        if self.is_due(cx.now) {
            self.set_count(self.count - 1);
        }
    }

    fn set_bulk_flows(&mut self, flows: u32) {
        self.bulk_flows = flows;
    }

    fn is_at_rest(&self, now: Time) -> bool {
        self.p == 0.0 && self.count == 0 && now >= self.drop_next
    }

    fn is_reset(&self, now: Time) -> bool {
        let has_counted = self.inv_sqrt != first_inv_sqrt(&self.params);
        self.is_at_rest(now) && !has_counted && now.since(self.p_changed) > self.params.target
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, f64::from(self.count), f64::from(u8::from(self.dropping))][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    const PASS: Verdict = Verdict::Pass;
    const SIGNAL: Verdict = Verdict::Signal(FORCED);

    /// Of which the first signal comes like all others.
    fn cobalt() -> Cobalt {
        with(FirstSignal::Interval)
    }

    fn with(first_signal: FirstSignal) -> Cobalt {
        Cobalt::new(CobaltParams { first_signal, ..CobaltParams::defaults() }, &bench::queue(0)).unwrap()
    }

    #[test]
    fn many_bulk_flows_may_wait_longer() {
        // 1514 B take 1.514 ms at 8 Mbit/s: four 6.056 ms, two for each of ten flows 30.28 ms.
        let queue = QueueView { rate: aqmlab_core::Rate(8e6), ..bench::queue(1) };
        let mut cobalt = cobalt();
        let over = |cobalt: &Cobalt, waited: u64| {
            let packet = PacketView { enqueued_at: us(100_000), ..bench::packet() };
            cobalt.is_over(&packet, &queue, us(100_000 + waited))
        };
        assert_eq!([6_000, 6_100, 30_300].map(|waited| over(&cobalt, waited)), [false, true, true]);
        cobalt.set_bulk_flows(2);
        assert_eq!([6_000, 6_100].map(|waited| over(&cobalt, waited)), [false, true], "four packets at least");
        cobalt.set_bulk_flows(10);
        assert_eq!([6_100, 30_200, 30_300].map(|waited| over(&cobalt, waited)), [false, false, true]);
    }

    #[test]
    fn it_is_as_new_once_what_it_has_met_is_over_and_unless_it_has_counted() {
        let mut cobalt = with(FirstSignal::NextPacket);
        head(&mut cobalt, 10_000, 1000, 0, false);
        // The first signal after it is an interval away, as for a new one only once that is over.
        assert_eq!([10_000, 109_999, 110_000].map(|us| cobalt.is_reset(Time(us * 1_000_000))), [false, false, true]);
        // p has just fallen to 0: it may not change again within 5 ms.
        cobalt.p_changed = us(200_000);
        assert_eq!([205_000, 205_001].map(|us| cobalt.is_reset(Time(us * 1_000_000))), [false, true]);
        // A signal leaves the law with 1/sqrt(1), where a new one has 0.
        long(&mut cobalt, 300_000);
        long(&mut cobalt, 300_100);
        head(&mut cobalt, 2_000_000, 0, 0, false);
        assert_eq!((cobalt.count, cobalt.is_at_rest(us(3_000_000)), cobalt.is_reset(us(3_000_000))), (0, true, false));
    }

    fn us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    fn at(now: u64, act: impl FnOnce(&mut Ctx)) {
        act(&mut Ctx { now: us(now), rng: &mut bench::stream() });
    }

    /// A packet that waited `waited` us is at the head at `now` us, `left` packets behind it.
    fn head(cobalt: &mut Cobalt, now: u64, waited: u64, left: u32, can_mark: bool) -> Verdict {
        let packet = PacketView { enqueued_at: us(now - waited), can_mark, ..bench::packet() };
        cobalt.on_dequeue(&packet, &bench::queue(left), &mut Ctx { now: us(now), rng: &mut bench::stream() })
    }

    fn long(cobalt: &mut Cobalt, now: u64) -> Verdict {
        head(cobalt, now, 7000, 50, false)
    }

    /// In the dropping state since 50 ms, first signal foreseen at 150 ms.
    fn entered() -> Cobalt {
        let mut cobalt = cobalt();
        assert_eq!(head(&mut cobalt, 10_000, 1000, 50, false), PASS);
        assert_eq!((cobalt.count, cobalt.drop_next), (0, us(110_000)), "no signal within an interval");
        assert_eq!(long(&mut cobalt, 50_000), PASS);
        assert_eq!((cobalt.count, cobalt.dropping, cobalt.drop_next), (1, true, us(150_000)));
        cobalt
    }

    #[test]
    fn too_long_is_above_target_and_above_four_packets() {
        // 8 Mbit/s: 4 * 1514 B last 6056 us.
        for (waited, dropping) in [(5000, false), (6056, false), (6057, true)] {
            let mut cobalt = cobalt();
            head(&mut cobalt, 50_000, waited, 50, false);
            assert_eq!(cobalt.dropping, dropping, "{waited} us");
        }
    }

    /// 1/sqrt(count) is 0 when 50 ms is above target, so 50.1 ms is due; then 1/sqrt(2): 50 + 70.710678 ms.
    #[test]
    fn the_first_signal_ever_comes_with_the_next_packet() {
        let mut cobalt = with(FirstSignal::NextPacket);
        assert_eq!([50_000, 50_100, 50_200].map(|t| long(&mut cobalt, t)), [PASS, SIGNAL, PASS]);
        assert_eq!((cobalt.count, cobalt.drop_next), (2, Time(120_710_678_119)));
        // Counted down to 0 in a second of silence, it takes an interval from then on.
        assert_eq!(head(&mut cobalt, 1_000_000, 1000, 50, false), PASS);
        assert_eq!([1_050_000, 1_149_999, 1_150_000].map(|t| long(&mut cobalt, t)), [PASS, PASS, SIGNAL]);
    }

    /// The next packet is good: it is due, so 1 is counted down to 0, and 1/sqrt(0) is 1 in Linux.
    #[test]
    fn a_good_packet_that_is_due_ends_the_exception_too() {
        let mut cobalt = with(FirstSignal::NextPacket);
        assert_eq!(long(&mut cobalt, 50_000), PASS);
        assert_eq!(head(&mut cobalt, 50_100, 1000, 50, false), PASS);
        assert_eq!((cobalt.count, cobalt.drop_next), (0, us(150_100)));
        assert_eq!([60_000, 60_100, 159_999, 160_000].map(|t| long(&mut cobalt, t)), [PASS, PASS, PASS, SIGNAL]);
    }

    #[test]
    fn signals_come_closer_and_a_late_one_starts_from_the_present() {
        let mut cobalt = entered();
        // At 150: count 2, next at 150 + 100/sqrt(2) = 220.710678 ms.
        assert_eq!([149_999, 150_000, 150_000].map(|t| long(&mut cobalt, t)), [PASS, SIGNAL, PASS]);
        assert_eq!((cobalt.count, cobalt.drop_next), (2, Time(220_710_678_119)));
        // At 400: count 3, next at 220.710678 + 57.735027 = 278.445705 ms, still late: count 4, + 50 ms. And so on:
        // 328.4 + 44.721360, 373.2 + 40.824829; count 6, and 413.991894 ms is ahead.
        assert_eq!([400_000; 5].map(|t| long(&mut cobalt, t)), [SIGNAL, SIGNAL, SIGNAL, SIGNAL, PASS]);
        assert_eq!(cobalt.count, 6);
        assert!(cobalt.drop_next.0.abs_diff(413_991_893_634) < 10);
    }

    #[test]
    fn a_late_mark_moves_the_next_signal_to_the_present() {
        let mut cobalt = entered();
        assert_eq!(head(&mut cobalt, 400_000, 7000, 50, true), SIGNAL);
        assert_eq!((cobalt.count, cobalt.drop_next), (2, us(400_000)), "220.7 ms is past, and nothing was dropped");
        // Next at 400 + 57.735027 ms, which is ahead.
        assert_eq!(
            [head(&mut cobalt, 400_000, 7000, 50, true), head(&mut cobalt, 457_735, 7000, 50, true)],
            [SIGNAL, PASS]
        );
        assert_eq!((cobalt.count, cobalt.drop_next), (3, Time(457_735_026_919)));
    }

    #[test]
    fn the_count_falls_while_the_queue_is_good_and_is_taken_up_again() {
        let mut cobalt = entered();
        assert_eq!([150_000, 250_000, 280_000].map(|t| long(&mut cobalt, t)), [SIGNAL; 3]);
        // count 4, foreseen 150 + 70.710678 + 57.735027 + 50 = 328.445705 ms.
        assert_eq!(cobalt.count, 4);
        assert_eq!(head(&mut cobalt, 320_000, 1000, 50, false), PASS);
        assert_eq!((cobalt.count, cobalt.dropping), (4, false), "not due");
        // At 387: 3, + 57.735027 = 386.180732 ms; 2, + 70.710678 = 456.891410 ms.
        assert_eq!(head(&mut cobalt, 387_000, 1000, 50, false), PASS);
        assert_eq!(cobalt.count, 2);
        assert!(cobalt.drop_next.0.abs_diff(456_891_410_075) < 10);
        // Too long again: 400 + 70.710678 ms.
        assert_eq!([400_000, 470_000, 471_000].map(|t| long(&mut cobalt, t)), [PASS, PASS, SIGNAL]);
        assert_eq!(cobalt.count, 3);
        // A second of silence brings it to 0.
        assert_eq!(head(&mut cobalt, 1_500_000, 1000, 50, false), PASS);
        assert_eq!((cobalt.count, cobalt.drop_next), (0, us(1_600_000)));
    }

    #[test]
    fn the_last_packet_is_marked_but_not_dropped() {
        for can_mark in [false, true] {
            let mut cobalt = entered();
            assert_eq!(head(&mut cobalt, 150_000, 7000, 0, can_mark), Verdict::MarkOnly(FORCED));
            assert_eq!(cobalt.count, 2);
        }
        let mut cobalt = cobalt();
        cobalt.p = 1.0;
        assert_eq!(head(&mut cobalt, 10_000, 1000, 0, true), PASS);
        assert_eq!(head(&mut cobalt, 10_000, 1000, 1, true), Verdict::Drop(EARLY), "BLUE drops what could be marked");
    }

    #[test]
    fn an_overflow_raises_p_once_in_a_target_and_makes_a_signal_due() {
        let mut cobalt = cobalt();
        for (now, p) in [(5000, 0.0), (5001, 1.0), (10_001, 1.0), (10_002, 2.0)] {
            at(now, |cx| cobalt.on_overflow(&bench::queue(100), cx));
            assert_eq!(cobalt.p * 256.0, p);
            assert_eq!((cobalt.count, cobalt.dropping, cobalt.drop_next), (1, true, us(now)));
        }
        cobalt.p = 0.0; // leaves CoDel's part
        assert_eq!(long(&mut cobalt, 10_500), SIGNAL);
    }

    #[test]
    fn an_empty_queue_lowers_p_to_0_and_counts_down_once() {
        let mut cobalt = entered();
        cobalt.p = 1.5 / 4096.0;
        (cobalt.count, cobalt.drop_next) = (5, us(100_000));
        for (now, p, count) in [(5000, 1.5, 5), (5001, 0.5, 5), (200_000, 0.0, 4)] {
            at(now, |cx| cobalt.on_empty(cx));
            assert_eq!((cobalt.p * 4096.0, cobalt.count, cobalt.dropping), (p, count, false));
        }
        // 100 + 50 ms.
        assert_eq!((cobalt.drop_next, cobalt.p_changed), (us(150_000), us(200_000)));
        at(300_000, |cx| cobalt.on_empty(cx));
        assert_eq!(cobalt.p_changed, us(200_000), "p is 0: nothing changes");
    }
}
