//! Buckets that flows and hosts are hashed to.

use aqmlab_core::SparseTable;

/// A set-associative hash: what hashes to a bucket may take any bucket of its set.
#[derive(Clone)]
pub(in crate::disciplines) struct SetAssociativeHash {
    buckets: u32,
    /// 2^64 / `buckets`, rounded up.
    inverse: u64,
    ways: u32,
    salt: u64,
}

impl SetAssociativeHash {
    /// A hash with so many buckets in sets of `ways`; 1 is a plain hash. `salt` chooses the hash.
    pub(in crate::disciplines) fn new(buckets: u32, ways: u32, salt: u64) -> Self {
        Self { buckets, inverse: (u64::MAX / u64::from(buckets)).wrapping_add(1), ways, salt }
    }

    /// The bucket that a number is hashed to.
    #[inline(always)]
    pub(in crate::disciplines) fn home(&self, number: u32) -> u32 {
        let scattered = (u64::from(number) ^ self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.remainder((scattered ^ scattered >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32)
    }

    /// Remainder of a 32-bit number modulo `buckets`, without a division (Lemire, Kaser and Kurz, 2019).
    #[inline(always)]
    fn remainder(&self, number: u64) -> u32 {
        let fraction = self.inverse.wrapping_mul(number);
        ((u128::from(fraction) * u128::from(self.buckets)) >> 64) as u32
    }

    /// The bucket of a number, looked for from its home on: the one in the set that is its own already, or else one that is
    /// free, or else its home.
    #[inline(always)]
    pub(super) fn bucket(&self, number: u32, is_own: impl Fn(u32) -> bool, is_free: impl Fn(u32) -> bool) -> u32 {
        let home = self.home(number);
        if self.ways == 1 || is_own(home) { home } else { self.search(home, is_own, is_free) }
    }

    /// The same where the home is another's.
    #[inline(never)]
    fn search(&self, home: u32, is_own: impl Fn(u32) -> bool, is_free: impl Fn(u32) -> bool) -> u32 {
        let first = home - home % self.ways;
        let end = self.buckets.min(first + self.ways);
        let set = || (home..end).chain(first..home);
        set().find(|bucket| is_own(*bucket)).or_else(|| set().find(|bucket| is_free(*bucket))).unwrap_or(home)
    }
}

/// A host that sends, or several that hash alike.
#[derive(Clone, Copy, Default)]
struct Host {
    tag: u32,
    /// Its queues that count as its load.
    bulk: u32,
}

/// Hosts, in buckets that they are hashed to.
#[derive(Clone)]
pub(super) struct Hosts {
    hash: SetAssociativeHash,
    hosts: SparseTable<Host>,
}

impl Hosts {
    const BUCKETS: u32 = 1024;
    const WAYS: u32 = 8;

    pub(super) fn new(salt: u64) -> Self {
        Self {
            hash: SetAssociativeHash::new(Self::BUCKETS, Self::WAYS, salt),
            hosts: SparseTable::new(Self::BUCKETS as usize, Host::default()),
        }
    }

    /// True if the bucket is still this host's. A host has one at most, so [`Hosts::bucket`] then finds it.
    #[inline(always)]
    pub(super) fn has(&self, bucket: u32, tag: u32) -> bool {
        self.hosts[bucket as usize].tag == tag
    }

    /// The bucket of a host: in its set the one that was its last, or else one without load, or else its home.
    pub(super) fn bucket(&mut self, tag: u32) -> u32 {
        let host = |bucket: u32| &self.hosts[bucket as usize];
        let bucket = self.hash.bucket(tag, |bucket| host(bucket).tag == tag, |bucket| host(bucket).bulk == 0);
        self.hosts[bucket as usize].tag = tag;
        bucket
    }

    /// Queues that count as load of the host at this bucket.
    pub(super) fn bulk(&self, bucket: u32) -> i64 {
        self.hosts[bucket as usize].bulk.into()
    }

    pub(super) fn gain_bulk(&mut self, bucket: u32) {
        self.hosts[bucket as usize].bulk += 1;
    }

    pub(super) fn lose_bulk(&mut self, bucket: u32) {
        self.hosts[bucket as usize].bulk -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remainder_is_that_of_a_division() {
        for buckets in [1, 2, 3, 7, 1000, 1024, 65_535, 65_536] {
            let hash = SetAssociativeHash::new(buckets, 1, 0);
            for number in (0..100_000).chain(u32::MAX - 100_000..=u32::MAX) {
                assert_eq!(hash.remainder(number.into()), number % buckets, "{number} of {buckets}");
            }
        }
    }

    /// A host keeps its bucket while its tag is there, with load or without, and in a set that is full.
    #[test]
    fn a_host_that_is_in_a_bucket_is_found_there() {
        let mut hosts = Hosts::new(7);
        let mut placed = Vec::new();
        for tag in (0..5000).map(|i| i * 7919 % 3000) {
            let bucket = hosts.bucket(tag);
            if tag % 3 == 0 {
                hosts.gain_bulk(bucket);
            }
            placed.push((tag, bucket));
            let known = placed.iter().filter(|(tag, bucket)| hosts.has(*bucket, *tag)).copied().collect::<Vec<_>>();
            for (tag, bucket) in known.into_iter().step_by(97) {
                assert_eq!(hosts.bucket(tag), bucket);
            }
        }
    }
}
