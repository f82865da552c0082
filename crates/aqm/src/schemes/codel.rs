use crate::signal::BY_SOJOURN;
use crate::{Aqm, Ctx, FORCED, Info, Observable, PacketView, QueueView, Scheme, Signal, Tc, Verdict};
use aqmlab_core::{Bytes, Span, Time, params};

params! {
    /// CoDel: signals from the head of the queue while every packet has waited too long for an interval.
    ///
    /// ## Idea
    /// A good queue absorbs a burst and empties; a bad one stays. The least sojourn time over an interval tells them
    /// apart. Signals come ever closer, as interval / sqrt(count), because TCP's rate falls with the square root of the
    /// drop probability.
    ///
    /// ## Equations
    /// For each packet at the head, once removed:
    ///
    /// ```text
    /// sojourn < target, or at most mtu bytes left:  first_above = none; not ok
    /// first_above = none:                           first_above = now + interval; not ok
    /// else:                                         ok if now >= first_above
    ///
    /// dropping, not ok:             leave the dropping state
    /// dropping, now >= drop_next:   drop, count += 1; if the next packet is ok, drop_next += interval / sqrt(count)
    /// not dropping, ok:             drop; enter the dropping state
    ///   count = count - count at the last entry, if that is above 1 and now - drop_next < 16 * interval; else 1
    ///   drop_next = now + interval / sqrt(count)
    /// ```
    ///
    /// The next drop is counted from the last one foreseen, not from the present.
    ///
    /// ## Readings
    /// RFC 8289 leaves marking open. A mark counts as a drop does and lets the packet go, and the next signal is
    /// foreseen at once, as in Linux.
    ///
    /// ## Departures
    /// None from RFC 8289. The target is a sojourn time of its own, not the link's.
    pub struct CodelParams {
        /// Sojourn time that may persist.
        target: Span = "5 ms" in "1 us" ..= "1000 s", from "RFC 8289, 4.3";
        /// Time in which a good queue falls below target; about the greatest round-trip time.
        interval: Span = "100 ms" in "1 us" ..= "1000 s", from "RFC 8289, 4.2";
        /// With no more than this left behind a packet, nothing is signalled.
        mtu: Bytes = "1500 B" in "0 B" ..= "65535 B", from "RFC 8289, 5.3 (value: Ethernet)";
    }
}

/// See [`CodelParams`].
#[derive(Clone)]
pub struct Codel {
    params: CodelParams,
    sojourn: Span,
    first_above: Option<Time>,
    drop_next: Time,
    count: u32,
    last_count: u32,
    dropping: bool,
    /// A drop has been made; the next packet says whether `drop_next` moves on.
    law_due: bool,
}

impl Codel {
    /// Whether the sojourn time has stayed above target for an interval.
    fn ok_to_drop(&mut self, queue: &QueueView, now: Time) -> bool {
        if self.sojourn < self.params.target || queue.bytes as f64 <= self.params.mtu.0 {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.params.interval);
        now >= first_above
    }

    fn control_law(&self, from: Time) -> Time {
        from + Span::from_seconds(self.params.interval.seconds() / f64::from(self.count).sqrt())
    }

    fn enter_dropping(&mut self, now: Time) {
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next) < Span(16 * self.params.interval.0);
        self.count = if delta > 1 && recent { delta } else { 1 };
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
        self.dropping = true;
    }

    fn signal_again(&mut self, can_mark: bool) {
        self.count += 1;
        self.law_due = !can_mark;
        if can_mark {
            self.drop_next = self.control_law(self.drop_next);
        }
    }
}

impl Scheme for Codel {
    const INFO: Info = Info {
        name: "codel",
        title: "CoDel",
        family: "control theory",
        year: 2012,
        source: "Nichols & Jacobson, ACM Queue 10(5), 2012; RFC 8289",
        confidence: "pseudocode of RFC 8289: hand-computed steps, and step by step against a transcription",
        papers: &["boudi"],
    };
    const FAIR: Option<Info> = Some(Info {
        name: "fq-codel",
        title: "FQ-CoDel",
        family: "fair queueing",
        year: 2018,
        source: "Hoeiland-Joergensen, McKenney, Taht, Gettys & Dumazet, RFC 8290",
        confidence: "after the text of RFC 8290; CoDel as on its own",
        papers: &[],
    });
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "sojourn", unit: "s", doc: "time that the last packet at the head had waited" },
        Observable { name: "count", unit: "packets", doc: "count of the control law" },
        Observable { name: "dropping", unit: "1", doc: "1 in the dropping state" },
    ];
    type Params = CodelParams;

    fn new(params: CodelParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            sojourn: Span::ZERO,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            dropping: false,
            law_due: false,
        })
    }

    fn params(&mut self) -> &mut CodelParams {
        &mut self.params
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_SOJOURN);
    const TC: Option<Tc> = Some(Tc { kind: "codel", note: "" });
    const FAIR_TC: Option<Tc> = Some(Tc { kind: "fq_codel", note: "" });
}

impl Aqm for Codel {
    fn acts_on_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.sojourn = cx.now.since(packet.enqueued_at);
        let ok = self.ok_to_drop(queue, cx.now);
        if std::mem::take(&mut self.law_due) && ok {
            self.drop_next = self.control_law(self.drop_next);
        }
        if !ok {
            self.dropping = false;
            return Verdict::Pass;
        }
        match self.dropping {
            false => self.enter_dropping(cx.now),
            true if cx.now >= self.drop_next => self.signal_again(packet.can_mark),
            true => return Verdict::Pass,
        }
        Verdict::Signal(FORCED)
    }

    fn on_empty(&mut self, _: &mut Ctx) {
        self.sojourn = Span::ZERO;
        self.first_above = None;
        self.dropping = false;
        self.law_due = false;
    }

    fn observe(&self, i: usize) -> f64 {
        [self.sojourn.seconds(), f64::from(self.count), f64::from(u8::from(self.dropping))][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    const PASS: Verdict = Verdict::Pass;
    const SIGNAL: Verdict = Verdict::Signal(FORCED);

    fn codel() -> Codel {
        Codel::new(CodelParams::defaults(), &bench::queue(0)).unwrap()
    }

    fn us(us: u64) -> Time {
        Time(us * 1_000_000)
    }

    /// A packet that waited `waited` us is at the head at `now` us, `left` packets of 1000 B behind it.
    fn head(codel: &mut Codel, now: u64, waited: u64, left: u32, can_mark: bool) -> Verdict {
        let packet = PacketView { enqueued_at: us(now - waited), can_mark, ..bench::packet() };
        codel.on_dequeue(&packet, &bench::queue(left), &mut Ctx { now: us(now), rng: &mut bench::stream() })
    }

    fn long(codel: &mut Codel, now: u64) -> Verdict {
        head(codel, now, 6000, 50, false)
    }

    /// In the dropping state since 200 ms, count 1, next drop at 300 ms.
    fn entered() -> Codel {
        let mut codel = codel();
        assert_eq!([100_000, 199_999, 200_000, 200_000].map(|t| long(&mut codel, t)), [PASS, PASS, SIGNAL, PASS]);
        assert_eq!((codel.count, codel.drop_next), (1, us(300_000)));
        codel
    }

    #[test]
    fn drops_come_closer_and_are_counted_from_the_one_foreseen() {
        let mut codel = entered();
        assert_eq!(long(&mut codel, 299_999), PASS);
        // 5 ms late: the next is foreseen from 300, not 305: 300 + 100/sqrt(2) = 370.710678 ms.
        assert_eq!([305_000; 2].map(|t| long(&mut codel, t)), [SIGNAL, PASS]);
        assert_eq!((codel.count, codel.drop_next), (2, Time(370_710_678_119)));
        // Then + 100/sqrt(3) = 57.735027 ms.
        assert_eq!([370_711; 2].map(|t| long(&mut codel, t)), [SIGNAL, PASS]);
        assert_eq!((codel.count, codel.drop_next), (3, Time(428_445_705_038)));
    }

    #[test]
    fn a_late_departure_drops_several_at_once() {
        let mut codel = entered();
        // Foreseen at 300, 370.7, 428.4, then 478.4: three are due at 450.
        assert_eq!([450_000; 4].map(|t| long(&mut codel, t)), [SIGNAL, SIGNAL, SIGNAL, PASS]);
        assert_eq!(codel.count, 4);
    }

    #[test]
    fn one_good_packet_ends_the_dropping_state_and_the_interval_starts_again() {
        let mut codel = entered();
        assert_eq!(head(&mut codel, 310_000, 4999, 50, false), PASS);
        assert!(!codel.dropping);
        assert_eq!([311_000, 410_999, 411_000].map(|t| long(&mut codel, t)), [PASS, PASS, SIGNAL]);
    }

    #[test]
    fn the_last_mtu_is_never_dropped() {
        let mut codel = codel();
        for now in [100_000, 300_000, 500_000] {
            assert_eq!(head(&mut codel, now, 90_000, 1, false), PASS, "1000 B left");
        }
        assert_eq!(head(&mut codel, 600_000, 90_000, 2, false), PASS, "2000 B left: the interval starts");
        assert_eq!(head(&mut codel, 700_000, 90_000, 2, false), SIGNAL);
        assert_eq!(head(&mut codel, 800_000, 90_000, 1, false), PASS);
        assert!(!codel.dropping);
    }

    #[test]
    fn a_drop_before_a_good_packet_leaves_the_next_one_unforeseen() {
        let mut codel = entered();
        assert_eq!([long(&mut codel, 300_000), head(&mut codel, 300_000, 1000, 50, false)], [SIGNAL, PASS]);
        assert_eq!((codel.count, codel.drop_next), (2, us(300_000)));
    }

    /// Left the dropping state at count 4 after an entry at 1; foreseen 300 + 100/sqrt 2, 3, 4 = 478.445706 ms.
    fn left_at_four() -> Codel {
        let mut codel = entered();
        assert_eq!([450_000; 4].map(|t| long(&mut codel, t)), [SIGNAL, SIGNAL, SIGNAL, PASS]);
        assert_eq!(codel.drop_next, Time(478_445_705_038));
        head(&mut codel, 460_000, 1000, 50, false);
        codel
    }

    #[test]
    fn reentry_within_16_intervals_takes_up_the_last_rate() {
        // Foreseen 478.445706 ms + 1600 ms = 2078.445706 ms: 2078.445 is within, 2078.446 is not.
        let mut codel = left_at_four();
        assert_eq!([1_978_000, 2_078_445].map(|t| long(&mut codel, t)), [PASS, SIGNAL]);
        // 4 - 1 = 3: next after 100/sqrt(3) = 57.735027 ms.
        assert_eq!((codel.count, codel.last_count, codel.drop_next), (3, 3, Time(2_136_180_026_919)));
        let mut codel = left_at_four();
        assert_eq!([1_978_000, 2_078_446].map(|t| long(&mut codel, t)), [PASS, SIGNAL]);
        assert_eq!((codel.count, codel.last_count, codel.drop_next), (1, 1, us(2_178_446)));
    }

    #[test]
    fn reentry_after_a_single_further_drop_starts_afresh() {
        let mut codel = entered();
        assert_eq!([300_000; 2].map(|t| long(&mut codel, t)), [SIGNAL, PASS]);
        head(&mut codel, 310_000, 1000, 50, false);
        // 2 - 1 = 1 is not above 1.
        assert_eq!([320_000, 420_000].map(|t| long(&mut codel, t)), [PASS, SIGNAL]);
        assert_eq!(codel.count, 1);
    }

    #[test]
    fn a_mark_foresees_the_next_signal_at_once() {
        let mut codel = entered();
        assert_eq!(head(&mut codel, 300_000, 6000, 50, true), SIGNAL);
        assert_eq!((codel.count, codel.drop_next), (2, Time(370_710_678_119)));
        // The next departure finds nothing left to do.
        assert_eq!(head(&mut codel, 301_000, 6000, 50, true), PASS);
        assert_eq!(codel.drop_next, Time(370_710_678_119));
    }

    #[test]
    fn an_empty_queue_ends_the_dropping_state() {
        let mut codel = entered();
        assert_eq!(long(&mut codel, 300_000), SIGNAL);
        codel.on_empty(&mut Ctx { now: us(300_000), rng: &mut bench::stream() });
        assert_eq!((codel.dropping, codel.first_above, codel.drop_next), (false, None, us(300_000)));
    }
}
