use crate::signal::BY_FLOW;
use crate::{
    Aqm, Ctx, EARLY, FORCED, Observable, PacketView, QueueView, Reason, Scheme, SchemeInfo, Signal, Tc, Verdict,
};
use aqmlab_core::{Frequency, Packets, Ratio, Span, Time, params};
use std::collections::VecDeque;

/// A bin is full: the flow has more packets waiting than any may.
const BIN: Reason = Reason::new(&"bin");
/// A flow that does not respond is held to a rate.
const PENALTY: Reason = Reason::new(&"penalty");

params! {
    /// Stochastic Fair BLUE: BLUE in hashed bins, which finds unresponsive flows and limits their rate.
    ///
    /// ## Idea
    /// Every flow belongs to one bin on each of several levels, by independent hashes. A bin's probability rises while
    /// it holds many packets and falls when it is empty. A flow is signalled with the minimum probability of its bins.
    /// A responsive flow rarely shares all its bins with an unresponsive one.
    ///
    /// ## Equations
    /// A packet arrives; for its bin on each level, with q packets of the bin waiting:
    ///
    /// ```text
    /// q = 0:          p -= decrement           q >= bin_size:  p += increment          0 <= p <= 1
    /// p_min = least p,  q_min = least q
    ///
    /// q_min >= max:   drop
    /// p_min = 1:      inelastic: drop, unless a token is left
    /// else:           with probability p_min signal it: mark, or drop if p_min > 1/2 with probability 2*p_min - 1
    /// ```
    ///
    /// The inelastic share `penalty_burst` tokens. When none is left, an arrival counts the seconds since the last such
    /// count (at most 10). It makes `penalty_rate` times as many, rounded down and at most `penalty_burst`, and the
    /// count restarts, also at a drop. A flow that sends faster than `penalty_rate` gets nothing after its burst until
    /// it pauses.
    ///
    /// There are two sets of bins. Every `rehash_interval` the other set takes over with other hashes; for
    /// `rehash_warmup` before, it learns from the inelastic flows. The set that was replaced keeps its probabilities
    /// and gets new hashes.
    ///
    /// ## What to expect
    /// A flow is nearly sure to be alone in one of eight bins, and that bin sets its p: up by `increment` for each
    /// arrival that finds `bin_size` packets of the flow itself, down by `decrement` for each that finds none. The
    /// steps of `tc` make a p that slow start has driven up fall over minutes. Take 16 CUBIC flows on 20 Mbit/s and 40
    /// ms. bin_size is 20, and max is 30. From 10 s to 40 s they hold 56 packets and lose 1.9 %. From 60 s on they hold
    /// 78 packets and lose 1.5 %. Linux 6.1, whose CUBIC leaves slow start earlier (HyStart), held 90 packets in the
    /// first period and lost 1.2 %.
    ///
    /// ## Readings
    /// The rule follows Linux `sch_sfb`. The defaults are the values of `tc`, which always sends all parameters. The
    /// kernel's defaults apply only without `tc`'s options:
    ///
    /// ```text
    ///                     tc                      kernel
    /// increment           33/65535 (0.0504 %)     66/65535 (0.1007 %)
    /// decrement            3/65535 (0.0046 %)     11/65535 (0.0168 %)
    /// bin_size (target)   20, or 4/5 of max       20
    /// max                 25, or 5/4 of target    25
    /// ```
    ///
    /// All others are equal in both. (`tc` says that `rehash` and `db` are seconds and takes them for milliseconds.) The paper
    /// has two levels of 23 bins and a time between updates of a bin; here every packet updates.
    ///
    /// ## Departures
    /// Compared line by line with `net/sched/sch_sfb.c` at 2519003dd5fb, which contains the rules of Linux 5.10.13, and
    /// iproute2's `q_sfb.c`. Probabilities are not rounded to 16 bits, and times not to ticks. The hash is of a number
    /// that replaces the flow's 5-tuple. The hashes hold from the first packet on instead of from the set-up. Packets
    /// that waited before SFB replaced another scheme are in no bin; Linux drops them.
    pub struct SfbParams for Sfb {
        /// Levels, each with a digit of the flow's hash.
        levels: u32 = "8" in "1" ..= "8", unit "1", from "Linux sch_sfb";
        /// Bins of a level.
        bins: u32 = "16" in "1" ..= "256", unit "1", from "Linux sch_sfb";
        /// Step up of a bin's probability.
        increment: Ratio = "0.050355%" in "0" ..= "1",
          tc "increment" in "probability", from "tc (33/65535); the kernel's own is 66/65535";
        /// Step down of a bin's probability.
        decrement: Ratio = "0.0045777%" in "0" ..= "1",
          tc "decrement" in "probability", from "tc (3/65535); the kernel's own is 11/65535";
        /// Packets in a bin from which on its probability rises.
        bin_size: Packets = "20 packets" in "1 packet" ..= "1000000 packets",
          tc "target" in "packets", from "tc and Linux sch_sfb";
        /// Packets in all of a flow's bins from which on it is dropped.
        max: Packets = "25 packets" in "1 packet" ..= "1000000 packets",
          tc "max" in "packets", from "tc and Linux sch_sfb";
        /// Time for which hashes hold.
        rehash_interval: Span = "600 s" in "1 s" ..= "100000 s",
          tc "rehash" in "milliseconds", from "tc and Linux sch_sfb";
        /// Time before a rehash in which the next hashes learn.
        rehash_warmup: Span = "60 s" in "0 s" ..= "100000 s", tc "db" in "milliseconds", from "tc and Linux sch_sfb";
        /// Packets per second that unresponsive flows share.
        penalty_rate: Frequency = "10 Hz" in "0 Hz" ..= "1000 kHz",
          tc "penalty_rate" in "packets/s", from "tc and Linux sch_sfb";
        /// Packets that they may send at once.
        penalty_burst: Packets = "20 packets" in "1 packet" ..= "1000000 packets",
          tc "penalty_burst" in "packets", from "tc and Linux sch_sfb";
    }
}

/// Tokens are made for no more seconds than these.
const LONGEST_PAUSE: f64 = 10.0;

#[derive(Clone, Copy, Default)]
struct Bin {
    waiting: u32,
    p: f64,
}

/// Bins and the salt of their hashes.
#[derive(Clone)]
struct Bins {
    bins: Vec<Bin>,
    salt: u64,
}

/// The hash under which each of the two sets counts a packet, if it does.
type Hashes = [Option<u64>; 2];

/// See [`SfbParams`].
#[derive(Clone)]
pub struct Sfb {
    params: SfbParams,
    sets: [Bins; 2],
    /// The set that decides.
    present: usize,
    /// Time at which it took over; none before the first packet.
    since: Option<Time>,
    /// Those that wait, from the head on.
    waiting: VecDeque<Hashes>,
    tokens: f64,
    tokens_at: Time,
    p: f64,
}

fn draw_salt(cx: &mut Ctx) -> u64 {
    (cx.rng.uniform() * (1u64 << 53) as f64) as u64
}

impl Bins {
    fn new(params: &SfbParams) -> Self {
        Self { bins: vec![Bin::default(); (params.levels * params.bins) as usize], salt: 0 }
    }

    /// The finaliser of SplitMix64 (Steele, Lea & Flood 2014).
    fn hash(&self, flow_hash: u32) -> u64 {
        let z = u64::from(flow_hash) ^ self.salt;
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Applies `act` to the bin of each level: the digits of the hash to the base of the number of bins, the highest first.
    fn of_hash(&mut self, params: &SfbParams, hash: u64, mut act: impl FnMut(&mut Bin)) {
        let (mut rest, mut first) = (hash, 0);
        for _ in 0..params.levels {
            let product = u128::from(rest) * u128::from(params.bins);
            act(&mut self.bins[first + (product >> 64) as usize]);
            (rest, first) = (product as u64, first + params.bins as usize);
        }
    }

    /// Moves the probabilities of a flow's bins at an arrival; returns the least probability and the least queue.
    fn learn(&mut self, params: &SfbParams, hash: u64) -> (f64, u32) {
        let (mut p_min, mut q_min) = (1.0f64, u32::MAX);
        self.of_hash(params, hash, |bin| {
            if bin.waiting == 0 {
                bin.p = (bin.p - params.decrement.0).max(0.0);
            } else if f64::from(bin.waiting) >= params.bin_size.0 {
                bin.p = (bin.p + params.increment.0).min(1.0);
            }
            p_min = if bin.p < p_min { bin.p } else { p_min }; // `min` would look for what is no number
            q_min = q_min.min(bin.waiting);
        });
        (p_min, q_min)
    }
}

impl Sfb {
    /// Draws the first salts, or lets the other set take over when it is time.
    fn rehash(&mut self, cx: &mut Ctx) {
        let Some(since) = self.since else {
            self.sets.iter_mut().for_each(|set| set.salt = draw_salt(cx));
            (self.since, self.tokens_at) = (Some(cx.now), cx.now);
            return;
        };
        if cx.now.since(since) > self.params.rehash_interval {
            self.sets[self.present].salt = draw_salt(cx);
            self.present = 1 - self.present;
            self.since = Some(cx.now);
        }
    }

    /// A set meets a packet, and notes under which hash.
    fn learn(&mut self, set: usize, flow_hash: u32, hashes: &mut Hashes) -> (f64, u32) {
        let hash = self.sets[set].hash(flow_hash);
        hashes[set] = Some(hash);
        self.sets[set].learn(&self.params, hash)
    }

    /// True if the other set is to take over soon.
    fn warms_up(&self, now: Time) -> bool {
        let age = now.since(self.since.unwrap_or(now));
        age.0 + self.params.rehash_warmup.0 > self.params.rehash_interval.0
    }

    /// True if a packet of a flow that does not respond may pass.
    fn take_token(&mut self, now: Time) -> bool {
        let SfbParams { penalty_rate, penalty_burst, .. } = self.params;
        if self.tokens < 1.0 {
            let pause = now.since(self.tokens_at).seconds().min(LONGEST_PAUSE);
            self.tokens = (penalty_rate.0 * pause).floor().min(penalty_burst.0);
            self.tokens_at = now;
        }
        let may = self.tokens >= 1.0 && penalty_rate.0 > 0.0;
        self.tokens -= f64::from(u8::from(may));
        may
    }

    fn judge(&mut self, q_min: u32, cx: &mut Ctx) -> Verdict {
        if f64::from(q_min) >= self.params.max.0 {
            return Verdict::Drop(BIN);
        }
        if self.p >= 1.0 {
            return if self.take_token(cx.now) { Verdict::Pass } else { Verdict::Drop(PENALTY) };
        }
        match cx.rng.uniform() {
            drawn if drawn >= self.p => Verdict::Pass,
            drawn if drawn < 2.0 * self.p - 1.0 => Verdict::Drop(FORCED),
            _ => Verdict::Signal(EARLY),
        }
    }

    /// Counts a packet in or out of the bins under its hashes.
    fn count(&mut self, hashes: Hashes, mut act: impl FnMut(&mut Bin)) {
        for (set, hash) in self.sets.iter_mut().zip(hashes) {
            if let Some(hash) = hash {
                set.of_hash(&self.params, hash, &mut act);
            }
        }
    }

    /// Counts out those that have left since the last arrival, when `packets` are still there.
    fn settle(&mut self, packets: u32) {
        while self.waiting.len() > packets as usize {
            if let Some(hashes) = self.waiting.pop_front() {
                self.count(hashes, |bin| bin.waiting -= 1);
            }
        }
    }
}

impl Scheme for Sfb {
    const INFO: SchemeInfo = SchemeInfo {
        name: "sfb",
        title: "SFB",
        family: "flow-aware",
        year: 2001,
        source: "Feng, Kandlur, Saha & Shin, INFOCOM 2001; Linux sch_sfb",
        confidence: "rule and defaults of Linux, by hand-computed steps",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] =
        &[Observable { name: "p", unit: "ratio", doc: "minimum probability of the last packet's bins" }];
    const AT_START: &'static [(&'static str, &'static str)] = &[
        ("levels", "flows have been hashed into that many levels"),
        ("bins", "flows have been hashed into that many bins"),
    ];

    fn new(params: SfbParams, _: &QueueView) -> Result<Self, String> {
        let (sets, tokens) = ([Bins::new(&params), Bins::new(&params)], params.penalty_burst.0);
        Ok(Self {
            params,
            sets,
            present: 0,
            since: None,
            waiting: VecDeque::new(),
            tokens,
            tokens_at: Time::ZERO,
            p: 0.0,
        })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_FLOW);
    const TC: Option<Tc> = Some(Tc { kind: "sfb", note: "" });
}

impl Aqm for Sfb {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        self.settle(queue.packets);
        self.rehash(cx);
        let mut hashes = [None; 2];
        let (p_min, q_min) = self.learn(self.present, packet.flow_hash, &mut hashes);
        self.p = p_min;
        let verdict = self.judge(q_min, cx);
        if p_min >= 1.0 && verdict != Verdict::Drop(BIN) && self.warms_up(cx.now) {
            self.learn(1 - self.present, packet.flow_hash, &mut hashes);
        }
        if verdict == Verdict::Pass || (verdict == Verdict::Signal(EARLY) && packet.can_mark) {
            self.count(hashes, |bin| bin.waiting += 1);
            self.waiting.push_back(hashes);
        }
        verdict
    }

    fn on_adopt(&mut self, _: &PacketView) {
        self.waiting.push_back([None; 2]);
    }

    fn observe(&self, _: usize) -> f64 {
        self.p
    }
}

#[cfg(test)]
mod tests;
