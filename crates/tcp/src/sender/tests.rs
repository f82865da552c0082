//! Step by step against hand computation. Segment 0 is the SYN; a number in a list is a segment handed out.

mod ecn;
mod rack;
mod sack;
mod timer;
mod validation;

use super::*;
use crate::params::Profile;
use aqmlab_core::ParamSet;

/// Records what is sent.
#[derive(Default)]
struct Wire(Vec<Segment>);

impl SegmentSink for Wire {
    fn send(&mut self, segment: &Segment) {
        self.0.push(*segment);
    }
}

/// A sender on a wire. Time stands still unless a test moves it.
struct Bench {
    sender: Sender,
    params: TcpParams,
    wire: Wire,
    now: Time,
}

fn bench(variant: TcpVariant, profile: Profile, changes: &[(&str, &str)]) -> Bench {
    let (mut params, mut problems) = (TcpParams::defaults(), Vec::new());
    params.read("tcp", profile.settings().iter().chain(changes).copied(), &mut problems);
    assert_eq!(problems, []);
    let sender = Sender::new(variant, &params, &LawChoice::default(), false, Span::ZERO);
    Bench { sender, params, wire: Wire::default(), now: Time::ZERO }
}

fn reno(changes: &[(&str, &str)]) -> Bench {
    bench(TcpVariant::Reno, Profile::Ns2, changes)
}

fn newreno(changes: &[(&str, &str)]) -> Bench {
    bench(TcpVariant::NewReno, Profile::Ns2, changes)
}

fn rfc(changes: &[(&str, &str)]) -> Bench {
    bench(TcpVariant::NewReno, Profile::Rfc, changes)
}

/// A segment of data that is new and knows no ECN.
fn data(seq: u32) -> Segment {
    Segment { seq, is_syn: false, is_retransmission: false, is_ect: false, is_cwr: false, is_push: false }
}

fn ms(ms: u64) -> Time {
    Time::ZERO + Span::from_millis(ms)
}

impl Bench {
    fn sent(&mut self) -> Vec<u32> {
        self.wire.0.drain(..).map(|segment| segment.seq).collect()
    }

    fn open(&mut self) -> Vec<u32> {
        self.sender.open(None, self.now, &self.params, &mut self.wire);
        self.sent()
    }

    /// All up to segment `ack` is acknowledged: what that released.
    fn ack(&mut self, ack: u32) -> Vec<u32> {
        self.on(Ack { next: ack + 1, ..Ack::default() })
    }

    fn on(&mut self, ack: Ack) -> Vec<u32> {
        self.sender.on_ack(ack, self.now, &self.params, &mut self.wire);
        self.sent()
    }

    /// The highest ACK once more, `count` times: what each of them released.
    fn duplicates(&mut self, count: usize) -> Vec<Vec<u32>> {
        let ack = self.sender.tcb.snd_una.checked_sub(1).expect("there has been an ACK");
        (0..count).map(|_| self.ack(ack)).collect()
    }

    /// The timer expires when it is due.
    fn timeout(&mut self) -> Vec<u32> {
        self.now = self.sender.deadline();
        self.sender.on_timer(self.now, &self.params, &mut self.wire);
        self.sent()
    }

    fn cwnd_and_ssthresh(&self) -> (f64, f64) {
        (self.sender.tcb.cc.window.cwnd, self.sender.tcb.cc.window.ssthresh)
    }

    /// Slow start up to the ACK of segment `last`: then cwnd is 2 + last, and `last + 1 ..= 2*last + 2` are outstanding.
    fn grown(mut self, last: u32) -> Self {
        self.open();
        (0..=last).for_each(|ack| drop(self.ack(ack)));
        self
    }

    /// Three duplicates of ACK 6 at cwnd 8: 15 and 16 by limited transmit, 7 again; cwnd 4, recovery up to 16.
    fn in_recovery(self) -> Self {
        let mut bench = self.grown(6);
        assert_eq!(bench.duplicates(3), [vec![15], vec![16], vec![7]]);
        bench
    }
}

#[test]
fn a_syn_opens_and_its_ack_releases_the_initial_window() {
    let mut bench = reno(&[]);
    bench.sender.open(None, bench.now, &bench.params, &mut bench.wire);
    assert_eq!(bench.wire.0, [Segment { is_syn: true, ..data(0) }]);
    assert_eq!(bench.sender.deadline(), ms(3000));
    bench.wire.0.clear();
    bench.sender.on_ack(Ack { next: 1, ..Ack::default() }, ms(80), &bench.params, &mut bench.wire);
    assert_eq!(bench.wire.0, [data(1), data(2)]);
    assert_eq!(bench.sender.cwnd(), 2.0);
}

#[test]
fn without_a_syn_the_initial_window_leaves_at_once() {
    assert_eq!(reno(&[("syn", "false"), ("initial_window", "3 packets")]).open(), [0, 1, 2]);
}

#[test]
fn the_last_segment_of_what_was_written_says_so() {
    let mut bench = reno(&[("syn", "false"), ("initial_window", "4 packets")]);
    bench.sender.open(Some(3), bench.now, &bench.params, &mut bench.wire);
    assert_eq!(bench.wire.0, [data(0), data(1), Segment { is_push: true, ..data(2) }]);
}

#[test]
fn slow_start_releases_two_segments_per_ack() {
    let mut bench = reno(&[]).grown(0);
    assert_eq!([bench.ack(1), bench.ack(2), bench.ack(3)], [[3, 4], [5, 6], [7, 8]]);
    assert_eq!(bench.sender.cwnd(), 5.0);
}

#[test]
fn congestion_avoidance_adds_the_inverse_of_a_real_window() {
    let mut bench = reno(&[]).grown(2);
    bench.sender.tcb.cc.window.ssthresh = 4.0;
    // cwnd 4, then 4.25, 4.4853, 4.7082, 4.9206 and 5.1239: only the last has a whole segment more.
    let released: Vec<_> = (3..=7).map(|ack| bench.ack(ack)).collect();
    assert_eq!(released, [vec![7], vec![8], vec![9], vec![10], vec![11, 12]]);
    assert!((bench.sender.cwnd() - 5.123864).abs() < 1e-6, "{}", bench.sender.cwnd());
}

#[test]
fn the_receivers_window_bounds_the_flight_and_is_the_first_ssthresh() {
    let mut bench = reno(&[("window", "5.7 packets")]).grown(2);
    assert_eq!(bench.cwnd_and_ssthresh(), (4.0, 5.0));
    assert_eq!([bench.ack(3), bench.ack(4)], [vec![7, 8], vec![9]]);
    assert_eq!(bench.sender.cwnd(), 5.2);
    (5..=50).for_each(|ack| assert_eq!(bench.ack(ack), [ack + 5]));
}

#[test]
fn an_old_ack_changes_nothing() {
    let mut bench = reno(&[]).grown(6);
    assert_eq!(bench.ack(3), []);
    assert_eq!((bench.sender.tcb.snd_una, bench.sender.tcb.duplicate_acks, bench.sender.cwnd()), (7, 0, 8.0));
}

#[test]
fn limited_transmit_sends_one_new_segment_for_each_of_two_duplicates() {
    assert_eq!(reno(&[]).grown(6).duplicates(2), [[15], [16]]);
    assert_eq!(newreno(&[]).grown(6).duplicates(2), [[15], [16]]);
    assert_eq!(reno(&[("limited_transmit", "false")]).grown(6).duplicates(2), [[], []]);
}

#[test]
fn limited_transmit_compares_with_the_real_window() {
    // ACK 6, next segment 15: it needs 15 <= 6 + cwnd + duplicates.
    let released = |cwnd| {
        let mut bench = reno(&[]).grown(6);
        bench.sender.tcb.cc.window.cwnd = cwnd;
        bench.duplicates(2)
    };
    assert_eq!(released(8.0), [vec![15], vec![16]]);
    assert_eq!(released(7.999), [vec![], vec![15]]);
    assert_eq!(released(7.0), [vec![], vec![15]]);
    assert_eq!(released(6.999), [vec![], vec![]]);
}

#[test]
fn limited_transmit_stays_within_the_receivers_window() {
    assert_eq!(reno(&[("window", "8 packets")]).grown(6).duplicates(2), [[], []]);
    assert_eq!(reno(&[("window", "9 packets")]).grown(6).duplicates(2), [vec![15], vec![]]);
}

#[test]
fn the_third_duplicate_halves_the_window_and_resends_the_hole() {
    let mut bench = reno(&[]).in_recovery();
    assert_eq!(bench.cwnd_and_ssthresh(), (4.0, 4.0));
    assert_eq!(bench.sender.retransmits(), 1);
    // The window counts 3 segments that have left: 4 + 3 from 7 on, so 17 waits for four more.
    assert_eq!(bench.duplicates(6), [vec![], vec![], vec![], vec![17], vec![18], vec![19]]);
    // All of 16 is there: the inflation goes, and the ACK itself opens the window by 1/4.
    assert_eq!(bench.ack(16), [20]);
    assert_eq!(bench.cwnd_and_ssthresh(), (4.25, 4.0));
}

#[test]
fn ns2_keeps_the_fraction_of_the_half() {
    let mut bench = reno(&[]).grown(7);
    bench.duplicates(3);
    assert_eq!(bench.cwnd_and_ssthresh(), (4.5, 4.0));
    let mut bench = reno(&[]).grown(1);
    bench.duplicates(3);
    assert_eq!(bench.cwnd_and_ssthresh(), (1.5, 2.0), "ssthresh is at least 2");
}

#[test]
fn half_of_the_window_is_half_of_the_receivers_when_that_is_smaller() {
    let mut bench = reno(&[("window", "6 packets")]).grown(40);
    assert!(bench.sender.cwnd() > 8.0);
    bench.duplicates(3);
    assert_eq!(bench.cwnd_and_ssthresh(), (3.0, 3.0));
}

#[test]
fn reno_leaves_recovery_on_a_partial_ack() {
    let mut bench = reno(&[]).in_recovery();
    assert_eq!(bench.ack(10), [], "11 is not resent");
    assert_eq!(bench.sender.cwnd(), 4.25);
    assert_eq!(bench.sender.tcb.inflation, 0);
    // Within the window of the last reduction there is no second fast retransmit, and no inflation either.
    assert_eq!(bench.duplicates(12), vec![vec![0; 0]; 12]);
    assert_eq!(bench.cwnd_and_ssthresh(), (4.25, 4.0));
}

#[test]
fn newreno_stays_in_recovery_deflates_and_resends_the_next_hole() {
    let mut bench = newreno(&[]).in_recovery();
    assert_eq!(bench.duplicates(5), [vec![], vec![], vec![], vec![17], vec![18]]);
    // 8 have left, 2 of them are acknowledged and one is added back: 7; 4 + 7 from 9 on reach 19.
    assert_eq!(bench.ack(8), [9, 19]);
    assert_eq!((bench.sender.cwnd(), bench.sender.tcb.inflation), (4.0, 7));
    assert_eq!(bench.duplicates(2), [[20], [21]]);
    // 16 was the highest segment sent at the loss: all of it is acknowledged, recovery is over.
    assert_eq!(bench.ack(18), [22]);
    assert_eq!((bench.cwnd_and_ssthresh(), bench.sender.tcb.inflation), ((4.25, 4.0), 0));
}

#[test]
fn newreno_deflates_the_window_itself_when_more_is_acknowledged_than_has_left() {
    // Window 4 and 3 that have left; 3, 4 and 9 segments are acknowledged.
    for (ack, cwnd, released) in [(9, 4.0, vec![10]), (10, 3.0, vec![11]), (15, 1.0, vec![16, 17])] {
        let mut bench = newreno(&[]).in_recovery();
        assert_eq!(bench.ack(ack), released);
        assert_eq!((bench.sender.cwnd(), bench.sender.tcb.inflation), (cwnd, 1));
    }
}

#[test]
fn newreno_leaves_at_exactly_the_highest_segment_sent_at_the_loss() {
    let mut bench = newreno(&[]).in_recovery();
    assert_eq!(bench.ack(15), [16, 17]);
    assert_eq!(bench.ack(16), [18], "cwnd 1 opens to 2");
    assert_eq!(bench.cwnd_and_ssthresh(), (2.0, 4.0));
}

#[test]
fn newreno_sends_at_most_two_segments_per_duplicate() {
    let mut bench = newreno(&[]).in_recovery();
    bench.sender.tcb.inflation = 11; // with the next duplicate the window reaches 22
    assert_eq!(bench.duplicates(4), [vec![17, 18], vec![19, 20], vec![21, 22], vec![23, 24]]);
}

#[test]
fn the_first_data_segment_is_repaired_without_a_timeout() {
    let mut bench = reno(&[]).grown(0);
    assert_eq!(bench.duplicates(3), [[3], [4], [1]]);
    assert_eq!(bench.cwnd_and_ssthresh(), (1.0, 2.0));
}

#[test]
fn only_the_syn_through_allows_a_fast_retransmit_even_after_its_timeout() {
    let mut bench = reno(&[]);
    bench.open();
    assert_eq!(bench.timeout(), [0]);
    assert_eq!(bench.ack(0), [1]);
    assert_eq!(bench.duplicates(3), [[2], [3], [1]]);
}

#[test]
fn a_reno_sender_still_in_recovery_may_retransmit_again_and_newreno_not() {
    let again = |mut bench: Bench| {
        bench.sender.tcb.duplicate_acks = 2;
        bench.duplicates(1)
    };
    assert_eq!(again(reno(&[]).in_recovery()), [[7]]);
    assert_eq!(again(newreno(&[]).in_recovery()), [[]]);
}

#[test]
fn after_close_nothing_new_is_sent_but_losses_are_repaired() {
    let mut bench = reno(&[]).grown(6);
    bench.sender.close();
    assert_eq!(bench.ack(7), []);
    assert_eq!(bench.duplicates(3), [vec![], vec![], vec![8]]);
    assert_eq!(bench.timeout(), [8]);
    assert_eq!([bench.ack(8), bench.ack(9)], [vec![9, 10], vec![11]], "ssthresh 2: from there by 1/cwnd");
    assert_eq!(bench.ack(14), []);
    assert_eq!((bench.sender.deadline(), bench.sender.timeouts()), (Time::NEVER, 1));
}

#[test]
fn rfc_starts_with_ten_segments_and_a_timeout_of_a_second() {
    let mut bench = rfc(&[]);
    assert_eq!(bench.open(), [0]);
    assert_eq!(bench.sender.deadline(), ms(1000));
    assert_eq!(bench.ack(0), (1..=10).collect::<Vec<_>>());
    assert_eq!(bench.sender.cwnd(), 10.0);
}

#[test]
fn rfc_halves_the_flight_and_goes_to_ssthresh() {
    let mut bench = rfc(&[("limited_transmit", "false")]).grown(1);
    assert_eq!(bench.sender.tcb.flight(), 11);
    assert_eq!(bench.duplicates(3), [vec![], vec![], vec![2]]);
    assert_eq!(bench.cwnd_and_ssthresh(), (5.5, 5.5));
}

#[test]
fn rfc_5681_leaves_limited_transmit_out_of_the_flight_it_halves() {
    // 10 segments in flight when the first was lost; the two sent by limited transmit do not count (section 3.2, step 2).
    let mut bench = rfc(&[]).grown(0);
    assert_eq!(bench.duplicates(3), [[11], [12], [1]]);
    assert_eq!(bench.cwnd_and_ssthresh(), (5.0, 5.0));
}

#[test]
fn rfc_5681_leaves_recovery_with_a_window_of_ssthresh_and_rfc_6582_with_no_more() {
    let after_recovery = |variant| {
        let mut bench = bench(variant, Profile::Rfc, &[]).grown(0);
        bench.duplicates(9);
        bench.ack(12); // the highest segment sent at the loss
        bench.cwnd_and_ssthresh()
    };
    let (cwnd, ssthresh) = after_recovery(TcpVariant::Reno);
    assert_eq!(cwnd, ssthresh);
    let (cwnd, ssthresh) = after_recovery(TcpVariant::NewReno);
    assert!(cwnd <= ssthresh, "{cwnd} > {ssthresh}");
}

#[test]
fn duplicates_after_close_invent_no_segment() {
    let mut bench = reno(&[("careful", "false")]).grown(1);
    bench.sender.close();
    bench.ack(4);
    assert_eq!(bench.duplicates(4), vec![vec![0; 0]; 4]);
    let mut bench = reno(&[]);
    bench.open();
    bench.sender.close();
    bench.ack(0);
    assert_eq!(bench.duplicates(4), vec![vec![0; 0]; 4], "duplicates of a SYN that was sent again too early");
}

#[test]
fn without_a_syn_rfc_6582_repairs_a_lost_segment_0_without_a_timeout() {
    let mut bench = rfc(&[("syn", "false")]);
    bench.open();
    for _ in 0..3 {
        bench.sender.on_ack(Ack::default(), bench.now, &bench.params, &mut bench.wire);
    }
    assert_eq!(bench.sent(), [10, 11, 0]);
}

#[test]
fn a_finite_transfer_ends_with_its_last_segment() {
    let mut bench = reno(&[]);
    assert!(!bench.sender.is_done(), "not before it is opened");
    bench.sender.open(Some(3), bench.now, &bench.params, &mut bench.wire);
    assert_eq!((bench.sent(), bench.sender.is_done()), (vec![0], false));
    assert_eq!([bench.ack(0), bench.ack(1), bench.ack(2)], [vec![1, 2], vec![3], vec![]]);
    assert!(!bench.sender.is_done());
    assert_eq!(bench.ack(3), []);
    assert_eq!((bench.sender.is_done(), bench.sender.deadline()), (true, Time::NEVER));
    bench.sender.open(Some(2), bench.now, &bench.params, &mut bench.wire);
    assert_eq!((bench.sent(), bench.sender.is_done()), (vec![4, 5], false), "two more");
}

#[test]
fn without_a_syn_a_finite_transfer_begins_with_segment_0() {
    let mut bench = reno(&[("syn", "false"), ("initial_window", "9 packets")]);
    bench.sender.open(Some(3), bench.now, &bench.params, &mut bench.wire);
    assert_eq!(bench.sent(), [0, 1, 2]);
    assert_eq!((bench.ack(2), bench.sender.is_done()), (vec![], true));
}

#[test]
fn data_that_are_offered_later_are_sent_as_they_come() {
    let mut bench = reno(&[("initial_window", "4 packets")]);
    let offer = |bench: &mut Bench, segments, pause| {
        bench.sender.offer(segments, Span::from_millis(pause), bench.now, &bench.params, &mut bench.wire);
        bench.sent()
    };
    assert_eq!(offer(&mut bench, 2, 0), [0]);
    assert_eq!(offer(&mut bench, 1, 0), [], "the SYN is outstanding");
    assert_eq!(bench.ack(0), [1, 2, 3]);
    assert_eq!((offer(&mut bench, 3, 0), bench.ack(1)), (vec![4], vec![5, 6]), "the window of four, then six");
    assert_eq!((bench.ack(6), bench.sender.is_done()), (vec![], true));
    // A pause longer than a timeout brings the window down to the initial one.
    assert_eq!(bench.sender.cwnd(), 6.0);
    assert_eq!(offer(&mut bench, 9, 60_000), [7, 8, 9, 10]);
}

#[test]
fn beyond_slow_start_a_rate_limited_sender_gets_one_segment_above_its_flight() {
    let mut bench = rfc(&[("rate_limited_increase", "true"), ("initial_window", "4 packets")]);
    bench.sender.offer(4, Span::ZERO, bench.now, &bench.params, &mut bench.wire);
    (0..5).for_each(|seq| drop(bench.ack(seq)));
    assert_eq!(bench.sender.cwnd(), 8.0, "slow start: twice the flight of four");
    bench.sender.tcb.cc.window = crate::cc::Window { cwnd: 6.0, ssthresh: 6.0 };
    let mut seq = 4;
    for _ in 0..20 {
        bench.sender.offer(1, Span::ZERO, bench.now, &bench.params, &mut bench.wire);
        seq += 1;
        bench.ack(seq);
    }
    assert_eq!(bench.sender.cwnd(), 6.0, "reduced to six, of which one has been used since");
    for _ in 0..4 {
        bench.sender.offer(6, Span::ZERO, bench.now, &bench.params, &mut bench.wire);
        (0..6).for_each(|_| {
            seq += 1;
            drop(bench.ack(seq));
        });
    }
    assert!((6.9..=7.0).contains(&bench.sender.cwnd()), "{}: a flight of six and one", bench.sender.cwnd());
}

#[test]
fn unlimited_data_are_done_only_after_close() {
    let mut bench = reno(&[]).grown(6);
    bench.sender.close();
    bench.ack(13);
    assert!(!bench.sender.is_done(), "14 is outstanding");
    bench.ack(14);
    assert!(bench.sender.is_done());
}

#[test]
fn data_are_sent_again_for_ever() {
    let mut bench = rfc(&[("syn_retries", "2")]).grown(0);
    (0..20).for_each(|_| assert_eq!(bench.timeout(), [1]));
    assert!(!bench.sender.has_failed());
}
