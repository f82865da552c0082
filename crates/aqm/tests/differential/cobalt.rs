//! The decision that CAKE takes at the head of a queue, after a description of it, for a queue that drops at the tail
//! when it is full.

use super::{Arrived, MS, Notes, Packet, Phase, Setup, Transcription};
use aqmlab_core::Stream;
use std::collections::VecDeque;

const TARGET: u64 = 5 * MS;
const INTERVAL: u64 = 100 * MS;
const MTU_BITS: f64 = 1514.0 * 8.0;
const P_INC: f64 = 1.0 / 256.0;
const P_DEC: f64 = 1.0 / 4096.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    LawFromNow,
    NoCountingDown,
    CountsDownOnce,
    NoCountingDownWhenEmpty,
    CountsDownToOne,
    BlueTimerFromInterval,
    BlueWithoutTimer,
    BlueNeverFalls,
    BlueSparesMarkable,
    LastPacketDropped,
    LastPacketNotCounted,
    NoMtuCondition,
    LateSignalStaysLate,
    MarkCountsAsDrop,
    NoRestWhileCountIsZero,
    OverflowWithoutSignal,
    OverflowDoesNotEnter,
    FirstSignalWaits,
}

pub struct Cobalt {
    queue: VecDeque<(Packet, i64)>,
    limit: usize,
    rng: Stream,
    mtu_time: i64,
    count: u32,
    /// One over the square root of the count; 0 until the law first counts.
    inv_sqrt: f64,
    drop_next: i64,
    dropping: bool,
    p_drop: f64,
    blue_changed: i64,
    notes: Notes<Mutation>,
}

impl Cobalt {
    /// `t` moved on by the control law.
    fn control(&self, t: i64) -> i64 {
        t + (INTERVAL as f64 * self.inv_sqrt).round() as i64
    }

    /// The law counts up or down, and moves on.
    fn count(&mut self, count: u32, from: i64) {
        self.count = count;
        self.inv_sqrt = match count {
            0..=1 => 1.0,
            2..=15 => f64::from(count).powf(-0.5),
            _ => self.inv_sqrt * (1.5 - 0.5 * f64::from(count) * self.inv_sqrt.powi(2)), // cobalt_newton_step
        };
        self.drop_next = self.control(from);
    }

    fn blue_may_change(&self, now: i64) -> bool {
        let rest = match self.notes.mutation {
            Some(Mutation::BlueTimerFromInterval) => INTERVAL,
            Some(Mutation::BlueWithoutTimer) => 0,
            _ => TARGET,
        };
        now - self.blue_changed > rest as i64
    }

    fn overflow(&mut self, now: i64) {
        if self.notes.reach_if(self.blue_may_change(now), "full, p rises") {
            self.p_drop = (self.p_drop + P_INC).min(1.0);
            self.blue_changed = now;
        } else {
            self.notes.reach("full, too soon for p");
        }
        self.notes.reach_if(!self.dropping, "full outside the dropping state");
        self.dropping |= !self.notes.is(Mutation::OverflowDoesNotEnter);
        if !self.notes.is(Mutation::OverflowWithoutSignal) {
            self.drop_next = now;
        }
        self.count = self.count.max(1);
    }

    fn run_empty(&mut self, now: i64) {
        if self.p_drop > 0.0 && self.blue_may_change(now) && !self.notes.is(Mutation::BlueNeverFalls) {
            self.notes.reach("empty, p falls");
            self.p_drop = (self.p_drop - P_DEC).max(0.0);
            self.blue_changed = now;
        } else {
            self.notes.reach_if(self.p_drop > 0.0, "empty, too soon for p");
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next && !self.notes.is(Mutation::NoCountingDownWhenEmpty) {
            self.notes.reach("empty, counts down");
            self.count(self.count - 1, self.drop_next);
        }
    }

    /// The control law's turn: whether it signals, and how late that leaves it.
    fn signal(&mut self, now: i64, sojourn: i64) -> (bool, i64) {
        let mut lateness = now - self.drop_next;
        let mut due = self.count > 0 && lateness >= 0;
        let long = sojourn > TARGET as i64;
        let over = long && (sojourn > 4 * self.mtu_time || self.notes.is(Mutation::NoMtuCondition));
        self.notes.reach_if(long && !over, "above target, but within four MTU");
        if over && !self.dropping {
            self.notes.reach(if due { "enters and signals" } else { "enters" });
            self.notes.reach_if(self.inv_sqrt == 0.0, "enters for the first time");
            self.drop_next = self.control(now);
        }
        if over {
            self.count = self.count.max(1);
        } else {
            self.notes.reach_if(self.dropping, "leaves the dropping state");
        }
        self.dropping = over;
        if due && self.dropping {
            let from = if self.notes.is(Mutation::LawFromNow) { now } else { self.drop_next };
            self.count(self.count + 1, from);
            return (true, now - self.drop_next);
        }
        let mut steps = 0;
        while due && !self.notes.is(Mutation::NoCountingDown) {
            if self.notes.is(Mutation::CountsDownToOne) && self.count == 1 {
                break;
            }
            steps += 1;
            self.count(self.count - 1, self.drop_next);
            lateness = now - self.drop_next;
            due = self.count > 0 && lateness >= 0 && !self.notes.is(Mutation::CountsDownOnce);
        }
        self.notes.reach_if(steps == 1, "counts down once");
        self.notes.reach_if(steps > 1, "counts down several times");
        (false, lateness)
    }

    /// True if CAKE would drop the packet, which may be marked; and the rest of its bookkeeping.
    fn judge(&mut self, now: i64, packet: &mut Packet, sojourn: i64) -> bool {
        let before = (self.count, self.drop_next);
        let (signal, lateness) = self.signal(now, sojourn);
        if self.queue.is_empty() && self.notes.is(Mutation::LastPacketNotCounted) {
            (self.count, self.drop_next) = before;
        }
        packet.marked = self.notes.reach_if(signal && packet.ect, "marks");
        let mut drop = self.notes.reach_if(signal && !packet.ect, "drops");
        let spared = packet.ect && self.notes.is(Mutation::BlueSparesMarkable);
        if self.p_drop > 0.0 && self.rng.uniform() < self.p_drop && !spared {
            self.notes.reach(if packet.ect { "BLUE drops a markable packet" } else { "BLUE drops" });
            drop = true;
        }
        let dropped = drop || signal && self.notes.is(Mutation::MarkCountsAsDrop);
        if self.count == 0 {
            if !self.notes.is(Mutation::NoRestWhileCountIsZero) {
                self.drop_next = now + INTERVAL as i64;
            }
        } else if lateness > 0 && !dropped && !self.notes.is(Mutation::LateSignalStaysLate) {
            self.notes.reach("late, starts from the present");
            self.drop_next = now;
        }
        drop
    }
}

impl Transcription for Cobalt {
    const SCHEME: &'static str = "cobalt";
    const BRANCHES: &'static [&'static str] = &[
        "full, p rises",
        "full, too soon for p",
        "full outside the dropping state",
        "empty, p falls",
        "empty, too soon for p",
        "empty, counts down",
        "above target, but within four MTU",
        "enters",
        "enters for the first time",
        "enters and signals",
        "leaves the dropping state",
        "counts down once",
        "counts down several times",
        "marks",
        "drops",
        "BLUE drops",
        "BLUE drops a markable packet",
        "late, starts from the present",
        "last packet spared",
        "several drops at once",
    ];
    const MUTATIONS: &'static [Mutation] = &[
        Mutation::LawFromNow,
        Mutation::NoCountingDown,
        Mutation::CountsDownOnce,
        Mutation::NoCountingDownWhenEmpty,
        Mutation::CountsDownToOne,
        Mutation::BlueTimerFromInterval,
        Mutation::BlueWithoutTimer,
        Mutation::BlueNeverFalls,
        Mutation::BlueSparesMarkable,
        Mutation::LastPacketDropped,
        Mutation::LastPacketNotCounted,
        Mutation::NoMtuCondition,
        Mutation::LateSignalStaysLate,
        Mutation::MarkCountsAsDrop,
        Mutation::NoRestWhileCountIsZero,
        Mutation::OverflowWithoutSignal,
        Mutation::OverflowDoesNotEnter,
        Mutation::FirstSignalWaits,
    ];
    /// A packet that arrives at an idle link does not wait: the next departure counts down what an empty queue has not.
    const ONLY_IN_STATE: &'static [Mutation] = &[Mutation::NoCountingDownWhenEmpty];
    type Mutation = Mutation;
    type Constants = ();

    fn setups() -> Vec<Setup<()>> {
        let phase = |ms, gap, burst, rate| Phase { ms, gap, burst, rate };
        let overload = phase(900, 800, 1, 8.0);
        let light = |ms| phase(ms, 3000, 1, 8.0);
        // The count rises, falls while the queue is good, and rises again; silence; bursts; a link that stalls.
        let codel = vec![
            overload,
            light(150),
            overload,
            light(400),
            overload,
            light(2000),
            overload,
            phase(700, 0, 1, 8.0),
            phase(1500, 30_000, 25, 8.0),
            overload,
            phase(300, 700, 1, 0.5),
            light(600),
            phase(3000, 25_000, 1, 0.4),
            phase(2000, 60_000, 3, 0.3),
        ];
        // Overflows in and out of the dropping state, and idle times between them; at last while a slow packet is sent.
        let mut blue = vec![
            phase(1500, 300, 1, 8.0),
            phase(400, 0, 1, 8.0),
            phase(2000, 100_000, 150, 20.0),
            light(1500),
            phase(1000, 200, 1, 8.0),
            phase(3000, 7000, 3, 8.0),
            phase(2000, 600, 1, 8.0),
        ];
        blue.extend([phase(300, 0, 1, 8.0), phase(10, 20_000, 1, 0.05), phase(20, 50_000, 120, 8.0)].repeat(3));
        // A link that slows down while the count is high: a packet takes longer to send than a signal to fall due.
        let slow = [phase(2000, 700, 1, 8.0), phase(1500, 10_000, 1, 0.5), phase(1500, 1500, 1, 8.0)];
        [(codel, 100), (blue, 100), (slow.repeat(3), 500)]
            .map(|(phases, limit)| Setup { params: &[], constants: (), limit, phases })
            .into()
    }

    fn new((): (), limit: usize, rng: Stream, notes: Notes<Mutation>) -> Self {
        let inv_sqrt = if notes.is(Mutation::FirstSignalWaits) { 1.0 } else { 0.0 };
        Self {
            queue: VecDeque::new(),
            limit,
            rng,
            mtu_time: 0,
            count: 0,
            inv_sqrt,
            drop_next: 0,
            dropping: false,
            p_drop: 0.0,
            blue_changed: 0,
            notes,
        }
    }

    fn set_rate(&mut self, bits_per_second: f64) {
        self.mtu_time = (MTU_BITS * 1e12 / bits_per_second) as i64;
    }

    fn enqueue(&mut self, now: u64, packet: Packet) -> Arrived {
        if self.queue.len() >= self.limit {
            self.overflow(now as i64);
            return Arrived::Dropped;
        }
        self.queue.push_back((packet, now as i64));
        Arrived::Joined
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        let now = now as i64;
        let mut drops = 0;
        while let Some((mut packet, stamp)) = self.queue.pop_front() {
            let drop = self.judge(now, &mut packet, now - stamp);
            let last = self.queue.is_empty() && !self.notes.is(Mutation::LastPacketDropped);
            self.notes.reach_if(drop && last, "last packet spared");
            if !drop || last {
                self.notes.reach_if(drops > 1, "several drops at once");
                return Some(packet);
            }
            drops += 1;
        }
        self.run_empty(now);
        None
    }

    fn state(&self) -> Vec<f64> {
        vec![self.p_drop, f64::from(self.count), f64::from(u8::from(self.dropping))]
    }

    fn notes(&self) -> &Notes<Mutation> {
        &self.notes
    }
}
