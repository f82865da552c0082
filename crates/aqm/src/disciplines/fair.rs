//! Flow queueing: a queue for each flow, a scheme for each queue, and deficit round robin among them (RFC 8290), or among
//! the queues of one of CAKE's tins.

mod hashed;
mod rounds;

use self::hashed::{Hosts, Sets};
pub(super) use self::rounds::Rounds;
use self::rounds::Set;
use super::fifo::Head;
use super::{Accounts, Carried, Discipline, Fate, Fifo, Limit, Note, Notes};
use crate::link_layer::LinkLayer;
use crate::{Aqm, Ctx, Failure, QueueView, Tune, tune};
use aqmlab_core::{Bytes, ParamSet, Rate, Span, Time, choice, params};
use std::collections::VecDeque;

choice! {
    /// To whom the rounds are fair.
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

/// One flow's queue (or that of flows which hash alike).
#[derive(Clone)]
#[repr(C)] // what every packet touches is together
struct Queue<A, P> {
    /// Bytes that it may still send in this round.
    credits: i64,
    /// The hash of the flow that it belongs to, and the place of that flow's host.
    flow: u32,
    host: u32,
    /// Where flows are hashed to it.
    place: u32,
    /// How often it has begun to decay.
    decays: u32,
    set: Set,
    fifo: Fifo<A, P>,
}

/// In place of the number of a queue: there is none yet.
const NONE: u32 = u32::MAX;

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
    /// The number of the queue at each place that flows are hashed to; those not used yet do not exist.
    places: Vec<u32>,
    sets: Sets,
    queues: Vec<Queue<A, P>>,
    hosts: Hosts,
    /// Queues that have just begun to send; served first.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    /// Each with its number of decays; an entry with an earlier number is void.
    decaying: VecDeque<(u32, u32)>,
    rounds: Rounds,
    /// Queues with more than a quantum to send.
    bulk: u32,
    layer: LinkLayer,
    /// Where drops count as sent, as in CAKE's ingress mode: what the packets took that were dropped and are not fetched yet.
    dropped: Option<Vec<u32>>,
    /// All queues together; a scheme sees its own queue's packets instead.
    view: QueueView,
    limit: Limit,
    ecn: bool,
    /// What has happened at a discipline whose place this one took.
    earlier: Accounts,
    notes: Notes<P>,
}

impl<A: Aqm + Tune + Clone, P: Carried> Fair<A, P> {
    /// Empty queues of a link that `view` describes, each under a copy of `scheme`; they share `limit`, mark if `ecn`,
    /// and hash flows with `salt`.
    pub fn new(params: FairParams, scheme: A, view: QueueView, limit: Limit, ecn: bool, salt: u64) -> Self {
        Self {
            scheme,
            places: vec![NONE; params.flows as usize],
            queues: Vec::new(),
            sets: Sets::new(params.flows, params.ways, salt),
            hosts: Hosts::new(salt),
            params,
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            rounds: Rounds::Rfc8290,
            bulk: 0,
            layer: LinkLayer::PLAIN,
            dropped: None,
            view,
            limit,
            ecn,
            earlier: Accounts::default(),
            notes: None,
        }
    }

    /// The same under other rules for queues that have nothing to send.
    pub(super) fn with_rounds(self, rounds: Rounds) -> Self {
        Self { rounds, ..self }
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

    /// What the packets take on the link that were dropped since this was last asked, where they count as sent.
    pub(super) fn fetch_dropped(&mut self) -> Vec<u32> {
        self.dropped.as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn note_dropped(&mut self, size: u32) {
        let bytes = self.layer.bytes(size);
        self.dropped.iter_mut().for_each(|dropped| dropped.push(bytes));
    }

    /// The queue of a flow: in its set the one that was its last, or else an idle one, or else the one it hashes to. If that
    /// was another's, it is this flow's and its host's now.
    #[inline(always)]
    fn claim(&mut self, flow: u32, host: u32) -> u32 {
        let queue = |place: u32| self.queues.get(self.places[place as usize] as usize);
        let is_own = |place| queue(place).is_some_and(|queue| queue.flow == flow);
        let is_idle = |place| queue(place).is_none_or(|queue| queue.set == Set::Idle);
        let place = self.sets.place(flow, is_own, is_idle);
        let index = match self.places[place as usize] {
            NONE => self.make(place),
            index => index,
        };
        let queue = &self.queues[index as usize];
        if queue.set == Set::Idle || queue.flow != flow {
            self.give(index, flow, host);
        }
        index
    }

    /// A queue belongs to this flow now, and to the flow's host.
    #[inline(never)]
    fn give(&mut self, index: u32, flow: u32, host: u32) {
        let host = self.hosts.place(host);
        let queue = &mut self.queues[index as usize];
        let left = std::mem::replace(&mut queue.host, host);
        queue.flow = flow;
        if queue.set == Set::Bulk {
            self.hosts.lose_bulk(left);
            self.hosts.gain_bulk(host);
        }
    }

    /// A queue begins to exist.
    #[cold]
    fn make(&mut self, place: u32) -> u32 {
        let view = QueueView::empty(self.view.rate, self.view.target, self.view.limit);
        let mut fifo = Fifo::shared(self.scheme.clone(), view, self.ecn);
        if self.notes.is_some() {
            fifo.keep_notes();
        }
        let index = self.queues.len() as u32;
        self.places[place as usize] = index;
        self.queues.push(Queue { credits: 0, flow: 0, host: 0, place, decays: 0, set: Set::Idle, fifo });
        index
    }

    /// A queue that is about to act. Until [`settle`](Self::settle) the sums are without its packets.
    #[inline(always)]
    fn acting(&mut self, index: u32) -> &mut Queue<A, P> {
        let queue = &mut self.queues[index as usize];
        self.view.packets -= queue.fifo.view().packets;
        self.view.bytes -= queue.fifo.view().bytes;
        queue.fifo.set_others(self.view.bytes);
        queue
    }

    /// A queue has acted.
    #[inline(always)]
    fn settle(&mut self, index: u32) {
        let queue = &mut self.queues[index as usize];
        self.view.packets += queue.fifo.view().packets;
        self.view.bytes += queue.fifo.view().bytes;
        if let Some(notes) = &mut self.notes {
            queue.fifo.fetch_notes(notes);
        }
    }

    /// Drops from the head of the queue with most bytes: half of its packets, but no more than a batch.
    pub(super) fn make_room(&mut self, cx: &mut Ctx) {
        let (_, longest) = self.longest();
        let index = self.places[longest as usize];
        let waiting = self.queues.get(index as usize).map_or(0, |queue| queue.fifo.len());
        for _ in 0..waiting.div_ceil(2).min(self.params.drop_batch) {
            let size = self.acting(index).fifo.overflow_at_head(cx);
            self.settle(index);
            size.into_iter().for_each(|size| self.note_dropped(size));
        }
    }

    /// Bytes waiting.
    pub(super) fn bytes(&self) -> u64 {
        self.view.bytes
    }

    /// Bytes of the queue with most of them, and its place. Only listed queues hold packets.
    pub(super) fn longest(&self) -> (u64, u32) {
        let listed = self.new.iter().chain(&self.old).map(|index| &self.queues[*index as usize]);
        listed.map(|queue| (queue.fifo.view().bytes, queue.place)).max().unwrap_or_default()
    }

    /// The parameters of the queues.
    pub(super) fn params_mut(&mut self) -> &mut FairParams {
        &mut self.params
    }

    /// The scheme of each queue, and the one at rest.
    pub(super) fn schemes_mut(&mut self) -> impl Iterator<Item = &mut A> {
        let of_queues = self.queues.iter_mut().map(|queue| queue.fifo.scheme_mut());
        of_queues.chain([&mut self.scheme])
    }

    /// Takes out, unasked, the packet that would leave next.
    pub(super) fn take_next(&mut self, now: Time) -> Option<(P, Time)> {
        self.leave(now, |fifo| fifo.take_head().map(|(packet, since)| (packet.size(), (packet, since))))
    }

    /// A packet comes to the queue of its flow, which acts on it and gets a turn if it has packets then.
    #[inline(always)]
    fn join<T>(&mut self, packet: P, act: impl FnOnce(&mut Fifo<A, P>, P) -> T) -> T {
        let index = self.claim(packet.flow_hash(), packet.host());
        let fifo = &mut self.acting(index).fifo;
        let done = act(fifo, packet);
        let waits = !fifo.is_empty();
        self.settle(index);
        if waits {
            self.begin(index);
        }
        done
    }

    /// The same where drops count as sent: a queue that drops a packet pays for it, which may end its turn.
    #[inline(never)]
    fn leave_paying(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        loop {
            let (index, is_new) = self.next()?;
            let (layer, bulk) = (self.layer, self.bulk);
            let queue = self.acting(index);
            queue.fifo.scheme_mut().set_bulk_flows(bulk);
            let head = queue.fifo.judge_head(cx);
            let size = head.as_ref().map_or(0, |head| match head {
                Head::Leaves(packet, _) => packet.size(),
                Head::Dropped(size) => *size,
            });
            queue.credits -= head.as_ref().map_or(0, |_| i64::from(layer.bytes(size)));
            self.settle(index);
            match head {
                Some(Head::Leaves(packet, since)) => return Some((packet, since)),
                Some(Head::Dropped(size)) => self.note_dropped(size),
                None => self.retire(index, is_new, cx.now),
            }
        }
    }

    /// The queue whose turn it is gives a packet, by `take`, which says its size; one that gives none loses its turn.
    #[inline(always)]
    fn leave<T>(&mut self, now: Time, mut take: impl FnMut(&mut Fifo<A, P>) -> Option<(u32, T)>) -> Option<T> {
        loop {
            let (index, is_new) = self.next()?;
            let layer = self.layer;
            let queue = self.acting(index);
            let left = take(&mut queue.fifo);
            queue.credits -= left.as_ref().map_or(0, |(size, _)| i64::from(layer.bytes(*size)));
            self.settle(index);
            match left {
                Some((_, left)) => return Some(left),
                None => self.retire(index, is_new, now),
            }
        }
    }
}

impl<A: Aqm + Tune + Clone, P: Carried> Discipline<P> for Fair<A, P> {
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        let fate = self.join(packet, |fifo, packet| fifo.enqueue(packet, cx));
        if self.limit.is_exceeded(self.view.packets, self.view.bytes) {
            self.make_room(cx);
        }
        fate
    }

    fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        self.dequeue_with(cx, |packet, since| (packet, since))
    }

    #[inline(always)]
    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        if !self.decaying.is_empty() {
            self.decay(cx);
        }
        if self.dropped.is_some() {
            return self.leave_paying(cx).map(|(packet, since)| keep(packet, since));
        }
        let mut keep = Some(keep); // one packet leaves
        self.leave(cx.now, |fifo| {
            let kept = |packet: P, since| (packet.size(), keep.take().map(|keep| keep(packet, since)));
            fifo.dequeue_with(cx, kept)
        })
        .flatten()
    }

    fn len(&self) -> u32 {
        self.view.packets
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.queues.iter().for_each(|queue| queue.fifo.for_each(act));
    }

    fn departures_known(&self) -> bool {
        false
    }

    fn tick_every(&self) -> Option<Span> {
        self.scheme.tick_every()
    }

    fn tick(&mut self, cx: &mut Ctx) {
        self.queues.iter_mut().for_each(|queue| queue.fifo.tick(cx));
    }

    fn set_rate(&mut self, rate: Rate) {
        self.view.rate = rate;
        self.queues.iter_mut().for_each(|queue| queue.fifo.set_rate(rate));
    }

    fn set_target(&mut self, target: f64) {
        self.view.target = target;
        self.queues.iter_mut().for_each(|queue| queue.fifo.set_target(target));
    }

    fn set_limit(&mut self, limit: Limit, packets: f64) {
        self.limit = limit;
        self.view.limit = packets;
        self.queues.iter_mut().for_each(|queue| queue.fifo.set_limit(Limit::NONE, packets));
    }

    fn set_param(&mut self, name: &str, value: &str) -> Result<(), String> {
        if FairParams::specs().iter().any(|spec| spec.name == name) {
            self.params = tune::changed(&self.params, AT_START, name, value)?;
            return Ok(());
        }
        let view = QueueView::empty(self.view.rate, self.view.target, self.view.limit);
        self.schemes_mut().try_for_each(|scheme| scheme.set_param(name, value, &view))
    }

    fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
        std::iter::from_fn(|| self.take_next(now)).collect()
    }

    fn adopt(&mut self, packet: P, since: Time) {
        self.join(packet, |fifo, packet| fifo.adopt(packet, since));
    }

    /// Queues with packets; packets of the longest.
    fn observe(&self, i: usize) -> f64 {
        match i {
            0 => self.queues.iter().filter(|queue| !queue.fifo.is_empty()).count() as f64,
            _ => f64::from(self.queues.iter().map(|queue| queue.fifo.len()).max().unwrap_or(0)),
        }
    }

    fn failure(&self) -> Option<&Failure> {
        self.queues.iter().find_map(|queue| queue.fifo.failure())
    }

    fn accounts(&self) -> Accounts {
        let mut sum = self.earlier.clone();
        self.queues.iter().for_each(|queue| sum.add(&queue.fifo.accounts()));
        sum
    }

    fn add_accounts(&mut self, earlier: &Accounts) {
        self.earlier.add(earlier);
    }

    fn restart_accounts(&mut self) {
        self.earlier = Accounts::default();
        self.queues.iter_mut().for_each(|queue| queue.fifo.restart_accounts());
    }

    fn accounts_balance(&self) -> bool {
        self.earlier.balance(0)
            && self.queues.iter().all(|queue| queue.fifo.accounts_balance())
            && self.view.packets == self.queues.iter().map(|queue| queue.fifo.len()).sum::<u32>()
            && self.view.bytes == self.queues.iter().map(|queue| queue.fifo.view().bytes).sum::<u64>()
    }

    fn keep_notes(&mut self) {
        self.notes.get_or_insert_default();
        self.queues.iter_mut().for_each(|queue| queue.fifo.keep_notes());
    }

    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.notes.iter_mut().for_each(|kept| notes.append(kept));
    }
}

#[cfg(test)]
mod tests;
