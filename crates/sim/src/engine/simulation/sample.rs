//! A simulation as rows of numbers, for curves that are drawn while it runs.

use super::{Output, RunError, Simulation};
use aqmlab_aqm::Discipline;
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

/// The source of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnSource {
    /// The simulation: its time.
    Time,
    /// The link with this index.
    Link(usize),
    /// The scheme of the link with this index.
    Scheme(usize),
    /// The group of flows with this index.
    Group(usize),
    /// A TCP flow, by its group and its index in the group.
    Flow(usize, usize),
}

/// A column of the rows of [`Simulation::sample_until`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SampleColumn {
    /// Source of the values.
    pub source: ColumnSource,
    /// Name of the quantity.
    pub name: &'static str,
    /// Their unit.
    pub unit: &'static str,
}

impl Simulation {
    /// The columns of a row: the time; each link with what its scheme shows now; each group; these flows, by group and
    /// index in the group.
    pub fn sample_columns(&self, flows: &[(usize, usize)]) -> Vec<SampleColumn> {
        let column = |source, (name, unit)| SampleColumn { source, name, unit };
        let of_link = |link: usize| {
            let shown =
                self.shown[link].iter().map(move |shown| column(ColumnSource::Scheme(link), (shown.name, shown.unit)));
            OF_LINK.map(|name| column(ColumnSource::Link(link), name)).into_iter().chain(shown)
        };
        let links = (0..self.network.links.len()).flat_map(of_link);
        let groups = (0..self.network.groups.len())
            .flat_map(|group| OF_GROUP.map(|name| column(ColumnSource::Group(group), name)));
        let flows =
            flows.iter().flat_map(|(group, i)| OF_FLOW.map(|name| column(ColumnSource::Flow(*group, *i), name)));
        std::iter::once(column(ColumnSource::Time, ("time", "s"))).chain(links).chain(groups).chain(flows).collect()
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
        let until = until.min(self.network.measured.end);
        while self.network.now < until {
            let next = Time((self.network.now.0 / every.0 + 1) * every.0).min(self.network.measured.end);
            self.step_until(next.min(until))?;
            if next <= until {
                self.add_row(flows, rows);
            }
        }
        Ok(())
    }

    /// A probe, written without taking memory for it.
    fn add_row(&mut self, flows: &[(usize, usize)], rows: &mut Vec<f32>) {
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let span = self.span_of_probe();
        let per_second = |count: f64| if span > 0.0 { count / span } else { f64::NAN };
        let mut add = |value: f64| rows.push(value as f32);
        add(self.network.now.seconds());
        for index in 0..self.network.links.len() {
            let link = self.probe_queue(index);
            add(f64::from(link.queue));
            add(or_nan(link.queue_delay_mean));
            add(or_nan(link.queue_delay_max));
            add(link.utilisation);
            add(per_second(8.0 * link.bytes as f64));
            add(per_second(link.dropped as f64));
            add(per_second(link.marked as f64));
            (0..self.shown[index].len()).for_each(|i| add(self.network.links[index].queue.observe(i)));
        }
        for group in 0..self.network.groups.len() {
            let probe = self.probe_group(group, span);
            add(probe.goodput);
            add(or_nan(probe.packet_delay_mean));
        }
        for (group, i) in flows {
            let state = self.flow_state(*group, *i);
            add(or_nan(state.map(|state| state.cwnd)));
            add(or_nan(state.and_then(|state| state.srtt)));
        }
    }

    /// The result so far, as of a scenario that ends now, except that a packet that has left its last queue counts as
    /// received; `None` before the warm-up is over.
    ///
    /// # Errors
    /// If a scheme breaks down or cannot be copied; it says why.
    pub fn so_far(&self) -> Result<Option<Output>, RunError> {
        if self.network.now <= self.network.measured.start {
            return Ok(None);
        }
        let mut copy = self.fork()?;
        copy.network.measured.end = self.network.now;
        copy.finish().map(Some)
    }

    /// Flows, sources or clients of a group that have not been stopped.
    pub fn count(&self, group: usize) -> usize {
        self.members[group].iter().filter(|member| member.stop > self.network.now).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::simulation::{Options, run};
    use aqmlab_scenario::parse;

    const TEN: &str = r#"
schema = 1
duration = "2 s"
warmup = "500 ms"

[[links]]
name = "only"
rate = "5 Mbit/s"
delay = "3 ms"
buffer = "200 ms"
aqm = "pie"

[[flows]]
name = "long"
count = 10
rtt = "40 ms"
"#;

    const NOBODY: &str = r#"
[[flows]]
name = "nobody"
kind = "udp-cbr"
count = 0
rtt = "500 ms"
packet = "64 B"
rate = "1 Mbit/s"
"#;

    fn simulation(text: &str) -> Simulation {
        let scenario = parse(text, "ten", &[]).expect("the scenario is legal");
        Simulation::new(scenario, Options { seed: 1, ..Options::default() }).expect("the scheme fits")
    }

    fn text(result: &impl std::fmt::Debug) -> String {
        format!("{result:?}")
    }

    #[test]
    fn a_row_is_a_probe() {
        let (mut sampled, mut probed) = (simulation(TEN), simulation(TEN));
        let (every, mut rows) = (Span::from_millis(100), Vec::new());
        for until in [250, 250, 700, 5000] {
            let until = Time::ZERO + Span::from_millis(until);
            sampled.sample_until(until, every, &[(0, 3)], &mut rows).expect("it runs");
        }
        let columns = sampled.sample_columns(&[(0, 3)]);
        let at = |name: &str| columns.iter().position(|column| column.name == name).expect("there is such a column");
        assert_eq!(rows.len(), 20 * columns.len());
        for (i, row) in rows.chunks(columns.len()).enumerate() {
            probed.step_until(Time::ZERO + Span::from_millis(100 * (i as u64 + 1))).expect("it runs");
            let probe = probed.probe();
            assert_eq!(row[0], probe.now as f32);
            assert_eq!(row[at("queue")], probe.links[0].queue as f32);
            assert_eq!(row[at("drops")], (probe.links[0].dropped as f64 / probe.span) as f32);
            assert_eq!(row[at("p")], probe.links[0].observables[0].1 as f32);
            assert_eq!(row[at("goodput")], probe.flows[0].goodput as f32);
            assert_eq!(row[at("cwnd")], probed.flow_state(0, 3).expect("it is TCP").cwnd as f32);
        }
    }

    #[test]
    fn so_far_at_the_end_is_the_result() {
        let mut simulation = simulation(TEN);
        simulation.step_until(Time::ZERO + Span::from_millis(400)).expect("it runs");
        assert!(simulation.so_far().expect("it can be copied").is_none());
        simulation.step_until(Time::ZERO + Span::from_millis(1500)).expect("it runs");
        assert!(simulation.so_far().expect("it can be copied").is_some());
        simulation.step_until(simulation.end()).expect("it runs");
        let so_far = simulation.so_far().expect("it can be copied").expect("the warm-up is over");
        assert_eq!(text(&so_far.result), text(&simulation.finish().expect("it ends").result));
    }

    #[test]
    fn an_empty_group_changes_nothing() {
        let of = |text: &str| {
            let scenario = parse(text, "ten", &[]).expect("the scenario is legal");
            run(scenario, Options { seed: 1, ..Options::default() }).expect("it runs").result
        };
        let (alone, beside) = (of(TEN), of(&format!("{TEN}{NOBODY}")));
        assert_eq!(text(&alone.links), text(&beside.links));
        assert_eq!(text(&alone.total), text(&beside.total));
        assert_eq!((beside.flows[1].1.count, beside.flows[1].1.goodput), (0, 0.0));
    }

    #[test]
    fn an_empty_group_can_be_filled() {
        let mut simulation = simulation(&format!("{TEN}{NOBODY}"));
        simulation.step_until(Time::ZERO + Span::from_millis(1000)).expect("it runs");
        simulation.set("flows.nobody.count", "2").expect("it is legal");
        assert_eq!((simulation.count(0), simulation.count(1)), (10, 2));
        simulation.probe();
        simulation.step_until(Time::ZERO + Span::from_millis(1900)).expect("it runs");
        assert!(simulation.probe().flows[1].received > 0);
    }
}
