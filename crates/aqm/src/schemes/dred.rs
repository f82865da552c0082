use super::average::AverageQueue;
use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Bytes, Packets, Rate, Ratio, Span, params};

params! {
    /// Dynamic RED: the filtered error of the queue is summed up to the drop probability; a short queue is spared.
    ///
    /// ## Idea
    /// RED's average queue depends on the load, because each loss ratio needs its specific queue. An integral
    /// controller moves the drop probability until the average queue is the target, whatever the number of flows.
    ///
    /// ## Equations
    /// Every `sample` packets that the link can send, e = q - target, B the buffer in packets:
    ///
    /// ```text
    /// e_f = (1 - beta) * e_f + beta * e
    /// p   = clamp(p + alpha * e_f/B, 0, 1)
    /// ```
    ///
    /// An arriving packet that finds at least `spared` * target packets waiting is dropped with probability p.
    ///
    /// ## What to expect
    /// The gains are small. On 45 Mbit/s with 900 packets of buffer a queue of twice the target raises p by 1 % per
    /// second. An overflow at the start lasts until the sum is as large as the loss that the load needs. In Table 1 of
    /// Li et al. 2014 (500 flows) it lasts 15 s, and 41 s under PI. In Table 2 (1,500 flows) it lasts 23 s, and 94 s
    /// under PI.
    ///
    /// ## Readings
    /// The filter's e_f is the filtered queue less the target, which is the same while the target stays.
    ///
    /// ## Departures
    /// Updates come on a timer; each counts as the n = `interval` * C / `sample` samples that fall into it, C packets a
    /// second: the queue's weight is 1 - (1 - beta)^n, and p moves by n steps. So the scheme follows a changing rate.
    pub struct DredParams for Dred {
        /// Control gain: step of p at a filtered error of the whole buffer.
        alpha: f64 = "0.00005" in "0" ..= "1", from "Aweya et al. 2001 (recalled)";
        /// Filter gain: weight of the present error.
        beta: f64 = "0.002" in "0" ..= "1", from "Aweya et al. 2001 (recalled)";
        /// Queue below which nothing is dropped, of the target.
        spared: Ratio = "90%" in "0" ..= "1", from "Aweya et al. 2001 (recalled: L = 0.9 T)";
        /// Packets that the link sends from one sample to the next.
        sample: Packets = "10 packets" in "1 packet" ..= "1000000 packets", from "Aweya et al. 2001 (recalled)";
        /// Time between updates.
        interval: Span = "2 ms" in "1 us" ..= "100 s", from "this project (10 packets of 1000 B take 1.8 ms at 45 Mbit/s)";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
    }
}

impl DredParams {
    /// Bytes that the link sends from one sample to the next.
    fn sample_bytes(&self) -> Bytes {
        Bytes(self.sample.0 * self.mean_packet.0)
    }

    /// Samples in an update.
    fn samples(&self, rate: Rate) -> f64 {
        rate.0 / (8.0 * self.sample_bytes().0) * self.interval.seconds()
    }
}

/// See [`DredParams`].
#[derive(Clone)]
pub struct Dred {
    params: DredParams,
    average: AverageQueue,
    p: f64,
}

impl Scheme for Dred {
    const INFO: SchemeInfo = SchemeInfo {
        name: "dred",
        title: "DRED",
        family: "control theory",
        year: 2001,
        source: "Aweya, Ouellette & Montuno, \"A control theoretic approach to active queue management\", Computer \
                 Networks 36(2-3), 2001",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing =
        Standing::Reconstructed("the algorithm and its constants are recalled; the paper was not available");
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "avg", unit: "packets", doc: "filtered queue, the target and the filtered error" }];

    fn new(params: DredParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, average: AverageQueue::default(), p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Dred {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let DredParams { alpha, beta, interval, .. } = self.params;
        let (avg, _) = self.average.sample(queue, beta, interval, self.params.sample_bytes());
        let step = alpha * self.params.samples(queue.rate);
        self.p = (self.p + step * (avg - queue.target) / queue.limit).clamp(0.0, 1.0);
    }

    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.share(self.p, queue)) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn share(&self, p: f64, queue: &QueueView) -> f64 {
        let is_spared = f64::from(queue.packets) < self.params.spared.0 * queue.target;
        if is_spared { 0.0 } else { p }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.average.avg][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    /// Target 50, B = 100, 1000 packets/s: an update is `sample` packets long, one sample.
    fn dred(interval: &'static str) -> Dred {
        let mut params = DredParams::defaults();
        params.read("dred", [("interval", interval), ("beta", "0.5"), ("alpha", "0.1")], &mut Vec::new());
        Dred::new(params, &bench::queue(0)).unwrap()
    }

    fn p_after(dred: &mut Dred, packets: u32) -> f64 {
        bench::tick(dred, packets);
        dred.p
    }

    #[test]
    fn steps_by_hand() {
        let mut dred = dred("10 ms");
        // Filtered queue 45, 67.5, 78.75, 39.375, 19.6875: e_f = -5, 17.5, 28.75, -10.625, -30.3125; 0.1*e_f/100 each.
        assert_eq!(p_after(&mut dred, 90), 0.0, "held at 0");
        assert!((p_after(&mut dred, 90) - 0.0175).abs() < 1e-15);
        assert!((p_after(&mut dred, 90) - 0.04625).abs() < 1e-15);
        assert!((p_after(&mut dred, 0) - 0.035_625).abs() < 1e-15);
        assert!((p_after(&mut dred, 0) - 0.005_312_5).abs() < 1e-15);
    }

    #[test]
    fn an_update_counts_as_the_samples_in_it() {
        let mut dred = dred("20 ms");
        // Two samples at once: the queue weighs 1 - 0.5^2, 67.5 of 90, and p moves by two steps of 0.1*17.5/100.
        assert!((p_after(&mut dred, 90) - 0.035).abs() < 1e-15);
    }

    #[test]
    fn a_queue_below_nine_tenths_of_the_target_is_spared() {
        let mut dred = dred("10 ms");
        dred.p = 1.0;
        let mut verdict = |packets| {
            let cx = &mut Ctx { now: Time::ZERO, rng: &mut bench::stream() };
            dred.on_enqueue(&bench::packet(), &bench::queue(packets), cx)
        };
        assert_eq!([44, 45].map(&mut verdict), [Verdict::Pass, Verdict::Signal(EARLY)]);
    }
}
