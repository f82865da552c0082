//! RACK-TLP (RFC 8985) with Proportional Rate Reduction (RFC 9937): a segment is lost when one that was sent later has
//! arrived, time decides about the rest, and a probe asks when nothing comes.
//!
//! Names are those of the RFCs. Segments are of one size, and every one carries a timestamp, so each ACK measures a round
//! trip. What Linux does otherwise is in `linux.rs`.

use crate::ack::Ack;
use crate::cc::{Event, Facts, Recovery, Seen, Window};
use crate::params::{Halve, TcpParams};
use crate::recovery::detection::{News, Rack, Timer};
use crate::recovery::prr::Prr;
use crate::sender::{Network, RecoveryState, Sender};
use aqmlab_core::{Span, Time};

impl Sender {
    /// An ACK: what has arrived, what is lost, what may be sent. An old one means nothing.
    pub(crate) fn rack_on_ack(&mut self, ack: &Ack, now: Time, params: &TcpParams, net: &mut impl Network) {
        if ack.next < self.hole {
            return;
        }
        let (hole, recover) = (self.hole, self.recover);
        let was_in_flight = self.rack().board.in_flight();
        let news = self.rack().take(ack, recover, now);
        self.hole = ack.next;
        self.next_seq = self.next_seq.max(ack.next);
        let handshake_done = hole == 0 && params.syn && self.hole > 0;
        self.rack_measure(&news, hole, params);
        if handshake_done {
            self.cc.window.cwnd = self.initial_window(params);
        }
        if ack.ece && self.ecn && !handshake_done {
            self.rack_on_echo(ack.next);
        }
        self.rack_end_probe(&news, hole, ack);
        self.rack_end_recovery(&news, hole);
        let (lost, timeout) = self.rack_detect_loss(now, params);
        if self.rack().board.has_lost() && matches!(self.state, RecoveryState::Open | RecoveryState::Cwr) {
            self.rack_reduce(Event::Loss, RecoveryState::FastRecovery);
        }
        if !handshake_done {
            self.rack_set_window(&news, lost, hole, was_in_flight, now);
        }
        self.rack_send(now, params, net);
        self.rack_set_timer(timeout, hole < ack.next || news.has_sacked, now, params);
    }

    /// The timer is over.
    pub(crate) fn rack_on_timer(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        match self.rack().timer {
            Timer::Retransmission => self.rack_on_timeout(now, params, net),
            Timer::Reordering => {
                let before = self.rack().board.in_flight();
                let (lost, timeout) = self.rack_detect_loss(now, params);
                if lost > 0 && matches!(self.state, RecoveryState::Open | RecoveryState::Cwr) {
                    self.rack_reduce(Event::Loss, RecoveryState::FastRecovery);
                }
                if lost > 0 && self.state == RecoveryState::FastRecovery && !self.cc.owns_window() {
                    self.rack_set_window(&News::default(), lost, self.hole, before, now);
                }
                self.rack_send(now, params, net);
                self.rack_set_timer(timeout, false, now, params);
            }
            Timer::Probe => self.rack_probe(now, params, net),
        }
    }

    /// A round-trip time a new ACK (RFC 7323), and the end of backoff.
    fn rack_measure(&mut self, news: &News, hole: u32, params: &TcpParams) {
        let (next, sent) = (self.hole, self.sent);
        if let Some((rtt, _)) = news.rtt {
            let (srtt, rto) = self.rack().estimator.sample(rtt, next, sent, params);
            self.rtt.set(srtt, rto);
        }
        if next > hole {
            self.rtt.end_backoff();
        }
    }

    /// RFC 3168: once per window of data. A law that owns the window answers marks itself.
    fn rack_on_echo(&mut self, next: u32) {
        if self.cc.owns_window() {
            return;
        }
        if self.state == RecoveryState::Open || next > self.recover && self.state == RecoveryState::Cwr {
            self.rack_reduce(Event::Echo, RecoveryState::Cwr);
            self.ecn_reductions += 1;
        }
    }

    /// The threshold falls; the window follows as segments arrive. A loss found while an echo is being answered is of the
    /// same window of data.
    fn rack_reduce(&mut self, event: Event, state: RecoveryState) {
        let (cwnd, ssthresh) = (self.cc.window.cwnd, self.cc.window.ssthresh);
        if self.state != RecoveryState::Cwr || self.hole >= self.recover {
            self.cc.reduce_ssthresh(event, Halve::Window, cwnd, 0);
            let rack = self.rack();
            rack.prior = (cwnd, ssthresh);
            rack.prr = Prr { recover_fs: cwnd as u32, delivered: 0, out: 0 };
            self.cwr_due = self.ecn;
        }
        self.recover = self.sent;
        self.state = state;
        self.rack().probe = None;
    }

    /// RFC 8985, section 7.4: what a probe has brought. One that was sent again and is acknowledged by itself has mended a
    /// loss, which counts as one.
    fn rack_end_probe(&mut self, news: &News, hole: u32, ack: &Ack) {
        let Some((end, was_resent)) = self.rack().probe else { return };
        if ack.next < end {
            return;
        }
        self.rack().probe = None;
        if was_resent && self.state == RecoveryState::Open && ack.next > hole && news.delivered > 0 {
            self.rack_reduce(Event::Loss, RecoveryState::Cwr);
        }
    }

    /// What was outstanding at the last reduction is acknowledged, or a timeout turns out to be spurious.
    fn rack_end_recovery(&mut self, news: &News, hole: u32) {
        let is_over = match self.state {
            RecoveryState::Open => return,
            RecoveryState::Cwr => self.hole > self.recover,
            _ => self.hole >= self.recover,
        };
        if self.state == RecoveryState::RtoRecovery && self.rack().frto {
            self.rack_frto(news, hole, is_over);
        }
        if is_over && self.state != RecoveryState::Open {
            if self.state != RecoveryState::RtoRecovery {
                self.cc.leave_recovery();
            }
            self.state = RecoveryState::Open;
            self.rack().prr = Prr::default();
        }
    }

    /// F-RTO (RFC 5682, section 3.1, as Linux has it): if an ACK tells of a segment that was not sent again, the timeout was
    /// spurious, and the window is what it was.
    fn rack_frto(&mut self, news: &News, hole: u32, is_over: bool) {
        if news.has_original {
            let (cwnd, ssthresh) = self.rack().prior;
            let window = &mut self.cc.window;
            (window.cwnd, window.ssthresh) = (window.cwnd.max(cwnd), window.ssthresh.max(ssthresh));
            self.rack().board.forget_losses();
            self.state = RecoveryState::Open;
            self.rack().frto = false;
        } else if self.sent > self.recover {
            self.rack().frto &= !news.has_sacked; // new data have been tried: the loss is real
        } else if self.hole > hole && !is_over {
            self.recover = self.sent; // new data are tried next
            self.rack().frto = self.sent < self.end;
        }
    }

    fn rack_detect_loss(&mut self, now: Time, params: &TcpParams) -> (u32, Option<Time>) {
        let in_recovery = matches!(self.state, RecoveryState::FastRecovery | RecoveryState::RtoRecovery);
        let srtt = self.rtt.smoothed();
        let rack = self.rack();
        let (has_gap, has_lost) = (rack.board.sacked() > 0, rack.board.has_lost());
        if !has_gap && !has_lost {
            return (0, None); // nothing sent later has arrived
        }
        let reo_wnd = rack.reo_wnd(in_recovery, srtt, params);
        let (rack, mut law) = (self.rack.as_mut().expect("made for this variant"), self.cc.engaged());
        rack.detect_loss(reo_wnd, now, |seq| {
            if let Some(law) = &mut law {
                law.on_lost(seq, now);
            }
        })
    }

    /// In a reduction the window is what PRR lets be sent; else it may grow by what has arrived. A law that owns the window
    /// sets it itself.
    fn rack_set_window(&mut self, news: &News, lost: u32, hole: u32, was_in_flight: u32, now: Time) {
        let in_flight = self.rack().board.in_flight();
        if self.cc.owns_window() {
            let recovery = match self.state {
                RecoveryState::Open | RecoveryState::Cwr => Recovery::None,
                RecoveryState::FastRecovery => Recovery::Fast,
                RecoveryState::RtoRecovery => Recovery::Timeout,
            };
            let (delivered, srtt) = (news.delivered, self.rtt.smoothed());
            self.cc.set_window(Seen { delivered, lost, recovery, was_in_flight, in_flight, srtt });
        } else if matches!(self.state, RecoveryState::FastRecovery | RecoveryState::Cwr) {
            if news.delivered == 0 && lost == 0 {
                return;
            }
            let (ssthresh, is_safe) = (self.cc.window.ssthresh as u32, self.hole > hole && lost == 0);
            let count = self.rack().prr.send_count(news.delivered, in_flight, ssthresh, is_safe);
            self.cc.window.cwnd = f64::from(in_flight + count);
        } else if self.hole > hole {
            let (acked, flight, srtt) = (news.delivered, was_in_flight, self.rtt.smoothed());
            let is_app_limited = self.next_seq >= self.end;
            let (rtt, hole, sent) = (news.rtt.map(|(_, last)| last), self.hole, self.sent);
            let byte_counting = true;
            self.cc.on_ack(|| Facts {
                acked,
                byte_counting,
                flight,
                is_app_limited,
                srtt,
                rtt,
                hole,
                sent,
                now,
                ..Facts::default()
            });
        }
    }

    /// While the window has room: what is lost, then what is new. F-RTO tries what is new first.
    pub(crate) fn rack_send(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        let limit = (self.cc.window.cwnd as u32).max(1);
        let tries_new = self.rack().frto && self.hole < self.recover && self.rack().board.has_lost();
        while self.rack().board.in_flight() < limit && self.may_send(now) {
            let lost = if tries_new { None } else { self.rack().board.next_lost() };
            let Some(seq) = lost.or_else(|| self.rack_next_new(params)) else { return };
            self.transmit(seq, now, params, net);
            self.next_seq = self.next_seq.max(seq + 1);
            self.rack().prr.out += 1;
        }
    }

    /// A segment never sent, for which the receiver has room.
    fn rack_next_new(&self, params: &TcpParams) -> Option<u32> {
        let has_new = self.next_seq < self.end && f64::from(self.next_seq - self.hole + 1) <= params.window.0;
        has_new.then_some(self.next_seq)
    }

    /// The timer is for the reordering window, or a probe, or else the retransmission timeout, which starts again if the ACK
    /// was news.
    fn rack_set_timer(&mut self, reordering: Option<Time>, is_news: bool, now: Time, params: &TcpParams) {
        if self.flight() == 0 {
            self.deadline = Time::NEVER;
            return;
        }
        let rto = self.rtt.timeout(params);
        if let Some(due) = reordering {
            let slack = Span(2 * params.clock.0);
            (self.deadline, self.rack().timer) = (due + slack, Timer::Reordering);
        } else if is_news || self.rack().timer == Timer::Reordering {
            let is_calm = matches!(self.state, RecoveryState::Open | RecoveryState::Cwr);
            let may_probe = is_calm && self.rack().board.sacked() == 0 && !self.rack().board.has_lost();
            (self.deadline, self.rack().timer) = match may_probe {
                true => (now + self.probe_timeout(params).min(rto), Timer::Probe),
                false => (now + rto, Timer::Retransmission),
            };
        }
    }

    /// RFC 8985, section 7.2: PTO. For a single segment the receiver may delay its ACK.
    fn probe_timeout(&self, params: &TcpParams) -> Span {
        let slack = if self.flight() == 1 { params.min_rto } else { Span(2 * params.clock.0) };
        match self.rtt.srtt() {
            Some(srtt) => Span(2 * srtt.0) + slack,
            None => params.initial_rto,
        }
    }

    /// RFC 8985, section 7.3: sends a new segment, or the last again, whatever the window says.
    fn rack_probe(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        if self.rack().probe.is_none() {
            let new = self.rack_next_new(params);
            let seq = new.unwrap_or(self.sent - 1);
            self.transmit(seq, now, params, net);
            self.next_seq = self.next_seq.max(seq + 1);
            self.rack().probe = Some((self.sent, new.is_none()));
        }
        (self.deadline, self.rack().timer) = (now + self.rtt.timeout(params), Timer::Retransmission);
    }

    /// RFC 6298, section 5, and RFC 8985, section 6.3: the first segment is lost, and those sent long enough ago; the window
    /// has room for one more than is in flight.
    fn rack_on_timeout(&mut self, now: Time, params: &TcpParams, net: &mut impl Network) {
        self.deadline = Time::NEVER;
        if self.flight() == 0 || self.rack_gives_up(params) {
            return;
        }
        let is_new = matches!(self.state, RecoveryState::Open | RecoveryState::Cwr);
        let patience = self.rack().rtt;
        let hole = self.hole;
        let (rack, mut law) = (self.rack.as_mut().expect("made for this variant"), self.cc.engaged());
        rack.board.mark_lost(
            |_| false,
            |seq, sent| {
                let is_lost = seq == hole || sent.time + patience <= now;
                if is_lost && let Some(law) = &mut law {
                    law.on_lost(seq, now);
                }
                is_lost
            },
        );
        if self.state == RecoveryState::Open || self.hole >= self.recover {
            let Window { cwnd, ssthresh } = self.cc.window;
            self.rack().prior = (cwnd, ssthresh);
            self.cc.reduce_ssthresh(Event::Timeout, Halve::Window, cwnd, 0);
        }
        self.timeouts += 1;
        self.syn_lost |= self.hole == 0;
        self.cc.collapse();
        self.cc.window.cwnd = f64::from(self.rack().board.in_flight() + 1);
        self.state = RecoveryState::RtoRecovery;
        self.recover = self.sent;
        self.cwr_due = self.ecn;
        self.rtt.back_off(params);
        (self.rack().frto, self.rack().probe) = (is_new && self.hole > 0, None);
        self.rack().timer = Timer::Retransmission;
        self.transmit(self.hole, now, params, net);
        self.deadline = now + self.rtt.timeout(params);
    }

    /// The SYN has been sent often enough.
    fn rack_gives_up(&mut self, params: &TcpParams) -> bool {
        let gives_up = self.hole == 0 && params.syn && self.timeouts >= params.syn_retries;
        if gives_up {
            self.has_failed = true;
            self.close();
        }
        gives_up
    }

    pub(crate) fn rack_note_sent(&mut self, seq: u32, now: Time) {
        self.rack().board.on_sent(seq, now);
    }

    fn rack(&mut self) -> &mut Rack {
        self.rack.as_mut().expect("made for this variant")
    }
}
