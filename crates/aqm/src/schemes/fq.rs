use crate::disciplines::FairParams;
use crate::signal::SEVERAL_QUEUES;
use crate::{Exception, FairDefault, Observable, QueueView, Scheme, SchemeInfo, Signal, Standing, Tc};
use aqmlab_core::params::{ParamInput, TypedValues, Values};
use aqmlab_core::{ParamHolder, ParamSet, ParamSpec};

/// Flow queueing with the scheme `S` in every queue: `fq-` and the name of `S`.
pub struct Fq<S: Scheme> {
    /// Of the queues, and of the scheme in each.
    pub params: FqParams<S>,
}

/// Parameters of the queues, then those of the scheme in them.
pub struct FqParams<S: Scheme> {
    /// Of the queues.
    pub fair: FairParams,
    /// Of the scheme in each.
    pub inner: S::Params,
}

impl<S: Scheme> Clone for FqParams<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S: Scheme> Copy for FqParams<S> {}

impl<S: Scheme> ParamSet for FqParams<S> {
    const DOC: &'static str =
        " Flow queueing: a queue for each flow, round robin among them, and a scheme in each queue.

 ## Idea
 A flow that fills its queue should wait there alone. Packets are hashed by flow into `flows` queues; each queue sends
 `quantum` bytes in its turn, and its own scheme keeps it short. A queue that begins to send goes before those that
 have sent all along, so flows with little to send hardly wait.

 ## Equations
 If `ways` is above 1, a flow has a set of that many queues. It takes its last queue, or else any idle queue of the set, so flows collide
 only when the whole set is busy. If `isolation` is \"hosts\", the bulk queues of a host share one quantum: queues that still had packets
 after a quantum, until they are empty.

 Two lists of queues, *new* and *old*; `credits` is what a queue may still send in its turn:

 ```text
 arrival:    the queue's scheme judges it; a queue in neither list goes to the end of new, credits = quantum
 too full:   drop from the head of the queue with most bytes: half of its packets, at most drop_batch
 departure:  the first queue of new, else of old;
             credits <= 0:  credits += quantum, to the end of old, look again
             it is empty:   from new to the end of old; from old: out
             else:          send a packet, credits -= its size
 ```

 The buffer is the link's; all queues share it.

 ## Readings
 The scheme of a queue sees that queue as if no other used the link: its packets, its bytes, the rate and target of the
 link. Only CoDel compares the bytes of all queues with the MTU (`behind`), as Linux does. When the buffer is full, the scheme of the queue that loses a packet is notified; CoDel counts the drop. Half of the packets are dropped, as in RFC
 8290; Linux's `fq_codel` (20dd591d8f95) drops until half of the bytes are gone. A queue sends while its credits are
 above zero, as in Linux and in the explanation of RFC 8290, section 4.2; its text says \"negative\".

 ## Departures
 Instead of a hash of the 5-tuple, a flow draws a random number from the seed, the name of its group and its index. Queues once used keep their scheme's memory.
";

    fn specs() -> Vec<ParamSpec> {
        let here = |spec: ParamSpec| match S::FAIR_DEFAULTS.iter().find(|other| other.name == spec.name) {
            Some(&FairDefault { default, source, .. }) => ParamSpec { default, source, ..spec },
            None => spec,
        };
        FairParams::specs().into_iter().chain(S::Params::specs().into_iter().map(here)).collect()
    }

    fn defaults() -> Self {
        let mut inner = S::Params::defaults();
        let mut problems = Vec::new();
        inner.read(S::INFO.name, S::FAIR_DEFAULTS.iter().map(|other| (other.name, other.default)), &mut problems);
        debug_assert!(problems.is_empty(), "{problems:?}");
        Self { fair: FairParams::defaults(), inner }
    }

    fn set(&mut self, name: &str, given: ParamInput) -> Option<Result<(), String>> {
        self.fair.set(name, given).or_else(|| self.inner.set(name, given))
    }

    fn check(&self) -> Result<(), String> {
        self.fair.check().and_then(|()| self.inner.check())
    }

    fn values(&self) -> Values {
        self.fair.values().into_iter().chain(self.inner.values()).collect()
    }

    fn typed(&self) -> TypedValues {
        self.fair.typed().into_iter().chain(self.inner.typed()).collect()
    }
}

impl<S: Scheme> Fq<S> {
    const NAME: ([u8; 64], usize) = join("fq-", S::INFO.name);
    const TITLE: ([u8; 64], usize) = join("FQ-", S::INFO.title);
}

/// Two short texts as one, at compile time.
const fn join(first: &str, second: &str) -> ([u8; 64], usize) {
    let (mut joined, mut len) = ([0; 64], 0);
    while len < first.len() {
        joined[len] = first.as_bytes()[len];
        len += 1;
    }
    while len < first.len() + second.len() {
        joined[len] = second.as_bytes()[len - first.len()];
        len += 1;
    }
    (joined, len)
}

const fn text(joined: &'static ([u8; 64], usize)) -> &'static str {
    match std::str::from_utf8(joined.0.split_at(joined.1).0) {
        Ok(text) => text,
        Err(_) => panic!("two texts joined are text"),
    }
}

/// Observables of a set of queues.
pub(super) const OBSERVABLES: &[Observable] = &[
    Observable { name: "active", unit: "queues", doc: "queues in which packets wait" },
    Observable { name: "longest", unit: "packets", doc: "packets in the longest queue" },
];

impl<S: Scheme> ParamHolder for Fq<S> {
    type Params = FqParams<S>;

    fn params(&mut self) -> &mut Self::Params {
        &mut self.params
    }
}

impl<S: Scheme> Scheme for Fq<S> {
    const INFO: SchemeInfo = match S::FAIR {
        Some(info) => info,
        None => SchemeInfo {
            name: text(&Self::NAME),
            title: text(&Self::TITLE),
            family: "fair queueing",
            year: S::INFO.year,
            source: S::INFO.source,
            confidence: "a combination of this project: the queues of RFC 8290, the scheme as on its own",
            papers: &[],
        },
    };
    const STANDING: Standing = S::STANDING;
    const IS_LISTED: bool = S::FAIR.is_some();
    const OBSERVABLES: &'static [Observable] = OBSERVABLES;

    fn new(params: Self::Params, queue: &QueueView) -> Result<Self, String> {
        S::new(params.inner, queue)?;
        Ok(Self { params })
    }

    const SIGNAL: Result<Signal, &'static str> = Err(SEVERAL_QUEUES);
    const EXCEPTIONS: &'static [Exception] = S::EXCEPTIONS;
    const TC: Option<Tc> = S::FAIR_TC;
}
