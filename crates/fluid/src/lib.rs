//! The fluid model of TCP flows over one queue, under any scheme that can say with what probability it signals.
//!
//! Windows and the queue are real numbers that follow delay differential equations (Misra, Gong & Towsley, SIGCOMM
//! 2000, eqs. (2) to (5)). For class i of `N_i` flows with round-trip propagation `T_i`, a queue of q packets on a link
//! of C packets/s:
//!
//! ```text
//!   R_i(t)  = T_i + q(t)/C
//!   W_i'(t) = 1/R_i(t) - W_i(t)/2 * p(s) * W_i(s)/R_i(s)          s + R_i(s) = t
//!   q'(t)   = sum_i N_i W_i(t)/R_i(t) * (1 - d) - C               d = p(t) where signals are drops, 0 where marks
//! ```
//!
//! with 1 <= W <= the receiver's window and 0 <= q <= buffer. What the buffer has no room for is lost, and counts into
//! p. There is no slow start, no timeout and no burst: flows start with a window of 1 segment that grows by one a round
//! trip, and the flows of a class share one window, which has no sawtooth. p comes from the scheme's own code, which meets the fluid's
//! packets and queue as if they were real ([`host`]).
//!
//! ```text
//!   scenario  the model of a scenario under a scheme, and its summary
//!   signal    the share of packets that a scheme signals
//!   host      the host of a scheme, which shows it the fluid's queue
//!   history   the past that delays reach back to
//!   solve     the equations, by Runge-Kutta with a fixed step
//!   step      the length of its step
//!   summary   means and oscillation of a trajectory
//! ```

pub mod history;
pub mod host;
pub mod scenario;
pub mod signal;
pub mod solve;
mod step;
pub mod summary;

pub use scenario::{Request, Solution};
pub use signal::SignalShare;
pub use solve::{Trajectory, run};
pub use step::StepError;
pub use summary::{Difference, Oscillation, Summary, difference};

use aqmlab_core::problem::unknown;

/// A class of flows alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// Flows.
    pub count: f64,
    /// Round trip without queueing, s.
    pub rtt: f64,
    /// Size of a segment on the wire, in packets of the queue's mean size.
    pub size: f64,
    /// Receiver's window, segments.
    pub window: f64,
    /// Their start, s.
    pub start: f64,
    /// Their end, s; infinite for never.
    pub stop: f64,
}

impl Class {
    /// They send at time `t`.
    pub fn is_active(&self, t: f64) -> bool {
        self.start <= t && t < self.stop
    }
}

/// The dynamics of the mean window of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum WindowModel {
    /// As published: it grows by 1 a round trip, and each signal halves it. At rest p = 2 / W^2.
    #[default]
    Classic,
    /// With what the classic form leaves out. At rest p = 1 / ((W + 1/2) * (SPREAD/2 * (W + 1/2) + 1)).
    ///
    /// - Large windows meet more signals than small ones, so that each takes more than half of the *mean* window:
    ///   [`SPREAD`] times as much.
    /// - A window does not grow in the round trip after a signal (RFC 3168, 6.1.2; RFC 6675, 5), which costs 1 segment.
    /// - A sender sends whole segments: with W under way on average its window is W + 1/2, and it grows by
    ///   W / (W + 1/2) a round trip.
    ///
    /// Signals that meet the same window are still counted one by one.
    Refined,
}

/// Mean of W^2 over the square of the mean of W, for a window that grows by 1 a round trip and is halved by signals that
/// are independent of each other, so that their rate goes as W (Ott, Kemperman & Mathis 1996: mean W = 1.3098/sqrt(p),
/// while mean W^2 = 2/p).
pub const SPREAD: f64 = 1.165_730;

impl WindowModel {
    /// Those of this name: `classic` or `refined`.
    pub fn named(name: &str) -> Result<Self, String> {
        let all = [WindowModel::Classic, WindowModel::Refined];
        let found = all.into_iter().find(|windows| windows.name() == name);
        found.ok_or_else(|| unknown("kind of windows", name, &all.map(WindowModel::name)))
    }

    /// Their name.
    pub fn name(self) -> &'static str {
        match self {
            WindowModel::Classic => "classic",
            WindowModel::Refined => "refined",
        }
    }

    /// By how much a window of `w` segments grows in a round trip.
    pub fn growth(self, w: f64) -> f64 {
        match self {
            WindowModel::Classic => 1.0,
            WindowModel::Refined => w / (w + 0.5),
        }
    }

    /// By how much a signal shortens a window of `w` segments.
    pub fn cut(self, w: f64) -> f64 {
        match self {
            WindowModel::Classic => w / 2.0,
            WindowModel::Refined => SPREAD / 2.0 * (w + 0.5) + 1.0,
        }
    }

    /// Derivatives of growth and cut.
    pub fn slopes(self, w: f64) -> (f64, f64) {
        match self {
            WindowModel::Classic => (0.0, 0.5),
            WindowModel::Refined => (0.5 / (w + 0.5).powi(2), SPREAD / 2.0),
        }
    }

    /// The window at which growth and signals balance: cut(W) p W = growth(W), segments.
    pub fn at(self, p: f64) -> f64 {
        match self {
            WindowModel::Classic => (2.0 / p).sqrt(),
            WindowModel::Refined => (SPREAD.powi(-2) + 2.0 / (SPREAD * p)).sqrt() - 1.0 / SPREAD - 0.5,
        }
    }
}

/// Flows over one queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The flows.
    pub classes: Vec<Class>,
    /// Rate of the link, packets of mean size per second.
    pub capacity: f64,
    /// Capacity of the queue, packets.
    pub buffer: f64,
    /// Signals are marks; otherwise drops.
    pub ecn: bool,
    /// The dynamics of windows.
    pub windows: WindowModel,
}

/// Over what time, and how finely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SolverOptions {
    /// Length of the trajectory, s.
    pub duration: f64,
    /// Means count from here, s.
    pub from: f64,
    /// Distance of the points that are kept, s.
    pub sample: f64,
    /// Longest step, s. `None`: a 50th of the shortest round trip, at most 1 ms.
    pub step: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_balance_at_rest_and_their_slopes_are_differences() {
        assert_eq!(WindowModel::Classic.at(0.02), 10.0);
        for windows in [WindowModel::Classic, WindowModel::Refined] {
            for p in [1e-4, 0.01, 0.1] {
                let w = windows.at(p);
                assert!((windows.cut(w) * p * w / windows.growth(w) - 1.0).abs() < 1e-12, "{windows:?} {p}");
                let (growth, cut) = windows.slopes(w);
                let step = 1e-4;
                let slope =
                    |f: fn(WindowModel, f64) -> f64| (f(windows, w + step) - f(windows, w - step)) / (2.0 * step);
                assert!(
                    (slope(WindowModel::growth) - growth).abs() < 1e-6 && (slope(WindowModel::cut) - cut).abs() < 1e-6
                );
            }
            assert_eq!(WindowModel::named(windows.name()), Ok(windows));
        }
        assert!(WindowModel::named("refind").unwrap_err().contains("did you mean \"refined\"?"));
    }
}
