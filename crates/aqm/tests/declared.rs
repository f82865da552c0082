//! A scheme's declaration is all that there is to write: a scheme that says nothing has the defaults, one that
//! says something has that, each without another line anywhere.

use aqmlab_aqm::contract::{Outcome, bench, suite};
use aqmlab_aqm::linear::{Complex64, LinearResponse, OperatingPoint};
use aqmlab_aqm::{
    Aqm, Ctx, EARLY, Exception, LinearLaw, LinearLawOf, Observable, P, PacketView, QueueView, Scheme, SchemeEntry,
    SchemeInfo, Signal, Tc, Verdict, entry, register,
};
use aqmlab_core::{ParamHolder, Value, params};

params! {
    /// A constant probability.
    pub struct ConstantParams {
        /// The probability.
        share: f64 = "0.1" in "0" ..= "1", from "a test";
    }
}

#[derive(Clone)]
struct Constant<const SAYS: bool>(ConstantParams);

const fn info(name: &'static str) -> SchemeInfo {
    let (title, source, confidence) = ("Constant", "a test", "a test");
    SchemeInfo { name, title, family: "baseline", year: 2025, source, confidence, papers: &[] }
}

impl<const SAYS: bool> ParamHolder for Constant<SAYS> {
    type Params = ConstantParams;
    fn params(&mut self) -> &mut ConstantParams {
        &mut self.0
    }
}

impl Scheme for Constant<false> {
    const INFO: SchemeInfo = info("says-nothing");
    const OBSERVABLES: &'static [Observable] = &[];
    fn new(params: ConstantParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self(params))
    }
}

impl Scheme for Constant<true> {
    const INFO: SchemeInfo = info("says-all");
    const OBSERVABLES: &'static [Observable] = &[Observable { name: "calls", unit: "1", doc: "none" }, P];
    fn new(params: ConstantParams, _: &QueueView) -> Result<Self, String> {
        Ok(Self(params))
    }
    const SIGNAL: Result<Signal, &'static str> = Ok(Signal::AtTail);
    const LINEAR_LAW: LinearLawOf<ConstantParams> = Some(|params| Box::new(params));
    const EXCEPTIONS: &'static [Exception] =
        &[Exception { clause: aqmlab_aqm::contract::LIGHT_LOAD, why: "it signals whatever the load is" }];
    const TC: Option<Tc> = Some(Tc { kind: "netem", note: "loss" });
}

/// As if the queue answered with its gain and rested at 7 packets.
impl LinearLaw for ConstantParams {
    fn rests(&self) -> Result<(), String> {
        if self.share > 0.0 { Ok(()) } else { Err("share = 0".into()) }
    }
    fn queue(&self, _: f64, _: &aqmlab_aqm::linear::Network) -> f64 {
        7.0
    }
    fn at(&self, _: &OperatingPoint) -> Result<LinearResponse, String> {
        let share = self.share;
        Ok(LinearResponse::new(0, move |s| share / s))
    }
}

impl<const SAYS: bool> Aqm for Constant<SAYS> {
    fn on_enqueue(&mut self, _: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        if cx.chance(self.0.share) { Verdict::Signal(EARLY) } else { Verdict::Pass }
    }
    fn observe(&self, i: usize) -> f64 {
        [0.0, self.0.share][i]
    }
}

fn outcomes(scheme: &SchemeEntry) -> Vec<Outcome> {
    let make = || {
        let built = scheme.build("x", &[], &bench::queue(0)).unwrap();
        built.queue(bench::queue(0), bench::LIMIT, true, 7)
    };
    suite(make, scheme.observables, scheme.exceptions).into_iter().map(|(_, outcome)| outcome).collect()
}

#[test]
fn a_scheme_that_says_nothing_has_the_defaults() {
    register::<Constant<false>>().unwrap();
    let scheme = entry("says-nothing").unwrap();
    assert!(scheme.signal.unwrap_err().contains("does not declare"));
    assert!(scheme.law("x", &[]).unwrap().is_none() && scheme.exceptions.is_empty() && scheme.tc.is_none());
    assert_eq!(scheme.observable("p"), None);
    assert!(matches!(outcomes(&scheme)[..], [.., Outcome::Broken(_)]), "it signals at a light load");
}

#[test]
fn a_scheme_has_what_it_declares() {
    register::<Constant<true>>().unwrap();
    let scheme = entry("says-all").unwrap();
    assert_eq!(
        (scheme.signal, scheme.observable("p"), scheme.tc.unwrap().kind),
        (Ok(Signal::AtTail), Some(1), "netem")
    );
    assert_eq!(outcomes(&scheme)[4], Outcome::Excepted("it signals whatever the load is"));
    assert!(outcomes(&scheme)[..4].iter().all(|outcome| *outcome == Outcome::Kept));
    let (law, typed) = scheme.law("x", &[("share", "0.5")]).unwrap().unwrap();
    assert_eq!(typed, [("share", Value::Number(0.5))]);
    let network = aqmlab_aqm::linear::Network { rate: 8e6, packet: 1000.0, target: 50.0, buffer: 100.0, ecn: true };
    assert_eq!(law.queue(0.1, &network), 7.0);
    let linear = law.at(&OperatingPoint { network, p: 0.5, queue: 7.0 }).unwrap();
    assert_eq!((linear.feed)(Complex64::new(2.0, 0.0)), Complex64::new(0.25, 0.0));
    assert_eq!(scheme.law("x", &[("share", "0")]).err().unwrap().to_string(), "x: share = 0");
    assert_eq!(entry("fq-says-all").unwrap().signal, entry("fq-pi").unwrap().signal, "several queues");
}
