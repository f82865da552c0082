use super::neuron::{Gains, Neuron, Normaliser, PidInputs};
use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Span, params};

params! {
    /// Neuron PID: a PID controller whose three gains are the weights of one neuron and learn as it runs.
    ///
    /// ## Idea
    /// A neuron sees the queue error as proportional, integral and derivative inputs. Its weights follow a supervised Hebb
    /// rule: a weight grows while its input, the output and the error go together.
    ///
    /// ## Equations
    /// Every `interval`, e = q - target:
    ///
    /// ```text
    /// x1 = e - e1,  x2 = e,  x3 = e - 2*e1 + e2            (e1, e2: the errors one and two samples ago)
    /// p   = clamp(p + gain * (w1*x1 + w2*x2 + w3*x3) / (w1 + w2 + w3), 0, 1)
    /// w_i = w_i + d_i * e * p * x_i                        (with the new p)
    /// ```
    ///
    /// An arriving packet is dropped with probability p. The error is in packets, not scaled.
    ///
    /// ## What to expect
    /// Within a second p moves by large steps each millisecond: it acts almost as a relay around the target. Weights grow
    /// without bound by design; limiting them loses the published numbers.
    ///
    /// ## Readings
    /// Initial weights are not published and matter. The integral weight must dominate: the weights `(0.1, 1, 0.1)`
    /// reproduce Tables 1 to 8 and 13 of Li et al. 2014. Table 13 gives 279 packets, and the simulator 273. Equal
    /// weights of 1e-5 give 229. Only their ratios count. `normalise = "none"` (as AN-AQM is printed) gives 25.6 %
    /// drops in Table 5, where 24.3 % is published and the divided form gives 25.1 %.
    pub struct NeuronPidParams for NeuronPid {
        /// Gain of the neuron.
        gain: f64 = "0.01" in "0" ..= "1000", unit "1/packet", from "Li et al. 2014 (K)";
        /// Learning rate of the proportional weight.
        d1: f64 = "2e-6" in "0" ..= "1", from "Li et al. 2014";
        /// Learning rate of the integral weight.
        d2: f64 = "1e-7" in "0" ..= "1", from "Li et al. 2014";
        /// Learning rate of the derivative weight.
        d3: f64 = "1e-7" in "0" ..= "1", from "Li et al. 2014";
        /// Initial proportional weight.
        w1: f64 = "0.1" in "-1000" ..= "1000", from "fitted in ns-2; not published";
        /// Initial integral weight.
        w2: f64 = "1" in "-1000" ..= "1000", from "fitted in ns-2; not published";
        /// Initial derivative weight.
        w3: f64 = "0.1" in "-1000" ..= "1000", from "fitted in ns-2; not published";
        /// Divide the weighted sum by the sum of the weights ("sum") or not ("none").
        normalise: Normaliser = "sum", from "Li et al. 2014, eq. (12); measured";
        /// Sampling interval.
        interval: Span = "1 ms" in "1 us" ..= "100 s", from "Li et al. 2014";
    }
}

/// See [`NeuronPidParams`].
#[derive(Clone)]
pub struct NeuronPid {
    params: NeuronPidParams,
    inputs: PidInputs,
    neuron: Neuron<3>,
}

impl Scheme for NeuronPid {
    const INFO: SchemeInfo = SchemeInfo {
        name: "neuron-pid",
        title: "Neuron PID",
        family: "neuron",
        year: 2006,
        source: "Sun, Chan, Ko, Chen & Zukerman, ATNAC 2006; here after Li et al. 2014, eqs. (10) to (12)",
        confidence: "meets Li et al.'s Tables 1 to 8 and 13",
        papers: &["li2014"],
    };
    const STANDING: Standing = Standing::Fitted(
        "the initial weights are fitted to the tables of Li et al. 2014, which does not print them; its paper \
         was not available",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "w1", unit: "1", doc: "proportional weight" },
        Observable { name: "w2", unit: "1", doc: "integral weight" },
        Observable { name: "w3", unit: "1", doc: "derivative weight" },
    ];
    const AT_START: &'static [(&'static str, &'static str)] = &[
        ("w1", "the weights have learnt since"),
        ("w2", "the weights have learnt since"),
        ("w3", "the weights have learnt since"),
    ];

    fn new(params: NeuronPidParams, _: &QueueView) -> Result<Self, String> {
        let neuron = Neuron { weights: [params.w1, params.w2, params.w3], p: 0.0 };
        Ok(Self { params, inputs: PidInputs::default(), neuron })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for NeuronPid {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let e = f64::from(queue.packets) - queue.target;
        let NeuronPidParams { gain, d1, d2, d3, normalise, .. } = self.params;
        self.neuron.step(e, self.inputs.next(e), &Gains { gain, rates: [d1, d2, d3], normalise });
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.neuron.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        if i == 0 { self.neuron.p } else { self.neuron.weights[i - 1] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    #[test]
    fn two_steps_by_hand() {
        let mut pid = NeuronPid::new(NeuronPidParams::defaults(), &bench::queue(0)).unwrap();
        // Target 50, q = 62, e = 12: x = (12, 12, 12), all weights cancel: p = 0.01 * 12.
        bench::tick(&mut pid, 62);
        assert!((pid.neuron.p - 0.12).abs() < 1e-12);
        // w1 += 2e-6*12*0.12*12 = 3.456e-5; w2, w3 += 1.728e-6.
        assert!((pid.neuron.weights[0] - 0.10003456).abs() < 1e-12);
        assert!((pid.neuron.weights[1] - 1.000001728).abs() < 1e-12);
        // q = 60, e = 10: x = (-2, 10, -14); sum w*x / sum w = 8.399930... / 1.200038016
        bench::tick(&mut pid, 60);
        let hand = 0.12 + 0.01 * (0.10003456 * -2.0 + 10.00001728 + 0.100001728 * -14.0) / 1.200038016;
        assert!((pid.neuron.p - hand).abs() < 1e-12);
    }
}
