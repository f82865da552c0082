use crate::linear::{LinearResponse, OperatingPoint, delay, needs};
use crate::{
    Aqm, Ctx, EARLY, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict,
};
use aqmlab_core::{Frequency, Quantity, Span, params};

params! {
    /// PI controller: proportional and integral control of the instantaneous queue, designed for a linearised TCP.
    ///
    /// ## Idea
    /// The integral term removes RED's dependence of the queue on the load: at rest the queue is the target.
    ///
    /// ## Equations
    /// Every 1/w seconds, e = q - target:
    ///
    /// ```text
    /// p = clamp(p + a*e - b*e_old, 0, 1);   e_old = e
    /// ```
    ///
    /// An arriving packet is dropped with probability p. In the papers' letters K_p = b and K_I*T = a - b.
    ///
    /// ## What to expect
    /// The default gains were designed for 3,750 packets/s and 60 flows. On a 45 Mbit/s link with 500 flows p needs
    /// about 40 s to settle. PI's mean queue over 100 s is therefore far above the target.
    ///
    /// ## Departures
    /// None from ns-2.35 in packet mode. The target is the link's.
    pub struct PiParams for Pi {
        /// Gain on the present error.
        a: f64 = "1.822e-5" in "0" ..= "1", unit "1/packet", from "Hollot et al. 2001; ns-2";
        /// Gain on the error one sample ago.
        b: f64 = "1.816e-5" in "0" ..= "1", unit "1/packet", from "Hollot et al. 2001; ns-2";
        /// Sampling frequency.
        w: Frequency = "170 Hz" in "0.01 Hz" ..= "1000 kHz", from "ns-2; Li et al. 2014 (Jafar: 160 Hz)";
    }
}

/// See [`PiParams`].
#[derive(Clone)]
pub struct Pi {
    params: PiParams,
    p: f64,
    e_old: f64,
}

impl Scheme for Pi {
    const INFO: SchemeInfo = SchemeInfo {
        name: "pi",
        title: "PI",
        family: "control theory",
        year: 2001,
        source: "Hollot, Misra, Towsley & Gong, INFOCOM 2001; ns-2.35 queue/pi.cc",
        confidence: "exact; checked against ns-2.35 over 25 scenarios",
        papers: &["li2014", "sun2007", "jafar", "xiong2010"],
    };
    const OBSERVABLES: &'static [Observable] = &[P];

    /// ns-2 starts from a queue of 0 and an old queue of 0.
    fn new(params: PiParams, queue: &QueueView) -> Result<Self, String> {
        Ok(Self { params, p: 0.0, e_old: -queue.target })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<PiParams> = Some(|params| Box::new(params));
}

impl Aqm for Pi {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.w.period())
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let e = f64::from(queue.packets) - queue.target;
        self.p = (self.p + self.params.a * e - self.params.b * self.e_old).clamp(0.0, 1.0);
        self.e_old = e;
    }

    #[inline]
    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, _: usize) -> f64 {
        self.p
    }
}

/// (a - b z)/(1 - z), held.
impl LinearLaw for PiParams {
    fn rests(&self) -> Result<(), String> {
        needs(self.a != self.b, format_args!("a = b = {} leaves no integral part", self.a.text()))
    }

    fn at(&self, _: &OperatingPoint) -> Result<LinearResponse, String> {
        let PiParams { a, b, w } = *self;
        let period = 1.0 / w.0;
        Ok(LinearResponse::new(1, move |s| (a - b * delay(s, period)) / (s * period)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    #[test]
    fn two_steps_by_hand() {
        let mut pi = Pi::new(PiParams::defaults(), &bench::queue(0)).unwrap();
        // Target 50. First e = 950 after -50: 1.822e-5*950 + 1.816e-5*50 = 0.018217.
        bench::tick(&mut pi, 1000);
        assert!((pi.p - 0.018217).abs() < 1e-12, "{}", pi.p);
        // Then e = 950 again: p grows by (1.822e-5 - 1.816e-5)*950 = 5.7e-5.
        bench::tick(&mut pi, 1000);
        assert!((pi.p - 0.018274).abs() < 1e-12, "{}", pi.p);
        // Then e = -50: 0.018274 - 1.822e-5*50 - 1.816e-5*950 = 0.000111.
        bench::tick(&mut pi, 0);
        assert!((pi.p - 0.000111).abs() < 1e-12, "{}", pi.p);
        pi.p = 1e-7;
        bench::tick(&mut pi, 0);
        assert_eq!(pi.p, 0.0, "1e-7 - 6e-8*50 is held at 0");
    }
}
