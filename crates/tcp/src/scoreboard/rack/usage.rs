//! The use of the window. Names in parentheses are Linux's (net/ipv4/tcp_output.c).

use crate::cc::Window;
use aqmlab_core::Time;

/// The use of the window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    /// It was used up in this round trip, which ends when `until` is acknowledged (`is_cwnd_limited`, `cwnd_usage_seq`).
    pub is_limited: bool,
    pub until: u32,
    /// Most segments outstanding in it (`max_packets_out`).
    pub most: u32,
    /// Time at which it was last used up or decayed, and the most segments outstanding since (`snd_cwnd_stamp`, `snd_cwnd_used`).
    pub limited_at: Time,
    pub used: u32,
    /// Time at which something was last sent (`lsndtime`).
    pub sent_at: Time,
    /// Segments that the window allows wait for a whole burst.
    pub waits: bool,
}

impl Usage {
    /// The window may grow: it is used up, or in slow start by half (`tcp_is_cwnd_limited`).
    pub fn lets_grow(&self, window: &Window) -> bool {
        self.is_limited || window.cwnd < window.ssthresh && window.cwnd < f64::from(2 * self.most)
    }

    pub fn sent_at(&self) -> Time {
        self.sent_at
    }

    /// Segments that count as outstanding where `flight` are: what waits for a whole burst uses the window.
    pub fn used(&self, flight: u32, window: &Window) -> u32 {
        if self.waits { flight.max(window.cwnd as u32) } else { flight }
    }

    /// Restarts the count of the time for which the window is not used up.
    pub fn restart(&mut self, now: Time) {
        (self.limited_at, self.used) = (now, 0);
    }
}
