//! What is measured at a group of flows (definitions: docs/metrics.md).

use super::meter::Spans;
use aqmlab_core::{Span, Time};
use aqmlab_tcp::Sender;

/// One packet at its receiver. Receivers act as soon as it is certain when a packet reaches them, so `at` may lie ahead.
#[derive(Clone, Copy, Debug)]
struct Receipt {
    at: Time,
    delay: Span,
    /// Segments that it completes in order; 1 for a datagram.
    delivered: u32,
    is_marked: bool,
}

/// What a group of flows has received since it was last probed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// Packets.
    pub packets: u64,
    /// Packets with a congestion mark.
    pub marked: u64,
    /// Segments received in order, or datagrams.
    pub delivered: u64,
    /// Sum of the packets' delays, ps.
    delay_sum: f64,
    /// The longest of them.
    delay_max: Span,
}

impl Received {
    fn add(&mut self, receipt: &Receipt) {
        self.packets += 1;
        self.marked += u64::from(receipt.is_marked);
        self.delivered += u64::from(receipt.delivered);
        self.delay_sum += receipt.delay.0 as f64;
        self.delay_max = self.delay_max.max(receipt.delay);
    }

    /// Mean and greatest packet delay, s; `None` if no packet was received.
    pub fn delay(&self) -> Option<(f64, f64)> {
        (self.packets > 0).then(|| (self.delay_sum / self.packets as f64 * 1e-12, self.delay_max.seconds()))
    }
}

/// Receipts since the last probe, of which those that lie ahead must not be seen yet.
#[derive(Clone, Debug, Default)]
pub struct Receipts {
    ahead: Vec<Receipt>,
    past: Received,
}

impl Receipts {
    /// Receipts that may pile up before those of the past are counted.
    const MOST: usize = 1 << 14;

    #[inline(never)] // nobody asks but who steps through a run
    fn note(&mut self, receipt: Receipt) {
        self.ahead.push(receipt);
    }

    /// What was received up to now since the last call.
    pub fn take(&mut self, now: Time) -> Received {
        self.count(now);
        std::mem::take(&mut self.past)
    }

    /// Keeps the list short between probes.
    pub fn tidy(&mut self, now: Time) {
        if self.ahead.len() > Self::MOST {
            self.count(now);
        }
    }

    fn count(&mut self, now: Time) {
        let past = &mut self.past;
        self.ahead.retain(|receipt| {
            let is_past = receipt.at <= now;
            if is_past {
                past.add(receipt);
            }
            !is_past
        });
    }
}

/// Is told what reaches receivers.
pub trait ReceiptMeter {
    /// A packet that counts, source to destination.
    fn count(&mut self, delay: Span, is_marked: bool);

    /// A packet reaches its receiver, perhaps ahead of the present.
    fn note_receipt(&mut self, at: Time, delay: Span, delivered: u32, is_marked: bool);
}

impl ReceiptMeter for GroupMeter {
    #[inline(always)]
    fn count(&mut self, delay: Span, is_marked: bool) {
        self.packet_delay.add(delay);
        self.marked += u64::from(is_marked);
    }

    #[inline(always)]
    fn note_receipt(&mut self, at: Time, delay: Span, delivered: u32, is_marked: bool) {
        if let Some(receipts) = &mut self.receipts {
            receipts.note(Receipt { at, delay, delivered, is_marked });
        }
    }
}

/// Measures one group of flows.
#[derive(Clone, Debug, Default)]
pub struct GroupMeter {
    /// For probes, if there may be any.
    pub receipts: Option<Receipts>,
    /// Source to destination of one transmission.
    pub packet_delay: Spans,
    /// Datagrams sent.
    pub sent: u64,
    /// Packets received with a congestion mark.
    pub marked: u64,
    /// From the request of a transfer to its last ACK.
    pub completion: Spans,
    /// Transfers completed, warm-up included.
    pub ever_completed: u64,
    /// Of senders whose transfer has ended.
    pub ended: Counters,
    /// Of all senders when measuring began.
    pub before: Counters,
}

/// What senders count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    pub retransmits: u64,
    pub timeouts: u64,
    pub ecn_reductions: u64,
    pub failed: u64,
}

impl Counters {
    pub fn add(&mut self, sender: &Sender) {
        self.retransmits += u64::from(sender.retransmits());
        self.timeouts += u64::from(sender.timeouts());
        self.ecn_reductions += u64::from(sender.ecn_reductions());
        self.failed += u64::from(sender.has_failed());
    }

    /// Both together.
    pub fn plus(self, other: Self) -> Self {
        Self {
            retransmits: self.retransmits + other.retransmits,
            timeouts: self.timeouts + other.timeouts,
            ecn_reductions: self.ecn_reductions + other.ecn_reductions,
            failed: self.failed + other.failed,
        }
    }

    /// What was counted since `before`.
    pub fn since(self, before: Self) -> Self {
        Self {
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts - before.timeouts,
            ecn_reductions: self.ecn_reductions - before.ecn_reductions,
            failed: self.failed - before.failed,
        }
    }
}

impl GroupMeter {
    /// Takes in what was measured at another group.
    pub fn merge(&mut self, other: &GroupMeter) {
        self.packet_delay.merge(&other.packet_delay);
        self.marked += other.marked;
        self.completion.merge(&other.completion);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn s(seconds: f64) -> Time {
        Time::ZERO + Span::from_seconds(seconds)
    }

    #[test]
    fn a_probe_sees_no_receipt_that_lies_ahead() {
        let mut meter = GroupMeter { receipts: Some(Receipts::default()), ..GroupMeter::default() };
        for (at, delay, marked) in [(1.0, 0.1, false), (3.0, 0.3, true), (2.0, 0.2, false)] {
            meter.note_receipt(s(at), Span::from_seconds(delay), 1, marked);
        }
        let mut take = |now| meter.receipts.as_mut().unwrap().take(s(now));
        let first = take(2.0);
        assert_eq!((first.packets, first.marked, first.delivered), (2, 0, 2));
        let (mean, max) = first.delay().unwrap();
        assert!((mean - 0.15).abs() < 1e-12 && max == 0.2);
        assert_eq!((take(2.5).packets, take(3.0).marked, take(9.0).delay()), (0, 1, None));
    }
}
