//! The equations against closed forms, balances and the order of the method.

use aqmlab_aqm::{AnyAqm, AnyScheme, Aqm, QueueView, Signal, entry};
use aqmlab_core::Rate;
use aqmlab_fluid::host::Host;
use aqmlab_fluid::{Class, Model, SPREAD, SignalShare, SolverOptions, Trajectory, WindowModel, difference, run};

/// Packet size, bytes.
const SIZE: u32 = 1000;

fn class(count: f64, rtt: f64) -> Class {
    Class { count, rtt, size: 1.0, window: 1e6, start: 0.0, stop: f64::INFINITY }
}

/// The network of Hollot, Misra, Towsley & Gong 2001: 60 flows over 3750 packets/s, buffer 800 packets.
fn hollot(rtt: f64) -> Model {
    let classes = vec![class(60.0, rtt)];
    Model { classes, capacity: 3750.0, buffer: 800.0, ecn: true, windows: WindowModel::Classic }
}

fn over(duration: f64) -> SolverOptions {
    SolverOptions { duration, from: duration / 2.0, sample: 0.01, step: None }
}

fn view(model: &Model, target: f64) -> QueueView {
    QueueView::empty(Rate(8.0 * f64::from(SIZE) * model.capacity), target, model.buffer)
}

fn host(model: &Model, name: &str, pairs: &[(&str, &str)], target: f64) -> Host<AnyAqm> {
    let (entry, view) = (entry(name).unwrap(), view(model, target));
    let AnyScheme::Fifo(scheme) = entry.build(name, pairs, &view).unwrap() else { panic!("a single queue") };
    Host::new(scheme, SignalShare::of(&entry).unwrap(), view, SIZE, model.ecn)
}

fn flow(model: &Model, name: &str, pairs: &[(&str, &str)], options: &SolverOptions) -> Trajectory {
    run(model, host(model, name, pairs, 200.0), options).unwrap()
}

/// Signals with the same probability for ever.
struct Constant(f64);

impl Aqm for Constant {
    fn observe(&self, _: usize) -> f64 {
        self.0
    }
}

fn constant(model: &Model, p: f64, options: &SolverOptions) -> Trajectory {
    let share = SignalShare { signal: Signal::AtTail, p: 0 };
    run(model, Host::new(Constant(p), share, view(model, 200.0), SIZE, model.ecn), options).unwrap()
}

/// Hollot et al. 2001: R0 = 0.2 s + 200/3750 s, W0 = R0 C / N, and with marks p0 = 2 / W0^2.
#[test]
fn pi_rests_at_the_operating_point_of_the_closed_form() {
    let model = hollot(0.2);
    let summary = flow(&model, "pi", &[("w", "160 Hz")], &over(200.0)).summary(&model);
    let w0: f64 = (0.2 + 200.0 / 3750.0) * 3750.0 / 60.0;
    assert!((summary.queue_mean - 200.0).abs() < 0.5, "{summary:?}");
    assert!((summary.classes[0].window_mean / w0 - 1.0).abs() < 1e-3, "{summary:?}");
    assert!((summary.p_mean / (2.0 / w0.powi(2)) - 1.0).abs() < 5e-3, "{summary:?}");
    assert!(summary.oscillation.settles && summary.utilisation > 0.999, "{summary:?}");
}
/// p at rest by the formula of [`WindowModel::Refined`], W = R0 C / N = 38/3 segments at 0.2 s + 200/3750 s and 75 flows.
#[test]
fn refined_windows_rest_at_their_closed_form() {
    let model = Model { classes: vec![class(75.0, 0.2)], windows: WindowModel::Refined, ..hollot(0.2) };
    let summary = flow(&model, "pi", &[("w", "160 Hz")], &over(300.0)).summary(&model);
    let whole = 38.0 / 3.0 + 0.5;
    let p0 = 1.0 / (whole * (0.582_864 * whole + 1.0));
    assert!((summary.p_mean / p0 - 1.0).abs() < 5e-3, "{} is not {p0}", summary.p_mean);
}

/// For independent signals the mean of W^2 over the square of its mean is pi * prod((1 - 4^-k/2) / (1 - 4^-(k+1)))^2,
/// k = 0, 1, ...: with W^2 = 2 sum(4^-k E_k)/p between signals, E_k exponential, E[1/W] per packet is a q-beta integral.
#[test]
fn the_spread_of_windows_is_that_of_independent_signals() {
    let product: f64 = (0..40).map(|k| 0.25f64.powi(k)).map(|part| (1.0 - part / 2.0) / (1.0 - part / 4.0)).product();
    assert!((SPREAD / (std::f64::consts::PI * product * product) - 1.0).abs() < 1e-6);
    assert!(((2.0 / SPREAD).sqrt() - 1.3098).abs() < 1e-4, "the constant of Ott, Kemperman & Mathis");
}

#[test]
fn without_signals_a_window_grows_by_one_a_round_trip() {
    let model = Model { capacity: 1e6, ..hollot(0.25) };
    let free = constant(&model, 0.0, &over(10.0));
    for (t, w) in free.time.iter().zip(&free.windows[0]) {
        assert!((w - (1.0 + t / 0.25)).abs() < 1e-9, "{w} at {t}");
    }
    assert!(free.queue.iter().all(|q| *q == 0.0));
}

#[test]
fn a_window_grows_to_the_receivers_and_no_further() {
    let classes = vec![Class { window: 8.0, ..class(60.0, 0.25) }];
    let capped = constant(&Model { classes, ..hollot(0.25) }, 0.0, &over(10.0));
    assert_eq!(*capped.windows[0].last().unwrap(), 8.0);
    // 60 flows at 8 segments in 0.25 s need half of the link, so nothing waits: 32 a second each.
    assert!((capped.means[0][1] - 32.0).abs() < 1e-9 && *capped.queue.last().unwrap() == 0.0);
}

/// At rest 1/R = W/2 * p * W/R whatever R is: equal windows, rates as the inverse of the round trips.
#[test]
fn classes_share_by_the_inverse_of_their_round_trips() {
    let model = Model { classes: vec![class(30.0, 0.1), class(30.0, 0.3)], ..hollot(0.0) };
    let shared = flow(&model, "pi", &[("w", "160 Hz")], &over(300.0));
    let [[w1, rate1], [w2, rate2]] = shared.means[..] else { panic!("two classes") };
    assert!((w1 / w2 - 1.0).abs() < 2e-3, "{w1} {w2}");
    let delay = 200.0 / 3750.0;
    assert!((rate1 / rate2 / ((0.3 + delay) / (0.1 + delay)) - 1.0).abs() < 2e-3, "{rate1} {rate2}");
}

/// A segment of twice the size counts for two: with as many flows of either size, large ones get two thirds of the link.
#[test]
fn segments_count_by_their_size() {
    let sized = |size| Class { size, ..class(30.0, 0.2) };
    let model = Model { classes: vec![sized(2.0 / 3.0), sized(4.0 / 3.0)], ..hollot(0.2) };
    let shared = flow(&model, "pi", &[("w", "160 Hz")], &over(300.0));
    let [[_, small], [_, large]] = shared.means[..] else { panic!("two classes") };
    let (small, large) = (30.0 * small * 2.0 / 3.0, 30.0 * large * 4.0 / 3.0);
    assert!((small / 1250.0 - 1.0).abs() < 2e-3 && (large / 2500.0 - 1.0).abs() < 2e-3, "{small} {large}");
}

/// p0 goes as the square of the number of flows: 60 flows, 90 from 200 s to 400 s, 60 again.
#[test]
fn flows_come_and_go() {
    let guests = Class { start: 200.0, stop: 400.0, ..class(30.0, 0.2) };
    let model = Model { classes: vec![class(60.0, 0.2), guests], ..hollot(0.2) };
    let run = flow(&model, "pi", &[("w", "160 Hz")], &over(600.0));
    let p_at = |t: f64| run.p[run.time.iter().position(|time| *time >= t).unwrap()];
    let rest = |n: f64| 2.0 * (n / ((0.2 + 200.0 / 3750.0) * 3750.0)).powi(2);
    for (t, n) in [(199.0, 60.0), (399.0, 90.0), (599.0, 60.0)] {
        assert!((p_at(t) / rest(n) - 1.0).abs() < 0.02, "{} at {t} s is not {}", p_at(t), rest(n));
    }
    assert_eq!(run.rates[1][10_000], 0.0, "at 100 s the guests have not come");
}

#[test]
fn what_is_offered_is_dropped_lost_served_or_waits() {
    for (name, ecn) in
        [("droptail", false), ("pi", false), ("pi", true), ("red", false), ("pie", true), ("blue", false)]
    {
        let model = Model { ecn, ..hollot(0.246) };
        let run = flow(&model, name, &[], &over(60.0));
        let totals = run.totals;
        let accounted = totals.dropped + totals.lost + totals.served;
        // The last sample is at 60 s, the end of the last step less than a step later.
        let waiting = totals.offered - accounted;
        assert!((waiting - run.queue.last().unwrap()).abs() < 10.0, "{name} {ecn}: {waiting}");
        assert!((totals.time - 60.0).abs() < run.step);
    }
}

/// Drops do not join: at rest the link serves (1 - p) of what is offered, and the windows are larger than with marks.
#[test]
fn drops_leave_room_that_marks_do_not() {
    let [marks, drops] = [true, false].map(|ecn| {
        let model = Model { classes: vec![class(200.0, 0.2)], ecn, ..hollot(0.2) };
        flow(&model, "pi", &[("w", "160 Hz")], &over(300.0)).measured
    });
    assert!((marks.offered / marks.served - 1.0).abs() < 1e-3);
    let p = drops.signalled / drops.offered;
    assert!(p > 0.03 && (drops.offered * (1.0 - p) / drops.served - 1.0).abs() < 1e-3, "{p}");
}

/// 60 flows at a full buffer of 30 packets on a link of 1000/s, R = 0.02 s + 0.03 s: p = 2/W^2 is the excess
/// 1 - 1000 R/(60 W), so W^2 - W/1.2 - 2 = 0.
#[test]
fn a_full_buffer_loses_the_excess() {
    let model = Model { classes: vec![class(60.0, 0.02)], capacity: 1000.0, buffer: 30.0, ecn: false, ..hollot(0.0) };
    let summary = flow(&model, "droptail", &[], &over(60.0)).summary(&model);
    let w0 = (1.0 / 1.2 + (1.0 / 1.44 + 8.0f64).sqrt()) / 2.0;
    assert!((summary.queue_mean - 30.0).abs() < 1e-6 && (summary.full - 1.0).abs() < 1e-9, "{summary:?}");
    assert!((summary.classes[0].window_mean / w0 - 1.0).abs() < 1e-4, "{summary:?}");
    assert!((summary.p_mean / (2.0 / (w0 * w0)) - 1.0).abs() < 1e-4, "{summary:?}");
}

/// Hollot et al. 2001: over their network RED with the weight of its authors oscillates at a round trip of 0.246 s and is
/// stable at a short one; their PI is stable at both.
#[test]
fn red_oscillates_at_a_long_round_trip_and_pi_does_not() {
    let swings = |name: &str, rtt: f64| {
        let model = hollot(rtt);
        flow(&model, name, if name == "pi" { &[("w", "160 Hz")] } else { &[] }, &over(200.0))
            .summary(&model)
            .oscillation
    };
    let long = swings("red", 0.246);
    assert!(!long.settles && long.amplitude > 50.0, "{long:?}");
    assert!((long.amplitude / long.amplitude_before - 1.0).abs() < 0.01, "a limit cycle: {long:?}");
    // A delayed loop swings with a period of two to ten of its delays (0.26 s).
    assert!((0.5..2.6).contains(&long.period.unwrap()), "{long:?}");
    let short = swings("red", 0.03);
    assert!(short.settles && short.amplitude < 5.0, "{short:?}");
    assert!(swings("pi", 0.246).amplitude < 0.1);
}

/// If nothing waits, p is constant and delays are whole steps, halving the step divides the error by 2^4.
#[test]
fn the_method_is_of_fourth_order() {
    let model = Model { capacity: 1e6, ..hollot(0.25) };
    let last = |steps: f64| {
        let options = SolverOptions { step: Some(0.25 / steps), sample: 0.25, ..over(8.0) };
        *constant(&model, 0.02, &options).windows[0].last().unwrap()
    };
    let [a, b, c] = [4.0, 8.0, 16.0].map(last);
    let order = ((a - b) / (b - c)).abs().log2();
    assert!((3.5..4.7).contains(&order), "{order}: {a} {b} {c}");
}

/// With a queue (450 packets at rest, W = 20) signals begin and delays grow between the points of the mesh: one step of
/// first order.
#[test]
fn the_error_falls_with_the_step_where_delays_depend_on_the_queue() {
    let model = hollot(0.2);
    let at = |step: f64| constant(&model, 0.005, &SolverOptions { step: Some(step), ..over(20.0) });
    let (all, finest) = (SolverOptions { from: 0.0, ..over(20.0) }, at(1e-4));
    for step in [16e-3, 8e-3, 4e-3, 2e-3, 1e-3] {
        let error = difference(&at(step), &finest, &model, &all).queue;
        assert!(error < 2.0 * step, "{error} packets at a step of {step} s");
    }
}

#[test]
fn steps_that_cannot_be_used_are_refused() {
    let model = hollot(0.2);
    let with = |step| run(&model, host(&model, "pi", &[], 200.0), &SolverOptions { step: Some(step), ..over(100.0) });
    assert!(with(0.11).unwrap_err().to_string().contains("at most half the shortest round trip, 0.1 s"));
    assert!(with(0.0).unwrap_err().to_string().contains("not above 0"));
    assert!(with(f64::NAN).is_err());
    assert!(with(1e-9).unwrap_err().to_string().contains("too many"));
    // The scheme's update falls on a step: 160 Hz is 6.25 ms, here in 7 steps.
    let pi = host(&model, "pi", &[("w", "160 Hz")], 200.0);
    let run = run(&model, pi, &SolverOptions { step: Some(9e-4), ..over(1.0) }).unwrap();
    assert!((run.step - 6.25e-3 / 7.0).abs() < 1e-12);
}
