use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Bytes, Span, choice, params};

choice! {
    /// The way in which the two weights are obtained.
    pub enum Learning {
        /// Temporal-difference learning, TD(0).
        Td = "td",
        /// Held at 1/theta1 and theta2/theta1.
        None = "none",
    }
}

params! {
    /// NRL: one neuron over queue error and rate mismatch, its weights tuned by reinforcement learning.
    ///
    /// ## Idea
    /// A neuron weighs how far the queue is from its target against how much more arrives than leaves, and a squashing
    /// function turns the sum into a drop probability. The weights are learnt from a reward that grows with congestion.
    ///
    /// ## Equations
    /// Every `interval`, n1 = (q - target) / theta1 and n2 = r / C - 1 (r: packets offered per second, C: capacity):
    ///
    /// ```text
    /// V = w1*n1 + w2*n2                                   (with the weights of the last step)
    /// delta = theta1*n1 + theta2*n2 + discount*V - V_before
    /// w_i = w_i + alpha * delta * n_i_before
    /// p = max(0, tanh(V / 2))                             (with the new weights)
    /// ```
    ///
    /// An arriving packet is dropped with probability p.
    ///
    /// ## Readings
    /// The paper was not available; Li et al. 2014 print eqs. (13) and (14) and four constants, and section 3.5 repeats the
    /// output with the opposite sign, which only makes sense if V there is a cost. What theta1 and theta2 are is not stated:
    /// here theta1 scales the queue error and both weigh the reward, the reading that came closest in ns-2. With
    /// `learning = "none"` (constant weights 1/theta1 and theta2/theta1 s, rate mismatch in packets/s smoothed over 20 ms)
    /// the mean queue of Table 2 is met but the drop ratios are far too low (14 % and 18 % for 19 % and 26 %).
    ///
    /// ## Not reproduced
    /// Drop ratios of Tables 1 to 5 are met within about a point; the published means away from the target (274.7 in Table
    /// 2, 57.5 in Table 3) and the failure in Table 12 are not met by any reading.
    pub struct NrlParams {
        /// Learning rate.
        alpha: f64 = "0.001" in "0" ..= "1", from "Li et al. 2014";
        /// Discount factor of the value of the next state.
        discount: f64 = "0.98" in "0" ..= "1", from "Li et al. 2014 (gamma)";
        /// Scale of the queue error, and its weight in the reward.
        theta1: f64 = "10" in "0.000001" ..= "1000000", unit "packets", from "Li et al. 2014";
        /// Weight of the rate mismatch in the reward.
        theta2: f64 = "0.02" in "0" ..= "1000000", from "Li et al. 2014";
        /// Initial value of both weights under TD learning.
        w0: f64 = "0.1" in "-1000" ..= "1000", from "fitted in ns-2; not published";
        /// Learn by temporal differences ("td") or hold the weights ("none").
        learning: Learning = "td", from "measured in ns-2";
        /// Sampling interval.
        interval: Span = "1 ms" in "1 us" ..= "100 s", from "fitted in ns-2; not published";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
    }
}

/// Smoothing time of the rate mismatch when the weights are held, s.
const RATE_SMOOTHING: f64 = 0.02;
/// Keeps the weights finite where the learning diverges.
const MAX_WEIGHT: f64 = 1e6;

/// See [`NrlParams`].
#[derive(Clone)]
pub struct Nrl {
    params: NrlParams,
    arrived_before: u64,
    weights: [f64; 2],
    state_before: [f64; 2],
    value_before: f64,
    smoothed_mismatch: f64,
    p: f64,
}

impl Nrl {
    fn learn(&mut self, n: [f64; 2]) -> f64 {
        let NrlParams { alpha, discount, theta1, theta2, .. } = self.params;
        let reward = theta1 * n[0] + theta2 * n[1];
        let delta = reward + discount * self.value(n) - self.value_before;
        for (w, before) in self.weights.iter_mut().zip(self.state_before) {
            *w = (*w + alpha * delta * before).clamp(-MAX_WEIGHT, MAX_WEIGHT);
        }
        self.state_before = n;
        self.value_before = self.value(n);
        self.value_before
    }

    /// Constant weights over the error in packets and the mismatch in packets/s.
    fn hold(&mut self, n: [f64; 2], capacity: f64) -> f64 {
        let interval = self.params.interval.seconds();
        let mismatch = n[1] * capacity / interval;
        self.smoothed_mismatch += (1.0 - libm::exp(-interval / RATE_SMOOTHING)) * (mismatch - self.smoothed_mismatch);
        n[0] + self.params.theta2 / self.params.theta1 * self.smoothed_mismatch
    }

    fn value(&self, n: [f64; 2]) -> f64 {
        self.weights[0] * n[0] + self.weights[1] * n[1]
    }
}

impl Scheme for Nrl {
    const INFO: SchemeInfo = SchemeInfo {
        name: "nrl",
        title: "NRL",
        family: "neuron",
        year: 2009,
        source: "Zhou, Di, Chen & Guo, ICCA 2009; here after Li et al. 2014, eqs. (13), (14) and section 3.5",
        confidence: "drop ratios of Li et al.'s Tables 1 to 5 met, means away from the target not",
        papers: &["li2014"],
    };
    const STANDING: Standing = Standing::Fitted(
        "the initial weights, the sampling interval and what theta1 and theta2 stand for are chosen by the tables \
         of Li et al. 2014, which does not tell them; its own paper was not at hand",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "w1", unit: "1", doc: "weight of the queue error" },
        Observable { name: "w2", unit: "1", doc: "weight of the rate mismatch" },
    ];
    type Params = NrlParams;
    const AT_START: &'static [(&'static str, &'static str)] = &[("w0", "the weights have learnt since")];

    fn new(params: NrlParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self {
            params,
            arrived_before: queue.arrived_packets,
            weights: [params.w0; 2],
            state_before: [0.0; 2],
            value_before: 0.0,
            smoothed_mismatch: 0.0,
            p: 0.0,
        })
    }

    fn params(&mut self) -> &mut NrlParams {
        &mut self.params
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Nrl {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let arrived = (queue.arrived_packets - self.arrived_before) as f64;
        self.arrived_before = queue.arrived_packets;
        let NrlParams { interval, mean_packet, .. } = self.params;
        let capacity = interval.seconds() * queue.rate.0 / (8.0 * mean_packet.0);
        let n = [(f64::from(queue.packets) - queue.target) / self.params.theta1, arrived / capacity - 1.0];
        let value = match self.params.learning {
            Learning::Td => self.learn(n),
            Learning::None => self.hold(n, capacity),
        };
        self.p = libm::tanh(value / 2.0).max(0.0);
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.weights[0], self.weights[1]][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    #[test]
    fn two_steps_by_hand() {
        let mut nrl = Nrl::new(NrlParams::defaults(), &bench::queue(0)).unwrap();
        // 1 packet a millisecond; 3 arrived: n2 = 2. Target 50, q = 60: n1 = 1. No state before: weights stay.
        // V = 0.1*1 + 0.1*2 = 0.3; p = tanh(0.15).
        bench::tick_after(&mut nrl, 60, 3);
        assert!((nrl.p - 0.148885033).abs() < 1e-9, "{}", nrl.p);
        // q = 70, 1 arrived: n = (2, 0). V = 0.2; delta = 20 + 0.98*0.2 - 0.3 = 19.896.
        // w1 = 0.1 + 0.001*19.896*1, w2 = 0.1 + 0.001*19.896*2; V = 2*w1 = 0.239792.
        bench::tick_after(&mut nrl, 70, 4);
        assert!((nrl.weights[0] - 0.119896).abs() < 1e-12);
        assert!((nrl.weights[1] - 0.139792).abs() < 1e-12);
        assert!((nrl.p - libm::tanh(0.119896)).abs() < 1e-12);
    }
}
