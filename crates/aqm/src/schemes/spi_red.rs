use super::average::AverageQueue;
use super::pd::PdParams;
use crate::linear::{LinearResponse, OperatingPoint, needs};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal,
    Standing, Verdict,
};
use aqmlab_core::{Bytes, Span, params};

params! {
    /// SPI-RED: proportional and integral control of the average queue.
    ///
    /// ## Idea
    /// RED's average queue hides short bursts from the controller; an integral of its error takes away RED's dependence
    /// of the queue on the load.
    ///
    /// ## Equations
    /// Every `interval` T, e = avg - target, e_old one sample ago, B the buffer, both in packets:
    ///
    /// ```text
    /// avg = avg + (1 - (1 - q_weight)^n) * (q - avg)        n: packets that the link can send in an interval
    /// p = clamp(p + k_p * (e - e_old)/B + k_i * T * e/B, 0, 1)
    /// ```
    ///
    /// An arriving packet is dropped with probability p.
    ///
    /// ## Readings
    /// Only the paper's abstract was at hand: a proportional and integral controller of the average queue, now and over
    /// the past round-trip time, with gains that keep the system stable. Here the integral goes back to the start, as
    /// in `pi`: one over a round-trip time alone cannot hold the target at every load. Queues are shares of the buffer
    /// as in NPD-RED, by the same authors. The equation is the same as for `pd`, with ten times the gains. The average
    /// is RED's, sampled once in a packet's transmission time as in the fluid models; so it also falls while nothing
    /// arrives.
    ///
    /// ## What to expect
    /// Tables 1 and 2 of Li et al. 2014 have 45 Mbit/s and a target of 300 packets. The queue of 500 flows is 300
    /// packets with a standard deviation of 45. The queue of 1,500 flows is 301 packets with a deviation of 49. The
    /// gains are too high for few flows: the queue of 100 flows swings, at 209 packets with a deviation of 77.
    ///
    /// ## Departures
    /// The gains are constants; the paper tunes them to the network.
    pub struct SpiRedParams for SpiRed {
        /// Gain on the change of the average queue.
        k_p: f64 = "0.5" in "0" ..= "1000", from "reconstruction: stable from 500 to 1500 flows on 45 Mbit/s";
        /// Gain on the integral of its error.
        k_i: f64 = "1" in "0" ..= "1000", unit "1/s", from "reconstruction: stable from 500 to 1500 flows on 45 Mbit/s";
        /// Sampling interval.
        interval: Span = "10 ms" in "1 us" ..= "100 s", from "reconstruction, after PD-RED";
        /// Weight of one packet's sample in the average queue.
        q_weight: f64 = "0.002" in "0" ..= "1", from "Floyd & Jacobson 1993";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
    }
}

/// See [`SpiRedParams`].
#[derive(Clone)]
pub struct SpiRed {
    params: SpiRedParams,
    average: AverageQueue,
    p: f64,
}

impl Scheme for SpiRed {
    const INFO: SchemeInfo = SchemeInfo {
        name: "spi-red",
        title: "SPI-RED",
        family: "control theory",
        year: 2006,
        source: "Xiong, Defago, Jia, Yan & He, \"Design and analysis of a self-tuning proportional and integral \
                 controller for active queue management routers to support TCP flows\", INFOCOM 2006",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing =
        Standing::Reconstructed("only the abstract was available: equation and gains are this project's");
    const OBSERVABLES: &'static [Observable] = &[P, Observable { name: "avg", unit: "packets", doc: "average queue" }];

    fn new(params: SpiRedParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, average: AverageQueue::default(), p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<SpiRedParams> = Some(|params| Box::new(params));
}

impl Aqm for SpiRed {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let SpiRedParams { k_p, k_i, interval, q_weight, mean_packet } = self.params;
        let (avg, growth) = self.average.sample(queue, q_weight, interval, mean_packet);
        let step = k_p * growth + k_i * interval.seconds() * (avg - queue.target);
        self.p = (self.p + step / queue.limit).clamp(0.0, 1.0);
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.average.avg][i]
    }
}

/// The law of `pd` with k_p on the change and k_i T on the error.
impl LinearLaw for SpiRedParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.k_i > 0.0, "k_i = 0")
    }

    fn at(&self, point: &OperatingPoint) -> Result<LinearResponse, String> {
        let SpiRedParams { k_p, k_i, interval, q_weight, mean_packet } = *self;
        PdParams { k_p: k_i * interval.seconds(), k_d: k_p, interval, q_weight, mean_packet }.at(point)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    /// Target 50, B = 100, T = 1 ms; one sample of weight 0.5 in an interval.
    #[test]
    fn steps_by_hand() {
        let mut params = SpiRedParams::defaults();
        params.read("spi-red", [("interval", "1 ms"), ("q_weight", "0.5")], &mut Vec::new());
        let mut spi = SpiRed::new(params, &bench::queue(0)).unwrap();
        let mut p_at = |packets| {
            bench::tick(&mut spi, packets);
            spi.p
        };
        // avg 40 of 80: (0.5*40 + 0.001*-10) / 100 = 0.1999.
        assert!((p_at(80) - 0.1999).abs() < 1e-15);
        // avg 60: + (0.5*20 + 0.001*10) / 100 = 0.1001.
        assert!((p_at(80) - 0.3).abs() < 1e-15);
        // avg 60 still: + 0.001*10/100.
        assert!((p_at(60) - 0.3001).abs() < 1e-15);
        // avg 30: + (0.5*-30 + 0.001*-20) / 100 = -0.1502.
        assert!((p_at(0) - 0.1499).abs() < 1e-15);
    }

    #[test]
    fn p_is_held_within_0_and_1() {
        let mut spi = SpiRed::new(SpiRedParams::defaults(), &bench::queue(0)).unwrap();
        (spi.p, spi.average.avg) = (0.999, 1e4);
        bench::tick(&mut spi, 10_000);
        assert_eq!(spi.p, 1.0);
        (spi.p, spi.average.avg) = (1e-6, 0.0);
        bench::tick(&mut spi, 0);
        assert_eq!(spi.p, 0.0);
    }
}
