//! RFC 8033, appendix A, with marks (5.1), derandomisation (5.4) and the cap on steps (5.5) as in appendix B. The delay
//! comes from time stamps (4.3); a link that finds nothing to send has a delay of 0.

use super::{Arrived, MS, Notes, Packet, Phase, Setup, Transcription};
use aqmlab_core::Stream;
use std::collections::VecDeque;

const QDELAY_REF: u64 = 15 * MS;
const MAX_BURST: u64 = 150 * MS;
const T_UPDATE: u64 = 15 * MS;
const MEAN_PKTSIZE: u64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    NoBurstAllowance,
    BurstNotRenewed,
    BurstRenewedWithoutOldDelay,
    LadderOffByADecade,
    NoTrend,
    NoCap,
    NoDecay,
    QuietWhateverP,
    NeverQuiet,
    ShortQueueJudged,
    NoLowerBound,
    NoUpperBound,
    UpperBoundAt2,
    SumSurvivesFullQueue,
    MarksWhateverP,
    SecondsForMilliseconds,
}

/// With derandomisation or without.
pub type Derandomize = bool;

pub struct Pie {
    derandomize: bool,
    queue: VecDeque<(Packet, u64)>,
    bytes: u64,
    limit: usize,
    rng: Stream,
    burst_allowance: u64,
    drop_prob: f64,
    accu_prob: f64,
    qdelay_old: u64,
    current_qdelay: u64,
    notes: Notes<Mutation>,
}

impl Pie {
    /// True to drop; 4.1, 5.4 and the `drop_early` of the appendices.
    fn drop_early(&mut self) -> bool {
        let quiet = 2 * self.qdelay_old < QDELAY_REF && !self.notes.is(Mutation::NeverQuiet);
        let low = self.drop_prob < 0.2 || self.notes.is(Mutation::QuietWhateverP);
        self.notes.reach_if(quiet && !low, "quiet, but p >= 0.2");
        if self.notes.reach_if(quiet && low, "quiet") {
            return false;
        }
        let short = self.bytes <= 2 * MEAN_PKTSIZE && !self.notes.is(Mutation::ShortQueueJudged);
        if self.notes.reach_if(short, "short queue") {
            return false;
        }
        if !self.derandomize {
            return self.rng.uniform() < self.drop_prob;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        self.accu_prob += self.drop_prob;
        if self.accu_prob < 0.85 && !self.notes.is(Mutation::NoLowerBound) {
            self.notes.reach("sum of p below 0.85");
            return false;
        }
        let bound = if self.notes.is(Mutation::UpperBoundAt2) { 2.0 } else { 8.5 };
        if self.accu_prob >= bound && !self.notes.is(Mutation::NoUpperBound) {
            self.notes.reach("sum of p at 8.5");
            return true;
        }
        self.rng.uniform() < self.drop_prob
    }

    fn scaled(&mut self, p: f64) -> f64 {
        let probe = if self.notes.is(Mutation::LadderOffByADecade) { self.drop_prob * 10.0 } else { self.drop_prob };
        let (divisor, rung) = if probe < 0.000001 {
            (2048.0, "p < 1e-6")
        } else if probe < 0.00001 {
            (512.0, "p < 1e-5")
        } else if probe < 0.0001 {
            (128.0, "p < 1e-4")
        } else if probe < 0.001 {
            (32.0, "p < 1e-3")
        } else if probe < 0.01 {
            (8.0, "p < 0.01")
        } else if probe < 0.1 {
            (2.0, "p < 0.1")
        } else {
            (1.0, "p >= 0.1")
        };
        self.notes.reach(rung);
        p / divisor
    }
}

impl Transcription for Pie {
    const SCHEME: &'static str = "pie";
    const SEEDS: u64 = 30;
    const BRANCHES: &'static [&'static str] = &[
        "allowance renewed after it ran out",
        "allowance ran out",
        "burst passes",
        "quiet",
        "quiet, but p >= 0.2",
        "short queue",
        "sum of p below 0.85",
        "sum of p at 8.5",
        "p < 1e-6",
        "p < 1e-5",
        "p < 1e-4",
        "p < 1e-3",
        "p < 0.01",
        "p < 0.1",
        "p >= 0.1",
        "step capped",
        "p decays",
        "p held at 0",
        "p held at 1",
        "marked",
        "markable, but dropped",
        "full",
        "full with a sum of p",
    ];
    const MUTATIONS: &'static [Mutation] = &[
        Mutation::NoBurstAllowance,
        Mutation::BurstNotRenewed,
        Mutation::BurstRenewedWithoutOldDelay,
        Mutation::LadderOffByADecade,
        Mutation::NoTrend,
        Mutation::NoCap,
        Mutation::NoDecay,
        Mutation::QuietWhateverP,
        Mutation::NeverQuiet,
        Mutation::ShortQueueJudged,
        Mutation::NoLowerBound,
        Mutation::NoUpperBound,
        Mutation::UpperBoundAt2,
        Mutation::SumSurvivesFullQueue,
        Mutation::MarksWhateverP,
        Mutation::SecondsForMilliseconds,
    ];
    type Mutation = Mutation;
    type Constants = Derandomize;

    fn setups() -> Vec<Setup<Derandomize>> {
        let phase = |ms, gap, burst, rate| Phase { ms, gap, burst, rate };
        // p climbs from 0 through every decade, to 1, and back; bursts on a quiet link in between.
        let ladder = vec![
            phase(500, 20_000, 3, 8.0),
            phase(3000, 780, 1, 8.0),
            phase(600, 0, 1, 8.0),
            phase(2000, 300, 1, 8.0),
            phase(300, 800, 1, 1.0),
            phase(2000, 0, 1, 8.0),
            phase(2500, 40_000, 40, 8.0),
            phase(4000, 0, 1, 8.0),
            phase(500, 40_000, 5, 8.0),
            phase(1500, 600, 1, 8.0),
            phase(900, 1200, 1, 8.0),
            phase(1500, 900, 2, 8.0),
        ];
        // A fifth more than the rate, into a buffer of little more than the target: p stays small, the queue overflows.
        let overflow = vec![phase(4000, 700, 1, 8.0), phase(300, 0, 1, 8.0), phase(3000, 650, 1, 8.0)];
        vec![
            Setup { params: &[], constants: true, limit: 500, phases: ladder.clone() },
            Setup { params: &[("derandomize", "false")], constants: false, limit: 500, phases: ladder },
            Setup { params: &[], constants: true, limit: 22, phases: overflow },
            // Long, for the upper bound: one signal in two thousand (e^7.65) has to wait for it.
            Setup { params: &[], constants: true, limit: 500, phases: vec![phase(30_000, 780, 1, 8.0)] },
        ]
    }

    fn new(derandomize: bool, limit: usize, rng: Stream, notes: Notes<Mutation>) -> Self {
        Self {
            derandomize,
            queue: VecDeque::new(),
            bytes: 0,
            limit,
            rng,
            burst_allowance: MAX_BURST,
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0,
            current_qdelay: 0,
            notes,
        }
    }

    fn enqueue(&mut self, now: u64, mut packet: Packet) -> Arrived {
        if self.notes.reach_if(self.queue.len() >= self.limit, "full") {
            self.notes.reach_if(self.accu_prob > 0.0, "full with a sum of p");
            if !self.notes.is(Mutation::SumSurvivesFullQueue) {
                self.accu_prob = 0.0;
            }
            return Arrived::Dropped;
        }
        let old_low = 2 * self.qdelay_old < QDELAY_REF || self.notes.is(Mutation::BurstRenewedWithoutOldDelay);
        let over = self.drop_prob == 0.0 && 2 * self.current_qdelay < QDELAY_REF && old_low;
        if over && !self.notes.is(Mutation::BurstNotRenewed) {
            self.notes.reach_if(self.burst_allowance == 0, "allowance renewed after it ran out");
            self.burst_allowance = MAX_BURST;
        }
        let burst = self.burst_allowance > 0 && !self.notes.is(Mutation::NoBurstAllowance);
        self.notes.reach_if(burst && self.drop_prob > 0.0, "burst passes");
        let mut arrived = Arrived::Joined;
        if !burst && self.drop_early() {
            self.accu_prob = 0.0;
            let low = self.drop_prob < 0.1 || self.notes.is(Mutation::MarksWhateverP);
            self.notes.reach_if(packet.ect && !low, "markable, but dropped");
            if !self.notes.reach_if(packet.ect && low, "marked") {
                return Arrived::Dropped;
            }
            packet.marked = true;
            arrived = Arrived::Marked;
        }
        self.bytes += u64::from(packet.size);
        self.queue.push_back((packet, now));
        arrived
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        let Some((packet, timestamp)) = self.queue.pop_front() else {
            self.current_qdelay = 0;
            return None;
        };
        self.bytes -= u64::from(packet.size);
        self.current_qdelay = now - timestamp;
        Some(packet)
    }

    /// `calculate_drop_prob`.
    fn update(&mut self, _now: u64) {
        let (alpha, beta) = match self.notes.mutation {
            Some(Mutation::NoTrend) => (0.125, 0.0),
            Some(Mutation::SecondsForMilliseconds) => (125.0, 1250.0),
            _ => (0.125, 1.25),
        };
        let seconds = |ps: u64| ps as f64 / 1e12;
        let p = alpha * (seconds(self.current_qdelay) - 0.015)
            + beta * (seconds(self.current_qdelay) - seconds(self.qdelay_old));
        let mut p = self.scaled(p);
        if self.drop_prob >= 0.1 && p > 0.02 && !self.notes.is(Mutation::NoCap) {
            self.notes.reach("step capped");
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0 && self.qdelay_old == 0 && !self.notes.is(Mutation::NoDecay) {
            self.notes.reach_if(self.drop_prob > 0.0, "p decays");
            self.drop_prob *= 0.98;
        }
        if self.notes.reach_if(self.drop_prob < 0.0, "p held at 0") {
            self.drop_prob = 0.0;
        }
        if self.notes.reach_if(self.drop_prob > 1.0, "p held at 1") {
            self.drop_prob = 1.0;
        }
        self.qdelay_old = self.current_qdelay;
        self.notes.reach_if(self.burst_allowance == T_UPDATE, "allowance ran out");
        self.burst_allowance = self.burst_allowance.saturating_sub(T_UPDATE);
    }

    fn state(&self) -> Vec<f64> {
        vec![self.drop_prob, self.qdelay_old as f64 / 1e12, self.burst_allowance as f64 / 1e12]
    }

    fn notes(&self) -> &Notes<Mutation> {
        &self.notes
    }
}
