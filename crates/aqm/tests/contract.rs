//! Every scheme of the catalogue is put to the contract; none is named, so a new one is tested by being listed.

use aqmlab_aqm::contract;
use aqmlab_aqm::contract::{EndState, LIGHT_LOAD, NumberedPacket, Outcome, Step, bench};
use aqmlab_aqm::linear::{Complex64, Network, OperatingPoint};
use aqmlab_aqm::{
    AnyQueue, Aqm, Ctx, FAMILIES, PacketView, QueueView, Reason, SchemeEntry, Signal, Tune, Verdict, entries, entry,
};
use aqmlab_core::{Rate, Span};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use std::collections::BTreeSet;

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}

/// A load between idle and five packets offered for each one taken; the contract's queue holds 100.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    (1u32..=10).prop_flat_map(|arrivals| {
        let step = prop_oneof![
            arrivals => (40u32..=9000).prop_map(Step::Arrive),
            2 => Just(Step::Depart),
            1 => (0u64..=20_000_000_000).prop_map(|ps| Step::Wait(Span(ps))),
        ];
        prop::collection::vec(step, 0..800)
    })
}

/// An empty queue under a scheme with its defaults.
fn queue(scheme: &SchemeEntry) -> AnyQueue<NumberedPacket> {
    queue_with(scheme, &[])
}

fn queue_with(scheme: &SchemeEntry, params: &[(&str, &str)]) -> AnyQueue<NumberedPacket> {
    let built = scheme.build(scheme.info.name, params, &bench::queue(0)).expect("defaults and choices build");
    built.queue(bench::queue(0), bench::LIMIT, true, 7)
}

/// Choices that need another parameter: scheme, parameter and word, then the other and its word.
const COMPANIONS: [[&str; 5]; 1] = [["npd-red", "gains", "self-tuning", "base", "integral"]];

/// The parameters that make a choice legal.
fn chosen<'a>(scheme: &SchemeEntry, name: &'a str, word: &'a str) -> Vec<(&'a str, &'a str)> {
    let others = COMPANIONS.iter().filter(|all| all[..3] == [scheme.info.name, name, word]);
    others.map(|all| (all[3], all[4])).chain([(name, word)]).collect()
}

fn spares_light_load(scheme: &SchemeEntry) -> bool {
    scheme.exceptions.iter().all(|exception| exception.clause != LIGHT_LOAD)
}

/// Every listed scheme, and one that is not: flow queueing with RED.
fn schemes() -> Vec<SchemeEntry> {
    entries().into_iter().chain([entry("fq-red").unwrap()]).collect()
}

fn check(scheme: &SchemeEntry, steps: &[Step], ect: bool, seed: u64) -> Result<EndState, String> {
    contract::check_queue(queue(scheme), scheme.observables, steps, ect, seed)
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn every_scheme_keeps_the_contract_and_equal_inputs_give_equal_ends(steps in steps(), ect: bool, seed: u64) {
        for scheme in schemes() {
            let end = check(&scheme, &steps, ect, seed);
            prop_assert!(end.is_ok(), "{}: {:?}", scheme.info.name, end);
            prop_assert_eq!(end, check(&scheme, &steps, ect, seed), "{}", scheme.info.name);
        }
    }

    /// At most half the link's rate, in bursts of up to 7 packets where 100 may wait and 50 are aimed at. (The 8th
    /// would wait 7 ms, which starts COBALT's schedule; a second such burst when its signal is due costs a packet.)
    #[test]
    fn a_light_load_is_never_signalled(
        bursts in prop::collection::vec((1usize..=7, 1usize..=30), 1..60),
        seed: u64,
    ) {
        let arrive = |packets| std::iter::repeat_n(Step::Arrive(1000), packets);
        let take = |ms| [Step::Depart, Step::Wait(Span(1_000_000_000))].into_iter().cycle().take(2 * ms);
        let steps: Vec<Step> =
            bursts.iter().flat_map(|(packets, gap)| arrive(*packets).chain(take(packets + gap.max(packets)))).collect();
        for scheme in schemes().into_iter().filter(spares_light_load) {
            let end = check(&scheme, &steps, true, seed);
            prop_assert_eq!(end.map(|end| end.signalled), Ok(0), "{}", scheme.info.name);
        }
    }
}

#[test]
fn every_scheme_passes_the_public_suite() {
    for scheme in schemes() {
        for (clause, outcome) in contract::suite(|| queue(&scheme), scheme.observables, scheme.exceptions) {
            assert!(!matches!(outcome, Outcome::Broken(_)), "{}: {clause}: {outcome:?}", scheme.info.name);
        }
    }
}

/// Each word that a parameter may be, under a load that comes and goes: 4 s of 2 packets/ms offered for 1 taken, then 1 s
/// in which the queue empties.
#[test]
fn every_choice_keeps_the_contract() {
    let ms = |arrivals| {
        let arrive = std::iter::repeat_n(Step::Arrive(1000), arrivals);
        arrive.chain([Step::Depart, Step::Wait(Span::from_millis(1))])
    };
    let steps: Vec<Step> = (0..5000).flat_map(|i| ms(if i < 4000 { 2 } else { 0 })).collect();
    for scheme in schemes() {
        for (name, choice) in
            (scheme.params)().iter().flat_map(|spec| spec.choices.iter().map(|word| (spec.name, *word)))
        {
            let queue = queue_with(&scheme, &chosen(&scheme, name, choice));
            let end = contract::check_queue(queue, scheme.observables, &steps, true, 1);
            assert!(end.is_ok(), "{}:{name}={choice}: {end:?}", scheme.info.name);
        }
    }
}

/// An exception that is not needed would hide a clause.
#[test]
fn every_exception_is_a_clause_that_is_broken() {
    let mut excepted = 0;
    for scheme in schemes() {
        let clauses = contract::suite(|| queue(&scheme), scheme.observables, &[]);
        for exception in scheme.exceptions {
            let found = clauses.iter().find(|(clause, _)| *clause == exception.clause);
            assert!(matches!(found, Some((_, Outcome::Broken(_)))), "{}: {exception:?}", scheme.info.name);
            assert!(!exception.why.is_empty());
            excepted += 1;
        }
    }
    assert!(excepted > 0);
}

#[test]
fn a_scheme_with_a_signal_shows_its_probability_and_one_with_a_law_has_a_signal() {
    for scheme in schemes() {
        let name = scheme.info.name;
        let has_law = scheme.law(name, &[]).unwrap().is_some();
        match scheme.signal {
            Ok(Signal::Never) => assert!(!has_law, "{name}"),
            Ok(_) => assert_eq!(scheme.observables[scheme.observable("p").unwrap()].unit, "ratio", "{name}"),
            Err(why) => assert!(!why.is_empty() && !has_law, "{name}"),
        }
    }
}

/// At any point a law answers with numbers, and its rest and spacing are positive.
#[test]
fn every_law_is_finite() {
    let network = Network { rate: 8e6, packet: 1000.0, target: 50.0, buffer: 100.0, ecn: false };
    let mut laws = 0;
    for scheme in schemes() {
        let Some((law, typed)) = scheme.law(scheme.info.name, &[]).unwrap() else { continue };
        let names: Vec<&str> = (scheme.params)().iter().map(|spec| spec.name).collect();
        assert_eq!(typed.iter().map(|(name, _)| *name).collect::<Vec<_>>(), names);
        let queue = law.queue(0.01, &network);
        assert!(queue > 0.0 && law.spacing() > 0.0, "{}: {queue}", scheme.info.name);
        let linear = law.at(&OperatingPoint { network, p: 0.01, queue }).unwrap();
        for s in [Complex64::new(0.0, 0.1), Complex64::new(0.0, 30.0)] {
            assert!((linear.feed)(s).is_finite() && (linear.inner)(s).is_finite(), "{}", scheme.info.name);
            assert!((linear.feed)(s).norm() > 0.0, "{}", scheme.info.name);
        }
        for (name, value) in law.auto(&network) {
            assert!(names.contains(&name) && value > 0.0, "{}: {name} = {value}", scheme.info.name);
        }
        laws += 1;
    }
    assert!(laws > 0);
}

#[test]
fn an_end_tells_different_courses_apart() {
    for scheme in schemes() {
        let end = |steps: &[Step]| check(&scheme, steps, false, 1).unwrap();
        assert_ne!(end(&[Step::Arrive(1000), Step::Depart]), end(&[Step::Arrive(1000)]), "{}", scheme.info.name);
    }
}

#[test]
fn every_default_bound_and_choice_is_legal() {
    for scheme in schemes() {
        let specs = (scheme.params)();
        let defaults: Vec<(&str, &str)> = specs.iter().map(|spec| (spec.name, spec.default)).collect();
        assert_eq!(scheme.values("x", &defaults), scheme.values("x", &[]));
        for spec in &specs {
            let bounds = spec.range.iter().flat_map(|(least, greatest)| [least, greatest]);
            for text in bounds.chain(spec.choices) {
                let read = scheme.values("x", &chosen(&scheme, spec.name, text));
                assert!(read.is_ok(), "{}: {} = {text}: {}", scheme.info.name, spec.name, read.unwrap_err());
            }
        }
    }
}

#[test]
fn values_read_back_as_they_are_written() {
    for scheme in schemes() {
        let written = scheme.values("x", &[]).unwrap();
        let pairs: Vec<(&str, &str)> = written.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(scheme.values("x", &pairs).unwrap(), written);
    }
}

#[test]
fn every_scheme_builds_from_its_defaults_for_any_queue() {
    for scheme in schemes() {
        for (rate, target) in [(1.0, 1e-3), (64e3, 1.0), (1e9, 1e4), (1e13, 1e7)] {
            let built = scheme.build("x", &[], &QueueView::empty(Rate(rate), target, 3.0 * target));
            assert!(built.is_ok(), "{}: {}", scheme.info.name, built.err().unwrap());
        }
    }
}

#[test]
fn every_scheme_is_documented() {
    for SchemeEntry { info, page, observables, params, .. } in schemes() {
        let name = info.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        assert!([info.title, info.source, info.confidence].iter().all(|text| !text.is_empty()), "{name}");
        assert!(FAMILIES.contains(&info.family), "{name}: family {:?} is none of {FAMILIES:?}", info.family);
        assert!((1980..=2030).contains(&info.year), "{name}: {}", info.year);
        assert!(page.contains("## Idea"), "the page of {name} has no \"## Idea\"");
        for spec in params() {
            let told = [spec.name, spec.doc, spec.unit, spec.default, spec.source];
            assert!(told.iter().all(|text| !text.trim().is_empty()), "{name}: something is not told: {spec:?}");
        }
        let shown: Vec<&str> = observables.iter().map(|shown| shown.name).chain(["time", "queue"]).collect();
        assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), shown.len(), "{name}: columns {shown:?}");
        assert!(observables.iter().all(|shown| !shown.doc.is_empty() && !shown.unit.is_empty()), "{name}");
    }
}

#[test]
fn names_are_unique() {
    let unique = |names: &[&str]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    assert!(unique(&schemes().iter().map(|scheme| scheme.info.name).collect::<Vec<_>>()));
    for scheme in schemes() {
        let names: Vec<&str> = (scheme.params)().iter().map(|spec| spec.name).collect();
        assert!(unique(&names), "{}: {names:?}", scheme.info.name);
    }
}

#[test]
fn unknown_parameters_are_refused_with_their_path() {
    for scheme in schemes() {
        let expected = "links.x.no_such_thing: unknown parameter \"no_such_thing\";";
        let pairs = [("no_such_thing", "1")];
        let refused = scheme.values("links.x", &pairs).unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
        let refused = scheme.build("links.x", &pairs, &bench::queue(0));
        assert!(refused.err().unwrap().to_string().starts_with(expected));
    }
}

#[test]
fn text_that_is_no_value_is_refused_for_every_parameter() {
    for scheme in schemes() {
        for spec in (scheme.params)() {
            for text in ["", "x", "1e999", "nan", "-1e300", "10 parsec", "\u{0}"] {
                let refused = scheme.values("x", &[(spec.name, text)]);
                assert!(refused.is_err(), "{}: {} = {text:?}", scheme.info.name, spec.name);
            }
        }
    }
}

#[test]
fn a_misspelt_scheme_is_refused_with_the_nearest_name() {
    for scheme in entries() {
        let name = scheme.info.name;
        let refused = entry(&format!("{name}x")).err().unwrap();
        assert!(refused.starts_with(&format!("unknown scheme \"{name}x\"; did you mean \"{name}\"?")), "{refused}");
    }
}

/// Breaks one clause of the contract at a time.
struct Broken(&'static str);

impl Tune for Broken {}

impl Aqm for Broken {
    fn on_dequeue(&mut self, _: &PacketView, _: &QueueView, _: &mut Ctx) -> Verdict {
        if self.0 == "departure" { Verdict::Drop(Reason::new(&"broken")) } else { Verdict::Pass }
    }
    fn observe(&self, _: usize) -> f64 {
        match self.0 {
            "probability" => 1.5,
            "finite" => f64::NAN,
            _ => 0.5,
        }
    }
}

#[test]
fn a_scheme_that_breaks_the_contract_is_told_which_clause() {
    let steps = [Step::Arrive(1000), Step::Depart];
    let told = |clause| contract::check(Broken(clause), &[aqmlab_aqm::P], &steps, false, 1);
    assert!(told("nothing").is_ok());
    assert_eq!(told("probability").unwrap_err(), "p = 1.5 is not in 0 ..= 1");
    assert_eq!(told("finite").unwrap_err(), "p is NaN");
    assert!(told("departure").unwrap_err().contains("does not act on departures"));
}
