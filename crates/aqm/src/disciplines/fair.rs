//! Flow queueing: a queue for each flow, a scheme for each queue, and deficit round robin among them (RFC 8290), or among
//! the queues of one of CAKE's tins.

mod hashed;
mod packets;
mod queue;
mod round_robin;
mod store;

use self::hashed::Hosts;
pub(super) use self::hashed::SetAssociativeHash;
use self::queue::FlowQueue;
use self::round_robin::FlowSet;
pub(super) use self::round_robin::RoundRobin;
use self::store::PacketStore;
use super::drawn::FlowTags;
use super::queue_state::QueueState;
use super::{Carried, Discipline, Fate, Limit, view};
use crate::link_layer::LinkLayer;
use crate::{Aqm, Ctx, Failure, QueueView, Tune, tune};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Bytes, ParamSet, Span, SparseTable, Time, choice, make_room, params};
use std::collections::VecDeque;

choice! {
    /// Fairness of the rounds.
    pub enum Isolation {
        /// Flows: each has the same share.
        Flows = "flows",
        /// Hosts first, then the flows of a host.
        Hosts = "hosts",
    }
}

params! {
    /// Flow queueing of RFC 8290.
    pub struct FairParams {
        /// Queues that flows are hashed into.
        flows: u32 = "1024" in "1" ..= "65536", unit "queues", tc "flows" in "number", from "RFC 8290, 5.2.5";
        /// Bytes that a queue may send before the next one's turn.
        quantum: Bytes = "1514 B" in "1 B" ..= "10 MB", tc "quantum" in "bytes", from "RFC 8290, 5.2.4";
        /// Packets dropped at most from the longest queue when the buffer is full.
        drop_batch: u32 = "64" in "1" ..= "65536", unit "packets", tc "drop_batch" in "packets", from "RFC 8290, 4.1";
        /// Queues of a set, any of which a flow that hashes to it may take; 1 is a plain hash.
        ways: u32 = "1" in "1" ..= "64", unit "queues", from "RFC 8290, 4.1 (CAKE: 8)";
        /// Fair to flows, or to the hosts that send them first.
        isolation: Isolation = "flows", from "RFC 8290 (CAKE: hosts)";
    }
}

/// A bucket that flows are hashed to.
#[derive(Clone, Copy)]
struct Bucket {
    /// The number of its queue.
    queue: u32,
    /// The hash of the flow that it belongs to.
    flow: u32,
}

/// In place of the number of a queue: there is none yet.
const NONE: u32 = u32::MAX;

/// In place of the number of a queue: it was as good as new, and another bucket has it.
const LEFT: u32 = NONE - 1;

/// Parameters that the queues are laid out by.
const AT_START: &[(&str, &str)] = &[
    ("flows", "flows have been hashed into that many queues"),
    ("ways", "flows have their queues in sets of that many"),
];

/// Hashed queues under deficit round robin, a scheme of its own for each.
#[derive(Clone)]
pub struct Fair<A, P> {
    params: FairParams,
    /// The scheme at rest, which each queue starts with.
    scheme: A,
    buckets: SparseTable<Bucket>,
    hash: SetAssociativeHash,
    /// Those of buckets not used yet, or not for long, do not exist.
    queues: Vec<FlowQueue<A>>,
    /// Packets that wait in the queues.
    store: PacketStore<P>,
    hosts: Hosts,
    /// Queues that have just begun to send; served first.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Each with its number of decays; an entry with an earlier number is void.
    decaying: VecDeque<(u32, u32)>,
    round_robin: RoundRobin,
    /// Queues with more than a quantum to send.
    bulk: u32,
    /// Memory that what waits takes in Linux, bytes, if the buffer counts that, as CAKE's does.
    memory: Option<u64>,
    layer: LinkLayer,
    /// Bytes on the link of dropped packets not fetched yet, if drops count as sent, as in CAKE's ingress mode.
    dropped: Option<Vec<u32>>,
    /// All queues together; a scheme sees its own queue's packets instead.
    state: QueueState<P>,
    /// The scheme looks at arrivals, acts on departures, draws packets. In debug builds all are asked, so that the
    /// contract finds one that forgot to say so.
    acts_on_enqueue: bool,
    acts_on_dequeue: bool,
    draws: bool,
    /// A packet that meets a full buffer is refused.
    refuses_when_full: bool,
    /// Flows of the packets that wait in each queue, for a scheme that draws them.
    flows: Vec<FlowTags>,
}

impl<A: Aqm + Tune + Clone, P: Carried> Fair<A, P> {
    /// Empty queues of a link that `view` describes, each under a copy of `scheme`; they share `limit`, mark if `ecn`,
    /// and hash flows with `salt`.
    pub fn new(params: FairParams, scheme: A, view: QueueView, limit: Limit, ecn: bool, salt: u64) -> Self {
        Self {
            acts_on_enqueue: scheme.acts_on_enqueue() || scheme.draws_packets() || cfg!(debug_assertions),
            acts_on_dequeue: scheme.acts_on_dequeue() || cfg!(debug_assertions),
            draws: scheme.draws_packets() || cfg!(debug_assertions),
            refuses_when_full: scheme.refuses_when_full(),
            scheme,
            buckets: SparseTable::new(params.flows as usize, Bucket { queue: NONE, flow: 0 }),
            queues: Vec::new(),
            store: PacketStore::new(),
            hash: SetAssociativeHash::new(params.flows, params.ways, salt),
            hosts: Hosts::new(salt),
            params,
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            round_robin: RoundRobin::Rfc8290,
            bulk: 0,
            memory: None,
            layer: LinkLayer::PLAIN,
            dropped: None,
            state: QueueState::new(view, limit, ecn),
            flows: Vec::new(),
        }
    }

    /// The same under another variant of round robin.
    pub(super) fn with_round_robin(self, round_robin: RoundRobin) -> Self {
        Self { round_robin, ..self }
    }

    /// Sets what packets take on the link, which the rounds count.
    pub(super) fn set_link_layer(&mut self, layer: LinkLayer) {
        self.layer = layer;
    }

    /// Lets drops count as sent from now on, or not.
    pub(super) fn count_drops(&mut self, count: bool) {
        self.dropped = count.then(|| self.dropped.take().unwrap_or_default());
        if !count {
            self.schemes_mut().for_each(|scheme| scheme.set_bulk_flows(0));
        }
    }

    /// Takes the bytes on the link of each packet dropped since the last call, if drops count as sent.
    pub(super) fn fetch_dropped(&mut self) -> Vec<u32> {
        self.dropped.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// The queue of a flow: in its set the one that was its last, or else an idle one, or else the one it hashes to. If that
    /// was another's, it is this flow's and its host's now.
    #[inline(always)]
    fn claim(&mut self, flow: u32, host: u32, now: Time) -> u32 {
        let at = |bucket: u32| self.buckets[bucket as usize];
        let is_own = |bucket| at(bucket).flow == flow && at(bucket).queue != NONE;
        let is_idle =
            |bucket| self.queues.get(at(bucket).queue as usize).is_none_or(|queue| queue.state == FlowSet::Idle);
        let bucket = self.hash.bucket(flow, is_own, is_idle);
        let Bucket { queue: index, flow: owner } = at(bucket);
        if index >= LEFT {
            let index = self.make(bucket, now);
            self.give(index, flow, host);
            return index;
        }
        let queue = &self.queues[index as usize];
        if owner != flow || queue.state == FlowSet::Idle && !self.hosts.has(queue.host, host) {
            self.give(index, flow, host);
        }
        index
    }

    /// A queue belongs to this flow now, and to the flow's host.
    #[inline(never)]
    fn give(&mut self, index: u32, flow: u32, host: u32) {
        let host = self.hosts.bucket(host);
        let queue = &mut self.queues[index as usize];
        let left = std::mem::replace(&mut queue.host, host);
        self.buckets[queue.bucket as usize].flow = flow;
        if queue.state == FlowSet::Bulk {
            self.hosts.lose_bulk(left);
            self.hosts.gain_bulk(host);
        }
    }

    /// A queue begins to exist, in the place of one that is as good as new, if there is one.
    #[cold]
    fn make(&mut self, bucket: u32, now: Time) -> u32 {
        let is_reset = |queue: &FlowQueue<A>| queue.state == FlowSet::Idle && queue.scheme.is_reset(now);
        let mut queue = FlowQueue::new(bucket, self.scheme.clone());
        let can_tell = self.scheme.is_reset(now); // else all queues would be looked at in vain
        let index = match can_tell.then(|| self.queues.iter().position(is_reset)).flatten() {
            Some(index) => {
                queue.decays = self.queues[index].decays;
                let left = std::mem::replace(&mut self.queues[index], queue);
                self.buckets[left.bucket as usize].queue = LEFT;
                index
            }
            None => {
                make_room(&mut self.queues);
                self.queues.push(queue);
                if self.draws {
                    self.flows.push(FlowTags::default());
                }
                self.queues.len() - 1
            }
        };
        self.buckets[bucket as usize].queue = index as u32;
        index as u32
    }

    /// Bytes waiting.
    pub(super) fn bytes(&self) -> u64 {
        self.state.view.bytes
    }

    /// Counts the memory that packets take from now on, before the first one.
    pub(super) fn count_memory(&mut self) {
        self.memory = Some(0);
    }

    /// Memory that what waits takes in Linux, bytes; 0 unless that is counted.
    pub(super) fn memory(&self) -> u64 {
        self.memory.unwrap_or(0)
    }

    /// Bytes of the queue with most of them, and its bucket. Only listed queues hold packets.
    pub(super) fn longest(&self) -> (u64, u32) {
        let listed = self.new.iter().chain(&self.old).map(|index| &self.queues[*index as usize]);
        listed.map(|queue| (queue.bytes, queue.bucket)).max().unwrap_or_default()
    }

    /// The parameters of the queues.
    pub(super) fn params_mut(&mut self) -> &mut FairParams {
        &mut self.params
    }

    /// The scheme of each queue, and the one at rest.
    pub(super) fn schemes_mut(&mut self) -> impl Iterator<Item = &mut A> {
        let of_queues = self.queues.iter_mut().map(|queue| &mut queue.scheme);
        of_queues.chain([&mut self.scheme])
    }

    /// Takes out, unasked, the packet that would leave next.
    pub(super) fn take_next(&mut self, now: Time) -> Option<(P, Time)> {
        loop {
            let (index, is_new) = self.next()?;
            let Some(head) = self.unlink(index) else {
                self.retire(index, is_new, now);
                continue;
            };
            self.queues[index as usize].credits -= i64::from(self.layer.bytes(head.size));
            self.state.accounts.taken += 1;
            return Some(self.store.take(head.slot));
        }
    }
}

impl<A: Aqm + Tune + Clone, P: Carried> Discipline<P> for Fair<A, P> {
    fn state(&self) -> &QueueState<P> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut QueueState<P> {
        &mut self.state
    }

    fn enqueue(&mut self, mut packet: P, cx: &mut Ctx) -> Fate {
        let index = self.claim(packet.flow_hash(), packet.host(), cx.now);
        if self.refuses_when_full && self.state.is_full_for(packet.size()) {
            return self.refuse(index, packet.size(), cx);
        }
        let fate = self.judge_arrival(index, &mut packet, cx);
        if !matches!(fate, Fate::Dropped(_)) {
            self.join(index, packet, cx.now);
        }
        if self.state.limit.is_exceeded(self.state.view.packets, self.state.view.bytes) {
            self.make_room(cx);
        }
        fate
    }

    #[inline(always)]
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        if !self.decaying.is_empty() {
            self.decay(cx);
        }
        loop {
            let (index, is_new) = self.next()?;
            let Some(head) = self.unlink(index) else {
                self.queues[index as usize].scheme.on_empty(cx);
                self.retire(index, is_new, cx.now);
                continue;
            };
            if self.leaves(index, &head, cx) {
                let (packet, since) = self.store.take(head.slot);
                return Some(keep(packet, since));
            }
            self.throw_away(&head);
        }
    }

    fn fattest(&self) -> u64 {
        self.longest().0
    }

    fn drop_from_fattest(&mut self, cx: &mut Ctx) {
        self.make_room(cx);
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.store.packets().for_each(act);
    }

    fn tick_every(&self) -> Option<Span> {
        self.scheme.tick_every()
    }

    fn tick(&mut self, cx: &mut Ctx) {
        for queue in &mut self.queues {
            let seen = queue.view(&self.state.view);
            queue.scheme.on_tick(&seen, cx);
        }
    }

    fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String> {
        if FairParams::specs().iter().any(|spec| spec.name == name) {
            self.params = tune::changed(&self.params, AT_START, name, value)?;
            return Ok(());
        }
        let view = QueueView::empty(self.state.view.rate, self.state.view.target, self.state.view.limit);
        self.schemes_mut().try_for_each(|scheme| scheme.set_param(name, value, &view))
    }

    fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
        std::iter::from_fn(|| self.take_next(now)).collect()
    }

    fn adopt(&mut self, packet: P, since: Time) {
        let index = self.claim(packet.flow_hash(), packet.host(), since);
        self.state.accounts.adopted += 1;
        self.queues[index as usize].scheme.on_adopt(&view(&packet, since, self.state.ecn));
        self.join(index, packet, since);
    }

    /// Queues with packets; packets of the longest.
    fn observe(&self, i: usize) -> f64 {
        match i {
            0 => self.queues.iter().filter(|queue| !queue.is_empty()).count() as f64,
            _ => f64::from(self.queues.iter().map(|queue| queue.line.len()).max().unwrap_or(0)),
        }
    }

    fn failure(&self) -> Option<&Failure> {
        self.queues.iter().find_map(|queue| queue.scheme.failure())
    }

    fn accounts_balance(&self) -> bool {
        let bytes_of =
            |queue: &FlowQueue<A>| self.store.packets_of(&queue.line).map(|packet| u64::from(packet.size())).sum();
        let packets = self.queues.iter().map(|queue| queue.line.len()).sum();
        self.queues.iter().all(|queue| queue.bytes == bytes_of(queue))
            && self.state.balances(packets, self.queues.iter().map(|queue| queue.bytes).sum())
    }
}

#[cfg(test)]
mod tests;
