//! SACK (RFC 6675): the receiver names what has arrived (RFC 2018), the sender resends what must be lost and keeps the
//! pipe full.
//!
//! Readings. Segments are of one size, so `IsLost` is: `DupThresh` segments above are SACKed (the second of its two
//! conditions; the first implies it). After a timeout what is SACKed stays SACKed, as errata 1610 of RFC 2018 suggests, for no
//! receiver here takes its word back.
//!
//! The profile `ns2` differs by its constants only; ns-2's own Agent/TCP/Sack1 by more:
//! - It keeps `pipe` as a counter: flight - 3 at the loss, one less for each ACK, one more for each segment sent.
//! - It enters recovery at the third duplicate ACK, never before, and only above `recover`.
//! - At a partial ACK it sends two segments, resent or new, and it restarts the timer at the first of them only.
//! - It has no rescue retransmission, and it forgets the scoreboard at each new ACK outside recovery.
//! - The ACK that ends recovery does not open the window; under `open_on_exit` it does here.
//! - After a timeout it ignores duplicate ACKs and what they name.

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::scoreboard::{LossRecovery, Scoreboard};
use crate::sender::{RecoveryState, SegmentSink, Sender};
use aqmlab_core::Time;

impl Sender {
    /// RFC 6675, section 5: what an ACK means, in recovery or not. An old one means nothing.
    #[inline(never)] // Reno's way stays short
    pub(crate) fn sack_on_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if ack.next < self.hole {
            return;
        }
        let (hole, sent) = (self.hole, self.sent);
        let known = self.board().sacked(hole, ack.next);
        let tells_news = self.board().update(ack, hole, sent, params.dup_ack_threshold);
        if self.state == RecoveryState::FastRecovery && ack.next < self.recover {
            if ack.next > hole {
                self.acknowledge(ack, now, params);
                self.restart_timer(now, params);
            }
            return self.fill_pipe(now, params, net);
        }
        if ack.next > hole {
            self.take_new_ack(ack, known, now, params);
            self.board().restart();
        }
        if tells_news && self.hole >= self.not_before {
            self.sack_on_duplicate_ack(now, params, net);
        } else {
            self.send_allowed(now, params, net, u32::MAX);
        }
    }

    /// Steps (1) to (3): something has arrived beyond a hole.
    fn sack_on_duplicate_ack(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let hole = self.hole;
        self.duplicate_acks += 1;
        if self.duplicate_acks >= params.dup_ack_threshold || self.board().is_lost(hole) {
            self.sack_recover(now, params, net);
        } else if params.limited_transmit {
            while self.has_room(params) && self.has_new(params) && self.may_send(now) {
                self.send_new(now, params, net);
                self.limited_transmits += 1;
            }
        }
    }

    /// Step (4): halve, unless an echo has done so for this window of data, resend the hole, fill the pipe.
    fn sack_recover(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let hole = self.hole;
        self.board().restart();
        self.board().resend(hole);
        self.board().rescue = hole + 1;
        if self.state == RecoveryState::Cwr && hole < self.recover {
            self.recover = self.sent;
            self.enter_fast_recovery(now, params, net);
        } else {
            self.fast_retransmit(now, params, net);
        }
        self.inflation = 0; // the pipe counts what has left
        self.fill_pipe(now, params, net);
    }

    /// Step (C): while the window has room, the segment that `NextSeg` names (section 4).
    pub(crate) fn fill_pipe(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let (hole, recover) = (self.hole, self.recover);
        while self.has_room(params) && self.may_send(now) {
            if let Some(seq) = self.board().next_lost(hole) {
                self.resend(seq, now, params, net);
            } else if self.has_new(params) {
                self.send_new(now, params, net);
            } else if let Some(seq) = self.board().next_hole(hole) {
                self.resend(seq, now, params, net);
            } else {
                let (sent, board) = (self.sent, self.board());
                if hole > board.rescue
                    && let Some(seq) = board.last_hole(hole, sent)
                {
                    board.rescue = recover;
                    self.transmit(seq, now, params, net);
                }
                return;
            }
        }
    }

    /// Outside fast recovery: what the window allows, at most `burst` segments, but for those that the receiver has.
    #[inline(never)] // Reno's way stays short
    pub(crate) fn sack_send_allowed(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink, burst: u32) {
        if self.hole < self.not_before && !params.go_back_n {
            return self.sack_send_after_timeout(now, params, net);
        }
        let stop = self.allowed(params, burst);
        while self.next_seq < stop && self.may_send(now) {
            let seq = self.next_seq;
            if !self.board().has(seq) {
                self.transmit(seq, now, params, net);
            }
            self.next_seq += 1;
        }
    }

    /// Section 5.1: until all that was sent before a timeout is acknowledged, from the hole on, what the receiver lacks, while
    /// the window has room for it.
    fn sack_send_after_timeout(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let (hole, next_seq, window) = (self.hole, self.next_seq, self.window(params) as u32);
        let end = self.end.min(hole.saturating_add(self.room(params) as u32));
        let mut sacked = self.board().sacked(hole, next_seq);
        while self.next_seq < end && self.next_seq - hole - sacked < window && self.may_send(now) {
            let seq = self.next_seq;
            if self.board().has(seq) {
                sacked += 1;
            } else {
                self.transmit(seq, now, params, net);
            }
            self.next_seq += 1;
        }
    }

    fn resend(&mut self, seq: u32, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.board().resend(seq);
        self.transmit(seq, now, params, net);
    }

    fn send_new(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.transmit(self.next_seq, now, params, net);
        self.next_seq += 1;
    }

    /// The window has room for a segment more than there are in the pipe.
    fn has_room(&mut self, params: &TcpParams) -> bool {
        let (hole, sent) = (self.hole, self.sent);
        f64::from(self.board().pipe(hole, sent, params.dup_ack_threshold) + 1) <= self.cc.window.cwnd
    }

    /// There is a segment never sent, and the receiver has room for it.
    fn has_new(&self, params: &TcpParams) -> bool {
        self.next_seq < self.end && f64::from(self.next_seq - self.hole + 1) <= self.room(params)
    }

    fn board(&mut self) -> &mut Scoreboard {
        let LossRecovery::Sack(board) = &mut self.recovery else { unreachable!("made for variant sack") };
        board
    }
}
