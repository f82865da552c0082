//! A scheme of one's own, and `aqmlab` with it: the command `own-lab`.

use aqmlab_aqm::{Aqm, Ctx, EARLY, Observable, P, PacketView, QueueView, Scheme, SchemeInfo, Signal, Verdict};
use aqmlab_core::{Span, params};

params! {
    /// Square-RED: RED without the straight line: the drop probability rises with the square of the average queue.
    ///
    /// ## Idea
    /// RED's probability rises in a straight line between two thresholds. A square spares a queue just above the lower
    /// one, and still drops everything at the upper one. It is here as a template, not for its merits.
    ///
    /// ## Equations
    /// Every `interval`, with q packets waiting:
    ///
    /// ```text
    /// avg = avg + weight*(q - avg)
    /// x = (avg/target - low) / (high - low), held in 0 ..= 1;   p = x^2
    /// ```
    ///
    /// An arriving packet is dropped, or marked, with probability p.
    pub struct SquareRedParams for SquareRed {
        /// Time between two updates of the average.
        interval: Span = "10 ms" in "100 us" ..= "10 s", from "chosen: a tenth of a common round-trip time";
        /// Weight of the present queue in the average.
        weight: f64 = "0.1" in "0.001" ..= "1", unit "1", from "chosen: averages over about ten updates";
        /// Average queue below which nothing is dropped, in targets.
        low: f64 = "0.5" in "0" ..= "10", unit "targets", from "chosen";
        /// Average queue from which everything is dropped, in targets.
        high: f64 = "2" in "0" ..= "20", unit "targets", from "chosen";
    }
    check |p| if p.low < p.high { Ok(()) } else { Err("low must be below high".into()) };
}

/// See [`SquareRedParams`].
#[derive(Clone)]
pub struct SquareRed {
    params: SquareRedParams,
    /// Average queue, packets.
    average: f64,
    p: f64,
}

/// The average, beside the probability.
const AVERAGE: Observable = Observable { name: "avg", unit: "packets", doc: "average queue" };

impl Scheme for SquareRed {
    const INFO: SchemeInfo = SchemeInfo {
        name: "square-red",
        title: "Square-RED",
        family: "red",
        year: 2025,
        source: "none: the template of aqmlab",
        confidence: "two steps by hand",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] = &[P, AVERAGE];

    fn new(params: SquareRedParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self { params, average: 0.0, p: 0.0 })
    }

    /// The fluid model takes it: each arriving packet is signalled with the probability that it shows as `p`.
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
}

impl Aqm for SquareRed {
    fn tick_every(&self) -> Option<Span> {
        Some(self.params.interval)
    }

    fn on_tick(&mut self, queue: &QueueView, _: &mut Ctx) {
        let SquareRedParams { weight, low, high, .. } = self.params;
        self.average += weight * (f64::from(queue.packets) - self.average);
        let x = (self.average / queue.target - low) / (high - low);
        self.p = x.clamp(0.0, 1.0).powi(2);
    }

    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.p) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }

    fn observe(&self, i: usize) -> f64 {
        [self.p, self.average][i]
    }
}

/// Everything that `aqmlab` is made of in Rust, and the scheme: what `own_scheme` puts in the place of `aqmlab._core`.
#[cfg(feature = "python")]
#[pyo3::pymodule]
fn _native(m: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
    aqmlab_aqm::register::<SquareRed>().map_err(pyo3::exceptions::PyImportError::new_err)?;
    aqmlab_python::fill(m)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_aqm::contract::{Outcome, bench, suite};
    use aqmlab_aqm::{entry, register};
    use aqmlab_core::ParamSet;
    use aqmlab_core::params::ParamInput;

    #[test]
    fn two_steps_by_hand() {
        let mut scheme = SquareRed::new(SquareRedParams::defaults(), &bench::queue(0)).unwrap();
        // Target 50. The average goes a tenth of the way from 0 to 750: x = (75/50 - 0.5)/1.5 = 2/3.
        bench::tick(&mut scheme, 750);
        assert!((scheme.average - 75.0).abs() < 1e-9 && (scheme.p - 4.0 / 9.0).abs() < 1e-9, "{}", scheme.p);
        // Then a tenth of the way from 75 to 0: x = (67.5/50 - 0.5)/1.5 = 17/30.
        bench::tick(&mut scheme, 0);
        assert!((scheme.average - 67.5).abs() < 1e-9 && (scheme.p - 289.0 / 900.0).abs() < 1e-9, "{}", scheme.p);
    }

    #[test]
    fn keeps_the_contract_alone_and_in_flow_queueing() {
        register::<SquareRed>().unwrap();
        for name in ["square-red", "fq-square-red"] {
            let scheme = entry(name).unwrap();
            let make =
                || scheme.build(name, &[], &bench::queue(0)).unwrap().queue(bench::queue(0), bench::LIMIT, true, 7);
            for (clause, outcome) in suite(make, scheme.observables, scheme.exceptions) {
                assert_eq!(outcome, Outcome::Kept, "{name}: {clause}");
            }
        }
    }

    #[test]
    fn declared_bounds_are_legal() {
        for spec in SquareRedParams::specs() {
            let (least, greatest) = spec.range.unwrap();
            for text in [spec.default, least, greatest] {
                let set = SquareRedParams::defaults().set(spec.name, ParamInput::Text(text));
                assert_eq!(set, Some(Ok(())), "{}: {text}", spec.name);
            }
        }
    }
}
