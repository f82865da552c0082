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

mod scoreboard;

use crate::ack::Ack;
use crate::params::TcpParams;
use crate::sender::{RecoveryState, SegmentSink, Tcb};
use aqmlab_core::Time;
use scoreboard::Scoreboard;

/// The state of a sender with SACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct SackRecovery {
    board: Scoreboard,
}

impl SackRecovery {
    /// RFC 6675, section 5: what an ACK means, in recovery or not. An old one means nothing.
    #[inline(never)] // Reno's way stays short
    pub fn on_ack(&mut self, tcb: &mut Tcb, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if ack.next < tcb.snd_una {
            return;
        }
        let (hole, sent) = (tcb.snd_una, tcb.snd_max);
        let known = self.board.sacked(hole, ack.next);
        let tells_news = self.board.update(ack, hole, sent, params.dup_ack_threshold);
        if tcb.state == RecoveryState::FastRecovery && ack.next < tcb.recover {
            if ack.next > hole {
                tcb.acknowledge(ack, now, params);
                tcb.restart_timer(now, params);
            }
            return self.fill_pipe(tcb, now, params, net);
        }
        if ack.next > hole {
            tcb.take_new_ack(ack, known, now, params);
            self.board.restart();
        }
        if tells_news && tcb.snd_una >= self.board.recovery_point {
            self.on_duplicate_ack(tcb, now, params, net);
        } else {
            self.send_allowed(tcb, now, params, net);
        }
    }

    /// Steps (1) to (3): something has arrived beyond a hole.
    fn on_duplicate_ack(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        tcb.duplicate_acks += 1;
        if tcb.duplicate_acks >= params.dup_ack_threshold || self.board.is_lost(tcb.snd_una) {
            self.recover(tcb, now, params, net);
        } else if params.limited_transmit {
            while self.has_room(tcb, params) && has_new(tcb, params) && tcb.may_send(now, |_| 1) {
                send_new(tcb, now, params, net);
                tcb.limited_transmits += 1;
            }
        }
    }

    /// Step (4): halve, unless an echo has done so for this window of data, resend the hole, fill the pipe.
    fn recover(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let hole = tcb.snd_una;
        self.board.restart();
        self.board.resend(hole);
        self.board.rescue = Some(hole + 1);
        if tcb.state == RecoveryState::Cwr && hole < tcb.recover {
            tcb.recover = tcb.snd_max;
            tcb.enter_fast_recovery(now, params, net);
        } else {
            tcb.fast_retransmit(now, params, net);
        }
        tcb.inflation = 0; // the pipe counts what has left
        self.fill_pipe(tcb, now, params, net);
    }

    /// Step (C): while the window has room, the segment that `NextSeg` names (section 4).
    fn fill_pipe(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let hole = tcb.snd_una;
        while self.has_room(tcb, params) && tcb.may_send(now, |_| 1) {
            if let Some(seq) = self.board.next_lost(hole) {
                self.resend(tcb, seq, now, params, net);
            } else if has_new(tcb, params) {
                send_new(tcb, now, params, net);
            } else if let Some(seq) = self.board.next_hole(hole) {
                self.resend(tcb, seq, now, params, net);
            } else {
                if self.board.rescue.is_none_or(|rescue| hole > rescue)
                    && let Some(seq) = self.board.last_hole(hole, tcb.snd_max)
                {
                    self.board.rescue = Some(tcb.recover);
                    tcb.transmit(seq, now, params, net);
                }
                return;
            }
        }
    }

    /// Outside fast recovery: what the window allows, but for those that the receiver has.
    #[inline(never)] // Reno's way stays short
    pub fn send_allowed(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if tcb.snd_una < self.board.recovery_point && !params.go_back_n {
            return self.send_after_timeout(tcb, now, params, net);
        }
        let stop = tcb.allowed(params, u32::MAX);
        while tcb.snd_nxt < stop && tcb.may_send(now, |_| 1) {
            let seq = tcb.snd_nxt;
            if !self.board.has(seq) {
                tcb.transmit(seq, now, params, net);
            }
            tcb.snd_nxt += 1;
        }
    }

    /// The pace, or the host, allows a segment that the window has allowed before.
    pub fn send_more(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        match tcb.state {
            RecoveryState::FastRecovery => self.fill_pipe(tcb, now, params, net),
            _ => self.send_allowed(tcb, now, params, net),
        }
    }

    /// Section 5.1: until all that was sent before a timeout is acknowledged, from the hole on, what the receiver lacks, while
    /// the window has room for it.
    fn send_after_timeout(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        let (hole, next_seq, window) = (tcb.snd_una, tcb.snd_nxt, tcb.window(params) as u32);
        let end = tcb.end.min(hole.saturating_add(tcb.room(params) as u32));
        let mut sacked = self.board.sacked(hole, next_seq);
        while tcb.snd_nxt < end && tcb.snd_nxt - hole - sacked < window && tcb.may_send(now, |_| 1) {
            let seq = tcb.snd_nxt;
            if self.board.has(seq) {
                sacked += 1;
            } else {
                tcb.transmit(seq, now, params, net);
            }
            tcb.snd_nxt += 1;
        }
    }

    fn resend(&mut self, tcb: &mut Tcb, seq: u32, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        self.board.resend(seq);
        tcb.transmit(seq, now, params, net);
    }

    /// The window has room for a segment more than there are in the pipe.
    fn has_room(&self, tcb: &Tcb, params: &TcpParams) -> bool {
        f64::from(self.board.pipe(tcb.snd_una, tcb.snd_max, params.dup_ack_threshold) + 1) <= tcb.cc.window.cwnd
    }

    /// The retransmission timer is over. Earlier retransmissions count no more, and section 5.1 holds until all that was sent is
    /// acknowledged.
    pub fn on_timer(&mut self, tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if tcb.on_retransmission_timer(now, params) {
            self.board.restart();
            self.board.recovery_point = tcb.snd_max;
            if params.go_back_n {
                self.board.expunge(tcb.snd_una);
            }
            self.send_allowed(tcb, now, params, net);
        }
    }
}

fn send_new(tcb: &mut Tcb, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
    tcb.transmit(tcb.snd_nxt, now, params, net);
    tcb.snd_nxt += 1;
}

/// There is a segment never sent, and the receiver has room for it.
fn has_new(tcb: &Tcb, params: &TcpParams) -> bool {
    tcb.snd_nxt < tcb.end && f64::from(tcb.snd_nxt - tcb.snd_una + 1) <= tcb.room(params)
}
