//! One of the queues.

use super::round_robin::FlowSet;
use super::store::WaitingLine;
use crate::QueueView;

/// One flow's queue (or that of flows which hash alike).
#[derive(Clone)]
#[repr(C, align(64))] // what every packet touches is one cache line, the scheme begins the next
pub(super) struct FlowQueue<A> {
    /// Bytes that it may still send in this round.
    pub(super) credits: i64,
    pub(super) bytes: u64,
    /// Offered so far.
    pub(super) arrived_packets: u64,
    pub(super) arrived_bytes: u64,
    /// Its packets.
    pub(super) line: WaitingLine,
    /// Bucket through which flows find it.
    pub(super) bucket: u32,
    /// Bucket of the host whose flow it belongs to.
    pub(super) host: u32,
    /// Number of times it has begun to decay.
    pub(super) decays: u32,
    pub(super) state: FlowSet,
    pub(super) scheme: A,
}

impl<A> FlowQueue<A> {
    pub(super) fn new(bucket: u32, scheme: A) -> Self {
        let (line, state) = (WaitingLine::EMPTY, FlowSet::Idle);
        let [bytes, arrived_packets, arrived_bytes] = [0; 3];
        Self { credits: 0, bytes, arrived_packets, arrived_bytes, line, bucket, host: 0, decays: 0, state, scheme }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.line.len() == 0
    }

    /// View that its scheme gets; it is one of `all`.
    #[inline(always)]
    pub(super) fn view(&self, all: &QueueView) -> QueueView {
        QueueView {
            packets: self.line.len(),
            bytes: self.bytes,
            others: all.bytes - self.bytes,
            arrived_packets: self.arrived_packets,
            arrived_bytes: self.arrived_bytes,
            ..*all
        }
    }

    /// A packet of this size has joined its line, one of `all`.
    #[inline(always)]
    pub(super) fn gain(&mut self, size: u32, all: &mut QueueView) {
        self.bytes += u64::from(size);
        all.packets += 1;
        all.bytes += u64::from(size);
    }

    /// A packet of this size has left its line.
    #[inline(always)]
    pub(super) fn lose(&mut self, size: u32, all: &mut QueueView) {
        self.bytes -= u64::from(size);
        all.packets -= 1;
        all.bytes -= u64::from(size);
    }
}
