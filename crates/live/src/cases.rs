//! The cases of the property tests.

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// Cases of a test: `AQMLAB_FUZZ` (`make fuzz`), else so many; from a fixed seed.
pub fn config(usual: u32) -> ProptestConfig {
    let cases = std::env::var("AQMLAB_FUZZ").ok().and_then(|cases| cases.parse().ok()).unwrap_or(usual);
    ProptestConfig { cases, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..ProptestConfig::default() }
}
