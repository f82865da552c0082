//! Simulated time in whole picoseconds: round rates are whole picoseconds per byte, and 2^64 ps is 213 days.

use std::fmt;
use std::ops::{Add, AddAssign};

const PS_PER_S: f64 = 1e12;

/// An instant: picoseconds since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span(pub u64);

impl Time {
    /// The start of every run.
    pub const ZERO: Time = Time(0);
    /// Later than any event.
    pub const NEVER: Time = Time(u64::MAX);

    /// Seconds since the start of the run.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S
    }

    /// Time passed since `earlier`; zero if `earlier` lies ahead.
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// So many picoseconds.
    pub const fn from_picos(ps: u64) -> Span {
        Span(ps)
    }

    /// So many nanoseconds.
    pub const fn from_nanos(ns: u64) -> Span {
        Span(ns * 1_000)
    }

    /// So many microseconds.
    pub const fn from_micros(us: u64) -> Span {
        Span(us * 1_000_000)
    }

    /// So many milliseconds.
    pub const fn from_millis(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }

    /// So many whole seconds.
    pub const fn from_secs(s: u64) -> Span {
        Span(s * 1_000_000_000_000)
    }

    /// The nearest span to `seconds` (not negative; saturates at 213 days).
    pub fn from_seconds(seconds: f64) -> Span {
        let picos = seconds * PS_PER_S;
        let whole = picos as u64;
        Span(whole.saturating_add(u64::from(picos - whole as f64 >= 0.5))) // as `round`, without a call
    }

    /// Length in seconds.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / PS_PER_S
    }
}

/// Saturates: what lies beyond the clock never comes.
impl Add<Span> for Time {
    type Output = Time;
    fn add(self, span: Span) -> Time {
        Time(self.0.saturating_add(span.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} s", self.seconds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constructors_differ_by_factors_of_a_thousand() {
        let spans = [
            Span::from_picos(2_000_000_000_000),
            Span::from_nanos(2_000_000_000),
            Span::from_micros(2_000_000),
            Span::from_millis(2_000),
            Span::from_secs(2),
        ];
        assert_eq!(spans, [Span::from_seconds(2.0); 5]);
    }

    #[test]
    fn seconds_become_the_nearest_picosecond() {
        let picos = [0.49e-12, 0.5e-12, 1.49e-12, 1.5e-12, -1.0, f64::NAN, 1e300];
        assert_eq!(picos.map(|seconds| Span::from_seconds(seconds).0), [0, 1, 1, 2, 0, 0, u64::MAX]);
        for seconds in [1e-9 / 3.0, 0.1, 2.0 / 3.0, 4503.599627370497, 9007.199254740993, 1.8e7] {
            assert_eq!(Span::from_seconds(seconds).0, (seconds * PS_PER_S).round() as u64, "{seconds} s");
        }
    }
}
