//! The errors of calls.

use aqmlab_core::{Problem, Problems, Span, Time};

/// A call that a line refuses; the line stays as it was.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// A description, scheme or name.
    #[error(transparent)]
    Input(#[from] Problems),
    /// Time goes backwards.
    #[error("now: {now} ns is before {last} ns, the time of an earlier call")]
    Backwards {
        /// The time of this call.
        now: u64,
        /// The time of the call before.
        last: u64,
    },
    /// Time is beyond 213 days, what a line can count.
    #[error("now: {now} ns is out of range: must lie in 0 ..= {} ns", LineError::LAST)]
    Late {
        /// The time of this call.
        now: u64,
    },
    /// Nothing is due yet.
    #[error("now: nothing is due at {now} ns; {}", due_text(*.due))]
    NotDue {
        /// The time of this call.
        now: u64,
        /// The time of the next event, if there is one.
        due: Option<u64>,
    },
    /// The length of a packet.
    #[error("length: {length} bytes is out of range: must lie in 1 ..= {} bytes", LineError::LONGEST)]
    Length {
        /// The length.
        length: u32,
    },
    /// The DSCP of a packet.
    #[error("dscp: {dscp} is out of range: must lie in 0 ..= 63")]
    Dscp {
        /// The DSCP.
        dscp: u8,
    },
}

fn due_text(due: Option<u64>) -> String {
    due.map_or("the line is empty".to_string(), |due| format!("the next event is at {due} ns"))
}

impl LineError {
    /// The last time, ns: 2^64 ps.
    pub const LAST: u64 = u64::MAX / 1000;
    /// The longest packet, bytes.
    pub const LONGEST: u32 = u16::MAX as u32;

    /// The time of a call; refuses one before that of the `last`, or beyond all.
    #[inline]
    pub(crate) fn check(now: u64, last: u64) -> Result<Time, Self> {
        match now {
            now if now < last => Err(Self::Backwards { now, last }),
            now if now > Self::LAST => Err(Self::Late { now }),
            now => Ok(Time::ZERO + Span::from_nanos(now)),
        }
    }
}

impl From<Problem> for LineError {
    fn from(problem: Problem) -> Self {
        Self::Input(problem.into())
    }
}

/// With the argument as path.
impl From<LineError> for Problems {
    fn from(error: LineError) -> Self {
        let text = error.to_string();
        match (error, text.split_once(": ")) {
            (LineError::Input(problems), _) => problems,
            (_, Some((path, reason))) => Problem::new(path, reason).into(),
            (_, None) => Problem::new("", text).into(),
        }
    }
}
