//! For a scheme that has a place in the fluid, the share of signals that the fluid takes is the share that the scheme's own
//! verdicts come to.

use aqmlab_aqm::contract::bench;
use aqmlab_aqm::{AnyAqm, AnyScheme, Aqm, Ctx, PacketView, QueueView, Signal, Verdict, entries, entry};
use aqmlab_core::{Span, Stream, Time};
use aqmlab_fluid::SignalShare;

#[test]
fn a_refusal_names_the_reason_and_what_there_is() {
    let told = |name| SignalShare::of(&entry(name).unwrap()).unwrap_err();
    let why = told("codel");
    assert!(why.contains("from the sojourn time of packets") && why.contains("pi2, pid, pie"), "{why}");
    assert!(told("fq-pie").contains("has several queues"));
}

/// A scheme at a queue that neither grows nor shrinks.
struct Bench {
    scheme: AnyAqm,
    share: SignalShare,
    view: QueueView,
    rng: Stream,
    now: Time,
}

impl Bench {
    fn new(name: &str, pairs: &[(&str, &str)], waiting: u32) -> Self {
        let entry = entry(name).unwrap();
        let AnyScheme::Fifo(scheme) = entry.build(name, pairs, &bench::queue(0)).unwrap() else { panic!("{name}") };
        Self {
            scheme,
            share: SignalShare::of(&entry).unwrap(),
            view: bench::queue(waiting),
            rng: bench::stream(),
            now: Time::ZERO,
        }
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
            if packet > 250 && self.share.now(&self.scheme, &self.view) >= share {
                return;
            }
        }
    }

    /// The share of signals over 100 000 packets without a further update, and what the fluid takes for it.
    fn frozen(&mut self) -> (f64, f64) {
        let (mut signalled, mut expected) = (0.0, 0.0);
        for _ in 0..100_000 {
            signalled += f64::from(u8::from(self.pass()));
            expected += self.share.now(&self.scheme, &self.view);
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

/// Schemes whose p jumps from 0 to 1 here, neurons as the queue stands still, SFC as 100 000 packets arrive at one instant;
/// slower, or blind to the rate.
const SLOW: [(&str, &[(&str, &str)]); 3] =
    [("fapidnn", &[("eta", "0")]), ("neuron-pid", &[("gain", "1e-6")]), ("sfc", &[("k_r", "0")])];

#[test]
fn the_share_of_signals_is_that_of_the_verdicts() {
    for scheme in entries().iter().filter(|scheme| scheme.signal.is_ok()) {
        let name = scheme.info.name;
        let telling = check(name, &[]) || SLOW.iter().any(|(slow, pairs)| *slow == name && check(name, pairs));
        assert_eq!(telling, scheme.signal != Ok(Signal::Never), "{name} was not compared at a telling probability");
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
