use super::red::{Red, RedFlavour, RedParams};
use crate::signal::BY_FLOW;
use crate::{Aqm, Ctx, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Tc, Verdict};
use aqmlab_core::{Auto, Packets, ParamSet, Ratio, params};

params! {
    /// CHOKe: RED that compares an arriving packet with one drawn from the queue, and drops both if they are of one flow.
    ///
    /// ## Idea
    /// A flow that sends more than its share has more packets in the queue, so one drawn at random is likely to be its
    /// own. Unresponsive flows are held down without any record of flows.
    ///
    /// ## Equations
    /// `avg` is RED's average. An arriving packet:
    ///
    /// ```text
    /// avg <= min_th:   passes
    /// else:            draw `draws` packets at random; each of the same flow is dropped
    ///   a match:       dropped too
    ///   avg >= max_th: signalled (marked with ECN, else dropped)
    ///   else:          RED's probability
    /// draws = 2i - 1 in the i-th of `regions` equal parts of min_th .. max_th
    /// ```
    ///
    /// ## Readings
    /// RED follows Linux (`red:flavour=linux`) and the paper of 1993, but counts packets: no gentle slope, gaps between
    /// drops uniform on [1, 1/p_b], every packet dropped above max_th, the first included. A match is not an early drop
    /// and leaves RED's count as it is. Lengths are cut to whole packets, as Linux shifts fractions out: avg +=
    /// weight*(q - floor(avg)), which is thus up to a packet above the queue, and p_b grows with floor(avg - min_th).
    /// Linux draws up to three times because its ring of packets has holes; the simulator's queue has none. `tc` makes
    /// the weight from `burst`; `q_weight = "auto"` is its rule:
    ///
    /// ```text
    ///              the paper (defaults here)      tc
    /// min_th       100 packets (auto)             max_th / 3
    /// max_th       200 packets (auto)             limit / 4
    /// max_p        2 %                            2 %
    /// weight       0.002                          auto: 1/16 for min_th 20, max_th 60
    /// burst                                       (2*min_th + max_th) / 3
    /// ```
    ///
    /// A slow average lets the queue swing. Take 16 CUBIC flows on 20 Mbit/s and 40 ms. The thresholds are 20 and 60,
    /// and max_p is 10 %. If the weight is 0.002, the flows lose 7.6 % and leave 5 % of the link idle. If it is 1/16,
    /// they fill the link and lose 5.4 % (Linux 6.1: 5.2 %).
    ///
    /// ## Departures
    /// The automatic thresholds follow the link's target by RED's rule and are whole packets; the paper uses 100 and
    /// 200. Compared with `net/sched/sch_choke.c` at 55f3722fc694 and iproute2's `q_choke.c`, read line by line: as for
    /// RED; and where Linux draws before it tests the limit, a full queue here draws nothing.
    pub struct ChokeParams for Choke {
        /// Average queue up to which nothing is dropped; "auto" is target/20, at least 5 packets.
        min_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets",
          tc "min" in "packets", from "as RED's here (paper: 100, recalled)";
        /// Average queue above which everything is dropped; "auto" is 2*target - min_th.
        max_th: Auto<Packets> = "auto" in "0 packets" ..= "10000000 packets",
          tc "max" in "packets", from "as RED's here (paper: 200, recalled)";
        /// Weight of the present queue in the average.
        q_weight: Auto<f64> = "0.002" in "0" ..= "1", from "RED's (Floyd & Jacobson 1993); auto as tc";
        /// Packets of a burst that an empty queue takes in whole, for q_weight = auto; "auto" is (2*min_th + max_th)/3.
        burst: Auto<Packets> = "auto" in "1 packet" ..= "1000000 packets", tc "burst" in "packets", from "tc choke";
        /// RED's drop probability at max_th.
        max_p: Ratio = "2%" in "0" ..= "1",
          tc "probability" in "probability", from "tc choke (paper: the same, recalled)";
        /// Parts of min_th .. max_th, each with two draws more than the one before.
        regions: u32 = "1" in "1" ..= "64", unit "1", from "Pan et al. 2000: basic CHOKe";
    }
}

impl ChokeParams {
    /// Those of its RED.
    fn red(&self) -> RedParams {
        let ChokeParams { min_th, max_th, q_weight, burst, max_p, .. } = *self;
        RedParams { min_th, max_th, q_weight, burst, max_p, flavour: RedFlavour::Linux, ..RedParams::defaults() }
    }
}

/// See [`ChokeParams`].
#[derive(Clone)]
pub struct Choke {
    params: ChokeParams,
    red: Red,
}

impl Scheme for Choke {
    const INFO: SchemeInfo = SchemeInfo {
        name: "choke",
        title: "CHOKe",
        family: "flow-aware",
        year: 2000,
        source: "Pan, Prabhakar & Psounis, INFOCOM 2000; Linux sch_choke",
        confidence: "rule of Linux, by hand-computed steps; the default thresholds are RED's here",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = Red::OBSERVABLES;

    fn new(params: ChokeParams, queue: &QueueView) -> Result<Self, String> {
        let mut red = Red::new(params.red(), queue)?;
        red.in_whole_packets = true;
        Ok(Self { params, red })
    }

    fn params_changed(&mut self) {
        self.red.set_params(self.params.red());
        self.red.params_changed();
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_FLOW);
    const TC: Option<Tc> = Some(Tc { kind: "choke", note: "one draw for each packet" });
}

impl Aqm for Choke {
    fn draws_packets(&self) -> bool {
        true
    }

    fn draws(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> u32 {
        self.red.update_average(queue, cx);
        let (min_th, max_th) = self.red.params.thresholds(queue.target);
        let along = (self.red.avg - min_th) / (max_th - min_th);
        if along <= 0.0 {
            return 0;
        }
        let regions = f64::from(self.params.regions);
        let region = (along * regions).ceil().min(regions);
        2 * region as u32 - 1
    }

    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.red.decide(queue, cx)
    }

    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.red.on_overflow(queue, cx);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        self.red.on_empty(cx);
    }

    fn observe(&self, i: usize) -> f64 {
        self.red.observe(i)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::Time;

    fn choke(regions: &'static str) -> Choke {
        let mut params = ChokeParams::defaults();
        let pairs = [("min_th", "10 packets"), ("max_th", "30 packets"), ("q_weight", "1"), ("regions", regions)];
        params.read("choke", pairs, &mut Vec::new());
        Choke::new(params, &bench::queue(0)).unwrap()
    }

    #[test]
    fn draws_begin_above_min_th_and_grow_by_two_a_region() {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        // Four regions of 5 packets: 10 none, 11 and 15 one, 16 three, 25 five, 26 and above seven.
        for (packets, draws) in [(10, 0), (11, 1), (15, 1), (16, 3), (25, 5), (26, 7), (99, 7)] {
            assert_eq!(choke("4").draws(&bench::packet(), &bench::queue(packets), cx), draws, "{packets}");
        }
        assert_eq!(choke("1").draws(&bench::packet(), &bench::queue(29), cx), 1);
    }

    #[test]
    fn above_max_th_all_are_dropped_the_first_too() {
        let (mut choke, cx) = (choke("1"), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        let queue = bench::queue(31);
        let verdicts = [0; 3].map(|_| {
            choke.draws(&bench::packet(), &queue, cx);
            choke.on_enqueue(&bench::packet(), &queue, cx)
        });
        assert_eq!(verdicts, [Verdict::Signal(crate::FORCED); 3]);
    }

    #[test]
    fn lengths_are_whole_packets() {
        let mut params = ChokeParams::defaults();
        let pairs = [("min_th", "2 packets"), ("max_th", "12 packets"), ("q_weight", "0.25"), ("max_p", "0.5")];
        params.read("choke", pairs, &mut Vec::new());
        let mut choke = Choke::new(params, &bench::queue(0)).unwrap();
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        // A quarter of what 3 exceeds the whole part by is added; from above, 3.75 would stay.
        let averages = [3; 8].map(|waiting| {
            choke.draws(&bench::packet(), &bench::queue(waiting), cx);
            choke.red.avg
        });
        assert_eq!(averages, [0.75, 1.5, 2.0, 2.25, 2.5, 2.75, 3.0, 3.0]);
        // 0.5 * floor(3.75 - 2) / 10.
        choke.red.avg = 3.75;
        choke.on_enqueue(&bench::packet(), &bench::queue(3), cx);
        assert_eq!(choke.red.p, 0.05);
    }

    /// As `tc qdisc add ... choke limit 400 min 20 max 60 burst 33`; see `red` for the sum.
    #[test]
    fn the_weight_is_that_of_tc() {
        let mut params = ChokeParams::defaults();
        let pairs = [("min_th", "20 packets"), ("max_th", "60 packets"), ("q_weight", "auto"), ("burst", "33 packets")];
        params.read("choke", pairs, &mut Vec::new());
        let mut choke = Choke::new(params, &bench::queue(0)).unwrap();
        choke.draws(&bench::packet(), &bench::queue(16), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        assert_eq!(choke.red.avg, 1.0, "a sixteenth of 16");
    }
}
