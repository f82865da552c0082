//! The growth of a window that is not used up (draft-ietf-ccwg-ratelimited-increase-11, section 3).

use crate::cc::Window;
use crate::params::TcpParams;
use crate::sender::Tcb;

/// The use of the window since it was last reduced.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WindowUse {
    /// maxFS, segments.
    max_flight: u32,
    /// The window when that was last looked at: if it is smaller now, it has been reduced.
    cwnd: f64,
}

impl Tcb {
    /// An ACK that found `flight` segments outstanding has let the window grow from `before`: takes back what the draft does not
    /// allow. What the window was before stays, as in the draft's example; its section 3 would cut that, too.
    #[cold]
    #[inline(never)]
    pub(crate) fn limit_growth(&mut self, before: Window, flight: u32, params: &TcpParams) {
        if !params.rate_limited_increase {
            return;
        }
        let used = &mut self.window_use;
        if used.cwnd == 0.0 {
            used.max_flight = params.initial_window.0 as u32;
        } else if before.cwnd < used.cwnd {
            used.max_flight = 0;
        }
        used.max_flight = used.max_flight.max(flight);
        let most = if before.cwnd < before.ssthresh { 2 * used.max_flight } else { used.max_flight + 1 };
        let window = &mut self.cc.window;
        window.cwnd = window.cwnd.min(f64::from(most)).max(before.cwnd.min(window.cwnd));
        used.cwnd = window.cwnd;
    }
}
