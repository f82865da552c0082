use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Bytes, Span, Time, params};

params! {
    /// SFC: state feedback of queue and input rate, renewed at each arrival.
    ///
    /// ## Idea
    /// Queue and input rate are the state of a congested link in a fluid model of TCP. Feeding both back places the poles of
    /// the loop, where a controller that sees the queue alone has to guess the rate from the queue's change.
    ///
    /// ## Equations
    /// At each arrival, dt s after the last one, e = q - target, C packets/s that the link sends:
    ///
    /// ```text
    /// r = r * exp(-dt/rate_time) + 1/rate_time            input rate, packets/s
    /// s = clamp(s + k_i * e * dt, 0, 1)
    /// p = clamp(s + k_q * e + k_r * (r - C), 0, 1)
    /// ```
    ///
    /// The arriving packet is dropped with probability p.
    ///
    /// ## Readings
    /// The paper was not available. According to its abstract, the model has delayed ACKs and a window that is halved,
    /// at most once in a round trip; Xiong et al. 2010 tell that the controller takes the mismatch of queue and of
    /// input rate, holds the queue at a target and renews the probability at each arrival. All else is this project's:
    /// the filter of the rate, the integral s, without which the queue would rest off the target by the loss that the
    /// load needs, and the gains.
    ///
    /// The gains place three poles at -w in the model of N flows with one ACK for two packets:
    ///
    /// ```text
    /// dr/dt = N/(2 R^2) - p r^2/(2N);  at rest r = C;  g = C^2/(2N),  d = N/(R^2 C)
    /// k_r = (3w - d)/g,  k_q = 3w^2/g,  k_i = w^3/g
    /// ```
    ///
    /// The defaults follow from w = 1/(6R) for the link of Hollot et al. 2001: N = 60 flows, C = 3,750 packets/s, R =
    /// 246 ms.
    ///
    /// ## What to expect
    /// A PI controller with feedback of the rate, as slow as the model that its gains are for. Take Table 1 of Li et
    /// al. 2014, which has 500 flows on 45 Mbit/s. A queue of 300 packets above the target raises s by 0.08 % per
    /// second. The loss that the load needs is not reached in 100 s: 788 ± 133 packets.
    pub struct SfcParams for Sfc {
        /// Gain on the queue error.
        k_q: f64 = "1.175e-5" in "0" ..= "1000", unit "1/packet", from "this project: three equal poles";
        /// Gain on the rate mismatch.
        k_r: f64 = "1.509e-5" in "0" ..= "1000", unit "s/packet", from "this project: three equal poles";
        /// Gain on the sum of queue errors.
        k_i: f64 = "2.654e-6" in "0" ..= "1000", unit "1/(packet s)", from "this project: three equal poles";
        /// Time over which the input rate is averaged.
        rate_time: Span = "50 ms" in "1 us" ..= "100 s", from "this project";
        /// Packet size that turns the link's rate into packets per second.
        mean_packet: Bytes = "1000 B" in "1 B" ..= "65535 B", from "Li et al. 2014";
    }
}

/// See [`SfcParams`].
#[derive(Clone)]
pub struct Sfc {
    params: SfcParams,
    arrived_at: Time,
    /// Input rate, packets/s.
    rate: f64,
    /// Sum of the queue errors, as a probability.
    sum: f64,
    p: f64,
}

impl Scheme for Sfc {
    const INFO: SchemeInfo = SchemeInfo {
        name: "sfc",
        title: "SFC",
        family: "control theory",
        year: 2003,
        source: "Gao & Hou, \"A state feedback control approach to stabilizing queues for ECN-enabled TCP connections\", \
                 INFOCOM 2003; here after its abstract and Xiong et al. 2010, section 5",
        confidence: "the algorithm below by hand-computed steps; the algorithm is this project's",
        papers: &[],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the paper was not available: it is known to feed back queue and input rate at each arrival; the integral, \
         the filter and the gains are this project's",
    );
    const OBSERVABLES: &'static [Observable] = &[
        P,
        Observable { name: "rate", unit: "packets/s", doc: "averaged input rate" },
        Observable { name: "sum", unit: "ratio", doc: "sum of the queue errors" },
    ];

    fn new(params: SfcParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, arrived_at: Time::ZERO, rate: 0.0, sum: 0.0, p: 0.0 })
    }

    const TARGET: Option<&'static [&'static str]> = Some(&[]);
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Sfc {
    fn on_enqueue(&mut self, _: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        let SfcParams { k_q, k_r, k_i, rate_time, mean_packet } = self.params;
        let dt = cx.now.since(self.arrived_at).seconds();
        self.arrived_at = cx.now;
        let (error, capacity) = (f64::from(queue.packets) - queue.target, queue.rate.0 / (8.0 * mean_packet.0));
        self.rate = self.rate * libm::exp(-dt / rate_time.seconds()) + 1.0 / rate_time.seconds();
        self.sum = (self.sum + k_i * error * dt).clamp(0.0, 1.0);
        self.p = (self.sum + k_q * error + k_r * (self.rate - capacity)).clamp(0.0, 1.0);
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.rate, self.sum][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Stream};

    /// Rate averaged over 1 s; k_q = 0.001 and k_r = 0.0001 a packet, k_i = 0.1.
    fn sfc() -> Sfc {
        let mut params = SfcParams::defaults();
        let given = [("k_q", "0.001"), ("k_r", "0.0001"), ("k_i", "0.1"), ("rate_time", "1 s")];
        params.read("sfc", given, &mut Vec::new());
        Sfc::new(params, &bench::queue(0)).unwrap()
    }

    fn arrive(sfc: &mut Sfc, at_ms: u64, packets: u32, rng: &mut Stream) {
        let now = Time::ZERO + Span::from_millis(at_ms);
        sfc.on_enqueue(&bench::packet(), &bench::queue(packets), &mut Ctx { now, rng });
    }

    /// Target 50, C = 1000 packets/s.
    #[test]
    fn steps_by_hand() {
        let (mut sfc, mut rng) = (sfc(), bench::stream());
        sfc.rate = 1500.0;
        // At once: r = 1501, no time to sum: 0.001*10 + 0.0001*501.
        arrive(&mut sfc, 0, 60, &mut rng);
        assert!((sfc.p - 0.0601).abs() < 1e-15);
        // 100 ms later: r = 1501*e^-0.1 + 1 = 1359.16..., s = 0.1*20*0.1 = 0.2, p = 0.2 + 0.02 + 0.035916...
        arrive(&mut sfc, 100, 70, &mut rng);
        assert!((sfc.rate - 1_359.160_9).abs() < 1e-3 && (sfc.p - 0.255_916_1).abs() < 1e-7, "{} {}", sfc.rate, sfc.p);
        // 40 packets below for 100 ms: s = 0.2 - 0.4 is held at 0, and the rate is 1231: 0 - 0.04 + 0.0231.
        arrive(&mut sfc, 200, 10, &mut rng);
        assert_eq!((sfc.sum, sfc.p), (0.0, 0.0));
    }

    /// Packets 10 ms apart: 100 a second.
    #[test]
    fn the_rate_is_that_of_the_arrivals() {
        let (mut sfc, mut rng) = (sfc(), bench::stream());
        (0..2000).for_each(|i| arrive(&mut sfc, 10 * i, 0, &mut rng));
        assert!(
            (sfc.rate - 100.5).abs() < 0.01,
            "100 and half a packet over 1 s, as it is looked at just after one: {}",
            sfc.rate
        );
    }

    /// The gains of the defaults: (s + w)^3 in the model, w = 1/(6R).
    #[test]
    fn defaults_place_three_poles() {
        let SfcParams { k_q, k_r, k_i, .. } = SfcParams::defaults();
        let (n, c, r) = (60.0, 3750.0, 0.246);
        let (g, d, w) = (c * c / (2.0 * n), n / (r * r * c), 1.0 / (6.0 * r));
        for (coefficient, of_poles) in [(d + g * k_r, 3.0 * w), (g * k_q, 3.0 * w * w), (g * k_i, w * w * w)] {
            assert!((coefficient / of_poles - 1.0).abs() < 1e-3, "{coefficient} is not {of_poles}");
        }
    }
}
