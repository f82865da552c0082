//! The ACKs of a receiver of Linux that do not wait, and how long the others do (net/ipv4/tcp_input.c).
//!
//! The receive window grows ahead of what arrives, and limits the sender where it cannot: while a segment is missing, nothing is
//! read. Its application reads at once.

use crate::cc::rledbat::DrivenWindow;
use crate::linux::{self, TIMESTAMP_TICK};
use crate::params::TcpParams;
use aqmlab_core::{Span, Time};

/// Bytes of a full segment with timestamps.
const MSS: u32 = 1448;
/// The window at first (`tcp_init_buffer_space`): half of the room less a segment.
const FIRST_WINDOW: u32 = FIRST_ROOM / 2 - MSS;
/// Bytes of the kernel's memory that there is room for at first (`tcp_rmem`).
const FIRST_ROOM: u32 = 1 << 17;
/// What else the largest window is at least (`net.core.rmem_max`).
const RMEM_MAX: u64 = 212_992;
/// Most segments with one header (`MAX_SKB_FRAGS`).
const MOST_MERGED: u32 = 17;
/// Bytes that it expects in the first round trip (`tcp_init_buffer_space`).
const FIRST_ROUND: u32 = 10 * MSS;
/// A nearer sender than this lets the window grow more slowly (`tcp_rcvbuf_low_rtt`).
const LOW_RTT: Span = Span::from_millis(1);
/// ACKs of segments out of order that are sent at once while the same segment is missing (`TCP_FASTRETRANS_THRESH`).
const DUPLICATES: u32 = 3;
/// Longest wait of the next ones (`tcp_comp_sack_delay_ns`), and the most that wait together (`tcp_comp_sack_nr`).
const COMPRESSION: Span = Span::from_millis(1);
/// The timer may be that much late, and is (`tcp_comp_sack_slack_ns`).
const SLACK: Span = Span::from_micros(10);
const MOST_COMPRESSED: u32 = 44;

/// The longest wait of a delayed ACK (`TCP_DELACK_MAX`).
const LONGEST_WAIT: Span = Span::from_millis(200);

/// The time at which a segment is acknowledged.
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
    /// Its number, when it was sent, and whether it had been sent before.
    pub seq: u32,
    pub sent_at: Time,
    pub is_resent: bool,
    /// The segment expected next, before it and with it.
    pub before: u32,
    pub next: u32,
    /// One past the highest segment received.
    pub end: u32,
    /// The number that are held out of order, and of those that follow none.
    pub held: u32,
    pub runs: u32,
    /// It is held, and the one before it has not come.
    pub is_first_of_run: bool,
    /// It is marked, and the sender has not been told of a mark yet (RFC 3168).
    pub is_new_mark: bool,
    /// It is not ECN-capable where others are.
    pub lacks_ect: bool,
}

impl ArrivedSegment {
    /// Bytes of memory that are taken with it: it is not read yet, nor are those that it fills up to. Those out of order that follow
    /// each other have one header (`tcp_ooo_try_coalesce`).
    #[inline(always)]
    fn memory(&self, params: &TcpParams) -> u32 {
        if self.held == 0 && self.next == self.before + 1 {
            return params.segment_memory.0 as u32; // as most often
        }
        memory_of(self.next - self.before, self.held, self.runs, params)
    }
}

/// Bytes of memory of `in_order` segments that are not read yet, and of `held` ones out of order in `runs`. By value: then a segment
/// in order need not lie in memory.
#[inline(never)]
fn memory_of(in_order: u32, held: u32, runs: u32, params: &TcpParams) -> u32 {
    let filled = in_order.saturating_sub(1);
    let headers = runs + u32::from(in_order > 0) + u32::from(filled > 0);
    let headers = headers + (held + filled) / MOST_MERGED;
    let merged = (held + in_order).saturating_sub(headers);
    let bytes = [(headers, params.segment_memory), (merged, params.merged_memory)];
    bytes.map(|(count, each)| count.saturating_mul(each.0 as u32)).into_iter().fold(0, u32::saturating_add)
}

/// State of a Linux receiver: quick ACKs, the wait of delayed ACKs, round-trip time and receive window.
#[derive(Clone, Debug)]
pub(crate) struct LinuxReceiver {
    left: u32,
    /// Time of the last segment in order; the first is the SYN.
    last: Time,
    /// Between the SYN and the first data; zero before.
    rtt: Span,
    /// The round-trip time that data tell of, by the timestamps that they echo (`tcp_rcv_rtt_measure_ts`).
    smoothed: Span,
    /// What an ACK takes to the sender: until the first data are sent or, if these are lost, as long as the SYN took.
    back: Span,
    /// When the last ACK was sent.
    answered: Time,
    /// The timestamp that the last data have echoed (`rcv_rtt_last_tsecr`).
    echo: u64,
    /// Data have come in order, or the last of those that are acknowledged at once has been (`icsk_ack.ato`).
    has_begun: bool,
    /// Time at which the SYN was sent, and the time between that and the sending of the first data: nearly what this host has measured
    /// between its answer and the ACK of that, which is as short as the SYN (`tcp_synack_rtt_meas`).
    syn_sent: Time,
    handshake: Span,
    /// What is expected to pass between two segments, beyond the least wait of a delayed ACK (`ato` less `TCP_ATO_MIN`).
    patience: Span,
    /// The receive window (`rcv_ssthresh`), bytes.
    window: u32,
    /// The share of memory that is data, a half until the first segment has shown it, in parts of 256 (`tcp_measure_rcv_mss`).
    share: u32,
    /// Bytes of memory that there is room for (`sk_rcvbuf`), and that what is held takes, with the last segment.
    room: u32,
    taken: u32,
    /// The unit of what is offered, known with the first data.
    scale: WindowScale,
    /// The window that the last ACK has offered, and the segment expected then (`rcv_wnd`, `rcv_wup`).
    offered: u32,
    offered_at: u32,
    /// The ACK before had offered another one.
    pub has_new_window: bool,
    /// That window in an ACK, segments, once there are data; 0 before.
    pub rwnd: u32,
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
    /// The latest timestamp of a segment that was not beyond those (TS.Recent).
    stamp: Time,
    /// Segments have been ECN-capable.
    pub has_seen_ect: bool,
    /// The time at which the timer of the last delayed ACK is over, sent or not.
    pub delayed: Time,
    /// Time of the next look for a delayed ACK.
    pub looked_at: Time,
    /// Of a receiver that drives its sender: few have it, and it has no room in the others.
    pub rledbat: Option<DrivenWindow>,
}

impl Default for LinuxReceiver {
    fn default() -> Self {
        Self {
            left: 0,
            last: Time::ZERO,
            rtt: Span::ZERO,
            smoothed: Span::ZERO,
            back: Span::ZERO,
            answered: Time::ZERO,
            echo: 0,
            has_begun: false,
            syn_sent: Time::ZERO,
            handshake: Span::ZERO,
            patience: Span::ZERO,
            window: FIRST_WINDOW,
            share: 128,
            room: FIRST_ROOM,
            taken: 0,
            scale: WindowScale::default(),
            offered: FIRST_ROOM / 2 / MSS * MSS,
            offered_at: 0,
            has_new_window: false,
            rwnd: 0,
            space: FIRST_ROUND,
            round: (Time::ZERO, 0),
            duplicates: 0,
            missing: 0,
            compressed: 0,
            acked: 0,
            stamp: Time::ZERO,
            has_seen_ect: false,
            delayed: Time::ZERO,
            looked_at: Time::NEVER,
            rledbat: None,
        }
    }
}

impl LinuxReceiver {
    /// Before the first segment.
    pub fn new(rledbat: Option<DrivenWindow>) -> Self {
        Self { rledbat, ..Self::default() }
    }

    /// Before the first segment of another transfer.
    pub fn restart(&mut self) {
        *self = Self::new(self.rledbat.as_ref().map(DrivenWindow::restarted));
    }

    /// The time at which this segment is acknowledged (`__tcp_ack_snd_check`). `is_second`: another one waits for its ACK. At once are those at
    /// the start, after a pause longer than a timeout (`tcp_event_data_recv`), after a mark and of those sent again
    /// (`tcp_data_ecn_check`), and while the receive window grows (`tcp_grow_window`).
    #[inline(always)] // for each packet, at one place
    pub fn on_segment(&mut self, segment: &ArrivedSegment, is_second: bool, now: Time, params: &TcpParams) -> AckTime {
        let &ArrivedSegment { seq, before, next, end, .. } = segment;
        if seq == 0 && params.syn {
            (self.last, self.syn_sent) = (now, segment.sent_at);
            return AckTime::Now;
        }
        let memory = segment.memory(params);
        if seq < before {
            self.raise(params.quick_acks, params); // `tcp_data_queue`
        } else {
            self.on_data(segment, memory, now, params);
        }
        self.taken = memory;
        if next > before + 1 && end > next && self.select_window() < self.offered {
            (self.missing, self.duplicates) = (next, 1);
        }
        let is_ready = next > before + 1 || next > before && (is_second || end == next && segment.held > 0);
        if self.left > 0 || is_ready {
            return AckTime::Now;
        }
        if end > next { self.compress(next) } else { AckTime::Delayed(self.wait(params)) }
    }

    /// The connection is there: the first round trip begins (`tcp_init_buffer_space`).
    pub fn on_handshake_ack(&mut self, now: Time) {
        self.round = (now, 1);
    }

    /// Takes in the timestamp of a segment if it is due (RFC 7323, section 4.3). False if that is older than the last one by more
    /// than a tick: then the segment is not taken in (section 5, PAWS; `TCP_PAWS_WINDOW`).
    #[inline]
    pub fn take_stamp(&mut self, seq: u32, stamp: Time) -> bool {
        if stamp < self.stamp && stamp.0 / TIMESTAMP_TICK.0 + 1 < self.stamp.0 / TIMESTAMP_TICK.0 {
            return false;
        }
        if seq <= self.acked {
            self.stamp = self.stamp.max(stamp);
        }
        true
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

    /// The window to offer, in units of its scale (`__tcp_select_window`). An ACK that cannot offer what the last one has, as what
    /// is held takes too much, and leaves a segment missing, counts as a duplicate (`__tcp_ack_snd_check`).
    fn select_window(&mut self) -> u32 {
        let mut free = self.window_of(self.room.saturating_sub(self.taken));
        if free < self.window_of(self.room) / 2 {
            self.left = 0;
            free = self.scale.down(free);
        }
        self.scale.up(free.min(self.window))
    }

    /// The window for which there is room (`tcp_win_from_space`).
    fn window_of(&self, room: u32) -> u32 {
        (u64::from(room) * u64::from(self.share) / 256) as u32
    }

    /// Others than the first few while a segment is missing wait for each other (SACK compression).
    #[inline(never)]
    fn compress(&mut self, missing: u32) -> AckTime {
        if self.missing != missing {
            (self.missing, self.duplicates) = (missing, 0);
        }
        if self.duplicates < DUPLICATES || self.compressed >= MOST_COMPRESSED {
            self.duplicates = (self.duplicates + 1).min(DUPLICATES);
            return AckTime::Now;
        }
        self.compressed += 1;
        AckTime::Compressed(Span(self.rtt.0 / 100 * 33).min(COMPRESSION) + SLACK) // `tcp_comp_sack_rtt_percent`
    }

    /// The time at which a compressed ACK is sent: by its own timer, or by that of the last delayed ACK, which goes on when that ACK has been sent
    /// (`tcp_delack_timer_handler`).
    pub fn compressed(&self, due: Time, now: Time) -> Time {
        if self.delayed > now { due.min(self.delayed) } else { due }
    }

    /// ACKs of segments out of order wait for each other.
    pub fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    /// An ACK is sent: what has been offered is not taken back (`tcp_select_window`). With the last of those that are sent at once the
    /// wait is the least again (`tcp_dec_quickack_mode`).
    pub fn on_ack(&mut self, next: u32, now: Time) {
        let left = self.offered.saturating_sub((next - self.offered_at).saturating_mul(MSS));
        if self.rtt > Span::ZERO {
            let offered = self.select_window().max(self.scale.up(left));
            self.has_new_window = std::mem::replace(&mut self.offered, offered) != offered;
            if self.has_new_window {
                self.rwnd = (offered / MSS).max(1);
            }
        }
        self.offered_at = next;
        self.answered = now;
        self.compressed = 0;
        if self.left == 1 {
            (self.patience, self.has_begun) = (Span::ZERO, true);
        }
        self.left = self.left.saturating_sub(1);
    }

    /// The next segments are acknowledged at once (`tcp_incr_quickack`): no more than half a window.
    pub fn raise(&mut self, most: u32, params: &TcpParams) {
        let window = (params.window.0 as u32).min(self.window / MSS);
        self.left = self.left.max(most.min((window / 2).max(2)));
    }

    #[inline(always)]
    fn on_data(&mut self, segment: &ArrivedSegment, memory: u32, now: Time, params: &TcpParams) {
        let &ArrivedSegment { seq, before, next, end, .. } = segment;
        let since = now.since(self.last);
        if self.rtt == Span::ZERO {
            self.begin(*segment, now, params);
        }
        self.measure(segment.sent_at, now);
        if seq == before {
            match self.has_begun {
                true => self.expect(since, params),
                false => self.raise(params.quick_acks, params),
            }
            self.has_begun = true;
        }
        if segment.is_new_mark || segment.lacks_ect {
            self.raise(2, params);
            self.patience = Span::ZERO;
        }
        let merges = params.merged_memory.0 < params.segment_memory.0;
        self.grow_window(segment, memory, merges, params);
        if seq == before {
            self.last = now;
            let is_whole = merges && next - before < MOST_MERGED; // it and what it fills up to have one header
            self.adjust_space(if is_whole { next } else { before + 1 }, next, end, now, params);
        } else {
            self.grow_room(self.space, end - next, params); // `tcp_data_queue_ofo`
        }
    }

    /// The first data: what they tell of the connection.
    #[cold]
    #[inline(never)]
    fn begin(&mut self, segment: ArrivedSegment, now: Time, params: &TcpParams) {
        self.rtt = now.since(self.last).max(Span(1));
        let handshake = segment.sent_at.since(self.syn_sent);
        self.scale = WindowScale::of(params);
        self.share = MSS * 256 / params.segment_memory.0 as u32;
        self.handshake = if handshake == Span::ZERO { self.rtt } else { handshake };
        if self.round.1 == 0 {
            self.round = (now, segment.before);
        }
        let is_first = segment.seq == u32::from(params.syn) && !segment.is_resent;
        self.back = if is_first { segment.sent_at.since(self.last) } else { self.last.since(self.syn_sent) };
        self.smoothed = linux::timestamped(self.last, now, Span::ZERO);
    }

    /// The window grows towards what there is room for, by two segments each time (`tcp_grow_window`). A segment out of order with a
    /// header of its own counts after that (`skb_set_owner_r`); those that one fills up to are not read yet.
    #[inline(always)]
    fn grow_window(&mut self, segment: &ArrivedSegment, memory: u32, merges: bool, params: &TcpParams) {
        let is_apart = segment.seq != segment.before && (segment.is_first_of_run || !merges);
        let held = memory - if is_apart { params.segment_memory.0 as u32 } else { 0 };
        let room = self.window_of(self.room.saturating_sub(held)).saturating_sub(self.window);
        if room > 0 {
            self.window += room.min(2 * MSS);
            self.left |= 1; // so that sixteen that are left stay sixteen
        }
    }

    /// The first segment that answers an ACK, the last that had reached the sender: by an eighth of the difference, or at once where it
    /// is less (`tcp_rcv_rtt_update`).
    fn measure(&mut self, sent_at: Time, now: Time) {
        let echoed = self.answered.min(Time(sent_at.0.saturating_sub(self.back.0)));
        let stamp = echoed.0 / TIMESTAMP_TICK.0;
        if std::mem::replace(&mut self.echo, stamp) == stamp {
            return;
        }
        let sample = linux::timestamped(echoed, now, Span::ZERO).0;
        let smoothed = self.smoothed.0;
        self.smoothed = Span(if sample < smoothed { sample } else { smoothed - smoothed / 8 + sample / 8 });
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

    /// After each round trip that has brought more than any before, the window may grow (`tcp_rcv_space_adjust`). Looked at when
    /// the first segment has been `read`; those that then still wait do not count.
    #[inline(always)]
    fn adjust_space(&mut self, read: u32, next: u32, end: u32, now: Time, params: &TcpParams) {
        let (began, from) = self.round;
        if now.since(began) < self.smoothed {
            return;
        }
        let copied = read.saturating_sub(from).saturating_sub(next - read).saturating_mul(MSS);
        if copied > self.space {
            self.grow_room(copied, end - next, params);
        }
        self.round = (now, read);
    }

    /// Room for what comes in the next round trip, when so many bytes came in this one and so many segments lie beyond one that
    /// is missing (`tcp_rcvbuf_grow`).
    #[inline(never)]
    fn grow_room(&mut self, copied: u32, beyond: u32, params: &TcpParams) {
        let window = 2 * u64::from(copied);
        let more = match self.smoothed < LOW_RTT {
            true => (u128::from(window) * u128::from(self.smoothed.0) / u128::from(LOW_RTT.0)) as u64,
            false => 2 * window * u64::from(copied - self.space) / u64::from(self.space),
        };
        let window = window + more + u64::from(beyond) * u64::from(MSS);
        self.room = self.room.max((window * 256 / u64::from(self.share)).min(most(params)) as u32);
        self.space = copied;
    }
}

/// The window scale (RFC 7323): a window is offered in units of 2 to the power of it, bytes (`tcp_select_initial_window`).
#[derive(Clone, Copy, Debug, Default)]
struct WindowScale(u8);

impl WindowScale {
    fn of(params: &TcpParams) -> Self {
        Self(most(params).max(RMEM_MAX).ilog2().saturating_sub(15).min(14) as u8)
    }

    /// The whole units of a window.
    fn down(self, window: u32) -> u32 {
        window >> self.0 << self.0
    }

    /// The least units that hold a window.
    fn up(self, window: u32) -> u32 {
        self.down(window + (1 << self.0) - 1)
    }
}

/// The most room of a receiver, bytes (`tcp_rmem`): half of it is the largest window.
fn most(params: &TcpParams) -> u64 {
    (2.0 * params.window.0 * f64::from(MSS)).min(f64::from(1 << 30)) as u64
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
    fn is_quick(acks: &mut LinuxReceiver, segment: &ArrivedSegment, now: Time, params: &TcpParams) -> bool {
        let is_quick = acks.on_segment(segment, false, now, params) == AckTime::Now;
        if is_quick {
            acks.on_ack(segment.next, Time::ZERO);
        }
        is_quick
    }

    /// The ACK times of segments in order from 1 on: the SYN at 0, the first data 40 ms later, then as `ms` says. Every ACK but
    /// the delayed ones is sent at once.
    fn in_order(count: u32, ms: impl Fn(u32) -> u64) -> Vec<bool> {
        let params = linux();
        let mut acks = LinuxReceiver::default();
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
        // One every 10 ms: four in a round trip, no more than expected. Seven while the window grows, and sixteen. The 31st comes
        // 300 ms after the 30th: more than 40 + 200.
        let quick = in_order(50, |seq| 40 + 10 * u64::from(seq) + if seq > 30 { 300 } else { 0 });
        let expected: Vec<bool> = (1..=50).map(|seq| seq <= 23 || (31..=46).contains(&seq)).collect();
        assert_eq!(quick, expected);
    }

    #[test]
    fn a_window_that_grows_is_told_of_at_once() {
        // The first data come after 41 ms, and 41 more within a round trip. The window of 64,088 bytes may grow to what 128 KiB less
        // a segment have room for, 81,501: by 2896 with each of six and a part with the seventh, then sixteen more are quick. At
        // 82 ms 42 have come: 2*42 segments and 2*84*32/10 more, 900,076 bytes, for which there is 256/162 of room: less a segment
        // 898,632, so that it grows by 2896 with 282 and a part with one more. Then half as many come, and it stays at that.
        let quick = in_order(500, |seq| if seq < 43 { 40 + u64::from(seq) } else { 82 + 2 * u64::from(seq - 42) });
        let counted = |quick: &[bool]| quick.iter().filter(|quick| **quick).count();
        assert_eq!([counted(&quick[..23]), counted(&quick[23..42]), counted(&quick[42..])], [23, 0, 283]);
    }

    #[test]
    fn a_segment_that_has_not_come_is_waited_for_longer_the_next_time() {
        let params = linux();
        let ms = Span::from_millis;
        let mut acks = LinuxReceiver { handshake: ms(100), ..LinuxReceiver::default() };
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
        acks.on_ack(0, Time::ZERO);
        assert_eq!(acks.wait(&params), Span::from_micros(62_500));
        acks.on_ack(0, Time::ZERO);
        assert_eq!((acks.left, acks.wait(&params)), (0, ms(40)), "the last of those sent at once");
        acks.handshake = ms(30);
        acks.on_timer(&params);
        assert_eq!(acks.wait(&params), ms(40), "no shorter than the least");
    }

    #[test]
    fn three_duplicates_at_once_and_then_one_a_millisecond() {
        let params = linux();
        let mut acks =
            LinuxReceiver { rtt: Span::from_millis(2), share: 162, window: 2 * FIRST_ROOM, ..LinuxReceiver::default() };
        let mut beyond = |seq, next, now| {
            let segment =
                ArrivedSegment { seq, before: next, next, end: seq + 1, held: 1, ..ArrivedSegment::default() };
            acks.on_segment(&segment, false, Time::ZERO + Span::from_millis(now), &params)
        };
        // A third of 2 ms is less than a millisecond; the timer is 10 us late.
        let late = AckTime::Compressed(Span::from_micros(670));
        assert_eq!(
            [12, 13, 14, 15, 16].map(|seq| beyond(seq, 11, 5)),
            [AckTime::Now, AckTime::Now, AckTime::Now, late, late]
        );
        assert_eq!([18, 19, 20, 21].map(|seq| beyond(seq, 17, 5)), [AckTime::Now, AckTime::Now, AckTime::Now, late]);
    }

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_compressed_ack_leaves_with_the_timer_of_an_earlier_delayed_one() {
        let acks = LinuxReceiver { delayed: ms(64), ..LinuxReceiver::default() };
        let sent = [62, 63, 64, 70].map(|now| acks.compressed(ms(now + 1), ms(now)));
        assert_eq!(sent, [ms(63), ms(64), ms(65), ms(71)], "that of 64 ms is over at 64 ms");
        assert_eq!(acks.compressed(ms(66), ms(63)), ms(64));
    }

    #[test]
    fn what_was_offered_is_kept_in_whole_units() {
        // As Linux 7.3: 524,288 bytes from segment 1482 on leave 524,288 - 21 * 1448 = 493,880 at 1503; in units of 16,384 that is 31.
        let params = linux();
        let (rtt, scale) = (Span::from_millis(40), WindowScale::of(&params));
        let offered = LinuxReceiver { offered: 524_288, offered_at: 1482, window: 400_000, ..LinuxReceiver::default() };
        let mut acks = LinuxReceiver { rtt, scale, ..offered };
        acks.on_ack(1503, ms(0));
        assert_eq!((1 << scale.0, acks.offered), (16_384, 31 * 16_384));
    }

    #[test]
    fn a_window_that_what_is_held_takes_room_of_is_a_new_one_until_that_is_read() {
        // 162/256 of 700,000 bytes are more than the window of 400,000, which is 25 units of 16,384; beside 100,000 bytes they are
        // 379,687, which is 24.
        let scale = WindowScale::of(&linux());
        let (rtt, offered) = (Span::from_millis(40), 25 * 16_384);
        let grown = LinuxReceiver {
            rtt,
            scale,
            offered,
            share: 162,
            room: 700_000,
            window: 400_000,
            ..LinuxReceiver::default()
        };
        let mut acks = LinuxReceiver { offered_at: 100, ..grown };
        let offers = [(102, 2280), (172, 100_000), (174, 2280), (176, 2280)].map(|(next, taken)| {
            acks.taken = taken;
            acks.on_ack(next, ms(0));
            (acks.offered / 16_384, acks.has_new_window)
        });
        assert_eq!(offers, [(25, false), (24, true), (25, true), (25, false)]);
    }

    /// The first segment is lost. The window of 64,088 bytes may grow to 162/256 of what 128 KiB have room for beside those held: the
    /// first takes 2280 bytes, when the window has grown, each other one 1448. So it grows by 2896 with four, to 77,835 with the
    /// fifth, beside 8072 bytes, and then no more. Three more are duplicates.
    #[test]
    fn what_lies_beyond_the_first_segment_lost_lets_the_window_grow() {
        let params = linux();
        let mut acks = LinuxReceiver::default();
        acks.on_segment(&ArrivedSegment { next: 1, end: 1, ..ArrivedSegment::default() }, false, Time::ZERO, &params);
        let mut windows = Vec::new();
        let quick = (1..12).map(|held| {
            let segment = ArrivedSegment {
                seq: held + 1,
                before: 1,
                next: 1,
                end: held + 2,
                held,
                runs: 1,
                is_first_of_run: held == 1,
                ..ArrivedSegment::default()
            };
            let is_quick = is_quick(&mut acks, &segment, Time::ZERO + Span::from_millis(40), &params);
            windows.push(acks.window);
            is_quick
        });
        assert_eq!(quick.filter(|quick| *quick).count(), 8);
        assert_eq!(windows[..6], [66_984, 69_880, 72_776, 75_672, 77_835, 77_835]);
    }

    #[test]
    fn the_round_trip_time_is_that_of_the_ack_that_the_sender_has_seen_last() {
        let smoothed = Span::from_millis(41);
        let mut acks =
            LinuxReceiver { back: Span::from_millis(20), answered: ms(100), smoothed, ..LinuxReceiver::default() };
        let mut measure = |sent, now, answered| {
            acks.answered = ms(answered);
            acks.measure(ms(sent), ms(now));
            acks.smoothed.seconds() * 1e3
        };
        assert_eq!(measure(60, 85, 100), 41.0 * 7.0 / 8.0 + 45.0 / 8.0, "an ACK that was sent at 40 ms");
        assert_eq!(measure(60, 86, 100), 41.5, "another one that answers the same");
        assert_eq!(measure(61, 80, 100), 39.0, "less than before");
        assert_eq!(measure(300, 340, 30), 72.875, "after a timeout the last ACK, 310 ms before");
    }

    #[test]
    fn what_waits_to_be_read_behind_the_first_segment_counts_in_the_next_round_trip() {
        let params = linux();
        let mut acks = LinuxReceiver {
            smoothed: Span::from_millis(40),
            share: 162,
            round: (ms(0), 1),
            ..LinuxReceiver::default()
        };
        acks.adjust_space(2, 12, 12, ms(50), &params); // segment 1 has come, and with it ten that were held
        assert_eq!((acks.room, acks.round), (FIRST_ROOM, (ms(50), 2)));
        acks.adjust_space(18, 18, 18, ms(89), &params);
        assert_eq!(acks.round, (ms(50), 2), "it is not over");
        acks.adjust_space(18, 18, 18, ms(90), &params);
        // 16 segments, twice these, and 2*32*6/10 more: 101,939 bytes, which take 256/162 of that.
        assert_eq!((acks.room, acks.space), (161_088, 16 * MSS));
    }

    #[test]
    fn marks_and_what_is_sent_again_hurry_two() {
        let params = linux();
        let mut acks = LinuxReceiver {
            rtt: Span::from_millis(40),
            has_begun: true,
            handshake: Span::from_millis(40),
            window: 2 * FIRST_ROOM,
            ..LinuxReceiver::default()
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
