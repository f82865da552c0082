use crate::linear::{LinearResponse, Network, OperatingPoint, change, hold, lag, needs};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal,
    Standing, Verdict,
};
use aqmlab_core::{Frequency, Ratio, Span, params};

params! {
    /// PID controller: proportional, integral and derivative control, tuned from gain and phase margins.
    ///
    /// ## Idea
    /// The derivative answers a growing queue before the error has grown, so the loop may be faster than PI's at the same
    /// margins.
    ///
    /// ## Equations
    /// Every T = 1/w seconds, e = q - target:
    ///
    /// ```text
    /// I = clamp(I + k_i*T*e, 0, 1)
    /// D = D + derivative_weight * ((e - e_old)/T - D);   e_old = e
    /// p = clamp(k_p*e + I + k_d*D, 0, 1)
    /// ```
    ///
    /// An arriving packet is dropped with probability p.
    ///
    /// ## What to expect
    /// On Boudi & Loudini's links the queue takes 10 ms as published, except under light loads of 50 Mbit/s and above: the
    /// loop's gain grows with the rate, p oscillates and the mean falls to 8 and 6 ms. Gains of a third hold 10 ms there.
    ///
    /// ## Readings
    /// The paper's gains are not known here. The defaults follow Ho, Hang & Cao's rule for a gain margin of 3 and a
    /// phase margin of 60 degrees, applied to the linearised TCP of Hollot et al. for 60 flows of 246 ms on 3,750
    /// packets/s: `K = (R*C)^3/(4*N^2)`, `T_1 = R^2*C/(2*N)`, `T_2 = L = R`.
    ///
    /// ## Departures
    /// The derivative is smoothed, and the controller is positional with a limited integral. In the incremental form
    /// the lower bound on p rectifies the derivative's packet noise, and p drifts up.
    pub struct PidParams for Pid {
        /// Gain on the error.
        k_p: f64 = "8.34e-5" in "0" ..= "1", unit "1/packet", from "Ho, Hang & Cao 1995, for Hollot et al.'s example";
        /// Gain on the integral of the error.
        k_i: f64 = "3.90e-5" in "0" ..= "1", unit "1/(packet s)", from "Ho, Hang & Cao 1995, for Hollot et al.'s example";
        /// Gain on the derivative of the error.
        k_d: f64 = "1.82e-5" in "0" ..= "1", unit "s/packet", from "Ho, Hang & Cao 1995, for Hollot et al.'s example";
        /// Weight of the last sample in the smoothed derivative.
        derivative_weight: Ratio = "0.03" in "0" ..= "1", from "this project";
        /// Sampling frequency.
        w: Frequency = "160 Hz" in "0.01 Hz" ..= "1000 kHz", from "Hollot et al. 2001 (for PI)";
    }
}

/// See [`PidParams`].
#[derive(Clone)]
pub struct Pid {
    params: PidParams,
    p: f64,
    integral: f64,
    derivative: f64,
    e_old: f64,
}

impl Scheme for Pid {
    const INFO: SchemeInfo = SchemeInfo {
        name: "pid",
        title: "PID",
        family: "control theory",
        year: 2003,
        source: "Fan, Ren & Lin, Design a PID controller for active queue management, ISCC 2003",
        confidence: "the algorithm below by hand-computed steps",
        papers: &["boudi"],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the gains are designed by another paper's rule, and the form of the controller is this project's; its paper \
         was not available",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "integral", unit: "ratio", doc: "integral part of p" },
        Observable { name: "derivative", unit: "packets/s", doc: "smoothed growth of the queue" },
    ];

    fn new(params: PidParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self { params, p: 0.0, integral: 0.0, derivative: 0.0, e_old: -queue.target })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<PidParams> = Some(|params| Box::new(params));
}

impl Aqm for Pid {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.w.period())
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let PidParams { k_p, k_i, k_d, derivative_weight: Ratio(weight), w } = self.params;
        let e = f64::from(queue.packets) - queue.target;
        self.integral = (self.integral + k_i * e / w.0).clamp(0.0, 1.0);
        self.derivative += weight * ((e - self.e_old) * w.0 - self.derivative);
        self.e_old = e;
        self.p = (k_p * e + self.integral + k_d * self.derivative).clamp(0.0, 1.0);
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.integral, self.derivative][i]
    }
}

/// k_p e + k_i T/(1 - z) e + k_d (1 - z)/T e, the last one averaged; held.
impl LinearLaw for PidParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.k_i > 0.0 || self.k_p > 0.0, "k_i = k_p = 0")
    }

    fn queue(&self, p: f64, network: &Network) -> f64 {
        if self.k_i == 0.0 { network.target + p / self.k_p } else { network.target }
    }

    fn at(&self, _: &OperatingPoint) -> Result<LinearResponse, String> {
        let PidParams { k_p, k_i, k_d, derivative_weight: Ratio(weight), w } = *self;
        let period = 1.0 / w.0;
        Ok(LinearResponse::new(u32::from(k_i != 0.0), move |s| {
            let slope = lag(s, weight, period) * change(s, period) / period;
            hold(s, period) * (k_p + k_d * slope) + k_i / s
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    #[test]
    fn three_steps_by_hand() {
        let mut params = PidParams::defaults();
        let changes =
            [("k_p", "0.001"), ("k_i", "0.01"), ("k_d", "0.0001"), ("derivative_weight", "0.5"), ("w", "10 Hz")];
        params.read("pid", changes, &mut Vec::new());
        let mut pid = Pid::new(params, &bench::queue(0)).unwrap();
        // Target 50, q = 150: e = 100 after -50. I = 0.01*0.1*100 = 0.1; D = 0.5*150*10 = 750; p = 0.1 + 0.1 + 0.075.
        bench::tick(&mut pid, 150);
        assert!((pid.p - 0.275).abs() < 1e-12, "{}", pid.p);
        // q = 130: e = 80. I = 0.18; D = 750 + 0.5*(-200 - 750) = 275; p = 0.08 + 0.18 + 0.0275.
        bench::tick(&mut pid, 130);
        assert!((pid.p - 0.2875).abs() < 1e-12, "{}", pid.p);
        // q = 0: e = -50. I = 0.13; D = 275 + 0.5*(-1300 - 275) = -512.5; p = -0.05 + 0.13 - 0.05125.
        bench::tick(&mut pid, 0);
        assert!((pid.p - 0.02875).abs() < 1e-12, "{}", pid.p);
    }

    #[test]
    fn the_integral_does_not_wind_up_below_zero() {
        let mut pid = Pid::new(PidParams::defaults(), &bench::queue(0)).unwrap();
        (0..1000).for_each(|_| bench::tick(&mut pid, 0));
        assert_eq!((pid.integral, pid.p), (0.0, 0.0));
    }
}
