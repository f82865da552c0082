//! Parts that few senders have, gathered in one word: the ACK of an ordinary sender asks for several of them at once.

use crate::cc::{AnyLaw, Congestion};
use crate::params::{IdleWindow, TcpParams};

/// Parts of a sender beyond window, timer and loss recovery; known when it is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extras(u8);

impl Extras {
    /// The law has an adapter.
    pub const LAW: u8 = 1;
    /// The law takes feedback of ACKs.
    pub const FEEDBACK: u8 = 1 << 1;
    /// The law sets a pace.
    pub const PACING: u8 = 1 << 2;
    /// The law alone sets the window.
    pub const OWN_WINDOW: u8 = 1 << 3;
    /// The law asks whether all is in order.
    pub const ORDER: u8 = 1 << 4;
    /// The receiver advertises its window (RFC 9840).
    pub const ADVERTISED: u8 = 1 << 5;
    /// The queue of its host is kept short.
    pub const HOST_QUEUE: u8 = 1 << 6;
    /// A window that is not used up is validated (RFC 7661), or grows less.
    pub const WINDOW_USE: u8 = 1 << 7;

    /// Those of a sender whose host keeps no queue short.
    pub fn new(cc: &Congestion, params: &TcpParams) -> Self {
        let mut extras = Self(0);
        extras.set(Self::WINDOW_USE, params.rate_limited_increase || params.after_idle == IdleWindow::NewCwv);
        if let AnyLaw::Other(law) = &cc.law {
            extras.set(Self::LAW, true);
            extras.set(Self::FEEDBACK, law.needs.needs_feedback());
            extras.set(Self::PACING, law.needs.pacing);
            extras.set(Self::OWN_WINDOW, law.needs.owns_window);
            extras.set(Self::ORDER, law.needs.order);
            extras.set(Self::ADVERTISED, law.needs.receiver_target.is_some());
        }
        extras
    }

    /// One of these is there.
    #[inline]
    pub fn has(self, any: u8) -> bool {
        self.0 & any != 0
    }

    pub fn set(&mut self, extra: u8, is_there: bool) {
        self.0 = self.0 & !extra | if is_there { extra } else { 0 };
    }
}
