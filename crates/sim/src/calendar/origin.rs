//! The order of the events of one instant.
//!
//! Events come in the order in which they were pushed: by the simulated time of the push; where that is the same, by when the
//! event was pushed that pushed them; and where that is the same, by the origin. What one has pushed comes in the
//! order in which it did. So nobody counts the pushes of all: what is computed ahead, or on another thread, comes as it would
//! otherwise.

/// The origin of an event, among all others of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EventOrigin(u32);

impl EventOrigin {
    pub(super) const BITS: u32 = 27;
    const MOST: u32 = 1 << 16;
    const LINKS: u32 = 2;
    const CLIENTS: u32 = Self::MOST + Self::LINKS;
    const FLOWS: u32 = 1 << 22;
    const OF_FLOW: u32 = 4;
    /// Of a flow's origins, that of its sender's timers.
    const TIMER: u32 = 1;
    const WIRES: u32 = (1 << Self::BITS) - 2 * Self::MOST;
    const TRANSMITTERS: u32 = Self::WIRES + Self::MOST;

    /// The end of the warm-up.
    pub const WARM_UP: Self = Self(0);
    /// Looks for the time series.
    pub const SAMPLE: Self = Self(1);

    /// The origin of what happens to a link by itself: changes of its rate, updates of its scheme.
    pub fn link(link: u32) -> Self {
        Self(Self::LINKS + link)
    }

    /// The requests of a client.
    pub fn client(client: u32) -> Self {
        Self(Self::CLIENTS + client)
    }

    /// The start and the end of a flow's application.
    pub fn application(flow: u32) -> Self {
        Self(Self::FLOWS + Self::OF_FLOW * flow)
    }

    /// The retransmission timer of a flow's sender.
    #[inline]
    pub fn timer(flow: u32) -> Self {
        Self(Self::FLOWS + Self::OF_FLOW * flow + Self::TIMER)
    }

    /// Segments and datagrams of a flow's sender.
    #[inline]
    pub fn sender(flow: u32) -> Self {
        Self(Self::FLOWS + Self::OF_FLOW * flow + 2)
    }

    /// ACKs of a flow's receiver.
    #[inline]
    pub fn receiver(flow: u32) -> Self {
        Self(Self::FLOWS + Self::OF_FLOW * flow + 3)
    }

    /// Packets that have left a link.
    #[inline]
    pub fn wire(link: u32) -> Self {
        Self(Self::WIRES + link)
    }

    /// The ends of a link's transmissions.
    #[inline]
    pub fn transmitter(link: u32) -> Self {
        Self(Self::TRANSMITTERS + link)
    }

    /// The origin as a number below 2 to the power of [`EventOrigin::BITS`].
    #[inline(always)]
    pub(super) fn bits(self) -> u32 {
        self.0
    }

    /// The place with this number.
    #[inline]
    pub(super) fn of_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// The flow that has this place, and whether its timers have it or else its application.
    #[inline]
    pub fn flow(self) -> (u32, bool) {
        let number = self.0 - Self::FLOWS;
        (number / Self::OF_FLOW, number % Self::OF_FLOW == Self::TIMER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_have_the_same_place() {
        let most = (EventOrigin::WIRES - EventOrigin::FLOWS) / EventOrigin::OF_FLOW - 1;
        let last = EventOrigin::MOST - 1;
        let places = [
            EventOrigin::WARM_UP,
            EventOrigin::SAMPLE,
            EventOrigin::link(0),
            EventOrigin::link(last),
            EventOrigin::client(0),
            EventOrigin::client(1 << 20),
            EventOrigin::application(0),
            EventOrigin::timer(0),
            EventOrigin::sender(0),
            EventOrigin::receiver(0),
            EventOrigin::application(1),
            EventOrigin::receiver(most),
            EventOrigin::wire(0),
            EventOrigin::wire(last),
            EventOrigin::transmitter(0),
            EventOrigin::transmitter(last),
        ];
        assert!(places.is_sorted_by(|a, b| a < b));
        assert!(places.iter().all(|place| place.bits() < 1 << EventOrigin::BITS));
        assert!(most >= 1 << 24);
        assert_eq!((EventOrigin::timer(most).flow(), EventOrigin::application(7).flow()), ((most, true), (7, false)));
    }
}
