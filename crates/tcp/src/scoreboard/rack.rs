//! The memory of a sender with RACK (RFC 8985).
//!
//! ```text
//!   outstanding  the segments outstanding: when each was sent last, what has become of it (section 5)
//!   detection    which of them are lost (section 6)
//!   prr          proportional rate reduction (RFC 9937)
//!   undo         the reduction that may have been needless
//!   usage        the use of the window
//!   writes       the ends of what the application has written
//! ```

pub(super) mod detection;
mod outstanding;
pub(super) mod prr;
pub(super) mod undo;
mod usage;
mod writes;

use crate::cc::Window;
use crate::linux;
use detection::Detection;
use outstanding::OutstandingSegments;
use prr::Prr;
use undo::Undo;
use usage::Usage;
use writes::Writes;

/// The event that the timer is waiting for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Timer {
    #[default]
    Retransmission,
    /// The reordering window of the next segment is over.
    Reordering,
    /// A tail loss probe.
    Probe,
}

/// The state of a sender with RACK.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rack {
    pub board: OutstandingSegments,
    pub estimator: linux::Estimator,
    pub detection: Detection,
    pub prr: Prr,
    pub timer: Timer,
    /// The probe that is out.
    pub probe: Option<Probe>,
    pub undo: Undo,
    /// Timeouts since something was last acknowledged (`icsk_retransmits`).
    pub timeouts: u32,
    pub usage: Usage,
    pub writes: Writes,
    /// The first segment that ACKs have offered no room for; 0 where they do not say. It is not taken back (RFC 9293, section 3.8.6).
    pub rwnd_edge: u32,
}

impl Rack {
    /// A loss reduces the window while `hole` is the first segment outstanding; `prior` is what it was. If nothing that was sent again
    /// is outstanding, the next one will be the first (`tcp_retrans_stamp_cleanup`).
    pub fn undo_from(&self, hole: u32, prior: Option<Window>) -> Undo {
        let resent = self.board.resent();
        let since = self.undo.resent_since.filter(|_| resent > 0 || self.board.was_first_resent());
        Undo::new(hole, prior, resent, since)
    }
}

/// A probe that is out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// TLP.end_seq: one past the highest segment sent, the probe included.
    pub end_seq: u32,
    /// TLP.is_retrans: it was a segment sent before.
    pub is_retrans: bool,
}
