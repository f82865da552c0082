//! Marks, as Google's BBRv3 answers them.

/// Weight of a round trip in the smoothed share of marks.
const GAIN: f64 = 1.0 / 16.0;
/// Cut for that share.
const FACTOR: f64 = 1.0 / 3.0;
/// The share that is too much, and round trips with it that end startup.
const THRESH: f64 = 0.5;
const FULL_ROUNDS: u32 = 2;

/// Counts of marks.
#[derive(Clone, Debug)]
pub(super) struct EcnCounts {
    /// Smoothed share of marks.
    pub alpha: f64,
    pub delivered: u32,
    marked: u32,
    /// Share of marks in the last round trip.
    share: f64,
    /// There were marks in this round trip.
    pub in_round: bool,
    /// Round trips in a row with too many.
    rounds: u32,
}

impl EcnCounts {
    /// Before the first ACK.
    pub const NONE: Self = Self { alpha: 1.0, delivered: 0, marked: 0, share: 0.0, in_round: false, rounds: 0 };

    /// An ACK tells of so many segments delivered, and marked.
    pub fn update(&mut self, delivered: u32, marked: u32, round_has_begun: bool) {
        self.delivered += delivered;
        self.marked += marked;
        self.in_round |= marked > 0;
        if round_has_begun {
            self.share = (f64::from(self.marked) / f64::from(self.delivered)).min(1.0);
            self.alpha += GAIN * (self.share - self.alpha);
            (self.delivered, self.marked) = (0, 0);
            self.rounds = if self.share >= THRESH { self.rounds + 1 } else { 0 };
        }
    }

    /// The share of the volume that is left after a round trip with marks.
    pub fn kept(&self) -> f64 {
        1.0 - FACTOR * self.alpha
    }

    pub fn is_too_much(&self) -> bool {
        self.in_round && self.share > THRESH
    }

    pub fn ends_startup(&self) -> bool {
        self.rounds >= FULL_ROUNDS
    }
}
