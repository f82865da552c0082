//! Both directions.

use crate::{Delivery, Dropped, Line, LineError, Packet, Verdict};
use aqmlab_core::Problems;
use aqmlab_scenario::{SchemeAssignment, parse};
use aqmlab_sim::Lines;

/// A direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// From the client.
    Up,
    /// To the client.
    Down,
}

/// Two lines in one time.
#[derive(Clone, Debug)]
pub struct Path<T> {
    /// From the client.
    pub up: Line<T>,
    /// To the client.
    pub down: Line<T>,
}

impl<T> Path<T> {
    /// Both directions at rest, of a scenario (TOML) as `aqmlab live` takes it: its links are called `up` and `down`, or its only
    /// link leads up and what comes back meets no queue. The flows' round-trip time is shared out to both. `aqm` is a scheme for
    /// both or for each, as `cake@up+fq-codel@down`, in place of the scenario's own.
    ///
    /// # Errors
    /// Every problem of the scenario, with its path; what a line cannot do.
    pub fn new(scenario: &str, aqm: Option<&str>, seed: u64) -> Result<Self, Problems> {
        let scenario = parse(scenario, "path", &[])?;
        let aqm = aqm.map(SchemeAssignment::parse).transpose().map_err(|why| Problems::one("aqm", why))?;
        scenario.check_schemes(aqm.as_ref())?;
        let lines = Lines::of(&scenario)?;
        let line = |line| Line::of(&scenario, line, aqm.as_ref(), seed);
        Ok(Self { up: line(&lines.up)?, down: line(&lines.down)? })
    }

    /// One direction.
    pub fn side(&mut self, side: Side) -> &mut Line<T> {
        match side {
            Side::Up => &mut self.up,
            Side::Down => &mut self.down,
        }
    }

    /// [`Line::push`] into a direction.
    ///
    /// # Errors
    /// As there.
    pub fn push(&mut self, side: Side, now: u64, packet: Packet, payload: T) -> Result<Verdict, LineError> {
        self.side(side).push(now, packet, payload)
    }

    /// The time at which to call [`Path::pop`] next, ns.
    pub fn next_event(&self) -> Option<u64> {
        self.up.next_event().into_iter().chain(self.down.next_event()).min()
    }

    /// Takes the packet that comes out next at `now` or before, in either direction; at one instant upwards first. `None` if
    /// what was due was none.
    ///
    /// # Errors
    /// If time goes backwards, or nothing is due.
    pub fn pop(&mut self, now: u64) -> Result<Option<(Side, Delivery<T>)>, LineError> {
        let next = |line: &Line<T>| line.next_event().unwrap_or(u64::MAX);
        let side = if next(&self.up) <= next(&self.down) { Side::Up } else { Side::Down };
        Ok(self.side(side).pop(now)?.map(|delivery| (side, delivery)))
    }

    /// Takes the next packet that was dropped, those on the way up first.
    pub fn pop_dropped(&mut self) -> Option<(Side, Dropped<T>)> {
        let up = self.up.pop_dropped().map(|dropped| (Side::Up, dropped));
        up.or_else(|| self.down.pop_dropped().map(|dropped| (Side::Down, dropped)))
    }
}
