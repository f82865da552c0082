//! Validation of a window that the application does not use up (new-CWV, RFC 7661). What of it the path has carried of late,
//! pipeACK, says how far the window can be trusted: if that is half of it or more, or not known, it is validated.
//!
//! Readings. A sample of pipeACK is what is acknowledged from one ACK on until all that was sent by then is. A window that is
//! used up (in variant `rack`: in the last round trip) grows in any phase, as in the authors' Linux, for in slow start pipeACK is
//! half of it just as a round trip ends. R counts segments as often as
//! they are sent again. Marks are answered as losses with R of 0, a timeout sets the threshold alone. Bursts are not held back
//! (section 4.4.2).

use crate::params::{IdleWindow, TcpParams};
use crate::sender::{RecoveryState, Tcb};
use aqmlab_core::{Span, Time};
use std::collections::VecDeque;

/// The non-validated period, after which the window is adjusted (section 4.4.3).
const NON_VALIDATED_PERIOD: Span = Span::from_secs(300);

/// The least pipeACK sampling period (section 4.2).
const LEAST_SAMPLING_PERIOD: Span = Span::from_secs(1);

/// The load that the path has shown to carry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Validation {
    /// pipeACK, segments: the largest sample of the last sampling period, 0 if it has none; `None`: undefined, before the first one.
    pipe_ack: Option<u32>,
    /// The sample that is being taken: its first segment, and one past its last, known from the next ACK on.
    from: u32,
    until: Option<u32>,
    /// The samples of the last sampling period that no later one reaches.
    samples: VecDeque<(Time, u32)>,
    /// Time at which the window was last validated, or adjusted for not being so.
    validated_at: Time,
    /// The reduction of a window that was not validated: max(pipeACK, LossFlightSize), and segments sent again before it.
    reduced_from: Option<(u32, u32)>,
}

impl Validation {
    pub fn new(after_idle: IdleWindow) -> Option<Box<Self>> {
        (after_idle == IdleWindow::NewCwv).then(Box::default)
    }

    /// At least half of the window is in use, or how much is not known (section 4.3).
    fn is_validated(&self, cwnd: f64) -> bool {
        self.pipe_ack.is_none_or(|pipe_ack| f64::from(2 * pipe_ack) >= cwnd)
    }

    /// Segments before `hole` are acknowledged, those before `sent` were sent before.
    fn take(&mut self, hole: u32, sent: u32, now: Time) {
        let until = *self.until.get_or_insert(sent);
        if hole >= until {
            let sample = hole - self.from;
            while self.samples.back().is_some_and(|(_, earlier)| *earlier <= sample) {
                self.samples.pop_back();
            }
            self.samples.push_back((now, sample));
            (self.pipe_ack, self.from, self.until) = (Some(0), hole, None);
        }
    }

    /// Samples older than `period` no longer count.
    fn expire(&mut self, period: Span, now: Time) {
        while self.samples.front().is_some_and(|(at, _)| now.since(*at) > period) {
            self.samples.pop_front();
        }
        self.pipe_ack = self.pipe_ack.map(|_| self.samples.front().map_or(0, |(_, sample)| *sample));
    }

    /// pipeACK is undefined; the next sample begins with `hole`.
    fn restart(&mut self, hole: u32) {
        (self.pipe_ack, self.from, self.until) = (None, hole, None);
        self.samples.clear();
    }
}

impl Tcb {
    /// An ACK has been taken, or a pause ends: notes what that says of the window, and adjusts one that has not been validated for
    /// five minutes.
    #[cold]
    #[inline(never)]
    pub(crate) fn validate_window(&mut self, now: Time, params: &TcpParams) {
        let Some(mut validation) = self.validation.take() else { return };
        let is_recovering = self.state != RecoveryState::Open && self.snd_una < self.recover;
        if self.state == RecoveryState::FastRecovery || is_recovering || self.snd_una <= u32::from(params.syn) {
            validation.restart(self.snd_una);
        } else {
            validation.take(self.snd_una, self.snd_max, now);
        }
        let period = Span(3 * self.rtt.smoothed().0).max(LEAST_SAMPLING_PERIOD);
        validation.expire(period, now);
        if validation.is_validated(self.cc.window.cwnd) {
            validation.validated_at = now;
        }
        while now.since(validation.validated_at) > NON_VALIDATED_PERIOD {
            validation.validated_at += NON_VALIDATED_PERIOD;
            let (least, window) = (self.initial_window(params), &mut self.cc.window);
            window.ssthresh = window.ssthresh.max(0.75 * window.cwnd);
            window.cwnd = window.cwnd.min((window.cwnd / 2.0).max(least));
        }
        self.validation = Some(validation);
    }

    /// The window may grow: it is validated or used up. `None` without new-CWV.
    pub(crate) fn is_growth_valid(&self, is_used_up: impl FnOnce() -> bool) -> Option<bool> {
        self.validation.as_ref().map(|validation| is_used_up() || validation.is_validated(self.cc.window.cwnd))
    }

    /// A reduction of the window, which was `cwnd`, has begun. If that was not validated, half of what was used of it is the
    /// threshold; returns LossFlightSize then.
    pub(crate) fn reduce_unvalidated(&mut self, cwnd: f64) -> Option<u32> {
        let (flight, resent) = (self.flight(), self.retransmits);
        let validation = self.validation.as_mut()?;
        validation.reduced_from = None;
        if validation.is_validated(cwnd) {
            return None;
        }
        let used = validation.pipe_ack.map_or(flight, |pipe_ack| pipe_ack.max(flight));
        validation.reduced_from = Some((used, resent));
        self.cc.window.ssthresh = (f64::from(used) / 2.0).max(1.0);
        Some(flight)
    }

    /// The reduction is over. If the window was not validated, what was sent again was beyond what the path carries, and the
    /// window falls to the threshold.
    pub(crate) fn end_unvalidated_reduction(&mut self) {
        let (hole, resent) = (self.snd_una, self.retransmits);
        if let Some(validation) = &mut self.validation {
            validation.restart(hole);
            if let Some((used, before)) = validation.reduced_from.take() {
                let window = &mut self.cc.window;
                window.ssthresh = (f64::from(used.saturating_sub(resent - before)) / 2.0).max(1.0);
                window.cwnd = window.cwnd.min(window.ssthresh);
            }
        }
    }
}
