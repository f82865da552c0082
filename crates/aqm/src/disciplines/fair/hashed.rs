//! Places that flows and hosts are hashed to.

/// Places in sets; what hashes to a place may take any of its set.
#[derive(Clone)]
pub(super) struct Sets {
    places: u32,
    /// 2^64 / `places`, rounded up.
    inverse: u64,
    ways: u32,
    salt: u64,
}

impl Sets {
    /// So many places in sets of `ways`; 1 is a plain hash. `salt` chooses the hash.
    pub(super) fn new(places: u32, ways: u32, salt: u64) -> Self {
        Self { places, inverse: (u64::MAX / u64::from(places)).wrapping_add(1), ways, salt }
    }

    /// The place that a number is hashed to.
    #[inline(always)]
    pub(super) fn home(&self, number: u32) -> u32 {
        let scattered = (u64::from(number) ^ self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.remainder((scattered ^ scattered >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32)
    }

    /// Remainder of a 32-bit number modulo `places`, without a division (Lemire, Kaser and Kurz, 2019).
    #[inline(always)]
    fn remainder(&self, number: u64) -> u32 {
        let fraction = self.inverse.wrapping_mul(number);
        ((u128::from(fraction) * u128::from(self.places)) >> 64) as u32
    }

    /// The place of what has this number, looked for from its home on: the one in the set that is its own already, or else
    /// one that is free, or else its home.
    #[inline(always)]
    pub(super) fn place(&self, number: u32, is_own: impl Fn(u32) -> bool, is_free: impl Fn(u32) -> bool) -> u32 {
        let home = self.home(number);
        if self.ways == 1 || is_own(home) { home } else { self.search(home, is_own, is_free) }
    }

    /// The same where the home is another's.
    #[inline(never)]
    fn search(&self, home: u32, is_own: impl Fn(u32) -> bool, is_free: impl Fn(u32) -> bool) -> u32 {
        let first = home - home % self.ways;
        let end = self.places.min(first + self.ways);
        let set = || (home..end).chain(first..home);
        set().find(|place| is_own(*place)).or_else(|| set().find(|place| is_free(*place))).unwrap_or(home)
    }
}

/// A host that sends, or several that hash alike.
#[derive(Clone, Copy, Default)]
struct Host {
    tag: u32,
    /// Its queues that count as its load.
    bulk: u32,
}

/// Hosts, in places that they are hashed to.
#[derive(Clone)]
pub(super) struct Hosts {
    sets: Sets,
    hosts: Vec<Host>,
}

impl Hosts {
    const PLACES: u32 = 1024;
    const WAYS: u32 = 8;

    pub(super) fn new(salt: u64) -> Self {
        Self { sets: Sets::new(Self::PLACES, Self::WAYS, salt), hosts: vec![Host::default(); Self::PLACES as usize] }
    }

    /// True if the place is still this host's. A host has one at most, so it is then the one that [`Hosts::place`] finds.
    #[inline(always)]
    pub(super) fn has(&self, place: u32, tag: u32) -> bool {
        self.hosts[place as usize].tag == tag
    }

    /// The place of a host: in its set the one that was its last, or else one without load, or else its home.
    pub(super) fn place(&mut self, tag: u32) -> u32 {
        let host = |place: u32| &self.hosts[place as usize];
        let place = self.sets.place(tag, |place| host(place).tag == tag, |place| host(place).bulk == 0);
        self.hosts[place as usize].tag = tag;
        place
    }

    /// Queues that count as load of the host at this place.
    pub(super) fn bulk(&self, place: u32) -> i64 {
        self.hosts[place as usize].bulk.into()
    }

    pub(super) fn gain_bulk(&mut self, place: u32) {
        self.hosts[place as usize].bulk += 1;
    }

    pub(super) fn lose_bulk(&mut self, place: u32) {
        self.hosts[place as usize].bulk -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remainder_is_that_of_a_division() {
        for places in [1, 2, 3, 7, 1000, 1024, 65_535, 65_536] {
            let sets = Sets::new(places, 1, 0);
            for number in (0..100_000).chain(u32::MAX - 100_000..=u32::MAX) {
                assert_eq!(sets.remainder(number.into()), number % places, "{number} of {places}");
            }
        }
    }

    /// A host keeps its place while its tag is there, with load or without, and in a set that is full.
    #[test]
    fn a_host_that_is_at_a_place_is_found_there() {
        let mut hosts = Hosts::new(7);
        let mut placed = Vec::new();
        for tag in (0..5000).map(|i| i * 7919 % 3000) {
            let place = hosts.place(tag);
            if tag % 3 == 0 {
                hosts.gain_bulk(place);
            }
            placed.push((tag, place));
            let known = placed.iter().filter(|(tag, place)| hosts.has(*place, *tag)).copied().collect::<Vec<_>>();
            for (tag, place) in known.into_iter().step_by(97) {
                assert_eq!(hosts.place(tag), place);
            }
        }
    }
}
