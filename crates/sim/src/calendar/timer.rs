//! Events of which a calendar holds no more than a number.

/// An event that needs no more than the number of a flow, of which many pend for long: every flow has one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Timer {
    /// The retransmission timer of a flow may be due.
    Retransmission(u32),
    /// A flow's application starts.
    Open(u32),
}

impl Timer {
    /// The timer as a number of 26 bits, of a flow below 2^25.
    #[inline]
    pub fn bits(self) -> u32 {
        match self {
            Self::Retransmission(flow) => flow << 1,
            Self::Open(flow) => flow << 1 | 1,
        }
    }

    /// The timer with this number.
    #[inline]
    pub fn of_bits(bits: u32) -> Self {
        if bits & 1 == 0 { Self::Retransmission(bits >> 1) } else { Self::Open(bits >> 1) }
    }
}

/// An event that can be made of a timer.
pub trait FromTimer<D> {
    /// The event of a timer with what else there is to know.
    fn from_timer(timer: Timer, data: D) -> Self;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_written_as_it_is_read() {
        for timer in
            [Timer::Retransmission(0), Timer::Open(0), Timer::Retransmission((1 << 25) - 1), Timer::Open((1 << 25) - 1)]
        {
            assert!(timer.bits() < 1 << 26);
            assert_eq!(Timer::of_bits(timer.bits()), timer);
        }
    }
}
