//! The ACKs of a receiver of Linux that do not wait, and how long the others do (net/ipv4/tcp_input.c).
//!
//! The receive window is followed for this only. Linux lets it grow ahead of what arrives; what limits a sender here is the
//! constant `window`. Its application reads at once.

use crate::params::TcpParams;
use aqmlab_core::{Span, Time};

/// Bytes of a full segment with timestamps.
const MSS: u32 = 1448;
/// The window that a receiver offers at first (`tcp_select_initial_window`): half of 128 KiB (`tcp_rmem`) in whole segments.
const FIRST_WINDOW: u32 = 45 * MSS;
/// What it may grow to when the first segment has shown that a buffer of 2304 bytes holds one (`tcp_measure_rcv_mss`): 160/256 of
/// 128 KiB.
const FIRST_CLAMP: u32 = 81_920;
/// Bytes that it expects in the first round trip (`tcp_init_buffer_space`).
const FIRST_ROUND: u32 = 10 * MSS;
/// A nearer sender than this lets the window grow more slowly (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: Span = Span::from_millis(1);
/// ACKs of segments out of order that are sent at once while the same segment is missing (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u32 = 3;
/// Longest wait of the next ones (`tcp_comp_sack_delay_ns`), and the most that wait together (`tcp_comp_sack_nr`).
const COMPRESSION: Span = Span::from_millis(1);
const MOST_COMPRESSED: u32 = 44;

/// The longest wait of a delayed ACK (`TCP_DELACK_MAX`).
const LONGEST_WAIT: Span = Span::from_millis(200);

/// When a segment is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AckTime {
    /// At once.
    Now,
    /// With the next segment, or after this time.
    Delayed(Span),
    /// Together with others after this time.
    Compressed(Span),
}

/// A segment that has arrived, and what the receiver holds then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ArrivedSegment {
    /// Its number, and when it was sent.
    pub seq: u32,
    pub sent_at: Time,
    /// The segment expected next, before it and with it.
    pub before: u32,
    pub next: u32,
    /// One past the highest segment received, and how many are held out of order.
    pub end: u32,
    pub held: u32,
    /// It is marked, and the sender has not been told of a mark yet (RFC 3168).
    pub is_new_mark: bool,
    /// It is not ECN-capable where others are.
    pub lacks_ect: bool,
}

/// Segments still to be acknowledged at once, and what gives more of them.
#[derive(Clone, Debug)]
pub(crate) struct QuickAcks {
    left: u32,
    /// Time of the last segment in order; the first is the SYN.
    last: Time,
    /// Between the SYN and the first data; zero before.
    rtt: Span,
    /// Time at which the SYN was sent, and the time between that and the sending of the first data: nearly what this host has measured
    /// between its answer and the ACK of that, which is as short as the SYN (`tcp_synack_rtt_meas`).
    syn_sent: Time,
    handshake: Span,
    /// What is expected to pass between two segments, beyond the least wait of a delayed ACK (`ato` less `TCP_ATO_MIN`).
    patience: Span,
    /// The receive window, and what it may grow to (`rcv_ssthresh`, `window_clamp`), bytes.
    window: u32,
    clamp: u32,
    /// Most bytes of a round trip so far.
    space: u32,
    /// Time at which this round trip began, and the segment expected then.
    round: (Time, u32),
    /// ACKs sent out of order while `missing` was the segment expected (`dup_ack_counter`, `compressed_ack_rcv_nxt`).
    duplicates: u32,
    missing: u32,
    compressed: u32,
    /// Segments that the last ACK has acknowledged.
    pub acked: u32,
    /// Segments have been ECN-capable.
    pub has_seen_ect: bool,
}

impl Default for QuickAcks {
    fn default() -> Self {
        Self {
            left: 0,
            last: Time::ZERO,
            rtt: Span::ZERO,
            syn_sent: Time::ZERO,
            handshake: Span::ZERO,
            patience: Span::ZERO,
            window: FIRST_WINDOW,
            clamp: FIRST_CLAMP,
            space: FIRST_ROUND,
            round: (Time::ZERO, 0),
            duplicates: 0,
            missing: 0,
            compressed: 0,
            acked: 0,
            has_seen_ect: false,
        }
    }
}

impl QuickAcks {
    /// When this segment is acknowledged (`__tcp_ack_snd_check`). `is_second`: another one waits for its ACK. At once are those at
    /// the start, after a pause longer than a timeout (`tcp_event_data_recv`), after a mark and of those sent again
    /// (`tcp_data_ecn_check`), and while the receive window grows (`tcp_grow_window`).
    pub fn on_segment(&mut self, segment: &ArrivedSegment, is_second: bool, now: Time, params: &TcpParams) -> AckTime {
        let &ArrivedSegment { seq, before, next, end, .. } = segment;
        if seq == 0 && params.syn {
            (self.last, self.syn_sent) = (now, segment.sent_at);
            return AckTime::Now;
        }
        if seq < before {
            self.raise(params.quick_acks, params); // `tcp_data_queue`
        } else {
            self.on_data(segment, now, params);
        }
        let is_ready = next > before + 1 || next > before && (is_second || end == next && segment.held > 0);
        if self.left > 0 || is_ready {
            return AckTime::Now;
        }
        if end > next { self.compress(next) } else { AckTime::Delayed(self.wait(params)) }
    }

    /// How long the next segment is waited for: no longer than a round trip (`tcp_send_delayed_ack`).
    fn wait(&self, params: &TcpParams) -> Span {
        let least = params.ack_delay;
        let most = Span(params.min_rto.0.saturating_sub(params.clock.0)).min(LONGEST_WAIT); // `tcp_delack_max`
        (least + self.patience).min(self.handshake.max(least)).min(most)
    }

    /// It has not come: the next one is waited for longer (`tcp_delack_timer_handler`).
    pub fn on_timer(&mut self, params: &TcpParams) {
        if self.compressed > 0 {
            return; // ACKs of segments out of order are due
        }
        let inflated = Span(2 * (params.ack_delay + self.patience).0).min(self.timeout(params)).min(LONGEST_WAIT);
        self.patience = Span(inflated.0.saturating_sub(params.ack_delay.0));
    }

    /// Others than the first few while a segment is missing wait for each other (SACK compression).
    fn compress(&mut self, missing: u32) -> AckTime {
        if self.missing != missing {
            (self.missing, self.duplicates) = (missing, 0);
        }
        if self.duplicates < DUPLICATES || self.compressed >= MOST_COMPRESSED {
            self.duplicates = (self.duplicates + 1).min(DUPLICATES);
            return AckTime::Now;
        }
        self.compressed += 1;
        AckTime::Compressed(Span(self.rtt.0 / 100 * 33).min(COMPRESSION)) // `tcp_comp_sack_rtt_percent`
    }

    /// An ACK is sent. With the last of those that are sent at once the wait is the least again (`tcp_dec_quickack_mode`).
    pub fn on_ack(&mut self) {
        self.compressed = 0;
        if self.left == 1 {
            self.patience = Span::ZERO;
        }
        self.left = self.left.saturating_sub(1);
    }

    /// The next segments are acknowledged at once (`tcp_incr_quickack`): no more than half a window.
    fn raise(&mut self, most: u32, params: &TcpParams) {
        let window = (params.window.0 as u32).min(self.window / MSS);
        self.left = self.left.max(most.min((window / 2).max(2)));
    }

    fn on_data(&mut self, segment: &ArrivedSegment, now: Time, params: &TcpParams) {
        let &ArrivedSegment { seq, before, next, end, .. } = segment;
        let since = now.since(self.last);
        if self.rtt == Span::ZERO {
            self.rtt = since.max(Span(1));
            let handshake = segment.sent_at.since(self.syn_sent);
            self.handshake = if handshake == Span::ZERO { self.rtt } else { handshake };
            self.round = (now, seq);
            self.raise(params.quick_acks, params);
        } else if seq == before {
            self.expect(since, params);
        }
        if segment.is_new_mark || segment.lacks_ect {
            self.raise(2, params);
            self.patience = Span::ZERO;
        }
        let clamp = self.clamp.min(most(params));
        let room = clamp.saturating_sub(self.window + MSS * (segment.held + 1));
        if room > 0 {
            self.window += room.min(2 * MSS);
            self.left |= 1; // so that sixteen that are left stay sixteen
        }
        if seq == before {
            self.last = now;
            self.adjust_space(next, end, now, params);
        } else {
            self.grow_room(self.space, end - next, params); // `tcp_data_queue_ofo`
        }
    }

    /// A segment has come `since` after the one before: the wait nears twice that, and is the least again where they follow each
    /// other closely (`tcp_event_data_recv`).
    fn expect(&mut self, since: Span, params: &TcpParams) {
        let least = params.ack_delay;
        if since.0 <= least.0 / 2 {
            self.patience = Span(self.patience.0 / 2);
        } else if since < least + self.patience {
            self.patience = Span((self.patience.0 + 2 * since.0 - least.0) / 2);
        } else if since > self.timeout(params) {
            self.raise(params.quick_acks, params);
        }
    }

    /// The receiver's own retransmission timeout, of the round-trip time of the handshake.
    fn timeout(&self, params: &TcpParams) -> Span {
        self.handshake + Span(2 * self.handshake.0).max(params.min_rto)
    }

    /// After each round trip that has brought more than any before, the window may grow (`tcp_rcv_space_adjust`).
    fn adjust_space(&mut self, next: u32, end: u32, now: Time, params: &TcpParams) {
        let (began, from) = self.round;
        if now.since(began) < self.rtt {
            return;
        }
        let copied = next.saturating_sub(from).saturating_mul(MSS);
        if copied > self.space {
            self.grow_room(copied, end - next, params);
        }
        self.round = (now, next);
    }

    /// Room for what comes in the next round trip, when so many bytes came in this one and so many segments lie beyond one that
    /// is missing (`tcp_rcvbuf_grow`).
    fn grow_room(&mut self, copied: u32, beyond: u32, params: &TcpParams) {
        let window = 2 * u64::from(copied);
        let more = match self.rtt < LOW_RTT {
            true => (u128::from(window) * u128::from(self.rtt.0) / u128::from(LOW_RTT.0)) as u64,
            false => 2 * window * u64::from(copied - self.space) / u64::from(self.space),
        };
        let room = (window + more + u64::from(beyond) * u64::from(MSS)).min(most(params).into());
        self.clamp = self.clamp.max(room as u32);
        self.space = copied;
    }
}

/// The largest window of the receiver, bytes (`tcp_rmem`).
fn most(params: &TcpParams) -> u32 {
    (params.window.0 * f64::from(MSS)).min(f64::from(1 << 30)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Profile;
    use aqmlab_core::ParamSet;

    fn linux() -> TcpParams {
        let (mut params, mut problems) = (TcpParams::defaults(), Vec::new());
        params.read("tcp", Profile::Linux.settings().iter().copied(), &mut problems);
        params
    }

    /// A segment is acknowledged at once.
    fn is_quick(acks: &mut QuickAcks, segment: &ArrivedSegment, now: Time, params: &TcpParams) -> bool {
        let is_quick = acks.on_segment(segment, false, now, params) == AckTime::Now;
        if is_quick {
            acks.on_ack();
        }
        is_quick
    }

    /// The ACK times of segments in order from 1 on: the SYN at 0, the first data 40 ms later, then as `ms` says. Every ACK but
    /// the delayed ones is sent at once.
    fn in_order(count: u32, ms: impl Fn(u32) -> u64) -> Vec<bool> {
        let params = linux();
        let mut acks = QuickAcks::default();
        acks.on_segment(&ArrivedSegment { next: 1, end: 1, ..ArrivedSegment::default() }, false, Time::ZERO, &params);
        (1..=count)
            .map(|seq| {
                let segment =
                    ArrivedSegment { seq, before: seq, next: seq + 1, end: seq + 1, ..ArrivedSegment::default() };
                is_quick(&mut acks, &segment, Time::ZERO + Span::from_millis(ms(seq)), &params)
            })
            .collect()
    }

    #[test]
    fn the_first_and_those_after_a_pause() {
        // One every 10 ms: four in a round trip, no more than expected. Six while the window grows, and sixteen. The 31st comes 300 ms after the 30th: more than 40 + 200.
        let quick = in_order(50, |seq| 40 + 10 * u64::from(seq) + if seq > 30 { 300 } else { 0 });
        let expected: Vec<bool> = (1..=50).map(|seq| seq <= 22 || (31..=46).contains(&seq)).collect();
        assert_eq!(quick, expected);
    }

    #[test]
    fn a_window_that_grows_is_told_of_at_once() {
        // The first data come after 41 ms, and 41 more within a round trip. The window of 45 segments may grow to 56 less one:
        // by 2 with each of five and a part with the sixth, then sixteen more are quick. At 82 ms 42 have come: 2*42 segments and
        // 2*84*32/10 = 537 (in bytes 537.6) more, 621 in all, so that it grows from 55.6 to 620.6 by 2 a segment. Then half as
        // many come, and it stays at that.
        let quick = in_order(500, |seq| if seq < 43 { 40 + u64::from(seq) } else { 82 + 2 * u64::from(seq - 42) });
        let counted = |quick: &[bool]| quick.iter().filter(|quick| **quick).count();
        assert_eq!([counted(&quick[..22]), counted(&quick[22..42]), counted(&quick[42..])], [22, 0, 283]);
    }

    #[test]
    fn a_segment_that_has_not_come_is_waited_for_longer_the_next_time() {
        let params = linux();
        let ms = Span::from_millis;
        let mut acks = QuickAcks { handshake: ms(100), ..QuickAcks::default() };
        assert_eq!(acks.wait(&params), ms(40));
        acks.on_timer(&params);
        assert_eq!(acks.wait(&params), ms(80));
        // 160 ms, but no longer than a round trip.
        acks.on_timer(&params);
        assert_eq!((acks.patience, acks.wait(&params)), (ms(120), ms(100)));
        // After 50 ms half of 160 and 50; after 5 ms half of 130 and 20, then half of 85 and 20.
        acks.expect(ms(50), &params);
        assert_eq!(acks.patience, ms(90));
        acks.expect(ms(5), &params);
        assert_eq!((acks.patience, acks.wait(&params)), (ms(45), ms(85)));
        acks.expect(ms(20), &params);
        assert_eq!(acks.wait(&params), Span::from_micros(62_500));
        acks.left = 2;
        acks.on_ack();
        assert_eq!(acks.wait(&params), Span::from_micros(62_500));
        acks.on_ack();
        assert_eq!((acks.left, acks.wait(&params)), (0, ms(40)), "the last of those sent at once");
        acks.handshake = ms(30);
        acks.on_timer(&params);
        assert_eq!(acks.wait(&params), ms(40), "no shorter than the least");
    }

    #[test]
    fn three_duplicates_at_once_and_then_one_a_millisecond() {
        let params = linux();
        let mut acks = QuickAcks { rtt: Span::from_millis(2), window: 2 * FIRST_CLAMP, ..QuickAcks::default() };
        let mut beyond = |seq, next, now| {
            let segment =
                ArrivedSegment { seq, before: next, next, end: seq + 1, held: 1, ..ArrivedSegment::default() };
            acks.on_segment(&segment, false, Time::ZERO + Span::from_millis(now), &params)
        };
        // A third of 2 ms is less than a millisecond.
        let late = AckTime::Compressed(Span::from_micros(660));
        assert_eq!(
            [12, 13, 14, 15, 16].map(|seq| beyond(seq, 11, 5)),
            [AckTime::Now, AckTime::Now, AckTime::Now, late, late]
        );
        assert_eq!([18, 19, 20, 21].map(|seq| beyond(seq, 17, 5)), [AckTime::Now, AckTime::Now, AckTime::Now, late]);
    }

    #[test]
    fn marks_and_what_is_sent_again_hurry_two() {
        let params = linux();
        let mut acks = QuickAcks {
            rtt: Span::from_millis(40),
            handshake: Span::from_millis(40),
            window: 2 * FIRST_CLAMP,
            ..QuickAcks::default()
        };
        let mut next = |seq, is_new_mark, lacks_ect| {
            let segment = ArrivedSegment {
                seq,
                before: seq,
                next: seq + 1,
                end: seq + 1,
                is_new_mark,
                lacks_ect,
                ..ArrivedSegment::default()
            };
            is_quick(&mut acks, &segment, Time::ZERO, &params)
        };
        assert_eq!(
            [next(1, false, false), next(2, true, false), next(3, false, false), next(4, false, false)],
            [false, true, true, false]
        );
        assert_eq!([next(5, false, true), next(6, false, false), next(7, false, false)], [true, true, false]);
    }
}
