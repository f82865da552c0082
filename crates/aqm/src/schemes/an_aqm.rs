use super::neuron::{Gains, Neuron, Normaliser, PidInputs};
use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Bytes, Span, params};

params! {
    /// AN-AQM: one adaptive neuron over the queue error and the rate mismatch.
    ///
    /// ## Idea
    /// The queue length shows an overload late; the arrival rate shows it at once. AN-AQM gives a neuron the PID inputs
    /// of both and lets six weights learn, with the queue error as teacher of all of them.
    ///
    /// ## Equations
    /// Every `interval`, e = q - target and g = r / C - 1 (r: packets offered in the interval per second, dropped ones
    /// included; C: the link's packets per second); e1, e2, g1, g2 the values one and two samples ago:
    ///
    /// ```text
    /// x1 = e - e1,  x2 = e,  x3 = e - 2*e1 + e2
    /// x4 = g - g1,  x5 = g,  x6 = g - 2*g1 + g2
    /// p   = clamp(p + gain * sum(w_i * x_i), 0, 1)
    /// w_i = w_i + d_i * e * p * x_i                        (with the new p)
    /// ```
    ///
    /// An arriving packet is dropped with probability p. e is in packets, not scaled; g is a ratio, not smoothed (at
    /// 45 Mbit/s a millisecond holds 5 packets, so g is noisy).
    ///
    /// ## What to expect
    /// The integral weight runs to 10^2 within the first tenth of a second, and AN-AQM becomes a relay: p is 0 or 1 by the
    /// sign of the error. That is not tail drop at the target, which would lose 10 % in Table 1 where this loses 19 %. The
    /// drop ratio of a run depends on what was learnt in the first 0.1 s and spreads by about one point between seeds.
    ///
    /// ## Readings
    /// Equation (2) of the paper does not divide by the sum of the weights; the division of Neuron PID
    /// (`normalise = "sum"`) gives 25.5 % drops in Table 5 of Li et al. 2014, where 22.7 % is published and the undivided form
    /// gives 22.5 %. The lower clamp of p is needed: without it the weights overflow. The rate counts packets; C takes
    /// 1000-byte packets (5,625 a second at 45 Mbit/s).
    ///
    /// ## Not reproduced
    /// The standard deviation of the first second in Tables 1, 3, 4 and 8: the paper's first burst stays about 60 ms
    /// longer at the full buffer. In steady state the deviation is 2.1 packets here (Table 1 after 50 s). Sun &
    /// Zukerman 2007 report 2.3.
    pub struct AnAqmParams for AnAqm {
        /// Gain of the neuron.
        gain: f64 = "0.01" in "0" ..= "1000", from "Sun & Zukerman 2007 (K)";
        /// Learning rate of the weight of the queue error's first difference.
        d1: f64 = "1e-5" in "0" ..= "1", from "Sun & Zukerman 2007";
        /// Learning rate of the weight of the queue error.
        d2: f64 = "1e-5" in "0" ..= "1", from "Sun & Zukerman 2007";
        /// Learning rate of the weight of the queue error's second difference.
        d3: f64 = "1e-5" in "0" ..= "1", from "Sun & Zukerman 2007";
        /// Learning rate of the weight of the rate mismatch's first difference.
        d4: f64 = "1e-4" in "0" ..= "1", from "Sun & Zukerman 2007";
        /// Learning rate of the weight of the rate mismatch.
        d5: f64 = "1e-4" in "0" ..= "1", from "Sun & Zukerman 2007";
        /// Learning rate of the weight of the rate mismatch's second difference.
        d6: f64 = "1e-4" in "0" ..= "1", from "Sun & Zukerman 2007";
        /// Initial value of all weights.
        w0: f64 = "1e-5" in "-1000" ..= "1000", from "Sun & Zukerman 2007";
        /// Divide the weighted sum by the sum of the weights ("sum") or not ("none").
        normalise: Normaliser = "none", from "Sun & Zukerman 2007, eq. (2); measured";
        /// Sampling interval.
        interval: Span = "1 ms" in "1 us" ..= "100 s", from "Sun & Zukerman 2007";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Sun & Zukerman 2007";
    }
}

/// See [`AnAqmParams`].
#[derive(Clone)]
pub struct AnAqm {
    params: AnAqmParams,
    arrived_before: u64,
    error: PidInputs,
    mismatch: PidInputs,
    neuron: Neuron<6>,
}

impl Scheme for AnAqm {
    const INFO: SchemeInfo = SchemeInfo {
        name: "an-aqm",
        title: "AN-AQM",
        family: "neuron",
        year: 2007,
        source: "Sun & Zukerman, \"An Adaptive Neuron AQM for a Stable Internet\", Networking 2007, LNCS 4479",
        confidence: "from the paper; means and drop ratios of Li et al.'s Tables 1 to 8 and of the paper's Table 1 are met",
        papers: &["li2014", "sun2007"],
    };
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "w1", unit: "1", doc: "weight of the queue error's first difference" },
        Observable { name: "w2", unit: "1", doc: "weight of the queue error" },
        Observable { name: "w3", unit: "1", doc: "weight of the queue error's second difference" },
        Observable { name: "w4", unit: "1", doc: "weight of the rate mismatch's first difference" },
        Observable { name: "w5", unit: "1", doc: "weight of the rate mismatch" },
        Observable { name: "w6", unit: "1", doc: "weight of the rate mismatch's second difference" },
    ];
    const AT_START: &'static [(&'static str, &'static str)] = &[("w0", "the weights have learnt since")];

    fn new(params: AnAqmParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            arrived_before: queue.arrived_packets,
            error: PidInputs::default(),
            mismatch: PidInputs::default(),
            neuron: Neuron { weights: [params.w0; 6], p: 0.0 },
        })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for AnAqm {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let AnAqmParams { gain, d1, d2, d3, d4, d5, d6, normalise, interval, mean_packet, .. } = self.params;
        let e = f64::from(queue.packets) - queue.target;
        let capacity = interval.seconds() * queue.rate.0 / (8.0 * mean_packet.0);
        let g = (queue.arrived_packets - self.arrived_before) as f64 / capacity - 1.0;
        self.arrived_before = queue.arrived_packets;
        let ([x1, x2, x3], [x4, x5, x6]) = (self.error.next(e), self.mismatch.next(g));
        let gains = Gains { gain, rates: [d1, d2, d3, d4, d5, d6], normalise };
        self.neuron.step(e, [x1, x2, x3, x4, x5, x6], &gains);
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
    fn one_step_by_hand() {
        let mut params = AnAqmParams::defaults();
        params.read("an-aqm", [("w0", "0.1")], &mut Vec::new());
        let mut an = AnAqm::new(params, &bench::queue(0)).unwrap();
        // 1000 packets/s: 1 in a millisecond. 3 arrived: g = 2. Target 50, q = 60: e = 10.
        // p = 0.01 * 0.1 * (3*10 + 3*2) = 0.036.
        bench::tick_after(&mut an, 60, 3);
        assert!((an.neuron.p - 0.036).abs() < 1e-15, "{}", an.neuron.p);
        // w1..w3 += 1e-5*10*0.036*10 = 3.6e-5; w4..w6 += 1e-4*10*0.036*2 = 7.2e-5.
        assert!((an.neuron.weights[0] - 0.100036).abs() < 1e-15);
        assert!((an.neuron.weights[5] - 0.100072).abs() < 1e-15);
        // q = 61, 1 arrived: x = (1, 11, -9, -2, 0, -4). p += 0.01 * (0.100036*3 - 0.100072*6) = -0.00300324.
        bench::tick_after(&mut an, 61, 4);
        assert!((an.neuron.p - 0.03299676).abs() < 1e-12, "{}", an.neuron.p);
    }
}
