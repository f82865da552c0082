//! SACK (RFC 6675). After the ACK of the SYN, 1 to 10 are outstanding and the window is 10.

#![allow(clippy::single_range_in_vec_init)] // lists of blocks, one or more

use super::*;
use crate::ack::Sack;
use std::ops::Range;

fn open_ecn() -> Bench {
    let mut bench = bench(TcpVariant::Sack, Profile::Rfc, &[]);
    bench.sender = Sender::new(TcpVariant::Sack, &bench.params, &LawChoice::default(), true, Span::ZERO);
    bench.grown(0)
}

fn open() -> Bench {
    bench(TcpVariant::Sack, Profile::Rfc, &[]).grown(0)
}

/// Ten segments and no more.
fn open_finite() -> Bench {
    let mut bench = bench(TcpVariant::Sack, Profile::Rfc, &[]);
    bench.sender.open(Some(10), bench.now, &bench.params, &mut bench.wire);
    bench.ack(0);
    bench
}

impl Bench {
    /// The next segment expected is `next`, and these blocks have arrived: what that released.
    pub(super) fn sack(&mut self, next: u32, blocks: &[Range<u32>]) -> Vec<u32> {
        self.on(Ack { next, sack: Sack::listing(blocks), ..Ack::default() })
    }

    /// Segments from 2 up to each of `ends` arrive, 1 does not: what each released.
    fn without_1(&mut self, ends: Range<u32>) -> Vec<Vec<u32>> {
        ends.map(|end| self.sack(1, &[2..end])).collect()
    }
}

#[test]
fn a_lost_segment_is_resent_and_the_pipe_kept_full() {
    let mut bench = open();
    assert_eq!(bench.without_1(3..6), [[11], [12], [1]], "two by limited transmit, then the hole");
    assert_eq!(bench.cwnd_and_ssthresh(), (5.0, 5.0), "half of 10, not of 12");
    // 5 to 12 and 1 again are 9 in the pipe; the fifth to leave makes room.
    assert_eq!(bench.without_1(6..11), [vec![], vec![], vec![], vec![], vec![13]]);
    assert_eq!(bench.without_1(11..14), [[14], [15], [16]]);
    // 1 has arrived, and so have all up to 12, the highest sent at the loss.
    assert_eq!(bench.sack(13, &[]), [17]);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.tcb.flight()), ((5.0, 5.0), 5));
    assert_eq!((bench.sender.retransmits(), bench.sender.timeouts()), (1, 0));
    assert_eq!(bench.sack(14, &[]), [18]);
    assert_eq!(bench.sender.cwnd(), 5.2);
}

#[test]
fn two_losses_in_a_window_take_one_reduction() {
    let mut bench = open(); // 1 and 5 are lost
    assert_eq!(bench.without_1(3..6), [[11], [12], [1]]);
    let released: Vec<_> = (7..14).map(|end| bench.sack(1, &[6..end, 2..5])).collect();
    // The pipe after 6, 7, 8: 8, 7, 5, for then three are above 5 and it is lost; after 9 it has room.
    assert_eq!(released, [vec![], vec![], vec![], vec![5], vec![13], vec![14], vec![15]]);
    bench.now = ms(100);
    assert_eq!(bench.sack(5, &[6..13]), [16], "recovery goes on");
    assert_eq!(bench.sender.deadline(), ms(100 + 1000), "a partial ACK restarts the timer");
    assert_eq!(bench.sack(13, &[]), [17]);
    assert_eq!(bench.cwnd_and_ssthresh(), (5.0, 5.0));
    assert_eq!((bench.sender.retransmits(), bench.sender.timeouts()), (2, 0));
}

#[test]
fn three_segments_above_a_hole_make_a_loss_even_in_one_ack() {
    let mut bench = open();
    // The pipe is 5 to 10 and 1 again: 7.
    assert_eq!(bench.sack(1, &[2..5]), [1]);
    assert_eq!(bench.cwnd_and_ssthresh(), (5.0, 5.0));
}

#[test]
fn an_ack_that_tells_nothing_new_is_no_duplicate() {
    let mut bench = open();
    assert_eq!(bench.sack(1, &[2..3]), [11]);
    (0..5).for_each(|_| assert_eq!(bench.sack(1, &[2..3]), []));
    assert_eq!((bench.sender.tcb.duplicate_acks, bench.sender.cwnd()), (1, 10.0));
    (0..5).for_each(|_| assert_eq!(bench.sack(0, &[]), [], "old"));
}

#[test]
fn without_limited_transmit_duplicates_release_nothing() {
    let mut bench = bench(TcpVariant::Sack, Profile::Rfc, &[("limited_transmit", "false")]).grown(0);
    assert_eq!(bench.without_1(3..6), [vec![], vec![], vec![1]]);
    assert_eq!(bench.cwnd_and_ssthresh(), (5.0, 5.0));
}

#[test]
fn a_lost_retransmission_waits_for_the_timer_and_what_arrived_is_not_resent() {
    let mut bench = open();
    bench.without_1(3..6);
    assert_eq!(bench.timeout(), [1]);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.timeouts()), ((1.0, 5.0), 1));
    // No recovery before 12 is acknowledged, whatever the ACKs name.
    assert_eq!(bench.without_1(6..12), vec![vec![0; 0]; 6]);
    assert_eq!(bench.sack(11, &[12..13]), [11, 13], "12 is there, and takes no room");
    assert_eq!(bench.sack(13, &[]), [14, 15]);
    assert_eq!(bench.cwnd_and_ssthresh(), (3.0, 5.0));
    assert_eq!(bench.sender.retransmits(), 3);
    // Everything of before the timeout is acknowledged: recovery is possible again.
    assert_eq!([bench.sack(13, &[14..15]), bench.sack(13, &[14..16]), bench.sack(13, &[14..17])], [[16], [17], [13]]);
    assert_eq!(bench.cwnd_and_ssthresh(), (2.0, 2.0), "3 in flight, and two by limited transmit");
}

#[test]
fn a_timeout_sends_again_only_what_is_missing() {
    let mut bench = open();
    bench.sack(1, &[3..6]); // 1, 2 and 6 to 10 are missing; 1 is sent again
    let last = bench.sender.tcb.snd_max - 1;
    assert_eq!(bench.timeout(), [1]);
    assert_eq!(bench.sack(2, &[3..6]), [2, 6], "3 to 5 are there");
    assert_eq!(bench.sack(6, &[]), [7, 8]);
    assert_eq!(bench.sack(7, &[8..9]), [9, 10, 11].map(|seq: u32| seq.min(last + 1)), "a window of four");
}

#[test]
fn a_hole_not_yet_lost_is_resent_when_there_is_nothing_else() {
    let mut bench = open_finite(); // 1 and 8 are lost
    assert_eq!(bench.without_1(3..9), [vec![], vec![], vec![1], vec![], vec![], vec![]]);
    assert_eq!(bench.sack(1, &[9..10, 2..8]), [8]);
    assert_eq!(bench.sack(1, &[9..11, 2..8]), []);
    assert_eq!(bench.sack(11, &[]), []);
    assert!(bench.sender.is_done());
}

#[test]
fn the_last_segment_is_rescued_once() {
    let mut bench = open_finite(); // 1 and 10 are lost
    assert_eq!(bench.without_1(3..11), [vec![], vec![], vec![1], vec![], vec![], vec![], vec![], vec![]]);
    assert_eq!(bench.sack(10, &[]), [10]);
    assert_eq!(bench.sack(10, &[]), [], "once per recovery");
    assert_eq!(bench.sack(11, &[]), []);
    assert_eq!((bench.sender.is_done(), bench.sender.timeouts(), bench.sender.retransmits()), (true, 0, 2));
}

#[test]
fn a_loss_in_an_echoed_window_is_repaired_without_another_reduction() {
    let mut bench = open_ecn();
    let sack = Sack::listing(&[2..3]);
    assert_eq!(bench.on(Ack { next: 1, ece: true, sack, ..Ack::default() }), [], "5 of window, 9 in the pipe");
    assert_eq!(bench.without_1(4..6), [vec![], vec![1]]);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.ecn_reductions()), ((5.0, 5.0), 1));
}

#[test]
fn a_loss_in_the_window_after_an_echoed_one_halves_again() {
    let mut bench = open_ecn();
    bench.on(Ack { next: 2, ece: true, ..Ack::default() });
    (3..=11).for_each(|next| drop(bench.sack(next, &[])));
    // 11 was the first sent after the reduction. Nine increments of 1/cwnd from 5 on make 6.6: 11 to 16 are in flight.
    assert_eq!((bench.sender.tcb.recover, bench.sender.tcb.flight()), (11, 6));
    assert_eq!(bench.sack(11, &[12..15]), [11]);
    assert_eq!(bench.cwnd_and_ssthresh(), (3.0, 3.0));
}

#[test]
fn an_echo_on_the_ack_that_ends_recovery_halves_the_window_alone() {
    let mut bench = bench(TcpVariant::Sack, Profile::Ns2, &[]);
    bench.sender = Sender::new(TcpVariant::Sack, &bench.params, &LawChoice::default(), true, Span::ZERO);
    let mut bench = bench.grown(6); // 7 to 14 are outstanding, 7 is lost
    let released: Vec<_> = (9..16).map(|end| bench.sack(7, &[8..end])).collect();
    assert_eq!(released, [vec![15], vec![16], vec![7], vec![], vec![], vec![], vec![17]]);
    assert_eq!(bench.cwnd_and_ssthresh(), (4.0, 4.0));
    bench.on(Ack { next: 18, ece: true, ..Ack::default() });
    assert_eq!(bench.cwnd_and_ssthresh(), (2.0, 2.0));
}

#[test]
fn what_was_sacked_long_ago_opens_the_window_no_more() {
    // 2 to 9 were SACKed before the timeout. The ACK that jumps over them acknowledges 1 to 9, and tells of 1 only.
    for law in ["prague", "ledbat"] {
        let control = LawChoice::parse("tcp", law).unwrap();
        let mut bench = bench(TcpVariant::Sack, Profile::Rfc, &[]);
        bench.sender = Sender::new(TcpVariant::Sack, &bench.params, &control, false, Span::ZERO);
        let mut bench = bench.grown(0);
        bench.sack(1, &[2..10]);
        while bench.sender.timeouts() == 0 {
            bench.timeout(); // or the pace, which may have a timer too
        }
        assert_eq!(bench.sender.cwnd(), 1.0, "{law}");
        bench.on(Ack { next: 10, delay: Span::from_millis(20), ..Ack::default() });
        assert_eq!(bench.sender.cwnd(), 2.0, "{law}");
    }
}
