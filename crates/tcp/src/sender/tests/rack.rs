//! RACK-TLP (RFC 8985) and PRR (RFC 9937) in the profile `linux`, under Reno's law. The SYN has taken 100 ms; 1 to 10 have been
//! sent at 100 ms, 1 ms apart, and the window is 10.

#![allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more

use super::*;
use crate::ack::Sack;
use crate::cc::{CongestionControl, Facts, LawAdapter, Needs, Window};

fn open() -> Bench {
    open_without("")
}

/// Without a part of the variant.
fn open_without(part: &str) -> Bench {
    let keys = [("clock", "1 ms"), (part, "false")];
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, if part.is_empty() { &keys[..1] } else { &keys });
    assert_eq!(bench.open(), [0]);
    bench.now = ms(100);
    assert_eq!(bench.ack(0), (1..11).collect::<Vec<_>>());
    bench
}

/// Ten segments and no more.
fn open_finite() -> Bench {
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("clock", "1 ms")]);
    bench.sender.open(Some(10), bench.now, &bench.params, &mut bench.wire);
    bench.now = ms(100);
    bench.ack(0);
    bench
}

impl Bench {
    fn sack_at(&mut self, at: u64, next: u32, blocks: &[std::ops::Range<u32>]) -> Vec<u32> {
        self.now = ms(at);
        self.sack(next, blocks)
    }

    /// Sends the segments that the pace allows until then.
    fn paced_until(&mut self, at: u64) {
        while self.sender.deadline() <= ms(at) {
            self.now = self.sender.deadline();
            self.sender.on_timer(self.now, &self.params, &mut self.wire);
        }
    }
}

#[test]
fn a_window_that_is_not_used_up_does_not_grow() {
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("clock", "1 ms")]);
    let offer = |bench: &mut Bench, segments| {
        bench.sender.offer(segments, Span::ZERO, bench.now, &bench.params, &mut bench.wire);
    };
    offer(&mut bench, 4);
    for (round, seq) in [(1, 0), (2, 4), (3, 8)] {
        bench.now = ms(100 * round);
        bench.ack(seq);
        assert_eq!(bench.sender.cwnd(), 10.0, "four of ten segments in round {round}");
        if seq > 0 {
            offer(&mut bench, 4);
        }
    }
    offer(&mut bench, 40);
    bench.now = ms(400);
    bench.ack(18);
    assert_eq!(bench.sender.cwnd(), 20.0, "ten of ten");
}

#[test]
fn a_sender_that_is_rate_limited_grows_as_in_the_example_of_its_draft() {
    // draft-ietf-ccwg-ratelimited-increase-11, appendix A: rounds of 4, 8, 4 and 20 segments, an ACK for each two; the window
    // after each ACK.
    let keys = [("clock", "1 ms"), ("rate_limited_increase", "true")];
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &keys);
    bench.sender.offer(4, Span::ZERO, bench.now, &bench.params, &mut bench.wire);
    bench.now = ms(100);
    bench.ack(0);
    let mut windows = Vec::new();
    let mut acked = 1;
    for (round, segments) in [(2, 4), (3, 8), (4, 4), (5, 20)] {
        if round > 2 {
            bench.sender.offer(segments, Span::ZERO, bench.now, &bench.params, &mut bench.wire);
        }
        bench.now = ms(100 * round);
        for _ in 0..segments / 2 {
            acked += 2;
            bench.ack(acked - 1);
            windows.push(bench.sender.cwnd());
        }
    }
    assert_eq!(windows[..2], [12.0, 14.0]);
    assert_eq!(windows[2..6], [16.0, 18.0, 20.0, 20.0]);
    assert_eq!(windows[6..8], [20.0, 20.0]);
    assert_eq!(windows[8..], [22.0, 24.0, 26.0, 28.0, 30.0, 32.0, 34.0, 36.0, 38.0, 40.0]);
}

#[test]
fn the_window_grows_by_the_segments_that_an_ack_acknowledges() {
    let mut bench = open();
    bench.now = ms(200);
    assert_eq!(bench.ack(2), [11, 12, 13, 14], "two arrived, slow start");
    assert_eq!(bench.sender.cwnd(), 12.0);
}

/// 1 to 10 are out.
#[test]
fn a_sender_of_linux_stays_within_the_window_that_acks_offer() {
    let mut bench = open();
    bench.now = ms(200);
    let ack = |next, window| Ack { next, rwnd: window, ..Ack::default() };
    assert_eq!(bench.on(ack(3, 10)), [11, 12], "cwnd is 12, there is room up to 12");
    assert_eq!(bench.on(ack(4, 5)), [], "what has been offered stays offered");
    assert_eq!(bench.on(ack(5, 10)), [13, 14]);
    assert_eq!(bench.on(ack(6, u32::MAX)).len(), 6, "no limit: cwnd is 15, 9 are out");
}

#[test]
fn three_segments_above_a_hole_begin_a_recovery_that_shrinks_as_segments_arrive() {
    let mut bench = open();
    // Limited transmit: the pipe has shrunk by what is SACKed.
    assert_eq!(bench.sack_at(200, 1, &[2..3]), [11]);
    assert_eq!(bench.sack_at(201, 1, &[2..4]), [12]);
    // ssthresh 5. In flight 2 to 12 without three: 8. PRR: ceil(1*5/10) = 1 segment, which is the lost one.
    assert_eq!(bench.sack_at(202, 1, &[2..5]), [1]);
    assert_eq!(bench.cwnd_and_ssthresh().1, 5.0);
    // Of every two that arrive one may be sent.
    let sent: Vec<_> = (6..11).map(|end| bench.sack_at(203 + u64::from(end), 1, &[2..end]).len()).collect();
    assert_eq!(sent, [0, 1, 0, 1, 0]);
    // 1 has arrived: all sent before the reduction, up to 12, are not yet acknowledged.
    bench.now = ms(300);
    bench.on(Ack { next: 11, is_resent: true, ..Ack::default() });
    assert_eq!(bench.sender.tcb.state, RecoveryState::FastRecovery);
    bench.on(Ack { next: 13, is_resent: true, ..Ack::default() });
    // The ACK that ends it opens the window, too, as Linux has it: two have arrived, 2/5.
    assert_eq!((bench.sender.tcb.state, bench.sender.cwnd()), (RecoveryState::Open, 5.4));
    assert_eq!((bench.sender.retransmits(), bench.sender.timeouts()), (1, 0));
}

#[test]
fn a_lost_retransmission_is_found_by_time() {
    let mut bench = open();
    assert_eq!(bench.sack_at(200, 1, &[2..3]), [11]);
    bench.sack_at(201, 1, &[2..4]);
    assert_eq!(bench.sack_at(202, 1, &[2..5]), [1]);
    bench.sack_at(301, 1, &[2..12]);
    assert_eq!(bench.sender.retransmits(), 1, "11 was sent before 1 was again");
    let sent = bench.sender.tcb.snd_max;
    assert_eq!(bench.sack_at(401, 1, &[2..sent])[0], 1, "what was sent at 301 ms has arrived");
    assert_eq!((bench.sender.retransmits(), bench.sender.timeouts()), (2, 0));
}

#[test]
fn recovery_begins_again_while_anything_is_lost() {
    let mut bench = open();
    assert_eq!(bench.sack_at(200, 1, &[2..5])[0], 1);
    let recover = bench.sender.tcb.recover;
    bench.sack_at(250, 1, &[2..recover]);
    let sent = bench.sender.tcb.snd_max;
    // Of those sent since, the first is lost.
    assert!(bench.sack_at(300, 1, &[2..recover, recover + 1..sent]).contains(&recover));
    let sent = bench.sender.tcb.snd_max;
    // 1 has arrived, which ends the recovery; the other loss is not mended yet.
    bench.sack_at(350, recover, &[recover + 1..sent]);
    assert_eq!((bench.sender.tcb.state, bench.sender.tcb.recover), (RecoveryState::FastRecovery, sent));
}

#[test]
fn fewer_than_three_wait_for_a_quarter_of_the_least_round_trip() {
    let mut bench = open();
    bench.sack_at(200, 1, &[2..3]);
    // Sent at 100 ms; a round trip of 100 ms, a quarter of it, and 2 ms on top. The timer expires at the end of its tick.
    assert_eq!(bench.sender.deadline(), ms(228));
    assert_eq!(bench.timeout(), [1]);
    assert_eq!((bench.sender.tcb.state, bench.sender.timeouts()), (RecoveryState::FastRecovery, 0));
}

#[test]
fn a_probe_asks_about_the_last_segments_and_the_timeout_comes_after_it() {
    let mut bench = open_finite();
    // 2*srtt + 2 ms, from the ACK of the SYN on: no ACK has come since. The timer's slot of 8 ms ends at 304 ms.
    assert_eq!(bench.sender.deadline(), ms(304));
    assert_eq!(bench.timeout(), [10]);
    // srtt + 4*rttvar, at least srtt + 200 ms.
    assert_eq!(bench.sender.deadline(), ms(608));
    // The probe's SACK tells that all before are lost.
    assert_eq!(bench.sack_at(404, 1, &[10..11])[0], 1);
    assert_eq!((bench.sender.tcb.state, bench.sender.timeouts()), (RecoveryState::FastRecovery, 0));
}

/// Ten segments are acknowledged but the last, which the probe at 10 has sent again; then five more.
fn probed() -> Bench {
    let mut bench = open_finite();
    bench.sack_at(200, 10, &[]);
    assert_eq!(bench.timeout(), [10]);
    bench.now += Span::from_millis(100);
    bench.ack(10);
    assert_eq!(bench.cwnd_and_ssthresh().0, 20.0, "all ten are acknowledged: it may have been needless");
    bench.sender.open(Some(5), bench.now, &bench.params, &mut bench.wire);
    bench.now += Span::from_millis(100);
    bench
}

#[test]
fn a_probe_that_mends_the_only_loss_counts_as_one() {
    // RFC 8985, section 7.4.2, case 2: something later is acknowledged, and nothing tells of a duplicate.
    let mut bench = probed();
    // The window of 20 has not been used up for a timeout: (20 + 10)/2 = 15, whose half is 7.
    bench.ack(12);
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh()), (RecoveryState::Open, (7.0, 7.0)));
}

#[test]
fn a_probe_that_arrives_twice_was_needless() {
    let mut bench = probed();
    bench.on(Ack { next: 11, dsack: Some(10), ..Ack::default() });
    bench.ack(12);
    assert_eq!(bench.cwnd_and_ssthresh().1, bench.params.window.0);
}

/// 1 is found lost and sent again at 202 ms, with ssthresh 5; then 5 arrives.
fn reduced() -> Bench {
    reduced_of(open())
}

fn reduced_of(mut bench: Bench) -> Bench {
    bench.sack_at(200, 1, &[2..3]);
    bench.sack_at(201, 1, &[2..4]);
    assert_eq!(bench.sack_at(202, 1, &[2..5]), [1]);
    bench.sack_at(203, 1, &[2..6]);
    assert_eq!((bench.cwnd_and_ssthresh().1, bench.sender.tcb.state), (5.0, RecoveryState::FastRecovery));
    bench
}

#[test]
fn what_was_sent_before_a_retransmission_that_arrives_is_lost() {
    let mut bench = reduced();
    (7..12).for_each(|end| drop(bench.sack_at(197 + u64::from(end), 1, &[2..end])));
    bench.sack_at(300, 1, &[2..12]);
    // 1 was sent again at 202 ms, 12 at 201: nothing is SACKed beyond it.
    bench.now = ms(302);
    assert_eq!(bench.on(Ack { next: 12, is_resent: true, ..Ack::default() })[0], 12);
}

#[test]
fn a_recovery_is_undone_if_the_original_arrives() {
    // RFC 3522: the ACK echoes a timestamp older than that of 1 when it was sent again.
    let mut bench = reduced();
    bench.sack_at(210, 6, &[]);
    assert_eq!(bench.sender.tcb.state, RecoveryState::Open);
    assert_eq!(bench.cwnd_and_ssthresh(), (11.0, bench.params.window.0), "10 as before, and 1 has arrived");
    // Now that the path is known to reorder, three above a hole are not enough: 25 ms or an eighth of the round trip are.
    assert_eq!(bench.sack_at(220, 6, &[7..11]).iter().filter(|seq| **seq == 6).count(), 0);
}

#[test]
fn without_undo_a_recovery_goes_on_if_the_original_arrives() {
    let mut bench = reduced_of(open_without("undo"));
    bench.sack_at(210, 6, &[]);
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::FastRecovery, 5.0));
    // Nor does a later DSACK undo it.
    let sent = bench.sender.tcb.snd_max;
    bench.now = ms(302);
    bench.on(Ack { next: sent, is_resent: true, dsack: Some(1), ..Ack::default() });
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::Open, 5.0));
}

#[test]
fn without_prr_nothing_is_sent_before_the_pipe_is_below_the_threshold() {
    let mut bench = open_without("prr");
    bench.sack_at(200, 1, &[2..3]);
    bench.sack_at(201, 1, &[2..4]);
    assert_eq!(bench.sack_at(202, 1, &[2..5]), [1], "the lost one in any case");
    // In flight are 1 and 5 to 12: nine, of which five are left when 8 has arrived.
    let sent: Vec<_> = (6..11).map(|end| bench.sack_at(203 + u64::from(end), 1, &[2..end]).len()).collect();
    assert_eq!(sent, [0, 0, 0, 0, 1]);
}

#[test]
fn without_detection_by_time_three_make_a_loss_and_a_lost_retransmission_none() {
    let mut bench = open_without("detect_by_time");
    bench.sack_at(200, 1, &[2..3]);
    assert!(bench.sender.deadline() > ms(300), "no timer for reordering: {}", bench.sender.deadline());
    bench.sack_at(201, 1, &[2..4]);
    assert_eq!(bench.sack_at(202, 1, &[2..5]), [1]);
    let sent = bench.sender.tcb.snd_max;
    bench.sack_at(301, 1, &[2..sent]);
    let sent = bench.sender.tcb.snd_max;
    bench.sack_at(401, 1, &[2..sent]);
    assert_eq!((bench.sender.retransmits(), bench.sender.timeouts()), (1, 0));
    let mut quiet = open_without("detect_by_time");
    assert_eq!((quiet.timeout(), quiet.sender.timeouts()), (vec![1], 1), "no probe");
}

#[test]
fn a_law_is_told_that_a_recovery_is_undone() {
    // Prague answers no mark in recovery.
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("clock", "1 ms")]);
    let prague = LawChoice::parse("tcp", "prague").unwrap();
    bench.sender = Sender::new(TcpVariant::Rack, &bench.params, &prague, true, Span::ZERO);
    bench.open();
    bench.now = ms(100);
    bench.ack(0);
    bench.paced_until(200);
    for (at, end) in [(200, 3), (201, 4), (202, 5), (203, 6)] {
        bench.sack_at(at, 1, &[2..end]);
    }
    bench.paced_until(220);
    assert_eq!((bench.sender.tcb.state, bench.sender.retransmits()), (RecoveryState::FastRecovery, 1));
    bench.sack_at(221, 6, &[]);
    assert_eq!(bench.sender.tcb.state, RecoveryState::Open);
    let before = bench.sender.cwnd();
    bench.now = ms(240);
    bench.on(Ack { next: 7, ce: 1, ..Ack::default() });
    assert!(bench.sender.cwnd() < 0.6 * before, "the first mark halves: {} of {before}", bench.sender.cwnd());
}

/// Keeps whether Linux predicts the header of the last ACK.
#[derive(Clone, Debug)]
struct Prediction(bool);

impl CongestionControl for Prediction {
    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}
    fn on_feedback(&mut self, _: &mut Window, ack: &Facts) {
        self.0 = ack.is_predicted;
    }
    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("is_predicted", f64::from(self.0))]
    }
}

#[test]
fn the_header_of_an_ack_is_predicted_if_nothing_in_it_is_new_but_what_it_acknowledges() {
    let mut bench = open();
    let needs = Needs { every_ack: true, ..Needs::NONE };
    bench.sender.tcb.cc.law = AnyLaw::Other(Box::new(LawAdapter::new(Box::new(Prediction(false)), needs)));
    bench.sender.tcb.extras = Extras::new(&bench.sender.tcb.cc, &bench.params);
    let ack = |next| Ack { next, ..Ack::default() };
    for (ack, expected) in [
        (ack(2), 1.0),
        (Ack { has_new_window: true, ..ack(3) }, 0.0),
        (ack(4), 1.0),
        (Ack { ece: true, ..ack(5) }, 0.0),
        (Ack { sack: Sack::listing(&[6..7]), ..ack(5) }, 0.0),
        (Ack { dsack: Some(2), ..ack(7) }, 0.0),
        (ack(8), 1.0),
    ] {
        bench.on(ack);
        assert_eq!(bench.sender.law_variables(), [("is_predicted", expected)], "{ack:?}");
    }
}

/// Counts the segments sent while none is in the network.
#[derive(Clone, Debug)]
struct Restarts(u32);

impl CongestionControl for Restarts {
    fn on_ack(&mut self, _: &mut Window, _: &Facts) {}
    fn on_restart(&mut self, window: &mut Window, is_app_limited: bool, _: Time) {
        assert!(!is_app_limited);
        self.0 += 1;
        window.cwnd = 20.0;
    }
    fn variables(&self) -> Vec<(&'static str, f64)> {
        vec![("restarts", f64::from(self.0))]
    }
}

#[test]
fn a_law_is_told_of_a_segment_sent_after_a_timeout_while_none_is_in_the_network() {
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("clock", "1 ms")]);
    let needs = Needs { rate_samples: true, owns_window: true, ..Needs::NONE };
    bench.sender.tcb.cc.law = AnyLaw::Other(Box::new(LawAdapter::new(Box::new(Restarts(0)), needs)));
    bench.sender.tcb.extras = Extras::new(&bench.sender.tcb.cc, &bench.params);
    bench.open();
    bench.now = ms(100);
    bench.ack(0);
    let restarts = |bench: &Bench| bench.sender.law_variables()[0].1;
    for end in [3, 4, 5] {
        bench.sack_at(200, 1, &[2..end]);
    }
    assert_eq!((bench.sender.retransmits(), restarts(&bench)), (1, 0.0), "others are in the network");
    while bench.sender.timeouts() == 0 {
        bench.timeout();
    }
    assert_eq!((restarts(&bench), bench.sender.cwnd()), (1.0, 20.0));
}

#[test]
fn a_recovery_is_not_undone_if_what_was_sent_again_arrives() {
    let mut bench = reduced();
    bench.now = ms(302);
    bench.on(Ack { next: 6, is_resent: true, ..Ack::default() });
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::FastRecovery, 5.0));
}

#[test]
fn a_recovery_is_undone_if_all_that_was_sent_again_arrives_twice() {
    // RFC 3708. The ACK of the original was lost, and what was sent again has caused one that says so.
    let mut bench = reduced();
    bench.now = ms(302);
    bench.on(Ack { next: 12, is_resent: true, dsack: Some(1), ..Ack::default() });
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::Open, bench.params.window.0));
}

#[test]
fn a_recovery_that_is_over_is_undone_by_a_later_dsack() {
    let mut bench = reduced();
    let sent = bench.sender.tcb.snd_max;
    bench.now = ms(302);
    bench.on(Ack { next: sent, is_resent: true, ..Ack::default() });
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::Open, 5.0));
    bench.on(Ack { next: sent, dsack: Some(1), ..Ack::default() });
    assert_eq!(bench.cwnd_and_ssthresh().1, bench.params.window.0);
    assert!(bench.sender.cwnd() >= 10.0);
}

#[test]
fn a_mark_forbids_to_undo() {
    let mut bench = reduced();
    bench.sender.tcb.ecn = true;
    bench.now = ms(210);
    bench.on(Ack { next: 6, ece: true, ..Ack::default() });
    assert_eq!(bench.cwnd_and_ssthresh().1, 5.0);
}

#[test]
fn a_timeout_is_undone_if_the_original_arrives() {
    let mut bench = open();
    bench.timeout(); // the probe
    assert_eq!(bench.timeout(), [1]);
    bench.now += Span::from_millis(10);
    bench.ack(1);
    assert_eq!(bench.sender.tcb.state, RecoveryState::Open);
    assert_eq!(bench.cwnd_and_ssthresh(), (11.0, bench.params.window.0));
}

#[test]
fn a_segment_lost_again_after_a_timeout_reduces_again() {
    let mut bench = open_finite();
    bench.timeout(); // 10, the probe
    assert_eq!(bench.timeout(), [1]);
    assert_eq!(bench.cwnd_and_ssthresh().1, 5.0);
    bench.now += Span::from_millis(100);
    assert_eq!(bench.on(Ack { next: 2, is_resent: true, ..Ack::default() }), [2, 3], "a window of two");
    // 3, sent again after 2, arrives.
    bench.now += Span::from_millis(100);
    bench.sack(2, &[3..4]);
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::FastRecovery, 2.0));
}

#[test]
fn the_window_grows_only_while_it_is_used_up() {
    let mut bench = open_finite();
    assert_eq!(bench.sender.cwnd(), 10.0);
    // Ten of ten are outstanding: slow start up to twice that, as long as they are the most in a round trip.
    bench.sack_at(200, 11, &[]);
    assert_eq!(bench.sender.cwnd(), 20.0);
    bench.sender.open(Some(4), bench.now, &bench.params, &mut bench.wire);
    bench.now = ms(300);
    bench.ack(14);
    assert_eq!(bench.sender.cwnd(), 20.0, "four of twenty");
}

#[test]
fn a_pause_halves_the_window_for_each_timeout() {
    let restarted = |pause: u64, after_idle: &str| {
        let mut bench = open_finite();
        bench.params.read("tcp", [("after_idle", after_idle)], &mut Vec::new());
        bench.sack_at(200, 11, &[]);
        bench.sender.tcb.cc.window.cwnd = 100.0;
        // The last segment was sent at 100 ms. The timeout is srtt + 4*rttvar = 100 + 200 ms.
        bench.now = ms(100 + pause);
        bench.sender.resume(Span::from_millis(pause - 100), bench.now, &bench.params);
        bench.cwnd_and_ssthresh().0
    };
    assert_eq!(
        [300, 301, 601, 901, 1201, 9000].map(|pause| restarted(pause, "decay")),
        [100.0, 50.0, 25.0, 12.0, 10.0, 10.0]
    );
    assert_eq!([401, 9000].map(|pause| restarted(pause, "restart")), [10.0, 10.0]);
    assert_eq!(restarted(9000, "keep"), 100.0);
}

#[test]
fn a_timeout_that_was_spurious_is_undone() {
    let mut bench = open();
    bench.timeout(); // the probe
    let (cwnd, ssthresh) = bench.cwnd_and_ssthresh();
    assert_eq!(bench.timeout(), [1]);
    assert_eq!(bench.sender.cwnd(), 1.0);
    // 1 is acknowledged, perhaps by what was sent again: two new ones are tried. 2, never sent again, has arrived.
    bench.now += Span::from_millis(100);
    assert_eq!(bench.on(Ack { next: 2, is_resent: true, ..Ack::default() }), [12, 13]);
    bench.ack(2);
    assert_eq!(bench.sender.tcb.state, RecoveryState::Open);
    assert!(bench.sender.cwnd() >= cwnd && bench.sender.tcb.cc.window.ssthresh == ssthresh);
}

#[test]
fn a_timeout_that_was_not_sends_again_what_is_lost_and_nothing_else() {
    let mut bench = open();
    bench.timeout(); // 11, the probe
    bench.sack_at(700, 1, &[5..7]); // arrives after all
    let again: Vec<u32> = bench.timeout();
    assert!(again.iter().all(|seq| ![5, 6].contains(seq)), "{again:?}");
}

#[test]
fn an_echo_shrinks_the_window_over_a_round_trip() {
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[]);
    bench.sender = Sender::new(TcpVariant::Rack, &bench.params, &LawChoice::default(), true, Span::ZERO);
    bench.open();
    bench.now = ms(100);
    bench.ack(0);
    bench.now = ms(200);
    bench.on(Ack { next: 3, ece: true, ..Ack::default() });
    assert_eq!((bench.sender.tcb.state, bench.cwnd_and_ssthresh().1), (RecoveryState::Cwr, 5.0));
    assert!(bench.sender.cwnd() > 5.0, "not at once");
    (4..14).for_each(|next| drop(bench.on(Ack { next, ece: true, ..Ack::default() })));
    assert_eq!(
        bench.sender.ecn_reductions(),
        1 + u32::from(bench.sender.tcb.state == RecoveryState::Cwr && bench.sender.tcb.recover > 11)
    );
}

#[test]
fn bursts_wait_until_they_are_whole_while_acks_are_near() {
    // A window of 400 over round trips of 40 to 41.2 ms: 1.2*400 in one of them are 11.4 to 11.7 segments in 1/1024 s.
    let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("bursts", "gso"), ("initial_window", "400 packets")]);
    bench.open();
    bench.now = ms(40);
    assert_eq!(bench.ack(0).len(), 400);
    bench.sender.tcb.cc.window.ssthresh = 200.0;
    let mut sent = Vec::new();
    for seq in 1..=24 {
        bench.now = ms(80) + Span::from_micros(50 * u64::from(seq));
        sent.push((seq, bench.ack(seq).len()));
    }
    sent.retain(|&(_, count)| count > 0);
    // After 40 ms of silence the first ACK is answered at once.
    assert_eq!(sent, [(1, 1), (12, 11), (23, 11)]);
}

#[test]
fn without_pacing_a_window_leaves_at_once() {
    // The ACK of Prague's initial window allows 20 segments, of which the first 10 are not paced (tcp_update_skb_after_send).
    for (pacing, at_once) in [("true", 10), ("false", 20)] {
        let mut bench = bench(TcpVariant::Rack, Profile::Linux, &[("pacing", pacing)]);
        let prague = LawChoice::parse("tcp", "prague").unwrap();
        bench.sender = Sender::new(TcpVariant::Rack, &bench.params, &prague, true, Span::ZERO);
        bench.open();
        bench.now = ms(100);
        assert_eq!(bench.ack(0).len(), 10);
        bench.now = ms(200);
        assert_eq!(bench.ack(10).len(), at_once, "pacing {pacing}");
    }
}

#[test]
fn by_the_rfcs_a_probe_allows_for_a_delayed_ack_and_the_timeout_is_a_second_at_least() {
    let mut bench = bench(TcpVariant::Rack, Profile::Rfc, &[]);
    bench.sender.open(Some(1), bench.now, &bench.params, &mut bench.wire);
    bench.now = ms(100);
    assert_eq!(bench.ack(0), [0, 1], "the SYN, and the only segment");
    // RFC 8985, section 7.2: 2*100 + 200 ms.
    assert_eq!(bench.sender.deadline(), ms(100 + 400));
    assert_eq!(bench.timeout(), [1]);
    // RFC 6298, (2.3) and (2.4): max(1 s, 100 + 4*50 ms).
    assert_eq!(bench.sender.deadline(), ms(500 + 1000));
}
