use crate::{Aqm, Ctx, EARLY, FORCED, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Tc, Verdict};
use aqmlab_core::{Auto, Packets, Ratio, choice, params};

choice! {
    /// The queue that a class's RED averages.
    pub enum AverageScope {
        /// All packets, whatever their class: WRED.
        All = "all",
        /// Those of the class and of all more important ones: RIO.
        Rio = "rio",
        /// Those of the class alone.
        Own = "own",
    }
}

params! {
    /// GRED: a RED for each class of packets on one queue, and less important classes are dropped first.
    ///
    /// ## Idea
    /// One queue, eight classes (the class selector of the DSCP; 7 is the most important). Each class has thresholds of
    /// its own; a class of less importance meets its lower threshold earlier.
    ///
    /// ## Equations
    /// At the arrival of a packet of class c, q = packets waiting, counted as `average` says:
    ///
    /// ```text
    /// avg_c  = (1 - q_weight)*avg_c + q_weight*q
    /// min_c  = max_th * (min_share + c*step)
    /// p_b    = 0 below min_c; max_p*(avg_c - min_c)/(max_th - min_c) up to max_th; 1 above
    /// p_a    = p_b / (1 - count_c*p_b)
    /// ```
    ///
    /// The packet is signalled with probability p_a, and count_c restarts.
    ///
    /// ## Readings
    /// `average`: "all" is WRED (one average for all), "rio" takes the packets of the class and of the more important
    /// ones (in and out of profile), "own" the class alone, as Linux `gred` by default. The default thresholds are
    /// those customary for WRED: from half of max_th for class 0 in steps of 1/18. `tc` defines no default for
    /// thresholds and burst of a virtual queue (the default probability is 2 %). It computes the weight from the burst,
    /// as for `red`.
    ///
    /// ## Departures
    /// The thresholds of the eight classes are given by two numbers, not by eight tables; lengths count in packets. The
    /// averages do not decay while the link idles.
    pub struct GredParams for Gred {
        /// Average at which every class drops everything; "auto" is 4/3 of the link's target.
        max_th: Auto<Packets> = "auto" in "1 packet" ..= "10000000 packets", tc "max" in "bytes", from "this project";
        /// Lower threshold of class 0, of max_th.
        min_share: Ratio = "50%" in "0" ..= "95%", from "customary for WRED";
        /// By how much it rises from class to class, of max_th; at most to 99 %.
        step: Ratio = "5.5556%" in "0" ..= "10%", from "customary for WRED: 1/18";
        /// Signal probability at max_th.
        max_p: Ratio = "10%" in "0" ..= "1", tc "probability" in "probability", from "customary for WRED";
        /// Weight of the present queue in an average.
        q_weight: f64 = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993";
        /// The packets that an average counts.
        average: AverageScope = "all", from "Linux sch_gred has all three";
    }
}

const CLASSES: usize = 8;
/// No class begins above this share of max_th.
const HIGHEST: f64 = 0.99;

#[derive(Clone, Copy, Default)]
struct Class {
    waiting: u32,
    avg: f64,
    /// Arrivals since the last signal.
    count: u32,
}

/// See [`GredParams`].
#[derive(Clone)]
pub struct Gred {
    params: GredParams,
    classes: [Class; CLASSES],
    p: f64,
}

impl Gred {
    /// Packets that the average of `class` counts.
    fn counted(&self, class: usize, queue: &QueueView) -> u32 {
        match self.params.average {
            AverageScope::All => queue.packets,
            AverageScope::Rio => self.classes[class..].iter().map(|class| class.waiting).sum(),
            AverageScope::Own => self.classes[class].waiting,
        }
    }

    fn probability(&self, class: usize, queue: &QueueView) -> f64 {
        let max_th = self.params.max_th.unwrap_or_else(|| Packets(4.0 / 3.0 * queue.target)).0;
        let share = self.params.min_share.0 + class as f64 * self.params.step.0;
        let min_th = max_th * share.min(HIGHEST);
        match self.classes[class].avg {
            avg if avg < min_th => 0.0,
            avg if avg < max_th => self.params.max_p.0 * (avg - min_th) / (max_th - min_th),
            _ => 1.0,
        }
    }

    /// Folds the present queue into the average; with one average for all, into that of every class.
    fn average(&mut self, class: usize, queue: &QueueView) {
        let now = f64::from(self.counted(class, queue));
        let all = matches!(self.params.average, AverageScope::All);
        for class in if all { 0..CLASSES } else { class..class + 1 } {
            let avg = &mut self.classes[class].avg;
            *avg += self.params.q_weight * (now - *avg);
        }
    }
}

impl Scheme for Gred {
    const INFO: SchemeInfo = SchemeInfo {
        name: "gred",
        title: "GRED",
        family: "red",
        year: 1998,
        source: "Clark & Fang, IEEE/ACM Trans. Networking 6(4), 1998 (RIO); Linux sch_gred; WRED",
        confidence: "rule as in Linux and WRED; the default thresholds are the customary ones",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "p", unit: "ratio", doc: "signal probability p_b of the last packet's class" },
        Observable { name: "avg", unit: "packets", doc: "average queue of class 0" },
    ];

    fn new(params: GredParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, classes: [Class::default(); CLASSES], p: 0.0 })
    }

    const SIGNAL: Result<Signal, &'static str> =
        Err("counts the waiting packets of each class, which a fluid does not have");
    const TC: Option<Tc> =
        Some(Tc { kind: "gred", note: "the class is a virtual queue, chosen by tc_index; thresholds in bytes" });
}

impl Aqm for Gred {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let class = usize::from(packet.class()) % CLASSES;
        self.average(class, queue);
        self.p = self.probability(class, queue);
        let count = &mut self.classes[class].count;
        *count = if self.p > 0.0 { *count + 1 } else { 0 };
        let spacing = 1.0 - f64::from(*count) * self.p;
        let p_a = if spacing > 0.0 { (self.p / spacing).min(1.0) } else { 1.0 };
        let verdict = match self.p > 0.0 && cx.chance(p_a) {
            false => Verdict::Pass,
            true if self.p >= 1.0 => Verdict::Drop(FORCED),
            true => Verdict::Signal(EARLY),
        };
        if verdict != Verdict::Pass {
            *count = 0;
        }
        if verdict == Verdict::Pass || (verdict == Verdict::Signal(EARLY) && packet.can_mark) {
            self.classes[class].waiting += 1;
        }
        verdict
    }

    fn on_adopt(&mut self, packet: &PacketView) {
        self.classes[usize::from(packet.class()) % CLASSES].waiting += 1;
    }

    fn acts_on_dequeue(&self) -> bool {
        true // it counts departures
    }

    fn on_dequeue(&mut self, packet: &PacketView, _: &QueueView, _: &mut Ctx) -> Verdict {
        self.classes[usize::from(packet.class()) % CLASSES].waiting -= 1;
        Verdict::Pass
    }

    fn on_head_drop(&mut self, packet: &PacketView, _: &QueueView, _: &mut Ctx) {
        self.classes[usize::from(packet.class()) % CLASSES].waiting -= 1;
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.classes[0].avg][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    /// max_th 36; lower thresholds 18, 20, ... 32 for classes 0 to 7; the average is the present queue.
    fn gred(average: &'static str) -> Gred {
        let mut params = GredParams::defaults();
        let pairs = [("max_th", "36 packets"), ("q_weight", "1"), ("average", average)];
        params.read("x", pairs, &mut Vec::new());
        Gred::new(params, &bench::queue(0)).unwrap()
    }

    fn arrive(gred: &mut Gred, class: u8, packets: u32) -> Verdict {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        gred.on_enqueue(&PacketView { dscp: class << 3, ..bench::packet() }, &bench::queue(packets), cx)
    }

    #[test]
    fn the_less_important_meet_their_threshold_first() {
        // Class 0 at 27: 0.1 * 9/18. Class 3 (24): 0.1 * 3/12. Class 7 (32): nothing.
        for (class, expected) in [(0, 0.05), (3, 0.025), (7, 0.0)] {
            let mut gred = gred("all");
            arrive(&mut gred, class, 27);
            assert!((gred.p - expected).abs() < 1e-5, "{class}: {}", gred.p);
        }
        assert_eq!(arrive(&mut gred("all"), 7, 36), Verdict::Drop(FORCED));
    }

    #[test]
    fn averages_count_the_class_alone_or_with_the_more_important() {
        for (average, expected) in [("all", 90.0), ("rio", 3.0), ("own", 1.0)] {
            let mut gred = gred(average);
            for class in [0, 1, 6, 7] {
                gred.classes[class].waiting = 1;
            }
            arrive(&mut gred, 1, 90);
            assert_eq!(gred.classes[1].avg, expected, "{average}");
        }
    }

    #[test]
    fn departures_and_drops_at_the_head_are_counted_off() {
        let mut gred = gred("own");
        assert_eq!([0; 3].map(|_| arrive(&mut gred, 2, 0)), [Verdict::Pass; 3]);
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        let head = PacketView { dscp: 2 << 3, ..bench::packet() };
        gred.on_dequeue(&head, &bench::queue(2), cx);
        assert_eq!(gred.classes[2].waiting, 2);
        gred.on_head_drop(&head, &bench::queue(1), cx);
        assert_eq!(gred.classes[2].waiting, 1);
    }
}
