//! ECN (RFC 3168, section 6.1), and what ns-2 does otherwise.

use super::*;

fn ecn(variant: TcpVariant, profile: Profile, changes: &[(&str, &str)]) -> Bench {
    let mut bench = bench(variant, profile, changes);
    bench.sender = Sender::new(variant, &bench.params, &LawChoice::default(), true, Span::ZERO);
    bench
}

fn rfc(changes: &[(&str, &str)]) -> Bench {
    ecn(TcpVariant::NewReno, Profile::Rfc, changes)
}

fn ns2() -> Bench {
    ecn(TcpVariant::Reno, Profile::Ns2, &[])
}

impl Bench {
    /// As `ack`, with the echo of a mark.
    fn echo(&mut self, ack: u32) -> Vec<u32> {
        self.on(Ack { next: ack + 1, ece: true, ..Ack::default() })
    }

    /// As `echo`, with the flags of what it released.
    fn echo_segments(&mut self, ack: u32) -> Vec<Segment> {
        self.sender.on_ack(Ack { next: ack + 1, ece: true, ..Ack::default() }, self.now, &self.params, &mut self.wire);
        self.wire.0.drain(..).collect()
    }
}

fn ect(seq: u32) -> Segment {
    Segment { is_ect: true, ..data(seq) }
}

#[test]
fn data_are_ecn_capable_and_the_syn_is_not() {
    let mut bench = ns2();
    bench.sender.open(None, bench.now, &bench.params, &mut bench.wire);
    bench.sender.on_ack(Ack { next: 1, ..Ack::default() }, bench.now, &bench.params, &mut bench.wire);
    assert_eq!(bench.wire.0, [Segment { is_syn: true, ..data(0) }, ect(1), ect(2)]);
}

#[test]
fn a_syn_that_is_sent_again_asks_for_ecn_no_more() {
    let prague = LawChoice::parse("tcp", "prague").unwrap();
    let reno = LawChoice::default();
    let (first, again) = (false, true);
    for (law, lost, is_resent, is_capable) in [
        (&reno, 0, first, true),
        (&reno, 1, again, false),
        (&reno, 1, first, true), // late, not lost: the answer is to the SYN that asked
        (&prague, 1, again, true),
        (&prague, 2, again, false),
    ] {
        let mut bench = ecn(TcpVariant::Rack, Profile::Linux, &[]);
        bench.sender = Sender::new(TcpVariant::Rack, &bench.params, law, true, Span::ZERO);
        bench.open();
        for _ in 0..lost {
            bench.now = bench.sender.deadline();
            bench.sender.on_timer(bench.now, &bench.params, &mut bench.wire);
        }
        bench.wire.0.clear();
        bench.sender.on_ack(Ack { next: 1, is_resent, ..Ack::default() }, bench.now, &bench.params, &mut bench.wire);
        assert!(!bench.wire.0.is_empty() && bench.wire.0.iter().all(|segment| segment.is_ect == is_capable));
    }
}

#[test]
fn a_syn_that_is_ecn_capable_and_marked_opens_with_one_segment() {
    // draft-ietf-tcpm-generalized-ecn, section 3.2.1: ECT but where it is sent again, and answered by the initial window.
    let prague = LawChoice::parse("tcp", "prague").unwrap();
    for (ce, expected) in [(0, 10.0), (1, 1.0)] {
        let mut bench = rfc(&[("ect_on_syn", "true")]);
        bench.sender = Sender::new(TcpVariant::Sack, &bench.params, &prague, true, Span::ZERO);
        bench.sender.open(None, bench.now, &bench.params, &mut bench.wire);
        bench.sender.on_ack(Ack { next: 1, ce, ..Ack::default() }, ms(100), &bench.params, &mut bench.wire);
        assert_eq!(bench.wire.0[0], Segment { is_syn: true, ..ect(0) });
        assert_eq!(bench.sender.cwnd(), expected);
    }
    let mut lost = rfc(&[("ect_on_syn", "true")]);
    lost.open();
    lost.now = lost.sender.deadline();
    lost.sender.on_timer(lost.now, &lost.params, &mut lost.wire);
    assert!(lost.wire.0.iter().all(|segment| segment.is_syn && !segment.is_ect));
}

#[test]
fn an_echo_halves_the_window_once_per_window_of_data() {
    let mut bench = rfc(&[]).grown(0);
    assert_eq!(bench.echo(1), []);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.ecn_reductions()), ((5.0, 5.0), 1));
    (2..=5).for_each(|ack| assert_eq!(bench.echo(ack), []));
    // From 7 on five: 11 is the first new segment, and tells of the reduction.
    assert_eq!(bench.echo_segments(6), [Segment { is_cwr: true, ..ect(11) }]);
    assert_eq!(bench.echo_segments(7), [ect(12)]);
    assert_eq!([bench.echo(8), bench.echo(9), bench.echo(10)], [[13], [14], [15]]);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.ecn_reductions()), ((5.0, 5.0), 1));
    // 10 was the last segment sent before the reduction: 11 belongs to the next window.
    assert_eq!(bench.echo(11), []);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.ecn_reductions()), ((2.5, 2.5), 2));
}

#[test]
fn an_echo_does_not_open_the_window_and_an_ack_without_does() {
    for mut bench in [rfc(&[]).grown(0), ns2().grown(8)] {
        let last = bench.sender.tcb.snd_una;
        bench.echo(last);
        assert_eq!(bench.cwnd_and_ssthresh(), (5.0, 5.0));
        bench.echo(last + 1);
        assert_eq!(bench.sender.cwnd(), 5.0);
        bench.ack(last + 2);
        assert_eq!(bench.sender.cwnd(), 5.2);
    }
}

#[test]
fn a_sender_without_ecn_ignores_echoes() {
    let mut bench = reno(&[]).grown(2);
    assert_eq!(bench.echo_segments(3), [data(7), data(8)]);
    assert_eq!((bench.sender.cwnd(), bench.sender.ecn_reductions()), (5.0, 0));
}

#[test]
fn ns2_goes_below_one_segment_and_backs_off_at_the_second_echo() {
    let mut bench = ns2().grown(0);
    assert_eq!(bench.echo(1), []);
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 2.0));
    assert_eq!(bench.echo(2), [3]);
    assert_eq!(bench.echo(3), [], "closed");
    assert_eq!((bench.sender.cwnd(), bench.sender.deadline()), (0.5, ms(200)));
    assert_eq!(bench.timeout(), [4]);
    assert_eq!((bench.sender.cwnd(), bench.sender.timeouts()), (1.0, 0));
    assert_eq!(bench.sender.deadline(), ms(200 + 200), "not backed off");
    assert_eq!(bench.echo(4), []);
    assert_eq!((bench.sender.cwnd(), bench.sender.deadline()), (0.5, ms(200 + 400)), "the second in a row");
    assert_eq!(bench.timeout(), [5]);
    assert_eq!(bench.ack(5), [6, 7]);
    assert_eq!(bench.sender.deadline(), ms(600 + 200), "a sample without an echo ends backoff");
    assert_eq!(bench.sender.retransmits(), 0);
}

#[test]
fn ns2_halves_a_window_between_one_and_two() {
    let mut bench = ns2().grown(0);
    bench.sender.tcb.cc.window.cwnd = 1.5;
    bench.echo(1);
    assert_eq!(bench.cwnd_and_ssthresh(), (0.75, 2.0));
}

#[test]
fn rfc_3168_stops_at_one_segment_and_then_sends_one_for_each_timeout() {
    let mut bench = rfc(&[("initial_window", "2 packets")]).grown(0);
    assert_eq!(bench.echo(1), []);
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 2.0));
    assert_eq!(bench.echo(2), [3]);
    assert_eq!(bench.echo(3), [], "closed");
    assert_eq!(bench.timeout(), [4]);
    assert_eq!(bench.now, ms(1000));
    assert_eq!(bench.echo(4), [], "closed again");
    assert_eq!(bench.timeout(), [5]);
    assert_eq!(bench.now, ms(2000), "no backoff");
    assert_eq!(bench.ack(5), [6, 7]);
    assert_eq!((bench.sender.timeouts(), bench.sender.retransmits()), (0, 0));
}

#[test]
fn a_closed_window_with_nothing_left_to_send_needs_no_timer() {
    let mut bench = ns2();
    bench.sender.open(Some(2), bench.now, &bench.params, &mut bench.wire);
    bench.ack(0);
    bench.echo(1);
    bench.sender.tcb.cc.window.cwnd = 0.5;
    bench.echo(2);
    assert_eq!((bench.sender.is_done(), bench.sender.deadline()), (true, Time::NEVER));
}

#[test]
fn a_loss_in_an_echoed_window_is_repaired_without_another_reduction() {
    for variant in [TcpVariant::Reno, TcpVariant::NewReno] {
        let mut bench = ecn(variant, Profile::Ns2, &[]).grown(6);
        // 7 is lost, 8 was marked: cwnd 8 becomes 4, and 7 + 4 + duplicates are behind 15.
        assert_eq!([bench.echo(6), bench.echo(6)], [[], []]);
        let resent = Segment { is_retransmission: true, is_cwr: true, ..ect(7) };
        assert_eq!(bench.echo_segments(6), [resent]);
        assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.ecn_reductions()), ((4.0, 4.0), 1));
        // 4 + 3 from 7 on, one more for each duplicate: 15 waits for the second.
        assert_eq!(bench.duplicates(2), vec![vec![], vec![15]]);
    }
}

#[test]
fn an_echo_in_recovery_is_of_the_same_window() {
    let mut bench = ecn(TcpVariant::NewReno, Profile::Ns2, &[]).in_recovery();
    bench.echo(6);
    bench.echo(8);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.ecn_reductions()), ((4.0, 4.0), 0));
}

#[test]
fn only_ns2_sends_retransmissions_ecn_capable() {
    let mut bench = ecn(TcpVariant::NewReno, Profile::Rfc, &[]).grown(0);
    (0..8).for_each(|_| {
        bench.sender.on_ack(Ack { next: 1, ..Ack::default() }, bench.now, &bench.params, &mut bench.wire)
    });
    // cwnd 5 and 8 that have left, from 1 on: 13 is the first new segment after the reduction.
    let resent = Segment { is_retransmission: true, ..data(1) };
    assert_eq!(bench.wire.0, [ect(11), ect(12), resent, Segment { is_cwr: true, ..ect(13) }]);
}

#[test]
fn a_timeout_in_an_echoed_window_leaves_ssthresh_alone() {
    let mut bench = rfc(&[]).grown(0);
    bench.echo(1);
    bench.timeout();
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 5.0), "not half of the 9 in flight");
    let mut bench = rfc(&[]).grown(0);
    bench.echo(1);
    (2..=11).for_each(|ack| drop(bench.ack(ack)));
    bench.timeout();
    // Ten increments of 1/cwnd from 5 on make 6.7: 6 are in flight.
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 3.0), "that window is over");
}

#[test]
fn an_echo_after_a_timeout_is_new_only_where_retransmissions_can_be_marked() {
    let mut bench = rfc(&[]).grown(0);
    bench.timeout();
    // The timeout has answered it: the window opens, or it would stay at one until there are new data to say CWR.
    assert_eq!(bench.echo(1), [2, 3]);
    assert_eq!((bench.sender.cwnd(), bench.sender.ecn_reductions()), (2.0, 0));
    let mut bench = ns2().grown(6);
    bench.timeout();
    assert_eq!(bench.echo(7), [], "closed");
    assert_eq!((bench.sender.cwnd(), bench.sender.ecn_reductions()), (0.5, 1));
}

#[test]
fn ns2_backs_off_at_the_first_echo_after_a_lost_syn() {
    let mut bench = ns2();
    bench.open();
    assert_eq!(bench.timeout(), [0]);
    assert_eq!(bench.ack(0), [1]);
    bench.echo(1);
    // The sample is of one tick: 200 ms, doubled by the lost SYN and by the echo.
    assert_eq!((bench.sender.cwnd(), bench.sender.deadline()), (0.5, ms(3000 + 800)));
}

#[test]
fn a_careless_sender_with_ecn_is_careful() {
    let mut bench = ecn(TcpVariant::Reno, Profile::Ns2, &[("careful", "false")]).grown(6);
    bench.timeout();
    bench.ack(7);
    assert_eq!(bench.duplicates(3), [vec![10], vec![11], vec![]]);
}
