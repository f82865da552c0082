//! The schemes by name: those of `schemes/`, alone and in flow queueing, and those from elsewhere.

use crate::disciplines::{Any, Coupled, Dual, Fair, FairParams, Htb, HtbClass, Joins, Mq, MqParams, Tins};
use crate::link_layer::LinkLayer;
use crate::schemes::cake::Cake;
use crate::schemes::cake_mq::{CakeMq, CakeMqParams};
use crate::schemes::fixed_p::FixedP;
use crate::schemes::fq::Fq;
use crate::schemes::{every_coupled, every_scheme};
use crate::{
    Aqm, Carried, Ctx, Exception, Failure, Fifo, Limit, LinearLaw, OWN, Observable, PacketView, QueueView, Scheme,
    SchemeInfo, Signal, Standing, Tc, Tune, Verdict,
};
use aqmlab_core::params::{ParamInput, TypedValues, Values};
use aqmlab_core::problem::unknown;
use aqmlab_core::{ParamSet, ParamSpec, Problem, Problems, Quantity, Span, Time};
use std::sync::{PoisonError, RwLock};

/// Parameters being set: name and text.
pub type Pairs<'a> = &'a [(&'a str, &'a str)];

/// A scheme as the catalogue knows it.
#[derive(Clone, Copy)]
pub struct SchemeEntry {
    /// Name, family, year, source.
    pub info: &'static SchemeInfo,
    /// The basis of its law and constants.
    pub standing: Standing,
    /// The page: idea, equations, readings, departures (Markdown).
    pub page: &'static str,
    /// Quantities that it shows for plots.
    pub observables: &'static [Observable],
    /// Parameters whose mean is the queue that it steers to, that of its link where they are "auto" or there are none;
    /// `None` if it steers to no length.
    pub target: Option<&'static [&'static str]>,
    /// The point of a fluid at which its signals fall, or the reason why it has none.
    pub signal: Result<Signal, &'static str>,
    /// Clauses of the contract that it does not keep, and why.
    pub exceptions: &'static [Exception],
    /// Its counterpart in Linux.
    pub tc: Option<Tc>,
    /// Bytes of its parameters and state; of each queue's in flow queueing. Tables on the heap are not in it, which FuzzyRTT,
    /// LRED, SFB and SRED have. `None` of a scheme that is not in Rust.
    pub memory: Option<usize>,
    /// Its parameters.
    pub params: &'static (dyn Fn() -> Vec<ParamSpec> + Sync),
    pub(crate) values: &'static (dyn Fn(&str, Pairs, &mut Vec<Problem>) -> Values + Sync),
    pub(crate) law: &'static LinearLawBuilder,
    pub(crate) build: &'static SchemeBuilder,
    /// It was published: it is listed, not only known by its name.
    pub(crate) is_listed: bool,
}

/// Reads parameters and makes the linear law of a scheme, with them in base units; the errors carry the path.
pub(crate) type LinearLawBuilder = dyn Fn(&str, Pairs, &mut Vec<Problem>) -> Option<LinearLawAndValues> + Sync;

/// A scheme's linear law, and the values of its parameters.
pub type LinearLawAndValues = (Box<dyn LinearLaw>, TypedValues);

/// Reads parameters and builds a scheme; the errors carry the path.
pub(crate) type SchemeBuilder = dyn Fn(&str, Pairs, &QueueView) -> Result<AnyScheme, Problems> + Sync;

impl SchemeEntry {
    /// Every parameter with the value it takes when `pairs` are set; the errors carry `path`.
    pub fn values(&self, path: &str, pairs: Pairs) -> Result<Values, Problems> {
        let mut problems = Vec::new();
        let values = (self.values)(path, pairs, &mut problems);
        if problems.is_empty() { Ok(values) } else { Err(Problems(problems)) }
    }

    /// The index of the observable `name`; see [`Aqm::observe`].
    pub fn observable(&self, name: &str) -> Option<usize> {
        self.observables.iter().position(|shown| shown.name == name)
    }

    /// The linear law, if the scheme has one, and its parameters in base units, when `pairs` are set; the errors carry
    /// `path`.
    pub fn law(&self, path: &str, pairs: Pairs) -> Result<Option<LinearLawAndValues>, Problems> {
        let mut problems = Vec::new();
        let found = (self.law)(path, pairs, &mut problems);
        if !problems.is_empty() {
            return Err(Problems(problems));
        }
        if let Some((law, _)) = &found {
            law.rests().map_err(|why| Problems::one(path, why))?;
        }
        Ok(found)
    }

    /// The scheme for a link's queue like this one; the errors carry `path`.
    pub fn build(&self, path: &str, pairs: Pairs, queue: &QueueView) -> Result<AnyScheme, Problems> {
        (self.build)(path, pairs, queue)
    }

    const fn of<S: Scheme>(build: &'static SchemeBuilder) -> Self {
        Self {
            info: const { &S::INFO },
            standing: S::STANDING,
            page: S::Params::DOC,
            observables: S::OBSERVABLES,
            target: S::TARGET,
            signal: S::SIGNAL,
            exceptions: S::EXCEPTIONS,
            tc: S::TC,
            memory: Some(size_of::<S>()),
            params: &S::Params::specs,
            values: &|path, pairs, problems| read::<S>(path, pairs, problems).values(),
            law: &|path, pairs, problems| {
                let params = read::<S>(path, pairs, problems);
                S::LINEAR_LAW.map(|law| (law(params), params.typed()))
            },
            build,
            is_listed: S::IS_LISTED,
        }
    }
}

/// Every listed scheme; those from elsewhere come last.
pub fn entries() -> Vec<SchemeEntry> {
    all().into_iter().filter(|entry| entry.is_listed).collect()
}

/// The scheme called `name`: a listed one, or `fq-` and the name of any scheme of a single queue.
///
/// # Errors
/// If there is none; the message names the nearest.
pub fn entry(name: &str) -> Result<SchemeEntry, String> {
    let all = all();
    let known = all.iter().filter(|entry| entry.is_listed || entry.info.family == OWN);
    let names: Vec<&str> = known.map(|entry| entry.info.name).collect();
    all.iter().find(|entry| entry.info.name == name).copied().ok_or_else(|| {
        let in_linux = all.iter().find(|entry| entry.tc.is_some_and(|tc| tc.kind == name)).map(|entry| entry.info.name);
        in_linux.map_or_else(
            || unknown("scheme", name, &names),
            |meant| format!("unknown scheme \"{name}\", as tc calls it; did you mean \"{meant}\"?"),
        )
    })
}

fn all() -> Vec<SchemeEntry> {
    let elsewhere = REGISTERED.read().unwrap_or_else(PoisonError::into_inner);
    [ALONE, COUPLED, TINS, FAIR, UNLISTED, &elsewhere[..]].concat()
}

/// Schemes from elsewhere.
static REGISTERED: RwLock<Vec<SchemeEntry>> = RwLock::new(Vec::new());

/// Adds entries, each in the place of an earlier one of its name from elsewhere.
pub(crate) fn add(entries: impl IntoIterator<Item = SchemeEntry>) {
    let mut registered = REGISTERED.write().unwrap_or_else(PoisonError::into_inner);
    for entry in entries {
        registered.retain(|known| known.info.name != entry.info.name);
        registered.push(entry);
    }
}

/// Adds a scheme from elsewhere to the catalogue of this process: alone, and in flow queueing as `fq-` and its name.
///
/// # Errors
/// If there is a scheme of that name.
pub fn register<S: Scheme + Aqm + Clone + Send + 'static>() -> Result<(), String> {
    if entry(S::INFO.name).is_ok() {
        return Err(format!("a scheme called \"{}\" exists already", S::INFO.name));
    }
    let alone: &SchemeBuilder =
        &|path, pairs, queue| build::<S, _>(path, pairs, queue, boxed::<S>).map(AnyScheme::Fifo);
    let fair: &SchemeBuilder = &|path, pairs, queue| build_fair::<S>(path, pairs, queue, boxed::<S>);
    add([SchemeEntry::of::<S>(alone), SchemeEntry::of::<Fq<S>>(fair)]);
    Ok(())
}

fn boxed<S: Scheme + Aqm + Clone + Send + 'static>(params: S::Params, queue: &QueueView) -> Result<AnyAqm, String> {
    S::new(params, queue).map(|scheme| AnyAqm::Boxed(Box::new(scheme)))
}

fn read<S: Scheme>(path: &str, pairs: Pairs, problems: &mut Vec<Problem>) -> S::Params {
    let mut params = S::Params::defaults();
    params.read(path, pairs.iter().copied(), problems);
    params
}

fn build<S: Scheme, T>(
    path: &str,
    pairs: Pairs,
    queue: &QueueView,
    make: impl Fn(S::Params, &QueueView) -> Result<T, String>,
) -> Result<T, Problems> {
    let mut problems = Vec::new();
    let params = read::<S>(path, pairs, &mut problems);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    make(params, queue).map_err(|why| Problems::one(path, why))
}

/// A scheme for each queue of a link that `queue` describes.
fn build_fair<S: Scheme>(
    path: &str,
    pairs: Pairs,
    queue: &QueueView,
    make: fn(S::Params, &QueueView) -> Result<AnyAqm, String>,
) -> Result<AnyScheme, Problems> {
    let fq = build::<Fq<S>, _>(path, pairs, queue, Fq::<S>::new)?;
    let scheme = make(fq.params.inner, queue).map_err(|why| Problems::one(path, why))?;
    Ok(AnyScheme::Fair(fq.params.fair, scheme))
}

/// A scheme that is built and has no queue yet.
#[allow(clippy::large_enum_variant)] // lives for the set-up of a run
#[derive(Clone)]
pub enum AnyScheme {
    /// For a single queue.
    Fifo(AnyAqm),
    /// For each queue of flow queueing.
    Fair(FairParams, AnyAqm),
    /// For the two queues of RFC 9332.
    Dual(AnyCoupled),
    /// For tins of flow queueing behind a shaper.
    Tins(Cake),
    /// For several of these, which share the shaper's rate.
    Mq(MqParams, Cake),
    /// For the leaves of a tree of classes.
    Htb(HtbPlan),
}

/// A tree of classes that has no queues yet.
#[derive(Clone)]
pub struct HtbPlan {
    /// The classes.
    pub classes: Vec<HtbClass>,
    /// The schemes of the leaves, and whether they mark.
    pub schemes: Vec<(AnyScheme, bool)>,
    /// Bytes that packets take on the link.
    pub layer: LinkLayer,
}

impl HtbPlan {
    /// The period of the updates of all schemes that have any.
    ///
    /// # Errors
    /// If two differ, for the updates of a link come at once.
    pub fn period(&self) -> Result<Option<Span>, String> {
        let mut found: Option<Span> = None;
        for (scheme, _) in &self.schemes {
            let period = scheme.tick_every();
            if let (Some(one), Some(other)) = (found, period)
                && one != other
            {
                let (one, other) = (one.text(), other.text());
                return Err(format!("have schemes that update each {one} and each {other}; a link has one such time"));
            }
            found = found.or(period);
        }
        Ok(found)
    }
}

impl AnyScheme {
    /// Period of its updates, if it has any.
    fn tick_every(&self) -> Option<Span> {
        match self {
            AnyScheme::Fifo(scheme) | AnyScheme::Fair(_, scheme) => scheme.tick_every(),
            AnyScheme::Dual(scheme) => scheme.period(),
            AnyScheme::Tins(_) | AnyScheme::Mq(..) => None,
            AnyScheme::Htb(plan) => plan.period().ok().flatten(),
        }
    }

    /// The queues of a link that `view` describes; they hold `limit`, mark if `ecn`, and hash flows with `salt`. Those of a tree
    /// of classes mark as it says.
    pub fn queue<P: Carried>(self, view: QueueView, limit: Limit, ecn: bool, salt: u64) -> AnyQueue<P> {
        match self {
            AnyScheme::Fifo(scheme) => Any::Fifo(Fifo::new(scheme, view, limit, ecn)),
            AnyScheme::Fair(params, scheme) => Any::Fair(Box::new(Fair::new(params, scheme, view, limit, ecn, salt))),
            AnyScheme::Dual(scheme) => Any::Dual(Box::new(Dual::new(scheme, view, limit, ecn))),
            AnyScheme::Tins(scheme) => Any::Tins(Box::new(Tins::new(scheme, view, limit, ecn, salt))),
            AnyScheme::Mq(params, scheme) => Any::Mq(Box::new(Mq::new(params, scheme, view, limit, ecn, salt))),
            AnyScheme::Htb(HtbPlan { classes, schemes, layer }) => {
                let queue = |(scheme, marks): (AnyScheme, bool)| scheme.queue(view, limit, marks, salt);
                let models = schemes.into_iter().map(queue).collect();
                Any::Htb(Box::new(Htb::new(classes, models, layer, view, limit)))
            }
        }
    }
}

/// Any queue discipline under any scheme.
pub type AnyQueue<P> = Any<AnyAqm, AnyCoupled, Cake, P>;

/// A scheme behind a pointer, which can be copied.
pub trait BoxedAqm: Aqm + Tune + Send {
    /// The same scheme in the same state. One that cannot be copied gives one that has failed, with the reason.
    fn copy(&self) -> Box<dyn BoxedAqm>;
}

impl<A: Aqm + Tune + Clone + Send + 'static> BoxedAqm for A {
    fn copy(&self) -> Box<dyn BoxedAqm> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn BoxedAqm> {
    fn clone(&self) -> Self {
        (**self).copy()
    }
}

/// A call of its own for each scheme: all of them inlined in one function give it a frame that every packet pays for.
#[inline(never)]
fn arrives(aqm: &mut impl Aqm, packet: impl FnOnce(Time) -> PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
    aqm.on_enqueue(&packet(cx.now), queue, cx)
}

#[inline(never)]
fn leaves(aqm: &mut impl Aqm, packet: impl FnOnce() -> PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
    aqm.on_dequeue(&packet(), queue, cx)
}

#[inline(never)]
fn arrives_boxed(
    aqm: &mut dyn BoxedAqm,
    packet: impl FnOnce(Time) -> PacketView,
    queue: &QueueView,
    cx: &mut Ctx,
) -> Verdict {
    aqm.on_enqueue(&packet(cx.now), queue, cx)
}

#[inline(never)]
fn leaves_boxed(
    aqm: &mut dyn BoxedAqm,
    packet: impl FnOnce() -> PacketView,
    queue: &QueueView,
    cx: &mut Ctx,
) -> Verdict {
    aqm.on_dequeue(&packet(), queue, cx)
}

#[inline(never)]
fn ticks(aqm: &mut impl Aqm, queue: &QueueView, cx: &mut Ctx) {
    aqm.on_tick(queue, cx);
}

macro_rules! any_aqm {
    ($($variant:ident)*; $self:ident, $aqm:ident => $act:expr) => {
        match $self { $(AnyAqm::$variant($aqm) => $act,)* AnyAqm::Boxed($aqm) => $act }
    };
}

macro_rules! built_in {
    ($($module:ident::$variant:ident)*) => {
        $(use crate::schemes::$module::$variant;)*

        /// Any scheme of a single queue. The enum lets a packet reach its scheme without an indirect call.
        #[allow(missing_docs)]
        #[derive(Clone)]
        pub enum AnyAqm {
            $($variant($variant),)*
            /// One from elsewhere.
            Boxed(Box<dyn BoxedAqm>),
        }

        /// The schemes of a single queue.
        static ALONE: &[SchemeEntry] = &[$(SchemeEntry::of::<$variant>(&|path, pairs, queue| {
            build::<$variant, _>(path, pairs, queue, $variant::new).map(|scheme| AnyScheme::Fifo(AnyAqm::$variant(scheme)))
        })),*];

        /// The same in flow queueing.
        static FAIR: &[SchemeEntry] = &[$(SchemeEntry::of::<Fq<$variant>>(&|path, pairs, queue| {
            build_fair::<$variant>(path, pairs, queue, |params, queue| $variant::new(params, queue).map(AnyAqm::$variant))
        })),*];

        impl Aqm for AnyAqm {
            #[inline]
            fn draws(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> u32 {
                any_aqm!($($variant)*; self, aqm => aqm.draws(packet, queue, cx))
            }
            fn on_enqueue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                self.judge_arrival(|_| *packet, queue, cx)
            }
            #[inline(always)]
            fn judge_arrival(&mut self, packet: impl FnOnce(Time) -> PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                match self {
                    $(Self::$variant(aqm) => arrives(aqm, packet, queue, cx),)*
                    Self::Boxed(aqm) => arrives_boxed(&mut **aqm, packet, queue, cx),
                }
            }
            fn on_dequeue(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                self.judge_departure(|| *packet, queue, cx)
            }
            #[inline(always)]
            fn judge_departure(&mut self, packet: impl FnOnce() -> PacketView, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                match self {
                    $(Self::$variant(aqm) => leaves(aqm, packet, queue, cx),)*
                    Self::Boxed(aqm) => leaves_boxed(&mut **aqm, packet, queue, cx),
                }
            }
            fn draws_packets(&self) -> bool {
                any_aqm!($($variant)*; self, aqm => aqm.draws_packets())
            }
            fn acts_on_enqueue(&self) -> bool {
                any_aqm!($($variant)*; self, aqm => aqm.acts_on_enqueue())
            }
            fn acts_on_dequeue(&self) -> bool {
                any_aqm!($($variant)*; self, aqm => aqm.acts_on_dequeue())
            }
            fn on_adopt(&mut self, packet: &PacketView) {
                any_aqm!($($variant)*; self, aqm => aqm.on_adopt(packet))
            }
            fn on_overflow(&mut self, queue: &QueueView, cx: &mut Ctx) {
                any_aqm!($($variant)*; self, aqm => aqm.on_overflow(queue, cx))
            }
            fn on_head_drop(&mut self, packet: &PacketView, queue: &QueueView, cx: &mut Ctx) {
                any_aqm!($($variant)*; self, aqm => aqm.on_head_drop(packet, queue, cx))
            }
            fn on_empty(&mut self, cx: &mut Ctx) {
                any_aqm!($($variant)*; self, aqm => aqm.on_empty(cx))
            }
            fn is_at_rest(&self, now: Time) -> bool {
                any_aqm!($($variant)*; self, aqm => aqm.is_at_rest(now))
            }
            fn is_reset(&self, now: Time) -> bool {
                any_aqm!($($variant)*; self, aqm => aqm.is_reset(now))
            }
            fn limit(&self, limit: Limit, packet: f64) -> Limit {
                any_aqm!($($variant)*; self, aqm => aqm.limit(limit, packet))
            }
            fn refuses_when_full(&self) -> bool {
                any_aqm!($($variant)*; self, aqm => aqm.refuses_when_full())
            }
            fn tick_every(&self) -> Option<Span> {
                any_aqm!($($variant)*; self, aqm => aqm.tick_every())
            }
            #[inline]
            fn on_tick(&mut self, queue: &QueueView, cx: &mut Ctx) {
                match self {
                    $(Self::$variant(aqm) => ticks(aqm, queue, cx),)*
                    Self::Boxed(aqm) => aqm.on_tick(queue, cx),
                }
            }
            fn share(&self, p: f64, queue: &QueueView) -> f64 {
                any_aqm!($($variant)*; self, aqm => aqm.share(p, queue))
            }
            fn observe(&self, i: usize) -> f64 {
                any_aqm!($($variant)*; self, aqm => aqm.observe(i))
            }
            fn failure(&self) -> Option<&Failure> {
                any_aqm!($($variant)*; self, aqm => aqm.failure())
            }
        }

        impl Tune for AnyAqm {
            fn set_param(&mut self, name: &str, value: ParamInput, queue: &QueueView) -> Result<(), String> {
                any_aqm!($($variant)*; self, aqm => aqm.set_param(name, value, queue))
            }
        }
    };
}

macro_rules! coupled {
    ($($module:ident::$variant:ident)*) => {
        $(use crate::schemes::$module::$variant;)*

        /// Any scheme of the dual queue.
        #[allow(missing_docs)]
        #[derive(Clone)]
        pub enum AnyCoupled {
            $($variant($variant)),*
        }

        /// The schemes of the dual queue.
        static COUPLED: &[SchemeEntry] = &[$(SchemeEntry::of::<$variant>(&|path, pairs, queue| {
            build::<$variant, _>(path, pairs, queue, $variant::new).map(|scheme| AnyScheme::Dual(AnyCoupled::$variant(scheme)))
        })),*];

        impl Coupled for AnyCoupled {
            fn period(&self) -> Option<Span> {
                match self { $(Self::$variant(scheme) => scheme.period()),* }
            }
            fn goes_first(&mut self, packet: &PacketView, now: Time) -> bool {
                match self { $(Self::$variant(scheme) => scheme.goes_first(packet, now)),* }
            }
            fn drops_front(&self) -> bool {
                match self { $(Self::$variant(scheme) => scheme.drops_front()),* }
            }
            fn classic_weight(&self) -> f64 {
                match self { $(Self::$variant(scheme) => scheme.classic_weight()),* }
            }
            fn owed_at_rest(&self) -> Option<f64> {
                match self { $(Self::$variant(scheme) => scheme.owed_at_rest()),* }
            }
            fn judge_arrival(
                &mut self,
                packet: &PacketView,
                bytes: [u64; 2],
                queue: &QueueView,
                cx: &mut Ctx,
            ) -> (Joins, Verdict) {
                match self { $(Self::$variant(scheme) => scheme.judge_arrival(packet, bytes, queue, cx)),* }
            }
            fn update(&mut self, delay: Span, bytes: [u64; 2], queue: &QueueView) {
                match self { $(Self::$variant(scheme) => scheme.update(delay, bytes, queue)),* }
            }
            fn judge_l4s(&mut self, packet: &PacketView, left: usize, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                match self { $(Self::$variant(scheme) => scheme.judge_l4s(packet, left, queue, cx)),* }
            }
            fn judge_classic(&mut self, queue: &QueueView, cx: &mut Ctx) -> Verdict {
                match self { $(Self::$variant(scheme) => scheme.judge_classic(queue, cx)),* }
            }
            fn observe(&self, i: usize, waiting: [usize; 2]) -> f64 {
                match self { $(Self::$variant(scheme) => scheme.observe(i, waiting)),* }
            }
        }

        impl Tune for AnyCoupled {
            fn set_param(&mut self, name: &str, value: ParamInput, queue: &QueueView) -> Result<(), String> {
                match self { $(Self::$variant(scheme) => scheme.set_param(name, value, queue)),* }
            }
        }
    };
}

/// The schemes of tins.
static TINS: &[SchemeEntry] = &[
    SchemeEntry::of::<Cake>(&|path, pairs, queue| build::<Cake, _>(path, pairs, queue, Cake::new).map(AnyScheme::Tins)),
    SchemeEntry::of::<CakeMq>(&|path, pairs, queue| {
        let CakeMqParams { mq, cake } = build::<CakeMq, _>(path, pairs, queue, CakeMq::new)?.params;
        Cake::new(cake, queue).map(|cake| AnyScheme::Mq(mq, cake)).map_err(|why| Problems::one(path, why))
    }),
];

/// Schemes that are no proposals of their own.
static UNLISTED: &[SchemeEntry] = &[SchemeEntry::of::<FixedP>(&|path, pairs, queue| {
    build::<FixedP, _>(path, pairs, queue, boxed::<FixedP>).map(AnyScheme::Fifo)
})];

every_scheme!(built_in);
every_coupled!(coupled);
