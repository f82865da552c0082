//! Times at which a link begins no transmission.

use aqmlab_core::{Span, Stream, Time};
use aqmlab_scenario::Interruptions;

/// The interruption that there is, or the next one.
#[derive(Clone)]
pub struct Interruption {
    law: Interruptions,
    /// How many there have been.
    count: usize,
    begin: Time,
    end: Time,
    rng: Stream,
}

/// A run must move on.
const SHORTEST: Span = Span::from_millis(1);

impl Interruption {
    /// Before the first one.
    pub fn new(law: &Interruptions, mut rng: Stream) -> Self {
        let begin = Time::ZERO + law.first.unwrap_or_else(|| law.every.draw(0, &mut rng));
        let end = begin + law.hold.draw(0, &mut rng);
        Self { law: law.clone(), count: 0, begin, end, rng }
    }

    /// The end of the interruption that there is now, if there is one.
    pub fn until(&mut self, now: Time) -> Option<Time> {
        while now >= self.end {
            self.count += 1;
            let next = self.begin + self.law.every.draw(self.count, &mut self.rng).max(SHORTEST);
            self.begin = next.max(self.end);
            self.end = self.begin + self.law.hold.draw(self.count, &mut self.rng);
        }
        (now >= self.begin).then_some(self.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aqmlab_scenario::Distribution;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn interruptions_come_each_so_often_and_hold_so_long() {
        let fixed = |ms| Distribution::Fixed(Span::from_millis(ms));
        let law = Interruptions { every: fixed(15), hold: fixed(3), first: Some(Span::from_millis(12)) };
        let mut interruption = Interruption::new(&law, Stream::new(1, "interruption", 0));
        let seen = [0, 11, 12, 14, 15, 26, 27, 29, 30, 57, 100].map(|at| interruption.until(ms(at)));
        // 12 to 15, 27 to 30, 42 to 45, 57 to 60, 72, 87, 102.
        let expected = [None, None, Some(15), Some(15), None, None, Some(30), Some(30), None, Some(60), None];
        assert_eq!(seen, expected.map(|end| end.map(ms)));
    }
}
