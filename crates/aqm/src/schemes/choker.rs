use crate::signal::BY_FLOW;
use crate::{Aqm, Ctx, Observable, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing};
use aqmlab_core::{Auto, Packets, Ratio, Span, params};

params! {
    /// CHOKeR: draws several packets at an arrival; a factor that follows the average queue sets their number.
    ///
    /// ## Idea
    /// One draw (CHOKe) cannot hold many unresponsive flows. Let the number of draws rise in several steps while the
    /// queue is long and fall in single ones: MISD, multi-step increase, single-step decrease.
    ///
    /// ## Equations
    /// Every `interval`, with h = `band` times the target:
    ///
    /// ```text
    /// avg > target + h:   p0 += step*p0*(1 + floor((avg - target - h) / h))
    /// avg < target - h:   p0 -= step*p0, at least 0.01
    /// ```
    ///
    /// An arriving packet:
    ///
    /// ```text
    /// avg   = (1 - q_weight)*avg + q_weight*q
    /// draws = p0 * min(2, max(0, avg/target - 1/2)); the fraction is one more draw with that probability
    /// each drawn packet of the same flow is dropped; after a match the arriving one too
    /// ```
    ///
    /// ## Readings
    /// Of the paper only the abstract was available, which names MISD and the draws of CHOKeW. The algorithm above is a
    /// reconstruction. The ramp over avg keeps the factor from being a pure integrator, which swings.
    ///
    /// ## Departures
    /// All flows have one priority. A match is never turned into a mark: the drops free the queue (Boudi & Loudini).
    pub struct ChokerParams for Choker {
        /// Queue to hold; "auto" is the link's target.
        target: Auto<Packets> = "auto" in "1 packet" ..= "10000000 packets", from "a reconstruction";
        /// Time between steps of the factor.
        interval: Span = "100 ms" in "1 us" ..= "1000 s", from "a reconstruction";
        /// Half of the band around the target in which the factor stays, of the target.
        band: Ratio = "20%" in "1%" ..= "1", from "a reconstruction";
        /// A step, of the factor.
        step: Ratio = "5%" in "0" ..= "1", from "a reconstruction";
        /// Weight of the present queue in the average.
        q_weight: f64 = "0.002" in "0" ..= "1", from "a reconstruction";
    }
}

impl ChokerParams {
    fn target(&self, queue: &QueueView) -> f64 {
        self.target.unwrap_or_else(|| Packets(queue.target)).0
    }
}

/// See [`ChokerParams`].
#[derive(Clone)]
pub struct Choker {
    params: ChokerParams,
    avg: f64,
    factor: f64,
}

/// The factor at the start, and the least.
const FIRST: f64 = 0.1;
const LEAST: f64 = 0.01;
/// More draws than any queue needs: a bound on the work for one packet.
const MOST: f64 = 1000.0;

impl Scheme for Choker {
    const INFO: SchemeInfo = SchemeInfo {
        name: "choker",
        title: "CHOKeR",
        family: "flow-aware",
        year: 2014,
        source: "Lu, Du & Liu, IEEE Trans. Industrial Informatics 10(1), 2014",
        confidence: "the algorithm below by hand-computed steps",
        papers: &["boudi"],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "only the abstract was available: the rule of the factor and all constants are this project's",
    );
    const OBSERVABLES: &'static [Observable] = &[
        Observable { name: "avg", unit: "packets", doc: "average queue" },
        Observable { name: "factor", unit: "1", doc: "draws of a packet at one and a half times the target" },
    ];

    fn new(params: ChokerParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, avg: 0.0, factor: FIRST })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&["target"]);
    const SIGNAL: Result<Signal, &'static str> = Err(BY_FLOW);
}

impl Aqm for Choker {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let ChokerParams { band, step, .. } = self.params;
        let target = self.params.target(queue);
        let half = band.0 * target;
        let above = self.avg - target - half;
        if above > 0.0 {
            self.factor += step.0 * self.factor * (1.0 + (above / half).floor());
        } else if self.avg < target - half {
            self.factor -= step.0 * self.factor;
        }
        self.factor = self.factor.clamp(LEAST, MOST);
    }

    fn draws_packets(&self) -> bool {
        true
    }

    fn draws(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> u32 {
        self.avg += self.params.q_weight * (f64::from(queue.packets) - self.avg);
        let draws = self.factor * (self.avg / self.params.target(queue) - 0.5).clamp(0.0, 2.0);
        draws as u32 + u32::from(draws > 0.0 && cx.chance(draws.fract()))
    }

    fn observe(&self, i: usize) -> f64 {
        [self.avg, self.factor][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    /// Target 50, band 40 .. 60.
    fn choker() -> Choker {
        Choker::new(ChokerParams::defaults(), &bench::queue(0)).unwrap()
    }

    #[test]
    fn many_steps_up_and_one_down() {
        let mut choker = choker();
        // 65 is 5 above the band: one step. 95 is 35 above it: 1 + 3 steps. Within: none. 39: one down.
        for (avg, factor) in [(65.0, 0.105), (95.0, 0.126), (60.0, 0.126), (40.0, 0.126), (39.0, 0.1197)] {
            choker.avg = avg;
            bench::tick(&mut choker, 0);
            assert!((choker.factor - factor).abs() < 1e-12, "{avg}: {}", choker.factor);
        }
        choker.factor = 0.0101;
        bench::tick(&mut choker, 0);
        assert_eq!(choker.factor, 0.01);
    }

    #[test]
    fn draws_follow_the_ramp() {
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
        // Half the target: none. The target: half of the factor. From two and a half times the target on: twice.
        for (avg, draws) in [(25, 0), (50, 4), (75, 8), (125, 16), (500, 16)] {
            let mut choker = choker();
            (choker.avg, choker.factor) = (f64::from(avg), 8.0);
            assert_eq!(choker.draws(&bench::packet(), &bench::queue(avg), cx), draws, "{avg}");
        }
    }

    #[test]
    fn the_average_is_weighted() {
        let (mut choker, cx) = (choker(), &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() });
        choker.draws(&bench::packet(), &bench::queue(50), cx);
        assert!((choker.avg - 0.1).abs() < 1e-15);
        choker.draws(&bench::packet(), &bench::queue(0), cx);
        assert!((choker.avg - 0.0998).abs() < 1e-15);
    }
}
