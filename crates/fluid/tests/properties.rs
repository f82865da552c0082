//! Whatever the network and the scheme: the bounds hold, all is finite, and equal inputs give equal trajectories.

use aqmlab_aqm::{AnyScheme, QueueView, entries, entry};
use aqmlab_core::Rate;
use aqmlab_fluid::host::Host;
use aqmlab_fluid::{Class, Model, SignalShare, SolverOptions, Trajectory, WindowModel, run};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn classes() -> impl Strategy<Value = Vec<Class>> {
    let times = prop_oneof![2 => Just((0.0, f64::INFINITY)), 1 => (0.0..2.0, 2.0..6.0f64)];
    let class = (1.0..200.0f64, 0.004..0.4f64, 0.5..2.0f64, 1.0..500.0f64, times);
    let class = class.prop_map(|(count, rtt, size, window, (start, stop))| Class {
        count: f64::floor(count),
        rtt,
        size,
        window,
        start,
        stop,
    });
    prop::collection::vec(class, 1..4)
}

fn model() -> impl Strategy<Value = Model> {
    (classes(), 50.0..20_000.0f64, 2u32..2000, any::<(bool, bool)>()).prop_map(|(classes, capacity, buffer, kinds)| {
        let windows = if kinds.1 { WindowModel::Classic } else { WindowModel::Refined };
        Model { classes, capacity, buffer: f64::from(buffer), ecn: kinds.0, windows }
    })
}

fn flow(model: &Model, name: &str) -> Trajectory {
    let view = QueueView::empty(Rate(8000.0 * model.capacity), model.buffer / 3.0, model.buffer);
    let entry = entry(name).unwrap();
    let AnyScheme::Fifo(scheme) = entry.build(name, &[], &view).unwrap() else { panic!("a single queue") };
    let options = SolverOptions { duration: 5.0, from: 1.0, sample: 0.003, step: None };
    run(model, Host::new(scheme, SignalShare::of(&entry).unwrap(), view, 1000, model.ecn), &options).unwrap()
}

fn supported() -> Vec<&'static str> {
    entries().iter().filter(|entry| entry.signal.is_ok()).map(|entry| entry.info.name).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn bounds_hold_and_equal_inputs_give_equal_trajectories(model in model(), name in prop::sample::select(supported())) {
        let trajectory = flow(&model, name);
        prop_assert!(trajectory.queue.iter().all(|q| (0.0..=model.buffer).contains(q)));
        prop_assert!(trajectory.p.iter().all(|p| (0.0..=1.0).contains(p)));
        prop_assert_eq!(trajectory.time.len(), 1667);
        for (class, (windows, rates)) in model.classes.iter().zip(trajectory.windows.iter().zip(&trajectory.rates)) {
            prop_assert!(windows.iter().all(|w| (1.0 - 1e-9..=class.window + 1e-9).contains(w)));
            prop_assert!(rates.iter().all(|rate| (0.0..=class.window / class.rtt * (1.0 + 1e-9)).contains(rate)));
        }
        let summary = trajectory.summary(&model);
        prop_assert!((0.0..=1.0 + 1e-9).contains(&summary.utilisation) && (0.0..=1.0).contains(&summary.p_mean));
        prop_assert!(summary.queue_std.is_finite() && summary.empty + summary.full <= 1.0 + 1e-9);
        let totals = trajectory.totals;
        let waiting = totals.offered - totals.dropped - totals.lost - totals.served;
        prop_assert!((-1e-6..=model.buffer + 1e-6).contains(&waiting), "{}", waiting);
        prop_assert_eq!(trajectory, flow(&model, name));
    }
}
