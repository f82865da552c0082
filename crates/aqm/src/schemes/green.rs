use crate::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Standing, Verdict};
use aqmlab_core::{Ratio, Span, params};

params! {
    /// GREEN (Wydrowski & Zukerman): the drop probability rises while the rate is above a target, else it falls.
    ///
    /// ## Idea
    /// A rate kept just below the capacity leaves the queue short; the queue itself need not be looked at.
    ///
    /// ## Equations
    /// Every `interval` T, with b bits accepted in it and C the link's rate:
    ///
    /// ```text
    /// x = exp(-T/rate_time) * x + (1 - exp(-T/rate_time)) * b/T
    /// f = x/C - utilisation
    /// p = clamp(p + gain * sign(f) * max(|f|, min_step), 0, 1)          sign(0) = 1
    /// ```
    ///
    /// An arriving packet is dropped with probability p.
    ///
    /// ## What to expect
    /// Many flows keep a short queue and a link that is busy for `utilisation` of the time. Few flows need a loss that
    /// is small against the steps of p: 20 flows leave 15 % of 45 Mbit/s unused. A smaller gain serves them better and
    /// answers a start of many too late. The link's target is not used.
    ///
    /// ## Readings
    /// The paper's text was not available: the algorithm is recalled without its constants, and f as a share of the
    /// capacity is this project's. x is the rate of accepted packets, marked ones included. If the dropped ones counted
    /// too, p would have to bring down the offered load to the target, and the link would idle in proportion to the
    /// loss.
    ///
    /// ## Departures
    /// The paper averages at each packet, with the same time constant. Here the packets of an interval are one sample:
    /// p looks at x only then, and x falls when nothing arrives.
    ///
    /// The GREEN of Feng, Kapadia & Thulasidasan (GLOBECOM 2002), which knows flows and their round-trip times, is
    /// another scheme.
    pub struct GreenParams for Green {
        /// Target utilization.
        utilisation: Ratio = "0.97" in "0" ..= "1", from "Wydrowski & Zukerman 2002 (recalled)";
        /// Time between changes of p.
        interval: Span = "10 ms" in "1 us" ..= "100 s", from "reconstruction";
        /// Time constant of the average rate.
        rate_time: Span = "100 ms" in "1 us" ..= "1000 s", from "reconstruction";
        /// Change of p for each unit of f.
        gain: f64 = "0.02" in "0" ..= "1000", from "reconstruction: 0.01 to 0.03 keep 500 flows on 45 Mbit/s at 97 %";
        /// Minimum |f| that changes p.
        min_step: Ratio = "0.01" in "0" ..= "1", from "reconstruction";
    }
}

/// See [`GreenParams`].
#[derive(Clone)]
pub struct Green {
    params: GreenParams,
    /// Bytes accepted in this interval.
    accepted: u64,
    /// Average rate as a share of the capacity.
    load: f64,
    p: f64,
}

impl Scheme for Green {
    const INFO: SchemeInfo = SchemeInfo {
        name: "green",
        title: "GREEN",
        family: "load-based",
        year: 2002,
        source: "Wydrowski & Zukerman, \"GREEN: an active queue management algorithm for a self managed Internet\", \
                 ICC 2002",
        confidence: "the algorithm below by hand-computed steps",
        papers: &[],
    };
    const STANDING: Standing = Standing::Reconstructed(
        "the algorithm and the utilization are recalled, the other constants are this project's; the paper was not available",
    );
    const OBSERVABLES: &'static [Observable] =
        &[P, Observable { name: "load", unit: "1", doc: "average rate of accepted packets over the link's rate" }];

    fn new(params: GreenParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, accepted: 0, load: 0.0, p: 0.0 })
    }

    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for Green {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let GreenParams { utilisation, interval, rate_time, gain, min_step } = self.params;
        let interval = interval.seconds();
        let memory = libm::exp(-interval / rate_time.seconds());
        let capacity = queue.rate.0 / 8.0 * interval;
        self.load += (1.0 - memory) * (self.accepted as f64 / capacity - self.load);
        self.accepted = 0;
        let f = self.load - utilisation.0;
        self.p = (self.p + gain * f.abs().max(min_step.0).copysign(f)).clamp(0.0, 1.0);
    }

    fn on_enqueue(&mut self, packet: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        let drawn = cx.chance(self.p);
        if !drawn || packet.can_mark {
            self.accepted += u64::from(packet.size);
        }
        if drawn { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.load][i]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::{ParamSet, Time};

    fn green() -> Green {
        Green::new(GreenParams::defaults(), &bench::queue(0)).unwrap()
    }

    /// 10 packets of 1000 B fill an interval of 10 ms; its weight here is a half.
    #[test]
    fn load_and_p_by_hand() {
        let mut green = green();
        green.params.rate_time = Span::from_seconds(0.01 / std::f64::consts::LN_2);
        let mut after = |packets: u64| {
            green.accepted = 1000 * packets;
            bench::tick(&mut green, 0);
            (green.load, green.p)
        };
        let (load, p) = after(18);
        assert!((load - 0.9).abs() < 1e-9 && p == 0.0, "below the target p stays 0: {load} {p}");
        // 0.45 + 1.05 = 1.5: 0.02*(1.5 - 0.97) = 0.0106.
        let (load, p) = after(21);
        assert!((load - 1.5).abs() < 1e-9 && (p - 0.0106).abs() < 1e-9, "{load} {p}");
        // 0.75 + 0.2 = 0.95: - 0.02*0.02.
        let (load, p) = after(4);
        assert!((load - 0.95).abs() < 1e-9, "{load}");
        assert!((p - 0.0102).abs() < 1e-9, "{p}");
        assert_eq!(green.accepted, 0, "a new interval begins");
    }

    #[test]
    fn small_errors_take_the_least_step() {
        let mut green = green();
        green.p = 0.5;
        for (load, p) in [(0.975, 0.5002), (0.969, 0.5), (0.97, 0.5002)] {
            (green.load, green.accepted) = (load, (1e4_f64 * load).round() as u64);
            bench::tick(&mut green, 0);
            assert!((green.p - p).abs() < 1e-12, "{load}: {}", green.p);
        }
    }

    #[test]
    fn the_average_forgets_by_its_time_constant() {
        let mut green = green();
        green.load = 1.0;
        // Ten silent intervals of 10 ms are one time constant of 100 ms: 1/e.
        (0..10).for_each(|_| bench::tick(&mut green, 0));
        assert!((green.load - 0.367_879_441_171_442).abs() < 1e-12);
    }

    #[test]
    fn marked_packets_count_and_dropped_ones_do_not() {
        let (mut green, mut rng) = (green(), bench::stream());
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        green.on_enqueue(&bench::packet(), &bench::queue(0), &mut cx);
        assert_eq!(green.accepted, 1000);
        green.p = 1.0;
        assert_eq!(green.on_enqueue(&bench::packet(), &bench::queue(0), &mut cx), Verdict::Signal(EARLY));
        assert_eq!(green.accepted, 1000);
        let markable = PacketView { can_mark: true, ..bench::packet() };
        assert_eq!(green.on_enqueue(&markable, &bench::queue(0), &mut cx), Verdict::Signal(EARLY));
        assert_eq!(green.accepted, 2000);
    }
}
