//! A simulation that Python steps, probes, changes and copies.

use crate::memory;
use crate::{Run, Scenario, Watch, counted, failed, is_own, link, not_known, parse_choice, refused};
use aqmlab_core::problem::ProblemKind;
use aqmlab_core::{Problem, Span, Time};
use aqmlab_sim::{ColumnSource, GroupProbe, LinkProbe, Options, SampleColumn};
use numpy::{PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::MutexExt;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A scenario at one instant.
#[pyclass(frozen)]
pub struct Simulation {
    /// `None` once it is finished. In a box, as it lies at a multiple of 64 bytes, and Python's objects at one of 16.
    engine: Box<Mutex<Option<aqmlab_sim::Simulation>>>,
    /// A scheme is written in Python: the interpreter stays with the simulation.
    is_own: AtomicBool,
    /// Bytes.
    held: AtomicI64,
}

impl Simulation {
    /// Lets the simulation act, and counts what it holds then; the watch of the simulation sees that too.
    fn with<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Option<aqmlab_sim::Simulation>) -> T + Send) -> T {
        self.locked(py, |engine| {
            let (found, held) = memory::going_on(self.held(), || act(engine));
            self.held.store(held, Ordering::Relaxed);
            found
        })
    }

    /// The same without counting; other threads of the interpreter go on meanwhile, unless a scheme is written in Python.
    fn locked<T: Send>(&self, py: Python<'_>, act: impl FnOnce(&mut Option<aqmlab_sim::Simulation>) -> T + Send) -> T {
        if self.is_own.load(Ordering::Relaxed) {
            return act(&mut self.lock(py));
        }
        py.detach(|| act(&mut self.engine.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    /// Lets go of the interpreter while another thread has the simulation.
    fn lock(&self, py: Python<'_>) -> MutexGuard<'_, Option<aqmlab_sim::Simulation>> {
        self.engine.lock_py_attached(py).unwrap_or_else(PoisonError::into_inner)
    }

    fn made<E>(make: impl FnOnce() -> Result<aqmlab_sim::Simulation, E>) -> Result<Self, E> {
        let (engine, held) = memory::counted(make);
        let engine = engine?;
        let is_own = AtomicBool::new(is_own(engine.schemes()));
        Ok(Self { engine: Box::new(Mutex::new(Some(engine))), is_own, held: held.into() })
    }

    /// The same, of a simulation that is not finished; short enough to hold the interpreter.
    fn at_once<T>(&self, py: Python<'_>, act: impl FnOnce(&mut aqmlab_sim::Simulation) -> T) -> PyResult<T> {
        self.lock(py).as_mut().map(act).ok_or_else(finished)
    }
}

impl Drop for Simulation {
    /// What is large takes time to be given back: other threads of the interpreter go on meanwhile.
    fn drop(&mut self) {
        let engine = self.engine.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        if !*self.is_own.get_mut() {
            Python::try_attach(|py| py.detach(|| drop(engine))); // none is left where the interpreter ends
        }
    }
}

fn finished() -> PyErr {
    PyRuntimeError::new_err("the simulation is finished; make another, or clone it before")
}

#[pymethods]
impl Simulation {
    /// A scenario before anything has happened.
    #[new]
    #[pyo3(signature = (scenario, aqm=None, seed=1, *, series=false, trace=None, watch=None, controlled=false))]
    #[allow(clippy::too_many_arguments)] // as Python names them
    fn new(
        py: Python<'_>,
        scenario: &Scenario,
        aqm: Option<&str>,
        seed: u64,
        series: bool,
        trace: Option<&str>,
        watch: Option<&Watch>,
        controlled: bool,
    ) -> PyResult<Self> {
        let aqm = parse_choice(aqm)?;
        let trace = trace.map(|name| link(&scenario.0, name)).transpose()?;
        let watch = watch.map(|watch| watch.0.clone());
        let is_own = crate::runs_own(scenario, aqm.as_ref());
        let options =
            Options { aqm, seed, series, trace, watch, threads: 1, most_events: None, is_controlled: controlled };
        let make = || Self::made(|| aqmlab_sim::Simulation::new(scenario.0.clone(), options));
        if is_own { make() } else { py.detach(make) }.map_err(refused)
    }

    /// Bytes that it holds.
    #[getter]
    fn held(&self) -> i64 {
        self.held.load(Ordering::Relaxed)
    }

    /// The present, s.
    #[getter]
    fn now(&self, py: Python<'_>) -> PyResult<f64> {
        self.at_once(py, |engine| engine.now().seconds())
    }

    /// The end of the scenario, s.
    #[getter]
    fn end(&self, py: Python<'_>) -> PyResult<f64> {
        self.at_once(py, |engine| engine.end().seconds())
    }

    /// Lets everything happen up to and including `seconds`.
    fn step_until(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        if seconds.is_nan() || seconds < 0.0 {
            return Err(refused(Problem::new(
                "step_until",
                format!("{seconds} is not a time; expected seconds from 0 on"),
            )));
        }
        let time = Time::ZERO + Span::from_seconds(seconds);
        self.with(py, |engine| engine.as_mut().map(|engine| engine.step_until(time)))
            .ok_or_else(finished)?
            .map_err(failed)
    }

    /// The same; returns a row of numbers for each multiple of `every` on the way, in the columns of `sample_columns`.
    #[pyo3(signature = (seconds, every, flows=Vec::new()))]
    fn sample_until<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
        every: f64,
        flows: Vec<(String, usize)>,
    ) -> PyResult<Bound<'py, PyArray2<f32>>> {
        if !(every >= 1e-6 && seconds >= 0.0) {
            let why = format!("{seconds} s, every {every} s: expected times, every at least 1 us");
            return Err(refused(Problem::new("sample_until", why)));
        }
        let (until, every) = (Time::ZERO + Span::from_seconds(seconds), Span::from_seconds(every));
        let flows = self.at_once(py, |engine| tcp_flows(engine, &flows))??;
        let (rows, width) = self
            .with(py, |engine| {
                engine.as_mut().map(|engine| {
                    let (mut rows, width) = (Vec::new(), engine.sample_columns(&flows).len());
                    engine.sample_until(until, every, &flows, &mut rows).map(|()| (rows, width))
                })
            })
            .ok_or_else(finished)?
            .map_err(failed)?;
        self.held.fetch_sub((rows.capacity() * size_of::<f32>()) as i64, Ordering::Relaxed); // Python has them
        let height = rows.len() / width;
        PyArray1::from_vec(py, rows).reshape([height, width])
    }

    /// The columns of a sample: whose ("time", "link", "scheme", "group", "flow"), name of the link or group, number of the flow,
    /// name of the column, unit.
    #[pyo3(signature = (flows=Vec::new()))]
    fn sample_columns(&self, py: Python<'_>, flows: Vec<(String, usize)>) -> PyResult<Vec<ColumnOf>> {
        self.at_once(py, |engine| {
            let columns = engine.sample_columns(&tcp_flows(engine, &flows)?);
            Ok(columns.into_iter().map(|column| column_of(engine, column)).collect())
        })?
    }

    /// The measures so far; `None` before the warm-up is over.
    fn so_far(&self, py: Python<'_>) -> PyResult<Option<Run>> {
        let done = self.locked(py, |engine| engine.as_ref().map(aqmlab_sim::Simulation::so_far));
        Ok(done.ok_or_else(finished)?.map_err(failed)?.map(Run::of))
    }

    /// Flows, sources or clients of a group that have not been stopped.
    fn count(&self, py: Python<'_>, group: &str) -> PyResult<usize> {
        let count =
            |engine: &mut aqmlab_sim::Simulation| group_of(engine, "count", group).map(|group| engine.count(group));
        self.locked(py, |engine| engine.as_mut().map(count)).ok_or_else(finished)?
    }

    /// Counts since the last probe, and the present state.
    fn probe(&self, py: Python<'_>) -> PyResult<Probe> {
        self.at_once(py, |engine| Probe { names: engine.scenario().clone(), probe: engine.probe() })
    }

    /// Changes what `path` names to `value`, now; both are written as in `[[changes]]`.
    fn set(&self, py: Python<'_>, path: &str, value: &str) -> PyResult<()> {
        let set = |engine: &mut aqmlab_sim::Simulation| {
            let done = engine.set(path, value);
            self.is_own.store(is_own(engine.schemes()), Ordering::Relaxed);
            done
        };
        self.with(py, |engine| engine.as_mut().map(set)).ok_or_else(finished)?.map_err(failed)
    }

    /// A copy that goes its own way from now on.
    fn clone(&self, py: Python<'_>) -> PyResult<Self> {
        let copy = |engine: &aqmlab_sim::Simulation| Self::made(|| engine.fork());
        self.locked(py, |engine| engine.as_ref().map(copy)).ok_or_else(finished)?.map_err(failed)
    }

    /// The scenario with everything that was changed by hand, as TOML.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        self.locked(py, |engine| engine.as_ref().map(|engine| engine.to_toml())).ok_or_else(finished)
    }

    /// Packets that wait at a link, by the name of the group of their flow.
    fn content<'py>(&self, py: Python<'py>, link: &str) -> PyResult<Bound<'py, PyDict>> {
        let waiting = |engine: &mut aqmlab_sim::Simulation| {
            let scenario = engine.scenario().clone();
            let index = crate::link(&scenario, link)?;
            Ok::<_, PyErr>(
                scenario.flows.iter().map(|spec| spec.name.clone()).zip(engine.content(index)).collect::<Vec<_>>(),
            )
        };
        let content = self.locked(py, |engine| engine.as_mut().map(waiting)).ok_or_else(finished)??;
        content.into_iter().collect::<std::collections::BTreeMap<_, _>>().into_pyobject(py)
    }

    /// Goes on to the end; returns the run as if it had never been stopped. `wall` is what the caller's clock has measured, s.
    #[pyo3(signature = (wall=0.0))]
    fn finish(&self, py: Python<'_>, wall: f64) -> PyResult<Run> {
        let done = self.with(py, |engine| engine.take().map(aqmlab_sim::Simulation::finish));
        let mut output = done.ok_or_else(finished)?.map_err(failed)?;
        output.result.engine.wall = wall;
        Ok(Run::of(output))
    }

    /// The sender of the `i`-th flow of a group: see `aqmlab.Simulation.flow`.
    #[pyo3(signature = (group, i=0))]
    fn flow<'py>(&self, py: Python<'py>, group: &str, i: usize) -> PyResult<Bound<'py, PyDict>> {
        let (state, law) = self.at_once(py, |engine| {
            let (index, i) = tcp_flow(engine, group, i)?;
            let found = engine.flow_state(index, i).zip(engine.law_state(index, i));
            Ok::<_, PyErr>(found.expect("it was found"))
        })??;
        let dict = PyDict::new(py);
        dict.set_item("cwnd", state.cwnd)?;
        dict.set_item("srtt", state.srtt)?;
        dict.set_item("retransmits", state.retransmits)?;
        dict.set_item("timeouts", state.timeouts)?;
        dict.set_item("in_flight", law.in_flight)?;
        dict.set_item("pacing_rate", law.pacing_rate)?;
        dict.set_item("phase", law.phase)?;
        let variables = PyDict::new(py);
        for (name, value) in law.variables {
            variables.set_item(name, value)?;
        }
        dict.set_item("variables", variables)?;
        Ok(dict)
    }
}

/// A column: its subject, the name of the link or group, the number of the flow, name and unit.
type ColumnOf = (&'static str, String, Option<usize>, &'static str, &'static str);

fn column_of(engine: &aqmlab_sim::Simulation, column: SampleColumn) -> ColumnOf {
    let scenario = engine.scenario();
    let (of, name, i) = match column.source {
        ColumnSource::Time => ("time", String::new(), None),
        ColumnSource::Link(link) => ("link", scenario.links[link].name.clone(), None),
        ColumnSource::Scheme(link) => ("scheme", scenario.links[link].name.clone(), None),
        ColumnSource::Group(group) => ("group", scenario.flows[group].name.clone(), None),
        ColumnSource::Flow(group, i) => ("flow", scenario.flows[group].name.clone(), Some(i)),
    };
    (of, name, i, column.name, column.unit)
}

/// The index of a group of flows.
fn group_of(engine: &aqmlab_sim::Simulation, what: &str, group: &str) -> PyResult<usize> {
    let names: Vec<&str> = engine.scenario().flows.iter().map(|spec| spec.name.as_str()).collect();
    let index = names.iter().position(|name| *name == group);
    index.ok_or_else(|| not_known(what, "group of flows", group, &names))
}

/// A TCP flow by the index of its group.
fn tcp_flow(engine: &aqmlab_sim::Simulation, group: &str, i: usize) -> PyResult<(usize, usize)> {
    let index = group_of(engine, "flow", group)?;
    engine.flow_state(index, i).map(|_| (index, i)).ok_or_else(|| {
        let why = format!("{group} has no TCP flow {i}: flows count from 0; clients and UDP have no window");
        refused(Problem::new("flow", why).of(ProblemKind::Unknown))
    })
}

fn tcp_flows(engine: &aqmlab_sim::Simulation, flows: &[(String, usize)]) -> PyResult<Vec<(usize, usize)>> {
    flows.iter().map(|(group, i)| tcp_flow(engine, group, *i)).collect()
}

/// A probe of a simulation. Numbers are read from it by name.
#[pyclass(frozen)]
pub struct Probe {
    names: Arc<aqmlab_scenario::Scenario>,
    probe: aqmlab_sim::Probe,
}

#[pymethods]
impl Probe {
    fn __repr__(&self) -> String {
        let links = counted(self.probe.links.len() as u64, "link");
        let groups = counted(self.probe.flows.len() as u64, "group");
        format!("<Probe: at {} s, {links}, {groups} of flows>", self.now())
    }

    /// Time at which it was taken, s.
    #[getter]
    fn now(&self) -> f64 {
        self.probe.now
    }

    /// Time since the probe before, s.
    #[getter]
    fn span(&self) -> f64 {
        self.probe.span
    }

    /// Each link by name.
    #[getter]
    fn links<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (spec, link) in self.names.links.iter().zip(&self.probe.links) {
            dict.set_item(&spec.name, link_dict(py, link)?)?;
        }
        Ok(dict)
    }

    /// Each group of flows by name.
    #[getter]
    fn flows<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (spec, group) in self.names.flows.iter().zip(&self.probe.flows) {
            dict.set_item(&spec.name, group_dict(py, group)?)?;
        }
        Ok(dict)
    }
}

fn link_dict<'py>(py: Python<'py>, link: &LinkProbe) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, count) in [
        ("arrived", link.arrived),
        ("departed", link.departed),
        ("dropped", link.dropped),
        ("marked", link.marked),
        ("lost", link.lost),
        ("bytes", link.bytes),
        ("queue", link.queue.into()),
    ] {
        dict.set_item(name, count)?;
    }
    dict.set_item("queue_delay_mean", link.queue_delay_mean)?;
    dict.set_item("queue_delay_max", link.queue_delay_max)?;
    dict.set_item("utilisation", link.utilisation)?;
    let observables = PyDict::new(py);
    link.observables.iter().try_for_each(|(name, value)| observables.set_item(name, value))?;
    dict.set_item("observables", observables)?;
    Ok(dict)
}

fn group_dict<'py>(py: Python<'py>, group: &GroupProbe) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("received", group.received)?;
    dict.set_item("marked", group.marked)?;
    dict.set_item("goodput", group.goodput)?;
    dict.set_item("packet_delay_mean", group.packet_delay_mean)?;
    dict.set_item("packet_delay_max", group.packet_delay_max)?;
    dict.set_item("transfers", group.transfers)?;
    Ok(dict)
}
