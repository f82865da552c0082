//! The retransmission timer, and the round-trip times that set it.

use super::*;
use crate::rtt::RttEstimator;

#[test]
fn only_the_first_partial_ack_restarts_newrenos_timer() {
    let mut bench = newreno(&[]).in_recovery();
    let timeout = bench.sender.deadline().since(bench.now);
    bench.now = ms(10);
    bench.ack(8);
    assert_eq!(bench.sender.deadline(), ms(10) + timeout);
    bench.now = ms(20);
    bench.ack(10);
    assert_eq!(bench.sender.deadline(), ms(10) + timeout);
}

#[test]
fn duplicates_leave_the_timer_alone_and_fast_retransmit_restarts_it() {
    let mut bench = reno(&[]).grown(6);
    let timeout = bench.sender.deadline().since(bench.now);
    bench.now = ms(10);
    bench.duplicates(2);
    assert_eq!(bench.sender.deadline(), ms(0) + timeout);
    bench.duplicates(1);
    assert_eq!(bench.sender.deadline(), ms(10) + timeout);
    bench.now = ms(20);
    bench.duplicates(5);
    assert_eq!(bench.sender.deadline(), ms(10) + timeout);
}

#[test]
fn a_timeout_goes_back_to_the_hole_with_a_window_of_one() {
    let mut bench = reno(&[]).grown(6);
    assert_eq!(bench.timeout(), [7]);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.timeouts()), ((1.0, 4.0), 1));
    assert_eq!(bench.ack(7), [8, 9], "also what the receiver may hold");
    assert_eq!(bench.sender.retransmits(), 3);
    assert_eq!(bench.ack(14), [15, 16, 17], "a jump moves on to what was never sent");
    assert_eq!(bench.sender.retransmits(), 3);
    assert_eq!(bench.cwnd_and_ssthresh(), (3.0, 4.0));
}

#[test]
fn a_jump_short_of_the_highest_segment_resends_what_follows_it() {
    let mut bench = reno(&[]).grown(6);
    bench.timeout();
    bench.ack(7);
    assert_eq!(bench.ack(10), [11, 12, 13]);
    assert_eq!(bench.sender.retransmits(), 6);
}

#[test]
fn a_timeout_in_recovery_halves_the_window_without_its_inflation() {
    let mut bench = reno(&[]).in_recovery();
    assert_eq!(bench.timeout(), [7]);
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 2.0), "half of 4, not of 4 + 3");
    assert_eq!(bench.sender.tcb.inflation, 0);
}

#[test]
fn after_a_timeout_duplicates_of_the_same_window_trigger_nothing() {
    for mut bench in [reno(&[]).grown(6), newreno(&[]).grown(6)] {
        bench.timeout(); // 14 was the highest segment sent
        bench.ack(7);
        assert_eq!(bench.duplicates(5), [vec![10], vec![11], vec![], vec![], vec![]]);
        assert_eq!(bench.ack(14), [15, 16, 17]);
        assert_eq!(bench.duplicates(4), [vec![18], vec![19], vec![], vec![]], "14 is not above 14");
        assert_eq!(bench.ack(15), [], "window 4 from 16 on, 19 is sent");
        assert_eq!(bench.duplicates(3), [vec![20], vec![21], vec![16]], "a loss of the next window");
        assert_eq!(bench.cwnd_and_ssthresh(), (2.0, 2.0));
    }
}

#[test]
fn a_careless_sender_retransmits_within_the_window_of_a_timeout() {
    let mut bench = reno(&[("careful", "false")]).grown(6);
    bench.timeout();
    bench.ack(7);
    assert_eq!(bench.duplicates(3), [[10], [11], [8]]);
}

#[test]
fn the_timeout_doubles_and_only_a_timed_segment_ends_that() {
    let mut bench = reno(&[]);
    bench.open();
    bench.now = ms(80);
    bench.ack(0);
    // 8 ticks of 10 ms: srtt 8, rttvar 4, timeout 8 + 4*4 = 24 ticks.
    assert_eq!(bench.sender.deadline(), ms(80 + 240));
    assert_eq!(bench.timeout(), [1]);
    assert_eq!(bench.sender.deadline(), ms(320 + 480));
    assert_eq!(bench.timeout(), [1]);
    assert_eq!(bench.sender.deadline(), ms(800 + 960));
    bench.now = ms(1000);
    assert_eq!(bench.ack(1), [2, 3], "2 was sent before, 3 is new and timed");
    assert_eq!(bench.sender.deadline(), ms(1000 + 960));
    bench.now = ms(1080);
    bench.ack(2);
    assert_eq!(bench.sender.deadline(), ms(1080 + 960));
    bench.ack(3);
    // 8 ticks again: rttvar 4 - 1 = 3, timeout 8 + 4*3 = 20 ticks, not doubled.
    assert_eq!(bench.sender.deadline(), ms(1080 + 200));
}

#[test]
fn a_fast_retransmit_spoils_the_sample() {
    let mut bench = reno(&[]).grown(0);
    bench.sender.tcb.rtt = RttEstimator::new(&bench.params, Span::ZERO);
    assert_eq!(bench.ack(1), [3, 4], "3 is timed");
    bench.duplicates(3);
    bench.now = ms(100);
    bench.ack(4);
    assert_eq!(bench.sender.deadline(), ms(100 + 3000), "no sample yet");
}

#[test]
fn a_lost_syn_cuts_the_initial_window_to_one() {
    for mut bench in [reno(&[]), rfc(&[])] {
        bench.open();
        assert_eq!(bench.timeout(), [0]);
        assert_eq!(bench.ack(0), [1]);
        assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 2.0));
    }
}

#[test]
fn the_timer_is_off_while_nothing_is_outstanding() {
    let mut bench = reno(&[]);
    assert_eq!(bench.sender.deadline(), Time::NEVER);
    bench.open();
    bench.sender.close();
    assert_eq!(bench.ack(0), []);
    assert_eq!(bench.sender.deadline(), Time::NEVER);
}

#[test]
fn a_second_timeout_of_a_segment_leaves_ssthresh_alone_under_rfc_5681() {
    let mut bench = rfc(&[]).grown(1);
    bench.timeout();
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 5.5));
    bench.timeout();
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 5.5));
    let mut bench = reno(&[]).grown(6);
    bench.timeout();
    bench.timeout();
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 2.0), "ns-2 halves the window of one");
}

#[test]
fn only_fast_retransmit_and_timeout_cancel_the_timing_of_a_segment() {
    let mut bench = newreno(&[]).in_recovery();
    bench.sender.tcb.rtt = RttEstimator::new(&bench.params, Span::ZERO);
    bench.now = ms(100);
    assert_eq!(bench.duplicates(4)[3], [17], "17 is new and timed");
    assert_eq!(bench.ack(8), [9, 18]);
    bench.now = ms(200);
    bench.ack(17);
    // 10 ticks: timeout 10 + 4*5 = 30 ticks.
    assert_eq!(bench.sender.deadline(), ms(200 + 300));
}

#[test]
fn the_round_trip_time_is_smoothed() {
    let mut bench = rfc(&[]);
    bench.open();
    assert_eq!(bench.sender.srtt(), None);
    bench.now = ms(80);
    bench.ack(0);
    assert_eq!(bench.sender.srtt(), Some(Span(80_000_000_000)));
}

#[test]
fn a_syn_is_given_up_after_its_retries() {
    let mut bench = rfc(&[("syn_retries", "2")]);
    bench.open();
    assert_eq!([bench.timeout(), bench.timeout()], [[0], [0]]);
    assert!(!bench.sender.has_failed());
    assert_eq!(bench.timeout(), []);
    // Sent again after 1 and 3 s, given up after 7.
    assert_eq!((bench.now, bench.sender.has_failed(), bench.sender.timeouts()), (ms(7000), true, 2));
    assert_eq!(bench.sender.deadline(), Time::NEVER);
    assert_eq!(bench.ack(0), [], "an answer that comes later opens nothing");
}

#[test]
fn linux_forgives_a_syn_that_is_lost_once() {
    for (lost, window) in [(1, 10.0), (2, 1.0)] {
        let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[]);
        bench.open();
        (0..lost).for_each(|_| drop(bench.timeout()));
        bench.now += Span::from_millis(100);
        bench.ack(0);
        assert_eq!(bench.cwnd_and_ssthresh(), (window, bench.params.window.0), "{lost} lost");
    }
}

#[test]
fn the_first_four_timeouts_of_a_syn_are_alike_in_linux() {
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("syn_retries", "3")]);
    assert_eq!(bench.open(), [0]);
    let mut times = Vec::new();
    while bench.sender.deadline() != Time::NEVER {
        times.extend(bench.timeout().iter().map(|_| bench.now.0 / Span::from_secs(1).0));
    }
    // The fifth is the first to double; 3 + 4 are sent, and then the connection is given up, at 19 s.
    assert_eq!(times, [1, 2, 3, 4, 5, 7, 11]);
    assert!(bench.sender.has_failed() && bench.now.0 / Span::from_secs(1).0 == 19);
}
