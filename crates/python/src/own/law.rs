//! A user's own congestion-control law: a Python class, as a sender sees it. Each call takes the interpreter, so it is slow.

use super::{Param, Parameters, leak};
use crate::refused;
use aqmlab_core::{Span, Time};
use aqmlab_tcp::cc::{CongestionControl, CongestionEvent, Facts, LawDeclaration, LawFailure, LawInfo, Needs, Window};
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::sync::OnceLock;

/// Window and slow start threshold of a sender, segments; a controller sets them.
#[pyclass(name = "Window", module = "aqmlab", get_all, set_all)]
pub struct LawWindow {
    cwnd: f64,
    ssthresh: f64,
}

#[pymethods]
impl LawWindow {
    fn __repr__(&self) -> String {
        format!("<Window: cwnd {}, ssthresh {}>", self.cwnd, self.ssthresh)
    }
}

/// The facts of an ACK; counts are segments, times seconds.
#[pyclass(name = "AckFacts", module = "aqmlab")]
pub struct AckFacts(Facts);

#[pymethods]
impl AckFacts {
    fn __repr__(&self) -> String {
        format!("<AckFacts: {} acknowledged of {} outstanding>", self.0.acked, self.0.flight)
    }

    /// Segments that it acknowledges; 0 for a duplicate ACK.
    #[getter]
    fn acked(&self) -> u32 {
        self.0.acked
    }

    /// The window grows by acknowledged segments (RFC 3465), not by ACKs.
    #[getter]
    fn byte_counting(&self) -> bool {
        self.0.byte_counting
    }

    /// Segments outstanding before it.
    #[getter]
    fn flight(&self) -> u32 {
        self.0.flight
    }

    /// The application has nothing more to send at present.
    #[getter]
    fn is_app_limited(&self) -> bool {
        self.0.is_app_limited
    }

    /// Time of its arrival, s.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.seconds()
    }

    /// Smoothed round-trip time, s; 0 before the first sample.
    #[getter]
    fn srtt(&self) -> f64 {
        self.0.srtt.seconds()
    }

    /// A round-trip time that it measures, s; None if none.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Span::seconds)
    }
}

/// Adds a class to the catalogue of laws; what it declares lives as long as the process. `hooks` are those it overrides.
#[pyfunction]
pub fn declare_law(
    class: Py<PyType>,
    name: String,
    title: String,
    source: String,
    page: String,
    params: Vec<Param>,
    hooks: Vec<String>,
) -> PyResult<Parameters> {
    let name = leak(name);
    let parameters = Parameters::declare(name, params).map_err(refused)?;
    let needs = Needs { pacing: hooks.iter().any(|hook| hook == "pacing_rate"), ..Needs::NONE };
    aqmlab_tcp::cc::declare(LawDeclaration {
        info: LawInfo { name, title: leak(title), year: 0, source: leak(source) },
        page: leak(page),
        needs,
        params: parameters.params.clone(),
        make: Box::new(move |pairs| {
            Python::attach(|py| OwnLaw::new(class.bind(py), &hooks, pairs)).map(|law| Box::new(law) as _)
        }),
    })
    .map_err(|problem| refused(problem.within(name)))?;
    Ok(parameters)
}

/// An instance of a user's class in one sender.
#[derive(Debug)]
struct OwnLaw {
    law: Py<PyAny>,
    hooks: Vec<String>,
    now: Time,
    failure: OnceLock<LawFailure>,
}

impl OwnLaw {
    fn new(class: &Bound<'_, PyType>, hooks: &[String], pairs: &[(&str, &str)]) -> Result<Self, String> {
        let made = || -> PyResult<Py<PyAny>> {
            let parameters = PyDict::new(class.py());
            pairs.iter().try_for_each(|(name, text)| parameters.set_item(name, text))?;
            Ok(class.call((), Some(&parameters))?.unbind())
        };
        let law = made().map_err(|error| super::scheme::error_line(class.py(), "__init__", &error))?;
        Ok(Self { law, hooks: hooks.to_vec(), now: Time::ZERO, failure: OnceLock::new() })
    }

    fn has(&self, hook: &str) -> bool {
        self.failure.get().is_none() && self.hooks.iter().any(|own| own == hook)
    }

    /// Calls a hook; what it raises ends the run.
    fn call<'py>(&self, py: Python<'py>, hook: &str, args: impl PyCallArgs<'py>) -> Option<Bound<'py, PyAny>> {
        let answer = self.law.bind(py).getattr(hook).and_then(|called| called.call1(args));
        answer.map_err(|error| self.fail(super::scheme::error_line(py, hook, &error))).ok()
    }

    /// Lets a hook set the window.
    fn set(&self, window: &mut Window, hook: &str, facts: Option<&Facts>) {
        if !self.has(hook) {
            return;
        }
        Python::attach(|py| {
            let shown = LawWindow { cwnd: window.cwnd, ssthresh: window.ssthresh };
            let Ok(shown) = Py::new(py, shown) else { return };
            match facts {
                None => self.call(py, hook, (&shown,)),
                Some(facts) => {
                    Py::new(py, AckFacts(*facts)).ok().and_then(|facts| self.call(py, hook, (&shown, facts)))
                }
            };
            let shown = shown.borrow(py);
            *window = Window { cwnd: shown.cwnd, ssthresh: shown.ssthresh };
        });
    }

    /// A hook's number.
    fn number(&self, hook: &str, event: Option<CongestionEvent>) -> Option<f64> {
        if !self.has(hook) {
            return None;
        }
        Python::attach(|py| {
            let answer = match event {
                Some(event) => self.call(py, hook, (event_name(event),)),
                None => self.call(py, hook, ()),
            }?;
            if answer.is_none() {
                return None;
            }
            let wrong = |_| self.fail(format!("{hook} returned {}, not a number", super::scheme::shown(&answer)));
            answer.extract().map_err(wrong).ok()
        })
    }

    /// The first cause counts.
    fn fail(&self, cause: String) {
        self.failure.get_or_init(|| LawFailure { at: self.now, cause });
    }
}

fn event_name(event: CongestionEvent) -> &'static str {
    match event {
        CongestionEvent::Loss => "loss",
        CongestionEvent::Echo => "echo",
        CongestionEvent::Timeout => "timeout",
    }
}

/// By `copy.deepcopy`; a law that cannot be copied gives one that has failed, with the reason.
impl Clone for OwnLaw {
    fn clone(&self) -> Self {
        Python::attach(|py| {
            let copied = py.import("copy").and_then(|copy| copy.call_method1("deepcopy", (&self.law,)));
            let (law, failure) = match copied {
                Ok(law) => (law.unbind(), self.failure.clone()),
                Err(error) => {
                    let cause = super::scheme::error_line(py, "copy.deepcopy", &error);
                    let failure =
                        LawFailure { at: self.now, cause: format!("the controller cannot be copied: {cause}") };
                    (self.law.clone_ref(py), OnceLock::from(failure))
                }
            };
            Self { law, hooks: self.hooks.clone(), now: self.now, failure }
        })
    }
}

impl CongestionControl for OwnLaw {
    fn on_ack(&mut self, window: &mut Window, ack: &Facts) {
        self.now = ack.now;
        self.set(window, "on_ack", Some(ack));
    }

    fn kept(&self, event: CongestionEvent) -> f64 {
        self.number("kept", Some(event)).unwrap_or(0.5)
    }

    fn on_congestion(&mut self, event: CongestionEvent, window: &Window) {
        if self.has("on_congestion") {
            Python::attach(|py| {
                let shown = LawWindow { cwnd: window.cwnd, ssthresh: window.ssthresh };
                if let Ok(shown) = Py::new(py, shown) {
                    self.call(py, "on_congestion", (event_name(event), shown));
                }
            });
        }
    }

    fn on_recovered(&mut self, window: &mut Window) {
        match self.has("on_recovered") {
            true => self.set(window, "on_recovered", None),
            false => window.cwnd = window.ssthresh,
        }
    }

    fn on_timeout(&mut self) {
        if self.has("on_timeout") {
            Python::attach(|py| drop(self.call(py, "on_timeout", ())));
        }
    }

    fn pacing_rate(&self) -> Option<f64> {
        self.number("pacing_rate", None)
    }

    fn failure(&self) -> Option<&LawFailure> {
        self.failure.get()
    }
}
