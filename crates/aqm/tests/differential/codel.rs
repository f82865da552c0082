//! RFC 8289, section 5, with what Linux does of a mark, which the RFC leaves open: it counts as a drop does, the packet
//! goes out, and the next signal is foreseen at once.

use super::{Arrived, MS, Notes, Packet, Phase, Setup, Transcription};
use aqmlab_core::Stream;
use std::collections::VecDeque;

const TARGET: u64 = 5 * MS;
const INTERVAL: u64 = 100 * MS;
const MAXPACKET: u64 = 1500;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Mutation {
    LawFromNow,
    LawAlwaysMovesOn,
    ReentryAtOne,
    ReentryWithoutTimeLimit,
    ReentryAtWholeCount,
    CountFromZero,
    OneDropAtATime,
    LastPacketDropped,
    IntervalSurvivesGoodPacket,
    TargetOf6Ms,
    MarkNotCounted,
}

pub struct Codel {
    queue: VecDeque<(Packet, u64)>,
    bytes: u64,
    limit: usize,
    first_above_time: u64,
    drop_next: u64,
    count: u32,
    lastcount: u32,
    dropping: bool,
    sojourn: u64,
    notes: Notes<Mutation>,
}

fn control_law(t: u64, count: u32) -> u64 {
    t + (INTERVAL as f64 / f64::from(count.max(1)).sqrt()).round() as u64
}

impl Codel {
    /// Section 5.6: the packet, and whether it is ok to drop it.
    fn dodequeue(&mut self, now: u64) -> (Option<Packet>, bool) {
        let Some((packet, tstamp)) = self.queue.pop_front() else {
            self.first_above_time = 0;
            self.sojourn = 0;
            return (None, false);
        };
        self.bytes -= u64::from(packet.size);
        self.sojourn = now - tstamp;
        let target = if self.notes.is(Mutation::TargetOf6Ms) { 6 * MS } else { TARGET };
        let good = self.notes.reach_if(self.sojourn < target, "below target");
        let last = self.bytes <= MAXPACKET && !self.notes.is(Mutation::LastPacketDropped);
        let last = self.notes.reach_if(!good && last, "above target, but no more than a packet left");
        if good || last {
            if !self.notes.is(Mutation::IntervalSurvivesGoodPacket) {
                self.first_above_time = 0;
            }
            return (Some(packet), false);
        }
        if self.first_above_time == 0 {
            self.notes.reach("just above target");
            self.first_above_time = now + INTERVAL;
            return (Some(packet), false);
        }
        (Some(packet), now >= self.first_above_time)
    }

    fn entry_count(&mut self, now: u64) -> u32 {
        let delta = self.count - self.lastcount;
        let recent =
            now.saturating_sub(self.drop_next) < 16 * INTERVAL || self.notes.is(Mutation::ReentryWithoutTimeLimit);
        self.notes.reach_if(delta > 1 && !recent, "re-entry too late for the last count");
        self.notes.reach_if(delta == 1 && recent, "re-entry after a single drop");
        if self.notes.is(Mutation::CountFromZero) {
            return 0;
        }
        if !self.notes.reach_if(delta > 1 && recent, "re-entry takes up the last count") {
            return 1;
        }
        match self.notes.mutation {
            Some(Mutation::ReentryAtOne) => 1,
            Some(Mutation::ReentryAtWholeCount) => self.count,
            _ => delta,
        }
    }
}

impl Transcription for Codel {
    const SCHEME: &'static str = "codel";
    const SEEDS: u64 = 30;
    const BRANCHES: &'static [&'static str] = &[
        "below target",
        "above target, but no more than a packet left",
        "just above target",
        "entry by a drop",
        "entry by a mark",
        "leaves the drop state",
        "drop, more to come",
        "drop, then a good packet",
        "several drops at once",
        "mark in the drop state",
        "re-entry takes up the last count",
        "re-entry after a single drop",
        "re-entry too late for the last count",
        "full",
    ];
    const MUTATIONS: &'static [Mutation] = &[
        Mutation::LawFromNow,
        Mutation::LawAlwaysMovesOn,
        Mutation::ReentryAtOne,
        Mutation::ReentryWithoutTimeLimit,
        Mutation::ReentryAtWholeCount,
        Mutation::CountFromZero,
        Mutation::OneDropAtATime,
        Mutation::LastPacketDropped,
        Mutation::IntervalSurvivesGoodPacket,
        Mutation::TargetOf6Ms,
        Mutation::MarkNotCounted,
    ];
    type Mutation = Mutation;
    type Constants = ();

    fn setups() -> Vec<Setup<()>> {
        let phase = |ms, gap, burst, rate| Phase { ms, gap, burst, rate };
        let overload = phase(900, 800, 1, 8.0);
        let light = |ms| phase(ms, 2000, 1, 8.0);
        // Overload, then rest: shorter and longer than 16 intervals.
        let reentry = vec![
            overload,
            light(300),
            overload,
            light(700),
            phase(250, 800, 1, 8.0),
            light(200),
            overload,
            light(3000),
            overload,
            phase(500, 0, 1, 8.0),
            phase(1500, 30_000, 40, 8.0),
        ];
        // A link that stalls: many drops fall due between two departures, down to the last packets of the queue.
        let stalls = vec![
            overload,
            phase(400, 700, 1, 0.2),
            phase(600, 3000, 1, 0.5),
            phase(300, 0, 1, 0.3),
            phase(1000, 5000, 1, 1.0),
            phase(2000, 12_000, 1, 0.5),
            phase(2000, 60_000, 3, 0.2),
            overload,
        ];
        // A slow link leaves the drop state by its last packet, and comes back after about 16 intervals.
        let slow = (0..12).flat_map(|i| [phase(900, 6300, 1, 1.0), phase(1200 + 25 * i, 16_000, 1, 1.0)]).collect();
        [reentry, stalls, slow].map(|phases| Setup { params: &[], constants: (), limit: 120, phases }).into()
    }

    fn new((): (), limit: usize, _: Stream, notes: Notes<Mutation>) -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: 0,
            limit,
            first_above_time: 0,
            drop_next: 0,
            count: 0,
            lastcount: 0,
            dropping: false,
            sojourn: 0,
            notes,
        }
    }

    /// Section 5.4.
    fn enqueue(&mut self, now: u64, packet: Packet) -> Arrived {
        if self.notes.reach_if(self.queue.len() >= self.limit, "full") {
            return Arrived::Dropped;
        }
        self.bytes += u64::from(packet.size);
        self.queue.push_back((packet, now));
        Arrived::Joined
    }

    /// Section 5.5.
    fn dequeue(&mut self, now: u64) -> Option<Packet> {
        let (mut packet, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.notes.reach("leaves the drop state");
                self.dropping = false;
            }
            let mut drops = 0;
            while now >= self.drop_next && self.dropping {
                let from = if self.notes.is(Mutation::LawFromNow) { now } else { self.drop_next };
                if let Some(p) = packet.as_mut().filter(|p| p.ect) {
                    self.notes.reach("mark in the drop state");
                    p.marked = true;
                    self.count += u32::from(!self.notes.is(Mutation::MarkNotCounted));
                    self.drop_next = control_law(from, self.count);
                    break;
                }
                self.count += 1;
                drops += 1;
                (packet, ok_to_drop) = self.dodequeue(now);
                if !ok_to_drop {
                    self.notes.reach("drop, then a good packet");
                    self.dropping = false;
                }
                if ok_to_drop || self.notes.is(Mutation::LawAlwaysMovesOn) {
                    self.notes.reach_if(ok_to_drop, "drop, more to come");
                    self.drop_next = control_law(from, self.count);
                }
                if self.notes.is(Mutation::OneDropAtATime) {
                    break;
                }
            }
            self.notes.reach_if(drops > 1, "several drops at once");
        } else if ok_to_drop {
            if let Some(p) = packet.as_mut().filter(|p| p.ect) {
                self.notes.reach("entry by a mark");
                p.marked = true;
            } else {
                self.notes.reach("entry by a drop");
                (packet, _) = self.dodequeue(now);
            }
            self.dropping = true;
            self.count = self.entry_count(now);
            self.drop_next = control_law(now, self.count);
            self.lastcount = self.count;
        }
        packet
    }

    /// After an entry whose next packet is good the RFC still says dropping, and leaves at the next departure whatever
    /// that brings: `first_above_time` is 0. Ours leaves at once.
    fn state(&self) -> Vec<f64> {
        let dropping = self.dropping && self.first_above_time != 0;
        vec![self.sojourn as f64 / 1e12, f64::from(self.count), f64::from(u8::from(dropping))]
    }

    fn notes(&self) -> &Notes<Mutation> {
        &self.notes
    }
}
