//! The slow starts that a law can choose from, by the one parameter `slow_start`.

use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::rapid_start::RapidStart;
use super::search::{Search, SearchStep};
use super::{CongestionEvent, Facts, LostSegment, Needs, Window};
use aqmlab_core::choice;

choice! {
    /// A connection's way to its first window.
    pub enum SlowStartChoice {
        /// It doubles in a round trip until a loss or mark (RFC 5681, section 3.1).
        Classic = "classic",
        /// It ends when ACKs come for longer than half of a round trip or round trips get longer (Ha & Rhee 2011; Linux).
        HyStart = "hystart",
        /// It goes on at a quarter of its pace where round trips get longer, for five of them (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// It ends when less arrives than was sent a round trip before (draft-chung-ccwg-search-09).
        Search = "search",
        /// It triples while no queue is to be seen, and gives back what it has overshot by (draft-kazuho-ccwg-rapid-start).
        Rapid = "rapid",
    }
}

impl SlowStartChoice {
    /// The needs of a law that has these without it.
    pub fn needs(self, of_law: Needs) -> Needs {
        Needs { rate_samples: of_law.rate_samples || self == Self::Rapid, ..of_law }
    }
}

/// The slow start of a sender.
#[derive(Clone, Debug, Default)]
pub(super) enum SlowStart {
    #[default]
    Classic,
    HyStart(HyStart),
    HyStartPlusPlus(HyStartPlusPlus),
    Search(Box<Search>),
    Rapid(Box<RapidStart>),
}

impl SlowStart {
    pub fn new(choice: SlowStartChoice) -> Self {
        match choice {
            SlowStartChoice::Classic => Self::Classic,
            SlowStartChoice::HyStart => Self::HyStart(HyStart::default()),
            SlowStartChoice::HyStartPlusPlus => Self::HyStartPlusPlus(HyStartPlusPlus::default()),
            SlowStartChoice::Search => Self::Search(Box::default()),
            SlowStartChoice::Rapid => Self::Rapid(Box::default()),
        }
    }

    /// An ACK of new data outside recovery. True if slow start has answered it: the window has grown if `is_used` allows it, or
    /// is on its way down from what slow start has overshot by. False if it is congestion avoidance's.
    #[inline]
    pub fn on_ack(&mut self, window: &mut Window, ack: &Facts, is_used: bool) -> bool {
        match self {
            Self::Classic => {}
            Self::HyStart(hystart) => {
                hystart.measure(ack);
                if window.cwnd < window.ssthresh && hystart.ends_slow_start(window, ack) {
                    window.ssthresh = window.cwnd;
                }
            }
            Self::HyStartPlusPlus(hystart) if window.cwnd < window.ssthresh => {
                hystart.on_ack(window, ack, is_used);
                return true;
            }
            Self::HyStartPlusPlus(_) | Self::Rapid(_) => {}
            Self::Search(search) => match search.on_ack(window, ack) {
                SearchStep::Grows => {}
                SearchStep::Drains => return true,
                SearchStep::Over => {
                    *self = Self::Classic;
                    return true;
                }
            },
        }
        if let Self::Rapid(rapid) = self {
            if !rapid.is_recovering() && window.cwnd < window.ssthresh {
                rapid.on_ack(window, ack, is_used);
                return true;
            }
            if rapid.is_recovering() {
                *self = Self::Classic;
            }
        }
        let is_slow = window.cwnd < window.ssthresh;
        if is_slow && is_used {
            window.cwnd += ack.credit();
        }
        is_slow
    }

    /// Any ACK, to a law that asks for rate samples.
    pub fn on_feedback(&mut self, window: &mut Window, ack: &Facts) {
        if let Self::Rapid(rapid) = self {
            rapid.on_feedback(window, ack);
        }
    }

    /// A segment is found lost.
    pub fn on_lost(&mut self, lost: &LostSegment) {
        if let Self::Rapid(rapid) = self {
            rapid.on_lost(lost);
        }
    }

    /// The threshold after a congestion event that leaves `beta`, if slow start sets it.
    pub fn threshold(&self, event: CongestionEvent, beta: f64, window: &Window) -> Option<f64> {
        match self {
            Self::Rapid(rapid) if begins_recovery(rapid, event, window) => Some(RapidStart::threshold(beta, window)),
            _ => None,
        }
    }

    /// All but HyStart are for the first slow start only; Rapid Start sets the window in the recovery after it, too.
    pub fn on_congestion(&mut self, event: CongestionEvent, beta: f64, window: &Window) {
        match self {
            Self::HyStart(_) => {}
            Self::Rapid(rapid) if begins_recovery(rapid, event, window) => rapid.begin_recovery(beta, window),
            _ => *self = Self::Classic,
        }
    }

    /// Recovery is over. True if it was Rapid Start's, whose window says what the path holds.
    pub fn on_recovered(&mut self) -> bool {
        let is_rapid = matches!(self, Self::Rapid(rapid) if rapid.is_recovering());
        if is_rapid {
            *self = Self::Classic;
        }
        is_rapid
    }

    /// HyStart forgets what it has measured, as Linux does (`bictcp_hystart_reset`).
    pub fn on_timeout(&mut self) {
        if let Self::HyStart(hystart) = self {
            *hystart = HyStart::default();
        }
    }
}

/// It is the event that ends the first slow start.
fn begins_recovery(rapid: &RapidStart, event: CongestionEvent, window: &Window) -> bool {
    event != CongestionEvent::Timeout && !rapid.is_recovering() && window.cwnd < window.ssthresh
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cc::LawChoice;
    use aqmlab_core::Quantity;

    #[test]
    fn every_slow_start_doubles_at_first_and_only_what_is_used() {
        for word in SlowStartChoice::CHOICES {
            let mut slow_start = SlowStart::new(SlowStartChoice::parse(word).unwrap());
            let mut window = Window { cwnd: 10.0, ssthresh: 100.0 };
            let ack = Facts { acked: 2, byte_counting: true, ..Facts::default() };
            assert!(slow_start.on_ack(&mut window, &ack, true), "{word}");
            assert_eq!(window, Window { cwnd: 12.0, ssthresh: 100.0 }, "{word}");
            assert!(slow_start.on_ack(&mut window, &ack, false), "{word}");
            assert_eq!(window.cwnd, 12.0, "{word}");
            let mut avoidance = Window { cwnd: 100.0, ssthresh: 100.0 };
            assert!(!slow_start.on_ack(&mut avoidance, &ack, true), "{word}");
            assert_eq!(avoidance.cwnd, 100.0, "{word}");
        }
    }

    #[test]
    fn a_congestion_event_ends_the_search_but_for_hystart() {
        let after = |word| {
            let mut slow_start = SlowStart::new(SlowStartChoice::parse(word).unwrap());
            slow_start.on_congestion(CongestionEvent::Loss, 0.5, &Window { cwnd: 9.0, ssthresh: 9.0 });
            matches!(slow_start, SlowStart::Classic)
        };
        assert_eq!(["classic", "hystart", "hystart++", "search", "rapid"].map(after), [true, false, true, true, true]);
    }

    #[test]
    fn every_law_with_a_classic_slow_start_can_choose() {
        for law in ["reno", "cubic", "dctcp", "westwood", "abe"] {
            for word in SlowStartChoice::CHOICES {
                let choice = LawChoice::parse("tcp", &format!("{law}:slow_start={word}")).unwrap();
                let needs = !matches!(*word, "classic" | "hystart");
                assert_eq!(choice.slow_start_that_needs_rtts(), needs.then_some(*word), "{law}");
            }
        }
    }
}
