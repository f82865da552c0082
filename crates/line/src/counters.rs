//! Counts of a line.

/// Counts of a line since its start: `pushed` = `delivered` + `dropped()` + `held`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that have entered.
    pub pushed: u64,
    /// Packets taken out at the other end.
    pub delivered: u64,
    /// Packets dropped because they found no room.
    pub full: u64,
    /// Packets dropped by the scheme, at arrival or later.
    pub scheme: u64,
    /// Packets that had joined and were dropped to make room for others.
    pub evicted: u64,
    /// Packets lost on the wire.
    pub lost: u64,
    /// Packets marked by the queue.
    pub marked: u64,
    /// Packets within: waiting, being sent, on the wire, or due and not taken yet.
    pub held: u64,
    /// Those of them that wait in the queue.
    pub waiting: u64,
}

impl Counters {
    /// Packets dropped for whatever reason.
    pub fn dropped(&self) -> u64 {
        self.full + self.scheme + self.evicted + self.lost
    }
}
