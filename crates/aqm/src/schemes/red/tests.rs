use super::*;
use crate::contract::bench;
use aqmlab_core::{ParamSet, Span};

/// A queue of `packets` on a link of 8 Mbit/s (1000 packets of 1000 B a second), thresholds 10 and 30.
fn red(changes: &[(&str, &str)]) -> Red {
    let mut params = RedParams::defaults();
    let pairs = [("min_th", "10 packets"), ("max_th", "30 packets"), ("q_weight", "0.5")];
    params.read("red", pairs.iter().chain(changes).copied(), &mut Vec::new());
    Red::new(params, &bench::queue(0)).unwrap()
}

#[test]
fn average_decays_by_the_packets_an_idle_link_could_have_sent() {
    let (mut red, mut rng) = (red(&[]), bench::stream());
    red.idle_since = None;
    red.avg = 16.0;
    red.on_empty(&mut Ctx { now: Time::ZERO, rng: &mut rng });
    // 2.9 ms at 1000 packets/s are 2 whole packets: 16 * 0.5^2, then one sample of 0: half of 4.
    let cx = Ctx { now: Time::ZERO + Span::from_seconds(0.0029), rng: &mut rng };
    red.update_average(&bench::queue(0), &cx);
    assert_eq!(red.avg, 2.0);
}

#[test]
fn probability_is_linear_then_gentle_then_one() {
    let mut red = red(&[]);
    let mut at = |avg| {
        red.avg = avg;
        red.probability(10.0, 30.0)
    };
    assert_eq!(at(10.0), 0.0);
    assert!((at(20.0) - 0.05).abs() < 1e-15);
    assert!((at(30.0) - 0.1).abs() < 1e-15);
    assert!((at(45.0) - 0.55).abs() < 1e-15);
    assert!((at(60.0) - 1.0).abs() < 1e-15);
    assert_eq!(at(70.0), 1.0);
}

#[test]
fn the_fresh_gentle_line_follows_the_adapted_max_p() {
    let (mut stale, mut fresh) = (red(&[]), red(&[("gentle_line", "fresh")]));
    (stale.max_p, stale.avg, fresh.max_p, fresh.avg) = (0.5, 30.0, 0.5, 30.0);
    assert!((stale.probability(10.0, 30.0) - 0.1).abs() < 1e-15);
    assert!((fresh.probability(10.0, 30.0) - 0.5).abs() < 1e-15);
}

#[test]
fn gaps_are_uniform_on_one_to_two_over_p() {
    let mut red = red(&[]);
    let mut at = |count| {
        red.count = count;
        red.spaced(0.1)
    };
    assert_eq!(at(9), 0.0);
    assert!((at(10) - 0.1).abs() < 1e-15);
    assert!((at(19) - 1.0).abs() < 1e-9);
    assert_eq!(at(20), 1.0);
}

/// Gaps of 10 to 19 and of 1 to 9 packets at p_b = 0.1; towards p_b = 0 the mean gap is `spacing` over p_b.
#[test]
fn the_share_of_signals_is_one_over_the_mean_gap() {
    for (wait, gap, spacing) in [("true", 14.5, 1.5), ("false", 5.0, 0.5)] {
        let red = red(&[("wait", wait)]);
        let share = red.share(0.1, &bench::queue(0));
        assert!((share - 1.0 / gap).abs() < 1e-12, "{share}");
        assert_eq!(red.params.spacing(), spacing);
        assert!((red.share(1e-6, &bench::queue(0)) * spacing / 1e-6 - 1.0).abs() < 1e-5);
    }
}

#[test]
fn without_wait_a_drop_may_follow_at_once() {
    let mut red = red(&[("wait", "false")]);
    red.count = 5;
    assert_eq!(red.spaced(0.1), 0.2);
    red.count = 10;
    assert_eq!(red.spaced(0.1), 1.0);
}

#[test]
fn the_first_arrival_above_min_th_is_never_dropped() {
    let (mut red, mut rng) = (red(&[("max_th", "11 packets"), ("gentle", "false")]), bench::stream());
    red.idle_since = None;
    red.avg = 100.0;
    let mut judge = |queue| {
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        red.on_enqueue(&bench::packet(), &bench::queue(queue), &mut cx)
    };
    assert_eq!(judge(100), Verdict::Pass);
    assert_eq!(judge(100), Verdict::Drop(FORCED));
    assert_eq!(judge(1), Verdict::Pass, "a queue of one is never dropped from");
}

#[test]
fn a_lost_packet_that_crosses_min_th_leaves_none_to_let_pass() {
    let (mut red, mut rng) = (red(&[("max_th", "11 packets"), ("gentle", "false")]), bench::stream());
    (red.idle_since, red.avg) = (None, 100.0);
    let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
    red.on_overflow(&bench::queue(100), &mut cx);
    assert_eq!(red.count, 0);
    // p_b = 1 and count = 1: p_a = 1 / (2 - 1), sure.
    assert_eq!(red.on_enqueue(&bench::packet(), &bench::queue(99), &mut cx), Verdict::Drop(FORCED));
}

/// avg = 20 has p_b = 0.05; the 41st arrival since the last drop is certain to be signalled.
#[test]
fn marks_below_mark_p_and_drops_from_there_on() {
    for (mark_p, expected) in
        [("1", Verdict::Signal(EARLY)), ("0.06", Verdict::Signal(EARLY)), ("0.05", Verdict::Drop(EARLY))]
    {
        let (mut red, mut rng) = (red(&[("mark_p", mark_p)]), bench::stream());
        (red.idle_since, red.avg, red.above_min_th, red.count) = (None, 20.0, true, 40);
        let mut cx = Ctx { now: Time::ZERO, rng: &mut rng };
        assert_eq!(red.on_enqueue(&bench::packet(), &bench::queue(20), &mut cx), expected);
    }
}

#[test]
fn the_weight_of_a_burst_is_that_of_tc() {
    // burst 33, min_th 20: a = 14; W = 1/8 gives 7.9, 1/16 gives 14.1.
    assert_eq!(weight_of_burst(20.0, 33.0), 1.0 / 16.0);
    assert_eq!(weight_of_burst(4.0, 4.0), 0.5, "a = 1");
    // a = 3 at burst 6: 1/2 gives 1.97, 1/4 gives 3.29.
    assert_eq!(weight_of_burst(4.0, 6.0), 0.25);
    // Where min_th is 20 and max_th 60, tc takes a burst of 100/3 packets, rounded down.
    let tc = [("flavour", "linux"), ("q_weight", "auto"), ("min_th", "20 packets"), ("max_th", "60 packets")];
    assert_eq!(red(&tc).params.weight(50.0, Rate(8e6)), 1.0 / 16.0);
}

#[test]
fn a_burst_below_min_th_is_refused_where_it_is_used() {
    let mut params = RedParams::defaults();
    let pairs = [("flavour", "linux"), ("q_weight", "auto"), ("min_th", "20 packets"), ("burst", "19 packets")];
    params.read("red", pairs, &mut Vec::new());
    assert!(Red::new(params, &bench::queue(0)).is_err_and(|why| why.contains("19 packets")));
    params.q_weight = Auto::Given(0.002);
    assert!(Red::new(params, &bench::queue(0)).is_ok());
}

/// 1000 packets of 1000 B a second: 1 - exp(-0.001) = 0.001 - 0.001^2/2 + 0.001^3/6.
#[test]
fn the_automatic_weight_of_ns2_follows_the_rate() {
    let weight = red(&[("q_weight", "auto")]).params.weight(50.0, Rate(8e6));
    assert!((weight - 0.000_999_500_166_6).abs() < 1e-13, "{weight}");
}

#[test]
fn linux_drops_every_packet_above_max_th_and_draws_between() {
    let linux = [("flavour", "linux"), ("max_th", "30 packets"), ("q_weight", "1")];
    let (mut red, mut rng) = (red(&linux), bench::stream());
    red.idle_since = None;
    let mut judge = |red: &mut Red, queue| {
        red.on_enqueue(&bench::packet(), &bench::queue(queue), &mut Ctx { now: Time::ZERO, rng: &mut rng })
    };
    assert_eq!([30, 31, 99].map(|queue| judge(&mut red, queue)), [Verdict::Signal(FORCED); 3], "even the first");
    assert_eq!(judge(&mut red, 20), Verdict::Pass, "the first between");
    // p_b = 0.05: count*p_b reaches 0.12 with the third.
    red.reach = 0.12;
    assert_eq!([20; 3].map(|queue| judge(&mut red, queue)), [Verdict::Pass, Verdict::Pass, Verdict::Signal(EARLY)]);
    assert_eq!(red.count, 0);
    assert_eq!(judge(&mut red, 9), Verdict::Pass);
    assert!(!red.is_counting);
}

/// Gaps of 1 to 10 packets at p_b = 0.1 in Linux.
#[test]
fn the_share_of_linux_is_one_over_the_mean_gap() {
    let red = red(&[("flavour", "linux")]);
    assert!((red.share(0.1, &bench::queue(0)) - 1.0 / 5.5).abs() < 1e-12);
    assert_eq!(red.params.spacing(), 0.5);
}

/// Twenty packets of 250 B are five of 1000 B: below min_th in Linux, which counts bytes, and above it in ns-2.
#[test]
fn linux_counts_bytes() {
    let queue = QueueView { bytes: 5000, ..bench::queue(20) };
    let average = |flavour| {
        let (mut red, mut rng) = (red(&[("flavour", flavour), ("q_weight", "1")]), bench::stream());
        red.idle_since = None;
        red.update_average(&queue, &Ctx { now: Time::ZERO, rng: &mut rng });
        red.avg
    };
    assert_eq!(["linux", "ns2"].map(average), [5.0, 20.0]);
}

/// A second without a packet, of which a thousand could have been sent: only the next arrival moves the average.
#[test]
fn in_linux_the_average_rests_while_the_link_idles() {
    let (mut red, mut rng) = (red(&[("flavour", "linux")]), bench::stream());
    red.idle_since = None;
    red.avg = 16.0;
    red.on_empty(&mut Ctx { now: Time::ZERO, rng: &mut rng });
    red.update_average(&bench::queue(0), &Ctx { now: Time::ZERO + Span::from_seconds(1.0), rng: &mut rng });
    assert_eq!(red.avg, 8.0);
}

/// A target of 333.3 packets: target/20 = 16.67, 2*target - min_th = 649.935.
#[test]
fn linux_has_whole_packets_as_thresholds() {
    let auto = |flavour| red(&[("flavour", flavour), ("min_th", "auto"), ("max_th", "auto")]).params.thresholds(333.3);
    assert_eq!(auto("linux"), (17.0, 650.0));
    let (min_th, max_th) = auto("ns2");
    assert!((min_th - 16.665).abs() < 1e-9 && (max_th - 649.935).abs() < 1e-9, "{min_th}, {max_th}");
}

#[test]
fn linux_has_a_limit_in_bytes() {
    let limit = |flavour| red(&[("flavour", flavour)]).limit(Limit::Packets(40), 250.0);
    assert_eq!(["linux", "ns2"].map(limit), [Limit::Bytes(10_000), Limit::Packets(40)]);
}
