//! Step by step against hand computation.

use super::*;
use crate::cc::path::bench::{Bench, at, close};
use aqmlab_core::Span;

fn bench() -> Bench<Bbr> {
    Bench::of(Bbr::new(BbrParams {}))
}

/// A round trip of `acked` segments, of 200 in flight, with this delivery rate.
fn round(bench: &mut Bench<Bbr>, acked: u32, rate: f64) {
    bench.ack(40.0, acked, rate, Facts { flight: 200, ..Facts::default() });
}

/// At 1000 segments a second, in `ProbeBw`, with 40 segments in flight, all that the path holds.
fn cruising() -> Bench<Bbr> {
    let mut bench = bench();
    (0..4).for_each(|_| round(&mut bench, 40, 1000.0));
    assert_eq!(bench.bbr.state, State::Drain);
    bench.round(40, 80);
    assert!(matches!(bench.bbr.state, State::ProbeBw(..)));
    bench
}

#[test]
fn the_first_pace_is_that_of_the_window_and_no_round_trip_lowers_it() {
    let mut bench = bench();
    assert_eq!(bench.bbr.pacing_rate(), None);
    round(&mut bench, 1, 25.0);
    close(bench.pace(), 739.0 / 256.0 * 0.99 * 10.0 / 0.04);
    round(&mut bench, 10, 500.0);
    close(bench.pace(), 739.0 / 256.0 * 0.99 * 500.0);
}

#[test]
fn startup_ends_when_three_round_trips_bring_no_quarter_more() {
    let mut bench = bench();
    for rate in [100.0, 200.0, 400.0, 499.0, 499.0] {
        round(&mut bench, 20, rate);
        assert_eq!(bench.bbr.state, State::Startup, "{rate}");
    }
    bench.ack(40.0, 20, 499.0, Facts { flight: 120, ..Facts::default() });
    assert_eq!(bench.bbr.state, State::Drain);
    close(bench.pace(), 88.0 / 256.0 * 0.99 * 499.0);
    // ceil(499*0.04) = 20 and three quanta of two are 26, what may be in flight in the end.
    bench.ack(1.0, 20, 499.0, Facts { flight: 47, ..Facts::default() });
    assert_eq!(bench.bbr.state, State::Drain);
    bench.ack(1.0, 20, 499.0, Facts { flight: 46, ..Facts::default() });
    assert!(matches!(bench.bbr.state, State::ProbeBw(..)));
}

#[test]
fn the_window_is_twice_what_the_path_holds_with_room_for_quanta_and_aggregation() {
    let mut bench = cruising();
    (bench.bbr.ack_epoch, bench.bbr.extra_acked) = (AckEpoch::default(), ExtraAcked::default());
    bench.bbr.state = State::ProbeBw(3, at(bench.now));
    bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    // 80 + 1 that came at once + 6, even.
    assert_eq!(bench.window.cwnd, 88.0);
    bench.bbr.state = State::ProbeBw(0, at(bench.now));
    bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    assert_eq!(bench.window.cwnd, 89.0, "up to 90 by what arrives");
}

#[test]
fn each_gain_lasts_for_a_round_trip_but_a_probe_fills_the_pipe_and_draining_empties_it() {
    let mut bench = cruising();
    bench.bbr.state = State::ProbeBw(0, at(bench.now));
    let index = |bench: &Bench<Bbr>| if let State::ProbeBw(i, _) = bench.bbr.state { i } else { 9 };
    let mut step = |after: f64, flight: u32, lost: u32| {
        bench.ack(after, 1, 1000.0, Facts { flight, lost, ..Facts::default() });
        index(&bench)
    };
    // 1.25*40 = 50, three quanta and two are 58; the quantum to be sent next counts.
    assert_eq!([step(39.0, 60, 0), step(2.0, 55, 0), step(1.0, 56, 0)], [0, 0, 1]);
    assert_eq!([step(1.0, 47, 0), step(1.0, 46, 0)], [1, 2], "40 and three quanta");
    assert_eq!([step(40.0, 40, 0), step(1.0, 40, 0), step(41.0, 40, 0)], [2, 3, 4]);
    bench.bbr.state = State::ProbeBw(0, at(bench.now));
    bench.ack(41.0, 1, 1000.0, Facts { flight: 45, lost: 1, ..Facts::default() });
    assert_eq!(index(&bench), 1, "a loss ends a probe");
}

#[test]
fn what_leaves_before_the_pace_allows_the_next_segment_is_no_longer_in_the_network() {
    // Of 47 in flight at 1000 a second one is gone in 1.9 ms, and none in 0.9 ms; 46 may be there when draining ends.
    let ends = |wait: f64| {
        let mut bench = cruising();
        bench.bbr.state = State::ProbeBw(1, at(bench.now));
        let next_send = at(bench.now + 1.0 + wait);
        bench.ack(1.0, 1, 1000.0, Facts { flight: 47, next_send, ..Facts::default() });
        matches!(bench.bbr.state, State::ProbeBw(2, _))
    };
    assert_eq!([0.9, 1.9].map(ends), [false, true]);
}

#[test]
fn a_cycle_begins_anywhere_but_where_it_drains() {
    let mut seen = [0; 8];
    for seed in 0..700 {
        let mut bench = cruising();
        bench.bbr.seed(seed);
        bench.bbr.probe_bw(at(0.0));
        let State::ProbeBw(i, _) = bench.bbr.state else { panic!("{:?}", bench.bbr.state) };
        seen[i] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(i, count)| i == 1 || (60..140).contains(count)), "{seen:?}");
}

#[test]
fn after_ten_seconds_four_segments_measure_the_path_for_200_ms_and_a_round_trip() {
    let mut bench = cruising();
    bench.bbr.state = State::ProbeBw(3, at(bench.now));
    bench.bbr.min_rtt.rtt = Span::from_millis(30); // a round trip that is not seen again
    bench.ack(1.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    let cwnd = bench.window.cwnd;
    bench.ack(10_041.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    assert_eq!((bench.bbr.min_rtt.rtt, bench.window.cwnd), (Span::from_millis(40), 4.0));
    close(bench.pace(), 990.0);
    // The time runs from when four are in flight; a low rate in it is not the path's.
    bench.ack(40.0, 4, 100.0, Facts { flight: 8, ..Facts::default() });
    for after in [40.0, 40.0, 40.0, 40.0, 40.0] {
        bench.ack(after, 4, 100.0, Facts { flight: 4, ..Facts::default() });
        assert_eq!(bench.window.cwnd, 4.0);
    }
    bench.ack(1.0, 4, 100.0, Facts { flight: 4, ..Facts::default() });
    assert!(matches!(bench.bbr.state, State::ProbeBw(..)));
    assert!(bench.window.cwnd >= cwnd, "{} < {cwnd}", bench.window.cwnd);
    assert_eq!(bench.bbr.max_bw.get(), 1000.0);
}

#[test]
fn as_many_are_sent_as_arrive_in_the_first_round_trip_of_recovery_and_then_the_window_returns() {
    let mut bench = cruising();
    bench.bbr.state = State::ProbeBw(3, at(bench.now));
    bench.ack(1.0, 1, 1000.0, Facts { flight: 80, ..Facts::default() });
    let cwnd = bench.window.cwnd;
    bench.bbr.on_congestion(CongestionEvent::Loss, &bench.window);
    let fast = |flight, lost| Facts { flight, lost, recovery: Recovery::Fast, ..Facts::default() };
    let is_of_before = |sample: &mut RateSample| sample.prior_delivered = 0;
    bench.ack_but(1.0, 2, 1000.0, fast(72, 3), is_of_before);
    assert_eq!(bench.window.cwnd, 72.0, "70 in flight and 2");
    bench.ack_but(1.0, 2, 1000.0, fast(60, 1), is_of_before);
    assert_eq!(bench.window.cwnd, 71.0);
    bench.ack(1.0, 2, 1000.0, fast(60, 0));
    assert_eq!(bench.window.cwnd, 73.0, "slow start");
    bench.ack(1.0, 2, 1000.0, Facts { flight: 60, ..Facts::default() });
    assert!(bench.window.cwnd >= cwnd, "{} < {cwnd}", bench.window.cwnd);
}

#[test]
fn a_policed_flow_paces_at_the_policers_rate() {
    let mut bench = cruising();
    bench.bbr.state = State::ProbeBw(0, at(bench.now));
    (0..20).for_each(|_| bench.ack(40.0, 20, 1000.0, Facts { flight: 40, lost: 5, ..Facts::default() }));
    close(bench.pace(), 0.99 * 500.0);
}

#[test]
fn a_pause_while_the_path_is_measured_gives_the_window_back() {
    let mut bench = cruising();
    let cwnd = bench.window.cwnd;
    bench.bbr.min_rtt.rtt = Span::from_millis(30);
    bench.ack(10_041.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    bench.ack(40.0, 4, 100.0, Facts { flight: 8, ..Facts::default() });
    let mut resumed = |after: f64| {
        bench.bbr.on_resume(&mut bench.window, at(bench.now + after));
        (bench.bbr.state == State::ProbeRtt, bench.window.cwnd)
    };
    assert_eq!(resumed(200.0), (true, 4.0));
    let (measures, window) = resumed(201.0);
    assert!(!measures && window >= cwnd, "{window} < {cwnd}");
}

/// `CA_EVENT_TX_START`: Linux calls the application the limit as long as the path is measured.
#[test]
fn a_timeout_while_the_path_is_measured_gives_the_window_back() {
    let mut bench = cruising();
    let cwnd = bench.window.cwnd;
    let window = bench.window;
    bench.bbr.on_restart(&mut bench.window, false, at(bench.now));
    assert!(bench.window == window && !bench.bbr.idle_restart, "nothing limits the rate");
    bench.bbr.min_rtt.rtt = Span::from_millis(30);
    bench.ack(10_041.0, 1, 1000.0, Facts { flight: 40, ..Facts::default() });
    bench.ack(40.0, 4, 100.0, Facts { flight: 8, ..Facts::default() });
    bench.window.cwnd = 1.0; // the timeout's
    bench.bbr.on_restart(&mut bench.window, false, at(bench.now + 201.0));
    assert!(bench.bbr.state != State::ProbeRtt && bench.window.cwnd >= cwnd, "{} < {cwnd}", bench.window.cwnd);
}

#[test]
fn a_round_trip_as_long_as_the_least_does_not_renew_it() {
    let mut bench = cruising();
    let first = bench.now;
    while bench.bbr.state != State::ProbeRtt && bench.now < first + 20_000.0 {
        bench.round(40, 40);
    }
    // Ten seconds after the first sample, which was four round trips before.
    assert!((10_000.0..10_100.0).contains(&(bench.now - 40.0)), "{}", bench.now);
}
