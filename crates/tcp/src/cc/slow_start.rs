//! The slow starts that a law can choose from, by the one parameter `slow_start`.

use super::hystart::HyStart;
use super::hystart_plus_plus::HyStartPlusPlus;
use super::search::{Search, SearchStep};
use super::{Facts, Window};
use aqmlab_core::choice;

choice! {
    /// How a connection finds its first window.
    pub enum SlowStartChoice {
        /// It doubles in a round trip until a loss or mark (RFC 5681, section 3.1).
        Classic = "classic",
        /// It ends when ACKs come for longer than half of a round trip or round trips get longer (Ha & Rhee 2011; Linux).
        HyStart = "hystart",
        /// Where round trips get longer it goes on at a quarter of its pace, for five of them (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// It ends when less arrives than was sent a round trip before (draft-chung-ccwg-search-09).
        Search = "search",
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
}

impl SlowStart {
    pub fn new(choice: SlowStartChoice) -> Self {
        match choice {
            SlowStartChoice::Classic => Self::Classic,
            SlowStartChoice::HyStart => Self::HyStart(HyStart::default()),
            SlowStartChoice::HyStartPlusPlus => Self::HyStartPlusPlus(HyStartPlusPlus::default()),
            SlowStartChoice::Search => Self::Search(Box::default()),
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
                if window.cwnd < window.ssthresh && hystart.ends_slow_start(window.cwnd, ack) {
                    window.ssthresh = window.cwnd;
                }
            }
            Self::HyStartPlusPlus(hystart) if window.cwnd < window.ssthresh => {
                hystart.on_ack(window, ack, is_used);
                return true;
            }
            Self::HyStartPlusPlus(_) => {}
            Self::Search(search) => match search.on_ack(window, ack) {
                SearchStep::Grows => {}
                SearchStep::Drains => return true,
                SearchStep::Over => {
                    *self = Self::Classic;
                    return true;
                }
            },
        }
        let is_slow = window.cwnd < window.ssthresh;
        if is_slow && is_used {
            window.cwnd += ack.credit();
        }
        is_slow
    }

    /// HyStart++ and SEARCH look for the end of the first slow start only; HyStart looks at each.
    pub fn on_congestion(&mut self) {
        if !matches!(self, Self::HyStart(_)) {
            *self = Self::Classic;
        }
    }

    /// HyStart forgets what it has measured, as Linux does (`bictcp_hystart_reset`).
    pub fn on_timeout(&mut self) {
        if let Self::HyStart(hystart) = self {
            *hystart = HyStart::default();
        }
    }
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
            slow_start.on_congestion();
            matches!(slow_start, SlowStart::Classic)
        };
        assert_eq!(["classic", "hystart", "hystart++", "search"].map(after), [true, false, true, true]);
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
