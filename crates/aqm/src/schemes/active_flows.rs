/// Counts distinct flows by the bits that their hashes leave unset (Whang et al. 1990, linear counting).
#[derive(Clone)]
pub(super) struct ActiveFlows(Box<[u64; Self::BITS / 64]>);

impl ActiveFlows {
    const BITS: usize = 4096;

    pub(super) fn note(&mut self, flow_hash: u32) {
        let bit = flow_hash.wrapping_mul(0x9E37_79B9) >> (32 - Self::BITS.ilog2()); // multiplicative hashing
        self.0[bit as usize / 64] |= 1 << (bit % 64);
    }

    /// The number of flows noted since the last call; saturates at 34 000.
    pub(super) fn take_count(&mut self) -> f64 {
        let unset: u32 = self.0.iter().map(|word| word.count_zeros()).sum();
        self.0.fill(0);
        let bits = Self::BITS as f64;
        bits * libm::log(bits / f64::from(unset.max(1)))
    }
}

impl Default for ActiveFlows {
    fn default() -> Self {
        Self(Box::new([0; Self::BITS / 64]))
    }
}
