//! A simulation as rows of numbers, for curves that are drawn while it runs.

use super::{Output, RunError, Simulation};
use aqmlab_core::{Span, Time};

/// Columns of a link, before what its scheme shows: name and unit.
const OF_LINK: [(&str, &str); 7] = [
    ("queue", "packets"),
    ("delay", "s"),
    ("delay_max", "s"),
    ("utilisation", "ratio"),
    ("rate", "bit/s"),
    ("drops", "packets/s"),
    ("marks", "packets/s"),
];
/// Columns of a group of flows.
const OF_GROUP: [(&str, &str); 2] = [("goodput", "bit/s"), ("packet_delay", "s")];
/// Columns of a flow.
const OF_FLOW: [(&str, &str); 2] = [("cwnd", "segments"), ("srtt", "s")];

/// Whose numbers a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The simulation's: the time.
    Time,
    /// Those of the link with this index.
    Link(usize),
    /// Those of the group of flows with this index.
    Group(usize),
    /// Those of a TCP flow: its group and its place in the group.
    Flow(usize, usize),
}

/// A column of the rows of [`Simulation::sample_until`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleColumn {
    /// Whose numbers.
    pub place: Place,
    /// Which.
    pub name: &'static str,
    /// Their unit.
    pub unit: &'static str,
}

impl Simulation {
    /// The columns of a row: the time; each link with what its scheme shows now; each group; these flows, by group and
    /// place in the group.
    pub fn sample_columns(&self, flows: &[(usize, usize)]) -> Vec<SampleColumn> {
        let column = |place, (name, unit)| SampleColumn { place, name, unit };
        let of_link = |link: usize| {
            let shown = self.shown[link].iter().map(|shown| (shown.name, shown.unit));
            OF_LINK.into_iter().chain(shown).map(move |name| column(Place::Link(link), name))
        };
        let links = (0..self.links.len()).flat_map(of_link);
        let groups = (0..self.groups.len()).flat_map(|group| OF_GROUP.map(|name| column(Place::Group(group), name)));
        let flows = flows.iter().flat_map(|(group, i)| OF_FLOW.map(|name| column(Place::Flow(*group, *i), name)));
        std::iter::once(column(Place::Time, ("time", "s"))).chain(links).chain(groups).chain(flows).collect()
    }

    /// [`step_until`](Self::step_until) that adds a row to `rows` at each multiple of `every` on the way and at the end of
    /// the scenario. A row is a [`probe`](Self::probe); what has no value is NaN.
    ///
    /// # Errors
    /// As [`step_until`](Self::step_until).
    pub fn sample_until(
        &mut self,
        until: Time,
        every: Span,
        flows: &[(usize, usize)],
        rows: &mut Vec<f32>,
    ) -> Result<(), RunError> {
        let until = until.min(self.end);
        while self.now < until {
            let next = Time((self.now.0 / every.0 + 1) * every.0).min(self.end);
            self.step_until(next.min(until))?;
            if next <= until {
                self.add_row(flows, rows);
            }
        }
        Ok(())
    }

    fn add_row(&mut self, flows: &[(usize, usize)], rows: &mut Vec<f32>) {
        let probe = self.probe();
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let per_second = |count: f64| if probe.span > 0.0 { count / probe.span } else { f64::NAN };
        let mut add = |value: f64| rows.push(value as f32);
        add(probe.now);
        for link in &probe.links {
            add(f64::from(link.queue));
            add(or_nan(link.queue_delay_mean));
            add(or_nan(link.queue_delay_max));
            add(link.utilisation);
            add(per_second(8.0 * link.bytes as f64));
            add(per_second(link.dropped as f64));
            add(per_second(link.marked as f64));
            link.observables.iter().for_each(|(_, value)| add(*value));
        }
        for group in &probe.flows {
            add(group.goodput);
            add(or_nan(group.packet_delay_mean));
        }
        for (group, i) in flows {
            let state = self.flow_state(*group, *i);
            add(or_nan(state.map(|state| state.cwnd)));
            add(or_nan(state.and_then(|state| state.srtt)));
        }
    }

    /// What was measured so far, as of a scenario that ends now; `None` before the warm-up is over.
    ///
    /// # Errors
    /// If a scheme breaks down or cannot be copied; it says why.
    pub fn so_far(&self) -> Result<Option<Output>, RunError> {
        if self.now <= self.warmup {
            return Ok(None);
        }
        let mut copy = self.fork()?;
        copy.end = self.now;
        copy.finish().map(Some)
    }

    /// Flows, sources or clients of a group that have not been stopped.
    pub fn count(&self, group: usize) -> usize {
        self.members[group].iter().filter(|member| member.stop > self.now).count()
    }
}
