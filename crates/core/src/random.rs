//! Named random streams: one per (seed, purpose, entity), so that no component disturbs another.
//!
//! Adding a flow or changing the scheme leaves every other stream as it was; two schemes under one seed meet
//! the same arrivals. The generator is PCG XSL 128/64, named explicitly because its output is fixed by definition.

use rand_core::Rng;
use rand_pcg::Pcg64;

/// The random numbers of one component.
#[derive(Clone, Debug)]
pub struct Stream(Pcg64);

/// The streams of all entities for one purpose in one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams(u64);

impl Streams {
    /// Those for `purpose` (such as `flows.ftp.start`) in the run with this seed.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Streams(purpose.bytes().fold(split_mix(seed), |key, byte| split_mix(key ^ u64::from(byte))))
    }

    /// The stream of `entity`.
    pub fn of(self, entity: u64) -> Stream {
        let mut key = split_mix(self.0 ^ split_mix(entity));
        let mut word = || {
            key = split_mix(key);
            u128::from(key)
        };
        let (a, b, c, d) = (word(), word(), word(), word());
        Stream(Pcg64::new(a << 64 | b, c << 64 | d))
    }
}

impl Stream {
    /// The stream of `entity` for `purpose` (such as `links.bottleneck.aqm`) in the run with this seed.
    pub fn new(seed: u64, purpose: &str, entity: u64) -> Self {
        Streams::new(seed, purpose).of(entity)
    }

    /// Uniform in [0, 1), 53 bits.
    #[inline]
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// Uniform in 0 .. n, by 32 bits of chance: even to n in 2^32.
    #[inline]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.0.next_u64() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// The generator itself, for the laws of `rand_distr`.
    pub fn generator(&mut self) -> &mut Pcg64 {
        &mut self.0
    }
}

/// One step of SplitMix64 (Steele, Lea & Flood 2014): a bijection that scatters nearby keys.
fn split_mix(key: u64) -> u64 {
    let z = key.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(seed: u64, purpose: &str, entity: u64) -> f64 {
        Stream::new(seed, purpose, entity).uniform()
    }

    #[test]
    fn streams_are_named() {
        assert_eq!(first(1, "a", 0), first(1, "a", 0));
        let all = [first(1, "a", 0), first(2, "a", 0), first(1, "b", 0), first(1, "a", 1)];
        assert!((1..4).all(|i| all[i] != all[0]), "{all:?}");
    }

    #[test]
    fn below_fills_its_range_evenly() {
        let mut stream = Stream::new(7, "test", 0);
        let mut counts = [0; 10];
        (0..100_000).for_each(|_| counts[stream.below(10) as usize] += 1);
        // 10000 expected each; five standard deviations of 95.
        assert!(counts.iter().all(|count| (9_525..=10_475).contains(count)), "{counts:?}");
    }

    #[test]
    fn uniform_fills_the_unit_interval() {
        let mut stream = Stream::new(7, "test", 0);
        let draws: Vec<f64> = (0..100_000).map(|_| stream.uniform()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        // Five standard errors of a uniform mean: 5 * sqrt(1/12) / sqrt(1e5).
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
    }
}
