//! Every scheme of the catalogue is put to the contract; none is named, so a new one is tested by being listed.

use aqmlab_aqm::contract;
use aqmlab_aqm::contract::{End, Step, bench};
use aqmlab_aqm::{AnyAqm, Aqm, CATALOGUE, Carried, Ctx, Entry, Fifo, Limit, PacketView, QueueView, Verdict, entry};
use aqmlab_core::{Rate, Span, Stream, Time};
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

const HOUR: Span = Span(3_600_000_000_000_000);

/// Packets that fill the queue, and some more.
fn burst() -> impl Iterator<Item = Step> {
    (0..150).map(|_| Step::Arrive(1000))
}

/// Puts a scheme of the catalogue, with its defaults, to `steps`.
fn check(scheme: &Entry, steps: &[Step], ect: bool, seed: u64) -> Result<End, String> {
    let built = scheme.build(scheme.info.name, &[], &bench::queue(0)).map_err(|problems| problems.to_string())?;
    contract::check(built, scheme.observables, steps, ect, seed)
}

fn put_all_to(steps: &[Step]) -> Result<(), String> {
    CATALOGUE.iter().try_for_each(|scheme| match check(scheme, steps, true, 1) {
        Ok(_) => Ok(()),
        Err(why) => Err(format!("{}: {why}", scheme.info.name)),
    })
}

proptest! {
    #![proptest_config(config(64))]

    #[test]
    fn every_scheme_keeps_the_contract_and_equal_inputs_give_equal_ends(steps in steps(), ect: bool, seed: u64) {
        for scheme in CATALOGUE {
            let end = check(scheme, &steps, ect, seed);
            prop_assert!(end.is_ok(), "{}: {:?}", scheme.info.name, end);
            prop_assert_eq!(end, check(scheme, &steps, ect, seed), "{}", scheme.info.name);
        }
    }

    /// At most half the link's rate, in bursts of up to 8 packets where 100 may wait and 50 are aimed at.
    #[test]
    fn a_light_load_is_never_signalled(
        bursts in prop::collection::vec((1u64..=8, 1u64..=30), 1..60),
        seed: u64,
    ) {
        for scheme in CATALOGUE {
            let mut queue = IdleQueue::under(scheme, seed);
            for (packets, gap) in &bursts {
                queue.burst(*packets, packets + gap.max(packets));
            }
            prop_assert_eq!(queue.signalled(), 0, "{}", scheme.info.name);
        }
    }
}

#[test]
fn an_hour_of_silence_is_harmless() {
    let before_and_after: Vec<Step> = burst().chain([Step::Depart; 150]).collect();
    let steps: Vec<Step> =
        [&before_and_after[..], &[Step::Wait(HOUR)], &before_and_after[..]].into_iter().flatten().copied().collect();
    assert_eq!(put_all_to(&steps), Ok(()));
    for scheme in CATALOGUE {
        let mut queue = IdleQueue::under(scheme, 1);
        queue.wait(HOUR);
        queue.burst(8, 8);
        assert_eq!(queue.signalled(), 0, "{}", scheme.info.name);
    }
}

#[test]
fn an_hour_at_a_full_queue_is_harmless() {
    let steps: Vec<Step> =
        burst().chain([Step::Wait(HOUR)]).chain(burst()).chain([Step::Depart; 150]).chain(burst()).collect();
    assert_eq!(put_all_to(&steps), Ok(()));
}

#[test]
fn nothing_at_all_is_harmless() {
    assert_eq!(put_all_to(&[]), Ok(()));
    assert_eq!(put_all_to(&[Step::Depart, Step::Wait(Span::ZERO), Step::Depart]), Ok(()));
}

#[test]
fn an_end_tells_different_courses_apart() {
    for scheme in CATALOGUE {
        let end = |steps: &[Step]| check(scheme, steps, false, 1).unwrap();
        assert_ne!(end(&[Step::Arrive(1000), Step::Depart]), end(&[Step::Arrive(1000)]), "{}", scheme.info.name);
    }
}

#[test]
fn every_default_bound_and_choice_is_legal() {
    for scheme in CATALOGUE {
        let specs = (scheme.params)();
        let defaults: Vec<(&str, &str)> = specs.iter().map(|spec| (spec.name, spec.default)).collect();
        assert_eq!(scheme.values("x", &defaults), scheme.values("x", &[]));
        for spec in &specs {
            let bounds = spec.range.iter().flat_map(|(least, greatest)| [least, greatest]);
            for text in bounds.chain(spec.choices) {
                let read = scheme.values("x", &[(spec.name, text)]);
                assert!(read.is_ok(), "{}: {} = {text}: {}", scheme.info.name, spec.name, read.unwrap_err());
            }
        }
    }
}

#[test]
fn values_read_back_as_they_are_written() {
    for scheme in CATALOGUE {
        let written = scheme.values("x", &[]).unwrap();
        let pairs: Vec<(&str, &str)> = written.iter().map(|(name, text)| (*name, text.as_str())).collect();
        assert_eq!(scheme.values("x", &pairs).unwrap(), written);
    }
}

#[test]
fn every_scheme_builds_from_its_defaults_for_any_queue() {
    for scheme in CATALOGUE {
        for (rate, target) in [(1.0, 1e-3), (64e3, 1.0), (1e9, 1e4), (1e13, 1e7)] {
            let built = scheme.build("x", &[], &QueueView::empty(Rate(rate), target));
            assert!(built.is_ok(), "{}: {}", scheme.info.name, built.err().unwrap());
        }
    }
}

#[test]
fn every_scheme_is_documented() {
    const FAMILIES: [&str; 5] = ["baseline", "red", "control theory", "optimisation", "neuron"];
    for Entry { info, page, observables, params, .. } in CATALOGUE {
        let name = info.name;
        assert!(name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'), "{name}");
        assert!([info.title, info.source, info.confidence].iter().all(|text| !text.is_empty()), "{name}");
        assert!(FAMILIES.contains(&info.family), "{name}: {}", info.family);
        assert!((1980..=2030).contains(&info.year), "{name}: {}", info.year);
        assert!(page.contains("## Idea"), "{name}");
        for spec in params() {
            let told = [spec.name, spec.doc, spec.unit, spec.default, spec.source];
            assert!(told.iter().all(|text| !text.trim().is_empty()), "{name}: {spec:?}");
        }
        let shown: Vec<&str> = observables.iter().map(|shown| shown.name).chain(["time", "queue"]).collect();
        assert_eq!(shown.iter().collect::<BTreeSet<_>>().len(), shown.len(), "{name}: columns {shown:?}");
        assert!(observables.iter().all(|shown| !shown.doc.is_empty() && !shown.unit.is_empty()), "{name}");
    }
}

#[test]
fn names_are_unique() {
    let unique = |names: &[&str]| names.iter().collect::<BTreeSet<_>>().len() == names.len();
    assert!(unique(&CATALOGUE.iter().map(|scheme| scheme.info.name).collect::<Vec<_>>()));
    for scheme in CATALOGUE {
        let names: Vec<&str> = (scheme.params)().iter().map(|spec| spec.name).collect();
        assert!(unique(&names), "{}: {names:?}", scheme.info.name);
    }
}

#[test]
fn unknown_parameters_are_refused_with_their_path() {
    for scheme in CATALOGUE {
        let expected = "links.x.no_such_thing: unknown parameter \"no_such_thing\";";
        let pairs = [("no_such_thing", "1")];
        let refused = scheme.values("links.x", &pairs).unwrap_err().to_string();
        assert!(refused.starts_with(expected), "{refused}");
        let refused = scheme.build("links.x", &pairs, &QueueView::empty(Rate(8e6), 50.0));
        assert!(refused.err().unwrap().to_string().starts_with(expected));
    }
}

#[test]
fn text_that_is_no_value_is_refused_for_every_parameter() {
    for scheme in CATALOGUE {
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
    for scheme in CATALOGUE {
        let name = scheme.info.name;
        let refused = entry(&format!("{name}x")).err().unwrap();
        assert!(refused.starts_with(&format!("unknown scheme \"{name}x\"; did you mean \"{name}\"?")), "{refused}");
    }
}

#[derive(Clone, Copy)]
struct Packet;

impl Carried for Packet {
    fn size(&self) -> u32 {
        1000
    }
    fn flow(&self) -> u32 {
        0
    }
    fn is_ect(&self) -> bool {
        true
    }
    fn mark(&mut self) {}
}

/// A queue on a link that takes a packet each millisecond, with room for 100 and a target of 50.
struct IdleQueue {
    fifo: Fifo<AnyAqm, Packet>,
    rng: Stream,
    now: Time,
    next_tick: Time,
}

impl IdleQueue {
    fn under(scheme: &Entry, seed: u64) -> Self {
        let view = QueueView::empty(Rate(8e6), 50.0);
        let fifo = Fifo::new(scheme.build("x", &[], &view).unwrap(), view, Limit::Packets(100), true);
        Self { fifo, rng: Stream::new(seed, "light", 0), now: Time::ZERO, next_tick: Time::ZERO }
    }

    /// `packets` arrive at once; then `ms` pass, in each of which the link asks for a packet.
    fn burst(&mut self, packets: u64, ms: u64) {
        for _ in 0..packets {
            self.fifo.enqueue(Packet, &mut Ctx { now: self.now, rng: &mut self.rng });
        }
        for _ in 0..ms {
            self.fifo.dequeue(&mut Ctx { now: self.now, rng: &mut self.rng });
            self.wait(Span(1_000_000_000));
        }
    }

    fn wait(&mut self, span: Span) {
        self.now += span;
        let Some(period) = self.fifo.scheme().tick_every() else { return };
        while self.next_tick <= self.now {
            self.fifo.tick(&mut Ctx { now: self.next_tick, rng: &mut self.rng });
            self.next_tick += period;
        }
    }

    fn signalled(&self) -> u64 {
        self.fifo.accounts().dropped + self.fifo.accounts().marked
    }
}

/// Breaks one clause of the contract at a time.
struct Broken(&'static str);

impl Aqm for Broken {
    fn on_dequeue(&mut self, _: &PacketView, _: &QueueView, _: &mut Ctx) -> Verdict {
        if self.0 == "departure" { Verdict::Drop("broken") } else { Verdict::Pass }
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
