use crate::signal::BY_FLOW;
use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Ratio, choice, params};

choice! {
    /// The effect of a hit on the drop probability.
    pub enum SredVariant {
        /// Nothing.
        Simple = "simple",
        /// The probability is multiplied by 1 + hit/P, against flows that take more than their share.
        Full = "full",
    }
}

params! {
    /// SRED: the drop probability follows a three-step function of the queue and an estimate of the number of flows.
    ///
    /// ## Idea
    /// A list of recently seen flows, the zombies, estimates the number of flows without per-flow state: the rarer an
    /// arriving packet meets its own flow in the list, the more flows. The loss that N TCP flows need grows as N
    /// squared.
    ///
    /// ## Equations
    /// At each arrival a zombie is drawn. It is a hit (hit = 1) if it is of the packet's flow; if not, the packet's
    /// flow takes its place with probability `overwrite`. M zombies, B the buffer in packets, q packets waiting:
    ///
    /// ```text
    /// P = (1 - a) * P + a * hit                       a = overwrite / M;  1/P: estimated number of flows
    /// p_sred = p_max            B/3 <= q
    /// p_sred = p_max / 4        B/6 <= q < B/3
    /// p_sred = 0                q < B/6
    /// p = min(1, p_sred * min(1, 1/(256 P)^2) * (1 + hit/P))
    /// ```
    ///
    /// The packet is dropped with probability p. "simple" leaves out the last factor. Until the list is full, each
    /// packet's flow is appended and there is no hit.
    ///
    /// ## What to expect
    /// The queue is held near B/6 or B/3 as long as one of the two levels gives the loss that the load needs: at 300 of
    /// 900 packets with 20 flows on 45 Mbit/s. From 256 flows on p no longer grows with their number; where they need a
    /// loss above `p_max` the queue grows: to 430 packets with 500 flows, to 888 with 1,500.
    ///
    /// ## Readings
    /// A zombie's count and time serve to find misbehaving flows afterwards and are left out. P starts at 0: as for
    /// very many flows.
    ///
    /// ## Departures
    /// Packets refused by a full queue do not look at the list. The link's target is not used.
    pub struct SredParams for Sred {
        /// Zombies in the list, M.
        zombies: u32 = "1000" in "1" ..= "1000000", from "Ott, Lakshman & Wong 1999 (recalled)";
        /// Probability that a packet takes the place of a zombie of another flow.
        overwrite: Ratio = "0.25" in "0.001" ..= "1", from "Ott, Lakshman & Wong 1999 (recalled)";
        /// Drop probability of a long queue of very many flows.
        p_max: Ratio = "0.15" in "0" ..= "1", from "Ott, Lakshman & Wong 1999 (recalled)";
        /// The effect of a hit on the drop probability.
        variant: SredVariant = "full", from "Ott, Lakshman & Wong 1999";
    }
}

/// See [`SredParams`].
#[derive(Clone)]
pub struct Sred {
    params: SredParams,
    /// Flows of the zombies.
    zombies: Vec<u32>,
    /// Frequency of hits, P.
    hits: f64,
    p: f64,
}

impl Sred {
    /// Compares the packet's flow with a zombie's, and counts.
    fn hit(&mut self, flow: u32, cx: &mut Ctx) -> bool {
        let SredParams { zombies, overwrite, .. } = self.params;
        if self.zombies.len() < zombies as usize {
            self.zombies.push(flow);
            return false;
        }
        let drawn = (cx.rng.uniform() * f64::from(zombies)) as usize;
        let hit = self.zombies[drawn] == flow;
        if !hit && cx.chance(overwrite.0) {
            self.zombies[drawn] = flow;
        }
        let a = overwrite.0 / f64::from(zombies);
        self.hits += a * (f64::from(u8::from(hit)) - self.hits);
        hit
    }

    fn probability(&self, queue: &QueueView, hit: bool) -> f64 {
        let fill = f64::from(queue.packets) / queue.limit;
        let p_sred = match fill {
            fill if fill >= 1.0 / 3.0 => self.params.p_max.0,
            fill if fill >= 1.0 / 6.0 => self.params.p_max.0 / 4.0,
            _ => 0.0,
        };
        let few = 1.0 / (256.0 * self.hits).max(1.0);
        let own = if hit && self.params.variant == SredVariant::Full { 1.0 + 1.0 / self.hits } else { 1.0 };
        (p_sred * few * few * own).min(1.0)
    }
}

impl Scheme for Sred {
    const INFO: SchemeInfo = SchemeInfo {
        name: "sred",
        title: "SRED",
        family: "flow-aware",
        year: 1999,
        source: "Ott, Lakshman & Wong, \"SRED: stabilized RED\", INFOCOM 1999",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing =
        Standing::Reconstructed("the algorithm and its constants are recalled; the paper was not available");
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "hits", unit: "ratio", doc: "hit frequency, the inverse of the number of flows" }];

    fn new(params: SredParams, _: &QueueView) -> Result<Self, String> {
        let zombies = Vec::with_capacity(params.zombies as usize);
        Ok(Self { params, zombies, hits: 0.0, p: 0.0 })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_FLOW);
}

impl Aqm for Sred {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let hit = self.hit(packet.flow, cx);
        self.p = self.probability(queue, hit);
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.hits][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Stream, Time};

    fn sred(changes: &[(&str, &str)]) -> Sred {
        let mut params = SredParams::defaults();
        params.read("sred", changes.iter().copied(), &mut Vec::new());
        Sred::new(params, &bench::queue(0)).unwrap()
    }

    /// p with `packets` waiting of 120.
    fn p_at(sred: &Sred, packets: u32, hit: bool) -> f64 {
        sred.probability(&QueueView { limit: 120.0, ..bench::queue(packets) }, hit)
    }

    /// A packet of `flow` finds 40 packets waiting.
    fn arrival(sred: &mut Sred, flow: u32, rng: &mut Stream) {
        let packet = PacketView { flow, ..bench::packet() };
        sred.on_enqueue(&packet, &bench::queue(40), &mut Ctx { now: Time::ZERO, rng });
    }

    #[test]
    fn three_levels_of_the_queue() {
        let sred = sred(&[]);
        for (packets, p) in [(0, 0.0), (19, 0.0), (20, 0.0375), (39, 0.0375), (40, 0.15), (120, 0.15)] {
            assert_eq!(p_at(&sred, packets, false), p, "{packets}");
        }
    }

    #[test]
    fn fewer_flows_need_less() {
        let (mut full, mut simple) = (sred(&[]), sred(&[("variant", "simple")]));
        // 1000 flows as 256; 128 flows: 0.15/4; 64 flows: 0.15/16, and with a hit 65 times that.
        (full.hits, simple.hits) = (0.001, 1.0 / 64.0);
        assert_eq!(p_at(&full, 40, false), 0.15);
        assert_eq!(p_at(&full, 40, true), 1.0, "0.15 * 1001 is held at 1");
        full.hits = 1.0 / 128.0;
        assert!((p_at(&full, 40, false) - 0.0375).abs() < 1e-15);
        full.hits = 1.0 / 64.0;
        assert!((p_at(&full, 40, false) - 0.009_375).abs() < 1e-15);
        assert!((p_at(&full, 40, true) - 0.609_375).abs() < 1e-15);
        assert!((p_at(&simple, 40, true) - 0.009_375).abs() < 1e-15);
    }

    #[test]
    fn hits_count_once_the_list_is_full() {
        let (mut sred, mut rng) = (sred(&[("zombies", "2"), ("overwrite", "1")]), bench::stream());
        for _ in 0..2 {
            arrival(&mut sred, 7, &mut rng);
            assert_eq!((sred.hits, sred.p), (0.0, 0.15));
        }
        // a = 1/2: 0.5, 0.75, then a miss, which halves it and takes a place.
        for (flow, hits) in [(7, 0.5), (7, 0.75), (8, 0.375)] {
            arrival(&mut sred, flow, &mut rng);
            assert_eq!(sred.hits, hits);
        }
        assert_eq!(sred.zombies.iter().filter(|flow| **flow == 8).count(), 1);
    }

    /// 4000 flows of one packet each: 1000 of them take the place, with a standard deviation of 27.
    #[test]
    fn a_quarter_of_the_misses_takes_the_place() {
        let (mut sred, mut rng) = (sred(&[("zombies", "1")]), bench::stream());
        let mut taken = 0;
        for flow in 0..=4000 {
            arrival(&mut sred, flow, &mut rng);
            taken += u32::from(sred.zombies[0] == flow);
        }
        assert!((900..=1100).contains(&taken), "{taken}");
    }

    /// The frequency of hits is the inverse of the number of flows: 20 flows, one packet each in turn.
    #[test]
    fn hits_tell_the_number_of_flows() {
        let (mut sred, mut rng) = (sred(&[]), bench::stream());
        (0..100_000).for_each(|i| arrival(&mut sred, i % 20, &mut rng));
        let flows = 1.0 / sred.hits;
        assert!((16.0..=25.0).contains(&flows), "{flows}");
    }
}
