//! The equations, by the classical Runge-Kutta method with a fixed step and interpolated history.
//!
//! Delays are no shorter than two steps, so what is looked up lies behind the present step (the method of steps). The
//! order is four where p is constant. A scheme holds p from step to step; what a step hears of it is the mean over the
//! time it looks back to, so that jumps of p between points cost second order. Where flows start, stop or first hear of
//! a signal, and where the queue or a window meets a bound, a single step is of first order.
//! [`crate::difference`] with half the step tells what remains.

use crate::history::{History, HistoryPosition};
use crate::host::{FluidStep, Host};
use crate::step::{StepError, choose_step};
use crate::{Class, Model, SolverOptions};
use aqmlab_aqm::Aqm;

/// Amounts of packets, over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// Time, s.
    pub time: f64,
    /// Offered to the queue.
    pub offered: f64,
    /// Signalled, by the scheme or the full buffer.
    pub signalled: f64,
    /// Dropped by the scheme.
    pub dropped: f64,
    /// Refused by the full buffer.
    pub lost: f64,
    /// Sent by the link.
    pub served: f64,
    /// Integral of the queue, and of its square.
    pub queue: [f64; 2],
    /// Time at an empty queue, s.
    pub empty: f64,
    /// Time at a full buffer, s.
    pub full: f64,
}

/// A solution at equal distances of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trajectory {
    /// Step of the method, s.
    pub step: f64,
    /// Times, s.
    pub time: Vec<f64>,
    /// Packets waiting.
    pub queue: Vec<f64>,
    /// Share of the offered packets that were signalled.
    pub p: Vec<f64>,
    /// Window of a flow of each class, segments.
    pub windows: Vec<Vec<f64>>,
    /// Rate of a flow of each class, segments/s; 0 while it is not active.
    pub rates: Vec<Vec<f64>>,
    /// Over the whole time.
    pub totals: Totals,
    /// Over the time that means count.
    pub measured: Totals,
    /// Means over that time, class by class: window and rate of a flow.
    pub means: Vec<[f64; 2]>,
}

/// Lets the flows of a model run under a scheme.
///
/// # Errors
/// If the step is too long for the shortest round trip, or too short for the duration.
pub fn run<A: Aqm>(model: &Model, host: Host<A>, options: &SolverOptions) -> Result<Trajectory, StepError> {
    let (step, per_tick) = choose_step(model, host.tick(), options)?;
    let steps = (options.duration / step).ceil() as usize;
    let mut solver = Solver::new(model, host, step, per_tick, options);
    for n in 0..=steps {
        solver.look_back(n as f64 * step);
        solver.keep_point(n as f64 * step);
        if n < steps {
            solver.advance(n);
        }
    }
    Ok(solver.done)
}

/// Signals of the past that reach a class at the start, middle and end of a step: per second and flow.
type SignalRates = [f64; 3];

/// Send time, s, and rate of a flow, packets/s, of the packet whose fate is heard now; `None` before the first.
type SendInstant = Option<(f64, f64)>;

struct Solver<'a, A> {
    model: &'a Model,
    host: Host<A>,
    options: &'a SolverOptions,
    step: f64,
    /// Steps of a period of the scheme's update; 0 without.
    per_tick: usize,
    /// Windows, the queue, and what has been offered so far.
    state: Vec<f64>,
    slopes: [Vec<f64>; 4],
    stage: Vec<f64>,
    before: Vec<f64>,
    history: History,
    places: Vec<HistoryPosition>,
    /// Arrival of the packet that leaves now.
    head: HistoryPosition,
    heard: Vec<SignalRates>,
    /// The packet that each class hears of at the end of the last step looked at, which is the start of the next.
    last_sent: Vec<SendInstant>,
    /// Share that the scheme signals during the present step.
    share: f64,
    /// Share that was signalled in the last step, losses included, and its integral, s.
    p: f64,
    signals: f64,
    done: Trajectory,
}

impl<'a, A: Aqm> Solver<'a, A> {
    fn new(model: &'a Model, host: Host<A>, step: f64, per_tick: usize, options: &'a SolverOptions) -> Self {
        let classes = model.classes.len();
        let longest = model.classes.iter().map(|class| class.rtt).fold(0.0, f64::max);
        let reach = longest + model.buffer / model.capacity + 4.0 * step;
        let mut state = vec![1.0; classes + 2];
        state[classes..].fill(0.0);
        let columns = || vec![Vec::new(); classes];
        Self {
            history: History::new(classes + 1, step, model.capacity, reach),
            slopes: [(); 4].map(|()| vec![0.0; classes + 2]),
            stage: state.clone(),
            before: state.clone(),
            state,
            places: vec![HistoryPosition::default(); classes],
            head: HistoryPosition::default(),
            heard: vec![[0.0; 3]; classes],
            last_sent: vec![None; classes],
            share: 0.0,
            p: 0.0,
            signals: 0.0,
            done: Trajectory {
                step,
                windows: columns(),
                rates: columns(),
                means: vec![[0.0; 2]; classes],
                ..Trajectory::default()
            },
            model,
            host,
            options,
            step,
            per_tick,
        }
    }

    /// Computes the signals that reach each class from time `t` to the end of the step.
    fn look_back(&mut self, t: f64) {
        for (i, class) in self.model.classes.iter().enumerate() {
            let mut at = |now: f64| {
                let arrived = self.history.arrival(now - class.rtt, &mut self.places[i]);
                arrived.map(|s| (s, self.history.value(self.places[i], i) / (now - s)))
            };
            let first = if t > 0.0 { self.last_sent[i] } else { at(t) };
            let sent = [first, at(t + 0.5 * self.step), at(t + self.step)];
            self.last_sent[i] = sent[2];
            let p = self.mean_signal(class, t, sent.map(|sent| sent.map_or(0.0, |(s, _)| s)));
            let rate = |sent: SendInstant| match sent {
                Some((s, rate)) if class.is_active(s) => rate,
                _ => 0.0,
            };
            self.heard[i] = sent.map(|sent| p * rate(sent));
        }
    }

    /// The mean probability of a signal among what a class hears from time `t` to the end of the step.
    fn mean_signal(&self, class: &Class, t: f64, sent: [f64; 3]) -> f64 {
        let (from, to) = match self.host.signals_at_head() {
            true => (t - class.rtt, t + self.step - class.rtt),
            false => (sent[0], sent[2]),
        };
        if to <= 0.0 || to <= from {
            return 0.0;
        }
        (self.history.signals(to) - self.history.signals(from)) / (to - from)
    }

    /// Adds the present to the history, and to what is kept.
    fn keep_point(&mut self, t: f64) {
        self.stage.copy_from_slice(&self.state);
        self.derive(0, 0.0, t);
        for slopes in [0, 3] {
            self.hold(slopes);
        }
        let width = self.model.classes.len() + 1;
        // The last stage of the step before had the slopes on the way here.
        let slopes = [&self.slopes[3][..width], &self.slopes[0][..width]];
        self.history.push(&self.state[..width], slopes, self.signals);
        while self.done.time.len() as f64 * self.options.sample <= t.min(self.options.duration) + 1e-9 {
            self.sample(self.done.time.len() as f64 * self.options.sample);
        }
    }

    /// Holds a value that stands at a bound.
    fn hold(&mut self, number: usize) {
        let queue = self.model.classes.len();
        let bounds = |i: usize| if i < queue { (1.0, self.model.classes[i].window) } else { (0.0, self.model.buffer) };
        for (i, slope) in self.slopes[number][..=queue].iter_mut().enumerate() {
            let (least, most) = bounds(i);
            let outward = (self.state[i] <= least && *slope < 0.0) || (self.state[i] >= most && *slope > 0.0);
            *slope = if outward { 0.0 } else { *slope };
        }
    }

    fn sample(&mut self, t: f64) {
        let classes = &self.model.classes;
        let value = |i: usize| if t > 0.0 { self.history.recent(t, i) } else { self.state[i] };
        let queue = value(classes.len()).clamp(0.0, self.model.buffer);
        for (i, class) in classes.iter().enumerate() {
            let window = value(i).clamp(1.0, class.window); // where a flow starts within a step, a cubic dips
            let rate = if class.is_active(t) { window / self.round_trip(class, queue) } else { 0.0 };
            self.done.windows[i].push(window);
            self.done.rates[i].push(rate);
        }
        self.done.time.push(t);
        self.done.queue.push(queue);
        self.done.p.push(self.p);
    }

    fn round_trip(&self, class: &Class, queue: f64) -> f64 {
        class.rtt + queue.clamp(0.0, self.model.buffer) / self.model.capacity
    }

    /// The slopes of the stage at time `t`, `part` of the way through the step.
    fn derive(&mut self, number: usize, part: f64, t: f64) {
        let classes = self.model.classes.len();
        let queue = self.stage[classes];
        let mut offered = 0.0;
        for (i, class) in self.model.classes.iter().enumerate() {
            let (window, round_trip) = (self.stage[i], self.round_trip(class, queue));
            let heard = self.heard[i][(2.0 * part) as usize];
            let windows = self.model.windows;
            let active = class.is_active(t);
            self.slopes[number][i] =
                if active { windows.growth(window) / round_trip - windows.cut(window) * heard } else { 0.0 };
            offered += if active { class.count * class.size * window / round_trip } else { 0.0 };
        }
        let joined = if self.model.ecn { offered } else { offered * (1.0 - self.share) };
        self.slopes[number][classes] = joined - self.model.capacity;
        self.slopes[number][classes + 1] = offered;
    }

    /// The step from point `n` on.
    fn advance(&mut self, n: usize) {
        let (t, h, classes) = (n as f64 * self.step, self.step, self.model.classes.len());
        if self.per_tick > 0 && n.is_multiple_of(self.per_tick) {
            self.host.update(t, self.state[classes]);
        }
        self.share = self.host.share();
        self.before.copy_from_slice(&self.state);
        for (number, part) in [0.0, 0.5, 0.5, 1.0].into_iter().enumerate() {
            for (i, stage) in self.stage.iter_mut().enumerate() {
                let slope = if number == 0 { 0.0 } else { self.slopes[number - 1][i] };
                *stage = self.before[i] + part * h * slope;
            }
            self.derive(number, part, t + part * h);
        }
        let [k1, k2, k3, k4] = &self.slopes;
        for (i, value) in self.state.iter_mut().enumerate() {
            *value += h / 6.0 * (k1[i] + 2.0 * (k2[i] + k3[i]) + k4[i]);
        }
        self.keep_bounds();
        self.settle_accounts(t);
    }

    fn keep_bounds(&mut self) {
        for (window, class) in self.state.iter_mut().zip(&self.model.classes) {
            *window = window.clamp(1.0, class.window);
        }
    }

    /// Counts the step's packets, once the queue is held within its bounds.
    fn settle_accounts(&mut self, t: f64) {
        let (h, classes, share) = (self.step, self.model.classes.len(), self.share);
        let reached = self.state[classes];
        let queue = reached.clamp(0.0, self.model.buffer);
        self.state[classes] = queue;
        let offered = self.state[classes + 1] - self.before[classes + 1];
        let (lost, idle) = ((reached - queue).max(0.0), (queue - reached).max(0.0));
        let refused = if offered > 0.0 { (lost / offered).min(1.0) } else { 0.0 };
        self.p = if self.model.ecn { share + refused * (1.0 - share) } else { (share + refused).min(1.0) };
        self.signals += h * self.p;
        let middle = (self.before[classes] + queue) / 2.0;
        let step = Totals {
            time: h,
            offered,
            signalled: self.p * offered,
            dropped: if self.model.ecn { 0.0 } else { share * offered },
            lost,
            served: self.model.capacity * h - idle,
            queue: [h * middle, h * middle * middle],
            empty: if queue <= 0.0 { h } else { 0.0 },
            full: if lost > 0.0 { h } else { 0.0 },
        };
        self.done.totals.add(&step);
        if t >= self.options.from - 1e-9 {
            self.done.measured.add(&step);
            self.add_means(t, middle);
        }
        let left = self.history.arrival(t, &mut self.head).unwrap_or(0.0);
        let queues = [self.before[classes], queue];
        let offered = [self.before[classes + 1], self.state[classes + 1]];
        self.host.advance(&FluidStep { t, step: h, queue: queues, offered, lost: refused, delay: t - left });
    }

    fn add_means(&mut self, t: f64, queue: f64) {
        for (i, class) in self.model.classes.iter().enumerate() {
            let window = (self.before[i] + self.state[i]) / 2.0;
            let rate = if class.is_active(t) { window / self.round_trip(class, queue) } else { 0.0 };
            // A running mean: the sum over equal steps would need their number.
            let weight = self.step / self.done.measured.time;
            let [mean_window, mean_rate] = &mut self.done.means[i];
            *mean_window += weight * (window - *mean_window);
            *mean_rate += weight * (rate - *mean_rate);
        }
    }
}

impl Totals {
    fn add(&mut self, more: &Totals) {
        self.time += more.time;
        self.offered += more.offered;
        self.signalled += more.signalled;
        self.dropped += more.dropped;
        self.lost += more.lost;
        self.served += more.served;
        self.queue[0] += more.queue[0];
        self.queue[1] += more.queue[1];
        self.empty += more.empty;
        self.full += more.full;
    }
}
