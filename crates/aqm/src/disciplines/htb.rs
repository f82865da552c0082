//! A tree of classes that share a link: hierarchical token buckets, as Linux has them (`sch_htb`). Each class has a rate for
//! certain and, up to its ceiling, borrows what its parent has left. Leaves have queues of their own, of any discipline.

mod class;

pub use class::{HtbClass, HtbQueue};

use super::{Accounts, Carried, Discipline, Fate, Limit, Note, QueueState};
use crate::link_layer::LinkLayer;
use crate::{Ctx, Failure, QueueView};
use aqmlab_core::params::ParamInput;
use aqmlab_core::{Rate, Span, Time};
use class::{Class, Mode, Round};
use std::collections::{BTreeSet, VecDeque};

/// Levels of a tree, the link's own among them.
pub const LEVELS: usize = 8;
/// Priorities, the first served first.
pub const PRIORITIES: usize = 8;
/// A queue that has been empty for so long is forgotten, with what its scheme has learnt (LibreQoS: 300 s and more).
const IDLE: Span = Span::from_millis(300_000);
/// The link, in the place of a class.
const LINK: u32 = 0;

/// A tree of classes over queues `Q`.
#[derive(Clone)]
pub struct Htb<Q, P> {
    /// The link, then its classes.
    classes: Vec<Class<Q>>,
    /// Queues at rest. Those of leaves are copies, made when they are first used. The first is the link's own choice.
    models: Vec<Q>,
    /// Classes that send by their own tokens, by level and priority.
    rows: Vec<Vec<Round>>,
    /// Classes that do not, by level and the time at which that changes.
    waits: Vec<BTreeSet<(Time, u32)>>,
    /// Class of each flow.
    flows: Vec<u32>,
    /// Leaves by the time since when they have been empty, or had been when they were listed.
    idle: VecDeque<(Time, u32)>,
    /// Time at which a queue that holds its packets back releases one, seen at the last look.
    held_until: Option<Time>,
    layer: LinkLayer,
    /// Of the link; packets are those of all leaves, accounts those of leaves that were forgotten.
    state: QueueState<P>,
    notes: Option<Vec<Note<P>>>,
    notes_marks: bool,
}

impl<Q: Discipline<P> + Clone, P: Carried> Htb<Q, P> {
    /// Classes of a link that `view` describes, at most six of them above a leaf, over copies of `models`; packets take their bytes on
    /// `layer`.
    pub fn new(classes: Vec<HtbClass>, models: Vec<Q>, layer: LinkLayer, view: QueueView, limit: Limit) -> Self {
        let link = HtbClass {
            parent: None,
            rate: view.rate,
            ceil: view.rate,
            burst: 0,
            cburst: 0,
            prio: 0,
            quantum: 0,
            queue: None,
        };
        let parent = |class: &HtbClass| class.parent.map(|parent| &classes[parent]);
        let above = |class: &HtbClass| std::iter::successors(parent(class), |class| parent(class)).count();
        let level = |class: &HtbClass| if class.queue.is_some() { 0 } else { LEVELS - 2 - above(class) };
        let levels: Vec<usize> = classes.iter().map(level).collect();
        let below = classes.into_iter().zip(levels).map(|(class, level)| Class::new(class, level));
        Self {
            classes: std::iter::once(Class::new(link, LEVELS - 1)).chain(below).collect(),
            models,
            rows: vec![vec![Round::default(); PRIORITIES]; LEVELS],
            waits: vec![BTreeSet::new(); LEVELS],
            flows: Vec::new(),
            idle: VecDeque::new(),
            held_until: None,
            layer,
            state: QueueState::new(view, limit, false),
            notes: None,
            notes_marks: false,
        }
    }

    fn at(&mut self, id: u32) -> &mut Class<Q> {
        &mut self.classes[id as usize]
    }

    /// The parent, which the link has none of.
    fn parent(&self, id: u32) -> Option<u32> {
        (id != LINK).then(|| self.classes[id as usize].spec.parent.map_or(LINK, |parent| parent as u32 + 1))
    }

    /// The leaf of a flow.
    fn leaf(&self, flow: u32) -> u32 {
        self.flows.get(flow as usize).copied().unwrap_or(LINK + 1)
    }

    /// The queue of a leaf, made if there is none.
    fn queue(&mut self, id: u32) -> &mut Q {
        let Self { classes, models, state, notes, notes_marks, .. } = self;
        let Class { spec, queue, .. } = &mut classes[id as usize];
        queue.get_or_insert_with(|| {
            let of = spec.queue.as_ref().expect("flows are in leaves");
            let mut queue = models[of.model].clone();
            queue.set_rate(spec.ceil);
            if let Some((limit, packets)) = of.limit {
                queue.set_limit(limit, packets);
                queue.set_target(state.view.target * packets / state.view.limit);
            }
            if notes.is_some() {
                queue.keep_notes(*notes_marks);
            }
            Box::new(queue)
        })
    }

    fn queues(&self) -> impl Iterator<Item = &Q> {
        self.classes.iter().filter_map(|class| class.queue.as_deref())
    }

    fn queues_mut(&mut self) -> impl Iterator<Item = &mut Q> {
        self.classes.iter_mut().filter_map(|class| class.queue.as_deref_mut())
    }

    /// Lets a queue act, and follows what becomes of its packets.
    fn with<R>(&mut self, id: u32, act: impl FnOnce(&mut Q) -> R) -> R {
        let waiting = |queue: &Q| (queue.len(), queue.state().view.bytes);
        let queue = self.queue(id);
        let before = waiting(queue);
        let answer = act(queue);
        let after = waiting(queue);
        if let Some(notes) = &mut self.notes
            && let Some(queue) = &mut self.classes[id as usize].queue
        {
            queue.fetch_notes(notes);
        }
        self.state.follow(before, after);
        answer
    }

    /// A leaf has packets.
    fn activate(&mut self, id: u32) {
        let class = self.at(id);
        if class.active == 0 {
            class.active = 1 << class.spec.prio;
            self.connect(id);
        }
    }

    /// A leaf has none left.
    fn deactivate(&mut self, id: u32, now: Time) {
        self.disconnect(id);
        let class = self.at(id);
        (class.active, class.emptied) = (0, now);
        if !std::mem::replace(&mut class.is_listed, true) {
            self.idle.push_back((now, id));
        }
    }

    /// Forgets the queues that have been empty for long.
    fn forget(&mut self, now: Time) {
        while let Some((since, id)) = self.idle.front().copied()
            && since + IDLE <= now
        {
            self.idle.pop_front();
            let class = &mut self.classes[id as usize];
            let is_used = class.active != 0;
            if !is_used && class.emptied + IDLE <= now {
                class.is_listed = false;
                if let Some(queue) = class.queue.take() {
                    self.state.accounts.add(&queue.accounts());
                }
            } else {
                self.idle.push_back((if is_used { now } else { class.emptied }, id));
            }
        }
    }

    /// A class takes part, at the priorities at which it is active: in the rounds of its own level if it sends, of its parent if
    /// it borrows, and so on upwards.
    fn connect(&mut self, mut id: u32) {
        let mut priorities = self.at(id).active;
        while let (Mode::Borrows, Some(parent), 1..) = (self.at(id).mode, self.parent(id), priorities) {
            for prio in bits(priorities) {
                let round = &mut self.at(parent).rounds[prio];
                if !round.classes.is_empty() {
                    priorities &= !(1 << prio); // the parent takes part already
                }
                round.classes.insert(id);
            }
            self.at(parent).active |= priorities;
            id = parent;
        }
        let class = &self.classes[id as usize];
        if class.mode == Mode::Sends {
            for prio in bits(priorities) {
                self.rows[class.level][prio].classes.insert(id);
            }
        }
    }

    /// A class takes part no longer, in the mode that it has had.
    fn disconnect(&mut self, mut id: u32) {
        let mut priorities = self.at(id).active;
        while let (Mode::Borrows, Some(parent), 1..) = (self.at(id).mode, self.parent(id), priorities) {
            for prio in bits(std::mem::take(&mut priorities)) {
                let round = &mut self.at(parent).rounds[prio];
                round.classes.remove(&id); // its turn stays its own, or is the next one's
                if round.classes.is_empty() {
                    priorities |= 1 << prio;
                }
            }
            self.at(parent).active &= !priorities;
            id = parent;
        }
        let class = &self.classes[id as usize];
        if class.mode == Mode::Sends {
            for prio in bits(priorities) {
                let row = &mut self.rows[class.level][prio];
                if row.turn == Some(id) {
                    row.pass();
                }
                row.classes.remove(&id);
            }
        }
    }

    fn set_mode(&mut self, id: u32, mode: Mode) {
        let before = self.at(id).mode;
        if before != Mode::Waits {
            self.disconnect(id);
        }
        self.at(id).mode = mode;
        if mode != Mode::Waits {
            self.connect(id);
        }
    }

    /// The mode of a class may change with tokens that have come and are not counted yet.
    fn follow_mode(&mut self, id: u32, come: i64, now: Time) {
        let class = &self.classes[id as usize];
        let (mode, wait) = class.mode_with(come);
        if mode == class.mode && mode == Mode::Sends {
            return;
        }
        let (level, before) = (class.level, class.mode);
        if before != Mode::Sends {
            self.waits[level].remove(&(class.changes_at, id));
        }
        if mode != before {
            self.set_mode(id, mode);
        }
        if mode != Mode::Sends {
            self.at(id).changes_at = now + wait;
            self.waits[level].insert((now + wait, id));
        }
    }

    /// Classes of a level whose time has come change their modes.
    fn wake(&mut self, level: usize, now: Time) {
        while let Some((time, id)) = self.waits[level].first().copied()
            && time <= now
        {
            self.follow_mode(id, self.classes[id as usize].come(now), now);
        }
    }

    /// The leaf whose turn it is at a level and priority, at which some class is active.
    fn choose(&mut self, level: usize, prio: usize) -> u32 {
        let mut path: Vec<u32> = Vec::with_capacity(LEVELS);
        loop {
            let round = self.round(level, prio, path.last().copied());
            round.turn = round.turn.and_then(|turn| round.classes.range(turn..).next().copied());
            let Some(id) = round.turn else {
                round.turn = round.classes.first().copied();
                if path.pop().is_some() {
                    self.round(level, prio, path.last().copied()).pass();
                }
                continue;
            };
            if self.classes[id as usize].level == 0 {
                return id;
            }
            path.push(id);
        }
    }

    /// The round of those that borrow from a class, or of a level.
    fn round(&mut self, level: usize, prio: usize, of: Option<u32>) -> &mut Round {
        match of {
            Some(id) => &mut self.classes[id as usize].rounds[prio],
            None => &mut self.rows[level][prio],
        }
    }

    /// The turn of a leaf, which sends at this level, is over.
    fn pass(&mut self, id: u32, level: usize, prio: usize) {
        let of = self.parent(id).filter(|_| level > 0);
        self.round(level, prio, of).pass();
    }

    /// Takes a packet of a class that is active at a level and priority, unless all hold theirs back.
    fn send(&mut self, level: usize, prio: usize, cx: &mut Ctx) -> Option<(P, Time)> {
        let mut first = None; // of those that hold theirs back
        while !self.rows[level][prio].classes.is_empty() {
            let id = self.choose(level, prio);
            if self.queue(id).is_empty() {
                self.deactivate(id, cx.now);
                first = first.filter(|first| *first != id);
                continue;
            }
            if first == Some(id) {
                return None;
            }
            let Some((packet, since)) = self.with(id, |queue| queue.dequeue(cx)) else {
                first = first.or(Some(id));
                let ready = self.queue(id).ready_at();
                self.held_until = self.held_until.into_iter().chain(ready).min();
                self.pass(id, level, prio);
                continue;
            };
            let (size, class) = (packet.size(), self.at(id));
            class.credits[level] -= i64::from(size);
            if class.credits[level] < 0 {
                class.credits[level] += i64::from(class.spec.quantum);
                self.pass(id, level, prio);
            }
            if self.queue(id).is_empty() {
                self.deactivate(id, cx.now);
            }
            self.charge(id, level, self.layer.bytes(size), cx.now);
            return Some((packet, since));
        }
        None
    }

    /// A leaf has sent `bytes` by the tokens of the class at `level`, itself or one above. The link's rate is its transmitter's.
    fn charge(&mut self, mut id: u32, level: usize, bytes: u32, now: Time) {
        while let Some(parent) = self.parent(id) {
            let class = self.at(id);
            class.charge(bytes, class.level < level, now);
            let (mode, _) = class.mode_with(0);
            if mode != class.mode {
                self.follow_mode(id, 0, now);
            }
            id = parent;
        }
    }
}

/// The bits that are set, as numbers.
fn bits(mask: u8) -> impl Iterator<Item = usize> {
    (0..PRIORITIES).filter(move |bit| mask & 1 << bit != 0)
}

impl<Q: Discipline<P> + Clone, P: Carried> Discipline<P> for Htb<Q, P> {
    fn state(&self) -> &QueueState<P> {
        &self.state
    }

    fn state_mut(&mut self) -> &mut QueueState<P> {
        &mut self.state
    }

    fn assign(&mut self, flow: u32, class: usize) {
        let flow = flow as usize;
        if self.flows.len() <= flow {
            self.flows.resize(flow + 1, LINK + 1);
        }
        self.flows[flow] = class as u32 + 1;
    }

    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        self.forget(cx.now);
        let id = self.leaf(packet.flow());
        let fate = self.with(id, |queue| queue.enqueue(packet, cx));
        if !self.queue(id).is_empty() {
            self.activate(id);
        }
        fate
    }

    fn dequeue_with<R>(&mut self, cx: &mut Ctx, keep: impl FnOnce(P, Time) -> R) -> Option<R> {
        self.held_until = None;
        for level in 0..LEVELS {
            self.wake(level, cx.now);
            for prio in 0..PRIORITIES {
                if let Some((packet, since)) = self.send(level, prio, cx) {
                    return Some(keep(packet, since));
                }
            }
        }
        None
    }

    fn ready_at(&self) -> Option<Time> {
        let changes = self.waits.iter().filter_map(|waits| waits.first()).map(|(time, _)| *time);
        changes.chain(self.held_until).min().filter(|_| !self.is_empty())
    }

    fn for_each(&self, act: &mut dyn FnMut(&P)) {
        self.queues().for_each(|queue| queue.for_each(act));
    }

    /// That of all its queues.
    fn tick_every(&self) -> Option<Span> {
        self.models.iter().find_map(|model| model.tick_every())
    }

    fn tick(&mut self, cx: &mut Ctx) {
        let leaves = (0..self.classes.len()).filter(|id| self.classes[*id].queue.is_some());
        for id in leaves.collect::<Vec<_>>() {
            self.with(id as u32, |queue| queue.tick(cx));
        }
    }

    /// The classes keep their rates.
    fn set_rate(&mut self, rate: Rate) {
        self.state.view.rate = rate;
    }

    fn set_target(&mut self, target: f64) {
        self.state.view.target = target;
        self.models.iter_mut().for_each(|model| model.set_target(target));
        let whole = self.state.view.limit;
        for class in &mut self.classes {
            if let (Some(queue), Some(of)) = (&mut class.queue, &class.spec.queue) {
                queue.set_target(of.limit.map_or(target, |(_, packets)| target * packets / whole));
            }
        }
    }

    /// Of the leaves without one of their own.
    fn set_limit(&mut self, limit: Limit, packets: f64) {
        (self.state.limit, self.state.view.limit) = (limit, packets);
        self.models.iter_mut().for_each(|model| model.set_limit(limit, packets));
        for class in &mut self.classes {
            if let (Some(queue), Some(HtbQueue { limit: None, .. })) = (&mut class.queue, &class.spec.queue) {
                queue.set_limit(limit, packets);
            }
        }
    }

    fn set_param(&mut self, name: &str, _: ParamInput) -> Result<(), String> {
        Err(format!("\"{name}\" cannot change while classes share the link"))
    }

    /// Leaf by leaf.
    fn take_all(&mut self, now: Time) -> Vec<(P, Time)> {
        let taken: Vec<_> = self.queues_mut().flat_map(|queue| queue.take_all(now)).collect();
        (self.state.view.packets, self.state.view.bytes) = (0, 0);
        taken
    }

    fn adopt(&mut self, packet: P, since: Time) {
        let id = self.leaf(packet.flow());
        self.with(id, |queue| queue.adopt(packet, since));
        self.activate(id);
    }

    /// The most that a leaf shows whose scheme is the link's.
    fn observe(&self, i: usize) -> f64 {
        let leaves = self.classes.iter().filter(|class| class.spec.queue.as_ref().is_some_and(|of| of.model == 0));
        leaves.filter_map(|class| class.queue.as_deref()).map(|queue| queue.observe(i)).fold(f64::NAN, f64::max)
    }

    fn failure(&self) -> Option<&Failure> {
        self.queues().find_map(|queue| queue.failure())
    }

    fn accounts(&self) -> Accounts {
        let mut sum = self.state.accounts.clone();
        self.queues().for_each(|queue| sum.add(&queue.accounts()));
        sum
    }

    fn restart_accounts(&mut self) {
        self.state.accounts = Accounts::default();
        self.queues_mut().for_each(|queue| queue.restart_accounts());
    }

    fn accounts_balance(&self) -> bool {
        let packets: u32 = self.queues().map(|queue| queue.len()).sum();
        self.queues().all(|queue| queue.accounts_balance()) && self.state.view.packets == packets
    }

    fn keep_notes(&mut self, marks: bool) {
        self.notes.get_or_insert_default();
        self.notes_marks |= marks;
        self.queues_mut().for_each(|queue| queue.keep_notes(marks));
    }

    fn fetch_notes(&mut self, notes: &mut Vec<Note<P>>) {
        self.notes.iter_mut().for_each(|kept| notes.append(kept));
    }
}

#[cfg(test)]
mod tests;
