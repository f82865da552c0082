use crate::signal::BY_FLOW;
use crate::{Aqm, Ctx, EARLY, FORCED, Info, Observable, PacketView, QueueView, Scheme, Signal, Tc, Verdict, Why};
use aqmlab_core::{Frequency, Packets, Ratio, Span, Time, params};

/// A bin is full: the flow has more packets waiting than any may.
const BIN: Why = "bin";
/// A flow that does not respond is held to a rate.
const PENALTY: Why = "penalty";

params! {
    /// Stochastic Fair BLUE: BLUE in hashed bins, so that a flow which does not respond is found and held down.
    ///
    /// ## Idea
    /// Every flow belongs to one bin on each of several levels, by independent hashes. A bin's probability rises while
    /// it holds many packets and falls when it is empty. A flow is signalled with the least probability of its bins: one
    /// that responds shares all its bins with a flow that does not only by rare chance.
    ///
    /// ## Equations
    /// A packet arrives; for its bin on each level, with q packets of the bin waiting:
    ///
    /// ```text
    /// q = 0:          p -= decrement           q >= bin_size:  p += increment          0 <= p <= 1
    /// p_min = least p,  q_min = least q
    ///
    /// q_min >= max:   drop
    /// p_min = 1:      drop above penalty_rate (bursts of penalty_burst); else let it pass
    /// else:           with probability p_min signal it: mark, or drop if p_min > 1/2 with probability 2*p_min - 1
    /// ```
    ///
    /// Every `rehash_interval` new hashes take over; the new bins learn beside the old ones for `rehash_warmup`.
    ///
    /// ## Readings
    /// These are rule and defaults of Linux `sch_sfb`. The paper has two levels of 23 bins and a time between updates of
    /// a bin; here every packet updates.
    ///
    /// ## Departures
    /// None known. Hashes are of what stands for the flow's 5-tuple, with salts from the scheme's random stream.
    pub struct SfbParams {
        /// Levels, each with a hash of its own.
        levels: u32 = "8" in "1" ..= "8", unit "1", from "Linux sch_sfb";
        /// Bins of a level.
        bins: u32 = "16" in "1" ..= "4096", unit "1", from "Linux sch_sfb";
        /// Step up of a bin's probability.
        increment: Ratio = "0.1%" in "0" ..= "1", from "Linux sch_sfb (66/65535)";
        /// Step down of a bin's probability.
        decrement: Ratio = "0.0167%" in "0" ..= "1", from "Linux sch_sfb (11/65535)";
        /// Packets in a bin from which on its probability rises.
        bin_size: Packets = "20 packets" in "1 packet" ..= "1000000 packets", from "Linux sch_sfb";
        /// Packets in all of a flow's bins from which on it is dropped.
        max: Packets = "25 packets" in "1 packet" ..= "1000000 packets", from "Linux sch_sfb";
        /// Time for which hashes hold.
        rehash_interval: Span = "600 s" in "1 s" ..= "100000 s", from "Linux sch_sfb";
        /// Time for which the next hashes learn before; at most the interval.
        rehash_warmup: Span = "60 s" in "0 s" ..= "100000 s", from "Linux sch_sfb";
        /// Packets a second that flows which do not respond share.
        penalty_rate: Frequency = "10 Hz" in "0 Hz" ..= "1000 kHz", from "Linux sch_sfb";
        /// Packets that they may send at once.
        penalty_burst: Packets = "20 packets" in "1 packet" ..= "1000000 packets", from "Linux sch_sfb";
    }
}

#[derive(Clone, Copy, Default)]
struct Bin {
    waiting: u32,
    p: f64,
}

/// The bins of one set of hashes.
#[derive(Clone)]
struct Bins {
    bins: Vec<Bin>,
    salt: u64,
    /// They count packets that joined from here on.
    since: Time,
}

/// See [`SfbParams`].
#[derive(Clone)]
pub struct Sfb {
    params: SfbParams,
    present: Bins,
    /// The bins that will take over, once they learn.
    next: Option<Bins>,
    tokens: f64,
    tokens_at: Time,
    p: f64,
}

impl Bins {
    fn new(params: &SfbParams, since: Time, cx: &mut Ctx) -> Self {
        let salt = (cx.rng.uniform() * (1u64 << 53) as f64) as u64;
        Self { bins: vec![Bin::default(); (params.levels * params.bins) as usize], salt, since }
    }

    /// Lets act on the flow's bin of each level.
    fn of_flow(&mut self, params: &SfbParams, flow_hash: u32, mut act: impl FnMut(&mut Bin)) {
        // Two hashes make as many as there are levels (Kirsch & Mitzenmacher 2006).
        let mixed = (u64::from(flow_hash) ^ self.salt).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let (mut hash, step) = ((mixed >> 32) as u32, mixed as u32 | 1);
        for level in 0..params.levels {
            let bin = (u64::from(hash) * u64::from(params.bins)) >> 32;
            act(&mut self.bins[(level * params.bins) as usize + bin as usize]);
            hash = hash.wrapping_add(step);
        }
    }

    /// Moves the probabilities of a flow's bins at an arrival; returns the least probability and the least queue.
    fn learn(&mut self, params: &SfbParams, flow_hash: u32) -> (f64, u32) {
        let (mut p_min, mut q_min) = (1.0f64, u32::MAX);
        self.of_flow(params, flow_hash, |bin| {
            if bin.waiting == 0 {
                bin.p = (bin.p - params.decrement.0).max(0.0);
            } else if f64::from(bin.waiting) >= params.bin_size.0 {
                bin.p = (bin.p + params.increment.0).min(1.0);
            }
            (p_min, q_min) = (p_min.min(bin.p), q_min.min(bin.waiting));
        });
        (p_min, q_min)
    }
}

impl Sfb {
    /// New hashes begin to learn, or take over.
    fn rehash(&mut self, cx: &mut Ctx) {
        let SfbParams { rehash_interval, rehash_warmup, .. } = self.params;
        let age = cx.now.since(self.present.since);
        if self.next.is_none() && age.0 + rehash_warmup.min(rehash_interval).0 >= rehash_interval.0 {
            self.next = Some(Bins::new(&self.params, cx.now, cx));
        }
        if self.next.as_ref().is_some_and(|next| cx.now.since(next.since) >= rehash_warmup) {
            self.present = self.next.take().expect("seen above");
        }
    }

    /// Whether a packet of a flow that does not respond may pass.
    fn take_token(&mut self, now: Time) -> bool {
        let refill = self.params.penalty_rate.0 * now.since(self.tokens_at).seconds();
        self.tokens = (self.tokens + refill).min(self.params.penalty_burst.0);
        self.tokens_at = now;
        let may = self.tokens >= 1.0;
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

    /// Counts a packet that joined at `since` in or out of the bins that know it.
    fn count(&mut self, flow_hash: u32, since: Time, mut act: impl FnMut(&mut Bin)) {
        for bins in [Some(&mut self.present), self.next.as_mut()].into_iter().flatten() {
            if since >= bins.since {
                bins.of_flow(&self.params, flow_hash, &mut act);
            }
        }
    }
}

impl Scheme for Sfb {
    const INFO: Info = Info {
        name: "sfb",
        title: "SFB",
        family: "flow-aware",
        year: 2001,
        source: "Feng, Kandlur, Saha & Shin, INFOCOM 2001; Linux sch_sfb",
        confidence: "rule and defaults of Linux, by hand-computed steps",
        papers: &[],
    };
    const OBSERVABLES: &'static [Observable] =
        &[Observable { name: "p", unit: "ratio", doc: "least probability of the last packet's bins" }];
    type Params = SfbParams;
    const AT_START: &'static [(&'static str, &'static str)] = &[
        ("levels", "flows have been hashed into that many levels"),
        ("bins", "flows have been hashed into that many bins"),
    ];

    fn new(params: SfbParams, _: &QueueView) -> Result<Self, String> {
        let present =
            Bins { bins: vec![Bin::default(); (params.levels * params.bins) as usize], salt: 0, since: Time::ZERO };
        let tokens = params.penalty_burst.0;
        Ok(Self { params, present, next: None, tokens, tokens_at: Time::ZERO, p: 0.0 })
    }

    fn params(&mut self) -> &mut SfbParams {
        &mut self.params
    }

    const SIGNAL: Result<Signal, &'static str> = Err(BY_FLOW);
    const TC: Option<Tc> = Some(Tc { kind: "sfb", note: "" });
}

impl Aqm for Sfb {
    fn on_enqueue(&mut self, packet: &PacketView, _: &QueueView, cx: &mut Ctx) -> Verdict {
        self.rehash(cx);
        let (p_min, q_min) = self.present.learn(&self.params, packet.flow_hash);
        if let Some(next) = &mut self.next {
            next.learn(&self.params, packet.flow_hash);
        }
        self.p = p_min;
        let verdict = self.judge(q_min, cx);
        let is_kept = verdict == Verdict::Pass || (verdict == Verdict::Signal(EARLY) && packet.can_mark);
        if is_kept {
            self.count(packet.flow_hash, cx.now, |bin| bin.waiting += 1);
        }
        verdict
    }

    fn on_adopt(&mut self, packet: &PacketView) {
        self.count(packet.flow_hash, packet.enqueued_at, |bin| bin.waiting += 1);
    }

    fn acts_on_dequeue(&self) -> bool {
        true // it counts departures
    }

    fn on_dequeue(&mut self, packet: &PacketView, _: &QueueView, _: &mut Ctx) -> Verdict {
        self.count(packet.flow_hash, packet.enqueued_at, |bin| bin.waiting = bin.waiting.saturating_sub(1));
        Verdict::Pass
    }

    fn observe(&self, _: usize) -> f64 {
        self.p
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::bench;
    use aqmlab_core::ParamSet;

    fn sfb() -> Sfb {
        Sfb::new(SfbParams::defaults(), &bench::queue(0)).unwrap()
    }

    fn arrive(sfb: &mut Sfb, flow: u32, seconds: u64, rng: &mut aqmlab_core::Stream) -> Verdict {
        let now = Time(seconds * 1_000_000_000_000);
        sfb.on_enqueue(&PacketView { flow_hash: flow, ..bench::packet() }, &bench::queue(0), &mut Ctx { now, rng })
    }

    #[test]
    fn a_bin_of_twenty_learns_and_one_of_twenty_five_is_full() {
        let (mut sfb, mut rng) = (sfb(), bench::stream());
        assert!((0..20).all(|_| arrive(&mut sfb, 7, 0, &mut rng) == Verdict::Pass));
        assert_eq!(sfb.p, 0.0, "the twentieth found 19");
        arrive(&mut sfb, 7, 0, &mut rng);
        assert!((sfb.p - 0.001).abs() < 1e-12);
        sfb.present.of_flow(&sfb.params, 7, |bin| bin.waiting = 25);
        assert_eq!(arrive(&mut sfb, 7, 0, &mut rng), Verdict::Drop(BIN));
    }

    #[test]
    fn another_flow_has_the_least_of_its_own_bins() {
        let (mut sfb, mut rng) = (sfb(), bench::stream());
        sfb.present.of_flow(&sfb.params, 7, |bin| (bin.waiting, bin.p) = (20, 0.9));
        assert_eq!(arrive(&mut sfb, 8, 0, &mut rng), Verdict::Pass);
        assert_eq!(sfb.p, 0.0);
    }

    #[test]
    fn what_does_not_respond_shares_a_token_bucket() {
        let (mut sfb, mut rng) = (sfb(), bench::stream());
        let mut put = |sfb: &mut Sfb, seconds| {
            sfb.present.of_flow(&sfb.params, 7, |bin| (bin.waiting, bin.p) = (20, 1.0));
            arrive(sfb, 7, seconds, &mut rng)
        };
        // A burst of 20, then none; a second later ten more.
        assert_eq!((0..30).filter(|_| put(&mut sfb, 0) == Verdict::Pass).count(), 20);
        assert_eq!((0..30).filter(|_| put(&mut sfb, 1) == Verdict::Pass).count(), 10);
    }

    #[test]
    fn from_one_half_on_some_marks_become_drops() {
        let (mut sfb, mut rng) = (sfb(), bench::stream());
        sfb.p = 0.75;
        let cx = &mut Ctx { now: Time::ZERO, rng: &mut rng };
        let verdicts: Vec<Verdict> = (0..40_000).map(|_| sfb.judge(0, cx)).collect();
        let share = |verdict| verdicts.iter().filter(|v| **v == verdict).count() as f64 / 40_000.0;
        // Half dropped, a quarter signalled, a quarter let go; 0.0125 is five standard deviations.
        assert!((share(Verdict::Drop(FORCED)) - 0.5).abs() < 0.0125);
        assert!((share(Verdict::Signal(EARLY)) - 0.25).abs() < 0.0125);
    }

    #[test]
    fn new_hashes_learn_for_a_minute_and_take_over_at_ten() {
        let (mut sfb, mut rng) = (sfb(), bench::stream());
        arrive(&mut sfb, 7, 0, &mut rng);
        arrive(&mut sfb, 7, 539, &mut rng);
        assert!(sfb.next.is_none());
        arrive(&mut sfb, 7, 540, &mut rng);
        let salt = sfb.next.as_ref().map(|next| next.salt).unwrap();
        arrive(&mut sfb, 7, 599, &mut rng);
        assert_ne!(sfb.present.salt, salt);
        arrive(&mut sfb, 7, 600, &mut rng);
        assert_eq!(sfb.present.salt, salt);
        // Of the five packets the new bins know three; one that leaves from before is not counted off.
        let mut waiting = Vec::new();
        sfb.present.of_flow(&sfb.params, 7, |bin| waiting.push(bin.waiting));
        assert_eq!(waiting, [3; 8]);
        let cx = &mut Ctx { now: Time(600_000_000_000_000), rng: &mut rng };
        sfb.on_dequeue(&PacketView { flow_hash: 7, ..bench::packet() }, &bench::queue(4), cx);
        sfb.present.of_flow(&sfb.params, 7, |bin| assert_eq!(bin.waiting, 3));
    }
}
