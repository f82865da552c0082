//! Places that flows and hosts are hashed to.

/// Places in sets; what hashes to a place may take any of its set.
#[derive(Clone)]
pub(super) struct Sets {
    places: u32,
    ways: u32,
    salt: u64,
}

impl Sets {
    /// So many places in sets of `ways`; 1 is a plain hash. `salt` chooses the hash.
    pub(super) fn new(places: u32, ways: u32, salt: u64) -> Self {
        Self { places, ways, salt }
    }

    /// The place that a number is hashed to.
    pub(super) fn home(&self, number: u32) -> u32 {
        let scattered = (u64::from(number) ^ self.salt).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((scattered ^ scattered >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93) >> 32) as u32 % self.places
    }

    /// The place of what has this number, looked for from its home on: the one in the set that is its own already, or else
    /// one that is free, or else its home.
    #[inline]
    pub(super) fn place(&self, number: u32, is_own: impl Fn(u32) -> bool, is_free: impl Fn(u32) -> bool) -> u32 {
        let home = self.home(number);
        if self.ways == 1 || is_own(home) {
            return home;
        }
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
