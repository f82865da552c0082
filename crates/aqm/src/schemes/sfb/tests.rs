use super::*;
use crate::contract::bench;
use aqmlab_core::{ParamSet, Stream};
use std::collections::HashSet;

/// With increment 0.001.
fn sfb() -> Sfb {
    let mut params = SfbParams::defaults();
    params.read("sfb", [("increment", "0.1%")], &mut Vec::new());
    Sfb::new(params, &bench::queue(0)).unwrap()
}

const SECOND: u64 = 1_000_000_000_000;

/// A packet that arrives while all that have joined still wait.
fn arrive(sfb: &mut Sfb, flow: u32, ms: u64, rng: &mut Stream) -> Verdict {
    let (now, waiting) = (Time(ms * SECOND / 1000), sfb.waiting.len() as u32);
    sfb.on_enqueue(&PacketView { flow_hash: flow, ..bench::packet() }, &bench::queue(waiting), &mut Ctx { now, rng })
}

/// Applies `act` to the flow's bins of a set.
fn bins(sfb: &mut Sfb, set: usize, flow: u32, act: impl FnMut(&mut Bin)) {
    let hash = sfb.sets[set].hash(flow);
    sfb.sets[set].of_hash(&sfb.params, hash, act);
}

fn counts(sfb: &mut Sfb, set: usize, flow: u32) -> Vec<u32> {
    let mut counts = Vec::new();
    bins(sfb, set, flow, |bin| counts.push(bin.waiting));
    counts
}

/// The places of a flow's bins under a salt.
fn places(salt: u64, flow: u32) -> Vec<usize> {
    let params = SfbParams::defaults();
    let mut bins = Bins { salt, ..Bins::new(&params) };
    let hash = bins.hash(flow);
    bins.of_hash(&params, hash, |bin| bin.waiting = 1);
    bins.bins.iter().enumerate().filter(|(_, bin)| bin.waiting == 1).map(|(place, _)| place).collect()
}

#[test]
fn a_bin_of_twenty_learns_and_one_of_twenty_five_is_full() {
    let (mut sfb, mut rng) = (sfb(), bench::stream());
    assert!((0..20).all(|_| arrive(&mut sfb, 7, 0, &mut rng) == Verdict::Pass));
    assert_eq!(sfb.p, 0.0, "the twentieth found 19");
    arrive(&mut sfb, 7, 0, &mut rng);
    assert!((sfb.p - 0.001).abs() < 1e-12);
    bins(&mut sfb, 0, 7, |bin| bin.waiting = 25);
    assert_eq!(arrive(&mut sfb, 7, 0, &mut rng), Verdict::Drop(BIN));
}

#[test]
fn another_flow_has_the_least_of_its_own_bins() {
    let (mut sfb, mut rng) = (sfb(), bench::stream());
    sfb.rehash(&mut Ctx { now: Time::ZERO, rng: &mut rng });
    bins(&mut sfb, 0, 7, |bin| (bin.waiting, bin.p) = (20, 0.9));
    assert_eq!(arrive(&mut sfb, 8, 0, &mut rng), Verdict::Pass);
    assert_eq!(sfb.p, 0.0);
}

#[test]
fn steps_are_those_of_tc() {
    let SfbParams { increment, decrement, .. } = SfbParams::defaults();
    assert!((increment.0 * 65535.0 - 33.0).abs() < 1e-3 && (decrement.0 * 65535.0 - 3.0).abs() < 1e-3);
}

#[test]
fn a_hash_gives_each_level_a_digit() {
    let params = SfbParams::defaults();
    let mut bins = Bins::new(&params);
    bins.of_hash(&params, 0x0f1e_2d3c_0000_0000, |bin| bin.waiting = 1);
    let taken: Vec<usize> = (0..128).filter(|place| bins.bins[*place].waiting == 1).map(|place| place % 16).collect();
    assert_eq!(taken, [0x0, 0xf, 0x1, 0xe, 0x2, 0xd, 0x3, 0xc]);
}

/// Of 4096 flows there are 8.4 million pairs. Two share eight bins of sixteen with probability 16^-8: 0.002 pairs.
#[test]
fn no_two_flows_of_thousands_share_all_bins() {
    let distinct: HashSet<Vec<usize>> = (0..4096).map(|flow| places(12345, flow)).collect();
    assert_eq!(distinct.len(), 4096);
}

#[test]
fn hashes_and_salts_differ_by_seed_from_the_first_packet_on() {
    let mut salts = HashSet::new();
    for seed in 0..5 {
        let mut sfb = sfb();
        arrive(&mut sfb, 7, 0, &mut Stream::new(seed, "test", 0));
        salts.extend(sfb.sets.map(|set| set.salt));
    }
    assert_eq!(salts.len(), 10);
    assert!(!salts.contains(&0));
    let hashes: HashSet<Vec<usize>> = salts.iter().map(|salt| places(*salt, 7)).collect();
    assert_eq!(hashes.len(), 10);
}

/// Packets of a flow with p = 1 that pass, one every `gap` ms from `start` on until `end`.
fn passed(sfb: &mut Sfb, start: u64, end: u64, gap: usize) -> usize {
    let mut rng = bench::stream();
    sfb.rehash(&mut Ctx { now: Time::ZERO, rng: &mut rng });
    let mut put = |ms| {
        bins(sfb, 0, 7, |bin| (bin.waiting, bin.p) = (20, 1.0));
        arrive(sfb, 7, ms, &mut rng) == Verdict::Pass
    };
    (start..end).step_by(gap).filter(|ms| put(*ms)).count()
}

/// 20 packets/s at 10 tokens/s: the burst of 20 lasts a second, the ten tokens of that second half of one, then come 5,
/// 2 and 1; from then on 50 ms lie between two counts, half a token each, which is none.
#[test]
fn above_the_penalty_rate_nothing_passes_after_the_burst() {
    let mut sfb = sfb();
    assert_eq!(passed(&mut sfb, 0, 11_000, 50), 20 + 10 + 5 + 2 + 1);
    // A pause of a second is ten tokens, a long one ten seconds' worth, of which a burst is kept.
    assert_eq!(passed(&mut sfb, 11_950, 21_950, 50), 10 + 5 + 2 + 1);
    assert_eq!(passed(&mut sfb, 80_000, 90_000, 50), 20 + 10 + 5 + 2 + 1);
}

#[test]
fn below_the_penalty_rate_all_pass() {
    assert_eq!(passed(&mut sfb(), 0, 20_000, 200), 100);
}

#[test]
fn without_a_penalty_rate_not_even_the_burst_passes() {
    let mut sfb = sfb();
    sfb.params.penalty_rate = Frequency(0.0);
    assert_eq!(passed(&mut sfb, 0, 1000, 10), 0);
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
fn the_other_set_learns_for_a_minute_from_what_does_not_respond_and_takes_over_at_ten() {
    let (mut sfb, mut rng) = (sfb(), bench::stream());
    arrive(&mut sfb, 7, 0, &mut rng);
    let other = sfb.sets[1].salt;
    let mut inelastic = |sfb: &mut Sfb, seconds: u64| {
        bins(sfb, 0, 9, |bin| (bin.waiting, bin.p) = (20, 1.0));
        arrive(sfb, 9, seconds * 1000, &mut rng)
    };
    inelastic(&mut sfb, 540);
    assert_eq!(counts(&mut sfb, 1, 9), [0; 8], "not yet");
    assert_eq!(inelastic(&mut sfb, 541), Verdict::Pass);
    let mut rng = bench::stream();
    arrive(&mut sfb, 7, 542_000, &mut rng);
    assert_eq!(counts(&mut sfb, 1, 9), [1; 8]);
    let known: u32 = sfb.sets[1].bins.iter().map(|bin| bin.waiting).sum();
    assert_eq!(known, 8, "the set knows nothing of flow 7");
    arrive(&mut sfb, 7, 600_000, &mut rng);
    assert_eq!((sfb.present, sfb.sets[1].salt), (0, other));
    arrive(&mut sfb, 7, 601_000, &mut rng);
    assert_eq!((sfb.present, sfb.sets[1].salt), (1, other));
    assert_eq!(counts(&mut sfb, 1, 7).iter().min(), Some(&1), "the last one alone");
}

#[test]
fn what_leaves_is_counted_off_under_the_hashes_with_which_it_joined() {
    let (mut sfb, mut rng) = (sfb(), bench::stream());
    sfb.on_adopt(&bench::packet());
    (0..3).for_each(|_| _ = arrive(&mut sfb, 7, 0, &mut rng));
    arrive(&mut sfb, 7, 601_000, &mut rng);
    let waiting = |sfb: &Sfb, set: usize| sfb.sets[set].bins.iter().map(|bin| bin.waiting).sum::<u32>();
    assert_eq!([waiting(&sfb, 0), waiting(&sfb, 1)], [24, 8]);
    sfb.settle(2);
    assert_eq!([waiting(&sfb, 0), waiting(&sfb, 1)], [8, 8], "the adopted one and two of three");
    sfb.settle(0);
    assert_eq!([waiting(&sfb, 0), waiting(&sfb, 1)], [0, 0]);
}
