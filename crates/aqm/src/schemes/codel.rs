use crate::signal::BY_SOJOURN;
use crate::{
    Aqm, Ctx, FORCED, FairDefault, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Tc, Verdict,
};
use aqmlab_core::{Auto, Bytes, Span, Time, choice, params};

choice! {
    /// The implementation whose details apply.
    pub enum CodelFlavour {
        /// The pseudocode of RFC 8289.
        Rfc8289 = "rfc8289",
        /// `codel` and `fq_codel` of Linux.
        Linux = "linux",
    }
}

choice! {
    /// The scope in which the packets behind a packet are counted.
    pub enum BacklogScope {
        /// The packet's own queue.
        Queue = "queue",
        /// All queues of the discipline.
        All = "all",
    }
}

params! {
    /// CoDel: signals from the head of the queue while every packet has waited too long for an interval.
    ///
    /// ## Idea
    /// A good queue absorbs a burst and empties; a bad one stays. The minimum sojourn time over an interval
    /// distinguishes them. Signals come ever closer, as interval / sqrt(count), because TCP's rate falls with the
    /// square root of the drop probability.
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
    /// If `ce_threshold` is set, a packet that waited longer and would leave unsignalled is marked, if it can be.
    ///
    /// ## Readings
    /// RFC 8289 leaves marking open. A mark counts as a drop does and lets the packet go, and the next signal is
    /// foreseen at once, as in Linux. In flow queueing, each packet dropped from the head because the buffer is full
    /// increments the count, as in Linux's `fq_codel`. A packet that a single full queue drops does not, as in `codel`.
    ///
    /// ## Linux
    /// `flavour = "linux"`, the default of `fq-codel`, takes 1/sqrt(count) as Linux does: a fraction of 16 bits that follows the
    /// count by one Newton step a signal.
    ///
    /// ```text
    /// count += 1, or count at the last entry taken off:   root = root/2 * (3 - count*root^2)
    /// count = 1:                                           root = 1
    /// drop_next += interval * root                         (at least 1.024 us)
    /// ok                                                   if now > first_above
    /// ```
    ///
    /// After an entry the gaps are 1, 0.5, 0.56, 0.49 intervals. Without this rule they would be 1, 0.71, 0.58, 0.5.
    /// Packets dropped for want of room change the count, not the root.
    ///
    /// | parameter | here (RFC 8289) | kernel and tc |
    /// | --- | --- | --- |
    /// | `target`, `interval` | 5 ms, 100 ms | 5 ms, 100 ms |
    /// | `mtu` | 1500 B | the device's, with its header: 1514 B |
    /// | `ce_threshold` | off | off |
    /// | marks | as the link says | codel: no; fq_codel: yes |
    /// | buffer | the link's | codel: 1000 packets; fq_codel: 10240 packets and 32 MB |
    ///
    /// ## Departures
    /// None from RFC 8289. The target is a sojourn time and a parameter of the scheme, not the link's target. Of Linux
    /// (`include/net/codel_impl.h` and `net/sched/sch_codel.c` of 7.3, `sch_fq_codel.c` at 20dd591d8f95, read line by
    /// line) the flavour leaves out: the unit of time, 1.024 us; the pause after 256 drops in a row; and code points
    /// that `ce_threshold` can be restricted to. tc (`q_codel.c` at 01bdedff993b, `q_fq_codel.c` at 32a121cba257) sends
    /// the kernel only what it is given.
    pub struct CodelParams for Codel {
        /// Sojourn time that may persist.
        target: Span = "5 ms" in "1 us" ..= "1000 s", tc "target" in "time", from "RFC 8289, 4.3";
        /// Time in which a good queue falls below target; about the maximum round-trip time.
        interval: Span = "100 ms" in "1 us" ..= "1000 s", tc "interval" in "time", from "RFC 8289, 4.2";
        /// If no more bytes than this remain in the queue, nothing is signalled.
        /// "auto" is a full packet of Ethernet: 1500 B, in the flavour linux 1514 B, with its header.
        mtu: Auto<Bytes> = "auto" in "0 B" ..= "65535 B", from "RFC 8289, 5.3 (value: Ethernet)";
        /// The queues in which they are counted: the packet's own, or all of flow queueing.
        behind: BacklogScope = "all", from "Linux, sch_fq_codel.c (RFC 8290 leaves it open)";
        /// A packet that waited longer is marked in any state, if it can be; "auto" is never.
        ce_threshold: Auto<Span> = "auto" in "0 s" ..= "1000 s",
          tc "ce_threshold" in "time", from "Linux, codel_impl.h (off)";
        /// The implementation whose details apply.
        flavour: CodelFlavour = "rfc8289", from "RFC 8289";
    }
}

impl CodelParams {
    fn mtu(&self) -> Bytes {
        self.mtu.unwrap_or_else(|| match self.flavour {
            CodelFlavour::Rfc8289 => Bytes(1500.0),
            CodelFlavour::Linux => Bytes(1514.0),
        })
    }
}

/// 1/sqrt(count) as Linux keeps it, a fraction of 16 bits (`rec_inv_sqrt`).
#[derive(Clone, Copy, Debug, PartialEq)]
struct InverseRoot(u16);

impl InverseRoot {
    const ONE: Self = Self(u16::MAX);
    /// Linux's unit of time, the shortest gap.
    const TICK: Span = Span(1_024_000);

    /// One Newton step towards 1/sqrt(count) (`codel_Newton_step`), in 64 bits that wrap as Linux's do: far from it, as after many
    /// packets dropped for want of room, the step leads anywhere.
    fn follow(self, count: u32) -> Self {
        let root = u64::from(self.0) << 16; // of 32 bits
        let term = (3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul((root * root) >> 32));
        Self(((term >> 2).wrapping_mul(root) >> 47) as u16)
    }

    /// This part of a time (`codel_control_law`).
    fn of(self, interval: Span) -> Span {
        Span(((u128::from(interval.0) * u128::from(self.0)) >> 16) as u64).max(Self::TICK)
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
    /// Of the flavour linux.
    root: InverseRoot,
    dropping: bool,
    /// A drop has been made; the next packet says whether `drop_next` moves on.
    law_due: bool,
}

impl Codel {
    /// True if the sojourn time has stayed above target for an interval.
    fn ok_to_drop(&mut self, queue: &QueueView, now: Time) -> bool {
        let left = match self.params.behind {
            BacklogScope::Queue => queue.bytes,
            BacklogScope::All => queue.bytes + queue.others,
        };
        if self.sojourn < self.params.target || left as f64 <= self.params.mtu().0 {
            self.first_above = None;
            return false;
        }
        let first_above = *self.first_above.get_or_insert(now + self.params.interval);
        match self.params.flavour {
            CodelFlavour::Rfc8289 => now >= first_above,
            CodelFlavour::Linux => now > first_above,
        }
    }

    fn control_law(&self, from: Time) -> Time {
        let interval = self.params.interval;
        from + match self.params.flavour {
            CodelFlavour::Rfc8289 => Span::from_seconds(interval.seconds() / f64::from(self.count).sqrt()),
            CodelFlavour::Linux => self.root.of(interval),
        }
    }

    fn count_to(&mut self, count: u32) {
        self.count = count;
        self.root = self.root.follow(count);
    }

    fn enter_dropping(&mut self, now: Time) {
        let delta = self.count - self.last_count;
        let recent = now.since(self.drop_next) < Span(16 * self.params.interval.0);
        if delta > 1 && recent {
            self.count_to(delta);
        } else {
            (self.count, self.root) = (1, InverseRoot::ONE);
        }
        self.last_count = self.count;
        self.drop_next = self.control_law(now);
        self.dropping = true;
    }

    /// The law's verdict on a packet.
    fn judge(&mut self, can_mark: bool, queue: &QueueView, now: Time) -> Verdict {
        let ok = self.ok_to_drop(queue, now);
        if std::mem::take(&mut self.law_due) && ok {
            self.drop_next = self.control_law(self.drop_next);
        }
        if !ok {
            self.dropping = false;
            return Verdict::Pass;
        }
        match self.dropping {
            false => self.enter_dropping(now),
            true if now >= self.drop_next => self.signal_again(can_mark),
            true => return Verdict::Pass,
        }
        Verdict::Signal(FORCED)
    }

    fn signal_again(&mut self, can_mark: bool) {
        self.count_to(self.count.saturating_add(1));
        self.law_due = !can_mark;
        if can_mark {
            self.drop_next = self.control_law(self.drop_next);
        }
    }
}

impl Scheme for Codel {
    const INFO: SchemeInfo = SchemeInfo {
        name: "codel",
        title: "CoDel",
        family: "control theory",
        year: 2012,
        source: "Nichols & Jacobson, ACM Queue 10(5), 2012; RFC 8289",
        confidence: "pseudocode of RFC 8289: hand-computed steps, and step by step against a transcription",
        papers: &["boudi"],
    };
    const FAIR: Option<SchemeInfo> = Some(SchemeInfo {
        name: "fq-codel",
        title: "FQ-CoDel",
        family: "fair queueing",
        year: 2018,
        source: "Hoeiland-Joergensen, McKenney, Taht, Gettys & Dumazet, RFC 8290",
        confidence: "after the text of RFC 8290; CoDel as in Linux",
        papers: &[],
    });
    const FAIR_DEFAULTS: &'static [FairDefault] = &[
        FairDefault { name: "mtu", default: "1514 B", source: "Linux, sch_fq_codel.c (value: Ethernet)" },
        FairDefault { name: "flavour", default: "linux", source: "Linux, sch_fq_codel.c" },
    ];
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "sojourn", unit: "s", doc: "sojourn time of the last packet at the head" },
        Observable { name: "count", unit: "packets", doc: "count of the control law" },
        Observable { name: "dropping", unit: "1", doc: "1 in the dropping state" },
    ];

    fn new(params: CodelParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            sojourn: Span::ZERO,
            first_above: None,
            drop_next: Time::ZERO,
            count: 0,
            last_count: 0,
            root: InverseRoot::ONE,
            dropping: false,
            law_due: false,
        })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_SOJOURN);
    const TC: Option<Tc> = Some(Tc { kind: "codel", note: "" });
    const FAIR_TC: Option<Tc> = Some(Tc { kind: "fq_codel", note: "" });
}

impl Aqm for Codel {
    fn acts_on_enqueue(&self) -> bool {
        false
    }

    fn acts_on_dequeue(&self) -> bool {
        true
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.sojourn = cx.now.since(packet.enqueued_at);
        match (self.judge(packet.can_mark, queue, cx.now), self.params.ce_threshold) {
            (Verdict::Pass, Auto::Given(threshold)) if self.sojourn > threshold => Verdict::MarkOnly(FORCED),
            (verdict, _) => verdict,
        }
    }

    /// Linux, `fq_codel`: the control law counts what the buffer had to drop.
    fn on_head_drop(&mut self, _: &PacketView, _: &QueueView, _: &mut Ctx) {
        self.count = self.count.saturating_add(1);
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

    /// In flow queueing the last packet of a queue is spared only if no more than an MTU waits in all queues.
    #[test]
    fn what_waits_in_other_queues_counts_unless_only_its_own_does() {
        let signals = |behind, others| {
            let mut codel = Codel::new(CodelParams { behind, ..CodelParams::defaults() }, &bench::queue(0)).unwrap();
            let queue = QueueView { others, ..bench::queue(0) };
            let mut last = |now: u64| {
                let packet = PacketView { enqueued_at: us(now - 6000), ..bench::packet() };
                codel.on_dequeue(&packet, &queue, &mut Ctx { now: us(now), rng: &mut bench::stream() })
            };
            [100_000, 200_000].map(&mut last)
        };
        assert_eq!(signals(BacklogScope::All, 1501), [PASS, SIGNAL]);
        assert_eq!(signals(BacklogScope::All, 1500), [PASS, PASS]);
        assert_eq!(signals(BacklogScope::Queue, 1501), [PASS, PASS]);
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

    /// 1500 B by RFC 8289; Linux counts Ethernet's header, in packets and in its own limit.
    #[test]
    fn the_last_full_packet_is_as_large_as_the_flavour_says() {
        let signals = |flavour, bytes| {
            let mut codel = Codel::new(CodelParams { flavour, ..CodelParams::defaults() }, &bench::queue(0)).unwrap();
            let queue = QueueView { bytes, ..bench::queue(1) };
            [100_000, 300_001].map(|now| {
                let packet = PacketView { enqueued_at: us(now - 90_000), ..bench::packet() };
                codel.on_dequeue(&packet, &queue, &mut Ctx { now: us(now), rng: &mut bench::stream() })
            })
        };
        assert_eq!([1500, 1514].map(|bytes| signals(CodelFlavour::Rfc8289, bytes)), [[PASS, PASS], [PASS, SIGNAL]]);
        assert_eq!([1514, 1515].map(|bytes| signals(CodelFlavour::Linux, bytes)), [[PASS, PASS], [PASS, SIGNAL]]);
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
    fn drops_for_want_of_room_at_the_head_count_and_others_do_not() {
        // fq_codel_drop adds what it drops: 1 + 7, the next signal makes it 9, the one after it 100/sqrt(9) ms later.
        let mut codel = entered();
        let cx = &mut Ctx { now: us(250_000), rng: &mut bench::stream() };
        (0..7).for_each(|_| codel.on_head_drop(&bench::packet(), &bench::queue(50), cx));
        codel.on_overflow(&bench::queue(50), cx);
        assert_eq!((codel.count, codel.drop_next), (8, us(300_000)));
        assert_eq!([300_000; 2].map(|t| long(&mut codel, t)), [SIGNAL, PASS]);
        assert_eq!((codel.count, codel.drop_next), (9, Time(333_333_333_333)));
    }

    fn linux() -> Codel {
        let params = CodelParams { flavour: CodelFlavour::Linux, ..CodelParams::defaults() };
        Codel::new(params, &bench::queue(0)).unwrap()
    }

    #[test]
    fn the_root_of_linux_follows_the_count_by_one_newton_step() {
        // Roots r of 16 bits: r/2 * (3 - n*r^2), cut off. 65535 stands for 1: with n = 2 it gives 0.50002, then with 3 0.5625, with 4
        // 0.48779, of which the exact values are 0.7071, 0.5774, 0.5.
        let roots = [2, 3, 4].iter().scan(InverseRoot::ONE, |root, count| {
            *root = root.follow(*count);
            Some(root.0)
        });
        assert_eq!(roots.collect::<Vec<_>>(), [32_769, 36_864, 31_968]);
        // 100 ms * 32769 / 65536, and at least 1.024 us.
        assert_eq!(InverseRoot(32_769).of(Span(100_000_000_000)), Span(50_001_525_878));
        assert_eq!(InverseRoot(1).of(Span(1_000_000)), Span(1_024_000));
    }

    #[test]
    fn linux_waits_for_a_time_after_the_interval_and_halves_the_second_gap() {
        let mut codel = linux();
        assert_eq!([100_000, 200_000, 200_001].map(|t| long(&mut codel, t)), [PASS, PASS, SIGNAL]);
        // The first gap is 100 ms * 65535/65536; at 300.001 ms the second is foreseen 50.001525 ms after that.
        assert_eq!((codel.count, codel.drop_next), (1, Time(299_999_474_121)));
        assert_eq!([300_001; 2].map(|t| long(&mut codel, t)), [SIGNAL, PASS]);
        assert_eq!((codel.count, codel.drop_next), (2, Time(350_000_999_999)));
    }

    #[test]
    fn linux_starts_a_reentry_with_one_step_from_the_last_root() {
        let mut codel = linux();
        assert_eq!([100_000, 200_001].map(|t| long(&mut codel, t)), [PASS, SIGNAL]);
        (codel.count, codel.root) = (4, InverseRoot(31_968));
        head(&mut codel, 460_000, 1000, 50, false);
        assert_eq!([470_000, 570_001].map(|t| long(&mut codel, t)), [PASS, SIGNAL]);
        // 4 - 1 = 3: 0.487793 / 2 * (3 - 3 * 0.237942) = 0.557590, of 65536.
        assert_eq!((codel.count, codel.root), (3, InverseRoot(36_542)));
    }

    #[test]
    fn above_the_ce_threshold_packets_are_marked_in_any_state_and_never_dropped() {
        let mut codel = codel();
        codel.params.ce_threshold = Auto::Given(Span(1_000_000_000));
        let mark = Verdict::MarkOnly(FORCED);
        // Below target; above target for less than an interval; next to alone.
        assert_eq!(head(&mut codel, 10_000, 1000, 50, true), PASS, "not above 1 ms");
        assert_eq!(head(&mut codel, 10_000, 1001, 50, true), mark);
        assert_eq!([long(&mut codel, 20_000), head(&mut codel, 30_000, 9000, 0, true)], [mark; 2]);
        // The law goes on beside it.
        assert_eq!([40_000, 140_000].map(|t| long(&mut codel, t)), [mark, SIGNAL]);
    }

    #[test]
    fn an_empty_queue_ends_the_dropping_state() {
        let mut codel = entered();
        assert_eq!(long(&mut codel, 300_000), SIGNAL);
        codel.on_empty(&mut Ctx { now: us(300_000), rng: &mut bench::stream() });
        assert_eq!((codel.dropping, codel.first_above, codel.drop_next), (false, None, us(300_000)));
    }
}
