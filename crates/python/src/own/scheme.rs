//! An instance of a user's class at work: only hooks that the class overrides are called, with the same two view objects
//! each time. The drop probability `p` is applied here, packet by packet, unless the class judges arrivals itself.

use super::views::{HookVerdict, Packet, Queue, Scheme};
use aqmlab_aqm::{Aqm, Ctx, EARLY, Ecn, Failure, PacketView, QueueView, Tune, Verdict};
use aqmlab_core::params::ParamInput;
use aqmlab_core::problem::unknown;
use aqmlab_core::runtime_param::read_all;
use aqmlab_core::{Frequency, Quantity, RuntimeParam, Span, Stream, Time, Value};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::{PyKeyboardInterrupt, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyString, PyType};
use std::cell::OnceCell;

/// The hooks that a class may override, by their place in [`OwnAqm::hooks`].
#[derive(Clone, Copy)]
enum Hook {
    Enqueue,
    Dequeue,
    Tick,
    Empty,
    Overflow,
}

const HOOKS: [&str; 5] = ["on_enqueue", "on_dequeue", "on_tick", "on_empty", "on_overflow"];

/// An instance of a user's class at work.
pub struct OwnAqm {
    scheme: Py<Scheme>,
    hooks: [Option<Py<PyAny>>; HOOKS.len()],
    packet: Py<Packet>,
    queue: Py<Queue>,
    observables: Vec<Py<PyString>>,
    params: Vec<RuntimeParam>,
    /// The class's method for its tick, and the period.
    tick: Option<(Py<PyAny>, Span)>,
    /// As the last hook left it.
    p: f64,
    now: Time,
    /// Stands in for the random stream while a hook has it.
    spare: Stream,
    failure: OnceCell<Failure>,
}

impl OwnAqm {
    /// A fresh instance, reset for this queue.
    pub fn new(
        class: &Bound<'_, PyType>,
        hooks: &[String],
        observables: &[&str],
        params: &[RuntimeParam],
        pairs: &[(&str, &str)],
        queue: &QueueView,
    ) -> Result<Self, String> {
        let py = class.py();
        let mut own = Self::reset(class, hooks, observables, params, pairs, queue).map_err(|error| {
            let contradictory = error.is_instance_of::<PyValueError>(py);
            if contradictory { error.value(py).to_string() } else { error_line(py, "reset", &error) }
        })?;
        own.tick = own.read_tick(py)?;
        observables.iter().try_for_each(|name| own.shown(py, name).map(drop))?;
        Ok(own)
    }

    fn reset(
        class: &Bound<'_, PyType>,
        hooks: &[String],
        observables: &[&str],
        params: &[RuntimeParam],
        pairs: &[(&str, &str)],
        queue: &QueueView,
    ) -> PyResult<Self> {
        let py = class.py();
        let parameters = PyDict::new(py);
        pairs.iter().try_for_each(|(name, text)| parameters.set_item(name, text))?;
        let scheme = class.call((), Some(&parameters))?.cast_into::<Scheme>()?;
        let queue = Py::new(py, Queue::from(queue))?;
        scheme.call_method1(intern!(py, "reset"), (&queue,))?;
        let mut bound = [const { None }; HOOKS.len()];
        for (place, name) in bound.iter_mut().zip(HOOKS).filter(|(_, name)| hooks.iter().any(|hook| hook == name)) {
            *place = Some(scheme.getattr(name)?.unbind());
        }
        let ecn = Ecn::NotEct;
        let enqueued_at = Time::ZERO;
        let packet =
            PacketView { size: 0, flow: 0, flow_hash: 0, rtt: None, dscp: 0, enqueued_at, ecn, can_mark: false };
        Ok(Self {
            hooks: bound,
            packet: Py::new(py, Packet::from(&packet))?,
            queue,
            observables: observables.iter().map(|name| PyString::intern(py, name).unbind()).collect(),
            params: params.to_vec(),
            tick: None,
            p: scheme.borrow().p,
            now: Time::ZERO,
            spare: Stream::new(0, "spare", 0),
            failure: OnceCell::new(),
            scheme: scheme.unbind(),
        })
    }

    /// The scheme in the same state, by `copy.deepcopy`.
    fn copied(&self, py: Python) -> PyResult<Self> {
        let scheme = py.import("copy")?.call_method1("deepcopy", (&self.scheme,))?.cast_into::<Scheme>()?;
        {
            let (own, mut copy) = (self.scheme.borrow(py), scheme.borrow_mut());
            (copy.now, copy.p) = (own.now, own.p);
        }
        let mut hooks = [const { None }; HOOKS.len()];
        for (i, place) in hooks.iter_mut().enumerate().filter(|(i, _)| self.hooks[*i].is_some()) {
            *place = Some(scheme.getattr(HOOKS[i])?.unbind());
        }
        Ok(Self {
            hooks,
            packet: Py::new(py, *self.packet.borrow(py))?,
            queue: Py::new(py, *self.queue.borrow(py))?,
            scheme: scheme.unbind(),
            ..self.shared(py)
        })
    }

    /// The same instance behind another handle.
    fn shared(&self, py: Python) -> Self {
        Self {
            scheme: self.scheme.clone_ref(py),
            hooks: std::array::from_fn(|i| self.hooks[i].as_ref().map(|hook| hook.clone_ref(py))),
            packet: self.packet.clone_ref(py),
            queue: self.queue.clone_ref(py),
            observables: self.observables.iter().map(|name| name.clone_ref(py)).collect(),
            params: self.params.clone(),
            tick: self.tick.as_ref().map(|(tick, period)| (tick.clone_ref(py), *period)),
            p: self.p,
            now: self.now,
            spare: self.spare.clone(),
            failure: self.failure.clone(),
        }
    }

    fn read_tick(&self, py: Python) -> Result<Option<(Py<PyAny>, Span)>, String> {
        if self.hooks[Hook::Tick as usize].is_none() {
            return Ok(None);
        }
        let tick = self.scheme.bind(py).getattr(intern!(py, "tick")).map_err(|error| error_line(py, "tick", &error))?;
        let period = period(&tick).map_err(|why| format!("tick: {why}"))?;
        Ok(Some((tick.unbind(), period)))
    }

    /// Calls a hook; what it raises ends the run.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        hook: Hook,
        args: impl PyCallArgs<'py>,
        cx: &mut Ctx,
    ) -> Option<Bound<'py, PyAny>> {
        let called = self.hooks[hook as usize].as_ref().filter(|_| self.failure.get().is_none())?;
        self.now = cx.now;
        {
            let mut scheme = self.scheme.borrow_mut(py);
            scheme.now = cx.now.seconds();
            scheme.rng = Some(std::mem::replace(cx.rng, self.spare.clone()));
        }
        let answer = called.bind(py).call1(args);
        {
            let mut scheme = self.scheme.borrow_mut(py);
            *cx.rng = scheme.rng.take().expect("lent above, and only taken back here");
            self.p = scheme.p;
        }
        answer.map_err(|error| self.fail(error_line(py, HOOKS[hook as usize], &error))).ok()
    }

    /// Shows a packet to a hook and reads its answer.
    fn judge(&mut self, hook: Hook, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        Python::attach(|py| {
            *self.packet.borrow_mut(py) = packet.into();
            *self.queue.borrow_mut(py) = queue.into();
            let args = (self.packet.clone_ref(py), self.queue.clone_ref(py));
            let Some(answer) = self.call(py, hook, args, cx) else { return Verdict::Pass };
            verdict(&answer).unwrap_or_else(|| {
                self.fail(format!(
                    "{} returned {}, which is not a verdict; return None, True, False or aqmlab.PASS, SIGNAL, MARK or DROP",
                    HOOKS[hook as usize],
                    shown(&answer)
                ));
                Verdict::Pass
            })
        })
    }

    /// Tells a hook of something at the queue.
    fn tell(&mut self, hook: Hook, queue: &QueueView, cx: &mut Ctx) {
        if self.hooks[hook as usize].is_some() {
            Python::attach(|py| {
                *self.queue.borrow_mut(py) = queue.into();
                self.call(py, hook, (self.queue.clone_ref(py),), cx);
            });
        }
    }

    /// The period that was agreed on at the start still holds.
    fn check_tick(&self) {
        let Some((agreed, _)) = self.tick.as_ref().filter(|_| self.failure.get().is_none()) else { return };
        Python::attach(|py| {
            let agreed = agreed.bind(py);
            match self.scheme.bind(py).getattr(intern!(py, "tick")) {
                Ok(tick) if tick.is(agreed) || tick.eq(agreed).unwrap_or(false) => {}
                Ok(tick) => {
                    self.fail(format!("tick changed from {} to {} during the run", shown(agreed), shown(&tick)))
                }
                Err(error) => self.fail(error_line(py, "tick", &error)),
            }
        });
    }

    /// The value of an observable.
    fn shown(&self, py: Python, name: &str) -> Result<f64, String> {
        let value = self.scheme.bind(py).getattr(name).map_err(|error| error_line(py, name, &error))?;
        value.extract().map_err(|_| format!("observable {name} is {}, not a number", shown(&value)))
    }

    /// The first cause counts.
    fn fail(&self, cause: String) {
        self.failure.get_or_init(|| Failure { at: self.now, cause });
    }
}

/// The shortest and the longest period of a tick, s.
const PERIODS: std::ops::RangeInclusive<f64> = 1e-6..=3600.0;

/// A time, a frequency, or seconds.
fn period(tick: &Bound<'_, PyAny>) -> Result<Span, String> {
    let wanted = "write a period such as \"1 ms\", \"170 Hz\" or 0.001 (s)";
    let seconds = if let Ok(text) = tick.extract::<String>() {
        let time = Span::parse(&text).map(Span::seconds);
        time.or_else(|why| Frequency::parse(&text).map(|frequency| 1.0 / frequency.0).map_err(|_| why))?
    } else {
        tick.extract().map_err(|_| format!("{} is not a period; {wanted}", shown(tick)))?
    };
    if !PERIODS.contains(&seconds) {
        return Err(format!("{} is out of range: must lie in 1 us ..= 1 h; {wanted}", shown(tick)));
    }
    Ok(Span::from_seconds(seconds))
}

fn verdict(answer: &Bound<'_, PyAny>) -> Option<Verdict> {
    if answer.is_none() {
        return Some(Verdict::Pass);
    }
    if let Ok(answer) = answer.cast::<HookVerdict>() {
        return Some(match answer.get() {
            HookVerdict::Pass => Verdict::Pass,
            HookVerdict::Signal => Verdict::Signal(EARLY),
            HookVerdict::Mark => Verdict::MarkOnly(EARLY),
            HookVerdict::Drop => Verdict::Drop(EARLY),
        });
    }
    let signal = if answer.is_instance_of::<PyBool>() || is_numpy_bool(answer) {
        answer.is_truthy().ok()?
    } else {
        return None;
    };
    Some(if signal { Verdict::Signal(EARLY) } else { Verdict::Pass })
}

/// True for the result of comparing NumPy's numbers; `numpy.bool_` before NumPy 2.
fn is_numpy_bool(answer: &Bound<'_, PyAny>) -> bool {
    let kind = answer.get_type().fully_qualified_name();
    kind.is_ok_and(|kind| kind == "numpy.bool" || kind == "numpy.bool_")
}

/// A value as Python writes it, on one short line.
pub(super) fn shown(value: &Bound<'_, PyAny>) -> String {
    let text = value.repr().map_or_else(|_| "something".into(), |text| text.to_string());
    text.lines().next().unwrap_or_default().chars().take(60).collect()
}

/// Ctrl-C while a scheme is at work is not its doing: it stays pending until the engine has come to an end.
fn keep_interrupt(py: Python, error: &PyErr) {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // Where it cannot be raised again, the scheme's failure tells of it.
        let _ = py.import("_thread").and_then(|thread| thread.call_method0("interrupt_main"));
    }
}

/// A Python error in one line, with the place; the line is that of the hook.
pub(super) fn error_line(py: Python, place: &str, error: &PyErr) -> String {
    let kind = error.get_type(py).name().map_or_else(|_| "an exception".into(), |name| name.to_string());
    let message = error.value(py).to_string();
    let message = message.lines().next().map(|line| format!(": {line}")).unwrap_or_default();
    let line = error.traceback(py).and_then(|trace| trace.getattr("tb_lineno").ok());
    let line = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    keep_interrupt(py, error);
    format!("{place} raised {kind}{message}{line}")
}

/// By `copy.deepcopy`. A scheme that cannot be copied gives one that has failed, with the reason.
impl Clone for OwnAqm {
    fn clone(&self) -> Self {
        Python::attach(|py| {
            self.copied(py).unwrap_or_else(|error| {
                let broken = self.shared(py);
                broken.fail(format!("the scheme cannot be copied: {}", error_line(py, "copy.deepcopy", &error)));
                broken
            })
        })
    }
}

/// Sets the attribute; what the class has made of it in `reset` stays.
impl Tune for OwnAqm {
    fn set_param(&mut self, name: &str, value: ParamInput, _: &QueueView) -> Result<(), String> {
        let names: Vec<&str> = self.params.iter().map(|param| param.spec.name).collect();
        let declared = self.params.iter().find(|param| param.spec.name == name);
        let declared = declared.ok_or_else(|| unknown("parameter", name, &names))?;
        let (text, mut problems) = (value.text(&declared.spec), Vec::new());
        let (values, _) = read_all(std::slice::from_ref(declared), "", &[(name, &text)], &mut problems);
        if let Some(problem) = problems.pop() {
            return Err(format!("{name}: {}", problem.reason));
        }
        Python::attach(|py| {
            let scheme = self.scheme.bind(py);
            let set = match values[0] {
                Value::Number(number) => scheme.setattr(name, number),
                Value::Switch(switch) => scheme.setattr(name, switch),
                Value::Word(word) => scheme.setattr(name, word),
            };
            set.map_err(|error| error_line(py, name, &error))
        })
    }
}

impl Aqm for OwnAqm {
    fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        match self.hooks[Hook::Enqueue as usize] {
            Some(_) => self.judge(Hook::Enqueue, packet, queue, cx),
            None if cx.chance(self.p) => Verdict::Signal(EARLY),
            None => Verdict::Pass,
        }
    }

    fn acts_on_dequeue(&self) -> bool {
        self.hooks[Hook::Dequeue as usize].is_some()
    }

    fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
        if self.acts_on_dequeue() { self.judge(Hook::Dequeue, packet, queue, cx) } else { Verdict::Pass }
    }

    fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.tell(Hook::Overflow, queue, cx);
    }

    fn on_empty(&mut self, cx: &mut Ctx) {
        if self.hooks[Hook::Empty as usize].is_some() {
            Python::attach(|py| drop(self.call(py, Hook::Empty, (), cx)));
        }
    }

    fn tick_every(&self) -> Option<Span> {
        self.tick.as_ref().map(|(_, period)| *period)
    }

    fn on_tick(&mut self, queue: &QueueView, cx: &mut Ctx) {
        self.tell(Hook::Tick, queue, cx);
        self.check_tick();
    }

    fn observe(&self, i: usize) -> f64 {
        let Some(name) = self.observables.get(i) else { return f64::NAN };
        Python::attach(|py| self.shown(py, name.bind(py).to_str().unwrap_or_default())).unwrap_or_else(|why| {
            self.fail(why);
            f64::NAN
        })
    }

    fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }
}
