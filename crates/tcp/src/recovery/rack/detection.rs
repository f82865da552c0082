//! Detection of lost segments (RFC 8985, section 6).

use super::outstanding::OutstandingSegments;
use crate::ack::Ack;
use crate::cc::LawAdapter;
use crate::params::TcpParams;
use aqmlab_core::{Span, Time};

/// The state of detection: the segments delivered. Names are those of section 5.2.
#[derive(Clone, Debug, Default)]
pub(super) struct Detection {
    /// RACK.xmit_ts and RACK.end_seq: of the segment sent last among those delivered.
    xmit_ts: Time,
    end_seq: u32,
    /// RACK.rtt: the round-trip time of the segment delivered last, in the order in which Linux looks at an ACK: those SACKed, then
    /// those acknowledged, each from the lowest up (`tcp_rack_advance`).
    rtt: Span,
    /// RACK.min_RTT, over the whole connection.
    min_rtt: Option<Span>,
    /// RACK.reordering_seen.
    pub reordering_seen: bool,
    /// The farthest that a segment has come behind one that was sent later, segments (`reordering`).
    reordering: u32,
    /// A segment has been delivered that tells of others since an ACK was last asked what is lost (`rack.advanced`): steps 1 and
    /// 2 have not put aside all.
    pub advanced: bool,
    window: ReorderingWindow,
}

/// The steps of the reordering window, each a quarter of the least round trip (`tcp_rack_update_reo_wnd` in Linux, as are the names
/// in parentheses).
#[derive(Clone, Copy, Debug, Default)]
struct ReorderingWindow {
    /// Beyond the first (`reo_wnd_steps`).
    more: u8,
    /// Recoveries after which there is one again (`reo_wnd_persist`).
    persist: u8,
    /// A segment has arrived twice, which reordering may have caused (`dsack_seen`).
    has_duplicate: bool,
    /// Time of the last step: what was sent before does not make another.
    stepped: Time,
}

/// The most that `reordering` becomes (`tcp_max_reordering`).
const FARTHEST: u32 = 300;

/// Recoveries for which the window stays wide (`TCP_RACK_RECOVERY_THRESH`).
const PERSIST: u8 = 16;

impl ReorderingWindow {
    /// Segments have arrived, of which the last was sent at that time.
    fn on_delivered(&mut self, sent: Time, now: Time) {
        self.has_duplicate &= sent >= self.stepped;
        if std::mem::take(&mut self.has_duplicate) {
            (self.more, self.persist, self.stepped) = (self.more.saturating_add(1).min(254), PERSIST, now);
        } else if self.persist == 0 {
            self.more = 0;
        }
    }
}

/// The outcome of an ACK, with the segments found lost at it.
#[derive(Default)]
pub(super) struct AckOutcome {
    /// The first segment not acknowledged before it.
    pub prior_una: u32,
    /// It acknowledges something cumulatively.
    pub advances: bool,
    /// Segments in the network before it.
    pub was_in_flight: u32,
    /// Segments delivered.
    pub delivered: u32,
    /// Time at which the last of those sent once was sent.
    pub once_at: Option<Time>,
    /// Among them one that was sent once, before the last reduction.
    pub has_original: bool,
    /// It echoes the timestamp of a segment that was not sent again.
    pub is_original: bool,
    /// It is the answer to a segment that had arrived before.
    pub is_duplicate: bool,
    /// Among them one that is SACKed.
    pub has_sacked: bool,
    /// Round-trip times of the first and the last of those sent once.
    pub rtt: Option<(Span, Span)>,
    /// Time at which the last of those sent again was sent.
    pub resent_at: Option<Time>,
    /// Segments found lost.
    pub lost: u32,
    /// One-way delay of the segment that caused it; zero unless the law asks for it.
    pub delay: Span,
}

impl Detection {
    /// Section 6.2, steps 1 to 3: takes in an ACK. `prior_una` is the first segment not acknowledged before it, `recover` what was
    /// next to be sent at the last reduction. `law` is told of the segments delivered.
    pub fn on_ack(
        &mut self,
        board: &mut OutstandingSegments,
        ack: &Ack,
        prior_una: u32,
        recover: u32,
        now: Time,
        mut law: Option<&mut LawAdapter>,
    ) -> AckOutcome {
        let mut outcome = AckOutcome {
            prior_una,
            advances: ack.next > prior_una,
            was_in_flight: board.in_flight(),
            is_original: !ack.is_resent,
            is_duplicate: ack.dsack.is_some(),
            delay: ack.delay,
            ..AckOutcome::default()
        };
        let top = board.top();
        let (mut late, mut sent_last, mut once_last) = (top, Time::ZERO, Time::ZERO);
        // Those that step 2 leaves: the one sent last, and the one looked at last with its round-trip time.
        let (mut is_told, mut newest, mut looked_at) = (false, (Time::ZERO, 0), (0, Span::ZERO));
        board.take(ack, |seq, sent| {
            if let Some(law) = &mut law {
                law.on_delivered(seq);
            }
            let rtt = now.since(sent.time);
            sent_last = sent_last.max(sent.time);
            outcome.delivered += 1;
            outcome.has_sacked |= seq >= ack.next;
            if sent.was_resent {
                outcome.resent_at = Some(sent.time);
                let is_first_copy = seq < ack.next && !ack.is_resent; // `tcp_skb_spurious_retrans`
                if is_first_copy || self.min_rtt.is_some_and(|least| rtt < least) {
                    return; // step 2
                }
            } else {
                outcome.rtt = Some((outcome.rtt.map_or(rtt, |(first, _)| first), rtt));
                outcome.has_original |= seq < recover;
                once_last = once_last.max(sent.time);
                late = late.min(seq);
            }
            is_told = true;
            newest = newest.max((sent.time, seq));
            let turn = u64::from(seq < ack.next) << u32::BITS | u64::from(seq);
            if turn >= looked_at.0 {
                looked_at = (turn, rtt);
            }
        });
        if late < top {
            self.on_late(late, board.top()); // step 3
        }
        if let Some((_, last)) = outcome.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(last, |least| least.min(last))); // step 1
            outcome.once_at = Some(once_last);
        }
        if outcome.delivered > 0 {
            self.window.on_delivered(sent_last, now);
        }
        if is_told {
            self.rtt = looked_at.1;
            self.advanced = true;
            (self.xmit_ts, self.end_seq) = (self.xmit_ts, self.end_seq).max(newest);
        }
        outcome
    }

    /// Step 4: RACK.reo_wnd, at most the smoothed round-trip time (`tcp_rack_reo_wnd` in Linux, which keeps eight times that).
    /// Until reordering has been seen, three segments SACKed are as good as time.
    pub fn reo_wnd(&self, board: &OutstandingSegments, in_recovery: bool, srtt: Span, params: &TcpParams) -> Span {
        if !self.reordering_seen && (in_recovery || board.sacked() >= params.dup_ack_threshold) {
            return Span::ZERO;
        }
        let steps = u64::from(self.window.more) + 1;
        Span(steps * (self.min_rtt.unwrap_or_default().0 / 4)).min(srtt)
    }

    /// A segment has arrived twice that no probe has sent again (`tcp_dsack_seen`).
    pub fn on_duplicate(&mut self) {
        self.window.has_duplicate |= self.reordering_seen;
    }

    /// A segment has come late, behind others up to `top` (`tcp_check_sack_reordering`).
    pub fn on_late(&mut self, seq: u32, top: u32) {
        if seq < top {
            self.reordering_seen = true;
            self.reordering = self.reordering.max(top - seq).min(FARTHEST);
        }
    }

    /// The window grows with what is delivered in any order, as reordering is frequent (`tcp_may_raise_cwnd`).
    pub fn counts_any_order(&self, params: &TcpParams) -> bool {
        self.reordering > params.dup_ack_threshold
    }

    /// A recovery is over (`tcp_try_undo_recovery`).
    pub fn on_recovered(&mut self) {
        self.window.persist = self.window.persist.saturating_sub(1);
    }

    /// It has been undone: all that was sent again had arrived before (`tcp_try_undo_dsack`).
    pub fn on_needless(&mut self) {
        self.window.persist = (self.window.persist + 1).min(PERSIST);
    }

    /// Step 5: marks what is lost and tells the law of each. Returns how many segments, and when the others are.
    pub fn detect_loss(
        &self,
        board: &mut OutstandingSegments,
        reo_wnd: Span,
        now: Time,
        law: Option<&mut LawAdapter>,
    ) -> (u32, Option<Time>) {
        let patience = self.rtt + reo_wnd;
        let waiting = board.mark_lost((self.xmit_ts, self.end_seq), |sent| sent + patience <= now);
        tell(law, board.found(), now);
        (board.found().len() as u32, waiting.map(|sent| sent + patience))
    }

    /// RFC 6675, section 4, IsLost: marks what `threshold` segments beyond have arrived of, and tells the law. Returns how many.
    pub fn count_loss(
        &self,
        board: &mut OutstandingSegments,
        threshold: u32,
        now: Time,
        law: Option<&mut LawAdapter>,
    ) -> u32 {
        board.mark_lost_by_count(threshold);
        tell(law, board.found(), now);
        board.found().len() as u32
    }

    /// RACK.min_RTT; zero before the first.
    pub fn min_rtt(&self) -> Span {
        self.min_rtt.unwrap_or_default()
    }

    /// Section 6.3: the retransmission timer has expired. The first segment is lost, and those sent long enough ago, or without
    /// detection by time all.
    pub fn on_timeout(&self, board: &mut OutstandingSegments, by_time: bool, now: Time, law: Option<&mut LawAdapter>) {
        board.mark_lost_at_timeout(|sent| !by_time || sent + self.rtt <= now);
        tell(law, board.found(), now);
    }
}

/// Tells the law of segments found lost.
fn tell(law: Option<&mut LawAdapter>, lost: &[u32], now: Time) {
    if let Some(law) = law {
        lost.iter().for_each(|&seq| law.on_lost(seq, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_core::ParamSet;

    #[test]
    fn the_reordering_window_is_a_quarter_of_the_least_round_trip_and_at_most_the_smoothed_one() {
        let params = TcpParams::defaults();
        let (detection, board) = (
            Detection { min_rtt: Some(Span::from_millis(40)), ..Detection::default() },
            OutstandingSegments::default(),
        );
        let window = |srtt| detection.reo_wnd(&board, false, Span::from_millis(srtt), &params);
        assert_eq!([window(45), window(8)], [Span::from_millis(10), Span::from_millis(8)]);
    }

    #[test]
    fn a_duplicate_widens_the_window_once_a_round_trip_until_sixteen_recoveries_are_over() {
        let params = TcpParams::defaults();
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let least = Some(Span::from_millis(40));
        let mut detection = Detection { min_rtt: least, ..Detection::default() };
        let board = OutstandingSegments::default();
        let window = |detection: &Detection| detection.reo_wnd(&board, false, Span::from_millis(35), &params).0;
        let ms = Span::from_millis(1).0;
        detection.on_duplicate();
        detection.window.on_delivered(at(0), at(40));
        assert_eq!(window(&detection), 10 * ms, "no reordering has been seen");
        detection.reordering_seen = true;
        // Two within a round trip, then one of what was sent after the first: 10, 20, 20 and 30 ms, at most the 35 of the smoothed.
        let mut next = |sent, now| {
            detection.on_duplicate();
            detection.window.on_delivered(at(sent), at(now));
            window(&detection) / ms
        };
        assert_eq!([next(20, 60), next(40, 80), next(60, 100), next(100, 140)], [20, 20, 30, 35]);
        (0..15).for_each(|_| detection.on_recovered());
        detection.window.on_delivered(at(200), at(240));
        assert_eq!(window(&detection), 35 * ms);
        detection.on_recovered();
        detection.window.on_delivered(at(240), at(280));
        assert_eq!(window(&detection), 10 * ms);
    }

    #[test]
    #[allow(clippy::single_range_in_vec_init)] // lists of blocks
    fn the_round_trip_is_that_of_the_segment_acknowledged_last() {
        let at = |ms| Time::ZERO + Span::from_millis(ms);
        let (mut board, mut detection) = (OutstandingSegments::default(), Detection::default());
        (0..5).for_each(|seq| board.on_sent(seq, at(seq.into())));
        let mut rtt = |board: &mut OutstandingSegments, next, blocks: &[std::ops::Range<u32>], is_resent, now| {
            let ack = Ack { next, sack: crate::ack::Sack::listing(blocks), is_resent, ..Ack::default() };
            detection.on_ack(board, &ack, 0, 0, at(now), None);
            detection.rtt.0 / Span::from_millis(1).0
        };
        assert_eq!(rtt(&mut board, 0, &[3..4], false, 43), 40);
        // 0 and 1 are acknowledged at the same time as 4 is SACKed, which was sent later.
        assert_eq!(rtt(&mut board, 2, &[3..5], false, 45), 44);
        board.on_sent(2, at(50));
        // The original of 2 came after all: what was sent at 50 ms tells nothing.
        assert_eq!(rtt(&mut board, 5, &[], false, 95), 44);
    }
}
