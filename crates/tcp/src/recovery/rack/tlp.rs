//! Tail loss probes (RFC 8985, section 7).

use crate::cc::CongestionEvent;
use crate::linux;
use crate::params::TcpParams;
use crate::scoreboard::{News, Probe, Timer};
use crate::sender::{RecoveryState, SegmentSink, Sender};
use aqmlab_core::{Span, Time};

impl Sender {
    /// Section 7.2: a probe may be scheduled while nothing is SACKed and nothing being recovered.
    pub(super) fn rack_is_calm(&mut self) -> bool {
        let is_calm = matches!(self.state, RecoveryState::Open | RecoveryState::Cwr);
        is_calm && self.rack().board.sacked() == 0 && !self.rack().board.has_lost()
    }

    /// Section 7.2: the timer is for a probe, no later than the retransmission timeout, which starts from now on if something
    /// has been acknowledged (`tcp_schedule_loss_probe` in Linux).
    pub(super) fn rack_schedule_probe(&mut self, from_now: bool, now: Time, params: &TcpParams) {
        let rto = if from_now { self.rtt.timeout(params) } else { self.rack_rto_left(now, params) };
        match params.detect_by_time {
            true => self.rack_arm(Timer::Probe, self.probe_timeout(params).min(rto), now, params),
            false => self.rack_arm(Timer::Retransmission, rto, now, params),
        }
    }

    /// Section 7.2: PTO. For a single segment the receiver may delay its ACK.
    fn probe_timeout(&self, params: &TcpParams) -> Span {
        let slack = if self.flight() == 1 { params.max_ack_delay } else { linux::TIMEOUT_MIN };
        match self.rtt.srtt() {
            Some(srtt) => Span(2 * srtt.0) + slack,
            None => params.initial_rto,
        }
    }

    /// Section 7.3: sends a new segment, or the last again, whatever the window says.
    pub(super) fn rack_send_probe(&mut self, now: Time, params: &TcpParams, net: &mut impl SegmentSink) {
        if self.rack().probe.is_none() {
            let new = self.rack_next_new(params);
            let seq = new.unwrap_or(self.sent - 1);
            self.transmit(seq, now, params, net);
            self.next_seq = self.next_seq.max(seq + 1);
            self.rack().probe = Some(Probe { end_seq: self.sent, is_retrans: new.is_none() });
            self.rack().timer = Timer::Retransmission; // it starts now
        }
        self.rack_rearm(now, params);
    }

    /// Section 7.4.2: what an ACK says of a probe. A probe that was sent again was needless if a duplicate has arrived (cases 1
    /// and 3); if something later is acknowledged, it has mended a loss, which counts as one (case 2).
    pub(super) fn rack_end_probe(&mut self, news: &News) {
        let Some(Probe { end_seq, is_retrans }) = self.rack().probe else { return };
        if self.hole < end_seq || is_retrans && self.hole == end_seq && !news.is_duplicate {
            return;
        }
        self.rack().probe = None;
        if is_retrans && !news.is_duplicate {
            self.rack_reduce(CongestionEvent::Loss, RecoveryState::Cwr);
            self.rack_leave_recovery();
        }
    }
}
