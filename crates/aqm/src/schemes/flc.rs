use super::fuzzy;
use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Bytes, Frequency, Span, params};

params! {
    /// FLC: a fuzzy controller of the queue's error and its change.
    ///
    /// ## Idea
    /// Rules such as "far above target and still growing: drop much more" need no model of TCP.
    ///
    /// ## Equations
    /// Every T = 1/w seconds, e = q - target, c = packets that the link sends in T:
    ///
    /// ```text
    /// p = clamp(p + gain * rules(e / target, (e - e_old) / c), 0, 1);   e_old = e
    /// ```
    ///
    /// An arriving packet is dropped with probability p.
    ///
    /// ## What to expect
    /// On Boudi & Loudini's links the queue takes 9 to 12 ms for a target of 10 ms. Losses of 15 % and more take p long
    /// to reach: over 100 s on Li et al.'s link with 500 flows the mean queue is 367 packets for a target of 300. A
    /// gain of 3e-4 gives 321.
    ///
    /// ## Readings
    /// The paper's terms, rules and scales are not known here. The rules are FuzzyRTT's (MacVicar-Whelan), evenly spaced,
    /// and p is incremental as there. `gain` is this project's: greater gains settle sooner and idle the link where p is
    /// small.
    pub struct FlcParams for Flc {
        /// Scale of the output: the maximum step of p.
        gain: f64 = "1e-4" in "0" ..= "1", from "this project";
        /// Sampling frequency.
        w: Frequency = "160 Hz" in "0.01 Hz" ..= "1000 kHz", from "Hollot et al. 2001 (for PI)";
        /// Packet size that turns the link's rate into packets.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "this project";
    }
}

/// See [`FlcParams`].
#[derive(Clone)]
pub struct Flc {
    params: FlcParams,
    e_old: f64,
    p: f64,
}

impl Scheme for Flc {
    const INFO: SchemeInfo = SchemeInfo {
        name: "flc",
        title: "FLC",
        family: "fuzzy",
        year: 2002,
        source: "Ren, Ren & Shan, Design of a fuzzy controller for active queue management, Comput. Commun. 25(9), 2002",
        confidence: "the algorithm below by hand-computed steps",
        papers: &["boudi"],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "FuzzyRTT's terms, rules and scales are used, and the gain is this project's; the paper was not available",
    );
    const OBSERVABLES: &'static [Observable] = &[P];

    fn new(params: FlcParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self { params, e_old: -queue.target, p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Flc {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.w.period())
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let e = f64::from(queue.packets) - queue.target;
        let FlcParams { gain, w, mean_packet } = self.params;
        let sent_per_sample = queue.rate.0 / (8.0 * mean_packet.0 * w.0);
        let u = fuzzy::infer(e / queue.target, (e - self.e_old) / sent_per_sample);
        self.p = (self.p + gain * u).clamp(0.0, 1.0);
        self.e_old = e;
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, _: usize) -> f64 {
        self.p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    #[test]
    fn three_steps_by_hand() {
        let mut params = FlcParams::defaults();
        params.read("flc", [("gain", "0.01"), ("w", "100 Hz")], &mut Vec::new());
        // 1000 packets/s: 10 in a sample; target 50.
        let mut flc = Flc::new(params, &bench::queue(0)).unwrap();
        // e = 50 after -50: PB and PB say 1.
        bench::tick(&mut flc, 100);
        assert!((flc.p - 0.01).abs() < 1e-12, "{}", flc.p);
        // e = 50, no change: PB and Z say 3/4.
        bench::tick(&mut flc, 100);
        assert!((flc.p - 0.0175).abs() < 1e-12, "{}", flc.p);
        // e = 0 after 50: Z and NB say -3/4.
        bench::tick(&mut flc, 50);
        assert!((flc.p - 0.01).abs() < 1e-12, "{}", flc.p);
    }
}
