//! Every scheme of the catalogue has a place in the fluid or a reason why not; where it has, the share of signals that the
//! fluid takes is the share that the scheme's own verdicts come to.

use aqmlab_aqm::contract::bench;
use aqmlab_aqm::{AnyAqm, AnyScheme, Aqm, Ctx, PacketView, QueueView, Verdict, entries, entry};
use aqmlab_core::{Span, Stream, Time};
use aqmlab_fluid::Signal;
use aqmlab_fluid::signal::{REFUSED, SUPPORTED};

#[test]
fn every_listed_scheme_is_supported_or_refused_with_a_reason() {
    for scheme in entries() {
        let name = scheme.info.name;
        let refused = REFUSED.iter().any(|(known, _)| *known == name) || name.starts_with("fq-");
        assert_ne!(SUPPORTED.contains(&name), refused, "{name}");
        let signal = Signal::of(name, &scheme.values(name, &[]).unwrap());
        assert_eq!(signal.is_err(), refused, "{name}: {signal:?}");
    }
    let known = |name: &&str| entry(name).is_ok();
    assert!(SUPPORTED.iter().all(known) && REFUSED.iter().map(|(name, _)| name).all(known));
}

#[test]
fn a_refusal_names_the_reason_and_what_there_is() {
    let why = Signal::of("codel", &Vec::new()).unwrap_err();
    assert!(why.contains("how long packets have waited") && why.contains("pi2, pid, pie"), "{why}");
    let why = Signal::of("my-own", &Vec::new()).unwrap_err();
    assert!(why.contains("is not known to show the probability"), "{why}");
}

/// A scheme at a queue that neither grows nor shrinks.
struct Bench {
    scheme: AnyAqm,
    signal: Signal,
    view: QueueView,
    rng: Stream,
    now: Time,
}

impl Bench {
    fn new(name: &str, pairs: &[(&str, &str)], waiting: u32) -> Self {
        let entry = entry(name).unwrap();
        let AnyScheme::Fifo(scheme) = entry.build(name, pairs, &bench::queue(0)).unwrap() else { panic!("{name}") };
        let signal = Signal::of(name, &entry.values(name, pairs).unwrap()).unwrap();
        Self { scheme, signal, view: bench::queue(waiting), rng: bench::stream(), now: Time::ZERO }
    }

    /// A packet that has waited for as long as the queue takes.
    fn packet(&self) -> PacketView {
        let waited = u64::from(self.view.packets) * 1_000_000_000; // 1 ms each
        PacketView { enqueued_at: Time(self.now.0.saturating_sub(waited)), ..bench::packet() }
    }

    /// A packet arrives and another leaves; whether one of them was signalled.
    fn pass(&mut self) -> bool {
        let (packet, now) = (self.packet(), self.now);
        self.view.arrived_packets += 1;
        self.view.arrived_bytes += 1000;
        let mut cx = Ctx { now, rng: &mut self.rng };
        let mut verdict = self.scheme.on_enqueue(&packet, &self.view, &mut cx);
        if self.scheme.acts_on_dequeue() {
            let at_head = self.scheme.on_dequeue(&packet, &self.view, &mut cx);
            verdict = if at_head == Verdict::Pass { verdict } else { at_head };
        }
        verdict != Verdict::Pass
    }

    /// 1250 packets a second at a link of 1000, updates on time, now and then a packet that finds no room; until the share
    /// of signals is `share`, or for 100 s.
    fn load_until(&mut self, share: f64) {
        let period = self.scheme.tick_every().unwrap_or(Span(u64::MAX));
        let mut next_tick = Time::ZERO;
        for packet in 0..125_000 {
            self.now += Span(800_000_000);
            if self.now >= next_tick {
                next_tick += period;
                let mut cx = Ctx { now: self.now, rng: &mut self.rng };
                self.scheme.on_tick(&self.view, &mut cx);
            }
            self.pass();
            if packet % 100 == 0 {
                self.scheme.on_overflow(&self.view, &mut Ctx { now: self.now, rng: &mut self.rng });
            }
            if packet > 250 && self.signal.share(&self.scheme, &self.view) >= share {
                return;
            }
        }
    }

    /// The share of signals over 100 000 packets without a further update, and what the fluid takes for it.
    fn frozen(&mut self) -> (f64, f64) {
        let (mut signalled, mut expected) = (0.0, 0.0);
        for _ in 0..100_000 {
            signalled += f64::from(u8::from(self.pass()));
            expected += self.signal.share(&self.scheme, &self.view);
        }
        (signalled / 1e5, expected / 1e5)
    }
}

/// Within four standard errors of as many independent draws; whether some state was neither silent nor certain.
fn check(name: &str, pairs: &[(&str, &str)]) -> bool {
    let mut telling = false;
    for (waiting, share) in [(52, 0.01), (60, 0.01), (80, 0.05), (90, 0.3)] {
        let mut bench = Bench::new(name, pairs, waiting);
        bench.load_until(share);
        let (signalled, expected) = bench.frozen();
        let error = 4.0 * (expected * (1.0 - expected) / 1e5).sqrt() + 1e-5;
        assert!((signalled - expected).abs() < error, "{name} {pairs:?} at {waiting}: {signalled} is not {expected}");
        telling |= (0.005..0.95).contains(&expected);
    }
    telling
}

/// Neurons whose p jumps from 0 to 1 at a queue that stands still; here they are slower.
const SLOW: [(&str, &[(&str, &str)]); 2] = [("fapidnn", &[("eta", "0")]), ("neuron-pid", &[("gain", "1e-6")])];

#[test]
fn the_share_of_signals_is_that_of_the_verdicts() {
    for name in SUPPORTED {
        let telling = check(name, &[]) || SLOW.iter().any(|(slow, pairs)| *slow == name && check(name, pairs));
        assert_eq!(telling, name != "droptail", "{name} was not compared at a telling probability");
    }
}

#[test]
fn reds_spacing_and_pies_are_counted_with_either_setting() {
    for max_p in ["0.03", "0.1", "0.4"] {
        assert!(check("red", &[("wait", "false"), ("max_p", max_p)]));
        assert!(check("red", &[("wait", "true"), ("max_p", max_p)]));
        assert!(check("nlred", &[("max_p", max_p)]));
    }
    assert!(check("pie", &[("derandomize", "false")]));
}

#[test]
fn pie_is_silent_while_it_allows_a_burst_or_the_queue_is_quiet() {
    // 5 packets wait 5 ms, below half of the target of 15 ms.
    let mut quiet = Bench::new("pie", &[], 5);
    quiet.load_until(0.01);
    assert_eq!(quiet.frozen(), (0.0, 0.0));
    // The first 150 ms.
    let mut burst = Bench::new("pie", &[], 80);
    assert_eq!(burst.frozen(), (0.0, 0.0));
}
