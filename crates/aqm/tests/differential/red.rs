//! Random Early Detection after Floyd & Jacobson 1993, in packets, with what ns-2 added: `gentle`, `wait`, the first
//! arrival above the threshold let go, nothing dropped from a queue of one, and drops above a marking limit.

use super::{Arrived, Notes, Packet, Phase, Setup, Transcription};
use aqmlab_core::Stream;
use std::collections::VecDeque;

const MIN_TH: f64 = 5.0;
const MAX_TH: f64 = 15.0;
const MAX_P: f64 = 0.1;
/// Packets of 1000 B that 8 Mbit/s carry in a second.
const PTC: f64 = 1000.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    IdleTimeIgnored,
    IdleTimeNotFloored,
    OnePacketMoreInIdleTime,
    AverageWithArrival,
    WaitTheOtherWay,
    GentleTheOtherWay,
    GentleLineSteeper,
    FirstAboveJudged,
    QueueOfOneJudged,
    CountSurvivesDrop,
    CountSurvivesFullQueue,
    FullQueueHidesCrossing,
    FullQueueNotAveraged,
    MarksWhateverP,
}

#[derive(Clone, Copy)]
pub struct Variant {
    /// Weight of the queue in its average.
    w: f64,
    gentle: bool,
    wait: bool,
    mark_p: f64,
}

pub struct Red {
    variant: Variant,
    queue: VecDeque<Packet>,
    limit: usize,
    rng: Stream,
    avg: f64,
    count: u32,
    /// The average was above the minimum at the last arrival.
    old: bool,
    idle: Option<u64>,
    p_b: f64,
    notes: Notes<Mutation>,
}

impl Red {
    fn estimate(&mut self, now: u64) {
        let mut m = 0.0;
        if let Some(since) = self.idle.take() {
            m = PTC * ((now - since) as f64 / 1e12);
            self.notes.reach_if(m >= 1.0, "idle for packets");
            self.notes.reach_if(m < 1.0, "idle for less than a packet");
            m = match self.notes.mutation {
                Some(Mutation::IdleTimeIgnored) => 0.0,
                Some(Mutation::IdleTimeNotFloored) => m,
                Some(Mutation::OnePacketMoreInIdleTime) => m.floor() + 1.0,
                _ => m.floor(),
            };
        }
        let q = self.queue.len() + usize::from(self.notes.is(Mutation::AverageWithArrival));
        let w = self.variant.w;
        self.avg = self.avg * (1.0 - w).powf(m + 1.0) + w * q as f64;
    }

    fn p_b(&mut self) -> f64 {
        if self.avg < MAX_TH {
            self.notes.reach("linear part");
            return MAX_P * (self.avg - MIN_TH) / (MAX_TH - MIN_TH);
        }
        if self.variant.gentle == self.notes.is(Mutation::GentleTheOtherWay) {
            self.notes.reach("above max_th, not gentle");
            return 1.0;
        }
        if self.notes.reach_if(self.avg >= 2.0 * MAX_TH, "above 2 max_th, gentle") {
            return 1.0;
        }
        self.notes.reach("gentle part");
        let slope = if self.notes.is(Mutation::GentleLineSteeper) { 1.1 } else { 1.0 };
        (MAX_P + slope * (1.0 - MAX_P) * (self.avg - MAX_TH) / MAX_TH).min(1.0)
    }

    /// Early drops, evenly spaced by the count.
    fn p_a(&mut self) -> f64 {
        let expected = f64::from(self.count) * self.p_b;
        if self.variant.wait != self.notes.is(Mutation::WaitTheOtherWay) {
            if self.notes.reach_if(expected < 1.0, "waits") {
                0.0
            } else if self.notes.reach_if(expected < 2.0, "spaced, wait") {
                self.p_b / (2.0 - expected)
            } else {
                self.notes.reach("sure, wait");
                1.0
            }
        } else if self.notes.reach_if(expected < 1.0, "spaced, no wait") {
            self.p_b / (1.0 - expected)
        } else {
            self.notes.reach("sure, no wait");
            1.0
        }
    }

    /// True if the arrival is drawn.
    fn judge(&mut self) -> bool {
        let above = self.avg >= MIN_TH;
        let one = self.queue.len() <= 1 && !self.notes.is(Mutation::QueueOfOneJudged);
        self.notes.reach_if(above && one, "above min_th, but a queue of one");
        if !above || one {
            self.old = false;
            self.p_b = 0.0;
            return false;
        }
        self.p_b = self.p_b();
        if !self.old {
            self.notes.reach("first above min_th");
            self.old = true;
            self.count = 1;
            if !self.notes.is(Mutation::FirstAboveJudged) {
                return false;
            }
        }
        let p_a = self.p_a();
        self.rng.uniform() < p_a
    }
}

impl Transcription for Red {
    const SCHEME: &'static str = "red";
    const BRANCHES: &'static [&'static str] = &[
        "idle for packets",
        "idle for less than a packet",
        "linear part",
        "gentle part",
        "above max_th, not gentle",
        "above 2 max_th, gentle",
        "waits",
        "spaced, wait",
        "sure, wait",
        "spaced, no wait",
        "sure, no wait",
        "above min_th, but a queue of one",
        "first above min_th",
        "marked",
        "markable, but dropped",
        "full",
        "full at the first above min_th",
    ];
    const MUTATIONS: &'static [Mutation] = &[
        Mutation::IdleTimeIgnored,
        Mutation::IdleTimeNotFloored,
        Mutation::OnePacketMoreInIdleTime,
        Mutation::AverageWithArrival,
        Mutation::WaitTheOtherWay,
        Mutation::GentleTheOtherWay,
        Mutation::GentleLineSteeper,
        Mutation::FirstAboveJudged,
        Mutation::QueueOfOneJudged,
        Mutation::CountSurvivesDrop,
        Mutation::CountSurvivesFullQueue,
        Mutation::FullQueueHidesCrossing,
        Mutation::FullQueueNotAveraged,
        Mutation::MarksWhateverP,
    ];
    type Mutation = Mutation;
    type Constants = Variant;

    fn setups() -> Vec<Setup<Variant>> {
        let phase = |ms, gap, burst| Phase { ms, gap, burst, rate: 8.0 };
        let phases = vec![
            phase(1000, 900, 1),
            phase(2000, 800, 1),
            phase(300, 0, 1),
            phase(1500, 600, 1),
            phase(7, 0, 1),
            phase(2000, 400, 1),
            phase(400, 30_000, 20),
            phase(20, 0, 1),
            phase(2000, 1100, 1),
            phase(2000, 90_000, 80),
            phase(1000, 200, 1),
            phase(60, 0, 1),
            phase(1500, 4000, 5),
            phase(3000, 0, 1),
            phase(500, 10, 1),
        ];
        let given = [("min_th", "5 packets"), ("max_th", "15 packets")];
        let setup = |params: &'static [_], w, gentle, wait, mark_p| Setup {
            params,
            constants: Variant { w, gentle, wait, mark_p },
            limit: 50,
            phases: phases.clone(),
        };
        let with = |more: &[(&'static str, &'static str)]| -> &'static [_] { [&given[..], more].concat().leak() };
        vec![
            setup(with(&[("q_weight", "0.02")]), 0.02, true, true, 1.0),
            setup(with(&[("q_weight", "0.02"), ("wait", "false"), ("mark_p", "0.1")]), 0.02, true, false, 0.1),
            setup(with(&[("q_weight", "0.02"), ("gentle", "false")]), 0.02, false, true, 1.0),
            setup(with(&[("gentle", "false"), ("wait", "false")]), 0.002, false, false, 1.0),
            setup(with(&[]), 0.002, true, true, 1.0),
        ]
    }

    fn new(variant: Variant, limit: usize, rng: Stream, notes: Notes<Mutation>) -> Self {
        let queue = VecDeque::new();
        Self { variant, queue, limit, rng, avg: 0.0, count: 0, old: false, idle: Some(0), p_b: 0.0, notes }
    }

    fn enqueue(&mut self, now: u64, mut packet: Packet) -> Arrived {
        let full = self.notes.reach_if(self.queue.len() >= self.limit, "full");
        if !full || !self.notes.is(Mutation::FullQueueNotAveraged) {
            self.estimate(now);
        }
        if full {
            // Judged like any other, but it is lost whatever is drawn: nothing is.
            let above = self.avg >= MIN_TH && self.queue.len() > 1;
            self.notes.reach_if(above && !self.old, "full at the first above min_th");
            if !self.notes.is(Mutation::FullQueueHidesCrossing) {
                self.old = above;
            }
            if !self.notes.is(Mutation::CountSurvivesFullQueue) {
                self.count = 0;
            }
            return Arrived::Dropped;
        }
        self.count += 1;
        let mut arrived = Arrived::Joined;
        if self.judge() {
            if !self.notes.is(Mutation::CountSurvivesDrop) {
                self.count = 0;
            }
            let mild = self.p_b < self.variant.mark_p || self.notes.is(Mutation::MarksWhateverP);
            self.notes.reach_if(packet.ect && !mild, "markable, but dropped");
            if !self.notes.reach_if(packet.ect && mild, "marked") {
                return Arrived::Dropped;
            }
            packet.marked = true;
            arrived = Arrived::Marked;
        }
        self.queue.push_back(packet);
        arrived
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        let packet = self.queue.pop_front();
        if packet.is_none() {
            self.idle = Some(now);
        }
        packet
    }

    fn state(&self) -> Vec<f64> {
        vec![self.p_b, self.avg]
    }

    fn notes(&self) -> &Notes<Mutation> {
        &self.notes
    }
}
