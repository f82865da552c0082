//! What a sender remembers for RACK-TLP (RFC 8985), and how it finds losses. Names are the RFC's.

use super::outstanding::{Outstanding, Sent};
use super::prr::Prr;
use crate::ack::Ack;
use crate::linux::Estimator;
use crate::params::TcpParams;
use aqmlab_core::{Span, Time};

/// What the timer is waiting for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Timer {
    #[default]
    Retransmission,
    /// The reordering window of the next segment is over.
    Reordering,
    /// A tail loss probe.
    Probe,
}

/// What a sender remembers for RACK-TLP.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    pub board: Outstanding,
    pub estimator: Estimator,
    /// RACK.xmit_ts and RACK.end_seq: of the segment sent last among those delivered.
    pub xmit_ts: Time,
    pub end_seq: u32,
    /// RACK.rtt: its round-trip time.
    pub rtt: Span,
    pub min_rtt: Option<Span>,
    pub reordering_seen: bool,
    pub prr: Prr,
    pub timer: Timer,
    /// TLP.end_seq, while a probe is out, and whether it was a segment sent before.
    pub probe: Option<(u32, bool)>,
    /// F-RTO (RFC 5682): whether the last timeout was spurious is not known yet.
    pub frto: bool,
    /// Window and threshold before the last reduction.
    pub prior: (f64, f64),
}

/// What an ACK tells.
#[derive(Default)]
pub(crate) struct News {
    /// Segments delivered.
    pub delivered: u32,
    /// Among them one that was sent once, before the last reduction.
    pub has_original: bool,
    pub has_sacked: bool,
    /// Round-trip times of the first and the last of those sent once, or else of one sent again.
    pub rtt: Option<(Span, Span)>,
}

impl Rack {
    /// Takes in an ACK.
    pub(super) fn take(&mut self, ack: &Ack, recover: u32, now: Time) -> News {
        let mut news = News::default();
        let (mut newest, min_rtt, mut reordering) = (None::<(u32, Sent)>, self.min_rtt, self.reordering_seen);
        let top = self.board.top();
        let mut resent_rtt = None;
        self.board.take(ack, |seq, sent| {
            let rtt = now.since(sent.time);
            news.delivered += 1;
            news.has_sacked |= seq >= ack.next;
            if sent.was_resent {
                resent_rtt = Some(rtt);
                if min_rtt.is_some_and(|least| rtt < least) {
                    return; // it is the first copy that has arrived
                }
            } else {
                news.rtt = Some((news.rtt.map_or(rtt, |(first, _)| first), rtt));
                news.has_original |= seq < recover;
                reordering |= seq < top;
            }
            if newest.is_none_or(|(other, at)| (sent.time, seq) > (at.time, other)) {
                newest = Some((seq, *sent));
            }
        });
        if let Some((_, last)) = news.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(last, |least| least.min(last)));
        }
        news.rtt = news.rtt.or(resent_rtt.map(|rtt| (rtt, rtt)));
        self.reordering_seen = reordering;
        if let Some((seq, sent)) = newest {
            self.rtt = now.since(sent.time);
            if (sent.time, seq) >= (self.xmit_ts, self.end_seq) {
                (self.xmit_ts, self.end_seq) = (sent.time, seq);
            }
        }
        news
    }

    /// RACK.reo_wnd. Until reordering has been seen, three segments SACKed are as good as time (RFC 8985, section 6.2, step 4).
    pub(super) fn reo_wnd(&self, in_recovery: bool, srtt: Span, params: &TcpParams) -> Span {
        if !self.reordering_seen && (in_recovery || self.board.sacked() >= params.dup_ack_threshold) {
            return Span::ZERO;
        }
        Span(self.min_rtt.unwrap_or_default().0 / 4).min(Span(srtt.0 / 8))
    }

    /// Segments in the network.
    pub fn in_flight(&self) -> u32 {
        self.board.in_flight()
    }

    /// RFC 8985, section 6.2, step 5: marks what is lost and tells of it. Returns how many segments, and when the next may be.
    pub(super) fn detect_loss(&mut self, reo_wnd: Span, now: Time, mut lost: impl FnMut(u32)) -> (u32, Option<Time>) {
        let (xmit_ts, end_seq, patience) = (self.xmit_ts, self.end_seq, self.rtt + reo_wnd);
        let mut timeout = None::<Time>;
        let count = self.board.mark_lost(
            |sent| !sent.was_resent && sent.time > xmit_ts,
            |seq, sent| {
                if (sent.time, seq) >= (xmit_ts, end_seq) {
                    return false;
                }
                let due = sent.time + patience;
                match due > now {
                    true => timeout = Some(timeout.map_or(due, |last| last.max(due))),
                    false => lost(seq),
                }
                due <= now
            },
        );
        (count, timeout)
    }
}
