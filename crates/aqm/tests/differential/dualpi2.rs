//! DualPI2 after RFC 9332, appendix A: figures 2, 3, 5, 7 and 8. The scheduler, which the RFC leaves open, is weighted
//! round robin with 1/16 for the classic queue, in sixteenths of a byte.

use super::{Arrived, MS, Notes, Packet, Phase, Setup, Transcription, US};
use aqmlab_aqm::{Carried, Ecn};
use aqmlab_core::Stream;
use std::collections::VecDeque;

const TARGET: f64 = 0.015;
const ALPHA: f64 = 0.15;
const BETA: f64 = 3.0;
const K: f64 = 2.0;
const MIN_TH: u64 = 800 * US;
const RANGE: u64 = 400 * US;
const P_C_MAX: f64 = 0.25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    NotSquared,
    NotCoupled,
    CoupledOnly,
    LadderOfPie,
    DrivenByClassicOnly,
    OldDelayKept,
    RampFromZero,
    MarksTheLastPacket,
    OverloadNeverDrops,
    OverloadDropsAll,
    EcnHoldsInOverload,
    Ect1IntoClassic,
    ClassicFirst,
    SharedSum,
    TargetIgnored,
}

#[derive(Default)]
struct Queue {
    packets: VecDeque<(Packet, u64)>,
    count: f64,
}

impl Queue {
    fn time(&self, now: u64) -> u64 {
        self.packets.front().map_or(0, |(_, stamp)| now - stamp)
    }
}

/// Figure 4, lines 23 to 30.
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    if *count > 1.0 {
        *count -= 1.0;
        return true;
    }
    false
}

pub struct DualPi2 {
    lq: Queue,
    cq: Queue,
    limit: usize,
    base: f64,
    prevq: f64,
    /// The scheduler's debt to the classic queue, sixteenths of a byte.
    owed: i64,
    notes: Notes<Mutation>,
}

impl DualPi2 {
    fn p_c(&self) -> f64 {
        if self.notes.is(Mutation::NotSquared) { self.base } else { self.base * self.base }
    }

    fn p_cl(&self) -> f64 {
        if self.notes.is(Mutation::NotCoupled) { 0.0 } else { K * self.base }
    }

    /// True if the low-latency queue is next.
    fn scheduler(&mut self) -> bool {
        let (l, c) = (self.lq.packets.front(), self.cq.packets.front());
        match (l, c) {
            (Some((l, _)), Some((c, _))) => {
                let (l, c) = (i64::from(l.size), i64::from(c.size));
                let takes_l = self.owed <= 0 && !self.notes.is(Mutation::ClassicFirst);
                self.notes.reach(if takes_l { "both wait, L is served" } else { "both wait, C is served" });
                self.owed += if takes_l { l } else { -15 * c };
                takes_l
            }
            (l, _) => {
                self.owed = 0;
                l.is_some()
            }
        }
    }

    /// Figure 5.
    fn laqm(&mut self, qdelay: u64) -> f64 {
        let min_th = if self.notes.is(Mutation::RampFromZero) { 0 } else { MIN_TH };
        if qdelay >= min_th + RANGE {
            self.notes.reach("above the ramp");
            return 1.0;
        }
        if qdelay > min_th {
            self.notes.reach("on the ramp");
            return (qdelay - min_th) as f64 / RANGE as f64;
        }
        0.0
    }

    /// Figure 7, lines 4b to 8j: whether the packet goes on.
    fn l4s(&mut self, packet: &mut Packet, qdelay: u64) -> bool {
        let (p_c, p_cl) = (self.p_c(), self.p_cl());
        if p_cl < 1.0 {
            let spares = self.lq.packets.len() <= 1 && !self.notes.is(Mutation::MarksTheLastPacket);
            let own = if spares { 0.0 } else { self.laqm(qdelay) };
            self.notes.reach_if(spares && qdelay > MIN_TH, "late, but next to alone");
            let own = if self.notes.is(Mutation::CoupledOnly) { 0.0 } else { own };
            self.notes.reach_if(p_cl > own, "the coupled probability rules");
            packet.marked = recur(&mut self.lq.count, own.max(p_cl));
            return true;
        }
        let drop = recur(&mut self.lq.count, p_c) || self.notes.is(Mutation::OverloadDropsAll);
        if self.notes.reach_if(drop, "overload, L drops") && !self.notes.is(Mutation::OverloadNeverDrops) {
            return false;
        }
        self.notes.reach("overload, L marks");
        packet.marked = true; // p_CL is at least 1: all that remain
        true
    }

    /// Figure 7, lines 11 to 17: whether the packet goes on.
    fn classic(&mut self, packet: &mut Packet) -> bool {
        let p_c = self.p_c();
        let count = if self.notes.is(Mutation::SharedSum) { &mut self.lq.count } else { &mut self.cq.count };
        if !recur(count, p_c) {
            return true;
        }
        if !packet.ect {
            self.notes.reach("C drops");
            return false;
        }
        if p_c >= P_C_MAX && !self.notes.is(Mutation::EcnHoldsInOverload) {
            self.notes.reach("overload, C drops a markable packet");
            return false;
        }
        self.notes.reach("C marks");
        packet.marked = true;
        true
    }
}

impl Transcription for DualPi2 {
    const SCHEME: &'static str = "dualpi2";
    const BRANCHES: &'static [&'static str] = &[
        "both wait, L is served",
        "both wait, C is served",
        "on the ramp",
        "above the ramp",
        "late, but next to alone",
        "the coupled probability rules",
        "overload, L drops",
        "overload, L marks",
        "C drops",
        "C marks",
        "overload, C drops a markable packet",
        "held at 0",
        "held at 1",
        "L has waited longer",
        "full",
    ];
    const MUTATIONS: &'static [Mutation] = &[
        Mutation::NotSquared,
        Mutation::NotCoupled,
        Mutation::CoupledOnly,
        Mutation::LadderOfPie,
        Mutation::DrivenByClassicOnly,
        Mutation::OldDelayKept,
        Mutation::RampFromZero,
        Mutation::MarksTheLastPacket,
        Mutation::OverloadNeverDrops,
        Mutation::OverloadDropsAll,
        Mutation::EcnHoldsInOverload,
        Mutation::Ect1IntoClassic,
        Mutation::ClassicFirst,
        Mutation::SharedSum,
        Mutation::TargetIgnored,
    ];
    type Mutation = Mutation;
    type Constants = ();

    fn setups() -> Vec<Setup<()>> {
        let phase = |ms, gap, burst, rate| Phase { ms, gap, burst, rate };
        // A load about the link's rate; bursts; far above it, until the probability is 1; silence; and back.
        let around = vec![
            phase(3000, 800, 1, 8.0),
            phase(2000, 20_000, 20, 8.0),
            phase(3000, 900, 1, 8.0),
            phase(1000, 0, 1, 8.0),
            phase(2000, 1500, 2, 8.0),
        ];
        let overload = vec![
            phase(4000, 300, 1, 8.0),
            phase(500, 0, 1, 8.0),
            phase(3000, 500, 1, 8.0),
            phase(2000, 2000, 1, 8.0),
            phase(2000, 100, 1, 4.0),
        ];
        let fast = vec![phase(1000, 100, 1, 80.0), phase(1000, 2000, 25, 80.0), phase(500, 60, 1, 80.0)];
        [(around, 100), (overload, 400), (fast, 300)]
            .map(|(phases, limit)| Setup { params: &[], constants: (), limit, phases })
            .into()
    }

    fn new((): (), limit: usize, _: Stream, notes: Notes<Mutation>) -> Self {
        Self { lq: Queue::default(), cq: Queue::default(), limit, base: 0.0, prevq: 0.0, owed: 0, notes }
    }

    /// Figure 3.
    fn enqueue(&mut self, now: u64, packet: Packet) -> Arrived {
        if self.lq.packets.len() + self.cq.packets.len() >= self.limit {
            self.notes.reach("full");
            return Arrived::Dropped;
        }
        let is_l =
            packet.ecn() == Ecn::Ect1 && !(self.notes.is(Mutation::Ect1IntoClassic) && packet.number.is_multiple_of(2));
        let queue = if is_l { &mut self.lq } else { &mut self.cq };
        queue.packets.push_back((packet, now));
        Arrived::Joined
    }

    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        while !self.lq.packets.is_empty() || !self.cq.packets.is_empty() {
            let goes_on;
            let mut packet;
            if self.scheduler() {
                let (head, stamp) = self.lq.packets.pop_front()?;
                packet = head;
                goes_on = self.l4s(&mut packet, now - stamp);
            } else {
                (packet, _) = self.cq.packets.pop_front()?;
                goes_on = self.classic(&mut packet);
            }
            if goes_on {
                return Some(packet);
            }
        }
        None
    }

    /// Figure 8.
    fn update(&mut self, now: u64) {
        let (l, c) = (self.lq.time(now), self.cq.time(now));
        self.notes.reach_if(l > c, "L has waited longer");
        let curq = if self.notes.is(Mutation::DrivenByClassicOnly) { c } else { l.max(c) };
        let curq = curq as f64 / (1000 * MS) as f64;
        let target = if self.notes.is(Mutation::TargetIgnored) { 0.0 } else { TARGET };
        let mut step = ALPHA * (curq - target) + BETA * (curq - self.prevq);
        if self.notes.is(Mutation::LadderOfPie) && self.base < 0.1 {
            step /= 2.0;
        }
        let base = self.base + step;
        self.notes.reach_if(base < 0.0, "held at 0");
        self.notes.reach_if(base > 1.0, "held at 1");
        self.base = base.clamp(0.0, 1.0);
        if !self.notes.is(Mutation::OldDelayKept) {
            self.prevq = curq;
        }
    }

    fn state(&self) -> Vec<f64> {
        let (l, c) = (self.lq.packets.len() as f64, self.cq.packets.len() as f64);
        vec![self.p_c(), self.p_cl().min(1.0), self.base, l, c]
    }

    fn notes(&self) -> &Notes<Mutation> {
        &self.notes
    }
}
