//! The dual queue of RFC 9332: a low-latency queue and a classic one, coupled by one scheme, on one link.

use crate::discipline::{note, view};
use crate::schemes::dualpi2::DualPi2;
use crate::{Accounts, Carried, Ctx, Discipline, Fate, Limit, Notes, OVERFLOW, QueueView};
use aqmlab_core::{Rate, Span, Time};
use std::collections::VecDeque;

/// One of the two queues.
struct Side<P> {
    waiting: VecDeque<(P, Time)>,
}

impl<P: Carried> Side<P> {
    fn new() -> Self {
        Self { waiting: VecDeque::new() }
    }

    /// How long the packet at the head has waited.
    fn delay(&self, now: Time) -> Span {
        self.waiting.front().map_or(Span::ZERO, |(_, since)| now.since(*since))
    }

    fn head_size(&self) -> Option<f64> {
        self.waiting.front().map(|(packet, _)| f64::from(packet.size()))
    }
}

/// Two queues under weighted round robin; ECT(1) and CE go into the low-latency one.
pub struct Dual<P> {
    scheme: DualPi2,
    l4s: Side<P>,
    classic: Side<P>,
    /// Both queues together.
    view: QueueView,
    limit: Limit,
    ecn: bool,
    accounts: Accounts,
    /// Weighted bytes that the classic queue is owed; above zero it is its turn.
    owed: f64,
    notes: Option<Notes<P>>,
}

impl<P: Carried> Dual<P> {
    /// Empty queues of a link that `view` describes; they share `limit`, and mark if `ecn`.
    pub fn new(scheme: DualPi2, view: QueueView, limit: Limit, ecn: bool) -> Self {
        let (l4s, classic, accounts) = (Side::new(), Side::new(), Accounts::default());
        Self { scheme, l4s, classic, view, limit, ecn, accounts, owed: 0.0, notes: None }
    }

    /// Whether the low-latency queue is served next; `None` if both are empty. What is owed counts only while both wait.
    fn schedule(&mut self) -> Option<bool> {
        let weight = self.scheme.classic_weight();
        match (self.l4s.head_size(), self.classic.head_size()) {
            (None, None) => None,
            (Some(size), Some(_)) if self.owed <= 0.0 => {
                self.owed += size * weight;
                Some(true)
            }
            (Some(_), Some(size)) => {
                self.owed -= size * (1.0 - weight);
                Some(false)
            }
            (l4s, _) => {
                self.owed = 0.0;
                Some(l4s.is_some())
            }
        }
    }
}

impl<P: Carried> Discipline<P> for Dual<P> {
    fn enqueue(&mut self, packet: P, cx: &mut Ctx) -> Fate {
        self.accounts.arrived += 1;
        if self.limit.is_reached(self.view.packets, self.view.bytes, packet.size()) {
            self.accounts.drop(OVERFLOW, 1);
            return Fate::Dropped(OVERFLOW);
        }
        self.view.packets += 1;
        self.view.bytes += u64::from(packet.size());
        let side = if packet.ecn().is_l4s() { &mut self.l4s } else { &mut self.classic };
        side.waiting.push_back((packet, cx.now));
        Fate::Kept
    }

    fn dequeue(&mut self, cx: &mut Ctx) -> Option<(P, Time)> {
        while let Some(is_l4s) = self.schedule() {
            let side = if is_l4s { &mut self.l4s } else { &mut self.classic };
            let (mut packet, since) = side.waiting.pop_front().expect("the scheduler picks a queue with packets");
            self.view.packets -= 1;
            self.view.bytes -= u64::from(packet.size());
            let left = side.waiting.len();
            let shown = view(&packet, since, self.ecn);
            let verdict = match is_l4s {
                true => self.scheme.judge_l4s(&shown, left, cx.now),
                false => self.scheme.judge_classic(&self.view, cx),
            };
            let fate = Fate::of(verdict, shown.can_mark);
            match fate {
                Fate::Dropped(why) => {
                    self.accounts.drop(why, 1);
                    note(&self.notes, fate, &packet, since);
                    continue;
                }
                Fate::Marked(_) => {
                    self.accounts.marked += 1;
                    packet.mark();
                    note(&self.notes, fate, &packet, since);
                }
                Fate::Kept => {}
            }
            self.accounts.departed += 1;
            return Some((packet, since));
        }
        None
    }

    fn len(&self) -> u32 {
        self.view.packets
    }

    fn departures_known(&self) -> bool {
        false
    }

    fn tick_every(&self) -> Option<Span> {
        Some(self.scheme.period())
    }

    fn tick(&mut self, cx: &mut Ctx) {
        self.scheme.update(self.l4s.delay(cx.now).max(self.classic.delay(cx.now)));
    }

    fn set_rate(&mut self, rate: Rate) {
        self.view.rate = rate;
    }

    fn observe(&self, i: usize) -> f64 {
        match i {
            0..3 => self.scheme.probabilities()[i],
            3 => self.l4s.waiting.len() as f64,
            _ => self.classic.waiting.len() as f64,
        }
    }

    fn accounts(&self) -> Accounts {
        self.accounts.clone()
    }

    fn restart_accounts(&mut self) {
        self.accounts = Accounts::open(u64::from(self.view.packets));
    }

    fn accounts_balance(&self) -> bool {
        let waiting = || self.l4s.waiting.iter().chain(&self.classic.waiting);
        self.accounts.balance(waiting().count() as u64)
            && self.view.packets as usize == waiting().count()
            && self.view.bytes == waiting().map(|(packet, _)| u64::from(packet.size())).sum::<u64>()
    }

    fn note_in(&mut self, notes: Notes<P>) {
        self.notes = Some(notes);
    }
}
