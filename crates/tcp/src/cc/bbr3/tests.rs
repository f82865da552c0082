//! Step by step against hand computation.

use super::*;
use crate::cc::path::bench::{Bench, at, close};
use aqmlab_core::ParamSet;

fn bench() -> Bench<Bbr3> {
    Bench::of(Bbr3::new(Bbr3Params::defaults()))
}

/// At 1000 segments a second, with 40 in flight, all that the path holds.
fn cruising() -> Bench<Bbr3> {
    let mut bench = bench();
    (0..4).for_each(|_| bench.round(40, 140));
    assert!(matches!(bench.bbr.state, State::Drain(_)));
    bench.round(40, 80);
    assert_eq!(bench.bbr.state, State::Cruise);
    bench
}

/// In `Up`, with 60 segments in flight.
fn probing() -> Bench<Bbr3> {
    let mut bench = cruising();
    bench.now += 3000.0;
    bench.round(40, 80);
    assert_eq!(bench.bbr.state, State::Refill);
    bench.round(40, 80);
    assert_eq!(bench.bbr.state, State::Up);
    bench
}

fn lose(bench: &mut Bench<Bbr3>, tx_in_flight: u32, lost: u32) {
    let now = at(bench.now);
    bench.bbr.on_lost(&LostSegment { tx_in_flight, lost, is_app_limited: false, delivered: bench.delivered, now });
}

#[test]
fn the_volume_that_fits_is_where_losses_reached_two_percent() {
    // 0.02*99 = 1.98: a second loss is the one too many, (1.98 - 1)/0.98 = 1 segment later; a third is too many at once.
    close(inflight_at_loss(100.0, 2.0), 100.0);
    close(inflight_at_loss(100.0, 3.0), 99.0);
    close(inflight_at_loss(201.0, 1.0), 200.0 + 4.0 / 0.98);
}

#[test]
fn paces_and_windows_follow_the_states() {
    let mut bench = cruising();
    close(bench.bbr.control.pacing_rate, 990.0);
    close(bench.bbr.control.cwnd, bench.bbr.budget(80.0 + bench.bbr.extra_acked.get()));
    for (state, pace, window) in [
        (State::Startup, 2.77, 2.0),
        (State::Drain(0), 0.5, 2.0),
        (State::Down, 0.9, 2.0),
        (State::Refill, 1.0, 2.0),
        (State::Up, 1.25, 2.25),
        (State::ProbeRtt, 1.0, 0.5),
    ] {
        bench.bbr.state = state;
        assert_eq!((bench.bbr.pacing_gain(), bench.bbr.cwnd_gain()), (pace, window), "{state:?}");
    }
}

#[test]
fn many_losses_in_a_round_trip_of_recovery_end_startup() {
    let mut bench = bench();
    let lossy = |bench: &mut Bench<Bbr3>, rate: f64, events: u32, lost: u32| {
        bench.ack(1.0, 30, rate, Facts::default());
        for _ in 0..events {
            let facts = Facts { flight: 100, lost: 1, recovery: Recovery::Fast, ..Facts::default() };
            bench.ack_but(1.0, 1, rate, facts, |sample| (sample.prior_delivered, sample.lost) = (0, lost));
        }
        let facts = Facts { flight: 100, recovery: Recovery::Fast, ..Facts::default() };
        bench.ack_but(1.0, 30, 2.0 * rate, facts, |sample| sample.lost = lost);
        bench.bbr.state
    };
    assert_eq!(lossy(&mut bench, 10.0, 5, 5), State::Startup, "five ACKs only");
    assert_eq!(lossy(&mut bench, 40.0, 6, 2), State::Startup, "2 of 100 are not more than 2 %");
    assert!(matches!(lossy(&mut bench, 160.0, 6, 3), State::Drain(_)));
    assert!(bench.bbr.long_term.inflight.is_finite());
}

#[test]
fn a_probe_that_loses_too_much_sets_the_bound_and_ends() {
    let mut bench = probing();
    lose(&mut bench, 100, 1);
    assert_eq!(bench.bbr.state, State::Up, "1 % is not too much");
    lose(&mut bench, 100, 3);
    assert_eq!((bench.bbr.state, bench.bbr.long_term.inflight), (State::Down, 99.0));
    lose(&mut bench, 50, 3);
    assert_eq!(bench.bbr.long_term.inflight, 99.0, "once per probe");
    bench.round(1, 80);
    assert!(bench.window.cwnd <= 99.0);
    bench.bbr.state = State::Cruise;
    bench.round(1, 40);
    assert_eq!((bench.bbr.state, bench.window.cwnd), (State::Cruise, 84.15));
    // Below 0.7*min(bw*min_rtt, cwnd) it does not fall.
    let mut bench = probing();
    lose(&mut bench, 10, 3);
    close(bench.bbr.long_term.inflight, 0.7 * 40.0);
}

#[test]
fn the_probe_after_one_that_lost_too_much_ends_at_the_bound_and_another_follows() {
    let mut bench = probing();
    lose(&mut bench, 100, 3);
    bench.round(40, 80); // feedback of the probe ends
    bench.now += 3000.0;
    bench.bbr.probe_rtt_min.stamp = at(bench.now);
    bench.round(40, 80);
    bench.round(40, 80);
    assert_eq!(bench.bbr.state, State::Up);
    bench.ack_but(1.0, 1, 1000.0, Facts { flight: 99, ..Facts::default() }, |sample| sample.tx_in_flight = 0);
    assert_eq!(bench.bbr.state, State::Up, "98 in flight");
    bench.ack_but(1.0, 1, 1000.0, Facts { flight: 100, ..Facts::default() }, |sample| sample.tx_in_flight = 0);
    assert_eq!(bench.bbr.state, State::Down);
    bench.round(40, 80);
    assert_eq!(bench.bbr.state, State::Refill, "no loss: at once again");
}

#[test]
fn a_full_window_raises_the_bound_by_1_2_4_segments_in_a_round_trip() {
    let mut bench = probing();
    (bench.bbr.long_term.inflight, bench.window.cwnd) = (50.0, 50.0);
    (bench.bbr.long_term.acked_per_inc, bench.bbr.long_term.rounds) = (50.0, 1);
    // 50/50 = 1; 51/(50/2) = 2, rest 1; 54/(51/4) = 4, rest 3; 60/(53/8) = 9.
    for bound in [51.0, 53.0, 57.0, 66.0] {
        let flight = bench.window.cwnd as u32;
        bench.bbr.full.restart(1000.0); // one ACK in a round trip cannot tell that the bound is in the way
        bench.ack_but(40.0, flight, 1000.0, Facts { flight, ..Facts::default() }, |sample| sample.tx_in_flight = 0);
        assert_eq!(bench.bbr.long_term.inflight, bound);
    }
}

#[test]
fn losses_between_probes_lower_rate_and_window_by_three_tenths_at_most() {
    let mut bench = cruising();
    let cwnd = bench.window.cwnd;
    lose(&mut bench, 40, 1);
    bench.ack(40.0, 20, 500.0, Facts { flight: 40, ..Facts::default() });
    // The round trip's largest rate and volume, 1000 and 40, are those of the ACK before too.
    close(bench.bbr.short_term.bw, 1000.0);
    lose(&mut bench, 40, 1);
    bench.ack(40.0, 20, 500.0, Facts { flight: 40, ..Facts::default() });
    close(bench.bbr.short_term.bw, 700.0);
    close(bench.bbr.short_term.inflight, 0.7 * 0.7 * cwnd);
    close(bench.bbr.control.pacing_rate, 0.99 * 700.0);
    bench.now += 3000.0;
    bench.round(40, 40);
    assert_eq!((bench.bbr.state, bench.bbr.short_term.bw), (State::Refill, f64::INFINITY));
}

#[test]
fn it_probes_after_two_to_three_seconds_or_as_many_round_trips_as_segments() {
    let waits: Vec<f64> = (0..200)
        .map(|seed| {
            let mut bbr = Bbr3::new(Bbr3Params::defaults());
            bbr.seed(seed);
            bbr.start_down(0, at(0.0));
            assert!(bbr.cycle.rounds <= 1);
            bbr.cycle.wait.seconds()
        })
        .collect();
    let mean = waits.iter().sum::<f64>() / 200.0;
    assert!(waits.iter().all(|wait| (2.0..3.0).contains(wait)) && (mean - 2.5).abs() < 0.1, "{mean}");
    let mut bench = cruising();
    bench.bbr.cycle.rounds = 39;
    assert!(!bench.bbr.is_time_to_probe(at(bench.now)));
    bench.bbr.cycle.rounds = 40;
    assert!(bench.bbr.is_time_to_probe(at(bench.now)), "40 segments in flight");
}

#[test]
fn after_five_seconds_half_of_the_paths_product_measures_it() {
    let mut bench = cruising();
    bench.bbr.probe_rtt_min.rtt = Span::from_millis(30);
    bench.bbr.min_rtt.rtt = Span::from_millis(30);
    let stamp = bench.bbr.probe_rtt_min.stamp;
    bench.now = stamp.since(Time::ZERO).seconds() * 1e3 + 4999.0;
    bench.bbr.cycle.stamp = at(bench.now);
    bench.ack(0.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    assert_eq!(bench.bbr.state, State::Cruise);
    bench.ack(2.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    assert_eq!(bench.bbr.state, State::ProbeRtt);
    // The least of the last ten seconds is still the old one: 0.5*1000*0.03.
    close(bench.window.cwnd, 15.0);
    bench.round(10, 20);
    (0..5).for_each(|_| bench.round(10, 20));
    assert_eq!(bench.bbr.state, State::ProbeRtt, "200 ms");
    bench.ack(1.0, 10, 100.0, Facts { flight: 20, ..Facts::default() });
    assert_eq!(bench.bbr.state, State::Cruise);
}

#[test]
fn a_minimum_that_expires_with_the_interval_fills_the_probe_unless_the_old_one_decides() {
    let probed = |probe_rtt_by_old: bool| {
        let mut bench = cruising();
        bench.bbr.params.probe_rtt_interval = Span::from_secs(10);
        bench.bbr.params.probe_rtt_by_old = probe_rtt_by_old;
        bench.bbr.probe_rtt_min.rtt = Span::from_millis(30);
        bench.bbr.min_rtt = bench.bbr.probe_rtt_min;
        bench.now = bench.bbr.min_rtt.stamp.seconds() * 1e3 + 9999.0;
        bench.bbr.cycle.stamp = at(bench.now);
        bench.ack(0.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
        assert_eq!(bench.bbr.state, State::Cruise);
        bench.ack(2.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
        assert_eq!(bench.bbr.state, State::ProbeRtt);
        bench.window.cwnd
    };
    // 0.5*1000*0.04 with the round trip of now, 0.5*1000*0.03 with the one before.
    close(probed(false), 20.0);
    close(probed(true), 15.0);
}

#[test]
fn marks_count_where_the_round_trip_is_short() {
    let marked = |ecn_max_rtt: Span| {
        let mut bench = cruising();
        bench.bbr.params.ecn_max_rtt = ecn_max_rtt;
        (bench.bbr.ecn.delivered, bench.bbr.ecn.alpha) = (0, 0.5);
        bench.ack(40.0, 40, 1000.0, Facts { flight: 80, marked: 10, ..Facts::default() });
        (bench.bbr.ecn.alpha, bench.bbr.short_term.inflight)
    };
    assert_eq!(marked(Span::from_millis(5)), (0.5, f64::INFINITY));
    let (alpha, inflight) = marked(Span::from_millis(40));
    close(alpha, 0.5 + (0.25 - 0.5) / 16.0);
    let before = cruising().window.cwnd;
    close(inflight, (1.0 - alpha / 3.0) * before);
}

#[test]
fn a_pause_while_the_path_is_measured_gives_the_window_back() {
    let mut bench = cruising();
    let cwnd = bench.window.cwnd;
    bench.bbr.probe_rtt_min.rtt = Span::from_millis(30);
    bench.ack(5001.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    bench.ack(40.0, 4, 100.0, Facts { flight: 8, ..Facts::default() });
    let mut resumed = |after: f64| {
        bench.bbr.on_resume(&mut bench.window, at(bench.now + after));
        (bench.bbr.state, bench.window.cwnd)
    };
    assert_eq!(resumed(200.0).0, State::ProbeRtt);
    let (state, window) = resumed(201.0);
    assert_eq!(state, State::Cruise);
    assert!(window >= cwnd, "{window} < {cwnd}");
}

#[test]
fn extra_acks_are_remembered_for_a_round_trip_of_startup_and_for_ten_later() {
    // 80 segments in a millisecond, of 1000 a second, then one each round trip of 40 ms.
    let rounds = |mut bench: Bench<Bbr3>, acked: u32| {
        bench.ack(1.0, acked, 1000.0, Facts { flight: 80, ..Facts::default() });
        let extra = bench.bbr.extra_acked.get();
        let lasts = |_: &u32| {
            bench.bbr.probe_rtt_min.stamp = at(bench.now);
            bench.round(1, 40);
            bench.bbr.extra_acked.get() == extra
        };
        (0..20).take_while(lasts).count()
    };
    let mut starting = bench();
    starting.round(10, 10);
    assert_eq!(rounds(starting, 20), 1);
    assert_eq!(rounds(cruising(), 80), 10);
}

#[test]
fn the_first_pace_is_that_of_the_window() {
    let mut bench = bench();
    bench.ack(40.0, 1, 25.0, Facts { flight: 10, ..Facts::default() });
    close(bench.pace(), 2.77 * 10.0 / 0.04);
}

#[test]
fn a_loss_that_turns_out_to_be_none_gives_back_the_bounds_and_the_search() {
    let mut bench = probing();
    lose(&mut bench, 100, 3);
    lose(&mut bench, 100, 4); // of the same episode: what was saved stays
    assert_eq!((bench.bbr.state, bench.bbr.long_term.inflight), (State::Down, 99.0));
    bench.ack(1.0, 1, 1000.0, Facts { flight: 60, recovery: Recovery::Fast, ..Facts::default() });
    bench.bbr.short_term = ShortTermBounds { bw: 700.0, inflight: 30.0 };
    bench.bbr.on_undo();
    bench.ack(1.0, 1, 1000.0, Facts { flight: 60, ..Facts::default() });
    assert_eq!((bench.bbr.state, bench.bbr.long_term.inflight), (State::Refill, f64::INFINITY));
    assert_eq!((bench.bbr.short_term.bw, bench.bbr.short_term.inflight), (f64::INFINITY, f64::INFINITY));
    // The round trip ends with what is sent from now on.
    bench.ack_but(1.0, 1, 1000.0, Facts { flight: 60, ..Facts::default() }, |sample| sample.prior_delivered -= 2);
    assert_eq!(bench.bbr.state, State::Refill);
    bench.round(40, 80);
    assert_eq!(bench.bbr.state, State::Up);
}

#[test]
fn what_a_loss_did_not_end_it_does_not_bring_back() {
    let mut bench = cruising();
    lose(&mut bench, 100, 3);
    bench.bbr.on_undo();
    bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    assert_eq!(bench.bbr.state, State::Cruise);
    assert!(bench.bbr.full.reached && !bench.bbr.loss_round.has_loss);
}
