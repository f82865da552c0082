//! Instances of CAKE's queues, one for each transmit queue of a link, which share the rate of one shaper (Linux `cake_mq`).

use super::fair::SetAssociativeHash;
use super::{Accounts, Carried, Discipline, Fate, Limit, Note, QueueState, TinPolicy, Tins};
use crate::{Ctx, Failure, QueueView, class_of, tune};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{ParamSet, Rate, Span, Time, choice, params};

choice! {
    /// The choice of the instance for a packet.
    pub enum Steering {
        /// A hash of its flow.
        Flows = "flows",
        /// A hash of the host that sent it.
        Hosts = "hosts",
        /// Its class: the remainder by the number of instances.
        Classes = "classes",
    }
}

params! {
    /// Transmit queues with an instance each.
    pub struct MqParams {
        /// Instances: transmit queues of the link.
        queues: u32 = "4" in "1" ..= "4096", unit "queues", from "this project (Linux: those of the device)";
        /// Minimum time between two looks of an instance at the others.
        sync_time: Span = "200 us" in "0 s" ..= "1000 s", from "Linux sch_cake";
        /// The choice of the instance for a packet.
        steering: Steering = "flows", from "Linux (RSS, XPS: a hash of the flow)";
    }
}

/// Parameters that the instances are laid out by.
const AT_START: &[(&str, &str)] =
    &[("queues", "each transmit queue has its instance"), ("steering", "packets are in the instances that it chose")];

#[derive(Clone)]
struct Instance<T: TinPolicy, P> {
    tins: Tins<T, P>,
    /// Time at which it last looked at the others, and of its last departure; `None` is before all times.
    checked: Option<Time>,
    active: Option<Time>,
}

/// Instances of tins, which meet only at their link. It serves them in turn, a packet each.
#[derive(Clone)]
pub struct Mq<T: TinPolicy, P> {
    params: MqParams,
    instances: Vec<Instance<T, P>>,
    /// The instance that is asked first.
    turn: usize,
    hash: SetAssociativeHash,
    /// Of the link, with the packets of all instances; the limit is that of each.
    state: QueueState<P>,
}

impl<T: TinPolicy + Clone, P: Carried> Mq<T, P> {
    /// Empty queues of a link that `view` describes; each instance holds `limit`, marks if `ecn`, and hashes flows with `salt`.
    pub fn new(params: MqParams, policy: T, view: QueueView, limit: Limit, ecn: bool, salt: u64) -> Self {
        let tins = Tins::new(policy, view, limit, ecn, salt);
        Self {
            params,
            instances: vec![Instance { tins, checked: None, active: None }; params.queues as usize],
            turn: 0,
            hash: SetAssociativeHash::new(params.queues, 1, !salt), // not that of the queues within
            state: QueueState::new(view, limit, ecn),
        }
    }

    /// The instance of a packet.
    fn instance(&self, packet: &P) -> usize {
        let at = match self.params.steering {
            Steering::Flows => self.hash.home(packet.flow_hash()),
            Steering::Hosts => self.hash.home(packet.host()),
            Steering::Classes => u32::from(class_of(packet.dscp())) % self.params.queues,
        };
        at as usize
    }

    /// An instance that is asked for a packet takes its share of the rate: by the number of those that hold packets, or have
    /// sent since it last looked. Without a rate there is nothing to share.
    fn check(&mut self, at: usize, now: Time) {
        let Instance { tins, checked, .. } = &self.instances[at];
        let Some(all) = tins.shaper() else { return };
        if checked.is_some_and(|checked| now.since(checked) < self.params.sync_time) {
            return;
        }
        let is_active = |other: &Instance<T, P>| !other.tins.is_empty() || other.active > *checked;
        let others = self.instances.iter().enumerate().filter(|(other, instance)| *other != at && is_active(instance));
        let share = Rate(all.0 / (1 + others.count()) as f64);
        let own = &mut self.instances[at];
        own.tins.set_shaper(share);
        own.checked = Some(now);
    }

    /// Lets an instance act, and follows what becomes of its packets.
    fn with<R>(&mut self, at: usize, act: impl FnOnce(&mut Tins<T, P>) -> R) -> R {
        let tins = &mut self.instances[at].tins;
        let before = held(tins);
        let answer = act(tins);
        self.state.follow(before, held(tins));
        answer
    }

    fn each(&self) -> impl Iterator<Item = &Tins<T, P>> {
        self.instances.iter().map(|instance| &instance.tins)
    }

    fn each_mut(&mut self) -> impl Iterator<Item = &mut Tins<T, P>> {
        self.instances.iter_mut().map(|instance| &mut instance.tins)
    }
}

/// Packets and bytes that wait in an instance.
fn held<T: TinPolicy, P: Carried>(tins: &Tins<T, P>) -> (u32, u64) {
    (tins.len(), tins.state().view.bytes)
}

impl<T: TinPolicy + Clone, P: Carried> Discipline<P> for Mq<T, P> {
    fn state(&self) -> &QueueState<P> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut QueueState<P> {
        &mut self.state
    }

    /// An arrival has its instance asked for a packet at once.
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        let at = self.instance(&packet);
        let fate = self.with(at, |tins| tins.enqueue(packet, cx));
        self.check(at, cx.now);
        fate
    }

    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        let mut keep = Some(keep); // one packet leaves
        let count = self.instances.len();
        for at in (self.turn..count).chain(0..self.turn) {
            let tins = &self.instances[at].tins;
            if tins.is_empty() || cx.now < tins.opens_at() {
                continue;
            }
            self.check(at, cx.now);
            let kept = |packet: P, since| keep.take().map(|keep| keep(packet, since));
            if let Some(sent) = self.with(at, |tins| tins.dequeue_with(cx, kept)) {
                self.instances[at].active = Some(cx.now);
                self.turn = (at + 1) % count;
                return sent;
            }
        }
        None
    }

    fn ready_at(&self) -> Option<Time> {
        self.each().filter_map(|tins| tins.ready_at()).min()
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.each().for_each(|tins| tins.for_each(act));
    }

    fn tick_every(&self) -> Option<Span> {
        None
    }

    fn tick(&mut self, _: &mut Ctx) {}

    fn set_rate(&mut self, rate: Rate) {
        self.state.view.rate = rate;
        self.each_mut().for_each(|tins| tins.set_rate(rate));
    }

    fn set_target(&mut self, target: f64) {
        self.state.view.target = target;
        self.each_mut().for_each(|tins| tins.set_target(target));
    }

    fn set_limit(&mut self, limit: Limit, packets: f64) {
        (self.state.limit, self.state.view.limit) = (limit, packets);
        self.each_mut().for_each(|tins| tins.set_limit(limit, packets));
    }

    /// Until they look at the others again, instances have the whole rate then.
    fn set_param(&mut self, name: &str, value: ParamInput) -> Result<(), String> {
        if MqParams::specs().iter().any(|spec| spec.name == name) {
            self.params = tune::changed(&self.params, AT_START, name, value)?;
            return Ok(());
        }
        self.each_mut().try_for_each(|tins| tins.set_param(name, value))
    }

    /// A packet of each instance in turn.
    fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
        let mut left: Vec<_> = self.each_mut().map(|tins| tins.take_all(now).into_iter()).collect();
        let all = std::mem::take(&mut self.state.view.packets) as usize;
        self.state.view.bytes = 0;
        let mut taken = Vec::with_capacity(all);
        while taken.len() < all {
            taken.extend(left.iter_mut().filter_map(Iterator::next));
        }
        taken
    }

    fn adopt(&mut self, packet: P, since: Time) {
        let at = self.instance(&packet);
        self.with(at, |tins| tins.adopt(packet, since));
    }

    /// Queues with packets, and packets of the longest.
    fn observe(&self, i: usize) -> f64 {
        let of_instances = self.each().map(|tins| tins.observe(i));
        if i == 0 { of_instances.sum() } else { of_instances.fold(0.0, f64::max) }
    }

    fn failure(&self) -> Option<&Failure> {
        self.each().find_map(|tins| tins.failure())
    }

    fn accounts(&self) -> Accounts {
        let mut sum = Accounts::default();
        self.each().for_each(|tins| sum.add(&tins.accounts()));
        sum
    }

    fn add_accounts(&mut self, earlier: &Accounts) {
        self.instances[0].tins.add_accounts(earlier);
    }

    fn restart_accounts(&mut self) {
        self.each_mut().for_each(|tins| tins.restart_accounts());
    }

    fn accounts_balance(&self) -> bool {
        let (packets, bytes) = self.each().map(held).fold((0, 0), |all, more| (all.0 + more.0, all.1 + more.1));
        self.each().all(|tins| tins.accounts_balance())
            && (self.state.view.packets, self.state.view.bytes) == (packets, bytes)
    }

    fn keep_notes(&mut self, marks: bool) {
        self.each_mut().for_each(|tins| tins.keep_notes(marks));
    }

    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.each_mut().for_each(|tins| tins.fetch_notes(notes));
    }
}

#[cfg(test)]
mod tests;
