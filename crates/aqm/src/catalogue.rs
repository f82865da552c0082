//! The list of schemes: a new one is one file in `schemes/` and one line here.

use crate::schemes::*;
use crate::{Aqm, Ctx, Info, Observable, PacketView, QueueView, Scheme, Verdict};
use aqmlab_core::params::Values;
use aqmlab_core::problem::unknown;
use aqmlab_core::{ParamSet, ParamSpec, Problem, Problems, Span};

/// Parameters being set: name and text.
pub type Pairs<'a> = &'a [(&'a str, &'a str)];

/// A scheme as the catalogue knows it.
pub struct Entry {
    /// Name, family, year, source.
    pub info: &'static Info,
    /// The page: idea, equations, readings, departures (Markdown).
    pub page: &'static str,
    /// What it shows for plots.
    pub observables: &'static [Observable],
    /// Its parameters.
    pub params: fn() -> Vec<ParamSpec>,
    values: fn(&str, Pairs, &mut Vec<Problem>) -> Values,
    build: fn(&str, Pairs, &QueueView) -> Result<AnyAqm, Problems>,
}

impl Entry {
    /// Every parameter with the value it takes when `pairs` are set; the errors carry `path`.
    pub fn values(&self, path: &str, pairs: Pairs) -> Result<Values, Problems> {
        let mut problems = Vec::new();
        let values = (self.values)(path, pairs, &mut problems);
        if problems.is_empty() { Ok(values) } else { Err(Problems(problems)) }
    }

    /// The scheme for a queue like this one; the errors carry `path`.
    pub fn build(&self, path: &str, pairs: Pairs, queue: &QueueView) -> Result<AnyAqm, Problems> {
        (self.build)(path, pairs, queue)
    }
}

/// The scheme called `name`.
pub fn entry(name: &str) -> Result<&'static Entry, String> {
    let names: Vec<&str> = CATALOGUE.iter().map(|e| e.info.name).collect();
    CATALOGUE.iter().find(|e| e.info.name == name).ok_or_else(|| unknown("scheme", name, &names))
}

fn read<S: Scheme>(path: &str, pairs: Pairs, problems: &mut Vec<Problem>) -> S::Params {
    let mut params = S::Params::defaults();
    params.read(path, pairs.iter().copied(), problems);
    params
}

fn build<S: Scheme>(path: &str, pairs: Pairs, queue: &QueueView) -> Result<S, Problems> {
    let mut problems = Vec::new();
    let params = read::<S>(path, pairs, &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    S::new(params, queue).map_err(|why| Problems::one(path, why))
}

macro_rules! built_in {
    ($($variant:ident)*) => {
        /// Any scheme of the catalogue. The enum lets a packet reach its scheme without an indirect call.
        #[allow(missing_docs)]
        pub enum AnyAqm { $($variant($variant)),* }

        /// Every scheme.
        pub static CATALOGUE: &[Entry] = &[$(Entry {
            info: &$variant::INFO,
            page: <<$variant as Scheme>::Params as ParamSet>::DOC,
            observables: $variant::OBSERVABLES,
            params: <<$variant as Scheme>::Params as ParamSet>::specs,
            values: |path, pairs, problems| read::<$variant>(path, pairs, problems).values(),
            build: |path, pairs, queue| build::<$variant>(path, pairs, queue).map(AnyAqm::$variant),
        }),*];

        impl Aqm for AnyAqm {
            #[inline]
            fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                match self { $(Self::$variant(aqm) => aqm.on_enqueue(packet, queue, cx)),* }
            }
            #[inline]
            fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                match self { $(Self::$variant(aqm) => aqm.on_dequeue(packet, queue, cx)),* }
            }
            fn acts_on_dequeue(&self) -> bool {
                match self { $(Self::$variant(aqm) => aqm.acts_on_dequeue()),* }
            }
            fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
                match self { $(Self::$variant(aqm) => aqm.on_overflow(queue, cx)),* }
            }
            fn on_empty(&mut self, cx: &mut Ctx) {
                match self { $(Self::$variant(aqm) => aqm.on_empty(cx)),* }
            }
            fn tick_every(&self) -> Option<Span> {
                match self { $(Self::$variant(aqm) => aqm.tick_every()),* }
            }
            fn on_tick(&mut self, queue: &QueueView, cx: &mut Ctx) {
                match self { $(Self::$variant(aqm) => aqm.on_tick(queue, cx)),* }
            }
            fn observe(&self, i: usize) -> f64 {
                match self { $(Self::$variant(aqm) => aqm.observe(i)),* }
            }
        }
    };
}

built_in! {
    DropTail
    Red
    Ared
    Pi
    Rem
    Iapi
    NeuronPid
    AnAqm
    Fapidnn
    Nrl
    RqAqm
    PdRed
    NpdRed
    Avq
    Pid
    Flc
    FuzzyRtt
    Codel
    Pie
    Pi2
    Blue
}
